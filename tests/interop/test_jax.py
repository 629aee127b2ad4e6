"""Export of the equations to JAX."""
import numpy as np
import pytest
from sympy import Matrix, symbols
from sympy.abc import x, y
from sympy.physics.mechanics import dynamicsymbols

import exports
from exports import close, ready
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import MissingIngredientError
from sympy_constrained.graph import Graph
from sympy_constrained.interop import to_jax
from sympy_constrained.interop.jax import functions
from sympy_constrained.numeric import compile_equations
from sympy_constrained.numeric.codegen.instructions import program
from sympy_constrained.numeric.codegen.walk import walk

jax = pytest.importorskip('jax')


@pytest.fixture(autouse=True)
def double_precision():
    """As a user would set it; and back, for the other tests."""
    before = jax.config.jax_enable_x64
    jax.config.update('jax_enable_x64', True)
    yield
    jax.config.update('jax_enable_x64', before)


@pytest.mark.parametrize('name', [
    pytest.param(name, marks=[] if name in exports.QUICK[2:] else [
        pytest.mark.slow]) for name in exports.SMALL])
def test_rates_are_the_compiled_ones(name):
    _, compiled, start = ready(name)
    f = to_jax(compiled, 'rhs', .3, start)
    found = f(.3, start)
    assert found.dtype == np.float64
    close(found, compiled.rhs(.3, start))
    close(f(.3, start, compiled.p), compiled.rhs(.3, start))


@pytest.mark.parametrize('name', exports.QUICK[2:4])
def test_slope_is_that_of_differences(name):
    _, compiled, start = ready(name)
    f = to_jax(compiled, 'rhs', .3, start)
    wanted = exports.jacobian(
        compiled, .3, start, exports.independent(compiled, .3, start))
    close(jax.jit(jax.jacfwd(f, 1))(.3, start), wanted)
    if name == 'knife_edge':
        close(jax.jit(jax.jacrev(f, 1))(.3, start), wanted)


def test_batches_by_states_and_by_constants():
    _, compiled, start = ready('rolling_disc')
    f = to_jax(compiled, 'rhs', 0, start)
    states = start + .01*np.arange(3)[:, None]
    many = p = compiled.p*(1 + .01*np.arange(3)[:, None])
    close(jax.vmap(f, (None, 0))(0., states), compiled.rhs(0, states))
    close(jax.vmap(f, (None, 0, 0))(0., states, many),
          compiled.rhs(0, states, p))


def test_gradient_by_a_constant():
    """Of the acceleration ``-k*q/m`` of a spring."""
    m, k = symbols('m k')
    q = dynamicsymbols('q')
    spring = compile_equations(UdwadiaKalabaMethod(
        m*q.diff()**2/2 - k*q**2/2, [q]), {m: 2., k: 3.})
    f = to_jax(spring)
    slope = jax.grad(lambda p: f(0., np.array([.5, 0.]), p)[1])(spring.p)
    close(slope, [{m: 3*.5/4, k: -.25}[c] for c in spring.constants])


@pytest.mark.parametrize('name', ['slider_crank', 'parallel_cranks'])
def test_residual_and_multipliers(name):
    _, compiled, start = ready(name)
    lam = to_jax(compiled, 'multipliers', .3, start)(.3, start)
    f = to_jax(compiled, 'residual', .3, start)
    rates = compiled.rhs(.3, start)
    used = [i - compiled.motion for i in exports.independent(
        compiled, .3, start)[compiled.motion:]]
    z = np.concatenate([rates[-compiled.motion:], np.array(lam)[used]])
    ode, alg, rows = f(.3, start, z)
    close(ode, rates)
    close(alg, 0*z, 1e-10)
    close(rows, compiled.residuals(.3, start))


def test_outputs_of_the_graph():
    method, compiled, start = ready('four_bar')
    for name in ('energy', 'A', 'velocity'):
        f = to_jax(method, name)
        close(f(0., start, compiled.p),
              compiled.evaluate([name], 0, start)[name])


def test_what_is_missing_is_named():
    force = dynamicsymbols('force')
    q = dynamicsymbols('q')
    method = UdwadiaKalabaMethod(
        q.diff()**2*symbols('m')/2, [q], generalized_forces=[force])
    f = to_jax(method)
    with pytest.raises(MissingIngredientError, match='`p` \\(m\\)'):
        f(0., np.zeros(2))
    with pytest.raises(MissingIngredientError, match='`r` \\(force'):
        f(0., np.zeros(2), np.ones(1))
    with pytest.raises(ValueError, match='`x` has shape'):
        f(0., np.zeros((3, 2)), np.ones(1), np.ones(1))
    close(f(0., np.zeros(2), np.full(1, 2.), np.ones(1)), [0, .5])


def test_thirty_two_bits_are_refused():
    _, compiled, start = ready('knife_edge')
    jax.config.update('jax_enable_x64', False)
    with pytest.raises(MissingIngredientError, match='jax_enable_x64'):
        to_jax(compiled, 'rhs', 0, start)


def test_every_operation_has_its_value():
    table = functions(jax.numpy, jax.scipy.special)
    graph = Graph.of({'f': Matrix(exports.FUNCTIONS)})
    code = program(graph, ('f',), {x: ('x', 0), y: ('x', 1)})

    @jax.jit
    def f(point):
        values = walk(code.operations, table, {'x': point})
        return jax.numpy.stack([
            jax.numpy.asarray(values[i], dtype=float) for i in code.outputs])

    for point in exports.POINTS:
        wanted = graph.evaluate(dict(zip((x, y), map(float, point))), ['f'])
        close(f(point), np.array(wanted['f'], dtype=float)[:, 0], 1e-13)
