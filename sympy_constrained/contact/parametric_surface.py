"""Surfaces given by a chart: normal, curvature, signed distance."""
from sympy import Dummy, Expr, ImmutableDenseMatrix, Matrix, hessian, sqrt
from sympy.physics.mechanics import dynamicsymbols
from sympy.physics.vector import Dyadic, Vector

from ..errors import UnsupportedFeatureError
from .geometry import (
    ContactGeometryBase, dyadic, inner, solve_small, unit, vector)


# The parameters of a chart, and a place, before they get their values.
U = Dummy('u1'), Dummy('u2')
PLACE = Dummy('x1'), Dummy('x2'), Dummy('x3')


class ParametricSurface(ContactGeometryBase):
    r"""A surface given by its position as a function of two parameters.

    The unit normal

    .. math::

       n = \pm\frac{x_1 \times x_2}{|x_1 \times x_2|}

    points out of the material of the body, and the curvature operator
    :math:`K`, with :math:`dn = K\,dx`, is positive where the body is convex:
    :math:`1/R` for a sphere, :math:`-1/R` for the inside of one.

    ``frame`` and ``point`` are fixed in the body, ``position`` is the vector
    from the point in terms of the two ``parameters``, symbols or functions of
    time. ``orientation`` is 1 or -1: the sign above.

    Examples
    ========

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import Point, ReferenceFrame
    >>> from sympy_constrained import ParametricSurface
    >>> u, v, a = symbols('u v a')
    >>> N, O = ReferenceFrame('N'), Point('O')
    >>> dish = ParametricSurface(
    ...     N, O, u*N.x + v*N.y + (u**2 + v**2)/(2*a)*N.z, [u, v])
    >>> dish.gaussian_curvature().subs({u: 0, v: 0})
    a**(-2)
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

    def _standard(self, frame, point, position, parameters, normal,
                  first=None, axis=None, orientation=1):
        """Initialise a surface with a known normal and first tangent."""
        if parameters is None:
            parameters = dynamicsymbols('xi1 xi2')
        names = dict(zip(U, parameters))
        ParametricSurface.__init__(
            self, frame, point, vector(frame, position.xreplace(names)),
            parameters, orientation)
        self._normal, self._first, self._axis = (
            x and ImmutableDenseMatrix(x.xreplace(names))
            for x in (normal, first, axis))

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
        return inner(tangents, tangents)

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
        a, b, c, d = self.shape_operator()
        return a*d - b*c                # `det` of SymPy simplifies

    def connection_form(self) -> Matrix:
        """``dot(d e1/d xi_j, n x e1)`` of the first unit tangent, (1, 2)."""
        first = self.first_tangent()
        side = self.normal().cross(first)
        return Matrix([[vector(self.frame, self._first.diff(x)).dot(side)
                        for x in self.parameters]])

    # -- signed distance -------------------------------------------------

    def _distance(self, x):
        """Signed distance of a place measured in the frame, or None."""

    @property
    def has_signed_distance(self) -> bool:
        """Whether the contact with a ball has a closed form."""
        return self._distance(Matrix(PLACE)) is not None

    def signed_distance(self, point) -> Expr:
        """Distance of a point, negative inside the material."""
        return self._from_distance(point, lambda d: d)

    def distance_gradient(self, point) -> Vector:
        """The unit normal at the foot of a point."""
        return vector(self.frame, self._from_distance(
            point, lambda d: Matrix([d.diff(x) for x in PLACE])))

    def distance_hessian(self, point) -> Dyadic:
        """The change of the gradient with the place of the point."""
        return dyadic(self.frame, self._from_distance(
            point, lambda d: hessian(d, PLACE)))

    def _from_distance(self, point, form):
        if not self.has_signed_distance:
            raise UnsupportedFeatureError(
                f"{type(self).__name__} has no signed distance. A ball meets "
                "it in the formulations 'augmented' and 'kinematic'.")
        place = point.pos_from(self.point).to_matrix(self.frame)
        return form(self._distance(Matrix(PLACE))).xreplace(
            dict(zip(PLACE, place)))
