"""Runs of a sweep that are made together are those of ``simulate``."""
import dataclasses

import numpy as np
import pytest

from exports import ready
from mechanisms import m, x, y
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import ConstraintError
from sympy_constrained.numeric import compile_equations, simulate, sweep
from sympy_constrained.numeric.integrate.batch import Batch
from sympy_constrained.numeric.integrate.stepper import Run

pytest.importorskip('numba')
pytest.importorskip('llvmlite')


@pytest.fixture
def careful(monkeypatch):
    """Starts of the runs that are not made together."""
    starts, integrate = [], Run.integrate
    monkeypatch.setattr(Run, 'integrate', lambda run, *arguments, **options: (
        starts.append(run.rates.begin), integrate(
            run, *arguments, **options))[1])
    return starts


def check_equal(found, expected, rtol=1e-7):
    for field in dataclasses.fields(found):
        one, two = (getattr(x, field.name) for x in (found, expected))
        if isinstance(one, np.ndarray):
            assert one.shape == two.shape and not one.flags.writeable
            np.testing.assert_allclose(one, two, rtol, rtol)
        elif field.name == 'statistics':
            assert {**one, 'seconds': 0} == {**two, 'seconds': 0}
        else:
            assert one == two


@pytest.mark.parametrize('name, t_span, t_eval', [
    ('four_bar', 0.5, 7), ('four_bar', -0.3, [-0.1, -0.2]),
    ('rolling_disc', 1, None), ('cartesian_pendulum', (1, 2), 3)])
def test_results_are_those_of_simulate(name, t_span, t_eval, careful):
    _, compiled, start = ready(name)
    gravity = [9., 9.5, 10.]
    found = sweep(compiled, {'g': gravity}, start, t_span=t_span,
                  t_eval=t_eval)
    assert not careful and not found.failed
    for run, g in zip(found.runs, gravity):
        check_equal(run.trajectory, simulate(
            compiled, t_span, start, t_eval=t_eval, constants={'g': g}))


def test_runs_out_of_the_ordinary_are_made_alone(careful):
    """One starts off the constraints, one passes a singular configuration."""
    cross = compile_equations(UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2, [x, y], hol_coneqs=[x*y]), {m: 1})
    ordinary, passing, wrong = [1, 0, -0.4, 0], [1, 0, -1, 0], [1, 1, 0, 0]
    with pytest.raises(ConstraintError) as error:
        simulate(cross, 2, wrong)
    expected = simulate(cross, 2, passing)
    careful.clear()
    found = sweep(cross, None, [wrong, ordinary, passing], t_span=2)
    assert str(error.value) in found[0].error
    assert found[1].trajectory['x'][-1] == pytest.approx(0.2)
    assert found[2].trajectory.passages == expected.passages != ()
    assert (found[2].trajectory.x == expected.x).all()
    assert len(careful) == 1 and careful[0] == pytest.approx(passing)


def test_a_run_with_many_steps_is_made_alone(careful):
    _, compiled, start = ready('cartesian_pendulum')
    found = sweep(compiled, {'g': [9., 10.]}, start, t_span=1, max_step=1e-4,
                  t_eval=2)
    assert len(careful) == 2 and not found.failed


@pytest.mark.parametrize('quantity', [None, lambda compiled, motion: (
    compiled.parameters()[list(map(str, compiled.constants)).index('g')])])
def test_each_run_has_its_constants(quantity, careful):
    """The rate of the energy was that of the first constants."""
    _, compiled, start = ready('cartesian_pendulum')
    found = sweep(compiled, {'g': [5., 10.]}, start, t_span=1,
                  quantity=quantity)
    assert not careful
    if quantity:
        assert found.values().tolist() == [5., 10.]
        return
    alone = simulate(compiled, 1, start, constants={'g': 5.})
    for motion in (alone, *(run.trajectory for run in found.runs)):
        assert np.abs(motion.power_error).max() < 1e-10


def test_outputs_with_constants_for_each_state():
    (_, compiled, start), rng = ready('four_bar'), np.random.default_rng(1)
    x = start + 0.1*rng.standard_normal((5, len(start)))
    p = compiled.p*rng.uniform(0.5, 2, (5, len(compiled.p)))
    found = compiled.evaluate(('W', 'r'), np.arange(5.), x, p)
    for k in range(5):
        for name, value in compiled.evaluate(
                ('W', 'r'), k, x[k], p[k]).items():
            np.testing.assert_allclose(found[name][k], value, rtol=1e-13)


def test_starts_are_projected_together(careful):
    """One of them is far away, and one linkage cannot be assembled."""
    _, compiled, start = ready('four_bar')
    constants = dict(zip(map(str, compiled.constants), compiled.p))
    lengths = constants['l1']*np.array([1., 1.01, 0.99, 100., 1.])
    starts = start + 0.01*np.arange(5)[:, None]*np.cos(np.arange(6))
    starts[4, :3] += [3., -2., 1.]
    options = {'t_span': 0.1, 't_eval': 3, 'initial': 'project'}
    found = sweep(compiled, {'l1': lengths}, starts, **options)
    assert len(careful) == 0
    assert [run.index for run in found.failed] == [3]
    for run, length, begin in zip(found.runs, lengths, starts):
        if run.success:
            check_equal(run.trajectory, simulate(
                compiled, start=begin, constants={'l1': length}, **options))


def test_a_defect_of_the_common_loop_is_not_hidden(monkeypatch):
    monkeypatch.setattr(Batch, 'made', lambda *_: 1/0)
    _, compiled, start = ready('cartesian_pendulum')
    with pytest.raises(ZeroDivisionError):
        sweep(compiled, {'g': [9, 10]}, start, t_span=1)


@pytest.mark.parametrize('change, options, error', [
    ({'l1': [200, 300]}, {'initial': 'project'}, 'ConstraintError'),
    ({'g': [9, 10]}, {'rtol': -1}, '`rtol` is -1'),
    ({'g': [9, 10]}, {'initial': 'guess'}, "`initial` is 'guess'"),
    ({'g': [9, 10]}, {'method': ['RK45']}, '`method`')])
def test_runs_that_cannot_begin_have_the_error_of_simulate(
        change, options, error):
    _, compiled, start = ready('four_bar')
    found = sweep(compiled, change, start, t_span=1, **options)
    assert [error in run.error for run in found.failed] == [True, True]
