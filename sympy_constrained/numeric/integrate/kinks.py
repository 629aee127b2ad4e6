"""Times at which tables change their course."""
from __future__ import annotations

import numpy as np

__all__ = ['Kinks']

# An integrator starts this many roundings of the largest time after a kink,
# and ends as many before the next one.
BEHIND = 4


class Kinks:
    """The kinks of the tables of a model.

    The steps of an integrator could pass over what follows a kink, so it
    starts after one, and ends before the next.
    """

    def __init__(self, tables, span):
        self.tables = tables
        self.clear = BEHIND*np.spacing(max(map(abs, span)))
        self.clear *= 1 if span[1] > span[0] else -1

    def __bool__(self):
        return bool(self.tables)

    def next(self, t, end, tolerance):
        """Time of the next kink, or the end."""
        return min((table.course(t, end, tolerance)
                    for table in self.tables), key=lambda end: abs(end - t),
                   default=end)

    def interval(self, t, end, tolerance):
        """Begin of the next integration, the kink after it, and its end."""
        while True:                     # kinks may be close to each other
            t += self.clear
            kink = self.next(t, end, tolerance)
            stop = end if abs(end - kink) < 5*abs(self.clear) else kink
            if stop == end or abs(stop - t) > 2*abs(self.clear):
                return t, kink, stop
            t = stop
