"""Compiled equations: values, shapes, constants, pickling, messages."""
import pickle
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from sympy import Heaviside, Matrix, Tuple, sin, symbols
from sympy.physics.mechanics import (
    KanesMethod, LagrangesMethod, dynamicsymbols)

from exports import kept
from mechanisms import g, l, m, particle, t, x, y
from sympy_constrained import (
    EquationsOfMotion, LinearMappingMethod, UdwadiaKalabaMethod,
    VoronetsMethod)
from sympy_constrained.errors import (
    ConstraintError, InconsistentConstraintsError, NotFiniteError,
    SingularEquationsError)
from sympy_constrained.models import model
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.numeric.compiled import KEPT_SOLVERS
from sympy_constrained.plotting import plot_energy


@pytest.fixture
def states():
    """Some admissible states of the pendulum, one per row."""
    angle = np.array([-1.2, -0.3, 0.4, 2.0])
    speed = np.array([0.5, -1.5, 0., 3.])
    return np.column_stack([
        2*np.cos(angle), 2*np.sin(angle),
        -2*speed*np.sin(angle), 2*speed*np.cos(angle)])


# -- values ---------------------------------------------------------------

@pytest.mark.parametrize('name, cls, recursion', [
    ('rolling_disc_minimal', UdwadiaKalabaMethod, False),
    ('rolling_disc_minimal', UdwadiaKalabaMethod, True),
    ('chaplygin_sleigh', VoronetsMethod, False)])
def test_quotients_of_rounding_errors_are_refused(name, cls, recursion):
    """A flat disc and a sleigh across divide by cos(pi/2), about 6e-17."""
    ready = model(name)
    compiled = compile_equations(ready.form(cls), ready.parameters,
                                 recursion=recursion)
    x = np.full(len(compiled.states), 0.3)
    compiled.rhs(0, x)                  # keeps the solver
    x[:3] = np.pi/2
    for function in [compiled.rhs, *[compiled.constraint_forces][recursion:],
                     *[compiled.multipliers][:len(compiled.multiplier_names)]]:
        for states in x, np.array([x, x]):
            with pytest.raises(SingularEquationsError, match='to rounding'):
                function(0, states)


def test_large_values_at_a_jump_are_not_refused():
    compiled = compile_equations(UdwadiaKalabaMethod(
        m*x.diff(t)**2/2, [x], generalized_forces=[Heaviside(1 - x, 1)]),
        {m: 1e-13})
    assert compiled.rhs(0, [1, 0])[1] == pytest.approx(1e13)


@pytest.mark.parametrize('far', [0, *(10.**-k for k in range(1, 10))])
def test_rows_that_are_nearly_parallel(far):
    """Together they let nothing move; undecided cases are refused."""
    u, v = x.diff(t), y.diff(t)
    compiled = compile_equations(particle(
        vel=[u - v, u - (1 + l)*v]), {m: 1, g: 9.81, l: far})
    if 0 < far < 1e-2:
        with pytest.raises(ConstraintError, match='told: the smallest|'
                           'told: the gradients of .*row 0, .*row 1 have'):
            compiled.rhs(0, [0, 0, 0, 0])
    else:
        np.testing.assert_allclose(
            compiled.rhs(0, [0, 0, 0, 0]),
            [0, 0, 0, 0] if far else [0, 0, -4.905, -4.905],
            rtol=1e-14, atol=1e-10)


@pytest.mark.parametrize('name', [
    'four_bar', 'rolling_disc', 'bicycle_whole', 'parallel_cranks',
    'heavy_top', 'driven_pendulum', 'massless_coordinate'])
def test_outputs_agree_with_fifty_digits(name):
    """All outputs of the graph in floats and by mpmath."""
    ready, method, compiled, _ = kept(name)
    equations = method.equations_of_motion
    state = np.array([0.1 + float(ready.start[s]) for s in compiled.states])
    names = list(equations.graph.outputs)
    outputs = compiled.evaluate(names, 0.7, state)
    with mpmath.workdps(50):
        values = dict(zip(compiled.states, map(mpmath.mpf, state)))
        values.update({c: mpmath.mpf(float(ready.parameters[c]))
                       for c in compiled.constants})
        values[equations.t] = mpmath.mpf(0.7)
        for item, expr in ready.inputs.items():
            for f in compiled.specifieds:
                order = getattr(f, 'derivative_count', 0)
                if f in (item, item.diff(equations.t, order)):
                    values[f] = mpmath.mpf(float(
                        expr.diff(equations.t, order).subs(equations.t, 0.7)))
        exact = equations.graph.evaluate(values, names, mpmath.mp)
    for name in names:
        expected = np.array(exact[name], dtype=float).reshape(
            outputs[name].shape)
        np.testing.assert_allclose(
            outputs[name], expected, rtol=1e-11,
            atol=1e-13*max(1., np.abs(expected).max(initial=0.)))


def test_redundant_rows_change_the_multipliers_only(pendulum, doubled, states):
    W, _ = doubled.compiled.matrices(0, states)
    for k, state in enumerate(states):
        assert (doubled.compiled.matrices(0, state)[0] == W[k]).all()
        np.testing.assert_allclose(doubled.compiled.rhs(0, state),
                                   pendulum.compiled.rhs(0, state),
                                   rtol=1e-12, atol=1e-12)
        lam, = pendulum.compiled.multipliers(0, state)
        np.testing.assert_allclose(doubled.compiled.multipliers(0, state),
                                   [lam/10, 3*lam/10])


@pytest.mark.parametrize('name, upstream', [
    ('rolling_disc_minimal', KanesMethod), ('four_bar', KanesMethod),
    ('double_pendulum_lagrange', LagrangesMethod)])
def test_methods_of_sympy_are_models_too(name, upstream):
    ready, _, ours, state = kept(name)
    theirs = ready.form(upstream)
    theirs = compile_equations(
        theirs, {c: ready.parameters[c] for c in
                 EquationsOfMotion.from_method(theirs).constants},
        dict(ready.inputs))
    assert theirs.states == ours.states
    np.testing.assert_allclose(theirs.rhs(0.4, state), ours.rhs(0.4, state),
                               rtol=1e-9, atol=1e-9)


# -- shapes ---------------------------------------------------------------

@pytest.mark.parametrize('name, width', [
    ('rhs', (4,)), ('accelerations', (2,)), ('multipliers', (2,)),
    ('constraint_forces', (2,)), ('residuals', (4,)), ('energy', ()),
    ('power', ())])
def test_a_batch_is_its_states_one_by_one(doubled, states, name, width):
    function = getattr(doubled.compiled, name)
    times = np.array([0., 1, 2, 3])
    batch = function(times, states)
    assert batch.shape == (4, *width)
    single = [function(time, state) for time, state in zip(times, states)]
    np.testing.assert_allclose(batch, single, rtol=1e-13, atol=1e-13)
    assert function(0., states[:0]).shape == (0, *width)
    p = [1.5, 9.81, 2]*np.array([[1, k, 1] for k in (1, 0.5, 2, 3)])
    single = [function(*row) for row in zip(times, states, p)]
    np.testing.assert_allclose(function(times, states, p), single,
                               rtol=1e-13, atol=1e-13)


def test_rows_alone_may_determine_the_motion():
    compiled = compile_equations(LinearMappingMethod(
        x.diff()**2/2, [x], nonhol_coneqs=[x.diff() + x]), {})
    motion = simulate(compiled, 1, [1], t_eval=3)
    np.testing.assert_allclose(motion[x], np.exp(-motion.t), rtol=1e-7)
    plot_energy(motion)
    assert compiled.residuals(motion.t, motion.x).shape == (3, 0)


# -- constants, inputs, expressions ---------------------------------------

def test_constants_in_every_form(pendulum, states):
    state, method = states[1], pendulum.method
    expected = pendulum.compiled.rhs(0, state)
    for constants in ({m: 1.5, 'g': 9.81, l: 2}, [1.5, 9.81, 2],
                      {'m': 1.5, g: 9.81, 'l': 2}):
        np.testing.assert_array_equal(
            compile_equations(method, constants).rhs(0, state), expected)
        np.testing.assert_array_equal(
            compile_equations(method).rhs(0, state, constants), expected)
    other = pendulum.compiled.with_values({g: 1.62})
    assert other.p.tolist() == [1.5, 1.62, 2]
    assert pendulum.compiled.p.tolist() == [1.5, 9.81, 2]
    np.testing.assert_array_equal(
        other.rhs(0, state), pendulum.compiled.rhs(0, state, {'g': 1.62}))


def test_constants_are_not_written_to(pendulum):
    """Machine code that is there would not see it."""
    compiled = compile_equations(pendulum.method, [1.5, 9.81, 2])
    for one in (compiled, compiled.with_values({g: 1.62}),
                compiled.with_values(inputs={}),
                pickle.loads(pickle.dumps(compiled))):
        with pytest.raises(ValueError, match='read-only'):
            one.p[1] = 1


def test_inputs_in_every_form():
    f = dynamicsymbols('f')
    method = particle([x - f])      # needs f, f', f''
    expected = [1., 0, -4*np.sin(2*.3), -9.81]
    rates = []
    for inputs in ({f: sin(2*t)}, {'f': sin(2*t)},
                   {f: lambda t, x: np.sin(2*t),
                    f.diff(): lambda t, x: 2*np.cos(2*t),
                    "f''": lambda t, x: -4*np.sin(2*t)}):
        compiled = compile_equations(method, {m: 1, g: 9.81}, inputs)
        rates.append(compiled.rhs(.3, [np.sin(.6), 0, 1., 0]))
        np.testing.assert_allclose(rates[-1], expected)
        batch = compiled.rhs([.3, .3], [[np.sin(.6), 0, 1., 0]]*2)
        np.testing.assert_allclose(batch, [expected]*2)
    compiled = compile_equations(method, {m: 1, g: 9.81}, {f: 3})
    np.testing.assert_allclose(compiled.residuals(0, [3.5, 0, 1, 0]), [0.5, 1])
    for expr, value in (sin(2*g*t/9.81), -4*np.sin(1)), (g*t**2, 2*9.81):
        compiled = compiled.with_values(inputs={f: expr})
        assert compiled.inputs.given[f.diff(t, 2)] == expr.diff(t, 2)
        assert np.isclose(compiled.rhs(.5, [0]*4)[2], value)


def test_expressions_of_the_user(pendulum, states):
    compiled = pendulum.compiled
    radius = compiled.expression(x**2 + y**2 - l**2 + 0*t)
    assert radius(0, states[0]) == pytest.approx(0, abs=1e-14)
    assert radius(0, states[0], {l: 1}) == pytest.approx(3)
    np.testing.assert_allclose(radius(0, states), 0, atol=1e-14)
    matrix = compiled.expression(Matrix([[x.diff(), m], [t, x*y]]))
    np.testing.assert_allclose(matrix(5, [1, 2, 3, 4]), [[3, 1.5], [5, 2]])
    assert matrix(5, states).shape == (4, 2, 2)
    for several in ([x, y], (x, y), {x: y}, Tuple(x, y)):
        with pytest.raises(TypeError, match='one expression or one matrix'):
            compiled.expression(several)
    for far, text in (x.diff(t, 2), 'method.acceleration'), (
            symbols('k')*x, '`expr` contains k. Use states'):
        with pytest.raises(ValueError, match=text):
            compiled.expression(far)


# -- messages -------------------------------------------------------------

def test_rows_without_names_are_numbered(pendulum):
    equations = replace(pendulum.method.equations_of_motion,
                        constraint_names=())
    compiled = compile_equations(equations, pendulum.compiled.p)
    assert repr(compiled) == '<CompiledEquations of 4 states, 1 multipliers>'
    assert compiled.residual_names == ('row 0', 'rate of row 0')
    assert len(compiled.residuals(0, pendulum.start)) == 2


def test_masked_numbers_are_no_states(pendulum):
    start = np.array(pendulum.start)
    masked = np.ma.array(start, mask=[0, 1, 0, 0])
    for state in (masked, np.ma.array([masked, masked])):
        with pytest.raises(TypeError, match='no array of real'):
            pendulum.compiled.rhs(0, state)
    np.testing.assert_array_equal(
        pendulum.compiled.rhs(0, np.ma.array(start)),
        pendulum.compiled.rhs(0, start))


def test_no_finite_value_is_an_error():
    method = UdwadiaKalabaMethod(m*x.diff()**2/2 + m*g/x, [x])
    compiled = compile_equations(method, {m: 1, g: 1})
    with pytest.raises(NotFiniteError, match='W, r are not finite|r are not'):
        compiled.rhs(0, [0, 0])
    with pytest.raises(NotFiniteError, match='energy of state 1 are not'):
        compiled.energy(0, [[1, 0], [0, 0]])


def test_contradicting_rows_are_an_error_unless_asked_for():
    rows = [x.diff(t, 2) - 1, 3*x.diff(t, 2) - 3.5]
    state = [0, 0, 0, 0]
    compiled = compile_equations(particle(acc=rows), {m: 2, g: 1})
    with pytest.raises(InconsistentConstraintsError,
                       match='contradict each other: acceleration-level row '
                             '0, acceleration-level row 1'):
        compiled.rhs(0, state)
    compiled = compile_equations(
        particle(acc=rows, inconsistent='least-squares'), {m: 2, g: 1})
    # b = (1, 3 + 1/2) acts as 1 + 3/10*1/2
    np.testing.assert_allclose(compiled.accelerations(0, state), [1.15, -1])
    np.testing.assert_allclose(compiled.multipliers(0, state),
                               np.array([1, 3])*2*1.15/10)


def test_many_constants_do_not_fill_the_memory(pendulum):
    """Of what is kept for each set of constants, and what it gives."""
    compiled = compile_equations(pendulum.method, pendulum.constants)
    for length in np.linspace(1, 2, 2*KEPT_SOLVERS):
        state = [length, 0, 0, 1]
        rates = compiled.rhs(0, state, {l: length})
        np.testing.assert_allclose(rates, [0, 1, -1/length, -9.81], atol=1e-12)
        assert compiled.multipliers(0, state, {l: length}).shape == (1,)
    assert len(compiled._decided) <= KEPT_SOLVERS


class Forgetful(dict):
    """As if another thread cleared it at once."""

    def __setitem__(self, key, value):
        self.clear()


def test_quick_functions_that_another_thread_has_cleared(pendulum, states):
    equations = pickle.loads(pickle.dumps(pendulum.compiled))
    wanted = equations.rhs(0., states[0], equations.p)
    equations._decided = Forgetful()
    found = equations.rhs(0., states[0], equations.p)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize('backend', ['numpy', 'llvm'])
@pytest.mark.parametrize('t, error', [
    (None, TypeError), ('0.5', TypeError), ('a', TypeError),
    (np.nan, ValueError), (np.inf, ValueError)])
def test_the_time_is_checked_where_nothing_depends_on_it(t, error, backend):
    q = dynamicsymbols('q')
    compiled = compile_equations(
        UdwadiaKalabaMethod(q.diff()**2/2 - q**2/2, [q]), backend=backend)
    compiled.rhs(0, [1., 0])
    for function in (compiled.rhs, compiled.accelerations, compiled.energy,
                     compiled.residuals):
        for state in (np.array([1., 0]), [1., 0], np.ones((3, 2))):
            with pytest.raises(error, match='`t` is'):
                function(t, state)
