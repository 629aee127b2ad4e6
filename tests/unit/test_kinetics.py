"""Mass matrix, forces, energy and power against SymPy's own methods."""
import warnings
from itertools import permutations
from random import Random

import pytest
from mpmath import mp
from sympy import Matrix, Rational, S, cos, sin, symbols
from sympy.physics.mechanics import (
    Force, ForceActuator, KanesMethod, LinearPathway, Particle, Point,
    ReferenceFrame, RigidBody, Torque, TorqueActuator,
    dynamicsymbols, inertia, kinetic_energy)

from kkt import at
from sympy_constrained import (
    GibbsAppellMethod, RouthMethod, UdwadiaKalabaMethod)
from sympy_constrained.errors import ConstrainedDynamicsError
from sympy_constrained.graph import Graph, GraphBuilder
from sympy_constrained.model.kinematic_equations import solve_kinematics
from sympy_constrained.model.kinematics import Kinematics
from sympy_constrained.model.kinetics import from_bodies
from sympy_constrained.model.loads import parse_loads

t = dynamicsymbols._t
Q = q1, q2, q3 = dynamicsymbols('q1:4')
U = u1, u2, u3 = dynamicsymbols('u1:4')
s, w = dynamicsymbols('s w')            # specified inputs
m, m2, a, b, k, g = symbols('m m2 a b k g')
I1, I2, I3, I12, I23, I13 = symbols('I1 I2 I3 I12 I23 I13')
PLAIN = [q.diff(t) - u for q, u in zip(Q, U)]
TIGHT = mp.mpf(10)**-25
routes = pytest.mark.parametrize('composite', [False, True])


def numbers(seed):
    random = Random(f'kinetics {seed}')
    found = [*Q, *U, s, w, *(s.diff(t, n) for n in (1, 2, 3)), w.diff(t),
             w.diff(t, 2), *(q.diff(t) for q in Q)]
    values = {x: random.randint(-1200, 1200) for x in found}
    values |= {x: random.randint(500, 1500) for x in (
        t, m, m2, a, b, k, g, I1, I2, I3, I12, I23, I13)}
    with mp.workdps(50):
        return {x: mp.mpf(v)/1000 for x, v in values.items()}


class Model:
    """Bodies and loads without constraints."""

    def __init__(self, count=3, prescribed=False):
        self.N = ReferenceFrame('N')
        self.O = Point('O')                                 # noqa: E741
        self.O.set_vel(self.N, 0)
        self.q, self.u, self.kd_eqs = (x[:count] for x in (Q, U, PLAIN))
        self.bodies, self.loads, self.potential = [], [], S.Zero
        self.prescribed = prescribed

    def blocks(self, composite):
        builder = GraphBuilder(t)
        motion = Kinematics(builder, self.N, self.q, self.u, solve_kinematics(
            builder, self.kd_eqs, self.q, self.u))
        kinetics = from_bodies(motion, self.bodies, parse_loads(self.loads),
                               self.potential, composite)
        out = {**kinetics._asdict(),
               'rates': [[rate] for rate in motion.rates]}
        return frozen(builder, out)

    def sympy(self):
        """``M``, ``Q`` and the kinetic energy of SymPy."""
        plain = [load for given in self.loads for load in (
            given.to_loads() if hasattr(given, 'to_loads') else [given])]
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            kane = KanesMethod(self.N, list(self.q), list(self.u),
                               kd_eqs=list(self.kd_eqs))
            kane.kanes_equations(self.bodies, plain)
            energy = kinetic_energy(self.N, *self.bodies)
        rates = kane.kindiffdict()
        forcing = kane.forcing
        if self.potential != 0:
            H = Matrix([rates[q.diff(t)] for q in self.q]).jacobian(self.u)
            forcing -= H.T*Matrix([self.potential.diff(q) for q in self.q])
        second = {q.diff(t, 2): rate.diff(t) for q, rate in zip(
            self.q, (rates[q.diff(t)] for q in self.q))}
        return tuple(e.doit().xreplace(second).xreplace(rates) for e in (
            Matrix(kane.mass_matrix), Matrix(forcing),
            Matrix([energy + self.potential])))


def frozen(builder, out):
    return Graph.freeze(builder, {
        name: (rows, len(rows[0]) if rows else 1)
        for name, rows in out.items()})


MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


@model
def inertia_about_another_point():
    x = Model(2)
    B = x.N.orientnew('B', 'Axis', (q1, x.N.z))
    C = B.orientnew('C', 'Axis', (q2, B.x))
    P = x.O.locatenew('P', a*B.x)
    R = P.locatenew('R', b*C.y + a*C.z)
    x.bodies = [
        RigidBody('B', P, B, m, (inertia(B, I1, I2, I3, I12), x.O)),
        RigidBody('C', R, C, m2, (inertia(C, I3, I1, I2, 0, I23, 0), P))]
    x.loads = [(R, -m2*g*x.N.z), (C, s*B.x), (B, -s*B.x)]
    return x


@model
def changing_mass_and_inertia():
    x = Model()
    B = x.N.orientnew('B', 'Axis', (q1, x.N.z))
    P = x.O.locatenew('P', q2*B.x)
    R = P.locatenew('R', q3*x.N.z)
    x.bodies = [RigidBody('B', P, B, m + b*t**2, (
        inertia(B, I1, I2, I3*s + I12*q1**2), P)), RigidBody(
            'R', R, B, m2*s, (inertia(B, I2, I3, I1), R))]
    x.loads = [(P, k*x.N.y), (B, k*B.z)]
    return x


@model
def prescribed_motion():
    x = Model(2, prescribed=True)
    pivot = x.O.locatenew('pivot', s*x.N.x + a*sin(t)*x.N.y)
    A = x.N.orientnew('A', 'Axis', (w, x.N.x))
    B = A.orientnew('B', 'Axis', (q1, A.z))
    C = B.orientnew('C', 'Axis', (q2, B.y))
    P, R = pivot.locatenew('P', a*B.x), pivot.locatenew('R', a*B.x + b*C.z)
    x.bodies = [Particle('p', P, m), RigidBody('C', R, C, m2, (
        inertia(C, I1, I2, I3), R))]
    x.loads = [(P, -m*g*x.N.y)]
    return x


@model
def prescribed_velocity_alone():
    """A base whose velocity was set and is a function of time only."""
    x = Model(1, prescribed=True)
    base, P = Point('base'), Point('P')
    base.set_vel(x.N, s*x.N.y)
    P.set_pos(base, q1*x.N.y)
    x.bodies = [Particle('p', P, m), Particle('base', base, m2)]
    x.loads = [(P, -k*q1*x.N.y)]
    return x


@model
def loads_where_drives_move():
    """What they do there is no energy of the particle."""
    x = Model(1)
    A = x.N.orientnew('A', 'Axis', (w, x.N.z))
    P, base = x.O.locatenew('P', q1*x.N.x), x.O.locatenew('base', s*x.N.x)
    R = base.locatenew('R', q1*A.x)
    x.bodies = [Particle('p', P, m)]
    x.loads = [(P, -k*(q1 - s)*x.N.x), (base, k*(q1 - s)*x.N.x),
               (A, b*x.N.z), (R, a*x.N.x + g*x.N.y)]
    return x


@model
def loads_of_every_kind():
    x = Model()
    B = x.N.orientnew('B', 'Axis', (q1, x.N.z))
    C = B.orientnew('C', 'Axis', (q2, B.z))
    P = x.O.locatenew('P', q3*B.x)
    R = P.locatenew('R', b*C.x)
    body = RigidBody('C', R, C, m2, (inertia(C, I1, I2, I3), R))
    point = Particle('p', P, m)
    x.bodies = [point, body]
    x.loads = [
        Force(P, s*x.N.x), Force(point, g*x.N.y), Torque(C, w*x.N.z),
        Torque(body, k*C.z), (R, u3*C.y), (B, -u1*B.z),
        ForceActuator(k*(q3 - a), LinearPathway(x.O, P)),
        TorqueActuator(k*q2, x.N.z, C, B), (x.O, s*x.N.y), (P, 0*x.N.x)]
    return x


@model
def rheonomic_kinematics():
    x = Model(prescribed=True)
    P = x.O.locatenew('P', q1*x.N.x + q2**2*x.N.y)
    x.q, x.u = Q[:2], U[:2]
    x.kd_eqs = [q1.diff(t) - u1 - s, q2.diff(t)*a - u2*cos(q1) - t]
    x.bodies = [Particle('p', P, m)]
    x.loads = [(P, -k*q1*x.N.x)]
    return x


@model
def four_links():
    """Long enough for composites of several sizes."""
    x = Model()
    frame, joint = x.N, x.O
    for i, q in enumerate((q1, q2, q3, q1 + q3)):
        frame = frame.orientnew(f'B{i}', 'Axis', (
            q, (frame.z, frame.y, frame.x, frame.z)[i]))
        centre = joint.locatenew(f'C{i}', b*frame.x)
        joint = joint.locatenew(f'J{i}', a*frame.x)
        x.bodies.append(RigidBody(f'B{i}', centre, frame, m, (
            inertia(frame, I1, I2, I3), centre)))
        x.loads.append((centre, -m*g*x.N.y))
    x.loads.append((frame, s*frame.z))
    return x


@model
def no_orientation(in_body=False):
    """A body with angular rates in its own axes and no orientation."""
    x, B, P, R = Model(), ReferenceFrame('B'), Point('P'), Point('R')
    axes = B if in_body else x.N
    B.set_ang_vel(x.N, u1*B.x + u2*B.y + s*B.z)
    P.set_vel(x.N, u3*axes.x + q1*u1*axes.z)
    R.set_vel(x.N, u1*q2*x.N.x)
    x.bodies = [RigidBody('B', P, B, m, (inertia(B, I1, I2, I3), P)),
                Particle('p', R, m2)]
    x.loads = [(P, k*axes.x), (B, g*q1*B.y)]
    x.prescribed = True
    return x


@model
def no_orientation_and_velocity_in_the_body():
    return no_orientation(in_body=True)


@model
def potential_energy():
    x = Model()
    B = x.N.orientnew('B', 'Axis', (q1, x.N.z))
    P = x.O.locatenew('P', q2*B.x)
    x.bodies = [Particle('p', P, m)]
    x.potential = m*g*q2*sin(q1) + k*(q2 - a*cos(t) - s)**2/2
    x.kd_eqs = [q1.diff(t) - u1*cos(q2), q2.diff(t) - u2 + u1*q1]
    x.q, x.u = Q[:2], U[:2]
    return x


@model
def a_coordinate_that_moves_by_itself():
    """A potential that depends on a coordinate nobody's speed moves."""
    x = Model()
    P = x.O.locatenew('P', q1*x.N.x)
    x.bodies, x.potential = [Particle('p', P, m)], k*(q1 - q2)**2/2
    x.q, x.u, x.kd_eqs = Q[:2], U[:1], [q1.diff(t) - u1, q2.diff(t) - a*t]
    return x


# Models whose bodies share points and frames

def gimbals(x, *axes):
    frames = [x.N]
    for q, axis in zip(Q, axes):
        frames.append(frames[-1].orientnew(f'B{axis}', 'Axis', (
            q, getattr(frames[-1], axis))))
    return frames


@model
def gyrostat():
    """A carrier and its rotor, whose inertia is in the carrier's axes."""
    x = Model()
    _, A, B, C = gimbals(x, *'zxz')
    P = x.O.locatenew('P', a*B.x + b*B.z)
    x.bodies = [
        RigidBody('carrier', P, B, m, (inertia(A, I1, I1, I1) + inertia(
            B, I1, I2, I3), P)),
        RigidBody('rotor', P, C, m2, (inertia(B, I1, I1, I3), P)),
        Particle('p', P, m2)]
    x.loads = [(C, s*B.z), (B, -s*B.z), (P, -m*g*x.N.y), (P, k*C.x)]
    return x


@model
def shared_frames():
    """Bodies on one frame with inertias in other frames fixed to it."""
    x = Model(2)
    _, A, B = gimbals(x, *'zx')
    E = B.orientnew('E', 'Axis', (Rational(1, 3), B.y))
    F = E.orientnew('F', 'Axis', (b, E.z))
    P, R = x.O.locatenew('P', a*A.x + b*B.y), x.O.locatenew('R', b*B.z)
    x.bodies = [RigidBody('a', P, B, m, (inertia(B, I1, I2, I3, I12), P)),
                RigidBody('b', R, B, m2, (inertia(F, I3, I1, I1), R)),
                RigidBody('c', R, B, m, (inertia(E, I1, I2, I1, 0, I23), P))]
    x.loads = [(B, s*x.N.x - u1*E.y), (E, k*B.y), (P, k*F.x), (R, w*A.y)]
    return x


def close(found, wanted):
    return mp.mnorm(found - wanted, mp.inf) <= TIGHT*(
        1 + mp.mnorm(wanted, mp.inf))


def check_power(graph, values, states, rates):
    """Power is the rate of energy, by numerical differentiation."""
    out = graph.evaluate(values, context=mp)
    acceleration = mp.lu_solve(mp.matrix(out['M']), mp.matrix(out['Q']))
    rate = {t: 1} | dict(zip(states, (*rates(out), *acceleration)))
    for r in (s, w):
        rate |= {r.diff(t, n): values[r.diff(t, n + 1)] for n in (0, 1)}

    def energy(h):
        moved = {v: n + h*rate.get(v, 0) for v, n in values.items()}
        return graph.evaluate(moved, ('energy',), mp)['energy'][0][0]

    assert abs(mp.diff(energy, 0) - out['power'][0][0]) < 1e-15


@pytest.mark.parametrize('name', MODELS)
def test_both_routes_agree_with_kane(name):
    """In any order of the bodies; power is the rate of energy along the
    unconstrained motion, or absent."""
    x, values = MODELS[name](), numbers(1)
    with mp.workdps(40):
        wanted = [at(e, values) for e in x.sympy()]
    for bodies in permutations(x.bodies) if len(x.bodies) < 4 else (
            x.bodies, x.bodies[::-1]):
        x.bodies = list(bodies)
        for composite in (False, True):
            graph = x.blocks(composite)
            with mp.workdps(40):
                found = graph.evaluate(values, ('M', 'Q', 'energy'), mp)
                for block, matrix in zip(found, wanted):
                    assert close(mp.matrix(found[block]), matrix), block
    for graph in map(x.blocks, (False, True)):
        if graph.outputs['power'][0]:
            with mp.workdps(40):
                check_power(graph, numbers(2), (*x.q, *x.u),
                            lambda out: [r for r, in out['rates']])
        else:       # unknown only where something moves by prescription
            assert x.prescribed or name.startswith(('changing', 'a_coord'))


@routes
def test_a_point_mass_about_another_point_cancels_to_rounding(composite):
    """What rounding leaves of it is not symmetric, but that is no error."""
    x = Model()
    B = x.N.orientnew('B', 'Axis', (q1, x.N.z))
    C = B.orientnew('C', 'Axis', (0.7, B.x))
    P = x.O.locatenew('P', 0.3*B.x + 0.7*B.y - 0.1*B.z)
    r = P.pos_from(x.O)
    about = 1.1*(r.dot(r)*inertia(B, 1, 1, 1) - r.outer(r))
    x.bodies = [RigidBody('B', P, B, 1.1, (
        sum((about.dot(f).dot(e)*e.outer(f) for e in B for f in C), 0*about),
        x.O))]
    assert x.blocks(composite)
    x.bodies = [RigidBody('B', P, B, 1.1, ((1 - 1e-15)*about, x.O))]
    assert UdwadiaKalabaMethod(x.N, *(list(s[:1]) for s in (
        Q, U, PLAIN)), bodies=x.bodies).mass_matrix
    lopsided = about + 0.01*B.x.outer(B.y)
    x.bodies = [RigidBody('B', P, B, 1.1, (lopsided, x.O))]
    with pytest.raises(ConstrainedDynamicsError, match='not symmetric'):
        x.blocks(composite)


# Loads that contain accelerations

def inerter(cls, opposite=True, power=1):
    """Two sliding masses; the force between them is ``b*(a2 - a1)``."""
    N, O = ReferenceFrame('N'), Point('O')
    O.set_vel(N, 0)
    points = [O.locatenew(f'P{i}', q*N.x) for i, q in enumerate(Q)]
    for point, u in zip(points, U):
        point.set_vel(N, u*N.x)
    force = b*(u2.diff(t) - u1.diff(t))**power*N.x
    return cls(
        N, list(Q), list(U), PLAIN,
        configuration_constraints=[q2**2 - q1*q3],
        bodies=[Particle(f'P{i}', point, i*m)
                for i, point in enumerate(points, 1)],
        forcelist=[(points[0], force), (points[2], k*N.x),
                   *([(points[1], -force)] if opposite else [])])


@pytest.mark.parametrize('cls', [UdwadiaKalabaMethod, GibbsAppellMethod])
@mp.workdps(50)
def test_an_inerter_between_two_bodies(cls):
    """The motion, solved here; ``Fr`` is that of ``KanesMethod``."""
    method, values = inerter(cls), numbers(2)
    values[q3] = values[q2]**2/values[q1]
    values[u3] = (2*values[q2]*values[u2] - values[q3]*values[u1])/values[q1]
    row = [-values[q3], 2*values[q2], -values[q1]]
    M = mp.diag([values[m], 2*values[m], 3*values[m], 0])
    for i in (0, 1):
        M[i, i] += values[b]
        M[i, 1 - i] -= values[b]
    for i in range(3):
        M[i, 3], M[3, i] = -row[i], row[i]
    wanted = mp.lu_solve(M, mp.matrix([
        0, 0, values[k], 2*values[u1]*values[u3] - 2*values[u2]**2]))
    assert mp.norm(at(method.acceleration, values) - wanted[:3]) < TIGHT
    assert mp.norm(at(method.multipliers, values) - wanted[3:]) < TIGHT
    assert mp.norm(at(method.constraint_forces, values)
                   - mp.matrix(row)*wanted[3]) < TIGHT
    if cls is UdwadiaKalabaMethod:
        method = UdwadiaKalabaMethod(**{
            **method._call[1], 'configuration_constraints': None})
        theirs = KanesMethod(method.frame, list(Q), list(U), PLAIN)
        theirs.kanes_equations(list(method.bodies), list(method.loads))
        for ours, other in zip(method.kanes_equations(),
                               (theirs._fr, theirs._frstar)):
            assert (ours - other).expand().is_zero_matrix


@mp.workdps(50)
def test_joint_reactions_beside_a_torque_of_acceleration():
    """A flywheel that a gear drives is an inertia, also for the bearing."""
    x = Model()
    N, B = x.N, x.N.orientnew('B', 'Axis', (q1, x.N.z))
    P, found = x.O.locatenew('P', a*B.x), []
    for more, torque in ((0, -k*u1.diff(t)*N.z), (k, 0*N.z)):
        body = RigidBody('rod', P, B, m, (inertia(B, I1, I2, I3 + more), P))
        method = UdwadiaKalabaMethod(
            N, [q1], [u1], PLAIN[:1], bodies=[body],
            forcelist=[(P, -m*g*N.y), (B, torque)])
        pin = method.joint_reactions([['pin', None, body, x.O]])['pin']
        values = numbers(3)
        values[u1.diff(t)] = at(method.acceleration, values)[0]
        found.append(at(pin.force.to_matrix(N), values))
    assert mp.norm(found[0] - found[1]) < TIGHT < mp.norm(found[0])


def test_added_mass_of_a_turning_body():
    """In the row of ``q2`` the accelerations in the force cancel."""
    x = Model()
    B = x.N.orientnew('B', 'Axis', (q1, x.N.z))
    P = x.O.locatenew('P', q1*x.N.x + q2**2*x.N.y)
    method = UdwadiaKalabaMethod(
        x.N, Q[:2], U[:2], PLAIN[:2], forcelist=[(P, -b*u1.diff(t)*x.N.x)],
        bodies=[RigidBody('B', P, B, m, (inertia(B, I1, I2, I3), P))])
    assert method.mass_matrix == Matrix([[m + I3 + b, 0], [0, 4*m*q2**2]])


def test_loads_of_accelerations_that_are_refused():
    one_sided = inerter(GibbsAppellMethod, opposite=False).system.M
    assert one_sided[0, 1] == -b and one_sided[1, 0] == 0
    for cls, options, match in (
            (UdwadiaKalabaMethod, {'opposite': False}, 'not symmetric'),
            (UdwadiaKalabaMethod, {'power': 2}, 'not linear in the acc'),
            (RouthMethod, {}, 'Loads that are linear in accelerations are')):
        with pytest.raises(ConstrainedDynamicsError, match=match):
            inerter(cls, **options).acceleration
