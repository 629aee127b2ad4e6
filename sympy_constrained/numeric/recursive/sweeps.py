r"""Articulated bodies, in loops that numba compiles once for all models.

The articulated inertia of a body is that which it seems to have if a force
acts on it and the joints of its descendants are free. With it the equations
of one joint at a time are solved, from the leaves to the root, then the
accelerations follow from the root to the leaves [1]_. Joints with several
speeds are eliminated speed by speed. For a body with the columns ``S``

.. math::

   U = I^A S, \quad D = S^T U, \quad \eta = \tau - S^T p^A, \quad
   \dot u = D^{-1}(\eta - U^T a')

which is a factorization :math:`M^{-1} = L^{-T} D^{-1} L^{-1}` of the mass
matrix, with :math:`\eta = L^{-1}Q` [2]_. A constraint row goes through the
first sweep as a force, on its way to the root alone, and the Schur complement
of the constraints is

.. math::

   A M^{-1} A^T = Y D^{-1} Y^T, \qquad Y^T = L^{-1} A^T.

References
==========

.. [1] R. Featherstone, "Rigid Body Dynamics Algorithms," Springer (2008),
   section 7.3 and table 7.1.
.. [2] G. Rodriguez, A. Jain and K. Kreutz-Delgado, "A spatial operator algebra
   for manipulator modeling and control," Int. J. Robotics Res. 10 (1991)
   371-381.

"""
from __future__ import annotations

from functools import lru_cache

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.extending import intrinsic

from ..codegen.profile import factorize

__all__ = ['CONTRADICTION', 'SINGULAR', 'solver', 'sweep']

FLAGS = {'fastmath': {'reassoc', 'contract', 'nsz', 'arcp'},
         'error_model': 'numpy', 'cache': True}
quick = njit(**FLAGS)
# Entries of a job, a body, a load and a row of the tables, as the class
# `Tables` writes them.
JOBS, BODIES, LOADS, ROWS = 5, 12, 3, 8
# Pivots below this part of their terms are rounding.
LEAST = 1e-13
# Entries of the header.
(COUNT, SPEEDS, STATES, CONSTANTS, NUMBERS, JOB_COUNT, LOAD_COUNT, ROW_COUNT,
 WIDTH, SIZE, POTENTIAL, LENGTH, AT_JOBS, AT_BODIES, AT_SPEEDS, AT_LOADS,
 AT_ROWS, AT_THROUGH, AT_RATES, AT_USE) = range(20)
HEADER = 20
# Faults.
SINGULAR, CONTRADICTION = 1, 2
# Rows that are left out fail by more than this part of what they lack, which
# allows for drift, and of the terms of all rows.
LACK, ROUNDING = 1e-3, 1e-10


@intrinsic
def call(typing, code, t, x, p, r, out):
    """Call a kernel; all but the time are addresses."""
    address = types.int64
    signature = types.int32(address, types.float64, *4*[address])

    def generate(context, builder, _, arguments):
        kind = ir.FunctionType(ir.IntType(32), [
            ir.DoubleType(), *4*[ir.IntType(64)]])
        code, *given = arguments
        return builder.call(builder.inttoptr(code, kind.as_pointer()), given)

    return signature, generate


@quick
def go(t, x, p, tables, numbers, work):
    """All that follows from the states; returns whether something is bad."""
    states, known = tables[STATES], tables[CONSTANTS]
    data = np.empty(tables[WIDTH])
    at, base = data.ctypes.data, work.ctypes.data
    for k in range(tables[JOB_COUNT]):
        job = tables[AT_JOBS] + JOBS*k
        source = tables[job + 2]
        for i in range(tables[job + 1]):
            j = tables[source + i]
            data[i] = x[j] if j < states else (
                p[j - states] if j < known else numbers[j - known])
        if call(tables[job], t, at, base + 8*tables[job + 3], at,
                base + 8*tables[job + 4]):
            return True
    return False


@quick
def apply_loads(tables, work):
    """Add loads in axes of other bodies to the wrenches."""
    f, n = np.empty(3), np.empty(3)
    for k in range(tables[LOAD_COUNT]):
        at = tables[AT_LOADS] + LOADS*k
        own, other, given = tables[at], tables[at + 1], tables[at + 2]
        f[:] = 0.
        n[:] = 0.
        for i in range(3):
            for j in range(3):          # own axes from those of the other
                turn = 0.
                for l in range(3):
                    turn += work[own + 6 + 3*i + l]*work[other + 6 + 3*j + l]
                f[i] += turn*work[given + 3 + j]
                n[i] += turn*work[given + 6 + j]
        for i in range(3):
            j, l = (i + 1) % 3, (i + 2) % 3
            work[own + 21 + i] -= (
                n[i] + work[given + j]*f[l] - work[given + l]*f[j])
            work[own + 24 + i] -= f[i]


@quick
def spread(tables, work, body, tau):
    """Move forces on a joint to the other speeds that move it."""
    own = tau[tables[body + 5]]
    for j in range(tables[body + 9]):
        tau[tables[tables[body + 10] + j]] -= own*work[
            tables[body + 1] + 28 + j]


@quick
def fold(t, tables, work, total):
    """From the leaves to the root; returns whether a pivot vanishes."""
    base, at_total = work.ctypes.data, total.ctypes.data
    total[:] = 0.
    for i in range(tables[COUNT] - 1, -1, -1):
        body = tables[AT_BODIES] + BODIES*i
        record, factors = tables[body + 1], tables[body + 2]
        at = base + 8*record
        if call(tables[body + 6], t, at, at_total + 216*i, at,
                base + 8*factors):
            return True
        parent = tables[body]
        if parent >= 0:
            for j in range(27):
                total[27*parent + j] += work[factors + j]
        for j in range(tables[body + 9]):
            work[tables[tables[body + 11] + j]] -= (    # one speed, shared
                work[record + 27]*work[record + 28 + j])
    return False


@quick
def accelerate(t, tables, work, out):
    """From the root to the leaves: ``u'``, and the rates of all twists."""
    base = work.ctypes.data
    for i in range(tables[COUNT]):
        body = tables[AT_BODIES] + BODIES*i
        parent, record, factors, rates, k = (
            tables[body], tables[body + 1], tables[body + 2],
            tables[body + 3], tables[body + 4])
        above = 0
        if parent >= 0:
            above = tables[tables[AT_BODIES] + BODIES*parent + 3]
        call(tables[body + 7], t, base + 8*record, base + 8*above,
             base + 8*(factors + 27), base + 8*rates)
        for j in range(k):
            out[tables[tables[AT_SPEEDS] + tables[body + 5] + j]] = work[
                rates + 6 + j]
        for j in range(tables[body + 9]):
            place = tables[tables[body + 10] + j]
            out[tables[tables[AT_SPEEDS] + tables[body + 5]]] -= work[
                record + 28 + j]*out[tables[tables[AT_SPEEDS] + place]]


@quick
def push(t, tables, work, way, force, tau, y):
    """The first sweep for forces alone, over bodies from leaf to root.

    ``force`` is minus the wrench on each body, ``tau`` has the forces on
    joints; used up, they are zero again.
    """
    base, give = work.ctypes.data, np.empty(12)
    get = np.empty(12)
    for i in way:
        body = tables[AT_BODIES] + BODIES*i
        parent, k, first = tables[body], tables[body + 4], tables[body + 5]
        for j in range(6):
            give[j] = force[i, j]
            force[i, j] = 0.
        for j in range(k):
            give[6 + j] = tau[first + j]
        call(tables[body + 8], t, base + 8*tables[body + 1],
             give.ctypes.data, base + 8*(tables[body + 2] + 27),
             get.ctypes.data)
        spread(tables, work, body, tau)
        for j in range(k):
            tau[first + j] = 0.
            y[first + j] = get[6 + j]
        if parent >= 0:
            for j in range(6):
                force[parent, j] += get[j]


@quick
def push_rows(t, tables, work, free, Y, gaps):
    """``Y``, and what the rows lack at the free accelerations, with the sum of
    the absolute values of its terms.
    """
    n, o, base = tables[COUNT], tables[SPEEDS], work.ctypes.data
    force, tau, given = np.zeros((n, 6)), np.zeros(o), np.empty(13)
    for row in range(tables[ROW_COUNT]):
        at = tables[AT_ROWS] + ROWS*row
        data, one, two = tables[at + 1], tables[at + 2], tables[at + 3]
        way = tables[tables[at + 6]:tables[at + 6] + tables[at + 7]]
        if tables[at] == 0:             # b, then entries of A
            gap = work[data]
            size = abs(gap)
            for k in range(two):
                place = tables[one + k]
                tau[place] = work[data + 1 + k]
                term = tau[place]*free[tables[tables[AT_SPEEDS] + place]]
                gap -= term
                size += abs(term)
        else:
            call(tables[at], t, base + 8*data, base + 8*one, base + 8*two,
                 given.ctypes.data)
            gap = -given[12]
            size = abs(gap)
            for side in range(2):
                i = tables[at + 4 + side]
                if i >= 0:
                    rates = tables[tables[AT_BODIES] + BODIES*i + 3]
                    for j in range(6):
                        force[i, j] -= given[6*side + j]
                        term = given[6*side + j]*work[rates + j]
                        gap -= term
                        size += abs(term)
        gaps[0, row], gaps[1, row] = gap, size
        push(t, tables, work, way, force, tau, Y[row])


@quick
def schur(tables, D, Y, S):
    """Lower triangle of ``Y D^-1 Y^T``, where rows share bodies."""
    S[:] = 0.
    for i in range(tables[COUNT]):
        body = tables[AT_BODIES] + BODIES*i
        at = tables[AT_THROUGH] + 2*i
        rows = tables[tables[at]:tables[at] + tables[at + 1]]
        for k in range(tables[body + 5], tables[body + 5] + tables[body + 4]):
            h = 1/D[k]
            for j in range(len(rows)):
                y = h*Y[rows[j], k]
                for l in range(j + 1):
                    S[rows[j], rows[l]] += y*Y[rows[l], k]


solve = njit(**FLAGS)(factorize)


@quick
def multipliers(tables, D, Y, gaps, lam):
    """Multipliers of the rows in use; returns a fault, or zero."""
    m, use = tables[ROW_COUNT], tables[AT_USE]
    lam[:] = 0.
    r = tables[use]
    S = np.empty((m, m))
    schur(tables, D, Y, S)
    rows, profile = tables[use + 1:use + 1 + r], tables[use + 1 + r:]
    if r:
        count, first, begin = (
            profile[1], profile[2:2 + r], profile[2 + r:2 + 2*r])
        work = np.empty(count + 3*r)
        for i in range(r):
            for j in range(first[i], i + 1):
                a, b = rows[i], rows[j]
                work[begin[i] + j] = S[max(a, b), min(a, b)]
            work[count + i] = gaps[0, rows[i]]
        solve(work, profile)
        for i in range(r):
            if not work[count + r + i] > LEAST*work[count + 2*r + i]:
                return SINGULAR
            lam[rows[i]] = work[count + i]
    return CONTRADICTION if r < m and fails(S, gaps, lam) else 0


@quick
def fails(S, gaps, lam):
    """Whether any row fails at the multipliers."""
    allowed = ROUNDING*gaps[1].max()
    for i in range(len(lam)):
        lack, size = gaps[0, i], abs(gaps[0, i])
        for j in range(len(lam)):
            term = S[max(i, j), min(i, j)]*lam[j]
            lack -= term
            size += abs(term)
        if abs(lack) > LACK*size + allowed:
            return True
    return False


@quick
def sweep(t, x, p, tables, numbers, out, Y, D, gaps, work):
    """Rates of coordinates and speeds, then multipliers; returns a fault."""
    n, o, m = tables[COUNT], tables[SPEEDS], tables[ROW_COUNT]
    for k in range(15):
        work[k] = 0.
    work[6] = work[10] = work[14] = 1.  # the ground
    if go(t, x, p, tables, numbers, work):
        return SINGULAR
    apply_loads(tables, work)
    if fold(t, tables, work, np.empty(27*n)):
        return SINGULAR
    q = tables[STATES] - o
    rates, lam = out[q:q + o], out[q + o:]
    accelerate(t, tables, work, rates)
    if m:
        for i in range(n):
            body = tables[AT_BODIES] + BODIES*i
            k = tables[body + 4]
            at = tables[body + 2] + 27 + 6*k
            for j in range(k):
                D[tables[body + 5] + j] = work[at + j]
        push_rows(t, tables, work, rates, Y, gaps)
        fault = multipliers(tables, D, Y, gaps, lam)
        if fault:
            return fault
        for row in range(m):
            if lam[row] != 0.:
                at = tables[AT_ROWS] + ROWS*row
                for i in tables[tables[at + 6]:
                                tables[at + 6] + tables[at + 7]]:
                    body = tables[AT_BODIES] + BODIES*i
                    k, first = tables[body + 4], tables[body + 5]
                    at_eta = tables[body + 2] + 27 + 7*k
                    for j in range(k):
                        work[at_eta + j] += lam[row]*Y[row, first + j]
        accelerate(t, tables, work, rates)
    for k in range(q):
        at = tables[AT_RATES] + 2*k
        out[k] = x[tables[at]] if tables[at] >= 0 else work[tables[at + 1]]
    total = 0.
    for value in out:
        total += value
    return 0 if total - total == 0. else SINGULAR


@lru_cache(maxsize=None)
def solver():
    """:func:`sweep` for addresses, compiled."""
    number = types.CPointer(types.float64)

    @cfunc(types.int32(types.float64, number, number, number,
                       types.CPointer(types.int64), number), cache=True)
    def code(t, x, p, out, tables, numbers):
        header = carray(tables, HEADER)
        o, states, m = header[SPEEDS], header[STATES], header[ROW_COUNT]
        return sweep(
            t, carray(x, states), carray(p, header[CONSTANTS] - states),
            carray(tables, header[LENGTH]), carray(numbers, header[NUMBERS]),
            carray(out, states + m), np.empty((m, o)), np.empty(o),
            np.empty((2, m)), np.empty(header[SIZE]))

    return code
