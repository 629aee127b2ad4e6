"""The sources keep the style that ``setup.cfg`` asks for."""
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ('sympy_constrained', 'tests', 'doc', 'benchmarks')


def test_flake8_has_nothing_to_say():
    pytest.importorskip('flake8')
    present = [name for name in SOURCES if (ROOT / name).is_dir()]
    result = subprocess.run(
        [sys.executable, '-m', 'flake8', *present], cwd=ROOT,
        capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
