"""Newton's and Euler's laws of the bodies of a System at a state.

The laws are evaluated without the package's kinematics: the motion of each
body is differentiated numerically, in 50 digits, along the parabola through
the state with the accelerations of the method.
"""
from mpmath import mp
from sympy import Matrix, lambdify, symbols
from sympy.physics.mechanics import (
    Force, Particle, PinJoint, RigidBody, System, inertia)

m, g, l, T, k = symbols('m g l T k', positive=True)
CLOSE = 1e-10


class Laws:
    """Newton-Euler of the bodies of a System at one state."""

    def __init__(self, system, equations, x):
        self.system, self.N = system, system.frame
        eom, rates = equations.equations, equations.rhs(0., x)
        values = {x: 1 for body in system.bodies if isinstance(
            body, RigidBody)            # of inertias that drop out
            for x in body.central_inertia.to_matrix(body.frame).free_symbols}
        values.update(zip(equations.constants, equations.parameters()))
        motion = [[mp.mpf(float(y)) for y in (
            x[i], x[j], rates[j])] for i, j in zip(
                equations.q_index, equations.u_index)]
        with mp.workdps(50):
            self.step = mp.mpf(10)**-15
            self.states = [{**values, **{
                q: place + s*speed + s**2*rate/2
                for q, (place, speed, rate) in zip(eom.q, motion)},
                **{u: speed for u, (_, speed, _) in zip(eom.u, motion)}}
                for s in (-self.step, 0, self.step)]

    def at(self, expr, which=1):
        names = list(self.states[which])
        with mp.workdps(50):
            found = lambdify(names, Matrix(expr), 'mpmath', cse=True)(
                *self.states[which].values())
        return mp.matrix(found)

    def vector(self, vector):
        return self.at(vector.to_matrix(self.N)) if vector != 0 else (
            mp.matrix(3, 1))

    def place(self, point):
        return self.vector(point.pos_from(self.system.fixed_point))

    def differences(self, expr):
        a, b, c = (self.at(expr, i) for i in range(3))
        return b, (c - a)/(2*self.step), (c - 2*b + a)/self.step**2

    def inertial(self, body):
        """``m*a`` and the rate of the central angular momentum."""
        with mp.workdps(50):
            mass = self.at([body.mass])[0]
            *_, a = self.differences(body.masscenter.pos_from(
                self.system.fixed_point).to_matrix(self.N))
            if isinstance(body, Particle):
                return mass*a, mp.matrix(3, 1)
            R, V, A = self.differences(body.frame.dcm(self.N).T)
            spin, turn = V*R.T, A*R.T + V*V.T
            w, alpha = (mp.matrix([S[2, 1], S[0, 2], S[1, 0]])
                        for S in (spin, turn))
            own = self.at(body.central_inertia.to_matrix(body.frame))
            inertia = R*own*R.T
            return mass*a, inertia*alpha + cross(w, inertia*w)

    def unbalanced(self, actions):
        """Largest violation; actions: body, point or None, F, M."""
        worst = mp.mpf(0)
        for body in self.system.bodies:
            if getattr(body, 'frame', None) == self.N:
                continue
            force, moment = self.inertial(body)
            for other, point, F, M in actions:
                if other is not body:
                    continue
                force, moment = force - F, moment - M
                if point is not None:
                    arm = self.place(point) - self.place(body.masscenter)
                    moment -= cross(arm, F)
            worst = max(worst, *map(abs, force), *map(abs, moment))
        return worst


def cross(a, b):
    return mp.matrix([a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2],
                      a[0]*b[1] - a[1]*b[0]])


def joint_actions(laws, numbers):
    for joint in laws.system.joints:
        value = numbers[joint.name]
        F, M = mp.matrix(value[:3]), mp.matrix(value[3:])
        yield joint.child, joint.child_point, F, M
        yield joint.parent, joint.child_point, -F, -M


def gravity(laws):
    """Weights, as System.apply_uniform_gravity adds them to the loads."""
    for body in laws.system.bodies:
        for load in laws.system.loads:
            if isinstance(load, Force) and load.point == body.masscenter and (
                    body.masscenter != laws.system.fixed_point):
                yield (body, load.point, laws.vector(load.force),
                       mp.matrix(3, 1))


def check(system, equations, x, numbers, others=()):
    laws = Laws(system, equations, x)
    actions = [*joint_actions(laws, numbers), *gravity(laws),
               *((body, point, laws.vector(F), laws.vector(M))
                 for body, point, F, M in others)]
    scale = max(1, *(abs(value).max() for value in numbers.values()))
    assert laws.unbalanced(actions) < CLOSE*scale
    return laws


def row_actions(numbers, N, *loads):
    """Forces of rows: name, body, point, sign."""
    for name, body, point, sign in loads:
        F = sum(sign*float(c)*e for c, e in zip(numbers[name][:3], N))
        yield body, point, F, 0*N.x


def pendulum():
    ground, rod = RigidBody('ground'), RigidBody('rod', mass=m)
    rod.central_inertia = inertia(rod.frame, 0, 0, m*l**2/3)
    system = System.from_newtonian(ground)
    system.add_joints(PinJoint(
        'pin', ground, rod, child_point=l*rod.y,
        joint_axis=ground.z))
    system.apply_uniform_gravity(-g*ground.y)
    return system, ground, rod


def arm(count=6):
    """A chain of pins about different axes, with a motor and a spring."""
    ground = body = RigidBody('ground')
    system = System.from_newtonian(ground)
    for i in range(count):
        link = RigidBody(f'link{i}', mass=m)
        link.central_inertia = inertia(
            link.frame, *(m*l**2*c/60 for c in (3 + i, 5, 7 + i, 1, 0, 1)))
        system.add_joints(PinJoint(
            f'pin{i}', body, link, parent_point=l/2*body.x,
            child_point=-l/2*link.x - l/9*link.y,
            joint_axis=(body.z, body.y, body.x)[i % 3]))
        body = link
    system.apply_uniform_gravity(-g*ground.y)
    return system
