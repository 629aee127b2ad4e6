"""Variable mass and nonlinear constraints: the cases 1 to 11 of the theory
page, its section 9, with their digits (12 is among the laws).

Matrices that the page prints are compared exactly at rational points.
Motions are integrated with rtol 1e-11 and compared with closed forms, with
quadratures, or with equations of motion that are written out here by hand.
"""
import warnings
from functools import cache
from random import Random

import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import solve_ivp
from sympy import (
    Derivative, Matrix, Rational, cos, diag, exp, sin, sqrt, symbols, sympify)
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import (
    KanesMethod, Particle, Point, ReferenceFrame, RigidBody,
    dynamicsymbols, inertia)

from kkt import WORK, at, close, norm, number, t
from meshchersky import Exact, Meshchersky, fraction, particle
from sympy_constrained import (
    GibbsAppellMethod, UdwadiaKalabaMethod, momentum_loads, thrust)
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)

SEEDS = (1, 2, 3)
seeds = pytest.mark.parametrize('seed', SEEDS)
g, c_e, k, m0, beta, delta, c, tau, I0 = symbols(
    'g c_e k m0 beta delta c tau I0', positive=True)
kappa, g_y, a_0, f_0, a, j_0, V, radius = symbols(
    'kappa g_y a_0 f_0 a j_0 V r', positive=True)
x, y, z, ux, uy, uz = dynamicsymbols('x y z u_x u_y u_z')
u, v, w, theta, phi, psi = dynamicsymbols('u v omega theta phi psi')
m = dynamicsymbols('m')
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)


def dot(e, order=1):
    return e.diff(t, order)


def cartesian(mass, q=(x, y, z)):
    """A particle with these coordinates, or the first two of them."""
    return particle(N, O, 'P', sum(
        (e*axis for e, axis in zip(q, N)), start=0*N.x), mass)


def rates(q, us):
    return [dot(e) - s for e, s in zip(q, us)]


def simulated(method, T, start, constants=None, t_eval=2, **options):
    return simulate(method, T, start, constants=constants, t_eval=t_eval,
                    rtol=1e-11, atol=1e-12, **options)


def integrated(f, T, start):
    """The last state of ``s' = f(t, s)``."""
    found = solve_ivp(f, T if np.ndim(T) else (0, T), start,
                      method='DOP853', rtol=1e-12, atol=1e-13)
    return found.y[:, -1]


def follows(found, wanted, rtol=2e-9):
    np.testing.assert_allclose(np.array(found, float),
                               np.array(wanted, float), rtol=rtol,
                               atol=rtol)


def printed(found, wanted):
    """Numbers that are printed with nine decimals."""
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1.5e-9)


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(WORK):
        yield


def equal(found, wanted, values):
    """The same matrix, to 50 digits."""
    return close(at(found, values), at(sympify(wanted), values), scale=1)


def everything(*expressions, seed=1):
    """A positive number for each name that occurs, time included."""
    random, values = Random(seed), {t: Rational(seed, 3)}
    for e in map(Matrix, expressions):
        names = e.free_symbols | e.atoms(AppliedUndef, Derivative)
        for item in sorted(names, key=str):
            values.setdefault(item, fraction(random, 1))
    return values


# Case 1: Appell and Hamel's mechanism as a rocket

NUMBERS_1 = {k: 0.7, g: 9.81, beta: 0.3, c_e: 5, delta: 0.4, m0: 1.3}
V_0, THETA_0 = 6, 0.3
SHRINKING = m0*exp(-beta*t)


def along(vx, vy, vz):
    """The exhaust: its speed against the path, turned to the left."""
    horizontal = sqrt(vx**2 + vy**2)
    path = (vx*N.x + vy*N.y + vz*N.z)/sqrt(vx**2 + vy**2 + vz**2)
    left = (-vy*N.x + vx*N.y)/horizontal
    return -c_e*(cos(delta)*path + sin(delta)*left)


def mechanism(mass=SHRINKING, **options):
    """In the speeds (v, theta), in which the row needs no equation."""
    body = cartesian(mass)
    e, n = cos(theta)*N.x + sin(theta)*N.y, -sin(theta)*N.x + cos(theta)*N.y
    jet = -c_e*(cos(delta)*(e + k*N.z)/sqrt(1 + k**2) + sin(delta)*n)
    return GibbsAppellMethod(
        N, [x, y, z], [v, theta],
        [dot(x) - v*cos(theta), dot(y) - v*sin(theta), dot(z) - k*v],
        bodies=[body], forcelist=[
            (body.point, -mass*g*N.z),
            thrust(body.point, dot(mass), jet)], **options)


def implicit(mass=SHRINKING, row=uz**2 - k**2*(ux**2 + uy**2)):
    body = cartesian(mass)
    return GibbsAppellMethod(
        N, [x, y, z], [ux, uy, uz], rates((x, y, z), (ux, uy, uz)),
        nonholonomic_constraints=[row], bodies=[body], forcelist=[
            (body.point, -mass*g*N.z),
            thrust(body.point, dot(mass), along(ux, uy, uz))])


@cache
def mechanism_after(T):
    """Position and velocity at ``T`` by quadrature."""
    with mp.workdps(40):
        kk, gg, b, ce, d = (number(str(NUMBERS_1[s])) for s in (
            k, g, beta, c_e, delta))
        rate = b*ce*mp.cos(d)/mp.sqrt(1 + kk**2) - kk*gg/(1 + kk**2)

        def speed(s):
            return V_0 + rate*s

        def heading(s):
            return mp.mpf('0.3') + b*ce*mp.sin(d)/rate*mp.log(speed(s)/V_0)
        position = [mp.quad(lambda s: speed(s)*f(heading(s)), [0, T])
                    for f in (mp.cos, mp.sin)]
        return [*position, kk*mp.quad(speed, [0, T]), speed(T), heading(T)]


@seeds
def test_1_matrices(seed):
    """Theory 9.1: diag((1 + k^2) m, m v^2) and the forcing."""
    method = mechanism(m)
    matrix = diag((1 + k**2)*m, m*v**2)
    forcing = Matrix([
        -k*m*g - dot(m)*c_e*cos(delta)*sqrt(1 + k**2),
        -dot(m)*c_e*v*sin(delta)])
    values = everything(matrix, forcing, Matrix([theta]), seed=seed)
    assert method.mass_matrix.shape == (2, 2)
    assert equal(method.mass_matrix, matrix, values)
    assert equal(method.forcing, forcing, values)
    assert method.constraints_jacobian.shape == (0, 2)
    values.update({dot(v): 3, dot(theta): Rational(-2, 7)})
    assert equal(method.eom, matrix*Matrix([v, theta]).diff(t) - forcing,
                 values)


DIGITS_1 = [3.996131204, 1.471081746, 2.983091656]
START_1 = {x: 0, y: 0, z: 0, v: V_0, theta: THETA_0}


@pytest.mark.parametrize('mass, options, inputs', [
    (SHRINKING, {}, None), (m, {'mass_rates': {m: -beta*m}}, None),
    (m, {}, {m: 1.3*exp(-0.3*t)})], ids=['m(t)', 'state', 'input'])
def test_1_digits_in_the_speeds_of_the_cone(mass, options, inputs):
    """Theory 9.1: position after 1, and the closed form of the speeds."""
    method = mechanism(mass, **options)
    constants = {s: e for s, e in NUMBERS_1.items()
                 if s in method.equations_of_motion.constants}
    start = START_1 | ({m: 1.3} if options else {})
    motion = simulated(method, 1, start, constants, inputs=inputs)
    last = [motion[e][-1] for e in (x, y, z, v, theta)]
    printed(last[:3], DIGITS_1)
    follows(last, mechanism_after(1), 1e-10)
    if options:
        assert list(method.equations_of_motion.states) == [
            x, y, z, m, v, theta]
        follows(motion[m][-1], 1.3*np.exp(-0.3), 1e-10)


def test_1_digits_of_the_implicit_row():
    """Theory 9.1: the same from uz^2 - k^2 (ux^2 + uy^2) = 0."""
    method = implicit()
    assert method.constraint_orders == (1,)
    start = {x: 0, y: 0, z: 0, ux: V_0*np.cos(THETA_0),
             uy: V_0*np.sin(THETA_0), uz: 0.7*V_0}
    motion = simulated(method, 1, start, NUMBERS_1)
    printed([motion[e][-1] for e in (x, y, z)], DIGITS_1)
    *_, speed, heading = map(float, mechanism_after(1))
    follows([motion[e][-1] for e in (ux, uy, uz)], [
        speed*np.cos(heading), speed*np.sin(heading), 0.7*speed], 1e-10)
    assert motion.largest_residual < 1e-9


def test_1_both_branches_of_the_row():
    """The guess tells whether the mechanism climbs or descends."""
    method = implicit()
    compiled = compile_equations(method, NUMBERS_1)
    for sign in (1, -1):
        guess = {ux: 3, uy: 4, uz: sign}
        found = consistent_state(compiled, guess, fixed=[ux, uy], fill=0)
        follows(found, [0, 0, 0, 3, 4, sign*3.5])


# Case 2: constant speed

NUMBERS_2 = {g: 9.81, c: 4, m0: 1.7, beta: 0.2, c_e: 3}
SPEED_ROW = ux**2 + uy**2 + uz**2 - c**2


def constant_speed(mass=m0, exhaust=0):
    body = cartesian(mass)
    speed = (ux*N.x + uy*N.y + uz*N.z)/sqrt(ux**2 + uy**2 + uz**2)
    loads = [(body.point, -mass*g*N.z)]
    if exhaust:
        loads.append(thrust(body.point, dot(sympify(mass)), -exhaust*speed))
    return GibbsAppellMethod(
        N, [x, y, z], [ux, uy, uz], rates((x, y, z), (ux, uy, uz)),
        nonholonomic_constraints=[SPEED_ROW], bodies=[body],
        forcelist=loads)


@pytest.mark.parametrize('mass, exhaust', [
    (m0, 0), (SHRINKING, 0), (SHRINKING, c_e)])
def test_2_motion_and_reaction(mass, exhaust):
    """Theory 9.2: v_z = -c tanh(g t/c + C), whatever the mass and thrust."""
    method = constant_speed(mass, exhaust)
    constants = {s: e for s, e in NUMBERS_2.items()
                 if s in method.equations_of_motion.constants}
    v_z, heading = 2.5, 0.8
    level = np.sqrt(16 - v_z**2)
    motion = simulated(method, 1.5, {
        x: 0, y: 0, z: 0, ux: level*np.cos(heading),
        uy: level*np.sin(heading), uz: v_z}, constants, t_eval=11)
    C = -np.arctanh(v_z/4)
    phase = 9.81*motion.t/4 + C
    follows(motion[uz], -4*np.tanh(phase))
    follows(motion[ux], 4/np.cosh(phase)*np.cos(heading))
    follows(motion[uy], 4/np.cosh(phase)*np.sin(heading))
    now = 1.7*(np.exp(-0.2*motion.t) if mass == SHRINKING else 1)
    power = -0.2*now*-3*4 if exhaust else 0*now         # R.v
    follows(motion.multipliers[:, 0],
            (now*9.81*motion[uz] - power)/(2*16))


@seeds
def test_2_in_the_angles_of_the_velocity(seed):
    """Theory 9.2: diag(m c^2 cos^2 phi, m c^2), psi' = 0."""
    body = cartesian(m)
    method = GibbsAppellMethod(
        N, [x, y, z], [psi, phi], [
            dot(x) - c*cos(phi)*cos(psi), dot(y) - c*cos(phi)*sin(psi),
            dot(z) - c*sin(phi)], bodies=[body],
        forcelist=[(body.point, -m*g*N.z)])
    matrix = diag(m*c**2*cos(phi)**2, m*c**2)
    forcing = Matrix([0, -m*g*c*cos(phi)])
    values = everything(matrix, forcing, Matrix([psi]), seed=seed)
    assert equal(method.mass_matrix, matrix, values)
    assert equal(method.forcing, forcing, values)
    assert equal(method.rhs()[3:, :], Matrix([0, -g/c*cos(phi)]), values)


# Case 3: a rocket sled

NUMBERS_3 = {m0: 3, I0: 0.8, beta: 0.25, c_e: 6, tau: 0.35}


def sled(**options):
    B = ReferenceFrame('B')
    B.orient_axis(N, phi, N.z)
    B.set_ang_vel(N, w*N.z)
    G = O.locatenew('G', x*N.x + y*N.y)
    G.set_vel(N, ux*N.x + uy*N.y)
    central = I0*exp(-beta*t)
    body = RigidBody('sled', G, B, SHRINKING, (
        inertia(B, central, central, central), G))
    return GibbsAppellMethod(
        N, [x, y, phi], [ux, uy, w], rates((x, y, phi), (ux, uy, w)),
        velocity_constraints=[-ux*sin(phi) + uy*cos(phi)], bodies=[body],
        forcelist=[thrust(G, dot(SHRINKING), -c_e*B.x),
                   (B, tau*N.z)], **options)


def test_3_rocket_sled():
    """Theory 9.3: speed of a rocket, and no I' omega."""
    v_0, w_0 = 1.5, 0.4
    motion = simulated(sled(), 3, {
        x: 0, y: 0, phi: 0.6, ux: v_0*np.cos(0.6), uy: v_0*np.sin(0.6),
        w: w_0}, NUMBERS_3, t_eval=13)
    b, time = 0.25, motion.t
    speed = v_0 + 6*b*time                      # c_e log(m0/m)
    follows(motion[w], w_0 + 0.35/(0.8*b)*(np.exp(b*time) - 1))
    heading = 0.6 + w_0*time + 0.35/(0.8*b)*(
        (np.exp(b*time) - 1)/b - time)
    follows(motion[phi], heading)
    follows(motion[ux], speed*np.cos(heading))
    follows(motion[uy], speed*np.sin(heading))
    # The blade carries the centripetal force.
    mass = 3*np.exp(-b*time)
    follows(motion.multipliers[:, 0], mass*speed*motion[w])


# Case 4: pursuit

PURSUIT = ux*(V*t - y) + x*uy


def hunter(mass=1, exhaust=0):
    body = cartesian(mass, (x, y))
    loads = []
    if exhaust:
        loads = [thrust(body.point, dot(mass), -exhaust*(
            ux*N.x + uy*N.y)/sqrt(ux**2 + uy**2))]
    return GibbsAppellMethod(
        N, [x, y], [ux, uy], rates((x, y), (ux, uy)),
        nonholonomic_constraints=[PURSUIT], bodies=[body], forcelist=loads)


def test_4_pursuit_at_constant_mass():
    """Theory 9.4: capture at 2/3, and Bouguer's curve."""
    motion = simulated(hunter(), 0.66, {x: 1, y: 0, ux: -2, uy: 0}, {V: 1},
                       t_eval=23)
    X, Y, time = motion[x], motion[y], motion.t
    follows(np.hypot(motion[ux], motion[uy]), 2)
    distance = np.hypot(X, time - Y)
    kept = 2*distance + (time - Y)              # r cos(theta) = V t - y
    follows(kept, 2 - 3*time)
    capture = 2/3
    follows(kept/3, capture - time)
    assert distance[-1] < 0.03
    n = 0.5                                     # V/v
    follows(Y, (X**(1 + n)/(1 + n) - X**(1 - n)/(1 - n))/2 + n/(1 - n**2))


def test_4_pursuit_of_a_rocket():
    """Theory 9.4: v = v_0 + c_e log(m_0/m) with thrust."""
    method = hunter(SHRINKING, c_e)
    motion = simulated(method, 0.5, {x: 1, y: 0, ux: -2, uy: 0}, {
        V: 1, m0: 2, beta: 0.4, c_e: 1.5}, t_eval=11)
    speed = 2 + 1.5*0.4*motion.t
    follows(np.hypot(motion[ux], motion[uy]), speed)

    def pursue(time, s):
        direction = np.array([-s[0], time - s[1]])
        return (2 + 0.6*time)*direction/np.hypot(*direction)
    follows([motion[x][-1], motion[y][-1]], integrated(pursue, .5, [1, 0]))


# Case 5: a rolling disc that loses mass

DISC = {radius: 0.5, g: 9.81}
w1, w2, w3 = dynamicsymbols('w1:4')
DISC_MASS = 2*(1 - t/10)
START_5 = {psi: 0.2, theta: 0.25, phi: 0, x: 0, y: 0, w1: 0.4, w2: -0.3,
           w3: 5}
WITHOUT = [-1.496076780, .398530204, 11.057599338, 3.518047932,
           -2.978777441]
WITH = [-1.529235794, .466754749, 11.917072713, 4.048758635, -3.179394613]


class Disc:
    """Yaw, lean, spin; ``x, y`` are those of the contact."""

    q, u = [psi, theta, phi, x, y], [w1, w2, w3]
    kd = [*rates((psi, theta, phi), (w1, w2, w3)),
          dot(x) - radius*w3*cos(psi), dot(y) - radius*w3*sin(psi)]

    def __init__(self, mass=DISC_MASS, exhaust=0):
        self.Y, self.L, self.B = (ReferenceFrame(s) for s in 'YLB')
        Y, L, B = self.Y, self.L, self.B
        Y.orient_axis(N, psi, N.z)
        L.orient_axis(Y, theta, Y.x)
        B.orient_axis(L, phi, L.y)
        Y.set_ang_vel(N, w1*N.z)
        L.set_ang_vel(Y, w2*Y.x)
        B.set_ang_vel(L, w3*L.y)
        self.mass, self.exhaust = sympify(mass), exhaust
        contact = O.locatenew('contact', x*N.x + y*N.y)
        self.G = contact.locatenew('G', radius*L.z)
        self.G.set_vel(N, B.ang_vel_in(N).cross(radius*L.z))
        central = mass*radius**2/4
        self.body = RigidBody('disc', self.G, B, mass, (
            inertia(B, central, 2*central, central), self.G))

    @property
    def loads(self):
        loads = [(self.G, -self.mass*g*N.z)]
        if self.exhaust:
            loads.append(thrust(
                self.G, dot(self.mass), -self.exhaust*self.Y.x))
        return loads

    @property
    def method(self):
        return GibbsAppellMethod(N, self.q, self.u, self.kd,
                                 bodies=[self.body], forcelist=self.loads)

    @property
    def plain(self):
        return Meshchersky(
            N, O, self.q, self.u, {
                psi.diff(t): w1, theta.diff(t): w2, phi.diff(t): w3,
                x.diff(t): radius*w3*cos(psi),
                y.diff(t): radius*w3*sin(psi)}, [self.body], self.loads)

    def kane(self, loads=()):
        """SymPy's class, which needs a speed for every coordinate."""
        vx, vy = dynamicsymbols('v_x v_y')
        method = KanesMethod(
            N, self.q, self.u, [
                *self.kd[:3], dot(x) - vx, dot(y) - vy],
            u_dependent=[vx, vy], velocity_constraints=[
                vx - radius*w3*cos(psi), vy - radius*w3*sin(psi)])
        method.kanes_equations([self.body], [*self.loads, *loads])
        return method, (vx, vy)


def newton_euler(exhaust):
    """The six equations of a disc and its contact, by hand, in NumPy."""
    r, gravity = 0.5, 9.81

    def cross(e):
        return np.array([[0, -e[2], e[1]], [e[2], 0, -e[0]],
                         [-e[1], e[0], 0]])

    def rates_and_reaction(time, s):
        yaw, lean, (turn, tilt, spin) = s[0], s[1], s[5:8]
        mass = 2*(1 - time/10)
        up, heading = np.eye(3)[2], np.array([np.cos(yaw), np.sin(yaw), 0])
        axle = np.array([-np.sin(yaw)*np.cos(lean),
                         np.cos(yaw)*np.cos(lean), np.sin(lean)])
        arm = r*np.cross(heading, axle)         # from contact to centre
        lean_rate = turn*up + tilt*heading
        whole = lean_rate + spin*axle
        axes = np.array([up, heading, axle]).T
        bias = (tilt*turn*np.cross(up, heading)
                + spin*np.cross(lean_rate, axle))
        I = mass*r**2/4*(np.eye(3) + np.outer(axle, axle))
        force = -mass*gravity*up + 0.2*exhaust*heading
        # m (alpha x arm + omega x arm') = F + R
        # I alpha + omega x I omega = -arm x R
        W = np.block([[-mass*cross(arm) @ axes, -np.eye(3)],
                      [I @ axes, cross(arm)]])
        right = np.concatenate([
            force - mass*(np.cross(bias, arm) + np.cross(
                whole, np.cross(lean_rate, arm))),
            -I @ bias - np.cross(whole, I @ whole)])
        solution = np.linalg.solve(W, right)
        travel = np.cross(whole, arm) - np.cross(lean_rate, arm)
        return [turn, tilt, spin, *travel[:2], *solution[:3]], solution[3:]
    return rates_and_reaction


@pytest.mark.parametrize('exhaust, wanted', [(0, WITHOUT), (3, WITH)])
def test_5_digits(exhaust, wanted):
    """Theory 9.5 (a) and (b), and Newton's and Euler's equations."""
    motion = simulated(Disc(exhaust=exhaust).method, 2, START_5, DISC)
    found = [motion[e][-1] for e in Disc.q]
    printed(found, wanted)
    equations = newton_euler(exhaust)
    follows(found, integrated(lambda time, s: equations(time, s)[0], 2,
                              list(START_5.values()))[:5], 1e-10)


def test_5_loss_without_relative_velocity_changes_nothing():
    """Theory 9.5 (a): the disc of constant mass."""
    constant = simulated(Disc(mass=sympify(2)).method, 2, START_5, DISC)
    printed([constant[e][-1] for e in Disc.q], WITHOUT)


@pytest.mark.parametrize('exhaust', [0, 3])
def test_5_reaction_of_the_contact(exhaust):
    """Theory 9.5 (b) with six speeds: the multipliers are the reaction."""
    disc = Disc(exhaust=exhaust)
    X, Y, Z, vx, vy, vz = dynamicsymbols('X Y Z v_x v_y v_z')
    disc.G = O.locatenew('G', X*N.x + Y*N.y + Z*N.z)
    disc.G.set_vel(N, vx*N.x + vy*N.y + vz*N.z)
    central = DISC_MASS*radius**2/4
    body = RigidBody('disc', disc.G, disc.B, DISC_MASS, (
        inertia(disc.B, central, 2*central, central), disc.G))
    q, us = [psi, theta, phi, X, Y, Z], [w1, w2, w3, vx, vy, vz]
    touching = disc.G.vel(N) - disc.B.ang_vel_in(N).cross(radius*disc.L.z)
    method = GibbsAppellMethod(
        N, q, us, rates(q, us), bodies=[body], forcelist=disc.loads,
        configuration_constraints=[Z - radius*cos(theta)],
        velocity_constraints=[touching.dot(N.x), touching.dot(N.y)])
    assert method.constraint_orders == (0, 1, 1)
    start = [START_5[e] for e in (psi, theta, phi)]
    r = 0.5
    arm = r*np.array([np.sin(.2)*np.sin(.25), -np.cos(.2)*np.sin(.25),
                      np.cos(.25)])
    axle = np.array([-np.sin(.2)*np.cos(.25), np.cos(.2)*np.cos(.25),
                     np.sin(.25)])
    heading = np.array([np.cos(.2), np.sin(.2), 0])
    turning = np.array([0, 0, .4]) - .3*heading + 5*axle
    state = [*start, *arm, .4, -.3, 5, *np.cross(turning, arm)]
    motion = simulated(method, 2, state, DISC, t_eval=9)
    equations = newton_euler(exhaust)
    for time, s, lam in zip(motion.t, motion.x, motion.multipliers):
        yaw, lean = s[:2]
        contact = s[3:5] - r*np.array([np.sin(yaw)*np.sin(lean),
                                       -np.cos(yaw)*np.sin(lean)])
        _, reaction = equations(time, [*s[:3], *contact, *s[6:9]])
        follows(lam, reaction[[2, 0, 1]], 1e-8)
    wanted = WITH if exhaust else WITHOUT
    printed(motion.x[-1, :3], wanted[:3])
    printed(contact, wanted[3:])


@seeds
def test_5_kane_before_and_after_momentum_loads(seed):
    """Theory 9.5: KanesMethod takes the momentum of what leaves along."""
    disc = Disc(exhaust=3)
    mine = disc.method
    values = {**{s: Rational(3*i + 2, 5) for i, s in enumerate(DISC)},
              t: Rational(seed, 2)}
    random = Random(seed)
    values.update({e: fraction(random) for e in (*disc.q, *disc.u)})
    values[radius] = Rational(1, 2)
    true = mp.lu_solve(at(mine.mass_matrix, values),
                       at(mine.forcing, values))
    assert close(true, disc.plain.solve(values)[0])

    def kane(loads=()):
        method, (vx, vy) = disc.kane(loads)
        vxy = {vx: radius*w3*cos(psi), vy: radius*w3*sin(psi)}
        known = {**values, **{e: at(s, values)[0] for e, s in vxy.items()},
                 **{dot(e): at(s, values)[0] for e, s in zip(
                     (psi, theta, phi, x, y), (w1, w2, w3, *vxy.values()))}}
        return mp.lu_solve(at(method.mass_matrix, known),
                           at(method.forcing, known))[:3, 0]
    assert norm(kane() - true) > 1e-3*norm(true)
    assert close(kane(momentum_loads([disc.body], N)), true)


# Case 6: two particles on a body

m_A, m_B = dynamicsymbols('m_A m_B')
d_A, d_B, h_A, h_B = symbols('d_A d_B h_A h_B', positive=True)


def turned_body():
    """A frame with three angles, and a point in it."""
    A = ReferenceFrame('A')
    A.orient_body_fixed(N, (psi, theta, phi), 'ZXY')
    P = O.locatenew('P', x*N.x + y*N.y + z*N.z)
    P.set_vel(N, P.pos_from(O).dt(N))
    return A, P


def two_particles(A, P):
    points = [P.locatenew('A', d_A*A.x + h_A*A.y),
              P.locatenew('B', -d_B*A.x + h_B*A.z)]
    for point in points:
        point.v2pt_theory(P, N, A)
    return [Particle(name, point, mass) for name, point, mass in zip(
        'AB', points, (m_A, m_B))]


def one_body(A, P):
    """The same as one body: mass centre, central inertia."""
    whole = m_A + m_B
    rA, rB = d_A*A.x + h_A*A.y, -d_B*A.x + h_B*A.z
    G = P.locatenew('G', (m_A*rA + m_B*rB)/whole)
    G.set_vel(N, G.pos_from(O).dt(N))
    s = rA - rB
    reduced = m_A*m_B/whole
    dyadic = reduced*(s.dot(s)*inertia(A, 1, 1, 1) - s.outer(s))
    return RigidBody('AB', G, A, whole, (dyadic, G))


@seeds
def test_6_two_particles_are_one_body_with_an_anchor(seed):
    """Theory 9.6, in space and with thrust at both."""
    A, P = turned_body()
    q = [x, y, z, psi, theta, phi]
    us = dynamicsymbols('u1:7')
    pair, whole = two_particles(A, P), one_body(A, P)
    loads = [thrust(p.point, dot(p.mass), jet) for p, jet in zip(
        pair, (c_e*A.y, 2*A.z + x*N.x))]
    loads += [(p.point, -g*p.mass*N.z) for p in pair]
    two = GibbsAppellMethod(N, q, us, rates(q, us), bodies=pair,
                            forcelist=loads)
    one = GibbsAppellMethod(N, q, us, rates(q, us), bodies=[whole],
                            forcelist=loads, anchors={whole: P})
    plain = Meshchersky(N, O, q, us, dict(zip(map(dot, q), us)), pair, loads)
    values = everything(plain.residual, seed=seed)
    wanted = at(plain.residual, values)
    assert close(at(two.ingredients.unrestricted_residual, values), wanted)
    assert close(at(one.ingredients.unrestricted_residual, values), wanted)
    for name in ('mass_matrix', 'forcing', 'eom'):
        assert close(at(getattr(one, name), values),
                     at(getattr(two, name), values))
    # Without the anchor the drift of the mass centre counts as motion.
    other = GibbsAppellMethod(N, q, us, rates(q, us), bodies=[whole],
                              forcelist=loads)
    values.update({dot(e, 2): fraction(Random(seed), 1)
                   for e in (m_A, m_B)})
    found = other.ingredients.unrestricted_residual
    assert norm(at(found, values) - wanted) > 1e-3


def spinning(dyadic, mass=1):
    """A wheel in a fork, and the fork."""
    q, us = [psi, theta], dynamicsymbols('u1:3')
    fork, wheel = ReferenceFrame('F'), ReferenceFrame('W')
    fork.orient_axis(N, psi, N.x)
    wheel.orient_axis(fork, theta, fork.y)
    G = O.locatenew('G', 0)
    G.set_vel(N, 0)
    body = RigidBody('wheel', G, wheel, mass, (dyadic(fork, wheel), G))
    return (N, q, us, rates(q, us)), {
        'bodies': [body], 'forcelist': [(fork, psi*N.x)]}


@pytest.mark.parametrize('dyadic', [
    lambda F, W: inertia(W, 1, 2, 3, k, 0, k),
    lambda F, W: inertia(F, 1, 2, 1), lambda F, W: inertia(N, 2, 2, 2),
    lambda F, W: inertia(F, 1, 2, 1) + inertia(W, 1, 1, 3)])
def test_inertia_of_a_rigid_body_is_that_of_the_other_methods(dyadic):
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        model, options = spinning(dyadic)
        ours = GibbsAppellMethod(*model, **options)
        other = UdwadiaKalabaMethod(*model, **options)
    values = everything(Matrix([*other.mass_matrix, *other.forcing]))
    assert close(at(ours.acceleration, values),
                 at(other.acceleration, values))


@pytest.mark.parametrize('dyadic', [
    lambda F, W: inertia(F, 1, 2, 3), lambda F, W: inertia(W, 1, 2, 3 + t)])
def test_inertia_that_changes_at_constant_mass_is_told(dyadic):
    """It may be meant; in Kane's sense it is another model."""
    with pytest.warns(UserWarning, match='wheel changes in the body'):
        model, options = spinning(dyadic)
        GibbsAppellMethod(*model, **options)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        model, options = spinning(dyadic, mass=2 + t)
        GibbsAppellMethod(*model, **options)


# Case 7: a mass that depends on the state

mu_0, a_1, a_2, u_r = symbols('mu_0 a_1 a_2 u_r', positive=True)
STATE_MASS = mu_0 + a_1*x + a_2*u**2


def loader():
    point = O.locatenew('P', x*N.x)
    point.set_vel(N, u*N.x)
    return Particle('P', point, STATE_MASS)


def test_7_mass_of_state():
    """Theory 9.7: m - 2 a_2 u u_r and a_1 u u_r, exactly."""
    body = loader()
    method = GibbsAppellMethod(
        N, [x], [u], [dot(x) - u], bodies=[body],
        forcelist=[thrust(body.point, dot(STATE_MASS), u_r*N.x)])
    values = everything(Matrix([STATE_MASS, u_r]))
    exact = Exact(values)
    assert exact(method.mass_matrix) == exact(
        Matrix([STATE_MASS - 2*a_2*u*u_r]))
    assert exact(method.forcing) == exact(Matrix([a_1*u*u_r]))


# Case 8: order 2, linear

def curved():
    body = cartesian(m0, (x, y))
    row = ux*dot(uy) - uy*dot(ux) - kappa*(ux**2 + uy**2)**Rational(3, 2)
    return GibbsAppellMethod(
        N, [x, y], [ux, uy], rates((x, y), (ux, uy)), bodies=[body],
        forcelist=[(body.point, -m0*g_y*N.y)],
        nonholonomic_constraints=[row])


def test_8_circle():
    """Theory 9.8: a circle of radius 1/kappa, the energy, the digits."""
    method = curved()
    assert method.constraint_orders == (2,)
    assert list(method.equations_of_motion.states) == [x, y, ux, uy]
    motion = simulated(method, 3, {x: 0, y: 0, ux: 6, uy: .1}, {
        kappa: .5, g_y: 2, m0: 1.3}, t_eval=7)
    printed([motion[x][-1], motion[y][-1]], [1.952141896, 2.240359964])
    speed = np.hypot(6, .1)
    centre = 2*np.array([-.1, 6])/speed
    follows(np.hypot(motion[x] - centre[0], motion[y] - centre[1]), 2)
    energy = (motion[ux]**2 + motion[uy]**2)/2 + 2*motion[y]
    follows(energy, energy[0])

    def turn(_, s):                             # heading' = kappa v
        height = 2*(np.cos(np.arctan2(.1, 6)) - np.cos(s[0]))
        return [.5*np.sqrt(speed**2 - 4*height)]
    heading, = integrated(turn, 3, [np.arctan2(.1, 6)])
    follows([motion[x][-1], motion[y][-1]], centre + 2*np.array(
        [np.sin(heading), -np.cos(heading)]), 1e-10)


# Case 9: order 2, nonlinear

STIFF = symbols('K', positive=True)


@pytest.mark.parametrize('branch', [-1, 1])
def test_9_acceleration_of_given_size(branch):
    """Theory 9.9: r'' = -+ a_0 F/|F|; attracted, v^2/2 + a_0 r is kept."""
    body = cartesian(m0, (x, y))
    method = GibbsAppellMethod(
        N, [x, y], [ux, uy], rates((x, y), (ux, uy)), bodies=[body],
        nonholonomic_constraints=[dot(ux)**2 + dot(uy)**2 - a_0**2],
        forcelist=[(body.point, -STIFF*(x*N.x + y*N.y))])
    lam, = method.lam_vec
    assert list(method.equations_of_motion.states) == [
        x, y, ux, uy, dot(ux), dot(uy), lam]
    values = {m0: 1.5, STIFF: 2, a_0: 3}
    place = {x: 1.2, y: -.5, ux: .4, uy: 1.1}
    compiled = compile_equations(method, values)
    guess = {**place, dot(ux): branch*2, dot(uy): -branch, lam: 0}
    start = consistent_state(compiled, guess, fixed=place)
    size = np.hypot(1.2, -.5)
    follows(start[4:6], branch*3*np.array([1.2, -.5])/size)
    # m a = F + 2 lam a with F = -K r along -branch*a
    follows(start[6], (1.5 + branch*2*size/3)/2)
    motion = simulated(method, 1.5, start, values, t_eval=7)

    def free(_, s):
        return [*s[2:], *(branch*3*s[:2]/np.hypot(*s[:2]))]
    follows(motion.x[-1, :4], integrated(free, 1.5, list(place.values())))
    if branch < 0:
        kept = (motion[ux]**2 + motion[uy]**2)/2 + 3*np.hypot(
            motion[x], motion[y])
        follows(kept, kept[0])
    follows(np.hypot(motion.x[:, 4], motion.x[:, 5]), 3)


# Case 10: order 3

def third(row, force):
    body = cartesian(m0, (x, y))
    return GibbsAppellMethod(
        N, [x, y], [ux, uy], rates((x, y), (ux, uy)), bodies=[body],
        nonholonomic_constraints=[row], forcelist=[(body.point, force)])


def test_10_order_3_linear():
    """Theory 9.10: y''' = a x''' and F = (f_0 sin t, 0); C is free."""
    method = third(dot(uy, 2) - a*dot(ux, 2), f_0*sin(t)*N.x)
    lam, = method.lam_vec
    assert method.constraint_orders == (3,)
    assert list(method.equations_of_motion.states) == [
        x, y, ux, uy, dot(ux), dot(uy), lam]
    values = {m0: 1.4, f_0: 2.5, a: .6}
    for C in (0, .9):
        first = -.6*C/1.36
        guess = {x: .3, y: -.1, ux: .5, uy: .2, dot(ux): first,
                 dot(uy): .6*first + C, lam: 0}
        compiled = compile_equations(method, values)
        start = consistent_state(compiled, guess, fixed=[
            *list(guess)[:5]])
        follows(start[5], .6*first + C)
        motion = simulated(method, 2, start, values, t_eval=9)
        time = motion.t
        ax = (2.5/1.4*np.sin(time) - .6*C)/1.36
        follows(motion.x[:, 4], ax)
        follows(motion.x[:, 5], .6*ax + C)
        speed = .5 + (2.5/1.4*(1 - np.cos(time)) - .6*C*time)/1.36
        follows(motion[ux], speed)
        follows(motion[uy], .2 + .6*(speed - .5) + C*time)
        follows(motion[x], .3 + .5*time + (
            2.5/1.4*(time - np.sin(time)) - .3*C*time**2)/1.36)


def test_10_order_3_nonlinear():
    """Theory 9.10: |r'''| = j_0: r'' = F/m + (a + j_0 t) n."""
    F = np.array([1.1, -.7])
    method = third(dot(ux, 2)**2 + dot(uy, 2)**2 - j_0**2,
                   Rational(11, 10)*N.x - Rational(7, 10)*N.y)
    lam, = method.lam_vec
    assert list(method.equations_of_motion.states) == [
        x, y, ux, uy, dot(ux), dot(uy), dot(ux, 2), dot(uy, 2), lam]
    values = {m0: 1.4, j_0: 1.5}
    n, first = np.array([.6, .8]), .35
    second = F/1.4 + first*n
    start = [0, 0, .2, .1, *second, *(1.5*n), 1.4*first/3]
    motion = simulated(method, 1.5, start, values, t_eval=7)
    time = motion.t[:, None]
    follows(motion.x[:, 4:6], F/1.4 + (first + 1.5*time)*n)
    follows(motion.x[:, 2:4], np.array([.2, .1]) + F/1.4*time
            + (first*time + .75*time**2)*n)
    follows(motion.x[:, :2], np.array([.2, .1])*time + F/2.8*time**2
            + (first*time**2/2 + .25*time**3)*n)
    follows(motion.x[:, 6:8], 1.5*n + 0*time)


def test_10_digits():
    """Theory 9.10: y''' = x x''' + y' x'', the digits at 3."""
    method = third(dot(uy, 2) - x*dot(ux, 2) - uy*dot(ux),
                   (-2*x + Rational(7, 10)*y)*N.x - 2*y*N.y)
    lam, = method.lam_vec
    state = [.4, -.2, .5, .8, .9]               # and the multiplier

    def acceleration(X, Y, vx, vy, reaction):
        return np.array([-2*X + .7*Y - X*reaction, -2*Y + reaction])/1.5

    def by_hand(_, s):
        X, Y, vx, vy, reaction = s
        ax, ay = acceleration(*s)
        # m y''' = F_y' + lam', m x''' = F_x' - x' lam - x lam'
        rate = (X*(-2*vx + .7*vy - vx*reaction) + 1.5*vy*ax + 2*vy)/(
            1 + X**2)
        return [vx, vy, ax, ay, rate]
    start = [*state[:4], *acceleration(*state), state[4]]
    motion = simulated(method, 3, start, {m0: 1.5})
    found = [motion[x][-1], motion[y][-1]]
    printed(found, [.326273728, 3.926041279])
    wanted = integrated(by_hand, 3, state)
    follows(found, wanted[:2], 1e-10)
    follows(motion[lam][-1], wanted[4])


# Case 11: a servo

def test_11_servo_along_x():
    """Theory 9.11: the reaction has its own direction: y'' = -g_y."""
    body = cartesian(m0, (x, y))
    row = ux**2 + uy**2 - c**2
    method = GibbsAppellMethod(
        N, [x, y], [ux, uy], rates((x, y), (ux, uy)), bodies=[body],
        nonholonomic_constraints=[row], reaction_matrix=Matrix([1, 0]),
        forcelist=[(body.point, -m0*g_y*N.y)])
    values = everything(Matrix([row, g_y, m0]))
    state = at(method.rhs(), values)
    follows(state[2:], [values[g_y]*values[uy]/values[ux], -values[g_y]])
    assert equal(method.multipliers, Matrix([m0*g_y*uy/ux]), values)
    assert equal(method.constraint_forces, Matrix([m0*g_y*uy/ux, 0]), values)
    Z = at(method.hypersurface_basis, values)
    assert Z[0] == 0 and Z[1] != 0
    motion = simulated(method, .7, {x: 0, y: 0, ux: 3, uy: 2}, {
        m0: 1.2, g_y: 2, c: np.sqrt(13)}, t_eval=8)
    time = motion.t
    follows(motion[uy], 2 - 2*time)
    follows(motion[y], 2*time - time**2)
    follows(motion[ux], np.sqrt(13 - (2 - 2*time)**2))
