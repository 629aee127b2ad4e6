"""Solve ``W z = r`` where constraint rows may be redundant.

The rank is decided once, on the constraint set (:doc:`/theory/numbers`).
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs, dlange

from ...errors import (
    ConstrainedDynamicsError, ConstraintError, InconsistentConstraintsError,
    SingularEquationsError)
from ..tolerances import (
    BACKWARD, CLEAR, CONTRADICTION, DRIFT_FACTOR, MOTION_PART, NOTHING,
    OUTGROWN, POOR_CHOICE, RISE, SINGULAR)
from .rank import check_rows, numerical_rank, rank_by_pivots
from .scaling import (
    balance, best_scaling, equilibrate, has_tiny_masses, scales)


# Factor of rows below the first of equal diagonal blocks.
BELOW = 2.**-100


@dataclass(frozen=True)
class Solution:
    """``z`` with multipliers of least norm, and the state of the rank.

    ``rank`` is that of ``W`` at this state, above the nominal rank after a
    rise; ``condition`` the reciprocal condition number of the scaled ``W`` at
    the nominal rank.
    """

    z: np.ndarray
    rank: int
    condition: float


@dataclass(frozen=True, eq=False)
class LinearSolver:
    """Solver of ``W z = r`` with a rank decided beforehand.

    Made by :meth:`decide`. With full rank it uses LU. With redundant rows,
    :meth:`solve` factorises the independent rows and columns, and
    :meth:`solve_all` truncates a singular value decomposition at the rank.

    Attributes
    ==========

    motion : int
        Number of accelerations among the unknowns; multipliers follow.
    rank : int
        The nominal rank.
    row_scale, column_scale : ndarray, shape (s,)
    kept : tuple of two index arrays, or None
        Independent rows and columns; None if all are.
    singular_values : ndarray, shape (s,)
        Of the scaled ``W`` at the state of the decision.
    equations, unknowns : tuple of str
        Labels for messages.
    contradiction : {'error', 'least-squares'}
        Treatment of redundant rows with different right sides.
    copies : tuple of index arrays
        Positions of equal diagonal blocks, if ``W`` consists of them and of
        entries below.
    base : LinearSolver or None
        The solver of the first of these blocks.
    """

    motion: int
    rank: int
    row_scale: np.ndarray
    column_scale: np.ndarray
    kept: tuple | None
    singular_values: np.ndarray
    equations: tuple
    unknowns: tuple
    contradiction: str = 'error'
    copies: tuple = ()
    base: LinearSolver | None = None

    @classmethod
    def decide(cls, matrices, magnitudes, motion, equations, unknowns,
               contradiction='error'):
        """Decide the rank from ``W`` at consistent states.

        ``matrices`` are ``W`` at the state in question, then at others nearby;
        the rank is the largest. ``magnitudes`` is the usual size of the
        entries, 0 where they vanish identically. Raises
        SingularEquationsError if the rank is lower at the first state,
        ConstraintError without a gap between singular values, and
        ConstrainedDynamicsError if the accelerations are not determined.
        """
        balanced = balance(magnitudes, motion)
        plain = equilibrate(magnitudes)
        scalings = scales(magnitudes, balanced), balanced
        # Tiny masses only count if the constraints leave them free.
        rows, columns, scaled, spectra = (
            best_scaling(matrices, (plain, *scalings), CLEAR)
            if has_tiny_masses(magnitudes, plain, motion) else
            best_scaling(matrices, scalings))
        try:
            ranks = [numerical_rank(sigma) for _, sigma, _ in spectra]
        except ConstraintError:     # a residue may have determined a factor
            other = best_scaling(matrices, (plain,))
            try:
                ranks = [numerical_rank(sigma) for _, sigma, _ in other[3]]
                rows, columns, scaled, spectra = other
            except ConstraintError:
                ranks = [rank_by_pivots(W, motion) for W in matrices]
                if None in ranks:
                    raise
        best = int(np.argmax(ranks))
        rank = ranks[best]
        surplus = [check_rows(matrix, motion, len(rows) - k, equations)
                   for matrix, k in zip(scaled, ranks)][best]
        _, sigma, vh = spectra[best]
        free = np.abs(vh[rank:, :motion]).max(axis=0, initial=0)
        if (free > MOTION_PART).any() or surplus > 0:
            names = ', '.join(unknowns[i] for i in np.flatnonzero(
                free > min(MOTION_PART, free.max()/2)))
            raise ConstrainedDynamicsError(
                f"The equations do not determine {names}: W has rank {rank} "
                f"of {len(sigma)}, and redundant rows do not explain this. "
                "Usually a coordinate has no mass and no constraint "
                "holds it. Give it mass, or add a constraint.",
                rank=rank, unknowns=names)
        if ranks[0] < rank:
            raise SingularEquationsError(
                f"The rank of the equations is {ranks[0]} at this state and "
                f"{rank} beside it: a singular configuration, where the "
                "motion may branch and multipliers are unbounded. Start "
                "from a state beside it.", rank=ranks[0], condition=0.)
        kept = None
        if rank < len(sigma):
            kept = tuple(np.sort(qr(m, mode='r', pivoting=True)[1][:rank])
                         for m in (scaled[0].T, scaled[0]))
        return cls(motion, rank, rows, columns, kept, spectra[0][1],
                   tuple(equations), tuple(unknowns), contradiction)

    def repeated(self, copies):
        """The solver of a matrix with several such diagonal blocks.

        Rows and columns are scaled so that the entries below these blocks
        count for nothing.
        """
        copies = tuple(map(np.array, copies))
        rows, columns = np.ones((2, sum(map(len, copies))))
        for k, copy in enumerate(copies):
            rows[copy] = self.row_scale*(BELOW if k else 1.)
            columns[copy] = self.column_scale/(BELOW if k else 1.)
        kept = self.kept and tuple(
            np.sort(np.concatenate([copy[part] for copy in copies]))
            for part in self.kept)
        return replace(
            self, motion=self.motion*len(copies), rank=self.rank*len(copies),
            row_scale=rows, column_scale=columns, kept=kept,
            singular_values=np.repeat(self.singular_values, len(copies)),
            copies=copies, base=self)

    @property
    def first(self):
        return self.base or self

    @cached_property
    def sizes(self):
        """The usual size of the rows, then of the columns of ``W``."""
        return 1/np.concatenate([self.row_scale, self.column_scale])

    @property
    def leaves_out_rows_only(self):
        """Whether the solution leaves out constraint rows and nothing else."""
        return self.contradiction == 'error' and (
            self.kept is None
            or np.count_nonzero(self.kept[0] < self.motion) == self.motion)

    @property
    def rows_in_use(self):
        """The independent constraint rows, None if all rows are."""
        return None if self.kept is None else tuple(
            int(k) - self.motion for k in self.kept[0] if k >= self.motion)

    @cached_property
    def scale(self):
        return np.outer(self.row_scale, self.column_scale)

    def is_outgrown(self, matrix):
        """Whether entries are much larger than where they were scaled."""
        return np.abs(matrix*self.scale).max(initial=0) > OUTGROWN

    def fitting(self, matrix):
        """This solver, or one with another scaling if it is outgrown."""
        if not self.is_outgrown(matrix):
            return self
        rows, columns = equilibrate(np.abs(matrix*self.scale))
        return replace(self, row_scale=rows*self.row_scale,
                       column_scale=columns*self.column_scale)

    def solve(self, matrix, right):
        """``z`` and the reciprocal condition, for the stages of an integrator.

        Multipliers of redundant rows are 0, and redundant rows are not
        compared. Raises SingularEquationsError.
        """
        self = self.fitting(matrix)
        scaled = matrix*self.scale
        right = right*self.row_scale
        if self.kept is None:
            z, condition = lu_solve(scaled, right)
            if condition < SINGULAR:
                self._singular(condition)
            return z*self.column_scale, condition
        rows, columns = self.kept
        if self.contradiction == 'error':
            part, condition = lu_solve(
                scaled[rows[:, None], columns], right[rows])
            if not condition < POOR_CHOICE:
                z = np.zeros(len(right))
                z[columns] = part*self.column_scale[columns]
                return z, condition
        solution = self._truncated(scaled, right)
        return solution.z, solution.condition

    def solve_transposed(self, matrix, right):
        """As :meth:`solve`, with the transpose of the matrix."""
        transposed = replace(
            self, row_scale=self.column_scale, column_scale=self.row_scale,
            kept=self.kept and self.kept[::-1])
        return transposed.solve(matrix.T, right)

    def solve_many(self, matrices, rights, solve_each):
        """``z``, ranks and conditions at many states of full rank, or None.

        ``solve_each`` is the function below, or a quicker one.
        """
        if self.base is not None:
            return self._solve_blocks(matrices, rights, solve_each)
        scaled = np.multiply(matrices, self.scale, order='C')
        if np.abs(scaled).max(initial=0) > OUTGROWN or not scaled.size:
            return None
        z, condition = solve_each(
            scaled, np.multiply(rights, self.row_scale, order='C'))
        if not condition.min() > SINGULAR:
            return None
        return (z*self.column_scale, np.full(len(z), self.rank), condition)

    def _solve_blocks(self, matrices, rights, solve_each):
        first, *others = self.copies
        block = matrices[:, first[:, None], first]
        found = self.base.solve_many(block, rights[:, first], solve_each)
        if found is None:
            return None
        z, rank, condition = found
        every = np.zeros_like(rights)
        every[:, first] = z
        others = np.array(others)
        below = matrices[:, others[..., None], first]@z[:, None, :, None]
        rest = (rights[:, others] - below[..., 0])*self.base.row_scale
        every[:, others] = np.linalg.solve(
            block*self.base.scale, rest.swapaxes(1, 2)).swapaxes(
                1, 2)*self.base.column_scale
        return every, rank*len(self.copies), condition

    def solve_all(self, matrix, right, drift=0., rounding=None) -> Solution:
        """The solution with multipliers of least norm, and checks.

        ``drift`` is the relative distance of the state from the constraint
        set, up to which redundant rows may differ; ``rounding()`` the rounding
        errors of ``right`` in the first block. Raises SingularEquationsError
        or InconsistentConstraintsError.
        """
        if self.kept is None:
            z, condition = self.solve(matrix, right)
            return Solution(z, self.rank, condition)
        if self.base is not None:
            first = self.copies[0]
            found = self.base.solve_all(
                matrix[np.ix_(first, first)], right[first], drift, rounding)
            z = self.solve(matrix, right)[0]
            z[first] = found.z
            return Solution(z, found.rank*len(self.copies), found.condition)
        self = self.fitting(matrix)
        scaled = matrix*self.scale
        return self._truncated(scaled, right*self.row_scale, drift, rounding)

    def reactions(self, matrix, right, accelerations) -> Solution:
        """Multipliers of least norm where the accelerations are known."""
        k = self.motion
        sigma = np.linalg.svd(matrix*self.scale, compute_uv=False)
        rest = right[:k] - matrix[:k, :k]@accelerations
        found = np.linalg.lstsq(matrix[:k, k:], rest, rcond=POOR_CHOICE)[0]
        return Solution(np.concatenate([accelerations, found]), self.rank,
                        float(sigma[self.rank - 1]/sigma[0]))

    def _truncated(self, scaled, right, drift=None, rounding=None):
        """Singular value decomposition truncated at the nominal rank.

        Without ``drift``, rises and contradictions are not checked.
        """
        left, sigma, vh = np.linalg.svd(scaled)
        k = self.rank
        condition = sigma[k - 1]/sigma[0] if k and sigma[0] else 1.
        if condition < SINGULAR:
            self._singular(condition)
        if self.contradiction == 'least-squares':
            # the nearest right side, unscaled, without contradictions
            basis = np.linalg.qr(self.row_scale[:, None]*left[:, k:])[0]
            right = right/self.row_scale
            right = (right - basis@(basis.T@right))*self.row_scale
            drift = None
        z = vh[:k].T@((left[:, :k].T@right)/sigma[:k])*self.column_scale
        if k < len(sigma):
            lam = slice(self.motion, None)
            null = self.column_scale[lam, None]*vh[k:, lam].T
            basis = np.linalg.qr(null)[0]
            z[lam] -= basis@(basis.T@z[lam])
        rank = k
        if drift is not None:
            limit = max(RISE, DRIFT_FACTOR*drift)
            rank = max(k, int(np.sum(sigma > limit*sigma[0])))
            if rank == k:
                self._check(scaled, right, z/self.column_scale, drift,
                            rounding)
        return Solution(z, rank, float(condition))

    def _check(self, scaled, right, z, drift, rounding):
        """Raise unless every row holds, compared with its own terms."""
        terms = scaled*z
        own = np.abs(terms).sum(axis=1) + np.abs(right)
        rest = np.abs(terms.sum(axis=1) - right)
        allowed = CONTRADICTION*own + NOTHING + (
            BACKWARD + DRIFT_FACTOR*drift)*own.max(initial=0)
        if rounding is not None and (rest > allowed).any():
            allowed += (rounding()*self.row_scale).max()    # it spreads
        rows = np.flatnonzero(rest > allowed)
        names = tuple(self.equations[i] for i in rows)
        if len(rows) and rows[-1] < self.motion:
            raise SingularEquationsError(
                f"No solution of rank {self.rank} satisfies "
                f"{', '.join(names)}: the rank of the equations is higher "
                "than where it was decided.", condition=0., rank=self.rank)
        if names:
            raise InconsistentConstraintsError(
                f"Redundant rows contradict each other: {', '.join(names)}. "
                "Their left sides are dependent, their right sides are not, "
                "so no acceleration satisfies all of them. Drop or correct "
                "one.", rows=names)

    def _singular(self, condition):
        raise SingularEquationsError(
            "The equations became singular (reciprocal condition "
            f"{condition:.0e} at the nominal rank {self.rank}).",
            condition=float(condition), rank=self.rank)


def solve_each(matrices, rights):
    """Solutions and reciprocal conditions, all 0 if a matrix is singular."""
    size = rights.shape[1]
    sides = np.empty((*rights.shape, size + 1))
    sides[..., :size], sides[..., size] = np.eye(size), rights
    try:
        solved = np.linalg.solve(matrices, sides)
    except np.linalg.LinAlgError:
        return np.zeros_like(rights), np.zeros(len(rights))
    inverses, z = solved[..., :size], solved[..., size:]
    z = z + inverses@(rights[..., None] - matrices@z)
    return z[..., 0], 1/np.prod([
        np.abs(part).sum(axis=1).max(axis=1)
        for part in (matrices, inverses)], axis=0)


def lu_solve(matrix, right):
    """Solution and reciprocal condition by LU; condition 0 if singular.

    One step of refinement keeps small unknowns beside large ones (Skeel 1980).
    """
    if not len(right):
        return np.zeros(0), 1.
    lu, pivots, info = dgetrf(matrix)
    if info:
        return np.zeros_like(right), 0.
    condition, _ = dgecon(lu, dlange('1', matrix))
    x = dgetrs(lu, pivots, right)[0]
    return x + dgetrs(lu, pivots, right - matrix@x)[0], condition
