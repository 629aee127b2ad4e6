"""A run whose steps are made in compiled blocks."""
from __future__ import annotations

from contextlib import suppress
from time import perf_counter

import numpy as np

from ...errors import ConstrainedDynamicsError
from ..outcome import Reason
from .ends import Stop
from .interrupt import Interruption, interrupted

__all__ = ['BlockRun']

# Steps in the first block, and in any. A block is twice as long as the last
# one if that was QUICK, in seconds, else half as long.
FIRST, LONGEST, QUICK = 64, 4096, 0.1


class BlockRun:
    """The part of a run that does not depend on its steps.

    A subclass has the time ``t``, the ``end``, the numbers ``made`` of steps
    and of ``evaluations``, and the functions ``begin``, ``block``,
    ``add_last`` and ``trajectory``.
    """

    longest = LONGEST

    def __init__(self):
        self.interruption, self.raised = Interruption(), None
        self.made = self.evaluations = 0

    def integrate(self, progress):
        """Make the steps; return the trajectory."""
        with np.errstate(under='ignore'), self.interruption:
            reason, message = self._ending(progress)
            self.interruption.hold()
            progress.close()
            return self.trajectory(reason, message, {
                'steps': self.made, 'evaluations': self.evaluations,
                'seconds': progress.seconds})

    def _ending(self, progress):
        """Make the steps; the reason of their end, and its message."""
        try:
            self.begin(progress)
            length = min(FIRST, self.longest)
            while self.t != self.end:
                begun = perf_counter()
                with self.interruption.deferred():
                    self.block(length)
                length = min(2*length, self.longest) if (
                    perf_counter() - begun < QUICK) else max(length//2, 1)
                progress.update(self.t)
                self.interruption.check()
        except Stop as stop:
            self.record_last()
            return stop.reason, stop.message
        except KeyboardInterrupt:
            return interrupted(self)
        return Reason.END, Reason.END.value

    def record_last(self):
        """Record the last state of a run that ends early."""
        with suppress(ConstrainedDynamicsError, Stop):
            self.add_last()

    def stopped(self, reason, text):
        return Stop(reason, f"Integration stopped at t = {self.t:.6g}: "
                            f"{text.rstrip('.')}.")
