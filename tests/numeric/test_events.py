"""Events that are short, near a singularity, or go wrong."""
import os
import signal
import threading
from warnings import catch_warnings, simplefilter

import numpy as np
import pytest
from sympy import cos, pi, sin
from sympy.physics.mechanics import dynamicsymbols
from sympy.utilities.lambdify import implemented_function

from mechanisms import g, m, particle, t, x, y
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import ConstraintError, SimulationError
from sympy_constrained.numeric import (
    Crossing, Reason, Trajectory, compile_equations, simulate, singular_event)
from sympy_constrained.numeric.codegen.native import has_llvm

f = dynamicsymbols('f')


def driven(force, end=3, **options):
    method = UdwadiaKalabaMethod(m*x.diff()**2/2, [x], nonideal_forces=[f])
    return simulate(method, end, [0, 0], constants={m: 1},
                    inputs={f: force}, **options)


def free_run(end=10, **options):
    return simulate(compile_equations(particle(), {m: 1, 'g': 0}), end,
                    [0, 0, 1, 0], **options)


# -- events at one time ----------------------------------------------------

def test_kicks_at_one_time_act_once_each():
    """Whichever rounding finds first; other events are recorded once."""
    kick = Crossing(cos(pi*t), {x.diff(): x.diff() + 1})
    motion = driven(0, 1, events=[
        kick, Crossing(sin(2*pi*t)), Crossing(t - .5, {x.diff(): 3})])
    assert [event.index for event in motion.events] in (
        [0, 1, 2], [0, 2, 1], [1, 0, 2])
    np.testing.assert_allclose(motion.x[-1], [1.5, 3], rtol=1e-9)


# -- short events ----------------------------------------------------------

@pytest.mark.parametrize('method', ['DOP853', 'Radau', 'Rodas5P', 'LSODA'])
@pytest.mark.parametrize('end', [5, -5])
def test_a_function_that_changes_sign_twice_in_a_step(method, end):
    """A free particle takes long steps; x is in a gap for a short time."""
    motion = free_run(
        end, method=method, stabilization=None, max_step=2.,
        events=lambda t, x: (x[0] - 1.3*np.sign(end))**2 - 0.15**2)
    assert np.diff(motion.t).max() > 0.5 or end < 0
    np.testing.assert_allclose(
        [event.t for event in motion.events],
        np.sign(end)*np.array([1.15, 1.45]), atol=1e-9)


def test_an_eighth_of_a_step_is_seen():
    gaps = [lambda t, x, centre=centre: abs(t - centre) - 0.0626
            for centre in np.linspace(3.1, 3.9, 17)]
    motion = free_run(events=gaps, max_step=1.)
    assert np.diff(motion.t).max() == pytest.approx(1)
    assert sorted(event.index for event in motion.events) == sorted(
        2*list(range(17)))


@pytest.mark.parametrize('end', [3, -3])
@pytest.mark.parametrize('function, phase', [
    (lambda x: x**3, np.pi/2), (lambda x: x**9, np.pi/2),
    (lambda x: max(x, 0.), np.pi/2), (lambda x: max(x - .5, 0)*1e-9, np.pi/3),
    (lambda x: max(x, 0.) + min(x + .5, 0.), np.pi/2)])
def test_flat_functions_and_such_as_stay_zero(function, phase, end):
    oscillator = UdwadiaKalabaMethod(m*x.diff()**2/2 - m*x**2/2, [x])
    motion = simulate(oscillator, end, [1, 0], constants={m: 1}, rtol=1e-11,
                      atol=1e-12, events=lambda t, x: function(x[0]))
    first = motion.events[0]
    assert first.t == pytest.approx(np.sign(end)*phase, abs=1e-7)


def test_only_the_wanted_direction_counts_within_a_step():
    def gap(t, x):
        return (t - 3.5)**2 - 0.04

    gap.direction, gap.terminal = 1, True
    motion = free_run(events=gap, max_step=2.)
    assert motion.t[-1] == pytest.approx(3.7)
    assert motion.reason is Reason.EVENT and len(motion.events) == 1


def test_events_of_several_functions_are_in_order():
    functions = [lambda t, x, at=at: t - at for at in (4.3, 4.1, 4.2)]
    for order in [1, 2, 0], [1, 2]:
        motion = free_run(events=functions)
        assert [event.index for event in motion.events] == order
        functions[2].terminal = True


# -- singular configurations -----------------------------------------------

def test_a_singular_configuration_is_announced():
    """On x*y = 0 two lines cross at the origin."""
    cross = compile_equations(UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2, [x, y], hol_coneqs=[(x - g)*y]),
        {m: 1, g: 0})
    start = [1, 0, -1, 0]
    far, near = (simulate(cross, 2, start, events=singular_event(cross, size))
                 for size in (0.1, 1e-3))
    assert far.reason is near.reason is Reason.EVENT
    assert 0.8 < far.t[-1] < near.t[-1] < 1
    assert near.condition[-1] == pytest.approx(1e-3, rel=1e-3)
    with pytest.raises(ConstraintError, match='nearer to a singular'):
        simulate(cross, 1, [0.01, 0, 1, 0], events=singular_event(cross, 0.5))
    event = singular_event(cross, 0.01)
    assert event(0., np.array(start)) > 0 and event(0., np.zeros(4)) == -1
    later = simulate(cross.with_values({g: -1}), 3, start, events=event)
    assert 1.8 < later.t[-1] < 2
    with pytest.raises(ValueError, match='`threshold` is 0;'):
        singular_event(cross, 0)


@pytest.mark.parametrize('end', [1e-15, 1e-100, 1e15])
def test_events_at_any_scale_of_time(end):
    free = UdwadiaKalabaMethod(m*x.diff()**2/2, [x])
    motion = simulate(free, end, [0, 1/end], constants={m: 1},
                      events=lambda t, X: X[0] - 0.3)
    event, = motion.events
    assert event.t == pytest.approx(0.3*end, rel=1e-12)


# -- functions that fail ---------------------------------------------------

@pytest.mark.parametrize('method, error', [
    ('DOP853', RuntimeError), ('Radau', ValueError), ('Radau', KeyError),
    ('BDF', ValueError), ('LSODA', ZeroDivisionError)])
def test_an_error_of_an_input_loses_nothing(method, error):
    mine = error('the sensor is gone')

    def force(t, x):
        if t > 1:
            raise mine
        return np.sin(t)

    with pytest.raises(SimulationError, match=(
            rf'stopped at t = 0\.\d+: {error.__name__}.*the sensor is gone.*'
            '`error.trajectory`')) as found:
        driven(force, method=method, stabilization=None)
    assert found.value.__cause__ is mine
    assert found.value.reason is Reason.ERROR
    motion = found.value.trajectory
    np.testing.assert_allclose(motion[x], motion.t - np.sin(motion.t),
                               atol=1e-5)
    quiet = driven(force, method=method, stabilization=None, throw=False)
    assert quiet.reason is Reason.ERROR and 'sensor' in quiet.message


def test_an_error_of_an_event_loses_nothing():
    with pytest.raises(SimulationError, match='IndexError') as found:
        driven(lambda t, x: t, t_eval=[0, 0.5, 2.5],
               events=lambda t, x: 1 if t < 1 else [][0])
    assert isinstance(found.value.__cause__, IndexError)
    assert found.value.trajectory.t[:1] == 0
    assert found.value.trajectory.t[-1] <= 1


def broken(t, x):
    raise RuntimeError('no sensor')


def late(t, x):
    """Fails at the first state that is not the start."""
    return 1. if not np.any(x) else broken(t, x)


def guided(force=np.sin, span=1, backend='auto', **options):
    """A point on a parabola, with a force and a constraint that needs it."""
    method = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2, [x, y], hol_coneqs=[y - x**2],
        generalized_forces=[f, 0])
    return simulate(compile_equations(method, {m: 1}, {f: force}, backend),
                    span, [0]*4, **options)


@pytest.mark.parametrize('functions, options', [
    ({'force': broken}, {}), ({'force': late}, {'method': 'Radau'}),
    ({'force': late}, {'stabilization': 'baumgarte'}),
    ({'force': broken}, {'stabilization': 'braun-goldfarb'}),
    ({'force': lambda t, x: np.nan}, {'initial': 'project'}),
    ({'events': broken}, {'stabilization': None}),
    ({'events': lambda t, x: 'a'}, {'stabilization': 'braun-goldfarb'})])
def test_an_error_at_the_start_is_one_of_the_simulation(functions, options,
                                                        tmp_path):
    """Of a function at the start, and at states around it."""
    functions = {'force': lambda t, x: 1., **functions}
    with pytest.raises(SimulationError, match=(
            'stopped at t = 0: (Runtime|Type|Value)Error')) as found:
        guided(**functions, **options)
    error = found.value
    assert isinstance(error.__cause__, (RuntimeError, TypeError, ValueError))
    assert error.reason is Reason.ERROR and error.time == 0
    assert len(error.trajectory) <= 1
    guided(**functions, **options, throw=False).save(tmp_path/'run.npz')
    quiet = Trajectory.load(tmp_path/'run.npz')
    assert quiet.reason is Reason.ERROR and len(quiet) <= 1
    assert quiet.x.shape[1] == 4 and quiet.largest_residual == 0


@pytest.mark.parametrize('backend', ['llvm']*has_llvm() + ['numpy'])
@pytest.mark.parametrize('span', [(0, 3), (3, 0)])
def test_inputs_are_not_called_ahead_of_the_run(backend, span):
    """Until the first step only at the start; then nowhere beyond it."""
    times = []

    def force(t, x):
        times.append(t)
        return np.sin(t)

    guided(force, span, max_step=0.1, backend=backend)
    ahead = abs(np.array(times) - span[0])
    assert (ahead <= np.maximum.accumulate(
        np.append(0, ahead[:-1])) + 0.1 + 1e-12).all()


def test_an_expression_that_fails_does_so_when_it_is_reached():
    """Not before the run, where the span is probed for work."""
    def python(s):
        if s > 0.5:
            raise KeyError('no data')
        return np.sin(s)

    with pytest.raises(SimulationError, match='KeyError.*no data') as found:
        guided(implemented_function('force', python)(t), max_step=0.1)
    assert 0.3 < found.value.time < 0.5
    assert len(found.value.trajectory) > 3


def test_work_is_found_whatever_an_input_is_at_the_start():
    """A constraint nonlinear in the speeds does work only if it is pushed.
    """
    method = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2, [x, y], nonhol_coneqs=[
            x.diff()**2 + y.diff()**2 - 1],
        generalized_forces=[f, 0])
    motion = simulate(method, 1, [0, 0, 0.6, 0.8], constants={m: 1},
                      inputs={f: lambda t, x: np.sin(t)})
    assert abs(motion.work).max() < 1e-9 < abs(motion.constraint_power).max()
    assert abs(motion.energy_error).max() < 1e-9


@pytest.mark.parametrize('value', [None, [1, 2], 'a', True, np.False_])
def test_an_event_returns_a_number(value):
    with pytest.raises(SimulationError, match=(
            r'TypeError: `events\[0\]` ret.* one number')):
        driven(lambda t, x: t, events=lambda t, x: value)


# -- interruption ----------------------------------------------------------

@pytest.mark.parametrize('method', ['DOP853', 'Radau', 'BDF', 'LSODA'])
def test_an_input_may_be_interrupted(method):
    def force(t, x):
        if t > 1:
            raise KeyboardInterrupt
        return np.sin(t)

    options = dict(method=method, stabilization=None)
    with pytest.warns(UserWarning, match='What was computed is returned'):
        motion = driven(force, **options)
    assert motion.reason is Reason.INTERRUPTED
    np.testing.assert_allclose(motion[x], motion.t - np.sin(motion.t),
                               atol=1e-5)
    with catch_warnings():
        simplefilter('error')
        with pytest.raises(SimulationError, match='The run was i') as found:
            driven(force, **options)
        assert driven(force, **options,
                      throw=False).reason is Reason.INTERRUPTED
    assert found.value.reason is Reason.INTERRUPTED
    assert isinstance(found.value.__cause__, UserWarning)
    assert len(found.value.trajectory) > 1


@pytest.mark.parametrize('stabilization', [
    'projection', 'baumgarte', 'braun-goldfarb', None])
def test_a_signal_at_any_moment_ends_the_run(pendulum, stabilization):
    """As the keyboard sends it, wherever the run happens to be."""
    compiled, start = pendulum.compiled, pendulum.start
    simulate(compiled, 0.1, start, stabilization=stabilization)
    for delay in (0.01, 0.07, 0.13):
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))

        def begun(t, x):                # the run is under way
            if t > 0 and timer.ident is None:
                timer.start()
            return 1.

        try:
            with pytest.warns(UserWarning, match='interrupted'):
                motion = simulate(compiled, 1e6, start, events=begun,
                                  stabilization=stabilization)
        finally:
            timer.cancel()
        assert motion.reason is Reason.INTERRUPTED
        assert len(motion) > 1 and np.isfinite(motion.x).all()


@pytest.mark.filterwarnings('ignore::pytest.PytestUnraisableExceptionWarning')
def test_an_interruption_that_a_destructor_drops():
    """Python ignores what is raised there."""
    class Fragile:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            sum(range(1000))

    def force(t, x):
        if t > 1 and not used:
            used.append(Fragile())
            used[0] = None
        return np.sin(t)

    used = []
    before = signal.getsignal(signal.SIGINT)
    with pytest.warns(UserWarning, match='interrupted'):
        motion = driven(force, 30)
    assert motion.reason is Reason.INTERRUPTED and motion.t[-1] < 5
    assert signal.getsignal(signal.SIGINT) is before
