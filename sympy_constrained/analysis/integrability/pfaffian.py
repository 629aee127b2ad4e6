r"""Velocity rows as differential forms, and the directions that they leave.

A row that is linear in the velocities is a form :math:`\theta = \theta_0\,dt +
\theta_i\,dq_i` on the space of :math:`(t, q)`; index 0 is time. Derivatives
are taken on the graph, ranks are decided at points that satisfy the holonomic
rows, at 60 digits.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from random import Random

from mpmath import mp
from sympy import sympify

from ...graph import (
    Derivation, Graph, gradient, substitute, time_derivative, without)
from ...graph.linalg import solve
from ...precision import precise
from ..consistent_points import (
    admissible_values, has_floats, norm, orthonormal_rows, project_out,
    stand_ins)
from ..zero_tests import floats_at

__all__ = ['Form', 'VelocityForms', 'Distribution', 'generic_points']

DIGITS = 60
# What counts as zero relative to what was met on the way to it, where all
# numbers are exact, and where some are floats.
ZERO, INEXACT = mp.mpf('1e-40'), mp.mpf('1e-8')
# Nodes of the graph beyond which no further brackets are taken.
MOST_NODES = 150_000
NEWTON = 8


@dataclass(frozen=True)
class Form:
    """A row as a form.

    Attributes
    ==========

    name : str
    row : int or None
        Number of the row; None for a relation of the kinematic equations.
    refs : tuple
        Components by ``dt`` and the ``dq``, n + 1 references.
    used : tuple of int
        Other velocity rows by which speeds were eliminated that are no rates
        of coordinates.

    """

    name: str
    row: int | None
    refs: tuple
    used: tuple = ()


class VelocityForms:
    """The holonomic and the linear velocity rows of a system as forms.

    Parameters
    ==========

    system : ConstrainedSystem
    points : list of dict
        From :func:`generic_points`.
    small : mpf
        Relative size that counts as zero.

    Attributes
    ==========

    builder : GraphBuilder
    x : list of references
        Time, then the coordinates.
    partial : list of callables
        Derivatives by them. The one by time is that of all that is no
        coordinate: of inputs as well.
    holonomic, kinematic, velocity : list of Form
        Gradients of the holonomic rows; relations of the kinematic
        equations, if the rates of the coordinates are not independent; rows
        that are linear in the speeds.
    nonlinear : dict
        Row number -> reference, for rows that are not.
    speeds_only : dict
        Row number -> None, for rows that only define speeds which are no
        rates of coordinates.

    """

    def __init__(self, system, points, small=ZERO):
        self.system, self.points, self.small = system, points, small
        g, out = system.graph.load(None, ('rates', 'holonomic', 'velocity'))
        self.builder, g.at_states = g, self._at_states
        q = [g.input(x, dynamic=True) for x in system.q]
        self.u = [g.input(x, dynamic=True) for x in system.u]
        time = g.input(system.t, dynamic=True)
        self.x = [time, *q]
        g.avoid((*self.x, *self.u))     # what cancels is to be seen
        self._explicit = dict.fromkeys((*q, *self.u), 0)
        self.partial = [time_derivative(g, self._explicit)] + [
            Derivation(g, {k: 1}) for k in q]
        names = system.constraint_names
        self.holonomic = [
            Form(names[k], k, tuple(d(h) for d in self.partial))
            for k, (h,) in enumerate(out['holonomic'])]
        self.kinematic, self.velocity = [], []
        self.nonlinear, self.speeds_only = {}, {}
        first = len(self.holonomic)
        rows = {first + k: psi for k, (psi,) in enumerate(
            out['velocity'][first:])}
        self._read([rate for rate, in out['rates']], rows)

    def _read(self, rates, rows):
        """Eliminate the speeds from the rates and the velocity rows."""
        g, n = self.builder, len(self.x) - 1
        self.linear_kinematics = True
        F = [self._slopes(rate) for rate in rates]
        if None in F:
            self.linear_kinematics = False
            self.nonlinear = dict(rows)
            return
        rest = dict.fromkeys(self.u, 0)
        right = [[-x] + [int(i == k) for i in range(n)] for k, x in
                 enumerate(substitute(g, rates, rest))]
        matrix, numbers = list(F), [None]*n
        for k, psi in rows.items():
            slopes = self._slopes(psi)
            if slopes is None:
                self.nonlinear[k] = psi
                continue
            matrix.append(slopes)
            numbers.append(k)
            right.append([-substitute(g, [psi], rest)[0]] + [0]*n)
        self._eliminate(matrix, right, numbers)

    def _slopes(self, ref):
        """Derivatives by the speeds, None if they depend on speeds."""
        found = without(self.builder, gradient(self.builder, ref, self.u),
                        self.u)
        return None if None in found else found

    def _eliminate(self, matrix, right, numbers):
        """Combinations of rows ``matrix*u = right`` without the speeds."""
        g, names = self.builder, self.system.constraint_names
        basis, pivots = self._basis(matrix)
        square = [[matrix[i][j] for i in basis] for j in pivots]
        for k, row in enumerate(matrix):
            if k in basis:
                if numbers[k] is not None:
                    self.speeds_only[numbers[k]] = None
                continue
            factors = solve(g, square, [row[j] for j in pivots])
            refs = tuple(
                g.sub(g.dot(factors, [right[i][j] for i in basis]),
                      right[k][j]) for j in range(len(self.x)))
            used = tuple(numbers[i] for i, x in zip(basis, factors)
                         if x and numbers[i] is not None)
            if numbers[k] is None:
                self.kinematic.append(Form(
                    f'kinematic relation {len(self.kinematic)}', None, refs))
            else:
                self.velocity.append(
                    Form(names[numbers[k]], numbers[k], refs, used))

    def _basis(self, matrix):
        """Independent rows, the first ones, and columns where they are so."""
        best = (), ()
        for rows in self.at_points(matrix):
            kept = independent(rows, self.small)
            if len(kept) > len(best[0]):
                best = kept, independent(
                    list(zip(*(rows[k] for k in kept))), self.small)
        return best

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
        return floats_at(self.system, graph, name, self.points)

    def at(self, graph, values):
        """Output ``x`` of a graph at a point; what is rounding is zero."""
        add_missing(graph, values)
        with precise(DIGITS):
            functions = stand_ins(self.system)
            found = graph.evaluate(values, ('x',), mp, functions)['x']
            size = graph.largest(values, ('x',), mp, functions)
        return [[x if abs(x) > self.small*size else mp.mpf(0) for x in row]
                for row in found]

    # -- derivatives -----------------------------------------------------

    def curl(self, form):
        """Rows ``d_i theta_j - d_j theta_i``, antisymmetric."""
        g, d, size = self.builder, self.partial, len(self.x)
        found = [[0]*size for _ in range(size)]
        for i, j in combinations(range(size), 2):
            found[i][j] = g.sub(d[i](form.refs[j]), d[j](form.refs[i]))
            found[j][i] = -found[i][j]
        return found

    @cached_property
    def has_time(self):
        """Whether time takes part, as a component or in the others."""
        return any(form.refs[0] or any(map(self.partial[0], form.refs))
                   for form in (*self.holonomic, *self.kinematic,
                                *self.velocity))

    def independent(self, forms):
        """The first forms that span the others, at the best point."""
        return max((independent(rows, self.small)
                    for rows in self.at_points([f.refs for f in forms])),
                   key=len, default=())

    def is_involutive(self, forms, of=None):
        """Whether ``d theta`` vanishes on the kernel of forms, at the points.

        For each theta among ``of``, all of the forms by default.
        """
        curls = [self._curls(form) for form in of or forms]
        for k, rows in enumerate(self.at_points([f.refs for f in forms])):
            kernel = null_space(rows, len(self.x), self.small)
            for found in curls:
                if not restricted_vanishes(found[k], kernel, self.small):
                    return False
        return True

    def _curls(self, form):
        memo = self.__dict__.setdefault('_curl_memo', {})
        if form.refs not in memo:
            memo[form.refs] = self.at_points(self.curl(form))
        return memo[form.refs]


class Distribution:
    r"""The directions that independent forms leave, and their brackets.

    Explanation
    ===========

    The forms are solved for some of the ``dq``,

    .. math::

       dq_a = B_{a0}\,dt + B_{ai}\,dq_i , \qquad
       X_i = \partial_i + B_{ai}\,\partial_a ,

    so that brackets of the fields :math:`X_0, X_1, \dots` have components
    by the dependent coordinates only:

    .. math::

       [X_i, X_j]_a = X_i(B_{aj}) - X_j(B_{ai}), \qquad
       [X_i, V]_a = X_i(v_a) - V(B_{ai}) .

    Parameters
    ==========

    space : VelocityForms
    forms : list of Form
        Independent ones.
    points : list of dict, optional
        Where ranks are decided; the points of the space by default.

    """

    def __init__(self, space, forms, points=None):
        self.space, self.forms = space, list(forms)
        self.points = points or space.points
        g, size = space.builder, len(space.x)
        self.dependent = self._pivots()
        self.free = [i for i in range(size) if i not in self.dependent]
        square = [[form.refs[a] for a in self.dependent] for form in forms]
        self.B = {}
        for i in self.free:
            self.B[i] = solve(g, square, [-form.refs[i] for form in forms])
        self.fields = {i: self._field(i) for i in self.free}
        self._brackets = {}

    def _pivots(self):
        """Columns to solve for: constant ones as far as possible."""
        g, size = self.space.builder, len(self.space.x)
        columns = list(zip(*(form.refs for form in self.forms)))
        order = sorted(range(1, size), key=lambda j: sum(
            2 if g.depends[abs(x)] & g.dynamic else 0 if x else 1
            for x in columns[j]) if self.forms else 0)
        best = ()
        for rows in self.space.at_points(
                [form.refs for form in self.forms], self.points):
            kept = independent([[row[j] for row in rows] for j in order],
                               self.space.small)
            best = max(best, tuple(order[k] for k in kept), key=len)
        return sorted(best)

    def _field(self, i):
        """Derivation along ``X_i``."""
        g, x = self.space.builder, self.space.x
        seeds = {x[a]: b for a, b in zip(self.dependent, self.B[i])}
        if i == 0:
            return time_derivative(g, {**self.space._explicit, **seeds})
        return Derivation(g, {**seeds, x[i]: 1})

    def _along(self, vertical):
        """Derivation along a field with dependent components only."""
        return self.bracket_memo('along', vertical, lambda: Derivation(
            self.space.builder, {
                self.space.x[a]: v
                for a, v in zip(self.dependent, vertical)}))

    def bracket_memo(self, *key):
        *key, compute = key
        key = tuple(key)
        if key not in self._brackets:
            self._brackets[key] = compute()
        return self._brackets[key]

    def bracket(self, x, y):
        """Components of ``[x, y]``; index of a field, or components."""
        return self.bracket_memo(x, y, lambda: self._bracket(x, y))

    def _bracket(self, x, y):
        g = self.space.builder

        def parts(z):
            if isinstance(z, int):
                return self.fields[z], self.B[z]
            return self._along(z), z

        (along_x, ahead), (along_y, back) = parts(x), parts(y)
        return tuple(g.sub(along_x(b), along_y(a))
                     for a, b in zip(ahead, back))

    @cached_property
    def curvature(self):
        """``(i, j)`` -> components of ``[X_i, X_j]``, those not zero."""
        found = {(i, j): self.bracket(i, j)
                 for i, j in combinations(self.free, 2)}
        return {key: v for key, v in found.items() if any(v)}

    def is_involutive(self, fixed_time=False):
        """Whether the brackets of the fields vanish, at the points.

        Those with ``X_0`` do not count at a fixed time.
        """
        rows = [v for (i, j), v in self.curvature.items()
                if i or not fixed_time]
        return not any(x for values in self.space.at_points(rows, self.points)
                       for row in values for x in row)

    # -- flags -----------------------------------------------------------

    def flag(self, derived=False):
        """Ranks of the brackets, level by level, and independent ones.

        Parameters
        ==========

        derived : bool
            Whether all fields of a level are bracketed with each other (the
            derived flag) or with the first ones only (the growth vector).

        Returns
        =======

        list of int
            Number of directions added up to each level, from 0 until it
            does not grow any more.
        list of tuples
            The added fields.
        bool
            Whether it came to the end.

        """
        ranks, chosen = [0], []
        new = list(self.curvature.values())
        while new and ranks[-1] < len(self.forms):
            before = len(chosen)
            chosen = self._independent(chosen + new)
            if len(chosen) == before:
                break
            ranks.append(len(chosen))
            if len(self.space.builder.nodes) > MOST_NODES:
                return ranks, chosen, False
            added = chosen[before:]
            new = [self.bracket(i, v) for i in self.free for v in added]
            if derived:
                new += [self.bracket(chosen[k], v) for v in added
                        for k in range(chosen.index(v))]
            new = [v for v in dict.fromkeys(new) if any(v)]
        return ranks, chosen, True

    def _independent(self, fields):
        """The first fields that span the others, at the best point."""
        best = max((independent(rows, self.space.small) for rows in
                    self.space.at_points(fields, self.points)),
                   key=len, default=())
        return [fields[k] for k in best]

    def growth_at(self, full, most=400):
        """Ranks of all brackets of each length at the one point given.

        No bracket is left out, since one that is a combination of shorter
        ones elsewhere need not be one here.

        Parameters
        ==========

        full : int
            The rank at which to stop.
        most : int
            Number of brackets after which to stop.

        Returns
        =======

        list of int
        bool
            Whether it came to the end.

        """
        ranks, fields = [0], []
        new = list(self.curvature.values())
        while new and ranks[-1] < full:
            if (len(fields) + len(new) > most or
                    len(self.space.builder.nodes) > MOST_NODES):
                return ranks, False
            fields += new
            ranks.append(len(self._independent(fields)))
            new = list(dict.fromkeys(
                self.bracket(i, v) for i in self.free for v in new))
            new = [v for v in new if any(v)]
        while len(ranks) > 1 and ranks[-1] == ranks[-2]:
            ranks.pop()
        return ranks, True

    # -- what can be integrated ------------------------------------------

    def annihilators(self, fields):
        """Forms of the kernel of the dependent components of fields.

        They span the last derived system if the fields do its complement.

        Returns
        =======

        list of (tuple, tuple)
            References of the components, and of the factors of the forms.

        """
        g, size = self.space.builder, len(self.dependent)
        pivots = ()
        if fields:
            for rows in self.space.at_points(fields, self.points):
                pivots = max(pivots, independent(
                    list(zip(*rows)), self.space.small), key=len)
        square = [[v[a] for a in pivots] for v in fields]
        result = []
        for k in range(size):
            if k in pivots:
                continue
            solved = solve(g, square, [-v[k] for v in fields])
            c = [int(a == k) for a in range(size)]
            for a, x in zip(pivots, solved):
                c[a] = x
            refs = [0]*len(self.space.x)
            for i in self.free:
                refs[i] = -g.dot(c, self.B[i])
            for a, x in zip(self.dependent, c):
                refs[a] = x
            result.append((tuple(refs), tuple(self._factors(c))))
        return result

    def _factors(self, c):
        """Factors of the forms that give some components by pivots."""
        transposed = [[form.refs[a] for form in self.forms]
                      for a in self.dependent]
        return solve(self.space.builder, transposed, list(c))


# -- numbers -------------------------------------------------------------

def generic_points(system, sample=None, count=3, first=0):
    """Points that satisfy the constraints, refined to 60 digits.

    Returns
    =======

    list of dict
    mpf
        The relative size that counts as zero.

    """
    small = INEXACT if has_floats(system, sample) else ZERO
    points = []
    for seed in range(first, first + count):
        values = dict(admissible_values(system, sample, seed))
        with precise(DIGITS):
            for x, value in (sample or {}).items():
                given = sympify(value, strict=True)._to_mpmath(mp.prec)
                if abs(values[x] - given) < mp.mpf('1e-20')*(1 + abs(given)):
                    values[x] = given           # to all digits
            refine(system, values, small)
        points.append(values)
    return points, small


def refine(system, values, small):
    """Newton steps of least norm onto the holonomic rows, in place."""
    if not system.holonomic_rows:
        return
    rough = mp.mpf('1e-10')
    for _ in range(NEWTON):
        out = system.graph.evaluate(
            values, ('holonomic', 'holonomic_jacobian'), mp,
            stand_ins(system))
        J = out['holonomic_jacobian']
        kept = independent(J, max(rough, small))
        h = mp.matrix([out['holonomic'][k][0] for k in kept])
        if not kept or mp.norm(h, mp.inf) < mp.mpf(10)**(5 - DIGITS):
            return
        J = mp.matrix([J[k] for k in kept])
        step = J.T*mp.lu_solve(J*J.T, h)
        for j, x in enumerate(system.q):
            values[x] -= step[j]


@precise(DIGITS)
def independent(rows, small):
    """Numbers of the first rows that span the others.

    A row is judged by its size; zeros are exact here.
    """
    rows = [list(row) for row in rows]
    _, kept = orthonormal_rows(rows, mp.sqrt(small))
    return tuple(k for k, _ in kept)


@precise(DIGITS)
def null_space(rows, size, small):
    """Orthonormal vectors that all rows annihilate."""
    basis, _ = orthonormal_rows(rows, mp.sqrt(small))
    count = len(basis)
    for i in range(size):
        unit = [mp.mpf(int(i == j)) for j in range(size)]
        rest, _ = project_out(unit, basis)
        length = norm(rest)
        if length > mp.mpf('1e-3')/size:
            basis.append([x/length for x in rest])
    return basis[count:]


@precise(DIGITS)
def restricted_vanishes(matrix, kernel, small):
    """Whether an antisymmetric matrix vanishes on a space."""
    size = max(abs(x) for row in matrix for x in row)
    images = [[sum(x*y for x, y in zip(row, v)) for row in matrix]
              for v in kernel]
    return all(abs(sum(x*y for x, y in zip(v, images[k]))) <=
               mp.sqrt(small)*size
               for i, v in enumerate(kernel) for k in range(i))


def add_missing(graph, values):
    """Add numbers of inputs that a point lacks: rates of functions of time.
    """
    for x in graph.inputs:
        if x not in values:
            random = Random(f'{x} {float(values[graph.time])}')
            values[x] = mp.mpf(random.randint(1, 10**9))/10**9
