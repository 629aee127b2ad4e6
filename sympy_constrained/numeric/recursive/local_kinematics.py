"""Kinematics in local axes."""
from ... import _compat
from ...errors import UnsupportedFeatureError
from ...model.geometry import IDENTITY, ZERO, remembered
from ...model.kinematics import Kinematics


REMEDY = ("Pass `recursion=False` (or 'auto') for the ordinary form, which "
          "takes any structure.")


def refused(fact):
    return UnsupportedFeatureError(
        f"The recursive equations do not cover this model: {fact} {REMEDY}")


class LocalKinematics(Kinematics):
    """Kinematics with short ways between frames that are close."""

    @remembered
    def _depths(self, neighbours):
        depth = {None: -1}
        for frame, parent in self._tree(self.frame, neighbours).items():
            depth[frame] = depth[parent] + 1
        return depth

    def between(self, start, end, neighbours):
        """Frames from both ends up to the one in which their ways meet."""
        parents, depth = (self._tree(self.frame, neighbours),
                          self._depths(neighbours))
        for frame in (start, end):
            if frame not in parents:
                raise refused(
                    f"Frame {frame} has no orientation, or no angular "
                    f"velocity, in {self.frame}.")
        up, down = [start], [end]
        while up[-1] != down[-1]:
            way = up if depth[up[-1]] >= depth[down[-1]] else down
            way.append(parents[way[-1]])
        return up, down

    @remembered
    def rotation(self, axes, frame):
        if frame == axes:
            return IDENTITY
        up, down = self.between(axes, frame, _compat.orientations)
        way, R = [*up, *down[-2::-1]], IDENTITY
        for here, there in zip(way, way[1:]):
            R = self._product(R, self._step(here, there))
        return R

    @remembered
    def _step(self, here, there):
        return self._read_matrix(_compat.orientations(here)[there])

    @remembered
    def carrier(self, frame):
        """The first frame inwards that does not move in those before it."""
        parents, way = self.oriented, [frame]
        while way[-1] != self.frame:
            parent = parents.get(way[-1])
            if parent is None:
                raise refused(f"Frame {frame} has no orientation.")
            R = self._step(way[-1], parent)
            if self.moves(sum(R, ())):
                break
            way.append(parent)
        return way[-1]

    def moves(self, refs):
        """Whether any reference depends on states, inputs or time."""
        return bool(self.builder.mask(refs) & self.builder.dynamic)

    @remembered
    def turning(self, base, frame):
        """Angular velocity of a frame seen from another, in its axes."""
        up, down = self.between(frame, base, _compat.angular_velocities)
        total = ZERO
        for way, sign in (up, 1), (down, -1):
            for here, there in zip(way, way[1:]):
                edge = _compat.angular_velocities(here)[there]
                w = self.gathered(frame, self.parts(edge))
                total = self.builder.added(total, (
                    w if sign > 0 else tuple(-x for x in w)))
        return total
