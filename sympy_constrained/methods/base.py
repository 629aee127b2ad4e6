"""What a method is, and what follows from its equations of motion."""
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import overload

from sympy import Expr
from sympy.physics.vector import ReferenceFrame

from .. import _compat
from ..analysis.consistent_points import check_sample, nearest_to_zero
from ..analysis.constraint_rank import (
    columns_at, constraint_report, independent_columns, preferred_columns,
    warn_of_added_rows, without_repetitions)
from ..analysis.energy_check import check_lagrangian, checked_velocities
from ..analysis.zero_tests import floats_at
from ..errors import (
    MissingIngredientError, RedundantConstraintsError, UnsupportedFeatureError)
from ..model.build import applied_forces, build_system
from ..model.call_signatures import (
    arguments_of, as_list, bind_arguments, lagrangian_call, own, shape_of)
from ..model.equations import EquationsOfMotion
from ..model.potential import potential_of
from ..model.unconstrained import speeds_of
from .options import call_signature, options_of, with_inherited
from .partition import computed
from .reactions import Reactions
from .solution import has_multipliers, projected, solved, solved_output
from .symbols import column, fresh_symbols
from .vocabulary import SympyVocabulary

# What every method has in closed form, or has a reason not to.
CLOSED = frozenset({'acceleration', 'multipliers', 'constraint_forces'})


class ConstrainedMethod(Reactions, SympyVocabulary, _compat.MethodBase):
    """Abstract base of the methods of this package.

    Explanation
    ===========

    A method takes the arguments of ``KanesMethod`` or ``LagrangesMethod`` as
    they are. Nothing has to be formed before a property is read. Dependent
    coordinates and speeds are appended to the independent ones; their number
    need not be that of the constraints.

    A subclass defines :meth:`equations`. Names and their meaning are the same
    for all methods; the table is on the page of notation.

    Parameters
    ==========

    *args, **kwargs
        The arguments of ``KanesMethod(frame, q_ind, u_ind, kd_eqs, ...)`` or
        of ``LagrangesMethod(Lagrangian, qs, ...)``, by position or keyword. A
        velocity-level constraint may be a tuple, see :meth:`constraint_loads`.
    generalized_forces : iterable of Expr, optional
        Forces in addition to the loads, one per coordinate (Lagrange's shape)
        or speed (Kane's).
    potential_energy : 'include' or 'ignore', optional
        In Kane's shape, whether the potential energy of the bodies counts.
    stabilization : pair or list of pairs, optional
        Baumgarte gains ``(alpha, beta)`` for all rows, or per row:
        ``h'' + 2*alpha*h' + beta**2*h = 0`` for holonomic,
        ``psi' + alpha*psi = 0`` for velocity rows.
    sample : dict, optional
        Values near the intended motion, used to examine the
        constraints; see :func:`.admissible_values`.
    loops : iterable of Loop, optional
        Loops in addition to the holonomic constraints; also for
        ``System.form_eoms``.
    """

    # Keyword arguments of ``build_system`` that the method accepts.
    _accepts = ('stabilization', 'potential_energy', 'generalized_forces')
    # Whether the method varies a Lagrangian of ``q`` and ``q'``.
    _exchange = None                    # of mass, with variable masses
    _in_velocities = False
    # Whether velocity rows that repeat holonomic ones are dropped.
    _drops_repetitions = False
    # Whether ``q_dependent`` is an argument in Lagrange's shape, too.
    _takes_partition = False
    _named = None
    # Keyword arguments of ``constraint_report``.
    _report_options = {}

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        # What the user gave, for `build_system` and for `from_method`; the
        # options that all methods have come with the call of `__init__`.
        self._options = {name: kwargs[name] for name in options_of(cls)
                         if name in kwargs and name not in cls._accepts}
        return self

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

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.__signature__ = call_signature(cls)

    def __init__(self, *args, sample=None, loops=(), **kwargs):
        self._sample = sample
        self._options |= {name: own(kwargs.pop(name))
                          for name in self._accepts if name in kwargs}
        if self._takes_partition and shape_of(args, kwargs) == 'lagrange':
            self._named = own(kwargs.pop('q_dependent', None))
        self._shape, self._arguments = bind_arguments(
            type(self).__name__, args, kwargs, options_of(type(self)))
        self._read_without_speeds()
        if loops:
            name = ('configuration_constraints' if self._shape == 'kane'
                    else 'hol_coneqs')
            self._arguments[name] = as_list(
                self._arguments[name], name) + as_list(loops, 'loops')
        self._build()
        self.inertial = self.frame      # as in SymPy
        self.explicit_kinematics = self._arguments.get(
            'explicit_kinematics', True)

    def _read_without_speeds(self):
        """Convert a call of Kane's shape without speeds to Lagrange's."""
        arguments = self._shape == 'kane' and lagrangian_call(self._arguments)
        if arguments:
            if self._takes_partition:
                self._named = self._arguments['q_dependent']
            self._shape, self._arguments = 'lagrange', arguments

    def _build(self):
        """Make the system anew and forget what was computed from the old."""
        arguments, is_kane = self._arguments, self._shape == 'kane'
        has_bodies = self._has_bodies
        system = self._new_system(self._in_velocities)
        if self._in_velocities and is_kane:     # speeds may have become
            self._drop_from_sample({*speeds_of(arguments)} - {*system.u})
        if has_bodies:
            system = checked_velocities(system, self._sample)
            check_sample(system, self._sample)
            if arguments.get('velocity_constraints') is not None:
                warn_of_added_rows(system, self._sample)
        if self._drops_repetitions and is_kane and has_bodies:
            given = {*system.graph.inputs}
            system = without_repetitions(system, self._sample)
            self._drop_from_sample(given - {*system.graph.inputs})
        self._system = replace(
            system, graph=system.graph.with_states(self._at_states))
        for name in computed(self):
            del self.__dict__[name]
        if has_bodies:
            self._check_choices()

    def _check_choices(self):
        """Raise if options do not fit the rows, which bodies complete."""

    def _new_system(self, in_velocities):
        system = build_system(
            self._shape, self._arguments, exchange=self._exchange,
            in_velocities=in_velocities, **{
                name: value for name, value in self._options.items()
                if name in self._accepts})
        if in_velocities and self._shape == 'kane':
            check_lagrangian(system, self._sample)
        return system

    def _drop_from_sample(self, symbols):
        if isinstance(self._sample, Mapping):
            self._sample = {x: value for x, value in self._sample.items()
                            if x not in symbols}

    def _take(self, bodies, loads):
        if self._shape != 'kane':
            raise UnsupportedFeatureError(
                "`kanes_equations` belongs to a method made in Kane's shape. "
                "This one was made from a Lagrangian; call "
                "`form_lagranges_equations()`, or read `eom`.")
        new = {name: own(value) for name, value in (
            ('bodies', bodies), ('forcelist', loads)) if value is not None}
        if new:
            before = dict(self.__dict__)
            self._arguments = {**self._arguments, **new}
            try:
                self._build()
            except Exception:
                self.__dict__ = before
                raise

    @property
    def _call(self):
        """Shape, ``'kane'`` or ``'lagrange'``, and arguments of the call."""
        return self._shape, dict(self._arguments)

    @classmethod
    def from_method(cls, method, **options):
        """Return this method for the model of another object.

        That may be a ``System``, a ``JointsMethod`` or a method.
        ``options`` are keyword arguments that SymPy's classes do not have;
        those that both methods of this package have are kept unless given.
        """
        arguments = cls._arguments_from(method, options)
        for name in filter(arguments.__contains__, options):
            raise TypeError(
                f"`from_method` takes `{name}` from the model. Change the "
                f"model, or call {cls.__name__} with all arguments.")
        result = cls(**arguments, **with_inherited(cls, method, options))
        result._joints = getattr(method, 'joints', getattr(
            method, '_joints', ()))
        return result

    @classmethod
    def _arguments_from(cls, method, options):
        """Arguments of the model; what is used up leaves the options."""
        return arguments_of(method)[1]

    @property
    def _own(self):
        """Options that were given and that only this class has."""
        return {name: value for name, value in self._options.items()
                if name not in (*options_of(ConstrainedMethod), *self._accepts,
                                'q_dependent')}

    @property
    def _special(self):
        """What only this class supports -> whether the model has it."""
        return {}

    # -- the values ------------------------------------------------------

    @property
    def _has_bodies(self):
        """Whether bodies were given, which Lagrange's shape never lacks."""
        return self._shape != 'kane' or self._arguments['bodies'] is not None

    @property
    def system(self):
        """The :class:`.ConstrainedSystem` of the model.

        Raises ``MissingIngredientError`` if there are no bodies yet.
        """
        if not self._has_bodies:
            raise MissingIngredientError(
                f"{type(self).__name__} has no bodies yet. Pass `bodies=` "
                "(and `forcelist=`), or call `kanes_equations(bodies, "
                "loads)` first.")
        return self._system

    @abstractmethod
    def equations(self, system):
        """Return the :class:`.EquationsOfMotion` of a ConstrainedSystem."""

    @cached_property
    def equations_of_motion(self):
        """The :class:`.EquationsOfMotion` ``W z = r`` of the model."""
        equations = self.equations(self.system)
        if not isinstance(equations, EquationsOfMotion):
            raise TypeError(
                f"`{type(self).__name__}.equations` returned {equations!r}. "
                "Return EquationsOfMotion, for example from its method "
                "`from_speeds`.")
        return replace(equations, symbols=self.system.symbols)

    @cached_property
    def closed_form(self):
        """The :class:`.Graph` of the solved equations.

        Outputs ``acceleration``, ``multipliers`` and ``constraint_forces``.
        For a large model use its ``evaluate`` and ``assignments``.
        """
        return replace(self._solve(), lacking=self._lacking)

    def _lacking(self, name):
        return self._without(name) if name in CLOSED else None

    def _solve(self):
        return solved(self.system, self.equations_of_motion,
                      self.independent_rows, type(self).__name__)

    # -- the constraints -------------------------------------------------

    def _rank_report(self, **options):
        return constraint_report(self.system, self._sample, **options)

    @cached_property
    def _report(self):
        """Rank of the rows, and states at which they hold."""
        return self._rank_report(**self._report_options)

    @property
    def independent_rows(self):
        """Numbers of rows of ``A`` that span all, where they hold."""
        if not self._system.counts[2]:
            return []
        return list(self._ranks.independent_rows)

    @cached_property
    def _ranks(self):
        """The report; of the rows only if no accelerations are determined."""
        try:
            return self._report
        except MissingIngredientError as error:
            if hasattr(error, 'functions'):     # without a numeric meaning
                raise
            return self._rank_report(determined=False)

    @property
    def _is_determined(self):
        """Whether masses and constraints determine the accelerations."""
        return self._ranks is self.__dict__.get('_report')

    @cached_property
    def _pivots(self):
        """Speeds that the rows determine, best those that never lose that."""
        system = self._system
        if not system.counts[2]:
            return ()
        return independent_columns(
            self._point_columns, preferred_columns(system, self._ranks))

    @cached_property
    def _point_columns(self):
        return columns_at(self._system, self._ranks.points,
                          self._ranks.independent_rows)

    def _at_states(self, graph, name, at_rest=False):
        """An output in floats at states on the constraints, for pivots.

        With ``at_rest`` at the one nearest to zero coordinates, if any.
        """
        return floats_at(self.system, graph, name,
                         self._rest if at_rest else self._ranks.points)

    @cached_property
    def _rest(self):
        return nearest_to_zero(self._system, self._ranks.points[0])

    def _check_velocity_level(self, what):
        if self._system.acceleration_rows:
            raise UnsupportedFeatureError(
                "There are constraints at acceleration level, and "
                f"{type(self).__name__} {what} constraints on velocities. "
                "Give their integrals, or use UdwadiaKalabaMethod.")

    @property
    def _names(self):
        """A label for every constraint, in the order of the rows."""
        return self._system.constraint_names

    def _check_independent(self, reason, remedy=(
            "Leave the redundant rows out, or use UdwadiaKalabaMethod, which "
            "takes them."), report=None):
        """Raise if rows are redundant where they hold."""
        report = self._system.counts[2] and (report or self._report)
        rows = report and report.redundant_rows
        if rows:
            others = any(report.relations.get(k, True) for k in rows)
            raise RedundantConstraintsError(
                f"{', '.join(self._names[k] for k in rows)} "
                f"follow{'s' if len(rows) == 1 else ''} from the "
                f"{'other rows' if others else 'kinematic equations'} "
                f"where the constraints hold, and {reason}. "
                f"{remedy}", rows=tuple(rows))

    # -- the equations of motion, not solved -----------------------------

    @cached_property
    def _keeps_multipliers(self):
        """Whether the matrices contain multipliers, as in Lagrange's shape."""
        return self._shape == 'lagrange' and has_multipliers(
            self.equations_of_motion)

    @cached_property
    def _projected(self):
        equations = self.equations_of_motion
        return projected(
            equations.graph.with_states(self._at_states), equations,
            self._ordered_rows, self._dependent_speeds)

    @property
    def _ordered_rows(self):
        """The independent rows in the order that ``KanesMethod`` has."""
        places = dict(enumerate(self._system.places))
        return sorted(self.independent_rows,
                      key=lambda k: places.get(k, len(places)))

    def _dependent_speeds(self):
        """Positions of dependent speeds: the user's as far as they go."""
        u = self._system.u
        given = [u.index(x) for x in self._system.u_dependent if x in u]
        if not given:
            return self._pivots
        return independent_columns(self._point_columns, given)

    @property
    def _potential(self):
        """The potential energy of the bodies that counts."""
        return potential_of(self.system.bodies, self._options.get(
            'potential_energy'), self.system.loads)

    def _applied(self):
        """Applied forces without a potential that counts, shape (o, 1)."""
        more = as_list(self._options.get('generalized_forces'),
                       'generalized_forces')
        return (applied_forces(self.system, self._potential)
                + column(more or [0]*len(self._system.u)))

    # -- solved ----------------------------------------------------------

    acceleration = solved_output(
        'acceleration', "``u'`` as functions of the states, shape (o, 1).")
    multipliers = solved_output(
        'multipliers',
        "``lam`` of ``Q_c = A^T*lam`` as functions of the states, (m, 1).")
    constraint_forces = solved_output(
        'constraint_forces',
        """Generalized constraint forces ``Q_c`` of ``M*u' = Q + Q_c``.

        One for each speed of ``system``, shape (o, 1).
        """)

    @cached_property
    def lam_vec(self):
        """Symbols of the multipliers in ``eom``, shape (m, 1)."""
        return fresh_symbols(self._system, 'lam', self._system.counts[2])

    def _without(self, name):
        """The error for a closed form that does not exist."""
        return MissingIngredientError(
            "The mass matrix is singular, so some accelerations are not "
            "determined. Give every direction a mass or a constraint."
            f"{self._system.without_velocities}")

    def __repr__(self):
        u = self.u if self._has_bodies else self._system.u
        return (f'<{type(self).__name__}: {len(self.q)} coordinates, '
                f'{len(u)} speeds, {len(self._names)} constraint rows>')
