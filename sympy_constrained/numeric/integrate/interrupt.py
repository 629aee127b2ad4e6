"""Keyboard interrupts that are not lost."""
from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from warnings import warn

from ..outcome import Reason

__all__ = ['Interruption', 'interrupted']


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


def interrupted(run):
    """Reason and message of a run that the user ends; records its last state.
    """
    message = f"The run was interrupted at t = {run.t:.6g}."
    run.record_last()
    run.interruption.hold()
    try:
        warn(f"{message} What was computed is returned.", stacklevel=5)
    except UserWarning as warning:      # where warnings are errors
        run.raised = warning
    return Reason.INTERRUPTED, message
