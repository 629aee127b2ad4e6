"""Runs of a sweep, here or in other processes.

What all runs have in common, a :class:`Job`, travels as bytes, which a
process unpacks once and keeps under their hash. Runs travel in chunks, and so
do their outcomes. An executor is anything with the ``submit`` of
``concurrent.futures``; a Dask client has one to give.
"""
from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor,
    as_completed, wait)
from dataclasses import dataclass
from hashlib import sha256
from os import cpu_count
from time import perf_counter
from typing import Any

import numpy as np

from .compiled import CompiledEquations
from .trajectory import Reason, Trajectory

__all__ = ['Job', 'Task', 'Outcome', 'outcomes']

KEPT_JOBS = 4
# Chunks for each worker, so that all end together, and their largest size.
CHUNKS, LARGEST = 8, 32
# Seconds for runs that are interrupted to return what they have.
GRACE = 2.


@dataclass(frozen=True)
class Task:
    """What is different in a run."""

    index: int
    p: np.ndarray | None
    start: np.ndarray | None


@dataclass(frozen=True)
class Outcome:
    """What a run gave; see :class:`.SweepRun`."""

    index: int
    trajectory: Trajectory | None = None
    value: Any = None
    error: str | None = None
    reason: str = 'END'
    seconds: float = 0.


@dataclass(frozen=True)
class Job:
    """What all runs of a sweep have in common."""

    compiled: CompiledEquations
    run: Callable
    quantity: Callable | None
    options: dict
    t_span: Any = None
    start: Callable | None = None

    def outcome(self, task) -> Outcome:
        """Make a run; errors are part of the outcome."""
        begun = perf_counter()
        try:
            found = self._result(task)
        except KeyboardInterrupt:
            found = {'error': Reason.INTERRUPTED.value,
                     'reason': Reason.INTERRUPTED.name}
        except Exception as error:
            found = failure(error)
        return Outcome(task.index, seconds=perf_counter() - begun, **found)

    def _result(self, task):
        compiled = self.compiled
        if task.p is not None:
            compiled = compiled.with_values(task.p)
        start = self.start(compiled) if self.start else task.start
        arguments = [x for x in (self.t_span, start) if x is not None]
        result = self.run(compiled, *arguments, **self.options)
        found: dict[str, Any] = {}
        if isinstance(result, Trajectory):
            found['reason'] = result.reason.name
            if not result.success:
                return {**found, 'error': result.message,
                        'trajectory': result}
            if self.quantity is None:
                found['trajectory'] = result
        elif self.quantity is None:
            found['value'] = result
        if self.quantity is not None:
            try:
                found['value'] = self.quantity(compiled, result)
            except Exception as error:  # the motion is not lost
                kept = isinstance(result, Trajectory)
                return {**failure(error),
                        'trajectory': result if kept else None}
        return found


def failure(error):
    """What is kept of an exception."""
    trajectory = getattr(error, 'trajectory', None)
    reason = getattr(error, 'reason', None)
    return {'error': f'{type(error).__name__}: {error}',
            'trajectory': trajectory,
            'reason': reason.name if isinstance(reason, Reason) else 'ERROR'}


# -- in a worker -------------------------------------------------------------

_jobs: dict[str, Job] = {}
_busy = _stopped = False


def _start(key, packed):
    """Begin a process of a pool of ours."""
    _unpacked(key, packed)
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number, frame):
    """An interruption ends a run and never the process."""
    global _stopped
    _stopped = True
    if _busy:
        raise KeyboardInterrupt


def _unpacked(key, packed):
    if key not in _jobs:
        if len(_jobs) >= KEPT_JOBS:
            _jobs.clear()
        _jobs[key] = pickle.loads(packed)
    return _jobs[key]


def run_chunk(key, packed, tasks):
    """Outcomes of some runs, in a process that may know the job."""
    global _busy
    job, found = _unpacked(key, packed), []
    for task in tasks:
        if _stopped:
            break
        _busy = True
        try:
            found.append(job.outcome(task))
        finally:
            _busy = False
    return found


# -- in the process of the user ----------------------------------------------

def outcomes(job, tasks, executor=None, chunk=None) -> Iterator[Outcome]:
    """An outcome for each task, as they come.

    An interruption by the keyboard ends it; some tasks then have none.
    """
    if executor is None:
        yield from here(job, tasks)
        return
    if not (isinstance(executor, int) or hasattr(executor, 'submit')):
        raise TypeError(
            "`executor` must be a number of processes, an executor of "
            "`concurrent.futures` or a client of Dask, not "
            f"{type(executor).__name__}.")
    if isinstance(executor, bool) or isinstance(executor, int) and (
            executor < 1):
        raise ValueError(
            f"`executor` is {executor!r}; a number of processes must be "
            "positive.")
    size = chunk or min(LARGEST, -(-len(tasks)//(CHUNKS*(
        executor if isinstance(executor, int) else cpu_count() or 1))))
    chunks = [tasks[i:i + size] for i in range(0, len(tasks), size)]
    if isinstance(executor, ThreadPoolExecutor):
        yield from elsewhere(executor, chunks, lambda tasks: [
            job.outcome(task) for task in tasks])
        return
    if hasattr(executor, 'get_executor'):       # a Dask client
        from cloudpickle import dumps           # it needs this, too
        executor = executor.get_executor(pure=False)
    else:
        dumps = pickle.dumps
    packed = pack(job, dumps)
    key = sha256(packed).hexdigest()
    if not isinstance(executor, int):
        yield from elsewhere(executor, chunks, run_chunk, key, packed)
        return
    pool = ProcessPoolExecutor(executor, initializer=_start,
                               initargs=(key, packed))
    try:
        yield from elsewhere(pool, chunks, run_chunk, key, None)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def pack(job, dumps):
    try:
        return dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"The sweep cannot be sent to other processes: {error}. "
            "Functions given as `run`, `quantity`, `states` or `inputs` must "
            "be defined at the top of a module, lambdas are not. Define them "
            "there, or use executor=None.") from error


def here(job, tasks):
    """One after the other."""
    for task in tasks:
        found = job.outcome(task)
        yield found
        if found.reason == Reason.INTERRUPTED.name:
            break


def elsewhere(executor, chunks, function, *arguments):
    """By an executor."""
    waiting = {}
    try:
        for tasks in chunks:
            waiting[submitted(executor, function, *arguments, tasks)] = tasks
        for future in as_completed(list(waiting)):
            tasks = waiting.pop(future)
            yield from arrived(future, tasks)
    except KeyboardInterrupt:
        running = [future for future in waiting if not future.cancel()]
        for future in wait(running, GRACE).done:
            yield from arrived(future, waiting[future])
    finally:
        for future in waiting:
            future.cancel()


def submitted(executor, function, *arguments):
    """A future, also if the executor is broken by now."""
    try:
        return executor.submit(function, *arguments)
    except BrokenExecutor as error:
        future: Future = Future()
        future.set_exception(error)
        return future


def arrived(future, tasks):
    """The outcomes of a chunk; those that did not come are lost."""
    try:
        found = future.result()
    except Exception as error:
        text = f'{type(error).__name__}: {error}'
        found = [Outcome(task.index, error=text, reason='LOST')
                 for task in tasks]
    yield from found
