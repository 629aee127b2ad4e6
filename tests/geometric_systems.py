"""Small systems with known motions or integrals, for fixed steps."""
from dataclasses import dataclass, field

import numpy as np
from sympy import Matrix, Rational, cos, eye, sin, sqrt, symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import UdwadiaKalabaMethod, VaccoMethod
from sympy_constrained.numeric import compile_equations

x, y, z, theta, phi = dynamicsymbols('x y z theta phi')
vx, vy, vz, w_theta, w_phi = (q.diff() for q in (x, y, z, theta, phi))
PLANE = (vx**2 + vy**2)/2


@dataclass
class System:
    """A method, its constants, a start, and a step for measurements."""

    method: object
    start: list
    constants: dict = field(default_factory=dict)
    step: float = 0.1

    @property
    def compiled(self):
        return compile_equations(self.method, self.constants)


def pendulum():
    return System(
        UdwadiaKalabaMethod(PLANE - y, [x, y],
                            hol_coneqs=[(x**2 + y**2 - 1)/2]),
        [1, 0, 0, 0.3])


def kepler(eccentricity=0.6):
    e = eccentricity
    return System(UdwadiaKalabaMethod(
        PLANE + 1/sqrt(x**2 + y**2), [x, y]),
        [1 - e, 0, 0, np.sqrt((1 + e)/(1 - e))], step=0.02)


DISC = {'heading': 0.2, 'roll': 1., 'turn': 0.8}


def disc():
    """A vertical disc of radius 1: theta rolls, phi is the heading."""
    heading, roll, turn = DISC.values()
    return System(
        UdwadiaKalabaMethod(
            PLANE + w_theta**2/4 + w_phi**2/8, [x, y, theta, phi],
            nonhol_coneqs=[vx - cos(phi)*w_theta, vy - sin(phi)*w_theta]),
        [0, 0, 0, heading, roll*np.cos(heading), roll*np.sin(heading), roll,
         turn], step=0.4)


def disc_position(t):
    heading, roll, turn = DISC.values()
    angle = heading + turn*t
    return roll/turn*np.column_stack([
        np.sin(angle) - np.sin(heading), np.cos(heading) - np.cos(angle)])


def sleigh(speed=1., turn=1.5):
    """Chaplygin's sleigh: mass 1, moment 1, mass centre 1/2 ahead."""
    a, heading = Rational(1, 2), 0.3
    return System(
        UdwadiaKalabaMethod(
            ((vx - a*sin(theta)*w_theta)**2 + (vy + a*cos(theta)*w_theta)**2
             + w_theta**2)/2, [x, y, theta],
            nonhol_coneqs=[vx*sin(theta) - vy*cos(theta)]),
        [0, 0, heading, speed*np.cos(heading), speed*np.sin(heading), turn],
        step=0.2)


def contact_oscillator(eps=Rational(3, 10)):
    """McLachlan and Perlmutter (2006), section 5.2, H = 1.5, H_y = 0.5."""
    z0 = -0.55
    return System(
        UdwadiaKalabaMethod(
            (vx**2 + vy**2 + vz**2 - x**2 - y**2 - z**2
             - eps*x**2*z**2)/2, [x, y, z], nonhol_coneqs=[vx + y*vz]),
        [np.sqrt((2 - z0**2)/(1 + float(eps)*z0**2)), 1, z0, 0, 0, 0],
        step=2*np.sin(np.pi/15))


def quartic(n=3):
    """The chaotic quartic oscillator of McLachlan and Perlmutter."""
    ys, zs = dynamicsymbols(f'y1:{n + 1}'), dynamicsymbols(f'z1:{n + 1}')
    q = [x, *ys, *zs]
    potential = (sum(a**2 for a in q) + sum(
        a**2*b**2 for a, b in zip(ys, zs)) + zs[0]**2*zs[1]**2)/2
    angle = np.pi/9
    return System(
        UdwadiaKalabaMethod(
            sum(a.diff()**2 for a in q)/2 - potential, q,
            nonhol_coneqs=[vx + sum(a*b.diff() for a, b in zip(ys, zs))]),
        [np.cos(angle), 0.6, 0.4, 0.2, 1, 1, 1, 0, np.sin(angle),
         0, 0, 0, 0, 0])


def transmission(asymmetry=0., turn=3.):
    """A continuously variable transmission driven by a pendulum.

    After Modin and Verdier (2020): the angle of the pendulum ``z`` sets the
    ratio of the rates of two oscillators. If it turns round, an ``asymmetry``
    of its potential makes the motion irreversible.
    """
    k = symbols('k')
    z0, v0 = 0.2, 0.5
    return System(
        UdwadiaKalabaMethod(
            PLANE + vz**2/2 - (x**2 + y**2)/2 + cos(z) + k*sin(2*z)/2,
            [x, y, z], nonhol_coneqs=[vy + sin(z)*vx]),
        [1, 0.3, z0, v0, -np.sin(z0)*v0, turn], {k: asymmetry})


def heisenberg():
    return System(
        VaccoMethod(PLANE, [x, y, z],
                    nonhol_coneqs=[vz - (x*vy - y*vx)/2]),
        [0.3, -0.2, 0, 1, 0.5, 0.175, 2.], step=0.2)


def turning(form):
    """Coordinates, their rates and a frame, by quaternion or matrix."""
    u, N, B = dynamicsymbols('u1:4'), ReferenceFrame('N'), ReferenceFrame('B')
    skew = Matrix(3, 3, [0, -u[2], u[1], u[2], 0, -u[0], -u[1], u[0], 0])
    if form == 'quaternion':
        e0, *e = q = dynamicsymbols('e0:4')
        B.orient_quaternion(N, q)
        e = Matrix(e)
        rates = [-e.dot(Matrix(u))/2, *((e0*Matrix(u) + e.cross(Matrix(u)))/2)]
        rows, start = [sum(a**2 for a in q) - 1], [1, 0, 0, 0]
    else:
        q = dynamicsymbols('r1:10')
        R = Matrix(3, 3, q)
        B.orient_explicit(N, R)
        gram = R*R.T - eye(3)      # constant for all speeds
        rates = list(R*skew)
        rows = [gram[i, j] for i in range(3) for j in range(i + 1)]
        start = list(eye(3))
    B.set_ang_vel(N, sum((a*b for a, b in zip(u, B)), 0*N.x))
    kinematics = [a.diff() - rate for a, rate in zip(q, rates)]
    return N, B, q, u, kinematics, rows, start


def top(form='quaternion'):
    """A heavy symmetric top, thrown sideways."""
    N, B, q, u, kinematics, rows, start = turning(form)
    tip, centre = Point('O'), Point('C')
    tip.set_vel(N, 0)
    centre.set_pos(tip, B.z)
    centre.v2pt_theory(tip, N, B)
    body = RigidBody('top', centre, B, 1, (inertia(B, 1, 1, 1), centre))
    body.potential_energy = N.z.dot(B.z)
    method = UdwadiaKalabaMethod(
        N, q, u, kd_eqs=kinematics, bodies=[body],
        configuration_constraints=rows, potential_energy='include')
    return System(method, [*start, 1., 0.5, 4.], step=0.05)


def top_integrals(trajectory, form):
    """Vertical and axial momentum."""
    q, u = trajectory.x[:, :-3].T, trajectory.x[:, -3:].T
    if form == 'quaternion':
        e0, e1, e2, e3 = q
        axis = (2*(e1*e3 - e0*e2), 2*(e2*e3 + e0*e1),
                e0**2 - e1**2 - e2**2 + e3**2)
    else:
        axis = q[6:]
    return 2*(u[0]*axis[0] + u[1]*axis[1]) + u[2]*axis[2], u[2]


def suslov():
    """Suslov's body, held by ``u3 = 0``, with products of inertia."""
    N, B, q, u, kinematics, rows, start = turning('quaternion')
    tip = Point('O')
    tip.set_vel(N, 0)
    body = RigidBody('body', tip, B, 1, (inertia(
        B, 1, 2, 3, Rational(3, 10), Rational(2, 5), Rational(1, 5)), tip))
    method = UdwadiaKalabaMethod(
        N, q, u, kd_eqs=kinematics, bodies=[body],
        configuration_constraints=rows, velocity_constraints=[u[2]])
    return System(method, [*start, 1., 0.5, 0.], step=0.1)
