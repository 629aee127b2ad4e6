"""The harness of the benchmarks: what it counts and how it judges. Nothing
here is timed."""
import importlib
import inspect
import itertools
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from sympy import cos, sin, symbols, sqrt

import ready
from combinations import every_third
from sympy_constrained import timing
from sympy_constrained.graph import Graph, GraphBuilder, read

FOLDER = Path(__file__).resolve().parents[2]/'benchmarks'
x, y, z = symbols('x y z')


@pytest.fixture
def harness(monkeypatch):
    """Modules of the harness by name."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


@pytest.mark.parametrize('expr, count', [
    (x, 0), (-x, 0), (x + y, 1), (x - y + z, 2), (x*y*z, 2), (-x*y, 1),
    (2*x, 1), (x**2, 1), (x**3, 2), (x**8, 3), (1/x, 1), (x/y, 2),
    (x**-2, 2), (sqrt(x), 1), (sin(x) + cos(x), 3), (sin(x + y)**2, 3)])
def test_operations_are_counted_as_on_the_graph(harness, expr, count):
    assert harness('upstream').operations(expr) == count
    builder = GraphBuilder()
    graph = Graph.freeze(builder, {'e': ([[read(builder, expr)]], 1)})
    assert graph.operation_count() == count


@pytest.mark.filterwarnings('ignore:\\s*Velocity of:UserWarning')
@pytest.mark.parametrize('spec, share', every_third([
    ('closed_chain:4', 0.6), ('four_bar', 0.6), ('andrews_squeezer', 0.9),
    ('rolling_disc', 0.9), ('rolling_disc_minimal', 0.9),
    ('slider_crank', 0.9)], 1))
def test_fewer_operations_than_cse_leaves(harness, spec, share):
    jobs = harness('jobs')
    system = jobs.ours(jobs.fresh(spec))
    count = system.graph.operation_count(jobs.BLOCKS)
    assert count <= share*jobs.size(spec)['operations']


@pytest.mark.slow
def test_matrices_are_as_short_as_those_of_kane(harness):
    written = harness('jobs').written
    ours, theirs = (written('rolling_disc', form, 1)
                    for form in ('ours', 'kane'))
    assert ours['nodes'] <= 3*theirs['nodes']


def test_every_job_of_a_run_can_be_called(harness):
    jobs, run = harness('jobs'), harness('run')
    planned = run.chosen(run.GROUPS)
    assert len(planned) == len(set(planned)) > 100
    for name, *arguments in planned:
        inspect.signature(jobs.job_of(name)).bind(*arguments)


@pytest.mark.slow
def test_a_chain_borrows_its_reference_from_absolute_angles(harness):
    states = harness('states')
    state, *_ = states.calculated('closed_chain:4')
    given = states.build('closed_chain:4')
    values = {**ready.constants(given),
              **dict(zip(given.coordinates, state['q'])),
              **dict(zip(given.speeds, state['u']))}
    direct = ready.independent(given, values)
    assert list(direct.values()) == pytest.approx(state['accelerations'],
                                                  rel=1e-12)


def test_an_error_is_relative_and_nan_comes_through(harness):
    error = harness('states').error
    known = [{'q': [0], 'u': [0], 'accelerations': [2., -4.]}] * 2
    assert error(lambda q, u: [2., -3.], known) == 0.25
    assert math.isnan(error(lambda q, u: [2., math.nan], known))
    with pytest.raises(ValueError):
        error(lambda q, u: [2.], known)


def record(results):
    return {'date': '2026-01-01', 'patience': 60.,
            'versions': {'SymPy': '1'}, 'results': results}


def test_ratios_bounds_and_what_is_missing_are_told(harness):
    report = harness('report')
    text = report.markdown(record({
        'derive closed_chain:8': {'graph': 0.01, 'matrices': 0.02,
                                  'assignments': 0.02, 'operations': 500},
        'upstream_derive closed_chain:8 kane': {'seconds': 4.},
        'upstream_derive closed_chain:8 lagrange': {'over': 60.},
        'size closed_chain:8': {'operations': 1000},
        'function closed_chain:8 llvm': {'call': 1e-6, 'error': 1e-13},
        'cython closed_chain:8': {'missing': 'pydy'}}))
    assert '| chain 8 | 10 ms |  | KanesMethod | 4 s |  | 400 |' in text
    assert 'LagrangesMethod | > 60 s |  | > 6000 |' in text
    assert 'missing: pydy' in text
    assert '| cse of Kane\'s blocks | 1000 |  | 2 |' in text
    assert 'not measured' in text


def test_growth_is_a_slope_on_logarithms(harness):
    report = harness('report')
    points = [(n, 3e-3*n**1.5) for n in (4, 8, 16, 32)]
    assert report.exponent(points) == pytest.approx(1.5)
    assert report.exponent(points[:1]) is None
    grown = {f'grow closed_chain:{n}': {'graph': value, 'operations': 9*n}
             for n, value in points}
    grown['upstream_derive closed_chain:12 kane'] = {'over': 60.}
    rows = list(report.growth(record(grown)))
    assert [row[3] for row in rows] == ['1.50', '1.00']


def test_calls_are_timed_by_a_clock_with_long_steps(monkeypatch):
    now = itertools.count()
    monkeypatch.setattr(timing, 'time', SimpleNamespace(
        process_time=lambda: next(now)//1000))
    assert abs(timing.per_call(lambda: next(now), 0) - 1e-3) < 1e-4
