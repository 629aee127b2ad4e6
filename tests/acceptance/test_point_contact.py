"""Rolling point contact: the benchmark states of the theory page, in every
formulation, Newton's and Euler's equations of two bodies, and a ball.

The gallery has a ball in a cylinder, a turntable and the rattleback, with
their known motions. Numbers without a formula were computed independently,
from Newton-Euler equations, and are cited with 10 digits.
"""
import math

import numpy as np
import pytest
from sympy import symbols
from sympy.physics.mechanics import dynamicsymbols

from contacts import (
    ANGLES, FORMULATIONS, GRAVITY, STATES, ball, ellipsoid, moving_pair,
    newton_euler, number, on_plane, solved, vector)
from sympy_constrained import (
    CircularRim, EllipsoidSurface, ParametricSurface, SphereSurface,
    UdwadiaKalabaMethod)
from sympy_constrained.numeric import compile_equations, simulate

each_formulation = pytest.mark.parametrize('formulation', FORMULATIONS)


# -- benchmark states ----------------------------------------------------

@pytest.mark.parametrize('make, formulation', [
    pytest.param(make, formulation, marks=[] if (
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


def assert_newton_euler(scene, contact, values, *twin):
    """The motion and force are those of a twin with contact parameters."""
    method = scene.method()
    _, _, rates = solved(method, values)
    changes, force = newton_euler(*twin)
    assert np.allclose([rates[u] for u in (*scene.u, *scene.below.u)],
                       changes, rtol=0, atol=2e-8)
    assert math.isclose(number(contact.normal_reaction(method), values),
                        force, rel_tol=1e-7)


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
    assert_newton_euler(scene, contact, values, scene, contact, values)


def test_newton_and_euler_in_closed_form():
    """The bowl moves too, and has no parameters."""
    scene, contact, values = moving_pair(LIGHT, HEAVY, marble, bowl, ())
    assert contact.formulation == 'explicit'
    twin, other, same = moving_pair(LIGHT, HEAVY, marble, bowl, IN_BOWL,
                                    formulation='kinematic')
    same.update(values)
    same.update(other.solve_contact(same, dict(zip(
        other.coordinates, IN_BOWL))))
    assert_newton_euler(scene, contact, values, twin, other, same)


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
    rows = contact.nonholonomic_constraints
    part = UdwadiaKalabaMethod(     # without the row that carries no force
        scene.N, scene.q, scene.u, scene.kdes, bodies=[scene.body],
        configuration_constraints=contact.holonomic_constraints,
        velocity_constraints=[rows[np.abs(friction).argmax()]],
        forcelist=scene.loads)
    slip = contact.slip_event(part, compile_equations(part), 0.1)
    assert math.isclose(slip(0, x), 2*F/7 - 0.1*normal)


# -- (b) ball on a sphere ------------------------------------------------

@pytest.mark.parametrize('k, cosine', [(2/5, 10/17), (2/3, 6/11)])
def test_b_rolling_off_the_top(k, cosine):
    weight, more = symbols('weight'), dynamicsymbols('more')
    scene = ball(k=k, force=(0, 0, -weight*more))
    contact = scene.touch(SphereSurface(scene.P, scene.O, 2), scene.surface)
    tilt, around, radius = 0.01, 0.4, 2.3
    values = dict(zip((*scene.q, *scene.u), (
        radius*math.sin(tilt)*math.cos(around),
        radius*math.sin(tilt)*math.sin(around), radius*math.cos(tilt),
        *ANGLES, *[0.]*6)))
    method = scene.method()
    event = contact.lift_off_event(
        method, compile_equations(method, {weight: 0}, {more: 5}))
    compiled = compile_equations(method, {weight: 2}, {more: 10})   # of a run
    run = simulate(compiled, 20, values, events=event, rtol=1e-10)
    assert [x.t for x in run.events] == [run.t[-1]]
    # From rest at the tilt 0.01 instead of the top.
    expected = 2*math.cos(0.01)/(3 + k)
    assert math.isclose(run[scene.q[2]][-1]/radius, expected, rel_tol=1e-7)
    assert math.isclose(2/(3 + k), cosine)
    # Before that, friction has exceeded any cone.
    slip = contact.slip_event(method, event.compiled, weight/4)
    early = simulate(compiled, 20, values, events=slip, rtol=1e-10)
    assert early.t[-1] < run.t[-1]
    tilt = math.acos(early[scene.q[2]][-1]/radius)
    normal = ((3 + k)*math.cos(tilt) - 2*math.cos(0.01))/(1 + k)
    friction = k*math.sin(tilt)/(1 + k)
    assert math.isclose(friction, 0.5*normal, rel_tol=1e-6)
