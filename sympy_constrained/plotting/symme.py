"""A model as a scene of symmeplot."""
from __future__ import annotations

import numpy as np
from sympy.physics.vector import Point, Vector

from .._compat import time_symbol
from ..errors import MissingIngredientError
from .animation import set_space
from .places import Places
from .stage import named_lines, named_places

__all__ = ['scene']

SCALE = 0.18            # of the arrows of a frame, relative to the motion


def scene(trajectory, model, points=(), lines=(), *, origin=None,
          constants=None, camera=(25, -60), ax=None, **properties):
    """A model as a ``Scene3D`` of symmeplot, drawn at the start.

    Explanation
    ===========

    The scene has the inertial frame, the bodies with their frames, the points
    with their whole paths, and the lines; its axes contain the whole motion.
    It is compiled for ``(t, x, p)``, the order of all functions here, so this
    moves it:

    .. code-block:: python

        stage = scene(motion, method, lines=[(O, P)])
        p = list(motion.constants.values())
        film = stage.animate(
            lambda k: (motion.t[k], motion.x[k], p), len(motion))

    What else symmeplot can draw, arrows of vectors or solids of bodies, is
    added to it by symmeplot's methods. :func:`animate` needs no further
    package, takes expressions beside Points, and knows traces of contacts.

    Parameters
    ==========

    trajectory : Trajectory
    model : a method, a ready model or a SymPy object
    points, lines
        Points and Vectors, as for :func:`animate`.
    origin : Point, optional
        By default a point at rest.
    constants : mapping, optional
        Numbers for constants that only the picture has. They follow those of
        the trajectory in ``p``.
    camera : pair of float
        Elevation and azimuth in degrees.
    ax : matplotlib axes in space, optional
    **properties
        Of the arrows of the inertial frame, such as ``scale``.

    Returns
    =======

    symmeplot.matplotlib.Scene3D

    Raises
    ======

    MissingIngredientError
        If symmeplot is not installed, or if no point is at rest and no
        origin is given.

    """
    try:
        from symmeplot.matplotlib import Scene3D
    except ImportError as error:
        raise MissingIngredientError(
            f"`scene` needs symmeplot, which cannot be imported: {error}. "
            "Install it (the extra `symmeplot`), or use `animate`, which "
            "needs matplotlib only.") from None
    points, lines = named_places(points, 'points'), named_lines(lines)
    used = [*points.values(), *(p for _, line in lines for p in line)]
    places = Places(trajectory, model,
                    [p for p in used if isinstance(p, Point)], origin,
                    constants=constants, named=points)
    used = [places.place(p) for p in used]
    for place in used:
        if not isinstance(place, (Point, Vector)):
            raise TypeError(f"The place {place!r} is no Point and no Vector, "
                            "and symmeplot takes only these.")
    points = {name: places.place(p) for name, p in points.items()}
    lines = [(name, list(map(places.place, line))) for name, line in lines]
    if places.origin is None or places.drifts:
        raise MissingIngredientError(
            "The scene has no origin: no point of the model is at rest, or "
            "one is for a moment only. Pass the point to look from as "
            "`origin`, or use `animate`, which integrates its velocity.")
    bodies = [b for b in places.bodies if places.has(b.masscenter)]
    names = [places.position(p) for p in (
        *used, *(b.masscenter for b in bodies))]
    values, _ = places.evaluate(trajectory.t)
    corners = np.concatenate([np.zeros((1, 3)), *(
        values[name][:, :, 0] for name in names)])
    size = np.ptp(corners, axis=0).max() or 1.
    properties.setdefault('scale', SCALE*size)
    made = Scene3D(places.frame, places.origin, ax=ax, **properties)
    for name in names[:len(points)]:
        made.axes.plot(*values[name][:, :, 0].T, color='C1', linewidth=1)
    for body in bodies:
        made.add_body(body, plot_frame_properties={
            'scale': properties['scale']})
    for name, point in points.items():
        made.add_point(point, name=name, color='C1')
    for i, (name, line) in enumerate(lines):
        made.add_line(line, name or f'line {i}', color='0.25')
    numbers = list(places.numbers.values())
    made.lambdify_system((time_symbol(), tuple(trajectory.states),
                          tuple(places.numbers)))
    made.evaluate_system(trajectory.t[0], trajectory.x[0], numbers)
    made.plot(prettify=False)
    room = 0.15*size
    low, high = corners.min(axis=0) - room, corners.max(axis=0) + room
    set_space(made.axes, low, high, camera)
    return made
