"""States between the outputs of a run."""
from typing import NamedTuple

import numpy as np
from numpy.polynomial.polynomial import polyval
from scipy.integrate import OdeSolution
from scipy.interpolate import CubicHermiteSpline


class Interpolant(NamedTuple):
    t: float
    h: float
    y: np.ndarray
    powers: np.ndarray

    def __call__(self, t):
        return polyval((np.asarray(t) - self.t)/self.h,
                       np.vstack([self.y, self.powers]))


class Piece(NamedTuple):
    """One step: the interpolant, shifted linearly to the projected end."""

    start: float
    end: float
    path: object
    shift: np.ndarray

    def __call__(self, times):
        part = (times - self.start)/(self.end - self.start)
        return self.path(times)[:len(self.shift)] + np.outer(self.shift, part)


class DenseOutput(OdeSolution):
    """The pieces of a run, forward or backward in time."""

    def __init__(self, pieces):
        super().__init__(
            [pieces[0].start, *(piece.end for piece in pieces)], pieces)

    def __call__(self, times):
        """States in rows at times inside the run."""
        if not len(times):
            return np.empty((0, len(self.interpolants[0].shift)))
        return super().__call__(times).T


def hermite(t, x, rates, events):
    """Cubics of values and rates; parabolas to jumps, lines between them."""
    if len(t) < 2:
        return lambda times: np.repeat(x, len(times), axis=0)
    sign = 1 if t[-1] > t[0] else -1
    jumps = [event for event in events if event.after is not None]
    if jumps:
        t, x, rates = with_jumps(sign, t, x, rates, jumps)
    return CubicHermiteSpline(t[::sign], x[::sign], rates[::sign])


def with_jumps(sign, t, x, rates, jumps):
    """Outputs with the states at both sides of jumps among them."""
    # Of jumps at one time the first has the states before, the last those
    # after. The neighbour of a state beside a jump is ``side`` outputs away.
    at = np.array([event.t for event in jumps])
    side = np.repeat([0, -1, 1], [len(t), len(at), len(at)])
    x = np.vstack([x, *(event.x for event in jumps),
                   *(event.after for event in reversed(jumps))])
    rates = np.vstack([rates, np.full((2*len(at), x.shape[1]), np.nan)])
    t = np.concatenate([t, at, np.nextafter(at[::-1], sign*np.inf)])
    order = np.unique(sign*t, return_index=True)[1]
    t, x, rates, side = t[order], x[order], rates[order], side[order]
    for k in np.flatnonzero(side):
        j = k + side[k]
        if 0 <= j < len(t):
            chord = (x[j] - x[k])/(t[j] - t[k])
            rates[k] = chord if np.isnan(rates[j]).any() else (
                2*chord - rates[j])
    inside = ~np.isnan(rates).any(axis=1)
    return t[inside], x[inside], rates[inside]
