"""Expressions under construction: arithmetic of nodes with value numbering.

A reference is an integer: ``0`` is zero, ``1`` is one, ``k > 0`` is node
``k`` and ``-k`` its negation. A node is a tuple ``(kind, x, y)``.
"""
import math
from fractions import Fraction
from functools import reduce

from sympy import Float, Rational

from ..errors import ConstrainedDynamicsError
from .nodes import (
    ADD, CALL, CONST, COS, INV, MUL, PRIME, ROOT, SIN, Nodes, digest)

MOST_FACTORS = 12
SHADOW_FUNCTIONS = {
    name: getattr(math, name)
    for name in ('exp', 'log', 'asin', 'acos', 'atan', 'sinh', 'cosh',
                 'tanh', 'asinh', 'acosh', 'atanh', 'atan2')}
SHADOW_FUNCTIONS['Abs'] = abs


def sympy_float(value, *operands):
    """A SymPy Float, with the most digits of any constant, or None."""
    digits = [getattr(text, '_prec', 53) for _, _, text in operands
              if text is not None]
    return Float(Rational(value.numerator, value.denominator),
                 precision=max(digits)) if digits else None


class GraphBuilder(Nodes):
    """Hash-consed expressions under construction.

    Explanation
    ===========

    Operands precede their node. Constants are exact rationals and fold at
    once. Nodes whose values agree at a random point of the field of
    ``2**127 - 1`` elements are merged: for rational functions of degree ``d``
    the risk of a false merge is ``d / 2**127``. A second value at a random
    real point, the shadow, guards merges. Sines and cosines lie on the circle
    of the field, so ``sin(x)**2 + cos(x)**2`` becomes one; roots and other
    functions are independent. A missed identity only costs operations.

    Examples
    ========

    >>> from sympy.abc import x
    >>> from sympy_constrained.graph import GraphBuilder
    >>> g = GraphBuilder()
    >>> a = g.input(x)
    >>> s, c = g.sincos(a)
    >>> g.add(g.mul(s, s), g.mul(c, c))
    1

    Attributes
    ==========

    time : Symbol
        The argument of functions of time.
    seed : int
        Chooses the random points. The same seed gives the same graph.
    at_states : callable or None
        ``(graph, name, at_rest=False)`` returns an output in floats, at each
        state at which eliminations should have no zero pivots, or at the one
        nearest to zero coordinates; see :func:`.graph.linalg.lu_solve`.

    """

    def add(self, a, b):
        """Reference of ``a + b``."""
        if not a or not b:
            return a or b
        if a == -b:
            return 0
        if a < 0:
            if b < 0:
                return -self.add(-a, -b)
            a, b = b, a
        elif 0 < b < a:
            a, b = b, a
        key = (ADD, a, b)
        ref = self._memo.get(key)
        if ref is None:
            ref = self._memo[key] = self._sum(key)
        return ref

    def _sum(self, key):
        """A sum that is not in the memo, of ``a > 0`` and ``b``."""
        _, a, b = key
        k, sign = (b, 1) if b > 0 else (-b, -1)
        first, second = self.nodes[a], self.nodes[k]
        if first[0] == second[0] == CONST:
            total = first[1] + sign*second[1]
            return self.constant(total, sympy_float(total, first, second))
        if a == b:
            return self.mul(self.constant(2), a)
        value = self.values[a] + (
            self.values[k] if b > 0 else PRIME - self.values[k])
        if value >= PRIME:              # faster than %
            value -= PRIME
        d, e = self.depends[a], self.depends[k]
        if (first[0] == MUL or second[0] == MUL) and (
                value not in self._known):
            ref = self._circle(a, b) if b > 0 and (
                a in self._squared or b in self._squared) else None
            if ref is None and not (d ^ e) & self.dynamic:
                ref = self._collected(a, b)
            if ref is not None:
                return ref
        s, t = self.shadows[a], sign*self.shadows[k]
        return self._new(key, value, s + t, max(abs(s), abs(t)), d | e)

    def _collected(self, a, b):
        """``(c + d)*x`` for ``c*x + d*x`` with constants, else None."""
        k = abs(b)
        x, c = self._scaled(a)
        y, d = self._scaled(k)
        return None if x != y else self.mul(
            self.add(c, d if b > 0 else -d), x)

    def _scaled(self, k):
        """Remaining factor of a product, and its constant factor.

        That is a number, or in a product that moves anything that does not.
        """
        kind, x, y = self.nodes[k]
        if kind != MUL:
            return k, 1
        if self.nodes[x][0] == CONST:
            return y, x
        moves = self.depends[x] & self.dynamic
        if (not moves) == (not self.depends[y] & self.dynamic):
            return k, 1
        return (x, y) if moves else (y, x)

    def _circle(self, a, b):
        """``x`` for ``x*sin(y)**2 + x*cos(y)**2``, else None."""
        # One of the two may be the last term of a sum.
        for p, q in ((a, b), (b, a)):
            if q not in self._squared or self.depends[q] & ~self.depends[p]:
                continue
            squares = self._squares(q)
            kind, rest, last = self.nodes[p]
            if kind == MUL:
                return self._square_sum(p, squares)
            for term, other in ((last, rest), (rest, last)):
                if kind == ADD and term > 0 and self.nodes[term][0] == MUL:
                    total = self._square_sum(term, squares)
                    if total is not None:
                        return self.add(other, total)
        return None

    def _square_sum(self, k, squares):
        """Sum of the product ``k`` and one with these squares, else None."""
        if k not in self._squared:
            return None
        for s, rest in self._squares(k).items():
            kind, y, _ = self.nodes[s]
            partner = self._memo.get((COS if kind == SIN else SIN, y, None))
            if squares.get(partner) == rest:
                return self.product(rest)
        return None

    def _squares(self, k):
        """Squared sine or cosine in a product -> the other factors."""
        factors = self._factors(k)
        return {x: factors[:i] + factors[i + 2:]
                for i, x in enumerate(factors[1:])
                if x == factors[i] and self.nodes[x][0] in (SIN, COS)}

    def _factors(self, k):
        """Sorted factors of a product, reduced; a long one is one factor."""
        factors = self._factor_memo.get(k)
        if factors is None:
            kind, x, y = self.nodes[k]
            factors = (k,)
            if kind == MUL:
                split = sorted(self._factors(x) + self._factors(y))
                for z in [z for z in split if self.nodes[z][0] == INV
                          ] if self._divides else ():
                    if self.nodes[z][1] in split:
                        split.remove(z)
                        split.remove(self.nodes[z][1])
                if len(split) <= MOST_FACTORS:
                    factors = tuple(split)
            self._factor_memo[k] = factors
        return factors

    def sub(self, a, b):
        """Reference of ``a - b``."""
        return self.add(a, -b)

    def mul(self, a, b):
        """Reference of ``a*b``."""
        if not a or not b:
            return 0
        if a < 0:
            a, b = -a, -b
        sign = 1
        if b < 0:
            sign, b = -1, -b
        if b < a:
            a, b = b, a
        if a == 1:
            return sign*b
        key = (MUL, a, b)
        ref = self._memo.get(key)
        if ref is None:
            ref = self._memo[key] = self._product(key)
        return sign*ref

    def _product(self, key):
        """A product that is not in the memo, of ``1 < a <= b``."""
        _, a, b = key
        x, y = self.nodes[a], self.nodes[b]
        if y[0] == CONST:               # it becomes the first factor
            _, a, b = key = MUL, b, a
            x, y = y, x
        kind, other, ref = x[0], y[0], None
        if kind == CONST:
            if other == CONST:
                value = x[1]*y[1]
                return self.constant(value, sympy_float(value, x, y))
            if other == MUL and self.nodes[y[1]][0] == CONST:
                return self.mul(self.mul(a, y[1]), y[2])
        elif kind == ROOT:              # products of a root follow it
            ref = self._square_of_root(a, b)
        value = self.values[a]*self.values[b]
        value = (value & PRIME) + (value >> 127)    # faster than %
        if value >= PRIME:
            value -= PRIME
        d, e = self.depends[a], self.depends[b]
        if (kind == MUL or other == MUL) and ref is None and (
                value not in self._known) and not (
                    d & self.dynamic and e & self.dynamic):
            ref = self._constants_first(a, b)
        if ref is not None:
            return ref
        shadow = self.shadows[a]*self.shadows[b]
        ref = self._new(key, value, shadow, abs(shadow), d | e)
        sines = self._sines
        if a in sines or b in sines:
            one, other = sines.get(a, 0), sines.get(b, 0)
            sines.setdefault(ref, one | other)
            if one & other or a in self._squared or b in self._squared:
                self._squared.add(ref)
        return ref

    def _square_of_root(self, root, k):
        """``root*k`` if ``k`` has the same square root as factor, or None."""
        kind, x, degree = self.nodes[root]
        if kind != ROOT or degree != 2:
            return None
        if root == k:
            return x
        kind, y, z = self.nodes[k]
        if kind != MUL or root not in (y, z):
            return None
        return self.mul(x, z if y == root else y)

    def _constants_first(self, a, b):
        """A product with its constants together, None if it is already so."""
        if self.depends[a] & self.dynamic:
            a, b = b, a
        x, c = self._scaled(b)
        if self.depends[b] & self.dynamic:
            return None if c == 1 else self.mul(self.mul(a, c), x)
        y, d = self._scaled(a)          # numbers out of both
        return None if c == d == 1 else self.mul(
            self.mul(c, d), self.mul(x, y))

    def inv(self, a):
        """Reference of ``1/a``."""
        if not a:
            raise ConstrainedDynamicsError(
                "A denominator of the model vanishes identically. An "
                "expression is divided by zero for all values of its "
                "variables; check the formula, or the zero substituted "
                "into it.")
        if a < 0:
            return -self.inv(-a)
        if a == 1:
            return 1
        key = (INV, a, None)
        ref = self._memo.get(key)
        if ref is not None:
            return ref
        node = self.nodes[a]
        if node[0] == CONST:
            value = Fraction(1, node[1])
            ref = self._memo[key] = self.constant(
                value, sympy_float(value, node))
            return ref
        self._divides = True
        shadow = self.shadows[a]
        shadow = 1/shadow if shadow else math.nan
        ref = self._memo[key] = self._new(
            key, pow(self.values[a], -1, PRIME), shadow, abs(shadow),
            self.depends[a])
        return ref

    def div(self, a, b):
        """Reference of ``a/b``."""
        return self.mul(a, self.inv(b)) if a else 0

    def power(self, a, exponent):
        """Reference of ``a**exponent`` for an integer exponent."""
        if exponent < 0:
            return self.inv(self.power(a, -exponent))
        result = 1
        while exponent:
            if exponent & 1:
                result = self.mul(result, a)
            exponent >>= 1
            if exponent:
                a = self.mul(a, a)
        return result

    def root(self, a, degree):
        """Reference of the principal root ``a**(1/degree)``."""
        if a in (0, 1):
            return a
        key = (ROOT, a, degree)
        ref = self._memo.get(key)
        if ref is not None:
            return ref
        shadow = self.shadow(a)
        shadow = shadow**(1/degree) if shadow >= 0 else math.nan
        value = digest(
            self.seed, 'root', self.fingerprint(a), degree) % PRIME
        ref = self._memo[key] = self._new(
            key, value, shadow, 1.0, self.depends[abs(a)])
        return ref

    def sincos(self, a):
        """References of the sine and the cosine of ``a``."""
        if not a:
            return 0, 1
        if a < 0:
            s, c = self.sincos(-a)
            return -s, c
        sine, cosine = (SIN, a, None), (COS, a, None)
        ref = self._memo.get(sine)
        if ref is not None:
            return ref, self._memo[cosine]
        tau = digest(self.seed, 'angle', self.values[a]) % PRIME
        scale = pow(1 + tau*tau, -1, PRIME)
        shadow, depends = self.shadows[a], self.depends[a]
        s = self._memo[sine] = self._new(
            sine, 2*tau*scale % PRIME, math.sin(shadow), 1.0, depends)
        c = self._memo[cosine] = self._new(
            cosine, (1 - tau*tau)*scale % PRIME, math.cos(shadow), 1.0,
            depends)
        for k in (s, c):
            self._sines.setdefault(k, 1 << k % 64)
        return s, c

    def call(self, template, operands):
        """Reference of a SymPy expression in the slots of its operands."""
        operands = tuple(operands)
        index = self._template_index.setdefault(template, len(self.templates))
        if index == len(self.templates):
            self.templates.append(template)
        key = (CALL, index, operands)
        ref = self._memo.get(key)
        if ref is not None:
            return ref
        arguments = map(self.fingerprint, operands)
        try:
            shadow = float(SHADOW_FUNCTIONS[type(template).__name__](
                *map(self.shadow, operands)) if operands else template)
        except (KeyError, TypeError, ValueError, OverflowError):
            shadow = math.nan
        value = digest(self.seed, 'call', index, *arguments) % PRIME
        ref = self._memo[key] = self._new(
            key, value, shadow, 1.0, self.mask(operands))
        return ref

    # -- linear combinations ---------------------------------------------

    def sum(self, refs):
        """Reference of a sum."""
        return reduce(self.add, refs, 0)

    def product(self, refs):
        """Reference of a product."""
        return reduce(self.mul, refs) if refs else 1

    def dot(self, x, y):
        """Reference of the dot product of two sequences of references."""
        total = 0
        for a, b in zip(x, y):
            if a and b:
                term = self.mul(a, b) if a != 1 else b
                total = self.add(total, term) if total else term
        return total

    def cross(self, x, y):
        """References of ``x`` cross ``y``."""
        if x == y:
            return 0, 0, 0
        add, mul = self.add, self.mul
        return tuple([add(mul(x[i], y[j]), -mul(x[j], y[i]))
                      for i, j in ((1, 2), (2, 0), (0, 1))])

    def scaled(self, factor, x):
        """References of ``factor*x``."""
        return tuple(self.mul(factor, a) for a in x)

    def added(self, x, y):
        """References of ``x + y``."""
        return tuple([self.add(a, b) if a and b else a or b
                      for a, b in zip(x, y)])
