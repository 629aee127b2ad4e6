"""Runs of a sweep, here, in processes of its own or by an executor.

What all runs have in common, a :class:`.Job`, travels as bytes, which a
process unpacks once. Runs travel in chunks. An executor is anything with the
``submit`` of ``concurrent.futures``; a Dask client has one to give.
"""
from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterator
from concurrent.futures import (
    BrokenExecutor, Future, ThreadPoolExecutor, as_completed, wait)
from numbers import Integral
from os import cpu_count

from ..trajectory import Reason
from .crew import GRACE, Crew
from .jobs import Outcome, pack, unpacked

__all__ = ['outcomes']

# Chunks for each worker, so that all end together, and their largest size.
CHUNKS, LARGEST = 8, 32


def run_chunk(packed, tasks):
    """Outcomes of some runs, in a process that may know the job."""
    return list(here(unpacked(packed), tasks))


def outcomes(job, tasks, executor=None, chunk=None) -> Iterator[Outcome]:
    """An outcome for each task, as they come.

    An interruption by the keyboard ends it; some tasks then have none.
    """
    if chunk is not None and (not isinstance(chunk, Integral) or chunk < 1):
        raise ValueError(
            f"`chunk` is {chunk!r}; it is the number of runs that are sent at "
            "once. Pass a whole number, 1 or more, or leave it out.")
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
        from cloudpickle import dumps  # it needs this, too
        executor = executor.get_executor(pure=False)
    else:
        dumps = pickle.dumps
    packed = pack(job, dumps)
    if isinstance(executor, int):
        yield from Crew(executor, packed, chunks).outcomes()
        return
    yield from elsewhere(executor, chunks, run_chunk, packed)


def here(job, tasks):
    """One after the other."""
    for task in tasks:
        found = job.outcome(task)
        yield found
        if found.reason == Reason.INTERRUPTED.name:
            break


def elsewhere(executor, chunks, function, *arguments):
    """By an executor."""
    waiting, found = {}, deque()
    try:
        for tasks in chunks:
            waiting[submitted(executor, function, *arguments, tasks)] = tasks
        for future in as_completed(list(waiting)):
            found += arrived(future, waiting.pop(future))
            while found:
                yield found[0]
                found.popleft()
    except KeyboardInterrupt:
        running = [future for future in waiting if not future.cancel()]
        for future in wait(running, GRACE).done:
            found += arrived(future, waiting[future])
        yield from found
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
        return future.result()
    except Exception as error:
        text = f'{type(error).__name__}: {error}'
        if isinstance(error, BrokenExecutor):
            text += (' Give a number of processes as `executor`: then one '
                     'that dies takes one run along, and the others go on.')
        return [Outcome(task.index, error=text, reason='LOST')
                for task in tasks]
