"""Chains and trees of any size for tests of the recursive equations."""
from random import Random

from sympy import symbols
from sympy.physics.mechanics import (
    Force, PinJoint, Point, PrismaticJoint, ReferenceFrame, RigidBody,
    SphericalJoint, System, dynamicsymbols, inertia)


def pin_chain(n, absolute=False, velocities=False, mark='', ground=None):
    """Arguments of a method, and constants, for a chain of bars in space.

    With ``absolute`` it moves in a plane, in absolute angles. With
    ``velocities`` they are set in the inertial frame. ``mark`` is part of the
    names of the coordinates, ``ground`` a frame and a point at rest.
    """
    q, u = (dynamicsymbols(f'{x}{mark}1:{n + 1}') for x in 'qu')
    length, m, g, along, across = symbols('l m g I1 I2')
    N, pin = ground or (ReferenceFrame('N'), Point('O'))
    pin.set_vel(N, 0)
    frame, bodies, loads = N, [], []
    for i in range(n):
        link = ReferenceFrame(f'A{i + 1}')
        axis = frame.y if i % 2 and not absolute else frame.z
        link.orient_axis(frame, q[i], axis)
        link.set_ang_vel(frame, u[i]*axis)
        center = pin.locatenew(f'C{i + 1}', length/2*link.x)
        end = pin.locatenew(f'P{i + 1}', length*link.x)
        if velocities:
            center.v2pt_theory(pin, N, link)
            end.v2pt_theory(pin, N, link)
        bodies.append(RigidBody(
            f'b{i + 1}', center, link, m,
            (inertia(link, along, across, across), center)))
        loads.append(Force(center, -m*g*N.y))
        frame, pin = N if absolute else link, end
    return {'frame': N, 'q_ind': q, 'u_ind': u, 'kd_eqs': [
        x.diff() - v for x, v in zip(q, u)], 'bodies': bodies,
        'forcelist': loads}, {
        length: 1/n, m: 1/n, g: 9.81, along: 1e-3/n**3, across: 1/12/n**3}


def random_tree(seed, n):
    """A System of bodies with pins, sliders and balls, and its constants."""
    random = Random(seed)
    ground = RigidBody('ground')
    system = System.from_newtonian(ground)
    parents, g = [ground], symbols('g')
    values, names = {g: 9.81}, 'abcdefghijkl'

    def vector(body):
        return sum((random.uniform(-1, 1)*x for x in (body.x, body.y, body.z)),
                   0*body.x)

    for i in range(n):
        body = RigidBody(names[i], mass=symbols(f'm_{names[i]}'))
        body.central_inertia = inertia(
            body.frame, 1 + random.random(), 1.2, 1.4, 0.1, -0.1, 0.2)
        values[body.mass] = random.uniform(0.5, 2)
        parent = random.choice(parents)
        points = {'parent_point': vector(parent), 'child_point': vector(body)}
        kind = random.choice([PinJoint, PrismaticJoint, SphericalJoint])
        if kind is not SphericalJoint:
            points['joint_axis'] = random.choice([
                parent.x, parent.y, parent.z])
        system.add_joints(kind(f'J{names[i]}', parent, body, **points))
        parents.append(body)
    system.apply_uniform_gravity(-g*ground.z)
    return system, values
