"""What pictures and pages draw of a model: bodies, links and places."""
from __future__ import annotations

from collections.abc import Mapping

from sympy.physics.mechanics import RigidBody
from sympy.physics.vector import Point

from .. import _compat
from ..model.call_signatures import as_list

__all__ = ['fixed_pairs', 'located_bodies', 'named_lines', 'named_places',
           'seeds', 'sides_of']


def located_bodies(find):
    """Bodies with positions and axes (or None), and why others are lost."""
    found, lost = [], []
    for body in find.bodies:
        if not find.has(body.masscenter):
            lost.append(body.name)
            continue
        oriented = isinstance(body, RigidBody) and find.is_oriented(
            body.frame)
        found.append((body, find.position(body.masscenter),
                      find.rotation(body.frame) if oriented else None))
    if not lost:
        return found, ''
    reason = ('the model has no inertial frame; pass `frame`'
              if find.frame is None else
              'no point is at rest; pass `origin`' if not find.origin else
              f'not connected to {find.origin}; locate it from there')
    return found, ('the mass centre has no known position for '
                   f'{", ".join(lost)} ({reason})')


def fixed_pairs(body, inertial):
    """The points of a skeleton, from the mass centre.

    A particle is joined to the next points in a frame that turns.
    """
    reached, pairs = [body.masscenter], []
    is_rigid = isinstance(body, RigidBody)
    for here in reached:
        for there, vector in _compat.positions(here).items():
            if there not in reached and all(
                    (frame == body.frame if is_rigid else frame != inertial)
                    and not numbers.has(_compat.time_symbol())
                    for numbers, frame in vector.args):
                if vector.args:
                    pairs.append((here, there))
                if is_rigid:
                    reached.append(there)
    return pairs


def sides_of(contacts):
    """Point, geometry and body of the child and the parent of contacts."""
    return [tuple(getattr(contact, side + part) for part in (
        '_point', '_geometry', '')) for contact in as_list(
            contacts, 'contacts') for side in ('child', 'parent')]


def seeds(points, lines, surfaces):
    """Points that must have a position."""
    located = [*points.values(), *(p for _, line in lines for p in line),
               *(surface.point for surface in surfaces)]
    return [p for p in located if isinstance(p, Point)]


def named_places(points):
    """Name -> place; points have their own names."""
    if isinstance(points, Mapping):
        return {str(name): place for name, place in points.items()}
    points = as_list(points, 'points')
    if not all(isinstance(point, Point) for point in points):
        raise TypeError(
            f"`points` is {points!r}. Pass Points, or a mapping from names to "
            "places.")
    return {point.name: point for point in points}


def named_lines(lines):
    """Pairs of a name, or None, and the places on a line."""
    found = list(lines.items()) if isinstance(lines, Mapping) else [
        (None, line) for line in lines]
    for name, line in found:
        if isinstance(line, (Point, str)) or len(line) < 2:
            raise ValueError(
                f"`lines` has {line!r}, which is not a sequence of places. "
                "Give two or more for each line: `lines=[(A, B), (B, C, D)]`.")
    return [(name and str(name), list(line)) for name, line in found]
