"""Mechanisms with many loops, as arguments of a method, with constants."""
from itertools import count

from sympy import ImmutableDenseMatrix, Rational, cos, pi, sin, symbols
from sympy.physics.mechanics import (
    Force, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import Loop

GRAVITY = symbols('g')


class Mechanism:
    """A tree that grows body by body, and its loops."""

    def __init__(self):
        self.N, self.origin = ReferenceFrame('N'), Point('O')
        self.origin.set_vel(self.N, 0)
        self.numbers = count(1)
        self.q, self.u, self.bodies, self.loops = [], [], [], []

    def coordinate(self):
        """A new coordinate and its speed."""
        k = next(self.numbers)
        self.q.append(dynamicsymbols(f'q{k}'))
        self.u.append(dynamicsymbols(f'u{k}'))
        return self.q[-1], self.u[-1]

    def pin(self, parent, name):
        """A frame that turns in another one about an axis of it.

        Written without SymPy's methods, whose time grows with the mechanism.
        """
        frame = ReferenceFrame(f'A{len(self.q)}')
        q, u = self.coordinate()
        c, s = cos(q), sin(q)
        R = ImmutableDenseMatrix(
            {'x': [[1, 0, 0], [0, c, s], [0, -s, c]],
             'y': [[c, 0, -s], [0, 1, 0], [s, 0, c]],
             'z': [[c, s, 0], [-s, c, 0], [0, 0, 1]]}[name])
        frame._dcm_dict[parent], parent._dcm_dict[frame] = R, R.T
        spin = u*getattr(parent, name)
        frame._ang_vel_dict[parent] = spin
        parent._ang_vel_dict[frame] = -spin
        return frame

    def ball(self, parent):
        """A frame that turns in another one about three axes."""
        for name in 'zyx':
            parent = self.pin(parent, name)
        return parent

    def body(self, frame, center, mass=1):
        name = f'b{len(self.bodies)}'
        self.bodies.append(RigidBody(name, center, frame, mass, (inertia(
            frame, *(mass*Rational(k, 10) for k in (1, 2, 3))), center)))

    def bar(self, parent, pin):
        """A bar on a pin across the plane of gravity; its frame and end."""
        frame = self.pin(parent, 'y')
        k = len(self.bodies)
        center, end = Point(f'C{k}'), Point(f'E{k}')
        self.bodies.append(RigidBody(f'b{k}', center, frame, 1, (inertia(
            frame, 0, *2*[Rational(1, 12)]), center)))
        center.set_pos(pin, frame.x/2)  # later, as SymPy would search it
        end.set_pos(pin, frame.x)
        return frame, end

    @property
    def arguments(self):
        return {
            'frame': self.N, 'q_ind': self.q, 'u_ind': self.u,
            'kd_eqs': [x.diff() - v for x, v in zip(self.q, self.u)],
            'bodies': self.bodies, 'loops': self.loops, 'forcelist': [
                Force(body.masscenter, -body.mass*GRAVITY*self.N.z)
                for body in self.bodies]}


def bricard():
    """The orthogonal linkage of Bricard: six bars along edges of a cube.

    One bar is the ground. The loop has five rows, one of them redundant.
    """
    made = Mechanism()
    frame, point = made.N, made.origin
    for axis, along in zip('yzxyz', ('x', '-y', 'z', '-x', 'y')):
        frame = made.pin(frame, axis)
        bar = getattr(frame, along[-1])*(-1 if along[0] == '-' else 1)
        made.body(frame, point.locatenew(f'C{frame}', bar/2))
        point = point.locatenew(f'P{frame}', bar)
    end = made.origin.locatenew('end', made.N.z)
    made.loops = [Loop(point, end, axis=(frame.x, made.N.x))]
    return made


def stewart_platform():
    """A plate on six legs with a universal joint, a slider and a ball."""
    made = Mechanism()
    N, origin = made.N, made.origin
    center, velocity = Point('P'), 0
    place = 0
    for unit, height in zip(N, (0, 0, 1)):
        x, v = made.coordinate()
        place += (height + x)*unit
        velocity += v*unit
    center.set_pos(origin, place)
    center.set_vel(N, velocity)
    plate = made.ball(N)
    made.body(plate, center, 3)
    for k in range(6):
        foot = Rational(k, 3)*pi + Rational(k % 2, 10)
        head = Rational(k, 3)*pi + Rational(1 - k % 2, 4)
        foot = origin.locatenew(
            f'F{k}', cos(foot).n(15)*N.x + sin(foot).n(15)*N.y)
        leg = made.pin(made.pin(N, 'x'), 'y')
        x, v = made.coordinate()
        made.body(leg, foot.locatenew(f'L{k}', leg.z/3))
        top = foot.locatenew(f'T{k}', (1 + x)*leg.z)
        made.body(leg, top.locatenew(f'M{k}', -leg.z/3))
        made.loops.append(Loop(top, center.locatenew(
            f'H{k}', (cos(head).n(15)*plate.x + sin(head).n(15)*plate.y)/2)))
    return made


def net(rows, columns):
    """Crosses that are joined by balls at their ends, ``rows*columns``.

    One hangs on the ground; there are ``(rows - 1)*(columns - 1)`` loops.
    """
    made, crosses = Mechanism(), {}
    for i in range(rows):
        for j in range(columns):
            above, left = crosses.get((i - 1, j)), crosses.get((i, j - 1))
            if left:
                parent, pin = left[0], left[1].locatenew(
                    f'E{i}_{j}', left[0].x/2)
            elif above:
                parent, pin = above[0], above[1].locatenew(
                    f'S{i}_{j}', -above[0].y/2)
            else:
                parent, pin = made.N, made.origin
            frame = made.ball(parent)
            center = pin.locatenew(
                f'C{i}_{j}', frame.x/2 if left else -frame.y/2)
            made.body(frame, center)
            crosses[i, j] = frame, center
            if left and above:
                made.loops.append(Loop(
                    center.locatenew(f'N{i}_{j}', frame.y/2),
                    above[1].locatenew(f'S{i}_{j}', -above[0].y/2)))
    return made


def cranks(count):
    """Parallel cranks in a plane, joined by so many bars of the same length.
    """
    made, last = Mechanism(), None
    N = made.N
    for k in range(count + 1):
        pin = Point(f'O{k}')
        pin.set_pos(made.origin, k*N.x)
        pin.set_vel(N, 0)
        frame, joint = made.bar(N, pin)
        if last:
            made.loops.append(Loop(last, joint))
        if k < count:
            last = made.bar(frame, joint)[1]
    return made
