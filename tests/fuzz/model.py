"""A random mechanism as a model of SymPy's ``physics.mechanics``."""
from fractions import Fraction
from random import Random

from sympy import Float, Matrix, Rational, S, Symbol, cos, eye, sin, sqrt
from sympy.physics.mechanics import (
    Force, Lagrangian, Particle, PinJoint, Point, PrismaticJoint,
    ReferenceFrame, RigidBody, System, Torque, Vector, WeldJoint,
    dynamicsymbols)
from sympy.physics.vector import Dyadic

from fuzz import newton
from fuzz.mechanism import HOLONOMIC, JOINTS, SPEEDS_OF_THEIR_OWN
from fuzz.writing import PLAIN

t = dynamicsymbols._t
SYMPY_JOINTS = {'pin': PinJoint, 'slider': PrismaticJoint, 'weld': WeldJoint}
RESIDUE = 6.123233995736766e-17         # the cosine of pi/2 in floats
ASIDE = 2, 1, 0, 1                      # a rotation with rational entries


class SympyModel:
    """Frames, points, bodies, loads and rows of a :class:`Mechanism`.

    They are written down as a :class:`Writing` says. ``form`` makes a method
    of them, ``arguments`` are those of ``KanesMethod`` or
    ``LagrangesMethod``; ``values`` are numbers of all symbols at a state of
    ``newton``.
    """

    def __init__(self, mechanism, writing=PLAIN):
        self.mechanism, self.writing = mechanism, writing
        n, o = mechanism.counts
        self.q = list(dynamicsymbols(f'q1:{n + 1}', real=True))
        self.rates = [q.diff(t) for q in self.q]
        lagrange = writing.shape == 'lagrange'
        self.u = self.rates if lagrange else list(
            dynamicsymbols(f'u1:{o + 1}', real=True))
        self.constants, self.known, self.turns = {}, {}, {}
        self.frame, self.origin = ReferenceFrame('N'), Point('O')
        self.origin.set_vel(self.frame, 0)
        self.ground = RigidBody('ground', self.origin, self.frame)
        self.kd_eqs = []
        self.kinematics()
        base = self.origin
        if mechanism.shaking:
            base = self.moving('base', self.origin, self.frame, self.number(
                mechanism.shaking)*cos(t)*self.frame.y,
                -self.number(mechanism.shaking)*sin(t)*self.frame.y)
        self.frames, self.joints, self.bodies = [], [], []
        for k, body in enumerate(mechanism.bodies):
            self.add(k, body, base)
        self.loads = []
        for k, load in enumerate(mechanism.loads):
            self.loads += self.load(k, load)
        self.weights()
        self.rows = []
        for k, row in enumerate(mechanism.rows):
            self.rows.append(self.row(k, row))

    # -- numbers and vectors

    def number(self, x):
        """A constant of the mechanism."""
        if not x:
            return S.Zero
        if self.writing.rough:
            return Float(float(x))
        if self.writing.numbers == 'one symbol':
            return self.symbol(f'c{abs(x)}', abs(x))*(1 if x > 0 else -1)
        return Rational(x.numerator, x.denominator)

    def constant(self, name, value):
        """A mass or a moment, with a symbol of its own if so written."""
        if self.writing.numbers != 'symbols' or not value:
            return self.number(value)
        return self.symbol(name, value)

    def symbol(self, name, value):
        symbol = Symbol(name, real=True)
        self.constants[symbol] = value
        return symbol

    def exactly(self, x):
        """Entries of rotations and directions: zeros may have residues."""
        if not x and self.writing.numbers == 'residue':
            return Float(RESIDUE)
        if not x and self.writing.numbers == 'residue symbol':
            return self.symbol('residue', Fraction(RESIDUE))
        return Float(float(x)) if self.writing.rough else Rational(
            x.numerator, x.denominator)

    def rotation(self, turn):
        return Matrix(newton.of_quaternion([Rational(c) for c in turn])
                      ).applyfunc(self.exactly)

    def aside(self, frame):
        """A frame at rest in another one, and its rotation matrix."""
        R = self.rotation(ASIDE)
        if frame not in self.turns:
            self.turns[frame] = ReferenceFrame(f'{frame}_aside')
            self.turns[frame].orient_explicit(frame, R)
        return self.turns[frame], R

    def vector(self, frame, components):
        """From measure numbers in a frame."""
        components = Matrix(components)
        if self.writing.frames == 'auxiliary':
            frame, R = self.aside(frame)
            components = R.T*components
        return Vector([(components, frame)])

    def numbers(self, components):
        return [self.number(c) for c in components]

    # -- points

    def fixed(self, name, start, frame, place):
        """A point at a place in a frame."""
        if self.writing.points == 'shared':
            if not any(place):
                return start
            key = start, frame, tuple(place)
            if key not in self.known:
                self.known[key] = self.moving(
                    name, start, frame, self.vector(
                        frame, self.numbers(place)))
            return self.known[key]
        return self.moving(name, start, frame, self.vector(
            frame, self.numbers(place)))

    def moving(self, name, start, frame, vector, rate=0):
        """A point with a vector of a frame and its rate in it."""
        N, point = self.frame, Point(name)
        place = self.next('places')
        if place == 'link':
            point.set_pos(start, vector)
        elif place == 'detour':
            away = self.vector(frame, [1, Rational(-1, 2), 2])
            point.set_pos(start.locatenew(f'{name}_away', away), vector - away)
        else:
            point.set_pos(self.origin, start.pos_from(self.origin) + vector)
        velocity = self.next('velocities')
        if velocity == 'dt':
            change = rate + frame.ang_vel_in(N).cross(vector)
            point.set_vel(N, start.vel(N) + change)
        elif velocity == 'theory' and rate == 0:
            point.v2pt_theory(start, N, frame)
        elif velocity == 'theory' and frame != N:
            point.set_vel(frame, rate)
            point.v1pt_theory(start, N, frame)
        return point

    def next(self, name):
        """The choices of a cycle in turn."""
        choices = getattr(self.writing, name)
        count = self.known[name] = self.known.get(name, -1) + 1
        return choices[count % len(choices)]

    # -- bodies

    def add(self, k, body, base):
        """A joint and the body on it."""
        parent, start = (self.frame, base) if body.parent < 0 else (
            self.frames[body.parent], self.joints[body.parent])
        if (self.writing.joints == 'Joint' and body.joint in SYMPY_JOINTS
                and (body.parent >= 0 or base is self.origin)):
            self.add_joint(k, body, parent)
            return
        point = self.fixed(f'J{k}', start, parent, body.place)
        frame = self.turned(k, body, parent)
        frame, point = self.move(k, body, frame, point)
        if frame is parent and 'shared' != self.writing.frames or (
                frame is self.frame and self.writing.joints == 'Joint'):
            frame = ReferenceFrame(f'B{k}')
            frame.orient_axis(parent, parent.x, 0)
        self.frames.append(frame)
        self.joints.append(point)
        centre = self.fixed(f'C{k}', point, frame, body.centre)
        self.add_body(k, body, frame, centre)
        self.add_inertia(k, body, point)

    def turned(self, k, body, parent):
        """The frame of a joint, at rest in the parent."""
        if not any(body.turn[1:]):
            return parent
        frame, R = ReferenceFrame(f'A{k}'), self.rotation(body.turn)
        if self.writing.frames == 'auxiliary':
            parent, aside = self.aside(parent)
            R = aside.T*R
        frame.orient_explicit(parent, R)
        return frame

    def spin(self, frame, parent, velocity):
        """Set an angular velocity instead of SymPy's, in speeds."""
        if self.writing.spins == 'speeds':
            frame.set_ang_vel(parent, velocity)

    def move(self, k, body, frame, point):
        """Frame and point beyond a joint."""
        i, j = self.mechanism.first(k)
        n, o = JOINTS[body.joint]
        q = self.q[i:i + n]
        for m, move in enumerate(newton.MOVES.get(body.joint, '')):
            axis, rate = 'xyz'.index(move.lower()), self.lines[i + m]
            if move.islower():
                e = list(frame)[axis]
                point = self.moving(f'S{k}{move}', point, frame, q[m]*e,
                                    rate*e)
            else:
                turned = ReferenceFrame(f'B{k}{move}{m}')
                e = list(frame)[axis]
                turned.orient_axis(frame, e, q[m])
                self.spin(turned, frame, rate*e)
                frame = turned
        if body.joint not in ('driven', 'ball body') and n != 4:
            return frame, point
        turned = ReferenceFrame(f'B{k}')
        speeds = self.u[j:j + o]
        spin = sum((u*e for u, e in zip(speeds, turned)), 0*turned.x)
        if body.joint == 'driven':
            turned.orient_axis(frame, frame.z, sin(t))
        elif body.joint == 'ball body':
            turned.orient_body_fixed(frame, q, 'XYZ')
            found = turned.ang_vel_in(frame)
            self.kd_eqs += [found.dot(e) - u for e, u in zip(turned, speeds)]
            turned.set_ang_vel(frame, spin)
        else:
            turned.orient_quaternion(frame, q)
            if body.joint == 'quaternion':
                a, b, c, d = q
                lines = Matrix([[-b, -c, -d], [a, -d, c], [d, a, -b],
                                [-c, b, a]])
                self.kd_eqs += list(
                    Matrix(self.rates[i:i + n]) - lines*Matrix(speeds)/2)
                turned.set_ang_vel(frame, spin)
        return turned, point

    def add_joint(self, k, body, parent):
        """The same by a joint of SymPy; its kinematics are ``q' = u``."""
        i, j = self.mechanism.first(k)
        frame, centre = ReferenceFrame(f'B{k}'), Point(f'C{k}')
        here = centre.locatenew(f'J{k}', -self.vector(
            frame, self.numbers(body.centre)))
        self.add_body(k, body, frame, centre)
        carrier, place = self.ground, body.place
        if body.parent >= 0:
            carrier = self.bodies[body.parent]
            place = newton.add(place, newton.times(
                -1, self.mechanism.bodies[body.parent].centre))
        there = carrier.masscenter.locatenew(f'P{k}', self.vector(
            parent, self.numbers(place)))
        between, moves = self.turned(k, body, parent), {}
        if body.joint != 'weld':
            moves = {'coordinates': self.q[i], 'speeds': self.u[j],
                     'joint_axis': between.z if body.joint == 'pin'
                     else between.x}
        SYMPY_JOINTS[body.joint](
            f'joint{k}', carrier, self.bodies[k], parent_point=there,
            child_point=here, parent_interframe=between,
            child_interframe=frame, **moves)
        self.frames.append(frame)
        self.joints.append(here)
        self.add_inertia(k, body, here)

    def add_body(self, k, body, frame, centre):
        """A particle, or a rigid body without inertia."""
        mass = self.constant(f'm{k}', body.mass)
        particle = body.inertia is None and {
            self.writing.joints, self.writing.particles} == {
                'frames', 'Particle'}
        self.bodies.append(Particle(f'body{k}', centre, mass) if particle
                           else RigidBody(f'body{k}', centre, frame, mass,
                                          (Dyadic(0), centre)))

    def add_inertia(self, k, body, joint):
        """Give a rigid body its inertia."""
        rigid = self.bodies[k]
        if isinstance(rigid, Particle):
            return
        xx, yy, zz, xy, yz, zx = (
            self.constant(f'I{k}{name}', c) for name, c in zip(
                ('xx', 'yy', 'zz', 'xy', 'yz', 'zx'), body.inertia or [0]*6))
        I = Matrix([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])  # noqa: E741
        about = rigid.masscenter
        if self.next('inertia_about') == 'joint':
            about, d = joint, Matrix(self.numbers(body.centre))
            I += rigid.mass*(d.dot(d)*eye(3) - d*d.T)  # noqa: E741
        frame, axes = rigid.frame, self.next('inertia_axes')
        aside, R = self.aside(frame)
        if axes == 'body':
            inertia = dyadic(frame, frame, I)
        elif axes == 'turned':
            inertia = dyadic(aside, aside, R.T*I*R)
        elif axes == 'mixed':
            inertia = dyadic(frame, aside, I*R)
        elif axes == 'split':
            inertia = dyadic(frame, frame, I/2) + dyadic(
                aside, aside, R.T*I*R/2)
        else:
            other = self.frame
            if axes == 'parent' and body.parent >= 0:
                other = self.frames[body.parent]
            R = other.dcm(frame)
            inertia = dyadic(other, other, R*I*R.T)
        rigid.inertia = inertia, about

    def kinematics(self):
        """Rates of coordinates in speeds, and kinematical equations."""
        mechanism = self.mechanism
        n, o = mechanism.counts
        self.lines = list(self.rates)
        if self.writing.shape == 'lagrange':
            return
        mix = eye(o)
        for i, j, sign in mechanism.mixing:
            mix[i, :] += sign*mix[j, :]
        lines = mix*Matrix(self.u)
        for k, body in enumerate(mechanism.bodies):
            if body.joint not in SPEEDS_OF_THEIR_OWN:
                i, j = mechanism.first(k)
                for m in range(JOINTS[body.joint][0]):
                    self.kd_eqs.append(self.rates[i + m] - lines[j + m])
                    if self.writing.spins == 'speeds':
                        self.lines[i + m] = lines[j + m]

    # -- loads and rows

    def weights(self):
        """Weight as loads or as potential energy."""
        gravity = self.number(self.mechanism.gravity)
        if not gravity:
            return
        energy = (self.writing.shape == 'lagrange') == (
            self.writing.weights == 'usual')
        for body in self.bodies:
            if energy:
                height = body.masscenter.pos_from(self.origin).dot(
                    self.frame.y)
                body.potential_energy = body.mass*gravity*height
            else:
                self.loads.append((body.masscenter,
                                   -body.mass*gravity*self.frame.y))

    def at(self, name, index, place):
        """A point at a place of a body, -1 is the ground."""
        if index < 0:
            return self.fixed(name, self.origin, self.frame, place)
        return self.fixed(name, self.joints[index], self.frames[index], place)

    def load(self, k, load):
        """The loads that one of the mechanism makes."""
        frame, body = self.frames[load.body], self.bodies[load.body]
        size = self.number(load.size)*{
            'constant': 1, 'spring': -self.q[load.index],
            'damper': -self.rates[load.index], 'time': sin(t)}[load.kind]
        kind = self.next('loads')
        vector = self.vector(frame if load.follows else self.frame,
                             [size*c for c in load.vector])
        if kind == 'turned':
            vector = vector.express(self.frame if load.follows else frame)
        if load.torque:
            if kind == 'body' and isinstance(body, RigidBody):
                return [Torque(body, vector)]
            return written(kind, Torque, frame, vector)
        if kind == 'body':
            place = newton.add(load.place, newton.times(
                -1, self.mechanism.bodies[load.body].centre))
            arm = self.vector(frame, self.numbers(place))
            return [Force(body, vector), (frame, arm.cross(vector))]
        return written(kind, Force, self.at(f'F{k}', load.body, load.place),
                       vector)

    def row(self, k, row):
        name, ratio, N = f'R{k}', self.number(row.ratio), self.frame
        if row.of:
            found = sum(c*self.rows[i] for i, c in row.of)
            if row.kind == 'contradiction':
                since = t - Symbol('t0', real=True)
                found += since**2/2 if self.is_holonomic(k) else since
            return found
        d = Symbol(f'd{k}', real=True)
        direction = [self.exactly(c) for c in row.vector]
        if row.kind in ('coincide', 'distance'):
            here = self.at(name, row.body, row.place)
            there = self.at(name + 'o', row.other, row.other_place)
            apart = here.pos_from(there)
            if row.kind == 'distance':
                return apart.dot(apart)/2 - d
            return apart.dot(self.vector(N, direction)) - d
        x, y = self.q[row.i], self.q[row.j]
        if row.kind == 'gear':
            return x + ratio*y - d
        if row.kind == 'drive':
            return x - ratio*sin(t) - d
        if row.kind == 'rate':
            return self.rates[row.i] + ratio*self.rates[row.j] - x/2
        if row.kind == 'norm':
            i, _ = self.mechanism.first(row.body)
            return sum(e**2 for e in self.q[i:i + 4]) - 1
        v = self.at(name, row.body, row.place).vel(N)
        frame = N if row.body < 0 else self.frames[row.body]
        if row.kind == 'speed':
            return v.dot(v) - d
        if row.kind == 'knife':
            return v.dot(self.vector(frame, direction))
        e = self.vector(N, direction)
        if row.kind == 'slide':
            return v.dot(e) - ratio*sin(t)
        arm = -ratio*N.y
        if row.kind == 'disc':
            lean = N.y.dot(frame.z)
            arm = -ratio*(N.y - lean*frame.z)/sqrt(1 - lean**2)
        return (v + frame.ang_vel_in(N).cross(arm)).dot(e)

    # -- for a method

    def is_holonomic(self, k):
        row = self.mechanism.rows[k]
        if row.of:
            return all(self.is_holonomic(i) for i, _ in row.of)
        return row.kind in HOLONOMIC

    def shuffled(self, name, count):
        """Numbers in the order in which things are given."""
        order = list(range(count))
        if self.writing.order:
            Random(f'{self.writing.order} {name}').shuffle(order)
        return order

    @property
    def order(self):
        """Numbers of coordinates, of speeds, and of rows as given."""
        n, o = self.mechanism.counts
        held = sum(self.is_holonomic(k) for k in range(len(self.rows)))
        speeds = self.shuffled('u', o)
        coordinates = self.shuffled('q', n)
        if self.writing.shape == 'lagrange':
            coordinates = speeds
        return coordinates, speeds, self.shuffled('hol', held) + [
            held + k for k in self.shuffled('vel', len(self.rows) - held)]

    def factor(self, k, t=t, sin=sin):
        """Of a row as given, in SymPy or in numbers."""
        if self.writing.factors == 'none':
            return 1
        return sin(t) if k % 2 else t

    @property
    def split(self):
        """Holonomic and nonholonomic rows."""
        rows = [(self.is_holonomic(k), self.factor(k)*self.rows[k])
                for k in self.order[2]]
        return ([row for holonomic, row in rows if holonomic],
                [row for holonomic, row in rows if not holonomic])

    @property
    def arguments(self):
        hol, vel = self.split
        coordinates, speeds, _ = self.order
        q = [self.q[i] for i in coordinates]
        u = [self.u[i] for i in speeds]
        bodies = [self.bodies[k] for k in self.shuffled(
            'bodies', len(self.bodies))]
        loads = [self.loads[k] for k in self.shuffled(
            'loads', len(self.loads))]
        if self.writing.shape == 'lagrange':
            return {'Lagrangian': Lagrangian(self.frame, *bodies),
                    'qs': q, 'frame': self.frame, 'bodies': bodies,
                    'forcelist': loads or None, 'hol_coneqs': hol,
                    'nonhol_coneqs': vel}
        kd_eqs = [self.kd_eqs[k] for k in self.shuffled('kd', len(q))]
        if self.writing.kinematics == 'scaled':
            kd_eqs = [(-2 - k)*row for k, row in enumerate(kd_eqs)]
        return {'frame': self.frame, 'q_ind': q, 'u_ind': u,
                'kd_eqs': kd_eqs, 'bodies': bodies, 'forcelist': loads,
                'configuration_constraints': hol,
                'velocity_constraints': vel}

    def form(self, method, **options):
        """A method of this model."""
        given = {**self.arguments, **options}
        if self.writing.shape == 'kane' and self.writing.weights == 'other':
            given['potential_energy'] = 'include'
        refused = any(0 in rows or len({*rows}) < len(rows)
                      for rows in self.split)
        if refused or self.writing.interface == 'arguments':
            return method(**given)      # System takes no zeros and copies
        system = System(self.frame, self.origin)
        system.add_bodies(*given.pop('bodies'))
        system.add_loads(*given.pop('forcelist'))
        system.q_ind, system.q_dep = given.pop('q_ind'), given.pop(
            'q_dependent', ())
        system.u_ind = given.pop('u_ind')
        system.kdes = given.pop('kd_eqs')
        system.holonomic_constraints = given.pop('configuration_constraints')
        system.nonholonomic_constraints = given.pop('velocity_constraints')
        del given['frame']
        return method.from_method(system, **given)

    def values(self, state):
        """Numbers of all symbols at a state."""
        found = dict(zip(self.q, state.q))
        found |= dict(zip(self.u, state.u))
        found |= {t: state.t, Symbol('t0', real=True): state.t}
        found |= {symbol: newton.number(value)
                  for symbol, value in self.constants.items()}
        for k, (row, known) in enumerate(zip(
                self.mechanism.rows, state.rows())):
            if not row.of:
                found[Symbol(f'd{k}', real=True)] = known[0]
        return found


def dyadic(first, second, matrix):
    """From measure numbers by dyads of the axes of two frames."""
    return sum((matrix[i, j]*a.outer(b) for i, a in enumerate(first)
                for j, b in enumerate(second)), Dyadic(0))


def written(kind, sort, location, vector):
    """A load at a point or frame as a list of loads."""
    if kind == 'object':
        return [sort(location, vector)]
    if kind == 'halves':
        return 2*[(location, vector/2)]
    return [(location, vector)]
