"""Hamel's embedding of constraints, and the corrected equations."""
from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import combinations

from mpmath import mp
from sympy import ImmutableDenseNDimArray
from sympy.physics.mechanics import KanesMethod

from ...analysis.consistent_points import norm, orthonormal_rows
from ...analysis.constraint_rank import (
    independent_at, independent_columns, warn_of_branches)
from ...analysis.zero_tests import counterexample, values_at, vanishing
from ...errors import (
    ConstraintError, MissingIngredientError, RedundantConstraintsError,
    UnsupportedFeatureError)
from ...graph import Graph, gradient, substitute, time_derivative
from ...graph.linalg import FullRankFactorization, ldl_factor, ldl_solve, solve
from ...model.call_signatures import arguments_of, as_list, shape_of
from ...model.equations import EquationsOfMotion
from ...precision import precise
from ..base import ConstrainedMethod, column, with_inherited
from ..linearization import embedded_linearizer
from ..null_space import accelerations, no_mass, reduced_equations
from .embedding import embed
from .validity import Validity

__all__ = ['HamelEmbedding']

WRONG = (
    "These are Hamel's equations, and they are wrong for this choice of "
    "dependent coordinates: the discrepancy E does not vanish on the "
    "constraints, so the motion is not that of the model. Simulate "
    "`voronets_equations_of_motion`, which are corrected, or choose among "
    "`valid_partitions()`.")
ONE_EACH = 'an embedding eliminates one velocity for each row'
# Relative size of what is new in an independent row of B.
INDEPENDENT = mp.mpf('1e-8')


@KanesMethod.register
class HamelEmbedding(ConstrainedMethod):
    r"""Constraints embedded in the kinetic energy, and when that is right.

    Explanation
    ===========

    The constraints are solved for the velocities of as many coordinates
    :math:`q_1` as there are rows,

    .. math::

       \dot q_1 = g(q, u, t) = -B u + a, \qquad u = \dot q_2, \qquad (4)

    and put into the kinetic energy (or the Lagrangian) before it is varied.
    Hamel's equations are those of Lagrange for the embedded :math:`L^*`, in
    which :math:`q_1` is kept and has no equation of its own [1]_:

    .. math::

       \frac{d}{dt}\frac{\partial L^*}{\partial u}
       - \frac{\partial L^*}{\partial q_2} - Q_2^* = 0
       \quad\Leftrightarrow\quad \Psi\dot u = G. \qquad (7), (9)

    d'Alembert's principle gives :math:`\Psi\dot u = H`, the equations of
    Voronets. The two differ by

    .. math::

       E = G - H =
       B^T\left(\frac{\partial L^*}{\partial q_1} + Q_1^*\right)
       + \Gamma^T p_1^*, \qquad \text{(E1)}

    two faults of different nature: the row of :math:`q_1` is neglected, and
    :math:`\Gamma`, the curvature of the constraints, is not zero where they
    are not integrable. Hamel's equations are right if and only if
    :math:`E = 0` where the constraints hold. That depends on which
    coordinates are :math:`q_1`, so they must be named. The condition printed
    in [1]_, :attr:`paper_discrepancy`, lacks a term.

    Constraints nonlinear in the velocities are admitted where they are linear
    in :math:`\dot q_1`. Then :math:`B = -\partial g/\partial u` depends on
    ``u``, the two equations have different mass matrices, and ``E`` is the
    difference of their residuals.

    Examples
    ========

    A particle with ``x' = z*y'``. The reaction is along ``(1, -z, 0)``, so
    that in truth ``z'' = 0``:

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import HamelEmbedding
    >>> m = symbols('m')
    >>> x, y, z = dynamicsymbols('x y z')
    >>> vx, vy, vz = (s.diff() for s in (x, y, z))
    >>> T = m*(vx**2 + vy**2 + vz**2)/2
    >>> particle = HamelEmbedding(
    ...     T, [x, y, z], nonhol_coneqs=[vx - z*vy], q_dependent=[x])
    >>> particle.velocity_map
    {Derivative(x(t), t): z(t)*Derivative(y(t), t)}
    >>> particle.eom[1]
    -m*z(t)*Derivative(y(t), t)**2 + m*Derivative(z(t), (t, 2))
    >>> particle.is_valid()
    False
    >>> print(particle.validity)
    x(t) dependent: wrong, because of curvature of the constraints
    >>> particle.form_voronets_equations()[1]
    m*Derivative(z(t), (t, 2))

    Parameters
    ==========

    *args, **kwargs
        The arguments of ``LagrangesMethod(Lagrangian, qs, ...)`` or of
        ``KanesMethod(frame, q_ind, u_ind, kd_eqs, ...)``, by position or
        keyword. In Kane's shape there must be as many speeds as coordinates,
        and everything is stated in the velocities ``q'``; a velocity keeps
        the name of the speed that is equal to it. Velocity constraints that
        repeat holonomic ones, as ``KanesMethod`` wants them, are dropped.
    q_dependent : iterable
        The coordinates whose velocities are eliminated, one for each
        constraint row (holonomic ones count by their derivatives). In Kane's
        shape coordinates whose velocities are in ``u_dependent`` count, too.
    project_loads : bool
        Embed the loads as ``Q_2 - B^T*Q_1`` instead of ``Q_2`` alone, which
        is Hamel's choice. What comes from a Lagrangian is not projected.
    generalized_forces : iterable of Expr, optional
        Forces beside those of the loads, one per coordinate (Lagrange's
        shape) or speed (Kane's).
    potential_energy : 'include' or 'ignore', optional
        In Kane's shape, whether the potential energy of the bodies counts.
    sample : dict, optional
        Numbers near the motion that is meant, for the questions that are
        decided at states which satisfy the constraints; see
        :func:`.admissible_values`.

    Raises
    ======

    MissingIngredientError
        If there are constraints and no dependent coordinates.
    ConstraintError
        If the dependent coordinates do not fit the constraints: their number,
        a coordinate that no row contains, velocities that the rows do not
        determine (with a choice that works in ``q_dependent``), or in which
        the rows are not linear.
    RedundantConstraintsError
        If rows are redundant; carries ``rows``.
    UnsupportedFeatureError
        For constraints at acceleration level, and where the kinetic energy
        does not determine the equations.

    References
    ==========

    .. [1] H. Zhao, X. Zhao and J. Jiang, "Study on Hamel's embedding method
       via the Udwadia-Kalaba theory," Appl. Math. Mech. (Chinese ed.) 38
       (2017) 696-707.
    .. [2] J. I. Neimark and N. A. Fufaev, "Dynamics of Nonholonomic
       Systems," AMS (1972).

    """

    options = ('potential_energy', 'generalized_forces')
    in_velocities = True
    drops_repetitions = True

    def __init__(self, *args, project_loads=False, **kwargs):
        self._named = None
        if shape_of(args, kwargs) == 'lagrange':
            self._named = kwargs.pop('q_dependent', None)
        self._project_loads = bool(project_loads)
        super().__init__(*args, **kwargs)
        self._dependent                 # complains at once

    @classmethod
    def from_method(cls, method, *, q_dependent=None, **options):
        """Return the embedding for the model of another method object.

        Parameters
        ==========

        method : KanesMethod, LagrangesMethod, System or one of ours
        q_dependent : iterable, optional
            By default the dependent coordinates and speeds of ``method``. In
            Kane's shape they become the last of ``q``.
        **options
            The other keyword arguments of the class.

        """
        shape, arguments = arguments_of(method)
        if q_dependent is None:
            q_dependent = getattr(method, '_named', None)
        if q_dependent is not None:
            named = as_list(q_dependent, 'q_dependent')
            if shape == 'kane':
                q = [x for name in ('q_ind', 'q_dependent')
                     for x in as_list(arguments.get(name), name)]
                u = [x for name in ('u_ind', 'u_dependent')
                     for x in as_list(arguments.get(name), name)]
                arguments = {
                    **arguments, 'q_ind': [x for x in q if x not in named],
                    'u_ind': u, 'u_dependent': []}
            arguments = {**arguments, 'q_dependent': named}
        return cls(**arguments, **with_inherited(
            cls, method, arguments, options))

    @property
    def _own(self):
        return {'project_loads': self._project_loads}

    def with_partition(self, q_dependent):
        """Return the embedding of the same model with other coordinates."""
        other = copy(self)
        other._forget()
        other._named = as_list(q_dependent, 'q_dependent')
        other._dependent
        for name in ('_report', '_point_columns'):
            other.__dict__[name] = getattr(self, name)
        return other

    # -- the partition ---------------------------------------------------

    @cached_property
    def _dependent(self):
        """Positions of the dependent coordinates in ``q``."""
        system = self._system
        self._check_velocity_level('embeds')
        count = system.graph.outputs['velocity'][0]
        named = self._named
        if named is None:
            named = list(system.q_dependent)
            strange = [str(x) for x in system.u_dependent
                       if x not in system.u]
            if len(named) < count:
                named += [x for x, v in zip(system.q, system.u)
                          if v in system.u_dependent and x not in named]
        named = as_list(named, 'q_dependent')
        known = ', '.join(map(str, system.q))
        if len(named) < count and self._named is None and strange:
            raise MissingIngredientError(
                f"`u_dependent` has {', '.join(strange)}, which is the "
                "velocity of no coordinate, and the embedding eliminates "
                f"velocities of coordinates. Move {count} of {known} from "
                "`q_ind` to `q_dependent`.")
        if count and not named:
            raise MissingIngredientError(
                f"The constraint rows of the model ({count}) need as many "
                "dependent coordinates, and none were named. Whether Hamel's "
                "equations are right depends on the choice, so it is yours: "
                f"pass `q_dependent=[...]` with {count} of {known}. "
                "`valid_partitions()` of any choice tells about all.")
        for k, x in enumerate(named):
            if x not in system.q or x in named[:k]:
                raise ConstraintError(
                    f"`q_dependent` contains {x}, which is "
                    f"{'there twice' if x in system.q else 'no coordinate'}. "
                    f"Name {count} different ones of {known}.")
        if len(named) != count:
            self._check_independent(ONE_EACH)
            raise ConstraintError(
                f"`q_dependent` has {len(named)} coordinates for {count} "
                "constraint rows. Each row eliminates one velocity: name "
                f"{count} of {known}.")
        positions = tuple(system.q.index(x) for x in named)
        pattern = system.graph.pattern('velocity_jacobian')
        idle = [str(system.q[i]) for i in positions
                if not any(row[i] for row in pattern)]
        if idle:
            raise ConstraintError(
                f"No constraint contains the velocity of {', '.join(idle)}, "
                "so it cannot be eliminated. Name coordinates that the "
                "constraints relate to others in `q_dependent`.")
        return positions

    def _check_regular(self):
        """Raise unless the rows determine the dependent velocities."""
        self._check_independent(ONE_EACH)
        with precise():
            serves = [set(independent_at(here, self._dependent)) == set(
                self._dependent) for here in self._point_columns]
            if all(serves):
                return
            if any(serves):
                warn_of_branches()
                return
            works = independent_columns(self._point_columns, self._dependent)
        works = tuple(self._system.q[i] for i in works)
        raise ConstraintError(
            "Where the constraints hold they do not determine the velocities "
            f"of {', '.join(map(str, self.q_dependent))}: that part of the "
            "constraint matrix is singular. Choose others, for example "
            f"q_dependent=[{', '.join(map(str, works))}].",
            q_dependent=works, reason='singular')

    @property
    def q_dependent(self):
        """``q1``, whose velocities are eliminated, shape (r, 1)."""
        return column(self._system.q[i] for i in self._dependent)

    @property
    def q_independent(self):
        """``q2``, in the order of ``q``, shape (p, 1)."""
        return column(self._system.q[i] for i in self._others)

    @property
    def _others(self):
        return [i for i in range(len(self._system.q))
                if i not in self._dependent]

    @property
    def u(self):
        """Velocities of the independent coordinates, shape (p, 1)."""
        return column(self._system.u[i] for i in self._others)

    @property
    def _qdep(self):
        return self.q_dependent

    @property
    def _udep(self):
        return column(())

    # -- the embedding ---------------------------------------------------

    @cached_property
    def _embedding(self):
        if self._dependent:
            self._check_regular()
        return embed(self.system, self._dependent, self._project_loads)

    def _only_linear(self, what):
        """Raise if constraints are nonlinear in the velocities."""
        if 'omega' not in self._embedding.outputs:
            raise UnsupportedFeatureError(
                f"{what} for constraints that are linear in the velocities, "
                "and these are not. Read `curvature` and `discrepancy`, "
                "which hold for both.")

    @cached_property
    def embedding_matrix(self):
        """``B`` of ``q1' = -B*u + a``, (4), shape (r, p)."""
        return self._embedding.sympy('B')

    @cached_property
    def embedding_vector(self):
        """``a`` of ``q1' = -B*u + a``, (4), shape (r, 1)."""
        return self._embedding.sympy('a')

    @cached_property
    def velocity_map(self):
        """Dictionary of the eliminated velocities, ``q1'`` to ``g``."""
        return dict(zip((self._system.u[i] for i in self._dependent),
                        self._embedding.sympy('g')))

    @cached_property
    def embedded_lagrangian(self):
        """``L*``, (5): the Lagrangian with ``g`` in the place of ``q1'``."""
        return self._embedding.sympy('lagrangian')[0]

    @property
    def embedded_kinetic_energy(self):
        """``T*``, (5); the same as :attr:`embedded_lagrangian`.

        Where the model has a potential it is in it with a minus sign, as it
        is in the Lagrangian.
        """
        return self.embedded_lagrangian

    @cached_property
    def embedded_forces(self):
        """``Q2*``, (6), shape (p, 1); with projection ``Q2* - B^T*Q1*``."""
        return self._embedding.sympy('Q2')

    @cached_property
    def dropped_forces(self):
        """``Q1*``, which Hamel's equations leave out, shape (r, 1)."""
        return self._embedding.sympy('Q1')

    @cached_property
    def constraint_momenta(self):
        """``p1* = (dL/dq1')*``, shape (r, 1)."""
        return self._embedding.sympy('p1')

    # -- Hamel's equations -----------------------------------------------

    @cached_property
    def mass_matrix(self):
        """``Psi`` of ``Psi*u' = G``, (10), shape (p, p)."""
        return self._embedding.sympy('Psi')

    @cached_property
    def forcing(self):
        """``G`` of ``Psi*u' = G``, (11), shape (p, 1)."""
        return self._embedding.sympy('G')

    @cached_property
    def forcing_kin(self):
        """``q'`` in terms of the states, shape (n, 1)."""
        return self._embedding.sympy('rates')

    @cached_property
    def eom(self):
        """``Psi*u' - G``, (7), zero along Hamel's motion, shape (p, 1)."""
        return self._linear_residual(self._embedding, 'Psi', 'G')

    def form_hamel_equations(self):
        """Return :attr:`eom`."""
        return self.eom

    def _active_forces(self):
        return self.embedded_forces

    def equations(self, system):
        """Hamel's equations, valid or not.

        If a state was found where they are wrong, they carry a warning.
        """
        equations = reduced_equations(
            self, self._embedding, 'Psi', 'G', False, self._when_singular)
        return replace(equations, warning=WRONG) if self._is_refuted() else (
            equations)

    def _is_refuted(self):
        """Whether ``E`` differs from zero at one of a few states.

        That is quick, unlike a proof, if no accelerations are needed.
        """
        accelerations = {x.diff(self._system.t) for x in self.u}
        if not self._dependent or not accelerations.isdisjoint(
                self._embedding.inputs):
            return False
        return counterexample(self._system, self._embedding, 'E',
                              self._sample, self._report.points) is not None

    @property
    def _when_singular(self):
        names = ', '.join(map(str, self.q_dependent))
        return ("Usually the rows do not determine the velocities of "
                f"{names} there: embed with other dependent coordinates.")

    # -- what is right ---------------------------------------------------

    @cached_property
    def true_mass_matrix(self):
        """Mass matrix of the Voronets equations, shape (p, p).

        Equal to :attr:`mass_matrix` for constraints linear in the
        velocities, (10) and (28).
        """
        return self._embedding.sympy('Psi_true')

    @cached_property
    def true_forcing(self):
        """``H``, (29), from d'Alembert's principle, shape (p, 1)."""
        return self._embedding.sympy('H')

    def form_voronets_equations(self):
        """Return ``Psi*u' - H``, zero along the motion, shape (p, 1).

        The equations of Voronets, (30), which are those of Chaplygin where
        nothing depends on ``q1``. For constraints nonlinear in the velocities
        virtual displacements are those of Appell and Chetaev.
        """
        return self._linear_residual(self._embedding, 'Psi_true', 'H')

    @cached_property
    def voronets_equations_of_motion(self):
        """The corrected equations as :class:`.EquationsOfMotion`.

        With the multipliers of the rows: ``A1^T*lam = (M*q'' - F)_1``. The
        generalized constraint forces of its independent speeds are zero;
        those of all coordinates are :attr:`constraint_forces`.
        """
        return reduced_equations(self, self._embedding, 'Psi_true', 'H',
                                 when_singular=self._when_singular)

    def _solve(self):
        """Both accelerations, and the reactions of the right one."""
        g, out = self._embedding.load(None, (
            'Psi', 'G', 'Psi_true', 'H', 'A1', 'X', 'y', 'X2', 'y2'))
        hamel = (accelerations(g, out['Psi'], out['G'])
                 if 'omega' in self._embedding.outputs      # never indefinite
                 else solve(g, out['Psi'], [x for x, in out['G']]))
        true = accelerations(g, out['Psi_true'], out['H'])
        if true is None:
            raise no_mass()
        first, second = (
            [g.add(g.dot(row, true), y) for row, (y,) in zip(
                out[slope], out[known])]
            for slope, known in (('X', 'y'), ('X2', 'y2')))
        lam = solve(g, [list(row) for row in zip(*out['A1'])], first)
        forces = [0]*len(self._system.q)
        for i, x in (*zip(self._dependent, first), *zip(
                self._others, second)):
            forces[i] = x
        columns = {'true_acceleration': true, 'multipliers': lam,
                   'constraint_forces': forces}
        if hamel is not None:           # an embedding may lose its mass
            columns['acceleration'] = hamel
        return Graph.freeze(g, {
            'M': (out['Psi'], len(true)), 'forcing': (out['G'], 1), **{
                name: ([[x] for x in refs], 1)
                for name, refs in columns.items()}})

    @property
    def acceleration(self):
        """``u'`` of Hamel's equations, shape (p, 1)."""
        if 'acceleration' not in self.closed_form.outputs:
            raise MissingIngredientError(
                "The embedded mass matrix Psi is singular: the embedding has "
                "taken the mass out of a direction, so Hamel's equations "
                "determine no motion. The right equations are "
                "`form_voronets_equations()`, with `true_acceleration`.")
        return super().acceleration

    @cached_property
    def true_acceleration(self):
        """``u'`` of the Voronets equations, shape (p, 1)."""
        return self.closed_form.sympy('true_acceleration')

    @cached_property
    def multipliers(self):
        """Multipliers of the corrected equations, shape (r, 1).

        ``lam`` of ``M*q'' = F + A^T*lam`` of the whole model. Hamel's
        equations have none.
        """
        return self.closed_form.sympy('multipliers')

    @cached_property
    def constraint_forces(self):
        """``M*q'' - F`` of the corrected equations, shape (n, 1).

        One force for each coordinate, in the order of ``q``.
        """
        return self.closed_form.sympy('constraint_forces')

    # -- the difference --------------------------------------------------

    @cached_property
    def discrepancy(self):
        """``E`` of (E1), shape (p, 1): Hamel's equations minus the right.

        ``E = G - H`` for constraints linear in the velocities. For others it
        is the residual of the right equations minus Hamel's, and contains
        ``u'``.
        """
        return self._embedding.sympy('E')

    @cached_property
    def neglected_row(self):
        """``B^T*(dL*/dq1 + Q1*)``, a part of ``E``, shape (p, 1)."""
        return self._embedding.sympy('neglected')

    @cached_property
    def curvature_force(self):
        """``Gamma^T*p1*``, the other part of ``E``, shape (p, 1)."""
        return self._embedding.sympy('bent')

    @cached_property
    def paper_discrepancy(self):
        """``E`` as printed, (32) and (43), shape (p, 1).

        ``B^T*(dL*/dq1 + Q1*) + B'^T*p1*``. It lacks
        ``(dg/dq2 - (dg/dq1)*B)^T*p1*``, (E3), and is neither sufficient nor
        necessary; for comparison with the paper only.
        """
        self._only_linear('The printed formula is')
        return self._embedding.sympy('paper')

    @cached_property
    def curvature(self):
        """``Gamma`` of (E2), shape (r, p).

        ``B' + dg/dq2 - (dg/dq1)*B``, the term of Voronets and Chaplygin. It
        vanishes if and only if the constraints are integrable.
        """
        return self._embedding.sympy('Gamma')

    @cached_property
    def curvature_tensor(self):
        """``(omega, eta)`` with ``Gamma_aj = omega_ajk*u_k + eta_aj``.

        An array (r, p, p), antisymmetric in the last two, and a matrix
        (r, p).
        """
        self._only_linear('The curvature has components')
        omega, eta = map(self._embedding.sympy, ('omega', 'eta'))
        r, p = eta.shape
        return ImmutableDenseNDimArray(list(omega), (r, p, p)), eta

    @cached_property
    def is_holonomic(self):
        """Whether the constraints are integrable; None if undecided.

        The theorem of Frobenius: ``omega`` and ``eta`` vanish where the
        holonomic rows hold.
        """
        if not self._dependent:
            return True
        names = ('omega', 'eta') if (
            'omega' in self._embedding.outputs) else ('Gamma',)
        answers = [vanishing(self._system, self._embedding, name,
                             self._sample, self._report.points).holds
                   for name in names]
        return False if False in answers else (
            None if None in answers else True)

    def _vanishing(self, name):
        return vanishing(self._system, self._on_motion, name, self._sample,
                         self._report.points)

    @cached_property
    def _on_motion(self):
        """The embedding, with the accelerations of the right motion in it.

        They occur only where rows are nonlinear in the velocities.
        """
        moving = [x.diff(self._system.t) for x in self.u]
        graph = self._embedding
        if not set(moving) & set(graph.inputs):
            return graph
        g, out = graph.load()
        _, solved = self.closed_form.load(g, ('true_acceleration',))
        known = {g.input(x, dynamic=True): value for x, (value,) in zip(
            moving, solved['true_acceleration'])}
        g.avoid(known)
        return Graph.freeze(g, {
            name: ([substitute(g, row, known) for row in rows],
                   graph.outputs[name][1]) for name, rows in out.items()})

    @cached_property
    def validity(self):
        """The :class:`.Validity` of Hamel's equations for this partition.
        """
        names = tuple(self.q_dependent)
        if not self._dependent:
            return Validity(names, True)
        whole = self._vanishing('E')
        faults = tuple(
            fault for fault, part in (
                ('curvature', 'bent'), ('neglected row', 'neglected'))
            if self._vanishing(part).holds is False)
        values = whole.values and tuple(float(x) for x, in whole.values)
        return Validity(names, whole.holds, faults, values, whole.state)

    def is_valid(self):
        """Whether Hamel's equations are right for this partition.

        ``E`` is evaluated at random states that satisfy the constraints, and
        if it vanishes there, it is proved to vanish. Returns True, False, or
        None if there is no proof; :attr:`validity` tells the reason.
        """
        return self.validity.holds

    def valid_partitions(self):
        """The :class:`.Validity` of every choice of coordinates.

        Examples
        ========

        An upright rolling disc:

        >>> from sympy import cos, sin, symbols
        >>> from sympy.physics.mechanics import dynamicsymbols
        >>> from sympy_constrained import HamelEmbedding
        >>> m, I, J, R = symbols('m I J R')
        >>> x, y, a, b = dynamicsymbols('x y a b')
        >>> vx, vy, va, vb = (s.diff() for s in (x, y, a, b))
        >>> T = (m*(vx**2 + vy**2) + I*va**2 + J*vb**2)/2
        >>> disc = HamelEmbedding(T, [x, y, a, b], nonhol_coneqs=[
        ...     vx - R*cos(b)*va, vy - R*sin(b)*va], q_dependent=[y, a])
        >>> for choice in disc.valid_partitions():
        ...     print(choice)
        x(t), y(t) dependent: right
        x(t), a(t) dependent: wrong, because of curvature of the constraints
        x(t), b(t) dependent: the rows do not determine these velocities
        y(t), a(t) dependent: wrong, because of curvature of the constraints
        y(t), b(t) dependent: the rows do not determine these velocities
        a(t), b(t) dependent: the rows do not determine these velocities

        Returns
        =======

        tuple of Validity

        """
        found = []
        for names in combinations(self._system.q, len(self._dependent)):
            try:
                found.append(self.with_partition(names).validity)
            except RedundantConstraintsError:
                raise
            except ConstraintError as error:
                reason = getattr(error, 'reason', 'singular')
                found.append(Validity(names, False, (reason,)))
        return tuple(found)

    def required_force(self):
        r"""Return a force ``Q1`` that makes Hamel's equations right, or None.

        Explanation
        ===========

        There is one at a state if and only if :math:`\Gamma^T p_1^*` is in
        the range of :math:`B^T`. Then

        .. math::

           Q_1 = -\frac{\partial L^*}{\partial q_1}
           - (B^T)^+ \Gamma^T p_1^* \qquad \text{(E4)}

        is one, the least beyond the first term; anything with
        :math:`B^T w = 0` may be added. It replaces the forces of the loads on
        ``q1``. It is a property of the model that has it, nothing that
        Hamel's method may choose. Shape (r, 1).
        """
        r = len(self._dependent)
        self._only_linear('A force is found')
        if self._project_loads:         # then E does not contain Q1
            return column([0]*r) if self.is_valid() else None
        best = ()
        with precise():
            for values in self._report.points:
                found = values_at(self._system, self._embedding, values,
                                  ('B', 'bent', 'Gamma', 'p1'))
                sizes = [max(map(norm, found['B']), default=0)]*r + [sum(
                    norm(row)*abs(p) for row, (p,) in zip(
                        found['Gamma'], found['p1']))]
                _, extended = orthonormal_rows(
                    found['B'] + [[x for x, in found['bent']]], INDEPENDENT,
                    sizes)
                kept = [k for k, _ in extended]
                if r in kept:
                    return None
                best = max(best, kept, key=len)
        g, out = self._embedding.load(None, ('B', 'bent', 'pull'))
        F = [out['B'][k] for k in best]
        extra = [0]*r
        if F:
            gram = ldl_factor(g, [[g.dot(x, y) for y in F] for x in F])
            right = [x for x, in out['bent']]
            least = ldl_solve(g, gram, [g.dot(row, right) for row in F])
            extra = FullRankFactorization(g, out['B'], F).spread(least)
        return Graph.freeze(g, {'Q1': ([
            [-g.add(pull, x)] for (pull,), x in zip(out['pull'], extra)], 1)
        }).sympy('Q1')

    def compare(self, other):
        """Return ``Psi*q2'' - H`` along the motion of another method.

        Parameters
        ==========

        other : a method of this package, KanesMethod or LagrangesMethod
            For the same coordinates, with its equations formed; or
            ``EquationsOfMotion``.

        Returns
        =======

        Matrix, shape (p, 1)
            Zero where the constraints hold if the other method agrees with
            the corrected equations.

        """
        equations = other if isinstance(other, EquationsOfMotion) else (
            EquationsOfMotion.from_method(other))
        n, p = len(self._system.q), len(self._others)
        if set(equations.q) != set(self._system.q):
            raise ValueError(
                f"{type(other).__name__} has the coordinates "
                f"{list(equations.q)}, not {list(self._system.q)}. Compare "
                "methods of the same model.")
        g, out = equations.graph.load(None, ('rates', 'W', 'r'))
        _, mine = self._embedding.load(g, ('rates', 'Psi_true', 'H'))
        speeds = [g.input(x, dynamic=True) for x in equations.u]
        rates = dict(zip(equations.q, (x for x, in out['rates'])))
        if len(speeds) not in (n, p):
            raise UnsupportedFeatureError(
                f"{type(other).__name__} has {len(speeds)} speeds for {n} "
                "coordinates, so its speeds do not follow from the "
                "velocities. Compare accelerations numerically.")
        chosen = range(n) if len(speeds) == n else self._others
        theirs = [rates[self._system.q[i]] for i in chosen]
        known = substitute(g, theirs, dict.fromkeys(speeds, 0))
        value = solve(
            g, [gradient(g, rate, speeds) for rate in theirs],
            [g.sub(mine['rates'][i][0], x) for i, x in zip(chosen, known)])
        moving = self._accelerations_of(other, equations, g, out)
        if value is None or moving is None:
            raise ConstraintError(
                f"The equations of {type(other).__name__} are singular, "
                "because of redundant rows or dependent speeds. Compare "
                "accelerations numerically.")
        along = time_derivative(g, {
            **{g.input(x, dynamic=True): rate for x, rate in rates.items()},
            **dict(zip(speeds, moving))})
        g.avoid(set(speeds) - {abs(x) for x in value})
        second = substitute(
            g, [along(rates[self._system.q[i]]) for i in self._others],
            dict(zip(speeds, value)))
        return Graph.freeze(g, {'gap': ([
            [g.sub(g.dot(row, second), right)] for row, (right,) in zip(
                mine['Psi_true'], mine['H'])], 1)}).sympy('gap')

    @staticmethod
    def _accelerations_of(other, equations, g, out):
        """References of ``u'`` of other equations; None if singular."""
        if isinstance(other, ConstrainedMethod):    # rows may be redundant
            _, solved = other.closed_form.load(g, ('acceleration',))
            return [x for x, in solved['acceleration']]
        z = solve(g, out['W'], [x for x, in out['r']])
        unknowns = list(equations.unknowns)
        return z and [z[unknowns.index(x.diff(equations.t))]
                      for x in equations.u]

    # -- linearization ---------------------------------------------------

    def to_linearizer(self, q_ind=None, qd_ind=None, q_dep=None, qd_dep=None,
                      linear_solver='LU'):
        """Return SymPy's ``Linearizer`` of Hamel's equations.

        All velocities that are left are independent. As many dependent
        coordinates as there are holonomic rows are needed, by default
        :attr:`q_dependent`.
        """
        return embedded_linearizer(self, q_ind, q_dep, linear_solver)
