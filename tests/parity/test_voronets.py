"""The corrected equations of ``HamelEmbedding`` are the equations of motion.

Every ready model is embedded, with the dependent coordinates it names and
with others, or refused for a stated reason.  Accelerations of all coordinates
and constraint forces are compared with ``UdwadiaKalabaMethod`` to 45 digits
and with SymPy's own class to 1e-10, at random states where the constraints
hold.  Speeds that are not ``q'`` are translated by the kinematic equations
of the model, which share nothing with the embedding.
"""
import functools

import numpy as np
import pytest
from mpmath import mp
from sympy import Matrix
from sympy.physics.mechanics import dynamicsymbols

import ready
from kkt import at, close, norm, number
from sympy_constrained import HamelEmbedding, UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstraintError, RedundantConstraintsError, UnsupportedFeatureError)
from sympy_constrained.models import MODELS, model

EXACT = mp.mpf(10)**-45
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
    'knife_edge': ('', 'x'),
    'chaplygin_sleigh': ('y', 'x'),
    'upright_disc': ('x y', 'y theta', 'x theta'),
    'snakeboard': ('y theta', 'x y'),
    'bicycle_whole': ('',),
    'cartesian_pendulum': ('y', 'x'),
    'driven_pendulum': ('y', 'x'),
    'n_link_pendulum_on_cart': ('',),
    'cart_pendulum': ('q_c', 'q_p'),
    'cart_bead': ('', 'q1'),
    'spring_mass_damper': ('',),
    'double_pendulum_lagrange': ('',),
    'damped_double_pendulum': ('',),
    'furuta_pendulum': ('',),
    'heavy_top': ('',),
    'quaternion_top_lagrange': ('e0',),
    'pinned_top': ('',),
    'massless_coordinate': ('y1', 'x1'),
    'n_four_bar': ('q2 q3 q4 q5',)}
# Model -> error and a part of its text.
REFUSED = {
    'parallel_cranks': (ConstraintError, 'redundant'),
    'coupler_on_cranks': (RedundantConstraintsError, 'follows'),
    'duplicated_rows': (RedundantConstraintsError, 'follows'),
    'rolling_disc_minimal': (UnsupportedFeatureError, 'put in by hand'),
    'rolling_disc_contact': (UnsupportedFeatureError, 'put in by hand'),
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


# The same motion in the speeds of the model and in velocities

@functools.cache
def given(name):
    return ready.InVelocities(MODELS[name]())


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
    assert set(MODELS) == set(PARTITIONS) | set(REFUSED)
    assert not set(PARTITIONS) & set(REFUSED)


@pytest.mark.parametrize('name', REFUSED)
def test_what_cannot_be_embedded_is_told(name):
    m = MODELS[name]()
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
    values = case.state(1)
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
    for h in (by_name, later):
        assert list(h.embedding.q_dependent) == [y]
        assert set(h.u) == {x.diff(t), m.speeds[1]}     # theta' is u3
    knife = model('knife_edge').form(HamelEmbedding)
    assert [str(q) for q in knife.embedding.q_dependent] == ['y(t)']


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
