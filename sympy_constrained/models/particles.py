"""Particles on which one point of the theory can be checked by hand."""
from sympy import symbols
from sympy.physics.mechanics import (
    LinearDamper, LinearPathway, LinearSpring, Particle, PrismaticJoint,
    ReferenceFrame, RigidBody, System, dynamicsymbols)

from ._model import (
    Model, bodies_model, inertial, kane_model, kdes, particle_at, ready,
    system_model)


@ready
def bead_on_circle() -> Model:
    """A bead on a circular wire with viscous drag of the wire.

    Bead of mass ``m`` at ``x``, ``y``, upright circle of radius ``L``,
    gravity ``g`` along ``-y``. The wire drags with ``-kappa*q'``: a
    constraint force that does work.

    Source: F. E. Udwadia and R. E. Kalaba, J. Appl. Mech. 68 (2001) 462-467;
    acceptance case U-5.
    """
    x, y = dynamicsymbols('x y')
    m, L, g, kappa = symbols('m L g kappa')
    vx, vy = x.diff(), y.diff()
    N, _, bead = particle_at((x, y), m)
    bead.potential_energy = m*g*y
    lam = m*(g*y - vx**2 - vy**2)/(x**2 + y**2)
    return bodies_model(
        N, [bead], [x, y], hol_coneqs=[(x**2 + y**2 - L**2)/2],
        extra={'nonideal_forces': [-kappa*vx, -kappa*vy]},
        parameters={m: 0.1, L: 0.5, g: 9.81, kappa: 0.02},
        start={x: 0.4, y: -0.3, vx: 0.0, vy: 0.0},
        fixed=(y, vy), t_end=10.0, dimensions={kappa: (1, 0, -1)},
        accelerations={vx.diff(): (lam*x - kappa*vx)/m,
                       vy.diff(): -g + (lam*y - kappa*vy)/m},
        multipliers=(lam,))


@ready
def constant_speed_particle() -> Model:
    """A particle under gravity that keeps its speed.

    The row ``u1**2 + u2**2 + u3**2 = c**2`` is nonlinear in the speeds. Mass
    ``m``, gravity ``g`` along ``-z``.

    Source: Acceptance case U-6; a nonlinear constraint after Appell and
    Chetaev.
    """
    q, u = dynamicsymbols('q1:4'), dynamicsymbols('u1:4')
    m, g, c = symbols('m g c')
    N, point, body = particle_at(q, m, u)
    square = u[0]**2 + u[1]**2 + u[2]**2
    pull = g*u[2]/square
    return kane_model(
        N, q, u[:2], kdes(q, u), u_dependent=[u[2]],
        velocity_constraints=[(square - c**2)/2], bodies=[body],
        forcelist=[(point, -m*g*N.z)],
        parameters={m: 1.0, g: 9.81, c: 3.0},
        start=(0.0, 0.0, 0.0, 2.0, 1.0, 2.0), t_end=2.0,
        accelerations={u[0].diff(): pull*u[0], u[1].diff(): pull*u[1],
                       u[2].diff(): -g + pull*u[2]},
        multipliers=(m*pull,))


@ready
def appell_hamel() -> Model:
    """The Appell-Hamel particle, a nonlinear nonholonomic constraint.

    ``x'**2 + y'**2 = k**2*z'**2``, mass ``m``, gravity ``g`` along ``-z``.
    The row is halved: its gradient is ``(x', y', -k**2*z')``.

    Source: P. Appell (1911) and G. Hamel, Theoretische Mechanik (1949);
    acceptance case U-7.
    """
    x, y, z = q = dynamicsymbols('x y z')
    m, g, k = symbols('m g k')
    vx, vy, vz = [qi.diff() for qi in q]
    N, _, body = particle_at(q, m)
    body.potential_energy = m*g*z
    return bodies_model(
        N, [body], q, nonhol_coneqs=[(vx**2 + vy**2 - k**2*vz**2)/2],
        parameters={m: 1.0, g: 9.81, k: 0.5},
        start=(0.0, 0.0, 10.0, 0.3, 0.4, -1.0),
        fixed=(x, y, z, vx, vy), t_end=1.0,
        accelerations={vz.diff(): -g/(1 + k**2),
                       vx.diff(): -g*vx/((1 + k**2)*vz),
                       vy.diff(): -g*vy/((1 + k**2)*vz)},
        multipliers=(-m*g/((1 + k**2)*vz),))


@ready
def acceleration_level() -> Model:
    """A particle with a constraint given for accelerations only.

    ``x'' + y'' = -k*x``, gravity ``g`` along ``-y``, mass ``m``.

    Source: Acceptance case U-8.
    """
    x, y = dynamicsymbols('x y')
    m, g, k = symbols('m g k')
    vx, vy = x.diff(), y.diff()
    N, _, body = particle_at((x, y), m)
    body.potential_energy = m*g*y
    return bodies_model(
        N, [body], [x, y],
        extra={'acceleration_constraints': [vx.diff() + vy.diff() + k*x]},
        parameters={m: 1.0, g: 9.81, k: 4.0},
        start={x: 0.5, y: 0.0, vx: 0.0, vy: 1.0}, t_end=5.0,
        accelerations={vx.diff(): (g - k*x)/2, vy.diff(): (-g - k*x)/2},
        multipliers=(m*(g - k*x)/2,))


@ready
def duplicated_rows() -> Model:
    """A spherical pendulum with its length row given twice.

    Rows ``c`` and ``2*c`` with ``c = (x**2 + y**2 + z**2 - L**2)/2``. Mass
    ``m``, gravity ``g`` along ``-z``.

    Source: Acceptance case U-2, with rows [c, 2*c].
    """
    x, y, z = q = dynamicsymbols('x y z')
    u = dynamicsymbols('u1:4')
    m, g, L = symbols('m g L')
    N, point, body = particle_at(q, m, u)
    row = (x**2 + y**2 + z**2 - L**2)/2
    rate = sum(qi*ui for qi, ui in zip(q, u))
    lam = m*(g*z - sum(ui**2 for ui in u))/L**2
    return kane_model(
        N, [x], u[:1], kdes(q, u), q_dependent=[y, z],
        u_dependent=[u[1], u[2]], configuration_constraints=[row, 2*row],
        velocity_constraints=[rate, 2*rate], bodies=[body],
        forcelist=[(point, -m*g*N.z)],
        parameters={m: 1.0, g: 9.81, L: 1.0},
        start=(0.6, 0.0, -0.8, 0.0, 2.0, 0.0),
        fixed=(x, y, u[0], u[1]), t_end=5.0,
        accelerations={u[0].diff(): lam*x/m, u[1].diff(): lam*y/m,
                       u[2].diff(): -g + lam*z/m})


@ready
def massless_coordinate() -> Model:
    """Two masses in three coordinates with a singular mass matrix.

    ``m1`` at ``x1``, ``m2`` at ``y1 + x2``, and ``y1 = x1``. Springs ``k1``
    on ``x1`` and ``k2`` on ``x2``. The mass matrix has rank two of three.

    Source: F. E. Udwadia and P. Phohomsiri, Proc. R. Soc. A 462 (2006)
    2097-2117; acceptance case U-4.
    """
    x1, y1, x2 = q = dynamicsymbols('x1 y1 x2')
    m1, m2, k1, k2 = symbols('m1 m2 k1 k2')
    N, O = inertial()
    bodies = []
    for name, place, mass in (('first', x1, m1), ('second', y1 + x2, m2)):
        point = O.locatenew(name, place*N.x)
        point.set_vel(N, place.diff()*N.x)
        bodies.append(Particle(name, point, mass))
    bodies[0].potential_energy = k1*x1**2/2
    bodies[1].potential_energy = k2*x2**2/2
    v1, w1, v2 = [qi.diff() for qi in q]
    first = (k2*x2 - k1*x1)/m1
    return bodies_model(
        N, bodies, q, hol_coneqs=[x1 - y1],
        parameters={m1: 1.0, m2: 0.5, k1: 10.0, k2: 8.0},
        start=(0.1, 0.1, -0.05, 0.0, 0.0, 0.0),
        fixed=(x1, x2, v1, v2), t_end=10.0,
        accelerations={v1.diff(): first, w1.diff(): first,
                       v2.diff(): -k2*x2/m2 - first},
        multipliers=(k2*x2,))


@ready
def spring_mass_damper() -> Model:
    """A mass with a spring and a damper on a prismatic joint.

    Mass ``m``, stiffness ``k``, damping ``c``; the speed is ``q'``.

    Source: SymPy documentation of System and of the actuators.
    """
    q = dynamicsymbols('q')
    m, k, c = symbols('m k c')

    wall, bob = RigidBody('W'), Particle('P', mass=m)
    system = System.from_newtonian(wall)
    frame = ReferenceFrame('P')
    bob.masscenter.set_vel(frame, 0)
    system.add_joints(PrismaticJoint('J', wall, bob, q, q.diff(),
                                     child_interframe=frame))
    path = LinearPathway(wall.masscenter, bob.masscenter)
    system.add_actuators(LinearSpring(k, path), LinearDamper(c, path))
    return system_model(
        system, shape='lagrange',
        visual={'springs': [(wall.masscenter, bob.masscenter)]},
        parameters={m: 1.0, k: 20.0, c: 0.4},
        start={q: 0.5, q.diff(): 0.0}, t_end=10.0,
        accelerations={q.diff().diff(): -(k*q + c*q.diff())/m})
