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

from ..errors import ConstraintError
from ..graph import (
    Graph, gradient, jacobian, substitute, time_derivative)
from ..graph.linalg import lu_solve

__all__ = ['embed']


def embed(system, dependent, project_loads=False):
    r"""Return the graph of an embedding.

    Explanation
    ===========

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
        Positions of ``q1`` in ``system.q``.
    project_loads : bool
        Embed ``Q2 - B^T*Q1`` instead of ``Q2``.

    Raises
    ======

    ConstraintError
        If a row is not linear in the ``q1'`` with coefficients free of them,
        or if the rows do not determine them. It has the attribute
        ``reason``, ``'nonlinear'`` or ``'singular'``.

    """
    names = [x for x in system.graph.outputs if x not in ('C', 'rates')]
    g, out = system.graph.load(None, names)
    q = [g.input(x, dynamic=True) for x in system.q]
    v = [g.input(x, dynamic=True) for x in system.u]
    one = list(dependent)
    two = [i for i in range(len(q)) if i not in one]
    v1, u = [v[i] for i in one], [v[i] for i in two]
    accelerations = [g.input(system.u[i].diff(system.t), dynamic=True)
                     for i in two]
    rates = solved_rates(system, g, out, one, v1)
    star = dict(zip(v1, rates))

    def at(refs):
        return substitute(g, refs, star)

    lagrangian = out['lagrangian'][0][0]
    p1 = at(gradient(g, lagrangian, v1))
    lagrangian, = at([lagrangian])
    force = at([x for x, in out['applied']])
    Q1 = [0]*len(one) if project_loads else [force[i] for i in one]
    velocity = {q[i]: x for i, x in (*zip(one, rates), *zip(two, u))}
    along = time_derivative(g, {**velocity, **dict.fromkeys(u, 0)})
    total = time_derivative(g, {**velocity, **dict(zip(u, accelerations))})

    # Hamel's equations: Lagrange's of L*, for q2 only
    S = jacobian(g, rates, u)                   # dg/du = -B
    momenta = gradient(g, lagrangian, u)
    slope = gradient(g, lagrangian, q)
    Psi = jacobian(g, momenta, u)
    Q2 = [force[i] for i in two]
    if project_loads:
        Q2 = [g.add(x, g.dot(column, [force[i] for i in one]))
              for x, column in zip(Q2, columns(S, two))]
    G = [g.sub(g.add(slope[i], x), along(momentum))
         for i, x, momentum in zip(two, Q2, momenta)]

    # the two faults
    by_q = jacobian(g, rates, q)
    Gamma = [[g.sub(g.add(by_q[k][i], g.dot([by_q[k][m] for m in one],
                                            column)), total(S[k][j]))
              for j, (i, column) in enumerate(zip(two, columns(S, two)))]
             for k in range(len(one))]
    neglected = [-g.dot(column, [g.add(slope[i], x)
                                 for i, x in zip(one, Q1)])
                 for column in columns(S, two)]
    bent = [g.dot(column, p1) for column in columns(Gamma, two)]

    blocks = {
        'rates': at_positions(len(q), one, rates, two, u),
        'g': rates, 'lagrangian': [lagrangian], 'Q1': Q1, 'Q2': Q2,
        'p1': p1, 'pull': [slope[i] for i in one], 'G': G,
        'neglected': neglected, 'bent': bent,
        'E': [g.add(x, y) for x, y in zip(neglected, bent)]}
    blocks = {name: ([[x] for x in refs], 1)
              for name, refs in blocks.items()}
    blocks |= {'Psi': (Psi, len(two)), 'Gamma': (Gamma, len(two)),
               'holonomic': (out['holonomic'], 1),
               'holonomic_jacobian': (out['holonomic_jacobian'], len(q)),
               'energy': ([at(row) for row in out['energy']], 1),
               'power': ([at(row) for row in out['power']], 1)}
    blocks |= projected(g, out, at, S, one, two, v)
    blocks |= linear_parts(g, S, rates, q, u, one, two, slope, Q1, p1, along)
    return Graph.freeze(g, blocks)


def solved_rates(system, g, out, one, v1):
    """References of ``g``, the rows solved for the ``q1'``."""
    A1 = [[row[i] for i in one] for row in out['velocity_jacobian']]
    bad = [k for k, row in enumerate(A1)
           if any(g.depends_on(x, *v1) for x in row if x)]
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
    rates = lu_solve(g, A1, [-x for x in at_rest])
    if rates is None:
        raise ConstraintError(
            "The rows do not determine the velocities of "
            f"{', '.join(str(system.q[i]) for i in one)}.",
            reason='singular')
    return rates


def projected(g, out, at, S, one, two, v):
    """d'Alembert's principle on the constraints, from the whole model.

    Nothing here comes from ``L*``: ``M`` and ``F`` are those of the model
    without constraints, and ``q1'' = S*u' + A1^-1*b`` are (22) with (13).
    """
    M = [at(row) for row in out['M']]
    F = at([x for x, in out['Q']])
    A = [at(row) for row in out['velocity_jacobian']]
    A1 = [[row[i] for i in one] for row in A]
    bias = lu_solve(g, A1, at([x for x, in out['b']]))
    known = [g.sub(force, g.dot([row[i] for i in one], bias))
             for row, force in zip(M, F)]       # F - M*[A1^-1*b; 0]
    slope = [[g.add(row[i], g.dot([row[k] for k in one], column))
              for i, column in zip(two, columns(S, two))] for row in M]

    def project(values):
        """``x2 + S^T*x1`` of a column (n)."""
        return [g.add(values[i], g.dot(column, [values[k] for k in one]))
                for i, column in zip(two, columns(S, two))]

    rows = [project(column) for column in zip(*slope)]
    slip = [g.dot(row, at(v)) for row in A]
    return {
        'Psi_true': ([list(row) for row in zip(*rows)], len(two)),
        'H': ([[x] for x in project(known)], 1),
        'A1': (A1, len(one)), 'X': ([slope[i] for i in one], len(two)),
        'y': ([[-known[i]] for i in one], 1),
        'X2': ([slope[i] for i in two], len(two)),
        'y2': ([[-known[i]] for i in two], 1),
        'slip': ([[x] for x in slip], 1)}


def linear_parts(g, S, rates, q, u, one, two, slope, Q1, p1, along):
    """``B`` and ``a``, and what exists where they are free of ``u``."""
    p = len(two)
    B = [[-x for x in row] for row in S]
    a = [g.sub(rate, g.dot(row, u)) for rate, row in zip(rates, S)]
    linear = not any(g.depends_on(x, *u) for row in S for x in row if x)
    if not linear:
        return {'B': (B, p), 'a': ([[x] for x in a], 1)}
    a = substitute(g, rates, dict.fromkeys(u, 0))
    explicit = time_derivative(
        g, {x: 0 for x in (*q, *u)})            # d/dt at fixed q
    by_q = [[gradient(g, x, q) for x in row] for row in B]
    a_by_q = jacobian(g, a, q)

    def bracket(slopes, direction):
        """Derivative along ``[direction; 0]``, i.e. of ``q1`` only."""
        return g.dot([slopes[i] for i in one], direction)

    omega, eta = [], []
    for k in range(len(one)):
        lean = [[g.sub(by_q[k][j][two[m]],
                       bracket(by_q[k][j], [row[m] for row in B]))
                 for m in range(p)] for j in range(p)]
        omega += [[g.sub(lean[j][m], lean[m][j]) for m in range(p)]
                  for j in range(p)]
        eta.append([g.sum((
            explicit(B[k][j]), bracket(by_q[k][j], a), a_by_q[k][two[j]],
            -bracket(a_by_q[k], [row[j] for row in B]))) for j in range(p)])
    rate = [[along(x) for x in row] for row in B]
    pull = [g.add(slope[i], x) for i, x in zip(one, Q1)]
    paper = [g.add(g.dot(b, pull), g.dot(bent, p1)) for b, bent in zip(
        columns(B, two), columns(rate, two))]
    return {'B': (B, p), 'a': ([[x] for x in a], 1), 'omega': (omega, p),
            'eta': (eta, p), 'paper': ([[x] for x in paper], 1)}


def columns(matrix, two):
    """Columns of a matrix (r, p), also where there are no rows."""
    return [[row[j] for row in matrix] for j in range(len(two))]


def at_positions(size, one, first, two, second):
    """A list with ``first`` at the positions ``one``, the rest at ``two``.
    """
    found = [0]*size
    for i, x in (*zip(one, first), *zip(two, second)):
        found[i] = x
    return found
