"""The explicit equations of constrained motion of Udwadia and Kalaba."""
from functools import cached_property, partial

from sympy import Rational
from sympy.physics.mechanics import KanesMethod

from ..errors import MissingIngredientError, UnsupportedFeatureError
from ..graph import GraphMatrix, block_matrix, read, stack
from ..graph.linalg import (
    FullRankFactorization, ldl_factor, ldl_solve, lu_solve)
from ..graph.matrix import as_column
from ..model.call_signatures import as_matrix, check_choice
from ..model.equations import EquationsOfMotion
from .base import ConstrainedMethod
from .null_space import accelerations, elimination, null_space_solve
from .references import columns, flat, frozen, inputs, written
from .solution import solved_output


@KanesMethod.register
class UdwadiaKalabaMethod(ConstrainedMethod):
    r"""Explicit accelerations and constraint forces.

    Explanation
    ===========

    Of all accelerations that satisfy :math:`A\dot u = b`, a system with mass
    matrix :math:`M` and known forces :math:`Q` takes the one nearest to the
    unconstrained :math:`a = M^{-1}Q` in the metric of :math:`M` (Gauss). It
    is the solution of

    .. math::

       \begin{bmatrix} M & -A^T \\ A & 0 \end{bmatrix}
       \begin{bmatrix} \dot u \\ \lambda \end{bmatrix} =
       \begin{bmatrix} Q \\ b \end{bmatrix}
       \qquad \text{(U4)}

    and in explicit form [1]_

    .. math::

       \dot u = a + M^{-1}A^T (A M^{-1}A^T)^+ (b - A a), \qquad
       Q_c = M\dot u - Q = A^T\lambda.
       \qquad \text{(U2), (U3)}

    The constraints may be holonomic, of velocity level (linear or not in the
    speeds; the ideal force is then Appell's and Chetaev's), or of
    acceleration level. They may be redundant, and :math:`M` may be singular
    as long as :math:`M` and :math:`A` together determine the acceleration
    [2]_. Which rows are independent is decided where the constraints hold,
    see :func:`.constraint_report`. No inverse or pseudo-inverse is formed:
    closed forms are made by a Schur complement, of ``M + w*F^T*F`` if the mass
    matrix is singular (U7), with the independent rows ``F`` of ``A = C*F``.
    Multipliers of redundant rows are those of least norm.

    If the constraint forces do virtual work with generalized forces
    :math:`C` [3]_, the motion is that of :math:`Q + C`, and

    .. math::

       Q_c = Q_i + Q_{ni}, \quad
       Q_{ni} = C - A^T(A M^{-1}A^T)^+ A M^{-1}C.  \qquad \text{(U5)}

    Examples
    ========

    A pendulum in Cartesian coordinates, its rod given twice:

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> m, g, l = symbols('m g l')
    >>> x, y = dynamicsymbols('x y')
    >>> L = m*(x.diff()**2 + y.diff()**2)/2 - m*g*y
    >>> rod = (x**2 + y**2 - l**2)/2
    >>> pendulum = UdwadiaKalabaMethod(L, [x, y], hol_coneqs=[rod, 3*rod])
    >>> pendulum.mass_matrix
    Matrix([
    [m, 0, -x(t), -3*x(t)],
    [0, m, -y(t), -3*y(t)]])
    >>> pendulum.independent_rows
    [0]
    >>> force = pendulum.constraint_forces
    >>> force.subs({x.diff(): 0, y.diff(): 0}).subs({x: 0, y: -l})
    Matrix([
    [  0],
    [g*m]])

    Parameters
    ==========

    *args, **kwargs
        As for :class:`.ConstrainedMethod`. Dependent speeds need not be named.
    acceleration_constraints : iterable of Expr, optional
        Residuals linear in ``u'``. Those that repeat the derivative of a
        velocity constraint, as ``KanesMethod`` wants them, are dropped.
    nonideal_forces : iterable, optional
        ``C`` of (U5), one generalized force per speed, or a list of loads.
    weight : Matrix (o, o), optional
        For servo constraints: the generalized control force that satisfies
        the constraints and minimises ``f^T*W*f``, (U8).
    inconsistent : 'error' or 'least-squares'
        What to do with rows that no motion satisfies. The second is (U2) as
        it stands: least ``|A*u' - b|`` first, which depends on the scaling
        of the rows.

    References
    ==========

    .. [1] F. E. Udwadia and R. E. Kalaba, "A new perspective on constrained
       motion," Proc. R. Soc. Lond. A 439 (1992) 407-410.
    .. [2] F. E. Udwadia and P. Phohomsiri, "Explicit equations of motion for
       constrained mechanical systems with singular mass matrices," Proc. R.
       Soc. A 462 (2006) 2097-2117.
    .. [3] F. E. Udwadia and R. E. Kalaba, "Explicit equations of motion for
       mechanical systems with nonideal constraints," J. Appl. Mech. 68
       (2001) 462-467.
    """

    _accepts = ConstrainedMethod._accepts + ('nonideal_forces',)
    # Its accelerations may be computed by recursion.
    _is_explicit = True

    def __init__(self, *args, weight=None, inconsistent='error', **kwargs):
        check_choice('inconsistent', inconsistent, (
            'error', 'least-squares'))
        self._inconsistent = inconsistent
        self._weight = weight
        super().__init__(*args, **kwargs)
        if weight is not None:
            o = len(self.u)
            self._weight = as_matrix(weight, 'weight')
            if self._weight.shape != (o, o) or (
                    self._weight != self._weight.T) or is_indefinite(
                    self._weight):
                raise ValueError(
                    f"`weight` is {self._weight}. It weighs the {o} "
                    "generalized forces; give a symmetric, positive definite "
                    f"matrix ({o}, {o}).")

    @property
    def _special(self):
        return {'weight': self._weight is not None,
                'nonideal_forces':
                    self._options.get('nonideal_forces') is not None,
                "inconsistent='least-squares'": self._inconsistent != 'error'}

    def equations(self, system):
        """The block system (U4).

        With non-ideal forces the multipliers are those of the motion,
        ``M*u' = Q + C + A^T*lam``. With a weight the transposed block is
        ``(M*W)^-1*A^T``, so that its product with them is the control force.
        """
        M, Q, C, A, b = system.blocks('M', 'Q', 'C', 'A', 'b')
        forces = GraphMatrix(M.builder, self._action(
            M.builder, M.rows, A.rows), len(system.u))
        return EquationsOfMotion.from_speeds(
            system, block_matrix([[M, -forces.T], [A, None]]),
            stack(Q + C, b), self.lam_vec, inconsistent=self._inconsistent)

    def _action(self, g, M, A):
        """The forces of unit multipliers, rows ``A`` or ``A*(M*W)^-T``."""
        if self._weight is None or not A:
            return A
        mass, weight = ldl_factor(g, M), ldl_factor(g, [
            [read(g, e) for e in self._weight[i, :]] for i in range(len(M))])
        if mass is None or weight is None:
            raise no_weight()
        return [ldl_solve(g, weight, ldl_solve(g, mass, row)) for row in A]

    # -- solved ----------------------------------------------------------

    def _check_reactions(self):
        if self._weight is not None:
            raise UnsupportedFeatureError(
                "With a `weight` the generalized control force is "
                "`(M*W)^-1*A^T*lam`, which does not act in the directions "
                "of the rows. Read `constraint_forces`.")

    @property
    def _report_options(self):
        return {'inconsistent': self._inconsistent}

    def _solve(self):
        """Elimination of the independent rows ``F`` of ``A = C*F``.

        (U2) holds with ``F`` and ``C^+*b``, for every ``b``.
        """
        rows = self.independent_rows
        g, out = self.system.graph.load(None, ('M', 'Q', 'C', 'A', 'b'))
        M, A, F = out['M'], out['A'], [out['A'][k] for k in rows]
        Q, C, b = (flat(out[name]) for name in 'QCb')
        if not rows and not self._is_determined:
            return frozen(g, multipliers=[0]*len(A), ideal=[0]*len(C),
                          nonideal=C, constraint_forces=C)
        factor = FullRankFactorization(g, A, F) if len(F) < len(A) else None
        least = factor and self._inconsistent == 'least-squares'
        right = factor.reduced(b) if least else [b[k] for k in rows]
        action = self._action(g, M, F)
        solution = self._solver_of(g, M, F, action)

        def forces(lam):
            return [g.dot(lam, c) for c in columns(action, len(Q))]

        def total(one, other):
            return list(map(g.add, one, other))

        u, lam = solution(Q, right)
        ideal, nonideal = forces(lam), [0]*len(Q)
        if any(C):
            change, reaction = solution(C, [0]*len(rows))
            nonideal = total(C, forces(reaction))
            u, lam = total(u, change), total(lam, reaction)
        return frozen(
            g, acceleration=u, ideal=ideal, nonideal=nonideal,
            constraint_forces=total(ideal, nonideal),
            multipliers=factor.spread(lam) if factor else lam)

    def _solver_of(self, g, M, F, action):
        """A function ``(Q, b) -> (u', lam)`` for the independent rows."""
        regular = self._report.mass_is_regular
        if not regular and self._weight is not None:
            raise no_weight()
        return elimination(g, M, F, regular, action) or partial(
            self._block_solve, g, M, F, action)     # M is indefinite

    def _block_solve(self, g, M, F, action, Q, b):
        """``(u', lam)`` of the block system (U4)."""
        if self._weight is None:
            u, lam = null_space_solve(g, M, F, self._pivots, Q, b)
            if u is None:
                raise self._without('acceleration')
            return u, [-x for x in lam]
        o = len(M)
        z = lu_solve(g, block_matrix([
            [GraphMatrix(g, M), -GraphMatrix(g, action, o).T],
            [GraphMatrix(g, F, o), None]]).rows, Q + b)
        if z is None:
            raise no_weight()
        return z[:o], z[o:]

    @cached_property
    def unconstrained_acceleration(self):
        """``a`` of ``M*a = Q``, the motion without constraints, (o, 1)."""
        M, Q = self.system.blocks('M', 'Q')
        return written(M.builder, self._free_acceleration(M, Q))

    def _free_acceleration(self, M, Q):
        """References of ``a`` of ``M*a = Q``."""
        a = accelerations(M.builder, M.rows, Q.rows)
        if a is None:
            raise MissingIngredientError(
                "The mass matrix is singular: without its constraints the "
                "model has no definite acceleration. Read `acceleration`, or "
                "give mass to every direction.")
        return a

    ideal_constraint_forces = solved_output(
        'ideal', "``Q_i`` of (U3), the force without non-ideal part, (o, 1).")
    nonideal_constraint_forces = solved_output(
        'nonideal', "``Q_ni`` of (U5), shape (o, 1).")

    @cached_property
    def gauss_function(self):
        """``(u' - a)^T*M*(u' - a)/2`` with ``M*a = Q + C``, in symbols ``u'``.

        Gauss's measure of constraint: among the accelerations that satisfy the
        constraints the true one minimises it, without a weight.
        """
        if self._weight is not None:
            raise UnsupportedFeatureError(
                "With a `weight` the motion minimises `f^T*W*f` of the "
                "control force and not Gauss's measure. Read "
                "`constraint_forces`.")
        M, Q, C = self.system.blocks('M', 'Q', 'C')
        g = M.builder
        gap = as_column(g, [g.sub(x, y) for x, y in zip(
            inputs(g, self._udot), self._free_acceleration(M, Q + C))])
        return written(g, gap.T @ (M @ gap)*Rational(1, 2))[0]


def no_weight():
    return MissingIngredientError(
        "A weighted control force needs a regular mass matrix and a positive "
        "definite weight, and one of them is not. Give mass to every "
        "direction, and correct `weight`.")


def is_indefinite(matrix):
    """Whether a symmetric matrix is seen not to be positive definite."""
    if all(x.is_number for x in matrix):
        return not matrix.is_positive_definite
    return any(x.is_extended_nonpositive for x in matrix.diagonal())
