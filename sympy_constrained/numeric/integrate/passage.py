r"""Pass through isolated singular configurations.

Explanation
===========

Where the constraint rows :math:`A` lose rank at an instant :math:`t^*`, the
equations give the accelerations as a quotient 0/0. On the branch of the motion
the quotient has a limit, and the motion is smooth [1]_. At a distance
:math:`e` from the branch its error is of the order :math:`e/|t - t^*|`, so the
stages of an integrator must not come close.

No step crosses :math:`t^*`. The integrator stops at an edge
:math:`t^* - \delta`. A polynomial through the last accepted states and their
rates leads to :math:`t^* + \delta`, where the rows have their rank again, and
the integrator starts anew.

The *nearness* is :math:`s = \sigma_r/\sigma_1`, the smallest singular value
of the scaled rows at the nominal rank :math:`r`, relative to the largest one
of the run. Where the velocity selects a branch, :math:`s` has a simple zero.
At a double zero the motion turns, or branches touch, and the equations do not
determine how it continues.

Projection determines velocities to :math:`\epsilon/s^2`; the error of the
polynomial grows with a high power of :math:`\delta`. :data:`EDGE` balances the
two. If the polynomial is less accurate than the integrator, the edge moves
closer.

References
==========

.. [1] M. Gonzalez, D. Dopico, U. Lugris and J. Cuadrado, "A benchmarking
   system for MBS simulation software: Problem standardization and performance
   measurement," Multibody System Dynamics 16 (2006) 179-190, problem A02.

"""
from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from scipy.interpolate import KroghInterpolator
from scipy.optimize import brentq, minimize_scalar

__all__ = ['Passages', 'Approach']

# Nearness at the edge, and its largest part of the usual nearness.
EDGE, SHARE = 7e-3, 3e-2
# A minimum of nearness below this multiple of EDGE is examined.
CANDIDATE = 7
# A smaller part of the nearness at the edge is a zero.
ZERO = 0.03
# Twice as far from a zero the nearness is 2 times as large at a simple zero,
# 4 times at a double one. Only a nearness below SURE stops the run there.
DOUBLE, SURE = 3., 1e-2
# Weyl's bound excludes a zero if the rows change by less than this part of
# their smallest singular value.
LITTLE = 1/1.5
# The shortest part of a step that is examined by itself.
FINEST = 1/64
# Number of points at which the first minimum is searched; the range grows
# while there is none inside.
GRID, SEARCHED = 33, (1, 2, 4, 8)
# Number of accepted states to keep, and to put the polynomial through.
KEPT, ANCHORS = 400, 4
# Multiples of EDGE at which the integrator stops on its way, so that the
# polynomial has states to go through.
STAGES = 7, 5, 3, 1
# Where to restart behind a zero, in parts of the distance before it.
BEHIND = 1, 0.75, 0.5, 0.25
# How often the edge may move closer, to half the distance.
TRIES = 6


class Approach(NamedTuple):
    """A singular configuration ahead.

    Attributes
    ==========

    edge : float
        Time at which the integrator has to stop.
    zero : float
        Estimated time of the singular configuration.
    tries : int
        How often the edge has moved closer.

    """

    edge: float
    zero: float
    tries: int = 0

    def nearer(self, t, zero):
        """The same with an edge between ``t`` and the zero, or None."""
        if self.tries == TRIES:
            return None
        return Approach(zero + (t - zero)/2, zero, self.tries + 1)


class Passages:
    """Search for singular configurations on the way of a run.

    Parameters
    ==========

    compiled : CompiledEquations

    """

    def __init__(self, compiled):
        self.compiled = compiled
        self.motion = compiled.motion
        self.solver = None
        self.anchors = deque(maxlen=KEPT)
        self.usual, self.largest = 0., np.finfo(float).tiny
        self._last = None, None, 0.     # time, rows, nearness
        self.cleared = None

    def is_cleared(self, t):
        """Whether what is ahead of ``t`` has turned out to be regular."""
        if self.cleared is None:
            return False
        begin, end = self.cleared
        return min(begin, end) <= t <= max(begin, end)

    @staticmethod
    def exist_for(compiled):
        """Whether the unknowns are accelerations and multipliers of rows."""
        W = compiled.equations.graph.pattern('W')
        motion = compiled.motion
        return len(W) > motion and not any(
            any(row[motion:]) for row in W[motion:])

    # -- nearness --------------------------------------------------------

    def rows(self, t, x):
        """The scaled constraint rows ``A``, shape (m, o)."""
        part = slice(self.motion, None), slice(None, self.motion)
        W = self.compiled.evaluate(('W',), t, x)['W']
        return W[part]*self.solver.scale[part]

    def values(self, rows):
        """Smallest singular value at the nominal rank, and the largest."""
        sigma = np.linalg.svd(rows, compute_uv=False)
        rank = self.solver.rank - self.motion
        return (sigma[rank - 1], sigma[0]) if rank > 0 else (1., 1.)

    def nearness(self, t, x):
        """``s`` at a state; infinite where the rows have no value."""
        return self._ratio(self._rows_or_none(t, x))

    @property
    def edge(self):
        """Nearness at which the integrator has to stop."""
        return min(EDGE, SHARE*self.usual)

    # -- search ----------------------------------------------------------

    def accept(self, t, y, solver):
        """Take note of an accepted state."""
        self.solver = solver
        self.anchors.append((t, y))
        rows = self.rows(t, y[:len(self.compiled.states)])
        least, largest = self.values(rows)
        self.largest = max(self.largest, largest)
        self.usual = max(self.usual, least/self.largest)
        self._last = t, rows, least/self.largest

    def seek(self, t, x, path):
        """An :class:`Approach` within the step to ``t``, or None.

        Parameters
        ==========

        t : float
        x : ndarray
        path : callable
            The interpolant of the step, ``t -> y``.

        """
        begin, first, before = self._last
        if self.is_cleared(begin):
            return None
        size = len(self.compiled.states)
        last = self._rows_or_none(t, x)
        here = self._ratio(last)
        if here < min(self.edge, before):       # the step ends too near
            return Approach(
                self._edge(lambda s: path(s)[:size], begin, t),
                t + (t - begin)*here/(before - here))

        def rows(part):
            s = begin + part*(t - begin)
            return self._rows_or_none(s, path(s)[:size])

        for part in self._candidates(rows, 0., first, 1., last):
            found = self.approach(
                lambda s: path(s)[:size], begin, begin + part*(t - begin),
                abs(t - begin)*FINEST)
            if found is not None:
                return found
        return None

    def _rows_or_none(self, t, x):
        try:
            return self.rows(t, x)
        except (ArithmeticError, ValueError):   # beyond the end of a table
            return None

    def _candidates(self, rows, a, first, b, second):
        """Parts of the step in which a zero is not excluded, in order.

        By Weyl's bound singular values change by no more than the matrix.
        """
        middle = (a + b)/2
        between = rows(middle)
        if first is not None and between is not None and second is not None:
            change = (np.linalg.norm(between - first)
                      + np.linalg.norm(second - between))
            if any(change <= LITTLE*self.values(matrix)[0]
                   for matrix in (first, between, second)):
                return
        if b - a <= FINEST:
            yield middle
            return
        yield from self._candidates(rows, a, first, middle, between)
        yield from self._candidates(rows, middle, between, b, second)

    def _ratio(self, rows):
        return np.inf if rows is None else self.values(rows)[0]/self.largest

    def approach(self, path, begin, near, reach):
        """An :class:`Approach` of the least nearness close to a time.

        None if it is not a zero.

        Parameters
        ==========

        path : callable
            ``t -> x``
        begin : float
            Time of the last accepted state.
        near, reach : float
            The minimum is searched within ``reach`` of ``near``.

        """
        def nearness(s):
            return self.nearness(s, path(s))

        sign = np.sign(near - begin) or 1.
        low = max(sign*near - reach, sign*begin)
        for factor in SEARCHED:         # until it has a minimum inside
            times = np.linspace(low, sign*near + factor*reach, GRID)
            values = [nearness(sign*s) for s in times]
            first = next((k for k in range(1, GRID - 1) if values[k - 1]
                          >= values[k] <= values[k + 1]), GRID - 2)
            if first < GRID - 2:
                break
        found = minimize_scalar(
            lambda s: nearness(sign*s), method='bounded',
            bounds=(times[first - 1], times[first + 1]),
            options={'xatol': 1e-6*reach})
        zero, least = sign*found.x, found.fun
        start = nearness(begin)
        if least > min(CANDIDATE*self.edge, ZERO*start):
            return None
        return Approach(self._edge(path, begin, zero, 3*least), zero)

    def _edge(self, path, begin, end, least=0.):
        """The first time at which to stop on the way to a zero."""
        wanted = max(STAGES[0]*self.edge, least)
        if self.nearness(begin, path(begin)) <= wanted:
            return begin
        return brentq(lambda s: self.nearness(s, path(s)) - wanted, begin,
                      end, xtol=1e-3*abs(end - begin))

    # -- passage ---------------------------------------------------------

    def bridge(self, approach, rates, end):
        """The way through a singular configuration, from the last state.

        Parameters
        ==========

        approach : Approach
        rates : callable
            ``(t, y) -> y'``
        end : float
            The polynomial is not used beyond this time.

        Returns
        =======

        Bridge, Approach or None
            An :class:`Approach` if the edge can be nearer, None if the
            constraints keep their rank.

        """
        t, y = self.anchors[-1]
        size = len(self.compiled.states)
        half = approach.zero - t
        bridge = Bridge(self.chosen(abs(half)), rates)

        def ahead(s):
            return bridge.path(s)[:size]

        found = self.approach(ahead, t, t + half, 2*abs(half))
        start = self.nearness(t, y[:size])
        if found is None or self.nearness(
                found.zero, ahead(found.zero)) > ZERO*start:
            return self._nearer(approach, t, approach.zero)
        half = found.zero - t
        ends = [found.zero + part*half for part in BEHIND]
        after = [self.nearness(s, ahead(s)) for s in ends]
        far = ends[int(np.argmax(after))]       # another zero may follow
        if max(after) < ZERO*start:     # the rank is lost for long
            return self._nearer(approach, t, found.zero)
        stage = next((stage for stage in STAGES
                      if start > (stage + 0.5)*self.edge), None)
        if stage:
            return Approach(found.zero - half*stage*self.edge/start,
                            found.zero)
        bridge.zero, bridge.far = found.zero, far
        if (end - bridge.far)*half < 0:
            bridge.far = end
        least, one, two = (self.nearness(s, ahead(s)) for s in (
            found.zero, found.zero - half/16, found.zero - half/8))
        bridge.is_double = DOUBLE*one < two
        if bridge.is_double and least > SURE*start:     # a minimum, no zero
            return self._nearer(approach, t, found.zero)
        return bridge

    def _nearer(self, approach, t, zero):
        """Look again from closer to a zero; after the last try, pass it by."""
        nearer = approach.nearer(t, zero)
        if nearer is None:
            self.clear(3*zero - 2*t)
        return nearer

    def clear(self, end):
        """Do not look for singular configurations before a time."""
        self.cleared = self.anchors[-1][0], end

    def chosen(self, apart):
        """The last accepted states that are at least so far apart."""
        chosen = [self.anchors[-1]]
        for t, y in reversed(self.anchors):
            if abs(t - chosen[-1][0]) >= apart:
                chosen.append((t, y))
            if len(chosen) == ANCHORS:
                break
        return chosen[::-1]


class Bridge:
    """A polynomial through a singular configuration.

    Parameters
    ==========

    knots : list of (t, y)
        Accepted states before it.
    rates : callable
        ``(t, y) -> y'``

    Attributes
    ==========

    path, lower : callable
        ``t -> y``; the second has a lower degree.
    zero, far : float
        Times of the singular configuration and of the end.
    is_double : bool
        Whether nearness has a double zero.

    """

    zero = far = np.nan
    is_double = False

    def __init__(self, knots, rates):
        self.times = [t for t, _ in knots for _ in (0, 1)]
        self.values = [v for t, y in knots for v in (y, rates(t, y))]
        self.path = Polynomial(self.times, self.values)
        self.lower = Polynomial(
            self.times[:1] + self.times[2:], self.values[:1] + self.values[2:])

    def through(self, t, y, rates):
        """The polynomial that has these values at a time, too."""
        return Polynomial([*self.times, t, t], [*self.values, y, rates])


class Polynomial(KroghInterpolator):
    """A polynomial with states in columns, as the interpolants of SciPy."""

    def __call__(self, t):
        return super().__call__(t).T
