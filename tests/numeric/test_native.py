"""Compiled backends against NumPy: same numbers, same errors, no garbage."""
import ctypes
import gc
import pickle
import sys

import numpy as np
import pytest
from scipy.special import j0
from sympy import (
    Abs, Derivative, Float, Function, Heaviside, Integral, Max, Min, Mod,
    Piecewise, Rational, Symbol, Xor, acosh, asin, atan2, besselj, cbrt, cos,
    coth, erf, exp, floor, log, sech, sign, sin, sqrt, sympify)
from sympy.abc import x, y
from sympy.physics.mechanics import dynamicsymbols
from sympy.utilities.lambdify import implemented_function

import exports
import mechanisms
from exports import FUNCTIONS, POINTS
from mechanisms import g, l, m, particle, t
from sympy_constrained import LinearMappingMethod, UdwadiaKalabaMethod
from sympy_constrained.errors import (
    MissingIngredientError, UnsupportedFeatureError)
from sympy_constrained.graph import Graph, GraphBuilder, read
from sympy_constrained.models import MODELS
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.numeric.codegen.python_code import Generated
from sympy_constrained.numeric.codegen.native import (
    Native, chosen, compiled_outputs, has_llvm)

X, Y, Z = dynamicsymbols('x y z')
needs_llvm = pytest.mark.skipif(not has_llvm(), reason='no llvmlite')
# The slow run has all models.
QUICK = {'four_bar', 'parallel_cranks', 'rolling_disc', 'driven_pendulum',
         'heavy_top_quaternion'}


def close(found, wanted, condition=1.):
    """Relative to the largest entry, and to what the condition allows."""
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(
        found, wanted, rtol=0, atol=1e-13*max(
            1., np.abs(wanted).max(initial=0.))/min(1., 100*condition))


def outcome(function, *arguments):
    """The value, or the error in words."""
    try:
        return function(*arguments)
    except Exception as error:
        return f'{type(error).__name__}: {error}'


def both(method, constants, inputs=None):
    """Compiled by NumPy and by LLVM."""
    return [compile_equations(method, constants, inputs, one)
            for one in ('numpy', 'llvm')]


def same_outcome(plain, quick, name, *arguments):
    """The value or the error in words, which does not depend on backends."""
    wanted, found = (outcome(getattr(one, name), *arguments)
                     for one in (plain, quick))
    np.testing.assert_equal(found, wanted)
    return wanted


def ready(name, *backends):
    """A ready model compiled by several backends, and an admissible state."""
    _, compiled, start = exports.ready(name)
    return *(compile_equations(compiled, backend=backend)
             for backend in backends), start


# -- every ready model ----------------------------------------------------

@needs_llvm
@pytest.mark.parametrize('name', [
    pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow])
    for name in MODELS])
def test_ready_models_are_those_of_numpy(name):
    plain, quick, start = ready(name, 'numpy', 'llvm')
    random = np.random.default_rng(7)
    x = start + 0.02*random.standard_normal((9, len(start)))
    times = random.random(9)
    names = 'rates', 'W', 'r'
    for size, at in ((0, .7), (1, .7), (7, times[:7]), (8, times[:8]),
                     (9, times), (9, .7)):
        wanted = plain.evaluate(names, at, x[:size])
        for key, value in quick.evaluate(names, at, x[:size]).items():
            assert value.shape == wanted[key].shape
            close(value, wanted[key])
    p = plain.p*(1 + 1e-3*random.standard_normal((9, len(plain.p))))
    wanted = plain.evaluate(names, times, x, p)
    for key, value in quick.evaluate(names, times, x, p).items():
        close(value, wanted[key])
    solver = plain.linear_solver(.7, start)
    wanted = plain.rhs(times, x, solver=solver)
    condition = min(solver.solve(W, r)[1]
                    for W, r in zip(*plain.matrices(times, x)))
    for size in (0, 1, 7, 8, 9):
        close(quick.rhs(times[:size], x[:size], solver=solver),
              wanted[:size], condition)
    many = quick.rhs(np.tile(times, 120), np.tile(x, (120, 1)),
                     solver=solver)     # more than one block
    close(many, np.tile(wanted, (120, 1)), condition)
    close([quick.rhs(*at, solver=solver) for at in zip(times, x)], wanted,
          condition)
    close(quick.rhs(.7, start), plain.rhs(.7, start), condition)
    close(quick.rhs(.7, start, plain.p), plain.rhs(.7, start), condition)
    function = quick.quick_rates(solver)
    assert function is not None or name not in QUICK
    if function is not None:
        close([function(*at) for at in zip(times, x)], wanted, condition)


# -- functions ------------------------------------------------------------

UNKNOWN = [besselj(0, x), Mod(x, 2), coth(x), sech(x),
           Piecewise((1, Xor(x > 1, y > 1)), (2, True))]


def outputs(backend, *expressions, inputs=(x, y), given=None):
    """The expressions as one output ``f`` of a backend."""
    builder = GraphBuilder()
    rows = [[read(builder, sympify(e))] for e in expressions]
    graph = Graph.freeze(builder, {'f': (rows, 1)})
    arguments = {Symbol('t'): Symbol('t')}
    arguments.update({item: Symbol(f'x{i}') for i, item in enumerate(inputs)})
    return compiled_outputs(backend, graph, ['f'], arguments, given or {})


@needs_llvm
def test_functions_have_the_values_of_numpy():
    quick, plain = (outputs(one, *FUNCTIONS) for one in ('llvm', 'numpy'))
    assert isinstance(quick, Native) and type(plain) is Generated
    wanted = plain.batch(9, 0., *POINTS.T)['f']
    for size in (9, 8, 7, 1, 0):
        found = quick.batch(size, 0., *POINTS[:size].T)['f']
        np.testing.assert_allclose(found, wanted[:size], rtol=1e-13,
                                   atol=1e-15)
    found = [quick.scalar(0., *point)['f'] for point in POINTS]
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)


@needs_llvm
def test_blocks_of_code_may_have_only_constants():
    g = GraphBuilder()
    refs = [g.constant(k + .5) for k in range(1200)]
    graph = Graph.freeze(g, {
        'f': ([[g.mul(ref, read(g, t))] for ref in refs], 1)})
    quick = compiled_outputs('llvm', graph, ['f'], {t: Symbol('t')}, {})
    assert quick.scalar(2.)['f'].sum() == 1200**2


@needs_llvm
@pytest.mark.parametrize('expr', UNKNOWN, ids=str)
def test_other_functions_are_evaluated_by_numpy(expr):
    quick, plain = (outputs(one, -expr*y) for one in ('llvm', 'numpy'))
    wanted = plain.batch(9, 0., *POINTS.T)['f']
    np.testing.assert_array_equal(quick.batch(9, 0., *POINTS.T)['f'], wanted)
    np.testing.assert_allclose(quick.scalar(0., *POINTS[1])['f'], wanted[1],
                               rtol=1e-14)


root = sqrt(x)


@needs_llvm
@pytest.mark.parametrize('expr', [
    1/(x + 1), root, cbrt(x), x**y, log(x), log(x + 1), exp(-1e3*x), asin(2*x),
    acosh(x), Max(root, y), Max(y, root), Max(root, 0), Min(root, y, 1),
    Min(y, log(x)), sign(root), Heaviside(root), Heaviside(root, 1),
    Abs(root), floor(root), Piecewise((root, x < 0), (1, True)),
    Piecewise((1, x > 0)), atan2(root, y), erf(root), 1e300*x*1e300,
    x*Float('1e400')], ids=str)
def test_no_value_is_the_error_of_numpy(expr):
    quick, plain = (outputs(one, y, expr) for one in ('llvm', 'numpy'))
    for call in (('scalar', 0., -1., .5),
                 ('batch', 3, 0., np.array([2., -1., -1.]), .5)):
        wanted = same_outcome(plain, quick, *call)
        assert 'NotFiniteError: The outputs f' in wanted


@needs_llvm
def test_motions_with_functions_that_cannot_be_compiled():
    """Their projections are those of NumPy, too."""
    q, v = dynamicsymbols('q v')
    rod = UdwadiaKalabaMethod(
        m*(q.diff(t)**2 + v.diff(t)**2)/2 - m*g*v - besselj(0, q), [q, v],
        hol_coneqs=[q**2 + v**2 - 1])
    plain, quick = (simulate(one, 1, [1, 0, 0, 0], t_eval=3)
                    for one in both(rod, {m: 1, g: 9.81}))
    np.testing.assert_allclose(quick.x, plain.x, atol=1e-7)
    assert quick.largest_residual < 1e-14
    energy = (quick.x[:, 2:]**2).sum(1)/2 + 9.81*quick.x[:, 1] + j0(
        quick.x[:, 0])
    np.testing.assert_allclose(energy, j0(1), atol=1e-6)


@pytest.mark.parametrize('backend', [
    'numpy', pytest.param('llvm', marks=needs_llvm)])
def test_branches_that_are_not_taken_may_have_no_value(backend):
    made = outputs(backend, Piecewise((sqrt(x), x > 0), (1/x, x < 0),
                                      (y, True)))
    points = np.array([4., -2., 0.])
    np.testing.assert_array_equal(
        made.batch(3, 0., points, 7.)['f'].ravel(), [2, -.5, 7])
    assert [made.scalar(0., a, 7.)['f'].item() for a in points] == [2, -.5, 7]


@needs_llvm
def test_numbers_beyond_floats_are_the_error_of_numpy():
    quick, plain = (outputs(one, 10**400*x) for one in ('llvm', 'numpy'))
    same_outcome(plain, quick, 'scalar', 0., 1., 1.)


# -- functions and inputs of the user -------------------------------------

def table(value):
    return float(np.interp(value, [-5, 0, 5], [1., 2, 0]))


@needs_llvm
def test_functions_of_the_user_are_called():
    friction = implemented_function('friction', table)
    method = particle([X - Y], generalized_forces=[friction(X.diff()), 0])
    plain, quick = both(method, {m: 2, g: 1})
    states = np.array([[0, 0, v, v] for v in np.linspace(-3, 3, 9)])
    for at in (states, states[0]):
        np.testing.assert_allclose(quick.rhs(0, at), plain.rhs(0, at),
                                   rtol=1e-14)
    assert quick.accelerations(0, states[4])[0] == pytest.approx(
        (table(0) - 2)/4)


@needs_llvm
def test_derivatives_that_functions_of_the_user_name():
    """By ``fdiff``, compiled where it is elementary."""
    square = implemented_function('square', lambda v: v**2)
    square.fdiff = lambda self, k=1: 2*self.args[0] + sqrt(
        self.args[0])*self.args[0]**Rational(1, 3)
    quick = outputs('llvm', Derivative(square(x), x, evaluate=False))
    assert isinstance(quick, Native)
    assert quick.scalar(0., 4., 1.)['f'].item() == pytest.approx(
        8 + 2*4**(1/3), rel=1e-14)


@needs_llvm
def test_functions_without_a_number_are_named_as_by_numpy():
    method = particle([X - Y], generalized_forces=[Function('h')(X), 0])
    assert 'No numeric meaning is known for h' in same_outcome(
        *both(method, {m: 2, g: 1}), 'rhs', 0, np.zeros(4))


DRIVE = dynamicsymbols('f')
f_imp = implemented_function('tabulated', table)


@needs_llvm
@pytest.mark.parametrize('value', [
    sin(g*t), 3, 0, t**2/2, f_imp(t), f_imp(t)*t + g, Piecewise(
        (0, t < .2), (t, True)), Integral(sin(Symbol('s')),
                                          (Symbol('s'), 0, t)),
    besselj(1, t), lambda t, x: table(t) + x[0]], ids=map(str, range(10)))
def test_inputs_of_every_kind(value):
    method = particle([X - Y], generalized_forces=[DRIVE, 0])
    plain, quick = both(method, {m: 2, g: 1.5}, {DRIVE: value})
    states = np.array([[.1, .1, v, v] for v in range(3)], dtype=float)
    times = np.array([.1, .4, 3.])
    wanted = [plain.rhs(*at) for at in zip(times, states)]
    for kind in (np.array, list):
        np.testing.assert_allclose(
            [quick.rhs(at, kind(x)) for at, x in zip(times, states)], wanted,
            rtol=1e-13)
    if not isinstance(value, Integral):     # SciPy integrates numbers only
        np.testing.assert_allclose(quick.rhs(times, states), wanted,
                                   rtol=1e-13)


@needs_llvm
def test_errors_of_inputs_come_through():
    def broken(t, x):
        raise RuntimeError('no table entry')

    method = particle([X - Y], generalized_forces=[DRIVE, 0])
    compiled = compile_equations(method, {m: 2, g: 1}, {DRIVE: broken}, 'llvm')
    with pytest.raises(RuntimeError, match='no table entry'):
        compiled.rhs(0, [0, 0, 0, 0])
    zero = particle([X - Y], generalized_forces=[1/DRIVE, 0])
    assert 'NotFiniteError' in same_outcome(
        *both(zero, {m: 2, g: 1}, {DRIVE: 0}), 'rhs', 0, np.zeros(4))


# -- checks ---------------------------------------------------------------

def agree(plain, quick, x, condition=1e-9):
    """The same numbers or the same error, alone and in a batch.

    Without a ``condition`` any two errors are the same: where rounding
    decides, so does it about the words.
    """
    x = np.asarray(x, dtype=float)
    for state in (x, x.tolist(), x[None]):
        wanted, found = (outcome(one.rhs, 0., state) for one in (plain, quick))
        if not isinstance(wanted, str):
            close(found, wanted, condition or 1e-7)
        elif condition is None:
            assert isinstance(found, str)
        else:
            assert found == wanted
    return wanted


def pair(method, constants, good):
    """Compiled by NumPy and by LLVM, with the rank of a good state."""
    made = both(method, constants)
    for one in made:
        one.rhs(0, np.array(good, dtype=float))
    return made


@needs_llvm
@pytest.mark.parametrize('row, place, far', [
    (X*Y, [0, 0], [0, 1, 0]), (sin(X)*Y, [np.pi, 0], [0, 1, 0]),
    ((X - 1)*(X + Y), [1, -1], [-2, 1, -1]),
    (cos(X)*Y + 1 - sin(X), [np.pi/2, 0], [np.tan(.5), 0, 0])], ids=str)
def test_singular_states_are_not_answered(row, place, far):
    """Where a row vanishes, also where it is of the size of rounding."""
    x, y = place
    plain, quick = pair(particle([row]), {m: 1, g: 1}, [x + 1, *far])
    found = set()
    for distance in (1e-2, 1e-3, 1e-7, 1e-9, 1e-13, 1e-17, 0):
        wanted = agree(plain, quick, [x + distance, y, 1, 1], None)
        found.add(isinstance(wanted, str))
        assert not isinstance(wanted, str) or 'ingular' in wanted
    assert found == {True, False}


@needs_llvm
@pytest.mark.parametrize('method', [
    UdwadiaKalabaMethod, LinearMappingMethod], ids=lambda m: m.__name__)
def test_a_mass_that_vanishes_at_the_pole(method):
    """In symmetric equations, and in those that are eliminated as they come.
    """
    L = (sin(Y)**2*X.diff()**2 + Y.diff()**2 + Z.diff()**2/9)/2 - g*cos(Y)
    found = method(L, [X, Y, Z], nonhol_coneqs=[Z.diff() - Y.diff()*cos(X)])
    width = 5 + (method is UdwadiaKalabaMethod)
    plain, quick = pair(found, {g: 1}, np.ones(width))
    kinds = []
    for distance in (.1, 1e-3, 1e-7, 1e-10, 0):
        state = np.array([.3, np.pi - distance, 0, 1e-2, .5, .5][:width])
        kinds.append(isinstance(agree(plain, quick, state, 1e-7), str))
    assert kinds == [False, False, True, True, True]


@needs_llvm
def test_poor_pivots():
    """Rows that become parallel: the carried choice is not good any more."""
    rows = [X.diff() + Y.diff(), X.diff() + cos(Z)*Y.diff()]
    method = UdwadiaKalabaMethod(
        (X.diff()**2 + Y.diff()**2 + Z.diff()**2)/2 - g*Y, [X, Y, Z],
        nonhol_coneqs=rows)
    plain, quick = pair(method, {g: 1}, [0, 0, 1., 0, 0, 1])
    for angle in (1., 1e-1, 1e-3, 1e-6, 1e-9, 0):
        agree(plain, quick, [0, 0, angle, .5, -.5, 1.], 1e-7)
    twice = UdwadiaKalabaMethod(
        (X.diff()**2 + Y.diff()**2 + Z.diff()**2)/2 - g*Y, [X, Y, Z],
        nonhol_coneqs=rows + [2*X.diff() + (1 + cos(Z))*Y.diff()])
    plain, quick = pair(twice, {g: 1}, [0, 0, 1., 0, 0, 1])
    solvers = [one.linear_solver(0, [0, 0, 1., 0, 0, 1])
               for one in (plain, quick)]
    for angle in (1., 1e-1, 3e-2):
        state = np.array([0, 0, angle, .5, -.5, 1.])
        close(quick.rhs(0, state, solver=solvers[1]),
              plain.rhs(0, state, solver=solvers[0]), 1e-9)


@needs_llvm
def test_redundant_rows_that_contradict_each_other():
    rows = [X.diff(t, 2) - 1, 3*X.diff(t, 2) - 3.5]
    for options in ({}, {'inconsistent': 'least-squares'}):
        agree(*both(particle(acc=rows, **options), {m: 2, g: 1}), [0, 0, 0, 0])


@needs_llvm
def test_one_bad_state_of_a_batch():
    """It is solved by the other way, or named; the rest is not touched."""
    method = particle([sin(X)*Y])
    plain, quick = pair(method, {m: 1, g: 1}, [1., 0, 1, 0])
    good = np.array([[.5 + i/9, 0, 1, 0] for i in range(9)])
    close(quick.rhs(0, good), plain.rhs(0, good))
    for i in (0, 4, 8):
        bad = good.copy()
        bad[i, 0] = np.pi
        same_outcome(plain, quick, 'rhs', 0, bad)
    other = particle([Y - log(X)])
    plain, quick = pair(other, {m: 1, g: 1}, [1., 0, 1, 1])
    bad = np.array([[1., 0, 1, 1], [2, .7, 1, .5], [-1., 0, 1, 1]])
    bad[2, 0] = 0.
    wanted = same_outcome(plain, quick, 'rhs', 0, bad)
    assert 'of state 2' in wanted
    assert outcome(quick.rhs, 0, bad, np.tile(plain.p, (3, 1))) == wanted
    bad[1, 1] = np.nan
    assert '`x` is not finite' in same_outcome(
        plain, quick, 'residuals', 0, bad[:2])


@needs_llvm
@pytest.mark.parametrize('arguments', [
    (0., [1, 2, 3]), (0., np.zeros(3)), (0., np.zeros((2, 3))),
    (0., np.full(4, np.nan)), (np.nan, np.ones(4)), (0., 'x'),
    ('x', np.ones(4)), (None, np.ones(4)), (0., np.ones(4), [1., 2]),
    (0., np.ones(4), {'q': 1}),
    (0., np.ones(4), [1., 2, np.nan]), (np.zeros(3), np.ones(4)),
    (0., np.ones((2, 2, 2))), (0., np.array(['a']*4))], ids=repr)
def test_bad_arguments_are_refused_as_by_numpy(arguments):
    method = particle([X**2 + Y**2 - (l*(1 + sin(t)/9))**2])
    plain, quick = both(method, {m: 1, g: 1, l: 1})
    for _ in range(2):                  # before and after a good call
        assert isinstance(same_outcome(plain, quick, 'rhs', *arguments), str)
        for one in (plain, quick):
            one.rhs(0, np.array([1., 0, 0, 0]))


@needs_llvm
def test_arrays_of_every_kind_are_states(pendulum):
    quick = compile_equations(pendulum.method, pendulum.constants,
                              backend='llvm')
    x = np.array([2., 0, 0, 3])
    wanted = quick.rhs(0, x)
    frozen = x.copy()
    frozen.flags.writeable = False
    wide = np.arange(8.)
    wide[::2] = x
    for same in (x.tolist(), tuple(x), x.astype(int), x.astype('>f8'),
                 x.astype(np.float32), frozen, wide[::2], x[::-1][::-1],
                 np.asfortranarray(x), x.astype(object)):
        np.testing.assert_array_equal(quick.rhs(0, same), wanted)
    for same in (np.asfortranarray([x, x]), np.array([x, x])[::-1],
                 [x.tolist()]*2):
        np.testing.assert_allclose(quick.rhs(0, same), [wanted]*2, rtol=1e-13)


# -- results are the caller's, and the same again -------------------------

@pytest.mark.parametrize('backend', [
    'numpy', pytest.param('llvm', marks=needs_llvm)])
def test_results_do_not_share_memory(backend, pendulum):
    quick = compile_equations(pendulum.method, pendulum.constants,
                              backend=backend)
    for function in (quick.rhs, lambda *at: quick.matrices(*at)[0]):
        first = function(0, pendulum.start)
        kept = first.copy()
        function(0, pendulum.start + 1)
        np.testing.assert_array_equal(first, kept)
        first[:] = 0
        np.testing.assert_array_equal(function(0, pendulum.start), kept)


@needs_llvm
def test_a_state_does_not_feel_its_neighbours():
    compiled, start = ready('four_bar', 'llvm')
    batch = start + np.linspace(0, .1, 19)[:, None]
    whole = compiled.rhs(.1, batch)
    for part in (slice(0, 8), slice(3, 4), slice(5, 14)):
        np.testing.assert_array_equal(compiled.rhs(.1, batch[part]),
                                      whole[part])


@needs_llvm
def test_compiled_equations_pickle(cranks):
    quick = compile_equations(cranks.method, cranks.constants, backend='llvm')
    wanted = quick.rhs(0, cranks.start)
    packed = pickle.dumps(quick)
    assert b'lambdify' not in packed
    again = pickle.loads(packed)
    assert (again.backend, again.states) == ('llvm', quick.states)
    np.testing.assert_array_equal(again.p, quick.p)
    np.testing.assert_array_equal(again.rhs(0, cranks.start), wanted)
    function = quick.native_function(x=cranks.start)
    address = function.address
    copy = pickle.loads(pickle.dumps(function))
    assert copy.address != address
    np.testing.assert_array_equal(
        copy.bound((6,), quick.p)(0., cranks.start),
        function.bound((6,), quick.p)(0., cranks.start))


# -- functions for others -------------------------------------------------

@pytest.fixture
def native():
    """The compiled equations of a pendulum, and their function."""
    made = mechanisms.pendulum()
    compiled = compile_equations(made.method, made.constants, backend='llvm')
    return compiled, compiled.native_function(x=made.start), made.start


def arrays(*values):
    return [np.array(value, dtype=float) for value in values]


def call_by_address(address, t, x, p, size):
    """As a program in another language would."""
    pointer = ctypes.POINTER(ctypes.c_double)
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double,
                                *[pointer]*4)(address)
    x, p, r, out = arrays(x, p, [0], [np.nan]*size)
    status = function(t, *(a.ctypes.data_as(pointer) for a in (x, p, r, out)))
    return status, out


def test_a_native_function_by_its_address(native):
    compiled, function, start = native
    assert function.signature == (
        'int (double t, const double *x, const double *p, '
        'const double *r, double *out)')
    assert function.size == 5
    for one, places in ((function, (0, 1e-12)),
                        (compiled.native_function(), (0,))):
        status, out = call_by_address(one.address, 0., start, compiled.p, 5)
        assert status == 0
        close(out[:4], compiled.rhs(0, start))
        close(out[4:], compiled.multipliers(0, start))
        for place in places:            # singular, or nearly
            status, _ = call_by_address(
                one.address, 0., [place, 0, 1, 1], compiled.p, 5)
            assert status != 0


def test_machine_code_lives_as_long_as_what_refers_to_it(native):
    compiled, _, start = native
    wanted = compiled.rhs(0, start)
    first = compiled.native_function(x=start)
    call, bound, scipys = (first.function, first.bound((4,), compiled.p),
                           first.low_level_callable())
    p = compiled.p
    del first, compiled, native
    gc.collect()
    for _ in range(20):                 # memory that would be used again
        outputs('llvm', x + y).scalar(0., 1., 2.)
    x_, p_, out = arrays(start, p, np.zeros(5))
    assert call(0., x_.ctypes.data, p_.ctypes.data, None, out.ctypes.data) == 0
    close(out[:4], wanted)
    close(bound(0., x_)[:4], wanted)
    assert scipys.function(0., x_.ctypes.data, p_.ctypes.data, None,
                           out.ctypes.data) == 0


def test_other_outputs_as_native_functions(native):
    compiled, _, start = native
    function = compiled.native_function('W')
    status, out = call_by_address(function.address, 0., start, compiled.p, 9)
    assert (status, function.size) == (0, 9)
    close(out.reshape(3, 3), compiled.matrices(0, start)[0])
    with pytest.raises(KeyError, match='no output'):
        compiled.native_function('Q_c')


@needs_llvm
def test_inputs_of_native_functions():
    method = particle([X - Y], generalized_forces=[DRIVE, 0])
    written = compile_equations(method, {m: 2, g: 1}, {DRIVE: sin(g*t)},
                                'llvm')
    called = compile_equations(method, {m: 2, g: 1}, {
        DRIVE: lambda t, x: np.sin(t)}, 'llvm')
    x = np.array([.1, .1, 2, 2])
    wanted = written.rhs(.3, x)
    for compiled, r in ((written, [0]), (called, [np.sin(.3)])):
        function = compiled.native_function(x=x)
        x_, p, r, out = arrays(x, compiled.p, r, np.zeros(function.size))
        assert function.function(.3, *(a.ctypes.data for a in (
            x_, p, r, out))) == 0
        close(out[:4], wanted)


@needs_llvm
def test_least_squares_are_no_native_function():
    compiled = compile_equations(
        particle([mechanisms.x - t], inconsistent='least-squares'),
        {m: 1, g: 2}, backend='llvm')
    for state in (None, [0, 1, 1, 0]):
        with pytest.raises(UnsupportedFeatureError, match='no compiled solu.*'
                           'least squares.*or call `rhs`'):
            compiled.native_function(x=state)
    close(compiled.rhs(0, [0, 1, 1, 0]), [1, 0, 0, -2])


@needs_llvm
def test_redundant_rows_of_native_functions(doubled):
    compiled = compile_equations(doubled.method, doubled.constants,
                                 backend='llvm')
    with pytest.raises(UnsupportedFeatureError,
                       match='no compiled solution.*Pass a state `x`'):
        compiled.native_function()
    function = compiled.native_function(x=doubled.start)
    status, out = call_by_address(function.address, 0., doubled.start,
                                  compiled.p, function.size)
    assert status == 0
    close(out[:4], compiled.rhs(0, doubled.start))


# -- what is installed ----------------------------------------------------

def test_compiled_equations_for_another_backend(pendulum):
    before = pendulum.compiled
    assert compile_equations(before) is before
    assert before.backend == chosen('auto') == (
        'llvm' if has_llvm() else 'numpy')
    other = compile_equations(before, {g: 1.62}, backend='numpy')
    assert other.backend == other.with_values({g: 1}).backend == 'numpy'
    assert other.p.tolist() == [1.5, 1.62, 2]
    np.testing.assert_allclose(
        other.rhs(0, pendulum.start),
        before.rhs(0, pendulum.start, {g: 1.62}), rtol=1e-12)
    with pytest.raises(ValueError, match='`backend` .foo. is not known'):
        compile_equations(before, backend='foo')


@pytest.mark.parametrize('case', ['without a binding', 'old'])
def test_without_a_recent_llvmlite(monkeypatch, pendulum, case):
    if case == 'old':
        pytest.importorskip('llvmlite')
        monkeypatch.setattr('llvmlite.binding.llvm_version_info', (15, 0, 7))
    else:
        monkeypatch.setitem(sys.modules, 'llvmlite.binding', None)
    assert not has_llvm()
    with pytest.raises(MissingIngredientError, match='needs numba with '
                       'llvmlite 0.45 or newer .*the extra `fast`'):
        compile_equations(pendulum.method, pendulum.constants, backend='llvm')
    compiled = compile_equations(pendulum.method, pendulum.constants)
    assert compiled.backend == 'numpy'
    close(compiled.rhs(0, pendulum.start), [0, 0, 0, -9.81])


@needs_llvm
@pytest.mark.parametrize('order', [1, -1])
def test_a_pivot_that_vanishes_where_the_constraints_hold(order):
    """Nearest point of a parabola; the distance does not depend on ``Z``."""
    distance = (X - Z)**2 + (Y - Z**2/2)**2
    method = UdwadiaKalabaMethod(
        m*(X.diff()**2 + Y.diff()**2)/2 - m*g*Y, [X, Y, Z],
        hol_coneqs=[distance - 1, distance.diff(Z)][::order])
    compiled, other = (compile_equations(method, {m: 1, g: 9.81}, backend=name)
                       for name in ('llvm', 'numpy'))
    start = consistent_state(compiled, [.5, 1.2, .6, 1, 0, .5], [X, X.diff()])
    for drift in 1e-7, 1e-9, 3e-10:
        x = start + [0, 0, drift, 0, 0, 0]
        close(compiled.rhs(0, x), other.rhs(0, x))


@needs_llvm
def test_pickled_where_there_was_llvmlite(monkeypatch, pendulum):
    saved = pickle.dumps(compile_equations(
        pendulum.method, pendulum.constants, backend='llvm'))
    monkeypatch.setitem(sys.modules, 'llvmlite.binding', None)
    with pytest.raises(MissingIngredientError, match='the extra `fast`'):
        pickle.loads(saved).rhs(0, pendulum.start)
