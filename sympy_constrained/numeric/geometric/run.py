"""A run of fixed steps, from the start to a trajectory."""
import numpy as np

from ...errors import SingularEquationsError, UnsupportedFeatureError
from ..integrate.runs import BlockRun
from ..integrate.ends import COMPILING
from ..integrate.records import Records
from ..linear.rank_changes import CarriedRank
from ..outcome import Reason
from .schemes import SCHEMES
from .steps import PARTS, Steps


# A part of a step that is rounding, and the condition of a singular matrix.
NOTHING, SINGULAR = 1e-9, 1e12
NOT_SOLVED = (
    "the equations of a step were not solved. This usually means (a) a step "
    "that is too long, (b) a configuration where constraints lose rank, or "
    "(c) a massless direction. Pass a smaller `step`.")


def check_arguments(integrator, step, order, others):
    """Raise unless arguments fit. ``others``: name -> whether it is given."""
    if integrator is None:
        if step is not None or order != 2:
            raise ValueError(
                "`step` and `order` belong to `integrator`, which is "
                f"missing. Choose one of {', '.join(SCHEMES)}.")
        return
    if integrator not in SCHEMES:
        raise ValueError(
            f"`integrator` {integrator!r} is not known; choose one of "
            f"{', '.join(SCHEMES)}.")
    if step is None:
        raise ValueError(
            f"`integrator={integrator!r}` makes steps of a fixed length. "
            "Give it as `step`, such as 1/50 of the shortest period.")
    if order not in PARTS:
        raise ValueError(
            f"`order` is {order!r}; choose 2, 4 or 6.")
    if integrator == 'gni' and order != 2:
        raise ValueError(
            f"`integrator='gni'` has order 2, and `order` is {order}. Use "
            "'lagrange-dalembert' for higher orders.")
    given = [f'`{name}`' for name, is_given in others.items() if is_given]
    if given:
        raise ValueError(
            f"{', '.join(given)}: `integrator={integrator!r}` makes fixed "
            "steps and has no place for this. Leave it out, or leave out "
            "`integrator`.")


def check_mass(compiled, t, x):
    M = compiled.evaluate(('M',), t, x)['M']
    size = np.sqrt(np.abs(M.diagonal()))
    if not size.all() or np.linalg.cond(M/np.outer(size, size)) > SINGULAR:
        raise UnsupportedFeatureError(
            "`integrator='discrete-gradient'` needs a regular mass matrix, "
            "and here it is singular: some speeds have no kinetic energy. "
            "Choose other speeds, give them mass, or pass another "
            "integrator.")


class FixedRun(BlockRun):
    """One run; ``x`` are the states at the start."""

    def __init__(self, compiled, span, x, times, integrator, step, order, *,
                 units, max_steps):
        super().__init__()
        self.compiled, self.units, self.max_steps = compiled, units, max_steps
        self.origin, self.end, self.times = *span, times
        self.count = max(int(np.ceil(
            abs(self.end - self.origin)/step - NOTHING)), 1)
        self.h = (self.end - self.origin)/self.count
        if integrator == 'discrete-gradient':
            check_mass(compiled, self.origin, x)
        self.steps = Steps(compiled, integrator, order)
        n = len(x)
        self.steps.x[:n] = x
        if compiled.has('energy'):
            self.steps.x[n + 1] = compiled.energy(self.origin, x)
        self.last = self.steps.x[:self.steps.states].copy()     # accepted
        self.size = n
        self.records = Records(
            compiled, CarriedRank(compiled, self.origin, x), True)
        self.found = 0

    @property
    def t(self):
        return self.end if self.made == self.count else (
            self.origin + self.made*self.h)

    def trajectory(self, reason, message, statistics):
        return self.records.trajectory(
            reason=reason, message=message, units=self.units,
            statistics={**statistics, 'step': abs(self.h)})

    def begin(self, progress):
        if self.count > self.max_steps:
            raise self.stopped(
                Reason.STEPS, f"the run needs {self.count} steps, and "
                f"`max_steps` is {self.max_steps:g}. Pass a longer `step`, "
                "or a larger `max_steps`")
        if not self.steps.is_compiled:
            progress.say(COMPILING)
        self.find_carried()
        if self.times is None:
            self.times = self.origin + self.h*np.arange(self.count + 1)
            self.times[-1] = self.end
        due = (self.times - self.origin)/self.h
        near = np.abs(due - np.rint(due)) < NOTHING
        self.due = np.where(near, np.rint(due), due)

    def find_carried(self):
        """Set the forces of the start that are carried from step to step.

        Half of the impulse of a step acts at its end. Without a force at the
        start that is all of it, so its force is twice the one in the middle;
        the mean of a step forwards and one backwards is that of the start.
        """
        carried = slice(self.size + 2, None)
        if len(self.last[carried]):
            self.last[carried] = sum(
                self.within(self.origin, part, self.last)[carried]
                for part in (-1, 1))/4
            self.steps.x[:self.steps.states] = self.last

    def block(self, count):
        begin, due = self.made, self.due
        count = min(count, self.count - begin)
        ends, evaluations = self.steps.advance(
            self.origin, self.h, begin, count)
        states = np.vstack([self.last, ends])
        self.made, self.last = begin + len(ends), states[-1]
        self.evaluations += evaluations
        last = np.searchsorted(due, self.made, 'right')
        here = due[self.found:last]
        whole = here.astype(int)
        states = states[whole - begin]
        for i in np.flatnonzero(here > whole):
            states[i] = self.within(self.origin + whole[i]*self.h,
                                    here[i] - whole[i], states[i])
        if len(states):
            with self.stopping():
                self.add(self.times[self.found:last], states)
        self.found = last
        if len(ends) < count:
            raise self.stopped(Reason.NOT_SOLVED, NOT_SOLVED)

    def within(self, t, part, state):
        end, evaluations = self.steps.within(t, self.h*part, state)
        self.evaluations += evaluations
        if end is None:
            raise self.stopped(Reason.NOT_SOLVED, NOT_SOLVED)
        return end

    def add(self, t, states):
        """Add outputs; rates are differences where constraints lose rank."""
        y = states[:, :self.size + 1]
        try:
            self.records.add(t, y, is_exact=False)
        except SingularEquationsError:
            if len(t) > 1:
                for k in range(len(t)):
                    self.add(t[k:k + 1], states[k:k + 1])
                return
            before, after = (self.within(t[0], part, states[0])
                             for part in (-1, 1))
            self.records.add(
                t, y, False, (after - before)[:self.size]/(2*self.h))

    def add_last(self):
        if self.records.last != self.t:
            self.add(np.array([self.t]), self.last[None])
