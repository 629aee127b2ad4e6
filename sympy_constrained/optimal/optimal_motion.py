"""Motions between given states with the least cost."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from warnings import warn

import numpy as np
from sympy import Derivative, sympify

from ..errors import ConstrainedDynamicsError, UnsupportedFeatureError
from ..interop.exported import Exported, library
from ..numeric.compiled import CompiledEquations, compile_equations
from ..numeric.integrate.records import Records
from ..numeric.integrate.simulate import simulate, time_span
from ..numeric.linear.rank_changes import CarriedRank
from ..numeric.manifold.consistent_state import consistent_state
from ..numeric.names import Names, array, label, number
from ..numeric.table import Table
from ..numeric.trajectory import Reason, Trajectory
from .collocation import Node, independent, interval, radau

__all__ = ['OptimalMotion', 'optimal_motion']

# Residuals below this leave a problem solved to less than its tolerance.
NEARLY = 1e-6
# Searches from a guess without success are repeated from bent ones.
ATTEMPTS, BEND = 5, 0.3
INTERRUPTED = 'User_Requested_Stop'
INFEASIBLE = 'Infeasible_Problem_Detected'
SOLVED = 'Solve_Succeeded', 'Solved_To_Acceptable_Level'
GROUPS = 'the polynomials', 'the equations of motion', 'the constraints'


@dataclass(frozen=True, eq=False)
class OptimalMotion:
    """The result of :func:`optimal_motion`; ``result[q]`` is a history.

    Attributes
    ==========

    motion : Trajectory
        At the ends and nodes of all intervals.
    controls : dict
        Control -> :class:`.Table`, a polygon over the intervals.
    cost : float
    equations : CompiledEquations
        With these controls as inputs.
    success : bool
        Whether the motion obeys the equations and the cost is least nearby.
    message : str
    violation : float
        The largest residual of the discrete problem.
    iterations : int

    """

    motion: Trajectory
    controls: dict
    cost: float
    equations: CompiledEquations
    success: bool
    message: str
    violation: float
    iterations: int

    def __getitem__(self, key) -> np.ndarray:
        """History of a state, multiplier or control at ``motion.t``."""
        names = Names(tuple(self.controls), 'control')
        try:
            table = self.controls[names.objects[names.index(key)]]
        except KeyError:
            return self.motion[key]
        return np.array([table(t) for t in self.motion.t])

    def __repr__(self):
        t = self.motion.t
        return (f'<OptimalMotion from {t[0]:g} to {t[-1]:g}, cost '
                f'{self.cost:.6g}: {self.message}>')

    @property
    def breaks(self):
        """Ends of the intervals."""
        return next(iter(self.controls.values())).times

    @cached_property
    def error(self) -> float:
        """Largest difference of a state from a simulation of its interval."""
        where = np.searchsorted(self.motion.t, self.breaks)
        worst = 0.
        for i, j in zip(where, where[1:]):
            run = simulate(
                self.equations, self.motion.t[[i, j]], self.motion.x[i],
                rtol=1e-10, atol=1e-12)
            worst = max(worst, np.abs(run.x[-1] - self.motion.x[j]).max())
        return float(worst)


def optimal_motion(model, cost, t_span, start, end, controls, *, bounds=None,
                   final_cost=0, constants=None, inputs=None, guess=None,
                   intervals=40, nodes=3, tolerance=1e-8,
                   max_iterations=1000) -> OptimalMotion:
    r"""Find controls that bring a model from one state to another at least cost.

    Explanation
    ===========

    Minimizes :math:`\int_{t_0}^{t_1} L\, dt + K(t_1)` by direct collocation
    of second order with multipliers; see :mod:`.collocation` for the scheme.
    IPOPT, which comes with casadi, solves the discrete problem with exact
    first and second derivatives. Controls are polygons, so bounds on them
    hold at all times; other bounds hold at the nodes.

    The result is least among its neighbours. Which one is found depends on
    the ``guess``.

    Examples
    ========

    ::

        best = optimal_motion(
            method, force**2, 2, {x: 0, theta: 0, v: 0, omega: 0},
            {x: 1, theta: pi, v: 0, omega: 0}, [force],
            bounds={force: (-20, 20), x: (-2, 2)}, constants=values)
        best.cost, best['theta'], best.controls[force]
        simulate(best.equations, 2, best.motion.x[0])

    The shortest time, between 1 and 10 s:
    ``optimal_motion(method, 1, (0, (1, 10)), ...)``.

    Parameters
    ==========

    model : a method or EquationsOfMotion
    cost : expression
        Integrand :math:`L` of states, accelerations, multipliers, controls,
        constants and time.
    t_span : float or pair
        The end time, or start and end time. A pair in place of the end time
        bounds it: it is free.
    start, end : mapping
        State -> value, for those that are given. The constraints have to
        allow them.
    controls : sequence
        Specified functions of the equations.
    bounds : mapping, optional
        State, control or expression as for ``cost`` -> pair of bounds.
    final_cost : expression, optional
        :math:`K`, of states and time at the end.
    constants, inputs : mapping
        As for :func:`.compile_equations`; inputs are expressions.
    guess : mapping, optional
        State or control -> values at equal distances in time. Without it a
        state goes straight from start to end, and controls are zero. The
        states of an earlier result: ``dict(zip(motion.states, motion.at(
        times).T))``.
    intervals : int
    nodes : int
        In each interval; the error is of order ``2*nodes - 1`` in its length.
    tolerance : float
        Of the solver.
    max_iterations : int

    Returns
    =======

    OptimalMotion
        The best motion up to now if Ctrl-C ends the search or it fails, with
        ``success=False`` and a warning with the reason.

    Raises
    ======

    ConstraintError
        If start or end contradict the constraints.
    ValueError
        If names are unknown, or bounds exclude the start, the end or
        everything.
    UnsupportedFeatureError
        If rates of controls are in the equations.
    MissingIngredientError
        If casadi is not installed, or inputs have no values.

    """
    ca = library('casadi', 'casadi')
    problem = Problem(ca, model, controls, constants, inputs, t_span)
    problem.ends(start, end, guess or {})
    problem.transcribe(cost, final_cost, bounds or {}, intervals, nodes)
    return problem.solve(tolerance, max_iterations)


class Problem:
    """The discrete problem, in the order of its making."""

    def __init__(self, ca, model, controls, constants, inputs, t_span):
        self.ca, self.times = ca, end_times(t_span)
        inputs = dict(inputs or {})
        self.compiled = compile_equations(
            model, constants, {**inputs, **dict.fromkeys(controls, 0)})
        equations = self.compiled.equations
        if equations.upper:
            raise UnsupportedFeatureError(
                "Optimal motions are not available where accelerations or "
                "multipliers are states.")
        self.model, self.constants, self.inputs = model, constants, inputs
        self.names = self.compiled.names
        self.t = equations.t

    def ends(self, start, end, guess):
        """Consistent states at both ends, and a guess between them."""
        states, count = self.compiled.states, len(self.names)
        self.given = [
            {self.names.index(key): number(value)
             for key, value in part.items()} for part in (start, end)]
        low, high = self.given
        lines = {i: np.array([low.get(i, high.get(i, 0.)),
                              high.get(i, low.get(i, 0.))])
                 for i in range(count)}
        self.shown = {}                 # controls
        for key, values in guess.items():
            values = np.atleast_1d(array(values, label(key)))
            place = position(self.names, key)
            if place is not None:
                lines[place] = values
            else:
                self.shown[key] = values
        self.states = []
        for part, place, at in zip(self.given, (0, -1), self.times[::2]):
            x = np.array([part.get(i, lines[i][place])
                          for i in range(count)])
            self.states.append(consistent_state(
                self.compiled, x, [states[i] for i in part], at))
        for i, line in lines.items():
            if len(line) == 2:
                lines[i] = np.array([x[i] for x in self.states])
        self.lines = lines

    def transcribe(self, cost, final_cost, bounds, intervals, nodes):
        """Variables, residuals and their bounds."""
        ca, times = self.ca, self.times
        exported = Exported.of(
            self.model, times[0], self.states[0], self.constants, self.inputs)
        self.controls = Names(exported.free, 'control')
        for f in exported.free:
            if isinstance(f, Derivative):
                raise UnsupportedFeatureError(
                    f"The equations contain the rate {label(f)} of a "
                    "control. Make the function a coordinate, and the force "
                    "that moves it the control.")
        self.scheme, self.count = radau(nodes), intervals
        node = Node(ca, exported)
        node.choose(times[0], self.states[0])
        boxes, path = self.boxes(bounds)
        cost = node.expressions([sympify(cost)])
        final = ca.Function('final', [node.t, node.x, node.z, node.r], [
            node.expressions([sympify(final_cost)])])
        step = interval(node, self.scheme, cost, node.expressions(
            [expr for expr, _ in path])).map(intervals)
        total = intervals*nodes
        self.variables = {
            'T': ca.MX.sym('T'), 'x0': ca.MX.sym('x0', node.x.numel()),
            'X': ca.MX.sym('X', node.x.numel(), total),
            'Z': ca.MX.sym('Z', node.z.numel(), total),
            'MU': ca.MX.sym('MU', node.constraints.numel(), total),
            'U': ca.MX.sym('U', node.r.numel(), intervals + 1)}
        T, x0, X, Z, MU, U = self.variables.values()
        h = (T - times[0])/intervals
        begins = times[0] + h*ca.DM(range(intervals)).T
        starts = ca.horzcat(x0, X[:, nodes - 1:total - 1:nodes])
        polynomials, equations, constraints, costs, paths = step(
            begins, starts, ca.repmat(h, 1, intervals), U[:, :-1], U[:, 1:],
            X, Z, MU)
        first = ca.Function('first', [node.t, node.x, node.r], [
            node.constraints])(times[0], x0, U[:, 0])
        self.residuals = [polynomials, equations, ca.horzcat(
            first, constraints), paths]
        self.objective = ca.sum2(costs) + final(
            T, X[:, -1], Z[:, -1], U[:, -1])
        wide = np.zeros(constraints.shape[0])
        limits = [[np.zeros(part.shape) for part in self.residuals[:3]] + [
            np.tile(np.array([pair[k] for _, pair in path])[:, None],
                    total)] for k in (0, 1)]
        for k, place in enumerate((0, -1)):
            free = [i for i in range(len(self.names))
                    if i not in self.given[k]]
            rows = node.jacobian(times[::2][k], self.states[k])
            kept = independent(rows[:, free])
            for sign, limit in zip((-1, 1), limits):
                limit[2][:, place] = sign*np.inf
                limit[2][kept, place] = 0.
        self.limits, self.paths = limits, [expr for expr, _ in path]
        self.set_bounds(boxes)

    def boxes(self, bounds):
        """Name of a variable -> row -> pair of bounds; other expressions."""
        boxes, path = {'x': {}, 'U': {}}, []
        for key, pair in bounds.items():
            low, high = map(float, pair)
            if not low <= high:
                raise ValueError(
                    f"`bounds` of {label(key)} are {low:g} and {high:g}, "
                    "which nothing satisfies. Give the lower one first.")
            for name, names in (('x', self.names), ('U', self.controls)):
                place = position(names, key)
                if place is not None:
                    boxes[name][place] = low, high
                    break
            else:
                path.append((sympify(key), (low, high)))
        return boxes, path

    def set_bounds(self, boxes):
        """Bounds of the variables, and where the search begins."""
        shapes = {name: x.shape for name, x in self.variables.items()}
        low, high = ({name: np.full(shape, sign*np.inf)
                      for name, shape in shapes.items()} for sign in (-1, 1))
        low['T'][:], high['T'][:] = self.times[1:]
        for name, rows in (('x0', 'x'), ('X', 'x'), ('U', 'U')):
            for i, (least, most) in boxes[rows].items():
                low[name][i], high[name][i] = least, most
        for part, name, place in zip(
                self.given, ('x0', 'X'), ('start', 'end')):
            for i, value in part.items():
                if not low[name][i, -1] <= value <= high[name][i, -1]:
                    raise ValueError(
                        f"The {place} of {self.names.labels[i]} is {value:g}, "
                        "outside its `bounds`. Change one of them.")
                low[name][i, -1] = high[name][i, -1] = value
        self.boxes_of_all = low, high

    def guess(self, attempt):
        """Values of the variables; later attempts leave the straight line."""
        guess = {name: np.zeros(x.shape) for name, x in self.variables.items()}
        guess['T'][:] = np.sqrt(self.times[1]*self.times[2]) if (
            self.times[1] > 0) else np.mean(self.times[1:])
        places = np.append(0., (np.arange(self.count)[:, None]
                                + self.scheme.c).ravel()/self.count)
        random = np.random.default_rng(attempt)
        for i, line in self.lines.items():
            values = np.interp(places, np.linspace(0, 1, len(line)), line)
            if attempt:
                values += BEND*max(np.ptp(line), 1.)*random.normal()*np.sin(
                    np.pi*places)
            guess['x0'][i], guess['X'][i] = values[0], values[1:]
        for key, line in self.shown.items():
            guess['U'][self.controls.index(key)] = np.interp(
                np.linspace(0, 1, self.count + 1),
                np.linspace(0, 1, len(line)), line)
        return guess

    def solve(self, tolerance, max_iterations):
        """The best motion, with the reason if it is none."""
        ca = self.ca
        names = tuple(self.variables)
        w = ca.vertcat(*map(ca.vec, self.variables.values()))
        g = ca.vertcat(*map(ca.vec, self.residuals))
        last = last_iterate(ca, w.numel(), g.numel())
        solver = ca.nlpsol('optimal_motion', 'ipopt', {
            'x': w, 'f': self.objective, 'g': g}, {
            'print_time': False, 'ipopt.print_level': 0, 'ipopt.sb': 'yes',
            'ipopt.tol': tolerance, 'ipopt.max_iter': max_iterations,
            'iteration_callback': last})

        def flat(parts):
            return np.concatenate([parts[name].ravel('F') for name in names])

        lbg, ubg = (np.concatenate([part.ravel('F') for part in parts])
                    for parts in self.limits)
        begin, (low, high) = perf_counter(), map(flat, self.boxes_of_all)
        try:
            for attempt in range(ATTEMPTS):
                found = solver(
                    x0=np.clip(flat(self.guess(attempt)), low, high), lbx=low,
                    ubx=high, lbg=lbg, ubg=ubg)['x'].full().ravel()
                status = solver.stats()['return_status']
                if status != INFEASIBLE:
                    break
        except KeyboardInterrupt:
            found, status = last.x, INTERRUPTED
        values = dict(zip(names, ca.Function('parts', [w], list(
            self.variables.values()))(found)))
        values = {name: value.full() for name, value in values.items()}
        cost, rest = (part.full().ravel() for part in ca.Function(
            'rest', [w], [self.objective, g])(found))
        excess = np.maximum(np.maximum(lbg - rest, rest - ubg), 0.)
        message = self.message(status, excess, values['T'][0, 0])
        success = status in SOLVED
        if not success:
            warn(message, stacklevel=3)
        return self.result(
            values, cost=float(cost[0]), success=success, message=message,
            violation=float(excess.max(initial=0.)), iterations=last.count,
            seconds=perf_counter() - begin)

    def message(self, status, excess, end):
        """What the solver says, and where the largest residual is."""
        if status in SOLVED:
            return "The least cost nearby was found."
        text = {INTERRUPTED: "The search was interrupted.",
                'Maximum_Iterations_Exceeded':
                    "The search needs more than `max_iterations`.",
                INFEASIBLE:
                    "No motion near the guess obeys all conditions."}.get(
            status, f"IPOPT ended with {status}.")
        worst, start = int(np.argmax(excess)), 0
        if excess[worst] <= NEARLY:
            return text + " The motion obeys all conditions; its cost may " \
                "not be the least."
        for k, part in enumerate(self.residuals):
            if worst < start + part.numel():
                row, column = (worst - start) % part.shape[0], (
                    worst - start)//part.shape[0]
                what = GROUPS[k] if k < 3 else f"the bound of {label(self.paths[row])}"
                begin = self.times[0]
                at = begin + (end - begin)*(column + 1)/part.shape[1]
                return (
                    f"{text} Up to now the largest violation is "
                    f"{excess[worst]:.2g}, of {what}, near t = {at:.3g}. "
                    "Allow more time, widen bounds, or give another `guess`.")
            start += part.numel()

    def result(self, values, seconds, **fields):
        """Arrays at all nodes, as a trajectory."""
        T, X, U = values['T'][0, 0], values['X'], values['U']
        begin = self.times[0]
        breaks = np.linspace(begin, T, self.count + 1)
        h = (T - begin)/self.count
        t = np.append(begin, (breaks[:-1, None] + h*self.scheme.c).ravel())
        t[len(self.scheme.c)::len(self.scheme.c)] = breaks[1:]
        x = np.vstack([values['x0'].T, X.T])
        controls = {f: Table(breaks, row, 'linear')
                    for f, row in zip(self.controls.objects, U)}
        compiled = compile_equations(
            self.model, self.constants, {**self.inputs, **controls})
        records = Records(compiled, CarriedRank(compiled, begin, x[0]), False)
        records.add(t, x, np.zeros(len(t), bool))
        reason = Reason.END if fields['success'] else (
            Reason.OFF_CONSTRAINTS)
        motion = replace(
            records.trajectory(reason=reason, message=fields['message'],
                               statistics={'seconds': seconds}), work=None)
        return OptimalMotion(motion, controls, equations=compiled, **fields)


def last_iterate(ca, size, residuals):
    """A callback of casadi that keeps the last iterate ``x`` and a count."""
    class Last(ca.Callback):
        def __init__(self):
            ca.Callback.__init__(self)
            self.count = 0
            self.x = np.zeros(size)
            self.construct('last', {})

        def get_n_in(self):
            return ca.nlpsol_n_out()

        def get_n_out(self):
            return 1

        def get_sparsity_in(self, i):
            name = ca.nlpsol_out(i)
            return ca.Sparsity.dense(
                1 if name == 'f' else size if name in ('x', 'lam_x') else
                residuals if name in ('g', 'lam_g') else 0)

        def eval(self, values):
            self.x, self.count = values[0].full().ravel(), self.count + 1
            return [0]

    return Last()


def position(names, key):
    """Index of a name, None without it."""
    try:
        return names.index(key)
    except KeyError:
        return None


def end_times(t_span):
    """Start, and least and largest end time."""
    if not np.iterable(t_span) or not any(map(np.iterable, t_span)):
        begin, end = time_span(t_span)
        return begin, end, end
    begin, (low, high) = number(t_span[0]), map(number, t_span[1])
    if not begin < low <= high:
        raise ValueError(
            f"The end time between {low:g} and {high:g} is not after the "
            f"start {begin:g}. Give increasing times.")
    return begin, low, high
