"""Differentiation, gradients and substitution on the graph.

All of them walk the nodes that matter once, in node order, and never a tree.
Jacobians of several rows eliminate nodes instead [1]_.

References
==========

.. [1] A. Griewank and A. Walther, "Evaluating Derivatives," 2nd ed., SIAM
   (2008), chapters 9 and 10: vertex elimination in Markowitz' order.

"""
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import nan

from ..errors import ConstrainedDynamicsError
from .nodes import ADD, CALL, COS, INV, MUL, PRIME, ROOT, SIN
from .reading import chosen, derivative, partial


def reachable(builder, refs, mask, stop=()):
    """Nodes that ``refs`` use and that depend on ``mask``, in node order."""
    nodes, depends = builder.nodes, builder.depends
    seen, stack = set(), [abs(ref) for ref in refs]
    while stack:
        k = stack.pop()
        if k in seen or k in stop or not depends[k] & mask:
            continue
        seen.add(k)
        kind, x, y = nodes[k]
        if kind == ADD or kind == MUL:          # most nodes, so first
            stack += x, y if y > 0 else -y
        else:
            stack += operands(nodes[k])
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

    Derivatives are kept, so one object serves all expressions that are
    differentiated along the same direction. ``seeds`` maps input references to
    the references of their derivatives; all other inputs are constants.
    """

    in_time = False

    def __init__(self, builder, seeds):
        self.builder = builder
        self.memo = dict(seeds)
        self.mask = builder.mask(seeds)

    def __call__(self, ref):
        memo, k = self.memo, ref if ref > 0 else -ref
        if k not in memo:
            builder, mask = self.builder, self.mask
            depends = builder.depends
            if self.in_time and depends[k] & builder.dynamic & ~mask:
                mask = self._declare(depends[k])
            if not depends[k] & mask:
                return 0
            parts = operands(builder.nodes[k])
            if parts and all(j in memo or not depends[j] & mask
                             for j in parts):
                memo[k] = self._rule(k)     # as often
            else:
                for i in reachable(builder, (k,), mask, memo):
                    memo[i] = self._rule(i)
        return memo[k] if ref > 0 else -memo[k]

    def _of(self, ref):
        value = self.memo.get(abs(ref), 0)
        return value if ref > 0 else -value

    def _rule(self, k):
        g, known = self.builder, self.memo.get
        kind, x, y = g.nodes[k]
        if kind == MUL:                         # most nodes, so first
            dx, dy = known(x, 0), known(y, 0)
            return (g.add(g.mul(y, dx), g.mul(x, dy)) if dx and dy else
                    g.mul(y, dx) if dx else g.mul(x, dy))
        if kind == ADD:
            return g.add(known(x, 0), known(y, 0) if y > 0 else -known(-y, 0))
        of = self._of
        pieces = kind == CALL and chosen(g.templates[x])
        if pieces:
            rates = [of(z) if i in pieces else z for i, z in enumerate(y)]
            return g.call(g.templates[x], rates) if any(
                rates[i] for i in pieces) else 0
        return g.sum(g.mul(slope, of(z))
                     for z, slope in slopes(g, k, self.mask))


def slopes(builder, k, mask):
    """Operands of a node, each with the partial derivative by it."""
    # Those that do not depend on the inputs in ``mask`` may be missing.
    g, (kind, x, y) = builder, builder.nodes[k]
    if kind == MUL:
        return (x, y), (y, x)
    if kind == ADD:
        return (x, 1), (y, 1)
    if kind == SIN:
        return (x, g.sincos(x)[1]),
    if kind == COS:
        return (x, -g.sincos(x)[0]),
    if kind == INV:
        return (x, -g.mul(k, k)),
    if kind == ROOT:
        part = g.inv(g.constant(y))
        return (x, g.mul(part, g.inv(k) if y == 2 else g.div(k, x))),
    return ((z, partial(g, k, i)) for i, z in enumerate(y or ())
            if g.depends[abs(z)] & mask)


class NumericDerivation(Derivation):
    """The same as numbers, at the builder's random real point.

    That makes few nodes. A choice (``Piecewise``) gives nan.
    """

    def __init__(self, builder, seeds):
        super().__init__(builder, {k: x for k, x in seeds.items() if x})
        self.values, self.value = builder.shadows, builder.shadow

    def _rule(self, k):
        g, known, values = self.builder, self.memo.get, self.values
        kind, x, y = g.nodes[k]
        if kind == MUL:                         # most nodes, so first
            return values[x]*known(y, 0) + values[y]*known(x, 0)
        if kind == ADD:
            return known(x, 0) + (known(y, 0) if y > 0 else -known(-y, 0))
        if kind == CALL and chosen(g.templates[x]):
            return nan
        return sum(self.value(slope)*self._of(z) for z, slope in slopes(
            g, k, self.mask))


class FingerprintDerivation(NumericDerivation):
    """The same as fingerprints."""

    def __init__(self, builder, seeds):
        super().__init__(builder, {
            k: builder.fingerprint(x) for k, x in seeds.items()})
        self.values, self.value = builder.values, builder.fingerprint

    def _rule(self, k):
        return super()._rule(k) % PRIME


class TimeDerivative(Derivation):
    """Derivative along the motion; see :func:`time_derivative`."""

    in_time = True
    numbers = None                      # a FingerprintDerivation

    def find(self, ref):
        """The derivative, which is expected to be a node that exists."""
        # Fingerprints cost less than the nodes of a derivative.
        k = abs(ref)
        if k not in self.memo:
            found = self.builder.with_fingerprint(self.fingerprint(k))
            if found is not None:
                self.memo[k] = found
        return self(ref)

    def fingerprint(self, ref):
        """Fingerprint of the derivative; nan if it is not known."""
        builder = self.builder
        if builder.depends[abs(ref)] & builder.dynamic & ~self.mask:
            return nan                  # some rates are not declared
        if self.numbers is None:
            self.numbers = FingerprintDerivation(builder, self.memo)
        return self.numbers(ref) % PRIME

    def _declare(self, depends):
        """Declare the rates of other inputs that move; returns the mask."""
        builder = self.builder
        new = depends & builder.dynamic & ~self.mask
        while new:
            position = new.bit_length() - 1
            new ^= 1 << position
            symbol = builder.inputs[position]
            rate = builder.input(
                derivative(symbol, builder.time), dynamic=True)
            self.memo[builder.bound[symbol]] = rate
            self.mask |= 1 << position
            self.numbers = None
        return self.mask


def time_derivative(builder, rates):
    """Return the total time derivative as a map on references.

    ``rates`` maps the references of ``q`` and ``u`` to those of their rates.
    The rate of any other function of time is the input ``Derivative(f(t),
    t)``.
    """
    return TimeDerivative(
        builder, {builder.input(builder.time, dynamic=True): 1, **rates})


def gradient(builder, ref, inputs):
    """The partial derivatives of one output, by a reverse pass."""
    # Choices (``Piecewise``) are differentiated forwards by each input,
    # because the pieces that are not chosen may have no finite slope.
    depends, mask = builder.depends, builder.mask(inputs)
    adjoint = {abs(ref): 1 if ref > 0 else -1} if ref else {}
    along = []
    for k in reversed(reachable(builder, (ref,), mask)):
        bar = adjoint.get(k, 0)
        if not bar:
            continue
        kind, index, _ = builder.nodes[k]
        parts = slopes(builder, k, mask)
        if kind == CALL and chosen(builder.templates[index]):
            along = along or [Derivation(builder, {i: 1}) for i in inputs]
            parts = ((i, by_input(k)) for i, by_input in zip(inputs, along))
        for x, slope in parts:
            i = x if x > 0 else -x
            if depends[i] & mask:
                value = bar if slope == 1 else builder.mul(bar, slope)
                old = adjoint.get(i)
                value = value if x > 0 else -value
                adjoint[i] = builder.add(old, value) if old else value
    return [adjoint.get(i, 0) for i in inputs]


def jacobian(builder, refs, inputs):
    """Rows of partial derivatives, one per reference."""
    mask = builder.mask(inputs)
    between = reachable(builder, refs, mask, inputs)
    if len(refs) < 2 or any(
            kind == CALL and chosen(builder.templates[index])
            for kind, index, _ in map(builder.nodes.__getitem__, between)):
        return [gradient(builder, ref, inputs) for ref in refs]
    work = Slopes(builder, mask)
    for k in between:
        work.add(k, slopes(builder, k, mask))
    rows = [work.add((row,), [(ref, 1)]) for row, ref in enumerate(refs)]
    work.eliminate(between)
    return [[row.get(i, 0) for i in inputs] for row in rows]


class Slopes:
    """Partial derivatives of nodes by those before them.

    ``before`` maps a node to the nodes that it is made of and its slopes,
    ``after`` a node to those that are made of it.
    """

    def __init__(self, builder, mask):
        self.builder, self.mask = builder, mask
        self.before, self.after = {}, {}

    def add(self, k, parts):
        g, row = self.builder, self.before.setdefault(k, {})
        for x, slope in parts:
            i = abs(x)
            if g.depends[i] & self.mask:
                row[i] = g.add(row.get(i, 0), slope if x > 0 else -slope)
                self.after.setdefault(i, set()).add(k)
        return row

    def products(self, k):
        """Number of products of slopes if a node is eliminated."""
        return len(self.before[k])*len(self.after[k])

    def eliminate(self, between):
        """Eliminate all nodes, next the one with the fewest products."""
        waiting, left = [(self.products(k), k) for k in between], {*between}
        heapify(waiting)
        while waiting:
            known, k = heappop(waiting)
            if k not in left:
                continue
            if known < self.products(k):
                heappush(waiting, (self.products(k), k))
                continue
            left.remove(k)
            for i in self._eliminate(k) & left:
                heappush(waiting, (self.products(i), i))

    def _eliminate(self, k):
        """Eliminate a node; returns the nodes before it."""
        g, slopes_of = self.builder, self.before.pop(k)
        for j in self.after.pop(k):
            row = self.before[j]
            slope = row.pop(k)
            for i, part in slopes_of.items():
                row[i] = g.add(row.get(i, 0), g.mul(slope, part))
                self.after[i].add(j)
        for i in slopes_of:
            self.after[i].remove(k)
        return slopes_of.keys()


def substitute(builder, refs, replacements):
    """References with some inputs replaced by other references."""
    # See :meth:`GraphBuilder.avoid` where these inputs must not come back.
    refs = list(refs)
    mask, memo = builder.mask(replacements), dict(replacements)

    def of(ref):
        value = memo.get(abs(ref), abs(ref))
        return value if ref > 0 else -value

    for k in reachable(builder, refs, mask, memo):
        memo[k] = rebuilt(builder, builder.nodes[k], of, builder.templates)
    return [of(ref) for ref in refs]


def without(builder, refs, inputs):
    """References of the same values, written without some inputs."""
    # None for a value that depends on them.
    inputs = list(inputs)
    builder.avoid(inputs)
    try:
        rebuilt_refs = substitute(builder, refs, dict.fromkeys(inputs, 0))
    except ConstrainedDynamicsError:    # divided by zero
        rebuilt_refs = substitute(builder, refs, {
            k: builder.constant(Fraction(2*i + 5, 2*i + 3))
            for i, k in enumerate(inputs)})
    return [new if builder.fingerprint(ref) == builder.fingerprint(new)
            else None for ref, new in zip(refs, rebuilt_refs)]


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
