"""Factors of large symmetric systems in loops (:doc:`/theory/numbers`)."""
from functools import cached_property, lru_cache

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee


class Profile:
    """Order and places of the entries of a matrix ``K`` with a pattern.

    The loops work on one array: the entries of all rows, then right sides,
    pivots and sizes, one for each row. They put the solution in place of the
    right sides. The size is the sum of the magnitudes whose sum is the pivot.
    """

    def __init__(self, pattern, motion):
        graph = csr_array(pattern)
        orders = (delayed(pattern, order, motion) for order in (
            np.arange(len(pattern)),
            reverse_cuthill_mckee(graph, symmetric_mode=True)))
        self.order, self.first = min(
            ((order, first_entries(pattern, order)) for order in orders),
            key=lambda found: effort(found[1]))
        rows = np.arange(len(pattern))
        lengths = rows - self.first + 1
        self.start = np.cumsum(lengths) - lengths - self.first
        self.count = int(lengths.sum())
        self.size = self.count + 3*len(rows)

    @property
    def entries(self):
        """Row and column of every entry."""
        return [(self.order[i], self.order[j])
                for i, first in enumerate(self.first)
                for j in range(first, i + 1)]

    @cached_property
    def tables(self):
        """Number of rows and entries, first columns and starts of rows."""
        return np.array([len(self.first), self.count, *self.first,
                         *self.start], dtype=np.int64)


def delayed(pattern, order, motion):
    """The order in which multipliers follow the unknowns of their rows."""
    place = np.empty(len(order))
    place[order] = np.arange(len(order))
    for i in range(motion, len(order)):
        last = place[:motion][pattern[i, :motion]].max(initial=-1)
        place[i] = max(place[i], last + 0.5)
    return np.argsort(place, kind='stable')


def first_entries(pattern, order):
    """The column of the first entry in each row of the reordered matrix."""
    return np.argmax(pattern[np.ix_(order, order)] | np.eye(
        len(order), dtype=bool), axis=1)


def effort(first):
    """Number of multiplications of a factorization."""
    lengths = np.arange(len(first)) - first
    return int((lengths*(lengths + 1)).sum())


def factorize(work, tables):
    """Factors, pivots and their sizes, then the solution."""
    n, count = tables[0], tables[1]
    first, start = tables[2:2 + n], tables[2 + n:2 + 2*n]
    right, pivots, sizes = (
        work[count:], work[count + n:], work[count + 2*n:])
    for i in range(n):
        at, low = start[i], first[i]
        j = low
        while j < i:                    # two columns at once are faster
            begin, one, total = max(low, first[j]), start[j], 0.
            if j + 1 < i and max(low, first[j + 1]) == begin:
                two, other = start[j + 1], 0.
                x = work[at + begin:at + j]
                y = work[one + begin:one + j]
                z = work[two + begin:two + j]
                for k in range(len(x)):
                    total += x[k]*y[k]
                    other += x[k]*z[k]
                work[at + j] -= total
                work[at + j + 1] -= other + work[at + j]*work[two + j]
                j += 2
            else:
                x = work[at + begin:at + j]
                y = work[one + begin:one + j]
                for k in range(len(x)):
                    total += x[k]*y[k]
                work[at + j] -= total
                j += 1
        row = work[at + low:at + i]
        above = pivots[low:i]
        known = right[low:i]
        pivot, value = work[at + i], right[i]
        size = abs(pivot)
        for k in range(len(row)):
            entry = row[k]
            factor = row[k] = entry/above[k]
            pivot -= entry*factor
            size += abs(entry*factor)
            value -= factor*known[k]
        pivots[i], sizes[i], right[i] = pivot, size, value
    for i in range(n):
        right[i] /= pivots[i]
    for i in range(n - 1, -1, -1):
        row = work[start[i] + first[i]:start[i] + i]
        known = right[first[i]:i]
        value = right[i]
        for k in range(len(row)):
            known[k] -= row[k]*value


@lru_cache(maxsize=None)
def kernel():
    """:func:`factorize` for the addresses of both arrays, compiled."""
    from numba import carray, cfunc, njit, types
    run = njit(fastmath={'reassoc', 'contract', 'nsz', 'arcp'},
               error_model='numpy')(factorize)

    @cfunc(types.void(types.CPointer(types.float64),
                      types.CPointer(types.int64)), cache=True)
    def call(work, tables):
        n, count = tables[0], tables[1]
        run(carray(work, count + 3*n), carray(tables, 2 + 2*n))

    return call
