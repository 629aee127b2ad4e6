"""Springs, dampers and actuators."""
from __future__ import annotations

from sympy import cos, sin, symbols
from sympy.physics.mechanics import (
    DuffingSpring, Force, LinearDamper, LinearPathway, LinearSpring, Particle,
    PinJoint, PrismaticJoint, ReferenceFrame, RigidBody, System,
    TorqueActuator, dynamicsymbols, inertia)

from ..contact import SphereSurface
from ._model import (
    Model, bodies_model, inertial, particle_at, ready, rigid_body,
    system_model)


@ready
def multidof_holonomic() -> Model:
    """A block with a compound and a simple pendulum, springs and inputs.

    The block (``ma``) moves along a wall spring ``k`` and damper ``c``; the
    compound pendulum (``mb``, ``IBzz``) carries a simple one (``mc``) through
    a torsion spring ``kT``. ``F(t)`` pushes the block, ``T(t)`` turns the
    compound pendulum. All lengths follow from ``l``.

    Source: SymPy documentation, tutorial "Multi Degree of Freedom Holonomic
    System".
    """
    t = dynamicsymbols._t
    q1, q2, q3, u1, u2, u3 = dynamicsymbols('q1:4 u1:4')
    force, torque = dynamicsymbols('F T')
    length, k, c, g, kT = symbols('l k c g k_T')
    ma, mb, mc, IBzz = symbols('m_a m_b m_c I_Bzz')

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
    return system_model(
        system, visual={'springs': [(wall.masscenter, block.masscenter)]},
        parameters={length: 0.6, k: 40.0, c: 2.0, g: 9.81, kT: 5.0, ma: 2.0,
                    mb: 1.0, mc: 0.5, IBzz: 0.03},
        start={q1: 0.1, q2: 0.3, q3: -0.2, u1: 0.0, u2: 0.0, u3: 0.0},
        t_end=5.0,
        inputs={force: 5*sin(3*t), torque: cos(2*t)/2})


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


@ready
def duffing_pendulum() -> Model:
    """A pendulum hanging from a Duffing oscillator.

    Block ``M`` on a spring ``k1*q + k2*q**3`` and a damper ``c1``; spherical
    bob ``m`` of radius ``r`` on a rod ``l``.

    Source: SymPy documentation, tutorial "Duffing Oscillator with a
    Pendulum".
    """
    q1, q2 = dynamicsymbols('q1 q2')
    M, m, length, k1, k2, c1, g, r = symbols('M m l k1 k2 c1 g r')
    u1, u2 = q1.diff(), q2.diff()

    N, origin = inertial()
    B = N.orientnew('B', 'axis', (q2, N.z))
    block = origin.locatenew('block', q1*N.y)
    block.set_vel(N, u1*N.y)
    tip = block.locatenew('pendulum', length*B.y)
    tip.v2pt_theory(block, N, B)
    bodies = [Particle('block', block, M),
              rigid_body('pendulum', tip, B, m, *[2*m*r**2/5]*3)]
    path = LinearPathway(origin, block)
    loads = (DuffingSpring(k1, k2, path, 0).to_loads()
             + LinearDamper(c1, path).to_loads()
             + [Force(body, body.mass*g*N.y) for body in bodies])
    return bodies_model(
        N, bodies, [q1, q2], forcelist=loads,
        visual={'springs': [(origin, block)]},
        parameters={M: 2.0, m: 0.5, length: 0.3, k1: 60.0, k2: 40.0,
                    c1: 1.0, g: 9.81, r: 0.05},
        start={q1: 0.3, q2: 0.5, u1: 0.0, u2: 0.0}, t_end=5.0)


@ready
def muscle_on_sphere() -> Model:
    """A muscle node sliding over a spherical bone.

    The node of mass ``m`` stays on the sphere of radius ``R``. Two elastic
    strands of stiffness ``k`` and rest length ``L0`` run to the fixed points
    at ``a`` on the ``x`` and ``b`` on the ``y`` axis.

    Source: After the SymPy tutorial "Muscle Wrapping over a Spherical Bone",
    with the sphere as a constraint.
    """
    x, y, z = q = dynamicsymbols('x y z')
    R, m, k, L0, a, b = symbols('R m k L0 a b', positive=True)

    N, node, body = particle_at(q, m, name='node')
    place = x*N.x + y*N.y + z*N.z
    bone = node.locatenew('bone', -place)
    body.potential_energy = sum(
        k*((place - end).magnitude() - L0)**2/2 for end in (a*N.x, b*N.y))
    return bodies_model(
        N, [body], q, hol_coneqs=[(x**2 + y**2 + z**2 - R**2)/2],
        visual={'surfaces': [SphereSurface(N, bone, R)],
                'springs': [(node, a*N.x), (node, b*N.y)]},
        parameters={R: 0.05, m: 0.02, k: 800.0, L0: 0.05, a: 0.12, b: 0.15},
        start=dict(zip((*q, *(qi.diff() for qi in q)),
                       (0.03, 0.02, 0.0346, 0.0, 0.3, -0.173))),
        fixed=(x, y, x.diff(), y.diff()), t_end=0.5)
