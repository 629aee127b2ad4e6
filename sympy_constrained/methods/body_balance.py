"""Newton's and Euler's laws of bodies that joints connect, on the graph."""
from typing import Any, NamedTuple

from sympy.physics.mechanics import RigidBody
from sympy.physics.vector import Point

from .. import _compat
from ..analysis.zero_tests import counterexample
from ..errors import (
    ConstraintError, KinematicsError, UnsupportedFeatureError)
from ..graph import gradient, read
from ..model.build import kinematics_of
from ..model.call_signatures import check_frame
from ..model.constraint_rows import geometric_row
from ..model.kinetics import (
    Applied, Assembly, axes_of_body, measure_dyadic, rotation, times,
    translation)
from ..model.loads import motion_of, parse_loads
from .null_space import least_multipliers
from .references import frozen

ZERO = 0, 0, 0


class Connection(NamedTuple):
    """A joint that is in the kinematics without an object of SymPy.

    ``parent`` and ``child`` are bodies, or None for the ground. The reaction
    is reduced to the Point ``child_point``.
    """

    name: str
    parent: Any
    child: Any
    child_point: Point


def connection(joint):
    """A joint of SymPy unchanged, or a tuple as a :class:`Connection`."""
    if hasattr(joint, 'child_point'):
        return joint
    _, parent, child, point = joint if isinstance(joint, (tuple, list)) and (
        len(joint) == 4) else [None]*4
    if not isinstance(point, Point) or not all(
            body is None or hasattr(body, 'masscenter')
            for body in (parent, child)):
        raise TypeError(
            f"`joints` has {joint!r}. Give joints of SymPy, or tuples (name, "
            "parent, child, point).")
    return Connection(*joint)


class Balance:
    """Newton's and Euler's laws on one graph, measured in a frame ``axes``."""

    def __init__(self, method, axes):
        system = method.system
        if axes is not None:
            check_frame(axes, 'Give a ReferenceFrame.')
        self.method, self.system, self.axes = method, system, axes or (
            system.frame)
        self.kinematics = kinematics_of(system, method=method)
        self.g = self.kinematics.builder
        _, self.out = system.graph.load(self.g, ('M', 'Q', 'C', 'A', 'energy'))
        self.rates = self.kinematics.declare_accelerations()
        self.loads = parse_loads(system.loads)
        self.doubled = 0                # kinetic energy
        self.inertia = {body: self._inertia(body) for body in system.bodies}

    def agree(self, *pairs):
        """Whether references are equal where the constraints hold."""
        # a quaternion turns vectors only where its norm is one
        gaps = [self.g.sub(x, y) for x, y in pairs
                if not self.g.same_value(x, y)]
        return not gaps or not counterexample(
            self.system, frozen(self.g, gaps=gaps), 'gaps',
            self.method._sample, self.method._ranks.points)

    def scaled(self, factor, vector):
        """A reference times a SymPy vector, measured."""
        return self.g.scaled(factor, self.kinematics.measure(
            vector, self.axes))

    def _inertia(self, body):
        """``m*a`` and the rate of the central angular momentum."""
        g, kinematics = self.g, self.kinematics
        assembly, none = Assembly(kinematics), Applied(kinematics)
        axes = axes_of_body(kinematics, body)._replace(
            linear=self.axes, angular=self.axes)
        mass, rate, momentum = read(g, body.mass), ZERO, ZERO
        v, bias = translation(assembly, body, mass, axes, none, False)
        rate = self._with_rates(bias, v, lambda x: g.scaled(mass, x))
        if isinstance(body, RigidBody) and body.central_inertia != 0:
            inertia = measure_dyadic(
                kinematics, body.central_inertia, axes.inertia)
            w, bias = rotation(assembly, body, inertia, axes, none, False)
            inertia = kinematics.rotated_matrix(
                self.axes, axes.inertia, inertia)
            momentum = self._with_rates(
                bias, w, lambda x: times(g, inertia, x))
        self.doubled = g.add(self.doubled, assembly.doubled)
        return rate, momentum

    def _with_rates(self, bias, motion, momentum):
        """``-bias``, and ``u'`` times the momenta of partial velocities."""
        g, total = self.g, self.g.scaled(-1, bias)
        for k, column in self.kinematics.columns(motion).items():
            total = g.added(total, g.scaled(self.rates[k], momentum(column)))
        return total

    def forces(self):
        return [self.g.sub(self.g.dot(row, self.rates), x)
                for row, (x,) in zip(self.out['M'], self.out['Q'])]

    def multipliers(self, rows):
        """``lam`` of ``A^T*lam = M*u' - Q``, of least norm."""
        g, A = self.g, self.out['A']
        if self.system.higher_rows:
            raise UnsupportedFeatureError(
                "The forces of constraints of a higher order, or nonlinear in "
                "the accelerations, have no directions in space, so that "
                "joint reactions beside them are not known. Read "
                "`constraint_forces`.")
        return least_multipliers(g, A, rows, self.forces())

    def located_rows(self, candidates):
        """Row number -> pairs (where, direction)."""
        places = dict(self.system.geometry)
        for i, row in enumerate(candidates):
            label = f'Entry {i} of `rows`'
            ref, loads = geometric_row(self.kinematics, row, label)
            slopes = gradient(self.g, ref, self.kinematics.u)
            k, sign = next(((k, sign) for k, other in enumerate(
                self.out['A']) for sign in (1, -1) if self.agree(*(
                    (x, sign*y) for x, y in zip(slopes, other)))), (None, 0))
            if not sign:
                raise ConstraintError(
                    f"{label} is {row!r}, and no constraint row restricts "
                    "this velocity or its opposite. Write it as the row is "
                    "written.")
            places.setdefault(k, tuple((where, sign*n) for where, n in loads))
        return places

    def check_loads(self):
        """Raise if forces are in the equations that are not loads."""
        g, kinematics = self.g, self.kinematics
        work = [0]*len(self.system.u)

        def add(sign, location, force):
            motion = motion_of(kinematics, location, self.axes)
            for k, column in kinematics.columns(motion).items():
                work[k] = g.add(work[k], sign*g.dot(column, force))

        for body, (rate, momentum) in self.inertia.items():
            add(1, body.masscenter, rate)
            if any(momentum):
                add(1, body.frame, momentum)
        for location, vector in self.loads:
            add(-1, location, self.scaled(1, vector))
        energy = self.out['energy'][0][0]   # a weight may do no work
        if not self.agree((g.add(energy, energy), self.doubled), *(
                (x, g.sub(force, other)) for x, force, (other,)
                in zip(work, self.forces(), self.out['C']))):
            raise UnsupportedFeatureError(
                "The equations contain forces that are not loads at points or "
                "frames, such as a potential energy or generalized forces, "
                "and on which body they act is not known. Give them as loads "
                "for joint reactions.")


class Tree:
    """Bodies and joints from the ground outwards; what rests is None."""

    def __init__(self, balance, joints):
        self.balance, self.kinematics = balance, balance.kinematics
        self.joints = list(map(connection, joints))
        frame, velocity = self.kinematics.frame, self.kinematics.velocity
        self.bodies = {
            body: None if getattr(body, 'frame', None) == frame and not any(
                velocity(body.masscenter, frame)) else body
            for body in balance.system.bodies}
        self.home = {}
        for joint in self.joints:
            self.home[joint.child_point] = self.node(joint.child)
            if hasattr(joint, 'parent_point'):
                self.home[joint.parent_point] = self.node(joint.parent)
        self._attach()
        for body, node in self.bodies.items():
            self.home[body.masscenter] = node
            self.home[getattr(body, 'frame', body)] = node
        self.home[frame] = None
        self.outer, self.beyond = {}, {}    # joint -> body, its joints
        self._grow()

    def node(self, body):
        """The body with this mass centre and frame; None for the ground."""
        return next((node for other, node in self.bodies.items()
                     if body and place(other) == place(body)), None)

    def _attach(self):
        """Count bodies without a joint to those in which they are fixed."""
        joined = dict.fromkeys(
            self.node(body) for joint in self.joints
            for body in (joint.parent, joint.child) if self.node(body))
        for body, node in self.bodies.items():
            if node and node not in joined:
                near = dict.fromkeys(map(self.home.get, self.kinematics._tree(
                    body.masscenter, _compat.positions)))
                is_moved = self._speeds([body])     # else it is of the ground
                self.bodies[body] = next((other for other in near if (
                    other in joined and (is_moved or not self._speeds([other]))
                    and all(self._moves_with(other, x)
                            for x in place(body) if x))), body)

    def _speeds(self, bodies):
        """Numbers of the speeds that move some of these bodies."""
        return {k for body in bodies if body for x in place(body) if x
                for k in self.kinematics.columns(motion_of(
                    self.kinematics, x, self.balance.axes))}

    def _grow(self):
        children, parts = [self.node(joint.child) for joint in self.joints], []
        for root in sorted((None, *self.bodies.values()), key=lambda x: (
                x is not None and x in children)):
            queue = [] if root in self.beyond else [root]
            for body in queue:
                self.beyond[body] = []
                for joint in self.joints:
                    ends = self.node(joint.parent), self.node(joint.child)
                    if body in ends and joint not in self.outer:
                        self._add(joint, body, ends[ends[0] is body], queue)
            parts.append(queue)
        self._check_parts(parts)

    def _check_parts(self, parts):
        """Raise if parts that no joint connects move with each other."""
        seen = []
        for part in parts:
            speeds = self._speeds(part)
            for other, common in seen:
                if speeds & common and len(part) + len(other) > 2:
                    raise KinematicsError(
                        f"{part[-1].name} moves with {other[-1].name}, and no "
                        "joints connect them, so that weight and inertia "
                        "would be missing. Give all joints of the mechanism, "
                        "and a tuple of a joint for bodies that move freely "
                        "relative to each other.")
            seen.append((part, speeds))

    def _add(self, joint, body, other, queue):
        if other in queue:
            raise KinematicsError(
                f"The joint {joint.name} closes a loop of joints, or "
                "connects bodies at rest, so that its reaction is not "
                "determined. Leave the joint out, and give rows for it.")
        self.outer[joint] = other
        self.beyond[body].append(joint)
        queue.append(other)

    def carrier(self, location):
        """The nearest body that moves with a load; None for the ground."""
        bodies = [x for x in self.bodies if location in place(x)]
        if location != self.kinematics.frame and len(
                {*map(self.node, bodies)}) > 1:
            raise KinematicsError(
                f"A load acts at {location}, which "
                f"{', '.join(x.name for x in bodies)} share, so it is not "
                "known on which. Give each of them a mass centre and a frame "
                "of its own.")
        if location in self.home:
            return self.home[location]
        if isinstance(location, Point) and not any(self.kinematics.velocity(
                location, self.kinematics.frame)):
            return self._resting(location)
        return self._nearest(location)

    def _resting(self, location):
        """The ground, or a body at rest that is nearer in SymPy's tree."""
        near = [x for x in self.kinematics._tree(
            location, _compat.positions) if x in self.home]
        if near and location.pos_from(near[0]) == 0:
            return self.home[near[0]]
        nodes = [self.home[x] for x in near]
        if None not in nodes and not any(
                self.home.get(frame)
                or any(self.kinematics.angular_velocity(frame, frame))
                for x in near[:1] for _, frame in location.pos_from(x).args):
            return None                 # it does not lie in axes of a body
        return next((node for node in nodes if node is None
                     or self._moves_with(node, location)), None)

    def name_of(self, location):
        """Name of the body on which a reaction acts, for a text."""
        try:
            body = self.carrier(location)
        except KinematicsError:
            return f'{location}'
        return body.name if body else 'the ground'

    def _nearest(self, location):
        edges = _compat.positions if isinstance(location, Point) else (
            _compat.orientations)
        for near in self.kinematics._tree(location, edges):
            if near in self.home and self._moves_with(
                    self.home[near], location):
                return self.home[near]
        raise KinematicsError(
            f"No body moves with {location}, so it is not known on which "
            "body the load there acts. Let it act at a point or frame that "
            "is fixed in a body.")

    def _moves_with(self, body, location):
        g, axes = self.balance.g, self.balance.axes
        kinematics = self.kinematics
        motion = motion_of(kinematics, location, axes)
        w = kinematics.angular_velocity(body.frame, axes) if isinstance(
            body, RigidBody) else ZERO
        if isinstance(location, Point) and body:
            w = g.added(
                kinematics.velocity(body.masscenter, axes),
                g.cross(w, kinematics.offset(body.masscenter, location, axes)))
        gap = g.added(motion, g.scaled(-1, w))  # zero without rows, too
        return self.balance.agree(*(
            (x, 0) for part in (gap, *kinematics.columns(gap).values())
            for x in part))

    def reactions(self, reactions):
        """Name -> force and moment on the child.

        ``reactions`` of rows are pairs of where they act and numbers.
        """
        g, wrenches = self.balance.g, {}
        for body, (rate, momentum) in self.balance.inertia.items():
            wrenches.setdefault(self.node(body), []).append(
                (body.masscenter, rate, momentum))
        loads = [(location, self.balance.scaled(1, vector))
                 for location, vector in self.balance.loads]
        for location, vector in (*loads, *reactions):
            vector = g.scaled(-1, vector)
            wrenches.setdefault(self.carrier(location), []).append(
                (location, vector, ZERO) if isinstance(location, Point)
                else (None, ZERO, vector))
        wrench = {}
        for joint in reversed(self.outer):      # the outer ones first
            body = self.outer[joint]
            wrench[joint] = self._reduced(joint.child_point, [
                *wrenches.get(body, ()), *(
                    (other.child_point, *wrench[other])
                    for other in self.beyond[body])])
        return {joint.name: g.scaled(
            1 if self.outer[joint] is self.node(joint.child) else -1,
            sum(wrench[joint], ())) for joint in self.joints}

    def _reduced(self, point, wrenches):
        g, force, moment = self.balance.g, ZERO, ZERO
        for where, f, m in wrenches:
            force, moment = g.added(force, f), g.added(moment, m)
            if any(f):
                arm = self.kinematics.offset(point, where, self.balance.axes)
                moment = g.added(moment, g.cross(arm, f))
        return force, moment


def place(body):
    """Mass centre and frame, which copies of a body share."""
    return body.masscenter, getattr(body, 'frame', None)
