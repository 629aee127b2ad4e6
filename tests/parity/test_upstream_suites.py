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
    JointsMethod, KanesMethod, System, method, tests as suite)

from sympy_constrained import UdwadiaKalabaMethod

NAMES = 'KanesMethod', 'LagrangesMethod'
SLOW = {'linearize-test_linearize_rolling_disc_kane', 'kane3-test_bicycle',
        'kane2-test_aux_dep', 'kane-test_aux', 'lagrange-test_rolling_disc'}
PRINTED = 'printed form: '
# Tests of which SymPy's classes only can pass, each with the reason.
SHAPE = ("SymPy's System takes the class for KanesMethod: it is checked, or "
         "called with the speeds that are there, in Kane's shape")
EXCEPTIONS = {
    'jointsmethod-test_complete_simple_double_pendulum':
        PRINTED + 'sin**2 + cos**2 of one angle',
    'kane-test_rolling_disc': PRINTED + 'sin/cos for tan',
    'kane-test_input_format': 'private member: _form_fr',
    'kane-test_implicit_kinematics':
        PRINTED + 'asserts that explicit kinematics are 20 times longer',
    'kane4-test_replace_qdots_in_force':
        PRINTED + 'sin**2 + cos**2 of one angle',
    'lagrange-test_rolling_disc': PRINTED + 'result of simplify()',
    'linearity_of_velocity_constraints-test_linearity_of_motion_constraints':
        'asserts the refusal of constraints that this package accepts',
    'linearize-test_linearize_rolling_disc_kane':
        PRINTED + 'order of the rows of f_v, holonomic first',
    'system_class-TestSystem-test_system_lagrange_form_eoms_kwargs': SHAPE,
    'system_class-TestSystemExamples-test_cart_pendulum_lagrange': SHAPE,
    'system_class-TestValidateSystem-test_speeds_in_lagrange': SHAPE}
KEPT = 'asserts that `bodylist` and `forcelist` are deprecated'
# Those of the tests that came with SymPy 1.15.
NEWER = {
    'kane-test_one_dof': KEPT,
    'kane2-test_aux_dep': PRINTED + 'velocity constraints',
    'lagrange-test_nonminimal_pendulum': KEPT,
    'lagrange-test_simp_pen': 'shape (0, 0) of no constraints, here (0, 1)',
    'linearize-test_linearize_pendulum_kane_nonminimal':
        PRINTED + 'velocity constraints as given',
} if hasattr(method, 'MethodBase') else {}
EXCEPTIONS |= NEWER


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
    spec = importlib.util.spec_from_file_location(f'swapped_{path.stem}', path)
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
                key: kind_of(value, key)(marked(test, f'{stem}-{name}-{key}'))
                for key, test in inspect.getmembers(value)
                if key.startswith('test')})


def kind_of(cls, name):
    """``staticmethod`` for a static method, else a function without effect.
    """
    is_static = isinstance(inspect.getattr_static(cls, name), staticmethod)
    return staticmethod if is_static else lambda function: function


for path in sorted(pathlib.Path(suite.__file__).parent.glob('test_*.py')):
    if re.search('|'.join(NAMES), path.read_text()):
        globals().update(collected(swapped(path), path.stem[5:]))


def test_at_most_twelve_exceptions():
    assert len(EXCEPTIONS) <= 12 + len(NEWER)
