"""Particles on which one point of the theory can be checked by hand."""
from __future__ import annotations

from sympy import symbols
from sympy.physics.mechanics import (
    Lagrangian, Particle, Point, ReferenceFrame, dynamicsymbols)

from ._model import Model


def _particle(coordinates, mass, velocities=None):
    """Frame, point and particle at Cartesian coordinates."""
    N, origin = ReferenceFrame('N'), Point('O')
    origin.set_vel(N, 0)
    position = sum((q*axis for q, axis in zip(coordinates, N)), 0*N.x)
    point = origin.locatenew('P', position)
    t = dynamicsymbols._t
    speeds = velocities or [q.diff(t) for q in coordinates]
    point.set_vel(N, sum((u*axis for u, axis in zip(speeds, N)), 0*N.x))
    return N, point, Particle('particle', point, mass)


def bead_on_circle() -> Model:
    """A bead on a vertical circular wire with a non-ideal force (U-5).

    The wire drags with ``-kappa*q'``, a constraint force that does work; mass
    ``m``, radius ``L``.
    """
    x, y = dynamicsymbols('x y')
    m, L, g, kappa = symbols('m L g kappa')
    t = dynamicsymbols._t
    vx, vy = x.diff(t), y.diff(t)

    N, _, bead = _particle((x, y), m)
    bead.potential_energy = m*g*y
    lam = m*(g*y - vx**2 - vy**2)/(x**2 + y**2)
    return Model(
        name='bead_on_circle',
        title='A bead on a circular wire with viscous drag of the wire',
        reference='F. E. Udwadia and R. E. Kalaba, J. Appl. Mech. 68 (2001) '
                  '462-467; acceptance case U-5',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, bead), 'qs': [x, y],
                   'bodies': [bead], 'frame': N,
                   'hol_coneqs': [(x**2 + y**2 - L**2)/2]},
        extra={'nonideal_forces': [-kappa*vx, -kappa*vy]},
        parameters={m: 0.1, L: 0.5, g: 9.81, kappa: 0.02},
        start={x: 0.4, y: -0.3, vx: 0.0, vy: 0.0},
        fixed=(y, vy), t_end=10.0,
        accelerations={x.diff(t, 2): (lam*x - kappa*vx)/m,
                       y.diff(t, 2): -g + (lam*y - kappa*vy)/m},
        multipliers=(lam,),
        upstream_refuses='LagrangesMethod has no word for a constraint force '
                         'that does work; the drag would have to be declared '
                         'an applied force.')


def constant_speed_particle() -> Model:
    """A particle under gravity whose speed is kept constant (U-6).

    The row ``u1**2 + u2**2 + u3**2 = c**2`` is nonlinear in the speeds. Mass
    ``m``, gravity ``g`` along ``-z``.
    """
    q, u = dynamicsymbols('q1:4'), dynamicsymbols('u1:4')
    m, g, c = symbols('m g c')
    t = dynamicsymbols._t

    N, point, body = _particle(q, m, u)
    square = u[0]**2 + u[1]**2 + u[2]**2
    pull = g*u[2]/square
    return Model(
        name='constant_speed_particle',
        title='A particle under gravity that keeps its speed',
        reference='Acceptance case U-6; a nonlinear constraint after Appell '
                  'and Chetaev',
        shape='kane',
        arguments={
            'frame': N, 'q_ind': list(q), 'u_ind': [u[0], u[1]],
            'u_dependent': [u[2]],
            'kd_eqs': [qi.diff(t) - ui for qi, ui in zip(q, u)],
            'velocity_constraints': [(square - c**2)/2],
            'bodies': [body], 'forcelist': [(point, -m*g*N.z)]},
        parameters={m: 1.0, g: 9.81, c: 3.0},
        start={q[0]: 0.0, q[1]: 0.0, q[2]: 0.0, u[0]: 2.0, u[1]: 1.0,
               u[2]: 2.0},
        fixed=(*q, u[0], u[1]), t_end=2.0,
        accelerations={u[0].diff(t): pull*u[0], u[1].diff(t): pull*u[1],
                       u[2].diff(t): -g + pull*u[2]},
        multipliers=(m*pull,),
        upstream_refuses='KanesMethod raises NonlinearError; that of SymPy '
                         '1.13 puts accelerations into its mass matrix.')


def appell_hamel() -> Model:
    """The Appell-Hamel particle, ``x'**2 + y'**2 = k**2*z'**2`` (U-7).

    The row is halved: its gradient is ``(x', y', -k**2*z')``.
    """
    x, y, z = dynamicsymbols('x y z')
    m, g, k = symbols('m g k')
    t = dynamicsymbols._t
    vx, vy, vz = (q.diff(t) for q in (x, y, z))

    N, _, body = _particle((x, y, z), m)
    body.potential_energy = m*g*z
    return Model(
        name='appell_hamel',
        title='The Appell-Hamel particle, a nonlinear nonholonomic constraint',
        reference='P. Appell (1911) and G. Hamel, Theoretische Mechanik '
                  '(1949); acceptance case U-7',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, body), 'qs': [x, y, z],
                   'bodies': [body], 'frame': N,
                   'nonhol_coneqs': [(vx**2 + vy**2 - k**2*vz**2)/2]},
        parameters={m: 1.0, g: 9.81, k: 0.5},
        start={x: 0.0, y: 0.0, z: 10.0, vx: 0.3, vy: 0.4, vz: -1.0},
        fixed=(x, y, z, vx, vy), t_end=1.0,
        accelerations={z.diff(t, 2): -g/(1 + k**2),
                       x.diff(t, 2): -g*vx/((1 + k**2)*vz),
                       y.diff(t, 2): -g*vy/((1 + k**2)*vz)},
        multipliers=(-m*g/((1 + k**2)*vz),),
        upstream_refuses='LagrangesMethod of the development version raises '
                         'NonlinearError (released versions accept the row).')


def acceleration_level() -> Model:
    """A particle with a constraint on its accelerations only (U-8).

    ``x'' + y'' = -k*x``, gravity ``g`` along ``-y``, mass ``m``.
    """
    x, y = dynamicsymbols('x y')
    m, g, k = symbols('m g k')
    t = dynamicsymbols._t

    N, _, body = _particle((x, y), m)
    body.potential_energy = m*g*y
    return Model(
        name='acceleration_level',
        title='A particle with a constraint given for accelerations only',
        reference='Acceptance case U-8',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, body), 'qs': [x, y],
                   'bodies': [body], 'frame': N},
        extra={'acceleration_constraints': [
            x.diff(t, 2) + y.diff(t, 2) + k*x]},
        parameters={m: 1.0, g: 9.81, k: 4.0},
        start={x: 0.5, y: 0.0, x.diff(t): 0.0, y.diff(t): 1.0},
        fixed=(x, y, x.diff(t), y.diff(t)), t_end=5.0,
        accelerations={x.diff(t, 2): (g - k*x)/2,
                       y.diff(t, 2): (-g - k*x)/2},
        multipliers=(m*(g - k*x)/2,),
        upstream_refuses='LagrangesMethod takes no acceleration_constraints; '
                         'KanesMethod takes them only beside as many velocity '
                         'constraints.')


def duplicated_rows() -> Model:
    """A spherical pendulum whose length is prescribed twice.

    Rows ``c`` and ``2*c`` with ``c = (x**2 + y**2 + z**2 - L**2)/2``. Mass
    ``m``, gravity ``g`` along ``-z``.
    """
    x, y, z = q = dynamicsymbols('x y z')
    u = dynamicsymbols('u1:4')
    m, g, L = symbols('m g L')
    t = dynamicsymbols._t

    N, point, body = _particle(q, m, u)
    row = (x**2 + y**2 + z**2 - L**2)/2
    rate = sum(qi*ui for qi, ui in zip(q, u))
    square = sum(ui**2 for ui in u)
    lam = m*(g*z - square)/L**2
    return Model(
        name='duplicated_rows',
        title='A spherical pendulum with its length row given twice',
        reference='Acceptance case U-2, with rows [c, 2*c]',
        shape='kane',
        arguments={
            'frame': N, 'q_ind': [x], 'u_ind': [u[0]],
            'q_dependent': [y, z], 'u_dependent': [u[1], u[2]],
            'kd_eqs': [qi.diff(t) - ui for qi, ui in zip(q, u)],
            'configuration_constraints': [row, 2*row],
            'velocity_constraints': [rate, 2*rate],
            'bodies': [body], 'forcelist': [(point, -m*g*N.z)]},
        parameters={m: 1.0, g: 9.81, L: 1.0},
        start={x: 0.6, y: 0.0, z: -0.8, u[0]: 0.0, u[1]: 2.0, u[2]: 0.0},
        fixed=(x, y, u[0], u[1]), t_end=5.0,
        accelerations={u[0].diff(t): lam*x/m, u[1].diff(t): lam*y/m,
                       u[2].diff(t): -g + lam*z/m},
        upstream_refuses='KanesMethod solves the constraints for two '
                         'dependent speeds and divides by a determinant that '
                         'is zero.')


def massless_coordinate() -> Model:
    """Two masses with a coordinate that has no inertia of its own (U-4).

    ``m1`` at ``x1``; ``m2`` at ``y1 + x2``; ``y1 = x1``. Springs ``k1`` on
    ``x1`` and ``k2`` on ``x2``. The mass matrix has rank two of three.
    """
    x1, y1, x2 = q = dynamicsymbols('x1 y1 x2')
    m1, m2, k1, k2 = symbols('m1 m2 k1 k2')
    t = dynamicsymbols._t

    N, origin = ReferenceFrame('N'), Point('O')
    origin.set_vel(N, 0)
    bodies = []
    for name, place, mass in (('first', x1, m1), ('second', y1 + x2, m2)):
        point = origin.locatenew(name, place*N.x)
        point.set_vel(N, place.diff(t)*N.x)
        bodies.append(Particle(name, point, mass))
    bodies[0].potential_energy = k1*x1**2/2
    bodies[1].potential_energy = k2*x2**2/2
    first = (k2*x2 - k1*x1)/m1
    speeds = [qi.diff(t) for qi in q]
    return Model(
        name='massless_coordinate',
        title='Two masses in three coordinates with a singular mass matrix',
        reference='F. E. Udwadia and P. Phohomsiri, Proc. R. Soc. A 462 '
                  '(2006) 2097-2117; acceptance case U-4',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, *bodies), 'qs': list(q),
                   'bodies': bodies, 'frame': N, 'hol_coneqs': [x1 - y1]},
        parameters={m1: 1.0, m2: 0.5, k1: 10.0, k2: 8.0},
        start=dict(zip((*q, *speeds), (0.1, 0.1, -0.05, 0.0, 0.0, 0.0))),
        fixed=(x1, x2, speeds[0], speeds[2]), t_end=10.0,
        accelerations={x1.diff(t, 2): first, y1.diff(t, 2): first,
                       x2.diff(t, 2): -k2*x2/m2 - first},
        multipliers=(k2*x2,))
