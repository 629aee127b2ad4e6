"""What is seen of a motion: curves that move, and traces that grow."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from warnings import warn

import numpy as np
from sympy.physics.mechanics import RigidBody
from sympy.physics.vector import Point

from .. import _compat
from ..contact import ContactGeometryBase, PointContact
from ..errors import MissingIngredientError
from ..model.call_signatures import as_list
from .outlines import outline
from .places import Places

__all__ = ['Stage']

AXES = 'xyz'
TRIAD = ('C3', 'C2', 'C0')
# Parts of the extent: an axis of a body, the margin, the least height.
ARM, MARGIN, LEAST = 0.1, 0.06, 0.3
LINE = {'color': '0.25', 'linewidth': 2.2, 'solid_capstyle': 'round'}
JOINT = {'marker': 'o', 'markersize': 3.5}
MOST_JOINTS = 6         # of a line; one with more is a contour
BONE = {'color': '0.45', 'linewidth': 1.6, 'solid_capstyle': 'round'}
OUTLINE = {'color': '0.45', 'linewidth': 0.9}
GROUND = {'color': '0.75', 'linewidth': 0.6}
DOT = {'linestyle': '', 'marker': 'o', 'markersize': 6}
TRAIL = {'linewidth': 1.1}


@dataclass
class Curve:
    """A polyline at all times.

    Attributes
    ==========

    values : ndarray, shape (N, m, 3)
    style : dict
        Keyword arguments of ``plot``.

    """

    values: np.ndarray
    style: dict

    def at(self, k):
        """The polyline at a time, shape (m, 3)."""
        return self.values[k]


@dataclass
class Trail:
    """The path that a point has left in space or on a body.

    Attributes
    ==========

    local : ndarray, shape (N, 3)
        In the axes of the body.
    axes : ndarray, shape (N, 3, 3), or None
    places : ndarray, shape (N, 3), or None
    style : dict

    """

    local: np.ndarray
    style: dict
    axes: np.ndarray | None = None
    places: np.ndarray | None = None

    def at(self, k):
        """The path up to a time, where the body is then."""
        path = self.local[:k + 1]
        return path if self.axes is None else (
            path @ self.axes[k].T + self.places[k])

    @property
    def values(self):
        """All that limits must contain."""
        if self.axes is None:
            return self.local[:, None]
        return np.einsum('kij,kj->ki', self.axes, self.local)[:, None] + (
            self.places[:, None])


class Stage:
    """The bodies, points, lines and surfaces of a picture, as arrays.

    The parameters are those of :func:`.animate`.

    Attributes
    ==========

    t : ndarray, shape (N,)
    items : list of Curve and Trail
    shown : tuple of int
        The inertial axes of a plane view; all three for a view in space.
    low, high : ndarray, shape (3,)
        Limits of the axes.

    """

    def __init__(self, trajectory, model, times, points=(), lines=(),
                 contacts=(), surfaces=(), view=None, origin=None, frame=None,
                 constants=None, inputs=None, trails=True):
        self.t = np.asarray(times, float)
        self.items = []
        points, lines = named_places(points, 'points'), named_lines(lines)
        contacts = checked(contacts, 'contacts', PointContact,
                           'contacts of two bodies, PointContact')
        surfaces = checked(surfaces, 'surfaces', ContactGeometryBase,
                           'surfaces, rims or edges of this package')
        surfaces = [*surfaces, *(
            getattr(contact, f'{side}_geometry') for contact in contacts
            for side in ('child', 'parent'))]
        traced = [tuple(getattr(contact, side + part) for part in (
            '_point', '_geometry', '')) for contact in contacts
            for side in ('child', 'parent')]
        seeds = [*(p for p in points.values() if isinstance(p, Point)),
                 *(p for _, line in lines for p in line
                   if isinstance(p, Point)),
                 *(surface.point for surface in surfaces)]
        places = Places(trajectory, model, seeds, origin, frame, constants,
                        inputs, points)
        asked = {
            'bodies': self._ask_bodies(places),
            'skeletons': [] if lines else self._ask_skeletons(places),
            'points': [places.position(p) for p in points.values()],
            'lines': [[places.position(p) for p in line]
                      for _, line in lines],
            'surfaces': [(places.position(s.point), places.rotation(s.frame))
                         for s in surfaces],
            'traced': [(places.position(p), places.position(s.point),
                        places.rotation(s.frame)) for p, s, _ in traced]}
        values, path = places.evaluate(self.t)

        def at(name):
            return values[name][:, :, 0] + path

        colors = cycle(f'C{i}' for i in range(10))
        self._add_lines(lines, asked['lines'], at)
        for start, end in asked['skeletons']:
            self.items.append(Curve(np.stack([at(start), at(end)], axis=1),
                                    BONE))
        traces = self._add_traces(traced, asked['traced'], values, at)
        self._add_bodies(asked['bodies'], values, at, colors, trails)
        self._add_points(points, asked['points'], at, colors, trails)
        self._add_surfaces(surfaces, asked['surfaces'], values, at,
                           places.numbers, traces)
        if not self.items:
            raise MissingIngredientError(
                f"There is nothing to draw: {self.lost or 'no body moves'}, "
                "and no `points`, `lines` or `surfaces` were given. Give "
                "some, for example `points={'bob': (x, y)}` with expressions "
                "in the states.")
        if self.lost and not (points or lines):
            warn(f"Not all bodies are drawn: {self.lost}.", stacklevel=3)
        self._choose_view(view, [values[axes] for *_, axes in
                                 asked['bodies'] if axes])
        self._add_triads(asked['bodies'], values, at)
        self._limit()

    # -- bodies, points, lines -------------------------------------------

    def _ask_bodies(self, places):
        """Body, name of its place, and of its axes or None."""
        found, lost = [], []
        for body in places.bodies:
            if not places.has(body.masscenter):
                lost.append(body.name)
                continue
            oriented = isinstance(body, RigidBody) and places.is_oriented(
                body.frame)
            found.append((body, places.position(body.masscenter), places
                          .rotation(body.frame) if oriented else None))
        self.lost = ''
        if lost:
            reason = 'no point is at rest; pass `origin`'
            if places.frame is None:
                reason = 'the model has no inertial frame; pass `frame`'
            elif places.origin:
                reason = (f'it is not connected to {places.origin}; locate '
                          'it from there')
            self.lost = ('the place of the mass centre is not known of '
                         f'{", ".join(lost)} ({reason})')
        return found

    def _ask_skeletons(self, places):
        """Pairs of points of one body, at constant places in it."""
        found = []
        for body in places.bodies:
            if not isinstance(body, RigidBody) or not places.has(
                    body.masscenter):
                continue
            found += [(places.position(a), places.position(b))
                      for a, b in fixed_pairs(body) if places.has(b)]
        return found

    def _add_bodies(self, asked, values, at, colors, trails):
        for body, place, axes in asked:
            centre, turned = at(place), None if axes is None else (
                values[axes])
            if is_constant(centre) and (turned is None
                                        or is_constant(turned)):
                continue                # the ground
            color = next(colors)
            self.items.append(Curve(centre[:, None], {
                **DOT, 'color': color, 'label': body.name}))
            if trails and not is_constant(centre):
                self.items.append(Trail(centre, {
                    **TRAIL, 'color': color, 'alpha': 0.5}))

    def _add_points(self, points, asked, at, colors, trails):
        for label, name in zip(points, asked):
            place, color = at(name), next(colors)
            self.items.append(Curve(place[:, None], {
                **DOT, 'color': color, 'label': label}))
            if trails and not is_constant(place):
                self.items.append(Trail(place, {
                    **TRAIL, 'color': color}))

    def _add_lines(self, lines, asked, at):
        for (label, _), names in zip(lines, asked):
            line = np.stack([at(name) for name in names], axis=1)
            self.items.append(Curve(line, {
                **LINE, **(JOINT if len(names) <= MOST_JOINTS else {}),
                'label': label}))

    def _add_triads(self, asked, values, at):
        """Axes of the bodies, as long as they are readable."""
        ranges = np.ptp(self._corners(), axis=0)
        arm = ARM*(ranges.max() or 1/ARM)
        for _, place, axes in asked:
            if axes is None or (is_constant(values[axes])
                                and is_constant(at(place))):
                continue
            for i in range(3):
                axis = arm*values[axes][:, :, i]
                if abs(axis[:, self.shown]).max() > 1e-9*arm:   # else at us
                    self.items.append(Curve(np.stack(
                        [at(place), at(place) + axis], axis=1), {
                            'color': TRIAD[i], 'linewidth': 1.2}))

    # -- surfaces --------------------------------------------------------

    def _add_traces(self, traced, asked, values, at):
        """The traces of contacts, each on its body; return local paths."""
        paths = []
        for i, ((_, _, body), (point, base, axes)) in enumerate(
                zip(traced, asked)):
            local = np.einsum('kji,kj->ki', values[axes], at(point)
                              - at(base))
            self.items.append(Trail(local, {
                'linewidth': 1.6, 'color': ('C1', 'C4')[i % 2],
                'label': f'trace on {body.name}'}, values[axes], at(base)))
            paths.append(local)
        return paths

    def _add_surfaces(self, surfaces, asked, values, at, numbers, traces):
        """Outlines; of what has no end so much as the motion needs."""
        seen = [item.values for item in self.items]
        first = len(surfaces) - len(traces)     # those of contacts are last
        lines = []
        for i, (surface, (base, axes)) in enumerate(zip(surfaces, asked)):
            place, turned = at(base), values[axes]
            local = np.concatenate([np.zeros((1, 3)), *(np.einsum(
                'kji,kmj->kmi', turned, x - place[:, None]).reshape(-1, 3)
                for x in seen)])[bool(seen):]
            touched = traces[i - first] if i >= first else local
            fixed = is_constant(place) and is_constant(turned)
            lines += [Curve(
                line @ np.swapaxes(turned, 1, 2) + place[:, None],
                GROUND if fixed else OUTLINE)
                for line in outline(surface, numbers, local, touched)]
        self.items[:0] = lines

    # -- view ------------------------------------------------------------

    def _corners(self):
        """Least and largest coordinates of all there is, shape (2, 3)."""
        boxes = [(x.min(axis=(0, 1)), x.max(axis=(0, 1)))
                 for x in (item.values for item in self.items)]
        lows, highs = zip(*boxes)
        return np.array([np.min(lows, axis=0), np.max(highs, axis=0)])

    def _choose_view(self, view, rotations):
        """The axes that are seen: a plane in which all moves, or space."""
        if view not in (None, '3d') and not (
                len(view) == len(set(view)) == 2 and set(view) <= set(AXES)):
            raise ValueError(
                f"`view` is {view!r}; it must be '3d', or two axes of the "
                "inertial frame, to the right and upwards, such as 'xz'.")
        if view is None:
            low, high = self._corners()
            flat = high - low <= 1e-9*max(1e-9, (high - low).max())
            view = next((v for v, k in (('xy', 2), ('xz', 1), ('yz', 0))
                         if flat[k] and all(is_constant(R[:, k])
                                            for R in rotations)), '3d')
        self.shown = (0, 1, 2) if view == '3d' else tuple(
            map(AXES.index, view))

    def _limit(self):
        low, high = self._corners()
        size = (high - low)[list(self.shown)].max() or 1.
        room = np.maximum(high - low, LEAST*size)*(1/2 + MARGIN)
        self.low, self.high = (low + high)/2 - room, (low + high)/2 + room

    # -- artists ---------------------------------------------------------

    def draw(self, ax, k, alpha=1., trails=True, labels=True):
        """Draw everything at a time; return the artists, one per item."""
        artists = []
        for item in self.items:
            if isinstance(item, Trail) and not trails:
                continue
            style = dict(item.style, alpha=alpha*item.style.get('alpha', 1.))
            if not labels:
                style.pop('label', None)
            line, = ax.plot(*self._seen(item, k), **style)
            artists.append(line)
        return artists

    def update(self, artists, k):
        """Move the artists of :meth:`draw` to another time."""
        for item, line in zip(self.items, artists):
            if len(self.shown) == 3:
                line.set_data_3d(*self._seen(item, k))
            else:
                line.set_data(*self._seen(item, k))

    def _seen(self, item, k):
        return item.at(k)[:, list(self.shown)].T


def is_constant(values):
    """Whether an array does not change with time, but for rounding."""
    return np.ptp(values, axis=0).max() <= 1e-12*max(1., abs(values).max())


def checked(items, argument, kind, text):
    """A list of objects of a kind."""
    items = as_list(items, argument)
    for item in items:
        if not isinstance(item, kind):
            raise TypeError(f"`{argument}` has {item!r}. Give {text}.")
    return items


def fixed_pairs(body):
    """Pairs of neighbouring points at constant places in a body."""
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


def named_places(points, argument):
    """Name -> place; points have their own names."""
    if isinstance(points, Mapping):
        return {str(name): place for name, place in points.items()}
    if isinstance(points, Point):
        points = (points,)
    points = as_list(points, argument)
    if not all(isinstance(point, Point) for point in points):
        raise TypeError(
            f"`{argument}` must be Points, or a mapping from names to Points, "
            "Vectors or expressions (x, y, z).")
    return {point.name: point for point in points}


def named_lines(lines):
    """Pairs of a name, or None, and the places a line runs through."""
    found = list(lines.items()) if isinstance(lines, Mapping) else [
        (None, line) for line in lines]
    for name, line in found:
        if isinstance(line, (Point, str)) or len(line) < 2:
            raise ValueError(
                f"`lines` has {line!r}, which is no line. Give two places or "
                "more for each: `lines=[(A, B), (B, C, D)]`.")
    return [(name and str(name), list(line)) for name, line in found]
