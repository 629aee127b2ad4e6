"""Outputs of an expression graph as a list of machine operations.

The programs are written in C (:mod:`.c_code`) and in LLVM's language
(:mod:`.llvm_code`). What is in them are numbers, positions of inputs and
operations: no name of the user's reaches generated text.
"""
from __future__ import annotations

from dataclasses import dataclass
from math import nan

from sympy import (
    Abs, Add, And, Heaviside, Max, Min, Mul, Not, Number, NumberSymbol, Or,
    Piecewise, Pow, S, acos, acosh, asin, asinh, atan, atan2, atanh, ceiling,
    cos, cosh, erf, erfc, exp, floor, log, sign, sin, sinh, sympify, tan, tanh)
from sympy.core.relational import (
    Equality, GreaterThan, LessThan, StrictGreaterThan, StrictLessThan,
    Unequality)

from ...errors import UnsupportedFeatureError
from ...graph.builder import ADD, CONST, COS, INPUT, INV, MUL, ROOT, SIN
from ...graph.reading import SLOTS
from ...graph.writing import used_nodes

__all__ = ['Program', 'program']

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


@dataclass(frozen=True)
class Program:
    """Operations in an order in which each uses only earlier ones.

    Attributes
    ==========

    operations : list of tuple
        Name and operands. Operands are positions in the list, but for
        ``('const', float)``, ``('input', letter, position)`` and the first
        one of ``('call', function, ...)``. A value is a number, or a truth
        value after ``lt, le, gt, ge, eq, ne, and, or, not, true, false``.
    outputs : list of int
        Positions of the values, in order.
    checks : list of pair of int
        The result is good if ``|first| <= second`` holds for all of them.

    """

    operations: list
    outputs: list
    checks: list


def program(graph, names, arguments, checks=None):
    """Return the program of some outputs.

    Parameters
    ==========

    graph : Graph
    names : iterable of str
        Their entries are the outputs, row by row.
    arguments : dict
        SymPy input -> letter and position, as in ``('x', 3)``.
    checks : str, optional
        An output of two columns, see :class:`Program`.

    Raises
    ======

    UnsupportedFeatureError
        If a function has no meaning outside Python.

    """
    return Lowering(graph, arguments).of(tuple(names), checks)


class Lowering:
    """Translates nodes to operations."""

    def __init__(self, graph, arguments):
        self.graph = graph
        self.arguments = arguments
        self.operations = []
        self.known = {}

    def of(self, names, checks):
        """The program of outputs and checks."""
        refs = self.graph._flat(names)
        tests = self.graph._flat((checks,)) if checks else []
        memo = self.values(refs + tests)

        def of(ref):
            value = memo[abs(ref)]
            return value if ref >= 0 else self.op('neg', value)

        outputs = list(map(of, refs))
        pairs = list(zip(map(of, tests[::2]), map(of, tests[1::2])))
        return Program(self.operations, outputs, pairs)

    def op(self, *operation):
        """Position of an operation; an equal one is used again."""
        position = self.known.get(operation)
        if position is None:
            position = self.known[operation] = len(self.operations)
            self.operations.append(operation)
        return position

    def constant(self, value):
        try:
            return self.op('const', float(value))
        except OverflowError:
            raise UnsupportedFeatureError(
                "The equations contain a number beyond the range of floats. "
                "Choose other units, or use backend='numpy'.") from None

    def values(self, refs):
        """Position of the value of every node in use."""
        nodes = self.graph.nodes
        memo = {0: self.constant(0)}

        def of(ref):
            value = memo[abs(ref)]
            return value if ref >= 0 else self.op('neg', value)

        for k in used_nodes(nodes, refs)[0]:
            kind, x, y = nodes[k]
            if kind == CONST:
                memo[k] = self.constant(x)
            elif kind == INPUT:
                memo[k] = self.input(self.graph.inputs[x])
            elif kind == ADD:
                memo[k] = (self.op('add', memo[x], memo[y]) if y > 0 else
                           self.op('sub', memo[x], memo[-y]))
            elif kind == MUL:
                memo[k] = self.op('mul', memo[x], memo[y])
            elif kind == INV:
                memo[k] = self.op('div', self.constant(1), memo[x])
            elif kind == ROOT:
                memo[k] = self.root(of(x), y)
            elif kind in (SIN, COS):
                memo[k] = self.op('call', 'sin' if kind == SIN else 'cos',
                                  memo[x])
            else:
                memo[k] = self.expression(
                    self.graph.templates[x],
                    dict(zip(SLOTS, map(of, y))))
        return memo

    def input(self, item):
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

    def expression(self, e, slots):
        """Position of the value of a template."""
        def of(x):
            return self.expression(x, slots)

        if e in slots:
            return slots[e]
        if isinstance(e, (Number, NumberSymbol)):
            return self.constant(e)
        if isinstance(e, (Add, Mul)):
            name = 'add' if isinstance(e, Add) else 'mul'
            total = of(e.args[0])
            for x in e.args[1:]:
                total = self.op(name, total, of(x))
            return total
        if isinstance(e, Pow):
            if e.exp == S.Half:
                return self.op('sqrt', of(e.base))
            return self.op('call', 'pow', of(e.base), of(e.exp))
        if isinstance(e, (Max, Min)):
            return self.extremum(e, of)
        if isinstance(e, Piecewise):
            total = self.constant(nan)
            for value, condition in reversed(e.args):
                total = self.op('select', self.condition(condition, of),
                                of(value), total)
            return total
        if isinstance(e, (sign, Heaviside)):
            return self.step(e, of)
        name = FUNCTIONS.get(e.func)
        if name is None:
            raise UnsupportedFeatureError(
                f"The function `{e.func.__name__}` cannot be compiled. Use "
                "backend='numpy', or write it with elementary functions.",
                functions=(e.func.__name__,))
        return self.op('call', name, *map(of, e.args))

    def extremum(self, e, of):
        """``Max`` or ``Min``; nan if one of the arguments is."""
        kind = 'gt' if isinstance(e, Max) else 'lt'
        best = of(e.args[0])
        for x in map(of, e.args[1:]):
            stays = self.op('or', self.op(kind, best, x),
                            self.op('ne', best, best))
            best = self.op('select', stays, best, x)
        return best

    def step(self, e, of):
        """``sign`` or ``Heaviside``; nan of nan."""
        x, zero = of(e.args[0]), self.constant(0)
        if isinstance(e, sign):
            low, middle = self.constant(-1), x
        else:
            low, middle = zero, self.op('add', x, of(
                e.args[1] if len(e.args) > 1 else sympify(1)/2))
        above = self.op('select', self.op('gt', x, zero), self.constant(1),
                        middle)
        return self.op('select', self.op('lt', x, zero), low, above)

    def condition(self, e, of):
        """Position of a truth value."""
        if e in (S.true, S.false):
            return self.op(str(e).lower())
        if isinstance(e, Not):
            return self.op('not', self.condition(e.args[0], of))
        if isinstance(e, (And, Or)):
            name = 'and' if isinstance(e, And) else 'or'
            total = self.condition(e.args[0], of)
            for x in e.args[1:]:
                total = self.op(name, total, self.condition(x, of))
            return total
        name = COMPARISONS.get(type(e))
        if name is None:
            raise UnsupportedFeatureError(
                f"The condition `{e}` cannot be compiled. Use "
                "backend='numpy'.")
        return self.op(name, *map(of, e.args))
