"""Edges and vertices of bodies."""
from sympy import ImmutableDenseMatrix, S, cos, sin, sqrt
from sympy.physics.mechanics import dynamicsymbols
from sympy.physics.vector import Vector

from .geometry import ContactGeometryBase, positive, vector
from .surfaces import Wheel, _axes


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
        self._axis = ImmutableDenseMatrix(axis)


class VertexPoint(ContactGeometryBase):
    """A point of a body, the tip of a needle."""

    dimension = 0
    ball_radius = S.Zero

    def __init__(self, frame, point):
        super().__init__(frame, point, Vector(0), ())

    def _support(self, u):
        return 0*sqrt(u.dot(u))
