r"""A first-order linear mapping of velocities, on the graph.

The parent has speeds ``w`` and constraints ``A*w + A_0 = 0``. Rows ``a_f``
are chosen beside those of the constraints, and

    [a_f; A]*w + [a_f0; A_0] = [u; 0]

is solved for ``w = N*u + nu``. Equation numbers are those of Y. Wang, X. Wu
and H. Cao, "Linear mapping method for holonomic rheonomic systems," J. Dyn.
Control, doi 10.6052/1672-6553-2019-056.
"""
from typing import Any, NamedTuple

from ...errors import ConstraintError
from ...graph import (
    GraphMatrix, derivative, jacobian, read, substitute, time_derivative,
    without)
from ...graph.graph import output
from ...graph.linalg import solve
from ...graph.matrix import as_column
from ..references import columns, flat, frozen, inputs, units
from ..symbols import check_contents


class FreeRows(NamedTuple):
    """What the user gave to define the free quasi-velocities.

    ``value`` are expressions (``kind`` is ``'rows'``), a matrix ``N`` or
    ``(N | ...)`` of ``w = N*u + ...`` (``'inverse'``), or the positions of the
    dependent speeds (``'partition'``). With ``orthogonal`` the rows are
    completed such that the metric is block diagonal.
    """

    kind: str
    value: Any
    orthogonal: bool = False


class Mapping:
    """The matrices of a mapping, ``u = a*w + a0`` and ``w = N*u + nu``.

    ``graph`` has all outputs of :func:`.map_velocities`.
    """

    def __init__(self, graph):
        self.graph = graph

    a = output('a', "Rows, free ones first, (4), shape (o, o).")
    a0 = output('a0', "Drift of the rows, shape (o, 1).")
    b = output('b', "Inverse of ``a``, ``(N | b_A)``, (7), shape (o, o).")
    N = output('N', "Free columns of ``b``, with ``A*N = 0``, shape (o, p).")
    nu = output('nu', "``-b*a0``, drift of ``w = N*u + nu``, shape (o, 1).")
    constraints_drift = output(
        'A0', "``A_0`` of ``A*w + A_0 = 0``, shape (K, 1).")


def map_velocities(system, free, us):
    """Return the graph of the projected equations.

    ======================  =======  =====================================
    output                  shape    meaning
    ======================  =======  =====================================
    ``rates``               (n, 1)   ``q'``
    ``a``, ``a0``           (o, o)   rows of the mapping, free ones first
    ``b``                   (o, o)   ``a^-1 = (N | b_A)``
    ``N``, ``nu``           (o, p)   ``w = N*u + nu``
    ``mass``, ``forcing``   (p, p)   ``N^T*M*N``, ``N^T*(Q - M*(w' - N*u'))``
    ``X``, ``y``            (K, p)   ``lam = X*u' + y``; ``A1`` is one
    ``A``, ``A0``           (K, o)   constraints; ``slip = A*w = -A0``
    ``divisors``            (d, 1)   factors of the determinant of ``a``
    ``energy``, ...                  see :class:`.EquationsOfMotion`
    ======================  =======  =====================================

    ``free`` are the :class:`FreeRows`, and ``us`` the free quasi-velocities.
    """
    g, out = system.graph.load()
    w, q = inputs(g, system.u), inputs(g, system.q)
    still, rates = dict.fromkeys(w, 0), flat(out['rates'])
    A = affine(g, out['velocity_jacobian'], w, system.constraint_names,
               'Use UdwadiaKalabaMethod for it.')
    A0 = substitute(g, flat(out['velocity']), still)
    g.bound.update(zip((derivative(x, system.t) for x in system.q), rates))
    o, p = len(w), len(w) - len(A)

    def check(rows, name, remedy):
        check_contents(system, g, rows, name, remedy, us)

    a, a0 = free_rows(g, free, w, A, p, check)
    N, nu, b_A, divisors = solved(g, a + A, a0 + A0, p)
    if free.orthogonal:                 # N and nu stay
        a, a0 = orthogonal_rows(g, out['M'], w, N, nu)
        b_A = orthogonal_columns(g, a, N, b_A, p)
    u = inputs(g, us)
    mapped = [g.add(g.dot(row, u), x) for row, x in zip(N, nu)]
    star = dict(zip(w, mapped))
    g.avoid({*w} - {*u})

    def at(refs):
        return substitute(g, refs, star)

    bias = time_derivative(g, {**dict(zip(q, rates)), **still})
    change = [-bias(g.add(g.dot(row, w), x)) for row, x in zip(a, a0)]
    right = at(change) + at(flat(out['b']))[:len(A)]
    gamma = ([g.dot(x + y, right) for x, y in zip(N, b_A)]
             if free.orthogonal else solve(g, a + A, right))
    inverse = GraphMatrix(g, [x + y for x, y in zip(N, b_A)], o)
    N, b_A = inverse[:, :p], inverse[:, p:]
    M = GraphMatrix(g, [at(row) for row in out['M']], o)
    inertia = M @ N
    force = as_column(g, at(flat(out['Q']))) - M @ as_column(g, gamma)
    return frozen(
        g, a=GraphMatrix(g, a + A, o), a0=a0 + A0, b=inverse, N=N, nu=nu,
        A=GraphMatrix(g, A, o), A0=A0, slip=[-x for x in A0],
        mass=N.T @ inertia, forcing=N.T @ force,
        X=b_A.T @ inertia, y=-(b_A.T @ force),
        A1=GraphMatrix(g, units(len(A)), len(A)), divisors=divisors,
        holonomic_jacobian=GraphMatrix(g, out['holonomic_jacobian'], len(q)),
        holonomic=flat(out['holonomic']), **{
            name: at(flat(out[name])) for name in (
                'rates', 'energy', 'power')})


def affine(g, slopes, w, names, remedy):
    """Derivatives by the speeds; raise if they depend on them."""
    slopes_at_rest = [without(g, row, w) for row in slopes]
    bad = [k for k, row in enumerate(slopes_at_rest) if None in row]
    if bad:
        raise ConstraintError(
            "A linear mapping requires rows that are linear in the "
            f"velocities. Not linear: {', '.join(names[k] for k in bad)}. "
            f"{remedy}",
            rows=tuple(bad))
    return slopes_at_rest


def free_rows(g, free, w, A, p, check):
    """References of the free rows and their drift."""
    if free.kind == 'partition':
        return [row for i, row in enumerate(units(len(w)))
                if i not in free.value], [0]*p
    if free.kind == 'rows':
        return given_rows(g, free.value, w, A, p, check)
    matrix = given_columns(g, free.value, w, A, p, check)
    if matrix and len(matrix[0]) == len(w):     # first rows of b^-1
        rows = [solve(g, columns(matrix, len(w)), unit)
                for unit in units(len(w))[:p]]
    else:
        N = columns(matrix, p)
        gram = [[g.dot(c, d) for d in N] for c in N]
        rows = [solve(g, gram, list(row[:p])) for row in matrix]
        rows = rows if None in rows else columns(rows, p)
    if None in rows:
        raise singular_mapping()
    return rows, [0]*p


def given_rows(g, expressions, w, A, p, check):
    """The free rows of a ``mapping``, and their drift."""
    refs = [read(g, e) for e in expressions]
    check([[ref] for ref in refs], 'mapping', "Give what the quasi-velocity "
          "is equal to, an expression linear in the velocities.")
    a = affine(g, jacobian(g, refs, w), w, [
        f'row {k} of `mapping`' for k in range(len(w))],
        'Give expressions linear in the velocities.')
    if len(refs) == len(w):
        check_span(g, a[p:], A)
    return a[:p], substitute(g, refs, dict.fromkeys(w, 0))[:p]


def given_columns(g, rows, w, A, p, check):
    """The matrix of an ``inverse_mapping``, on the constraints."""
    entries = [[read(g, e) for e in row] for row in rows]
    only = "Its entries depend on coordinates and time only."
    check(entries, 'inverse_mapping', only)
    matrix = [without(g, row, w) for row in entries]
    bad = [k for k, row in enumerate(matrix) if None in row]
    if bad:
        raise ConstraintError(
            f"Row {bad[0]} of `inverse_mapping` contains a velocity. {only}")
    slips = [g.dot(row, c) for row in A for c in columns(matrix, p)]
    if not all(x == 0 or g.same_value(x, 0) for x in slips):
        raise ConstraintError(
            "The columns of `inverse_mapping` that belong to free "
            "quasi-velocities do not satisfy the constraints: A*N "
            "is not zero. Correct them, or give `mapping`.")
    return matrix


def check_span(g, last, A):
    """Raise unless the last rows of a full mapping are constraint rows.

    ``A`` is used in their place, so that multipliers keep their meaning.
    """
    gram = [[g.dot(x, y) for y in A] for x in A]
    for row in last:
        part = solve(g, gram, [g.dot(row, x) for x in A])
        rest = [0] if part is None else [
            g.sub(x, g.dot(part, c)) for x, c in zip(row, zip(*A))]
        if not all(x == 0 or g.same_value(x, 0) for x in rest):
            raise ConstraintError(
                "The last rows of `mapping` are not combinations of the "
                "constraint rows. Give the free rows only, or put the "
                "constraints last.")


def orthogonal_rows(g, M, w, N, nu):
    """``(N^T*M*N)^-1*N^T*M``, with a drift that keeps ``N`` and ``nu``."""
    M = [without(g, row, w) for row in M]
    if any(None in row for row in M):
        raise ConstraintError(
            "The mass matrix depends on the velocities, so there is no "
            "metric to complete the mapping with. Use completion='given'.")
    N = GraphMatrix(g, N)
    pull = N.T @ GraphMatrix(g, M)
    mass = (pull @ N).rows
    rows = [solve(g, mass, list(c)) for c in pull.T.rows]
    if None in rows:
        raise singular_mapping()
    a = columns(rows, N.shape[1])
    return a, [-g.dot(row, nu) for row in a]


def orthogonal_columns(g, a, N, b_A, p):
    """``b_A - N*(a*b_A)``, which ``a`` takes to zero as ``a*N = 1``.

    Entries of orthogonal rows are no pivots: they may vanish on the
    constraints.
    """
    a, N = GraphMatrix(g, a, len(N)), GraphMatrix(g, N, p)
    b_A = GraphMatrix(g, b_A, len(N.rows) - p)
    return (b_A - N @ (a @ b_A)).rows


def solved(g, rows, drift, p):
    """``N``, ``nu`` and ``b_A`` of ``rows*w + drift = [u; 0]``, and factors
    of the determinant of the rows, without the constant ones.
    """
    columns = [solve(g, rows, unit) for unit in units(len(rows))]
    nu = solve(g, rows, [-x for x in drift], divisors := [])
    if None in columns or nu is None:
        raise singular_mapping()
    inverse = [list(row) for row in zip(*columns)]
    return ([row[:p] for row in inverse], nu, [row[p:] for row in inverse],
            divisors)


def singular_mapping():
    return ConstraintError(
        "The mapping is singular for all values of the coordinates: the free "
        "rows and the constraint rows depend on each other. Choose other "
        "free quasi-velocities.", reason='singular')
