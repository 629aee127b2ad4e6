"""Pivots of eliminations on the graph, chosen by their values at states."""
from collections import Counter

from .nodes import CONST
from .graph import Graph

# The largest remainder that is solved by cofactors where no pivot is good.
MOST_COFACTORS = 6
# The least share of a good pivot in the largest entry of its row or column.
GOOD = 1e-3
# A row or a column with less than this is dependent: the state is singular.
SINGULAR = 1e-10


def is_constant(builder, ref):
    return builder.nodes[abs(ref)][0] == CONST


class Pivots:
    """Chooses the pivots of an elimination by their values at states.

    The matrix is eliminated in floats, too. A pivot that is not constant has
    to be good at all states where the matrix is regular, see ``GOOD``. Pivots
    of a symmetric matrix that is definite there are on the diagonal.
    """

    def __init__(self, builder, matrix):
        numbers = numbers_of(builder, matrix)
        at_rest = numbers_of(builder, matrix, at_rest=True)
        lowest = [*map(lowest_pivot, numbers), *(
            x for x in map(lowest_pivot, at_rest) if x > SINGULAR)]
        self.builder = builder
        self.on_diagonal = (
            any(x > SINGULAR for x in lowest) and min(lowest) > -SINGULAR
            and all(matrix[i][j] == matrix[j][i]
                    for i in range(len(matrix)) for j in range(i)))
        self.numbers = list(map(scaled, (*numbers, *at_rest)))

    def next(self, work):
        """Row and column of a pivot; None if cofactors are better."""
        self._leave_singular_states(work.rows, work.columns)
        best = min(self._ranks(work), default=None)
        if best is None or best[0] and len(work.rows) <= MOST_COFACTORS:
            return None
        i, j = best[-2:]
        self.numbers = [x for x in self.numbers if x[i][j]]
        for x in self.numbers:
            eliminate_number(x, i, j, work.rows)
        return i, j

    def _ranks(self, work):
        """Ranks of possible pivots, with row and column, the best lowest."""
        filled = [(i, j) for i in work.rows for j in work.columns
                  if work.entries[i][j]]
        in_row, in_column = map(Counter, zip(*filled)) if filled else ({}, {})
        return ((*self._rank(work.entries[i][j], i, j),
                 (in_row[i] - 1)*(in_column[j] - 1), i, j)
                for i, j in filled if i == j or not self.on_diagonal)

    def _rank(self, entry, i, j):
        """What is preferred in a pivot, the lowest first."""
        g = self.builder
        constant = is_constant(g, entry)
        return (0 if constant else self._smallness(i, j), abs(entry) != 1,
                not constant, bool(g.depends[abs(entry)] & g.dynamic))

    def _leave_singular_states(self, left_rows, left_columns):
        """Drop them, and find the largest entries at the others."""
        self.largest = []
        for x in self.numbers:
            rows = {i: max(abs(x[i][j]) for j in left_columns)
                    for i in left_rows}
            columns = {j: max(abs(x[i][j]) for i in left_rows)
                       for j in left_columns}
            if min(*rows.values(), *columns.values()) > SINGULAR:
                self.largest.append((x, rows, columns))
        self.numbers = [x for x, *_ in self.largest]

    def _smallness(self, i, j):
        """Zero for a good pivot, up to one for a bad one."""
        if self.on_diagonal:
            return 0
        share = min((abs(x[i][j])/min(rows[i], columns[j])
                     for x, rows, columns in self.largest), default=1)
        return 0 if share >= GOOD else 1 - share


def numbers_of(builder, matrix, **options):
    """A matrix in floats, at each of the builder's states."""
    if builder.at_states is None or not matrix:
        return []
    return builder.at_states(Graph.freeze(
        builder, {'matrix': (matrix, len(matrix[0]))}), 'matrix', **options)


def pivot_columns(builder, matrix):
    """Columns, one for each of some independent rows, to solve for.

    The preference is: good at all of the builder's states, see ``GOOD``; then
    constant; then good where all coordinates are zero.
    """
    states = list(map(scaled, numbers_of(builder, matrix))) or [
        [list(map(builder.shadow, row)) for row in matrix]]
    rest = list(map(scaled, numbers_of(builder, matrix, at_rest=True)))
    rows, columns = list(range(len(matrix))), []

    def quality(place):
        i, j = place
        least = share(states, i, j)
        return (min(least, GOOD), bool(matrix[i][j]) and is_constant(
            builder, matrix[i][j]), min(share(rest, i, j), GOOD), least, -j)

    while rows:
        i, j = max(((i, j) for i in rows for j in range(len(matrix[0]))
                    if j not in columns), key=quality)
        rows.remove(i)
        columns.append(j)
        rest = [x for x in rest if x[i][j]]
        for x in states + rest:
            if x[i][j]:
                eliminate_number(x, i, j, rows)
    return sorted(columns)


def share(matrices, i, j):
    """The least size of an entry relative to the largest one of its row."""
    return min((abs(x[i][j])/(max(map(abs, x[i])) or 1)
                for x in matrices), default=1)


def eliminate_number(x, i, j, rows):
    """Subtract multiples of row ``i`` so that others are zero at ``j``."""
    for k in rows:
        factor = x[k][j]/x[i][j]
        if k != i and factor:
            x[k] = [a - factor*b for a, b in zip(x[k], x[i])]


def scaled(matrix):
    """Rows, then columns divided by their largest entries."""
    for _ in range(2):
        sizes = [max(map(abs, row)) or 1 for row in matrix]
        matrix = list(zip(*([x/size for x in row]
                            for row, size in zip(matrix, sizes))))
    return list(map(list, matrix))


def lowest_pivot(matrix):
    """The lowest pivot of a symmetric matrix, relative to its diagonal."""
    size = [abs(row[i])**0.5 for i, row in enumerate(matrix)]
    if not all(size):
        return -1
    x = [[entry/(size[i]*size[j]) for j, entry in enumerate(row)]
         for i, row in enumerate(matrix)]
    lowest = 1
    for k, row in enumerate(x):
        lowest = min(lowest, row[k])
        if lowest < SINGULAR:
            break
        eliminate_number(x, k, k, range(k + 1, len(x)))
    return lowest
