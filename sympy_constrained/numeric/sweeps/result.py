"""What a sweep returns: a record of each run, and arrays over all runs."""
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..names import Names, label
from ..storage import frame
from ..trajectory import Trajectory


# Number of failures in the text of a result.
LISTED = 5


@dataclass(frozen=True, eq=False, slots=True)
class SweepRun:
    """One run of a sweep.

    Attributes
    ==========

    index : int
    parameters : dict
        Name -> value of the constants given for this run.
    start : ndarray or None
        States in order.
    trajectory : Trajectory or None
        Up to the failure of a run that failed; None if the run and the
        ``quantity`` of the sweep succeeded.
    value : object
        The value of ``quantity``, or of a ``run`` that returns no trajectory.
    error : str or None
        Type and text of the exception.
    reason : str
        Name of the :class:`.Reason` of the trajectory, ``'ERROR'`` after an
        exception without a trajectory, ``'LOST'`` if the process died,
        ``'CANCELLED'`` if the sweep was interrupted before the run.
    seconds : float

    """

    index: int
    parameters: dict = field(default_factory=dict)
    start: np.ndarray | None = None
    trajectory: Trajectory | None = None
    value: Any = None
    error: str | None = None
    reason: str = 'END'
    seconds: float = 0.

    @property
    def success(self) -> bool:
        """Whether the run raised no error."""
        return self.error is None

    def __str__(self):
        given = ', '.join(f'{name} = {value:g}'
                          for name, value in self.parameters.items())
        return (f"run {self.index}{f' ({given})' if given else ''}: "
                f"{self.error or self.reason}")


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult:
    """The runs of a sweep, in the order in which they were given.

    Attributes
    ==========

    runs : tuple of SweepRun
    states : tuple of str

    """

    runs: tuple
    states: tuple = ()

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, index):
        return self.runs[index]

    def __repr__(self):
        return (f'<SweepResult of {len(self)} runs, '
                f'{len(self.failed)} failed>')

    def __str__(self):
        lines = [f'{len(self)} runs, {len(self.failed)} failed']
        lines += [f'  {run}' for run in self.failed[:LISTED]]
        if len(self.failed) > LISTED:
            lines.append(f'  and {len(self.failed) - LISTED} more')
        return '\n'.join(lines)

    @property
    def failed(self) -> tuple:
        """The runs with an error."""
        return tuple(run for run in self.runs if not run.success)

    @property
    def seconds(self) -> float:
        """Time spent in all runs together."""
        return sum(run.seconds for run in self.runs)

    # -- arrays ------------------------------------------------------------

    def parameter(self, name) -> np.ndarray:
        """Values of a constant by symbol or name, shape (N,)."""
        known = tuple(self.runs[0].parameters) if self.runs else ()
        at = Names(known, 'parameter of this sweep')
        name = known[at.indices([label(name)], 'name')[0]]
        return np.array([run.parameters[name] for run in self.runs])

    def values(self, quantity=None) -> np.ndarray:
        """A number or an array of each run, shape (N, ...).

        Failed runs have nan.

        Parameters
        ==========

        quantity : state, name or callable, optional
            The last value of a state, or a function of a trajectory. By
            default the values of the ``quantity`` of the sweep.

        """
        if quantity is None:
            values = [run.value for run in self.runs if run.success]
            if any(value is None for value in values):
                raise ValueError(
                    "The runs have no values. Pass `quantity` here or to the "
                    "sweep.")
        else:
            values = self._of_trajectories(quantity)
        try:
            found = np.array(values)
        except ValueError:              # of different shapes
            found = np.array(None)
        if found.dtype.kind not in 'biufc':
            raise ValueError(
                f"The values of the runs, such as {values[-1]!r:.60}, do not "
                "form one array of numbers. Read `value` of each run, or pass "
                "a `quantity` that gives numbers, of the same shape for all.")
        result = np.full((len(self), *found.shape[1:]), np.nan, dtype=(
            complex if np.iscomplexobj(found) else float))
        result[[run.success for run in self.runs]] = found
        return result

    def _of_trajectories(self, quantity):
        done = [run for run in self.runs if run.success]
        if any(run.trajectory is None for run in done):
            raise ValueError(
                "Trajectories were not kept, because the sweep had a "
                "`quantity` or its own `run`. Call `values()` for what it "
                "gave.")
        if callable(quantity) and not hasattr(quantity, 'free_symbols'):
            return [quantity(run.trajectory) for run in done]
        return [run.trajectory[quantity][-1] for run in done]

    def to_frame(self):
        """A ``pandas.DataFrame`` with one row for each run.

        The columns are the parameters, the starts (``start of q1``), the
        last states or the values where they are numbers, ``seconds``,
        ``reason`` and ``error``.
        """
        return frame([self._row(run) for run in self.runs],
                     "`parameter(name)` and `values(quantity)`, which are "
                     "arrays over all runs")

    def _row(self, run):
        row = dict(run.parameters)
        if run.start is not None:
            row |= {f'start of {name}': value
                    for name, value in zip(self.states, run.start.tolist())}
        if run.trajectory is not None and run.success:
            row |= dict(zip(self.states, run.trajectory.x[-1].tolist()))
        elif np.ndim(run.value) == 0 and run.value is not None:
            row['value'] = run.value
        return row | {'seconds': run.seconds, 'reason': run.reason,
                      'error': run.error}
