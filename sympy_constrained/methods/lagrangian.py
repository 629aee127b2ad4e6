"""Methods that keep multipliers beside a Lagrangian: what they share."""
from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import NamedTuple

from sympy import Expr, ImmutableDenseMatrix, diag, eye, sympify

from ..graph import (
    Graph, GraphMatrix, gradient, jacobian, read, time_derivative)
from ..model.call_signatures import as_expressions
from .base import ConstrainedMethod
from .null_space import elimination, null_basis, null_space_solve

__all__ = ['LagrangianMethod', 'Quantity']


class Quantity(NamedTuple):
    """A function of the states, and its rate along the motion.

    The rate is zero if the quantity is conserved. It may contain the
    multipliers.
    """

    value: Expr
    rate: Expr

    @property
    def is_conserved(self):
        """Whether the rate is zero as it is written."""
        return self.rate == 0


class LagrangianMethod(ConstrainedMethod):
    """Abstract base of the methods with one multiplier for each constraint.

    Explanation
    ===========

    The multipliers are unknowns or states, and the full matrices contain
    them, in the layout of ``LagrangesMethod``: ``[q'; u'; multipliers]``.
    The speeds are the velocities of the coordinates. In Kane's shape there
    must be as many speeds as coordinates; a velocity keeps the name of the
    speed that is equal to it, and velocity constraints that repeat holonomic
    ones are dropped.

    """

    options = ('potential_energy', 'generalized_forces')
    in_velocities = True
    drops_repetitions = True
    multiplier_name = 'lam'

    def __init__(self, *args, multipliers=None, **kwargs):
        self._multipliers = multipliers
        super().__init__(*args, **kwargs)
        self._check_velocity_level('takes')
        self._multiplier_symbols        # complains at once

    @property
    def _own(self):
        return {'multipliers': self._multipliers}

    @cached_property
    def _multiplier_symbols(self):
        """The multipliers as functions of time, shape (m, 1)."""
        count = self._system.counts[2]
        if self._multipliers is None:
            return self._fresh_symbols(self.multiplier_name, count)
        return self._named_symbols(self._multipliers, 'multipliers',
                                   'multiplier', 'constraint rows', count)

    # -- variation -------------------------------------------------------

    #: multipliers that are part of the Lagrangian
    @property
    @abstractmethod
    def mu_vec(self):
        """Multipliers that are states, shape (m, 1) or (0, 1)."""

    @cached_property
    def _varied(self):
        return vary(self.system, tuple(self.mu_vec))

    @cached_property
    def momenta(self):
        """Derivatives of the Lagrangian by the velocities, shape (n, 1)."""
        return self._varied.sympy('momenta')

    @cached_property
    def energy(self):
        """``u.dL/du - L`` of the Lagrangian that is varied."""
        return self._varied.sympy('energy')[0]

    @cached_property
    def energy_rate(self):
        """Rate of :attr:`energy` along the motion; see :class:`Quantity`.
        """
        return self._quantity_rate('energy_rate', 'work')[0]

    @cached_property
    def momentum_rates(self):
        """Rates of :attr:`momenta` along the motion, shape (n, 1)."""
        return self._quantity_rate('momentum_rates', 'reactions')

    def _quantity_rate(self, name, reactions):
        """A rate with what constraint forces add to it."""
        return self._varied.sympy(name)

    def conserved_quantities(self):
        """What is conserved without further ado.

        Returns
        =======

        dict
            ``'energy'`` if the energy is constant, and every coordinate
            whose momentum is. The values are expressions.

        """
        found = {}
        if self.energy_rate == 0:
            found['energy'] = self.energy
        for x, value, rate in zip(self._system.q, self.momenta,
                                  self.momentum_rates):
            if rate == 0:
                found[x] = value
        return found

    def noether_quantity(self, xi):
        """Return the :class:`Quantity` ``xi . dL/du`` of a displacement.

        It is conserved if ``xi`` leaves Lagrangian and constraints
        unchanged; for reactions that do work only if it also satisfies the
        constraints.

        Parameters
        ==========

        xi : iterable of Expr
            A displacement of each coordinate, functions of coordinates and
            time, in the order of ``q``.

        """
        xi = as_expressions(xi, 'xi')
        n = len(self._system.q)
        if len(xi) != n:
            raise ValueError(
                f"`xi` has {len(xi)} entries for {n} coordinates. Give one "
                "displacement for each coordinate.")
        g, out = self._varied.load()
        q, u = ([g.input(x, dynamic=True) for x in xs]
                for xs in (self._system.q, self._system.u))
        for x, rate in zip(self._system.q, u):
            g.bound[x.diff(self._system.t)] = rate
        shift = [read(g, x) for x in xi]
        if any(g.depends_on(x, *u) for x in shift if x):
            raise ValueError(
                "`xi` contains a velocity. Give displacements that depend on "
                "coordinates and time.")
        along = time_derivative(g, dict(zip(q, u)))
        momenta = [x for x, in out['momenta']]
        rate = g.add(g.dot(map(along, shift), momenta),
                     g.dot(shift, [x for x, in out['momentum_rates']]))
        found = Graph.freeze(g, {
            'value': ([[g.dot(shift, momenta)]], 1), 'rate': ([[rate]], 1),
            'slip': ([[g.dot(row, shift)] for row in out['A']], 1)})
        return Quantity(found.sympy('value')[0], found.sympy('rate')[0]
                        + self._work(found.sympy('slip')))

    def _work(self, slip):
        """Power of the reactions for a velocity with ``A*velocity = slip``.
        """
        return sympify(0)

    # -- the free directions ---------------------------------------------

    def _block_solve(self, g, W, M, A, right, b):
        """``x, y`` of ``W*x + A^T*y = right``, ``A*x = b``; or None, None.

        A positive semidefinite ``W`` is eliminated first, which has no
        pivot that vanishes at a regular state.
        """
        if W == M:
            solution = elimination(g, M, A, self._report.mass_is_regular)
            if solution is not None:
                x, lam = solution(right, b)
                return x, [-y for y in lam]
        return null_space_solve(g, W, A, self._pivots, right, b)

    def _with_basis(self, graph, names):
        """Outputs in a builder, and columns ``B`` with ``A*B = 0``."""
        rows = self.independent_rows
        g, out = graph.load(None, {*names, 'A'})
        A = GraphMatrix(g, [out['A'][k] for k in rows], len(self._system.q))
        return g, out, null_basis(A, self._pivots).T.rows

    @cached_property
    def free_directions(self):
        """Columns ``B`` that span what ``A*B = 0`` allows, (n, n - rank).

        The identity in the coordinates that are left free, which are chosen
        where the constraints hold.
        """
        g, _, columns = self._with_basis(self._varied, ())
        return Graph.freeze(g, {'B': (
            [[c[i] for c in columns] for i in range(len(self._system.q))],
            len(columns))}).sympy('B')

    @cached_property
    def regularity_matrix(self):
        """``B^T*W*B``; singular where the motion is not determined."""
        g, out, columns = self._with_basis(self._varied, ('W',))
        pull = [[g.dot(row, c) for row in out['W']] for c in columns]
        return Graph.freeze(g, {'R': (
            [[g.dot(c, x) for x in pull] for c in columns],
            len(columns))}).sympy('R')

    # -- the equations ---------------------------------------------------

    @cached_property
    def modified_mass_matrix(self):
        """``W``, second derivatives by the velocities, shape (n, n)."""
        return self._varied.sympy('W')

    @cached_property
    def forcing(self):
        """Right side of the dynamic equations, shape (n, 1)."""
        return self.equations_of_motion.r[:len(self._system.q), :]

    @cached_property
    def mass_matrix(self):
        """Coefficients of accelerations and multipliers, (n, n + m)."""
        return self.equations_of_motion.W[:len(self._system.q), :]

    @cached_property
    def mass_matrix_full(self):
        """Identity and ``W`` of ``W z = r``, (2n + m, 2n + m)."""
        return ImmutableDenseMatrix(diag(
            eye(len(self._system.q)), self.equations_of_motion.W))

    @cached_property
    def forcing_full(self):
        """``q'`` above ``r`` of ``W z = r``, shape (2n + m, 1)."""
        return self.forcing_kin.col_join(self.equations_of_motion.r)

    @cached_property
    def eom(self):
        """Dynamic equations with multipliers, zero along the motion, (n, 1).
        """
        equations = self.equations_of_motion
        residual = self._linear_residual(
            equations.graph, 'W', 'r', equations.unknowns)
        return residual[:len(self._system.q), :]

    @cached_property
    def applied_forces(self):
        """Generalized forces of loads and ``generalized_forces``, (n, 1)."""
        return self.system.graph.sympy('applied')

    def _active_forces(self):
        return self.applied_forces - self.constraint_term

    @property
    @abstractmethod
    def constraint_term(self):
        """Minus the generalized constraint forces, as in ``eom``, (n, 1)."""


def vary(system, mu):
    """Return the graph of the variation of ``L + mu^T*g``.

    Explanation
    ===========

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

    Without ``mu`` there is no constraint in ``L'``; ``Gamma`` is there in
    any case.
    """
    g, out = system.graph.load(None, (
        'lagrangian', 'applied', 'velocity', 'A', 'b', 'M', 'Q'))
    q, u = ([g.input(x, dynamic=True) for x in xs]
            for xs in (system.q, system.u))
    states = [g.input(x, dynamic=True) for x in mu]
    accelerations = [g.input(x.diff(system.t), dynamic=True)
                     for x in system.u]
    rows = [x for x, in out['velocity']]
    lagrangian = g.add(out['lagrangian'][0][0], g.dot(states, rows))
    slopes = gradient(g, lagrangian, u + q)
    momenta, by_q = slopes[:len(u)], slopes[len(u):]
    resting = {**dict(zip(q, u)), **dict.fromkeys(states, 0)}
    bias = time_derivative(g, {**resting, **dict.fromkeys(u, 0)})
    total = time_derivative(g, {**resting, **dict(zip(u, accelerations))})
    explicit = time_derivative(
        g, dict.fromkeys((*q, *u, *states), 0))
    force = [x for x, in out['applied']]
    rates = [g.add(x, y) for x, y in zip(by_q, force)]
    slopes = [gradient(g, row, u + q) for row in rows]

    def euler(along):
        """Rows (n, m) of ``E_i(g_s)`` with the given derivative."""
        return [[g.sub(along(x[i]), x[len(u) + i]) for x in slopes]
                for i in range(len(u))]

    right = [x for x, in out['Q']]
    if states:                          # what is not in Q, at u' = 0
        right = [g.sub(x, g.dot(row, states))
                 for x, row in zip(right, euler(bias))]
    columns = {
        'lagrangian': [lagrangian], 'momenta': momenta,
        'momentum_rates': rates,
        'right': right,
        'energy': [g.sub(g.dot(u, momenta), lagrangian)],
        'energy_rate': [g.sub(g.dot(u, force), explicit(lagrangian))]}
    return Graph.freeze(g, {
        **{name: ([[x] for x in refs], 1) for name, refs in columns.items()},
        'W': (jacobian(g, momenta, u), len(u)), 'A': (out['A'], len(u)),
        'b': (out['b'], 1), 'M': (out['M'], len(u)), 'Q': (out['Q'], 1),
        'Gamma': (euler(total), len(rows))})
