"""Surfaces of bodies."""
from __future__ import annotations

from sympy import (
    Dummy, Expr, ImmutableDenseMatrix, Matrix, cos, diag, pi, sin, sqrt,
    sympify)
from sympy.physics.mechanics import (
    WrappingCylinder, WrappingSphere, dynamicsymbols)
from sympy.physics.vector import Dyadic, Vector, dot

from ..errors import UnsupportedFeatureError
from ..model.call_signatures import as_list
from .geometry import (
    ContactGeometryBase, check_frame, determinant, dyadic, measure,
    perpendicular, positive, solve_small, unit, vector)

__all__ = ['ParametricSurface', 'Wheel', 'PlaneSurface', 'SphereSurface',
           'CylinderSurface', 'ConeSurface', 'TorusSurface',
           'EllipsoidSurface', 'SurfaceOfRevolution']


class ParametricSurface(ContactGeometryBase):
    r"""A surface given by its position as a function of two parameters.

    Explanation
    ===========

    The unit normal

    .. math::

       n = \pm\frac{x_1 \times x_2}{|x_1 \times x_2|}

    points out of the material of the body, and the curvature operator
    :math:`K`, with :math:`dn = K\,dx`, is positive where the body is convex:
    :math:`1/R` for a sphere, :math:`-1/R` for the inside of one.

    Examples
    ========

    The paraboloid of a dish, which a body touches from above:

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import Point, ReferenceFrame
    >>> from sympy_constrained import ParametricSurface
    >>> u, v, a = symbols('u v a')
    >>> N, O = ReferenceFrame('N'), Point('O')
    >>> dish = ParametricSurface(
    ...     N, O, u*N.x + v*N.y + (u**2 + v**2)/(2*a)*N.z, [u, v])
    >>> dish.first_fundamental_form()
    Matrix([
    [1 + u**2/a**2,     u*v/a**2],
    [     u*v/a**2, 1 + v**2/a**2]])
    >>> dish.gaussian_curvature().subs({u: 0, v: 0})
    a**(-2)

    Parameters
    ==========

    frame : ReferenceFrame
        Fixed in the body.
    point : Point
        Fixed in the body.
    position : Vector
        From ``point``, in terms of the parameters.
    parameters : pair of Symbol or dynamicsymbols
    orientation : 1 or -1
        Of the normal out of the material, relative to the cross product of
        the tangent vectors.

    """

    dimension = 2

    def __init__(self, frame, point, position, parameters, orientation=1):
        super().__init__(frame, point, position, parameters)
        if orientation not in (1, -1):
            raise ValueError(
                f"`orientation` is {orientation!r}. Give 1 if the cross "
                "product of the tangent vectors points out of the body, "
                "else -1.")
        self.orientation = int(orientation)
        self._normal = self._first = None

    @classmethod
    def _standard(cls, surface, frame, point, position, parameters, normal,
                  first=None):
        """Fill in a surface that knows its normal, measured in the frame."""
        if parameters is None:
            parameters = dynamicsymbols('xi1 xi2')
        names = dict(zip(_U, parameters))
        ParametricSurface.__init__(
            surface, frame, point,
            vector(frame, position.xreplace(names)), parameters)
        surface._normal = ImmutableDenseMatrix(normal.xreplace(names))
        if first is not None:
            surface._first = ImmutableDenseMatrix(first.xreplace(names))

    @classmethod
    def from_wrapping(cls, wrapping, frame, interior=False):
        """The surface of a SymPy wrapping geometry.

        Parameters
        ==========

        wrapping : WrappingSphere, WrappingCylinder or WrappingCone
        frame : ReferenceFrame
            Fixed in the body, which a wrapping geometry does not know.
        interior : bool
            Whether the other body touches it from inside.

        """
        point = getattr(wrapping, 'apex', None) or getattr(
            wrapping, 'point', None)
        if isinstance(wrapping, WrappingSphere):
            return SphereSurface(frame, point, wrapping.radius, interior)
        if isinstance(wrapping, WrappingCylinder):
            return CylinderSurface(frame, point, wrapping.radius,
                                   wrapping.axis, interior)
        if hasattr(wrapping, 'alpha'):
            return ConeSurface(frame, point, wrapping.alpha, wrapping.axis)
        raise UnsupportedFeatureError(
            f"{type(wrapping).__name__} is no sphere, cylinder or cone. "
            "Describe it by a ParametricSurface.")

    # -- differential geometry -------------------------------------------

    def normal(self) -> Vector:
        """Unit normal out of the material of the body."""
        if self._normal is None:
            first, second = (self._position.diff(x) for x in self.parameters)
            product = first.cross(second)
            self._normal = ImmutableDenseMatrix(
                self.orientation*product/sqrt(product.dot(product)))
        return vector(self.frame, self._normal)

    def first_tangent(self) -> Vector:
        """Unit vector along the first tangent vector."""
        if self._first is None:
            self._first = ImmutableDenseMatrix(
                unit(self._position.diff(self.parameters[0])))
        return vector(self.frame, self._first)

    def first_fundamental_form(self) -> Matrix:
        """Products of the tangent vectors, shape (2, 2)."""
        tangents = self.tangent_vectors()
        return Matrix(2, 2, lambda i, j: tangents[i].dot(tangents[j]))

    def second_fundamental_form(self) -> Matrix:
        """Normal parts of the second derivatives, shape (2, 2)."""
        second, normal = self.second_derivatives(), self.normal()
        return Matrix(2, 2, lambda i, j: second[i][j].dot(normal))

    def curvature_operator(self) -> Dyadic:
        """The dyadic ``K`` of the tangent plane, ``dn = K dx``."""
        X = Matrix.hstack(*(x.to_matrix(self.frame)
                            for x in self.tangent_vectors()))
        dual = solve_small(self.first_fundamental_form(), X.T)
        return dyadic(self.frame,
                      -dual.T*self.second_fundamental_form()*dual)

    def shape_operator(self) -> Matrix:
        """``K`` in the basis of the tangent vectors, shape (2, 2)."""
        return solve_small(self.first_fundamental_form(),
                           -self.second_fundamental_form())

    def gaussian_curvature(self) -> Expr:
        """The product of the principal curvatures."""
        return determinant(self.shape_operator())

    def connection_form(self) -> Matrix:
        """Turning of the first unit tangent about the normal, (1, 2).

        ``tau_j = d e1/d xi_j . (n x e1)``.
        """
        first = self.first_tangent()
        side = self.normal().cross(first)
        return Matrix([[vector(self.frame, self._first.diff(x)).dot(side)
                        for x in self.parameters]])

    @property
    def is_orthogonal(self) -> bool:
        """Whether the parameter lines are, as far as it is written."""
        return self.first_fundamental_form()[0, 1] == 0

    # -- signed distance -------------------------------------------------

    def _distance(self, x):
        """Signed distance of a place measured in the frame, or None."""

    @property
    def has_signed_distance(self) -> bool:
        """Whether the contact with a ball has a closed form."""
        return self._distance(Matrix(_X)) is not None

    def signed_distance(self, point) -> Expr:
        """Distance of a point, negative inside the material."""
        return self._from_distance(point, lambda d: d)

    def distance_gradient(self, point) -> Vector:
        """The unit normal at the foot of a point."""
        return vector(self.frame, self._from_distance(
            point, lambda d: Matrix([d.diff(x) for x in _X])))

    def distance_hessian(self, point) -> Dyadic:
        """The change of the gradient with the place of the point."""
        return dyadic(self.frame, self._from_distance(
            point, lambda d: Matrix(3, 3, lambda i, j: d.diff(
                _X[i], _X[j]))))

    def _from_distance(self, point, form):
        if not self.has_signed_distance:
            raise UnsupportedFeatureError(
                f"{type(self).__name__} has no signed distance. A ball meets "
                "it in the formulations 'augmented' and 'kinematic'.")
        place = point.pos_from(self.point).to_matrix(self.frame)
        return form(self._distance(Matrix(_X))).xreplace(dict(zip(_X, place)))


# The parameters of a chart, and a place, before they get their values.
_U = Dummy('u1'), Dummy('u2')
_X = Dummy('x1'), Dummy('x2'), Dummy('x3')


def _axes(frame, axis, name):
    """Unit axis and two unit vectors across it, measured in the frame.

    The axis None is the first one of the frame.
    """
    check_frame(frame)
    axis = measure(frame, frame.x if axis is None else axis, name)
    if not any(axis):
        raise ValueError(f"`{name}` is the zero vector; it has no direction. "
                         "Give another one.")
    axis = unit(axis)
    return axis, *perpendicular(axis)


def _split(x, axis):
    """Distance from an axis, and the coordinate along it."""
    across = x.cross(axis)
    return sqrt(across.dot(across)), x.dot(axis)


class Wheel(ContactGeometryBase):
    """A circle about an axle, with a tube of a radius that may be zero.

    Its lowest point is found from the axle alone. In axes that turn with the
    wheel the angle of the spin would cancel, but only in exact numbers.
    """

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
    """A plane through a point, with its normal out of the material.

    Parameters
    ==========

    frame : ReferenceFrame
    point : Point
    normal : Vector
        Of any length.
    parameters : pair of dynamicsymbols, optional

    """

    def __init__(self, frame, point, normal, parameters=None):
        axis, first, second = _axes(frame, normal, 'normal')
        self._axis = ImmutableDenseMatrix(axis)
        self._standard(self, frame, point, _U[0]*first + _U[1]*second,
                       parameters, axis, first)

    def _distance(self, x):
        return x.dot(self._axis)


class SphereSurface(ParametricSurface):
    """A sphere about a point, from outside or from inside.

    Parameters
    ==========

    frame : ReferenceFrame
    point : Point
        The centre.
    radius : Expr
    interior : bool
        Whether the material is around the sphere: a bowl or a socket.
    pole : Vector, optional
        Where the polar angle, the second parameter, is zero. There and
        opposite the parameters are singular, so it must be away from
        contacts; ``frame.x`` by default.
    parameters : pair of dynamicsymbols, optional

    """

    def __init__(self, frame, point, radius, interior=False, pole=None,
                 parameters=None):
        self.radius, self.interior = positive(radius, 'radius'), interior
        axis, first, second = _axes(frame, pole, 'pole')
        u, v = _U
        radial = cos(u)*first + sin(u)*second
        outward = sin(v)*radial + cos(v)*axis
        self._axis = ImmutableDenseMatrix(axis)
        self._standard(self, frame, point, self.radius*outward, parameters,
                       -outward if interior else outward,
                       cos(u)*second - sin(u)*first)
        if not interior:
            self.ball_radius = self.radius

    def _distance(self, x):
        sign = -1 if self.interior else 1
        return sign*(sqrt(x.dot(x)) - self.radius)

    def _support(self, u):
        return None if self.interior else self.radius*sqrt(u.dot(u))


class CylinderSurface(ParametricSurface):
    """A circular cylinder, from outside or from inside.

    Parameters
    ==========

    frame : ReferenceFrame
    point : Point
        On the axis.
    radius : Expr
    axis : Vector
    interior : bool
        Whether the material is around the cylinder: a tube.
    parameters : pair of dynamicsymbols, optional
        The angle and the coordinate along the axis.

    """

    def __init__(self, frame, point, radius, axis, interior=False,
                 parameters=None):
        self.radius, self.interior = positive(radius, 'radius'), interior
        axis, first, second = _axes(frame, axis, 'axis')
        u, v = _U
        radial = cos(u)*first + sin(u)*second
        self._axis = ImmutableDenseMatrix(axis)
        self._standard(self, frame, point, self.radius*radial + v*axis,
                       parameters, -radial if interior else radial,
                       cos(u)*second - sin(u)*first)

    def _distance(self, x):
        sign = -1 if self.interior else 1
        return sign*(_split(x, self._axis)[0] - self.radius)


class ConeSurface(ParametricSurface):
    """A circular cone, from outside, or a funnel from inside.

    Parameters
    ==========

    frame : ReferenceFrame
    point : Point
        The apex.
    half_angle : Expr
        Between the axis and the surface. Larger than a right angle for a
        funnel, which opens against the axis.
    axis : Vector
        From the apex into the material.
    parameters : pair of dynamicsymbols, optional
        The angle and the distance from the apex.

    """

    def __init__(self, frame, point, half_angle, axis, parameters=None):
        self.half_angle = angle = positive(half_angle, 'half_angle')
        if (angle - pi).is_extended_nonnegative:
            raise ValueError(f"`half_angle` is {angle}. Give an angle between "
                             "0 and pi, in radians.")
        axis, first, second = _axes(frame, axis, 'axis')
        u, v = _U
        radial = cos(u)*first + sin(u)*second
        self._axis = ImmutableDenseMatrix(axis)
        self._standard(self, frame, point,
                       v*(sin(angle)*radial + cos(angle)*axis), parameters,
                       cos(angle)*radial - sin(angle)*axis,
                       cos(u)*second - sin(u)*first)
        self.domain = ImmutableDenseMatrix([self.parameters[1]])

    def _distance(self, x):
        across, along = _split(x, self._axis)
        return cos(self.half_angle)*across - sin(self.half_angle)*along


class TorusSurface(Wheel, ParametricSurface):
    """A torus, from outside: a wheel with a round tyre.

    Parameters
    ==========

    frame : ReferenceFrame
    point : Point
        The centre.
    radius : Expr
        Of the circle of the tube's centres.
    tube_radius : Expr
    axis : Vector
        The axle.
    parameters : pair of dynamicsymbols, optional
        The angle about the axle and the one around the tube, zero at the
        outer equator.

    """

    def __init__(self, frame, point, radius, tube_radius, axis,
                 parameters=None):
        self.radius = positive(radius, 'radius')
        self.tube_radius = positive(tube_radius, 'tube_radius')
        axis, first, second = _axes(frame, axis, 'axis')
        u, v = _U
        radial = cos(u)*first + sin(u)*second
        normal = cos(v)*radial + sin(v)*axis
        self._axis = ImmutableDenseMatrix(axis)
        self._standard(self, frame, point,
                       (self.radius + self.tube_radius*cos(v))*radial
                       + self.tube_radius*sin(v)*axis,
                       parameters, normal, cos(u)*second - sin(u)*first)

    def _distance(self, x):
        across, along = _split(x, self._axis)
        return sqrt((across - self.radius)**2 + along**2) - self.tube_radius


class EllipsoidSurface(ParametricSurface):
    """An ellipsoid, from outside.

    Parameters
    ==========

    frame : ReferenceFrame
        Its axes are those of the ellipsoid.
    point : Point
        The centre.
    semi_axes : three Expr
    pole : Vector, optional
        The axis on which the parameters are singular: ``frame.x`` (the
        default), ``frame.y`` or ``frame.z``.
    parameters : pair of dynamicsymbols, optional

    """

    def __init__(self, frame, point, semi_axes, pole=None, parameters=None):
        check_frame(frame)
        self.semi_axes = tuple(positive(x, 'semi_axes') for x in as_list(
            semi_axes, 'semi_axes'))
        if len(self.semi_axes) != 3:
            raise ValueError(f"`semi_axes` has {len(self.semi_axes)} entries "
                             "instead of three. Give one for each axis of "
                             "the frame.")
        pole = frame.x if pole is None else pole
        if pole not in tuple(frame):
            raise ValueError(f"`pole` is {pole!r}. Choose one of the axes of "
                             f"the frame {frame}.")
        axis, first, second = _axes(frame, pole, 'pole')
        D = diag(*self.semi_axes)
        u, v = _U
        p = D*(sin(v)*(cos(u)*first + sin(u)*second) + cos(v)*axis)
        slope = Matrix([x/a**2 for x, a in zip(p, self.semi_axes)])
        self._standard(self, frame, point, p, parameters,
                       slope/sqrt(slope.dot(slope)))

    def _support(self, u):
        return sqrt(sum(a**2*x**2 for a, x in zip(self.semi_axes, u)))


class SurfaceOfRevolution(ParametricSurface):
    """A profile that is turned about an axis.

    Examples
    ========

    >>> from sympy import cosh, symbols
    >>> from sympy.physics.mechanics import Point, ReferenceFrame
    >>> from sympy_constrained import SurfaceOfRevolution
    >>> N, O, a = ReferenceFrame('N'), Point('O'), symbols('a')
    >>> SurfaceOfRevolution(N, O, N.z, lambda s: (a*cosh(s/a), s)).position()
    a*cos(xi1(t))*cosh(xi2(t)/a)*N.x + a*sin(xi1(t))*cosh(xi2(t)/a)*N.y +
    xi2(t)*N.z

    Parameters
    ==========

    frame : ReferenceFrame
    point : Point
        On the axis.
    axis : Vector
    profile : callable
        From the second parameter to the distance from the axis and the
        coordinate along it.
    orientation : 1 or -1
        1 if the material is on the axis side of a profile that runs along
        the axis, -1 if it is around the surface.
    parameters : pair of dynamicsymbols, optional

    """

    def __init__(self, frame, point, axis, profile, orientation=1,
                 parameters=None):
        if orientation not in (1, -1):
            raise ValueError(f"`orientation` is {orientation!r}. Give 1 "
                             "or -1.")
        axis, first, second = _axes(frame, axis, 'axis')
        u, v = _U
        try:
            across, along = (sympify(x, strict=True) for x in profile(v))
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"`profile` is {profile!r}, which does not give two "
                "expressions. Give a function of one parameter to the "
                "distance from the axis and the coordinate along it."
            ) from error
        radial = cos(u)*first + sin(u)*second
        slopes = across.diff(v), along.diff(v)
        normal = (slopes[1]*radial - slopes[0]*axis)/sqrt(
            slopes[0]**2 + slopes[1]**2)
        self._standard(self, frame, point, across*radial + along*axis,
                       parameters, int(orientation)*normal,
                       cos(u)*second - sin(u)*first)
        self.orientation = int(orientation)
