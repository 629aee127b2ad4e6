"""Voronets' equations: constraints embedded in d'Alembert's principle."""
from functools import cached_property

from sympy.physics.mechanics import KanesMethod

from ...graph.linalg import solve
from ..null_space import accelerations, reduced_equations
from ..partition import dependent_positions, named_coordinates
from ..references import columns, frozen
from .embedded_equations import EmbeddedMethod


@KanesMethod.register
class VoronetsMethod(EmbeddedMethod):
    r"""Equations in the velocities of independent coordinates.

    Explanation
    ===========

    The constraints are solved for the velocities of as many coordinates
    :math:`q_1` as there are rows, :math:`\dot q_1 = -B u + a` with
    :math:`u = \dot q_2`, and d'Alembert's principle is taken along the
    velocities that they allow:

    .. math::

       \Psi\dot u = H, \qquad \Psi = N^T M N, \qquad
       N = \begin{bmatrix} -B \\ I \end{bmatrix} \qquad (29), (30)

    These are the equations of Voronets, and of Chaplygin where nothing
    depends on :math:`q_1`. They hold for every choice of :math:`q_1` and
    differ from those of :class:`.HamelEmbedding` by its discrepancy
    :math:`E = G - H`. For constraints nonlinear in the velocities
    virtual displacements are those of Appell and Chetaev. Multipliers follow
    from the rows of :math:`q_1`, :math:`A_1^T\lambda = (M\ddot q - F)_1`.

    Examples
    ========

    A particle with ``x' = z*y'``:

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import VoronetsMethod
    >>> m = symbols('m')
    >>> x, y, z = dynamicsymbols('x y z')
    >>> vx, vy, vz = (s.diff() for s in (x, y, z))
    >>> T = m*(vx**2 + vy**2 + vz**2)/2
    >>> particle = VoronetsMethod(
    ...     T, [x, y, z], nonhol_coneqs=[vx - z*vy], q_dependent=[x])
    >>> particle.eom[1]
    m*Derivative(z(t), (t, 2))

    Parameters
    ==========

    *args, **kwargs
        As for :class:`.EmbeddedMethod`.
    q_dependent : iterable, optional
        The coordinates whose velocities are eliminated, one for each row. By
        default they are chosen where the constraints hold.

    Equation numbers and errors are those of :class:`.HamelEmbedding`.
    """

    def _check_choices(self):
        self._check_velocity_level('embeds')
        if named_coordinates(self):
            self._dependent

    @cached_property
    def _dependent(self):
        named = named_coordinates(self)
        return dependent_positions(self, named) if named else self._pivots

    def equations(self, system):
        """``Psi*u' = H``, and ``A1^T*lam = (M*q'' - F)_1``."""
        return reduced_equations(self, self._embedding, 'Psi_true', 'H',
                                 when_singular=self._when_singular)

    def _active_forces(self):
        g = self._embedding
        Q1, Q2, B = (g.sympy(name) for name in ('Q1', 'Q2', 'B'))
        return Q2 - B.T*Q1

    def _solve(self):
        """Accelerations, then the reactions on all coordinates."""
        g, out = self._embedding.load(None, (
            'Psi_true', 'H', 'A1', 'slope', 'known'))
        u = accelerations(g, out['Psi_true'], out['H'])
        if u is None:
            raise self._without('acceleration')
        forces = [g.sub(g.dot(row, u), x)
                  for row, (x,) in zip(out['slope'], out['known'])]
        first = [forces[i] for i in self._dependent]
        return frozen(
            g, acceleration=u, constraint_forces=forces,
            multipliers=solve(g, columns(out['A1'], len(first)), first))
