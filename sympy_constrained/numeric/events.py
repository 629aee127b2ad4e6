"""User conditions along a motion: where they vanish, and whether to stop."""
from __future__ import annotations

import math

from scipy.optimize import brentq

from ..errors import ConstraintError
from .trajectory import Event

__all__ = ['Events']

# What rounding leaves of a zero at the start.
PASSED = 1e-9


class Events:
    """Watches event functions from one accepted step to the next.

    Explanation
    ===========

    An event function is called with ``(t, x)`` and returns a number; its zeros
    are located on the integrator's interpolant. As in SciPy, it may carry the
    attributes ``terminal`` (stop at the first zero, or at the n-th for a
    number n) and ``direction`` (positive: only zeros where it rises, negative:
    only where it falls). A function that is zero at a step counts as an event
    of the step that led there, not of the next one. An event that must not
    have happened before the start says so by a sentence ``passed``.

    Parameters
    ==========

    functions : callable or iterable of callables
    t : float
    x : ndarray
        The initial state.

    """

    def __init__(self, functions, t, x):
        if callable(functions):
            functions = (functions,)
        self.functions = tuple(functions)
        for i, function in enumerate(self.functions):
            if not callable(function):
                raise TypeError(
                    f"`events[{i}]` is no function of (t, x) but a "
                    f"{type(function).__name__}.")
        self.found: list[Event] = []
        self._counts = [0]*len(self.functions)
        self._values = [self._value(i, t, x)
                        for i in range(len(self.functions))]
        for function, value in zip(self.functions, self._values):
            passed = getattr(function, 'passed', None)
            if passed and value*function.direction > PASSED:
                raise ConstraintError(f"{passed} ({value:.3g} at the start).")

    def __bool__(self):
        return bool(self.functions)

    def _value(self, i, t, x):
        value = float(self.functions[i](t, x))
        if math.isnan(value):
            raise ValueError(f"`events[{i}]` returned nan at t = {t:g}.")
        return value

    def crossed(self, t, x) -> list[int]:
        """Indices of the functions that changed sign up to here."""
        old = self._values
        self._values = new = [self._value(i, t, x) for i in range(len(old))]
        result = []
        for i, function in enumerate(self.functions):
            direction = getattr(function, 'direction', 0)
            rises = old[i] < 0 <= new[i] and direction >= 0
            falls = old[i] > 0 >= new[i] and direction <= 0
            if rises or falls:
                result.append(i)
        return result

    def locate(self, crossed, state, t_old, t_new) -> float | None:
        """Record the zeros; return the time of the first terminal one.

        Parameters
        ==========

        crossed : list of int
        state : callable
            ``t -> x`` between the two times.
        t_old, t_new : float

        """
        zeros = sorted((self._zero(i, state, t_old, t_new), i)
                       for i in crossed)
        if t_new < t_old:
            zeros.reverse()
        for t, i in zeros:
            self.found.append(Event(i, t, state(t)))
            self._counts[i] += 1
            terminal = getattr(self.functions[i], 'terminal', False)
            if terminal and self._counts[i] >= int(terminal):
                return t
        return None

    def _zero(self, i, state, t_old, t_new):
        def value(t):
            return self._value(i, t, state(t))

        # The state at the end may have been projected and differ from the
        # interpolant by the drift of one step, enough to lose a sign change.
        if value(t_old)*value(t_new) > 0:
            return t_new
        return brentq(value, t_old, t_new, xtol=4e-16*max(
            1., abs(t_old), abs(t_new)), rtol=1e-14)
