"""A run of fixed steps, from the start to a trajectory."""
from __future__ import annotations

from warnings import warn

import numpy as np

from ...errors import (
    InconsistentConstraintsError, SingularEquationsError,
    UnsupportedFeatureError)
from ..integrate.ends import COMPILING, Stop, cause_of
from ..integrate.interrupt import Interruption
from ..integrate.rates import TROUBLE
from ..integrate.records import Records
from ..linear.rank_changes import CarriedRank
from ..trajectory import Reason
from .schemes import SCHEMES
from .steps import PARTS, Steps

__all__ = ['FixedRun', 'check_arguments']

BLOCK = 4096                    # steps between looks at interrupts
# A part of a step that is rounding, and the condition of a singular matrix.
NOTHING, SINGULAR = 1e-9, 1e12
NOT_SOLVED = (
    "the equations of a step were not solved. This usually means (a) a step "
    "that is too long, (b) a configuration where constraints lose rank, or "
    "(c) a massless direction. Pass a smaller `step`.")


def check_arguments(integrator, step, order, others):
    """Raise unless the arguments belong together.

    ``others`` maps names of arguments that have no meaning for fixed steps to
    whether they were given.
    """
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
    given = [f'`{name}`' for name, is_given in others.items() if is_given]
    if given:
        raise ValueError(
            f"{', '.join(given)}: `integrator={integrator!r}` makes fixed "
            "steps and has no place for this. Leave it out, or leave out "
            "`integrator`.")


def check_mass(compiled, t, x):
    """Raise if the mass matrix is singular."""
    M = compiled.evaluate(('M',), t, x)['M']
    size = np.sqrt(np.abs(M.diagonal()))
    if not size.all() or np.linalg.cond(M/np.outer(size, size)) > SINGULAR:
        raise UnsupportedFeatureError(
            "`integrator='discrete-gradient'` needs a regular mass matrix, "
            "and here it is singular: some speeds have no kinetic energy. "
            "Choose other speeds, give them mass, or pass another "
            "integrator.")


class FixedRun:
    """One run; ``x`` are the states at the start."""

    def __init__(self, compiled, span, x, times, integrator, step, order, *,
                 units, max_steps):
        self.compiled, self.units, self.max_steps = compiled, units, max_steps
        self.t, self.end = span
        self.count = max(int(np.ceil(
            abs(self.end - self.t)/step - NOTHING)), 1)
        self.h = (self.end - self.t)/self.count
        self.origin, self.raised = self.t, None
        due = np.arange(self.count + 1) if times is None else (
            times - self.t)/self.h
        near = np.abs(due - np.rint(due)) < NOTHING
        self.due = np.where(near, np.rint(due), due)
        self.times = times if times is not None else np.append(
            self.t + self.h*np.arange(self.count), self.end)
        if integrator == 'discrete-gradient':
            check_mass(compiled, self.t, x)
        self.steps = Steps(compiled, integrator, order)
        n = len(x)
        self.steps.x[:n] = x
        if compiled.has('energy'):
            self.steps.x[n + 1] = compiled.energy(self.t, x)
        self.records = Records(compiled, CarriedRank(compiled, self.t, x),
                               True)
        self.interruption = Interruption()
        self.found = self.made = self.evaluations = 0

    def integrate(self, progress):
        """Make the steps; return the trajectory."""
        with np.errstate(under='ignore'), self.interruption:
            reason, message = self._ending(progress)
            self.interruption.hold()
            progress.close()
            return self.records.trajectory(
                reason=reason, message=message, units=self.units,
                statistics={'steps': self.made, 'step': abs(self.h),
                            'evaluations': self.evaluations,
                            'seconds': progress.seconds})

    def _ending(self, progress):
        """Make the steps; the reason of their end, and its message."""
        try:
            if self.count > self.max_steps:
                raise self.stopped(
                    Reason.STEPS, f"the run needs {self.count} steps, and "
                    f"`max_steps` is {self.max_steps:g}. Pass a longer "
                    "`step`, or a larger `max_steps`")
            if not self.steps.is_compiled:
                progress.say(COMPILING)
            while self.made < self.count:
                with self.interruption.deferred():
                    self.block(min(BLOCK, self.count - self.made))
                progress.update(self.t)
                self.interruption.check()
        except Stop as stop:
            return stop.reason, stop.message
        except KeyboardInterrupt:
            message = f"The run was interrupted at t = {self.t:.6g}."
            try:
                warn(f"{message} What was computed is returned.",
                     stacklevel=4)
            except UserWarning as warning:      # where warnings are errors
                self.raised = warning
            return Reason.INTERRUPTED, message
        return Reason.END, Reason.END.value

    def block(self, count):
        """Make some steps, and record what is due."""
        steps, begin = self.steps, self.made
        before = steps.x[:steps.states].copy()
        ends, evaluations = steps.advance(self.origin, self.h, begin, count)
        self.made += len(ends)
        self.evaluations += evaluations
        self.t = self.origin + self.made*self.h
        states = np.vstack([before, ends])
        last = np.searchsorted(self.due, self.made, 'right')
        due = self.due[self.found:last]
        whole = due.astype(int)
        found = states[whole - begin]
        for i in np.flatnonzero(due > whole):
            found[i], evaluations = steps.within(
                self.origin + whole[i]*self.h, self.h, due[i] - whole[i],
                found[i])
            self.evaluations += evaluations
        self.record(self.times[self.found:last], found)
        self.found = last
        if len(ends) < count:
            if self.records.last != self.t:
                self.record(np.array([self.t]), states[-1:])
            raise self.stopped(Reason.NOT_SOLVED, NOT_SOLVED)

    def record(self, t, states):
        """Add outputs, or end the run where the equations have none."""
        if not len(t):
            return
        try:
            self.add(t, states)
        except TROUBLE as trouble:
            raise self.stopped(*cause_of(
                trouble, self.compiled.equations.when_singular)) from trouble
        except InconsistentConstraintsError as error:
            raise self.stopped(Reason.CONTRADICTION, str(error)) from error

    def add(self, t, states):
        """Add outputs.

        The rates are those of the equations, or differences of neighbouring
        states where constraints lose rank.
        """
        y = states[:, :-1]
        try:
            self.records.add(t, y, np.zeros(len(t), dtype=bool))
        except SingularEquationsError:
            if len(t) > 1:
                for k in range(len(t)):
                    self.add(t[k:k + 1], states[k:k + 1])
                return
            ends = [self.steps.within(t[0], self.h, part, states[0])[0]
                    for part in (-1, 1)]
            if ends[0] is None or ends[1] is None:
                raise
            rates = (ends[1] - ends[0])[:-2]/(2*self.h)
            self.records.add(t, y, np.zeros(1, dtype=bool), rates)

    def stopped(self, reason, text):
        return Stop(reason, f"Integration stopped at t = {self.t:.6g}: "
                            f"{text.rstrip('.')}.")
