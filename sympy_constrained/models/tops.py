"""Tops: rigid bodies in space, in Euler angles and quaternions.

All have mass ``m``, the mass centre at ``l`` on the axis of symmetry, central
moments of inertia ``I`` (transverse) and ``J`` (axial), and gravity ``g``
along ``-z``.
"""
from sympy import Integer, Matrix, cos, sin, symbols
from sympy.physics.mechanics import ReferenceFrame, cross, dynamicsymbols

from ._model import (
    Model, inertial, kane_model, kdes, lagrange_model, ready, rigid_body, spun)

_NUMBERS = 0.5, 9.81, 0.06, 0.0006, 0.0004      # m, g, l, I, J


def _turned(N, angles, omega):
    """Body frame in 3-1-3 angles, and its kinematic equations."""
    B = ReferenceFrame('B')
    B.orient_body_fixed(N, angles, 'zxz')
    return B, spun(B, N, B, omega)


def _pinned(N, B, tip, length):
    center = tip.locatenew('C', length*B.z)
    center.v2pt_theory(tip, N, B)
    return center


def _top(constants, N, B, center, q, u, kinematics, **given):
    m, g, _, i, j = constants
    return kane_model(
        N, q, u, kinematics, forcelist=[(center, -m*g*N.z)],
        bodies=[rigid_body('top', center, B, m, i, i, j)],
        parameters=dict(zip(constants, _NUMBERS)), t_end=2.0, **given)


@ready
def heavy_top() -> Model:
    """A heavy symmetric top in body rates and Euler angles.

    The tip is fixed. 3-1-3 angles ``q``; the speeds ``u`` are the components
    of the angular velocity in the body.

    Source: H. Goldstein, Classical Mechanics, section 5.7.
    """
    q, u = dynamicsymbols('q1:4'), dynamicsymbols('u1:4')
    m, g, length, i, j = constants = symbols('m g l I J')
    N, tip = inertial()
    B, kinematics = _turned(N, q, u)
    k = i + m*length**2
    return _top(
        constants, N, B, _pinned(N, B, tip, length), q, u, kinematics,
        start=(0.0, 0.5, 0.3, 0.0, 2.0, 150.0),
        accelerations={
            u[0].diff(): ((k - j)*u[1]*u[2]
                          + m*g*length*sin(q[1])*cos(q[2]))/k,
            u[1].diff(): (-(k - j)*u[0]*u[2]
                          - m*g*length*sin(q[1])*sin(q[2]))/k,
            u[2].diff(): Integer(0)})


@ready
def heavy_top_quaternion() -> Model:
    """A heavy symmetric top with a unit quaternion.

    Four coordinates ``e``, three speeds. The norm of the quaternion is a
    configuration constraint that the kinematics satisfy by themselves: its
    row at velocity level is zero.

    Source: H. Goldstein, Classical Mechanics, section 5.7; SymPy test suite,
    test_kane, test_implicit_kinematics.
    """
    e0, e1, e2, e3 = e = dynamicsymbols('e0:4')
    u1, u2, u3 = u = dynamicsymbols('u1:4')
    _, _, length, *_ = constants = symbols('m g l I J')
    N, tip = inertial()
    B = ReferenceFrame('B')
    B.orient_quaternion(N, e)
    B.set_ang_vel(N, u1*B.x + u2*B.y + u3*B.z)
    turning = Matrix([[-e1, -e2, -e3], [e0, -e3, e2], [e3, e0, -e1],
                      [-e2, e1, e0]])*Matrix(u)/2
    return _top(
        constants, N, B, _pinned(N, B, tip, length), [e1, e2, e3], u,
        kdes((e1, e2, e3, e0), (*turning[1:], turning[0])), q_dependent=[e0],
        configuration_constraints=[e0**2 + e1**2 + e2**2 + e3**2 - 1],
        start={e0: 0.969, e1: 0.247, e2: 0.0, e3: 0.0, u1: 0.0, u2: 2.0,
               u3: 150.0})


@ready
def quaternion_top_lagrange() -> Model:
    """A top in four quaternion coordinates with singular mass matrix.

    ``T`` does not depend on the rate of the norm, so that one direction of
    the four coordinates ``e`` is massless; the norm row determines it.

    Source: F. E. Udwadia and A. D. Schutte, J. Appl. Mech. 77 (2010) 044505,
    quaternions and rigid-body dynamics.
    """
    e0, e1, e2, e3 = e = dynamicsymbols('e0:4')
    m, g, length, i, j = constants = symbols('m g l I J')
    d0, d1, d2, d3 = (x.diff() for x in e)
    u1 = 2*(e0*d1 - e1*d0 + e3*d2 - e2*d3)
    u2 = 2*(e0*d2 - e2*d0 + e1*d3 - e3*d1)
    u3 = 2*(e0*d3 - e3*d0 + e2*d1 - e1*d2)
    k = i + m*length**2
    axis = (2*(e1*e3 + e0*e2), 2*(e2*e3 - e0*e1),
            e0**2 - e1**2 - e2**2 + e3**2)
    side = (e0**2 + e1**2 - e2**2 - e3**2, 2*(e1*e2 + e0*e3),
            2*(e1*e3 - e0*e2))
    center = [length*a for a in axis]
    arms = [[a + sign*length*b/2 for a, b in zip(center, side)]
            for sign in (-1, 1)]
    return lagrange_model(
        (k*u1**2 + k*u2**2 + j*u3**2)/2 - m*g*center[2], e,
        hol_coneqs=[(e0**2 + e1**2 + e2**2 + e3**2 - 1)/2],
        parameters=dict(zip(constants, _NUMBERS)),
        start={e0: 0.969, e1: 0.247, e2: 0.0, e3: 0.0,
               d0: 0.0, d1: 0.0, d2: -17.556, d3: 72.92},
        fixed=(e1, e2, e3, d1, d2, d3), t_end=2.0,
        dimensions={m: (1, 0, 0), length: (0, 1, 0)},
        visual={'lines': {'axis': [(0, 0, 0), center], 'spin': arms}})


@ready
def pinned_top() -> Model:
    """A free top pinned at its tip by three holonomic rows.

    Six coordinates (mass centre ``x, y, z`` and 3-1-3 angles ``q``), six
    speeds (velocity ``v`` in space, angular velocity ``u`` in the body). The
    rates of the angles are not speeds: the rows need all of the chain rule.

    Source: H. Goldstein, Classical Mechanics, section 5.7.
    """
    x, y, z, *angles = q = dynamicsymbols('x y z q1:4')
    v1, v2, v3, *turning = u = dynamicsymbols('v1:4 u1:4')
    _, _, length, *_ = constants = symbols('m g l I J')
    N, O = inertial()
    B, kinematics = _turned(N, angles, turning)
    center = O.locatenew('C', x*N.x + y*N.y + z*N.z)
    center.set_vel(N, v1*N.x + v2*N.y + v3*N.z)
    tip = center.pos_from(O) - length*B.z
    tip_velocity = center.vel(N) + cross(B.ang_vel_in(N), -length*B.z)
    return _top(
        constants, N, B, center, angles, turning,
        [*kinematics, *kdes((x, y, z), (v1, v2, v3))],
        q_dependent=[x, y, z], u_dependent=[v1, v2, v3],
        configuration_constraints=[tip.dot(axis) for axis in N],
        velocity_constraints=[tip_velocity.dot(axis) for axis in N],
        start=dict(zip((*q, *u), (0.0, -0.0288, 0.0527, 0.0, 0.5, 0.3,
                                  0.115, 0.031, 0.017, 0.0, 2.0, 150.0))))
