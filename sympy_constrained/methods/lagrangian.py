"""Methods that vary a Lagrangian and keep multipliers: what they share."""
from functools import cached_property

from .base import ConstrainedMethod
from .null_space import elimination, null_basis, null_space_solve
from .symbols import column, fresh_symbols, named_symbols
from .variation import Variation, vary


class LagrangianMethod(ConstrainedMethod):
    """Abstract base of the methods with one multiplier for each constraint.

    Explanation
    ===========

    The speeds are the velocities of the coordinates. In Kane's shape there
    must be as many speeds as coordinates; a velocity keeps the name of the
    speed that is equal to it, and velocity constraints that repeat holonomic
    ones are dropped.

    Parameters
    ==========

    *args, **kwargs
        As for :class:`.ConstrainedMethod`, without stabilization.
    multipliers : str or iterable, optional
        Names or functions of time, one for each row.
    """

    _accepts = ('potential_energy', 'generalized_forces')
    _in_velocities = True
    _drops_repetitions = True
    _letter = 'lam'

    def __init__(self, *args, multipliers=None, **kwargs):
        self._multipliers = multipliers
        super().__init__(*args, **kwargs)

    def _check_choices(self):
        self._check_velocity_level('takes')
        self._multiplier_symbols

    @cached_property
    def _multiplier_symbols(self):
        """The multipliers as functions of time, shape (m, 1)."""
        count = self._system.counts[2]
        if self._multipliers is None:
            return fresh_symbols(self._system, self._letter, count)
        return named_symbols(self._system, self._multipliers, 'multipliers',
                             'multiplier', 'constraint rows', count)

    @property
    def mu_vec(self):
        """The multipliers that are states, none here, shape (0, 1)."""
        return column(())

    @cached_property
    def _varied(self):
        return vary(self.system, tuple(self.mu_vec))

    @cached_property
    def variation(self):
        """The :class:`.Variation`: momenta, energy, conserved quantities."""
        return Variation(self)

    def _applied(self):
        return self.system.graph.sympy('applied')

    def _block_solve(self, g, W, M, A, right, b):
        """``x, y`` of ``W*x + A^T*y = right``, ``A*x = b``; or None, None.

        A positive semidefinite ``W`` is eliminated first, which has no
        pivot that vanishes at a regular state.
        """
        if W == M:
            solution = elimination(g, M, A, self._report.mass_is_regular)
            if solution is not None:
                x, lam = solution(right, b)
                return x, [-y for y in lam]
        return null_space_solve(g, W, A, self._pivots, right, b)

    def _basis(self, A):
        """``B`` with ``A*B = 0``."""
        return null_basis(A[self.independent_rows], self._pivots)
