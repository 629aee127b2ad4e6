"""Variable mass and nonlinear constraints: some cases of the theory page,
its section 9; the others are among the laws, the papers and the examples.

Motions are integrated with rtol 1e-11 and compared with closed forms, with
quadratures, or with equations of motion that are written out here by hand.
"""
import warnings
from random import Random

import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import solve_ivp
from sympy import (
    Derivative, Matrix, Rational, cos, exp, sin, sqrt, symbols, sympify)
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import (
    KanesMethod, Particle, Point, ReferenceFrame, RigidBody,
    dynamicsymbols, inertia)

from kkt import WORK, at, close, norm, t
from meshchersky import Exact, Meshchersky, fraction, particle
from sympy_constrained import (
    GibbsAppellMethod, UdwadiaKalabaMethod, momentum_loads, thrust)
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)

g, c_e, k, m0, beta, delta, a_0, radius = symbols(
    'g c_e k m0 beta delta a_0 r', positive=True)
x, y, z, ux, uy, uz = dynamicsymbols('x y z u_x u_y u_z')
u, theta, phi, psi = dynamicsymbols('u theta phi psi')
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


def everything(*expressions):
    """A positive number for each name that occurs, time included."""
    random, values = Random(1), {t: Rational(1, 3)}
    for e in map(Matrix, expressions):
        names = e.free_symbols | e.atoms(AppliedUndef, Derivative)
        for item in sorted(names, key=str):
            values.setdefault(item, fraction(random, 1))
    return values


# Case 1: Appell and Hamel's mechanism as a rocket

NUMBERS_1 = {k: 0.7, g: 9.81, beta: 0.3, c_e: 5, delta: 0.4, m0: 1.3}
SHRINKING = m0*exp(-beta*t)


def along(vx, vy, vz):
    """The exhaust: its speed against the path, turned to the left."""
    horizontal = sqrt(vx**2 + vy**2)
    path = (vx*N.x + vy*N.y + vz*N.z)/sqrt(vx**2 + vy**2 + vz**2)
    left = (-vy*N.x + vx*N.y)/horizontal
    return -c_e*(cos(delta)*path + sin(delta)*left)


def implicit(mass=SHRINKING, row=uz**2 - k**2*(ux**2 + uy**2)):
    body = cartesian(mass)
    return GibbsAppellMethod(
        N, [x, y, z], [ux, uy, uz], rates((x, y, z), (ux, uy, uz)),
        nonholonomic_constraints=[row], bodies=[body], forcelist=[
            (body.point, -mass*g*N.z),
            thrust(body.point, dot(mass), along(ux, uy, uz))])


def test_1_both_branches_of_the_row():
    """The guess tells whether the mechanism climbs or descends."""
    method = implicit()
    compiled = compile_equations(method, NUMBERS_1)
    for sign in (1, -1):
        guess = {ux: 3, uy: 4, uz: sign}
        found = consistent_state(compiled, guess, fixed=[ux, uy], fill=0)
        follows(found, [0, 0, 0, 3, 4, sign*3.5])


# Case 5: a rolling disc that loses mass

DISC = {radius: 0.5, g: 9.81}
w1, w2, w3 = dynamicsymbols('w1:4')
DISC_MASS = 2*(1 - t/10)
START_5 = {psi: 0.2, theta: 0.25, phi: 0, x: 0, y: 0, w1: 0.4, w2: -0.3, w3: 5}
WITHOUT = [-1.496076780, .398530204, 11.057599338, 3.518047932, -2.978777441]
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
        return np.array([[0, -e[2], e[1]], [e[2], 0, -e[0]], [-e[1], e[0], 0]])

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


def test_5_kane_before_and_after_momentum_loads():
    """Theory 9.5: KanesMethod takes the momentum of what leaves along."""
    disc = Disc(exhaust=3)
    mine = disc.method
    values = {**{s: Rational(3*i + 2, 5) for i, s in enumerate(DISC)},
              t: Rational(1, 2)}
    random = Random(1)
    values.update({e: fraction(random) for e in (*disc.q, *disc.u)})
    values[radius] = Rational(1, 2)
    true = mp.lu_solve(at(mine.mass_matrix, values), at(mine.forcing, values))
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


def test_6_two_particles_are_one_body_with_an_anchor():
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
    values = everything(plain.residual)
    wanted = at(plain.residual, values)
    assert close(at(two.ingredients.unrestricted_residual, values), wanted)
    assert close(at(one.ingredients.unrestricted_residual, values), wanted)
    for name in ('mass_matrix', 'forcing', 'eom'):
        assert close(at(getattr(one, name), values),
                     at(getattr(two, name), values))
    # Without the anchor the drift of the mass centre counts as motion.
    other = GibbsAppellMethod(N, q, us, rates(q, us), bodies=[whole],
                              forcelist=loads)
    values.update({dot(e, 2): fraction(Random(1), 1) for e in (m_A, m_B)})
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
    assert close(at(ours.acceleration, values), at(other.acceleration, values))


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
