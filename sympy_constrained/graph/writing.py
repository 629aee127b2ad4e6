"""The graph back into SymPy expressions, nested or as assignments.

SymPy evaluates nested expressions up to a readable size. Larger ones are built
unevaluated and bypass SymPy's cache, which would compare trees. Never walk
them: a thousand operations may be a tree of millions.
"""
from collections import Counter
from itertools import compress

from sympy import (
    Add, Derivative, Dummy, Float, Integer, Mul, Pow, Rational, S, cos, sin)
from sympy.core.function import Application
from sympy.core.relational import Relational

from .calculus import operands
from .nodes import ADD, CALL, CONST, COS, INPUT, INV, MUL, ROOT, SIN
from .reading import SLOTS

READABLE = 300                  # operations


def used_nodes(nodes, refs):
    """Indices of the nodes in ``refs``, in node order, and use counts."""
    uses = [0]*(max(map(abs, refs), default=0) + 1)
    for ref in refs:
        uses[abs(ref)] += 1
    for k in range(len(uses) - 1, 1, -1):
        if uses[k]:
            kind, x, y = nodes[k]
            if kind == ADD or kind == MUL:      # most nodes, so first
                uses[x] += 1
                uses[y if y > 0 else -y] += 1
            elif kind != CONST and kind != INPUT:
                for j in operands(nodes[k]):
                    uses[j] += 1
    return [*compress(range(len(uses)), uses)], uses


def operation_count(nodes, order):
    """Number of operations of some nodes; signs are free."""
    return sum([nodes[k][0] > INPUT for k in order])    # the first is CONST


def number(node):
    """SymPy number of a constant node."""
    _, value, text = node
    if text is not None:
        return text if isinstance(text, Float) else Float(text)
    return Rational(value.numerator, value.denominator)


def filled(template, values, is_evaluated):
    slots = dict(zip(SLOTS, values))
    if isinstance(template, Derivative):
        return partial_derivative(template, slots)
    return template.xreplace(slots) if is_evaluated else put(template, slots)


def partial_derivative(template, slots):
    """The derivative of a user's function, as SymPy writes it: by one of its
    arguments if only this one depends on it, else as a ``Subs``.
    """
    arguments = [slots[x] for x in template.expr.args]
    if all(slots[x]._diff_wrt and sum(
            y.has(slots[x]) for y in arguments) == 1
            for x in template.variables):
        return template.xreplace(slots)
    return template.subs(slots, simultaneous=True)


def put(e, slots):
    """``e.xreplace(slots)`` without the evaluation of functions by SymPy."""
    if not e.args:
        return slots.get(e, e)
    how = {'evaluate': False} if isinstance(
        e, (Application, Relational, Pow)) else {}
    return e.func(*(put(x, slots) for x in e.args), **how)


def terms(nodes, k, absorbed):
    """Operands of an n-ary sum or product, through the absorbed parts."""
    _, x, y = nodes[k]
    operands, stack = [], [y, x]
    while stack:
        ref = stack.pop()
        if abs(ref) in absorbed:
            _, x, y = nodes[abs(ref)]
            stack.extend((y, x) if ref > 0 else (-y, -x))
        else:
            operands.append(ref)
    return operands


def plain_power(base, exponent):
    """An unevaluated power, without a look-up in SymPy's cache."""
    make = getattr(Pow.__new__, '__wrapped__', Pow.__new__)
    return make(Pow, base, exponent, evaluate=False)


def plain(cls, repeated):
    """Function that makes unevaluated sums or products.

    No operand occurs twice, because SymPy's ``cse`` would lose one:
    ``repeated`` makes its multiple or its power.
    """
    def made(*operands):
        return cls._from_args([
            x if count == 1 else repeated(x, Integer(count))
            for x, count in Counter(operands).items()], True)

    return made


EVALUATED = Add, Mul, Pow
UNEVALUATED = (plain(Add, lambda x, count: Mul._from_args([count, x], True)),
               plain(Mul, plain_power), plain_power)


def write(graph, refs, named):
    """Expressions of the references; ``named`` maps nodes to symbols."""
    nodes = graph.nodes
    order, uses = used_nodes(nodes, refs)
    is_evaluated = bool(named) or len(order) <= READABLE
    add, mul, power = EVALUATED if is_evaluated else UNEVALUATED
    absorbed = {                        # by the sum or product that uses it
        j for k in order if nodes[k][0] in (ADD, MUL)
        for j in map(abs, nodes[k][1:])
        if nodes[j][0] == nodes[k][0] and uses[j] == 1 and j not in named}
    memo, pending = {0: S.Zero}, []

    def of(ref):
        value = memo[abs(ref)]
        return value if ref >= 0 else mul(S.NegativeOne, value)

    write_kind = {
        CONST: lambda k, x, y: number(nodes[k]),
        INPUT: lambda k, x, y: graph.inputs[x],
        ADD: lambda k, x, y: add(*map(of, terms(nodes, k, absorbed))),
        MUL: lambda k, x, y: mul(*map(of, terms(nodes, k, absorbed))),
        INV: lambda k, x, y: power(of(x), S.NegativeOne),
        ROOT: lambda k, x, y: power(of(x), Rational(1, y)),
        SIN: lambda k, x, y: sin(of(x)),
        COS: lambda k, x, y: cos(of(x)),
        CALL: lambda k, x, y: filled(graph.templates[x], map(of, y),
                                     is_evaluated)}
    for k in order:
        if k in absorbed:
            continue
        kind, x, y = nodes[k]
        value = write_kind[kind](k, x, y)
        if k in named:
            pending.append((named[k], value))
            value = named[k]
        hash(value)             # from the leaves up, so never recursive
        memo[k] = value
    return list(map(of, refs)), pending


def nested(graph, refs):
    """Ordinary SymPy expressions of the references."""
    return write(graph, refs, {})[0]


def assignments(graph, refs, symbols=None):
    """Assignments of the nodes that are used twice, and expressions."""
    order, uses = used_nodes(graph.nodes, refs)
    if symbols is None:
        symbols = (Dummy(f'x{i}') for i in range(len(order)))
    symbols = iter(symbols)
    named = {k: next(symbols) for k in order
             if uses[k] > 1 and graph.nodes[k][0] not in (CONST, INPUT)}
    expressions, pending = write(graph, refs, named)
    return pending, expressions
