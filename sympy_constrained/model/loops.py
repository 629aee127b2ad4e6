"""Kinematic loops, closed on the graph.

The position of one point relative to another one and the product of two
directions are sums and products along the mechanism. SymPy's ``pos_from`` and
``dot`` multiply them out; here each step is a few operations.
"""
from typing import NamedTuple

from sympy import Matrix
from sympy.physics.vector import Point, Vector

from ..errors import ConstraintError
from ..graph.writing import nested


class Loop(NamedTuple):
    """The closure of a kinematic loop: two points that stay together.

    Explanation
    ===========

    A loop is an entry of ``configuration_constraints`` or ``hol_coneqs``. It
    stands for three rows, the components in inertial axes of the vector from
    ``point_b`` to ``point_a``, and with an ``axis`` for two more, which keep
    the two directions of the axis together. Rows that vanish identically,
    as those out of the plane of a planar mechanism, are left out. The rows
    have a place, so joint reactions and constraint loads know them: the
    reaction of the loop is the force and the moment on the body of
    ``point_a``, at this point.

    Cut a mechanism at a joint, describe the tree that is left, and give the
    joint as a loop. Nothing else is needed: no velocity of the end, and no
    velocity row.

    Examples
    ========

    A double pendulum whose end is held at a distance ``d``:

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import PinJoint, RigidBody, System
    >>> from sympy_constrained import Loop, UdwadiaKalabaMethod
    >>> d, l, m = symbols('d l m')
    >>> ground, one, two = (RigidBody(x, mass=m) for x in 'abc')
    >>> system = System.from_newtonian(ground)
    >>> system.add_joints(
    ...     PinJoint('p', ground, one, child_point=-l*one.x,
    ...              joint_axis=ground.z),
    ...     PinJoint('q', one, two, parent_point=l*one.x,
    ...              child_point=-l*two.x, joint_axis=one.z))
    >>> end = two.masscenter.locatenew('end', l*two.x)
    >>> pin = ground.masscenter.locatenew('pin', d*ground.x)
    >>> method = UdwadiaKalabaMethod.from_method(
    ...     system, loops=[Loop(end, pin, name='closing pin')])
    >>> method.system.constraint_names
    ('closing pin x', 'closing pin y')
    >>> method.joint_reactions()['closing pin']
    <JointReaction closing pin on c at end>

    Parameters
    ==========

    point_a, point_b : Point
        Points of the two bodies that the joint connects, each with a position
        relative to the other one.
    axis : pair of Vector, optional
        For a pin: its axis as a vector fixed in the body of ``point_a`` and
        as one fixed in the body of ``point_b``. Without it the joint is a
        ball.
    name : str, optional
        The name of the loop in reactions, legends and messages; by default
        that of its points.

    """

    point_a: Point
    point_b: Point
    axis: tuple[Vector, Vector] | None = None
    name: str | None = None

    @property
    def label(self):
        """The given name, or that of the points."""
        return self.name or f'{self.point_a}-{self.point_b}'


def closing_rows(kinematics, loop):
    """Residuals of a loop, each with a label, places and directions."""
    for point in loop.point_a, loop.point_b:
        if not isinstance(point, Point):
            raise TypeError(
                f"A `Loop` has a {type(point).__name__} in place of a Point. "
                "Pass a point of each body, such as its `masscenter`.")
    if isinstance(loop.axis, Vector):
        raise TypeError(
            f"`axis` of the loop {loop.label} is one Vector. Pass two, the "
            "axis of the pin as fixed in each body.")
    g, N = kinematics.builder, kinematics.frame
    gap = kinematics.offset(loop.point_b, loop.point_a, N)
    for x, direction, label in zip(gap, N, 'xyz'):
        if x:
            yield x, label, (
                (loop.point_a, direction), (loop.point_b, -direction))
    if loop.axis is None:
        return
    one, other = map(single_frame, loop.axis)
    axis = kinematics.measure(loop.axis[1], N)
    for k, across in enumerate(perpendicular(loop.axis[0], one)):
        across = kinematics.measure(across, N)
        x = g.dot(across, axis)
        if x:
            # Not `-torque`: SymPy compares nested sums for a time that
            # grows exponentially with the length of the loop.
            yield x, f'axis {k + 1}', tuple(
                (frame, Vector([(Matrix(nested(g, g.cross(*pair))), N)]))
                for frame, pair in ((one, (across, axis)),
                                    (other, (axis, across))))


def single_frame(axis):
    if len(getattr(axis, 'args', ())) != 1:
        raise ConstraintError(
            f"The `axis` of a loop has the entry {axis!r}. Give a pair of "
            "vectors, each written in the frame of the body in which it is "
            "fixed.")
    return axis.args[0][1]


def perpendicular(axis, frame):
    """Two vectors across an axis, in its frame.

    They stay independent where components of the axis vanish, if one
    component is known to be zero or not to be zero.
    """
    numbers, units = axis.args[0][0], list(frame)
    sure = [i for i, x in enumerate(numbers) if x.is_nonzero]
    across = [unit for unit, x in zip(units, numbers) if x == 0]
    if across and not sure:
        return [across[0], axis.cross(across[0])]
    units.pop(*sure[:1] or [
        next(i for i, x in enumerate(numbers) if x != 0)])
    return [axis.cross(unit) for unit in units]
