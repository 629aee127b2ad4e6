"""The job that all runs of a sweep share, and how a run is made."""
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..compiled import CompiledEquations
from ..integrate.batch import OPTIONS, Batch
from ..integrate.simulate import simulate
from ..outcome import Reason
from ..trajectory import Trajectory


# Runs that are made together.
TOGETHER = 256
INTERRUPTED = {'error': Reason.INTERRUPTED.value,
               'reason': Reason.INTERRUPTED.name}


class Task(NamedTuple):
    index: int
    p: np.ndarray | None
    start: np.ndarray | None


@dataclass(frozen=True)
class Job:
    compiled: CompiledEquations
    run: Callable
    quantity: Callable | None
    options: dict
    t_span: Any = None
    start: Callable | None = None

    def outcomes(self, tasks):
        """Index and :class:`.SweepRun` fields; an interrupted run is last."""
        together, is_worth_it = {}, True
        for k, task in enumerate(tasks):
            if k % TOGETHER == 0 and is_worth_it:
                some = tasks[k:k + TOGETHER]
                try:
                    together = self._together(some)
                except KeyboardInterrupt:
                    yield task.index, INTERRUPTED
                    break
                is_worth_it = 2*len(together) > len(some)
            fields = self._outcome(task, together.pop(task.index, None))
            yield task.index, fields
            if fields['reason'] == Reason.INTERRUPTED.name:
                break

    def _together(self, tasks) -> dict:
        """Index -> trajectory of runs that a compiled loop makes together."""
        if self.run is not simulate or not (
                isinstance(self.compiled, CompiledEquations)
                and self.options.keys() <= OPTIONS):
            return {}
        starts = []
        for task in tasks:
            x = task.start
            if self.start:
                try:
                    x = self.compiled.names.vector(
                        self.start(self._equations(task)), 'start')
                except Exception:       # the run will raise it
                    continue
            starts.append((task.index, x, self.compiled.parameters(task.p)))
        if not starts:
            return {}
        index, x, p = zip(*starts)
        batch = Batch(self.compiled, self.t_span, np.array(x), np.array(p),
                      **self.options)
        return {i: trajectory for i, trajectory in zip(
            index, batch.trajectories) if trajectory is not None}

    def _equations(self, task):
        return self.compiled if task.p is None else (
            self.compiled.at_constants(task.p))

    def _outcome(self, task, trajectory):
        begun = perf_counter()
        try:
            fields = self._fields(task, trajectory)
        except KeyboardInterrupt:
            fields = INTERRUPTED
        except Exception as error:
            fields = failure(error)
        seconds = trajectory.statistics['seconds'] if trajectory else 0.
        return {'reason': 'END', 'error': None, **fields,
                'seconds': perf_counter() - begun + seconds}

    def _fields(self, task, result):
        """What became of a run; a failed ``quantity`` keeps the motion."""
        compiled = self._equations(task)
        if result is None:
            start = self.start(compiled) if self.start else task.start
            arguments = [x for x in (self.t_span, start) if x is not None]
            result = self.run(compiled, *arguments, **self.options)
        if not isinstance(result, Trajectory):
            return {'value': self.quantity(compiled, result)
                    if self.quantity else result}
        reason = result.reason.name
        if not result.success:
            return {'error': result.message, 'trajectory': result,
                    'reason': reason}
        if self.quantity is None:
            return {'trajectory': result, 'reason': reason}
        try:
            return {'value': self.quantity(compiled, result),
                    'reason': reason}
        except Exception as error:
            return {**failure(error), 'trajectory': result}


def failure(error):
    trajectory = getattr(error, 'trajectory', None)
    reason = getattr(error, 'reason', None)
    return {'error': f'{type(error).__name__}: {error}',
            'trajectory': trajectory,
            'reason': reason.name if isinstance(reason, Reason) else 'ERROR'}


# -- to other processes ------------------------------------------------------

def pack(job, dumps):
    try:
        return dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"The sweep cannot be sent to other processes: {error}. "
            "For this executor define functions given as `run`, `quantity`, "
            "`states` or `inputs` at the top of a module, or pass a number of "
            "processes.") from error


@lru_cache(maxsize=4)
def unpacked(packed):
    """The job, unpacked once in a process."""
    return pickle.loads(packed)
