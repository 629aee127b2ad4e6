"""Whether expressions vanish where the constraints hold.

Asked in this order: are they zero on the graph, that is, identically? Do they
differ from zero at states that satisfy the constraints? Can they be proved to
vanish by the constraints? If nothing answers, the answer is None.
"""
from __future__ import annotations

from math import comb, prod
from random import Random

from mpmath import mp
from sympy import (
    Dummy, Poly, PolynomialError, Rational, cos, reduced, sin, together)

from ..precision import precise
from .consistent_points import has_floats, stand_ins

__all__ = ['vanishing', 'Vanishing', 'counterexample', 'values_at',
           'floats_at']

# Relative sizes that count as zero, for exact and for inexact dimensions.
ROUNDING, INEXACT = mp.mpf('1e-15'), mp.mpf('1e-8')
# A proof is tried up to so many operations, symbols and terms of a sum.
OPERATIONS, SYMBOLS, TERMS = 400, 24, 20_000


class Vanishing:
    """An answer: ``holds`` is True, False or None.

    If it is False, ``state`` is where it fails and ``values`` are what the
    expressions are there.
    """

    def __init__(self, holds, state=None, values=None):
        self.holds, self.state, self.values = holds, state, values


def vanishing(system, graph, name, sample, states,
              relations=('holonomic', 'velocity')):
    """Return whether an output of a graph vanishes on the constraints.

    Parameters
    ==========

    system : ConstrainedSystem
    graph : Graph
        Of the same inputs as the system; others get random values.
    name : str
        The output in question.
    sample : dict or None
        See :func:`.admissible_values`.
    states : sequence of dict
        Some that satisfy the constraints, at high precision.
    relations : sequence of str
        The constraints by which a proof may reduce, tried one by one more.

    Returns
    =======

    Vanishing

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
    """Where an output is not zero, as :class:`Vanishing`, or None.

    The arguments are those of :func:`vanishing`; nothing is proved.
    """
    small = INEXACT if has_floats(system, sample) else ROUNDING
    for seed, values in enumerate(states):
        found = values_at(system, graph, values, (name,), seed)
        size = values_at(system, graph, values, (name,), seed, largest=True)
        if any(abs(x) > small*size for row in found[name] for x in row):
            return Vanishing(False, values, found[name])
    return None


def values_at(system, graph, values, names, seed=0, largest=False):
    """Outputs of a graph at a state; what the state lacks is random.

    Or the largest value on the way to them.
    """
    values = {**others(system, graph, seed), **values}
    with precise():
        evaluate = graph.largest if largest else graph.evaluate
        return evaluate(values, names, mp, stand_ins(system))


def others(system, graph, seed=0):
    """Random values of the inputs of a graph."""
    random, found = Random(f'others {seed}'), {}
    for x in graph.inputs:
        number = mp.mpf(random.randint(1, 10**9))/10**9
        sign = random.choice((-1, 1)) if x in system.q else 1
        found[x] = sign*number
    return found


def floats_at(system, graph, name, states):
    """An output in floats at each of some states, where it has a value."""
    found, more, functions = [], others(system, graph), stand_ins(system)
    for values in states:
        try:
            rows = graph.evaluate({**more, **values}, (name,),
                                  functions=functions)[name]
            found.append([[float(x) for x in row] for row in rows])
        except (ArithmeticError, TypeError, ValueError):    # no value there
            continue
    return found


def proved(system, graph, name, relations):
    """Whether the numerators are in the ideal of the constraints.

    Sines and cosines are symbols with the relation of the circle, square
    roots symbols with that of their square. Other functions are symbols.
    """
    if graph.operation_count((name,)) > OPERATIONS:
        return False
    rows = [x for level in relations for x in system.graph.sympy(level)]
    expressions = [x for x in graph.sympy(name) if x != 0]
    names, circles = {}, []

    def plain(x):
        """``x`` with dummies for all that is no rational operation."""
        if x.is_Rational:
            return x
        if x.is_Add or x.is_Mul or (x.is_Pow and x.exp.is_Integer):
            return x.func(*map(plain, x.args))
        if x.is_Pow and x.exp.is_Rational and x.exp.q == 2:
            root = x.base**Rational(1, 2)
            if root not in names:
                names[root] = Dummy('r')
                circles.append(
                    names[root]**2 - plain(x.base))
            return names[root]**x.exp.p
        if isinstance(x, (sin, cos)) and x not in names:
            s, c = names[sin(x.args[0])], names[cos(x.args[0])] = (
                Dummy('s'), Dummy('c'))
            circles.append(s**2 + c**2 - 1)
        return names.setdefault(x, Dummy('x'))

    try:
        expressions = [together(plain(x)).as_numer_denom()[0]
                       for x in expressions]
        relations = [together(plain(x)).as_numer_denom()[0]
                     for x in rows] + [
                         together(x).as_numer_denom()[0] for x in circles]
        if len(names) > SYMBOLS or max(map(
                terms, [*expressions, *relations]), default=0) > TERMS:
            return False
        if not relations:
            return all(x.expand() == 0 for x in expressions)
        gens = sorted(names.values(), key=lambda x: x.dummy_index)
        relations = [Poly(x, *gens) for x in relations]
        return all(reduced(Poly(x, *gens), relations)[1] == 0
                   for x in expressions)
    except PolynomialError:
        return False


def terms(x):
    """How many terms an expression has at most when it is expanded."""
    if x.is_Add:
        return sum(map(terms, x.args))
    if x.is_Mul:
        return prod(map(terms, x.args))
    if x.is_Pow and x.exp.is_Integer and x.exp > 0:
        return comb(terms(x.base) + int(x.exp) - 1, int(x.exp))
    return 1
