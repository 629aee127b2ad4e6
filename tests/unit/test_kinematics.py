"""Frames, points and speeds on the graph against SymPy's own vectors."""
import inspect
import sys
import warnings
from contextlib import nullcontext
from functools import partial
from random import Random

import pytest
from mpmath import mp
from sympy import (
    Function, I, Matrix, Piecewise, Symbol, cos, eye, nan, sign, sin, symbols,
    zeros)
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia, msubs)

from kkt import at
from sympy_constrained import GibbsAppellMethod, UdwadiaKalabaMethod
from sympy_constrained.errors import KinematicsError
from sympy_constrained.graph import Graph, GraphBuilder, read
from sympy_constrained.model.kinematic_equations import solve_kinematics
from sympy_constrained.model.kinematics import Kinematics

t = dynamicsymbols._t
Q = q1, q2, q3, q4 = dynamicsymbols('q1:5')
U = u1, u2, u3, u4 = dynamicsymbols('u1:5')
s = dynamicsymbols('s')                 # a specified input
a, b = symbols('a b')
PLAIN = [q.diff(t) - u for q, u in zip(Q, U)]


def numbers(seed):
    """Values of everything that occurs in this file but the ``q'``."""
    random = Random(f'kinematics {seed}')
    found = [*Q, *U, *(u.diff(t) for u in U), t, a, b, s, s.diff(t),
             s.diff(t, 2)]
    return {x: mp.mpf(random.randint(-1500, 1500))/1000 for x in found}


def unit_quaternion(seed):
    """Values for which ``Q`` is, and stays, a unit quaternion."""
    values = numbers(seed)
    with mp.workdps(40):
        e = mp.matrix([values[x] for x in Q])
        e /= mp.norm(e)
        v = mp.matrix([values[x] for x in U])
        v -= (e.T*v)[0]*e
        return values | dict(zip(Q, e)) | dict(zip(U, v))


class Model:
    """The kinematics of a frame with SymPy's answer beside ours."""

    def __init__(self, frame, kd_eqs=PLAIN, q=Q, u=U, numbers=numbers):
        self.frame, self.q, self.u, self.numbers = frame, q, u, numbers
        self.builder = GraphBuilder(t)
        self.motion = Kinematics(
            self.builder, frame, q, u,
            solve_kinematics(self.builder, kd_eqs, q, u))
        qd = Matrix([x.diff(t) for x in q])
        kd = Matrix(list(kd_eqs))
        J = kd.jacobian(qd)
        self.rates = dict(zip(qd, J.LUsolve(
            -kd.xreplace(dict.fromkeys(qd, 0)))))

    def ours(self, refs, values):
        graph = Graph.freeze(self.builder, {'f': ([[k] for k in refs], 1)})
        return mp.matrix(graph.evaluate(values, context=mp)['f'])

    def wanted(self, vector, values, still=True):
        """SymPy's vector in ``frame`` at ``u' = 0``."""
        column = vector.to_matrix(self.frame) if vector != 0 else zeros(3, 1)
        column = column.doit()
        for _ in range(2):
            second = {qd.diff(t): rate.diff(t)
                      for qd, rate in self.rates.items()}
            column = column.xreplace(second).xreplace(self.rates)
        if still:
            column = column.xreplace({u.diff(t): 0 for u in self.u})
        return at(column, values)

    def same(self, refs, vector, axes=None, seeds=(1,)):
        axes = axes or self.frame
        for seed in seeds:
            values = self.numbers(seed)
            R = Matrix(axes.dcm(self.frame)) if axes != self.frame else eye(3)
            with mp.workdps(40):
                wanted = at(R.doit(), values)*self.wanted(vector, values)
                gap = self.ours(refs, values) - wanted
                assert mp.norm(gap, mp.inf) < mp.mpf(10)**-35

    def same_point(self, point, axes=None):
        """Velocity and acceleration of a point are SymPy's."""
        axes = axes or self.frame
        self.same(self.motion.velocity(point, axes), quiet(
            point.vel, self.frame), axes)
        self.same(self.motion.acceleration(point, axes), quiet(
            point.acc, self.frame), axes)

    def same_frame(self, frame, axes=None):
        axes = axes or self.frame
        self.same(self.motion.angular_velocity(frame, axes),
                  frame.ang_vel_in(self.frame), axes)
        self.same(self.motion.angular_acceleration(frame, axes),
                  frame.ang_acc_in(self.frame), axes)


def quiet(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return function(*args)


def stored(*objects):
    """What a frame or point remembers, to see that nobody writes to it."""
    return [{name: dict(value) for name, value in vars(x).items()
             if name.endswith('_dict')} for x in objects]


@pytest.fixture
def N():
    return ReferenceFrame('N')


@pytest.fixture
def O(N):                                # noqa: E743
    origin = Point('O')
    origin.set_vel(N, 0)
    return origin


def chain(N, O, velocities):
    """Three links, each turning about another axis of the one before."""
    frames, points = [N], [O]
    for k, (q, length) in enumerate(zip(Q, (a, b, 2*a))):
        frame = frames[-1].orientnew(
            f'B{k}', 'Axis', (q, (frames[-1].z, frames[-1].x)[k % 2]))
        point = points[-1].locatenew(f'P{k}', length*frame.x + k*frame.z)
        if velocities == 'two points':
            point.v2pt_theory(points[-1], N, frame)
        frames.append(frame)
        points.append(point)
    return frames[1:], points[1:]


def test_nothing_is_written_to_the_objects_of_the_user(N, O):
    frames, points = chain(N, O, 'unset')
    before = stored(N, O, *frames, *points)
    model = Model(N)
    for point in points:
        model.motion.acceleration(point, N)
        model.motion.velocity(point, frames[1])
    for frame in frames:
        model.motion.angular_acceleration(frame, frame)
    assert stored(N, O, *frames, *points) == before


def test_a_speed_that_only_makes_jumps_has_no_column(N, O):
    O.set_vel(N, u1*N.x + sign(u2)*N.y)
    model = Model(N)
    with pytest.warns(UserWarning, match='impulse where the function jumps'):
        columns = model.motion.columns(model.motion.velocity(O, N))
    assert columns == {0: (1, 0, 0)}


def test_the_nearest_point_with_a_velocity_is_used(N, O):
    """The first point in breadth-first order, as in SymPy."""
    P, R, X = Point('P'), Point('R'), Point('X')
    P.set_pos(O, a*N.x)
    R.set_pos(P, q1*N.y)
    X.set_pos(R, sin(q2)*N.z)
    X.set_vel(N, u3*N.y)
    model = Model(N)
    model.same_point(R)                 # from X, one step away
    model.same_point(P)                 # from O


def test_positions_in_frames_without_orientation_are_not_used(N, O):
    lost = ReferenceFrame('lost')
    P, R = Point('P'), Point('R')
    P.set_pos(O, a*lost.x)
    P.set_vel(N, u1*N.x)
    R.set_pos(P, q2*N.y)
    R.set_pos(O, b*lost.y)
    model = Model(N)
    model.same(model.motion.velocity(R, N), u1*N.x + u2*N.y)


ORIENTED = {
    'axis': lambda B, N: B.orient_axis(N, N.x + 2*N.y, q1*q2),
    'body 313': lambda B, N: B.orient_body_fixed(N, Q[:3], 313),
    'body 123': lambda B, N: B.orient_body_fixed(N, Q[:3], 'XYZ'),
    'space 312': lambda B, N: B.orient_space_fixed(N, Q[:3], 312),
    'quaternion': lambda B, N: B.orient_quaternion(N, Q),
    'dcm': lambda B, N: B.orient_explicit(N, Matrix([
        [cos(q1), -sin(q1), 0], [sin(q1), cos(q1), 0], [0, 0, 1]]))}


@pytest.mark.parametrize('way', ORIENTED)
def test_every_way_to_orient_a_frame(N, way):
    B, C = ReferenceFrame('B'), ReferenceFrame('C')
    ORIENTED[way](B, N)
    C.orient_axis(B, B.y, q4)
    model = Model(N, numbers=(
        unit_quaternion if way == 'quaternion' else numbers))
    for frame in (B, C):
        for axes in (N, B, C):
            model.same_frame(frame, axes)
        R = model.motion.rotation(N, frame)
        for k, unit in enumerate(frame):
            model.same([row[k] for row in R], unit)
    model.same(model.motion.measure(q1*B.x + a*C.z - N.y, C),
               q1*B.x + a*C.z - N.y, C)


def test_bias_contains_no_rate_of_a_speed(N, O):
    frames, points = chain(N, O, 'two points')
    model = Model(N)
    refs = (*model.motion.acceleration(points[-1], N),
            *model.motion.angular_acceleration(frames[-1], N))
    assert not model.motion.accelerations_in(*refs)


# Accelerations that were set

def spinning(N, O):
    B = N.orientnew('B', 'Axis', (q1, N.z))
    return B, O.locatenew('P', q2*B.x)


@pytest.mark.parametrize('acceleration', [
    lambda B: u2.diff()*B.x - q2*u1**2*B.x + (2*u1*u2 + q2*u1.diff())*B.y,
    lambda B: q2.diff(t, 2)*B.x - q2*q1.diff()**2*B.x + (
        2*q1.diff()*q2.diff() + q2*q1.diff(t, 2))*B.y,
    lambda B: (u2.diff() - 7)*B.x + q2*u1.diff()*B.y], ids=[
        'speeds', 'coordinates', 'another bias'])
def test_a_consistent_acceleration_is_taken(N, O, acceleration):
    B, P = spinning(N, O)
    P.set_acc(N, acceleration(B))
    model = Model(N)
    for axes in (N, B):
        model.same(model.motion.acceleration(P, axes), acceleration(B), axes)


def test_an_acceleration_is_that_of_its_own_point(N, O):
    """As for KanesMethod, which asks the point itself."""
    B, P = spinning(N, O)
    O.set_acc(N, 9*N.y)
    model = Model(N)
    model.same(model.motion.acceleration(P, N), P.pos_from(O).dt(N).dt(N), N)
    model.same(model.motion.acceleration(O, N), 9*N.y, N)


@pytest.mark.parametrize('acceleration', [
    lambda B: u2.diff()*B.x, lambda B: 0*B.x,
    lambda B: 2*u2.diff()*B.x + q2*u1.diff()*B.y,
    lambda B: u2.diff()*B.x + q2*u1.diff()*B.y + u3.diff()*B.z,
    lambda B: u2.diff()**2*B.x + q2*u1.diff()*B.y])
def test_an_acceleration_that_does_not_fit_is_refused(N, O, acceleration):
    B, P = spinning(N, O)
    P.set_acc(N, acceleration(B))
    with pytest.raises(KinematicsError, match=(
            'acceleration set for point P does not fit its velocity'
            '.*coefficients.*Remove the acceleration')):
        Model(N).motion.acceleration(P, B)


@pytest.mark.parametrize('alpha, fits', [
    (lambda B: u1.diff()*B.z, True), (lambda B: (u1.diff() + t)*B.z, True),
    (lambda B: u2.diff()*B.z, False), (lambda B: t*B.z, False)])
def test_angular_accelerations_that_were_set(N, alpha, fits):
    B = N.orientnew('B', 'Axis', (q1, N.z))
    B.set_ang_acc(N, alpha(B))
    model = Model(N)
    if fits:
        model.same(model.motion.angular_acceleration(B, B), alpha(B), B)
        return
    with pytest.raises(KinematicsError, match='set for frame B .*Remove'):
        model.motion.angular_acceleration(B, B)


# What is missing

def test_what_has_no_motion_is_named(N):
    B = ReferenceFrame('B')
    with pytest.raises(KinematicsError, match='(?s)Frame B has no angular '
                       'velocity in N.*set_ang_vel') as info:
        Model(N).motion.angular_velocity(B, B)
    assert B in vars(info.value).values()


# Kinematic differential equations

def coupled(size, seed=0):
    """Equations whose ``q'`` are coupled in one block of this size."""
    random = Random(f'coupled {size} {seed}')
    K = Matrix(size, size, lambda i, j: 4*(i == j) + random.choice(
        [1, 2, cos(q1), sin(q2) + 2, a, 1 + q3**2]))
    H = Matrix(size, size, lambda i, j: random.choice([0, 1, q2, b]))
    h = Matrix(size, 1, lambda i, _: random.choice([0, t, s, cos(q1)]))
    qd = Matrix([q.diff(t) for q in Q[:size]])
    return K*qd - (H + eye(size))*Matrix(U[:size]) - h


@pytest.mark.parametrize('size', [1, 2, 3, 4])
@pytest.mark.parametrize('seed', [1, 2])
def test_coupled_equations_are_solved(size, seed):
    kd_eqs = coupled(size, seed)
    g = GraphBuilder(t)
    rates = solve_kinematics(g, kd_eqs, Q[:size], U[:size])
    graph = Graph.freeze(g, {'f': ([[k] for k in rates], 1)})
    values = numbers(seed)
    with mp.workdps(40):
        found = [x for x, in graph.evaluate(values, context=mp)['f']]
        values.update(zip((q.diff(t) for q in Q), found))
        assert mp.norm(at(kd_eqs, values), mp.inf) < mp.mpf(10)**-35


def test_blocks_are_solved_apart():
    """Equations in any order; what is not coupled stays as it is written."""
    kd_eqs = [q3.diff() - u3, q1.diff() + q2.diff() - u1, q4.diff() - a*u4,
              q1.diff() - q2.diff()*cos(q1) - u2]
    g = GraphBuilder(t)
    rates = solve_kinematics(g, kd_eqs, Q, U)
    assert rates[2:] == [read(g, u3), read(g, a*u4)]
    assert rates[0] == read(g, (u1*cos(q1) + u2)/(1 + cos(q1)))


@pytest.mark.parametrize('kd_eqs, q, u, rates', [
    ([q1.diff(), q2.diff() - u1], Q[:2], U[:1], [0, u1]),
    ([], Q[:2], [q1.diff(), q2.diff()], [q1.diff(), q2.diff()]),
    ([q1.diff() - u1], Q[:2], [q2.diff(), u1], [u1, q2.diff()]),
    ([q1.diff() - u1*cos(q3), q2.diff() - u1*sin(q3), q3.diff() - u2], Q[:3],
     U[:2], [u1*cos(q3), u1*sin(q3), u2])])
def test_speeds_may_be_fewer_or_rates(kd_eqs, q, u, rates):
    g = GraphBuilder(t)
    assert solve_kinematics(g, kd_eqs, q, u) == [read(g, e) for e in rates]


@pytest.mark.parametrize('spoil', [
    lambda P, N: P.locatenew('marker', nan*N.x),
    lambda P, N: P.locatenew('marker', I*N.x),
    lambda P, N: P.locatenew('marker', b*N.y).set_acc(N, 7*u1.diff()*N.x),
    lambda P, N: P.locatenew('marker', b*N.y).set_vel(
        N, u1*ReferenceFrame('lost').x)])
def test_a_marker_that_nothing_needs_may_be_anywhere(N, O, spoil):
    P = O.locatenew('P', q1*N.x)
    spoil(P, N)
    bob = Particle('bob', P, a)
    method = UdwadiaKalabaMethod(N, [q1], [u1], [q1.diff() - u1], bodies=[bob])
    assert method.mass_matrix == Matrix([[a]])
    assert method.forcing == Matrix([[0]])


def test_constants_of_the_same_name_as_a_coordinate_are_apart(N, O):
    P = O.locatenew('P', Symbol('q1')*q1*N.x)
    motion = Model(N).motion
    v = motion.velocity(P, N)
    g = motion.builder
    assert v == (g.mul(g.bound[Symbol('q1')], g.bound[u1]), 0, 0)


# -- velocities that were set, and kinematic equations ---------------------

def slider(N, O, place=q1, slope=1):
    P = O.locatenew('P', place*N.x)
    P.set_vel(N, slope*u1*N.x)
    return [Particle('P', P, a)]


def double_pendulum(N, O):
    bodies, start = [], O
    for k, q, u in ((1, q1, u1), (2, q2, u2)):
        A = N.orientnew(f'A{k}', 'Axis', [q, N.z])
        A.set_ang_vel(N, u*N.z)
        P = start.locatenew(f'P{k}', b*A.x)
        P.v2pt_theory(start, N, A)
        bodies.append(Particle(f'P{k}', P, a))
        start = P
    return bodies


def gyroscope(N, O):
    A = N.orientnew('A', 'Axis', [q1, N.z])
    B = A.orientnew('B', 'Axis', [q2, A.x])
    B.set_ang_vel(N, u1*A.z + u2*B.x)
    return [RigidBody('B', O, B, a, (inertia(B, 1, 2, 3), O))]


def tumbling(N, O, power=0):
    """The angular velocity is right for a unit quaternion, or for all."""
    B = N.orientnew('B', 'Quaternion', Q)
    rate = msubs(B.ang_vel_in(N), {q.diff(t): u for q, u in zip(Q, U)})
    B.set_ang_vel(N, rate/sum(q**2 for q in Q)**power)
    return [RigidBody('B', O, B, a, (inertia(B, 1, 2, 3), O))]


@pytest.mark.parametrize('sense', [1, -1])
@pytest.mark.parametrize('height, slope', [
    (Piecewise((q1**2, q1 > -9), (q1, True)),
     Piecewise((2*q1, q1 > -9), (1, True))),
    (abs(q1), sign(q1)), (Function('f')(q1), Function('f')(q1).diff(q1))])
def test_a_sign_of_a_function_without_a_number(N, O, height, slope, sense):
    with nullcontext() if sense > 0 else pytest.raises(
            KinematicsError, match='(?s)signs of u1.*contradict.*in one'):
        UdwadiaKalabaMethod(N, [q1], [u1], PLAIN[:1], forcelist=[],
                            bodies=slider(N, O, height, sense*slope))


@pytest.mark.parametrize('signs', [(1, 1), (1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize('build, count', [
    (slider, 1), (double_pendulum, 2), (gyroscope, 2), (tumbling, 4),
    (partial(tumbling, power=1), 4)])
def test_a_sign_that_contradicts_a_velocity_is_reported(
        N, O, build, count, signs):
    """The same bodies, with the right and the wrong sign of each speed."""
    kd_eqs = [q.diff(t) - k*u for q, u, k in zip(Q, U, (*signs, 1, 1))]
    method = partial(UdwadiaKalabaMethod, N, Q[:count], U[:count],
                     kd_eqs[:count], bodies=build(N, O), forcelist=[])
    wrong = str(U[[*signs, -1].index(-1)]).replace('(t)', r'\(t\)')
    with nullcontext() if min(signs[:count]) > 0 else pytest.raises(
            KinematicsError, match=f'signs of {wrong}.*contradict.*the sign'):
        assert method().mass_matrix.shape == (count, count)


def test_speeds_may_have_any_sign_where_velocities_follow_positions(N, O):
    """No velocity was set, or one in the derivatives of coordinates."""
    P, R = O.locatenew('P', q1*N.x), O.locatenew('R', q1*N.x + q2*N.y)
    P.set_vel(N, q1.diff(t)*N.x)
    method = UdwadiaKalabaMethod(
        N, [q1, q2], [u1, u2], [q1.diff(t) + u1, q2.diff(t) + 3*u2],
        bodies=[Particle('P', P, a), Particle('R', R, a)], forcelist=[])
    assert method.mass_matrix == Matrix([[2*a, 0], [0, 9*a]])


@pytest.mark.parametrize('speed', [b*u3, 2*u2])
def test_velocities_of_other_points_raise_no_alarm(N, O, speed, recwarn):
    """Moving axes, rolling put in by hand, a spin, an auxiliary speed."""
    A, W = (N.orientnew(x, 'Axis', [y, N.z]) for x, y in zip('AW', [s, -q3]))
    P, C = O.locatenew('P', q1*A.x), O.locatenew('C', q2*N.x)
    P.set_vel(A, u1*A.x)
    P.v1pt_theory(O, N, A)
    C.set_vel(N, (speed + u4)*N.x)
    W.set_ang_vel(N, (u1 - 2*u3)*N.z)
    method = GibbsAppellMethod(
        N, Q[:3], U[:3], PLAIN[:3], u_auxiliary=[u4], forcelist=[],
        bodies=[Particle('P', P, a), RigidBody('W', C, W, a, (
            inertia(W, 1, 1, 1), C))], velocity_constraints=[u2 - b*u3])
    assert ['C is' in str(x) for x in recwarn] == (speed == 2*u2)*[1]
    assert ' ' not in ''.join(method.system.graph.outputs)
    assert not method.classical_equations('kane').has(u4)


def test_chains_may_be_longer_than_the_stack():
    N, point = ReferenceFrame('N'), Point('O')
    point.set_vel(N, 0)
    frame = N
    for k in range(120):
        link = ReferenceFrame(f'A{k}')
        link.orient_axis(frame, [frame.x, frame.z][k % 2], q1)
        frame, point = link, point.locatenew(f'P{k}', a*link.y)
    motion = Model(N).motion
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 90)
    try:
        assert all(motion.rotation(N, frame)[0])
        for axes in N, frame:
            assert any(motion.angular_acceleration(frame, axes))
            assert any(motion.acceleration(point, axes))
    finally:
        sys.setrecursionlimit(limit)
