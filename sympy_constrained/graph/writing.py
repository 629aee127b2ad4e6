"""The graph back into SymPy expressions, nested or as assignments.

Nested expressions share their parts and are evaluated by SymPy, so that sums
and products are flat and sorted as usual. Never walk the nested form of a
large model: its tree may have millions of operations where the graph has a
thousand.
"""
from __future__ import annotations

from collections import Counter

from sympy import (
    Add, Derivative, Dummy, Float, Mul, Pow, Rational, S, cos, sin)

from .builder import ADD, CONST, COS, INPUT, INV, MUL, ROOT, SIN
from .calculus import operands
from .reading import SLOTS

__all__ = ['nested', 'assignments']


def used_nodes(nodes, refs):
    """Indices that ``refs`` are made of in node order, with use counts."""
    uses = Counter(abs(ref) for ref in refs)
    stack = list(uses)
    seen = set(stack)
    while stack:
        for k in operands(nodes[stack.pop()]):
            uses[k] += 1
            if k not in seen:
                seen.add(k)
                stack.append(k)
    return sorted(seen), uses


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


def write(graph, refs, named):
    """Expressions of the references; ``named`` maps nodes to symbols."""
    nodes = graph.nodes
    order, uses = used_nodes(nodes, refs)
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
        return value if ref >= 0 else Mul(S.NegativeOne, value)

    for k in order:
        if k in absorbed:
            continue
        kind, x, y = nodes[k]
        if kind == CONST:
            value = number(nodes[k])
        elif kind == INPUT:
            value = graph.inputs[x]
        elif kind == ADD:
            value = Add(*map(of, terms(nodes, k, absorbed)))
        elif kind == MUL:
            value = Mul(*map(of, terms(nodes, k, absorbed)))
        elif kind == INV:
            value = Pow(of(x), S.NegativeOne)
        elif kind == ROOT:
            value = Pow(of(x), Rational(1, y))
        elif kind == SIN:
            value = sin(of(x))
        elif kind == COS:
            value = cos(of(x))
        else:
            value = filled(graph.templates[x], list(map(of, y)))
        if k in named:
            pending.append((named[k], value))
            value = named[k]
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
    named = {k: next(symbols) for k in order
             if uses[k] > 1 and graph.nodes[k][0] not in (CONST, INPUT)}
    expressions, pending = write(graph, refs, named)
    return pending, expressions
