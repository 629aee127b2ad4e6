"""Export of the equations to casadi."""
import numpy as np
import pytest
from sympy import Function, Matrix, besselj, cos, sin, symbols
from sympy.abc import x, y
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

import exports
from combinations import every_third
from exports import close, ready
from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, RouthMethod,
    UdwadiaKalabaMethod, VaccoMethod, VoronetsMethod)
from sympy_constrained.errors import (
    MissingIngredientError, UnsupportedFeatureError)
from sympy_constrained.graph import Graph
from sympy_constrained.interop import to_casadi
from sympy_constrained.interop.casadi import functions as casadi_functions
from sympy_constrained.models import model
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.numeric.codegen.instructions import FUNCTIONS, program
from sympy_constrained.numeric.codegen.walk import OPERATORS, walk

ca = pytest.importorskip('casadi')
q = dynamicsymbols('q')
m, k = symbols('m k')


def spring(**options):
    return UdwadiaKalabaMethod(m*q.diff()**2/2 - k*q**2/2, [q], **options)


@pytest.mark.parametrize('name', every_third(exports.SMALL, 1))
def test_rates_are_the_compiled_ones(name):
    _, compiled, start = ready(name)
    f = to_casadi(compiled, 'rhs', .3, start)
    assert f.name_in() == ['t', 'x', 'p'] and f.name_out() == ['rates']
    state = start + .01*np.sin(np.arange(len(start)))
    solver = compiled.linear_solver(.3, start)
    for at in (start, state):
        close(f(.3, at, compiled.p), compiled.rhs(.3, at, solver=solver))


@pytest.mark.slow
@pytest.mark.parametrize('name', sorted(exports.LARGE))
def test_rates_of_large_models(name):
    _, compiled, start = ready(name)
    f = to_casadi(compiled, 'rhs', .3, start)
    close(f(.3, start, compiled.p), compiled.rhs(.3, start))


@pytest.mark.parametrize('cls', [
    UdwadiaKalabaMethod, GibbsAppellMethod, RouthMethod, LinearMappingMethod,
    HamelEmbedding, VaccoMethod])
def test_every_class_is_exported_without_a_state(cls):
    made = model('slider_crank')
    method = made.form(cls)
    compiled = compile_equations(method, made.parameters)
    state = np.linspace(.2, .9, len(compiled.states))
    close(to_casadi(method)(0, state, compiled.p), compiled.rhs(0, state))


@pytest.mark.parametrize('name', ['rhs', 'residual'])
def test_no_freedom_is_left(name):
    driven = VoronetsMethod(m*q.diff()**2/2, [q], q_dependent=[q],
                            hol_coneqs=[q - sin(dynamicsymbols._t)])
    assert to_casadi(driven, name).size_out(0) == (1, 1)


@pytest.mark.parametrize('name', exports.QUICK)
def test_multipliers_satisfy_the_equations(name):
    """Those of rows that were left out are zero."""
    _, compiled, start = ready(name)
    rates, lam = (np.array(to_casadi(compiled, what, .3, start)(
        .3, start, compiled.p)).ravel() for what in ('rhs', 'multipliers'))
    close(to_casadi(compiled, 'rhs', .3, start, solver='qr')(
        .3, start, compiled.p), rates)
    W, r = compiled.matrices(.3, start)
    close(W@np.concatenate([rates[-compiled.motion:], lam]), r, 1e-10)
    used = exports.independent(compiled, .3, start)
    assert all(lam[i - compiled.motion] == 0
               for i in range(compiled.motion, len(W)) if i not in used)


def test_one_speed_without_multipliers():
    assert to_casadi(spring(), 'multipliers')(0, [1, 0], [1, 1]).shape[0] == 0


@pytest.mark.parametrize('name', exports.QUICK)
def test_slope_is_that_of_differences(name):
    _, compiled, start = ready(name)
    f = to_casadi(compiled, 'rhs', .3, start)
    slope = f.factory('slope', f.name_in(), ['jac:rates:x'])
    close(slope(.3, start, compiled.p), exports.jacobian(
        compiled, .3, start, exports.independent(compiled, .3, start)))


# -- arguments ------------------------------------------------------------

def test_free_inputs_are_the_last_argument():
    force, other = dynamicsymbols('force other')
    method = spring(generalized_forces=[force + 2*other])
    f = to_casadi(method)
    assert f.name_in() == ['t', 'x', 'p', 'r']
    numbers, equations = {m: 2., k: 3.}, method.equations_of_motion
    p = [numbers[c] for c in equations.constants]
    r = [{force: 5., other: .5}[s] for s in equations.specifieds]
    close(f(0, [1, 0], p, r), [0, (5 + 1 - 3)/2])
    half = to_casadi(method, inputs={'other': k*q.func(0)*0 + 2*k})
    assert half.name_in() == ['t', 'x', 'p', 'r']
    close(half(0, [1, 0], p, [5]), [0, (5 + 12 - 3)/2])
    known = compile_equations(method, numbers, {
        force: sin(method.system.t), other: lambda t, x: .5})
    close(to_casadi(known)(.4, [1, 0], p, [.5]), known.rhs(.4, [1., 0.]))


def test_derivatives_of_an_input_come_with_it():
    path, t = dynamicsymbols('s'), dynamicsymbols._t
    method = spring(generalized_forces=[path.diff()])
    f = to_casadi(method, inputs={path: sin(3*t)})
    assert f.name_in() == ['t', 'x', 'p']
    p = [{m: 2., k: 3.}[c] for c in method.equations_of_motion.constants]
    close(f(.4, [0, 0], p), [0, 3*np.cos(1.2)/2])
    with pytest.raises(MissingIngredientError, match='is no specified'):
        to_casadi(method, inputs={'force': 1})


def test_outputs_of_the_graph():
    _, compiled, start = ready('four_bar')
    for name in ('energy', 'velocity', 'A'):
        f = to_casadi(compiled, name)
        close(f(0, start, compiled.p), compiled.evaluate(
            [name], 0, start)[name])
    with pytest.raises(ValueError, match="Choose 'rhs'"):
        to_casadi(compiled, 'velocities', 0, start)


@pytest.mark.parametrize('name', ['parallel_cranks', 'duplicated_rows'])
def test_rows_are_chosen_or_asked_for(name):
    """A method knows its rows; compiled equations need a state."""
    method, compiled, start = ready(name)
    close(to_casadi(method)(0, start, compiled.p), compiled.rhs(0, start))
    with pytest.raises(MissingIngredientError, match='Pass one as `x`'):
        to_casadi(compiled)
    with pytest.raises(MissingIngredientError):
        to_casadi(method, 'rhs', 0, start)      # without constants
    f = to_casadi(method, 'rhs', 0, start, constants=compiled.p)
    close(f(0, start, compiled.p), compiled.rhs(0, start))


def test_least_squares_needs_all_rows():
    X, Y = dynamicsymbols('x y')
    method = UdwadiaKalabaMethod(
        (X.diff()**2 + Y.diff()**2)/2, [X, Y], acceleration_constraints=[
            X.diff().diff() - 1, X.diff().diff() - 2],
        inconsistent='least-squares')
    compiled = compile_equations(method, {})
    with pytest.raises(UnsupportedFeatureError, match='least squares'):
        to_casadi(compiled, 'rhs', 0, np.zeros(4))


def test_ldl_is_refused_where_the_mass_is_singular():
    _, compiled, start = ready('quaternion_top_lagrange')
    with pytest.raises(UnsupportedFeatureError, match="solver='qr'"):
        to_casadi(compiled, 'rhs', 0, start, solver='ldl')


def test_no_pivot_vanishes_where_the_mass_is_indefinite():
    """``cos(X)`` is a natural pivot, and zero on the way."""
    X, Y = dynamicsymbols('x y')
    method = UdwadiaKalabaMethod(
        cos(X)*X.diff()**2/2 + X.diff()*Y.diff() - X*Y, [X, Y],
        nonhol_coneqs=[X.diff() - sin(Y)*Y.diff()])
    with pytest.raises(UnsupportedFeatureError, match='positive definite'):
        to_casadi(method, solver='ldl')
    state = [np.pi/2, .3, .1*np.sin(.3), .1]
    close(to_casadi(method)(0, state, []),
          compile_equations(method).rhs(0, state))


def test_upstream_methods_are_exported():
    theirs = LagrangesMethod(m*q.diff()**2/2 - k*q**2/2, [q])
    theirs.form_lagranges_equations()
    close(to_casadi(theirs)(0, [1, 2], [3, 4]), [2, -4/3 if (
        str(compile_equations(theirs, [3, 4]).constants[0]) == 'm')
        else -3/4])


# -- operations -----------------------------------------------------------

def functions(expressions):
    """The expressions as a program of ``x`` and ``y``."""
    graph = Graph.of({'f': Matrix(expressions)})
    return program(graph, ('f',), {x: ('x', 0), y: ('x', 1)})


def test_every_operation_has_its_value():
    graph = Graph.of({'f': Matrix(exports.FUNCTIONS)})
    code = functions(exports.FUNCTIONS)
    used = {op[0] for op in code.operations} | {
        op[1] for op in code.operations if op[0] == 'call'}
    # A tangent is read as a quotient.
    assert {*OPERATORS, *FUNCTIONS.values()} - {'tan'} <= used
    symbol = ca.SX.sym('x', 2)
    values = walk(code.operations, casadi_functions(ca),
                  {'x': ca.vertsplit(symbol)})
    f = ca.Function('f', [symbol], [ca.vertcat(
        *(values[i] for i in code.outputs))])
    for point in exports.POINTS:
        wanted = graph.evaluate(dict(zip((x, y), map(float, point))), ['f'])
        close(f(point), np.array(wanted['f'], dtype=float), 1e-14)


@pytest.mark.parametrize('force', [besselj(0, q), Function('h')(q)])
def test_other_functions_are_named(force):
    method = spring(generalized_forces=[force])
    with pytest.raises(UnsupportedFeatureError, match='compiled|meaning'):
        to_casadi(method)


def test_an_unknown_operation_is_named():
    with pytest.raises(UnsupportedFeatureError, match='`swap` has no'):
        walk([('const', 1.), ('swap', 0)], {'library': 'casadi'}, {})


# -- in use ---------------------------------------------------------------

def test_residual_runs_in_idas():
    """Index one, and the constraints as a third result."""
    _, compiled, start = ready('four_bar')
    f = to_casadi(compiled, 'residual', 0, start)
    assert f.name_in() == ['t', 'x', 'z', 'p']
    assert f.name_out() == ['ode', 'alg', 'constraints']
    rates = compiled.rhs(0, start)
    z = np.concatenate([rates[-compiled.motion:],
                        compiled.multipliers(0, start)])
    ode, alg, rows = f(0, start, z, compiled.p)
    close(ode, rates)
    close(alg, np.zeros(len(z)), 1e-10)
    close(rows, compiled.residuals(0, start))
    size = {key: f.size1_in(key) for key in f.name_in()}
    dae = {key: ca.SX.sym(key, n) for key, n in size.items()}
    dae |= f(**dae)
    del dae['constraints']
    run = ca.integrator('run', 'idas', dae, 0, .2, {
        'abstol': 1e-10, 'reltol': 1e-10})
    end = run(x0=start, z0=z, p=compiled.p)['xf']
    wanted = simulate(compiled, .2, start, rtol=1e-10, atol=1e-10)
    close(end, wanted.x[-1], 1e-7)


def test_rhs_runs_in_cvodes():
    _, compiled, start = ready('rolling_disc')
    f = to_casadi(compiled, 'rhs', 0, start)
    state = ca.SX.sym('x', len(start))
    run = ca.integrator('run', 'cvodes', {
        'x': state, 'ode': f(0, state, compiled.p)}, 0, .2, {
        'abstol': 1e-11, 'reltol': 1e-11})
    wanted = simulate(compiled, .2, start, rtol=1e-10, atol=1e-10)
    close(run(x0=start)['xf'], wanted.x[-1], 1e-7)
