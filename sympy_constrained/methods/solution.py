"""From ``W z = r`` to closed forms and to SymPy's mass matrix and forcing."""
from functools import cached_property

from sympy import ImmutableDenseMatrix
from sympy.physics.mechanics import SymbolicSystem

from ..errors import RedundantConstraintsError
from ..graph import stack
from ..graph.linalg import FullRankFactorization, lu_solve
from ..graph.matrix import as_column
from .null_space import least_multipliers, null_basis
from .references import flat, frozen, written


def linear_residual(graph, matrix, right, unknowns, negated=()):
    """``matrix*unknowns - right`` of two outputs, some unknowns negated."""
    g, out = graph.load(None, (matrix, right))
    z = [g.input(x, dynamic=True)*(-1 if x in negated else 1)
         for x in unknowns]
    return written(g, [g.sub(g.dot(row, z), b) for row, (b,) in zip(
        out[matrix], out[right])])


def solved(system, equations, rows, name):
    """Closed forms from ``W z = r``, with ``Q_c = M*u' - Q``.

    ``rows`` are the independent ones of ``A``, ``name`` is the method's.
    """
    g, out = system.graph.load(None, ('M', 'Q', 'A'))
    _, block = equations.graph.load(g, ('W', 'r'))
    z = lu_solve(g, block['W'], flat(block['r']))
    if z is None:
        raise RedundantConstraintsError(
            f"The equations of {name} have no closed form, because their "
            "matrix is singular for all states. Usually rows are redundant: "
            "leave them out.", rows=())
    u = z[:len(system.u)]
    forces = [g.sub(g.dot(row, u), x)
              for row, (x,) in zip(out['M'], out['Q'])]
    return frozen(
        g, acceleration=u, constraint_forces=forces,
        multipliers=least_multipliers(g, out['A'], rows, forces))


def solved_output(name, doc):
    """Property that writes an output of ``closed_form``, if there is one."""
    def read(self):
        return self.closed_form.sympy(name)
    read.__doc__ = doc
    return cached_property(read)


def has_multipliers(equations):
    """Whether multipliers occur in the rows of the speeds."""
    o = len(equations.u)
    return any(any(row[o:]) for row in equations.graph.pattern('W')[:o])


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
    W, r = graph.blocks('W', 'r')
    g, o = W.builder, len(equations.u)
    D, d = W[:o, :o], r[:o]
    if not has_multipliers(equations):
        return frozen(g, mass=D, forcing=d)
    constraints, b = W[o:, :o], flat(r[o:].rows)
    A, right = constraints[rows], [b[k] for k in rows]
    if equations.inconsistent == 'least-squares' and len(rows) < len(b):
        right = FullRankFactorization(
            g, constraints.rows, A.rows).reduced(b)
    action = -W[:o, [o + k for k in rows]].T
    Z = null_basis(action, pivots() if action.rows == A.rows else None)
    return frozen(g, mass=stack(Z.T @ D, A), projector=Z,
                  forcing=stack(Z.T @ d, as_column(g, right)))


def symbolic_system(method):
    """Return SymPy's ``SymbolicSystem`` of a method, with explicit rates."""
    states = method.equations_of_motion.states
    index = states.index
    return SymbolicSystem(
        ImmutableDenseMatrix(states), method.rhs()[:len(states), :],
        coord_idxs=tuple(map(index, method.q)),
        speed_idxs=tuple(map(index, method.u)),
        bodies=method.bodies or None, loads=method.loads or None)
