"""Interruptions by the keyboard that are never lost."""
from __future__ import annotations

import signal
import threading

__all__ = ['Interruption']


class Interruption:
    """Remembers that the user has asked to stop.

    Explanation
    ===========

    Python raises ``KeyboardInterrupt`` wherever it happens to be, and where
    that is a destructor the exception is dropped. Within a ``with`` block of
    this class the wish is also kept, and :meth:`check` raises it again. After
    :meth:`hold` nothing is raised any more, while results are put together,
    until :meth:`release`. A handler that the user has installed is left alone.
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

    def check(self):
        """Raise if the user has asked."""
        if self.asked:
            raise KeyboardInterrupt

    def hold(self):
        """Let what is left be done."""
        self._is_held = True

    def release(self):
        """Raise again from now on, and if the user has asked meanwhile."""
        self._is_held = False
        self.check()
