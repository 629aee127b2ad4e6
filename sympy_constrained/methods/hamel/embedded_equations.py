r"""Hamel's embedding on the graph: what it gives, and what is right.

The coordinates are split into ``q1``, one for each constraint row, and
``q2``. The rows are solved for ``q1' = g(q, u, t)`` with ``u = q2'``, and a
star means that ``q1'`` is replaced by ``g``. Equation numbers are those of
[1]_; (E1) to (E4) are derived in the theory page.

.. [1] H. Zhao, X. Zhao and J. Jiang, "Study on Hamel's embedding method via
   the Udwadia-Kalaba theory," Appl. Math. Mech. (Chinese ed.) 38 (2017)
   696-707.

"""
from functools import cached_property

from ...errors import ConstraintError
from ...graph import (
    GraphMatrix, derivative, gradient, jacobian, substitute,
    time_derivative, without)
from ...graph.linalg import solve
from ...graph.matrix import as_column
from ..base import ConstrainedMethod
from ..partition import check_regular, partitioned
from ..references import flat, frozen, inputs, units
from ..symbols import column


def embed(system, dependent, project_loads=False):
    """Return the graph of an embedding.

    ====================  ==========  =====================================
    output                shape       meaning
    ====================  ==========  =====================================
    ``rates``             (n, 1)      ``q'``: ``g`` and ``u``
    ``g``                 (r, 1)      ``q1' = g``, (4)
    ``B``, ``a``          (r, p), r   ``g = -B*u + a``
    ``lagrangian``        (1, 1)      ``L*``, (5)
    ``Q1``, ``Q2``        r, p        dropped and embedded forces, (6)
    ``p1``, ``pull``      r, r        ``(dL/dq1')*``, ``dL*/dq1``
    ``Psi``, ``G``        (p, p), p   Hamel's equations, (9)-(12)
    ``Psi_true``, ``H``   (p, p), p   Voronets' equations, (29), (30)
    ``neglected``         (p, 1)      first part of ``E``, (E1)
    ``Gamma``             (r, p)      curvature, (E2)
    ``bent``              (p, 1)      ``Gamma^T*p1``, the second part
    ``E``                 (p, 1)      discrepancy, (E1)
    ``slope``, ``known``  (n, p), n   ``M*q'' - F = slope*u' - known``
    ``A1``, ``X``, ``y``              ``A1^T*lam = X*u' + y``, of ``q1``
    ``slip``              (r, 1)      ``(A*q')*``, for the reactions' power
    ``energy``, ...                   see :class:`.EquationsOfMotion`
    ====================  ==========  =====================================

    For constraints linear in the velocities also ``paper``, (43). For others
    ``Gamma`` contains ``u'``.

    The system is stated in the velocities of its coordinates, and
    ``dependent`` are the positions of ``q1`` among these. With
    ``project_loads`` ``Q2 - B^T*Q1`` is embedded instead of ``Q2``.
    """
    work = EmbeddedEquations(system, dependent, project_loads)
    return frozen(work.g, **work.state(), **work.hamel(), **work.faults(),
                  **work.projected(), **work.linear_parts())


class EmbeddedEquations:
    """One embedding under construction; see :func:`embed`.

    ``one`` and ``two`` are the positions of ``q1`` and ``q2``. ``S`` is
    ``dg/du``, (r, p), and ``T`` the matrix ``dq'/du``, (n, p). ``at`` puts the
    star to references.
    """

    def __init__(self, system, dependent, project_loads):
        names = [x for x in system.graph.outputs if x not in ('C', 'rates')]
        self.g, self.out = g, out = system.graph.load(None, names)
        self.one = one = list(dependent)
        self.two = two = [i for i in range(len(system.q)) if i not in one]
        self.q, self.v = inputs(g, system.q), inputs(g, system.u)
        v1 = [self.v[i] for i in one]
        self.u = [self.v[i] for i in two]
        self.rates = solved_rates(system, g, out, one, v1)
        self.star = dict(zip(v1, self.rates))
        accelerations = inputs(
            g, [derivative(system.u[i], system.t) for i in two])
        motion = dict(zip(self.q, self.placed(self.rates, self.u)))
        self.along = time_derivative(         # at u' = 0
            g, {**motion, **dict.fromkeys(self.u, 0)})
        slopes = jacobian(g, self.rates, self.u)
        free = [without(g, row, self.u) for row in slopes]
        self.linear = not any(None in row for row in free)
        self.S = self.matrix(free if self.linear else slopes, len(two))
        self.T = self.matrix(
            self.placed(self.S.rows, units(len(two))), len(two))
        self.total = self.along if self.linear else time_derivative(
            g, {**motion, **dict(zip(self.u, accelerations))})
        force = self.at(flat(out['applied']))
        self.Q1 = [force[i] for i in one]
        self.Q2 = [force[i] for i in two]
        if project_loads:
            self.Q2 = flat((self.T.T @ as_column(g, force)).rows)
            self.Q1 = [0]*len(one)
        lagrangian = out['lagrangian'][0][0]
        self.p1 = self.at(gradient(g, lagrangian, v1))
        self.lagrangian, = self.at([lagrangian])
        self.slope = gradient(g, self.lagrangian, self.q)
        self.pull = as_column(g, [g.add(self.slope[i], x)
                                  for i, x in zip(one, self.Q1)])

    def at(self, refs):
        """References with ``g`` in the place of ``q1'``."""
        return substitute(self.g, refs, self.star)

    def matrix(self, rows, columns):
        return GraphMatrix(self.g, rows, columns)

    def placed(self, first, second):
        """A list with ``first`` at the positions of ``q1``, and ``second``.
        """
        entries = dict([*zip(self.one, first), *zip(self.two, second)])
        return [entries[i] for i in range(len(self.q))]

    def state(self):
        """What is not yet an equation."""
        out = self.out
        return {
            'lagrangian': [self.lagrangian],
            'holonomic': flat(out['holonomic']),
            'holonomic_jacobian': self.matrix(
                out['holonomic_jacobian'], len(self.q)),
            'energy': self.at(flat(out['energy'])),
            'power': self.at(flat(out['power'])),
            'rates': self.placed(self.rates, self.u), 'g': self.rates,
            'Q1': self.Q1, 'Q2': self.Q2, 'p1': self.p1,
            'pull': [self.slope[i] for i in self.one]}

    def hamel(self):
        """Lagrange's equations of ``L*``, for ``q2`` only."""
        g = self.g
        momenta = gradient(g, self.lagrangian, self.u)
        return {'Psi': self.matrix(jacobian(g, momenta, self.u), len(self.u)),
                'G': [g.sub(g.add(self.slope[i], x), self.along(momentum))
                      for i, x, momentum in zip(self.two, self.Q2, momenta)]}

    def faults(self):
        """The two parts of ``E``, (E1) and (E2)."""
        by_q = jacobian(self.g, self.rates, self.q)
        change = [list(map(self.total, row)) for row in self.S.rows]
        Gamma = (self.matrix(by_q, len(self.q)) @ self.T
                 - self.matrix(change, len(self.u)))
        neglected = -(self.S.T @ self.pull)
        bent = Gamma.T @ as_column(self.g, self.p1)
        return {'Gamma': Gamma, 'neglected': neglected, 'bent': bent,
                'E': neglected + bent}

    def projected(self):
        """d'Alembert's principle on the constraints, from the whole model.

        Nothing here comes from ``L*``: ``M`` and ``F`` are those of the
        model without constraints, and ``q1'' = S*u' + A1^-1*b`` is (22).
        """
        g, out, one, n = self.g, self.out, self.one, len(self.q)
        M, A = (self.matrix(map(self.at, out[name]), n)
                for name in ('M', 'velocity_jacobian'))
        A1, F = A[:, one], as_column(g, self.at(flat(out['Q'])))
        bias = as_column(g, solve(g, A1.rows, self.at(flat(out['b']))))
        known = F - M[:, one] @ bias
        slope = M @ self.T
        return {
            'Psi_true': self.T.T @ slope, 'H': self.T.T @ known, 'A1': A1,
            'X': slope[one], 'y': -known[one], 'slope': slope, 'known': known,
            'slip': A @ as_column(g, self.at(self.v))}

    def linear_parts(self):
        """``B`` and ``a``, and what exists where they are free of ``u``."""
        g, B = self.g, -self.S
        if not self.linear:
            return {'B': B, 'a': as_column(g, self.rates)
                    + B @ as_column(g, self.u)}
        change = self.matrix([list(map(self.along, row)) for row in B.rows],
                             len(self.u))
        return {
            'B': B, 'a': substitute(g, self.rates, dict.fromkeys(self.u, 0)),
            'paper': B.T @ self.pull + change.T @ as_column(g, self.p1)}


def solved_rates(system, g, out, one, v1):
    """References of ``g``, the rows solved for the ``q1'``."""
    A1 = [without(g, [row[i] for i in one], v1)
          for row in out['velocity_jacobian']]
    bad = [k for k, row in enumerate(A1) if None in row]
    if bad:
        names = ', '.join(str(system.u[i]) for i in one)
        raise ConstraintError(
            f"{', '.join(system.constraint_names[k] for k in bad)} cannot "
            f"be solved for {names}: not linear. Give the solved form, e.g. "
            "`x' - sqrt(...)` for the branch that is meant, or choose "
            "dependent velocities that occur linearly.",
            rows=tuple(bad), reason='nonlinear')
    at_rest = substitute(g, flat(out['velocity']), dict.fromkeys(v1, 0))
    return solve(g, A1, [-x for x in at_rest])


class EmbeddedMethod(ConstrainedMethod):
    """Abstract base of methods in the velocities of independent coordinates.

    A subclass defines ``_dependent``, the positions of the others in ``q``.

    Parameters
    ==========

    *args, **kwargs
        As for :class:`.ConstrainedMethod`, without stabilization. In Kane's
        shape there must be as many speeds as coordinates, and everything is
        stated in the velocities ``q'``; a velocity keeps the name of the speed
        that is equal to it. Velocity constraints that repeat holonomic ones,
        as ``KanesMethod`` wants them, are dropped.
    """

    _accepts = ('potential_energy', 'generalized_forces')
    _in_velocities = True
    _drops_repetitions = True
    _takes_partition = True
    _project_loads = False

    @classmethod
    def _arguments_from(cls, method, options):
        return partitioned(method, options.pop('q_dependent', None))

    @property
    def _others(self):
        return [i for i in range(len(self._system.q))
                if i not in self._dependent]

    @property
    def u(self):
        """Velocities of the independent coordinates, shape (p, 1)."""
        return column(self._system.u[i] for i in self._others)

    @property
    def _qdep(self):
        return column(self._system.q[i] for i in self._dependent)

    @property
    def _udep(self):
        return column(())

    @cached_property
    def _embedding(self):
        if self._dependent:
            check_regular(self, self._dependent)
        return embed(self.system, self._dependent, self._project_loads)

    @property
    def _when_singular(self):
        return ("Usually the rows do not determine the velocities of "
                f"{', '.join(map(str, self._qdep))} there: embed with other "
                "dependent coordinates.")

    @property
    def _rates(self):
        return self._embedding.sympy('rates')
