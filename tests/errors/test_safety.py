"""Nothing that a model is called becomes code.

Names come from files and from other programs. Generated source text contains
numbers, operations and names of our own; pickles carry data; text among the
values is refused and never evaluated.
"""
import ast
import io
import pickle
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sympy import Function, Matrix, Symbol, lambdify, sin, symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)
from sympy.utilities.lambdify import implemented_function

import sympy_constrained
from combinations import rotating
from sympy_constrained import (
    GibbsAppellMethod, PlaneSurface, PointContact, RouthMethod, SphereSurface,
    UdwadiaKalabaMethod, VaccoMethod)
from sympy_constrained.errors import (
    ConstrainedDynamicsError, MissingIngredientError,
    UnsupportedFeatureError)
from sympy_constrained.graph import Graph
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.numeric.codegen.native import has_llvm
from sympy_constrained.numeric.codegen.python_code import Generated

PACKAGE = Path(sympy_constrained.__file__).parent
t = dynamicsymbols._t
BACKENDS = ['numpy'] + ['llvm']*has_llvm()


def names(mark):
    """Names that do something, or end a text, when they are printed."""
    touch = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    return {
        'a call': touch,
        'a call behind a number': f'1 + {touch} or x',
        'the end of a statement': f'x\n{touch}\n',
        'the end of an argument list': f'x): return 0\n{touch}\ndef f(y',
        'single quotes': f"' + {touch} + '",
        'double quotes': f'" + {touch} + "',
        'three quotes': f'""" + {touch} + """',
        'a backslash': f'\\{touch}\\',
        'braces': '{' + touch + '}',
        'a format': '%(x)s %s {0} {x!r}',
        'a comment': f'x # */ {touch} //',
        'C code': 'x; system("true"); double y',
        'LLVM code': 'x\n  call void @abort()\n',
        'a carriage return': f'x\r{touch}',
        'blanks': '  ',
        'nothing': '',
        'other letters': 'ö𝒙名\u202e',
        'a keyword of Python': 'lambda',
        'a keyword of C': 'double',
        'a function of Python': 'exec',
        'an argument of generated code': 'x0',
        'a shared part of generated code': 'a0',
        'the time': 't_'}


KINDS = list(names('mark'))
# Where one way to harm is as good as another
FEW = ['a call', 'the end of a statement', 'a format', 'nothing',
       'an argument of generated code']


@pytest.fixture
def mark(tmp_path):
    """A file that is there after code from a name has run."""
    path = tmp_path / 'harm'
    yield path
    assert not path.exists(), 'a name was executed'


def pendulum(name):
    """A model in which everything has this name, and its numbers.

    The names differ by a digit at the end, for a model may not have two
    things of one name.
    """
    def called(k):
        return f'{name}{k}'

    time = dynamicsymbols._t
    x, y, push = (Function(called(k))(time) for k in range(3))
    m, g, l = (Symbol(called(k)) for k in range(3, 6))
    N, O = ReferenceFrame(called(6)), Point(called(7))
    O.set_vel(N, 0)
    P = O.locatenew(called(8), x*N.x + y*N.y)
    body = Particle(called(9), P, m)
    u, v = (Function(called(k))(time) for k in (10, 11))
    method = UdwadiaKalabaMethod(
        N, [x, y], [u, v], [x.diff() - u, y.diff() - v], bodies=[body],
        forcelist=[(P, -m*g*N.y + push*N.x)],
        configuration_constraints=[x**2 + y**2 - l**2])
    start = {x: 1, y: 0, u: 0, v: 0}
    return method, {m: 2, g: 9.81, l: 1}, {push: sin(time)}, start


@pytest.fixture(scope='module')
def plain():
    """Rates of the pendulum with ordinary names."""
    method, constants, inputs, start = pendulum('q')
    return compile_equations(method, constants, inputs, 'numpy').rhs(
        0.3, list(start.values()))


@rotating('kind, backend', list(KINDS), BACKENDS)
def test_names_are_only_names(kind, backend, mark, plain):
    """They have no effect, neither a harmful one nor on the numbers."""
    method, constants, inputs, start = pendulum(names(mark)[kind])
    compiled = compile_equations(method, constants, inputs, backend)
    state = list(start.values())
    assert np.allclose(compiled.rhs(0.3, state), plain, atol=1e-12)
    assert np.allclose(compiled.rhs(0.3, [state]*3), plain, atol=1e-12)
    assert np.isfinite(compiled.multipliers(0.3, state)).all()


@pytest.mark.parametrize('kind', FEW)
def test_names_in_a_simulation(kind, mark):
    """Results are found by the object and by the name, whatever it is."""
    method, constants, inputs, start = pendulum(names(mark)[kind])
    motion = simulate(method, 0.05, start, constants=constants, inputs=inputs)
    x = method.q[0]
    assert motion[x][0] == pytest.approx(1)
    assert (motion[x.func.__name__] == motion[x]).all()
    assert repr(motion) and repr(compile_equations(
        method, constants, inputs)) and str(method)


@pytest.mark.parametrize('kind', FEW)
def test_names_in_a_message(kind, mark):
    """Messages quote names, and format nothing."""
    method, constants, inputs, start = pendulum(names(mark)[kind])
    x, g = method.q[0], method.equations_of_motion.constants[1]
    with pytest.raises(ValueError, match='no value for'):
        compile_equations(method, {g: 1}, inputs)
    with pytest.raises(ConstrainedDynamicsError) as caught:
        simulate(method, 1, {**start, x: 3}, constants=constants,
                 inputs=inputs)
    assert 'holonomic row 0' in str(caught.value)
    with pytest.raises(MissingIngredientError):
        compile_equations(method, constants)


@pytest.mark.parametrize('language', ['llvm', 'js'])
@pytest.mark.parametrize('kind', KINDS)
def test_generated_text_has_no_name(kind, language, mark):
    """The same program in other names is the same text."""
    if language == 'llvm':
        pytest.importorskip('llvmlite')
    texts = []
    for name in (names(mark)[kind], 'plain'):
        method, constants, inputs, start = pendulum(name)
        compiled = compile_equations(method, constants, inputs)
        texts.append(compiled.native_function().text(language))
    assert texts[0] == texts[1] and 'plain' not in texts[1]


def test_generated_python_has_no_name():
    method, constants, inputs, _ = pendulum('harmful')
    compiled = compile_equations(method, constants, inputs, 'numpy')
    compiled.rhs(0, [1, 0, 0, 0])
    functions = [function for function in compiled._kept.values()
                 if isinstance(function, Generated)]
    assert functions
    for function in functions:
        code = function._scalar_function.__code__
        used = {*code.co_names, *code.co_varnames}
        assert used and not any('harmful' in name for name in used)
        assert all(re.fullmatch(r'[txpraef]\d*|_?sin|cos|sqrt|math', name)
                   for name in used), used


# Functions of the user's

@pytest.mark.parametrize('kind', FEW)
def test_names_of_functions_without_meaning(kind, mark):
    """Before the name is printed it is known that it means nothing."""
    name = names(mark)[kind]
    x, m = dynamicsymbols('x'), Symbol('m')
    method = UdwadiaKalabaMethod(m*x.diff()**2/2 + Function(name)(x), [x])
    with pytest.raises(UnsupportedFeatureError, match='No numeric meaning'):
        compile_equations(method, {m: 1}).rhs(0, [1, 0])
    graph = Graph.of({'f': Matrix([m*Function(name)(x)])}, t)
    with pytest.raises(MissingIngredientError, match='no numeric meaning'):
        graph.evaluate({m: 1, x: 1})


@pytest.mark.parametrize('kind', FEW)
def test_names_of_functions_with_a_meaning(kind, mark):
    """They are called by a name of ours, in floats and in mpmath."""
    function = implemented_function(Function(names(mark)[kind]), lambda x: 3*x)
    x, m = dynamicsymbols('x'), Symbol('m')
    method = UdwadiaKalabaMethod(
        m*x.diff()**2/2, [x], generalized_forces=[function(x)])
    assert compile_equations(method, {m: 2}).rhs(0, [1., 0.])[1] == 1.5
    values = method.system.graph.evaluate({x: 2, m: 1}, ['Q'])
    assert values['Q'] == [[6]]


def test_functions_whose_names_are_those_of_generated_code():
    """``f1`` of the user's is not the ``f1`` of the generated code."""
    one, two, three = (implemented_function(Function(name), python)
                       for name, python in (('f1', lambda x: x + 1),
                                            ('f0', lambda x: x*10),
                                            ('e', lambda x: -x)))
    x, m = dynamicsymbols('x'), Symbol('m')
    force = one(x) + two(x) + 100*three(one(x))
    method = UdwadiaKalabaMethod(
        m*x.diff()**2/2, [x], generalized_forces=[force])
    wanted = 3 + 20 - 300
    assert compile_equations(method, {m: 1}).rhs(0, [2., 0.])[1] == wanted
    assert method.system.graph.evaluate({x: 2}, ['Q'])['Q'] == [[wanted]]


def test_the_injection_would_work_where_names_are_printed(tmp_path):
    """What these tests try does harm in SymPy's own ``lambdify``."""
    path = tmp_path / 'harm'
    x = Symbol('x')
    function = Function(names(path)['a call'] + ' or abs')
    lambdify(x, function(x))(1)
    assert path.exists()


# Text among values

def text(mark):
    return names(mark)['a call']


x, y, u, v = dynamicsymbols('x y u v')
m, g, l = symbols('m g l')
L = m*(x.diff()**2 + y.diff()**2)/2 - m*g*y
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)
ROD = {'hol_coneqs': [x**2 + y**2 - l**2]}
TEXTS = {
    'Lagrangian': lambda s: UdwadiaKalabaMethod(s, [x]),
    'Lagrangian in a list': lambda s: UdwadiaKalabaMethod([s], [x]),
    'coordinate': lambda s: UdwadiaKalabaMethod(L, [s]),
    'constraint': lambda s: UdwadiaKalabaMethod(L, [x, y], hol_coneqs=[s]),
    'constraint in a list': lambda s: UdwadiaKalabaMethod(L, [x, y],
                                                          hol_coneqs=[[s]]),
    'value of a constraint': lambda s: UdwadiaKalabaMethod(
        L, [x, y], frame=N, nonhol_coneqs=[(O, N.x, s)]),
    'gain': lambda s: UdwadiaKalabaMethod(
        L, [x, y], **ROD, stabilization=(s, 1)),
    'force': lambda s: UdwadiaKalabaMethod(L, [x, y],
                                           generalized_forces=[s, 0]),
    'non-ideal force': lambda s: UdwadiaKalabaMethod(
        L, [x, y], **ROD, nonideal_forces=[s, 0]),
    'weight': lambda s: UdwadiaKalabaMethod(
        L, [x, y], **ROD, weight=[[s, 0], [0, 1]]),
    'reaction matrix': lambda s: GibbsAppellMethod(
        L, [x, y], nonhol_coneqs=[x.diff()], reaction_matrix=[[s], [0]]),
    'sample': lambda s: UdwadiaKalabaMethod(
        L, [x, y], **ROD, sample={l: s}).acceleration,
    'key of a sample': lambda s: UdwadiaKalabaMethod(
        L, [x, y], **ROD, sample={s: 1}),
    'displacement': lambda s: RouthMethod(
        L, [x, y]).variation.noether_quantity([s, 0]),
    'point of multipliers': lambda s: UdwadiaKalabaMethod(
        L, [x, y], **ROD).solve_multipliers({x: s}),
    'constant': lambda s: compile_equations(UdwadiaKalabaMethod(L, [x, y]),
                                            {m: s, g: 1}),
    'input': lambda s: compile_equations(UdwadiaKalabaMethod(L + x*u, [x, y]),
                                         {m: 1, g: 1}, {u: s}),
    'expression': lambda s: compile_equations(UdwadiaKalabaMethod(L, [x, y]),
                                              {m: 1, g: 1}).expression(s),
    'state': lambda s: compile_equations(UdwadiaKalabaMethod(L, [x, y]),
                                         {m: 1, g: 1}).rhs(0, [s, 0, 0, 0]),
    'radius': lambda s: SphereSurface(N, O, s),
    'parameter': lambda s: SphereSurface(N, O, 1).locate('P', s, 1),
    'rate of mass': lambda s: GibbsAppellMethod(L, [x, y], mass_rates={u: s})}


@pytest.mark.parametrize('place', TEXTS)
def test_text_among_values_is_not_evaluated(place, mark):
    with pytest.raises((TypeError, ValueError, ConstrainedDynamicsError)):
        TEXTS[place](text(mark))


@pytest.mark.parametrize('kind', FEW)
def test_names_of_multipliers_and_contacts(kind, mark):
    """They are texts by themselves, and stay one name each."""
    name = names(mark)[kind]
    method = RouthMethod(L, [x, y], **ROD, multipliers=[name])
    assert [f.func.__name__ for f in method.lam_vec] == [name]
    rates = compile_equations(
        VaccoMethod(L, [x, y], **ROD, multipliers=[name]),
        {m: 1, g: 1, l: 1}).rhs(0, [1., 0., 0., 0., 0.])
    assert np.isfinite(rates).all()
    B, C = ReferenceFrame('B'), O.locatenew('C', x*N.x + y*N.y + u*N.z)
    B.orient_axis(N, v, N.x)
    ball = RigidBody('ball', C, B, m, (inertia(B, 1, 1, 1), C))
    contact = PointContact(
        name, RigidBody('table', O, N), ball, PlaneSurface(N, O, N.z),
        SphereSurface(B, C, l), formulation='augmented')
    assert [f.func.__name__ for f in contact.coordinates] == [
        f'{name}_{end}' for end in ('xi1', 'xi2', 'zeta1', 'zeta2')]


# Pickles

ALLOWED = ('sympy', 'sympy_constrained', 'numpy', 'mpmath', 'collections')
BUILTINS = {'set', 'frozenset', 'object', 'complex', 'slice', 'range'}


class Recording(pickle.Unpickler):
    """Notes the globals that a pickle asks for."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data))
        self.found = set()

    def find_class(self, module, name):
        self.found.add((module, name))
        return super().find_class(module, name)


@pytest.mark.parametrize('kind, backend', [
    ('a call', 'numpy'), *(('three quotes', name) for name in BACKENDS)])
def test_pickles_carry_data(kind, backend, mark, plain):
    """No code object, no function of Python's, no module of the system."""
    method, constants, inputs, start = pendulum(names(mark)[kind])
    compiled = compile_equations(method, constants, inputs, backend)
    state = list(start.values())
    compiled.rhs(0.3, state)
    reader = Recording(pickle.dumps(compiled))
    again = reader.load()
    for module, name in reader.found:
        if module == 'builtins':
            assert name in BUILTINS, name
        elif module != 'fractions':
            assert module.partition('.')[0] in ALLOWED, (module, name)
            assert name not in RISKY | {'sympify', 'S'}, (module, name)
    assert np.allclose(again.rhs(0.3, state), plain, atol=1e-12)


# The sources

#: (file, call) -> why it may be there
PERMITTED = {
    ('graph/graph.py', 'lambdify'):
        'templates in slots, functions renamed by own_functions',
    ('numeric/codegen/python_code.py', 'lambdify'):
        'arguments renamed to t, x0, p0, r0, functions by own_functions',
    ('__main__.py', 'run_path'): 'the file that the user asks to run',
    ('numeric/codegen/native.py', 'import_module'):
        'names of our own modules',
    ('numeric/codegen/walk.py', 'import_module'): 'names of known libraries',
    ('interop/jax.py', 'import_module'): 'names of known libraries',
    ('numeric/sweeps/workers.py', 'loads'):
        'what the processes of a sweep have sent',
    ('numeric/sweeps/jobs.py', 'loads'):
        'the job that the process which started this one has packed',
    ('scene/wireframes.py', 'lambdify'): 'a chart in parameters of our own'}
#: files in which numbers of the user's pass through a sympify that is not
#: strict: text among them would be evaluated
LEFT = {'scene/wireframes.py'}
RISKY = {'eval', 'exec', 'compile', '__import__', 'import_module', 'run_path',
         'run_module', 'parse_expr', 'lambdify', 'load', 'loads', 'system',
         'popen', 'Popen', 'getoutput', 'autowrap', 'ufuncify', 'parse_latex'}


@cache
def calls():
    """File, name of the function and node of every call."""
    found = []
    for file in sorted(PACKAGE.rglob('*.py')):
        tree = ast.parse(file.read_text(encoding='utf-8'))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = getattr(node.func, 'attr',
                               getattr(node.func, 'id', None))
                found.append((
                    file.relative_to(PACKAGE).as_posix(), name, node))
    return found


def owner(node):
    """``subprocess`` of ``subprocess.run(...)``."""
    value = getattr(node.func, 'value', None)
    return getattr(value, 'id', None)


def test_the_package_runs_no_text():
    found = set()
    for file, name, node in calls():
        whose = owner(node)
        if whose in ('subprocess', 'pickle', 'marshal', 'shelve'):
            is_risky = name != 'dumps'
        elif name in ('system', 'popen'):
            is_risky = whose == 'os'
        else:                           # harmless ones of the same names
            is_risky = name in RISKY and whose not in (
                're', 'json', 'graph', 'cls')
            if name == 'load':
                is_risky = whose == 'np' and not any(
                    k.arg == 'allow_pickle' and k.value.value is False
                    for k in node.keywords)
        if is_risky:
            found.add((file, name))
        assert not any(k.arg == 'shell' for k in node.keywords), file
    assert found == set(PERMITTED), found ^ set(PERMITTED)


def test_the_package_evaluates_no_text_by_sympify():
    """``sympify`` of a text is ``eval``; the strict one refuses it."""
    loose = set()
    for file, name, node in calls():
        if name != 'sympify':
            continue
        strict = any(k.arg == 'strict' and k.value.value is True
                     for k in node.keywords)
        if not strict and not isinstance(node.args[0], ast.Constant):
            loose.add(file)
    for path in PACKAGE.rglob('*.py'):
        if re.search(r'map\((sympify|S),', path.read_text(encoding='utf-8')):
            loose.add(path.relative_to(PACKAGE).as_posix())
    assert loose <= LEFT, loose - LEFT
