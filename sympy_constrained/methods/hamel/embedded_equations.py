r"""Hamel's embedding on the graph: what it gives, and what is right.

The coordinates are split into ``q1``, one for each constraint row, and
``q2``. The rows are solved for ``q1' = g(q, u, t)`` with ``u = q2'``, and a
star means that ``q1'`` is replaced by ``g``. Equation numbers are those of
[1]_; (E1) to (E4) are derived in the theory page.

.. [1] H. Zhao, X. Zhao and J. Jiang, "Study on Hamel's embedding method via
   the Udwadia-Kalaba theory," Appl. Math. Mech. (Chinese ed.) 38 (2017)
   696-707.

"""
from __future__ import annotations

from functools import cached_property

from ...errors import ConstraintError
from ...graph import (
    Graph, gradient, jacobian, substitute, time_derivative, without)
from ...graph.linalg import solve
from ..base import ConstrainedMethod
from ..partition import check_regular, partitioned
from ..symbols import column

__all__ = ['EmbeddedMethod', 'embed']


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
    ``A1``, ``X``, ``y``              ``A1^T*lam = X*u' + y``
    ``slip``              (r, 1)      ``(A*q')*``, for the reactions' power
    ``energy``, ...                   see :class:`.EquationsOfMotion`
    ====================  ==========  =====================================

    For constraints linear in the velocities also ``paper``, (43), and the
    parts ``omega`` (r*p, p) and ``eta`` (r, p) of ``Gamma``. For others
    ``Gamma`` contains ``u'``.

    Parameters
    ==========

    system : ConstrainedSystem
        In the velocities of its coordinates, see :func:`.build_system`.
    dependent : sequence of int
        Positions of ``q1`` in ``system.q``, whose velocities the rows
        determine.
    project_loads : bool
        Embed ``Q2 - B^T*Q1`` instead of ``Q2``.

    Raises
    ======

    ConstraintError
        If a row is not linear in the ``q1'`` with coefficients free of them;
        with the attribute ``reason='nonlinear'``.
    """
    work = EmbeddedEquations(system, dependent, project_loads)
    return Graph.freeze(work.g, {
        **work.state(), **work.hamel(), **work.faults(), **work.projected(),
        **work.linear_parts()})


class EmbeddedEquations:
    """One embedding under construction; see :func:`embed`.

    ``one`` and ``two`` are the positions of ``q1`` and ``q2``, ``S`` the
    columns of ``dg/du``, and ``at`` puts the star to references.
    """

    def __init__(self, system, dependent, project_loads):
        names = [x for x in system.graph.outputs if x not in ('C', 'rates')]
        self.g, self.out = g, out = system.graph.load(None, names)
        self.one = one = list(dependent)
        self.two = two = [i for i in range(len(system.q)) if i not in one]
        self.q, self.v = ([g.input(x, dynamic=True) for x in xs]
                          for xs in (system.q, system.u))
        v1 = [self.v[i] for i in one]
        self.u = [self.v[i] for i in two]
        self.rates = solved_rates(system, g, out, one, v1)
        self.star = dict(zip(v1, self.rates))
        accelerations = [g.input(system.u[i].diff(system.t), dynamic=True)
                         for i in two]
        motion = dict(zip(self.q, self.placed(self.rates, self.u)))
        self.along = time_derivative(         # at u' = 0
            g, {**motion, **dict.fromkeys(self.u, 0)})
        slopes = jacobian(g, self.rates, self.u)
        free = [without(g, row, self.u) for row in slopes]
        self.linear = not any(None in row for row in free)
        self.S = columns(free if self.linear else slopes, len(two))
        self.total = self.along if self.linear else time_derivative(
            g, {**motion, **dict(zip(self.u, accelerations))})
        force = self.at(flat(out['applied']))
        self.Q1 = [force[i] for i in one]
        self.Q2 = [force[i] for i in two]
        if project_loads:
            self.Q2 = [g.add(x, g.dot(s, self.Q1))
                       for x, s in zip(self.Q2, self.S)]
            self.Q1 = [0]*len(one)
        lagrangian = out['lagrangian'][0][0]
        self.p1 = self.at(gradient(g, lagrangian, v1))
        self.lagrangian, = self.at([lagrangian])
        self.slope = gradient(g, self.lagrangian, self.q)

    def at(self, refs):
        """References with ``g`` in the place of ``q1'``."""
        return substitute(self.g, refs, self.star)

    def placed(self, first, second):
        """A list with ``first`` at the positions of ``q1``, and ``second``."""
        found = [0]*len(self.q)
        for i, x in (*zip(self.one, first), *zip(self.two, second)):
            found[i] = x
        return found

    def projected_on(self, values):
        """``x2 + S^T*x1`` of a column of the whole model."""
        first = [values[i] for i in self.one]
        return [self.g.add(values[i], self.g.dot(s, first))
                for i, s in zip(self.two, self.S)]

    def state(self):
        """What is not yet an equation."""
        out = self.out
        return {
            'lagrangian': ([[self.lagrangian]], 1),
            'holonomic': (out['holonomic'], 1),
            'holonomic_jacobian': (out['holonomic_jacobian'], len(self.q)),
            'energy': ([self.at(row) for row in out['energy']], 1),
            'power': ([self.at(row) for row in out['power']], 1),
            **singles({
                'rates': self.placed(self.rates, self.u), 'g': self.rates,
                'Q1': self.Q1, 'Q2': self.Q2, 'p1': self.p1,
                'pull': [self.slope[i] for i in self.one]})}

    def hamel(self):
        """Lagrange's equations of ``L*``, for ``q2`` only."""
        g, p = self.g, len(self.two)
        momenta = gradient(g, self.lagrangian, self.u)
        G = [g.sub(g.add(self.slope[i], x), self.along(momentum))
             for i, x, momentum in zip(self.two, self.Q2, momenta)]
        return {'Psi': (jacobian(g, momenta, self.u), p),
                **singles({'G': G})}

    def faults(self):
        """The two parts of ``E``, (E1) and (E2)."""
        g = self.g
        Gamma = []
        for k, rate in enumerate(self.rates):
            slope = gradient(g, rate, self.q)
            along_columns = self.projected_on(slope)    # dg/dq along [S; 1]
            Gamma.append([g.sub(x, self.total(s[k]))
                          for x, s in zip(along_columns, self.S)])
        pull = [g.add(self.slope[i], x) for i, x in zip(self.one, self.Q1)]
        neglected = [-g.dot(s, pull) for s in self.S]
        bent = [g.dot(c, self.p1) for c in columns(Gamma, len(self.two))]
        return {'Gamma': (Gamma, len(self.two)), **singles({
            'neglected': neglected, 'bent': bent,
            'E': [g.add(x, y) for x, y in zip(neglected, bent)]})}

    def projected(self):
        """d'Alembert's principle on the constraints, from the whole model.

        Nothing here comes from ``L*``: ``M`` and ``F`` are those of the
        model without constraints, and ``q1'' = S*u' + A1^-1*b`` is (22).
        """
        g, out, one, two = self.g, self.out, self.one, self.two
        M = [self.at(row) for row in out['M']]
        F = self.at(flat(out['Q']))
        A = [self.at(row) for row in out['velocity_jacobian']]
        A1 = [[row[i] for i in one] for row in A]
        bias = solve(g, A1, self.at(flat(out['b'])))
        known = [g.sub(force, g.dot([row[i] for i in one], bias))
                 for row, force in zip(M, F)]   # F - M*[A1^-1*b; 0]
        slope = [self.projected_on(row) for row in M]   # M*[S; 1]
        Psi = [self.projected_on(c) for c in columns(slope, len(two))]
        p = len(two)
        return {
            'Psi_true': (columns(Psi, p), p), 'A1': (A1, len(one)),
            'X': ([slope[i] for i in one], p),
            'X2': ([slope[i] for i in two], p),
            **singles({
                'H': self.projected_on(known),
                'y': [-known[i] for i in one],
                'y2': [-known[i] for i in two],
                'slip': [g.dot(row, self.at(self.v)) for row in A]})}

    def linear_parts(self):
        """``B`` and ``a``, and what exists where they are free of ``u``."""
        g, p, r = self.g, len(self.two), len(self.one)
        B = [[-s[k] for s in self.S] for k in range(r)]
        if self.linear:
            a = substitute(g, self.rates, dict.fromkeys(self.u, 0))
        else:
            a = [g.add(rate, g.dot(row, self.u))
                 for rate, row in zip(self.rates, B)]
        found = {'B': (B, p), **singles({'a': a})}
        if self.linear:
            omega, eta = self.curvature_tensor(B, a)
            rates = [[self.along(x) for x in row] for row in B]
            pull = [g.add(self.slope[i], x)
                    for i, x in zip(self.one, self.Q1)]
            found |= {'omega': (omega, p), 'eta': (eta, p), **singles({
                'paper': [g.add(g.dot(b, pull), g.dot(rate, self.p1))
                          for b, rate in zip(columns(B, p),
                                             columns(rates, p))]})}
        return found

    def curvature_tensor(self, B, a):
        """``omega``, (r*p, p), and ``eta``, (r, p), of (E2)."""
        g, one, two = self.g, self.one, self.two
        explicit = time_derivative(             # at fixed coordinates
            g, dict.fromkeys((*self.q, *self.u), 0))

        def along_first(slopes, direction):
            """Derivative of a function of ``q`` along ``[direction; 0]``."""
            return g.dot([slopes[i] for i in one], direction)

        omega, eta = [], []
        B_columns = columns(B, len(two))
        for row, drift in zip(B, a):
            by_q = [gradient(g, x, self.q) for x in row]
            drift_by_q = gradient(g, drift, self.q)
            lean = [[g.sub(slopes[i], along_first(slopes, b))
                     for i, b in zip(two, B_columns)] for slopes in by_q]
            omega += [[g.sub(lean[j][k], lean[k][j])
                       for k in range(len(two))] for j in range(len(two))]
            eta.append([g.sum((
                explicit(x), along_first(slopes, a), drift_by_q[i],
                -along_first(drift_by_q, b)))
                for x, slopes, i, b in zip(row, by_q, two, B_columns)])
        return omega, eta


def solved_rates(system, g, out, one, v1):
    """References of ``g``, the rows solved for the ``q1'``."""
    A1 = [without(g, [row[i] for i in one], v1)
          for row in out['velocity_jacobian']]
    bad = [k for k, row in enumerate(A1) if None in row]
    if bad:
        names = ', '.join(str(system.u[i]) for i in one)
        raise ConstraintError(
            f"{', '.join(system.constraint_names[k] for k in bad)} cannot "
            f"be solved for {names}, in which it is not linear. Give it "
            "solved for them, e.g. `x' - sqrt(...)` for the branch that is "
            "meant, or choose velocities in which it is linear.",
            rows=tuple(bad), reason='nonlinear')
    at_rest = substitute(g, [x for x, in out['velocity']],
                         dict.fromkeys(v1, 0))
    return solve(g, A1, [-x for x in at_rest])


def flat(rows):
    """The references of an output with one column."""
    return [x for x, in rows]


def columns(matrix, count):
    """Columns of a matrix (r, p), also where there are no rows."""
    return [[row[j] for row in matrix] for j in range(count)]


def singles(named):
    """Columns under their names, as outputs of a graph."""
    return {name: ([[x] for x in refs], 1) for name, refs in named.items()}


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
    def from_method(cls, method, *, q_dependent=None, **options):
        """Return this method for the model of another object.

        By default ``q_dependent`` are the dependent coordinates and speeds of
        that. In Kane's shape they become the last of ``q``.
        """
        return partitioned(cls, method, q_dependent, options)

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
    def _rates(self):
        return self._embedding.sympy('rates')
