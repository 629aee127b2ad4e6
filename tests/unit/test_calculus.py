"""Derivatives on the graph against those of SymPy and mpmath."""
from random import Random

import pytest
from mpmath import mp
from sympy import (
    Abs, Function, Heaviside, Ne, Piecewise, Rational, S, cos, exp, floor, log,
    sign, sin, sqrt, symbols)
from sympy.physics.mechanics import dynamicsymbols

from combinations import every_third
from expressions import (
    NAMES, expression, expressions, point, same, value, x, y, z)
from kkt import number
from sympy_constrained.errors import ConstrainedDynamicsError
from sympy_constrained.graph import (
    Derivation, Graph, GraphBuilder, gradient, jacobian, read, substitute,
    time_derivative)
from sympy_constrained.graph.reading import SLOTS

t = dynamicsymbols._t
q, u, s = dynamicsymbols('q u s')


@pytest.fixture
def g():
    return GraphBuilder(t)


def entries(builder, refs, values):
    graph = Graph.freeze(builder, {'f': ([[ref] for ref in refs], 1)})
    return [row[0] for row in graph.evaluate(values, context=mp)['f']]


batches = pytest.mark.parametrize('seed', every_third(range(4), 1))


# First derivatives: tests/property/test_graph_fuzz.py

@batches
def test_second_derivatives_are_those_of_the_slopes(seed):
    at = point(seed)
    with mp.workdps(40):
        for e in expressions(seed):
            g = GraphBuilder(t)
            a, b, _ = inputs = [g.input(name) for name in NAMES]
            ref = read(g, e)
            by_b = Derivation(g, {b: 1})
            first, _, _ = gradient(g, ref, inputs)
            mixed = by_b(first), gradient(g, by_b(ref), inputs)[0]
            found = entries(g, mixed, at)
            graph = Graph.freeze(g, {'f': ([[first]], 1)})
            wanted = mp.diff(lambda b: graph.evaluate(
                {**at, y: b}, context=mp)['f'][0][0], number(at[y]))
            same(found, [wanted]*2, 18)


@batches
def test_time_derivatives_are_rates_along_a_motion(seed):
    """``x = q(t)`` and ``y = s(t)`` with given rates, ``z = t``."""
    at, rate = point(seed), sin(q)*u + s + t
    values = dict(zip((q, s, t), at.values())) | {
        u: mp.mpf(2)/3, s.diff(t): mp.mpf(5)/4}
    with mp.workdps(40):
        speed = mp.sin(number(at[x]))*values[u] + number(at[y] + at[z])
        for e in expressions(seed):
            g = GraphBuilder(t)
            a, b = g.input(q, dynamic=True), g.input(u, dynamic=True)
            ref = read(g, e.xreplace({x: q, y: s, z: t}))
            D = time_derivative(g, {a: read(g, rate), b: 0})
            slopes = [value(e.diff(name), at) for name in NAMES]
            same(entries(g, [D(ref)], values), [mp.fdot(
                slopes, (speed, values[s.diff(t)], 1))], 18)


@batches
def test_substitution_is_composition(seed):
    at = point(seed)
    moved = {x: at[y]*at[z] - 1, y: at[y], z: at[x]}
    with mp.workdps(40):
        for e in expressions(seed):
            g = GraphBuilder(t)
            a, b, c = (g.input(name) for name in NAMES)
            refs = [read(g, e), -read(g, e)]
            new = {a: read(g, y*z - 1), c: a}
            wanted = value(e, moved)
            same(entries(g, substitute(g, refs, new), at),
                 [wanted, -wanted], 18)


# Facts

@pytest.mark.parametrize('order', [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_time_derivatives_do_not_depend_on_what_was_asked_before(g, order):
    a = g.input(q, dynamic=True)
    refs = [read(g, e) for e in (s, sin(s)*z, s*q)]
    D = time_derivative(g, {a: read(g, u)})
    found = {k: D(refs[k]) for k in order}
    wanted = s.diff(t), cos(s)*s.diff(t)*z, s.diff(t)*q + s*u
    for k, e in enumerate(wanted):
        assert found[k] == read(g, e)


def test_time_derivatives_go_on_to_any_order(g):
    D = time_derivative(g, {})
    ref = read(g, s**2 + t**3)
    for order in range(1, 4):
        ref = D(ref)
        assert ref == read(g, (s**2 + t**3).diff(t, order))


def test_a_time_derivative_that_exists_is_found_without_new_nodes(g):
    a, b = (g.input(x, dynamic=True) for x in (q, u))
    D = time_derivative(g, {a: b, b: 0})
    place = read(g, x*sin(q) + y*cos(q) - z)
    rate = read(g, (x*cos(q) - y*sin(q))*u)
    count = len(g.nodes)
    assert D.find(place) == rate == -D.find(-place) == D(place)
    assert len(g.nodes) == count
    assert D.find(read(g, q*s)) == read(g, q*s.diff(t) + s*u)   # a new one


def test_inputs_declared_later_move_too(g):
    D = time_derivative(g, {})
    assert D(read(g, s)) == g.bound[s.diff(t)] == -D(-read(g, s))
    late = dynamicsymbols('late')
    assert D(read(g, late*s)) == read(g, (late*s).diff(t))


def test_constants_do_not_move(g):
    assert time_derivative(g, {})(read(g, sin(x)*y + 3)) == 0


@pytest.mark.parametrize('e', [
    sin(x)**2 + cos(x)**2, x - x*y/y, S(3), y**2, Heaviside(x), sign(x)])
def test_what_does_not_change_has_no_slope(g, e):
    a = g.input(x)
    ref = read(g, e)
    assert gradient(g, ref, [a]) == [0]
    assert Derivation(g, {a: 1})(ref) == 0


@pytest.mark.parametrize('e, at, first, second', [
    (Piecewise(((-x)**Rational(5, 2), x < 0), (0, True)), 1, 0, 0),
    (Piecewise(((-x)**Rational(5, 2), x < 0), (0, True)), -1,
     -S(5)/2, S(15)/4),
    (Piecewise((x**2*log(x), x > 0), (0, True)), 0, 0, 0),
    (Piecewise((sin(x)/x, Ne(x, 0)), (1 - x**2/6, True)), 0, 0, -S(1)/3),
    (y*Piecewise((sqrt(x), x > 0), (Piecewise(
        (sqrt(-x), x > -2), (1/(x + 2), True)), True))**2, -1, S(-3), 0),
    (sqrt(Piecewise((x, x > 0), (-1/x, True))), 4, S(1)/4, -S(1)/32)])
def test_what_is_not_chosen_needs_no_slope(g, e, at, first, second):
    a, _ = g.input(x), g.input(y)
    by_x, ref = Derivation(g, {a: 1}), read(g, e)
    slope, = gradient(g, ref, [a])
    found = [by_x(ref), slope, by_x(by_x(ref)), by_x(slope),
             *gradient(g, by_x(ref), [a]), *gradient(g, slope, [a])]
    with mp.workdps(30):
        found = entries(g, found, {x: at, y: 3})
        same(found[:2], [number(S(first))]*2, 18)
        same(found[2:], [number(S(second))]*4, 18)


@pytest.mark.parametrize('e, inner', [
    (x**2, 2*x), (sqrt(y), 0), (x*y, y), (-x, -1), (Abs(x), sign(x)),
    (sin(-x), -cos(x)), (log(x), 1/x), (1/x, -1/x**2),
    (exp(2*x), 2*exp(2*x))])
def test_slopes_merge_with_the_expressions_they_are(g, e, inner):
    a = g.input(x)
    assert gradient(g, read(g, e), [a]) == [read(g, S(inner))]


@pytest.mark.parametrize('seed', range(12))
def test_a_jacobian_has_the_gradients_as_rows(seed):
    """Of expressions that share parts; on a builder for each way."""
    random = Random(seed)
    parts = [expression(random, [], 2) for _ in range(4)]
    rows = [random.choice(parts)*random.choice(parts) + sin(sum(parts))
            for _ in range(3)] + [parts[0], S.Zero]

    def slopes(ways):
        g = GraphBuilder(t)
        inputs = [g.input(name) for name in NAMES]
        found = ways(g, [read(g, e) for e in rows], inputs)
        return Graph.freeze(g, {'J': (found, 3)}).evaluate(
            dict(zip(NAMES, (0.3, -0.7, 1.1))), ('J',), mp)['J']

    by_gradients = slopes(lambda g, refs, inputs: [
        gradient(g, ref, inputs) for ref in refs])
    for row, wanted in zip(slopes(jacobian), by_gradients):
        assert all(abs(x - y) <= 1e-10*(1 + abs(y))
                   for x, y in zip(row, wanted))


def test_elimination_of_nodes_takes_less_than_gradients():
    """Where several rows share what depends on several inputs."""
    def count(ways):
        g = GraphBuilder(t)
        inputs = [g.input(name) for name in symbols('x0:8')]
        shared = g.call(sin(SLOTS[0]), (g.sum(
            g.mul(x, y) for x, y in zip(inputs, inputs[1:])),))
        rows = [g.mul(shared, g.mul(x, x)) for x in inputs]
        return Graph.freeze(g, {
            'J': (ways(g, rows, inputs), 8)}).operation_count()

    assert count(jacobian) < count(lambda g, refs, inputs: [
        gradient(g, ref, inputs) for ref in refs])


def test_a_gradient_costs_a_small_multiple_of_its_function(g):
    names = symbols('x0:40')
    e = S(1)
    for name in names:
        e = sin(name*e, evaluate=False) + name
    ref = read(g, e)
    before = Graph.freeze(g, {'f': ([[ref]], 1)}).operation_count()
    slopes = gradient(g, ref, [g.bound[name] for name in names])
    after = Graph.freeze(g, {'f': ([slopes], 40)}).operation_count()
    assert after <= 4*before


def test_user_functions_obey_the_chain_rule():
    f = Function('f')
    g = GraphBuilder(t)
    a, b = g.input(q, dynamic=True), g.input(u, dynamic=True)
    D = time_derivative(g, {a: b, b: 0})
    rate = Graph.freeze(g, {'f': ([[D(read(g, f(q**2, t)))]], 1)})
    e = rate.sympy('f')[0].replace(f, lambda c, d: sin(c)*d**2).doit()
    wanted = (sin(q**2)*t**2).diff(t).subs(q.diff(t), u)
    values = {q: 0.7, u: -0.4, t: 1.3}
    assert float((e - wanted).subs(values)) == pytest.approx(0, abs=1e-14)


def test_a_function_without_a_derivative_is_named(g):
    a = g.input(x)
    ref = read(g, floor(x)*y)
    with pytest.raises(ConstrainedDynamicsError, match='floor') as info:
        gradient(g, ref, [a])
    assert '_slot' not in str(info.value)


def test_substitution_leaves_the_originals(g):
    a, b = g.input(x), g.input(y)
    ref = read(g, sin(x) + y)
    new, same_again = substitute(g, [ref, b], {a: 0})
    assert (new, same_again) == (b, b)
    assert ref == read(g, sin(x) + y)
    assert substitute(g, [ref], {}) == [ref]


def test_exchanging_two_inputs_is_simultaneous(g):
    a, b = g.input(x), g.input(y)
    assert substitute(g, [read(g, x/y)], {a: b, b: a}) == [read(g, y/x)]


def test_a_singular_substitution_is_an_error(g):
    with pytest.raises(ConstrainedDynamicsError, match='vanishes'):
        substitute(g, [read(g, y/x)], {g.input(x): 0})
