"""Pendulums, and masses on carts and ropes."""
from sympy import S, cos, sin, symbols
from sympy.physics.mechanics import (
    Particle, PinJoint, PrismaticJoint, ReferenceFrame, RigidBody, System,
    TorqueActuator, dynamicsymbols, inertia)

from ._model import (
    Model, bodies_model, check_count, inertial, kane_model, kdes, particle_at,
    ready, system_model, weights)


@ready
def cartesian_pendulum() -> Model:
    """A pendulum in Cartesian coordinates.

    Bob of mass ``m`` at ``x``, ``y``, rod of length ``L``, gravity ``g``
    along ``-y``; ``x**2 + y**2 = L**2``.

    Source: F. E. Udwadia and R. E. Kalaba, Proc. R. Soc. A 439 (1992)
    407-410; acceptance case U-1.
    """
    return _bob_on_rod(S.Zero, {}, dynamicsymbols('y'),
                       start=(0.8, -0.6, 0.0, 0.0), t_end=60.0)


@ready
def driven_pendulum() -> Model:
    """A pendulum with a moving pivot: a rheonomic constraint.

    The pivot is at ``x = a*sin(omega*t)``; rod ``L``, mass ``m``, gravity
    ``g`` along ``-y``.

    Source: Textbook; the pivot drives through the constraint row.
    """
    a, w = symbols('a omega')
    return _bob_on_rod(
        a*sin(w*dynamicsymbols._t), {a: 0.1, w: 5.0}, dynamicsymbols('x'),
        start=(0.3, -0.95, 0.5, 0.0), t_end=10.0)


def _bob_on_rod(pivot, numbers, fixed, **given) -> Model:
    """A bob on a rod from the place ``pivot`` on the x axis."""
    t, (x, y) = dynamicsymbols._t, dynamicsymbols('x y')
    m, L, g = symbols('m L g')
    N, point, bob = particle_at((x, y), m, name='bob')
    bob.potential_energy = m*g*y
    s = x - pivot
    v2 = s.diff(t)**2 + y.diff(t)**2
    lam = m*(g*y + s*pivot.diff(t, 2) - v2)/(s**2 + y**2)
    return bodies_model(
        N, [bob], [x, y], hol_coneqs=[(s**2 + y**2 - L**2)/2],
        visual={'lines': {'rod': [(pivot, 0), point]}},
        parameters={m: 1.0, L: 1.0, g: 9.81, **numbers},
        fixed=(fixed, fixed.diff()), multipliers=(lam,), accelerations={
            x.diff(t, 2): lam*s/m, y.diff(t, 2): -g + lam*y/m}, **given)


@ready
def n_link_pendulum_on_cart(n: int = 3) -> Model:
    """A pendulum of ``n`` links on a cart.

    Massless rods ``l0`` to ``l(n-1)``, point masses ``m1`` to ``mn``, cart
    ``m0`` at ``q0``, pushed by ``F(t)``. Angles ``q1`` to ``qn`` from the
    upward vertical; ``n`` is at least 1.

    Source: SymPy, sympy.physics.mechanics.models.n_link_pendulum_on_cart.
    """
    t = dynamicsymbols._t
    check_count(n, 1, 'a pendulum needs at least one link')
    q, u = dynamicsymbols(f'q:{n + 1}'), dynamicsymbols(f'u:{n + 1}')
    force = dynamicsymbols('F')
    m, lengths, g = symbols(f'm:{n + 1}'), symbols(f'l:{n}'), symbols('g')

    N, origin = inertial()
    point = origin.locatenew('P0', q[0]*N.x)
    point.set_vel(N, u[0]*N.x)
    bodies = [Particle('Pa0', point, m[0])]
    push = point, force*N.x
    for i in range(n):
        frame = N.orientnew(f'B{i}', 'Axis', [q[i + 1], N.z])
        frame.set_ang_vel(N, u[i + 1]*N.z)
        tip = point.locatenew(f'P{i + 1}', lengths[i]*frame.y)
        tip.v2pt_theory(point, N, frame)
        bodies.append(Particle(f'Pa{i + 1}', tip, m[i + 1]))
        point = tip
    start = {**dict.fromkeys(u, 0.0), q[0]: 0.0,
             **{qi: 3.0 + 0.2*i for i, qi in enumerate(q[1:])}}
    return kane_model(
        N, q, u, kdes(q, u), bodies=bodies,
        forcelist=[push, *weights(bodies, -g*N.y)],
        parameters={**dict.fromkeys(m, 0.5), m[0]: 2.0,
                    **dict.fromkeys(lengths, 0.4), g: 9.81},
        start=start, t_end=5.0, inputs={force: sin(2*t)})


@ready
def cart_pendulum() -> Model:
    """A cart with a pendulum on a vertical line.

    The bob is kept on ``x = 0``. Joints whose speeds are ``q'``, so that
    Lagrange's and Kane's method both apply. Cart ``mc``, bob ``mp``, rod
    ``l``, torsion spring ``k``, force ``F(t)`` on the cart.

    Source: SymPy test suite, test_system_class, cart pendulum.
    """
    t = dynamicsymbols._t
    qp, qc, force = dynamicsymbols('q_p q_c F')
    up, uc = qp.diff(), qc.diff()
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
    return system_model(
        system, shape='lagrange',
        parameters={g: 9.81, length: 0.8, mc: 2.0, mp: 1.0, k: 3.0},
        start={qp: 0.5, qc: -0.3835, up: 0.0, uc: 0.0},
        t_end=5.0, inputs={force: 2*sin(2*t)},
        accelerations={up.diff(): known})


@ready
def double_pendulum_lagrange() -> Model:
    """A double pendulum from a Lagrangian.

    Absolute angles, no constraint. Rods ``l``, masses ``m``, gravity ``g``
    along ``x``.

    Source: SymPy test suite, test_lagrange, test_dub_pen.
    """
    q1, q2 = dynamicsymbols('q1 q2')
    length, m, g = symbols('l m g')
    u1, u2 = q1.diff(), q2.diff()

    N, point = inertial()
    bodies, depth = [], S.Zero
    for i, q in enumerate((q1, q2), 1):
        frame = N.orientnew(f'A{i}', 'Axis', [q, N.z])
        tip = point.locatenew(f'P{i}', length*frame.x)
        tip.v2pt_theory(point, N, frame)
        depth += length*cos(q)
        bodies.append(Particle(f'bob{i}', tip, m))
        bodies[-1].potential_energy = -m*g*depth
        point = tip
    return bodies_model(
        N, bodies, [q1, q2],
        parameters={length: 0.5, m: 1.0, g: 9.81},
        start={q1: 2.0, q2: 1.5, u1: 0.0, u2: 0.0}, t_end=10.0)


@ready
def damped_double_pendulum() -> Model:
    """A double pendulum with a joint torque written in q'.

    Relative angles ``q``, absolute angular speeds ``u``: ``u2 = q1' + q2'``.
    Rods ``l``, masses ``m``, torsion spring ``sigma``, damper ``delta``.

    Source: SymPy test suite, test_kane4; after T. R. Kane and D. A. Levinson,
    Dynamics (1985), section 4.7.
    """
    q1, q2, u1, u2 = dynamicsymbols('q1:3 u1:3')
    length, m, sigma, delta = symbols('l m sigma delta')

    N, origin = inertial()
    A = N.orientnew('A', 'Axis', (q1, N.z))
    B = A.orientnew('B', 'Axis', (q2, N.z))
    P = origin.locatenew('P', length*A.x)
    P.v2pt_theory(origin, N, A)
    Q = P.locatenew('Q', length*B.x)
    Q.v2pt_theory(P, N, B)
    torque = (sigma*q2 + delta*q2.diff())*N.z
    return kane_model(
        N, [q1, q2], [u1, u2], [u1 - q1.diff(), u2 - (q1.diff() + q2.diff())],
        bodies=[Particle('Ap', P, m), Particle('Bp', Q, m)],
        forcelist=[(A, torque), (B, -torque)],
        parameters={length: 0.5, m: 1.0, sigma: 4.0, delta: 0.1},
        start={q1: 0.0, q2: 0.6, u1: 1.0, u2: -0.5}, t_end=5.0)


@ready
def furuta_pendulum() -> Model:
    """The rotary inverted pendulum with motor torque and friction.

    Arm of length ``r`` and inertia ``J`` about ``z``; a bar of mass ``m`` and
    length ``l`` swings about the arm, ``q2 = 0`` upright. Motor torque
    ``tau(t)``, bearing friction ``c``.

    Source: K. Furuta, M. Yamakita and S. Kobayashi, J. Syst. Control Eng. 206
    (1992) 263-269.
    """
    t = dynamicsymbols._t
    q1, q2, u1, u2, tau = dynamicsymbols('q1 q2 u1 u2 tau')
    r, length, m, J, c, g = symbols('r l m J c g')

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
    return system_model(
        system,
        parameters={r: 0.2, length: 0.3, m: 0.1, J: 0.002, c: 0.001, g: 9.81},
        start={q1: 0.0, q2: 0.2, u1: 0.0, u2: 0.0},
        t_end=3.0, inputs={tau: sin(3*t)/50})


@ready
def cart_bead() -> Model:
    """A cart with a vertical slider guided by a parabola.

    Cart ``m1`` at ``q1``, slider ``m2`` at height ``q2 = kappa*q1**2/2``.

    Source: Acceptance case U-11.
    """
    q1, q2, u1, u2 = dynamicsymbols('q1:3 u1:3')
    m1, m2, kappa, g = symbols('m1 m2 kappa g')

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
    return system_model(
        system,
        parameters={m1: 1.0, m2: 1.0, kappa: 1.0, g: 9.81},
        start={q1: 1.0, q2: 0.5, u1: 0.5, u2: 0.5}, t_end=5.0,
        accelerations={u1.diff(): acc,
                       u2.diff(): kappa*(q1*acc + u1**2)},
        multipliers=(m2*(g + kappa*(q1*acc + u1**2)),))
