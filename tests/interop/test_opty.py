"""Direct collocation: the residual in opty, evaluated and solved."""
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pytest
from sympy import Derivative, symbols
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import dynamicsymbols

from exports import ready
from ready import evaluate
from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, RouthMethod, UdwadiaKalabaMethod,
    VaccoMethod)
from sympy_constrained.errors import (
    MissingIngredientError, UnsupportedFeatureError)
from sympy_constrained.interop import to_opty
from sympy_constrained.models import model
from sympy_constrained.numeric import simulate

NODES = 41
HAS_IPOPT = find_spec('cyipopt') is not None


@pytest.fixture
def collocation(monkeypatch):
    """opty's module; without Ipopt it loads on a stand-in and evaluates."""
    if find_spec('opty') is None:
        pytest.skip('opty is not installed')
    if not HAS_IPOPT:
        standin = ModuleType('cyipopt')
        standin.Problem = object
        monkeypatch.setitem(sys.modules, 'cyipopt', standin)
    return import_module('opty.direct_collocation')


def run(name, cls, t_end=.4):
    """A method, its compiled equations, times, states and multipliers."""
    method, compiled, start = ready(name, cls)
    times = np.linspace(0, t_end, NODES)
    found = simulate(compiled, t_end, start, rtol=1e-11, atol=1e-11,
                     t_eval=times)
    return method, compiled, start, times, found.x


def used_multipliers(compiled, equations, start, states):
    """Those of the rows in use; the others are zero."""
    solver = compiled.linear_solver(0., start)
    names = list(compiled.unknowns)
    places = [names.index(x) for x in equations.multipliers]
    return np.array([solver.solve(W, r)[0][places] for W, r in zip(
        *compiled.matrices(0., states))])


# -- the equations --------------------------------------------------------

def test_residual_of_the_method_has_the_same_rows():
    """In Kane's shape, with independent rows, nothing is renamed."""
    method, *_ = ready('four_bar')
    equations = to_opty(method)
    assert equations.names == {}
    assert equations.states == tuple(method.equations_of_motion.states)
    assert equations.multipliers == tuple(method.lam_vec)
    names = {*equations.residual.atoms(AppliedUndef, Derivative),
             *equations.residual.free_symbols}
    random = np.random.default_rng(5)
    values = dict(zip(sorted(names, key=str), random.uniform(.5, 1, 99)))
    one, other = evaluate(
        [equations.residual, method.equations_of_motion.residual], values)
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_velocities_get_names_that_are_free():
    x = dynamicsymbols('x')
    other = dynamicsymbols('x_dot')
    m = symbols('m')
    equations = to_opty(UdwadiaKalabaMethod(
        m*x.diff()**2/2 + m*other.diff()**2/2, [x, other]))
    assert list(map(str, equations.states)) == [
        'x(t)', 'x_dot(t)', 'x_dot_(t)', 'x_dot_dot(t)']


@pytest.mark.parametrize('level', ['acceleration', 'velocity', 'position'])
def test_levels_of_the_rows(level):
    """They are the residuals of the model, in other names."""
    method, *_ = ready('cartesian_pendulum')
    equations = to_opty(method, level)
    row = equations.residual[-1]
    back = {new: old for old, new in equations.names.items()}
    wanted = {'acceleration': method.acceleration_constraints,
              'velocity': method.velocity_constraints,
              'position': method.holonomic_constraints}[level][0]
    assert row.has(Derivative) is (level == 'acceleration')
    assert (row.subs(back).doit() - wanted).expand() == 0


def test_only_independent_rows_are_left():
    method, compiled, start = ready('parallel_cranks')
    equations = to_opty(method)
    assert len(equations.multipliers) == len(method.independent_rows) == 3
    assert len(method.equations_of_motion.residual) == len(
        equations.residual) + 1
    with pytest.raises(MissingIngredientError, match='Pass one as `x`'):
        to_opty(compiled)
    assert to_opty(compiled, 'acceleration', 0, start).residual.shape == \
        equations.residual.shape


def test_vakonomic_and_embedded_equations():
    """Multipliers that are states, and none."""
    vacco = to_opty(model('cartesian_pendulum').form(VaccoMethod))
    assert len(vacco.states) == len(vacco.residual) == 5
    assert vacco.multipliers == ()
    hamel = to_opty(model('slider_crank').form(HamelEmbedding))
    assert len(hamel.states) == len(hamel.residual)


def test_wrong_level():
    with pytest.raises(ValueError, match='`level`'):
        to_opty(model('knife_edge').form(UdwadiaKalabaMethod), 'index-1')


# -- in opty --------------------------------------------------------------

@pytest.mark.parametrize('name, cls', [
    ('four_bar', UdwadiaKalabaMethod), ('knife_edge', RouthMethod),
    ('cartesian_pendulum', UdwadiaKalabaMethod),
    ('parallel_cranks', UdwadiaKalabaMethod)])
def test_trajectory_nearly_satisfies_the_collocation(name, cls, collocation):
    """With the midpoint rule, to the second order of the step.

    The constraint function and its Jacobian are those of our functions.
    """
    _, compiled, start, times, states = run(name, cls, .1)
    equations = to_opty(compiled, 'acceleration', 0, start)
    step = times[1]
    values = dict(zip(compiled.constants, compiled.p))
    free_symbols = equations.residual.free_symbols
    made = collocation.ConstraintCollocator(
        equations.residual, equations.states, NODES, step,
        known_parameter_map={c: v for c, v in values.items()
                             if c in free_symbols},
        integration_method='midpoint', backend='numpy')
    lam = used_multipliers(compiled, equations, start, states)
    order = [list(equations.multipliers).index(f)
             for f in made.unknown_input_trajectories]
    free = np.concatenate([states.T.ravel(), lam.T[order].ravel()])
    residual = made.generate_constraint_function()(free)
    assert residual.shape == (len(equations.residual)*(NODES - 1),)

    def ours(states, lam, step=step):
        """W z - r and q' - f at the midpoints."""
        x, z = (states[1:] + states[:-1])/2, (lam[1:] + lam[:-1])/2
        rates = (states[1:] - states[:-1])/step
        out = compiled.evaluate(('rates', 'W', 'r'), 0., x)
        n = out['rates'].shape[1]
        full = np.zeros((len(x), out['W'].shape[1]))
        full[:, :compiled.motion] = rates[:, n:]
        rows = [compiled.unknowns.index(s) for s in equations.multipliers]
        full[:, rows] = z
        gap = (out['W']@full[:, :, None] - out['r'])[:, :, 0]
        use = [*range(compiled.motion), *rows]
        return np.hstack([rates[:, :n] - out['rates'][:, :, 0],
                          gap[:, use]]).T.ravel()

    wanted = ours(states, lam)
    size = max(1., np.abs(lam).max())
    np.testing.assert_allclose(residual, wanted, rtol=0, atol=1e-9*size)
    coarse = ours(states[::2], lam[::2], 2*step)
    assert np.abs(residual).max() < np.abs(coarse).max()/3

    jacobian = np.zeros((len(residual), len(free)))
    rows, columns = made.jacobian_indices()
    np.add.at(jacobian, (rows, columns),
              made.generate_jacobian_function()(free))
    direction = np.cos(np.arange(len(free)))
    back = np.argsort(order)

    def along(d):
        moved = free + d*direction
        count = states.size
        return ours(moved[:count].reshape(-1, NODES).T,
                    moved[count:].reshape(-1, NODES)[back].T)

    d = 1e-5
    np.testing.assert_allclose(
        jacobian@direction, (along(d) - along(-d))/(2*d), rtol=1e-5,
        atol=1e-5*size)


@pytest.mark.skipif(not HAS_IPOPT, reason='no interface to Ipopt here')
def test_identification_of_gravity(collocation):
    """Ipopt finds the constant that the measured pendulum was made with."""
    method, compiled, _, times, states = run(
        'cartesian_pendulum', UdwadiaKalabaMethod)
    equations = to_opty(method, 'position')
    g, = (c for c in method.equations_of_motion.constants if str(c) == 'g')
    values = {c: v for c, v in zip(compiled.constants, compiled.p) if c != g}
    step, size = times[1], 2*NODES

    def objective(free):
        return np.sum((free[:size] - states.T.ravel()[:size])**2)

    def slope(free):
        result = np.zeros(len(free))
        result[:size] = 2*(free[:size] - states.T.ravel()[:size])
        return result

    problem = collocation.Problem(
        objective, slope, equations.residual, equations.states, NODES, step,
        known_parameter_map=values, backend='numpy')
    problem.add_option('print_level', 0)
    guess = np.ones(problem.num_free)
    guess[:states.size] = states.T.ravel()
    solution, info = problem.solve(guess)
    assert info['status'] in (0, 1)     # solved, or to an acceptable level
    names = problem.collocator.unknown_parameters
    assert names == (g,)
    # Implicit Euler is of first order.
    true = dict(zip(compiled.constants, compiled.p))
    assert solution[-1] == pytest.approx(true[g], rel=.05)
    L, = (c for c in values if str(c) == 'L')
    np.testing.assert_allclose(np.hypot(*solution[:size].reshape(
        2, NODES)[:, 1:]), true[L], rtol=1e-8)


def test_multipliers_that_are_states_stay_at_acceleration_level():
    """Rows of the third order bring accelerations and multipliers in."""
    x, y = dynamicsymbols('x y')
    time = dynamicsymbols._t
    method = GibbsAppellMethod(
        (x.diff()**2 + y.diff()**2)/2, [x, y], acceleration_constraints=[
            x.diff(time, 2)**2 + y.diff(time, 2)**2 - 1])
    assert method.equations_of_motion.upper
    for level in 'velocity', 'position':
        with pytest.raises(UnsupportedFeatureError, match=(
                "rows of several orders. Use .*'acceleration'")):
            to_opty(method, level)
    residual = to_opty(method).residual
    assert len(residual) == len(method.equations_of_motion.states) + len(
        method.equations_of_motion.multipliers)
