"""Outputs of an expression graph as a list of machine operations.

Programs are written in LLVM's language (:mod:`.llvm_code`) and in JavaScript
(:mod:`.js_code`). They contain numbers, positions of inputs and operations,
so the user's names never reach generated text.
"""
from dataclasses import dataclass
from functools import reduce
from math import nan

from sympy import (
    Abs, Add, And, Heaviside, Max, Min, Mul, Not, Number, NumberSymbol, Or,
    Piecewise, Pow, S, acos, acosh, asin, asinh, atan, atan2, atanh, ceiling,
    cos, cosh, erf, erfc, exp, floor, log, sign, sin, sinh, tan, tanh)
from sympy.core.relational import (
    Equality, GreaterThan, LessThan, StrictGreaterThan, StrictLessThan,
    Unequality)

from ...errors import UnsupportedFeatureError
from ...graph.nodes import ADD, CONST, COS, INPUT, INV, MUL, ROOT, SIN
from ...graph.reading import SLOTS
from ...graph.writing import used_nodes


# SymPy function -> function of the C library with as many arguments
FUNCTIONS = {
    sin: 'sin', cos: 'cos', tan: 'tan', exp: 'exp', log: 'log',
    asin: 'asin', acos: 'acos', atan: 'atan', atan2: 'atan2', sinh: 'sinh',
    cosh: 'cosh', tanh: 'tanh', asinh: 'asinh', acosh: 'acosh',
    atanh: 'atanh', Abs: 'fabs', floor: 'floor', ceiling: 'ceil',
    erf: 'erf', erfc: 'erfc'}
COMPARISONS = {
    StrictLessThan: 'lt', LessThan: 'le', StrictGreaterThan: 'gt',
    GreaterThan: 'ge', Equality: 'eq', Unequality: 'ne'}
CALLED = {SIN: 'sin', COS: 'cos'}


@dataclass(frozen=True)
class Program:
    """Operations in an order in which each uses only earlier ones.

    An operation is a name and operands: positions of others, but for
    ``('const', float)``, ``('input', letter, position)`` and the first operand
    of ``('call', function, ...)``. Its value is a number, or a truth value
    after ``lt, le, gt, ge, eq, ne, and, or, not, true, false``. ``('solve',
    profile, ...)`` is an array, of which ``('entry', place, k)`` is a number.
    The result, at
    the positions ``outputs``, is good if ``|first| <= second`` for all pairs
    ``checks``.
    """

    operations: list
    outputs: list
    checks: list


def program(graph, names, arguments, checks=None, stages=()):
    """The program of the outputs ``names``, row by row.

    ``arguments`` maps SymPy inputs to letter and position, as in ``('x', 3)``;
    ``checks`` is an output of two columns; ``stages`` are solved in turn.
    """
    lowering = Lowering(graph, arguments)
    for k, stage in enumerate(stages):
        refs = graph._flat((str(k),))
        lowering.solve(stage, list(map(lowering.nodes(refs), refs)))
    refs = graph._flat(tuple(names))
    tests = graph._flat((checks,)) if checks else []
    of = lowering.nodes(refs + tests)
    outputs = list(map(of, refs))
    pairs = list(zip(map(of, tests[::2]), map(of, tests[1::2])))
    return Program(lowering.operations, outputs, pairs)


class Lowering:
    """Translates nodes to operations."""

    def __init__(self, graph, arguments):
        self.graph = graph
        self.arguments = arguments
        self.operations = []
        self.positions = {}
        self.solved = {}                # symbol -> position

    def solve(self, stage, operands):
        profile = stage.profile
        place = self.op('solve', profile, *operands)
        self.solved |= {
            symbol: self.op('entry', place, profile.count + k)
            for k, symbol in enumerate(stage.symbols)}

    def op(self, *operation):
        """Position of an operation; equal operations are done once."""
        position = self.positions.get(operation)
        if position is None:
            position = self.positions[operation] = len(self.operations)
            self.operations.append(operation)
        return position

    def constant(self, value):
        try:
            return self.op('const', float(value))
        except OverflowError:
            raise UnsupportedFeatureError(
                "The equations contain a number beyond the range of floats. "
                "Choose other units, or use backend='numpy'.") from None

    def nodes(self, refs):
        """Translate all nodes in use; returns reference -> position."""
        nodes = self.graph.nodes
        positions = {0: self.constant(0)}

        def of(ref):
            position = positions[abs(ref)]
            return position if ref >= 0 else self.op('neg', position)

        for k in used_nodes(nodes, refs)[0]:
            positions[k] = self.node(*nodes[k], of)
        return of

    def node(self, kind, x, y, of):
        if kind == CONST:
            return self.constant(x)
        if kind == INPUT:
            return self.input(self.graph.inputs[x])
        if kind == ADD:
            return (self.op('add', of(x), of(y)) if y > 0 else
                    self.op('sub', of(x), of(-y)))
        if kind == MUL:
            return self.op('mul', of(x), of(y))
        if kind == INV:
            return self.op('div', self.constant(1), of(x))
        if kind == ROOT:
            return self.root(of(x), y)
        if kind in CALLED:
            return self.op('call', CALLED[kind], of(x))
        return self.expression(self.graph.templates[x],
                               dict(zip(SLOTS, map(of, y))))

    def input(self, item):
        if item in self.solved:
            return self.solved[item]
        if item not in self.arguments:          # in the inputs of the user
            raise UnsupportedFeatureError(
                f"`{item}` has no numeric meaning outside Python. Use "
                "backend='numpy', or write it with elementary functions.",
                functions=(str(item),))
        return self.op('input', *self.arguments[item])

    def root(self, value, degree):
        """The principal root; nan of a negative number."""
        if degree == 2:
            return self.op('sqrt', value)
        return self.op('call', 'pow', value, self.constant(1/degree))

    # -- SymPy expressions, whose slots have positions ----------------------

    def expression(self, e, slots):
        if e in slots:
            return slots[e]
        if isinstance(e, (Number, NumberSymbol)):
            return self.constant(e)

        def of(x):
            return self.expression(x, slots)

        if e.func in self.SPECIAL:
            return self.SPECIAL[e.func](self, e, of)
        name = FUNCTIONS.get(e.func)
        if name is None:
            raise UnsupportedFeatureError(
                f"The function `{e.func.__name__}` cannot be compiled. Use "
                "backend='numpy', or write it with elementary functions.",
                functions=(e.func.__name__,))
        return self.op('call', name, *map(of, e.args))

    def chain(self, name, args, of):
        """An operation of two values applied to several, in order."""
        return reduce(lambda total, x: self.op(name, total, x), map(of, args))

    def power(self, e, of):
        if e.exp == S.Half:
            return self.op('sqrt', of(e.base))
        return self.op('call', 'pow', of(e.base), of(e.exp))

    def extremum(self, e, of):
        """``Max`` or ``Min``; nan if one of the arguments is."""
        kind = 'gt' if isinstance(e, Max) else 'lt'
        best = of(e.args[0])
        for x in map(of, e.args[1:]):
            stays = self.op('or', self.op(kind, best, x),
                            self.op('ne', best, best))
            best = self.op('select', stays, best, x)
        return best

    def piecewise(self, e, of):
        total = self.constant(nan)
        for value, condition in reversed(e.args):
            total = self.op('select', self.condition(condition, of),
                            of(value), total)
        return total

    def step(self, e, of):
        """``sign`` or ``Heaviside``; nan of nan."""
        x, zero = of(e.args[0]), self.constant(0)
        if isinstance(e, sign):
            low, middle = self.constant(-1), x
        else:
            low, middle = zero, self.op('add', x, of(e.args[1]))
        above = self.op('select', self.op('gt', x, zero), self.constant(1),
                        middle)
        return self.op('select', self.op('lt', x, zero), low, above)

    SPECIAL = {
        Add: lambda self, e, of: self.chain('add', e.args, of),
        Mul: lambda self, e, of: self.chain('mul', e.args, of),
        Pow: power, Max: extremum, Min: extremum, Piecewise: piecewise,
        sign: step, Heaviside: step}

    def condition(self, e, of):
        if e in (S.true, S.false):
            return self.op(str(e).lower())
        if isinstance(e, Not):
            return self.op('not', self.condition(e.args[0], of))
        if isinstance(e, (And, Or)):
            name = 'and' if isinstance(e, And) else 'or'
            return self.chain(name, e.args,
                              lambda x: self.condition(x, of))
        name = COMPARISONS.get(type(e))
        if name is None:
            raise UnsupportedFeatureError(
                f"The condition `{e}` cannot be compiled. Use "
                "backend='numpy'.")
        return self.op(name, *map(of, e.args))
