"""Random expressions and mechanisms: the graph against SymPy's values.

Expressions come in batches that one builder reads, so that each meets the
nodes of the others; a false merge gives one of them a wrong value. Mechanisms
are random trees of bodies in space, some with a closed loop, a velocity row or
speeds that are not ``q'``, against equations that are written with plain
SymPy differentiation (:mod:`kkt`).
"""
import os
import subprocess
import sys
import warnings
from random import Random

import pytest
from mpmath import mp
from sympy import (
    Abs, Add, Derivative, DiracDelta, Float, Heaviside, Matrix, Max, Min, Mul,
    Piecewise, Pow, Rational, S, acos, asin, asinh, atan, atan2, cbrt, cos,
    cosh, cot, diff, exp, expand, expand_trig, factor, log, sec, sign, sin,
    sinh, sqrt, symbols, tan, tanh, together)
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from kkt import Reference, at, close, number, t
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.graph import Graph, GraphBuilder, gradient, read

x, y, z = NAMES = symbols('x y z', real=True)
BATCH = 20
BATCHES = 100               # 2000 expressions, of which the normal run has
QUICK = 9                   # so many batches
MECHANISMS, QUICK_MECHANISMS = 300, 12
DIGITS = 50


def share(count, quick):
    """Seeds, of which most are for the slow run."""
    return [pytest.param(i, marks=[] if i < quick else pytest.mark.slow)
            for i in range(count)]


batches = pytest.mark.parametrize('seed', share(BATCHES, QUICK))
mechanisms = pytest.mark.parametrize(
    'seed', share(MECHANISMS, QUICK_MECHANISMS))


# -- expressions ----------------------------------------------------------

def branches(a, b):
    """SymPy takes its time for branches in conditions: there are none."""
    first, second = (e if not e.has(Piecewise) else name
                     for e, name in ((a, x), (b, z)))
    return Piecewise((sin(a), first > 1), (b, second > first), (a*b, True))


UNARY = [
    sin, cos, tan, tanh, atan, asinh, Abs, sinh, cosh, sign,
    lambda e: cot(e + 7), lambda e: sec(e/5), lambda e: exp(e/3),
    lambda e: exp(-e**2), lambda e: sqrt(e**2 + 1), lambda e: sqrt(e**2),
    lambda e: 1/(e**2 + 2), lambda e: 1/(e - Rational(137, 11)),
    lambda e: log(e**2 + 1), lambda e: cbrt(e**2 + 3),
    lambda e: (e**2 + 1)**Rational(-3, 2), lambda e: (e**2)**Rational(3, 4),
    lambda e: e**3, lambda e: (e**2 + y**2 + 9)**-2, lambda e: -e,
    lambda e: sin(e)**2,
    lambda e: Float('0.75', 80)*e,
    lambda e: Float('0.1', 80)*e + Rational(1, 3),
    lambda e: acos(e/(e**2 + 3)), lambda e: asin(e/(e**2 + 3)),
    lambda e: Max(e, Rational(1, 5), y), lambda e: Heaviside(e - 1)*e]
BINARY = [
    lambda a, b: a + b, lambda a, b: a + b, lambda a, b: a - b,
    lambda a, b: a*b, lambda a, b: a*b, lambda a, b: a/(b**2 + 2),
    lambda a, b: (a + b)*(a - b), lambda a, b: (a - b)**2,
    lambda a, b: sin(a + b), lambda a, b: atan2(a, b**2 + 1),
    lambda a, b: (a**2 + 1)**(b/5), Min, Max, branches,
    lambda a, b: Piecewise((a, x*z < y), (b**2, True))]
# An expression with the same value in another form, or nearly so.
REWRITTEN = [
    expand, expand_trig, lambda e: -(-e/3)*3, lambda e: (e + x) - x,
    lambda e: sin(y)**2*e + cos(y)**2*e,
    lambda e: e if e.has(Piecewise) else together(e + 1/(z + 9)),
    lambda e: e + Rational(1, 10**9), lambda e: e*(1 + Float('1e-12', 80)),
    lambda e: sqrt(e**2 + 4)**2, lambda e: (e*y + e*z)/(y + z),
    lambda e: factor(e) if e.is_polynomial(*NAMES) else e]


def expression(random, known, depth):
    """A random real function that uses parts of the ``known`` ones."""
    if depth == 0 or random.random() < 0.1:
        return random.choice([*NAMES, S(random.randint(-3, 3))/2])
    if known and random.random() < 0.15:
        return random.choice(known)
    if random.random() < 0.45:
        return random.choice(UNARY)(expression(random, known, depth - 1))
    return random.choice(BINARY)(expression(random, known, depth - 1),
                                 expression(random, known, depth - 1))


def expressions(seed):
    """A batch of random expressions."""
    random = Random(f'graph {seed}')
    found = []
    while len(found) < BATCH:
        if found and random.random() < 0.2:
            e = random.choice(REWRITTEN)(random.choice(found))
        else:
            e = expression(random, found, 4)
        if e.is_finite is not False and e.free_symbols and (
                e.count_ops() < 120):
            found.append(e)
    return found


def point(seed):
    random = Random(f'point {seed}')
    return {name: Rational(random.randint(-2000, 2000), 997)
            for name in NAMES}


def step(a, middle):
    return mp.mpf(a > 0) if a else middle


FUNCTIONS = {Abs: abs, Max: max, Min: min, DiracDelta: lambda *_: mp.mpf(0),
             Heaviside: step}


def value(e, values, memo=None):
    """The value of a SymPy expression, with SymPy's meaning of functions.

    Not ``evalf``, which thinks about the conditions of nested branches for
    hours; that the two agree has a test of its own. Impulses are left out, as
    on the graph.
    """
    memo = {} if memo is None else memo

    def of(part):
        return value(part, values, memo)

    if e in memo:
        return memo[e]
    if e in values:
        found = mp.mpf(values[e].p)/values[e].q
    elif isinstance(e, Rational):
        found = mp.mpf(e.p)/e.q
    elif e.is_number and not e.args:
        found = mp.mpmathify(e.evalf(DIGITS + 30))
    elif isinstance(e, Piecewise):
        found = next(of(branch) for branch, condition in e.args
                     if condition == True                       # noqa: E712
                     or condition.func(*(Float(of(a), DIGITS + 15)
                                         for a in condition.args)))
    elif isinstance(e, Derivative):             # an impulse, too
        assert e.expr.func == sign
        found = mp.mpf(0)
    elif isinstance(e, Add):
        found = mp.fsum(map(of, e.args))
    elif isinstance(e, Mul):
        found = mp.fprod(map(of, e.args))
    elif isinstance(e, Pow):
        found = mp.power(*map(of, e.args))
    else:
        found = FUNCTIONS.get(e.func, getattr(mp, e.func.__name__, None))(
            *map(of, e.args))
    memo[e] = found
    return found


def read_all(found, seed=0):
    """A frozen graph of the expressions and of their references."""
    g = GraphBuilder(t, seed)
    for name in NAMES:
        g.input(name)
    return g, [read(g, e) for e in found]


def frozen(g, refs):
    return Graph.freeze(g, {'f': ([[ref] for ref in refs], 1)})


def same(found, wanted, digits=DIGITS - 10):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert abs(a - b) <= mp.mpf(10)**-digits*(1 + abs(b)), (a, b)


@batches
def test_values_are_those_of_sympy(seed):
    found = expressions(seed)
    g, refs = read_all(found)
    graph = frozen(g, refs)
    some = frozen(g, refs[:5])
    again = Graph.of({'f': some.sympy('f')}, t)
    for k in range(2):
        values = point(f'{seed} {k}')
        with mp.workdps(DIGITS + 15):
            wanted = [value(e, values) for e in found]
            for one in (graph, again):
                rows = one.evaluate(values, context=mp)['f']
                same([row[0] for row in rows], wanted[:len(rows)])
            # Equal references must have equal values, and no others.
            for i, j in ((i, j) for i in range(BATCH) for j in range(i)):
                if refs[i] == refs[j]:
                    same([wanted[i]], [wanted[j]], DIGITS - 5)
                if refs[i] == -refs[j]:
                    same([wanted[i]], [-wanted[j]], DIGITS - 5)


@pytest.mark.parametrize('seed', range(3))
def test_the_values_here_are_those_of_evalf(seed):
    values, count = point(seed), 0
    for e in expressions(seed):
        if not e.has(Piecewise, Max, Min, Heaviside, sign, Abs):
            with mp.workdps(DIGITS + 15):
                same([value(e, values)],
                     [mp.mpmathify(e.subs(values).evalf(DIGITS + 15))])
            count += 1
    assert count


@batches
def test_derivatives_are_those_of_sympy(seed):
    found = expressions(seed)[::3]
    values = point(f'{seed} slope')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')         # impulses are left out
        g, refs = read_all(found)
        inputs = [g.bound[name] for name in NAMES]
        slopes = [gradient(g, ref, inputs) for ref in refs]
    graph = frozen(g, [slope for row in slopes for slope in row])
    with mp.workdps(DIGITS + 15):
        wanted = [value(diff(e, name), values)
                  for e in found for name in NAMES]
        same([row[0] for row in graph.evaluate(values, context=mp)['f']],
             wanted)


@batches
def test_another_seed_gives_the_same_graph(seed):
    found = expressions(seed)
    one, other = (frozen(*read_all(found, s)) for s in (0, 77))
    assert one.nodes == other.nodes
    assert one.templates == other.templates


SCRIPT = '''
import sys
sys.path[:0] = [%r, %r]
from property.test_graph_fuzz import *
for seed in range(4):
    graph = frozen(*read_all(expressions(seed)))
    print(graph.nodes, graph.templates, graph._refs)
method = RandomMechanism(1).method
graph = method.equations_of_motion.graph
print(graph.inputs, graph.nodes, graph.templates, graph._refs)
'''


@pytest.mark.slow
def test_another_hash_salt_gives_the_same_graph():
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    script = SCRIPT % (root, os.path.join(root, 'tests'))
    texts = {subprocess.run(
        [sys.executable, '-c', script], check=True, capture_output=True,
        text=True, env={**os.environ, 'PYTHONHASHSEED': salt}).stdout
        for salt in '123'}
    assert len(texts) == 1 and len(texts.pop()) > 1000


# -- mechanisms -----------------------------------------------------------

m, c, k, g0 = symbols('m c k g')
CONSTANTS = {m: Rational(13, 10), c: Rational(2, 5), k: Rational(7, 3),
             g0: Rational(981, 100)}


class RandomMechanism:
    """A tree of two or three bodies on pins, sliders and turning sliders."""

    def __init__(self, seed):
        self.random = random = Random(f'mechanism {seed}')
        count = random.randint(1, 3)
        self.q = list(dynamicsymbols(f'q1:{count + 1}'))
        self.u = list(dynamicsymbols(f'u1:{count + 1}'))
        self.N, self.origin = ReferenceFrame('N'), Point('O')
        self.origin.set_vel(self.N, 0)
        self.bodies, self.loads, self.tips = [], [], []
        places = [(self.N, self.origin)]
        for i, q in enumerate(self.q):
            places.append(self.link(i, q, *random.choice(places)))
        self.springs()
        self.rates()
        self.rows()

    def fraction(self):
        return Rational(self.random.choice([-3, -2, -1, 1, 2, 4]),
                        self.random.choice([1, 2, 3]))

    def vector(self, frame):
        """A short vector fixed in a frame."""
        axes = self.random.sample(list(frame), 2)
        return self.fraction()*c*axes[0] + self.fraction()/2*axes[1]

    def link(self, i, q, frame, point):
        """A body moved by ``q`` on a body; its frame and far end."""
        random = self.random
        kind = random.choice(['pin', 'pin', 'slider', 'skew'])
        axis = random.choice(list(frame))
        if kind == 'slider':
            body, start = frame, point.locatenew(f'S{i}', q*axis)
        else:
            body, start = ReferenceFrame(f'B{i}'), point
            if kind == 'skew':
                axis = (3*frame.x + 4*random.choice([-1, 1])*frame.y)/5
            body.orient_axis(frame, axis, q)
        centre = start.locatenew(f'C{i}', self.vector(body))
        if random.random() < 0.3 or body is self.N:
            self.bodies.append(Particle(f'p{i}', centre, m*(i + 1)))
        else:
            moments = [abs(self.fraction()) + 5 for _ in range(3)]
            products = [self.fraction()/3*random.randint(0, 1)
                        for _ in range(3)]
            about = random.choice([centre, start])
            self.bodies.append(RigidBody(
                f'b{i}', centre, body, m*(i + 2), (
                    inertia(body, *moments, *products), about)))
            if random.random() < 0.5:
                self.loads.append((body, -k*q*random.choice(list(body))
                                   + sin(t)*self.N.x))
        self.loads.append((centre, -m*g0*self.N.y))
        end = start.locatenew(f'E{i}', self.vector(body))
        self.tips.append(end)
        return body, end

    def springs(self):
        """A force between the last tip and a point of the ground."""
        if self.random.random() < 0.5:
            end = self.tips[-1]
            reach = end.pos_from(self.origin)
            self.loads.append((end, -k*reach))

    def rates(self):
        """Speeds that are ``q'``, or combinations of them."""
        self.S = Matrix.eye(len(self.q))
        if self.random.random() < 0.4 and len(self.q) > 1:
            i, j = self.random.sample(range(len(self.q)), 2)
            self.S[i, j] = self.fraction() + sin(self.q[i])/3
        self.kd_eqs = list(Matrix(self.q).diff(t)
                           - self.S*Matrix(self.u))

    def rows(self):
        """A holonomic or a velocity row, or none."""
        random, self.hol, self.vel = self.random, [], []
        if len(self.q) == 1:
            return
        kind = random.choice(['none', 'loop', 'velocity'])
        if kind == 'loop':
            gap = self.tips[-1].pos_from(self.origin)
            self.hol = [gap.dot(random.choice(list(self.N)))
                        - c*sin(t) + self.q[0]]
        elif kind == 'velocity':
            self.vel = [self.u[0] + cos(self.q[-1])*self.u[-1] - t*c]

    @property
    def method(self):
        options = {}
        if self.hol:
            options['configuration_constraints'] = self.hol
        if self.vel:
            options['velocity_constraints'] = self.vel
        return UdwadiaKalabaMethod(
            self.N, self.q, self.u, self.kd_eqs, bodies=self.bodies,
            forcelist=self.loads, **options)

    @property
    def reference(self):
        return Reference.bodies(
            self.N, self.bodies, self.loads, self.q, self.u, self.kd_eqs,
            self.hol, self.vel)


@pytest.mark.filterwarnings('ignore:(?s).*automatically calculated')
@mechanisms
def test_mechanisms_are_those_of_newton_and_euler(seed):
    made = RandomMechanism(seed)
    # The graph first: SymPy's own calls set velocities in the points.
    graph = made.method.system.graph
    random = Random(f'state {seed}')
    values = {name: Rational(random.randint(-1500, 1500), 1000)
              for name in (*made.q, *made.u, t)} | CONSTANTS
    reference = made.reference
    with mp.workdps(60):
        numbers = {name: number(v) for name, v in values.items()}
        out = graph.evaluate({name: numbers[name] for name in graph.inputs},
                             ['M', 'Q', 'A', 'b'], context=mp)
        for name, wanted in zip('MQA', (
                reference.M, reference.F, reference.A)):
            exact = at(wanted, numbers)
            if exact.rows:
                assert close(out[name], exact, mp.mpf(10)**-45, scale=1)
        if reference.A.rows:
            assert close(out['b'], at(reference.b, numbers),
                         mp.mpf(10)**-45, scale=1)


def test_the_mechanisms_differ():
    made = [RandomMechanism(seed) for seed in range(60)]
    assert {len(one.q) for one in made} == {1, 2, 3}
    assert any(one.hol for one in made) and any(one.vel for one in made)
    assert any(one.S != Matrix.eye(len(one.q)) for one in made)
    assert {type(b) for one in made for b in one.bodies} == {
        Particle, RigidBody}
