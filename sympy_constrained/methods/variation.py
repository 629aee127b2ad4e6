"""The variation of a Lagrangian, with or without multipliers in it."""
from functools import cached_property
from typing import NamedTuple

from sympy import Expr

from ..graph import (
    GraphMatrix, derivative, gradient, jacobian, read, time_derivative)
from ..graph.graph import output
from ..graph.matrix import as_column
from ..model.call_signatures import as_expressions
from .references import flat, frozen, inputs, written
from .symbols import column


class Quantity(NamedTuple):
    """A function of states and multipliers, and its rate along the motion."""

    value: Expr
    rate: Expr

    @property
    def is_conserved(self):
        """Whether the rate is zero as it is written."""
        return self.rate == 0


class Variation:
    """Momenta, energy and what is conserved; the free directions.

    ``graph`` has all outputs of :func:`.vary`. Reactions are written with
    ``lam_vec`` in the sign of ``multipliers``, opposite to that in ``eom``.
    """

    def __init__(self, method):
        self._method, self._system = method, method.system
        self.graph = method._varied
        self._mu = tuple(method.mu_vec)
        self._lam = () if self._mu else method.lam_vec

    lagrangian = cached_property(lambda self: self.graph.sympy(
        'lagrangian')[0])
    momenta = output(
        'momenta', "Derivatives of the Lagrangian by velocities, (n, 1).")
    modified_mass_matrix = output(
        'W', "``W``, second derivatives by the velocities, shape (n, n).")

    @cached_property
    def energy(self):
        """``u.dL/du - L`` of the Lagrangian that is varied."""
        return self.graph.sympy('energy')[0]

    @cached_property
    def energy_rate(self):
        """Rate of :attr:`energy` along the motion; see :class:`Quantity`.

        The reactions contribute ``lam^T*(A*q' - g)``, zero for rows that are
        homogeneous of degree one.
        """
        g, out = self._system.graph.load(None, ('A', 'velocity'))
        u = inputs(g, self._system.u)
        slip = written(g, [g.sub(g.dot(row, u), x) for row, (x,) in zip(
            out['A'], out['velocity'])])
        return self.graph.sympy('energy_rate')[0] + self._power(slip)

    @cached_property
    def momentum_rates(self):
        """Rates of :attr:`momenta` along the motion, shape (n, 1)."""
        rates = self.graph.sympy('momentum_rates')
        return rates if self._mu else rates - self.constraint_term

    def _power(self, slip):
        """Power of the reactions for a velocity with ``A*velocity = slip``."""
        return (slip.T*self._lam)[0] if len(self._lam) else 0

    @cached_property
    def constraint_term(self):
        """Minus the generalized constraint forces, shape (n, 1).

        ``-A^T*lam``, and ``A^T*mu' + Gamma*mu`` for vakonomic motion, (27).
        """
        A = self._system.A
        if not self._mu:
            return -A.T*self._lam
        mu = self._method.mu_vec
        return A.T*mu.diff(self._system.t) + self.graph.sympy('Gamma')*mu

    def conserved_quantities(self):
        """Return a dictionary of what is constant by its written rate.

        ``'energy'``, and coordinates whose momentum it is; to expressions.
        """
        constant = {'energy': self.energy} if self.energy_rate == 0 else {}
        return constant | {
            x: value for x, value, rate in zip(
                self._system.q, self.momenta, self.momentum_rates)
            if rate == 0}

    def noether_quantity(self, xi):
        """Return the :class:`Quantity` ``xi . dL/du`` of a displacement.

        It is conserved if ``xi`` leaves Lagrangian and constraints unchanged;
        for reactions that do work only if it also satisfies the constraints.

        ``xi`` has a displacement of each coordinate, in coordinates and time.
        """
        xi = as_expressions(xi, 'xi')
        n = len(self._system.q)
        if len(xi) != n:
            raise ValueError(
                f"`xi` has {len(xi)} entries for {n} coordinates. Give one "
                "displacement for each coordinate.")
        g, out = self.graph.load()
        q, u = inputs(g, self._system.q), inputs(g, self._system.u)
        for x, rate in zip(self._system.q, u):
            g.bound[derivative(x, self._system.t)] = rate
        shift = [read(g, x) for x in xi]
        if any(g.depends_on(x, *u) for x in shift if x):
            raise ValueError(
                "`xi` contains a velocity. Give displacements that depend on "
                "coordinates and time.")
        along = time_derivative(g, dict(zip(q, u)))
        momenta = flat(out['momenta'])
        rate = g.add(g.dot(map(along, shift), momenta),
                     g.dot(shift, flat(out['momentum_rates'])))
        value, rate, *slip = written(g, [
            g.dot(shift, momenta), rate,
            *(g.dot(row, shift) for row in out['A'])])
        return Quantity(value, rate + self._power(column(slip)))

    # -- the free directions ---------------------------------------------

    @cached_property
    def free_directions(self):
        """Columns ``B`` that span what ``A*B = 0`` allows, (n, n - rank)."""
        A, = self.graph.blocks('A')
        return written(A.builder, self._method._basis(A))

    @cached_property
    def maggi_equations(self):
        """``B^T*(E(L) - Q)``, free of multipliers, shape (n - rank, 1)."""
        t, u = self._system.t, self._system.u
        M, Q, A = self._system.blocks('M', 'Q', 'A')
        z = as_column(A.builder, inputs(A.builder, [x.diff(t) for x in u]))
        return written(A.builder, self._method._basis(A).T @ (M @ z - Q))

    @cached_property
    def regularity_matrix(self):
        """``B^T*W*B``; singular where the motion is not determined."""
        W, A = self.graph.blocks('W', 'A')
        B = self._method._basis(A)
        return written(A.builder, B.T @ (W @ B))


def vary(system, mu):
    """Return the graph of the variation of ``L + mu^T*g``.

    ===================  =======  ========================================
    output               shape    meaning
    ===================  =======  ========================================
    ``lagrangian``       (1, 1)   ``L' = L + mu^T*g``
    ``momenta``          (n, 1)   ``dL'/du``
    ``momentum_rates``   (n, 1)   ``dL'/dq + Q``
    ``W``, ``right``     n, (n,)  ``W*u' + A^T*mu' = right``, (V)
    ``A``, ``b``         (m, n)   ``A*u' = b``
    ``M``, ``Q``         (n, n)   of ``L`` alone
    ``Gamma``            (n, m)   ``E_i(g_s)``, with ``u'``
    ``energy``           (1, 1)   ``u.dL'/du - L'``
    ``energy_rate``      (1, 1)   ``-dL'/dt + u.Q``
    ===================  =======  ========================================

    Without ``mu`` it is ``L' = L``.
    """
    g, out = system.graph.load(None, (
        'lagrangian', 'applied', 'velocity', 'A', 'b', 'M', 'Q'))
    q, u = inputs(g, system.q), inputs(g, system.u)
    states = inputs(g, mu)
    accelerations = inputs(g, [derivative(x, system.t) for x in system.u])
    rows = flat(out['velocity'])
    lagrangian = g.add(out['lagrangian'][0][0], g.dot(states, rows))
    slopes = gradient(g, lagrangian, u + q)
    momenta, by_q = slopes[:len(u)], slopes[len(u):]
    resting = {**dict(zip(q, u)), **dict.fromkeys(states, 0)}
    bias = time_derivative(g, {**resting, **dict.fromkeys(u, 0)})
    total = time_derivative(g, {**resting, **dict(zip(u, accelerations))})
    explicit = time_derivative(
        g, dict.fromkeys((*q, *u, *states), 0))
    force = flat(out['applied'])
    rates = [g.add(x, y) for x, y in zip(by_q, force)]
    slopes = [gradient(g, row, u + q) for row in rows]

    def euler(along):
        """Rows (n, m) of ``E_i(g_s)`` with the given derivative."""
        return [[g.sub(along(x[i]), x[len(u) + i]) for x in slopes]
                for i in range(len(u))]

    right = flat(out['Q'])
    if states:                          # what is not in Q, at u' = 0
        right = [g.sub(x, g.dot(row, states))
                 for x, row in zip(right, euler(bias))]
    n = len(u)
    return frozen(
        g, lagrangian=[lagrangian], momenta=momenta, momentum_rates=rates,
        right=right, energy=[g.sub(g.dot(u, momenta), lagrangian)],
        energy_rate=[g.sub(g.dot(u, force), explicit(lagrangian))],
        W=GraphMatrix(g, jacobian(g, momenta, u), n), b=flat(out['b']),
        Q=flat(out['Q']), M=GraphMatrix(g, out['M'], n),
        A=GraphMatrix(g, out['A'], n),
        Gamma=GraphMatrix(g, euler(total), len(rows)))
