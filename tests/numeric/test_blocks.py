"""Blocks of steps in compiled code give the motion of single steps."""
import runpy
from functools import cache

import exports
import numpy as np
import pytest
from combinations import rotating
from geometric_systems import DISC, disc
from scipy.integrate import DOP853, RK23, RK45
from sympy import sin, symbols
from sympy.physics.biomechanics import FiberForceVelocityDeGroote2016 as curve
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import (
    Crossing, Table, compile_equations, consistent_state, simulate)
from sympy_constrained.numeric.integrate.blocks import (
    Blocks, Interpolant, is_compiled)
from sympy_constrained.numeric.integrate.crossing import CrossingFunction
from sympy_constrained.numeric.integrate.passage import PassageFinder

loop = pytest.importorskip('sympy_constrained.numeric.integrate.loop')

m, k, c, w = symbols('m k c w')
x, y, z = dynamicsymbols('x y z')


def ready(name):
    return exports.ready(name)[1:]


def damped():
    """Without constraints; the work is a state."""
    method = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - k*(x - y)**2/2, [x, y],
        nonideal_forces=[-c*x.diff(), 0])
    return compile_equations(method, {m: 1, k: 30, c: .3}), [1, 0, 0, 2]


def moved():
    """A constraint that does work, and a state by a curve of a muscle."""
    method = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - m*k*y, [x, y, z],
        hol_coneqs=[x**2 + y**2 - (1 + dynamicsymbols._t/10)**2],
        nonhol_coneqs=[z.diff() - curve(y, 1, 2, 3, 4)])
    equations = compile_equations(method, {m: 2, k: 9})
    return equations, consistent_state(equations, [1, 0, 0, .1, 0, 0])


MODELS = {
    'damped': damped, 'moved': moved, **{
        name: lambda name=name: ready(name) for name in (
            'four_bar', 'rolling_disc', 'cartesian_pendulum',
            'duplicated_rows', 'slider_crank', 'knife_edge',
            'heavy_top_quaternion')}}


@cache
def made(name):
    return MODELS[name]()


@pytest.fixture(params=MODELS)
def case(request):
    return made(request.param)


@pytest.fixture
def one_by_one(monkeypatch):
    """A simulation without blocks."""
    def run(*arguments, **options):
        with monkeypatch.context() as patch:
            patch.setattr(Blocks, 'apply_to', lambda *_: False)
            return simulate(*arguments, **options)
    return run


def same(found, wanted, tolerance):
    assert found.reason is wanted.reason and len(found) == len(wanted)
    np.testing.assert_allclose(found.t, wanted.t, rtol=tolerance)
    for name in ('x', 'rates', 'multipliers', 'constraint_forces'):
        one, other = getattr(found, name), getattr(wanted, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance*(
            1 + np.abs(other).max(initial=0)))
    np.testing.assert_array_equal(found.rank, wanted.rank)
    one, other = ([(e.index, e.t) for e in run.events]
                  for run in (found, wanted))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    ratio = found.condition/wanted.condition    # LAPACK's is an estimate
    assert ratio.max(initial=1) < 1.001 and ratio.min(initial=1) > 1/3
    if wanted.work is not None:
        np.testing.assert_allclose(found.work, wanted.work, rtol=0,
                                   atol=tolerance*(1 + np.abs(
                                       wanted.energy).max()))


@rotating('name, method', list(MODELS), ['DOP853', 'RK45', 'RK23'])
def test_the_motion_is_that_of_single_steps(name, method, one_by_one, single):
    compiled, start = made(name)
    options = {'rtol': 1e-6, 'atol': 1e-8, 't_eval': 21, 'method': method}
    found = simulate(compiled, 1, start, **options)
    assert not single
    wanted = one_by_one(compiled, 1, start, **options)
    same(found, wanted, 1e-8)
    assert found.statistics['steps'] == wanted.statistics['steps']
    assert found.largest_residual < 1e-12


def test_steps_dense_output_and_time_backward(case, one_by_one, single):
    compiled, start = case
    for options in ({}, {'dense': True}):
        found = simulate(compiled, -1, start, **options)
        assert not single
        wanted = one_by_one(compiled, -1, start, **options)
        single.clear()
        assert found.reason is wanted.reason
        assert abs(len(found) - len(wanted)) <= 1
        between = np.linspace(0, -1, 33)
        np.testing.assert_allclose(
            found.at(between), wanted.at(between), atol=1e-6, rtol=1e-6)


@rotating('kind, end', ['cubic', 'monotone', 'linear', 'previous'], [3, -3])
def test_tables_are_evaluated_in_the_loop(kind, end, one_by_one, single):
    """A force with many kinks, one that is smooth, and a moving row."""
    rough, smooth, place = dynamicsymbols('rough smooth place')
    method = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2, [x, y], hol_coneqs=[y - place],
        generalized_forces=[rough - k*x + smooth*x.diff(), 0])
    times = np.linspace(-3, 3, 61)
    compiled = compile_equations(method, {m: 2, k: 9}, {
        rough: Table(times, np.cos(7*times**2), kind),
        smooth: Table(times[::6], np.sin(times[::6]) - 1),
        place: Table(times, times**3/20)})
    options = {'rtol': 1e-10, 'atol': 1e-12, 't_eval': 33}
    found = simulate(compiled, end, [1, 0, .1, 0], **options)
    assert not single
    wanted = one_by_one(compiled, end, [1, 0, .1, 0], **options)
    same(found, wanted, 1e-8)
    assert found.largest_residual < 1e-12


def test_functions_that_are_called_have_files_of_numba():
    """Others would be read even if they belong to an earlier version."""
    assert [name for name, item in vars(loop).items() if getattr(
        getattr(item, 'stats', None), 'cache_path', None)] == [
            'solve_each', 'watch', 'make_steps', 'make_runs',
            'values_along', 'project_all', 'go_back']


def test_rows_that_are_left_out_hold_near_a_change_point():
    compiled, start = ready('parallel_cranks')
    for options in ({}, {'rtol': 1e-10, 'atol': 1e-12}):
        motion = simulate(compiled, 3, start, t_eval=1001, **options)
        assert motion.largest_residual < 1e-12


def test_signs_of_determinants():
    random = np.random.default_rng(3)
    matrices = random.normal(size=(40, 5, 5))
    matrices[1, 2] = 0.
    matrices[2, 0, 0] = np.nan
    signs = [loop.factored(A.copy(), np.empty(5, int)) for A in matrices]
    np.testing.assert_array_equal(signs[1:3], 0)
    np.testing.assert_array_equal(
        signs[3:], np.linalg.slogdet(matrices[3:])[0])


@pytest.mark.parametrize('count', [1, 2, 3])
def test_singular_values_of_rows(count):
    random = np.random.default_rng(3)
    A = random.normal(size=(4 + count, 4 + count))
    A[4 + count//2:] *= 1e-3
    sigma = np.linalg.svd(A[4:, :4], compute_uv=False)
    for rank in range(1, count + 1):
        np.testing.assert_allclose(
            loop.spread(A, 4, rank), (sigma[rank - 1], sigma[0]), rtol=1e-6)
    assert loop.spread(A, 4, 0) == (1, 1)


def test_files_of_another_source_are_no_compiled_code(tmp_path):
    """As after an upgrade: numba compiles again then."""
    source, text = tmp_path/'part.py', (
        'import numba\n\n\n@numba.njit(cache=True)\n'
        'def double(x):\n    return 2*x\n')

    def double():
        return runpy.run_path(str(source))['double']

    source.write_text(text)
    first = double()
    assert not is_compiled(first)
    assert first(3) == 6
    assert is_compiled(first) and is_compiled(double())
    source.write_text(text + '# changed\n')
    assert not is_compiled(double())


@pytest.mark.parametrize('is_there, has_code', [
    (True, True), (False, True), (False, False)])
def test_compilation_is_announced(is_there, has_code, monkeypatch, capsys):
    monkeypatch.setattr(
        'sympy_constrained.numeric.integrate.blocks.is_compiled',
        lambda _: is_there)
    if not has_code:
        monkeypatch.setattr(Blocks, 'code', lambda *_: None)
    compiled, start = damped()
    for progress in None, True:         # also where no bar is drawn
        simulate(compiled, 1, start, progress=progress)
        said = 'about half a minute' in capsys.readouterr().err
        assert said is (has_code and not is_there)
    simulate(compiled, 1, start, progress=False)
    assert not capsys.readouterr().err


def test_events(case, one_by_one):
    compiled, start = case

    def late(t, x):
        return t - 0.41

    def turns(t, x):
        return x[-1]

    late.terminal = 1
    for events in ([late, turns], turns):
        found, wanted = (run(compiled, 1, start, events=events, t_eval=15)
                         for run in (simulate, one_by_one))
        same(found, wanted, 1e-8)


@rotating('name, method, end', list(MODELS)[:6], ['DOP853', 'RK45', 'RK23'],
          [1, -1])
def test_events_that_are_expressions(name, method, end, one_by_one):
    """Some steps have two zeros, of one function or of two."""
    compiled, start = made(name)
    state, time = compiled.states[-1], dynamicsymbols._t
    events = [Crossing(state), Crossing(sin(30*state) - 0.3, direction=1),
              Crossing(time - 0.41*end, terminal=True)]
    for chosen in (events[:2], events):
        found, wanted = (run(
            compiled, end, start, events=chosen, t_eval=15, method=method,
            rtol=1e-5 if method == 'RK23' else 1e-8)
            for run in (simulate, one_by_one))
        same(found, wanted, 1e-8)


@rotating('name, method', list(MODELS), ['DOP853', 'Rodas5P'])
def test_an_expression_enters_python_where_it_vanishes(
        name, method, monkeypatch):
    compiled, start = made(name)
    calls, call = [], CrossingFunction.__call__
    monkeypatch.setattr(CrossingFunction, '__call__', lambda self, t, x: (
        calls.append(t), call(self, t, x))[1])
    event = Crossing(dynamicsymbols._t - 0.41)
    motion = simulate(compiled, 1, start, events=event, method=method)
    assert [round(event.t, 9) for event in motion.events] == [0.41]
    assert np.ptp(calls[1:]) <= np.diff(motion.t).max() < 0.5


@pytest.mark.filterwarnings('error')
def test_events_of_large_values():
    """Products of them overflow."""
    ball = UdwadiaKalabaMethod(m*y.diff()**2/2 - m*k*y, [y])
    motion = simulate(ball, 3, [2, 0], constants={m: 1, k: 1},
                      events=Crossing(1e200*y))
    assert [round(event.t, 9) for event in motion.events] == [2]


@pytest.mark.parametrize('jump', [None, {y.diff(): -y.diff()/2}])
def test_events_of_tables_and_jumps(jump, one_by_one):
    """Table values occur in the event, and in the equations."""
    f = dynamicsymbols('f')
    ball = UdwadiaKalabaMethod(m*y.diff()**2/2 - m*k*y, [y],
                               nonideal_forces=[f])
    table = Table([0, .7, 1, 3], [0, .4, -.5, .2], kind='linear')
    compiled = compile_equations(ball, {m: 1, k: 9}, {f: table})
    found, wanted = (run(compiled, 2, [3, 0], t_eval=21, events=Crossing(
        y - f, jump, direction=-1)) for run in (simulate, one_by_one))
    same(found, wanted, 1e-8)
    assert len(found.events) == len(wanted.events) > 0


@pytest.mark.parametrize('is_kept', [True, False])
@pytest.mark.parametrize('method', [DOP853, RK45, RK23])
def test_the_interpolants_are_those_of_scipy(method, is_kept):
    def rates(t, y):
        return np.array([y[1], -y[0]*t, y[0]*y[1]])

    solver = method(rates, 0.3, [0.2, -1.1, 0.7], 9., rtol=1e-4)
    for _ in range(3):
        begin, before = solver.t, solver.y
        solver.step()
    wanted, blocks = solver.dense_output(), object.__new__(Blocks)
    blocks.loop, blocks.tableau = loop, loop.tableau_of(method)
    K = np.zeros((len(blocks.tableau.c), 3))
    if is_kept:
        needed = loop.needed(blocks.tableau)
        K[:needed] = (solver.K_extended if method is DOP853 else solver.K
                      )[:needed]
    path = blocks.path(rates, begin, solver.t - begin, before, K, is_kept)
    assert isinstance(path, Interpolant)
    times = np.linspace(begin, solver.t, 9)
    np.testing.assert_allclose(path(times), wanted(times), atol=1e-13)
    np.testing.assert_allclose(path(times[3]), wanted(times[3]), atol=1e-13)


def test_a_long_motion_stays_on_the_constraints(single):
    compiled, start = ready('four_bar')
    motion = simulate(compiled, 60, start, rtol=1e-8, t_eval=601)
    assert motion.largest_residual < 1e-12
    assert len(single) < 0.02*motion.statistics['steps']


def test_steps_in_which_the_rows_turn_are_examined_together(monkeypatch):
    """A coin turns by half a radian in a step; no row vanishes."""
    searched, find = [], PassageFinder.find
    monkeypatch.setattr(PassageFinder, 'find', lambda *arguments: (
        searched.append(arguments), find(*arguments))[1])
    coin = disc()
    motion = simulate(coin.compiled, 1000, coin.start, rtol=1e-6)
    assert motion.statistics['steps'] < 1600*DISC['turn']
    assert len(searched) < 10


def test_what_follows_an_event_is_not_examined(monkeypatch):
    """The linkage folds later than its run ends."""
    begun, find = [], PassageFinder.find
    monkeypatch.setattr(PassageFinder, 'find', lambda self, *arguments: (
        begun.append(self.times[-1]), find(self, *arguments))[1])
    linkage, start = ready('n_four_bar')
    simulate(linkage, 4, start, events=Crossing(
        dynamicsymbols._t - 0.1, terminal=True))
    assert max(begun, default=0) < 0.1
