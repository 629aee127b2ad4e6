"""Blocks of ordinary steps, made in a compiled loop and checked at once.

A block ends before a step that is not ordinary: the integrator makes that step
in Python, and the next block follows.
"""
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from scipy.integrate import DOP853, RK23, RK45

from ...errors import ConstrainedDynamicsError
from ...graph import Graph
from ..manifold.correction import newton_code
from .dense_output import Interpolant
from .events import PARTS
from .rodas import Rodas5P


# Steps in the first block if events may end it, in any, and numbers in its
# states. A block is twice as long as the number of steps that were accepted of
# the last one.
FIRST, LONGEST, NUMBERS = 256, 4096, 2**17
# Steps in Python after a block without steps; twice as many after each more.
PAUSE = 4


class Block(NamedTuple):
    """Steps, from the state 0, and the outputs between them."""

    t: np.ndarray               # (steps + 1,)
    y: np.ndarray               # (steps + 1, n)
    rates: np.ndarray
    drift: np.ndarray           # relative distances from the constraints
    outputs: np.ndarray         # (outputs, n)
    following: float            # size of the next step
    evaluations: int
    path: object                # number of a step -> its interpolant
    is_full: bool               # whether the next step may be ordinary
    stages: object = None       # (steps, stages, n), None if not kept


class Start:
    """Where an integrator starts, until it makes a step in Python.

    Its attributes are those of SciPy's integrators that blocks change.
    """

    status, f, h_abs, nfev = 'running', np.nan, 0., 0

    def __init__(self, method, fun, t, y, t_bound, **options):
        self.method, self.fun, self.options = method, fun, options
        self.t, self.y, self.t_bound = t, y, t_bound

    def integrator(self):
        left = abs(self.t_bound - self.t)
        return self.method(
            self.fun, self.t, self.y, self.t_bound,
            first_step=min(self.h_abs, left) or None, **self.options)


class Blocks:
    """The compiled loop for one run by a one-step method."""

    methods = DOP853, RK45, RK23, Rodas5P
    function = 'make_steps'             # of the loop

    def __init__(self, run, method, **options):
        from . import loop
        self.loop, self.run, self.options = loop, run, options
        self.tableau = loop.tableau_of(method)
        run.rank.solve_each = loop.solve_each
        self.longest = min(max(
            NUMBERS//len(run.rates.begin), FIRST), LONGEST)
        self.length = FIRST if run.events else self.longest
        self.pause, self.waiting = PAUSE, 0
        self._code = None, None, None   # a solver, and its machine code
        self.between = np.empty((3, 0))  # pieces of the last block

    @classmethod
    def apply_to(cls, run, method):
        """Whether no step has to enter Python."""
        return (method in cls.methods and run.compiled.backend != 'numpy'
                and len(run.compiled.tables) == len(run.compiled.inputs.called)
                and run.feedback is None
                and (run.projector is None or run.projector.is_simple))

    def has_to_compile(self, t, x):
        """Whether steps from here wait for the compilation of the loop."""
        return not is_compiled(getattr(self.loop, self.function)) and (
            self.code(t, x) is not None)

    # -- machine code ----------------------------------------------------

    def code(self, t, x):
        """Rates, their slopes, projection and constants, or None."""
        run, solver = self.run, self.run.rank.solver
        if self._code[0] is not solver:
            def made():
                return self._made(solver, t, x)

            # The loop changes values of tables, and solutions for slopes.
            self._code = solver, *(
                made() if self.tableau.gamma or run.compiled.tables else
                run.compiled.once(
                    (Blocks, solver, run.on_set, run.rates.work), made))
        return self._code[1]

    def watch(self, t, y, rates, begins, steps, parameters):
        """What the loop sees of the equations along steps of runs."""
        compiled, solver = self.run.compiled, self.run.rank.solver.first
        motion = compiled.motion//compiled.equations.copies
        return self.loop.watch(
            self._code[2], len(compiled.tables), self._code[1]['tables'],
            solver.scale, motion,
            0 if self.run.passages is None else solver.rank - motion,
            t, y, rates, begins, steps, parameters)

    def _made(self, solver, t, x):
        compiled, projector = self.run.compiled, self.run.projector
        rates, constants = compiled.native_rates(solver, self.run.rates.work)
        watched = compiled.kept('watched', lambda: watched_code(compiled))
        if rates is None or watched is None:
            return None, None
        slopes, sizes, more = rates, [0]*5, 0
        if self.tableau.gamma:
            found = compiled.slopes(solver, self.run.rates.work)
            if found is None:
                return None, None
            slopes, sizes, more = found.code, found.sizes, len(
                compiled.unknowns)
        levels = [len(compiled.q_index), len(compiled.u_index), 0, 0, 0]
        correct, p = rates, constants
        if projector is not None:
            rows = projector.rows(solver, t, x)
            if rows is None:
                return None, None
            p = compiled.parameters()
            correct = newton_code(compiled, rows)
            if correct is None:
                return None, None
            levels[2:4] = map(len, rows)
            levels[4] = correct.size - sum(levels)
        tables = self.loop.packed(compiled.tables.values())
        p, p_slopes = (np.array(values, dtype=float) for values in (p, (
            *compiled.parameters(), *np.zeros(more))))
        kept = constants, p_slopes, p
        code, slopes_code, correct_code = (
            self.loop.Code(native.function)
            for native in (rates, slopes, correct))
        return {'code': code, 'slopes_code': slopes_code,
                'correct_code': correct_code, 'p': np.array(
                    [array.ctypes.data for array in kept], np.uintp),
                'count': len(compiled.tables), 'tables': tables,
                'sizes': np.array(sizes), 'z': p_slopes[len(p_slopes) - more:],
                'levels': np.array(levels), 'size': rates.size}, (
                    self.loop.Code(watched.function)), kept

    # -- blocks ----------------------------------------------------------

    def advance(self):
        """Make ordinary steps; their number, and whether they are the last."""
        run = self.run
        self.waiting -= 1
        if run.ahead is not None or self.waiting >= 0:
            return 0, False
        times = () if run.times is None else run.times[run.next_output:]
        steps, is_ahead = 0, False
        with run.interruption.deferred():
            block = self.block(run.solver, np.array(times, dtype=float),
                               run.pace.left(run.made))
            if block is not None and len(block.drift):
                with suppress(ConstrainedDynamicsError, ArithmeticError):
                    steps, is_ahead = self.checked(block)
        if not steps:
            self.pause, self.waiting = 2*self.pause, self.pause
            return 0, is_ahead
        is_whole = steps == len(block.drift)
        self.length = min(2*steps, self.longest)
        self.pause, self.waiting = PAUSE, int(not (block.is_full and is_whole))
        run.evaluations += block.evaluations
        if self.accept(block, steps, times):
            return steps, True
        solver = run.solver
        solver.t, solver.y, solver.f = (
            float(block.t[steps]), block.y[steps], block.rates[steps])
        solver.h_abs = block.following if is_whole else abs(
            block.t[steps + 1] - block.t[steps])
        if hasattr(solver, 'forget'):
            solver.forget()
        if run.kinks:
            self.move_bound(solver)
        elif solver.t == solver.t_bound:
            solver.status = 'finished'
        return steps, is_ahead

    def pieces(self, solver, most):
        """Begins, ends, and where they meet, of ``most`` pieces at most.

        Tables have kinks between the pieces.
        """
        run, end = self.run, self.run.span[1]
        found = [(solver.t, solver.t_bound, run.stop)]
        while run.kinks and found[-1][2] != end and len(found) < most:
            begin, _, stop = run.kinks.interval(
                found[-1][2], end, self.options['rtol'])
            found.append((begin, stop - run.kinks.clear, stop))
        return np.transpose(found)

    def move_bound(self, solver):
        """Let the solver end with the piece that it has reached."""
        run, stops = self.run, self.between[2]
        k = int(np.argmax(run.forward*(stops - solver.t) >= 0))
        solver.t_bound, run.stop = self.between[1:, k].tolist()
        run.kink = run.stop
        if solver.t == run.stop:
            solver.status = 'finished'
        if run.passages is not None:    # rates may jump where pieces meet
            run.passages.forget(stops[k - 1] if k else None)

    def block(self, solver, times, most) -> Block | None:
        """At most so many steps, up to one that is not ordinary."""
        run, n, most = self.run, len(solver.y), int(min(self.length, most))
        code = self.code(solver.t, solver.y[:self.run.size])
        if code is None:
            return None
        self.between = self.pieces(solver, most)
        T, drift = np.empty(most + 1), np.empty(most)
        Y, F = np.empty((2, most + 1, n))
        # Kept for interpolants, which are seldom needed without events.
        is_kept = run.events or run.pieces is not None or self.tableau.gamma
        K = np.empty((most if is_kept else 1, len(self.tableau.c), n))
        T[0], Y[0], F[0] = solver.t, solver.y, solver.f
        states = np.empty((len(times), n))
        reason, steps, due, evaluations, h = self.loop.make_steps(
            **code, tableau=self.tableau, begins=self.between[0],
            ends=self.between[1], stops=self.between[2], h=solver.h_abs,
            T=T, Y=Y, F=F, K=K, drift=drift, times=times, states=states,
            **self.options)

        def path(k):
            [begin], [end] = self.spans(T[k:k + 2])
            return self.path(solver.fun, begin, end - begin, Y[k],
                             K[k if is_kept else 0], is_kept)

        rows = slice(steps + 1)         # some of the times stay in use
        return Block(T[rows].copy(), Y[rows], F[rows], drift[:steps],
                     states[:due], h, evaluations, path,
                     reason == self.loop.FULL, K if is_kept else None)

    def path(self, rates, t, h, y, K, is_kept):
        tableau = self.tableau
        for k in range(self.loop.needed(tableau) if is_kept else 0,
                       len(tableau.c)):
            K[k] = rates(t + tableau.c[k]*h, y + h*(tableau.a[k, :k]@K[:k]))
        return Interpolant(t, h, y, h*(tableau.extension.T@K))

    def checked(self, block):
        """How many steps are ordinary; whether a singularity is ahead."""
        run = self.run
        t, x = block.t, block.y[:, :run.size]
        watched = self.watch(
            t, block.y, block.rates, np.zeros(1, int), np.array([len(t) - 1]),
            run.compiled.parameters()[None])
        steps = run.rank.holds_for(t, x, block.drift, *watched[:2])
        if run.passages is None or not steps:
            return steps, False
        rows = slice(steps + 1)
        accept, doubtful = run.passages.ordinary(
            t[rows], block.y[rows], [part[rows] for part in watched])
        for k in doubtful:
            accept(k)
            if k and run.events:        # which may end the motion before
                return int(k), False
            if run.is_singular_ahead(t[k], t[k + 1], x[k + 1], block.path(k)):
                return int(k), True
        accept(steps)
        return steps, False

    def accept(self, block, steps, times):
        """Look for events, record what is due, move on; whether it jumped."""
        run, done, end, state = self.run, 0, None, None
        try:
            for k in run.events.doubtful(steps, self.values(block, steps)):
                path, t, done = block.path(k), block.t[k + 1], k
                state = run.state_on(path, t, block.y[k + 1])
                end = run.end_within(
                    block.t[k], t, block.y[k + 1], path, state)
                if end is not None:
                    done = k + 1
                    break
            else:
                done = steps
        finally:                        # also after an error in an event
            with run.interruption.deferred():
                self.record(block, times, block.t[done] if end is None
                            else end)
                run.t, run.last = float(block.t[done]), block.y[done]
                if run.tape is not None and done:
                    run.tape.add(
                        run, *self.spans(block.t[:done + 1]), block.y[0],
                        run.t if end is None else end, run.last)
        return end is not None and run.end_at(end, state)

    def values(self, block, steps):
        """Event functions at parts of steps, None to examine all in Python."""
        run = self.run
        if run.pieces is not None:
            return None
        values = np.empty((steps, PARTS, len(run.events.functions)))
        if run.events:
            functions = run.events.code(run.compiled)
            if functions is None or block.stages is None:
                return None
            code = self._code[1]
            self.loop.values_along(
                *(code[name] for name in ('code', 'p', 'count', 'tables',
                                          'size')), self.tableau,
                self.loop.Code(functions.function), run.compiled.parameters(),
                *self.spans(block.t[:steps + 1]), block.t, block.y,
                block.stages, values)
        return values

    def spans(self, t):
        """Begins and ends of steps, which avoid the kinks of tables."""
        begins, ends = t[:-1], t[1:]
        if self.run.kinks:
            begins, ends = begins.copy(), ends.copy()
            for after, before, stop, last in zip(
                    *self.between, (np.nan, *self.between[2])):
                begins[begins == last], ends[ends == stop] = after, before
        return begins, ends

    def record(self, block, times, last):
        run = self.run
        t, y = (block.t[1:], block.y[1:]) if run.times is None else (
            times[:len(block.outputs)], block.outputs)
        due = np.count_nonzero(run.forward*(t - last) <= 0)
        if due:
            run.record_all(t[:due], y[:due])
        if run.times is not None:
            run.next_output += due


def watched_code(compiled):
    """The machine code of ``W`` and ``r`` of the first block, or None."""
    g, out = compiled.equations.first_block.load(None, ('W', 'r'))
    return compiled.native_output(Graph.freeze(g, {'out': (
        [[*row, *right] for row, right in zip(out['W'], out['r'])],
        len(out['W']) + 1)}))


def is_compiled(function):
    """Whether a function of numba is compiled, here or in current files."""
    files = getattr(getattr(function, '_cache', None), '_cache_file', None)
    index = getattr(files, '_load_index', dict)
    return bool(function.overloads or index())
