r"""Pass through isolated singular configurations.

Explanation
===========

Where the constraint rows :math:`A` lose rank at an instant :math:`t^*`, the
accelerations are a quotient 0/0, which has a limit on the branch of the motion
[1]_. No step crosses :math:`t^*`: the integrator stops at an edge
:math:`t^* - \delta`, and a polynomial through the last accepted states and
their rates leads to :math:`t^* + \delta`.

The reciprocal condition :math:`s = \sigma_r/\sigma_1` is the smallest singular
value of the scaled rows at the nominal rank :math:`r`, relative to the largest
one of the run. It has a simple zero where the velocity selects a branch. At a
double zero the equations do not determine how the motion continues.

Projection determines velocities to :math:`\epsilon/s^2`, and the error of the
polynomial grows with :math:`\delta`; the choice of the edge balances the two.

References
==========

.. [1] M. Gonzalez, D. Dopico, U. Lugris and J. Cuadrado, "A benchmarking
   system for MBS simulation software: Problem standardization and performance
   measurement," Multibody System Dynamics 16 (2006) 179-190, problem A02.

"""
from typing import NamedTuple

import numpy as np
from scipy.interpolate import KroghInterpolator
from scipy.optimize import brentq, minimize_scalar

from ..manifold.projection import size_of


# Reciprocal condition at the edge, and its largest part of the usual one.
EDGE, SHARE = 7e-3, 3e-2
# A minimum below this multiple of EDGE is examined.
CANDIDATE = 7
# A smaller part of the reciprocal condition at the edge is a zero.
ZERO = 0.03
# At twice the distance from a zero the reciprocal condition is 2 times as
# large at a simple zero, 4 times at a double one. Only a value below SURE
# stops the run there.
DOUBLE, SURE = 3., 1e-2
# Weyl's bound excludes a zero if the rows change by less than this part of
# their smallest singular value.
LITTLE = 1/1.5
# The shortest part of a step that is examined separately.
FINEST = 1/64
# Number of points at which the first minimum is searched, and the ranges to
# search until one lies inside.
GRID, SEARCHED = 33, (1, 2, 4, 8)
# Number of accepted states to keep, and of knots of the polynomial.
KEPT, KNOTS = 400, 4
# Multiples of EDGE at which the integrator stops, for knots.
STAGES = 7, 5, 3, 1
# Ends of a passage to try, in parts of the distance before the zero.
BEHIND = 1, 0.75, 0.5, 0.25
# How often the edge may move closer, to half the distance.
TRIES = 6
# At the end of a passage projection moves no state by more than SAME, relative
# to a size of at least LEAST and for speeds that of the largest one, and rates
# agree with those of the equations to SMOOTH. Rounding causes an error of
# ROUNDING, relative to the squared reciprocal condition.
SAME, LEAST, SMOOTH, ROUNDING = 1e-7, 1., 1e-4, 30.*1e-15


class Approach(NamedTuple):
    """A singular configuration ahead."""

    edge: float             # time at which the integrator has to stop
    singular: float         # estimated time of the singular configuration
    tries: int = 0          # how often the edge has moved closer

    def nearer(self, t, singular):
        """The same with an edge half as far from ``t``, or None."""
        if self.tries == TRIES:
            return None
        return Approach(singular + (t - singular)/2, singular, self.tries + 1)


class PassageFinder:
    """Search for singular configurations on the way of a run."""

    def __init__(self, compiled):
        self.compiled = compiled
        self.motion = compiled.motion//compiled.equations.copies
        self.size = len(compiled.states)
        self.solver = None
        self.times = self.states = np.zeros(0)  # that were accepted
        self.usual, self.largest = 0., np.finfo(float).tiny
        self._last = None, None, 0.     # time, rows, reciprocal condition
        self._cleared = None

    @staticmethod
    def applies_to(compiled):
        """Whether the unknowns are accelerations and multipliers of rows."""
        W = compiled.equations.graph.pattern('W')
        motion = compiled.motion
        return len(W) > motion and not any(
            any(row[motion:]) for row in W[motion:])

    # -- reciprocal condition --------------------------------------------

    def rows(self, t, x):
        """The scaled constraint rows ``A``, shape (m, o), also of a batch."""
        part = ..., slice(self.motion, None), slice(None, self.motion)
        return self.compiled.first_block(('W',), t, x)['W'][part]*(
            self.solver.scale[part])

    def _rows_or_none(self, t, x):
        try:
            return self.rows(t, x)
        except (ArithmeticError, ValueError):   # beyond the end of a table
            return None

    def singular_values(self, rows):
        """The smallest one at the nominal rank, and the largest."""
        sigma = np.linalg.svd(rows, compute_uv=False)
        rank = self.solver.rank - self.motion
        return (sigma[..., rank - 1], sigma[..., 0]) if rank > 0 else (1., 1.)

    def _ratio(self, rows):
        if rows is None:
            return np.inf
        return self.singular_values(rows)[0]/self.largest

    def condition(self, t, x):
        """``s`` at a state; infinite where the rows have no value."""
        return self._ratio(self._rows_or_none(t, x))

    @property
    def edge(self):
        """Reciprocal condition at which the integrator has to stop."""
        return min(EDGE, SHARE*self.usual)

    # -- search ----------------------------------------------------------

    def accept(self, t, y, solver):
        """Take note of an accepted state."""
        self.solver = solver.first
        self._keep(np.array([t]), y[None])
        rows = self.rows(t, y[:self.size])
        least, largest = self.singular_values(rows)
        self.largest = max(self.largest, largest)
        self.usual = max(self.usual, least/self.largest)
        self._last = t, rows, least/self.largest

    def _keep(self, t, y):
        """Keep the last accepted states."""
        if len(self.times):
            t, y = np.append(self.times, t), np.vstack([self.states, y])
        self.times, self.states = t[-KEPT:], y[-KEPT:]

    def ordinary(self, t, y, watched):
        """A function to accept states of a block, and the doubtful steps."""
        _, _, least, largest, is_open, rows = watched
        largest = np.maximum.accumulate(np.maximum(largest, self.largest))
        ratio = least/largest
        usual = np.maximum.accumulate(np.maximum(ratio, self.usual))
        is_near = ratio[1:] < np.minimum(
            np.minimum(EDGE, SHARE*usual[1:]), ratio[:-1])

        def accept(k):
            """Take note of the states up to number ``k``."""
            new = slice(len(self.times) and np.count_nonzero(
                (t[:k + 1] - self.times[-1])*(t[-1] - t[0]) <= 0), k + 1)
            self._keep(t[new], y[new])
            self.largest, self.usual = largest[k], usual[k]
            self._last = t[k], rows[k], ratio[k]

        return accept, np.flatnonzero(is_near | is_open[:-1])

    def forget(self, t):
        first = int(np.argmax(self.times == t))
        self.times, self.states = self.times[first:], self.states[first:]

    def clear(self, end):
        self._cleared = sorted((self.times[-1], end))

    def find(self, t, x, path):
        """An :class:`Approach` on the ``path`` of a step, or None."""
        begin, first, before = self._last
        if self._cleared and self._cleared[0] <= begin <= self._cleared[1]:
            return None
        last = self._rows_or_none(t, x)

        def state(s):
            return path(s)[:self.size]

        def rows(part):
            s = begin + part*(t - begin)
            return self._rows_or_none(s, state(s))

        here = self._ratio(last)
        if here < min(self.edge, before):       # the step ends too near
            return self.approach(state, begin, t, abs(t - begin)) or Approach(
                self._edge(state, begin, t),
                t + (t - begin)*here/(before - here))
        approaches = (
            self.approach(state, begin, begin + part*(t - begin),
                          abs(t - begin)*FINEST)
            for part in self._candidates(rows, 0., first, 1., last))
        return next(filter(None, approaches), None)

    def _candidates(self, rows, a, first, b, second):
        """Parts of the step in which a zero is not excluded, in order.

        By Weyl's bound singular values change by no more than the matrix, here
        with rows whose largest length in the part is one.
        """
        middle = (a + b)/2
        between = rows(middle)
        if first is not None and between is not None and second is not None:
            three = np.array([first, between, second])
            size = np.linalg.norm(three, axis=2, keepdims=True).max(axis=0)
            three /= np.where(size, size, 1.)
            change = np.linalg.norm(np.diff(three, axis=0), axis=(1, 2)).sum()
            if any(change <= LITTLE*self.singular_values(matrix)[0]
                   for matrix in three):
                return
        if b - a <= FINEST:
            yield middle
            return
        yield from self._candidates(rows, a, first, middle, between)
        yield from self._candidates(rows, middle, between, b, second)

    def approach(self, path, begin, near, reach):
        """An :class:`Approach` of the first minimum of ``s`` on ``path``,
        ``t -> x``, within ``reach`` of the time ``near``, if it is a zero.
        """
        sign = np.sign(near - begin) or 1.

        def condition(s):
            return self.condition(sign*s, path(sign*s))

        low = max(sign*near - reach, sign*begin)
        for factor in SEARCHED:         # until it has a minimum inside
            times = np.linspace(low, sign*near + factor*reach, GRID)
            values = [condition(s) for s in times]
            first = next((k for k in range(1, GRID - 1) if values[k - 1]
                          >= values[k] <= values[k + 1]), GRID - 2)
            if first < GRID - 2:
                break
        minimum = minimize_scalar(
            condition, method='bounded',
            bounds=(times[first - 1], times[first + 1]),
            options={'xatol': 1e-6*reach})
        singular, least = sign*minimum.x, minimum.fun
        start = self.condition(begin, path(begin))
        if least > min(CANDIDATE*self.edge, ZERO*start):
            return None
        return Approach(self._edge(path, begin, singular, 3*least), singular)

    def _edge(self, path, begin, end, least=0.):
        """The first time at which to stop on the way to a zero."""
        wanted = max(STAGES[0]*self.edge, least)
        if self.condition(begin, path(begin)) <= wanted:
            return begin
        return brentq(lambda s: self.condition(s, path(s)) - wanted, begin,
                      end, xtol=1e-3*abs(end - begin))

    # -- passage ---------------------------------------------------------

    def passage(self, approach, rates, limit):
        """A :class:`Passage` from the last state to ``limit`` at most, an
        :class:`Approach` if the edge can be nearer, None if no rank is lost.
        """
        t, y = self.times[-1], self.states[-1]
        half = approach.singular - t
        passage = Passage(self.knots(abs(half)), rates, self.size,
                          self.compiled.u_index)

        def condition(s):
            return self.condition(s, passage.path(s)[:self.size])

        found = self.approach(lambda s: passage.path(s)[:self.size], t,
                              t + half, 2*abs(half))
        start = self.condition(t, y[:self.size])
        if found is None or condition(found.singular) > ZERO*start:
            return self._nearer(approach, t, approach.singular)
        singular = found.singular
        half = singular - t
        ends = [singular + part*half for part in BEHIND]
        after = [condition(s) for s in ends]
        if max(after) < ZERO*start:     # the rank is lost for long
            return self._nearer(approach, t, singular)
        for stage in STAGES:            # more knots before the edge
            if start > (stage + 0.5)*self.edge:
                return Approach(singular - half*stage*self.edge/start,
                                singular)
        passage.singular = singular
        passage.end = ends[int(np.argmax(after))]   # a zero may follow
        if (limit - passage.end)*half < 0:
            passage.end = limit
        least, one, two = (condition(s) for s in (
            singular, singular - half/16, singular - half/8))
        passage.is_double = DOUBLE*one < two
        if passage.is_double and least > SURE*start:    # a minimum, no zero
            return self._nearer(approach, t, singular)
        return passage

    def _nearer(self, approach, t, singular):
        """Look again from closer to a zero; after the last try, ignore it."""
        nearer = approach.nearer(t, singular)
        if nearer is None:
            self.clear(3*singular - 2*t)
        return nearer

    def knots(self, apart):
        """The last accepted states with at least this distance in time."""
        chosen = []
        for t, y in zip(self.times[::-1].tolist(), self.states[::-1]):
            if not chosen or abs(t - chosen[-1][0]) >= apart:
                chosen.append((t, y))
            if len(chosen) == KNOTS:
                break
        return chosen[::-1]


class Passage:
    """A polynomial through a singular configuration.

    ``path`` maps times to ``y``; ``lower`` is a polynomial of lower degree.
    """

    singular = end = np.nan     # times
    is_double = False           # the zero of the reciprocal condition

    def __init__(self, knots, rates, size, speeds):
        self.size = size
        self.times = [t for t, _ in knots for _ in (0, 1)]
        self.values = [v for t, y in knots for v in (y, rates(t, y))]
        self.path = Polynomial(self.times, self.values)
        self.lower = Polynomial(
            self.times[:1] + self.times[2:], self.values[:1] + self.values[2:])
        self.sizes = np.abs(self.values[::2]).max(axis=0, initial=LEAST)
        self.sizes[speeds] = self.sizes[speeds].max(initial=LEAST)

    def rounding(self, condition):
        """Relative error at the end by rounding at the start."""
        return ROUNDING/condition**2

    def leads_to(self, end, rates, rounding, motion):
        """Whether a consistent state and its rates continue the passage.

        The last ``motion`` rates are accelerations.
        """
        values, slopes = self.path(self.end), self.path.derivative(self.end)
        apart = 10*np.abs(slopes - self.lower.derivative(self.end))
        apart += SMOOTH*size_of(rates[self.size - motion:])
        moved = np.abs(end - values)
        return (moved <= (SAME + rounding)*self.sizes).all() and (
            np.abs(rates - slopes) <= apart).all()

    def error(self, end, lower, rounding, rtol, atol):
        """Difference of two ends, by both degrees, in tolerances."""
        return np.max(np.abs(end - lower)/np.maximum(
            atol + rtol*np.abs(end), rounding*self.sizes))

    def through(self, t, y, rates):
        """The polynomial that has these values at a time, too."""
        return Polynomial([*self.times, t, t], [*self.values, y, rates])


class Polynomial(KroghInterpolator):
    """A polynomial with states in columns, as the interpolants of SciPy."""

    def __call__(self, t):
        return super().__call__(t).T
