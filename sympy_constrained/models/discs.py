"""Discs that roll."""
from sympy import Integer, cos, sin, symbols, tan
from sympy.physics.mechanics import (
    Force, Point, ReferenceFrame, RigidBody, System, cross,
    dynamicsymbols, inertia)

from ..contact import CircularRim, PlaneSurface
from ._model import (
    Model, bodies_model, friction, inertial, kane_model, ready, rigid_body,
    spun, system_model)


def _rolled(N, names, yaw, lean, spin):
    A = N.orientnew(names[0], 'Axis', [yaw, N.z])
    B = A.orientnew(names[1], 'Axis', [lean, A.x])
    return A, B, B.orientnew(names[2], 'Axis', [spin, B.y])


def _wheel(frame, center, radius, ground=None, origin=None):
    rim = [CircularRim(frame, center, radius, frame.y)]
    return rim if ground is None else [
        *rim, PlaneSurface(ground, origin, ground.z)]


def _rolling(lean, u1, u2, u3, r, g):
    """Rates of the angular velocity in the leaning frame."""
    return {u1.diff(): (6*u2*u3 - u3**2*tan(lean) + 4*g*sin(lean)/r)/5,
            u2.diff(): -2*u1*u3/3,
            u3.diff(): (u3*tan(lean) - 2*u2)*u1}


@ready
def rolling_disc() -> Model:
    """A thin disc rolling on a horizontal plane.

    Radius ``r``, mass ``m``. Coordinates: yaw ``q1``, lean ``q2``, spin
    ``q3`` and the contact point ``q4``, ``q5``; speeds: the angular velocity
    in the leaning frame and the velocity of the contact point.

    Source: SymPy documentation, tutorial "A rolling disc".
    """
    q1, q2, q3, q4, q5 = q = dynamicsymbols('q1:6')
    u1, u2, u3, u4, u5 = u = dynamicsymbols('u1:6')
    r, m, g = symbols('r m g')

    system = System()
    N, origin = system.frame, system.fixed_point
    origin.set_vel(N, 0)
    _, lean, spin = _rolled(N, 'YLD', q1, q2, q3)
    turning = spun(spin, N, lean, u[:3])
    contact = origin.locatenew('P', q4*N.x + q5*N.y)
    center = contact.locatenew('C', r*lean.z)
    center.set_vel(N, u4*N.x + u5*N.y
                   + cross(lean.ang_vel_in(N), r*lean.z))
    disc = rigid_body('disc', center, spin, m, m*r**2/4, m*r**2/2, m*r**2/4,
                      axes=lean)
    slip = center.vel(N) + cross(spin.ang_vel_in(N), -r*lean.z)

    system.add_bodies(disc)
    system.q_ind = q
    system.u_ind, system.u_dep = u[:3], u[3:]
    system.kdes = [*turning, q4.diff() - u4, q5.diff() - u5]
    system.add_nonholonomic_constraints(slip.dot(N.x), slip.dot(N.y))
    system.add_loads(Force(center, -m*g*N.z))
    return system_model(
        system,
        visual={'surfaces': _wheel(spin, center, r, N, origin),
                'forces': {'friction': (contact, friction(N))}},
        parameters={r: 0.3, m: 2.0, g: 9.81},
        start={q1: 0.0, q2: 0.2, q3: 0.0, q4: 0.0, q5: 0.0,
               u1: 0.1, u2: 6.0, u3: 0.4, u4: 1.776, u5: 0.0}, t_end=5.0,
        accelerations=_rolling(q2, u1, u2, u3, r, g))


@ready
def rolling_disc_minimal() -> Model:
    """The rolling disc with rolling put in by hand, in three speeds.

    The velocity of the centre is that of rolling; no constraint remains.

    Source: SymPy documentation, tutorial "A rolling disc", "using Kane's
    Method".
    """
    q1, q2, q3, u1, u2, u3 = dynamicsymbols('q1:4 u1:4')
    r, m, g = symbols('r m g')

    N = ReferenceFrame('N')
    Y, L, R = _rolled(N, 'YLR', q1, q2, q3)
    kinematics = spun(R, N, L, (u1, u2, u3))
    contact = Point('C')
    contact.set_vel(N, 0)
    center = contact.locatenew('Dmc', r*L.z)
    center.v2pt_theory(contact, N, R)
    disc = rigid_body('disc', center, R, m, m/4*r**2, m/2*r**2, m/4*r**2,
                      axes=L)
    return kane_model(
        N, [q1, q2, q3], [u1, u2, u3], kinematics, bodies=[disc],
        forcelist=[(center, -m*g*Y.z)],
        visual={'surfaces': _wheel(R, center, r)},
        parameters={r: 0.3, m: 2.0, g: 9.81},
        start={q1: 0.0, q2: 0.2, q3: 0.0, u1: 0.1, u2: 6.0, u3: 0.4},
        t_end=5.0, accelerations=_rolling(q2, u1, u2, u3, r, g))


@ready
def rolling_disc_contact() -> Model:
    """A rolling disc with a contact path that carries no inertia.

    Rolling is put into the velocity of the centre, so that ``u4`` and ``u5``
    carry no kinetic energy: ``M`` is singular and only the constraints
    determine their rates. Speeds are measured in the axes of the disc.

    Source: SymPy test suite, test_kane5.
    """
    q1, q2, q3, q4, q5 = q = dynamicsymbols('q1:6')
    u1, u2, u3, u4, u5 = dynamicsymbols('u1:6')
    g, r, m = symbols('g r m')

    ground, disc = RigidBody('ground'), RigidBody('disc', mass=m)
    disc.inertia = (m*r**2/4*inertia(disc.frame, 1, 2, 1), disc.masscenter)
    ground.masscenter.set_vel(ground.frame, 0)
    disc.masscenter.set_vel(disc.frame, 0)
    lean = ReferenceFrame('lean')
    lean.orient_body_fixed(ground.frame, (q1, q2, 0), 'zxy')
    disc.frame.orient_axis(lean, lean.y, q3)
    turning = spun(disc.frame, ground.frame, disc.frame, (u1, u2, u3))
    contact = ground.masscenter.locatenew(
        'contact', q4*ground.x + q5*ground.y)
    contact.set_vel(ground.frame, u4*ground.x + u5*ground.y)
    disc.masscenter.set_pos(contact, r*lean.z)
    disc.masscenter.set_vel(ground.frame, cross(
        disc.frame.ang_vel_in(ground.frame),
        disc.masscenter.pos_from(contact)))
    slip = contact.vel(ground.frame) + cross(
        disc.frame.ang_vel_in(lean), contact.pos_from(disc.masscenter))
    return kane_model(
        ground.frame, q, [u1, u2, u3],
        [*turning, q4.diff() - u4, q5.diff() - u5],
        u_dependent=[u4, u5],
        velocity_constraints=[slip.dot(ground.x), slip.dot(ground.y)],
        bodies=[disc], forcelist=[(disc.masscenter, -m*g*ground.z)],
        visual={'surfaces': _wheel(disc.frame, disc.masscenter, r,
                                   ground.frame, ground.masscenter),
                'forces': {'friction': (contact, friction(ground.frame))}},
        parameters={g: 9.81, r: 0.26, m: 3.43},
        start={q1: 0.3, q2: 0.1, q3: 1.97, q4: -0.35, q5: 2.27,
               u1: -0.2, u2: 1.3, u3: 0.15, u4: 0.32, u5: 0.099}, t_end=2.0)


@ready
def rolling_disc_lagrange() -> Model:
    """The rolling disc from a Lagrangian with nonholonomic rows.

    Coordinates as in :func:`rolling_disc`; the speeds are their derivatives.

    Source: SymPy documentation, tutorial "A rolling disc", "using Lagrange's
    Method", with its rolling constraints.
    """
    q1, q2, q3, q4, q5 = q = dynamicsymbols('q1:6')
    r, m, g = symbols('r m g')

    N, origin = inertial()
    Y, L, R = _rolled(N, 'YLR', q1, q2, q3)
    center = origin.locatenew('C', q4*N.x + q5*N.y + r*L.z)
    center.set_vel(N, center.pos_from(origin).dt(N))
    disc = rigid_body('disc', center, R, m, m/4*r**2, m/2*r**2, m/4*r**2,
                      axes=L)
    disc.potential_energy = m*g*r*cos(q2)
    slip = center.vel(N) + cross(R.ang_vel_in(N), -r*L.z)
    speeds = [qi.diff() for qi in q]
    return bodies_model(
        N, [disc], q, nonhol_coneqs=[slip.dot(Y.x), slip.dot(Y.y)],
        visual={'surfaces': _wheel(R, center, r, N, origin)},
        parameters={r: 0.3, m: 2.0, g: 9.81},
        start=(0.0, 0.2, 0.0, 0.0, 0.0, 0.4, 0.1, 6.0, 1.8, 0.0),
        fixed=(*q, *speeds[:3]), t_end=5.0)


@ready
def upright_disc() -> Model:
    """A disc that rolls upright on a horizontal plane.

    Contact point ``x``, ``y``, roll ``theta``, heading ``phi``. Mass ``m``,
    radius ``R``, moments of inertia ``I`` about the axle and ``J`` about a
    diameter. ``x' = R*cos(phi)*theta'``, ``y' = R*sin(phi)*theta'``.

    Source: A. M. Bloch, Nonholonomic Mechanics and Control (2003), the
    vertical rolling disk; acceptance case H1.
    """
    x, y, theta, phi = q = dynamicsymbols('x y theta phi')
    m, R, i, j = symbols('m R I J')
    vx, vy, roll, turn = [qi.diff() for qi in q]

    N, origin = inertial()
    H = N.orientnew('H', 'Axis', [phi, N.z])
    D = H.orientnew('D', 'Axis', [theta, H.y])
    center = origin.locatenew('C', x*N.x + y*N.y + R*N.z)
    center.set_vel(N, vx*N.x + vy*N.y)
    disc = rigid_body('disc', center, D, m, j, i, j, axes=H)
    return bodies_model(
        N, [disc], q,
        nonhol_coneqs=[vx - R*cos(phi)*roll, vy - R*sin(phi)*roll],
        visual={'surfaces': _wheel(D, center, R, N, origin),
                'forces': {'friction': ((x, y), friction(N))}},
        parameters={m: 2.0, R: 0.3, i: 0.09, j: 0.045},
        start=(0.0, 0.0, 0.0, 0.3, 1.433, 0.443, 5.0, 1.2),
        fixed=(*q, roll, turn), t_end=6.0,
        accelerations={vx.diff(): -R*sin(phi)*roll*turn,
                       vy.diff(): R*cos(phi)*roll*turn,
                       roll.diff(): Integer(0), turn.diff(): Integer(0)},
        multipliers=(-m*R*sin(phi)*roll*turn, m*R*cos(phi)*roll*turn))
