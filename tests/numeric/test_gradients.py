"""Gradients of motions by the adjoint of their steps, and jumps at events."""
import pickle

import mpmath
import numpy as np
import pytest
from exports import kept
from mechanisms import g, l, m, t, x, y
from sympy import Abs, Max, Piecewise, sin, sqrt, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import LinearMappingMethod, UdwadiaKalabaMethod
from sympy_constrained.errors import (
    SimulationError, SingularEquationsError, UnsupportedFeatureError)
from sympy_constrained.numeric import (
    Crossing, Measurement, Table, compile_equations, consistent_state,
    identify, sensitivities, simulate)
from sympy_constrained.numeric.integrate.crossing import CrossingFunction
from sympy_constrained.numeric.sensitivity.saltation import saltation

pytest.importorskip('numba')

q, F = dynamicsymbols('q F')
a, e, k, w = symbols('a e k w')
vx, vy = x.diff(), y.diff()
PLANE = m*(vx**2 + vy**2)/2 - m*g*y
TIGHT = {'rtol': 1e-12, 'atol': 1e-13}
CIRCLE = x**2 + y**2 - l**2


def ready(name):
    made, _, compiled, start = kept(name)
    return made, compiled, start.copy()


def differences(value, size):
    """The derivative of ``value(h)`` at 0, to order 6."""
    return sum(c*(value(k*size) - value(-k*size)) for c, k in (
        (45, 1), (-9, 2), (1, 3)))/(60*size)


# -- the derivative of what was computed -----------------------------------

@pytest.mark.parametrize('name, end, step, method', [
    ('four_bar', 0.3, 0.02, 'RK23'), ('bicycle', 0.4, 0.1, 'DOP853')])
@pytest.mark.parametrize('stabilization', ['projection', None])
def test_it_is_exact_for_large_errors_of_the_steps(
        name, end, step, method, stabilization):
    """Steps of constant length, far apart; outputs between them."""
    made, compiled, start = ready(name)
    options = {'rtol': 1., 'atol': 1., 'max_step': step, 'method': method,
               't_eval': np.linspace(0, 0.97*end, 4),
               'stabilization': stabilization}
    weights = np.random.default_rng(0).normal(size=(4, len(start)))

    def value(h):
        return np.sum(weights*simulate(
            compiled, end, start, constants={'g': 9.81 + h}, **options).x)

    def moved(h):
        return np.sum(weights*simulate(compiled, end, consistent_state(
            compiled, start + h*direction), **options).x)

    motion = simulate(compiled, end, start, constants={'g': 9.81},
                      adjoint=True, **options)
    gradient = motion.gradient(['g'], weights=weights)
    wanted = differences(value, 1e-2)
    assert abs(gradient['g'] - wanted) < 1e-9*abs(wanted)
    direction = compiled.tangent_basis(0, start)[:, 0]
    wanted = differences(moved, 1e-3)
    assert abs(gradient.start@direction - wanted) < 1e-8*abs(wanted)


@pytest.mark.parametrize('end', [2, (1, -1)])
def test_a_closed_form(end):
    """v' = -a v, of two bodies that are tied: the example of index 1."""
    sled = UdwadiaKalabaMethod(
        (vx**2 + vy**2)/2, [x, y], hol_coneqs=[x - y],
        nonideal_forces=[-a*vx, -a*vy])
    motion = simulate(sled, end, [0, 0, 1, 1], constants={a: 0.7},
                      adjoint=True, **TIGHT)
    tf = motion.t[-1] - motion.t[0]
    decay = np.exp(-0.7*tf)
    gradient = motion.gradient([a, vx], final_cost=vx, fixed=[x])
    np.testing.assert_allclose(
        [gradient.value, gradient[a], gradient["x'"]],
        [decay, -tf*decay, decay], rtol=1e-11)
    gradient = motion.gradient([a], cost=vx)
    np.testing.assert_allclose(
        [gradient.value, gradient[a]],
        [(1 - decay)/0.7, (tf*decay*0.7 - 1 + decay)/0.49], rtol=1e-11)
    gradient = motion.gradient([a], cost=a*vx + vx.diff(), final_cost=t*a)
    np.testing.assert_allclose([gradient.value, gradient[a]], [
        motion.t[-1]*0.7, motion.t[-1]], atol=1e-11)    # a v = -v'


def test_the_rows_of_a_rolling_disc_are_tangent():
    _, compiled, start = ready('rolling_disc')
    motion = simulate(compiled, 1, start, adjoint=True, **TIGHT)
    K = compiled.jacobian('residuals')(0, motion.x[0])
    rows = np.array([motion.gradient(final_cost=state).start
                     for state in compiled.states])
    assert np.abs(K@rows.T).max() < 1e-12*np.abs(rows).max()
    T = compiled.tangent_basis(0, motion.x[0])
    forward = sensitivities(
        compiled, 1, motion.x[0], compiled.states[5:8], t_eval=2,
        fixed=compiled.states[:5], **TIGHT)
    np.testing.assert_allclose(
        rows@T@(T.T@forward.dx[0]), forward.dx[-1], atol=1e-9)


def test_a_table_takes_part():
    """Its kinks end steps; the integral of a force is momentum."""
    times, force = [0, 0.5, 1.25, 2], [0, 2, -1, 1]
    cart = UdwadiaKalabaMethod(m*q.diff()**2/2, [q], nonideal_forces=[F - k*q])
    arguments = cart, 1.8, [0.1, 0]
    options = {'inputs': {F: (times, force)}, 'constants': {m: 2, k: 3},
               **TIGHT}
    motion = simulate(*arguments, adjoint=True, **options)
    forward = sensitivities(*arguments, [m, k, q], **options)
    gradient = motion.gradient([m, k, q], final_cost=q)
    np.testing.assert_allclose(gradient.values, forward.dx[-1, 0], rtol=1e-9)
    power = motion.gradient([m, k, q], cost=F*q.diff())
    energy = motion.gradient(
        [m, k, q], final_cost=m*q.diff()**2/2 + k*(q**2 - 0.1**2)/2)
    assert abs(power.value - energy.value) < 1e-11
    np.testing.assert_allclose(
        power.values, energy.values - [0, 0, 3*0.1], atol=1e-10)


def test_weights_are_those_of_any_function():
    """A sum of squares at output times, as forward."""
    compiled = compile_equations(UdwadiaKalabaMethod(
        PLANE, [x, y], hol_coneqs=[CIRCLE]), {m: 1, g: 9.81, l: 1})
    arguments = compiled, 3, [0.6, -0.8, 0, 0]
    motion = simulate(*arguments, adjoint=True, t_eval=31, **TIGHT)
    gradient = motion.gradient([g, l, x], fixed=[vx], weights=2*motion.x)
    forward = sensitivities(*arguments, [g, l, x], fixed=[vx], t_eval=31,
                            **TIGHT)
    np.testing.assert_allclose(gradient.values, np.einsum(
        'ti,tik->k', 2*forward.x, forward.dx), rtol=1e-9)
    with pytest.raises(ValueError, match='`weights` has shape'):
        motion.gradient(weights=motion.x[1:])
    with pytest.raises(ValueError, match='no state or constant'):
        motion.gradient(['k'])


def test_memory_is_one_number_for_each_step():
    compiled = compile_equations(UdwadiaKalabaMethod(
        m*q.diff()**2/2 - k*q**2/2, [q]), {m: 1, k: 1})
    motion = simulate(compiled, 100, [1, 0], adjoint=True, t_eval=2,
                      max_step=0.01)
    parts = motion.tape.parts
    steps = motion.statistics['steps']
    assert len(parts) < 15 and steps >= 10000 and len(motion) == 2
    assert sum(part.ends.base.nbytes for part in parts) < 9*steps
    np.testing.assert_allclose(
        motion.gradient([k, q], final_cost=q).values,
        [-50*np.sin(100), np.cos(100)], rtol=1e-9)


# -- events ----------------------------------------------------------------

@pytest.mark.parametrize('rows', [
    [CIRCLE], [CIRCLE, (3 + y)*CIRCLE]], ids=['plane', 'redundant'])
def test_period_of_a_pendulum(rows):
    """The time of an event, by length and amplitude, against the complete
    elliptic integral.
    """
    amplitude, length = 1.2, 0.7

    def period(amplitude, length):
        return 4*mpmath.sqrt(length/mpmath.mpf('9.81'))*mpmath.ellipk(
            mpmath.sin(amplitude/2)**2)

    by_amplitude, by_length = (float(mpmath.diff(
        period, (amplitude, length), order)) for order in ((1, 0), (0, 1)))
    start = [length*np.sin(amplitude), -length*np.cos(amplitude), 0, 0]
    arguments = {
        'model': UdwadiaKalabaMethod(PLANE, [x, y], hol_coneqs=rows),
        't_span': 5, 'start': start, 'constants': {m: 1, g: 9.81, l: length},
        'events': Crossing(vx, terminal=2), **TIGHT}
    found = simulate(adjoint=True, **arguments).gradient(
        [l, x], final_cost=t, fixed=[vx])
    assert abs(found.value - period(amplitude, length)) < 1e-10
    np.testing.assert_allclose(
        [found[l] + found[x]*np.sin(amplitude),
         found[x]*length*np.cos(amplitude)], [by_length, by_amplitude],
        rtol=1e-9)
    end = sensitivities(by=[l, x], fixed=[vx], **arguments).events[-1]
    np.testing.assert_allclose(end.dt, found.values, rtol=1e-9)


BEAD = UdwadiaKalabaMethod(PLANE, [x, y])
START = [0, 1, 2, 0.5]
IMPACT = Crossing(y, {vy: -e*vy}, direction=-1, terminal=4)


def landing(height, up, along, gravity, restitution, floor):
    """Where the bead lands after three impacts, in closed form."""
    speed = mpmath.sqrt(up**2 + 2*gravity*(height - floor))
    return along*((up + speed)/gravity + 2*speed/gravity*(
        restitution + restitution**2 + restitution**3))


@pytest.mark.parametrize('t_eval', [None, 5])
def test_a_bouncing_bead(t_eval):
    """Its landing point through three impacts."""
    by, values = [y, vy, vx, g, e, a], (1., 0.5, 2., 9.81, 0.8, 0.2)
    wanted = [float(mpmath.diff(landing, values, order))
              for order in np.eye(6, dtype=int).tolist()]
    impact = Crossing(y - a, IMPACT.jump, direction=-1, terminal=4)
    options = {'constants': {m: 1, g: 9.81, e: 0.8, a: 0.2},
               'events': impact, 't_eval': t_eval, **TIGHT}
    motion = simulate(BEAD, 9, START, adjoint=True, **options)
    found = pickle.loads(pickle.dumps(motion)).gradient(by, final_cost=x)
    assert abs(found.value - landing(*values)) < 1e-11
    np.testing.assert_allclose(found.values, wanted, rtol=1e-10)
    forward = sensitivities(BEAD, 9, START, by, **options)
    end = forward.events[-1]
    np.testing.assert_allclose(end.dx[0], wanted, rtol=1e-10)
    np.testing.assert_allclose(forward.dx[-1, 0], end.dx[0] - 2*end.dt,
                               rtol=1e-9, atol=1e-12)
    if t_eval is None:
        weights = np.zeros_like(motion.x)
        weights[-1, 0] = 1.
        np.testing.assert_allclose(motion.gradient(
            by, weights=weights).values, wanted, rtol=1e-10)
    assert abs(motion.energy_error).max() < 1e-11


def test_a_fit_through_impacts():
    options = {'constants': {m: 1, g: 9.81, e: 0.8}, 'events': IMPACT}
    motion = simulate(BEAD, 1.5, START, t_eval=16, **options)
    options['constants'][e] = 0.7
    fit = identify(BEAD, Measurement(motion.t, {y: motion[y]}, START), [e],
                   **options)
    assert len(motion.events) == 2 and abs(fit[e] - 0.8) < 1e-6


@pytest.mark.parametrize('span', [(0, 1), (1, 0)])
def test_two_beads_hit_the_ground_at_the_same_time(span):
    """Both turn back, as each alone; in the plane of their heights."""
    beads = UdwadiaKalabaMethod(PLANE - m*g*x, [x, y])
    impacts = [Crossing(q, {q.diff(): -e*q.diff()}, direction=-1)
               for q in (x, y)]
    options = {'constants': {m: 1, g: 9.81, e: 0.8}, **TIGHT}
    motion = simulate(beads, span, [1, 1, 0, 0], events=impacts, adjoint=True,
                      dense=True, **options)
    alone = simulate(beads, span, [9, 1, 0, 0], events=impacts, adjoint=True,
                     **options)
    assert [event.index for event in motion.events] in ([0, 1], [1, 0])
    end = alone.x[-1, [1, 1, 3, 3]]
    np.testing.assert_allclose(motion.x[-1], end, rtol=1e-9)
    assert np.isfinite(motion.at(motion.t)).all()
    for q in (x, y):
        np.testing.assert_allclose(
            motion.gradient([e, g], final_cost=q).values,
            alone.gradient([e, g], final_cost=y).values, rtol=1e-9)


def test_an_integral_over_jumps():
    """The integrand jumps, and the end moves."""
    compiled = compile_equations(BEAD, {m: 1, g: 9.81})
    cost = e*vy**2 + x*y

    def found(by=(), **constants):
        return simulate(
            compiled, 9, START, events=IMPACT, adjoint=True, constants={
                'e': 0.8, **constants}, **TIGHT).gradient(by, cost=cost)

    gradient = found([e, g])
    for item, value in ((e, 0.8), (g, 9.81)):
        wanted = differences(lambda h: found(
            **{item.name: value + h}).value, 1e-3*value)
        assert abs(gradient[item] - wanted) < 1e-9*max(1, abs(wanted))


def test_a_wall_and_a_force_that_a_table_switches_off():
    """``x(2) = a - e (3/2 - a)``; the wall needs no rate of the force."""
    cart = UdwadiaKalabaMethod(vx**2/2, [x], nonideal_forces=[F])
    options = {
        'constants': {a: 1, e: 0.8}, 'inputs': {F: Table(
            [0, 1, 2], [1, 0, 0], kind='previous')},
        'events': Crossing(x - a, {vx: -e*vx}, direction=1), **TIGHT}
    forward = sensitivities(cart, 2, [0, 0], [a, e], **options)
    np.testing.assert_allclose(forward.dx[-1, 0], [1.8, -0.5], rtol=1e-9)
    gradient = simulate(cart, 2, [0, 0], adjoint=True, **options).gradient(
        [a, e], final_cost=x)
    np.testing.assert_allclose(gradient.values, [1.8, -0.5], rtol=1e-9)


@pytest.mark.parametrize('span, start, wanted', [
    ((0, 1), [0., 1.], [1.2, 2.]), ((1, 0), [0.64, -0.2], [0.8, -2.])])
@pytest.mark.filterwarnings('error')
def test_an_event_where_the_acceleration_jumps(span, start, wanted):
    """It is -2 beyond ``a``; without the event its place has no effect."""
    push = Piecewise((0, x < a), (-2, True))
    method = UdwadiaKalabaMethod(vx**2/2, [x], nonideal_forces=[push])
    arguments, options = (method, span, start), {'constants': {a: 0.4}}
    event = Crossing(x - a, jump={})
    forward = sensitivities(*arguments, [a], events=event, **options, **TIGHT)
    motion = simulate(*arguments, events=event, adjoint=True, **options,
                      **TIGHT)
    found = [motion.gradient([a], final_cost=q)[a] for q in (x, vx)]
    np.testing.assert_allclose(forward.dx[-1, :, 0], wanted, rtol=1e-7)
    np.testing.assert_allclose(found, wanted, rtol=1e-7)
    with pytest.warns(UserWarning, match='Accelerations jump.* near t = 0.4'):
        sensitivities(UdwadiaKalabaMethod(vx**2/2, [x], nonideal_forces=[
            -1 - sqrt((x - a)**2)/(x - a)]), span, start, [a], **options)
    with pytest.warns(UserWarning, match='Accelerations jump.* near t = 0.4'):
        simulate(*arguments, adjoint=True, **options).gradient([a])


@pytest.mark.parametrize('place', [0, 1e4])
def test_impacts_of_small_vibrations_far_from_the_origin(place):
    """The rates change quickly compared with the size of the state."""
    mass = UdwadiaKalabaMethod(vx**2/2 - k*(x - a)**2/2, [x])
    impact = Crossing(x - a - 4e-6, {vx: -e*vx}, direction=-1)
    found = sensitivities(mass, 0.25, [place + 1e-5, 0], [k], constants={
        k: 100, a: place, e: 0.5}, events=impact, **TIGHT)
    np.testing.assert_allclose(found.dx[-1, :, 0], [
        -3.56191741e-8, -8.14229957e-7], rtol=1e-4)


@pytest.mark.filterwarnings('error')
def test_an_acceleration_that_jumps_at_a_time_that_does_not_move():
    """It is -e from the time ``a`` on."""
    push = Piecewise((0, t < a), (-e, True))
    arguments = UdwadiaKalabaMethod(
        vx**2/2, [x], nonideal_forces=[push]), 1, [0, 1]
    options = {'constants': {a: 0.4, e: 2}}
    motion = simulate(*arguments, adjoint=True, **options)
    found = sensitivities(*arguments, [e], **options).dx[-1, 0, 0]
    assert abs(found + 0.18) < 1e-6
    assert abs(motion.gradient([e], final_cost=x)[e] + 0.18) < 1e-6
    with pytest.warns(UserWarning, match='Accelerations jump.* near t = 0.4'):
        sensitivities(*arguments, [a], **options)


def test_a_jump_on_constraints():
    """A pendulum hits a wall that moves as a table says."""
    pendulum = UdwadiaKalabaMethod(
        PLANE, [x, y], hol_coneqs=[CIRCLE], nonideal_forces=[F, 0])
    options = {
        'constants': {m: 1, g: 9.81, l: 1, e: 0.7, w: 0.2},
        'events': Crossing(x + w*sin(t) + F, {vx: -e*vx, vy: -e*vy},
                           direction=-1),
        'inputs': {F: ([0, 1, 2, 3], [0.1, 0.3, -0.1, 0])}, **TIGHT}
    arguments = pendulum, 2.5, [0.6, -0.8, 0, 0]
    motion = simulate(*arguments, adjoint=True, dense=True, **options)
    assert len(motion.events) > 1 and motion.largest_residual < 1e-11
    before = motion.events[0]
    np.testing.assert_allclose(motion.at(before.t), before.x, atol=1e-9)
    np.testing.assert_allclose(motion.at(before.t + 1e-9)[2:],
                               -0.7*before.x[2:], atol=1e-7)
    by = [e, w, g, x]
    found = motion.gradient(by, final_cost=x, fixed=[vx])
    forward = sensitivities(*arguments, by, fixed=[vx], **options)
    np.testing.assert_allclose(found.values, forward.dx[-1, 0], rtol=1e-8)
    for item, value in ((e, 0.7), (w, 0.2)):
        wanted = differences(lambda h: simulate(*arguments, **{
            **options, 'constants': {**options['constants'], item: value + h}
        }).x[-1, 0], 1e-3)
        assert abs(found[item] - wanted) < 1e-7*abs(wanted)


def test_python_functions_may_jump_but_have_no_derivatives():
    def impact(t, x):
        return x[1]

    impact.jump = lambda t, x: x*[1, 1, 1, -0.8]
    options = {'constants': {m: 1, g: 9.81}, 'events': [impact]}
    motion = simulate(BEAD, 2, START, adjoint=True, **options)
    exact = simulate(BEAD, 2, START, constants={m: 1, g: 9.81, e: 0.8},
                     events=Crossing(y, {vy: -e*vy}, direction=-1))
    assert len(motion.events) == 3
    np.testing.assert_allclose(motion.x[-1], exact.x[-1], rtol=1e-12)
    with pytest.raises(UnsupportedFeatureError, match='Give a `Crossing`'):
        motion.gradient([g], final_cost=x)
    with pytest.raises(UnsupportedFeatureError, match='Give a `Crossing`'):
        sensitivities(BEAD, 2, START, [g], **options)
    impact.jump = lambda t, x: x[:3]
    with pytest.raises(SimulationError, match='the states after the event'):
        simulate(BEAD, 2, START, **options)


@pytest.mark.parametrize('force', [
    Max(0, x - a), Piecewise((x - a, x > a), (0, True)),
    (Abs(x - a) + x - a)/2, Max(x - 9, 0, x - a), Max(0, x - a)**2])
@pytest.mark.filterwarnings('error')
def test_a_kink_is_reported_where_the_gradient_misses_it(force):
    """Stages beyond the kink, where the stiffness is another."""
    stop = compile_equations(UdwadiaKalabaMethod(
        m*vx**2/2, [x], generalized_forces=[-90*force]), {m: 1, a: 0.5})
    motion = simulate(stop, 3, [0, 2], adjoint=True)
    with pytest.warns(UserWarning, match='a kink near t = 0.2[56]'):
        motion.gradient([a], final_cost=x)
    far = simulate(stop.with_values({a: 9}), 3, [0, 2], adjoint=True)
    far.gradient([a], final_cost=x)


def test_jumps_that_make_no_sense():
    constants = {m: 1, g: 9.81, e: 0.5}
    ball = Crossing(y, {vy: -e*vy}, direction=-1)
    with pytest.raises(SimulationError, match='impacts accumulate'):
        simulate(BEAD, 9, START, constants=constants, events=ball)
    for height in 0, -1e-16:            # it lies on the ground
        with pytest.raises(SimulationError, match='t = 0, .* already touch'):
            simulate(BEAD, 1, [0, height, 2, 0], constants=constants,
                     events=ball)
    pendulum = UdwadiaKalabaMethod(PLANE, [x, y], hol_coneqs=[CIRCLE])
    with pytest.raises(SimulationError, match='leads off the constraints'):
        simulate(pendulum, 2, [0.6, -0.8, 0, 0], events=Crossing(x, {y: 2*y}),
                 constants={m: 1, g: 9.81, l: 1})
    bead = compile_equations(BEAD, {m: 1, g: 9.81})
    with pytest.raises(ValueError, match="`jump`: 'F.t.' is no state"):
        simulate(bead, 1, START, events=Crossing(y, {F: 1}))
    with pytest.raises(SingularEquationsError, match='without crossing'):
        saltation(bead, CrossingFunction(Crossing(y - 1), bead), 0.,
                  np.array([0, 1, 1, 0.]), [g])     # the apex


# -- what is refused -------------------------------------------------------

def test_what_has_no_gradient():
    method = UdwadiaKalabaMethod(
        m*q.diff()**2/2 - k*q**2/2, [q], nonideal_forces=[F])
    arguments = method, 1, [1, 0]
    options = {'constants': {m: 1, k: 1}, 'inputs': {F: 0.1}}
    with pytest.raises(ValueError, match='`adjoint=True`'):
        simulate(*arguments, **options).gradient([m])
    for more in ({'method': 'Rodas5P'}, {'method': 'LSODA'},
                 {'inputs': {F: lambda t, x: t}}):
        with pytest.raises(UnsupportedFeatureError, match="'DOP853'"):
            simulate(*arguments, adjoint=True, **{**options, **more})
    tied = LinearMappingMethod(PLANE, [x, y], hol_coneqs=[CIRCLE])
    motion = simulate(tied, 0.1, [0.6, -0.8, 0], adjoint=True, constants={
        m: 1, g: 9.81, l: 1})
    with pytest.raises(UnsupportedFeatureError, match='are embedded'):
        motion.gradient([g], final_cost=x)


def test_a_part_of_a_motion_has_a_gradient():
    """After an error the steps up to then are those of a shorter motion."""
    compiled = compile_equations(UdwadiaKalabaMethod(
        m*q.diff()**2/2 + k*sin(q), [q]), {m: 1, k: 1})

    def event(t, x):
        if t > 0.8:
            raise RuntimeError('stop')
        return 1.

    part = simulate(compiled, 2, [1, 0], adjoint=True, throw=False,
                    events=event, max_step=0.1, **TIGHT)
    assert 0.5 < part.t[-1] < 0.8
    whole = simulate(compiled, part.t[-1], [1, 0], adjoint=True, **TIGHT)
    np.testing.assert_allclose(*(motion.gradient(
        [m, k, q], final_cost=q).values for motion in (part, whole)),
        rtol=1e-9)
