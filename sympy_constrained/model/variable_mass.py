r"""Bodies that lose or gain mass, and their loads.

Meshchersky's model is the default of :class:`.GibbsAppellMethod`: mass leaves
or joins at points fixed in the body with a given relative velocity, and the
equations contain only the instantaneous :math:`m` and :math:`I`.
:func:`thrust` is its load. :func:`momentum_loads` brings ``KanesMethod`` and
``LagrangesMethod``, which take the rate of momentum, to the same equations;
:func:`internal_flow_loads` adds the flow inside the body.
"""
from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field

from sympy import Derivative, Expr, ImmutableDenseMatrix, Matrix, sympify
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import Force, RigidBody, Torque
from sympy.physics.vector import Dyadic, Point, ReferenceFrame, Vector, cross

from .. import _compat
from ..errors import ConstrainedDynamicsError, KinematicsError
from ..graph import Derivation, GraphBuilder, read
from ..graph.writing import nested
from .build_kane import agree
from .call_signatures import (
    as_dictionary, as_expression, as_list, check_bodies, check_coordinates,
    check_frame)
from .kinematics import Kinematics
from .kinetics import measure_dyadic, times

__all__ = ['MassExchange', 'internal_flow_loads', 'momentum_loads',
           'reactive_terms', 'thrust']


@dataclass(frozen=True)
class MassExchange:
    """Exchange of mass between the bodies and their surroundings.

    Attributes
    ==========

    anchors : dict
        RigidBody -> Point fixed in it, where the mass centre moves.
    rates : dict
        Mass ``m(t)`` -> expression of its rate; such a mass is a state.

    """

    anchors: dict = field(default_factory=dict)
    rates: dict = field(default_factory=dict)

    def points(self):
        """Mass centre -> anchor and frame."""
        return {body.masscenter: (anchor, body.frame)
                for body, anchor in self.anchors.items()
                if isinstance(body, RigidBody)}

    def check(self, bodies, states, time):
        """Raise if this does not fit the model.

        Without ``bodies``, which may come later, they are not checked.
        """
        for body, anchor in self.anchors.items():
            if not isinstance(body, RigidBody) or bodies is not None and (
                    not any(body is other for other in bodies)):
                raise ConstrainedDynamicsError(
                    f"`anchors` has {body!r}, which is no RigidBody of the "
                    "model. Give {body: point} for its rigid bodies.")
            if not isinstance(anchor, Point):
                raise TypeError(
                    f"The anchor of {body.name} is {anchor!r}. Give a Point "
                    "that is fixed in the body.")
        self._check_centres(bodies or ())
        for mass, rate in self.rates.items():
            check_rate(mass, rate, states, time)

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


def check_rate(mass, rate, states, time):
    """Raise unless this is a mass that is a state, and its rate."""
    if mass in states:
        raise ConstrainedDynamicsError(
            f"`mass_rates` has {mass}, which is a coordinate or a "
            "speed. Its rate is in `kd_eqs` or follows from the "
            "equations of motion.")
    if not isinstance(mass, AppliedUndef) or mass.args != (time,):
        raise ConstrainedDynamicsError(
            f"`mass_rates` has {mass}, which is no function of time. "
            "Give {m: rate} with the mass `m = dynamicsymbols('m')`.")
    if not isinstance(as_expression(rate), Expr):
        raise TypeError(
            f"The rate of {mass} is {rate!r}, which is no "
            "expression. Give one in coordinates, speeds and time.")


def thrust(point, mass_rate, relative_velocity):
    """Return the force of mass that leaves or joins a body.

    Explanation
    ===========

    ``R = m'*u_rel``: mass that leaves (``m' < 0``) backwards pushes forwards.
    With several streams there is one thrust for each.

    Examples
    ========

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import (
    ...     Point, ReferenceFrame, dynamicsymbols)
    >>> from sympy_constrained import thrust
    >>> c = symbols('c')
    >>> m = dynamicsymbols('m')
    >>> N, P = ReferenceFrame('N'), Point('P')
    >>> thrust(P, m.diff(), -c*N.x).force
    - c*Derivative(m(t), t)*N.x

    Parameters
    ==========

    point : Point
        The point fixed in the body at which the mass crosses its boundary.
    mass_rate : Expr
        Rate of the mass of the body by this stream, negative for a loss.
    relative_velocity : Vector
        Velocity of the stream relative to that point.

    Returns
    =======

    Force

    """
    rate = as_expression(mass_rate)
    if not isinstance(point, Point) or not isinstance(rate, Expr) or not (
            isinstance(relative_velocity, Vector)):
        raise TypeError(
            f"A thrust of {mass_rate!r} with {relative_velocity!r} at "
            f"{point!r} cannot be formed. Give a Point, the rate of mass as "
            "an expression, and a Vector.")
    return Force(point, rate*relative_velocity)


def momentum_loads(bodies, frame, anchors=None):
    r"""Return the loads that make a momentum balance Meshchersky's.

    Explanation
    ===========

    ``KanesMethod``, and ``LagrangesMethod`` with a mass ``m(t)``, take the
    rate of momentum :math:`(m v)'`: mass that leaves does so at rest. With
    the forces :math:`\dot m v_G` and the torques
    :math:`\overset{B}{\dot I}\cdot\omega` the equations are those of mass
    that leaves with the velocity of the body, to which a :func:`thrust` adds
    what it has relative to it. A mass centre that drifts in the body adds
    :math:`m(a_G - a_{G,\text{body-fixed}})`.

    The other methods of this package take the rate of momentum, too;
    :class:`.GibbsAppellMethod` must not be given these loads. The mass may
    depend on time. ``KanesMethod`` drops a part of the rate of a
    mass that depends on speeds; use :class:`.GibbsAppellMethod` there.

    Examples
    ========

    >>> from sympy.physics.mechanics import (
    ...     Particle, Point, ReferenceFrame, dynamicsymbols)
    >>> from sympy_constrained import momentum_loads
    >>> m, u = dynamicsymbols('m u')
    >>> N, P = ReferenceFrame('N'), Point('P')
    >>> P.set_vel(N, u*N.x)
    >>> momentum_loads([Particle('rocket', P, m)], N)[0].force
    u(t)*Derivative(m(t), t)*N.x

    Parameters
    ==========

    bodies : iterable of RigidBody and Particle
    frame : ReferenceFrame
        The inertial frame.
    anchors : dict, optional
        RigidBody -> Point fixed in it, where the mass centre moves.

    Returns
    =======

    list of Force and Torque

    """
    bodies = as_list(bodies, 'bodies')
    check_bodies(bodies)
    check_frame(frame)
    time = _compat.time_symbol()
    exchange = MassExchange(as_dictionary(anchors, 'anchors'))
    exchange.check(bodies, (), time)
    loads = []
    for body in bodies:
        with connected(body):
            loads += momentum_loads_of(body, frame, exchange.anchors, time)
    return loads


@contextmanager
def connected(body):
    """Translate errors of SymPy's search for a path between frames or points.
    """
    try:
        yield
    except ConstrainedDynamicsError:
        raise
    except ValueError as error:
        raise KinematicsError(
            f"The motion of {body.name} is not known ({error}). Orient its "
            "frame, and locate its points from one whose velocity is set."
        ) from error


def momentum_loads_of(body, frame, anchors, time):
    """The loads of one body."""
    loads, point = [], body.masscenter
    force = sympify(body.mass, strict=True).diff(time)*point.vel(frame)
    if body in anchors:
        anchor = anchors[body]
        arm = point.pos_from(anchor)
        w = body.frame.ang_vel_in(frame)
        force += body.mass*(
            point.acc(frame) - anchor.acc(frame)
            - cross(w.dt(frame), arm) - cross(w, cross(w, arm)))
    if force != 0:
        loads.append(Force(point, force))
    if isinstance(body, RigidBody):
        torque = body.central_inertia.dt(body.frame).dot(
            body.frame.ang_vel_in(frame))
        if torque != 0:
            loads.append(Torque(body.frame, torque))
    return loads


def internal_flow_loads(body, frame, exits, anchor=None, angular_flow=None):
    r"""Return force and torque of the flow inside a body.

    Explanation
    ===========

    To be added to Meshchersky's model with the thrust at the exits. With the
    momentum of the flow relative to the body
    :math:`\mu = m\,c' + \sum\dot m_e(c - r_e)`, where ``'`` is the
    derivative in the body and :math:`c` the mass centre,

    .. math::

       \Delta F = -2\omega\times\mu - \mu', \qquad
       \Delta M_G = -\overset{B}{\dot I}\cdot\omega
       + \sum\dot m_e (r_e - c)\times(\omega\times(r_e - c))
       - \omega\times h - h'

    What is linear in :math:`\omega` of the second is the jet damping.

    Examples
    ========

    The jet damping of a rocket with its nozzle at a distance ``b``:

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import (
    ...     Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)
    >>> from sympy_constrained import internal_flow_loads
    >>> b = symbols('b')
    >>> m, I, w = dynamicsymbols('m I w')
    >>> N, B = ReferenceFrame('N'), ReferenceFrame('B')
    >>> B.set_ang_vel(N, w*B.z)
    >>> G = Point('G')
    >>> E = G.locatenew('E', -b*B.x)
    >>> rocket = RigidBody('rocket', G, B, m, (inertia(B, 0, I, I), G))
    >>> force, torque = internal_flow_loads(rocket, N, [(E, m.diff())])
    >>> torque.torque
    (b**2*w(t)*Derivative(m(t), t) - w(t)*Derivative(I(t), t))*B.z

    Parameters
    ==========

    body : RigidBody
    frame : ReferenceFrame
        The inertial frame.
    exits : iterable of (Point, Expr)
        Points fixed in the body and the rates of mass there, negative for a
        loss.
    anchor : Point, optional
        A point fixed in the body, if its mass centre moves in it.
    angular_flow : Vector, optional
        :math:`h`, the angular momentum of the flow relative to the body
        about the mass centre; zero for flow without swirl.

    Returns
    =======

    list
        A ``Force`` at the mass centre and a ``Torque`` on the frame.

    """
    if not isinstance(body, RigidBody) or not isinstance(
            frame, ReferenceFrame):
        raise TypeError(
            f"The flow inside {body!r} in {frame!r} cannot be formed. Give "
            "a RigidBody and the inertial ReferenceFrame.")
    exits = [checked_exit(k, x) for k, x in enumerate(as_list(
        exits, 'exits'))]
    h = Vector(0) if angular_flow is None else angular_flow
    if not isinstance(h, Vector):
        raise TypeError(f"`angular_flow` is {h!r}. Give a Vector.")
    with connected(body):
        return flow_loads_of(body, frame, exits, anchor, h)


def checked_exit(k, pair):
    """A point and a rate."""
    point, rate = pair if isinstance(pair, (tuple, list)) and (
        len(pair) == 2) else (None, None)
    found = as_expression(rate)
    if not isinstance(point, Point) or not isinstance(found, Expr):
        raise TypeError(
            f"Entry {k} of `exits` is {pair!r}. Give a list of pairs of a "
            "Point and the rate of mass there, an expression.")
    return point, found


def flow_loads_of(body, frame, exits, anchor, h):
    """Force and torque of the flow inside a body."""
    B, G, time = body.frame, body.masscenter, _compat.time_symbol()
    w = B.ang_vel_in(frame)
    c = G.pos_from(anchor) if anchor is not None else Vector(0)
    flow = body.mass*c.dt(B)
    moment = -body.central_inertia.dt(B).dot(w)
    total = sympify(0)
    for point, rate in exits:
        arm = point.pos_from(G)
        flow -= rate*arm
        moment += rate*cross(arm, cross(w, arm))
        total += rate
    check_balance(body, total, time)
    return [Force(G, -2*cross(w, flow) - flow.dt(B)),
            Torque(B, moment - cross(w, h) - h.dt(B))]


def check_balance(body, total, time):
    """Raise if the mass of a body changes at another rate than ``total``.

    That of a mass which is an unknown function of time is not known here.
    """
    rate = sympify(body.mass, strict=True).diff(time)
    if rate != total and rate.atoms(Derivative) <= total.atoms(Derivative):
        builder = GraphBuilder(time)
        if not agree(builder, read(builder, rate), read(builder, total)):
            raise ConstrainedDynamicsError(
                f"The rates of mass at the exits sum up to {total}, and the "
                f"mass of {body.name} changes at the rate {rate}. Give all "
                "exits, with negative rates for a loss.")


def reactive_terms(bodies, q, frame):
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
    pattern where their inertia depends on the motion.

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

    Parameters
    ==========

    bodies : iterable of RigidBody and Particle
        Their velocities are functions of ``q`` and ``q'``.
    q : iterable of dynamicsymbols
    frame : ReferenceFrame
        The inertial frame.

    Returns
    =======

    ImmutableMatrix

    """
    bodies, q = as_list(bodies, 'bodies'), as_list(q, 'q')
    check_bodies(bodies)
    check_frame(frame)
    builder = GraphBuilder(_compat.time_symbol())
    check_coordinates(q, [], builder.time)
    u = [x.diff(builder.time) for x in q]
    rates = [builder.input(x, dynamic=True) for x in q + u][len(q):]
    kinematics = Kinematics(builder, frame, q, u, rates)
    kinematics.declare_accelerations(u)
    motions = [BodyMotion(kinematics, body) for body in bodies]
    for motion in motions:
        check_moves_with(kinematics, motion)
    refs = reactive_forces(kinematics, motions)
    return ImmutableDenseMatrix(Matrix([
        nested(builder, [ref])[0] for ref in refs]))


class BodyMotion:
    """Mass, inertia and motion of a body on the graph.

    Linear motion in inertial axes, rotation in the axes of the body, so that
    derivatives of the measure numbers are those in these frames. The
    accelerations of the kinematics must have been declared.
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
        """Reference of the kinetic energy."""
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
    known = {g.inputs[g.nodes[k][1]] for k in kinematics.q}
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
