"""Wireframes of the surfaces and edges of bodies."""
from __future__ import annotations

from math import pi

import numpy as np
from sympy import Dummy, ImmutableDenseMatrix, lambdify, sympify

from ..contact import (
    CircularRim, ConeSurface, CylinderSurface, EllipsoidSurface, PlaneSurface,
    SphereSurface, TorusSurface)
from ..errors import MissingIngredientError

__all__ = ['unknown', 'wireframe']

AROUND = np.linspace(0, 2*pi, 49)
HALF = np.linspace(0, pi, 25)
GRID = np.linspace(-1, 1, 9)
QUARTERS = AROUND[:-1:12]
EIGHTHS = AROUND[:-1:6]
WIDER = 1.25            # than the touched part
NARROWEST = 0.3         # width of a part of a plane, relative to its length


def wireframe(geometry, constants, seen, touched):
    """Polylines ``(m, 3)`` in the axes of a geometry, from its point.

    Unbounded surfaces reach the points ``seen`` or ``touched`` (arrays
    ``(n, 3)``), the inside of a sphere is drawn around those touched. Shapes
    without a known wireframe give nothing.
    """
    place = position(geometry, constants)
    if isinstance(geometry, PlaneSurface):
        return plane(place, seen)
    if isinstance(geometry, SphereSurface) and geometry.interior:
        return cap(place, touched)
    if isinstance(geometry, (CylinderSurface, ConeSurface)):
        ends = along(place, touched, isinstance(geometry, ConeSurface))
        return [*(place(AROUND, v) for v in np.linspace(*ends, 4)),
                *(place(u, np.array(ends)) for u in EIGHTHS)]
    return next((draw(place) for kinds, draw in BOUNDED
                 if isinstance(geometry, kinds)), [])


def rim(place):
    """The circle and four spokes."""
    return [place(AROUND), *(np.array([np.zeros(3), place(angle)])
                             for angle in QUARTERS)]


def ellipsoid(place):
    """Two meridians and the equator."""
    return [*(np.vstack([place(u, HALF), place(u + pi, HALF[::-1])])
              for u in (0, pi/2)), place(AROUND, pi/2)]


def torus(place):
    """Circles about the axle and around the tube."""
    return [*(place(AROUND, v) for v in QUARTERS),
            *(place(u, AROUND) for u in EIGHTHS)]


BOUNDED = [(CircularRim, rim), ((SphereSurface, EllipsoidSurface), ellipsoid),
           (TorusSurface, torus)]


def plane(place, points):
    """A grid below points."""
    corner, *sides = place(np.array([0, 1, 0]), np.array([0, 0, 1]))
    uv = (points - corner) @ np.transpose(np.array(sides) - corner)
    low, high = uv.min(axis=0), uv.max(axis=0)
    half = (high - low)/2*WIDER
    (u, v), (a, b) = (low + high)/2, np.maximum(
        half, NARROWEST*half.max() or 1.)
    return [*(place(u + a*GRID, v + b*line) for line in GRID),
            *(place(u + a*line, v + b*GRID) for line in GRID)]


def along(place, points, is_cone):
    """Ends of a cylinder or cone near points."""
    start, end = place(0, np.array([0., 1.]))
    if is_cone:                         # distances from the apex
        v = np.linalg.norm(points, axis=1)
        return 0., v.max()*WIDER or 1.
    v = (points - start) @ (end - start)
    middle, half = (v.max() + v.min())/2, np.ptp(v)/2*WIDER
    half = max(half, np.linalg.norm(start)/2)
    return middle - half, middle + half


def cap(place, points):
    """Circles and meridians of the part of a sphere around points."""
    radius = np.linalg.norm(place(0, 0))
    middle = points.mean(axis=0)
    length = np.linalg.norm(middle)
    axis = middle/length if length > 1e-6*radius else np.array([0, 0, -1.])
    first = np.cross(axis, np.eye(3)[np.argmin(abs(axis))])
    first /= np.linalg.norm(first)
    second = np.cross(axis, first)
    size = np.maximum(np.linalg.norm(points, axis=1), 1e-9*radius)
    widest = np.arccos(np.clip(points @ axis/size, -1, 1)).max()
    widest = np.clip(WIDER*widest, 0.3, pi)

    def at(u, v):
        u, v = np.broadcast_arrays(u, v)
        return radius*(np.cos(v)[..., None]*axis + np.sin(v)[..., None]*(
            np.cos(u)[..., None]*first + np.sin(u)[..., None]*second))

    return [*(at(AROUND, widest*k/3) for k in (1, 2, 3)),
            *(at(u, widest*np.linspace(0, 1, 13)) for u in EIGHTHS)]


def unknown(names, what):
    """The error for constants without a value in a part of a picture."""
    return MissingIngredientError(
        f"No value is known for {', '.join(names)}: {what} contains it, and "
        "the equations of motion do not. Pass "
        f"`constants={{{names[0]}: ...}}`.", symbols=tuple(names))


def position(geometry, constants):
    """Position of a chart as a function of arrays, ``(m, 3)``."""
    own = [Dummy() for _ in geometry.parameters]
    numbers = ImmutableDenseMatrix(
        geometry.with_parameters(*own).position().to_matrix(geometry.frame))
    known = {x: constants.get(x, constants.get(str(x)))
             for x in numbers.free_symbols}
    numbers = numbers.xreplace({x: sympify(value, strict=True) for x, value
                                in known.items() if value is not None})
    missing = sorted(str(x) for x in numbers.free_symbols - set(own))
    if missing:
        raise unknown(missing, repr(geometry))
    function = lambdify(own, list(numbers), 'numpy')

    def place(*values):
        values = np.broadcast_arrays(*map(np.asarray, values))
        return np.stack([np.broadcast_to(x, values[0].shape)
                         for x in function(*values)], axis=-1)

    return place
