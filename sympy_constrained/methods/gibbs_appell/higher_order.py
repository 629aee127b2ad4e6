r"""Equations with constraints nonlinear in ``u'``, or of an order above 2.

The multiplier equations :math:`E + A^T\lambda = 0` and the constraints are
differentiated until they are linear in the highest derivatives; see
:meth:`.GibbsAppellMethod.equations`.
"""
from __future__ import annotations

from dataclasses import replace
from random import Random

from mpmath import mp
from sympy import Derivative, sympify

from ...analysis.consistent_points import (
    DEPENDENT, SETTLED, evaluated, norm, settle)
from ...errors import ConstraintError
from ...graph import Graph, gradient, jacobian, substitute, time_derivative
from ...model.equations import EquationsOfMotion
from ...precision import precise

__all__ = ['check_gradients', 'higher_equations', 'higher_orders']

ATTEMPTS = 24


def higher_orders(system):
    """The orders of the ``higher_rows`` of a system."""
    orders = []
    speeds = {getattr(x, 'expr', x): getattr(x, 'derivative_count', 0)
              for x in system.u}
    g, out = system.graph.load(None, ('higher',)) if (
        system.higher_rows) else (None, {'higher': ()})
    for f, in out['higher']:
        orders.append(max(
            x.derivative_count - speeds[x.expr] for x in g.symbols_of(f)
            if isinstance(x, Derivative) and x.expr in speeds) + 1)
    return tuple(orders)


def higher_equations(system, rows, orders, names, lam):
    """Return the :class:`.EquationsOfMotion`.

    Parameters
    ==========

    system : ConstrainedSystem
    rows : Graph
        ``A`` (m, p) and ``W`` (p, m) of all constraints.
    orders : tuple of int
    names : tuple of str
    lam : tuple of dynamicsymbols
        The multipliers.

    """
    jets = Jets(system, rows, orders, lam)
    g, N, j = jets.g, jets.highest, jets.differentiations
    known, levels = jets.known, jets.levels
    top, late = levels[N], jets.multipliers[j]
    dynamic = jets.derivative(jets.balance, j)
    kept, kept_names = [], []
    for i in range(j):
        kept += jets.derivative(jets.balance, i)
        kept_names += [f"dynamic equation {k}{apostrophes(i)}"
                       for k in range(len(levels[0]))]
    constraints = []
    for f, order, name in zip(jets.residuals, orders, names):
        for i in range(N - order + 1):
            if order + i >= 2:
                kept.append(f)
                kept_names.append(f'{name}{apostrophes(i)}')
            f = jets.along(f)
        constraints.append(f)
    equations = dynamic + constraints
    unknown = top + late
    W = jacobian(g, equations, unknown)
    r = [-x for x in substitute(g, equations, dict.fromkeys(unknown, 0))]
    upper = [x for level in levels[1:N] for x in level] + [
        x for level in jets.multipliers[:j] for x in level]
    explicit = [x for level in levels[1:N] for x in level] + [
        x for level in jets.multipliers[1:j] for x in level]
    states = [x for level in levels[:N - 1] for x in level] + [
        x for level in jets.multipliers[:j - 1] for x in level]
    solved = levels[N - 1] + jets.multipliers[j - 1]
    p, n = len(system.u), len(system.q)
    count = n + len(system.masses) + len(states) + len(solved)
    related = len(kept) + len(known['holonomic']) + len(known['velocity'])
    force = [g.dot(row, jets.multipliers[0]) for row in jets.W]
    power = [[g.add(x, g.dot(force, levels[0]))] for x, in known['power']]
    symbol = jets.symbol
    graph = Graph.freeze(g, {
        'rates': (known['rates'] + known['mass_rates']
                  + [[x] for x in explicit], 1),
        'W': (W, len(unknown)), 'r': ([[x] for x in r], 1),
        'upper': ([[x] for x in kept], 1),
        'upper_jacobian': (jacobian(g, kept, upper), len(upper)),
        'A': ([], p), 'b': ([], 1), 'M': (known['M'], p), 'power': (power, 1),
        **{name: (known[name], columns) for name, columns in (
            ('holonomic', 1), ('holonomic_jacobian', n), ('velocity', 1),
            ('velocity_jacobian', p), ('Q', 1), ('energy', 1))}})
    return EquationsOfMotion(
        graph, system.q, system.u,
        system.q + system.masses + tuple(map(symbol, states + solved)),
        tuple(map(symbol, unknown)), (), names,
        when_singular=(
            "The constraints and their reactions do not determine the "
            "highest derivatives there, e.g. where a multiplier vanishes or "
            "two branches of a nonlinear constraint meet."),
        when_incomplete=(
            f"Constraints of order {max(orders)} make accelerations and "
            f"multipliers states. Of the {count} initial values "
            f"{count - related} are free; the others follow from the "
            "equations of motion and the constraints. "
            "`consistent_state(model, guess, constants=..., fixed=..., "
            "fill=0)` finds them; the guess chooses among branches."),
        upper=tuple(map(symbol, upper)), upper_names=tuple(kept_names))


def apostrophes(count):
    """`` differentiated twice`` in one sign each."""
    return "'"*count


class Jets:
    """The constraints and the multiplier equations, and how far they go."""

    def __init__(self, system, rows, orders, lam):
        self.system = system
        self.g, self.known = g, known = system.graph.load()
        _, of_rows = rows.load(g)
        self.W = of_rows['W']
        seeds = dict(zip(
            self.inputs((*system.q, *system.masses)),
            [x for x, in known['rates'] + known['mass_rates']]))
        self.levels = [self.inputs(system.u)]
        self.along = time_derivative(g, seeds)
        top = max(orders) + 1
        for _ in range(top):
            self.levels.append(list(map(self.along, self.levels[-1])))
        self.multipliers = [self.inputs(lam)]
        for _ in range(top):
            self.multipliers.append(
                list(map(self.along, self.multipliers[-1])))
        self.residuals = self.all_residuals()
        self.balance = [
            g.add(g.sub(force, g.dot(row, self.levels[1])),
                  g.dot(action, self.multipliers[0]))
            for row, (force,), action in zip(known['M'], known['Q'], self.W)]
        needed = [max(order - 1, 0) + self.is_nonlinear(row, order)
                  for row, order in zip(of_rows['A'], orders)]
        self.highest = max(2, *needed)
        order = max(i for i, level in enumerate(self.levels)
                    if self.occur(level, self.balance))
        self.differentiations = self.highest - order

    def inputs(self, symbols):
        return [self.g.input(x, dynamic=True) for x in symbols]

    def symbol(self, ref):
        """The SymPy object of an input."""
        return self.g.inputs[self.g.nodes[ref][1]]

    def all_residuals(self):
        """References of the residuals in the order of the rows."""
        g, known = self.g, self.known
        low = [x for x, in known['holonomic']]
        low += [x for x, in known['velocity'][len(low):]]
        accelerations = [
            g.sub(g.dot(row, self.levels[1]), x)
            for row, (x,) in zip(known['A'][len(low):], known['b'][len(low):])]
        return low + accelerations + [x for x, in known['higher']]

    def is_nonlinear(self, row, order):
        """Whether a row of ``A`` depends on what it is a derivative by."""
        return order > 1 and self.occur(self.levels[order - 1], row)

    def occur(self, inputs, refs):
        """Whether any of the inputs occurs in any of the references."""
        return any(self.g.depends_on(x, *inputs) for x in refs)

    def derivative(self, refs, count):
        """Time derivatives of references."""
        for _ in range(count):
            refs = list(map(self.along, refs))
        return refs


def check_gradients(system, report, names, sample):
    """Raise if a higher row has no gradient where it holds."""
    orders = higher_orders(system)
    g, out = system.graph.load(None, ('higher',))
    rows = [x for x, in out['higher']]
    levels = [g.input(x.diff(system.t, i), dynamic=True)
              for i in range(1, max(orders)) for x in system.u]
    symbols = [g.inputs[g.nodes[k][1]] for k in levels]
    tops = [gradient(g, f, [g.bound[x.diff(system.t, order - 1)]
                            for x in system.u])
            for f, order in zip(rows, orders)]
    graph = Graph.freeze(g, {
        'higher': (out['higher'], 1), 'A': (tops, len(system.u)),
        'gradient': (jacobian(g, rows, levels), len(levels))})
    stage = replace(system, graph=graph)
    vanishing = set(range(len(rows)))
    random, met = Random('higher'), False
    with precise():
        for attempt in range(ATTEMPTS):
            values = dict(report.points[attempt % len(report.points)])
            for x in (*graph.inputs, *symbols):
                if x not in values or x in symbols:
                    number = mp.mpf(random.randint(-10**9, 10**9))/10**9
                    values[x] = number*4**(attempt//4)
                    if x in sample:
                        near = sympify(
                            sample[x], strict=True)._to_mpmath(mp.prec)
                        values[x] = near + number*attempt/100
            try:
                before = evaluated(stage, values, ('A',))['A']
                left = settle(stage, values, 'higher', 'gradient', symbols,
                              careful=False)
                after = evaluated(stage, values, ('A',))['A']
            except (ArithmeticError, TypeError):
                continue
            if max(left) > SETTLED:
                continue
            met = True
            vanishing -= {k for k, (x, y) in enumerate(zip(before, after))
                          if norm(y) > DEPENDENT*norm(x)}
            if not vanishing:
                return
    first = len(names) - len(rows)
    if not met:
        raise ConstraintError(
            "No accelerations were found that satisfy "
            f"{', '.join(names[first:])}. They may contradict each other; "
            "correct them, or pass `sample={symbol: number, ...}` with "
            "values near the motion that is meant.")
    raise ConstraintError(
        "There is no gradient, where the constraints hold, of "
        f"{', '.join(names[first + k] for k in sorted(vanishing))}, so it "
        "does not act on the motion. It may be a square: give the factor "
        "that has to vanish.",
        rows=tuple(first + k for k in sorted(vanishing)))
