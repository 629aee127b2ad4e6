"""What one formulation made of a model, and how that reads."""
from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

__all__ = ['Formulation', 'Verdict']


class Verdict(Enum):
    """What a formulation turned out to be; the value begins its sentence."""

    REFERENCE = 'reference'
    AGREES = 'agrees'
    MUST_DIFFER = 'differs as it must'
    DIFFERS = 'DIFFERS'
    REFUSES = 'refuses'
    RAISES = 'raises'
    NO_VALUE = 'has no value'
    STOPPED = 'stopped'
    NOT_TRIED = 'not tried'
    INTERRUPTED = 'interrupted'


@dataclass(frozen=True, eq=False)
class Formulation:
    """What one formulation made of the model; ``print`` it for a sentence.

    Explanation
    ===========

    What was not reached is None: a formulation that refuses the model has no
    accelerations, and one without multipliers no constraint forces of its
    own.

    Attributes
    ==========

    name : str
    verdict : Verdict
    reason : str
        Why it differs, refuses or has no value, or what it was made with.
    is_ours : bool
        Whether it belongs to this package, and is expected to agree.
    seconds : float or None
        Processor time of the derivation.
    operations : int or None
        In the equations, shared parts counted once.
    states, accelerations_count, multipliers : int or None
        Sizes: of the state, and of the two parts of the unknowns.
    microseconds : float or None
        Time of one evaluation of the rates of all states, the median of
        some repetitions.
    error, force_error : float or None
        Largest difference of accelerations, relative to the largest; and of
        generalized constraint forces, relative to the largest force.
    accelerations : ndarray, shape (number of states, o), or None
        Rates of the speeds of the reference, at the sampled states.

    """

    name: str
    verdict: Verdict
    reason: str = ''
    is_ours: bool = True
    seconds: float | None = None
    operations: int | None = None
    states: int | None = None
    accelerations_count: int | None = None
    multipliers: int | None = None
    microseconds: float | None = None
    error: float | None = None
    force_error: float | None = None
    accelerations: np.ndarray | None = None

    @property
    def is_trouble(self):
        """Whether something is wrong with it, or with the package.

        What SymPy's methods refuse or do not get done is none.
        """
        if self.verdict in (Verdict.DIFFERS, Verdict.INTERRUPTED):
            return True
        return self.is_ours and self.verdict in (
            Verdict.RAISES, Verdict.NO_VALUE)

    def __str__(self):
        text = self.verdict.value
        if self.reason:
            joint = ' ' if self.verdict in (
                Verdict.RAISES, Verdict.STOPPED) else ': '
            text += joint + self.reason
        return f'{self.name} {text}'

    def as_row(self):
        """Dictionary of everything but the accelerations themselves."""
        return {
            'formulation': self.name, 'verdict': self.verdict.value,
            'reason': self.reason, 'seconds': self.seconds,
            'operations': self.operations, 'states': self.states,
            'unknown accelerations': self.accelerations_count,
            'multipliers': self.multipliers,
            'microseconds': self.microseconds, 'error': self.error,
            'force error': self.force_error}
