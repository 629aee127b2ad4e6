"""Derivatives of the equations, against differences with 50 digits."""
from itertools import product

import exports
import mpmath
import numpy as np
import pytest
from combinations import every_third
from mechanisms import g, l, m, x, y
from sympy import cos, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import (
    RouthMethod, UdwadiaKalabaMethod, VoronetsMethod)
from sympy_constrained.errors import UnsupportedFeatureError
from sympy_constrained.models import model
from sympy_constrained.numeric import compile_equations
from sympy_constrained.numeric.codegen.native import has_llvm

MODELS = ['cartesian_pendulum', 'four_bar', 'rolling_disc', 'closed_chain',
          'andrews_squeezer', 'massless_coordinate', 'knife_edge',
          'driven_pendulum', 'heavy_top']
BACKENDS = ['llvm']*has_llvm() + ['numpy']
WEIGHTS, DIRECTION = 0.3, 1.1           # for entries that are cosines


def ready(name, backend='auto', method=UdwadiaKalabaMethod, **size):
    return exports.ready(name, method, backend=backend, **size)[1:]


def precise_solution(compiled, values):
    """Rates of all states, then multipliers, as mpmath numbers."""
    out = compiled.equations.graph.evaluate(
        values, ('rates', 'W', 'r'), mpmath.mp)
    z = mpmath.lu_solve(mpmath.matrix(out['W']), mpmath.matrix(out['r']))
    return [row[0] for row in out['rates']] + list(z)


def precise_jacobian(compiled, t, state, by):
    """By central differences; their error is 1e-24 of the third derivative.
    """
    with mpmath.workdps(50):
        values = {compiled.equations.t: mpmath.mpf(t),
                  **dict(zip(compiled.states, map(mpmath.mpf, state))),
                  **dict(zip(compiled.constants, map(mpmath.mpf,
                                                     compiled.p)))}
        columns = []
        for item in by:
            h = mpmath.mpf(10)**-12*(1 + abs(values[item]))
            if item in compiled.constants:
                h = mpmath.mpf(10)**-12*abs(values[item])
            ends = [precise_solution(compiled, {
                **values, item: values[item] + side*h}) for side in (1, -1)]
            columns.append([float((a - b)/(2*h)) for a, b in zip(*ends)])
        return np.transpose(columns)


def vector(size, k):
    return np.cos(k*np.arange(1, size + 1))


def assert_close(found, wanted, tolerance=1e-10):
    size = np.abs(wanted).max(initial=0)
    np.testing.assert_allclose(found, wanted, rtol=tolerance,
                               atol=tolerance*max(size, 1))


@pytest.mark.parametrize('name, backend', every_third(
    list(product(MODELS, BACKENDS)), 1))
def test_derivatives_equal_those_with_50_digits(name, backend):
    """By states and constants, and their products from both sides."""
    compiled, state = ready(name, backend)
    ns, t = len(compiled.states), 0.3
    constants = [c for c, value in zip(compiled.constants, compiled.p)
                 if value]
    for by in compiled.states, constants:
        wanted = precise_jacobian(compiled, t, state, by)
        for of, rows in (('rates', slice(ns)),
                         ('accelerations', slice(ns - compiled.motion, ns)),
                         ('multipliers', slice(ns, None))):
            J = wanted[rows]
            found = compiled.jacobian(of, by)(t, state)
            assert found.shape == J.shape
            assert_close(found, J, 1e-10)
            v, w = vector(len(by), DIRECTION), vector(len(J), WEIGHTS)
            if len(J):
                terms = np.abs(J)@np.abs(v)
                np.testing.assert_allclose(
                    compiled.jvp(of, by)(t, state, v), J@v,
                    atol=1e-10*max(terms.max(), 1))
                terms = np.abs(w)@np.abs(J)
                np.testing.assert_allclose(
                    compiled.vjp(of, by)(t, state, w), w@J,
                    atol=1e-10*max(terms.max(), 1))
        assert np.abs(wanted).max() > 0


@pytest.mark.parametrize('name', ['cartesian_pendulum', 'four_bar',
                                  'rolling_disc', 'andrews_squeezer'])
def test_second_derivatives(name):
    """The Hessian of a weighted sum is symmetric, and is right."""
    compiled, state = ready(name)
    ns = len(state)
    for of in 'rates', 'multipliers':
        rows = ns if of == 'rates' else len(compiled.multiplier_names)
        w = vector(rows, WEIGHTS)
        second = compiled.hessian_vector(of)
        H = np.array([second(0.3, state, w, e) for e in np.eye(ns)])
        assert_close(H, H.T, 1e-11)
        v, h = vector(ns, DIRECTION), 1e-3
        first = compiled.vjp(of)

        def slope(h):
            return (first(0.3, state + h*v, w) - first(
                0.3, state - h*v, w))/(2*h)

        extrapolated = (64*slope(h/4) - 20*slope(h/2) + slope(h))/45
        assert_close(H@v, extrapolated, 1e-8)
        assert np.abs(H).max() > 1e-3


def test_a_closed_form():
    """A pendulum with a spring: q'' = -g/l sin(q) - k/(m l^2) q."""
    q, k = dynamicsymbols('q'), symbols('k')
    compiled = compile_equations(UdwadiaKalabaMethod(
        m*l**2*q.diff()**2/2 + m*g*l*cos(q) - k*q**2/2, [q]),
        {m: 2, g: 9.81, l: 0.5, k: 3})
    J = compiled.jacobian('accelerations', by=[q, 'k', g])(0, [0.7, 0.2])
    np.testing.assert_allclose(J, [[
        -9.81/0.5*np.cos(0.7) - 6, -1.4, -np.sin(0.7)/0.5]], rtol=1e-14)


@pytest.mark.parametrize('method', [UdwadiaKalabaMethod, RouthMethod])
def test_redundant_rows_change_nothing_along_the_constraints(method):
    """Accelerations and forces have derivatives, multipliers have none."""
    rows = [x**2 + y**2 - l**2, (3 + y)*(x**2 + y**2 - l**2)]
    L = m*(x.diff()**2 + y.diff()**2)/2 - m*g*y
    once, twice = (compile_equations(
        method(L, [x, y], hol_coneqs=some), {m: 2, g: 9.81, l: 1})
        for some in (rows[:1], rows))
    state = [0.6, -0.8, 0.8*0.5, 0.6*0.5]
    T = once.tangent_basis(0, state)
    assert T.shape == (4, 2)
    np.testing.assert_allclose(T.T@T, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(
        T@T.T, (B := twice.tangent_basis(0, state))@B.T, atol=1e-12)
    for of in 'accelerations', 'constraint_forces':
        assert_close(twice.jacobian(of)(0, state)@T,
                     once.jacobian(of)(0, state)@T, 1e-12)
        for by in [m], [g]:
            assert_close(twice.jacobian(of, by)(0, state),
                         once.jacobian(of, by)(0, state), 1e-12)
    w, v = vector(2, WEIGHTS), T@[0.3, 0.4]
    assert_close(T.T@twice.vjp('accelerations')(0, state, w),
                 T.T@once.vjp('accelerations')(0, state, w), 1e-12)
    assert_close(twice.jvp('accelerations')(0, state, v),
                 once.jvp('accelerations')(0, state, v), 1e-12)
    with pytest.raises(UnsupportedFeatureError, match='constraint_forces'):
        twice.jacobian('multipliers')(0, state)


def test_expressions_energies_and_residuals():
    compiled, state = ready('cartesian_pendulum')
    qx, qy = compiled.equations.q
    tension = compiled.equations.multipliers[0]
    length = symbols('L')
    J = compiled.jacobian([qx.diff()*qy, 2*tension*length])(0, state)
    a, b, u, v = state
    np.testing.assert_allclose(J[0], [0, u, b, 0], atol=1e-14)
    np.testing.assert_allclose(
        J[1], 2*compiled.p[compiled.constant_names.index(length)]
        * compiled.jacobian('multipliers')(0, state)[0], rtol=1e-13)
    by_length = compiled.jacobian([2*tension*length], [length])(0, state)
    assert_close(by_length, 2*(
        compiled.multipliers(0, state)
        + compiled.p[compiled.constant_names.index(length)]
        * compiled.jacobian('multipliers', [length])(0, state)[0])[None],
        1e-13)
    energy = compiled.vjp('energy')(0, state, [1.])
    assert abs(energy@compiled.rhs(0, state)) < 1e-13     # conserved
    assert np.abs(energy).max() > 1


def test_inputs_and_time():
    """A force F is an expression, a number, or called."""
    F, c = dynamicsymbols('F'), symbols('c')
    q = dynamicsymbols('q')
    cart = UdwadiaKalabaMethod(m*q.diff()**2/2, [q], nonideal_forces=[
        F - c*q.diff()])
    t = dynamicsymbols._t
    number = compile_equations(cart, {m: 2, c: 3}, {F: 5})
    np.testing.assert_allclose(
        number.jacobian('accelerations', [F, c, q.diff()])(0, [0, 4]),
        [[0.5, -2, -1.5]], rtol=1e-15)
    moving = compile_equations(cart, {m: 2, c: 3}, {F: sin(2*t)})
    np.testing.assert_allclose(
        moving.jacobian('accelerations', [t])(0.4, [0, 4]),
        [[np.cos(0.8)]], rtol=1e-15)
    gain = symbols('gain')
    fed = compile_equations(cart, {m: 2, c: 3, gain: 7}, {F: -gain*q})
    np.testing.assert_allclose(
        fed.jacobian('accelerations', [q, gain])(0, [0.2, 4]),
        [[-3.5, -0.1]], rtol=1e-15)
    called = compile_equations(cart, {m: 2, c: 3}, {F: lambda t, x: 9*x[0]})
    np.testing.assert_allclose(
        called.jacobian('accelerations', [q, F])(0, [0.2, 4]), [[0, 0.5]])


@pytest.mark.parametrize('backend', BACKENDS)
def test_residuals_have_derivatives_at_singular_states(backend):
    cross = compile_equations(UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2, [x, y], hol_coneqs=[x*y]), {m: 1},
        backend=backend)
    K = cross.jacobian('residuals')
    np.testing.assert_array_equal(K(0, [0, 0, 2, 3]), [
        [0, 0, 0, 0], [3, 2, 0, 0]])
    np.testing.assert_array_equal(
        K(0, [[0, 0, 2, 3], [1, 0, 0, 0]])[1, 0], [0, 1, 0, 0])


@pytest.mark.parametrize('backend', BACKENDS)
def test_batches(backend):
    compiled, state = ready('four_bar', backend)
    states = np.array([state, 1.01*state, 0.99*state])
    several = np.array([compiled.p, 1.1*compiled.p, 0.9*compiled.p])
    weights = vector(6, WEIGHTS)*np.arange(1, 4)[:, None]
    J, vjp = compiled.jacobian(), compiled.vjp()
    np.testing.assert_allclose(J(0, states), [J(0, x) for x in states])
    np.testing.assert_allclose(J([0, 1, 2], states, several), [
        J(0, x, p) for x, p in zip(states, several)])
    np.testing.assert_allclose(vjp(0, states, weights[0]), [
        vjp(0, x, weights[0]) for x in states])
    np.testing.assert_allclose(vjp(0, states, weights), [
        vjp(0, x, w) for x, w in zip(states, weights)])
    assert J(0, states[:0]).shape == (0, 6, 6)


def test_constants_of_a_copy_are_its_own():
    compiled, state = ready('cartesian_pendulum')
    by_g = compiled.jacobian('accelerations', symbols('g'))
    np.testing.assert_array_equal(
        by_g(0, state, {'m': 7}), by_g(0, state, p={'m': 7}))
    other = compiled.with_values({'g': 1.5})
    by_x = compiled.jacobian('accelerations')(0, state)
    np.testing.assert_allclose(
        other.jacobian('accelerations')(0, state),
        compiled.jacobian('accelerations')(0, state, other.p))
    assert np.abs(by_x - other.jacobian('accelerations')(0, state)).max() > 0.1


@pytest.mark.skipif(BACKENDS == ['numpy'], reason='no llvmlite')
@pytest.mark.parametrize('kind', ['jacobian', 'vjp', 'hessian_vector'])
def test_machine_code_and_stages_agree(kind):
    compiled, state = ready('closed_chain', n=5)
    derivative = getattr(compiled, kind)()
    given = [vector(len(state), k) for k in (WEIGHTS, DIRECTION)][
        :len(derivative.plan.extra)]
    native = derivative.native_function(x=state)
    found = native.bound(state.shape, np.concatenate(
        [compiled.p, *given]))(0., state).reshape(derivative.shape)
    for other in compiled, compile_equations(compiled, backend='numpy'):
        assert_close(found, getattr(other, kind)()(0, state, *given), 1e-10)
    disc = model('rolling_disc')        # whose unknowns cancel
    compile_equations(disc.form(VoronetsMethod), disc.parameters).vjp(
        ).native_function(x=vector(8, WEIGHTS))


@pytest.mark.skipif(BACKENDS == ['numpy'], reason='no llvmlite')
def test_codes_for_other_rows_are_independent():
    """That for all rows divides by zero, and lends no terms to another."""
    compiled, state = ready('bicycle_whole')
    wanted = compiled.jacobian('accelerations')(0, state)
    other, _ = ready('bicycle_whole')
    derivative = other.jacobian('accelerations')
    derivative.native_function()
    assert other.kept_solver(0, state, other.p).kept is not None
    np.testing.assert_allclose(derivative(0, state), wanted, atol=1e-10)


def test_errors_say_what_to_do():
    compiled, state = ready('cartesian_pendulum')
    for text, of, by in (
            ('contains k. Use', [symbols('k')*compiled.states[0]], None),
            ("'accelerations', 'multipliers'", 'forces', None),
            ('no state, constant or input', 'rates', ['z'])):
        with pytest.raises(ValueError, match=text):
            compiled.jacobian(of, by)
    with pytest.raises(ValueError, match='give 4 numbers'):
        compiled.vjp()(0, state, [1, 2])
    with pytest.raises(TypeError, match=r'\(t, x, values, p=None\)'):
        compiled.vjp()(0, state)
    with pytest.raises(UnsupportedFeatureError, match='from Python'):
        compile_equations(compiled, backend='numpy').jacobian(
            ).native_function()
    with pytest.raises(ValueError, match='not finite'):
        compiled.jacobian()(0, [np.nan, 0, 0, 0])
