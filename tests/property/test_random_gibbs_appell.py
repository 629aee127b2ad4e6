"""Random small models of variable mass under random constraints.

A model is drawn from its seed: particles and rigid bodies at positions that
are polynomials of the coordinates, kinematics that are not linear in the
speeds, masses ``m(t)`` or ``m(q, u, t)``, thrust and other loads, and rows of
the orders 0 to 2 (linear in ``u'``), or one of a higher order.  What the class
returns is compared with the 50-digit solve of :mod:`meshchersky`, which reads
positions and rotations alone, and its forms with each other in fractions.
"""
from functools import lru_cache
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from mpmath import mp
from sympy import Derivative, Matrix, Rational
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from kkt import WORK, at, close, norm, rank, t
from meshchersky import Exact, Meshchersky, fraction
from sympy_constrained import GibbsAppellMethod, thrust

Q, U = dynamicsymbols('q1:6'), dynamicsymbols('u1:5')
m = dynamicsymbols('m')
EXACT = mp.mpf(10)**-44
OF_BODIES = ('kane', 'appell', 'volterra', 'macmillan', 'nielsen-10')
ELIMINATED = ('macmillan', 'nielsen-10', 'voronets', 'nielsen')
FORMS = (*OF_BODIES, 'maggi', 'boltzmann-hamel', 'voronets', 'nielsen')


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(WORK):
        yield


class RandomModel:
    """The model of one seed; ``top`` is the order of its highest row."""

    def __init__(self, seed, top=2):
        self.random = random = Random(f'meshchersky {top} {seed}')
        self.p = p = random.choice([2, 3, 3] if top == 2 else [2, 3])
        self.n = n = p + random.choice([0, 0, 1])
        self.q, self.u = Q[:n], U[:p]
        bend = int(random.random() < 0.6 and top == 2)
        self.V = [u + self.polynomial(self.q, 2)*random.choice(self.u)
                  + bend*self.polynomial(self.u, 2) for u in self.u]
        self.V += [self.polynomial(self.q, 1) + self.polynomial(self.u, 2)
                   for _ in range(n - p)]
        self.frame, self.origin = ReferenceFrame('N'), Point('O')
        self.origin.set_vel(self.frame, 0)
        self.bodies, self.loads, self.anchors = [], [], {}
        self.of_speeds = False
        for k in range(random.choice([1, 2]) if top == 2 else 1):
            self.add_particle(k)
        if random.random() < 0.4 and top == 2:
            self.add_body()
        self.rows = self.constraints(top)

    def polynomial(self, names, degree, terms=1):
        random, total = self.random, Rational(0)
        for _ in range(terms):
            term = Rational(random.choice([-3, -2, -1, 1, 2, 3]),
                            random.choice([1, 2, 3]))
            for _ in range(random.randint(1, degree)):
                term *= random.choice([*names, *names, t])
            total += term
        return total

    def mass(self):
        """Of time, or of all that there is."""
        random = self.random
        kind = random.choice(['m(t)', 'm(q, t)', 'm(q, u, t)'])
        if kind == 'm(t)':
            return m
        mass = 2 + random.choice(self.q)**2 + t**2
        if kind == 'm(q, u, t)':
            speed = random.choice([*self.u, *(x.diff(t) for x in self.q)])
            mass += speed**2/3 + m*random.choice(self.q)
            self.of_speeds |= speed in self.u
        return mass

    def vector(self, names, degree=2):
        return sum((self.polynomial(names, degree)*axis
                    for axis in self.frame), start=0*self.frame.x)

    def at_position(self, name, spread):
        place = self.vector(self.q)
        for x, axis in zip(self.q[spread:] + self.q[:spread], self.frame):
            place += 3*x*axis
        point = self.origin.locatenew(name, place)
        point.set_vel(self.frame, place.dt(self.frame))
        return point

    def add_particle(self, k):
        point, mass = self.at_position(f'P{k}', k), self.mass()
        self.bodies.append(Particle(f'P{k}', point, mass))
        self.load(point, mass)

    def add_body(self):
        """With its mass centre in motion, at times."""
        random, N = self.random, self.frame
        A, B = ReferenceFrame('A'), ReferenceFrame('B')
        one, other = random.choice(self.q), random.choice(self.q)
        A.orient_axis(N, one, random.choice(list(N)))
        B.orient_axis(A, other, random.choice(list(A)))
        anchor, mass = self.at_position('C', 1), self.mass()
        G = anchor
        if random.random() < 0.5:
            G = anchor.locatenew('G', t*B.x + m*B.z/3)
            G.set_vel(N, G.pos_from(self.origin).dt(N))
        body = RigidBody('body', G, B, mass, (inertia(
            B, 2 + mass, 3 + m, 2, Rational(1, 3), 0, t/5), G))
        if G is not anchor:
            self.anchors[body] = anchor
        self.bodies.append(body)
        self.load(anchor, mass)
        self.loads.append((B, self.vector([*self.q, *self.u])))

    def load(self, point, mass):
        self.loads.append((point, self.vector([*self.q, *self.u])))
        if self.random.random() < 0.8:
            rate = self.random.choice([1, 1, 2])*mass.diff(t)
            self.loads.append(thrust(point, rate, self.vector(
                [*self.q, *self.u], 1)))

    def constraints(self, top):
        random = self.random
        if top > 2:
            self.orders = [top]
            return [self.higher_row(top)]
        self.orders = sorted(random.choice([0, 1, 1, 2]) for _ in range(
            random.randint(0, self.p - 1)))
        return [self.row(order) for order in self.orders]

    def row(self, order):
        random, both = self.random, [*self.q, *self.u]
        if order == 0:
            return self.polynomial(self.q, 2, 2) + sum(self.q) - 1
        if order == 1:
            return (self.polynomial(self.u, 2, 3)
                    + self.polynomial(self.q, 2)*random.choice(self.u)
                    + self.polynomial(self.q, 1))
        return sum((self.polynomial(both, 1)*u.diff(t) for u in self.u),
                   start=self.polynomial(both, 2))

    def higher_row(self, top):
        """Order 3 or 4, linear in the highest derivatives."""
        names = [*self.q, *self.u, *(u.diff(t) for u in self.u)]
        row = sum(((random_one + self.polynomial(self.q, 1, 1))*u.diff(
            t, top - 1) for random_one, u in zip((1, 2, -1), self.u)),
            start=self.polynomial(names, 2))
        return row

    def method(self):
        holonomic = self.orders.count(0)
        return GibbsAppellMethod(
            self.frame, self.q, self.u, [
                x.diff(t) - v for x, v in zip(self.q, self.V)],
            configuration_constraints=self.rows[:holonomic],
            nonholonomic_constraints=self.rows[holonomic:],
            bodies=self.bodies, forcelist=self.loads,
            anchors=self.anchors or None)

    @lru_cache
    def plain(self):
        return Meshchersky(
            self.frame, self.origin, self.q, self.u,
            {x.diff(t): v for x, v in zip(self.q, self.V)}, self.bodies,
            self.loads, self.rows, self.anchors)

    def numbers(self):
        """Of time and of the function that is prescribed."""
        random = self.random
        values = {m.diff(t, k) if k else m: fraction(random, 1)/2
                  for k in range(5)}
        return {**values, t: fraction(random, Rational(1, 2))/3}

    def anywhere(self):
        values = self.numbers()
        for x in (*self.q, *self.u, *(u.diff(t, k) for u in self.u
                                      for k in (1, 2))):
            values[x] = fraction(self.random)
        return values


def state_of(model):
    """A regular state on the constraints, or another example."""
    try:
        values = model.plain().state(model.numbers(), 1)
        exact = model.plain().solve(values)
    except ArithmeticError:
        assume(False)
    rows = model.plain().reference.A
    size = max(norm([x for x in values.values()]), 1)
    assume(not len(rows) or rank(at(rows, values)) == rows.rows)
    assume(norm(exact[0]) < 1e6 and size < 1e4)
    return values, exact


def check_motion(seed):
    model = RandomModel(seed)
    method, plain = model.method(), model.plain()
    assert list(method.constraint_orders) == plain.orders == model.orders
    elsewhere = model.anywhere()
    E = at(plain.residual, elsewhere)
    found = method.ingredients.unrestricted_residual
    assert close(at(found, elsewhere), E, EXACT)
    B, A = (at(e, elsewhere) for e in (
        method.hypersurface_basis, method.constraints_jacobian))
    if A.rows:
        assert norm(A*B) < EXACT*(1 + norm(A))*(1 + norm(B))
    assert close(at(method.eom, elsewhere), -B.T*E, EXACT, scale=1)
    values, (du, forces, lam) = state_of(model)
    size = 1 + norm(du)
    assert close(mp.lu_solve(at(method.mass_matrix, values),
                             at(method.forcing, values)), du, EXACT, size)
    assert close(at(method.rhs(), values)[model.n:, 0], du, EXACT, size)
    assert close(at(method.constraint_forces, values), forces, EXACT,
                 1 + norm(forces))
    if len(lam):
        assert close(at(method.multipliers, values), lam, EXACT, 1 + norm(lam))


def check_forms(seed):
    model = RandomModel(seed)
    method = model.method()
    exact = Exact(model.anywhere())
    wanted = exact(method.eom)
    assert wanted.shape == (model.p - len(model.rows), 1)
    for form in FORMS:
        if (model.of_speeds and form not in OF_BODIES
                or 2 in model.orders and form in ELIMINATED):
            continue                    # there may be none, see the laws
        assert exact(method.classical_equations(form)) == wanted, form


def check_redundant(seed):
    """Combinations of rows with coefficients of the state add nothing."""
    model = RandomModel(seed)
    assume(model.rows and min(model.orders) > 0)
    method = model.method()
    values, (du, forces, _) = state_of(model)
    more = [(2 + model.q[0]**2 + t**2)*model.rows[0], -model.rows[-1]]
    if len(set(model.orders)) == 1:
        more.append(sum((k + model.q[-1]**2)*row for k, row in enumerate(
            model.rows)))
    model.rows = model.rows + more
    more = model.method()
    assert len(more.independent_rows) == len(method.independent_rows)
    assert close(at(more.rhs(), values)[model.n:, 0], du, EXACT, 1 + norm(du))
    assert close(at(more.constraint_forces, values), forces, EXACT,
                 1 + norm(forces))


def check_higher(seed):
    top = 3 + seed % 2
    model = RandomModel(seed, top)
    method = model.method()
    assert list(method.constraint_orders) == [top]
    wanted = model.plain().higher(list(method.lam_vec))
    assert set(method.equations_of_motion.states) == set(wanted.states)
    values = model.numbers()
    values.update({x: fraction(model.random) for x in (
        *model.q, *model.u, *wanted.multipliers(0))})
    values.update({x: fraction(model.random) for k in range(1, wanted.depth)
                   for x in wanted.multipliers(k)})
    try:
        values = wanted.explicit_state(values)
        solution = wanted.solve(values)
    except (ArithmeticError, ZeroDivisionError):
        assume(False)
    assume(norm(solution) < 1e12)
    known = {**values, **dict(zip(wanted.unknowns, solution))}
    expected = mp.matrix([
        known[x.diff(t)] for x in method.equations_of_motion.states[model.n:]])
    found = at(method.rhs(), values)[model.n:, 0]
    assert close(found, expected, EXACT, 1 + norm(expected))


seeds = st.integers(0, 10**6)


def run(examples):
    return settings(
        max_examples=examples, derandomize=True, deadline=None,
        phases=[Phase.generate], suppress_health_check=[
            HealthCheck.too_slow, HealthCheck.filter_too_much])


CHECKS = {'motion': (check_motion, 6, 120), 'forms': (check_forms, 8, 60),
          'redundant rows': (check_redundant, 3, 40),
          'higher order': (check_higher, 2, 40)}


@pytest.mark.parametrize('name', CHECKS)
def test_some(name):
    check, examples, _ = CHECKS[name]
    run(examples)(given(seeds)(check))()


@pytest.mark.slow
@pytest.mark.parametrize('name', CHECKS)
def test_many(name):
    check, _, examples = CHECKS[name]
    run(examples)(given(seeds)(check))()


def test_the_models_are_what_they_are_said_to_be():
    """All orders, all kinds of mass, bodies with anchors, p < n."""
    models = [RandomModel(seed) for seed in range(30)]
    orders = {order for model in models for order in model.orders}
    assert orders == {0, 1, 2}
    assert sum(model.p < model.n for model in models) > 4
    assert sum(bool(model.anchors) for model in models) > 2
    assert sum(len(model.bodies) > 1 for model in models) > 10
    bent = sum(Matrix(model.V).jacobian(model.u).atoms(*U) != set()
               for model in models)
    assert bent > 10
    late = sum(any(
        force.to_matrix(model.frame).atoms(Derivative)
        & {u.diff(t) for u in model.u} for _, force in model.loads)
        for model in models)
    assert late > 3
