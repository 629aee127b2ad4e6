"""Accelerations that jump during a motion, whose derivatives are not known."""
from __future__ import annotations

from warnings import warn

import numpy as np
from scipy.optimize import brentq
from sympy import Heaviside, sign
from sympy.core.relational import Relational

from ...graph import Graph
from ...graph.nodes import CALL
from ...graph.reading import read_template
from ..codegen.native import with_given
from ..tolerances import ROUNDINGS


NAMES = 'rates', 'W', 'r'
# Rates are compared this part of a step before and after a change; a larger
# difference, relative to them, is a jump.
BESIDE, JUMP = 1e-6, 1e-4


def switches(compiled, by):
    """A function of ``(t, x)`` to the numbers, shape (..., k, 1), whose signs
    choose among the pieces of the equations; None without any.

    Those that contain neither states nor constants in ``by`` are left out:
    they change at times that do not move.
    """
    return compiled.kept(('switches', by), lambda: _switches(compiled, by))


def _switches(compiled, by):
    equations, found = compiled.equations, set()
    g, _ = with_given(equations.graph, NAMES, compiled.inputs.given).load(
        None, NAMES)
    for kind, index, operands in tuple(g.nodes):
        for part in g.templates[index].atoms(
                Relational, sign, Heaviside) if kind == CALL else ():
            found.add(read_template(g, part.args[0] - part.args[1] if (
                isinstance(part, Relational)) else part.args[0], operands))
    moves = {*compiled.states, *by}
    moving = sorted(k for k in found if g.depends[abs(k)] & g.dynamic
                    and not moves.isdisjoint(g.symbols_of(k)))
    return compiled.output(Graph.freeze(g, {
        'switch': ([[k] for k in moving], 1)}), 'switch') if moving else None


def warn_of_jumps(compiled, by, t, x, events):
    """Warn if accelerations jump between the states of a motion, but not at
    the times of ``events``, which know it. Derivatives are ``by`` these.
    """
    values = switches(compiled, by)
    if values is None or len(t) < 2:
        return
    signs = np.sign(values(t, x)[..., 0])
    for event in events:                # which are located to rounding
        signs[np.abs(t - event) <= ROUNDINGS*np.abs(t).max()] = 0
    for i, k in np.argwhere(signs[1:]*signs[:-1] < 0):
        first, step, change = t[i], t[i + 1] - t[i], x[i + 1] - x[i]

        def at(part):
            return first + part*step, x[i] + part*change

        place = brentq(lambda part: values(*at(part))[k, 0], 0., 1.)
        before, after = (compiled.rhs(*at(place + side))
                         for side in (-BESIDE, BESIDE))
        if np.abs(after - before).max() > JUMP*np.abs(before).max():
            warn("Accelerations jump during the motion, near t = "
                 f"{at(place)[0]:.4g}, where a `Piecewise`, `sign` or "
                 "`Heaviside` changes. The derivatives leave out that this "
                 "time moves, and are wrong after it. Add the event "
                 "`Crossing(expression, jump={})`, whose expression vanishes "
                 "there, or use a smooth function.", stacklevel=3)
            return
