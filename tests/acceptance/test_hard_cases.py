"""Cases in which a derivation goes wrong without a warning, each once."""
import pytest
from mpmath import mp
from sympy import (
    DiracDelta, Integral, Matrix, Piecewise, Rational, Sum, cos, eye, pi, sin,
    sqrt, symbols)
from sympy.physics.mechanics import dynamicsymbols

from kkt import Reference
from sympy_constrained import (
    ConstraintError, GibbsAppellMethod, HamelEmbedding, LinearMappingMethod,
    MissingIngredientError, RouthMethod, UdwadiaKalabaMethod, VaccoMethod)
from sympy_constrained.errors import ConstrainedDynamicsError

m, g, k, s, a, b = symbols('m g k s a b', positive=True)
x, y, z = dynamicsymbols('x y z')
X, Y, Z = (q.diff() for q in (x, y, z))
t = dynamicsymbols._t
L2 = m*(X**2 + Y**2)/2 - m*g*y


def values_of(method, name, values):
    with mp.workdps(30):
        rows = method.closed_form.evaluate(values, (name,), mp)[name]
        return Matrix([row[0] for row in rows])


def block_solution(method, values):
    """Accelerations from the multiplier system at 30 digits."""
    with mp.workdps(30):
        out = method.equations_of_motion.graph.evaluate(values, ('W', 'r'), mp)
        z = mp.lu_solve(mp.matrix(out['W']), mp.matrix(out['r']))
        return Matrix([z[i] for i in range(len(method.u))])


def close(found, wanted):
    return (found - wanted).norm() < 1e-15*(1 + wanted.norm())


def test_singular_mass_where_a_natural_pivot_vanishes():
    """At z = pi/2 a pivot of the block matrix is zero, its determinant 1."""
    method = UdwadiaKalabaMethod(
        m*Z**2/2 - g*y - s*x, [x, y, z],
        hol_coneqs=[x*cos(z) + y*sin(z) - 1, -x*sin(z) + y*cos(z) - 2])
    with mp.workdps(30):
        values = {x: -2, y: 1, z: mp.pi/2, X: -3, Y: -6, Z: 3,
                  m: 1, g: 7, s: 5}
    assert close(values_of(method, 'acceleration', values),
                 block_solution(method, values))
    assert not method.acceleration.subs(
        {X: -3, Y: -6, Z: 3}).subs({z: pi/2, x: -2, y: 1}).has(
            symbols('nan'))


METHODS = [(RouthMethod, {}), (VaccoMethod, {}), (LinearMappingMethod, {}),
           (HamelEmbedding, {'q_dependent': [x]}), (GibbsAppellMethod, {}),
           (UdwadiaKalabaMethod, {})]


@pytest.mark.parametrize('rows', [[], [Z - X - Y], [Z - Y, 2*Z - 2*Y]])
@pytest.mark.parametrize('method, options', [METHODS[0], METHODS[-1]])
def test_a_lagrangian_that_is_not_definite(method, options, rows):
    """Natural pivots of its mass matrix vanish, its determinant does not."""
    L = X*Y + m*Z**2/2 - k*x*y - g*z
    formed = method(L, [x, y, z], nonhol_coneqs=rows, **options)
    reference = Reference.lagrange(L, [x, y, z], vel=rows)
    values = {x: 2, y: 3, z: 5, X: 7, Y: 11, Z: 13, m: 17, k: 19, g: 23}
    wanted = reference.solve(values)
    for name, numbers in (('acceleration', wanted.acceleration),
                          ('constraint_forces', wanted.forces)):
        assert close(values_of(formed, name, values), Matrix(numbers))


@pytest.mark.parametrize('method, options', METHODS)
def test_masses_that_cancel_determine_nothing(method, options):
    """With x' = y' nothing is left of their kinetic energy."""
    formed = method((X**2 - Y**2)/2 + Z**2/2, [x, y, z],
                    nonhol_coneqs=[X - Y], **options)
    with pytest.raises(MissingIngredientError):
        formed.acceleration


def test_singular_mass_that_no_fingerprint_sees():
    method = UdwadiaKalabaMethod(
        (sqrt(a)*X + sqrt(b)*Y)**2/2 + m*Z**2/2 - k*z*x, [x, y, z],
        hol_coneqs=[x - y - z])
    values = {x: 3, y: 1, z: 2, X: 1, Y: -1, Z: 2, a: 2, b: 3, m: 1, k: 5}
    assert close(values_of(method, 'acceleration', values),
                 block_solution(method, values))


@pytest.mark.parametrize('rows', [
    {'hol_coneqs': [(x - y)**2]},
    {'hol_coneqs': [x - y], 'nonhol_coneqs': [(x - y)*Y]},
    {'nonhol_coneqs': [X**2 + Y**2]}])
def test_a_row_without_gradient_where_it_holds_is_refused(rows):
    method = UdwadiaKalabaMethod(L2, [x, y], **rows)
    with pytest.raises(ConstraintError, match='no gradient|No state'):
        method.acceleration


@pytest.mark.filterwarnings('ignore')
def test_a_sample_at_a_singular_state_loses_no_row():
    method = UdwadiaKalabaMethod(
        L2 + m*Z**2/2, [x, y, z], hol_coneqs=[x, x + y*z],
        sample={x: 0, y: 0, z: 0, X: 0, Y: 0, Z: 0})
    assert method.independent_rows == [0, 1]


@pytest.mark.parametrize('potential', [
    Integral(s*sin(s), (s, 0, x)), Sum(x**s, (s, 1, 3)),
    DiracDelta(x)])
def test_what_is_not_evaluated_is_refused(potential):
    with pytest.raises(ConstrainedDynamicsError, match='doit'):
        UdwadiaKalabaMethod(L2 - potential, [x, y])


@pytest.mark.parametrize('call', [
    lambda: UdwadiaKalabaMethod(L2, [x, y], hol_coneqs=[x + Y.diff()]),
    lambda: UdwadiaKalabaMethod(L2, [x, y],
                                nonideal_forces=[-k*X.diff(), 0]),
    lambda: UdwadiaKalabaMethod(L2 + k*X.diff(), [x, y])],
    ids=['holonomic row', 'non-ideal force', 'Lagrangian'])
def test_an_acceleration_is_no_specified_input(call):
    with pytest.raises((ConstrainedDynamicsError, ConstraintError)):
        call()


def test_float_exponents_are_powers():
    method = UdwadiaKalabaMethod(m*X**2.0/2 - k*x**2.0/2, [x])
    assert method.mass_matrix[0] == m
    root = UdwadiaKalabaMethod(m*X**2.0/2 - k*x**Rational(5, 2), [x])
    for found in method, root:          # which has a slope at zero
        assert found.system.graph.evaluate({x: 0, X: 0, m: 2, k: 3}, (
            'M', 'Q')) == {'M': [[2]], 'Q': [[0]]}


def test_the_time_symbol_of_a_model_stays():
    method = UdwadiaKalabaMethod(L2, [x, y])
    before = dynamicsymbols._t
    try:
        dynamicsymbols._t = symbols('tau')
        assert method.eom.has(X.diff(t))
        assert set(method.kindiffdict()) == {X, Y}
    finally:
        dynamicsymbols._t = before


def test_gauss_function_counts_nonideal_forces():
    method = UdwadiaKalabaMethod(L2, [x, y], nonideal_forces=[-k*X, 0])
    slope = method.gauss_function.diff(X.diff())
    assert slope.subs(dict(zip(method.u.diff(t), method.acceleration))
                      ).expand() == 0


def test_gains_of_redundant_rows_are_those_of_the_first():
    rows = [x**2 + y**2 - 1, 2*(x**2 + y**2 - 1)]
    twice = UdwadiaKalabaMethod(L2, [x, y], hol_coneqs=rows,
                                stabilization=[(3, 5), (1, 2)])
    once = UdwadiaKalabaMethod(L2, [x, y], hol_coneqs=rows[:1],
                               stabilization=(3, 5))
    values = {x: Rational(11, 10), y: 0, X: 0, Y: 1, m: 1, g: 9}
    assert close(values_of(twice, 'acceleration', values),
                 values_of(once, 'acceleration', values))


def test_a_long_table_as_piecewise():
    table = Piecewise(*((k*x + i, x < i) for i in range(60)), (0, True))
    method = UdwadiaKalabaMethod(m*X**2/2 - table, [x])
    assert method.forcing.subs({x: Rational(5, 2), k: 3})[0] == -3


@pytest.mark.parametrize('factor, jumps', [(1, True), (X, False)])
def test_a_velocity_row_that_jumps(factor, jumps, recwarn):
    """Y = 1 or -1 by the direction of X jumps, Y = abs(X) does not."""
    UdwadiaKalabaMethod(L2, [x, y], nonhol_coneqs=[
        Y - factor*Piecewise((1, X > 0), (-1, True))])
    assert ['jumps where' in str(x.message) for x in recwarn] == [True]*jumps


def test_masses_of_very_different_size_are_masses():
    big = symbols('big', positive=True)
    method = UdwadiaKalabaMethod(
        m*X**2/2 + big*(X + Y)**2/2, [x, y], sample={m: 1, big: 10**9})
    assert method.acceleration == Matrix([0, 0])


def test_linearization_of_a_weighted_system():
    method = UdwadiaKalabaMethod(
        m*X**2/2 + m*Y**2 - k*x**2/2, [x, y], hol_coneqs=[x - y],
        weight=s*eye(2))
    assert s in method.equations_of_motion.constants
    rates, _, _ = method.linearize(
        q_ind=[x], q_dep=[y], qd_ind=[X], qd_dep=[Y], A_and_B=True,
        op_point={x: 0, y: 0, X: 0, Y: 0})
    slope = method.acceleration[0].diff(x)
    assert (rates[1, 0] - slope.subs({y: x})).simplify() == 0


@pytest.mark.parametrize('anchors', [(0, Rational(3, 10), Rational(7, 10)),
                                     (.1, .4, .8), (0, .1 + .2, .7)])
def test_float_dimensions_leave_a_mechanism_mobile(anchors):
    """Three equal parallel cranks: floats meet that to their digits only."""
    phi = dynamicsymbols('phi')
    first = anchors[0]
    rows = [(x + (c - first)*cos(phi) - c)**2
            + (y + (c - first)*sin(phi))**2 - 1 for c in anchors]
    method = UdwadiaKalabaMethod(L2 + phi.diff()**2/2, [x, y, phi],
                                 hol_coneqs=rows)
    assert len(method.independent_rows) == 2


@pytest.mark.parametrize('unit', [1, 10**4])
def test_the_unit_of_length_does_not_matter(unit):
    """A four-bar in Cartesian coordinates, its lengths as numbers."""
    r = dynamicsymbols('x1 y1 x2 y2')
    x1, y1, x2, y2 = r
    rows = [x1**2 + y1**2 - unit**2,
            (x2 - x1)**2 + (y2 - y1)**2 - (3*unit)**2,
            (x2 - 3*unit)**2 + y2**2 - (Rational(5, 2)*unit)**2]
    method = UdwadiaKalabaMethod(
        m*sum(q.diff()**2 for q in r)/2, list(r), hol_coneqs=rows)
    assert len(method.independent_rows) == 3


@pytest.mark.parametrize('small', [1, Rational(1, 10**15)])
def test_small_masses_are_not_drowned(small):
    """U-4 with all masses and stiffnesses times a small number."""
    method = UdwadiaKalabaMethod(
        small*(m*X**2/2 + m*(Y + Z)**2/2 - k*x**2/2 - g*z**2/2),
        [x, y, z], hol_coneqs=[x - y])
    found = method.acceleration.subs({m: 2, k: 3, g: 5, x: 7, y: 7, z: 11})
    first = Rational(5*11 - 3*7, 2)
    assert found == Matrix([first, first, -Rational(5*11, 2) - first])
