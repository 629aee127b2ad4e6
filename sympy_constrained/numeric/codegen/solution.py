r"""The solution of ``W z = r`` as straight-line code.

A system of mass matrix and constraints is solved by :math:`L D L^T` of the
mass matrix and of the Schur complement, any other by elimination. Every call
checks pivots and residuals; what fails is left to the linear solver.
"""
from __future__ import annotations

from sympy import Abs, sympify

from ...graph import Graph, read
from ...graph.linalg import (
    ldl_backward, ldl_factor, ldl_forward, ldl_order, ldl_solve, less,
    lu_solve)
from ...graph.reading import SLOTS
from ..tolerances import BACKWARD, CONTRADICTION, PIVOT, POOR_CHOICE, RESIDUAL

__all__ = ['blocks', 'select', 'solved_graph']

# Above this many operations a dense solver is quicker.
MOST = 30000


def solved_graph(equations, kept=None, sizes=None, agree=False, work=()):
    """Return the rates of all states and the multipliers, or None.

    The graph has the outputs ``out`` (ns + m, 1) and ``checks`` (k, 2): the
    solution is good if the absolute value of the first is at most the second.

    ``kept`` are the independent constraint rows, if not all are; multipliers
    of the others are zero. ``sizes`` are symbols or numbers, one for each row
    and column of ``W``, whose products are the usual size of its entries.
    With ``agree``, which needs ``sizes``, rows that are not kept are checked,
    too. From the outputs ``work`` the power that changes the energy is
    computed (class ``Work``); it follows the rates.
    """
    count = len(equations.unknowns)
    motion = count - len(equations.multipliers)
    use = [*range(motion), *(range(motion, count) if kept is None else
                             [motion + k for k in kept])]
    g, out = equations.graph.load(None, ('rates', 'W', 'r', *work))
    W, r = select(out, use)
    share = PIVOT if kept is None else POOR_CHOICE
    solution = block_solution(g, W, r, motion, share) or eliminated(g, W, r)
    if solution is None:
        return None
    z, checks, pivots = solution
    if sizes is not None:
        rows, columns = (references(g, side) for side in sizes)
        checked = range(motion, count) if agree else use[motion:]
        checks += pivot_checks(g, use, pivots, rows, columns)
        checks += row_checks(g, out, use, z, checked, rows, columns)
    full = dict(zip(use, z))
    z = [[full.get(i, 0)] for i in range(count)]
    rates = out['rates'] + z[:motion]
    if work:
        rates.append([power(g, out, equations, rates)])
    graph = Graph.freeze(g, {'out': (rates + z[motion:], 1),
                             'checks': (checks, 2)})
    return graph if graph.operation_count() <= MOST else None


def references(g, numbers):
    return [read(g, sympify(x, strict=True)) for x in numbers]


def pivot_checks(g, use, pivots, rows, columns):
    """No pivot is small relative to the usual size of its entry."""
    least = g.constant(PIVOT)
    return [[g.mul(least, g.mul(rows[use[i]], columns[use[j]])),
             size(g, pivot)] for i, j, pivot in pivots]


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
    """Reference of an absolute value."""
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


def block_solution(g, W, r, motion, share):
    """By the Schur complement, if ``W`` is ``[[M, -A^T], [A, 0]]``.

    Returns the solution, checks of the pivots, and pivots with their places.
    """
    parts = blocks(W, motion)
    if parts is None:
        return None
    order = ldl_order(*parts)
    M, A = ([[row[j] for j in order] for row in part] for part in parts)
    solution = schur_solution(g, [M[i] for i in order], A,
                              [r[i] for i in order], r[motion:])
    if solution is None:
        return None
    u, lam, diagonal, pivots = solution
    share = g.constant(share)
    checks = [[g.mul(share, entry), size(g, pivot)]
              for entry, pivot in zip(diagonal, pivots) if entry != pivot]
    where = [*order, *range(motion, len(W))]
    u = dict(zip(order, u))
    return ([u[i] for i in range(motion)] + lam, checks,
            list(zip(where, where, pivots)))


def schur_solution(g, M, A, known, right):
    """Solution of ``M*u - A^T*lam = known``, ``A*u = right``, or None.

    The diagonal entries and pivots of both factorizations follow it.
    """
    mass = ldl_factor(g, M)
    if mass is None:
        return None
    a = ldl_forward(g, mass, known)
    S, Z = complement(g, mass, A)
    schur = ldl_factor(g, S)
    if schur is None:
        return None
    lam = ldl_solve(g, schur, [less(g, x, z, a) for z, x in zip(Z, right)])
    u = list(map(g.mul, a, mass[1]))
    for x, row in zip(lam, Z):
        u = [g.add(y, g.mul(x, z)) for y, z in zip(u, row)]
    diagonal = [row[i] for matrix in (M, S) for i, row in enumerate(matrix)]
    return (ldl_backward(g, mass, u), lam, diagonal,
            [g.inv(inverse) for inverse in mass[1] + schur[1]])


def complement(g, mass, A):
    """The Schur complement, and ``D^-1*Y`` with ``Y = L^-1*A^T``."""
    Y = [ldl_forward(g, mass, row) for row in A]
    Z = [list(map(g.mul, row, mass[1])) for row in Y]
    return [[g.dot(row, z) for z in Z] for row in Y], Z


def eliminated(g, W, r):
    """By elimination, with checks of the residuals."""
    pivots = []
    z = lu_solve(g, W, r, pivots)
    if z is None:
        return None
    allowed, checks = g.constant(RESIDUAL), []
    for row, right in zip(W, r):
        terms = [g.mul(x, y) for x, y in zip(row, z)]
        rest = g.sub(g.sum(terms), right)
        if rest:
            checks.append([rest, g.mul(
                allowed, sizes_of(g, [*terms, right]))])
    return z, checks, pivots
