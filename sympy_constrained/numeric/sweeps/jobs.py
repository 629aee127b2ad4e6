"""The job that all runs of a sweep share, and how a run is made."""
from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..compiled import CompiledEquations
from ..outcome import Reason
from ..trajectory import Trajectory

__all__ = ['Job', 'Task', 'failure', 'pack', 'unpacked']


class Task(NamedTuple):
    """What differs between runs."""

    index: int
    p: np.ndarray | None
    start: np.ndarray | None


@dataclass(frozen=True)
class Job:
    """What all runs of a sweep have in common."""

    compiled: CompiledEquations
    run: Callable
    quantity: Callable | None
    options: dict
    t_span: Any = None
    start: Callable | None = None

    def outcome(self, task) -> tuple[int, dict]:
        """The index of a run, and fields of its :class:`.SweepRun`."""
        begun = perf_counter()
        try:
            fields = self._fields(task)
        except KeyboardInterrupt:
            fields = {'error': Reason.INTERRUPTED.value,
                      'reason': Reason.INTERRUPTED.name}
        except Exception as error:
            fields = failure(error)
        return task.index, {'reason': 'END', 'error': None, **fields,
                            'seconds': perf_counter() - begun}

    def _fields(self, task):
        """What became of a run; a failed ``quantity`` keeps the motion."""
        compiled = self.compiled
        if task.p is not None:
            compiled = compiled.with_values(task.p)
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
    """Fields of a run that raised an exception."""
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
