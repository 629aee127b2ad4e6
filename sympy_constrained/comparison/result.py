"""The result of one formulation for a model."""
from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum

import numpy as np

__all__ = ['AGREE', 'Formulation', 'Verdict']

# Largest relative difference that counts as agreement.
AGREE = 1e-8


class Verdict(Enum):
    """Outcome of a formulation; the value begins its sentence."""

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
    """Result of one formulation; ``print`` it for a sentence.

    What was not reached is None: a formulation that refuses the model has no
    accelerations, and one without multipliers no constraint forces.

    Attributes
    ==========

    name : str
    verdict : Verdict
    reason : str
        Why it differs, refuses or has no value, or which choices it made.
    is_ours : bool
        Whether it belongs to this package and is expected to agree.
    seconds : float or None
        Processor time of the derivation.
    operations : int or None
        In the equations, shared parts counted once.
    states, accelerations_count, multipliers : int or None
        Sizes: of the state, and of the two parts of the unknowns.
    microseconds : float or None
        Median time of one evaluation of the rates of all states.
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
        """Whether it, or the package, is wrong.

        Errors and singular equations of SymPy's methods do not count.
        """
        return self.verdict in (Verdict.DIFFERS, Verdict.INTERRUPTED) or (
            self.is_ours and self.verdict in (
                Verdict.RAISES, Verdict.NO_VALUE))

    def __str__(self):
        joint = ' ' if self.verdict in (
            Verdict.RAISES, Verdict.STOPPED) else ': '
        reason = joint + self.reason if self.reason else ''
        return f'{self.name} {self.verdict.value}{reason}'

    def as_row(self):
        """Dictionary of everything but the accelerations themselves."""
        names = {'name': 'formulation', 'force_error': 'force error',
                 'accelerations_count': 'unknown accelerations'}
        return {names.get(f.name, f.name): getattr(self, f.name)
                for f in fields(self)
                if f.name not in ('is_ours', 'accelerations')} | {
                    'verdict': self.verdict.value}
