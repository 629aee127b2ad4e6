"""Fixed steps that keep constraints, energy or the symplectic form."""
import signal
from functools import cache

import geometric_systems as systems
import numpy as np
import pytest
from sympy import cos, diag, sin, symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, dynamicsymbols)

from combinations import every_third, rotating
from exports import ready
from sympy_constrained import (
    ConstrainedDynamicsError, GibbsAppellMethod, MissingIngredientError,
    SimulationError, UdwadiaKalabaMethod, UnsupportedFeatureError, VaccoMethod,
    VoronetsMethod)
from sympy_constrained.numeric import Reason, compile_equations, simulate
from sympy_constrained.numeric.geometric.steps import Steps

NONHOLONOMIC = ['contact_oscillator', 'disc', 'quartic', 'sleigh', 'suslov',
                'transmission']
HOLONOMIC = ['kepler', 'pendulum', 'top']
PAIRS = [
    *((name, 'rattle') for name in HOLONOMIC),
    *((name, integrator) for name in NONHOLONOMIC for integrator in (
        'lagrange-dalembert', 'discrete-gradient')),
    *((name, 'discrete-gradient') for name in HOLONOMIC),
    ('heisenberg', 'vakonomic')]
GNI = [(name, 'gni') for name in NONHOLONOMIC]
# Where orders 4 and 6 are measured, too.
MEASURED = [
    ('pendulum', 'rattle'), ('pendulum', 'discrete-gradient'),
    ('top', 'rattle'),
    ('disc', 'lagrange-dalembert'), ('disc', 'discrete-gradient'),
    ('sleigh', 'lagrange-dalembert'), ('sleigh', 'discrete-gradient'),
    ('contact_oscillator', 'lagrange-dalembert'),
    ('transmission', 'lagrange-dalembert'), ('heisenberg', 'vakonomic')]


@cache
def made(name):
    """A system and its equations."""
    system = getattr(systems, name)()
    return system, system.compiled


def run(name, integrator, time, divisor=1, **options):
    system, compiled = made(name)
    return simulate(compiled, time, system.start, integrator=integrator,
                    step=system.step/divisor, **options)


def exact(name, time):
    system, compiled = made(name)
    return simulate(compiled, time, system.start, rtol=1e-12, atol=1e-13,
                    t_eval=[time]).x[-1]


def order_of(name, integrator, divisors, **options):
    """The order, by two errors at the end."""
    end = exact(name, 2)
    coarse, fine = (np.abs(run(
        name, integrator, 2, divisor, t_eval=[2], **options).x[-1] - end).max()
        for divisor in divisors)
    return np.log2(coarse/fine)/np.log2(divisors[1]/divisors[0])


@pytest.mark.parametrize('name, integrator', PAIRS + GNI)
def test_every_scheme_has_order_two(name, integrator):
    assert abs(order_of(name, integrator, (2, 4)) - 2) < 0.1


@rotating('pair, order', MEASURED, [4, 6])
def test_higher_orders(pair, order):
    name, integrator = pair
    measured = order_of(name, integrator, (1, 2), order=order)
    assert abs(measured - order) < 0.35


@pytest.mark.parametrize('name, integrator', PAIRS + GNI)
def test_constraints_hold_at_every_step(name, integrator):
    motion = run(name, integrator, 20)
    assert motion.success and motion.largest_residual < 1e-12


@pytest.mark.parametrize('name', [*NONHOLONOMIC, *HOLONOMIC])
def test_discrete_gradient_keeps_the_energy(name):
    motion = run(name, 'discrete-gradient', 50)
    assert np.abs(motion.energy_error).max() < 1e-12


@rotating('pair, order', PAIRS, [2, 4])
def test_motion_runs_back(pair, order):
    name, integrator = pair
    system, compiled = made(name)
    there = run(name, integrator, 5, order=order)
    back = simulate(compiled, (5, 0), there.x[-1], integrator=integrator,
                    step=system.step, order=order)
    assert np.abs(back.x[-1] - there.x[0]).max() < 1e-10


def test_steps_with_carried_forces_run_back():
    system, compiled = made('disc')
    there, back = (Steps(compiled, 'gni', 2) for _ in range(2))
    n = there.states
    assert n == len(system.start) + 4           # work, energy, two forces
    there.x[:n] = [*system.start, 0, 0, 0.3, -0.2]
    ends = there.advance(0., 0.1, 0, 50)[0]
    back.x[:n] = ends[-1]
    start = back.advance(5., -0.1, 0, 50)[0][-1]
    assert np.abs(start - [*system.start, 0, 0, 0.3, -0.2]).max() < 1e-12


# -- the symplectic form -----------------------------------------------------

def flow_of(compiled, integrator, step, momenta, order=2):
    """One step as a map of coordinates and momenta, from speeds."""
    n = len(compiled.q_index)

    def flow(x):
        end = simulate(compiled, step, x, integrator=integrator,
                       step=step, order=order).x[-1]
        return np.concatenate([end[:n], momenta(end)])

    return flow


def differences(function, x, size=1e-5):
    """Derivatives of a function, of fourth order."""
    def along(e):
        near, far = (function(x + k*size*e) - function(x - k*size*e)
                     for k in (1, 2))
        return (8*near - far)/(12*size)

    return np.column_stack([along(e) for e in np.eye(len(x))])


def canonical(n):
    return np.kron([[0, 1], [-1, 0]], np.eye(n))


@pytest.mark.parametrize('order', [2, 4, 6])
def test_steps_without_constraints_are_symplectic(order):
    _, compiled, _ = ready('double_pendulum_lagrange')

    def momenta(x):
        return compiled.evaluate(('M',), 0, x)['M']@x[2:]

    x = np.array([0.4, -0.7, 0.3, 1.1])
    flow = flow_of(compiled, 'rattle', 0.1, momenta, order)
    before = differences(lambda x: np.append(x[:2], momenta(x)), x)
    after = differences(flow, x)
    form = canonical(2)
    assert np.abs(after.T@form@after - before.T@form@before).max() < 1e-9
    dissipative = flow_of(compiled, 'discrete-gradient', 0.1, momenta)
    after = differences(dissipative, x)         # no symplectic method
    assert np.abs(after.T@form@after - before.T@form@before).max() > 1e-6


@pytest.mark.parametrize('order', [2, 4, 6])
def test_steps_of_a_pendulum_keep_its_area(order):
    """The symplectic form on the constraints, in angle and speed."""
    system, compiled = made('pendulum')

    def flow(state):
        (c, s), w = (np.cos(state[0]), np.sin(state[0])), state[1]
        x, y, vx, vy = simulate(compiled, 0.2, [c, s, -s*w, c*w], step=0.2,
                                integrator='rattle', order=order).x[-1]
        return np.array([np.arctan2(y, x), x*vy - y*vx])

    derivatives = differences(flow, np.array([0.3, 0.7]))
    assert abs(np.linalg.det(derivatives) - 1) < 1e-9


@pytest.mark.parametrize('order', [2, 4])
def test_vakonomic_steps_are_symplectic_on_the_constraints(order):
    """Vary along the constraints: the form is that of all of q, p."""
    def momenta(x):
        mu = x[6]
        return np.array([x[3] + mu*x[1]/2, x[4] - mu*x[0]/2, mu])

    def on_constraint(y):
        px, py, mu = y[3:]
        vx, vy = px - mu*y[1]/2, py + mu*y[0]/2
        return np.array([*y[:3], vx, vy, (y[0]*vy - y[1]*vx)/2, mu])

    flow = flow_of(made('heisenberg')[1], 'vakonomic', 0.2, momenta, order)
    y = np.array([0.3, -0.2, 0.1, 1, 0.5, 2.])
    after = differences(lambda y: flow(on_constraint(y)), y)
    assert np.abs(after.T@canonical(3)@after - canonical(3)).max() < 1e-9


# -- integrals ---------------------------------------------------------------

@pytest.mark.parametrize('order', [2, 4])
@pytest.mark.parametrize('form', ['quaternion', 'matrix'])
def test_momenta_of_the_top_are_kept(form, order):
    system = systems.top(form)
    motion = simulate(system.compiled, 50, system.start, integrator='rattle',
                      step=0.05, t_eval=101, order=order)
    for momentum in systems.top_integrals(motion, form):
        assert np.ptp(momentum) < 1e-12
    assert motion.largest_residual < 1e-12
    assert np.abs(motion.energy_error).max() < 1e-2


def test_coin_rolls_along_its_circle():
    motion = run('disc', 'lagrange-dalembert', 100, order=6, t_eval=101)
    far = motion.x[:, :2] - systems.disc_position(motion.t)
    assert np.abs(far).max() < 1e-7


# -- redundant rows, singular configurations ---------------------------------

@pytest.mark.parametrize('integrator', ['rattle', 'lagrange-dalembert',
                                        'discrete-gradient'])
def test_redundant_rows_change_nothing(integrator):
    x, y = dynamicsymbols('x y')
    rod = x**2 + y**2 - 1
    twice = UdwadiaKalabaMethod(systems.PLANE - y, [x, y],
                                hol_coneqs=[rod, 3*rod])
    motion = simulate(twice, 20, [1, 0, 0, 0.3], integrator=integrator,
                      step=0.1)
    assert motion.largest_residual < 1e-12
    assert np.abs(motion.x - run('pendulum', integrator, 20).x).max() < 1e-10


@pytest.mark.parametrize('integrator', ['rattle', 'discrete-gradient'])
def test_linkage_passes_its_flat_pose(integrator):
    _, compiled, start = ready('n_four_bar')
    reference = simulate(compiled, 10, start, t_eval=11)
    assert len(reference.passages) == 10
    errors = [np.abs(simulate(
        compiled, 10, start, integrator=integrator, step=step,
        t_eval=11).x - reference.x).max() for step in (0.02, 0.01)]
    assert errors[1] < 0.02 and abs(np.log2(errors[0]/errors[1]) - 2) < 0.1


# -- loads and inputs --------------------------------------------------------

def driven(**inputs):
    t = symbols('t')
    q, F = dynamicsymbols('q F')
    method = UdwadiaKalabaMethod(
        q.diff()**2/2 - q**4/4, [q], generalized_forces=[F - q.diff()/5])
    return compile_equations(method, {}, {F: inputs.get('F', sin(2*t))})


@pytest.mark.parametrize('integrator', ['rattle', 'discrete-gradient'])
def test_loads_and_inputs_act_with_order_two(integrator):
    times = np.linspace(0, 5, 501)
    expression, table = driven(), driven(F=(times, np.sin(2*times)))
    end = simulate(expression, 5, [1, 0], rtol=1e-11, t_eval=[5]).x[-1]
    errors = []
    for step in (0.1, 0.05):
        one, other = (simulate(compiled, 5, [1, 0], integrator=integrator,
                               step=step) for compiled in (expression, table))
        assert np.abs(one.x - other.x).max() < 1e-6
        errors.append(np.abs(one.x[-1] - end).max())
        assert np.abs(one.energy_error).max() < (
            1e-12 if integrator == 'discrete-gradient' else step**2)
    assert abs(np.log2(errors[0]/errors[1]) - 2) < 0.1


def converges(compiled, t_end, start, integrator, steps):
    """State and energy, with the square of the step."""
    end = simulate(compiled, t_end, start, rtol=1e-11, t_eval=[t_end]).x[-1]
    errors = []
    for step in steps:
        motion = simulate(compiled, t_end, start, integrator=integrator,
                          step=step)
        assert motion.largest_residual < 1e-12
        errors.append([np.abs(motion.x[-1] - end).max(),
                       np.abs(motion.energy_error).max()])
    return np.abs(np.log2(np.divide(*errors)) - 2).max() < 0.1


def test_affine_rows_do_work():
    x, y, z = systems.x, systems.y, systems.z
    method = UdwadiaKalabaMethod(
        systems.PLANE + systems.vz**2/2 - (x**2 + y**2 + z**2)/2, [x, y, z],
        nonhol_coneqs=[systems.vx + y*systems.vz - x*sin(symbols('t'))])
    compiled = compile_equations(method, {})
    start = [1, 0.4, 0.2, 0, 0.5, 0]
    assert converges(compiled, 4, start, 'lagrange-dalembert', (0.1, 0.05))
    with pytest.raises(UnsupportedFeatureError, match='do work'):
        simulate(compiled, 4, start, step=0.1, integrator='discrete-gradient')


T = symbols('t')
VX, VY, TURN = systems.vx, systems.vy, systems.w_theta
BLADE = VX*sin(systems.theta) - VY*cos(systems.theta)
SKATE = [0, 0, 0.3, np.cos(0.3), np.sin(0.3), 0.5, 0.4]


@pytest.mark.parametrize('lagrangian, row, start, loads', [
    (systems.PLANE - systems.y, VX**2 + VY**2 - 1, [0, 0, 0.6, 0.8, 0.7],
     None),
    (systems.PLANE + TURN**2/2 - systems.y*sin(T), BLADE - sin(T)/3, SKATE,
     None),
    (systems.PLANE*(1 + sin(systems.theta)**2) + TURN**2/2 - systems.y, BLADE,
     SKATE, [-VX/5, 0, -TURN/5])], ids=['nonlinear', 'moving', 'loads'])
@pytest.mark.filterwarnings('ignore')     # a convention for loads
def test_vakonomic_steps_for_other_rows_and_loads(
        lagrangian, row, start, loads):
    q = [systems.x, systems.y, systems.theta][:len(start)//2]
    compiled = compile_equations(VaccoMethod(
        lagrangian, q, nonhol_coneqs=[row], generalized_forces=loads), {})
    assert converges(compiled, 2, start, 'vakonomic', (0.05, 0.025))


def test_moving_constraints_do_work():
    _, compiled, start = ready('driven_pendulum')
    errors = [np.abs(simulate(
        compiled, 1, start, integrator='rattle', step=step).energy_error).max()
        for step in (0.01, 0.005)]
    assert errors[1] < 1e-3 and abs(np.log2(errors[0]/errors[1]) - 2) < 0.2


# -- the loops and their outputs ---------------------------------------------

@pytest.mark.parametrize('name, integrator', every_third(PAIRS + GNI[:2]))
def test_loops_in_python_and_in_machine_code_agree(name, integrator):
    system, compiled = made(name)
    plain = compiled.with_values(backend='numpy')
    one, other = (simulate(equations, 2, system.start, integrator=integrator,
                           step=system.step) for equations in (
                               compiled, plain))
    assert np.abs(one.x - other.x).max() < 1e-10


def test_outputs_between_steps_are_on_the_constraints():
    """Steps are shortened to fit."""
    system, compiled = made('pendulum')
    options = dict(integrator='discrete-gradient', step=0.1)
    steps = simulate(compiled, 2, system.start, **options)
    assert len(steps) == 21 and steps.statistics['steps'] == 20
    times = [0.1, 0.15, 1.9, 1.999]
    some = simulate(compiled, 2, system.start, t_eval=times, **options)
    assert (some.t == times).all() and some.largest_residual < 1e-12
    assert np.abs(some.energy_error).max() < 1e-12
    assert (some.x[[0, 2]] == steps.x[[1, 19]]).all()
    end = simulate(compiled, 0.15, system.start, rtol=1e-10, t_eval=[0.15])
    assert np.abs(some.x[1] - end.x[-1]).max() < 1e-3
    motion = simulate(compiled, 1, system.start, integrator='rattle', step=0.3)
    assert motion.statistics['steps'] == 4 and motion.t[-1] == 1
    assert motion.statistics['step'] == 0.25


# -- ends and refusals -------------------------------------------------------

def test_unsolved_step_ends_the_run():
    motion = run('pendulum', 'rattle', 20, throw=False, divisor=1/8)
    assert motion.reason is Reason.NOT_SOLVED and not motion.success
    assert 'smaller `step`' in motion.message
    assert np.isclose(motion.t[-1], 0.8*motion.statistics['steps'])
    with pytest.raises(SimulationError, match='not solved') as error:
        run('pendulum', 'rattle', 20, divisor=1/8)
    assert len(error.value.trajectory) == len(motion) > 1
    for times in 3, [20.]:                      # the last state, too
        assert motion.t[-1] == run('pendulum', 'rattle', 20, throw=False,
                                   t_eval=times, divisor=1/8).t[-1]
    motion = run('pendulum', 'rattle', 100, max_steps=999, throw=False)
    assert motion.reason is Reason.STEPS and '1000 steps' in motion.message


def test_interrupt_returns_the_motion_so_far(monkeypatch):
    def advance(steps, *args, of=Steps.advance, calls=[]):
        calls.append(args)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return of(steps, *args)

    monkeypatch.setattr(Steps, 'advance', advance)
    with pytest.warns(UserWarning, match='interrupted'):
        motion = run('kepler', 'rattle', 1e5, t_eval=3)
    assert motion.reason is Reason.INTERRUPTED
    assert motion.t[0] == 0 and 0 < motion.t[-1] < 1e5
    assert np.isclose(motion.t[-1], 0.02*motion.statistics['steps'])


@pytest.mark.parametrize('options, message', [
    (dict(integrator='rattle'), '`step`'),
    (dict(step=0.1), '`integrator`'),
    (dict(integrator='verlet', step=0.1), 'choose one of rattle'),
    (dict(integrator='rattle', step=0.1, order=3), 'choose 2, 4 or 6'),
    (dict(integrator='gni', step=0.1, order=4), 'has order 2'),
    (dict(integrator='rattle', step=-1), 'no positive number'),
    (dict(integrator='rattle', step=0.1, method='RK45'), '`method`'),
    (dict(integrator='rattle', step=0.1, stabilization=None),
     '`stabilization`'),
    (dict(integrator='rattle', step=0.1, dense=True), '`dense`'),
    (dict(integrator='rattle', step=0.1, events=lambda t, x: x[0]),
     '`events`')])
def test_arguments_that_do_not_belong_together(options, message):
    system, compiled = made('pendulum')
    with pytest.raises(ValueError, match=message):
        simulate(compiled, 1, system.start, **options)


@pytest.mark.parametrize('name, integrator, message', [
    ('sleigh', 'rattle', 'lagrange-dalembert'),
    ('sleigh', 'vakonomic', 'is for VaccoMethod'),
    ('heisenberg', 'rattle', "integrator='vakonomic'")])
def test_schemes_for_other_principles_are_refused(name, integrator, message):
    with pytest.raises(UnsupportedFeatureError, match=message):
        run(name, integrator, 1)


@pytest.mark.parametrize('name, integrator, message', [
    ('appell_hamel', 'lagrange-dalembert', 'not linear in the speeds'),
    ('acceleration_level', 'discrete-gradient', 'acceleration level'),
    ('bead_on_circle', 'rattle', 'ideal constraints'),
    ('driven_pendulum', 'discrete-gradient', 'depends on time'),
    ('two_wheeled_cart', 'lagrange-dalembert', 'that drop out'),
    ('massless_coordinate', 'discrete-gradient', 'regular mass matrix')])
def test_models_without_meaning_are_refused(name, integrator, message):
    _, compiled, start = ready(name)
    with pytest.raises(UnsupportedFeatureError, match=message):
        simulate(compiled, 1, start, integrator=integrator, step=0.1)


def test_variable_mass_is_refused():
    t, q = symbols('t'), dynamicsymbols('q')
    rocket = UdwadiaKalabaMethod((2 - t)*q.diff()**2/2, [q])
    with pytest.raises(UnsupportedFeatureError, match='mass varies'):
        simulate(rocket, 1, [0, 1], integrator='rattle', step=0.1)
    m, u = dynamicsymbols('m u')
    N, O = ReferenceFrame('N'), Point('O')
    O.set_vel(N, 0)
    P = O.locatenew('P', q*N.x)
    P.set_vel(N, u*N.x)
    leaking = GibbsAppellMethod(
        frame=N, q_ind=[q], u_ind=[u], kd_eqs=[q.diff() - u],
        bodies=[Particle('P', P, m)], mass_rates={m: -m/9})
    with pytest.raises(UnsupportedFeatureError, match='masses'):
        simulate(leaking, 1, [0, 2, 1], integrator='rattle', step=0.1)


def test_turning_frames():
    """Centrifugal forces are loads; the energy is not that of the motion."""
    q, u = dynamicsymbols('q u')
    N, A, O, P = (ReferenceFrame('N'), ReferenceFrame('A'), Point('O'),
                  Point('P'))
    A.orient_axis(N, 2*symbols('t'), N.z)
    O.set_vel(N, 0)
    P.set_pos(O, q*A.x)
    P.set_vel(A, u*A.x)
    P.v1pt_theory(O, N, A)
    slider = compile_equations(UdwadiaKalabaMethod(
        N, [q], [u], kd_eqs=[q.diff() - u], bodies=[Particle('P', P, 1)],
        forcelist=[(P, -9*q*A.x)]), {})
    t = np.linspace(0, 3, 31)
    errors = [np.abs(simulate(
        slider, 3, [1, 0], integrator='rattle', step=step, t_eval=t)[q]
        - np.cos(np.sqrt(5)*t)).max() for step in (0.1, 0.05)]
    assert abs(np.log2(errors[0]/errors[1]) - 2) < 0.1
    with pytest.raises(MissingIngredientError, match='by prescription'):
        simulate(slider, 3, [1, 0], integrator='discrete-gradient', step=0.1)


def test_other_equations_and_python_inputs_are_refused():
    system = systems.sleigh()
    embedded = VoronetsMethod.from_method(system.method)
    compiled = compile_equations(embedded, {})
    start = dict(zip(system.method.equations_of_motion.states, system.start))
    with pytest.raises(UnsupportedFeatureError, match='3 coordinates have 2'):
        simulate(compiled, 1, [start[x] for x in compiled.states],
                 integrator='lagrange-dalembert', step=0.1)
    called = driven(F=lambda t, x: 0.)
    with pytest.raises(UnsupportedFeatureError, match='Python function'):
        simulate(called, 1, [1, 0], integrator='rattle', step=0.1)
    servo = UdwadiaKalabaMethod.from_method(
        system.method, weight=diag(1, 2, 1))
    with pytest.raises(UnsupportedFeatureError, match='not along the rows'):
        simulate(servo, 1, system.start, integrator='gni', step=0.1)
    x, y = dynamicsymbols('x y')
    method = VaccoMethod(systems.PLANE, [x, y], hol_coneqs=[x - y])
    with pytest.raises(ConstrainedDynamicsError, match="'rattle'"):
        simulate(method, 1, [0, 0, 1, 1, 0], integrator='vakonomic', step=0.1)
