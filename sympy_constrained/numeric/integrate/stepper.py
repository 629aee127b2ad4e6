"""One integration, step by step: projection, events, records."""
from __future__ import annotations

from contextlib import contextmanager, suppress
from warnings import warn

import numpy as np
from scipy.integrate import BDF, OdeSolver, Radau

from ...errors import (
    ConstrainedDynamicsError, InconsistentConstraintsError, NotFiniteError,
    SingularEquationsError)
from ..linear.rank_changes import CarriedRank
from ..manifold.correction import Projector
from ..manifold.projection import distances, size_of
from .interrupt import Interruption
from ..trajectory import Reason, Trajectory
from .balance import Balance
from .dense_output import DenseOutput, Piece
from .events import Events
from .passage import Approach, Passages
from .power import Work, energy_rates

__all__ = ['Run', 'Pace']

# Relative distance from the constraints at which a projection has failed.
OFF = 1e-8
# A projection moves a state about as far as it is from the constraints. One
# that moves it by more than this multiple has met a singular configuration,
# and the state stays as the integrator left it.
JUMP, NEAR = 1e5, 1e-6
ROUNDING = 1e-15
# At the end of the polynomial through a singular configuration projection
# moves no state by more than SAME, relative to a size of at least LEAST, and
# the rates agree with those of the equations to SMOOTH. Rounding causes an
# error of ROUNDED roundings, relative to the squared nearness.
SAME, LEAST, SMOOTH, ROUNDED = 1e-7, 1., 1e-4, 30.
# The least size of a state, relative to the largest, in differences.
SMALL = 1e-3
# So many steps in a row that hardly move time on end a run.
STALLED, HARDLY = 200, 1e-14
# Roundings of the longest time that are kept from changes of a table.
BEHIND = 4
# After so many steps it is asked how many more the end needs.
PACE = 10_000

USUALLY = (
    "This usually means (a) a configuration where constraints lose rank, "
    "(b) a massless direction, or (c) quasi-velocities that are not "
    "independent here.")

SLOW = (
    ". This usually means (a) a length, a mass or another constant that is "
    "zero or very small, by which the model moves very fast, (b) a stiff "
    "model, for which `method='Radau'` is made, or (c) a short `max_step` or "
    "small tolerances. Correct these, shorten `t_span`, or pass a larger "
    "`max_steps`")

TROUBLE = (SingularEquationsError, NotFiniteError)


class Stop(Exception):
    """Ends a run with a reason and a sentence with its circumstances."""

    def __init__(self, reason, message):
        super().__init__(reason, message)
        self.reason, self.message = reason, message


class Pace:
    """Whether an integration comes on fast enough to end within its steps.

    Parameters
    ==========

    most : float
        Number of steps.
    start, end : float
        Times.

    """

    def __init__(self, most, start, end):
        self.most, self.end, self.mark = most, end, (0, start)

    def fault(self, steps, t):
        """What is wrong after a step that is not the last, None if nothing.

        It is looked at after each :data:`PACE` steps.
        """
        if steps % PACE and steps < self.most:
            return None
        (before, last), self.mark = self.mark, (steps, t)
        made, came = steps - before, abs(t - last)
        more = made*abs(self.end - t)/came
        if steps + more <= self.most:
            return None
        return (f"the last {made} steps came on by {came:.1g}, so the end "
                f"needs {more:.0e} more, and `max_steps` is {self.most:g}")


class Run:
    """One integration: where it is, and what it has recorded.

    Parameters
    ==========

    compiled : CompiledEquations
    span : pair of float
    x : ndarray
        The start.
    times : ndarray or None
        Output times.
    events : see :class:`Events`
    on_set : bool
        Whether states are projected.
    moves : bool
        Whether the integrator goes on from the projected state.
    feedback : Feedback, optional
        Corrects the rates of states that are off the constraints.
    dense : bool
        Whether to keep the interpolants.
    units : dict
        For the trajectory.
    most : float
        Number of steps that it may make.

    """

    def __init__(self, compiled, span, x, times=None, events=(), *,
                 on_set=False, moves=True, feedback=None, dense=False,
                 units=(), most=np.inf):
        self.compiled, self.span, self.times = compiled, span, times
        self.t, self.start, self.stop = span[0], x, span[1]
        self.tables = compiled.tables.values()
        self.size = len(x)
        self.on_set, self.moves, self.feedback = on_set, moves, feedback
        self.rank = CarriedRank(compiled, self.t, x)
        self.projector = Projector(compiled) if on_set else None
        self.passages = Passages(compiled) if moves and Passages.exist_for(
            compiled) else None
        self.ahead: Approach | None = None      # where the next one is
        self.passed: list[float] = []
        self.bend = None                # where a table changes its course
        self.unprojected = 0
        self.work = Work(compiled, span, x)
        self._quick = None, None        # a solver, and its rates
        self.names = ('rates', 'W', 'r', *self.work.outputs)
        self.residuals = [name for name, _ in compiled.levels]
        self.balance = Balance(compiled)
        self.recorded = ('rates', 'W', 'r', 'M', 'Q', *self.residuals, *(
            name for name in ('energy', 'power') if compiled.has(name)),
            *self.balance.names)
        self.events = Events(events, self.t, x)
        self.units = dict(units)
        self.rows: list[dict] = []      # what Trajectory has, per output
        self.pieces: list[Piece] | None = [] if dense else None
        self.next_output = 0
        self.stalled = 0
        self.pace = Pace(most, *span)
        self.last = None                # the last accepted state, and work
        self.trouble: Exception | None = None       # in this step
        self.met: Exception | None = None           # in any step
        self.raised: Exception | None = None        # by what is the user's

    # -- the equations for the integrator --------------------------------

    def begin(self):
        """The start, and no work yet where it is integrated."""
        return np.append(self.start, 0.) if self.work.outputs else self.start

    def rates(self, t, y):
        """Rates of states and work, nan where the equations have none.

        The integrator answers nan with a shorter step. What was wrong is
        remembered in case steps become too short.
        """
        try:
            rates = self.plain_rates(t, y)
            if self.feedback is not None:
                self.feedback.correct(t, y[:self.size], rates)
            return rates
        except TROUBLE as trouble:
            self.trouble = self.met = trouble
            return np.full_like(y, np.nan)
        except Exception as error:
            self.raised = error
            raise

    def jacobian(self, t, y):
        """Derivatives of the rates by the states, from differences.

        SciPy's own take the absolute tolerance for the size of a state that
        is zero, and find rounding errors if that is small.
        """
        size = np.maximum(np.abs(y), SMALL*size_of(y))
        size *= np.sqrt(np.finfo(float).eps)
        rates = self.rates(t, y)
        return np.column_stack([
            (self.rates(t, y + step) - rates)/step[k]
            for k, step in enumerate(np.diag((y + size) - y))])

    @property
    def quick(self):
        """Compiled rates at the rank of the solver in use, None without."""
        solver = self.rank.solver
        if self._quick[0] is not solver:
            self._quick = solver, self.compiled.quick_rates(
                solver, work=self.work.outputs)
        return self._quick[1]

    def plain_rates(self, t, y):
        """The rates by the equations alone."""
        x = y[:self.size]
        if not np.isfinite(x).all():            # after an earlier stage
            return np.full_like(y, np.nan)
        quick = self.quick
        if quick is not None:
            found = quick(t, y)
            if found is not None:
                return found
        outputs = self.compiled.evaluate(self.names, t, x)
        z, _ = self.rank.solver.solve(outputs['W'], outputs['r'][:, 0])
        parts = [outputs['rates'][:, 0], z[:self.compiled.motion]]
        if not self.work.outputs:
            return np.concatenate(parts)
        rates = np.concatenate([*parts, [0.]])
        index = self.compiled.u_index
        rates[-1] = self.work.rate(outputs, x[index], rates[index])
        return rates

    # -- the loop --------------------------------------------------------

    def integrate(self, method, progress, **options) -> Trajectory:
        """Make steps to the end, or until something stops them.

        Underflow is no fault, whatever NumPy is asked to do about it.
        """
        with np.errstate(under='ignore'), Interruption() as interruption:
            return self._integrate(method, progress, interruption, options)

    def _integrate(self, method, progress, interruption, options):
        y = self.begin()
        solver, renew, steps, evaluations = None, True, 0, 0
        reason, message = Reason.END, Reason.END.value
        try:
            with self.stopping():
                self.rank.watch(self.t, self.start)
            self.checked_rates(self.t, y)
            if self.times is None or self.times[0] == self.t:
                self.record(self.t, y)
                self.next_output = 1
            while self.t != self.span[1]:
                if self.is_at_edge():
                    self.pass_through(**options)
                    renew = True
                    continue
                if renew or solver.status == 'finished':
                    evaluations += getattr(solver, 'nfev', 0)
                    solver = self.solver(method, options)
                renew = not self.step(solver)
                steps += 1
                progress.update(self.t)
                interruption.check()
                slow = self.t != self.span[1] and (
                    self.pace.fault(steps, self.t))
                if slow:
                    raise self.stopped(Reason.STEPS, slow + SLOW)
            if self.passed:
                message += (f" {len(self.passed)} singular configurations "
                            "were passed; see `passages`.")
        except Stop as stop:
            reason, message = stop.reason, stop.message
            self.record_last()
        except KeyboardInterrupt:
            reason = Reason.INTERRUPTED
            message = f"The run was interrupted at t = {self.t:.6g}."
            self.record_last()
            interruption.hold()
            self.raised = None
            try:
                warn(f"{message} What was computed is returned.",
                     stacklevel=4)
            except UserWarning as warning:      # where warnings are errors
                self.raised = warning
        except Exception as error:
            if solver is None and isinstance(error, ConstrainedDynamicsError):
                raise                   # of the integrator
            self.raised = error
            stop = self.stopped(
                Reason.ERROR, f"{type(error).__name__}: {error}")
            reason, message = stop.reason, stop.message
            self.record_last()
        interruption.hold()
        progress.close()
        return self.trajectory(reason, message, {
            'steps': steps,
            'evaluations': int(evaluations + getattr(solver, 'nfev', 0)),
            'unprojected': self.unprojected,
            'seconds': progress.seconds})

    def solver(self, method, options):
        """An integrator from here to where a table changes its course.

        Its steps could pass over what comes then. It begins behind the time
        of such a change, and ends before the next one.
        """
        y = self.begin() if self.last is None else self.last
        begin, end = self.t, self.span[1]
        if self.passages is not None:
            if self.t == self.bend:             # rates may jump here
                self.passages.anchors.clear()
            if not self.passages.anchors:
                self.passages.accept(begin, y, self.rank.solver)
        if self.ahead is not None and self.is_inside(self.ahead.edge):
            end = self.ahead.edge
        self.stop = end
        if method in (Radau, BDF):
            options = {**options, 'jac': self.jacobian}
        if not self.tables:
            return method(self.rates, begin, y, self.stop, **options)
        clear = BEHIND*np.spacing(max(map(abs, self.span)))
        clear *= 1 if self.stop > begin else -1
        while True:                     # behind changes that are near
            begin += clear
            self.bend = self.stop = self.course(begin, end, options['rtol'])
            if abs(end - self.stop) < 5*abs(clear):
                self.stop = end
            if self.stop == end or abs(self.stop - begin) > 2*abs(clear):
                break
            begin = self.stop
        self.checked_rates(begin, y)
        return method(self.rates, begin, y, self.stop - clear, **options)

    def course(self, t, end, tolerance):
        """The next time at which a table changes its course, or the end."""
        return min((table.course(t, end, tolerance)
                    for table in self.tables), key=lambda end: abs(end - t),
                   default=end)

    def step(self, solver):
        """One step: integrate, project, watch, look for events, record.

        Returns whether the integrator may go on. If not, a singular
        configuration is ahead, or the rank has risen within the step.
        """
        t_old, self.trouble = self.t, None
        if self.feedback is not None:
            self.feedback.begin(solver, self.rank.solver)
        self.advance(solver)
        t = self.stop if solver.status == 'finished' else solver.t
        # Before y is replaced and before a new rank changes the rates.
        path = solver.dense_output()
        if self.is_singular_ahead(solver.t, solver.y[:self.size], path):
            return False
        y, drift = self.projected(t, solver.y)
        self.check_progress(t_old, t)
        with self.stopping():
            if solver.t != t:           # a table may jump at t
                self.rank.watch(solver.t, y[:self.size], drift)
                self.t, self.last = solver.t, y
            rise = self.rank.watch(t, y[:self.size], drift, t_old,
                                   lambda s: path(s)[:self.size])
        is_whole = rise == t
        if not is_whole:
            t, y = rise, self.with_new_rows(rise, path(rise))

        def state(s):
            return y if s == t else self.projected(s, path(s))[0]

        self.accept(t_old, t, y, path, state)
        if is_whole and self.on_set and self.moves and (
                solver.status == 'running'):
            solver.y, solver.f = y, self.checked_rates(t, y)
        return is_whole

    def with_new_rows(self, t, y):
        """The state where the rank rises, from which a new integrator starts.
        """
        far = distances(self.compiled, t, y[:self.size]).relative
        if far > NEAR:
            raise self.stopped(
                Reason.CONTRADICTION, f"at t = {t:.6g} the rank of the "
                "constraint rows rises, and the velocity does not satisfy "
                f"the row that begins to act (relative distance {far:.0e}). "
                "Impacts are not computed. Let the row act from the start, "
                "or end the run before")
        if self.passages is not None:
            self.passages = Passages(self.compiled)
        return self.projected(t, y)[0]

    def accept(self, t_old, t, y, path, state, rates=None):
        """Look for events in a step, record what is due, and go on from it.

        ``state`` returns the state at a time of the step; ``rates`` its
        rates, by default those of the equations.
        """
        crossed = end = None
        if self.events:
            crossed = self.events.crossed(t_old, t, y[:self.size], path)
        if crossed:
            end = self.events.locate(
                crossed, lambda s: state(s)[:self.size])
        if self.pieces is not None:
            self.pieces.append(Piece(t_old, t, path, (
                y - path(t))[:self.size]))
        self.record_due(t if end is None else end, state, rates)
        if end is not None:
            self.finish_at(end, state(end), rates)
        if self.times is None:
            self.record(t, y, rates)
        self.t, self.last = t, y
        if self.passages is not None:
            self.passages.accept(t, y, self.rank.solver)

    # -- singular configurations -----------------------------------------

    def is_singular_ahead(self, t, x, path):
        """Whether the constraints lose rank in the step to ``t``, or soon."""
        found = self.passages and self.passages.seek(t, x, path)
        if not found or not self.is_inside(found.edge):
            return False
        if self.ahead is not None and abs(found.zero - self.t) > abs(
                self.ahead.edge - self.t):
            return False                # not before the one that is known
        self.ahead = found
        return True

    def is_inside(self, t):
        """Whether a time is before the end of the run."""
        return (self.span[1] - t)*(self.span[1] - self.span[0]) > 0

    def is_near_passage(self, t, x):
        """Whether rows almost vanish, and relative errors are large."""
        return self.passages is not None and bool(self.passed) and (
            self.passages.nearness(t, x) < 2*self.passages.edge)

    def is_at_edge(self):
        """Whether the integrator has come to the edge of the one ahead."""
        forward = 1 if self.span[1] > self.span[0] else -1
        return self.ahead is not None and forward*(
            self.t - self.ahead.edge) >= 0

    def pass_through(self, rtol, atol, **_):
        """Go on behind a singular configuration, or nearer to it."""
        ahead, self.ahead = self.ahead, None
        limit = self.course(self.t, self.span[1], rtol)
        with self.stopping():
            bridge = self.passages.bridge(ahead, self.checked_rates, limit)
            if bridge is None:          # the constraints keep their rank
                return
            if isinstance(bridge, Approach):
                self.ahead = bridge
                return
        if bridge.is_double and self.is_inside(bridge.zero):
            raise self.stopped(
                Reason.NO_BRANCH, f"at t = {bridge.zero:.6g} the constraints "
                "lose rank, and the velocity selects no branch: it vanishes "
                "there, or branches touch. The motion after it is not "
                "determined. Change the start or the constants a little, or "
                "end the run before")
        end, path, error = self.far_end(bridge, limit, rtol, atol)
        if end is None or error > 1:
            self.ahead = ahead.nearer(self.t, bridge.zero)
            if self.ahead is None:
                self.passages.clear(bridge.far)
            return
        self.rank.turn()
        if self.is_inside(bridge.zero):
            self.passed.append(float(bridge.zero))
        self.accept(self.t, bridge.far, end, path, path, path.derivative)

    def far_end(self, bridge, limit, rtol, atol):
        """State and path at the end of a bridge, and its error in tolerances.

        The state is None where the bridge does not lead to the motion.
        """
        t, path = bridge.far, bridge.path
        end, other = path(t), bridge.lower(t)
        near = self.passages.nearness(self.t, self.last[:self.size])
        rounding = ROUNDED*ROUNDING/near**2
        if t != limit:
            before, rates = end, path.derivative(t)
            size = np.maximum(np.abs(bridge.values[::2]).max(axis=0), LEAST)
            try:                        # projection also removes noise
                end, other = (self.projected(t, y)[0] for y in (end, other))
                found = self.checked_rates(t, end)
            except Stop:
                return None, None, np.inf
            apart = 10*np.abs(rates - bridge.lower.derivative(t))
            apart += SMOOTH*size_of(found[self.size - self.compiled.motion:])
            if (np.abs(end - before) > (SAME + rounding)*size).any() or (
                    np.abs(found - rates) > apart).any():
                return None, None, np.inf
            path = bridge.through(t, end, found)
        elif t != self.span[1]:
            return None, None, np.inf
        return end, path, np.max(np.abs(end - other)/np.maximum(
            atol + rtol*np.abs(end), rounding*np.maximum(np.abs(end), LEAST)))

    def advance(self, solver):
        """Let the integrator make its step."""
        try:
            solver.step()
        except (ValueError, np.linalg.LinAlgError) as error:
            theirs = self.met or isinstance(solver, OdeSolver)
            if error is self.raised or not theirs:
                raise
            self.trouble = self.trouble or self.met
            solver.status = 'failed'    # inf, nan in matrices of Radau, BDF
        if solver.status == 'failed' or not np.isfinite(solver.y).all():
            raise self.failure()

    def check_progress(self, t_old, t):
        """Stop an integrator that goes on without getting anywhere."""
        size = max(abs(t), abs(self.span[1] - self.span[0]))
        self.stalled += 1
        if abs(t - t_old) > HARDLY*size:
            self.stalled = 0
        elif self.stalled > STALLED:
            raise self.failure()

    def record_due(self, t, state, rates):
        """Record the output times up to ``t``."""
        while self.is_due(t):
            due = self.times[self.next_output]
            self.record(due, state(due), rates)
            self.next_output += 1

    def finish_at(self, t, y, rates):
        """End at a terminal event, whose state is always recorded."""
        self.t = t
        if not self.rows or self.rows[-1]['t'] != t:
            self.record(t, y, rates)
        raise Stop(Reason.EVENT, f"A terminal event occurred at t = {t:.6g}.")

    def record_last(self):
        """Record the last accepted state of a run that ends early."""
        forward = 1 if self.span[1] > self.span[0] else -1
        if self.last is not None and self.rows and (
                forward*(self.t - self.rows[-1]['t']) > 0):
            with suppress(Exception, KeyboardInterrupt):
                self.record(self.t, self.last)

    def is_due(self, t):
        """Whether an output time is not later than ``t``."""
        if self.times is None or self.next_output >= len(self.times):
            return False
        forward = self.span[1] > self.span[0]
        due = self.times[self.next_output]
        return due <= t if forward else due >= t

    def projected(self, t, y):
        """The state on the constraint set, and how far it still is."""
        if not np.isfinite(y).all():
            raise self.failure()
        if not self.on_set:
            return y, None
        x = y[:self.size]
        correction, before = self.projector(t, x, self.rank.solver)
        moved = np.abs(correction.x - x).max()/size_of(x)
        if moved > JUMP*max(before, ROUNDING) and before < NEAR:
            self.unprojected += 1
            return y, before
        if not correction.is_within(OFF):
            raise self.stopped(
                Reason.OFF_CONSTRAINTS, "the state could not be returned to "
                "the constraints (relative distance "
                f"{correction.relative:.0e})")
        return np.append(correction.x, y[self.size:]), correction.relative

    def checked_rates(self, t, y):
        rates = self.rates(t, y)
        if not np.isfinite(rates).all():
            raise self.failure()
        return rates

    # -- ends ------------------------------------------------------------

    @contextmanager
    def stopping(self):
        """Turn what equations may raise into the end of the run."""
        try:
            yield
        except TROUBLE as trouble:
            self.trouble = trouble
            raise self.failure() from trouble
        except InconsistentConstraintsError as error:
            raise self.stopped(Reason.CONTRADICTION, str(error)) from error
        except ConstrainedDynamicsError as error:       # no rank, no motion
            raise self.stopped(Reason.SINGULAR, str(error)) from error

    def failure(self):
        """The reason why the integrator gave up."""
        if isinstance(self.trouble, SingularEquationsError):
            return self.stopped(
                Reason.SINGULAR, "the equations became singular (reciprocal "
                f"condition {self.trouble.condition:.0e}). "
                f"{self.compiled.equations.when_singular or USUALLY}")
        if self.trouble is not None:
            return self.stopped(Reason.NOT_FINITE, str(self.trouble))
        return self.stopped(
            Reason.STEP_SIZE, "the integrator needs smaller steps than "
            "numbers allow. This usually means (a) a solution that grows "
            "without bound, (b) forces that jump, or (c) a stiff model, for "
            "which `method='Radau'` is made.")

    def stopped(self, reason, text):
        return Stop(reason, f"Integration stopped at t = {self.t:.6g}: "
                            f"{text.rstrip('.')}.")

    # -- the result ------------------------------------------------------

    def record(self, t, y, rates=None):
        """Add an output: all that a trajectory contains about a state.

        ``rates`` returns the rates at a time where the equations do not
        determine them.
        """
        compiled, x = self.compiled, y[:self.size]
        is_solved = rates is None
        with self.stopping():
            outputs = compiled.evaluate(self.recorded, t, x)
            W, r = outputs['W'], outputs['r'][:, 0]
            if is_solved:
                found = self.rank.solve_all(W, r, t, x)
            else:
                found = self.rank.solver.reactions(W, r, rates(t)[
                    self.size - compiled.motion:self.size])
        rates = np.concatenate(
            [outputs['rates'][:, 0], found.z[:compiled.motion]])
        speed_rates = rates[compiled.u_index]
        forces = outputs['M']@speed_rates - outputs['Q'][:, 0]
        if is_solved and not self.is_near_passage(t, x):
            self.balance.add(outputs, x, speed_rates, forces)
        self.rows.append({
            't': t, 'x': x.copy(), 'rates': rates,
            'residuals': np.concatenate(
                [outputs[name] for name in self.residuals])[:, 0],
            'multipliers': found.z[compiled.motion:],
            'constraint_forces': forces,
            'energy': outputs['energy'][0, 0] if 'energy' in outputs else 0.,
            'work': y[-1] if self.work.outputs else 0.,
            'power': outputs['power'][0, 0] if 'power' in outputs else 0.,
            'rank': found.rank, 'condition': found.condition})

    def trajectory(self, reason, message, statistics) -> Trajectory:
        """Everything recorded as arrays."""
        compiled = self.compiled
        widths = {'x': self.size, 'rates': self.size,
                  'residuals': len(compiled.residual_names),
                  'multipliers': len(compiled.multiplier_names),
                  'constraint_forces': len(compiled.u_index)}
        columns = {}
        for name in ('t', 'energy', 'work', 'power', 'rank', 'condition',
                     *widths):
            values = np.array([row[name] for row in self.rows],
                              dtype=int if name == 'rank' else float)
            columns[name] = (values.reshape(len(self.rows), widths[name])
                             if name in widths else values)
        if not compiled.has('energy'):
            columns['energy'] = None
        if not self.work.known:
            columns['work'] = None
        if not compiled.has('power'):
            columns['power'] = None
        return Trajectory(
            **columns,
            energy_rate=energy_rates(compiled, self.span, *(
                columns[name] for name in ('t', 'x', 'rates'))),
            states=tuple(compiled.states),
            speeds=tuple(compiled.equations.u),
            multiplier_names=tuple(compiled.multiplier_names),
            residual_names=compiled.residual_names,
            constants=dict(zip(compiled.constants,
                               compiled.parameters().tolist())),
            reason=reason, message=message,
            events=tuple(self.events.found),
            rank_changes=tuple(self.rank.changes),
            passages=tuple(self.passed), statistics=statistics,
            units=self.units,
            dense=DenseOutput(self.pieces) if self.pieces else None)
