"""Bodies, points, lines, surfaces and traces of a picture, as arrays."""
from dataclasses import dataclass
from itertools import chain, cycle

import numpy as np
from sympy.physics.mechanics import Particle

from ..contact import CircularRim
from ..errors import MissingIngredientError, warn
from ..model.call_signatures import as_dictionary
from .labels import COLORS, checked_view, unit_of
from .parts import Drawables
from .wireframes import wireframe


AXES = 'xyz'
TRIAD = (COLORS[1], COLORS[2], COLORS[0])
# Parts of the extent: an axis of a body, the margin, the least height, half a
# support, half the width of a spring, the longest arrow.
ARM, MARGIN, LEAST, FOOT, COIL, ARROW = 0.1, 0.06, 0.3, 0.025, 0.025, 0.25
LINE = {'color': '0.25', 'linewidth': 2.2, 'solid_capstyle': 'round'}
JOINT = {'marker': 'o', 'markersize': 3.5}
MOST_JOINTS = 6         # of a line; one with more is a contour
BAR = {'linewidth': 4.5, 'solid_capstyle': 'round'}
PIN = {'linestyle': '', 'marker': 'o', 'markersize': 4.5, 'color': '0.1',
       'markerfacecolor': 'w', 'markeredgewidth': 1., 'zorder': 3}
FIXED = {'color': '0.1', 'linewidth': 0.9}
SURFACE = {'linewidth': 0.9}
RIM = {'linewidth': 2.2}
GROUND = {'color': '0.75', 'linewidth': 0.6}
SPRING = {'color': '0.35', 'linewidth': 1.1}
ARROWS = ('#000000', *COLORS[1:])
ACTS = {'linewidth': 1.6, 'zorder': 4, 'solid_joinstyle': 'miter'}
DOT = {'linestyle': '', 'marker': 'o', 'markersize': 6}
TRAIL = {'linewidth': 1.1}
GAP = (np.nan, np.nan)
# A support below a pin: a triangle and hatched ground, in units of FOOT.
SUPPORT = np.array([
    (0, 0), (-1, -1.6), (1, -1.6), (0, 0), GAP, (-1.7, -1.6), (1.7, -1.6),
    *(point for x in np.linspace(-1.1, 1.7, 5) for point in (
        GAP, (x, -1.6), (x - 0.6, -2.3)))])
# Along a spring, and across it in units of COIL.
WINDINGS = np.array([(0, 0), (0.12, 0), *(
    (0.12 + 0.76*(k + 0.5)/14, (-1)**k) for k in range(14)), (0.88, 0),
    (1, 0)])


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

    def __init__(self, trajectory, model, times, view=None, trails=True,
                 forces=None, drawn=slice(None), **shown):
        shown = Drawables(trajectory, model, **shown)
        find, bodies = shown.find, shown.bodies
        solid = {s.frame for s, *_ in shown.surfaces
                 if not isinstance(s, CircularRim)}
        bones = skeletons(shown, [body for body, *_ in bodies if getattr(
            body, 'frame', None) not in solid])
        touched = [find.position(p) for p, *_ in shown.sides]
        acting = [force_of(find, name, given, len(trajectory.t))
                  for name, given in as_dictionary(
                      forces, 'forces').items()]
        find.evaluate(times)
        # without paths, only what is drawn has to be inside the axes
        self._drawn = slice(None) if trails else drawn

        traces = list(contact_traces(shown, touched))
        dots, color = self._add_bodies(shown, bones, traces, trails)
        self.items[:0] = surface_items(
            shown, traces,
            [(item.values, self._part(item)) for item in self.items],
            {getattr(body, 'frame', None): (body.name, color[body])
             for body in color})
        check_drawn(self.items, shown.lost, shown.points or shown.lines)
        self._choose_view(view, [axes for _, _, axes in bodies if axes])
        extent = np.ptp(self._corners(), axis=0).max() or 1.
        self._add_triads(dots, extent)
        self._add_supports([
            *chain(*(bones.get(body, ()) for body in color)),
            *(x for _, x in shown.lines if len(x) <= MOST_JOINTS)], extent)
        self._add_springs(shown.springs, extent)
        self._add_forces(acting, trajectory, times, extent, drawn)
        low, high = self._corners()
        size = (high - low)[list(self.shown)].max() or 1.
        room = np.maximum(high - low, LEAST*size)*(1/2 + MARGIN)
        self.low, self.high = (low + high)/2 - room, (low + high)/2 + room

    def _add_bodies(self, shown, bones, traces, trails):
        """Paths, lines, bars and dots; returns the bodies that are dots, and
        the colours.
        """
        moving = [body for body in shown.bodies if not at_rest(*body[1:])]
        colors = cycle(COLORS)
        color = {body: next(colors) for body, _, _ in moving}
        dots = [(body, *rest) for body, *rest in moving
                if isinstance(body, Particle)
                or not bones.get(body) and body.frame not in shown.frames]
        self.items = [*path_items(moving, color, trails),
                      *line_items(shown.lines),
                      *bar_items(bones, color, shown.frames), *traces,
                      *dot_items(dots, color),
                      *point_items(shown.points, colors, trails)]
        return dots, color

    def _add_triads(self, dots, extent):
        for _, place, axes in dots:
            for axis, color in zip(np.moveaxis(axes.values, 2, 0) if axes
                                   and not is_constant(axes.values) else (),
                                   TRIAD):
                if abs(axis[:, self.shown]).max() > 1e-9:
                    self.items.append(Curve(np.stack([
                        place.values, place.values + ARM*extent*axis],
                        axis=1), {'color': color, 'linewidth': 1.2}))

    def _add_supports(self, links, extent):
        """Hatched ground below the ends of links that stay where they are."""
        fixed = {}
        for link in links:
            rests = [np.ptp(place.values, axis=0).max() < 1e-3*extent
                     for place in link]
            fixed |= {tuple(np.round(place.values[0]/extent, 2)): place.values
                      for place, rest in zip(link, rests)
                      if rest and not all(rests)}
        for values in fixed.values():
            if len(self.shown) == 3:
                self.items.append(Curve(values[:, None], {
                    **PIN, 'marker': 's', 'markerfacecolor': '0.1'}))
                continue
            shape = np.zeros((len(SUPPORT), 3))
            shape[:, self.shown] = FOOT*extent*SUPPORT
            self.items[:0] = [Curve(values[:, None] + shape, FIXED)]

    def _across(self, along):
        """Unit vectors across some, in the plane of the picture."""
        normal = np.eye(3)[2 if len(self.shown) == 3 else (
            {0, 1, 2} - set(self.shown)).pop()]
        side = np.cross(normal, along)
        return side/np.maximum(np.linalg.norm(
            side, axis=-1, keepdims=True), 1e-12)

    def _add_springs(self, springs, extent):
        for name, (start, end) in springs:
            along = end.values - start.values
            self.items.insert(0, Curve(
                start.values[:, None] + WINDINGS[:, :1]*along[:, None]
                + COIL*extent*WINDINGS[:, 1:]*self._across(along)[:, None],
                {**SPRING, 'label': name}))

    def _add_forces(self, acting, trajectory, times, extent, drawn):
        """Arrows of one scale; the legend has the size of the longest."""
        order = np.argsort(trajectory.t)
        acting = [(name, place.values, acts.values if hasattr(
            acts, 'values') else np.stack([np.interp(
                times, trajectory.t[order], x[order])
                for x in np.transpose(acts)], axis=1))
            for name, place, acts in acting]
        sizes = [np.linalg.norm(acts, axis=1)[drawn].max()
                 for *_, acts in acting]
        unit = unit_of(trajectory, 'force')
        for k, (name, base, acts) in enumerate(acting):
            size = np.maximum(np.linalg.norm(acts, axis=1), sizes[k])
            along = ARROW*extent/(max(sizes) or 1.)*acts*(
                sizes[k]/np.maximum(size, 1e-300))[:, None]
            side, tip = 0.35*ARM*extent*self._across(along), base + along
            length = np.linalg.norm(along, axis=1, keepdims=True)
            back = -0.9*ARM*extent*along/np.maximum(length, 1e-12)
            part = np.minimum(1, length/(ARM*extent))   # heads of short ones
            self.items.append(Curve(np.stack([
                base, tip, tip + part*(back + side)/2, tip,
                tip + part*(back - side)/2], axis=1), {
                    **ACTS, 'color': ARROWS[k % len(ARROWS)],
                    'label': f'{name}, longest {sizes[k]:.3g} {unit}'}))

    def _part(self, item):
        return slice(None) if isinstance(item, Trail) else self._drawn

    def _corners(self):
        points = [item.values[self._part(item)].reshape(-1, 3)
                  for item in self.items]
        return np.array([np.min([np.nanmin(x, 0) for x in points], axis=0),
                         np.max([np.nanmax(x, 0) for x in points], axis=0)])

    def _choose_view(self, view, rotations):
        if checked_view(view) is None:
            flat = flat_axis(self._corners(), [x.values for x in rotations])
            view = ''.join(x for k, x in enumerate(AXES) if k != flat)
        self.shown = (0, 1, 2) if view == '3d' else tuple(
            map(AXES.index, view))

    # -- matplotlib ------------------------------------------------------

    def draw(self, ax, k, alpha=1., trails=True, labels=True):
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
        for item, line in zip(self.items, artists):
            move = line.set_data_3d if len(self.shown) == 3 else line.set_data
            move(*self._seen(item, k))

    def _seen(self, item, k):
        return item.at(k)[:, list(self.shown)].T


# -- bodies, points, lines -----------------------------------------------

def skeletons(shown, bodies):
    """Body -> its links; a rod between two particles is the later one's."""
    taken, found = set(), {}
    for body in sorted(reversed(bodies), key=lambda body: isinstance(
            body, Particle)):
        links = shown.links(body)
        found[body] = [link for pair, link in links.items()
                       if pair not in taken]
        taken.update(links)
    return {body: found[body] for body in bodies}


def line_items(lines):
    for name, places in lines:
        yield Curve(np.stack([place.values for place in places], axis=1), {
            **LINE, **(JOINT if len(places) <= MOST_JOINTS else {}),
            'label': name})


def bar_items(bones, color, shown):
    for body, pairs in bones.items():
        if body not in color or not pairs:
            continue
        is_particle = isinstance(body, Particle)
        style = {**(LINE if is_particle else BAR), 'color': color[body]}
        has_name = is_particle or body.frame in shown
        links = pairs
        if len(pairs) == 2 and np.array_equal(*(a.values for a, _ in pairs)):
            (middle, one), (_, other) = pairs
            links = [(one, middle, other)]      # a bar, without an overlap
        for k, link in enumerate(links):
            yield Curve(np.stack([place.values for place in link], axis=1), {
                **style, 'label': '_' if k or has_name else body.name})
        yield Curve(np.stack([end.values for _, end in pairs], axis=1), PIN)


def path_items(moving, color, trails):
    for body, place, _ in moving if trails else ():
        if not is_constant(place.values):
            yield trail(place.values, color[body], 0.5)


def dot_items(dots, color):
    """Mass centres of bodies without a shape; a square does not turn."""
    for body, place, axes in dots:
        slides = axes and is_constant(axes.values)
        yield Curve(place.values[:, None], {
            **DOT, 'color': color[body], 'label': body.name,
            **({'marker': 's', 'markersize': 10} if slides else {})})


def force_of(find, name, given, count):
    """Name, place and values of one of the ``forces``."""
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(f"`forces[{name!r}]` is {given!r}. Give a pair of a "
                        "position and a force.")
    place, acts = given
    if np.ndim(acts) != 2:
        return name, find.position(place), find.vector(acts)
    if np.shape(acts) not in ((count, 3), (count, 6)):
        raise ValueError(
            f"The force {name!r} has shape {np.shape(acts)}. Give a row for "
            f"each of the {count} output times, with three components, or "
            "six with those of a moment.")
    return name, find.position(place), np.asarray(acts)[:, :3]


def point_items(points, colors, trails):
    for name, place in points.items():
        color = next(colors)
        yield Curve(place.values[:, None], {
            **DOT, 'color': color, 'label': name})
        if trails and not is_constant(place.values):
            yield trail(place.values, color)


def trail(values, color, alpha=1.):
    return Trail(values, {**TRAIL, 'color': color, 'alpha': alpha},
                 np.broadcast_to(np.eye(3), (len(values), 3, 3)),
                 np.zeros_like(values))


def check_drawn(items, lost, others):
    """Raise for an empty picture, warn of bodies that are not drawn."""
    if not items:
        raise MissingIngredientError(
            f"The picture is empty: {lost or 'no body moves'}, and no "
            "`points`, `lines` or `surfaces` were given. Pass the model as "
            "second argument, or give some, for example "
            "`points={'bob': (x, y)}` with expressions in the states.")
    if lost and not others:
        warn(f"Not all bodies are drawn: {lost}.")


# -- surfaces ------------------------------------------------------------

def contact_traces(shown, touched):
    first = len(shown.surfaces) - len(touched)
    for i, ((_, _, body), point, (_, base, axes)) in enumerate(zip(
            shown.sides, touched, shown.surfaces[first:])):
        local = np.einsum('kji,kj->ki', axes.values,
                          point.values - base.values)
        yield Trail(local, {
            'linewidth': 1.6, 'color': (COLORS[1], COLORS[3])[i % 2],
            'label': f'trace on {body.name}'}, axes.values, base.values)


def surface_items(shown, traces, seen, owners):
    """Wireframes; of unbounded surfaces as much as the motion needs.

    ``seen`` has values and which of them are drawn; ``owners`` maps frames to
    the name and colour of moving bodies.
    """
    numbers, first = shown.find.numbers, len(shown.surfaces) - len(traces)
    for i, (surface, base, axes) in enumerate(shown.surfaces):
        local = np.concatenate([np.einsum(
            'kji,kmj->kmi', axes.values, x - base.values[:, None])[
                part].reshape(-1, 3) for x, part in seen] or [
                    np.zeros((1, 3))])
        touched = traces[i - first].local if i >= first else local
        name, color = owners.get(surface.frame, ('_', '0.45'))
        owners[surface.frame] = '_', color
        is_rim = isinstance(surface, CircularRim)
        for k, line in enumerate(wireframe(surface, numbers, local, touched)):
            # of a wheel the rim and one spoke are wide, so that it rolls
            style = GROUND if at_rest(base, axes) else {
                **(RIM if is_rim and k < 2 else SURFACE), 'color': color,
                'label': '_' if k else name}
            yield Curve(line @ np.swapaxes(axes.values, 1, 2)
                        + base.values[:, None], style)


def is_constant(values):
    return np.ptp(values, axis=0).max() <= 1e-12*max(1., abs(values).max())


def flat_axis(points, rotations):
    """The axis that no point ``(n, 3)`` leaves and about which bodies turn."""
    size = np.ptp(points, axis=0)
    flat = size <= 1e-9*max(1e-9, size.max())
    return next((k for k in (2, 1, 0) if flat[k] and all(
        is_constant(R[:, k]) for R in rotations)), None)


def at_rest(place, axes):
    return is_constant(place.values) and (
        axes is None or is_constant(axes.values))
