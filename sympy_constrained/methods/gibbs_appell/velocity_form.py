"""The model in the derivatives of its coordinates."""
from ... import _compat
from ...errors import UnsupportedFeatureError
from ...graph import (
    Derivation, GraphMatrix, derivative, gradient, jacobian, read,
    substitute)
from ...graph.linalg import solve
from ...model.build import kinematics_of
from ...model.geometry import remembered
from ...model.kinematics import Kinematics
from ...model.kinetics import from_bodies
from ...model.loads import parse_loads
from ...model.variable_mass import BodyMotion, reactive_forces
from ..references import flat, frozen, inputs


class VelocityKinematics(Kinematics):
    """Kinematics whose speeds are the ``q'``.

    A velocity in ``strange`` speeds, those that the ``q'`` do not determine,
    is computed from positions instead, an angular velocity from orientations.
    """

    strange = ()

    @classmethod
    def of(cls, system, anchors):
        own = kinematics_of(system, None, False)
        g, time = own.builder, system.t
        velocities = [derivative(x, time) for x in system.q]
        for x in velocities:
            g.bound.pop(x, None)
        refs = inputs(g, velocities)
        strange = bind_speeds(g, own, system.u, refs)
        kinematics = cls(g, system.frame, system.q, velocities, refs, anchors)
        kinematics.strange = strange
        kinematics.declare_accelerations()
        return kinematics

    def _is_own(self, vector):
        return not any(self.builder.depends_on(x, *self.strange)
                       for x in vector)

    @remembered
    def velocity(self, point, axes):
        velocity = super().velocity(point, axes)
        if self._is_own(velocity):
            return velocity
        origin, positions = self.positions([point])
        if point not in positions or _compat.velocity(
                origin, self.frame) != 0:
            raise UnsupportedFeatureError(
                f"Point {point} has no position relative to a point at rest, "
                "and its velocity was set in speeds that the q' do not "
                "determine. This form needs velocities in the q'; give the "
                "position with `set_pos`.", point=point)
        return self.rotated(axes, self.frame,
                            tuple(map(self.bias, positions[point])))

    @remembered
    def angular_velocity(self, frame, axes):
        w = super().angular_velocity(frame, axes)
        if self._is_own(w):
            return w
        g, R = self.builder, self.rotation(self.frame, frame)
        columns = list(zip(*R))
        change = list(zip(*(map(self.bias, row) for row in R)))
        own = tuple(g.dot(columns[i], change[j])
                    for i, j in ((2, 1), (0, 2), (1, 0)))
        return self.rotated(axes, frame, own)


def bind_speeds(g, kinematics, u, velocities):
    """Bind speeds to expressions in the ``q'``; return the others."""
    rates, speeds = kinematics.rates, kinematics.u
    slopes = jacobian(g, rates, speeds)
    linear = not any(g.depends_on(x, *speeds) for row in slopes for x in row)
    if linear and len(rates) == len(speeds):
        known = substitute(g, rates, dict.fromkeys(speeds, 0))
        solution = solve(g, slopes, list(map(g.sub, velocities, known)))
        if solution is not None:
            g.bound.update(zip(u, solution))
            return []
    equal = dict(zip(rates, velocities))
    g.bound.update((x, equal[ref]) for x, ref in zip(u, speeds)
                   if ref in equal)
    return [ref for ref in speeds if ref not in equal]


def set_by_hand(name):
    return UnsupportedFeatureError(
        f"The velocity of {name} was set, and is not the derivative of its "
        "position or orientation (rolling put in by hand?). This form needs "
        "momenta of the q'. State the velocity in the coordinates and give "
        "the constraint as a row, or use 'kane', 'appell' or 'volterra'.")


def check_same_velocities(g, motions, velocities):
    """Raise if bodies have other velocities than in the form of the q'."""
    for motion, own in zip(motions, velocities):
        if not all(map(g.same_value, own, (*motion.v, *motion.w))):
            raise set_by_hand(motion.body.name)


def check_integrable(kinematics, motion):
    """Raise unless a velocity is the derivative of some position.

    Then ``D_t dv/dq' = dv/dq``, and ``D_t dw/dq' + w x dw/dq' = dw/dq`` in
    the axes of the body.
    """
    g, along = kinematics.builder, kinematics.total_derivative
    for position, by_speed in zip(kinematics.q, kinematics.by_speed):
        by_position = Derivation(g, {position: 1})
        turn = tuple(map(by_speed, motion.w))
        pairs = list(zip(
            g.added(map(along, turn), g.cross(motion.w, turn)),
            map(by_position, motion.w)))
        if not motion.drifts:           # else v is not of one point
            pairs += [(along(by_speed(x)), by_position(x))
                      for x in motion.v]
        if not all(g.same_value(x, y) for x, y in pairs):
            raise set_by_hand(motion.body.name)


def velocity_form(system, anchors, potential):
    """Graph of the model in ``q``, ``q'`` and ``q''``.

    ``momenta`` ``dT/dq'`` (or ``dL/dq'``), their rates, ``slopes`` ``dT/dq``,
    forces ``Q``, reactive terms ``P``, and the ``velocities`` of the bodies,
    rows of six.
    """
    kinematics = VelocityKinematics.of(system, anchors)
    g, along = kinematics.builder, kinematics.total_derivative
    motions, P = [], [0]*len(system.q)
    if system.lagrangian is not None:
        T = read(g, system.lagrangian)
    else:
        motions = [BodyMotion(kinematics, body) for body in system.bodies]
        for motion in motions:
            check_integrable(kinematics, motion)
        T = g.sum(motion.kinetic_energy(g) for motion in motions)
        P = reactive_forces(kinematics, motions)
    if kinematics.strange and g.depends_on(T, *kinematics.strange):
        raise UnsupportedFeatureError(
            "A mass or an inertia depends on speeds that the q' do not "
            "determine. Write it in the derivatives of the coordinates, or "
            "use 'kane', 'appell' or 'volterra'.")
    kinetics = from_bodies(
        kinematics, (), parse_loads(system.loads), potential)
    momenta = gradient(g, T, kinematics.u)
    return frozen(
        g, momenta=momenta, momentum_rates=list(map(along, momenta)), P=P,
        slopes=gradient(g, T, kinematics.q), Q=flat(kinetics.Q),
        velocities=GraphMatrix(
            g, [[*motion.v, *motion.w] for motion in motions], 6))
