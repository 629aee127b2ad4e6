"""Relative motion of two bodies at their contact, and the traces it leaves."""
from functools import cached_property

from sympy import Expr, Matrix, sqrt
from sympy.physics.mechanics import Point
from sympy.physics.vector import Vector, cross, dot

from ..errors import KinematicsError, UnsupportedFeatureError
from .bodies import centre_velocity
from .pairs import combined


class ContactKinematics:
    """Velocities at a contact, for a class with its bodies and its pair.

    Equation numbers are those of [1]_ of :class:`.PointContact`.
    """

    @cached_property
    def relative_angular_velocity(self) -> Vector:
        """Angular velocity of the child minus that of the parent."""
        return self._turning(self.child) - self._turning(self.parent)

    def _turning(self, body):
        try:
            return body.frame.ang_vel_in(self.frame)
        except ValueError:
            raise KinematicsError(
                f"Frame {body.frame} of {body.name} has no angular velocity "
                f"in {self.frame}. Orient it, or pass the inertial frame of "
                f"the model as `frame` of {self.name}.") from None

    @cached_property
    def child_point(self) -> Point:
        """Contact point of the child, with the velocity of its material."""
        return self._material_point('child')

    @cached_property
    def parent_point(self) -> Point:
        """Contact point of the parent, with the velocity of its material."""
        return self._material_point('parent')

    def _material_point(self, side):
        """A point with the velocity of the material, not of the contact."""
        body = getattr(self, side)
        geometry = getattr(self._pair, side)
        velocity = centre_velocity(body, self.frame)
        place = geometry.point.pos_from(body.masscenter) + getattr(
            self._pair, f'{side}_position')
        point = body.masscenter.locatenew(f'{self.name}_{side}', place)
        point.set_vel(self.frame,
                      velocity + cross(self._turning(body), place))
        return point

    @cached_property
    def relative_velocity(self) -> Vector:
        """Material velocity of the child minus that of the parent, (16)."""
        return (self.child_point.vel(self.frame)
                - self.parent_point.vel(self.frame))

    @cached_property
    def normal_velocity(self) -> Expr:
        """Rate at which the bodies separate, (18)."""
        return dot(self.relative_velocity, self.normal)

    @cached_property
    def slip_velocity(self) -> tuple[Expr, Expr]:
        """Relative velocity along the two tangents, (17)."""
        return tuple(dot(self.relative_velocity, x) for x in self.tangents)

    @cached_property
    def pivot_speed(self) -> Expr:
        """Relative angular velocity about the normal."""
        return dot(self.relative_angular_velocity, self.normal)

    @cached_property
    def _slip(self):
        return combined(self.tangents, self.slip_velocity)

    def contact_kinematics(self, slipping=True) -> dict:
        """Rates of the contact coordinates, by their derivatives; empty in the
        explicit formulation. The slip velocity is left out unless
        ``slipping``.
        """
        if not self.coordinates:
            return {}
        slip = self._slip if slipping else Vector(0)
        child, parent = self._pair.rates(self.relative_angular_velocity, slip)
        return dict(zip((x.diff() for x in self.coordinates),
                        (*child, *parent)))

    def contact_angle_rate(self) -> Expr:
        """Rate of the angle from the parent's first tangent to the child's."""
        if not self.coordinates or self._pair.child.dimension != 2:
            raise UnsupportedFeatureError(
                f"{self.name} has no contact angle: that is the angle "
                "between the charts of two surfaces. Choose the formulation "
                "'augmented' or 'kinematic'.")
        child, parent = self._rates()
        # The forms are taken with the outward normals, n1 = -n and n2 = n.
        turned = (self.child_geometry.connection_form()*Matrix(child)
                  + self.parent_geometry.connection_form()*Matrix(parent))
        return self.pivot_speed - turned[0]

    def _rates(self):
        if self.formulation == 'augmented':
            return (self.speeds[:self._split], self.speeds[self._split:])
        return self._pair.rates(self.relative_angular_velocity, self._slip)

    def trace_velocities(self) -> tuple[Vector, Vector]:
        """Velocities of the contact along the child and the parent."""
        if self.coordinates:
            child, parent = self._rates()
            return (combined(self._pair.child_tangents, child),
                    combined(self._pair.parent_tangents, parent))
        first = self._pair.trace_velocity(
            self.relative_angular_velocity, self._slip)
        return first, first + self._slip

    def trace_speeds(self) -> tuple[Expr, Expr]:
        """Speeds along both traces, which are equal in rolling, (23)."""
        return tuple(sqrt(dot(x, x)) for x in self.trace_velocities())

    def trace_tangents(self) -> tuple[Vector, Vector]:
        """Unit tangents of both traces; equal in rolling, (23)."""
        return tuple(x/s for x, s in zip(self.trace_velocities(),
                                         self.trace_speeds()))

    def geodesic_curvatures(self) -> tuple[Expr, Expr]:
        """Geodesic curvatures of both traces for the common normal; their
        difference is the pivot speed divided by the trace speed.
        """
        rates = self.contact_kinematics()
        result = []
        for w, geometry in zip(self.trace_velocities(),
                               (self.child_geometry, self.parent_geometry)):
            bend = dot(self.normal, cross(w, w.dt(geometry.frame)))
            if self.formulation == 'kinematic':
                bend = bend.subs(rates)
            elif self.speeds:
                bend = bend.subs({x.diff(): u for x, u in zip(
                    self.coordinates, self.speeds)})
            result.append(bend/sqrt(dot(w, w))**3)
        return tuple(result)
