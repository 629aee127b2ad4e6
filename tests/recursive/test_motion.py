"""Motions by the recursive equations against those of the ordinary form."""
import gc
from concurrent.futures import ThreadPoolExecutor
from copy import copy

import numpy as np
import pytest
from joint_chains import as_system, pin_chain
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from spatial_mechanisms import (
    GRAVITY, bricard, cranks, net, stewart_platform)
from sympy import Matrix, Piecewise, Rational, symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import Loop, UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstraintError, SimulationError, SingularEquationsError,
    UnsupportedFeatureError)
from sympy_constrained.models import MODELS
from sympy_constrained.numeric import (
    Crossing, Reason, Trajectory, compile_equations, consistent_state,
    linearize, sensitivities, simulate, steady_motions, sweep)
from sympy_constrained.numeric.integrate.ends import Pace
from sympy_constrained.numeric.recursive.equations import Recursion

ARRAYS = ('x', 'rates', 'multipliers', 'constraint_forces', 'energy', 'rank',
          'residuals')
GIVEN = {GRAVITY: 9.81}


def forms(made, values=GIVEN):
    """A mechanism in the recursive and in the ordinary form."""
    method = UdwadiaKalabaMethod(**made.arguments)
    return (compile_equations(method, values, recursion=True),
            compile_equations(method, values))


def guess(equations, spread):
    return np.random.default_rng(1).uniform(
        -spread, spread, len(equations.states))


def assert_same_motions(recursive, ordinary, start, end):
    motion = simulate(recursive, end, start, t_eval=21, initial='project')
    known = simulate(ordinary, end, motion.x[0], t_eval=21)
    assert motion.largest_residual < 1e-13
    assert motion.residual_names == known.residual_names
    for name in ARRAYS:
        found, expected = getattr(motion, name), getattr(known, name)
        assert found.shape == expected.shape
        far = abs(found - expected).max(initial=0)
        assert far < 1e-6*(1 + abs(expected).max(initial=0))


@pytest.mark.parametrize('made, spread, end', [
    (bricard, 0.3, 0.5),
    pytest.param(stewart_platform, 0.1, 0.5, marks=pytest.mark.slow),
    pytest.param(lambda: net(3, 3), 0.1, 0.5, marks=pytest.mark.slow)],
    ids=['bricard', 'stewart', 'net'])
def test_mechanisms_with_loops(made, spread, end):
    pair = forms(made())
    assert_same_motions(*pair, guess(pair[0], spread), end)


def plane_loop(place, inputs=None, **others):
    """Four bars in a plane, whose end is held at a place, in both forms."""
    frame, pin = ReferenceFrame('N'), Point('O')
    arguments, values = pin_chain(4, absolute=True, ground=(frame, pin))
    last = arguments['bodies'][-1]
    end = last.masscenter.locatenew('end', symbols('l')/2*last.frame.x)
    held = pin.locatenew('held', place*frame.x)
    method = UdwadiaKalabaMethod(**arguments, loops=[Loop(end, held)],
                                 **others)
    return (compile_equations(method, values, inputs, recursion=True),
            compile_equations(method, values, inputs))


def test_an_input_moves_the_ground_point_of_a_loop():
    s, t = dynamicsymbols('s'), dynamicsymbols._t
    assert_same_motions(*plane_loop(s, {s: Rational(3, 5) + t**2/10}),
                        [0.9, 1.2, -0.3, -0.6, 0, 0, 0, 0], 1)


def test_projections_from_far():
    recursive, _ = plane_loop(Rational(5, 8))
    for seed in range(10):
        x = np.random.default_rng(seed).uniform(-0.5, 0.5, 8)
        motion = simulate(recursive, 1e-3, x, initial='project')
        assert abs(motion.x[0]).max() < 10


def test_rows_of_three_levels_that_say_the_same():
    q, u = dynamicsymbols('q1:4'), dynamicsymbols('u1:4')
    arguments, values = pin_chain(3)
    method = UdwadiaKalabaMethod(
        **arguments, configuration_constraints=[q[0] - q[1]],
        nonholonomic_constraints=[u[1] - u[2]],
        acceleration_constraints=[u[0].diff() - u[2].diff()])
    assert_same_motions(
        compile_equations(method, values, recursion=True),
        compile_equations(method, values), [0.9, 0.3, -0.9, 1, 2, 0], 1)


def test_a_projection_where_the_gradient_vanishes():
    frame, origin, g = ReferenceFrame('N'), Point('O'), GRAVITY
    origin.set_vel(frame, 0)
    q, u = dynamicsymbols('q1:4'), dynamicsymbols('u1:4')
    place = origin.locatenew('P', sum(
        (x*unit for x, unit in zip(q, frame)), 0*frame.x))
    place.set_vel(frame, sum((x*unit for x, unit in zip(u, frame)), 0*frame.x))
    equations = compile_equations(UdwadiaKalabaMethod(
        frame, q, u, [x.diff() - v for x, v in zip(q, u)],
        bodies=[Particle('p', place, 1)], forcelist=[(place, -g*frame.z)],
        configuration_constraints=[sum(x**2 for x in q) - 1]), GIVEN,
        recursion=True)
    motion = simulate(equations, 1, np.zeros(6), initial='project')
    assert motion.x[0, :3] @ motion.x[0, :3] == pytest.approx(1)


def test_the_norm_of_a_quaternion_may_be_given_several_times():
    N, A, O = ReferenceFrame('N'), ReferenceFrame('A'), Point('O')
    O.set_vel(N, 0)
    e, w = dynamicsymbols('e:4'), dynamicsymbols('w:3')
    A.orient_quaternion(N, e)
    A.set_ang_vel(N, w[0]*A.x + w[1]*A.y + w[2]*A.z)
    rates = Matrix([
        [-e[1], -e[2], -e[3]], [e[0], -e[3], e[2]], [e[3], e[0], -e[1]],
        [-e[2], e[1], e[0]]])*Matrix(w)/2
    norm = sum(x**2 for x in e) - 1
    free, kept = (UdwadiaKalabaMethod(
        N, e, w, [x.diff() - rate for x, rate in zip(e, rates)],
        bodies=[RigidBody('top', O, A, 1, (inertia(A, 1, 2, 3), O))],
        configuration_constraints=rows) for rows in ([], [norm, -2*norm]))
    start = [0.9, 0.5, -0.2, 0.1, 1, 2, 3]
    assert_same_motions(compile_equations(kept, recursion=True),
                        compile_equations(kept), start, 1)
    with pytest.warns(UserWarning, match='e0, e1, e2, e3 give no rotation'):
        simulate(compile_equations(free, recursion=True), 1, start)


@pytest.mark.parametrize('name', [
    'closed_chain_3d', 'rolling_disc', 'n_four_bar', 'heavy_top_quaternion',
    'constant_speed_particle', 'duplicated_rows'])
def test_ready_models(name):
    given = MODELS[name]()
    method = given.form(UdwadiaKalabaMethod)
    assert_same_motions(
        compile_equations(method, given.parameters, recursion=True),
        compile_equations(method, given.parameters), given.start, 0.5)


@pytest.mark.parametrize('count', [
    2, 40, pytest.param(1000, marks=pytest.mark.slow)])
def test_parallel_cranks_turn_as_one_pendulum(count):
    """The linkage of many four-bars of the IFToMM benchmark, which passes
    through poses where all bars are in line.
    """
    made = cranks(count)
    equations = compile_equations(
        as_system(made.arguments), GIVEN, recursion=True, loops=made.loops)
    angles = np.where(np.arange(2*count + 1) % 2, np.pi/2, -np.pi/2)
    motion = simulate(equations, 10, [*angles, *(-angles*2/np.pi)],
                      t_eval=101)
    pull, inertia = (count + 1)/2 + count, (count + 1)/3 + count
    known = solve_ivp(
        lambda t, x: [x[1], -9.81*np.cos(x[0])*pull/inertia], (0, 10),
        [np.pi/2, -1], rtol=1e-11, atol=1e-11, t_eval=motion.t).y[0]
    assert abs(motion.x[:, 0] + known).max() < 1e-4
    assert np.ptp(motion.x[:, :2*count + 1:2], axis=1).max() < 1e-8
    assert (motion.rank == 4*count + 1).all()
    assert motion.largest_residual < 1e-11


def test_a_start_in_line_is_singular():
    equations = forms(cranks(1))[0]
    for function in equations.rhs, equations.multipliers:
        with pytest.raises(SingularEquationsError, match='rank 1 .* and 2'):
            function(0, np.zeros(6))


def test_outputs_in_line_give_a_warning():
    """Two cranks that swing through the line from equal angles."""
    equations = forms(cranks(1))[0]
    start = [0.5, -0.5, 0.5, -5, 5, -5]
    in_line = brentq(lambda t: simulate(equations, t, start).x[-1, 0],
                     0.1, 0.13)
    with pytest.warns(UserWarning, match='near a singular configuration'):
        simulate(equations, 1, start, t_eval=[
            *(in_line + 1e-14*np.arange(-3, 4)), 1.])


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('size, stiffness', [(1, 1e8), (1e3, 1e5), (1e6, 1e4)])
def test_a_stiff_spring_gives_no_warning(size, stiffness):
    """Two sliders on a rod, almost at rest; in metres, mm and micrometres."""
    x, y, u, v = dynamicsymbols('x y u v')
    N, O = ReferenceFrame('N'), Point('O')
    A, B = O.locatenew('A', x*N.x), O.locatenew('B', y*N.y)
    for point, velocity in (O, 0*N.x), (A, u*N.x), (B, v*N.y):
        point.set_vel(N, velocity)
    equations = compile_equations(UdwadiaKalabaMethod(
        N, [x, y], [u, v], [x.diff() - u, y.diff() - v],
        bodies=[Particle('A', A, 1), Particle('B', B, 1)],
        forcelist=[(A, stiffness*(0.6*size - x)*N.x)],
        configuration_constraints=[x**2 + y**2 - size**2],
        velocity_constraints=[x*u + y*v]), recursion=True)
    simulate(equations, 0.3, [0.6*size, 0.8*size, 1e-6*size, -0.75e-6*size],
             initial='project', t_eval=31)


@pytest.mark.parametrize('times', [None, [1.], [0.1, 0.2, 1.]])
def test_a_row_without_residuals_begins_to_act(times):
    """No projection shows it, and no output lies where it acts."""
    u1, u2 = dynamicsymbols('u1:3')
    t = dynamicsymbols._t
    arguments, values = pin_chain(3)
    window = Piecewise((0, t < 0.3), ((t - 0.3)**2*(0.6 - t)**2, t < 0.6),
                       (0, True))
    equations = compile_equations(UdwadiaKalabaMethod(
        **arguments, acceleration_constraints=[
            u1.diff() - u2.diff(), u1.diff() - u2.diff() - 1e3*window]),
        values, recursion=True)
    motion = simulate(equations, 1, [0.3]*6, t_eval=times, throw=False)
    assert motion.reason is Reason.CONTRADICTION
    assert 0.2 < motion.t[-1] < 0.32
    assert 'begins to act' in motion.message


@pytest.mark.slow
def test_codes_of_many_constants_are_forgotten():
    equations = forms(bricard())[0]
    for weight in range(100):
        equations.rhs(0, np.zeros(10), [weight])
        simulate(equations, 1e-3, np.zeros(10), constants={GRAVITY: weight})
    gc.collect()
    assert sum(type(x) is Recursion and x.owner is equations._tables
               for x in gc.get_objects()) < 50


def test_a_step_that_fails_when_the_pace_is_due():
    pace = Pace(1e7, 0., 1.)
    assert pace.fault(10_000, 0.5) is None is pace.fault(10_000, 0.5)


@pytest.mark.slow
def test_a_net_of_hundred_bodies():
    recursive, ordinary = forms(net(10, 10))
    x = guess(recursive, 0.3)
    known = ordinary.rhs(0., x)
    assert len(recursive.multiplier_names) == 3*81
    assert abs(recursive.rhs(0., x) - known).max() < 1e-10*abs(known).max()
    motion = simulate(recursive, 0.5, x/6, initial='project', t_eval=11)
    assert motion.largest_residual < 1e-12


def test_steps_are_recorded_backwards_too(tmp_path):
    arguments, values = pin_chain(4)
    equations = compile_equations(
        UdwadiaKalabaMethod(**arguments), values, recursion=True)
    there = simulate(equations, 1, [0.3]*4 + [0]*4)
    back = simulate(equations, (1, 0), there.x[-1])
    assert len(there) == there.statistics['steps'] + 1 and back.t[-1] == 0
    assert abs(back.x[-1] - there.x[0]).max() < 1e-7
    back.save(tmp_path/'back.npz')
    assert (Trajectory.load(tmp_path/'back.npz').x == back.x).all()


def test_bodies_with_potential_energy_keep_their_energy():
    frame, pin, g = ReferenceFrame('N'), Point('O'), symbols('g')
    arguments, values = pin_chain(6, ground=(frame, pin))
    for body in arguments['bodies']:
        body.potential_energy = body.mass*g*body.masscenter.pos_from(
            pin).dot(frame.y)
    del arguments['forcelist']
    equations = compile_equations(
        UdwadiaKalabaMethod(**arguments, potential_energy='include'), values,
        recursion=True)
    motion = simulate(equations, 1, [0.3]*6 + [0]*6, t_eval=11)
    assert np.ptp(motion.energy) < 1e-8*abs(motion.energy).max()


@pytest.mark.parametrize('options', [
    {'events': lambda t, x: x[0]}, {'events': Crossing(GRAVITY)},
    {'dense': True}, {'adjoint': True}, {'method': 'Radau'},
    {'stabilization': 'baumgarte'}, {'integrator': 'rattle', 'step': 0.1}])
def test_what_has_no_place_is_refused(options):
    equations = forms(bricard())[0]
    with pytest.raises(ValueError, match='recursive equations have no'):
        simulate(equations, 1, np.zeros(10), **options)


@pytest.mark.parametrize('function', [
    consistent_state, linearize, steady_motions,
    lambda equations, x: sensitivities(equations, 1, x, []),
    lambda equations, x: equations.jacobian()])
def test_what_needs_the_ordinary_form_says_so(function):
    equations = forms(bricard())[0]
    with pytest.raises(UnsupportedFeatureError, match='recursion=False'):
        function(equations, np.zeros(10))
    assert not hasattr(equations, 'jacobian')


def test_a_start_off_the_constraints():
    equations = forms(bricard())[0]
    with pytest.raises(ConstraintError, match="initial='project'") as caught:
        simulate(equations, 1, guess(equations, 0.3))
    assert caught.value.rows and len(caught.value.residuals) == 10


def test_constraints_that_no_state_satisfies():
    frame, pin, length = ReferenceFrame('N'), Point('O'), symbols('l')
    arguments, values = pin_chain(3, ground=(frame, pin))
    last = arguments['bodies'][-1]
    end = last.masscenter.locatenew('end', length/2*last.frame.x)
    held = pin.locatenew('held', 4*length*frame.x)
    method = UdwadiaKalabaMethod(**arguments, loops=[Loop(end, held)])
    equations = compile_equations(method, values, recursion=True)
    with pytest.raises(ConstraintError, match='No consistent state'):
        simulate(equations, 1, [0.3]*6, initial='project')


def test_too_many_steps():
    equations = forms(bricard())[0]
    with pytest.raises(SimulationError) as caught:
        simulate(equations, 1e4, np.zeros(10), max_steps=50)
    assert caught.value.reason is Reason.STEPS
    assert len(caught.value.trajectory) > 10


def test_other_constants():
    equations = forms(bricard())[0]
    still = simulate(copy(equations), 1, np.zeros(10), constants={GRAVITY: 0})
    assert abs(still.x).max() == 0 and still.constants == {GRAVITY: 0.}
    with pytest.raises(ValueError, match='compilation'):
        simulate(equations, 1, np.zeros(10), inputs={symbols('f'): 1})


def test_sweeps_are_made_here_and_in_threads():
    equations, ordinary = forms(bricard())
    varied, run = {GRAVITY: [0, 5, 9.81]}, {'t_span': 0.5, 't_eval': 3}
    known = sweep(ordinary, varied, np.zeros(10), **run).values('q5')
    with ThreadPoolExecutor(2) as threads:
        for executor in None, threads:
            found = sweep(equations, varied, np.zeros(10), executor, **run)
            assert abs(found.values('q5') - known).max() < 1e-7
    with pytest.raises(UnsupportedFeatureError, match='ThreadPoolExecutor'):
        sweep(equations, varied, np.zeros(10), 2, **run)


def test_loops_without_recursion_belong_to_the_method():
    made = bricard()
    with pytest.raises(ValueError, match='to the method'):
        compile_equations(UdwadiaKalabaMethod(**made.arguments), GIVEN,
                          loops=made.loops)
