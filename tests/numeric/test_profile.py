"""Large systems in compiled loops, against NumPy and straight-line code."""
import ctypes
import pickle

import numpy as np
import pytest

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import UnsupportedFeatureError
from sympy_constrained.models import MODELS, model
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.numeric.codegen import solution

pytest.importorskip('numba')
profile = pytest.importorskip('sympy_constrained.numeric.codegen.profile')
DENSE, BAND, NET = range(3)
QUICK = ('four_bar', 'rolling_disc', 'closed_chain_3d', 'parallel_cranks',
         'heavy_top_quaternion', 'driven_pendulum', 'massless_coordinate')


def neighbours(kind, n):
    """Which unknowns of the mass matrix meet."""
    i, j = np.indices((n, n))
    if kind == NET:                     # a square, row by row
        side = int(n**0.5)
        return np.maximum(abs(i//side - j//side), abs(i % side - j % side)) < 2
    return abs(i - j) < (3 if kind == BAND else n)


@pytest.mark.parametrize('kind', [DENSE, BAND, NET])
@pytest.mark.parametrize('n, m', [(1, 0), (1, 1), (9, 4), (49, 9)])
def test_solution_pivots_and_sizes(kind, n, m):
    """Of shuffled systems, against NumPy."""
    random = np.random.default_rng(n + kind)
    some = random.permutation(n)
    pattern = neighbours(kind, n)[np.ix_(some, some)]
    M = np.where(pattern, random.normal(size=(n, n)), 0)
    M = M + M.T + np.diag(2*abs(M).sum(axis=1) + 1)
    A = np.where(random.permutation(pattern)[:m], random.normal(
        size=(m, n)), 0) + np.eye(m, n)
    K = np.block([[M, A.T], [A, np.zeros((m, m))]])
    made = profile.Profile(K != 0, n)
    right = random.normal(size=n + m)
    work = np.concatenate([[K[i, j] for i, j in made.entries],
                           right[made.order], np.full(2*(n + m), np.nan)])
    assert len(work) == made.size
    for run in profile.factorize, called:
        found = work.copy()
        run(found, made.tables)
        z, pivots, sizes = found[made.count:].reshape(3, -1)
        np.testing.assert_allclose(K[made.order][:, made.order]@z,
                                   right[made.order], atol=1e-9)
        assert ((pivots > 0) == (made.order < n)).all()
        assert (sizes >= abs(pivots)*(1 - 1e-9)).all()
        sign, logarithm = np.linalg.slogdet(K)
        assert np.prod(np.sign(pivots)) == sign
        assert np.log(abs(pivots)).sum() == pytest.approx(logarithm)
    if kind == BAND and n == 49 and not m:
        assert made.count < 3*n


def called(work, tables):
    """The compiled loops, by their address."""
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
        profile.kernel().address)(work.ctypes.data, tables.ctypes.data)


@pytest.fixture
def always(monkeypatch):
    """Loops for systems of any size."""
    monkeypatch.setattr(solution, 'LONG', 0)


def is_massless(equations, x):
    """Whether the mass matrix is singular, where loops fail."""
    M = equations.matrices(0., x)[0][:equations.motion, :equations.motion]
    return np.linalg.cond(M) > 1e12


@pytest.mark.parametrize('name', [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
    for name in sorted(MODELS)])
def test_loops_give_the_rates_of_straight_line_code(name, monkeypatch):
    """At consistent states of every ready model."""
    ready = model(name)
    made = (ready.form(UdwadiaKalabaMethod), ready.parameters,
            dict.fromkeys(ready.inputs, 0.3))
    straight = compile_equations(*made)
    x = np.array(consistent_state(straight, ready.start))
    wanted = straight.rhs(0., x)
    monkeypatch.setattr(solution, 'LONG', 0)
    looped = compile_equations(*made)
    solver = looped.linear_solver(0., x)
    code, p = looped.native_rates(solver)
    if code is None or is_massless(looped, x):
        return
    out = np.empty(code.size)
    assert not code.function(0., x.ctypes.data, p.ctypes.data, x.ctypes.data,
                             out.ctypes.data)
    np.testing.assert_allclose(
        out[:len(wanted)], wanted, rtol=0,
        atol=1e-9*max(1., abs(wanted).max()))
    np.testing.assert_allclose(looped.rhs(0., x), out[:len(wanted)])


def test_loops_see_a_singular_mass_matrix(always):
    """The checks fail, and the linear solver takes over."""
    ready = model('closed_chain')
    equations = compile_equations(
        ready.form(UdwadiaKalabaMethod), ready.parameters)
    x = np.array(consistent_state(equations, ready.start))
    code, p = equations.native_rates(equations.linear_solver(0., x))
    assert code.has_loops
    p, out = p.copy(), np.empty(code.size)
    p[:len(equations.constants)] = 0.
    assert code.function(0., x.ctypes.data, p.ctypes.data, x.ctypes.data,
                         out.ctypes.data)


def test_a_motion_in_loops(always):
    """Rates, projection and energy as by straight-line code."""
    ready = model('four_bar')

    def motion():
        return simulate(
            ready.form(UdwadiaKalabaMethod), 1, ready.start,
            constants=ready.parameters, rtol=1e-10, atol=1e-12,
            initial='project')

    looped = motion()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solution, 'LONG', 20000)
        straight = motion()
    np.testing.assert_allclose(looped.x[-1], straight.x[-1], atol=1e-9)
    assert looped.largest_residual < 1e-12


@pytest.mark.slow
def test_forty_bars():
    """Too long for straight-line code: native, in batches, from a pickle."""
    ready = model('closed_chain_absolute', n=40)
    equations = compile_equations(
        ready.form(UdwadiaKalabaMethod), ready.parameters)
    x = np.array(consistent_state(equations, ready.start))
    W, r = equations.matrices(0., x)
    wanted = np.linalg.solve(W, r)[:equations.motion]
    native = equations.native_function('rhs', 0., x)
    assert native.has_loops and native.address
    for found in (
            equations.rhs(0., x), equations.rhs(0., np.array([x, x]))[1],
            pickle.loads(pickle.dumps(equations)).rhs(0., x)):
        np.testing.assert_allclose(found[-equations.motion:], wanted,
                                   rtol=1e-9, atol=1e-9*abs(wanted).max())
    with pytest.raises(UnsupportedFeatureError, match='no text'):
        native.text('js')
