"""Random linear mappings: the geometry of the image.

A system is drawn from its seed: ``M(x, t)``, ``g_0i(x, t)``, a potential,
and rows ``a(x, t) x' + a_0(x, t)`` of which the last K are constraints, some
of them differentiated holonomic ones.  Right sides are made at 50 digits from
the derivatives that SymPy takes of these small coefficients: the connection,
torsion and curvature of the parent carried over by numbers.

Indices: the upper one first, the transported one second, that of
differentiation last; 0 is time.
"""
from functools import cache, cached_property
from itertools import product
from operator import attrgetter
from random import Random

import pytest
from mpmath import mp
from sympy import Matrix, Rational, cos, eye, sin, symbols, sympify, zeros
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, dynamicsymbols)

from combinations import every_third
from kkt import at, close, number, t
from sympy_constrained import LinearMappingMethod

COORDINATES = dynamicsymbols('x1:6')
FREE = dynamicsymbols('u1:6')
c = symbols('c')
# (n, K, kind of parent) of those whose geometry is looked at
SPACES = [(2, 0, 'any'), (2, 1, 'any'), (3, 1, 'any'), (3, 2, 'any'),
          (2, 1, 'flat'), (3, 1, 'flat'), (3, 0, 'any'), (2, 2, 'any')]
SOME = 1e-5                     # more than this is not nothing
each_space = pytest.mark.parametrize(
    'seed', every_third(range(len(SPACES))))


pytestmark = pytest.mark.usefixtures('digits')


def fraction(random):
    return Rational(random.choice([-5, -3, -2, -1, 1, 2, 4]),
                    random.choice([1, 2, 3, 4, 6]))


def coefficient(random, q, still=False):
    """A short function of coordinates and time, of the order of one."""
    time = 0 if still else t
    one, two = random.choice(q), random.choice(q)
    return fraction(random) + fraction(random)/2*random.choice([
        sin(one + fraction(random)*time), one*two, cos(two)*c,
        one*time, sin(time)*c, one**2 + time])


def matrix(random, rows, columns, q, still=False, scale=1):
    """Not full if it is large, so that SymPy is quick."""
    return Matrix(rows, columns, lambda *_: scale*coefficient(
        random, q, still)*int(
        columns < 3 or random.random() < 2.5/columns))


class System:
    """The system of a seed, and what its coefficients say."""

    def __init__(self, seed, n, K, kind='any', scale=1):
        self.random = random = Random(f'mapping {seed} {n} {K} {kind}')
        self.n, self.K, self.p = n, K, n - K
        self.q = q = list(COORDINATES[:n])
        self.v = v = Matrix(q).diff(t)
        self.u = Matrix(n - K, 1, FREE[:n - K])
        self.autonomous = seed % 4 == 1 and kind == 'any'
        still = self.autonomous
        if kind == 'flat':
            bend = [f + sin(f)/3 + (coefficient(random, q[:i], True)
                                    if i else 0) for i, f in enumerate(q)]
            J = Matrix(bend).jacobian(q)
            self.M, self.N = J.T*J*Rational(6, 5), zeros(1, n)
        else:
            half = matrix(random, n, n, q, still)/3
            self.M = half.T*half + 2*eye(n)
            self.N = zeros(1, n) if still else matrix(random, 1, n, q)
        self.V = coefficient(random, q, still)*coefficient(random, q, still)
        self.L = (v.T*self.M*v)[0]/2 + (self.N*v)[0] - self.V
        order = random.sample(range(n), n)
        self.a = scale*matrix(random, n, n, q)/3
        for i, j in enumerate(order):
            self.a[i, j] += 2 if i % 2 else -2
        self.a0 = matrix(random, n, 1, q)
        self.hol = []
        if K and seed % 3 == 0:         # the first constraint is holonomic
            f = 3*q[order[n - K]] + matrix(random, 1, 1, q)[0]*q[0]
            self.hol = [f - sin(t)*c]
        self.vel = list((self.a*v + self.a0)[n - K + len(self.hol):, :])
        rows = Matrix(K, 1, [*(e.diff(t) for e in self.hol), *self.vel])
        self.a = self.a[:n - K, :].col_join(rows.jacobian(v))
        self.a0 = self.a0[:n - K, :].col_join(
            rows.xreplace(dict.fromkeys(v, sympify(0))))
        self.rows = self.a*v + self.a0

    def make(self, **options):
        return LinearMappingMethod(
            self.L, self.q, hol_coneqs=self.hol, nonhol_coneqs=self.vel,
            us=list(self.u), mapping=list(self.rows[:self.p, :]), **options)

    @cached_property
    def method(self):
        return self.make()

    @cached_property
    def completed(self):
        return self.make(completion='orthogonal')

    @cached_property
    def state(self):
        """Random coordinates, time and u, and the velocities that belong to
        them; no constraint holds."""
        random = Random(f'place {self.L}')
        values = {x: number(Rational(random.randint(-900, 900), 700))
                  for x in [*self.q, t, c, *self.u]}
        u = [values[x] for x in self.u] + [mp.mpf(0)]*self.K
        a, a0 = at(self.a, values), at(self.a0, values)
        assert abs(mp.det(a)) > 1e-3
        v = mp.lu_solve(a, mp.matrix(u) - a0)
        return {**values, **dict(zip(self.v, v))}


def equal(found, wanted):
    found, wanted = mp.matrix(found), mp.matrix(wanted)
    if not found.rows*found.cols:
        return (found.rows, found.cols) == (wanted.rows, wanted.cols)
    return close(found, wanted, mp.mpf(10)**-45, scale=1)


# The geometry, by numbers

class Space:
    """Arrays at a place, from derivatives of the coefficients."""

    def __init__(self, model, values):
        self.model, self.values = model, values
        self.size = model.n + 1
        n = model.n
        names = {f: symbols(f'y_{i}') for i, f in enumerate(model.q)}
        back = {y: f for f, y in names.items()}
        xs = [t, *names.values()]

        def derivatives(expression, *directions):
            e = expression.xreplace(names)
            for x in directions:
                e = e.diff(x)
            return at(e.xreplace(back), values)

        E = eye(n + 1)
        E[1:, :] = model.a0.row_join(model.a)
        self.E, self.dE = at(E, values), [derivatives(E, x) for x in xs]
        self.B = self.E**-1
        g = zeros(n + 1, n + 1)         # with g_0i, and g_00 = 0
        g[1:, 1:], g[0, 1:], g[1:, 0] = model.M, model.N, model.N.T
        self.M, inverse = at(model.M, values), at(model.M, values)**-1
        dg = [derivatives(g, x) for x in xs]
        ddg = [[derivatives(g, x, y) for y in xs] for x in xs]

        def lowered(d, j, k, i):
            return (d[j][k, i] + d[k][j, i] - d[i][j, k])/2

        everything = range(n + 1)
        pairs = list(product(everything, everything))
        self.parent = {pair: inverse*mp.matrix([
            lowered(dg, *pair, i) for i in range(1, n + 1)])
            for pair in pairs}
        slopes = {}
        for k in everything:
            for pair in pairs:
                column = mp.matrix([lowered(ddg[k], *pair, i)
                                    for i in range(1, n + 1)])
                slopes[(k, *pair)] = inverse*(
                    column - dg[k][1:, 1:]*self.parent[pair])
        self.slopes = slopes

    def parent_symbol(self, i, j, k):
        return self.parent[j, k][i - 1] if i else mp.mpf(0)

    @cached_property
    def connection(self):
        """(9') from derivatives of the rows."""
        found, E, B, size = {}, self.E, self.B, self.size
        for s in range(size):
            inner = mp.matrix(size, size)
            for j, k in product(range(size), repeat=2):
                inner[j, k] = -self.dE[k][s, j] + mp.fsum(
                    E[s, i]*self.parent_symbol(i, j, k)
                    for i in range(1, size))
            found[s] = B.T*inner*B
        return found

    @cached_property
    def torsion(self):
        """``d theta^s(b_m, b_n)``."""
        found, size = {}, self.size
        for s in range(size):
            curl = mp.matrix(size, size)
            for i, j in product(range(size), repeat=2):
                curl[i, j] = self.dE[i][s, j] - self.dE[j][s, i]
            found[s] = self.B.T*curl*self.B
        return found

    @cached_property
    def curvature(self):
        """That of the parent, carried over; all indices from 1."""
        size, E, B = self.size, self.E, self.B
        G, d = self.parent_symbol, self.slopes
        space = range(1, size)
        parent = {}
        for i, j, k, n in product(space, space, space, space):
            parent[i, j, k, n] = (
                d[k, j, n][i - 1] - d[n, j, k][i - 1] + mp.fsum(
                    G(i, h, k)*G(h, j, n) - G(i, h, n)*G(h, j, k)
                    for h in space))
        found = {}
        for key in product(space, repeat=4):
            s, r, m, n = key
            found[key] = mp.fsum(
                E[s, i]*B[j, r]*B[k, m]*B[h, n]*x
                for (i, j, k, h), x in parent.items())
        return found


@cache
def space_system(seed):
    return System(100 + seed, *SPACES[seed], scale=Rational(3, 4))


@cache
def space(seed):
    return Space(space_system(seed), space_system(seed).state)


def array(found, values):
    """Entries by index of an array of the class."""
    keys = list(product(*map(range, found.shape)))
    numbers = at(Matrix(len(keys), 1, [found[key] for key in keys]), values)
    return dict(zip(keys, numbers))


@cache
def arrays(seed, name, completed=False):
    """An array of the space with indices as on paper, 0 for time."""
    model = space_system(seed)
    method = model.completed if completed else model.method
    found = array(getattr(method.space, name), model.state)
    if name.endswith('ext'):
        return found
    if name.startswith('restricted'):
        return {(k + 1, m, n): x for (k, m, n), x in found.items()}
    return {tuple(k + 1 for k in key): x for key, x in found.items()}


def same(found, wanted):
    """Two arrays, as dictionaries of the same indices."""
    keys = list(found)
    assert set(keys) == set(wanted)
    return equal([found[k] for k in keys], [wanted[k] for k in keys])


def stacked(matrices, first=0):
    size = range(first, matrices[0].rows)
    return {(s, m, n): matrices[s][m, n] for s, m, n in product(
        size, size, size)}


@each_space
def test_connection(seed):
    """Invariant 3: (9') is the connection."""
    here = space(seed)
    found = arrays(seed, 'connection_ext')
    assert same(found, stacked(here.connection))
    assert same(arrays(seed, 'connection'), stacked(here.connection, 1))
    assert max(map(abs, found.values())) > SOME


@each_space
def test_torsion(seed):
    """Invariant 3: T = d theta(b, b), which needs no metric."""
    here = space(seed)
    found = arrays(seed, 'torsion_ext')
    assert same(found, stacked(here.torsion))
    assert same(arrays(seed, 'torsion'), stacked(here.torsion, 1))
    minus = arrays(seed, 'anholonomity')
    assert same(arrays(seed, 'torsion'), {k: -x for k, x in minus.items()})
    assert max(map(abs, found.values())) > SOME


@each_space
def test_metric(seed):
    """(8) and its inverse."""
    here, method = space(seed), space_system(seed).method
    b = here.B[1:, 1:]
    g = at(method.space.metric, here.values)
    assert equal(g, b.T*here.M*b)
    assert equal(at(method.space.metric_inv, here.values)*g, mp.eye(g.rows))


@each_space
def test_contortion(seed):
    """Invariant 3: K_rmn = (T_rmn + T_mnr + T_nmr)/2, and what is left of
    the connection is that of Levi-Civita."""
    here = space(seed)
    size = range(1, here.size)
    g = at(space_system(seed).method.space.metric, here.values)

    def lower(entries):
        return {(r, m, n): mp.fsum(g[r - 1, s - 1]*entries[s, m, n]
                                   for s in size)
                for r, m, n in product(size, size, size)}

    T = lower(stacked(here.torsion, 1))
    assert same(lower(arrays(seed, 'contortion')), {
        (r, m, n): (T[r, m, n] + T[m, n, r] + T[n, m, r])/2
        for r, m, n in product(size, size, size)})
    one, two = arrays(seed, 'levi_civita'), arrays(seed, 'contortion')
    assert same(stacked(here.connection, 1), {k: one[k] + two[k] for k in one})


@each_space
def test_curvature(seed):
    """Invariant 4: that of the parent; zero if it is flat."""
    here = space(seed)
    found = arrays(seed, 'curvature')
    assert same(found, here.curvature)
    largest = max(map(abs, found.values()))
    if SPACES[seed][2] == 'flat':
        assert largest < 1e-45
        T = arrays(seed, 'torsion_ext')
        assert max(map(abs, T.values())) > SOME
    else:
        assert largest > SOME
    # what is left if quasi-coordinates are taken for coordinates
    T, gamma = stacked(here.torsion, 1), stacked(here.connection, 1)
    size = range(1, here.size)
    assert same(arrays(seed, 'coordinate_curvature'), {
        (s, r, m, n): x - mp.fsum(T[k, m, n]*gamma[s, r, k] for k in size)
        for (s, r, m, n), x in here.curvature.items()})


@each_space
def test_restricted_connection(seed):
    """Needs N, nu and M only; torsion by the rows of the completion."""
    model, here = space_system(seed), space(seed)
    p, size = model.p, here.size
    if not p:
        assert not arrays(seed, 'restricted_connection')
        return
    b = here.B[1:, 1:]
    g = b.T*here.M*b
    low = range(p + 1)
    wanted = {}
    for m, n in product(low, low):
        column = g[:p, :]*mp.matrix([here.connection[s][m, n]
                                     for s in range(1, size)])
        for k, x in enumerate(mp.lu_solve(g[:p, :p], column), start=1):
            wanted[k, m, n] = x
    found = arrays(seed, 'restricted_connection')
    assert same(found, wanted)
    assert same(arrays(seed, 'restricted_connection', True), wanted)
    T = arrays(seed, 'restricted_torsion')
    assert same(T, {(k, m, n): x - wanted[k, n, m]
                    for (k, m, n), x in wanted.items()})
    C = g[:p, :p]**-1*g[:p, p:] if model.K else None
    full = here.torsion
    assert same(T, {(k, m, n): full[k][m, n] + (mp.fsum(
        C[k - 1, h]*full[p + 1 + h][m, n] for h in range(model.K))
        if model.K else 0) for k, m, n in T})


# Parents with speeds of their own

@pytest.mark.parametrize('seed, K', [(0, 0), (1, 1), (3, 2)])
def test_mapping_of_speeds_is_the_composed_one(seed, K):
    """Kane's shape with x' = Y w + y_0: rows a W and a w_0 + a_0."""
    random = Random(f'speeds {seed}')
    q, w = list(COORDINATES[:3]), dynamicsymbols('w1:4')
    m, p = symbols('m', positive=True), 3 - K
    v = Matrix(q).diff(t)
    W = matrix(random, 3, 3, q)/3 + 2*eye(3)        # w = W x' + w_0
    w0 = matrix(random, 3, 1, q)
    a = matrix(random, 3, 3, q)/3 - 2*eye(3)        # rows in w
    a0 = matrix(random, 3, 1, q)
    rows = a*Matrix(w) + a0
    frame = ReferenceFrame('N')
    O, P = Point('O'), Point('P')
    O.set_vel(frame, 0)
    place = [q[0], q[1] + q[0]**2/3, q[2] + sin(q[0] + t)]
    P.set_pos(O, sum((e*k for e, k in zip(place, frame)), 0*frame.x))
    P.set_vel(frame, P.pos_from(O).dt(frame))
    load = [coefficient(random, q) for _ in q]
    force = sum((e*k for e, k in zip(load, frame)), 0*frame.x)
    u = FREE[:p]
    kane = LinearMappingMethod(
        frame, q, w, list(W*v + w0 - Matrix(w)), us=u,
        velocity_constraints=list(rows[p:, :]), mapping=list(rows[:p, :]),
        bodies=[Particle('P', P, m)], forcelist=[(P, force)])
    composed = a*(W*v + w0) + a0
    speed = Matrix(place).diff(t)
    lagrange = LinearMappingMethod(
        m*speed.dot(speed)/2, q, us=u, mapping=list(composed[:p, :]),
        nonhol_coneqs=list(composed[p:, :]),
        generalized_forces=list(Matrix(place).jacobian(q).T*Matrix(load)))
    values = {x: number(Rational(random.randint(-900, 900), 700))
              for x in [*q, t, *u]}
    values.update({c: number(Rational(1, 3)), m: number(Rational(6, 5))})
    for name in ('mass_matrix', 'forcing', 'multipliers', 'acceleration',
                 'space.metric', 'forcing_kin'):
        assert equal(*(at(attrgetter(name)(method), values)
                       for method in (kane, lagrange))), name
    for name in ('space.connection_ext', 'space.torsion_ext',
                 'space.curvature'):
        one, two = (array(attrgetter(name)(method), values)
                    for method in (kane, lagrange))
        assert same(one, two)
        if name == 'torsion_ext':
            assert max(map(abs, one.values())) > SOME
    # the rows in speeds themselves
    assert equal(at(kane.mapping.a, values), at(a, values))
    assert equal(at(kane.mapping.a0, values), at(a0, values))
    forces = at(kane.constraint_forces, values)
    assert equal(at(W, values).T*forces,
                 at(lagrange.constraint_forces, values))
    known = {**values, **dict(zip(v, at(kane.forcing_kin, values)))}
    for method, speeds in ((kane, W*v + w0), (lagrange, v)):
        force = at(method.constraint_forces, values)
        assert equal((force.T*at(speeds, known)),
                     at(Matrix([method.constraint_power]), values))
