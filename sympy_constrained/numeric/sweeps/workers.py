"""Make the runs of a sweep: here, in processes, or by an executor.

A :class:`.Job`, which all runs share, is sent as bytes and unpacked once in
each process; runs are sent in chunks. An executor is any object with the
``submit`` of ``concurrent.futures``. Processes are those of loky.
"""
import pickle
from concurrent.futures import (
    BrokenExecutor, Future, ThreadPoolExecutor, as_completed, wait)
from functools import partial
from numbers import Integral
from os import cpu_count

from .jobs import TOGETHER, Job, failure, pack, unpacked


# Chunks per worker, so that all end together, and the largest chunk.
CHUNKS, LARGEST = 8, 128
# Seconds to wait for interrupted runs.
GRACE = 2.
# Chunks per process that are being worked on, or are about to be.
IN_WORK = 2
# Seconds after which an idle process ends, also if its parent has died.
IDLE = 5


def make_runs(job, tasks, receive, executor=None, chunk=None):
    """Make all runs; ``receive`` gets lists of (index, fields)."""
    check_workers(executor, chunk)
    if executor is None:
        here(job, tasks, receive)
        return
    is_count = isinstance(executor, int)
    is_here = isinstance(executor, ThreadPoolExecutor)
    # Threads send nothing, so their chunks are what a loop makes together.
    count, most = (2, TOGETHER) if is_here else (CHUNKS, LARGEST)
    size = chunk or min(most, -(-len(tasks)//(count*(
        executor if is_count else cpu_count() or 1))))
    chunks = [tasks[i:i + size] for i in range(0, len(tasks), size)]
    if is_here:
        elsewhere(executor, chunks, job, receive)
        return
    dumps, is_dask = pickle.dumps, hasattr(executor, 'get_executor')
    if is_count:
        pool = process_pool()
    if is_count or is_dask:
        from cloudpickle import dumps   # a requirement of loky and of Dask
    packed = pack(job, dumps)
    if is_count:
        in_processes(pool, executor, chunks, packed, receive)
    else:
        elsewhere(executor.get_executor(pure=False) if is_dask else executor,
                  chunks, packed, receive)


def check_workers(executor, chunk):
    if chunk is not None and (not isinstance(chunk, Integral) or chunk < 1):
        raise ValueError(
            f"`chunk` is {chunk!r}; it is the number of runs that are sent at "
            "once. Pass a whole number, 1 or more, or leave it out.")
    if executor is not None and not hasattr(executor, 'submit') and (
            type(executor) is not int or executor < 1):
        raise ValueError(
            f"`executor` is {executor!r}; it must be a positive number of "
            "processes, an executor of `concurrent.futures` or a client of "
            "Dask.")


def here(job, tasks, receive):
    for outcome in job.outcomes(tasks):
        receive([outcome])


def run_chunk(job, tasks):
    """Outcomes of some runs, as bytes if the job is given as bytes."""
    outcomes = []
    if isinstance(job, Job):
        here(job, tasks, outcomes.extend)
        return outcomes
    here(unpacked(job), tasks, outcomes.extend)
    return list(map(sent, outcomes))


def sent(outcome):
    """An outcome as bytes, or the error if its value cannot be sent."""
    try:
        return pickle.dumps(outcome)
    except Exception as error:
        return pickle.dumps((outcome[0], failure(error)))


def process_pool():
    try:
        from loky import ProcessPoolExecutor
    except ImportError as error:
        raise ImportError(
            "A number of processes as `executor` needs loky, which is not "
            "installed. Install it (`pip install loky`), or pass an executor "
            "of `concurrent.futures`.") from error
    return partial(ProcessPoolExecutor, timeout=IDLE)


def in_processes(pool, count, chunks, packed, receive):
    """In processes. If one dies, its run is lost and the others are repeated,
    those that may have been in work one by one.
    """
    while chunks:
        left: list = []
        in_pool(pool(min(count, len(chunks))), chunks, packed, receive, left)
        suspects, rest = left[:IN_WORK*count], left[IN_WORK*count:]
        for task in suspects:
            in_pool(pool(1), [[task]], packed, receive)
        chunks = [[task] for task in rest]


def in_pool(executor, chunks, packed, receive, left=None):
    """By a pool, which is shut down after the last run."""
    try:
        elsewhere(executor, chunks, packed, receive, left)
    finally:
        executor.shutdown(wait=True, kill_workers=True)


def elsewhere(executor, chunks, job, receive, left=None):
    """By an executor; if it breaks, ``left`` gets the tasks."""
    waiting: dict[Future, list] = {}
    try:
        for tasks in chunks:
            waiting[submitted(executor, run_chunk, job, tasks)] = tasks
        for future in as_completed(list(waiting)):
            receive(arrived(future, waiting.pop(future), left))
    except KeyboardInterrupt:
        running = [future for future in waiting if not future.cancel()]
        for future in wait(running, GRACE).done:
            receive(arrived(future, waiting[future], left), quietly=True)
        raise
    finally:
        for future in waiting:
            future.cancel()


def submitted(executor, function, *arguments):
    try:
        return executor.submit(function, *arguments)
    except BrokenExecutor as error:
        future: Future = Future()
        future.set_exception(error)
        return future


def arrived(future, tasks, left=None):
    """The outcomes of a chunk; without ``left``, missing ones are lost."""
    try:
        results = future.result()
    except Exception as error:
        if left is not None and isinstance(error, BrokenExecutor):
            left += tasks
            return []
        text = ' '.join(f'{type(error).__name__}: {error}'.split())
        return [(task.index, {'error': text, 'reason': 'LOST'})
                for task in tasks]
    return [received(task, data) for task, data in zip(tasks, results)]


def received(task, data):
    """An outcome, or the error if it cannot be read."""
    try:
        return pickle.loads(data) if isinstance(data, bytes) else data
    except Exception as error:
        return task.index, failure(error)
