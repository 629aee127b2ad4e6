"""Meshchersky's equation projected on the constraint hypersurface."""
from __future__ import annotations

from functools import cached_property

from mpmath import mp
from sympy import Derivative, ImmutableDenseMatrix, Matrix, diag, eye, sympify
from sympy.physics.mechanics import KanesMethod, RigidBody
from sympy.physics.vector import Vector

from ...analysis.constraint_rank import (
    constraint_report, independent_columns, orthonormal_columns,
    preferred_columns)
from ...analysis.zero_tests import values_at
from ...errors import (
    ConstraintError, InconsistentConstraintsError, MissingIngredientError,
    RedundantConstraintsError, UnsupportedFeatureError)
from ...graph import Graph, GraphMatrix, gradient, read
from ...graph.linalg import solve
from ...graph.writing import nested
from ...model.build import build_system, potential_of
from ...model.call_signatures import (
    as_dictionary, as_list, as_matrix, as_residuals)
from ...model.equations import EquationsOfMotion
from ...model.variable_mass import MassExchange
from ...precision import precise
from ..base import ConstrainedMethod, column
from ..null_space import null_basis
from .classical_forms import FORMS, ClassicalForms, Model
from .higher_order import check_gradients, higher_equations, higher_orders

__all__ = ['GibbsAppellMethod']

# Relative difference that rounding, also of constants, explains.
ROUNDING = mp.mpf('1e-9')


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

    or :math:`E + A^T\lambda = 0`. With :math:`E = -M\dot u - h` and
    constraints linear in the accelerations that is

    .. math::

       \begin{bmatrix} B^T M \\ A \end{bmatrix} \dot u =
       \begin{bmatrix} -B^T h \\ b \end{bmatrix}.

    That the reaction is in the row space of :math:`A` is Chetaev's rule. For
    constraints linear in the velocities it is what ideal means; **for
    nonlinear ones it is an assumption** on how they are realised (for
    orders 1 and 2 the same as Gauss's principle of least constraint), and a
    mechanism may obey another one. Reactions in other directions, such as
    those of actuators, are stated by ``reaction_matrix``.

    **Variable mass.** Mass leaves or joins at points fixed in the bodies with
    a given relative velocity; its :func:`.thrust` is a load. The equations
    then contain the instantaneous :math:`m` and :math:`I` and no rate of
    them, while ``KanesMethod`` takes the rate of momentum, see
    :func:`.momentum_loads`. Masses may be functions of time, coordinates and
    speeds; loads may be linear in the accelerations, as
    ``thrust(P, m.diff(), ...)`` is for a mass that depends on speeds.

    **Higher order.** Constraints nonlinear in the accelerations, or of an
    order above 2, make accelerations and multipliers states, see
    :attr:`equations_of_motion`.

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
    >>> method.forcing
    Matrix([
    [-g*k*m],
    [     0]])
    >>> method.eom[1]
    -m*v(t)**2*Derivative(theta(t), t)

    Parameters
    ==========

    *args, **kwargs
        The arguments of ``KanesMethod(frame, q_ind, u_ind, kd_eqs, ...)`` or
        of ``LagrangesMethod(Lagrangian, qs, ...)``, by position or keyword.
        ``kd_eqs`` are linear in the ``q'`` and of any form in the speeds, of
        which there may be fewer than coordinates. The order of every
        constraint is read off its residual, in whichever list it is. An
        acceleration constraint with the coefficients of a differentiated
        constraint replaces its derivative. In Lagrange's shape the equations
        are those of the Lagrangian, with the rate of momentum.
    reaction_matrix : Matrix (p, m), optional
        The directions ``W`` of the reactions, ``E + W*lam = 0``, one column
        for each constraint in the order of ``constraint_names``: by the
        order of the constraints, then as given.
    anchors : dict, optional
        RigidBody -> Point fixed in it, for mass centres that move in their
        body. Loads at such a mass centre, and rows given geometrically, are
        those of the point of the body that is there.
    mass_rates : dict, optional
        Mass ``m(t)`` -> its rate, an expression in coordinates, speeds,
        masses and time. Such a mass becomes a state.
    potential_energy : 'include' or 'ignore', optional
        Whether the potential energy of bodies counts in Kane's shape.
    generalized_forces : iterable of Expr, optional
        Forces beside those of the loads, one per speed.
    stabilization : pair or list of pairs, optional
        Baumgarte gains of the rows of ``A``; see
        :class:`.UdwadiaKalabaMethod`.
    sample : dict, optional
        Numbers near the motion that is meant; see
        :func:`.admissible_values`.

    References
    ==========

    .. [1] R. Qiu, "The equation of motion for the system of the variable
       mass in the non-linear non-holonomic space" (received 1995).

    """

    def __init__(self, *args, reaction_matrix=None, anchors=None,
                 mass_rates=None, **kwargs):
        self._exchange = MassExchange(
            as_dictionary(anchors, 'anchors'),
            as_dictionary(mass_rates, 'mass_rates'))
        self._reaction = reaction_matrix
        super().__init__(*args, **kwargs)
        if reaction_matrix is not None:
            self._reaction = self._checked_reaction(reaction_matrix)
            self._rows                  # complains about entries

    def _build(self):
        self._system = build_system(
            self._shape, self._arguments, **self._options,
            exchange=self._exchange)
        self._choose_pivots_at_states()
        self._forget()
        if self._is_higher and self._options.get('stabilization') is not None:
            raise UnsupportedFeatureError(
                "`stabilization` is for constraints that are linear in the "
                "accelerations, and there are others of a higher order, "
                "whose residuals `simulate` keeps by projection. Leave it "
                "out.")

    @property
    def _own(self):
        return {'anchors': self._exchange.anchors,
                'mass_rates': self._exchange.rates,
                'reaction_matrix': self._reaction}

    def _check_taken_by(self, cls):
        time = self._system.t
        own = [name for name, value in (
            ('anchors', self._exchange.anchors),
            ('mass_rates', self._exchange.rates),
            ('reaction_matrix', self._reaction is not None),
            ('constraints of a higher order', self._system.higher_rows),
            ('variable masses', self._shape == 'kane' and any(
                sympify(body.mass, strict=True).diff(time) != 0
                for body in self._system.bodies))) if value]
        if own and not issubclass(cls, GibbsAppellMethod):
            raise UnsupportedFeatureError(
                f"The model has {', '.join(own)}, and {cls.__name__} would "
                "take it for another one. Make the method from the model "
                "itself, with `momentum_loads` for variable masses.")

    def _checked_reaction(self, matrix):
        p, m = len(self.u), len(self.constraint_orders)
        found = as_matrix(matrix, 'reaction_matrix')
        if found.shape != (p, m):
            raise ConstraintError(
                f"`reaction_matrix` has shape {found.shape} for {p} speeds "
                f"and {m} constraints. Give one column, the direction of the "
                "generalized reaction, for each constraint.")
        return found

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
    def constraint_names(self):
        """A label for every constraint, in the order of the rows."""
        orders = higher_orders(self._system)
        return self._system.constraint_names + tuple(
            f'order-{order} row {k}' for k, order in enumerate(orders))

    @cached_property
    def _report(self):
        """Of the rows that are linear in the accelerations."""
        with precise():
            report = constraint_report(
                self.system, self._sample, determined=not self._is_higher)
        if self._is_higher:
            check_gradients(self.system, report, self.constraint_names,
                            self._sample or {})
        if self._reaction is not None and report.redundant_rows:
            names = ', '.join(self.constraint_names[k]
                              for k in report.redundant_rows)
            raise RedundantConstraintsError(
                f"{names} follows from the other rows where the constraints "
                "hold, and has a reaction of its own by `reaction_matrix`. "
                "Leave the row and its column out.",
                rows=report.redundant_rows)
        if 'replaced' in self._system.graph.outputs:
            self._check_replaced(report.points)
        return report

    def _check_replaced(self, points):
        """Raise if rows given for derivatives contradict them."""
        with precise():
            for point in points:
                found, size = (values_at(
                    self._system, self._system.graph, point, ('replaced',),
                    largest=largest) for largest in (False, True))
                if any(abs(x) > ROUNDING*size for x, in found['replaced']):
                    raise InconsistentConstraintsError(
                        "A row of `acceleration_constraints` contradicts the "
                        "derivative of the constraint that it stands for, "
                        "where the constraints hold. Correct it, or leave it "
                        "out.")

    def _check_rows(self):
        """Raise if a row that has a multiplier as a state is redundant."""
        rows = self._report.redundant_rows
        if rows:
            names = ', '.join(self.constraint_names[k] for k in rows)
            raise RedundantConstraintsError(
                f"{names} follows from the other rows where the constraints "
                "hold. With constraints of a higher order the multipliers "
                "are states, and that of a redundant row would have no "
                "equation. Leave it out.", rows=tuple(rows))
        self._pivots                    # complains about dependent rows

    @cached_property
    def lam_vec(self):
        """Symbols of the multipliers, functions of time, shape (m, 1)."""
        return self._fresh_symbols('lam', len(self.constraint_orders))

    @cached_property
    def constraints_jacobian(self):
        """``A``, derivatives by the highest derivatives, shape (m, p)."""
        return self._rows.sympy('A')

    @property
    def higher_constraints(self):
        """Residuals nonlinear in ``u'`` or of an order above 2, (k, 1)."""
        return column(self._system.higher_rows)

    @cached_property
    def _rows(self):
        """``A`` of all constraints, and ``W`` of the reactions."""
        system = self._system
        g, out = system.graph.load(None, ('A', 'higher'))
        A = list(out['A'])
        for (f,), order in zip(out['higher'], higher_orders(system)):
            A.append(gradient(g, f, [
                g.input(x.diff(system.t, order - 1), dynamic=True)
                for x in system.u]))
        W = [list(row) for row in zip(*A)] or [[] for _ in system.u]
        if self._reaction is not None:
            W = [[read(g, x) for x in self._reaction[j, :]]
                 for j in range(len(system.u))]
            moving = [x for x in g.symbols_of(*(y for row in W for y in row))
                      if isinstance(x, Derivative) and x not in system.u
                      and x.expr in {*system.q, *system.u, *system.masses}]
            if moving:
                raise ConstraintError(
                    f"`reaction_matrix` contains {moving[0]}. Directions of "
                    "reactions may depend on coordinates, speeds, masses and "
                    "time; write it in these.")
        return Graph.freeze(g, {'A': (A, len(system.u)),
                                'W': (W, len(A))})

    @property
    def independent_rows(self):
        """Numbers of constraints that are independent, where they hold."""
        count = self._system.counts[2]
        kept = list(self._report.independent_rows) if count else []
        return kept + list(range(count, len(self.constraint_orders)))

    def _independent(self, name, rows, preferred):
        """Positions of speeds that determine the rest of ``A`` or ``W``.
        """
        with precise():
            matrices = []
            for point in self._report.points:
                found = values_at(self._system, self._rows, point, (name,))
                matrix = found[name] if name == 'A' else list(
                    zip(*found[name]))
                matrices.append([matrix[k] for k in rows])
            try:
                found = independent_columns(
                    orthonormal_columns(matrices, len(self.u)), preferred)
            except TypeError as error:  # complex numbers have no order
                raise ConstraintError(
                    "A constraint has no real gradient at the accelerations "
                    "that were tried. Pass `sample={symbol: number, ...}` "
                    "with accelerations near the motion that is meant."
                ) from error
        if len(found) < len(rows):
            raise ConstraintError(
                f"The constraints have {len(rows)} rows, and their "
                f"{'gradients' if name == 'A' else 'reactions'} only "
                f"{len(found)} independent directions. Leave rows out that "
                "follow from the others"
                + ("." if name == 'A' else
                   ", or correct `reaction_matrix`."))
        return found

    @cached_property
    def _pivots(self):
        """Positions of the dependent speeds: the user's as far as they go.
        """
        rows = self.independent_rows
        if not rows:
            return ()
        system = self._system
        preferred = [system.u.index(x) for x in system.u_dependent]
        if len(preferred) != len(rows) and system.counts[2]:
            with precise():
                preferred = preferred_columns(system, self._report)
        return self._independent('A', rows, preferred)

    @cached_property
    def _projection(self):
        """Graph with ``A`` (independent rows), ``basis`` ``B`` and
        ``projector`` ``Z``."""
        rows = self.independent_rows
        g, out = self._rows.load()
        A = [out['A'][k] for k in rows]
        p = len(self.u)
        B = Z = null_basis(GraphMatrix(g, A, p), self._pivots).T.rows
        if self._reaction is not None and rows:
            W = [[row[k] for row in out['W']] for k in rows]
            Z = null_basis(GraphMatrix(g, W, p),
                           self._independent('W', rows, ())).T.rows
        free = p - len(rows)
        return Graph.freeze(g, {
            'A': (A, len(self.u)), 'basis': (transposed(B, self.u), free),
            'projector': (transposed(Z, self.u), free)})

    @cached_property
    def hypersurface_basis(self):
        """Base vectors ``B`` of the constraint hypersurface, (p, p - m).

        With a ``reaction_matrix`` the columns are orthogonal to the
        reactions instead. The identity in the independent speeds.
        """
        return self._projection.sympy('projector')

    # -- the projected equations -----------------------------------------

    @cached_property
    def _projected(self):
        """Graph of what is linear in the accelerations."""
        system, rows = self.system, self.independent_rows
        g, out = system.graph.load(None, ('M', 'Q', 'b'))
        _, found = self._projection.load(g)
        Z = list(zip(*found['projector']))
        u = [g.input(x, dynamic=True) for x in self._udot]
        E = [g.sub(x, g.dot(row, u)) for row, (x,) in zip(out['M'], out['Q'])]
        known = [x for x, in out['Q']]
        single = {'residual': E, 'eom': [g.dot(c, E) for c in Z]}
        blocks = {}
        if not self._is_higher:
            blocks['mass'] = [[g.dot(c, x) for x in zip(*out['M'])]
                              for c in Z] + found['A']
            single['forcing'] = [g.dot(c, known) for c in Z] + [
                out['b'][k][0] for k in rows]
        return Graph.freeze(g, {
            **{name: (matrix, len(u)) for name, matrix in blocks.items()},
            **{name: ([[x] for x in refs], 1)
               for name, refs in single.items()}})

    @cached_property
    def unrestricted_residual(self):
        """``E`` of (E), without reactions, in ``q``, ``u``, ``u'``, (p, 1).
        """
        return self._projected.sympy('residual')

    @cached_property
    def eom(self):
        """``B^T*E``, zero along the motion, shape (p - m, 1).

        The negative of what :meth:`classical_equations` returns.
        """
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
    def forcing_kin(self):
        """The rates that are explicit in the states.

        Of the coordinates, of masses that are states and, if the order is
        higher, of all derivatives below the highest.
        """
        return self.equations_of_motion.graph.sympy('rates')

    @property
    def mass_matrix_kin(self):
        """Identity."""
        return ImmutableDenseMatrix(eye(len(self.forcing_kin)))

    @property
    def mass_matrix_full(self):
        """Block diagonal of identity and :attr:`mass_matrix`."""
        if not len(self.forcing_kin):
            return self.mass_matrix
        return ImmutableDenseMatrix(diag(self.mass_matrix_kin,
                                         self.mass_matrix))

    @cached_property
    def acceleration_constraints(self):
        """Residuals at acceleration level, of all rows of at most order 2."""
        linear = self._linear_residual(self._system.graph, 'A', 'b')
        return linear.col_join(column(
            row for row, order in zip(self._system.higher_rows,
                                      higher_orders(self._system))
            if order == 2))

    def equations(self, system):
        r"""Equations with multipliers, whatever the order of the rows.

        Explanation
        ===========

        If all constraints are linear in the accelerations,

        .. math::

           \begin{bmatrix} M & -W \\ A & 0 \end{bmatrix}
           \begin{bmatrix} \dot u \\ \lambda \end{bmatrix} =
           \begin{bmatrix} -h \\ b \end{bmatrix}

        with :math:`W = A^T`, or the ``reaction_matrix``. Else let :math:`N`
        be such that all constraints, differentiated as needed, are linear in
        :math:`u^{(N)}`, and :math:`k` the order of the highest derivative of
        :math:`u` in :math:`E + A^T\lambda`. Then

        .. math::

           D_t^{N-k}(E + A^T\lambda) = 0, \qquad D_t^{j} f = 0

        is linear in :math:`u^{(N)}` and :math:`\lambda^{(N-k)}`. What is
        below these are states, and the equations of which derivatives are
        taken are relations among them, kept by ``simulate``. For rows of
        order 2 that are nonlinear in :math:`\dot u`, and of order 3, the
        states are :math:`q, u, \dot u, \lambda`.
        """
        if self._system.counts[2]:
            self._report                # complains about rows
        if self._is_higher:
            self._check_rows()
            return higher_equations(
                system, self._rows, self.constraint_orders,
                self.constraint_names, tuple(self.lam_vec))
        n, p, m = system.counts
        g, out = system.graph.load()
        _, rows = self._rows.load(g, ('W',))
        W = [row + [-x for x in action]
             for row, action in zip(out['M'], rows['W'])]
        W += [row + [0]*m for row in out['A']]
        shapes = {name: size[1] for name, size in
                  system.graph.outputs.items()}
        rates = out['rates'] + out['mass_rates']
        lam = tuple(self.lam_vec)
        graph = Graph.freeze(g, {
            **{name: (out[name], shapes[name]) for name in out
               if name not in ('mass_rates', 'higher')},
            'rates': (rates, 1), 'W': (W, p + m),
            'r': (out['Q'] + out['b'], 1)})
        return EquationsOfMotion(
            graph, system.q, system.u,
            system.q + system.masses + system.u,
            tuple(x.diff(system.t) for x in system.u) + lam, lam,
            self.constraint_names,
            is_stabilized=system.stabilization is not None)

    def __repr__(self):
        return (f'<GibbsAppellMethod: {len(self.q)} coordinates, '
                f'{len(self.u)} speeds, {len(self.constraint_orders)} '
                'constraint rows>')

    # -- solved ----------------------------------------------------------

    def _solve(self):
        """``u' = B*z + x_b`` with ``Z^T*M*B*z = Z^T*(Q - M*x_b)``."""
        if self._is_higher:
            return self._solve_higher()
        system, rows = self.system, self.independent_rows
        g, out = system.graph.load(None, ('M', 'Q', 'b'))
        _, found = self._projection.load(g)
        _, all_rows = self._rows.load(g, ('W',))
        p, one = len(system.u), self._pivots
        B, Z = (list(zip(*found[x])) for x in ('basis', 'projector'))
        start = [0]*p
        for j, x in zip(one, solve(
                g, [[row[j] for j in one] for row in found['A']],
                [out['b'][k][0] for k in rows])):
            start[j] = x
        known = [g.sub(x, g.dot(row, start))
                 for row, (x,) in zip(out['M'], out['Q'])]
        pull = [[g.dot(row, c) for row in out['M']] for c in B]
        z = solve(g, [[g.dot(c, x) for x in pull] for c in Z],
                  [g.dot(c, known) for c in Z])
        if z is None and self._reaction is not None:
            raise ConstraintError(
                "The reactions in the directions of `reaction_matrix` cannot "
                "keep the constraints: with any multipliers the accelerations "
                "that they ask for are not reached. Correct the directions.")
        if z is None:
            raise MissingIngredientError(
                "The projected mass matrix B^T*M*B is singular for all "
                "states: a direction that the constraints leave free has no "
                "mass. Give it mass, or a constraint.")
        total = [g.add(x, g.dot(z, row)) for x, row in zip(
            start, zip(*B) if B else [()]*p)]
        missing = [g.sub(g.dot(row, total), x)
                   for row, (x,) in zip(out['M'], out['Q'])]
        lam = self._multipliers(g, all_rows['W'], missing)
        return Graph.freeze(g, {'M': (out['M'], p), **{
            name: ([[x] for x in refs], 1) for name, refs in (
                ('acceleration', total), ('multipliers', lam),
                ('constraint_forces', missing), ('forcing', [
                    g.dot(row, total) for row in out['M']]))}})

    def _multipliers(self, g, W, forces):
        """``lam`` of ``W*lam = forces``; zero for redundant rows."""
        rows = self.independent_rows
        lam = [0]*len(self.constraint_orders)
        if rows:
            two = (self._pivots if self._reaction is None
                   else self._independent('W', rows, ()))
            found = solve(g, [[W[j][k] for k in rows] for j in two],
                          [forces[j] for j in two])
            for k, x in zip(rows, found):
                lam[k] = x
        return lam

    @property
    def lam_coeffs(self):
        """``-A``, as in ``LagrangesMethod``, shape (m, p)."""
        return -self.constraints_jacobian

    def _solved_for(self):
        """Multipliers; if they are states, in terms of accelerations."""
        if not self._is_higher:
            return self.multipliers
        g, out = self.system.graph.load(None, ('M', 'Q'))
        _, rows = self._rows.load(g, ('W',))
        u = [g.input(x, dynamic=True) for x in self._udot]
        lam = self._multipliers(g, rows['W'], [
            g.sub(g.dot(row, u), x) for row, (x,) in zip(
                out['M'], out['Q'])])
        return column(nested(g, lam))

    def _solve_higher(self):
        """The highest derivatives, and reactions in terms of states."""
        equations = self.equations_of_motion
        g, rows = self._rows.load(None, ('W',))
        _, out = equations.graph.load(g, ('W', 'r', 'M'))
        found = solve(g, out['W'], [x for x, in out['r']])
        if found is None:
            raise MissingIngredientError(
                "The equations of the highest derivatives are singular for "
                "all states: the constraints do not determine a motion with "
                "such reactions. Read `equations_of_motion`.")
        p = len(self.u)
        lam = [g.input(x, dynamic=True) for x in self.lam_vec]
        forces = [g.dot(row, lam) for row in rows['W']]
        accelerations = [g.input(x, dynamic=True) for x in self._udot]
        return Graph.freeze(g, {'M': (out['M'], p), **{
            name: ([[x] for x in refs], 1) for name, refs in (
                ('highest', found), ('acceleration', accelerations),
                ('multipliers', lam), ('constraint_forces', forces),
                ('forcing', [g.dot(row, accelerations)
                             for row in out['M']]))}})

    def rhs(self, inv_method=None, **kwargs):
        """The rates of the :attr:`states`.

        ``inv_method`` is accepted for SymPy's sake and not used.
        """
        solved = (self.closed_form.sympy('highest') if self._is_higher
                  else self.acceleration)
        return self.forcing_kin.col_join(solved)

    def residual(self):
        """Residuals of the implicit first-order form, zero along a motion.

        The explicit rates, then ``W*z - r``.
        """
        equations = self.equations_of_motion
        count = len(self.forcing_kin)
        rates = column(x.diff(self._system.t)
                       for x in equations.states[:count])
        return (rates - self.forcing_kin).col_join(self._linear_residual(
            equations.graph, 'W', 'r', equations.unknowns))

    def _check_reactions(self):
        if self._reaction is not None:
            raise UnsupportedFeatureError(
                "With a `reaction_matrix` the generalized reaction is "
                "`reaction_matrix*lam`, which is not in the directions of "
                "the rows. Read `constraint_forces`.")

    def to_linearizer(self, *args, **kwargs):
        if self._is_higher or self._system.masses:
            raise UnsupportedFeatureError(
                "SymPy's Linearizer has no place for accelerations, "
                "multipliers or masses that are states. Differentiate "
                "`rhs()` by `states`.")
        return super().to_linearizer(*args, **kwargs)

    def kanes_equations(self, bodies=None, loads=None):
        """Return ``(Fr, Fr*)`` for the independent speeds.

        Their sum is :attr:`eom`. Bodies and loads given here replace those
        of the constructor.
        """
        self._take(bodies, loads)
        forms = self._forms
        active = forms.written(forms.projected(forms.forces))
        return Matrix(active), Matrix(self.eom - active)

    @cached_property
    def auxiliary_eqs(self):
        """Rows of ``E`` of the auxiliary speeds, shape (a, 1)."""
        if not self._system.u_auxiliary:
            return super().auxiliary_eqs
        return -self._linear_residual(self.system.graph, 'auxiliary_M',
                                      'auxiliary_Q', self._udot)

    @property
    def _uaux(self):
        return Matrix(self._system.u_auxiliary)

    # -- classical forms -------------------------------------------------

    @cached_property
    def _forms(self):
        potential = potential_of(
            as_list(self.system.bodies, 'bodies'), self._options.get(
                'potential_energy') or 'ignore'
        ) if self._shape == 'kane' else sympify(0)
        forces = self._options.get('generalized_forces')
        return ClassicalForms(Model(
            self.system, self._exchange.points(), potential,
            as_residuals(forces, 'generalized_forces'),
            tuple(self.independent_rows), self._pivots, self._projection))

    def classical_equations(self, form):
        r"""Return the equations of motion in a classical form, (p - m, 1).

        Explanation
        ===========

        Each is made from its own definition, with the terms of variable mass,
        and equal to ``-eom`` for every acceleration. Dependent speeds and
        their rates stay as symbols, also in forms that are made with them
        eliminated: what is known of them by the constraints can be
        substituted.

        =====================  ==============================================
        form                   made from
        =====================  ==============================================
        ``'kane'``             partial velocities, (E)
        ``'appell'``           the Gibbs function :math:`S`, (14)
        ``'maggi'``            Lagrange's expressions of all coordinates
        ``'boltzmann-hamel'``  :math:`T^*(q, u, t)` and :math:`D_tJ - V_qJ`
        ``'voronets'``         :math:`T` with dependent speeds eliminated
        ``'chaplygin'``        the same without dependent coordinates
        ``'volterra'``         :math:`T^*` and sums over the bodies
        ``'macmillan'``        (8)
        ``'nielsen'``          :math:`\dot T` and momenta, (13)
        ``'nielsen-10'``       :math:`\dot T` and sums over the bodies, (10)
        =====================  ==============================================

        Raises
        ======

        UnsupportedFeatureError
            If the form does not apply to the model, with the reason.

        """
        if form not in FORMS:
            raise ValueError(
                f"`form` is {form!r}. Choose one of "
                f"{', '.join(map(repr, FORMS))}.")
        return self._forms.form(form)

    @cached_property
    def gibbs_function(self):
        r"""``S``: :math:`\frac12 m a^2 + \frac12\alpha\cdot I\cdot\alpha
        + \alpha\cdot(\omega\times I\omega)`."""
        return self._forms.written([self._forms.gibbs_function])[0]

    @cached_property
    def kinetic_energy(self):
        """``T*(q, u, t)`` of the bodies."""
        if not self._forms.of_bodies:
            raise UnsupportedFeatureError(
                "The model was given by a Lagrangian, which does not tell "
                "kinetic from potential energy. Give bodies.")
        return self._forms.written([self._forms.kinetic_energy])[0]

    @cached_property
    def momenta(self):
        """``p_s = dT/dq_s'`` in terms of the speeds, shape (n, 1)."""
        return self._forms.written(self._forms.in_velocities.momenta)

    @cached_property
    def partial_velocities(self):
        """Body -> list of its partial velocities, one per speed.

        Vectors of the mass centre for a ``Particle``, pairs with the partial
        angular velocity for a ``RigidBody``.
        """
        forms, frame = self._forms, self._system.frame
        found = {}
        for motion in forms.motions:
            rows = []
            for by_speed in forms.kinematics.by_speed:
                v = in_frame(forms.g, map(by_speed, motion.v), frame)
                if isinstance(motion.body, RigidBody):
                    v = v, in_frame(forms.g, map(by_speed, motion.w),
                                    motion.body.frame)
                rows.append(v)
            found[motion.body] = rows
        return found


def in_frame(g, numbers, frame):
    """SymPy vector of measure numbers on the graph."""
    return sum((x*axis for x, axis in zip(nested(g, list(numbers)), frame)),
               Vector(0))


def transposed(columns, rows):
    """Rows of a matrix given by its columns, also if there are none."""
    return [[c[j] for c in columns] for j in range(len(rows))]
