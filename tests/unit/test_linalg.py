"""``L D L^T`` on the graph, in an order that keeps zeros."""
import pytest
from sympy import Matrix, Rational, symbols

from sympy_constrained.graph import Graph, GraphBuilder
from sympy_constrained.graph.linalg import (
    ldl_backward, ldl_factor, ldl_forward, ldl_order, ldl_solve)

ARROW = [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]


def symmetric(pattern):
    """References of a symmetric matrix, its builder, and the same matrix."""
    g, size = GraphBuilder(), len(pattern)
    names = symbols(f'm:{size}:{size}')
    M = Matrix(size, size, lambda i, j: names[
        size*min(i, j) + max(i, j)] if pattern[i][j] else 0)
    return g, [[g.input(x) if x else 0 for x in M.row(i)]
               for i in range(size)], M


def values(M, rng):
    """Rational numbers that make the matrix positive definite."""
    size = M.rows
    found = {x: Rational(rng.randint(1, 9), 7)
             for x in sorted(M.free_symbols, key=str)}
    return found | {M[i, i]: 2*size + Rational(i, 3) for i in range(size)}


@pytest.mark.parametrize('pattern', [
    ARROW, [[1]*4]*4, [[1, 0], [0, 1]], [[1]],
    [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]])
def test_the_solution(pattern, rng):
    g, refs, M = symmetric(pattern)
    right = symbols(f'r:{len(refs)}')
    factor = ldl_factor(g, refs)
    z = ldl_solve(g, factor, [g.input(x) for x in right])
    halfway = ldl_forward(g, factor, [g.input(x) for x in right])
    again = ldl_backward(g, factor, [
        g.mul(x, d) for x, d in zip(halfway, factor[1])])
    assert again == z
    graph = Graph.freeze(g, {'z': ([[x] for x in z], 1)})
    here = values(M, rng) | {x: Rational(k + 2, 5)
                             for k, x in enumerate(right)}
    found = Matrix(graph.sympy('z')).xreplace(here)
    assert M.xreplace(here)*found == Matrix(right).xreplace(here)


def test_a_pivot_that_vanishes():
    g, refs, _ = symmetric([[1, 1], [1, 1]])
    assert ldl_factor(g, [[refs[0][0], refs[0][0]]]*2) is None


def test_the_order_keeps_zeros():
    """The hub of an arrow comes when no more than two are left."""
    order = ldl_order(ARROW)
    assert order == [1, 2, 0, 3]
    g, refs, _ = symmetric(ARROW)
    for use, filled in ((order, 3), (range(4), 6)):
        lower, _ = ldl_factor(g, [[refs[i][j] for j in use] for i in use])
        assert sum(map(bool, sum(lower, []))) == filled


def test_the_order_minds_other_rows():
    """Three rows beside the matrix want the second one later."""
    assert ldl_order(ARROW, [[0, 1, 0, 0]]*3)[:2] == [2, 3]
    assert ldl_order([], []) == []


def test_the_order_of_equals_is_theirs():
    assert ldl_order([[1]*5]*5) == [0, 1, 2, 3, 4]
