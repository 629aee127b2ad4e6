"""Reactions as loads and vectors, for every method."""

from sympy.physics.mechanics import Force, Torque
from sympy.physics.vector import Point

from ..errors import warn
from ..model.call_signatures import as_list
from .joint_reactions import joint_reactions


class Reactions:
    """Loads of constraint rows and reactions of joints."""

    # The joints of the System from which the method was made.
    _joints = ()

    def _check_reactions(self):
        """Raise if reactions are not in the directions of the rows."""

    def constraint_loads(self):
        """Reaction loads of the rows that were given geometrically.

        Explanation
        ===========

        A row may be given as ``(point, direction)`` or ``(frame, direction)``,
        which restricts the velocity of the point or the angular velocity of
        the frame, among the acceleration constraints their rates. The other
        point or frame follows if it moves, too, then the value if that is not
        zero: ``(v_P - v_O) . n = value``. A holonomic row is ``(point,
        direction, other point)``, with the distance in that direction as a
        fourth entry. The reaction is the force ``lam*n`` at the point, or the
        torque ``lam*n`` on the frame, and its opposite on the other one. A
        direction of a distance that turns has a torque on its frame. A warning
        names the rows that were given as expressions.

        Returns
        =======

        list of Force and Torque
        """
        self._check_reactions()
        located = dict(self._system.geometry)
        others = [name for k, name in enumerate(self._system.constraint_names)
                  if k not in located]
        if others:
            warn(f"No loads are known of {', '.join(others)}: an expression "
                 "has no place and no direction. Give the row as "
                 "`(point, direction)` or `(frame, direction)`, or read "
                 "`constraint_forces`.")
        return [(Force if isinstance(location, Point) else Torque)(
                    location, self.multipliers[k]*direction)
                for k, loads in located.items()
                for location, direction in loads]

    def joint_reactions(self, joints=None, rows=(), frame=None,
                        constants=None):
        """Force and moment of every joint, and of rows that have a place.

        Explanation
        ===========

        They are what the joint transmits: springs, motors and other loads
        between its bodies are not in it. See
        :mod:`~sympy_constrained.methods.joint_reactions`.

        Examples
        ========

        The pin of a pendulum, in the axes of its rod:

        >>> from sympy import symbols
        >>> from sympy.physics.mechanics import PinJoint, RigidBody, System
        >>> from sympy_constrained import UdwadiaKalabaMethod
        >>> m, g, l = symbols('m g l')
        >>> ground, rod = RigidBody('ground'), RigidBody('rod', mass=m)
        >>> system = System.from_newtonian(ground)
        >>> system.add_joints(PinJoint(
        ...     'pin', ground, rod, child_point=l*rod.y,
        ...     joint_axis=ground.z))
        >>> system.apply_uniform_gravity(-g*ground.y)
        >>> method = UdwadiaKalabaMethod.from_method(system)
        >>> pin = method.joint_reactions(frame=rod.frame)['pin']
        >>> pin.force.dot(rod.y)
        g*m*cos(q_pin(t)) + l*m*u_pin(t)**2

        Parameters
        ==========

        joints : System or iterable, optional
            Joints of SymPy, or ``(name, parent, child, point)`` for joints
            that are in the kinematics without an object; the ground is None.
            By default those of the System from which the method was made.
            All joints between moving bodies are needed. A body without one
            counts to the nearest body in which it is fixed, at the point of a
            joint to its child; what no speed moves counts to the ground.
        rows : iterable of tuples
            Where rows act that were given as expressions: ``(point,
            direction, other point)`` or ``(frame, direction, other frame)``,
            whose relative velocity the row, or the rate of a holonomic one,
            restricts; without a third entry that of the ground.
        frame : ReferenceFrame, optional
            The axes of numbers, by default the inertial ones.
        constants : mapping, optional
            Symbol -> value of constants that the equations of motion do not
            contain, such as a weight that a joint carries. Along a motion
            those that they contain have the values of the motion.

        Returns
        =======

        JointReactions

        Raises
        ======

        ConstraintError
            If it is not known where a row acts.
        UnsupportedFeatureError
            If forces of the model have no place, such as a potential energy.
        """
        self._check_reactions()
        joints = self._joints if joints is None else joints
        return joint_reactions(
            self, as_list(getattr(joints, 'joints', joints), 'joints'), rows,
            frame, constants)
