"""Bodies that lose or gain mass, and Lagrange's terms of variable mass."""
from dataclasses import dataclass, field

from sympy import ImmutableDenseMatrix
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import RigidBody
from sympy.physics.vector import Dyadic

from .. import _compat
from ..errors import ConstrainedDynamicsError, KinematicsError, located
from ..graph import Derivation, GraphBuilder, derivative, read
from ..graph.writing import nested
from .call_signatures import (
    as_list, check_bodies, check_coordinates, check_frame)
from .kinematics import Kinematics
from .kinetics import measure_dyadic, times


@dataclass(frozen=True)
class MassExchange:
    """Exchange of mass between the bodies and their surroundings.

    ``anchors`` maps a RigidBody to a Point fixed in it, where the mass centre
    moves; ``rates`` maps masses ``m(t)``, which are states, to their rates.
    """

    anchors: dict = field(default_factory=dict)
    rates: dict = field(default_factory=dict)

    def points(self):
        return {body.masscenter: (anchor, body.frame)
                for body, anchor in self.anchors.items()
                if isinstance(body, RigidBody)}

    def check(self, bodies, states, time):
        """Raise if this does not fit the model; ``bodies`` may come later."""
        for body in self.anchors:
            if not isinstance(body, RigidBody) or bodies is not None and (
                    not any(body is other for other in bodies)):
                raise ConstrainedDynamicsError(
                    f"`anchors` has {body!r}, which is not a RigidBody of the "
                    "model. Give {body: point} for its rigid bodies.")
        self._check_centres(bodies or ())
        for mass in self.rates:
            if mass in states or not isinstance(
                    mass, AppliedUndef) or mass.args != (time,):
                raise ConstrainedDynamicsError(
                    f"`mass_rates` has {mass}, which is not a function of "
                    "time, or is a coordinate or a speed. Give {m: rate} "
                    "with the mass `m = dynamicsymbols('m')`.")

    def _check_centres(self, bodies):
        """Raise if bodies with one mass centre have different anchors."""
        anchored = self.points()
        for body in bodies:
            centre = body.masscenter
            if centre in anchored and anchored[centre] != (
                    self.anchors.get(body), getattr(body, 'frame', None)):
                raise ConstrainedDynamicsError(
                    f"{body.name} has the same mass centre {centre} as a "
                    "body in `anchors`, but not the same anchor and frame, "
                    "so the velocity at this point is ambiguous. Give each "
                    "of these bodies a mass centre Point of its own.")

    def declare(self, kinematics, bodies, q, u):
        """Bind the rates of masses that are states; return them as rows."""
        g, time = kinematics.builder, kinematics.builder.time
        self.check(bodies, (*q, *u), time)
        kinematics.declare_accelerations()
        for mass in self.rates:
            g.input(mass, dynamic=True)
        rows = []
        moving = {derivative(mass, time) for mass in self.rates}
        for mass, rate in self.rates.items():
            with located(f'The rate of {mass}'):
                ref = read(g, rate)
            if kinematics.accelerations_in(ref) or not moving.isdisjoint(
                    g.symbols_of(ref)):
                raise ConstrainedDynamicsError(
                    f"The rate of {mass} contains an acceleration, or the "
                    "rate of a mass that is a state. A mass that is a state "
                    "has a rate in coordinates, speeds, masses and time; "
                    "write such a mass as an expression.")
            rows.append([ref])
        for mass, (ref,) in zip(self.rates, rows):
            g.bound[derivative(mass, time)] = ref
        for mass, (ref,) in zip(self.rates, rows):
            g.bound[derivative(mass, time, 2)] = (
                kinematics.total_derivative(ref))
        return rows

    def check_masses(self, builder, kinetics):
        """Raise if a mass that has a rate is in no body and no load."""
        used = builder.symbols_of(*(
            ref for row in kinetics.M + kinetics.Q for ref in row))
        idle = [str(mass) for mass in self.rates if mass not in used]
        if idle:
            raise ConstrainedDynamicsError(
                f"`mass_rates` has {', '.join(idle)}, which is in no body and "
                "no load. Use the function of time that is the mass of the "
                "body, or leave it out.")


def reactive_terms(bodies, q, frame) -> ImmutableDenseMatrix:
    r"""Return Lagrange's terms of variable mass, shape (n, 1).

    Explanation
    ===========

    With Meshchersky's model
    :math:`\frac{d}{dt}\frac{\partial T}{\partial\dot q_s}
    - \frac{\partial T}{\partial q_s} = Q_s + P_s`, where :math:`Q_s`
    contains the thrust and

    .. math::

       P_s = \sum\Bigl[\dot m\,v\cdot\frac{\partial v}{\partial\dot q_s}
       + \frac12\frac{d}{dt}\Bigl(\frac{\partial m}{\partial\dot q_s}v^2
       \Bigr) - \frac12\frac{\partial m}{\partial q_s}v^2\Bigr]

    for masses :math:`m(q, \dot q, t)`; rigid bodies add
    :math:`(\overset{B}{\dot I}\cdot\omega)\cdot\omega_s`, and the same
    pattern where their inertia depends on the motion. The velocities of the
    bodies in the inertial ``frame`` are functions of ``q`` and ``q'``.

    Examples
    ========

    >>> from sympy.physics.mechanics import (
    ...     Particle, Point, ReferenceFrame, dynamicsymbols)
    >>> from sympy_constrained import reactive_terms
    >>> m, x = dynamicsymbols('m x')
    >>> N, P = ReferenceFrame('N'), Point('P')
    >>> P.set_vel(N, x.diff()*N.x)
    >>> reactive_terms([Particle('rocket', P, m)], [x], N)
    Matrix([[Derivative(m(t), t)*Derivative(x(t), t)]])

    """
    bodies, q = as_list(bodies, 'bodies'), as_list(q, 'q')
    check_bodies(bodies)
    check_frame(frame)
    builder = GraphBuilder(_compat.time_symbol())
    check_coordinates(q, [], builder.time)
    u = [derivative(x, builder.time) for x in q]
    kinematics = Kinematics(builder, frame, q, u)
    kinematics.declare_accelerations()
    motions = [BodyMotion(kinematics, body) for body in bodies]
    for motion in motions:
        check_moves_with(kinematics, motion)
    refs = reactive_forces(kinematics, motions)
    return ImmutableDenseMatrix([
        nested(builder, [ref])[0] for ref in refs])


class BodyMotion:
    """Mass, inertia and motion of a body, after ``declare_accelerations``.

    Linear motion is written in inertial axes, rotation in those of the body.
    """

    def __init__(self, kinematics, body):
        g, frame = kinematics.builder, kinematics.frame
        self.body = body
        self.mass = read(g, body.mass)
        self.v = kinematics.velocity(body.masscenter, frame)
        self.a = tuple(map(kinematics.total_derivative, self.v))
        self.inertia, self.w = ((0, 0, 0),)*3, (0, 0, 0)
        if isinstance(body, RigidBody):
            self.inertia = measure_dyadic(
                kinematics, body.central_inertia or Dyadic(0), body.frame)
            self.w = kinematics.angular_velocity(body.frame, body.frame)
        self.alpha = tuple(map(kinematics.total_derivative, self.w))
        self.momentum = times(g, self.inertia, self.w)
        self.drifts = body.masscenter in kinematics.anchors
        self.excess = (0, 0, 0)
        if self.drifts:                 # v is not of one point of the body
            self.excess = tuple(map(
                g.sub, self.a, self.anchored(kinematics)))

    def anchored(self, kinematics):
        """Acceleration of the point of the body at the mass centre."""
        g, axes = kinematics.builder, kinematics.frame
        anchor, frame = kinematics.anchors[self.body.masscenter]
        arm = kinematics.offset(anchor, self.body.masscenter, axes)
        along = kinematics.total_derivative
        w = kinematics.rotated(axes, frame, self.w)
        alpha = kinematics.rotated(axes, frame, self.alpha)
        start = tuple(map(along, kinematics.velocity(anchor, axes)))
        total = g.added(start, g.cross(alpha, arm))
        return g.added(total, g.cross(w, g.cross(w, arm)))

    def kinetic_energy(self, g):
        linear = g.mul(self.mass, g.dot(self.v, self.v))
        return g.mul(g.inv(g.constant(2)), g.add(
            linear, g.dot(self.w, self.momentum)))

    def quadratic(self, g, derivation):
        """``m_x*v^2 + w.I_x.w`` with the derivatives of mass and inertia."""
        change = [tuple(map(derivation, row)) for row in self.inertia]
        return g.add(g.mul(derivation(self.mass), g.dot(self.v, self.v)),
                     g.dot(self.w, times(g, change, self.w)))

    def momentum_gain(self, g, along, v, w):
        """``m'*v.v_s + (I'*w).w_s + m*excess.v_s``."""
        change = [tuple(map(along, row)) for row in self.inertia]
        total = g.add(g.mul(along(self.mass), g.dot(self.v, v)),
                      g.dot(times(g, change, self.w), w))
        return g.add(total, g.mul(self.mass, g.dot(self.excess, v)))


def check_moves_with(kinematics, motion):
    """Raise if a velocity is written in other speeds than the ``q'``."""
    g = kinematics.builder
    velocity = [x for x in (*motion.v, *motion.w) if x]
    known = kinematics.coordinates
    others = [x for x in g.symbols_of(*velocity)
              if isinstance(x, AppliedUndef) and x not in known]
    if others and not any(g.depends_on(x, *kinematics.u) for x in velocity):
        raise KinematicsError(
            f"The velocity of {motion.body.name} contains {others[0]} and no "
            "derivative of a coordinate, so it has no reactive terms for "
            "them. Write it in the q', or use `momentum_loads`.")


def reactive_forces(kinematics, motions):
    """References of ``P_s`` for the speeds of the kinematics, the ``q'``."""
    g, along = kinematics.builder, kinematics.total_derivative
    half = g.inv(g.constant(2))
    forces = []
    for position, by_speed in zip(kinematics.q, kinematics.by_speed):
        by_position = Derivation(g, {position: 1})
        total = 0
        for motion in motions:
            gain = motion.momentum_gain(
                g, along, tuple(map(by_speed, motion.v)),
                tuple(map(by_speed, motion.w)))
            change = g.sub(along(motion.quadratic(g, by_speed)),
                           motion.quadratic(g, by_position))
            total = g.sum((total, gain, g.mul(half, change)))
            if motion.drifts:
                turn = [g.sub(along(by_speed(x)), by_position(x))
                        for x in motion.v]
                total = g.add(total, g.mul(
                    motion.mass, g.dot(motion.v, turn)))
        forces.append(total)
    return forces
