"""Equations of a random mechanism in numbers, by Newton and Euler.

Orientations, velocities and accelerations run through the tree of bodies as
vectors of mpmath numbers; partial velocities run beside them. There is no
symbol and no differentiation here, and nothing of SymPy or of the package.
"""
from dataclasses import dataclass
from random import Random

from mpmath import mp, mpf

from fuzz.mechanism import JOINTS, SPEEDS_OF_THEIR_OWN

DIGITS = 60
NOTHING = mpf(10)**-40          # rounding at these digits
UNCLEAR = mpf(10)**-9           # a rank that is neither nor
AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
# Rotations and translations of a joint, as axes, in order of coordinates.
MOVES = {
    'pin': 'Z', 'slider': 'x', 'cylinder': 'Zz', 'universal': 'XY',
    'planar': 'xyZ', 'ball': 'XYZ', 'free': 'xyz', 'weld': ''}


class NoState(Exception):
    """There is no admissible, regular state here."""


class Inconsistent(Exception):
    """Rows contradict each other."""


class Undetermined(Exception):
    """Accelerations are not determined."""


# -- vectors --------------------------------------------------------------

def number(x):
    return mpf(x.numerator)/x.denominator if hasattr(
        x, 'denominator') else mpf(x)


def vector(x):
    return [number(c) for c in x]


def add(*vectors):
    return [sum(c) for c in zip(*vectors)]


def times(c, x):
    return [c*e for e in x]


def dot(x, y):
    return sum(a*b for a, b in zip(x, y))


def cross(x, y):
    return [x[1]*y[2] - x[2]*y[1], x[2]*y[0] - x[0]*y[2],
            x[0]*y[1] - x[1]*y[0]]


def apply(R, x):
    return [dot(row, x) for row in R]


def product(R, S):
    columns = list(zip(*S))
    return [[dot(row, column) for column in columns] for row in R]


def turned(axis, angle):
    """Rotation matrix about one of the three axes."""
    c, s = mp.cos(angle), mp.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = [[mpf(a == b) for b in range(3)] for a in range(3)]
    R[i][i] = R[j][j] = c
    R[i][j], R[j][i] = -s, s
    return R


def of_quaternion(e):
    size = dot(e, e)
    a, b, c, d = e
    return [[x/size for x in row] for row in (
        (a*a + b*b - c*c - d*d, 2*(b*c - a*d), 2*(b*d + a*c)),
        (2*(b*c + a*d), a*a - b*b + c*c - d*d, 2*(c*d - a*b)),
        (2*(b*d - a*c), 2*(c*d + a*b), a*a - b*b - c*c + d*d))]


def quaternion_lines(e):
    """``G`` with ``w = 2 G e'`` and ``e' = G^T w/2``, ``w`` in the body."""
    a, b, c, d = e
    return [[-b, a, d, -c], [-c, -d, a, b], [-d, c, -b, a]]


def angle_lines(q, rates):
    """``J`` with ``w = J q'`` for angles about x, y, z, and its rate."""
    _, (c2, c3), (s2, s3) = None, map(mp.cos, q[1:]), map(mp.sin, q[1:])
    _, r2, r3 = rates
    J = [[c2*c3, s3, 0], [-c2*s3, c3, 0], [s2, 0, 1]]
    rate = [[-s2*c3*r2 - c2*s3*r3, c3*r3, 0],
            [s2*s3*r2 - c2*c3*r3, -s3*r3, 0], [c2*r2, 0, 0]]
    return [[mpf(x) for x in row] for row in J], rate


# -- motion of points and bodies ------------------------------------------

@dataclass
class Moving:
    """A frame with its point: orientation, place, twists.

    ``w, v`` are the velocities, ``alpha, a`` the accelerations while speeds
    are constant, ``dw, dv`` the partial velocities of each speed.
    """

    R: list
    p: list
    w: list
    v: list
    alpha: list
    a: list
    dw: list
    dv: list

    def turn(self, R):
        """Turned by a constant rotation."""
        return Moving(product(self.R, R), self.p, self.w, self.v, self.alpha,
                      self.a, self.dw, self.dv)

    def shifted(self, x):
        """With the point at ``x`` in the frame."""
        s = apply(self.R, x)
        return Moving(
            self.R, add(self.p, s), self.w,
            add(self.v, cross(self.w, s)), self.alpha,
            add(self.a, cross(self.alpha, s),
                cross(self.w, cross(self.w, s))), self.dw,
            [add(v, cross(w, s)) for v, w in zip(self.dv, self.dw)])

    def slid(self, axis, q, rate, bias, partial):
        """Moved by ``q`` along an axis of the frame."""
        there = self.shifted(times(q, AXES[axis]))
        e = apply(self.R, AXES[axis])
        there.v = add(there.v, times(rate, e))
        there.a = add(there.a, times(bias, e), times(2*rate, cross(self.w, e)))
        there.dv = [add(v, times(c, e)) for v, c in zip(there.dv, partial)]
        return there

    def rotated(self, R, w, bias, partials):
        """Turned by ``R``; relative angular velocity etc. in the new frame.
        """
        R = product(self.R, R)
        w = apply(R, w)
        return Moving(
            R, self.p, add(self.w, w), self.v,
            add(self.alpha, apply(R, bias), cross(self.w, w)), self.a,
            [add(x, apply(R, part)) for x, part in zip(self.dw, partials)],
            self.dv)


class State:
    """A mechanism at one time, its rates, bodies and rows in numbers."""

    def __init__(self, mechanism, t, q, u):
        self.mechanism, self.t, self.q, self.u = mechanism, t, q, u
        self.n, self.o = mechanism.counts
        self.kinematics()
        zero = [mpf(0)]*3
        shaking = number(mechanism.shaking)
        unit = [[mpf(i == j) for j in range(3)] for i in range(3)]
        none = [zero]*self.o
        self.ground = Moving(unit, zero, zero, zero, zero, zero, none, none)
        base = Moving(
            unit, [zero[0], shaking*mp.cos(t), zero[0]], zero,
            [zero[0], -shaking*mp.sin(t), zero[0]], zero,
            [zero[0], -shaking*mp.cos(t), zero[0]], none, none)
        self.frames = []            # body frame with the joint's point
        for k, body in enumerate(mechanism.bodies):
            parent = base if body.parent < 0 else self.frames[body.parent]
            self.frames.append(self.joint(k, body, parent.shifted(
                vector(body.place)).turn(of_quaternion(vector(body.turn)))))

    # -- rates of the coordinates

    def kinematics(self):
        """``q'``, its partial derivatives, and ``q''`` of constant speeds."""
        mechanism, u = self.mechanism, self.u
        S = [[mpf(i == j) for j in range(self.o)] for i in range(self.o)]
        for i, j, sign in mechanism.mixing:
            S[i] = add(S[i], times(sign, S[j]))
        self.partial, self.bias = [], []
        for k, body in enumerate(mechanism.bodies):
            n, o = JOINTS[body.joint]
            i, j = mechanism.first(k)
            if body.joint not in SPEEDS_OF_THEIR_OWN:
                self.partial += S[j:j + o]
                self.bias += [mpf(0)]*n
                continue
            q, w = self.q[i:i + n], u[j:j + o]
            if body.joint == 'quaternion':
                lines = [times(mpf(1)/2, c) for c in zip(*quaternion_lines(q))]
                rates = apply(lines, w)
                bias = apply([times(mpf(1)/2, c) for c in zip(
                    *quaternion_lines(rates))], w)
            else:
                J, _ = angle_lines(q, [mpf(0)]*3)
                lines = inverse(J)
                rates = apply(lines, w)
                _, rate = angle_lines(q, rates)
                bias = times(-1, apply(lines, apply(rate, rates)))
            for line in lines:
                row = [mpf(0)]*self.o
                row[j:j + o] = line
                self.partial.append(row)
            self.bias += bias
        self.rates = [dot(row, u) for row in self.partial]

    def joint(self, k, body, frame):
        """The body's frame beyond its joint."""
        i, j = self.mechanism.first(k)
        n, o = JOINTS[body.joint]
        q, zero = self.q[i:i + n], [mpf(0)]*3
        if body.joint == 'driven':
            c, s = mp.cos(self.t), mp.sin(self.t)
            return frame.rotated(turned(2, s), [mpf(0), mpf(0), c],
                                 [mpf(0), mpf(0), -s], [zero]*self.o)
        if body.joint in SPEEDS_OF_THEIR_OWN:
            partials = [AXES[m - j] if j <= m < j + o else zero
                        for m in range(self.o)]
            R = of_quaternion(q) if n == 4 else product(product(
                turned(0, q[0]), turned(1, q[1])), turned(2, q[2]))
            return frame.rotated(R, self.u[j:j + o], zero, partials)
        if body.joint == 'quaternion rates':
            G = [times(2, row) for row in quaternion_lines(q)]
            partials = list(zip(*(
                apply(zip(*self.partial[i:i + n]), row) for row in G)))
            return frame.rotated(
                of_quaternion(q), apply(G, self.rates[i:i + n]),
                apply(G, self.bias[i:i + n]), partials)
        for m, move in enumerate(MOVES[body.joint], i):
            axis = 'xyz'.index(move.lower())
            known = self.q[m], self.rates[m], self.bias[m], self.partial[m]
            if move.islower():
                frame = frame.slid(axis, *known)
            else:
                e = AXES[axis]
                frame = frame.rotated(
                    turned(axis, known[0]), times(known[1], e),
                    times(known[2], e), [times(c, e) for c in known[3]])
        return frame

    def at(self, index, place):
        """A body's frame with its point at ``place``; -1 is the ground."""
        frame = self.ground if index < 0 else self.frames[index]
        return frame.shifted(vector(place))

    # -- equations

    def inertia_of(self, k):
        """Frame at the mass centre, mass and central inertia of a body."""
        body, inertia = self.mechanism.bodies[k], [[mpf(0)]*3]*3
        centre = self.at(k, body.centre)
        if body.inertia is not None:
            xx, yy, zz, xy, yz, zx = map(number, body.inertia)
            inertia = product(product(centre.R, [
                [xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]), list(zip(
                    *centre.R)))
        return centre, number(body.mass), inertia

    def load(self, load):
        """Frame where a load acts, and its vector."""
        where = self.at(load.body, load.place)
        size = number(load.size)*{
            'constant': 1, 'spring': -self.q[load.index],
            'damper': -self.rates[load.index],
            'time': mp.sin(self.t)}[load.kind]
        e = times(size, vector(load.vector))
        return where, apply(where.R, e) if load.follows else e

    def equations(self):
        """``M`` and ``Q`` as lists."""
        M = [[mpf(0)]*self.o for _ in range(self.o)]
        Q = [mpf(0)]*self.o
        for k in range(len(self.frames)):
            centre, mass, inertia = self.inertia_of(k)
            force = add(times(-mass, centre.a), self.weight(mass))
            torque = times(-1, add(
                apply(inertia, centre.alpha),
                cross(centre.w, apply(inertia, centre.w))))
            for i in range(self.o):
                Q[i] += dot(force, centre.dv[i]) + dot(torque, centre.dw[i])
                spin = apply(inertia, centre.dw[i])
                for j in range(self.o):
                    M[i][j] += (mass*dot(centre.dv[i], centre.dv[j])
                                + dot(spin, centre.dw[j]))
        for load in self.mechanism.loads:
            where, e = self.load(load)
            for i, partial in enumerate(where.dw if load.torque else where.dv):
                Q[i] += dot(e, partial)
        return M, Q

    def weight(self, mass):
        return [mpf(0), -mass*number(self.mechanism.gravity), mpf(0)]

    def reactions(self, accelerations):
        """Force and moment of each joint, at its point, without rows."""
        wrenches = []                   # moments about the origin
        for k in range(len(self.frames)):
            centre, mass, inertia = self.inertia_of(k)
            a, alpha = (add(bias, *map(times, accelerations, parts))
                        for bias, parts in ((centre.a, centre.dv),
                                            (centre.alpha, centre.dw)))
            force = add(times(mass, a), times(-1, self.weight(mass)))
            moment = add(apply(inertia, alpha), cross(
                centre.w, apply(inertia, centre.w)), cross(centre.p, force))
            for load in self.mechanism.loads:
                where, e = self.load(load)
                if load.body == k:
                    moment = add(moment, times(-1, e if load.torque else cross(
                        where.p, e)))
                    force = force if load.torque else add(force, times(-1, e))
            wrenches.append((force, moment))
        for k, body in reversed([*enumerate(self.mechanism.bodies)]):
            if body.parent >= 0:        # bodies beyond come later
                wrenches[body.parent] = tuple(map(
                    add, wrenches[body.parent], wrenches[k]))
        return [(*force, *add(moment, times(-1, cross(frame.p, force))))
                for frame, (force, moment) in zip(self.frames, wrenches)]

    def rows(self):
        """For each row: its number ``d``, its velocity, and ``A``, ``b``."""
        found = []
        for row in self.mechanism.rows:
            if row.of:
                parts = [(c, found[k]) for k, c in row.of]
                velocity = sum(c*part[1] for c, part in parts)
                A = add(*(times(c, part[2]) for c, part in parts))
                b = sum(c*part[3] for c, part in parts)
                found.append((mpf(0), velocity, A, b - (
                    row.kind == 'contradiction')))
            else:
                found.append(self.row(row))
        return found

    def row(self, row):
        here, ratio = self.at(row.body, row.place), number(row.ratio)
        e = vector(row.vector)
        if row.kind in ('coincide', 'distance'):
            there = self.at(row.other, row.other_place)
            apart, v, a = (
                add(x, times(-1, y)) for x, y in (
                    (here.p, there.p), (here.v, there.v), (here.a, there.a)))
            if row.kind == 'distance':
                e, extra, d = apart, dot(v, v), dot(apart, apart)/2
            else:
                extra, d = mpf(0), dot(e, apart)
            return d, dot(e, v), [dot(e, x) - dot(e, y) for x, y in zip(
                here.dv, there.dv)], -dot(e, a) - extra
        if row.kind in ('gear', 'drive', 'rate'):
            (x, y), (vx, vy), (ax, ay), (dx, dy) = (
                (values[row.i], values[row.j]) for values in (
                    self.q, self.rates, self.bias, self.partial))
            if row.kind == 'gear':
                return (x + ratio*y, vx + ratio*vy,
                        add(dx, times(ratio, dy)), -ax - ratio*ay)
            if row.kind == 'rate':
                return (mpf(0), vx + ratio*vy - x/2,
                        add(dx, times(ratio, dy)), vx/2 - ax - ratio*ay)
            s, c = mp.sin(self.t), mp.cos(self.t)
            return x - ratio*s, vx - ratio*c, dx, -ax - ratio*s
        if row.kind == 'norm':
            i, _ = self.mechanism.first(row.body)
            e, v, a, partial = (values[i:i + 4] for values in (
                self.q, self.rates, self.bias, self.partial))
            return mpf(0), 2*dot(e, v), [
                2*dot(e, column) for column in zip(*partial)], -2*(
                    dot(v, v) + dot(e, a))
        if row.kind == 'speed':
            return (dot(here.v, here.v), mpf(0),
                    [2*dot(here.v, x) for x in here.dv],
                    -2*dot(here.v, here.a))
        if row.kind == 'knife':
            e = apply(here.R, e)
            return mpf(0), dot(e, here.v), [dot(e, x) for x in here.dv], (
                -dot(e, here.a) - dot(cross(here.w, e), here.v))
        if row.kind == 'slide':
            return (mpf(0), dot(e, here.v) - ratio*mp.sin(self.t),
                    [dot(e, x) for x in here.dv],
                    ratio*mp.cos(self.t) - dot(e, here.a))
        arm, rate = self.arm(row, here, ratio)
        return (mpf(0), dot(e, add(here.v, cross(here.w, arm))),
                [dot(e, add(v, cross(w, arm)))
                 for v, w in zip(here.dv, here.dw)],
                -dot(e, add(here.a, cross(here.alpha, arm),
                            cross(here.w, rate))))

    def arm(self, row, here, radius):
        """From the centre to the contact with a plane of normal y."""
        up = vector((0, 1, 0))
        if row.kind == 'roll':
            return times(-radius, up), [mpf(0)]*3
        axis = apply(here.R, vector((0, 0, 1)))
        turn = cross(here.w, axis)
        w = add(up, times(-dot(up, axis), axis))
        rate = add(times(-dot(up, turn), axis), times(-dot(up, axis), turn))
        size = mp.sqrt(dot(w, w))
        if size < mpf(1)/20:
            raise NoState('a disc that lies flat')
        return times(-radius/size, w), times(-radius, add(
            times(1/size, rate), times(-dot(w, rate)/size**3, w)))


# -- a state, and its accelerations ---------------------------------------

def admissible(mechanism):
    """A random :class:`State` that satisfies all rows."""
    random = Random(mechanism.state)

    def draw(count):
        return [mpf(random.randint(-1100, 1100))/1000 for _ in range(count)]

    n, o = mechanism.counts
    t, q, u = mpf(random.randint(-900, 900))/700, draw(n), draw(o)
    for k, body in enumerate(mechanism.bodies):
        if JOINTS[body.joint][0] == 4:
            i, _ = mechanism.first(k)
            size = mp.sqrt(dot(q[i:i + 4], q[i:i + 4]))
            q[i:i + 4] = times(1/size, q[i:i + 4])
    state = State(mechanism, t, q, u)
    void = vanishing(mechanism)
    basis = []                      # orthonormal rows and their velocities
    for k, (row, (_, v, A, _)) in enumerate(zip(mechanism.rows, state.rows())):
        if row.kind == 'speed':
            continue
        size = mp.sqrt(dot(A, A))
        if size < NOTHING:
            if abs(v) > NOTHING or k not in void:
                raise NoState('a row without a gradient')
            continue
        v, A = v/size, times(1/size, A)
        for w, B in (*basis, *basis):
            c = dot(A, B)
            v, A = v - c*w, add(A, times(-c, B))
        size = mp.sqrt(dot(A, A))
        if size > UNCLEAR:
            basis.append((v/size, times(1/size, A)))
        elif size > NOTHING or abs(v) > NOTHING:
            raise NoState('rows that contradict each other, or nearly')
    for v, A in basis:
        u = add(u, times(-v, A))
    return State(mechanism, t, q, u)


def vanishing(mechanism):
    """Numbers of rows whose gradient vanishes wherever one looks."""
    random = Random(1)
    n, o = mechanism.counts
    found = set(range(len(mechanism.rows)))
    for _ in range(2):
        q, u = ([mpf(random.randint(-1100, 1100))/1000 for _ in range(size)]
                for size in (n, o))
        rows = State(mechanism, mpf(random.random()), q, u).rows()
        found = {k for k in found if max(map(abs, rows[k][2])) < NOTHING}
    return found


def solution(state):
    """Accelerations at a state, and the numbers of independent rows.

    Raises NoState near singular states, Inconsistent, Undetermined.
    """
    M, Q = state.equations()
    void = vanishing(state.mechanism)
    basis, kept = [], []
    gap = mpf(0)
    for k, (_, _, row, value) in enumerate(state.rows()):
        size = mp.sqrt(dot(row, row))
        if size < NOTHING:
            if k not in void:
                raise NoState('a row without a gradient')
            gap = max(gap, abs(value))
            continue
        row, value = times(1/size, row), value/size
        for other, known in (*basis, *basis):
            c = dot(row, other)
            row, value = add(row, times(-c, other)), value - c*known
        rest = mp.sqrt(dot(row, row))
        if rest > UNCLEAR:
            basis.append((times(1/rest, row), value/rest))
            kept.append(k)
        elif rest > NOTHING:
            raise NoState('a rank that is not clear')
        else:
            gap = max(gap, abs(value))
    if gap > UNCLEAR:
        raise Inconsistent
    if gap > NOTHING:
        raise NoState('rows that nearly contradict each other')
    o, m = len(M), len(basis)
    scale = [1/mp.sqrt(M[i][i]) if M[i][i] > NOTHING else mpf(1)
             for i in range(o)]
    W = [[M[i][j]*scale[i]*scale[j] for j in range(o)]
         + [row[i]*scale[i] for row, _ in basis] + [Q[i]*scale[i]]
         for i in range(o)]
    W += [[row[j]*scale[j] for j in range(o)] + [mpf(0)]*m + [value]
          for row, value in basis]
    z = eliminated(W)
    return [x*s for x, s in zip(z, scale)], kept


def eliminated(W):
    """Solve ``W z = r``, given side by side, with complete pivoting."""
    largest = max(mpf(1), *(abs(x) for row in W for x in row[:-1]))
    W, order, pivots = echelon(W, NOTHING*largest)
    if len(pivots) < len(W):
        raise Undetermined
    if min(pivots, default=largest) < UNCLEAR*largest:
        raise NoState('a nearly singular state')
    return substituted(W, order, len(W))


def echelon(W, nothing):
    """Rows ``[W, r]`` in echelon form, the order of columns, and the sizes
    of the pivots that are more than ``nothing``."""
    size, pivots = len(W), []
    W, order = [list(row) for row in W], list(range(size))
    for k in range(size):
        pivot, i, j = max((abs(W[i][j]), i, j) for i in range(k, size)
                          for j in range(k, size))
        if pivot <= nothing:
            break
        pivots.append(pivot)
        W[k], W[i] = W[i], W[k]
        order[k], order[j] = order[j], order[k]
        for row in W:
            row[k], row[j] = row[j], row[k]
        for row in W[k + 1:]:
            c = row[k]/W[k][k]
            if c:
                for m in range(k, size + 1):
                    row[m] -= c*W[k][m]
    return W, order, pivots


def substituted(W, order, rank):
    """Solution by back substitution, with zero beyond the rank."""
    z = [mpf(0)]*len(W)
    for k in reversed(range(rank)):
        z[order[k]] = (W[k][-1] - sum(
            W[k][m]*z[order[m]] for m in range(k + 1, rank)))/W[k][k]
    return z


def underdetermined(W, r, count):
    """A solution of ``W z = r``, of which ``count`` unknowns are unique.

    Redundant columns are given nothing; raises Undetermined if rows are left
    over, or if the first unknowns are not unique.
    """
    W = [[*row, value] for row, value in zip(W, r)]
    largest = [max(map(abs, row[:-1]), default=mpf(0)) for row in W]
    W, order, pivots = echelon([[x/(s or 1) for x in row]
                                for row, s in zip(W, largest)], NOTHING)
    rank = len(pivots)
    if any(abs(row[-1]) > UNCLEAR for row in W[rank:]) or any(
            x < count for x in order[rank:]):
        raise Undetermined
    return substituted(W, order, rank)


def inverse(J):
    """Of a matrix three by three."""
    a, b, c = J
    columns = cross(b, c), cross(c, a), cross(a, b)
    determinant = dot(a, columns[0])
    if abs(determinant) < mpf(1)/20:
        raise NoState('angles near their singular place')
    return [[column[i]/determinant for column in columns] for i in range(3)]
