"""Linear systems on the graph, with pivots tested by value.

A pivot is zero here only if it vanishes identically, as far as the value
numbering sees. That it does not vanish at a given state, or on the
constraints, is for the numeric layer to check.
"""
from __future__ import annotations

from .builder import CONST

__all__ = ['solve', 'lu_solve', 'ldl_order', 'ldl_factor', 'less',
           'ldl_forward', 'ldl_backward', 'ldl_solve',
           'FullRankFactorization']

# Larger blocks are solved by elimination.
COFACTORS = 4


def solve(builder, matrix, right):
    """Solution of a square system, or None if it is singular.

    Constant pivots are eliminated first. What is left is split into the
    connected blocks of its pattern, and small blocks are solved by cofactors:
    the only divisor is the determinant, so that the solution has numbers
    wherever the block is regular. A pivot of an elimination, by which larger
    blocks are solved, may vanish at regular states.

    Examples
    ========

    >>> from sympy.abc import x
    >>> from sympy_constrained.graph import GraphBuilder
    >>> from sympy_constrained.graph.linalg import solve
    >>> g = GraphBuilder()
    >>> s, c = g.sincos(g.input(x))
    >>> solve(g, [[c, s], [-s, c]], [c, -s]) == [1, 0]
    True

    """
    size = len(right)
    matrix, right = [list(row) for row in matrix], list(right)
    rows, columns, pivots = set(range(size)), set(range(size)), []
    while True:                         # constants can always be pivots
        pivot = next(((i, j) for i in sorted(rows) for j in sorted(columns)
                      if matrix[i][j] and is_constant(builder, matrix[i][j])
                      ), None)
        if pivot is None:
            break
        i, j = pivot
        rows.remove(i)
        columns.remove(j)
        pivots.append(pivot)
        over = builder.inv(matrix[i][j])
        for k in rows:
            if not matrix[k][j]:
                continue
            factor = builder.mul(matrix[k][j], over)
            for c in columns:
                matrix[k][c] = builder.sub(
                    matrix[k][c], builder.mul(factor, matrix[i][c]))
            right[k] = builder.sub(right[k], builder.mul(factor, right[i]))
    solution = {}
    while rows:
        some, block = connected(matrix, min(rows), rows, columns)
        rows -= some
        columns -= block
        if len(some) != len(block):
            return None
        some, block = sorted(some), sorted(block)
        part = [[matrix[i][j] for j in block] for i in some]
        find = by_cofactors if len(block) <= COFACTORS else lu_solve
        found = find(builder, part, [right[i] for i in some])
        if found is None:
            return None
        solution.update(zip(block, found))
    if columns:
        return None
    for i, j in reversed(pivots):
        known = builder.sum(builder.mul(matrix[i][c], x)
                            for c, x in solution.items())
        solution[j] = builder.div(builder.sub(right[i], known), matrix[i][j])
    return [solution[j] for j in range(size)]


def is_constant(builder, ref):
    """Whether a reference is a number."""
    return builder.nodes[abs(ref)][0] == CONST


def connected(matrix, first, rows, columns):
    """Rows and columns that are connected with the first row by entries."""
    some, block, waiting = {first}, set(), [first]
    while waiting:
        i = waiting.pop()
        new = {j for j in columns if matrix[i][j]} - block
        block |= new
        for k in rows - some:
            if any(matrix[k][j] for j in new):
                some.add(k)
                waiting.append(k)
    return some, block


def by_cofactors(builder, matrix, right):
    """Solution of a small system, by the adjugate; None if singular."""
    size = len(right)

    def minor(m):
        if not m:
            return 1
        if len(m) == 1:
            return m[0][0]
        return builder.sum(
            (1 if j % 2 == 0 else -1)*builder.mul(
                m[0][j], minor([row[:j] + row[j + 1:] for row in m[1:]]))
            for j in range(len(m)) if m[0][j])

    determinant = minor(matrix)
    if not determinant:
        return None
    adjugate = [[(1 if (i + j) % 2 == 0 else -1)*minor(
        [row[:i] + row[i + 1:] for k, row in enumerate(matrix) if k != j])
        for j in range(size)] for i in range(size)]
    return [builder.div(builder.dot(row, right), determinant)
            for row in adjugate]


def lu_solve(builder, matrix, right, chosen=None):
    """Solution of a square system, or None if it is singular.

    Pivots: one first, then constants, then the entry with the fewest
    nonzeros in its row and column. The list ``chosen`` takes row, column and
    value of each.

    Examples
    ========

    >>> from sympy_constrained.graph import GraphBuilder
    >>> from sympy_constrained.graph.linalg import lu_solve
    >>> g = GraphBuilder()
    >>> two = g.constant(2)
    >>> lu_solve(g, [[0, two], [1, 1]], [two, two])
    [1, 1]

    """
    size = len(right)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    left_rows, left_columns, pivots = list(range(size)), list(range(size)), []
    while left_rows:
        best = None
        for i in left_rows:
            filled = sum(map(bool, (rows[i][j] for j in left_columns)))
            for j in left_columns:
                entry = rows[i][j]
                if not entry:
                    continue
                column = sum(bool(rows[k][j]) for k in left_rows)
                rank = (abs(entry) != 1,
                        builder.nodes[abs(entry)][0] != CONST,
                        (filled - 1)*(column - 1), i, j)
                if best is None or rank < best:
                    best = rank
        if best is None:
            return None
        i, j = best[-2:]
        left_rows.remove(i)
        left_columns.remove(j)
        pivots.append((i, j))
        if chosen is not None:
            chosen.append((i, j, rows[i][j]))
        over = builder.inv(rows[i][j])
        for k in left_rows:
            if not rows[k][j]:
                continue
            factor = builder.mul(rows[k][j], over)
            for c in [*left_columns, size]:
                rows[k][c] = builder.sub(
                    rows[k][c], builder.mul(factor, rows[i][c]))
    solved = {}
    for i, j in reversed(pivots):
        known = builder.sum(builder.mul(rows[i][c], x)
                            for c, x in solved.items())
        solved[j] = builder.div(builder.sub(rows[i][size], known), rows[i][j])
    return [solved[j] for j in range(size)]


def ldl_order(matrix, rows=()):
    """An order of elimination of a symmetric matrix that keeps zeros.

    Next comes what has the fewest neighbours, those in ``rows`` beside the
    matrix counted, and the first of these.

    Examples
    ========

    >>> from sympy_constrained.graph.linalg import ldl_order
    >>> ldl_order([[1, 1, 1], [1, 1, 0], [1, 0, 1]])
    [1, 0, 2]

    """
    size = len(matrix)
    near = [{j for j in range(size) if j != i and matrix[i][j]}
            | {size + k for k, row in enumerate(rows) if row[i]}
            for i in range(size)]
    order, left = [], set(range(size))
    while left:
        i = min(left, key=lambda k: (len(near[k]), k))
        left.remove(i)
        order.append(i)
        for k in near[i] & left:
            near[k] = (near[k] | near[i]) - {i, k}
    return order


def ldl_factor(builder, matrix):
    """``L`` (unit lower) and the inverses of ``D`` of ``L*D*L^T``, or None.

    For symmetric matrices whose natural pivots do not vanish, e.g. positive
    definite ones. None if a pivot vanishes identically.
    """
    size = len(matrix)
    lower = [[0]*i for i in range(size)]
    work = [[0]*i for i in range(size)]         # L*D
    inverses = []
    for i in range(size):
        for j in range(i):
            work[i][j] = less(builder, matrix[i][j], work[i], lower[j])
            lower[i][j] = builder.mul(work[i][j], inverses[j])
        pivot = less(builder, matrix[i][i], work[i], lower[i])
        if not pivot:
            return None
        inverses.append(builder.inv(pivot))
    return lower, inverses


def less(builder, x, a, b):
    """``x - a*b``, term by term: each is one operation of a processor."""
    for left, right in zip(a, b):
        x = builder.sub(x, builder.mul(left, right))
    return x


def ldl_forward(builder, factor, right):
    """``L^-1`` times one right side."""
    x = []
    for row, value in zip(factor[0], right):
        x.append(less(builder, value, row, x))
    return x


def ldl_backward(builder, factor, right):
    """``L^-T`` times one right side."""
    x = list(right)
    for i in reversed(range(len(x))):
        for j in range(i):
            x[j] = builder.sub(x[j], builder.mul(factor[0][i][j], x[i]))
    return x


def ldl_solve(builder, factor, right):
    """Solution for one right side of a factored system."""
    x = ldl_forward(builder, factor, right)
    return ldl_backward(builder, factor, [
        builder.mul(a, d) for a, d in zip(x, factor[1])])


class FullRankFactorization:
    """``A = C*F`` with independent rows ``F``, on the graph.

    ``C = A*F^T*(F*F^T)^-1``. It gives ``C^+*b = (C^T*C)^-1*C^T*b`` for the
    reduced constraints and ``lam = C*(C^T*C)^-1*lam_F``, the multipliers of
    least norm with ``A^T*lam = F^T*lam_F``.
    """

    def __init__(self, builder, A, F):
        self.builder = builder
        gram = [[builder.dot(x, y) for y in F] for x in F]
        factor = ldl_factor(builder, gram) if F else ([], [])
        self.C = [ldl_solve(builder, factor, [builder.dot(row, y) for y in F])
                  for row in A]
        columns = list(zip(*self.C)) if F else []
        self.columns = columns
        self.factor = ldl_factor(builder, [
            [builder.dot(x, y) for y in columns] for x in columns])

    def reduced(self, b):
        """``C^+*b``, one entry per independent row."""
        return ldl_solve(self.builder, self.factor, [
            self.builder.dot(column, b) for column in self.columns])

    def spread(self, lam):
        """Multipliers of least norm, one per row of ``A``."""
        y = ldl_solve(self.builder, self.factor, lam)
        return [self.builder.dot(row, y) for row in self.C]
