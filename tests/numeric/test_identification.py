"""Fits: long and chaotic records, interrupts, sensors, what is determined."""
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from exports import kept
from sympy import Rational, cos, sin, sqrt, symbols
from sympy.physics.mechanics import ReferenceFrame, dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstrainedDynamicsError, ConstraintError)
from sympy_constrained.numeric import (
    Measurement, compile_equations, consistent_state, identify, sensitivities,
    simulate)
from sympy_constrained.numeric.sensitivity.shooting import Shooting

m, l, g, c, c1, c2 = symbols('m l g c c1 c2')
q, q1, q2, F = dynamicsymbols('q q1 q2 F')
w, w1, w2 = q.diff(), q1.diff(), q2.diff()
TIGHT = {'rtol': 1e-11, 'atol': 1e-12}


@pytest.fixture(scope='module')
def chaos():
    """Two damped rods, 10 s from high up; both angles to 0.02 rad."""
    lagrangian = m*l**2*(4*w1**2 + w2**2 + 3*w1*w2*cos(q1 - q2))/6 + (
        m*g*l*(3*cos(q1) + cos(q2))/2)
    rods = UdwadiaKalabaMethod(
        lagrangian, [q1, q2],
        nonideal_forces=[-c1*w1 - c2*(w1 - w2), -c2*(w2 - w1)])
    true = {g: 9.81, c1: 0.01, c2: 0.005}
    equations = compile_equations(rods, {m: 1, l: 0.5, **true})
    start = [2.5, 2.8, 0, 0]
    motion = simulate(equations, 10, start, t_eval=201, **TIGHT)
    flow = sensitivities(equations, 10, start, [q1, q2], t_eval=2)
    assert np.abs(flow.dx[-1]).max() > 1e10
    noise = 0.02*np.random.default_rng(2).normal(size=(2, 201))
    return SimpleNamespace(
        equations=equations.with_values({g: 8, c1: 0.05, c2: 0.05}),
        data=Measurement(motion.t, {q1: motion[q1] + noise[0],
                                    q2: motion[q2] + noise[1]},
                         [2.4, 2.9, 0.3, -0.3]),
        true=[*true.values(), *start], unknown=[g, c1, c2, q1, q2, w1, w2],
        deviations={q1: 0.02, q2: 0.02})


def test_a_chaotic_record_needs_segments(chaos):
    def run(segments):
        return identify(chaos.equations, chaos.data, chaos.unknown,
                        deviations=chaos.deviations, segments=segments)

    lost = run(1)
    assert lost.noise > 100 and 'local minimum' in lost.message
    found = run(20)
    assert found.success and found.gap < 1e-9
    assert 0.9 < found.noise < 1.1
    errors = (found.values - chaos.true)/found.deviation
    assert np.abs(errors).max() < 3 and np.abs(errors).max() > 0.1
    assert (found.deviation[:3] < [0.003, 0.001, 0.0003]).all()
    motion, = found.motions
    assert len(motion.t) == 201 and motion.dx.shape == (201, 4, 7)


@pytest.fixture(scope='module')
def pendulum():
    return compile_equations(UdwadiaKalabaMethod(
        m*l**2*w**2/2 + m*g*l*cos(q), [q], nonideal_forces=[F - c*w]),
        {m: 1, g: 9.81, l: 1, c: 0.2}, {F: 0})


@pytest.fixture(scope='module')
def swing(pendulum):
    motion = simulate(pendulum, 4, [0.8, 0.], t_eval=101, **TIGHT)
    noise = 1e-3*np.random.default_rng(0).normal(size=101)
    return Measurement(motion.t, {q: motion[q] + noise}, [0.8, 0.])


@pytest.mark.parametrize('unknown', [[g, c], [g, c, q, w]])
def test_segments_and_units_change_nothing(pendulum, swing, unknown):
    """Estimates, covariance, derivatives along the motion."""
    guess = pendulum.with_values({g: 8, c: 0.5})
    small = swing._replace(values={q/10**7: swing.values[q]/1e7})
    whole, parts, units = (identify(guess, data, unknown, segments=n, **TIGHT)
                           for n, data in ((1, swing), (6, swing), (1, small)))
    np.testing.assert_allclose(units.values, whole.values, atol=1e-6)
    np.testing.assert_allclose(parts.values, whole.values, atol=1e-6)
    np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=1e-4,
                               atol=1e-11)
    np.testing.assert_allclose(parts.motions[0].dx, whole.motions[0].dx,
                               atol=1e-4)
    np.testing.assert_allclose(parts.motions[0].x, whole.motions[0].x,
                               atol=1e-6)


@pytest.mark.parametrize('segments', [1, 5])
@pytest.mark.parametrize('calls', [3, 5])
def test_an_interrupt_returns_the_best(pendulum, swing, monkeypatch, segments,
                                       calls):
    evaluated = Shooting.__call__

    def interrupted(self, values, moves):
        if self.count == calls:
            raise KeyboardInterrupt
        return evaluated(self, values, moves)

    monkeypatch.setattr(Shooting, '__call__', interrupted)
    guess = pendulum.with_values({g: 8, c: 0.5})
    found = identify(guess, swing, [g, c], segments=segments)
    assert not found.success
    assert found.message.startswith(f'Interrupted, after {calls} integrat')
    assert 'Interrupted' in repr(found)
    assert abs(found[g] - 9.81) < 1 and np.isfinite(found.deviation).all()
    assert len(found.motions[0].t) == 101


def test_an_interrupt_within_a_motion(pendulum, swing):
    calls = []

    def force(t, x):
        calls.append(t)
        if len(calls) == 3000:
            signal.raise_signal(signal.SIGINT)
        return 0.

    guess = pendulum.with_values({g: 8, c: 0.5}, {F: force})
    with pytest.warns(UserWarning, match='interrupted'):
        found = identify(guess, swing, [g, c])
    assert not found.success and 'Interrupted' in found.message
    with pytest.warns(UserWarning, match='interrupted'), pytest.raises(
            KeyboardInterrupt):         # nothing is known yet
        calls = [0.]*2990
        identify(guess, swing, [g, c])


def test_values_that_fail_are_avoided(pendulum, swing, monkeypatch):
    """The force has no value at a gravity above 10.2."""
    failed, evaluated = [], Shooting.__call__

    def watched(self, values, moves):
        try:
            return evaluated(self, values, moves)
        except ConstrainedDynamicsError:
            failed.append(values)
            raise

    monkeypatch.setattr(Shooting, '__call__', watched)
    guess = pendulum.with_values(
        {g: 6, c: 1.5}, {F: 1e-9*sqrt(Rational(102, 10) - g)})
    found = identify(guess, swing, [g, c])
    assert failed and found.success and abs(found[g] - 9.81) < 0.01
    with pytest.raises(ConstrainedDynamicsError):
        identify(guess.with_values({g: 11}), swing, [g, c])
    edge = identify(pendulum.with_values(
        {g: 6, c: 1.5}, {F: 1e-9*sqrt(8 - g)}), swing, [g, c])
    assert not edge.success and 'at other values: Integr' in edge.message


def test_nothing_is_determined(pendulum, swing):
    found = identify(pendulum.with_values({c: 0, m: 3}), swing, [m])
    assert found[m] == 3 and found.undetermined == ({m: 1.},)
    assert 'do not determine m' in found.message


def test_bounds_can_be_left_again(pendulum, swing):
    """The first step overshoots; the estimate is inside."""
    found = identify(pendulum.with_values({g: 3, c: 2}), swing, [g, c],
                     bounds={g: (2, 9.9), c: (0, 2)})
    assert abs(found[g] - 9.81) < 0.01 and abs(found[c] - 0.2) < 0.01


@pytest.mark.parametrize('segments', [1, 4])
def test_a_closed_chain_from_an_accelerometer(segments):
    """A sensor in the middle of the coupler of a four-bar linkage, along and
    across it, with noise; gravity and the start are unknown.
    """
    made, _, compiled, start = kept('four_bar')
    p1, p2, _ = made.coordinates
    v1, v2, _ = made.speeds
    names = {str(item): item for item in compiled.constants}
    l2, l3, gravity = names['l2'], names['l3'], names['g']
    N = ReferenceFrame('N')
    crank = N.orientnew('crank', 'Axis', [p1, N.z])
    coupler = crank.orientnew('coupler', 'Axis', [p2, crank.z])
    rates = {p1.diff(): v1, p2.diff(): v2}
    place = l2*crank.x + l3/2*coupler.x
    felt = place.dt(N).subs(rates).dt(N).subs(rates) + gravity*N.y
    sensor = [felt.dot(coupler.x), felt.dot(coupler.y)]
    motion = simulate(compiled, 1, start, t_eval=201, **TIGHT)
    data = compiled.values(sensor)(motion.t, motion.x)
    data = data + 0.2*np.random.default_rng(1).normal(size=data.shape)
    guess = consistent_state(
        compiled, {**dict(zip(compiled.states, start)), p1: 1.2, v1: 8},
        [p1, v1])
    found = identify(
        compiled.with_values({gravity: 7}),
        Measurement(motion.t, dict(zip(sensor, data.T)), guess),
        [gravity, p1, v1], segments=segments,
        deviations=dict.fromkeys(sensor, 0.2))
    assert found.success and 0.9 < found.noise < 1.1
    errors = (found.values - [9.81, 1, 10])/found.deviation
    assert np.abs(errors).max() < 3
    assert (found.deviation < [0.1, 0.01, 0.05]).all()
    fitted, = found.motions
    residuals = compiled.residuals(fitted.t, fitted.x)
    assert np.abs(residuals).max() < 1e-9
    assert np.abs(compiled.jacobian('residuals')(
        fitted.t, fitted.x)@fitted.dx).max() < 1e-7


def test_segments_that_begin_at_the_edge_of_the_reach():
    """At the end of a swing the measured coordinate hardly determines the
    state, so a trial step leaves the circle.
    """
    x, y = dynamicsymbols('x y')
    u, v = x.diff(), y.diff()
    compiled = compile_equations(UdwadiaKalabaMethod(
        m*(u**2 + v**2)/2 - m*g*y, [x, y], hol_coneqs=[x**2 + y**2 - l**2],
        generalized_forces=[-c*u, -c*v]), {m: 1, g: 9.81, l: 1, c: 0.1})
    motion = simulate(compiled, 4, [1, 0, 0, 0], t_eval=101, **TIGHT)
    noise = 0.01*np.random.default_rng(1).normal(size=101)
    found = identify(
        compiled.with_values({g: 7, c: 0.5}),
        Measurement(motion.t, {x: motion[x] + noise}, motion.x[0]), [g, c],
        deviations={x: 0.01}, segments=4)
    assert found.success
    assert np.abs((found.values - [9.81, 0.1])/found.deviation).max() < 3


def test_names_and_columns(pendulum, swing):
    """A data frame has names of columns."""
    data = Measurement(swing.t, {'q': swing.values[q]}, {'q': 0.8, "q'": 0})
    found = identify(pendulum.with_values({g: 8}), data, ['g', g])
    assert found.unknown == (g,) and abs(found[g] - 9.81) < 0.01
    with pytest.raises(ValueError, match='`values`.*no state or accel'):
        identify(pendulum, Measurement(swing.t, {'z': swing.t}, [0.8, 0]), [g])
    assert sin(q) not in found.equations.states


def test_a_plot_of_fit_and_residuals(pendulum, swing):
    from sympy_constrained.plotting import plot_fit
    values = np.where(np.arange(101) % 4, swing.values[q], np.nan)
    other = Measurement(swing.t, {q: swing.values[q], sin(q): np.sin(
        swing.values[q])}, [0.8, 0])
    found = identify(pendulum.with_values({g: 9}), [
        Measurement(swing.t, {q: values}, [0.8, 0]), other], [g],
        deviations={q: 1e-3, sin(q): 1e-3})
    figure = plot_fit(found, {q: 'rad', 't': 's'})
    uppers, lowers = figure.axes[:3], figure.axes[3:]
    assert [ax.get_ylabel() for ax in uppers] == [
        '$q$ in rad', '$q$ in rad', 'sin(q(t))']
    assert {ax.get_xlabel() for ax in lowers} == {'$t$ in s'}
    for ax, below, data in zip(uppers, lowers, [
            values, swing.values[q], np.sin(swing.values[q])]):
        measured, fit = (line.get_ydata() for line in ax.lines)
        np.testing.assert_array_equal(measured, data)
        np.testing.assert_allclose(below.lines[0].get_ydata(),
                                   (fit - data)/1e-3, atol=1e-9)


@pytest.mark.slow
def test_nine_combinations_of_constants_change_no_motion_of_the_bicycle():
    """Eight of them with the same gravity: they have no effect on rates and
    constraints at random states."""
    made, _, compiled, start = kept('bicycle')
    fixed = [x for x in made.fixed if x in compiled.states]
    functions = [compiled.jacobian(of, compiled.constants)
                 for of in ('rates', 'residuals')]
    rng, places = np.random.default_rng(0), compiled.names.indices(fixed, '')
    rows = []
    for _ in range(40):
        state = start.copy()
        state[places] += 0.3*rng.normal(size=len(places))
        state = consistent_state(compiled, state, fixed)
        rows += [function(0, state) for function in functions]
    effects = np.concatenate(rows)*compiled.parameters()
    gravity = list(map(str, compiled.constants)).index('g')
    for some, count in ((effects, 9), (np.delete(effects, gravity, 1), 8)):
        sigma = np.linalg.svd(some, compute_uv=False)
        assert np.sum(sigma < 1e-11*sigma[0]) == count
        assert np.sum(sigma < 1e-4*sigma[0]) == count


x, y = dynamicsymbols('x y')
bob = UdwadiaKalabaMethod(
    m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
    hol_coneqs=[x**2 + y**2 - l**2])


def test_start_off_the_constraints_is_refused():
    motion = simulate(bob, 2, [0.8, -0.6, 0, 0], t_eval=51,
                      constants={m: 1, g: 9.81, l: 1})
    guess, values = {m: 1, g: 9, l: 1}, {x: motion[x]}
    data = Measurement(motion.t, values, [0.8, -0.5, 0, 0])
    with pytest.raises(ConstraintError, match='holonomic row 0'):
        identify(bob, data, [g], constants=guess)
    found = identify(bob, data, [g], constants=guess, fixed=[x])
    assert abs(found[g] - 9.81) < 1e-5          # y was moved, as was asked


@pytest.mark.parametrize('y0, moved', [(-0.6, False), (-0.5, True)])
def test_a_start_that_was_moved_is_reported(y0, moved):
    """With the length unknown the constraint determines where y begins."""
    motion = simulate(bob, 1, [0.8, -0.6, 0, 0], t_eval=21,
                      constants={m: 1, g: 9.81, l: 1})
    data = Measurement(motion.t, {x: motion[x]}, [0.8, y0, 0, 0])
    found = identify(bob, data, [l], fixed=[x, "x'"],
                     constants={m: 1, g: 9.81, l: 1.1})
    assert abs(found[l] - 1) < 1e-6
    assert ('was moved: y by 0.1.' in found.message) is moved
