"""What a sweep is asked to do in other processes: plain functions."""
import os
import time
from threading import Thread

from sympy_constrained.numeric import consistent_state


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


def waits(compiled, start):
    time.sleep(0.05)
    return float(start[0])


def refuses_seven(compiled, start):
    if start[0] == 7:
        raise ZeroDivisionError('seven')
    return float(start[0])


def soon(action, seconds):
    """Do something from another thread."""
    def wait():
        time.sleep(seconds)
        action()

    Thread(target=wait, daemon=True).start()
