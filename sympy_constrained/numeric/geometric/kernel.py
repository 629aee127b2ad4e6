"""Steps of a :class:`.Scheme`, compiled by numba.

Every phase is solved by Newton's iteration. Redundant rows make its matrix
singular in the impulses, so a small number is added to their diagonal: this
damps the change of impulses, and the solution remains the same.
"""
import numpy as np
from numba import njit

from ..integrate.loop import (
    factored, fill, inner, look_up, solve_factored)


# Newton steps in a phase; the matrix is made again where changes shrink less
# than SLOW. The iteration ends if the next change is expected to be below TINY
# relative to the states, or if changes below SMALL have ceased to shrink.
MOST, SLOW, TINY, SMALL = 50, 0.02, 1e-18, 1e-6
# Damping of impulses, relative to the usual size of their equations.
DAMPING = 1e-11
# The mark of an unknown that does not change in the first Newton step, and the
# diagonal that keeps it; that of a change, which is not damped.
LATER, FIXED, CHANGE = -2, 1e200, -3


@inner
def damp(J, guesses, is_first):
    """Add the damping to the diagonal."""
    n, mass = len(J), 0.
    for i in range(n):
        if guesses[i] >= 0:
            mass = max(mass, abs(J[i, i]))
    for i in range(n):
        if guesses[i] == LATER and is_first:
            J[i, i] = FIXED
        elif CHANGE < guesses[i] < 0:
            row = column = 0.
            for j in range(n):
                row, column = max(row, abs(J[i, j])), max(
                    column, abs(J[j, i]))
            J[i, i] += DAMPING*(row*column/mass if mass else 1.) + 1e-300


@inner
def solved(residual, slopes, t, x, p, first, guesses, size, out):
    """Solve a phase in place; number of evaluations, negative if it fails.
    """
    n = len(guesses)
    if not n:
        return 0
    J, rows, change = np.empty((n, n)), np.arange(n), np.empty(n)
    last, is_slow = np.inf, True
    for k in range(MOST):
        if is_slow:
            is_slow = k == 0 and guesses[n - 1] == LATER
            if slopes(t, x.ctypes.data, p, p, out.ctypes.data):
                return -k - 1
            for i in range(n):
                fill(J[i], out[n + i*n:])
            damp(J, guesses, k == 0)
            if factored(J, rows) == 0:
                return -k - 1
        elif residual(t, x.ctypes.data, p, p, out.ctypes.data):
            return -k - 1
        solve_factored(J, rows, out[:n], change)
        far = 0.
        for i in range(n):
            x[first + i] -= change[i]
            if guesses[i] >= 0:
                far = max(far, abs(change[i]))
                size = max(size, abs(x[first + i]))
        if not far < np.inf:
            return -k - 1
        rate = far/last if k else 1.
        if far*rate <= TINY*size or k > 0 and (
                rate > 0.5 and far <= SMALL*size):
            return k + 1
        is_slow = is_slow or k > 0 and rate > SLOW
        last = far
    return -MOST


@inner
def one(residual, slopes, residual_2, slopes_2, last, layout, guesses, p,
        nodes, tables, t, h, x, out):
    """One step of the scheme in place; evaluations, negative if it fails."""
    states, count = layout[0], layout[1]
    x[states] = h
    begin, size = states + 1, np.abs(x[:layout[4]]).max()
    for k in range(len(nodes) if count else 0):
        look_up(tables, count, t + nodes[k]*h)
        fill(x[begin:begin + count], tables)
        begin += count
    middle = begin + layout[2]
    made = solved(residual, slopes, t, x, p, begin, guesses[begin:middle],
                  size, out)
    if made < 0:
        return made
    more = solved(residual_2, slopes_2, t, x, p, middle, guesses[middle:],
                  size, out)
    if more < 0:
        return more - made
    if last(t, x.ctypes.data, p, p, out.ctypes.data):
        return -made - more
    fill(x[:states], out)
    return made + more


@inner
def guess(x, first, guesses, history, step, age):
    """Guess the unknowns of a step, by extrapolation after three steps."""
    for i in range(first, len(x)):
        if guesses[i] < 0 and (age < 3 or guesses[i] != CHANGE):
            x[i] = 0.
        elif age < 3:
            x[i] = x[guesses[i]]
        else:
            x[i] = 3*(history[(step + 2) % 3, i] - history[
                (step + 1) % 3, i]) + history[step % 3, i]


@njit(cache=True, nogil=True)
def advance(residual, slopes, residual_2, slopes_2, last, layout, guesses, p,
            nodes, tables, parts, origin, h, begin, age, x, history, states):
    """Fill the rows ``states`` by the ends of steps from ``x``; the numbers of
    steps and evaluations.

    The ``layout`` has the numbers of entries before ``h``, of tables, of the
    unknowns of both phases, and of states. The step number ``begin`` is the
    first. ``history`` are unknowns of the last three steps, ``age`` their
    number.
    """
    total, first = 0, layout[0] + 1 + len(nodes)*layout[1]
    out = np.empty(len(x)*(len(x) + 1))
    for i in range(len(states)):
        step = begin + i
        t = origin + step*h
        for k in range(len(parts)):
            guess(x, first, guesses, history[k], step, age + i)
            made = one(residual, slopes, residual_2, slopes_2, last, layout,
                       guesses, p, nodes, tables, t, parts[k]*h, x, out)
            total += abs(made)
            if made < 0:
                return i, total
            t += parts[k]*h
            fill(history[k, step % 3], x)
        fill(states[i], x)
    return len(states), total
