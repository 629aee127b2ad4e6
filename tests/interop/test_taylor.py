"""Taylor's method gives the motion of the other methods."""
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sympy import Abs, Heaviside, Piecewise, cos, symbols
from sympy.physics.mechanics import dynamicsymbols

import exports
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import (SimulationError, UnsupportedFeatureError)
from sympy_constrained.numeric import (Reason, compile_equations, simulate)
from sympy_constrained.numeric.integrate.taylor import Taylor

pytest.importorskip('heyoka')

m, k, c = symbols('m k c')
t = dynamicsymbols._t
x, y = dynamicsymbols('x y')
force = dynamicsymbols('F')
TIGHT = {'rtol': 1e-10, 'atol': 1e-10, 't_eval': 51}


def ready(name, **options):
    return exports.ready(name, **options)[1:]


def oscillator(load=0, inputs=None, **options):
    return compile_equations(UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - k*(x - y)**2/2, [x, y],
        generalized_forces=[load, 0], **options), {m: 1, k: 30, c: .3}
        if options else {m: 1, k: 30}, inputs)


def both(compiled, end, start, **options):
    """The motions by Taylor's method and by DOP853."""
    return (simulate(compiled, end, start, method=method, **options)
            for method in ('taylor', 'DOP853'))


@pytest.mark.parametrize(('name', 'size', 'end'), [
    ('cartesian_pendulum', {}, 10), ('four_bar', {}, 2),
    ('rolling_disc', {}, 10), ('closed_chain', {'n': 4}, 2),
    pytest.param('closed_chain', {'n': 8}, 1, marks=pytest.mark.slow),
    ('duplicated_rows', {}, 2), ('heavy_top_quaternion', {}, 2),
    ('damped_double_pendulum', {}, 2), ('driven_pendulum', {}, -2)])
def test_the_motion_is_that_of_dop853(name, size, end, single):
    compiled, start = ready(name, **size)
    found, wanted = both(compiled, end, start, **TIGHT)
    assert not single
    np.testing.assert_allclose(found.x, wanted.x, rtol=0, atol=3e-8*(
        1 + np.abs(wanted.x).max()))
    assert found.largest_residual < 1e-12
    if wanted.energy_error is not None:
        assert np.abs(found.energy_error).max() < 1e-8*(
            1 + np.abs(wanted.energy).max())


def test_work_is_integrated():
    compiled = oscillator(nonideal_forces=[-c*x.diff(), 0])
    found, wanted = both(compiled, 3, [1, 0, 0, 2], **TIGHT)
    np.testing.assert_allclose(found.work, wanted.work, atol=1e-8)
    assert found.work[-1] < -0.1


def test_code_is_made_once_for_all_constants(monkeypatch):
    compiled, start = ready('rolling_disc')
    simulate(compiled, 1, start, method='taylor')
    monkeypatch.setattr(
        'sympy_constrained.numeric.integrate.taylor.library', None)
    found, wanted = both(compiled, 1, start, constants={'g': 3.}, **TIGHT)
    np.testing.assert_allclose(found.x, wanted.x, atol=1e-8)


def test_many_steps_are_projected_in_blocks(single):
    """Also where the tolerance lets a block drift."""
    for rtol in (1e-3, 1e-6):
        compiled, start = ready('four_bar')
        motion = simulate(compiled, 20, start, method='taylor', rtol=rtol,
                          atol=rtol)
        assert motion.statistics['steps'] > 1024 and not single
        assert motion.largest_residual < 1e-12


def test_steps_dense_output_events_and_jumps():
    compiled, start = ready('four_bar')
    found, wanted = both(compiled, .5, start, dense=True, rtol=1e-10)
    times = np.linspace(0, .5, 33)
    np.testing.assert_allclose(found.at(times), wanted.at(times), atol=1e-7)

    def lowest(t, x):
        return np.sin(x[0])

    lowest.terminal = True
    found, wanted = both(compiled, 5, start, events=lowest)
    assert found.reason is Reason.EVENT
    assert found.t[-1] == pytest.approx(wanted.t[-1], abs=1e-7)

    def wall(t, x):
        return x[0] + .5

    wall.jump = lambda t, x: x*[1, 1, -1, 1]
    found, wanted = both(oscillator(), 3, [1, 0, 0, 2], events=wall, **TIGHT)
    np.testing.assert_allclose(found.x, wanted.x, atol=1e-7)


def test_singular_configurations_are_passed():
    compiled, start = ready('n_four_bar', n=1)
    found, wanted = both(compiled, 10, start, rtol=1e-10)
    assert len(found.passages) == len(wanted.passages) > 5
    np.testing.assert_allclose(found.passages, wanted.passages, atol=1e-6)


@pytest.mark.parametrize('options', [
    {'stabilization': None}, {'stabilization': (3., 3.)}, {'max_step': .01},
    {'stabilization': 'baumgarte'}])
def test_options_of_other_methods(options):
    compiled, start = ready('four_bar')
    found, wanted = both(compiled, 1, start, **options, **TIGHT)
    np.testing.assert_allclose(found.x, wanted.x, atol=1e-6)
    if 'max_step' in options:
        assert found.statistics['steps'] >= 100


def test_steps_without_machine_code():
    compiled, start = ready('rolling_disc', backend='numpy')
    found, wanted = both(compiled, .5, start, **TIGHT)
    np.testing.assert_allclose(found.x, wanted.x, atol=1e-8)


def test_inputs_are_expressions():
    compiled = oscillator(force, {force: cos(3*t)*x})
    found, wanted = both(compiled, 2, [1, 0, 0, 0], **TIGHT)
    np.testing.assert_allclose(found.x, wanted.x, atol=1e-8)


@pytest.mark.parametrize(('value', 'text'), [
    (([0, 9], [1, 1]), 'not tables'), (lambda t, x: 1., 'not tables'),
    (Abs(x), 'fabs'), (Piecewise((1, t < 1), (2, True)), 'select'),
    (Heaviside(t - 1), 'select')])
def test_rates_without_a_series_are_refused(value, text):
    compiled = oscillator(force, {force: value})
    with pytest.raises(UnsupportedFeatureError, match=text):
        simulate(compiled, 2, [1, 0, 0, 0], method='taylor')


def test_a_pivot_may_not_vanish(monkeypatch):
    """Without the checks of machine code, rates are compared."""
    compiled, start = ready('rolling_disc', backend='numpy')
    rates = Taylor.integrator

    def wrong(solver):
        taylor = rates(solver)
        taylor.pars[:] *= 1.01
        return taylor

    monkeypatch.setattr(Taylor, 'integrator', wrong)
    with pytest.raises(SimulationError, match='pivot almost vanishes'):
        simulate(compiled, .5, start, method='taylor')


def test_a_motion_that_grows_without_bound_ends():
    method = UdwadiaKalabaMethod(
        m*x.diff()**2/2, [x], generalized_forces=[6*m*x**2])
    motion = simulate(compile_equations(method, {m: 1}), 2, [1, 2],
                      method='taylor', throw=False)
    assert motion.reason is Reason.STEP_SIZE
    assert motion.t[-1] == pytest.approx(1, abs=1e-6)       # (1 - t)**-2


def test_braun_goldfarb_is_refused():
    compiled, start = ready('cartesian_pendulum')
    with pytest.raises(ValueError, match='`method` .taylor.'):
        simulate(compiled, 1, start, method='taylor',
                 stabilization='braun-goldfarb')


def test_threads_have_their_own_integrators():
    compiled, start = ready('four_bar')

    def last(g):
        return simulate(compiled, .5, start, method='taylor', t_eval=2,
                        constants={'g': g}).x[-1]

    values = np.linspace(1, 10, 16)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(last, values))
    np.testing.assert_array_equal(found, list(map(last, values)))
