r"""Equations with constraints nonlinear in ``u'``, or of an order above 2.

The multiplier equations :math:`E + A^T\lambda = 0` and the constraints are
differentiated until they are linear in the highest derivatives; see
:meth:`.GibbsAppellMethod.equations`.
"""
from dataclasses import replace
from random import Random

from mpmath import mp
from sympy import Derivative, sympify

from ...analysis.consistent_points import (
    DEPENDENT, evaluated, norm, settle, settled)
from ...errors import ConstraintError, MissingIngredientError
from ...graph import (
    GraphMatrix, gradient, jacobian, substitute, time_derivative)
from ...graph.linalg import solve
from ...model.equations import EquationsOfMotion
from ...precision import precise
from ..references import flat, frozen, inputs

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


def higher_equations(system, directions, orders, names, lam):
    """Return the :class:`.EquationsOfMotion`.

    ``directions`` holds ``A`` (m, p) and ``W`` (p, m) of all constraints.
    """
    jets = Jets(system, directions, orders, lam)
    g, known, N, j = jets.g, jets.known, jets.highest, jets.differentiations
    levels, multipliers = jets.levels, jets.multipliers
    lower, lower_names = jets.lower_balance()
    constraints, kept, kept_names = jets.highest_constraints(names)
    kept, kept_names = lower + kept, lower_names + kept_names

    equations = jets.derivative(jets.balance, j) + constraints
    unknown = levels[N] + multipliers[j]
    W = jacobian(g, equations, unknown)
    r = [-x for x in substitute(g, equations, dict.fromkeys(unknown, 0))]
    explicit = sum(levels[1:N] + multipliers[1:j], [])
    upper = sum(levels[1:N] + multipliers[:j], [])
    states = sum(levels[:N - 1] + multipliers[:j - 1]
                 + [levels[N - 1], multipliers[j - 1]], [])
    graph = frozen(
        g, rates=flat(known['rates'] + known['mass_rates']) + explicit,
        W=GraphMatrix(g, W), r=r, upper=kept, upper_jacobian=GraphMatrix(
            g, jacobian(g, kept, upper), len(upper)),
        A=GraphMatrix(g, [], len(system.u)), b=[], **{
            name: GraphMatrix(g, known[name], system.graph.outputs[name][1])
            for name in ('holonomic', 'holonomic_jacobian', 'velocity',
                         'velocity_jacobian', 'M', 'Q', 'energy', 'power')})
    symbol = jets.symbol
    count = len(system.q) + len(system.masses) + len(states)
    related = len(kept) + len(known['holonomic']) + len(known['velocity'])
    return EquationsOfMotion(
        graph, system.q, system.u,
        system.q + system.masses + tuple(map(symbol, states)),
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


def highest_derivatives(equations, directions, lam, accelerations):
    """Graph of the highest derivatives, and of reactions by the states."""
    g, rows = directions.load(None, ('W',))
    _, out = equations.graph.load(g, ('W', 'r'))
    highest = solve(g, out['W'], flat(out['r']))
    if highest is None:
        raise MissingIngredientError(
            "The equations of the highest derivatives are singular for all "
            "states: the constraints do not determine a motion with such "
            "reactions. Read `equations_of_motion`.")
    lam, accelerations = inputs(g, lam), inputs(g, accelerations)
    return frozen(
        g, highest=highest, acceleration=accelerations, multipliers=lam,
        constraint_forces=[g.dot(row, lam) for row in rows['W']])


class Jets:
    """The constraints and the multiplier equations with their derivatives.

    ``levels`` and ``multipliers`` hold speeds and multipliers and their
    derivatives, by order. The constraints are linear in ``levels[highest]``;
    the multiplier equations are differentiated ``differentiations`` times.
    """

    def __init__(self, system, directions, orders, lam):
        self.g, self.known = g, known = system.graph.load()
        _, out = directions.load(g)
        self.W, self.orders = out['W'], orders
        self.along = time_derivative(g, dict(zip(
            inputs(g, (*system.q, *system.masses)),
            flat(known['rates'] + known['mass_rates']))))
        self.levels, self.multipliers = (
            self.derivatives(inputs(g, x), max(orders) + 1)
            for x in (system.u, lam))
        self.residuals = self.all_residuals()
        self.balance = [
            g.add(g.sub(force, g.dot(row, self.levels[1])),
                  g.dot(action, self.multipliers[0]))
            for row, (force,), action in zip(known['M'], known['Q'], self.W)]
        self.highest = max(2, *(
            max(order - 1, 0) + self.is_nonlinear(row, order)
            for row, order in zip(out['A'], orders)))
        self.differentiations = self.highest - max(
            i for i, level in enumerate(self.levels)
            if self.occur(level, self.balance))

    def lower_balance(self):
        """Multiplier equations before the last differentiation, named."""
        refs, names = [], []
        for i in range(self.differentiations):
            refs += self.derivative(self.balance, i)
            names += [f'dynamic equation {k}' + "'"*i
                      for k in range(len(self.balance))]
        return refs, names

    def highest_constraints(self, names):
        """Constraints that contain ``levels[highest]``, and those before them.

        The latter from order 2, with their names.
        """
        top, lower, lower_names = [], [], []
        for f, order, name in zip(self.residuals, self.orders, names):
            for i in range(self.highest - order + 1):
                if order + i >= 2:
                    lower.append(f)
                    lower_names.append(name + "'"*i)
                f = self.along(f)
            top.append(f)
        return top, lower, lower_names

    def symbol(self, ref):
        return self.g.inputs[self.g.nodes[ref][1]]

    def all_residuals(self):
        g, known = self.g, self.known
        low = flat(known['holonomic'])
        low += flat(known['velocity'][len(low):])
        accelerations = [
            g.sub(g.dot(row, self.levels[1]), x)
            for row, (x,) in zip(known['A'][len(low):], known['b'][len(low):])]
        return low + accelerations + flat(known['higher'])

    def is_nonlinear(self, row, order):
        """Whether a row of ``A`` depends on what it is a derivative by."""
        return order > 1 and self.occur(self.levels[order - 1], row)

    def occur(self, inputs, refs):
        return any(self.g.depends_on(x, *inputs) for x in refs)

    def derivatives(self, refs, count):
        levels = [refs]
        for _ in range(count):
            levels.append(list(map(self.along, levels[-1])))
        return levels

    def derivative(self, refs, count):
        return self.derivatives(refs, count)[-1]


class GradientCheck:
    """States on the ``higher_rows``, and their gradients there."""

    def __init__(self, system, sample):
        self.sample = sample
        orders = higher_orders(system)
        g, out = system.graph.load(None, ('higher',))
        rows = flat(out['higher'])
        levels = inputs(g, [x.diff(system.t, i) for i in range(
            1, max(orders)) for x in system.u])
        self.symbols = [g.inputs[g.nodes[k][1]] for k in levels]
        tops = [gradient(g, f, [g.bound[x.diff(system.t, order - 1)]
                                for x in system.u])
                for f, order in zip(rows, orders)]
        self.graph = frozen(
            g, higher=rows, A=GraphMatrix(g, tops, len(system.u)),
            gradient=GraphMatrix(g, jacobian(g, rows, levels)))
        self.stage = replace(system, graph=self.graph)

    def start(self, values, random, attempt):
        """A state with random higher derivatives, near the sample."""
        values = dict(values)
        for x in (*self.graph.inputs, *self.symbols):
            if x in values and x not in self.symbols:
                continue
            number = mp.mpf(random.randint(-10**9, 10**9))/10**9
            values[x] = number*4**(attempt//4)
            if x in self.sample:
                near = sympify(self.sample[x], strict=True)
                values[x] = near._to_mpmath(mp.prec) + number*attempt/100
        return values

    def regular_rows(self, values):
        """Rows with a gradient after moving onto them; None if not reached."""
        try:
            before = evaluated(self.stage, values, ('A',))['A']
            left = settle(self.stage, values, 'higher', 'gradient',
                          self.symbols, careful=False)
            after = evaluated(self.stage, values, ('A',))['A']
        except (ArithmeticError, TypeError):
            return None
        return None if max(left) > settled() else {
            k for k, (x, y) in enumerate(zip(before, after))
            if norm(y) > DEPENDENT*norm(x)}


def check_gradients(system, report, names, sample):
    """Raise if a higher row has no gradient where it holds."""
    check, random = GradientCheck(system, sample), Random('higher')
    count = len(system.higher_rows)
    names, first = names[-count:], len(names) - count
    regular, reached = set(), False
    with precise():
        for attempt in range(ATTEMPTS):
            rows = check.regular_rows(check.start(
                report.points[attempt % len(report.points)], random, attempt))
            reached = reached or rows is not None
            regular |= rows or set()
            if len(regular) == count:
                return
    if not reached:
        raise ConstraintError(
            f"No accelerations were found that satisfy {', '.join(names)}. "
            "They may contradict each other; correct them, or pass "
            "`sample={symbol: number, ...}` with values near the motion "
            "that is meant.")
    vanishing = sorted({*range(count)} - regular)
    raise ConstraintError(
        f"{', '.join(names[k] for k in vanishing)} "
        f"ha{'s' if len(vanishing) == 1 else 've'} no gradient where the "
        "constraints hold, and no effect on the motion. It may be a "
        "square: give the factor that has to vanish.",
        rows=tuple(first + k for k in vanishing))
