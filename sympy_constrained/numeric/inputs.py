"""Specified functions: expressions, numbers, tables, Python functions."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature

from sympy import Derivative, Expr, Float
from sympy.core.function import AppliedUndef, UndefinedFunction

from ..errors import MissingIngredientError, raise_problems
from ..graph import is_function_of, real_derivative
from .codegen.native import with_given
from .names import Names, call_fault, label, number, read_only, sentence
from .table import Table


# The value of an input that has been reported as a problem.
UNUSABLE = object()
OF_STATES = (
    " In the model an input is a function of time. To a function of "
    "coordinates attach a Python function with "
    "`sympy.utilities.lambdify.implemented_function`.")


@dataclass(frozen=True)
class Inputs:
    """What the specified functions of the equations are.

    ``given`` maps SymPy objects to expressions, after those that they contain;
    ``called`` to tables and Python functions of ``(t, x)``; ``feedback`` has
    the expressions that are part of the equations.
    """

    given: dict
    called: dict
    feedback: dict = field(default_factory=dict)

    @classmethod
    def match(cls, specifieds, values, time, equations=None,
              complete=True) -> Inputs:
        """Find each of the ``specifieds`` in the user's ``inputs``.

        ``values`` maps functions of time, their derivatives, or names to an
        expression in ``time``, constants, the states of ``equations`` and
        other inputs, a number, a Python function, or a table. Derivatives are
        computed, except those of a Python function. A MissingIngredientError
        has all problems; functions without any value are one if ``complete``.
        """
        resolved = Resolution(time, equations)
        problems = resolved.read(
            {} if values is None else values, specifieds)
        if not complete:
            some = set(map(function_of, resolved.known))
            specifieds = [f for f in specifieds if function_of(f) in some]
        problems += resolved.find(specifieds)
        given, called, lacking = resolved.kinds()
        problems += _lacking(lacking if complete else [
            x for x in specifieds if x in lacking], resolved.known, time)
        raise_problems(problems, MissingIngredientError)
        return cls(given, called)

    @property
    def expressions(self):
        return {**self.given, **self.feedback}

    def values(self, t, x, count=None) -> list:
        """Numbers of the Python functions at the first ``count`` states."""
        result, x = [], read_only(x, count)
        for item, function in self.called.items():
            value = function(t, x)
            try:
                result.append(number(value))
            except ValueError as error:
                raise ValueError(
                    f"The input {label(item)} at t = {t:g}: {error}."
                ) from None
        return result


def function_of(item):
    """The function of time that an input is, or whose derivative it is."""
    return item.expr if isinstance(item, Derivative) else item


def functions_in(expr, time):
    rates = [x for x in expr.atoms(Derivative) if is_function_of(x, time)]
    rest = expr.xreplace(dict.fromkeys(rates, time))
    return rates + [x for x in rest.atoms(AppliedUndef)
                    if is_function_of(x, time) and not hasattr(x, '_imp_')]


def is_of_states(key, time):
    """Whether this is a function without, or not of, the time."""
    return isinstance(key, UndefinedFunction) or (
        isinstance(key, AppliedUndef) and key.args != (time,))


class Resolution:
    """Values of inputs, and of the inputs in these; None if there is none."""

    def __init__(self, time, equations):
        self.time, self.equations = time, equations
        self.states = () if equations is None else equations.states
        self.moving = set(map(function_of, self.states))
        self.known, self.every = {}, {}

    def read(self, values, specifieds):
        """Check the user's values; returns the problems."""
        if not isinstance(values, Mapping):
            raise TypeError(
                "`inputs` must be a mapping from specified functions to "
                "expressions, numbers, Python functions or tables, not "
                f"{type(values).__name__}.")
        inside = {f for value in values.values() if isinstance(value, Expr)
                  for f in functions_in(value, self.time)
                  if function_of(f) not in self.moving}
        names = Names(dict.fromkeys(
            y for x in (*specifieds, *sorted(inside, key=str))
            for y in (x, function_of(x))), 'specified function')
        problems = []
        for key, value in values.items():
            item = None
            try:
                item = names.objects[names.index(key)]
                self.known[item] = _checked(value, item, self.states)
            except (KeyError, TypeError, ValueError) as error:
                problems.append(f"`inputs`: {sentence(error.args[:1])}"
                                + OF_STATES*is_of_states(key, self.time))
                self.known[item] = UNUSABLE
        return problems

    def find(self, items):
        """Find the values of several inputs; returns the problems."""
        problems = []
        for item in items:
            try:
                self(item)
            except ValueError as error:
                problems.append(f"`inputs`: {sentence(error.args)}")
        return problems

    def kinds(self):
        """Expressions, what is called, and inputs without a value."""
        kinds = {}, {}, {}
        for item, value in self.every.items():
            kinds[2 if value is None else not isinstance(value, Expr)][
                item] = value
        return kinds

    def __call__(self, item, path=()):
        """The value of an input, which those in ``path`` contain."""
        if item in path:
            chain = ' -> '.join(map(label, (*path, item)))
            raise ValueError(
                f"{label(item)} depends on itself ({chain}). Give one of "
                "these without the others; an equation for an input belongs "
                "in the model")
        if item not in self.every:
            value = self.known.get(item)
            if value is None:
                value = self._derivative(item, path)
            self.every[item] = self._in_states(value, (*path, item))
        return self.every[item]

    def _in_states(self, value, path):
        """An expression without rates of states; finds its other inputs."""
        if not isinstance(value, Expr):
            return value
        value = value.xreplace({
            f: self._rate(f, path) for f in functions_in(value, self.time)
            if function_of(f) in self.moving and f not in self.states})
        for f in functions_in(value, self.time):
            if f not in self.states:
                self(f, path)
        return value

    def _rate(self, item, path):
        graph = self.equations.graph
        for i, [rate] in enumerate(graph.pattern('rates') if graph else ()):
            if item == self.states[i].diff(self.time):
                return graph.sympy('rates')[i]
        raise ValueError(
            f"{label(path[0])} needs {item}, an acceleration, which "
            "the equations are solved for. Use states; a force by an "
            "acceleration is an inertia, and a prescribed relation a "
            "constraint, so that they belong in the model")

    def _derivative(self, item, path):
        """The derivative of an input by expression, number or table."""
        if not isinstance(item, Derivative):
            return None
        (variable, count), = item.variable_count
        for lower in range(count - 1, -1, -1):
            base = Derivative(item.expr, (variable, lower)) if lower else (
                item.expr)
            value = self.known.get(base)
            if isinstance(value, Expr):
                return real_derivative(self(base, path),
                                       *[variable]*(count - lower))
            if isinstance(value, Table):
                return value.derivative(count - lower)
            if value is UNUSABLE:
                return value
        return None


def _checked(value, item, states):
    if isinstance(value, Expr):
        return value
    if callable(value):
        return _of_time_and_states(value, item, states)
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ValueError(
                f"a table is a pair (times, values), not {len(value)} items")
        return Table(*value)
    return Float(number(value), 17)


def _of_time_and_states(function, item, states):
    """A Python function as one of ``(t, x)``.

    Its parameters may be the names of states, and ``t``. A function that can
    be called with ``(t, x)`` is not changed, unless a state is its first.
    """
    places = {parameter_name(state): i for i, state in enumerate(states)}
    required, fault = required_parameters(function), call_fault(function)
    if not fault and places.keys().isdisjoint(required[:1]):
        return function
    strange = {*required} - {'t', *places}
    if required and not strange:
        return partial(by_name, function, [
            (name, places.get(name)) for name in required])
    fault, known = fault or f'{min(strange)} is no state', ', '.join(places)
    raise ValueError(
        f"the function for {label(item)} cannot be called with (t, x) "
        f"({fault}); give one that takes the time and the states, or whose "
        f"parameters are names of states ({known})")


def parameter_name(state):
    """The name of a state as a parameter of a function: ``q1``, ``q1_dot``."""
    if isinstance(state, Derivative):
        dots = 'd'*(state.derivative_count - 1) + 'dot'
        return f'{label(state.expr)}_{dots}'
    return label(state)


def required_parameters(function):
    """Names of the parameters without a default, () if they have no names."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    needed = [x for x in parameters if x.default is x.empty
              and x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)]
    has_names = all(x.kind is not x.POSITIONAL_ONLY for x in needed)
    return tuple(x.name for x in needed) if has_names else ()


def by_name(function, places, t, x):
    """Call a function with the states that it names; None stands for time."""
    return function(**{name: t if i is None else float(x[i])
                       for name, i in places})


def _lacking(items, found, time):
    by_function = {}
    for item in items:
        by_function.setdefault(function_of(item), []).append(item)
    for function, missing in by_function.items():
        missing.sort(key=lambda item: getattr(item, 'derivative_count', 0))
        names, text = label(function), ', '.join(map(str, missing))
        if function in found:
            yield (f"`inputs` gives {names} as a Python function, but the "
                   f"equations also need {text}. Add what is missing under "
                   f"its own key, or give {names} as a SymPy expression in "
                   f"{time}.")
        else:
            verb = 'has' if len(missing) == 1 else 'have'
            yield (f"The specified {text} {verb} no value. Pass "
                   f"`inputs={{{names}: ...}}`, with an expression in "
                   f"{time}, a number, a function of (t, x) or a table. If "
                   f"{names} is a coordinate or a speed, add it to the "
                   "model; for a speed that the method has replaced, write "
                   "the rate of its coordinate, for a multiplier its "
                   "expression in the states.")


def closed(equations, values, complete=True):
    """Equations with the feedback of their ``inputs``, and these.

    Expressions that contain more than time and constants of the model replace
    their functions in the equations, so that derivatives include them.
    """
    inputs = Inputs.match(equations.specifieds, values, equations.t,
                          equations, complete)
    known = {equations.t, *equations.constants}
    feedback = {item: expr for item, expr in inputs.given.items()
                if functions_in(expr, equations.t)
                or not expr.free_symbols <= known}
    if not feedback:
        return equations, inputs
    graph = with_given(equations.graph, equations.graph.outputs, feedback)
    given = {item: expr for item, expr in inputs.given.items()
             if item not in feedback}
    return replace(equations, graph=graph), Inputs(
        given, inputs.called, feedback)
