"""Vakonomic equations: multipliers as part of the Lagrangian."""
from dataclasses import replace
from functools import cached_property

from sympy.physics.mechanics import KanesMethod

from ..analysis.zero_tests import vanishing
from ..errors import MissingIngredientError, UnsupportedFeatureError
from ..graph import (
    GraphMatrix, block_matrix, derivative, stack, substitute)
from ..model.equations import EquationsOfMotion
from .lagrangian import LagrangianMethod
from .references import flat, frozen
from .routh import RouthMethod


@KanesMethod.register
class VaccoMethod(LagrangianMethod):
    r"""Vakonomic motion, stationary among all curves on the constraints.

    Explanation
    ===========

    The action of :math:`L` is stationary among the curves that satisfy
    :math:`g(q, \dot q, t) = 0`. With :math:`L' = L + \mu^T g`

    .. math::

       \mathcal E(L') = Q \quad\Leftrightarrow\quad
       \mathcal E(L) + A^T\dot\mu + \Gamma\mu = Q, \qquad
       \Gamma_{i\sigma} = \mathcal E_i(g_\sigma), \qquad (26)

    which [1]_ calls Vacco equations; the common name is vakonomic
    (V. V. Kozlov), also variational nonholonomic. The multipliers are
    states: their initial values are free data of the problem, in general
    with another motion for each choice, and must be given. With
    :math:`W = \partial^2 L'/\partial\dot q^2`

    .. math::

       \begin{bmatrix} W & A^T \\ A & 0 \end{bmatrix}
       \begin{bmatrix} \ddot q \\ \dot\mu \end{bmatrix} =
       \begin{bmatrix} \partial L'/\partial q - (\partial L'/\partial\dot q
       )^{\cdot}|_{\ddot q = \dot\mu = 0} + Q \\ b \end{bmatrix}.
       \qquad \text{(V)}

    **This is not how a coin rolls.** Rolling bodies and blades obey
    :class:`.RouthMethod`. Vakonomic equations are those of optimal control
    and of sub-Riemannian geometry. For holonomic constraints the two agree.
    Forces :math:`Q` without a potential enter as they stand in (26), by
    convention: there is no extremum then.

    Examples
    ========

    A skate on an inclined plane:

    >>> from sympy import cos, sin, symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import VaccoMethod
    >>> m, J, g = symbols('m J g')
    >>> x, y, phi = dynamicsymbols('x y phi')
    >>> vx, vy, w = x.diff(), y.diff(), phi.diff()
    >>> L = m*(vx**2 + vy**2)/2 + J*w**2/2 + m*g*x
    >>> skate = VaccoMethod(L, [x, y, phi],
    ...                     nonhol_coneqs=[vx*sin(phi) - vy*cos(phi)])
    >>> skate.equations_of_motion.states
    (x(t), y(t), phi(t), Derivative(x(t), t), Derivative(y(t), t),
    Derivative(phi(t), t), mu1(t))
    >>> skate.variation.momenta
    Matrix([
    [m*Derivative(x(t), t) + mu1(t)*sin(phi(t))],
    [m*Derivative(y(t), t) - mu1(t)*cos(phi(t))],
    [                    J*Derivative(phi(t), t)]])
    >>> sorted(skate.variation.conserved_quantities(), key=str)
    ['energy', y(t)]
    >>> skate.always_coincides
    False

    Parameters
    ==========

    *args, **kwargs
        As for :class:`.LagrangianMethod`.

    Raises
    ======

    RedundantConstraintsError
        If rows are redundant: their multipliers have no equations.

    References
    ==========

    .. [1] G. T. Ding, "Two ways to introduce undetermined multipliers to
       constrained mechanical systems," Mechanics in Engineering 38 (2016)
       83-86.
    """

    _letter = 'mu'
    # Whether (V) is regular is another question.
    _report_options = {'determined': False}

    @property
    def mu_vec(self):
        """The multipliers ``mu``, which are states, shape (m, 1)."""
        return self._multiplier_symbols

    @property
    def _keeps_multipliers(self):
        """Always: the multipliers are states."""
        return self._system.counts[2] > 0

    @property
    def lam_vec(self):
        """The rates ``mu'``, in the place of multipliers in ``eom``."""
        return self.mu_vec.diff(self._system.t)

    def _check_rows(self):
        self._check_independent(
            'multipliers of dependent rows have no equations of their own')

    @cached_property
    def _varied(self):
        self._check_rows()
        return super()._varied

    def equations(self, system):
        """(V); the states are ``q, u, mu``."""
        W, A, right, b = self._varied.blocks('W', 'A', 'right', 'b')
        equations = EquationsOfMotion.from_speeds(
            system, block_matrix([[W, A.T], [A, None]]), stack(right, b),
            self.lam_vec,
            when_singular=(
                "The regularity matrix B^T*W*B is singular there, or the "
                "constraints lose rank: the vakonomic problem determines no "
                "motion through such a state, e.g. where a multiplier has "
                "cancelled the mass."), when_incomplete=(
                "Multipliers of vakonomic motion are states: their initial "
                "values are data of the problem, each with another motion. "
                "`matching_multipliers` finds those of Routh's motion, if "
                "there are any."))
        return replace(equations, multipliers=(), states=(
            system.q + system.u + tuple(self.mu_vec)))

    def _solve(self):
        g, out = self._varied.load(None, ('W', 'right', 'A', 'b', 'M', 'Q'))
        u, mu = self._block_solve(
            g, out['W'], out['M'], out['A'],
            flat(out['right']), flat(out['b']))
        if u is None:
            raise MissingIngredientError(
                "(V) is singular for all states: the Lagrangian and the "
                "constraints determine no vakonomic motion (it may be "
                "abnormal). Read `variation.regularity_matrix`, and use "
                "another Lagrangian or RouthMethod.")
        forces = [g.sub(g.dot(row, u), x)
                  for row, (x,) in zip(out['M'], out['Q'])]
        return frozen(g, acceleration=u, multiplier_rates=mu,
                      constraint_forces=forces)

    def _without(self, name):
        return UnsupportedFeatureError(
            "Vakonomic forces are not along the rows of the constraints, so "
            "they have no `multipliers`. The states `mu_vec` have the rates "
            "`solve_multipliers()`; the forces are `constraint_forces`.")

    def _solved_for(self):
        return self.closed_form.sympy('multiplier_rates')

    _eom_multipliers = _solved_for

    def _active_forces(self):
        return self._applied() - self.variation.constraint_term

    def _check_reactions(self):
        raise UnsupportedFeatureError(
            "Vakonomic reactions `-(A^T*mu' + Gamma*mu)` are not along the "
            "rows of the constraints, so they cannot be loads there. Read "
            "`constraint_forces`.")

    def to_linearizer(self, *args, **kwargs):
        """Raises an error that names an alternative."""
        raise UnsupportedFeatureError(
            "SymPy's Linearizer has no place for multipliers that are "
            "states. Differentiate `rhs()` by `states`.")

    # -- compared with Routh's equations ---------------------------------

    @cached_property
    def _routh(self):
        return RouthMethod.from_method(self)

    @cached_property
    def coincidence(self):
        """The :class:`.Graph` of what decides whether Routh's motion fits.

        A motion of Routh with reactions ``lam`` is vakonomic if some ``mu``
        satisfies ``A^T*(lam + mu') + Gamma*mu = 0``, so that ``S*mu = 0``
        along it, with ``S = B^T*Gamma`` (n - m, m). Other outputs are ``A``,
        ``Gamma`` (n, m) with Routh's accelerations, and these.
        """
        Gamma, A = self._varied.blocks('Gamma', 'A')
        g = A.builder
        B = self._basis(A)
        _, routh = self._routh.closed_form.load(
            g, ('acceleration', 'multipliers'))
        known = {g.input(derivative(x, self._system.t), dynamic=True): value
                 for x, (value,) in zip(self._system.u,
                                        routh['acceleration'])}
        g.avoid(known)
        Gamma = GraphMatrix(g, [substitute(g, row, known)
                                for row in Gamma.rows], Gamma.shape[1])
        return frozen(
            g, Gamma=Gamma, S=B.T @ Gamma, A=A,
            acceleration=flat(routh['acceleration']),
            multipliers=flat(routh['multipliers']))

    @cached_property
    def always_coincides(self):
        """Whether every motion of Routh is vakonomic for any ``mu``.

        True if ``S`` vanishes where the constraints hold. For constraints
        linear in the velocities that is integrability: holonomic in disguise.
        False if it does not, None if it was not decided.
        :func:`.matching_multipliers` asks about one motion.
        """
        if not self._system.counts[2]:
            return True
        return vanishing(self._system, self.coincidence, 'S', self._sample,
                         self._report.points).holds
