"""Linear systems on the graph, with pivots tested by value.

Pivots neither vanish identically nor, if the builder knows states of the
constraint set (:class:`.GraphBuilder`), on the constraints. The numeric layer
checks them at every other state.
"""
from functools import cache

from sympy.utilities.iterables import connected_components

from .pivots import Pivots, is_constant

# The largest block that is solved by cofactors at once.
COFACTORS = 4


def solve(builder, matrix, right, divisors=None):
    """Solution of a square system, or None if it is singular.

    Constant pivots are eliminated first. The rest is split into the connected
    blocks of its pattern. Small blocks are solved by cofactors: the only
    divisor is the determinant, so the solution has numbers wherever the block
    is regular. Larger ones are solved by :func:`lu_solve`. The list
    ``divisors`` receives the factors of the determinant that may move.
    """
    work, solved = Elimination(builder, matrix, right), {}
    while (pivot := work.constant_pivot()) is not None:
        work.eliminate(*pivot)
    # In the pattern a column has the number of its complement.
    pattern = [*work.rows, *(~j for j in work.columns)], [
        (i, ~j) for i in work.rows for j in work.columns
        if work.entries[i][j]]
    for part in connected_components(pattern):
        some = sorted(i for i in part if i >= 0)
        block = sorted(~j for j in part if j < 0)
        if len(some) != len(block):
            return None
        find = by_cofactors if len(block) <= COFACTORS else lu_solve
        x = find(builder, *work.part(some, block), divisors=divisors)
        if x is None:
            return None
        solved.update(zip(block, x))
    return work.solution(solved)


class Elimination:
    """Rows ``[A, b]``; ``rows`` and ``columns`` remain to be eliminated."""

    def __init__(self, builder, matrix, right):
        self.builder = builder
        self.size = len(right)
        self.entries = [[*row, value] for row, value in zip(matrix, right)]
        self.rows = list(range(self.size))
        self.columns = list(range(self.size))
        self.pivots = []

    def constant_pivot(self):
        """Row and column of the first number, None if there is none."""
        return next(((i, j) for i in self.rows for j in self.columns
                     if self.entries[i][j] and is_constant(
                         self.builder, self.entries[i][j])), None)

    def eliminate(self, i, j):
        """Solve row ``i`` for the unknown ``j``."""
        g, pivot_row = self.builder, self.entries[i]
        self.rows.remove(i)
        self.columns.remove(j)
        self.pivots.append((i, j))
        over = g.inv(pivot_row[j])
        for k in self.rows:
            row = self.entries[k]
            if row[j]:
                factor = g.mul(row[j], over)
                for c in (*self.columns, self.size):
                    row[c] = g.sub(row[c], g.mul(factor, pivot_row[c]))

    def part(self, rows, columns):
        """Matrix and right side of some rows and columns."""
        return ([[self.entries[i][j] for j in columns] for i in rows],
                [self.entries[i][self.size] for i in rows])

    def solution(self, solved):
        """All unknowns from the ``solved`` ones, those without a pivot."""
        g = self.builder
        for i, j in reversed(self.pivots):
            row = self.entries[i]
            known = g.sum(g.mul(row[c], x) for c, x in solved.items())
            solved[j] = g.div(g.sub(row[self.size], known), row[j])
        return [solved[j] for j in range(self.size)]


def by_cofactors(builder, matrix, right, divisors=None):
    """Solution of a small system, by the adjugate; None if singular."""
    size = len(right)

    @cache
    def minor(rows, columns):
        if not rows:
            return 1
        first = matrix[rows[0]]
        if len(rows) == 1:
            return first[columns[0]]
        return builder.sum(
            (1 if k % 2 == 0 else -1)*builder.mul(
                first[j], minor(rows[1:], columns[:k] + columns[k + 1:]))
            for k, j in enumerate(columns) if first[j])

    every = tuple(range(size))
    determinant = minor(every, every)
    if not determinant:
        return None
    if divisors is not None:
        divisors.append(determinant)
    adjugate = [[(1 if (i + j) % 2 == 0 else -1)*minor(
        every[:j] + every[j + 1:], every[:i] + every[i + 1:])
        for j in range(size)] for i in range(size)]
    return [builder.div(builder.dot(row, right), determinant)
            for row in adjugate]


def lu_solve(builder, matrix, right, chosen=None, divisors=None):
    """Solution of a square system, or None if it is singular.

    Preferred pivots are one, numbers, entries that do not move, and entries
    with few nonzeros in their row and column, all of them not small at any of
    the builder's states; see :class:`Pivots`. Without such a pivot the rest is
    solved by cofactors, unless it is large. The list ``chosen`` receives row,
    column and value of each pivot.
    """
    work, solved = Elimination(builder, matrix, right), {}
    key = tuple(map(tuple, matrix))
    order = builder.pivots.get(key)
    look = Pivots(builder, matrix) if order is None else None
    while work.rows:
        pivot = look.next(work) if look else order[len(work.pivots)]
        if pivot is None:
            x = by_cofactors(builder, *work.part(work.rows, work.columns),
                             divisors)
            if x is None:
                return None
            solved.update(zip(work.columns, x))
            break
        value = work.entries[pivot[0]][pivot[1]]
        if chosen is not None:
            chosen.append((*pivot, value))
        if divisors is not None:
            divisors.append(value)
        work.eliminate(*pivot)
    builder.pivots[key] = [*work.pivots, None]
    return work.solution(solved)


def ldl_order(matrix, rows=()):
    """An order of elimination of a symmetric matrix that keeps zeros.

    The next index is the first one with the fewest neighbours, among them
    those in further ``rows``.
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
    """``L`` (unit lower) and the inverses of ``D`` of ``L*D*L^T``.

    For symmetric matrices such as positive definite ones; None if a natural
    pivot vanishes identically.
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
    """``x - a*b``, term by term: each is one fused operation."""
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
        self.columns = list(zip(*self.C)) if F else []
        self.factor = ldl_factor(builder, [
            [builder.dot(x, y) for y in self.columns] for x in self.columns])

    def reduced(self, b):
        """``C^+*b``, one entry per independent row."""
        return ldl_solve(self.builder, self.factor, [
            self.builder.dot(column, b) for column in self.columns])

    def spread(self, lam):
        """Multipliers of least norm, one per row of ``A``."""
        y = ldl_solve(self.builder, self.factor, lam)
        return [self.builder.dot(row, y) for row in self.C]
