"""Reactions of joints: Newton's and Euler's laws for each body.

The laws are evaluated without the package's kinematics: the motion of each
body is differentiated numerically, in 50 digits, along the parabola through
the state with the accelerations of the method.
"""
import numpy as np
import pytest
from mpmath import mp
from sympy import Matrix, cos, lambdify, sin, symbols
from sympy.physics.mechanics import (
    CylindricalJoint, Force, Particle, PinJoint, PlanarJoint, Point,
    PrismaticJoint, ReferenceFrame, RigidBody, SphericalJoint, System,
    TorqueActuator, WeldJoint, dynamicsymbols, inertia)

from sympy_constrained import (
    GibbsAppellMethod, PlaneSurface, PointContact, RouthMethod, SphereSurface,
    UdwadiaKalabaMethod, VoronetsMethod)
from sympy_constrained.errors import (
    ConstraintError, KinematicsError, MissingIngredientError,
    UnsupportedFeatureError)
from sympy_constrained.models import model
from sympy_constrained.numeric import (
    Trajectory, compile_equations, consistent_state, simulate)

m, g, l, T, k = symbols('m g l T k', positive=True)
CLOSE = 1e-10


def state_of(equations, start, fixed):
    return consistent_state(equations, dict(start), fixed=fixed)


class Laws:
    """Newton-Euler of the bodies of a System at one state."""

    def __init__(self, system, equations, x):
        self.system, self.N = system, system.frame
        eom, rates = equations.equations, equations.rhs(0., x)
        values = {x: 1 for body in system.bodies if isinstance(
            body, RigidBody)            # of inertias that drop out
            for x in body.central_inertia.to_matrix(body.frame).free_symbols}
        values.update(zip(equations.constants, equations.parameters()))
        motion = [[mp.mpf(float(y)) for y in (
            x[i], x[j], rates[j])] for i, j in zip(
                equations.q_index, equations.u_index)]
        with mp.workdps(50):
            self.step = mp.mpf(10)**-15
            self.states = [{**values, **{
                q: place + s*speed + s**2*rate/2
                for q, (place, speed, rate) in zip(eom.q, motion)},
                **{u: speed for u, (_, speed, _) in zip(eom.u, motion)}}
                for s in (-self.step, 0, self.step)]

    def at(self, expr, which=1):
        names = list(self.states[which])
        with mp.workdps(50):
            found = lambdify(names, Matrix(expr), 'mpmath', cse=True)(
                *self.states[which].values())
        return mp.matrix(found)

    def vector(self, vector):
        return self.at(vector.to_matrix(self.N)) if vector != 0 else (
            mp.matrix(3, 1))

    def place(self, point):
        return self.vector(point.pos_from(self.system.fixed_point))

    def differences(self, expr):
        a, b, c = (self.at(expr, i) for i in range(3))
        return b, (c - a)/(2*self.step), (c - 2*b + a)/self.step**2

    def inertial(self, body):
        """``m*a`` and the rate of the central angular momentum."""
        with mp.workdps(50):
            mass = self.at([body.mass])[0]
            *_, a = self.differences(body.masscenter.pos_from(
                self.system.fixed_point).to_matrix(self.N))
            if isinstance(body, Particle):
                return mass*a, mp.matrix(3, 1)
            R, V, A = self.differences(body.frame.dcm(self.N).T)
            spin, turn = V*R.T, A*R.T + V*V.T
            w, alpha = (mp.matrix([S[2, 1], S[0, 2], S[1, 0]])
                        for S in (spin, turn))
            own = self.at(body.central_inertia.to_matrix(body.frame))
            inertia = R*own*R.T
            return mass*a, inertia*alpha + cross(w, inertia*w)

    def unbalanced(self, actions):
        """Largest violation; actions: body, point or None, F, M."""
        worst = mp.mpf(0)
        for body in self.system.bodies:
            if getattr(body, 'frame', None) == self.N:
                continue
            force, moment = self.inertial(body)
            for other, point, F, M in actions:
                if other is not body:
                    continue
                force, moment = force - F, moment - M
                if point is not None:
                    arm = self.place(point) - self.place(body.masscenter)
                    moment -= cross(arm, F)
            worst = max(worst, *map(abs, force), *map(abs, moment))
        return worst


def cross(a, b):
    return mp.matrix([a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2],
                      a[0]*b[1] - a[1]*b[0]])


def joint_actions(laws, numbers):
    for joint in laws.system.joints:
        value = numbers[joint.name]
        F, M = mp.matrix(value[:3]), mp.matrix(value[3:])
        yield joint.child, joint.child_point, F, M
        yield joint.parent, joint.child_point, -F, -M


def gravity(laws):
    """Weights, as System.apply_uniform_gravity adds them to the loads."""
    for body in laws.system.bodies:
        for load in laws.system.loads:
            if isinstance(load, Force) and load.point == body.masscenter and (
                    body.masscenter != laws.system.fixed_point):
                yield (body, load.point, laws.vector(load.force),
                       mp.matrix(3, 1))


def check(system, equations, x, numbers, others=()):
    laws = Laws(system, equations, x)
    actions = [*joint_actions(laws, numbers), *gravity(laws),
               *((body, point, laws.vector(F), laws.vector(M))
                 for body, point, F, M in others)]
    scale = max(1, *(abs(value).max() for value in numbers.values()))
    assert laws.unbalanced(actions) < CLOSE*scale
    return laws


def row_actions(numbers, N, *loads):
    """Forces of rows: name, body, point, sign."""
    for name, body, point, sign in loads:
        F = sum(sign*float(c)*e for c, e in zip(numbers[name][:3], N))
        yield body, point, F, 0*N.x


# -- published and by hand ---------------------------------------------------

def pendulum():
    ground, rod = RigidBody('ground'), RigidBody('rod', mass=m)
    rod.central_inertia = inertia(rod.frame, 0, 0, m*l**2/3)
    system = System.from_newtonian(ground)
    system.add_joints(PinJoint(
        'pin', ground, rod, child_point=l*rod.y,
        joint_axis=ground.z))
    system.apply_uniform_gravity(-g*ground.y)
    return system, ground, rod


def test_pin_of_a_pendulum():
    """Along the rod ``m*g*cos(q) + m*l*w^2``, and no moment about the axis.
    """
    system, ground, rod = pendulum()
    method = UdwadiaKalabaMethod.from_method(system)
    q, u = method.q[0], method.u[0]
    pin = method.joint_reactions(frame=rod.frame)['pin']
    assert pin.force.dot(rod.y).equals(m*g*cos(q) + m*l*u**2)
    moving = {u.diff(): method.acceleration[0]}
    assert pin.moment.dot(rod.z).subs(moving).equals(0)
    # a rod that swings about its end: g*m/4 across it
    assert pin.force.dot(rod.x).subs(moving).equals(m*g*sin(q)/4)
    inertial = method.joint_reactions()['pin'].force
    assert inertial.dot(rod.y).equals(pin.force.dot(rod.y))


def test_ways_to_name_a_joint():
    """A System after ``form_eoms``, a tuple, and one from body to ground."""
    system, ground, rod = pendulum()
    system.form_eoms(eom_method=UdwadiaKalabaMethod)
    method, point = system.eom_method, system.joints[0].child_point
    assert not method.joint_reactions()
    pin, = method.joint_reactions(system).values()
    same, opposite = method.joint_reactions([
        ('same', None, rod, point)]), method.joint_reactions([
            ('opposite', rod, None, point)])
    assert pin.force == same['same'].force == -opposite['opposite'].force
    assert pin.moment == -opposite['opposite'].moment


def test_weld_carries_the_weight():
    """A bracket welded to a wall at its end: force m*g, moment m*g*l."""
    wall, bracket = RigidBody('wall'), RigidBody('bracket', mass=m)
    slider = Particle('slider', mass=m)
    system = System.from_newtonian(wall)
    system.add_joints(
        WeldJoint('weld', wall, bracket, child_point=-l*bracket.x),
        PrismaticJoint('guide', bracket, slider, child_interframe=None))
    system.apply_uniform_gravity(-g*wall.y)
    method = UdwadiaKalabaMethod.from_method(system)
    q, u = method.q[0], method.u[0]
    weld, guide = method.joint_reactions().values()
    assert weld.force.dot(wall.y).equals(2*m*g)
    assert weld.force.dot(wall.x).equals(m*u.diff())
    assert weld.moment.dot(wall.z).equals(m*g*l + m*g*(l + q))
    assert guide.force.dot(wall.y).equals(m*g)
    assert guide.moment == 0*wall.x


# -- Newton's and Euler's laws ---------------------------------------------

def compiled(given, method):
    equations = compile_equations(method, given.parameters)
    return equations, state_of(equations, given.start, given.fixed)


def linkage(name, rows):
    """A ready linkage, the actions of its loop rows."""
    given = model(name)
    method = UdwadiaKalabaMethod.from_method(given.system)
    equations, x = compiled(given, method)
    reactions = method.joint_reactions(rows=rows(given.system))
    return given.system, equations, x, reactions.function(equations)(0., x)


def point_of(body, name):
    """A point that the model has made on a body."""
    return next(p for p in body.masscenter._pos_dict if p.name == name)


def test_four_bar():
    def rows(system):
        link1, *_, link4 = system.bodies
        ends = point_of(link4, 'end'), point_of(link1, 'start')
        return [(ends[0], axis, ends[1]) for axis in (link1.x, link1.y)]

    system, equations, x, numbers = linkage('four_bar', rows)
    end = rows(system)[0][0]
    check(system, equations, x, numbers, row_actions(
        numbers, system.frame, ('holonomic row 0', system.bodies[3], end, 1),
        ('holonomic row 1', system.bodies[3], end, 1)))
    for i in range(1, 4):               # planar, and no torque about the pin
        assert abs(numbers[f'J{i}'][[2, 3, 4, 5]]).max() < 1e-9


def test_slider_crank():
    def rows(system):
        ground, _, rod, piston = system.bodies
        end = point_of(rod, 'small_end')
        return [(end, axis, piston.masscenter) for axis in ground.frame][:2]

    system, equations, x, numbers = linkage('slider_crank', rows)
    _, _, rod, piston = system.bodies
    end = rows(system)[0][0]
    check(system, equations, x, numbers, row_actions(
        numbers, system.frame, *(
            (f'holonomic row {i}', body, point, sign) for i in (0, 1)
            for body, point, sign in ((rod, end, 1),
                                      (piston, piston.masscenter, -1)))))
    assert abs(numbers['guide'][0]) < 1e-9      # it slides without friction
    assert abs(numbers['guide'][1]) > 1         # and carries the side thrust


def arm(count=6):
    """A chain of pins about different axes, with a motor and a spring."""
    ground = body = RigidBody('ground')
    system = System.from_newtonian(ground)
    for i in range(count):
        link = RigidBody(f'link{i}', mass=m)
        link.central_inertia = inertia(
            link.frame, *(m*l**2*c/60 for c in (3 + i, 5, 7 + i, 1, 0, 1)))
        system.add_joints(PinJoint(
            f'pin{i}', body, link, parent_point=l/2*body.x,
            child_point=-l/2*link.x - l/9*link.y,
            joint_axis=(body.z, body.y, body.x)[i % 3]))
        body = link
    system.apply_uniform_gravity(-g*ground.y)
    return system


@pytest.mark.parametrize('axes', [None, 'link2'])
def test_arm_of_six_pins(axes):
    system = arm()
    links = system.bodies
    hook = links[6].masscenter.locatenew('hook', l/2*links[6].x)
    pull = T/l*links[3].y + k*links[0].x
    system.add_actuators(TorqueActuator(
        T, links[3].z, links[3], links[2]))
    system.add_loads(Force(hook, pull))
    method = UdwadiaKalabaMethod.from_method(system)
    equations = compile_equations(method, {
        m: 1.3, g: 9.81, l: 0.4, T: 2., k: 3.})
    x = np.random.default_rng(3).uniform(-1, 1, 12)
    frame = next((body.frame for body in links if body.name == axes), None)
    reactions = method.joint_reactions(frame=frame)
    numbers = reactions.function(equations)(0., x)
    laws = Laws(system, equations, x)
    if axes:                            # back to the inertial frame
        R = np.array(laws.at(frame.dcm(system.frame).T).tolist(), float)
        numbers = {name: np.concatenate([R @ value[:3], R @ value[3:]])
                   for name, value in numbers.items()}
    none = 0*system.frame.x
    check(system, equations, x, numbers, [
        (links[6], hook, pull, none), (links[3], None, none, T*links[3].z),
        (links[2], None, none, -T*links[3].z)])
    # the joint transmits nothing in its free direction, nor the motor's
    for i, joint in enumerate(system.joints):
        axis = np.array(laws.vector((
            joint.parent.z, joint.parent.y, joint.parent.x)[i % 3]), float)
        assert abs(axis.ravel() @ numbers[joint.name][3:]) < 1e-9


def test_bodies_in_free_fall():
    """No ground: the reaction is what moves the outer body."""
    q, u = dynamicsymbols('q1:7'), dynamicsymbols('u1:7')
    N, O = ReferenceFrame('N'), Point('O')
    O.set_vel(N, 0)
    system = System(N, O)
    hull, panel = RigidBody('hull', mass=3*m), RigidBody('panel', mass=m)
    for one in hull, panel:
        one.central_inertia = inertia(
            one.frame, m*l**2, 2*m*l**2, 2.5*m*l**2, m*l**2/9)
    hull.masscenter.set_pos(O, sum(
        (x*axis for x, axis in zip(q, N)), 0*N.x))
    hull.masscenter.set_vel(N, sum(
        (x*axis for x, axis in zip(u, N)), 0*N.x))
    hull.frame.orient_body_fixed(N, q[3:], 'zxy')
    rates = dict(zip([x.diff() for x in q], u))
    hull.frame.set_ang_vel(N, hull.frame.ang_vel_in(N).subs(rates))
    system.add_bodies(hull)
    system.add_coordinates(*q)
    system.add_speeds(*u)
    system.add_kdes(*(x.diff() - v for x, v in zip(q, u)))
    system.add_joints(PinJoint(
        'hinge', hull, panel, parent_point=l*hull.x, child_point=-l*panel.y,
        joint_axis=hull.y))
    system.apply_uniform_gravity(-g*N.y)
    system.add_actuators(TorqueActuator(T, hull.y, panel, hull))
    method = UdwadiaKalabaMethod.from_method(system)
    equations = compile_equations(method, {m: 1.3, g: 9.81, l: 0.4, T: 2.})
    x = np.random.default_rng(5).uniform(-1, 1, 14)
    numbers = method.joint_reactions().function(equations)(0., x)
    check(system, equations, x, numbers, [
        (panel, None, 0*N.x, T*hull.y), (hull, None, 0*N.x, -T*hull.y)])


@pytest.mark.parametrize('cls, free', [
    (CylindricalJoint, 'FM'), (PrismaticJoint, 'F'), (PinJoint, 'M'),
    (PlanarJoint, 'plane'), (SphericalJoint, 'ball')])
def test_every_joint(cls, free):
    ground, body, tip = RigidBody('ground'), RigidBody('body', mass=m), (
        RigidBody('tip', mass=m))
    for one in body, tip:
        one.central_inertia = inertia(
            one.frame, m*l**2, 2*m*l**2, 2.5*m*l**2, m*l**2/9)
    system = System.from_newtonian(ground)
    system.add_joints(
        cls('joint', ground, body, child_point=l*body.y + l*body.x),
        PinJoint('pin', body, tip, joint_axis=body.y, parent_point=l*body.z,
                 child_point=l*tip.x))
    system.apply_uniform_gravity(-g*ground.y + g*ground.z - g*ground.x)
    method = RouthMethod.from_method(system)
    equations = compile_equations(method, {m: 1.3, g: 9.81, l: 0.4})
    x = np.random.default_rng(4).uniform(-1, 1, len(equations.states))
    numbers = method.joint_reactions().function(equations)(0., x)
    check(system, equations, x, numbers)
    vanishing = {'FM': (0, 3), 'F': (0,), 'M': (3,), 'plane': (1, 2, 3),
                 'ball': (3, 4, 5)}[free]
    value = numbers['joint']
    assert abs(value[list(vanishing)]).max() < CLOSE
    assert np.count_nonzero(abs(value) > 1e-3) == 6 - len(vanishing)


def test_bicycle():
    """Contact forces of the wheels, axles and steering.

    The velocity of the rear wheel is put in by hand, which holds its contact
    point: the moment there vanishes, as do those about the free axes.
    """
    given = model('bicycle')
    N, bodies = given.arguments['frame'], given.arguments['bodies']
    frame, fork, rear, front = bodies
    contact = point_of(rear, 'rear_contact')
    touching = point_of(front, 'front_contact')
    steer = point_of(rear, 'steer')
    upright = next(B for B in frame.frame._dcm_dict if B.name == 'R')
    level = next(B for B in upright._dcm_dict if B.name == 'Y')
    method = UdwadiaKalabaMethod(**{
        **given.arguments, 'velocity_constraints': [
            (touching, axis) for axis in level]})
    equations, x = compiled(given, method)
    reactions = method.joint_reactions([
        ('road', None, rear, contact),
        ('rear axle', rear, frame, rear.masscenter),
        ('steering', frame, fork, steer),
        ('front axle', fork, front, front.masscenter)])
    numbers = reactions.function(equations)(0., x)

    values = {**given.parameters, **dict(zip(equations.states, x)), **dict(
        zip(method.q.diff(), equations.rhs(0., x))), **dict(
        zip(method.u.diff(), equations.accelerations(0., x)))}

    def numbered(vector):
        matrix = vector.to_matrix(N)
        return np.array(lambdify(list(values), matrix, cse=True)(
            *values.values()), float).ravel()

    balance = {body: 0*numbered(N.x) for body in bodies}
    moments = {body: 0*numbered(N.x) for body in bodies}

    def act(body, point, force, moment=(0, 0, 0)):
        arm = numbered(point.pos_from(body.masscenter))
        balance[body] += force
        moments[body] += moment + np.cross(arm, force)

    for name, inner, outer, point in (
            ('road', None, rear, contact),
            ('rear axle', rear, frame, rear.masscenter),
            ('steering', frame, fork, steer),
            ('front axle', fork, front, front.masscenter)):
        force, moment = numbers[name][:3], numbers[name][3:]
        act(outer, point, force, moment)
        if inner:
            act(inner, point, -force, -moment)
    rows = [value for name, value in numbers.items() if 'row' in name]
    act(front, touching, sum(rows)[:3])
    for body, (_, weight) in zip(bodies, given.arguments['forcelist']):
        act(body, body.masscenter, numbered(weight))
    for body in bodies:
        rate = body.masscenter.vel(N).dt(N)*body.mass
        spin = body.central_inertia.dot(body.frame.ang_vel_in(N)).dt(N)
        assert np.allclose(balance[body], numbered(rate), 0, 1e-9)
        assert np.allclose(moments[body], numbered(spin), 0, 1e-9)
    for name, axis in (('rear axle', frame.y), ('front axle', fork.y),
                       ('steering', fork.x), ('road', N.x), ('road', N.y),
                       ('road', N.z)):
        assert abs(numbers[name][3:] @ numbered(axis)) < 1e-9


# -- rows given geometrically ----------------------------------------------

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
    given = {
        'configuration': {'configuration_constraints': rows},
        'velocity': {'configuration_constraints': [
            corner.pos_from(tip).dot(axis) for axis in axes],
            'velocity_constraints': rows},
        'acceleration': {'acceleration_constraints': rows},
        'expressions': {'configuration_constraints': [
            tip.pos_from(corner).dot(axis) for axis in axes]}}
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
    assert np.allclose(
        hook[:3], [1.3*du[0], 1.3*(du[1] + 9.81), 0], 0, CLOSE)
    # the mass centre of the arm is at rest in the pin
    assert np.allclose(numbers['pin'][:3], hook[:3], 0, CLOSE)
    assert abs(numbers['pin'][3:]).max() < CLOSE
    if level != 'expressions':          # its loads are the constraint forces
        work = sum((where.vel(N) if isinstance(where, Point) else
                    where.ang_vel_in(N)).diff(u, N).dot(vector)
                   for where, vector in method.constraint_loads()
                   for u in [method.u[2]])
        values = {**dict(zip(equations.states, x)), **dict(zip(
            equations.constants, equations.parameters()))}
        assert np.isclose(float(work.subs(values)),
                          equations.constraint_forces(0., x)[2], 0, CLOSE)


# -- along a motion ---------------------------------------------------------

def test_histories(tmp_path):
    system, ground, rod = pendulum()
    method = UdwadiaKalabaMethod.from_method(system)
    numbers = {m: 1.3, g: 9.81, l: 0.4}
    reactions = method.joint_reactions(frame=rod.frame)
    motion = simulate(method, 2, [1., 0.], constants=numbers, t_eval=21,
                      rtol=1e-11, reactions=reactions)
    q, w = motion.x.T
    pin = motion.reactions['pin']
    # by the energy alone: w^2 = 3*g/(2*l)*(cos(q) - cos(1)) for I = 4/3*m*l^2
    assert np.allclose(pin[:, 1], 1.3*9.81*(
        np.cos(q) + 1.5*(np.cos(q) - np.cos(1))), 0, 1e-6)
    assert np.allclose(motion.to_table()['F_y pin'], pin[:, 1], 0, 0)
    motion.save(tmp_path/'motion.npz')
    again = Trajectory.load(tmp_path/'motion.npz')
    assert (again.reactions['pin'] == pin).all()


def test_pictures_have_units():
    plotting = pytest.importorskip('sympy_constrained.plotting')
    method = UdwadiaKalabaMethod.from_method(arm(2))
    reactions = method.joint_reactions()
    motion = simulate(method, 0.1, 4*[0.1], constants={m: 1, g: 9.81, l: 1},
                      reactions=reactions, units={'force': 'N'})
    figure = plotting.plot_reactions(motion)
    above, below = figure.axes
    assert above.get_ylabel() == 'in N' and below.get_ylabel() == ''
    assert np.allclose(above.lines[0].get_ydata(), np.linalg.norm(
        motion.reactions['pin0'][:, :3], axis=1))
    figure = plotting.plot_reactions(motion, 'pin1')
    assert [len(ax.lines) for ax in figure.axes] == [3, 3]


# -- what is refused --------------------------------------------------------

def refused(case):
    system = model('four_bar').system if 'row' in case else pendulum()[0]
    options = {}
    if case == 'potential':
        system.bodies[1].potential_energy = m*g*system.q[0]
        options['potential_energy'] = 'include'
    method = UdwadiaKalabaMethod.from_method(system, **options)
    ground, link, *others = system.bodies
    if case == 'higher':
        method = GibbsAppellMethod.from_method(
            system, acceleration_constraints=[system.u[0].diff().diff()])
    if case == 'shared':                # two bodies with one mass centre
        twin = RigidBody('twin', link.masscenter, mass=m)
        system.add_joints(PinJoint('twins', link, twin))
        system.add_loads(Force(twin, m*g*ground.x))
        method = UdwadiaKalabaMethod.from_method(system)
    if case == 'wrong row':
        return method.joint_reactions(rows=[(link.frame, ground.z)])
    if case == 'loop':
        return method.joint_reactions(
            [*system.joints, ('again', ground, link, link.masscenter)])
    return method.joint_reactions()


@pytest.mark.parametrize('case, error, match', [
    ('row without a place', ConstraintError, 'holonomic row 0, holonomic'),
    ('wrong row', ConstraintError, 'Entry 0 of `rows`'),
    ('potential', UnsupportedFeatureError, 'potential energy'),
    ('higher', UnsupportedFeatureError, 'higher order'),
    ('shared', KinematicsError, 'mass centre of rod, twin'),
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
    reactions = method.joint_reactions(constants={g: 9.81})
    assert np.allclose(reactions.function(equations)(0., [1, 2])['guide'],
                       [0, 2*9.81, 0, 0, 0, 0], 0, CLOSE)


def test_other_speeds_are_refused():
    given = model('slider_crank')
    method = VoronetsMethod.from_method(given.system)
    reactions = method.joint_reactions(())
    with pytest.raises(UnsupportedFeatureError, match='other speeds'):
        reactions.function(compile_equations(method, given.parameters))


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
    axes = contact.normal, *contact.tangents
    reactions = method.joint_reactions(
        [('axle', ball, weight, P)],
        rows=[(contact.child_point, axis, contact.parent_point)
              for axis in axes])
    equations = compile_equations(
        method, {m: 1.3, k: 0.7, g: 9.81, l: 0.4, T: 0.3})
    state = consistent_state(equations, [
        0.1, 0.2, 0.4, 0.3, 0.8, 0.2, 0.4, 0, 0, 0, 1, 0.5])
    numbers = reactions.function(equations)(0., state)
    plane = sum(value for name, value in numbers.items() if 'row' in name)
    share = 0.4*1.3/(0.4*1.3 + 2)
    assert np.allclose(plane[:3], 2*9.81*np.array(
        [-share*np.sin(0.3), 0, np.cos(0.3)]), 0, CLOSE)
    along = 9.81*np.sin(0.3)*(1 - share)
    assert abs(plane[3:]).max() == 0
    assert np.allclose(numbers['axle'], 0.7*np.array([
        along - 9.81*np.sin(0.3), 0, 9.81*np.cos(0.3), 0, 0, 0]), 0, CLOSE)
