"""Frames and points of SymPy on the graph.

Orientation, angular velocity and position are three separate graphs of
SymPy's objects. Each is searched breadth first in the order of insertion,
which gives the shortest path, as SymPy takes it. Nothing is stored in the
user's objects.
"""
from collections import defaultdict
from functools import cached_property, wraps
from operator import mul

from sympy import MatrixBase

from .. import _compat
from ..errors import KinematicsError
from ..graph import read
from ..graph.calculus import without
from ..graph.nodes import INPUT, PRIME

ZERO = (0, 0, 0)
IDENTITY = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
# Entries of a symmetric matrix.
UPPER = tuple((i, j) for i in range(3) for j in range(i, 3))


def remembered(method):
    """A method whose values are kept in the memo of its object."""
    @wraps(method)
    def kept(self, *arguments):
        key = method, arguments
        value = self._memo.get(key)
        if value is None:
            value = self._memo[key] = method(self, *arguments)
        return value

    return kept


def breadth_first(starts, neighbours):
    """Yield objects from near to far, each with the one before it."""
    seen, queue = set(starts), [*starts]
    yield from ((start, None) for start in starts)
    for here in queue:
        for there in neighbours(here):
            if there not in seen:
                seen.add(there)
                queue.append(there)
                yield there, here


def carried(known, item, before, step):
    """Value of an item, from that of the item ``before`` it, and so on.

    ``step(item, before, value)`` has None for the item before the first one.
    Values are kept in ``known``. The way may be longer than Python's stack.
    """
    way = []
    while item is not None and item not in known:
        way.append(item)
        item = before[item]
    value = known.get(item)
    for item in reversed(way):
        value = known[item] = step(item, before[item], value)
    return value


class Geometry:
    """Orientations and positions of one model on one builder.

    Vectors are triples of references: the measure numbers in the axes of a
    frame. ``frame`` is the inertial one.
    """

    def __init__(self, builder, frame):
        self.builder = builder
        self.frame = frame
        self._memo = {}
        self._parts = {}
        # (quantity, axes) -> values that were found before, by object
        self._known = defaultdict(dict)

    # -- orientation -----------------------------------------------------

    @remembered
    def _tree(self, root, neighbours):
        """Parent of every object on its shortest path to ``root``."""
        return dict(breadth_first([root], neighbours))

    @cached_property
    def oriented(self):
        """The frames that have an orientation in the inertial frame."""
        return self._tree(self.frame, _compat.orientations)

    @cached_property
    def turning_frames(self):
        """The frames that have an angular velocity, each with its parent."""
        return self._tree(self.frame, _compat.angular_velocities)

    def way_to(self, frame):
        """The frames from the inertial one to another, both included."""
        way = []
        while frame is not None:
            way.append(frame)
            frame = self.oriented.get(frame)
        return way[::-1]

    def rotation(self, axes, frame):
        """Rows of ``R`` with ``v_axes = R*v_frame``."""
        if frame == axes:
            return IDENTITY
        known = self._known[Geometry.rotation, axes]
        if frame in known:
            return known[frame]
        near = _compat.orientations(axes)
        parents = {frame: axes, axes: None} if frame in near else (
            self._tree(axes, _compat.orientations))
        if frame not in parents:
            raise KinematicsError(
                f"Frame {frame} has no orientation relative to frame {axes}. "
                "A vector or an inertia is written in it; orient the frame "
                "with one of its `orient_...` methods.", frame=frame)

        def turned(frame, parent, R):
            if parent is None:
                return IDENTITY
            return self._product(R, self._edge(parent, frame))

        return carried(known, frame, parents, turned)

    def _edge(self, parent, frame):
        """Rows of ``R`` of two frames of which one orients the other."""
        known = self._known[Geometry._edge]
        if (parent, frame) not in known:
            R = self._read_matrix(_compat.orientations(parent)[frame])
            known[parent, frame], known[frame, parent] = R, tuple(zip(*R))
        return known[parent, frame]

    def _read_matrix(self, matrix):
        flat = [read(self.builder, e) for e in _compat.entries(matrix)]
        return tuple(tuple(flat[3*i:3*i + 3]) for i in range(3))

    def _product(self, a, b):
        columns = tuple(zip(*b))
        dot = self.builder.dot
        return tuple([tuple([dot(row, column) for column in columns])
                      for row in a])

    def rotated(self, axes, frame, vector):
        """Measure numbers in ``axes`` of a vector measured in ``frame``."""
        if frame == axes or not any(vector):
            return tuple(vector)
        dot = self.builder.dot
        return tuple([dot(row, vector) for row in self.rotation(axes, frame)])

    def rotated_matrix(self, axes, frame, matrix, entries=UPPER):
        """Measure numbers in ``axes`` of a symmetric dyadic in ``frame``.

        The ``entries`` are those that are needed; others may be zero.
        """
        # A multiple of the identity is the same in all axes: that of a moment
        # of inertia is taken out, of one that occurs twice if there is one.
        if frame == axes or not any(map(any, matrix)):
            return matrix
        g, R = self.builder, self.rotation(axes, frame)
        moments = [matrix[i][i] for i in range(3)]
        common = max(moments, key=moments.count)
        if common and not self.is_orthogonal(axes, frame):
            common = 0
        rest = list(map(list, matrix))
        for i in range(3):
            rest[i][i] = g.sub(moments[i], common)
        rows = {i: R[i] for i, _ in entries}
        half = dict(zip(rows, self._product(rows.values(), rest)))
        turned = [[0]*3 for _ in range(3)]
        for i, j in entries:
            value = g.dot(half[i], R[j])
            turned[i][j] = turned[j][i] = (
                g.add(value, common) if i == j else value)
        return tuple(map(tuple, turned))

    @remembered
    def is_orthogonal(self, axes, frame):
        # That of a quaternion is so only where its norm is one.
        values = [list(map(self.builder.fingerprint, row))
                  for row in self.rotation(axes, frame)]
        return all(
            (sum(map(mul, values[i], values[j])) - (i == j)) % PRIME == 0
            for i, j in UPPER)

    def rotation_residuals(self, frames, q):
        """Entries of ``R*R^T - 1`` that are more than rounding, and whose
        values depend on ``q`` alone.
        """
        g, residuals, parents = self.builder, {}, {}
        for child in frames:
            while self.oriented.get(child) and child not in parents:
                parents[child] = self.oriented[child]
                child = parents[child]
        for child, parent in parents.items():
            if self.is_orthogonal(parent, child):
                continue
            R = self._edge(parent, child)
            for i, j in UPPER:
                entry = g.dot(R[i], R[j])
                if not g.same_value(entry, int(i == j)):
                    residuals[abs(g.sub(entry, int(i == j)))] = None
        others = [k for k, node in enumerate(g.nodes)
                  if node[0] == INPUT and k not in q]
        return [x for x in without(g, residuals, others) if x is not None
                ] if residuals else []

    def total(self, axes, parts):
        """Sum in ``axes`` of vectors, pairs of a frame and measure numbers."""
        total = ZERO
        for frame, numbers in parts:
            numbers = self.rotated(axes, frame, numbers)
            total = numbers if total is ZERO else self.builder.added(
                total, numbers)
        return total

    def gathered(self, axes, parts):
        """The same, where parts in one frame are added before they turn."""
        sums = {}
        for frame, numbers in parts:
            sums[frame] = self.builder.added(
                sums.get(frame, ZERO), numbers)
        return self.total(axes, sums.items())

    def measure(self, vector, axes):
        """Measure numbers of a SymPy vector in the axes of a frame."""
        return self.total(axes, self.parts(vector))

    def parts(self, vector):
        """Pairs of a frame and the measure numbers of a vector in it."""
        known = self._parts.get(id(vector))
        if known is None:               # the vector is kept: ids are unique
            known = self._parts[id(vector)] = vector, [
                (frame, tuple(read(self.builder, e) for e in (
                    # SymPy makes nan of nan times a column
                    _compat.entries(numbers)
                    if isinstance(numbers, MatrixBase)
                    else 3*[numbers]))) for numbers, frame in vector.args]
        return known[1]

    # -- positions -------------------------------------------------------

    def positions(self, points, origin=None, axes=None):
        """Positions of all points that are connected to the first one.

        Returns the origin, by default a point at rest if there is one among
        them, else the first, and a dictionary of the positions relative to
        it, by default in inertial axes.
        """
        if not points:
            return None, {}
        return self._positions(points[0], origin, axes or self.frame)

    @remembered
    def _positions(self, point, origin, axes):
        origin, parts = self.position_parts(point, origin)
        positions = {}
        for point, (parent, steps) in parts.items():
            total = positions.get(parent, ZERO)
            for frame, numbers in steps:
                total = tuple(map(self.builder.sub, total, self.rotated(
                    axes, frame, numbers)))
            positions[point] = total
        return origin, positions

    @remembered
    def position_parts(self, first, origin=None):
        """The steps to all points that are connected to the first one.

        Returns the origin, and a dictionary: point -> the point before it,
        nearer to the origin, and pairs of a frame and the measure numbers
        of what is subtracted.
        """
        if origin is None:
            origin = next((point for point in self._tree(
                first, _compat.positions) if _compat.velocity(
                    point, self.frame) == 0), first)
        return origin, {there: (here, self.parts(
            _compat.positions(here)[there]) if here else ())
            for there, here in breadth_first([origin], self._linked)}

    def between_points(self, end, start, before, depth):
        """Frames and measure numbers of the vector to a point from another.

        ``before`` maps points to the values of :meth:`position_parts`, and
        ``depth`` to their number on the way; None is the least.
        """
        total = {}
        while end is not start:
            if depth[end] >= depth[start]:
                (end, steps), join = before[end], self.builder.sub
            else:
                (start, steps), join = before[start], self.builder.add
            for frame, numbers in steps:
                total[frame] = tuple(map(
                    join, total.get(frame, ZERO), numbers))
        return {frame: x for frame, x in total.items() if any(x)}

    @remembered
    def _linked(self, point):
        """Points located from a point by vectors in oriented frames."""
        return [there for there, vector in _compat.positions(point).items()
                if all(frame in self.oriented for _, frame in vector.args)]

    def offset(self, start, end, axes):
        parents = self._tree(start, _compat.positions)
        if end not in parents:
            raise KinematicsError(
                f"Point {end} has no position relative to point {start}. "
                "Set it with `set_pos`.", point=end)
        total = ZERO
        while parents[end] is not None:
            total = self.builder.added(total, self.measure(
                _compat.positions(end)[parents[end]], axes))
            end = parents[end]
        return total
