"""Inputs that are known at some times: tables."""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander
from scipy.interpolate import CubicSpline, PchipInterpolator, PPoly

from .names import label
from .tolerances import OUTSIDE, RINGING


DEGREES = {'cubic': 3, 'monotone': 3, 'linear': 1, 'previous': 0}
# Number of derivatives without impulses.
SMOOTH = {'cubic': 3, 'monotone': 2, 'linear': 1, 'previous': 0}
# Polynomials up to this degree are smooth to an integrator.
DEGREE = 5
# Values there times these are the coefficients of Chebyshev polynomials.
NODES = chebpts1(DEGREE + 1)
WEIGHTS = np.linalg.inv(chebvander(NODES, DEGREE)).T
# An integrator starts this many roundings of the largest time after a kink,
# and ends as many before the next one.
BEHIND = 4


class Table:
    """A function of time through given values, for ``inputs``.

    Explanation
    ===========

    Derivatives are those of the interpolant. The first two of a cubic spline
    are continuous, so it may drive a motion. A derivative that would be
    infinite at times of the table (the first of a function that jumps, the
    second of a polygon) is an error, and so is a time outside the table.

    Examples
    ========

    >>> from sympy_constrained.numeric import Table
    >>> force = Table([0, 1, 2, 3], [0, 1, 4, 9])
    >>> force
    <Table 'cubic' of 4 values from 0 to 3>
    >>> force(1.5), force.derivative()(1.5)
    (2.25, 3.0)
    >>> Table([0, 1, 2, 3], [0, 1, 4, 9], kind='previous')(1.5)
    1.0

    Parameters
    ==========

    times, values : sequences of float
        As many values as times, which increase.
    kind : {'cubic', 'monotone', 'linear', 'previous'}
        A spline with two continuous derivatives; cubics that do not overshoot,
        with one; a polygon; the value of the last time before, so the last
        value is never used.

    """

    def __init__(self, times, values, kind='cubic'):
        if kind not in DEGREES:
            raise ValueError(
                f"`kind` of a table is {kind!r}; choose one of "
                f"{', '.join(map(repr, DEGREES))}.")
        self.times, values = _checked(times, values)
        self.kind, self.order = kind, 0
        self._prepare(interpolant(self.times, values, kind))

    def _prepare(self, path):
        self.path = path
        self._ends, self._pairs = {}, {}    # of courses; see there
        self._breaks = path.x.tolist()
        self._coefficients = path.c.T.tolist()
        slack = OUTSIDE*(self._breaks[-1] - self._breaks[0])
        self._low = self._breaks[0] - slack
        self._high = self._breaks[-1] + slack

    def __repr__(self):
        order = f', derivative {self.order}' if self.order else ''
        return (f'<Table {self.kind!r} of {len(self.times)} values from '
                f'{self.times[0]:g} to {self.times[-1]:g}{order}>')

    def __call__(self, t, x=None) -> float:
        """The value at a time; ``x`` is not used."""
        if not self._low <= t <= self._high:
            self.check((t,))
        i = bisect_right(self._breaks, t, 1, len(self._breaks) - 1) - 1
        s = t - self._breaks[i]
        value = 0.
        for coefficient in self._coefficients[i]:
            value = value*s + coefficient
        return value

    def derivative(self, order=1) -> Table:
        """The table of a derivative; ValueError if it is infinite somewhere.
        """
        order = int(order)
        if self.order + order > SMOOTH[self.kind]:
            raise ValueError(
                f"derivative {self.order + order} of a table of kind "
                f"{self.kind!r} is infinite where its pieces meet. Use a "
                "smoother kind, or give the derivative under its own key")
        result = object.__new__(Table)
        result.times, result.kind = self.times, self.kind
        result.order = self.order + order
        result._prepare(self.path.derivative(order))
        return result

    def course(self, t, end, tolerance):
        """The last time towards ``end`` up to which the table is practically
        one polynomial; at least the next of its times.

        The tolerance is relative to the largest value there.
        """
        times, sign = self._breaks, 1 if end > t else -1
        begin = bisect_right(times, t) - 1 if sign > 0 else (
            bisect_left(times, t))
        key = min(max(begin, 0), len(times) - 1), sign, tolerance
        if key not in self._ends:
            found = key[0] + sign*self._pieces(*key)
            self._ends[key] = (
                times[found] if 0 <= found < len(times) else sign*np.inf)
        return sign*min(sign*self._ends[key], sign*end)

    def _pieces(self, begin, sign, tolerance):
        """How many pieces from one of the times are one polynomial."""
        count, most = 1, len(self.times) - 1 - begin if sign > 0 else begin
        while count < most:
            more = min(2*count, most)
            low = begin if sign > 0 else begin - more
            if more == 2:               # most noisy tables fail here
                if tolerance not in self._pairs:
                    self._pairs[tolerance] = self._are_smooth(
                        np.arange(len(self.times) - 2), 2, tolerance)
                is_smooth = self._pairs[tolerance][low]
            else:
                [is_smooth] = self._are_smooth(
                    np.array([low]), more, tolerance)
            if not is_smooth:
                break
            count = more
        return count

    def _are_smooth(self, low, count, tolerance):
        """Whether ``count`` pieces from each of the times are a polynomial."""
        middle = (self.times[low] + self.times[low + count])/2
        half = middle - self.times[low]
        where = 2*low[:, None] + np.arange(2*count)
        times, values = (x[where] for x in self._samples)
        nodes = self.path(middle[:, None] + half[:, None]*NODES)
        found = np.einsum('kij,kj->ki', chebvander(
            (times - middle[:, None])/half[:, None], DEGREE), nodes@WEIGHTS)
        allowed = tolerance*np.abs(values).max(axis=1) + (
            RINGING*self._largest)
        return np.abs(found - values).max(axis=1) <= allowed

    @cached_property
    def _samples(self):
        """Times, those halfway between them, and the values there."""
        x = self.times
        times = np.append(np.transpose([x[:-1], (x[:-1] + x[1:])/2]), x[-1])
        return times, self.path(times)

    @cached_property
    def _largest(self):
        return np.abs(self._samples[1]).max()

    def check(self, times, item=None):
        """Raise if there is no value at one of the times."""
        outside = [t for t in times if not self._low <= t <= self._high]
        if outside:
            name = f"the input {label(item)}" if item else "an input"
            raise ValueError(
                f"The table of {name} reaches from {self.times[0]:g} to "
                f"{self.times[-1]:g}, but its value at t = {outside[0]:g} is "
                "needed. Tables are not extrapolated; add values there, or "
                "simulate within it.")


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


def _checked(times, values):
    try:
        times, values = (np.array(x, dtype=float) for x in (times, values))
    except (TypeError, ValueError):
        raise ValueError(
            "the times and values of a table must be numbers") from None
    if times.ndim != 1 or times.shape != values.shape or len(times) < 2:
        raise ValueError(
            f"a table has two or more times and as many values, not shapes "
            f"{times.shape} and {values.shape}")
    if not (np.isfinite(times).all() and np.isfinite(values).all()):
        raise ValueError("the times and values of a table must be finite")
    if (np.diff(times) <= 0).any():
        first = int(np.argmax(np.diff(times) <= 0))
        raise ValueError(
            f"the times of a table must increase, and time {first + 1} "
            f"({times[first + 1]:g}) is not later than the one before "
            f"({times[first]:g})")
    return times, values


def interpolant(times, values, kind) -> PPoly:
    if kind == 'previous':
        return PPoly(values[None, :-1], times)
    if kind == 'linear':
        slopes = np.diff(values)/np.diff(times)
        return PPoly(np.array([slopes, values[:-1]]), times)
    path = (PchipInterpolator if kind == 'monotone' else CubicSpline)(
        times, values)
    return PPoly(path.c, path.x)
