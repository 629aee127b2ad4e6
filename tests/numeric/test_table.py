"""Inputs that are known at some times."""
from importlib.util import find_spec
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from sympy import sqrt
from sympy.physics.mechanics import dynamicsymbols

from combinations import every_third, rotating
from mechanisms import m, particle, x, y
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import MissingIngredientError, SimulationError
from sympy_constrained.numeric import Table, compile_equations, simulate
from sympy_constrained.numeric.integrate.arguments import MULTI_STEP, ONE_STEP

f, h = dynamicsymbols('f h')
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
    np.testing.assert_allclose(motion[x], (1 - np.cos(motion.t))/2, atol=1e-8)
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
    np.testing.assert_allclose(motion['lam1'], -2*np.sin(motion.t), atol=1e-3)
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
    np.testing.assert_allclose(motion['lam1'], -2*np.sin(motion.t), atol=1e-9)


def test_times_outside_are_told_beforehand():
    inputs = {f: ([0, 1, 2], [0, 1, 0])}
    for span, outside in ((3, 3), ((-1, 1), -1)):
        with pytest.raises(ValueError, match=(
                f'of the input f reaches from 0 to 2, but its value at t = '
                f'{outside} is needed.*simulate within it')):
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


# -- steps end where tables change their course ----------------------------

PULSES = {
    'linear': (np.linspace(0, 10, 101), 0.63137515),
    'previous': ([0, 5, 5.01, 10], 0.01),
    'cubic': (np.linspace(0, 10, 101), 0.63137515),
    'monotone': (np.linspace(0, 10, 101), 0.63137515)}
# Residuals take long for all but one pulse.
METHODS = [*every_third(list(product((*ONE_STEP, *MULTI_STEP), PULSES))), *(
    pytest.param('IDA', kind, marks=[pytest.mark.skipif(
        find_spec('sksundae') is None, reason='needs scikit-sundae'),
        *([] if kind == 'previous' else [pytest.mark.slow])])
    for kind in PULSES)]


def pulse(kind):
    """A force that acts for a short time, and its impulse."""
    times, impulse = PULSES[kind]
    if kind == 'previous':
        return Table(times, [0, 1, 0, 0], kind), impulse
    here = (times >= 5) & (times <= 6)
    return Table(times, np.where(here, np.sin(np.pi*(times - 5)), 0),
                 kind), impulse


@pytest.mark.parametrize('method, kind', METHODS)
def test_no_step_passes_over_a_pulse(method, kind):
    table, impulse = pulse(kind)
    motion = simulate(driven(), 10, [0, 0], constants={m: 1}, t_eval=5,
                      inputs={f: table}, method=method)
    assert motion.t[-1] == 10
    assert motion.x[-1, 1] == pytest.approx(impulse, rel=5e-3)
    assert np.abs(motion.energy_error).max() < 5e-3*impulse
    back = simulate(driven(), (10, 0), motion.x[-1], constants={m: 1},
                    inputs={f: table}, method=method)
    assert back.t[-1] == 0
    np.testing.assert_allclose(back.x[-1], [0, 0], atol=0.05)


@pytest.mark.parametrize('gap', [1e-3, 1e-9, 1e-15])
def test_a_jump_may_be_two_close_times(gap):
    jumps = Table([0, 1, 1 + gap, 2, 2 + gap, 10], [0, 0, 1, 1, 0, 0],
                  'linear')
    motion = simulate(driven(), 10, [0, 0], constants={m: 1},
                      inputs={f: jumps})
    np.testing.assert_allclose(motion.x[-1], [8.5 - gap/2, 1], rtol=1e-12)
    assert motion.statistics['steps'] < 40


def test_tables_that_are_smooth_are_passed_in_long_steps():
    """Polynomials up to degree five are one piece to an integrator."""
    times = np.linspace(0, 10, 10001)
    for values, kind in ((np.sin(times), 'cubic'), (times, 'linear'),
                         (np.ones(10001), 'previous')):
        motion = simulate(driven(), 10, [0, 0], constants={m: 1},
                          inputs={f: Table(times, values, kind)})
        assert motion.statistics['steps'] < 100


@pytest.mark.parametrize('t, end, stop', [
    (0, 6, 2), (0.5, 1.5, 1.5), (2, 6, 3), (2.5, 6, 3), (3, 6, 5),
    (5, 5.5, 5.5), (3, 4, 4), (6, 0, 5), (5, 0, 3), (2.5, 0, 2), (2, 0, 0),
    (4.5, 4, 4)])
def test_the_course_of_a_table(t, end, stop):
    table = Table(range(7), [0, 0, 0, 1, 1, 1, 0], 'linear')
    assert table.course(t, end, 1e-8) == stop


def test_several_tables_and_a_small_pulse():
    """Each counts by itself, a small pulse beside large values, too."""
    times = np.linspace(0, 10, 101)
    small = np.where(times.round(1) == 7., 1e-3, 0.)
    method = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2, [x, y], nonideal_forces=[f, h])
    motion = simulate(
        method, 10, [0, 0, 0, 0], constants={m: 1}, inputs={
            f: Table(times, small, 'linear'),
            h: Table([0, 1, 1.1, 10], [1e6, 0, 0, 0], 'linear')})
    np.testing.assert_allclose(motion.x[-1, 2:], [1e-4, 5e5], rtol=1e-9)


TENTHS = np.insert(np.cumsum([.1]*12), 0, 0.)       # with their roundings


@pytest.mark.parametrize('method', ONE_STEP)
def test_a_motion_just_before_a_jump(method):
    """A force of 1, -5 and 9 for a second each, between outputs."""
    inputs = {f: Table([0, 1, 2, 3], [1, -5, 9, 0], 'previous')}
    times = np.linspace(0, 3, 301)

    def exact(t):
        first, second = np.clip(t - 1, 0, None), np.clip(t - 2, 0, None)
        return t**2/2 - 3*first**2 + 7*second**2

    def run(**options):
        return simulate(driven(), 3, [0, 0], constants={m: 1}, inputs=inputs,
                        method=method, rtol=1e-8, **options)

    np.testing.assert_allclose(run(t_eval=times)[x], exact(times), atol=1e-7)
    np.testing.assert_allclose(run(dense=True).at(times)[:, 0], exact(times),
                               atol=1e-7)
    found = run(events=lambda t, state: state[0] - 0.3).events[0]
    assert exact(found.t) == pytest.approx(0.3, abs=1e-7)


@rotating('case, method', [
    (Table(TENTHS[:11], np.cos(37*np.arange(11)), 'linear'), (0, 1)),
    (Table([.1 + .2 + 1e-15, 1, 2], [1, -1, 5], 'linear'), (.3, 2)),
    (Table(TENTHS, np.arange(13), 'previous'), (0, .8)),
    (Table([0, 1, 1 + 6*2.3e-16, 2], [0, 0, 5, 5], 'linear'), (0, 2)),
    (Table([-1, 0, 1], [1, -1, 5], 'previous'), (-1, 1)),
    (Table([0, 1, 2], [1, 2, 1], 'linear'), (1e-15, 1 + 1e-15)),
    (Table([1e6, 1e6 + 0.5, 1e6 + 1], [0, 1, 1], 'linear'),
     (1e6, 1e6 + 1))], [*ONE_STEP, *MULTI_STEP])
def test_times_may_be_a_few_roundings_apart(case, method):
    table, span = case
    for t_span in (span, span[::-1]):
        motion = simulate(driven(), t_span, [0, 0], constants={m: 1},
                          inputs={f: table}, method=method)
        assert motion.success and motion.t[-1] == t_span[1]
        if span[1] - span[0] > 0.1:
            size = np.abs(motion.x[:, 1]).max()
            wanted = quad(table, *t_span, points=[t for t in table.times if (
                span[0] < t < span[1])], limit=100)[0]
            assert motion.x[-1, 1] == pytest.approx(wanted, abs=1e-5*size)


def test_a_jump_at_zero_is_outside_of_the_steps():
    times, values = np.array([-1, 0, 1]), [1, -1, 5]
    steps = [simulate(driven(), (-1 + t, 1 + t), [0, 0], constants={m: 1},
                      inputs={f: Table(times + t, values, 'previous')}
                      ).statistics['steps'] for t in (0, 1)]
    assert steps[0] == steps[1]


@pytest.mark.parametrize('method', [*ONE_STEP, *MULTI_STEP])
@pytest.mark.parametrize('table, end', [
    (Table([0, 1, 2], [2, 0, -1], 'linear'), 1),
    (Table([0, 1, 2, 3], [1, 1, -1, -1], 'previous'), 2)])
def test_a_table_may_leave_the_domain_of_a_function(method, table, end):
    """The run ends there, and what is before is kept."""
    root = UdwadiaKalabaMethod(m*x.diff()**2/2, [x], nonideal_forces=[sqrt(f)])
    with pytest.raises(SimulationError) as error:
        simulate(root, table.times[-1], [0, 0], constants={m: 1},
                 inputs={f: table}, method=method)
    motion = error.value.trajectory
    assert motion.t[-1] == pytest.approx(end, abs=1e-3)
    assert motion.t[-1] <= end + 1e-12
