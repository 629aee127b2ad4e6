"""Generated functions against SymPy's own numbers."""
import math

import numpy as np
import pytest
from sympy import (
    Derivative, Float, Function, Heaviside, KroneckerDelta, LambertW, Max, Min,
    Piecewise, Rational, Symbol, asin, atan2, besselj, cos, erf, exp, floor,
    log, sign, sin, sqrt, symbols, sympify)
from sympy.abc import x, y
from sympy.utilities.lambdify import implemented_function

from sympy_constrained.errors import NotFiniteError, UnsupportedFeatureError
from sympy_constrained.graph import Graph, GraphBuilder, read
from sympy_constrained.numeric.codegen.python_code import Generated


def graph(*expressions):
    builder = GraphBuilder()
    rows = [[read(builder, sympify(e))] for e in expressions]
    return Graph.freeze(builder, {'f': (rows, 1)})


def generated(*expressions, inputs=(x, y), given=None):
    arguments = {item: Symbol(f'x{i}') for i, item in enumerate(inputs)}
    return Generated(graph(*expressions), ['f'], arguments, given or {})


@pytest.mark.parametrize('expr', [
    sin(x)*cos(y) + sin(x)/y, sqrt(x)*exp(-y) + log(x), atan2(y, x),
    x**Rational(5, 3), Max(0, x - 1) + Min(x, y, 1), sign(y - 1)*abs(x),
    Piecewise((x, x < y), (y**2, x < 2*y), (0, True)), Heaviside(x - y)*x,
    besselj(0, x) + erf(y), Float('0.1')*x + Rational(1, 3)],
    ids=str)
def test_scalars_and_batches_agree_with_sympy(expr):
    function = generated(expr)
    points = np.array([(0.3, 0.7), (1.7, 0.4), (0.9, 0.9), (2.5, 1.5)])
    expected = [float(expr.subs({x: a, y: b}).evalf(20)) for a, b in points]
    one_by_one = [function.scalar(*point)['f'][0, 0] for point in points]
    np.testing.assert_allclose(one_by_one, expected, rtol=1e-14, atol=1e-15)
    batch = function.batch(4, *points.T)['f']
    assert batch.shape == (4, 1, 1)
    np.testing.assert_allclose(batch[:, 0, 0], expected, rtol=1e-14,
                               atol=1e-15)


def test_floats_keep_all_digits():
    # lambdify alone prints 15 digits of a Float
    value = generated(Float(1/3)*x).scalar(1., 0.)['f'][0, 0]
    assert value == 1/3


def test_constant_entries_are_filled_in():
    outputs = generated(3, x, Rational(1, 7), 0)
    np.testing.assert_array_equal(outputs.scalar(5., 0.)['f'][:, 0],
                                  [3, 5, 1/7, 0])
    np.testing.assert_array_equal(
        outputs.batch(2, np.array([5., 6]), 0.)['f'][:, :, 0],
        [[3, 5, 1/7, 0], [3, 6, 1/7, 0]])


@pytest.mark.parametrize('expr, at', [
    (1/x, 0.), (sqrt(x), -1.), (x**Rational(1, 3), -8.), (log(x), 0.),
    (exp(x), 1e3), (asin(x), 2.), (Piecewise((1, x > 0)), -1.),
    (LambertW(x), -.5)], ids=str)
def test_what_is_not_finite_is_an_error(expr, at):
    function = generated(expr, inputs=(x,))
    with pytest.raises(NotFiniteError, match='The outputs f are not finite'):
        function.scalar(at)
    with pytest.raises(NotFiniteError, match='f of state 1 are not') as error:
        function.batch(2, np.array([0.5, at]))
    assert error.value.outputs == ('f',) and error.value.state == 1


def test_given_inputs_are_computed_inside():
    t, p = symbols('t p')
    f = Function('f')(t)
    function = generated(f**2 + x, inputs=(t, p, x), given={f: p*sin(t)})
    assert function.scalar(0.5, 3., 1.)['f'][0, 0] == pytest.approx(
        (3*math.sin(.5))**2 + 1, rel=1e-15)


def test_functions_with_a_python_implementation():
    f = implemented_function('f', lambda v: math.exp(v))
    f0 = implemented_function('f0', lambda v: 10*v)
    function = generated(f(x) + f(2*x)*f0(y))
    expected = math.exp(.5) + math.exp(1)*10
    assert function.scalar(.5, 1.)['f'][0, 0] == pytest.approx(expected)
    batch = function.batch(2, np.array([.5, .5]), 1.)['f']
    np.testing.assert_allclose(batch[:, 0, 0], expected)


def test_errors_of_such_a_function_come_through():
    def broken(value):
        raise RuntimeError('no table entry')

    with pytest.raises(RuntimeError, match='no table entry'):
        generated(implemented_function('f', broken)(x)).scalar(1., 1.)


def test_their_divisions_by_zero_are_no_infinite_values():
    """What the user's function raises is not taken for a value."""
    inverse = generated(implemented_function('f', lambda v: 1/float(v))(x))
    assert inverse.scalar(4., 0.)['f'][0, 0] == 0.25
    np.testing.assert_array_equal(
        inverse.batch(2, np.array([4., 2.]), 0.)['f'][:, 0, 0], [0.25, 0.5])
    with pytest.raises(ZeroDivisionError):
        inverse.scalar(0., 0.)
    with pytest.raises(ZeroDivisionError):
        inverse.batch(2, np.array([4., 0.]), 0.)


def test_their_derivatives_have_no_number():
    f = implemented_function('force', math.exp)
    assert generated(f(x)*y).scalar(0., 3.)['f'][0, 0] == 3
    with pytest.raises(UnsupportedFeatureError, match=(
            'contain derivatives of force, which have no numeric.*`fdiff`')):
        generated(f(x) + Derivative(f(x), x)).scalar(1., 1.)


def test_expressions_share_their_parts():
    from sympy import Matrix
    matrix = Matrix([[sin(x)**2, sin(x)], [y, 3]])
    function = Generated(Graph.of({'f': matrix}), ['f'],
                         {x: Symbol('x0'), y: Symbol('x1')}, {})
    np.testing.assert_allclose(function.scalar(.5, 2.)['f'],
                               [[math.sin(.5)**2, math.sin(.5)], [2, 3]])


@pytest.mark.parametrize('expr, values', [
    (LambertW(x), [0.5, 1.5]), (KroneckerDelta(floor(x), 1), [1.5, 2.5])])
def test_batches_of_functions_that_numpy_does_not_have(expr, values):
    function = generated(expr, y)
    wanted = [float(expr.subs(x, value)) for value in values]
    found = function.batch(2, np.array(values), 0.)['f'][:, 0, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    for value, one in zip(values, wanted):
        assert function.scalar(value, 0.)['f'][0, 0] == pytest.approx(
            one, rel=1e-14)
