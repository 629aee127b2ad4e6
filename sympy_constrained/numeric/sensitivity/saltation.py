r"""Derivatives through events, whose times move.

Where :math:`e(x, p, t)` vanishes, states jump from :math:`x` to :math:`g(x, p,
t)`. With the rates :math:`f` before and :math:`f^+` after the jump, the time
of the event and the states after it, at a constant time, change by [1]_

.. math::

   \delta t = -\frac{e_x\,\delta x + e_p\,\delta p}{e_x f + e_t}, \qquad
   \delta x^+ = g_x\,\delta x + g_p\,\delta p
   + (g_x f + g_t - f^+)\,\delta t.

Where accelerations jump, an event with :math:`g = x` does the same for them.
At a terminal event nothing follows: :math:`g = x`, :math:`f^+ = 0`, and
:math:`\delta x^+` is the change of the state at the event.

References
==========

.. [1] M. di Bernardo, C. J. Budd, A. R. Champneys and P. Kowalczyk,
   "Piecewise-smooth Dynamical Systems," Springer (2008), section 2.5.

"""
from typing import NamedTuple

import numpy as np

from ...errors import SingularEquationsError, UnsupportedFeatureError
from ..table import Table
from ..tolerances import REDUNDANT


# Part of the time scale of a state at which rates differ if they jump, by more
# than this part of them.
BESIDE, JUMP = 1e-9, 1e-5


class Saltation(NamedTuple):
    """Derivatives of the time ``t`` of an event and of the states ``x`` after
    it, by the states before and by constants or other variables ``p``.
    """

    t_x: np.ndarray
    t_p: np.ndarray
    x_x: np.ndarray
    x_p: np.ndarray


def check_known(event):
    if not hasattr(event, 'expression'):
        raise UnsupportedFeatureError(
            "An event determines the motion, and its derivatives are not "
            "known. Give a `Crossing` instead of a Python function.")


def rates_beside(compiled, t, x, part):
    """The rates, or those on one side if accelerations jump here.

    They jump if they differ at a ``part`` of the state's time scale from here,
    and hardly less at half of it.
    """
    rates = compiled.rhs(t, x)
    step = part*max(np.linalg.norm(x), 1e-3)/max(np.linalg.norm(rates), 1e-3)
    far, near = (compiled.rhs(t + h, x + h*rates) for h in (step, step/2))
    change = np.abs(near - rates).max()
    return 2*near - far if change > JUMP*np.abs(rates).max() and (
        change > 0.75*np.abs(far - rates).max()) else rates


def saltation(compiled, event, t, x, by, after=None, sign=1):
    """The derivatives for an event, which is terminal without ``after``.

    ``by`` are constants, and variables that it does not contain; ``sign`` is
    -1 for a motion backward in time.
    """
    check_known(event)
    of = [event.expression, *(compiled.states if after is None else
                              event.after)]
    called = compiled.inputs.called
    known = [item for item in by if item in compiled.constants]
    by_x, by_t, by_known = (compiled.jacobian(of, items)(t, x) for items in (
        None, [compiled.equations.t, *called], known))
    if any(by_t[:, 1 + k].any() and not isinstance(function, Table)
           for k, function in enumerate(called.values())):
        raise UnsupportedFeatureError(
            f"The event at t = {t:.6g} depends on a Python function, whose "
            "derivatives are not known. Give an expression or a table.")
    by_t = by_t@[1., *(
        function.derivative(1)(t, x) if by_t[:, 1 + k].any() else 0.
        for k, function in enumerate(called.values()))]
    by_p = np.zeros((len(of), len(by)))
    by_p[:, [by.index(item) for item in known]] = by_known
    rates = rates_beside(compiled, t, x, -sign*BESIDE)
    pace = by_x@rates + by_t
    if abs(pace[0]) <= REDUNDANT*np.linalg.norm(by_x[0])*np.linalg.norm(
            rates):
        raise SingularEquationsError(
            f"The motion touches the event at t = {t:.6g} without crossing "
            "it, so its time has no derivatives.")
    following = 0. if after is None else rates_beside(
        compiled, t, after, sign*BESIDE)
    t_x, t_p = -by_x[0]/pace[0], -by_p[0]/pace[0]
    change = pace[1:] - following
    return Saltation(t_x, t_p, by_x[1:] + np.outer(change, t_x),
                     by_p[1:] + np.outer(change, t_p))
