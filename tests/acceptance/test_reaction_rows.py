"""Reactions of constraint rows, their histories, and what is refused."""
import numpy as np
import pytest
from newton_euler import CLOSE, T, arm, g, k, l, m, pendulum
from sympy import cos, sin
from sympy.physics.mechanics import (
    Force, Particle, PinJoint, Point, PrismaticJoint, ReferenceFrame,
    RigidBody, System, dynamicsymbols, inertia)

from sympy_constrained import (
    GibbsAppellMethod, PlaneSurface, PointContact, RouthMethod, SphereSurface,
    UdwadiaKalabaMethod)
from sympy_constrained.errors import (
    ConstraintError, KinematicsError, MissingIngredientError,
    UnsupportedFeatureError)
from sympy_constrained.models import model
from sympy_constrained.numeric import (
    Trajectory, compile_equations, consistent_state, simulate)


def hanging(level, moving):
    """A plate that hangs by a corner on an arm that turns about the origin.

    On its tip, or ``moving`` along the arm; then the row turns with it.
    """
    q, u = dynamicsymbols('x y a b'), dynamicsymbols('v_x v_y w_a w_b')
    N, O = ReferenceFrame('N'), Point('O')
    O.set_vel(N, 0)
    A, B = (N.orientnew(name, 'Axis', (angle, N.z))
            for name, angle in zip('AB', q[2:]))
    A.set_ang_vel(N, u[2]*N.z)
    B.set_ang_vel(N, u[3]*N.z)
    G, tip = O.locatenew('G', q[0]*N.x + q[1]*N.y), O.locatenew('tip', l*A.x)
    tip.set_vel(N, l*u[2]*A.y)
    G.set_vel(N, u[0]*N.x + u[1]*N.y)
    corner = G.locatenew('corner', -l/2*B.x + l/3*B.y)
    corner.v2pt_theory(G, N, B)
    axes = [A.y] if moving else [N.x, N.y]
    rows = [(corner, axis, tip) for axis in axes]
    bodies = [RigidBody('plate', G, B, m, (inertia(B, 0, 0, m*l**2), G)),
              RigidBody('arm', O, A, m, (inertia(A, 0, 0, m*l**2/3), O))]
    gaps = [tip.pos_from(corner).dot(axis) for axis in axes]
    given = {
        'configuration': {'configuration_constraints': rows},
        'velocity': {'configuration_constraints': [-x for x in gaps],
                     'velocity_constraints': rows},
        'acceleration': {'acceleration_constraints': rows},
        'expressions': {'configuration_constraints': gaps}}
    given['plain'] = given['expressions']
    method = UdwadiaKalabaMethod(
        N, q, u, [x.diff() - v for x, v in zip(q, u)], bodies=bodies,
        forcelist=[(G, -m*g*N.y)], **given[level])
    return method, bodies, rows, (N, O, corner)


@pytest.mark.parametrize('level, moving', [
    ('configuration', False), ('configuration', True), ('velocity', False),
    ('acceleration', False), ('expressions', False)])
def test_rows_given_geometrically(level, moving):
    method, bodies, rows, (N, O, corner) = hanging(level, moving)
    equations, plain = (compile_equations(one, {m: 1.3, g: 9.81, l: 0.4})
                        for one in (method, hanging('plain', moving)[0]))
    x = consistent_state(plain, [0.5, -0.3, 0.3, 0.5, 0, 0, 2, 1])
    reactions = method.joint_reactions(
        [('pin', None, bodies[1], O)],
        rows=rows if level == 'expressions' else ())
    numbers = reactions.function(equations)(0., x)
    du = plain.accelerations(0., x)
    assert np.allclose(equations.accelerations(0., x), du, 0, 1e-9)
    hook = sum(value for name, value in numbers.items() if 'row' in name)
    assert np.allclose(hook[:3], [1.3*du[0], 1.3*(du[1] + 9.81), 0], 0, CLOSE)
    # the mass centre of the arm is at rest in the pin
    assert np.allclose(numbers['pin'], [*hook[:3], 0, 0, 0], 0, CLOSE)
    if level != 'expressions':          # its loads are the constraint forces
        work = sum((where.vel(N) if isinstance(where, Point) else
                    where.ang_vel_in(N)).diff(method.u[2], N).dot(vector)
                   for where, vector in method.constraint_loads())
        values = {**dict(zip(equations.states, x)), **dict(zip(
            equations.constants, equations.parameters()))}
        assert np.isclose(float(work.subs(values)),
                          equations.constraint_forces(0., x)[2], 0, CLOSE)
    else:
        with pytest.warns(UserWarning, match='No loads are known of holonomic '
                                             'row 0, .*`constraint_forces`'):
            assert method.constraint_loads() == []


def test_rolling_contact():
    """A ball on a plane of slope T, and a weight on an axle in its centre.

    With the weight as a point at the centre the force of the plane along it
    is that on a ball: ``I/(I + (m + k)*R^2)`` of the weight's part.
    """
    x, y, z, vx, vy, vz, wx, wy, wz, *a = dynamicsymbols(
        'x y z v_x v_y v_z w_x w_y w_z a1:4')
    N, B, O, C = (ReferenceFrame('N'), ReferenceFrame('B'), Point('O'),
                  Point('C'))
    O.set_vel(N, 0)
    C.set_pos(O, x*N.x + y*N.y + z*N.z)
    C.set_vel(N, vx*N.x + vy*N.y + vz*N.z)
    B.orient_body_fixed(N, a, 'zyz')
    rates = [B.ang_vel_in(N).dot(axis) for axis in N]
    B.set_ang_vel(N, wx*N.x + wy*N.y + wz*N.z)
    ball = RigidBody('ball', C, B, m, (inertia(B, *3*[2*m*l**2/5]), C))
    P = C.locatenew('P', 0)
    weight, down = Particle('weight', P, k), g*(sin(T)*N.x - cos(T)*N.z)
    contact = PointContact(
        'contact', RigidBody('plane', O, N), ball, PlaneSurface(N, O, N.z),
        SphereSurface(B, C, l))
    method = UdwadiaKalabaMethod(
        N, [x, y, z, *a], [vx, vy, vz, wx, wy, wz],
        [x.diff() - vx, y.diff() - vy, z.diff() - vz,
         *(rate - w for rate, w in zip(rates, (wx, wy, wz)))],
        configuration_constraints=contact.holonomic_constraints,
        velocity_constraints=contact.nonholonomic_constraints,
        bodies=[ball, weight], forcelist=[(C, m*down), (P, k*down)])
    reactions = method.joint_reactions([('axle', ball, weight, P)], rows=[
        (contact.child_point, axis, contact.parent_point)
        for axis in (contact.normal, *contact.tangents)])
    equations = compile_equations(
        method, {m: 1.3, k: 0.7, g: 9.81, l: 0.4, T: 0.3})
    state = consistent_state(equations, [
        0.1, 0.2, 0.4, 0.3, 0.8, 0.2, 0.4, 0, 0, 0, 1, 0.5])
    numbers = reactions.function(equations)(0., state)
    plane = sum(value for name, value in numbers.items() if 'row' in name)
    share = 0.4*1.3/(0.4*1.3 + 2)
    assert np.allclose(plane[:3], 2*9.81*np.array(
        [-share*np.sin(0.3), 0, np.cos(0.3)]), 0, CLOSE)
    assert abs(plane[3:]).max() == 0
    assert np.allclose(numbers['axle'], 0.7*9.81*np.array([
        -share*np.sin(0.3), 0, np.cos(0.3), 0, 0, 0]), 0, CLOSE)


@pytest.mark.parametrize('method', [UdwadiaKalabaMethod, RouthMethod])
def test_anchor_of_a_body_at_rest(method):
    q, u = dynamicsymbols('q u')
    N, O = ReferenceFrame('N'), Point('O')
    B = N.orientnew('B', 'Axis', (1, N.z))
    C, anchor = O.locatenew('C', q*B.x), O.locatenew('anchor', l*N.x)
    O.set_vel(N, 0)
    C.set_vel(N, 2*u*B.x)
    slider = RigidBody('slider', C, B, m)
    guide = method(
        N, [q], [u], [q.diff() - 2*u], bodies=[slider],
        configuration_constraints=[(C, N.y, anchor)]).joint_reactions(
            [('guide', None, slider, C)])['guide']
    force = guide.force.dot(B.x).subs({u.diff(): 1, q.diff().diff(): 2, m: 1})
    assert abs(force.n()) < CLOSE


# -- along a motion ---------------------------------------------------------

def test_histories(tmp_path):
    system, ground, rod = pendulum()
    method = UdwadiaKalabaMethod.from_method(system)
    motion = simulate(
        method, 2, [1., 0.], constants={m: 1.3, g: 9.81, l: 0.4}, t_eval=21,
        rtol=1e-11, reactions=method.joint_reactions(frame=rod.frame))
    q, w = motion.x.T
    pin = motion.reactions['pin']
    # by the energy alone: w^2 = 3*g/(2*l)*(cos(q) - cos(1)) for I = 4/3*m*l^2
    assert np.allclose(pin[:, 1], 1.3*9.81*(
        np.cos(q) + 1.5*(np.cos(q) - np.cos(1))), 0, 1e-6)
    assert np.allclose(motion.to_table()['F_y pin'], pin[:, 1], 0, 0)
    motion.save(tmp_path/'motion.npz')
    assert (Trajectory.load(tmp_path/'motion.npz').reactions['pin'] == pin
            ).all()


def test_a_feedback_acts_in_a_joint():
    system, _, rod = pendulum()
    F = dynamicsymbols('F')
    system.add_loads(Force(rod.masscenter, F*(rod.x + rod.y)))
    method = UdwadiaKalabaMethod.from_method(system)
    law, number = (method.joint_reactions().function(compile_equations(
        method, {m: 1.3, g: 9.81, l: 0.4}, {F: value}))(0, [1., 2.])['pin']
        for value in (sum(method.q) + sum(method.u), 3))
    assert np.allclose(law, number, 0, CLOSE)


def test_pictures_have_units():
    plotting = pytest.importorskip('sympy_constrained.plotting')
    method = UdwadiaKalabaMethod.from_method(arm(2))
    motion = simulate(
        method, 0.1, 4*[0.1], constants={m: 1, g: 9.81, l: 1},
        reactions=method.joint_reactions(), units={'force': 'N'})
    above, below = plotting.plot_reactions(motion).axes
    assert above.get_ylabel() == 'force in N'
    assert below.get_ylabel() == 'moment'
    assert np.allclose(above.lines[0].get_ydata(), np.linalg.norm(
        motion.reactions['pin0'][:, :3], axis=1))
    assert [len(ax.lines) for ax in plotting.plot_reactions(
        motion, 'pin1').axes] == [3, 3]


# -- what is refused --------------------------------------------------------

def refused(case):
    system = model('four_bar').system if 'row' in case else (
        arm(3) if case == 'part' else pendulum()[0])
    if 'potential' in case:             # a weight along an axle does no work
        system.bodies[1].potential_energy = m*g*(
            l if 'constant' in case else system.q[0])
    method = UdwadiaKalabaMethod.from_method(
        system, potential_energy='include')
    ground, link, *others = system.bodies
    if case == 'higher':
        method = GibbsAppellMethod.from_method(
            system, acceleration_constraints=[system.u[0].diff().diff()])
    if case == 'shared':                # two bodies with one mass centre
        twin = RigidBody('twin', link.masscenter, mass=m)
        system.add_joints(PinJoint('twins', link, twin))
        system.add_loads(Force(twin, m*g*ground.x))
        method = UdwadiaKalabaMethod.from_method(system)
    joints = {
        'loop': [*system.joints, ('again', ground, link, link.masscenter)],
        'part': system.joints[::2]}.get(case)       # without one between
    return method.joint_reactions(joints, {0: 1} if 'wrong' in case else ())


@pytest.mark.parametrize('case, error, match', [
    ('row without a place', ConstraintError, 'holonomic row 0, holonomic'),
    ('wrong row', TypeError, '`rows` is a dict'),
    ('potential', UnsupportedFeatureError, 'potential energy'),
    ('constant potential', UnsupportedFeatureError, 'potential energy'),
    ('higher', UnsupportedFeatureError, 'higher order'),
    ('shared', KinematicsError, 'which rod, twin share'),
    ('part', KinematicsError, 'link2 moves with link0, and no joints'),
    ('loop', KinematicsError, 'again closes a loop')])
def test_refused(case, error, match):
    with pytest.raises(error, match=match):
        refused(case)


def test_constants_that_drop_out_of_the_equations():
    """The weight of a slider on a level guide."""
    ground, slider = RigidBody('ground'), Particle('slider', mass=m)
    system = System.from_newtonian(ground)
    system.add_joints(PrismaticJoint('guide', ground, slider))
    system.apply_uniform_gravity(-g*ground.y)
    system.add_loads(Force(slider, T*ground.x))
    method = UdwadiaKalabaMethod.from_method(system)
    equations = compile_equations(method, {m: 2, T: 3})
    with pytest.raises(MissingIngredientError, match='depend on g'):
        method.joint_reactions().function(equations)
    reactions = method.joint_reactions(constants={g: 9.81, m: 7})
    assert np.allclose(reactions.function(equations)(0., [1, 2])['guide'],
                       [0, 2*9.81, 0, 0, 0, 0], 0, CLOSE)
    other = model('slider_crank').form(UdwadiaKalabaMethod)
    with pytest.raises(UnsupportedFeatureError, match='other speeds'):
        reactions.function(compile_equations(other))
