"""Time limits of what may take very long."""
from __future__ import annotations

import signal
import threading
from contextlib import contextmanager

__all__ = ['time_limit']


@contextmanager
def time_limit(seconds):
    """Raise TimeoutError after a time, where the platform can.

    It can in the main thread of a process that has interval timers.
    """
    if (threading.current_thread() is not threading.main_thread()
            or not hasattr(signal, 'setitimer')):
        yield
        return

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
