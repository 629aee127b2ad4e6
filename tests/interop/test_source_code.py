"""Exported source code against ``rhs``: C, Octave, Julia and Rust."""
import ctypes
import shutil
import subprocess
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from sympy import (
    ITE, Heaviside, Max, Min, Mod, Piecewise, floor, log, pi, sign, sin,
    sqrt, symbols, zeta)
from sympy.physics.mechanics import dynamicsymbols

from exports import ready
from sympy_constrained import HamelEmbedding, UdwadiaKalabaMethod
from sympy_constrained.errors import UnsupportedFeatureError
from sympy_constrained.interop import to_latex, to_source
from sympy_constrained.models import model
from sympy_constrained.numeric import compile_equations

NAMES = ('cartesian_pendulum', 'four_bar', 'rolling_disc', 'closed_chain',
         'duplicated_rows', 'spring_mass_damper')
STRICT = ['-std=c99', '-Wall', '-Wextra', '-pedantic', '-Werror', '-O1']
x, y, F = dynamicsymbols('x y F')
m, k = symbols('m k')


def unusual(name):
    """Compiled equations, a state and numbers of inputs by their name."""
    if name == 'piecewise':
        return *piecewise(), [.4]
    _, compiled, state = ready(name.partition(' ')[0])
    if ' ' in name:
        compiled = compiled.with_values({'m': float(name.split()[1])})
    return compiled, state, []


def piecewise():
    """Conditions, an input, a function of time and names to avoid; numbers
    that call functions, and sums in products.
    """
    t, (double, N, none) = dynamicsymbols._t, symbols('double N None')
    force = Piecewise((k*x, x > 0), (pi*x**3/7, True)) + Max(x, t) + sign(
        y)*Heaviside(x.diff()) + F + Mod(-x, k)*(y + sqrt(2)) + log(
        2)*2**x*Min(-1, y) + floor(7*y)*Heaviside(
            2*x - Mod(-x, k)) + Piecewise(
                (x, ITE(x > 0, x < k, False)), (y, True))
    method = UdwadiaKalabaMethod(
        m*x.diff()**2/2 + double*y.diff()**2/2, [x, y],
        generalized_forces=[force, N*none*t**2])
    values = {m: 1.3, k: .7, double: 2, N: 4, none: .5}
    return compile_equations(method, values, {
        F: lambda t, x: .4}), np.array([.3, -.2, .5, .1])


def written(folder, source):
    for name, text in source.items():
        (folder/name).write_text(text)


def built(folder, source, *flags):
    """The library of a C source."""
    if not shutil.which('cc'):
        pytest.skip('no C compiler')
    written(folder, source)
    subprocess.run(['cc', *STRICT, *flags, '-shared', '-fPIC', 'it.c', '-o',
                    'it.so', '-lm'], cwd=folder, check=True)
    return ctypes.CDLL(str(folder/'it.so')).it


def called(function, t, state, p, w, multipliers, real=ctypes.c_double):
    """Rates and multipliers."""
    def array(values):
        return (real*max(len(values), 1))(*values)

    rates, lam = array([0]*len(state)), array([0]*multipliers)
    assert function(real(t), array(state), array(p), array(w), rates, lam)
    return np.array(rates[:len(state)]), np.array(lam[:multipliers])


@pytest.mark.parametrize('name', [
    *NAMES, 'piecewise', 'cartesian_pendulum 1e14',
    'cartesian_pendulum 1e-14'])
def test_c_gives_our_rates(name, tmp_path):
    compiled, state, w = unusual(name)
    function = built(tmp_path, to_source(compiled, 'c', 'it'))
    rates, lam = called(function, .3, state, compiled.p, w,
                        len(compiled.equations.multipliers))
    wanted = compiled.rhs(.3, state)
    np.testing.assert_allclose(rates, wanted, rtol=1e-13,
                               atol=1e-14*np.abs(wanted).max())
    method = compiled.equations
    forces = compiled.constraint_forces(.3, state)
    if method.multipliers:
        A = compiled.expression(method.graph.sympy('A'))(.3, state)
        np.testing.assert_allclose(A.T@lam, forces, atol=1e-12*max(
            1, np.abs(lam).max()))


def test_the_call_from_python_in_the_documentation(tmp_path, monkeypatch):
    page = (Path(__file__).resolve().parents[2]/'doc'/'howto'
            / 'interoperate.rst').read_text(encoding='utf-8')
    block = page.partition('    import ctypes, subprocess\n')[2].partition(
        '\n\n``precision')[0]
    g, l = symbols('g l')
    pendulum = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
        hol_coneqs=[x**2 + y**2 - l**2])
    built(tmp_path, to_source(pendulum, 'c', 'it'))      # skips without cc
    written(tmp_path, to_source(pendulum, 'c', 'pendulum'))
    monkeypatch.chdir(tmp_path)
    names = {'pendulum': pendulum, 'ctypes': ctypes, 'subprocess': subprocess}
    exec(dedent(block), names)
    compiled = compile_equations(pendulum, names['values'])
    state = list(names['x'])
    assert names['is_regular'] == 1
    np.testing.assert_allclose(list(names['rates']), compiled.rhs(0, state))
    np.testing.assert_allclose(list(names['lam']),
                               compiled.multipliers(0, state))


def test_c_in_single_precision_and_its_example(tmp_path):
    _, compiled, state = ready('four_bar')
    source = to_source(compiled, 'c', 'it', precision='float')
    function = built(tmp_path, source)
    rates, _ = called(function, 0, state, compiled.p, [], 2, ctypes.c_float)
    np.testing.assert_allclose(rates, compiled.rhs(0, state), rtol=1e-3)
    written(tmp_path, to_source(compiled, 'c', 'it'))
    subprocess.run(['cc', *STRICT, '-DIT_EXAMPLE', 'it.c', '-o', 'it', '-lm'],
                   cwd=tmp_path, check=True)
    text = subprocess.run(['./it'], cwd=tmp_path, check=True,
                          capture_output=True, text=True).stdout
    size = len(compiled.states)
    np.testing.assert_allclose(
        [float(e) for e in text.split()][:size//2],
        compiled.rhs(0, .1*np.arange(1, size + 1))[:size//2], rtol=1e-13)


def test_c_has_no_unused_variable_where_terms_cancel(tmp_path):
    built(tmp_path, to_source(model('four_bar').form(HamelEmbedding), 'c',
                              'it'))


def test_c_notices_a_singular_configuration(tmp_path):
    method = UdwadiaKalabaMethod(x*x.diff()**2/2 - k*x, [x])
    function = built(tmp_path, to_source(method, 'c', 'it'))
    real = ctypes.c_double
    assert not function(real(0), (real*2)(0, 1), (real*1)(1), None,
                        (real*2)(), None)


OCTAVE = """\
[rates, lam] = it({t}, {x}, {p}, {w});
printf("%.17g\\n", rates);
"""
JULIA = """\
include("it.jl")
rates, lam = it({t}, {x}, {p}, {w})
foreach(println, rates)
"""
RUST = """\
mod it;
fn main() {{
    let (mut rates, mut lam) = ([0.0; {n}], [0.0; {m}]);
    let x: [f64; {n}] = {x};
    let p: Vec<f64> = vec!{p};
    let w: Vec<f64> = vec!{w};
    assert!(it::it({t}, &x, &p, &w, &mut rates, &mut lam));
    for rate in rates {{ println!("{{:.17e}}", rate); }}
}}
"""


@pytest.mark.parametrize('language, file, script, commands', [
    ('octave', 'main.m', OCTAVE, [
        ['octave-cli', '--norc', '--quiet', 'main.m']]),
    ('julia', 'main.jl', JULIA, [['julia', 'main.jl']]),
    ('rust', 'main.rs', RUST, [['rustc', 'main.rs'], ['./main']])])
@pytest.mark.parametrize('name', [
    'four_bar', 'duplicated_rows', 'piecewise', 'cartesian_pendulum 1e14',
    'cartesian_pendulum 1e-14'])
def test_other_languages(name, language, file, script, commands, tmp_path):
    if not shutil.which(commands[0][0]):
        pytest.skip(f'{commands[0][0]} is not installed')
    compiled, state, w = unusual(name)
    written(tmp_path, to_source(compiled, language, 'it'))
    (tmp_path/file).write_text(script.format(
        t=.3, x=state.tolist(), p=compiled.p.tolist(), w=w, n=len(state),
        m=len(compiled.equations.multipliers)))
    for command in commands:
        text = subprocess.run(command, cwd=tmp_path, check=True, text=True,
                              capture_output=True).stdout
    wanted = compiled.rhs(.3, state)
    np.testing.assert_allclose(
        [float(e) for e in text.split()], wanted, rtol=1e-11,
        atol=1e-12*np.abs(wanted).max())


def test_inputs_may_be_expressions():
    """A spring and its force, fed back by name."""
    method = UdwadiaKalabaMethod(m*x.diff()**2/2, [x], generalized_forces=[F])
    text = to_source(method, 'c', inputs={F: -k*x})['model.c']
    assert 'const real k = p->k;' in text and 'F' not in text.split('N')[0]


@pytest.mark.parametrize('language', ['c', 'octave', 'julia', 'rust'])
def test_names_are_not_those_of_functions_and_words(language):
    angle, end = dynamicsymbols('sin'), symbols('end')
    method = UdwadiaKalabaMethod(end*angle.diff()**2/2, [angle],
                                 generalized_forces=[sin(angle)])
    text = ''.join(to_source(method, language).values())
    assert '= sin(sin_)' in text or '= sin_.sin()' in text
    assert 'Constants p: end_.' in text
    with pytest.raises(ValueError, match="`name` is 'for', which has another"):
        to_source(method, language, 'for')


@pytest.mark.parametrize('options', [
    {'language': [1]}, {'name': '2x'}, {'name': None}, {'precision': 'half'}])
def test_errors(options):
    method = UdwadiaKalabaMethod(m*x.diff()**2/2, [x])
    with pytest.raises(ValueError, match='they are .*' + repr(
            *options.values())):
        to_source(method, **options)


def test_functions_without_counterpart():
    method = UdwadiaKalabaMethod(m*x.diff()**2/2, [x], generalized_forces=[
        zeta(2 + x**2)])
    with pytest.raises(UnsupportedFeatureError, match='elementary'):
        to_source(method, 'rust')


@pytest.mark.parametrize('name', ['cartesian_pendulum', 'four_bar',
                                  'rolling_disc', 'appell_hamel'])
@pytest.mark.parametrize('shared', [None, True, False])
def test_latex_is_complete_and_balanced(name, shared):
    method = model(name).form(UdwadiaKalabaMethod)
    text = to_latex(method, shared)
    for one, other in (r'\begin', r'\end'), ('{', '}'), (r'\left', r'\right'):
        assert text.count(one) == text.count(other) > 0
    assert 'Derivative' not in text and '(t)' not in text
    n, o, m = method.system.counts
    velocity = len(method.nonholonomic_constraints)
    assert text.count('0 &= ') == len(method.holonomic_constraints) + velocity
    assert ('a_{1} &=' in text) is bool(
        name in ('four_bar', 'rolling_disc') and shared is not False
        or shared and name != 'cartesian_pendulum')
