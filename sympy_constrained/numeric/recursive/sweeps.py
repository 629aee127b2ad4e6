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

A state returns to the constraints by :math:`-M^{-1}A^T (A M^{-1}A^T)^{-1}`
times the residuals, and by the change of coordinates that such speeds make.

One file, because numba's cache does not notice changes of others.

References
==========

.. [1] R. Featherstone, "Rigid Body Dynamics Algorithms," Springer (2008),
   section 7.3 and table 7.1.
.. [2] G. Rodriguez, A. Jain and K. Kreutz-Delgado, "A spatial operator algebra
   for manipulator modeling and control," Int. J. Robotics Res. 10 (1991)
   371-381.

"""
from functools import lru_cache

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.extending import intrinsic

from ..codegen.profile import factorize


FLAGS = {'fastmath': {'reassoc', 'contract', 'nsz', 'arcp'},
         'error_model': 'numpy', 'cache': True}
quick = njit(**FLAGS)
# Entries of a job, a body and a row, as the class `Tables` writes them.
JOBS, BODIES, ROWS = 5, 12, 12
# Entries of the record of a body: twist, axes, place, bias, wrench; then
# forces and shares of its speeds, and what is special to its kind.
PLACE = 6 + 9
BIAS = PLACE + 3
WRENCH = BIAS + 6
RECORD = WRENCH + 6
# Pivots below this part of their terms are rounding.
LEAST = 1e-13
# Entries of the header.
(COUNT, SPEEDS, STATES, CONSTANTS, NUMBERS, JOB_COUNT, ROW_COUNT, WIDTH, SIZE,
 Y_SIZE, CORRECTS, CHECKS, POTENTIAL, LENGTH, AT_JOBS, AT_BODIES, AT_SPEEDS,
 AT_ROWS, AT_THROUGH, AT_RATES, AT_USE, AT_PLACES) = range(22)
HEADER = 22
# Faults.
SINGULAR, CONTRADICTION = 1, 2
# Rows this short, of the longest, are rounding.
VANISHED = 1e-13
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
def spread(tables, work, body, tau):
    """Move forces on a joint to the other speeds that move it."""
    own = tau[tables[body + 5]]
    for j in range(tables[body + 9]):
        tau[tables[tables[body + 10] + j]] -= own*work[
            tables[body + 1] + RECORD + 1 + j]


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
                work[record + RECORD]*work[record + RECORD + 1 + j])
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
                record + RECORD + 1 + j]*out[tables[tables[AT_SPEEDS] + place]]


@quick
def push(t, tables, work, way, force, tau, y, is_rigid):
    """The first sweep for ``force``, minus the wrench on each body, and
    ``tau`` on joints, which it sets to zero. If the bodies are rigid, ``y``
    are the forces on joints at rest.
    """
    base, give = work.ctypes.data, np.empty(12)
    get, place, rigid = np.empty(12), 0, np.empty(48)
    for i in way:
        body = tables[AT_BODIES] + BODIES*i
        parent, k, first = tables[body], tables[body + 4], tables[body + 5]
        for j in range(6):
            give[j] = force[i, j]
            force[i, j] = 0.
        for j in range(k):
            give[6 + j] = tau[first + j]
        factors = base + 8*(tables[body + 2] + 27)
        if is_rigid:                    # no motion takes forces off
            rigid[:6*k] = 0.
            rigid[6*k:7*k] = 1.
            factors = rigid.ctypes.data
        call(tables[body + 8], t, base + 8*tables[body + 1],
             give.ctypes.data, factors, get.ctypes.data)
        spread(tables, work, body, tau)
        for j in range(k):
            tau[first + j] = 0.
            y[place + j] = get[6 + j]
        place += k
        if parent >= 0:
            for j in range(6):
                force[parent, j] += get[j]


# -- rows ------------------------------------------------------------------

@quick
def read_row(t, tables, work, row, given):
    """Wrenches of the row of a loop on its bodies, its bias and residual."""
    at, base = tables[AT_ROWS] + ROWS*row, work.ctypes.data
    if tables[at]:
        call(tables[at], t, base + 8*tables[at + 1], base + 8*tables[at + 2],
             base + 8*tables[at + 3], given.ctypes.data)


@quick
def lack(tables, work, row, given, free):
    """What a row lacks at accelerations, and the size of its terms."""
    at = tables[AT_ROWS] + ROWS*row
    if tables[at] == 0:                 # b, then entries of A
        data = tables[at + 1]
        gap = work[data]
        size = abs(gap)
        for k in range(tables[at + 3]):
            term = work[data + 1 + k]*free[
                tables[tables[AT_SPEEDS] + tables[tables[at + 2] + k]]]
            gap -= term
            size += abs(term)
        return gap, size
    gap = -given[12]
    size = abs(gap)
    for side in range(2):
        i = tables[at + 4 + side]
        if i >= 0:
            rates = tables[tables[AT_BODIES] + BODIES*i + 3]
            for j in range(6):
                term = given[6*side + j]*work[rates + j]
                gap -= term
                size += abs(term)
    return gap, size


@quick
def residuals(tables, work, row, given):
    """Residuals of a row, of places and speeds; zero where it has none."""
    at = tables[AT_ROWS] + ROWS*row
    if tables[at] == 0:
        last, levels = tables[at + 1] + tables[at + 3], tables[at + 8]
        return (work[last + 2] if levels > 2 else 0.,
                work[last + 1] if levels > 1 else 0.)
    speed = 0.
    for side in range(2):
        i = tables[at + 4 + side]
        if i >= 0:
            twist = tables[tables[AT_BODIES] + BODIES*i + 1]
            for j in range(6):
                speed += given[6*side + j]*work[twist + j]
    return given[13], speed


@quick
def apply(tables, work, row, given, size, force, tau):
    """Add the forces of a row: minus wrenches, and those on speeds."""
    at = tables[AT_ROWS] + ROWS*row
    if tables[at] == 0:
        for k in range(tables[at + 3]):
            tau[tables[tables[at + 2] + k]] += size*work[
                tables[at + 1] + 1 + k]
        return
    for side in range(2):
        i = tables[at + 4 + side]
        if i >= 0:
            for j in range(6):
                force[i, j] -= size*given[6*side + j]


@quick
def push_rows(t, tables, work, free, Y, gaps):
    """``Y``, and of each row what it lacks at the free accelerations, the size
    of its terms, and its residuals.
    """
    force, tau = np.zeros((tables[COUNT], 6)), np.zeros(tables[SPEEDS])
    given = np.empty(14)
    for row in range(tables[ROW_COUNT]):
        at = tables[AT_ROWS] + ROWS*row
        read_row(t, tables, work, row, given)
        gaps[0, row], gaps[1, row] = lack(tables, work, row, given, free)
        gaps[2, row], gaps[3, row] = residuals(tables, work, row, given)
        apply(tables, work, row, given, 1., force, tau)
        push(t, tables, work, way_of(tables, row), force, tau,
             Y[tables[at + 9]:], False)


@quick
def distances(t, tables, work, gaps, far, norms):
    """Residuals divided by the norms of their gradients, and these norms."""
    force, tau = np.zeros((tables[COUNT], 6)), np.zeros(tables[SPEEDS])
    given, row_of_A = np.empty(14), np.empty(tables[SPEEDS])
    for row in range(len(norms)):
        read_row(t, tables, work, row, given)
        apply(tables, work, row, given, 1., force, tau)
        way, count = way_of(tables, row), 0
        push(t, tables, work, way, force, tau, row_of_A, True)
        for i in way:
            count += tables[tables[AT_BODIES] + BODIES*i + 4]
        coordinates, at = gradient(tables, row)
        norms[row] = np.sqrt((row_of_A[:count]**2).sum() + (
            work[at:at + len(coordinates)]**2).sum())
    least = VANISHED*norms.max()
    for row in range(len(norms)):
        if norms[row] <= least:
            norms[row] = 1.
        for level in range(2):
            far[len(norms)*level + row] = abs(gaps[2 + level, row])/norms[row]


@quick
def way_of(tables, row):
    """Bodies from the leaves to the root whose joints a row moves."""
    at = tables[AT_ROWS] + ROWS*row
    return tables[tables[at + 6]:tables[at + 6] + tables[at + 7]]


@quick
def pivots(tables, work):
    D = np.empty(tables[SPEEDS])
    for i in range(tables[COUNT]):
        body = tables[AT_BODIES] + BODIES*i
        k = tables[body + 4]
        at = tables[body + 2] + 27 + 6*k
        for j in range(k):
            D[tables[body + 5] + j] = work[at + j]
    return D


@quick
def schur(tables, D, Y, place, begin, S):
    """The profile of ``Y D^-1 Y^T`` of the rows that have a place."""
    S[:] = 0.
    for i in range(tables[COUNT]):
        body = tables[AT_BODIES] + BODIES*i
        at = tables[AT_THROUGH] + 2*i
        through = tables[tables[at]:tables[at] + 2*tables[at + 1]]
        for k in range(tables[body + 4]):
            h = 1/D[tables[body + 5] + k]
            for j in range(0, len(through), 2):
                a = place[through[j]]
                if a < 0:
                    continue
                y = h*Y[through[j + 1] + k]
                for l in range(0, j + 1, 2):
                    b = place[through[l]]
                    if b >= 0:
                        S[begin[max(a, b)] + min(a, b)] += y*Y[
                            through[l + 1] + k]


solve = quick(factorize)


@quick
def multipliers(tables, use, D, Y, gaps, lam):
    """Multipliers of the rows in a list; whether these lose rank."""
    lam[:] = 0.
    r = tables[use]
    if not r:
        return False
    rows, profile = tables[use + 1:use + 1 + r], tables[use + 1 + r:]
    count, begin = profile[1], profile[2 + r:2 + 2*r]
    place, work = np.full(len(lam), -1), np.empty(count + 3*r)
    for i in range(r):
        place[rows[i]] = i
        work[count + i] = gaps[rows[i]]
    schur(tables, D, Y, place, begin, work[:count])
    solve(work, profile)
    for i in range(r):
        if not work[count + r + i] > LEAST*work[count + 2*r + i]:
            return True
        lam[rows[i]] = work[count + i]
    return False


@quick
def add_forces(tables, work, Y, lam, sign):
    """Add the forces of the rows to the factors of the bodies."""
    for row in range(len(lam)):
        if lam[row] != 0.:
            place = tables[tables[AT_ROWS] + ROWS*row + 9]
            for i in way_of(tables, row):
                body = tables[AT_BODIES] + BODIES*i
                k = tables[body + 4]
                eta = tables[body + 2] + 27 + 7*k
                for j in range(k):
                    work[eta + j] += sign*lam[row]*Y[place + j]
                place += k


@quick
def contradicts(t, tables, work, lam, gaps, rates):
    """Whether any row fails at the accelerations."""
    allowed, given = ROUNDING*gaps[1].max(), np.empty(14)
    for row in range(len(lam)):
        read_row(t, tables, work, row, given)
        gap, size = lack(tables, work, row, given, rates)
        if abs(gap) > LACK*(size + gaps[1, row]) + allowed:
            return True
    return False


# -- functions of the state ------------------------------------------------

@quick
def begin(t, x, p, tables, numbers, work):
    """The record of the ground, then :func:`go`."""
    for k in range(BIAS):
        work[k] = 0.
    work[6] = work[10] = work[14] = 1.
    return go(t, x, p, tables, numbers, work)


@quick
def fault_of(out):
    """SINGULAR if an output is not finite, otherwise zero."""
    total = 0.
    for value in out:
        total += value
    return 0 if total - total == 0. else SINGULAR


@quick
def sweep(t, x, p, tables, numbers, out, Y, gaps, work):
    """Rates of coordinates and speeds, then multipliers; returns a fault."""
    n, o, m = tables[COUNT], tables[SPEEDS], tables[ROW_COUNT]
    if begin(t, x, p, tables, numbers, work):
        return SINGULAR
    if fold(t, tables, work, np.empty(27*n)):
        return SINGULAR
    q = tables[STATES] - o
    rates, lam = out[q:q + o], out[q + o:]
    accelerate(t, tables, work, rates)
    if m:
        push_rows(t, tables, work, rates, Y, gaps)
        if multipliers(tables, tables[AT_USE], pivots(tables, work), Y,
                       gaps[0], lam):
            return SINGULAR
        add_forces(tables, work, Y, lam, 1.)
        accelerate(t, tables, work, rates)
        if tables[CHECKS] and tables[tables[AT_USE]] < m and contradicts(
                t, tables, work, lam, gaps, rates):
            return CONTRADICTION
    for k in range(q):
        at = tables[AT_RATES] + 2*k
        out[k] = x[tables[at]] if tables[at] >= 0 else work[tables[at + 1]]
    return fault_of(out)


@quick
def correct(t, x, p, tables, numbers, out):
    """Changes of coordinates and speeds towards the constraints, how far rows
    are from them at both levels, and the norms of their gradients; returns a
    fault.
    """
    n, o, m = tables[COUNT], tables[SPEEDS], tables[ROW_COUNT]
    q, work = tables[STATES] - o, np.empty(tables[SIZE])
    Y, gaps, lam = np.empty(tables[Y_SIZE]), np.empty((4, m)), np.empty(m)
    if begin(t, x, p, tables, numbers, work) or fold(
            t, tables, work, np.empty(27*n)):
        return SINGULAR
    change = np.zeros((2, o))
    push_rows(t, tables, work, change[0], Y, gaps)
    far, norms = out[q + o:q + o + 2*m], out[q + o + 2*m:]
    distances(t, tables, work, gaps, far, norms)
    D = pivots(tables, work)
    for i in range(n):                  # neither bias nor forces
        body = tables[AT_BODIES] + BODIES*i
        for j in range(6):
            work[tables[body + 1] + BIAS + j] = 0.
    for level in range(2):
        use = tables[AT_USE if level else AT_PLACES]
        if multipliers(tables, use, D, Y, gaps[2 + level], lam):
            return SINGULAR
        for i in range(n):
            body = tables[AT_BODIES] + BODIES*i
            k = tables[body + 4]
            for j in range(k):
                work[tables[body + 2] + 27 + 7*k + j] = 0.
        add_forces(tables, work, Y, lam, -1.)
        accelerate(t, tables, work, change[level])
    add_gradients(tables, work, gaps[2], out[:q])
    put(moved(t, x, p, tables, numbers, change[0], work), change[1], out)
    return fault_of(out)


@quick
def put(moves, speeds, out):
    """Add changes of coordinates, and put those of speeds after them."""
    q = len(moves)
    for i in range(q):
        out[i] += moves[i]
    for j in range(len(speeds)):
        out[q + j] = speeds[j]


@quick
def gradient(tables, row):
    """Coordinates of a row that the kinematics keep, and the place of the
    entries of its gradient.
    """
    at = tables[AT_ROWS] + ROWS*row
    begin, count = tables[at + 10], tables[at + 11]
    return tables[begin:begin + count], tables[at + 1] + 3


@quick
def add_gradients(tables, work, gaps, change):
    """Changes of coordinates for rows that the kinematics keep."""
    change[:] = 0.
    for row in range(len(gaps)):
        coordinates, at = gradient(tables, row)
        count = len(coordinates)
        left, square = gaps[row], 0.    # after the changes for rows before
        for k in range(count):
            left += work[at + k]*change[coordinates[k]]
            square += work[at + k]**2
        for k in range(count):
            change[coordinates[k]] -= left*work[at + k]/square


@quick
def moved(t, x, p, tables, numbers, speeds, work):
    """Rates of the coordinates at speeds, less those at rest."""
    o = tables[SPEEDS]
    q = tables[STATES] - o
    at, z, change = tables[AT_RATES], x.copy(), np.zeros(q)
    others = False
    for k in range(q):
        state = tables[at + 2*k]
        others |= state < 0
        if state >= q:
            change[k] = speeds[state - q]
    for sign in range(2 if others else 0):
        for j in range(o):
            z[q + j] = sign*speeds[j]
        if begin(t, z, p, tables, numbers, work):
            change[:] = np.nan
        for k in range(q):
            if tables[at + 2*k] < 0:
                value = work[tables[at + 2*k + 1]]
                change[k] += value if sign else -value
    return change


@quick
def reactions(t, x, p, tables, numbers, lam, out, gaps):
    """Generalized constraint forces by speed, and the residuals of rows."""
    n, o, m = tables[COUNT], tables[SPEEDS], tables[ROW_COUNT]
    work, given = np.empty(tables[SIZE]), np.empty(14)
    force, tau = np.zeros((n, 6)), np.zeros(o)
    if begin(t, x, p, tables, numbers, work):
        return SINGULAR
    for row in range(m):
        read_row(t, tables, work, row, given)
        gaps[0, row], gaps[1, row] = residuals(tables, work, row, given)
        apply(tables, work, row, given, lam[row], force, tau)
    speeds = tables[AT_SPEEDS]
    for k in range(o):
        out[tables[speeds + k]] = tau[k]
    tau[:] = 0.
    joints, at = np.empty(o), 0
    push(t, tables, work, np.arange(n - 1, -1, -1), force, tau, joints, True)
    for i in range(n - 1, -1, -1):
        body = tables[AT_BODIES] + BODIES*i
        for j in range(tables[body + 4]):
            out[tables[speeds + tables[body + 5] + j]] += joints[at + j]
        for j in range(tables[body + 9]):       # speeds that are shared
            out[tables[speeds + tables[tables[body + 10] + j]]] += joints[
                at]*work[tables[body + 1] + RECORD + 1 + j]
        at += tables[body + 4]
    return 0


# -- by address ------------------------------------------------------------

NUMBER = types.CPointer(types.float64)
ADDRESSED = types.int32(types.float64, NUMBER, NUMBER, NUMBER,
                        types.CPointer(types.int64), NUMBER)


@lru_cache(maxsize=None)
def solver():
    """:func:`sweep` or :func:`correct`, as the tables say, for addresses."""
    @cfunc(ADDRESSED, cache=True)
    def code(t, x, p, out, tables, numbers):
        tables = carray(tables, tables[LENGTH])
        states, m = tables[STATES], tables[ROW_COUNT]
        x, p, numbers = (
            carray(x, states), carray(p, tables[CONSTANTS] - states),
            carray(numbers, tables[NUMBERS]))
        if tables[CORRECTS]:
            return correct(t, x, p, tables, numbers,
                           carray(out, states + 3*m))
        return sweep(t, x, p, tables, numbers, carray(out, states + m),
                     np.empty(tables[Y_SIZE]), np.empty((4, m)),
                     np.empty(tables[SIZE]))

    return code
