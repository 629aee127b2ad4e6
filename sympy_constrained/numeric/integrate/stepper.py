"""One integration, step by step: projection, events, records.

The parts of a run change its time and state together, so they are one class
and one long file.
"""
from contextlib import suppress
from functools import partial

import numpy as np
from scipy.integrate import BDF, OdeSolver, Radau

from ...errors import ConstrainedDynamicsError
from ..linear.rank_changes import CarriedRank
from ..manifold.correction import Projector
from ..manifold.projection import distances, size_of
from ..names import array
from ..outcome import Reason
from ..table import Kinks
from ..tolerances import JUMP, LEAST_MOVE, NEAR
from ..trajectory import Trajectory
from .blocks import Blocks, Start
from .dense_output import DenseOutput, Piece
from .ends import COMPILING, SLOW, Pace, Stop
from .events import Events
from .passage import Approach, PassageFinder
from .rates import Rates
from .records import Records
from .rodas import Rodas5P
from .runs import Integration
from .tape import Tape
from .taylor import Taylor, TaylorBlocks


# A projection fails if a larger relative distance remains.
OFF = 1e-8


class Run(Integration):
    """One integration; states are projected if ``on_set``, and the integrator
    continues from them if it ``moves``. Without ``times`` steps are recorded.
    """

    def __init__(self, compiled, span, x, times=None, events=(), *,
                 on_set=False, moves=True, feedback=None, dense=False,
                 units=(), max_steps=np.inf, solver=None):
        super().__init__()
        self.compiled, self.span, self.times = compiled, span, times
        self.t, self.stop, self.size = *span, len(x)
        self.forward = 1 if span[1] > span[0] else -1
        self.kinks = Kinks(compiled.tables.values(), span)
        self.on_set, self.moves, self.feedback = on_set, moves, feedback
        self.rank = CarriedRank(compiled, self.t, x, solver)
        self.is_watched = solver is None    # before the first step
        self.projector = Projector(compiled) if on_set else None
        self.passages = PassageFinder(compiled) if moves and compiled.kept(
            PassageFinder, lambda: PassageFinder.applies_to(compiled)
            ) else None
        self.ahead: Approach | None = None
        self.passed: list[float] = []
        self.kink = None                # at which the solver ends
        self.rates = Rates(compiled, x, self.rank, feedback)
        self.records = Records(
            compiled, self.rank, bool(self.rates.work))
        self.events = Events(events, self.t, x)
        self.units = dict(units)
        self.blocks: Blocks | None = None
        self.pieces: list[Piece] | None = [] if dense else None
        self.tape: Tape | None = None
        self.pace = Pace(max_steps, *span)
        self.next_output = self.unprojected = 0
        self.solver = None
        self.last = None                # y at the last accepted step
        self.first = None               # t and y to be recorded with others

    # -- the loop --------------------------------------------------------

    def make_steps(self, progress, method, **options):
        try:
            self._make_steps(method, progress, options)
        except Stop:
            raise
        except Exception as error:
            if self.solver is None and isinstance(
                    error, ConstrainedDynamicsError):
                raise                   # the integrator cannot be made
            self.raised = error
            raise self.stopped(
                Reason.ERROR, f"{type(error).__name__}: {error}") from error

    def _make_steps(self, method, progress, options):
        y = self.rates.begin
        if self.is_watched:
            self.watch_start(y)
        if self.times is None or self.times[0] == self.t:
            self.first, self.next_output = (self.t, y), 1
        is_new = True
        while self.t != self.span[1]:
            if self.is_at_edge():
                self.pass_through(**options)
                is_new = True
                continue
            if is_new or self.solver.status == 'finished':
                self.evaluations += int(getattr(self.solver, 'nfev', 0))
                self.solver = self.new_solver(method, options)
                if self.blocks and self.blocks.has_to_compile(
                        self.t, self.solver.y[:self.size]):
                    progress.say(COMPILING)
            steps, is_new = self.blocks.advance() if self.blocks else (
                0, False)
            if not steps:
                if is_new:
                    continue
                self.record_first()
                steps, is_new = 1, not self.step(self.integrator())
            self.made += steps
            progress.update(self.t)
            self.interruption.check()
            slow = self.t != self.span[1] and self.pace.fault(
                self.made, self.t)
            if slow:
                raise self.stopped(Reason.STEPS, slow + SLOW)
        self.record_first()

    def watch_start(self, y):
        """Stop where the equations have no solution at the start."""
        self.is_watched = True
        with self.stopping():
            self.rank.watch(self.t, y[:self.size])
        self.checked_rates(self.t, y)

    def integrator(self):
        """SciPy's integrator, which blocks may not have needed so far."""
        if not self.is_watched:
            self.watch_start(self.solver.y)
        if isinstance(self.solver, Start):
            self.solver = self.solver.integrator()
        if self.passages is not None and not len(self.passages.times):
            self.passages.accept(self.t, self.solver.y, self.rank.solver)
        return self.solver

    def new_solver(self, method, options):
        """An integrator from here to the next kink of a table."""
        y = self.rates.begin if self.last is None else self.last
        begin, end = self.t, self.span[1]
        if self.passages is not None:
            if self.t == self.kink:             # rates may jump here
                self.passages.times = np.zeros(0)
            self.passages.solver = self.rank.solver.first
        if self.ahead is not None and self.is_inside(self.ahead.edge):
            end = self.ahead.edge
        self.stop = end
        kind = TaylorBlocks if method is Taylor else Blocks
        if self.blocks is None and kind.apply_to(self, method):
            self.blocks = kind(self, method, **options)
        if method in (Radau, BDF, Rodas5P):
            options = {**options, 'jac': self.rates.jacobian}
        if self.kinks:
            begin, self.kink, self.stop = self.kinks.interval(
                begin, end, options['rtol'])
            self.checked_rates(begin, y)
            end = self.stop - self.kinks.clear
        return (partial(Start, method) if type(self.blocks) is Blocks else
                method)(self.rates, begin, y, end, **options)

    def step(self, solver):
        """One step; False if a singularity is ahead or the rank has risen."""
        t_old, self.rates.trouble = self.t, None
        changes = len(self.rank.changes)
        if self.feedback is not None:
            self.feedback.begin(solver, self.rank.solver)
        self.advance(solver)
        t = self.stop if solver.status == 'finished' else solver.t
        # Before y is replaced and before a new rank changes the rates.
        path = solver.dense_output()
        if self.is_singular_ahead(
                self.t, solver.t, solver.y[:self.size], path):
            return False
        y, drift = self.projected(t, solver.y)
        if self.pace.is_stalled(t_old, t):
            raise self.failure()
        with self.stopping():
            if solver.t != t:           # a table may jump at t
                self.rank.watch(solver.t, y[:self.size], drift)
                self.t, self.last = solver.t, y
            rise = self.rank.watch(t, y[:self.size], drift, t_old,
                                   lambda s: path(s)[:self.size])
        is_whole = rise == t
        if not is_whole:
            t, y = rise, self.with_new_rows(rise, path(rise))

        if self.tape is not None and len(self.rank.changes) > changes:
            self.tape.fault = f"The rank of the equations changes at {t:g}."
        if self.accept(t_old, t, y, path, self.state_on(path, t, y)):
            return False
        if is_whole and self.on_set and self.moves and (
                solver.status == 'running'):
            solver.y, solver.f = y, self.checked_rates(t, y)
        return is_whole

    def state_on(self, path, t, y):
        """The states in a step that ends at ``t`` with ``y``."""
        return lambda s: y if s == t else self.projected(s, path(s))[0]

    def advance(self, solver):
        try:
            solver.step()
        except (ValueError, np.linalg.LinAlgError) as error:
            from_solver = self.rates.met or isinstance(solver, OdeSolver)
            if error is self.rates.raised or not from_solver:
                raise
            self.rates.trouble = self.rates.trouble or self.rates.met
            solver.status = 'failed'    # inf, nan in matrices of Radau, BDF
        if solver.status == 'failed' or not np.isfinite(solver.y).all():
            raise self.failure()

    def with_new_rows(self, t, y):
        """The state where the rank rises, where a new integrator starts."""
        far = distances(self.compiled, t, y[:self.size]).relative
        if far > NEAR:
            raise self.stopped(
                Reason.CONTRADICTION, f"at t = {t:.6g} the rank of the "
                "constraint rows rises, and the velocity does not satisfy "
                f"the row that begins to act (relative distance {far:.0e}). "
                "Impacts are not computed. Let the row act from the start, "
                "or end the run before")
        if self.passages is not None:
            self.passages = PassageFinder(self.compiled)
        return self.projected(t, y)[0]

    def accept(self, t_old, t, y, path, state, rates=None):
        """Look for events in a step, record what is due, and move on.

        ``state(t)`` and ``rates(t)`` are those of the step. Returns whether
        the state has jumped.
        """
        end = self.end_within(t_old, t, y, path, state)
        self.record_due(t if end is None else end, state, rates)
        if self.tape is not None and rates is None:
            self.tape.add(
                self, np.array([self.solver.t_old]), np.array([self.solver.t]),
                self.solver.y_old, t if end is None else end, y)
        if end is not None:
            return self.end_at(end, state, rates)
        if self.times is None:
            self.record(t, y, rates)
        self.t, self.last = t, y
        if self.passages is not None:
            self.passages.accept(t, y, self.rank.solver)
        return False

    def end_within(self, t_old, t, y, path, state):
        """Look for events; the time of the first that ends or jumps."""
        end = None
        crossed = self.events and self.events.crossed(
            t_old, t, y[:self.size], path)
        if crossed:
            end = self.events.locate(
                crossed, lambda s: state(s)[:self.size])
        if self.pieces is not None and end != t_old:
            last, y = (t, y) if end is None else (end, state(end))
            self.pieces.append(Piece(t_old, last, path, (
                y - path(last))[:self.size]))
        return end

    def end_at(self, end, state, rates=None):
        """End the run at a terminal event, or jump; whether it jumps."""
        event, self.t, self.last = self.events.last, end, state(end)
        is_last = self.events.is_terminal
        if self.records.last != end and (is_last or self.times is None):
            self.record(end, self.last, rates)
        if self.tape is not None and (is_last or self.is_inside(end)):
            self.tape.end_with(x=self.last[:self.size], event=event)
        if is_last:
            raise Stop(Reason.EVENT,
                       f"A terminal event occurred at t = {end:.6g}.")
        if self.is_inside(end):
            self.jump_to(event.jump(end, self.last[:self.size].copy()))
        return True

    def jump_to(self, x):
        """Let the motion continue from other states, immediately after."""
        before = self.last[:self.size]
        x = array(x, 'jump')
        if x.shape != before.shape or not np.isfinite(x).all():
            raise ValueError(
                f"`jump` returned {x!r} at t = {self.t:g}; it must return "
                f"{len(before)} finite numbers, the states after the event.")
        if self.on_set:
            far = distances(self.compiled, self.t, x).relative
            if far > OFF:
                raise self.stopped(
                    Reason.OFF_CONSTRAINTS, "the jump leads off the "
                    f"constraints (relative distance {far:.0e}). Let it "
                    "return a consistent state")
        energy = self.compiled.energy(
            self.t, np.array([before, x])) if self.compiled.has(
            'energy') else (0., 0.)
        self.record_first()             # its work is without the jump
        self.records.jumps += energy[1] - energy[0]
        t = float(np.nextafter(self.t, self.forward*np.inf))
        self.t, self.last = t, self.projected(
            t, np.append(x, self.last[self.size:]))[0]
        self.rank.turn()
        with self.stopping():
            self.rank.watch(t, self.last[:self.size])
        self.ahead = None
        if self.passages is not None:
            self.passages = PassageFinder(self.compiled)
        self.events.follow_jump(t, self.last[:self.size])
        if self.times is None:
            self.record(t, self.last)
        if self.tape is not None:
            self.tape.end_with(after=self.last[:self.size])

    def projected(self, t, y):
        """The state on the constraint set, and its remaining distance."""
        if not np.isfinite(y).all():
            raise self.failure()
        if not self.on_set:
            return y, None
        x = y[:self.size]
        correction, before = self.projector(t, x, self.rank.solver)
        moved = np.abs(correction.x - x).max()/size_of(x)
        if moved > JUMP*max(before, LEAST_MOVE) and before < NEAR:
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

    # -- singular configurations -----------------------------------------

    def is_singular_ahead(self, t_old, t, x, path):
        """Whether the constraints lose rank in the step to ``t``, or soon."""
        approach = self.passages and self.passages.find(t, x, path)
        if not approach or not self.is_inside(approach.edge):
            return False
        if self.ahead is not None and abs(approach.singular - t_old) > abs(
                self.ahead.edge - t_old):
            return False                # not before the one that is known
        self.ahead = approach
        return True

    def is_inside(self, t):
        return self.forward*(self.span[1] - t) > 0

    def is_at_edge(self):
        """Whether the singular configuration ahead has been approached."""
        return self.ahead is not None and self.forward*(
            self.t - self.ahead.edge) >= 0

    def pass_through(self, rtol, atol, **_):
        """Pass a singular configuration, or approach it more closely."""
        ahead, self.ahead = self.ahead, None
        limit = self.kinks.next(self.t, self.span[1], rtol)
        with self.stopping():
            passage = self.passages.passage(ahead, self.checked_rates, limit)
        if passage is None:             # the constraints keep their rank
            return
        if isinstance(passage, Approach):
            self.ahead = passage
            return
        if passage.is_double and self.is_inside(passage.singular):
            raise self.stopped(
                Reason.NO_BRANCH, f"at t = {passage.singular:.6g} the "
                "constraints lose rank, and the velocity selects no branch: "
                "it vanishes there, or branches touch. The motion after it "
                "is not determined. Change the start or the constants "
                "slightly, or end the run before")
        end, path = self.end_of(passage, limit, rtol, atol)
        if end is None:
            self.ahead = ahead.nearer(self.t, passage.singular)
            if self.ahead is None:
                self.passages.clear(passage.end)
            return
        self.rank.turn()
        if self.tape is not None:
            self.tape.fault = ("It passes a singular configuration at t = "
                               f"{passage.singular:g}.")
        if self.is_inside(passage.singular):
            self.passed.append(float(passage.singular))
        self.accept(self.t, passage.end, end, path, path, path.derivative)

    def end_of(self, passage, limit, rtol, atol):
        t, y = passage.end, passage.path(passage.end)
        rounding = passage.rounding(
            self.passages.condition(self.t, self.last[:self.size]))
        if t == limit:
            is_exact = t == self.span[1] and passage.error(
                y, passage.lower(t), rounding, rtol, atol) <= 1
            return (y, passage.path) if is_exact else (None, None)
        try:                            # projection also removes noise
            end, lower = (self.projected(t, path(t))[0]
                          for path in (passage.path, passage.lower))
            rates = self.checked_rates(t, end)
        except Stop:
            return None, None
        if passage.leads_to(end, rates, rounding, self.compiled.motion) and (
                passage.error(end, lower, rounding, rtol, atol) <= 1):
            return end, passage.through(t, end, rates)
        return None, None

    # -- ends ------------------------------------------------------------

    def failure(self):
        return self.stopped_by(self.rates.trouble)

    # -- outputs ---------------------------------------------------------

    def record(self, t, y, rates=None):
        """Add an output; ``rates(t)`` where the equations give no rates."""
        self.record_all(np.array([t]), y[None], rates and rates(t))

    def record_all(self, t, y, rates=None):
        if self.first is not None and rates is None:    # all at once
            begin, state = self.first
            t, y = np.append(begin, t), np.vstack([state, y])
        is_exact = np.full(len(t), rates is None)
        if self.passed:                 # relative errors may be large there
            is_exact &= self.passages.condition(
                t, y[:, :self.size]) >= 2*self.passages.edge
        with self.stopping():
            try:
                self.records.add(t, y, is_exact, rates)
            except ConstrainedDynamicsError:
                if len(t) == 1:
                    raise
                self.first = None
                for k in range(len(t)):         # up to the one that fails
                    self.t, self.last = float(t[k]), y[k]
                    self.records.add(t[k:k + 1], y[k:k + 1], is_exact[k:k + 1])
        self.first = None

    def record_first(self):
        """Record the start of the run, unless steps have."""
        if self.first is not None:
            t, y = self.first
            self.first = None
            self.record(t, y)

    def record_due(self, t, state, rates):
        while self.times is not None and self.next_output < len(self.times):
            due = self.times[self.next_output]
            if self.forward*(due - t) > 0:
                return
            self.record(due, state(due), rates)
            self.next_output += 1

    def record_last(self):
        """Record the last accepted state of a run that ends early."""
        with suppress(Exception, KeyboardInterrupt):
            self.record_first()
        if self.records.last is None or (
                self.forward*(self.t - self.records.last) > 0):
            with suppress(Exception, KeyboardInterrupt):
                self.record(self.t, self.rates.begin if self.last is None
                            else self.last)

    def trajectory(self, reason, message, statistics) -> Trajectory:
        if reason is Reason.END and self.passed:
            message += (f" {len(self.passed)} singular configurations were "
                        "passed; see `passages`.")
        return self.records.trajectory(
            reason=reason, message=message,
            events=tuple(self.events.found),
            rank_changes=tuple(self.rank.changes),
            passages=tuple(self.passed), units=self.units,
            statistics={
                **statistics, 'unprojected': self.unprojected,
                'evaluations': self.evaluations + int(getattr(
                    self.solver, 'nfev', 0))},
            dense=DenseOutput(self.pieces) if self.pieces else None)
