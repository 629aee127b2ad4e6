"""Standard surfaces of bodies, edges and vertices.

``frame``, ``point`` and ``parameters`` are those of
:class:`.ParametricSurface`; the parameters are new functions of time unless
given.
"""
from sympy import Expr, Matrix, S, cos, diag, pi, sin, sqrt, sympify
from sympy.physics.mechanics import dynamicsymbols
from sympy.physics.vector import Vector, dot

from ..model.call_signatures import as_list, check_frame
from .geometry import (
    FIXED, ContactGeometryBase, measure, perpendicular, positive, unit,
    vector)
from .parametric_surface import ParametricSurface, U


def _axes(frame, axis, name):
    """Unit axis (by default the first) and two unit vectors across it."""
    check_frame(frame, FIXED)
    axis = measure(frame, frame.x if axis is None else axis, name)
    if not any(axis):
        raise ValueError(f"`{name}` is the zero vector, without a direction. "
                         "Give another vector.")
    axis = unit(axis)
    return axis, *perpendicular(axis)


def _split(x, axis):
    """Distance from an axis, and the coordinate along it."""
    across = x.cross(axis)
    return sqrt(across.dot(across)), x.dot(axis)


def _radial(frame, axis, name):
    """Unit axis, and unit vectors along and across the radius at ``u1``."""
    axis, first, second = _axes(frame, axis, name)
    angle = U[0]
    return (axis, cos(angle)*first + sin(angle)*second,
            cos(angle)*second - sin(angle)*first)


class Wheel(ContactGeometryBase):
    """A circle about an axle, with a tube of a radius that may be zero."""
    # Support by the axle: a spin angle would cancel in exact numbers only.

    def _support(self, u):
        return (self.radius*_split(u, self._axis)[0]
                + self.tube_radius*sqrt(u.dot(u)))

    def support_function(self, direction) -> Expr:
        along = dot(direction, self.axis)
        return self.radius*sqrt(1 - along**2) + self.tube_radius

    def support_point(self, direction) -> Vector:
        along = dot(direction, self.axis)
        stretch = self.radius/sqrt(1 - along**2)
        return ((self.tube_radius + stretch)*direction
                - stretch*along*self.axis)


class PlaneSurface(ParametricSurface):
    """A plane through ``point`` with an outward ``normal`` of any length."""

    def __init__(self, frame, point, normal, parameters=None):
        axis, first, second = _axes(frame, normal, 'normal')
        self._standard(frame, point, U[0]*first + U[1]*second,
                       parameters, axis, first, axis)

    def _distance(self, x):
        return x.dot(self._axis)


class SphereSurface(ParametricSurface):
    """A sphere about ``point``, from outside or from inside.

    With ``interior`` the material is around the sphere: a bowl or a socket. At
    the ``pole``, a vector (``frame.x`` by default), and opposite the
    parameters are singular: choose it away from contacts.
    """

    def __init__(self, frame, point, radius, interior=False, pole=None,
                 parameters=None):
        self.radius, self.interior = positive(radius, 'radius'), interior
        axis, radial, around = _radial(frame, pole, 'pole')
        outward = sin(U[1])*radial + cos(U[1])*axis
        self._standard(frame, point, self.radius*outward, parameters,
                       -outward if interior else outward, around, axis)
        if not interior:
            self.ball_radius = self.radius

    def _distance(self, x):
        excess = sqrt(x.dot(x)) - self.radius
        return -excess if self.interior else excess

    def _support(self, u):
        return None if self.interior else self.radius*sqrt(u.dot(u))


class CylinderSurface(ParametricSurface):
    """A circular cylinder, from outside or from inside.

    ``point`` is on the ``axis``, a vector. With ``interior`` the material is
    around the cylinder: a tube. The parameters are the angle and the
    coordinate along the axis.
    """

    def __init__(self, frame, point, radius, axis, interior=False,
                 parameters=None):
        self.radius, self.interior = positive(radius, 'radius'), interior
        axis, radial, around = _radial(frame, axis, 'axis')
        self._standard(frame, point, self.radius*radial + U[1]*axis,
                       parameters, -radial if interior else radial,
                       around, axis)

    def _distance(self, x):
        excess = _split(x, self._axis)[0] - self.radius
        return -excess if self.interior else excess


class ConeSurface(ParametricSurface):
    """A circular cone, from outside, or a funnel from inside.

    ``point`` is the apex, and the vector ``axis`` points from it into the
    material. ``half_angle`` is that between axis and surface, larger than a
    right angle for a funnel. The parameters are the angle and the distance
    from the apex.
    """

    def __init__(self, frame, point, half_angle, axis, parameters=None):
        self.half_angle = angle = positive(half_angle, 'half_angle')
        if (angle - pi).is_extended_nonnegative:
            raise ValueError(f"`half_angle` is {angle}. Give an angle between "
                             "0 and pi, in radians.")
        axis, radial, around = _radial(frame, axis, 'axis')
        self._standard(frame, point,
                       U[1]*(sin(angle)*radial + cos(angle)*axis), parameters,
                       cos(angle)*radial - sin(angle)*axis, around, axis)
        self.domain = Matrix([self.parameters[1]]).as_immutable()

    def _distance(self, x):
        across, along = _split(x, self._axis)
        return cos(self.half_angle)*across - sin(self.half_angle)*along


class TorusSurface(Wheel, ParametricSurface):
    """A torus about ``point``, from outside: a wheel with a round tyre.

    ``radius`` is that of the circle of the tube's centres, the vector ``axis``
    the axle. The parameters are the angle about the axle and the one around
    the tube, zero at the outer equator.
    """

    def __init__(self, frame, point, radius, tube_radius, axis,
                 parameters=None):
        self.radius = positive(radius, 'radius')
        self.tube_radius = positive(tube_radius, 'tube_radius')
        axis, radial, around = _radial(frame, axis, 'axis')
        normal = cos(U[1])*radial + sin(U[1])*axis
        self._standard(frame, point,
                       (self.radius + self.tube_radius*cos(U[1]))*radial
                       + self.tube_radius*sin(U[1])*axis,
                       parameters, normal, around, axis)

    def _distance(self, x):
        across, along = _split(x, self._axis)
        return sqrt((across - self.radius)**2 + along**2) - self.tube_radius


class EllipsoidSurface(ParametricSurface):
    """An ellipsoid about ``point``, from outside; ``frame`` has its axes.

    For the ``pole`` see :class:`SphereSurface`.
    """

    def __init__(self, frame, point, semi_axes, pole=None, parameters=None):
        check_frame(frame, FIXED)
        self.semi_axes = tuple(positive(x, 'semi_axes') for x in as_list(
            semi_axes, 'semi_axes'))
        if len(self.semi_axes) != 3:
            raise ValueError(f"`semi_axes` is {semi_axes!r}. Give three "
                             "dimensions, along the axes of the frame.")
        axis, radial, _ = _radial(frame, pole, 'pole')
        p = diag(*self.semi_axes)*(sin(U[1])*radial + cos(U[1])*axis)
        slope = Matrix([x/a**2 for x, a in zip(p, self.semi_axes)])
        self._standard(frame, point, p, parameters,
                       slope/sqrt(slope.dot(slope)))

    def _support(self, u):
        return sqrt(sum(a**2*x**2 for a, x in zip(self.semi_axes, u)))


class SurfaceOfRevolution(ParametricSurface):
    """A profile that is turned about an axis.

    ``point`` is on the vector ``axis``. ``profile`` is a function from the
    second parameter to the distance from the axis and the coordinate along it.
    ``orientation`` is 1 if the material is on the axis side of a profile that
    runs along the axis, -1 if it is around the surface.

    Examples
    ========

    >>> from sympy import cosh, symbols
    >>> from sympy.physics.mechanics import Point, ReferenceFrame
    >>> from sympy_constrained import SurfaceOfRevolution
    >>> N, O, a = ReferenceFrame('N'), Point('O'), symbols('a')
    >>> SurfaceOfRevolution(N, O, N.z, lambda s: (a*cosh(s/a), s)).position()
    a*cos(xi1(t))*cosh(xi2(t)/a)*N.x + a*sin(xi1(t))*cosh(xi2(t)/a)*N.y +
    xi2(t)*N.z
    """

    def __init__(self, frame, point, axis, profile, orientation=1,
                 parameters=None):
        axis, radial, around = _radial(frame, axis, 'axis')
        pair = profile(U[1]) if callable(profile) else None
        try:
            across, along = (sympify(x, strict=True) for x in pair)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"`profile` is {profile!r}. Give a function of one parameter "
                "that returns two expressions: the distance from the axis, "
                "and the coordinate along it.") from error
        slopes = across.diff(U[1]), along.diff(U[1])
        normal = (slopes[1]*radial - slopes[0]*axis)/sqrt(
            slopes[0]**2 + slopes[1]**2)
        self._standard(frame, point, across*radial + along*axis, parameters,
                       int(orientation)*normal, around,
                       orientation=orientation)


class ParametricCurve(ContactGeometryBase):
    """An edge given by its position as a function of one parameter; see
    :class:`.ParametricSurface`.
    """

    dimension = 1

    def __init__(self, frame, point, position, parameter):
        super().__init__(frame, point, position, [parameter])


class CircularRim(Wheel, ParametricCurve):
    """The rim of a thin disc about ``point``, its centre.

    The vector ``axis`` is the axle, ``parameter`` the angle about it.
    """

    tube_radius = S.Zero

    def __init__(self, frame, point, radius, axis, parameter=None):
        self.radius = positive(radius, 'radius')
        axis, first, second = _axes(frame, axis, 'axis')
        u = dynamicsymbols('xi1') if parameter is None else parameter
        super().__init__(frame, point, vector(
            frame, self.radius*(cos(u)*first + sin(u)*second)), u)
        self._axis = axis.as_immutable()


class VertexPoint(ContactGeometryBase):
    """A point of a body, the tip of a needle."""

    dimension = 0
    ball_radius = S.Zero

    def __init__(self, frame, point):
        super().__init__(frame, point, Vector(0), ())

    def _support(self, u):
        return 0*sqrt(u.dot(u))
