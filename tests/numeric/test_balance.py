"""Balances of energy and constraints: no false alarm, and no missed fault.

Faults are put into the equations on purpose; energy, residuals and the rows
``A``, ``b`` stay those of the model.
"""
from dataclasses import replace
from warnings import catch_warnings, filterwarnings, simplefilter

import numpy as np
import pytest
from sympy import Matrix, Piecewise, diag, sin
from sympy.physics.mechanics import Point, ReferenceFrame

from mechanisms import g, m, t, x, y
from sympy_constrained import (
    EquationsOfMotion, GibbsAppellMethod, UdwadiaKalabaMethod)
from sympy_constrained.graph import Graph
from sympy_constrained.models import MODELS, model
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.numeric.integrate.balance import Balance

QUICK = ('slider_crank', 'rolling_disc', 'closed_chain_3d', 'parallel_cranks',
         'heavy_top_quaternion', 'driven_pendulum', 'massless_coordinate',
         'bicycle', 'bead_on_circle', 'acceleration_level')


def compiled_model(name, change=None):
    """A ready model, perhaps with a fault, its start and its length."""
    ready = model(name)
    method = ready.form(UdwadiaKalabaMethod)
    equations = EquationsOfMotion.from_method(method)
    compiled = compile_equations(
        equations if change is None else changed(equations, change),
        ready.parameters, ready.inputs)
    state = consistent_state(compiled, ready.start, ready.fixed)
    return compiled, state, ready.t_end


def changed(equations, change):
    """Equations whose outputs ``change(g, out)`` has changed."""
    shapes = equations.graph.outputs
    g, out = equations.graph.load(None, tuple(shapes))
    out = {name: [list(row) for row in rows] for name, rows in out.items()}
    change(g, out)
    return replace(equations, graph=Graph.freeze(g, {
        name: (rows, shapes[name][1]) for name, rows in out.items()}))


def balances(*arguments, **options):
    """The warnings about balances of a run."""
    with catch_warnings(record=True) as caught:
        simplefilter('always')
        simulate(*arguments, **options)
    texts = [str(warning.message) for warning in caught]
    return [text for text in texts
            if 'balance is off' in text or 'No state exceeds' in text]


@pytest.mark.parametrize('name', [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
    for name in MODELS])
def test_ready_models_run(name):
    compiled, state, t_end = compiled_model(name)
    with catch_warnings():
        filterwarnings('error', '.*balance is off')
        motion = simulate(compiled, 0.3*t_end, state)
    assert motion.success and not motion.rank_changes
    assert motion.largest_residual < 1e-11


@pytest.mark.parametrize('name, options', [
    ('cartesian_pendulum', {'rtol': 1e-12, 'atol': 1e-13}),
    ('cartesian_pendulum', {'stabilization': (2, 2), 'method': 'LSODA'}),
    ('closed_chain', {'rtol': 1e-3, 'atol': 1e-6}),
    ('closed_chain', {'stabilization': 'braun-goldfarb', 'rtol': 1e-5}),
    ('duplicated_rows', {'stabilization': None}),
    ('duplicated_rows', {'method': 'Radau', 'rtol': 1e-5}),
    ('driven_pendulum', {'method': 'RK23', 'rtol': 1e-4}),
    ('constant_speed_particle', {'t_eval': 30}),
    ('quaternion_top_lagrange', {'rtol': 1e-3, 'atol': 1e-6})], ids=str)
def test_tolerances_explain_errors(name, options):
    compiled, state, t_end = compiled_model(name)
    assert balances(compiled, 0.3*t_end, state, **options) == []


@pytest.mark.parametrize('size, tolerances, expected', [
    (1e-10, {}, 1), (1e-10, {'atol': 1e-16}, 0), (0, {}, 0)], ids=str)
def test_states_that_atol_does_not_resolve(size, tolerances, expected):
    compiled = compile_equations(UdwadiaKalabaMethod(
        m*(x.diff()**2 - g*x**2)/2, [x]), {m: 1, g: 9.81})
    assert len(balances(compiled, 3, [size, 0], **tolerances)) == expected


@pytest.mark.filterwarnings('ignore:The rank of the equations changed')
def test_a_row_that_begins_to_act_is_not_judged_before():
    """Its gradient is ``t - 1``; the rank rises when that exceeds 1e-7."""
    late = Piecewise((0, t < 1), (t - 1, True))
    method = UdwadiaKalabaMethod(
        (x.diff()**2 + y.diff()**2)/2 + late*x, [x, y],
        nonhol_coneqs=[late*(x.diff() - y.diff())])
    assert balances(method, 3, [0, 0, 1, 1]) == []


def test_a_straight_ride_is_no_fault():
    """All accelerations, and all terms of some rows, are rounding errors."""
    equations, *_ = compiled_model('bicycle')
    start = consistent_state(equations, {'u3': 5/.3, 'u6': 5/.35}, fill=0,
                             fixed=['q1', 'q2', 'q5', 'u2', 'u3', 'u5'])
    with catch_warnings():
        simplefilter('error')
        assert simulate(equations, 1, start).success


def test_a_start_without_power_of_constraints_says_nothing_of_others():
    """The force of this constraint has the power ``2*lam*x``, none at x = 0.
    """
    compiled = compile_equations(UdwadiaKalabaMethod(
        (x.diff()**2 + y.diff()**2)/2, [x, y],
        nonhol_coneqs=[x.diff()*y.diff() - x]))
    for start in [0, 0, 2, 0], [1, 0, 2, 0.5]:
        assert balances(compiled, 0.5, start) == []


def test_rounding_errors_shortly_after_a_rest_are_no_fault():
    """Horizontal, it falls at right angles to the row, whose terms vanish."""
    method = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
        hol_coneqs=[x**2 + y**2 - 1, 3*x**2 + 3*y**2 - 3])
    compiled = compile_equations(method, {m: 1.3, g: 9.81})
    assert balances(compiled, 1e-9, [1, 0, 0, 0]) == []


@pytest.mark.parametrize('name', ['violations', 'distances', 'energy'])
def test_what_is_not_a_number_is_a_fault(name):
    compiled, state, _ = compiled_model('slider_crank')
    motion, balance = simulate(compiled, 0.1, state), Balance(compiled)
    count, rows = motion.multipliers.shape
    terms = {'absolute': np.zeros(count), 'relative': np.zeros(count),
             'gradients': np.ones((count, rows)),
             'errors': np.ones((count, rows)),
             'violations': np.zeros((count, rows)),
             'distances': np.zeros_like(motion.residuals)}
    assert balance.fault(motion, terms, 1e-8, 1e-8) is None
    if name == 'energy':
        motion = replace(motion, energy=motion.energy*np.nan)
    else:
        terms[name] = terms[name]*np.nan
    assert 'balance is off' in balance.fault(motion, terms, 1e-8, 1e-8)


def heavier(part, names=('W',)):
    """A mass matrix entry off by a part of itself."""
    def change(g, out):
        for name in names:
            out[name][0][0] = g.mul(g.constant(1 + part), out[name][0][0])
    return change


def turned_force(g, out):
    """The first force that is not zero has the wrong sign."""
    i = next(i for i, [x] in enumerate(out['Q']) if x)
    out['r'][i][0] = g.sub(out['r'][i][0], g.add(*[out['Q'][i][0]]*2))


def lost_row(g, out):
    """The last constraint row of W repeats the first one."""
    o = len(out['M'])
    out['W'][-1], out['r'][-1] = list(out['W'][o]), list(out['r'][o])
    for row in out['W'][:o]:
        row[-1] = row[o]


def wrong_rate(g, out):
    """The right side of a row lacks a tenth."""
    o = len(out['M'])
    out['r'][o][0] = g.mul(g.constant(0.9), out['r'][o][0])


@pytest.mark.parametrize('name, change, text', [
    ('cartesian_pendulum', heavier(1e-3), 'energy balance'),
    ('closed_chain', heavier(1e-2), 'energy balance'),
    ('furuta_pendulum', heavier(1e-2), 'energy balance'),
    ('rolling_disc', heavier(1e-2, ('W', 'M')), 'energy balance'),
    ('n_link_pendulum_on_cart', heavier(1e-2), 'energy balance'),
    ('cartesian_pendulum', turned_force, 'energy balance'),
    ('double_pendulum_lagrange', turned_force, 'energy balance'),
    ('furuta_pendulum', turned_force, 'energy balance'),
    ('rolling_disc_lagrange', lost_row, 'constraint balance'),
    ('closed_chain', wrong_rate, 'balance'),
    ('rolling_disc', wrong_rate, 'balance'),
    ('upright_disc', wrong_rate, 'balance')])
def test_faults_of_the_equations_are_reported(name, change, text):
    compiled, state, t_end = compiled_model(name, change)
    found, = balances(compiled, 0.3*t_end, state)
    assert text in found and 'the tolerances explain' in found
    error, allowed = (float(word) for word in (
        found.split(' by ')[-1].split()[0].rstrip(','),
        found.split('explain ')[1].split('.')[0]))
    assert np.isfinite(error) and error > allowed


def test_the_work_of_reactions_that_are_not_along_the_rows():
    """By a matrix of directions, and of a servo constraint by weights."""
    slope = x.diff() - 2*y.diff()
    energy = m*(x.diff()**2 + 2*y.diff()**2)/2 - m*g*x
    for method, options in (
            (GibbsAppellMethod, {'reaction_matrix': Matrix([1, 0])}),
            (UdwadiaKalabaMethod, {'weight': diag(1, 5)})):
        compiled = compile_equations(method(
            energy, [x, y], nonhol_coneqs=[slope], **options),
            {m: 1, g: 9.81})
        assert not balances(compiled, 1, [0, 0, 2, 1])
        motion = simulate(compiled, 1, [0, 0, 2, 1])
        change = motion.energy[-1] - motion.energy[0]
        assert motion.work[-1] == pytest.approx(change) and abs(change) > 1


def test_the_power_of_a_load_on_a_driven_point():
    """Of a Lagrangian: the velocity of the drive is not in its energy."""
    N, P = ReferenceFrame('N'), Point('P')
    P.set_vel(N, (x.diff() + 3*sin(t))*N.x)
    compiled = compile_equations(UdwadiaKalabaMethod(
        m*x.diff()**2/2, [x], frame=N, forcelist=[
            (P, -g*(x.diff() + 3*sin(t))*N.x)]), {m: 1, g: 2})
    motion = simulate(compiled, 2, [0, 1])
    assert motion.work[-1] == pytest.approx(motion.energy[-1] - 0.5)
    assert not balances(compiled, 2, [0, 1])
