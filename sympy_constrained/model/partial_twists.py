r"""Partial twists of bodies, carried along the mechanism.

The twist of a body with speed ``k`` is :math:`(\omega_k, c_k)` with
:math:`c_k = v_k - \omega_k\times r`. Along a vector that is fixed in a frame
it does not change, and from a frame to the next it changes for the speeds of
the joint between them alone.
"""
from .. import _compat
from .geometry import ZERO, carried


class PartialTwists:
    """Speed index -> twist of bodies, as six references in ``axes``.

    ``positions`` maps points to their positions ``r``, zero for others.
    """

    def __init__(self, kinematics, axes, positions):
        self.kinematics, self.axes = kinematics, axes
        self.builder = kinematics.builder
        self.positions = positions
        self._turning = {}              # frame -> angular columns
        self._known = {}                # point -> see _further

    def of_body(self, point, frame):
        """Twists of what has a ``point`` and the angular velocity of a frame.

        Without a ``frame`` it does not turn, without a ``point`` the twists
        are those of a rotation about the origin.
        """
        r = self.positions.get(point, ZERO)
        angular = self._angular(frame) if frame else {}
        linear = self._linear(point, frame, r) if point else self._changed(
            {}, None, frame, r)
        return {k: twist for k in sorted({*angular, *linear}) if any(
            twist := angular.get(k, ZERO) + linear.get(k, ZERO))}

    def _linear(self, point, frame, r):
        """The columns of ``v - w x r``."""
        if frame and point not in self.kinematics.anchors:
            start, columns, end = carried(
                self._known, point, self.kinematics.way_of_velocity(point),
                self._further)
            if end == r:
                return self._changed(columns, start, frame, r)
        return self._changed(self.kinematics.columns(
            self.kinematics.velocity(point, self.axes)), None, frame, r)

    def _further(self, point, before, known):
        """A frame, the columns of ``v - w x r`` with its ``w``, and ``r``."""
        kinematics = self.kinematics
        if before is None:
            v = kinematics.measure(_compat.velocity(
                point, kinematics.frame), self.axes)
            return (None, kinematics.columns(v),
                    self.positions.get(point, ZERO))
        last, columns, r = known
        edge = _compat.positions(point)[before]
        for frame, numbers in kinematics.parts(edge):
            columns = self._changed(columns, last, frame, r)
            rate = kinematics.columns(map(kinematics.bias, numbers))
            columns = self._sum(columns, {
                k: kinematics.rotated(self.axes, frame, column)
                for k, column in rate.items()})
            r = self.builder.added(r, kinematics.rotated(
                self.axes, frame, numbers))
            last = frame
        return last, columns, r

    def _changed(self, columns, old, new, r):
        """The columns with the angular velocity of another frame."""
        g, w, change = self.builder, [
            self._angular(frame) if frame else {} for frame in (new, old)], {}
        for k in w[0] | w[1]:
            one, other = (x.get(k, ZERO) for x in w)
            if one != other:
                change[k] = g.cross(r, tuple(map(g.sub, one, other)))
        return self._sum(columns, change)

    def _angular(self, frame):
        """Speed index -> partial derivative of an angular velocity."""
        kinematics = self.kinematics
        return carried(self._turning, frame, kinematics.turning_frames,
                       self._turned)

    def _turned(self, frame, parent, columns):
        if parent is None:
            return {}
        edge = _compat.angular_velocities(frame)[parent]
        return self._sum(columns, self.kinematics.columns(
            self.kinematics.measure(edge, self.axes)))

    def _sum(self, columns, more):
        return columns | {
            k: self.builder.added(columns.get(k, ZERO), column)
            for k, column in more.items()} if more else columns
