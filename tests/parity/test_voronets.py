"""The corrected equations of ``HamelEmbedding`` are the equations of motion.

Every ready model is embedded, with the dependent coordinates it names and
with others, or refused for a stated reason.  Accelerations of all coordinates
and constraint forces are compared with ``UdwadiaKalabaMethod`` to 45 digits
and with SymPy's own class to 1e-10, at random states where the constraints
hold.  Speeds that are not ``q'`` are translated by the kinematic equations
of the model, which share nothing with the embedding.
"""
import functools
from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest
from mpmath import mp
from sympy import Matrix, cos, sin, symbols
from sympy.physics.mechanics import (
    KanesMethod, Lagrangian, LagrangesMethod, LinearDamper, LinearPathway,
    LinearSpring, Particle, Point, ReferenceFrame, RigidBody,
    TorqueActuator, dynamicsymbols, inertia)

import ready
from kkt import at, close, norm, number
from sympy_constrained import HamelEmbedding, UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstraintError, RedundantConstraintsError, UnsupportedFeatureError)
from sympy_constrained.models import MODELS, Model, model
from sympy_constrained.models._model import system_arguments

UPSTREAM = {'kane': KanesMethod, 'lagrange': LagrangesMethod}
EXACT = mp.mpf(10)**-45
SEEDS = (1, 2)
t = dynamicsymbols._t

# Model -> dependent coordinates; '' are those the model names itself.
PARTITIONS = {
    'four_bar': ('', 'q1 q2', 'q1 q3'),
    'slider_crank': ('', 'q1 q3'),
    'closed_chain': ('', 'q1 q2'),
    'closed_chain_absolute': ('', 'q1 q3'),
    'closed_chain_3d': ('',),
    'andrews_squeezer': ('',),
    'rolling_disc': ('', 'q3 q5'),
    'rolling_disc_lagrange': ('q4 q5', 'q3 q5'),
    'disc_on_incline': ('y', 'theta'),
    'knife_edge': ('', 'x'),
    'chaplygin_sleigh': ('y', 'x'),
    'upright_disc': ('x y', 'y theta', 'x theta'),
    'snakeboard': ('y theta', 'x y'),
    'bicycle_whole': ('',),
    'cartesian_pendulum': ('y', 'x'),
    'nonminimal_pendulum': ('', 'q2'),
    'driven_pendulum': ('y', 'x'),
    'atwood_machine': ('', 'q1'),
    'n_link_pendulum_on_cart': ('',),
    'multidof_holonomic': ('',),
    'cart_pendulum': ('q_c', 'q_p'),
    'cart_bead': ('', 'q1'),
    'spring_mass_damper': ('',),
    'duffing_pendulum': ('',),
    'double_pendulum_lagrange': ('',),
    'damped_double_pendulum': ('',),
    'furuta_pendulum': ('',),
    'muscle_on_sphere': ('z', 'x'),
    'heavy_top': ('',),
    'quaternion_top_lagrange': ('e0',),
    'pinned_top': ('',),
    'massless_coordinate': ('y1', 'x1'),
    'n_four_bar': ('q2 q3 q4 q5',),
    # below
    'skate_on_moving_ice': ('x', 'y'),
    'skate_on_turntable': ('y',),
    'driven_slider_crank': ('', 'q1 q3'),
    'hanging_chain_on_cart': ('x1 y1 y2 h', 'y1 x2 y2 s'),
    'parabolic_skate': ('x', 'y')}
# Model -> error and a part of its text.
REFUSED = {
    'parallel_cranks': (ConstraintError, 'redundant'),
    'coupler_on_cranks': (RedundantConstraintsError, 'follows'),
    'duplicated_rows': (RedundantConstraintsError, 'follows'),
    'rolling_disc_minimal': (UnsupportedFeatureError, 'put in by hand'),
    'rolling_disc_contact': (UnsupportedFeatureError, 'put in by hand'),
    'rolling_disc_dependent': (UnsupportedFeatureError, '6 speeds'),
    'two_wheeled_cart': (UnsupportedFeatureError, '4 speeds'),
    'bicycle': (UnsupportedFeatureError, '6 speeds'),
    'heavy_top_quaternion': (UnsupportedFeatureError, '3 speeds'),
    'bead_on_circle': (TypeError, 'nonideal_forces'),
    'constant_speed_particle': (ConstraintError, 'not linear'),
    'appell_hamel': (ConstraintError, 'not linear'),
    'acceleration_level': (UnsupportedFeatureError, 'acceleration level')}
SLOW = {'bicycle_whole'}
CASES = [(name, names) for name, choices in PARTITIONS.items()
         for names in choices]


# Models that this file adds: explicit time, drift, loads, several rows

def skate(name, row, potential=0, reference=''):
    """A skate with friction on a plane whose points move."""
    x, y, theta = q = dynamicsymbols('x y theta')
    m, i, k, c, w, b = symbols('m I k c omega b')
    vx, vy, turn = speeds = [e.diff(t) for e in q]
    N, B = ReferenceFrame('N'), ReferenceFrame('B')
    B.orient_axis(N, theta, N.z)
    O, C = Point('O'), Point('C')
    O.set_vel(N, 0)
    C.set_pos(O, x*N.x + y*N.y)
    C.set_vel(N, vx*N.x + vy*N.y)
    body = RigidBody('skate', C, B, m, (inertia(B, 0, 0, i), C))
    body.potential_energy = k*(x**2 + y**2)/2
    along = c*C.vel(N).dot(B.x)
    return Model(
        name=name, title=name, reference=reference or 'of these tests',
        shape='lagrange', arguments={
            'Lagrangian': Lagrangian(N, body), 'qs': list(q),
            'bodies': [body], 'frame': N,
            'forcelist': [(C, -along*B.x), (B, -c*turn*N.z)],
            'nonhol_coneqs': [row(q, speeds, w, b)]},
        parameters={m: 1.3, i: 0.2, k: 3.0, c: 0.4, w: 1.7, b: 0.6},
        start=dict(zip((*q, *speeds), (0.4, -0.3, 0.7, 0.5, 0.4, 0.8))),
        fixed=(*q, speeds[0], turn), t_end=1.0)


def skate_on_moving_ice():
    """The ice moves to and fro along ``x``: a row with explicit time."""
    def row(q, v, w, b):
        return ((v[0] - b*cos(w*t))*sin(q[2])
                - (v[1] - b*sin(3*t))*cos(q[2]))
    return skate('skate_on_moving_ice', row)


def skate_on_turntable():
    """The ice turns steadily: a drift that depends on the position."""
    def row(q, v, w, b):
        return ((v[0] + w*q[1])*sin(q[2]) - (v[1] - w*q[0])*cos(q[2]) + 0*b)
    return skate('skate_on_turntable', row)


def parabolic_skate():
    """Everything at once: the mass matrix, the row and the force depend on
    the dependent coordinate, and on time."""
    x, y, z = q = dynamicsymbols('x y z')
    vx, vy, vz = v = [e.diff(t) for e in q]
    m, k = symbols('m k')
    f = dynamicsymbols('f')
    N, O, P = ReferenceFrame('N'), Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, x*N.x + y*N.y + z*N.z)
    P.set_vel(N, vx*N.x + vy*N.y + vz*N.z)
    T = m*((2 + sin(x))*vx**2 + (1 + x**2)*vy**2 + vz**2 + vx*vz
           + t*x*vx*vy/3 + 2*y*x*vx + z*vy)/2
    return Model(
        name='parabolic_skate', title='Everything at once',
        reference='of these tests', shape='lagrange', arguments={
            'Lagrangian': T - k*x**2*z, 'qs': list(q), 'frame': N,
            'forcelist': [(P, (f + x*vy)*N.x - vx*vz*N.y + t*x*N.z)],
            'nonhol_coneqs': [(1 + x**2)*vx - (z + t*x)*vy + y*vz
                              - x*cos(t)]},
        parameters={m: 1.1, k: 2.0}, inputs={f: cos(3*t)},
        start=dict(zip((*q, *v), (0.5, 0.4, 0.9, 0.3, 0.7, -0.4))),
        fixed=(*q, vy, vz), t_end=1.0)


def driven_slider_crank():
    """The ready slider-crank with a motor, a damper and a spring."""
    m = model('slider_crank')
    system = m.system
    ground, crank, _, piston = system.bodies
    torque = dynamicsymbols('T')
    c, k1, length = symbols('c k_1 l_1')
    origin = ground.masscenter.locatenew('anchor', -length*ground.x)
    origin.set_vel(ground.frame, 0)
    path = LinearPathway(origin, piston.masscenter)
    system.add_actuators(
        TorqueActuator(torque, ground.z, crank, ground),
        LinearDamper(c, path), LinearSpring(k1, path, length))
    return replace(
        m, name='driven_slider_crank',
        arguments=system_arguments(system, 'kane'),
        parameters={**m.parameters, c: 3.0, k1: 25.0, length: 0.3},
        inputs={torque: 2*sin(3*t)})


def hanging_chain_on_cart():
    """Two bobs on rods below a cart whose height is prescribed; the rows of
    the cart and of the rods are of position, one row is of velocity."""
    x1, y1, x2, y2, s, h = q = dynamicsymbols('x1 y1 x2 y2 s h')
    speeds = [e.diff(t) for e in q]
    m, M, g, length, c = symbols('m M g l c')
    N, O = ReferenceFrame('N'), Point('O')
    O.set_vel(N, 0)
    bodies = []
    for name, (a, b), mass in (('P1', (x1, y1), m), ('P2', (x2, y2), m),
                               ('cart', (s, h), M)):
        point = O.locatenew(name, a*N.x + b*N.y)
        point.set_vel(N, a.diff(t)*N.x + b.diff(t)*N.y)
        bodies.append(Particle(name, point, mass))
        bodies[-1].potential_energy = mass*g*b
    second = bodies[1].point
    return Model(
        name='hanging_chain_on_cart', title='A chain below a lifted cart',
        reference='of these tests', shape='lagrange', arguments={
            'Lagrangian': Lagrangian(N, *bodies), 'qs': list(q),
            'bodies': bodies, 'frame': N,
            'forcelist': [(second, -c*second.vel(N))],
            'hol_coneqs': [(x1 - s)**2 + (y1 - h)**2 - length**2,
                           (x2 - x1)**2 + (y2 - y1)**2 - length**2],
            'nonhol_coneqs': [h.diff(t) - sin(2*t)/5 - c*s.diff(t)/7,
                              s.diff(t)*h/3 + x2.diff(t) - y2.diff(t)]},
        parameters={m: 0.7, M: 2.0, g: 9.81, length: 0.8, c: 0.5},
        start=dict(zip((*q, *speeds), (
            0.35, -0.7, 0.8, -1.36, 0.0, 0.0,
            0.3, 0.1, 0.2, 0.2, 0.25, 0.2))),
        fixed=(x1, x2, s, h, speeds[0], speeds[2]), t_end=1.0)


OURS = {f.__name__: f for f in (
    skate_on_moving_ice, skate_on_turntable, driven_slider_crank,
    hanging_chain_on_cart, parabolic_skate)}


def build(name):
    return (OURS.get(name) or MODELS[name])()


# The same motion in the speeds of the model and in velocities

@functools.cache
def given(name):
    return ready.InVelocities(build(name))


def dependent(m, names):
    chosen = [q for q in m.coordinates if q.func.__name__ in names.split()]
    assert len(chosen) == len(names.split())
    return chosen


@functools.cache
def embedded(name, names):
    """The embedding, by the change of one name where the model says which
    coordinates are dependent."""
    case = given(name)
    m = case.model
    if not names:
        return m.form(HamelEmbedding)
    if m.shape == 'lagrange':
        return m.form(HamelEmbedding, q_dependent=dependent(m, names))
    return HamelEmbedding.from_method(
        case.method, q_dependent=dependent(m, names))


def corrected(h, values):
    """``q'``, ``q''`` in the order of ``q``, and multipliers, by the
    corrected equations."""
    eom = h.corrected.equations_of_motion
    rates, W, r = ready.outputs(eom, h, values, 'rates', 'W', 'r')
    z = mp.lu_solve(W, r)
    p = len(h.u)
    second = dict(zip(h.embedding.q_independent, z[:p]))
    known = {**values, **{q.diff(t, 2): a for q, a in second.items()},
             **{u.diff(t): a for u, a in zip(h.u, z[:p])}}
    for q, g in zip(h.embedding.q_dependent,
                    h.embedding.velocity_map.values()):
        second[q] = at(g.diff(t), known)[0]
    return rates, mp.matrix([second[q] for q in h.q]), z[p:, 0]


def ordered(h, column, case):
    """A column in the order of the model's coordinates, in that of ``h``."""
    q = list(case.model.coordinates)
    return mp.matrix([column[q.index(x)] for x in h.q])


pytestmark = pytest.mark.usefixtures('digits')


def named(cases):
    return pytest.mark.parametrize('name, names', [
        pytest.param(*case, id=' '.join(filter(None, case)),
                     marks=[pytest.mark.slow] if case[0] in SLOW else [])
        for case in cases])


every_case = named(CASES)


def test_every_ready_model_is_embedded_or_refused():
    assert set(MODELS) == (set(PARTITIONS) | set(REFUSED)) - set(OURS)
    assert not set(PARTITIONS) & set(REFUSED)
    assert set(PARTITIONS) & ready.UPSTREAM_REFUSES == (
        UPSTREAM_REFUSES | {'knife_edge'})


@pytest.mark.parametrize('name', REFUSED)
def test_what_cannot_be_embedded_is_told(name):
    m = build(name)
    error, text = REFUSED[name]
    count = {'coupler_on_cranks': 'X Y phi', 'appell_hamel': 'x'}.get(name)
    with pytest.raises(error, match=text):
        if count:
            h = m.form(HamelEmbedding, q_dependent=dependent(m, count))
        else:
            h = m.form(HamelEmbedding)
        h.mass_matrix


@every_case
def test_accelerations_and_forces_are_those_of_udwadia_kalaba(name, names):
    case, h = given(name), embedded(name, names)
    for seed in SEEDS:
        values = case.state(seed)
        acceleration, forces, lam = case.solution(values)
        rates, second, multipliers = corrected(h, values)
        assert close(rates, ordered(h, [values[v] for v in case.velocities],
                                    case), EXACT, scale=1)
        assert close(second, ordered(h, acceleration, case), EXACT, scale=1)
        if len(case.rows.velocity) == len(multipliers):     # none left out
            assert close(multipliers, lam, EXACT, scale=1)
        # and from the properties, which are expressions in the states
        assert close(at(h.corrected.multipliers, values),
                     multipliers, EXACT, scale=1)
        assert close(at(h.corrected.constraint_forces, values),
                     ordered(h, forces, case), EXACT, scale=1)
        assert close(at(h.corrected.acceleration, values), [
            second[list(h.q).index(q)] for q in h.embedding.q_independent],
            EXACT, scale=1)


# Of the skate upstream refuses one heading only.
UPSTREAM_REFUSES = {'quaternion_top_lagrange'}
UPSTREAM_FORMS = [case for case in CASES if case[0] not in UPSTREAM_REFUSES]


@functools.cache
def upstream(name):
    m = given(name).model
    return m.form(UPSTREAM[m.shape])


# What ``compare`` says


@named(UPSTREAM_FORMS)
def test_comparison_with_upstream_is_zero(name, names):
    case, h = given(name), embedded(name, names)
    values = case.state(6)
    gap = at(h.corrected.residual_along(upstream(name)), values)
    size = norm(at(h.corrected.forcing, values)) + 1
    assert norm(gap) < EXACT*size


FORCED = named([(name, PARTITIONS[name][0]) for name in (
    'four_bar', 'rolling_disc', 'chaplygin_sleigh', 'snakeboard',
    'pinned_top', 'driven_pendulum', 'skate_on_moving_ice',
    'parabolic_skate', 'furuta_pendulum', 'driven_slider_crank')])


@FORCED
def test_comparison_with_another_model_is_the_missing_force(name, names):
    """The other model has forces on all speeds; what is left of them on the
    constraints is the gap."""
    case, h = given(name), embedded(name, names)
    forces = [k + case.model.coordinates[0]
              for k in range(1, len(case.speeds) + 1)]
    pushed = case.model.form(UdwadiaKalabaMethod, generalized_forces=forces)
    values = case.state(7)
    J = at(case.slopes, values)
    force = ordered(h, mp.lu_solve(J.T, at(Matrix(forces), values)), case)
    force = dict(zip(h.q, force))
    missing = mp.matrix([force[q] for q in h.embedding.q_independent])
    if h.embedding.q_dependent:
        missing -= at(h.embedding.matrix, values).T*mp.matrix(
            [force[q] for q in h.embedding.q_dependent])
    assert norm(missing) > 0.1
    gap = at(h.corrected.residual_along(pushed), values)
    size = norm(at(h.corrected.forcing, values)) + 1
    assert close(gap, missing, EXACT, scale=size)
    # Given to both, the force is no difference any more.
    if names and case.model.shape == 'kane':
        ours = HamelEmbedding.from_method(
            case.method, generalized_forces=forces,
            q_dependent=dependent(case.model, names))
    else:
        named_ = {'q_dependent': dependent(case.model, names)} if (
            names) else {}
        ours = case.model.form(
            HamelEmbedding, generalized_forces=forces, **named_)
    assert norm(at(ours.corrected.residual_along(pushed), values)) < EXACT*size
    assert close(at(ours.corrected.residual_along(case.method), values),
                 -missing, EXACT, scale=size)


@named([('rolling_disc', 'q3 q5'), ('upright_disc', 'y theta'),
        ('chaplygin_sleigh', 'y'), ('knife_edge', 'x'),
        ('snakeboard', 'y theta'), ('cart_pendulum', 'q_c'),
        ('driven_slider_crank', ''), ('parabolic_skate', 'x')])
def test_where_hamel_is_wrong_he_is_told_apart(name, names):
    """Hamel's own equations differ from the right ones by ``E``, so that
    the agreement above means something."""
    case, h = given(name), embedded(name, names)
    assert h.is_valid() is False
    values = case.state(8)
    gap = at(h.embedding.discrepancy, values)
    assert norm(gap) > 1e-3
    W, r = ready.outputs(h.equations_of_motion, h, values, 'W', 'r')
    wrong = mp.lu_solve(W, r)
    right = at(h.corrected.acceleration, values)
    assert close(W*(wrong - right), gap, EXACT, scale=norm(r))
    assert close(at(h.acceleration, values), wrong, EXACT, scale=1)


# System

def with_velocities(m, values):
    rates = ready.rows(m).rates
    if not rates:
        return values
    return {**values, **dict(zip(
        rates, at(Matrix(list(rates.values())), values)))}


SYSTEMS = [name for name in PARTITIONS if name in ready.SYSTEMS]


@pytest.mark.parametrize('name', SYSTEMS)
def test_a_system_forms_our_equations(name):
    m = MODELS[name]()
    system = m.system
    # System hands our class Kane's arguments, without any potential.
    options = {'potential_energy': 'include'} if m.shape == 'lagrange' else {}
    system.form_eoms(eom_method=HamelEmbedding, **options)
    h = system.eom_method
    assert isinstance(h, HamelEmbedding)
    n, p, r = len(h.q), len(h.u), len(h.embedding.q_dependent)
    assert (system.mass_matrix.shape, system.forcing.shape) == (
        (p, p), (p, 1))
    assert system.mass_matrix_full.shape == (n + p, n + p)
    assert system.rhs().shape == (n + p, 1)
    assert system.mass_matrix == h.mass_matrix
    assert system.forcing_full == h.forcing_full
    named_ = [q for q in system.q_dep] or [
        q for q, u in zip(h.q, h.system.u) if u in list(system.u_dep)]
    assert list(h.embedding.q_dependent) == named_ and r == len(system.u_dep)
    again = HamelEmbedding.from_method(system, **options)
    assert again.mass_matrix == h.mass_matrix and again.forcing == h.forcing
    values = with_velocities(m, ready.admissible(m, 9))
    gap = at(h.corrected.residual_along(m.form(UPSTREAM[m.shape])), values)
    size = norm(at(h.corrected.forcing, values)) + 1
    assert norm(gap) < EXACT*size


def test_a_partition_in_kanes_shape():
    """Named in ``q_dependent``, or by the velocities in ``u_dependent``, or
    afterwards; a speed that is no velocity stays a speed."""
    m = model('chaplygin_sleigh')
    x, y, theta = m.coordinates
    arguments = dict(m.arguments)
    arguments |= {'q_ind': [x, theta], 'q_dependent': [y]}
    by_name = HamelEmbedding(**arguments)
    later = HamelEmbedding.from_method(HamelEmbedding.from_method(
        m.form(UdwadiaKalabaMethod), q_dependent=[x]), q_dependent=[y])
    values = with_velocities(m, ready.admissible(m, 3))
    upstream_ = m.form(KanesMethod)
    for h in (by_name, later):
        assert list(h.embedding.q_dependent) == [y]
        assert set(h.u) == {x.diff(t), m.speeds[1]}     # theta' is u3
        assert norm(at(h.corrected.residual_along(upstream_), values)) < EXACT
    knife = model('knife_edge').form(HamelEmbedding)
    assert [str(q) for q in knife.embedding.q_dependent] == ['y(t)']


# The public surface


SURFACE = {
    'kane': ('slider_crank', ''), 'lagrange': ('upright_disc', 'y theta'),
    'system': ('rolling_disc', 'q3 q5'), 'free': ('furuta_pendulum', '')}
shapes = pytest.mark.parametrize('shape', SURFACE)


@shapes
def test_shapes_of_the_matrices(shape):
    h = embedded(*SURFACE[shape])
    n, p, r = {'kane': (3, 1, 2), 'lagrange': (4, 2, 2),
               'system': (5, 3, 2), 'free': (2, 2, 0)}[shape]
    mh = 2 if shape == 'kane' else 0
    wanted = {
        'q': (n, 1), 'u': (p, 1),
        '_qdot': (n, 1), '_udot': (p, 1), '_qdep': (r, 1), '_udep': (0, 1),
        'mass_matrix': (p, p), 'forcing': (p, 1), 'eom': (p, 1),
        'mass_matrix_kin': (n, n), 'forcing_kin': (n, 1),
        'mass_matrix_full': (n + p, n + p), 'forcing_full': (n + p, 1),
        'acceleration': (p, 1), 'lam_vec': (0, 1),
        'embedding.q_dependent': (r, 1), 'embedding.q_independent': (p, 1),
        'embedding.matrix': (r, p), 'embedding.vector': (r, 1),
        'embedding.forces': (p, 1), 'embedding.dropped_forces': (r, 1),
        'embedding.momenta': (r, 1), 'embedding.curvature': (r, p),
        'embedding.discrepancy': (p, 1), 'embedding.neglected_row': (p, 1),
        'embedding.curvature_force': (p, 1),
        'embedding.paper_discrepancy': (p, 1),
        'corrected.mass_matrix': (p, p), 'corrected.forcing': (p, 1),
        'corrected.multipliers': (r, 1), 'corrected.lam_vec': (r, 1),
        'corrected.constraint_forces': (n, 1),
        'holonomic_constraints': (mh, 1),
        'nonholonomic_constraints': (r - mh, 1), 'coneqs': (r, 1),
        'velocity_constraints': (r, 1), 'acceleration_constraints': (r, 1),
        'constraints_jacobian': (r, n), 'lam_coeffs': (r, n)}
    assert {name: attrgetter(name)(h).shape for name in wanted} == wanted
    assert len(h._uaux) == 0
    assert list(h._qdot) == [q.diff(t) for q in h.q]
    assert list(h._udot) == [u.diff(t) for u in h.u]
    assert h.rhs().shape == (n + p, 1)
    assert list(h.equations_of_motion.states) == [*h.q, *h.u]
    tensor, vector = h.embedding.curvature_tensor
    assert (tensor.shape, vector.shape) == ((r, p, p), (r, p))
    assert list(h.kindiffdict()) == list(h._qdot)
    assert len(h.embedding.velocity_map) == r
    assert Matrix(list(h.kindiffdict().values())) == (
            h.mass_matrix_kin.LUsolve(h.forcing_kin))
    assert h.eom == h.form_lagranges_equations()
    for equations, count in ((h.equations_of_motion, p),
                             (h.corrected.equations_of_motion, p + r)):
        assert equations.states == tuple(h.equations_of_motion.states)
        assert len(equations.unknowns) == count
        assert equations.W.shape == (count, count)


@shapes
def test_the_full_form_is_the_right_hand_side(shape):
    name, names = SURFACE[shape]
    h, values = embedded(name, names), given(name).state(1)
    full, right, rhs = (at(x, values) for x in (
        h.mass_matrix_full, h.forcing_full, h.rhs()))
    assert close(full*rhs, right, EXACT, scale=1)
    rates = ordered(h, [values[v] for v in given(name).velocities],
                    given(name))
    assert close(rhs[:len(h.q), 0], rates, EXACT, scale=1)
    if shape == 'lagrange':
        return
    fr, frstar = h.kanes_equations()
    assert close(at(fr, values), at(h.embedding.forces, values), EXACT)
    along = {**values, **{u.diff(t): a for u, a in zip(
        h.u, rhs[len(h.q):, 0])}}
    assert norm(at(fr + frstar, along)) < EXACT*(1 + norm(right))


# Linearization

def slope_of(rates, h, values, states=None):
    """The derivative by the states, by central differences."""
    step = mp.mpf(10)**-25

    def moved(x, sign):
        return at(rates, {**values, x: values[x] + sign*step})
    return np.array([[float(x) for x in (moved(s, 1) - moved(s, -1))/(2*step)]
                     for s in states or (*h.q, *h.u)]).T


def slope_of_rhs(h, values):
    return slope_of(h.rhs(), h, values)


def sorted_eigenvalues(matrix):
    return np.array(sorted(np.linalg.eigvals(np.array(matrix, dtype=float)),
                           key=lambda z: (round(z.real, 6), z.imag)))


def test_linearization_about_an_equilibrium():
    """A bob on a bowl between springs in viscous fluid.  The height is kept,
    and Hamel forgets the weight: it is his equations that are linearized."""
    x, y, z = dynamicsymbols('x y z')
    m, g, c, k, kappa = symbols('m g c k kappa')
    N, O, P = ReferenceFrame('N'), Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, x*N.x + y*N.y + z*N.z)
    P.set_vel(N, P.pos_from(O).dt(N))
    v = P.vel(N)
    L = m*v.dot(v)/2 - m*g*z - k*x**2/2 - k*(y + x/2)**2
    h = HamelEmbedding(
        L, [x, y, z], [(P, -c*v)], frame=N, q_dependent=[z],
        hol_coneqs=[z - kappa*(x**2 + x*y + 3*y**2)/2 - kappa*y])
    constants = {m: number(1.3), g: number(9.81), c: number(0.4),
                 k: number(7), kappa: number(0.8)}
    rest = dict.fromkeys([x, y, z, *h.u, *h._udot], 0)
    values = {t: number(0), **constants,
              **{s: number(0) for s in (*h.q, *h.u, *h._qdot)}}
    assert norm(at(h.rhs(), values)) == 0
    A, B, _ = h.linearize(A_and_B=True, op_point=rest)
    assert A.shape == (4, 4) and not B
    found = sorted_eigenvalues(A.subs(constants))
    slope = slope_of_rhs(h, values)
    wanted = sorted_eigenvalues(slope)
    assert len(wanted) == 5
    zero = np.argmin(abs(wanted))           # the row z - h(x, y) is kept
    assert abs(wanted[zero]) < 1e-12
    np.testing.assert_allclose(
        found, np.delete(wanted, zero), rtol=1e-9, atol=1e-9)
    assert abs(found.imag).max() > 1        # it swings


@pytest.mark.parametrize('name, names', [
    ('rolling_disc', ''), ('rolling_disc_lagrange', 'q4 q5'),
    ('upright_disc', 'x y')])
def test_linearization_about_a_steady_motion(name, names):
    """Straight rolling.  A disc that may lean has a known frequency, which
    Hamel's equations miss; the upright one they do right."""
    case, h = given(name), embedded(name, names)
    m = case.model
    lean = name != 'upright_disc'
    roll, ahead = (m.coordinates[2:4] if lean else
                   (m.coordinates[2], m.coordinates[0]))
    radius = next(s for s in m.parameters if s.name in ('r', 'R'))
    velocities = [q.diff(t) for q in m.coordinates]
    for spin in (2, 6):
        point = dict.fromkeys((*m.coordinates, *velocities, *h._udot), 0)
        point |= {roll.diff(t): spin, ahead.diff(t): radius*spin}
        point |= {u: point[q.diff(t)] for q, u in zip(h.q, h.system.u)}
        values = {t: number(0), **{
            x: number(v) for x, v in m.parameters.items()}}
        for x, v in point.items():
            values[x] = at(v*Matrix([1]), values)[0]
        assert norm(at(h.acceleration, values)) < EXACT
        A, B, _ = h.linearize(A_and_B=True, op_point=point)
        n = len(h.q) + len(h.u)
        assert A.shape == (n, n) and not B
        found = np.array(A.subs(m.parameters), dtype=float)
        wanted = slope_of_rhs(h, values)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            np.poly(found), np.poly(wanted), rtol=1e-9, atol=1e-9)
        if lean:
            gravity = next(s for s in m.parameters if s.name == 'g')
            true = np.emath.sqrt(4*m.parameters[gravity]/(
                5*m.parameters[radius]) - 12*spin**2/5)
            assert min(abs(np.linalg.eigvals(found) - true)) > 1e-2
            # which the corrected equations have
            true_slope = slope_of(h.corrected.acceleration, h, values)
            full = np.vstack([found[:len(h.q)], true_slope])
            assert min(abs(np.linalg.eigvals(full) - true)) < 1e-6


def test_linearization_along_a_position_row_and_by_an_input():
    """Not at rest and not in balance: still the slope of ``rhs()``."""
    case, h = given('cart_pendulum'), embedded('cart_pendulum', 'q_p')
    values = case.state(2)
    force, = case.model.inputs
    A, B, r = h.linearize(A_and_B=True, op_point={
        force: values[force], **{x: values[x] for x in (*h.q, *h._qdot)},
        **dict(zip(h._udot, at(h.acceleration, values)))})
    assert list(r) == [force]
    found = [np.array(x.subs(dict(case.model.parameters)), dtype=float)
             for x in (A, B)]
    # The pendulum, which comes first, follows the cart along the row.
    along = np.array([[-float(at(h.embedding.matrix, values)[0]), 0], [1, 0],
                      [0, 1]])
    wanted = (slope_of(h.rhs(), h, values)@along,
              slope_of(h.rhs(), h, values, [force]))
    for one, other in zip(found, wanted):
        assert abs(one).max() > 0.1
        np.testing.assert_allclose(one, other[1:], rtol=1e-9, atol=1e-9)
