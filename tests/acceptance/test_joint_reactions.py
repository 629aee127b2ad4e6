"""Reactions of joints: Newton's and Euler's laws for each body."""
import numpy as np
import pytest
from newton_euler import (
    CLOSE, Laws, arm, check, g, k, l, m, pendulum, row_actions)
from sympy import cos, sin
from sympy.physics.mechanics import (
    CylindricalJoint, Force, Particle, PinJoint, PlanarJoint, Point,
    PrismaticJoint, ReferenceFrame, RigidBody, SphericalJoint, System,
    WeldJoint, dynamicsymbols, inertia)

from sympy_constrained import (
    HamelEmbedding, KinematicsError, RouthMethod, UdwadiaKalabaMethod,
    VoronetsMethod)
from sympy_constrained.models import model
from sympy_constrained.numeric import compile_equations, consistent_state


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


def test_ways_to_name_a_joint():
    """A System after ``form_eoms``, a tuple, and one from body to ground."""
    system, ground, rod = pendulum()
    system.form_eoms(eom_method=UdwadiaKalabaMethod)
    method, point = system.eom_method, system.joints[0].child_point
    pin, = method.joint_reactions(system).values()
    same, opposite = (method.joint_reactions([('name', *ends, point)])['name']
                      for ends in ((None, rod), (rod, None)))
    assert pin.force == same.force == -opposite.force
    assert pin.moment == -opposite.moment


@pytest.mark.parametrize('turn', [0, 1])
def test_a_rod_of_two_bodies_on_an_axle(turn):
    """Without a joint between them; a thrust acts along the axle."""
    q, u = dynamicsymbols('q:2'), dynamicsymbols('u:2')
    N, (O, far) = ReferenceFrame('N'), map(Point, ('O', 'far'))
    for point in O, far:
        point.set_vel(N, 0)
    A = N.orientnew('A', 'Axis', (q[0], N.z))
    B = A.orientnew('B', 'Axis', (turn*q[1], A.z))
    axle, hub = O.locatenew('axle', l*A.z), O.locatenew('hub', 0)
    bodies = [Particle(f'in {point}', point, m) for point in (far, hub)]
    for frame in A, B:
        point = O.locatenew(f'G{frame}', l*frame.x)
        point.v2pt_theory(O, N, frame)
        bodies.append(RigidBody(f'rod {frame}', point, frame, m, (
            inertia(frame, 1, 1, 1), point)))
    method = UdwadiaKalabaMethod(
        N, q[:turn + 1], u[:turn + 1],
        [x.diff() - v for x, v in zip(q[:turn + 1], u)], bodies=bodies,
        forcelist=[(axle, k*A.z), (hub, m*N.z)])
    pin = 'pin', None, bodies[2], O
    if turn:
        with pytest.raises(KinematicsError, match='rod B moves with rod A'):
            method.joint_reactions([pin])
    else:
        force = method.joint_reactions([pin])['pin'].force
        assert force.dot(A.x).equals(-2*m*l*u[0]**2) and force.dot(A.z) == -k


def test_weld_carries_the_weight():
    """And the load at the hook of its bracket, not that at one of the wall."""
    wall, bracket = RigidBody('wall'), RigidBody('bracket', mass=m)
    slider = Particle('slider', mass=m)
    system = System.from_newtonian(wall)
    system.add_joints(
        WeldJoint('weld', wall, bracket, child_point=-l*bracket.x),
        PrismaticJoint('guide', bracket, slider, child_interframe=None))
    system.apply_uniform_gravity(-g*wall.y)
    for body in wall, bracket:
        hook = body.masscenter.locatenew('hook', l*body.y)
        hook.set_vel(wall.frame, 0)
        system.add_loads(Force(hook, k*wall.x))
    method = UdwadiaKalabaMethod.from_method(system)
    q, u = method.q[0], method.u[0]
    weld, guide = method.joint_reactions().values()
    for found, expected in (
            (weld.force.dot(wall.y), 2*m*g), (guide.force.dot(wall.y), m*g),
            (weld.force.dot(wall.x), m*u.diff() - k),
            (weld.moment.dot(wall.z), m*g*(2*l + q) + k*l)):
        assert found.equals(expected)
    assert guide.moment == 0*wall.x


# -- Newton's and Euler's laws ---------------------------------------------

def compiled(given, method):
    equations = compile_equations(method, given.parameters)
    return equations, consistent_state(
        equations, dict(given.start), fixed=given.fixed)


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


@pytest.mark.parametrize('cls', [HamelEmbedding, VoronetsMethod])
def test_embeddings_keep_the_joints_of_the_system(cls):
    """They were forgotten, so that no reactions were returned."""
    system = arm()
    method = cls.from_method(system)
    for one in {method, getattr(method, 'corrected', method)}:
        assert [*one.joint_reactions()] == [x.name for x in system.joints]


@pytest.mark.parametrize('cls, free', [
    (CylindricalJoint, [0, 3]), (PrismaticJoint, [0]), (PinJoint, [3]),
    (PlanarJoint, [1, 2, 3]), (SphericalJoint, [3, 4, 5])])
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
    value = abs(numbers['joint'])
    assert value[free].max() < CLOSE
    assert np.count_nonzero(value > 1e-3) == 6 - len(free)


def test_a_body_in_the_rates_of_a_quaternion():
    """Its norm acts nowhere, and turns vectors only where it holds."""
    system = System.from_newtonian(RigidBody('wall'))
    N, pin, body = system.frame, system.fixed_point, RigidBody('b', mass=m)
    body.central_inertia = inertia(body.frame, m*l**2, 2*m*l**2, 2*m*l**2)
    q = dynamicsymbols('q:4')
    body.frame.orient_quaternion(N, q)
    body.masscenter.set_pos(pin, l*body.x + l/3*body.y)
    tip = body.masscenter.locatenew('tip', l*body.z)
    system.add_bodies(body)
    method = UdwadiaKalabaMethod(
        N, q, [x.diff() for x in q], bodies=[body], forcelist=[
            (body.masscenter, -m*g*N.y), (tip, k*N.x)],
        configuration_constraints=[sum(x**2 for x in q) - 1])
    equations = compile_equations(method, {m: 1.2, g: 9.81, l: 0.7, k: 3})
    x = consistent_state(equations, [.5, .4, .7, .3, .1, .2, -.3, .2])
    found = method.joint_reactions([('ball', None, body, pin)]).function(
        equations)(0, x)['ball']
    laws, none = Laws(system, equations, x), 0*N.x
    force = sum(map(lambda c, e: float(c)*e, found[:3], N), none)
    assert laws.unbalanced([
        (body, point, laws.vector(load), laws.vector(none))
        for point, load in ((pin, force), *method.loads)]) < CLOSE
    assert abs(found[3:]).max() < CLOSE     # a ball carries no moment
