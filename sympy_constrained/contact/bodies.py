"""Checks of two bodies with their geometries, and their velocities."""
from sympy.physics.mechanics import RigidBody, dynamicsymbols

from .. import _compat
from ..errors import ConstraintError, KinematicsError
from ..model.geometry import breadth_first
from .geometry import ContactGeometryBase


def check_attached(side, body, geometry):
    """Raise unless a geometry is fixed in a body with a frame."""
    if not isinstance(geometry, ContactGeometryBase):
        raise TypeError(f"`{side}_geometry` is {geometry!r}. Give a surface, "
                        "a curve or a vertex.")
    if not isinstance(body, RigidBody):
        raise ConstraintError(
            f"`{side}` is {body!r}, which has no body frame in which "
            f"{geometry!r} could be fixed. Give a RigidBody; a particle is "
            "one without inertia, with any frame.")
    try:
        turned = geometry.frame.dcm(body.frame)
        place = geometry.point.pos_from(body.masscenter).to_matrix(body.frame)
    except ValueError:
        raise ConstraintError(
            f"`{side}_geometry` is not connected to {body.name}: its frame "
            f"{geometry.frame} must be oriented in {body.frame}, and its "
            f"point {geometry.point} located from the mass centre.") from None
    if turned.has(dynamicsymbols._t) or place.has(dynamicsymbols._t):
        raise ConstraintError(
            f"`{side}_geometry` moves relative to {body.name}. Its frame "
            "must have a constant orientation in the frame of the body, and "
            "its point a constant place: a wheel's rim turns with the wheel.")


def check_pair(parent, child):
    dimensions = parent.dimension, child.dimension
    if parent.dimension == 2 or dimensions == (1, 1):
        return
    if child.dimension == 2:
        raise ConstraintError(
            "The parent has an edge or a vertex and the child a surface. "
            "Exchange parent and child: the normal is that of the parent, "
            "which may move, and the child may be the ground.")
    raise ConstraintError(
        "A vertex meets an edge or a vertex without a normal, so this is not "
        "a contact. For a bead on a wire give two holonomic rows, or none and "
        "locate the bead with `locate(name, s)` of the wire, where s is its "
        "coordinate; for two vertices take a ball joint.")


def check_connected(parent, child):
    try:
        child.point.pos_from(parent.point)
    except ValueError:
        raise KinematicsError(
            f"The points {child.point} and {parent.point} of the two "
            "geometries are not connected. Locate the bodies from a common "
            "point.") from None


def centre_velocity(body, frame):
    """Velocity of the mass centre, stored there as ``Point.vel`` does."""
    # Else from a point at rest: ``Point.vel`` might use the other body.
    centre = body.masscenter
    velocity = _compat.velocity(centre, frame)
    if velocity is not None:
        return velocity
    at_rest = next((x for x, _ in breadth_first([centre], _compat.positions)
                    if _compat.velocity(x, frame) == 0), None)
    if at_rest is None:
        raise KinematicsError(
            f"The velocity of {body.name} in {frame} is not known. Set that "
            "of its mass centre, which is zero for the ground, or locate it "
            f"from a point whose velocity is zero. If {frame} is not the "
            "inertial frame, pass that as `frame` of the contact.")
    velocity = centre.pos_from(at_rest).dt(frame)
    centre.set_vel(frame, velocity)
    return velocity
