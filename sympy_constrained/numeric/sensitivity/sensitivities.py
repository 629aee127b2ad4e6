"""Derivatives of a motion by constants and initial values."""
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...errors import ConstraintError, UnsupportedFeatureError
from ...model.call_signatures import own
from ..compiled import CompiledEquations, compile_equations
from ..integrate.crossing import compiled_with
from ..integrate.events import event_functions
from ..integrate.simulate import simulate
from ..manifold.correction import row_sizes
from ..names import Names, label
from ..tolerances import REDUNDANT
from ..trajectory import Trajectory
from .jumps import switches, warn_of_jumps
from .saltation import check_known, saltation
from .variational import variational


# States of variational equations, above which these are split.
STATES = 128
# Part of a state whose change must not change a Python function.
MOVED = 1e-6


class EventDerivatives(NamedTuple):
    """An :class:`.Event` of a :class:`.Crossing`, and the derivatives of its
    time, ``dt``, shape (k,), and of the states then, ``dx``, shape (ns, k).
    """

    index: int
    t: float
    x: np.ndarray
    dt: np.ndarray
    dx: np.ndarray


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """A motion and its derivatives; made by :func:`sensitivities`.

    ``result[q, m]`` are the derivatives of a state by a constant or an initial
    value, shape (N,); ``dx``, shape (N, ns, k), are all at the times ``t``, in
    the order of ``by``, and ``x`` the states. ``trajectories`` solve the
    variational equations, each for a part of ``by`` if these are many.
    """

    equations: CompiledEquations
    by: tuple
    t: np.ndarray
    x: np.ndarray
    dx: np.ndarray
    trajectories: tuple[Trajectory, ...]
    events: tuple[EventDerivatives, ...] = ()

    def __getitem__(self, key):
        of, by = key
        return self.dx[:, self.equations.names.index(of),
                       Names(self.by, 'constant or initial value').index(by)]

    def __repr__(self):
        names = ', '.join(map(label, self.by))
        return (f'<Sensitivities of {self.x.shape[1]} states to {names}, '
                f'{len(self.t)} times>')

    def of(self, expressions):
        """Values, shape (N, m), and derivatives, shape (N, m, k), of what
        :meth:`.CompiledEquations.jacobian` takes as ``of``.
        """
        compiled = self.equations
        derivatives = compiled.jacobian(expressions)(self.t, self.x)@self.dx
        constants = [k for k, item in enumerate(self.by)
                     if item in compiled.constants]
        if constants:
            by = [self.by[k] for k in constants]
            derivatives[..., constants] += compiled.jacobian(
                expressions, by)(self.t, self.x)
        return compiled.values(expressions)(self.t, self.x), derivatives


def sensitivities(model, t_span, start, by, *, fixed=(), constants=None,
                  inputs=None, **options) -> Sensitivities:
    r"""Integrate a motion with its derivatives by constants and start.

    The derivatives obey linear equations of motion
    (:mod:`~sympy_constrained.numeric.sensitivity.variational`), integrated and
    projected with the motion, with the same relative tolerance; for events
    see :mod:`~sympy_constrained.numeric.sensitivity.saltation`.

    Examples
    ========

    The angle of a pendulum by its length, and by the initial angle:

    >>> from sympy import cos, symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.numeric import sensitivities
    >>> m, g, l = symbols('m g l')
    >>> q = dynamicsymbols('q')
    >>> pendulum = UdwadiaKalabaMethod(
    ...     m*l**2*q.diff()**2/2 + m*g*l*cos(q), [q])
    >>> motion = sensitivities(
    ...     pendulum, 2, [0.5, 0], by=[l, q],
    ...     constants={m: 1, g: 9.81, l: 1}, t_eval=3)
    >>> motion['q', 'l'].round(6)
    array([ 0.      ,  0.044502, -0.177733])

    Parameters
    ==========

    model : CompiledEquations
        Or what :func:`~sympy_constrained.numeric.compile_equations` takes,
        with its ``constants`` and ``inputs``. Python functions may depend
        on time, not on states.
    t_span, start, options
        As for :func:`~sympy_constrained.numeric.simulate`.
    by : sequence
        Constants, and states for their initial values, by object or name.
    fixed : iterable of states, optional
        States that keep their initial values when others and constants change.
        The constraints have to determine the remaining ones; without
        constraints none remains.

    Raises
    ======

    ConstraintError
        If the start cannot follow on the constraints with ``fixed``, or the
        remaining states are not determined.
    UnsupportedFeatureError
        If accelerations or multipliers are states, a Python function as input
        depends on states, or an event with a jump is no :class:`.Crossing`.

    """
    events = own(options.pop('events', ()))
    compiled = compiled_with(events, model, constants, inputs)
    by = chosen(compiled, by)
    x = compiled.names.vector(start, 'start')
    begin = 0. if np.ndim(t_span) == 0 else float(t_span[0])
    dx = start_derivatives(compiled, begin, x, by, fixed)
    events = event_functions(events, compiled)
    if switches(compiled, by) is not None:
        steps = simulate(compiled, t_span, x, events=events,
                         **{**options, 't_eval': None})
        warn_of_jumps(compiled, by, steps.t, steps.x, [
            event.t for event in steps.events
            if getattr(events[event.index], 'jump', None)
            or event.t == steps.t[-1]])
    return integrated(compiled, t_span, x, dx, by, options, events)


def integrated(compiled, t_span, x, dx, by, options, events=()):
    """The motion and its derivatives from ``dx``, whose columns are ``by``."""
    sign = -1 if np.ndim(t_span) and t_span[1] < t_span[0] else 1
    motions, parts, width = [], [], max(1, STATES//len(x) - 1)
    for event in events:
        if getattr(event, 'jump', None):
            check_known(event)
            width = max(len(by), 1)     # all jump at the same time
    moved = []
    for k in range(0, max(len(by), 1), width):
        some = slice(k, k + width)
        extended = variational_equations(compiled, by[some])
        places = [[extended.names.index(s) for s in part]
                  for part in extended.parts]
        full = np.zeros(len(extended.states))
        full[places] = np.vstack([x, dx[:, some].T])
        carried = [CarriedEvent(event, compiled, places, by[some], sign)
                   for event in events]
        motions.append(simulate(
            extended, t_span, full, events=carried, **options))
        options = {**options, 't_eval': motions[0].t}
        parts.append(motions[-1].x[:, places])
        moved.append([carried[event.index].derivatives(event)
                      for event in motions[-1].events
                      if hasattr(events[event.index], 'expression')])
    count = min(map(len, parts))
    return Sensitivities(
        compiled, by, motions[0].t[:count], parts[0][:count, 0],
        np.concatenate([np.moveaxis(part[:count, 1:], 1, 2)
                        for part in parts], axis=2), tuple(motions),
        tuple(some[0]._replace(
            dt=np.concatenate([item.dt for item in some]),
            dx=np.hstack([item.dx for item in some]))
            for some in zip(*moved)))


class CarriedEvent:
    def __init__(self, event, compiled, places, by, sign):
        self.event, self.compiled, self.by = event, compiled, by
        self.places, self.sign = np.array(places), sign
        for name in ('terminal', 'direction', 'passed'):
            if hasattr(event, name):
                setattr(self, name, getattr(event, name))

    def __call__(self, t, full):
        return self.event(t, full[self.places[0]])

    @property
    def jump(self):
        """States and derivatives after a jump, None without."""
        return getattr(self.event, 'jump', None) and self.after

    def after(self, t, full):
        x, dx = full[self.places[0]], full[self.places[1:]].T
        full[self.places[0]] = after = self.event.jump(t, x)
        change = saltation(
            self.compiled, self.event, t, x, self.by, after, self.sign)
        full[self.places[1:]] = (change.x_x@dx + change.x_p).T
        return full

    def derivatives(self, found):
        """The derivatives of an :class:`.Event` that was found."""
        x, dx = found.x[self.places[0]], found.x[self.places[1:]].T
        change = saltation(self.compiled, self.event, found.t, x, self.by,
                           sign=self.sign)
        return EventDerivatives(
            found.index, found.t, x, change.t_x@dx + change.t_p,
            change.x_x@dx + change.x_p)


def chosen(compiled, by):
    """Constants and states, by object or name."""
    known = Names((*compiled.states, *compiled.constants),
                  'state or constant')
    places = known.indices(by, 'by')
    twice = [label(known.objects[k]) for k, count in Counter(places).items()
             if count > 1]
    if twice:
        raise ValueError(f"`by` names {', '.join(twice)} more than once. Name "
                         "each once.")
    return tuple(known.objects[k] for k in places)


def variational_equations(compiled, by):
    def values(equations):              # those of events are not among them
        known = dict(zip(compiled.constants, compiled.parameters()))
        return {item: known[item] for item in equations.constants}

    def made():
        equations, sets = variational(
            compiled.equations, by, compiled.inputs.given)
        result = compile_equations(equations, values(equations),
                                   compiled.inputs.called, compiled.backend)
        result.parts = (compiled.states, *sets)
        return result

    result = compiled.kept(('variational', by), made)
    return result.with_values(values(result))


def check_inputs(compiled, t, x):
    here, beside = (compiled.inputs.values(t, state) for state in (
        x, x + MOVED*(1 + np.abs(x))))
    for item, value, other in zip(compiled.inputs.called, here, beside):
        if value != other:
            raise UnsupportedFeatureError(
                f"The input {label(item)} is a Python function of the states, "
                "whose derivatives are unknown. Give it as an expression.")


def start_derivatives(compiled, t, x, by, fixed):
    """Derivatives of a start on the constraints, shape (ns, k)."""
    check_inputs(compiled, t, x)
    names, states = compiled.names, compiled.states
    changed = {k: states.index(item) for k, item in enumerate(by)
               if item in states}
    dx = np.zeros((len(x), len(by)))
    for k, i in changed.items():
        dx[i, k] = 1.
    K = compiled.jacobian('residuals')(t, x)
    rest = K@dx
    constants = [k for k in range(len(by)) if k not in changed]
    if constants:
        rest[:, constants] += compiled.jacobian(
            'residuals', [by[k] for k in constants])(t, x)
    sizes = row_sizes(K)
    K, rest = K/sizes, rest/sizes
    held = {*names.indices(fixed, 'fixed'), *changed.values()}
    free = [i for i in range(len(x)) if i not in held]
    A = K[:, free]
    if not (np.abs(rest) > REDUNDANT).any():
        return dx
    change, _, rank, _ = np.linalg.lstsq(A, -rest, rcond=REDUNDANT)
    involved = [names.labels[i] for i, column in zip(free, A.T)
                if column.any()]
    if rank < len(involved):
        raise ConstraintError(
            "The start has to change so that it stays on the constraints, and "
            f"they do not say how: {rank} independent constraints for "
            f"{len(involved)} states ({', '.join(involved)}). Name "
            f"{len(involved) - rank} of these in `fixed`.")
    if np.abs(A@change + rest).max() > REDUNDANT*np.abs(rest).max():
        raise ConstraintError(
            "The start cannot stay on the constraints: too many states are "
            "`fixed` or varied. Fix fewer.")
    dx[free] = change
    return dx
