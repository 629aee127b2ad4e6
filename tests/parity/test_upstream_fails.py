"""Where SymPy's classes raise, return ``nan`` or are wrong, and that ours is
right there: compared with a 50-digit solve of the multiplier system whose
blocks are made from plain SymPy (see ``kkt``).

The tests after the first one pin down what upstream does, so that the day it
learns a case is noticed.
"""
from dataclasses import replace

import pytest
from sympy import Matrix, Rational, nan, nsimplify, pi, zoo
from sympy.core.function import AppliedUndef, Derivative
from sympy.matrices.exceptions import NonInvertibleMatrixError
from sympy.physics.mechanics import KanesMethod, LagrangesMethod

import ready
from combinations import every_third
from kkt import t
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.models import MODELS, model

TOLERANCE = 1e-11
REFUSED = sorted(ready.UPSTREAM_REFUSES)


def right(m, method=None, seeds=(1, 2), at_start=False):
    """Compare our accelerations with the reference at admissible states."""
    method = method or m.form(UdwadiaKalabaMethod)
    reference = ready.reference(m)
    admissible = ready.Admissible(m, reference)
    states = [admissible(seed) for seed in seeds]
    if at_start:
        states.append(admissible.near(m.start))
    for values in states:
        wanted = ready.independent(m, values, reference)
        assert ready.disagreement(
            ready.ours(method, values), wanted) < TOLERANCE


def exactly(expression, values):
    """Put exact numbers in: derivatives, then functions, then symbols."""
    values = {x: nsimplify(value, rational=True) if not getattr(
        value, 'free_symbols', True) or isinstance(value, float) else value
        for x, value in values.items()}
    result = Matrix(expression)
    for kind in (Derivative, AppliedUndef, object):
        result = result.subs({x: value for x, value in values.items()
                              if isinstance(x, kind)})
    return result


@pytest.mark.parametrize('name', every_third(REFUSED))
def test_ours_is_right_where_upstream_refuses(name):
    right(MODELS[name](), at_start=True)


# Knife edge

def test_knife_edge_upstream_divides_by_the_cosine_of_the_heading():
    m = model('knife_edge')
    x, y, theta = m.coordinates
    vx, omega, vy = m.speeds
    exact = {**m.parameters, x: 0, y: 0, theta: pi/2, vx: 0, omega: 2,
             vy: Rational(4, 5)}
    upstream = m.form(KanesMethod)
    assert exactly(upstream.mass_matrix, exact).has(zoo)
    assert exactly(upstream.rhs(), exact)[3] is nan

    method = m.form(UdwadiaKalabaMethod)
    W, r = (exactly(z, exact) for z in (method.equations_of_motion.W,
                                        method.equations_of_motion.r))
    assert W.LUsolve(r)[:3] == [Rational(-8, 5), 0, 0]


# Redundant rows

def test_duplicated_row_in_a_lagrangian_upstream_gives_nan():
    m = model('cartesian_pendulum')
    row, = m.arguments['hol_coneqs']
    twice = replace(m, arguments={**m.arguments, 'hol_coneqs': [row, 2*row]})
    x, y = m.coordinates
    exact = {**m.parameters, x: Rational(3, 5), y: Rational(4, 5),
             x.diff(t): 1, y.diff(t): Rational(-3, 4)}
    upstream = twice.form(LagrangesMethod)
    assert nan in exactly(upstream.rhs(), exact)
    right(twice)


# Massless directions

def test_massless_coordinate_has_no_inverse_mass_matrix():
    """Upstream keeps the constraint rows in one matrix and is right here;
    every formula with an inverse of ``M`` has nothing to invert."""
    m = model('massless_coordinate')
    upstream = m.form(LagrangesMethod)
    with pytest.raises(NonInvertibleMatrixError):
        upstream.mass_matrix[:, :3].inv()
    values = ready.admissible(m, 1)
    wanted = ready.independent(m, values)
    assert ready.disagreement(
        ready.upstream(upstream, values), wanted) < TOLERANCE
    right(m, at_start=True)


# Nonlinear and acceleration-level rows

@pytest.mark.slow
def test_bicycle_upstream_is_silently_wrong_with_its_default_solver():
    m = model('bicycle')
    arguments = {key: value for key, value in m.arguments.items()
                 if key != 'constraint_solver'}
    values = ready.admissible(m, 1)
    checked = ready.upstream(m.form(KanesMethod), values)
    default = replace(m, arguments=arguments)
    found = ready.upstream(default.form(KanesMethod), values)
    assert not ready.disagreement(found, checked) < 1e-3
    method = default.form(UdwadiaKalabaMethod)
    assert ready.disagreement(ready.ours(method, values), checked) < 1e-10
