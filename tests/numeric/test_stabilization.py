"""Ways to stay on the constraints: projected, damped, fed back."""
import numpy as np
import pytest

from exports import ready
from mechanisms import g, l, m, particle, t, x, y, z
from sympy import sin, sqrt
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, RouthMethod,
    UdwadiaKalabaMethod)
from sympy_constrained.errors import SimulationError, UnsupportedFeatureError
from sympy_constrained.numeric import (
    compile_equations, equilibria, linearize, simulate)
from sympy_constrained.numeric.manifold.correction import Projector
from sympy_constrained.numeric.manifold.projection import project

CONSTANTS = {m: 1.5, g: 9.81, l: 2}


# -- projection ------------------------------------------------------------

def test_a_step_out_of_the_domain_is_shortened():
    """The row has no value beyond ``x = 1``."""
    compiled = compile_equations(particle([y - sqrt(1 - x)]), {m: 1, g: 9.81})
    solver = compiled.linear_solver(0, [0.5, 0.5**0.5, 0, 0])
    near = np.array([0.9, 0, 0, 0])
    projector = Projector(compiled)
    assert projector.quick(0, near, projector.rows(solver, 0, near)) is None
    found, before = projector(0, near, solver)
    slope = 0.5/np.sqrt(0.1)
    assert before == pytest.approx(np.sqrt(0.1)/np.hypot(1, slope))
    assert found.is_within(1e-12) and found.x[0] < 1
    assert found.x[1] == pytest.approx(np.sqrt(1 - found.x[0]), abs=1e-12)


@pytest.mark.parametrize('name', ['closed_chain', 'rolling_disc',
                                  'heavy_top_quaternion'])
@pytest.mark.parametrize('backend', ['numpy', 'auto'])
def test_a_projection_has_the_least_kinetic_energy(name, backend, rng):
    """It is M-orthogonal to what the constraints allow, at both levels."""
    _, compiled, start = ready(name)
    compiled = compile_equations(
        compiled.equations, dict(zip(compiled.constants, compiled.p)),
        backend=backend)
    near = start + 1e-6*np.array([rng.uniform(-1, 1) for _ in start])
    solver = compiled.linear_solver(0, start)
    found, before = Projector(compiled)(0, near, solver)
    assert 1e-9 < before < 1e-5 and found.relative < 1e-14
    M, G = compiled.inertia(0, near)
    for level, index in compiled.levels:
        J = compiled.evaluate([f'{level}_jacobian'], 0, near)[
            f'{level}_jacobian']
        if not len(J):
            continue
        change = found.x[index] - near[index]
        moves = J@G if level == 'holonomic' else J
        if np.abs(moves).max() < 1e-12:         # the norm of a quaternion
            across = G.T@change if level == 'holonomic' else change
            assert np.abs(across).max() < 1e-9
            continue
        free = np.linalg.svd(moves)[2][np.linalg.matrix_rank(moves):].T
        back = (np.linalg.lstsq(G, change, rcond=None)[0]
                if level == 'holonomic' else change)
        size = np.abs(M@back).max()
        assert np.abs(free.T@M@back).max() < 1e-4*size


def test_the_quick_projection_agrees_with_the_careful_one(rng):
    _, compiled, start = ready('closed_chain')
    near = start + 1e-5*np.array([rng.uniform(-1, 1) for _ in start])
    projector = Projector(compiled)
    quick, _ = projector.quick(0, near, projector.rows(
        compiled.linear_solver(0, start), 0, start))
    careful = project(compiled, 0, near, weighted=True)
    np.testing.assert_allclose(quick.x, careful.x, atol=1e-9)
    plain = project(compiled, 0, near)
    assert np.abs(plain.x - careful.x).max() > 1e-7


def test_kinetic_energy_weighs_masses_and_not_coordinates():
    """A heavy and a light particle on a rod: the light one moves."""
    from sympy import symbols
    heavy = symbols('heavy')
    method = UdwadiaKalabaMethod(
        (heavy*x.diff()**2 + m*y.diff()**2)/2, [x, y],
        hol_coneqs=[x - y - l])
    compiled = compile_equations(method, {heavy: 999, m: 1, l: 2})
    found, _ = Projector(compiled)(
        0, np.array([2.001, 0, 0.01, 0]), compiled.linear_solver(
            0, [2, 0, 0, 0]))
    np.testing.assert_allclose(
        found.x, [2.001 - 1e-6, 0.001 - 1e-6, .01 - 1e-5, .01 - 1e-5],
        atol=1e-12)


# -- Baumgarte -------------------------------------------------------------

def test_gains_of_simulate_are_gains_of_the_method():
    L = m*(x.diff()**2 + y.diff()**2)/2 - m*g*y
    row = (x**2 + y**2 - l**2)/2
    options = dict(constants=CONSTANTS, t_eval=11, rtol=1e-9)
    two = simulate(
        UdwadiaKalabaMethod(L, [x, y], hol_coneqs=[row],
                            stabilization=(7, .4)),
        3, [2, 0, 0, 0], stabilization=None, **options)
    for cls in (UdwadiaKalabaMethod, RouthMethod):
        one = simulate(cls(L, [x, y], hol_coneqs=[row]), 3, [2, 0, 0, 0],
                       stabilization=(7, .4), **options)
        np.testing.assert_allclose(one.x, two.x, atol=1e-10)
        assert one.statistics['gains'] == (7, .4)
        assert one.constants == CONSTANTS


@pytest.mark.parametrize('copies, span', [
    (1, (0, 2)), (2, (0, 2)), (1, (2, 0))])
def test_a_violation_decays_like_a_damped_oscillator(copies, span):
    """h'' + 2*a*h' + b^2*h = 0 and psi' + a*psi = 0, exactly.

    Equal rows are all stabilized, whichever the solver takes. A run that
    goes backward in time has the opposite damping.
    """
    method = particle([x - 1]*copies, vel=[z.diff()], q=(x, y, z))
    motion = simulate(method, span, [1.1, 0, 0, 0, 0, 0.3], tolerance=1,
                      constants={m: 1, g: 1}, stabilization=(3, 3),
                      rtol=1e-11, atol=1e-13)
    since = abs(motion.t - span[0])
    np.testing.assert_allclose(
        motion[x] - 1, 0.1*np.exp(-3*since)*(1 + 3*since), atol=1e-9)
    np.testing.assert_allclose(motion["z'"], 0.3*np.exp(-3*since), atol=1e-9)


@pytest.mark.parametrize('method', [
    'DOP853', *(pytest.param(name, marks=pytest.mark.slow)
                for name in ('LSODA', 'BDF'))])
def test_default_gains_follow_the_steps(pendulum, method):
    options = dict(rtol=1e-6, atol=1e-8, method=method)
    free, damped = (simulate(pendulum.compiled, 20, pendulum.start,
                             stabilization=stabilization, **options)
                    for stabilization in (None, 'baumgarte'))
    assert damped.largest_residual < free.largest_residual/3
    alpha, beta = damped.statistics['gains']
    step = np.median(np.diff(free.t))
    assert alpha == beta and 1/(100*step) < alpha < 10/step


def test_an_input_that_fails_in_the_trial_fails_in_the_run():
    """The trial for the default gains raises nothing; it counts the work."""
    f = dynamicsymbols('f')

    def fails(time, state):
        if time > 0.2:
            raise ZeroDivisionError
        return 0.

    options = dict(constants=CONSTANTS, stabilization='baumgarte')
    with pytest.raises(SimulationError, match='ZeroDivisionError') as error:
        simulate(particle([x**2 + y**2 - (l + f)**2]), 2, [2, 0, 0, 0],
                 inputs={f: fails, f.diff(): fails, f.diff(t, 2): fails},
                 **options)
    assert len(error.value.trajectory) > 1
    motion = simulate(particle([x**2 + y**2 - (l + sin(t)/10)**2]), 2,
                      [2, 0, 0.1, 0], **options)
    assert motion.statistics['gains'][0] > 0
    assert np.abs(motion.energy_error).max() < 1e-6


def test_velocity_rows_alone_need_one_gain():
    """Or none, where there are no rows."""
    _, compiled, start = ready('rolling_disc')
    damped, projected = (simulate(compiled, 1, start, stabilization=kind)
                         for kind in ((5, 7), 'projection'))
    assert damped.statistics['gains'] == (5, 7)
    np.testing.assert_allclose(damped.x[-1], projected.x[-1], atol=1e-6)
    motion = simulate(particle(), 1, [0, 0, 1, 0], constants={m: 1, g: 2},
                      stabilization='baumgarte')
    assert motion[y][-1] == pytest.approx(-1)


def test_the_norm_of_a_quaternion_cannot_be_damped():
    _, compiled, start = ready('heavy_top_quaternion')
    for kind in ((5, 5), 'baumgarte'):
        with pytest.raises(UnsupportedFeatureError, match=(
                "keep holonomic row 0.*cannot correct it. Use")):
            simulate(compiled, 1, start, stabilization=kind)


@pytest.mark.parametrize('kind', [(1, 1), 'baumgarte', 'braun-goldfarb'])
def test_gains_and_feedback_need_constraint_rows(kind):
    L = m*(x.diff()**2 + y.diff()**2)/2
    row = x**2 + y**2 - l**2
    embedded = HamelEmbedding(L, [x, y], hol_coneqs=[row], q_dependent=[y])
    mapped = LinearMappingMethod(L, [x, y], hol_coneqs=[row])
    for method in (embedded, mapped):
        states = method.equations_of_motion.states
        with pytest.raises(UnsupportedFeatureError, match=(
                "constraints are built in. Use `stabilization='projection'")):
            simulate(method, 1, [1, 1, 0][:len(states)],
                     constants={m: 1, l: 2**0.5}, stabilization=kind)


def test_gains_are_not_given_twice():
    with pytest.raises(UnsupportedFeatureError, match='have gains already'):
        simulate(particle([x**2 + y**2 - l**2], stabilization=(1, 1)), 1,
                 [2, 0, 0, 0], constants=CONSTANTS, stabilization=(1, 1))


# -- Braun and Goldfarb ----------------------------------------------------

def test_a_violation_is_gone_after_a_step_of_euler(pendulum):
    """Position and velocity are corrected to second order in the step."""
    from sympy_constrained.numeric.manifold.stabilization import Feedback
    compiled, start = pendulum.compiled, np.array([1.2, -1.6, 0.8, 0.6])
    off = start + [1e-4, 2e-4, -1e-4, 3e-4]
    feedback = Feedback(compiled)
    for h in (1e-3, -1e-3):
        feedback.step = h
        rates = compiled.rhs(0, off)
        feedback.correct(0, off, rates)
        after = np.abs(compiled.residuals(0, off + h*rates))
        assert (after < 2e-2*np.abs(compiled.residuals(0, off))).all()


@pytest.mark.parametrize('method', ['DOP853', 'RK45', 'Radau'])
def test_braun_and_goldfarb_stop_the_drift(pendulum, method):
    options = dict(rtol=1e-6, atol=1e-8, method=method)
    free, bound = (simulate(pendulum.compiled, 10, pendulum.start,
                            stabilization=stabilization, **options)
                   for stabilization in (None, 'braun-goldfarb'))
    assert bound.largest_residual < free.largest_residual
    early = np.abs(bound.residuals[bound.t < 3]).max()
    late = np.abs(bound.residuals[bound.t > 7]).max()
    assert late < 3*early


def test_accelerations_that_are_states_need_no_feedback():
    """``x''' = y'`` and ``y'' = -1``."""
    method = GibbsAppellMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - m*y, [x, y],
        acceleration_constraints=[x.diff(t, 3) - y.diff()])
    motion = simulate(method, 1, [0, 0, 0.3, 0.1, 0, -1, 0],
                      constants={m: 1.5}, stabilization='braun-goldfarb')
    assert motion[x][-1] == pytest.approx(0.3 + 0.1/6 - 1/24)
    assert motion[y][-1] == pytest.approx(0.1 - 1/2)


@pytest.mark.parametrize('name', ['doubled', 'cranks', 'rolling_disc'])
def test_braun_and_goldfarb_with_other_rows(name, request):
    """Redundant or nonholonomic ones."""
    if name == 'rolling_disc':
        _, compiled, start = ready(name)
    else:
        mechanism = request.getfixturevalue(name)
        compiled, start = mechanism.compiled, mechanism.start
    free, bound = (simulate(compiled, 5, start, rtol=1e-5, atol=1e-7,
                            stabilization=stabilization)
                   for stabilization in (None, 'braun-goldfarb'))
    assert bound.largest_residual < max(1e-8, free.largest_residual/2)


# -- what is asked beforehand ---------------------------------------------

def test_wrong_equations_are_announced():
    L = m*(x.diff()**2 + y.diff()**2 + z.diff()**2)/2
    row = z.diff() - y*x.diff()
    start = {x: 0, y: 1, z: 0, "x'": 1, "y'": 1}
    wrong = HamelEmbedding(L, [x, y, z], nonhol_coneqs=[row], q_dependent=[z])
    for ask in (lambda: simulate(wrong, 1, start, constants={m: 1}),
                lambda: linearize(wrong, [0, 1, 0, 0, 0], constants={m: 1}),
                lambda: equilibria(wrong, [0, 1, 0, 0, 0], constants={m: 1}),
                wrong.linearize):
        with pytest.warns(UserWarning, match='wrong for .*corrected'):
            ask()
    straight = HamelEmbedding(L, [x, y, z], nonhol_coneqs=[
        z.diff() - 2*x.diff()], q_dependent=[z])
    assert not straight.equations_of_motion.warning
    assert t not in straight.equations_of_motion.constants
