r"""Mass matrix and generalized forces on the graph.

From bodies and loads, by d'Alembert's principle with partial velocities

.. math::

   M_{jk} = \sum_b m\,v_j\cdot v_k + \omega_j\cdot I\omega_k, \qquad
   Q_j = \sum_b v_j\cdot(F - m a) + \omega_j\cdot(G - \tau)

or from a Lagrangian. Both give :class:`Kinetics`.
"""
from typing import NamedTuple

from sympy.physics.mechanics import RigidBody
from sympy.physics.vector import ReferenceFrame

from .. import _compat
from ..errors import ConstrainedDynamicsError, located, warn
from ..graph import gradient, read, substitute
from ..graph.nodes import PRIME
from .call_signatures import frames_of
from .composite_bodies import CompositeRoute
from .loads import Applied, axes_of_vector, motion_of

# Differences of inertias below this share of the largest entry are rounding.
SAME = 1e-9


class Kinetics(NamedTuple):
    """Rows of references of ``M*u' = Q``, and of the energy and its power.

    ``applied`` are the forces that are not in the ``lagrangian``. A ``power``
    without a row is not known.
    """

    M: list
    Q: list
    energy: list
    power: list
    lagrangian: list
    applied: list


class Assembly:
    """``M`` (upper triangle), ``Q``, energy and power under construction."""

    def __init__(self, kinematics):
        self.kinematics = kinematics
        self.builder = kinematics.builder
        size = len(kinematics.u)
        self.M = [[0]*size for _ in range(size)]
        self.Q = [0]*size
        self.energy = self.power = 0
        self.doubled = 0                # kinetic energy of bodies

    def add_force(self, columns, force):
        """Add ``v_j . F`` to the generalized forces."""
        for j, column in columns.items():
            self.Q[j] = self.builder.add(
                self.Q[j], self.builder.dot(column, force))

    def add_load(self, motion, force):
        # Its power is that by the speeds; drives change no kinetic energy.
        g, columns = self.builder, self.kinematics.columns(motion)
        self.add_force(columns, force)
        self.power = g.add(self.power, g.sum(
            g.mul(self.kinematics.u[j], g.dot(column, force))
            for j, column in columns.items()))

    def add_inertia(self, columns, momenta):
        """Add ``v_j . p_k`` to the mass matrix."""
        for j, column in columns.items():
            row = self.M[j]
            for k, momentum in momenta.items():
                if k >= j:
                    row[k] = self.builder.add(
                        row[k], self.builder.dot(column, momentum))

    def add_power(self, motion, force, gain=(0, 0, 0)):
        """Add ``motion . (force - gain/2)``."""
        # Of the momentum ``gain`` of changing inertia half is kinetic energy.
        g = self.builder
        half = g.inv(g.constant(2))
        self.power = g.add(self.power, g.sub(
            g.dot(motion, force), g.mul(half, g.dot(motion, gain))))

    def blocks(self, lagrangian, applied, power_is_known=True):
        size = len(self.Q)
        rows = [[self.M[min(j, k)][max(j, k)] for k in range(size)]
                for j in range(size)]
        return Kinetics(
            rows, [[x] for x in self.Q], [[self.energy]],
            [[self.power]] if power_is_known else [], [[lagrangian]], applied)


def from_bodies(kinematics, bodies, loads, potential=0, composite=False,
                exchange=False):
    """Kinetics of bodies, loads ``(location, vector)`` and potential energy.

    With ``composite`` all motion is written in common axes and composite
    bodies are shared (:mod:`.composite_bodies`); the values are equal. With
    ``exchange`` mass that varies is exchanged with the surroundings
    (Meshchersky): the inertial forces are only ``m*a`` and ``I*alpha + w x
    (I*w)``, and the momentum of the mass that comes or goes is among the
    loads.
    """
    g = kinematics.builder
    assembly = Assembly(kinematics)
    written = [axes_of_body(kinematics, body) for body in bodies]
    route = None
    if composite and kinematics.oriented.keys() >= {
            axes.inertia for axes in written}:
        common = common_axes(kinematics, bodies, written)
        route = CompositeRoute(assembly, bodies, common)
        written = [BodyAxes(common, common, axes.inertia) for axes in written]
    written, homes = with_one_home(bodies, written)
    applied = Applied(kinematics)
    for k, (location, vector) in enumerate(loads):
        with located(f'Load {k} at {location}'):
            applied.add(location, vector, homes.get(
                location, axes_of_vector(kinematics, vector)))
    for body, axes in zip(bodies, written):
        with located(f'Body {body.name}'):
            add_body(assembly, body, axes, applied, route, exchange)
    if route is not None:
        route.finish()
    for location, (axes, force) in applied.totals.items():
        with located(f'Load at {location}'):
            motion = motion_of(kinematics, location, axes)
        assembly.add_load(motion, force)
    kinetic = assembly.energy = g.mul(
        g.inv(g.constant(2)), assembly.doubled)
    add_potential(assembly, potential)
    return assembly.blocks(
        g.sub(kinetic, read(g, potential)), [[0] for _ in kinematics.u],
        not moves_by_prescription(assembly))


def with_one_home(bodies, written):
    """Axes of bodies, of which those with one mass centre share its motion."""
    # And the axes in which the loads at points and on frames are summed.
    homes, shared = {}, []
    for body, axes in zip(bodies, written):
        linear = homes.setdefault(body.masscenter, axes.linear)
        shared.append(BodyAxes(linear, axes.angular, axes.inertia))
        if isinstance(body, RigidBody):
            homes.setdefault(body.frame, axes.angular)
    return shared, homes


def moves_by_prescription(assembly):
    """Whether kinetic energy remains where all speeds are zero."""
    # Most often it is ``u.M*u/2`` by value.
    kinematics, g = assembly.kinematics, assembly.builder
    u = [*map(g.fingerprint, kinematics.u)]
    total = sum(
        u[j]*sum(g.fingerprint(row[k])*u[k]*(1 + (j < k))
                 for k in range(j, len(u)) if row[k])
        for j, row in enumerate(assembly.M))
    if (total - g.fingerprint(assembly.doubled)) % PRIME == 0:
        return False
    try:
        return any(substitute(g, [assembly.doubled],
                              dict.fromkeys(kinematics.u, 0)))
    except ConstrainedDynamicsError:    # there is no state of rest
        return bool(assembly.doubled)


class BodyAxes(NamedTuple):
    """The frames in which the quantities of one body are written.

    ``linear`` for the mass centre, ``angular`` for rotation and torque,
    ``inertia`` for the central inertia.
    """

    linear: ReferenceFrame
    angular: ReferenceFrame
    inertia: ReferenceFrame


def axes_of_body(kinematics, body):
    """The :class:`BodyAxes` of a body, those of its inertia if possible."""
    oriented = kinematics.oriented
    velocity = _compat.velocity(body.masscenter, kinematics.frame)
    if isinstance(body, RigidBody):
        frames = frames_of(body.central_inertia)
        axes = frames.pop() if len(frames) == 1 else body.frame
        linear = axes if axes in oriented else axes_of_vector(
            kinematics, velocity)
        return BodyAxes(linear, axes, axes)
    if velocity is None:                # the link that carries the particle
        velocity = next(iter(_compat.positions(
            body.masscenter).values()), None)
    axes = axes_of_vector(kinematics, velocity)
    axes = axes if axes in oriented else kinematics.frame
    return BodyAxes(axes, axes, axes)


def common_axes(kinematics, bodies, written):
    """The last frame on the way to all bodies and fixed in none of them."""
    # The motion that bodies share does not turn up in the mass matrix then.
    common, own = None, set()
    for body, axes in zip(bodies, (x.inertia for x in written)):
        own |= {axes, getattr(body, 'frame', axes)}
        way = kinematics.way_to(axes)
        common = way if common is None else [
            frame for frame in common if frame in way]
    return next((frame for frame in reversed(common or ())
                 if frame not in own), kinematics.frame)


def add_body(assembly, body, axes, applied, route, exchange):
    """Add the inertia of a body and the loads at its centre and frame."""
    g, kinematics = assembly.builder, assembly.kinematics
    v = w = force = torque = (0, 0, 0)
    mass, inertia = read(g, body.mass), ((0, 0, 0),)*3
    if mass:
        v, force = translation(assembly, body, mass, axes, applied, exchange)
    if isinstance(body, RigidBody) and body.central_inertia != 0:
        inertia = measure_dyadic(
            kinematics, body.central_inertia, axes.inertia)
        w, torque = rotation(assembly, body, inertia, axes, applied, exchange)
    if route is not None:
        route.add(body, mass, inertia, axes.inertia, force, torque)
        return
    for motion, load, momentum_of in (
            (v, force, lambda column: g.scaled(mass, column)),
            (w, torque, lambda column: times(g, inertia, column))):
        columns = kinematics.columns(motion)
        assembly.add_force(columns, load)
        assembly.add_inertia(columns, {
            k: momentum_of(column) for k, column in columns.items()})


def translation(assembly, body, mass, axes, applied, exchange):
    """Velocity of the mass centre, and applied minus inertial force there."""
    # The inertial force is ``m*a + m'*v``, with ``exchange`` ``m*a``.
    g, kinematics = assembly.builder, assembly.kinematics
    point = body.masscenter
    v = kinematics.velocity(point, axes.linear)
    gain = g.scaled(rate_of(kinematics, exchange)(mass), v)
    rate = g.scaled(mass, kinematics.acceleration(point, axes.linear))
    if exchange:
        gain = g.scaled(-1, gain)
    else:
        rate = g.added(rate, gain)
    force = applied.take(point, axes.linear)
    assembly.add_power(v, force, gain)
    assembly.doubled = g.add(assembly.doubled, g.mul(mass, g.dot(v, v)))
    return v, tuple(map(g.sub, force, rate))


def rotation(assembly, body, inertia, axes, applied, exchange):
    """Angular velocity of a body, and applied minus inertial torque.

    The inertial torque is written in the axes ``f`` of the inertia: ``tau =
    I*w' + w_f x (I*w) + I'*w``, where ``w_f`` is the angular velocity of
    ``f``. With ``exchange`` it lacks the momentum that is gained as the
    inertia changes in the body.
    """
    g, kinematics = assembly.builder, assembly.kinematics
    own, change = axes.inertia, rate_of(kinematics, exchange)
    w = kinematics.angular_velocity(body.frame, own)
    spin = kinematics.angular_velocity(own, own)
    alpha = kinematics.angular_acceleration(body.frame, own)
    momentum = times(g, inertia, w)
    torque = g.added(
        times(g, inertia, map(g.sub, alpha, g.cross(spin, w))),
        g.cross(spin, momentum))
    gain = tuple(g.dot(map(change, row), w) for row in inertia)
    torque = g.added(torque, gain)
    gain = g.added(gain, slip(g, inertia, w, spin))     # in the body
    if exchange:
        gain = g.scaled(-1, gain)
        torque = g.added(torque, gain)
        if not change(read(g, body.mass)) and any(
                differ(g, x, 0, sum(inertia, ())) for x in gain):
            warn(f"The inertia of {body.name} changes in the body, and "
                 "its mass does not. Here that is mass which comes and "
                 "goes with the velocity of the body; other methods keep "
                 "the angular momentum. Write the inertia in a frame "
                 "that is fixed in the body. If parts move in it, take "
                 "another method, or add the torque `-I'*w`.")
    assembly.doubled = g.add(assembly.doubled, g.dot(w, momentum))
    torque = kinematics.rotated(axes.angular, own, torque)
    gain = kinematics.rotated(axes.angular, own, gain)
    w = kinematics.angular_velocity(body.frame, axes.angular)
    moment = applied.take(body.frame, axes.angular)
    assembly.add_power(w, moment, gain)
    return w, tuple(map(g.sub, moment, torque))


def rate_of(kinematics, exchange):
    """The time derivative of inertia, at ``u' = 0`` without exchange."""
    return kinematics.total_derivative if exchange else kinematics.bias


def slip(g, inertia, w, spin):
    """``I'*w`` in the body without ``I'*w`` in axes that turn in it."""
    # Zero for axes fixed in the body, and for a symmetry axis.
    relative = tuple(map(g.sub, spin, w))
    return tuple(map(g.sub, g.cross(relative, times(g, inertia, w)),
                     times(g, inertia, g.cross(relative, w))))


def differ(g, a, b, sizes):
    """Whether two references differ by more than rounding of ``sizes``."""
    if g.fingerprint(a) == g.fingerprint(b):
        return False
    gap = abs(g.shadow(a) - g.shadow(b))
    return gap > SAME*max(abs(g.shadow(x)) for x in sizes)


def times(builder, matrix, vector):
    vector = tuple(vector)
    return tuple(builder.dot(row, vector) for row in matrix)


def measure_dyadic(kinematics, dyadic, axes):
    """3x3 references of a dyadic in the axes of a frame."""
    g = kinematics.builder
    total, terms = [[0]*3 for _ in range(3)], []
    for measure, first, second in dyadic.args:
        factor = read(g, measure)
        x = g.scaled(factor, kinematics.measure(first, axes))
        y = kinematics.measure(second, axes)
        for i in range(3):
            for j in range(3):
                if x[i] and y[j]:
                    terms.append(g.mul(x[i], y[j]))
                    total[i][j] = g.add(total[i][j], terms[-1])
    # the inertia of a point mass about another point cancels to rounding
    if any(differ(g, total[i][j], total[j][i], terms)
           for i, j in ((0, 1), (0, 2), (1, 2))):
        raise ConstrainedDynamicsError(
            f"The inertia `{dyadic}` is not symmetric. A product of inertia "
            "occurs in it twice, as `Ixy*(x|y) + Ixy*(y|x)`: give both, or "
            "make it by `inertia(frame, ixx, iyy, izz, ixy, iyz, izx)`.",
            inertia=dyadic)
    return tuple(map(tuple, total))


def add_potential(assembly, potential):
    """Add a potential energy ``V(q, t)`` and its generalized forces."""
    kinematics, g = assembly.kinematics, assembly.builder
    ref = read(g, potential)
    if not ref:
        return
    if g.depends_on(ref, *kinematics.u):
        raise ConstrainedDynamicsError(
            f"The potential energy `{potential}` contains a speed. Potential "
            "energy is a function of the coordinates and time; give what "
            "depends on speeds as a load.")
    slopes = gradient(g, ref, kinematics.q)
    explicit = kinematics.bias(ref)     # what no generalized force does
    for k, by_speed in enumerate(kinematics.by_speed):
        force = g.sum(g.mul(slope, by_speed(rate)) for slope, rate
                      in zip(slopes, kinematics.rates))
        assembly.Q[k] = g.sub(assembly.Q[k], force)
        explicit = g.sub(explicit, g.mul(force, kinematics.u[k]))
    assembly.energy = g.add(assembly.energy, ref)
    assembly.power = g.add(assembly.power, explicit)


def from_lagrangian(kinematics, lagrangian, loads):
    """Kinetics of a Lagrangian whose speeds are the ``q'``.

    ``M = dp/dq'`` and ``Q = dL/dq - p' + Q_nc`` with ``p = dL/dq'`` and ``p'``
    at ``q'' = 0``. ``L`` need not be quadratic. The energy is ``p.q' - L``.
    """
    g = kinematics.builder
    assembly = Assembly(kinematics)
    with located('`Lagrangian`'):
        ref = read(g, lagrangian)
    slopes = gradient(g, ref, kinematics.u + kinematics.q)
    momenta, forces = slopes[:len(kinematics.u)], slopes[len(kinematics.u):]
    known = from_bodies(kinematics, (), loads)
    for j, momentum in enumerate(momenta):
        for k in range(j, len(momenta)):
            assembly.M[j][k] = kinematics.by_speed[k](momentum)
        assembly.Q[j] = g.add(
            g.sub(forces[j], kinematics.bias(momentum)), known.Q[j][0])
    assembly.energy = g.sub(g.dot(momenta, kinematics.u), ref)
    explicit = g.sub(kinematics.bias(ref), g.dot(forces, kinematics.rates))
    assembly.power = g.sub(     # not what loads do on points that drives move
        g.dot([x for x, in known.Q], kinematics.u), explicit)
    return assembly.blocks(ref, known.Q)
