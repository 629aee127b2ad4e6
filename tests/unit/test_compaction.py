"""Compaction: the same values with fewer operations."""
import pytest
from sympy import Add, cos, exp, sin, sqrt, symbols

from sympy_constrained.graph import Graph, GraphBuilder, read
from sympy_constrained.graph.nodes import ADD, CALL, CONST, INPUT, MUL
from sympy_constrained.graph.reading import SLOTS

a, b, c, d, x, y = symbols('a b c d x y')


def frozen(builder, refs):
    return Graph.freeze(builder, {
        name: ([[ref]], 1) for name, ref in refs.items()})


def compacted(*expressions):
    builder = GraphBuilder()
    graph = Graph.freeze(builder, {
        'f': ([[read(builder, e)] for e in expressions], 1)})
    return graph, graph.compacted()


def random_graph(rng, size):
    """Sums and products of few things, so that much is in common."""
    g = GraphBuilder()
    refs = [g.input(s) for s in (a, b, c)] + [g.constant(2), g.sincos(1)[0]]
    for _ in range(size):
        one, other = (rng.choice((1, 1, -1))*rng.choice(refs[-12:] + refs[:5])
                      for _ in range(2))
        kind = rng.random()
        refs.append(
            g.add(one, other) if kind < 0.55 else g.mul(one, other)
            if kind < 0.94 or not one else g.sincos(one)[rng.randrange(2)]
            if kind < 0.97 else g.inv(one) if kind < 0.99
            else g.call(exp(SLOTS[0]), [one]))
    return g, {f'r{i}': rng.choice(refs[-20:]) for i in range(6)}


@pytest.mark.parametrize('size', [8, 20, 50, 120])
def test_values_are_the_same_by_reference(rng, size):
    """Loaded into their builder, the new nodes are the old ones.

    A number is another one if inputs cancel in the old one.
    """
    saved = 0
    for _ in range(60):
        g, refs = random_graph(rng, size)
        graph = frozen(g, refs)
        some = rng.sample(list(refs), 3)
        for names in (None, some):
            less = graph.compacted(names)
            _, out = less.load(g)
            for name, ref in refs.items():
                new = out[name][0][0]
                assert new == ref or not g.depends[abs(new)] and (
                    g.fingerprint(new) == g.fingerprint(ref))
            gain = (graph.operation_count(names) - less.operation_count(names))
            assert gain >= 0
            saved += gain
    assert saved > 0


def test_nodes_keep_their_invariants(rng):
    for _ in range(60):
        nodes = frozen(*random_graph(rng, 60)).compacted().nodes
        assert len(set(nodes)) == len(nodes)
        for k, (kind, i, j) in enumerate(nodes):
            if kind in (ADD, MUL):
                assert 0 < i < k and abs(j) < k and j
                assert kind == ADD or j > 0
            elif kind == CALL:
                assert all(abs(z) < k for z in j)
            elif kind not in (CONST, INPUT):
                assert 0 < i < k


@pytest.mark.parametrize('expressions, before, after', [
    ([a*x + b*x], 3, 2),
    ([a*x - b*x + c*y*x], 6, 4),
    ([a*x + b*x + c*y + d*y], 7, 5),
    ([a + b + c, c + b + d, b + c], 5, 3),
    ([a + b - c, d - b + c, c - b], 5, 3),
    ([a*b*c, c*b*d, b*c], 5, 3),
    ([sin(x)*a*cos(y) + sin(x)*cos(y)*b], 8, 5),
    ([2*x + 2*y], 3, 2),
    ([a*sqrt(x) + b*sqrt(x), sqrt(x)], 4, 3),])
def test_what_is_common_is_computed_once(expressions, before, after):
    graph, less = compacted(*expressions)
    assert graph.operation_count() <= before
    assert less.operation_count() == after


@pytest.mark.parametrize('function', [sin, cos, lambda z: 1/z])
def test_a_sum_whose_negative_is_in_common(function):
    graph, less = compacted(a - b + c, function(b - a - d))
    assert (graph.operation_count(), less.operation_count()) == (5, 4)
    values = {a: 2, b: 5, c: 11, d: 7}
    assert less.evaluate(values)['f'] == graph.evaluate(values)['f'] == [
        [8], [function(-4.)]]


def test_a_sum_of_thousands(rng):
    """Every factor is taken out once, in whatever order."""
    factors, others = symbols('f0:500'), symbols('g0:2000')
    terms = [factors[i//4]*other for i, other in enumerate(others)]
    rng.shuffle(terms)
    _, less = compacted(Add(*terms, evaluate=False))
    assert less.operation_count() == 500 + 500*3 + 499


def test_products_that_others_use_are_left_alone():
    graph, less = compacted(a*x + b*x, a*x, b*x)
    assert less.operation_count() == graph.operation_count() == 3


def test_other_outputs_may_use_what_was_taken_apart():
    g = GraphBuilder()
    graph = frozen(g, {'few': read(g, a*x + b*x + y), 'other': read(g, a*x)})
    less = graph.compacted(['few'])
    assert less.operation_count(['few']) == 3
    assert less.load(g)[1] == graph.load(g)[1]
