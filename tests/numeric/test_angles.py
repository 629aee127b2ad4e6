"""Sines and cosines of compiled programs, many angles at once."""
import math
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from sympy import Matrix, cos, exp, sin, sqrt, symbols

from sympy_constrained.errors import NotFiniteError
from sympy_constrained.graph import Graph
from sympy_constrained.numeric import compile_equations
from sympy_constrained.numeric.codegen.sincos import LIMIT, combined
from sympy_constrained.numeric.codegen.native import (
    BATCH, SCALAR, has_llvm, machine_code, run_batch)
from sympy_constrained.numeric.codegen.instructions import program

needs_llvm = pytest.mark.skipif(not has_llvm(), reason='no llvmlite')
# Units in the last place
BOUND = 1.5


def made_of(expressions, names):
    """The program of expressions of ``x[0], x[1], ...``."""
    graph = Graph.of({'f': Matrix(expressions)})
    return program(graph, ['f'], {
        name: ('x', k) for k, name in enumerate(names)})


def function(made, effort=2):
    """``x -> outputs, whether they are bad`` of one state."""
    code, _ = machine_code(made, 'scalar', SCALAR, effort)

    def call(*x):
        x, out = np.array(x, dtype=float), np.empty(len(made.outputs))
        bad = code(0., x.ctypes.data, None, None, out.ctypes.data)
        return out, bool(bad)

    return call


def both(count=1):
    """Sines, then cosines, of ``count`` inputs."""
    names = symbols(f'x:{count}')
    return function(made_of([f(x) for f in (sin, cos) for x in names], names))


def arguments():
    """Small and large angles, and some next to multiples of ``pi/2``."""
    rng = np.random.default_rng(1)
    counts = [*range(-40, 41), *map(int, rng.integers(-318000, 318000, 300))]
    with mpmath.workdps(50):
        near = [float(k*mpmath.pi/2) for k in counts]
        halves = [float((2*k + 1)*mpmath.pi/4) for k in counts]
        # best rational approximations of pi
        near += [float(k) for k in (22, 355, 103993, 104348, 208341, 312689)]
    return np.concatenate([
        rng.uniform(-7, 7, 800), rng.uniform(-LIMIT, LIMIT, 500), near,
        halves, np.nextafter(halves, 0), -10.**rng.uniform(-300, 0, 200),
        [0., LIMIT, -LIMIT, np.nextafter(LIMIT, 0), 5e-324]])


def off(found, wanted):
    """Difference in units of the last place of ``wanted``."""
    if wanted == 0:
        return 0. if found == 0 else math.inf
    return float(abs(mpmath.mpf(found) - wanted)/math.ulp(float(wanted)))


def worst(found):
    """The largest error of pairs of an angle and both functions."""
    with mpmath.workdps(50):
        return max(max(off(s, mpmath.sin(x)), off(c, mpmath.cos(x)))
                   for x, (s, c) in found)


@needs_llvm
def test_against_fifty_digits():
    call, angles = both(), arguments()
    assert len(angles) > 2000
    assert 0.5 < worst([(x, call(x)[0]) for x in angles]) < BOUND


@needs_llvm
def test_a_batch_gives_the_same():
    angles = arguments()
    x = symbols('x')
    entry = machine_code(made_of([sin(x), cos(x)], [x]), 'batch', BATCH)
    found, bad = run_batch(entry, len(angles), 0., [angles], [], [], 2)
    call = both()
    assert not bad.any()
    assert (found == [call(y)[0] for y in angles]).all()


@needs_llvm
@pytest.mark.parametrize('huge', [
    np.nextafter(LIMIT, math.inf), -7e5, 2.**60, -1.7e308])
def test_large_angles(huge):
    """They are those of the C library, also beside others."""
    out, bad = both(3)(0.5, huge, -1.25)
    angles = 0.5, huge, -1.25
    assert not bad
    assert worst(zip(angles, zip(out[:3], out[3:]))) < BOUND


@needs_llvm
@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
def test_angles_that_are_not_finite(value):
    out, bad = both(9)(*[0.5]*4, value, *[0.25]*4)
    assert bad
    nan = np.isnan(out)
    assert nan[[4, 13]].all() and nan.sum() == 2
    entry = machine_code(made_of(
        [sin(y) for y in symbols('x:1')], symbols('x:1')), 'batch', BATCH)
    _, bad = run_batch(entry, 3, 0., [np.array([1., value, 2.])], [], [], 1)
    assert bad.tolist() == [False, True, False]


@needs_llvm
@pytest.mark.parametrize('effort', [0, 2])
def test_angles_of_angles(effort):
    names = x, y, z = symbols('x y z')
    expressions = [
        sin(x + cos(y*sin(z))) - cos(x), cos(y*sin(z)) + exp(sin(3*x)),
        sum(sin(k*x)*cos(k*y + z) for k in range(1, 12)),
        sin(sqrt(cos(z)**2 + 1)), cos(z)]
    call = function(made_of(expressions, names), effort)
    rng = np.random.default_rng(2)
    for values in rng.uniform(-3, 3, (20, 3)):
        out, bad = call(*values)
        here = dict(zip(names, values))
        wanted = [float(e.subs(here).evalf(30)) for e in expressions]
        assert not bad
        np.testing.assert_allclose(out, wanted, rtol=0, atol=2e-14)


def test_order_of_a_combined_program():
    names = x, y, z = symbols('x y z')
    made = made_of([
        sin(x + cos(y*sin(z))), x*y*z, cos(x), sin(y)*cos(y), cos(3*x*z),
        sin(2*x)], names)
    found = combined(made).operations
    assert sum(name == 'sincos' for name, *_ in found) == 7
    for k, (name, *operands) in enumerate(found):
        if name in ('sincos', 'sine', 'cosine', 'add', 'mul'):
            assert max(operands) < k
        assert operands[:1] not in (['sin'], ['cos'])


@needs_llvm
def test_expressions_of_the_user(pendulum):
    compiled = compile_equations(pendulum.method,
                                 pendulum.constants,
                                 backend='llvm')
    sine = compiled.expression(sin(compiled.states[0]))
    with pytest.raises((NotFiniteError, ValueError)):
        sine(0, [math.inf, 0, 0, 0])
    assert sine(0, [1e6, 0, 0, 0]) == pytest.approx(math.sin(1e6), rel=1e-13)


LESS = '''
import llvmlite.binding as binding
features = binding.get_host_cpu_features()
for name in list(features):
    if name.startswith({without!r}):
        features[name] = False
binding.get_host_cpu_features = lambda: features
import numpy as np
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.models import model
from sympy_constrained.numeric import compile_equations
from sympy_constrained.numeric.codegen import llvm_code
made = model('closed_chain', n=5)
method = made.form(UdwadiaKalabaMethod)
compiled, plain = (compile_equations(method, made.parameters, None, backend)
                   for backend in ('llvm', 'numpy'))
x = np.linspace(-1, 1, len(compiled.states)) + np.arange(9)[:, None]/9
expected = plain.rhs(0., x)
for found in compiled.rhs(0., x), [compiled.rhs(0., row) for row in x]:
    difference = np.abs(np.array(found) - expected).max()
    assert difference < 1e-11*np.abs(expected).max(), difference
print(llvm_code.LANES)
'''


@needs_llvm
@pytest.mark.parametrize('without, most', [
    pytest.param(('avx512',), '4', marks=pytest.mark.slow),
    (('avx', 'fma', 'f16c', 'v'), '2')])
def test_smaller_processors(without, most):
    """Fewer lanes than may be here."""
    lines = subprocess.run(
        [sys.executable, '-c', LESS.format(without=without)], check=True,
        capture_output=True, text=True).stdout.split('\n')
    assert lines[0] in (most, '2')
