"""Simulation: constraints kept, rank watched, ends explained."""
from dataclasses import replace

import numpy as np
import pytest
from sympy import Max, Piecewise, cos, sin, sqrt, symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, dynamicsymbols)

import mechanisms
from mechanisms import g, l, m, particle, t, x, y, z
from sympy_constrained import LinearMappingMethod, UdwadiaKalabaMethod
from sympy_constrained.analysis.constraint_rank import rank_at
from sympy_constrained.errors import (
    ConstraintError, SimulationError, SingularEquationsError)
from sympy_constrained.numeric import Reason, compile_equations, simulate
from sympy_constrained.numeric.manifold.correction import Projector

PROJECTABLE = ['RK23', 'RK45', 'DOP853', 'Radau', 'Rodas5P']


# -- constraints and energy -----------------------------------------------

def test_the_pendulum_for_a_minute(pendulum, record_property):
    """The issue's figure: residual below 1e-9 at rtol 1e-8."""
    motion = simulate(pendulum.compiled, 60, pendulum.start, rtol=1e-8)
    assert motion.reason is Reason.END and motion.t[-1] == 60
    assert motion.largest_residual < 1e-12
    drift = np.abs(motion.energy_error).max()/(1.5*9.81*2)
    record_property('relative energy drift', float(drift))
    assert drift < 1e-6
    free = simulate(pendulum.compiled, 60, pendulum.start, stabilization=None)
    assert 1e-7 < free.largest_residual < 1e-2


@pytest.mark.parametrize('method', PROJECTABLE)
@pytest.mark.parametrize('t_eval', [None, 21])
def test_every_one_step_method_is_projected(pendulum, method, t_eval):
    rtol = 1e-8 if method in ('RK45', 'DOP853') else 1e-5
    motion = simulate(pendulum.compiled, 2, pendulum.start, method=method,
                      rtol=rtol, atol=rtol/100, t_eval=t_eval)
    assert motion.largest_residual < 1e-12
    assert np.abs(motion.energy_error).max() < 1e-2
    if t_eval:
        np.testing.assert_array_equal(motion.t, np.linspace(0, 2, 21))


@pytest.mark.parametrize('method', ['BDF', 'LSODA'])
def test_multistep_methods_go_with_baumgarte(method):
    stabilized = particle([x**2 + y**2 - l**2], stabilization=(5, 5))
    motion = simulate(stabilized, 2, [2, 0, 0, 0], method=method,
                      constants={m: 1, g: 9.81, l: 2}, stabilization=None)
    assert motion.largest_residual < 1e-5
    with pytest.raises(ValueError, match=(
            f"{method}' extrapolates past states.*'Rodas5P'.*='baumgarte'")):
        simulate(stabilized, 2, [2, 0, 0, 0], method=method,
                 constants={m: 1, g: 9.81, l: 2})


@pytest.mark.parametrize('stabilization', ['projection', None])
def test_parallel_cranks_through_a_long_motion(cranks, stabilization):
    """Rank 5 of 6 on the set only; U-3 says the coupler does not turn."""
    motion = simulate(cranks.compiled, 10, cranks.start,
                      stabilization=stabilization)
    assert (motion.rank == 5).all() and not motion.rank_changes
    assert np.abs(motion['Phi']).max() < 1e-8
    drift = 1e-13 if stabilization else 1e-4
    assert motion.largest_residual < drift
    # The coupler moves like a pendulum of length 1 under the three cranks.
    one = mechanisms.pendulum().compiled.with_values({l: 1})
    same = simulate(one, 10, cranks.start[[0, 1, 3, 4]], t_eval=motion.t)
    np.testing.assert_allclose(motion.x[:, :2], same.x[:, :2], atol=2e-4)


@pytest.mark.parametrize('start', [[2, 5e-324, 0, 0], [2, 1e-9, 0, 1e-30]])
def test_a_start_that_is_nearly_zero_is_no_other_problem(pendulum, start):
    exact = simulate(pendulum.compiled, 3, pendulum.start)
    motion = simulate(pendulum.compiled, 3, start)
    assert motion.statistics['steps'] == exact.statistics['steps']
    np.testing.assert_allclose(motion.x[-1], exact.x[-1], atol=1e-7)


# -- rank -----------------------------------------------------------------

def growing_row(factor):
    """``z' = 0`` and ``factor(t) y' + z' = 0`` on a motion along x."""
    return particle(vel=[z.diff(), factor*y.diff() + z.diff()], q=(x, y, z))


def test_a_loss_of_rank_ends_the_run():
    with pytest.raises(SimulationError, match=(
            r'Integration stopped at t = 0.99\d*: the equations became '
            r'singular \(reciprocal condition \de-1[01]\).*\(a\).*\(b\).*'
            r'\(c\).*`error.trajectory`')) as error:
        simulate(growing_row(Max(0, 1 - t)), 2, [0, 0, 0, 1, 0, 0],
                 constants={m: 1, g: 9.81})
    motion = error.value.trajectory
    assert error.value.reason is Reason.SINGULAR and not motion.success
    assert error.value.time == motion.t[-1] < 1 and motion.condition[-1] < 1e-9


@pytest.mark.parametrize('options', [
    {'q_dependent': [y]}, {'mapping': [(2 + y)*x.diff() - x*y.diff()/9]}])
def test_a_dead_point_of_a_quasi_velocity_ends_the_run(options):
    """The projected mass is as large on both sides."""
    motion = simulate(
        LinearMappingMethod.from_method(particle([x**2 + y**2 - l**2]),
                                        **options), 1, [0, -1, 9], throw=False,
        constants={m: 1, g: 9.81, l: 1}, rtol=1e-9)
    assert motion.reason is Reason.SINGULAR and 'quasi' in motion.message
    assert abs(motion.energy_error).max() < 1e-4


def test_the_motion_before_a_singular_output_is_kept():
    """All outputs of a block are evaluated at once; the last one fails."""
    u, v = dynamicsymbols('u v')
    N, P = ReferenceFrame('N'), Point('P')
    P.set_vel(N, u*cos(t)*N.x + (u*sin(t) + v)*N.y)
    motion = simulate(UdwadiaKalabaMethod(
        N, [x, y], [u, v], [x.diff() - u*cos(t), y.diff() - u*sin(t) - v],
        bodies=[Particle('P', P, 1)]), 2, [0, 0, 1, 0], throw=False)
    np.testing.assert_allclose(motion[x], motion.t, atol=1e-9)
    assert motion.t[-1] > 1.57 and 'stopped at t = 1.570' in motion.message


@pytest.mark.filterwarnings('ignore:.*encountered:RuntimeWarning')
@pytest.mark.parametrize('power, size, end', [(4, 1, 0.7531), (2, 5e299, 0)])
@pytest.mark.parametrize('method', ['DOP853', 'Radau', 'BDF', 'Rodas5P'])
def test_a_solution_that_grows_without_bound(method, power, size, end):
    """The matrices overflow in the second model."""
    model = UdwadiaKalabaMethod(m*x.diff()**2/2 + g*x**power, [x])
    for times in None, [99]:            # the last state is an output, too
        motion = simulate(model, 100, [1, 1 if end else 0], throw=False,
                          rtol=1e-6, constants={m: 1, g: size},
                          method=method, t_eval=times)
        assert motion.reason is Reason.STEP_SIZE
        assert 'smaller steps than numbers allow' in motion.message
        assert motion.t[-1] == pytest.approx(end, abs=1e-3)


def test_a_run_that_would_need_days_ends_soon(monkeypatch):
    """A pendulum of no length turns faster and faster."""
    monkeypatch.setattr('sympy_constrained.numeric.integrate.ends.PACE', 200)
    with pytest.raises(SimulationError, match='mass.*dry fric') as error:
        simulate(particle([x**2 + y**2 - l**2]), 1, [1, 0, 0, 0],
                 constants={m: 1, g: 9.81, l: 0}, initial='project')
    motion = error.value.trajectory
    assert error.value.reason is motion.reason is Reason.STEPS
    assert motion.statistics['steps'] < 9e3 and 0 < motion.t[-1] < 1e-2


def test_steps_are_counted(pendulum):
    def run(steps):
        return simulate(pendulum.compiled, 20, pendulum.start, throw=False,
                        max_steps=steps)

    free = run(np.inf)
    steps = free.statistics['steps']
    short = run(steps - 1)
    assert free.success and steps > 100 and run(steps).success
    assert short.reason is Reason.STEPS
    assert len(short) == steps == short.statistics['steps'] + 1
    assert f'`max_steps` is {steps - 1}.' in short.message


def test_a_state_that_cannot_be_returned_ends_the_run(pendulum, monkeypatch):
    def far(self, t, x, solver):
        correction, before = project(self, t, x, solver)
        return (correction if t < 0.5 else replace(
            correction, distances=correction.distances + 1e-3)), before

    project = Projector.__call__
    monkeypatch.setattr(Projector, '__call__', far)
    motion = simulate(pendulum.compiled, 2, pendulum.start, throw=False,
                      method='Radau')
    assert motion.reason is Reason.OFF_CONSTRAINTS
    assert 'could not be returned to the constraints (rel' in motion.message
    assert 0.2 < motion.t[-1] < 0.5 and motion.largest_residual < 1e-9


def test_contradicting_rows_stop_at_the_start():
    with pytest.raises(SimulationError, match='contradict') as error:
        simulate(particle(acc=[x.diff(t, 2) - 1, x.diff(t, 2) - 2]), 1,
                 [0]*4, constants={m: 1, g: 1})
    assert error.value.reason is Reason.CONTRADICTION
    assert len(error.value.trajectory) == 0
    assert 'empty' in repr(error.value.trajectory)


def test_a_rank_that_cannot_be_decided_ends_the_run():
    """One row grows faster than another by ten thousand."""
    w, rise = dynamicsymbols('w'), Max(0, t - 1)
    method = particle(vel=[z.diff(), rise*y.diff() + z.diff(),
                           1e-4*rise*w.diff() + z.diff()], q=(w, x, y, z))
    motion = simulate(method, 2, [0, 0, 0, 0, 0, 1, 0, 0], throw=False,
                      constants={m: 1, g: 9.81}, method='DOP853')
    assert motion.reason is Reason.SINGULAR and motion.t[-1] < 1.2
    assert 'nearly vanishes' in motion.message and not motion.rank_changes
    np.testing.assert_allclose(motion['x'], motion.t, atol=1e-12)


@pytest.mark.parametrize('method, power', [
    ('DOP853', 1.5), ('Radau', 1.5), ('Radau', 0.5), ('Rodas5P', 1.5),
    ('Rodas5P', 0.5), ('BDF', 0.5)])
def test_a_run_that_leaves_the_domain(method, power):
    """Energy determines the speed at the edge."""
    weight = -0.01 if power > 1 else 1.
    model = UdwadiaKalabaMethod(m*x.diff()**2/2 - m*g*(1 - x)**l, [x])
    motion = simulate(model, 10, [0, 1], method=method, throw=False,
                      constants={m: 1, g: weight, l: power})
    assert motion.reason is Reason.NOT_FINITE and 'domain' in motion.message
    place, speed = motion.x[-1]
    assert 0.99 < place <= 1 and np.isfinite(motion.energy).all()
    assert speed**2/2 + weight*(1 - place)**power == pytest.approx(
        1/2 + weight, abs=1e-4)


@pytest.mark.parametrize('method', ['RK45', 'Radau', 'LSODA'])
def test_underflow_is_no_fault(pendulum, method):
    kept = 'projection' if method in PROJECTABLE else 'baumgarte'
    with np.errstate(all='raise'):
        assert simulate(pendulum.compiled, 0.1, pendulum.start, method=method,
                        stabilization=kept).success


def test_an_output_where_the_equations_have_no_value():
    """A gap so narrow that only what is between the steps falls into it."""
    centre, off = symbols('centre off')
    model = UdwadiaKalabaMethod(m*x.diff()**2/2, [x], generalized_forces=[
        4 + off*sqrt((t - centre)**2 - 1e-8)])

    def run(at, **options):
        return simulate(model, 1, [0, 0], max_step=0.1, rtol=1e-2, constants={
            m: 2, centre: at, off: 0}, throw=False, **options)

    steps = run(9).t
    k = np.searchsorted(steps, 0.5)
    at = steps[k] + (steps[k + 1] - steps[k])/5
    assert run(at).success
    motion = run(at, t_eval=101)
    assert motion.reason is Reason.NOT_FINITE
    assert len(motion) > 40 and motion.t[-1] <= steps[k]
    np.testing.assert_allclose(motion.x[:, 0], motion.t**2, atol=1e-12)


@pytest.mark.parametrize('method', [
    pytest.param('Radau', marks=pytest.mark.slow), 'BDF'])
def test_a_domain_that_ends_beside_the_motion(method):
    """``x = 1 - exp(-t)`` comes so near that differences lie beyond."""
    off = symbols('off')
    model = UdwadiaKalabaMethod(m*x.diff()**2/2, [x], generalized_forces=[
        off*sqrt(1 - x) - m*x.diff()])
    compiled = compile_equations(model, {m: 2, off: 0}, backend='numpy')
    motion = simulate(compiled, 60, [0, 1], method=method, rtol=1e-11,
                      atol=1e-13, throw=False)
    assert motion.reason is Reason.NOT_FINITE and 'domain' in motion.message
    assert 14 < motion.t[-1] < 40
    np.testing.assert_allclose(motion['x'], 1 - np.exp(-motion.t), atol=1e-8)


def test_the_pace_is_looked_at_again(pendulum, monkeypatch):
    """A run that comes on is not stopped."""
    monkeypatch.setattr('sympy_constrained.numeric.integrate.ends.PACE', 10)
    assert simulate(pendulum.compiled, 3, pendulum.start,
                    max_steps=1e3).statistics['steps'] > 20


# -- output, events, interruption -----------------------------------------

def test_output_times(pendulum):
    times = [0.5, 0.75, 2.]
    motion = simulate(
        pendulum.method, [0, 3], {x: 2, y: 0, "x'": 0, y.diff(): 0},
        constants=pendulum.constants, t_eval=times)
    np.testing.assert_array_equal(motion.t, times)
    steps = simulate(pendulum.compiled, 3, pendulum.start, constants={g: 1.62})
    assert len(steps) == steps.statistics['steps'] + 1
    assert steps.constants == {m: 1.5, g: 1.62, l: 2}


def ground(t, x):
    return x[1] + 1.5


def test_a_terminal_event_ends_the_run(pendulum, monkeypatch):
    monkeypatch.setattr(ground, 'terminal', True, raising=False)
    motion = simulate(pendulum.compiled, 20, pendulum.start, events=ground,
                      t_eval=2001)
    assert motion.reason is Reason.EVENT and motion.success
    assert motion.x[-1, 1] == pytest.approx(-1.5, abs=1e-9)
    assert motion.t[-1] == motion.events[0].t
    assert np.diff(motion.t)[:-1] == pytest.approx(0.01)
    assert motion.largest_residual < 1e-13
    assert 'A terminal event occurred at t = 0.595' in motion.message


def test_an_event_at_the_start_is_none(pendulum):
    def resting(t, x):
        return x[3]

    resting.terminal = True
    motion = simulate(pendulum.compiled, 10, pendulum.start, events=resting)
    assert motion.t[-1] > 0.5       # at the lowest point
    assert [event.t for event in motion.events] == [motion.t[-1]]


@pytest.mark.parametrize('error', [KeyboardInterrupt, ZeroDivisionError])
def test_times_increase_if_a_step_ends_among_its_outputs(
        pendulum, monkeypatch, error):
    """The last accepted state is then behind what is recorded."""
    from sympy_constrained.numeric.integrate.stepper import Run
    record = Run.record

    def recorded(run, t, y, rates=None):
        if t > 1.005:
            monkeypatch.setattr(Run, 'record', record)
            raise error
        record(run, t, y)

    monkeypatch.setattr(Run, 'record', recorded)
    motion = simulate(pendulum.compiled, 3, pendulum.start, t_eval=301,
                      throw=False, method='Radau')
    assert motion.t[-1] == pytest.approx(1, abs=0.01)
    assert (np.diff(motion.t) > 0).all()


def test_an_interruption_at_the_end_comes_too_late(pendulum, monkeypatch):
    """While arrays are put together; another one after the first, too."""
    import signal
    from sympy_constrained.numeric.integrate.stepper import Run
    make, asked = Run.trajectory, []

    def made(run, *arguments):
        signal.raise_signal(signal.SIGINT)
        asked.append(run)
        return make(run, *arguments)

    def impatient(t, x):
        if t > 0.5:
            signal.raise_signal(signal.SIGINT)
        return 1.

    monkeypatch.setattr(Run, 'trajectory', made)
    motion = simulate(pendulum.compiled, 1, pendulum.start)
    assert motion.reason is Reason.END and motion.t[-1] == 1
    with pytest.warns(UserWarning, match='What was computed is returned'):
        motion = simulate(pendulum.compiled, 1, pendulum.start,
                          events=impatient)
    assert motion.reason is Reason.INTERRUPTED and len(motion) > 1
    assert len(asked) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_progress_is_drawn_where_it_is_wanted(pendulum, capsys, monkeypatch):
    simulate(pendulum.compiled, 0.1, pendulum.start, progress=True)
    assert capsys.readouterr().err == ''                # a short run
    monkeypatch.setattr('sympy_constrained.numeric.progress.PATIENCE', 0)
    monkeypatch.setattr('sympy_constrained.numeric.progress.INTERVAL', 0)
    simulate(pendulum.compiled, 1, pendulum.start, progress=True)
    drawn = capsys.readouterr().err
    assert '\r[' in drawn and '100%' in drawn and drawn.endswith('\n')
    simulate(pendulum.compiled, 1, pendulum.start)      # no terminal
    assert capsys.readouterr().err == ''


# -- arguments ------------------------------------------------------------

def test_an_inconsistent_start_is_explained(pendulum):
    with pytest.raises(ConstraintError, match=(
            r'The initial state violates 2 constraints: holonomic row 0 by '
            r'4.1e-01, rate of holonomic row 0 by 4.2e-01 \(tolerance '
            r"1e-08\). Pass `initial='project'`.*or correct `x`, `x'`")):
        simulate(pendulum.compiled, 1, [2.1, 0, 0.1, 0])
    motion = simulate(pendulum.compiled, 1, [2.1, 0, 0.1, 3],
                      initial='project')
    np.testing.assert_allclose(motion.x[0], [2, 0, 0, 3], atol=1e-14)
    loose = simulate(pendulum.compiled, 1, [2.0001, 0, 0, 0], tolerance=1e-3)
    assert loose.largest_residual < 1e-13


@pytest.mark.parametrize('options, text', [
    ({'t_eval': 2.5}, '`t_eval` is 2.5'),
    ({'t_eval': [0, 3]}, '`t_eval` must be times between 0 and 2'),
    ({'stabilization': (1, -1)}, r'\(alpha, beta\) of gains, none negative')])
def test_bad_arguments(pendulum, options, text):
    with pytest.raises(ValueError, match=text):
        simulate(pendulum.compiled, 2, pendulum.start, **options)


# -- the result -----------------------------------------------------------

def test_a_trajectory_is_indexed_by_object_and_name(pendulum):
    motion = simulate(pendulum.compiled, 1, pendulum.start, t_eval=5)
    np.testing.assert_array_equal(motion[x], motion.x[:, 0])
    np.testing.assert_array_equal(motion["y'"], motion.x[:, 3])
    np.testing.assert_array_equal(motion['lam1'], motion.multipliers[:, 0])
    np.testing.assert_array_equal(motion['t'], motion.t)
    np.testing.assert_allclose(
        motion.constraint_forces,
        2*motion['lam1'][:, None]*motion.x[:, :2], atol=1e-12)
    assert motion.energy == pytest.approx(
        pendulum.compiled.energy(motion.t, motion.x), abs=1e-12)
    assert repr(motion) == ('<Trajectory of 4 states, 5 times from 0 to 1: '
                            'Completed.>')


# -- a loop that passes near singular rows ---------------------------------

@pytest.fixture(scope='module')
def bennett():
    return mechanisms.bennett()


@pytest.mark.parametrize('rtol, method', [
    (1e-7, 'DOP853'), (5.6e-9, 'RK45'), (1e-9, 'DOP853'), (1e-11, 'RK45')])
def test_projection_does_not_stop_a_loop(bennett, rtol, method):
    """Near q1 = 0 gradients nearly vanish, and redundant rows look free."""
    motion = simulate(bennett.compiled, 1, bennett.start, rtol=rtol,
                      atol=rtol/100, method=method)
    assert motion.largest_residual < 1e-7 and motion.rank_changes == ()
    assert np.abs(motion.energy_error).max() < 3e4*rtol


def test_a_loop_with_special_dimensions_in_floats(bennett):
    assert rank_at(bennett.method.system, {**bennett.constants, **dict(
        zip(bennett.compiled.states, bennett.start))}) == 2


@pytest.mark.parametrize('t_eval', [None, 3])
def test_what_was_computed_survives_an_interruption(pendulum, t_eval):
    """The last accepted state, too."""
    def impatient(t, x):
        if t > 3:
            raise KeyboardInterrupt
        return 1.

    with pytest.warns(UserWarning, match='interrupted at t = 2'):
        motion = simulate(pendulum.compiled, 20, pendulum.start,
                          events=impatient, t_eval=t_eval)
    assert motion.reason is Reason.INTERRUPTED and not motion.success
    assert 2 < motion.t[-1] <= 3 and 'interrupted at t = 2.' in motion.message
    assert len(motion) == 2 or t_eval is None


def test_the_energy_balance_begins_with_the_first_output():
    motion = simulate(UdwadiaKalabaMethod(x.diff()**2/2, [x], nonideal_forces=[
        -x.diff()]), 3, [0, 1], t_eval=[1, 2, 3])
    assert np.abs(motion.energy_error).max() < 1e-8


def test_a_constraint_that_moves_late_does_work():
    late = Piecewise((0, t < 8), ((t - 8)**3, True))
    motion = simulate(particle([x - late], q=(x, y)), 10, [0, 0, 0, 0],
                      constants={m: 1, g: 0})
    assert motion.energy[-1] == pytest.approx(72, rel=1e-6)
    assert np.abs(motion.energy_error).max() < 1e-5


@pytest.mark.parametrize('start', [
    [1, -2.1e-8, 3.25e-8, 0, 0, 0], [1.5307, -0.0892, 1.2522, 0, 0, 0]])
def test_a_start_at_a_double_root_is_no_state_of_full_rank(start):
    """Close to the flat position rounding gives a rank of its own."""
    cranks = mechanisms.parallel_cranks()
    with pytest.raises((ConstraintError, SingularEquationsError)):
        simulate(cranks.compiled, 1, start, initial='project')
