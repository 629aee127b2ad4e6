"""Measurements, and what is identified from them."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..compiled import CompiledEquations
from ..names import Names, label


class Measurement(NamedTuple):
    """Values of outputs at some times of one motion.

    ``values`` maps outputs to arrays of shape (N,), as a dictionary or a data
    frame: expressions in states, accelerations, multipliers, ..., or names of
    states and accelerations; ``nan`` where a value is missing. ``start`` are
    the initial values, those that are unknown as guesses, at ``t[0]``.
    """

    t: Sequence
    values: Mapping
    start: Mapping | Sequence


@dataclass(frozen=True, eq=False)
class Identification:
    """The result of :func:`identify`; ``result[m]`` is an estimate.

    Attributes
    ==========

    values, deviation : ndarray, shape (k,)
        Estimates of the ``unknown``, and their standard deviations.
    covariance : ndarray, shape (k, k)
        Infinite for estimates that are not determined to a factor of two.
    undetermined : tuple of dict
        Combinations of the unknowns that the measurements do not determine:
        unknown -> relative change.
    noise : float
        Estimated standard deviation of the measured values; relative to
        ``deviations`` where these are given, and then near 1 if the model
        fits.
    residuals : ndarray
        Model less measurement, in standard deviations.
    measured, motions : tuples of Record and of Sensitivities
        The measurements as arrays, and their motions.
    gap : float
        Largest gap between segments, relative to the states.
    equations : CompiledEquations
        With the estimates.
    evaluations : int
        Number of integrations of each motion.
    success, message : bool, str
        Whether the search has converged, or why not, and doubts about the
        result. Without convergence the estimates are the best ones so far.

    """

    unknown: tuple
    values: np.ndarray
    covariance: np.ndarray
    undetermined: tuple
    noise: float
    residuals: np.ndarray
    measured: tuple
    motions: tuple
    gap: float
    equations: CompiledEquations
    evaluations: int
    success: bool
    message: str

    def __getitem__(self, key):
        return float(self.values[Names(self.unknown, 'unknown').index(key)])

    @property
    def deviation(self):
        return np.sqrt(np.diag(self.covariance))

    def __repr__(self):
        text = ', '.join(
            f'{label(item)} = {value:.6g} ± {error:.2g}' for item, value, error
            in zip(self.unknown, self.values, self.deviation))
        count = len(self.undetermined)
        rest = f'; {count} combinations not determined' if count else ''
        rest += '' if self.success else f'. {self.message}'
        return f'<Identification: {text}{rest}>'
