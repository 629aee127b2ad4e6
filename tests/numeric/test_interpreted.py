"""Programs evaluated operation by operation, and when they are compiled."""
import math

import numpy as np
import pytest
from sympy import (
    Abs, Heaviside, Matrix, Max, Min, Piecewise, acos, acosh, asin, asinh,
    atan, atan2, atanh, ceiling, cos, cosh, erf, erfc, exp, floor, log, sign,
    sin, sinh, sqrt, symbols, tan, tanh)

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import NotFiniteError
from sympy_constrained.graph import Graph
from sympy_constrained.models import model
from sympy_constrained.numeric import compile_equations, consistent_state
from sympy_constrained.numeric.codegen.interpreter import CALLS, Interpreted
from sympy_constrained.numeric.codegen.native import (
    SCALAR, available, machine_code)
from sympy_constrained.numeric.codegen.instructions import program

COMPILED = [pytest.param(name, marks=pytest.mark.skipif(
    name not in available(), reason=f'no backend {name!r} here'))
    for name in ('llvm', 'c')]
each_backend = pytest.mark.parametrize('backend', COMPILED)
x, y = symbols('x y')
PLACES = {'t': 0, 'x': 0}
EXPRESSIONS = [
    x + 2*y, x - y/3, x*y, 1/(x*y + 3), sqrt(x**2 + 1), -x, tan(x), exp(y),
    log(x + 3), asin(x/9), acos(y/9), atan(x), atan2(x, y), sinh(x), cosh(y),
    tanh(x), asinh(x), acosh(y + 4), atanh(x/9), Abs(x), floor(5*x) + y/7,
    ceiling(5*y)/3, erf(x), erfc(y), sign(x*y), Heaviside(x), Max(x, y, x*y),
    Min(x, 2*y), Piecewise((x, x < y), (y, True)),
    Piecewise((1, (x > 0) & ~(y > 0)), (2, (x < -1) | (y < 0)), (3, True)),
    (x**2 + 1)**(x/3), sin(x + cos(y))]


def made_of(expressions):
    graph = Graph.of({'f': Matrix(expressions)})
    return program(graph, ['f'], {x: ('x', 0), y: ('x', 1)})


def compiled(backend, made, values):
    code, _ = machine_code(backend, made, 'scalar', SCALAR, 0)
    values, out = np.array(values, float), np.empty(len(made.outputs))
    code(0., values.ctypes.data, None, None, out.ctypes.data)
    return out


@each_backend
def test_every_operation(backend):
    rng = np.random.default_rng(3)
    made = made_of(EXPRESSIONS)
    call = Interpreted(made, PLACES)
    for values in rng.uniform(-2, 2, (20, 2)):
        here = compiled(backend, made, values)
        found = call(list(values))
        assert all(type(f) is float for f in found)
        np.testing.assert_allclose(found, here, rtol=1e-15)


@pytest.mark.parametrize('name', [
    'bicycle_whole', 'andrews_squeezer', 'rolling_disc', 'heavy_top'])
@each_backend
def test_the_same_digits(name, backend):
    """Else results would depend on how often others were asked for."""
    made = model(name)
    graph = made.form(UdwadiaKalabaMethod).equations_of_motion.graph
    inputs = {item: ('x', k) for k, item in enumerate(graph.inputs)}
    code = program(graph, ['W', 'r'], inputs)
    rng = np.random.default_rng(5)
    for values in rng.uniform(0.3, 2, (5, len(inputs))):
        assert (compiled(backend, code, values)
                == Interpreted(code, PLACES)(list(values))).all()


@each_backend
def test_conditions_beside_many_values(backend):
    """More of them than there are registers."""
    cases = [Piecewise((x + k, x > y/(k + 1)), (y - k, True))
             for k in range(40)]
    made = made_of([sum((-1)**k*f**2 for k, f in enumerate(cases)), *cases])
    values, out = np.array([0.3, 0.7]), np.empty(41)
    code, _ = machine_code(backend, made, 'scalar', SCALAR)
    assert not code(0., values.ctypes.data, None, None, out.ctypes.data)
    np.testing.assert_allclose(
        out, Interpreted(made, PLACES)(list(values)), rtol=1e-12)


@pytest.mark.parametrize('expression, value', [
    (1/x, 0.), (log(x), 0.), (log(x), -1.), (sqrt(x), -1.), (exp(x), 1e4),
    (sin(x), math.inf), (x + 1, math.nan), (x*1e300, 1e300),
    (floor(x), math.inf), (x**y, -0.5), (acosh(x), 0.5)])
def test_where_there_is_no_value(expression, value):
    assert Interpreted(made_of([expression]), PLACES)([value, 0.5]) is None
    assert Interpreted(made_of([expression]), PLACES)([1.5, 0.5]) is not None


@pytest.fixture(params=COMPILED)
def linkage(request):
    made = model('four_bar')
    equations = compile_equations(
        made.form(UdwadiaKalabaMethod), made.parameters,
        backend=request.param)
    return equations, consistent_state(equations, made.start, made.fixed)


def test_it_is_compiled_after_some_calls(linkage):
    equations, state = linkage
    first = equations.matrices(0., state)
    function = equations._evaluator._functions['W', 'r']
    assert '_scalar_entry' not in vars(function)
    for _ in range(CALLS):
        last = equations.matrices(0., state)
    assert '_scalar_entry' in vars(function)
    for a, b in zip(first, last):
        assert (a == b).all()


def test_errors_come_from_machine_code(linkage):
    """Also the first time."""
    equations, state = linkage
    inverse = equations.expression(1/equations.states[0])
    with pytest.raises(NotFiniteError, match='divides by zero'):
        inverse(0., 0*state)
    assert inverse(0., 0*state + 2) == 0.5
