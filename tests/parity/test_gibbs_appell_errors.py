"""What ``GibbsAppellMethod`` and the loads of variable mass refuse.

A message says what is the case, why, and what to do; every test asks for the
words that matter in each of the three.
"""
import re

import pytest
from sympy import Matrix, cos, eye, sin, sqrt, symbols, zeros
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from kkt import t
from meshchersky import particle
from sympy_constrained import (
    GibbsAppellMethod, internal_flow_loads, momentum_loads, reactive_terms,
    thrust)
from sympy_constrained.errors import (
    ConstrainedDynamicsError, ConstraintError, InconsistentConstraintsError,
    KinematicsError, MissingIngredientError, SingularEquationsError,
    UnsupportedFeatureError)
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)

x, y, z, u, v, w, m, s = dynamicsymbols('x y z u v w m s')
k, g, m0 = symbols('k g m0', positive=True)
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)
BODY = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, m0)
VALUES = {m0: 1, g: 9.81}
FORMS = ('kane', 'appell', 'maggi', 'boltzmann-hamel', 'voronets',
         'chaplygin', 'volterra', 'macmillan', 'nielsen', 'nielsen-10')


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


def rod(**options):
    """A rigid body in the plane, and the method for it alone."""
    B = N.orientnew('B', 'Axis', [y, N.z])
    G = O.locatenew('G', x*N.x)
    body = RigidBody('rod', G, B, m, (inertia(B, 1, 1, m), G))
    return body, lambda **more: GibbsAppellMethod(
        N, [x, y], [u, v], [dot(x) - u, dot(y) - v], bodies=[body],
        **{**options, **more})


def told(error, action, *words):
    """``action`` raises ``error``, whose message has all the words."""
    with pytest.raises(error) as caught:
        action()
    text = re.sub(r'\s+', ' ', str(caught.value))
    for word in words:
        assert word in text, text
    return caught.value


# Speeds that the velocities do not determine

@pytest.mark.parametrize('form', FORMS)
def test_forms_whose_speeds_do_not_follow_from_the_velocities(form):
    P = Point('P')
    P.set_vel(N, u*N.x + v*N.y)
    method = GibbsAppellMethod(
        N, [x, y], [u, v], [dot(x) - u - v, dot(y) - u - v],
        bodies=[Particle('P', P, m0)])
    if form in ('kane', 'appell', 'volterra', 'macmillan', 'nielsen-10'):
        assert method.classical_equations(form) == Matrix(
            [m0*dot(u), m0*dot(v)])
        return
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
squares = pytest.mark.parametrize('case', SQUARES)


@squares
@pytest.mark.parametrize('name', [
    'mass_matrix', 'forcing', 'eom', 'hypersurface_basis', 'multipliers',
    'constraint_forces'])
def test_a_row_whose_gradient_vanishes(case, name):
    rows, label = SQUARES[case]
    told(ConstraintError, lambda: getattr(made(**rows), name),
         'no gradient', label, 'square',
         'give the factor that has to vanish')


@squares
def test_a_row_whose_gradient_vanishes_is_not_simulated(case):
    """Without its row the particle would fall, without a word."""
    rows, label = SQUARES[case]
    start = {x: 1, y: 1, z: 0, u: 1, v: 1, w: 2}
    if case == 'at rest only':
        start.update({u: 0, v: 0})
    if case == 'beside another':
        start.update({w: 1})

    def run():
        method = made(**rows)
        compiled = compile_equations(method, {
            **VALUES, **({k: 1} if k in method.constants else {})})
        state = {e: start.get(e, 0) for e in method.states}
        simulate(compiled, 0.1, state)
    told(ConstrainedDynamicsError, run, label)


def test_a_gradient_that_vanishes_at_rest_only():
    """A regular constraint, and a singular start."""
    method = made(w**2 - k**2*(u**2 + v**2))
    assert method.mass_matrix.shape == (3, 3)
    error = told(
        SingularEquationsError, lambda: simulate(
            method, 1, [0]*6, constants={**VALUES, k: 1}),
        'rank', 'singular', 'Start from a state beside it')
    assert error.condition == 0


# Rows that cannot be used

@pytest.mark.parametrize('row', [k - 3, sin(t), 0, s - k, dot(s)*t])
def test_a_row_without_the_unknowns(row):
    told(ConstraintError, lambda: made(u - v, row), 'Row 1',
         'no coordinate, no speed', 'Remove it, or correct it')


def test_all_rows_without_the_unknowns_are_told_at_once():
    text = str(told(ConstraintError, lambda: made(k, u, t)))
    assert 'Row 0' in text and 'Row 2' in text and 'Row 1' not in text


@pytest.mark.parametrize('rows', [
    [u - v, u - v - 1], [u**2 + 1], [u - 1, v - 2, w - 3, u + v + w - 7],
    [u*v - 1, u*v - 2]])
def test_rows_that_contradict_each_other(rows):
    told(InconsistentConstraintsError, lambda: made(*rows).mass_matrix,
         'No state was found', 'contradict', '`sample=')


def test_accelerations_that_do_not_exist():
    told(ConstraintError, lambda: made(
        dot(u)**2 + dot(v)**2 + 1).mass_matrix, 'No accelerations',
        'order-2 row 0', 'contradict', '`sample=')


def test_rows_of_higher_order_that_repeat_each_other():
    row = dot(u, 2) - x*dot(v, 2)
    for rows in ([row, 2*row], [u - v, 2*(dot(u, 2) - dot(v, 2))]):
        method = made(*rows)
        for use in (lambda: method.hypersurface_basis,
                    lambda: compile_equations(method, VALUES), method.rhs):
            told(ConstraintError, use, 'independent', 'Leave out rows')


def test_a_repeated_row_beside_one_of_a_higher_order():
    """Its multiplier would be a state without an equation."""
    method = made(dot(u, 2) - x*dot(w, 2),
                  configuration_constraints=[x - y, 2*x - 2*y])
    error = told(
        ConstraintError, method.rhs, 'holonomic row 1 follows from',
        'multipliers are states', 'Leave it out')
    assert error.rows == (1,)


def test_a_replacement_that_contradicts_its_row():
    """The derivative of u - v is u' - v'; what is 0 on it may be added."""
    def acceleration(more):
        return made(u - v, acceleration_constraints=[
            dot(u) - dot(v) - more]).rhs()
    told(InconsistentConstraintsError, lambda: acceleration(1),
         'contradicts it', 'where the constraints hold',
         'leave it out')
    found = acceleration(k*(u - v)).subs({m0: 3, g: 10, u: 2, v: 5, k: 4})
    assert found[3:] == [-6, 6, -10]


@pytest.mark.parametrize('more, words', [
    ({'stabilization': (1, 2)}, ('`stabilization`', 'gains into the row')),
    ({'nonholonomic_constraints': [u - v, dot(w, 2) - k]},
     ('of a higher order', 'Leave it out'))])
def test_a_replacement_has_no_place_beside(more, words):
    arguments = {'nonholonomic_constraints': [u - v],
                 'acceleration_constraints': [dot(u) - dot(v) + k*(u - v)]}
    told(UnsupportedFeatureError, lambda: made(**{**arguments, **more}),
         'replaces it', *words)


def test_reactions_that_cannot_hold_a_row_of_higher_order():
    method = made(dot(u, 2) - k, reaction_matrix=Matrix([0, 1, 0]))
    told(MissingIngredientError, method.rhs, 'singular for all states',
         'with such reactions', '`equations_of_motion`')


def test_the_same_rows_in_two_lists():
    told(ConstraintError, lambda: made(u - v, velocity_constraints=[u - v]),
         '`velocity_constraints` and `nonholonomic_constraints`',
         'give one of them')


def test_stabilization_of_rows_that_have_none():
    """Gains are kept, or it is said that there is no place for them."""
    rows = [u*v - w, dot(u)**2 - k*dot(v)]
    with_gains = None
    try:
        with_gains = made(*rows, stabilization=(2, 0)).forcing
    except ConstrainedDynamicsError as error:
        assert 'stabilization' in str(error)
    assert with_gains is None or with_gains != made(*rows).forcing


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
        simulate(method, 1, {x: 0, y: 0, z: 0, u: 1, v: 1},
                 constants=VALUES)


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
    values = {**VALUES, **({k: 3} if k in method.constants else {})}
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


# Forms

def test_an_unknown_form():
    for form in ('hamel', None, 'Kane'):
        error = told(ValueError, lambda: made(u - v).classical_equations(form),
                     repr(form), *map(repr, FORMS))
        assert 'Choose one of' in str(error)


@pytest.mark.parametrize('form', [
    'voronets', 'chaplygin', 'macmillan', 'nielsen', 'nielsen-10'])
def test_forms_that_eliminate_speeds(form):
    told(UnsupportedFeatureError, lambda: made(
        dot(u)*v - w).classical_equations(form), 'eliminates dependent speeds',
        'constraints on accelerations', "'appell'")
    told(UnsupportedFeatureError, lambda: made(
        u*v - w, reaction_matrix=[1, 0, 0]).classical_equations(form),
        '`reaction_matrix`', "'appell'")


def test_chaplygins_form_with_a_dependent_coordinate():
    told(UnsupportedFeatureError, lambda: made(
        w - z*u, u_dependent=[w], u_ind=[u, v]
    ).classical_equations('chaplygin'),
        'z(t)', "'voronets'")


@pytest.mark.parametrize('form', [
    'kane', 'appell', 'volterra', 'macmillan', 'nielsen-10'])
def test_forms_that_a_lagrangian_does_not_tell(form):
    L = m0*(dot(x)**2 + dot(y)**2)/2
    method = GibbsAppellMethod(L, [x, y], nonhol_coneqs=[dot(x) - y*dot(y)])
    told(UnsupportedFeatureError, lambda: method.classical_equations(form),
         'velocities of bodies', 'Lagrangian', 'Give bodies', "'maggi'")


@pytest.mark.parametrize('name', [
    'gibbs_function', 'kinetic_energy', 'partial_velocities'])
def test_members_that_a_lagrangian_does_not_tell(name):
    method = GibbsAppellMethod(m0*dot(x)**2/2, [x])
    told(UnsupportedFeatureError, lambda: getattr(method.ingredients, name),
         'Lagrangian', 'Give bodies')


def test_velocities_that_are_not_those_of_positions():
    """Rolling that was put into a velocity by hand."""
    P = O.locatenew('P', x*N.x + y*N.y)
    P.set_vel(N, u*cos(y)*N.x + u*sin(y)*N.y)
    method = GibbsAppellMethod(
        N, [x, y], [u, v], [dot(x) - u*cos(y), dot(y) - v],
        bodies=[Particle('one', P, m0)])
    for form in ('maggi', 'boltzmann-hamel', 'voronets', 'nielsen'):
        told(UnsupportedFeatureError, lambda: method.classical_equations(form),
             'velocity of one was set', 'not the derivative', "'kane'")
    for form in ('kane', 'appell', 'volterra'):
        assert method.classical_equations(form).shape == (2, 1)


# Directions of reactions

@pytest.mark.parametrize('matrix', [
    Matrix([1, 0]), eye(3), Matrix([[1, 0, 0]]), [[1, 2], [3, 4], [5, 6]]])
def test_a_reaction_matrix_of_another_shape(matrix):
    told(ConstraintError, lambda: made(u - v, reaction_matrix=matrix),
         '`reaction_matrix` has shape', '3 speeds and 1 constraints',
         'Give one column')


def test_a_reaction_matrix_without_constraints():
    told(ConstraintError, lambda: made(reaction_matrix=Matrix([1, 0, 0])),
         '`reaction_matrix`', '0 constraints')


@pytest.mark.parametrize('matrix', [3, 'ab', {1: 2}])
def test_a_reaction_matrix_that_is_none(matrix):
    told(Exception, lambda: made(u - v, reaction_matrix=matrix),
         '`reaction_matrix`')


def test_reactions_without_independent_directions():
    told(ConstraintError, lambda: made(
        u - v, reaction_matrix=zeros(3, 1)).mass_matrix,
        'independent directions', 'correct `reaction_matrix`')
    told(ConstraintError, lambda: made(u - v, v - w, reaction_matrix=Matrix(
        [[1, 2], [1, 2], [0, 0]])).mass_matrix, 'correct `reaction_matrix`')


def test_reactions_that_cannot_hold_their_constraint():
    """Along the hypersurface: the cause is no missing mass."""
    method = made(u - v, reaction_matrix=Matrix([0, 0, 1]))
    told(ConstraintError, method.rhs, 'cannot keep', '`reaction_matrix`',
         'Correct the directions')


def test_reactions_with_accelerations():
    """``E + W lam = 0`` is linear for a known ``W(q, u, t)`` only."""
    told(ConstrainedDynamicsError, lambda: made(
        u - v, reaction_matrix=Matrix([1, dot(u), 0])).mass_matrix,
        'reaction_matrix', 'Derivative(u(t), t)')


def test_reactions_have_no_place_as_loads():
    told(UnsupportedFeatureError, lambda: made(
        u - v, reaction_matrix=Matrix([1, 0, 0])).constraint_loads(),
        '`reaction_matrix*lam`', '`constraint_forces`')


# Mass

def test_anchors_of_what_is_no_body_of_the_model():
    body, method = rod()
    told(ConstrainedDynamicsError, lambda: made(anchors={body: O}),
         '`anchors`', 'no RigidBody of the model', '{body: point}')
    told(ConstrainedDynamicsError, lambda: made(anchors={BODY: O}),
         '`anchors`', 'no RigidBody of the model', '{body: point}')
    told(TypeError, lambda: method(anchors={body: 3}), 'anchor of rod',
         'Give a Point')
    told(TypeError, lambda: made(anchors=[O]), '`anchors`', 'dictionary')
    told(ConstrainedDynamicsError, lambda: momentum_loads(
        [BODY], N, anchors={body: O}), '`anchors`')


def test_an_anchor_without_velocity():
    body, method = rod()
    told(KinematicsError, lambda: method(
        anchors={body: Point('loose')}).mass_matrix, 'rod', 'loose',
        'set_pos')


@pytest.mark.parametrize('mass', [m0, dot(m), 2*m])
def test_mass_rates_of_what_is_no_mass(mass):
    told(ConstrainedDynamicsError, lambda: made(mass_rates={mass: -1}),
         '`mass_rates`', str(mass), 'no function of time')


@pytest.mark.parametrize('state', [x, u])
def test_mass_rates_of_a_coordinate_or_speed(state):
    told(ConstrainedDynamicsError, lambda: made(mass_rates={state: -1}),
         '`mass_rates`', str(state), 'a coordinate or a speed')


def test_mass_rates_of_a_function_that_does_not_occur():
    """A state that nothing depends on is a misspelled name."""
    told(ConstrainedDynamicsError, lambda: made(mass_rates={m: -1}),
         'mass_rates', 'm(t)')


@pytest.mark.parametrize('rate', [dot(u), dot(m), m + dot(w)*k])
def test_rates_that_are_no_functions_of_the_states(rate):
    body = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, m)
    told(ConstrainedDynamicsError, lambda: made(
        bodies=[body], mass_rates={m: rate}), 'rate of m(t)',
        'an acceleration, or the rate of a mass',
        'write such a mass as an expression')


def test_arguments_of_the_wrong_kind():
    told(TypeError, lambda: made(mass_rates=[m]), '`mass_rates`',
         'dictionary')
    told(TypeError, lambda: made(mass_rates={m: None}), 'rate of m(t)')
    told(TypeError, lambda: made(nonideal_forces=[0]*3),
         'nonideal_forces', 'mass_rates', 'reaction_matrix')
    told(TypeError, lambda: made(u - v, sample=3).rhs(), '`sample`')


def test_loads_that_are_not_linear_in_the_accelerations():
    for force in (dot(u)**2, dot(u)*dot(v), dot(u, 2), sin(dot(w))):
        told(ConstrainedDynamicsError, lambda: made(forcelist=[
            (BODY.point, force*N.x)]), 'not linear in the accelerations',
            'linearly')


def test_a_mass_of_accelerations():
    body = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, m0 + dot(u))
    told(ConstrainedDynamicsError, lambda: made(bodies=[body]),
         'Derivative(u(t), t)', 'coordinates, speeds and time')


# Kinematics and the rest

def test_kinematics():
    told(KinematicsError, lambda: made(kd_eqs=[
        dot(x)**2 - u, dot(y) - v, dot(z) - w]), 'Row 0 of `kd_eqs`',
        'not linear in Derivative(x(t), t)', 'rewrite')
    told(KinematicsError, lambda: made(kd_eqs=[dot(y) - v, dot(z) - w]),
         'Derivative(x(t), t)', 'Add the kinematic differential equation')
    told(KinematicsError, lambda: made(u_ind=[u, u, w]), 'u(t)', 'twice')
    told(KinematicsError, lambda: made(u_auxiliary=[u]), 'u(t)', 'twice')


def test_what_is_missing():
    told(MissingIngredientError, lambda: made(bodies=None).mass_matrix,
         'no bodies', '`bodies=`')
    told(ConstraintError, lambda: made().solve_multipliers(),
         'no constraints')
    told(UnsupportedFeatureError, lambda: made().auxiliary_eqs,
         'no auxiliary')
    told(ValueError, lambda: made(u - v).solve_multipliers(
        sol_type='list'), '`sol_type`')
    told(ValueError, lambda: made(generalized_forces=[1, 2]),
         '`generalized_forces`', '3 speeds')


def test_no_linearizer_of_higher_order():
    told(UnsupportedFeatureError, lambda: made(
        dot(u)**2 - k).to_linearizer(), 'Linearizer', '`rhs()`')


# Helper functions

def test_thrust():
    for arguments in ((N, 1, N.x), (O, 1, 3), (O, N.x, N.x)):
        told(TypeError, lambda: thrust(*arguments), 'thrust',
             'Give a Point')


def test_loads_of_variable_mass():
    body, _ = rod()
    told(ConstrainedDynamicsError, lambda: momentum_loads([3], N),
         'Body 0', 'RigidBody or Particle')
    told(TypeError, lambda: internal_flow_loads(BODY, N, []),
         'RigidBody')
    told(TypeError, lambda: internal_flow_loads(body, O, []),
         'ReferenceFrame')
    told(ConstrainedDynamicsError, lambda: internal_flow_loads(
        body, N, [(O, 2*dot(m))]), 'rod', 'exits', 'Give all exits')
    told(KinematicsError, lambda: reactive_terms([BODY], [k], N), '`k`',
         'dynamicsymbols')
    told(ConstrainedDynamicsError, lambda: reactive_terms([3], [x], N),
         'Body 0')
