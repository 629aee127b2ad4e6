"""Nodes with value numbering: what merges, what stays apart, what survives.
"""
import math
import os
import pickle
import subprocess
import sys
from fractions import Fraction

import pytest
from mpmath import fp, mp
from sympy import (
    Abs, Add, And, Derivative, E, Float, Function, Heaviside, I, IndexedBase,
    Matrix, MatrixSymbol, Max, Min, Mod, Mul, Piecewise, Pow, Rational, S,
    SingularityFunction, Subs, Symbol, UnevaluatedExpr, acos, acosh, asin,
    asinh, atan, atan2, atanh, besseli, besselj, cbrt, conjugate, cos, cosh,
    cot, coth, csc, erf, exp, factorial, floor, im, log, nan, oo, pi,
    preorder_traversal, re, sec, sech, sign, sin, sinh, sqrt, symbols, tan,
    tanh, zoo)
from sympy.physics.biomechanics import TendonForceLengthDeGroote2016
from sympy.physics.mechanics import ReferenceFrame, dynamicsymbols
from sympy.physics.units import kilo, kilogram, micro, newton
from sympy.vector import CoordSys3D

from sympy_constrained.errors import (
    ConstrainedDynamicsError, MissingIngredientError)
from sympy_constrained.graph import (
    Graph, GraphBuilder, gradient, read, substitute, time_derivative)
from sympy_constrained.graph.nodes import (
    ADD, CALL, CONST, COS, INPUT, INV, MUL, ROOT, SIN, digest)

t = dynamicsymbols._t
x, y, z = symbols('x y z')
q, p, r = dynamicsymbols('q p r')
f, h = Function('f'), Function('h')
POINTS = ({x: 0.3, y: 0.7, z: 1.9}, {x: -0.8, y: 0.4, z: 0.25})


def builder(*expressions, seed=0):
    """A builder that has read expressions, and their references."""
    g = GraphBuilder(t, seed)
    return g, [read(g, S(e)) for e in expressions]


def frozen(*expressions, seed=0):
    g, refs = builder(*expressions, seed=seed)
    return Graph.freeze(g, {'f': ([[k] for k in refs], 1)})


def values_of(graph, values, context=None):
    return [row[0] for row in graph.evaluate(values, context=context)['f']]


def exact(expression, values):
    """SymPy's value at 40 digits of the given floats."""
    names = {k: Float(str(v), 40) for k, v in values.items()}
    return mp.mpmathify(S(expression).subs(names).evalf(40))


# Value numbering

@pytest.mark.parametrize('expression, value', [
    (sin(x)**2 + cos(x)**2, 1),
    (1/cos(x)**2 - tan(x)**2, 1),
    (csc(x)**2 - cot(x)**2, 1),
    (sec(x)*cos(x), 1),
    (sin(x - y) + sin(y - x), 0),
    (cos(x - y) - cos(y - x), 0),
    ((x**2 - y**2)/(x - y) - x - y, 0),
    (1/(x + 1) + x/(x + 1), 1),
    ((x + y)**3 - x**3 - 3*x**2*y - 3*x*y**2 - y**3, 0),
    (sqrt(x + y)*sqrt(x + y)/(x + y), 1),
    (exp(x + y) - exp(y + x), 0),
    (sin(x*(y + 1)) - sin(x*y + x), 0),
    (Rational(1, 3) + Rational(2, 3), 1),
    (h(x*x) - h(x**2), 0),])
def test_equal_values_are_one_reference(expression, value):
    g, (ref,) = builder(expression)
    assert ref == value


def test_products_written_apart_merge_when_built_without_sympy():
    g, (a, b) = builder(x, y)
    assert g.div(a, a) == 1
    assert g.mul(g.inv(a), g.mul(a, b)) == b
    assert g.add(g.sub(a, b), g.sub(b, a)) == 0
    assert g.mul(g.sub(a, b), g.sub(b, a)) == -g.power(g.sub(a, b), 2)
    assert g.sub(g.mul(g.add(a, b), g.sub(a, b)),
                 g.sub(g.power(a, 2), g.power(b, 2))) == 0


def test_a_rotation_times_its_transpose_is_one():
    N, B = ReferenceFrame('N'), ReferenceFrame('B')
    B.orient_body_fixed(N, symbols('a1:4'), 'ZXY')
    R = B.dcm(N)
    g, refs = builder(*R)
    rows = [refs[3*i:3*i + 3] for i in range(3)]
    assert [[g.dot(a, b) for b in rows] for a in rows] == [
        [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert g.cross(rows[0], rows[1]) == tuple(rows[2])


@pytest.mark.parametrize('one, other', [
    (sqrt(x**2), x), (sqrt(x**2), -x), (sqrt(-x), sqrt(x)),
    (Abs(x), x), (cbrt(x)**2, x), (x**Rational(1, 3), sqrt(x)),
    (exp(x), exp(-x)), (sin(x), cos(x)), (f(x), h(x)), (f(x, y), f(y, x)),
    (Heaviside(x), Heaviside(-x)), (atan2(x, y), atan2(y, x)),
    (Symbol('w'), Symbol('w', positive=True)),
    (Piecewise((x, x < y), (y, True)), Piecewise((x, x > y), (y, True))),
    (pi, E), (r, r.diff(t)), (log(x), log(2*x)),])
def test_different_functions_stay_apart(one, other):
    g, (a, b) = builder(one, other)
    assert abs(a) != abs(b)
    assert g.sub(a, b) != 0


def test_a_root_is_not_taken_in_the_field():
    graph = frozen(sqrt(x**2) + x, sqrt(x**2) - x)
    assert values_of(graph, {x: -2}) == [0, 4]
    assert values_of(graph, {x: 2}) == [4, 0]


@pytest.fixture
def colliding(monkeypatch):
    """Every input gets the same fingerprint."""
    monkeypatch.setattr(
        'sympy_constrained.graph.nodes.digest', lambda seed, *key: (
            12345 if key[0] == 'input' else digest(seed, *key)))


@pytest.mark.parametrize('expression', [
    x - y, x*y - x**2, sin(x) - sin(y), 1/x - 1/y, sqrt(z) - sqrt(y),
    exp(x) + exp(y), (x + 1)*(y + 1) - (x + 1)**2, cos(x)/y + cos(y)/x])
def test_a_false_merge_is_noticed_by_the_shadow(colliding, expression):
    for values in POINTS:
        found, = values_of(frozen(expression), values)
        assert found == pytest.approx(float(exact(expression, values)))


def test_the_collision_is_real(colliding, monkeypatch):
    """Without the shadow the fixture above gives wrong values."""
    monkeypatch.setattr('sympy_constrained.graph.nodes.SHADOW_TOLERANCE',
                        math.inf)
    assert values_of(frozen(x*y - x**2), POINTS[0]) == [0]


# Invariants

MIXED = [
    (x - y)*(y - x)/(2*x) + 3, sqrt(x - y)*sin(y - x) - cos(x - y)/3,
    Piecewise((x*y, x < y), (sin(x), True)) - 7, f(-x, y)*r.diff(t) - r,
    exp(-x*y)/(x - 2*y)**3, -x*Rational(2, 3)*y + 0.25*z - pi]


def operands(node):
    kind, a, b = node
    if kind in (ADD, MUL):
        return a, b
    return b if kind == CALL else (a,) if kind not in (CONST, INPUT) else ()


@pytest.mark.parametrize('where', ['builder', 'frozen'])
def test_invariants_of_nodes(where):
    g, refs = builder(*MIXED)
    gradient(g, g.sum(refs), [g.bound[x], g.bound[y]])
    nodes = g.nodes if where == 'builder' else frozen(*MIXED).nodes
    assert {kind for kind, *_ in nodes} == {
        CONST, INPUT, ADD, MUL, INV, ROOT, SIN, COS, CALL}
    seen = set()
    for k, node in enumerate(nodes):
        kind, a, b = node
        assert all(abs(i) < k for i in operands(node))
        assert node not in seen
        seen.add(node)
        if kind == CONST:
            assert isinstance(a, (int, Fraction)) and (a > 0 or k == 0)
        elif kind in (ADD, INV, SIN, COS):
            assert a > 0
        elif kind == MUL:
            assert a > 1 and b > 1
        if kind in (ADD, MUL):
            assert 0 not in (a, b)
            assert {nodes[abs(i)][0] for i in (a, b)} != {CONST}


def test_a_frozen_graph_holds_what_its_outputs_reach():
    g, refs = builder(x + y, sin(z), f(r))
    graph = Graph.freeze(g, {'f': ([[refs[0]]], 1)})
    assert graph.inputs == (x, y) == graph.symbols()
    assert len(graph.nodes) == 5 and not graph.templates
    assert dict(graph.outputs) == {'f': (1, 1)}


def test_a_number_is_written_without_inputs():
    """Also if a sum in which inputs cancel had its value before."""
    g = GraphBuilder()
    k = g.input(x)
    product = g.mul(g.add(k, 1), g.sub(k, 1))
    total = g.sub(g.add(product, g.constant(Fraction(14, 5))), g.mul(k, k))
    number = g.constant(Fraction(9, 5))
    assert g.depends_on(total, k) and not g.depends_on(number, k)
    assert g.sub(total, number) == 0


def test_signs_are_free_and_sharing_is_counted():
    graph = frozen(-sin(x - y), sin(y - x) + 2)
    assert graph.operation_count() == 3     # x - y, its sine, the sum


def test_symbols_of_some_outputs():
    g, (a, b) = builder(x + 1, y + 1)
    graph = Graph.freeze(g, {'a': ([[a]], 1), 'b': ([[b]], 1)})
    assert graph.symbols(('b',)) == (y,)


@pytest.mark.parametrize('ref, inputs, wanted', [
    (x*y, (x,), True), (x*y, (z,), False), (x*y, (z, y), True),
    (sin(x)**2 + cos(x)**2, (x,), False), (f(x, -y), (y,), True)])
def test_dependence_is_by_value(ref, inputs, wanted):
    g, (a, *others) = builder(ref, *inputs)
    assert g.depends_on(a, *others) is wanted


# The same model, the same graph

SCRIPT = '''
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.models import model
method = model('four_bar').form(UdwadiaKalabaMethod)
graph = method.equations_of_motion.graph
print(graph.inputs, graph.nodes, graph.templates, dict(graph.outputs))
print(method.acceleration)
'''


@pytest.mark.slow
def test_the_graph_does_not_depend_on_the_hash_salt():
    def run(salt):
        return subprocess.run(
            [sys.executable, '-c', SCRIPT], capture_output=True, text=True,
            check=True, env={**os.environ, 'PYTHONHASHSEED': salt}).stdout

    first, second = run('1'), run('2')
    assert 'Matrix' in first
    assert first == second


# Constants

def test_rationals_stay_exact():
    graph = frozen(x/3, Rational(1, 3), 10**30 + Rational(1, 7))
    assert list(graph.sympy('f')) == [
        x/3, Rational(1, 3), 10**30 + Rational(1, 7)]
    with mp.workdps(50):
        found = values_of(graph, {x: 1}, mp)
        assert found[:2] == [mp.mpf(1)/3]*2
        assert found[2] == 10**30 + mp.mpf(1)/7


def test_a_float_is_the_dyadic_rational_it_is():
    g, (tenth,) = builder(0.1)
    assert g.nodes[tenth][1] == Fraction(0.1)


@pytest.mark.parametrize('digits', [15, 40])
def test_folded_floats_keep_their_precision(digits):
    g, (a, b) = builder(Float('0.1', digits), Float('0.7', digits))
    graph = Graph.freeze(g, {'f': ([[g.add(a, b)], [g.mul(a, b)],
                                    [g.inv(b)]], 1)})
    with mp.workdps(digits):
        values = values_of(graph, {}, mp)
        for value, printed in zip(values, graph.sympy('f')):
            assert isinstance(printed, Float)
            assert abs(mp.mpf(printed._mpf_) - value) < mp.mpf(
                10)**(2 - digits)


@pytest.mark.parametrize('expression', [
    10**400*x, Float('1e400')*x, x/10**400, sin(10**200*x*y*10**200),
    (10**200*x)**2*cos((10**200*x)**2), sqrt(10**401*x),
    exp(1000*x)**2*y, sin(x*exp(800*x)*exp(800*y))**0*x])
def test_numbers_beyond_doubles_are_read(expression):
    with mp.workdps(450):
        found, = values_of(frozen(expression), {x: 2, y: 3}, mp)
        wanted = mp.mpmathify(expression.subs({x: 2, y: 3}).evalf(450))
        assert abs(found - wanted) <= mp.mpf(10)**-30*abs(wanted)


# Reading

READABLE = [
    S(0), S(1), S(-3), x, -x, x + y - 3*z, x*y*z/7, x**5, x**-4, 1/(x*y),
    sqrt(z), z**Rational(-3, 2), z**Rational(2, 3), 1/sqrt(x**2 + y**2),
    sqrt(x**2), z**x, 2**x, z**sqrt(z),
    sin(x), cos(-x), tan(x), cot(x), sec(x), csc(x), sin(x)/x,
    sinh(x), cosh(x), tanh(x), coth(x), sech(x),
    exp(x), exp(-x*y), E**(x + 1), log(z), log(x**2 + 1),
    asin(x), acos(x), atan(x), asinh(x), acosh(z + 1), atanh(x),
    atan2(x, y), atan2(y, -x), atan2(-x, -x), Abs(x), Abs(x - y), sign(x),
    Max(x, y), Max(x, 0), Max(x, y, z, 1), Min(x, -y), Min(x, y, z),
    Heaviside(x), Heaviside(x - y), Heaviside(-x, 1),
    Piecewise((x, x < 0), (x**2, True)),
    Piecewise((x, x > y), (y, And(x < 0, y > 0)), (z, True)),
    Piecewise((1, x > 0), (-1, x < 0), (0, True)),
    Piecewise((Max(x, y), x*y > 0), (Piecewise((1, z > 1), (2, True)), True)),
    floor(x), Mod(x, 2), erf(x), besselj(1, z), re(x), conjugate(x)*y,
    pi*x, E + x, S.GoldenRatio*x, S.EulerGamma]


@pytest.mark.parametrize('expression', READABLE, ids=str)
def test_reading_keeps_the_value(expression):
    graph = frozen(expression)
    again = frozen(*graph.sympy('f'))
    for values in POINTS:
        wanted = exact(expression, values)
        assert values_of(graph, values)[0] == pytest.approx(
            complex(wanted) if wanted.imag else float(wanted), rel=1e-13,
            abs=1e-14)
        with mp.workdps(30):
            sharp = {k: mp.mpf(str(v)) for k, v in values.items()}
            for one in (graph, again):
                found = values_of(one, sharp, mp)[0]
                assert abs(found - wanted) <= mp.mpf(10)**-27*(1 + abs(wanted))


def test_no_operand_of_a_large_expression_occurs_twice():
    """SymPy's cse, thus lambdify, would lose one."""
    e, = frozen(sum(sin(k*x)*y**2 for k in range(1, 200))).sympy('f')
    for part in preorder_traversal(e):
        assert not part.is_Mul or len({*part.args}) == len(part.args), part


@pytest.mark.parametrize('kind', [
    pytest.param(Heaviside, marks=pytest.mark.slow), Abs, Piecewise])
def test_functions_of_a_large_expression_are_not_evaluated(kind, monkeypatch):
    """SymPy would walk the expression, several times."""
    e = sum(sin(k*x)*y**2 for k in range(1, 200))
    graph = frozen(Piecewise((e, e > 0), (x, True)) if kind is Piecewise
                   else kind(e))
    values = {x: 0.3, y: 0.7}
    with monkeypatch.context() as patch:
        patch.setattr(kind, 'eval', None)
        patch.setattr('sympy.core.relational.is_ge', None)
        found, = graph.sympy('f')
    assert found.subs(values).evalf() == pytest.approx(
        values_of(graph, values)[0])


def test_a_guard_against_division_by_zero_is_kept():
    guarded = Piecewise((sin(x)/x, x > 0), (1, True))
    assert values_of(frozen(guarded), {x: 0.0}) == [1]
    assert values_of(frozen(Piecewise((1/y, y > 0), (x, True))),
                     {x: 3.0, y: 0.0}) == [3]


def test_functions_of_time_and_their_derivatives_are_inputs():
    graph = frozen(r*r.diff(t, 2) + q.diff(t)*t)
    assert set(graph.inputs) == {r, r.diff(t, 2), q.diff(t), t}
    assert values_of(graph, {r: 2, r.diff(t, 2): 3, q.diff(t): 5, t: 7}) == [
        41]


@pytest.mark.parametrize('expression, meaning', [
    (f(q), {f: sin}), (f(q, p)*f(p, q), {f: atan2}),
    (f(q).diff(q), {f: sin}), (f(q).diff(q, 2), {f: sin}),
    (f(q**2).diff(q), {f: sin}), (f(q, p).diff(p), {f: atan2}),
    (f(q*p, p).diff(p), {f: atan2}), (h(f(q)).diff(q), {h: exp, f: sin}),
    (f(q).diff(t), {f: sin}), (f(2*t), {f: sin}),
    (Derivative(p*f(q**2), q, 2), {f: sin}),
    (Derivative(q*f(q**2).diff(q), q), {f: sin})])
def test_user_functions_return_as_they_came(expression, meaning):
    def meant(e):
        for name, function in meaning.items():
            e = e.replace(name, function).doit()
        return e.subs(q.diff(t), 0.3).subs({q: 0.8, p: 1.7, t: 0.4})

    back = frozen(expression).sympy('f')[0]
    assert float(meant(back)) == pytest.approx(float(meant(expression)))
    assert back == expression or expression.doit().has(Subs, 2*t)


@pytest.mark.parametrize('expression', [f(q), f(q).diff(q), f(q**2).diff(q)])
def test_a_user_function_has_no_number(expression):
    with pytest.raises(MissingIngredientError,
                       match='(?s)`f`.*no numeric meaning.*Replace it by a '
                       'SymPy function before evaluation'):
        values_of(frozen(expression), {q: 1.0})


def test_elements_of_arrays_units_and_prefixes():
    """All but the prefixes are inputs."""
    k, A = IndexedBase('k'), MatrixSymbol('A', 2, 2)
    for expression, values, value in (
            (k[1]*x + k[2], {k[1]: 2, k[2]: 3, x: 5}, 13),
            (A[0, 1]*x, {A[0, 1]: 2, x: 5}, 10),
            (3*newton*x/kilogram, {newton: 10, kilogram: 2, x: 5}, 75),
            (kilo*x + micro*x**2, {x: 5}, 5000.000025)):
        graph = frozen(expression)
        assert set(graph.inputs) == set(values)
        assert values_of(graph, values) == [value]
    assert frozen(3*newton*x/kilogram).sympy('f')[0] == 3*newton*x/kilogram


def test_what_is_infinite_is_no_value():
    graph = frozen(log(cosh(800*x)))
    assert values_of(graph, {x: 0.5}) == [pytest.approx(400 - math.log(2))]
    with pytest.raises(ZeroDivisionError, match='too large'):
        graph.evaluate({x: 2.5})


def test_no_piece_holds():
    graph = frozen(Piecewise((x, x < 1)))
    assert values_of(graph, {x: 0.5}) == [0.5]
    with pytest.raises(ZeroDivisionError, match='domain'):
        graph.evaluate({x: 2})


def test_rounding_does_not_make_a_number_complex():
    graph = frozen(besseli(0, x).diff(x))
    with mp.workdps(30):
        value, = values_of(graph, {x: -S.Half}, mp)
        assert isinstance(value, mp.mpf)
        assert abs(value + mp.besseli(1, 0.5)) < 1e-28


def test_what_is_not_evaluated_counts_as_such(monkeypatch):
    """SymPy's muscles contain it."""
    graph = frozen(y*UnevaluatedExpr(x + y))
    assert not graph.templates
    assert values_of(graph, {x: 2, y: 3}) == [15]
    curve = TendonForceLengthDeGroote2016.with_defaults(sin(x))
    monkeypatch.setattr(sin, 'doit', None)
    assert not any(t.has(type(curve)) for t in frozen(curve).templates)


def test_factorials_between_integers():
    graph = frozen(factorial(x))
    assert values_of(graph, {x: -1.3}) == [pytest.approx(math.gamma(-0.3))]
    assert not any(t.has(factorial) for t in graph.templates)


def test_singularity_functions():
    assert values_of(frozen(SingularityFunction(x, 1, 2)), {x: 3}) == [4]
    assert values_of(frozen(SingularityFunction(x, 1, 2)), {x: 0}) == [0]
    g, (ref,) = builder(SingularityFunction(x, 1, 2))
    slope, = gradient(g, ref, [g.bound[x]])
    graph = Graph.freeze(g, {'f': ([[slope]], 1)})
    assert values_of(graph, {x: 3}) == [4] and values_of(graph, {x: 0}) == [0]
    with pytest.raises(ConstrainedDynamicsError, match='impulse'):
        frozen(SingularityFunction(x, 1, -1))
    with pytest.raises(ConstrainedDynamicsError, match='zero or more'):
        frozen(SingularityFunction(x, 1, y))


@pytest.mark.parametrize('exponent', [0, 1])
def test_impulses_of_singularity_functions_are_told(exponent):
    g, (ref,) = builder(SingularityFunction(x, 1, exponent))
    a = g.bound[x]
    if exponent:
        ref, = gradient(g, ref, [a])
    graph = Graph.freeze(g, {'f': ([[ref]], 1)})
    assert values_of(graph, {x: 3}) == [1] and values_of(graph, {x: 0}) == [0]
    with pytest.warns(UserWarning, match='has an impulse'):
        assert gradient(g, ref, [a]) == [0]


def test_a_scalar_field_of_another_vector_module_is_refused():
    with pytest.raises(ConstrainedDynamicsError, match='(?s)C.x.*real scalar'):
        frozen(CoordSys3D('C').x*x)


def test_one_output_is_named_by_itself():
    graph = Graph.of({'ab': Matrix([x]), 'a': Matrix([y])})
    assert graph.evaluate({x: 2}, 'ab') == {'ab': [[2]]}


def test_an_unevaluated_derivative_is_what_it_means():
    graph = frozen(Derivative(x**3*y, x), Derivative(q**2, t))
    assert values_of(graph, {x: 2, y: 5, q: 3, q.diff(t): 4}) == [60, 24]


@pytest.mark.parametrize('expr, expected', [
    (Abs(q).diff(t), sign(q)*q.diff(t)),
    (Abs(q*x).diff(t, 2), sign(q*x)*x*q.diff(t, 2)),
    (Abs(t - 1).diff(t), sign(t - 1)),
    (sqrt(Abs(q.diff(t))).diff(t),
     sign(q.diff(t))*q.diff(t, 2)/2/sqrt(Abs(q.diff(t)))),
    (conjugate(q).diff(t), q.diff(t)),
    (Derivative(Abs(x*y), x), sign(x*y)*y),
    (Derivative(Abs(q), q), sign(q)),
    (Derivative(re(t)*im(t) + re(t), t), S.One)])
@pytest.mark.filterwarnings('ignore:The derivative of a .* has an impulse')
def test_derivatives_are_those_of_real_functions(rng, expr, expected):
    """SymPy leaves derivatives of real and imaginary parts."""
    graph = frozen(expr, expected)
    for _ in range(8):
        found = values_of(graph, {
            item: rng.choice((-1, 1))*rng.uniform(0.5, 2) for item in (
                t, x, y, q, q.diff(t), q.diff(t, 2))})
        assert found[0] == pytest.approx(found[1], rel=1e-14)


@pytest.mark.parametrize('expr', [floor(q).diff(t), Derivative(floor(x), x)])
def test_derivatives_that_sympy_does_not_know(expr):
    with pytest.raises(ConstrainedDynamicsError, match='derivative of .* is '
                       'needed, and SymPy does not know it. Replace'):
        frozen(expr)


@pytest.mark.parametrize('part', [
    I, nan, oo, -oo, zoo, MatrixSymbol('A', 2, 2), S.true, x > y])
def test_what_is_not_a_real_scalar_is_named(part):
    expression = part if not getattr(
        part, 'is_commutative', False) or part is nan else part + x*part
    g = GraphBuilder(t)
    with pytest.raises(ConstrainedDynamicsError,
                       match='(?s)contains `.*`.*must be.*replace') as info:
        read(g, expression)
    assert info.value.expression is not None


@pytest.mark.parametrize('part', [
    Derivative(Function('f')(2*x), x), Subs(x*y, x, 2),
    Subs(Function('f')(x), x, 2)])
def test_a_derivative_by_what_is_no_argument_is_named(part):
    with pytest.raises(ConstrainedDynamicsError, match='contains `.*`, which '
                       'is not a real scalar.*remove the term') as info:
        read(GraphBuilder(t), x + part)
    assert info.value.expression == part


def test_a_function_of_too_many_parts_is_named():
    f, names = Function('f'), symbols('a:512')
    with pytest.raises(ConstrainedDynamicsError, match='A `f` has more than '
                       '511 different parts. Give it as a specified'):
        read(GraphBuilder(t), f(*names))
    assert frozen(f(*names[:511])).sympy('f')[0] == f(*names[:511])


@pytest.mark.parametrize('denominator', [
    sin(x)**2 + cos(x)**2 - 1, (x + y)**2 - x**2 - 2*x*y - y**2])
def test_a_vanishing_denominator_is_named(denominator):
    with pytest.raises(ConstrainedDynamicsError, match='vanishes') as info:
        builder(x + y/denominator)
    assert str(denominator) in str(info.value)


def test_zero_divided_is_zero_and_division_by_zero_an_error():
    g, (a,) = builder(x)
    assert g.div(0, a) == 0
    with pytest.raises(ConstrainedDynamicsError, match='denominator'):
        g.div(a, 0)
    with pytest.raises(ConstrainedDynamicsError, match='denominator'):
        g.power(0, -2)


def test_a_failed_reading_leaves_the_builder_usable():
    g = GraphBuilder(t)
    with pytest.raises(ConstrainedDynamicsError):
        read(g, sin(x) + I*y)
    assert read(g, sin(x) - sin(x)*y/y) == 0


DEEP = {
    'sum and product': (
        lambda e: Add(y, Mul(x, e, evaluate=False), evaluate=False),
        lambda v, first: 0.25 + first*v),
    'power': (lambda e: Pow(e + 1, -1, evaluate=False),
              lambda v, first: 1/(v + 1)),
    'sin': (lambda e: sin(e, evaluate=False), lambda v, first: math.sin(v)),
    'user function': (f, None)}


@pytest.mark.parametrize('step, number', DEEP.values(), ids=DEEP)
def test_depth_is_no_problem(step, number):
    depth, e = 2000, x
    for _ in range(depth):
        e = step(e)
        hash(e)                         # SymPy's cache does it bit by bit
    g, (ref,) = builder(e)
    a = g.bound[x]
    slope, = gradient(g, ref, [a])
    moved, = substitute(g, [ref], {a: g.sub(a, 1)})
    assert slope and g.depends_on(moved, a)
    graph = Graph.freeze(g, {'f': ([[ref], [slope], [moved]], 1)})
    assert graph.operation_count() > 2*depth
    again, out = graph.load()
    assert Graph.freeze(again, {'f': (out['f'], 1)}).nodes == graph.nodes
    if number is None:
        return
    found = values_of(graph, {x: 0.5, y: 0.25})
    for value, first in ((found[0], 0.5), (found[2], -0.5)):
        wanted = first
        for _ in range(depth):
            wanted = number(wanted, first)
        assert value == pytest.approx(wanted)


# Writing

@pytest.mark.parametrize('graph', [
    frozen(*MIXED[:3], *MIXED[4:]), frozen(*READABLE[:48])],
    ids=['mixed', 'readable'])
def test_assignments_and_nested_agree(graph):
    shared, out = graph.assignments()
    values = {x: S(3)/10, y: S(7)/10, z: S(19)/10, r: S(2), r.diff(t): S(5)}
    known = dict(values)
    for symbol, expression in shared:
        assert symbol not in known
        assert expression.free_symbols <= set(known)
        known[symbol] = expression.subs(known).evalf(30)
    nested = graph.sympy('f')
    for expr, a in zip(nested, out['f'].subs(known).evalf(30)):
        b = expr.subs(values).evalf(30)
        rounding = 1e-15 if expr.has(Float) else 1e-25
        assert abs(a - b) < rounding*(1 + abs(b))


def test_assignments_take_the_symbols_they_are_given():
    names = iter(symbols('a0:9'))
    shared, out = frozen(sin(x) + sin(x)*y).assignments(symbols=names)
    assert shared == [(Symbol('a0'), sin(x))]
    assert out['f'][0] == Symbol('a0') + y*Symbol('a0')


def test_each_assignment_is_used_twice():
    g, (a, b, c) = builder(sin(x) + 2*y, (sin(x) + 2*y)**2, exp(x*y))
    shared, out = Graph.freeze(g, {'f': ([[a], [b], [c]], 1)}).assignments()
    for symbol, _ in shared:
        uses = sum(e.count(symbol) for _, e in shared) + sum(
            e.count(symbol) for e in out['f'])
        assert uses >= 2 or any(e.has(Pow) for e in out['f'])
    assert len(shared) == 1


@pytest.mark.parametrize('expression', [
    x*y + y**2*cos(x), -sin(x) + 3, (x + y)**2, sqrt(x)*y, x - y - z,
    x*y*z*3, -x - y, cos(x)/x, Rational(1, 2)*x**2,
    Float(0.1), -Float(0.1), 0.1*x, 0.25*x - 0.1, x + Float('1e-30'),
    Float('0.1', 40), Float('0.1', 40)*x, Float('1e300')])
def test_expressions_and_floats_read_as_a_person_wrote_them(expression):
    assert frozen(expression).sympy('f')[0] == expression


# Freezing, loading, pickling

def test_loading_some_outputs_into_a_builder_in_use():
    g, (a, b) = builder(x*y, x + y)
    graph = Graph.freeze(g, {'a': ([[a]], 1), 'b': ([[b]], 1)})
    target, (known,) = builder(z + x*y)
    same, out = graph.load(target, ['a'])
    assert same is target and set(out) == {'a'}
    assert target.sub(known, out['a'][0][0]) == target.bound[z]


def test_motion_of_inputs_survives_freezing():
    g = GraphBuilder(t)
    g.input(q, dynamic=True)
    read(g, r*x)
    graph = Graph.freeze(g, {'f': ([[read(g, q*r*x)]], 1)})
    loaded, out = graph.load()
    rate = time_derivative(loaded, {})(out['f'][0][0])
    assert set(loaded.symbols_of(rate)) == {q, r, x, q.diff(t), r.diff(t)}


@pytest.mark.parametrize('expressions', [
    [x*y + sin(x)], [Max(x, y) + pi, Piecewise((x, x < y), (y, True))],
    [0.1*x + Rational(1, 3), atan2(x, y)], [q*x + r.diff(t)], MIXED])
def test_a_graph_is_loaded_and_pickled(expressions):
    graph = frozen(*expressions)
    g, out = graph.load()
    for again in (Graph.freeze(g, {'f': (out['f'], 1)}),
                  pickle.loads(pickle.dumps(graph))):
        for name in 'nodes', 'inputs', 'templates':
            assert getattr(again, name) == getattr(graph, name)
        assert again.sympy('f') == graph.sympy('f')


# Numbers

def test_floats_and_mpmath_agree_with_the_precision_asked_for():
    graph = frozen(sin(x)/3 + sqrt(y))
    values = {x: Rational(1, 3), y: 2}
    assert isinstance(values_of(graph, values)[0], float)
    for digits in (20, 60):
        with mp.workdps(digits):
            wanted = mp.sin(mp.mpf(1)/3)/3 + mp.sqrt(2)
            assert abs(values_of(graph, values, mp)[0] - wanted) < mp.mpf(
                10)**(2 - digits)
    assert values_of(graph, values, fp)[0] == pytest.approx(
        values_of(graph, values)[0], rel=1e-15)


@pytest.mark.parametrize('number', [
    3, 3.0, Fraction(3), Rational(3), Float(3), mp.mpf(3), S(6)/2])
def test_numbers_of_every_kind_are_accepted(number):
    assert values_of(frozen(x**2 + 1), {x: number}) == [10]


def test_missing_values_are_all_named():
    with pytest.raises(MissingIngredientError,
                       match=r'No value was given for y, r\(t\)\. The express'
                       'ions depend on them.*add them to the val') as info:
        values_of(frozen(x + y + r), {x: 1})
    assert info.value.symbols == ('y', 'r(t)')


def test_the_representation_tells_sizes():
    assert repr(frozen(x*y, x + 1)) == '<Graph of 2 operations: f 2x1>'
