"""Whether expressions vanish where the constraints hold.

Three tests in order: are they zero on the graph, that is, identically? Do they
differ from zero at states that satisfy the constraints? Can they be proved to
vanish by the constraints? Otherwise the answer is None.
"""
from dataclasses import dataclass
from math import comb, prod
from random import Random

from mpmath import mp
from sympy import (
    Dummy, PolynomialError, Rational, cos, reduced, sin, together)

from ..precision import precise
from .consistent_points import has_floats, stand_ins

# Relative sizes that count as zero, for exact and for inexact dimensions.
ROUNDING, INEXACT = mp.mpf('1e-15'), mp.mpf('1e-8')
# A proof is tried up to so many operations, symbols and terms of a sum.
OPERATIONS, SYMBOLS, TERMS = 400, 24, 20_000


@dataclass(frozen=True)
class Vanishing:
    """An answer: ``holds`` is True, False or None.

    If it is False, ``values`` are those of the expressions at ``state``.
    """

    holds: bool | None
    state: dict | None = None
    values: list | None = None


def vanishing(system, graph, name, sample, states,
              relations=('holonomic', 'velocity')):
    """Return whether the output ``name`` of a graph vanishes on the
    constraints.

    The graph has the inputs of the system; others get random values.
    ``states`` satisfy the constraints, at high precision; for ``sample`` see
    :func:`.admissible_values`. A proof may reduce by the constraints
    ``relations``, which are added one by one.
    """
    if not any(map(any, graph.pattern(name))):
        return Vanishing(True)
    against = counterexample(system, graph, name, sample, states)
    if against is not None:
        return against
    holds = any(proved(system, graph, name, relations[:k])
                for k in range(len(relations) + 1))
    return Vanishing(holds or None)


def counterexample(system, graph, name, sample, states):
    """A state where an output is not zero, or None; see :func:`vanishing`."""
    small = INEXACT if has_floats(system, sample) else ROUNDING
    for seed, values in enumerate(states):
        sizes = relative_sizes(system, graph, values, name, seed)
        if any(x > small for row in sizes for x in row):
            return Vanishing(False, values, values_at(
                system, graph, values, (name,), seed)[name])
    return None


def values_at(system, graph, values, names, seed=0):
    """Outputs of a graph at a state; inputs without a value are random."""
    with precise():
        return graph.evaluate({**others(system, graph, seed), **values},
                              names, mp, stand_ins(system))


def relative_sizes(system, graph, values, name, seed=0):
    """Sizes of an output relative to the largest value met on the way."""
    rows = values_at(system, graph, values, (name,), seed)[name]
    with precise():
        largest = graph.largest({**others(system, graph, seed), **values},
                                (name,), mp, stand_ins(system))
        return [[abs(x)/largest for x in row] for row in rows]


def others(system, graph, seed=0):
    """Random values of the inputs of a graph, the same in every graph."""
    numbers = {}
    for x in graph.inputs:
        random = Random(f'{x} {seed}')
        number = mp.mpf(random.randint(1, 10**9))/10**9
        sign = random.choice((-1, 1)) if x in system.q else 1
        numbers[x] = sign*number
    return numbers


def floats_at(system, graph, name, states):
    """An output in floats at each of some states, where it has a value."""
    matrices, more, functions = [], others(system, graph), stand_ins(system)
    for values in states:
        try:
            rows = graph.evaluate({**more, **values}, (name,),
                                  functions=functions)[name]
            matrices.append([[float(x) for x in row] for row in rows])
        except (ArithmeticError, TypeError, ValueError):    # no value there
            continue
    return matrices


def proved(system, graph, name, relations):
    """Whether the numerators are in the ideal of the constraints.

    Sines and cosines are symbols with the relation of the circle, square roots
    symbols with that of their square. Other functions are symbols.
    """
    if graph.operation_count((name,)) > OPERATIONS:
        return False
    rational = RationalForm()
    try:
        expressions = [rational.numerator(x) for x in graph.sympy(name)
                       if x != 0]
        ideal = [rational.numerator(x) for level in relations
                 for x in system.graph.sympy(level)]
        ideal += map(numerator, rational.relations)
        if len(rational.names) > SYMBOLS or max(
                map(terms, [*expressions, *ideal]), default=0) > TERMS:
            return False
        return all(x == 0 for x in remainders(
            expressions, ideal, rational.ordered()))
    except PolynomialError:
        return False


def remainders(expressions, ideal, gens):
    """What is left of expressions by the polynomials of an ideal."""
    if not ideal:
        return [x.expand() for x in expressions]
    return (reduced(x, ideal, *gens)[1] for x in expressions)


def numerator(x):
    return together(x).as_numer_denom()[0]


class RationalForm:
    """Rewrites expressions as rational functions of dummies.

    ``names`` maps expressions to dummies, ``relations`` vanish.
    """

    def __init__(self):
        self.names, self.relations = {}, []

    def numerator(self, x):
        return numerator(self.of(x))

    def of(self, x):
        """``x`` with dummies for all but rational operations."""
        if x.is_Rational:
            return x
        if x.is_Add or x.is_Mul or (x.is_Pow and x.exp.is_Integer):
            return x.func(*map(self.of, x.args))
        if x.is_Pow and x.exp.is_Rational and x.exp.q == 2:
            return self._root(x.base)**x.exp.p
        if isinstance(x, (sin, cos)):
            self._add_circle(x.args[0])
        return self.names.setdefault(x, Dummy('x'))

    def ordered(self):
        """The dummies; the first ones are replaced by those that follow."""
        return [self.names[x] for x in sorted(self.names, key=lambda x: (
            x.is_Symbol, isinstance(x, (sin, cos)),
            self.names[x].dummy_index))]

    def _add_circle(self, angle):
        if sin(angle) not in self.names:
            s, c = Dummy('s'), Dummy('c')
            self.names |= {sin(angle): s, cos(angle): c}
            self.relations.append(s**2 + c**2 - 1)

    def _root(self, base):
        root = base**Rational(1, 2)
        if root not in self.names:
            self.names[root] = r = Dummy('r')
            self.relations.append(r**2 - self.of(base))
        return self.names[root]


def terms(x):
    """Upper bound of the number of terms after expansion."""
    if x.is_Add:
        return sum(map(terms, x.args))
    if x.is_Mul:
        return prod(map(terms, x.args))
    if x.is_Pow and x.exp.is_Integer and x.exp > 0:
        return comb(terms(x.base) + int(x.exp) - 1, int(x.exp))
    return 1
