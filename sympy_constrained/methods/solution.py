"""From ``W z = r`` to closed forms and to SymPy's mass matrix and forcing."""
from __future__ import annotations

from functools import cached_property

from ..errors import RedundantConstraintsError
from ..graph import Graph, GraphMatrix
from ..graph.linalg import (
    FullRankFactorization, ldl_factor, ldl_solve, lu_solve)
from .null_space import null_basis

__all__ = ['columns_of', 'linear_residual', 'output', 'projected', 'solved',
           'has_multipliers']


def columns_of(named):
    """Columns of references under their names, as outputs of a graph."""
    return {name: ([[x] for x in refs], 1) for name, refs in named.items()}


def linear_residual(graph, matrix, right, unknowns, negated=()):
    """``matrix*unknowns - right`` of two outputs, some unknowns negated."""
    g, out = graph.load(None, (matrix, right))
    z = [g.input(x, dynamic=True)*(-1 if x in negated else 1)
         for x in unknowns]
    return Graph.freeze(g, columns_of({'residual': [
        g.sub(g.dot(row, z), b) for row, (b,) in zip(
            out[matrix], out[right])]})).sympy('residual')


def solved(system, equations, rows, name):
    """Closed forms from ``W z = r``, with ``Q_c = M*u' - Q``.

    ``rows`` are the independent ones of ``A``, ``name`` is the method's.
    """
    g, out = system.graph.load(None, ('M', 'Q', 'A'))
    _, block = equations.graph.load(g, ('W', 'r'))
    z = lu_solve(g, block['W'], [x for x, in block['r']])
    if z is None:
        raise RedundantConstraintsError(
            f"The equations of {name} have no closed form, because their "
            "matrix is singular for all states. Usually rows are redundant: "
            "leave them out.", rows=())
    rates = z[:len(system.u)]
    forces = [g.sub(g.dot(row, rates), x)
              for row, (x,) in zip(out['M'], out['Q'])]
    lam = [0]*len(out['A'])
    if rows:                            # A^T*lam = Q_c, of least norm
        F = [out['A'][k] for k in rows]
        gram = [[g.dot(x, y) for y in F] for x in F]
        lam = FullRankFactorization(g, out['A'], F).spread(ldl_solve(
            g, ldl_factor(g, gram), [g.dot(x, forces) for x in F]))
    return Graph.freeze(g, columns_of({
        'acceleration': rates, 'multipliers': lam,
        'constraint_forces': forces}))


def has_multipliers(equations):
    """Whether multipliers occur in the rows of the speeds."""
    o = len(equations.u)
    _, out = equations.graph.load(None, ('W',))
    return any(any(row[o:]) for row in out['W'][:o])


def projected(graph, equations, rows, pivots):
    """Equations for ``u'`` without multipliers, as ``KanesMethod`` has them.

    With ``W = [[D, -F], [A, 0]]`` and ``r = [d; b]`` the outputs are

    =============  ==========================================================
    ``mass``       ``[Z^T*D; A]``, where ``Z`` spans the null space of
                   ``F^T``; ``D`` without multipliers
    ``forcing``    ``[Z^T*d; b]``
    ``projector``  ``Z``, if there are multipliers
    =============  ==========================================================

    ``rows`` are the independent ones of ``A``, and ``pivots()`` the columns
    to solve for.
    """
    o = len(equations.u)
    g, out = graph.load(None, ('W', 'r'))
    D, F = ([row[part] for row in out['W'][:o]]
            for part in (slice(o), slice(o, None)))
    d, b = ([x for x, in out['r'][part]]
            for part in (slice(o), slice(o, None)))
    if not any(map(any, F)):
        return Graph.freeze(g, {'mass': (D, o), **columns_of({'forcing': d})})
    constraints = [row[:o] for row in out['W'][o:]]
    A = [constraints[k] for k in rows]
    right = [b[k] for k in rows]
    if equations.inconsistent == 'least-squares' and len(A) < len(b):
        right = FullRankFactorization(g, constraints, A).reduced(b)
    action = [[-row[k] for row in F] for k in rows]
    Z = null_basis(GraphMatrix(g, action, o),
                   pivots() if action == A else None)
    mass = Z.T @ GraphMatrix(g, D, o)
    return Graph.freeze(g, {
        'mass': (mass.rows + A, o), 'projector': (Z.rows, Z.shape[1]),
        **columns_of({
            'forcing': [g.dot(c, d) for c in Z.T.rows] + right})})


def output(name, doc):
    """Property that writes an output of ``self.graph`` as a SymPy matrix."""
    def read(self):
        return self.graph.sympy(name)
    read.__doc__ = doc
    return cached_property(read)
