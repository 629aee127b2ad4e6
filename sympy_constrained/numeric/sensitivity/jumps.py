"""Accelerations that jump or bend during a motion, where steps miss it."""
from itertools import combinations

import numpy as np
from scipy.optimize import brentq
from sympy import Abs, Heaviside, Max, Min, sign
from sympy.core.relational import Relational

from ...errors import warn
from ...graph import Graph
from ...graph.nodes import CALL, MUL, ROOT
from ...graph.reading import read_template
from ..codegen.native import with_given
from ..tolerances import ROUNDINGS


NAMES = 'rates', 'W', 'r'
# Rates are compared this part of a step before and after a change; a larger
# difference, relative to them, is a jump.
BESIDE, JUMP = 1e-6, 1e-4
# What may jump or bend, with roots of squares.
SWITCHES = Relational, sign, Heaviside, Abs, Max, Min


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
        if kind == ROOT and g.nodes[index][0] == MUL:
            _, base, other = g.nodes[index]
            found.update({base} & {other})      # the root of a square
        for part in g.templates[index].atoms(
                *SWITCHES) if kind == CALL else ():
            pairs = combinations(part.args, 2) if isinstance(
                part, (Relational, Max, Min)) else [(part.args[0], 0)]
            found.update(read_template(g, a - b, operands) for a, b in pairs)
    moves = {*compiled.states, *by}
    moving = sorted(k for k in found if g.depends[abs(k)] & g.dynamic
                    and not moves.isdisjoint(g.symbols_of(k)))
    return compiled.output(
        Graph.freeze(g, {'switch': moving}), 'switch') if moving else None


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
        at = crossing(values, k, (t[i], x[i]), (t[i + 1], x[i + 1]))
        if differs(compiled.rhs, at):
            warn("Accelerations jump during the motion, near t = "
                 f"{at(0.)[0]:.4g}, where a `Piecewise`, `sign`, `Abs` or "
                 "the root of a square changes. The derivatives leave out "
                 "that this time moves, and are wrong after it. Add the event "
                 "`Crossing(expression, jump={})`, whose expression vanishes "
                 "there, or use a smooth function.")
            return


def crossing(values, k, begin, end):
    """Times and states on the line between two on different sides of a
    switch, by the part of it from where the switch vanishes.
    """
    (t, x), (t_end, x_end) = begin, end

    def at(part):
        return t + part*(t_end - t), x + part*(x_end - x)

    place = brentq(lambda part: values(*at(part))[k, 0], 0., 1.)
    return lambda side: at(place + side)


def differs(function, at):
    before, after = (function(*at(side)) for side in (-BESIDE, BESIDE))
    return np.abs(after - before).max() > JUMP*np.abs(before).max()


def kink(compiled, by, t, x):
    """The time of a step over a kink of the accelerations or their slopes,
    None without one.

    ``t``, shape (steps, stages), and ``x`` are times and states of stages. Of
    those beyond the kink, the rates have the error of the step, but their
    derivatives are others.
    """
    values = switches(compiled, by)
    if values is None:
        return None
    signs = np.sign(values(t.ravel(), x.reshape(t.size, -1))).reshape(
        *t.shape, -1)
    slopes = compiled.jacobian('rates', (*compiled.states, *by))
    for i, k in np.argwhere((signs.min(axis=1) < 0) & (signs.max(axis=1) > 0)):
        ends = ((t[i, j], x[i, j]) for j in (
            signs[i, :, k].argmin(), signs[i, :, k].argmax()))
        at = crossing(values, k, *ends)
        if not differs(compiled.rhs, at) and (
                differs(slopes, at) or bends(slopes, at)):
            return at(0.)[0]
    return None


def bends(function, at):
    far, near, beyond, past = (function(*at(BESIDE*k)) for k in (-2, -1, 1, 2))
    change = np.abs(past - beyond - near + far).max()/BESIDE
    return change > JUMP*np.abs(near).max()
