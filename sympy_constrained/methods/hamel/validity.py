"""Whether Hamel's embedding is right for one choice of coordinates."""
from __future__ import annotations

from dataclasses import dataclass

FAULTS = {
    'curvature': 'curvature of the constraints',
    'neglected row': 'the neglected equations of the dependent coordinates',
    'singular': 'the rows do not determine these velocities',
    'nonlinear': 'the rows are not linear in these velocities'}


@dataclass(frozen=True)
class Validity:
    """What is known of an embedding with these dependent coordinates.

    Attributes
    ==========

    q_dependent : tuple
    holds : bool or None
        Whether Hamel's equations are right; None if the discrepancy vanishes
        at all states that were tried, without a proof.
    faults : tuple of str
        ``'curvature'``, ``'neglected row'``, or both, which may also cancel if
        ``holds``. ``'singular'`` or ``'nonlinear'`` if there are no equations.
    discrepancy : tuple of float or None
        ``E`` at ``state``, where it is not zero.
    state : dict or None
    """

    q_dependent: tuple
    holds: bool | None
    faults: tuple = ()
    discrepancy: tuple | None = None
    state: dict | None = None

    def __str__(self):
        names = ', '.join(str(q.func) for q in self.q_dependent)
        reasons = ' and '.join(FAULTS[fault] for fault in self.faults)
        if self.holds is None:
            verdict = 'not decided'
        elif self.holds:
            verdict = f'right, {reasons} cancel' if reasons else 'right'
        else:
            verdict = 'wrong, because of '*bool(self.discrepancy) + reasons
        return f'{names or "nothing"} dependent: {verdict}'
