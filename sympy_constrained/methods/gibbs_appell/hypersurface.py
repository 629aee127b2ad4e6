"""The constraint hypersurface, and equations projected on its base vectors."""
from functools import cached_property

from ...analysis.constraint_rank import (
    ROUNDING, independent_columns, orthonormal_columns, preferred_columns)
from ...analysis.zero_tests import relative_sizes, values_at
from ...errors import (
    ConstraintError, InconsistentConstraintsError, MissingIngredientError)
from ...graph import Graph, GraphMatrix, gradient, read, stack
from ...graph.linalg import solve
from ...graph.matrix import as_column
from ...model.call_signatures import as_matrix
from ...precision import precise
from ..null_space import along_basis, null_basis
from ..references import flat, frozen, inputs
from ..symbols import check_contents
from .higher_order import higher_orders


def constraint_directions(system, reaction=None):
    """Graph of ``A`` of all constraints and of ``W`` of their reactions."""
    g, out = system.graph.load(None, ('A', 'higher'))
    A = list(out['A'])
    for (f,), order in zip(out['higher'], higher_orders(system)):
        A.append(gradient(g, f, [
            g.input(x.diff(system.t, order - 1), dynamic=True)
            for x in system.u]))
    if reaction is None:
        W = GraphMatrix(g, A, len(system.u)).T.rows
    else:
        W = [[read(g, x) for x in reaction[j, :]]
             for j in range(len(system.u))]
        check_contents(
            system, g, W, 'reaction_matrix', "Directions of reactions may "
            "depend on coordinates, speeds, masses and time; write it in "
            "these.")
    return Graph.freeze(g, {'A': (A, len(system.u)), 'W': (W, len(A))})


def checked_reaction(matrix, p, m):
    """The ``reaction_matrix``, of shape (p, m)."""
    directions = as_matrix(matrix, 'reaction_matrix')
    if directions.shape != (p, m):
        raise ConstraintError(
            f"`reaction_matrix` has shape {directions.shape} for {p} speeds "
            f"and {m} constraints. Give one column, the direction of the "
            "generalized reaction, for each constraint.")
    return directions


def check_replaced(system, points):
    if 'replaced' not in system.graph.outputs:
        return
    for point in points:
        gaps = relative_sizes(system, system.graph, point, 'replaced')
        if any(x > ROUNDING for x, in gaps):
            raise InconsistentConstraintsError(
                "A row of `acceleration_constraints` replaces the derivative "
                "of another constraint and contradicts it where the "
                "constraints hold. Correct it, or leave it out.")


class Hypersurface:
    """Base vectors of independent rows, and equations projected on them.

    ``directions`` are those of :func:`constraint_directions`, ``rows`` the
    numbers of the independent ones. Reactions have the directions of the rows
    if ``is_ideal``. Without rows no ``report`` is needed.
    """

    def __init__(self, system, directions, rows, report, is_ideal):
        self.system, self.directions, self.rows = system, directions, rows
        self.report, self.is_ideal = report, is_ideal

    # -- which speeds are solved for -------------------------------------

    @cached_property
    def dependent(self):
        """Positions of the dependent speeds, the user's where possible."""
        system = self.system
        if not self.rows:
            return ()
        preferred = [system.u.index(x) for x in system.u_dependent]
        if len(preferred) != len(self.rows) and system.counts[2]:
            preferred = preferred_columns(system, self.report)
        return self._independent('A', 'gradients', '', preferred)

    @cached_property
    def reacting(self):
        """Positions of the speeds whose equations give the multipliers."""
        if self.is_ideal or not self.rows:
            return self.dependent
        return self._independent(
            'W', 'reactions', ", or correct `reaction_matrix`")

    def _independent(self, name, what, remedy, preferred=()):
        """Positions of independent columns of the rows ``A`` or ``W^T``."""
        with precise():
            matrices = [values_at(self.system, self.directions, point,
                                  (name,))[name]
                        for point in self.report.points]
            if name == 'W':
                matrices = [list(zip(*matrix)) for matrix in matrices]
            try:
                columns = independent_columns(orthonormal_columns(
                    [[matrix[k] for k in self.rows] for matrix in matrices],
                    len(self.system.u)), preferred)
            except TypeError as error:  # complex numbers have no order
                raise ConstraintError(
                    "A constraint has no real gradient at the accelerations "
                    "that were tried. Pass `sample={symbol: number, ...}` "
                    "with accelerations near the motion that is meant."
                ) from error
        if len(columns) < len(self.rows):
            raise ConstraintError(
                f"The constraints have {len(self.rows)} rows, but their "
                f"{what} have only {len(columns)} independent directions. "
                f"Leave out rows that follow from the others{remedy}.")
        return columns

    # -- base vectors ----------------------------------------------------

    @cached_property
    def projection(self):
        """Graph with ``A`` (independent rows), ``basis`` ``B`` and
        ``projector`` ``Z``."""
        A, W = self.directions.blocks('A', 'W')
        A = A[self.rows]
        B = Z = null_basis(A, self.dependent)
        if not self.is_ideal and self.rows:
            Z = null_basis(W[:, self.rows].T, self.reacting)
        return frozen(A.builder, A=A, basis=B, projector=Z)

    def _blocks(self):
        M, Q, b = self.system.blocks('M', 'Q', 'b')
        return M, Q, b[[k for k in self.rows if k < b.shape[0]]], *(
            self.projection.blocks('A', 'basis', 'projector',
                                   builder=M.builder))

    # -- projected equations ---------------------------------------------

    def projected(self, accelerations):
        """Graph of ``residual`` ``E``, ``eom`` ``-Z^T*E``, and of the
        blocks ``mass`` and ``forcing``."""
        M, Q, b, A, _, Z = self._blocks()
        g = M.builder
        E = Q - M @ as_column(g, inputs(g, accelerations))
        return frozen(
            g, residual=E, eom=-(Z.T @ E), mass=stack(Z.T @ M, A),
            forcing=stack(Z.T @ Q, b))

    def solve(self):
        """Graph of ``u'`` with ``Z^T*M*u' = Z^T*Q`` and ``A*u' = b``.

        For constraints that are linear in the accelerations.
        """
        M, Q, b, A, B, Z = self._blocks()
        g = M.builder
        acceleration = along_basis(
            M, Q, A, flat(b.rows), B, Z, self.dependent)
        if acceleration is None:
            raise self._unsolvable()
        forces = M @ acceleration - Q
        return frozen(
            g, acceleration=acceleration, constraint_forces=forces,
            multipliers=self.multipliers(g, flat(forces.rows)))

    def _unsolvable(self):
        if self.is_ideal:
            return MissingIngredientError(
                "The projected mass matrix B^T*M*B is singular for all "
                "states: a direction that the constraints leave free has no "
                "mass. Give it mass, or a constraint.")
        return ConstraintError(
            "Reactions in the directions of `reaction_matrix` cannot keep "
            "the constraints: no multipliers give the accelerations that the "
            "constraints require. Correct the directions.")

    def multipliers(self, g, forces):
        """``lam`` of ``W*lam = forces``; zero for redundant rows."""
        _, out = self.directions.load(g, ('W',))
        lam = [0]*self.directions.outputs['A'][0]
        solution = solve(
            g, [[out['W'][j][k] for k in self.rows] for j in self.reacting],
            [forces[j] for j in self.reacting])
        for k, x in zip(self.rows, solution):
            lam[k] = x
        return lam
