"""Random expressions: the graph against SymPy's values.

They come in batches that one builder reads, so that each meets the nodes of
the others; a false merge gives one of them a wrong value.
"""
import os
import subprocess
import sys
import warnings
from math import isnan

import pytest
from mpmath import mp
from sympy import Rational, S, diff

from expressions import DIGITS, NAMES, expressions, point, same, value
from kkt import t
from sympy_constrained.graph import (
    Derivation, Graph, GraphBuilder, gradient, read)
from sympy_constrained.graph.calculus import (
    FingerprintDerivation, NumericDerivation)
from sympy_constrained.graph.nodes import PRIME

BATCH = 20
ALONG = 1, Rational(-2, 3), Rational(1, 7)     # a direction
BATCHES = 100               # 2000 expressions, of which the normal run has
QUICK = 4                   # so many batches


def share(count, quick):
    """Seeds, of which most are for the slow run."""
    return [pytest.param(i, marks=[] if i < quick else pytest.mark.slow)
            for i in range(count)]


batches = pytest.mark.parametrize('seed', share(BATCHES, QUICK))


def read_all(found, seed=0):
    """A frozen graph of the expressions and of their references."""
    g = GraphBuilder(t, seed)
    for name in NAMES:
        g.input(name)
    return g, [read(g, e) for e in found]


def frozen(g, refs):
    return Graph.freeze(g, {'f': ([[ref] for ref in refs], 1)})


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


@batches
def test_derivatives_are_those_of_sympy(seed):
    found = expressions(seed)[::3]
    values = point(f'{seed} slope')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')         # impulses are left out
        g, refs = read_all(found)
        inputs = [g.bound[name] for name in NAMES]
        slopes = [gradient(g, ref, inputs) for ref in refs]
        along = Derivation(g, dict(zip(inputs, (read(g, S(d)) for d in ALONG)
                                       )))
        slopes.append(list(map(along, refs)))
        numbers = map(NumericDerivation(
            g, {x: g.shadow(along(x)) for x in inputs}), refs)
        fingerprints = [*map(FingerprintDerivation(
            g, {x: along(x) for x in inputs}), refs)]
    for fingerprint, slope in zip(fingerprints, slopes[-1]):
        assert fingerprint % PRIME == g.fingerprint(slope) or isnan(
            fingerprint)                # of some functions
    for number, slope in zip(numbers, slopes[-1]):
        wanted = g.shadow(slope)        # nan for some functions
        assert not abs(number - wanted) > 1e-9*(1 + abs(wanted))
    graph = frozen(g, [slope for row in slopes for slope in row])
    with mp.workdps(DIGITS + 15):
        wanted = [[value(diff(e, name), values) for name in NAMES]
                  for e in found]
        wanted.append([mp.fdot(row, map(mp.mpmathify, ALONG))
                       for row in wanted])
        same([row[0] for row in graph.evaluate(values, context=mp)['f']],
             sum(wanted, []))


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
