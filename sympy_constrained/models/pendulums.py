"""Pendulums, springs and actuators."""
from __future__ import annotations

from sympy import Matrix, S, atan, cos, pi, sin, sqrt, symbols
from sympy.physics.mechanics import (
    DuffingSpring, Force, Lagrangian, LinearDamper, LinearPathway,
    LinearSpring, Particle, PinJoint, Point, PrismaticJoint, ReferenceFrame,
    RigidBody, System, TorqueActuator, dynamicsymbols, inertia)

from ._model import Model, check_count, from_system


def cartesian_pendulum() -> Model:
    """A pendulum in Cartesian coordinates, ``x**2 + y**2 = L**2`` (U-1).

    Bob of mass ``m``, rod of length ``L``, gravity ``g`` along ``-y``.
    """
    x, y = dynamicsymbols('x y')
    m, L, g = symbols('m L g')
    t = dynamicsymbols._t
    vx, vy = x.diff(t), y.diff(t)

    N, origin = ReferenceFrame('N'), Point('O')
    origin.set_vel(N, 0)
    point = origin.locatenew('P', x*N.x + y*N.y)
    point.set_vel(N, vx*N.x + vy*N.y)
    bob = Particle('bob', point, m)
    bob.potential_energy = m*g*y
    lam = m*(g*y - vx**2 - vy**2)/(x**2 + y**2)
    return Model(
        name='cartesian_pendulum',
        title='A pendulum in Cartesian coordinates',
        reference='F. E. Udwadia and R. E. Kalaba, Proc. R. Soc. A 439 (1992) '
                  '407-410; acceptance case U-1',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, bob), 'qs': [x, y],
                   'bodies': [bob], 'frame': N,
                   'hol_coneqs': [(x**2 + y**2 - L**2)/2]},
        parameters={m: 1.0, L: 1.0, g: 9.81},
        start={x: 0.8, y: -0.6, vx: 0.0, vy: 0.0},
        fixed=(y, vy), t_end=60.0,
        accelerations={x.diff(t, 2): lam*x/m, y.diff(t, 2): -g + lam*y/m},
        multipliers=(lam,))


def nonminimal_pendulum() -> Model:
    """SymPy's pendulum in Cartesian coordinates, in Kane's shape.

    ``q1`` points down; ``q1`` and ``u1`` are dependent. The velocity row is
    the radial velocity, which is not literally the derivative of the length.
    """
    q1, q2, u1, u2 = dynamicsymbols('q1:3 u1:3')
    L, m, g = symbols('L m g')
    t = dynamicsymbols._t

    N, origin = ReferenceFrame('N'), Point('O')
    origin.set_vel(N, 0)
    A = N.orientnew('A', 'axis', [atan(q2/q1), N.z])
    point = origin.locatenew('P', q1*N.x + q2*N.y)
    point.set_vel(N, u1*N.x + u2*N.y)
    bob = Particle('bob', point, m)
    return Model(
        name='nonminimal_pendulum',
        title='A pendulum in nonminimal coordinates, with Kane\'s method',
        reference='SymPy documentation, tutorial "Nonminimal Coordinates '
                  'Pendulum"',
        shape='kane',
        arguments={
            'frame': N, 'q_ind': [q2], 'u_ind': [u2], 'q_dependent': [q1],
            'u_dependent': [u1],
            'configuration_constraints': Matrix([sqrt(q1**2 + q2**2) - L]),
            'velocity_constraints': Matrix(
                [point.vel(N).express(A).dot(A.x)]),
            'kd_eqs': Matrix([q1.diff(t) - u1, q2.diff(t) - u2]),
            'bodies': [bob], 'forcelist': [(point, m*g*N.x)]},
        parameters={L: 1.0, m: 1.0, g: 9.81},
        start={q1: 0.87, q2: 0.5, u1: 0.0, u2: 0.0},
        fixed=(q2, u2), t_end=5.0,
        accelerations={
            u1.diff(t): g - q1*(g*q1 + u1**2 + u2**2)/L**2,
            u2.diff(t): -q2*(g*q1 + u1**2 + u2**2)/L**2})


def driven_pendulum() -> Model:
    """A Cartesian pendulum whose pivot moves: a row with explicit time.

    The pivot is at ``x = a*sin(w*t)``; rod ``L``, mass ``m``, gravity ``g``
    along ``-y``.
    """
    x, y = dynamicsymbols('x y')
    m, L, g, a, w = symbols('m L g a omega')
    t = dynamicsymbols._t

    N, origin = ReferenceFrame('N'), Point('O')
    origin.set_vel(N, 0)
    point = origin.locatenew('P', x*N.x + y*N.y)
    point.set_vel(N, point.pos_from(origin).dt(N))
    bob = Particle('bob', point, m)
    bob.potential_energy = m*g*y
    s = x - a*sin(w*t)
    v2 = s.diff(t)**2 + y.diff(t)**2
    lam = m*(g*y - s*a*w**2*sin(w*t) - v2)/(s**2 + y**2)
    return Model(
        name='driven_pendulum',
        title='A pendulum with a moving pivot: a rheonomic constraint',
        reference='Textbook; the pivot drives through the constraint row',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, bob), 'qs': [x, y],
                   'bodies': [bob], 'frame': N,
                   'hol_coneqs': [(s**2 + y**2 - L**2)/2]},
        parameters={m: 1.0, L: 1.0, g: 9.81, a: 0.1, w: 5.0},
        start={x: 0.3, y: -0.95, x.diff(t): 0.5, y.diff(t): 0.0},
        fixed=(x, x.diff(t)), t_end=10.0,
        accelerations={x.diff(t, 2): lam*s/m,
                       y.diff(t, 2): -g + lam*y/m},
        multipliers=(lam,))


def atwood_machine() -> Model:
    """Two masses on a rope over a fixed pulley, both heights as coordinates.

    ``q1`` and ``q2`` measure downwards from the pulley of radius ``r``; the
    rope of length ``l`` is the constraint ``q1 + q2 + pi*r = l``.
    """
    q1, q2, u1, u2 = dynamicsymbols('q1:3 u1:3')
    m1, m2, g, r, length = symbols('m1 m2 g r l')
    t = dynamicsymbols._t

    system = System()
    system.fixed_point.set_vel(system.frame, 0)
    for i, (q, u, m, side) in enumerate(((q1, u1, m1, 1), (q2, u2, m2, -1)),
                                        1):
        point = system.fixed_point.locatenew(
            f'P{i}', side*r*system.y - q*system.z)
        point.set_vel(system.frame, -u*system.z)
        system.add_bodies(Particle(f'M{i}', point, m))
        system.add_kdes(q.diff(t) - u)
    system.q_ind, system.q_dep = [q1], [q2]
    system.u_ind, system.u_dep = [u1], [u2]
    system.add_holonomic_constraints(q1 + q2 + pi*r - length)
    system.apply_uniform_gravity(-g*system.z)
    known = g*(m1 - m2)/(m1 + m2)
    return from_system(
        system, name='atwood_machine',
        title='Atwood\'s machine with the rope as a constraint',
        reference='SymPy documentation, tutorial "Atwood Machine Example"',
        parameters={m1: 1.0, m2: 2.0, g: 9.81, r: 0.5, length: 12.0},
        start={q1: 5.5, q2: 4.929, u1: 0.0, u2: 0.0},
        fixed=(q1, u1), t_end=1.5,
        accelerations={u1.diff(t): known, u2.diff(t): -known},
        multipliers=(-2*m1*m2*g/(m1 + m2),))


def n_link_pendulum_on_cart(n: int = 3) -> Model:
    """``n`` massless rods with point masses on a cart with a force.

    Angles ``q1`` to ``qn`` are measured from the upward vertical; the cart is
    at ``q0`` and is pushed by ``F(t)``.

    Parameters
    ==========

    n : int
        Number of links, at least 1.

    """
    check_count(n, 1, 'a pendulum needs at least one link')
    q, u = dynamicsymbols(f'q:{n + 1}'), dynamicsymbols(f'u:{n + 1}')
    force = dynamicsymbols('F')
    m, lengths, g = symbols(f'm:{n + 1}'), symbols(f'l:{n}'), symbols('g')
    t = dynamicsymbols._t

    N, origin = ReferenceFrame('I'), Point('O')
    origin.set_vel(N, 0)
    point = origin.locatenew('P0', q[0]*N.x)
    point.set_vel(N, u[0]*N.x)
    bodies = [Particle('Pa0', point, m[0])]
    loads = [(point, -m[0]*g*N.y), (point, force*N.x)]
    for i in range(n):
        frame = N.orientnew(f'B{i}', 'Axis', [q[i + 1], N.z])
        frame.set_ang_vel(N, u[i + 1]*N.z)
        tip = point.locatenew(f'P{i + 1}', lengths[i]*frame.y)
        tip.v2pt_theory(point, N, frame)
        bodies.append(Particle(f'Pa{i + 1}', tip, m[i + 1]))
        loads.append((tip, -m[i + 1]*g*N.y))
        point = tip
    start = {q[0]: 0.0, u[0]: 0.0}
    start |= {qi: 3.0 + 0.2*i for i, qi in enumerate(q[1:])}
    start |= {ui: 0.0 for ui in u[1:]}
    return Model(
        name='n_link_pendulum_on_cart',
        title=f'A pendulum of {n} links on a cart',
        reference='SymPy, sympy.physics.mechanics.models.'
                  'n_link_pendulum_on_cart',
        shape='kane',
        arguments={'frame': N, 'q_ind': list(q), 'u_ind': list(u),
                   'kd_eqs': [qi.diff(t) - ui for qi, ui in zip(q, u)],
                   'bodies': bodies, 'forcelist': loads},
        parameters={**dict.fromkeys(m, 0.5), m[0]: 2.0,
                    **dict.fromkeys(lengths, 0.4), g: 9.81},
        start=start, fixed=(*q, *u), t_end=5.0, inputs={force: sin(2*t)})


def multidof_holonomic() -> Model:
    """Block, compound pendulum and simple pendulum with springs and inputs.

    The block (``ma``) moves along a wall spring ``k`` and damper ``c``; the
    compound pendulum (``mb``, ``IBzz``) carries a simple one (``mc``) through
    a torsion spring ``kT``. ``F(t)`` pushes the block, ``T(t)`` turns the
    compound pendulum. All lengths follow from ``l``.
    """
    q1, q2, q3, u1, u2, u3 = dynamicsymbols('q1:4 u1:4')
    force, torque = dynamicsymbols('F T')
    length, k, c, g, kT = symbols('l k c g k_T')
    ma, mb, mc, IBzz = symbols('m_a m_b m_c I_Bzz')
    t = dynamicsymbols._t

    wall = RigidBody('N')
    block = Particle('A', mass=ma)
    compound = RigidBody('B', mass=mb)
    compound.central_inertia = inertia(compound.frame, 0, 0, IBzz)
    simple = Particle('C', mass=mc)
    system = System.from_newtonian(wall)
    system.add_bodies(block, compound, simple)
    block_frame, simple_frame = ReferenceFrame('A'), ReferenceFrame('C')
    block.masscenter.set_vel(block_frame, 0)
    simple.masscenter.set_vel(simple_frame, 0)
    system.add_joints(
        PrismaticJoint('J1', wall, block, coordinates=q1, speeds=u1,
                       child_interframe=block_frame),
        PinJoint('J2', block, compound, coordinates=q2, speeds=u2,
                 joint_axis=wall.z, child_point=length*2/3*compound.y,
                 parent_interframe=block_frame),
        PinJoint('J3', compound, simple, coordinates=q3, speeds=u3,
                 joint_axis=compound.z, parent_point=-length/3*compound.y,
                 child_point=length*simple_frame.y,
                 child_interframe=simple_frame))
    system.apply_uniform_gravity(-g*wall.y)
    system.add_loads(Force(block, force*wall.x))
    path = LinearPathway(wall.masscenter, block.masscenter)
    system.add_actuators(
        LinearSpring(k, path), LinearDamper(c, path),
        TorqueActuator(torque, wall.z, compound, wall),
        TorqueActuator(kT*q3, wall.z, compound, simple_frame))
    return from_system(
        system, name='multidof_holonomic',
        title='A block with a compound and a simple pendulum, springs and '
              'inputs',
        reference='SymPy documentation, tutorial "Multi Degree of Freedom '
                  'Holonomic System"',
        parameters={length: 0.6, k: 40.0, c: 2.0, g: 9.81, kT: 5.0, ma: 2.0,
                    mb: 1.0, mc: 0.5, IBzz: 0.03},
        start={q1: 0.1, q2: 0.3, q3: -0.2, u1: 0.0, u2: 0.0, u3: 0.0},
        fixed=(q1, q2, q3, u1, u2, u3), t_end=5.0,
        inputs={force: 5*sin(3*t), torque: cos(2*t)/2})


def cart_pendulum() -> Model:
    """A cart with a pendulum whose bob is kept on the vertical line ``x = 0``.

    Joints whose speeds are ``q'``, so that Lagrange's and Kane's method both
    apply. Cart ``mc``, bob ``mp``, rod ``l``, torsion spring ``k``, force
    ``F(t)`` on the cart.
    """
    qp, qc, force = dynamicsymbols('q_p q_c F')
    t = dynamicsymbols._t
    up, uc = qp.diff(t), qc.diff(t)
    g, length, mc, mp, k = symbols('g l m_c m_p k')

    rail, cart = RigidBody('rail'), RigidBody('cart', mass=mc)
    bob, bob_frame = Particle('bob', mass=mp), ReferenceFrame('bob_frame')
    system = System.from_newtonian(rail)
    system.add_joints(
        PrismaticJoint('slider', rail, cart, qc, uc, joint_axis=rail.x),
        PinJoint('pin', cart, bob, qp, up, joint_axis=cart.z,
                 child_interframe=bob_frame,
                 child_point=length*bob_frame.y))
    for body in (cart, bob):
        body.potential_energy = body.mass*g*body.masscenter.pos_from(
            system.fixed_point).dot(system.y)
    system.add_loads((cart.masscenter, force*rail.x))
    system.add_actuators(TorqueActuator(-k*qp, cart.z, bob_frame, cart))
    system.add_holonomic_constraints(
        bob.masscenter.pos_from(rail.masscenter).dot(system.x))
    system.q_ind, system.q_dep = qp, qc
    system.u_ind, system.u_dep = up, uc
    mass = length*(mc*cos(qp)**2 + mp*sin(qp)**2)
    known = (-g*mp*sin(qp) - k*qp/length + length*(mc - mp)*sin(2*qp)*up**2/2
             - force*cos(qp))/mass
    return from_system(
        system, shape='lagrange', name='cart_pendulum',
        title='A cart with a pendulum on a vertical line',
        reference='SymPy test suite, test_system_class, cart pendulum',
        parameters={g: 9.81, length: 0.8, mc: 2.0, mp: 1.0, k: 3.0},
        start={qp: 0.5, qc: -0.3835, up: 0.0, uc: 0.0},
        fixed=(qp, up), t_end=5.0, inputs={force: 2*sin(2*t)},
        accelerations={up.diff(t): known})


def spring_mass_damper() -> Model:
    """One mass on a spring and a damper along a prismatic joint.

    Mass ``m``, stiffness ``k``, damping ``c``; the speed is ``q'``.
    """
    q = dynamicsymbols('q')
    t = dynamicsymbols._t
    m, k, c = symbols('m k c')

    wall, bob = RigidBody('W'), Particle('P', mass=m)
    system = System.from_newtonian(wall)
    frame = ReferenceFrame('P')
    bob.masscenter.set_vel(frame, 0)
    system.add_joints(PrismaticJoint('J', wall, bob, q, q.diff(t),
                                     child_interframe=frame))
    path = LinearPathway(wall.masscenter, bob.masscenter)
    system.add_actuators(LinearSpring(k, path), LinearDamper(c, path))
    return from_system(
        system, shape='lagrange', name='spring_mass_damper',
        title='A mass with a spring and a damper on a prismatic joint',
        reference='SymPy documentation of System and of the actuators',
        parameters={m: 1.0, k: 20.0, c: 0.4},
        start={q: 0.5, q.diff(t): 0.0}, fixed=(q, q.diff(t)), t_end=10.0,
        accelerations={q.diff(t, 2): -(k*q + c*q.diff(t))/m})


def duffing_pendulum() -> Model:
    """A pendulum on a Duffing oscillator.

    Block ``M`` on a spring ``k1*q + k2*q**3`` and a damper ``c1``; a spherical
    bob ``m`` of radius ``r`` on a rod ``l``.
    """
    q1, q2 = dynamicsymbols('q1 q2')
    M, m, length, k1, k2, c1, g, r = symbols('M m l k1 k2 c1 g r')
    t = dynamicsymbols._t
    u1, u2 = q1.diff(t), q2.diff(t)

    N = ReferenceFrame('N')
    B = N.orientnew('B', 'axis', (q2, N.z))
    origin = Point('O')
    origin.set_vel(N, 0)
    block = origin.locatenew('block', q1*N.y)
    block.set_vel(N, u1*N.y)
    tip = block.locatenew('pendulum', length*B.y)
    tip.v2pt_theory(block, N, B)
    bodies = [Particle('block', block, M),
              RigidBody('pendulum', tip, B, m,
                        (2*m*r**2/5*inertia(B, 1, 1, 1), tip))]
    path = LinearPathway(origin, block)
    loads = (DuffingSpring(k1, k2, path, 0).to_loads()
             + LinearDamper(c1, path).to_loads()
             + [Force(body, body.mass*g*N.y) for body in bodies])
    return Model(
        name='duffing_pendulum',
        title='A pendulum hanging from a Duffing oscillator',
        reference='SymPy documentation, tutorial "Duffing Oscillator with a '
                  'Pendulum"',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, *bodies), 'qs': [q1, q2],
                   'bodies': bodies, 'forcelist': loads, 'frame': N},
        parameters={M: 2.0, m: 0.5, length: 0.3, k1: 60.0, k2: 40.0,
                    c1: 1.0, g: 9.81, r: 0.05},
        start={q1: 0.3, q2: 0.5, u1: 0.0, u2: 0.0},
        fixed=(q1, q2, u1, u2), t_end=5.0)


def double_pendulum_lagrange() -> Model:
    """A double pendulum in absolute angles, without any constraint.

    Rods ``l``, masses ``m``, gravity ``g`` along ``x``.
    """
    q1, q2 = dynamicsymbols('q1 q2')
    length, m, g = symbols('l m g')
    t = dynamicsymbols._t
    u1, u2 = q1.diff(t), q2.diff(t)

    N, point = ReferenceFrame('N'), Point('O')
    point.set_vel(N, 0)
    bodies, depth = [], S.Zero
    for i, q in enumerate((q1, q2), 1):
        frame = N.orientnew(f'A{i}', 'Axis', [q, N.z])
        frame.set_ang_vel(N, q.diff(t)*N.z)
        tip = point.locatenew(f'P{i}', length*frame.x)
        tip.v2pt_theory(point, N, frame)
        depth += length*cos(q)
        bodies.append(Particle(f'bob{i}', tip, m))
        bodies[-1].potential_energy = -m*g*depth
        point = tip
    return Model(
        name='double_pendulum_lagrange',
        title='A double pendulum from a Lagrangian',
        reference='SymPy test suite, test_lagrange, test_dub_pen',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, *bodies), 'qs': [q1, q2],
                   'bodies': bodies},
        parameters={length: 0.5, m: 1.0, g: 9.81},
        start={q1: 2.0, q2: 1.5, u1: 0.0, u2: 0.0},
        fixed=(q1, q2, u1, u2), t_end=10.0)


def damped_double_pendulum() -> Model:
    """A double pendulum with relative angles and absolute angular speeds.

    ``u2 = q1' + q2'`` and the torque of the joint is written with ``q2'``.
    Rods ``l``, masses ``m``, torsion spring ``sigma``, damper ``delta``.
    """
    q1, q2, u1, u2 = dynamicsymbols('q1:3 u1:3')
    length, m, sigma, delta = symbols('l m sigma delta')
    t = dynamicsymbols._t

    N = ReferenceFrame('N')
    A = N.orientnew('A', 'Axis', (q1, N.z))
    B = A.orientnew('B', 'Axis', (q2, N.z))
    origin = Point('O')
    origin.set_vel(N, 0)
    P = origin.locatenew('P', length*A.x)
    P.v2pt_theory(origin, N, A)
    Q = P.locatenew('Q', length*B.x)
    Q.v2pt_theory(P, N, B)
    torque = (sigma*q2 + delta*q2.diff(t))*N.z
    return Model(
        name='damped_double_pendulum',
        title='A double pendulum with a joint torque written in q\'',
        reference='SymPy test suite, test_kane4; after T. R. Kane and D. A. '
                  'Levinson, Dynamics (1985), section 4.7',
        shape='kane',
        arguments={
            'frame': N, 'q_ind': [q1, q2], 'u_ind': [u1, u2],
            'kd_eqs': [u1 - q1.diff(t), u2 - (q1.diff(t) + q2.diff(t))],
            'bodies': [Particle('Ap', P, m), Particle('Bp', Q, m)],
            'forcelist': [(A, torque), (B, -torque)]},
        parameters={length: 0.5, m: 1.0, sigma: 4.0, delta: 0.1},
        start={q1: 0.0, q2: 0.6, u1: 1.0, u2: -0.5},
        fixed=(q1, q2, u1, u2), t_end=5.0)


def furuta_pendulum() -> Model:
    """A rotary inverted pendulum driven by a torque about the vertical.

    Arm of length ``r`` and inertia ``J`` about ``z``; a bar of mass ``m`` and
    length ``l`` swings about the arm, ``q2 = 0`` upright. Motor torque
    ``tau(t)``, bearing friction ``c``.
    """
    q1, q2, u1, u2, tau = dynamicsymbols('q1 q2 u1 u2 tau')
    r, length, m, J, c, g = symbols('r l m J c g')
    t = dynamicsymbols._t

    ground, arm = RigidBody('ground'), RigidBody('arm', mass=m)
    arm.central_inertia = inertia(arm.frame, 0, 0, J)
    bar = RigidBody('bar', mass=m)
    bar.central_inertia = m*length**2/12*inertia(bar.frame, 1, 1, 0)
    system = System.from_newtonian(ground)
    system.add_joints(
        PinJoint('motor', ground, arm, q1, u1, joint_axis=ground.z),
        PinJoint('hinge', arm, bar, q2, u2, joint_axis=arm.x,
                 parent_point=r*arm.x, child_point=-length/2*bar.z))
    system.apply_uniform_gravity(-g*ground.z)
    system.add_actuators(
        TorqueActuator(tau, ground.z, arm, ground),
        TorqueActuator(-c*u2, arm.x, bar, arm))
    return from_system(
        system, name='furuta_pendulum',
        title='The rotary inverted pendulum with motor torque and friction',
        reference='K. Furuta, M. Yamakita and S. Kobayashi, J. Syst. Control '
                  'Eng. 206 (1992) 263-269',
        parameters={r: 0.2, length: 0.3, m: 0.1, J: 0.002, c: 0.001, g: 9.81},
        start={q1: 0.0, q2: 0.2, u1: 0.0, u2: 0.0},
        fixed=(q1, q2, u1, u2), t_end=3.0, inputs={tau: sin(3*t)/50})


def muscle_on_sphere() -> Model:
    """A muscle node that slides over a spherical bone, in ``x, y, z``.

    The node of mass ``m`` stays on the sphere of radius ``R`` (a holonomic
    row). Two elastic strands of stiffness ``k`` and rest length ``L0`` run to
    the fixed points at ``a`` on the ``x`` and ``b`` on the ``y`` axis.
    """
    x, y, z = q = dynamicsymbols('x y z')
    R, m, k, L0, a, b = symbols('R m k L0 a b', positive=True)
    t = dynamicsymbols._t

    N, origin = ReferenceFrame('N'), Point('O')
    origin.set_vel(N, 0)
    node = origin.locatenew('P', x*N.x + y*N.y + z*N.z)
    node.set_vel(N, node.pos_from(origin).dt(N))
    body = Particle('node', node, m)
    body.potential_energy = sum(
        k*(node.pos_from(origin.locatenew(f'A{i}', end)).magnitude()
           - L0)**2/2 for i, end in enumerate((a*N.x, b*N.y)))
    return Model(
        name='muscle_on_sphere',
        title='A muscle node sliding over a spherical bone',
        reference='After the SymPy tutorial "Muscle Wrapping over a Spherical '
                  'Bone", with the sphere as a constraint',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, body), 'qs': list(q),
                   'bodies': [body], 'frame': N,
                   'hol_coneqs': [(x**2 + y**2 + z**2 - R**2)/2]},
        parameters={R: 0.05, m: 0.02, k: 800.0, L0: 0.05, a: 0.12, b: 0.15},
        start=dict(zip((*q, *(qi.diff(t) for qi in q)),
                       (0.03, 0.02, 0.0346, 0.0, 0.3, -0.173))),
        fixed=(x, y, x.diff(t), y.diff(t)), t_end=0.5)


def cart_bead() -> Model:
    """A cart that carries a vertical slider guided by a parabola (U-11).

    Cart ``m1`` at ``q1``, slider ``m2`` at height ``q2 = kappa*q1**2/2``.
    """
    q1, q2, u1, u2 = dynamicsymbols('q1:3 u1:3')
    m1, m2, kappa, g = symbols('m1 m2 kappa g')
    t = dynamicsymbols._t

    ground, cart = RigidBody('ground'), RigidBody('cart', mass=m1)
    bead = RigidBody('bead', mass=m2)
    system = System.from_newtonian(ground)
    system.add_joints(
        PrismaticJoint('rail', ground, cart, q1, u1, joint_axis=ground.x),
        PrismaticJoint('guide', cart, bead, q2, u2, joint_axis=cart.y))
    system.apply_uniform_gravity(-g*ground.y)
    system.add_holonomic_constraints(q2 - kappa*q1**2/2)
    system.q_ind, system.q_dep = [q1], [q2]
    system.u_ind, system.u_dep = [u1], [u2]
    acc = (-m2*kappa*q1*(g + kappa*u1**2)
           / (m1 + m2 + m2*kappa**2*q1**2))
    return from_system(
        system, name='cart_bead',
        title='A cart with a vertical slider guided by a parabola',
        reference='Acceptance case U-11',
        parameters={m1: 1.0, m2: 1.0, kappa: 1.0, g: 9.81},
        start={q1: 1.0, q2: 0.5, u1: 0.5, u2: 0.5},
        fixed=(q1, u1), t_end=5.0,
        accelerations={u1.diff(t): acc,
                       u2.diff(t): kappa*(q1*acc + u1**2)},
        multipliers=(m2*(g + kappa*(q1*acc + u1**2)),))
