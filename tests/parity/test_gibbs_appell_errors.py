"""Refusals of ``GibbsAppellMethod`` that the catalogue of errors lacks.

Rows that are real or regular in some states only, rows of higher order, and
initial data. The others are in ``tests/errors``.
"""
import re

import pytest
from sympy import Matrix, sqrt, symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, dynamicsymbols)

from combinations import every_third
from kkt import t
from meshchersky import particle
from sympy_constrained import GibbsAppellMethod
from sympy_constrained.errors import (
    ConstrainedDynamicsError, ConstraintError, InconsistentConstraintsError,
    MissingIngredientError, SingularEquationsError, UnsupportedFeatureError)
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)

x, y, z, u, v, w, m = dynamicsymbols('x y z u v w m')
k, g, m0 = symbols('k g m0', positive=True)
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)
BODY = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, m0)
VALUES = {m0: 1, g: 9.81}


def dot(e, order=1):
    return e.diff(t, order)


def made(*rows, **options):
    """A heavy particle in space with these rows."""
    arguments = {
        'frame': N, 'q_ind': [x, y, z], 'u_ind': [u, v, w],
        'kd_eqs': [dot(x) - u, dot(y) - v, dot(z) - w], 'bodies': [BODY],
        'forcelist': [(BODY.point, -m0*g*N.z)]}
    if rows:
        arguments['nonholonomic_constraints'] = list(rows)
    return GibbsAppellMethod(**{**arguments, **options})


def told(error, action, *words):
    """``action`` raises ``error``, whose message has all the words."""
    with pytest.raises(error) as caught:
        action()
    text = re.sub(r'\s+', ' ', str(caught.value))
    for word in words:
        assert word in text, text
    return caught.value


def test_forms_whose_speeds_do_not_follow_from_the_velocities():
    P = Point('P')
    P.set_vel(N, u*N.x + v*N.y)
    method = GibbsAppellMethod(
        N, [x, y], [u, v], [dot(x) - u - v, dot(y) - u - v],
        bodies=[Particle('P', P, m0)])
    for form in ('kane', 'appell', 'volterra', 'macmillan', 'nielsen-10'):
        assert method.classical_equations(form) == Matrix(
            [m0*dot(u), m0*dot(v)])
    for form in ('maggi', 'boltzmann-hamel', 'voronets', 'chaplygin',
                 'nielsen'):
        told(UnsupportedFeatureError, lambda: method.classical_equations(form),
             'Point P has no position relative to a point at rest',
             "in speeds that the q' do not determine", 'give the position')


# Rows that are real for some accelerations only

ROOT = sqrt(dot(u)**2 - 100) - dot(v) + 3


@pytest.mark.parametrize('sample, fact', [
    ({}, 'no real gradient at the accelerations that were tried'),
    ({dot(u): 3}, 'No accelerations were found that satisfy order-2 row 0')])
def test_a_row_that_is_real_far_away_only(sample, fact):
    told(ConstraintError, lambda: made(
        acceleration_constraints=[ROOT], sample=sample).equations_of_motion,
        fact, 'ass `sample={symbol: number, ...}` with', 'near the motion')


def test_a_sample_of_accelerations():
    method = made(acceleration_constraints=[ROOT],
                  sample={dot(u): 11, dot(v): 7})
    equations = method.equations_of_motion
    graph = equations.graph
    values = {s: k + 2 for k, s in enumerate(graph.inputs)}
    values |= {dot(u): 26, dot(v): 27}
    out = graph.evaluate(values, ('W', 'r'))
    z = Matrix(out['W']).LUsolve(Matrix(out['r']))
    rate = dict(zip(equations.unknowns, z))
    assert rate[dot(v, 2)] == pytest.approx(26*rate[dot(u, 2)]/24)


# Rows without a gradient

SQUARES = {
    'order 0': ({'configuration_constraints': [(x*y - 1)**2]},
                'holonomic row 0'),
    'order 1': ({'nonholonomic_constraints': [(u*w - v**2 - 1)**2]},
                'velocity-level row 0'),
    'at rest only': ({'nonholonomic_constraints': [u**2 + v**2]},
                     'velocity-level row 0'),
    'order 2': ({'acceleration_constraints': [(dot(u)*v - dot(w))**2]},
                'order-2 row 0'),
    'order 3': ({'nonholonomic_constraints': [
        (dot(u, 2)*v - dot(w, 2))**2]}, 'order-3 row 0'),
    'beside another': ({'nonholonomic_constraints': [
        u - k*v, (w - v*u)**2]}, 'velocity-level row 1')}


@pytest.mark.parametrize('case', every_third(SQUARES))
def test_a_row_whose_gradient_vanishes(case):
    """Without its row the particle would fall."""
    rows, label = SQUARES[case]
    for name in ('mass_matrix', 'eom', 'hypersurface_basis', 'multipliers'):
        told(ConstraintError, lambda: getattr(made(**rows), name),
             'no gradient', label, 'square',
             'give the factor that has to vanish')
    told(ConstraintError, lambda: compile_equations(made(**rows), VALUES),
         label)


def test_a_gradient_that_vanishes_at_rest_only():
    """A regular constraint, and a singular start."""
    method = made(w**2 - k**2*(u**2 + v**2))
    assert method.mass_matrix.shape == (3, 3)
    error = told(
        SingularEquationsError, lambda: simulate(
            method, 1, [0]*6, constants={**VALUES, k: 1}),
        'rank', 'singular', 'Start from a state beside it')
    assert error.condition == 0


# Rows and arguments that cannot be used

L = m0*dot(x)**2/2
REFUSED = {
    'accelerations that do not exist': (
        ConstraintError,
        lambda: made(dot(u)**2 + dot(v)**2 + 1).mass_matrix,
        ('No accelerations', 'order-2 row 0', 'contradict', '`sample=')),
    'a row and its second derivative': (
        ConstraintError,
        lambda: made(u - v, 2*dot(u, 2) - 2*dot(v, 2)).hypersurface_basis,
        ('independent', 'Leave out rows')),
    'a redundant row beside one of higher order': (
        ConstraintError,
        lambda: made(dot(u, 2) - x*dot(w, 2), configuration_constraints=[
            x - y, 2*x - 2*y]).rhs(),
        ('holonomic row 1 follows from', 'multipliers are states',
         'Leave it out')),
    'a replacement that contradicts its row': (
        InconsistentConstraintsError,
        lambda: made(u - v, acceleration_constraints=[
            dot(u) - dot(v) - 1]).rhs(),
        ('contradicts it where the constraints hold', 'leave it out')),
    'gains beside a replacement': (
        UnsupportedFeatureError,
        lambda: made(u - v, acceleration_constraints=[
            dot(u) - dot(v) + k*(u - v)], stabilization=(1, 2)),
        ('replaces it', '`stabilization`', 'gains into the row')),
    'a row of higher order beside a replacement': (
        UnsupportedFeatureError,
        lambda: made(u - v, dot(w, 2) - k, acceleration_constraints=[
            dot(u) - dot(v) + k*(u - v)]),
        ('replaces it', 'of a higher order', 'Leave it out')),
    'reactions that cannot hold a row of higher order': (
        MissingIngredientError,
        lambda: made(dot(u, 2) - k, reaction_matrix=Matrix([0, 1, 0])).rhs(),
        ('singular for all states', 'with such reactions',
         '`equations_of_motion`')),
    'partial velocities of a Lagrangian': (
        UnsupportedFeatureError,
        lambda: GibbsAppellMethod(L, [x]).ingredients.partial_velocities,
        ('Lagrangian', 'Give bodies')),
    'a mass rate of a speed': (
        ConstrainedDynamicsError, lambda: made(mass_rates={u: -1}),
        ('`mass_rates`', 'u(t)', 'a coordinate or a speed'))}


@pytest.mark.parametrize('case', REFUSED)
def test_refusals(case):
    error, action, words = REFUSED[case]
    told(error, action, *words)


def test_a_replacement_may_add_what_vanishes_with_its_row():
    found = made(u - v, acceleration_constraints=[
        dot(u) - dot(v) - k*(u - v)]).rhs()
    assert found.subs({m0: 3, g: 10, u: 2, v: 5, k: 4})[3:] == [-6, 6, -10]


# Initial data

def test_an_inconsistent_start():
    method = made(u*w - v**2)
    error = told(
        ConstraintError, lambda: simulate(
            method, 1, [0, 0, 0, 1, 1, 2], constants=VALUES),
        'violates 1 constraint', 'velocity-level row 0 by 1.0e+00',
        "`initial='project'`", '`u`, `v`, `w`')
    assert error.rows == ('velocity-level row 0',)
    with pytest.raises(ValueError, match='`start`: no value for w'):
        simulate(method, 1, {x: 0, y: 0, z: 0, u: 1, v: 1}, constants=VALUES)


@pytest.mark.parametrize('rows, missing, order, states, free', [
    ([dot(u)**2 + dot(v)**2 + dot(w)**2 - k**2], "u', v', w', lam1", 2, 10,
     6),
    ([dot(u, 2) - x*dot(v, 2)], "u', v', w', lam1", 3, 10, 7),
    ([dot(u, 3) - x*dot(v, 3)], "u', v', w', ", 4, 14, 8),
    ([u*v - w, dot(u, 2) - x*dot(v, 2)], "u', v', w', lam1, lam2", 3, 11,
     6)])
def test_missing_data_of_higher_order_are_counted(
        rows, missing, order, states, free):
    """Of theory section 5: 2n + (m - 2)c, and c fewer for order 1."""
    method = made(*rows)
    constants = method.equations_of_motion.constants
    values = {**VALUES, **({k: 3} if k in constants else {})}
    told(ValueError, lambda: simulate(
        method, 1, {x: 0, y: 0, z: 0, u: 1, v: 1, w: 1}, constants=values),
        '`start`: no value for', missing, f'Constraints of order {order}',
        f'Of the {states} initial values {free} are free',
        '`consistent_state(', 'branches')


def test_inconsistent_data_of_higher_order():
    """Of the equations of motion, and of the row at lower order."""
    method = made(dot(u, 2) - x*dot(v, 2))
    error = told(
        ConstraintError, lambda: simulate(
            method, 1, [0, 0, 0, 1, 1, 0, 1, 1, 1, 0], constants=VALUES),
        'violates 3 constraints', 'dynamic equation 0',
        "`initial='project'`")
    assert len(error.rows) == 3
    method = made(dot(u)**2 + dot(v)**2 + dot(w)**2 - k**2)
    start = consistent_state(compile_equations(
        method, {**VALUES, k: 3}), {dot(w): -3}, fill=0)
    start[7] += 0.1
    told(ConstraintError, lambda: simulate(
        method, 1, start, constants={**VALUES, k: 3}), 'order-2 row 0')


def test_no_state_satisfies_the_rows_of_higher_order():
    method = made(dot(u)**2 + dot(v)**2 + dot(w)**2 - k**2)
    compiled = compile_equations(method, {**VALUES, k: 3})
    told(ConstraintError, lambda: consistent_state(
        compiled, [0, 0, 0, 0, 0, 0, 9, 0, 0, 0],
        fixed=[dot(u), dot(v), dot(w)]), 'keep their values',
        'order-2 row 0', 'Release some of them')
