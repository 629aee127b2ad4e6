"""Steps for stiff models, and the derivatives of the rates they need."""
import numpy as np
import pytest
from sympy import cos, symbols
from sympy.physics.mechanics import dynamicsymbols

from exports import ready
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.numeric.integrate.stepper import Run

m, k, c = symbols('m k c')
t = dynamicsymbols._t
x, y = dynamicsymbols('x y')
READY = ('four_bar', 'rolling_disc', 'duplicated_rows', 'driven_pendulum',
         'heavy_top_quaternion', 'damped_double_pendulum')


def spring(stiffness, **options):
    """A stiff, damped spring drives a bead along a line, without gravity.

    After a short time it follows ``cos(t)``, up to ``1/stiffness``.
    """
    method = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2, [x, y], hol_coneqs=[x - y],
        generalized_forces=[-k*(x - cos(t)) - c*x.diff(), 0])
    return compile_equations(
        method, {m: 1, k: stiffness, c: stiffness}, **options)


@pytest.mark.parametrize('name', READY)
def test_the_jacobian_is_exact(name):
    """Also of the work, and off the constraints."""
    _, compiled, start = ready(name)
    run = Run(compiled, (0., 1.), start)
    rng = np.random.default_rng(7)
    y = np.append(start + rng.normal(scale=0.1, size=len(start)), np.zeros(
        len(run.rates.begin) - len(start)))

    def slope(step, size=1e-4):
        """Differences of fourth order."""
        return sum(weight*run.rates(0.3, y + at*size*step)
                   for at, weight in ((-2, 1/12), (-1, -2/3), (1, 2/3),
                                      (2, -1/12)))/size

    found = run.rates.jacobian(0.3, y)
    wanted = np.transpose([slope(step) for step in np.eye(len(y))])
    np.testing.assert_allclose(
        found, wanted, rtol=0, atol=1e-9*(1 + np.abs(wanted).max()))


def test_the_order_is_five():
    """Time-dependent rows, and without a row that ends the error early."""
    for name, step in (('driven_pendulum', 0.04), ('four_bar', 0.0025)):
        _, compiled, start = ready(name)
        exact = simulate(compiled, 0.4, start, rtol=1e-13, atol=1e-14,
                         t_eval=2).x[-1]
        errors = [np.abs(simulate(
            compiled, 0.4, start, method='Rodas5P', rtol=0.1, atol=0.1,
            max_step=h, t_eval=2).x[-1] - exact).max()
            for h in (step, step/2)]
        assert 4.5 < np.log2(errors[0]/errors[1]) < 6


@pytest.mark.slow
def test_stiff_models_take_few_steps():
    compiled, start = spring(1e6), [1, 1, 0, 0]
    exact = simulate(compiled, 6, start, method='Radau', rtol=1e-10,
                     atol=1e-10, t_eval=61)
    for tolerance in (1e-4, 1e-6, 1e-8):
        found, radau = (simulate(
            compiled, 6, start, method=method, rtol=tolerance,
            atol=tolerance, t_eval=61) for method in ('Rodas5P', 'Radau'))
        assert np.abs(found.x - exact.x).max() < tolerance
        assert found.largest_residual < 1e-12
        assert found.statistics['steps'] < radau.statistics['steps']


@pytest.mark.parametrize('given', [
    {'backend': 'numpy'}, {'inputs': True}])
def test_without_machine_code_steps_are_those_of_radau(given):
    force = dynamicsymbols('F')
    method = UdwadiaKalabaMethod(
        m*x.diff()**2/2, [x], generalized_forces=[force - k*x])
    inputs = {force: (lambda t, x: np.cos(t)) if 'inputs' in given else cos(t)}
    compiled = compile_equations(
        method, {m: 1, k: 4}, inputs, given.get('backend', 'auto'))
    found, wanted = (simulate(compiled, 2, [0, 0], method=name, t_eval=9)
                     for name in ('Rodas5P', 'Radau'))
    np.testing.assert_array_equal(found.x, wanted.x)
