"""Matrices of references, written as on paper."""
from sympy import Integer, MatrixBase

from ..errors import check_kind
from .reading import read


class GraphMatrix:
    """A matrix on the graph with ``@``, ``.T``, ``+``, ``-`` and ``*``.

    ``rows`` are lists of references; a matrix without rows needs ``columns``.
    ``M[rows]`` and ``M[:, columns]`` select by an index, a list of indices or
    a slice, and return a matrix.
    Factors of ``*`` are SymPy expressions or numbers.

    Examples
    ========

    >>> from sympy.abc import x
    >>> from sympy_constrained.graph import Graph, GraphBuilder, GraphMatrix
    >>> g = GraphBuilder()
    >>> r = g.input(x)
    >>> A = GraphMatrix(g, [[1, r], [0, 1]])
    >>> product = 2*(A.T @ A) - A
    >>> Graph.freeze(g, {'B': product}).sympy('B')
    Matrix([
    [  1,         x],
    [2*x, 2*x**2 + 1]])
    """

    def __init__(self, builder, rows, columns=None):
        self.builder = builder
        self.rows = [list(row) for row in rows]
        if columns is None:
            columns = len(self.rows[0]) if self.rows else 0
        self.shape = len(self.rows), columns

    def __repr__(self):
        return f'<GraphMatrix of shape {self.shape}>'

    def _with(self, rows, columns):
        return GraphMatrix(self.builder, rows, columns)

    def __getitem__(self, where):
        rows, columns = where if isinstance(where, tuple) else (
            where, slice(None))
        rows, columns = (
            range(size)[chosen] if isinstance(chosen, slice) else
            [chosen] if isinstance(chosen, int) else chosen
            for chosen, size in zip((rows, columns), self.shape))
        return self._with([[self.rows[i][j] for j in columns] for i in rows],
                          len(columns))

    @property
    def T(self):
        """The transpose."""
        rows, columns = self.shape
        return self._with([[row[j] for row in self.rows]
                           for j in range(columns)], rows)

    def __matmul__(self, other):
        check(self, other, '@', lambda: self.shape[1] == other.shape[0])
        columns = other.T.rows
        return self._with([[self.builder.dot(row, column)
                            for column in columns] for row in self.rows],
                          other.shape[1])

    def __add__(self, other):
        check(self, other, '+', lambda: self.shape == other.shape)
        return self._with([[*map(self.builder.add, *rows)]
                           for rows in zip(self.rows, other.rows)],
                          self.shape[1])

    def __neg__(self):
        return self._with([[-x for x in row] for row in self.rows],
                          self.shape[1])

    def __sub__(self, other):
        return self + -other

    def __mul__(self, factor):
        if isinstance(factor, (GraphMatrix, MatrixBase)):
            raise TypeError("A factor of `*` is a scalar. Multiply matrices "
                            "by `@`.")
        factor = read(self.builder, factor)
        return self._with([[self.builder.mul(factor, x) for x in row]
                           for row in self.rows], self.shape[1])

    __rmul__ = __mul__


def check(left, right, operation, fits):
    if not isinstance(right, GraphMatrix):
        raise TypeError(
            f"`{operation}` needs two GraphMatrix objects, as those of "
            f"`system.blocks(...)`, and got {type(right).__name__}.")
    if not fits():
        raise ValueError(
            f"The shapes {left.shape} and {right.shape} do not fit for "
            f"`{operation}`. Transpose or select rows first.")


def as_column(builder, refs):
    return GraphMatrix(builder, [[x] for x in refs], 1)


def stack(*blocks):
    """One matrix of blocks with equal columns, one below the other."""
    return block_matrix([[block] for block in blocks])


def block_matrix(blocks):
    """One matrix of rows of blocks; None or 0 is a block of zeros."""
    blocks = [list(row) for row in blocks]
    if len({*map(len, blocks)}) != 1:
        raise TypeError(
            f"`blocks` has rows of {', '.join(map(str, map(len, blocks)))} "
            "blocks. Give rows of the same number of GraphMatrix objects.")
    # Every row and every column needs a matrix, which gives the size.
    heights = [size_of(row, 0) for row in blocks]
    widths = [size_of(column, 1) for column in zip(*blocks)]
    rows = []
    for height, row in zip(heights, blocks):
        filled = [rows_of(block, (height, width))
                  for block, width in zip(row, widths)]
        rows += [sum(parts, []) for parts in zip(*filled)]
    builder = next(x.builder for x in blocks[0] if isinstance(x, GraphMatrix))
    return GraphMatrix(builder, rows, sum(widths))


def size_of(blocks, axis):
    for x in blocks:
        if isinstance(x, GraphMatrix):
            return x.shape[axis]
    raise TypeError(
        f"A row or column of blocks is {blocks}. One of them gives its size: "
        "give a GraphMatrix, such as those of `system.blocks(...)`.")


def rows_of(block, shape):
    """Rows of a block, which must have this shape; zeros for None or 0."""
    if block is None or isinstance(block, (int, Integer)) and not block:
        return [[0]*shape[1]]*shape[0]
    check_kind('block', block, GraphMatrix, "Give GraphMatrix objects, such "
               "as those of `system.blocks(...)`, or 0.")
    if block.shape != shape:
        raise ValueError(
            f"A block has shape {block.shape}, and its neighbours need "
            f"{shape}. Transpose it, or select rows.")
    return block.rows
