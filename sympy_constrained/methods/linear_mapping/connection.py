"""Metric, connection, torsion and curvature of a mapping, on the graph."""
from functools import cached_property
from itertools import product

from ...errors import UnsupportedFeatureError
from ...graph import (
    Derivation, GraphMatrix, gradient, jacobian, substitute, time_derivative,
    without)
from ...graph.linalg import solve
from ...graph.matrix import as_column
from ..references import columns, flat, inputs, units


class MappedConnection:
    """What :class:`.MappedSpace` reads, as dictionaries of references.

    Keys are indices: 0 is time, upper ones start at 1.
    """

    def __init__(self, system, mapping, free):
        self._system = system
        self.size, self.free = len(system.q), free
        g, rows = mapping.load(None, ('a', 'a0'))
        _, out = system.graph.load(g, ('lagrangian', 'speeds'))
        self._g = g
        q = inputs(g, system.q)
        v = inputs(g, system.u)
        speeds = flat(out['speeds'])
        at_rest = substitute(g, speeds, dict.fromkeys(v, 0))
        slopes = [without(g, row, v) for row in jacobian(g, speeds, v)]
        mapped = GraphMatrix(g, rows['a'])
        a = (mapped @ GraphMatrix(g, slopes)).rows
        a0 = flat((mapped @ as_column(g, at_rest)
                   + GraphMatrix(g, rows['a0'], 1)).rows)
        momenta = gradient(g, out['lagrangian'][0][0], v)
        self._M = [without(g, row, v) for row in jacobian(g, momenta, v)]
        if any(None in row for row in self._M):
            raise UnsupportedFeatureError(
                "The kinetic energy is not quadratic in the velocities, so "
                "it is not a metric. The equations of motion need none; read "
                "`equations_of_motion`.")
        self._g0 = substitute(g, momenta, dict.fromkeys(v, 0))
        n = self.size
        self._a = [[1] + [0]*n] + [[x, *row] for x, row in zip(a0, a)]
        inverse = [solve(g, a, x) for x in ([-x for x in a0], *units(n))]
        self._b = [[1] + [0]*n] + columns(inverse, n)
        explicit = time_derivative(g, dict.fromkeys((*q, *v), 0))
        self._partial = [explicit] + [Derivation(g, {x: 1}) for x in q]

    def _along(self, ref, index):
        """Derivative of a reference along the field ``b_index``."""
        g = self._g
        return g.sum(g.mul(row[index], d(ref))
                     for row, d in zip(self._b, self._partial) if row[index])

    def _solve(self, matrix, vector):
        solution = solve(self._g, matrix, vector)
        if solution is None:
            raise UnsupportedFeatureError(
                "The mass matrix is singular, so it is not a metric. The "
                "equations of motion need none; read `equations_of_motion`.")
        return solution

    def _symbols(self, metric, first, slope):
        """Pair of lower indices -> column of the symbols of a metric.

        ``slope(i, j, k)`` is the derivative of entry ``(i, j)`` along ``k``.
        Lower indices start at ``first``, the upper one at 1.
        """
        g, size = self._g, self.size + 1
        half = g.inv(g.constant(2))
        symbols = {}
        for m in range(first, size):
            for n in range(m, size):
                column = [g.mul(half, g.sub(
                    g.add(slope(n, r, m), slope(m, r, n)), slope(m, n, r)))
                    for r in range(1, size)]
                symbols[m, n] = symbols[n, m] = self._solve(
                    metric, column) if any(column) else column
        return symbols

    @cached_property
    def _parent(self):
        """Symbols of the parent, lower indices from 0."""
        def slope(j, k, i):
            if j and k:
                return self._partial[i](self._M[j - 1][k - 1])
            return self._partial[i](self._g0[(j or k) - 1]) if j or k else 0

        return self._symbols(self._M, 0, slope)

    @cached_property
    def _metric(self):
        b = GraphMatrix(self._g, [row[1:] for row in self._b[1:]])
        M = GraphMatrix(self._g, self._M)
        return (b.T @ (M @ b)).rows

    @cached_property
    def _connection(self):
        """``(s, m, n)`` -> reference, ``s`` from 1, the others from 0."""
        g, size = self._g, range(self.size + 1)
        b, entries = GraphMatrix(g, self._b), {}
        lifted = {key: [g.dot(row[1:], column) for row in self._a]
                  for key, column in self._parent.items()}
        for s in size[1:]:
            matrix = GraphMatrix(g, [[
                g.sub(lifted[j, k][s], d(x)) for k, d in zip(
                    size, self._partial)] for j, x in zip(size, self._a[s])])
            rows = (b.T @ matrix @ b).rows
            entries |= {(s, m, n): rows[m][n] for m in size for n in size}
        return entries

    @cached_property
    def _torsion(self):
        """``d theta^s(b_m, b_n)``, not from the connection."""
        g, d, size = self._g, self._partial, range(self.size + 1)
        b, entries = GraphMatrix(g, self._b), {}
        for s in size[1:]:
            row = self._a[s]
            curl = GraphMatrix(g, [[g.sub(d[i](row[j]), d[j](row[i]))
                                    for j in size] for i in size])
            rows = (b.T @ curl @ b).rows
            entries |= {(s, m, n): rows[m][n] for m in size for n in size}
        return entries

    _curvature = cached_property(lambda self: self._curved(True))
    _curvature_without_torsion = cached_property(
        lambda self: self._curved(False))

    def _curved(self, tensorial):
        g, size = self._g, range(self.size + 1)
        gamma, entries = self._connection, {}
        for s, r, m, n in product(size[1:], size, size, size):
            if n >= m:
                continue
            x = g.sub(self._along(gamma[s, r, n], m),
                      self._along(gamma[s, r, m], n))
            for k in size[1:]:
                x = g.add(x, g.sub(
                    g.mul(gamma[s, k, m], gamma[k, r, n]),
                    g.mul(gamma[s, k, n], gamma[k, r, m])))
                if tensorial:
                    x = g.add(x, g.mul(self._torsion[k, m, n],
                                       gamma[s, r, k]))
            entries |= {(s, r, m, n): x, (s, r, n, m): -x}
        return entries

    @cached_property
    def _levi_civita(self):
        metric = self._metric
        symbols = self._symbols(metric, 1, lambda i, j, k: self._along(
            metric[i - 1][j - 1], k))
        return {(s, m, n): x for (m, n), column in symbols.items()
                for s, x in enumerate(column, start=1)}

    @cached_property
    def _contortion(self):
        return {key: self._g.sub(self._connection[key], x)
                for key, x in self._levi_civita.items()}
