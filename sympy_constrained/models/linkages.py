"""Planar linkages: bodies on pins, closed by loops."""
import math

from sympy import Integer, Rational, cos, sqrt, symbols
from sympy.physics.mechanics import (
    Force, PinJoint, PrismaticJoint, ReferenceFrame, RigidBody, System, Torque,
    dynamicsymbols, inertia)

from ._model import (
    Model, bodies_model, check_count, closed, friction, inertial, kane_model,
    kdes, ready, rigid_body, system_model, weights)


def _bar(name, mass, length):
    """A thin uniform bar along the x axis of its own frame."""
    body = RigidBody(name, mass=mass)
    body.central_inertia = inertia(body.frame, 0, 0, mass*length**2/12)
    return body


@ready
def four_bar() -> Model:
    """A crank-rocker four-bar linkage under gravity.

    Uniform bars of lengths ``l1`` (ground), ``l2`` (crank), ``l3``, ``l4``
    and line density ``rho``; ``q1`` to ``q3`` are the angles between them.
    Two rows close the loop.

    Source: SymPy documentation, tutorial "A four bar linkage".
    """
    q1, q2, q3, u1, u2, u3 = dynamicsymbols('q1:4 u1:4')
    lengths = l1, l2, l3, l4 = symbols('l1:5')
    rho, g = symbols('rho g')

    link1, link2, link3, link4 = (
        _bar(f'link{i}', rho*length, length)
        for i, length in enumerate(lengths, 1))
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
    system.apply_uniform_gravity(-g*link1.y)
    return system_model(
        system, visual={'forces': {'pin force': (
            end, friction(link1.frame))}},
        parameters={l1: 0.30, l2: 0.12, l3: 0.28, l4: 0.24, rho: 1.2,
                    g: 9.81},
        start={q1: 1.0, q2: 1.726, q3: 1.516, u1: 10.0, u2: -9.567,
               u3: 4.514}, t_end=2.0)


@ready
def slider_crank() -> Model:
    """A slider-crank mechanism with pin, pin and prismatic joint.

    Crank radius ``r``, rod length ``l``, masses ``m1`` (crank), ``m2`` (rod),
    ``m3`` (piston); the gas force is a linear spring ``k`` about the position
    ``s`` of the piston.

    Source: Textbook; built with the joints of SymPy.
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
    return system_model(
        system, visual={'forces': {'piston pin': (
            small_end, friction(ground.frame))}},
        parameters={r: 0.05, length: 0.15, m1: 0.8, m2: 0.6, m3: 0.5,
                    k: 400.0, s: 0.15},
        start={q1: 0.6, q2: -0.789, q3: 0.1886, u1: 40.0, u2: -51.2,
               u3: -1.446}, t_end=0.5)


@ready
def parallel_cranks() -> Model:
    """A coupler on three equal parallel cranks: one loop row too many.

    Cranks of length ``l`` and mass ``m`` at distances ``c``, coupler of mass
    ``mc`` and length ``2*c``. Four loop rows of rank three: one row is a
    combination of the others wherever the cranks are parallel, and nowhere
    else.

    Source: The N-four-bar mechanism of the multibody benchmarks, N = 2.
    """
    q1, q2, q3, q4, u1, u2, u3, u4 = dynamicsymbols('q1:5 u1:5')
    length, c, m, mc, g = symbols('l c m m_c g')

    ground = RigidBody('ground')
    cranks = [_bar(f'crank{i}', m, length) for i in range(1, 4)]
    coupler = _bar('coupler', mc, 2*c)
    system = System.from_newtonian(ground)
    tips, forces = [], {}
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
        forces[f'pin of crank{i + 1}'] = eye, friction(
            ground.frame, 2*i - 1)
        system.add_holonomic_constraints(gap.dot(ground.x),
                                         gap.dot(ground.y))
    system.apply_uniform_gravity(-g*ground.y)
    system.q_ind, system.q_dep = [q1], [q2, q3, q4]
    system.u_ind, system.u_dep = [u1], [u2, u3, u4]
    # All cranks turn alike, the coupler translates.
    known = -(Rational(3, 2)*m + mc)*g*cos(q1)/((m + mc)*length)
    return system_model(
        system, visual={'forces': forces},
        parameters={length: 0.5, c: 0.6, m: 1.0, mc: 2.0, g: 9.81},
        # Hanging, so that the motion stays clear of the dead points.
        start={q1: -0.8, q2: -0.8, q3: -0.8, q4: 0.8,
               u1: 1.0, u2: 1.0, u3: 1.0, u4: -1.0}, t_end=3.0,
        accelerations={u1.diff(): known, u2.diff(): known,
                       u3.diff(): known, u4.diff(): -known})


@ready
def coupler_on_cranks() -> Model:
    """A coupler held by three parallel massless cranks: rank drops on the
    constraint set only.

    Mass centre ``X``, ``Y`` and angle ``phi``; one length row per crank, of
    rank three at a general point and rank two where they hold. Crank length
    ``l``, distances ``c``, mass ``m``.

    Source: A parallelogram with one crank too many; acceptance case U-3.
    """
    X, Y, phi = dynamicsymbols('X Y phi')
    length, c, m, g = symbols('l c m g')

    (N, origin), B = inertial(), ReferenceFrame('B')
    B.orient_axis(N, phi, N.z)
    center = origin.locatenew('C', X*N.x + Y*N.y)
    body = rigid_body('coupler', center, B, m, 0, 0, m*c**2/3)
    body.potential_energy = m*g*Y
    cranks = [(origin.locatenew(f'A{i}', i*c*N.x),
               center.locatenew(f'B{i}', (i - 1)*c*B.x)) for i in range(3)]
    arms = [pin.pos_from(pivot) for pivot, pin in cranks]
    rows = [(arm.dot(arm) - length**2)/2 for arm in arms]
    return bodies_model(
        N, [body], [X, Y, phi], hol_coneqs=rows,
        parameters={length: 0.5, c: 0.6, m: 2.0, g: 9.81},
        start={X: 0.9, Y: -0.4, phi: 0.0, X.diff(): 0.4, Y.diff(): 0.3,
               phi.diff(): 0.0},
        fixed=(X, X.diff()), t_end=3.0,
        accelerations={phi.diff().diff(): Integer(0)},
        visual={'lines': cranks})


_SQUEEZER = {
    'm1': 0.04325, 'm2': 0.00365, 'm3': 0.02373, 'm4': 0.00706,
    'm5': 0.07050, 'm6': 0.00706, 'm7': 0.05498,
    'I1': 2.194e-6, 'I2': 4.410e-7, 'I3': 5.255e-6, 'I4': 5.667e-7,
    'I5': 1.169e-5, 'I6': 5.667e-7, 'I7': 1.912e-5,
    'xa': -0.06934, 'ya': -0.00227, 'xb': -0.03635, 'yb': 0.03273,
    'xc': 0.014, 'yc': 0.072, 'd': 0.028, 'da': 0.0115, 'e': 0.02,
    'ea': 0.01421, 'rr': 0.007, 'ra': 0.00092, 'ss': 0.035, 'sa': 0.01874,
    'sb': 0.01043, 'sc': 0.018, 'sd': 0.02, 'ta': 0.02308, 'tb': 0.00916,
    'u': 0.04, 'ua': 0.01228, 'ub': 0.00449, 'zf': 0.02, 'zt': 0.04,
    'fa': 0.01421, 'mom': 0.033, 'c0': 4530.0, 'l0': 0.07785}


@ready
def andrews_squeezer() -> Model:
    """Andrews' squeezing mechanism, seven bodies in three loops.

    One degree of freedom. A motor torque ``mom`` turns the crank (``beta``)
    with the connecting rod (``theta``), whose end holds three arms: one about
    the fixed point ``B`` with a spring ``c0`` (``gamma``), and two of two
    bodies each about ``A`` (``phi``, ``delta`` and ``Omega``, ``epsilon``).
    Letters and numbers are those of the literature. No gravity; the motion of
    interest ends at 0.03 s.

    Source: E. Hairer and G. Wanner, Solving Ordinary Differential Equations
    II, section VII.7; F. Mazzia and C. Magherini, Test Set for Initial Value
    Problem Solvers, problem Andrews.
    """
    q = dynamicsymbols('beta theta gamma phi delta Omega epsilon')
    beta, theta, gamma, phi, delta, Omega, epsilon = q
    speeds = dynamicsymbols('u1:8')
    constant = {name: symbols(name) for name in _SQUEEZER}
    (m1, m2, m3, m4, m5, m6, m7, I1, I2, I3, I4, I5, I6, I7, xa, ya, xb, yb,
     xc, yc, d, da, e, ea, rr, ra, ss, sa, sb, sc, sd, ta, tb, u, ua, ub, zf,
     zt, fa, mom, c0, l0) = constant.values()

    N, origin = inertial()
    A = origin.locatenew('A', xa*N.x + ya*N.y)
    B = origin.locatenew('B', xb*N.x + yb*N.y)
    C = origin.locatenew('C', xc*N.x + yc*N.y)
    bodies = []

    def hinged(name, carrier, angle, pin, x, y, mass, moment):
        """A frame on a pin; its body has the mass centre at ``x``, ``y``."""
        frame = carrier.orientnew(name, 'Axis', [angle, carrier.z])
        center = pin.locatenew(f'S{name[1:]}', x*frame.x + y*frame.y)
        bodies.append(rigid_body(name, center, frame, mass, 0, 0, moment))
        return frame

    K1 = hinged('K1', N, beta, origin, ra, 0, m1, I1)
    crank = origin.locatenew('crank', rr*K1.x)
    K2 = hinged('K2', K1, theta, crank, -da, 0, m2, I2)
    K3 = hinged('K3', N, gamma, B, sb, -sa, m3, I3)
    K5 = hinged('K5', N, delta, A, ta, tb, m5, I5)
    knee = A.locatenew('knee', zt*K5.x)
    K4 = hinged('K4', K5, phi, knee, 0, ea - e, m4, I4)
    K7 = hinged('K7', N, epsilon, A, -ub, -ua, m7, I7)
    elbow = A.locatenew('elbow', -u*K7.y)
    K6 = hinged('K6', K7, Omega, elbow, zf - fa, 0, m6, I6)

    end = crank.locatenew('end', -d*K2.x)
    arms = [(B, -ss*K3.y), (knee, -e*K4.y), (elbow, zf*K6.x)]
    gaps = [end.pos_from(pin) - arm for pin, arm in arms]
    hook = B.locatenew('D', sd*K3.x - sc*K3.y)
    spring = hook.pos_from(C).express(N)
    pull = -c0*(1 - l0/sqrt(spring.dot(spring)))*spring

    start = dict(zip(q, (
        -0.0617138900142764, 0.0, 0.4552798191630704, 0.2226683901658859,
        0.4873649795438425, -0.2226683901658859, 1.2305474445498212)))
    return kane_model(
        N, [beta], [speeds[0]], kdes(q, speeds), q_dependent=q[1:],
        u_dependent=speeds[1:], **closed(gaps, N, q, speeds),
        bodies=bodies, visual={
            'springs': {'spring': [C, hook]},
            'lines': [(pin, end) for pin in (B, hook, knee, elbow)]},
        forcelist=[Torque(K1, mom*N.z), Force(hook, pull)],
        parameters={constant[name]: value
                    for name, value in _SQUEEZER.items()},
        start={**start, **dict.fromkeys(speeds, 0.0)}, t_end=0.03)


@ready
def n_four_bar(n: int = 2) -> Model:
    """A row of ``n`` four-bar linkages that folds flat on its way.

    ``2*n + 1`` uniform bars of length ``l`` and mass ``m``: cranks ``q1`` to
    ``q(n+1)`` on the ground, a distance ``l`` apart, couplers ``q(n+2)`` to
    ``q(2*n+1)`` from each crank to the next; angles to the horizontal. Where
    the cranks lie flat, each window could fold on its own: for an instant the
    mechanism has ``n + 1`` degrees of freedom. The start is upright, with 1
    m/s at the first knee; the motion of interest ends at 10 s.

    Source: M. Gonzalez, D. Dopico, U. Lugris and J. Cuadrado, Multibody
    System Dynamics 16 (2006) 179-190, problem A02 of the IFToMM library of
    benchmarks.
    """
    check_count(n, 1, 'a row needs at least one window')
    count = 2*n + 1
    q = dynamicsymbols(f'q1:{count + 1}')
    u = dynamicsymbols(f'u1:{count + 1}')
    length, m, g = symbols('l m g')

    N, origin = inertial()
    bodies, tips = [], []
    for i in range(count):
        bar = N.orientnew(f'A{i + 1}', 'Axis', [q[i], N.z])
        bar.set_ang_vel(N, u[i]*N.z)
        pin = (tips[i - n - 1] if i > n
               else origin.locatenew(f'B{i + 1}', i*length*N.x))
        center = pin.locatenew(f'C{i + 1}', length/2*bar.x)
        tips.append(pin.locatenew(f'P{i + 1}', length*bar.x))
        bodies.append(rigid_body(
            f'bar{i + 1}', center, bar, m, 0, 0, m*length**2/12))
        for point in (pin, center, tips[-1]):
            point.set_vel(N, point.pos_from(origin).dt(N).xreplace(
                {x.diff(): v for x, v in zip(q, u)}))
    gaps = [tips[n + 1 + i].pos_from(tips[i + 1]) for i in range(n)]
    # The cranks turn alike, the couplers not at all.
    falling = -Rational(3*(3*n + 1), 2*(4*n + 1))*g*cos(q[0])/length
    known = {v.diff(): falling if i <= n else Integer(0)
             for i, v in enumerate(u)}
    upright = [math.pi/2]*(n + 1) + [0.0]*n
    other = [Rational(7, 5)]*(n + 1) + [Integer(0)]*n
    turning = [-1.0]*(n + 1) + [0.0]*n
    return kane_model(
        N, [q[0]], [u[0]], kdes(q, u), q_dependent=q[1:],
        u_dependent=u[1:], **closed(gaps, N, q, u),
        bodies=bodies, forcelist=weights(bodies, -g*N.y),
        parameters={length: 1.0, m: 1.0, g: 9.81},
        start={**dict(zip(q, upright)), **dict(zip(u, turning))},
        # On another branch, with folded windows, other speeds are dependent.
        extra={'sample': dict(zip(q, other))}, t_end=10.0, accelerations=known)
