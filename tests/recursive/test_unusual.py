"""Trees that are written in an unusual way, and rows that change."""
import numpy as np
import pytest
from joint_chains import pin_chain
from sympy import Matrix, Max, Rational, cos, erf, pi, sin, symbols
from sympy.physics.mechanics import (
    Particle, PinJoint, Point, ReferenceFrame, RigidBody, System,
    dynamicsymbols, inertia)

from sympy_constrained import Loop, UdwadiaKalabaMethod
from sympy_constrained.errors import (
    InconsistentConstraintsError, SingularEquationsError,
    UnsupportedFeatureError)
from sympy_constrained.numeric import compile_equations

pytest.importorskip('numba')
pytest.importorskip('llvmlite')
EQUAL = 1e-10
T = dynamicsymbols._t
MASS, LENGTH, WEIGHT = symbols('m l g')
CONSTANTS = {MASS: 1.3, LENGTH: 0.7, WEIGHT: 9.81}


def rigid(name, point, frame):
    dyadic = inertia(frame, *map(Rational, ('0.2', '0.4', '0.3', '0.01')))
    return RigidBody(name, point, frame, MASS, (dyadic, point))


def ground():
    frame, point = ReferenceFrame('N'), Point('O')
    point.set_vel(frame, 0)
    return frame, point


def assert_alike(method, inputs=None, unit=(), values=CONSTANTS):
    """Compare rates at random states, some of whose entries are a unit."""
    ordinary = compile_equations(method, inputs=inputs)
    ordinary = ordinary.with_values({x: values[x] for x in ordinary.constants})
    recursive = compile_equations(
        method, {x: values[x] for x in method.system.symbols}, inputs=inputs,
        recursion=True)
    rng = np.random.default_rng(3)
    for t in 0.3, 1.7:
        x = rng.uniform(-0.8, 0.8, len(ordinary.states))
        part = [ordinary.states.index(y) for y in unit]
        if part:
            x[part] /= np.linalg.norm(x[part])
        known = ordinary.rhs(t, x)
        assert abs(recursive.rhs(t, x) - known).max() < EQUAL*abs(
            known).max()
        assert recursive.energy(t, x) == pytest.approx(
            ordinary.energy(t, x))


def weights(bodies, frame):
    return [(body.masscenter, -MASS*WEIGHT*frame.y) for body in bodies]


def test_mass_centres_at_rest_leave_the_frames():
    """A gyroscope of joints on one point, with a disc beside it."""
    parts = [RigidBody(name, mass=MASS) for name in 'abcd']
    for part in parts:
        part.central_inertia = rigid('', Point('P'), part.frame).inertia[0]
    system = System.from_newtonian(parts[0])
    for k, axis in enumerate('zxy'):
        system.add_joints(PinJoint(
            f'p{k}', parts[k], parts[k + 1],
            joint_axis=getattr(parts[k], axis),
            child_point=LENGTH*parts[3].x if k == 2 else None))
    system.apply_uniform_gravity(-WEIGHT*parts[0].y)
    assert_alike(UdwadiaKalabaMethod.from_method(system))


@pytest.mark.parametrize('turned', [
    lambda q: q + pi/3, lambda q: q + erf(q)/9])
def test_inertia_of_a_body_at_an_angle_without_a_random_number(turned):
    N, O = ground()
    q, u = dynamicsymbols('q u')
    A = N.orientnew('A', 'Axis', [turned(q), N.x + N.y + N.z])
    body = rigid('b', O.locatenew('G', LENGTH*A.x), A)
    assert_alike(UdwadiaKalabaMethod(N, [q], [u], [q.diff() - u],
                                     bodies=[body],
                                     forcelist=weights([body], N)))


def test_bodies_in_one_frame_are_one():
    N, O = ground()
    (q1, q2), (u1, u2) = dynamicsymbols('q1:3'), dynamicsymbols('u1:3')
    A = N.orientnew('A', 'Axis', [q1, N.z])
    B = A.orientnew('B', 'Axis', [q2, A.x])
    bodies = [rigid(f'b{k}', O.locatenew(
        f'G{k}', k*LENGTH*frame.x + LENGTH*frame.y), frame)
        for k, frame in enumerate((A, B, A, B))]
    assert_alike(UdwadiaKalabaMethod(
        N, [q1, q2], [u1, u2], [q1.diff() - u1, q2.diff() - u2],
        bodies=bodies, forcelist=[
            *weights(bodies, N), (A, MASS*B.z), (B, MASS*N.z),
            (N, symbols('unused')*N.x)]), values=CONSTANTS | {
                symbols('unused'): 1})


def test_a_floating_base_in_quaternions():
    N, O = ground()
    e, w, place, v = (dynamicsymbols(f'{x}:{n}')
                      for x, n in (('e', 4), ('w', 3), ('x', 3), ('v', 3)))
    q, u = dynamicsymbols('q u')
    A = ReferenceFrame('A')
    A.orient_quaternion(N, e)
    rates = Matrix([
        [-e[1], -e[2], -e[3]], [e[0], -e[3], e[2]], [e[3], e[0], -e[1]],
        [-e[2], e[1], e[0]]])*Matrix(w)/2
    A.set_ang_vel(N, w[0]*A.x + w[1]*A.y + w[2]*A.z)
    B = A.orientnew('B', 'Axis', [q, A.x])
    G = O.locatenew('G', place[0]*N.x + place[1]*N.y + place[2]*N.z)
    G.set_vel(N, v[0]*N.x + v[1]*N.y + v[2]*N.z)
    H = G.locatenew('H', LENGTH*(A.y + B.z))
    bodies = [rigid('a', G, A), rigid('b', H, B)]
    kinematics = [x.diff() - y for x, y in zip(
        (*place, *e, q), (*v, *rates, u))]
    assert_alike(UdwadiaKalabaMethod(
        N, [*place, *e, q], [*v, *w, u], kinematics, bodies=bodies,
        forcelist=[*weights(bodies, N), (B, MASS*N.x), (A, -MASS*N.x)]),
        unit=e)


def test_a_base_moves_as_inputs_prescribe():
    N, O = ground()
    q1, q2, u1, u2, s, turn, k = dynamicsymbols('q1:3 u1:3 s turn k')
    A = N.orientnew('A', 'Axis', [q1 + turn, N.z])
    B = A.orientnew('B', 'Axis', [q2*turn, A.z])
    G = O.locatenew('P', s*N.x).locatenew('G', LENGTH*A.y)
    H = G.locatenew('H', LENGTH*B.x)
    bodies = [rigid('a', G, A), Particle('p', H, MASS)]
    bodies[1].potential_energy = k*q1**2
    method = UdwadiaKalabaMethod(
        N, [q1, q2], [u1, u2], [q1.diff() - u1, q2.diff() - u2 - turn],
        bodies=bodies, potential_energy='include', forcelist=[
            *weights(bodies, N), (H, MASS*s.diff(T, 2)*N.x)])
    assert_alike(method, {s: sin(3*T), turn: 1 + T**2/2, k: 2 + T})
    for inputs, text in ({s: T*u1, turn: T, s.diff(T, 2): 0}, 'on a speed'), (
            {s: q1, turn: T, s.diff(T, 2): 0}, 'depends on states'), (
            {s: 0, turn: u2}, 'so its'), ({s: T, turn: T, k: q2}, 'on states'):
        with pytest.raises(UnsupportedFeatureError, match=text):
            compile_equations(method, CONSTANTS, inputs, recursion=True)


def test_a_wheel_whose_frame_does_not_spin_is_refused():
    N, O = ground()
    (q1, q2), (u1, u2) = dynamicsymbols('q1:3'), dynamicsymbols('u1:3')
    A = N.orientnew('A', 'Axis', [q1, N.x])
    wheel = ReferenceFrame('W')
    wheel.orient_axis(A, A.y, 0)
    wheel.set_ang_vel(A, u2*A.y)
    G = O.locatenew('G', LENGTH*A.y)
    body = RigidBody('wheel', G, wheel, MASS, (inertia(A, 1, 2, 1), G))
    method = UdwadiaKalabaMethod(
        N, [q1, q2], [u1, u2], [q1.diff() - u1, q2.diff() - u2],
        bodies=[body], forcelist=weights([body], N))
    with pytest.raises(UnsupportedFeatureError, match='orientation'):
        compile_equations(method, CONSTANTS, recursion=True)


def test_four_rates_of_a_quaternion_are_refused():
    """One of them moves no inertia, up to rounding that small components
    enlarge: about a point beside the mass centre, that is seen at a state.
    """
    N, O = ground()
    q, u = dynamicsymbols('q:4'), dynamicsymbols('u:4')
    A = ReferenceFrame('A')
    A.orient_quaternion(N, q)

    def compiled(centre):
        return compile_equations(UdwadiaKalabaMethod(
            N, q, u, [x.diff() - v for x, v in zip(q, u)],
            bodies=[RigidBody('b', centre, A, 1, (
                inertia(A, 1, 2, 3), centre))],
            configuration_constraints=[sum(x**2 for x in q) - 1]),
            recursion=True)

    with pytest.raises(UnsupportedFeatureError, match='no inertia'):
        compiled(O)
    equations = compiled(O.locatenew('C', A.x + A.y))
    rng = np.random.default_rng(0)
    for state in rng.normal(size=(300, 4))*10**rng.uniform(-5, 0, (300, 4)):
        state /= np.linalg.norm(state)
        with pytest.raises(SingularEquationsError, match='without inertia'):
            equations.rhs(0, [*state, *rng.normal(size=4)])


@pytest.mark.parametrize('angle', [lambda q: q, lambda q: Max(q, -9)])
def test_a_force_where_a_wheel_touches_turns_the_wheel(angle):
    """The point is placed from the fork and moves with the wheel."""
    N, O = ground()
    q, u = dynamicsymbols('q:4'), dynamicsymbols('u:4')
    fork = N.orientnew('L', 'Axis', [angle(q[0]), N.z])
    wheel = fork.orientnew('R', 'Axis', [q[1], fork.y])
    fork.set_ang_vel(N, u[0]*N.z)
    wheel.set_ang_vel(fork, u[1]*fork.y)
    G = O.locatenew('G', q[2]*N.x + q[3]*N.y)
    H = G.locatenew('H', LENGTH*fork.y)
    touch = H.locatenew('C', -LENGTH*fork.z)
    free = G.locatenew('D', LENGTH*(q[1]*fork.x + wheel.x))
    G.set_vel(N, u[2]*N.x + u[3]*N.y)
    H.v2pt_theory(G, N, fork)
    touch.v2pt_theory(H, N, wheel)
    assert_alike(UdwadiaKalabaMethod(
        N, q, u, [x.diff() - y for x, y in zip(q, u)],
        bodies=[rigid('fork', G, fork), rigid('wheel', H, wheel)],
        forcelist=[(touch, -MASS*u[1]*fork.x), (free, WEIGHT*N.y),
                   (free, -MASS*u[0]*wheel.x)]))


@pytest.mark.parametrize('axis', [
    lambda a, x: cos(x)*a.x + sin(x)*a.y, lambda a, x: cos(T)*a.x + T*a.y])
def test_an_axis_of_a_loop_may_move(axis):
    arguments, values = pin_chain(7)
    N, first, last = (arguments['frame'], *(
        arguments['bodies'][k] for k in (0, -1)))
    end = last.masscenter.locatenew('end', last.x)
    held = first.masscenter.locatenew('held', first.y)
    assert_alike(UdwadiaKalabaMethod(**arguments, loops=[Loop(end, held, (
        axis(last.frame, arguments['q_ind'][0]), N.z))]), values=values)


def test_a_loop_at_an_angle_without_a_random_number():
    N, O = ground()
    arguments, values = pin_chain(6, ground=(N, O))
    last = arguments['bodies'][-1]
    aside = last.frame.orientnew('S', 'Axis', [erf(1), last.frame.z])
    end = last.masscenter.locatenew('end', aside.x)
    assert_alike(UdwadiaKalabaMethod(**arguments, loops=[Loop(
        end, O.locatenew('held', N.x), (aside.x, N.y))]), values=values)


Q1, U1, U2 = dynamicsymbols('q1 u1 u2')


def chain_with(*rows):
    arguments, values = pin_chain(3)
    return compile_equations(UdwadiaKalabaMethod(
        **arguments, velocity_constraints=rows), values, recursion=True)


@pytest.mark.parametrize('rows, angle, error', [
    ([U1 - U2, 2*U1 - 2*U2 - T], 0, InconsistentConstraintsError),
    ([U1 - U2 - T/sin(Q1)], np.pi, SingularEquationsError)])
def test_rows_without_a_motion(rows, angle, error):
    """They have different right sides, or one that is a rounding error."""
    recursive = chain_with(*rows)
    for function in (recursive.rhs, recursive.multipliers,
                     recursive.constraint_forces):
        with pytest.raises(error):
            function(0., [angle, *np.zeros(5)])


@pytest.mark.parametrize('factor', [sin, lambda x: 1 - cos(x)])
def test_a_row_that_vanishes_at_the_first_state(factor):
    x = np.array([0.4, 0.2, 0.1, 0., 0., 0.3])
    recursive = chain_with(WEIGHT*factor(Q1)*(U1 - U2))
    assert not recursive.rhs(0., np.zeros(6), {'g': 0}).any()
    with pytest.raises(SingularEquationsError, match='rank 0 .* and 1'):
        recursive.rhs(0., np.zeros(6))
    assert np.ptp(recursive.rhs(0., x)[3:5]) == pytest.approx(0)
    assert recursive.multipliers(0., x).all()


def test_redundant_rows_that_rounding_alone_tells_apart():
    """Two bars in free fall, welded together at two points."""
    N, O = ground()
    names = 'x1 y1 a1 x2 y2 a2'.split()
    q, u = dynamicsymbols(names), dynamicsymbols([f'v_{x}' for x in names])
    bodies, points = [], []
    for k in 0, 3:
        frame = N.orientnew(f'A{k}', 'Axis', [q[k + 2] + k*WEIGHT, N.z])
        along = cos(k*WEIGHT)*frame.x - sin(k*WEIGHT)*frame.y
        G = O.locatenew(f'G{k}', q[k]*N.x + q[k + 1]*N.y)
        bodies.append(rigid(f'b{k}', G, frame))
        points.append([G.locatenew(f'P{k}{i}', i*LENGTH*along)
                       for i in (1, 2, 3)])
    recursive = compile_equations(UdwadiaKalabaMethod(
        N, q, u, [x.diff() - y for x, y in zip(q, u)], bodies=bodies,
        forcelist=weights(bodies, N), loops=list(map(Loop, *points))),
        CONSTANTS, recursion=True)
    at = np.tile([0.3, 0.1, 0.7], 2)
    rates = recursive.rhs(0., [*at, *np.tile([1, 2, 3], 2)])
    assert rates[6:] == pytest.approx([0, -9.81, 0, 0, -9.81, 0], abs=1e-12)


def test_an_acceleration_that_was_set():
    """The ordinary form obeys it, also where it contradicts the velocity."""
    N, O = ground()
    q, u = dynamicsymbols('q u')
    C = O.locatenew('C', q*N.x)
    C.set_vel(N, u*N.x)
    C.set_acc(N, u.diff()*N.x + WEIGHT*N.x)
    method = UdwadiaKalabaMethod(
        N, q_ind=[q], u_ind=[u], kd_eqs=[q.diff() - u],
        bodies=[Particle('P', C, MASS)], forcelist=[])
    with pytest.raises(UnsupportedFeatureError, match='An acceleration was'):
        compile_equations(method, CONSTANTS, recursion=True)
