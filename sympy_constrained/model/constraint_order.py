"""Constraint residuals of any order on the graph.

A residual of order ``m`` contains the speeds differentiated ``m - 1`` times,
and nothing beyond; of order 0 are functions of coordinates and time. Its row
of ``A`` is the derivative by the highest of them, and differentiating it in
time leaves that row as it is.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sympy import Derivative

from ..errors import ConstraintError, raise_problems
from ..graph import gradient, substitute

__all__ = ['Residual', 'bind_derivatives', 'replace_right_sides',
           'sorted_rows']


@dataclass(frozen=True)
class Residual:
    """A constraint as the user gave it: its reference and expression.

    ``label`` is its name in messages; ``location`` has points or frames with
    directions, if it was given geometrically.
    """

    ref: int
    expression: Any
    label: str
    location: Any = None
    order: int = 0


def bind_derivatives(kinematics, q, u, expressions):
    """Bind the derivatives of states that expressions have."""
    g, time = kinematics.builder, kinematics.builder.time
    kinematics.declare_accelerations()
    functions = {getattr(x, 'expr', x) for x in (*q, *u)}
    highest = max((d.derivative_count for e in expressions
                   for d in e.atoms(Derivative) if d.expr in functions),
                  default=0)
    along = kinematics.total_derivative
    for x, rate in zip(q, kinematics.rates):
        for count in range(2, highest + 1):
            rate = along(rate)
            g.bound.setdefault(x.diff(time, count), rate)


def derivatives_of_speeds(kinematics, count):
    """References of ``u``, ``u'``, ... up to ``count`` derivatives."""
    levels = [kinematics.u]
    for _ in range(count):
        levels.append(list(map(kinematics.total_derivative, levels[-1])))
    return levels


def order_of(kinematics, residual):
    """The order of a residual; None if it contains no unknown."""
    g = kinematics.builder
    functions = {getattr(x, 'expr', x) for x in kinematics.speeds}
    highest = max((x.derivative_count for x in g.symbols_of(residual.ref)
                   if isinstance(x, Derivative) and x.expr in functions),
                  default=0)
    levels = derivatives_of_speeds(kinematics, highest)
    for count in reversed(range(len(levels))):
        if any(gradient(g, residual.ref, levels[count])):
            return count + 1
    return 0 if any(gradient(g, residual.ref, kinematics.q)) else None


def residuals_by_order(kinematics, residuals):
    """Residuals in ascending order, without time derivatives of others."""
    found = [replace(residual, order=order_of(kinematics, residual))
             for residual in residuals]
    raise_problems((
        f"{x.label} contains no coordinate, no speed and no derivative of "
        "them, so it restricts nothing, or it cannot hold. Remove it, or "
        "correct it." for x in found if x.order is None), ConstraintError)
    kept, known = [], set()
    highest = max((x.order for x in found), default=0)
    for residual in sorted(found, key=lambda x: x.order):
        if abs(residual.ref) in known:
            continue
        kept.append(residual)
        ref = residual.ref
        for _ in range(residual.order, highest):
            ref = kinematics.total_derivative(ref)
            known.add(abs(ref))
    return kept


def sorted_rows(kinematics, residuals):
    """Residuals by level, and those given in place of derivatives.

    The level ``'acceleration'`` is linear in the accelerations; others that
    contain them are ``'higher'``. The second dictionary maps the number of a
    holonomic or velocity row to a reference of ``A*u' - b``.
    """
    g = kinematics.builder
    rows = {'holonomic': [], 'velocity': [], 'acceleration': [],
            'higher': []}
    for residual in residuals_by_order(kinematics, residuals):
        level = ('holonomic', 'velocity', 'acceleration', 'higher')[
            min(residual.order, 3)]
        if level == 'acceleration' and not is_linear(kinematics, residual):
            level = 'higher'
        rows[level].append(residual)
    _, accelerations = derivatives_of_speeds(kinematics, 1)
    low = [kinematics.bias(x.ref) for x in rows['holonomic']]
    low += [x.ref for x in rows['velocity']]
    known = {}
    for k, phi in enumerate(low):
        direction, size = direction_of(g, gradient(g, phi, kinematics.u))
        known.setdefault(direction, (k, size))
    instead, others = {}, []
    for residual in rows['acceleration']:
        direction, size = direction_of(
            g, gradient(g, residual.ref, accelerations))
        k, own = known.get(direction, (None, size))
        if k is None:
            others.append(residual)
        else:
            instead[k] = g.mul(g.div(own, size), residual.ref)
    rows['acceleration'] = others
    return rows, instead


def direction_of(g, row):
    """A row divided by its first entry, and that entry."""
    size = next((x for x in row if x), 1)
    return tuple(g.div(x, size) for x in row), size


def is_linear(kinematics, residual):
    """Whether a residual is linear in its highest derivatives."""
    g = kinematics.builder
    highest = derivatives_of_speeds(kinematics, residual.order - 1)[-1]
    slopes = gradient(g, residual.ref, highest)
    return not any(any(gradient(g, x, highest)) for x in slopes if x)


def replace_right_sides(kinematics, instead, b):
    """Put ``b`` of rows that were given in place of derivatives.

    Returns by how much they differ: zero where the constraints hold.
    """
    g, gaps = kinematics.builder, []
    accelerations = dict.fromkeys(
        derivatives_of_speeds(kinematics, 1)[-1], 0)
    for k, ref in instead.items():
        rest, = substitute(g, [ref], accelerations)
        gaps.append([g.add(b[k][0], rest)])
        b[k] = [-rest]
    return gaps
