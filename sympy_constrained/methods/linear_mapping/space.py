r"""The Riemann-Cartan space-time into which quasi-velocities map a system.

Index 0 is time, free quasi-velocities come first, those of the constraints
last. Of a connection the first index is the upper one, the second the one
that is transported, the third that of differentiation; without index 0 all
start at 1.
"""
from functools import cached_property
from itertools import product

from mpmath import mp
from sympy import (
    Dummy, ImmutableDenseMatrix, ImmutableDenseNDimArray, Integral, Symbol,
    count_ops, latex, permutedims)

from ...analysis.integrability.first_integrals import along_coordinates
from ...analysis.zero_tests import relative_sizes, vanishing
from ...graph import GraphMatrix, read
from ..references import frozen, written
from .connection import MappedConnection


def array(name, doc, first=1):
    """Property that is an array of components, indices from ``first``."""
    def read(self):
        named = getattr(self, name)
        rank, indices = len(next(iter(named))), range(first, self.size + 1)
        return self._array([named.get(key, 0) for key in product(
            indices, repeat=rank)], (len(indices),)*rank)
    read.__doc__ = doc
    return cached_property(read)


class MappedSpace(MappedConnection):
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

    ``size`` is the number of coordinates; arrays with time have one more.
    ``free`` is the number of free quasi-velocities.
    """

    def _array(self, refs, shape):
        """SymPy array; what vanishes at random states is zero."""
        try:
            sizes = self._sizes(frozen(self._g, x=refs), 'x')
        except (ArithmeticError, TypeError):    # outside of a domain
            sizes = [1]*len(refs)
        return ImmutableDenseNDimArray(list(written(self._g, [
            x if size else 0 for x, size in zip(refs, sizes)])), shape)

    # -- arrays ----------------------------------------------------------

    @cached_property
    def metric(self):
        """``b^T*M*b``, (8), shape (n, n)."""
        return written(self._g, GraphMatrix(self._g, self._metric))

    @cached_property
    def metric_inv(self):
        """``a*M^-1*a^T``, shape (n, n)."""
        a = GraphMatrix(self._g, [row[1:] for row in self._a[1:]])
        raised = GraphMatrix(self._g, [
            self._solve(self._M, row) for row in a.rows])
        return written(self._g, raised @ a.T)

    connection = array(
        '_connection', "``Gamma^s_mn`` without time, (9), shape (n, n, n).")
    connection_ext = array(
        '_connection', "``Gamma^s_mn`` with time as index 0, (n + 1,)*3.", 0)
    torsion = array(
        '_torsion', "``T^s_mn = Gamma^s_mn - Gamma^s_nm``, shape (n, n, n).")
    torsion_ext = array(
        '_torsion', "Torsion with time as index 0, shape (n + 1,)*3.", 0)
    curvature = array('_curvature', """Tensor ``R^s_rmn``, (n, n, n, n).

        That of the parent in the new frame.
        """)
    coordinate_curvature = array(
        '_curvature_without_torsion',
        "``R^s_rmn`` without the term of the torsion. It is not a tensor.")
    levi_civita = array(
        '_levi_civita',
        "Symbols of the metric alone along the fields, shape (n, n, n).")
    contortion = array(
        '_contortion',
        "``Gamma - levi_civita``, from the torsion, shape (n, n, n).")

    @cached_property
    def anholonomity(self):
        """``c^s_mn`` of ``[b_m, b_n] = c^s_mn*b_s``, minus the torsion."""
        return -self.torsion

    @cached_property
    def restricted_connection(self):
        """Connection on the free directions, shape (p, p + 1, p + 1).

        ``u' + Gamma*u*u`` with ``u^0 = 1`` are forces in the reduced metric.
        """
        g, p, size = self._g, self.free, range(1, self.size + 1)
        metric, gamma = self._metric[:p], self._connection
        shape = p, p + 1, p + 1
        solved = {(b, c): self._solve([row[:p] for row in metric], [
            g.dot(row, [gamma[s, b, c] for s in size]) for row in metric])
            for b, c in product(range(p + 1), repeat=2)}
        return self._array([solved[b, c][a] for a, b, c in product(
            *map(range, shape))], shape)

    @cached_property
    def restricted_torsion(self):
        """Torsion of :attr:`restricted_connection`, (p, p + 1, p + 1)."""
        gamma = self.restricted_connection
        return gamma - permutedims(gamma, (0, 2, 1))

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
        p, torsion = self.free, {
            key: x for key, x in self._torsion.items() if key[1] > key[2]}
        rows = {f'row {s}': [x for key, x in torsion.items() if key[0] == s]
                for s in range(1, self.size + 1)}
        return frozen(
            self._g, torsion=list(torsion.values()), constraints=[
                x for (s, m, n), x in torsion.items() if s > p >= m],
            mixed=[x for row in self._metric[:p] for x in row[p:]], **rows)

    def potential(self, row):
        """Function of coordinates and time whose rate is a row, or None.

        Rows are counted from 1; one that is not closed has no potential. If
        it is not found in closed form, it is an unevaluated integral along
        the straight line from a point with an index 0, and one over time at
        that point.
        """
        if not 1 <= row <= self.size:
            raise ValueError(
                f"`row` is {row!r}. Rows are counted from 1 to {self.size}.")
        if any(self._sizes(self.questions, f'row {row}')):
            return None
        k = row - self.free - 1
        if 0 <= k < len(self._system.holonomic_rows):
            return self._system.holonomic_rows[k]
        slopes = written(self._g, self._a[row])
        function = self._integrated(slopes, self._a[row])
        if function is not None:
            return function
        drift, *slopes = slopes
        start = {x: Symbol(f'{x.func}_0') for x in self._system.q}
        s = Dummy('s')
        line = {x: x0 + s*(x - x0) for x, x0 in start.items()}
        function = Integral(sum(
            slope.xreplace(line)*(x - x0) for slope, (x, x0) in zip(
                slopes, start.items())), (s, 0, 1))
        return function + Integral(drift.xreplace(start), self._system.t) if (
            drift) else function

    def _integrated(self, slopes, refs):
        """Function with these slopes at random states, or None."""
        g, names = self._g, {x: Dummy(str(x.func), positive=True)
                             for x in self._system.q}
        if sum(map(count_ops, slopes)) > SIMPLE:
            return None
        for start in 0, 1:
            function = along_coordinates(slopes, names, self._system.t, start)
            if function is None or function.has(Integral):
                continue
            ref = read(g, function)
            gaps = [g.sub(d(ref), x) for d, x in zip(self._partial, refs)]
            if not any(self._sizes(frozen(g, gaps=gaps), 'gaps')):
                return function
        return None

    def _sizes(self, graph, name):
        """Entries of an output, relative to what was met on the way.

        The largest at two random states; zero for rounding errors.
        """
        one, two = (relative_sizes(self._system, graph, {}, name, seed)
                    for seed in range(2))
        return [max(x, y) if max(x, y) > ROUNDING else 0
                for (x,), (y,) in zip(one, two)]

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
            lines.append(
                f'{TEX.get(letter, letter)}{upper}_{{{lower}}} '
                f'= {latex(array[key])}' if tex
                else f'{letter}{upper}_{lower} = {array[key]}')
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
