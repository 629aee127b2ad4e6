"""What pictures and pages draw of a model: bodies, places and surfaces."""
from collections.abc import Mapping

from sympy.physics.mechanics import RigidBody
from sympy.physics.vector import Point

from .. import _compat
from ..contact import ContactGeometryBase, PointContact
from ..errors import check_kind
from ..model.call_signatures import as_list
from .positions import Positions


class Drawables:
    """Bodies, places and surfaces of :func:`.animate`, located by ``find``."""

    def __init__(self, trajectory, model, points=(), lines=(), contacts=(),
                 surfaces=(), springs=(), origin=None, frame=None,
                 constants=None, inputs=None):
        points, lines, springs = (
            named_places(points), named_lines(lines, 'lines'),
            named_lines(springs, 'springs'))
        contacts, surfaces = (as_list(contacts, 'contacts'),
                              as_list(surfaces, 'surfaces'))
        for contact in contacts:
            check_kind('contacts', contact, PointContact,
                       'Give a PointContact, or a list of these.')
        for surface in surfaces:
            check_kind('surfaces', surface, ContactGeometryBase,
                       'Give a surface, a rim or an edge, or a list of these.')
        # Point, geometry and body of both sides of each contact.
        self.sides = [tuple(getattr(contact, side + part) for part in (
            '_point', '_geometry', '')) for contact in contacts
            for side in ('child', 'parent')]
        surfaces += [geometry for _, geometry, _ in self.sides]
        needed = [*points.values(), *(p for _, line in lines for p in line),
                  *(surface.point for surface in surfaces)]
        self.find = find = Positions(
            trajectory, model, [p for p in needed if isinstance(p, Point)],
            origin, frame, constants, inputs, points)
        self.bodies, self.lost = located_bodies(find)
        self.points = {name: find.position(p) for name, p in points.items()}
        self.lines, self.springs = (
            [(name, [find.position(p) for p in line]) for name, line in kind]
            for kind in (lines, springs))
        self.surfaces = [(surface, find.position(surface.point),
                          find.rotation(surface.frame))
                         for surface in surfaces]
        self.frames = {surface.frame for surface in surfaces}

    def links(self, body):
        """Pairs of points, with positions, at constant places in a body.

        A particle is joined to the next points in a frame that turns.
        """
        find, reached, pairs = self.find, [body.masscenter], []
        is_rigid = isinstance(body, RigidBody)
        for here in reached:
            for there, vector in _compat.positions(here).items():
                if there not in reached and all(
                        (frame == body.frame if is_rigid
                         else frame != find.frame)
                        and not numbers.has(_compat.time_symbol())
                        for numbers, frame in vector.args):
                    if vector.args and there in find.points:
                        pairs.append((here, there))
                    if is_rigid:
                        reached.append(there)
        return {frozenset(pair): tuple(map(find.position, pair))
                for pair in pairs}


def located_bodies(find):
    """Bodies with positions and axes (or None), and why others are lost."""
    found, lost = [], []
    for body in find.bodies:
        if body.masscenter not in find.points:
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


def named_places(points):
    if isinstance(points, Mapping):
        return {str(name): place for name, place in points.items()}
    points = as_list(points, 'points')
    if not all(isinstance(point, Point) for point in points):
        raise TypeError(
            f"`points` is {points!r}. Pass Points, or a mapping from names to "
            "places.")
    return {point.name: point for point in points}


def named_lines(lines, kind):
    """Pairs of a name, or None, and the places on a line."""
    found = list(lines.items()) if isinstance(lines, Mapping) else [
        (None, line) for line in as_list(lines, kind)]
    for name, line in found:
        if isinstance(line, str) or not (
                hasattr(line, '__len__') and len(line) > 1):
            raise ValueError(
                f"`{kind}` has {line!r}, which is not a sequence of places. "
                f"Give two or more for each: `{kind}=[(A, B), (B, C, D)]`.")
    return [(name and str(name), list(line)) for name, line in found]
