"""Outputs of the equations, and user expressions, at numbers.

From ``(t, x, p)`` to the positional arguments of generated code: shapes,
constants and their defaults, inputs, batches.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from mpmath import mp
from sympy import Matrix, MatrixBase

from ..errors import MissingIngredientError, NotFiniteError
from ..graph import Graph
from ..precision import precise
from .codegen.native import (
    NativeFunction, arguments_of, chosen, compiled_outputs, with_given)
from .inputs import closed
from .names import Names, array, by_label, read_only

__all__ = ['Evaluator', 'finite_time', 'times_of']


def finite_time(t):
    """Time or times as an array, checked also for equations without time."""
    times = array(t, 't')
    if not np.isfinite(times).all():
        raise ValueError(f"`t` is not finite: it is {t!r}. Give finite "
                         "numbers.")
    return times


def times_of(t, x):
    """A time for each state of a batch."""
    t = finite_time(t)
    if t.shape not in ((), (1,), x.shape[:1]):
        raise ValueError(
            f"`t` has shape {t.shape} for {len(x)} states. Give one time for "
            "all, or one for each.")
    return np.broadcast_to(t, len(x))


class Evaluator:
    """Values of graph outputs and of expressions as functions of (t, x, p).

    Functions are compiled at their first call and cached by group of outputs;
    pickles do not contain them. ``states`` and ``constants`` are
    ``Names``, ``p`` the default values of the constants or None, ``inputs``
    the ``Inputs``, and ``model`` the equations without their feedback.
    """

    def __init__(self, equations, constants, inputs, backend):
        self.model = equations
        self.backend = chosen(backend)
        self.states = Names(equations.states, 'state',
                            equations.when_incomplete)
        self._close(inputs)
        if constants is None and not len(self.constants):
            constants = {}
        self.p = None if constants is None else read_only(
            self.constants.vector(constants, 'constants'))
        self._functions = {}

    def __getstate__(self):
        return {**self.__dict__, '_functions': {}}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self.p is not None:          # pickles lose the flag
            self.p = read_only(self.p)

    def _close(self, inputs):
        """Take the equations of the model with these inputs."""
        self.equations, self.inputs = closed(self.model, inputs)
        self.constants = Names(self.equations.constants, 'constant',
                               unused=self.equations.symbols)

    def _copy(self, **changes) -> Evaluator:
        result = object.__new__(Evaluator)
        result.__dict__.update(self.__dict__, **changes)
        return result

    def with_values(self, constants=None, inputs=None) -> Evaluator:
        """A copy with other constants (some or all) or inputs (all)."""
        result, p = self._copy(), self.p
        if inputs is not None:
            result._close(inputs)
            if not result.inputs.same_code(self.inputs):
                result._functions = {}
            if p is not None:
                known = dict(zip(self.constants, p))
                p = [known.get(x) for x in result.constants]
                result.p = None if None in p else read_only(np.array(p))
        if constants is not None:
            result.p = read_only(result.constants.vector(
                constants, 'constants', p))
        return result

    def with_backend(self, backend) -> Evaluator:
        """A copy for another backend."""
        return self._copy(backend=chosen(backend), _functions={})

    def changed(self, change) -> Evaluator:
        """A copy for equations with more constants, without their values."""
        equations = change(self.equations)
        return self._copy(
            model=change(self.model), equations=equations, p=None,
            _functions={}, constants=Names(
                equations.constants, 'constant', unused=equations.symbols))

    def parameters(self, p=None, states=None) -> np.ndarray:
        """The constants as an array ``(np,)``.

        For a number of ``states``, ``(states, np)`` is allowed, too.
        """
        if p is None:
            if self.p is None:
                raise MissingIngredientError(
                    "No values for the constants "
                    f"{', '.join(self.constants.labels)}. Pass `constants` "
                    "at compilation, or `p` with every call.")
            return self.p
        p = by_label(p)
        if isinstance(p, Mapping):
            return self.constants.vector(p, 'p', self.p)
        p = array(p, 'p')
        size = len(self.constants)
        if p.shape != (size,) and (
                states is None or p.shape != (states, size)):
            raise ValueError(
                f"`p` has shape {p.shape} for {size} constants "
                f"({', '.join(self.constants.labels)}). Give one number for "
                "each.")
        return p

    def outputs(self, names, t, x, p=None) -> dict:
        """Name -> array ``(rows, columns)``, or ``(N, rows, columns)``."""
        names = tuple(names)
        function = self._functions.get(names)
        if function is None:
            function = self._made(self.equations.graph, names)
            self._functions[names] = function
        return self._call(function, t, x, p)

    def precisely(self, name, t, x, p=None) -> np.ndarray:
        """An output of the equations at one state, rounded once at the end.

        Computed in floats if functions of the user require them.
        """
        x, p = array(x, 'x'), self.parameters(p)
        values = {self.equations.t: float(t),
                  **dict(zip(self.states, x.tolist())),
                  **dict(zip(self.constants, p.tolist()))}
        try:
            called = self.inputs.values(t, x) if self.inputs.called else ()
            values.update(zip(self.inputs.called, called))
            graph = with_given(self.equations.graph, (name,),
                               self.inputs.given)
            with precise():
                rows = graph.evaluate(values, (name,), mp)[name]
                return np.array([[float(x) for x in row] for row in rows])
        except (MissingIngredientError, TypeError):
            return self.outputs((name,), t, x, p)[name]

    def expression(self, expr) -> Callable:
        """A SymPy expression or matrix as a function of ``(t, x, p)``."""
        if isinstance(expr, str):
            raise TypeError(
                f"`expr` is the text {expr!r}, which is not evaluated. Give "
                "a SymPy expression or matrix.")
        if np.iterable(expr) and not isinstance(expr, MatrixBase):
            raise TypeError(
                f"`expr` is a {type(expr).__name__}; it must be one "
                "expression or one matrix. Give `Matrix(expr)` for several.")
        is_matrix = isinstance(expr, MatrixBase)
        matrix = Matrix(expr) if is_matrix else Matrix([expr])
        value = self.output(
            Graph.of({'expr': matrix}, self.equations.t), 'expr')
        if is_matrix:
            return value
        return lambda t, x, p=None: value(t, x, p)[..., 0, 0]

    def output(self, graph, name) -> Callable:
        """An output of another graph as a function of ``(t, x, p)``."""
        known = {*self._arguments(), *self.inputs.expressions}
        strange = [str(item) for item in graph.symbols((name,))
                   if item not in known]
        if strange:
            raise ValueError(
                f"`{name}` contains {', '.join(sorted(strange))}, which is "
                "no state, constant or input of the equations. Use these.")
        function = self._made(graph, (name,))

        def value(t, x, p=None):
            return self._call(function, t, x, p)[name]

        return value

    def group(self, graph, names, more=()) -> Callable:
        """Outputs of another graph as one function of ``(t, x, p)``.

        It returns name -> array. The values of the symbols ``more`` are a
        fourth argument.
        """
        function = self._made(graph, tuple(names), more)

        def value(t, x, p=None, values=()):
            return self._call(function, t, x, p, values)

        return value

    def native(self, graph, name, checks=None, more=()):
        """An output as a :class:`.NativeFunction`, or an error.

        Values of the symbols ``more`` follow those of the constants.
        """
        return NativeFunction(graph, (name,), self._arguments(more),
                              self.inputs.given, self.backend, checks)

    def _made(self, graph, names, more=()):
        """The function of some outputs."""
        graph = with_given(graph, names, self.inputs.feedback)
        function = compiled_outputs(self.backend, graph, names,
                                    self._arguments(more), self.inputs.given)
        function.reads_called = not self.inputs.called.keys().isdisjoint(
            graph.symbols(names))
        return function

    def _arguments(self, more=()):
        """SymPy object -> its symbol in generated code, in order."""
        return arguments_of(self.equations.t, self.states,
                            (*self.constants, *more), self.inputs.called)

    def _call(self, function, t, x, p, more=()):
        try:
            return self._called(function, t, x, p, more)
        except NotFiniteError as error:
            for name, values in (('x', x),
                                 ('p', self.parameters(p, len(x)))):
                if not np.isfinite(values).all():
                    raise ValueError(
                        f"`{name}` is not finite: it is {values!r}. Give "
                        "finite numbers.") from None
            reason = self.equations.when_singular
            if not reason:
                raise
            raise NotFiniteError(f'{error} {reason}', **vars(error)) from error

    def _called(self, function, t, x, p, more):
        x, t = array(x, 'x'), finite_time(t)
        size = len(self.states)
        if x.shape == (size,):
            if t.ndim:
                raise ValueError(
                    f"`t` has shape {t.shape} for one state. Give one time, "
                    f"or a batch of states with the shape (N, {size}).")
            t = float(t)
            inputs = self.inputs.values(t, x) if (
                function.reads_called) else [0.]*len(self.inputs.called)
            return function.scalar(t, *x.tolist(),
                                   *self.parameters(p).tolist(), *more,
                                   *inputs)
        if x.ndim != 2 or x.shape[1] != size:
            exchanged = '' if x.ndim else (
                " If you exchanged time and states: the order is (t, x, p), "
                "as for `solve_ivp`.")
            raise ValueError(
                f"`x` has shape {x.shape}; it must be ({size},) for the "
                f"states {', '.join(self.states.labels)}, or (N, {size}) "
                f"for a batch.{exchanged}")
        t, inputs = times_of(t, x), [0.]*len(self.inputs.called)
        if function.reads_called:
            rows = [self.inputs.values(*row) for row in zip(t.tolist(), x)]
            inputs = np.reshape(rows, (len(x), len(inputs))).T
        return function.batch(
            len(x), t, *x.T, *self.parameters(p, len(x)).T, *more, *inputs)
