"""The cases U-1 to U-11 of the theory page, in closed form and against a
50-digit solve of the multiplier system.

Every case is stated once and tried in both call shapes where both can state
it: Lagrange's (a Lagrangian and coordinates) and Kane's (bodies and loads).
"""
from dataclasses import dataclass

import pytest
from mpmath import mp
from sympy import Matrix, Rational, cos, diag, simplify, sin, sqrt, symbols
from sympy.physics.mechanics import (
    Particle, Point, PrismaticJoint, ReferenceFrame, RigidBody, System,
    dynamicsymbols, inertia)

from kkt import (
    Reference, at, close, min_norm, norm, number, rank, solve, t)
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstrainedDynamicsError, InconsistentConstraintsError,
    MissingIngredientError)

SHAPES = ('lagrange', 'kane')
SEEDS = (1,)
g, k, m, alpha, beta = symbols('g k m alpha beta', positive=True)
length = symbols('l', positive=True)
CONSTANTS = {g: Rational(981, 100), m: Rational(7, 5),
             length: Rational(13, 10), k: Rational(3, 5),
             alpha: Rational(5, 4), beta: Rational(9, 4)}


@dataclass
class Model:
    """The arguments of a method class and an independent reference."""

    q: tuple
    v: tuple            # the symbols of the speeds in this call shape
    args: tuple
    kwargs: dict
    reference: Reference

    def method(self, **options):
        return UdwadiaKalabaMethod(*self.args, **self.kwargs, **options)

    def point(self, seed, guess=None, **constants):
        values = {**CONSTANTS, **{symbols(n): v
                                  for n, v in constants.items()}}
        return self.reference.admissible(values, seed, guess)


def particle(shape, dimension=2, hol=None, vel=None, acc=None, reference=(),
             **constants):
    """A particle of mass m, gravity along the last axis, with the rows
    ``hol(q)``, ``vel(q, v)``, ``acc(q, v, a)``."""
    q = dynamicsymbols('x y z')[:dimension]
    if shape == 'lagrange':
        v = [x.diff(t) for x in q]
    else:
        v = dynamicsymbols('v_x v_y v_z')[:dimension]
    a = [x.diff(t) for x in v]
    hol = hol(q) if hol else []
    vel = vel(q, v) if vel else []
    acc = acc(q, v, a) if acc else []
    if shape == 'lagrange':
        L = m*sum(x**2 for x in v)/2 - m*g*q[-1]
        args = (L, q)
        kwargs = {'hol_coneqs': hol, 'nonhol_coneqs': vel}
        reference = Reference.lagrange(L, q, hol, vel, acc)
    else:
        N = ReferenceFrame('N')
        axes = (N.x, N.y, N.z)
        O, P = Point('O'), Point('P')
        O.set_vel(N, 0)
        P.set_pos(O, sum((x*e for x, e in zip(q, axes)), start=0*N.x))
        P.set_vel(N, sum((x*e for x, e in zip(v, axes)), start=0*N.x))
        bodies = [Particle('bob', P, m)]
        loads = [(P, -m*g*axes[dimension - 1])]
        kd_eqs = [x.diff(t) - y for x, y in zip(q, v)]
        args = (N, q, v, kd_eqs)
        kwargs = {'configuration_constraints': hol,
                  'velocity_constraints': vel, 'bodies': bodies,
                  'forcelist': loads}
        reference = Reference.bodies(N, bodies, loads, q, v, kd_eqs, hol,
                                     vel, acc)
    if acc:
        kwargs['acceleration_constraints'] = acc
    kwargs = {key: value for key, value in kwargs.items() if value}
    return Model(tuple(q), tuple(v), args, kwargs, reference)


def circle(q):
    return [(q[0]**2 + q[1]**2 - length**2)/2]


def pendulum_multiplier(model):
    (x, y), (vx, vy) = model.q, model.v
    return m*(g*y - vx**2 - vy**2)/(x**2 + y**2)


def pendulum_acceleration(model, lam):
    (x, y) = model.q
    return Matrix([lam*x/m, lam*y/m - g])


def graph_solution(method, values):
    """Accelerations from W z = r, evaluated on the graph at 50 digits."""
    eom = method.equations_of_motion
    state = dict(values)
    for ours, theirs in zip((*eom.q, *eom.u), (*method.q, *method.u)):
        state[ours] = values[theirs]
    with mp.workdps(70):
        known = {x: number(state[x]) for x in eom.graph.inputs
                 if x in state}
        out = eom.graph.evaluate(known, ['W', 'r'], context=mp)
        z = min_norm(mp.matrix(out['W']), mp.matrix(out['r']))
        return z[:len(method.u), 0]


def assert_is(method, model, values, acceleration=None, lam=None, C=None):
    """The method against the closed form and the 50-digit solve.

    Accelerations and Q_c are compared as symbolic properties and through
    the graph; ``lam`` only where it is unique.
    """
    M, F, A, b = model.reference.matrices(values)
    with mp.workdps(70):
        applied = F + at(C, values) if C is not None else F
        exact = solve(M, applied, A, b)
        forces = M*exact.acceleration - F
    found = at(method.acceleration, values)
    assert close(found, exact.acceleration)
    assert close(at(method.constraint_forces, values), forces,
                 scale=norm(F))
    assert close(graph_solution(method, values), exact.acceleration)
    if acceleration is not None:
        assert close(found, at(acceleration, values))
    if lam is not None:
        assert close(at(method.multipliers, values), at(lam, values))


# U-1

@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['auto', 'schur', 'kkt', 'pinv'])
def test_pendulum(shape, solver):
    model = particle(shape, hol=circle)
    method = model.method(solver=solver)
    lam = pendulum_multiplier(model)
    for seed in SEEDS:
        assert_is(method, model, model.point(seed),
                  pendulum_acceleration(model, lam), Matrix([lam]))


@pytest.mark.parametrize('shape', SHAPES)
def test_pendulum_symbolically(shape):
    model = particle(shape, hol=circle)
    method = model.method()
    lam = pendulum_multiplier(model)
    assert simplify(method.multipliers[0] - lam) == 0
    assert simplify(method.acceleration
                    - pendulum_acceleration(model, lam)) == Matrix([0, 0])


def test_pendulum_with_its_differentiated_row_given_too():
    model = particle('kane', hol=circle)
    (x, y), (vx, vy) = model.q, model.v
    method = model.method(velocity_constraints=[x*vx + y*vy])
    for seed in SEEDS:
        values = model.point(seed)
        assert_is(method, model, values)
    assert method.velocity_constraints.shape == (1, 1)


# U-2

@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['auto', 'schur', 'kkt', 'pinv'])
def test_pendulum_with_a_repeated_row(shape, solver):
    model = particle(shape, hol=lambda q: [*circle(q), 3*circle(q)[0]])
    method = model.method(solver=solver)
    lam = pendulum_multiplier(model)
    for seed in SEEDS:
        assert_is(method, model, model.point(seed),
                  pendulum_acceleration(model, lam))
    assert method.constraint_rank() == 1
    assert len(method.independent_rows) == 1


@pytest.mark.parametrize('shape', SHAPES)
def test_multipliers_of_a_repeated_row_have_least_norm(shape):
    model = particle(shape, hol=lambda q: [*circle(q), 3*circle(q)[0]])
    method = model.method(solver='pinv')
    lam = pendulum_multiplier(model)*Matrix([1, 3])/10
    for seed in SEEDS:
        values = model.point(seed)
        assert close(at(method.multipliers, values), at(lam, values))
        assert close(at(method.multipliers, values),
                     model.reference.solve(values).lam)


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['schur', 'kkt'])
def test_multiplier_of_a_dropped_row_is_zero(shape, solver):
    model = particle(shape, hol=lambda q: [*circle(q), 3*circle(q)[0]])
    method = model.method(solver=solver)
    [kept] = method.independent_rows
    lam = [0, 0]
    lam[kept] = pendulum_multiplier(model)/(1, 3)[kept]
    assert method.multipliers[1 - kept] == 0
    for seed in SEEDS:
        values = model.point(seed)
        assert close(at(method.multipliers, values), at(Matrix(lam), values))


def contradiction(shape):
    """phi'' = 0 and 3 phi'' = delta: b = (b0, 3 b0 + delta)."""
    delta = symbols('delta')

    def twice(q, v, a):
        return [3*(q[0]*a[0] + q[1]*a[1] + v[0]**2 + v[1]**2) - delta]
    return particle(shape, hol=circle, acc=twice)


@pytest.mark.parametrize('shape', SHAPES)
def test_contradicting_rows_are_an_error(shape):
    model = contradiction(shape)
    with pytest.raises(InconsistentConstraintsError) as error:
        model.method().acceleration
    assert isinstance(error.value, ConstrainedDynamicsError)
    with pytest.raises(InconsistentConstraintsError):
        model.method().rhs()
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize('solver', ['auto', 'schur', 'kkt', 'pinv'])
def test_rows_that_agree_need_no_least_squares(solver):
    x, y = dynamicsymbols('x y')
    L = m*(x.diff(t)**2 + 3*y.diff(t)**2)/2 - m*g*y
    rows = [x**2 + y**2 - 1]
    method = UdwadiaKalabaMethod(L, [x, y], hol_coneqs=rows, solver=solver,
                                 inconsistent='least-squares')
    reference = Reference.lagrange(L, [x, y], rows)
    values = {x: 3, y: 5, x.diff(t): 7, y.diff(t): 11, m: 2, g: 13}
    assert close(at(method.acceleration, values),
                 reference.solve(values).acceleration)


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['auto', 'pinv'])
def test_contradicting_rows_by_least_squares(shape, solver):
    model = contradiction(shape)
    delta = symbols('delta')
    method = model.method(inconsistent='least-squares', solver=solver)
    (x, y), (vx, vy) = model.q, model.v
    b0 = -vx**2 - vy**2
    lam = m*(b0 + 3*delta/10 + g*y)/(x**2 + y**2)
    for seed in SEEDS:
        values = model.point(seed, delta=Rational(17, 10))
        exact = model.reference.solve(values)
        found = at(method.acceleration, values)
        assert close(found, at(pendulum_acceleration(model, lam), values))
        assert close(found, exact.acceleration)
        assert exact.inconsistency > 0.1


# U-3

def parallel_cranks(shape, rows=(0, 1, 2)):
    X, Y, Phi = q = dynamicsymbols('X Y Phi')
    places = symbols('c:3', positive=True)
    J = symbols('J', positive=True)
    if shape == 'lagrange':
        v = [x.diff(t) for x in q]
    else:
        v = dynamicsymbols('v_X v_Y omega')
    hol = [((X + places[i]*cos(Phi) - places[i])**2
            + (Y + places[i]*sin(Phi))**2 - length**2)/2 for i in rows]
    if shape == 'lagrange':
        L = m*(v[0]**2 + v[1]**2)/2 + J*v[2]**2/2 - m*g*Y
        args, kwargs = (L, q), {'hol_coneqs': hol}
        reference = Reference.lagrange(L, q, hol)
    else:
        N = ReferenceFrame('N')
        B = N.orientnew('B', 'Axis', (Phi, N.z))
        B.set_ang_vel(N, v[2]*N.z)
        O, G = Point('O'), Point('G')
        O.set_vel(N, 0)
        G.set_pos(O, X*N.x + Y*N.y)
        G.set_vel(N, v[0]*N.x + v[1]*N.y)
        bodies = [RigidBody('coupler', G, B, m, (inertia(B, 0, 0, J), G))]
        loads = [(G, -m*g*N.y)]
        kd_eqs = [x.diff(t) - y for x, y in zip(q, v)]
        args = (N, q, v, kd_eqs)
        kwargs = {'configuration_constraints': hol, 'bodies': bodies,
                  'forcelist': loads}
        reference = Reference.bodies(N, bodies, loads, q, v, kd_eqs, hol)
    return Model(tuple(q), tuple(v), args, kwargs, reference)


CRANKS = dict(zip(symbols('c:3 J', positive=True),
                  (Rational(1, 5), Rational(9, 10), Rational(8, 5),
                   Rational(3, 10))))


def crank_state(model, seed):
    angle, rate = Rational(7*seed, 10), Rational(3 - 2*seed, 4)
    X, Y, Phi = model.q
    vX, vY, omega = model.v
    return {**CONSTANTS, **CRANKS, t: 0, X: length_of(cos(angle)),
            Y: length_of(sin(angle)), Phi: 0, omega: 0,
            vX: -rate*length_of(sin(angle)), vY: rate*length_of(cos(angle))}


def length_of(x):
    return CONSTANTS[length]*x


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['auto', 'schur', 'kkt', 'pinv'])
def test_parallel_cranks(shape, solver):
    model = parallel_cranks(shape)
    method = model.method(solver=solver)
    assert method.constraint_rank() == 2
    assert len(method.independent_rows) == 2
    two = parallel_cranks(shape, method.independent_rows).method(
        solver='schur')
    for seed in SEEDS:
        values = crank_state(model, seed)
        exact = model.reference.solve(values)
        assert exact.rank == 2
        found = at(method.acceleration, values)
        assert close(found, exact.acceleration)
        assert abs(found[2]) < 1e-50
        assert close(at(method.constraint_forces, values), exact.forces)
        assert close(at(two.acceleration, values), exact.acceleration)
        assert close(graph_solution(method, values), exact.acceleration)


@pytest.mark.parametrize('shape', SHAPES)
def test_parallel_cranks_share_their_forces_by_least_norm(shape):
    model = parallel_cranks(shape)
    method = model.method(solver='pinv')
    for seed in SEEDS:
        values = crank_state(model, seed)
        assert close(at(method.multipliers, values),
                     model.reference.solve(values).lam)


# U-4

def massless_coordinate(shape, hol=True):
    """Mass 1 at x1, mass 2 at y1 + x2 and x1 = y1: M is singular."""
    x1, y1, x2 = q = dynamicsymbols('x1 y1 x2')
    m1, m2, k1, k2 = symbols('m1 m2 k1 k2', positive=True)
    if shape == 'lagrange':
        v = [x.diff(t) for x in q]
    else:
        v = dynamicsymbols('u1 w1 u2')
    rows = [x1 - y1] if hol else []
    if shape == 'lagrange':
        L = (m1*v[0]**2/2 + m2*(v[1] + v[2])**2/2 - k1*x1**2/2
             - k2*x2**2/2)
        args, kwargs = (L, q), {'hol_coneqs': rows}
        reference = Reference.lagrange(L, q, rows)
    else:
        N = ReferenceFrame('N')
        O, P, R, S = (Point(name) for name in 'OPRS')
        O.set_vel(N, 0)
        P.set_pos(O, x1*N.x)
        P.set_vel(N, v[0]*N.x)
        R.set_pos(O, y1*N.x)
        R.set_vel(N, v[1]*N.x)
        S.set_pos(R, x2*N.x)
        S.set_vel(N, (v[1] + v[2])*N.x)
        bodies = [Particle('first', P, m1), Particle('second', S, m2)]
        loads = [(P, -k1*x1*N.x), (S, -k2*x2*N.x), (R, k2*x2*N.x)]
        kd_eqs = [x.diff(t) - y for x, y in zip(q, v)]
        args = (N, q, v, kd_eqs)
        kwargs = {'configuration_constraints': rows, 'bodies': bodies,
                  'forcelist': loads}
        reference = Reference.bodies(N, bodies, loads, q, v, kd_eqs, rows)
    return Model(tuple(q), tuple(v), args, kwargs, reference)


SPRINGS = {'m1': Rational(3, 2), 'm2': Rational(4, 5), 'k1': Rational(7, 2),
           'k2': Rational(5, 3)}
SPRINGS = {symbols(n, positive=True): v for n, v in SPRINGS.items()}


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['auto', 'kkt', 'pinv'])
def test_massless_coordinate(shape, solver):
    model = massless_coordinate(shape)
    method = model.method(solver=solver)
    x1, y1, x2 = model.q
    m1, m2, k1, k2 = symbols('m1 m2 k1 k2', positive=True)
    first = (k2*x2 - k1*x1)/m1
    expected = Matrix([first, first, -k2*x2/m2 - first])
    for seed in SEEDS:
        values = model.reference.admissible(SPRINGS, seed)
        assert rank(model.reference.matrices(values)[0]) == 2
        assert_is(method, model, values, expected, Matrix([k2*x2]))


@pytest.mark.parametrize('shape', SHAPES)
def test_massless_coordinate_is_never_silently_wrong_under_schur(shape):
    """The Schur complement needs a regular M: an answer or an error."""
    model = massless_coordinate(shape)
    values = model.reference.admissible(SPRINGS, 1)
    try:
        found = at(model.method(solver='schur').acceleration, values)
    except ConstrainedDynamicsError:
        return
    assert close(found, model.reference.solve(values).acceleration)


@pytest.mark.parametrize('shape', SHAPES)
def test_massless_coordinate_alone_determines_no_motion(shape):
    model = massless_coordinate(shape, hol=False)
    with pytest.raises(ConstrainedDynamicsError):
        model.method().acceleration


# U-5

@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['auto', 'schur', 'kkt', 'pinv'])
def test_viscous_bead_on_a_circle(shape, solver):
    kappa = symbols('kappa')
    model = particle(shape, hol=circle)
    C = -kappa*Matrix(model.v)
    method = model.method(nonideal_forces=C, solver=solver)
    lam = pendulum_multiplier(model)
    for seed in SEEDS:
        values = model.point(seed, kappa=Rational(2, 7))
        assert_is(method, model, values, C=C)
        assert close(at(method.nonideal_constraint_forces, values),
                     at(C, values))
        assert close(at(method.ideal_constraint_forces, values),
                     at(lam*Matrix(model.q), values))


@pytest.mark.parametrize('shape', SHAPES)
def test_coulomb_bead_on_a_circle(shape):
    """L omega' = -g sin(phi) - mu N/m with N from the ideal multiplier."""
    mu = symbols('mu')
    model = particle(shape, hol=circle)
    (x, y), (vx, vy) = model.q, model.v
    speed = sqrt(vx**2 + vy**2)
    normal = m*(vx**2 + vy**2 - g*y)/length
    C = -mu*normal*Matrix(model.v)/speed
    method = model.method(nonideal_forces=C)
    for phi, omega in ((Rational(1, 3), 2), (Rational(-4, 5), 3)):
        l, g_, m_ = (CONSTANTS[s] for s in (length, g, m))
        friction = Rational(3, 10)
        values = {**CONSTANTS, mu: friction, t: 0, x: l*sin(phi),
                  y: -l*cos(phi), vx: l*omega*cos(phi),
                  vy: l*omega*sin(phi)}
        values = {s: number(v) for s, v in values.items()}
        assert_is(method, model, values, C=C)
        assert close(at(method.nonideal_constraint_forces, values),
                     at(C, values))
        ax, ay = at(method.acceleration, values)
        with mp.workdps(70):
            along = (ax*mp.cos(number(phi)) + ay*mp.sin(number(phi)))
            N = m_*(l*omega**2 + g_*cos(phi))
            expected = number(-g_*sin(phi) - friction*N/m_)
            assert close([along], [expected])


def test_nonideal_forces_given_as_loads():
    kappa = symbols('kappa')
    model = particle('kane', hol=circle)
    N, P = model.args[0], model.kwargs['bodies'][0].point
    drag = [(P, -kappa*(model.v[0]*N.x + model.v[1]*N.y))]
    method = model.method(nonideal_forces=drag)
    values = model.point(1, kappa=Rational(2, 7))
    C = -kappa*Matrix(model.v)
    assert_is(method, model, values, C=C)
    assert close(at(method.nonideal_constraint_forces, values),
                 at(C, values))


# U-6

def constant_speed(q, v):
    c = symbols('c', positive=True)
    return [sum(x**2 for x in v) - c**2]


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['auto', 'schur', 'kkt', 'pinv'])
def test_constant_speed(shape, solver):
    model = particle(shape, 3, vel=constant_speed)
    method = model.method(solver=solver)
    v = Matrix(model.v)
    gravity = Matrix([0, 0, -g])
    expected = gravity - v*v.dot(gravity)/v.dot(v)
    for seed in SEEDS:
        values = model.reference.admissible(
            {**CONSTANTS, symbols('c', positive=True): Rational(12, 5)},
            seed)
        assert_is(method, model, values, expected)


# U-7

def appell_hamel(q, v):
    return [(v[0]**2 + v[1]**2 - k**2*v[2]**2)/2]


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['auto', 'schur', 'kkt', 'pinv'])
def test_appell_hamel(shape, solver):
    model = particle(shape, 3, vel=appell_hamel)
    method = model.method(solver=solver)
    vx, vy, vz = model.v
    expected = Matrix([-g*vx/((1 + k**2)*vz), -g*vy/((1 + k**2)*vz),
                       -g/(1 + k**2)])
    lam = Matrix([-m*g/((1 + k**2)*vz)])
    for seed in SEEDS:
        values = model.point(seed, {vx: Rational(seed, 2), vy: -1, vz: 2})
        assert_is(method, model, values, expected, lam)
        assert close(at(method.constraint_matrix, values),
                     at(Matrix([[vx, vy, -k**2*vz]]), values))


# U-8

def servo(q, v, a):
    return [a[0] + a[1] + k*q[0]]


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['auto', 'schur', 'kkt', 'pinv'])
def test_acceleration_level(shape, solver):
    model = particle(shape, acc=servo)
    method = model.method(solver=solver)
    x = model.q[0]
    expected = Matrix([(g - k*x)/2, (-g - k*x)/2])
    for seed in SEEDS:
        assert_is(method, model, model.point(seed), expected,
                  Matrix([m*(g - k*x)/2]))
    assert simplify(method.acceleration - expected) == Matrix([0, 0])


@pytest.mark.parametrize('shape', SHAPES)
def test_acceleration_level_row_nonlinear_in_accelerations(shape):
    model = particle(shape, acc=servo)
    row = [model.v[0].diff(t)**2 - k]
    kwargs = {**model.kwargs, 'acceleration_constraints': row}
    with pytest.raises(ConstrainedDynamicsError):
        UdwadiaKalabaMethod(*model.args, **kwargs).acceleration


# U-9

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
    bodies = [RigidBody('sleigh', G, B, m, (inertia(B, 0, 0, J), G))]
    kd_eqs = [x.diff(t) - u1*cos(theta) + u2*sin(theta),
              y.diff(t) - u1*sin(theta) - u2*cos(theta),
              theta.diff(t) - u3]
    reference = Reference.bodies(N, bodies, [], q, u, kd_eqs, vel=[u2])
    return Model(tuple(q), tuple(u), (N, list(q), [u1, u3], kd_eqs),
                 {'u_dependent': [u2], 'velocity_constraints': [u2],
                  'bodies': bodies}, reference)


SLEIGH = {**CONSTANTS, **dict(zip(symbols('a J', positive=True),
                                  (Rational(2, 5), Rational(11, 10))))}


@pytest.mark.parametrize('solver', ['auto', 'schur', 'kkt', 'pinv'])
def test_sleigh_in_body_speeds(solver):
    model = sleigh()
    method = model.method(solver=solver)
    u1, u2, u3 = model.v
    a, J = symbols('a J', positive=True)
    assert tuple(method.u) == (u1, u3, u2)
    expected = Matrix([a*u3**2, -m*a*u1*u3/(J + m*a**2), 0])
    side = m*J*u1*u3/(J + m*a**2)
    reference = model.reference
    for seed in SEEDS:
        values = reference.admissible(SLEIGH, seed)
        exact = reference.solve(values)
        # The reference has the order u1, u2, u3.
        ordered = mp.matrix([exact.acceleration[i] for i in (0, 2, 1)])
        found = at(method.acceleration, values)
        assert close(found, ordered)
        assert close(found, at(expected, values))
        assert close(at(method.multipliers, values), exact.lam)
        assert close(at(method.multipliers, values),
                     at(Matrix([side]), values))


# U-10

@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['auto', 'schur', 'kkt', 'pinv'])
def test_baumgarte_identity_off_the_constraint_set(shape, solver):
    """A q'' + x'^2 + y'^2 = -2 alpha phi' - beta^2 phi, identically."""
    model = particle(shape, hol=circle)
    method = model.method(stabilization=(alpha, beta), solver=solver)
    (x, y), (vx, vy) = model.q, model.v
    [phi] = circle(model.q)
    ax, ay = method.acceleration
    identity = (x*ax + y*ay + vx**2 + vy**2
                + 2*alpha*(x*vx + y*vy) + beta**2*phi)
    assert simplify(identity) == 0
    for seed in SEEDS:
        off = {**CONSTANTS, t: 0, x: Rational(seed, 3), y: Rational(7, 9),
               vx: Rational(-5, 4), vy: Rational(seed, 7)}
        assert abs(at(identity, off)[0]) < 1e-50
        reference = model.reference.stabilised(alpha, beta)
        exact = reference.solve(off)
        assert close(at(method.acceleration, off), exact.acceleration)
        plain = model.reference.solve(off).acceleration
        assert not close(at(method.acceleration, off), plain, rtol=1e-3)


# U-11

def cart_and_bead(speeds, partitioned):
    """A bead in a vertical slot of a cart, its height y = x^2/2."""
    q1, q2 = dynamicsymbols('q1 q2')
    if speeds == 'own':
        u1, u2 = dynamicsymbols('u1 u2')
    else:
        u1, u2 = q1.diff(t), q2.diff(t)
    wall, cart, bead = (RigidBody(name, mass=m)
                        for name in ('wall', 'cart', 'bead'))
    system = System.from_newtonian(wall)
    system.add_joints(
        PrismaticJoint('rail', wall, cart, q1, u1, joint_axis=wall.x),
        PrismaticJoint('slot', cart, bead, q2, u2, joint_axis=cart.y))
    system.add_loads((bead.masscenter, -m*g*system.y))
    system.add_holonomic_constraints(q2 - q1**2/2)
    if partitioned:
        system.q_ind, system.q_dep = [q1], [q2]
        system.u_ind, system.u_dep = [u1], [u2]
    v1 = u1
    height = [q1, q1**2/2]
    rates = [v1, q1*v1]
    first = -q1*(g + v1**2)/(2 + q1**2)
    expected = Matrix([first, v1**2 + q1*first])
    state = dict(zip((q1, q2, u1, u2), (*height, *rates)))
    return system, state, expected


@pytest.mark.parametrize('partitioned', [True, False])
@pytest.mark.parametrize('speeds', ['own', 'derivatives'])
def test_cart_and_bead_through_system(speeds, partitioned):
    system, state, expected = cart_and_bead(speeds, partitioned)
    equations = system.form_eoms(eom_method=UdwadiaKalabaMethod)
    assert isinstance(system.eom_method, UdwadiaKalabaMethod)
    assert equations.shape == (2, 1)
    q1, q2, u1, u2 = state
    L = m*(2*q1.diff(t)**2 + q2.diff(t)**2)/2 - m*g*q2
    reference = Reference.lagrange(L, [q1, q2], [q2 - q1**2/2])
    for position, speed in ((Rational(3, 4), Rational(-2, 3)),
                            (Rational(-6, 5), Rational(5, 2))):
        values = {**CONSTANTS, t: 0, q1: position, q2: position**2/2,
                  u1: speed, u2: position*speed}
        values |= {q1.diff(t): speed, q2.diff(t): position*speed}
        found = at(system.eom_method.acceleration, values)
        assert close(found, at(expected, values))
        exact = reference.solve(values)
        assert close(found, exact.acceleration)
        assert close(at(system.eom_method.constraint_forces, values),
                     exact.forces)
        right = at(system.rhs(), values)
        assert close(right[2:, 0], exact.acceleration)
    # M and F + Q_c, SymPy's own face of the same thing
    M, F = system.mass_matrix, system.forcing
    with mp.workdps(70):
        assert close(mp.lu_solve(at(M, values), at(F, values)), found)


def test_from_system():
    system, state, expected = cart_and_bead('own', True)
    method = UdwadiaKalabaMethod.from_system(system)
    q1, q2, u1, u2 = state
    values = {**CONSTANTS, t: 0, q1: Rational(3, 4), q2: Rational(9, 32),
              u1: 2, u2: Rational(3, 2)}
    assert close(at(method.acceleration, values), at(expected, values))
    assert method.mass_matrix.expand() == diag(2*m, m)


# A weight


def test_a_weight_needs_mass_in_all_directions():
    x, y = dynamicsymbols('x y')
    method = UdwadiaKalabaMethod(
        m*x.diff(t)**2/2, [x, y], nonhol_coneqs=[x.diff(t) - y.diff(t)],
        weight=diag(1, 2))
    with pytest.raises(ConstrainedDynamicsError, match=(
            'regular mass matrix and a positive definite weight, and one of '
            'them is not. Give mass to every direction')):
        method.acceleration


@pytest.mark.parametrize('solver', ['auto', 'schur', 'kkt', 'pinv'])
def test_a_weight_that_is_seen_too_late_not_to_be_definite(solver):
    x, y = dynamicsymbols('x y')
    k = symbols('k')                    # of unknown sign
    method = UdwadiaKalabaMethod(
        m*(x.diff(t)**2 + y.diff(t)**2)/2, [x, y], weight=diag(k, -k),
        nonhol_coneqs=[x.diff(t) - y.diff(t)], solver=solver)
    with pytest.raises(MissingIngredientError, match=(
            'positive definite weight, and one of them is not.*correct `wei')):
        method.acceleration
