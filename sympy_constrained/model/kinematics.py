"""Frames, points and speeds of SymPy on the graph.

Orientation, angular velocity and position are three separate graphs of
SymPy's objects. Each is searched breadth first in the order of insertion,
which gives the shortest path, as SymPy takes it. Nothing is stored in the
user's objects. The quantities are defined by each other and share one memo,
so they are one class and one long file.
"""
from __future__ import annotations

from itertools import pairwise
from operator import mul

from sympy import Derivative, MatrixBase

from .. import _compat
from ..errors import KinematicsError
from ..graph import (
    Derivation, derivative, gradient, read, substitute, time_derivative)
from ..graph.builder import PRIME

__all__ = ['Kinematics']

IDENTITY = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


class Kinematics:
    """Positions, velocities and accelerations of one model on one builder.

    Explanation
    ===========

    Vectors are triples of references: the measure numbers in the axes of a
    frame. With ``q' = rates(q, u, t)`` the time derivative taken here is the
    one at ``u' = 0``, so that accelerations are biases: what is left of them
    when no speed changes.

    Parameters
    ==========

    builder : GraphBuilder
    frame : ReferenceFrame
        The inertial frame.
    q, u : iterable of dynamicsymbols
        Coordinates and speeds. A speed may be the derivative of a
        coordinate.
    rates : list of references, length n
        ``q'`` in terms of ``q``, ``u`` and ``t``; see
        :func:`.solve_kinematics`.
    anchors : dict, optional
        Mass centre -> ``(point, frame)`` fixed in its body: the mass centre
        stands for the point of the body that is there at the moment.

    """

    def __init__(self, builder, frame, q, u, rates, anchors=None):
        self.builder = builder
        self.frame = frame
        self.anchors = anchors or {}
        time = builder.time
        self.q = [builder.input(x, dynamic=True) for x in q]
        self.u = [builder.input(x, dynamic=True) for x in u]
        self.rates = rates
        builder.read.clear()            # q' means its rate from here on
        for x, rate in zip(q, rates):
            builder.bound[derivative(x, time)] = rate
        seeds = dict(zip(self.q, rates))
        seeds.update((k, 0) for k in self.u)
        self.bias = time_derivative(builder, seeds)
        self.total_derivative = None    # see declare_accelerations
        self.by_speed = [Derivation(builder, {k: 1}) for k in self.u]
        self._trees = {}
        self._memo = {}
        self._parts = {}

    # -- acceleration level ----------------------------------------------

    def accelerations_in(self, *refs, allowed=()):
        """Derivatives of coordinates and speeds that references contain.

        All that are no speed and no rate, but for the ``allowed`` ones.
        """
        g = self.builder
        states = [g.inputs[g.nodes[k][1]] for k in (*self.q, *self.u)]
        functions = {x.expr if isinstance(x, Derivative) else x
                     for x in states}
        return [x for x in g.symbols_of(*refs)
                if isinstance(x, Derivative) and x.expr in functions
                and x not in states and x not in allowed]

    def declare_accelerations(self, u):
        """Bind ``u'`` and ``q''``; return the references of ``u'``."""
        builder, time = self.builder, self.builder.time
        accelerations = [builder.input(derivative(x, time), dynamic=True)
                         for x in u]
        if self.total_derivative is None:
            self.total_derivative = time_derivative(builder, {
                **dict(zip(self.q, self.rates)),
                **dict(zip(self.u, accelerations))})
            for k, rate in zip(self.q, self.rates):
                symbol = derivative(
                    builder.inputs[builder.nodes[k][1]], time, 2)
                if symbol not in builder.bound:
                    builder.bound[symbol] = self.total_derivative(rate)
        return accelerations

    # -- orientation -----------------------------------------------------

    def _tree(self, root, neighbours):
        """Parent of every object on its shortest path to ``root``."""
        key = root, neighbours
        if key not in self._trees:
            parents, queue = {root: None}, [root]
            for here in queue:
                for there in neighbours(here):
                    if there not in parents:
                        parents[there] = here
                        queue.append(there)
            self._trees[key] = parents
        return self._trees[key]

    @property
    def oriented(self):
        """The frames that have an orientation in the inertial frame."""
        return self._tree(self.frame, _compat.orientations)

    def way_to(self, frame):
        """The frames from the inertial one to another, both included."""
        way = []
        while frame is not None:
            way.append(frame)
            frame = self.oriented.get(frame)
        return way[::-1]

    def _remembered(self, compute, *key):
        key = compute, *key
        value = self._memo.get(key)
        if value is None:
            value = self._memo[key] = compute(*key[1:])
        return value

    def rotation(self, axes, frame):
        """Rows of ``R`` with ``v_axes = R*v_frame``."""
        return self._remembered(self._rotation, axes, frame)

    def _rotation(self, axes, frame):
        if frame == axes:
            return IDENTITY
        parents = self._tree(axes, _compat.orientations)
        if frame not in parents:
            raise KinematicsError(
                f"Frame {frame} has no orientation relative to frame {axes}. "
                "A vector or an inertia is written in it; orient the frame "
                "with one of its `orient_...` methods.", frame=frame)
        parent = parents[frame]
        return self._product(
            self.rotation(axes, parent),
            self._read_matrix(_compat.orientations(parent)[frame]))

    def _read_matrix(self, matrix):
        flat = [read(self.builder, e) for e in matrix.flat()]
        return tuple(tuple(flat[3*i:3*i + 3]) for i in range(3))

    def _product(self, a, b):
        columns = tuple(zip(*b))
        return tuple(tuple(self.builder.dot(row, column)
                           for column in columns) for row in a)

    def rotated(self, axes, frame, vector):
        """Measure numbers in ``axes`` of a vector measured in ``frame``."""
        if frame == axes or not any(vector):
            return tuple(vector)
        return tuple(self.builder.dot(row, vector)
                     for row in self.rotation(axes, frame))

    def rotated_matrix(self, axes, frame, matrix):
        """Measure numbers in ``axes`` of a symmetric dyadic in ``frame``.

        A multiple of the identity is the same in all axes: that of a moment
        of inertia is taken out, of one that occurs twice if there is one.
        """
        if frame == axes or not any(map(any, matrix)):
            return matrix
        g, R = self.builder, self.rotation(axes, frame)
        moments = [matrix[i][i] for i in range(3)]
        common = max(moments, key=moments.count)
        if not common or not self.is_orthogonal(axes, frame):
            common = 0
        rest = [[g.sub(x, common) if i == j else x
                 for j, x in enumerate(row)] for i, row in enumerate(matrix)]
        half = self._product(R, rest)
        found = [[0]*3 for _ in range(3)]
        for i in range(3):
            for j in range(i, 3):
                value = g.dot(half[i], R[j])
                found[i][j] = found[j][i] = (
                    g.add(value, common) if i == j else value)
        return tuple(map(tuple, found))

    def is_orthogonal(self, axes, frame):
        """Whether a rotation matrix is orthogonal identically.

        That of a quaternion is so only where its norm is one.
        """
        return self._remembered(self._is_orthogonal, axes, frame)

    def _is_orthogonal(self, axes, frame):
        values = [[self.builder.fingerprint(x) for x in row]
                  for row in self.rotation(axes, frame)]
        return all(
            (sum(map(mul, values[i], values[j])) - (i == j)) % PRIME == 0
            for i in range(3) for j in range(i, 3))

    def rotation_residuals(self, frames):
        """Entries of ``R*R^T - 1`` that do not vanish identically.

        ``R`` are the matrices by which SymPy orients the frames.
        """
        links = dict.fromkeys(
            link for frame in frames for link in pairwise(self.way_to(frame)))
        residuals = {}
        for parent, child in links:
            R = self._read_matrix(_compat.orientations(parent)[child])
            for i in range(3):
                for j in range(i, 3):
                    entry = self.builder.sub(
                        self.builder.dot(R[i], R[j]), int(i == j))
                    if entry:
                        residuals[abs(entry)] = None
        return list(residuals)

    def measure(self, vector, axes):
        """Measure numbers of a SymPy vector in the axes of a frame."""
        total = (0, 0, 0)
        for frame, numbers in self.parts(vector):
            total = self.builder.added(
                total, self.rotated(axes, frame, numbers))
        return total

    def parts(self, vector):
        """Pairs of a frame and the references of the measure numbers in it.
        """
        found = self._parts.get(id(vector))
        if found is None:               # the vector is kept: ids are unique
            found = self._parts[id(vector)] = vector, [
                (frame, tuple(read(self.builder, e) for e in (
                    # SymPy makes nan of nan times a column
                    numbers.flat() if isinstance(numbers, MatrixBase)
                    else 3*[numbers]))) for numbers, frame in vector.args]
        return found[1]

    # -- velocities ------------------------------------------------------

    def positions(self, points, origin=None, axes=None):
        """Positions of all points that are connected to the first one.

        Parameters
        ==========

        points : list of Point
        origin : Point, optional
            By default a point at rest if there is one among them, else the
            first.
        axes : ReferenceFrame, optional
            The inertial frame by default.

        Returns
        =======

        origin : Point or None
        dict
            Point -> position relative to the origin, in these axes.

        """
        if not points:
            return None, {}
        return self._remembered(
            self._positions, points[0], origin, axes or self.frame)

    def _positions(self, point, origin, axes):
        origin, parts = self.position_parts(point, origin)
        found = {}
        for point, (parent, steps) in parts.items():
            total = found.get(parent, (0, 0, 0))
            for frame, numbers in steps:
                total = tuple(map(self.builder.sub, total, self.rotated(
                    axes, frame, numbers)))
            found[point] = total
        return origin, found

    def position_parts(self, first, origin=None):
        """The steps to all points that are connected to the first one.

        Returns
        =======

        origin : Point or None
        dict
            Point -> the point before it, nearer to the origin, and pairs of
            a frame and the measure numbers of what is subtracted.

        """
        return self._remembered(self._position_parts, first, origin)

    def _position_parts(self, first, origin):
        connected = list(self._tree(first, _compat.positions))
        if origin is None:
            origin = next((point for point in connected if _compat.velocity(
                point, self.frame) == 0), first)
        found, queue = {origin: (None, ())}, [origin]
        for here in queue:
            for there, vector in _compat.positions(here).items():
                if there in found or any(
                        frame not in self.oriented
                        for _, frame in vector.args):
                    continue
                found[there] = here, self.parts(vector)
                queue.append(there)
        return origin, found

    def angular_velocity(self, frame, axes):
        """Angular velocity of ``frame`` in the inertial frame."""
        return self._remembered(self._angular_velocity, frame, axes)

    def _angular_velocity(self, frame, axes):
        if frame == self.frame:
            return (0, 0, 0)
        parents = self._tree(self.frame, _compat.angular_velocities)
        if frame not in parents:
            raise KinematicsError(
                f"Frame {frame} has no angular velocity in {self.frame}. "
                "It is needed for the motion of a body or of a vector; "
                "orient the frame, or call `set_ang_vel`.", frame=frame)
        parent = parents[frame]
        edge = _compat.angular_velocities(frame)[parent]
        return self.builder.added(self.angular_velocity(parent, axes),
                                  self.measure(edge, axes))

    def derivative(self, vector, axes):
        """Inertial derivative, at ``u' = 0``, of a SymPy vector."""
        total = (0, 0, 0)
        for frame, numbers in self.parts(vector):
            total = self.builder.added(total, self.rotated(
                axes, frame, self._derivative_in(frame, numbers)))
        return total

    def _derivative_in(self, frame, numbers):
        rate = tuple(map(self.bias, numbers))
        if frame == self.frame:
            return rate
        return self.builder.added(rate, self.builder.cross(
            self.angular_velocity(frame, frame), numbers))

    def velocity(self, point, axes):
        """Velocity of a point in the inertial frame.

        The velocity that was set defines it. Else it is that of the nearest
        point that has one, plus the derivative of the relative position,
        which is SymPy's rule.
        """
        return self._remembered(self._velocity, point, axes)

    def _velocity(self, point, axes):
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
        given = _compat.velocity(point, self.frame)
        if given is not None:
            return self.measure(given, axes)
        path = self._remembered(self._path_to_known_velocity, point)
        start = path[-1]
        total = self.measure(_compat.velocity(start, self.frame), axes)
        for there, here in zip(reversed(path), reversed(path[:-1])):
            total = self._remembered(self._carried, here, there, total, axes)
        return total

    def _carried(self, here, there, velocity, axes):
        edge = _compat.positions(here)[there]
        return self.builder.added(velocity, self.derivative(edge, axes))

    def _path_to_known_velocity(self, point):
        oriented = self.oriented
        parents, queue = {point: None}, [point]
        for here in queue:
            for there, edge in _compat.positions(here).items():
                if there in parents or any(
                        frame not in oriented for _, frame in edge.args):
                    continue
                parents[there] = here
                if _compat.velocity(there, self.frame) is not None:
                    path = [there]
                    while parents[path[-1]] is not None:
                        path.append(parents[path[-1]])
                    return path[::-1]
                queue.append(there)
        raise KinematicsError(
            f"Point {point} has no velocity in {self.frame}, and no point "
            "that is connected to it by positions has one. Set the velocity "
            "of the fixed point with `set_vel(frame, 0)`, and the positions "
            "of the others relative to it.", point=point)

    def offset(self, start, end, axes):
        """Position of a point relative to another one."""
        parents = self._tree(start, _compat.positions)
        if end not in parents:
            raise KinematicsError(
                f"Point {end} has no position relative to point {start}. "
                "Set it with `set_pos`.", point=end)
        total = (0, 0, 0)
        while parents[end] is not None:
            total = self.builder.added(total, self.measure(
                _compat.positions(end)[parents[end]], axes))
            end = parents[end]
        return total

    def acceleration(self, point, axes):
        """Acceleration of a point at ``u' = 0``."""
        if point in self.anchors:
            g, (anchor, frame) = self.builder, self.anchors[point]
            arm = self.offset(anchor, point, axes)
            w = self.angular_velocity(frame, axes)
            total = g.added(self.acceleration(anchor, axes), g.cross(
                self.angular_acceleration(frame, axes), arm))
            return g.added(total, g.cross(w, g.cross(w, arm)))
        return self._remembered(self._acceleration, point, axes)

    def _acceleration(self, point, axes):
        """Every part of the velocity is differentiated in its own frame."""
        v = self.velocity(point, axes)
        path = [point]
        if _compat.velocity(point, self.frame) is None:
            path = self._remembered(self._path_to_known_velocity, point)
        # An acceleration that was set for another point is that point's own.
        bias = self.derivative(
            _compat.velocity(path[-1], self.frame), axes)
        for there, here in zip(reversed(path), reversed(path[:-1])):
            bias = self._remembered(
                self._accelerated, here, there, bias, axes)
        return self._as_set(_compat.acceleration(point, self.frame),
                            bias, axes, v, f'point {point}')

    def _accelerated(self, here, there, acceleration, axes):
        for frame, numbers in self.parts(_compat.positions(here)[there]):
            if frame == self.frame or any(map(self.bias, numbers)):
                rate = self._derivative_in(
                    frame, self._derivative_in(frame, numbers))
            else:
                rate = tuple(self.builder.dot(row, numbers) for row
                             in self._remembered(self._turning, frame))
            acceleration = self.builder.added(
                acceleration, self.rotated(axes, frame, rate))
        return acceleration

    def _turning(self, frame):
        """Rows of ``B``: ``B*r`` is the acceleration of ``r``, fixed in the
        frame; in its axes.
        """
        g, w = self.builder, self.angular_velocity(frame, frame)
        x, y, z = map(self.bias, w)
        squares = [g.mul(a, a) for a in w]
        products = [g.mul(w[i], w[j]) for i, j in ((1, 2), (2, 0), (0, 1))]
        B = [[0]*3 for _ in range(3)]
        for i, (change, product) in enumerate(zip((x, y, z), products)):
            j, k = (i + 1) % 3, (i + 2) % 3
            B[i][i] = -g.add(squares[j], squares[k])
            B[j][k] = g.sub(product, change)
            B[k][j] = g.add(product, change)
        return B

    def angular_acceleration(self, frame, axes):
        """Angular acceleration of a frame at ``u' = 0``."""
        w = self.angular_velocity(frame, axes)
        bias = self._derivative_in(axes, w)
        return self._as_set(_compat.angular_acceleration(frame, self.frame),
                            bias, axes, w, f'frame {frame}')

    def _as_set(self, given, bias, axes, velocity, name):
        """Bias of the acceleration that the user has set, if any.

        ``KanesMethod`` takes it, and so do we, where it is linear in ``u'``
        with the coefficients of the velocity.
        """
        if given is None:
            return bias
        builder = self.builder
        symbols = [builder.inputs[builder.nodes[k][1]] for k in self.u]
        accelerations = self.declare_accelerations(symbols)
        numbers = self.measure(given, axes)
        columns = [tuple(map(d, velocity)) for d in self.by_speed]
        for i, number in enumerate(numbers):
            slopes = gradient(builder, number, accelerations)
            if not all(map(builder.same_value, slopes,
                           [column[i] for column in columns])):
                raise KinematicsError(
                    f"The acceleration set for {name} does not fit its "
                    "velocity: its coefficients of the rates of the speeds "
                    "are not the partial velocities. Remove the acceleration "
                    "(it follows from the velocity), or correct one of the "
                    "two.", name=name)
        return tuple(substitute(builder, numbers,
                                dict.fromkeys(accelerations, 0)))

    def columns(self, vector):
        """Speed index -> partial derivative of a vector, zeros left out."""
        found, depends = {}, 0
        for ref in vector:
            depends |= self.builder.depends[abs(ref)]
        for k, derivation in enumerate(self.by_speed):
            if not depends & derivation.mask:
                continue
            column = tuple(map(derivation, vector))
            if any(column):
                found[k] = column
        return found
