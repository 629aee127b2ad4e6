"""The compiled functions in SciPy, numba, cffi and ctypes, by address."""
import ctypes

import numpy as np
import pytest
from scipy import LowLevelCallable, integrate
from sympy import cos, symbols
from sympy.physics.mechanics import dynamicsymbols

from exports import ready
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations

pytest.importorskip('llvmlite')
POINTER = ctypes.c_void_p
PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, POINTER, POINTER,
                             POINTER, POINTER)


def pendulum():
    """A pendulum on a spring, and its constants."""
    m, g, l, k = symbols('m g l k')
    q = dynamicsymbols('q')
    method = UdwadiaKalabaMethod(
        m*l**2*q.diff()**2/2 + m*g*l*cos(q) - k*q**2/2, [q])
    return compile_equations(
        method, {m: 1.5, g: 9.81, l: .7, k: 3.}, backend='llvm')


def linkage():
    _, compiled, start = ready('four_bar')
    compiled = compile_equations(
        compiled.equations, compiled.p, backend='llvm')
    return compiled, start, compiled.native_function('rhs', x=start)


@pytest.mark.parametrize('points', [(-.5, 1.2), (0., 2.)])
def test_quad_integrates_a_compiled_force(points):
    """``double (int, double *)`` is one of the signatures of SciPy's quad.

    The work of the forces is the difference of the energies. The integrand
    is made by numba around the address of our function.
    """
    numba = pytest.importorskip('numba')
    compiled = pendulum()
    function = compiled.native_function('r')
    assert function.size == 1
    force = PROTOTYPE(function.address)
    count = len(compiled.p)

    @numba.cfunc('float64(intc, CPointer(float64))')
    def integrand(n, arguments):
        values = numba.carray(arguments, 1 + count)
        x, out = np.zeros(2), np.zeros(1)
        x[0] = values[0]
        force(0., x.ctypes, values[1:].ctypes, x.ctypes, out.ctypes)
        return out[0]

    callable_ = LowLevelCallable(integrand.ctypes)
    assert callable_.signature == 'double (int, double *)'
    work, error = integrate.quad(callable_, *points, args=tuple(compiled.p))
    energies = [compiled.energy(0, [a, 0.]) for a in points]
    assert work == pytest.approx(energies[0] - energies[1], abs=1e-12)
    assert error < 1e-10


def test_own_low_level_callable():
    """With address and signature, for code written for this signature."""
    compiled, start, function = linkage()
    made = function.low_level_callable()
    assert isinstance(made, LowLevelCallable)
    assert made.signature == function.signature
    with pytest.raises(ValueError, match='signature'):
        integrate.quad(made, 0, 1)


def test_numba_loop():
    """Euler's steps without Python, as in the documentation."""
    numba = pytest.importorskip('numba')
    compiled, start, function = linkage()
    f = PROTOTYPE(function.address)

    @numba.njit
    def euler(x, p, out, step, count):
        for _ in range(count):
            if f(0.0, x.ctypes, p.ctypes, p.ctypes, out.ctypes):
                return False
            x += step*out[:x.size]
        return True

    x, out = start.copy(), np.empty(function.size)
    assert euler(x, compiled.p, out, 1e-4, 100)
    wanted = start.copy()
    for _ in range(100):
        wanted += 1e-4*compiled.rhs(0, wanted)
    np.testing.assert_allclose(x, wanted, rtol=1e-12, atol=1e-13)


def test_numba_sees_that_there_is_no_solution():
    """The result of the function is its own check."""
    numba = pytest.importorskip('numba')
    m = symbols('m')
    q = dynamicsymbols('q')
    compiled = compile_equations(UdwadiaKalabaMethod(
        m*q**2*q.diff()**2/2, [q]), [2.], backend='llvm')
    function = compiled.native_function('rhs')
    f = PROTOTYPE(function.address)

    @numba.njit
    def status(x, p, out):
        return f(0.0, x.ctypes, p.ctypes, p.ctypes, out.ctypes)

    out = np.empty(function.size)
    assert status(np.array([1., 1.]), compiled.p, out) == 0
    assert status(np.array([0., 1.]), compiled.p, out) != 0


def test_cffi():
    cffi = pytest.importorskip('cffi')
    compiled, start, function = linkage()
    ffi = cffi.FFI()
    f = ffi.cast(function.signature.replace('int (', 'int(*)('),
                 function.address)
    out = np.empty(function.size)
    assert f(0.0, *(ffi.from_buffer('double[]', a) for a in (
        start, compiled.p, compiled.p)), ffi.from_buffer('double[]', out)) == 0
    count = len(compiled.states)
    np.testing.assert_allclose(out[:count], compiled.rhs(0, start),
                               rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(out[count:], compiled.multipliers(0, start),
                               rtol=1e-9)
