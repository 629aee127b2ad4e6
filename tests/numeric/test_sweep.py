"""Sweeps: the same numbers wherever they are made, and failures told."""
import os
import pickle
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from threading import Lock

import numpy as np
import pytest
from sympy import sqrt, symbols
from sympy.physics.mechanics import dynamicsymbols

import sweep_functions as work
from mechanisms import g, l, m, x, y
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import (
    Crossing, Reason, SweepResult, simulate, sweep)
from sympy_constrained.numeric.sweeps.jobs import Job, pack, unpacked

LENGTHS = np.linspace(1, 3, 6)
STARTS = np.arange(12.)[:, None]*np.ones(4)
# A user who is gone in the middle of a sweep
GONE = '''
import os
from sympy import symbols
from sympy.physics.mechanics import dynamicsymbols
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, sweep
import sweep_functions as work
x, m = dynamicsymbols('x'), symbols('m')
compiled = compile_equations(
    UdwadiaKalabaMethod(m*x.diff()**2/2, [x]), {m: 1})
sweep(compiled, None, [[0, 0]]*4000, 2, run=work.waits, chunk=1,
      on_result=lambda run: os._exit(3))
'''


@pytest.fixture
def run(pendulum):
    """A small sweep of pendulums that start level."""
    def made(executor=None, **options):
        options = {'t_span': 0.3, 't_eval': 4} | options
        return sweep(pendulum.compiled, {l: LENGTHS}, {
            x: LENGTHS, y: 0, "x'": 0, "y'": 0}, executor, **options)
    return made


@pytest.fixture
def numbers(pendulum):
    """A sweep of a plain function over the numbers from 0 to 11."""
    def made(function, executor=None, **options):
        return sweep(pendulum.compiled, None, STARTS, executor,
                     run=function, **options)
    return made


# -- the same as one by one ---------------------------------------------------

def test_a_sweep_is_simulations(pendulum, run):
    found = run()
    assert isinstance(found, SweepResult) and len(found) == 6
    for record, length in zip(found, LENGTHS):
        alone = simulate(pendulum.compiled, 0.3, [length, 0, 0, 0],
                         constants={l: length}, t_eval=4)
        np.testing.assert_allclose(record.trajectory.x, alone.x, rtol=1e-12,
                                   atol=1e-12)
        assert record.trajectory.constants[l] == length
        assert record.trajectory.constants[m] == 1.5
        assert record.parameters == {'l': length}
        assert record.start.tolist() == [length, 0, 0, 0]
        assert record.success and record.reason == 'END'
        assert record.seconds > 0
    assert found.seconds == pytest.approx(
        sum(record.seconds for record in found.runs))
    assert not found.failed and repr(found) == (
        '<SweepResult of 6 runs, 0 failed>')


@pytest.mark.parametrize('kind', [2, ThreadPoolExecutor, ProcessPoolExecutor])
def test_every_executor_gives_the_same_in_order(run, kind):
    expected = run().values(x)
    if isinstance(kind, int):
        found = run(kind, chunk=1)
    else:
        with kind(2) as executor:
            found = run(executor)
            again = run(executor, quantity=work.last_state)
        np.testing.assert_array_equal(again.values()[:, 0], expected)
    # Processors may differ, and numbers in their last digit.
    np.testing.assert_allclose(found.values(x), expected, rtol=1e-14)
    assert [record.index for record in found] == list(range(6))
    # Symbols are those of the model, also from elsewhere.
    np.testing.assert_allclose(found[3].trajectory[y],
                               run()[3].trajectory[y], rtol=1e-12)


def test_threads_may_return_anything(numbers):
    lock = Lock()                       # cannot be pickled
    with ThreadPoolExecutor(1) as threads:
        found = numbers(lambda compiled, start: lock, threads)
    assert found[0].value is lock


@pytest.mark.slow
def test_dask(run, numbers):
    distributed = pytest.importorskip('distributed')
    with distributed.LocalCluster(
            n_workers=1, threads_per_worker=1,
            dashboard_address=':0') as cluster, (
            distributed.Client(cluster)) as client:
        found = run(client, quantity=work.last_state, chunk=1)
        np.testing.assert_allclose(
            found.values(), run(quantity=work.last_state).values(),
            rtol=1e-12)
        # Its functions may also be lambdas.
        found = numbers(lambda compiled, start: 1/(7 - int(start[0])), client)
    assert [record.index for record in found.failed] == [7]
    assert found.failed[0].error.startswith('ZeroDivisionError')


def test_a_quantity_is_made_where_the_run_is(pendulum, run):
    found = run(quantity=work.last_state)
    assert all(record.trajectory is None for record in found)
    assert found.values().shape == (6, 4)
    np.testing.assert_array_equal(
        found.values(), run().values(lambda trajectory: trajectory.x[-1]))
    # A start may be made of the constants.
    again = sweep(pendulum.compiled, {l: LENGTHS}, work.level_start,
                  t_span=0.3, t_eval=4, quantity=work.last_state)
    np.testing.assert_allclose(again.values(), found.values(), rtol=1e-12)


def test_plain_functions(pendulum, numbers):
    found = numbers(work.first_number)
    assert found.values().tolist() == list(range(12))
    found = numbers(work.first_number, quantity=work.twice)
    assert found.values().tolist() == list(range(0, 24, 2))
    energies = sweep(
        pendulum.compiled, [{m: a, g: b} for a in (1, 2) for b in (3, 4)],
        [0, 5, 0, 0], run=work.energy)
    assert energies.values().tolist() == [15, 20, 30, 40]
    assert energies.parameter('m').tolist() == [1, 1, 2, 2]
    assert energies.parameter(g).tolist() == [3, 4, 3, 4]
    one_by_one = sweep(pendulum.compiled, [{m: 2}, {g: 3}], [0, 5, 0, 0],
                       run=work.energy)
    assert one_by_one.parameter(m).tolist() == [2, 1.5]
    assert one_by_one[0].parameters == {'m': 2, 'g': 9.81}


# -- what goes in -------------------------------------------------------------

@pytest.mark.parametrize('parameters', [
    {l: [1, 2, 3], 'm': 5}, [{'l': n, m: 5} for n in (1, 2, 3)],
    {'l': (1, 2, 3), 'm': np.array([5, 5, 5])}])
@pytest.mark.parametrize('states', [
    {x: [0, 1, 2], y: 3, "x'": 4, "y'": 5},
    [{x: n, y: 3, "x'": 4, "y'": 5} for n in range(3)],
    np.array([[n, 3, 4, 5] for n in range(3)])])
def test_forms_of_parameters_and_states(pendulum, parameters, states):
    found = sweep(pendulum.compiled, parameters, states, run=work.first_number)
    assert [record.parameters for record in found] == [
        {'l': n, 'm': 5} for n in (1., 2., 3.)]
    assert [record.start.tolist() for record in found] == [
        [n, 3, 4, 5] for n in range(3)]
    assert found.values().tolist() == [0, 1, 2]


@pytest.mark.parametrize('change, message', [
    ({'parameters': {'L': [1, 2]}}, "'L' is no constant"),
    ({'parameters': {l: [1, 2], m: [1, 2, 3]}}, "different numbers.*a list"),
    ({'parameters': {l: [1, 'a']}}, "Run 1: .*'a' is not a real number"),
    ({'parameters': {l: []}}, "empty"), ({'parameters': []}, "empty"),
    ({'parameters': [{l: 1}, {'k': 1}]}, "Run 1: .*'k' is no constant"),
    ({'parameters': {l: [1, 2]}, 'states': [[1]*4]*3}, "2 sets.*3 starts"),
    ({'states': None}, "`states` is missing"),
    ({'executor': 0}, "`executor` is 0"),
    ({'teval': 3}, "`options`: 'teval' is no option.*did you mean t_eval"),
    ({'parameters': [1, 2]}, "mappings.*run 0 is int"),
    ({'parameters': 3}, "must be a mapping or a sequence"),
    ({'executor': '2'}, "`executor` is '2'; it must be a positive number")])
def test_wrong_arguments_raise_before_anything_runs(pendulum, change, message):
    given = {'parameters': {l: [1, 2]}, 'states': [2, 0, 0, 0], 't_span': 1}
    with pytest.raises((ValueError, TypeError), match=message):
        sweep(pendulum.compiled, **(given | change))


# -- what fails ---------------------------------------------------------------

@pytest.mark.parametrize('action', ['ignore', 'error'])
def test_the_trajectory_up_to_a_failure_is_kept(run, action):
    """Also where warnings are errors."""
    def falling(t, state):
        if t > 0.1:
            raise KeyboardInterrupt
        return 1.

    with warnings.catch_warnings():
        warnings.simplefilter(action)
        found = run(events=falling)
    record = found[0]
    assert record.reason == 'INTERRUPTED' and not record.success
    assert 0 < record.trajectory.t[-1] <= 0.3
    assert record.trajectory.reason is Reason.INTERRUPTED
    # An interruption also ends the sweep.
    assert {other.reason for other in found[1:]} == {'CANCELLED'}
    assert len(found.failed) == 6


def test_events_of_all_runs():
    """They may be an iterator, and their constants are varied, too."""
    e, q = symbols('e'), dynamicsymbols('q')
    ball = UdwadiaKalabaMethod(m*q.diff()**2/2 - m*g*q, [q])
    impact = Crossing(q, {q.diff(): -e*q.diff()}, direction=-1)
    found = sweep(ball, {e: [0.5, 1]}, [1, 0], events=iter([impact]),
                  constants={m: 1, g: 9.81}, t_span=0.8)
    alone = [simulate(ball, 0.8, [1, 0], events=iter([impact]), constants={
        m: 1, g: 9.81, e: value}).x[-1, 0] for value in (0.5, 1)]
    assert min(alone) > 0 and found.values(q).tolist() == alone


def test_a_simulation_that_ends_early():
    """A force that becomes infinite where it pushes to."""
    k, q = symbols('k'), dynamicsymbols('q')
    method = UdwadiaKalabaMethod(q.diff()**2/2 + k*sqrt(1 - q), [q])
    failed, good = found = sweep(method, {k: [-1, 1]}, [0.5, 0], t_span=4,
                                 quantity=work.last_state)
    assert not failed.success and good.success
    assert failed.reason in ('NOT_FINITE', 'STEP_SIZE')
    assert failed.error.startswith('SimulationError: Integration stopped')
    assert failed.trajectory.x[-1, 0] == pytest.approx(1, abs=1e-2)
    assert good.trajectory is None and np.isfinite(found.values()[1]).all()


def test_a_failure_is_recorded_and_the_rest_goes_on(pendulum):
    starts = [[length, 0, 0, 0] for length in (2, 2.5, 2)]
    found = sweep(pendulum.compiled, None, starts, t_span=0.3)
    record, = found.failed
    assert record.index == 1 and record.reason == 'ERROR'
    assert record.error.startswith(
        'ConstraintError: The initial state violates')
    assert record.trajectory is None and not record.success
    values = found.values(x)
    assert np.isnan(values).tolist() == [False, True, False]
    assert 'run 1: ConstraintError' in str(found)


def test_a_process_that_dies_costs_one_run(pendulum):
    """Also where warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        with pytest.raises(UserWarning, match='1 of 3 runs were') as caught:
            sweep(pendulum.compiled, None, STARTS[6:9], 1,
                  run=work.kills_itself_at_seven, chunk=2)
    found = caught.value.result
    record, = found.failed
    assert record.index == 1 and record.reason == 'LOST'
    assert all(x in record.error for x in ('TerminatedWorker', 'SIGKILL'))
    assert found.values()[[0, 2]].tolist() == [6, 8]


@pytest.mark.slow
def test_no_process_outlives_its_user():
    """They hold the other end of the pipe that is read here, for a while."""
    done = subprocess.run(
        [sys.executable, '-c', GONE], stdout=subprocess.PIPE, timeout=180,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
    assert done.returncode == 3


def test_an_executor_that_breaks_keeps_what_has_arrived(numbers):
    with ProcessPoolExecutor(1) as executor:
        with pytest.warns(
                UserWarning, match='runs were lost .BrokenProcessPool'):
            found = numbers(work.dies_at_seven, executor, chunk=1)
        with pytest.warns(UserWarning, match='12 of 12 runs were lost'):
            broken = numbers(work.first_number, executor)
    assert [record.reason for record in found] == 7*['END'] + 5*['LOST']
    values = found.values()
    assert values[:7].tolist() == list(range(7))
    assert np.isnan(values[7:]).all()
    assert {record.reason for record in broken} == {'LOST'}


def test_values_that_do_not_travel(numbers):
    found = numbers(work.do_not_travel, 1, chunk=4)
    errors = {3: 'do_not_travel', 5: 'RecursionError', 7: 'of a motion'}
    for record, (index, error) in zip(
            found.failed, errors.items(), strict=True):
        assert record.index == index and record.reason == 'ERROR'
        assert error in record.error
    others = [k for k in range(12) if k not in errors]
    assert found.values()[others].tolist() == others


@pytest.mark.slow
def test_a_sweep_within_a_sweep(pendulum):
    found = sweep(pendulum.compiled, None, STARTS[:2], 1, run=work.sweeps)
    np.testing.assert_array_equal(found.values(), [[0, 0], [1, 2]])


@pytest.mark.parametrize('executor, chunk', [
    (None, 1), (1, 1), (ThreadPoolExecutor, 1), (ThreadPoolExecutor, 12)])
def test_an_interruption_returns_what_is_done(numbers, executor, chunk):
    """Also what was made and had not arrived."""
    arrived = []

    def interrupt(record):
        arrived.append(record.index)
        if len(arrived) == 4:
            raise KeyboardInterrupt

    if executor is ThreadPoolExecutor:
        with executor(1) as threads:
            found = numbers(work.waits, threads, chunk=chunk,
                            on_result=interrupt)
    else:
        found = numbers(work.waits, executor, chunk=chunk, on_result=interrupt)
    reasons = [record.reason for record in found]
    done, cut = reasons.count('END'), reasons.count('INTERRUPTED')
    assert arrived == [0, 1, 2, 3] and done >= 4 and cut <= 1
    assert reasons == done*['END'] + cut*['INTERRUPTED'] + (
        12 - done - cut)*['CANCELLED']
    if executor is None:
        assert done == 4 and not cut
    if executor is ThreadPoolExecutor and chunk == 12:
        assert done == 12               # they came together


def test_an_interruption_while_waiting(numbers):
    work.soon(lambda: os.kill(os.getpid(), signal.SIGINT), 0.3)
    found = numbers(work.waits, 1, chunk=1, on_result=None)
    reasons = [record.reason for record in found]
    done, cut = reasons.count('END'), reasons.count('INTERRUPTED')
    assert done + cut < 12 and cut <= 1
    assert reasons == done*['END'] + cut*['INTERRUPTED'] + (
        12 - done - cut)*['CANCELLED']


@pytest.mark.slow
def test_an_interruption_of_a_long_run(numbers):
    found = numbers(work.interrupts, 1, chunk=1)
    assert [record.reason for record in found] == (4*['END'] + 8*['CANCELLED'])


@pytest.mark.slow
def test_threads_of_runs_do_not_keep_processes(numbers):
    found = numbers(work.leaves_a_thread, 1)
    assert found.values().tolist() == list(range(12))


def test_results_arrive_as_they_finish(numbers):
    seen = []
    found = numbers(work.first_number, 1, chunk=2, on_result=seen.append)
    assert sorted(record.index for record in seen) == list(range(12))
    assert {id(record) for record in seen} == {id(record) for record in found}


@pytest.mark.parametrize('executor', [None, 1])
def test_an_error_of_the_users_own_callback_loses_nothing(numbers, executor):
    def fails(record):
        if record.index == 4:
            raise ZeroDivisionError('in a picture')

    with pytest.raises(ZeroDivisionError, match='in a picture') as error:
        numbers(work.first_number, executor, chunk=1, on_result=fails)
    found = error.value.result
    assert [record.value for record in found[:5]] == [0, 1, 2, 3, 4]
    assert {record.reason for record in found[5:]} == {'CANCELLED'}


def test_a_quantity_that_fails_does_not_lose_the_motion(run):
    found = run(quantity=work.fails)
    assert len(found.failed) == len(found)
    for record, other in zip(found, run()):
        assert record.error == 'ZeroDivisionError: of a motion'
        np.testing.assert_array_equal(record.trajectory.x, other.trajectory.x)


# -- what goes to other processes --------------------------------------------

def test_a_process_keeps_few_jobs(pendulum):
    packed = [pack(Job(pendulum.compiled, work.length, None, {'k': k}),
                   pickle.dumps) for k in range(6)]
    jobs = [unpacked(one) for one in packed]
    assert [job.options['k'] for job in jobs] == list(range(6))
    assert unpacked(packed[5]) is jobs[5]
    assert unpacked(packed[0]) is not jobs[0]


def test_equations_travel_as_data(pendulum):
    """Other constants need no other machine code."""
    compiled, start = pendulum.compiled, pendulum.start
    compiled.rhs(0, start)              # compiles
    copy = pickle.loads(pickle.dumps(compiled))
    assert not copy._kept and not copy._decided
    np.testing.assert_array_equal(copy.rhs(0, start), compiled.rhs(0, start))
    other = compiled.with_values({l: 1.})
    assert other._kept is compiled._kept
    assert other.rhs(0, [1, 0, 0, 0]).tolist() == [0, 0, 0, -9.81]


# -- arrays -------------------------------------------------------------------

def test_values_of_what_was_not_kept(run):
    reduced = run(quantity=work.last_state)
    with pytest.raises(ValueError, match='Trajectories were not kept'):
        reduced.values(x)
    with pytest.raises(ValueError, match='Pass `quantity`'):
        run().values()


def test_complex_values_stay_complex(run):
    found = run(quantity=work.complex_state).values()
    kept = run()
    np.testing.assert_array_equal(found.real, kept.values(x))
    np.testing.assert_array_equal(found.imag, kept.values('y'))


def test_a_table(pendulum, run, numbers, monkeypatch):
    found = run()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, 'pandas', None)
        with pytest.raises(ImportError, match='needs pandas.*`values'):
            found.to_frame()
    pytest.importorskip('pandas')
    table = found.to_frame()
    assert table['l'].tolist() == LENGTHS.tolist()
    assert table['x'].tolist() == found.values('x').tolist()
    assert table['start of x'].tolist() == LENGTHS.tolist()
    table = numbers(work.refuses_seven).to_frame()
    assert table['value'].isna().sum() == 1
    assert table['error'][7] == 'ZeroDivisionError: seven'
    table = sweep(pendulum.compiled, {l: [2, 3]}, None,
                  run=work.length).to_frame()
    assert list(table) == ['l', 'value', 'seconds', 'reason', 'error']
    assert table['value'].tolist() == table['l'].tolist() == [2, 3]


def test_many_failures_are_counted(numbers):
    text = str(numbers(work.refuses_some))
    assert text.startswith('12 runs, 7 failed')
    assert text.endswith('and 2 more') and text.count('run ') == 5
