"""Event functions along a motion: zeros, and terminal events."""
import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile

import numpy as np
from scipy.optimize import brentq
from sympy import Matrix

from ...errors import (
    ConstrainedDynamicsError, ConstraintError, SingularEquationsError)
from ...graph import Graph
from ..compiled import compile_equations
from ..names import call_fault, number, read_only
from ..outcome import Event
from .crossing import Crossing, CrossingFunction


# A larger value at the start is no rounding error of a zero.
PASSED = 1e-9
TINY = math.ulp(0.)
# A smaller value or time is zero, where it decides whether an event is due.
ROUNDED = 1e-12
# Parts of a step in which signs are compared.
PARTS = 8
# Iterations for a zero; functions that are flat there need hundreds.
FLAT = 10000


class Events:
    """Zeros of event functions from one accepted step to the next.

    An event function is called with ``(t, x)`` and returns a number. As in
    SciPy it may have the attributes ``terminal`` (stop at the first zero, or
    at the n-th for a number n) and ``direction`` (positive: only zeros where
    it rises, negative: only where it falls), and ``jump``, a function of
    ``(t, x)`` that returns the states after the event. A zero at a step
    belongs to the step that ends there, so a zero at the start is no event,
    unlike in SciPy. An event that must not have happened before the start has
    sentences ``passed``. Signs are also compared at equally spaced times in
    the step.

    ``last`` is the function of the last event, and ``is_terminal`` whether
    that ends the run.
    """

    def __init__(self, functions, t, x):
        self.functions = functions
        self.found: list[Event] = []
        self.last, self.is_terminal = None, False
        self._passing = {}              # other zeros, maybe at the same time
        self._counts = [0]*len(self.functions)
        self._values = [self._value(i, t, x)
                        for i in range(len(self.functions))]
        for function, value in zip(self.functions, self._values):
            passed = getattr(function, 'passed', None)
            if passed and value*function.direction > PASSED:
                fact, *remedy = passed.split('. ', 1)
                raise ConstraintError('. '.join([
                    f"{fact} (event function: {value:.3g} at the start)",
                    *remedy]) + '.')

    def __bool__(self):
        return bool(self.functions)

    def code(self, compiled):
        """Machine code of all functions, None if one has no expression."""
        if not all(isinstance(function, CrossingFunction)
                   for function in self.functions):
            return None
        expressions = tuple(x.expression for x in self.functions)
        return compiled.kept(
            ('crossings', expressions), lambda: compiled.native_output(
                Graph.of({'out': Matrix(expressions)}, compiled.equations.t)))

    def doubtful(self, steps, values):
        """Yield the numbers of the steps in which a function may vanish.

        ``_values`` are those at its begin then, as :meth:`crossed` needs.
        ``values``, (steps, parts, functions), are those of all functions at
        parts of the steps; without them every step is yielded.
        """
        if values is None:
            yield from range(steps)
        if values is None or not values.size:
            return
        flat = values.reshape(-1, len(self.functions))
        before = np.vstack([self._values, flat[:-1]])
        is_quiet = (((before > 0) == (flat > 0)) & (
            np.abs(before) > ROUNDED) & (np.abs(flat) > ROUNDED)).reshape(
                steps, -1).all(axis=1)
        for k in np.flatnonzero(~is_quiet).tolist():
            if k and is_quiet[k - 1]:
                self._values = values[k - 1, -1].tolist()
            yield k
        if is_quiet[-1]:
            self._values = values[-1, -1].tolist()

    def _value(self, i, t, x):
        returned = self.functions[i](t, read_only(x))
        try:
            if isinstance(returned, (bool, np.bool_)):
                raise TypeError
            value = float(returned)
        except (TypeError, ValueError):
            raise TypeError(
                f"`events[{i}]` returned {returned!r} at t = {t:g}; it must "
                "return one number, which changes sign at the event."
            ) from None
        if math.isnan(value):
            raise ValueError(
                f"`events[{i}]` returned nan at t = {t:g}, which has no sign "
                "that could change. Let it return a number at every state, "
                "for example 1 where it has no value.")
        return value

    def crossed(self, t_old, t, x, path) -> list[tuple]:
        """Where functions changed sign since the last step: number of the
        function, begin and end of the part of the step. ``path`` maps times
        to states in columns.
        """
        times = np.linspace(t_old, t, PARTS + 1)[1:]
        states = [*np.array(path(times[:-1]))[:len(x)].T, x]
        result, last = [], t_old
        self._passing = {}
        for s, state in zip(times.tolist(), states):
            old = self._values
            self._values = [self._value(i, s, state)
                            for i in range(len(old))]
            for i, function in enumerate(self.functions):
                direction = np.sign(getattr(function, 'direction', 0))
                if getattr(function, 'jump', None) and direction and (
                        i not in self._passing) and (
                        0 <= direction*old[i] <= ROUNDED
                        < direction*self._values[i]):
                    raise ConstrainedDynamicsError(
                        f"`events[{i}]` has a jump, which does not turn the "
                        f"motion back at t = {last:.6g}, or not for an eighth "
                        "of a step. Such impacts accumulate, or bodies "
                        "already touch: end the run before by a terminal "
                        "event, start apart, or pass a smaller `max_step`. If "
                        "the motion shall go on, leave out `direction`.")
            for i, function in enumerate(self.functions):
                if changed(old[i], self._values[i],
                           getattr(function, 'direction', 0)):
                    result.append((i, last, s))
                    self._passing.setdefault(i, old[i])
            last = s
        return result

    def locate(self, crossed, state) -> float | None:
        """Record zeros up to the first that ends or jumps; return its time."""
        zeros = sorted((self._zero(i, state, start, end), i)
                       for i, start, end in crossed)
        if crossed[0][2] < crossed[0][1]:
            zeros.reverse()
        for t, i in zeros:
            self.found.append(Event(i, t, state(t)))
            self._counts[i] += 1
            terminal = getattr(self.functions[i], 'terminal', False)
            self.last = self.functions[i]
            self.is_terminal = bool(terminal) and (
                self._counts[i] >= int(terminal))
            if self.is_terminal or getattr(self.last, 'jump', None):
                return t
        return None

    def follow_jump(self, t, x):
        self.found[-1] = replace(self.found[-1], after=np.array(x))
        now = {event.index for event in takewhile(
            lambda event: abs(event.t - t) <= ROUNDED*max(1, abs(t)),
            reversed(self.found))}
        for i in range(len(self.functions)):
            value = self._value(i, t, x)
            if abs(value) <= PASSED:    # it vanishes still, but for rounding
                if i in now:
                    value = 0.
                elif i in self._passing:    # to be found by the next step
                    value = math.copysign(TINY, self._passing[i])
            self._values[i] = value

    def _zero(self, i, state, t_old, t_new):
        def value(t):
            return self._value(i, t, state(t))

        # The state at the end may have been projected and differ from the
        # interpolant by the drift of one step, enough to lose a sign change.
        # The zero of an event that has the time of a jump is at the start.
        start, end = value(t_old), value(t_new)
        if start*end > 0:
            return t_new if abs(end) <= abs(start) else float(t_old)
        if end:
            return brentq(value, t_old, t_new, xtol=4e-16*max(
                abs(t_old), abs(t_new)), rtol=1e-14, maxiter=FLAT)
        # It may have become zero earlier, and stayed zero.
        middle = (t_old + t_new)/2
        while middle not in (t_old, t_new):
            if start*value(middle) > 0:
                t_old = middle
            else:
                t_new = middle
            middle = (t_old + t_new)/2
        return t_new


def event_functions(functions, compiled) -> tuple:
    """The event functions, checked; one may be given without a list."""
    if callable(functions) or isinstance(functions, Crossing):
        functions = (functions,)
    if isinstance(functions, str) or not isinstance(functions, Iterable):
        raise TypeError(
            f"`events` is {functions!r}, which is no function. Give a "
            "function of (t, x), or a list of functions.")
    functions = tuple(of_run(function, compiled) for function in functions)
    for i, function in enumerate(functions):
        check_callable(function, f'events[{i}]', 'vanishes at the event')
        if getattr(function, 'jump', None):
            check_callable(function.jump, f'events[{i}].jump',
                           'returns the states after the event')
    return functions


def check_callable(function, name, use):
    if not callable(function):
        raise TypeError(
            f"`{name}` is of type {type(function).__name__}, not a function "
            f"of (t, x). Give a function that {use}.")
    fault = call_fault(function)
    if fault:
        raise TypeError(
            f"`{name}` cannot be called with (t, x) ({fault}). Give a "
            "function of the time and the states.")


def of_run(function, compiled):
    """An event with the equations of a run, not those it was made with."""
    if isinstance(function, Crossing):
        return CrossingFunction(function, compiled)
    if hasattr(function, 'with_equations'):
        return function.with_equations(as_in_run(function.compiled, compiled))
    return function


def as_in_run(model, compiled):
    """Equations with those constants and inputs of others that they have."""
    if model.model is compiled.model:
        return compiled
    own, inputs = ({**x.inputs.expressions, **x.inputs.called}
                   for x in (model, compiled))
    if any(inputs.get(x, value) is not value for x, value in own.items()):
        model = model.with_values(None, {
            x: inputs.get(x, value) for x, value in own.items()})
    return model.with_values({
        x: value for x, value in zip(compiled.constants, compiled.parameters())
        if x in model.constants})


def changed(old, new, direction):
    """Whether a zero was passed in the wanted direction."""
    rises = old < 0 <= new and direction >= 0
    return rises or (old > 0 >= new and direction <= 0)


class SingularEvent:
    """The function made by :func:`singular_event`."""

    direction = -1
    passed = ("The start is nearer to a singular configuration than "
              "`threshold` allows: there the motion may branch and "
              "multipliers are unbounded. Start from another state, or lower "
              "`threshold`")

    def __init__(self, compiled, threshold, terminal):
        self.compiled, self.threshold = compiled, threshold
        self.terminal = terminal
        self.solver = None

    def with_equations(self, compiled):
        return SingularEvent(compiled, self.threshold, self.terminal)

    def __call__(self, t, x):
        if self.solver is None:
            self.solver = self.compiled.linear_solver(t, x)
        try:
            condition = self.solver.solve_all(
                *self.compiled.matrices(t, x), math.inf).condition
        except SingularEquationsError:
            condition = 0.
        return condition/self.threshold - 1


def singular_event(model, threshold=1e-4, terminal=True, constants=None,
                   inputs=None):
    """Event for ``simulate``: a singular configuration is near.

    Constraints lose rank in a singular configuration, such as a linkage that
    lies flat, and the motion may branch there. The event occurs where
    ``Trajectory.condition`` falls below the threshold.

    Examples
    ========

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.numeric import (
    ...     compile_equations, simulate, singular_event)
    >>> m, g = symbols('m g')
    >>> x, y = dynamicsymbols('x y')
    >>> cross = compile_equations(UdwadiaKalabaMethod(
    ...     m*(x.diff()**2 + y.diff()**2)/2, [x, y], hol_coneqs=[x*y]), {m: 1})
    >>> motion = simulate(cross, 2, [1, 0, -1, 0],
    ...                   events=singular_event(cross, 0.01))
    >>> motion.reason.name, float(motion.t[-1].round(2))
    ('EVENT', 0.97)

    Parameters
    ==========

    model : CompiledEquations
        Or what :func:`~sympy_constrained.numeric.compile_equations` takes,
        with its ``constants`` and ``inputs``.
    threshold : float
        Between 1e-9 and 1; below 1e-10 a run ends anyway.
    terminal : bool or int

    """
    if not 1e-9 <= number(threshold) < 1:
        raise ValueError(
            f"`threshold` is {threshold!r}; it must be a reciprocal condition "
            "number from 1e-9 to 1, below which the equations count as "
            "singular.")
    return SingularEvent(compile_equations(model, constants, inputs),
                         threshold, terminal)
