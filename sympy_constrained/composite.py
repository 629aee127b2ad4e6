r"""Mass matrix and forces from composite bodies about one fixed origin.

A partial twist :math:`S_k = (\omega_k, c_k)` with
:math:`c_k = v_k - \omega_k\times r` describes how a body moves with speed
``k``, seen from the fixed origin. Bodies with equal twists form a group; in a
tree all descendants of a joint do, and the value numbering of the graph finds
them from the user's velocities alone. With the inertia
:math:`(m, h, J)` of the bodies two groups have in common

.. math::

   M_{jk} = \sum S_j\cdot P(S_k), \qquad
   P(S) = (J\omega + h\times c,\; m c - h\times\omega), \qquad
   Q_j = \sum \omega_j\cdot n + c_j\cdot f

where :math:`(n, f)` are the moment about the origin and the force, applied
and inertial. Any position :math:`r` gives right results; only how much is
shared depends on it, so a body without a position gets :math:`r = 0`.
"""
from __future__ import annotations

__all__ = ['CompositeRoute']


class CompositeRoute:
    """Collects bodies, then fills an assembly.

    Inertias are ``(m, h, J)`` with ``J`` as six references
    ``xx, yy, zz, xy, xz, yz``; wrenches are ``(n, f)``.
    """

    def __init__(self, assembly, bodies):
        self.assembly = assembly
        self.kinematics = assembly.kinematics
        self.builder = assembly.builder
        self.positions = self.kinematics.positions(
            [body.masscenter for body in bodies])[1]
        self.inertias, self.wrenches, self.twists = [], [], []

    def add(self, mass, point, v, force, inertia, w, torque):
        """Add a body: its inertia and wrench in the inertial axes.

        Parameters
        ==========

        mass : reference
        point : Point
            The mass centre.
        v, w : triples
            Its velocity, and the angular velocity of the body.
        force, torque : triples
            Applied minus inertial, about the mass centre.
        inertia : 3x3 references
            Central inertia.

        """
        g = self.builder
        r = self.positions.get(point, (0, 0, 0))
        h = g.scaled(mass, r)
        hr = [g.mul(x, y) for x, y in zip(h, r)]
        J = [g.add(inertia[i][i], g.add(hr[(i + 1) % 3], hr[(i + 2) % 3]))
             for i in range(3)]
        J += [g.sub(inertia[i][j], g.mul(h[i], r[j]))
              for i, j in ((0, 1), (0, 2), (1, 2))]
        self.inertias.append((mass, h, tuple(J)))
        moment = g.added(torque, g.cross(r, force))
        self.wrenches.append((moment, force))
        linear = self.kinematics.columns(v)
        angular = self.kinematics.columns(w)
        zero = (0, 0, 0)
        self.twists.append({
            k: angular.get(k, zero) + tuple(map(
                g.sub, linear.get(k, zero),
                g.cross(angular.get(k, zero), r)))
            for k in sorted({*linear, *angular})})

    def finish(self):
        """Fill the mass matrix and the forces of the assembly."""
        g, assembly = self.builder, self.assembly
        groups = {}                     # speed -> {twist: bodies as bits}
        for i, twists in enumerate(self.twists):
            for k, twist in twists.items():
                sets = groups.setdefault(k, {})
                sets[twist] = sets.get(twist, 0) | 1 << i
        sets = {s for of_speed in groups.values() for s in of_speed.values()}
        sets |= {s & t for s in sets for t in sets if s & t}
        inertia = self._composites(sets, self.inertias, self._joined)
        wrench = self._composites(
            {s for of_speed in groups.values() for s in of_speed.values()},
            self.wrenches,
            lambda a, b: (g.added(a[0], b[0]), g.added(a[1], b[1])))
        momenta = {}

        def momentum(twist, bodies):
            if (twist, bodies) not in momenta:
                momenta[twist, bodies] = self._momentum(
                    inertia[bodies], twist)
            return momenta[twist, bodies]

        for j, of_j in groups.items():
            row = assembly.M[j]
            for k, of_k in groups.items():
                if k < j:
                    continue
                for one, s in of_j.items():
                    for other, t in of_k.items():
                        if s & t:
                            # the momentum of the twist with fewer bodies
                            # is shared by more entries
                            small, large = ((other, one) if t <= s
                                            else (one, other))
                            row[k] = g.add(row[k], g.dot(
                                large, momentum(small, s & t)))
            for twist, s in of_j.items():
                moment, force = wrench[s]
                assembly.Q[j] = g.add(
                    assembly.Q[j], g.dot(twist, moment + force))

    @staticmethod
    def _composites(sets, single, join):
        """Set of bodies -> joined value, each from the largest inside it."""
        found = {1 << i: value for i, value in enumerate(single)}
        for s in sorted(sets, key=lambda s: (s.bit_count(), s)):
            if s in found:
                continue
            inside = max((t for t in found if t & s == t),
                         key=lambda t: (t.bit_count(), t))
            total, rest = found[inside], s & ~inside
            while rest:
                bit = rest & -rest
                total = join(total, found[bit])
                rest ^= bit
            found[s] = total
        return found

    def _joined(self, a, b):
        g = self.builder
        return g.add(a[0], b[0]), g.added(a[1], b[1]), g.added(a[2], b[2])

    def _momentum(self, inertia, twist):
        g = self.builder
        m, h, (xx, yy, zz, xy, xz, yz) = inertia
        w, c = twist[:3], twist[3:]
        rows = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
        angular = g.added((g.dot(row, w) for row in rows), g.cross(h, c))
        linear = tuple(map(g.sub, g.scaled(m, c), g.cross(h, w)))
        return tuple(angular) + linear
