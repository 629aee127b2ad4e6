"""A random mechanism as a model of SymPy's ``physics.mechanics``."""
from sympy import Matrix, Rational, Symbol, cos, eye, sin, sqrt
from sympy.physics.mechanics import (
    Lagrangian, Particle, Point, ReferenceFrame, RigidBody, dynamicsymbols,
    inertia)

from fuzz import newton
from fuzz.mechanism import HOLONOMIC, JOINTS, SPEEDS_OF_THEIR_OWN

t = dynamicsymbols._t


def number(x):
    return Rational(x.numerator, x.denominator)


class SympyModel:
    """Frames, points, bodies, loads and rows of a :class:`Mechanism`.

    ``arguments`` are those of ``KanesMethod`` or ``LagrangesMethod``;
    ``values`` are numbers of all symbols at a state of ``newton``.
    """

    def __init__(self, mechanism):
        self.mechanism = mechanism
        n, o = mechanism.counts
        self.q = list(dynamicsymbols(f'q1:{n + 1}', real=True))
        self.rates = [q.diff(t) for q in self.q]
        lagrange = mechanism.shape == 'lagrange'
        self.u = self.rates if lagrange else list(
            dynamicsymbols(f'u1:{o + 1}', real=True))
        self.constants = {}
        self.frame, self.origin = ReferenceFrame('N'), Point('O')
        self.origin.set_vel(self.frame, 0)
        base = self.origin
        if mechanism.shaking:
            base = self.point('base', self.origin, number(
                mechanism.shaking)*cos(t)*self.frame.y)
        self.frames, self.joints, self.bodies = [], [], []
        self.kd_eqs = []
        for k, body in enumerate(mechanism.bodies):
            self.add(k, body, base)
        self.kinematics()
        self.loads = [self.load(load) for load in mechanism.loads]
        self.weights()
        self.rows = []
        for k, row in enumerate(mechanism.rows):
            self.rows.append(self.row(k, row))

    def constant(self, name, value):
        """A symbol with a value, or the value."""
        if not self.mechanism.symbols:
            return number(value)
        symbol = Symbol(name, real=True)
        self.constants[symbol] = value
        return symbol

    def vector(self, frame, components):
        return sum((number(c)*e for c, e in zip(components, frame)),
                   0*frame.x)

    def point(self, name, start, vector):
        """A point, with a velocity by SymPy's own differentiation."""
        point = start.locatenew(name, vector)
        point.set_vel(self.frame, start.vel(self.frame)
                      + vector.dt(self.frame))
        return point

    # -- bodies

    def add(self, k, body, base):
        i, j = self.mechanism.first(k)
        n, o = JOINTS[body.joint]
        q = self.q[i:i + n]
        parent, start = (self.frame, base) if body.parent < 0 else (
            self.frames[body.parent], self.joints[body.parent])
        point = self.point(f'J{k}', start, self.vector(parent, body.place))
        frame = parent
        if any(body.turn[1:]):
            frame = ReferenceFrame(f'A{k}')
            R = Matrix(newton.of_quaternion([Rational(c) for c in body.turn]))
            frame.orient_explicit(parent, R)
        for m, move in enumerate(newton.MOVES.get(body.joint, ''), i):
            axis = 'xyz'.index(move.lower())
            if move.islower():
                point = self.point(f'S{k}{move}', point, self.q[m]*list(
                    frame)[axis])
            else:
                turned = ReferenceFrame(f'B{k}{move}{m}')
                turned.orient_axis(frame, list(frame)[axis], self.q[m])
                frame = turned
        if body.joint == 'driven':
            turned = ReferenceFrame(f'B{k}')
            turned.orient_axis(frame, frame.z, sin(t))
            frame = turned
        elif body.joint == 'ball body':
            turned = ReferenceFrame(f'B{k}')
            turned.orient_body_fixed(frame, q, 'XYZ')
            found = turned.ang_vel_in(frame)
            speeds = self.u[j:j + o]
            self.kd_eqs += [found.dot(e) - u for e, u in zip(turned, speeds)]
            turned.set_ang_vel(frame, sum(
                (u*e for e, u in zip(turned, speeds)), 0*turned.x))
            frame = turned
        elif n == 4:
            turned = ReferenceFrame(f'B{k}')
            turned.orient_quaternion(frame, q)
            if body.joint == 'quaternion':
                speeds = self.u[j:j + o]
                a, b, c, d = q
                lines = Matrix([[-b, -c, -d], [a, -d, c], [d, a, -b],
                                [-c, b, a]])
                self.kd_eqs += list(
                    Matrix(self.rates[i:i + n]) - lines*Matrix(speeds)/2)
                turned.set_ang_vel(frame, sum(
                    (u*e for e, u in zip(turned, speeds)), 0*turned.x))
            frame = turned
        self.frames.append(frame)
        self.joints.append(point)
        centre = self.point(f'C{k}', point, self.vector(frame, body.centre))
        mass = self.constant(f'm{k}', body.mass)
        if body.inertia is None:
            self.bodies.append(Particle(f'body{k}', centre, mass))
        else:
            moments = [number(c) for c in body.inertia]
            self.bodies.append(RigidBody(
                f'body{k}', centre, frame, mass,
                (inertia(frame, *moments), centre)))

    def kinematics(self):
        """Kinematical equations, and velocities in the speeds."""
        mechanism = self.mechanism
        n, o = mechanism.counts
        if mechanism.shape == 'lagrange':
            return
        S = eye(o)
        for i, j, sign in mechanism.mixing:
            S[i, :] += sign*S[j, :]
        lines = S*Matrix(self.u)
        for k, body in enumerate(mechanism.bodies):
            if body.joint not in SPEEDS_OF_THEIR_OWN:
                i, j = mechanism.first(k)
                self.kd_eqs += [
                    self.rates[i + m] - lines[j + m]
                    for m in range(JOINTS[body.joint][0])]

    # -- loads and rows

    def weights(self):
        """Weight as loads, or as potential energy in Lagrange's shape."""
        gravity = number(self.mechanism.gravity)
        if not gravity:
            return
        for body in self.bodies:
            if self.mechanism.shape == 'lagrange':
                height = body.masscenter.pos_from(self.origin).dot(
                    self.frame.y)
                body.potential_energy = body.mass*gravity*height
            else:
                self.loads.append((body.masscenter,
                                   -body.mass*gravity*self.frame.y))

    def at(self, name, index, place):
        if index < 0:
            return self.point(name, self.origin, self.vector(
                self.frame, place))
        return self.point(name, self.joints[index], self.vector(
            self.frames[index], place))

    def load(self, load):
        frame = self.frames[load.body] if load.follows else self.frame
        size = number(load.size)*{
            'constant': 1, 'spring': -self.q[load.index],
            'damper': -self.rates[load.index], 'time': sin(t)}[load.kind]
        vector = size*self.vector(frame, load.vector)
        if load.torque:
            return self.frames[load.body], vector
        return self.at('F', load.body, load.place), vector

    def row(self, k, row):
        name, ratio, N = f'R{k}', number(row.ratio), self.frame
        if row.of:
            found = sum(c*self.rows[i] for i, c in row.of)
            if row.kind == 'contradiction':
                since = t - Symbol('t0', real=True)
                found += since**2/2 if self.is_holonomic(k) else since
            return found
        d = Symbol(f'd{k}', real=True)
        if row.kind in ('coincide', 'distance'):
            here = self.at(name, row.body, row.place)
            there = self.at(name + 'o', row.other, row.other_place)
            apart = here.pos_from(there)
            if row.kind == 'distance':
                return apart.dot(apart)/2 - d
            return apart.dot(self.vector(N, row.vector)) - d
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
            return v.dot(self.vector(frame, row.vector))
        e = self.vector(N, row.vector)
        if row.kind == 'slide':
            return v.dot(e) - ratio*sin(t)
        arm = -ratio*N.y
        if row.kind == 'disc':
            lean = N.y.dot(frame.z)
            arm = -ratio*(N.y - lean*frame.z)/sqrt(1 - lean**2)
        return (v + frame.ang_vel_in(N).cross(arm)).dot(e)

    # -- for a method

    @property
    def split(self):
        held = sum(self.is_holonomic(k) for k in range(len(self.rows)))
        return self.rows[:held], self.rows[held:]

    def is_holonomic(self, k):
        row = self.mechanism.rows[k]
        if row.of:
            return all(self.is_holonomic(i) for i, _ in row.of)
        return row.kind in HOLONOMIC

    @property
    def arguments(self):
        hol, vel = self.split
        if self.mechanism.shape == 'lagrange':
            return {'Lagrangian': Lagrangian(self.frame, *self.bodies),
                    'qs': self.q, 'frame': self.frame, 'bodies': self.bodies,
                    'forcelist': self.loads or None, 'hol_coneqs': hol,
                    'nonhol_coneqs': vel}
        return {'frame': self.frame, 'q_ind': self.q, 'u_ind': self.u,
                'kd_eqs': self.kd_eqs, 'bodies': self.bodies,
                'forcelist': self.loads,
                'configuration_constraints': hol,
                'velocity_constraints': vel}

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
