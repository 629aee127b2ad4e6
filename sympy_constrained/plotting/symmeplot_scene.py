"""A model as a scene of symmeplot."""
from __future__ import annotations

import numpy as np

from .._compat import time_symbol
from ..errors import MissingIngredientError
from .animation import set_space
from .positions import Positions
from .scene_items import named_lines, named_places, seeds

__all__ = ['scene']

SCALE = 0.18            # of the arrows of a frame, relative to the motion


def scene(trajectory, model, points=(), lines=(), *, origin=None,
          constants=None, camera=(25, -60), ax=None, **properties):
    """A model as a ``Scene3D`` of symmeplot, drawn at the start.

    Explanation
    ===========

    The scene has the inertial frame, the bodies with their frames, the points
    with their whole paths, and the lines; its axes contain the whole motion.
    It is compiled for ``(t, x, p)``. To animate it:

    .. code-block:: python

        stage = scene(motion, method, lines=[(O, P)])
        p = list(motion.constants.values())
        film = stage.animate(
            lambda k: (motion.t[k], motion.x[k], p), len(motion))

    symmeplot's methods add arrows of vectors and solids of bodies.
    :func:`animate` needs no further package, accepts expressions as well as
    Points, and draws traces of contacts.

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

    ImportError
        If symmeplot (the extra ``symmeplot``) is not installed.
    MissingIngredientError
        If no point is at rest and no origin is given.

    """
    from symmeplot.matplotlib import Scene3D
    points, lines = named_places(points), named_lines(lines)
    find = Positions(trajectory, model, seeds(points, lines, ()), origin,
                     constants=constants, named=points)
    points = {name: find.place(p) for name, p in points.items()}
    lines = [(name, list(map(find.place, line))) for name, line in lines]
    if find.origin is None or find.drifts:
        raise MissingIngredientError(
            "The scene has no origin: no point of the model stays at rest. "
            "Pass the point to look from as `origin`, or use `animate`, which "
            "integrates its velocity.")
    bodies = [b for b in find.bodies if find.has(b.masscenter)]
    paths = [find.position(p) for p in points.values()]
    others = [find.position(p) for p in (
        *(p for _, line in lines for p in line),
        *(b.masscenter for b in bodies))]
    find.evaluate(trajectory.t)
    corners = np.concatenate([
        np.zeros((1, 3)), *(x.values for x in (*paths, *others))])
    size = np.ptp(corners, axis=0).max() or 1.
    properties.setdefault('scale', SCALE*size)
    made = Scene3D(find.frame, find.origin, ax=ax, **properties)
    for path in paths:
        made.axes.plot(*path.values.T, color='C1', linewidth=1)
    for body in bodies:
        made.add_body(body, plot_frame_properties={
            'scale': properties['scale']})
    for name, point in points.items():
        made.add_point(point, name=name, color='C1')
    for i, (name, line) in enumerate(lines):
        made.add_line(line, name or f'line {i}', color='0.25')
    made.lambdify_system((time_symbol(), tuple(trajectory.states),
                          tuple(find.numbers)))
    made.evaluate_system(trajectory.t[0], trajectory.x[0],
                         list(find.numbers.values()))
    made.plot(prettify=False)
    room = 0.15*size
    set_space(made.axes, corners.min(axis=0) - room,
              corners.max(axis=0) + room, camera)
    return made
