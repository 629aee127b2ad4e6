"""What a simulation returns: arrays by name and the reason it ended."""
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import numpy as np

from .names import Names

__all__ = ['Trajectory', 'Reason', 'Event', 'RankChange']


class Reason(Enum):
    """Why a simulation ended; the value is a sentence."""

    END = "The end of the time span was reached."
    EVENT = "A terminal event occurred."
    SINGULAR = "The equations became singular."
    NOT_FINITE = "The equations have no finite value there."
    STEP_SIZE = "The integrator needs smaller steps than numbers allow."
    OFF_CONSTRAINTS = "The state could not be returned to the constraints."
    CONTRADICTION = "Redundant constraints contradict each other."
    INTERRUPTED = "The run was interrupted."

    @property
    def is_success(self) -> bool:
        """Whether the run ended as the user asked."""
        return self in (Reason.END, Reason.EVENT)


@dataclass(frozen=True, eq=False)
class Event:
    """A zero of an event function.

    Attributes
    ==========

    index : int
        Position of the function in ``events``.
    t : float
    x : ndarray, shape (ns,)

    """

    index: int
    t: float
    x: np.ndarray


@dataclass(frozen=True)
class RankChange:
    """The rank of ``W`` changed on the way.

    Attributes
    ==========

    t : float
        Time of the first accepted step with the new rank.
    before, after : int

    """

    t: float
    before: int
    after: int

    def __str__(self):
        return (f"rank {self.before} became {self.after} at "
                f"t = {self.t:.6g}")


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Arrays of a motion, indexed by SymPy object or by name.

    Explanation
    ===========

    ``N = len(trajectory)`` is the number of output times, not of steps. All
    arrays are read-only. ``trajectory[q1]`` or ``trajectory['q1']`` is the
    history of a state or multiplier, ``trajectory['t']`` that of time.

    Attributes
    ==========

    t : ndarray, shape (N,)
    x : ndarray, shape (N, ns)
        States in the order of ``states``.
    residuals : ndarray, shape (N, mh + mv)
        Holonomic, then velocity-level residuals, as in ``residual_names``.
    multipliers : ndarray, shape (N, m)
        Of least norm where they are not unique.
    constraint_forces : ndarray, shape (N, o)
        Generalized constraint forces ``Q_c`` of ``M*u' = Q + Q_c``.
    energy : ndarray, shape (N,), or None
        Kinetic plus potential; None where it is not known.
    work : ndarray, shape (N,), or None
        Done since the start by known forces without a potential and by
        constraints that move; None where it is not known.
    rank : ndarray of int, shape (N,)
        Rank of ``W``.
    condition : ndarray, shape (N,)
        Reciprocal condition number of the scaled ``W`` at the nominal rank;
        it tends to 0 towards a singular configuration.
    states, speeds, multiplier_names : tuple of SymPy objects
    residual_names : tuple of str
    constants : dict
        Symbol -> value.
    reason : Reason
    message : str
        The reason with its circumstances.
    events : tuple of Event
    rank_changes : tuple of RankChange
    statistics : dict
        Counts of ``steps``, ``evaluations`` and ``seconds``.

    """

    t: np.ndarray
    x: np.ndarray
    residuals: np.ndarray
    multipliers: np.ndarray
    constraint_forces: np.ndarray
    energy: np.ndarray | None
    work: np.ndarray | None
    rank: np.ndarray
    condition: np.ndarray
    states: tuple
    speeds: tuple
    multiplier_names: tuple
    residual_names: tuple
    constants: dict
    reason: Reason
    message: str
    events: tuple = ()
    rank_changes: tuple = ()
    statistics: dict = field(default_factory=dict)

    def __post_init__(self):
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        if not len(self):
            return f'<Trajectory of {len(self.states)} states, empty>'
        return (f'<Trajectory of {len(self.states)} states, '
                f'{len(self)} times from {self.t[0]:g} to {self.t[-1]:g}: '
                f'{self.message}>')

    @cached_property
    def _names(self):
        return Names((*self.states, *self.multiplier_names),
                     'state or multiplier')

    def __getitem__(self, key) -> np.ndarray:
        """History of a state or multiplier, shape (N,)."""
        if isinstance(key, str) and key == 't':
            return self.t
        index = self._names.index(key)
        if index < len(self.states):
            return self.x[:, index]
        return self.multipliers[:, index - len(self.states)]

    @property
    def success(self) -> bool:
        """Whether the run ended as the user asked."""
        return self.reason.is_success

    @property
    def energy_error(self) -> np.ndarray | None:
        """Change of energy less work since the first output time.

        Zero for an exact solution.
        """
        if self.energy is None or self.work is None:
            return None
        return self.energy - self.energy[:1] - self.work + self.work[:1]

    @property
    def largest_residual(self) -> float:
        """The largest absolute residual of all rows and times."""
        return float(np.abs(self.residuals).max(initial=0.))
