"""Random systems in exact arithmetic: G - H = E, with nothing left over.

A system is drawn from its seed: a mass matrix, gyroscopic terms and a
potential that are polynomials in ``q`` and ``t``, one to three rows
``A(q, t) q' = c(q, t)``, some of them derivatives of holonomic ones, and
forces ``Q(q, q', t)``.  The left sides are what the class returns, evaluated
at rational states in fractions; the right sides are made from the multiplier
system of :mod:`kkt` in fractions, or from the coefficients of the rows.
Nothing is rounded, so ``==`` is meant.
"""
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import prod
from random import Random

import pytest
from sympy import (
    Derivative, Matrix, MatrixBase, Rational, Symbol, symbols, zeros)
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import dynamicsymbols

from kkt import Reference, t
from sympy_constrained import HamelEmbedding, UdwadiaKalabaMethod

COORDINATES = dynamicsymbols('q1:6')
m = symbols('m', positive=True)
SEEDS = range(16)
# (n, r): at least one independent coordinate
SIZES = [(2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3), (5, 2), (5, 3)]
every = pytest.mark.parametrize('seed', [pytest.param(
    seed, marks=[] if seed < len(SIZES) else pytest.mark.slow)
    for seed in SEEDS])


# Fractions

def exact(expression, values):
    """A scalar or a matrix of polynomials and quotients, in fractions."""
    numbers = Fractions(values)
    if not isinstance(expression, MatrixBase):
        return numbers(expression)
    return Matrix(*expression.shape, [
        rational(numbers(e)) for e in expression])


def rational(value):
    return Rational(value.numerator, value.denominator)


class Fractions:
    """Values of nested expressions, each object evaluated once.

    Objects are told apart by identity: comparing large equal expressions
    takes longer than evaluating them.
    """

    def __init__(self, values):
        self.values, self.known = values, {}

    def __call__(self, e):
        if id(e) not in self.known:
            self.known[id(e)] = e, self.of(e)
        return self.known[id(e)][1]

    def of(self, e):
        if e.is_Rational:
            return Fraction(int(e.p), int(e.q))
        if isinstance(e, (Symbol, Derivative, AppliedUndef)):
            return Fraction(self.values[e])
        if e.is_Add:
            return sum(map(self, e.args), Fraction(0))
        if e.is_Mul:
            return prod(map(self, e.args), start=Fraction(1))
        if e.is_Pow and e.exp.is_Integer:
            return self(e.base)**int(e.exp)
        raise TypeError(f'{e.func} is not rational')


# A system

class RandomEmbedding:
    """The system of one seed, and what its coefficients say."""

    def __init__(self, seed):
        self.random = random = Random(f'embedding {seed}')
        n, r = SIZES[seed % len(SIZES)]
        self.n, self.r = n, r
        self.q = q = list(COORDINATES[:n])
        self.v = v = Matrix([e.diff(t) for e in q])
        self.rheonomic = seed % 3 != 0
        rows = zeros(2, n)
        for i in range(2):
            for j in range(n):
                rows[i, j] = self.polynomial(1, 0.7)
        self.M = rows.T*rows + (1 + m)*Matrix.eye(n)
        self.N = Matrix(1, n, [self.polynomial(2, 0.6) for _ in q])
        self.P = self.polynomial(3, 1) + self.polynomial(2, 1)
        L = (v.T*self.M*v)[0]/2 + (self.N*v)[0] + self.P
        self.Q = [self.polynomial(2, 0.7) + self.polynomial(1, 0.5)
                  * random.choice(v)*random.choice([1, random.choice(v)])
                  for _ in q]
        while True:
            self.hol = self.holonomic_rows(random.choice([0, 0, 1]))
            k = r - len(self.hol)
            A = Matrix(k, n, [self.polynomial(1, 0.7) for _ in range(k*n)])
            c = [self.polynomial(1, 0.5) for _ in range(k)]
            self.vel = list(A*v - Matrix(k, 1, c))
            self.rows = Matrix([*(e.diff(t) for e in self.hol), *self.vel])
            self.A = self.rows.jacobian(v)
            parts = [part for part in combinations(range(n), r)
                     if self.regular(part)]
            if parts and all(sum(map(bool, self.A[i, :])) > 1
                             for i in range(r)):
                break
        part = list(random.choice(parts))
        random.shuffle(part)
        self.q1 = [q[i] for i in part]
        self.q2 = [e for e in q if e not in self.q1]
        self.model = {
            'Lagrangian': L, 'qs': q, 'hol_coneqs': self.hol,
            'nonhol_coneqs': self.vel, 'generalized_forces': self.Q}
        self.reference = Reference.lagrange(L, q, self.hol, self.vel, Q=self.Q)

    def method(self, **options):
        return HamelEmbedding(**self.model, q_dependent=self.q1, **options)

    def polynomial(self, degree, density):
        """One or two terms of at most this degree, with luck none."""
        random = self.random
        names = self.q + [t]*self.rheonomic + [m]
        total = Rational(0)
        for _ in range(2):
            if random.random() < density:
                term = Rational(random.choice([-3, -2, -1, 1, 2, 3]),
                                random.choice([1, 1, 2, 3]))
                for _ in range(random.randint(0, degree)):
                    term *= random.choice(names)
                total += term
        return total

    def holonomic_rows(self, count):
        """Rows that are linear in one coordinate, so that it has a value."""
        rows = []
        for e in self.q[:min(count, self.r)]:
            rest = self.polynomial(2, 1)
            rows.append(2*e - rest.subs(e, 1))
        return rows

    def regular(self, part):
        sample = {e: Fraction(3*i + 2, 7) for i, e in enumerate(
            [*self.q, t, m])}
        A = exact(self.A, sample)
        return A[:, list(part)].det() != 0

    def state(self, i):
        """Rational numbers on the constraints, and of their own kind."""
        random = Random(f'{self.q1} {i}')

        def number():
            return Fraction(random.randint(-200, 200), 89)
        while True:
            values = {e: number() for e in self.q}
            values.update({t: number(), m: abs(number()) + 1})
            for e, row in zip(self.q, self.hol):
                rest = exact(row.subs(e, 0), values)
                values[e] = -rest/2
            values.update({e.diff(t): number() for e in self.q2})
            d1 = [e.diff(t) for e in self.q1]
            A1 = exact(self.rows.jacobian(d1), values)
            if A1.det():
                break
        rest = exact(self.rows, {**values, **dict.fromkeys(d1, 0)})
        values.update(zip(d1, (Fraction(int(e.p), int(e.q))
                               for e in -A1.LUsolve(rest))))
        assert not any(exact(Matrix(self.hol + self.vel), values))
        return values

    @cache
    def truth(self, i):
        """State, accelerations in both groups, multipliers, A and b."""
        values = self.state(i)
        M, F, A, b = (exact(e, values) for e in (
            self.reference.M, self.reference.F, self.reference.A,
            self.reference.b))
        W = M.row_join(-A.T).col_join(A.row_join(zeros(self.r, self.r)))
        solution = W.LUsolve(F.col_join(b))
        acceleration, lam = solution[:self.n, 0], solution[self.n:, 0]
        assert M*acceleration == F + A.T*lam and A*acceleration == b
        independent = Matrix([acceleration[self.q.index(e)] for e in self.q2])
        return values, acceleration, independent, lam


@cache
def system(seed):
    return RandomEmbedding(seed)


@cache
def embedding(seed):
    return system(seed).method()


def states(seed):
    yield system(seed).truth(0)


# The identities

@every
def test_discrepancy_is_what_the_multipliers_say(seed):
    """G - H = E, with H from the motion and E from its formula."""
    method, p = embedding(seed), len(system(seed).q2)
    for values, _, motion, _ in states(seed):
        Psi, G, H, E, row, curved = (exact(e, values) for e in (
            method.mass_matrix, method.forcing, method.corrected.forcing,
            method.embedding.discrepancy, method.embedding.neglected_row,
            method.embedding.curvature_force))
        assert Psi.shape == (p, p) and G.shape == H.shape == E.shape == (p, 1)
        assert Psi == Psi.T
        assert Psi.is_positive_definite
        assert H == Psi*motion
        assert G - Psi*motion == E
        assert row + curved == E


@every
def test_discrepancy_from_the_rows(seed):
    """(E1), with every block made here and all derivatives from SymPy."""
    model, method = system(seed), embedding(seed)
    g = Matrix([method.embedding.velocity_map[e.diff(t)] for e in model.q1])
    q1, q2 = Matrix(model.q1), Matrix(model.q2)
    d1, u = q1.diff(t), q2.diff(t)
    L = model.model['Lagrangian']
    p1, slope = (Matrix([L.diff(e) for e in names]) for names in (d1, q1))
    Q1 = Matrix([model.Q[model.q.index(e)] for e in model.q1])
    A1, A2 = model.rows.jacobian(d1), model.rows.jacobian(u)
    c = -model.rows.xreplace(dict.fromkeys([*d1, *u], 0))
    parts = [(e, *(partial(X, e) for X in (A1, A2, c))) for e in (*q1, *q2, t)]
    for values, *_ in states(seed):
        inverse = exact(A1, values).inv()
        B = inverse*exact(A2, values)
        start = inverse*exact(c, values)
        assert exact(method.embedding.matrix, values) == B
        assert exact(method.embedding.vector, values) == start
        velocities, dependent = exact(u, values), exact(d1, values)
        assert exact(g, values) == start - B*velocities == dependent
        # B' and the slopes of g, by differentiating A1 g + A2 u = c
        slopes, Bdot = {}, zeros(*B.shape)
        for e, *derivatives in parts:
            A1_e, A2_e, c_e = (exact(X, values) for X in derivatives)
            slopes[e] = inverse*(c_e - A1_e*dependent - A2_e*velocities)
            rate = 1 if e == t else rational(values[e.diff(t)])
            Bdot += rate*inverse*(A2_e - A1_e*B)
        by_q1 = Matrix.hstack(*(slopes[e] for e in q1))
        by_q2 = Matrix.hstack(*(slopes[e] for e in q2))
        bracket = by_q2 - by_q1*B
        momentum = exact(p1, values)
        assert exact(method.embedding.momenta, values) == momentum
        assert exact(method.embedding.curvature, values) == Bdot + bracket
        # dL*/dq1 by the chain rule
        assert exact(method.embedding.lagrangian, values) == exact(L, values)
        assert exact(method.embedding.neglected_row, values) == B.T*(
            exact(slope, values) + by_q1.T*momentum + exact(Q1, values))
        assert exact(method.embedding.curvature_force, values) == (
            Bdot + bracket).T*momentum
        # (E3)
        assert exact(
            method.embedding.discrepancy - method.embedding.paper_discrepancy,
            values) == bracket.T*momentum


def partial(matrix, variable):
    """The derivative at fixed other variables, also by time."""
    if variable != t:
        return matrix.diff(variable)
    names = {e: Symbol(f'x{i}') for i, e in enumerate(COORDINATES)}
    back = {s: e for e, s in names.items()}
    return matrix.xreplace(names).diff(t).xreplace(back)


@every
def test_curvature_tensor(seed):
    """Gamma = omega u + eta, omega antisymmetric and without u."""
    model, method = system(seed), embedding(seed)
    omega, eta = method.embedding.curvature_tensor
    r, p = model.r, len(model.q2)
    assert omega.shape == (r, p, p) and eta.shape == (r, p)
    u = {e.diff(t) for e in model.q}
    for entry in (*omega.reshape(r*p*p), *eta):
        assert not entry.atoms(Derivative) & u
    for values, *_ in states(seed):
        Gamma = exact(method.embedding.curvature, values)
        flat = exact(Matrix(r*p, p, list(omega.reshape(r*p*p))), values)
        numbers = [flat[i*p:(i + 1)*p, :] for i in range(r)]
        speeds = exact(Matrix(method.u), values)
        for i, matrix in enumerate(numbers):
            assert matrix == -matrix.T
            assert Gamma[i, :].T == (
                matrix*speeds + exact(eta[i, :].T, values))


@every
def test_corrected_equations_are_those_of_udwadia_and_kalaba(seed):
    model, method = system(seed), embedding(seed)
    other = UdwadiaKalabaMethod(**model.model)
    rates = Matrix(method.u).diff(t)
    corrected = method.corrected.eom
    hamel = method.eom
    for values, acceleration, motion, lam in states(seed):
        assert exact(other.acceleration, values) == acceleration
        assert exact(method.corrected.multipliers, values) == lam
        assert exact(other.multipliers, values) == lam
        assert exact(method.corrected.constraint_forces, values) == exact(
            other.constraint_forces, values) == exact(
                model.reference.A, values).T*lam
        assert not any(exact(method.corrected.residual_along(other), values))
        moving = {**values, **{e: Fraction(int(x.p), int(x.q))
                               for e, x in zip(rates, motion)}}
        assert not any(exact(corrected, moving))
        assert exact(hamel, moving) == -exact(
            method.embedding.discrepancy, values)
        wrong = exact(method.rhs(), values)[model.n:, 0]
        assert wrong - motion == exact(method.mass_matrix, values).LUsolve(
            exact(method.embedding.discrepancy, values))


@every
def test_projected_loads_drop_out(seed):
    """G - H = E without the forces on the dependent coordinates."""
    model, plain = system(seed), embedding(seed)
    method = model.method(project_loads=True)
    dropped = plain.embedding.matrix.T*plain.embedding.dropped_forces
    for values, _, motion, _ in states(seed):
        Psi = exact(method.mass_matrix, values)
        assert Psi == exact(plain.mass_matrix, values)
        assert exact(method.corrected.forcing, values) == Psi*motion
        assert exact(method.forcing, values) - Psi*motion == exact(
            method.embedding.discrepancy, values)
        assert exact(method.embedding.discrepancy, values) == exact(
            plain.embedding.discrepancy - dropped, values)
        assert not any(exact(method.embedding.dropped_forces, values))


# What the class decides, on some of them

@pytest.mark.parametrize('seed', range(len(SIZES)))
def test_verdict_and_witness(seed):
    model, method = system(seed), embedding(seed)
    assert method.validity.holds is False
    validity = method.validity
    assert not validity.holds and validity.faults
    state = {e: Fraction(str(v)) for e, v in validity.state.items()}
    missing = {e.diff(t) for e in model.q1} - set(state)
    assert not missing or not method.embedding.discrepancy.atoms(
        Derivative) & missing
    E = exact(method.embedding.discrepancy, state)
    assert any(abs(e) > 1e-9 for e in E)
    for found, expected in zip(validity.discrepancy, E):
        assert float(found) == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize('seed', range(len(SIZES)))
def test_every_regular_partition_has_the_same_motion(seed):
    """G - E is true for every choice; G and E alone are not."""
    model = system(seed)
    n, r = model.n, model.r
    values, acceleration, *_ = model.truth(0)
    found = []
    for part in combinations(range(n), r):
        A1 = exact(model.A[:, list(part)], values)
        if not A1.det() or not model.regular(part):
            continue
        method = HamelEmbedding.from_method(
            embedding(seed), q_dependent=[model.q[i] for i in part])
        motion = Matrix([acceleration[i] for i in range(n) if i not in part])
        Psi = exact(method.mass_matrix, values)
        assert exact(method.corrected.forcing, values) == Psi*motion
        assert exact(method.forcing - method.embedding.discrepancy,
                     values) == Psi*motion
        found.append(part)
    assert found


# The systems are what they are said to be

def test_the_systems_are_general():
    """Every size, rows of both levels, time, and both kinds of fault."""
    models = [system(seed) for seed in SEEDS]
    assert {(model.n, model.r) for model in models} == set(SIZES)
    assert sum(bool(model.hol) for model in models) > 1
    assert sum(bool(model.vel) for model in models) > 12
    assert sum(model.reference.M.has(t) for model in models) > 4
    assert sum(model.rows.has(t) for model in models) > 4
    curved = forced = 0
    for seed in SEEDS:
        values, *_ = system(seed).truth(0)
        curved += any(exact(embedding(seed).embedding.curvature_force, values))
        forced += any(exact(embedding(seed).embedding.neglected_row, values))
    assert curved > 12 and forced > 12
