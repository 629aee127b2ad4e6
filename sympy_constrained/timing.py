"""Processor time of derivations and calls, and time limits.

The benchmarks measure with these, too.
"""
import os
import signal
import threading
import time
from contextlib import contextmanager
from math import inf
from statistics import median


def processor_time():
    """Seconds used by this process and by children it has waited for."""
    used = os.times()
    return time.process_time() + used.children_user + used.children_system


def clock_step():
    """The step of the clock of processor time, 15 ms on some systems."""
    now = began = time.process_time()
    while now == began:
        now = time.process_time()
    return now - began


def per_call(function, least=0.15, rounds=5, longest=inf):
    """Processor time of one call: the median of rounds.

    A round has as many calls as take ``least`` seconds, or ten steps of the
    clock; no round begins after ``longest`` seconds.
    """
    calls, spent, least = 1, [], max(least, 10*clock_step())
    while not spent or len(spent) < rounds and sum(spent) < longest:
        began = time.process_time()
        for _ in range(calls):
            function()
        seconds = time.process_time() - began
        if not spent and seconds < least:
            calls *= 2
        else:
            spent.append(seconds)
    return median(spent)/calls


@contextmanager
def time_limit(seconds):
    """Raise TimeoutError after so much processor time of this process.

    Only in a main thread, where the platform has timers. Timers of processor
    time are not used: Linux then reads that time at its ticks only.
    """
    if (threading.current_thread() is not threading.main_thread()
            or not hasattr(signal, 'setitimer')):
        yield
        return

    def stop(*_):
        left = seconds - (processor_time() - began)
        if left <= 0:
            raise TimeoutError(
                f'took more than {seconds} s of processor time')
        signal.setitimer(signal.ITIMER_REAL, left)

    began = processor_time()
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
