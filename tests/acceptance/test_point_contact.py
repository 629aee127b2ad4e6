"""Rolling point contact: the cases (a) to (f) of the theory page, its
benchmark states, and the motion in every formulation.

The body of :class:`contacts.Scene` is free; whatever it rolls on is fixed or
turns at a given rate. Numbers without a formula were computed independently,
from Newton-Euler equations, and are cited with 10 digits.
"""
import math

import numpy as np
import pytest
from sympy import Rational, symbols

from contacts import (
    FORMULATIONS, GRAVITY, STATES, Scene, accelerations, ball, disc,
    ellipsoid, moving_pair, newton_euler, number, on_plane, solved, t, torus,
    vector)
from sympy_constrained import (
    CircularRim, CylinderSurface, EllipsoidSurface, ParametricSurface,
    SphereSurface)
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)

each_formulation = pytest.mark.parametrize('formulation', FORMULATIONS)


# -- benchmark states ----------------------------------------------------

@pytest.mark.parametrize('make, formulation', [
    pytest.param(make, formulation, marks=[] if make is ellipsoid or (
        formulation != 'augmented') else pytest.mark.slow)
    for make in STATES for formulation in FORMULATIONS])
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

# -- two free bodies -----------------------------------------------------

LIGHT = {'moments': (0.45, 0.6, 0.75), 'mass': 1.5,
         'masscenter': (0.05, -0.03, 0.1)}
HEAVY = {'moments': (1.2, 1.6, 2), 'mass': 4, 'masscenter': (0.1, 0.2, 0)}


def small(frame, point):
    return EllipsoidSurface(frame, point, (0.5, 0.4, 1))


def large(frame, point):
    return EllipsoidSurface(frame, point, (3, 2, 2.5))


def skew_dish(frame, point):
    """Neither orthogonal nor with the outward cross product."""
    u, v = symbols('u v')
    x, y, z = frame
    return ParametricSurface(
        frame, point, (u + 0.3*v)*x + (v - 0.2*u)*y + (
            (u**2 + v**2)/5 + u*v/10 + 0.3*u)*z, (v, u), orientation=-1)


def rim(frame, point):
    return CircularRim(frame, point, 0.7, frame.y)


def bowl(frame, point):
    return SphereSurface(frame, point, 2, interior=True)


def marble(frame, point):
    return SphereSurface(frame, point, 0.4)


IN_BOWL = -1.9, 1.4, 1.9, 1.7


@pytest.mark.parametrize('child, parent, guess, mode, formulation', [
    pytest.param(small, large, (1.5, 2, 1.5, 1.5), 'no_pivoting', 'augmented',
                 marks=pytest.mark.slow),
    (small, skew_dish, (1.5, 2, 0.1, 0.1), 'rolling', 'kinematic'),
    pytest.param(rim, large, (3, 1.5, 1.5), 'rolling', 'kinematic',
                 marks=pytest.mark.slow),
    pytest.param(bowl, marble, IN_BOWL, 'rolling', 'kinematic',
                 marks=pytest.mark.slow)])
def test_newton_and_euler(child, parent, guess, mode, formulation):
    """Both bodies move and spin, with mass centres off their surfaces'."""
    scene, contact, values = moving_pair(
        LIGHT, HEAVY, child, parent, guess, mode=mode,
        formulation=formulation)
    method = scene.method()
    _, _, rates = solved(method, values)
    changes, force = newton_euler(scene, contact, values)
    assert np.allclose([rates[u] for u in (*scene.u, *scene.below.u)],
                       changes, rtol=0, atol=2e-8)
    assert math.isclose(number(contact.normal_reaction(method), values),
                        force, rel_tol=1e-7)


def test_newton_and_euler_in_closed_form():
    """The bowl moves too, and has no parameters."""
    scene, contact, values = moving_pair(LIGHT, HEAVY, marble, bowl, ())
    assert contact.formulation == 'explicit'
    method = scene.method()
    _, _, rates = solved(method, values)
    twin, other, same = moving_pair(LIGHT, HEAVY, marble, bowl, IN_BOWL,
                                    formulation='kinematic')
    same.update(values)
    same.update(other.solve_contact(same, dict(zip(
        other.coordinates, IN_BOWL))))
    changes, force = newton_euler(twin, other, same)
    assert np.allclose([rates[u] for u in (*scene.u, *scene.below.u)],
                       changes, rtol=0, atol=2e-8)
    assert math.isclose(number(contact.normal_reaction(method), values),
                        force, rel_tol=1e-7)


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
    assert np.allclose(vector(values, scene.N, loads[0].point.vel(scene.N)), 0)


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


# -- (c) thin disc -------------------------------------------------------


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
