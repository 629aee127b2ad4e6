"""What ``HamelEmbedding`` refuses, its partitions, and its linearization.

That the corrected equations are the equations of motion of every ready model
is one of tests/laws.
"""
import functools

import numpy as np
import pytest
from mpmath import mp
from sympy import Matrix
from sympy.physics.mechanics import dynamicsymbols

import ready
from kkt import at, norm, number
from sympy_constrained import HamelEmbedding, UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstraintError, RedundantConstraintsError, UnsupportedFeatureError)
from sympy_constrained.models import MODELS, model

EXACT = mp.mpf(10)**-45
t = dynamicsymbols._t

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


pytestmark = pytest.mark.usefixtures('digits')


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
