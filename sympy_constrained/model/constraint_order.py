"""Constraint residuals of any order on the graph.

A residual of order ``m`` contains the speeds differentiated ``m - 1`` times,
and nothing beyond; of order 0 are functions of coordinates and time. Its row
of ``A`` is the derivative by the highest of them, and differentiating it in
time leaves that row as it is.
"""
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sympy import Derivative

from ..errors import ConstraintError, raise_problems
from ..graph import gradient

# Of residuals by their order, the last for all others.
LEVELS = 'holonomic', 'velocity', 'acceleration', 'higher'


@dataclass(frozen=True)
class Residual:
    """A constraint as the user gave it: its reference and expression.

    ``label`` is its name in messages; ``location`` has points or frames with
    directions, if it was given geometrically, and ``loop`` the loop that it
    closes.
    """

    ref: int
    expression: Any
    label: str
    location: Any = None
    order: int = 0
    loop: Any = None


class Rows(NamedTuple):
    """The residuals of a model by level, each once.

    ``unstated`` are numbers of holonomic rows, see
    :class:`.ConstrainedSystem`, as ``places``. ``instead`` maps the number of
    a holonomic or velocity row to a reference of ``A*u' - b`` that replaces
    its derivative.
    """

    holonomic: list
    velocity: list
    acceleration: list
    higher: list = ()
    unstated: tuple = ()
    places: tuple = ()
    instead: dict = {}


def highest_derivative(expressions, functions):
    """How often expressions differentiate some functions."""
    bases = {getattr(x, 'expr', x) for x in functions}
    return max((d.derivative_count for e in expressions
                for d in e.atoms(Derivative) if d.expr in bases), default=0)


def bind_derivatives(kinematics, expressions):
    """Bind the derivatives of states that expressions have."""
    time, bound = kinematics.builder.time, kinematics.builder.bound
    kinematics.declare_accelerations()
    highest = highest_derivative(
        expressions, kinematics.coordinates + kinematics.speeds)
    for x, rate in zip(kinematics.coordinates, kinematics.rates):
        for count in range(2, highest + 1):
            rate = kinematics.total_derivative(rate)
            bound.setdefault(x.diff(time, count), rate)


def order_of(kinematics, ref):
    """The order of a residual; None if it contains no unknown."""
    g, level = kinematics.builder, kinematics.u
    order = 0 if any(gradient(g, ref, kinematics.q)) else None
    for count in range(1, 2 + highest_derivative(
            g.symbols_of(ref), kinematics.speeds)):
        if any(gradient(g, ref, level)):
            order = count
        level = list(map(kinematics.total_derivative, level))
    return order


def residuals_by_order(kinematics, residuals):
    """Residuals in ascending order, without time derivatives of others."""
    ordered = [replace(x, order=order_of(kinematics, x.ref))
               for x in residuals]
    raise_problems((
        f"{x.label} contains no coordinate, no speed and no derivative of "
        "them, so it restricts nothing, or it cannot hold. Remove it, or "
        "correct it." for x in ordered if x.order is None), ConstraintError)
    kept, known = [], set()
    ordered.sort(key=lambda x: x.order)
    for residual in ordered:
        ref = residual.ref
        if abs(ref) not in known:
            kept.append(residual)
            for _ in range(residual.order, ordered[-1].order):
                ref = kinematics.total_derivative(ref)
                known.add(abs(ref))
    return kept


def places_among(given, refs):
    """Places of references among given residuals, -1 of others."""
    places = {abs(row.ref): k for k, row in enumerate(given)}
    return tuple(places.get(abs(ref), -1) for ref in refs)


def unstated_among(given, holonomic, rates):
    """Numbers of holonomic rows whose rates velocity constraints lack."""
    known = {abs(row.ref) for row in given}
    return tuple(k for k, (row, rate) in enumerate(zip(holonomic, rates))
                 if known and not row.location
                 and known.isdisjoint({abs(row.ref), abs(rate)}))


def sorted_rows(kinematics, residuals, velocity):
    """The :class:`Rows` of residuals of any order, some of ``velocity``.

    The level ``'acceleration'`` is linear in the accelerations; others that
    contain them are ``'higher'``.
    """
    g, rows = kinematics.builder, {level: [] for level in LEVELS}
    for residual in residuals_by_order(kinematics, residuals):
        level = LEVELS[min(residual.order, 3)]
        if level == 'acceleration' and (
                kinematics.linear_in_accelerations(residual.ref) is None):
            level = 'higher'
        rows[level].append(residual)
    rates = [kinematics.bias(x.ref) for x in rows['holonomic']]
    low = rates + [x.ref for x in rows['velocity']]
    known, instead, others = {}, {}, []
    for k, phi in enumerate(low):
        direction, size = direction_of(g, gradient(g, phi, kinematics.u))
        known.setdefault(direction, (k, size))
    for residual in rows['acceleration']:
        row, _ = kinematics.linear_in_accelerations(residual.ref)
        direction, size = direction_of(g, row)
        if direction in known:
            k, own = known[direction]
            instead[k] = g.mul(g.div(own, size), residual.ref)
        else:
            others.append(residual)
    rows['acceleration'] = others
    return Rows(
        **rows, instead=instead, places=places_among(velocity, low),
        unstated=unstated_among(velocity, rows['holonomic'], rates))


def direction_of(g, row):
    """A row divided by its first entry, and that entry."""
    size = next((x for x in row if x), 1)
    return tuple(g.div(x, size) for x in row), size


def replaced_right_sides(kinematics, instead, b):
    """``b`` with the rows given in place of derivatives, and the gaps."""
    rests = {k: kinematics.linear_in_accelerations(ref)[1]
             for k, ref in instead.items()}
    return ([[-rests[k]] if k in rests else row for k, row in enumerate(b)],
            [[kinematics.builder.add(b[k][0], rest)]
             for k, rest in rests.items()])
