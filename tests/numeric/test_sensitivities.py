"""Derivatives of motions against closed forms and differences, and fits."""
from functools import partial

import numpy as np
import pytest
from exports import kept
from mechanisms import g, l, m, x, y
from sympy import cos, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import GibbsAppellMethod, UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstrainedDynamicsError, ConstraintError, SimulationError,
    UnsupportedFeatureError)
from sympy_constrained.numeric import (
    Measurement, Reason, compile_equations, consistent_state, identify,
    linearize, sensitivities, simulate)
from sympy_constrained.numeric.sensitivity import sensitivities as module

q, c = dynamicsymbols('q'), symbols('c')
PENDULUM = m*l**2*q.diff()**2/2 + m*g*l*cos(q)
PLANE = m*(x.diff()**2 + y.diff()**2)/2 - m*g*y
TIGHT = {'rtol': 1e-12, 'atol': 1e-13}


def damped(**options):
    return UdwadiaKalabaMethod(
        PENDULUM, [q], nonideal_forces=[-c*q.diff()], **options)


def test_a_closed_form():
    """v = v0 exp(-c t/m): by c, m and v0, and the path; c is named m, too."""
    v, c = dynamicsymbols('v'), symbols('m')
    sled = UdwadiaKalabaMethod(
        m*v.diff()**2/2, [v], nonideal_forces=[-c*v.diff()])
    motion = sensitivities(sled, 2, [0, 3], [c, m, v.diff()],
                           constants={m: 2, c: 0.5}, t_eval=5, **TIGHT)
    t, e = motion.t, np.exp(-motion.t/4)
    np.testing.assert_allclose(motion[v.diff(), c], -t/2*3*e, atol=1e-11)
    np.testing.assert_allclose(motion["v'", m], 0.5*t/4*3*e, atol=1e-11)
    np.testing.assert_allclose(motion["v'", "v'"], e, rtol=1e-11)
    np.testing.assert_allclose(motion['v', "v'"], 4*(1 - e), atol=1e-11)
    values, by = motion.of([2*v.diff().diff()])
    np.testing.assert_allclose(values[:, 0], -1.5*e, rtol=1e-11)
    np.testing.assert_allclose(by[:, 0, 0], (-3 + 0.75*t)*e, atol=1e-10)


@pytest.mark.parametrize('name, by', [
    ('four_bar', ['g']), ('rolling_disc', ['g', 'u2']),
    ('massless_coordinate', ['k1'])])
def test_derivatives_equal_differences_and_stay_on_the_constraints(name, by):
    made, _, compiled, start = kept(name)
    fixed = [s for s in made.fixed if s in compiled.states]
    motion = sensitivities(compiled, 0.5, start, by, fixed=fixed, t_eval=3,
                           **TIGHT)
    for k, item in enumerate(by):
        value = dict(zip(map(str, compiled.constants), compiled.p)).get(item)

        def end(h):
            if value is None:
                i = compiled.names.index(item)
                moved = start.copy()
                moved[i] += h
                moved = consistent_state(compiled, moved, fixed)
                return simulate(compiled, 0.5, moved, **TIGHT).x[-1]
            return simulate(compiled, 0.5, start, constants={
                item: value + h}, **TIGHT).x[-1]

        h = 1e-3*(value or 1.)
        differences = (8*(end(h/2) - end(-h/2)) - end(h) + end(-h))/(6*h)
        scale = max(np.abs(differences).max(), 1e-3)
        assert np.abs(motion.dx[-1, :, k] - differences).max() < 1e-7*scale
    K = compiled.jacobian('residuals')(motion.t, motion.x)
    assert np.abs(K@motion.dx[..., -1:]).max() < 1e-9 or by[-1] in map(
        str, compiled.constants)


@pytest.mark.parametrize('method', ['DOP853', 'Radau'])
@pytest.mark.parametrize('by', [[c], [c, q], [c, q, m]])
def test_a_mass_that_becomes_negative_ends_the_run(by, method):
    """At q = 1, between two steps; the acceleration is c."""
    mass = m*(1 - q)
    compiled = compile_equations(UdwadiaKalabaMethod(
        mass*q.diff()**2/2, [q], nonideal_forces=[
            mass*c - m*q.diff()**2/2]), {m: 1, c: 0.1})
    for run in simulate, partial(sensitivities, by=by):
        with pytest.raises(SimulationError) as error:
            run(compiled, 2, [0, 1], method=method)
        assert error.value.reason is Reason.SINGULAR
        assert error.value.time < 0.96


def test_multipliers_have_derivatives_at_all_times():
    _, _, compiled, start = kept('four_bar')
    motion = sensitivities(compiled, 0.5, start, ['g', 'rho'], t_eval=5,
                           **TIGHT)
    values, by = motion.of(compiled.multiplier_names)
    found = motion.trajectories[0].multipliers.reshape(5, 3, -1)
    np.testing.assert_allclose(found[:, 0], values, rtol=1e-9)
    np.testing.assert_allclose(found[:, 1:].swapaxes(1, 2), by, rtol=1e-8,
                               atol=1e-9)


def test_many_are_split(monkeypatch):
    arguments = damped(), 2, [1, 0], [m, g, l, c, q]
    constants = {m: 1, g: 9.81, l: 1, c: 0.2}
    whole = sensitivities(*arguments, constants=constants, **TIGHT)
    monkeypatch.setattr(module, 'STATES', 4)
    parts = sensitivities(*arguments, constants=constants, **TIGHT)
    assert len(whole.trajectories) == 1 and len(parts.trajectories) == 5
    np.testing.assert_allclose(parts.t, whole.trajectories[0].t[
        :len(parts.t)] if len(parts.t) == len(whole.t) else parts.t)
    np.testing.assert_allclose(parts.dx[-1], whole.dx[-1], rtol=1e-9)


def test_inputs_take_part():
    """A gain of feedback is a constant; a table is a function of time."""
    F, gain = dynamicsymbols('F'), symbols('gain')
    cart = UdwadiaKalabaMethod(m*q.diff()**2/2, [q], nonideal_forces=[F])
    motion = sensitivities(
        cart, 1, [1, 0], [gain], inputs={F: -gain*q}, t_eval=3,
        constants={m: 1, gain: 4}, **TIGHT)
    t = motion.t                        # q = cos(sqrt(gain) t)
    np.testing.assert_allclose(motion[q, gain], -t/4*np.sin(2*t), atol=1e-10)
    motion = sensitivities(
        cart, 1, [1, 0], [m], inputs={F: ([0, 1, 2], [1, 1, 1])}, t_eval=3,
        constants={m: 2}, **TIGHT)
    np.testing.assert_allclose(motion[q, m], -motion.t**2/8, atol=1e-10)
    with pytest.raises(UnsupportedFeatureError, match='F is a Python func'):
        sensitivities(cart, 1, [1, 0], [m], constants={m: 2},
                      inputs={F: lambda t, x: t - x[0]})


@pytest.mark.parametrize('size', [1, 1e9])
def test_rows_in_other_units_count_as_much(size):
    """``y`` follows from its row, whatever the factor of another one."""
    a, z = symbols('a'), dynamicsymbols('z')
    vx, vy, vz = (q.diff() for q in (x, y, z))
    compiled = compile_equations(UdwadiaKalabaMethod(
        m*(vx**2 + vy**2 + vz**2)/2 - m*g*x, [x, y, z],
        hol_coneqs=[size*(z - x), y - x**2 - a]), {m: 1, g: 9.81, a: 0.2})
    start = [1, 1.2, 1, 0, 0, 0]
    assert compiled.tangent_basis(0, start).shape == (6, 2)
    assert linearize(compiled, start).A.shape == (2, 2)
    motion = simulate(compiled, 0.3, start, adjoint=True)
    for found in (
            motion.gradient([a], final_cost=y, fixed=[x, vx])[a],
            sensitivities(compiled, 0.3, start, [a], fixed=[x, vx])[y, a][-1]):
        assert found == pytest.approx(1, rel=1e-9)


def test_the_start_has_to_be_determined():
    pendulum = compile_equations(UdwadiaKalabaMethod(
        PLANE, [x, y], hol_coneqs=[x**2 + y**2 - l**2]),
        {m: 1, g: 9.81, l: 1})
    with pytest.raises(ConstraintError, match='Name 2 of these in `fixed`'):
        sensitivities(pendulum, 1, [0.6, -0.8, 0, 0], [l])
    with pytest.raises(ConstraintError, match='Fix fewer'):
        sensitivities(pendulum, 1, [0.6, -0.8, 0, 0], [l],
                      fixed=[x, y, x.diff()])
    assert sensitivities(pendulum, 1, [0.6, -0.8, 0, 0], [g]).dx.shape[
        1:] == (4, 1)
    with pytest.raises(ValueError, match='no state or constant'):
        sensitivities(pendulum, 1, [0.6, -0.8, 0, 0], ['k'])
    with pytest.raises(ValueError, match='g more than once'):
        sensitivities(pendulum, 1, [0.6, -0.8, 0, 0], [g, 'g'])
    fixed_size = x.diff().diff()**2 + y.diff().diff()**2 - c**2
    compiled = compile_equations(GibbsAppellMethod(
        PLANE, [x, y], nonhol_coneqs=[fixed_size]), {m: 1, g: 1, c: 2})
    with pytest.raises(UnsupportedFeatureError, match='differences'):
        sensitivities(compiled, 1, np.ones(len(compiled.states)), [c])


# -- fits ------------------------------------------------------------------

TRUE = {m: 1, g: 9.81, l: 1, c: 0.2}
TIMES = np.linspace(0, 4, 101)


@pytest.fixture(scope='module')
def pendulum():
    return compile_equations(damped(), TRUE)


@pytest.fixture(scope='module')
def swing(pendulum):
    return simulate(pendulum, 4, [0.8, 0.], t_eval=TIMES, **TIGHT)


def test_estimates_lie_within_their_deviations(pendulum, swing):
    """Over many noises the errors have the covariance that is reported."""
    errors = []
    for seed in range(12):
        noise = 1e-3*np.random.default_rng(seed).normal(size=101)
        found = identify(
            pendulum.with_values({g: 8, c: 0.5}),
            Measurement(TIMES, {q: swing[q] + noise}, [0.8, 0]), [g, c],
            deviations={q: 1e-3} if seed % 2 else None)
        errors.append((found.values - [9.81, 0.2])/found.deviation)
        assert 0.7e-3 < found.noise*(1e-3 if seed % 2 else 1) < 1.3e-3
        assert abs(np.std(found.residuals) - 1) < 0.3
    assert 0.5 < np.sqrt(np.mean(np.square(errors))) < 1.6


def test_missing_values_several_motions_and_unknown_starts(pendulum, swing):
    other = simulate(pendulum, 2, [-0.3, 0.], t_eval=41, **TIGHT)
    values = np.where(np.arange(101) % 3, swing[q], np.nan)
    speeds = np.where(np.arange(101) % 7, swing[q.diff()], np.nan)
    found = identify(
        pendulum.with_values({g: 8, c: 0.5}), [
            Measurement(TIMES, {q: values, 3*q.diff(): 3*speeds}, [0.8, 0]),
            Measurement(other.t, {sin(q): np.sin(other[q])}, [-0.3, 0])],
        [g, 'c'], **TIGHT)
    np.testing.assert_allclose(found.values, [9.81, 0.2], rtol=1e-8)
    assert len(found.motions) == 2 and found.undetermined == ()
    found = identify(
        pendulum.with_values({c: 0.5}),
        Measurement(TIMES, {q: values}, [0.5, 0.4]), [c, q, q.diff()],
        **TIGHT)
    np.testing.assert_allclose(found.values, [0.2, 0.8, 0], atol=1e-8)
    assert found[q] == found.values[1]


def test_what_is_not_determined_keeps_its_guess(pendulum, swing):
    """Of m l^2 and m g l only ratios act."""
    found = identify(
        pendulum.with_values({m: 3, c: 0.5}),
        Measurement(TIMES, {q: swing[q]}, [0.8, 0]), [m, c])
    combination, = found.undetermined
    assert set(combination) == {m, c}
    assert abs(found[c]/found[m] - 0.2) < 1e-7
    assert np.isinf(found.deviation).all()
    assert 'not determined' in repr(found)


def test_bounds_hold(pendulum, swing):
    found = identify(
        pendulum.with_values({g: 9, c: 0.5}),
        Measurement(TIMES, {q: swing[q]}, [0.8, 0]), [g, c],
        bounds={c: (0.3, 1)})
    assert found[c] == 0.3 and abs(found[g] - 9.81) < 0.1


def test_errors_of_measurements(pendulum, swing):
    values = {q: swing[q]}
    for text, given, unknown, options in (
            ('one value for each time', {q: swing[q][:5]}, g, {}),
            ('measured columns only, such as', swing.to_table(), g, {}),
            ('are missing', {q: np.full(101, np.nan)}, g, {}),
            ('no state or constant', values, 'k', {}),
            ('contains k. Use', {symbols('k')*q: swing[q]}, g, {}),
            ('no unknown', values, g, {'bounds': {c: (0, 1)}}),
            ('lower bound first', values, g, {'bounds': {g: (12, 8)}}),
            ('no measured output', values, g, {'deviations': {q.diff(): 1}}),
            ('must be positive', values, g, {'deviations': {q: 0}}),
            ('two times at least', values, g, {'segments': 60}),
            ('ends at t', values, g, {'throw': False, 'max_steps': 3})):
        with pytest.raises((ValueError, ConstrainedDynamicsError), match=text):
            identify(pendulum, Measurement(TIMES, given, [0.8, 0]), [unknown],
                     **options)
