"""What an embedding consists of, what it lacks, and whether it is right."""
from dataclasses import dataclass
from functools import cached_property

from sympy import ImmutableDenseNDimArray

from ...analysis.consistent_points import norm, orthonormal_rows
from ...analysis.constraint_rank import INDEPENDENT
from ...analysis.zero_tests import values_at, vanishing
from ...errors import UnsupportedFeatureError
from ...graph import GraphMatrix, jacobian, substitute, without
from ...graph.graph import output
from ...precision import precise
from ..null_space import least_multipliers
from ..references import flat, inputs, written
from ..symbols import column

FAULTS = {
    'curvature': 'curvature of the constraints',
    'neglected row': 'the neglected equations of the dependent coordinates',
    'singular': 'the rows do not determine these velocities',
    'nonlinear': 'the rows are not linear in these velocities'}


class Embedding:
    """The parts of Hamel's embedding; see :attr:`.HamelEmbedding.embedding`.

    ``graph`` has all outputs of :func:`.embed`. ``q_dependent`` (r, 1) are
    the ``q1``, whose velocities are eliminated, ``q_independent`` (p, 1) the
    ``q2``.
    """

    def __init__(self, method):
        self._method, self.graph = method, method._embedding
        self.q_dependent = method._qdep
        self.q_independent = column(
            method._system.q[i] for i in method._others)

    matrix = output('B', "``B`` of ``q1' = -B*u + a``, (4), shape (r, p).")
    vector = output('a', "``a`` of ``q1' = -B*u + a``, (4), shape (r, 1).")
    forces = output(
        'Q2', "``Q2*``, (6), shape (p, 1); projected ``Q2* - B^T*Q1*``.")
    dropped_forces = output(
        'Q1', "``Q1*``, which Hamel's equations leave out, shape (r, 1).")
    momenta = output('p1', "``p1* = (dL/dq1')*``, shape (r, 1).")
    neglected_row = output(
        'neglected', "``B^T*(dL*/dq1 + Q1*)``, a part of ``E``, (p, 1).")
    curvature_force = output(
        'bent', "``Gamma^T*p1*``, the other part of ``E``, shape (p, 1).")
    discrepancy = output('E', """``E`` of (E1), shape (p, 1).

        ``E = G - H`` for constraints linear in the velocities. For others it
        is the residual of the right equations minus Hamel's, and contains
        ``u'``.
        """)
    curvature = output('Gamma', """``Gamma`` of (E2), shape (r, p).

        ``B' + dg/dq2 - (dg/dq1)*B``, the term of Voronets and Chaplygin. It
        vanishes if and only if the constraints are integrable.
        """)

    @cached_property
    def velocity_map(self):
        """Dictionary of the eliminated velocities, ``q1'`` to ``g``."""
        method = self._method
        return dict(zip((method._system.u[i] for i in method._dependent),
                        self.graph.sympy('g')))

    @cached_property
    def lagrangian(self):
        """``L*``, (5), with ``g`` for ``q1'``; ``T*`` without potential."""
        return self.graph.sympy('lagrangian')[0]

    def _only_linear(self, what):
        if 'paper' not in self.graph.outputs:
            raise UnsupportedFeatureError(
                f"{what} for constraints that are linear in the velocities, "
                "and these are not. Read `embedding.curvature` and "
                "`embedding.discrepancy`, which hold for both.")

    @cached_property
    def paper_discrepancy(self):
        """``E`` as printed, (32) and (43), shape (p, 1).

        ``B^T*(dL*/dq1 + Q1*) + B'^T*p1*``. It lacks
        ``(dg/dq2 - (dg/dq1)*B)^T*p1*``, (E3), and is neither sufficient nor
        necessary; for comparison with the paper only.
        """
        self._only_linear('The printed formula is')
        return self.graph.sympy('paper')

    @cached_property
    def curvature_tensor(self):
        """``(omega, eta)`` with ``Gamma_aj = omega_ajk*u_k + eta_aj``.

        An array (r, p, p), antisymmetric in the last two, and a matrix
        (r, p).
        """
        self._only_linear('The curvature has components')
        g, out = self.graph.load(None, ('Gamma',))
        u = inputs(g, self._method.u)
        r, p = len(out['Gamma']), len(u)
        omega = [x for row in out['Gamma'] for slopes in jacobian(g, row, u)
                 for x in without(g, slopes, u)]
        eta = GraphMatrix(g, [substitute(g, row, dict.fromkeys(u, 0))
                              for row in out['Gamma']], p)
        return ImmutableDenseNDimArray(
            list(written(g, omega)), (r, p, p)), written(g, eta)

    @cached_property
    def is_holonomic(self):
        """Whether the constraints are integrable; None if undecided.

        The theorem of Frobenius: ``Gamma`` vanishes where the holonomic rows
        hold.
        """
        method = self._method
        if not method._dependent:
            return True
        return vanishing(method._system, self.graph, 'Gamma', method._sample,
                         method._report.points).holds

    def required_force(self):
        r"""Return a force ``Q1`` that makes Hamel's equations right, or None.

        It exists at a state if and only if :math:`\Gamma^T p_1^*` is in the
        range of :math:`B^T`. Then

        .. math::

           Q_1 = -\frac{\partial L^*}{\partial q_1}
           - (B^T)^+ \Gamma^T p_1^* \qquad \text{(E4)}

        is one, shape (r, 1), the least beyond the first term; anything with
        :math:`B^T w = 0` may be added. It replaces the forces of the loads on
        ``q1``, and is a property of the model, not a choice of the method.
        """
        self._only_linear('A force is found')
        method = self._method
        r = len(method._dependent)
        if method._project_loads:       # then E does not contain Q1
            return column([0]*r) if method.validity.holds else None
        rows = self._independent_rows()
        if rows is None:
            return None
        g, out = self.graph.load(None, ('B', 'bent', 'pull'))
        extra = least_multipliers(g, out['B'], rows, flat(out['bent']))
        return written(g, [-g.add(pull, x) for pull, x in zip(
            flat(out['pull']), extra)])

    def _independent_rows(self):
        """Rows that span those of ``B``; None if ``Gamma^T*p1`` is new."""
        method, best = self._method, ()
        r = len(method._dependent)
        with precise():
            for values in method._report.points:
                numbers = values_at(method._system, self.graph, values,
                                    ('B', 'bent', 'Gamma', 'p1'))
                sizes = [max(map(norm, numbers['B']), default=0)]*r + [sum(
                    norm(row)*abs(p) for row, (p,) in zip(
                        numbers['Gamma'], numbers['p1']))]
                _, extended = orthonormal_rows(
                    numbers['B'] + [flat(numbers['bent'])], INDEPENDENT,
                    sizes)
                kept = [k for k, _ in extended]
                if r in kept:
                    return None
                best = max(best, kept, key=len)
        return best


@dataclass(frozen=True)
class Validity:
    """What is known of an embedding with these dependent coordinates.

    Attributes
    ==========

    q_dependent : tuple
    holds : bool or None
        Whether Hamel's equations are right; None if the discrepancy vanishes
        at all states that were tried, without a proof.
    faults : tuple of str
        ``'curvature'``, ``'neglected row'``, or both, which may also cancel if
        ``holds``. ``'singular'`` or ``'nonlinear'`` if there are no equations.
    discrepancy : tuple of float or None
        ``E`` at ``state``, where it is not zero.
    state : dict or None
    """

    q_dependent: tuple
    holds: bool | None
    faults: tuple = ()
    discrepancy: tuple | None = None
    state: dict | None = None

    def __str__(self):
        names = ', '.join(str(q.func) for q in self.q_dependent)
        reasons = ' and '.join(FAULTS[fault] for fault in self.faults)
        if self.holds is None:
            verdict = 'not decided'
        elif self.holds:
            verdict = f'right, {reasons} cancel' if reasons else 'right'
        else:
            verdict = 'wrong, because of '*bool(self.discrepancy) + reasons
        return f'{names or "nothing"} dependent: {verdict}'
