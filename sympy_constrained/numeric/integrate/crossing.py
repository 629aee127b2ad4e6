"""Events where expressions vanish, and jumps by expressions."""
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import NamedTuple

from sympy import Basic, Matrix, sympify

from ...errors import check_kind
from ..compiled import compile_equations
from ..names import by_label, label


@dataclass(frozen=True)
class Crossing:
    """An event for ``simulate`` where an expression vanishes.

    Explanation
    ===========

    Unlike for Python functions, its derivatives are known, so that
    :func:`~sympy_constrained.numeric.sensitivities` and
    :meth:`.Trajectory.gradient` take it into account.

    Examples
    ========

    A ball loses half of its speed at every impact:

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.numeric import Crossing, simulate
    >>> m, g = symbols('m g')
    >>> y = dynamicsymbols('y')
    >>> ball = UdwadiaKalabaMethod(m*y.diff()**2/2 - m*g*y, [y])
    >>> impact = Crossing(y, jump={y.diff(): -y.diff()/2}, direction=-1)
    >>> motion = simulate(ball, 2.9, [5, 0], constants={m: 1, g: 10},
    ...                   events=impact)
    >>> [round(event.t, 6) for event in motion.events]
    [1.0, 2.0, 2.5, 2.75, 2.875]

    Parameters
    ==========

    expression : expression
        In states, time, constants and inputs. New symbols, also those of
        ``jump``, become constants. A zero at the start is no event.
    jump : mapping, optional
        States after the event, by object or name, as expressions of those
        before. The others do not change; ``{}`` where accelerations jump.
    terminal : bool or int
        End the run, at the n-th zero for a number n.
    direction : float
        Positive: only zeros where the expression rises, negative: only where
        it falls.

    """

    expression: object
    jump: Mapping | None = None
    terminal: bool | int = False
    direction: float = 0.

    def __post_init__(self):
        check_kind('expression', self.expression, (int, float, Basic),
                   "Give an expression in states, time and constants.")
        check_kind('jump', self.jump, (Mapping, type(None)),
                   "Give {state: expression} for the states that change.")
        check_kind('terminal', self.terminal, Real,
                   "Give True, or the number of the zero that ends the run.")
        check_kind('direction', self.direction, Real,
                   "Give a positive or a negative number, or 0 for both.")


class Further(NamedTuple):
    """A change of equations: these symbols are constants of them, too."""

    symbols: tuple

    def __call__(self, equations):
        g, out = equations.graph.load()
        return replace(equations, graph=equations.graph.updated(
            g, out, further=[*map(g.input, self.symbols)]))


def compiled_with(events, model, constants, inputs, varied=()):
    """The compiled equations, which have the constants of the events, too.

    Those that are ``varied`` need no value: every run has one.
    """
    every = events if isinstance(events, Iterable) else [events]
    symbols = {symbol for event in every if isinstance(event, Crossing)
               for expr in (event.expression, *(event.jump or {}).values())
               for symbol in sympify(expr, strict=True).free_symbols}
    if symbols:
        model = compile_equations(model, None, inputs)
        symbols -= {*model.constants, model.equations.t}
    if symbols:
        known = {} if model.p is None else dict(zip(model.constants, model.p))
        if known or constants is not None:
            known.update((x, 1.) for x in symbols if label(x) in varied)
        model = model.variant(Further(tuple(sorted(symbols, key=str))))
        constants = by_label(constants or known or None)
        if isinstance(constants, Mapping):
            constants = {**{item: value for item, value in known.items() if
                            label(item) not in constants}, **constants}
    return compile_equations(model, constants, inputs)


class CrossingFunction:
    """A :class:`Crossing` as a function; ``after`` are states of a jump."""

    def __init__(self, crossing, compiled):
        self.terminal, self.direction = crossing.terminal, crossing.direction
        self.compiled, self.after = compiled, None
        self.expression = sympify(crossing.expression, strict=True)
        if crossing.jump is not None:
            after = list(compiled.states)
            for i, value in zip(compiled.names.indices(
                    crossing.jump, 'jump'), crossing.jump.values()):
                after[i] = sympify(value, strict=True)
            self.after = tuple(after)

    def _values(self, t, x, *expressions):
        function = self.compiled.kept(
            ('crossing', expressions),
            lambda: self.compiled.expression(Matrix(expressions)))
        return function(t, x, self.compiled.parameters())[:, 0]

    def __call__(self, t, x):
        return self._values(t, x, self.expression)[0]

    @property
    def jump(self):
        """The states after the event as a function, None without a jump."""
        return self.after and (lambda t, x: self._values(t, x, *self.after))
