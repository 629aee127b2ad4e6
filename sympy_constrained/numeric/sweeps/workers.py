"""Make the runs of a sweep: here, in processes, or by an executor.

A :class:`.Job`, which all runs share, is sent as bytes and unpacked once in
each process; runs are sent in chunks. An executor is any object with the
``submit`` of ``concurrent.futures``. Processes are those of loky.
"""
from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import (
    BrokenExecutor, Future, ThreadPoolExecutor, as_completed, wait)
from functools import partial
from numbers import Integral
from os import cpu_count

from ..trajectory import Reason
from .jobs import Outcome, failure, pack, unpacked

__all__ = ['outcomes']

# Chunks per worker, so that all end together, and the largest chunk.
CHUNKS, LARGEST = 8, 32
# Seconds to wait for interrupted runs.
GRACE = 2.
# Chunks per process that are being worked on, or are about to be.
IN_WORK = 2
# Seconds after which an idle process ends, also if its parent has died.
IDLE = 5


def run_chunk(packed, tasks):
    """Outcomes of some runs as bytes, in another process."""
    return list(map(sent, here(unpacked(packed), tasks)))


def sent(outcome):
    """An outcome as bytes, or the error if its value cannot be sent."""
    try:
        return pickle.dumps(outcome)
    except Exception as error:
        return pickle.dumps(Outcome(outcome.index, **failure(error)))


def outcomes(job, tasks, executor=None, chunk=None) -> Iterator[Outcome]:
    """Yield an outcome for each task, as they arrive.

    A keyboard interrupt ends it; some tasks then have none.
    """
    check_workers(executor, chunk)
    if executor is None:
        yield from here(job, tasks)
        return
    is_count = isinstance(executor, int)
    size = chunk or min(LARGEST, -(-len(tasks)//(CHUNKS*(
        executor if is_count else cpu_count() or 1))))
    chunks = [tasks[i:i + size] for i in range(0, len(tasks), size)]
    if isinstance(executor, ThreadPoolExecutor):
        yield from elsewhere(executor, chunks, lambda tasks: [
            sent(job.outcome(task)) for task in tasks])
        return
    dumps = pickle.dumps
    if is_count:
        pool = process_pool()
    if is_count or hasattr(executor, 'get_executor'):
        from cloudpickle import dumps   # a requirement of loky and of Dask
    packed = pack(job, dumps)
    if is_count:
        yield from in_processes(pool, executor, chunks, packed)
        return
    if hasattr(executor, 'get_executor'):       # a Dask client
        executor = executor.get_executor(pure=False)
    yield from elsewhere(executor, chunks, run_chunk, packed)


def check_workers(executor, chunk):
    if chunk is not None and (not isinstance(chunk, Integral) or chunk < 1):
        raise ValueError(
            f"`chunk` is {chunk!r}; it is the number of runs that are sent at "
            "once. Pass a whole number, 1 or more, or leave it out.")
    if executor is None:
        return
    if not (isinstance(executor, int) or hasattr(executor, 'submit')):
        raise TypeError(
            "`executor` must be a number of processes, an executor of "
            "`concurrent.futures` or a client of Dask, not "
            f"{type(executor).__name__}.")
    if isinstance(executor, bool) or (
            isinstance(executor, int) and executor < 1):
        raise ValueError(
            f"`executor` is {executor!r}; a number of processes must be "
            "positive.")


def here(job, tasks):
    """One after the other."""
    for task in tasks:
        outcome = job.outcome(task)
        yield outcome
        if outcome.reason == Reason.INTERRUPTED.name:
            break


def process_pool():
    try:
        from loky import ProcessPoolExecutor
    except ImportError as error:
        raise ImportError(
            "A number of processes as `executor` needs loky, which is not "
            "installed. Install it (`pip install loky`), or pass an executor "
            "of `concurrent.futures`.") from error
    return partial(ProcessPoolExecutor, timeout=IDLE)


def in_processes(pool, count, chunks, packed):
    """In processes. If one dies, its run is lost and the others are repeated,
    those that may have been in work one by one.
    """
    while chunks:
        left: list = []
        yield from in_pool(
            pool(min(count, len(chunks))), chunks, packed, left)
        suspects, rest = left[:IN_WORK*count], left[IN_WORK*count:]
        for task, _ in suspects:
            lost: list = []
            yield from in_pool(pool(1), [[task]], packed, lost)
            for task, error in lost:
                yield Outcome(task.index, error=error, reason='LOST')
        chunks = [[task] for task, _ in rest]


def in_pool(executor, chunks, packed, left):
    """By a pool, which is shut down after the last run."""
    try:
        yield from elsewhere(executor, chunks, run_chunk, packed, left=left)
    finally:
        executor.shutdown(wait=True, kill_workers=True)


def elsewhere(executor, chunks, function, *arguments, left=None):
    """By an executor; if it breaks, ``left`` gets pairs of task and error."""
    waiting: dict[Future, list] = {}
    try:
        for tasks in chunks:
            waiting[submitted(executor, function, *arguments, tasks)] = tasks
        for future in as_completed(list(waiting)):
            yield from arrived(future, waiting[future], left)
            del waiting[future]
    except KeyboardInterrupt:
        running = [future for future in waiting if not future.cancel()]
        for future in wait(running, GRACE).done:
            yield from arrived(future, waiting[future], left)
    finally:
        for future in waiting:
            future.cancel()


def submitted(executor, function, *arguments):
    """A future, also if the executor is broken."""
    try:
        return executor.submit(function, *arguments)
    except BrokenExecutor as error:
        future: Future = Future()
        future.set_exception(error)
        return future


def arrived(future, tasks, left=None):
    """The outcomes of a chunk; those that did not arrive are lost."""
    try:
        results = future.result()
    except Exception as error:
        text = ' '.join(f'{type(error).__name__}: {error}'.split())
        if isinstance(error, BrokenExecutor) and left is not None:
            left += [(task, text) for task in tasks]
            return
        for task in tasks:
            yield Outcome(task.index, error=text, reason='LOST')
        return
    for task, data in zip(tasks, results):
        try:
            yield pickle.loads(data)
        except Exception as error:
            yield Outcome(task.index, **failure(error))
