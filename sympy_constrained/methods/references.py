"""Lists of references on the graph, and graphs made of them."""
from ..graph import Graph


def flat(rows):
    """The references of an output with one column."""
    return [x for x, in rows]


def columns(matrix, count):
    return [[row[j] for row in matrix] for j in range(count)]


def inputs(g, symbols):
    """References of functions of time that are inputs."""
    return [g.input(x, dynamic=True) for x in symbols]


def units(size):
    """Rows of the identity."""
    return [[int(i == k) for i in range(size)] for k in range(size)]


def frozen(g, /, **outputs):
    """A graph of matrices, and of lists of references as columns."""
    return Graph.freeze(g, outputs)


def written(g, refs):
    """A matrix, or a list of references as a column, in SymPy."""
    return frozen(g, x=refs).sympy('x')
