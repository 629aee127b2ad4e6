"""Rolling point contact: the cases (a) to (f) of the theory page, its
benchmark states, and what holds for any pair of surfaces.

The body of :class:`contacts.Scene` is free; whatever it rolls on is fixed or
turns at a given rate. Numbers without a formula were computed independently,
from Newton-Euler equations, and are cited with 10 digits.
"""
import math

import numpy as np
import pytest
from sympy import Matrix, Rational, Symbol, cos, sin, symbols
from sympy.physics.mechanics import (
    Force, KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame,
    RigidBody, System, WrappingCylinder, WrappingSphere, dynamicsymbols,
    inertia)

from contacts import (
    GRAVITY, Scene, ball, disc, ellipsoid, number, t, torus)
from sympy_constrained import (
    CircularRim, ConeSurface, ConstraintError, CylinderSurface,
    EllipsoidSurface, HamelEmbedding, KinematicsError, LinearMappingMethod,
    MissingIngredientError, ParametricCurve, ParametricSurface, PlaneSurface,
    PointContact, RouthMethod, SphereSurface, SurfaceOfRevolution,
    TorusSurface, UdwadiaKalabaMethod, UnsupportedFeatureError, VertexPoint)
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)

FORMULATIONS = ('explicit', 'augmented', 'kinematic')
each_formulation = pytest.mark.parametrize('formulation', FORMULATIONS)
GUESS = {ball: (1.5, 2.5, 0, 0), ellipsoid: (1.5, 2, 0, 0),
         torus: (1.5, 0.3, 0, 0), disc: (1.5, 0, 0)}


def on_plane(make, formulation='explicit', mode='rolling', **options):
    """A body on the plane, and a rolling start."""
    scene = make(**options)
    contact = scene.touch(scene.plane(), scene.surface, mode=mode,
                          formulation=formulation)
    return scene, contact, scene.start(guess=GUESS[make], place=(0, 0, 0.4))


def vector(values, frame, v):
    """Measure numbers of a vector."""
    return np.array([float(number(x, values)) for x in v.to_matrix(frame)])


def solved(method, values):
    """Compiled equations, the state, and its accelerations by symbol."""
    compiled = compile_equations(method)
    x = np.array([values[y] for y in compiled.states])
    rates = dict(zip(compiled.states, compiled.rhs(0, x)))
    return compiled, x, rates


def accelerations(scene, values, **options):
    _, _, rates = solved(scene.method(**options), values)
    return np.array([rates[u] for u in scene.u])


# -- benchmark states ----------------------------------------------------

STATES = {
    ellipsoid: {
        'height': [0.384470329522],
        'place': [0.367618880425, -0.128531910201, -0.179040595776],
        'velocity': [-0.056182983369, -0.489754646157, -0.166609113653],
        'trace': [-0.181355670541, -0.386906473976],
        'acceleration': [-2.244489997979, -1.557757255057, -1.530567827512],
        'turning': [4.784546980250, -6.378927566412, 0.011431102542],
        'force': [-3.815632996564, -2.648187333596, 14.075034693229]},
    torus: {
        'height': [0.335332798175],
        'place': [0.206592386305, -0.015442720584, -0.279489513433],
        'velocity': [-0.082324378777, -0.196996193359, -0.027198828048],
        'trace': [-0.242060021667, -0.221269174259],
        'acceleration': [1.141784641712, -1.284665638905, -0.423411581929],
        'turning': [4.482729738345, 3.433029019562, 0.085850942805],
        'force': [2.283569283423, -2.569331277811, 18.773176836142]},
    disc: {
        'height': [0.247288425085],
        'place': [0.154548052435, 0, -0.209081083527],
        'velocity': [-0.049681128273, -0.136063367577, -0.023572317642],
        'trace': [-0.188118685445, -0.157099951024],
        'acceleration': [1.470030873664, -1.703993043538, -0.693560092951],
        'turning': [7.648930480641, 5.986838379691, 0.048880289747],
        'force': [5.042205896667, -5.844696139337, 31.269388881179]}}


@each_formulation
@pytest.mark.parametrize('make', STATES)
def test_benchmark_states(make, formulation):
    scene, contact, values = on_plane(make, formulation)
    method = scene.method()
    compiled, x, rates = solved(method, values)
    changes = np.array([rates[u] for u in scene.u])
    place = contact.child_point.pos_from(scene.C)
    found = {
        'height': [values[scene.q[2]]],
        'place': vector(values, scene.B, place),
        'velocity': [values[v] for v in scene.u[:3]],
        'trace': vector(values, scene.N, contact.trace_velocities()[1])[:2],
        'acceleration': changes[:3], 'turning': changes[3:],
        'force': scene.mass*(changes[:3] + [0, 0, GRAVITY])}
    for name, expected in STATES[make].items():
        assert np.allclose(found[name], expected, rtol=0, atol=2e-11), name
    reaction = number(contact.normal_reaction(method), values)
    assert abs(reaction - STATES[make]['force'][2]) < 1e-10


@each_formulation
def test_multipliers_are_the_contact_force(formulation):
    scene, contact, values = on_plane(ellipsoid, formulation)
    compiled, x, _ = solved(scene.method(), values)
    force = STATES[ellipsoid]['force']
    found = compiled.multipliers(0, x)
    assert np.allclose(found[-2:], [
        np.dot(force, vector(values, scene.N, e)) for e in contact.tangents])
    if formulation == 'augmented':      # those of C2 vanish
        assert np.allclose(found[:5], [0, 0, force[2], 0, 0], atol=1e-12)


# -- the same motion in three formulations -------------------------------

def motion(contact_of, t_end, count=26):
    """Coordinates of the body over time."""
    scene, values = contact_of
    method = scene.method()
    run = simulate(method, t_end, [values[x] for x in compile_equations(
        method).states], rtol=1e-11, atol=1e-12, t_eval=count)
    assert run.success and run.largest_residual < 1e-10
    return np.array([run[q] for q in scene.q])


def in_bowl(formulation, lagrange=False):
    """An ellipsoid in a spherical bowl that turns and is off centre."""
    scene = ellipsoid(turning=Rational(7, 10)*t, lagrange=lagrange)
    centre = scene.O.locatenew('S', 0.3*scene.P.x)
    bowl = SphereSurface(scene.P, centre, 2, interior=True, pole=scene.P.y)
    scene.touch(bowl, scene.surface, formulation=formulation)
    return scene, scene.start(guess=(1.5, 2, 1.5, 1.5), place=(0.1, 0.2, -2))


@pytest.mark.parametrize('make', [ball, torus, ellipsoid])
def test_three_formulations_give_the_same_motion(make):
    runs = [motion(on_plane(make, f)[::2], 5) for f in FORMULATIONS]
    for run in runs[1:]:
        assert abs(run - runs[0]).max() < 1e-7


def test_formulations_agree_in_a_rotating_bowl():
    """There is no closed form; Lagrange's shape is the third way."""
    runs = [motion(in_bowl(*which), 5) for which in (
        ('augmented',), ('kinematic',), ('augmented', True))]
    for run in runs[1:]:
        assert abs(run - runs[0]).max() < 1e-7


# -- (a) ball on a plane -------------------------------------------------

def test_a_pushed_ball():
    m, F = 1.5, 7/3
    scene, contact, values = on_plane(ball, force=(F, 0, 0))
    method = scene.method()
    compiled, x, rates = solved(method, values)
    assert math.isclose(rates[scene.u[0]], 5*F/(7*m))
    normal, *friction = compiled.multipliers(0, x)
    assert math.isclose(normal, m*GRAVITY)
    assert np.allclose(friction @ np.array([vector(
        values, scene.N, e) for e in contact.tangents]), [-2*F/7, 0, 0])
    loads = contact.reaction_loads(normal, *friction)
    assert np.allclose(vector(values, scene.N, loads[0].vector + loads[
        1].vector), 0)
    assert np.allclose(vector(values, scene.N, loads[0].point.vel(scene.N)),
                       0)


@pytest.mark.parametrize('formulation', FORMULATIONS)
def test_a_incline(formulation):
    slope = 0.3
    normal = sin(slope), 0, cos(slope)
    scene = ball()
    incline = PlaneSurface(scene.P, scene.O, sum(
        (c*e for c, e in zip(normal, scene.N)), 0*scene.N.x))
    contact = scene.touch(incline, scene.surface, formulation=formulation)
    values = scene.start(guess=(1.5, 2.5, 0, 0), place=(0, 0, 0.3))
    method = scene.method()
    _, _, rates = solved(method, values)
    found = np.array([rates[u] for u in scene.u])
    down = np.array([cos(slope), 0, -sin(slope)], float)
    assert np.allclose(found[:3], 5/7*GRAVITY*math.sin(slope)*down)
    assert abs(found[3:] @ np.array(normal, float)) < 1e-12
    assert math.isclose(number(contact.normal_reaction(method), values),
                        1.5*GRAVITY*math.cos(slope))


@pytest.mark.parametrize('ratio', [math.sqrt(3), 0.2])
def test_a_ball_rolled_around_a_circle(ratio):
    """Without pivoting it has turned by ``2 pi sqrt(1 + rho^2/R^2)``."""
    scene, contact, values = on_plane(ball, mode='no_pivoting')
    R, count = 0.3, 2000
    rows = Matrix(contact.nonholonomic_constraints)
    B = np.array(rows.jacobian(scene.u[3:]), float)
    V = np.array(rows.jacobian(scene.u[:3]), float)
    turned, step = np.eye(3), 2*math.pi/count
    for k in range(count):
        phi = (k + 0.5)*step
        velocity = ratio*R*np.array([-math.sin(phi), math.cos(phi), 0])
        turned = rotation(np.linalg.solve(B, -V @ velocity)*step) @ turned
    angle = 2*math.pi*math.sqrt(1 + ratio**2)
    assert math.isclose(np.trace(turned), 1 + 2*math.cos(angle),
                        abs_tol=1e-5)


def rotation(v):
    """The rotation matrix of a rotation vector."""
    x, y, z = v
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    size = np.linalg.norm(v)
    return (np.eye(3) + math.sin(size)/size*cross
            + (1 - math.cos(size))/size**2*cross @ cross)


# -- (b) ball in a cylinder, on and in a sphere --------------------------

def in_cylinder(k, turn=3., a=1., r=0.1, formulation='auto'):
    scene = ball(r=r, k=k)
    contact = scene.touch(
        CylinderSurface(scene.P, scene.O, a, scene.N.z, interior=True),
        scene.surface, formulation=formulation)
    speeds = (0, (a - r)*turn, 0, 0, 0, -(a - r)*turn/r)
    values = dict(zip((*scene.q, *scene.u), (a - r, 0, 0, 0.3, 1.2, 0.5,
                                             *speeds)))
    return scene, contact, values


@pytest.mark.parametrize('k', [2/5, 2/3])
def test_b_ball_in_a_vertical_cylinder(k):
    turn, a, r = 3., 1., 0.1
    scene, contact, values = in_cylinder(k)
    method = scene.method()
    run = simulate(method, 5, values, rtol=1e-11, atol=1e-12, t_eval=51)
    rate = turn*math.sqrt(k/(1 + k))
    height = -GRAVITY/(k*turn**2)*(1 - np.cos(rate*run.t))
    assert abs(run[scene.q[2]] - height).max() < 1e-8
    reaction = compile_equations(method).multipliers(0, run.x[-1])[0]
    assert math.isclose(reaction, 1.5*(a - r)*turn**2, rel_tol=1e-9)


def on_sphere(inside, a=2, r=0.3, k=0.4, place=(0.6, 0.4)):
    """A ball on or in a fixed sphere, at two angles of the radius."""
    scene = ball(r=r, k=k)
    contact = scene.touch(
        SphereSurface(scene.P, scene.O, a, interior=inside), scene.surface)
    radius = a - r if inside else a + r
    tilt, around = place
    e = np.array([math.sin(tilt)*math.cos(around),
                  math.sin(tilt)*math.sin(around), math.cos(tilt)])
    values = dict(zip(scene.q, (*radius*e, 0.3, 0.7, 0.5)))
    values.update(zip(scene.u[3:], (0.8, -0.5, 1.2)))
    values.update(scene.rolling(contact, values))
    return scene, contact, {x: float(v) for x, v in values.items()}, e, radius


@pytest.mark.parametrize('inside', [False, True])
def test_b_ball_on_and_in_a_sphere(inside):
    scene, contact, values, e, radius = on_sphere(inside)
    r, k, n = 0.3, 0.4, (-e if inside else e)
    found = accelerations(scene, values)
    v = np.array([values[u] for u in scene.u[:3]])
    spin = np.array([values[u] for u in scene.u[3:]]) @ n
    up = np.array([0, 0, 1])
    assert np.allclose((1 + k)*np.cross(e, found[:3]) + k*r*spin*v/radius
                       + GRAVITY*np.cross(e, up), 0)
    # om.n is constant: om'.n + om.n' = 0
    turn = np.array([values[u] for u in scene.u[3:]]) @ v/radius
    assert math.isclose(found[3:] @ n, turn if inside else -turn,
                        abs_tol=1e-12)
    reaction = number(contact.normal_reaction(scene.method()), values)
    sign = -1 if inside else 1
    assert math.isclose(reaction, sign*1.5*(GRAVITY*e[2] - v @ v/radius))


def test_b_small_oscillation_in_a_bowl():
    tilt, radius = 1e-4, 1.7
    scene, _, values, _, _ = on_sphere(True, place=(math.pi - tilt, 0))
    values.update(dict.fromkeys(scene.u, 0.))
    found = accelerations(scene, values)
    assert math.isclose(found[0], -5*GRAVITY/(7*radius)*radius*tilt,
                        rel_tol=1e-6)


@pytest.mark.parametrize('k, cosine', [(2/5, 10/17), (2/3, 6/11)])
def test_b_rolling_off_the_top(k, cosine):
    scene, contact, values, e, radius = on_sphere(
        False, k=k, place=(0.01, 0.4))
    values.update(dict.fromkeys(scene.u, 0.))
    method = scene.method()
    compiled = compile_equations(method)
    event = contact.lift_off_event(method, compiled)
    run = simulate(compiled, 20, values, events=event, rtol=1e-10)
    assert [x.t for x in run.events] == [run.t[-1]]
    # From rest at the tilt 0.01 instead of the top.
    expected = 2*math.cos(0.01)/(3 + k)
    assert math.isclose(run[scene.q[2]][-1]/radius, expected, rel_tol=1e-7)
    assert math.isclose(2/(3 + k), cosine)
    # Before that, friction has exceeded any cone.
    slip = contact.slip_event(method, compiled, 0.5)
    early = simulate(compiled, 20, values, events=slip, rtol=1e-10)
    assert early.t[-1] < run.t[-1]
    tilt = math.acos(early[scene.q[2]][-1]/radius)
    normal = ((3 + k)*math.cos(tilt) - 2*math.cos(0.01))/(1 + k)
    friction = k*math.sin(tilt)/(1 + k)
    assert math.isclose(friction, 0.5*normal, rel_tol=1e-6)


@pytest.mark.parametrize('factor, stable', [(1.01, True), (0.99, False)])
def test_b_spinning_on_top(factor, stable):
    a, r = 2, 0.3
    scene, _, values, _, radius = on_sphere(False, place=(0, 0))
    spin = factor*math.sqrt(35*GRAVITY*(a + r)/r**2)
    compiled = compile_equations(scene.method())

    def rates(tilts, velocity):
        e = np.array([*tilts, math.sqrt(1 - tilts @ tilts)])
        v = np.array([*velocity, -velocity @ tilts/e[2]])*radius
        omega = np.cross(e, v)/r + spin*e
        state = {**values, **dict(zip(scene.q, radius*e)),
                 **dict(zip(scene.u, (*v, *omega)))}
        x = [state[y] for y in compiled.states]
        return compiled.accelerations(0, x)[:2]/radius

    h = 1e-5
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    for j in range(4):
        y = np.zeros(4)
        y[j] = h
        A[2:, j] = (rates(y[:2], y[2:]) - rates(-y[:2], -y[2:]))/(2*h)
    # 7 rho w'' - 2 i s r w' - 5 g w = 0
    expected = [1j*z for z in np.roots([-7*radius, 2*spin*r, -5*GRAVITY])]
    found = np.linalg.eigvals(A)
    for z in expected:
        assert min(abs(found - z)) < 1e-5*abs(z) + (1e-4 if stable else 1e-4)
    assert (max(found.real) < 1e-3) == stable


# -- (c) thin disc -------------------------------------------------------

def turned(axis, angle):
    return rotation(np.array([angle*(axis == k) for k in range(3)]) + 0.)


def test_c_disc_of_the_regression_test():
    angles, speeds = (0.3, 0.1, 1.97), np.array([-0.2, 1.3, 0.15])
    A = (turned(2, angles[0]) @ turned(0, angles[1]) @ turned(1, angles[2]))
    scene = disc(order='zxy')
    contact = scene.touch(scene.plane(), scene.surface)
    values = scene.start(angles=angles, omega=A @ speeds)
    found = accelerations(scene, values)
    assert np.allclose(A.T @ found[3:], [
        -0.925848952664489, -0.0181350656532944, 2.91695398184589],
        rtol=0, atol=1e-12)
    trace = contact.trace_velocities()[1]
    assert np.allclose(vector(values, scene.N, trace)[:2], [
        0.319764288376543, 0.0989146857254898], rtol=0, atol=1e-13)
    compiled, x, rates = solved(scene.method(), values)
    moving = {**values, **{y.diff(t): rates[y] for y in compiled.states}}
    assert np.allclose(vector(moving, scene.N, trace.dt(scene.N))[:2], [
        -0.00992793421754526, 0.0412861634829171], rtol=0, atol=1e-12)


def reduced_modes(scene, omega, tilts):
    """Eigenvalues about a motion that looks the same from the yaw frame.

    The variables are the tilts and the angular velocity in the yaw frame.
    """
    compiled = compile_equations(scene.method())
    index = {x: k for k, x in enumerate(compiled.states)}
    free = [*scene.q[:2], *scene.q[3:], *scene.u[3:]]
    count = len(tilts)

    def rates(y):
        guess = dict.fromkeys(compiled.states, 0.)
        guess[scene.q[2]] = 0.3
        guess.update(zip(tilts, y))
        guess.update(zip(scene.u[3:], y[count:]))
        x = consistent_state(compiled, guess, fixed=free)
        f = compiled.rhs(0, x)
        w = y[count:]
        yaw = f[index[scene.q[3]]]
        turn = [f[index[u]] for u in scene.u[3:]]
        return np.array([*(f[index[q]] for q in tilts),
                         *(turn - yaw*np.cross([0, 0, 1], w))])

    start = np.array([*[0.]*count, *omega])
    h = 1e-3
    columns = []
    for e in np.eye(count + 3)*h:
        columns.append((8*(rates(start + e) - rates(start - e))
                        - rates(start + 2*e) + rates(start - 2*e))/(12*h))
    return np.linalg.eigvals(np.array(columns).T)


@pytest.mark.parametrize('make, R, r', [(disc, 0.26, 0), (torus, 0.3, 0.05)])
@pytest.mark.parametrize('factor', [0.9, 1.2])
def test_c_e_straight_rolling_of_wheels(make, R, r, factor):
    scene = make(order='zxy')
    scene.touch(scene.plane(), scene.surface)
    m, g, H = scene.mass, GRAVITY, R + r
    A, C, _ = scene.moments
    critical = A*m*g*R/(C*(C + m*H**2))
    if make is disc:
        assert math.isclose(critical, g/(3*R))
    speed2 = factor*critical
    found = reduced_modes(scene, (0, math.sqrt(speed2), 0), [scene.q[4]])
    square = -((C + m*H**2)*C*speed2/A - m*g*R)/(A + m*H**2)
    nearest = min(abs(found**2 - square))
    assert nearest < 1e-6*abs(square)
    assert (max(found.real) > 0.1) == (factor < 1)


# -- (d) ellipsoid -------------------------------------------------------

def test_d_rocking_on_the_end_of_an_axis():
    a, b, c = 0.5, 0.4, 0.3
    scene = ellipsoid((a, b, c), order='zxy')
    scene.touch(scene.plane(), scene.surface)
    found = reduced_modes(scene, (0, 0, 0), scene.q[4:])
    for x in (a, b):
        square = 5*GRAVITY*(x**2 - c**2)/(c*(x**2 + 6*c**2))
        assert min(abs(found**2 + square)) < 1e-6*square


def rattleback(product=-2e-5):
    scene = Scene(moments=(2e-4, 1.6e-3, 1.7e-3), products=(product, 0, 0),
                  mass=1, masscenter=(0, 0, -0.01), order='zxy')
    shape = EllipsoidSurface(scene.B, scene.C, (0.2, 0.03, 0.02))
    scene.touch(scene.plane(), shape)
    return scene


def test_d_spectrum_of_the_rattleback():
    spectra = {spin: reduced_modes(rattleback(), (0, 0, spin), q[4:])
               for q in [rattleback().q] for spin in (5, -5)}
    for value in (-2.1207 + 109.392j, 0.2025 + 34.144j):
        assert min(abs(spectra[5] - value)) < 2e-3
        assert min(abs(spectra[-5] + value)) < 2e-3
    scene = rattleback(0)
    assert max(abs(reduced_modes(scene, (0, 0, 5), scene.q[4:]).real)) < 1e-3


def test_d_rattleback_reverses():
    scene = rattleback()
    tilt = math.radians(0.5)
    values = scene.start(angles=(0, tilt, tilt), omega=(0, 0, -5),
                         place=(0, 0, 0.02))
    method = scene.method()
    run = simulate(method, 5, values, t_eval=501, rtol=1e-9)
    turning = scene.body.frame.ang_vel_in(scene.N)
    spin = compile_equations(method).expression(turning.dot(scene.B.z))
    spins = [spin(0, x) for x in run.x]
    for start, mean in (0, -4.20), (1, -1.92), (4, 2.82):
        part = spins[100*start:100*start + 100]
        assert abs(np.mean(part) - mean) < 0.005
    assert np.ptp(run.energy - run.work) < 1e-7


# -- (f) turntable -------------------------------------------------------

def on_turntable(k=0.4, rate=Rational(3, 2), **options):
    scene = ball(k=k, turning=rate*t, **options)
    contact = scene.touch(scene.plane(), scene.surface)
    return scene, contact, scene.start(place=(0.4, -0.2, 0.3))


@pytest.mark.parametrize('k', [2/5, 2/3])
def test_f_turntable(k):
    rate = 1.5
    scene, contact, values = on_turntable(k)
    turn = k/(1 + k)*rate
    v0 = np.array([values[u] for u in scene.u[:2]])
    assert np.allclose(accelerations(scene, values)[:2],
                       turn*np.array([-v0[1], v0[0]]))
    run = simulate(scene.method(), 2*math.pi/turn, values, t_eval=21,
                   rtol=1e-11, atol=1e-12)
    path = np.array([run[q] for q in scene.q[:2]])
    centre = path[:, :1] + np.array([[-v0[1]], [v0[0]]])/turn
    assert np.allclose(np.linalg.norm(path - centre, axis=0),
                       np.linalg.norm(v0)/turn, rtol=0, atol=1e-8)
    assert np.allclose(path[:, -1], path[:, 0], rtol=0, atol=1e-8)
    assert math.isclose(number(contact.normal_reaction(scene.method()),
                               {**values, t: 0}), 1.5*GRAVITY)


def test_f_drift_on_a_tilted_turntable():
    """In steady drift nothing accelerates; gravity pulls along x."""
    pull, rate, k, m = 0.9, 1.5, 0.4, 1.5
    scene, contact, values = on_turntable(force=(m*pull, 0, 0))
    drift = np.array([0, pull/(k*rate), 0])
    values.update(zip(scene.u[:3], drift))
    # om from rolling on the table at this place
    x, y = (values[q] for q in scene.q[:2])
    slip = drift - rate*np.array([-y, x, 0])
    omega = np.cross([0, 0, 1], slip)/0.3
    values.update(zip(scene.u[3:], omega))
    for row in contact.slip_velocity:
        assert abs(number(row, {**values, t: 0})) < 1e-12
    assert np.allclose(accelerations(scene, values)[:3], 0, atol=1e-12)


def test_f_traces_are_equal_on_ball_and_table():
    scene, contact, values = on_turntable()
    first, second = (number(x, {**values, t: 0})
                     for x in contact.trace_speeds())
    assert math.isclose(first, second)
    v = math.hypot(*(values[u] for u in scene.u[:2]))
    assert abs(first - v) > 0.1         # the path in the inertial frame


# -- structure -----------------------------------------------------------

def sloping(scene, formulation, mode='rolling'):
    """An ellipsoid in the rotating bowl, closed but not rolling."""
    centre = scene.O.locatenew('S', 0.3*scene.P.x)
    bowl = SphereSurface(scene.P, centre, 2, interior=True, pole=scene.P.y)
    return scene.touch(bowl, scene.surface, formulation=formulation,
                       mode=mode)


def random_motion(scene, contact, rng, **options):
    """A closed contact with random speeds, not on any velocity row."""
    values = scene.start(guess=(1.5, 2, 1.5, 1.5), place=(0.1, 0.2, -2),
                         **options)
    values.update({u: rng.uniform(-1, 1) for u in scene.u})
    return {**values, t: 0}


def jacobian_rank(rows, unknowns, values):
    J = np.array([[float(number(row.diff(x), values)) for x in unknowns]
                  for row in rows])
    return np.linalg.matrix_rank(J, tol=1e-9)


def test_ranks_of_the_rows(rng):
    scene = ellipsoid(turning=0.7*t)
    contact = sloping(scene, 'augmented', 'no_pivoting')
    values = random_motion(scene, contact, rng)
    closure = contact.holonomic_constraints
    every = [*scene.q, *contact.coordinates]
    assert jacobian_rank(closure, every, values) == 5
    assert jacobian_rank(closure, contact.coordinates, values) == 4
    speeds = [*scene.u, *contact.speeds]
    rows = contact.velocity_constraints
    assert jacobian_rank(rows[:7], speeds, values) == 7
    assert jacobian_rank(rows, speeds, values) == 8
    assert jacobian_rank([*rows[:7], contact.normal_velocity], speeds,
                         values) == 7

    scene, contact, values = on_plane(ellipsoid, mode='no_pivoting')
    rows = contact.velocity_constraints
    assert jacobian_rank(rows[:3], scene.u, values) == 3
    assert jacobian_rank(rows, scene.u, values) == 4
    assert jacobian_rank([*rows[:3], *contact.relative_velocity.to_matrix(
        scene.N)], scene.u, values) == 3


def test_rates_of_contact_satisfy_the_differentiated_closure(rng):
    """Section 5 for a sliding contact with a turning parent."""
    scene = ellipsoid(turning=0.7*t)
    contact = sloping(scene, 'augmented', 'sliding')
    values = random_motion(scene, contact, rng)
    v3 = scene.u[2]                     # closes the normal velocity
    base = number(contact.normal_velocity, {**values, v3: 0})
    slope = number(contact.normal_velocity, {**values, v3: 1}) - base
    values[v3] = -base/slope
    rates = contact.contact_kinematics()
    moving = {**values, **{u: number(rates[x.diff(t)], values)
                           for x, u in zip(contact.coordinates,
                                           contact.speeds)}}
    assert len(contact.velocity_constraints) == 5
    for row in contact.velocity_constraints:
        assert abs(number(row, moving)) < 1e-15
    # The rates of the rows are their derivatives.
    kin = {x.diff(t): u for x, u in zip(contact.coordinates, contact.speeds)}
    moving.update(angle_values(scene, moving))
    for row, rate in zip(contact.holonomic_constraints,
                         contact.velocity_constraints):
        exact = row.diff(t).subs(kin)
        assert abs(number(exact, moving) - number(rate, moving)) < 1e-14


def angle_values(scene, values):
    """Rates of the coordinates of the body."""
    result = {}
    for row, q in zip(scene.kdes, scene.q):
        rate = q.diff(t)
        result[rate] = number(rate - row, {**values, rate: 0})
    return result


@pytest.mark.parametrize('make', [ellipsoid, torus, disc, ball])
def test_explicit_and_augmented_quantities_agree(make, rng):
    values, found = {}, []
    for formulation in ('explicit', 'augmented'):
        scene, contact, start = on_plane(make, formulation, mode='sliding')
        values = {**start, **values}
        if formulation == 'explicit':
            values.update((u, rng.uniform(-1, 1)) for u in scene.u)
        values[scene.u[2]] = 0.
        lift = number(contact.normal_velocity, values)
        values[scene.u[2]] = -lift
        if contact.speeds:
            rates = contact.contact_kinematics()
            values.update((u, number(rates[x.diff(t)], values)) for x, u in
                          zip(contact.coordinates, contact.speeds))
        numbers = [number(x, values) for x in (
            *contact.slip_velocity, contact.pivot_speed,
            *contact.trace_speeds(), *contact.relative_curvature())]
        numbers += [*vector(values, scene.N, contact.normal), *vector(
            values, scene.N, contact.trace_velocities()[0])]
        found.append(np.array(numbers, float))
    assert np.allclose(*found, rtol=0, atol=1e-13)


@pytest.mark.parametrize('make', [ellipsoid, torus, ball])
def test_traces_of_rolling(make):
    """(23), and the difference of the geodesic curvatures."""
    scene, contact, values = on_plane(make, 'augmented')
    compiled, x, rates = solved(scene.method(), values)
    moving = {**values, **{y.diff(t): rates[y] for y in compiled.states}}
    first, second = (number(s, values) for s in contact.trace_speeds())
    assert math.isclose(first, second)
    a, b = (vector(values, scene.N, e) for e in contact.trace_tangents())
    assert np.allclose(a, b, rtol=0, atol=1e-14)
    bend1, bend2 = (number(k, moving) for k in contact.geodesic_curvatures())
    pivot = number(contact.pivot_speed, values)
    assert math.isclose(bend2 - bend1, pivot/first, rel_tol=1e-12)
    # Without the parameters the same.
    scene, contact, values = on_plane(make, 'explicit')
    compiled, x, rates = solved(scene.method(), values)
    moving = {**values, **{y.diff(t): rates[y] for y in compiled.states}}
    assert np.allclose([float(number(k, moving)) for k in
                        contact.geodesic_curvatures()],
                       [float(bend1), float(bend2)])


def test_contact_angle_turns_as_told():
    scene, contact, values = on_plane(ellipsoid, 'kinematic')
    tangents = (contact.parent_geometry.tangent_vectors()[0],
                contact.child_geometry.tangent_vectors()[0])
    base, turned = (x.normalize() for x in tangents)
    cosine, sine = base.dot(turned), contact.normal.dot(base ^ turned)
    compiled, x, rates = solved(scene.method(), values)
    moving = {**values, **{y.diff(t): rates[y] for y in compiled.states}}
    found = number(cosine*sine.diff(t) - sine*cosine.diff(t), moving)
    assert math.isclose(found, number(contact.contact_angle_rate(), values),
                        rel_tol=1e-12)


@pytest.mark.parametrize('formulation', ['explicit', 'augmented'])
def test_gap_gradient_and_virtual_displacements(formulation):
    scene, contact, values = on_plane(ellipsoid, formulation, lagrange=True)
    q = scene.q
    A = contact.virtual_displacement_matrix(q)
    if formulation == 'explicit':
        normal = contact.normal.to_matrix(scene.P)
        for j, x in enumerate(q):
            assert abs(number(contact.gap.diff(x), values)
                       - number((normal.T*A[:, j])[0], values)) < 1e-15
    found = contact.check_virtual_displacements(q, values)
    assert found.agree and found.virtual == 3
    open_gap = {**values, q[4]: values[q[4]] + 0.3}
    if formulation == 'augmented':      # false where the contact is not
        assert not contact.check_virtual_displacements(q, open_gap).agree


def test_turning_parent_leaves_no_trace_in_virtual_displacements():
    """The prescribed speed is in the rows but not in their matrix."""
    rate = Symbol('Omega')
    scene = ball(turning=rate*t, lagrange=True)
    contact = scene.touch(scene.plane(), scene.surface)
    A = contact.virtual_displacement_matrix(scene.q).subs(t, 0)
    assert not A.has(rate)
    assert all(row.subs(t, 0).diff(rate) != 0
               for row in contact.nonholonomic_constraints)


# -- methods -------------------------------------------------------------

def kane_arguments(scene, contact):
    z = scene.q[2]
    return dict(
        frame=scene.N, q_ind=[x for x in scene.q if x is not z],
        q_dependent=[z, *contact.coordinates], u_ind=scene.u[3:],
        u_dependent=[*scene.u[:3], *contact.speeds],
        kd_eqs=scene.kdes + contact.kdes,
        configuration_constraints=contact.holonomic_constraints,
        velocity_constraints=contact.velocity_constraints,
        bodies=[scene.body], forcelist=scene.loads)


@pytest.mark.parametrize('make', [ellipsoid, torus])
def test_kanes_method(make):
    scene, contact, values = on_plane(make)
    expected = STATES[make]['turning'] + STATES[make]['acceleration']
    arguments = kane_arguments(scene, contact)
    upstream = KanesMethod(**arguments)
    upstream.kanes_equations([scene.body], scene.loads)
    compiled = compile_equations(upstream)
    x = [values[y] for y in compiled.states]
    assert np.allclose(compiled.accelerations(0, x), expected, rtol=0,
                       atol=1e-10)
    ours = UdwadiaKalabaMethod(**arguments)
    assert len(ours.multipliers) == 3   # the gap's rate is no second row
    assert math.isclose(number(contact.normal_reaction(ours), values),
                        STATES[make]['force'][2], rel_tol=1e-10)


def test_rows_of_kanes_call_are_not_redundant_when_augmented():
    scene, contact, values = on_plane(ellipsoid, 'augmented')
    method = UdwadiaKalabaMethod(**kane_arguments(scene, contact))
    assert len(method.multipliers) == 7
    _, _, rates = solved(method, values)
    assert np.allclose([rates[u] for u in scene.u[:3]],
                       STATES[ellipsoid]['acceleration'], rtol=0, atol=1e-10)


def test_kanes_method_takes_more_coordinates_than_speeds():
    scene, contact, values = on_plane(ball, 'kinematic')
    q = [*scene.q, *contact.coordinates]
    upstream = KanesMethod(
        scene.N, q, scene.u[3:], scene.kdes + contact.kdes,
        u_dependent=scene.u[:3], bodies=[scene.body],
        velocity_constraints=contact.velocity_constraints,
        forcelist=scene.loads)
    assert upstream.q.rows == 10 and upstream.u.rows == 6
    assert upstream._Ars.shape == (3, 3)


@pytest.mark.parametrize('formulation', ['explicit', 'augmented'])
def test_lagranges_methods(formulation):
    scene, contact, values = on_plane(ball, formulation, lagrange=True,
                                      force=(2, 0, 0))
    upstream = scene.method(LagrangesMethod)
    upstream.form_lagranges_equations()
    count = len(upstream.q)
    full = Matrix([[number(x, values) for x in row] for row in
                   upstream.mass_matrix_full.tolist()])
    right = Matrix([number(x, values) for x in upstream.forcing_full])
    solution = np.linalg.solve(np.array(full, float),
                               np.array(right, float)[:, 0])
    assert math.isclose(solution[count], 2*5/(7*1.5))
    reaction = contact.normal_reaction(upstream).subs(
        dict(zip(upstream.lam_vec, solution[2*count:])))
    assert math.isclose(number(reaction, values), 1.5*GRAVITY)
    routh = scene.method(RouthMethod)
    assert math.isclose(number(contact.normal_reaction(routh), values),
                        1.5*GRAVITY)
    assert np.allclose(accelerations(scene, values), solution[
        count:count + 6])


@pytest.mark.parametrize('formulation', ['explicit', 'augmented'])
def test_other_methods(formulation):
    scene, contact, values = on_plane(ellipsoid, formulation, lagrange=True)
    expected = accelerations(scene, values)
    for cls in RouthMethod, LinearMappingMethod, HamelEmbedding:
        options = {}
        if cls is HamelEmbedding:
            options['q_dependent'] = [*scene.q[:3], *contact.coordinates]
        method = scene.method(cls, **options)
        compiled = compile_equations(method)
        if cls is RouthMethod:
            x = [full(values, contact)[y] for y in compiled.states]
            rates = dict(zip(compiled.states, compiled.rhs(0, x)))
            found = [rates[u] for u in scene.u]
            assert np.allclose(found, expected, rtol=0, atol=1e-9)
        else:
            assert len(compiled.states) < 2*len(method.q)


def full(values, contact):
    """With the rates of the contact coordinates."""
    rates = contact.contact_kinematics()
    return {**values, **{x: float(number(v, values))
                         for x, v in rates.items()}}


@pytest.mark.parametrize('formulation', FORMULATIONS)
def test_system(formulation):
    scene, contact, values = on_plane(ellipsoid, formulation)
    system = System(scene.N, scene.O)
    system.add_bodies(scene.body)
    z = scene.q[2]
    system.q_ind = [x for x in scene.q if x is not z or (
        formulation == 'kinematic')]
    system.q_dep = [] if formulation == 'kinematic' else [z]
    system.u_ind, system.u_dep = scene.u[3:], scene.u[:3]
    system.add_kdes(*scene.kdes)
    system.add_loads(*(Force(p, f) for p, f in scene.loads))
    contact.add_to_system(system)
    if formulation != 'kinematic':
        system.validate_system()
    system.form_eoms(eom_method=UdwadiaKalabaMethod)
    _, _, rates = solved(system.eom_method, values)
    assert np.allclose([rates[u] for u in scene.u[:3]],
                       STATES[ellipsoid]['acceleration'], rtol=0, atol=1e-10)


# -- several contacts, edges, vertices -----------------------------------

@pytest.mark.parametrize('formulation', FORMULATIONS)
def test_ball_in_a_groove(formulation):
    """Both contacts at rest: it turns about the line through them."""
    slope, k, m, r = 0.3, 0.4, 1.5, 0.3
    pull = m*GRAVITY*math.tan(slope)
    scene = ball(force=(pull, 0, 0))
    N = scene.N
    for name, side in (('left', 1), ('right', -1)):
        scene.contacts.append(PointContact(
            name, scene.parent, scene.body,
            PlaneSurface(N, scene.O, N.z + side*N.y), scene.surface,
            formulation=formulation))
    values = dict(zip(scene.q, (0, 0, r*math.sqrt(2), 0.3, 0.7, 0.5)))
    speed = 0.6
    values.update(zip(scene.u, (speed, 0, 0, 0, speed*math.sqrt(2)/r, 0)))
    for contact, side in zip(scene.contacts, (1, -1)):
        if contact.coordinates:
            # Where -n is on the ball, from the polar angles about B.x.
            n = np.array([0, side, 1])/math.sqrt(2)
            body = vector(values, scene.B, sum((x*e for x, e in zip(
                -n, N)), 0*N.x))
            guess = (math.atan2(body[2], body[1]), math.acos(body[0]), 0, 0)
            values.update(contact.solve_contact(
                values, dict(zip(contact.coordinates, guess))))
            assert abs(values.pop('gap')) < 1e-15
        rates = contact.contact_kinematics()
        values.update((u, number(rates[x.diff(t)], values)) for x, u in zip(
            contact.coordinates, contact.speeds))
    values = {x: float(v) for x, v in values.items()}
    found = accelerations(scene, values)
    assert np.allclose(found[:3], [pull/m/(1 + 2*k), 0, 0], atol=1e-10)


def test_vertex_that_does_not_slip_is_a_ball_joint(rng):
    """A pendulum on a needle: no-slip is integrable, ``zeta' = 0``."""
    for formulation in FORMULATIONS:
        scene = Scene(moments=(0.1, 0.2, 0.25), mass=2)
        tip = scene.C.locatenew('T', -0.5*scene.B.z)
        contact = scene.touch(scene.plane(), VertexPoint(scene.B, tip),
                              formulation=formulation)
        values = scene.start(place=(0, 0, 0.5), guess=(0, 0))
        found = accelerations(scene, values)
        rates = [number(x, values)
                 for x in contact.contact_kinematics().values()]
        assert np.allclose([float(x) for x in rates], 0)
        assert contact.relative_curvature().shape == (0, 0)
        if formulation == 'explicit':
            expected = found
        assert np.allclose(found, expected, rtol=0, atol=1e-10)
    # Moments about the tip: I w' + w x I w = r x m g
    r = 0.5*axis(values, scene)
    A = np.array(scene.B.dcm(scene.N).subs(values), float)
    w = A @ [values[u] for u in scene.u[3:]]
    inertia_ = np.diag([0.1, 0.2, 0.25]) + 2*0.25*np.diag([1, 1, 0])
    load = A @ np.cross(r, [0, 0, -2*GRAVITY])
    assert np.allclose(inertia_ @ (A @ found[3:]) + np.cross(
        w, inertia_ @ w), load, atol=1e-9)


def axis(values, scene):
    return np.array(scene.N.dcm(scene.B).subs(values), float)[:, 2]


def test_disc_counts_one_tangency_condition():
    scene, contact, values = on_plane(disc, 'augmented')
    assert len(contact.coordinates) == 3
    assert len(contact.holonomic_constraints) == 4
    # The trace is tangent to the rim.
    rim = contact.child_geometry.tangent_vectors()[0]
    trace = contact.trace_velocities()[0]
    assert np.allclose(vector(values, scene.N, rim ^ trace), 0, atol=1e-15)


def test_crossing_edges():
    """Two rods that cross: C1 only, and rolling keeps the parameters."""
    s = Symbol('s')
    found = []
    for formulation in ('augmented', 'kinematic'):
        scene = Scene(moments=(0.1, 0.2, 0.25), mass=2)
        rail = ParametricCurve(scene.P, scene.O, s*scene.P.y, s)
        rod = ParametricCurve(scene.B, scene.C, s*scene.B.x, s)
        contact = scene.touch(rail, rod, formulation=formulation)
        assert len(contact.coordinates) == 2
        values = scene.start(angles=(0.3, 0.4, 0.2), guess=(0, 0.1),
                             place=(0.2, 0.1, 0.1))
        rates = [float(number(x, values))
                 for x in contact.contact_kinematics().values()]
        assert np.allclose(rates, 0)
        found.append(accelerations(scene, values))
    assert np.allclose(*found, rtol=0, atol=1e-10)


def test_ball_on_cone_and_torus():
    """Signed distances against charts, at closed contacts."""
    for surface in (lambda s: ConeSurface(s.P, s.O, 0.6, -s.N.z),
                    lambda s: TorusSurface(s.P, s.O, 2, 0.5, s.N.z)):
        found = []
        for formulation in ('explicit', 'augmented'):
            scene = ball()
            contact = scene.touch(surface(scene), scene.surface,
                                  formulation=formulation)
            values = scene.start(place=(1.8, 0.7, 0.6),
                                 guess=(1.5, 2.5, 0.37, 1.5))
            found.append(accelerations(scene, values))
            assert number(contact.normal_velocity, values) < 1e-15
            number(contact.relative_curvature()[0], values)
        assert np.allclose(*found, rtol=0, atol=1e-9)


def test_surface_of_revolution_and_general_surfaces():
    """A sphere three times: by name, by its profile, by its position."""
    found = []
    for make in (lambda s: SphereSurface(s.P, s.O, 2, pole=s.N.y),
                 lambda s: SurfaceOfRevolution(
                     s.P, s.O, s.N.y, lambda v: (2*sin(v), 2*cos(v)),
                     orientation=-1),
                 lambda s: general_sphere(s.P, s.O)):
        scene = ellipsoid()
        contact = scene.touch(make(scene), scene.surface,
                              formulation='augmented')
        values = scene.start(place=(0.2, 0.1, 2.3), guess=(1.5, 2, 1.5, 1.5))
        found.append(accelerations(scene, values))
        K = contact.parent_geometry.gaussian_curvature()
        assert math.isclose(number(K, values), 0.25, rel_tol=1e-12)
    for other in found[1:]:
        assert np.allclose(found[0], other, rtol=0, atol=1e-9)


def general_sphere(frame, point):
    u, v = symbols('u v')
    return ParametricSurface(
        frame, point, 2*(sin(v)*cos(u)*frame.z + sin(v)*sin(u)*frame.x
                         + cos(v)*frame.y), (u, v), orientation=-1)


def test_wrapping_geometry():
    N, O = ReferenceFrame('N'), Point('O')
    sphere = ParametricSurface.from_wrapping(WrappingSphere(2, O), N)
    assert isinstance(sphere, SphereSurface) and sphere.radius == 2
    tube = ParametricSurface.from_wrapping(
        WrappingCylinder(3, O, N.x), N, interior=True)
    assert isinstance(tube, CylinderSurface) and tube.interior
    assert tube.axis == N.x
    with pytest.raises(UnsupportedFeatureError, match='no sphere'):
        ParametricSurface.from_wrapping(type('Wrap', (), {'point': O})(), N)


# -- unilateral contact --------------------------------------------------

@pytest.mark.parametrize('formulation', ['explicit', 'augmented'])
def test_touch_down(formulation):
    """An ellipsoid that falls without turning."""
    scene = ellipsoid()
    free = Scene.method(scene)
    contact = scene.touch(scene.plane(), scene.surface,
                          formulation=formulation)
    scene.contacts.clear()
    values = dict(zip(scene.q, (0, 0, 1, 0.3, 0.7, 0.5)))
    values.update(dict.fromkeys(scene.u, 0.))
    height = STATES[ellipsoid]['height'][0]
    guess = dict(zip(contact.coordinates, GUESS[ellipsoid]))
    event = contact.touch_down_event(compile_equations(free), guess)
    run = simulate(free, 2, values, events=event)
    assert math.isclose(run.t[-1], math.sqrt(2*(1 - height)/GRAVITY),
                        rel_tol=1e-9)


def test_distance_of_separated_bodies():
    scene = ball()
    contact = scene.touch(SphereSurface(scene.P, scene.O, 2), scene.surface,
                          formulation='augmented')
    values = dict(zip(scene.q, (3, 4, 0, 0.3, 0.7, 0.5)))
    found = contact.solve_contact(values, dict(zip(
        contact.coordinates, (1, 1, 1, 1))))
    assert math.isclose(found['gap'], 5 - 2.3)


def test_wrong_side_is_not_accepted():
    """(8) also holds at the opposite pole of the ball."""
    scene = ball()
    contact = scene.touch(scene.plane(), scene.surface,
                          formulation='augmented')
    values = dict(zip(scene.q, (0, 0, 0, 0.3, 0.7, 0.5)))
    right = (-1.9545867865, 0.9699337139)
    wrong = right[0] + math.pi, math.pi - right[1]
    z = scene.q[2]
    del values[z]
    found = contact.solve_contact(values, {
        z: -0.3, **dict(zip(contact.coordinates, (*wrong, 0, 0)))})
    assert math.isclose(found[z], 0.3)


# -- what is refused -----------------------------------------------------

def refused(parent, child, error=ConstraintError, **options):
    scene = ball()
    with pytest.raises(error) as caught:
        scene.touch(parent(scene), child(scene), **options)
    return str(caught.value)


@pytest.mark.parametrize('parent, child', [
    (lambda s: s.plane(),
     lambda s: CylinderSurface(s.B, s.C, Symbol('a'), s.B.y)),
    (lambda s: s.plane(), lambda s: ConeSurface(s.B, s.C, 0.3, s.B.y)),
    (lambda s: s.plane(), lambda s: PlaneSurface(s.B, s.C, s.B.y)),
    (lambda s: SphereSurface(s.P, s.O, Symbol('R'), True),
     lambda s: SphereSurface(s.B, s.C, Symbol('R'))),
    (lambda s: s.plane(), lambda s: ParametricCurve(
        s.B, s.C, Symbol('s')*s.B.x, Symbol('s')))])
@each_formulation
def test_lines_and_faces_are_refused(parent, child, formulation):
    assert 'singular everywhere' in refused(parent, child,
                                            formulation=formulation)


def test_parallel_cylinders_are_refused_at_the_start():
    scene = ball()
    contact = scene.touch(
        CylinderSurface(scene.P, scene.O, 2, scene.N.y),
        CylinderSurface(scene.B, scene.C, 0.3, scene.B.y))
    values = dict(zip(scene.q, (0, 0, 2.3, 0, 0, 0)))
    with pytest.raises(ConstraintError, match='K1 . K2 is singular|No cont'):
        contact.solve_contact(values, dict(zip(
            contact.coordinates, (math.pi, 0, 0, 0))))


def test_pole_at_the_start_is_refused():
    scene = ball()
    contact = scene.touch(
        scene.plane(), SphereSurface(scene.B, scene.C, 0.3, pole=scene.B.z),
        formulation='augmented')
    values = dict(zip(scene.q, (0, 0, 0.3, 0, 0, 0)))
    with pytest.raises(ConstraintError, match='normal of SphereSurface'):
        contact.solve_contact(values, dict(zip(
            contact.coordinates, (0, math.pi, 0, 0))))


def test_a_chart_without_normal_is_refused():
    s, u = symbols('s u')
    assert 'normal of ParametricSurface vanishes' in refused(
        lambda x: x.plane(), lambda x: ParametricSurface(
            x.B, x.C, (s + u)*x.B.x + (s + u)**2*x.B.y, (s, u)))


def test_bodies_without_frame_are_refused():
    scene = ball()
    with pytest.raises(ConstraintError, match='no body frame'):
        PointContact('c', scene.parent, Particle('p', scene.C, 1),
                     scene.plane(), scene.surface)


def test_geometry_that_moves_in_its_body_is_refused():
    scene = ball()
    lean = ReferenceFrame('L')
    lean.orient_axis(scene.N, scene.q[3], scene.N.z)
    rim = CircularRim(lean, scene.C, 0.3, lean.y)
    with pytest.raises(ConstraintError, match='moves relative to body'):
        scene.touch(scene.plane(), rim)
    with pytest.raises(ConstraintError, match='rigid shape'):
        SphereSurface(scene.B, scene.C, dynamicsymbols('r'))


def test_other_refusals():
    curve = (lambda s: ParametricCurve(
        s.P, s.O, Symbol('s')*s.P.x, Symbol('s')))
    assert 'Exchange parent and child' in refused(
        curve, lambda s: s.surface)
    assert 'bead on a wire' in refused(
        curve, lambda s: VertexPoint(s.B, s.C))
    assert 'no closed form' in refused(
        lambda s: SphereSurface(s.P, s.O, 2),
        lambda s: EllipsoidSurface(s.B, s.C, (1, 2, 3)),
        UnsupportedFeatureError, formulation='explicit')
    assert '`mode`' in refused(lambda s: s.plane(), lambda s: s.surface,
                               ValueError, mode='skating')
    assert 'this contact needs 0' in refused(
        lambda s: s.plane(), lambda s: s.surface, ValueError,
        contact_coordinates=[dynamicsymbols('s')])


def test_unknown_motion_is_told():
    N, B, O, C = (ReferenceFrame('N'), ReferenceFrame('B'), Point('O'),
                  Point('C'))
    table = RigidBody('table', O, N)
    body = RigidBody('body', C, B, 1, (inertia(B, 1, 1, 1), C))
    pair = PlaneSurface(N, O, N.z), SphereSurface(B, C, 1)
    with pytest.raises(KinematicsError, match='not connected'):
        PointContact('c', table, body, *pair)
    C.set_pos(O, dynamicsymbols('z')*N.z)
    with pytest.raises(ConstraintError, match='not oriented|not connected'):
        PointContact('c', table, body, pair[0], SphereSurface(
            ReferenceFrame('X'), C, 1))
    contact = PointContact('c', table, body, *pair)
    assert contact.gap == dynamicsymbols('z') - 1
    with pytest.raises(KinematicsError):
        contact.slip_velocity


def test_guess_without_contact_coordinates_is_told():
    scene = ball()
    contact = scene.touch(scene.plane(), scene.surface,
                          formulation='augmented')
    with pytest.raises(MissingIngredientError, match='c_xi1'):
        contact.solve_contact({}, {})


def test_located_from_its_contact_a_body_has_no_gap_row():
    """Trap 2: ``System`` refuses a row that vanishes identically."""
    N, B = ReferenceFrame('N'), ReferenceFrame('B')
    x, y, a = dynamicsymbols('x y a')
    O = Point('O')
    O.set_vel(N, 0)
    B.orient_axis(N, a, N.y)
    C = O.locatenew('C', x*N.x + y*N.y + Symbol('R')*N.z)
    contact = PointContact(
        'c', RigidBody('table', O, N),
        RigidBody('ball', C, B, 1, (inertia(B, 1, 1, 1), C)),
        PlaneSurface(N, O, N.z), SphereSurface(B, C, Symbol('R')))
    assert contact.holonomic_constraints == []
    assert contact.velocity_constraints == [
        x.diff(t) - Symbol('R')*a.diff(t), y.diff(t)]


def test_contact_points_have_the_velocity_of_the_material():
    """Trap 6: the derivative of their position is another velocity."""
    scene, contact, values = on_plane(ellipsoid)
    geometric = contact.child_point.pos_from(scene.O).dt(scene.N)
    assert np.linalg.norm(vector(values, scene.N, contact.child_point.vel(
        scene.N))) < 1e-14
    moving = {**values, **angle_values(scene, values)}
    assert np.allclose(vector(moving, scene.N, geometric), vector(
        values, scene.N, contact.trace_velocities()[1]), atol=1e-14)


def test_contact_frame_and_standard_geometry(rng):
    scene = ellipsoid()
    contact = sloping(scene, 'augmented')
    values = random_motion(scene, contact, rng)
    frame = contact.contact_frame
    for axis_, given in zip(frame, (*contact.tangents, contact.normal)):
        assert np.allclose(vector(values, scene.N, axis_),
                           vector(values, scene.N, given))
    for shape, K in (
            (SphereSurface(scene.B, scene.C, 2), Rational(1, 4)),
            (CylinderSurface(scene.B, scene.C, 2, scene.B.y), 0),
            (ConeSurface(scene.B, scene.C, 1, scene.B.y), 0)):
        assert abs(number(shape.gaussian_curvature(), dict(zip(
            shape.parameters, (0.4, 0.7)))) - K) < 1e-15
        assert shape.is_orthogonal or abs(number(
            shape.first_fundamental_form()[0, 1],
            dict(zip(shape.parameters, (0.4, 0.7))))) < 1e-15
    place = shape.locate('Q', 0.4, 0.7).pos_from(scene.C)
    assert abs(number(place.dot(place), {}) - 0.49) < 1e-15
