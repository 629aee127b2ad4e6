"""Discs, wheels and blades: bodies that touch the ground."""
from __future__ import annotations

from sympy import Integer, Matrix, cos, pi, sin, symbols, tan
from sympy.physics.mechanics import (
    Force, Lagrangian, Point, ReferenceFrame, RigidBody, System, cross, dot,
    dynamicsymbols, inertia)

from ._model import Model, from_system

_DISC = 'SymPy documentation, tutorial "A rolling disc"'


def rolling_disc() -> Model:
    """A thin disc rolling without slip on a horizontal plane.

    Radius ``r``, mass ``m``. Coordinates: yaw ``q1``, lean ``q2``, spin
    ``q3`` and the contact point ``q4``, ``q5``; speeds: the angular velocity
    in the leaning frame and the velocity of the contact point.
    """
    q1, q2, q3, q4, q5 = q = dynamicsymbols('q1:6')
    u1, u2, u3, u4, u5 = u = dynamicsymbols('u1:6')
    r, m, g = symbols('r m g')
    t = dynamicsymbols._t

    system = System()
    N, origin = system.frame, system.fixed_point
    origin.set_vel(N, 0)
    yaw, lean, spin = (ReferenceFrame(name) for name in ('Y', 'L', 'D'))
    yaw.orient_axis(N, q1, N.z)
    lean.orient_axis(yaw, q2, yaw.x)
    spin.orient_axis(lean, q3, lean.y)
    omega = spin.ang_vel_in(N)
    spin.set_ang_vel(N, u1*lean.x + u2*lean.y + u3*lean.z)

    contact = origin.locatenew('P', q4*N.x + q5*N.y)
    center = contact.locatenew('C', r*lean.z)
    center.set_vel(N, u4*N.x + u5*N.y
                   + cross(lean.ang_vel_in(N), r*lean.z))
    disc = RigidBody('disc', center, spin, m,
                     (m*r**2/4*inertia(lean, 1, 2, 1), center))
    slip = center.vel(N) + cross(spin.ang_vel_in(N), -r*lean.z)

    system.add_bodies(disc)
    system.q_ind = q
    system.u_ind, system.u_dep = u[:3], u[3:]
    system.kdes = ([dot(omega - spin.ang_vel_in(N), axis) for axis in lean]
                   + [q4.diff(t) - u4, q5.diff(t) - u5])
    system.add_nonholonomic_constraints(slip.dot(N.x), slip.dot(N.y))
    system.add_loads(Force(center, -m*g*N.z))
    return from_system(
        system, name='rolling_disc',
        title='A thin disc rolling on a horizontal plane',
        reference=_DISC,
        parameters={r: 0.3, m: 2.0, g: 9.81},
        start={q1: 0.0, q2: 0.2, q3: 0.0, q4: 0.0, q5: 0.0,
               u1: 0.1, u2: 6.0, u3: 0.4, u4: 1.776, u5: 0.0},
        fixed=(*q, u1, u2, u3), t_end=5.0,
        accelerations={
            u1.diff(t): (6*u2*u3 - u3**2*tan(q2) + 4*g*sin(q2)/r)/5,
            u2.diff(t): -2*u1*u3/3,
            u3.diff(t): (u3*tan(q2) - 2*u2)*u1})


def rolling_disc_minimal() -> Model:
    """The rolling disc of SymPy's tutorial, without any constraint.

    The velocity of the centre is that of rolling, put in by hand; three
    coordinates and three speeds remain.
    """
    q1, q2, q3, u1, u2, u3 = dynamicsymbols('q1:4 u1:4')
    r, m, g = symbols('r m g')
    t = dynamicsymbols._t

    N = ReferenceFrame('N')
    Y = N.orientnew('Y', 'Axis', [q1, N.z])
    L = Y.orientnew('L', 'Axis', [q2, Y.x])
    R = L.orientnew('R', 'Axis', [q3, L.y])
    omega = R.ang_vel_in(N)
    R.set_ang_vel(N, u1*L.x + u2*L.y + u3*L.z)
    contact = Point('C')
    contact.set_vel(N, 0)
    center = contact.locatenew('Dmc', r*L.z)
    center.v2pt_theory(contact, N, R)
    disc = RigidBody('disc', center, R, m,
                     (inertia(L, m/4*r**2, m/2*r**2, m/4*r**2), center))
    return Model(
        name='rolling_disc_minimal',
        title='The rolling disc with rolling put in by hand, in three speeds',
        reference=_DISC + ', "using Kane\'s Method"',
        shape='kane',
        arguments={
            'frame': N, 'q_ind': [q1, q2, q3], 'u_ind': [u1, u2, u3],
            'kd_eqs': [dot(R.ang_vel_in(N) - omega, axis) for axis in L],
            'bodies': [disc], 'forcelist': [(center, -m*g*Y.z)]},
        parameters={r: 0.3, m: 2.0, g: 9.81},
        start={q1: 0.0, q2: 0.2, q3: 0.0, u1: 0.1, u2: 6.0, u3: 0.4},
        fixed=(q1, q2, q3, u1, u2, u3), t_end=5.0,
        accelerations={
            u1.diff(t): (6*u2*u3*r - u3**2*r*tan(q2) + 4*g*sin(q2))/(5*r),
            u2.diff(t): -2*u1*u3/3,
            u3.diff(t): u1*(-2*u2 + u3*tan(q2))})


def rolling_disc_contact() -> Model:
    """The disc whose contact path has dependent speeds but no inertia.

    Rolling is put into the velocity of the centre, so that ``u4`` and ``u5``
    carry no kinetic energy: ``M`` is singular and only the constraints
    determine their rates. Speeds are measured in the axes of the disc.
    """
    q1, q2, q3, q4, q5 = q = dynamicsymbols('q1:6')
    u1, u2, u3, u4, u5 = u = dynamicsymbols('u1:6')
    g, r, m = symbols('g r m')
    t = dynamicsymbols._t

    ground, disc = RigidBody('ground'), RigidBody('disc', mass=m)
    disc.inertia = (m*r**2/4*inertia(disc.frame, 1, 2, 1), disc.masscenter)
    ground.masscenter.set_vel(ground.frame, 0)
    disc.masscenter.set_vel(disc.frame, 0)
    lean = ReferenceFrame('lean')
    lean.orient_body_fixed(ground.frame, (q1, q2, 0), 'zxy')
    disc.frame.orient_axis(lean, lean.y, q3)
    omega = disc.frame.ang_vel_in(ground.frame)
    disc.frame.set_ang_vel(ground.frame, u1*disc.x + u2*disc.y + u3*disc.z)
    contact = ground.masscenter.locatenew(
        'contact', q4*ground.x + q5*ground.y)
    contact.set_vel(ground.frame, u4*ground.x + u5*ground.y)
    disc.masscenter.set_pos(contact, r*lean.z)
    disc.masscenter.set_vel(ground.frame, cross(
        disc.frame.ang_vel_in(ground.frame),
        disc.masscenter.pos_from(contact)))
    slip = contact.vel(ground.frame) + cross(
        disc.frame.ang_vel_in(lean), contact.pos_from(disc.masscenter))
    return Model(
        name='rolling_disc_contact',
        title='A rolling disc with a contact path that carries no inertia',
        reference='SymPy test suite, test_kane5',
        shape='kane',
        arguments={
            'frame': ground.frame, 'q_ind': list(q), 'u_ind': [u1, u2, u3],
            'kd_eqs': ([omega.dot(axis) - ui for axis, ui in zip(
                (disc.x, disc.y, disc.z), u[:3])]
                + [q4.diff(t) - u4, q5.diff(t) - u5]),
            'u_dependent': [u4, u5],
            'velocity_constraints': [slip.dot(ground.x), slip.dot(ground.y)],
            'bodies': [disc],
            'forcelist': [(disc.masscenter, -m*g*ground.z)]},
        parameters={g: 9.81, r: 0.26, m: 3.43},
        start={q1: 0.3, q2: 0.1, q3: 1.97, q4: -0.35, q5: 2.27,
               u1: -0.2, u2: 1.3, u3: 0.15, u4: 0.32, u5: 0.099},
        fixed=(*q, u1, u2, u3), t_end=2.0)


def rolling_disc_dependent() -> Model:
    """A rolling disc with three dependent speeds of its centre.

    Coordinates: yaw, lean, spin and ``q4``, the height of the centre (downward
    positive), which the holonomic row ties to the lean. Six speeds: angular
    velocity and velocity of the centre.
    """
    q1, q2, q3, q4 = dynamicsymbols('q1:5')
    u1, u2, u3, u4, u5, u6 = dynamicsymbols('u1:7')
    r, m, g, i, j = symbols('r m g I J')
    t = dynamicsymbols._t

    N = ReferenceFrame('N')
    A = N.orientnew('A', 'Axis', [q1, N.z])
    B = A.orientnew('B', 'Axis', [q2, A.x])
    C = B.orientnew('C', 'Axis', [q3, B.y])
    C.set_ang_vel(N, u1*B.x + u2*B.y + u3*B.z)
    C.set_ang_acc(N, C.ang_vel_in(N).diff(t, B)
                  + cross(B.ang_vel_in(N), C.ang_vel_in(N)))
    contact = Point('P')
    contact.set_vel(N, 0)
    center = contact.locatenew('O', q4*A.z + r*sin(q2)*A.y)
    center.set_vel(N, u4*A.x + u5*A.y + u6*A.z)
    center.set_acc(N, center.vel(N).diff(t, A)
                   + cross(A.ang_vel_in(N), center.vel(N)))
    omega = q1.diff(t)*A.z + q2.diff(t)*B.x + q3.diff(t)*B.y
    rise = (center.pos_from(contact).diff(t, A)
            + cross(A.ang_vel_in(N), center.pos_from(contact)))
    rolling = center.vel(N) - cross(C.ang_vel_in(N),
                                    center.pos_from(contact))
    disc = RigidBody('disc', center, C, m, (inertia(B, i, j, i), center))
    return Model(
        name='rolling_disc_dependent',
        title='A rolling disc with the velocity of its centre as dependent '
              'speeds',
        reference='SymPy test suite, test_kane2, test_aux_dep without its '
                  'auxiliary speeds',
        shape='kane',
        arguments={
            'frame': N, 'q_ind': [q1, q2, q3], 'u_ind': [u1, u2, u3],
            'kd_eqs': Matrix([dot(omega - C.ang_vel_in(N), axis)
                              for axis in B]
                             + [dot(rise - center.vel(N), A.z)]),
            'q_dependent': [q4],
            'configuration_constraints': Matrix([dot(-r*B.z, A.z) - q4]),
            'u_dependent': [u4, u5, u6],
            'velocity_constraints': Matrix([dot(rolling, axis)
                                            for axis in A]),
            'bodies': [disc], 'forcelist': [(center, m*g*A.z)]},
        parameters={r: 0.3, m: 2.0, g: 9.81, i: 0.045, j: 0.09},
        start={q1: 0.0, q2: 0.2, q3: 0.0, q4: -0.29,
               u1: 0.1, u2: 6.0, u3: 0.4, u4: -1.8, u5: 0.029, u6: 0.006},
        fixed=(q1, q2, q3, u1, u2, u3), t_end=5.0)


def rolling_disc_lagrange() -> Model:
    """The rolling disc in Lagrange's shape, with two rolling rows.

    Coordinates as in :func:`rolling_disc`; the speeds are their derivatives.
    """
    q1, q2, q3, q4, q5 = q = dynamicsymbols('q1:6')
    r, m, g = symbols('r m g')
    t = dynamicsymbols._t

    N = ReferenceFrame('N')
    Y = N.orientnew('Y', 'Axis', [q1, N.z])
    L = Y.orientnew('L', 'Axis', [q2, Y.x])
    R = L.orientnew('R', 'Axis', [q3, L.y])
    origin = Point('O')
    origin.set_vel(N, 0)
    center = origin.locatenew('C', q4*N.x + q5*N.y + r*L.z)
    center.set_vel(N, center.pos_from(origin).dt(N))
    disc = RigidBody('disc', center, R, m,
                     (inertia(L, m/4*r**2, m/2*r**2, m/4*r**2), center))
    disc.potential_energy = m*g*r*cos(q2)
    slip = center.vel(N) + cross(R.ang_vel_in(N), -r*L.z)
    speeds = [qi.diff(t) for qi in q]
    return Model(
        name='rolling_disc_lagrange',
        title='The rolling disc from a Lagrangian with nonholonomic rows',
        reference=_DISC + ', "using Lagrange\'s Method", with its rolling '
                          'constraints',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, disc), 'qs': list(q),
                   'bodies': [disc], 'frame': N,
                   'nonhol_coneqs': [slip.dot(Y.x), slip.dot(Y.y)]},
        parameters={r: 0.3, m: 2.0, g: 9.81},
        start=dict(zip((*q, *speeds),
                       (0.0, 0.2, 0.0, 0.0, 0.0, 0.4, 0.1, 6.0, 1.8, 0.0))),
        fixed=(*q, *speeds[:3]), t_end=5.0)


def disc_on_incline() -> Model:
    """A disc rolling straight down an incline.

    Mass ``m``, radius ``R``, slope ``alpha`` of length ``l``; the distance
    ``y`` and the angle ``theta`` are tied by one holonomic row.
    """
    y, theta = dynamicsymbols('y theta')
    m, g, R, length, alpha = symbols('m g R l alpha')
    t = dynamicsymbols._t

    N = ReferenceFrame('N')
    A = N.orientnew('A', 'Axis', [pi/2 - alpha, N.z])
    B = A.orientnew('B', 'Axis', [-theta, A.z])
    center = Point('Do')
    center.set_vel(N, y.diff(t)*A.x)
    disc = RigidBody('D', center, B, m,
                     (inertia(B, 0, 0, m*R**2/2), center))
    disc.potential_energy = m*g*(length - y)*sin(alpha)
    known = 2*g*sin(alpha)/3
    return Model(
        name='disc_on_incline',
        title='A disc rolling down an inclined plane',
        reference='SymPy test suite, test_lagrange, '
                  'test_disc_on_an_incline_plane',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, disc), 'qs': [y, theta],
                   'hol_coneqs': [y - R*theta]},
        parameters={m: 1.5, g: 9.81, R: 0.2, length: 10.0, alpha: 0.3},
        start={y: 0.0, theta: 0.0, y.diff(t): 0.0, theta.diff(t): 0.0},
        fixed=(y, y.diff(t)), t_end=2.0,
        accelerations={y.diff(t, 2): known, theta.diff(t, 2): known/R},
        multipliers=(-m*g*sin(alpha)/3,))


def two_wheeled_cart() -> Model:
    """An axle with two wheels rolling on an incline, after Kane.

    Frame A (mass ``mA``, mass centre ``a`` ahead of the axle, inertia ``IA``),
    wheels of mass ``mB``, radius ``R``, at ``b`` either side, with axial and
    transverse inertia ``J``, ``K``; slope ``theta``. Speeds: turning rate
    ``u1``, forward speed ``u2``, wheel rates ``u4``, ``u5``: one more than
    coordinates.
    """
    q1, q2, q3 = dynamicsymbols('q1:4')
    u1, u2, u4, u5 = dynamicsymbols('u1 u2 u4 u5')
    R, g, theta, a, b = symbols('R g theta a b')
    mA, mB, IA, J, K = symbols('m_A m_B I_A J K')
    t = dynamicsymbols._t

    F = ReferenceFrame('F')
    P = F.orientnew('P', 'axis', [-theta, F.y])
    A = P.orientnew('A', 'axis', [q1, P.x])
    A.set_ang_vel(F, u1*A.x)
    wheels = []
    for name, q, u in (('B', q2, u4), ('C', q3, u5)):
        frame = A.orientnew(name, 'axis', [q, A.z])
        frame.set_ang_vel(A, u*A.z)
        wheels.append(frame)
    D = Point('D')
    D.set_vel(A, 0)
    D.set_vel(F, u2*A.y)
    Ao = D.locatenew('Ao', a*A.y)
    Ao.v2pt_theory(D, F, A)
    bodies = [RigidBody('A', Ao, A, mA, (inertia(A, IA, IA/2, IA/2), Ao))]
    rows = []
    for frame, side in zip(wheels, (b, -b)):
        hub = D.locatenew(f'{frame.name}o', side*A.z)
        hub.v2pt_theory(D, F, A)
        touch = hub.locatenew(f'{frame.name}h', -R*A.x)
        touch.v2pt_theory(hub, F, frame)
        rows.append(dot(touch.vel(F), A.y))
        bodies.append(RigidBody(frame.name, hub, frame, mB,
                                (inertia(frame, K, K, J), hub)))
    total = IA + 2*J*b**2/R**2 + 2*K + mA*a**2 + 2*mB*b**2
    along = mA + 2*mB + 2*J/R**2
    pull = g*sin(theta)*sin(q1)
    return Model(
        name='two_wheeled_cart',
        title='A two-wheeled cart on an incline: more speeds than coordinates',
        reference='T. R. Kane and D. A. Levinson, Dynamics (1985), exercises '
                  '8.12 and 8.17; SymPy test suite, test_kane2',
        shape='kane',
        arguments={
            'frame': F, 'q_ind': [q1, q2, q3], 'u_ind': [u1, u2],
            'kd_eqs': [q1.diff(t) - u1, q2.diff(t) - u4, q3.diff(t) - u5],
            'u_dependent': [u4, u5], 'velocity_constraints': rows,
            'bodies': bodies,
            'forcelist': [(body.masscenter, -body.mass*g*F.x)
                          for body in bodies]},
        parameters={R: 0.25, g: 9.81, theta: 0.2, a: 0.3, b: 0.4, mA: 40.0,
                    mB: 4.0, IA: 3.0, J: 0.12, K: 0.07},
        start={q1: 0.5, q2: 0.0, q3: 0.0, u1: 0.6, u2: 1.5, u4: 5.04,
               u5: 6.96},
        fixed=(q1, q2, q3, u1, u2), t_end=5.0,
        accelerations={
            u1.diff(t): mA*a*(g*sin(theta)*cos(q1) - u1*u2)/total,
            u2.diff(t): (mA*a*u1**2 + (mA + 2*mB)*pull)/along})


def knife_edge() -> Model:
    """A skate on an inclined plane, its heading at a right angle.

    Position ``x`` (down the slope), ``y``, heading ``theta``; speeds are their
    derivatives and ``vy`` is the dependent one, which it cannot be when the
    blade points along ``y``: ``vx*sin(theta) = vy*cos(theta)``. Mass ``m``,
    moment of inertia ``I``, slope ``alpha``.
    """
    x, y, theta, vx, vy, omega = dynamicsymbols('x y theta v_x v_y omega')
    m, i, g, alpha = symbols('m I g alpha')
    t = dynamicsymbols._t

    N, B = ReferenceFrame('N'), ReferenceFrame('B')
    B.orient_axis(N, theta, N.z)
    B.set_ang_vel(N, omega*N.z)
    origin = Point('O')
    origin.set_vel(N, 0)
    center = origin.locatenew('C', x*N.x + y*N.y)
    center.set_vel(N, vx*N.x + vy*N.y)
    skate = RigidBody('skate', center, B, m, (inertia(B, 0, 0, i), center))
    along = vx*cos(theta) + vy*sin(theta)
    pull = g*sin(alpha)*cos(theta)
    return Model(
        name='knife_edge',
        title='A knife edge on an incline, heading across the slope',
        reference='J. I. Neimark and N. A. Fufaev, Dynamics of Nonholonomic '
                  'Systems (1972), skate on an inclined plane',
        shape='kane',
        arguments={
            'frame': N, 'q_ind': [x, y, theta], 'u_ind': [vx, omega],
            'u_dependent': [vy],
            'kd_eqs': [x.diff(t) - vx, y.diff(t) - vy,
                       theta.diff(t) - omega],
            'velocity_constraints': [vx*sin(theta) - vy*cos(theta)],
            'bodies': [skate],
            'forcelist': [(center, m*g*sin(alpha)*N.x - m*g*cos(alpha)*N.z)]},
        parameters={m: 1.2, i: 0.05, g: 9.81, alpha: 0.2},
        start={x: 0.0, y: 0.0, theta: float(pi/2), vx: 0.0, vy: 0.8,
               omega: 2.0},
        fixed=(x, y, theta, vy, omega), t_end=6.0,
        # Along the blade v' = g sin(alpha) cos(theta), turning is free.
        accelerations={vx.diff(t): pull*cos(theta)
                       - omega*along*sin(theta),
                       vy.diff(t): pull*sin(theta)
                       + omega*along*cos(theta),
                       omega.diff(t): Integer(0)},
        multipliers=(-m*omega*along - m*g*sin(alpha)*sin(theta),),
        upstream_refuses='KanesMethod divides by cos(theta), the coefficient '
                         'of the dependent speed, and returns nan at exactly '
                         'theta = pi/2.')


def chaplygin_sleigh() -> Model:
    """Chaplygin's sleigh in body speeds (U-9).

    The blade at the point ``P`` forbids sideways motion, the mass centre is
    ``a`` ahead of it. Speeds ``u1`` along and ``u2`` across the blade, turning
    rate ``u3``; the constraint is ``u2 = 0``. Mass ``m``, central moment of
    inertia ``I``.
    """
    x, y, theta, u1, u2, u3 = dynamicsymbols('x y theta u1:4')
    m, i, a = symbols('m I a')
    t = dynamicsymbols._t

    N, B = ReferenceFrame('N'), ReferenceFrame('B')
    B.orient_axis(N, theta, N.z)
    B.set_ang_vel(N, u3*N.z)
    origin, blade = Point('O'), Point('P')
    origin.set_vel(N, 0)
    blade.set_pos(origin, x*N.x + y*N.y)
    velocity = u1*B.x + u2*B.y
    blade.set_vel(N, velocity)
    center = blade.locatenew('C', a*B.x)
    center.v2pt_theory(blade, N, B)
    body = RigidBody('sleigh', center, B, m, (inertia(B, 0, 0, i), center))
    return Model(
        name='chaplygin_sleigh',
        title='Chaplygin\'s sleigh in body-fixed speeds',
        reference='S. A. Chaplygin, On the theory of motion of nonholonomic '
                  'systems (1911); acceptance case U-9',
        shape='kane',
        arguments={
            'frame': N, 'q_ind': [x, y, theta], 'u_ind': [u1, u3],
            'u_dependent': [u2],
            'kd_eqs': [x.diff(t) - velocity.dot(N.x),
                       y.diff(t) - velocity.dot(N.y), theta.diff(t) - u3],
            'velocity_constraints': [u2], 'bodies': [body]},
        parameters={m: 1.5, i: 0.1, a: 0.2},
        start={x: 0.0, y: 0.0, theta: 0.0, u1: 0.4, u2: 0.0, u3: 3.0},
        fixed=(x, y, theta, u1, u3), t_end=6.0,
        accelerations={u1.diff(t): a*u3**2, u2.diff(t): Integer(0),
                       u3.diff(t): -m*a*u1*u3/(i + m*a**2)},
        multipliers=(m*i*u1*u3/(i + m*a**2),))


def upright_disc() -> Model:
    """A disc that rolls without slip and stays upright.

    Contact point ``x``, ``y``, roll ``theta``, heading ``phi``. Mass ``m``,
    radius ``R``, moments of inertia ``I`` about the axle and ``J`` about a
    diameter. The rows are ``x' = R*cos(phi)*theta'`` and
    ``y' = R*sin(phi)*theta'``.
    """
    x, y, theta, phi = q = dynamicsymbols('x y theta phi')
    m, R, i, j = symbols('m R I J')
    t = dynamicsymbols._t
    vx, vy, roll, turn = speeds = [qi.diff(t) for qi in q]

    N, H, D = (ReferenceFrame(name) for name in 'NHD')
    H.orient_axis(N, phi, N.z)
    D.orient_axis(H, theta, H.y)
    origin = Point('O')
    origin.set_vel(N, 0)
    center = origin.locatenew('C', x*N.x + y*N.y + R*N.z)
    center.set_vel(N, vx*N.x + vy*N.y)
    disc = RigidBody('disc', center, D, m, (inertia(H, j, i, j), center))
    return Model(
        name='upright_disc',
        title='A disc that rolls upright on a horizontal plane',
        reference='A. M. Bloch, Nonholonomic Mechanics and Control (2003), '
                  'the vertical rolling disk; acceptance case H1',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, disc), 'qs': list(q),
                   'bodies': [disc], 'frame': N,
                   'nonhol_coneqs': [vx - R*cos(phi)*roll,
                                     vy - R*sin(phi)*roll]},
        parameters={m: 2.0, R: 0.3, i: 0.09, j: 0.045},
        start=dict(zip((*q, *speeds),
                       (0.0, 0.0, 0.0, 0.3, 1.433, 0.443, 5.0, 1.2))),
        fixed=(*q, roll, turn), t_end=6.0,
        accelerations={vx.diff(t): -R*sin(phi)*roll*turn,
                       vy.diff(t): R*cos(phi)*roll*turn,
                       roll.diff(t): Integer(0), turn.diff(t): Integer(0)},
        multipliers=(-m*R*sin(phi)*roll*turn, m*R*cos(phi)*roll*turn))


def snakeboard() -> Model:
    """A snakeboard: two wheel pairs that steer oppositely, and a rotor.

    Centre ``x``, ``y`` and heading ``theta`` of the board, angle ``psi`` of
    the rotor relative to it, steering angle ``phi`` of the front wheels at
    ``r`` ahead of the centre; the rear ones, at ``r`` behind it, stand at
    ``-phi``. Masses ``m`` and moments of inertia ``J`` of the board, ``m0``
    and ``J0`` of the rotor, ``m1`` and ``J1`` of each wheel pair. The rider
    turns the rotor with the torque ``tau(t)`` and the wheel pairs with
    ``sigma(t)`` and ``-sigma(t)``, all against the board.
    """
    x, y, theta, psi, phi = q = dynamicsymbols('x y theta psi phi')
    tau, sigma = dynamicsymbols('tau sigma')
    m, m0, m1, r, j, j0, j1 = symbols('m m0 m1 r J J0 J1')
    t = dynamicsymbols._t
    vx, vy, turn, spin, steer = speeds = [qi.diff(t) for qi in q]

    N = ReferenceFrame('N')
    B, rotor_frame, F, A = (ReferenceFrame(name) for name in 'BRFA')
    B.orient_axis(N, theta, N.z)
    rotor_frame.orient_axis(B, psi, N.z)
    F.orient_axis(B, phi, N.z)
    A.orient_axis(B, -phi, N.z)
    origin = Point('O')
    origin.set_vel(N, 0)
    center = origin.locatenew('C', x*N.x + y*N.y)
    center.set_vel(N, vx*N.x + vy*N.y)
    bodies = [RigidBody(name, center, frame, mass,
                        (inertia(frame, 0, 0, moment), center))
              for name, frame, mass, moment in (
                  ('board', B, m, j), ('rotor', rotor_frame, m0, j0))]
    rows = []
    for name, place, frame in (('front', r, F), ('rear', -r, A)):
        hub = center.locatenew(name, place*B.x)
        hub.v2pt_theory(center, N, B)
        bodies.append(RigidBody(name, hub, frame, m1,
                                (inertia(frame, 0, 0, j1), hub)))
        rows.append(hub.vel(N).dot(frame.y))

    # Along the heading the board moves with r*cos(phi)*s, and it turns with
    # sin(phi)*s, whatever the steering.
    s = (cos(phi)*(vx*cos(theta) + vy*sin(theta))/r + sin(phi)*turn)
    along = (m + m0 + 2*m1)*r**2
    around = j + j0 + 2*j1 + 2*m1*r**2
    square = along*cos(phi)**2 + around*sin(phi)**2
    bend = cos(phi)*steer*s
    pull = (around - along)*sin(phi)*bend
    spin_rate = ((tau/j0 - bend)*square + sin(phi)*pull) / (
        square - j0*sin(phi)**2)
    s_rate = -(j0*sin(phi)*spin_rate + pull)/square
    # A gait: the rotor swings, the wheels steer at the same rate.
    rate, swing, lock = 3.0, 0.8, 0.4
    numbers = {m: 3.0, m0: 2.0, m1: 0.5, r: 0.2, j: 0.02, j0: 0.07,
               j1: 0.0015}
    return Model(
        name='snakeboard',
        title='A snakeboard with coupled wheels, driven by its rider',
        reference='A. Lewis, J. Ostrowski, R. Murray and J. Burdick, '
                  'Nonholonomic mechanics and locomotion: the snakeboard '
                  'example, IEEE ICRA (1994) 2391-2397; A. M. Bloch, P. S. '
                  'Krishnaprasad, J. E. Marsden and R. M. Murray, Arch. '
                  'Rational Mech. Anal. 136 (1996) 21-99',
        shape='lagrange',
        arguments={'Lagrangian': Lagrangian(N, *bodies), 'qs': list(q),
                   'bodies': bodies, 'frame': N,
                   'forcelist': [(rotor_frame, tau*N.z), (F, sigma*N.z),
                                 (A, -sigma*N.z), (B, -tau*N.z)],
                   'nonhol_coneqs': rows},
        parameters=numbers,
        start=dict(zip((*q, *speeds),
                       (0.0, 0.0, 0.0, 0.0, 0.0,
                        0.3, 0.0, 0.0, rate*swing, rate*lock))),
        fixed=(*q, vx, spin, steer), t_end=6.0,
        inputs={tau: -swing*rate**2*numbers[j0]*sin(rate*t),
                sigma: -lock*rate**2*numbers[j1]*sin(rate*t)},
        accelerations={
            turn.diff(t): sin(phi)*s_rate + bend,
            spin.diff(t): spin_rate, steer.diff(t): sigma/j1})
