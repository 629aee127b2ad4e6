"""PyDy's ``System`` and code generators, unmodified, on every class."""
import numpy as np
import pytest
from sympy import Derivative, lambdify, symbols
from sympy.physics.mechanics import dynamicsymbols

from combinations import every_third
from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, RouthMethod,
    UdwadiaKalabaMethod, VaccoMethod)
from sympy_constrained.errors import MissingIngredientError
from sympy_constrained.interop import to_pydy
from sympy_constrained.models import model
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)

pytest.importorskip('pydy', minversion='0.9')
from pydy.system import System                      # noqa: E402

QUICK = ('slider_crank', 'rolling_disc', 'rolling_disc_lagrange',
         'chaplygin_sleigh', 'parallel_cranks', 'cart_pendulum',
         'spring_mass_damper')
SQUARE = UdwadiaKalabaMethod, GibbsAppellMethod, HamelEmbedding, \
    LinearMappingMethod
# What a class does not take; the reason is tested where the class is.
NOT_TAKEN = {
    (HamelEmbedding, 'parallel_cranks'),
    (HamelEmbedding, 'rolling_disc'),
    (HamelEmbedding, 'rolling_disc_lagrange'),  # see below
    (HamelEmbedding, 'chaplygin_sleigh'), (HamelEmbedding, 'cart_pendulum'),
    (LinearMappingMethod, 'parallel_cranks'),
    (VaccoMethod, 'parallel_cranks'),
    # the layout of LagrangesMethod, see below
    (UdwadiaKalabaMethod, 'rolling_disc_lagrange'),
    (UdwadiaKalabaMethod, 'cart_pendulum')}
TIMES = np.linspace(0, .2, 5)


def lambdify_knows_velocities():
    """Not before SymPy 1.14: it took ``q'`` for the derivative of a number.
    """
    q = dynamicsymbols('q')
    try:
        lambdify([[q], [q.diff()]], [q + q.diff()], 'numpy', cse=True)
    except NotImplementedError:
        return False
    return True


def check_speeds(method):
    if not lambdify_knows_velocities() and any(
            isinstance(u, Derivative) for u in method.u):
        pytest.skip("this SymPy's lambdify confuses velocities")


def formed(name, cls):
    """A method, its compiled equations and a consistent start."""
    ready = model(name)
    options = {'q_dependent': list(ready.coordinates[-2:])} if (
        cls is HamelEmbedding and name == 'rolling_disc_lagrange') else {}
    method = ready.form(cls, **options)
    compiled = compile_equations(method, ready.parameters, ready.inputs)
    guess = {s: ready.start.get(s, .3) for s in compiled.states}
    fixed = [s for s in compiled.states
             if s in ready.fixed or s not in ready.start]
    return ready, method, compiled, consistent_state(compiled, guess, fixed)


def completed(system, ready, compiled, start):
    """A PyDy system with the numbers of a model."""
    system.constants = {c: ready.parameters[c]
                        for c in system.constants_symbols}
    system.specifieds |= {
        f: lambda x, t, e=e: float(e.subs('t', t))
        for f, e in ready.inputs.items()}
    system.initial_conditions = dict(zip(system.states, start))
    system.times = TIMES
    return system


def agree(system, compiled, start):
    """The states of a run, those of ``simulate`` first; returns the rest."""
    found = system.integrate(rtol=1e-11, atol=1e-11)
    wanted = simulate(compiled, TIMES[-1], start, rtol=1e-11, atol=1e-11,
                      t_eval=TIMES, stabilization=None)
    count = len(compiled.states)
    np.testing.assert_allclose(
        found[:, :count], wanted.x, rtol=1e-7, atol=1e-7)
    return found[:, count:]


@pytest.mark.parametrize('name, cls', every_third([
    (name, cls) for name in QUICK for cls in SQUARE
    if (cls, name) not in NOT_TAKEN]))
def test_system_integrates_the_method(name, cls):
    ready, method, compiled, start = formed(name, cls)
    check_speeds(method)
    system = completed(System(method), ready, compiled, start)
    assert {*system.constants_symbols} <= {
        *method.equations_of_motion.constants}
    agree(system, compiled, start)


@pytest.mark.slow
def test_system_integrates_the_bicycle():
    ready, method, compiled, start = formed('bicycle', GibbsAppellMethod)
    agree(completed(System(method), ready, compiled, start), compiled, start)


@pytest.mark.slow
def test_bicycle_with_impulses():
    """The expressions of ``method.forcing`` are too large for PyDy."""
    impulses(*formed('bicycle', UdwadiaKalabaMethod))


@pytest.mark.parametrize('name, cls', [
    ('four_bar', UdwadiaKalabaMethod), ('parallel_cranks', RouthMethod),
    ('quaternion_top_lagrange', RouthMethod),
    ('four_bar', LinearMappingMethod)])
def test_multipliers_as_impulses(name, cls):
    impulses(*formed(name, cls))


def impulses(ready, method, compiled, start):
    """A system whose last states are impulses."""
    system = completed(to_pydy(compiled, 0, start), ready, compiled, start)
    rest = agree(system, compiled, start)
    rows = compiled.linear_solver(0, start).rank - compiled.motion
    assert rest.shape[1] == rows > 0
    if rows == len(compiled.multiplier_names):
        np.testing.assert_allclose(
            system.evaluate_ode()[-rows:], compiled.multipliers(0, start),
            rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('name, cls', every_third([
    (name, cls) for name in (
        'four_bar', 'parallel_cranks', 'cartesian_pendulum', 'knife_edge',
        'driven_pendulum', 'quaternion_top_lagrange')
    for cls in (RouthMethod, VaccoMethod, UdwadiaKalabaMethod)
    if (cls, name) not in NOT_TAKEN], 1))
def test_other_layouts_go_through_to_pydy(name, cls):
    ready, method, compiled, start = formed(name, cls)
    agree(completed(to_pydy(method), ready, compiled, start), compiled, start)


def test_velocities_of_some_coordinates():
    """SymPy's ``lambdify`` takes their derivatives for those of numbers."""
    ready, method, compiled, start = formed(
        'rolling_disc_lagrange', HamelEmbedding)
    assert len(method.u) < len(method.q)
    with pytest.raises(NotImplementedError):
        completed(System(method), ready, compiled, start).integrate()
    system = completed(to_pydy(method), ready, compiled, start)
    assert str(system.speeds) == '[q1_dot(t), q2_dot(t), q3_dot(t)]'
    agree(system, compiled, start)


@pytest.mark.parametrize('cls', [
    UdwadiaKalabaMethod, RouthMethod, VaccoMethod])
def test_system_refuses_the_layout_of_lagranges_method(cls):
    """What ``to_pydy`` is for; the multipliers are in the matrices."""
    ready, method, compiled, start = formed('cartesian_pendulum', cls)
    assert method.mass_matrix.shape == (2, 3)
    with pytest.raises(AssertionError):
        completed(System(method), ready, compiled, start).integrate()


@pytest.mark.parametrize('given, other', [
    (3*dynamicsymbols._t, {}), (lambda t, q: 3*t, {}),
    (([0, 9], [0, 27]), {}),
    (lambda t, q: 1, {(dynamicsymbols('F'),): lambda q, t: [3*t]})])
def test_constants_and_inputs_are_passed_on(given, other):
    m, k = symbols('m k')
    q, F = dynamicsymbols('q F')
    spring = UdwadiaKalabaMethod(m*q.diff()**2/2 - k*q**2/2, [q],
                                 generalized_forces=[F])
    system = to_pydy(compile_equations(spring, {m: 2., k: 1.}, {F: given}),
                     constants={k: 8.}, times=TIMES, x=[1, 0],
                     specifieds=other)
    np.testing.assert_allclose(system.integrate()[:, 0], np.cos(
        2*TIMES) + 3/8*(TIMES - np.sin(2*TIMES)/2), atol=1e-6)


def test_rows_are_not_guessed():
    ready, method, compiled, start = formed('parallel_cranks', RouthMethod)
    with pytest.raises(MissingIngredientError, match='Pass one as `x`'):
        to_pydy(compiled)
    for name in 'initial_conditions', 'specifieds':
        with pytest.raises(TypeError, match=f'`{name}` is 3. Give a'):
            to_pydy(compiled, 0, start, **{name: 3})


@pytest.mark.slow
def test_cython_with_velocities_as_states():
    """PyDy's generator of C stumbles over ``Derivative`` in the states."""
    pytest.importorskip('Cython')
    pytest.importorskip('setuptools')
    ready, method, compiled, start = formed(
        'cartesian_pendulum', UdwadiaKalabaMethod)
    x, y = method.q
    system = to_pydy(method, initial_conditions={x: 2., y.diff(): .5})
    assert [str(s) for s in system.speeds] == [
        'x_dot(t)', 'y_dot(t)', 'lam1_impulse(t)']
    assert list(system.initial_conditions) == [x, system.speeds[1]]
    completed(system, ready, compiled, start)
    system.generate_ode_function(generator='cython')
    agree(system, compiled, start)


def test_pydy_is_named_where_it_is_missing(monkeypatch):
    import sys
    monkeypatch.setitem(sys.modules, 'pydy.system', None)
    with pytest.raises(MissingIngredientError, match=(
            'PyDy is not installed. Install it: .python -m pip install pydy')):
        to_pydy(model('knife_edge').form(UdwadiaKalabaMethod))
