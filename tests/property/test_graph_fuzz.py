"""Random expressions: the graph against SymPy's values.

They come in batches that one builder reads, so that each meets the nodes of
the others; a false merge gives one of them a wrong value.
"""
import os
import subprocess
import sys
import warnings
from random import Random

import pytest
from mpmath import mp
from sympy import (
    Abs, Add, Derivative, DiracDelta, Float, Heaviside, Max, Min, Mul,
    Piecewise, Pow, Rational, S, acos, asin, asinh, atan, atan2, cbrt, cos,
    cosh, cot, diff, exp, expand, expand_trig, factor, log, sec, sign, sin,
    sinh, sqrt, symbols, tan, tanh, together)

from kkt import t
from sympy_constrained.graph import Graph, GraphBuilder, gradient, read

x, y, z = NAMES = symbols('x y z', real=True)
BATCH = 20
BATCHES = 100               # 2000 expressions, of which the normal run has
QUICK = 9                   # so many batches
DIGITS = 50


def share(count, quick):
    """Seeds, of which most are for the slow run."""
    return [pytest.param(i, marks=[] if i < quick else pytest.mark.slow)
            for i in range(count)]


batches = pytest.mark.parametrize('seed', share(BATCHES, QUICK))


# -- expressions ----------------------------------------------------------

def branches(a, b):
    """SymPy takes its time for branches in conditions: there are none."""
    first, second = (e if not e.has(Piecewise) else name
                     for e, name in ((a, x), (b, z)))
    return Piecewise((sin(a), first > 1), (b, second > first), (a*b, True))


UNARY = [
    sin, cos, tan, tanh, atan, asinh, Abs, sinh, cosh, sign,
    lambda e: cot(e + 7), lambda e: sec(e/5), lambda e: exp(e/3),
    lambda e: exp(-e**2), lambda e: sqrt(e**2 + 1), lambda e: sqrt(e**2),
    lambda e: 1/(e**2 + 2), lambda e: 1/(e - Rational(137, 11)),
    lambda e: log(e**2 + 1), lambda e: cbrt(e**2 + 3),
    lambda e: (e**2 + 1)**Rational(-3, 2), lambda e: (e**2)**Rational(3, 4),
    lambda e: e**3, lambda e: (e**2 + y**2 + 9)**-2, lambda e: -e,
    lambda e: sin(e)**2,
    lambda e: Float('0.75', 80)*e,
    lambda e: Float('0.1', 80)*e + Rational(1, 3),
    lambda e: acos(e/(e**2 + 3)), lambda e: asin(e/(e**2 + 3)),
    lambda e: Max(e, Rational(1, 5), y), lambda e: Heaviside(e - 1)*e]
BINARY = [
    lambda a, b: a + b, lambda a, b: a + b, lambda a, b: a - b,
    lambda a, b: a*b, lambda a, b: a*b, lambda a, b: a/(b**2 + 2),
    lambda a, b: (a + b)*(a - b), lambda a, b: (a - b)**2,
    lambda a, b: sin(a + b), lambda a, b: atan2(a, b**2 + 1),
    lambda a, b: (a**2 + 1)**(b/5), Min, Max, branches,
    lambda a, b: Piecewise((a, x*z < y), (b**2, True))]
# An expression with the same value in another form, or nearly so.
REWRITTEN = [
    expand, expand_trig, lambda e: -(-e/3)*3, lambda e: (e + x) - x,
    lambda e: sin(y)**2*e + cos(y)**2*e,
    lambda e: e if e.has(Piecewise) else together(e + 1/(z + 9)),
    lambda e: e + Rational(1, 10**9), lambda e: e*(1 + Float('1e-12', 80)),
    lambda e: sqrt(e**2 + 4)**2, lambda e: (e*y + e*z)/(y + z),
    lambda e: factor(e) if e.is_polynomial(*NAMES) else e]


def expression(random, known, depth):
    """A random real function that uses parts of the ``known`` ones."""
    if depth == 0 or random.random() < 0.1:
        return random.choice([*NAMES, S(random.randint(-3, 3))/2])
    if known and random.random() < 0.15:
        return random.choice(known)
    if random.random() < 0.45:
        return random.choice(UNARY)(expression(random, known, depth - 1))
    return random.choice(BINARY)(expression(random, known, depth - 1),
                                 expression(random, known, depth - 1))


def expressions(seed):
    """A batch of random expressions."""
    random = Random(f'graph {seed}')
    found = []
    while len(found) < BATCH:
        if found and random.random() < 0.2:
            e = random.choice(REWRITTEN)(random.choice(found))
        else:
            e = expression(random, found, 4)
        if e.is_finite is not False and e.free_symbols and (
                e.count_ops() < 120):
            found.append(e)
    return found


def point(seed):
    random = Random(f'point {seed}')
    return {name: Rational(random.randint(-2000, 2000), 997) for name in NAMES}


def step(a, middle):
    return mp.mpf(a > 0) if a else middle


FUNCTIONS = {Abs: abs, Max: max, Min: min, DiracDelta: lambda *_: mp.mpf(0),
             Heaviside: step}


def value(e, values, memo=None):
    """The value of a SymPy expression, with SymPy's meaning of functions.

    Not ``evalf``, which thinks about the conditions of nested branches for
    hours; that the two agree has a test of its own. Impulses are left out, as
    on the graph.
    """
    memo = {} if memo is None else memo

    def of(part):
        return value(part, values, memo)

    if e in memo:
        return memo[e]
    if e in values:
        found = mp.mpf(values[e].p)/values[e].q
    elif isinstance(e, Rational):
        found = mp.mpf(e.p)/e.q
    elif e.is_number and not e.args:
        found = mp.mpmathify(e.evalf(DIGITS + 30))
    elif isinstance(e, Piecewise):
        found = next(of(branch) for branch, condition in e.args
                     if condition == True                       # noqa: E712
                     or condition.func(*(Float(of(a), DIGITS + 15)
                                         for a in condition.args)))
    elif isinstance(e, Derivative):             # an impulse, too
        assert e.expr.func == sign
        found = mp.mpf(0)
    elif isinstance(e, Add):
        found = mp.fsum(map(of, e.args))
    elif isinstance(e, Mul):
        found = mp.fprod(map(of, e.args))
    elif isinstance(e, Pow):
        found = mp.power(*map(of, e.args))
    else:
        found = FUNCTIONS.get(e.func, getattr(mp, e.func.__name__, None))(
            *map(of, e.args))
    memo[e] = found
    return found


def read_all(found, seed=0):
    """A frozen graph of the expressions and of their references."""
    g = GraphBuilder(t, seed)
    for name in NAMES:
        g.input(name)
    return g, [read(g, e) for e in found]


def frozen(g, refs):
    return Graph.freeze(g, {'f': ([[ref] for ref in refs], 1)})


def same(found, wanted, digits=DIGITS - 10):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert abs(a - b) <= mp.mpf(10)**-digits*(1 + abs(b)), (a, b)


@batches
def test_values_are_those_of_sympy(seed):
    found = expressions(seed)
    g, refs = read_all(found)
    graph = frozen(g, refs)
    some = frozen(g, refs[:5])
    again = Graph.of({'f': some.sympy('f')}, t)
    for k in range(2):
        values = point(f'{seed} {k}')
        with mp.workdps(DIGITS + 15):
            wanted = [value(e, values) for e in found]
            for one in (graph, again):
                rows = one.evaluate(values, context=mp)['f']
                same([row[0] for row in rows], wanted[:len(rows)])
            # Equal references must have equal values, and no others.
            for i, j in ((i, j) for i in range(BATCH) for j in range(i)):
                if refs[i] == refs[j]:
                    same([wanted[i]], [wanted[j]], DIGITS - 5)
                if refs[i] == -refs[j]:
                    same([wanted[i]], [-wanted[j]], DIGITS - 5)


@pytest.mark.parametrize('seed', range(3))
def test_the_values_here_are_those_of_evalf(seed):
    values, count = point(seed), 0
    for e in expressions(seed):
        if not e.has(Piecewise, Max, Min, Heaviside, sign, Abs):
            with mp.workdps(DIGITS + 15):
                same([value(e, values)],
                     [mp.mpmathify(e.subs(values).evalf(DIGITS + 15))])
            count += 1
    assert count


@batches
def test_derivatives_are_those_of_sympy(seed):
    found = expressions(seed)[::3]
    values = point(f'{seed} slope')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')         # impulses are left out
        g, refs = read_all(found)
        inputs = [g.bound[name] for name in NAMES]
        slopes = [gradient(g, ref, inputs) for ref in refs]
    graph = frozen(g, [slope for row in slopes for slope in row])
    with mp.workdps(DIGITS + 15):
        wanted = [value(diff(e, name), values)
                  for e in found for name in NAMES]
        same([row[0] for row in graph.evaluate(values, context=mp)['f']],
             wanted)


@batches
def test_another_seed_gives_the_same_graph(seed):
    found = expressions(seed)
    one, other = (frozen(*read_all(found, s)) for s in (0, 77))
    assert one.nodes == other.nodes
    assert one.templates == other.templates


SCRIPT = '''
import sys
sys.path[:0] = [%r, %r]
from property.test_graph_fuzz import *
for seed in range(4):
    graph = frozen(*read_all(expressions(seed)))
    print(graph.nodes, graph.templates, graph._refs)
'''


@pytest.mark.slow
def test_another_hash_salt_gives_the_same_graph():
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    script = SCRIPT % (root, os.path.join(root, 'tests'))
    texts = {subprocess.run(
        [sys.executable, '-c', script], check=True, capture_output=True,
        text=True, env={**os.environ, 'PYTHONHASHSEED': salt}).stdout
        for salt in '123'}
    assert len(texts) == 1 and len(texts.pop()) > 1000
