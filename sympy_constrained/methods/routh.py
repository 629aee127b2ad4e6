"""Routh's equations: multipliers as reactions."""
from sympy.physics.mechanics import KanesMethod

from ..graph import block_matrix, stack
from ..graph.linalg import FullRankFactorization
from ..model.equations import EquationsOfMotion
from .lagrangian import LagrangianMethod
from .references import flat, frozen


@KanesMethod.register
class RouthMethod(LagrangianMethod):
    r"""Lagrange's equations with multipliers of holonomic and other rows.

    Explanation
    ===========

    .. math::

       \mathcal E(L) = Q + A^T\lambda, \qquad
       \mathcal E_i = \frac{d}{dt}\frac{\partial}{\partial\dot q_i}
       - \frac{\partial}{\partial q_i}, \qquad
       A = \frac{\partial g}{\partial\dot q} \qquad (7), (21)

    for velocity-level constraints :math:`g(q, \dot q, t) = 0`, into which
    holonomic ones enter by their derivatives. Virtual displacements satisfy
    :math:`A\,\delta q = 0`, also for constraints nonlinear in the velocities
    (Appell and Chetaev, (19)), and the multipliers are reactions. This is
    what rolling bodies and blades do; :class:`.VaccoMethod`, to whose
    reference the numbers belong, computes vakonomic motion.

    Examples
    ========

    A skate on an inclined plane:

    >>> from sympy import cos, sin, symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import RouthMethod
    >>> m, J, g = symbols('m J g')
    >>> x, y, phi = dynamicsymbols('x y phi')
    >>> vx, vy, w = x.diff(), y.diff(), phi.diff()
    >>> L = m*(vx**2 + vy**2)/2 + J*w**2/2 + m*g*x
    >>> skate = RouthMethod(L, [x, y, phi],
    ...                     nonhol_coneqs=[vx*sin(phi) - vy*cos(phi)])
    >>> skate.eom
    Matrix([
    [-g*m + m*Derivative(x(t), (t, 2)) + lam1(t)*sin(phi(t))],
    [       m*Derivative(y(t), (t, 2)) - lam1(t)*cos(phi(t))],
    [                           J*Derivative(phi(t), (t, 2))]])
    >>> skate.variation.conserved_quantities()[phi]
    J*Derivative(phi(t), t)

    Parameters
    ==========

    *args, **kwargs
        As for :class:`.LagrangianMethod`.
    """

    @property
    def lam_vec(self):
        """Symbols of the multipliers, functions of time, shape (m, 1)."""
        return self._multiplier_symbols

    def equations(self, system):
        """``[[M, -A^T], [A, 0]]*[u'; lam] = [F; b]``."""
        M, Q, A, b = system.blocks('M', 'Q', 'A', 'b')
        return EquationsOfMotion.from_speeds(
            system, block_matrix([[M, -A.T], [A, None]]), stack(Q, b),
            self.lam_vec)

    def _solve(self):
        """Solution of the block system, with multipliers of least norm."""
        rows = self.independent_rows
        g, out = self.system.graph.load(None, ('M', 'Q', 'A', 'b'))
        M, F, n = out['M'], [out['A'][k] for k in rows], len(out['M'])
        u, lam = self._block_solve(g, M, M, F, flat(out['Q']),
                                   [out['b'][i][0] for i in rows])
        if u is None:
            raise self._without('acceleration')
        lam = [-x for x in lam]
        force = [g.dot(lam, c) for c in zip(*F)] or [0]*n
        if len(F) < len(out['A']):
            lam = FullRankFactorization(g, out['A'], F).spread(lam)
        return frozen(g, acceleration=u, multipliers=lam,
                      constraint_forces=force)
