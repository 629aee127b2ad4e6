"""Export of the equations to heyoka."""
import numpy as np
import pytest
from sympy import Function, Matrix, floor, symbols
from sympy.abc import x, y
from sympy.physics.mechanics import dynamicsymbols

import exports
from combinations import every_third
from exports import close, ready
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import (
    MissingIngredientError, UnsupportedFeatureError)
from sympy_constrained.graph import Graph
from sympy_constrained.interop import to_heyoka
from sympy_constrained.numeric.codegen.heyoka_code import functions
from sympy_constrained.numeric import simulate
from sympy_constrained.numeric.codegen.instructions import program
from sympy_constrained.numeric.codegen.walk import walk

hy = pytest.importorskip('heyoka')
q = dynamicsymbols('q')
m, k = symbols('m k')
NOT_THERE = 'floor', 'ceiling'


def function(system, pars):
    """The rates as a function of ``(t, x)``."""
    pars = pars if len(pars) else None
    compiled = hy.cfunc([rate for _, rate in system],
                        [variable for variable, _ in system])
    return lambda t, x: compiled(np.array(x), pars=pars, time=t)


@pytest.mark.parametrize('name', every_third(exports.SMALL, 2))
def test_rates_are_the_compiled_ones(name):
    _, compiled, start = ready(name)
    solver = compiled.linear_solver(.3, start)
    quick = compiled.quick_rates(solver)
    try:
        system, pars = to_heyoka(compiled, .3, start)
    except UnsupportedFeatureError as error:
        assert solver.kept is not None or quick is None
        assert 'written out' in str(error)
        return
    assert [str(variable) for variable, _ in system] == list(
        compiled.names.labels)
    f = function(system, pars)
    state = start + .01*np.sin(np.arange(len(start)))
    for at in (start, state):
        if quick(.3, at) is not None:   # a pivot may vanish there
            close(f(.3, at), compiled.rhs(.3, at, solver=solver))


@pytest.mark.parametrize('name', [
    'driven_pendulum', *(pytest.param(name, marks=pytest.mark.slow)
                         for name in ('four_bar', 'rolling_disc'))])
def test_motion(name):
    """Others are in ``test_taylor``."""
    _, compiled, start = ready(name)
    system, pars = to_heyoka(compiled, x=start)
    run = hy.taylor_adaptive(system, start, pars=pars)
    times = np.linspace(0, 1, 11)
    states = run.propagate_grid(times)[-1]
    motion = simulate(compiled, 1, start, rtol=1e-12, atol=1e-13, t_eval=times)
    np.testing.assert_allclose(states, motion.x, rtol=0, atol=1e-9*(
        1 + np.abs(motion.x).max()))


@pytest.mark.parametrize('expr', [
    e for e in exports.FUNCTIONS if not any(
        name in str(e) for name in NOT_THERE)], ids=str)
def test_functions_of_programs(expr):
    graph = Graph.of({'out': Matrix([expr])}, symbols('t'))
    code = program(graph, ('out',), {x: ('x', 0), y: ('x', 1)})
    a, b = hy.make_vars('x', 'y')
    values = walk(code.operations, functions(hy), {'x': [a, b]})
    found = hy.cfunc([hy.expression(values[code.outputs[0]])], [a, b])
    wanted = [graph.evaluate({x: u, y: v})['out'][0][0]
              for u, v in exports.POINTS]
    np.testing.assert_allclose(
        [found(point)[0] for point in exports.POINTS],
        np.array(wanted, dtype=float), rtol=1e-13, atol=1e-13)


def test_what_heyoka_does_not_have():
    force = Function('f')(dynamicsymbols._t)
    for load, error in ((floor(q), 'no counterpart'),
                        (force, 'Pass one in `inputs`')):
        method = UdwadiaKalabaMethod(
            m*q.diff()**2/2, [q], generalized_forces=[load])
        with pytest.raises(UnsupportedFeatureError, match=error):
            to_heyoka(method, constants={m: 1})
    with pytest.raises(MissingIngredientError, match='Pass `constants`'):
        to_heyoka(UdwadiaKalabaMethod(m*q.diff()**2/2 - k*q, [q]))


def test_constants_that_cancel_are_no_parameters():
    system, pars = to_heyoka(UdwadiaKalabaMethod(
        m*q.diff()**2/2 - k*q, [q], hol_coneqs=[q]), constants={m: 1, k: 2})
    assert hy.taylor_adaptive(system, [0., 0], pars=pars).state[0] == 0
