"""Which potential energies of bodies count in a call of Kane's shape."""
from itertools import chain

from sympy import sympify

from .. import _compat
from ..errors import warn
from .call_signatures import check_choice
from .geometry import breadth_first
from .loads import parse_loads
from .units import entries


def potential_of(bodies, choice, loads, warns=False):
    """The potential energy of bodies that is to be counted.

    ``KanesMethod`` ignores it. With ``choice`` None that of a body counts
    unless the loads seem to have it: they contain one of its constants that is
    no mass and no length, such as ``g``; or, if it has none, a force acts at
    the mass centre.
    """
    check_choice('potential_energy', choice or 'include', (
        'include', 'ignore'))
    counted = [] if choice == 'ignore' else [
        body for body in bodies if body.potential_energy != 0]
    if choice is None and counted:
        given = [body for body in counted if is_given(body, bodies, loads)]
        counted = [body for body in counted if body not in given]
        if warns:
            announce(counted, given)
    return sum((body.potential_energy for body in counted), sympify(0))


def is_given(body, bodies, loads):
    """Whether forces of a potential energy seem to be among the loads."""
    loads = parse_loads(loads)
    energy = sympify(body.potential_energy, strict=True)
    marks = (energy.free_symbols - {_compat.time_symbol()}
             - constants_of_motion(bodies))
    if not marks:
        return any(where == body.masscenter for where, _ in loads)
    return any(marks & symbols_in(vector) for _, vector in loads)


def constants_of_motion(bodies):
    """Symbols in masses, inertias and positions: those of inertia forces."""
    centers = dict.fromkeys(body.masscenter for body in bodies)
    return symbols_in(
        *(body.mass for body in bodies),
        *(getattr(body, 'central_inertia', 0) for body in bodies),
        *chain(*(_compat.positions(point).values() for point, _ in
                 breadth_first(centers, _compat.positions))))


def symbols_in(*items):
    return {x for item in items for e in entries(item)
            for x in e.free_symbols}


def announce(counted, given):
    """Say once what counts."""
    for bodies, text in (
            (counted, "is counted. KanesMethod would ignore it. Pass "
             "potential_energy='include' to silence this warning, or 'ignore' "
             "to leave it out."),
            (given, "is not counted: the loads seem to contain its forces "
             "already. Pass potential_energy='include' to count it too, or "
             "'ignore' to silence this warning.")):
        if bodies:
            names = ', '.join(body.name for body in bodies)
            warn(f"The potential energy of {names} {text}")
