"""Differentiation, gradients and substitution on the graph.

All of them walk the nodes that matter once, in node order, and never a tree.
"""
from __future__ import annotations

from fractions import Fraction

from ..errors import ConstrainedDynamicsError
from .builder import ADD, CALL, COS, INV, MUL, ROOT, SIN
from .reading import chosen, derivative, partial

__all__ = ['Derivation', 'time_derivative', 'gradient', 'jacobian',
           'substitute', 'without']


def reachable(builder, refs, mask, stop=()):
    """Nodes that ``refs`` use and that depend on ``mask``, in node order."""
    nodes, depends = builder.nodes, builder.depends
    seen, stack = set(), [abs(ref) for ref in refs]
    while stack:
        k = stack.pop()
        if k in seen or k in stop or not depends[k] & mask:
            continue
        seen.add(k)
        stack.extend(operands(nodes[k]))
    return sorted(seen)


def operands(node):
    """Indices of the nodes that a node is made of."""
    kind, x, y = node
    if kind == ADD:
        return x, y if y > 0 else -y
    if kind == MUL:
        return x, y
    if kind == CALL:
        return tuple(map(abs, y))
    if kind in (INV, ROOT, SIN, COS):
        return (abs(x),)
    return ()


class Derivation:
    """A linear map on references that obeys the product rule.

    Explanation
    ===========

    Derivatives are remembered, so that one object serves all expressions
    that are differentiated along the same direction.

    Examples
    ========

    >>> from sympy.abc import x, y
    >>> from sympy_constrained.graph import GraphBuilder, Derivation
    >>> g = GraphBuilder()
    >>> a, b = g.input(x), g.input(y)
    >>> by_x = Derivation(g, {a: 1})
    >>> by_x(g.mul(a, b)) == b
    True

    Parameters
    ==========

    builder : GraphBuilder
    seeds : dict
        Maps input references to the references of their derivatives; all
        other inputs are constants.

    """

    def __init__(self, builder, seeds):
        self.builder = builder
        self.memo = {k: seed for k, seed in seeds.items()}
        self.mask = 0
        for k in seeds:
            self.mask |= builder.depends[k]

    def __call__(self, ref):
        memo, builder = self.memo, self.builder
        k = abs(ref)
        if k not in memo:
            self._prepare(k)
            if not builder.depends[k] & self.mask:
                return 0
            for i in reachable(builder, (k,), self.mask, memo):
                memo[i] = self._rule(i)
        return memo[k] if ref > 0 else -memo[k]

    def _prepare(self, k):
        """Hook: supply seeds of inputs that were declared meanwhile."""

    def _of(self, ref):
        k = abs(ref)
        value = self.memo.get(k, 0)
        return value if ref > 0 else -value

    def _rule(self, k):
        g, of = self.builder, self._of
        kind, x, y = g.nodes[k]
        if kind == ADD:
            return g.add(of(x), of(y))
        if kind == MUL:
            return g.add(g.mul(of(x), y), g.mul(x, of(y)))
        if kind == INV:
            return -g.mul(g.mul(k, k), of(x))
        if kind == ROOT:
            return g.mul(root_slope(g, k), of(x))
        if kind == SIN:
            return g.mul(g.sincos(x)[1], of(x))
        if kind == COS:
            return -g.mul(g.sincos(x)[0], of(x))
        pieces = chosen(g.templates[x])
        if pieces:                  # not a sum: the others may not exist
            slopes = [of(z) if i in pieces else z for i, z in enumerate(y)]
            return g.call(g.templates[x], slopes) if any(
                slopes[i] for i in pieces) else 0
        return g.sum(g.mul(partial(g, k, i), of(z))
                     for i, z in enumerate(y) if of(z))


def root_slope(builder, k):
    """Reference of the derivative of the root node ``k`` by its radicand."""
    _, x, degree = builder.nodes[k]
    one_over = builder.inv(builder.constant(degree))
    if degree == 2:
        return builder.mul(one_over, builder.inv(k))
    return builder.mul(one_over, builder.div(k, x))


class TimeDerivative(Derivation):
    """Derivative along the motion; see :func:`time_derivative`."""

    def _prepare(self, k):
        builder, depends = self.builder, self.builder.depends[k]
        new = depends & builder.dynamic & ~self.mask
        while new:
            position = new.bit_length() - 1
            new ^= 1 << position
            symbol = builder.inputs[position]
            rate = builder.input(
                derivative(symbol, builder.time), dynamic=True)
            self.memo[builder.bound[symbol]] = rate
            self.mask |= 1 << position


def time_derivative(builder, rates):
    """Return the total time derivative as a map on references.

    Parameters
    ==========

    rates : dict
        Maps the references of ``q`` and ``u`` to those of their rates. A
        function of time that is not listed is a specified input: its rate
        is the input ``Derivative(f(t), t)``.

    """
    return TimeDerivative(
        builder, {builder.input(builder.time, dynamic=True): 1, **rates})


def gradient(builder, ref, inputs):
    """References of the partial derivatives of one output.

    A reverse pass: all the partial derivatives together cost a small
    multiple of the operations of the output. The pass ends at choices
    (``Piecewise``), which are differentiated by each of the inputs: what is
    not chosen may have no slope, and no factor makes that zero.
    """
    mask = 0
    for i in inputs:
        mask |= builder.depends[i]
    adjoint = {abs(ref): 1 if ref > 0 else -1}
    along = [Derivation(builder, {i: 1}) for i in inputs]

    def collect(z, value):
        if not value or not builder.depends[abs(z)] & mask:
            return
        if z < 0:
            z, value = -z, -value
        adjoint[z] = builder.add(adjoint.get(z, 0), value)

    for k in reversed(reachable(builder, (ref,), mask)):
        bar = adjoint.get(k, 0)
        if not bar:
            continue
        kind, x, y = builder.nodes[k]
        if kind == ADD:
            collect(x, bar)
            collect(y, bar)
        elif kind == MUL:
            collect(x, builder.mul(bar, y))
            collect(y, builder.mul(bar, x))
        elif kind == INV:
            collect(x, -builder.mul(bar, builder.mul(k, k)))
        elif kind == ROOT:
            collect(x, builder.mul(bar, root_slope(builder, k)))
        elif kind == SIN:
            collect(x, builder.mul(bar, builder.sincos(x)[1]))
        elif kind == COS:
            collect(x, -builder.mul(bar, builder.sincos(x)[0]))
        elif kind == CALL and chosen(builder.templates[x]):
            for i, slope in zip(inputs, along):
                collect(i, builder.mul(bar, slope(k)))
        elif kind == CALL:
            for i, z in enumerate(y):
                if builder.depends[abs(z)] & mask:
                    collect(z, builder.mul(bar, partial(builder, k, i)))
    return [adjoint.get(i, 0) for i in inputs] if ref else [0]*len(inputs)


def jacobian(builder, refs, inputs):
    """Rows of partial derivatives, one per reference."""
    return [gradient(builder, ref, inputs) for ref in refs]


def substitute(builder, refs, replacements):
    """References with some inputs replaced by other references.

    See :meth:`GraphBuilder.avoid` where these inputs must not come back.
    """
    refs = list(refs)
    mask = 0
    for k in replacements:
        mask |= builder.depends[k]
    memo = dict(replacements)

    def of(ref):
        k = abs(ref)
        value = memo.get(k, k)
        return value if ref > 0 else -value

    for k in reachable(builder, refs, mask, memo):
        memo[k] = rebuilt(builder, builder.nodes[k], of, builder.templates)
    return [of(ref) for ref in refs]


def without(builder, refs, inputs):
    """References of the same values that do not depend on some inputs.

    None in the place of one whose value does. An expression may be written
    with inputs that cancel; it is rebuilt with numbers in their place.
    """
    inputs = list(inputs)
    builder.avoid(inputs)
    try:
        found = substitute(builder, refs, dict.fromkeys(inputs, 0))
    except ConstrainedDynamicsError:    # divided by zero
        found = substitute(builder, refs, {
            k: builder.constant(Fraction(2*i + 5, 2*i + 3))
            for i, k in enumerate(inputs)})
    return [new if builder.fingerprint(ref) == builder.fingerprint(new)
            else None for ref, new in zip(refs, found)]


def rebuilt(builder, node, of, templates):
    """Reference of a node whose operands are mapped by ``of``."""
    kind, x, y = node
    if kind == ADD:
        return builder.add(of(x), of(y))
    if kind == MUL:
        return builder.mul(of(x), of(y))
    if kind == INV:
        return builder.inv(of(x))
    if kind == ROOT:
        return builder.root(of(x), y)
    if kind == SIN:
        return builder.sincos(of(x))[0]
    if kind == COS:
        return builder.sincos(of(x))[1]
    return builder.call(templates[x], map(of, y))
