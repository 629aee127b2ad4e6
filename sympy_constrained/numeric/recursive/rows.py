"""Loads and constraint rows of a tree."""
from contextlib import suppress
from typing import NamedTuple

from sympy.physics.vector import Point

from ...errors import UnsupportedFeatureError
from ...graph import gradient, read
from ...model.build import constrained, rows_given
from ...model.constraint_rows import rows_by_level
from ...model.geometry import ZERO
from ...model.loads import parse_loads
from ...model.loops import Loop, perpendicular, single_frame
from ...model.system import names_of_rows
from .local_kinematics import refused


# A gap of a loop below this, at random numbers, vanishes identically.
NOTHING = 1e-13


class Row(NamedTuple):
    """A constraint row: of a loop (kinds 0 to 3), or of any other (4).

    ``refs`` are the places of two points in their ``bodies``, or directions
    there, or ``b``, entries of ``A`` at the numbers ``speeds``, and residuals
    from the highest level. If there are no ``speeds``, since the kinematics
    alone keep the row, as the norm of a quaternion, then follow the entries of
    its gradient by the ``coordinates``.
    """

    kind: int
    label: str
    refs: list
    bodies: tuple = ()
    speeds: tuple | None = None
    coordinates: tuple = ()

    @property
    def levels(self):
        """The number of its residuals: of accelerations, speeds, places."""
        return 3 if self.speeds is None else (
            len(self.refs) - len(self.speeds) - len(self.coordinates))


def loads_of(tree, loads):
    """Add loads to bodies, in their axes; return those in inertial axes, and
    forces.

    Forces are generalized ones, by speed, of loads at points and frames that
    do not move with a body, such as the point of a wheel that touches.
    """
    g, found, forces = tree.builder, [], {}
    for location, vector in parse_loads(loads):
        try:
            local = [*local_loads(tree, location, vector)]
        except UnsupportedFeatureError:
            add_force(tree.kinematics, forces, location, vector)
            continue
        for body, is_inertial, place, force, torque in local:
            if is_inertial:
                found.append((body, place, force, torque))
            else:
                own = tree.bodies[body]
                torque = g.added(torque, g.cross(place, force))
                own.load = tuple(map(g.add, own.load, (*torque, *force)))
    return found, forces


def local_loads(tree, location, vector):
    """Yield body, whether inertial axes are used, place, force, torque."""
    body, place = tree.body_of(location)
    kinematics, is_force = tree.kinematics, isinstance(location, Point)
    if not tree.moves_with(body, location, place):
        raise refused(f"{location} does not move with a body.")
    for frame, numbers in kinematics.parts(vector):
        if body < 0:                    # but its constants are known
            continue
        is_inertial = kinematics.carrier(frame) == kinematics.frame
        numbers = kinematics.rotated(
            kinematics.frame if is_inertial else tree.bodies[body].frame,
            frame, numbers)
        yield body, is_inertial, place, *(
            (numbers, ZERO) if is_force else (ZERO, numbers))


def add_force(kinematics, forces, location, vector):
    """Add the generalized force of a load by its partial velocities."""
    g, N = kinematics.builder, kinematics.frame
    motion = (kinematics.velocity if isinstance(location, Point)
              else kinematics.angular_velocity)(location, N)
    load = kinematics.measure(vector, N)
    for k, column in kinematics.columns(motion).items():
        forces[k] = g.add(forces.get(k, 0), g.dot(column, load))


def forces_of(kinematics, potential, generalized, forces):
    """Add the forces of a potential, a reference, and generalized ones."""
    g = kinematics.builder
    slopes = gradient(g, potential, kinematics.q) if potential else ()
    for slope, rate in zip(slopes, kinematics.rates):
        for k, x in enumerate(kinematics.by_speed if slope else ()):
            forces[k] = g.sub(forces.get(k, 0), g.mul(slope, x(rate)))
    for k, force in enumerate(generalized):
        forces[k] = g.add(forces.get(k, 0), read(g, force))


def rows_of(tree, arguments, stabilization=None):
    """The constraint rows, and residuals as references."""
    given = rows_given(arguments)
    loops = [row for row in given['holonomic'] if isinstance(row, Loop)]
    if len(loops) == sum(map(len, given.values())) and stabilization is None:
        with suppress(UnsupportedFeatureError):     # not fixed in bodies
            return [row for loop in loops for row in loop_rows(tree, loop)]
    blocks, fields = constrained(
        tree.kinematics, rows_by_level(tree.kinematics, given, 'kane'),
        stabilization)
    residuals = [[] for _ in blocks['A']]
    for level in 'velocity', 'holonomic':
        for found, row in zip(residuals, blocks[level]):
            found += row
    gradients = [*blocks['holonomic_jacobian'], *[()]*len(blocks['A'])]
    return [other_row(*parts) for parts in zip(
        names_of_rows(fields), blocks['A'], blocks['b'], residuals,
        gradients)]


def other_row(name, row, b, residuals, gradient):
    """A row that is not of a loop."""
    speeds = tuple(k for k, x in enumerate(row) if x)
    coordinates = () if speeds else tuple(
        k for k, x in enumerate(gradient) if x)
    return Row(4, name, [
        *b, *filter(None, row), *residuals,
        *(gradient[k] for k in coordinates)],
        speeds=speeds, coordinates=coordinates)


def loop_rows(tree, loop):
    """The rows of a loop that do not vanish identically."""
    (one, place), (other, there) = (place_of(tree, x) for x in loop[:2])
    gap = tree.summed(tree.steps(loop.point_a, loop.point_b))
    for k in range(3):
        if not abs(gap[k]) <= NOTHING:      # or unknown
            yield Row(k, f"{loop.label} {'xyz'[k]}",
                      [*place, *there], (one, other))
    if loop.axis is None:
        return
    axis, other = loop.axis
    (body, _), (last, two) = fixed(tree, axis), fixed(tree, other)
    direction = tree.summed(tree.kinematics.parts(other))
    for number, across in enumerate(perpendicular(
            axis, single_frame(axis)), 1):
        if not abs(direction @ tree.summed(
                tree.kinematics.parts(across))) <= NOTHING:
            yield Row(3, f'{loop.label} axis {number}',
                      [*fixed(tree, across)[1], *two], (body, last))


def place_of(tree, point):
    """The body of a point, and its place there or, on the ground, in space."""
    body, place = tree.body_of(point)
    return body, place if body >= 0 else tree.kinematics.total(
        tree.kinematics.frame, tree.steps(point, None))


def fixed(tree, vector):
    """The body in which a vector is fixed, and the vector in its axes."""
    body, _ = tree.body_of(single_frame(vector))
    frame = tree.bodies[body].frame if body >= 0 else tree.kinematics.frame
    numbers = tree.kinematics.measure(vector, frame)
    if tree.kinematics.moves(numbers):
        raise refused(f"The axis {vector} is fixed in no body.")
    return body, numbers
