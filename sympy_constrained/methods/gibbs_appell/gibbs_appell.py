"""Meshchersky's equation projected on the constraint hypersurface.

The derivation and the public properties are together in one class; the
algebra is in the other files of this folder.
"""
from functools import cached_property

from sympy import sympify
from sympy.physics.mechanics import KanesMethod

from ...errors import UnsupportedFeatureError
from ...graph import block_matrix, stack
from ...graph.matrix import as_column
from ...model.call_signatures import (
    as_dictionary, as_expressions, check_choice)
from ...model.equations import EquationsOfMotion
from ...model.variable_mass import MassExchange
from ..base import ConstrainedMethod
from ..references import flat, inputs, written
from ..symbols import column, fresh_symbols
from .classical_forms import FORMS, ClassicalForms
from .higher_order import (
    check_gradients, higher_equations, higher_orders, highest_derivatives)
from .hypersurface import (
    Hypersurface, check_replaced, checked_reaction, constraint_directions)
from .ingredients import Ingredients


@KanesMethod.register
class GibbsAppellMethod(ConstrainedMethod):
    r"""Constraints of any order and form, and variable mass.

    Explanation
    ===========

    Meshchersky's equation :math:`m\,a = F + R` of every part of the system is
    projected on the base vectors of the constraint hypersurface [1]_. With
    :math:`\dot q = V(q, u, t)` the unrestricted residual is

    .. math::

       E_r = \sum \frac{\partial v}{\partial u_r}\cdot(F + R - m\,a)
       + \frac{\partial\omega}{\partial u_r}\cdot
       (T - I\cdot\alpha - \omega\times(I\cdot\omega))
       \qquad \text{(E)}

    A constraint of order :math:`m` contains the coordinates differentiated
    :math:`m` times. Its row of :math:`A` is the derivative by the speeds
    differentiated :math:`m - 1` times, whatever its form, and the equations
    of motion are

    .. math::

       B^T E = 0, \qquad f = 0, \qquad A B = 0
       \qquad \text{(4), (18), (21)}

    or :math:`E + A^T\lambda = 0`, with :math:`E = -M\dot u - h`. That the
    reaction is in the row space of :math:`A` is Chetaev's rule. For
    constraints linear in the velocities it defines ideal reactions; **for
    nonlinear ones it is an assumption** on their realisation (for orders 1
    and 2 Gauss's principle of least constraint). Give other directions, such
    as those of actuators, as ``reaction_matrix``.

    **Variable mass.** Mass leaves or joins at points fixed in the bodies with
    a given relative velocity; its :func:`.thrust` is a load. The equations
    contain the instantaneous :math:`m` and :math:`I`; ``KanesMethod`` takes
    the rate of momentum instead, see :func:`.momentum_loads`. Masses may be
    functions of time, coordinates and speeds; loads may be linear in the
    accelerations.

    **Higher order.** Constraints nonlinear in the accelerations, or of an
    order above 2, make accelerations and multipliers states, see
    :meth:`equations`.

    Examples
    ========

    The machine of Appell and Hamel, ``z' = k*sqrt(x'^2 + y'^2)``, in the
    speed and the heading of the horizontal motion:

    >>> from sympy import cos, sin, symbols
    >>> from sympy.physics.mechanics import (
    ...     Particle, Point, ReferenceFrame, dynamicsymbols)
    >>> from sympy_constrained import GibbsAppellMethod
    >>> m, g, k = symbols('m g k')
    >>> x, y, z, v, theta = dynamicsymbols('x y z v theta')
    >>> N, O, P = ReferenceFrame('N'), Point('O'), Point('P')
    >>> O.set_vel(N, 0)
    >>> P.set_pos(O, x*N.x + y*N.y + z*N.z)
    >>> body = Particle('body', P, m)
    >>> method = GibbsAppellMethod(
    ...     N, [x, y, z], [v, theta],
    ...     kd_eqs=[x.diff() - v*cos(theta), y.diff() - v*sin(theta),
    ...             z.diff() - k*v],
    ...     bodies=[body], forcelist=[(P, -m*g*N.z)])
    >>> method.mass_matrix
    Matrix([
    [k**2*m + m,      0],
    [         0, m*v(t)**2]])
    >>> method.eom[1]
    m*v(t)**2*Derivative(theta(t), t)

    Parameters
    ==========

    *args, **kwargs
        As for :class:`.ConstrainedMethod`. ``kd_eqs`` are linear in the ``q'``
        and of any form in the speeds; there may be fewer speeds than
        coordinates. The order of every constraint is read from its residual,
        whichever list contains it. An acceleration constraint with the
        coefficients of a differentiated constraint replaces its derivative. In
        Lagrange's shape the equations are those of the Lagrangian, with the
        rate of momentum.
    reaction_matrix : Matrix (p, m), optional
        The directions ``W`` of the reactions, ``E + W*lam = 0``, one column
        for each constraint, sorted by order, then as given.
    anchors : dict, optional
        RigidBody -> Point fixed in it, for mass centres that move in their
        body. Loads at such a mass centre, and rows given geometrically, act
        on the point of the body that coincides with it.
    mass_rates : dict, optional
        Mass ``m(t)`` -> its rate, an expression in coordinates, speeds,
        masses and time. Such a mass becomes a state.

    References
    ==========

    .. [1] R. Qiu, "The equation of motion for the system of the variable
       mass in the non-linear non-holonomic space" (received 1995).
    """

    # The equations are projected in both shapes of the call.
    _keeps_multipliers = False

    def __init__(self, *args, reaction_matrix=None, anchors=None,
                 mass_rates=None, **kwargs):
        self._anchors = as_dictionary(anchors, 'anchors')
        self._mass_rates = as_dictionary(mass_rates, 'mass_rates')
        self._exchange = MassExchange(self._anchors, self._mass_rates)
        self._reaction_matrix = reaction_matrix
        super().__init__(*args, **kwargs)
        if reaction_matrix is not None:
            self._reaction_matrix = checked_reaction(
                reaction_matrix, len(self.u), len(self.constraint_orders))
            self._directions            # checks the entries

    def _build(self):
        super()._build()
        if self._is_higher and self._options.get('stabilization') is not None:
            raise UnsupportedFeatureError(
                "`stabilization` applies to constraints that are linear in "
                "the accelerations; this model has constraints of a higher "
                "order, which `simulate` keeps by projection. Omit it.")

    @property
    def _special(self):
        return {'anchors': self._anchors, 'mass_rates': self._mass_rates,
                'reaction_matrix': self._reaction_matrix is not None,
                'constraints of a higher order': self._system.higher_rows,
                'variable masses': self._shape == 'kane' and any(
                    sympify(body.mass, strict=True).diff(self._system.t) != 0
                    for body in self._system.bodies)}

    # -- constraints -----------------------------------------------------

    @property
    def _is_higher(self):
        return bool(self._system.higher_rows)

    @cached_property
    def constraint_orders(self):
        """The order of every constraint, in the order of the rows."""
        system = self._system
        return ((0,)*len(system.holonomic_rows)
                + (1,)*len(system.velocity_rows)
                + (2,)*len(system.acceleration_rows)
                + higher_orders(system))

    @property
    def _names(self):
        orders = higher_orders(self._system)
        return self._system.constraint_names + tuple(
            f'order-{order} row {k}' for k, order in enumerate(orders))

    @cached_property
    def _report(self):
        """Report on the rows that are linear in the accelerations."""
        report = self._rank_report(determined=not self._is_higher)
        if self._is_higher:
            check_gradients(self.system, report, self._names,
                            self._sample or {})
        if self._reaction_matrix is not None:
            self._check_independent(
                "each has its own reaction in `reaction_matrix`",
                "Leave the row and its column out.", report)
        check_replaced(self._system, report.points)
        return report

    @cached_property
    def lam_vec(self):
        """Symbols of the multipliers, functions of time, shape (m, 1)."""
        return fresh_symbols(self._system, 'lam', len(self.constraint_orders))

    @cached_property
    def constraints_jacobian(self):
        """``A``, derivatives by the highest derivatives, shape (m, p)."""
        return self._directions.sympy('A')

    @property
    def independent_rows(self):
        """Numbers of constraints that are independent where they hold."""
        count = self._system.counts[2]
        kept = list(self._ranks.independent_rows) if count else []
        return kept + list(range(count, len(self.constraint_orders)))

    @cached_property
    def _directions(self):
        return constraint_directions(self._system, self._reaction_matrix)

    @cached_property
    def _hypersurface(self):
        rows = self._ordered_rows
        return Hypersurface(
            self.system, self._directions, rows,
            self._ranks if rows else None, self._reaction_matrix is None)

    @property
    def _pivots(self):
        return self._hypersurface.dependent

    @cached_property
    def hypersurface_basis(self):
        """Base vectors ``B`` of the constraint hypersurface, (p, p - m).

        Orthogonal to the reactions instead if there is a ``reaction_matrix``.
        """
        return self._hypersurface.projection.sympy('projector')

    _projector = property(lambda self: self.hypersurface_basis)

    # -- the projected equations -----------------------------------------

    @cached_property
    def _projected(self):
        return self._hypersurface.projected(self._udot)

    @cached_property
    def eom(self):
        """``-B^T*E``, inertia minus forces, shape (p - m, 1)."""
        return self._projected.sympy('eom')

    @cached_property
    def mass_matrix(self):
        """``[B^T*M; A]``, shape (p, p); ``W`` if the order is higher."""
        if self._is_higher:
            return self.equations_of_motion.W
        return self._projected.sympy('mass')

    @cached_property
    def forcing(self):
        """``[-B^T*h; b]``, shape (p, 1); ``r`` if the order is higher."""
        if self._is_higher:
            return self.equations_of_motion.r
        return self._projected.sympy('forcing')

    @property
    def _rates(self):
        """Rates of coordinates, mass states and lower derivatives."""
        return self.equations_of_motion.graph.sympy('rates')

    @cached_property
    def acceleration_constraints(self):
        """Residuals at acceleration level of all rows up to order 2."""
        linear = super().acceleration_constraints
        return linear.col_join(column(
            row for row, order in zip(self._system.higher_rows,
                                      higher_orders(self._system))
            if order == 2))

    def equations(self, system):
        r"""Equations with multipliers, whatever the order of the rows.

        If all constraints are linear in the accelerations,

        .. math::

           \begin{bmatrix} M & -W \\ A & 0 \end{bmatrix}
           \begin{bmatrix} \dot u \\ \lambda \end{bmatrix} =
           \begin{bmatrix} -h \\ b \end{bmatrix}

        with :math:`W = A^T`, or the ``reaction_matrix``. Otherwise let all
        constraints, differentiated as needed, be linear in :math:`u^{(N)}`,
        and :math:`u^{(k)}` the highest derivative in :math:`E + A^T\lambda`.
        Then

        .. math::

           D_t^{N-k}(E + A^T\lambda) = 0, \qquad D_t^{j} f = 0

        is linear in :math:`u^{(N)}` and :math:`\lambda^{(N-k)}`. Lower
        derivatives are states; the equations before differentiation are
        relations among them, which ``simulate`` keeps.
        """
        if self._system.counts[2]:
            self._report                # checks the rows
        if self._is_higher:
            self._check_independent(
                "with constraints of a higher order the multipliers are "
                "states: that of a redundant row would have no equation",
                "Leave it out.")
            self._pivots                # checks that rows are independent
            return higher_equations(
                system, self._directions, self.constraint_orders,
                self._names, tuple(self.lam_vec))
        M, Q, A, b = system.blocks('M', 'Q', 'A', 'b')
        W, = self._directions.blocks('W', builder=M.builder)
        return EquationsOfMotion.from_speeds(
            system, block_matrix([[M, -W], [A, None]]), stack(Q, b),
            self.lam_vec)

    # -- solved ----------------------------------------------------------

    def _solve(self):
        if self._is_higher:
            return highest_derivatives(
                self.equations_of_motion, self._directions,
                tuple(self.lam_vec), tuple(self._udot))
        return self._hypersurface.solve()

    @property
    def lam_coeffs(self):
        """``-A``, as in ``LagrangesMethod``, shape (m, p)."""
        return -self.constraints_jacobian

    def _solved_for(self):
        """Multipliers; if they are states, in terms of accelerations."""
        if not self._is_higher:
            return self.multipliers
        M, Q = self.system.blocks('M', 'Q')
        g = M.builder
        u = as_column(g, inputs(g, self._udot))
        return written(g, self._hypersurface.multipliers(
            g, flat((M @ u - Q).rows)))

    def rhs(self, inv_method=None, **kwargs):
        """The rates of the states; ``inv_method`` is not used."""
        solved = (self.closed_form.sympy('highest') if self._is_higher
                  else self.acceleration)
        return self._rates.col_join(solved)

    def _check_reactions(self):
        if self._reaction_matrix is not None:
            raise UnsupportedFeatureError(
                "With a `reaction_matrix` the generalized reaction is "
                "`reaction_matrix*lam`, which is not in the directions of "
                "the rows. Read `constraint_forces`.")

    def to_linearizer(self, *args, **kwargs):
        if self._is_higher or self._system.masses:
            raise UnsupportedFeatureError(
                "SymPy's Linearizer does not support accelerations, "
                "multipliers or masses as states. Differentiate `rhs()` by "
                "`states`.")
        return super().to_linearizer(*args, **kwargs)

    def _active_forces(self):
        return self._forms.written(self._forms.projected(self._forms.forces))

    # -- classical forms -------------------------------------------------

    @cached_property
    def _forms(self):
        potential = self._potential if self._shape == 'kane' else sympify(0)
        forces = self._options.get('generalized_forces')
        return ClassicalForms(
            self._hypersurface, self._exchange.points(), potential,
            as_expressions(forces, 'generalized_forces'))

    @cached_property
    def ingredients(self):
        """The :class:`.Ingredients` of the equations."""
        return Ingredients(self._forms, self._projected)

    def classical_equations(self, form):
        """Return the equations of motion in a classical form, (p - m, 1).

        Each of the :mod:`.classical_forms` is made from its own definition and
        equals :attr:`eom` for every acceleration. Dependent speeds and their
        rates remain as symbols.

        Raises
        ======

        UnsupportedFeatureError
            If the form does not apply to the model, with the reason.
        """
        check_choice('form', form, FORMS)
        return self._forms.form(form)
