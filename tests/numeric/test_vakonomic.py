"""Vakonomic motion in numbers: simulation with multipliers as states, Routh's
motions among the vakonomic ones, and boundary values.
"""
from functools import cache, partial

import numpy as np
import pytest
from sympy import cos, sin, sqrt, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import RouthMethod, VaccoMethod
from sympy_constrained.errors import (
    ConstraintError, MissingIngredientError, RedundantConstraintsError,
    SimulationError, SingularEquationsError)
from sympy_constrained.numeric import (
    Reason, boundary_value, compile_equations, consistent_state,
    matching_multipliers, simulate)

t = dynamicsymbols._t
m, g, J, gamma, I, R, c, l, b = symbols('m g J gamma I R c l b')
x, y, z, theta, phi, w = dynamicsymbols('x y z theta phi w')
vx, vy, vz, spin, turn = (f.diff(t) for f in (x, y, z, theta, phi))
SLOPE = np.array([np.cos(0.3), np.sin(0.3)])


# The models

@cache
def skate(drift=0, slope=gamma, factor=1):
    L = m*(vx**2 + vy**2)/2 + J*turn**2/2 + m*slope*x
    return VaccoMethod(L, [x, y, phi], nonhol_coneqs=[
        factor*((vx - drift)*sin(phi) - vy*cos(phi))])


@cache
def disc(factor=1):
    L = m*(vx**2 + vy**2)/2 + I*spin**2/2 + J*turn**2/2
    return VaccoMethod(L, [x, y, theta, phi], nonhol_coneqs=[
        factor*(vx - R*spin*cos(phi)), factor*(vy - R*spin*sin(phi))])


@cache
def tilted_disc():
    """The level disc in a plane z = b x, with no gravity."""
    L = m*(vx**2 + vy**2 + vz**2)/2 + I*spin**2/2 + J*turn**2/2
    ahead = (vx + b*vz)/sqrt(1 + b**2)
    return VaccoMethod(
        L, [x, y, z, theta, phi], hol_coneqs=[z - b*x], nonhol_coneqs=[
            ahead - R*spin*cos(phi), vy - R*spin*sin(phi)])


@cache
def constant_speed():
    return VaccoMethod(m*(vx**2 + vz**2)/2 - m*gamma*z, [x, z],
                       nonhol_coneqs=[vx**2 + vz**2 - c**2])


@cache
def rod():
    return VaccoMethod(m*(vx**2 + vy**2)/2 - m*g*y, [x, y],
                       hol_coneqs=[x**2 + y**2 - l**2])


@cache
def growing():
    return VaccoMethod((vx**2 + vy**2)/2 + x**4 + y**4, [x, y],
                       nonhol_coneqs=[vy - vx])


@cache
def heisenberg():
    return VaccoMethod((vx**2 + vy**2)/2, [x, y, z],
                       nonhol_coneqs=[vz - (x*vy - y*vx)/2])


SKATE = {m: 1.2, J: 0.7, gamma: 2}
LEVEL = {m: 1.2, J: 0.7}
DISC = {m: 1.5, I: 0.4, J: 0.3, R: 0.5}
SPEED = {m: 1.3, gamma: 9.81, c: 3}
ROD = {m: 1.3, g: 9.81, l: 1}
SKATE_START = {x: 0, y: 0, phi: 0.3, vx: 0.8*SLOPE[0], vy: 0.8*SLOPE[1],
               turn: 1.1}
ON_DRIFT = {**SKATE_START, 'mu1': 0.45}
DISC_START = {x: 0, y: 0, theta: 0, phi: 0.2, spin: 3, turn: 0.8,
              vx: 1.5*np.cos(0.2), vy: 1.5*np.sin(0.2)}
TILTED = {**DISC, b: 0.5}
TILTED_START = {**DISC_START, z: 0, vx: DISC_START[vx]/np.sqrt(1.25),
                vz: 0.5*DISC_START[vx]/np.sqrt(1.25)}
SPEED_START = {x: 0, z: 0, vx: 3*np.cos(0.6), vz: 3*np.sin(0.6)}

MOTIONS = {
    'skate': (skate, (), {**SKATE_START, 'mu1': 0.45}, SKATE, 5),
    'drifting ice': (skate, (sin(t),), ON_DRIFT, SKATE, 5),
    'disc': (disc, (), {**DISC_START, 'mu1': 0.3, 'mu2': -0.2}, DISC, 10),
    'tilted disc': (tilted_disc, (), {
        **TILTED_START, 'mu1': 3, 'mu2': 0.3, 'mu3': -0.2}, TILTED, 10),
    'constant speed': (constant_speed, (), {**SPEED_START, 'mu1': -1.9},
                       SPEED, 3),
    'rod': (rod, (), {x: 1, y: 0, vx: 0, vy: 0, 'mu1': 7}, ROD, 5),
    'heisenberg': (heisenberg, (), [0, 0, 0, 1, 0, 0, 3], {}, 5)}


# Simulation

@pytest.mark.parametrize('name', MOTIONS)
def test_constraints_and_energy_are_kept(name):
    make, arguments, start, constants, end = MOTIONS[name]
    method = make(*arguments)
    motion = simulate(method, end, start, constants=constants, t_eval=51,
                      rtol=1e-9, atol=1e-11)
    assert motion.reason is Reason.END and motion.success
    assert motion.largest_residual < 1e-10
    assert np.abs(motion.energy_error).max() < 1e-5
    assert motion.states == tuple(method.equations_of_motion.states)
    assert motion.x.shape == (51, len(method.equations_of_motion.states))
    assert motion.multipliers.shape == (51, 0)
    compiled = compile_equations(method, constants)
    assert compiled.multiplier_names == ()
    # h' changes by the work and by what moves
    energy = compiled.expression(method.variation.energy)(motion.t, motion.x)
    if method.variation.energy_rate == 0:
        np.testing.assert_allclose(energy, energy[0], atol=1e-5)
    else:
        assert np.ptp(energy) > 1e-3
    # M u' - Q = -(A^T mu' + Gamma mu), at the recorded times
    forces = compiled.output(method.closed_form, 'constraint_forces')
    np.testing.assert_allclose(
        motion.constraint_forces, forces(motion.t, motion.x)[..., 0],
        rtol=1e-8, atol=1e-8)


# Initial values

def test_multipliers_must_be_given():
    for start in (SKATE_START, list(SKATE_START.values())):
        with pytest.raises(ValueError, match=(
                '(?s)mu1.*initial values are data of the problem'
                '.*matching_multipliers')):
            simulate(skate(), 1, start, constants=SKATE)
    with pytest.raises(ValueError, match="no value for mu2"):
        simulate(disc(), 1, {**DISC_START, 'mu1': 0}, constants=DISC)
    with pytest.raises(ValueError, match="'mu1' is no state"):
        simulate(RouthMethod.from_method(skate()), 1,
                 {**SKATE_START, 'mu1': 0.45}, constants=SKATE)


@pytest.mark.parametrize('make, off, row, constants', [
    (skate, {**SKATE_START, vy: 0.5, 'mu1': 0.45}, 'velocity-level row 0',
     SKATE),
    (rod, {x: 1.1, y: 0.1, vx: 0.3, vy: -0.4, 'mu1': 7}, 'holonomic row 0',
     ROD)])
def test_an_inconsistent_start(make, off, row, constants):
    """Projection does not change the multipliers."""
    with pytest.raises(ConstraintError, match=row) as found:
        simulate(make(), 1, off, constants=constants)
    assert found.value.rows[0] == row
    motion = simulate(make(), 1, off, constants=constants, initial='project')
    assert motion.largest_residual < 1e-12
    assert motion['mu1'][0] == pytest.approx(off['mu1'])
    state = consistent_state(compile_equations(make(), constants), off)
    np.testing.assert_allclose(state, motion.x[0], atol=1e-12)


# Where the multiplier cancels the mass

@pytest.mark.parametrize('options', [
    {}, {'method': 'Radau'}, {'max_step': 0.01}, {'stabilization': None}])
def test_a_singular_state_on_the_way(options):
    """Straight up, P = (m + 2 mu) r' passes zero; the motion after it is not
    determined."""
    mu = 0.5
    end = 3*(1.3 + 2*mu)/(1.3*9.81)
    start = {x: 0, z: 0, vx: 0, vz: 3, 'mu1': mu}
    with pytest.raises(SimulationError, match=(
            r'(?s)singular.*B\^T\*W\*B.*error.trajectory')) as found:
        simulate(constant_speed(), 2, start, constants=SPEED, **options)
    error = found.value
    assert error.reason is Reason.SINGULAR
    assert 0 < error.time < end + 1e-6
    if 'max_step' in options:
        assert error.time > end - 0.02
    motion = error.trajectory
    assert motion.t[-1] == error.time
    np.testing.assert_allclose(motion[z], 3*motion.t, atol=1e-7)
    np.testing.assert_allclose(
        1.3 + 2*motion['mu1'], 1.3 + 2*mu - 1.3*9.81/3*motion.t, atol=1e-6)
    assert (motion['mu1'] > -0.65 - 1e-9).all()
    assert simulate(constant_speed(), 0.9*end, start, constants=SPEED,
                    **options).success
    with pytest.raises(SingularEquationsError, match=(
            r'(?s)B\^T\*W\*B.*multiplier has cancelled the mass')):
        simulate(constant_speed(), 1, {**SPEED_START, 'mu1': -0.65},
                 constants=SPEED)


def test_inputs_move_the_ice():
    """The drift of case 8 as a specified function, in two ways."""
    ice = skate(w)
    wanted = simulate(skate(0.9*sin(t)), 2, ON_DRIFT, constants=SKATE,
                      t_eval=5)
    for inputs in (
            {'w': 0.9*sin(t)},
            {w: lambda t, x: 0.9*np.sin(t),
             w.diff(t): lambda t, x: 0.9*np.cos(t)}):
        motion = simulate(ice, 2, ON_DRIFT, constants=SKATE, inputs=inputs,
                          t_eval=5)
        np.testing.assert_allclose(motion.x, wanted.x, atol=1e-7)
        found = matching_multipliers(ice, SKATE_START, 2, constants=SKATE,
                                     inputs=inputs)
        assert not found.coincides
    for inputs in (None, {w: lambda t, x: 0.9*np.sin(t)}):
        with pytest.raises(MissingIngredientError, match='w'):
            matching_multipliers(ice, SKATE_START, 2, constants=SKATE,
                                 inputs=inputs)


# Routh's motions among the vakonomic ones

VERDICTS = {
    'disc': (disc, (), DISC_START, DISC, 4, True, 0),
    'disc that rolls straight': (
        disc, (), {**DISC_START, turn: 0}, DISC, 4, True, 1),
    'disc that spins in place': (disc, (), {
        **DISC_START, spin: 0, vx: 0, vy: 0}, DISC, 4, True, 0),
    'disc at rest': (disc, (), {
        **DISC_START, spin: 0, vx: 0, vy: 0, turn: 0}, DISC, 4, True, 2),
    'tilted disc': (tilted_disc, (), TILTED_START, TILTED, 4, True, 1),
    'skate on an incline': (
        skate, (), SKATE_START, SKATE, 2, False, None),
    'skate in a circle': (
        skate, (0, 0), SKATE_START, LEVEL, 2, False, None),
    'skate that glides': (skate, (0, 0), {**SKATE_START, turn: 0}, LEVEL, 2,
                          True, 0),
    'skate on drifting ice': (
        skate, (sin(t),), SKATE_START, SKATE, 2, False, None),
    'constant speed': (
        constant_speed, (), SPEED_START, SPEED, 0.7, False, None),
    'rod': (rod, (), {x: 1, y: 0, vx: 0, vy: 0}, ROD, 3, True, 1),
    'heisenberg': (heisenberg, (), [0.5, -0.2, 1, 0.3, 0.8, 0.23], {}, 2,
                   True, 0)}


@pytest.mark.parametrize('name', VERDICTS)
def test_verdicts(name):
    make, arguments, start, constants, end, coincides, free = VERDICTS[name]
    method = make(*arguments)
    found = matching_multipliers(method, start, end, constants=constants)
    assert found.coincides == coincides
    assert found.mu0.shape == (len(method.mu_vec),)
    if not coincides:
        assert 0.05 < found.residual < 1.5
        assert 'not vakonomic for any' in str(found)
        return
    assert found.residual < 1e-8 and found.free == free
    words = 'all initial' if free == len(found.mu0) else 'the initial mult'
    assert f'vakonomic for {words}' in str(found)
    # and that is so
    names = ({f'mu{k + 1}': value for k, value in enumerate(found.mu0)})
    begin = ({**start, **names} if isinstance(start, dict)
             else [*start, *found.mu0])
    ours = simulate(method, end, begin, constants=constants, t_eval=11,
                    rtol=1e-10, atol=1e-12)
    routh = simulate(
        RouthMethod.from_method(method), end, start, constants=constants,
        t_eval=11, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.x[:, :routh.x.shape[1]], routh.x,
                               atol=2e-8)


@pytest.mark.parametrize('make, constants, start, options, tolerance', [
    (disc, DISC, DISC_START, {}, 1e-8), (tilted_disc, TILTED, TILTED_START,
                                         {}, 1e-7),
    (disc, DISC, DISC_START, {'samples': 5, 'rtol': 1e-6}, 1e-4)])
def test_the_multipliers_of_the_disc(make, constants, start, options,
                                     tolerance):
    found = matching_multipliers(make(), start, 4, constants=constants,
                                 **options)
    wanted = [0]*(len(found.mu0) - 2) + [
        -1.5*DISC_START[vx], -1.5*DISC_START[vy]]
    np.testing.assert_allclose(found.mu0, wanted, rtol=tolerance,
                               atol=tolerance)


def test_the_interval_is_that_of_the_user():
    """A time in the constraints begins where the interval does."""
    start = {**SKATE_START, vx: np.sin(1) + 0.8*SLOPE[0]}
    first = matching_multipliers(skate(sin(t + 1)), start, 2, constants=SKATE)
    second = matching_multipliers(skate(sin(t)), start, (1, 3),
                                  constants=SKATE)
    assert second.residual == pytest.approx(first.residual, rel=1e-8)
    np.testing.assert_allclose(second.mu0, first.mu0, rtol=1e-7)
    with pytest.raises(ConstraintError, match='velocity-level row 0'):
        matching_multipliers(skate(sin(t)), SKATE_START, (1, 3),
                             constants=SKATE)
    still, moved, back = (
        matching_multipliers(disc(), DISC_START, span, constants=DISC).mu0
        for span in (4, (7, 11), -4))
    np.testing.assert_allclose(moved, still, rtol=1e-9)
    np.testing.assert_allclose(back, still, rtol=1e-7)


@pytest.mark.parametrize('mass, row, pace', [
    (1e-20, 1, 1), (1e20, 1, 1), (1, 1e-9, 1), (1, 1e6, 1), (1, 1, 1e-5)])
def test_verdicts_do_not_depend_on_units(mass, row, pace):
    """Of mass and time, nor on a factor of the rows."""
    def scaled(make, start, end, constants, mass=mass, row=row, pace=pace):
        found = matching_multipliers(
            make(row), {x: value*pace if x in (vx, vy, spin, turn) else value
                        for x, value in start.items()}, end/pace,
            constants={x: value*mass if x in (m, I, J) else value
                       for x, value in constants.items()})
        return found, found.mu0*row/(mass*pace)

    skates = partial(skate, 0, 0), SKATE_START, 2, LEVEL
    (found, mu0), (usual, _) = scaled(*skates), scaled(*skates, 1, 1, 1)
    assert not found.coincides
    assert found.residual == pytest.approx(usual.residual, rel=1e-3)
    np.testing.assert_allclose(mu0, usual.mu0, rtol=1e-3, atol=1e-3)
    rolling, mu0 = scaled(disc, DISC_START, 4, DISC)
    assert rolling.coincides and rolling.free == 0
    np.testing.assert_allclose(
        mu0, [-1.5*DISC_START[vx], -1.5*DISC_START[vy]], rtol=1e-6)
    straight, _ = scaled(disc, {**DISC_START, turn: 0}, 4, DISC)
    assert straight.coincides and straight.free == 1


def test_a_motion_of_routh_that_grows_without_bound():
    """``x' = sqrt(2) x^2`` along ``y = x``, up to the time 0.7071."""
    method = growing()
    start = {x: 1, y: 1, vx: 2**0.5, vy: 2**0.5}
    assert matching_multipliers(method, start, 0.7, rtol=1e-6).coincides
    with pytest.raises(SimulationError, match=(
            'could not be integrated: .*step.* Choose a shorter interval')):
        matching_multipliers(method, start, 0.8, rtol=1e-6)


def test_steps_of_matching_are_counted(monkeypatch):
    """``x' = x^2/sqrt(2)`` at large ``x`` makes ever shorter steps."""
    monkeypatch.setattr('sympy_constrained.numeric.integrate.ends.PACE', 100)
    fast = VaccoMethod((vx**2 + vy**2)/2 + x**4, [x, y],
                       nonhol_coneqs=[vy - x*vx])
    with pytest.raises(SimulationError, match=(
            '(?s)Routh.*given up at t = .*so the end needs .* more, and '
            '`max_steps` is 300.*larger `max_steps`')) as found:
        matching_multipliers(fast, [1, 0, 1, 1], 100, max_steps=300)
    assert found.value.reason is Reason.STEPS and 1 < found.value.time < 8
    with pytest.raises(SimulationError, match='the last 10 steps'):
        matching_multipliers(disc(), DISC_START, 4, constants=DISC,
                             max_steps=10)
    assert matching_multipliers(disc(), DISC_START, 4, constants=DISC,
                                max_steps=np.inf).coincides


def test_matching_needs_independent_rows():
    twice = VaccoMethod(m*(vx**2 + vy**2)/2, [x, y], nonhol_coneqs=[
        vx - y*vy, 2*vx - 2*y*vy])
    with pytest.raises(RedundantConstraintsError) as found:
        matching_multipliers(twice, [0, 0, 0, 0], 2, constants={m: 1})
    assert found.value.rows == (1,)


# Boundary values

@pytest.mark.parametrize('height, turns, vx0, mu', [
    (0.3, 1, 3, 5), (7, 1, 3, 5), (1, 2, 5, 12)])
def test_the_shortest_curve_around_an_area(height, turns, vx0, mu):
    """Action 2 pi Z from 0 to (0, 0, Z) in unit time, for circles; twice
    around half the area 4 pi Z, from another guess."""
    motion = boundary_value(
        heisenberg(), {x: 0, y: 0, z: 0}, [0, 0, height], 1,
        {vx: vx0, vy: 1, vz: 0, 'mu1': mu}, t_eval=101)
    np.testing.assert_allclose(motion.energy, 2*np.pi*turns*height, rtol=1e-7)
    np.testing.assert_allclose(motion.x[-1, :3], [0, 0, height],
                               atol=1e-6*max(1, height))
    np.testing.assert_allclose(motion['mu1'], 2*np.pi*turns, rtol=1e-6)
    centre = motion.x[:-1, :2].mean(axis=0)
    np.testing.assert_allclose(np.hypot(*(motion.x[:, :2] - centre).T),
                               np.sqrt(height/np.pi/turns), rtol=1e-5)
    assert motion.largest_residual < 1e-10


def test_boundary_values_of_other_shapes():
    """The span may start anywhere, constraints may move or be missing."""
    late = boundary_value(heisenberg(), [0, 0, 0], [0, 0, 1], (2, 3),
                          [3, 1, 0, 5], t_eval=[2, 2.5, 3])
    assert list(late.t) == [2, 2.5, 3]
    assert late.energy[0] == pytest.approx(2*np.pi, rel=1e-7)
    free = VaccoMethod(m*(vx**2 + vy**2)/2 - m*g*y, [x, y])
    throw = boundary_value(free, [0, 0], [3, 0], 2, [1, 1],
                           constants={m: 1, g: 9.81})
    np.testing.assert_allclose(throw.x[0], [0, 0, 1.5, 9.81], atol=1e-7)
    target = simulate(skate(w), 2, ON_DRIFT, constants=SKATE,
                      inputs={w: 0.9*sin(t)}).x[-1, :3]
    guess = {vx: 0.75, vy: 0.23, turn: 1.05, 'mu1': 0.5}
    motion = boundary_value(skate(w), [0, 0, 0.3], target, 2, guess,
                            constants=SKATE, inputs={w: 0.9*sin(t)})
    np.testing.assert_allclose(motion.x[-1, :3], target, atol=1e-5)
    np.testing.assert_allclose(
        motion.x[0, 3:], [0.8*SLOPE[0], 0.8*SLOPE[1], 1.1, 0.45], atol=1e-4)


def test_an_end_on_a_holonomic_constraint():
    motion = boundary_value(rod(), [1, 0], [0, -1], 1, [0, -1, 0],
                            constants=ROD)
    np.testing.assert_allclose(motion.x[-1, :2], [0, -1], atol=1e-6)
    assert motion.largest_residual < 1e-10


@pytest.mark.parametrize('method, first, last, guess, constants', [
    (rod, [1, 0], [0, -2], [0, -1, 0], ROD),    # no rod reaches so far
    (lambda: RouthMethod.from_method(heisenberg()),
     [0, 0, 0], [0, 0, 1], [3, 1, 0], {}),
    (heisenberg, [0, 0, 0], [0, 0, 1], [0, 0, 0, 0], {})])  # no direction
def test_an_end_out_of_reach(method, first, last, guess, constants):
    with pytest.raises(SimulationError, match=(
            '(?s)No motion was found that arrives.*Try another')) as found:
        boundary_value(method(), first, last, 1, guess, constants=constants)
    error = found.value
    assert error.distance > 0.1
    assert error.state.shape == (len(method().equations_of_motion.states),)
    np.testing.assert_array_equal(error.state[:len(first)], first)


def test_steps_of_a_guess_are_counted():
    problem = [0, 0, 0], [0, 0, 1], 1, [3, 1, 0, 5]
    with pytest.raises(SimulationError, match=(
            '(?s)motion from this guess was given up at t = 0.*the last 3 '
            'steps.*larger `max_steps`')) as found:
        boundary_value(heisenberg(), *problem, max_steps=3)
    assert found.value.reason is Reason.STEPS and 0 < found.value.time < 1
    motion = boundary_value(heisenberg(), *problem, max_steps=100)
    assert motion.success and motion.statistics['steps'] < 100
    # a guess without a motion is no motion that misses
    with pytest.raises(SimulationError, match=(
            '(?s)this guess could not be integrated: .*step')) as found:
        boundary_value(growing(), [1, 1], [2, 2], 0.8, [2**0.5, 2**0.5, 0])
    assert found.value.reason is Reason.STEP_SIZE


@pytest.mark.parametrize('make, first, last, span, guess, error, text', [
    (heisenberg, [0, 0, 0], [0, 0, 1], 1, {vx: 3}, ValueError,
     "`guess`.*no value for y', z', mu1"),
    (heisenberg, {x: 0, y: 0, z: 0, vx: 1}, [0, 0, 1], 1, [3, 1, 0, 5],
     ValueError, '`q_start`.*is no coordinate'),
    (constant_speed, [0, 0], [1, 1], 1, [3, 0, -0.65],
     SingularEquationsError, 'cancelled the mass')])
def test_wrong_arguments_of_boundary_values(make, first, last, span, guess,
                                            error, text):
    with pytest.raises(error, match=text):
        boundary_value(
            make(), first, last, span, guess,
            constants=SPEED if make is constant_speed else None)
