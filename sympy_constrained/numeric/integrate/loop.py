"""Explicit Runge-Kutta steps with projection, compiled by numba.

Machine code of the equations is called by its address, so the loop does not
enter Python. Methods, error norms and step sizes are those of SciPy [1]_, with
a projection of every accepted step and output.

References
==========

.. [1] E. Hairer, S. P. Norsett and G. Wanner, "Solving Ordinary Differential
   Equations I," Springer (1993), sections II.4 to II.6 and II.10.

"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.experimental import function_type  # noqa: F401 - enables `Code`
from numpy.polynomial.polynomial import polymul
from scipy.integrate import DOP853

from ..manifold.projection import CLOSE, ROUNDING

__all__ = ['Code', 'Tableau', 'make_steps', 'interpolant', 'tableau_of',
           'FULL', 'END', 'TROUBLE']

# Why the loop returns: all records are full, the end is reached, or the next
# step is not ordinary.
FULL, END, TROUBLE = range(3)
# Step sizes, as in SciPy.
SAFETY, LEAST, MOST = 0.9, 0.2, 10.
# Newton steps of a projection at each level, and a distance that further
# steps hardly improve.
NEWTON, GOOD = 4, 4*CLOSE
# A projection moves a state about as far as it is from the constraints; see
# the module `stepper`.
JUMP, NEAR, NOTHING = 1e5, 1e-6, 1e-15
SIGNATURE = types.int32(types.float64, types.uintp, types.uintp, types.uintp,
                        types.uintp)


class Code(types.WrapperAddressProtocol):
    """A function in machine code, for numba."""

    def __init__(self, function):
        self.function = function

    def __wrapper_address__(self):
        return self.function.address

    def signature(self):
        return SIGNATURE


class Tableau(NamedTuple):
    """An embedded explicit method with a continuous extension.

    The stages are followed by the one at the end of the step, and by those
    that only the extension needs: ``y(t + s*h) = y + h*sum_j s**(j + 1) *
    sum_k extension[k, j]*K[k]``. The error is that of Dormand and Prince's
    method of order 8; other methods have no second estimate.
    """

    stages: int
    exponent: float
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    error: np.ndarray
    second_error: np.ndarray
    extension: np.ndarray


def tableau_of(method):
    """The :class:`Tableau` of an explicit method of SciPy."""
    size = method.n_stages
    more = method.A_EXTRA if method is DOP853 else np.zeros((0, size + 1))
    count = size + 1 + len(more)
    a = np.zeros((count, count))
    a[:size, :method.A.shape[1]] = method.A[:size, :size]
    a[size, :size] = method.B
    a[size + 1:, :more.shape[1]] = more
    c = np.concatenate([method.C[:size], [1.], method.C_EXTRA if len(more)
                        else []])
    if method is DOP853:
        errors, extension = (method.E5, method.E3), dop853_extension(count)
    else:
        errors = method.E, np.zeros(size + 1)
        extension = np.ascontiguousarray(method.P)
    return Tableau(size, -1/(method.error_estimator_order + 1), a, method.B,
                   c, *errors, extension)


def dop853_extension(count):
    """Powers of ``s`` in the extension, by stage, shape (count, 7)."""
    parts = np.zeros((7, count))
    parts[0, :12] = DOP853.B
    parts[1] = -parts[0]
    parts[1, 0] += 1
    parts[2] = 2*parts[0]
    parts[2, [0, 12]] -= 1
    parts[3:] = DOP853.D
    powers, polynomial = np.zeros((7, 8)), [1.]
    for k in range(7):
        polynomial = polymul(polynomial, [1, -1] if k % 2 else [0, 1])
        powers[k, :len(polynomial)] = polynomial
    return np.ascontiguousarray(parts.T@powers[:, 1:])


@njit(cache=True, nogil=True)
def size_of(x):
    size = 1.
    for value in x:
        size = max(size, abs(value))
    return size


@njit(cache=True, nogil=True)
def is_bad(function, t, x, p, out):
    """Call machine code, which has no inputs from Python."""
    at = p.ctypes.data
    return function(t, x.ctypes.data, at, at, out.ctypes.data)


@njit(cache=True, nogil=True)
def stage(rates, p, t, h, y, a, K, k, trial, out):
    """Rates ``K[k]`` at a stage; returns whether they are good."""
    n = len(y)
    for i in range(n):
        change = 0.
        for j in range(k):
            change += a[k, j]*K[j, i]
        trial[i] = y[i] + h*change
    if is_bad(rates, t, trial, p, out):
        return False
    K[k] = out[:n]
    return True


@njit(cache=True, nogil=True)
def projected(correct, p, t, x, levels, out):
    """Project ``x`` in place; its relative distance before and after.

    ``levels`` are the numbers of coordinates, of speeds, of independent rows
    of both, and of other rows.
    Without success the distance after is negative.
    """
    q, u, holonomic, velocity, others = levels
    rows = q + u
    last_row = rows + holonomic + velocity + others
    if is_bad(correct, t, x, p, out):
        return 0., -1.
    before = out[rows:last_row].max()/size_of(x[:rows])
    for first, count, row, number in (
            (0, q, rows, holonomic), (q, u, rows + holonomic, velocity)):
        last = np.inf
        for k in range(NEWTON + 1):
            far = 0.
            for i in range(row, row + number):
                far = max(far, out[i])
            far /= size_of(x[first:first + count])
            if far <= GOOD or (far < ROUNDING and far > last/2):
                break
            if k == NEWTON:
                return before, -1.
            last = far
            for i in range(first, first + count):
                x[i] += out[i]
            if is_bad(correct, t, x, p, out):
                return before, -1.
    after = out[rows:last_row].max()/size_of(x[:rows])
    return before, after if after <= ROUNDING else -1.


@njit(cache=True, nogil=True)
def accepted(correct, p, t, x, levels, moved, out):
    """Project ``x`` to ``moved``; the distance, negative if it jumps."""
    moved[:] = x
    if levels[2:].sum() == 0:
        return 0.
    before, after = projected(correct, p, t, moved, levels, out)
    n = levels[0] + levels[1]
    change = np.abs(moved[:n] - x[:n]).max()/size_of(x[:n])
    if change > JUMP*max(before, NOTHING) and before < NEAR:
        return -1.
    return after


@njit(cache=True, nogil=True)
def interpolant(rates, p, tableau, t, h, y, K, trial, out):
    """Coefficients of the powers 1, 2, ... of the part of a step, and whether
    they are good.
    """
    for k in range(tableau.stages + 1, len(tableau.c)):
        if not stage(rates, p, t + tableau.c[k]*h, h, y, tableau.a, K, k,
                     trial, out):
            return np.zeros((0, 0)), False
    return h*(tableau.extension.T@K), True


@njit(cache=True, nogil=True)
def error_of(tableau, K, h, y, new, rtol, atol):
    """The error of a step, relative to the tolerances."""
    first = second = 0.
    for i in range(len(y)):
        scale = atol + rtol*max(abs(y[i]), abs(new[i]))
        one = two = 0.
        for k in range(tableau.stages + 1):
            one += tableau.error[k]*K[k, i]
            two += tableau.second_error[k]*K[k, i]
        first += (one/scale)**2
        second += (two/scale)**2
    if first == 0 and second == 0:
        return 0.
    return abs(h)*first/np.sqrt((first + 0.01*second)*len(y))


@njit(cache=True, nogil=True)
def one_step(rates, p, tableau, rtol, atol, t, y, end, h, K, new, out):
    """The stages ``K`` and the end ``new`` of a step within the tolerances.

    Returns its time, the size of the next step, and the evaluations; no size
    if there is no such step.
    """
    forward = np.sign(end - t)
    least = 10*abs(np.nextafter(t, forward*np.inf) - t)
    evaluations, is_shorter = 0, False
    while h >= least:
        t_new = t + forward*h
        if forward*(t_new - end) > 0:
            t_new = end
        signed = t_new - t
        h = abs(signed)
        for k in range(1, tableau.stages + 1):      # the last is the end
            if not stage(rates, p, t + tableau.c[k]*signed, signed, y,
                         tableau.a, K, k, new, out):
                return t, 0., evaluations
        evaluations += tableau.stages
        error = error_of(tableau, K, signed, y, new, rtol, atol)
        if error < 1:
            factor = MOST if error == 0 else min(
                MOST, SAFETY*error**tableau.exponent)
            return t_new, h*(
                min(1., factor) if is_shorter else factor), evaluations
        if not error < np.inf:
            break
        h *= max(LEAST, SAFETY*error**tableau.exponent)
        is_shorter = True
    return t, 0., evaluations


@njit(cache=True, nogil=True)
def between(part, y, powers, new):
    """The interpolant at a part of a step."""
    for i in range(len(y)):
        change = 0.
        for j in range(len(powers) - 1, -1, -1):
            change = part*(change + powers[j, i])
        new[i] = y[i] + change


@njit(cache=True, nogil=True)
def make_steps(rates, p_rates, correct, p_correct, tableau, levels, size,
               rtol, atol, max_step, end, h, T, Y, F, K, drift, times, states):
    """Make steps from ``T[0]``, ``Y[0]`` with the rates ``F[0]`` to ``end``.

    ``rates`` and ``correct`` are the machine code of the rates, whose
    ``size`` outputs begin with them, and of the projection. Accepted steps
    fill ``T``, ``Y``, ``F``, their stages ``K`` and their distances from the
    constraints ``drift``; outputs at ``times`` fill ``states``.

    Returns the reason, the numbers of steps, outputs and evaluations, and the
    size of the next step.
    """
    n, stages, forward = Y.shape[1], tableau.stages, np.sign(end - T[0])
    out = np.empty(max(size, levels.sum()))
    trial, new = np.empty(n), np.empty(n)
    due = evaluations = 0
    for step in range(len(drift)):
        t, y, made, moved = T[step], Y[step], K[step], Y[step + 1]
        made[0] = F[step]
        t_new, following, count = one_step(
            rates, p_rates, tableau, rtol, atol, t, y, end, min(h, max_step),
            made, new, out)
        evaluations += count
        if following == 0:
            return TROUBLE, step, due, evaluations, h
        drift[step] = accepted(
            correct, p_correct, t_new, new, levels, moved, out)
        if drift[step] < 0:
            return TROUBLE, step, due, evaluations, h
        F[step + 1] = made[stages]
        if not np.all(moved == new):
            evaluations += 1
            if is_bad(rates, t_new, moved, p_rates, out):
                return TROUBLE, step, due, evaluations, h
            F[step + 1] = out[:n]
        before, powers = due, np.zeros((0, 0))
        while due < len(times) and forward*(times[due] - t_new) <= 0:
            if due == before:
                powers, is_good = interpolant(
                    rates, p_rates, tableau, t, t_new - t, y, made, trial, out)
                evaluations += len(tableau.c) - stages - 1
                if not is_good:
                    return TROUBLE, step, before, evaluations, h
            between((times[due] - t)/(t_new - t), y, powers, new)
            if times[due] == t_new:
                states[due] = moved
            elif accepted(correct, p_correct, times[due], new, levels,
                          states[due], out) < 0:
                return TROUBLE, step, before, evaluations, h
            due += 1
        T[step + 1], h = t_new, following
        if t_new == end:
            return END, step + 1, due, evaluations, h
    return FULL, len(drift), due, evaluations, h
