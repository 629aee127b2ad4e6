"""The rank decision along a motion: kept, watched, revised."""
from contextlib import suppress
from functools import partial
from itertools import takewhile

import numpy as np

from ...errors import (
    ConstrainedDynamicsError, ConstraintError,
    InconsistentConstraintsError, SingularEquationsError, warn)
from ..manifold.projection import distances, size_of
from ..tolerances import EXACT, OUTGROWN, WORN
from ..outcome import RankChange
from .solver import LinearSolver, Solution, solve_each


class CarriedRank:
    """The solver in use, and the changes of rank up to now.

    The motion starts at ``t`` and the consistent state ``x``, for which the
    ``solver`` may be known.
    """

    def __init__(self, compiled, t, x, solver=None):
        self.compiled = compiled
        self.solver: LinearSolver = solver or compiled.linear_solver(t, x)
        self.changes: list[RankChange] = []
        self.solve_each = solve_each    # or a quicker one
        self._earlier: LinearSolver | None = None
        self._sign = 0.

    def watch(self, t, x, drift=None, begin=None, path=None):
        """Check an accepted state, and decide again in case of doubt.

        ``drift`` is the relative distance from the constraint set, if known,
        ``path(t)`` the states since the time ``begin``. Returns the time up to
        which the earlier rank holds, before ``t`` if it rises on the path.
        """
        solver = self.solver
        outputs = self.compiled.first_block(('W', 'r'), t, x)
        W, r = outputs['W'], outputs['r'][:, 0]
        contradiction = None
        try:
            if self._still_holds(W, r, t, x, drift):
                return t
        except InconsistentConstraintsError as error:
            contradiction = error       # unless the rank has begun to rise
        self._earlier = solver
        self.solver = self.compiled.linear_solver(t, x)
        if self.solver.rank == solver.rank:
            if contradiction is not None:
                raise contradiction
            return t
        if path is not None and self.solver.rank > solver.rank:
            t = self._locate(begin, t, path, solver.rank)
        change = RankChange(float(t), solver.rank, self.solver.rank)
        self.changes.append(change)
        warn(f"The rank of the equations changed: {change}. Multipliers "
             "before and after are not comparable.")
        return t

    def holds_for(self, t, x, drift, signs, sizes):
        """For how many states in a row, after the first, the decision needs no
        review.

        ``signs`` are those of the determinants of the scaled first block,
        ``sizes`` its largest entries.
        """
        if self.solver.kept is not None:
            outputs = self.compiled.first_block(('W', 'r'), t, x)
            W, r = outputs['W'], outputs['r'][..., 0]
            return sum(1 for _ in takewhile(bool, map(
                self._is_ordinary, W[1:], r[1:], t[1:], x[1:], drift)))
        count = leading((signs*(self._sign or signs[0]) > 0) & (
            sizes <= OUTGROWN)) - 1
        if count > 0:
            self._sign = signs[0]
        return max(count, 0)

    def _is_ordinary(self, *state):
        with suppress(ConstrainedDynamicsError):
            return self._still_holds(*state)
        return False

    def _still_holds(self, W, r, t, x, drift):
        solver = self.solver.first
        if solver.kept is None:         # full rank; LU notices a loss at a
            self._watch_sign(W)         # step, the sign one between steps
            return not solver.is_outgrown(W)
        if drift is None:
            drift = self._drift(t, x)
        solution = solver.solve_all(W, r, drift, partial(
            self.compiled.rounding, t, x))
        _, condition = solver.solve(W, r)
        return (solution.rank == solver.rank and not solver.is_outgrown(W)
                and condition > WORN*solution.condition)

    def _drift(self, t, x):
        """Relative distance from the rows that the solver keeps."""
        equations = self.compiled.equations
        where, kept = equations.constraint_rows, set(self.solver.kept[0])
        holonomic, velocity = (equations.graph.outputs[name][0]
                               for name in ('holonomic', 'velocity'))
        left_out = [k for k in range(velocity)
                    if k in where and where[k] not in kept]
        state = distances(self.compiled, t, x)
        far = np.delete(state.distances, [
            *(holonomic + k for k in left_out),
            *(k for k in left_out if k < holonomic)])
        return far.max(initial=0)/size_of(state.x)

    def _locate(self, begin, end, path, rank):
        """The time where the rank rises; the solver is that of this time."""
        least = max(EXACT*abs(end - begin),
                    4*np.spacing(max(abs(begin), abs(end))))
        while abs(end - begin) > least:
            middle = (begin + end)/2
            try:
                solver = self.compiled.linear_solver(middle, path(middle))
            except (ConstraintError, SingularEquationsError):
                solver = None           # a transition, too early
            if solver is not None and solver.rank > rank:
                self.solver, end = solver, middle
            else:
                begin = middle
        return end

    def turn(self):
        """Allow the determinant to change its sign here."""
        self._sign = 0.

    def _watch_sign(self, W):
        """Raise if the determinant has changed its sign since the start."""
        sign, _ = np.linalg.slogdet(W*self.solver.first.scale)
        if sign*self._sign < 0:
            raise SingularEquationsError(
                "The determinant of the equations has changed its sign since "
                "the last step.", condition=0., rank=self.solver.rank)
        self._sign = sign

    def solve_outputs(self, W, r, t, x):
        """Checked solutions ``z``, ranks and conditions at output times."""
        solver = self.solver
        if solver.kept is None:
            found = solver.solve_many(W, r, self.solve_each)
            if found is not None:
                return found
        found = [self._solve_all(*state) for state in zip(W, r, t, x)]
        return [np.array([getattr(solution, name) for solution in found])
                for name in ('z', 'rank', 'condition')]

    def _solve_all(self, W, r, t, x) -> Solution:
        """One of them, perhaps before the last change of rank."""
        drift = 0. if self.solver.kept is None else self._drift(t, x)
        rounding = partial(self.compiled.rounding, t, x)
        try:
            return self.solver.solve_all(W, r, drift, rounding)
        except SingularEquationsError:
            if self._earlier is None:
                raise
            return self._earlier.solve_all(W, r, drift, rounding)


def leading(values):
    """Number of true values before the first that is not."""
    return len(values) if values.all() else int(np.argmin(values))
