"""Motions through configurations where the constraints lose rank.

Linkages that fold flat: each has one degree of freedom, except for an instant.
The references do not know of constraints: a closed form for the rows of
four-bar linkages, one equation of motion in the crank angle for the others.
"""
from functools import cache
from types import SimpleNamespace

import mechanisms
import numpy as np
import pytest
from numpy.random import default_rng
from scipy.integrate import solve_ivp
from sympy import cos, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from combinations import rotating
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.models import model
from sympy_constrained.numeric import (
    Reason, Table, Trajectory, compile_equations, simulate)

m, g, l = symbols('m g l', positive=True)
t = dynamicsymbols._t
CONSTANTS = {m: 1., g: 9.81, l: 1.}
BACKENDS = 'llvm', 'numpy'
METHODS = 'DOP853', 'RK45', 'Radau'
TOLERANCES = 10.**-np.arange(5, 12.1, 0.5)


# -- mechanisms ------------------------------------------------------------

def linkage(method, constants, start, end, count, knee, exact):
    """``knee``: complex place of the end of the first crank in a state."""
    return SimpleNamespace(
        equations=cache(lambda backend: compile_equations(
            method, constants, backend=backend)),
        start=np.array(start, float), end=end, count=count, knee=knee,
        exact=exact)


def exact_place(n, end):
    return complex(*mechanisms.exact_knee(n, end)[:2])


def four_bars(n):
    given = model('n_four_bar', n=n)
    return linkage(given.form(UdwadiaKalabaMethod), given.parameters,
                   list(given.start.values()), 10., 10,
                   lambda x: np.exp(1j*x[0]), exact_place(n, 10.))


def absolute_four_bars():
    """Two four-bar linkages in a row: 15 coordinates, 14 rows."""
    bodies = [dynamicsymbols(f'x{i} y{i} a{i}') for i in range(1, 6)]
    L = sum(m*(x.diff(t)**2 + y.diff(t)**2)/2 + m*l**2*a.diff(t)**2/24
            - m*g*y for x, y, a in bodies)

    def end(i, side):
        x, y, a = bodies[i]
        return x + side*l/2*cos(a), y + side*l/2*sin(a)

    rows = [row for i in range(3) for row in (
        end(i, -1)[0] - i*l, end(i, -1)[1])]
    rows += [here - there for k in range(2)
             for side, i in ((-1, k), (1, k + 1))
             for here, there in zip(end(3 + k, side), end(i, 1))]
    start = [c for i in range(3) for c in (i, 0.5, np.pi/2)]
    start += [c for k in range(2) for c in (k + 0.5, 1, 0)]
    speeds = [0.5, 0, -1]*3 + [1, 0, 0]*2
    method = UdwadiaKalabaMethod(L, [c for body in bodies for c in body],
                                 hol_coneqs=rows)
    return linkage(method, CONSTANTS, start + speeds, 10., 10,
                   lambda x: np.exp(1j*x[2]), exact_place(2, 10.))


def integrated(inertia, slope, torque, start, end):
    """End of a crank that moves by ``J(a) a'' + J'(a) a'^2/2 = Q(a)``."""
    found = solve_ivp(
        lambda _, y: [y[1], (torque(y[0]) - slope(y[0])*y[1]**2/2)/inertia(
            y[0])], (0, end), start, method='DOP853', rtol=3e-14, atol=1e-14)
    return np.exp(1j*found.y[0, -1])


def parallel_cranks():
    """A coupler on three parallel cranks without mass; redundant rows."""
    given = mechanisms.parallel_cranks(-0.3, 6.)
    exact = integrated(lambda a: 1., lambda a: 0., lambda a: -9.81*np.cos(a),
                       [-0.3, 6.], 5.)
    return linkage(given.method, given.constants, given.start, 5., 8,
                   lambda x: complex(*x[:2]), exact)


def slider_crank():
    """Crank and rod of one length: the slider can stop in the middle."""
    a, b, x = dynamicsymbols('a b x')
    centre = l*cos(a) + l*cos(b)/2, l*sin(a) + l*sin(b)/2
    L = (m*l**2*a.diff(t)**2/6 + m*l**2*b.diff(t)**2/24
         + m*sum(c.diff(t)**2 for c in centre)/2 + m*x.diff(t)**2/2
         - m*g*(l*sin(a)/2 + centre[1]))
    method = UdwadiaKalabaMethod(L, [a, b, x], hol_coneqs=[
        l*cos(a) + l*cos(b) - x, l*sin(a) + l*sin(b)])
    # On the branch b = -a; the rod's centre is at (3 cos a, sin a)/2.
    exact = integrated(
        lambda a: 1/3 + 1/12 + 1/4 + (2 + 4)*np.sin(a)**2,
        lambda a: 6*np.sin(2*a), lambda a: -9.81*np.cos(a), [0.3, 8.], 5.)
    return linkage(
        method, CONSTANTS,
        [0.3, -0.3, 2*np.cos(0.3), 8, -8, -16*np.sin(0.3)], 5., 8,
        lambda x: np.exp(1j*x[0]), exact)


LINKAGES = {
    'one four-bar': lambda: four_bars(1), 'two': lambda: four_bars(2),
    'five': lambda: four_bars(5), 'two, absolute': absolute_four_bars,
    'parallel cranks': parallel_cranks, 'slider-crank': slider_crank}


@pytest.fixture(scope='module')
def made():
    """Each linkage is made once."""
    found = {}

    def make(name):
        if name not in found:
            found[name] = LINKAGES[name]()
        return found[name]

    return make


def error_of(given, backend, method, tolerance, start):
    """Error of the crank's end; the run has to pass everything."""
    motion = simulate(given.equations(backend), given.end, start,
                      rtol=tolerance, atol=tolerance, method=method, t_eval=2)
    assert motion.success and len(motion.passages) == given.count
    assert motion.largest_residual < 1e-11
    return abs(given.knee(motion.x[-1]) - given.exact)


def allowed(tolerance):
    """Ten to sixteen passages amplify the errors of steps, never more."""
    return 3e4*tolerance + 1e-7


def combinations(seed, count):
    """Random runs: linkage, backend, method, tolerance, seed of the start."""
    random = default_rng(seed)
    return [(list(LINKAGES)[random.integers(len(LINKAGES))],
             BACKENDS[random.integers(2)], METHODS[random.integers(3)],
             TOLERANCES[random.integers(len(TOLERANCES))], k)
            for k in range(count)]


def moved(start, seed):
    """Each number moves to one of its neighbours, or stays."""
    way = default_rng(seed).integers(-1, 2, len(start))
    return np.where(way, np.nextafter(start, np.copysign(np.inf, way)), start)


# -- through ---------------------------------------------------------------

@pytest.mark.parametrize('name', [
    pytest.param(name, marks=pytest.mark.slow)
    if name not in ('two', 'slider-crank') else name
    for name in LINKAGES])
def test_the_error_falls_with_the_tolerance(made, name):
    given = made(name)
    errors = [error_of(given, 'llvm', 'DOP853', tolerance, given.start)
              for tolerance in (1e-5, 1e-7, 1e-9, 1e-11)]
    print(name, *(f'{error:.0e}' for error in errors))
    assert errors[1] < errors[0]/10 and errors[2] < errors[1]/10
    assert errors[3] < 1e-7


def check_runs(made, runs):
    for name, backend, method, tolerance, seed in runs:
        given = made(name)
        error = error_of(given, backend, method, tolerance,
                         moved(given.start, seed))
        assert error < allowed(tolerance), (
            name, backend, method, tolerance, seed, error)


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(1, 21))
def test_six_hundred_runs(made, seed):
    check_runs(made, combinations(seed, 30))


@pytest.mark.slow
@pytest.mark.parametrize('tolerance', [1e-5, 1e-7, 1e-9])
def test_forty_four_bars(tolerance):
    """All forty windows lose rank at the same instant."""
    given = four_bars(40)
    assert error_of(given, 'llvm', 'DOP853', tolerance, given.start) < (
        allowed(tolerance))


# -- what a run through a singular configuration returns -------------------

@pytest.fixture(scope='module')
def passage(made):
    """Outputs close to the first passage, and exactly there."""
    given = made('two')
    first = simulate(given.equations('llvm'), 1., given.start).passages[0]
    near = first + np.array([-1e-3, -1e-5, -1e-9, 0, 1e-9, 1e-5, 1e-3])
    events = lambda t, x: np.sin(x[0])                          # noqa: E731
    motion = simulate(given.equations('llvm'), 1., given.start, rtol=1e-11,
                      atol=1e-11, t_eval=near, events=events, dense=True)
    return given, motion, first


def test_rates_are_continuous(passage):
    """All cranks turn alike, the couplers not at all."""
    given, motion, first = passage
    k = 3*7*9.81/(2*9)
    np.testing.assert_allclose(
        motion.rates[:, 5], -k*np.cos(motion.x[:, 0]), atol=1e-6)
    np.testing.assert_allclose(motion.rates[:, 8:], 0, atol=1e-6)
    assert np.ptp(motion.x[:, :3]) < 0.05
    np.testing.assert_allclose(np.diff(motion.x[:, :3], axis=1), 0, atol=1e-9)


def test_multipliers_have_least_norm_there(passage):
    """Away from it they are unique, and grow as ``1/(t - t*)``."""
    given, motion, first = passage
    unique, sizes = [0, 1, 5, 6], np.abs(motion.multipliers).max(axis=1)
    assert sizes[1] > 50*sizes[0] and sizes[5] > 50*sizes[6]
    for i, x in enumerate(motion.x):
        A = given.equations('llvm').evaluate(('A',), motion.t[i], x)['A']
        forces, least = motion.constraint_forces[i], motion.multipliers[i]
        if i in unique:
            np.testing.assert_allclose(A.T@least, forces, atol=1e-3)
        else:
            assert least == pytest.approx(
                np.linalg.pinv(A.T, rcond=1e-6)@forces, rel=1e-6)
            assert sizes[i] < 2*sizes[0]
    np.testing.assert_allclose(
        motion.constraint_forces[3], motion.constraint_forces[2], atol=1e-5)


def test_events_and_interpolants_work_there(passage):
    _, motion, first = passage
    event, = motion.events
    assert event.t == pytest.approx(first, abs=1e-7)
    assert motion.passages == pytest.approx((first,), abs=1e-7)
    assert np.sin(motion.at([event.t])[0, 0]) == pytest.approx(0, abs=1e-8)


def test_passages_are_in_the_message_and_in_files(passage, tmp_path):
    _, motion, _ = passage
    assert '1 singular configuration' in motion.message
    motion.save(tmp_path/'motion.npz')
    again = Trajectory.load(tmp_path/'motion.npz')
    assert again.passages == motion.passages


def test_time_may_run_backwards(made):
    given = made('two')
    there = simulate(given.equations('llvm'), 2., given.start, rtol=1e-11,
                     atol=1e-11)
    back = simulate(given.equations('llvm'), (2., 0.), there.x[-1],
                    rtol=1e-11, atol=1e-11)
    assert len(there.passages) == 2
    assert sorted(back.passages) == pytest.approx(there.passages, abs=1e-7)
    np.testing.assert_allclose(back.x[-1], given.start, atol=1e-6)


def test_fast_motions_pass(passage):
    """The same passage in hours."""
    given, _, first = passage
    fast = simulate(
        given.equations('llvm').with_values({'g': 9.81*3600**2}), 1/3600,
        given.start*np.where(np.arange(10) < 5, 1, 3600), rtol=1e-9,
        atol=1e-11)
    assert [3600*t for t in fast.passages] == pytest.approx([first], abs=1e-6)


@pytest.mark.parametrize('part', [-1e-4, 0, 1e-4])
def test_a_run_may_end_there(passage, part):
    given, _, first = passage
    end = first + part
    motion = simulate(given.equations('llvm'), end, given.start, rtol=1e-10,
                      atol=1e-10)
    assert motion.t[-1] == end
    assert abs(given.knee(motion.x[-1]) - exact_place(2, end)) < 1e-7


# -- where the velocity selects no branch ----------------------------------

@rotating('method, tolerance', METHODS, [1e-5, 1e-6, 1e-8, 1e-10, 1e-12])
def test_a_motion_that_turns_there_stops(method, tolerance):
    """The energy is just enough for the cranks to lie flat."""
    given = mechanisms.parallel_cranks(-0.3, np.sqrt(2*9.81*np.sin(0.3)))
    motion = simulate(given.compiled, 5, given.start, rtol=tolerance,
                      atol=tolerance, method=method, throw=False)
    assert motion.reason is Reason.NO_BRANCH
    assert 'the velocity selects no branch' in motion.message
    assert 0.2 < motion.t[-1] < 0.2477


@rotating('method, tolerance', METHODS, [1e-5, 1e-8, 1e-11])
def test_branches_that_touch_stop_the_run(method, tolerance):
    """On y^2 = x^4 two curves touch at the origin."""
    x, y = mechanisms.x, mechanisms.y
    motion = simulate(mechanisms.particle([y**2 - x**4]), 10, [1, 1, 0, 0],
                      constants={mechanisms.m: 1, mechanisms.g: 9.81},
                      rtol=tolerance, atol=tolerance, method=method,
                      throw=False)
    assert motion.reason is Reason.NO_BRANCH
    assert 0.55 < motion.t[-1] < 0.5938
    assert motion['x'][-1] > 0 and (x, y) == motion.states[:2]


# -- where the constraints nearly lose rank --------------------------------

@pytest.mark.parametrize('gap', [1e-3, 1e-5, 1e-7])
def test_a_motion_close_to_a_singular_configuration_is_not_cut_short(gap):
    """A particle on a branch of x y = c turns within sqrt(c) of the origin."""
    x, y = dynamicsymbols('x y')
    method = UdwadiaKalabaMethod(m*(x.diff(t)**2 + y.diff(t)**2)/2, [x, y],
                                 hol_coneqs=[x*y - gap])
    motion = simulate(method, 2, [1, gap, -1, gap], constants={m: 1},
                      rtol=1e-10, atol=1e-12)
    assert motion.passages == ()
    assert motion['x'].min() > 0 and motion['y'][-1] > 0.5
    assert np.hypot(*motion.x[-1, 2:]) == pytest.approx(
        np.hypot(1, gap), rel=1e-6)


@pytest.mark.parametrize('z', [1e4, 1e6])
def test_a_large_coordinate_does_not_hide_the_branch(z):
    x, y, w = dynamicsymbols('x y w')
    method = UdwadiaKalabaMethod(
        m*(x.diff(t)**2 + y.diff(t)**2 + w.diff(t)**2)/2, [x, y, w],
        hol_coneqs=[x*y - 1e-8])
    motion = simulate(method, 2, [1, 1e-8, z, -1, 1e-8, 0], constants={m: 1})
    assert motion['x'].min() > 0 and motion.passages == ()


@rotating('factor, tolerance', [1.001 + cos(3*t), 1/(1 + t**2)],
          [1e-6, 1e-8, 1e-11])
def test_rows_that_only_become_small_are_no_passage(factor, tolerance):
    x, y = dynamicsymbols('x y')
    method = UdwadiaKalabaMethod(
        m*(x.diff(t)**2 + y.diff(t)**2)/2 + m*g*x, [x, y],
        nonhol_coneqs=[factor*(x.diff(t) - y.diff(t))])
    motion = simulate(method, 10, [0, 0, 1, 1], constants={m: 1, g: 2},
                      rtol=tolerance, atol=tolerance)
    assert motion.passages == ()
    np.testing.assert_allclose(motion.x[-1], [60, 60, 11, 11], rtol=1e-4)


# -- several at a time, and the end of the run ------------------------------

@rotating('beyond, tolerance', [0.03, 0.01, 0.003], 10.**-np.arange(5, 12))
def test_pairs_that_are_close_together(beyond, tolerance):
    """The cranks rise just beyond flat and come back, three times."""
    given = mechanisms.parallel_cranks(
        -0.3, np.sqrt(2*9.81*np.sin(0.3)*(1 + beyond)))
    motion = simulate(given.compiled, 3, given.start, rtol=tolerance,
                      atol=tolerance)
    exact = integrated(lambda a: 1., lambda a: 0., lambda a: -9.81*np.cos(a),
                       [-0.3, np.hypot(*given.start[3:5])], 3.)
    assert len(motion.passages) == 6
    assert abs(complex(*motion.x[-1, :2]) - exact) < 3e4*tolerance + 1e-6


@pytest.mark.parametrize('beyond, digits', [
    (0.01, 7.9), (0.02, 7.25), (0.05, 5.7), (0.02, 6.6)])
def test_steps_that_end_just_behind_a_singular_configuration(beyond, digits):
    test_pairs_that_are_close_together(beyond, 10**-digits)


@rotating('behind, tolerance', [1e-6, 1e-4, -1e-6, -1e-4],
          [1e-6, 1e-8, 1e-10])
def test_nothing_happens_after_the_end(passage, behind, tolerance):
    given, _, first = passage
    end = first + behind
    motion = simulate(given.equations('llvm'), end, given.start,
                      rtol=tolerance, atol=tolerance)
    assert motion.t.max() == end and all(
        time < end for time in motion.passages)


@pytest.mark.parametrize('before', [1e-2, 3e-3, -1e-2])
def test_an_input_that_jumps_close_to_a_passage(before):
    """A force from a table begins to lift the coupler."""
    force = dynamicsymbols('force')
    free = mechanisms.parallel_cranks(-0.3, 6.)
    method, constants = mechanisms.coupler_on_cranks(
        generalized_forces=[0, force, 0])
    first = simulate(free.compiled, 0.1, free.start).passages[0]
    jump = first - before
    table = Table([0, jump, 1], [0, 30, 30], kind='previous')
    motion = simulate(method, 0.2, free.start, constants=constants,
                      inputs={force: table}, rtol=1e-10, atol=1e-10)
    found = solve_ivp(lambda _, y: [y[1], -9.81*np.cos(y[0])], (0, jump),
                      [-0.3, 6.], rtol=1e-13, atol=1e-13)
    found = solve_ivp(lambda _, y: [y[1], 5.19*np.cos(y[0])], (jump, 0.2),
                      found.y[:, -1], rtol=1e-13, atol=1e-13)
    assert abs(complex(*motion.x[-1, :2]) - np.exp(1j*found.y[0, -1])) < 1e-7
