"""Rank, redundancy and consistency where the constraints hold."""
import numpy as np
import pytest
from mpmath import fp, mp
from sympy import Function, Matrix, Rational, cos, sin, sqrt, symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody, System, dynamicsymbols,
    inertia)

from kkt import Reference, at, close
from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod,
    UdwadiaKalabaMethod, VoronetsMethod, constraint_report)
from sympy_constrained.analysis import consistent_points
from sympy_constrained.analysis import constraint_rank as diagnostics
from sympy_constrained.analysis.consistent_points import admissible_values
from sympy_constrained.errors import (
    ConstraintError, InconsistentConstraintsError, MissingIngredientError,
    RedundantConstraintsError, UnsupportedFeatureError)
from sympy_constrained.models import model
from sympy_constrained.numeric import simulate

t = dynamicsymbols._t
x, y, z = Q = dynamicsymbols('x y z')
X, Y, Z = (q.diff(t) for q in Q)
m, a, b, c, l1, l2 = symbols('m a b c l1 l2')
L = m*(X**2 + Y**2 + Z**2)/2


def system(hol=(), vel=(), acc=(), lagrangian=L, **options):
    return UdwadiaKalabaMethod(
        lagrangian, list(Q), hol_coneqs=list(hol), nonhol_coneqs=list(vel),
        acceleration_constraints=list(acc), **options).system


RANKS = {
    'none': ({}, 0, ()),
    'one': ({'hol': [x**2 + y**2 - a**2]}, 1, ()),
    'twice': ({'hol': [x*y - a, 2*x*y - 2*a]}, 1, (1,)),
    # independent everywhere but where the rows hold
    'on the set only': ({'hol': [x, x*(1 + y)]}, 1, (1,)),
    'with time': ({'hol': [x - sin(t), (x - sin(t))*(y + 2)]}, 1, (1,)),
    'velocity on the set': ({'vel': [X - Y, (X - Y)*(Z + 3)]}, 1, (1,)),
    'across levels': ({'hol': [x - y], 'vel': [X - Y], 'acc': [
        X.diff(t) - Y.diff(t)]}, 1, (1, 2)),
    'a sum': ({'vel': [X - Y, Y - Z, Z - X]}, 2, (2,)),
    'first rows win': ({'vel': [X - Z, 2*X - 2*Z, Y, X + Y - Z]}, 2, (1, 3)),
    'three of three': ({'hol': [x - 1, y - x**2, z + x*y]}, 3, ()),
    'small but independent': ({'hol': [x, x + y/10**5]}, 2, ()),
    'badly scaled': ({'hol': [x*10**8, y/10**8, 3*x]}, 2, (2,)),
    'two circles that touch in a plane': (
        {'hol': [x**2 + y**2 - 1, z, z*x]}, 2, (2,))}


@pytest.mark.parametrize('name', RANKS)
def test_rank_is_counted_where_the_rows_hold(name):
    """At points on the constraints; relations give the redundant rows."""
    rows, rank, redundant = RANKS[name]
    s = system(**rows)
    report = constraint_report(s)
    assert report.rank == rank == len(report.independent_rows)
    assert report.redundant_rows == redundant
    assert sorted(report.independent_rows + report.redundant_rows) == list(
        range(sum(map(len, rows.values()))))
    assert set(report.relations) == set(redundant)
    assert report.mass_is_regular
    for values in report.points:
        with mp.workdps(30):
            out = s.graph.evaluate(values, ('holonomic', 'velocity'), mp)
            for row, in (*out['holonomic'], *out['velocity']):
                assert abs(row) < mp.mpf(10)**-24
    A = s.graph.evaluate(report.points[0], ('A',))['A']
    for row, used in report.relations.items():
        assert set(used) <= set(report.independent_rows)
        for j, entry in enumerate(A[row]):
            assert entry == pytest.approx(
                sum(f*A[k][j] for k, f in used.items()), abs=1e-9)


@pytest.mark.parametrize('kinetic, definite', [(L, True), (X*Y + Z**2, False)])
def test_an_indefinite_mass_matrix_is_regular(kinetic, definite):
    report = constraint_report(system(lagrangian=kinetic))
    assert report.mass_is_regular and report.mass_is_definite is definite


# Determined

def test_a_massless_coordinate_needs_a_constraint():
    light = m*(X**2 + Y**2)/2 - c*z**2
    assert not constraint_report(system(
        hol=[z - x*y], lagrangian=light)).mass_is_regular
    with pytest.raises(
            MissingIngredientError,
            match=r'(?s)does not determine the accelerations.*\(3\)'
                  '.*neither mass nor a constraint.*remove its coordinate'):
        constraint_report(system(hol=[x - y], lagrangian=light))


# Consistency

@pytest.mark.parametrize('acc, bad, others', [
    ([X.diff(t) - 1, X.diff(t) - 2], 1, '0'),
    ([X.diff(t) - a, 2*X.diff(t) - 2*a, X.diff(t) - a - 1], 2, '0'),
    ([X.diff(t), Y.diff(t) - 1, X.diff(t) + Y.diff(t)], 2, '1')])
def test_contradicting_rows_are_named(acc, bad, others):
    with pytest.raises(
            InconsistentConstraintsError,
            match=f'(?s)acceleration-level row {bad} contradicts '
                  f'.*acceleration-level row {others}.*No motion satisfies'
                  '.*Correct or drop') as info:
        constraint_report(system(acc=acc))
    assert info.value.rows == (bad,)
    assert constraint_report(
        system(acc=acc), inconsistent='least-squares').rank == len(acc) - (
            2 if bad == 2 and others == '0' else 1)


def test_repeated_rows_with_other_gains_agree_where_they_hold():
    report = constraint_report(system(
        hol=[x*y - 1, 3*x*y - 3], stabilization=[(1, 2), (5, 7)]))
    assert report.redundant_rows == (1,)


@pytest.mark.parametrize('rows, residuals', [
    ({'hol': [x - 1, x**3 + x - 4]}, []),
    ({'hol': [x**2 + y**2 + 1]}, ['1.0 in']),
    ({'vel': [X**2 + Y**2 + 1]}, [])])
def test_rows_that_never_hold_are_an_error(rows, residuals, monkeypatch):
    """With the residuals of least squares. Floats search, not all digits."""
    contexts = []
    monkeypatch.setattr(
        consistent_points, 'residuals_at', lambda *args, search=(
            consistent_points.residuals_at): (
                contexts.append(args[-1]), search(*args))[1])
    with pytest.raises(
            ConstraintError,
            match='(?s)No state was found.*contradict.*`sample=') as info:
        constraint_report(system(**rows))
    text = str(info.value)
    assert 'residual of 0.0' not in text
    assert contexts.count(mp) < contexts.count(fp)
    assert all(part in text for part in residuals)


def test_direction_cosines_that_are_constants_are_no_rows():
    N, P = ReferenceFrame('N'), Point('P')
    B = N.orientnew('B', 'DCM', Matrix([[a, b, 0], [-b, a, 0], [0, 0, 1]]))
    P.set_vel(N, X*B.x)
    found = VoronetsMethod(N, [x], [y], [y - X], bodies=[
        RigidBody('body', P, B, m, (inertia(B, 1, 1, 1), P))])
    assert constraint_report(found).rank == 0


# Samples

def test_special_dimensions_are_given_as_a_sample():
    s = system(hol=[x - l1, x - l2])
    with pytest.raises(ConstraintError, match='sample'):
        constraint_report(s)
    report = constraint_report(s, sample={l1: 2, l2: Rational(2)})
    assert report.redundant_rows == (1,)
    for values in report.points:
        assert values[l1] == values[l2] == 2 and abs(values[x] - 2) < 1e-20


@pytest.mark.parametrize('value', [0.25, Rational(1, 4), mp.mpf(1)/4])
def test_given_constants_are_kept_and_states_are_moved(value):
    s = system(hol=[x**2 + y**2 - a**2])
    values = admissible_values(s, {a: value, x: 3.0})
    assert values[a] == mp.mpf(1)/4
    assert abs(values[x]) <= 0.25


def test_states_start_at_the_sample():
    """Of the two intersections the nearer one is found."""
    s = system(hol=[x**2 - 1, y - x])
    for start in (-2, 2):
        assert abs(admissible_values(s, {x: start})[x] - start/2) < 1e-20
    exact = admissible_values(s, {x: 1, y: 1, z: Rational(1, 3)})
    assert abs(exact[z]*3 - 1) < 1e-20          # and floats may overflow
    assert admissible_values(system(hol=[cos(x**200) - y]), {x: 50, y: 2})
    assert admissible_values(system(hol=[x - sqrt(m - 5*a)]))   # sizes differ


@pytest.mark.parametrize('row, roots', [
    (x**2 - 1, (1, -1)), (1/x - 2, (Rational(1, 2),)),
    (sqrt(x - 5) - 1, (6,))])
def test_samples_from_which_no_step_leads_on(row, roots):
    """At x = 0 there is no gradient, or no value; beside it there are."""
    found = admissible_values(system(hol=[row]), {x: 0})[x]
    assert any(abs(found - root) < 1e-20 for root in roots)


@pytest.mark.parametrize('options', [
    {'hol': [x - 1], 'lagrangian': L - a*sqrt(x - 3)},
    {'hol': [sqrt(-1 - x**2) - y]}])
def test_equations_without_real_values_where_the_rows_hold(options):
    with pytest.raises(InconsistentConstraintsError, match=(
            'None of 40 states .*has finite real values.*outside of its '
            'domain, or something is divided.*`sample=')):
        constraint_report(system(**options))


def test_a_function_without_numbers_is_named():
    Rise = type('Rise', (Function,), {
        'fdiff': lambda self, argindex: cos(*self.args)})
    with pytest.raises(MissingIngredientError, match='`Rise` has no numeric'):
        constraint_report(system(hol=[y - Rise(x)]))


def test_the_rank_at_a_special_state_may_be_another_one():
    method = UdwadiaKalabaMethod(L, list(Q), hol_coneqs=[x*y])
    assert diagnostics.rank_at(method.system, {x: 0, y: 0, m: 0.3}) == 0
    assert diagnostics.rank_at(method.system, {x: 0, y: 2}) == 1


def test_seeds_repeat_and_differ():
    first, again, other = (admissible_values(
        system(hol=[x*y - a]), seed=seed) for seed in (1, 1, 2))
    assert first == again != other and mp.dps == 15


def test_models_that_are_not_formed_are_refused():
    for thing in (System(), 5, model('four_bar')):
        with pytest.raises(UnsupportedFeatureError, match=(
                '(<Model: A|5|Sys).{0,70}Give a method of this.*from_method')):
            constraint_report(thing)


def test_squares_that_are_given_twice():
    """Gradients become small together with the squares."""
    with pytest.raises(ConstraintError, match='no gradient'):
        UdwadiaKalabaMethod(
            L, list(Q), nonhol_coneqs=[X**2 + Y**2]*2).independent_rows


def on_a_circle(**options):
    """``x^2 + y^2`` is conserved and no row says so, as of a quaternion."""
    s, u, w = dynamicsymbols('s u w')
    ground, point = ReferenceFrame('N'), Point('P')
    point.set_vel(ground, u*ground.x + w*ground.y)
    return UdwadiaKalabaMethod(
        ground, [x, y, s], [u, w],
        kd_eqs=[X + y*u, Y - x*u, s.diff() - w],
        velocity_constraints=[w - u - 1, (x**2 + y**2)*(w - u) - 1],
        bodies=[Particle('P', point, 2)], forcelist=[(point, 3*ground.x)],
        **options), {x: 1, y: 0, s: 0, u: 1, w: 2}


def test_rows_that_agree_on_an_orbit_of_the_kinematics_only():
    with pytest.raises(RedundantConstraintsError, match='from the kinematic'):
        model('heavy_top_quaternion').form(LinearMappingMethod).acceleration
    method, sample = on_a_circle(sample=on_a_circle()[1])
    with pytest.warns(UserWarning, match='no other state near .* norm is one'):
        assert list(method.independent_rows) == [0]
    motion = simulate(method, 1, list(sample.values()))
    # 4*u' = 3, for both speeds are the same but for a constant
    assert np.allclose(motion.x[-1, 3:], [1.75, 2.75], atol=1e-8)


@pytest.mark.filterwarnings('error')
def test_a_state_beside_the_sample_is_enough(monkeypatch):
    def some(system, sample, seed):
        if seed == 2:
            raise InconsistentConstraintsError('none')
        return examine(system, sample, seed)

    examine = diagnostics.examine
    monkeypatch.setattr(diagnostics, 'examine', some)
    report = constraint_report(system(hol=[x - y]), sample={x: 1, y: 1})
    assert report.rank == 1 and len(report.points) == 2


@pytest.mark.parametrize('method, options', [
    (GibbsAppellMethod, {}), (LinearMappingMethod, {}),
    (HamelEmbedding, {'q_dependent': [x]})])
@pytest.mark.filterwarnings('error')
def test_other_dependent_speeds_on_another_branch_are_told(method, options):
    """Either x or y is zero, and stays so."""
    lagrangian = x.diff()**2 + y.diff()**2 - y
    with pytest.warns(UserWarning, match='in different ways') as found:
        method(lagrangian, [x, y], hol_coneqs=[x*y], **options).closed_form
    assert {warning.filename for warning in found} == {__file__}
    formed = method(lagrangian, [x, y], hol_coneqs=[x*y],
                    sample={x: 0, y: 1}, **options)
    assert 'acceleration' in formed.closed_form.outputs


SMALL = Rational(3, 10**9)
SMALL_ROWS = [([X - z*Z, SMALL*(Y - x*Z)], [X - z*Z, Y - x*Z], {}),
              ([X - z*Z, a*(Y - x*Z)], [X - z*Z, Y - x*Z], {a: SMALL})]
WITH_PARALLEL = [*SMALL_ROWS, ([X - Y, X - Y*(1 + SMALL)], [X, Y], {})]


@pytest.mark.parametrize('method, options, rows, plain, sample', [
    (method, options, *case) for method, options, cases in (
        (GibbsAppellMethod, {}, WITH_PARALLEL),
        (VoronetsMethod, {'q_dependent': [x, y]}, WITH_PARALLEL),
        (LinearMappingMethod, {}, SMALL_ROWS),
        (UdwadiaKalabaMethod, {}, WITH_PARALLEL)) for case in cases])
def test_rows_may_be_small_or_nearly_parallel(method, options, rows, plain,
                                              sample):
    formed = method(L - x*y, list(Q), nonhol_coneqs=rows, sample=sample,
                    **options)
    values = {x: Rational(3, 10), y: Rational(1, 2), z: Rational(7, 10),
              Z: Rational(11, 10), m: 2, a: SMALL}
    values |= {v: (v - row).xreplace(values) for v, row in zip((X, Y), plain)}
    reference = Reference.lagrange(L - x*y, Q, vel=plain).solve(values)
    with mp.workdps(70):
        exact = {k: at(v, {})[0] for k, v in values.items()}
        found = formed.closed_form.evaluate(
            {**exact, formed.u[-1]: exact[Z]}, context=mp)
    assert close(found['constraint_forces'], reference.forces)


@pytest.mark.parametrize('method', [GibbsAppellMethod, UdwadiaKalabaMethod])
def test_a_row_may_have_no_gradient_at_rest(method):
    row = sqrt(X - 10) - Y
    formed = method(L - x*y, list(Q), nonhol_coneqs=[row], sample={X: 12})
    values = {x: 3, y: 5, z: 7, X: 14, Y: 2, Z: 11, m: 2}
    reference = Reference.lagrange(L - x*y, Q, vel=[row]).solve(values)
    with mp.workdps(70):
        found = formed.closed_form.evaluate(values, context=mp)
    assert close(found['constraint_forces'], reference.forces)


@pytest.mark.filterwarnings('error')
def test_dependent_speeds_that_serve_on_both_branches_are_found():
    """Not z, which comes first."""
    method = GibbsAppellMethod(L - m*x, [z, x, y], hol_coneqs=[x*y, z - x - y])
    assert method._pivots == (1, 2)
    signs = {mp.sign(abs(point[x]) - abs(point[y]))
             for point in method._report.points}
    assert len(signs) == 2              # both have been met


@pytest.mark.parametrize('far', [1e-7, 3e-9])
@pytest.mark.filterwarnings('error')
def test_floats_that_are_nearly_redundant_are_told(far):
    """Exact constants have no such doubt."""
    with pytest.warns(UserWarning, match='Taken for redundant.*floats: '
                      'velocity-level row 1, .*e-.*`Rational`'):
        assert constraint_report(system(
            vel=[X - Y, X - (1 + far)*Y])).rank == 1
    assert constraint_report(system(
        vel=[X - Y, X - (1 + Rational(far))*Y])).rank == 2
    assert constraint_report(system(vel=[X - 0.1*Y, 3*X - 3*0.1*Y])).rank == 1


def test_rounding_in_a_rotation_is_no_constraint():
    """A frame that is turned by a number beside coordinates."""
    N, B, O = ReferenceFrame('N'), ReferenceFrame('B'), Point('O')
    a, b, u, v = dynamicsymbols('a b u v')
    B.orient_body_fixed(N, (a, 0.3, b), '313')
    O.set_vel(N, 0)
    body = RigidBody('body', O, B, 1, (inertia(B, 1, 2, 3), O))
    method = UdwadiaKalabaMethod(
        N, [a, b], [u, v], [a.diff() - u, b.diff() - v], bodies=[body],
        velocity_constraints=[u - 2*v])
    assert constraint_report(method).rank == 1
