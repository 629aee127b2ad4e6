"""What must be true of a mechanism whatever the algebra.

Every law runs over every method and every model here.  States are admissible
points at 70 digits; accelerations and constraint forces are those of
``W z = r`` on the graph, so that no law depends on how a solver writes its
answer.
"""
from dataclasses import dataclass, field, replace
from functools import cache

import pytest
from mpmath import mp
from sympy import Matrix, Rational, cos, sin, symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from kkt import Reference, at, close, min_norm, norm, number, pinv, rank, t
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import ConstrainedDynamicsError
from sympy_constrained.models import model as ready_model

METHODS = [UdwadiaKalabaMethod]
SEEDS = (1, 2)
g, m, length = symbols('g m l', positive=True)
NUMBERS = {g: Rational(981, 100), m: Rational(7, 5),
           length: Rational(13, 10)}


@dataclass(frozen=True)
class Mechanism:
    """A model that can be stated again with other rows and orders."""

    q: tuple
    u: tuple
    L: object = None            # either a Lagrangian
    frame: object = None        # or bodies and loads
    bodies: tuple = ()
    loads: tuple = ()
    kd_eqs: tuple = ()
    hol: tuple = ()
    vel: tuple = ()
    acc: tuple = ()
    constants: dict = field(default_factory=dict)
    guess: dict = field(default_factory=dict)
    potential: tuple = ()       # the bodies' potential energy as loads
    options: dict = field(default_factory=dict)
    state: object = None        # seed -> state, where Newton has no chance
    singular: bool = False

    def form(self, method, order=None, **options):
        q, u = self.q, self.u
        if order:
            q, u = [q[i] for i in order], [u[i] for i in order]
        if self.L is not None:
            args = self.L, list(q)
            rows = {'hol_coneqs': self.hol, 'nonhol_coneqs': self.vel}
            if self.loads:
                options |= {'forcelist': list(self.loads),
                            'frame': self.frame}
        else:
            args = self.frame, list(q), list(u), list(self.kd_eqs)
            rows = {'configuration_constraints': self.hol,
                    'velocity_constraints': self.vel,
                    'bodies': self.bodies, 'forcelist': self.loads}
        options |= self.options
        rows['acceleration_constraints'] = self.acc
        rows = {name: list(value) for name, value in rows.items() if value}
        return method(*args, **rows, **options)

    @property
    def reference(self):
        rows = self.hol, self.vel, self.acc
        if self.L is None:
            return Reference.bodies(
                self.frame, self.bodies, self.loads + self.potential,
                self.q, self.u, self.kd_eqs, *rows)
        Q = Matrix([sum(where.vel(self.frame).diff(v, self.frame).dot(f)
                        for where, f in self.loads) for v in self.u])
        return Reference.lagrange(self.L, self.q, *rows, Q=Q)

    def point(self, seed):
        constants = {**NUMBERS, **self.constants}
        if self.state is None:
            return self.reference.admissible(constants, seed, self.guess)
        values = {t: 0, **constants, **self.state(seed)}
        return {x: number(v) for x, v in values.items()}


# The models

def rates(q):
    return tuple(x.diff(t) for x in q)


def pendulum():
    x, y = q = dynamicsymbols('x y')
    vx, vy = v = rates(q)
    return Mechanism(q, v, L=m*(vx**2 + vy**2)/2 - m*g*y,
                     hol=((x**2 + y**2 - length**2)/2,))


def damped_double_pendulum():
    """Two bobs in Cartesian coordinates, one of them in a viscous fluid."""
    q = dynamicsymbols('x1 y1 x2 y2')
    u = dynamicsymbols('u1:5')
    x1, y1, x2, y2 = q
    N = ReferenceFrame('N')
    O, P, R = (Point(name) for name in 'OPR')
    O.set_vel(N, 0)
    for point, i in ((P, 0), (R, 2)):
        point.set_pos(O, q[i]*N.x + q[i + 1]*N.y)
        point.set_vel(N, u[i]*N.x + u[i + 1]*N.y)
    drag = symbols('c')
    return Mechanism(
        q, u, frame=N, bodies=(Particle('P', P, m), Particle('R', R, 2*m)),
        loads=((P, -m*g*N.y), (R, -2*m*g*N.y - drag*R.vel(N))),
        kd_eqs=tuple(a.diff(t) - b for a, b in zip(q, u)),
        hol=(x1**2 + y1**2 - length**2,
             (x2 - x1)**2 + (y2 - y1)**2 - length**2/4),
        constants={drag: Rational(3, 10)},
        guess={x1: 1, y1: Rational(-1, 2), x2: 2, y2: -1})


def sprung_bob():
    """Kane's shape with potential energy: weight, and a spring whose end is
    moved, in speeds that are not q'."""
    x, y = q = dynamicsymbols('x y')
    u1, u2 = u = dynamicsymbols('u1 u2')
    k = symbols('k', positive=True)
    N = ReferenceFrame('N')
    O, P = Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, x*N.x + y*N.y)
    P.set_vel(N, (u1 + x*u2)*N.x + (u1 - u2)*N.y)
    bob = Particle('bob', P, m)
    bob.potential_energy = k*(x - sin(t))**2/2 + m*g*y
    return Mechanism(
        q, u, frame=N, bodies=(bob,), loads=((P, -P.vel(N)/5),),
        kd_eqs=(x.diff(t) - u1 - x*u2, y.diff(t) - u1 + u2),
        hol=(x**2 + y**2 - length**2,), constants={k: Rational(7, 2)},
        potential=((P, -k*(x - sin(t))*N.x - m*g*N.y),),
        options={'potential_energy': 'include'})


def turning_wire():
    """A bead on a wire that turns at a given rate: the wire does work."""
    x, y, z = q = dynamicsymbols('x y z')
    v = rates(q)
    turn = symbols('Omega')
    return Mechanism(
        q, v, L=m*sum(e**2 for e in v)/2 - m*g*z,
        hol=(x*sin(turn*t) - y*cos(turn*t), z - x**2/2 - y**2/2),
        constants={turn: Rational(3, 2)})


def sleigh():
    x, y, theta = q = dynamicsymbols('x y theta')
    u1, u2, u3 = u = dynamicsymbols('u1:4')
    a, J = symbols('a J', positive=True)
    N = ReferenceFrame('N')
    B = N.orientnew('B', 'Axis', (theta, N.z))
    B.set_ang_vel(N, u3*N.z)
    O, P = Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, x*N.x + y*N.y)
    P.set_vel(N, u1*B.x + u2*B.y)
    G = P.locatenew('G', a*B.x)
    G.v2pt_theory(P, N, B)
    return Mechanism(
        q, u, frame=N, loads=((G, -m*g*N.y),),
        bodies=(RigidBody('sleigh', G, B, m, (inertia(B, 0, 0, J), G)),),
        kd_eqs=(x.diff(t) - u1*cos(theta) + u2*sin(theta),
                y.diff(t) - u1*sin(theta) - u2*cos(theta),
                theta.diff(t) - u3),
        vel=(u2,), constants={a: Rational(2, 5), J: Rational(11, 10)})


def disc():
    """A disc rolls on a rough plane: yaw, lean, spin and its centre."""
    q = dynamicsymbols('q1:7')
    u = dynamicsymbols('u1:7')
    r = symbols('r', positive=True)
    N = ReferenceFrame('N')
    Y = N.orientnew('Y', 'Axis', (q[0], N.z))
    L = Y.orientnew('L', 'Axis', (q[1], Y.x))
    R = L.orientnew('R', 'Axis', (q[2], L.y))
    natural = R.ang_vel_in(N)
    R.set_ang_vel(N, u[0]*L.x + u[1]*L.y + u[2]*L.z)
    O, D = Point('O'), Point('D')
    O.set_vel(N, 0)
    D.set_pos(O, q[3]*N.x + q[4]*N.y + q[5]*N.z)
    D.set_vel(N, u[3]*N.x + u[4]*N.y + u[5]*N.z)
    kd_eqs = [(natural - R.ang_vel_in(N)).dot(e) for e in (L.x, L.y, L.z)]
    kd_eqs += [a.diff(t) - b for a, b in zip(q[3:], u[3:])]
    contact = D.vel(N) + R.ang_vel_in(N).cross(-r*L.z)
    inert = inertia(L, m*r**2/4, m*r**2/2, m*r**2/4)
    return Mechanism(
        q, u, frame=N, bodies=(RigidBody('disc', D, R, m, (inert, D)),),
        loads=((D, -m*g*N.z),), kd_eqs=tuple(kd_eqs),
        hol=(q[5] - r*cos(q[1]),),
        vel=(contact.dot(N.x), contact.dot(N.y)),
        constants={r: Rational(3, 5)},
        guess={q[1]: Rational(1, 3)})


def appell_hamel():
    x, y, z = q = dynamicsymbols('x y z')
    vx, vy, vz = v = rates(q)
    k = symbols('k', positive=True)
    return Mechanism(
        q, v, L=m*(vx**2 + vy**2 + vz**2)/2 - m*g*z,
        vel=(vx**2 + vy**2 - k**2*vz**2,), constants={k: Rational(3, 5)},
        guess={vx: 1, vy: Rational(-1, 2), vz: 2})


def mixed_rows():
    """One row of every level, M full and dependent on q, a load."""
    x, a, c, s = q = dynamicsymbols('x a c s')
    v = rates(q)
    N = ReferenceFrame('N')
    O, P = Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, (x + length*sin(a) + sin(c))*N.x
              - (length*cos(a) + cos(c))*N.y)
    P.set_vel(N, P.pos_from(O).dt(N))
    vel = P.vel(N)
    L = (vel.dot(vel)*m + m*v[0]**2 + m*(v[1]**2 + v[2]**2)/3)/2
    L += m*(v[3] + x*v[0])**2/2 - s**2
    return Mechanism(
        q, v, L=L + m*g*(length*cos(a) + cos(c)), frame=N,
        loads=((P, (1 - v[0])*N.x + x*N.y),),
        hol=(length*cos(a) + cos(c) - length*x/2 - t/3,),
        vel=(v[0]*sin(c) - v[1]*x - 1,),
        acc=(v[2].diff(t)*cos(x) + v[1].diff(t) + s*v[3].diff(t) + x,),
        guess={a: Rational(1, 2), c: Rational(-2, 3), x: 1})


def parallel_cranks():
    """Three rows of rank two."""
    X, Y, Phi = q = dynamicsymbols('X Y Phi')
    v = rates(q)
    places = Rational(1, 5), Rational(9, 10), Rational(8, 5)
    hol = tuple(((X + c*cos(Phi) - c)**2 + (Y + c*sin(Phi))**2
                 - length**2)/2 for c in places)

    def state(seed):
        angle, rate = Rational(7*seed, 10), Rational(3 - 2*seed, 4)
        l = NUMBERS[length]
        return {X: l*cos(angle), Y: l*sin(angle), Phi: 0,
                v[0]: -rate*l*sin(angle), v[1]: rate*l*cos(angle), v[2]: 0}
    return Mechanism(
        q, v, L=m*(v[0]**2 + v[1]**2)/2 + m*v[2]**2/5 - m*g*Y, hol=hol,
        state=state)


def massless():
    """A massless point between two springs on a circle; M is singular."""
    x, y, z = q = dynamicsymbols('x y z')
    v = rates(q)
    k = symbols('k', positive=True)
    return Mechanism(
        q, v, L=(m*v[0]**2/2 + m*(v[1] + v[2])**2 - k*x**2/2
                 - k*(y - z)**2 - g*y), singular=True,
        hol=(x**2 + (y - 2)**2 - 3 + sin(z)/4,),
        constants={k: Rational(7, 3)})


def ready(name):
    """A model of the package, in the words of this file."""
    def build():
        given = ready_model(name)
        a = given.arguments
        one = Mechanism(
            given.coordinates, given.speeds, frame=a['frame'],
            bodies=tuple(a['bodies']), loads=tuple(a['forcelist'] or ()),
            kd_eqs=tuple(a['kd_eqs']),
            hol=tuple(a.get('configuration_constraints') or ()),
            constants=given.parameters, guess=given.start)
        vel = tuple(a.get('velocity_constraints') or ())
        # Kane's shape repeats the differentiated position rows: leave out
        # those that are equal to one at a random state.
        written = replace(one, vel=vel).reference
        values = written.admissible(
            {**NUMBERS, **one.constants}, 3) if not one.hol else {
            t: Rational(1, 3), **one.constants,
            **{x: Rational(7 + 3*i, 11 + i)
               for i, x in enumerate(one.q + one.u)}}
        rows = [at(row, values)[0] for row in written.velocity]
        derived, rows = rows[:len(one.hol)], rows[len(one.hol):]
        vel = tuple(row for row, x in zip(vel, rows) if not any(
            close([x], [y]) or close([x], [-y]) for y in derived))
        return replace(one, vel=vel)
    build.__name__ = name
    return build


MODELS = [pendulum, damped_double_pendulum, sprung_bob, turning_wire,
          sleigh, disc,
          appell_hamel, mixed_rows, parallel_cranks, massless,
          *map(ready, ['slider_crank', 'four_bar', 'two_wheeled_cart',
                       'knife_edge'])]
models = pytest.mark.parametrize('model', MODELS, ids=lambda f: f.__name__)
methods = pytest.mark.parametrize('method', METHODS)


@cache
def made(model):
    return model()


@cache
def formed(method, model):
    return made(model).form(method)


@cache
def reference(model):
    return made(model).reference


@cache
def state_of(model, seed):
    return made(model).point(seed)


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(70):
        yield


# What is measured

def on_graph(method, values, *names):
    """Outputs of the graph at a state, as mpmath matrices."""
    eom = method.equations_of_motion
    state = dict(values)
    for ours, theirs in zip((*eom.q, *eom.u), (*method.q, *method.u)):
        state[ours] = values[theirs]
    known = {x: state[x] for x in eom.graph.inputs if x in state}
    out = eom.graph.evaluate(known, names, context=mp)
    return [mp.matrix(out[name]) if out[name] else
            mp.matrix(*eom.graph.outputs[name]) for name in names]


def motion(method, values):
    """Accelerations, constraint forces and multipliers of least norm."""
    W, r, M, Q, A = on_graph(method, values, 'W', 'r', 'M', 'Q', 'A')
    z = min_norm(W, r)
    assert norm(W*z - r) < mp.mpf(10)**-45*(1 + norm(r))
    o = len(method.u)
    acceleration, lam = z[:o, 0], z[o:, 0]
    forces = A.T*lam if A.rows else mp.matrix(o, 1)
    return acceleration, forces, lam


def assert_same_motion(one, other, values):
    a, f, _ = motion(one, values)
    b, h, _ = motion(other, values)
    assert close(a, b, scale=1)
    assert close(f, h, scale=1)
    return a, f


def derivative_along_motion(method, values, *names):
    """d/dt of graph outputs, by a central difference of the state."""
    acceleration = motion(method, values)[0]
    [rates_] = on_graph(method, values, 'rates')
    h = mp.mpf(10)**-20

    def moved(sign):
        state = dict(values)
        state[t] = values[t] + sign*h
        for x, dx in zip((*method.q, *method.u), (*rates_, *acceleration)):
            state[x] = values[x] + sign*h*dx
        return on_graph(method, state, *names)
    return [(after - before)/(2*h) if after.rows else after
            for after, before in zip(moved(1), moved(-1))]


# The laws

@methods
@models
def test_the_motion_is_that_of_the_multiplier_system(method, model):
    for seed in SEEDS:
        values = state_of(model, seed)
        exact = reference(model).solve(values)
        acceleration, forces, _ = motion(formed(method, model), values)
        assert close(acceleration, exact.acceleration)
        assert close(forces, exact.forces)


@methods
@models
def test_repeated_rows_change_nothing(method, model):
    one = made(model)
    twice = replace(one, hol=one.hol + one.hol[:1],
                    vel=one.vel + tuple(-2*row for row in one.vel),
                    acc=one.acc*2)
    more = twice.form(method)
    A = on_graph(more, state_of(model, 1), 'A')[0]
    assert rank(A) < A.rows
    for seed in SEEDS:
        values = state_of(model, seed)
        a, f = assert_same_motion(formed(method, model), more, values)
        assert close(at(more.acceleration, values), a, scale=1)
        assert close(at(more.constraint_forces, values), f, scale=1)


@methods
@models
def test_a_velocity_row_that_follows_from_a_position_row_adds_nothing(
        method, model):
    one = made(model)
    if not one.hol:
        pytest.skip('no holonomic row')
    rates_ = reference(model).rates
    row = Matrix([one.hol[0]]).diff(t).xreplace(rates_)[0]
    more = replace(one, vel=(5*row, *one.vel)).form(method)
    for seed in SEEDS:
        assert_same_motion(formed(method, model), more,
                           state_of(model, seed))


@methods
@models
def test_scaled_and_reordered_rows_change_multipliers_only(method, model):
    """A factor that vanishes nowhere leaves the constraint as it is."""
    one = made(model)
    x = one.q[0]

    def factor(i):
        return (-1)**i*(i + 1 + x**2)

    def changed(rows):
        return tuple(factor(i)*row for i, row in enumerate(rows, 1))[::-1]
    factors = [factor(i) for rows in (one.hol, one.vel, one.acc)
               for i in range(len(rows), 0, -1)]
    more = replace(one, hol=changed(one.hol), vel=changed(one.vel),
                   acc=changed(one.acc)).form(method)
    order = [start + i for start, rows in (
        (0, one.hol), (len(one.hol), one.vel),
        (len(one.hol) + len(one.vel), one.acc))
        for i in reversed(range(len(rows)))]
    for seed in SEEDS:
        values = state_of(model, seed)
        assert_same_motion(formed(method, model), more, values)
        exact = reference(model).solve(values)
        if exact.rank == len(order):
            lam, new = exact.lam, motion(more, values)[2]
            scale = at(Matrix(factors), values)
            assert close([lam[i] for i in order],
                         [s*x for s, x in zip(scale, new)])


@methods
@models
def test_ideal_forces_do_no_work_on_admissible_virtual_motions(
        method, model):
    for seed in SEEDS:
        values = state_of(model, seed)
        A = at(reference(model).A, values)
        forces = motion(formed(method, model), values)[1]
        symbolic = at(formed(method, model).constraint_forces, values)
        admissible = mp.eye(A.cols) - pinv(A)*A
        assert norm(forces) > 1e-5
        for f in (forces, symbolic):
            assert norm(admissible*f) < mp.mpf(10)**-45*(1 + norm(f))


@methods
@models
def test_without_constraints_the_system_is_free(method, model):
    one = made(model)
    alone = replace(one, hol=(), vel=(), acc=())
    if one.singular:
        with pytest.raises(ConstrainedDynamicsError):
            alone.form(method).acceleration
        return
    free = alone.form(method)
    values = state_of(model, 1)
    M, F, *_ = alone.reference.matrices(values)
    expected = mp.lu_solve(M, F)
    assert close(at(free.acceleration, values), expected)
    assert close(motion(free, values)[0], expected)
    assert norm(at(free.constraint_forces, values)) == 0
    assert free.multipliers.rows == 0
    # also what the constrained one calls unconstrained
    constrained = formed(method, model)
    assert close(at(constrained.unconstrained_acceleration, values),
                 expected)
    assert not close(motion(constrained, values)[0], expected, rtol=1e-3)


@methods
@models
def test_power_is_the_rate_of_energy(method, model):
    """dE/dt is the power of the loads and of the constraint forces."""
    form = formed(method, model)
    for seed in SEEDS:
        values = state_of(model, seed)
        forces = motion(form, values)[1]
        [rate] = derivative_along_motion(form, values, 'energy')
        [power] = on_graph(form, values, 'power')
        speeds = at(Matrix(form.u), values)
        applied = power[0] if power.rows else mp.mpf(0)
        work = (forces.T*speeds)[0]
        size = abs(applied) + abs(work) + 1
        assert abs(rate[0] - applied - work) < 1e-30*size


@methods
@models
def test_homogeneous_constraints_do_no_work(method, model):
    if model in (turning_wire, mixed_rows):
        pytest.skip('its rows depend on time or have a drift')
    form = formed(method, model)
    for seed in SEEDS:
        values = state_of(model, seed)
        forces = motion(form, values)[1]
        assert abs((forces.T*at(Matrix(form.u), values))[0]) < 1e-40


@methods
@models
def test_residuals_stay_on_their_level(method, model):
    """d/dt of the position rows and of the velocity rows is zero, and the
    acceleration rows hold."""
    form = formed(method, model)
    one = made(model)
    for seed in SEEDS:
        values = state_of(model, seed)
        rates_ = derivative_along_motion(form, values, 'holonomic',
                                         'velocity')
        assert [x.rows for x in rates_] == [
            len(one.hol), len(one.hol) + len(one.vel)]
        for rate in rates_:
            assert norm(rate) < 1e-30
        A, b = on_graph(form, values, 'A', 'b')
        acceleration = motion(form, values)[0]
        assert norm(A*acceleration - b) < 1e-45*(1 + norm(b))
        symbolic = at(form.acceleration, values)
        A, b = (at(x, values) for x in (form.constraint_matrix,
                                        form.constraint_vector))
        assert norm(A*symbolic - b) < 1e-45*(1 + norm(b))


@methods
@models
def test_jacobians_are_those_of_the_residuals(method, model):
    form = formed(method, model)
    values = state_of(model, 1)
    hol, vel = on_graph(form, values, 'holonomic_jacobian',
                        'velocity_jacobian')
    ours = reference(model)
    if hol.rows:
        assert close(hol, at(ours.holonomic.jacobian(ours.q), values))
    if vel.rows:
        assert close(vel, at(ours.velocity.jacobian(ours.u), values))


@methods
@models
def test_order_of_coordinates_does_not_matter(method, model):
    one = made(model)
    n = len(one.q)
    if n != len(one.u):
        pytest.skip('coordinates and speeds have orders of their own')
    order = [*range(1, n), 0]
    turned = one.form(method, order=order)
    assert tuple(turned.q) == tuple(one.q[i] for i in order)
    for seed in SEEDS:
        values = state_of(model, seed)
        a, f, _ = motion(formed(method, model), values)
        b, h, _ = motion(turned, values)
        assert close([a[i] for i in order], b, scale=1)
        assert close([f[i] for i in order], h, scale=1)
        M = at(formed(method, model).mass_matrix, values)
        other = at(turned.mass_matrix, values)
        for i in range(n):
            for j in range(n):
                assert close([M[order[i], order[j]]], [other[i, j]],
                             scale=1)


@methods
@models
def test_mass_matrix_is_symmetric_and_never_negative(method, model):
    for seed in SEEDS:
        M = at(formed(method, model).mass_matrix, state_of(model, seed))
        assert close(M, M.T)
        lowest = min(mp.eigsy(M, eigvals_only=True))
        if made(model).singular:
            assert abs(lowest) < 1e-50
        else:
            assert lowest > 1e-5
