"""The main job: one model, every formulation, from Python and the shell."""
import os
import re
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sympy import Matrix, exp, symbols
from sympy.physics.mechanics import (
    KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame, RigidBody,
    dynamicsymbols, inertia)

from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, Loop, RouthMethod,
    UdwadiaKalabaMethod, UnsupportedFeatureError, VaccoMethod)
from sympy_constrained.__main__ import find_model, main
from sympy_constrained.comparison import Verdict, compare, comparing, recipes
from sympy_constrained.comparison.recipes import Derived, Recipe
from sympy_constrained.comparison.reference import Reference
from sympy_constrained.errors import (
    ConstraintError, MissingIngredientError, SimulationError)
from sympy_constrained.models import MODELS, Model, model
from sympy_constrained.timing import time_limit

AGREES, REFUSES = Verdict.AGREES, Verdict.REFUSES
MUST_DIFFER, DIFFERS = Verdict.MUST_DIFFER, Verdict.DIFFERS
m, g, l = symbols('m g l')
x, y = dynamicsymbols('x y')
NUMBERS = {m: 2, g: 9.81, l: 1}

SPRING = '''
    from sympy import symbols
    from sympy.physics.mechanics import (
        {upstream}, Particle, PrismaticJoint, RigidBody, System,
        dynamicsymbols)
    q, u = dynamicsymbols('q u')
    m, k = symbols('m k')
    wall = RigidBody('wall')
    system = System.from_newtonian(wall)
    bob = Particle('bob', mass=m)
    bob.potential_energy = k*q**2/2
    system.add_joints(PrismaticJoint('slide', wall, bob, q, u))
    parameters = {{m: 2., k: 8.}}
    start = {{q: 1., u: 0.}}
    t_end = 1.
    {more}
'''


ROD = '''
    from sympy import symbols
    from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols
    x, y = dynamicsymbols('x y')
    m, g, l = symbols('m g l')
    rod = LagrangesMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
        hol_coneqs=[x**2 + y**2 - l**2])
    parameters = {{m: 1, g: 9.81, l: 1}}
    start = {{x: {x}, y: 0, x.diff(): 0, y.diff(): 0}}
    t_end = 0.1
    visual = {{'lines': {{'rod': [(0, 0), (x, y)]}}}}
'''


def pendulum(cls=LagrangesMethod, **options):
    return cls(m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
               hol_coneqs=[x**2 + y**2 - l**2], **options)


def particle(cls, mass=m, is_held=False, **options):
    """A particle in a plane, in Kane's shape; a loop may hold it."""
    u, v = dynamicsymbols('u v')
    N, O = ReferenceFrame('N'), Point('O')
    O.set_vel(N, 0)
    P = O.locatenew('P', x*N.x + y*N.y)
    P.set_vel(N, u*N.x + v*N.y)
    if is_held:
        options = {'velocity_constraints': None, 'loops': [Loop(P, O)]}
    return cls(N, [x, y], kd_eqs=[x.diff() - u, y.diff() - v],
               bodies=[Particle('body', P, mass)],
               forcelist=[(P, -mass*g*N.y)],
               **{'u_ind': [u, v], 'velocity_constraints': [
                   u - (1 + x**2)*v], **options})


@pytest.fixture
def write(tmp_path):
    def written(text, **words):
        path = tmp_path/'spring.py'
        path.write_text(textwrap.dedent(
            text.format(**{'upstream': 'KanesMethod', 'more': '', **words})))
        return path
    return written


@pytest.fixture(scope='module')
def four_bar():
    return compare('four_bar', t_end=0.1)


@pytest.fixture(scope='module')
def disc():
    """Random states, and the classical forms."""
    return compare('upright_disc', 0, forms=True)


def verdicts(found):
    return {f.name: f.verdict for f in found.formulations}


# -- what agrees ---------------------------------------------------------

def test_a_holonomic_mechanism(four_bar):
    assert four_bar.agrees and four_bar.trajectory.success
    assert verdicts(four_bar) == {
        'UdwadiaKalabaMethod': Verdict.REFERENCE,
        'block system, 50 digits': AGREES,
        'UdwadiaKalabaMethod, closed form': AGREES, 'RouthMethod': AGREES,
        'HamelEmbedding, corrected': AGREES, 'HamelEmbedding': MUST_DIFFER,
        'LinearMappingMethod': AGREES, 'GibbsAppellMethod': AGREES,
        'VaccoMethod': AGREES, "SymPy's KanesMethod": AGREES,
        "SymPy's LagrangesMethod": Verdict.NOT_TRIED}
    for f in four_bar.formulations:
        if f.verdict is AGREES:
            assert f.error < 1e-12 and f.accelerations.shape == (8, 3)
            np.testing.assert_allclose(
                f.accelerations, four_bar.formulations[0].accelerations,
                rtol=1e-8)


def test_forces_come_from_the_multipliers_of_each(four_bar):
    """KanesMethod has none, and vakonomic ones are rates."""
    with_forces = {f.name for f in four_bar.formulations
                   if f.force_error is not None}
    assert with_forces == {
        'block system, 50 digits', 'UdwadiaKalabaMethod, closed form',
        'RouthMethod', 'HamelEmbedding, corrected', 'LinearMappingMethod',
        'GibbsAppellMethod'}
    assert all(four_bar[name].force_error < 1e-12 for name in with_forces)


def test_sizes_and_times(four_bar):
    sizes = {f.name: (f.states, f.accelerations_count, f.multipliers)
             for f in four_bar.formulations}
    assert sizes['UdwadiaKalabaMethod'] == (6, 3, 2)
    assert sizes['HamelEmbedding, corrected'] == (4, 1, 2)
    assert sizes['HamelEmbedding'] == (4, 1, 0)
    assert sizes['VaccoMethod'] == (8, 5, 0)        # mu are states
    assert sizes["SymPy's KanesMethod"] == (6, 3, 0)
    for f in four_bar.formulations:
        if f.verdict in (AGREES, MUST_DIFFER, Verdict.REFERENCE):
            assert f.operations > 0
            assert (f.seconds is None) == (f.name == (
                'block system, 50 digits'))
            assert f.seconds is None or 0 < f.microseconds < 1e6


def test_classical_forms_on_request(four_bar, disc):
    assert not any(name.startswith('GibbsAppell,')
                   for name in verdicts(four_bar))
    forms = {name.partition(', ')[2]: f for name, f in (
        (f.name, f) for f in disc.formulations) if 'Appell,' in name}
    assert {name for name, f in forms.items() if f.verdict is AGREES} == {
        'Maggi', 'Boltzmann-Hamel', 'Voronets', 'Chaplygin', 'Nielsen'}
    assert {name for name, f in forms.items() if f.verdict is REFUSES} == {
        'Kane', 'Appell', 'Volterra', 'MacMillan', 'Nielsen (10)'}
    assert all('Lagrangian does not contain' in f.reason
               for f in forms.values() if f.verdict is REFUSES)


# -- what differs, and must ----------------------------------------------

def test_an_embedding_is_right_for_some_partitions_only(disc):
    """The disc with its path dependent is the textbook's good case."""
    assert disc['HamelEmbedding'].verdict is AGREES
    assert disc['HamelEmbedding'].reason == 'x, y dependent'
    given = model('upright_disc')
    wrong = given.form(HamelEmbedding, q_dependent=given.coordinates[:3:2])
    found = compare(wrong, constants=given.parameters)
    assert found['HamelEmbedding'].verdict is MUST_DIFFER
    assert 'wrong, because of curvature' in found['HamelEmbedding'].reason
    assert found['HamelEmbedding, corrected'].verdict is AGREES
    assert found.agrees


def test_what_agrees_at_rest_is_not_right_elsewhere(monkeypatch):
    """Nothing drives the sleigh, and what is wrong is quadratic."""
    only_named(monkeypatch, 'HamelEmbedding', 'VaccoMethod')
    sleigh = model('chaplygin_sleigh')
    found = compare(sleigh, 0.1, start=dict.fromkeys(sleigh.start, 0),
                    upstream=False)
    assert not found.formulations[0].accelerations.any()
    for name in 'HamelEmbedding', 'VaccoMethod':
        assert found[name].verdict is AGREES
        assert found[name].reason.startswith('at these states only')
    moving = compare(sleigh, 0.1, upstream=False)
    assert moving['HamelEmbedding'].verdict is MUST_DIFFER
    assert found.agrees and moving.agrees


def test_speeds_that_the_velocities_do_not_determine(monkeypatch):
    """Where ``y`` is zero, ``u`` is known by the constraint alone."""
    only_named(monkeypatch, 'LinearMappingMethod', 'GibbsAppellMethod',
               'RouthMethod')
    u, v = dynamicsymbols('u v')
    N, O = ReferenceFrame('N'), Point('O')
    O.set_vel(N, 0)
    P = O.locatenew('P', x*N.x + y*N.y)
    P.set_vel(N, y*u*N.x + v*N.y)
    method = UdwadiaKalabaMethod(
        N, [x, y], [u, v], [x.diff() - y*u, y.diff() - v],
        bodies=[Particle('p', P, m)], forcelist=[(P, -m*g*N.y)],
        velocity_constraints=[u - 2*v])
    found = compare(method, 0.1, constants=NUMBERS, start=dict.fromkeys(
        (x, y, u, v), 0))
    np.testing.assert_allclose(found.formulations[0].accelerations[0],
                               [-2*9.81, -9.81])
    for name in 'LinearMappingMethod', 'GibbsAppellMethod':
        assert found[name].verdict is AGREES
    assert found['LinearMappingMethod'].states == 3
    assert found['RouthMethod'].verdict is Verdict.NO_VALUE


def test_velocities_that_have_drifted_cannot_be_mapped(monkeypatch):
    """Independent speeds have none that violate the constraints."""
    only_named(monkeypatch, 'LinearMappingMethod', 'RouthMethod',
               'HamelEmbedding, corrected')
    monkeypatch.setattr(comparing, 'simulate', partial(
        comparing.simulate, stabilization=None, rtol=1e-3))
    found = compare('four_bar', 0.5, upstream=False)
    assert found.trajectory.largest_residual > 1e-6
    for name in 'LinearMappingMethod', 'HamelEmbedding, corrected':
        assert found[name].verdict is Verdict.NO_VALUE
        assert found[name].reason == (
            'Its speeds cannot have the velocities of the reference')
    assert found['RouthMethod'].verdict is AGREES


def test_vakonomic_motion_of_holonomic_and_of_other_rows(four_bar, disc):
    assert four_bar['VaccoMethod'].verdict is AGREES
    assert 'for all multipliers' in four_bar['VaccoMethod'].reason
    other = disc['VaccoMethod']
    assert other.verdict is MUST_DIFFER and other.error > 1e-3
    assert re.search(r'not integrable.*states.*mu = \(.*, .*\)', other.reason)


def test_a_vakonomic_difference_of_holonomic_rows_is_an_error(
        monkeypatch):
    """Were the equations wrong, the class's own test would not excuse it."""
    inject(monkeypatch, VaccoMethod)
    only_named(monkeypatch, 'VaccoMethod')
    found = compare(pendulum(), constants=NUMBERS, upstream=False)
    assert found['VaccoMethod'].verdict is DIFFERS
    assert not found.agrees


def test_variable_mass_has_two_laws(monkeypatch):
    only_named(monkeypatch, 'GibbsAppellMethod')
    c = symbols('c')
    found = compare(particle(UdwadiaKalabaMethod, m*exp(-c*x)),
                    constants={**NUMBERS, c: 0.3}, upstream=False)
    other = found['GibbsAppellMethod']
    assert other.verdict is MUST_DIFFER
    assert 'the mass of body changes' in other.reason


# -- what is wrong -------------------------------------------------------

def inject(monkeypatch, wrong):
    """Give one class a load that the model does not have."""
    right = recipes.made

    def made(reference, cls, **options):
        if cls is wrong:
            options['generalized_forces'] = [1e-3]*len(reference.model.speeds)
        return right(reference, cls, **options)

    monkeypatch.setattr(recipes, 'made', made)


@pytest.mark.parametrize('wrong', [
    RouthMethod, LinearMappingMethod, GibbsAppellMethod])
def test_a_wrong_load_is_reported(monkeypatch, wrong):
    inject(monkeypatch, wrong)
    only_named(monkeypatch, 'UdwadiaKalabaMethod, closed form', wrong.__name__)
    found = compare(pendulum(), constants=NUMBERS, upstream=False)
    assert found[wrong.__name__].verdict is DIFFERS
    assert found[wrong.__name__].error > 1e-6
    assert [f.name for f in found.formulations if f.is_trouble] == [
        wrong.__name__]
    assert not found.agrees and 'DIFFERS' in str(found)


def test_wrong_reactions_with_right_accelerations_are_reported(monkeypatch):
    right = Reference.pulled_back
    monkeypatch.setattr(Reference, 'pulled_back',
                        lambda *arguments: -right(*arguments))
    only_named(monkeypatch, 'RouthMethod')
    found = compare(pendulum(), constants=NUMBERS, upstream=False)
    assert found['RouthMethod'].verdict is DIFFERS
    assert found['RouthMethod'].error < 1e-12
    assert found['RouthMethod'].force_error > 0.1


def only(monkeypatch, *chosen):
    monkeypatch.setattr('sympy_constrained.comparison.comparing.recipes',
                        lambda *args: list(chosen))
    monkeypatch.setattr(comparing, 'sympy_recipes', lambda: [])


def only_named(monkeypatch, *names):
    """Try only formulations of these names."""
    every = comparing.recipes
    monkeypatch.setattr(comparing, 'recipes', lambda *args: [
        recipe for recipe in every(*args) if recipe.name in names])


def forever(case):
    while True:
        pass


def interrupted(case):
    raise KeyboardInterrupt


GOOD = Recipe('good', lambda case: None, recipes.fifty_digits)


def test_failures_are_isolated(monkeypatch):
    def fails(case):
        raise ZeroDivisionError('divided by zero. And more.')

    only(monkeypatch, Recipe('fails', fails, None),
         Recipe('theirs', fails, None, is_ours=False),
         Recipe('nan', lambda case: 0, lambda case, made: Derived(
             np.full(2, np.nan))), GOOD)
    found = compare(pendulum(), constants=NUMBERS)
    assert found['fails'].verdict is Verdict.RAISES
    assert str(found['fails']) == (
        'fails raises ZeroDivisionError: divided by zero')
    assert found['nan'].verdict is Verdict.NO_VALUE
    assert [f.is_trouble for f in found.formulations] == [
        False, True, False, True, False]
    assert found['good'].verdict is AGREES


def test_the_limit_of_time_holds_for_each(monkeypatch):
    only(monkeypatch, Recipe('forever', forever, None), GOOD)
    found = compare(pendulum(), constants=NUMBERS, limit=0.2)
    assert str(found['forever']) == 'forever stopped after 0.2 s'
    assert found['good'].verdict is AGREES and found.agrees


def test_an_interrupt_returns_what_is_done(monkeypatch):
    only(monkeypatch, GOOD, Recipe('interrupted', interrupted, None),
         replace(GOOD, name='late'))
    found = compare(pendulum(), constants=NUMBERS)
    assert [f.verdict for f in found.formulations[1:]] == [
        AGREES, Verdict.INTERRUPTED, Verdict.NOT_TRIED]
    assert found.interrupted and not found.agrees


# -- what does not apply -------------------------------------------------

def test_redundant_rows_are_refused_by_name():
    rod = x**2 + y**2 - l**2
    found = compare(LagrangesMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
        hol_coneqs=[rod, 2*rod]), constants=NUMBERS)
    assert found.agrees
    for name in ('HamelEmbedding', 'HamelEmbedding, corrected',
                 'LinearMappingMethod', 'VaccoMethod'):
        assert found[name].verdict is REFUSES
        assert found[name].reason.startswith((
            'holonomic row 1 follows from the other rows',
            'There are 2 constraint rows'))
    singular = found["SymPy's LagrangesMethod"]
    assert singular.verdict is Verdict.NO_VALUE
    assert 'singular' in singular.reason
    assert 'holonomic row 1 is redundant' in str(found)


@pytest.mark.parametrize('name, given, numbers, verdict, reason', [
    ('LagrangesMethod', 'acceleration_level', {}, Verdict.NOT_TRIED,
     '^it does not take acceleration_constraints$'),
    ('KanesMethod', lambda: particle(
        UdwadiaKalabaMethod, velocity_constraints=None,
        nonholonomic_constraints=[x.diff() - 2*y.diff()]),
     {'constants': NUMBERS}, Verdict.NOT_TRIED, 'take nonholonomic_con'),
    ('KanesMethod', lambda: particle(UdwadiaKalabaMethod, is_held=True),
     {'constants': NUMBERS}, Verdict.NOT_TRIED, '^it does not take loops$'),
    ('KanesMethod', lambda: particle(UdwadiaKalabaMethod),
     {'constants': NUMBERS}, Verdict.RAISES,
     '^ValueError: There must be an equal number of dependent speeds'),
    ('KanesMethod', 'parallel_cranks', {}, Verdict.RAISES,
     '^ValueError: There must be an equal number of dependent coordinates')])
def test_what_upstream_makes_of_a_model(monkeypatch, name, given, numbers,
                                        verdict, reason):
    only_named(monkeypatch)
    found = compare(given() if callable(given) else given, 0, **numbers)
    theirs = found[f"SymPy's {name}"]
    assert found.agrees and theirs.verdict is verdict
    assert re.search(reason, theirs.reason)


def test_an_option_of_one_class_is_refused_by_the_others():
    controlled = pendulum(UdwadiaKalabaMethod, weight=Matrix([[2, 0], [0, 1]]))
    found = compare(controlled, constants=NUMBERS)
    assert found.agrees
    assert {f.name for f in found.formulations if f.verdict is AGREES} == {
        'UdwadiaKalabaMethod, closed form'}
    assert 'weight, which only Udwadia' in found['RouthMethod'].reason
    with pytest.raises(UnsupportedFeatureError, match='weight'):
        RouthMethod.from_method(controlled)
    again = UdwadiaKalabaMethod.from_method(controlled)
    assert again.constraint_forces == controlled.constraint_forces


def test_a_model_of_gibbs_and_appell_only_is_its_own_reference():
    method = particle(GibbsAppellMethod, reaction_matrix=[[0], [1]])
    found = compare(method, constants={m: 1, g: 9.81}, forms=True)
    assert found.formulations[0].name == 'GibbsAppellMethod'
    assert found['UdwadiaKalabaMethod'].verdict is REFUSES
    assert found['GibbsAppell, Kane'].verdict is AGREES
    assert found['block system, 50 digits'].verdict is Verdict.NOT_TRIED
    assert found.agrees


def test_constraints_of_a_higher_order():
    u, v = dynamicsymbols('u v')
    method = particle(GibbsAppellMethod, acceleration_constraints=[
        u.diff()**2 + v.diff()**2 - g**2])
    found = compare(method, 0.05, constants={m: 1, g: 9.81}, start={
        x: 0, y: 0, u: 1, v: 1, u.diff(): 7, v.diff(): 6, 'lam1': 0.1,
        'lam2': 0.1})
    assert found.formulations[0].name == 'GibbsAppellMethod'
    assert found.agrees and found.trajectory.success


def test_an_input_that_drops_out_of_a_formulation(monkeypatch):
    """Hamel's equations neglect the force on x, and its input with it."""
    only_named(monkeypatch, 'HamelEmbedding', 'RouthMethod')
    F = dynamicsymbols('F')
    N, P = ReferenceFrame('N'), Point('P')
    P.set_vel(N, x.diff()*N.x)
    driven = HamelEmbedding(
        m*(x.diff()**2 + y.diff()**2)/2, [x, y], hol_coneqs=[x - 2*y],
        forcelist=[(P, F*N.x)], frame=N, q_dependent=[x])
    found = compare(driven, constants={m: 1}, upstream=False, inputs={
        'F': dynamicsymbols._t})
    assert found['HamelEmbedding'].verdict is MUST_DIFFER
    assert found['RouthMethod'].verdict is AGREES and found.agrees
    again = compare(driven, constants={m: 1}, upstream=False, inputs={
        'F': lambda t, x: t})
    assert again['RouthMethod'].verdict is AGREES and again.agrees


def test_a_feedback_of_a_blade_in_speeds_along_its_axes(monkeypatch):
    """Other formulations have other speeds, and time is an input, too."""
    only_named(monkeypatch, 'block system, 50 digits', 'RouthMethod',
               'HamelEmbedding, corrected')
    a, v, s, w, F, T = dynamicsymbols('a v s w F T')
    N, A, P = ReferenceFrame('N'), ReferenceFrame('A'), Point('P')
    A.orient_axis(N, a, N.z)
    A.set_ang_vel(N, w*N.z)
    P.set_vel(N, v*A.x + s*A.y)
    slip = x.diff()*N.x + y.diff()*N.y - P.vel(N)
    kane = KanesMethod(
        N, [x, y, a], [v, w], [slip.dot(N.x), slip.dot(N.y), a.diff() - w],
        u_dependent=[s], velocity_constraints=[s])
    kane.kanes_equations([RigidBody('B', P, A, m, (inertia(A, 0, 0, 1), P))],
                         [(P, F*A.x), (A, T*A.z)])
    found = compare(kane, constants={m: 2, l: 3}, inputs={
        F: dynamicsymbols._t - l*v, T: -w - a})
    assert [row.verdict for row in found.formulations[1:4]] == 3*[AGREES]


# -- no motion from the start --------------------------------------------

@pytest.mark.parametrize('options, reason', [
    ({'acceleration_constraints': [x.diff(dynamicsymbols._t, 2) - 1,
                                   x.diff(dynamicsymbols._t, 2) - 2]},
     'contradict'),
    ({'generalized_forces': [(x - 1)**l, 0]}, 'not finite')])
def test_a_start_without_motion_is_reported(options, reason):
    method = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2, [x, y], **options)
    start = dict.fromkeys((x, y, x.diff(), y.diff()), 0)
    with pytest.raises(SimulationError, match=(
            f'no motion from the start, .*{reason}.* Pass another')) as error:
        compare(method, 1, constants={m: 2, l: 0.5}, start=start)
    assert len(error.value.trajectory) == 0


# -- dependent velocities that do not do at a state ----------------------

def test_a_singular_partition_is_replaced(monkeypatch):
    """The knife edge starts across the slope, where x is no choice."""
    only_named(monkeypatch, 'LinearMappingMethod', 'HamelEmbedding, corrected')
    found = compare('knife_edge', t_end=0.3)
    assert found['LinearMappingMethod'].verdict is AGREES
    assert found['HamelEmbedding, corrected'].verdict is AGREES
    assert found["SymPy's KanesMethod"].verdict is Verdict.NO_VALUE
    assert found.agrees


def test_best_columns():
    good, bad = np.array([[1., 0.5, 1e-9]]), np.array([[0., 0.5, 1.]])
    assert recipes.best_columns([good, bad], (1,)) == (1,)
    assert recipes.best_columns([good], (2,)) == (0,)
    assert recipes.best_columns([good, bad], (0,)) in [(0,), (2,)]
    assert recipes.best_columns([], ()) == ()


# -- what may be given ---------------------------------------------------

@pytest.mark.parametrize('cls', [
    RouthMethod, VaccoMethod, LinearMappingMethod, GibbsAppellMethod,
    UdwadiaKalabaMethod, LagrangesMethod])
def test_method_objects(cls, monkeypatch):
    only_named(monkeypatch)
    found = compare(pendulum(cls), constants={'m': 2, 'g': 9.81, 'l': 1})
    assert found.agrees and found.trajectory is None
    assert found.formulations[0].name == 'UdwadiaKalabaMethod'
    assert found["SymPy's LagrangesMethod"].verdict is AGREES
    assert len(found.states) == 8
    assert 'compared at 8 random states' in str(found)


def test_random_states_are_seeded(four_bar):
    first, again, other = (
        comparing.random_states(four_bar.model, four_bar.compiled, seed)
        for seed in (1, 1, 2))
    for (t, a), (s, b) in zip(first, again):
        assert t == s and (a == b).all()
        assert abs(four_bar.compiled.residuals(t, a)).max() < 1e-8
    assert (first[0][1] != other[0][1]).any()


def test_system_and_kane_objects(monkeypatch):
    only(monkeypatch, GOOD)
    four = model('four_bar')
    for given in (four.system, four.form(KanesMethod)):
        found = compare(given, constants=four.parameters, start=four.start,
                        upstream=False)
        assert found.agrees
        # near the start, so on its branch
        assert all(abs(state[1] - four.start[four.coordinates[1]]) < 1
                   for _, state in found.states)


def test_a_quaternion_without_a_row_for_its_norm(monkeypatch):
    """Its matrix is a rotation only where the norm is one."""
    only_named(monkeypatch)
    top, (th, om) = model('heavy_top_quaternion'), dynamicsymbols('th om')
    a, [body] = top.arguments, top.arguments['bodies']
    N, G, B = a['frame'], body.masscenter, body.frame
    C = B.orientnew('C', 'Axis', [th, B.x])
    C.set_ang_vel(B, om*B.x)
    bob = Particle('p', G.locatenew('P', -l*C.z), m)
    bob.masscenter.v2pt_theory(G, N, C)
    kane = KanesMethod(
        N, [*a['q_ind'], *a['q_dependent'], th], [*a['u_ind'], om],
        [*a['kd_eqs'], th.diff() - om], bodies=[body, bob],
        forcelist=a['forcelist'])
    kane.kanes_equations()
    found = compare(kane, constants=top.parameters)
    assert found["SymPy's KanesMethod"].verdict is AGREES and found.agrees


def test_a_system_without_kinematic_equations_is_one_of_lagrange(monkeypatch):
    only_named(monkeypatch)
    cart = model('cart_pendulum')
    found = compare(cart.system, constants=cart.parameters, inputs=cart.inputs)
    assert found["SymPy's LagrangesMethod"].verdict is AGREES
    assert found.agrees


def test_numbers_in_place_of_those_of_a_ready_model(monkeypatch):
    only_named(monkeypatch)
    found = compare('cartesian_pendulum', 0.1, constants={'L': 3.},
                    upstream=False)
    values = {str(x): value for x, value in found.trajectory.constants.items()}
    assert values['L'] == 3. and "x by" in str(found)


@pytest.mark.parametrize('options, message', [
    ({}, '`constants`: no value for .*g'),
    ({'constants': NUMBERS, 't_end': 1}, "`start`: no value for x, y, x', y'"),
    ({'limit': '9'}, "`limit` is '9'. Give a number of seconds"),
    ({'constants': {'mm': 1}}, 'did you mean m'),
    ({'constants': NUMBERS, 'start': {g: 1}}, 'no state'),
    ({'constants': NUMBERS, 'inputs': {'G': 1}}, 'no specified function'),
    ({'constants': {**NUMBERS, l: -1j}}, 'l: .*not a real number')])
def test_what_is_missing_or_wrong(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        compare(pendulum(), **options)


@pytest.mark.parametrize('given, numbers, error, message', [
    ('fourbar', {}, ValueError, 'not a ready model.*four_bar'),
    (42, {}, UnsupportedFeatureError, 'from 42'),
    (LagrangesMethod(m*(x.diff()**2 + y.diff()**2)/2, [x, y],
                     hol_coneqs=[x**2 + y**2 + l**2]), {m: 1, l: 1},
     ConstraintError, 'No random state.*start='),
    (LagrangesMethod(m*x.diff()**2/2, [x], hol_coneqs=[l - 1]), NUMBERS,
     ConstraintError, 'not depend on any coord')])
def test_models_that_cannot_be_compared(given, numbers, error, message):
    with pytest.raises(error, match=message):
        compare(given, constants=numbers)


def test_a_model_from_an_object_keeps_its_fields():
    method = pendulum(RouthMethod)
    found = Model.of(method, name='rod', t_end=2.)
    assert found.method is method and found.shape == 'lagrange'
    assert (found.name, found.t_end) == ('rod', 2.)
    assert None not in found.arguments.values()


# -- how it reads --------------------------------------------------------

def test_the_table_fits_a_terminal(four_bar, disc):
    for found in (four_bar, disc):
        lines = str(found).splitlines()
        assert max(map(len, lines)) < 100
        assert found.model.title in lines[0]
    text = str(four_bar)
    assert 'largest generalized constraint force' in text
    assert re.search(r'HamelEmbedding .* must differ \[2\]', text)
    assert re.search(r'\[2\] q2, q3 dependent: wrong', text)


def test_a_model_without_constraints_or_a_balance_of_energy():
    """A bead on a hoop that is turned at a constant rate."""
    pytest.importorskip('matplotlib').use('Agg')
    rate, (q, u) = symbols('Omega'), dynamicsymbols('q u')
    N, O = ReferenceFrame('N'), Point('O')
    hoop = N.orientnew('H', 'Axis', (rate*dynamicsymbols._t, N.y))
    arm = hoop.orientnew('A', 'Axis', (q, hoop.z))
    O.set_vel(N, 0)
    P = O.locatenew('P', -l*arm.y)
    P.set_vel(N, -rate*l*hoop.y.cross(arm.y) + l*u*arm.x)
    bead = UdwadiaKalabaMethod(
        N, [q], [u], [q.diff() - u], bodies=[Particle('bead', P, m)],
        forcelist=[(P, -m*g*N.y)])
    found = compare(bead, 0.2, constants={**NUMBERS, rate: 5},
                    start={q: 1, u: 0})
    assert found.agrees and found["SymPy's KanesMethod"].verdict is AGREES
    angle = found.trajectory['q']
    np.testing.assert_allclose(
        found.trajectory.rates[:, 1],
        np.sin(angle)*(25*np.cos(angle) - 9.81), rtol=1e-12)
    assert 'energy' not in str(found) and 'residual' not in str(found)
    assert set(found._figures()) == {'comparison', 'overview', 'motion'}


def test_the_picture_of_a_comparison(disc):
    plt = pytest.importorskip('matplotlib.pyplot')
    figure = disc.figure()
    errors, seconds, calls = figure.axes
    names = [label.get_text() for label in errors.get_yticklabels()]
    assert names == [f.name for f in disc.formulations]
    assert errors.get_xscale() == 'log' and errors.yaxis_inverted()
    bars = [f for f in disc.formulations if f.seconds is not None]
    assert len(seconds.patches) >= len(bars)
    widths = {round(bar.get_width(), 12) for bar in seconds.containers[0]}
    assert {round(f.seconds, 12) for f in bars} <= widths
    texts = [text.get_text() for text in figure.texts]
    assert any('not integrable' in text for text in texts)
    assert 'agrees' in [text.get_text() for text in calls.texts]
    low = min(min(line.get_xdata()) for line in errors.lines
              if len(line.get_xdata()) == 1)
    assert low >= 1e-17
    # It fits on a page, with text that can be read there.
    assert figure.get_figwidth() == 6.5
    assert min(text.get_fontsize() for text in figure.findobj(
        match=lambda x: hasattr(x, 'get_fontsize'))) >= 8
    plt.close(figure)


def test_a_time_limit_raises_and_is_removed(monkeypatch):
    """Without timers, and outside the main thread, there is no limit."""
    with pytest.raises(TimeoutError), time_limit(0.05):
        forever(None)
    with time_limit(0.01):
        pass
    done = []

    def work():
        with time_limit(1e-9):
            done.append(sum(range(10**5)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    monkeypatch.delattr('signal.setitimer', raising=False)
    work()                              # and nothing rings afterwards
    assert done == [4999950000]*2


def test_states_that_are_kept(monkeypatch):
    only_named(monkeypatch)
    kept = compare(pendulum(), 0.1, constants=NUMBERS, fixed=[x], start={
        x: 0.6, y: 0.7, x.diff(): 0, y.diff(): 0}, upstream=False)
    assert kept.trajectory.x[0, :2] == pytest.approx([0.6, 0.8])
    assert list(map(str, kept.moved)) == ['y(t)']


# -- from the shell ------------------------------------------------------

TWO = SPRING + '\n    other = System.from_newtonian(wall)'
STAR = 'from sympy.physics.mechanics import *\n' + textwrap.dedent(SPRING)
READY = '''
    from sympy_constrained.models import model
    mine = model('knife_edge')
'''


def test_a_file_with_a_system(write, monkeypatch, capsys):
    only_named(monkeypatch)
    path = write(SPRING, more="potential_energy = 'include'")
    assert main(['compare', str(path)]) == 0
    text = capsys.readouterr().out
    assert 'spring: the model of spring.py' in text
    assert '1 degree of freedom' in text and 'energy balance' in text
    assert 'it does not take potential_energy' in text


@pytest.mark.parametrize('text', [SPRING, STAR])
def test_dropped_potential_energy_of_a_file_raises_a_warning(
        write, monkeypatch, text):
    """A star import brings a function of SymPy's of this name."""
    only_named(monkeypatch)
    with pytest.warns(UserWarning, match='potential energy of bob'):
        compare(find_model(str(write(text))))


def test_a_file_with_a_method(write, monkeypatch, capsys):
    only_named(monkeypatch)
    found = compare(find_model(str(write(ROD, x=2))))
    assert found["SymPy's LagrangesMethod"].verdict is AGREES
    assert found.trajectory.t[-1] == 0.1
    assert 'start moved onto the constraints: x by -1' in str(found)
    assert main(['compare', str(write(ROD.partition('start')[0]))]) == 0
    assert '8 random states' in capsys.readouterr().out
    assert find_model(str(write(READY))).name == 'knife_edge'
    assert find_model(f'{write(TWO)}:system').name == 'spring'


def test_the_page_of_a_file_draws_what_the_file_says(write, tmp_path):
    assert main(['report', str(write(ROD, x=1)), '--save', str(tmp_path)]) == 0
    assert '"kind":"line","name":"rod"' in (tmp_path/'spring.html').read_text(
        encoding='utf-8')


@pytest.mark.filterwarnings('ignore:.*potential energy:UserWarning')
@pytest.mark.parametrize('text, more, name, error, message', [
    ('x = 1', '', '', MissingIngredientError,
     'makes 0 model objects.*System, KanesMethod'),
    (TWO, '', '', MissingIngredientError,
     'makes 2 model objects: system, other'),
    (TWO, '', ':nothing', ValueError, 'no model object `nothing`'),
    (SPRING, 'start = [1., 0.]', '', ValueError, '`start`.*a dictionary'),
    (SPRING, 'parameters = {m: 2.}; start = {q: 1.}', '',
     ValueError, 'no value for k')])
def test_files_that_cannot_be_used(write, text, more, name, error, message):
    with pytest.raises(error, match=message):
        compare(find_model(f'{write(text, more=more)}{name}'))


@pytest.mark.parametrize('command', ['compare', 'report'])
@pytest.mark.parametrize('name, message', [
    ('fourbar', 'not a ready model.*four_bar'),
    ('no/such.py', 'does not exist')])
def test_unknown_models(command, name, message, capsys):
    assert main([command, name]) == 1
    assert re.search(message, capsys.readouterr().err)


def test_lists_and_constraints(monkeypatch, capsys):
    names = 'coupler_on_cranks', 'massless_coordinate', 'heavy_top'
    monkeypatch.setattr('sympy_constrained.__main__.MODELS', names)
    assert main(['list']) == 0
    assert 'heavy_top' in capsys.readouterr().out
    only(monkeypatch)
    assert main(['compare', 'fourbar', *names, '--t-end', '0']) == 1
    text = ' '.join(capsys.readouterr().out.split())
    assert '3 constraint rows of rank 2, 1 degree of freedom' in text
    assert 'holonomic row 2 is redundant' in text
    assert 'mass matrix is singular' in text
    assert '0 constraint rows' in text


def test_pages_are_written(tmp_path, capsys):
    assert main(['report', 'rolling_disc', '--save', str(tmp_path)]) == 0
    assert 'rolling_disc.html' in capsys.readouterr().out
    page = tmp_path/'rolling_disc.html'
    assert 'A thin disc' in page.read_text()
    assert main(['report', 'rolling_disc', '--save', str(page)]) == 1
    assert 'File exists' in capsys.readouterr().err


def test_the_exit_status_is_zero_if_all_agree(monkeypatch, write, capsys):
    bad = Recipe('bad', lambda case: None, lambda case, made: Derived(
        np.full(2, 1e3)))
    call = ['compare', str(write(ROD, x=1)), '--t-end', '0']
    only(monkeypatch, GOOD)
    assert main(call) == 0
    only(monkeypatch, GOOD, bad)
    assert main(call) == 1
    assert 'bad ' in capsys.readouterr().out


def test_interrupts_in_the_shell(monkeypatch, capsys):
    only(monkeypatch, Recipe('interrupted', interrupted, None))
    assert main(['compare', 'knife_edge', 'four_bar', '--t-end', '0']) == 1
    text = capsys.readouterr().out
    assert 'interrupted' in text and 'four_bar' not in text
    monkeypatch.setattr('sympy_constrained.__main__.model', interrupted)
    assert main(['compare', 'four_bar']) == 1
    assert 'interrupted' in capsys.readouterr().err


def test_the_command_in_a_shell():
    done = subprocess.run(
        [sys.executable, '-m', 'sympy_constrained', 'compare',
         'cartesian_pendulum', '--t-end', '0', '--limit', '30', '--forms'],
        capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert 'reference' in done.stdout and 'Appell, Maggi' in done.stdout
    read, write = os.pipe()
    os.close(read)                      # as `| head` does
    done = subprocess.run([*done.args[:3], 'list'], stdout=write,
                          stderr=subprocess.PIPE, timeout=120)
    os.close(write)
    assert done.returncode == 1 and not done.stderr


def test_pictures_from_the_shell(write, tmp_path, monkeypatch, capsys):
    pytest.importorskip('matplotlib')
    only_named(monkeypatch)
    folder = tmp_path/'pictures'
    call = ['compare', str(write(ROD, x=1)), '--t-end', '0', '--save']
    assert main([*call, str(folder)]) == 0
    assert 'wrote' in capsys.readouterr().out
    assert [path.name for path in folder.iterdir()] == [
        'spring_comparison.png']
    (tmp_path/'file').write_text('')
    assert main([*call, str(tmp_path/'file'/'folder')]) == 2
    assert 'file/folder' in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    assert main([*call, str(tmp_path)]) == 2
    assert "pip install 'sympy_constrained[" in capsys.readouterr().err


# -- all of them ---------------------------------------------------------

#: Of ready models, what is not `agrees`, `refuses` or `not tried`.
UPSTREAM_TROUBLE = {
    'parallel_cranks', 'coupler_on_cranks', 'knife_edge', 'duplicated_rows',
    'constant_speed_particle', 'appell_hamel'}


@pytest.mark.slow
@pytest.mark.parametrize('name', MODELS)
def test_every_ready_model(name):
    found = compare(name, t_end=0.3*model(name).t_end, forms=True)
    assert found.agrees, found
    assert found.trajectory.success
    for f in found.formulations:
        assert f.verdict is not DIFFERS, f
        if f.verdict in (Verdict.RAISES, Verdict.NO_VALUE, Verdict.STOPPED):
            assert not f.is_ours and name in UPSTREAM_TROUBLE, f
