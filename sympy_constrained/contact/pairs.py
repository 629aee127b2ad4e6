"""The local geometry of two bodies in contact, by elimination or by charts."""
from abc import ABC, abstractmethod
from functools import cached_property

from sympy import Matrix, eye, sqrt
from sympy.physics.vector import Vector, cross, dot

from ..errors import UnsupportedFeatureError
from .geometry import inner, solve_small
from .surfaces import PlaneSurface


class Pair(ABC):
    """The geometry of the child at the geometry of the parent.

    ``normal`` is the unit vector out of the parent into the child.
    ``child_position`` and ``parent_position`` are those of the contact point,
    from the points of the geometries. ``gap`` is None unless the contact point
    is eliminated.
    """

    gap = None

    def __init__(self, parent, child):
        self.parent, self.child = parent, child
        self.offset = child.point.pos_from(parent.point)

    @property
    def first_tangent(self):
        """Unit vector along the first parameter of the parent."""
        if isinstance(self.parent, PlaneSurface):
            return self.parent.first_tangent()
        return cross(self.parent.axis, self.offset).normalize()

    @property
    def tangents(self):
        first = self.first_tangent
        return first, cross(self.normal, first)

    @abstractmethod
    def relative_curvature(self):
        """``K1 + K2`` in the tangents; ``t.(K1 + K2).t`` for an edge."""

    def convexity(self, gap):
        """Symmetric matrices that are positive at the nearest points."""
        # For bodies that are apart, ``K1 + K2 (1 + g K2)^-1``, and ``1 + g
        # K2`` in any basis, as the parent must not focus in between.
        return [self.relative_curvature()]

    def in_tangents(self, dyadic):
        return inner(self.tangents, [dot(dyadic, x) for x in self.tangents])


class SupportPair(Pair):
    r"""A convex body on a plane, by its support function.

    With :math:`u = -n` in the axes of the body

    .. math::

       g = (O_1 - O_2) \cdot n - h(u), \quad p = \nabla h(u), \quad
       H_1 = \nabla\nabla h(u), \quad w_1 = H_1 (\omega \times n)

    """

    def __init__(self, parent, child):
        super().__init__(parent, child)
        self.normal = parent.normal()
        self.down = -self.normal
        self.gap = dot(self.offset, self.normal) - child.support_function(
            self.down)
        self.child_position = child.support_point(self.down)
        self.parent_position = self.offset + self.child_position

    def trace_velocity(self, omega, slip):
        """Velocity of the contact along the child; ``omega`` and ``slip`` are
        the angular and the tangential velocity relative to the parent.
        """
        radii = self.child.curvature_radii(self.down)
        return dot(radii, cross(omega, self.normal))

    def relative_curvature(self):
        radii = self.in_tangents(self.child.curvature_radii(self.down))
        if self.child.dimension == 2:
            return solve_small(radii, eye(2))
        return Matrix([[1/radii.trace()]]) if self.child.dimension else (
            Matrix(0, 0, []))


class DistancePair(Pair):
    r"""A ball on a surface, by the signed distance of its centre.

    .. math::

       g = d(C) - r, \quad n = \nabla d(C), \quad
       (K_1 + K_2)^{-1} = r (1 - r \nabla\nabla d(C))

    """

    def __init__(self, parent, child):
        super().__init__(parent, child)
        self.radius = child.ball_radius
        self.gap = parent.signed_distance(child.point) - self.radius
        self.normal = parent.distance_gradient(child.point)
        self.child_position = -self.radius*self.normal
        self.parent_position = self.offset + self.child_position

    @cached_property
    def bend(self):
        return self.parent.distance_hessian(self.child.point)

    def trace_velocity(self, omega, slip):
        turned = cross(omega, self.normal)
        return self.radius*(turned - dot(
            self.bend, self.radius*turned + slip))

    def relative_curvature(self):
        if not self.child.dimension:
            return Matrix(0, 0, [])
        return solve_small(self.radius*self._focus(self.radius), eye(2))

    def convexity(self, gap):
        return [self.relative_curvature(),
                self._focus(self.gap + self.radius)]

    def _focus(self, distance):
        """``1 - d*grad grad d(C)`` in the tangents."""
        return eye(2) - distance*self.in_tangents(self.bend)


class ChartPair(Pair):
    """Two geometries with the parameters of the contact kept.

    Their tangents are the derivatives of the positions by the parameters.
    """

    def __init__(self, parent, child):
        super().__init__(parent, child)
        self.child_tangents = child.tangent_vectors()
        self.parent_tangents = parent.tangent_vectors()
        self.child_position = child.position()
        self.parent_position = parent.position()
        if parent.dimension == 2:
            self.normal = parent.normal()
        else:                           # crossing edges
            product = cross(*self.child_tangents, *self.parent_tangents)
            self.normal = product/sqrt(dot(product, product))

    @property
    def first_tangent(self):
        if self.parent.dimension == 2:
            return self.parent.first_tangent()
        return self.parent_tangents[0].normalize()

    @property
    def apart(self):
        """Position of the child's contact point from the parent's."""
        return self.offset + self.child_position - self.parent_position

    @property
    def tangency_vectors(self):
        """Tangents of the child that must be normal to ``normal``."""
        return self.child_tangents if self.parent.dimension == 2 else ()

    def closure(self):
        """C1 in the axes of the parent, then C2, shape (5, 1) or less."""
        return [*self.apart.to_matrix(self.parent.frame), *(
            dot(x, self.normal) for x in self.tangency_vectors)]

    def closure_rates(self, omega, velocity, child_rates, parent_rates):
        """Time derivatives of :meth:`closure`; ``velocity`` is that of the
        child's material at the contact, relative to the parent.
        """
        moved = velocity + combined(self.child_tangents, child_rates) - (
            combined(self.parent_tangents, parent_rates))
        rows = list(moved.to_matrix(self.parent.frame))
        turn = combined([self.normal.diff(x, self.parent.frame, False)
                         for x in self.parent.parameters], parent_rates)
        for x, second in zip(self.tangency_vectors,
                             self.child.second_derivatives()):
            rate = cross(omega, x) + combined(second, child_rates)
            rows.append(dot(rate, self.normal) + dot(x, turn))
        return rows

    def rates(self, omega, slip):
        r"""Rates of the parameters of the child, then of the parent.

        With :math:`X, Y` the tangent vectors, :math:`B_1 = x_{ij}\cdot n`,
        :math:`I_2, B_2` the forms of the parent for the same normal, and
        :math:`T = I_2^{-1} Y^T X`, the equations of contact are

        .. math::

           (B_1 - T^T B_2 T)\,\dot\xi &= X^T(\omega\times n)
           + T^T B_2 I_2^{-1} Y^T v \\
           \dot\zeta &= T\,\dot\xi + I_2^{-1} Y^T v

        which is :math:`(K_1 + K_2) X\dot\xi = \omega\times n - K_2 v`, also
        for an edge or a vertex of the child.
        """
        X, Y = self.child_tangents, self.parent_tangents
        if self.parent.dimension == 1:          # x' xi' - y' zeta' = -v
            (x,), (y,) = X, Y
            size = dot(cross(x, y), self.normal)
            return ([-dot(cross(slip, y), self.normal)/size],
                    [-dot(cross(slip, x), self.normal)/size])
        bend, T, spread = self._forms(0)
        v = spread*inner(Y, [slip])
        B2 = self.parent.second_fundamental_form()
        right = inner(X, [cross(omega, self.normal)]) + T.T*B2*v
        xi = solve_small(bend, right)
        return list(xi), list(T*xi + v)

    def _forms(self, gap):
        """``B1 - T^T B2 T`` (the second ``T`` at a gap), ``T``, inverse of
        ``I2``.
        """
        spread = solve_small(self.parent.first_fundamental_form(), eye(2))
        across = inner(self.parent_tangents, self.child_tangents)
        T = spread*across
        lifted = T if gap == 0 else solve_small(self._focus(gap), across)
        second = self.child.second_derivatives()
        count = self.child.dimension
        B1 = Matrix(count, count, lambda i, j: dot(second[i][j], self.normal))
        B2 = self.parent.second_fundamental_form()
        return B1 - T.T*B2*lifted, T, spread

    def _focus(self, gap):
        """``1 + g K2`` in the tangent vectors of the parent."""
        return (self.parent.first_fundamental_form()
                - gap*self.parent.second_fundamental_form())

    def convexity(self, gap):
        if self.parent.dimension == 1:
            return [self.relative_curvature()]
        return [self.relative_curvature(gap), self._focus(gap)]

    def relative_curvature(self, gap=0):
        if self.parent.dimension == 1:
            return Matrix(0, 0, [])
        bend = self._forms(gap)[0]
        if self.child.dimension == 2:
            X = inner(self.tangents, self.child_tangents)
            return solve_small(X.T, solve_small(X.T, bend.T).T)
        if self.child.dimension == 1:
            x, = self.child_tangents
            return bend/dot(x, x)
        return bend


def combined(vectors, numbers):
    return sum((x*v for x, v in zip(numbers, vectors)), start=Vector(0))


def eliminated_pair(parent, child):
    """The pair in closed form; an error if none is known."""
    if parent.dimension == 2 and child.ball_radius is not None and (
            parent.has_signed_distance):
        return DistancePair(parent, child)
    if isinstance(parent, PlaneSurface) and child.has_support_function:
        return SupportPair(parent, child)
    raise UnsupportedFeatureError(
        f"The contact of {type(child).__name__} with {type(parent).__name__} "
        "has no closed form here. Closed forms are a convex child on a plane "
        "(by its support function) and a ball as child on a surface with "
        "signed distance. Exchange parent and child if that makes it one of "
        "these, or choose the formulation 'augmented' or 'kinematic'.")
