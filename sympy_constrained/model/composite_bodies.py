r"""Mass matrix and forces from composite bodies.

A partial twist :math:`S_k = (\omega_k, c_k)` with
:math:`c_k = v_k - \omega_k\times r` describes how a body moves with speed
``k``, seen from a fixed origin. Bodies with equal twists form a group; in a
tree all descendants of a joint do, and the value numbering of the graph finds
them from the user's velocities alone. With the inertia
:math:`(m, h, J)` of the bodies two groups have in common

.. math::

   M_{jk} = \sum S_j\cdot P(S_k), \qquad
   P(S) = (J\omega + h\times c,\; m c - h\times\omega), \qquad
   Q_j = \sum \omega_j\cdot n + c_j\cdot f

where :math:`(n, f)` are the moment about the origin and the force, applied
and inertial. The results are right for any position :math:`r`, which
determines only how much is shared; a body without a position gets
:math:`r = 0`.

The inertia of a set of bodies is taken about a point of the model that their
twists leave at rest, such as the joint that carries them. There ``c``
vanishes, and so does most of the momentum ``P``; the contribution of a link
to the inertia is constant in its axes.
"""
from collections import defaultdict
from functools import reduce
from operator import or_

from .. import _compat
from .geometry import ZERO, breadth_first
from .partial_twists import PartialTwists

ENTRIES = (0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)


def moves_far(frame, bodies, most):
    """Whether more than so many frames move one of the bodies."""
    parents = dict(breadth_first([frame], _compat.orientations))
    first = bodies[0].masscenter
    origin = next((point for point, _ in breadth_first(
        [first], _compat.positions)
        if _compat.velocity(point, frame) == 0), first)
    before = dict(breadth_first([origin], _compat.positions))
    for body in bodies:
        point, x, moving = body.masscenter, getattr(body, 'frame', None), set()
        frames = []
        while len(moving) <= most:
            if parents.get(x):
                moving.add(x)
                x = parents[x]
            elif frames:
                x = frames.pop()
            elif before.get(point):
                step = _compat.positions(point)[before[point]]
                frames, point = [y for _, y in step.args], before[point]
            else:
                break
        else:
            return True
    return False


def turns_in_plane(frame):
    """Whether all frames that are oriented in a frame turn about one axis."""
    links = [_compat.orientations(x)[parent] for x, parent in breadth_first(
        [frame], _compat.orientations) if parent]
    return any(all(x[k, k] == 1 for x in links) for k in range(3))


class CompositeRoute:
    """Collects bodies, then fills an assembly.

    The alternative is ``add_body`` in the axes of each body alone. Both pay:
    operations of ``M, Q, A, b``, by composite bodies and by single bodies, are
    1201 and 5789 for a plane loop of 16 bars, 2000 and 2612 for a loop of 8
    bars in space, but 93 and 25 for a heavy top. All vectors are written in
    ``axes``. Inertias are ``(m, h, J)`` with ``J`` as six references
    ``xx, yy, zz, xy, xz, yz``; wrenches are ``(n, f)``.
    """

    def __init__(self, assembly, bodies, axes):
        self.assembly = assembly
        self.kinematics = assembly.kinematics
        self.builder = assembly.builder
        self.axes = axes
        centers = [body.masscenter for body in bodies]
        self.origin, self.steps = self.kinematics.position_parts(centers[0])
        self.positions = self.kinematics.positions(centers, axes=axes)[1]
        self.places = {point: tuple(map(self.builder.shadow, r))
                       for point, r in self.positions.items()}
        self.partial = PartialTwists(self.kinematics, axes, self.positions)
        self.depth = {None: -1}
        for point, (parent, _) in self.steps.items():
            self.depth[point] = self.depth[parent] + 1
        self.bodies, self.wrenches, self.twists = [], [], []

    def add(self, body, mass, inertia, frame, force, torque):
        """Add a body: its inertia, and its wrench in the common axes.

        ``force`` and ``torque`` are applied minus inertial, about the mass
        centre; the central ``inertia`` is in the axes of ``frame``.
        """
        point = body.masscenter
        self.bodies.append((mass, point, frame, inertia))
        self.wrenches.append((torque, force))
        turns = any(torque) or any(map(any, inertia))
        self.twists.append(self.partial.of_body(
            mass and point, turns and body.frame))

    def finish(self):
        """Fill the mass matrix and the forces of the assembly."""
        g, assembly = self.builder, self.assembly
        turning = [any(twist[i] for twists in self.twists
                       for twist in twists.values()) for i in range(3)]
        self.entries = [(i, j) for i, j in ENTRIES
                        if turning[i] and turning[j]]
        groups = self._groups()
        # Speed -> all bodies that it moves, and how many these are.
        moving = {k: reduce(or_, s.values()) for k, s in groups.items()}
        count = {k: s.bit_count() for k, s in moving.items()}
        self.momenta, self.totals = {}, {}
        for k, of_k in groups.items():
            known = {}                  # entries by angular velocity
            # The momentum of what moves fewer bodies serves more entries.
            for j in sorted(
                    (j for j in groups if moving[j] & moving[k]
                     and (count[k], -k) <= (count[j], -j)),
                    key=lambda j: (count[j], j != k, j)):
                assembly.M[min(j, k)][max(j, k)] = g.sum(
                    self._entry(twist, k, of_k, s & moving[k], known)
                    for twist, s in groups[j].items() if s & moving[k])
            for twist, s in of_k.items():
                assembly.Q[k] = g.add(assembly.Q[k], self._force(twist, s))

    def _groups(self):
        """Speed -> twist -> bodies as bits; the composites of all groups."""
        groups = defaultdict(lambda: defaultdict(int))
        turned = defaultdict(list)      # bodies -> twists that move them
        for i, twists in enumerate(self.twists):
            for k, twist in twists.items():
                groups[k][twist] |= 1 << i
        for of_speed in groups.values():
            for twist, s in of_speed.items():
                turned[s].append(twist)
        sets = set(turned) | {s & t for s in turned for t in turned if s & t}
        self._find_composites(sets, turned)
        return groups

    # -- composites ------------------------------------------------------

    def _find_composites(self, sets, turned):
        """Set of bodies -> mass, first moment, inertia, pole; moment and
        force.

        What only rotation needs is zero for sets that no speed turns.
        """
        self.composites, self.loads = {}, {}
        turning = [s for s, twists in turned.items()
                   if any(any(twist[:3]) for twist in twists)]
        for s in sorted(sets, key=lambda s: (s.bit_count(), s)):
            inner, rest = [], s
            while rest:
                largest = max((t for t in self.composites if t & rest == t),
                              key=lambda t: (t.bit_count(), t), default=0)
                if not largest:
                    break
                inner.append(largest)
                rest &= ~largest
            pole = self._pole(s, inner, turned[s])
            turns = any(s & t == s for t in turning)
            self.composites[s] = self._joined(pole, inner, rest, turns)
            self.loads[s] = self._load(pole, inner, rest, turns)

    def _pole(self, s, inner, twists):
        """The point about which the inertia of a set is taken."""
        for twist in twists:
            if any(twist[:3]):
                for point in self._at_rest(twist, self.places):
                    return point
        if inner:
            return self.composites[inner[0]][3]
        return self.bodies[s.bit_length() - 1][1]

    def _at_rest(self, twist, points):
        """Those of the points that a twist leaves at rest."""
        g = self.builder
        a, b, c, u, v, w = map(g.shadow, twist)
        size = 1e-9*max(abs(u), abs(v), abs(w), 1)
        for point in points:
            x, y, z = self.places.get(point, ZERO)
            if (abs(u + b*z - c*y) > size or abs(v + c*x - a*z) > size
                    or abs(w + a*y - b*x) > size):
                continue                # not at the builder's real point
            r = self.positions.get(point, ZERO)
            if not any(g.added(twist[3:], g.cross(twist[:3], r))):
                yield point

    def _difference(self, end, start):
        """Position of a point relative to another one, by frames."""
        end, start = (point if point in self.steps else self.origin
                      for point in (end, start))
        return self.kinematics.between_points(
            end, start, self.steps, self.depth)

    def _joined(self, pole, inner, rest, turns):
        g = self.builder
        h, J, own, first = ZERO, (0,)*6, {}, {}
        inner = [self.composites[s] for s in inner]
        rest = [self.bodies[i] for i in bits(rest)]
        mass = g.sum(m for m, *_ in inner + rest)
        if not turns:
            return mass, h, J, pole
        for m, moment, inertia, point in inner:
            h, J = g.added(h, moment), g.added(J, inertia)
            d = self._difference(point, pole)
            self._shift(m, d, own, first)
            if d and any(moment):
                arm = self._measured(d)
                for pair in (arm, moment), (moment, arm):
                    J = g.added(J, crossed(g, *pair, self.entries))
        for m, point, frame, inertia in rest:
            add_to(g, own, frame, tuple(inertia[i][j] for i, j in ENTRIES))
            self._shift(m, self._difference(point, pole), own, first)
        for frame, numbers in first.items():
            h = g.added(h, self.kinematics.rotated(self.axes, frame, numbers))
        for frame, (xx, yy, zz, xy, xz, yz) in own.items():
            A = self.kinematics.rotated_matrix(self.axes, frame, (
                (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)), self.entries)
            J = g.added(J, [A[i][j] for i, j in ENTRIES])
        return mass, h, J, pole

    def _measured(self, parts):
        return self.kinematics.total(self.axes, parts.items())

    def _shift(self, mass, parts, own, first):
        """Add a point mass to inertias and first moments by frames."""
        g = self.builder
        for frame, numbers in parts.items():
            add_to(g, first, frame, g.scaled(mass, numbers))
        if len(parts) > 1:
            parts = {self.axes: self._measured(parts)}
        for frame, d in parts.items():
            add_to(g, own, frame, crossed(g, d, g.scaled(mass, d), (
                self.entries if frame is self.axes else ENTRIES)))

    def _load(self, pole, inner, rest, turns):
        g = self.builder
        moment = force = ZERO
        loads = [(*self.loads[s], self.composites[s][3]) for s in inner]
        loads += [(*self.wrenches[i], self.bodies[i][1]) for i in bits(rest)]
        for n, f, point in loads:
            if turns:
                arm = self._measured(self._difference(point, pole))
                moment = g.added(g.added(moment, n), g.cross(arm, f))
            force = g.added(force, f)
        return moment, force

    # -- entries ---------------------------------------------------------

    def _entry(self, twist, k, of_k, s, known):
        """``S . P_k`` over the bodies ``s``."""
        # Entries ``known`` for an angular velocity differ by a displacement.
        g, key = self.builder, (k, s)
        w, c = twist[:3], twist[3:]
        if key not in self.momenta:
            each = [self._momentum(other, t & s)
                    for other, t in of_k.items() if t & s]
            self.momenta[key] = each, reduce(g.added, [
                f for *_, f in each], ZERO)
        momenta, linear = self.momenta[key]
        if not any(w):
            return g.dot(c, linear)
        if (w, s) in known:
            entry, other = known[w, s]
            entry = g.add(entry, g.dot(map(g.sub, c, other), linear))
        elif len(momenta) == 1 and any(
                self._at_rest(twist, [momenta[0][0]])):
            entry = g.dot(w, momenta[0][1])
        else:
            if key not in self.totals:
                self.totals[key] = self._about_origin(momenta)
            entry = g.add(g.dot(w, self.totals[key]), g.dot(c, linear))
        known[w, s] = entry, c
        return entry

    def _about_origin(self, momenta):
        g, total = self.builder, ZERO
        for point, angular, f in momenta:
            r = self.positions.get(point, ZERO)
            total = g.added(total, g.added(angular, g.cross(r, f)))
        return total

    def _force(self, twist, s):
        g, w, c = self.builder, twist[:3], twist[3:]
        moment, force = self.loads[s]
        if any(w):
            pole = self.composites[s][3]
            c = g.added(c, g.cross(w, self.positions.get(pole, ZERO)))
        return g.add(g.dot(w, moment), g.dot(c, force))

    def _momentum(self, twist, s):
        """Pole, angular momentum about it and momentum of bodies ``s``."""
        g = self.builder
        m, h, (xx, yy, zz, xy, xz, yz), pole = self.composites[s]
        w, c = twist[:3], twist[3:]
        angular = linear = ZERO
        if any(w):
            c = g.added(c, g.cross(w, self.positions.get(pole, ZERO)))
            angular = tuple(g.dot(row, w) for row in (
                (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
            linear = g.cross(w, h)
        if any(c):
            angular = g.added(angular, g.cross(h, c))
            linear = g.added(linear, g.scaled(m, c))
        return pole, angular, linear


def bits(s):
    while s:
        yield (s & -s).bit_length() - 1
        s &= s - 1


def add_to(builder, table, frame, numbers):
    """Add references to those that a table has for a frame."""
    old = table.get(frame)
    table[frame] = numbers if old is None else builder.added(old, numbers)


def crossed(builder, d, h, entries):
    """``(d . h) - d*h^T`` as six references, zero beyond the entries."""
    # What inertia gains if the first moment ``h`` of a point is shifted by
    # ``d``; that of a body gains ``(d . h) - h*d^T`` as well.
    g, products = builder, [builder.mul(x, y) for x, y in zip(d, h)]
    return tuple(
        0 if (i, j) not in entries else -g.mul(d[i], h[j]) if i != j
        else g.add(products[(i + 1) % 3], products[(i + 2) % 3])
        for i, j in ENTRIES)
