"""The main job: one model, every formulation, from Python and the shell."""
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from sympy_constrained.__main__ import find_model, main
from sympy_constrained.comparison import compare, time_limit
from sympy_constrained.errors import MissingIngredientError
from sympy_constrained.models import model

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
'''


@pytest.fixture
def write(tmp_path):
    def written(text, **words):
        path = tmp_path/'spring.py'
        path.write_text(textwrap.dedent(
            text.format(**{'upstream': 'KanesMethod', 'more': '', **words})))
        return path
    return written


@pytest.mark.parametrize('name, upstream', [
    ('four_bar', 'agrees'), ('rolling_disc', 'agrees'),
    ('parallel_cranks', 'raises ValueError'),
    ('duplicated_rows', 'raises'), ('constant_speed_particle', ''),
    ('appell_hamel', ''), ('acceleration_level', 'not tried')])
def test_formulations_of_a_ready_model(name, upstream):
    found = compare(model(name), t_end=0.2)
    assert found.agrees and found.trajectory.success
    assert found.trajectory.largest_residual < 1e-9
    assert found.formulations[1].verdict.startswith('agrees')
    assert found.formulations[-1].verdict.startswith(upstream)
    text = str(found)
    assert found.model.title in text and 'constraint force' in text
    assert ('redundant:' in text) == bool(found.report.redundant_rows)


def test_a_disagreement_is_told():
    found = compare(model('four_bar'), t_end=0.1)
    other = found.formulations[1]
    assert not np.shares_memory(other.accelerations,
                                found.formulations[0].accelerations)
    wrong = type(other)(other.name, 0., None, 'DIFFERS to 1.0')
    assert not type(found)(
        found.model, found.method, found.report, found.compiled,
        (found.formulations[0], wrong), found.trajectory, {}).agrees


def test_pictures(tmp_path):
    found = compare(model('parallel_cranks'), t_end=0.2)
    written = found.save(tmp_path/'new'/'folder')
    assert [path.name for path in written] == [
        f'parallel_cranks_{name}.png'
        for name in ('overview', 'multipliers', 'motion')]
    assert all(path.stat().st_size > 5000 for path in written)
    paths = found.mass_centre_paths()
    assert all(path.shape == (401, 3) for path in paths.values())


def test_a_file_with_a_system(write, capsys):
    path = write(SPRING, more="potential_energy = 'include'")
    assert main(['compare', str(path)]) == 0
    text = capsys.readouterr().out
    assert 'spring: the model of spring.py' in text
    assert '1 degree of freedom' in text and 'energy balance' in text


def test_potential_energy_of_a_file_is_not_dropped_in_silence(write):
    with pytest.warns(UserWarning, match='potential energy of bob'):
        compare(find_model(str(write(SPRING))))


def test_a_file_with_a_method(write):
    path = write(ROD, x=1)
    found = compare(find_model(str(path)))
    assert found.formulations[-1].verdict.startswith('agrees')
    assert found.formulations[-1].name == "SymPy's LagrangesMethod"


@pytest.mark.parametrize('text, message', [
    ('x = 1', 'makes 0 model objects.*System, KanesMethod'),
    (SPRING + '\n    other = System.from_newtonian(wall)',
     'makes 2 model objects: system, other')])
def test_a_file_must_make_one_model(write, text, message):
    with pytest.raises(MissingIngredientError, match=message):
        find_model(str(write(text)))


def test_one_of_several_models_is_named(write):
    path = write(SPRING + '\n    other = System.from_newtonian(wall)')
    assert find_model(f'{path}:system').name == 'spring'
    with pytest.raises(ValueError, match='no model object `nothing`'):
        find_model(f'{path}:nothing')


def test_numbers_that_are_missing_are_named(write):
    path = write(SPRING, more="parameters = {m: 2.}; start = {q: 1.}")
    with pytest.warns(UserWarning), pytest.raises(
            MissingIngredientError, match=r'u\(t\)'):
        compare(find_model(str(path)))


@pytest.mark.parametrize('name, message', [
    ('fourbar', 'no ready model.*four_bar'), ('no/such.py', 'no file')])
def test_unknown_models(name, message, capsys):
    assert main(['compare', name]) == 1
    import re
    assert re.search(message, capsys.readouterr().err)


def test_the_ready_models_are_listed(capsys):
    assert main(['list']) == 0
    assert 'parallel_cranks' in capsys.readouterr().out


def test_the_time_of_upstream_is_limited():
    with pytest.raises(TimeoutError), time_limit(0.05):
        while True:
            pass


def test_the_command_in_a_shell():
    done = subprocess.run(
        [sys.executable, '-m', 'sympy_constrained', 'compare', 'knife_edge',
         '--t-end', '0.1'], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert 'reference' in done.stdout


def test_a_star_import_brings_no_option(write):
    """`potential_energy` is also a function of SymPy's."""
    path = write('from sympy.physics.mechanics import *\n' + textwrap.dedent(
        SPRING))
    with pytest.warns(UserWarning, match='potential energy of bob'):
        compare(find_model(str(path)))


def test_a_start_that_was_moved_is_told(write):
    path = write(ROD, x=2)
    assert 'start moved onto the constraints: x by -1' in str(
        compare(find_model(str(path))))


def test_what_a_file_says_must_have_the_right_type(write):
    path = write(SPRING, more='start = [1, 0]')
    with pytest.raises(MissingIngredientError, match='`start` in .*--help'):
        find_model(str(path))
