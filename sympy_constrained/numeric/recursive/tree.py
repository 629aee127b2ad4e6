r"""Bodies, joints and loads of a mechanism, each in local axes.

The twist of a body, the angular velocity and the velocity of its mass centre,
is that of its parent, moved to it, plus that of its joint:

.. math::

   V_i = X_i V_{\lambda(i)} + V_{J i}, \qquad
   V_{J i} = S_i u_i + \sigma_i, \qquad
   \dot V_i = X_i \dot V_{\lambda(i)} + S_i\dot u_i + V_i\times V_{J i}
   + \mathring V_{J i}

with measure numbers in the axes of the body [1]_. Expressions of different
joints are never multiplied.

References
==========

.. [1] R. Featherstone, "Rigid Body Dynamics Algorithms," Springer (2008),
   equations (3.21), (3.39) and sections 4.1 to 4.4.

"""
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from sympy.physics.mechanics import RigidBody
from sympy.physics.vector import Point

from ... import _compat
from ...errors import located
from ...graph import read
from ...model.geometry import IDENTITY, ZERO, carried
from ...model.kinetics import measure_dyadic
from .local_kinematics import refused


# Relative difference of velocities at random numbers that is not rounding.
DIFFERENT = 1e-7
# A component of a vector below this part of it is rounding.
NOTHING = 1e-12


@dataclass
class Body:
    """A body with the joint that carries it; references in its axes.

    ``motion`` is the twist of the joint, ``columns`` its derivatives by the
    speeds of the joint, ``change`` its rate at ``u' = 0``. ``turn`` are the
    rows of ``R`` with ``v_body = R*v_parent``, ``arm`` is the place of the
    mass centre seen from that of the parent, in the axes of the parent.
    ``dependent`` maps speeds of other joints in ``motion`` to their share:
    what the joint moves with is ``u + share*other``. ``load`` are the moment
    about the mass centre and the force that are known in axes of the body.
    """

    name: str
    point: Any
    frame: Any
    mass: int = 0
    inertia: tuple = (ZERO,)*3
    parent: int = -1
    turn: tuple = IDENTITY
    arm: tuple = ZERO
    motion: tuple = (0,)*6
    change: tuple = (0,)*6
    columns: dict = field(default_factory=dict)
    dependent: dict = field(default_factory=dict)
    load: tuple = (0,)*6


def equal(a, b, unknown=True):
    """Whether vectors at random numbers are equal; ``unknown`` where nan."""
    return np.allclose(a, b, DIFFERENT, DIFFERENT, equal_nan=unknown)


class Tree:
    """The bodies in an order in which parents come first.

    ``fixed`` maps points to the bodies in which they are fixed, with their
    places there, ``by_carrier`` moving frames to a body that is fixed in them.
    """

    def __init__(self, kinematics, bodies):
        self.kinematics, self.builder = kinematics, kinematics.builder
        self.places, self.depth = {}, {None: 0}
        self.bodies = [self._read(body) for body in bodies]
        self._order()
        N = kinematics.frame
        self.ground = self._rigid({
            x: None for x in self.places if _compat.velocity(x, N) == 0}, N)
        self.fixed = {}
        for k, body in enumerate(self.bodies):
            for point, place in self._rigid(
                    {body.point: ZERO}, body.frame).items():
                self.fixed.setdefault(point, []).append((k, place))
        self.by_carrier = {N: -1}
        for k, body in enumerate(self.bodies):
            self.by_carrier.setdefault(kinematics.carrier(body.frame), k)
        self.owner = {}                 # speed -> body
        for k, body in enumerate(self.bodies):
            with located(f'Body {body.name}'):
                body.parent = self._parent(k)
                self._connect(k)
                self._share(k)
                if body.point in self.ground:
                    body.mass = 0
                if body.parent < 0 and not any(body.motion):
                    body.mass, body.inertia = 0, (ZERO,)*3
        self._check_speeds()
        self._find_motion()
        self._check_velocities()

    # -- reading ---------------------------------------------------------

    def _read(self, body):
        kinematics, point = self.kinematics, body.masscenter
        if _compat.acceleration(point, kinematics.frame) is not None or (
                isinstance(body, RigidBody) and _compat.angular_acceleration(
                    body.frame, kinematics.frame) is not None):
            raise refused(f"An acceleration was set for {body.name}.")
        self._place(point)
        mass = read(self.builder, body.mass)
        if not isinstance(body, RigidBody):
            return Body(body.name, point, self._frame_of(point), mass)
        inertia = (ZERO,)*3
        if body.central_inertia != 0:
            inertia = measure_dyadic(
                kinematics, body.central_inertia, body.frame)
        if any(map(kinematics.bias, (mass, *sum(inertia, ())))):
            raise refused(f"The mass or the inertia of {body.name} changes.")
        return Body(body.name, point, body.frame, mass, inertia)

    def _place(self, point):
        """Find the ways to the ground of all points near this one."""
        if point not in self.places:
            self.places[point] = None, ()
            self.places |= self.kinematics.position_parts(point)[1]
            for point, (before, _) in self.places.items():
                self.depth[point] = self.depth.get(before, 0) + 1

    def _frame_of(self, point):
        """The frame in which a particle is placed, as far as it has one."""
        depth = self.kinematics._depths(_compat.orientations)
        return max((frame for frame, _ in self.places[point][1]
                    if frame in depth), key=depth.get,
                   default=self.kinematics.frame)

    def _rigid(self, places, frame):
        """Points fixed in a frame to the given ones, with their places."""
        kinematics, found, queue = self.kinematics, dict(places), [*places]
        own = kinematics.carrier(frame)
        for here in queue:
            for there, vector in _compat.positions(here).items():
                if there in found:
                    continue
                parts = kinematics.parts(vector)
                if any(f not in kinematics.oriented
                       or kinematics.carrier(f) != own
                       or kinematics.moves(x) for f, x in parts):
                    continue
                found[there] = found[here] and tuple(map(
                    self.builder.sub, found[here],
                    kinematics.total(frame, parts)))
                queue.append(there)
        return found

    def _order(self):
        """Sort by the number of moving frames and vectors on the way."""
        kinematics = self.kinematics
        depth = {None: 0}
        for frame, parent in kinematics.oriented.items():
            depth[frame] = depth[parent] + (
                parent is not None
                and kinematics.moves(sum(kinematics._step(frame, parent), ())))
        steps = {}
        for point, (before, way) in self.places.items():
            steps[point] = steps.get(before, 0) + any(
                kinematics.carrier(f) != kinematics.frame
                or kinematics.moves(x) for f, x in way)
        rank = {k: (depth.get(body.frame, 0), steps[body.point], k)
                for k, body in enumerate(self.bodies)}
        order = sorted(rank, key=rank.get)
        self.bodies = [self.bodies[k] for k in order]

    # -- joints ----------------------------------------------------------

    def _parent(self, k):
        """The last body inwards by points, or (gyroscopes) by frames."""
        body, kinematics = self.bodies[k], self.kinematics
        carriers = [kinematics.carrier(x.frame) for x in self.bodies[:k]]
        above = {kinematics.carrier(x)
                 for x in kinematics.way_to(body.frame)} - {kinematics.frame}
        point = body.point
        while point is not None and point not in self.ground:
            near = [i for i, _ in self.fixed.get(point, ()) if i < k]
            if near:
                return max(near, key=lambda i: (carriers[i] in above, i))
            point = self.places[point][0]
        return max((i for i in range(k) if carriers[i] in above), default=-1)

    def _connect(self, k):
        """Turn, arm and motion of a body relative to its parent."""
        body, g, kinematics = self.bodies[k], self.builder, self.kinematics
        frame = body.frame
        if body.parent < 0:
            body.turn = kinematics.rotation(frame, kinematics.frame)
            w = kinematics.turning(kinematics.frame, frame)
            v = kinematics.velocity(body.point, frame)
            body.arm = kinematics.total(kinematics.frame, self.steps(
                body.point, None))
        else:
            parent = self.bodies[body.parent]
            body.turn = kinematics.rotation(frame, parent.frame)
            w = kinematics.turning(parent.frame, frame)
            steps = self.steps(body.point, parent.point)
            body.arm = v = ZERO
            for axes, numbers in steps:
                body.arm = g.added(body.arm, kinematics.rotated(
                    parent.frame, axes, numbers))
                rate = g.added(tuple(map(kinematics.bias, numbers)), g.cross(
                    kinematics.turning(parent.frame, axes), numbers))
                v = g.added(v, kinematics.rotated(frame, axes, rate))
        body.motion = (*w, *v)
        body.change = tuple(map(kinematics.bias, body.motion))
        turning, moving = kinematics.columns(w), kinematics.columns(v)
        body.columns = {k: turning.get(k, ZERO) + moving.get(k, ZERO)
                        for k in sorted({*turning, *moving})}
        if g.mask([*chain(*body.turn, *body.columns.values()), *body.arm]
                  ) & g.mask(kinematics.u):
            raise refused("A place depends on a speed, or a velocity is not "
                          "linear in the speeds.")

    def steps(self, end, start):
        """Frames and measure numbers of the vector between two points."""
        return self.kinematics.between_points(
            end, start, self.places, self.depth).items()

    def _share(self, k):
        """Give a body its speeds; find the share of those of others."""
        body, g = self.bodies[k], self.builder
        others = {j: body.columns.pop(j) for j in [*body.columns]
                  if j in self.owner}
        for j in body.columns:
            self.owner[j] = k
        if not others:
            return
        ancestors, i = set(), body.parent
        while i >= 0:
            ancestors.add(i)
            i = self.bodies[i].parent
        u = self.kinematics.speeds
        for j, column in others.items():
            share = None
            if self.owner[j] in ancestors and len(body.columns) == 1:
                own, = body.columns.values()
                at = max(range(6), key=lambda i: abs(g.shadow(own[i])))
                share = g.div(column[at], own[at])
                if not all(g.same_value(a, g.mul(share, b))
                           for a, b in zip(column, own)):
                    share = None
            if share is None:
                raise refused(
                    f"Speed {u[j]} moves {body.name} relative to the body "
                    "that carries it, and another body, too, so it belongs "
                    "to no joint.")
            body.dependent[j] = share

    # -- checks ----------------------------------------------------------

    def _check_speeds(self):
        u = self.kinematics.speeds
        idle = [str(x) for k, x in enumerate(u) if k not in self.owner]
        if idle:
            raise refused(f"No body moves with {', '.join(idle)}.")
        for body in self.bodies:
            if len(body.columns) > 6:
                raise refused(f"{body.name} has more than six speeds.")

    # -- motion at random numbers ----------------------------------------

    @np.errstate(invalid='ignore')
    def _find_motion(self):
        """Columns of axes in the inertial frame, and angular velocities."""
        kinematics = self.kinematics
        self.turns, changes = {kinematics.frame: np.eye(3)}, {}
        self.spins = {kinematics.frame: np.zeros(3)}
        self.velocities = {}
        for frame, parent in kinematics.oriented.items():
            if parent is not None:
                step, own = kinematics._step(parent, frame), self.turns[parent]
                R = np.array([*map(self._numbers, step)])
                size = np.cbrt(np.linalg.det(R))    # of a quaternion, squared
                self.turns[frame] = own @ R/size
                if abs(size - 1) < DIFFERENT:
                    changes[frame] = parent, own @ [self._numbers(
                        map(kinematics.bias, row)) for row in step]
        for frame, parent in kinematics.turning_frames.items():
            if parent is not None:
                self.spins[frame] = self.spins[parent] + self.summed(
                    kinematics.parts(_compat.angular_velocities(
                        frame)[parent]))
        for frame, (parent, change) in changes.items():
            if {frame, parent} <= {*self.spins} and not equal(
                    change.T, np.cross(self.spins[frame] - self.spins[parent],
                                       self.turns[frame].T)):
                raise refused(
                    f"The angular velocity that was set for {frame} is not "
                    "that of its orientation.")

    def _numbers(self, refs):
        return np.array([self.builder.shadow(x) for x in refs])

    def summed(self, parts):
        """A vector given as pairs of a frame and measure numbers."""
        return sum((self.turns[frame] @ self._numbers(x)
                    for frame, x in parts), np.zeros(3))

    def rate(self, parts):
        bias = self.kinematics.bias
        return sum((self.turns[f] @ self._numbers(map(bias, x)) + np.cross(
            self.spins[f], self.turns[f] @ self._numbers(x))
            for f, x in parts), np.zeros(3))

    def velocity(self, point):
        """Velocity of a point as it was set, or from the nearest such one."""
        kinematics = self.kinematics

        def further(point, before, value):
            if before is None:
                return self.summed(kinematics.parts(_compat.velocity(
                    point, kinematics.frame)))
            return value + self.rate(kinematics.parts(
                _compat.positions(point)[before]))

        return carried(self.velocities, point,
                       kinematics.way_of_velocity(point), further)

    def _check_velocities(self):
        """Compare velocities that were set with derivatives of positions."""
        found = []
        for body in self.bodies:
            other = v = self.velocity(body.point)
            if body.parent >= 0:
                v = found[body.parent] + self.rate(self.steps(
                    body.point, self.bodies[body.parent].point))
            found.append(v)
            if not equal(v, other):
                raise refused(
                    f"The velocity that was set for {body.point} is not the "
                    "derivative of its position.")
            self._forget_inertia(
                body, self.turns[body.frame].T @ self.spins[body.frame])

    def moves_with(self, body, location, place):
        v = spin = np.zeros(3)
        if body >= 0:
            body = self.bodies[body]
            spin = self.spins[body.frame]
            v = self.velocity(body.point) + np.cross(
                spin, self.summed([(body.frame, place)]))
        if isinstance(location, Point):
            return equal(self.velocity(location), v, unknown=False)
        return equal(self.spins[location], spin, unknown=False)

    def _forget_inertia(self, body, w):
        """Drop what has no effect, as the body never turns that way."""
        turns = ~(np.abs(w) <= NOTHING*np.abs(w).max())     # or unknown
        body.inertia = tuple(
            tuple(x if turns[i] and turns[j] else 0
                  for j, x in enumerate(row))
            for i, row in enumerate(body.inertia))

    # -- places and axes -------------------------------------------------

    def body_of(self, location):
        """Body and place of a point or frame; -1 on the ground."""
        if isinstance(location, Point):
            if location in self.ground:
                return -1, ZERO
            found = self.fixed.get(location)
            if not found:
                raise refused(f"Point {location} is fixed in no body.")
            return found[0]
        carrier = self.kinematics.carrier(location)
        if carrier == self.kinematics.frame:
            return -1, ZERO
        if carrier not in self.by_carrier:
            raise refused(f"Frame {location} is fixed in no body.")
        return self.by_carrier[carrier], ZERO
