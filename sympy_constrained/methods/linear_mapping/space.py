r"""The Riemann-Cartan space-time into which quasi-velocities map a system.

Index 0 is time, free quasi-velocities come first, those of the constraints
last. Of a connection the first index is the upper one, the second the one
that is transported, the third that of differentiation; without index 0 all
start at 1.
"""
from __future__ import annotations

from functools import cached_property
from itertools import product

from mpmath import mp
from sympy import (
    Dummy, ImmutableDenseMatrix, ImmutableDenseNDimArray, Integral, Piecewise,
    Symbol, cancel, count_ops, integrate, latex, nan, sympify)
from sympy.core.function import AppliedUndef

from ...analysis.zero_tests import values_at, vanishing
from ...errors import UnsupportedFeatureError
from ...graph import (
    Derivation, Graph, gradient, jacobian, read, substitute, time_derivative,
    without)
from ...graph.linalg import solve

__all__ = ['MappedSpace']


class MappedSpace:
    r"""Geometry that a mapping of velocities induces.

    Explanation
    ===========

    A mapping :math:`u^\mu = a^\mu_i\dot x^i + a^\mu_0` with inverse
    :math:`b` carries metric and connection of the parent over, with hatted
    indices that run over time as well:

    .. math::

       g_{\mu\nu} = g_{ij} b^i_\mu b^j_\nu, \qquad
       \Gamma^\sigma_{\mu\nu} = -\partial_k a^\sigma_j\, b^j_\mu b^k_\nu
       + a^\sigma_j \hat\Gamma^j_{kl} b^k_\mu b^l_\nu. \qquad (8), (9)

    Where the mapping is not integrable the connection has torsion,
    :math:`T^\sigma_{\mu\nu} = \Gamma^\sigma_{\mu\nu} -
    \Gamma^\sigma_{\nu\mu} = d\theta^\sigma(b_\mu, b_\nu)`.

    Nothing here is needed for the equations of motion. The arrays are made
    when they are read, from a kinetic energy that is quadratic in the
    velocities; what is in it without velocities counts as a potential.

    Attributes
    ==========

    size : int
        Number of coordinates; arrays with time have one more.
    free : int
        Number of free quasi-velocities.

    """

    def __init__(self, system, mapping, free):
        self._system = system
        self.size, self.free = len(system.q), free
        g, rows = mapping.load(None, ('a', 'a0'))
        _, out = system.graph.load(g, ('lagrangian', 'speeds'))
        self._g = g
        q = [g.input(x, dynamic=True) for x in system.q]
        v = [g.input(x, dynamic=True) for x in system.u]
        speeds = [x for x, in out['speeds']]
        at_rest = substitute(g, speeds, dict.fromkeys(v, 0))
        slopes = [without(g, row, v) for row in jacobian(g, speeds, v)]
        a = [[g.dot(row, column) for column in zip(*slopes)]
             for row in rows['a']]
        a0 = [g.add(g.dot(row, at_rest), x)
              for row, (x,) in zip(rows['a'], rows['a0'])]
        momenta = gradient(g, out['lagrangian'][0][0], v)
        self._M = [without(g, row, v) for row in jacobian(g, momenta, v)]
        if any(None in row for row in self._M):
            raise UnsupportedFeatureError(
                "The kinetic energy is not quadratic in the velocities, so "
                "it is no metric. The equations of motion need none; read "
                "`equations_of_motion`.")
        self._g0 = substitute(g, momenta, dict.fromkeys(v, 0))
        n = self.size
        self._a = [[1] + [0]*n] + [[x, *row] for x, row in zip(a0, a)]
        inverse = [solve(g, a, [int(i == k) for i in range(n)])
                   for k in range(n)]
        drift = solve(g, a, [-x for x in a0])
        self._b = [[1] + [0]*n] + [
            [drift[i], *(column[i] for column in inverse)] for i in range(n)]
        explicit = time_derivative(g, dict.fromkeys((*q, *v), 0))
        self._partial = [explicit] + [Derivation(g, {x: 1}) for x in q]

    # -- on the graph ----------------------------------------------------

    def _along(self, ref, index):
        """Derivative of a reference along the field ``b_index``."""
        g = self._g
        return g.sum(g.mul(self._b[k][index], d(ref))
                     for k, d in enumerate(self._partial)
                     if self._b[k][index])

    def _solve(self, matrix, vectors):
        found = [solve(self._g, matrix, list(x)) for x in vectors]
        if None in found:
            raise UnsupportedFeatureError(
                "The mass matrix is singular, so it is no metric. The "
                "equations of motion need none; read `equations_of_motion`.")
        return found

    @cached_property
    def _lowered_parent(self):
        """``[jk, l]`` of the parent, ``j, k`` hatted, ``l`` from 1."""
        g, n = self._g, self.size
        half = g.inv(g.constant(2))

        def metric(j, k):
            if j and k:
                return self._M[j - 1][k - 1]
            return self._g0[(j or k) - 1] if j or k else 0

        d = self._partial
        return {(j, k): [g.mul(half, g.sub(
            g.add(d[j](metric(k, i)), d[k](metric(j, i))),
            d[i](metric(j, k)))) for i in range(1, n + 1)]
            for j in range(n + 1) for k in range(j, n + 1)}

    @cached_property
    def _parent(self):
        """``(j, k)`` -> the column of parent symbols with upper index."""
        found = {}
        for key, column in self._lowered_parent.items():
            if any(column):
                raised, = self._solve(self._M, [column])
                found[key] = found[key[::-1]] = raised
        return found

    @cached_property
    def _connection(self):
        """Rows ``[s][m][n]`` of references, all indices from 0."""
        g, size = self._g, self.size + 1
        a, b = self._a, self._b
        # d_k a^s_j, and a^s_j times the parent's symbols
        change = [[[-d(x) for d in self._partial] for x in row] for row in a]
        lifted = {key: [g.dot(row[1:], column) for row in a]
                  for key, column in self._parent.items()}
        found = [[[0]*size for _ in range(size)] for _ in range(size)]
        for s in range(1, size):
            matrix = [[g.add(change[s][j][k], lifted.get(
                (j, k), [0]*size)[s]) for k in range(size)]
                for j in range(size)]
            for m in range(size):
                row = [g.dot([x[m] for x in b], column)
                       for column in zip(*matrix)]
                for n in range(size):
                    found[s][m][n] = g.dot(row, [x[n] for x in b])
        return found

    @cached_property
    def _torsion(self):
        """``d theta^s(b_m, b_n)``, not from the connection."""
        g, size = self._g, self.size + 1
        b, d = self._b, self._partial
        found = [[[0]*size for _ in range(size)] for _ in range(size)]
        for s in range(1, size):
            row = self._a[s]
            curl = [[g.sub(d[i](row[j]), d[j](row[i])) for j in range(size)]
                    for i in range(size)]
            for m in range(size):
                part = [g.dot([x[m] for x in b], column)
                        for column in zip(*curl)]
                for n in range(m):
                    found[s][m][n] = g.dot(part, [x[n] for x in b])
                    found[s][n][m] = -found[s][m][n]
        return found

    @cached_property
    def _metric(self):
        g = self._g
        columns = list(zip(*(row[1:] for row in self._b[1:])))
        pull = [[g.dot(row, c) for row in self._M] for c in columns]
        return [[g.dot(c, x) for c in columns] for x in pull]

    def _curvature(self, tensorial):
        g, size = self._g, self.size + 1
        gamma, torsion = self._connection, self._torsion
        found = {}
        for s, r, m, n in product(range(1, size), range(size), range(size),
                                  range(size)):
            if n >= m:
                continue
            x = g.sub(self._along(gamma[s][r][n], m),
                      self._along(gamma[s][r][m], n))
            for k in range(1, size):
                x = g.add(x, g.sub(
                    g.mul(gamma[s][k][m], gamma[k][r][n]),
                    g.mul(gamma[s][k][n], gamma[k][r][m])))
                if tensorial:
                    x = g.add(x, g.mul(torsion[k][m][n], gamma[s][r][k]))
            found[s, r, m, n] = x
            found[s, r, n, m] = -x
        return found

    def _array(self, entry, rank, first=1):
        """A SymPy array of ``entry(*indices)``, indices from ``first``."""
        indices = range(first, self.size + 1)
        refs = [entry(*key) for key in product(indices, repeat=rank)]
        return ImmutableDenseNDimArray(
            self._written(refs), (len(indices),)*rank)

    def _written(self, refs):
        """SymPy expressions; what vanishes at random states is zero."""
        graph = Graph.freeze(self._g, {'x': ([refs], len(refs))})
        try:
            sizes = self._sizes(graph, 'x')
        except (ArithmeticError, TypeError):    # outside of a domain
            sizes = [1]*len(refs)
        refs = [x if size else 0 for x, size in zip(refs, sizes)]
        return list(Graph.freeze(
            self._g, {'x': ([refs], len(refs))}).sympy('x'))

    def _matrix(self, rows):
        return Graph.freeze(self._g, {'x': (rows, len(rows[0]))}).sympy('x')

    # -- arrays ----------------------------------------------------------

    @cached_property
    def metric(self):
        """``b^T*M*b``, (8), shape (n, n)."""
        return self._matrix(self._metric)

    @cached_property
    def metric_inv(self):
        """``a*M^-1*a^T``, shape (n, n)."""
        g = self._g
        rows = [row[1:] for row in self._a[1:]]
        raised = self._solve(self._M, rows)
        return self._matrix([[g.dot(x, row) for row in rows]
                             for x in raised])

    @cached_property
    def connection(self):
        """``Gamma^s_mn`` without time, (9), shape (n, n, n)."""
        return self._array(lambda s, m, n: self._connection[s][m][n], 3)

    @cached_property
    def connection_ext(self):
        """``Gamma^s_mn`` with time as index 0, shape (n + 1,)*3."""
        return self._array(lambda s, m, n: self._connection[s][m][n], 3, 0)

    @cached_property
    def torsion(self):
        """``T^s_mn = Gamma^s_mn - Gamma^s_nm``, shape (n, n, n)."""
        return self._array(lambda s, m, n: self._torsion[s][m][n], 3)

    @cached_property
    def torsion_ext(self):
        """Torsion with time as index 0, shape (n + 1,)*3."""
        return self._array(lambda s, m, n: self._torsion[s][m][n], 3, 0)

    @cached_property
    def anholonomity(self):
        """``c^s_mn`` of ``[b_m, b_n] = c^s_mn*b_s``, minus the torsion."""
        return -self.torsion

    @cached_property
    def curvature(self):
        """Tensor ``R^s_rmn`` of the parent in the new frame, (n, n, n, n)."""
        found = self._curvature(True)
        return self._array(lambda *key: found.get(key, 0), 4)

    @cached_property
    def coordinate_curvature(self):
        """``R^s_rmn`` without the term of the torsion; no tensor."""
        found = self._curvature(False)
        return self._array(lambda *key: found.get(key, 0), 4)

    @cached_property
    def _levi_civita(self):
        """Column of ``{s;mn}`` for every ``(m, n)``, indices from 1."""
        g, n = self._g, self.size
        half = g.inv(g.constant(2))
        metric = self._metric
        slope = [[[self._along(x, k) for k in range(1, n + 1)] for x in row]
                 for row in metric]
        found = {}
        for m in range(n):
            for k in range(m, n):
                column = [g.mul(half, g.sub(g.add(
                    slope[r][m][k], slope[r][k][m]), slope[m][k][r]))
                    for r in range(n)]
                raised, = self._solve(metric, [column])
                found[m + 1, k + 1] = found[k + 1, m + 1] = raised
        return found

    @cached_property
    def levi_civita(self):
        """Symbols of the metric alone along the fields, shape (n, n, n)."""
        found = self._levi_civita
        return self._array(lambda s, m, n: found[m, n][s - 1], 3)

    @cached_property
    def contortion(self):
        """``Gamma - levi_civita``, from the torsion, shape (n, n, n)."""
        g, size = self._g, range(1, self.size + 1)
        half = g.inv(g.constant(2))
        metric = self._metric

        def lowered(r, m, n):
            return g.sum(g.mul(metric[r - 1][s - 1], self._torsion[s][m][n])
                         for s in size)

        found = {}
        for m, n in product(size, size):
            column = [g.mul(half, g.sum((
                lowered(r, m, n), lowered(m, n, r), lowered(n, m, r))))
                for r in size]
            found[m, n], = self._solve(metric, [column])
        return self._array(lambda s, m, n: found[m, n][s - 1], 3)

    @cached_property
    def restricted_connection(self):
        """Connection on the free directions, shape (p, p + 1, p + 1).

        ``u' + Gamma*u*u`` with ``u^0 = 1`` are forces in the reduced metric.
        """
        g, p, size = self._g, self.free, self.size + 1
        gamma, metric = self._connection, self._metric
        reduced = [row[:p] for row in metric[:p]]
        lower = range(p + 1)
        refs = {}
        for b, c in product(lower, lower):
            column = [g.sum(g.mul(metric[d][s - 1], gamma[s][b][c])
                            for s in range(1, size)) for d in range(p)]
            refs[b, c], = self._solve(reduced, [column])
        return ImmutableDenseNDimArray(self._written([
            refs[b, c][a] for a in range(p) for b in lower for c in lower]),
            (p, p + 1, p + 1))

    @cached_property
    def restricted_torsion(self):
        """Torsion of :attr:`restricted_connection`, (p, p + 1, p + 1)."""
        gamma = self.restricted_connection
        p = self.free
        return ImmutableDenseNDimArray(
            [gamma[a, b, c] - gamma[a, c, b] for a in range(p)
             for b in range(p + 1) for c in range(p + 1)],
            (p, p + 1, p + 1))

    # -- questions -------------------------------------------------------

    @cached_property
    def is_block_diagonal(self):
        """Whether the metric is, (17); None if undecided."""
        return self._vanishes_anywhere('mixed')

    @cached_property
    def is_integrable(self):
        """Whether every row is the rate of a function; None if undecided.

        Then the quasi-velocities are velocities of coordinates and there is
        no torsion, in space or in time.
        """
        return self._vanishes_anywhere('torsion')

    def _vanishes_anywhere(self, name):
        """At states that need not satisfy the constraints."""
        return vanishing(self._system, self.questions, name, None, ({}, {}),
                         relations=()).holds

    @cached_property
    def quasi_coordinates(self):
        """For each row of the mapping its :meth:`potential`, or None."""
        return [self.potential(k + 1) for k in range(self.size)]

    @cached_property
    def questions(self):
        """Graph of what vanishes or not.

        Outputs ``torsion``: all of it; ``constraints``: that of the
        constraint rows in free directions and time; ``mixed``: the metric
        between free and constraint directions; ``row 1``, ...: that of a
        row.
        """
        size, p = self.size + 1, self.free
        pairs = [(m, n) for m in range(size) for n in range(m)]
        rows = {f'row {s}': [self._torsion[s][m][n] for m, n in pairs]
                for s in range(1, size)}
        named = {
            **rows, 'torsion': [x for row in rows.values() for x in row],
            'constraints': [
                self._torsion[s][m][n] for s in range(p + 1, size)
                for m, n in pairs if m <= p],
            'mixed': [x for row in self._metric[:p] for x in row[p:]]}
        return Graph.freeze(self._g, {
            name: ([[x] for x in refs], 1) for name, refs in named.items()})

    def potential(self, row):
        """Function of coordinates and time whose rate is a row, or None.

        Simple rows are integrated along the coordinates, one after the
        other. For others it is an unevaluated integral along the straight
        line from a point with an index 0, and one over time at that point.

        Parameters
        ==========

        row : int
            From 1. It has no potential if it is not closed.

        """
        if not 1 <= row <= self.size:
            raise ValueError(
                f"`row` is {row!r}. Rows are counted from 1 to {self.size}.")
        if not self._vanishes(self.questions, f'row {row}'):
            return None
        k = row - self.free - 1
        if 0 <= k < len(self._system.holonomic_rows):
            return self._system.holonomic_rows[k]
        t = self._system.t
        slopes = list(Graph.freeze(
            self._g, {'a': ([self._a[row]], self.size + 1)}).sympy('a'))
        if sum(map(count_ops, slopes)) < SIMPLE and not any(
                x.atoms(AppliedUndef) - {*self._system.q} for x in slopes):
            found = self._integrated(slopes)
            if found is not None and self._is_potential(found, row):
                return found
        drift, *slopes = slopes
        start = {x: Symbol(f'{x.func}_0') for x in self._system.q}
        s = Dummy('s')
        line = {x: x0 + s*(x - x0) for x, x0 in start.items()}
        found = Integral(sum(
            slope.xreplace(line)*(x - x0) for slope, (x, x0) in zip(
                slopes, start.items())), (s, 0, 1))
        return found + Integral(drift.xreplace(start), t) if drift else found

    def _integrated(self, slopes):
        """Integral along one coordinate after the other, or None.

        For positive symbols, for which roots of squares are simple.
        """
        t, q = self._system.t, self._system.q
        names = {x: Dummy(str(getattr(x, 'func', x)), positive=True)
                 for x in (*q, *sorted(set().union(
                     *(x.free_symbols for x in slopes)), key=str), t)}
        found = sympify(0)
        try:
            for slope, x in zip(slopes, (t, *q)):
                rest = slope.xreplace(names) - found.diff(names[x])
                if rest.is_rational_function():
                    rest = cancel(rest)
                found += integrate(rest, names[x], manual=True)
        except Exception:               # whatever: there is no integral
            return None
        if found.has(Integral, Piecewise, nan):
            return None
        return found.xreplace({y: x for x, y in names.items()})

    def _is_potential(self, function, row):
        """Whether a function has a row as its slopes, at random states."""
        g = self._g
        ref = read(g, function)
        gaps = [g.sub(d(ref), x) for d, x in zip(self._partial, self._a[row])]
        return self._vanishes(Graph.freeze(g, {
            'gaps': ([gaps], len(gaps))}), 'gaps')

    def _vanishes(self, graph, name):
        """Whether an output is zero at random states, but for rounding."""
        return not any(self._sizes(graph, name))

    def _sizes(self, graph, name):
        """Entries of an output, relative to what was met on the way.

        The largest at two random states; zero for rounding errors.
        """
        rows, columns = graph.outputs[name]
        sizes = [mp.mpf(0)]*(rows*columns)
        for seed in range(2):
            found = values_at(self._system, graph, {}, (name,), seed)[name]
            largest = values_at(self._system, graph, {}, (name,), seed,
                                largest=True)
            sizes = [max(size, abs(x)/largest) for size, x in zip(
                sizes, (x for row in found for x in row))]
        return [x if x > ROUNDING else 0 for x in sizes]

    # -- curves ----------------------------------------------------------

    def autoparallel(self, u):
        """Rates of ``n`` quasi-velocities without forces, shape (n, 1).

        ``u' = -Gamma^s_mn*u^m*u^n`` with the full connection and ``u^0 = 1``.
        """
        gamma, u = self.connection_ext, [1, *u]
        return self._curve(gamma, u, 1)

    def geodesic(self, u):
        """The same with the symbols of the metric alone.

        No motion of the system where the torsion contributes.
        """
        return self._curve(self.levi_civita, list(u), 0)

    def _curve(self, gamma, u, shift):
        size = len(u)
        if size != gamma.shape[0]:
            raise ValueError(
                f"`u` has {size - shift} entries for {self.size} "
                "quasi-velocities. Give the free ones and those of the "
                "constraints.")
        return ImmutableDenseMatrix([
            -sum(gamma[s, m, n]*u[m]*u[n] for m in range(size)
                 for n in range(size)) for s in range(shift, size)])

    # -- reading ---------------------------------------------------------

    def table(self, name, tex=False):
        """Text of components that are not zero, such as ``T^1_31 = 1/r(t)``.

        ``name`` is an attribute, such as ``'torsion_ext'``; ``tex`` asks for
        LaTeX.
        """
        if name not in LETTERS:
            raise ValueError(
                f"There is no array {name!r}. Choose one of "
                f"{', '.join(LETTERS)}.")
        array, letter = getattr(self, name), LETTERS[name]
        if isinstance(array, ImmutableDenseMatrix):
            array = ImmutableDenseNDimArray(array)
        first = 0 if array.shape[0] > self.size else 1
        lines = []
        for key in product(*map(range, array.shape)):
            if array[key] == 0:
                continue
            index = [k + first for k in key]
            if name.startswith('restricted'):
                index = [key[0] + 1, *key[1:]]
            upper = '' if len(array.shape) == 2 else f'^{index[0]}'
            lower = ''.join(map(str, index[bool(upper):]))
            if tex:
                lines.append(f'{TEX.get(letter, letter)}{upper}_{{{lower}}} '
                             f'= {latex(array[key])}')
            else:
                lines.append(f'{letter}{upper}_{lower} = {array[key]}')
        return '\n'.join(lines) or f'all components of {letter} vanish'


# Rows with more operations are not integrated.
SIMPLE = 32
# Rounding at the digits that are carried.
ROUNDING = mp.mpf('1e-26')
LETTERS = {
    'metric': 'g', 'metric_inv': 'g^-1', 'connection': 'Gamma',
    'connection_ext': 'Gamma',
    'torsion': 'T', 'torsion_ext': 'T', 'anholonomity': 'c',
    'curvature': 'R', 'coordinate_curvature': 'R', 'contortion': 'K',
    'levi_civita': 'Gamma', 'restricted_connection': 'Gamma',
    'restricted_torsion': 'T'}
TEX = {'Gamma': r'\Gamma'}
