r"""Kernels of the sweeps: straight-line code for one kind of joint each.

Two joints are of one kind if their graphs are equal up to the names of their
inputs, and up to numbers that are not small fractions.

With a twist ``V``, an articulated inertia ``[[A, B], [B^T, C]]`` and a wrench
``p`` of moment and force, all about the mass centre in axes of the body [1]_:

========== ============================================================
kernel     computes
========== ============================================================
go         ``V`` and axes from those of the parent; what later kernels
           need
fold       ``U``, ``D``, ``eta`` of each speed; inertia and wrench that
           the parent feels
accelerate rates of twist and speeds from those of the parent
push       ``eta`` and wrench at the parent of forces alone
energy     kinetic energy
========== ============================================================

References
==========

.. [1] R. Featherstone, "Rigid Body Dynamics Algorithms," Springer (2008),
   table 7.1.

"""
from itertools import chain
from typing import NamedTuple

from sympy import Symbol

from ...graph import Graph, GraphBuilder, GraphMatrix, block_matrix
from ...graph.nodes import CALL, CONST, INPUT
from ...graph.calculus import operands, rebuilt
from ...model.geometry import IDENTITY, ZERO
from ...model.kinetics import times
from ..codegen.native import NativeFunction, arguments_of
from .local_kinematics import refused
from .sweeps import BIAS, PLACE, RECORD, WRENCH


# Numbers with a greater numerator or denominator are data.
SMALL = 16
# Entries of an articulated inertia and a wrench.
ACCUMULATED = 21 + 6
# A pivot below this part of the inertia of the joint is rounding.
LEAST = 1e-13


def grouped(builder, jobs):
    """Lists of jobs of one kind, each with the data of all its members.

    A job is a label and a list of references; data are inputs and numbers.
    """
    groups = {}
    for member, (label, refs) in enumerate(jobs):
        key, data = canonical(builder, refs)
        groups.setdefault((label, key), []).append((
            member, [leaf(builder, k) for k in data]))
    return groups.values()


def is_leaf(builder, k):
    """Whether a node is data of a kernel."""
    kind, x, _ = builder.nodes[k]
    return kind == INPUT and builder.inputs[x] != builder.time or (
        kind == CONST and max(abs(x.numerator), x.denominator) > SMALL)


def leaf(builder, k):
    kind, x, _ = builder.nodes[k]
    return builder.inputs[x] if kind == INPUT else float(x)


def ordered(builder, refs):
    """Nodes in use, each after its operands, in the order of a search."""
    seen, order = set(), []
    stack = [abs(ref) for ref in reversed(refs)]
    while stack:
        k = stack.pop()
        if k < 0:
            order.append(-k)
        elif k > 1 and k not in seen:
            seen.add(k)
            stack.append(-k)
            if not is_leaf(builder, k):
                stack.extend(i for i in map(abs, operands(builder.nodes[k]))
                             if i not in seen)
    return order


def canonical(builder, refs):
    """A key of the graph of references, and its data in order."""
    number, text, data = {0: 0, 1: 1}, [], []

    def of(ref):
        return number[ref] if ref >= 0 else -number[-ref]

    for k in ordered(builder, refs):
        number[k] = len(number)
        kind, x, y = builder.nodes[k]
        if is_leaf(builder, k):
            data.append(k)
            text.append('data')
        elif kind in (CONST, INPUT):
            text.append((kind, x))
        elif kind == CALL:
            text.append((kind, x, tuple(map(of, y))))
        else:
            two = len(operands((kind, x, y))) > 1
            text.append((kind, of(x), of(y) if two else y))
    return (tuple(text), tuple(map(of, refs))), data


class Writing:
    """A new graph with arrays of inputs, and code from it."""

    def __init__(self, time):
        self.g, self.time = GraphBuilder(time), time
        self.arrays = {letter: [] for letter in 'xpr'}

    def inputs(self, letter, count):
        """References of so many further entries of an array."""
        names = self.arrays[letter]
        new = [Symbol(f'{letter}{len(names) + i}') for i in range(count)]
        names += new
        return [self.g.input(name, dynamic=True) for name in new]

    def copied(self, builder, refs):
        """References from another builder, whose data are the next ``x``."""
        _, data = canonical(builder, refs)
        known = {0: 0, 1: 1, **dict(zip(data, self.inputs('x', len(data))))}

        def of(ref):
            return known[ref] if ref >= 0 else -known[-ref]

        for k in ordered(builder, refs):
            if k not in known:
                kind, x, y = builder.nodes[k]
                known[k] = (
                    self.g.constant(x, y) if kind == CONST else
                    self.g.input(builder.inputs[x], dynamic=True)
                    if kind == INPUT else rebuilt(
                        self.g, builder.nodes[k], of, builder.templates))
        return list(map(of, refs))

    def code(self, refs, checks=()):
        outputs = {'out': refs, 'checks': (checks, 2)}
        return NativeFunction(
            Graph.freeze(self.g, outputs), ('out',), arguments_of(
                self.time, self.arrays['x'], self.arrays['p'],
                self.arrays['r']), {}, checks and 'checks')


class Parts(NamedTuple):
    """References of a body and its joint, as lists."""

    turn: list
    arm: list
    motion: list
    change: list
    columns: list
    forces: list
    shares: list
    mass: list
    inertia: list
    load: list
    loads: list

    @classmethod
    def of(cls, body, forces, loads):
        """Those of a :class:`.Body` with generalized forces by speed, and
        loads in inertial axes: place, force and torque.
        """
        return cls(
            [*chain(*body.turn)], [*body.arm], [*body.motion], [*body.change],
            [*chain(*body.columns.values())],
            [forces.get(k, 0) for k in body.columns],
            [*body.dependent.values()], [body.mass], [*chain(*body.inertia)],
            [*body.load], [*chain(*chain(*loads))])


class Kernels:
    """Compiled kernels of one kind of joint."""

    def __init__(self, builder, parts, is_root):
        self.builder, self.is_root = builder, is_root
        self.speeds = len(parts.forces)
        work = Writing(builder.time)
        refs = iter(work.copied(builder, [*chain(*parts)]))
        parts = Parts(*([next(refs) for _ in part] for part in parts))
        self.kept = self.needed_later(work.g, parts)
        self.go = self.write_go(work, parts)
        self.fold = self.write_fold(parts)
        self.accelerate = self.write_accelerate(parts)
        self.push = self.write_push(parts)
        self.energy = self.write_energy(parts)

    def needed_later(self, g, parts):
        """Nodes of the kind that are not constants, for the record."""
        refs = chain(parts.turn, parts.arm, parts.columns, parts.mass,
                     parts.inertia)
        return [*dict.fromkeys(abs(ref) for ref in refs
                               if g.nodes[abs(ref)][0] != CONST)]

    def from_record(self, parts):
        """A new graph, the parts on it, and the head of the record."""
        work, nodes = Writing(self.builder.time), self.source.nodes
        record = work.inputs('x', RECORD + self.speeds + len(parts.shares)
                             + len(self.kept))
        known = dict(zip(self.kept, record[len(record) - len(self.kept):]))

        def of(ref):
            kind, x, y = nodes[abs(ref)]
            k = work.g.constant(x, y) if kind == CONST else known[abs(ref)]
            return k if ref > 0 else -k

        return work, Parts(*(
            list(map(of, part)) if name in LATER else part
            for name, part in zip(Parts._fields, parts))), record

    # -- kernels ---------------------------------------------------------

    def write_go(self, work, parts):
        self.source = g = work.g
        R, r = rows(parts.turn), parts.arm
        w, v = parts.motion[:3], parts.motion[3:]
        E, place = R, r
        if not self.is_root:
            parent = work.inputs('p', BIAS)
            a, b = parent[:3], parent[3:6]
            w = g.added(w, times(g, R, a))
            v = g.added(v, times(g, R, g.added(b, g.cross(a, r))))
            axes = rows(parent[6:])
            E = (GraphMatrix(g, R) @ GraphMatrix(g, axes)).rows
            place = g.added(parent[PLACE:], times(g, [*zip(*axes)], r))
        joint, change = parts.motion, parts.change
        bias = (*g.added(change[:3], g.cross(w, joint[:3])),
                *g.added(change[3:], g.added(
                    g.cross(w, joint[3:]), g.cross(v, joint[:3]))))
        m, J = parts.mass[0], rows(parts.inertia)
        n, f = parts.load[:3], parts.load[3:]
        for k in range(0, len(parts.loads), 9):
            at, force, torque = (
                parts.loads[k + i:k + i + 3] for i in (0, 3, 6))
            force = times(g, E, force)
            f = g.added(f, force)
            n = g.added(n, g.added(times(g, E, torque),
                                   g.cross(at, force)))
        spin = g.cross(w, times(g, J, w))
        push = g.scaled(m, g.cross(w, v))
        return work.code([
            *w, *v, *chain(*E), *place, *bias, *map(g.sub, spin, n),
            *map(g.sub, push, f), *parts.forces, *parts.shares, *self.kept])

    def write_fold(self, parts):
        work, parts, record = self.from_record(parts)
        g, inertia = work.g, work.inputs('p', ACCUMULATED)
        bias, own = record[BIAS:WRENCH], record[WRENCH:RECORD]
        A, B, C, J, m = (GraphMatrix(g, x) for x in (
            symmetric(inertia[:6]), rows(inertia[6:15]),
            symmetric(inertia[15:21]), rows(parts.inertia),
            [g.scaled(parts.mass[0], row) for row in IDENTITY]))
        joined = block_matrix([[A + J, B], [B.T, C + m]]).rows
        p = g.added(own, inertia[21:])
        trace = [joined[i][i] for i in range(6)]
        U, D, eta, checks, least = [], [], [], [], g.constant(LEAST)
        for k in reversed(range(self.speeds)):
            s = parts.columns[6*k:6*k + 6]
            u = times(g, joined, s)
            d = g.dot(s, u)
            if not d:
                raise refused("A speed of a joint moves no inertia.")
            e = g.sub(record[RECORD + k], g.dot(s, p))
            share = g.inv(d)
            # a small pivot enlarges the rounding of those that follow
            least = g.mul(least, g.sum(
                g.mul(g.mul(x, x), y) for x, y in zip(s, trace)))
            checks.append([least, d])
            least = g.mul(least, share)
            scaled = g.scaled(share, u)
            joined = [[g.sub(joined[min(i, j)][max(i, j)], g.mul(
                scaled[min(i, j)], u[max(i, j)])) for j in range(6)]
                for i in range(6)]
            p = g.added(p, g.scaled(e, scaled))
            U, D, eta = [u, *U], [d, *D], [e, *eta]
        found = [0]*ACCUMULATED
        if not self.is_root:
            p = g.added(p, times(g, joined, bias))
            found = self.at_parent(g, joined, p, parts)
        return work.code([*found, *chain(*U), *D, *eta], checks)

    def at_parent(self, g, joined, p, parts):
        """Inertia and wrench about the mass centre of the parent."""
        R, joined = GraphMatrix(g, rows(parts.turn)), GraphMatrix(g, joined)
        x, y, z = r = parts.arm
        first, last = slice(3), slice(3, 6)
        A, B, C = (R.T @ joined[i, j] @ R for i, j in (
            (first, first), (first, last), (last, last)))
        X = GraphMatrix(g, [(0, -z, y), (z, 0, -x), (-y, x, 0)])
        arm = B + X @ C
        A = A - arm @ X - (B @ X).T
        n, f = (times(g, R.T.rows, part) for part in (p[:3], p[3:]))
        return [*upper(A.rows), *chain(*arm.rows), *upper(C.rows),
                *g.added(n, g.cross(r, f)), *f]

    def write_accelerate(self, parts):
        work, parts, record = self.from_record(parts)
        g, a, rates = work.g, record[BIAS:WRENCH], []
        if not self.is_root:
            parent = work.inputs('p', 6)
            R, r = rows(parts.turn), parts.arm
            w, v = parent[:3], parent[3:]
            a = g.added(a, [*times(g, R, w), *times(g, R, g.added(
                v, g.cross(w, r)))])
        U, D, eta = self.factors(work)
        for k in range(self.speeds):
            rate = g.div(g.sub(eta[k], g.dot(U[k], a)), D[k])
            rates.append(rate)
            a = g.added(a, g.scaled(rate, parts.columns[6*k:6*k + 6]))
        return work.code([*a, *rates])

    def factors(self, work):
        k = self.speeds
        refs = work.inputs('r', 8*k)
        return ([refs[6*i:6*i + 6] for i in range(k)], refs[6*k:7*k],
                refs[7*k:])

    def write_push(self, parts):
        work, parts, _ = self.from_record(parts)
        g, k = work.g, self.speeds
        p, tau = work.inputs('p', 6), work.inputs('p', k)
        U, D, _ = self.factors(work)
        found = [0]*k
        for i in reversed(range(k)):
            e = g.sub(tau[i], g.dot(parts.columns[6*i:6*i + 6], p))
            p = g.added(p, g.scaled(g.div(e, D[i]), U[i]))
            found[i] = e
        out = [0]*6
        if not self.is_root:
            T = [*zip(*rows(parts.turn))]
            n, f = times(g, T, p[:3]), times(g, T, p[3:])
            out = [*g.added(n, g.cross(parts.arm, f)), *f]
        return work.code([*out, *found])

    def write_energy(self, parts):
        work, parts, record = self.from_record(parts)
        g, w, v = work.g, record[:3], record[3:6]
        total = g.add(g.dot(w, times(g, rows(parts.inertia), w)),
                      g.mul(parts.mass[0], g.dot(v, v)))
        return work.code([g.mul(g.inv(g.constant(2)), total)])


LATER = {'turn', 'arm', 'columns', 'mass', 'inertia'}


def row_kernel(time, kind):
    """Wrenches of a row of a loop on its two bodies, its bias and residual.

    Kinds 0 to 2 keep two points together along an inertial axis, 3 keeps two
    directions across each other. ``x`` are their places or the directions,
    ``p`` and ``r`` begin the records of the two bodies.
    """
    work = Writing(time)
    g, data = work.g, work.inputs('x', 6)
    bodies = [work.inputs(letter, BIAS) for letter in 'pr']
    sides = list(zip(bodies, (data[:3], data[3:])))
    wrenches, bias, gap = [], 0, 0
    if kind < 3:
        for sign, (body, place) in zip((1, -1), sides):
            w, v, E = body[:3], body[3:6], rows(body[6:PLACE])
            f = [sign*row[kind] for row in E]
            wrenches += [*g.cross(place, f), *f]
            bias = g.add(bias, g.dot(f, g.cross(w, g.added(
                v, g.cross(w, place)))))
            gap = g.sum([gap, sign*body[PLACE + kind], g.dot(f, place)])
        return work.code([*wrenches, bias, gap])
    axes = [[*zip(*rows(body[6:PLACE]))] for body in bodies]
    one, two = (times(g, T, x) for T, (_, x) in zip(axes, sides))
    w, z = (times(g, T, body[:3]) for T, body in zip(axes, bodies))
    across = g.cross(one, two)
    for sign, body in zip((1, -1), bodies):
        wrenches += [*times(g, rows(body[6:PLACE]),
                            g.scaled(sign, across)), *ZERO]
    bias = g.dot(map(g.sub, w, z), g.added(
        g.cross(g.cross(w, one), two), g.cross(one, g.cross(z, two))))
    return work.code([*wrenches, bias, g.dot(one, two)])


# -- small matrices ---------------------------------------------------------

def rows(flat):
    return [tuple(flat[3*i:3*i + 3]) for i in range(3)]


def symmetric(six):
    xx, yy, zz, xy, xz, yz = six
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def upper(S):
    return (S[0][0], S[1][1], S[2][2], S[0][1], S[0][2], S[1][2])
