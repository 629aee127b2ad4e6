"""Equations and constraints together, and the libraries that take them."""
import pickle
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.special import ellipk

from exports import ready
from mechanisms import g, l, m, particle, t, x, y
from sympy import sin, sqrt, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import HamelEmbedding, UdwadiaKalabaMethod
from sympy_constrained.errors import MissingIngredientError
from sympy_constrained.numeric import (
    Reason, compile_equations, dae_form, simulate)

needs_package = pytest.mark.skipif(
    find_spec('sksundae') is None, reason='needs scikit-sundae')
NAMES = ['four_bar', 'closed_chain', 'rolling_disc', 'parallel_cranks',
         'heavy_top_quaternion', 'duplicated_rows', 'driven_pendulum',
         'acceleration_level', 'massless_coordinate']


# -- the residual ----------------------------------------------------------

@pytest.mark.parametrize('name', NAMES)
def test_the_start_is_consistent_and_the_index_one(name):
    """After one differentiation of the constraints y' is determined."""
    _, compiled, start = ready(name)
    form = dae_form(compiled, start)
    size = np.abs(form.yp0).max()
    assert np.abs(form.residual(0, form.y0, form.yp0)).max() < 1e-11*size
    assert len(form.names) == len(form.y0) == len(form.algebraic)
    assert not form.multiplier[:len(start)].any()
    assert repr(form).startswith(f'<DAEForm: {len(form.names)} equations')
    by_y, by_yp = form.jacobian(0, form.y0, form.yp0)
    once = np.where(form.algebraic[:, None], by_y, by_yp)
    norms = np.linalg.norm(once, axis=1)
    assert np.linalg.svd(once/norms[:, None])[1].min() > 1e-6


@pytest.mark.parametrize('name', NAMES)
def test_the_jacobian_is_the_derivative(name, rng):
    _, compiled, start = ready(name)
    form = dae_form(compiled, start)
    size = len(form.names)
    y = form.y0 + [0.01*rng.uniform(-1, 1) for _ in range(size)]
    yp = form.yp0 + [0.1*rng.uniform(-1, 1) for _ in range(size)]
    by_y, by_yp = form.jacobian(0.1, y, yp)
    h = 1e-6
    for k, e in enumerate(h*np.eye(size)):
        for found, one, two in (
                (by_y, (y + e, yp), (y - e, yp)),
                (by_yp, (y, yp + e), (y, yp - e))):
            slope = (form.residual(0.1, *one) - form.residual(0.1, *two))/(2*h)
            np.testing.assert_allclose(
                found[:, k], slope, atol=1e-6*max(1, np.abs(slope).max()))


def test_equal_rows_are_one_constraint_of_each_level():
    """The acceleration-level row stands in for neither."""
    row, start = x**2 + y**2 - l**2, [2, 0, 0, 0]
    form = dae_form(particle([row, row]), start,
                    constants={m: 1, g: 9.81, l: 2})
    assert form.algebraic.sum() == 2
    moving = np.add(start, [0, 0, 0.1, 0])
    assert np.abs(form.residual(0, np.append(
        moving, np.zeros(len(form.names) - 4)), form.yp0)[
            form.algebraic]).max() > 0.1


def test_equations_without_constraint_rows_get_corrections():
    method = HamelEmbedding(
        m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
        hol_coneqs=[x**2 + y**2 - l**2], q_dependent=[y])
    form = dae_form(method, [1.2, -1.6, 0.5], constants={m: 1, g: 9.81, l: 2})
    assert form.names == ("x", "y", "x'", 'correction of holonomic row 0')
    assert np.abs(form.residual(0, form.y0, form.yp0)).max() < 1e-14


def test_the_package_is_named_if_it_is_missing(pendulum, monkeypatch):
    for name in list(sys.modules):
        if name.split('.')[0] == 'sksundae':
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'sksundae', None)
    with pytest.raises(MissingIngredientError, match=(
            "method='IDA' needs the package sc.*pip install")):
        simulate(pendulum.compiled, 1, pendulum.start, method='IDA')


def test_a_residual_needs_no_other_stabilization(pendulum):
    with pytest.raises(ValueError, match="'IDA' solves the equations toget"):
        simulate(pendulum.compiled, 1, pendulum.start, method='IDA',
                 stabilization=(1, 1))


# -- the libraries ---------------------------------------------------------

@needs_package
@pytest.mark.parametrize('name', [
    'pendulum', 'cranks', pytest.param('doubled', marks=pytest.mark.slow)])
def test_motions_agree_with_projected_ones(request, name):
    mechanism = request.getfixturevalue(name)
    expected = simulate(mechanism.compiled, 3, mechanism.start, t_eval=7,
                        rtol=1e-11, atol=1e-13)
    found = simulate(mechanism.compiled, 3, mechanism.start, method='IDA',
                     t_eval=7, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.x, expected.x, atol=2e-5)
    np.testing.assert_allclose(found.constraint_forces,
                               expected.constraint_forces, atol=1e-3)
    assert found.largest_residual < 1e-12
    raw = simulate(mechanism.compiled, 3, mechanism.start, method='IDA',
                   rtol=1e-8, atol=1e-10, stabilization=None)
    assert raw.largest_residual < 1e-6


@needs_package
def test_work_is_integrated_with_any_constants():
    w = symbols('w')
    compiled = compile_equations(particle([x**2 + (y - sin(w*t))**2 - l**2]),
                                 {m: 1, g: 9.81, l: 1, w: 2})
    for constants in {}, {g: 1, w: 3}:
        motion = simulate(
            compiled, 2, [1, 0, 0, 2], constants=constants, method='IDA',
            initial='project', rtol=1e-9, atol=1e-11, t_eval=31)
        assert np.abs(motion.work).max() > 1
        assert np.abs(motion.energy_error).max() < 1e-4


@needs_package
def test_events_and_dense_output_of_residuals(pendulum):

    def lowest(t, x):
        return x[0]

    lowest.terminal = True
    motion = simulate(pendulum.compiled, 9, pendulum.start, events=lowest,
                      method='IDA', rtol=1e-9, atol=1e-11, dense=True)
    assert motion.t[-1] == pytest.approx(ellipk(0.5)*np.sqrt(2/9.81), abs=1e-6)
    expected = simulate(pendulum.compiled, 0.8, pendulum.start, rtol=1e-11,
                        atol=1e-13, t_eval=[0.123, 0.456, 0.789])
    for found in (motion, pickle.loads(pickle.dumps(motion))):
        np.testing.assert_allclose(found.at([0.123, 0.456, 0.789]),
                                   expected.x, atol=1e-6)


@needs_package
def test_the_edge_of_a_domain_ends_the_run():
    """``x'^2/2 + sqrt(1 - x) = 3/2`` up to ``x = 1``."""
    edge = UdwadiaKalabaMethod(x.diff()**2/2 - sqrt(1 - x), [x])
    motion = simulate(edge, 2, [0, 1], method='IDA', throw=False)
    assert not motion.success and motion.reason is not Reason.STEPS
    assert motion.t[-1] == pytest.approx(2*3**0.5 - 8/3, abs=1e-4)
    place, speed = motion.x.T           # beyond 1 the root is nan
    np.testing.assert_allclose(speed**2/2 + np.sqrt(1 - place), 1.5, atol=1e-4)


@needs_package
def test_a_pose_without_full_rank_ends_the_run():
    _, compiled, start = ready('n_four_bar')
    motion = simulate(compiled, 1, start, method='IDA', throw=False)
    assert motion.reason is Reason.STEP_SIZE


@needs_package
def test_a_function_that_fails_ends_the_run():
    f = dynamicsymbols('f')
    driven = UdwadiaKalabaMethod(m*x.diff()**2/2, [x], nonideal_forces=[f])

    def force(time, state):
        if time > 1:
            raise KeyboardInterrupt
        return np.sin(time)

    with pytest.warns(UserWarning, match='interrupted'):
        motion = simulate(driven, 3, [0, 0], constants={m: 1},
                          inputs={f: force}, method='IDA')
    assert 0 <= motion.t[-1] <= 1
    assert motion.reason is Reason.INTERRUPTED
