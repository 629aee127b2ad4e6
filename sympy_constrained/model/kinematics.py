"""Velocities and accelerations of points and frames on the graph."""
from functools import partial

from sympy import Derivative

from .. import _compat
from ..errors import KinematicsError
from ..graph import (
    Derivation, derivative, gradient, substitute, time_derivative)
from .geometry import ZERO, Geometry, breadth_first, carried, remembered


class Kinematics(Geometry):
    """Positions, velocities and accelerations of one model on one builder.

    With ``q' = rates(q, u, t)``, references that :func:`.solve_kinematics`
    returns, or the speeds, the time derivative taken here is the one at ``u' =
    0``, so that accelerations are biases: what is left of them when no speed
    changes.

    A speed may be the derivative of a coordinate. ``anchors`` maps mass
    centres to ``(point, frame)`` fixed in their bodies: the mass centre stands
    for the point of the body that is there at the moment.
    """

    def __init__(self, builder, frame, q, u, rates=None, anchors=None):
        super().__init__(builder, frame)
        self.anchors = anchors or {}
        self.coordinates, self.speeds = tuple(q), tuple(u)
        self.states = {*q, *u}
        self.functions = {x.expr if isinstance(x, Derivative) else x
                          for x in self.states}
        self.q = [builder.input(x, dynamic=True) for x in q]
        self.u = [builder.input(x, dynamic=True) for x in u]
        self.rates = rates = self.u if rates is None else rates
        builder.read.clear()            # q' means its rate from here on
        for x, rate in zip(q, rates):
            builder.bound[derivative(x, builder.time)] = rate
        self.bias = time_derivative(builder, {
            **dict(zip(self.q, rates)), **dict.fromkeys(self.u, 0)})
        self.total_derivative = None    # see declare_accelerations
        self.given_speeds = ()          # others may stand for these
        self.by_speed = [Derivation(builder, {k: 1}) for k in self.u]
        self._index = {x.mask: k for k, x in enumerate(self.by_speed)}
        self._speed_bits = builder.mask(self.u)

    # -- acceleration level ----------------------------------------------

    def accelerations_in(self, *refs, allowed=()):
        """Derivatives of coordinates and speeds that references contain."""
        # All that are no speed and no rate, but for the ``allowed`` ones.
        return [x for x in self.builder.symbols_of(*refs)
                if isinstance(x, Derivative) and x.expr in self.functions
                and x not in self.states and x not in allowed]

    def declare_accelerations(self):
        """Bind ``u'`` and ``q''``; return the references of ``u'``."""
        builder, time = self.builder, self.builder.time
        accelerations = [builder.input(x, dynamic=True)
                         for x in self.accelerations]
        if self.total_derivative is None:
            self.total_derivative = time_derivative(builder, {
                **dict(zip(self.q, self.rates)),
                **dict(zip(self.u, accelerations))})
            for x, rate in zip(self.coordinates, self.rates):
                symbol = derivative(x, time, 2)
                if symbol not in builder.bound:
                    builder.bound[symbol] = self.total_derivative(rate)
            known = {*self.speeds}
            for x in [x for x in self.given_speeds if x not in known]:
                builder.bound[derivative(x, time)] = self.total_derivative(
                    builder.bound[x])
        return accelerations

    def linear_in_accelerations(self, ref):
        """Coefficients of ``u'`` and the rest, None if not linear in it."""
        g, rates = self.builder, self.declare_accelerations()
        g.avoid(rates)                  # they may cancel in ``ref``
        row = gradient(g, ref, rates)
        if g.mask(row) & g.mask(rates) or self.accelerations_in(
                ref, *row, allowed=self.accelerations):
            return None
        rest, = substitute(g, [ref], dict.fromkeys(rates, 0))
        return row, rest

    @property
    def accelerations(self):
        return [derivative(x, self.builder.time) for x in self.speeds]

    # -- velocities ------------------------------------------------------

    def _carried_by(self, axes, frame, quantity, step):
        """A quantity of a frame in ``axes``, zero for the inertial frame."""
        # From frame to frame, each in its own axes, as far as the ``axes``;
        # the rest in ``axes``. If these are not on the way, as far as the
        # frame, and then turned. All in ``axes`` if frames on the way turn
        # and have no orientation.
        parents = self.turning_frames
        if frame not in parents:
            raise KinematicsError(
                f"Frame {frame} has no angular velocity in {self.frame}. "
                "It is needed for the motion of a body or of a vector; "
                "orient the frame, or call `set_ang_vel`.", frame=frame)
        own = self._known[quantity, None]

        def further(frame, parent, value, axes=None):
            if parent is None:
                return ZERO
            edge = _compat.angular_velocities(frame)[parent]
            return self.gathered(axes or frame, (
                (axes or parent, value), *step(edge)))

        known = self._known[quantity, axes]
        if carried(self._known['oriented'], frame, parents, (
                lambda frame, parent, others: others is not False
                and frame in self.oriented)):
            last = frame
            while last not in (axes, None):
                last = parents[last]
            if last is None:
                return self.rotated(axes, frame, carried(
                    own, frame, parents, further))
            if axes not in known:
                known[axes] = carried(own, axes, parents, further)
        return carried(known, frame, parents, partial(further, axes=axes))

    @remembered
    def angular_velocity(self, frame, axes):
        return self._carried_by(
            axes, frame, Kinematics.angular_velocity, self.parts)

    def derivative(self, vector, axes):
        """Inertial derivative, at ``u' = 0``, of a SymPy vector."""
        return self.total(axes, (
            (frame, self._derivative_in(frame, numbers))
            for frame, numbers in self.parts(vector)))

    def _derivative_in(self, frame, numbers):
        rate = tuple(map(self.bias, numbers))
        if frame == self.frame:
            return rate
        return self.builder.added(rate, self.builder.cross(
            self.angular_velocity(frame, frame), numbers))

    @remembered
    def velocity(self, point, axes):
        """Velocity of a point in the inertial frame.

        The velocity that was set defines it. Else it is that of the nearest
        point that has one, plus the derivative of the relative position,
        which is SymPy's rule.
        """
        if point in self.anchors:
            anchor, frame = self.anchors[point]
            arm = self.offset(anchor, point, axes)
            if any(self.builder.depends_on(x, *self.u) for x in arm):
                raise KinematicsError(
                    f"The position of {point} relative to its anchor {anchor} "
                    "depends on a speed, e.g. by a mass that does. Partial "
                    "velocities of a mass centre are not taken there; give "
                    "the parts of the body that do not move in it as bodies "
                    "of their own.", point=point)
            return self.builder.added(
                self.velocity(anchor, axes), self.builder.cross(
                    self.angular_velocity(frame, axes), arm))

        def further(point, before, velocity):
            if before is None:
                return self.measure(
                    _compat.velocity(point, self.frame), axes)
            edge = _compat.positions(point)[before]
            return self.builder.added(velocity, self.derivative(edge, axes))

        return carried(self._known[Kinematics.velocity, axes], point,
                       self.way_of_velocity(point), further)

    def axes_of_velocity(self, point):
        """Axes in which a velocity is known, or the inertial ones."""
        return next((axes for axes in self.oriented if point in self._known[
            Kinematics.velocity, axes]), self.frame)

    def way_of_velocity(self, point):
        """Point -> the next one on its way to the nearest set velocity."""
        # For all connected points; None where a velocity was set.
        before = self._known[Kinematics.way_of_velocity]
        if point in before:
            return before
        points = [x for x, _ in breadth_first([point], self._linked)]
        starts = [x for x in points
                  if _compat.velocity(x, self.frame) is not None]
        if not starts:
            raise KinematicsError(
                f"Point {point} has no velocity in {self.frame}, and no point "
                "that is connected to it by positions has one. Set the "
                "velocity of the fixed point with `set_vel(frame, 0)`, and "
                "the positions of the others relative to it.", point=point)
        steps = {None: -1}
        for here, there in breadth_first(starts, self._linked):
            steps[here] = steps[there] + 1
        before.update(dict.fromkeys(starts))
        before.update((x, next(y for y in self._linked(x)
                               if steps[y] < steps[x]))
                      for x in points if steps[x])
        return before

    # -- accelerations ---------------------------------------------------

    @remembered
    def acceleration(self, point, axes):
        # Every part of the velocity is differentiated in its own frame.
        g = self.builder
        if point in self.anchors:
            anchor, frame = self.anchors[point]
            arm = self.offset(anchor, point, axes)
            w = self.angular_velocity(frame, axes)
            total = g.added(self.acceleration(anchor, axes), g.cross(
                self.angular_acceleration(frame, axes), arm))
            return g.added(total, g.cross(w, g.cross(w, arm)))

        def further(point, before, acceleration):
            if before is None:
                return self.derivative(
                    _compat.velocity(point, self.frame), axes)
            return self._accelerated(point, before, acceleration, axes)

        # An acceleration that was set for another point is that point's own.
        bias = carried(self._known[Kinematics.acceleration, axes], point,
                       self.way_of_velocity(point), further)
        return self._as_set(_compat.acceleration(point, self.frame), bias,
                            axes, self.velocity(point, axes),
                            f'point {point}')

    def _accelerated(self, here, there, acceleration, axes):
        for frame, numbers in self.parts(_compat.positions(here)[there]):
            if frame == self.frame or any(map(self.bias, numbers)):
                rate = self._derivative_in(
                    frame, self._derivative_in(frame, numbers))
            else:
                rate = tuple(self.builder.dot(row, numbers)
                             for row in self._turning(frame))
            acceleration = self.builder.added(
                acceleration, self.rotated(axes, frame, rate))
        return acceleration

    @remembered
    def _turning(self, frame):
        """Rows of ``B``: ``B*r`` is the acceleration of ``r``, fixed in the
        frame; in its axes.
        """
        g, w = self.builder, self.angular_velocity(frame, frame)
        changes = self._change_of_turning(frame, frame)
        squares = [g.mul(a, a) for a in w]
        products = [g.mul(w[i], w[j]) for i, j in ((1, 2), (2, 0), (0, 1))]
        B = [[0]*3 for _ in range(3)]
        for i, (change, product) in enumerate(zip(changes, products)):
            j, k = (i + 1) % 3, (i + 2) % 3
            B[i][i] = -g.add(squares[j], squares[k])
            B[j][k] = g.sub(product, change)
            B[k][j] = g.add(product, change)
        return B

    def _change_of_turning(self, frame, axes):
        """Angular acceleration of a frame at ``u' = 0`` from its velocity."""
        return self._carried_by(
            axes, frame, Kinematics.angular_acceleration, lambda edge: [
                (frame, self._derivative_in(frame, numbers))
                for frame, numbers in self.parts(edge)])

    def angular_acceleration(self, frame, axes):
        """Angular acceleration of a frame at ``u' = 0``."""
        return self._as_set(
            _compat.angular_acceleration(frame, self.frame),
            self._change_of_turning(frame, axes), axes,
            self.angular_velocity(frame, axes), f'frame {frame}')

    def _as_set(self, given, bias, axes, velocity, name):
        """Bias of the acceleration that the user has set, if any."""
        # ``KanesMethod`` takes it, and so do we, where it is linear in ``u'``
        # with the coefficients of the velocity.
        if given is None:
            return bias
        g, accelerations = self.builder, self.declare_accelerations()
        numbers = self.measure(given, axes)
        for number, component in zip(numbers, velocity):
            slopes = gradient(g, number, accelerations)
            if not all(map(g.same_value, slopes,
                           [d(component) for d in self.by_speed])):
                raise KinematicsError(
                    f"The acceleration set for {name} does not fit its "
                    "velocity: its coefficients of the rates of the speeds "
                    "are not the partial velocities. Remove the acceleration "
                    "(it follows from the velocity), or correct one of the "
                    "two.", name=name)
        return tuple(substitute(g, numbers, dict.fromkeys(accelerations, 0)))

    def columns(self, vector):
        """Speed index -> partial derivative of a vector, zeros left out."""
        vector, columns = tuple(vector), {}
        depends = self.builder.mask(vector) & self._speed_bits
        while depends:
            k = self._index[depends & -depends]
            depends &= depends - 1
            column = tuple(map(self.by_speed[k], vector))
            if any(column):
                columns[k] = column
        return columns
