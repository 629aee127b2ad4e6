"""Inputs that are known at some times."""
import numpy as np
import pytest
from sympy.physics.mechanics import dynamicsymbols

from mechanisms import m, particle, x, y
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import MissingIngredientError, SimulationError
from sympy_constrained.numeric import (
    Table, compile_equations, simulate)

f = dynamicsymbols('f')
TIMES = np.linspace(0, 3, 41)


def driven():
    return UdwadiaKalabaMethod(m*x.diff()**2/2, [x], nonideal_forces=[f])


@pytest.mark.parametrize('kind, function', [
    ('cubic', lambda t: t**3 - 2*t), ('linear', lambda t: 3*t - 1),
    ('monotone', lambda t: 2*t + 1), ('cubic', np.sin)])
def test_functions_are_met(kind, function, rng):
    table = Table(TIMES, function(TIMES), kind)
    for _ in range(20):
        time = rng.uniform(0, 3)
        assert table(time) == pytest.approx(function(time), abs=2e-6)
    for time, value in zip(TIMES, function(TIMES)):
        assert table(time) == pytest.approx(value, abs=1e-14)


def test_the_last_value_is_held():
    table = Table([0, 1, 2], [5, 7, 9], kind='previous')
    assert [table(time) for time in (0, 0.99, 1, 1.5, 2)] == [5, 5, 7, 7, 7]


def test_derivatives_are_those_of_the_interpolant(rng):
    table = Table(TIMES, np.sin(TIMES))
    h = 1e-4
    for order in (1, 2):
        lower, slope = table.derivative(order - 1) if order > 1 else table, (
            table.derivative(order))
        for _ in range(10):
            time = rng.uniform(0.01, 2.99)
            assert slope(time) == pytest.approx(
                (lower(time + h) - lower(time - h))/(2*h), abs=1e-3*h**0.25)
    assert table.derivative(2)(1) == pytest.approx(-np.sin(1), abs=1e-2)


@pytest.mark.parametrize('kind, order', [
    ('previous', 1), ('linear', 2), ('monotone', 3), ('cubic', 4)])
def test_infinite_derivatives_are_refused(kind, order):
    with pytest.raises(ValueError, match=f'derivative {order} of a table of '
                                         f"kind '{kind}' is infinite"):
        Table(TIMES, TIMES**2, kind).derivative(order)


@pytest.mark.parametrize('arguments, text', [
    (([0, 1, 1], [1, 2, 3]), r'time 2 \(1\) is not later'),
    (([0, 1], [1, 2, 3]), r'not shapes \(2,\) and \(3,\)'),
    (([0], [1]), 'two or more times'),
    (([0, np.nan], [1, 2]), 'must be finite'),
    ((['a', 'b'], [1, 2]), 'must be numbers'),
    (([0, 1], [1, 2], 'quintic'), "`kind` of a table is 'quintic'")])
def test_tables_that_are_none(arguments, text):
    with pytest.raises(ValueError, match=text):
        Table(*arguments)


@pytest.mark.parametrize('backend', ['numpy', 'auto'])
def test_a_force_from_a_table(backend):
    """x'' = cos(t)/m, interpolated."""
    times = np.linspace(0, 3, 301)
    compiled = compile_equations(
        driven(), {m: 2}, {f: (times, np.cos(times))}, backend=backend)
    motion = simulate(compiled, 3, [0, 0], t_eval=16)
    np.testing.assert_allclose(motion[x], (1 - np.cos(motion.t))/2,
                               atol=1e-8)
    assert np.abs(motion.energy_error).max() < 1e-9
    batch = compiled.rhs(motion.t, motion.x)
    np.testing.assert_allclose(batch, motion.rates, atol=1e-13)


def test_a_table_drives_a_coordinate():
    """The acceleration is the second derivative of the spline."""
    times = np.linspace(0, 2, 201)
    motion = simulate(
        particle([x - f]), 2, [0, 0, 1, 0], constants={m: 2, 'g': 9.81},
        inputs={'f': (times.tolist(), np.sin(times).tolist())}, t_eval=21)
    np.testing.assert_allclose(motion[x], np.sin(motion.t), atol=1e-8)
    np.testing.assert_allclose(motion['lam1'], -2*np.sin(motion.t),
                               atol=1e-3)
    assert motion.largest_residual < 1e-12
    with pytest.raises(MissingIngredientError, match=(
            "derivative 2 of a table of kind 'linear' is infinite.*smoother")):
        simulate(particle([x - f]), 2, [0, 0, 1, 0],
                 constants={m: 2, 'g': 9.81},
                 inputs={f: Table(times, np.sin(times), 'linear')})


def test_a_derivative_may_have_its_own_table():
    times = np.linspace(0, 2, 201)
    slope, bend = f.diff(), f.diff().diff()
    motion = simulate(
        particle([x - f]), 2, [0, 0, 1, 0], constants={m: 2, 'g': 9.81},
        inputs={f: (times, np.sin(times)), slope: (times, np.cos(times)),
                bend: lambda t, x: -np.sin(t)})
    np.testing.assert_allclose(motion['lam1'], -2*np.sin(motion.t),
                               atol=1e-9)


def test_times_outside_are_told_beforehand():
    inputs = {f: ([0, 1, 2], [0, 1, 0])}
    for span, outside in ((3, 3), ((-1, 1), -1)):
        with pytest.raises(ValueError, match=(
                f'of the input f reaches from 0 to 2, and its value at t = '
                f'{outside} is asked for.*simulate within it')):
            simulate(driven(), span, [0, 0], constants={m: 1}, inputs=inputs)
    with pytest.raises(ValueError, match='reaches from 0 to 2'):
        Table([0, 1, 2], [0, 1, 0])(2.1)
    with pytest.raises(MissingIngredientError, match='not 3 items'):
        simulate(driven(), 1, [0, 0], constants={m: 1}, inputs={f: (1, 2, 3)})


def test_a_function_may_ask_a_table_for_too_much():
    table = Table([0, 1, 2], [0, 1, 0])
    with pytest.raises(SimulationError, match='reaches from 0 to 2') as error:
        simulate(driven(), 3, [0, 0], constants={m: 1}, max_step=0.1,
                 inputs={f: lambda t, x: table(t + x[0])})
    assert isinstance(error.value.__cause__, ValueError)
    assert len(error.value.trajectory) > 3


def test_a_table_is_not_a_state():
    with pytest.raises(MissingIngredientError, match=r"'y\(t\)' is no specif"):
        compile_equations(driven(), {m: 1}, {y: (TIMES, TIMES)})


def test_tables_tell_what_they_are():
    table = Table([0, 1, 2, 3], [0, 1, 4, 9])
    assert repr(table) == "<Table 'cubic' of 4 values from 0 to 3>"
    assert repr(table.derivative(2)).endswith('to 3, derivative 2>')
