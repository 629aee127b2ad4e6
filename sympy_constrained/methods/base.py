"""The face of every method: SymPy's vocabulary, one meaning each."""
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from inspect import signature
from typing import overload
from warnings import warn

from sympy import Expr, Function, ImmutableDenseMatrix, Matrix, diag, eye
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import (
    Force, SymbolicSystem, Torque, dynamicsymbols)
from sympy.physics.vector import Point, ReferenceFrame

from .. import _compat
from ..analysis.consistent_points import check_sample
from ..analysis.constraint_rank import (
    columns_at, constraint_report, independent_columns, preferred_columns,
    row_relations)
from ..analysis.zero_tests import floats_at
from ..errors import (
    ConstraintError, MissingIngredientError, RedundantConstraintsError,
    UnsupportedFeatureError, raise_problems)
from ..graph import Graph
from ..graph.linalg import (
    FullRankFactorization, ldl_factor, ldl_solve, lu_solve)
from ..model.build import (
    applied_forces, build_system, potential_of, symbols_in_use)
from ..model.call_signatures import (
    arguments_of, as_list, as_point, bind_arguments, own)
from ..precision import precise
from .linearization import linearizer

__all__ = ['ConstrainedMethod']


class ConstrainedMethod(_compat.MethodBase):
    """Abstract base of the methods of this package.

    Explanation
    ===========

    A method takes the arguments of ``KanesMethod`` or ``LagrangesMethod`` as
    they are, positionally or by keyword. Nothing has to be formed before a
    property is read; each is computed when it is read for the first time.
    Dependent coordinates and speeds are appended to the independent ones;
    their number need not be that of the constraints.

    """

    #: keyword arguments of ``build_system`` that a method accepts
    options = ('stabilization', 'potential_energy', 'generalized_forces')

    #: whether the method varies a Lagrangian of ``q`` and ``q'``
    in_velocities = False
    #: whether velocity rows that repeat holonomic ones are dropped
    drops_repetitions = False

    @overload
    def __init__(self, frame: ReferenceFrame, q_ind, u_ind, kd_eqs=None,
                 q_dependent=None, configuration_constraints=None,
                 u_dependent=None, velocity_constraints=None,
                 acceleration_constraints=None, u_auxiliary=None,
                 bodies=None, forcelist=None, explicit_kinematics=True,
                 kd_eqs_solver='LU', constraint_solver='LU',
                 nonholonomic_constraints=None, **options) -> None: ...

    @overload
    def __init__(self, Lagrangian: Expr, qs, forcelist=None, bodies=None,
                 frame: ReferenceFrame | None = None, hol_coneqs=None,
                 nonhol_coneqs=None, *, acceleration_constraints=None,
                 **options) -> None: ...

    def __init__(self, *args, sample=None, **kwargs):
        self._sample = sample
        self._options = {name: kwargs.pop(name) for name in self.options
                         if name in kwargs}
        own = ['sample', *(
            name for name, parameter in signature(
                type(self).__init__).parameters.items()
            if parameter.kind == parameter.KEYWORD_ONLY and name != 'sample')]
        if hasattr(self, '_named'):     # see the classes that have it
            own.append('q_dependent')
        self._shape, self._arguments = bind_arguments(
            type(self).__name__, args, kwargs, [*self.options, *own])
        self._build()

    def _build(self):
        """Make the system anew and forget what was computed from the old."""
        self._system = build_system(
            self._shape, self._arguments, **self._options,
            in_velocities=self.in_velocities)
        self._choose_pivots_at_states()
        if self.in_velocities and isinstance(self._sample, Mapping):
            # Speeds of the user's have become velocities.
            speeds = {*(self._arguments.get('u_ind') or ()),
                      *(self._arguments.get('u_dependent') or ())}
            speeds -= {*self._system.u}
            self._sample = {x: value for x, value in self._sample.items()
                            if x not in speeds}
        if self._shape != 'kane' or self._arguments['bodies'] is not None:
            check_sample(self._system, self._sample)
        if self.drops_repetitions and self._shape == 'kane':
            given = {*self._system.graph.inputs}
            self._system = without_repetitions(self._system, self._sample)
            dropped = given.difference(self._system.graph.inputs)
            if dropped and self._sample is not None:
                # only the rows that were dropped contain these symbols
                self._sample = {x: value for x, value in self._sample.items()
                                if x not in dropped}
        self._forget()

    def _choose_pivots_at_states(self):
        """Let eliminations take pivots that are good on the constraints."""
        self._system = replace(self._system, graph=(
            self._system.graph.with_states(self._at_states)))

    def _forget(self):
        """Forget what was computed."""
        for cls in type(self).__mro__:
            for name, value in vars(cls).items():
                if isinstance(value, cached_property):
                    self.__dict__.pop(name, None)

    @property
    def call(self):
        """Shape, ``'kane'`` or ``'lagrange'``, and arguments of the call."""
        return self._shape, dict(self._arguments)

    @classmethod
    def from_method(cls, method, **options):
        """Return this method for the model of a SymPy method object.

        Parameters
        ==========

        method : KanesMethod, LagrangesMethod, System or one of ours
        **options
            Our own keyword arguments. Of a method of ours those that both
            have are kept, unless they are given.

        """
        _, arguments = arguments_of(method)
        return cls(**arguments, **with_inherited(
            cls, method, arguments, options))

    @classmethod
    def from_system(cls, system, **options):
        """Return this method for a SymPy ``System``.

        ``system.form_eoms(eom_method=...)`` does the same, and keeps the
        method as ``system.eom_method``.
        """
        return cls.from_method(system, **options)

    @property
    def _own(self):
        """Keyword arguments that mean something for the same class only.
        """
        return {}

    def _check_taken_by(self, cls):
        """Raise if another class would take the model for another one."""

    # -- the values ------------------------------------------------------

    @property
    def system(self):
        """The :class:`.ConstrainedSystem` of the model.

        Raises
        ======

        MissingIngredientError
            If the bodies have not been given yet.

        """
        if (self._shape == 'kane' and self._arguments['bodies'] is None):
            raise MissingIngredientError(
                f"{type(self).__name__} has no bodies yet. Pass `bodies=` "
                "(and `forcelist=`), or call `kanes_equations(bodies, "
                "loads)` first.")
        return self._system

    @abstractmethod
    def equations(self, system):
        """Return the :class:`.EquationsOfMotion` of a system.

        This is what a method is. Everything else follows from it; a method
        may state more, or state it better.

        Parameters
        ==========

        system : ConstrainedSystem

        """

    @cached_property
    def equations_of_motion(self):
        """The :class:`.EquationsOfMotion` ``W z = r`` of the model."""
        return self.equations(self.system)

    @cached_property
    def closed_form(self):
        """The :class:`.Graph` of the solved equations.

        Outputs ``acceleration``, ``multipliers``, ``constraint_forces``,
        ``forcing`` and more. For a large model use its ``evaluate`` and
        ``assignments``: the properties of the same names write it as nested
        expressions.
        """
        return self._solve()

    def _solve(self):
        """Closed forms from ``W z = r``; ``Q_c`` is ``M*u' - Q``."""
        equations, rows = self.equations_of_motion, self.independent_rows
        g, out = self.system.graph.load(None, ('M', 'Q', 'A'))
        _, block = equations.graph.load(g, ('W', 'r'))
        z = lu_solve(g, block['W'], [x for x, in block['r']])
        if z is None:
            raise RedundantConstraintsError(
                f"The equations of {type(self).__name__} have no closed form "
                "here, because their matrix is singular for all states. "
                "Usually rows are redundant: leave them out.", rows=())
        rates = z[:len(self.u)]
        inertia = [g.dot(row, rates) for row in out['M']]
        forces = [g.sub(x, y) for x, (y,) in zip(inertia, out['Q'])]
        lam = [0]*len(out['A'])
        if rows:                        # A^T*lam = Q_c, of least norm
            F = [out['A'][k] for k in rows]
            gram = [[g.dot(x, y) for y in F] for x in F]
            lam = FullRankFactorization(g, out['A'], F).spread(ldl_solve(
                g, ldl_factor(g, gram), [g.dot(x, forces) for x in F]))
        return Graph.freeze(g, {'M': (out['M'], len(rates)), **{
            name: ([[x] for x in refs], 1) for name, refs in (
                ('acceleration', rates), ('multipliers', lam),
                ('constraint_forces', forces), ('forcing', inertia))}})

    # -- what the constraints are ----------------------------------------

    @cached_property
    def _report(self):
        """Rank of the rows, and states at which they hold."""
        with precise():
            return constraint_report(self.system, self._sample)

    @property
    def independent_rows(self):
        """Numbers of rows of ``A`` that span all, where they hold."""
        if not self._system.counts[2]:
            return []
        return list(self._report.independent_rows)

    @property
    def mass_is_definite(self):
        """Whether ``M`` is positive definite, where the constraints hold."""
        return self._report.mass_is_definite

    @cached_property
    def _pivots(self):
        """Positions of speeds that the rows determine.

        Those with constant coefficients first, which never lose that, then
        those that are determined where all coordinates are zero.
        """
        system = self._system
        if not system.counts[2]:
            return ()
        with precise():
            return independent_columns(
                self._point_columns, preferred_columns(system, self._report))

    @cached_property
    def _point_columns(self):
        """Columns of :func:`.columns_at` at the states of the report."""
        with precise():
            return columns_at(self._system, self._report.points,
                              self._report.independent_rows)

    def _at_states(self, graph, name, at_rest=False):
        """An output in floats at states on the constraints, for pivots.

        With ``at_rest`` at the state where all coordinates are zero.
        """
        states = self._report.points
        if at_rest:
            states = [{**states[0], **dict.fromkeys(self._system.q, 0)}]
        return floats_at(self.system, graph, name, states)

    def _check_velocity_level(self, what):
        """Raise if there are constraints at acceleration level."""
        if self._system.acceleration_rows:
            raise UnsupportedFeatureError(
                "There are constraints at acceleration level, and "
                f"{type(self).__name__} {what} constraints on velocities. "
                "Give their integrals, or use UdwadiaKalabaMethod.")

    def _check_independent(self, reason):
        """Raise if rows are redundant where they hold."""
        rows = self._system.counts[2] and self._report.redundant_rows
        if rows:
            names = self._system.constraint_names
            raise RedundantConstraintsError(
                f"{', '.join(names[k] for k in rows)} follows from the other "
                f"rows where the constraints hold, and {reason}. Leave the "
                "redundant rows out, or use UdwadiaKalabaMethod, which takes "
                "them.", rows=rows)

    # -- SymPy's vocabulary ----------------------------------------------

    @property
    def frame(self):
        """The inertial frame, or None."""
        return self._system.frame

    @property
    def inertial(self):
        """The inertial frame under the name of ``LagrangesMethod``."""
        return self.frame

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
    def states(self):
        """Coordinates, then speeds, shape (n + o, 1)."""
        return column(self.equations_of_motion.states)

    @property
    def constants(self):
        """The symbols of the model that need values."""
        return self.equations_of_motion.constants

    @property
    def specifieds(self):
        """The functions of time that are inputs, and their derivatives."""
        return self.equations_of_motion.specifieds

    @property
    def holonomic_constraints(self):
        """Residuals ``h(q, t) = 0``, shape (mh, 1)."""
        return column(self._system.holonomic_rows)

    @property
    def nonholonomic_constraints(self):
        """Velocity-level residuals that were given, shape (m - mh, 1)."""
        return column(self._system.velocity_rows)

    @cached_property
    def velocity_constraints(self):
        """Differentiated holonomic rows, then nonholonomic, shape (m, 1)."""
        return self._system.graph.sympy('velocity')

    @cached_property
    def acceleration_constraints(self):
        """Residuals ``A*u' - b = 0``, shape (m, 1)."""
        return self._linear_residual(self._system.graph, 'A', 'b')

    @cached_property
    def constraints_jacobian(self):
        """Derivative of the velocity constraints by ``u``, (mv, o)."""
        return self._system.graph.sympy('velocity_jacobian')

    @property
    def coneqs(self):
        """The velocity constraints under LagrangesMethod's name."""
        return self.velocity_constraints

    @property
    def mass_matrix(self):
        """``M`` of ``M*u' = forcing``, shape (o, o), without multipliers."""
        return self.system.M

    @cached_property
    def forcing(self):
        """``Q + Q_c`` of ``M*u' = Q + Q_c``, shape (o, 1)."""
        return self.closed_form.sympy('forcing')

    @property
    def mass_matrix_kin(self):
        """Identity: ``q'`` is given explicitly, shape (n, n)."""
        return ImmutableDenseMatrix(eye(len(self._system.q)))

    @property
    def forcing_kin(self):
        """``q'`` in terms of the states, shape (n, 1)."""
        return self._system.rates

    @property
    def mass_matrix_full(self):
        """Block diagonal of identity and ``mass_matrix``, (n + o, n + o)."""
        return ImmutableDenseMatrix(diag(
            self.mass_matrix_kin, self.mass_matrix)) if self._system.q else (
            self.mass_matrix)

    @property
    def forcing_full(self):
        """``q'`` above ``forcing``, shape (n + o, 1)."""
        return self.forcing_kin.col_join(self.forcing)

    def kindiffdict(self):
        """Dictionary of the ``q'`` in terms of the states."""
        return dict(zip(self._qdot, self.forcing_kin))

    def rhs(self, inv_method=None, **kwargs):
        """The rates of the states, shape (n + o, 1), from the solve.

        ``inv_method`` is accepted for SymPy's sake and not used: no inverse
        is formed.
        """
        return self.forcing_kin.col_join(self.acceleration)

    def __repr__(self):
        n, o, m = len(self.q), len(self.u), self._system.counts[2]
        return (f'<{type(self).__name__}: {n} coordinates, {o} speeds, '
                f'{m} constraint rows>')

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

    @property
    def explicit_kinematics(self):
        """True: the kinematic equations are always solved for ``q'``."""
        return True

    @property
    def auxiliary_eqs(self):
        """Not available; raises with the way to the constraint forces."""
        raise UnsupportedFeatureError(
            f"{type(self).__name__} has no auxiliary equations. Constraint "
            "forces are in `multipliers`, `constraint_forces` and "
            "`constraint_loads()`.")

    # -- forming equations, for scripts that do --------------------------

    def kanes_equations(self, bodies=None, loads=None):
        """Return ``(Fr, Fr*)``, whose sum is zero along the motion.

        ``Fr`` holds the applied and the constraint forces, shape (o, 1);
        ``Fr*`` the inertia forces. Bodies and loads given here replace those
        of the constructor.
        """
        self._take(bodies, loads)
        active = Matrix(self._active_forces())
        return active, Matrix(-self.eom - active)

    def _take(self, bodies, loads):
        """Put bodies and loads in the place of the old ones."""
        if self._shape != 'kane':
            raise UnsupportedFeatureError(
                "`kanes_equations` belongs to a method made in Kane's shape. "
                "This one was made from a Lagrangian; call "
                "`form_lagranges_equations()`, or read `eom`.")
        if bodies is not None or loads is not None:
            given = self._arguments
            self._arguments = {
                **given,
                'bodies': given['bodies'] if bodies is None else own(bodies),
                'forcelist':
                    given['forcelist'] if loads is None else own(loads)}
            try:
                self._build()
            except Exception:
                self._arguments = given
                raise

    def _active_forces(self):
        """Applied and constraint forces, one per speed."""
        potential = potential_of(
            self.system.bodies, self._options.get('potential_energy')
            or 'ignore')
        given = as_list(self._options.get('generalized_forces'),
                        'generalized_forces')
        return (applied_forces(self.system, potential)
                + column(given or [0]*len(self.u)) + self.constraint_forces)

    def form_lagranges_equations(self):
        """Return :attr:`eom`."""
        return self.eom

    def _form_eoms(self):
        return self.eom

    @cached_property
    def eom(self):
        """``M*u' - Q - Q_c``, zero along the motion, without multipliers.

        Shape (o, 1). ``LagrangesMethod.eom`` has the multipliers in it, with
        the opposite sign; compare ``constraint_forces`` instead.
        """
        return self._linear_residual(self.closed_form, 'M', 'forcing')

    def _linear_residual(self, graph, matrix, right, unknowns=None):
        """``matrix*u' - right`` of two outputs, made on the graph."""
        builder, out = graph.load(None, (matrix, right))
        z = [builder.input(x, dynamic=True)
             for x in (self._udot if unknowns is None else unknowns)]
        rows = [[builder.sub(builder.dot(row, z), b)]
                for row, (b,) in zip(out[matrix], out[right])]
        return Graph.freeze(builder, {'residual': (rows, 1)}).sympy(
            'residual')

    @cached_property
    def acceleration(self):
        """``u'`` as functions of the states, shape (o, 1)."""
        if 'acceleration' not in self.closed_form.outputs:
            raise MissingIngredientError(
                "The mass matrix is singular, so some accelerations are not "
                "determined. Give every direction a mass or a constraint."
                f"{self._system.without_velocities}")
        return self.closed_form.sympy('acceleration')

    # -- multipliers -----------------------------------------------------

    @cached_property
    def lam_vec(self):
        """Symbols of the multipliers, functions of time, shape (m, 1)."""
        return self._fresh_symbols('lam', self._system.counts[2])

    def _named_symbols(self, given, argument, label, counted, count):
        """A column of functions of time that the user gave, checked.

        Parameters
        ==========

        given : str or iterable
            Names in one string, or names and functions of time.
        argument, label, counted : str
            For messages: ``'us'``, ``'quasi-velocity'``, and what there is
            one of each for.
        count : int

        """
        if isinstance(given, str):
            given = given.replace(',', ' ').split()
        time = self._system.t
        found = [Function(x)(time) if isinstance(x, str) else x
                 for x in as_list(given, argument)]
        problems, taken = [], symbols_in_use(self._system)
        if len(found) != count:
            problems.append(
                f"`{argument}` has {len(found)} names for {count} {counted}. "
                "Give one for each.")
        for k, x in enumerate(found):
            if not isinstance(x, AppliedUndef) or x.args != (time,):
                problems.append(
                    f"The {label} `{x}` is not a function of time. Give a "
                    f"name, or `dynamicsymbols('{x}')`.")
            elif str(x.func) in taken or x in found[:k]:
                problems.append(
                    f"The {label} `{x}` has the name of something else in "
                    "the model. Choose another name.")
        raise_problems(problems, ConstraintError)
        return column(found)

    def _fresh_symbols(self, name, count):
        """A column of functions of time whose names are not in use."""
        taken = symbols_in_use(self._system)
        while any(f'{name}{k}' in taken for k in range(1, count + 1)):
            name += '_'
        return column(
            dynamicsymbols(f'{name}1:{count + 1}') if count else ())

    @property
    def lam_coeffs(self):
        """``-A``, as in ``LagrangesMethod``, shape (m, o)."""
        return -self._system.A

    @cached_property
    def multipliers(self):
        """``lam`` of ``Q_c = A^T*lam`` as functions of the states, (m, 1).
        """
        return self.closed_form.sympy('multipliers')

    @cached_property
    def constraint_forces(self):
        """Generalized constraint forces ``Q_c``, shape (o, 1)."""
        return self.closed_form.sympy('constraint_forces')

    def solve_multipliers(self, op_point=None, sol_type='dict'):
        """Multipliers at a point, by symbol or as a matrix.

        They have our sign, ``Q_c = A^T*lam``, which is that of the trailing
        entries of ``LagrangesMethod.rhs()`` and the opposite of those of
        ``LagrangesMethod.solve_multipliers()``.
        """
        if not len(self.lam_vec):
            raise ConstraintError(
                "The system has no constraints, so it has no multipliers to "
                "solve for. Leave the question out, or give constraints.")
        values = as_point(op_point, 'op_point')
        moving = {k: v for k, v in values.items() if k.is_Derivative}
        found = self._solved_for().subs(moving).subs(values)
        if sol_type == 'Matrix':
            return Matrix(found)
        if sol_type == 'dict':
            return dict(zip(self.lam_vec, found))
        raise ValueError(
            f"`sol_type` is {sol_type!r}. Choose 'dict' or 'Matrix'.")

    def _solved_for(self):
        """What ``lam_vec`` is, as functions of the states."""
        return self.multipliers

    def _check_reactions(self):
        """Raise if reactions are not in the directions of the rows."""

    def constraint_loads(self):
        """Reaction loads of the rows that were given geometrically.

        Explanation
        ===========

        A velocity-level row may be given as ``(point, direction)`` or
        ``(frame, direction)``, with a third entry for the prescribed speed:
        ``v_P . n = value`` or ``omega_B . n = value``. Its reaction is the
        force ``lam*n`` at the point, or the torque ``lam*n`` on the frame.
        Rows that were given as expressions have none, and a warning names
        them.

        Returns
        =======

        list of Force and Torque

        """
        self._check_reactions()
        located = dict(self._system.geometry)
        others = [name for k, name in enumerate(self._system.constraint_names)
                  if k not in located]
        if others:
            warn(f"No loads are known of {', '.join(others)}: an expression "
                 "tells no place and no direction. Give the row as "
                 "`(point, direction)` or `(frame, direction)`, or read "
                 "`constraint_forces`.", stacklevel=2)
        multipliers = self.multipliers
        return [(Force if isinstance(location, Point) else Torque)(
                    location, multipliers[k]*direction)
                for k, (location, direction) in located.items()]

    def residual(self):
        """Residuals of the implicit first-order form, zero along a motion.

        ``[q' - f; M*u' - Q - A^T*lam; A*u' - b]`` in the states, their
        derivatives and the multipliers ``lam_vec``, shape (n + o + m, 1);
        what collocation and index-1 solvers take.
        """
        equations = self.equations_of_motion
        return (self._qdot - self.forcing_kin).col_join(
            self._linear_residual(equations.graph, 'W', 'r',
                                  equations.unknowns))

    def to_symbolic_system(self):
        """SymPy's ``SymbolicSystem`` with the explicit right-hand side."""
        index = list(self.states).index
        return SymbolicSystem(
            self.states, self.rhs()[:len(self.states), :],
            coord_idxs=tuple(map(index, self.q)),
            speed_idxs=tuple(map(index, self.u)),
            bodies=self.bodies or None,
            loads=self.loads or None)

    # -- linearization ---------------------------------------------------

    def to_linearizer(self, q_ind=None, qd_ind=None, q_dep=None, qd_dep=None,
                      linear_solver='LU'):
        """Return SymPy's ``Linearizer`` of the equations.

        Parameters
        ==========

        q_ind, qd_ind, q_dep, qd_dep : iterables, optional
            Partition of coordinates and speeds; by default the one given to
            the constructor.
        linear_solver : str or callable
            As in SymPy.

        """
        return linearizer(self, q_ind, qd_ind, q_dep, qd_dep, linear_solver)

    def linearize(self, q_ind=None, qd_ind=None, q_dep=None, qd_dep=None,
                  linear_solver='LU', **kwargs):
        """Linearize with SymPy's ``Linearizer``; returns ``(..., r)``.

        The keyword arguments are those of ``Linearizer.linearize``:
        ``op_point``, ``A_and_B``, ``simplify``.
        """
        kwargs.pop('new_method', None)          # upstream ignores it, too
        made = self.to_linearizer(q_ind, qd_ind, q_dep, qd_dep,
                                  linear_solver)
        return made.linearize(**kwargs) + (made.r,)


def with_inherited(cls, method, arguments, options):
    """Options, and those of the method; arguments are those of the model.
    """
    twice = [name for name in options if name in arguments]
    if twice:
        raise TypeError(
            f"`{twice[0]}` was given, and `from_method` takes it from the "
            f"{type(method).__name__}. Change it there, or call "
            f"{cls.__name__} with all arguments of the model.")
    return {**inherited(cls, method), **options}


def inherited(cls, method):
    """Options of a method of ours that another class has, too."""
    if not isinstance(method, ConstrainedMethod):
        return {}
    method._check_taken_by(cls)
    found = {name: value for name, value in method._options.items()
             if name in cls.options}
    if method._sample is not None:
        found['sample'] = method._sample
    return found | (method._own if isinstance(method, cls) else {})


def without_repetitions(system, sample):
    """A system without velocity rows that repeat holonomic ones.

    ``KanesMethod`` asks for them. The builder sees most of them; this also
    sees those that are written in another way.
    """
    count = len(system.holonomic_rows)
    if not count or not system.velocity_rows:
        return system
    with precise():
        relations = row_relations(system, sample)
    return system.without_velocity_rows(
        k for k, used in relations.items()
        if k >= count and max(used, default=count) < count)


def column(entries):
    """An immutable column matrix, shape (0, 1) if there are no entries."""
    entries = list(entries)
    return ImmutableDenseMatrix(len(entries), 1, entries)
