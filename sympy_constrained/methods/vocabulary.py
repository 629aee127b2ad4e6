"""SymPy's vocabulary: names that scripts written for its methods read."""
from functools import cached_property

from sympy import ImmutableDenseMatrix, Matrix, diag, eye, nan, oo, zoo

from .. import _compat
from ..errors import ConstrainedDynamicsError, ConstraintError
from ..graph import derivative, read
from ..model.build import inertia_forces
from ..model.call_signatures import as_list, as_point, check_choice
from .auxiliary import auxiliary_forces
from .linearization import at_point, linearizer
from .references import written
from .solution import linear_residual
from .symbols import column


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

    coneqs = velocity_constraints

    @cached_property
    def acceleration_constraints(self):
        """Residuals ``A*u' - b = 0``, shape (m, 1)."""
        return linear_residual(self._system.graph, 'A', 'b', self._udot)

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

        In Kane's shape (o, o): dynamic rows of the independent speeds above
        the independent constraint rows. In Lagrange's shape (o, o + m): the
        columns of multipliers follow those of the speeds. A method without
        multipliers has a square matrix in both.
        """
        if self._keeps_multipliers:
            return self.equations_of_motion.W[:len(self.u), :]
        return self._projected.sympy('mass')

    @cached_property
    def forcing(self):
        """Right side that belongs to ``mass_matrix``, shape (o, 1)."""
        if self._keeps_multipliers:
            return self.equations_of_motion.r[:len(self.u), :]
        return self._projected.sympy('forcing')

    @cached_property
    def eom(self):
        """Residual of the dynamic equations, inertia minus forces.

        In Lagrange's shape it is ``M*u' - Q + A^T*lam_vec``, (o, 1), where
        ``lam_vec`` has the sign of ``LagrangesMethod.eom``, opposite to that
        of ``multipliers``. In Kane's shape it is projected on the independent
        speeds, (o - rank, 1).
        """
        if self._keeps_multipliers:
            equations = self.equations_of_motion
            return linear_residual(
                equations.graph, 'W', 'r', equations.unknowns,
                equations.multipliers)[:len(self.u), :]
        rows = self._projected.outputs.get('projector', self.u.shape[::-1])[1]
        return linear_residual(self._projected, 'mass', 'forcing',
                               self._udot)[:rows, :]

    @property
    def _rates(self):
        """``q'`` in terms of the states, shape (n, 1)."""
        return self._system.rates

    def _implicit_kinematics(self):
        """The rows of ``kd_eqs``, or None if ``q'`` is explicit."""
        rows = as_list(self._arguments.get('kd_eqs'), 'kd_eqs')
        if (self.explicit_kinematics or tuple(self.u) != self._system.u
                or len(rows) != len(self._rates)
                or {*self._qdot} & {*self.u}):
            return None
        return Matrix(rows).subs(dict.fromkeys(self._uaux, 0))

    @property
    def mass_matrix_kin(self):
        """Coefficients of ``q'``, the identity if explicit, (n, n)."""
        rows = self._implicit_kinematics()
        return ImmutableDenseMatrix(
            eye(len(self._rates)) if rows is None
            else rows.jacobian(self._qdot))

    @property
    def forcing_kin(self):
        """Right side that belongs to :attr:`mass_matrix_kin`, (n, 1)."""
        rows = self._implicit_kinematics()
        return self._rates if rows is None else ImmutableDenseMatrix(
            -rows.subs(dict.fromkeys(self._qdot, 0)))

    @property
    def mass_matrix_full(self):
        """Matrix of the rates of coordinates, speeds and unknown multipliers.

        :attr:`mass_matrix_kin` and :attr:`mass_matrix` on the diagonal; with
        multipliers the constraint rows complete it, (n + o + m, n + o + m).
        """
        below = (self.equations_of_motion.W if self._keeps_multipliers
                 else self.mass_matrix)
        if not len(self._rates):
            return below
        return ImmutableDenseMatrix(diag(self.mass_matrix_kin, below))

    @property
    def forcing_full(self):
        """Right side that belongs to :attr:`mass_matrix_full`."""
        return self.forcing_kin.col_join(
            self.equations_of_motion.r if self._keeps_multipliers
            else self.forcing)

    def kindiffdict(self):
        """Dictionary of the ``q'`` in terms of the states.

        Without bodies yet, in terms of the speeds as they were given.
        """
        return dict(zip(self._qdot, self._rates if self._has_bodies
                        else self._system.rates))

    def rhs(self, inv_method=None, **kwargs):
        """Rates of coordinates and speeds; with multipliers also these.

        The solution of ``mass_matrix_full*rhs = forcing_full``. No inverse is
        formed, so ``inv_method`` has no effect.
        """
        rates = self._rates.col_join(self.acceleration)
        return rates.col_join(self._solved_for()) if (
            self._keeps_multipliers) else rates

    def _form_eoms(self):
        # What ``System.form_eoms`` returns, usually unread.
        return _compat.MatrixToForm(
            lambda: -self.eom if self._shape == 'kane' else self.eom)

    def form_lagranges_equations(self):
        """Return ``eom``."""
        return self.eom

    def kanes_equations(self, bodies=None, loads=None):
        """Return ``(Fr, Fr*)``, applied and inertia forces with sum ``-eom``.

        Bodies and loads given here replace those of the constructor. Rows of
        auxiliary speeds follow.
        """
        self._take(bodies, loads)
        active = self._active_forces()
        return tuple(Matrix([*rows, *more]) for rows, more in zip(
            (active, self._inertia_forces(active)), self._auxiliary_forces))

    @property
    def auxiliary_eqs(self):
        """``Fr + Fr*`` of the auxiliary speeds, zero along the motion, (a, 1).

        They determine the forces and torques that only these speeds contain.
        """
        return sum(self._auxiliary_forces, Matrix.zeros(len(self._uaux), 1))

    @cached_property
    def _auxiliary_forces(self):
        return auxiliary_forces(self)

    def solve_multipliers(self, op_point=None, sol_type='dict'):
        """Values of ``lam_vec`` at a point, by symbol or as a matrix.

        With the sign of ``eom`` and of ``LagrangesMethod``, opposite to
        ``multipliers`` and to the trailing entries of ``rhs()``.
        """
        if not len(self.lam_vec):
            raise ConstraintError(
                "The equations contain no multipliers to solve for, because "
                "there are no constraints or the method eliminates them. "
                "Give constraints, or read `constraint_forces`.")
        check_choice('sol_type', sol_type, ('dict', 'Matrix'))
        try:
            multipliers = at_point(
                self._eom_multipliers(), as_point(op_point))
            singular = multipliers.has(nan, oo, -oo, zoo)
        except (ConstrainedDynamicsError, ZeroDivisionError):
            singular = True
        if singular:
            raise ConstraintError(
                "The closed form of the multipliers divides by zero at "
                "`op_point`, usually because the equations are singular "
                "there. Choose another point.")
        return Matrix(multipliers) if sol_type == 'Matrix' else dict(
            zip(self.lam_vec, multipliers))

    def _active_forces(self):
        """Applied forces in the rows of ``eom``."""
        applied, basis = self._applied(), self._projector
        return applied if basis is None else basis.T*applied

    def _inertia_forces(self, active):
        """``-eom - active``; the loads cancel if there are no rows."""
        if self._shape != 'kane' or self._system.counts[2]:
            return -self.eom - active
        # Equal values are one reference, so inertia forces remain.
        g = inertia_forces(self._system)
        return Matrix(written(g, [g.sub(-read(g, x), read(g, force))
                                  for x, force in zip(self.eom, active)]))

    def _solved_for(self):
        """Multipliers in :meth:`rhs`."""
        return self.multipliers

    def _eom_multipliers(self):
        """Values of :attr:`lam_vec` in :attr:`eom`."""
        return -self._solved_for()

    # -- linearization ---------------------------------------------------

    def to_linearizer(self, q_ind=None, qd_ind=None, q_dep=None, qd_dep=None,
                      linear_solver='LU'):
        """Return SymPy's ``Linearizer`` of the equations.

        The partition of coordinates and speeds is by default the one given
        to the constructor; methods without dependent speeds use that of the
        coordinates. In Kane's shape ``linear_solver`` may be the first
        argument, too.
        """
        if self._shape == 'kane' and (
                isinstance(q_ind, str) or callable(q_ind)):
            q_ind, linear_solver = None, q_ind
        return linearizer(self, q_ind, qd_ind, q_dep, qd_dep, linear_solver)

    def linearize(self, q_ind=None, qd_ind=None, q_dep=None, qd_dep=None,
                  linear_solver='LU', **kwargs):
        """Linearize with SymPy's ``Linearizer``; returns ``(..., r)``.

        The keyword arguments are those of ``Linearizer.linearize``. For
        matrices of numbers use :func:`sympy_constrained.numeric.linearize`.
        """
        kwargs.pop('new_method', None)          # SymPy ignores it, too
        made = self.to_linearizer(q_ind, qd_ind, q_dep, qd_dep,
                                  linear_solver)
        return made.linearize(**kwargs) + (made.r,)

    # -- attributes that SymPy's Linearizer and PyDy read ----------------

    _qdot = property(lambda self: column(
        derivative(x, self._system.t) for x in self.q))
    _udot = property(lambda self: column(
        derivative(x, self._system.t) for x in self.u))
    _uaux = property(lambda self: Matrix(self._system.u_auxiliary))
    _qdep = property(lambda self: Matrix(self._system.q_dependent))
    _udep = property(lambda self: Matrix(self._system.u_dependent))

    @property
    def _Ars(self):
        """Dependent speeds in terms of the independent ones."""
        return Matrix([self._projector[self.u[:].index(x), :]
                       for x in self._udep])

    @cached_property
    def _projector(self):
        """Base vectors of admissible speeds if some are dependent."""
        return self._projected.sympy('projector') if (
            'projector' in self._projected.outputs) else None
