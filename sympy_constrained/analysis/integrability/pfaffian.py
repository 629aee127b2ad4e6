r"""Velocity rows as differential forms, and points at which they are judged.

A row that is linear in the velocities is a form :math:`\theta = \theta_0\,dt +
\theta_i\,dq_i` on the space of :math:`(t, q)`; index 0 is time. Derivatives
are taken on the graph, ranks are decided at points that satisfy the holonomic
rows, at 60 digits.
"""
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

from mpmath import mp

from ...graph import (
    Derivation, Graph, gradient, substitute, time_derivative, without)
from ...graph.linalg import solve
from ...precision import precise
from ..consistent_points import (
    admissible_values, has_floats, orthonormal_rows, stand_ins)
from ..zero_tests import floats_at, others

DIGITS = 60
# Zero, relative to the largest intermediate value, exactly and for floats.
ZERO, INEXACT = mp.mpf('1e-40'), mp.mpf('1e-8')


@dataclass(frozen=True)
class Form:
    name: str
    row: int | None         # None: a relation of the kinematic equations
    refs: tuple             # components by dt and the dq
    used: tuple = ()        # rows by which other speeds were eliminated


class VelocityForms:
    """The holonomic and the linear velocity rows of a system as forms.

    ``points`` and ``small`` are those of :func:`generic_points`. ``x`` has
    references of time and the coordinates, ``partial`` the derivatives by
    them; the one by time includes the rates of inputs. ``holonomic`` are the
    gradients of the holonomic rows, ``kinematic`` relations of the kinematic
    equations, if the rates of the coordinates are dependent, and ``velocity``
    the linear velocity rows. ``nonlinear`` has references of the others by
    number, and ``speeds_only`` the rows that only define speeds which are no
    rates.
    """

    def __init__(self, system, points, small=ZERO):
        self.system, self.points, self.small = system, points, small
        g, out = system.graph.load(None, ('rates', 'holonomic', 'velocity'))
        self.builder, g.at_states = g, self._at_states
        q = [g.input(x, dynamic=True) for x in system.q]
        self.u = [g.input(x, dynamic=True) for x in system.u]
        time = g.input(system.t, dynamic=True)
        self.x = [time, *q]
        g.avoid((*self.x, *self.u))     # so that terms that cancel do
        self.explicit = dict.fromkeys((*q, *self.u), 0)
        self.partial = [time_derivative(g, self.explicit)] + [
            Derivation(g, {k: 1}) for k in q]
        names = system.constraint_names
        self.holonomic = [
            Form(names[k], k, tuple(d(h) for d in self.partial))
            for k, (h,) in enumerate(out['holonomic'])]
        self.kinematic, self.velocity = [], []
        self.nonlinear, self.speeds_only = {}, []
        first = len(self.holonomic)
        rows = {first + k: psi for k, (psi,) in enumerate(
            out['velocity'][first:])}
        self._read([rate for rate, in out['rates']], rows)
        self._curls = cache(self._curls)

    def _read(self, rates, rows):
        """Eliminate the speeds from the rates and the velocity rows."""
        g, n = self.builder, len(self.x) - 1
        numbers, refs = [None]*n + [*rows], [*rates, *rows.values()]
        slopes = [self._slopes(ref) for ref in refs]
        if None in slopes[:n]:
            self.nonlinear = dict(rows)
            return
        self.nonlinear = {k: psi for k, psi, row in zip(numbers, refs, slopes)
                          if row is None}
        linear = [i for i, row in enumerate(slopes) if row is not None]
        rest = substitute(g, [refs[i] for i in linear],
                          dict.fromkeys(self.u, 0))
        self._eliminate(
            [slopes[i] for i in linear],
            [[-x, *(int(i == j) for j in range(n))]
             for i, x in zip(linear, rest)],
            [numbers[i] for i in linear])

    def _slopes(self, ref):
        """Derivatives by the speeds, None if they depend on speeds."""
        slopes = without(self.builder, gradient(self.builder, ref, self.u),
                         self.u)
        return None if None in slopes else slopes

    def _eliminate(self, matrix, right, numbers):
        """Combinations of rows ``matrix*u = right`` without the speeds."""
        g, (basis, pivots) = self.builder, self._basis(matrix)
        self.speeds_only = [numbers[k] for k in basis
                            if numbers[k] is not None]
        square = [[matrix[i][j] for i in basis] for j in pivots]
        for k in sorted({*range(len(matrix))}.difference(basis)):
            factors = solve(g, square, [matrix[k][j] for j in pivots])
            used = [(i, x) for i, x in zip(basis, factors) if x]
            refs = tuple(
                g.sub(g.sum(g.mul(x, right[i][j]) for i, x in used), e)
                for j, e in enumerate(right[k]))
            self._add(numbers[k], refs, tuple(
                numbers[i] for i, _ in used if numbers[i] is not None))

    def _basis(self, matrix):
        """The first independent rows, and columns where they are so."""
        values = self.at_points(matrix)
        rows = best_independent(values, self.small)
        return rows, best_independent(
            (list(zip(*(x[k] for k in rows))) for x in values), self.small)

    def _add(self, number, refs, used):
        if number is None:
            self.kinematic.append(Form(
                f'kinematic relation {len(self.kinematic)}', None, refs))
        else:
            self.velocity.append(Form(
                self.system.constraint_names[number], number, refs, used))

    # -- numbers ---------------------------------------------------------

    def at_points(self, rows, points=None):
        """Values of rows of references, without rounding errors."""
        rows = [list(row) for row in rows]
        if not rows:
            return [[] for _ in self.points]
        graph = Graph.freeze(self.builder, {'x': (rows, len(rows[0]))})
        return [self.at(graph, values) for values in points or self.points]

    def _at_states(self, graph, name, at_rest=False):
        """An output at the points, in floats, for pivots."""
        return [] if at_rest else floats_at(
            self.system, graph, name, self.points)

    def at(self, graph, values):
        """Output ``x`` of a graph at a point; what is rounding is zero."""
        values = {**others(self.system, graph, values[graph.time]), **values}
        with precise(DIGITS):
            functions = stand_ins(self.system)
            rows = graph.evaluate(values, ('x',), mp, functions)['x']
            size = graph.largest(values, ('x',), mp, functions)
        return [[x if abs(x) > self.small*size else mp.mpf(0) for x in row]
                for row in rows]

    # -- derivatives -----------------------------------------------------

    def curl(self, form):
        """Rows ``d_i theta_j - d_j theta_i``, antisymmetric."""
        g, d, size = self.builder, self.partial, len(self.x)
        rows = [[0]*size for _ in range(size)]
        for i, j in combinations(range(size), 2):
            rows[i][j] = g.sub(d[i](form.refs[j]), d[j](form.refs[i]))
            rows[j][i] = -rows[i][j]
        return rows

    @cached_property
    def has_time(self):
        """Whether time takes part, as a component or in the others."""
        return any(form.refs[0] or any(map(self.partial[0], form.refs))
                   for form in (*self.holonomic, *self.kinematic,
                                *self.velocity))

    def independent(self, forms):
        """The first forms that span the others, at the best point."""
        return best_independent(
            self.at_points([f.refs for f in forms]), self.small)

    def is_involutive(self, forms, of=None):
        """Whether ``d theta`` of forms vanishes on their kernel."""
        curls = [self._curls(form.refs) for form in of or forms]
        for k, rows in enumerate(self.at_points([f.refs for f in forms])):
            kernel = null_space(rows, len(self.x), self.small)
            for curl in curls:
                if not restricted_vanishes(curl[k], kernel, self.small):
                    return False
        return True

    def _curls(self, refs):
        return self.at_points(self.curl(Form('', None, refs)))


def generic_points(system, sample=None, count=3, first=False):
    """Points on the constraints to 60 digits, and the size of zero there."""
    small = INEXACT if has_floats(system, sample) else ZERO
    return [admissible_values(system, sample, seed, DIGITS, first)
            for seed in range(count)], small


@precise(DIGITS)
def independent(rows, small):
    """Numbers of the first rows that span the others; zeros are exact."""
    _, kept = orthonormal_rows(rows, mp.sqrt(small))
    return tuple(k for k, _ in kept)


def best_independent(matrices, small):
    """The most rows that are independent in one of some matrices."""
    return max((independent(rows, small) for rows in matrices), key=len,
               default=())


@precise(DIGITS)
def null_space(rows, size, small):
    """Orthonormal vectors that all rows annihilate."""
    basis, _ = orthonormal_rows(rows, mp.sqrt(small))
    units = [[mp.mpf(int(i == j)) for j in range(size)] for i in range(size)]
    every, _ = orthonormal_rows([*basis, *units], mp.mpf('1e-3')/size)
    return every[len(basis):]


@precise(DIGITS)
def restricted_vanishes(matrix, kernel, small):
    """Whether an antisymmetric matrix vanishes on a space."""
    size = max(abs(x) for row in matrix for x in row)
    images = [[mp.fdot(row, v) for row in matrix] for v in kernel]
    return all(abs(mp.fdot(v, image)) <= mp.sqrt(small)*size
               for i, v in enumerate(kernel) for image in images[:i])
