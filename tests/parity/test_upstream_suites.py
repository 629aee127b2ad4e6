"""The test suites that SymPy installs, with the name of the class changed.

Each module of ``sympy.physics.mechanics.tests`` that names ``KanesMethod`` or
``LagrangesMethod`` is loaded anew with ``UdwadiaKalabaMethod`` in the place of
both; its tests are the tests of this module.
"""
import functools
import importlib.util
import inspect
import pathlib
import re

import pytest
from sympy.physics.mechanics import (
    JointsMethod, KanesMethod, System, tests as suite)

from sympy_constrained import UdwadiaKalabaMethod

NAMES = 'KanesMethod', 'LagrangesMethod'
SLOW = {'kane3-test_bicycle', 'linearize-test_linearize_rolling_disc_kane'}
PRINTED = "equal, written in another way: "
# Tests that pass with SymPy's classes only: id -> reason.
EXCEPTIONS = {
}


@pytest.fixture(autouse=True)
def default_class(monkeypatch):
    """Let SymPy's own functions form equations with our class, too."""
    for function in (JointsMethod.form_eoms, System.form_eoms,
                     System.validate_system):
        monkeypatch.setattr(function, '__defaults__', tuple(
            UdwadiaKalabaMethod if x is KanesMethod else x
            for x in function.__defaults__))


def swapped(path):
    """A module of the suite with our class in the place of SymPy's."""
    spec = importlib.util.spec_from_file_location(
        f'swapped_{path.stem}', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in NAMES:
        if hasattr(module, name):
            setattr(module, name, UdwadiaKalabaMethod)
    return module


def marked(function, name):
    """A copy of a test that is marked as slow, or as an exception."""
    @functools.wraps(function)
    def test(*args, **kwargs):
        return function(*args, **kwargs)

    if name in EXCEPTIONS:
        test = pytest.mark.xfail(strict=True, reason=EXCEPTIONS[name])(test)
    return pytest.mark.slow(test) if name in SLOW else test


def collected(module, stem):
    """Names and tests of a module; classes have those of their methods."""
    for name, value in vars(module).items():
        if name.startswith('test') and inspect.isfunction(value):
            yield f'test_{stem}_{name}', marked(value, f'{stem}-{name}')
        elif name.startswith('Test') and inspect.isclass(value):
            yield f'Test_{stem}_{name}', type(name, (value,), {
                key: marked(test, f'{stem}-{name}-{key}')
                for key, test in inspect.getmembers(value)
                if key.startswith('test')})


for path in sorted(pathlib.Path(suite.__file__).parent.glob('test_*.py')):
    if re.search('|'.join(NAMES), path.read_text()):
        globals().update(collected(swapped(path), path.stem[5:]))
