"""Chains of any size for tests of the recursive equations."""
from sympy import symbols
from sympy.physics.mechanics import (
    Force, Point, ReferenceFrame, RigidBody, System, dynamicsymbols, inertia)


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


def as_system(arguments):
    """A System with the bodies and speeds of a call."""
    system = System(arguments['frame'])
    system.add_coordinates(*arguments['q_ind'])
    system.add_speeds(*arguments['u_ind'])
    system.add_kdes(*arguments['kd_eqs'])
    system.add_bodies(*arguments['bodies'])
    system.add_loads(*arguments['forcelist'])
    return system
