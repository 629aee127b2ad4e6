"""Planar linkages: bodies on pins, closed by loops."""
from __future__ import annotations

import math

from sympy import Integer, Rational, cos, symbols
from sympy.physics.mechanics import (Force, Inertia, Lagrangian, PinJoint,
                                     Point, PrismaticJoint, ReferenceFrame,
                                     RigidBody, System, dynamicsymbols,
                                     inertia)

from ._model import Model, from_system

_LOOP = 'SymPy documentation, tutorial "A four bar linkage"'


def _bar(name, mass, length):
    """A thin uniform bar along the x axis of its own frame."""
    body = RigidBody(name, mass=mass)
    body.central_inertia = inertia(body.frame, 0, 0, mass*length**2/12)
    return body


def _arc(n, span):
    """The angle at which ``n`` bars of length ``1/n`` hang as an arc with
    equal bends and cover ``span``."""
    low, high = 0.0, 3.0
    while high - low > 1e-12:
        angle = (low + high)/2
        width = sum(math.cos(angle*(1 - 2*i/(n - 1))) for i in range(n))/n
        low, high = (angle, high) if width > span else (low, angle)
    return low


def four_bar() -> Model:
    """A crank-rocker linkage under gravity, closed by two loop rows.

    Four uniform bars of lengths ``l1`` (ground), ``l2`` (crank), ``l3``,
    ``l4`` and line density ``rho``; ``q1`` to ``q3`` are the angles between
    them.
    """
    q1, q2, q3, u1, u2, u3 = dynamicsymbols('q1:4 u1:4')
    lengths = l1, l2, l3, l4 = symbols('l1:5')
    rho, g = symbols('rho g')

    N = ReferenceFrame('N')
    centers = [Point(f'C{i}') for i in range(1, 5)]
    links = []
    for i, (center, length) in enumerate(zip(centers, lengths), 1):
        links.append(RigidBody(
            f'link{i}', frame=N if i == 1 else None, mass=rho*length,
            masscenter=center, inertia=Inertia.from_inertia_scalars(
                center, N, 0, 0, rho*length**3/12)))
    link1, link2, link3, link4 = links

    system = System.from_newtonian(link1)
    for i, (parent, child, a, b, q, u) in enumerate(
            [(link1, link2, l1, l2, q1, u1), (link2, link3, l2, l3, q2, u2),
             (link3, link4, l3, l4, q3, u3)], 1):
        system.add_joints(PinJoint(
            f'J{i}', parent, child, coordinates=q, speeds=u,
            parent_point=a/2*parent.x, child_point=-b/2*child.x,
            joint_axis=parent.z))
    start = link1.masscenter.locatenew('start', -l1/2*link1.x)
    end = link4.masscenter.locatenew('end', l4/2*link4.x)
    loop = end.pos_from(start)
    system.add_holonomic_constraints(loop.dot(link1.x), loop.dot(link1.y))
    system.q_ind, system.q_dep = [q1], [q2, q3]
    system.u_ind, system.u_dep = [u1], [u2, u3]
    system.apply_uniform_gravity(-g*N.y)
    return from_system(
        system, name='four_bar',
        title='A crank-rocker four-bar linkage under gravity',
        reference=_LOOP,
        parameters={l1: 0.30, l2: 0.12, l3: 0.28, l4: 0.24, rho: 1.2,
                    g: 9.81},
        start={q1: 1.0, q2: 1.726, q3: 1.516, u1: 10.0, u2: -9.567,
               u3: 4.514},
        fixed=(q1, u1), t_end=2.0)


def slider_crank() -> Model:
    """Crank, connecting rod and piston; the piston is a body of its own.

    Crank radius ``r``, rod length ``l``, masses ``m1`` (crank), ``m2`` (rod),
    ``m3`` (piston); the gas force is a linear spring ``k`` about the position
    ``s`` of the piston.
    """
    q1, q2, q3, u1, u2, u3 = dynamicsymbols('q1:4 u1:4')
    r, length, m1, m2, m3, k, s = symbols('r l m1 m2 m3 k s')

    ground = RigidBody('ground')
    crank, rod = _bar('crank', m1, r), _bar('rod', m2, length)
    piston = RigidBody('piston', mass=m3)
    system = System.from_newtonian(ground)
    system.add_joints(
        PinJoint('main', ground, crank, q1, u1, joint_axis=ground.z,
                 child_point=-r/2*crank.x),
        PinJoint('big_end', crank, rod, q2, u2, joint_axis=crank.z,
                 parent_point=r/2*crank.x, child_point=-length/2*rod.x),
        PrismaticJoint('guide', ground, piston, q3, u3,
                       joint_axis=ground.x))
    small_end = rod.masscenter.locatenew('small_end', length/2*rod.x)
    gap = small_end.pos_from(ground.masscenter) - q3*ground.x
    system.add_holonomic_constraints(gap.dot(ground.x), gap.dot(ground.y))
    system.add_loads(Force(piston, -k*(q3 - s)*ground.x))
    system.q_ind, system.q_dep = [q1], [q2, q3]
    system.u_ind, system.u_dep = [u1], [u2, u3]
    return from_system(
        system, name='slider_crank',
        title='A slider-crank mechanism with pin, pin and prismatic joint',
        reference='Textbook; built with the joints of SymPy',
        parameters={r: 0.05, length: 0.15, m1: 0.8, m2: 0.6, m3: 0.5,
                    k: 400.0, s: 0.15},
        start={q1: 0.6, q2: -0.789, q3: 0.1886, u1: 40.0, u2: -51.2,
               u3: -1.446},
        fixed=(q1, u1), t_end=0.5)


def parallel_cranks() -> Model:
    """A coupler carried by three equal parallel cranks.

    Cranks of length ``l`` and mass ``m`` at distances ``c``, a coupler of mass
    ``mc`` and length ``2*c``. Four loop rows of rank three: one row is a
    combination of the others wherever the cranks are parallel, and nowhere
    else.
    """
    q1, q2, q3, q4, u1, u2, u3, u4 = dynamicsymbols('q1:5 u1:5')
    length, c, m, mc, g = symbols('l c m m_c g')

    ground = RigidBody('ground')
    cranks = [_bar(f'crank{i}', m, length) for i in range(1, 4)]
    coupler = _bar('coupler', mc, 2*c)
    system = System.from_newtonian(ground)
    tips = []
    for i, (crank, q, u) in enumerate(zip(cranks, (q1, q2, q3),
                                          (u1, u2, u3))):
        system.add_joints(PinJoint(
            f'pivot{i + 1}', ground, crank, q, u, joint_axis=ground.z,
            parent_point=i*c*ground.x, child_point=-length/2*crank.x))
        tips.append(crank.masscenter.locatenew(f'tip{i + 1}',
                                               length/2*crank.x))
    system.add_joints(PinJoint(
        'coupling', cranks[0], coupler, q4, u4, joint_axis=ground.z,
        parent_point=length/2*cranks[0].x, child_point=-c*coupler.x))
    for i in (1, 2):
        eye = coupler.masscenter.locatenew(f'eye{i + 1}',
                                           (i - 1)*c*coupler.x)
        gap = eye.pos_from(tips[i])
        system.add_holonomic_constraints(gap.dot(ground.x),
                                         gap.dot(ground.y))
    system.apply_uniform_gravity(-g*ground.y)
    system.q_ind, system.q_dep = [q1], [q2, q3, q4]
    system.u_ind, system.u_dep = [u1], [u2, u3, u4]
    # All cranks turn alike, the coupler translates.
    known = -(Rational(3, 2)*m + mc)*g*cos(q1)/((m + mc)*length)
    t = dynamicsymbols._t
    return from_system(
        system, name='parallel_cranks',
        title='A coupler on three equal parallel cranks: one loop row too '
              'many',
        reference='The N-four-bar mechanism of the multibody benchmarks, '
                  'N = 2',
        parameters={length: 0.5, c: 0.6, m: 1.0, mc: 2.0, g: 9.81},
        # Hanging, so that the motion stays clear of the dead points.
        start={q1: -0.8, q2: -0.8, q3: -0.8, q4: 0.8,
               u1: 1.0, u2: 1.0, u3: 1.0, u4: -1.0},
        fixed=(q1, u1), t_end=3.0,
        accelerations={u1.diff(t): known, u2.diff(t): known,
                       u3.diff(t): known, u4.diff(t): -known},
        upstream_refuses='KanesMethod raises ValueError, because four '
                         'constraints meet three dependent coordinates; a '
                         'row has to be left out by hand.')


def coupler_on_cranks() -> Model:
    """The coupler alone on three massless equal parallel cranks (U-3).

    Coordinates ``X``, ``Y`` of the mass centre and the angle ``phi``; one
    length row per crank. The three rows have rank three at a general point and
    rank two where they hold. Crank length ``l``, distances ``c``, mass ``m``.
    """
    X, Y, phi = dynamicsymbols('X Y phi')
    length, c, m, g = symbols('l c m g')

    N, B = ReferenceFrame('N'), ReferenceFrame('B')
    B.orient_axis(N, phi, N.z)
    origin = Point('O')
    origin.set_vel(N, 0)
    center = origin.locatenew('C', X*N.x + Y*N.y)
    body = RigidBody('coupler', center, B, m,
                     (inertia(B, 0, 0, m*c**2/3), center))
    body.potential_energy = m*g*Y
    rows = []
    for i in range(3):
        arm = (center.pos_from(origin) + (i - 1)*c*B.x - i*c*N.x)
        rows.append((arm.dot(arm) - length**2)/2)
    t = dynamicsymbols._t
    return Model(
        name='coupler_on_cranks',
        title='A coupler held by three parallel massless cranks: rank drops '
              'on the constraint set only',
        reference='A parallelogram with one crank too many; acceptance case '
                  'U-3',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, body), 'qs': [X, Y, phi],
                   'bodies': [body], 'frame': N, 'hol_coneqs': rows},
        parameters={length: 0.5, c: 0.6, m: 2.0, g: 9.81},
        start={X: 0.9, Y: -0.4, phi: 0.0, X.diff(t): 0.4, Y.diff(t): 0.3,
               phi.diff(t): 0.0},
        fixed=(X, X.diff(t)), t_end=3.0,
        accelerations={phi.diff(t, 2): Integer(0)},
        upstream_refuses='LagrangesMethod forms the equations, but their '
                         'matrix is singular on every admissible state: '
                         'exact numbers give nan, floats arbitrary '
                         'multipliers.')


def closed_chain(n: int = 4) -> Model:
    """A planar chain of ``n`` pinned bars between two fixed points.

    Equal bars of length ``l`` and mass ``m``, relative angles ``q1`` to
    ``qn``, the ends a distance ``d`` apart, gravity ``g``. Only positions are
    given: all velocities are left for the method to find.

    Parameters
    ==========

    n : int
        Number of bars, at least 3.

    """
    if n < 3:
        raise ValueError(
            f'`n` is {n}: two loop rows leave a closed chain of that many '
            f'bars no motion. Pass 3 or more.')
    q = dynamicsymbols(f'q1:{n + 1}')
    u = dynamicsymbols(f'u1:{n + 1}')
    length, m, g, d = symbols('l m g d')
    t = dynamicsymbols._t

    N = ReferenceFrame('N')
    origin = Point('O')
    origin.set_vel(N, 0)
    frame, pin = N, origin
    bodies, loads = [], []
    turning, rates = Integer(0), [Integer(0), Integer(0)]
    for i, angle in enumerate(q, 1):
        link = ReferenceFrame(f'A{i}')
        link.orient_axis(frame, angle, frame.z)
        # Differentiating the loop would walk a tree of size 2**n.
        turning += u[i - 1]
        rates = [rate + turning*length*link.y.dot(axis)
                 for rate, axis in zip(rates, (N.x, N.y))]
        center = pin.locatenew(f'C{i}', length/2*link.x)
        pin = pin.locatenew(f'P{i}', length*link.x)
        body = RigidBody(f'link{i}', center, link, m,
                         (inertia(link, 0, 0, m*length**2/12), center))
        bodies.append(body)
        loads.append(Force(center, -m*g*N.y))
        frame = link
    end = pin.pos_from(origin)
    loop = [end.dot(N.x) - d, end.dot(N.y)]
    span = 0.7
    bend = _arc(n, span)
    start = {q[0]: -bend, **dict.fromkeys(q[1:], 2*bend/(n - 1)),
             u[0]: 0.5, **dict.fromkeys(u[1:], 0.0)}
    return Model(
        name='closed_chain',
        title=f'A closed planar chain of {n} pinned bars in relative angles',
        reference='The growth benchmark of multibody formalisms; the links '
                  'are those of SymPy\'s four-bar tutorial',
        shape='kane',
        arguments={
            'frame': N, 'q_ind': list(q[:-2]), 'u_ind': list(u[:-2]),
            'q_dependent': list(q[-2:]), 'u_dependent': list(u[-2:]),
            'kd_eqs': [qi.diff(t) - ui for qi, ui in zip(q, u)],
            'configuration_constraints': loop,
            'velocity_constraints': rates,
            'bodies': bodies, 'forcelist': loads},
        parameters={length: 1.0/n, m: 1.0/n, g: 9.81, d: span},
        start=start, fixed=(*q[:-2], *u[:-2]), t_end=2.0)
