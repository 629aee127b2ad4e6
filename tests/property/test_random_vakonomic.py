"""Random Lagrangians and constraints: both sets of equations against plain
SymPy differentiation at 50 digits.

A Lagrangian is ``q'.M(q) q'/2 + N(q, t).q' - V(q, t)``, for some seeds with
a quartic term in the velocities; constraints are affine or quadratic in the
velocities, with coefficients that depend on coordinates and time, or
holonomic. Nothing is known about the answers but what differentiation gives:
first and second derivatives of the Lagrangian and of each constraint are
taken once, and everything else is put together from their numbers.
"""
from functools import cached_property, lru_cache
from random import Random

import pytest
from mpmath import mp
from sympy import Matrix, Rational, cos, eye, hessian, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from kkt import Reference, at, close, norm, number, rank, solve, t
from sympy_constrained import RouthMethod, VaccoMethod
from sympy_constrained.methods import hamiltonian_equations

Q = dynamicsymbols('q1:5')
X, V = symbols('x1:5'), symbols('v1:5')     # what is differentiated by
SEEDS = range(24)
seeds = pytest.mark.parametrize('seed', SEEDS)
# All numbers are of order one; conditions of random matrices are not.
RTOL = mp.mpf(10)**-40


pytestmark = pytest.mark.usefixtures('digits')


class Jet:
    """Value and derivatives of a function of ``(x, v, t)`` at a state."""

    def __init__(self, expression, z, values):
        found = at(Matrix([[expression, *(expression.diff(s) for s in z)]]),
                   values)
        self.n = len(z)//2
        self.value, self.slope = found[0], found[0, 1:].T
        self.curvature = at(hessian(expression, z), values)

    def __add__(self, other):
        return self._made(*(one + two for one, two in zip(
            self._parts, other._parts)))

    def __rmul__(self, factor):
        return self._made(*(factor*part for part in self._parts))

    @property
    def _parts(self):
        return self.value, self.slope, self.curvature

    def _made(self, value, slope, curvature):
        made = object.__new__(Jet)
        made.n, made.value = self.n, value
        made.slope, made.curvature = slope, curvature
        return made

    @property
    def by_x(self):
        return self.slope[:self.n, 0]

    @property
    def by_v(self):
        return self.slope[self.n:2*self.n, 0]

    @property
    def by_t(self):
        return self.slope[2*self.n]

    @property
    def by_vv(self):
        return self.curvature[self.n:2*self.n, self.n:2*self.n]

    def rate(self, v, a):
        """``d/dt`` of the function."""
        return (self.slope.T*stacked(v, a, [1]))[0]

    def rate_by_v(self, v, a):
        """``d/dt`` of the derivatives by the velocities."""
        return self.curvature[self.n:2*self.n, :]*stacked(v, a, [1])

    def euler(self, v, a):
        """``d/dt d/dq' - d/dq``."""
        return self.rate_by_v(v, a) - self.by_x


def stacked(*columns):
    return mp.matrix([entry for column in columns for entry in column])


def joined(*blocks):
    """A matrix from rows of blocks; 0 is a block of zeros."""
    rows = [max(getattr(x, 'rows', 0) for x in row) for row in blocks]
    columns = [max(getattr(x, 'cols', 0) for x in column)
               for column in zip(*blocks)]
    result = mp.matrix(sum(rows), sum(columns))
    for i, row in enumerate(blocks):
        for j, block in enumerate(row):
            if not isinstance(block, int):
                top, left = sum(rows[:i]), sum(columns[:j])
                result[top:top + rows[i], left:left + columns[j]] = block
    return result


class RandomModel:
    """The model of one seed, and what differentiation makes of it."""

    def __init__(self, seed):
        self.seed = seed
        self.n = 2 + seed % 3
        self.r = 1 if self.n == 2 else 1 + seed//12 % 2
        self.kind = ('affine', 'quadratic', 'mixed', 'affine')[seed//3 % 4]
        self.x, self.v = Matrix(X[:self.n]), Matrix(V[:self.n])
        for attempt in range(20):
            self.random = Random(f'vakonomic {seed} {attempt}')
            self._draw()
            if self._is_regular():
                break
        else:
            raise ArithmeticError('no regular model was drawn')
        u = Matrix(Q[:self.n]).diff(t)
        self.names = {**dict(zip(self.x, Q)), **dict(zip(self.v, u))}
        model = {'hol_coneqs': self.named(self.hol) or None,
                 'nonhol_coneqs': self.named(self.vel) or None,
                 'generalized_forces': self.named(self.Q)}
        L, = self.named([self.L])
        self.vacco = VaccoMethod(L, Q[:self.n], **model)
        self.routh = RouthMethod(L, Q[:self.n], **model)
        self.values = {name: self.state[x] for x, name in self.names.items()}
        self.values[t] = self.state[t]
        self.values.update(zip(self.vacco.mu_vec, self.mu))

    def _draw(self):
        n, v = self.n, self.v
        mass = Matrix(n, n, lambda i, j: self.function(1))
        mass = mass + mass.T + 8*eye(n)
        gyro = Matrix(n, 1, lambda i, j: self.function(2, t))
        self.L = (v.T*mass*v)[0]/2 + gyro.dot(v) - self.function(3, t)
        if self.seed % 5 == 0:
            self.L += self.integer()*v[0]**4/9 + v[0]**2*v[n - 1]/7
        self.Q = [self.function(1, t) + self.integer()*f/5 for f in v]
        self.hol, self.vel = [], []
        for k in range(self.r):
            if self.kind == 'mixed' and k == 0:
                self.hol.append(self.function(2) + self.integer()*sin(t)
                                + self.x[0] + 2*self.x[n - 1])
                continue
            row = sum(self.function(1, t)*f for f in v) + v[k]*3
            row += self.function(1, t)
            if self.kind == 'quadratic':
                row += (self.integer()*v[k]*v[n - 1]/2
                        + v[n - 1]**2*self.function(1)/3)
            self.vel.append(row)
        self.g = Matrix([row.diff(t) + sum(
            row.diff(x)*f for x, f in zip(self.x, v))
            for row in self.hol] + self.vel)

    def integer(self):
        return Rational(self.random.choice([-3, -2, -1, 1, 2, 3]))

    def function(self, terms, *more):
        """A random function of the coordinates, and of ``more``."""
        arguments = [*self.x, *more]
        result = self.integer()/4
        for _ in range(terms):
            x, y = (self.random.choice(arguments) for _ in range(2))
            result += self.integer()/4*self.random.choice(
                [x*y, sin(x), cos(x + y), x, x*cos(y)])
        return result

    def column(self, count):
        return mp.matrix([number(Rational(self.random.randint(-99, 99), 64))
                          for _ in range(count)])

    def _is_regular(self):
        """Find a state, differentiate there, and look at the rank."""
        z = [*self.x, *self.v, t]
        rows = Reference(
            tuple(self.x), tuple(self.v), {}, None, None, None, None,
            Matrix(len(self.hol), 1, self.hol), self.g)
        try:
            self.state = rows.admissible({}, self.seed)
        except ArithmeticError:
            return False
        self.lagrangian = Jet(self.L, z, self.state)
        self.rows = [Jet(row, z, self.state) for row in self.g]
        self.force = at(Matrix(self.Q), self.state)
        self.speed = at(self.v, self.state)
        self.mu, self.lam, self.d = (self.column(self.r) for _ in range(3))
        self.a = self.column(self.n)
        self.A = mp.matrix([list(row.by_v) for row in self.rows])
        self.b = stacked([-row.rate(self.speed, [0]*self.n)
                          for row in self.rows])
        return rank(self.A) == self.r and abs(mp.det(self.W)) > 1e-3

    def named(self, expressions):
        return [x.xreplace(self.names) for x in expressions]

    # -- put together ----------------------------------------------------

    @property
    def modified(self):
        """``L' = L + mu^T g``."""
        return sum((mu*row for mu, row in zip(self.mu, self.rows)),
                   start=self.lagrangian)

    @property
    def W(self):
        """``d(p, g)/d(q', mu)``."""
        return joined((self.modified.by_vv, self.A.T), (self.A, 0))

    @property
    def right(self):
        at_rest = self.modified.rate_by_v(self.speed, [0]*self.n)
        return stacked(self.modified.by_x - at_rest + self.force, self.b)

    @property
    def F(self):
        return (self.force - self.lagrangian.euler(self.speed, [0]*self.n))

    @cached_property
    def solution(self):
        """Accelerations and mu'."""
        z = mp.lu_solve(self.W, self.right)
        return z[:self.n, 0], z[self.n:, 0]

    @cached_property
    def exact(self):
        """Routh, by the reference of all tests."""
        return solve(self.lagrangian.by_vv, self.F, self.A, self.b)

    def moving(self, a, d=(), lam=()):
        """The values with accelerations and what goes with them."""
        return {**self.values, **dict(zip(
            Matrix(Q[:self.n]).diff(t, 2), a)), **dict(zip(
                self.vacco.lam_vec, d)), **dict(zip(
                    self.routh.lam_vec, lam))}


@lru_cache(maxsize=None)
def drawn(seed):
    return RandomModel(seed)


def agree(found, wanted, values):
    """An expression at values, and numbers."""
    wanted = mp.matrix([wanted]) if isinstance(wanted, mp.mpf) else wanted
    return close(at(found, values), wanted, RTOL, scale=1)


def test_the_models_differ():
    found = [(model.n, model.r, model.kind) for model in map(drawn, SEEDS)]
    assert {n for n, _, _ in found} == {2, 3, 4}
    assert {r for _, r, _ in found} == {1, 2}
    assert {kind for _, _, kind in found} == {'affine', 'quadratic', 'mixed'}
    assert len(set(found)) == 15


@seeds
def test_equations(seed):
    """``E(L') - Q`` and ``E(L) - Q + A^T lam`` for any accelerations."""
    model = drawn(seed)
    v, a = model.speed, model.a
    values = model.moving(a, model.d, model.lam)
    free = model.lagrangian.euler(v, a) - model.force
    term = model.modified.euler(v, a) - model.lagrangian.euler(v, a)
    term += model.A.T*model.d
    assert agree(model.vacco.eom, free + term, values)
    assert agree(model.vacco.variation.constraint_term, term, values)
    assert agree(model.routh.eom, free + model.A.T*model.lam, values)
    assert agree(model.vacco.acceleration_constraints,
                 stacked([row.rate(v, a) for row in model.rows]), values)


@seeds
def test_layout(seed):
    """(V) and its counterpart of Routh."""
    model = drawn(seed)
    for method, W, right in (
            (model.vacco, model.W, model.right),
            (model.routh, joined(
                (model.lagrangian.by_vv, -model.A.T), (model.A, 0)),
             stacked(model.F, model.b))):
        assert agree(method.equations_of_motion.W, W, model.values)
        assert agree(method.equations_of_motion.r, right, model.values)
        assert agree(method.mass_matrix_full, joined(
            (mp.eye(model.n), 0), (0, W)), model.values)
        assert agree(method.forcing_full, stacked(model.speed, right),
                     model.values)


@seeds
def test_rhs_solves_the_full_equations(seed):
    model = drawn(seed)
    exact = model.exact
    for method, wanted in (
            (model.vacco, stacked(model.speed, *model.solution)),
            (model.routh, stacked(model.speed, exact.acceleration,
                                  exact.lam))):
        found = at(method.rhs(), model.values)
        assert close(found, wanted, RTOL, scale=1)
        assert close(at(method.mass_matrix_full, model.values)*found,
                     at(method.forcing_full, model.values), RTOL)


@seeds
def test_constraint_forces(seed):
    model = drawn(seed)
    a, _ = model.solution
    assert agree(model.vacco.constraint_forces, model.lagrangian.euler(
        model.speed, a) - model.force, model.values)
    exact = model.exact
    assert agree(model.routh.constraint_forces, exact.forces, model.values)
    assert norm(at(model.routh.variation.maggi_equations, model.moving(
        exact.acceleration))) < 1e-35


@seeds
def test_rates_of_energy_and_momenta(seed):
    """Along the equations, and as the identities say."""
    model = drawn(seed)
    v, exact = model.speed, model.exact
    a, d = model.solution
    work = (exact.lam.T*model.A*v)[0]
    for method, L, a, impulse, work, values in (
            (model.vacco, model.modified, a, model.A.T*d, 0,
             model.moving(a, d)),
            (model.routh, model.lagrangian, exact.acceleration, 0*exact.
             acceleration, work, model.moving(
                 exact.acceleration, lam=exact.lam))):
        momenta, rates = L.by_v, L.rate_by_v(v, a) + impulse
        # mu'.g of the rate of L' vanishes on the constraints
        change = ((a.T*momenta)[0] + (v.T*rates)[0] - L.rate(v, a))
        assert agree(method.variation.energy,
                     (v.T*momenta)[0] - L.value, values)
        assert agree(method.variation.energy_rate, change, values)
        assert close([change], [(v.T*model.force)[0] - L.by_t + work], RTOL,
                     scale=1)
        assert agree(method.variation.momenta, momenta, values)
        assert agree(method.variation.momentum_rates, rates, values)


@seeds
def test_the_two_meet_where_S_mu_vanishes(seed):
    """At a state; mu = 0 is such a place, with mu' = -lam."""
    model = drawn(seed)
    vacco, exact = model.vacco, model.exact
    B = at(vacco.variation.free_directions, model.values)
    assert B.cols == rank(B) == model.n - model.r
    assert norm(model.A*B) < 1e-40*(1 + norm(B))
    gamma = joined(tuple(row.euler(model.speed, exact.acceleration)
                         for row in model.rows))
    assert agree(vacco.coincidence.sympy('S'), B.T*gamma, model.values)
    assert agree(vacco.variation.regularity_matrix, B.T*model.modified.by_vv*B,
                 model.values)
    zero = {**model.values, **dict.fromkeys(vacco.mu_vec, mp.mpf(0))}
    assert agree(vacco.closed_form.sympy('multiplier_rates'), -exact.lam, zero)
    assert agree(vacco.acceleration, exact.acceleration, zero)


@pytest.mark.parametrize('seed', [
    seed for seed in SEEDS if seed//3 % 4 != 1 and seed % 5])
def test_hamiltons_equations(seed):
    """``q' = H_p``, ``p' = -H_q + Q``, for rows affine in q' and L
    quadratic."""
    model = drawn(seed)
    equations = hamiltonian_equations(model.vacco)
    L, v = model.modified, model.speed
    a, d = model.solution
    values = {**model.values, **dict(zip(equations.states[model.n:], L.by_v))}
    for output, wanted in (
            ('rates', v), ('velocities', v), ('mu', model.mu),
            ('r', L.rate_by_v(v, a) + model.A.T*d),
            ('energy', (v.T*L.by_v)[0] - L.value),
            ('power', (v.T*model.force)[0] - L.by_t)):
        assert agree(equations.graph.sympy(output), wanted, values), output
