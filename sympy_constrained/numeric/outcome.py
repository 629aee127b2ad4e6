"""Why a simulation ended, and what happened on its way."""
from dataclasses import dataclass
from enum import Enum

import numpy as np


class Reason(Enum):
    """Why a simulation ended; the value is a sentence."""

    END = "Completed."
    EVENT = "A terminal event occurred."
    SINGULAR = "The equations became singular."
    NOT_FINITE = "The equations have no finite value there."
    STEP_SIZE = "The integrator needs smaller steps than numbers allow."
    NOT_SOLVED = "The equations of a step were not solved."
    STEPS = "The end needs more steps than are allowed."
    OFF_CONSTRAINTS = "The state could not be returned to the constraints."
    NO_BRANCH = "The velocity selects no branch of a singular configuration."
    CONTRADICTION = "Redundant constraints contradict each other."
    INTERRUPTED = "The run was interrupted."
    NOT_OPTIMAL = "No motion of least cost was found."
    ERROR = "A function of the user's raised an error."


@dataclass(frozen=True, eq=False)
class Event:
    """A zero of an event function.

    Attributes
    ==========

    index : int
        Position of the function in ``events``.
    t : float
    x : ndarray, shape (ns,)
    after : ndarray, shape (ns,), or None
        The states after a jump, None without.

    """

    index: int
    t: float
    x: np.ndarray
    after: np.ndarray | None = None


@dataclass(frozen=True)
class RankChange:
    """A change of the rank of ``W`` during a run.

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
        return f"rank {self.before} became {self.after} at t = {self.t:.6g}"
