"""Equations in fewer speeds, with the multipliers recovered."""
from __future__ import annotations

from ..errors import MissingIngredientError, RedundantConstraintsError
from ..graph import Graph, GraphMatrix
from ..graph.linalg import (
    ldl_factor, ldl_solve, lu_solve, pivot_columns, solve)
from ..model.equations import EquationsOfMotion

__all__ = ['reduced_equations', 'accelerations', 'no_mass', 'null_basis',
           'null_space_solve', 'elimination']


def reduced_equations(method, graph, matrix, right, reactions=None,
                      when_singular=''):
    """Return ``matrix*u' = right`` as equations of motion.

    Parameters
    ==========

    method : ConstrainedMethod
        Its ``u`` are independent.
    graph : Graph
        With the two outputs named, ``rates``, ``holonomic`` with Jacobian,
        ``energy`` and ``power``, and for the multipliers ``A1``, ``X``, ``y``
        of ``A1^T*lam = X*u' + y`` and ``slip = A*w``, the rate at which
        reactions do work.
    matrix, right : str
    reactions : ConstrainedMethod, optional
        A method whose ``closed_form`` has the multipliers, which otherwise
        are among the unknowns.
    when_singular : str
        See :class:`.EquationsOfMotion`.
    """
    system, states = method.system, tuple(method.u)
    lam = () if reactions else tuple(method.lam_vec)
    g, out = graph.load()
    p, m = len(states), len(lam)
    W = [row + [0]*m for row in out[matrix]]
    r = out[right]
    if lam:
        W += [[-x for x in slope] + list(a)
              for slope, a in zip(out['X'], zip(*out['A1']))]
        r = r + out['y']
    power, slip = out['power'], [x for x, in out['slip']]
    if power and any(slip):
        _, solved = (reactions or method).closed_form.load(
            g, ('multipliers',))
        loads = [x for x, in solved['multipliers']]
        power = [[g.add(power[0][0], g.dot(loads, slip))]]
    return EquationsOfMotion(
        Graph.freeze(g, {
            'rates': (out['rates'], 1), 'W': (W, p + m), 'r': (r, 1),
            'holonomic': (out['holonomic'], 1), 'velocity': ([], 1),
            'holonomic_jacobian': (out['holonomic_jacobian'], len(system.q)),
            'velocity_jacobian': ([], p), 'M': (out[matrix], p),
            'Q': (out[right], 1), 'A': ([], p), 'b': ([], 1),
            'energy': (out['energy'], 1), 'power': (power, 1)}),
        system.q, states, system.q + states,
        tuple(x.diff(system.t) for x in states) + lam, lam,
        system.constraint_names, when_singular=when_singular)


def accelerations(g, matrix, right):
    """References of ``u'`` of ``matrix*u' = right``; None if singular."""
    known = [x for x, in right]
    factor = ldl_factor(g, matrix)
    return (ldl_solve(g, factor, known) if factor
            else lu_solve(g, matrix, known))


def no_mass():
    return MissingIngredientError(
        "The mass matrix is singular: a direction that the constraints leave "
        "free has no mass. Give it mass, or remove its coordinate.")


def null_basis(A, pivots=None):
    """Columns ``S``, shape (o, o - m), that span the null space ``A*S = 0``.

    The identity in the columns that are left free.

    Parameters
    ==========

    A : GraphMatrix, shape (m, o)
        With independent rows.
    pivots : sequence of int, optional
        The ``m`` columns to solve for; by default they are chosen where the
        constraints hold.
    """
    g, size = A.builder, A.shape[1]
    pivots = list(pivot_columns(g, A.rows) if pivots is None else pivots)
    free = [j for j in range(size) if j not in pivots]
    left, columns = A[:, pivots].rows, []
    for j in free:
        solution = solve(g, left, [-row[j] for row in A.rows])
        if solution is None:
            raise RedundantConstraintsError(
                "The rows of the matrix depend on each other, so they have "
                "no null-space basis in these columns. Select the "
                "`independent_rows`.", rows=())
        column = [int(i == j) for i in range(size)]
        for i, x in zip(pivots, solution):
            column[i] = x
        columns.append(column)
    return GraphMatrix(g, columns, size).T


def null_space_solve(g, W, A, one, right, b):
    """References of ``x, y`` of ``W*x + A^T*y = right``, ``A*x = b``.

    By ``x = B*z + x_b`` with ``A*B = 0``: no pivot is taken of ``W`` or of
    the block matrix, which may vanish where the constraints hold.

    Parameters
    ==========

    one : sequence of int
        Columns of ``A`` that are independent there.

    Returns
    =======

    x, y : list of references
        None, None if the system is singular.

    """
    n, one = len(W), list(one)
    if len(one) < len(A):               # rows that depend on each other
        return None, None
    two = [j for j in range(n) if j not in one]
    A1 = [[row[i] for i in one] for row in A]
    first = solve(g, A1, b)
    lean = [solve(g, A1, [-row[j] for row in A]) for j in two]

    def along(values, k):
        """``B^T`` of a column, row ``k``."""
        return g.add(values[two[k]], g.dot(lean[k], [values[i] for i in one]))

    free = range(len(two))
    pull = [[along(row, k) for k in free] for row in W]         # W*B
    known = [g.sub(x, g.dot([row[i] for i in one], first))
             for x, row in zip(right, W)]
    z = solve(g, [[along([row[k] for row in pull], i) for k in free]
                  for i in free], [along(known, i) for i in free])
    if z is None:
        return None, None
    rest = [g.sub(x, g.dot(row, z)) for x, row in zip(known, pull)]
    y = solve(g, [list(column) for column in zip(*A1)],
              [rest[i] for i in one])
    x = [0]*n
    for i, value in zip(two, z):
        x[i] = value
    for k, i in enumerate(one):
        x[i] = g.add(first[k], g.dot(z, [column[k] for column in lean]))
    return x, y


def elimination(g, M, F, regular, action=None):
    """Solve ``M*u' - action^T*lam = Q``, ``F*u' = b`` by a Schur complement.

    A singular mass matrix is made regular by its constraints: with
    ``M + w*F^T*F`` in its place the accelerations are the same and the
    multipliers are larger by ``w*b``, (U7). So every pivot is positive
    wherever the motion is determined. ``w`` brings both parts to the same
    size.

    Returns a function ``(Q, b) -> (u', lam)``, or None if a pivot vanishes.
    ``M`` is positive semidefinite, definite if ``regular``; the rows ``F``
    are independent. ``action``, by default ``F``, are the forces of unit
    multipliers.
    """
    if not regular and not F:
        return None
    if not regular:
        columns = list(zip(*F))
        gram = [[g.dot(x, y) for y in columns] for x in columns]
        w = g.div(*(g.sum(matrix[i][i] for i in range(len(M)))
                    for matrix in (M, gram)))
        w = w or 1                      # no mass at all
        M = [[g.add(x, g.mul(w, gram[i][j])) for j, x in enumerate(row)]
             for i, row in enumerate(M)]
    mass = ldl_factor(g, M)
    if mass is None:
        return None
    X = [ldl_solve(g, mass, force) for force in action or F]
    schur = ldl_factor(g, [[g.dot(row, x) for x in X] for row in F])
    if schur is None:
        return None

    def solution(Q, b):
        a = ldl_solve(g, mass, Q)
        gap = [g.sub(right, g.dot(row, a)) for row, right in zip(F, b)]
        lam = ldl_solve(g, schur, gap)
        change = [g.dot(lam, column) for column in zip(*X)] if X else (
            [0]*len(a))
        if not regular:
            lam = [g.sub(x, g.mul(w, y)) for x, y in zip(lam, b)]
        return [g.add(x, y) for x, y in zip(a, change)], lam

    return solution
