r"""The variational equations, as equations of motion of their own.

The derivatives :math:`s = dx/d\theta` of a motion by a constant or an initial
value obey, with :math:`\delta = s\,\partial_x + \partial_\theta`,

.. math::

   \dot s_1 = \delta f, \qquad
   \begin{bmatrix} W & 0 \\ \delta W & W \end{bmatrix}
   \begin{bmatrix} z \\ dz/d\theta \end{bmatrix}
   = \begin{bmatrix} r \\ \delta r \end{bmatrix}, \qquad
   \delta h = 0, \quad \delta\psi = 0.

They are compiled, integrated and projected as all others, and the projection
of :math:`s` is the derivative of that of :math:`x`.
"""
from dataclasses import replace

from sympy import Dummy, Function

from ...errors import UnsupportedFeatureError
from ...graph import Derivation, Graph
from ..codegen.native import with_given
from ..names import label
from ..trajectory import by_name


OUTPUTS = ('rates', 'W', 'r', 'holonomic', 'holonomic_jacobian', 'velocity',
           'velocity_jacobian', 'M', 'Q', 'A', 'b')
# Weight of derivatives in the projection, which shall not move the states.
WEIGHT = 2.**-20


def variational(equations, by, given):
    """Return the equations of states and derivatives, and these: a tuple of
    functions of time, one for each state, for each of ``by``.
    """
    if equations.upper:
        raise UnsupportedFeatureError(
            "Sensitivities are not available where accelerations or "
            "multipliers are states. Take differences of two motions.")
    names = [name for name in OUTPUTS if name in equations.graph.outputs]
    g, out = with_given(equations.graph, names, given).load(None, names)
    states, t = equations.states, equations.t
    sets = [tuple(Function(f'd{label(x)}/d{name}')(t) for x in states)
            for name in by_name((label(item), None) for item in by)]
    directions = [direction(g, states, new, item)
                  for new, item in zip(sets, by)]
    blocks = Blocks(g, directions)
    known, o = len(out['rates']), len(equations.u)
    copies = [dict(zip(states, states)), *(
        dict(zip(states, new)) for new in sets)]
    q, u, first, second = (
        tuple(copy[x] for copy in copies for x in some)
        for some in (equations.q, equations.u, states[:known],
                     states[known:]))
    lam = [Dummy(f'd{x}/d{label(item)}') for item in by
           for x in equations.multipliers]
    a, m = len(out['holonomic']), len(out['velocity'])
    motion, s = len(states) - known, len(out['W'])
    dynamic, rows = range(motion), range(motion, s)
    velocity = range(min(a, m)), range(a, m)
    graph = Graph.freeze(g, {
        'energy': [], 'power': [],
        'A': (blocks.matrix(out['A'], velocity), len(u)),
        'b': (blocks.column(out['b'], velocity), 1),
        'rates': (blocks.column(out['rates']), 1),
        'W': (blocks.matrix(out['W'], (dynamic, rows), (dynamic, rows)),
              s*len(copies)),
        'r': (blocks.column(out['r'], (dynamic, rows)), 1),
        'holonomic': (blocks.column(out['holonomic']), 1),
        'holonomic_jacobian': (
            blocks.matrix(out['holonomic_jacobian']), len(q)),
        'velocity': (blocks.column(out['velocity'], velocity), 1),
        'velocity_jacobian': (
            blocks.matrix(out['velocity_jacobian'], velocity), len(u)),
        'M': (blocks.metric(out['M']), len(u)),
        'Q': (out['Q'] + [[0]]*(o*len(by)), 1)})
    names = equations.constraint_names
    return replace(
        equations, graph=graph, q=q, u=u, states=first + second,
        unknowns=(*(x.diff(t) for x in second), *equations.multipliers, *lam),
        multipliers=(*equations.multipliers, *lam),
        constraint_names=tuple(
            name if item is None else f'd({name})/d{label(item)}'
            for part in (names[:a], names[a:]) for item in (None, *by)
            for name in part),
        copies=len(copies), when_incomplete=''), sets


def direction(g, states, new, item):
    """The derivative along the derivatives of the states by an item."""
    seeds = {g.input(x, dynamic=True): g.input(s, dynamic=True)
             for x, s in zip(states, new)}
    if item not in states:
        seeds[g.input(item)] = 1
    return Derivation(g, seeds)


class Blocks:
    """Lower block triangular matrices, with the order of rows by groups.

    In each group the rows of the states come first, then those of the
    derivatives by each item.
    """

    def __init__(self, g, directions):
        self.g, self.directions = g, directions

    def column(self, column, groups=None):
        every = [column, *([[along(x)] for x, in column]
                           for along in self.directions)]
        return [part[i] for group in groups or (range(len(column)),)
                for part in every for i in group]

    def matrix(self, matrix, groups=None, columns=None):
        """``[[A, 0, ...], [dA, A, 0, ...], ...]``."""
        if not matrix:
            return []
        groups = groups or (range(len(matrix)),)
        columns = columns or (range(len(matrix[0])),)
        count = len(self.directions) + 1
        changes = [matrix, *([list(map(along, row)) for row in matrix]
                             for along in self.directions)]

        def entry(k, i, other, j):
            if other == 0:
                return changes[k][i][j]
            return matrix[i][j] if other == k else 0

        return [[entry(k, i, other, j) for part in columns
                 for other in range(count) for j in part]
                for group in groups for k in range(count) for i in group]

    def metric(self, M):
        """The mass matrix for the states, small ones for derivatives."""
        g, n, count = self.g, len(M), len(self.directions) + 1
        small = g.constant(WEIGHT)
        return [[(M[i][j] if k == 0 else g.mul(small, M[i][j]))
                 if other == k else 0
                 for other in range(count) for j in range(n)]
                for k in range(count) for i in range(n)]
