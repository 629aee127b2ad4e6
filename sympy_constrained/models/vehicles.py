"""Carts, blades and boards."""
from sympy import Integer, cos, pi, sin, symbols
from sympy.physics.mechanics import Point, ReferenceFrame, dot, dynamicsymbols

from ._model import (
    Model, bodies_model, inertial, kane_model, ready, rigid_body, weights)


@ready
def two_wheeled_cart() -> Model:
    """A two-wheeled cart on an incline: more speeds than coordinates.

    Frame A (mass ``mA``, mass centre ``a`` ahead of the axle, inertia
    ``IA``), wheels of mass ``mB``, radius ``R``, at ``b`` either side, with
    axial and transverse inertia ``J``, ``K``; slope ``theta``. Speeds:
    turning rate ``u1``, forward speed ``u2``, wheel rates ``u4``, ``u5``.

    Source: T. R. Kane and D. A. Levinson, Dynamics (1985), exercises 8.12 and
    8.17; SymPy test suite, test_kane2.
    """
    q1, q2, q3 = dynamicsymbols('q1:4')
    u1, u2, u4, u5 = dynamicsymbols('u1 u2 u4 u5')
    R, g, theta, a, b = symbols('R g theta a b')
    mA, mB, IA, J, K = symbols('m_A m_B I_A J K')

    F = ReferenceFrame('F')
    P = F.orientnew('P', 'axis', [-theta, F.y])
    A = P.orientnew('A', 'axis', [q1, P.x])
    A.set_ang_vel(F, u1*A.x)
    D = Point('D')
    D.set_vel(A, 0)
    D.set_vel(F, u2*A.y)
    Ao = D.locatenew('Ao', a*A.y)
    Ao.v2pt_theory(D, F, A)
    bodies = [rigid_body('A', Ao, A, mA, IA, IA/2, IA/2)]
    rows = []
    for name, q, u, side in (('B', q2, u4, b), ('C', q3, u5, -b)):
        wheel = A.orientnew(name, 'axis', [q, A.z])
        wheel.set_ang_vel(A, u*A.z)
        hub = D.locatenew(f'{name}o', side*A.z)
        hub.v2pt_theory(D, F, A)
        touch = hub.locatenew(f'{name}h', -R*A.x)
        touch.v2pt_theory(hub, F, wheel)
        rows.append(dot(touch.vel(F), A.y))
        bodies.append(rigid_body(name, hub, wheel, mB, K, K, J))
    total = IA + 2*J*b**2/R**2 + 2*K + mA*a**2 + 2*mB*b**2
    along = mA + 2*mB + 2*J/R**2
    pull = g*sin(theta)*sin(q1)
    return kane_model(
        F, [q1, q2, q3], [u1, u2],
        [q1.diff() - u1, q2.diff() - u4, q3.diff() - u5], u_dependent=[u4, u5],
        velocity_constraints=rows, bodies=bodies,
        forcelist=weights(bodies, -g*F.x),
        parameters={R: 0.25, g: 9.81, theta: 0.2, a: 0.3, b: 0.4, mA: 40.0,
                    mB: 4.0, IA: 3.0, J: 0.12, K: 0.07},
        start={q1: 0.5, q2: 0.0, q3: 0.0, u1: 0.6, u2: 1.5, u4: 5.04,
               u5: 6.96}, t_end=5.0,
        accelerations={
            u1.diff(): mA*a*(g*sin(theta)*cos(q1) - u1*u2)/total,
            u2.diff(): (mA*a*u1**2 + (mA + 2*mB)*pull)/along})


@ready
def knife_edge() -> Model:
    """A knife edge on an incline, heading across the slope.

    Position ``x`` (down the slope), ``y``, heading ``theta``; speeds are
    their derivatives, ``vx*sin(theta) = vy*cos(theta)``. The dependent speed
    ``vy`` is a bad choice when the blade points along ``y``, as at the start.
    Mass ``m``, moment of inertia ``I``, slope ``alpha``.

    Source: J. I. Neimark and N. A. Fufaev, Dynamics of Nonholonomic Systems
    (1972), skate on an inclined plane.
    """
    x, y, theta, vx, vy, omega = dynamicsymbols('x y theta v_x v_y omega')
    m, i, g, alpha = symbols('m I g alpha')

    (N, origin), B = inertial(), ReferenceFrame('B')
    B.orient_axis(N, theta, N.z)
    B.set_ang_vel(N, omega*N.z)
    center = origin.locatenew('C', x*N.x + y*N.y)
    center.set_vel(N, vx*N.x + vy*N.y)
    skate = rigid_body('skate', center, B, m, 0, 0, i)
    along = vx*cos(theta) + vy*sin(theta)
    pull = g*sin(alpha)*cos(theta)
    return kane_model(
        N, [x, y, theta], [vx, omega],
        [x.diff() - vx, y.diff() - vy, theta.diff() - omega], u_dependent=[vy],
        velocity_constraints=[vx*sin(theta) - vy*cos(theta)], bodies=[skate],
        forcelist=[(center, m*g*sin(alpha)*N.x - m*g*cos(alpha)*N.z)],
        parameters={m: 1.2, i: 0.05, g: 9.81, alpha: 0.2},
        start={x: 0.0, y: 0.0, theta: float(pi/2), vx: 0.0, vy: 0.8,
               omega: 2.0},
        fixed=(x, y, theta, vy, omega), t_end=6.0,
        # Along the blade v' = g sin(alpha) cos(theta), turning is free.
        accelerations={vx.diff(): pull*cos(theta)
                       - omega*along*sin(theta),
                       vy.diff(): pull*sin(theta)
                       + omega*along*cos(theta),
                       omega.diff(): Integer(0)},
        multipliers=(-m*omega*along - m*g*sin(alpha)*sin(theta),))


@ready
def chaplygin_sleigh() -> Model:
    """Chaplygin's sleigh in body-fixed speeds.

    The blade at the point ``P`` forbids sideways motion, the mass centre is
    ``a`` ahead of it. Speeds ``u1`` along and ``u2`` across the blade,
    turning rate ``u3``; the constraint is ``u2 = 0``. Mass ``m``, central
    moment of inertia ``I``.

    Source: S. A. Chaplygin, On the theory of motion of nonholonomic systems
    (1911); acceptance case U-9.
    """
    x, y, theta, u1, u2, u3 = dynamicsymbols('x y theta u1:4')
    m, i, a = symbols('m I a')

    (N, origin), B = inertial(), ReferenceFrame('B')
    B.orient_axis(N, theta, N.z)
    B.set_ang_vel(N, u3*N.z)
    blade = origin.locatenew('P', x*N.x + y*N.y)
    velocity = u1*B.x + u2*B.y
    blade.set_vel(N, velocity)
    center = blade.locatenew('C', a*B.x)
    center.v2pt_theory(blade, N, B)
    body = rigid_body('sleigh', center, B, m, 0, 0, i)
    return kane_model(
        N, [x, y, theta], [u1, u3],
        [x.diff() - velocity.dot(N.x), y.diff() - velocity.dot(N.y),
            theta.diff() - u3],
        u_dependent=[u2], velocity_constraints=[u2], bodies=[body],
        visual={'lines': {'blade': [
            (x + k*a*cos(theta)/2, y + k*a*sin(theta)/2) for k in (-1, 1)]}},
        parameters={m: 1.5, i: 0.1, a: 0.2},
        start={x: 0.0, y: 0.0, theta: 0.0, u1: 0.4, u2: 0.0, u3: 3.0},
        t_end=6.0,
        accelerations={u1.diff(): a*u3**2, u2.diff(): Integer(0),
                       u3.diff(): -m*a*u1*u3/(i + m*a**2)},
        multipliers=(m*i*u1*u3/(i + m*a**2),))


@ready
def snakeboard() -> Model:
    """A snakeboard with coupled wheels, driven by its rider.

    Centre ``x``, ``y`` and heading ``theta`` of the board, angle ``psi`` of
    the rotor relative to it, steering angle ``phi`` of the front wheels at
    ``r`` ahead of the centre; the rear ones, at ``r`` behind it, turn by
    ``-phi``. Masses and moments of inertia ``m``, ``J`` of the board,
    ``m0``, ``J0`` of the rotor, ``m1``, ``J1`` of each wheel pair. The rider
    turns the rotor with the torque ``tau(t)`` and the wheel pairs with
    ``sigma(t)`` and ``-sigma(t)``, all against the board.

    Source: A. Lewis, J. Ostrowski, R. Murray and J. Burdick, IEEE ICRA (1994)
    2391-2397; A. M. Bloch, P. S. Krishnaprasad, J. E. Marsden and R. M.
    Murray, Arch. Rational Mech. Anal. 136 (1996) 21-99.
    """
    t = dynamicsymbols._t
    x, y, theta, psi, phi = q = dynamicsymbols('x y theta psi phi')
    tau, sigma = dynamicsymbols('tau sigma')
    m, m0, m1, r, j, j0, j1 = symbols('m m0 m1 r J J0 J1')
    vx, vy, turn, spin, steer = [qi.diff() for qi in q]

    N, origin = inertial()
    B = N.orientnew('B', 'Axis', [theta, N.z])
    rotor_frame, F, A = (
        B.orientnew(name, 'Axis', [angle, N.z])
        for name, angle in (('R', psi), ('F', phi), ('A', -phi)))
    center = origin.locatenew('C', x*N.x + y*N.y)
    center.set_vel(N, vx*N.x + vy*N.y)
    bodies = [rigid_body('board', center, B, m, 0, 0, j),
              rigid_body('rotor', center, rotor_frame, m0, 0, 0, j0)]
    rows = []
    for name, place, frame in (('front', r, F), ('rear', -r, A)):
        hub = center.locatenew(name, place*B.x)
        hub.v2pt_theory(center, N, B)
        bodies.append(rigid_body(name, hub, frame, m1, 0, 0, j1))
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
    return bodies_model(
        N, bodies, q,
        forcelist=[(rotor_frame, tau*N.z), (F, sigma*N.z),
                   (A, -sigma*N.z), (B, -tau*N.z)],
        nonhol_coneqs=rows,
        parameters=numbers,
        start=(0.0, 0.0, 0.0, 0.0, 0.0,
               0.3, 0.0, 0.0, rate*swing, rate*lock),
        fixed=(*q, vx, spin, steer), t_end=6.0,
        inputs={tau: -swing*rate**2*numbers[j0]*sin(rate*t),
                sigma: -lock*rate**2*numbers[j1]*sin(rate*t)},
        accelerations={
            turn.diff(): sin(phi)*s_rate + bend,
            spin.diff(): spin_rate, steer.diff(): sigma/j1})
