"""Outputs of the equations, and user expressions, at numbers.

From ``(t, x, p)`` to the positional arguments of generated code: shapes,
constants and their defaults, inputs, batches.
"""
from collections.abc import Callable, Mapping
from copy import copy

import numpy as np
from mpmath import mp
from sympy import Matrix, MatrixBase

from ..errors import (
    MissingIngredientError, NotFiniteError, SingularEquationsError)
from ..graph import Graph
from ..precision import precise
from .codegen.native import (
    NativeFunction, arguments_of, chosen, compiled_outputs, with_given)
from .inputs import closed
from .names import Names, array, by_label, no_text, read_only
from .tolerances import HUGE, NOISE, ROUNDINGS


def finite_time(t):
    """Time or times as an array, checked also for equations without time."""
    if isinstance(t, float) and t - t == 0:     # usual, and quick
        return np.float64(t)
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

    Functions are compiled at their first call and kept, also for other
    constants; pickles do not contain them. ``model`` are the equations without
    their feedback, ``names`` and ``constant_names`` :class:`.Names`, ``p`` the
    default values of the constants or None.
    """

    def __init__(self, model, constants, inputs, backend):
        self.model, self.backend = model, chosen(backend)
        self.names = Names(model.states, 'state', model.when_incomplete)
        self.states = model.states
        self._take(*closed(model, inputs))
        if constants is None and not self.constants:
            constants = {}
        self.p = None if constants is None else read_only(
            self.constant_names.vector(constants, 'constants'))
        self._kept = {}                 # for all constants
        self._decided = {}              # for these

    def _take(self, equations, inputs):
        """The equations with their feedback, and their inputs."""
        self.equations, self.inputs = equations, inputs
        self.constants = equations.constants
        self.specifieds = equations.specifieds
        self.constant_names = Names(equations.constants, 'constant',
                                    unused=equations.symbols)

    def __getstate__(self):
        return {**self.__dict__, '_kept': {}, '_decided': {}}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self.p is not None:          # pickles lose the flag
            self.p = read_only(self.p)

    def with_values(self, constants=None, inputs=None, backend='auto'):
        """The same equations with other constants, inputs or backend.

        Constants that are not mentioned keep their values; inputs are
        replaced as a whole.
        """
        backend = self.backend if backend == 'auto' else chosen(backend)
        is_same = inputs is None and backend == self.backend
        if constants is None and is_same:
            return self
        result, p = copy(self), self.p
        result.backend = backend
        if is_same:                     # also the code
            result._kept = self._kept
        if inputs is not None:
            result._take(*closed(self.model, inputs))
            known = {} if p is None else dict(zip(self.constants, p))
            p = [known.get(x) for x in result.constants]
            result.p = None if None in p else read_only(np.array(p))
        if constants is not None:
            result.p = read_only(result.constant_names.vector(
                constants, 'constants', p))
        return result

    def at_constants(self, p):
        """The same equations with constants in order, which are not checked.
        """
        result = object.__new__(type(self))     # quicker than a copy
        result.__dict__ = {**self.__dict__, 'p': p, '_decided': {}}
        return result

    def variant(self, change):
        """Changed equations with the same inputs, kept for the next call.

        ``change`` maps EquationsOfMotion to others with the same states. The
        constants have no values.
        """
        def made():
            result = copy(self)
            result.model, result.p = change(self.model), None
            result._take(change(self.equations), self.inputs)
            return result

        return self.kept(change, made)

    def kept(self, key, make):
        """The result of ``make()``, kept also for other constants."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def parameters(self, p=None, states=None) -> np.ndarray:
        """The constants as an array ``(np,)``.

        For a number of ``states``, ``(states, np)`` is allowed, too.
        """
        if p is None:
            if self.p is None:
                raise MissingIngredientError(
                    "No values for the constants "
                    f"{', '.join(self.constant_names.labels)}. Pass "
                    "`constants`, or `p` to a compiled function.")
            return self.p
        p = by_label(p)
        if isinstance(p, Mapping):
            return self.constant_names.vector(p, 'p', self.p)
        p = array(p, 'p')
        size = len(self.constants)
        if p.shape != (size,) and (
                states is None or p.shape != (states, size)):
            raise ValueError(
                f"`p` has shape {p.shape} for {size} constants "
                f"({', '.join(self.constant_names.labels)}). Give one number "
                "for each.")
        return p

    def evaluate(self, names, t, x, p=None) -> dict:
        """Outputs of ``equations.graph``: name -> array ``(rows, columns)``.
        """
        names = tuple(names)
        function = self.kept(names, lambda: self._made(
            self.equations.graph, names))
        return self._call(function, t, x, p)

    def first_block(self, names, t, x, p=None) -> dict:
        """``W`` or ``r`` as by :meth:`evaluate`, of the first diagonal block.

        The blocks are equal. So this one has the rank and the sign that are
        watched: the determinant of an even number of blocks has no sign.
        """
        if self.equations.copies == 1:
            return self.evaluate(names, t, x, p)
        function = self.kept(('first block', names), lambda: self._made(
            self.equations.first_block, names))
        return self._call(function, t, x, p)

    def precisely(self, name, t, x, p=None) -> np.ndarray:
        """The same at one state, rounded once, shape ``(rows, columns)``.

        Computed in floats if functions of the user require them.
        """
        x, p = array(x, 'x'), self.parameters(p)
        values = {self.equations.t: float(t),
                  **dict(zip(self.states, x.tolist())),
                  **dict(zip(self.constants, p.tolist()))}
        try:
            called = self.inputs.values(t, x) if self.inputs.called else ()
            values.update(zip(self.inputs.called, called))
            graph = with_given(self.equations.first_block, (name,),
                               self.inputs.given)
            with precise():
                rows = graph.evaluate(values, (name,), mp)[name]
                return np.array([[float(x) for x in row] for row in rows])
        except (MissingIngredientError, TypeError):
            return self.first_block((name,), t, x, p)[name]

    def expression(self, expr) -> Callable:
        """A SymPy expression or matrix as a function of ``(t, x, p)``.

        It may contain states, constants, specified functions and time.
        """
        if np.iterable(no_text(expr)) and not isinstance(expr, MatrixBase):
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
        """An output of a graph of the same model, such as
        ``method.closed_form``, as a function of ``(t, x, p)``.
        """
        known = {*self._arguments(), *self.inputs.expressions}
        strange = {item for item in graph.symbols((name,))
                   if item not in known}
        if strange:
            raise ValueError(
                f"`{name}` contains {', '.join(sorted(map(str, strange)))}. "
                "Use states, constants and inputs of the equations"
                + ("; in the place of accelerations and multipliers, insert "
                   "`method.acceleration` and `method.multipliers`."
                   if strange.intersection(self.equations.unknowns) else "."))
        values = self.group(graph, (name,))
        return lambda t, x, p=None: values(t, x, p)[name]

    def group(self, graph, names, more=()) -> Callable:
        """Outputs of a graph of the same model as a function of
        ``(t, x, p, values)``, with the values of the symbols ``more``.
        """
        function = self._made(graph, tuple(names), more)
        return lambda t, x, p=None, values=(): self._call(
            function, t, x, p, values)

    def native(self, graph, name, checks=None, more=(), stages=()):
        """An output as a :class:`.NativeFunction`, or an error.

        Values of the symbols ``more`` follow those of the constants.
        """
        return NativeFunction(graph, (name,), self._arguments(more),
                              self.inputs.given, checks, stages=stages)

    def _made(self, graph, names, more=()):
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
        size, inputs = len(self.states), [0.]*len(self.inputs.called)
        if x.shape == (size,):
            if t.ndim:
                raise ValueError(
                    f"`t` has shape {t.shape} for one state. Give one time, "
                    f"or a batch of states with the shape (N, {size}).")
            t = float(t)
            if function.reads_called:
                inputs = self.inputs.values(t, x)
            return function.scalar(
                t, *x.tolist(), *self.parameters(p).tolist(), *more, *inputs)
        if x.ndim != 2 or x.shape[1] != size:
            exchanged = '' if x.ndim else (
                " If you exchanged time and states: the order is (t, x, p), "
                "as for `solve_ivp`.")
            raise ValueError(
                f"`x` has shape {x.shape}; it must be ({size},) for the "
                f"states {', '.join(self.names.labels)}, or (N, {size}) "
                f"for a batch.{exchanged}")
        t = times_of(t, x)
        if function.reads_called:
            rows = [self.inputs.values(*row) for row in zip(t.tolist(), x)]
            inputs = np.reshape(rows, (len(x), len(inputs))).T
        return function.batch(
            len(x), t, *x.T, *self.parameters(p, len(x)).T, *more, *inputs)


def is_huge(values):
    """Whether values are so large that they are checked for rounding."""
    flat = values.ravel()               # quicker than `vdot`
    return flat.dot(flat) > HUGE**2


def check_rounding(values, x, names, function, more=''):
    """Raise if values are quotients of rounding errors of the states.

    These differ at both sides of a state; values that jump, at one.
    """
    steps = ROUNDINGS*np.cos(2.4*np.arange(x.shape[-1]))
    size = np.maximum(np.abs(values).max(axis=-1, keepdims=True),
                      HUGE*max(1., np.abs(x).max(initial=0.)))
    bad = np.all([np.abs(values - function(x*(1 + sign*steps))) > NOISE*size
                  for sign in (1, -1)], axis=0)
    if bad.any():
        names = ', '.join(np.array(names)[np.atleast_2d(bad).any(axis=0)])
        raise SingularEquationsError(
            f"{names} cannot be computed at this state: a divisor is zero up "
            "to rounding. Start from a nearby state, or choose other "
            f"coordinates or speeds. {more}".rstrip(), condition=0.)
