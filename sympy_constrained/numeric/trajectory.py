"""What a simulation returns: arrays by name and the reason it ended."""
from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path

import numpy as np
from sympy.core.function import AppliedUndef

from .integrate.dense_output import DenseOutput, hermite
from .names import Names, array, label, sentence
from .outcome import Event, RankChange, Reason
from .storage import (
    frame, read_archive, write_archive, write_csv)


ARRAYS = ('t', 'x', 'rates', 'residuals', 'multipliers', 'constraint_forces',
          'rank', 'condition')
OPTIONAL = ('energy', 'work', 'power', 'energy_rate')
NAMES = ('states', 'speeds', 'multiplier_names', 'residual_names')
# Other fields that a file contains as they are.
PLAIN = (*OPTIONAL, 'message', 'passages', 'statistics', 'units', 'reactions')
PARTS = 'F_x', 'F_y', 'F_z', 'M_x', 'M_y', 'M_z'


def by_name(pairs):
    """A dictionary; names that occur again get an underscore each time."""
    named = {}
    for name, value in pairs:
        while name in named:
            name += '_'
        named[name] = value
    return named


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Arrays of a motion, indexed by SymPy object or by name.

    Explanation
    ===========

    ``N = len(trajectory)`` is the number of output times, not of steps. All
    arrays are read-only. ``trajectory[q1]`` or ``trajectory['q1']`` is the
    history of a state or multiplier, ``trajectory['t']`` the times. A
    trajectory from a file contains names instead of SymPy objects, and can
    be indexed by objects of these names.

    Attributes
    ==========

    t : ndarray, shape (N,)
    x : ndarray, shape (N, ns)
        States in the order of ``states``.
    rates : ndarray, shape (N, ns)
        Of the states.
    residuals : ndarray, shape (N, mh + mv)
        Holonomic, then velocity-level residuals, as in ``residual_names``.
    multipliers : ndarray, shape (N, m)
        Of least norm where they are not unique.
    constraint_forces : ndarray, shape (N, o)
        Generalized constraint forces ``Q_c`` of ``M*u' = Q + Q_c``; zero
        where the constraints are embedded, see
        :meth:`.CompiledEquations.constraint_forces`.
    energy : ndarray, shape (N,), or None
        Kinetic plus potential energy; None if the equations carry no energy.
    work : ndarray, shape (N,), or None
        Done since the start by known forces without a potential and by
        moving constraints.
    power : ndarray, shape (N,), or None
        Of known forces without a potential.
    energy_rate : ndarray, shape (N,), or None
        Rate of the energy along the motion.
    rank : ndarray of int, shape (N,)
        Rank of ``W``.
    condition : ndarray, shape (N,)
        Reciprocal condition number of the scaled ``W`` at the nominal rank;
        it tends to 0 towards a singular configuration.
    states, speeds, multiplier_names : tuple of SymPy objects
    residual_names : tuple of str
    constants : dict
        Symbol -> value.
    reason : Reason
    message : str
        The reason with its circumstances.
    events : tuple of Event
    rank_changes : tuple of RankChange
    passages : tuple of float
        Times at which the motion passed through a singular configuration.
        Near them the rates are those of a polynomial through neighbouring
        states, and the multipliers have least norm.
    statistics : dict
        Numbers of ``steps``, ``evaluations`` and ``seconds``.
    units : dict
        Name -> text, as given to ``simulate``.
    reactions : dict
        Name of a joint or row -> ndarray, shape (N, 6), force and moment in
        the axes of the ``reactions`` given to ``simulate``.
    dense : DenseOutput or None
        The interpolants of the integrator, with ``dense=True``.
    tape : Tape or None
        What :meth:`gradient` needs, with ``adjoint=True``.

    """

    t: np.ndarray
    x: np.ndarray
    rates: np.ndarray
    residuals: np.ndarray
    multipliers: np.ndarray
    constraint_forces: np.ndarray
    energy: np.ndarray | None
    work: np.ndarray | None
    power: np.ndarray | None
    energy_rate: np.ndarray | None
    rank: np.ndarray
    condition: np.ndarray
    states: tuple
    speeds: tuple
    multiplier_names: tuple
    residual_names: tuple
    constants: dict
    reason: Reason
    message: str
    events: tuple = ()
    rank_changes: tuple = ()
    passages: tuple = ()
    statistics: dict = field(default_factory=dict)
    units: dict = field(default_factory=dict)
    reactions: dict = field(default_factory=dict)
    dense: DenseOutput | None = None
    tape: object = None

    def __post_init__(self):
        for value in (*vars(self).values(), *self.reactions.values()):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @classmethod
    def of(cls, later, **fields) -> Trajectory:
        """Make one whose other arrays are computed when they are first read.

        ``later`` is a function of their names.
        """
        result = object.__new__(cls)
        vars(result).update({'statistics': {}, 'units': {}, 'reactions': {},
                             **fields, '_later': later})
        return result

    def parts(self, begins, ends, fields) -> list[Trajectory]:
        """The outputs of several runs, with other ``fields`` for each."""
        common = {name: getattr(self, name) for name in (
            *NAMES, 'reason', 'message')}

        def part(here, more):
            def later(name):
                values = getattr(self, name)
                return None if values is None else values[here]

            return Trajectory.of(later, **common, **more)

        return list(map(part, map(slice, begins, ends), fields))

    def __getattr__(self, name):
        if '_later' not in vars(self) or name not in (*ARRAYS, *OPTIONAL):
            raise AttributeError(f"A trajectory has no attribute {name!r}.")
        value = vars(self)[name] = self._later(name)
        if value is not None:
            value.flags.writeable = False
        return value

    def __getstate__(self):
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__post_init__()            # arrays from pickles are writeable

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        if not len(self):
            return f'<Trajectory of {len(self.states)} states, empty>'
        return (f'<Trajectory of {len(self.states)} states, '
                f'{len(self)} times from {self.t[0]:g} to {self.t[-1]:g}: '
                f'{self.message}>')

    @cached_property
    def _names(self):
        return Names((*self.states, *self.multiplier_names),
                     'state or multiplier')

    def __getitem__(self, key) -> np.ndarray:
        """History of a state or multiplier, shape (N,)."""
        if isinstance(key, str) and key == 't':
            return self.t
        if all(isinstance(name, str) for name in self.states):
            key = label(key)
        try:
            index = self._names.index(key)
        except KeyError as error:
            if isinstance(key, AppliedUndef) or not getattr(
                    key, 'args', ()):
                raise
            raise KeyError(
                f"{sentence(error.args)} Rates of states are in `rates`. "
                "Other expressions are functions of time and states by "
                "`compile_equations(model, ...).expression(expr)`.") from None
        if index < len(self.states):
            return self.x[:, index]
        return self.multipliers[:, index - len(self.states)]

    @property
    def success(self) -> bool:
        """Whether the run ended as the user asked."""
        return self.reason in (Reason.END, Reason.EVENT)

    @property
    def energy_error(self) -> np.ndarray | None:
        """Change of energy less work since the first output time.

        Zero for an exact solution.
        """
        if self.energy is None or self.work is None:
            return None
        return self.energy - self.energy[:1] - self.work + self.work[:1]

    @property
    def constraint_power(self) -> np.ndarray:
        """Power of the constraint forces, shape (N,)."""
        speeds = [self._names.index(u) for u in self.speeds]
        return np.sum(self.constraint_forces*self.x[:, speeds], axis=1)

    @property
    def power_error(self) -> np.ndarray | None:
        """Rate of the energy less the power of known and constraint forces.

        Zero at every state if the equations are right, independent of the
        drift of the integration.
        """
        if self.energy_rate is None or self.power is None:
            return None
        return self.energy_rate - self.power - self.constraint_power

    @property
    def largest_residual(self) -> float:
        """The largest absolute residual of all rows and times."""
        return float(np.abs(self.residuals).max(initial=0.))

    # -- between the outputs ---------------------------------------------

    def at(self, times) -> np.ndarray:
        """States at any times between the first and the last output.

        Explanation
        ===========

        ``simulate(..., dense=True)`` keeps the interpolants of the
        integrator, whose error is within its tolerances. Otherwise the
        states are cubics between neighbouring outputs, with an error of
        fourth order in the distance of the outputs, or parabolas beside
        events with a jump. Steps of ``'DOP853'`` are too long for cubics:
        pass more output times or ``dense=True``.

        States are projected at outputs or steps, not between them.

        Parameters
        ==========

        times : float or sequence of float

        Returns
        =======

        ndarray, shape (ns,) or (number of times, ns)

        """
        times = array(times, 'times')
        flat = times.ravel()
        low, high = sorted(self.t[[0, -1]]) if len(self) else (0., 0.)
        outside = ~((flat >= low) & (flat <= high))
        if not len(self) or outside.any():
            wrong = f'{flat[outside][0]:g} is not' if outside.any() else (
                'it is empty, no time is')
            raise ValueError(
                f"`times`: {wrong} within the trajectory, which reaches from "
                f"{low:g} to {high:g}. To extend it, simulate for longer.")
        states = (self.dense or hermite(
            self.t, self.x, self.rates, self.events))(flat)
        return states.reshape(*times.shape, self.x.shape[1])

    # -- derivatives -----------------------------------------------------

    def gradient(self, by=(), *, cost=0, final_cost=0, weights=None,
                 fixed=()):
        r"""Return the gradient of a cost, by the adjoint of all steps.

        Explanation
        ===========

        The motion comes from ``simulate(..., adjoint=True)``. The cost is

        .. math::

           \int L\,dt + K(t_1) + \sum_i w_i\cdot x(t_i).

        The time does not depend on the number of constants. See
        :mod:`~sympy_constrained.numeric.sensitivity.adjoint`.

        Examples
        ========

        >>> from sympy import cos, symbols
        >>> from sympy.physics.mechanics import dynamicsymbols
        >>> from sympy_constrained import UdwadiaKalabaMethod
        >>> from sympy_constrained.numeric import simulate
        >>> m, g, l = symbols('m g l')
        >>> q = dynamicsymbols('q')
        >>> motion = simulate(
        ...     UdwadiaKalabaMethod(
        ...         m*l**2*q.diff()**2/2 + m*g*l*cos(q), [q]), 2, [0.5, 0],
        ...     constants={m: 1, g: 9.81, l: 1}, adjoint=True)
        >>> gradient = motion.gradient([l, q], final_cost=q)
        >>> round(gradient[l], 6), round(gradient[q], 6)
        (-0.177733, 0.970893)

        Parameters
        ==========

        by : sequence
            Constants, and states for their initial values.
        cost : expression
            Integrand :math:`L` of states, accelerations, multipliers,
            constants, inputs and time.
        final_cost : expression
            :math:`K`, of the same at the end of the motion.
        weights : array, shape (N, ns)
            Derivatives of any function of ``x`` by its entries.
        fixed : iterable of states
            As for :func:`~sympy_constrained.numeric.sensitivities`.

        Returns
        =======

        Gradient

        Raises
        ======

        UnsupportedFeatureError
            If the steps were not kept, or pass a singular configuration, or
            an event without derivatives determines the motion.

        """
        from .sensitivity.adjoint import gradient
        return gradient(self, by, cost, final_cost, weights, fixed)

    # -- files and tables ------------------------------------------------

    def save(self, path):
        """Write a file ``.npz`` with everything, or ``.csv`` with a table.

        Explanation
        ===========

        An ``.npz`` file, which :meth:`load` reads, contains all arrays, and
        names as text, but no code and no interpolants of ``dense=True``. A
        table has one row for each output time. An existing file is replaced
        only when the new one is complete.

        """
        path = Path(path)
        if path.suffix == '.npz':
            write_archive(path, self._tree())
        elif path.suffix == '.csv':
            write_csv(path, self.to_table())
        else:
            raise ValueError(
                f"`path` is {str(path)!r}; its ending says what to write: "
                ".npz for everything, .csv for a table.")

    def _tree(self):
        """The fields for a file, with names instead of SymPy objects."""
        return {
            **{name: getattr(self, name) for name in ARRAYS + PLAIN},
            **{name: list(map(label, getattr(self, name))) for name in NAMES},
            'constants': by_name((label(x), value) for x, value in
                                 self.constants.items()),
            'reason': self.reason.name,
            'events': list(map(vars, self.events)),
            'rank_changes': list(map(vars, self.rank_changes))}

    @classmethod
    def load(cls, path) -> Trajectory:
        """Read a file of :meth:`save`; see :class:`Trajectory` for names."""
        return read_archive(path, cls._restored)

    @classmethod
    def _restored(cls, tree) -> Trajectory:
        return cls(**{
            **tree, **{name: tuple(tree[name])
                       for name in (*NAMES, 'passages')},
            'reason': Reason[tree['reason']],
            'events': tuple(Event(**event) for event in tree['events']),
            'rank_changes': tuple(RankChange(**change)
                                  for change in tree['rank_changes'])})

    def to_table(self) -> dict:
        """Name of a column -> array of shape (N,).

        The columns are time, states, multipliers, constraint forces
        (``Q_c`` and the name of the speed), residuals, reactions (such as
        ``F_x pin``), and, where known, energy, work and power.
        """
        columns = [('t', self.t)]
        for names, arrays, prefix in (
                (self.states, self.x, ''),
                (self.multiplier_names, self.multipliers, ''),
                (self.speeds, self.constraint_forces, 'Q_c '),
                (self.residual_names, self.residuals, 'residual of ')):
            columns += [(prefix + label(name), values)
                        for name, values in zip(names, arrays.T)]
        columns += [(f'{part} {name}', values)
                    for name, arrays in self.reactions.items()
                    for part, values in zip(PARTS, arrays.T)]
        columns += [(name, getattr(self, name)) for name in OPTIONAL
                    if getattr(self, name) is not None]
        return by_name(columns)

    def to_frame(self):
        """The columns of :meth:`to_table` as a ``pandas.DataFrame``."""
        return frame(self.to_table(), "`to_table`, which gives the same "
                     "columns as arrays").set_index('t')
