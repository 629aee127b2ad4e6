r"""The solution of ``W z = r`` as straight-line code.

A block system of mass matrix and constraints is solved by :math:`L D L^T` of
the mass matrix and of the Schur complement, another one by elimination with
the pivots that are good at a random point. Whether the result can be trusted
is checked with every call: pivots must not be small beside the entries they
come from, nor beside the usual size of their row and column, and residuals,
those of all constraint rows among them, must be small compared with their
terms. What fails the check is solved by the linear solver instead.
"""
from __future__ import annotations

from sympy import Abs, sympify

from ...graph import Graph, read
from ...graph.linalg import (
    ldl_backward, ldl_factor, ldl_forward, ldl_order, ldl_solve, less,
    lu_solve)
from ...graph.reading import SLOTS

__all__ = ['blocks', 'solved_graph']

# Above so many operations a dense solver is quicker.
MOST = 30000
# A smaller part of its diagonal entry, or of the size of its row and column,
# is no pivot; a larger part of the terms of an equation is no residual.
PIVOT, RESIDUAL = 1e-10, 1e-9
# The same for rows that were chosen among redundant ones: another choice may
# be better.
CHOSEN_PIVOT = 1e-6
# A constraint row whose residual is a larger part of its own terms does not
# hold, unless rounding of the others explains it.
CONTRADICTION, BACKWARD = 1e-7, 1e-10


def solved_graph(equations, kept=None, sizes=None, agree=False, work=()):
    """Return the rates of all states and the multipliers, or None.

    Parameters
    ==========

    equations : EquationsOfMotion
    kept : sequence of int, optional
        The independent constraint rows, if not all are; multipliers of the
        others are zero.
    sizes : pair of sequences, optional
        Of each row and of each column of ``W``, symbols or numbers whose
        products are the usual size of the entries. Without them a row that
        vanishes at a state is told only if it vanishes exactly.
    agree : bool
        Whether to check that the rows that are not kept hold, too, as the
        kept ones are; both need ``sizes``.
    work : sequence of str
        What the power that changes the energy is made of, as in
        the class ``Work``; then it stands between rates and multipliers.

    Returns
    =======

    Graph
        ``out`` (ns + m, 1), one row more with ``work``, and ``checks``
        (k, 2): the solution is good if the absolute value of the first is at
        most the second. None if there is no quick solution.

    """
    count = len(equations.unknowns)
    motion = count - len(equations.multipliers)
    rows = range(motion, count) if kept is None else [
        motion + k for k in kept]
    use = [*range(motion), *rows]
    g, out = equations.graph.load(None, ('rates', 'W', 'r', *work))
    W = [[out['W'][i][j] for j in use] for i in use]
    r = [out['r'][i][0] for i in use]
    share = PIVOT if kept is None else CHOSEN_PIVOT
    found = block_solution(g, W, r, motion, share) or eliminated(g, W, r)
    if found is None:
        return None
    z, checks, pivots = found
    if sizes is not None:
        rows, columns = ([read(g, sympify(x, strict=True)) for x in side]
                         for side in sizes)
        least = g.constant(PIVOT)
        checks += [[g.mul(least, g.mul(rows[use[i]], columns[use[j]])),
                    size(g, pivot)] for i, j, pivot in pivots]
        usual = g.sum([
            *(g.div(size(g, x), rows[i]) for i, x in zip(use, r)),
            *(g.mul(size(g, x), columns[i]) for i, x in zip(use, z))])
        for i in range(motion, count):
            if agree or i in use:
                terms = [g.mul(out['W'][i][j], x) for j, x in zip(use, z)]
                right = out['r'][i][0]
                own = g.sum(size(g, x) for x in [*terms, right])
                rest = g.sub(g.sum(terms), right)
                checks.append([rest, g.add(
                    g.mul(g.constant(CONTRADICTION), own),
                    g.mul(g.constant(BACKWARD), g.mul(usual, rows[i])))])
    full = dict(zip(use, z))
    z = [[full.get(i, 0)] for i in range(count)]
    rates = out['rates'] + z[:motion]
    if work:
        rates.append([power(g, out, equations, rates)])
    graph = Graph.freeze(g, {'out': (rates + z[motion:], 1),
                             'checks': (checks, 2)})
    return graph if graph.operation_count() <= MOST else None


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


def blocks(W, motion):
    """``M`` and ``A`` if ``W`` is ``[[M, -A^T], [A, 0]]``, else None."""
    count = len(W)
    M = [row[:motion] for row in W[:motion]]
    A = [row[:motion] for row in W[motion:]]
    if any(W[i][j] for i in range(motion, count) for j in range(
            motion, count)) or any(
            W[j][motion + i] != -x for i, row in enumerate(A)
            for j, x in enumerate(row)) or any(
            M[i][j] != M[j][i] for i in range(motion) for j in range(i)):
        return None
    return M, A


def block_solution(g, W, r, motion, share):
    """By Schur complement, if ``W`` is ``[[M, -A^T], [A, 0]]``.

    With the checks of the pivots, and where they are. With
    :math:`Y = L^{-1} A^T` the complement is :math:`Y^T D^{-1} Y`, so that
    each right side goes through :math:`L`, and only the solution through
    :math:`L^T`.
    """
    found = blocks(W, motion)
    if found is None:
        return None
    order = ldl_order(*found)
    M, A = ([[row[j] for j in order] for row in part] for part in found)
    M, known = [M[i] for i in order], [r[i] for i in order]
    mass = ldl_factor(g, M)
    if mass is None:
        return None
    a = ldl_forward(g, mass, known)
    Y = [ldl_forward(g, mass, row) for row in A]
    Z = [list(map(g.mul, row, mass[1])) for row in Y]
    S = [[g.dot(row, z) for z in Z] for row in Y]
    schur = ldl_factor(g, S)
    if schur is None:
        return None
    lam = ldl_solve(g, schur, [
        less(g, right, z, a) for z, right in zip(Z, r[motion:])])
    u = [g.mul(x, d) for x, d in zip(a, mass[1])]
    for x, row in zip(lam, Z):
        u = [g.add(y, g.mul(x, z)) for y, z in zip(u, row)]
    u = dict(zip(order, ldl_backward(g, mass, u)))
    diagonal = [row[i] for matrix in (M, S) for i, row in enumerate(matrix)]
    pivots = [g.inv(inverse) for inverse in mass[1] + schur[1]]
    share = g.constant(share)
    checks = [[g.mul(share, entry), size(g, pivot)]
              for entry, pivot in zip(diagonal, pivots) if entry != pivot]
    where = [*order, *range(motion, len(W))]
    return ([u[i] for i in range(motion)] + lam, checks,
            list(zip(where, where, pivots)))


def eliminated(g, W, r):
    """By elimination, with a look at the residual."""
    pivots = []
    z = lu_solve(g, W, r, pivots)
    if z is None:
        return None
    allowed, checks = g.constant(RESIDUAL), []
    for row, right in zip(W, r):
        terms = [g.mul(x, y) for x, y in zip(row, z)]
        rest = g.sub(g.sum(terms), right)
        if rest:
            checks.append([rest, g.mul(allowed, g.sum(
                size(g, x) for x in [*terms, right]))])
    return z, checks, pivots
