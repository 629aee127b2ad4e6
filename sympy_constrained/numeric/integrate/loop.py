"""Steps of one-step methods with projection, compiled by numba.

Machine code of the equations is called by its address, so the loop does not
enter Python. Explicit Runge-Kutta methods, error norms and step sizes are
those of SciPy [1]_, with a projection of every accepted step and output.
Rosenbrock methods [2]_ solve a linear system with the Jacobian of the rates at
every stage. :func:`watch` looks for singular configurations between the states
of accepted steps. All is in one file, because numba's cache does not notice
changes of other files: delete ``__pycache__`` after a change of a tolerance.

References
==========

.. [1] E. Hairer, S. P. Norsett and G. Wanner, "Solving Ordinary Differential
   Equations I," Springer (1993), sections II.4 to II.6 and II.10.
.. [2] E. Hairer and G. Wanner, "Solving Ordinary Differential Equations II,"
   Springer (1996), section IV.7.

"""
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.experimental import function_type  # noqa: F401 - enables `Code`
from numpy.polynomial.polynomial import polymul
from scipy.integrate import DOP853

from ..tolerances import (
    GOOD, JUMP, LEAST_MOVE, LEFT_OUT, NEAR, ROUNDING)
from .passage import FINEST, LITTLE
from .rodas import Rodas5P


# Why the loop returns: all records are full, the end is reached, or the next
# step is not ordinary.
FULL, END, TROUBLE = range(3)
# Step sizes, as in SciPy.
SAFETY, LEAST, MOST = 0.9, 0.2, 10.
# Newton steps of a projection at each level.
NEWTON = 4
SIGNATURE = types.int32(types.float64, types.uintp, types.uintp, types.uintp,
                        types.uintp)


class Code(types.WrapperAddressProtocol):
    """A function in machine code, for numba."""

    _numba_type_ = types.FunctionType(SIGNATURE)    # quick to recognize

    def __init__(self, function):
        self.function = function

    def __wrapper_address__(self):
        return self.function.address

    def signature(self):
        return SIGNATURE


class Machine(NamedTuple):
    """Machine code, the address of its constants, and its inputs.

    The inputs are ``count`` tables; see :func:`packed`.
    """

    function: Code
    p: np.uintp
    count: int
    tables: np.ndarray


def packed(tables):
    """Piecewise polynomials as one array, which begins with their values.

    Then come the positions at which their times begin, the number of all times
    and of the coefficients of a piece, the times, and the coefficients of the
    piece that begins at each time.
    """
    paths = [table.path for table in tables]
    width = max((len(path.c) for path in paths), default=1)
    pieces = [np.pad(path.c.T, ((0, 1), (width - len(path.c), 0))).ravel()
              for path in paths]
    return np.concatenate([
        np.zeros(len(paths)), np.cumsum([0, *(len(path.x) for path in paths)]),
        [width], *(path.x for path in paths), *pieces])


class Tableau(NamedTuple):
    """An embedded one-step method with a continuous extension.

    The stages are followed by the one at the end of the step, and by those
    that only the extension needs: ``y(t + s*h) = y + h*sum_j s**(j + 1) *
    sum_k extension[k, j]*K[k]``. The error is that of Dormand and Prince's
    method of order 8; other methods have no second estimate.

    The stages of a Rosenbrock method, whose ``gamma`` is not zero, obey
    ``(1/gamma - h*J) K[i] = f(t + c[i]*h, y + h*sum_k a[i, k]*K[k])
    + sum_k mixed[i, k]*K[k] + h*moving[i]*df/dt``. The last one is the error.
    """

    stages: int
    exponent: float
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    error: np.ndarray
    second_error: np.ndarray
    extension: np.ndarray
    gamma: float
    mixed: np.ndarray
    moving: np.ndarray


@lru_cache(maxsize=None)
def tableau_of(method):
    """The :class:`Tableau` of a method."""
    if method is Rodas5P:
        return Tableau(*method.tableau())
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
                   c, *errors, extension, 0., a, c)


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


# Counting the references to arrays takes longer than the steps. Functions that
# make no array do without; they copy entries one by one, as numba makes arrays
# to assign slices. So do the others: numba compiles a long message for slices
# of other sizes.
inner, plain = njit(nogil=True, _nrt=True), njit(nogil=True, _nrt=False)


@plain
def size_of(x):
    """The largest absolute value, at least one."""
    size = 1.
    for value in x:
        size = max(size, abs(value))
    return size


@plain
def largest(x):
    """The largest of values that are not negative."""
    size = 0.
    for value in x:
        size = max(size, value)
    return size


@plain
def fill(target, values):
    """Fill an array by the first ``values``."""
    for i in range(len(target)):
        target[i] = values[i]


@plain
def fill_rows(target, values):
    """Fill a matrix by the first entries of rows."""
    for i in range(len(target)):
        fill(target[i], values[i])


@plain
def distance(x, other):
    """The largest difference of entries of ``x``."""
    far = 0.
    for i in range(len(x)):
        far = max(far, abs(x[i] - other[i]))
    return far


@plain
def is_bad(machine, t, x, out):
    """Call machine code; whether the outputs are not good."""
    if machine.count:
        look_up(machine.tables, machine.count, t)
    return machine.function(
        t, x.ctypes.data, machine.p, machine.tables.ctypes.data,
        out.ctypes.data)


@plain
def look_up(tables, count, t):
    """Values of all tables at a time."""
    begin = 2*count + 2
    total, width = int(tables[2*count]), int(tables[2*count + 1])
    for k in range(count):
        first, last = int(tables[count + k]), int(tables[count + k + 1])
        piece = np.searchsorted(
            tables[begin + first:begin + last], t, side='right') - 1
        piece = first + min(max(piece, 0), last - first - 2)
        s, at = t - tables[begin + piece], begin + total + piece*width
        value = 0.
        for i in range(at, at + width):
            value = value*s + tables[i]
        tables[k] = value


@plain
def stage(rates, t, h, y, a, K, k, trial, out):
    """Rates ``K[k]`` at a stage; returns whether they are good."""
    fill(trial, y)
    add(h, a[k, :k], K, trial)
    if is_bad(rates, t, trial, out):
        return False
    fill(K[k], out)
    return True


@plain
def add(h, weights, K, total):
    """Add weighted rows, times ``h``."""
    for k in range(len(weights)):
        weight = h*weights[k]
        if weight != 0:
            for i in range(len(total)):
                total[i] += weight*K[k, i]


@plain
def projected(correct, t, x, levels, out, trail):
    """Project ``x`` in place; its relative distance before and after.

    ``levels`` are the numbers of coordinates, of speeds, of independent rows
    of both, and of other rows. The ``trail`` are the states before each
    change, after the end of the level that changes, 0 where none does.
    Without success the distance after is negative.
    """
    q, u, holonomic, velocity, others = levels
    made = 0
    rows = q + u
    last_row = rows + holonomic + velocity + others
    if is_bad(correct, t, x, out):
        return 0., -1.
    before = largest(out[rows:last_row])/size_of(x[:rows])
    for first, count, row, number in (
            (0, q, rows, holonomic), (q, u, rows + holonomic, velocity)):
        last = np.inf
        for k in range(NEWTON + 1):
            far = largest(out[row:row + number])/size_of(
                x[first:first + count])
            if far <= GOOD or (far < ROUNDING and far > last/2):
                break
            if k == NEWTON:
                return before, -1.
            last = far
            trail[made, 0] = first + count
            fill(trail[made, 1:], x)
            made += 1
            for i in range(first, first + count):
                x[i] += out[i]
            if is_bad(correct, t, x, out):
                return before, -1.
    size = size_of(x[:rows])
    after = largest(out[rows:last_row])/size
    is_good = after <= ROUNDING and largest(
        out[last_row - others:last_row]) <= LEFT_OUT*size
    return before, after if is_good else -1.


@plain
def accepted(correct, t, x, levels, moved, out, trail):
    """Project ``x`` to ``moved``; the distance, negative if it jumps."""
    fill(moved, x)
    for k in range(len(trail)):
        trail[k, 0] = 0
    if levels[2] + levels[3] + levels[4] == 0:
        return 0.
    before, after = projected(correct, t, moved, levels, out, trail)
    n = levels[0] + levels[1]
    change = distance(moved[:n], x)/size_of(x[:n])
    if change > JUMP*max(before, LEAST_MOVE) and before < NEAR:
        return -1.
    return after


@inner
def interpolant(rates, tableau, t, h, y, K, trial, out):
    """Coefficients of the powers 1, 2, ... of the part of a step, and whether
    they are good.
    """
    for k in range(needed(tableau), len(tableau.c)):
        if not stage(rates, t + tableau.c[k]*h, h, y, tableau.a, K, k,
                     trial, out):
            return np.zeros((0, 0)), False
    powers = np.zeros((tableau.extension.shape[1], len(y)))
    for j in range(len(powers)):
        add(h, tableau.extension[:, j], K, powers[j])
    return powers, True


@plain
def squares(weights, K, y, new, rtol, atol, total):
    """The squares of weighted rows, relative to the tolerances."""
    for i in range(len(y)):
        total[i] = 0.
    add(1., weights, K, total)
    square = 0.
    for i in range(len(y)):
        square += (total[i]/(atol + rtol*max(abs(y[i]), abs(new[i]))))**2
    return square


@plain
def error_of(tableau, K, h, y, new, rtol, atol, total):
    """The error of a step, relative to the tolerances."""
    first = squares(tableau.error, K, y, new, rtol, atol, total)
    second = squares(tableau.second_error, K, y, new, rtol, atol, total)
    if first == 0 and second == 0:
        return 0.
    return abs(h)*first/np.sqrt((first + 0.01*second)*len(y))


@plain
def needed(tableau):
    """The number of stages on which the error depends."""
    return tableau.stages + int(tableau.error[tableau.stages] != 0)


@plain
def explicit_stages(rates, tableau, t, h, y, K, new, out):
    """Stages of a Runge-Kutta method, and the end ``new``."""
    for k in range(1, needed(tableau)):
        if not stage(rates, t + tableau.c[k]*h, h, y, tableau.a, K, k, new,
                     out):
            return False
    if needed(tableau) == tableau.stages:
        fill(new, y)
        add(h, tableau.b, K, new)
    return True


@inner
def rosenbrock_stages(rates, tableau, t, h, y, rate, J, K, new, out):
    """Stages of a Rosenbrock method, and the end ``new``.

    ``rate`` is that at ``t``, ``J`` the derivatives by time and ``y``.
    """
    n = len(y)
    A = -h*J[:, 1:]
    for i in range(n):
        A[i, i] += 1/tableau.gamma
    rows = np.empty(n, np.int64)
    if factored(A, rows) == 0:
        return False
    fill(K[0], rate)
    for k in range(tableau.stages + 1):
        if k and not stage(rates, t + tableau.c[k]*h, h, y, tableau.a, K,
                           k, new, out):
            return False
        for i in range(n):
            value = K[k, i] + h*tableau.moving[k]*J[i, 0]
            for j in range(k):
                value += tableau.mixed[k, j]*K[j, i]
            new[i] = value
        solve_factored(A, rows, new, K[k])
    for i in range(n):
        change = 0.
        for k in range(tableau.stages + 1):
            change += tableau.b[k]*K[k, i]
        new[i] = y[i] + h*change
    return True


@plain
def factored(A, rows):
    """Put the factors of ``A`` in its place, and their order into ``rows``.

    Returns the sign of the determinant, 0 if there are no factors.
    """
    n, sign = len(A), 1.
    for k in range(n):
        rows[k] = k
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if not abs(A[pivot, k]) > 0:
            return 0.
        sign *= np.sign(A[pivot, k])*(1 if pivot == k else -1)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for j in range(n):
            A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
        for i in range(k + 1, n):
            factor = A[i, k]/A[k, k]
            A[i, k] = factor
            if factor != 0:
                for j in range(k + 1, n):
                    A[i, j] -= factor*A[k, j]
    return sign


@plain
def solve_factored(A, rows, right, x):
    """Solve for one right side by the factors of :func:`factored`."""
    n = len(rows)
    for i in range(n):
        value = right[rows[i]]
        for j in range(i):
            value -= A[i, j]*x[j]
        x[i] = value
    for i in range(n - 1, -1, -1):
        value = x[i]
        for j in range(i + 1, n):
            value -= A[i, j]*x[j]
        x[i] = value/A[i, i]


@njit(cache=True, nogil=True)
def solve_each(matrices, rights):
    """Solutions and reciprocal conditions, 0 where a matrix is singular."""
    n = rights.shape[1]
    z, conditions = np.zeros_like(rights), np.zeros(len(rights))
    A, rows, column = np.empty((n, n)), np.empty(n, np.int64), np.empty(n)
    one, rest = np.eye(n), np.empty(n)
    for k in range(len(rights)):
        fill_rows(A, matrices[k])
        if factored(A, rows) == 0:
            continue
        solve_factored(A, rows, rights[k], z[k])
        for i in range(n):              # one step of refinement
            rest[i] = rights[k, i]
            for j in range(n):
                rest[i] -= matrices[k, i, j]*z[k, j]
        solve_factored(A, rows, rest, column)
        for i in range(n):
            z[k, i] += column[i]
        size = other = 0.               # of the matrix and its inverse
        for j in range(n):
            solve_factored(A, rows, one[j], column)
            first = second = 0.
            for i in range(n):
                first += abs(matrices[k, i, j])
                second += abs(column[i])
            size, other = max(size, first), max(other, second)
        conditions[k] = 1/(size*other)
    return z, conditions


@plain
def equations_at(machine, t, y, scale, out, A):
    """Fill ``A`` by the scaled ``W``; the largest entry, infinite without.

    The machine code returns ``W`` and ``r``, row by row.
    """
    n, size = len(scale), 0.
    if is_bad(machine, t, y, out):
        return np.inf
    for i in range(n):
        for j in range(n):
            A[i, j] = out[i*(n + 1) + j]*scale[i, j]
            size = max(size, abs(A[i, j]))
    return size


@plain
def product(A, i, j, count):
    """The product of the first entries of two rows."""
    value = 0.
    for k in range(count):
        value += A[i, k]*A[j, k]
    return value


@inner
def spread(A, motion, rank):
    """The singular value number ``rank`` of the constraint rows, in descending
    order, and the largest, to 1e-8 of this; ones without rank.
    """
    if rank <= 0:
        return 1., 1.
    count = len(A) - motion
    low = high = product(A, motion, motion, motion)
    if count == 2:                      # as in planar loops
        last = product(A, motion + 1, motion + 1, motion)
        half, apart = (low + last)/2, np.hypot(
            (low - last)/2, product(A, motion, motion + 1, motion))
        high = half + apart
        low = half - apart if rank == 2 else high
    elif count > 2:
        squares = np.empty((count, count))
        for i in range(count):
            for j in range(i + 1):
                squares[i, j] = squares[j, i] = product(
                    A, motion + i, motion + j, motion)
        values = np.linalg.eigvalsh(squares)
        low, high = values[count - rank], values[count - 1]
    return np.sqrt(max(low, 0.)), np.sqrt(max(high, 0.))


@plain
def apart(A, B, motion):
    """The norm of the difference of the constraint rows of two matrices."""
    square = 0.
    for i in range(motion, len(A)):
        for j in range(motion):
            square += (A[i, j] - B[i, j])**2
    return np.sqrt(square)


@inner
def may_vanish(machine, scale, motion, rank, t, h, Y, F, out, y, A):
    """Whether a zero of the singular value in a step is not excluded.

    A cubic replaces the step and is halved. By Weyl's bound singular values
    change by no more than the matrix.
    """
    begins, widths, left = np.zeros(8), np.ones(8), 1
    while left:
        left -= 1
        begin, width = begins[left], widths[left]
        size = 0.
        for k in range(3):
            s = begin + k*width/2
            for i in range(len(y)):
                d = Y[1, i] - Y[0, i]
                y[i] = Y[0, i] + s*(d + (1 - s)*(
                    (1 - s)*(h*F[0, i] - d) - s*(h*F[1, i] - d)))
            if not equations_at(machine, t + s*h, y, scale, out,
                                A[k]) < np.inf:
                return True
            size = max(size, spread(A[k], motion, rank)[0])
        if apart(A[0], A[1], motion) + apart(A[1], A[2], motion) <= (
                LITTLE*size):
            continue
        if width/2 <= FINEST:
            return True
        for k in range(2):
            begins[left], widths[left] = begin + (1 - k)*width/2, width/2
            left += 1
    return False


@njit(cache=True, nogil=True)
def watch(code, count, tables, scale, motion, rank, T, Y, F, begins, steps,
          parameters):
    """Watch the equations along the steps of several runs.

    The runs begin with the states ``begins`` and have the ``parameters``.
    ``scale`` are the factors of the entries of ``W``, ``motion`` is the number
    of accelerations and ``rank`` that of the constraint rows.

    Returns by state the sign of the determinant of the scaled ``W``, its
    largest entry, the singular value at the rank and the largest one of its
    constraint rows; whether a zero of the former in the step that follows is
    not excluded; and the rows. They are assumed to change at most as quickly
    as in the steps before, here and after together, or are examined.
    """
    n, total = len(scale), len(T)
    signs, sizes, least, largest, speeds = np.zeros((5, total))
    is_open = np.zeros(total, types.bool_)
    rows = np.zeros((total, n - motion, motion))
    out, y, A, B, order = (
        np.empty(n*(n + 1)), np.empty(Y.shape[1]), np.zeros((3, n, n)),
        np.zeros((2, n, n)), np.empty(n, np.int64))
    for i in range(len(begins)):
        machine = Machine(code, parameters[i].ctypes.data, count, tables)
        first, last = begins[i], begins[i] + steps[i]
        for k in range(first, last + 1):
            here = B[k % 2]
            sizes[k] = equations_at(machine, T[k], Y[k], scale, out, here)
            least[k], largest[k] = spread(here, motion, rank)
            fill_rows(rows[k], here[motion:])
            if k > first:
                speeds[k - 1] = apart(here, B[(k - 1) % 2], motion)/abs(
                    T[k] - T[k - 1])
            fill_rows(A[0], here)
            signs[k] = factored(A[0], order)
        for k in range(first, last if rank > 0 else first):
            h = T[k + 1] - T[k]
            if k == first or k + 1 == last or abs(h)*(
                    speeds[k - 1] + speeds[k] + speeds[k + 1]) > LITTLE*max(
                        least[k], least[k + 1]):
                is_open[k] = may_vanish(
                    machine, scale, motion, rank, T[k], h, Y[k:k + 2],
                    F[k:k + 2], out, y, A)
    return signs, sizes, least, largest, is_open, rows


@inner
def jacobian(rates, slopes, sizes, z, t, y, J, out):
    """Derivatives ``J`` of the rates by time and ``y``; whether they are good.

    ``slopes`` and ``sizes`` are those of :class:`.Slopes`; the unknowns ``z``
    follow its constants.
    """
    states, known, motion, count, works = sizes
    if is_bad(rates, t, y, out):
        return False
    fill(z[:motion], out[known:])
    fill(z[motion:], out[states + works:])
    width = states + 1
    values = np.empty((known + count + works)*width + count*count
                      + works*motion)
    if is_bad(slopes, t, y, values):
        return False
    begin = (known + count)*width
    end = begin + count*count
    W = np.empty((count, count))
    for i in range(count):
        fill(W[i], values[begin + i*count:])
    rows = np.empty(count, np.int64)
    if factored(W, rows) == 0:
        return False
    J[:, :] = 0.
    for i in range(known):
        fill(J[i, :width], values[i*width:])
    x, right = np.empty(count), np.empty(count)
    for j in range(width):
        for i in range(count):
            right[i] = values[(known + i)*width + j]
        solve_factored(W, rows, right, x)
        for i in range(motion):
            J[known + i, j] = x[i]
    if works:
        fill(J[states, :width], values[end:])
        add(1., values[end + width:end + width + motion], J[known:], J[states])
    return True


@plain
def one_step(rates, tableau, rtol, atol, t, y, rate, J, end, h, K, new,
             out):
    """The stages ``K`` and the end ``new`` of a step within the tolerances.

    Returns its time, the size of the next step, and the evaluations; no size
    if there is no such step.
    """
    n, forward = len(y), np.sign(end - t)
    least = 10*abs(np.nextafter(t, forward*np.inf) - t)
    evaluations, is_shorter = 0, False
    while h >= least:
        t_new = t + forward*h
        if forward*(t_new - end) > 0:
            t_new = end
        signed = t_new - t
        h = abs(signed)
        if tableau.gamma:
            is_good = rosenbrock_stages(rates, tableau, t, signed, y, rate, J,
                                        K, new, out)
        else:
            is_good = explicit_stages(rates, tableau, t, signed, y, K, new,
                                      out)
        if not is_good:
            return t, 0., evaluations
        evaluations += needed(tableau) - 1
        error = error_of(tableau, K, signed, y, new, rtol, atol, out[:n])
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


@plain
def between(part, y, powers, new):
    """The interpolant at a part of a step."""
    for i in range(len(y)):
        change = 0.
        for j in range(len(powers) - 1, -1, -1):
            change = part*(change + powers[j, i])
        new[i] = y[i] + change


# Only functions that are called from outside have a cache: numba reads the
# files of an earlier version before it sees that they are old, and fails if
# these name a class that has gone. Their names contain the line of the
# function.
@njit(cache=True, nogil=True)
def make_steps(code, slopes_code, correct_code, p, count, tables, sizes, z,
               tableau, levels, size, rtol, atol, max_step, begins, ends,
               stops, h, T, Y, F, K, drift, times, states):
    """Make steps from ``T[0]``, ``Y[0]`` with the rates ``F[0]``.

    They go from ``begins[0]`` to ``ends[0]``, which is ``stops[0]`` but for
    rounding, where tables may jump, from ``begins[1]`` to ``ends[1]``, etc.
    ``code``, ``slopes_code`` and ``correct_code`` are those of the rates,
    whose ``size`` outputs begin with them, of :class:`.Slopes` (for Rosenbrock
    methods) and of the projection; ``p`` contains the addresses of their
    constants. Accepted steps fill ``T``, ``Y``, ``F``,
    their stages ``K``, unless there is room for one step only, and their
    distances from the constraints ``drift``; outputs at ``times`` fill
    ``states``.

    Without a size ``h`` of the first step, this and the rates are computed.

    Returns the reason, the numbers of steps, outputs and evaluations, and the
    size of the next step.
    """
    rates = Machine(code, p[0], count, tables)
    slopes = Machine(slopes_code, p[1], count, tables)
    correct = Machine(correct_code, p[2], count, tables)
    n, stages, forward = Y.shape[1], tableau.stages, np.sign(ends[0] - T[0])
    out = np.empty(max(size, levels.sum()))
    trial, new, rate = np.empty(n), np.empty(n), np.empty(n)
    J, trail = np.empty((n, n + 1)), np.empty((2*NEWTON, n + 1))
    due = evaluations = piece = 0
    if h == 0:
        evaluations = 2
        if is_bad(rates, T[0], Y[0], out):
            return TROUBLE, 0, 0, evaluations, h
        fill(F[0], out)
        h = first_size(rates, tableau, rtol, atol, T[0], Y[0], F[0],
                       ends[0] - T[0], trial, out)
        if h == 0:
            return TROUBLE, 0, 0, evaluations, h
    for step in range(len(drift)):
        t, y, last = T[step], Y[step], Y[step + 1]
        made = K[step % len(K)]
        fill(rate, F[step])
        if step and t == stops[piece]:
            piece += 1
            t = begins[piece]
            evaluations += 1
            if is_bad(rates, t, y, out):
                return TROUBLE, step, due, evaluations, h
            fill(rate, out)
        fill(made[0], rate)
        if tableau.gamma:
            evaluations += 1
            if not jacobian(rates, slopes, sizes, z, t, y, J, out[:size]):
                return TROUBLE, step, due, evaluations, h
        t_new, following, count = one_step(
            rates, tableau, rtol, atol, t, y, rate, J, ends[piece],
            min(h, max_step), made, new, out)
        evaluations += count
        if following == 0:
            return TROUBLE, step, due, evaluations, h
        end = t_new
        if t_new == ends[piece]:
            t_new = stops[piece]
        drift[step] = accepted(correct, t_new, new, levels, last, out, trail)
        if drift[step] < 0:
            return TROUBLE, step, due, evaluations, h
        fill(F[step + 1], made[stages])
        if (tableau.gamma or needed(tableau) == stages
                or distance(last, new) > 0):
            evaluations += 1
            if is_bad(rates, end, last, out):
                return TROUBLE, step, due, evaluations, h
            fill(F[step + 1], out)
        before, powers = due, np.zeros((0, 0))
        while due < len(times) and forward*(times[due] - t_new) <= 0:
            if due == before:
                powers, is_good = interpolant(
                    rates, tableau, t, end - t, y, made, trial, out)
                evaluations += len(tableau.c) - needed(tableau)
                if not is_good:
                    return TROUBLE, step, before, evaluations, h
            between((times[due] - t)/(t_new - t), y, powers, new)
            if times[due] == t_new:
                fill(states[due], last)
            elif accepted(correct, times[due], new, levels,
                          states[due], out, trail) < 0:
                return TROUBLE, step, before, evaluations, h
            due += 1
        T[step + 1], h = t_new, following
        if t_new == stops[-1]:
            return END, step + 1, due, evaluations, h
    return FULL, len(drift), due, evaluations, h


@plain
def first_size(rates, tableau, rtol, atol, t, y, rate, left, trial, out):
    """The size of the first step in the time ``left``, as in SciPy.

    That is the algorithm of [1]_, section II.4.
    """
    n = len(y)
    state = slope = bend = 0.
    for i in range(n):
        scale = atol + rtol*abs(y[i])
        state += (y[i]/scale)**2/n
        slope += (rate[i]/scale)**2/n
    state, slope = np.sqrt(state), np.sqrt(slope)
    h = abs(left)
    h = min(1e-6 if min(state, slope) < 1e-5 else 0.01*state/slope, h)
    for i in range(n):
        trial[i] = y[i] + h*np.sign(left)*rate[i]
    if not h > 0 or is_bad(rates, t + h*np.sign(left), trial, out):
        return 0.
    for i in range(n):
        bend += ((out[i] - rate[i])/(atol + rtol*abs(y[i])))**2/n
    most = max(np.sqrt(bend)/h, slope)
    other = (0.01/most)**-tableau.exponent if most > 1e-15 else max(
        1e-6, 1e-3*h)
    return min(100*h, other, abs(left))


@njit(cache=True, nogil=True)
def make_runs(code, slopes_code, correct_code, p, count, tables, sizes, z,
              tableau, levels, size, rtol, atol, max_step, end, X,
              constants, parameters, T, Y, F, drift, times, states, made):
    """Make runs from the states ``X``.

    ``constants`` are those of the rates of each run, ``parameters`` those of
    the projection. The steps of all runs fill ``T``, ``Y``, ``F`` and
    ``drift``, outputs ``states``; the other arguments are those of
    :func:`make_steps`. ``made`` are by run the position of its first state and
    the numbers of steps, none of a run that is not ordinary, and evaluations.

    Returns how many runs there was room for.
    """
    t, n, at, p = T[0], X.shape[1], 0, p.copy()
    K, trail = np.empty((1, len(tableau.c), n)), np.empty((2*NEWTON, n + 1))
    out = np.empty(levels.sum())
    begins, ends = np.array([t]), np.array([end])
    for i in range(len(X)):
        p[0], p[2] = constants[i].ctypes.data, parameters[i].ctypes.data
        correct = Machine(correct_code, p[2], count, tables)
        if at == len(drift):
            return i
        T[at] = t
        made[i] = 0
        if accepted(correct, t, X[i], levels, Y[at], out, trail) < 0 or (
                np.abs(Y[at] - X[i]).max() > ROUNDING*size_of(X[i])):
            continue
        reason, steps, _, evaluations, _ = make_steps(
            code, slopes_code, correct_code, p, count, tables, sizes, z,
            tableau, levels, size, rtol, atol, max_step, begins, ends, ends,
            0., T[at:], Y[at:], F[at:], K, drift[at:], times, states[i])
        if reason == FULL:
            return i
        if reason == END:
            made[i, 0], made[i, 1], made[i, 2] = at, steps, evaluations
            at += steps + 1
    return len(X)


@njit(cache=True, nogil=True)
def values_along(code, p, count, tables, size, tableau, functions_code,
                 parameters, begins, ends, T, Y, K, values):
    """Values of functions at equally spaced times in steps and at their ends.

    The functions have the constants ``parameters``; the other arguments are
    those of :func:`make_steps`, with a begin and an end for each step.
    ``values``, (steps, times, functions), are nan where a function fails.
    """
    rates = Machine(code, p[0], count, tables)
    functions = Machine(functions_code, parameters.ctypes.data, count, tables)
    n, parts = Y.shape[1], values.shape[1]
    trial, out = np.empty(n), np.empty(size)
    for k in range(len(values)):
        h = ends[k] - begins[k]
        powers, is_good = interpolant(
            rates, tableau, begins[k], h, Y[k], K[k], trial, out)
        for j in range(parts):
            t = T[k] + (T[k + 1] - T[k])*(j + 1)/parts
            if j + 1 == parts:
                fill(trial, Y[k + 1])
            elif is_good:
                between((t - begins[k])/h, Y[k], powers, trial)
            if not is_good or is_bad(functions, t, trial, values[k, j]):
                values[k, j] = np.nan


@njit(cache=True, nogil=True)
def project_all(code, p, count, tables, levels, T, Y, drift):
    """Project the states ``Y`` at the times ``T`` up to one that fails.

    The other arguments are those of :func:`make_steps`. Returns their number.
    """
    correct = Machine(code, p[2], count, tables)
    out, new = np.empty(levels.sum()), np.empty(Y.shape[1])
    trail = np.empty((2*NEWTON, Y.shape[1] + 1))
    for k in range(len(T)):
        fill(new, Y[k])
        drift[k] = accepted(correct, T[k], new, levels, Y[k], out, trail)
        if drift[k] < 0:
            return k
    return len(T)


@inner
def back_to(turn, t, trail, levels, weights, lam, slope, out):
    """Carry ``lam`` and ``slope`` back through a projection.

    ``turn`` are the products of the ``weights`` with the derivatives of the
    changes. Returns whether they are good.
    """
    n = len(lam)
    for k in range(len(trail) - 1, -1, -1):
        end = int(trail[k, 0])
        if end == 0:
            continue
        begin = 0 if end == levels[0] else levels[0]
        weights[:] = 0.
        fill(weights[begin:end], lam[begin:])
        if is_bad(turn, t, trail[k, 1:], out):
            return False
        lam += out[:n]
        slope += out[n:n + len(slope)]
    return True


@inner
def made_again(rates, correct, tableau, levels, begins, ends, Y, K, trails,
               owners, parts, X, out):
    """Make steps from ``Y[0]`` again, with all stages where outputs are
    within; the number of one that fails, else -1.
    """
    due = 0
    for i in range(len(begins)):
        h, last = ends[i] - begins[i], tableau.stages + 1
        while due < len(owners) and owners[due] == i:
            last = len(tableau.c) if parts[due] < 1 else last
            due += 1
        for k in range(last):
            if not stage(rates, begins[i] + tableau.c[k]*h, h, Y[i],
                         tableau.a, K[i], k, X[i, k], out):
                return i
        if accepted(correct, ends[i], X[i, tableau.stages], levels, Y[i + 1],
                    out, trails[i]) < 0:
            return i
    return -1


@njit(cache=True, nogil=True)
def go_back(code, pull_code, correct_code, turn_code, p, count, tables,
            tableau, levels, size, begins, ends, y, owners, parts, seeds,
            quadrature, pull_weights, turn_weights, lam, slope, X):
    """Carry the derivatives of a cost back over steps, from ``y``.

    The steps are made again, from ``begins`` to ``ends``; ``X`` are filled by
    the states at their stages. ``lam`` and ``slope`` are the derivatives by
    states and constants, after the steps, then before them. To them come those
    by outputs: ``seeds`` at ``parts`` of the steps ``owners``, and those of an
    integral, the sum of its ``quadrature`` times the integrand at stages.
    ``pull_code`` and ``turn_code`` multiply the derivatives of rates (and
    integrand) and of the projection by weights.

    Returns the number of a step where code fails, else -1.
    """
    rates = Machine(code, p[0], count, tables)
    pull = Machine(pull_code, p[1], count, tables)
    correct = Machine(correct_code, p[2], count, tables)
    turn = Machine(turn_code, p[3], count, tables)
    steps, n, stages, all_stages = (
        len(begins), len(y), tableau.stages, len(tableau.c))
    Y, K = np.empty((steps + 1, n)), np.zeros((steps, all_stages, n))
    trails, trail = np.empty((steps, 2*NEWTON, n + 1)), np.empty(
        (2*NEWTON, n + 1))
    state, moved, seed, out = (
        np.empty(n), np.empty(n), np.empty(n), np.empty(size))
    fill(Y[0], y)
    failed = made_again(rates, correct, tableau, levels, begins, ends, Y, K,
                        trails, owners, parts, X, out)
    if failed >= 0:
        return failed
    wanted = np.empty((all_stages, n))
    due = len(owners) - 1
    for i in range(steps - 1, -1, -1):
        h, last = ends[i] - begins[i], stages
        while due >= 0 and owners[due] == i and parts[due] >= 1:
            lam += seeds[due]
            due -= 1
        if not back_to(turn, ends[i], trails[i], levels, turn_weights, lam,
                       slope, out):
            return i
        for k in range(all_stages):
            wanted[k] = h*tableau.a[stages, k]*lam
        while due >= 0 and owners[due] == i:
            last, part = all_stages, parts[due]
            between(part, Y[i], h*(tableau.extension.T@K[i]), state)
            t = begins[i] + part*h
            if accepted(correct, t, state, levels, moved, out, trail) < 0:
                return i
            fill(seed, seeds[due])
            if not back_to(turn, t, trail, levels, turn_weights, seed, slope,
                           out):
                return i
            lam += seed
            for k in range(all_stages):
                weight = 0.
                for j in range(tableau.extension.shape[1] - 1, -1, -1):
                    weight = part*(weight + tableau.extension[k, j])
                wanted[k] += h*weight*seed
            due -= 1
        for k in range(last - 1, -1, -1):
            fill(pull_weights[:n], wanted[k])
            pull_weights[n:] = quadrature[i, k]
            if not np.any(pull_weights):
                continue
            if is_bad(pull, begins[i] + tableau.c[k]*h, X[i, k], out):
                return i
            lam += out[:n]
            slope += out[n:n + len(slope)]
            for j in range(k):
                weight = h*tableau.a[k, j]
                for m in range(n if weight != 0 else 0):
                    wanted[j, m] += weight*out[m]
    return -1
