"""Equations in fewer speeds, with the multipliers recovered."""
from ..errors import RedundantConstraintsError
from ..graph import GraphMatrix, block_matrix, derivative
from ..graph.linalg import (
    FullRankFactorization, ldl_factor, ldl_solve, lu_solve, solve)
from ..graph.matrix import as_column
from ..graph.pivots import pivot_columns
from ..model.equations import EquationsOfMotion
from .references import flat, frozen


def reduced_equations(method, graph, matrix, right, reactions=None,
                      when_singular=''):
    """Return ``matrix*u' = right`` as equations of motion of a method.

    The ``graph`` has the two outputs named, and for the multipliers ``A1``,
    ``X``, ``y`` of ``A1^T*lam = X*u' + y`` and ``slip = A*w``, the rate at
    which reactions do work. The multipliers are among the unknowns unless
    ``reactions`` is a method that has them in its ``closed_form``. Their rows
    times ``divisors``, if there are any, show when these change their signs.
    """
    system, states = method.system, tuple(method.u)
    lam = () if reactions else tuple(method.lam_vec)
    g, out = graph.load()
    n, p, M = len(system.q), len(states), GraphMatrix(g, out[matrix])
    W, r, empty = M, out[right], GraphMatrix(g, [], p)
    if lam:
        W = block_matrix([[M, None], [
            -GraphMatrix(g, out['X'], p), GraphMatrix(g, out['A1']).T]])
        r = r + out['y']
    r = flat(r)
    for k, (value,) in enumerate(out.get('divisors', ()) if lam else ()):
        i = p + k % len(lam)            # a product of all could overflow
        W.rows[i] = [g.mul(value, x) for x in W.rows[i]]
        r[i] = g.mul(value, r[i])
    power, slip = flat(out['power']), flat(out['slip'])
    if power and any(slip):
        _, solved = (reactions or method).closed_form.load(
            g, ('multipliers',))
        power = [g.add(power[0], g.dot(flat(solved['multipliers']), slip))]
    return EquationsOfMotion(
        frozen(g, rates=flat(out['rates']), W=W, r=r, M=M,
               Q=flat(out[right]), A=empty, b=[], velocity=[],
               velocity_jacobian=empty, holonomic=flat(out['holonomic']),
               holonomic_jacobian=GraphMatrix(
                   g, out['holonomic_jacobian'], n),
               energy=flat(out['energy']), power=power,
               rotation=flat(
                   system.graph.load(g, ('rotation',))[1]['rotation'])),
        system.q, states, system.q + states,
        tuple(derivative(x, system.t) for x in states) + lam, lam,
        system.constraint_names, when_singular=when_singular)


def accelerations(g, matrix, right):
    """References of ``u'`` of ``matrix*u' = right``; None if singular."""
    known = flat(right)
    factor = ldl_factor(g, matrix)
    return (ldl_solve(g, factor, known) if factor
            else lu_solve(g, matrix, known))


def null_basis(A, pivots=None):
    """Columns ``S``, shape (o, o - m), that span the null space ``A*S = 0``.

    The identity in the columns that are left free.

    ``A`` is a ``GraphMatrix`` (m, o) with independent rows. The ``pivots``
    are the ``m`` columns to solve for; by default they are chosen where the
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
        known = {j: 1, **dict(zip(pivots, solution))}
        columns.append([known.get(i, 0) for i in range(size)])
    return GraphMatrix(g, columns, size).T


def null_space_solve(g, W, A, pivots, right, b):
    """Lists ``x, y`` of ``W*x + A^T*y = right``, ``A*x = b``, or None, None.

    By ``x = B*z + x_b`` with ``A*B = 0``: no pivot is taken of ``W`` or of
    the block matrix, which may vanish where the constraints hold. The
    ``pivots`` are columns of ``A`` that are independent there.
    """
    n, pivots = len(W), list(pivots)
    if len(pivots) < len(A):            # rows that depend on each other
        return None, None
    W, A, right = (GraphMatrix(g, W, n), GraphMatrix(g, A, n),
                   as_column(g, right))
    B = null_basis(A, pivots)
    x = along_basis(W, right, A, b, B, B, pivots)
    if x is None:
        return None, None
    y = solve(g, A[:, pivots].T.rows, flat((right - W @ x)[pivots].rows))
    return flat(x.rows), y


def along_basis(M, Q, A, b, B, Z, pivots):
    """``x = B*z + x_b`` of ``Z^T*M*x = Z^T*Q``, ``A*x = b``; or None."""
    g, n = M.builder, M.shape[1]
    known = dict(zip(pivots, solve(g, A[:, pivots].rows, b)))
    start = as_column(g, [known.get(j, 0) for j in range(n)])
    rest = Q - M @ start
    z = solve(g, (Z.T @ (M @ B)).rows, flat((Z.T @ rest).rows))
    return None if z is None else start + B @ as_column(g, z)


def least_multipliers(g, A, rows, forces):
    """``lam`` of ``A^T*lam = forces``, of least norm, one for each row."""
    F = [A[k] for k in rows]
    if not F:
        return [0]*len(A)
    gram = ldl_factor(g, [[g.dot(x, y) for y in F] for x in F])
    return FullRankFactorization(g, A, F).spread(ldl_solve(
        g, gram, [g.dot(x, forces) for x in F]))


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
