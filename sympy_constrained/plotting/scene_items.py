"""Bodies, points, lines, surfaces and traces of a picture, as arrays."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from warnings import warn

import numpy as np
from sympy.physics.mechanics import RigidBody
from sympy.physics.vector import Point

from .. import _compat
from ..errors import MissingIngredientError
from ..model.call_signatures import as_list
from .positions import Positions
from .wireframes import wireframe

__all__ = ['SceneItems', 'named_lines', 'named_places', 'seeds']

AXES = 'xyz'
TRIAD = ('C3', 'C2', 'C0')
# Parts of the extent: an axis of a body, the margin, the least height.
ARM, MARGIN, LEAST = 0.1, 0.06, 0.3
LINE = {'color': '0.25', 'linewidth': 2.2, 'solid_capstyle': 'round'}
JOINT = {'marker': 'o', 'markersize': 3.5}
MOST_JOINTS = 6         # of a line; one with more is a contour
BONE = {'color': '0.45', 'linewidth': 1.6, 'solid_capstyle': 'round'}
SURFACE = {'color': '0.45', 'linewidth': 0.9}
GROUND = {'color': '0.75', 'linewidth': 0.6}
DOT = {'linestyle': '', 'marker': 'o', 'markersize': 6}
TRAIL = {'linewidth': 1.1}


@dataclass
class Curve:
    """A polyline at all times; ``style`` has keyword arguments of ``plot``."""

    values: np.ndarray          # shape (N, m, 3)
    style: dict

    def at(self, k):
        return self.values[k]


@dataclass
class Trail:
    """The path that a point has left in space or on a body."""

    local: np.ndarray           # in the axes of the body, (N, 3)
    style: dict
    axes: np.ndarray            # of the body, (N, 3, 3)
    base: np.ndarray            # its point, (N, 3)

    def at(self, k):
        """The path up to a time, where the body is then."""
        return self.local[:k + 1] @ self.axes[k].T + self.base[k]

    @property
    def values(self):
        """All points, shape (N, 1, 3)."""
        return (np.einsum('kij,kj->ki', self.axes, self.local)
                + self.base)[:, None]


class SceneItems:
    """Everything in a picture; the parameters are those of :func:`.animate`.

    ``shown`` numbers the inertial axes of a plane view, or all three for a
    view in space; ``low`` and ``high``, shape (3,), are limits of the axes.
    """

    def __init__(self, trajectory, model, times, points=(), lines=(),
                 contacts=(), surfaces=(), view=None, origin=None, frame=None,
                 constants=None, inputs=None, trails=True):
        points, lines = named_places(points), named_lines(lines)
        # point, geometry and body of the child and the parent of contacts
        sides = [tuple(getattr(contact, side + part) for part in (
            '_point', '_geometry', '')) for contact in as_list(
                contacts, 'contacts') for side in ('child', 'parent')]
        surfaces = [*as_list(surfaces, 'surfaces'),
                    *(geometry for _, geometry, _ in sides)]
        find = Positions(trajectory, model, seeds(points, lines, surfaces),
                         origin, frame, constants, inputs, points)
        bodies, lost = located_bodies(find)
        bones = [] if lines else skeletons(find)
        points = {name: find.position(p) for name, p in points.items()}
        lines = [(name, [find.position(p) for p in line])
                 for name, line in lines]
        bases = [(find.position(s.point), find.rotation(s.frame))
                 for s in surfaces]
        touched = [find.position(p) for p, _, _ in sides]
        find.evaluate(times)

        colors = cycle(f'C{i}' for i in range(10))
        moving = [body for body in bodies if not at_rest(*body[1:])]
        traces = list(contact_traces(sides, touched, bases))
        self.items = [*line_items(lines, bones), *traces,
                      *dot_items([(body.name, place) for body, place, _ in
                                  moving], colors, trails, 0.5),
                      *dot_items(points.items(), colors, trails)]
        self.items[:0] = surface_items(surfaces, bases, find.numbers, traces,
                                       [item.values for item in self.items])
        check_drawn(self.items, lost, bool(points or lines))
        self._choose_view(view, [axes for _, _, axes in bodies if axes])
        self._add_triads(moving)
        low, high = self._corners()
        size = (high - low)[list(self.shown)].max() or 1.
        room = np.maximum(high - low, LEAST*size)*(1/2 + MARGIN)
        self.low, self.high = (low + high)/2 - room, (low + high)/2 + room

    def _add_triads(self, moving):
        """Axes of the moving bodies that are not seen end-on."""
        arm = ARM*(np.ptp(self._corners(), axis=0).max() or 1/ARM)
        for _, place, axes in moving:
            for axis, color in zip(np.moveaxis(
                    axes.values, 2, 0) if axes else (), TRIAD):
                if abs(axis[:, self.shown]).max() > 1e-9:
                    self.items.append(Curve(np.stack([
                        place.values, place.values + arm*axis], axis=1), {
                            'color': color, 'linewidth': 1.2}))

    def _corners(self):
        """Least and largest coordinates of all items, shape (2, 3)."""
        points = [item.values.reshape(-1, 3) for item in self.items]
        return np.array([np.min([x.min(axis=0) for x in points], axis=0),
                         np.max([x.max(axis=0) for x in points], axis=0)])

    def _choose_view(self, view, rotations):
        """Show a plane that contains the motion, or space."""
        if view is None:
            size = np.ptp(self._corners(), axis=0)
            flat = size <= 1e-9*max(1e-9, size.max())
            view = next((v for v, k in (('xy', 2), ('xz', 1), ('yz', 0))
                         if flat[k] and all(is_constant(R.values[:, k])
                                            for R in rotations)), '3d')
        self.shown = (0, 1, 2) if view == '3d' else tuple(
            map(AXES.index, view))

    # -- matplotlib ------------------------------------------------------

    def draw(self, ax, k, alpha=1., trails=True, labels=True):
        """Draw everything at a time; return the artists, one per item."""
        artists = []
        for item in self.items:
            if isinstance(item, Trail) and not trails:
                continue
            style = dict(item.style, alpha=alpha*item.style.get('alpha', 1.))
            if not labels:
                style.pop('label', None)
            artists += ax.plot(*self._seen(item, k), **style)
        return artists

    def update(self, artists, k):
        """Move the artists of :meth:`draw` to another time."""
        for item, line in zip(self.items, artists):
            move = line.set_data_3d if len(self.shown) == 3 else line.set_data
            move(*self._seen(item, k))

    def _seen(self, item, k):
        return item.at(k)[:, list(self.shown)].T


# -- bodies, points, lines -----------------------------------------------

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


def skeletons(find):
    """Pairs of neighbouring points at constant places in a body."""
    return [(find.position(a), find.position(b)) for body in find.bodies
            if isinstance(body, RigidBody) and find.has(body.masscenter)
            for a, b in fixed_pairs(body) if find.has(b)]


def fixed_pairs(body):
    """The points of a skeleton, from the mass centre."""
    reached, pairs = [body.masscenter], []
    for here in reached:
        for there, vector in _compat.positions(here).items():
            if there not in reached and vector and all(
                    frame == body.frame and not numbers.has(
                        _compat.time_symbol())
                    for numbers, frame in vector.args):
                reached.append(there)
                pairs.append((here, there))
    return pairs


def line_items(lines, bones):
    """Lines of the user, or skeletons of the bodies."""
    for name, places in lines:
        yield Curve(np.stack([place.values for place in places], axis=1), {
            **LINE, **(JOINT if len(places) <= MOST_JOINTS else {}),
            'label': name})
    for start, end in bones:
        yield Curve(np.stack([start.values, end.values], axis=1), BONE)


def dot_items(places, colors, trails, alpha=1.):
    """Mass centres or points, and their paths."""
    for name, place in places:
        color = next(colors)
        yield Curve(place.values[:, None], {
            **DOT, 'color': color, 'label': name})
        if trails and not is_constant(place.values):
            yield Trail(
                place.values, {**TRAIL, 'color': color, 'alpha': alpha},
                np.broadcast_to(np.eye(3), (len(place.values), 3, 3)),
                np.zeros_like(place.values))


# -- surfaces ------------------------------------------------------------

def contact_traces(sides, touched, bases):
    """The traces of contacts on both bodies; their surfaces are the last."""
    for i, ((_, _, body), point, (base, axes)) in enumerate(zip(
            sides, touched, bases[len(bases) - len(sides):])):
        local = np.einsum('kji,kj->ki', axes.values,
                          point.values - base.values)
        yield Trail(local, {
            'linewidth': 1.6, 'color': ('C1', 'C4')[i % 2],
            'label': f'trace on {body.name}'}, axes.values, base.values)


def surface_items(surfaces, bases, numbers, traces, seen):
    """Wireframes; of unbounded surfaces as much as the motion needs."""
    first = len(surfaces) - len(traces)         # those of contacts are last
    for i, (surface, (base, axes)) in enumerate(zip(surfaces, bases)):
        local = np.concatenate([np.einsum(
            'kji,kmj->kmi', axes.values, x - base.values[:, None]).reshape(
                -1, 3) for x in seen] or [np.zeros((1, 3))])
        touched = traces[i - first].local if i >= first else local
        style = GROUND if at_rest(base, axes) else SURFACE
        for line in wireframe(surface, numbers, local, touched):
            yield Curve(line @ np.swapaxes(axes.values, 1, 2)
                        + base.values[:, None], style)


def is_constant(values):
    """Whether an array does not change with time, but for rounding."""
    return np.ptp(values, axis=0).max() <= 1e-12*max(1., abs(values).max())


def at_rest(place, axes):
    return is_constant(place.values) and (
        axes is None or is_constant(axes.values))


# -- arguments -----------------------------------------------------------

def seeds(points, lines, surfaces):
    """Points that must have a position."""
    located = [*points.values(), *(p for _, line in lines for p in line),
               *(surface.point for surface in surfaces)]
    return [p for p in located if isinstance(p, Point)]


def check_drawn(items, lost, others):
    """Raise for an empty picture, warn of bodies that are not drawn."""
    if not items:
        raise MissingIngredientError(
            f"The picture is empty: {lost or 'no body moves'}, and no "
            "`points`, `lines` or `surfaces` were given. Give some, for "
            "example `points={'bob': (x, y)}` with expressions in the "
            "states.")
    if lost and not others:
        warn(f"Not all bodies are drawn: {lost}.", stacklevel=4)


def named_places(points):
    """Name -> place; points have their own names."""
    if isinstance(points, Mapping):
        return {str(name): place for name, place in points.items()}
    return {point.name: point for point in as_list(points, 'points')}


def named_lines(lines):
    """Pairs of a name, or None, and the places on a line."""
    found = list(lines.items()) if isinstance(lines, Mapping) else [
        (None, line) for line in lines]
    for name, line in found:
        if isinstance(line, (Point, str)) or len(line) < 2:
            raise ValueError(
                f"`lines` has {line!r}, which is no line. Give two places or "
                "more for each: `lines=[(A, B), (B, C, D)]`.")
    return [(name and str(name), list(line)) for name, line in found]
