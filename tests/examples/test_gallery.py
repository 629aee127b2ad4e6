"""The gallery scripts run on their own and end with a published number.

``make docs`` runs them, too, so the quick run leaves them out.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT/'doc'/'examples').glob('*/plot_*.py'))
# Imports what takes seconds, and runs each script in a process of its own.
RUNNER = '''
import json, os, runpy, sys
import matplotlib.pyplot, scipy.integrate, scipy.interpolate, scipy.optimize
import sympy.physics.mechanics, sympy_constrained.numeric

for line in sys.stdin:
    script, folder, errors = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv = [script]
        sys.path[0] = os.path.dirname(script)
        runpy.run_path(script, run_name='__main__')
        assert matplotlib.pyplot.get_fignums(), 'no picture'
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
'''
WARNINGS = 'error::UserWarning', 'ignore:FigureCanvasAgg:UserWarning'


@pytest.fixture(scope='module')
def runner(tmp_path_factory):
    if not hasattr(os, 'fork'):
        pytest.skip('scripts are run by forks')
    path = os.pathsep.join(filter(None, (
        str(ROOT), os.environ.get('PYTHONPATH'))))
    log = tmp_path_factory.mktemp('runner')/'log'
    options = [part for filter in WARNINGS for part in ('-W', filter)]
    with log.open('w') as file, subprocess.Popen(
            [sys.executable, *options, '-c', RUNNER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file,
            text=True, env={**os.environ, 'MPLBACKEND': 'Agg',
                            'PYTHONPATH': path}) as process:
        yield process
        process.stdin.close()
    assert not log.read_text()


@pytest.mark.slow
@pytest.mark.parametrize('script', SCRIPTS, ids=lambda path: path.stem)
def test_script_holds_and_draws(script, tmp_path, runner):
    errors = tmp_path/'errors'
    print(json.dumps([*map(str, (script, tmp_path, errors))]),
          file=runner.stdin, flush=True)
    status = runner.stdout.readline()
    assert status == '0\n', errors.read_text()
    assert not errors.read_text()


def test_there_are_scripts():
    assert len(SCRIPTS) >= 20


@pytest.mark.parametrize('script', SCRIPTS, ids=lambda path: path.stem)
def test_a_page_has_a_view_or_says_why_not(script):
    text = script.read_text(encoding='utf-8')
    assert '\nreport(' in text or 'no living view' in ' '.join(text.split())
