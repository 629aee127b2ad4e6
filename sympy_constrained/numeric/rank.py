"""The rank decision along a motion: kept, watched, made anew."""
from __future__ import annotations

from warnings import warn

import numpy as np
from scipy.linalg.lapack import dgetrf

from ..errors import InconsistentConstraintsError, SingularEquationsError
from .linear import LinearSolver, Solution
from .projection import distances
from .trajectory import RankChange

__all__ = ['CarriedRank']

# The carried choice of independent rows is made anew when its condition is
# worse than that of all rows by this factor.
WORN = 1e-3


class CarriedRank:
    """The solver in use, and the changes of rank up to now.

    Parameters
    ==========

    compiled : CompiledEquations
    t : float
    x : ndarray
        A consistent state at the start.

    """

    def __init__(self, compiled, t, x):
        self.compiled = compiled
        self.solver: LinearSolver = compiled.linear_solver(t, x)
        self.changes: list[RankChange] = []
        self._earlier: LinearSolver | None = None
        self._sign = 0.

    def watch(self, t, x, drift=None):
        """Look at an accepted state; decide again where there is doubt.

        Parameters
        ==========

        t : float
        x : ndarray
        drift : float, optional
            Relative distance from the constraint set, where it is known.

        Raises
        ======

        SingularEquationsError
        InconsistentConstraintsError

        """
        solver = self.solver
        if solver.kept is None:         # full rank; LU sees a loss by itself
            self._watch_sign(t, x)      # unless it lies between two steps
            return
        if drift is None:
            drift = distances(self.compiled, t, x).relative
        W, r = self.compiled.matrices(t, x)
        contradiction = None
        try:
            found = solver.solve_all(W, r, drift)
            _, condition = solver.solve(W, r)
            if found.rank == solver.rank and (
                    condition > WORN*found.condition):
                return
        except InconsistentConstraintsError as error:
            contradiction = error       # unless the rank has begun to rise
        self._earlier = solver
        self.solver = self.compiled.linear_solver(t, x)
        if self.solver.rank != solver.rank:
            change = RankChange(float(t), solver.rank, self.solver.rank)
            self.changes.append(change)
            warn(f"The rank of the equations changed: {change}. Multipliers "
                 "before and after are not comparable.", stacklevel=7)
        elif contradiction is not None:
            raise contradiction

    def turn(self):
        """Let the determinant change its sign here."""
        self._sign = 0.

    def _watch_sign(self, t, x):
        """Raise if the determinant has changed its sign since the start."""
        W, _ = self.compiled.matrices(t, x)
        lu, pivots, _ = dgetrf(W*self.solver.scale)
        swaps = np.count_nonzero(pivots != np.arange(len(pivots)))
        sign = np.prod(np.sign(lu.diagonal()))*(-1)**swaps
        if sign*self._sign < 0:
            raise SingularEquationsError(
                "The determinant of the equations has changed its sign since "
                "the last step.", condition=0., rank=self.solver.rank)
        self._sign = sign

    def solve_all(self, W, r, t, x) -> Solution:
        """The checked solution at an output time.

        That may lie before the last change, where the earlier rank holds.
        """
        drift = 0. if self.solver.kept is None else (
            distances(self.compiled, t, x).relative)
        try:
            return self.solver.solve_all(W, r, drift)
        except SingularEquationsError:
            if self._earlier is None:
                raise
            return self._earlier.solve_all(W, r, drift)
