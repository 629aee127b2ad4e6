"""Wireframes of the surfaces and edges of bodies."""
from math import pi

import numpy as np
from sympy import Dummy, ImmutableDenseMatrix, lambdify, sympify

from ..contact import (
    CircularRim, ConeSurface, CylinderSurface, EllipsoidSurface, PlaneSurface,
    SphereSurface, TorusSurface)
from ..errors import MissingIngredientError


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
        return curves(place, EIGHTHS, np.linspace(*ends, 4), AROUND,
                      np.array(ends))
    if isinstance(geometry, CircularRim):       # with four spokes
        return [place(AROUND), *(np.array([np.zeros(3), place(angle)])
                                 for angle in QUARTERS)]
    if isinstance(geometry, (SphereSurface, EllipsoidSurface)):
        return curves(place, QUARTERS, [pi/2], AROUND, HALF)
    if isinstance(geometry, TorusSurface):
        return curves(place, EIGHTHS, QUARTERS, AROUND, AROUND)
    return []


def curves(place, us, vs, along_u, along_v):
    """Coordinate lines: along ``u`` at ``vs``, along ``v`` at ``us``."""
    return [*(place(along_u, v) for v in vs),
            *(place(u, along_v) for u in us)]


def plane(place, points):
    corner, *sides = place(np.array([0, 1, 0]), np.array([0, 0, 1]))
    uv = (points - corner) @ np.transpose(np.array(sides) - corner)
    low, high = uv.min(axis=0), uv.max(axis=0)
    half = (high - low)/2*WIDER
    half = np.maximum(half, NARROWEST*half.max() or 1.)
    u, v = ((low + high)/2)[:, None] + half[:, None]*GRID
    return curves(place, u, v, u, v)


def along(place, points, is_cone):
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

    return curves(at, EIGHTHS, widest*np.arange(1, 4)/3, AROUND,
                  widest*np.linspace(0, 1, 13))


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
