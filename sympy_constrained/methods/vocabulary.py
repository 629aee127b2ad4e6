"""SymPy's vocabulary: names that scripts written for its methods read."""
from __future__ import annotations

from functools import cached_property

from sympy import ImmutableDenseMatrix, Matrix, diag, eye

from ..errors import ConstraintError, UnsupportedFeatureError
from ..model.call_signatures import as_point
from .linearization import linearizer
from .symbols import column

__all__ = ['SympyVocabulary']


class SympyVocabulary:
    """Names of ``KanesMethod`` and ``LagrangesMethod``, and of PyDy.

    A method has the matrices of the class in whose shape it is called:
    ``KanesMethod`` eliminates the constraint forces, ``LagrangesMethod``
    keeps the multipliers as unknowns.

    """

    # -- the model -------------------------------------------------------

    @property
    def frame(self):
        """The inertial frame, or None."""
        return self._system.frame

    @property
    def q(self):
        """Generalized coordinates, shape (n, 1)."""
        return column(self._system.q)

    @property
    def u(self):
        """Generalized speeds, shape (o, 1)."""
        return column(self._system.u)

    @property
    def bodies(self):
        """The bodies, as given."""
        return self._arguments['bodies']

    @property
    def loads(self):
        """The loads, as given."""
        return self._arguments['forcelist']

    bodylist = bodies
    forcelist = loads

    @property
    def holonomic_constraints(self):
        """Residuals ``h(q, t) = 0``, shape (mh, 1)."""
        return column(self._system.holonomic_rows)

    @property
    def nonholonomic_constraints(self):
        """Velocity-level residuals as given, shape (m - mh, 1)."""
        return column(self._system.velocity_rows)

    @property
    def velocity_constraints(self):
        """Differentiated holonomic rows, then nonholonomic, shape (m, 1)."""
        return self._system.graph.sympy('velocity')

    @property
    def coneqs(self):
        """The velocity constraints, as in ``LagrangesMethod``."""
        return self.velocity_constraints

    @cached_property
    def acceleration_constraints(self):
        """Residuals ``A*u' - b = 0``, shape (m, 1)."""
        return self._linear_residual(self._system.graph, 'A', 'b')

    @property
    def constraints_jacobian(self):
        """Derivative of the velocity constraints by ``u``, (mv, o)."""
        return self._system.graph.sympy('velocity_jacobian')

    @property
    def lam_coeffs(self):
        """``-A``, as in ``LagrangesMethod``, shape (m, o)."""
        return -self._system.A

    # -- the equations ---------------------------------------------------

    @cached_property
    def mass_matrix(self):
        """Coefficients of the equations for ``u'``, not inverted.

        In Kane's shape as in ``KanesMethod``, (o, o): dynamic rows of the
        independent speeds above the independent constraint rows. In
        Lagrange's shape as in ``LagrangesMethod``, (o, o + m): the columns of
        multipliers follow those of the speeds. A method without multipliers
        has a square matrix in both.
        """
        if self._keeps_multipliers:
            return self.equations_of_motion.W[:len(self.u), :]
        return self._projected.sympy('mass')

    @cached_property
    def forcing(self):
        """Right side that belongs to :attr:`mass_matrix`, shape (o, 1)."""
        if self._keeps_multipliers:
            return self.equations_of_motion.r[:len(self.u), :]
        return self._projected.sympy('forcing')

    @cached_property
    def eom(self):
        """Residual of the dynamic equations, zero along the motion.

        Inertia minus forces. In Lagrange's shape it contains the multipliers
        ``lam_vec``, shape (o, 1), with ``Q_c = A^T*lam``, which is
        opposite to the sign of ``LagrangesMethod.eom``. In Kane's shape it is
        projected on the independent speeds, shape (o - rank, 1).
        """
        if self._keeps_multipliers:
            equations = self.equations_of_motion
            return self._linear_residual(
                equations.graph, 'W', 'r',
                equations.unknowns)[:len(self.u), :]
        rows = self._projected.outputs.get('projector', self.u.shape[::-1])[1]
        return self._linear_residual(
            self._projected, 'mass', 'forcing')[:rows, :]

    @property
    def mass_matrix_kin(self):
        """Identity: ``q'`` is given explicitly, shape (n, n)."""
        return ImmutableDenseMatrix(eye(len(self.forcing_kin)))

    @property
    def forcing_kin(self):
        """``q'`` in terms of the states, shape (n, 1)."""
        return self._system.rates

    @property
    def mass_matrix_full(self):
        """Matrix of the rates of coordinates, speeds and unknown multipliers.

        Block diagonal of the identity and :attr:`mass_matrix`; with
        multipliers the constraint rows complete it, (n + o + m, n + o + m).
        """
        below = (self.equations_of_motion.W if self._keeps_multipliers
                 else self.mass_matrix)
        if not len(self.forcing_kin):
            return below
        return ImmutableDenseMatrix(diag(self.mass_matrix_kin, below))

    @property
    def forcing_full(self):
        """Right side that belongs to :attr:`mass_matrix_full`."""
        return self.forcing_kin.col_join(
            self.equations_of_motion.r if self._keeps_multipliers
            else self.forcing)

    def kindiffdict(self):
        """Dictionary of the ``q'`` in terms of the states."""
        return dict(zip(self._qdot, self.forcing_kin))

    def rhs(self, inv_method=None, **kwargs):
        """Rates of coordinates and speeds; with multipliers also these.

        The solution of ``mass_matrix_full*rhs = forcing_full``. No inverse is
        formed, so ``inv_method`` has no effect.
        """
        rates = self.forcing_kin.col_join(self.acceleration)
        return rates.col_join(self._solved_for()) if (
            self._keeps_multipliers) else rates

    def _form_eoms(self):
        return self.eom

    def form_lagranges_equations(self):
        """Return ``eom``."""
        return self.eom

    def kanes_equations(self, bodies=None, loads=None):
        """Return ``(Fr, Fr*)``, whose sum is ``-eom``.

        ``Fr`` holds the applied forces, ``Fr*`` the inertia forces, one row
        for each row of ``eom``. Bodies and loads given here replace those of
        the constructor.
        """
        self._take(bodies, loads)
        active = Matrix(self._active_forces())
        return active, Matrix(-self.eom - active)

    @property
    def auxiliary_eqs(self):
        """Not available; raises with the way to the constraint forces."""
        raise UnsupportedFeatureError(
            f"{type(self).__name__} has no auxiliary equations. Constraint "
            "forces are in `multipliers`, `constraint_forces` and "
            "`constraint_loads()`.")

    def solve_multipliers(self, op_point=None, sol_type='dict'):
        """Multipliers at a point, by symbol or as a matrix.

        Their sign is that of ``Q_c = A^T*lam``, as in the trailing entries of
        ``LagrangesMethod.rhs()`` and opposite to
        ``LagrangesMethod.solve_multipliers()``.
        """
        if not len(self.lam_vec):
            raise ConstraintError(
                "The equations contain no multipliers to solve for, because "
                "there are no constraints or the method eliminates them. "
                "Give constraints, or read `constraint_forces`.")
        values = as_point(op_point, 'op_point')
        moving = {k: v for k, v in values.items() if k.is_Derivative}
        found = self._solved_for().subs(moving).subs(values)
        if sol_type == 'Matrix':
            return Matrix(found)
        if sol_type == 'dict':
            return dict(zip(self.lam_vec, found))
        raise ValueError(
            f"`sol_type` is {sol_type!r}. Choose 'dict' or 'Matrix'.")

    # -- linearization ---------------------------------------------------

    def to_linearizer(self, q_ind=None, qd_ind=None, q_dep=None, qd_dep=None,
                      linear_solver='LU'):
        """Return SymPy's ``Linearizer`` of the equations.

        Parameters
        ==========

        q_ind, qd_ind, q_dep, qd_dep : iterables, optional
            Partition of coordinates and speeds; by default the one given to
            the constructor. Methods without dependent speeds use the
            coordinates only.
        linear_solver : str or callable
            As in SymPy.

        """
        return linearizer(self, q_ind, qd_ind, q_dep, qd_dep, linear_solver)

    def linearize(self, q_ind=None, qd_ind=None, q_dep=None, qd_dep=None,
                  linear_solver='LU', **kwargs):
        """Linearize with SymPy's ``Linearizer``; returns ``(..., r)``.

        The keyword arguments are those of ``Linearizer.linearize``:
        ``op_point``, ``A_and_B``, ``simplify``. For matrices of numbers,
        :func:`sympy_constrained.numeric.linearize` takes milliseconds.
        """
        kwargs.pop('new_method', None)          # SymPy ignores it, too
        made = self.to_linearizer(q_ind, qd_ind, q_dep, qd_dep,
                                  linear_solver)
        return made.linearize(**kwargs) + (made.r,)

    # -- attributes that SymPy's Linearizer and PyDy read ----------------

    @property
    def _qdot(self):
        return self.q.diff(self._system.t)

    @property
    def _udot(self):
        return self.u.diff(self._system.t)

    @property
    def _uaux(self):
        return Matrix()

    @property
    def _qdep(self):
        return Matrix(self._system.q_dependent)

    @property
    def _udep(self):
        return Matrix(self._system.u_dependent)
