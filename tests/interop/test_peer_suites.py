"""Suites and scripts of others, with the name of the class changed.

PyDy's tests are installed with it. Those of symbrim, and opty's gallery, are
read from checkouts that ``SYMBRIM_DEV`` and ``OPTY_DEV`` name.
"""
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import sympy.physics.mechanics as me
from ready import evaluate
from sympy import Derivative, Matrix
from sympy.core.function import AppliedUndef

from sympy_constrained import UdwadiaKalabaMethod

SYMBRIM, OPTY = map(os.environ.get, ('SYMBRIM_DEV', 'OPTY_DEV'))
SUITES = [
    ('pydy', ['--pyargs', 'pydy.tests', 'pydy.viz.tests.test_scene']),
    ('pydy', ['--pyargs', 'pydy.codegen.tests']),
    pytest.param('symbrim', [f'{SYMBRIM}/tests'], marks=pytest.mark.skipif(
        not SYMBRIM, reason='SYMBRIM_DEV is not set'))]
# Compares the printed form of `rhs()`, which is solved in another way here.
PRINTED = {'test_OctaveMatrixGenerator'}
# Its position rows do not follow from its velocity rows. KanesMethod forms no
# equations of them, and so they are left out here, as the warning advises.
SPINNING = 'advanced/plot_ball_rolling_on_spinning_disc'
# opty's examples that name dependent speeds or constraints.
GALLERY = [
    'beginner/plot_brachistochrone', 'intermediate/plot_drone',
    'intermediate/plot_parallel_park', 'intermediate/plot_crane_moving_a_load',
    'intermediate/plot_car_on_racecourse_smooth',
    'advanced/plot_car_around_pylons', 'advanced/plot_car_in_garage',
    'advanced/plot_one_legged_time_trial', SPINNING]


def failures(arguments, *plugins):
    """Failing tests of a suite, and what pytest said at its end."""
    run = subprocess.run(
        [sys.executable, '-m', 'pytest', *plugins, '-n0', '-q', '-rfE',
         '--tb=no', '-p', 'no:cacheprovider', '-c', os.devnull, *arguments],
        env=os.environ | {'PYTHONPATH': os.pathsep.join(sys.path)},
        capture_output=True, text=True)
    assert ' passed' in run.stdout, run.stdout + run.stderr
    return set(re.findall(r'^(?:FAILED|ERROR) .*::(\w+)', run.stdout, re.M))


@pytest.mark.slow
@pytest.mark.parametrize('library, arguments', SUITES)
def test_suite_passes_with_the_name_changed(library, arguments):
    """Only tests fail that fail with SymPy's classes, too."""
    pytest.importorskip(library)
    failing = failures(arguments, '-p', 'swapped_names') - PRINTED
    assert not failing or failing <= failures(arguments)


class Formed(Exception):
    """The equations that a script hands to opty."""


def equations_of(script, cls, monkeypatch):
    """What a script of the gallery hands to opty, formed by ``cls``."""
    def problem(objective, gradient, equations, *args, **kwargs):
        raise Formed(Matrix(equations))

    monkeypatch.setattr(me, 'KanesMethod', cls)
    for name in ('opty', 'opty.direct_collocation'):
        monkeypatch.setattr(f'{name}.Problem', problem)
    try:
        runpy.run_path(script)
    except Formed as formed:
        return formed.args[0]


@pytest.mark.slow
@pytest.mark.skipif(not OPTY, reason='OPTY_DEV is not set')
@pytest.mark.parametrize('name', GALLERY)
def test_script_hands_the_same_residual_to_opty(name, monkeypatch):
    pytest.importorskip('matplotlib').use('Agg')
    monkeypatch.setitem(sys.modules, 'cyipopt', ModuleType('cyipopt'))
    sys.modules['cyipopt'].Problem = object
    pytest.importorskip('opty')
    script = Path(OPTY, 'examples-gallery', f'{name}.py')
    monkeypatch.chdir(script.parent)

    def swapped(*args, **kwargs):
        if name == SPINNING:
            kwargs.pop('configuration_constraints')
        return UdwadiaKalabaMethod(*args, **kwargs)

    theirs, ours = (equations_of(script, cls, monkeypatch)
                    for cls in (me.KanesMethod, swapped))
    assert ours.shape == theirs.shape
    names = {name for rows in (ours, theirs) for name in (
        rows.atoms(AppliedUndef, Derivative) | rows.free_symbols)}
    values = dict(zip(sorted(names, key=str), np.random.default_rng(
        5).uniform(.5, 1, len(names))))
    np.testing.assert_allclose(
        *evaluate([ours, theirs], values), rtol=1e-9, atol=1e-9)
