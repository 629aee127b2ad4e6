"""Rigid bodies that turn in space, in Euler angles and quaternions."""
from __future__ import annotations

from sympy import Integer, Matrix, cos, sin, symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, cross, dot, dynamicsymbols, inertia)

from ._model import Model

_EULER = 'The symmetric heavy top of Lagrange, e.g. H. Goldstein, Classical ' \
         'Mechanics, section 5.7'


def _euler_frame(angles, omega):
    """Inertial and body frame, and the kinematics of 3-1-3 angles."""
    N, B = ReferenceFrame('N'), ReferenceFrame('B')
    B.orient_body_fixed(N, angles, 'zxz')
    by_angles = B.ang_vel_in(N)
    B.set_ang_vel(N, sum((w*axis for w, axis in zip(omega, B)), 0*B.x))
    return N, B, [dot(by_angles - B.ang_vel_in(N), axis) for axis in B]


_TOP = {'m': 0.5, 'g': 9.81, 'l': 0.06, 'I': 0.0006, 'J': 0.0004}


def heavy_top() -> Model:
    """A heavy symmetric top with a fixed tip, body rates and Euler angles.

    Mass ``m``, mass centre at ``l`` on the axis of symmetry, central moments
    of inertia ``I`` (transverse) and ``J`` (axial); 3-1-3 angles ``q``, speeds
    are the components of the angular velocity in the body.
    """
    q, u = dynamicsymbols('q1:4'), dynamicsymbols('u1:4')
    m, g, length, i, j = constants = symbols('m g l I J')
    t = dynamicsymbols._t

    N, B, kinematics = _euler_frame(q, u)
    tip = Point('O')
    tip.set_vel(N, 0)
    center = tip.locatenew('C', length*B.z)
    center.v2pt_theory(tip, N, B)
    body = RigidBody('top', center, B, m, (inertia(B, i, i, j), center))
    k = i + m*length**2
    return Model(
        name='heavy_top',
        title='A heavy symmetric top in body rates and Euler angles',
        reference=_EULER,
        shape='kane',
        arguments={'frame': N, 'q_ind': list(q), 'u_ind': list(u),
                   'kd_eqs': kinematics, 'bodies': [body],
                   'forcelist': [(center, -m*g*N.z)]},
        parameters=dict(zip(constants, _TOP.values())),
        start=dict(zip((*q, *u), (0.0, 0.5, 0.3, 0.0, 2.0, 150.0))),
        fixed=(*q, *u), t_end=2.0,
        accelerations={
            u[0].diff(t): ((k - j)*u[1]*u[2]
                           + m*g*length*sin(q[1])*cos(q[2]))/k,
            u[1].diff(t): (-(k - j)*u[0]*u[2]
                           - m*g*length*sin(q[1])*sin(q[2]))/k,
            u[2].diff(t): Integer(0)})


def heavy_top_quaternion() -> Model:
    """The same top with unit quaternions: four coordinates, three speeds.

    The norm of the quaternion is a configuration constraint that the
    kinematics keep by themselves, so that its row is zero at velocity level.
    """
    e0, e1, e2, e3 = e = dynamicsymbols('e0:4')
    u1, u2, u3 = u = dynamicsymbols('u1:4')
    m, g, length, i, j = constants = symbols('m g l I J')
    t = dynamicsymbols._t

    N, B = ReferenceFrame('N'), ReferenceFrame('B')
    B.orient_quaternion(N, e)
    B.set_ang_vel(N, u1*B.x + u2*B.y + u3*B.z)
    rates = Matrix([[-e1, -e2, -e3], [e0, -e3, e2], [e3, e0, -e1],
                    [-e2, e1, e0]])*Matrix(u)/2
    tip = Point('O')
    tip.set_vel(N, 0)
    center = tip.locatenew('C', length*B.z)
    center.v2pt_theory(tip, N, B)
    body = RigidBody('top', center, B, m, (inertia(B, i, i, j), center))
    return Model(
        name='heavy_top_quaternion',
        title='A heavy symmetric top with a unit quaternion',
        reference=_EULER + '; quaternion kinematics as in the SymPy test '
                           'suite, test_kane, test_implicit_kinematics',
        shape='kane',
        arguments={'frame': N, 'q_ind': [e1, e2, e3], 'u_ind': list(u),
                   'kd_eqs': [e1.diff(t) - rates[1], e2.diff(t) - rates[2],
                              e3.diff(t) - rates[3], e0.diff(t) - rates[0]],
                   'q_dependent': [e0],
                   'configuration_constraints': [
                       e0**2 + e1**2 + e2**2 + e3**2 - 1],
                   'bodies': [body], 'forcelist': [(center, -m*g*N.z)]},
        parameters=dict(zip(constants, _TOP.values())),
        start={e0: 0.969, e1: 0.247, e2: 0.0, e3: 0.0, u1: 0.0, u2: 2.0,
               u3: 150.0},
        fixed=(e1, e2, e3, *u), t_end=2.0)


def quaternion_top_lagrange() -> Model:
    """The top from a Lagrangian in a quaternion: a mass matrix of rank three.

    ``T`` does not depend on the rate of the norm, so that one direction of
    the four coordinates is massless; the norm row determines it.
    """
    e0, e1, e2, e3 = e = dynamicsymbols('e0:4')
    m, g, length, i, j = constants = symbols('m g l I J')
    t = dynamicsymbols._t
    d0, d1, d2, d3 = (x.diff(t) for x in e)
    u1 = 2*(e0*d1 - e1*d0 + e3*d2 - e2*d3)
    u2 = 2*(e0*d2 - e2*d0 + e1*d3 - e3*d1)
    u3 = 2*(e0*d3 - e3*d0 + e2*d1 - e1*d2)
    k = i + m*length**2
    height = length*(e0**2 - e1**2 - e2**2 + e3**2)
    energy = (k*u1**2 + k*u2**2 + j*u3**2)/2 - m*g*height
    return Model(
        name='quaternion_top_lagrange',
        title='A top in four quaternion coordinates with singular mass matrix',
        reference='F. E. Udwadia and A. D. Schutte, J. Appl. Mech. 77 (2010) '
                  '044505, quaternions and rigid-body dynamics',
        shape='lagrange',
        arguments={'Lagrangian': energy, 'qs': list(e),
                   'hol_coneqs': [(e0**2 + e1**2 + e2**2 + e3**2 - 1)/2]},
        parameters=dict(zip(constants, _TOP.values())),
        start={e0: 0.969, e1: 0.247, e2: 0.0, e3: 0.0,
               d0: 0.0, d1: 0.0, d2: -17.556, d3: 72.92},
        fixed=(e1, e2, e3, d1, d2, d3), t_end=2.0,
        upstream_refuses='LagrangesMethod forms the equations, but its rhs() '
                         'divides by a pivot that is zero without looking '
                         'so, and returns wrong numbers without a warning.')


def pinned_top() -> Model:
    """A free top whose tip is pinned by three holonomic rows.

    Six coordinates (position of the mass centre ``x, y, z`` and 3-1-3 angles),
    six speeds (velocity in space, angular velocity in the body). The angles
    have rates that are not speeds, so that the rows need all of the chain
    rule.
    """
    x, y, z, q1, q2, q3 = q = dynamicsymbols('x y z q1:4')
    v1, v2, v3, u1, u2, u3 = u = dynamicsymbols('v1:4 u1:4')
    m, g, length, i, j = constants = symbols('m g l I J')
    t = dynamicsymbols._t

    N, B, kinematics = _euler_frame((q1, q2, q3), (u1, u2, u3))
    origin = Point('O')
    origin.set_vel(N, 0)
    center = origin.locatenew('C', x*N.x + y*N.y + z*N.z)
    center.set_vel(N, v1*N.x + v2*N.y + v3*N.z)
    body = RigidBody('top', center, B, m, (inertia(B, i, i, j), center))
    tip = center.pos_from(origin) - length*B.z
    tip_velocity = center.vel(N) + cross(B.ang_vel_in(N), -length*B.z)
    return Model(
        name='pinned_top',
        title='A free top pinned at its tip by three holonomic rows',
        reference=_EULER,
        shape='kane',
        arguments={
            'frame': N, 'q_ind': [q1, q2, q3], 'u_ind': [u1, u2, u3],
            'q_dependent': [x, y, z], 'u_dependent': [v1, v2, v3],
            'kd_eqs': [*kinematics, x.diff(t) - v1, y.diff(t) - v2,
                       z.diff(t) - v3],
            'configuration_constraints': [tip.dot(axis) for axis in N],
            'velocity_constraints': [tip_velocity.dot(axis) for axis in N],
            'bodies': [body], 'forcelist': [(center, -m*g*N.z)]},
        parameters=dict(zip(constants, _TOP.values())),
        start=dict(zip((*q, *u), (0.0, -0.0288, 0.0527, 0.0, 0.5, 0.3,
                                  0.115, 0.031, 0.017, 0.0, 2.0, 150.0))),
        fixed=(q1, q2, q3, u1, u2, u3), t_end=2.0)
