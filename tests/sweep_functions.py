"""What a sweep is asked to do in other processes: plain functions."""
import os
import signal
import time
from multiprocessing import parent_process
from threading import Thread

from sympy_constrained.numeric import consistent_state, sweep


def last_state(compiled, trajectory):
    return trajectory.x[-1]


def fails(compiled, trajectory):
    raise ZeroDivisionError('of a motion')


def complex_state(compiled, trajectory):
    return complex(trajectory.x[-1, 0], trajectory.x[-1, 1])


def first_number(compiled, start):
    return float(start[0])


def energy(compiled, start):
    return compiled.energy(0., start)


def length(compiled):
    return float(compiled.p[list(map(str, compiled.constants)).index('l')])


def level_start(compiled):
    """A pendulum that starts level, whatever its length."""
    return consistent_state(compiled, [length(compiled), 0, 0, 0])


def dies_at_seven(compiled, start):
    """Takes its process along."""
    if start[0] == 7:
        os._exit(1)
    return float(start[0])


def kills_itself_at_seven(compiled, start):
    """As the system does for want of memory."""
    if start[0] == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(start[0])


def interrupts(compiled, start):
    """As the keyboard does, while the fifth run is made."""
    if start[0] == 4:
        for _ in range(20):             # Python may swallow the first
            os.kill(parent_process().pid, signal.SIGINT)
            time.sleep(30)
    return float(start[0])


def leaves_a_thread(compiled, start):
    """Keeps its process from ending."""
    Thread(target=time.sleep, args=(600,)).start()
    return float(start[0])


def twice(compiled, value):
    return 2*value


class Broken:
    """What can be sent and cannot be read."""

    def __reduce__(self):
        return fails, (None, None)


def do_not_travel(compiled, start):
    """What cannot be sent, what is too deep, and what cannot be read."""
    found = number = float(start[0])
    if number == 3:
        return lambda: 3
    if number == 7:
        return Broken()
    for _ in range(100000 if number == 5 else 0):
        found = [found]
    return found


def sweeps(compiled, start):
    """A sweep within a run."""
    found = sweep(compiled, None, [start, 2*start], 1, run=first_number)
    return found.values()


def waits(compiled, start):
    time.sleep(0.05)
    return float(start[0])


def refuses_seven(compiled, start):
    if start[0] == 7:
        raise ZeroDivisionError('seven')
    return float(start[0])


def refuses_some(compiled, start):
    return 1/max(0, start[0] - 6)


def soon(action, seconds):
    """Do something from another thread."""
    def wait():
        time.sleep(seconds)
        action()

    Thread(target=wait, daemon=True).start()
