"""The discrete problem of an optimal motion, and its solution by IPOPT."""
from typing import NamedTuple

import numpy as np
from sympy import sympify

from ..errors import ConstraintError, UnsupportedFeatureError, warn
from ..numeric.compiled import compile_equations
from ..numeric.manifold.consistent_state import consistent_state
from ..numeric.manifold.correction import independent
from ..numeric.names import array, label
from .collocation import Node, interval
from .derivatives import derivatives


# Searches that end without a motion are repeated from guesses with a bend.
ATTEMPTS, BEND = 5, 0.3
# Largest residual of a motion that obeys all conditions.
NEARLY = 1e-6
# Shift times the second derivatives of a constraint; a half is safe for two.
NEAR = 0.5
SOLVED = 'Solve_Succeeded', 'Solved_To_Acceptable_Level'
INFEASIBLE = 'Infeasible_Problem_Detected'
# What casadi makes of Ctrl-C, depending on where it is.
INTERRUPTED = 'NonIpopt_Exception_Thrown', 'User_Requested_Stop'
MESSAGES = {
    **dict.fromkeys(INTERRUPTED, "The search was interrupted."),
    'Maximum_Iterations_Exceeded':
        "The search ended at `max_iterations`. Allow more.",
    INFEASIBLE:
        "No motion near the guess obeys all conditions. Allow more time, "
        "widen bounds, or give another `guess`."}


class Found(NamedTuple):
    """Arrays of the variables, and what is said of them."""

    values: dict
    cost: float
    status: str
    excess: np.ndarray      # of the residuals over their bounds
    iterations: int

    @property
    def success(self):
        return self.status in SOLVED


class Problem:
    """Variables, residuals, bounds and guesses.

    The variables are the end time ``T``, the first state ``x0``, ``X``, ``Z``
    and ``MU`` at all nodes, and controls ``U`` at the ends of intervals.
    """

    def __init__(self, ca, model, times, ends, options, guess):
        """``times``: start, least and greatest end; ``ends``: state -> value
        at both; ``options``: constants and inputs.
        """
        self.ca, self.times, self.options = ca, times, options
        self.model, self.compiled = model, compile_equations(model, **options)
        warn(self.compiled.equations.warning)
        if self.compiled.equations.upper:
            raise UnsupportedFeatureError(
                "Optimal motions are not available where accelerations or "
                "multipliers are states. Give the equations of another "
                "method.")
        self.names = self.compiled.names
        free = np.full(len(self.names), np.nan)
        values = [self.names.vector(part, name, free)
                  for part, name in zip(ends, ('start', 'end'))]
        self.given = [{i: x[i] for i in np.flatnonzero(~np.isnan(x))}
                      for x in values]
        self.guesses = {key: np.atleast_1d(array(values, label(key)))
                        for key, values in guess.items()}
        self.ends = [self._end(place, *part) for place, part in enumerate(
            zip(('start', 'end'), self.given, (times[0], times[2])))]

    def _end(self, place, name, given, t):
        other = self.given[1 - place]
        x = np.array([given.get(i, other.get(i, 0.))
                      for i in range(len(self.names))])
        for key, line in self.guesses.items():
            i = position(self.names, key)
            if i is not None and i not in given:
                x[i] = line[-place]
        held = [self.names.objects[i] for i in given]
        try:
            return consistent_state(self.compiled, x, held, t)
        except ConstraintError as error:
            raise ConstraintError(
                f"`{name}`: {error}", **vars(error)) from None

    def transcribe(self, exported, costs, bounds, intervals, scheme):
        """Make variables and residuals; costs are integrand and final."""
        ca, count = self.ca, len(scheme.c)
        self.intervals, self.scheme = intervals, scheme
        node = Node(ca, exported)
        node.choose(self.times[0], self.ends[0])
        boxes = self._sorted(bounds)
        path = node.expressions(list(boxes['path']))
        cost, final = map(node.expressions, ([x] for x in costs))
        shapes = {'T': (1, 1), 'x0': node.x.shape} | {
            name: (part.numel(), intervals*count) for name, part in (
                ('X', node.x), ('Z', node.z), ('MU', node.constraints))} | {
            'U': (node.r.numel(), intervals + 1)}
        self.variables = {name: ca.MX.sym(name, *shape)
                          for name, shape in shapes.items()}
        T, x0, X, Z, MU, U = self.variables.values()
        h = (T - self.times[0])/intervals
        begins = self.times[0] + h*ca.DM(range(intervals)).T
        starts = ca.horzcat(x0, X[:, count - 1:-1:count])
        self.interval = interval(node, scheme, cost, path)
        polynomials, equations, constraints, integrals, paths = (
            self.interval.map(intervals))(
            begins, starts, ca.repmat(h, 1, intervals), U[:, :-1], U[:, 1:],
            X, Z, MU)
        self.begin = node.function(node.constraints)(
            self.times[0], x0, Z[:, 0], U[:, 0])
        self.final = node.function(final)(T, X[:, -1], Z[:, -1], U[:, -1])
        self.objective = ca.densify(ca.sum2(integrals) + self.final)
        self.residuals = {
            'the collocation': polynomials, 'the equations': equations,
            'the constraints': ca.horzcat(self.begin, constraints),
            'bounds': paths}
        self.limits = self._limits(node, boxes['path'].values())
        self.boxes = self._boxes(node, boxes)

    def _sorted(self, bounds):
        boxes = {'x': {}, 'U': {}, 'path': {}}
        for key, pair in bounds.items():
            try:
                low, high = map(float, pair)
            except (TypeError, ValueError):
                raise ValueError(
                    f"`bounds` of {label(key)} are {pair!r}, which is not a "
                    "pair of numbers. Give two, perhaps `-inf` or `inf`."
                ) from None
            if not low <= high:
                raise ValueError(
                    f"`bounds` of {label(key)} are {low:g} and {high:g}, "
                    "which nothing satisfies. Give the lower one first.")
            state, control = (position(names, key)
                              for names in (self.names, self.controls))
            if state is not None:
                boxes['x'][state] = low, high
            elif control is not None:
                boxes['U'][control] = low, high
            else:
                boxes['path'][sympify(key, strict=True)] = low, high
        return boxes

    def _limits(self, node, pairs):
        """Bounds of the residuals; rows that hold by given ends are free."""
        limits = [np.zeros((2, *x.shape)) for x in self.residuals.values()]
        *_, constraints, path = limits
        for column, given, x, t in zip(
                (0, -1), self.given, self.ends, self.times[::2]):
            free = [i for i in range(len(x)) if i not in given]
            rows = np.delete(np.arange(constraints.shape[1]), independent(
                node.jacobian(t, x), free))
            constraints[:, rows, column] = [[-np.inf], [np.inf]]
        for k, pair in enumerate(pairs):
            path[:, k] = np.reshape(pair, (2, 1))
        return list(map(flat, zip(*limits)))

    def _boxes(self, node, boxes):
        box = {name: np.multiply.outer([-np.inf, np.inf], np.ones(x.shape))
               for name, x in self.variables.items()}
        box['T'][:, 0, 0] = self.times[1:]
        box['MU'][:] = np.multiply.outer([-1, 1], self._reach(node))
        for name, rows in (('x0', 'x'), ('X', 'x'), ('U', 'U')):
            for i, pair in boxes[rows].items():
                box[name][:, i] = np.reshape(pair, (2, 1))
        for name, place, given in zip(
                ('x0', 'X'), ('start', 'end'), self.given):
            for i, value in given.items():
                bound = np.clip(value, *box[name][:, i, -1])
                if bound != value:
                    raise ValueError(
                        f"The {place} of {self.names.labels[i]} is "
                        f"{value:g}, beyond its bound {bound:g}. Change one "
                        "of them.")
                box[name][:, i, -1] = value
        return list(map(flat, zip(*box.values())))

    def _reach(self, node):
        r"""Bounds of the shifts :math:`\mu`, so that no motion jumps.

        A point of the constraints at :math:`D^T\mu` from a given one is the
        nearest if :math:`1 - \sum_k\mu_k\nabla^2 c_k` is positive definite.
        """
        ca, states = self.ca, len(self.names)
        bends = node.function(ca.vertcat(*(
            ca.norm_fro(ca.hessian(row, node.x)[0])
            for row in ca.vertsplit(node.constraints))))
        x = self.guess(0)[1:1 + states*(1 + len(self.scheme.c)*self.intervals)]
        x = x.reshape(-1, states).T
        largest = bends.map(x.shape[1])(self.times[0], x, 0, 0).full().max(1)
        with np.errstate(divide='ignore'):
            return NEAR/largest[:, None]

    def guess(self, attempt):
        """Values of the variables; later attempts bend the lines of states."""
        guess = {name: np.zeros(x.shape) for name, x in self.variables.items()}
        least, most = self.times[1:]
        guess['T'][:] = np.sqrt(least*most) if least > 0 else (least + most)/2
        places = self.places(0., 1.)
        random = np.random.default_rng(attempt)
        lines = {i: np.array(pair) for i, pair in enumerate(zip(*self.ends))}
        for key, line in self.guesses.items():
            i = position(self.names, key)
            if i is not None:
                lines[i] = line
            else:
                guess['U'][self.controls.index(key)] = along(
                    line, np.linspace(0., 1., self.intervals + 1))
        for i, line in lines.items():
            values = along(line, places)
            if attempt:
                values += (BEND*max(np.ptp(line), 1.)*random.normal()
                           * np.sin(np.pi*places))
            guess['x0'][i], guess['X'][i] = values[0], values[1:]
        return flat(guess.values())

    def places(self, begin, end):
        breaks = np.linspace(begin, end, self.intervals + 1)
        inside = breaks[:-1, None] + np.outer(np.diff(breaks), self.scheme.c)
        inside[:, -1] = breaks[1:]
        return np.append(begin, inside)

    def excess(self, residuals):
        low, high = self.limits
        return np.maximum(0., np.maximum(low - residuals, residuals - high))

    def solve(self, tolerance, max_iterations, progress) -> Found:
        """The best values; the last ones if Ctrl-C ends the search."""
        ca, parts = self.ca, list(self.variables.values())
        w = ca.vertcat(*map(ca.vec, parts))
        g = ca.vertcat(*map(ca.vec, self.residuals.values()))
        last = last_iterate(
            ca, w.numel(), g.numel(), lambda count, residuals: progress.update(
                count, f'  infeasibility {self.excess(residuals).max():.1e}'))
        solver = ca.nlpsol('optimal_motion', 'ipopt', {
            'x': w, 'f': self.objective, 'g': g}, {
            **derivatives(self, w, g), 'print_time': False,
            'ipopt.print_level': 0, 'ipopt.sb': 'yes',
            'ipopt.tol': tolerance, 'ipopt.max_iter': max_iterations,
            'ipopt.mu_strategy': 'adaptive',
            # Rows may depend on each other; without this searches get stuck.
            'ipopt.perturb_always_cd': 'yes',
            'ipopt.jacobian_regularization_value': 1e-9,
            'iteration_callback': last})
        lbg, ubg = self.limits
        shifts = flat(np.full(x.shape, name == 'MU')
                      for name, x in self.variables.items())
        # Bounds of the shifts make steps short, and are rarely needed.
        loose = [np.where(shifts, side, box)
                 for side, box in zip((-np.inf, np.inf), self.boxes)]
        for attempt in range(ATTEMPTS):
            for low, high in (loose, self.boxes):
                last.x = np.clip(self.guess(attempt), low, high)
                found = solver(x0=last.x, lbx=low, ubx=high, lbg=lbg, ubg=ubg)
                status = solver.stats()['return_status']
                if status in INTERRUPTED:
                    break
                last.x = found['x'].full().ravel()
                if (np.abs(last.x) <= self.boxes[1])[shifts].all():
                    break
            if status != INFEASIBLE:
                break
        *values, cost, rest = (x.full() for x in ca.Function(
            'result', [w], [*parts, self.objective, g])(last.x))
        return Found(dict(zip(self.variables, values)), float(cost[0, 0]),
                     status, self.excess(rest.ravel()), last.count)

    def message(self, found):
        """What the solver says, and where the largest residual is."""
        if found.success:
            return "The cost is least among its neighbours."
        text = MESSAGES.get(found.status, f"IPOPT ended with {found.status}.")
        worst = int(np.argmax(found.excess))
        if found.excess[worst] <= NEARLY:
            return (f"{text} The motion obeys all conditions, but its cost "
                    "may not be least.")
        begin, place = self.times[0], worst
        for name, part in self.residuals.items():
            if place < part.numel():
                break
            place -= part.numel()
        share = (place//part.shape[0] + 1)/part.shape[1]
        t = begin + (found.values['T'][0, 0] - begin)*share
        return (f"{text} The largest violation is {found.excess[worst]:.2g}, "
                f"of {name}, near t = {t:.3g}.")


def flat(arrays):
    return np.concatenate([x.ravel('F') for x in arrays])


def along(values, places):
    """Values at equal distances, interpolated at places between 0 and 1."""
    return np.interp(places, np.linspace(0., 1., len(values)), values)


def position(names, key):
    try:
        return names.index(key)
    except KeyError:
        return None


def last_iterate(ca, size, residuals, show):
    """A callback of casadi that keeps the last iterate and ``show``s them."""
    sizes = {'f': 1, 'x': size, 'lam_x': size, 'g': residuals,
             'lam_g': residuals, 'lam_p': 0}
    place = ca.nlpsol_out().index('g')

    class Last(ca.Callback):
        def __init__(self):
            ca.Callback.__init__(self)
            self.x, self.count = None, 0
            self.construct('last', {})

        def get_n_in(self):
            return ca.nlpsol_n_out()

        def get_sparsity_in(self, i):
            return ca.Sparsity.dense(sizes[ca.nlpsol_out(i)])

        def eval(self, values):
            self.x, self.count = values[0].full().ravel(), self.count + 1
            show(self.count, values[place].full().ravel())
            return [0]

    return Last()
