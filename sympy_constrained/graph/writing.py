"""The graph back into SymPy expressions, nested or as assignments.

Nested expressions share their parts. Up to a size that a person reads, SymPy
evaluates them, so that sums and products are flat and sorted as usual. Beyond
it they are left as they are, and made past SymPy's cache: sorting them, or
finding an equal one in the cache, compares trees, and the tree of a large
model may have millions of operations where the graph has a thousand. For the
same reason, never walk the nested form of a large model.
"""
from __future__ import annotations

from sympy import (
    Add, Derivative, Dummy, Float, Mul, Pow, Rational, S, cos, sin)

from .builder import ADD, CONST, COS, INPUT, INV, MUL, ROOT, SIN
from .calculus import operands
from .reading import SLOTS

__all__ = ['nested', 'assignments']

READABLE = 300                  # operations


def used_nodes(nodes, refs):
    """Indices that ``refs`` are made of in node order, with use counts."""
    uses = [0]*(max(map(abs, refs), default=0) + 1)
    for ref in refs:
        uses[abs(ref)] += 1
    for k in range(len(uses) - 1, 1, -1):
        if not uses[k]:
            continue
        kind, x, y = nodes[k]
        if kind == ADD or kind == MUL:
            uses[x] += 1
            uses[y if y > 0 else -y] += 1
        elif kind != CONST and kind != INPUT:
            for j in operands(nodes[k]):
                uses[j] += 1
    return [k for k, count in enumerate(uses) if count], uses


def number(node):
    """SymPy number of a constant node."""
    _, value, text = node
    if text is not None:
        return text if isinstance(text, Float) else Float(text)
    return Rational(value.numerator, value.denominator)


def filled(template, values):
    """A template with expressions in its slots."""
    slots = dict(zip(SLOTS, values))
    if template.has(Derivative):        # becomes Subs where it must
        return template.subs(slots, simultaneous=True)
    return template.xreplace(slots)


def terms(nodes, k, absorbed):
    """Operands of an n-ary sum or product, through the absorbed parts."""
    _, x, y = nodes[k]
    found, stack = [], [y, x]
    while stack:
        ref = stack.pop()
        if abs(ref) in absorbed:
            _, x, y = nodes[abs(ref)]
            stack.extend((y, x) if ref > 0 else (-y, -x))
        else:
            found.append(ref)
    return found


def plain_power(base, exponent):
    """An unevaluated power, made without a look into SymPy's cache."""
    make = getattr(Pow.__new__, '__wrapped__', Pow.__new__)
    return make(Pow, base, exponent, evaluate=False)


def plain_sum(*args):
    """An unevaluated sum."""
    return Add._from_args(args, True)


def plain_product(*args):
    """An unevaluated product."""
    return Mul._from_args(args, True)


def write(graph, refs, named):
    """Expressions of the references; ``named`` maps nodes to symbols."""
    nodes = graph.nodes
    order, uses = used_nodes(nodes, refs)
    add, mul, power = Add, Mul, Pow
    if not named and len(order) > READABLE:
        add, mul, power = plain_sum, plain_product, plain_power
    memo = {0: S.Zero}
    pending = []
    absorbed = set()                    # by the sum or product that uses it
    for k in order:
        kind, x, y = nodes[k]
        if kind in (ADD, MUL):
            absorbed.update(
                j for j in (abs(x), abs(y)) if nodes[j][0] == kind and
                uses[j] == 1 and j not in named)

    def of(ref):
        value = memo[abs(ref)]
        return value if ref >= 0 else mul(S.NegativeOne, value)

    for k in order:
        if k in absorbed:
            continue
        kind, x, y = nodes[k]
        if kind == CONST:
            value = number(nodes[k])
        elif kind == INPUT:
            value = graph.inputs[x]
        elif kind == ADD:
            value = add(*map(of, terms(nodes, k, absorbed)))
        elif kind == MUL:
            value = mul(*map(of, terms(nodes, k, absorbed)))
        elif kind == INV:
            value = power(of(x), S.NegativeOne)
        elif kind == ROOT:
            value = power(of(x), Rational(1, y))
        elif kind == SIN:
            value = sin(of(x))
        elif kind == COS:
            value = cos(of(x))
        else:
            value = filled(graph.templates[x], list(map(of, y)))
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
    """Expressions with a symbol for every node that is used twice.

    Returns
    =======

    list of (Symbol, Expr)
        In an order in which each uses only earlier ones.
    list of Expr
        One per reference.

    """
    order, uses = used_nodes(graph.nodes, refs)
    if symbols is None:
        symbols = (Dummy(f'x{i}') for i in range(len(order)))
    symbols = iter(symbols)
    named = {k: next(symbols) for k in order
             if uses[k] > 1 and graph.nodes[k][0] not in (CONST, INPUT)}
    expressions, pending = write(graph, refs, named)
    return pending, expressions
