"""The rows of a contact in a method, and what their multipliers tell."""
from __future__ import annotations

from typing import NamedTuple

from sympy.physics.mechanics import LagrangesMethod

from .. import _compat
from ..errors import ConstraintError, UnsupportedFeatureError
from ..graph import GraphBuilder, read

__all__ = ['ContactEvent', 'find_row', 'multipliers_of', 'pressed', 'rows_of']


class ContactEvent(NamedTuple):
    """A function of ``(t, x)`` with what ``simulate`` asks of an event."""

    function: object
    direction: int
    terminal: bool | int
    passed: str                 # what is wrong if it has happened before

    def __call__(self, t, x):
        return float(self.function(t, x))


def rows_of(method):
    """Constraint rows in the order of the multipliers."""
    if LagrangesMethod in type(method).__mro__:
        parts = _compat.lagrange_parts(method)
        return parts['hol_coneqs'] + parts['nonhol_coneqs']
    return [*method.holonomic_constraints, *method.nonholonomic_constraints]


def multipliers_of(method):
    """The multipliers with the sign of reactions."""
    if LagrangesMethod in type(method).__mro__:
        return method.lam_vec
    if not hasattr(type(method), 'multipliers') or len(
            getattr(method, 'mu_vec', ())):     # none, or impulses
        raise UnsupportedFeatureError(
            f"{type(method).__name__} has no multipliers that are reactions. "
            "Take UdwadiaKalabaMethod, which accepts the same arguments.")
    return method.multipliers


def find_row(rows, row, name):
    """Position of a row of a contact, which may be written differently."""
    if row in rows:
        return rows.index(row)
    g = GraphBuilder(_compat.time_symbol())
    wanted = read(g, row)
    for k, other in enumerate(rows):
        if g.same_value(read(g, other), wanted):
            return k
    raise ConstraintError(
        f"The rows of {name} are not among those of the method, so its "
        "reaction is not known. Pass `holonomic_constraints` and "
        "`nonholonomic_constraints` of the contact as they are.")


def pressed(compiled, weights, t, x):
    """The normal force at a state."""
    multipliers = compiled.multipliers(t, x)
    return sum(multipliers[k]*(1. if weight is None else weight(t, x))
               for k, weight in weights)
