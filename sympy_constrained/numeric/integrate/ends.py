"""Why runs end early."""
from ...errors import NotFiniteError, SingularEquationsError
from ..outcome import Reason


# Errors of states for which the integrator shortens its step.
TROUBLE = SingularEquationsError, NotFiniteError

# The pace is checked after so many steps or more. A step in Python may take
# 15 ms.
PACE = 2000
# A run ends after so many steps in a row shorter than HARDLY of the time.
STALLED, HARDLY = 200, 1e-14

COMPILING = ("Compiling the loop of the integrator, once on this computer. "
             "This takes about half a minute.")

USUALLY = (
    "This usually means (a) a configuration where constraints lose rank, "
    "(b) a massless direction, or (c) quasi-velocities that are not "
    "independent here.")

SLOW = (
    ". This usually means (a) a length, a mass or another constant that is "
    "zero or very small, so that the model moves very fast, (b) a stiff "
    "model, for which `method='Rodas5P'` is made, (c) a force that jumps, as "
    "dry friction where sliding ends: stop there by an event, or make it "
    "smooth, or (d) a short `max_step` or small tolerances. Correct these, "
    "shorten `t_span`, or pass a larger `max_steps`")


class Stop(Exception):
    """Ends a run with a reason and a sentence with its circumstances."""

    def __init__(self, reason, message):
        super().__init__(reason, message)
        self.reason, self.message = reason, message


class Pace:
    """Estimates whether an integration ends within ``max_steps``."""

    def __init__(self, max_steps, start, end):
        self.max_steps, self.start, self.end = max_steps, start, end
        self.mark, self.stalled = (0, start), 0

    def left(self, steps):
        """How many steps may be made."""
        return max(self.max_steps - steps, 1)

    def fault(self, steps, t):
        """A problem with the pace after a step, None if there is none."""
        before, last = self.mark
        made, advance = steps - before, abs(t - last)
        if made < PACE and steps < self.max_steps or not made:
            return None
        self.mark = steps, t
        more = made*abs(self.end - t)/advance
        if steps + more <= self.max_steps:
            return None
        return (f"the last {made} steps advanced by {advance:.1g}, so the "
                f"end needs {more:.0e} more, and `max_steps` is "
                f"{self.max_steps:g}")

    def is_stalled(self, t_old, t):
        size = max(abs(t), abs(self.end - self.start))
        self.stalled += 1
        if abs(t - t_old) > HARDLY*size:
            self.stalled = 0
        return self.stalled > STALLED


def cause_of(trouble, when_singular):
    """Reason and text for an integrator that gave up."""
    if isinstance(trouble, SingularEquationsError):
        return Reason.SINGULAR, (
            "the equations became singular (reciprocal condition "
            f"{trouble.condition:.0e}). {when_singular or USUALLY}")
    if trouble is not None:
        return Reason.NOT_FINITE, str(trouble)
    return Reason.STEP_SIZE, (
        "the integrator needs smaller steps than numbers allow. This usually "
        "means (a) a solution that grows without bound, (b) forces that jump, "
        "or (c) a stiff model, for which `method='Rodas5P'` is made.")
