"""The gallery scripts run on their own and end with a published number."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT/'doc'/'examples').glob('plot_*.py'))
SMALL = 60_000          # bytes of a picture


@pytest.mark.parametrize('script', SCRIPTS, ids=lambda path: path.stem)
def test_script_holds_and_draws(script, tmp_path):
    picture = tmp_path/'folder'/'picture.png'
    path = os.pathsep.join(filter(None, (
        str(ROOT), os.environ.get('PYTHONPATH'))))
    run = subprocess.run(
        [sys.executable, '-W', 'error::UserWarning', str(script),
         str(picture)], cwd=tmp_path, capture_output=True, text=True,
        timeout=120, env={**os.environ, 'MPLBACKEND': 'Agg',
                          'PYTHONPATH': path})
    assert run.returncode == 0, run.stderr
    assert not run.stderr
    assert picture.read_bytes().startswith(b'\x89PNG')
    assert picture.stat().st_size < SMALL


def test_there_are_scripts():
    assert len(SCRIPTS) >= 20
