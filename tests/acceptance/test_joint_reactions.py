"""Reactions of joints: Newton's and Euler's laws for each body.

The laws are evaluated without the package's kinematics: the motion of each
body is differentiated numerically, in 50 digits, along the parabola through
the state with the accelerations of the method.
"""
import numpy as np
import pytest
from mpmath import mp
from sympy import Matrix, cos, lambdify, sin, symbols
from sympy.physics.mechanics import (
    CylindricalJoint, Force, Particle, PinJoint, PlanarJoint, PrismaticJoint,
    RigidBody, SphericalJoint, System, TorqueActuator, WeldJoint, inertia)

from sympy_constrained import RouthMethod, UdwadiaKalabaMethod
from sympy_constrained.models import model
from sympy_constrained.numeric import compile_equations, consistent_state

m, g, l, T, k = symbols('m g l T k', positive=True)
CLOSE = 1e-10


def state_of(equations, start, fixed):
    return consistent_state(equations, dict(start), fixed=fixed)


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


# -- published and by hand ---------------------------------------------------

def pendulum():
    ground, rod = RigidBody('ground'), RigidBody('rod', mass=m)
    rod.central_inertia = inertia(rod.frame, 0, 0, m*l**2/3)
    system = System.from_newtonian(ground)
    system.add_joints(PinJoint(
        'pin', ground, rod, child_point=l*rod.y,
        joint_axis=ground.z))
    system.apply_uniform_gravity(-g*ground.y)
    return system, ground, rod


def test_pin_of_a_pendulum():
    """Along the rod ``m*g*cos(q) + m*l*w^2``, and no moment about the axis.
    """
    system, ground, rod = pendulum()
    method = UdwadiaKalabaMethod.from_method(system)
    q, u = method.q[0], method.u[0]
    pin = method.joint_reactions(frame=rod.frame)['pin']
    assert pin.force.dot(rod.y).equals(m*g*cos(q) + m*l*u**2)
    moving = {u.diff(): method.acceleration[0]}
    assert pin.moment.dot(rod.z).subs(moving).equals(0)
    # a rod that swings about its end: g*m/4 across it
    assert pin.force.dot(rod.x).subs(moving).equals(m*g*sin(q)/4)
    inertial = method.joint_reactions()['pin'].force
    assert inertial.dot(rod.y).equals(pin.force.dot(rod.y))


def test_weld_carries_the_weight():
    """A bracket welded to a wall at its end: force m*g, moment m*g*l."""
    wall, bracket = RigidBody('wall'), RigidBody('bracket', mass=m)
    slider = Particle('slider', mass=m)
    system = System.from_newtonian(wall)
    system.add_joints(
        WeldJoint('weld', wall, bracket, child_point=-l*bracket.x),
        PrismaticJoint('guide', bracket, slider, child_interframe=None))
    system.apply_uniform_gravity(-g*wall.y)
    method = UdwadiaKalabaMethod.from_method(system)
    q, u = method.q[0], method.u[0]
    weld, guide = method.joint_reactions().values()
    assert weld.force.dot(wall.y).equals(2*m*g)
    assert weld.force.dot(wall.x).equals(m*u.diff())
    assert weld.moment.dot(wall.z).equals(m*g*l + m*g*(l + q))
    assert guide.force.dot(wall.y).equals(m*g)
    assert guide.moment == 0*wall.x


# -- Newton's and Euler's laws ---------------------------------------------

def compiled(given, method):
    equations = compile_equations(method, given.parameters)
    return equations, state_of(equations, given.start, given.fixed)


def linkage(name, rows):
    """A ready linkage, the actions of its loop rows."""
    given = model(name)
    method = UdwadiaKalabaMethod.from_method(given.system)
    equations, x = compiled(given, method)
    reactions = method.joint_reactions(rows=rows(given.system))
    return given.system, equations, x, reactions.function(equations)(0., x)


def point_of(body, name):
    """A point that the model has made on a body."""
    return next(p for p in body.masscenter._pos_dict if p.name == name)


def test_four_bar():
    def rows(system):
        link1, *_, link4 = system.bodies
        ends = point_of(link4, 'end'), point_of(link1, 'start')
        return [(ends[0], axis, ends[1]) for axis in (link1.x, link1.y)]

    system, equations, x, numbers = linkage('four_bar', rows)
    end = rows(system)[0][0]
    check(system, equations, x, numbers, row_actions(
        numbers, system.frame, ('holonomic row 0', system.bodies[3], end, 1),
        ('holonomic row 1', system.bodies[3], end, 1)))
    for i in range(1, 4):               # planar, and no torque about the pin
        assert abs(numbers[f'J{i}'][[2, 3, 4, 5]]).max() < 1e-9


def test_slider_crank():
    def rows(system):
        ground, _, rod, piston = system.bodies
        end = point_of(rod, 'small_end')
        return [(end, axis, piston.masscenter) for axis in ground.frame][:2]

    system, equations, x, numbers = linkage('slider_crank', rows)
    _, _, rod, piston = system.bodies
    end = rows(system)[0][0]
    check(system, equations, x, numbers, row_actions(
        numbers, system.frame, *(
            (f'holonomic row {i}', body, point, sign) for i in (0, 1)
            for body, point, sign in ((rod, end, 1),
                                      (piston, piston.masscenter, -1)))))
    assert abs(numbers['guide'][0]) < 1e-9      # it slides without friction
    assert abs(numbers['guide'][1]) > 1         # and carries the side thrust


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


@pytest.mark.parametrize('axes', [None, 'link2'])
def test_arm_of_six_pins(axes):
    system = arm()
    links = system.bodies
    hook = links[6].masscenter.locatenew('hook', l/2*links[6].x)
    pull = T/l*links[3].y + k*links[0].x
    system.add_actuators(TorqueActuator(
        T, links[3].z, links[3], links[2]))
    system.add_loads(Force(hook, pull))
    method = UdwadiaKalabaMethod.from_method(system)
    equations = compile_equations(method, {
        m: 1.3, g: 9.81, l: 0.4, T: 2., k: 3.})
    x = np.random.default_rng(3).uniform(-1, 1, 12)
    frame = next((body.frame for body in links if body.name == axes), None)
    reactions = method.joint_reactions(frame=frame)
    numbers = reactions.function(equations)(0., x)
    laws = Laws(system, equations, x)
    if axes:                            # back to the inertial frame
        R = np.array(laws.at(frame.dcm(system.frame).T).tolist(), float)
        numbers = {name: np.concatenate([R @ value[:3], R @ value[3:]])
                   for name, value in numbers.items()}
    none = 0*system.frame.x
    check(system, equations, x, numbers, [
        (links[6], hook, pull, none), (links[3], None, none, T*links[3].z),
        (links[2], None, none, -T*links[3].z)])
    # the joint transmits nothing in its free direction, nor the motor's
    for i, joint in enumerate(system.joints):
        axis = np.array(laws.vector((
            joint.parent.z, joint.parent.y, joint.parent.x)[i % 3]), float)
        assert abs(axis.ravel() @ numbers[joint.name][3:]) < 1e-9


@pytest.mark.parametrize('cls, free', [
    (CylindricalJoint, 'FM'), (PrismaticJoint, 'F'), (PinJoint, 'M'),
    (PlanarJoint, 'plane'), (SphericalJoint, 'ball')])
def test_every_joint(cls, free):
    ground, body, tip = RigidBody('ground'), RigidBody('body', mass=m), (
        RigidBody('tip', mass=m))
    for one in body, tip:
        one.central_inertia = inertia(
            one.frame, m*l**2, 2*m*l**2, 2.5*m*l**2, m*l**2/9)
    system = System.from_newtonian(ground)
    system.add_joints(
        cls('joint', ground, body, child_point=l*body.y + l*body.x),
        PinJoint('pin', body, tip, joint_axis=body.y, parent_point=l*body.z,
                 child_point=l*tip.x))
    system.apply_uniform_gravity(-g*ground.y + g*ground.z - g*ground.x)
    method = RouthMethod.from_method(system)
    equations = compile_equations(method, {m: 1.3, g: 9.81, l: 0.4})
    x = np.random.default_rng(4).uniform(-1, 1, len(equations.states))
    numbers = method.joint_reactions().function(equations)(0., x)
    check(system, equations, x, numbers)
    vanishing = {'FM': (0, 3), 'F': (0,), 'M': (3,), 'plane': (1, 2, 3),
                 'ball': (3, 4, 5)}[free]
    value = numbers['joint']
    assert abs(value[list(vanishing)]).max() < CLOSE
    assert np.count_nonzero(abs(value) > 1e-3) == 6 - len(vanishing)
