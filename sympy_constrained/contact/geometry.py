"""The base class of surfaces, curves and vertices, and its helpers."""
from abc import ABC
from contextlib import suppress
from copy import copy
from functools import lru_cache
from random import Random

from mpmath import mp
from sympy import (
    Dummy, Expr, ImmutableDenseMatrix, Matrix, Rational, S, Symbol, hessian,
    sqrt, sympify)
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import Point, dynamicsymbols
from sympy.physics.vector import Dyadic, Vector

from ..errors import (
    ConstrainedDynamicsError, ConstraintError, UnsupportedFeatureError)
from ..graph import Graph
from ..model.call_signatures import (
    as_expression, as_expressions, as_list, check_frame)
from ..precision import precise


FIXED = "Give the ReferenceFrame in which the geometry is fixed."


class ContactGeometryBase(ABC):
    r"""A surface, a curve or a vertex that is fixed in a body.

    The position :math:`x(\xi)` is measured from ``point`` in the axes of
    ``frame``, which are fixed in the body. ``dimension`` is the number of
    ``parameters``: 2 for a surface, 1 for a curve, 0 for a vertex.
    """

    dimension: int
    #: radius of a ball, which meets any signed distance in closed form
    ball_radius: Expr | None = None
    #: expressions in the parameters that are positive on the geometry
    domain = ImmutableDenseMatrix(0, 1, [])
    _axis: ImmutableDenseMatrix | None = None

    def __init__(self, frame, point, position, parameters):
        check_frame(frame, FIXED)
        if not isinstance(point, Point):
            raise TypeError(f"`point` is {point!r}. Give the Point from "
                            "which positions are measured.")
        self.frame, self.point = frame, point
        self.parameters = tuple(as_list(parameters, 'parameters'))
        if len(set(self.parameters)) != self.dimension or any(
                not isinstance(x, (Symbol, AppliedUndef))
                for x in self.parameters):
            raise ValueError(
                f"`parameters` is {parameters!r}. Give {self.dimension} "
                "different symbols or dynamicsymbols for "
                f"{type(self).__name__}.")
        self._position = measure(frame, position, 'position')
        shape = self._position.xreplace({x: Dummy() for x in self.parameters})
        moving = [x for x in shape.atoms(AppliedUndef, Symbol)
                  if x.has(dynamicsymbols._t)]
        if moving:
            raise ConstraintError(
                f"The position of {type(self).__name__} contains "
                f"{max(moving, key=str)}, a function of time that is not a "
                "parameter. A contact needs a rigid shape: let the frame and "
                "the point move instead.")

    def __repr__(self):
        return f'<{type(self).__name__} in {self.frame}>'

    def with_parameters(self, *parameters):
        """The same geometry with other parameters."""
        found = as_expressions(parameters, 'parameters')
        if len(found) != self.dimension:
            raise ValueError(
                f"{len(found)} values were given for the {self.dimension} "
                f"parameters of {type(self).__name__}. Give one for each.")
        new = dict(zip(self.parameters, found))
        changed = copy(self)
        changed.parameters = tuple(new.values())
        for name, value in vars(self).items():
            if isinstance(value, ImmutableDenseMatrix):
                setattr(changed, name, value.xreplace(new))
        return changed

    def position(self) -> Vector:
        """Position :math:`x(\\xi)` from ``point``."""
        return vector(self.frame, self._position)

    def tangent_vectors(self) -> tuple[Vector, ...]:
        """The derivatives of the position by the parameters."""
        return tuple(vector(self.frame, derivative(self._position, x))
                     for x in self.parameters)

    def second_derivatives(self) -> list[list[Vector]]:
        """The second derivatives of the position by the parameters."""
        return [[vector(self.frame, derivative(derivative(
            self._position, x), y)) for y in self.parameters]
                for x in self.parameters]

    @property
    def axis(self) -> Vector:
        """Unit vector along the axis, or along the normal of a plane."""
        if self._axis is None:
            raise UnsupportedFeatureError(
                f"{type(self).__name__} was given without an axis. Take a "
                "vector of its frame.")
        return vector(self.frame, self._axis)

    def locate(self, name, *values) -> Point:
        """A new point at values of the parameters."""
        position = self.with_parameters(*values).position()
        return self.point.locatenew(name, position)

    # -- support function ------------------------------------------------

    def _support(self, u):
        """Support function, homogeneous of degree one in ``u``, or None."""

    @property
    def has_support_function(self) -> bool:
        """Whether the contact with a plane has a closed form."""
        return self._support(Matrix([1, 0, 0])) is not None

    def support_function(self, direction) -> Expr:
        r"""Extent of the body in a direction, :math:`\max u \cdot p`."""
        return self._from_support(direction, lambda h, u: h)

    def support_point(self, direction) -> Vector:
        r"""Where the extent is reached, :math:`p = \nabla h(u)`."""
        return vector(self.frame, self._from_support(
            direction, lambda h, u: Matrix([h.diff(x) for x in u])))

    def curvature_radii(self, direction) -> Dyadic:
        r"""The operator of radii of curvature, :math:`\nabla\nabla h(u)`."""
        return dyadic(self.frame, self._from_support(direction, hessian))

    def _from_support(self, direction, form):
        """Differentiate the homogeneous function, then insert a direction."""
        if not self.has_support_function:
            raise UnsupportedFeatureError(
                f"{type(self).__name__} has no support function. It meets a "
                "plane in the formulations 'augmented' and 'kinematic'.")
        u = Matrix([Dummy(f'u{i}') for i in range(3)])
        # With a unit vector inserted first, |u| would be differentiated as 1.
        form = form(self._support(u), u).xreplace({u.dot(u): S.One})
        return form.xreplace(dict(zip(u, direction.to_matrix(self.frame))))


# -- vectors -------------------------------------------------------------

def vector(frame, numbers) -> Vector:
    return Vector([(Matrix(numbers), frame)])


def dyadic(frame, matrix) -> Dyadic:
    axes = list(frame)
    return sum((x*a.outer(b) for a, row in zip(axes, matrix.tolist())
                for b, x in zip(axes, row) if x != 0), Dyadic(0))


def inner(left, right) -> Matrix:
    """Products of two families of vectors."""
    return Matrix(len(left), len(right),
                  lambda i, j: left[i].dot(right[j]))


def measure(frame, position, name) -> ImmutableDenseMatrix:
    check_frame(frame, FIXED)
    if not isinstance(position, Vector):
        raise TypeError(f"`{name}` is {position!r}. Give a Vector.")
    return ImmutableDenseMatrix(position.to_matrix(frame))


@lru_cache(maxsize=256)
def derivative(matrix, x) -> ImmutableDenseMatrix:
    """Derivative by one parameter, cached for forms and curvatures."""
    return matrix.applyfunc(lambda entry: entry.diff(x))


def unit(numbers) -> Matrix:
    """Measure numbers divided by their length, unless that is one."""
    square = numbers.dot(numbers)
    if vanishes(square - 1):
        return Matrix(numbers)
    return Matrix(numbers)/sqrt(square)


def perpendicular(axis) -> tuple[Matrix, Matrix]:
    """Two unit vectors that are right-handed with a unit vector."""
    zero = [k for k in range(3) if axis[k] == 0]
    if zero:                # then an axis of the frame is one of them
        k = zero[0] if len(zero) == 1 else (4 - sum(zero)) % 3
        first = Matrix([int(i == k) for i in range(3)])
    else:
        first = unit(axis.cross(Matrix([1, 0, 0])))
    return first, axis.cross(first)


def solve_small(matrix, right) -> Matrix:
    """Solve linear equations of at most two unknowns by cofactors."""
    if matrix.rows < 2:
        return right/matrix[0] if matrix else Matrix(0, right.cols, [])
    a, b, c, d = matrix
    return Matrix([[d, -b], [-c, a]])*right/(a*d - b*c)


def scalar(value, name, wanted='positive dimension') -> Expr:
    """A number or expression as an expression."""
    found = as_expression(value)
    if not isinstance(found, Expr):
        raise TypeError(f"`{name}` is {value!r}, not a number or expression. "
                        f"Give a {wanted}.")
    return found


def positive(value, name) -> Expr:
    """A dimension as an expression; raise if it cannot be positive."""
    found = scalar(value, name)
    if found.is_extended_nonpositive or found.is_finite is False or (
            found.is_extended_real is False or found is S.NaN):
        raise ValueError(f"`{name}` is {found}. Give a positive dimension.")
    return found


# -- numbers -------------------------------------------------------------

def numbers(expressions, values) -> list:
    """Values of expressions at 30 digits."""
    graph = Graph.of({'x': Matrix(list(expressions))}, dynamicsymbols._t)
    with precise():
        return [x for x, in graph.evaluate(values, context=mp)['x']]


def at_random(expressions, count=3) -> list:
    """Values at random positive numbers, as often as they have values."""
    found = []
    symbols = set().union(*(x.atoms(Symbol, AppliedUndef) for x in map(
        sympify, expressions)))
    for seed in range(count):
        random = Random(seed)
        values = {x: Rational(random.randint(10**8, 10**9), 10**9)
                  for x in sorted(symbols, key=str)}
        with suppress(ArithmeticError, TypeError, ValueError,
                      ConstrainedDynamicsError):
            found.append(numbers(expressions, values))
    return found


def vanishes(expression, where=all, count=3) -> bool:
    """Whether an expression is zero, at ``all`` or ``any`` random numbers."""
    found = [0] if expression == 0 else sum(
        at_random([expression], count), [])
    return bool(found) and where(abs(x) < mp.mpf(10)**-20 for x in found)
