r"""The solution of ``W z = r`` as straight-line code.

A system of mass matrix and constraints is solved by :math:`L D L^T` of the
mass matrix and of the Schur complement, any other by elimination. Where that
is too long, loops solve it (:mod:`.profile`). Every call checks pivots and
residuals; what fails is left to the linear solver.
"""
from typing import NamedTuple

import numpy as np
from sympy import Abs, Dummy, sympify

from ...graph import Graph, read
from ...graph.linalg import (
    ldl_backward, ldl_factor, ldl_forward, ldl_order, ldl_solve, less,
    lu_solve)
from ...graph.reading import SLOTS
from ..tolerances import (
    BACKWARD, CONTRADICTION, PIVOT, POOR_CHOICE, RESIDUAL, SMALL_PIVOT)
from .profile import Profile


# More operations take too long to compile.
MOST = 200000
# Above this many operations of a factorization loops are quicker.
LONG = 20000


class Stage(NamedTuple):
    """A system that is solved in loops between parts of the code.

    ``refs`` are the entries and right sides in the order of the ``profile``,
    ``symbols`` stand for what the loops leave behind the entries.
    """

    profile: Profile
    refs: list
    symbols: list

    def __repr__(self):
        return f'<Stage of {len(self.profile.order)} rows>'


def staged(g, outputs, stages):
    """The graph of outputs and of stages, which are named by their number."""
    return Graph.freeze(g, outputs | {
        str(k): stage.refs for k, stage in enumerate(stages)})


def solved_graph(equations, kept=None, sizes=None, agree=False, work=(),
                 stages=None):
    """Return the rates of all states and the multipliers, or None.

    The graph has the outputs ``out`` (ns + m, 1) and ``checks`` (k, 2): the
    solution is good if the absolute value of the first is at most the second.
    The list ``stages`` receives every :class:`Stage`; without it there are
    none.

    ``kept`` are the independent constraint rows, if not all are; multipliers
    of the others are zero. ``sizes`` are symbols or numbers, one for each row
    and column of ``W``, whose products are the usual size of its entries.
    With ``agree``, which needs ``sizes``, rows that are not kept are checked,
    too. From the outputs ``work`` the power that changes the energy is
    computed; it follows the rates.
    """
    g, out = equations.graph.load(None, ('rates', 'W', 'r', *work))
    found = solved(g, out, equations, kept, sizes, agree, stages)
    if found is None:
        return None
    rates = out['rates'] + [[x] for x in found.z[:found.motion]]
    if work:
        rates.append([power(g, out, equations, rates)])
    lam = [[x] for x in found.z[found.motion:]]
    graph = staged(g, {'out': (rates + lam, 1), 'checks': (found.checks, 2)},
                   stages or ())
    return graph if graph.operation_count() <= MOST else None


class Solved(NamedTuple):
    """``z`` and its checks. Rows that are left out have zeros."""

    z: list
    checks: list
    motion: int
    use: list
    factors: object

    def solve(self, right, is_transposed=False):
        """The solution for another right side, None if there is none."""
        solve = (self.factors.solve_transposed if is_transposed else
                 self.factors.solve)
        found = solve([right[i] for i in self.use])
        if found is None:
            return None
        found = dict(zip(self.use, found))
        return [found.get(i, 0) for i in range(len(right))]


def solved(g, out, equations, kept=None, sizes=None, agree=False,
           stages=None):
    """Return the :class:`Solved` of the outputs ``W`` and ``r``, or None.

    The arguments are those of :func:`solved_graph`.
    """
    use = rows_of(equations, kept)
    count = len(equations.unknowns)
    motion = count - len(equations.multipliers)
    W, r = select(out, use)
    share = PIVOT if kept is None else POOR_CHOICE
    factors = RepeatedFactors.of(g, W, [
        equations.copy_of(i) for i in use], stages) if (
            equations.copies > 1) else None
    if factors is None:
        factors = factors_of(g, W, motion, stages)
    z = factors and factors.solve(r)
    if z is None:
        return None
    checks = factors.checks(r, z, share)
    if sizes is not None:
        rows, columns = ([read(g, sympify(x, strict=True)) for x in side]
                         for side in sizes)
        checked = range(motion, count) if agree else use[motion:]
        least = g.constant(factors.least)   # of the usual size of its entry
        checks += [[g.mul(least, g.mul(rows[use[i]], columns[use[j]])),
                    size(g, pivot)] for i, j, pivot in factors.pivots]
        checks += row_checks(g, out, use, z, checked, rows, columns)
    full = dict(zip(use, z))
    return Solved([full.get(i, 0) for i in range(count)], checks, motion, use,
                  factors)


def rows_of(equations, kept):
    """Positions of the rows of ``W`` in use, if not all constraints are."""
    count = len(equations.unknowns)
    motion = count - len(equations.multipliers)
    return [*range(motion), *(range(motion, count) if kept is None else
                              [motion + k for k in kept])]


def row_checks(g, out, use, z, checked, rows, columns):
    """The constraint rows ``checked`` hold, relative to their terms."""
    r = [row for row, in out['r']]
    usual = g.sum([
        *(g.div(size(g, r[i]), rows[i]) for i in use),
        *(g.mul(size(g, x), columns[i]) for i, x in zip(use, z))])
    checks = []
    for i in checked:
        terms = [g.mul(out['W'][i][j], x) for j, x in zip(use, z)]
        own = sizes_of(g, [*terms, r[i]])
        checks.append([g.sub(g.sum(terms), r[i]), g.add(
            g.mul(g.constant(CONTRADICTION), own),
            g.mul(g.constant(BACKWARD), g.mul(usual, rows[i])))])
    return checks


def power(g, out, equations, rates):
    """Reference of the power of known forces and of constraints."""
    terms = [out['power'][0][0]] if 'power' in out else []
    if 'M' in out:
        where = [equations.states.index(u) for u in equations.u]
        accelerations = [rates[i][0] for i in where]
        for u, row, [force] in zip(equations.u, out['M'], out['Q']):
            terms.append(g.mul(g.input(u, dynamic=True), g.sub(
                g.dot(row, accelerations), force)))
    return g.sum(terms)


def size(g, x):
    return g.call(Abs(SLOTS[0]), (x,)) if x else 0


def sizes_of(g, terms):
    return g.sum(size(g, x) for x in terms)


def select(out, use):
    """``W`` and ``r``, flat, of the rows in use."""
    return ([[out['W'][i][j] for j in use] for i in use],
            [out['r'][i][0] for i in use])


def transposed(matrix):
    return list(map(list, zip(*matrix)))


def blocks(W, motion):
    """``M`` and ``A`` if ``W`` is ``[[M, -A^T], [A, 0]]``, else None."""
    (M, right), (A, corner) = (
        ([row[:motion] for row in part], [row[motion:] for row in part])
        for part in (W[:motion], W[motion:]))
    forces = [[-x for x in row] for row in A]
    if any(map(any, corner)) or transposed(M) != M or (
            transposed(right) != forces):
        return None
    return M, A


def factors_of(g, W, motion, stages=None):
    """Factors of a matrix, by the Schur complement if possible.

    None if they take too many operations, and there are no ``stages``.
    """
    parts = blocks(W, motion)
    if parts:
        factors = mass_factors(g, *parts, stages)
        if factors or all(row[i] for i, row in enumerate(parts[0])):
            return factors
    return Elimination(g, W)


def mass_factors(g, M, A, stages=None):
    """Factors of ``[[M, -A^T], [A, 0]]``, None if there are none."""
    if not is_long(M, A):
        factors = SchurFactors(g, M, A)
        return None if factors.schur is None else factors
    if stages is None or not all(row[i] for i, row in enumerate(M)):
        return None
    return LoopFactors(g, M, A, stages)


def is_long(M, A):
    """Whether the factorization takes more than ``LONG`` operations."""
    count = len(M) + len(A)
    if count**3/3 <= LONG:
        return False
    left = pattern_of(M, A)
    total = 0
    for i in [*ldl_order(M, A), *range(len(M), count)]:
        left[i, i] = False
        near = np.flatnonzero(left[i])
        left[np.ix_(near, near)] = True
        left[:, i] = False
        total += len(near)*(len(near) + 1)
    return total > LONG


def pattern_of(M, A):
    """Where ``[[M, A^T], [A, 0]]`` has entries."""
    M, A = (np.array(part, dtype=bool).reshape(-1, len(M)) for part in (M, A))
    return np.block([[M, A.T], [A, np.zeros((len(A), len(A)), dtype=bool)]])


class SchurFactors:
    """Factors of ``[[M, -A^T], [A, 0]]`` by the Schur complement.

    ``schur`` is None if there are none. ``pivots`` are triples of row, column
    and value, ``diagonal`` the entries before elimination.
    """

    least = PIVOT

    def __init__(self, g, M, A):
        self.g, self.size, self.schur = g, len(M), None
        self.order = order = ldl_order(M, A)
        M, A = ([[row[j] for j in order] for row in part] for part in (M, A))
        M = [M[i] for i in order]
        self.mass = ldl_factor(g, M)
        if self.mass is None:
            return
        S, self.Z = complement(g, self.mass, A)
        self.schur = ldl_factor(g, S)
        if self.schur is None:
            return
        self.diagonal = [row[i] for matrix in (M, S)
                         for i, row in enumerate(matrix)]
        where = [*order, *range(len(M), len(M) + len(A))]
        self.pivots = [(i, i, g.inv(inverse)) for i, inverse in zip(
            where, self.mass[1] + self.schur[1])]

    def checks(self, right, z, share):
        """No pivot loses many digits of its entry."""
        g = self.g
        share = g.constant(share)
        return [[g.mul(share, entry), size(g, pivot)]
                for entry, (_, _, pivot) in zip(self.diagonal, self.pivots)
                if entry != pivot]

    def solve(self, right):
        """Solution of ``M*u - A^T*lam = known``, ``A*u = rest``."""
        g, mass = self.g, self.mass
        known, rest = right[:self.size], right[self.size:]
        a = ldl_forward(g, mass, [known[i] for i in self.order])
        lam = ldl_solve(g, self.schur, [
            less(g, x, z, a) for z, x in zip(self.Z, rest)])
        u = list(map(g.mul, a, mass[1]))
        for x, row in zip(lam, self.Z):
            u = [g.add(y, g.mul(x, z)) for y, z in zip(u, row)]
        found = dict(zip(self.order, ldl_backward(g, mass, u)))
        return [found[i] for i in range(self.size)] + lam

    def solve_transposed(self, right):
        """``W^T`` is ``W`` with other signs of the second rows and columns."""
        n = self.size
        found = self.solve(right[:n] + [-x for x in right[n:]])
        return found[:n] + [-x for x in found[n:]]


class LoopFactors:
    """The same in loops: a :class:`Stage` for every right side.

    ``pivots`` and ``diagonal`` are those of the last one.
    """

    def __init__(self, g, M, A, stages):
        self.g, self.size, self.stages = g, len(M), stages
        self.profile = Profile(pattern_of(M, A), self.size)
        lower = [*M, *([*row, *[0]*len(A)] for row in A)]
        self.entries = [lower[max(i, j)][min(i, j)]
                        for i, j in self.profile.entries]

    least, checks = PIVOT, SchurFactors.checks

    def solve(self, right):
        g, order = self.g, self.profile.order
        symbols = [Dummy() for _ in range(3*len(order))]
        self.stages.append(Stage(self.profile, self.entries + [
            right[i] for i in order], symbols))
        refs = [g.input(x, dynamic=True) for x in symbols]
        z, pivots, self.diagonal = (
            [refs[place] for place in np.argsort(order) + k*len(order)]
            for k in range(3))
        signs = [1 if i < self.size else -1 for i in range(len(order))]
        self.pivots = [(i, i, sign*pivot) for i, (sign, pivot) in enumerate(
            zip(signs, pivots))]
        return [sign*x for sign, x in zip(signs, z)]

    solve_transposed = SchurFactors.solve_transposed


def complement(g, mass, A):
    """The Schur complement, and ``D^-1*Y`` with ``Y = L^-1*A^T``."""
    Y = [ldl_forward(g, mass, row) for row in A]
    Z = [list(map(g.mul, row, mass[1])) for row in Y]
    return [[g.dot(row, z) for z in Z] for row in Y], Z


class Elimination:
    """By elimination, in one order for all states.

    A pivot may vanish where the constraints hold. Near there the general
    solver is more accurate, so the smallest allowed pivot is larger.
    """

    least = SMALL_PIVOT

    def __init__(self, g, W):
        self.g, self.W, self.pivots = g, W, []

    def solve(self, right):
        """The solution, None if ``W`` is singular."""
        self.pivots = []
        return lu_solve(self.g, self.W, right, self.pivots)

    def solve_transposed(self, right):
        return lu_solve(self.g, transposed(self.W), right)

    def checks(self, right, z, share):
        g, allowed, checks = self.g, self.g.constant(RESIDUAL), []
        for row, value in zip(self.W, right):
            terms = [g.mul(x, y) for x, y in zip(row, z)]
            rest = g.sub(g.sum(terms), value)
            if rest:
                checks.append([rest, g.mul(
                    allowed, sizes_of(g, [*terms, value]))])
        return checks


class RepeatedFactors:
    """Factors of ``[[W, 0, ...], [dW, W, 0, ...], ...]``: those of ``W``.

    ``groups`` are the positions of each block.
    """

    def __init__(self, g, matrix, groups, inner):
        self.g, self.matrix, self.groups = g, matrix, groups
        self.inner = inner

    @classmethod
    def of(cls, g, matrix, owners, stages=None):
        """The factors; ``owners`` are pairs of a copy and the position in it.

        None if the copies have different rows in use.
        """
        copies = sorted({copy for copy, _ in owners})
        groups = [[k for k, (copy, _) in enumerate(owners) if copy == some]
                  for some in copies]
        patterns = {tuple(owners[k][1] for k in group) for group in groups}
        if len(patterns) > 1:
            return None
        first = groups[0]
        inner = factors_of(
            g, [[matrix[i][j] for j in first] for i in first],
            sum(isinstance(place, int) for place in patterns.pop()), stages)
        return inner and cls(g, matrix, groups, inner)

    @property
    def least(self):
        return self.inner.least

    @property
    def pivots(self):
        """Those of the first block; the others have the same."""
        first = self.groups[0]
        return [(first[i], first[j], pivot)
                for i, j, pivot in self.inner.pivots]

    def checks(self, right, z, share):
        first = self.groups[0]
        return self.inner.checks([right[i] for i in first],
                                 [z[i] for i in first], share)

    def solve(self, right):
        first, *others = self.groups
        z = self.inner.solve([right[i] for i in first])
        if z is None:
            return None
        found = dict(zip(first, z))
        for group in others:
            found |= zip(group, self.inner.solve([
                less(self.g, right[i], [self.matrix[i][j] for j in first], z)
                for i in group]))
        return [found[i] for i in range(len(right))]

    def solve_transposed(self, right):
        first, *others = self.groups
        found = {}
        for group in others:
            found |= zip(group, self.inner.solve_transposed(
                [right[i] for i in group]))
        rest = [less(self.g, right[j], [self.matrix[i][j] for i in found],
                     found.values()) for j in first]
        found |= zip(first, self.inner.solve_transposed(rest))
        return [found[i] for i in range(len(right))]
