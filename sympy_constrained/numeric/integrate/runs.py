"""What all runs do: make steps up to an end, and be interrupted."""
import signal
import threading
from contextlib import contextmanager, suppress
from time import perf_counter

import numpy as np

from ...errors import (
    ConstrainedDynamicsError, InconsistentConstraintsError, warn)
from ..outcome import Reason
from .ends import TROUBLE, Stop, cause_of


# Steps in the first block, and in any. A block is twice as long as the last
# one if that was QUICK, in seconds, else half as long.
FIRST, LONGEST, QUICK = 64, 4096, 0.1


class Interruption:
    """Remembers that the user has asked to stop.

    Python drops a ``KeyboardInterrupt`` in a destructor; :meth:`check` raises
    it again. A handler that the user has installed stays in place.
    """

    def __enter__(self):
        self.asked = self._is_held = False
        self._is_ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        if self._is_ours:
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *error):
        if self._is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _handle(self, number, frame):
        self.asked = True
        if not self._is_held:
            signal.default_int_handler(number, frame)

    @contextmanager
    def deferred(self):
        """Leave interrupts to :meth:`check`; compiled code cannot raise."""
        self._is_held = True
        yield
        self._is_held = False

    def check(self):
        """Raise if the user has asked to stop."""
        if self.asked:
            raise KeyboardInterrupt

    def hold(self):
        """Raise nothing from now on."""
        self._is_held = True


class Integration:
    """A run from its start to a trajectory.

    A subclass has the time ``t`` and the functions ``make_steps``,
    ``record_last``, for runs that end early, and ``trajectory``; it counts the
    ``made`` steps and the ``evaluations``. ``raised`` is an error of a
    function of the user, or a warning that is an error.
    """

    def __init__(self):
        self.interruption, self.raised = Interruption(), None
        self.made = self.evaluations = 0

    def integrate(self, progress, *arguments, **options):
        """Make the steps; return the trajectory."""
        reason, message = Reason.END, Reason.END.value
        with np.errstate(under='ignore'), self.interruption:
            try:
                self.make_steps(progress, *arguments, **options)
            except Stop as stop:
                self.record_last()
                reason, message = stop.reason, stop.message
            except KeyboardInterrupt:
                reason, message = Reason.INTERRUPTED, self.interrupted()
            self.interruption.hold()
            progress.close()
            return self.trajectory(reason, message, {
                'steps': self.made, 'evaluations': self.evaluations,
                'seconds': progress.seconds})

    def interrupted(self):
        """Record the last state of a run that the user ends, and warn."""
        message = f"The run was interrupted at t = {self.t:.6g}."
        self.record_last()
        self.interruption.hold()
        try:
            warn(f"{message} What was computed is returned.")
        except UserWarning as warning:      # where warnings are errors
            self.raised = warning
        return message

    @contextmanager
    def stopping(self):
        """Turn exceptions of the equations into the end of the run."""
        try:
            yield
        except TROUBLE as trouble:
            raise self.stopped_by(trouble) from trouble
        except InconsistentConstraintsError as error:
            raise self.stopped(Reason.CONTRADICTION, str(error)) from error
        except ConstrainedDynamicsError as error:       # no rank, no motion
            raise self.stopped(Reason.SINGULAR, str(error)) from error

    def stopped_by(self, trouble):
        return self.stopped(*cause_of(
            trouble, self.compiled.equations.when_singular))

    def stopped(self, reason, text):
        return Stop(reason, f"Integration stopped at t = {self.t:.6g}: "
                            f"{text.rstrip('.')}.")


class BlockRun(Integration):
    """A run whose steps are made in compiled blocks.

    A subclass has the ``end`` and the functions ``begin``, ``block`` and
    ``add_last``.
    """

    longest = LONGEST

    def make_steps(self, progress):
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

    def record_last(self):
        """Record the last state of a run that ends early."""
        with suppress(ConstrainedDynamicsError, Stop):
            self.add_last()
