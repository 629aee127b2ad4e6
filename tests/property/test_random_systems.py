"""Random systems against a least-squares solve of the multiplier system.

A system is drawn from its seed: a mass matrix ``B^T B`` of full or deficient
rank, gyroscopic, elastic and constant forces, holonomic and velocity rows
with integer coefficients, and, where wanted, rows that are combinations of
them.  Half of the systems are written as a Lagrangian, half as particles on a
rail with speeds ``u`` that are not ``q'``.  All rows have the form
``A u' = b`` with consistent ``b`` at every state, so that any state will do.
"""
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from mpmath import mp
from sympy import Matrix, Rational, zeros
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, dynamicsymbols)

from kkt import Reference, at, close, min_norm, norm, number, rank, solve, t
from sympy_constrained import UdwadiaKalabaMethod

RTOL = 1e-9
ZERO = 1e-20
EXAMPLES = 25           # for each of the three kinds
Q = dynamicsymbols('q1:5')
U = dynamicsymbols('u1:5')


def integers(random, rows, columns, size=3):
    return Matrix(rows, columns, [random.randint(-size, size)
                                  for _ in range(rows*columns)])


def combined(random, rows):
    """One to three rows that follow from ``rows``."""
    if not rows.rows:
        return rows
    extra = integers(random, random.randint(1, 3), rows.rows, 2)
    for i in range(extra.rows):
        extra[i, random.randrange(rows.rows)] = random.choice([-3, 1, 2])
    rows = rows.col_join(extra*rows)
    order = list(range(rows.rows))
    random.shuffle(order)
    return rows[order, :]


class RandomSystem:
    """The system of one seed: a method class and its numbers.

    ``numbers`` are M, F, A, b at the state ``values``, written down from the
    coefficients without any differentiation.
    """

    def __init__(self, seed, kind):
        random = Random(seed)
        self.kind = kind
        while True:
            n = random.randint(2, 4)
            low = max(1, n - 2) if kind == 'singular' else n
            high = n - 1 if kind == 'singular' else n + 1
            B = integers(random, random.randint(low, high), n)
            k = random.randint(1, n)
            A = integers(random, k, n)
            M = B.T*B
            if M.rank() < n and kind != 'singular':
                continue
            if A.rank() == k and M.col_join(A).rank() == n:
                break
        self.n, self.q = n, list(Q[:n])
        # Columns A, D, c, d: a holonomic row is A q + c t + d = 0 and has
        # no D, a velocity row is A q' + D q + c = 0.
        split = random.randint(0, k)
        rows = A.row_join(integers(random, k, n + 2))
        rows[:split, n:2*n] = zeros(split, n)
        hol, vel = rows[:split, :], rows[split:, :]
        if kind == 'redundant' or (kind == 'singular' and seed % 3 == 0):
            vel = combined(random, hol.col_join(vel))
            hol = combined(random, hol)
        self.hol, self.vel = hol, vel
        self.B, self.S = B, Matrix.eye(n)
        self.gyro, self.elastic = (integers(random, n, n) for _ in range(2))
        self.constant = integers(random, n, 1)
        self.state = [Matrix(n, 1, [Rational(random.randint(-40, 40), 8)
                                    for _ in range(n)]) for _ in range(2)]
        self.shape = random.choice(['lagrange', 'kane'])
        if self.shape == 'lagrange':
            self._lagrange()
        else:
            for _ in range(3):      # q' = S u, det S = 1
                i, j = random.sample(range(n), 2)
                self.S[i, :] += random.choice([-1, 1])*self.S[j, :]
            self._kane()
        self.values = dict(zip((*self.q, *self.u),
                               (*self.state[0], *self.state[1])))
        self.values[t] = Rational(random.randint(-40, 40), 8)
        self.values = {x: number(v) for x, v in self.values.items()}

    def _rows(self, u):
        """The constraints in q, ``q' = S u`` and t."""
        n, q = self.n, Matrix(self.q)
        hol = self.hol[:, :n]*q + self.hol[:, 2*n]*t + self.hol[:, 2*n + 1]
        vel = (self.vel[:, :n]*self.S*u + self.vel[:, n:2*n]*q
               + self.vel[:, 2*n])
        return list(hol), list(vel)

    def _lagrange(self):
        q, v = Matrix(self.q), Matrix(self.q).diff(t)
        self.u = list(v)
        L = ((self.B*v).dot(self.B*v)/2 + (v.T*self.gyro*q)[0]
             - (q.T*self.elastic*q)[0]/2 + q.dot(self.constant))
        hol, vel = self._rows(v)
        self.args = L, self.q
        self.kwargs = {'hol_coneqs': hol, 'nonhol_coneqs': vel}
        q, v = self.state
        self.F = ((self.gyro.T - self.gyro)*v
                  - (self.elastic + self.elastic.T)*q/2 + self.constant)

    def _kane(self):
        q, u = Matrix(self.q), Matrix(U[:self.n])
        self.u = list(u)
        N = ReferenceFrame('N')
        origin = Point('O')
        origin.set_vel(N, 0)

        def point(name, row, axis):
            P = origin.locatenew(name, (row*q)[0]*axis)
            P.set_vel(N, (row*self.S*u)[0]*axis)
            return P

        def forces(q, u):
            return self.gyro*self.S*u - self.elastic*q + self.constant
        # mass 1 at each row of B along N.x, a load there and one on q_n
        bodies, loads = [], []
        for i in range(self.B.rows):
            P = point(f'P{i}', self.B[i, :], N.x)
            bodies.append(Particle(f'particle{i}', P, 1))
            loads.append((P, forces(q, u)[i % self.n]*N.x))
        last = Matrix.eye(self.n)[-1, :]
        loads.append((point('R', last, N.y), forces(q, u)[-1]*N.y))
        rates = self.S*u
        hol, vel = self._rows(u)
        self.args = (N, self.q, self.u,
                     [x.diff(t) - y for x, y in zip(q, rates)])
        self.kwargs = {'configuration_constraints': hol,
                       'velocity_constraints': vel, 'bodies': bodies,
                       'forcelist': loads}
        self.kwargs = {x: y for x, y in self.kwargs.items() if y}
        f = forces(*self.state)
        self.F = (self.B*self.S).T*Matrix(
            [f[i % self.n] for i in range(self.B.rows)])
        self.F += (last*self.S).T*f[-1]

    @property
    def numbers(self):
        q, u = self.state
        rows = self.hol.col_join(self.vel)
        M = self.S.T*self.B.T*self.B*self.S
        A = rows[:, :self.n]*self.S
        b = -rows[:, self.n:2*self.n]*self.S*u
        return tuple(to_mpmath(x) for x in (M, self.F, A, b))

    def method(self, **options):
        return UdwadiaKalabaMethod(*self.args, **self.kwargs, **options)


def to_mpmath(matrix):
    return mp.matrix([[number(x) for x in row] for row in matrix.tolist()])


def graph_solution(method, values):
    eom = method.equations_of_motion
    state = dict(values)
    for ours, theirs in zip((*eom.q, *eom.u), (*method.q, *method.u)):
        state[ours] = values[theirs]
    known = {x: state[x] for x in eom.graph.inputs if x in state}
    out = eom.graph.evaluate(known, ['W', 'r'], context=mp)
    z = min_norm(mp.matrix(out['W']), mp.matrix(out['r']))
    return z[:len(method.u), 0]


def agree(system, method):
    with mp.workdps(70):
        M, F, A, b = system.numbers
        exact = solve(M, F, A, b)
        assert exact.inconsistency < 1e-50      # the test is well made
        if system.kind == 'redundant':
            assert exact.rank < A.rows
        if system.kind == 'singular':
            assert rank(M) < M.rows
        found = at(method.acceleration, system.values)
        # Exact zeros occur; all other numbers are of order one.
        assert close(found, exact.acceleration, RTOL, scale=ZERO)
        assert close(graph_solution(method, system.values),
                     exact.acceleration, RTOL, scale=ZERO)
        size = max(norm(F), norm(exact.forces), ZERO)
        forces = at(method.constraint_forces, system.values)
        assert close(forces, exact.forces, RTOL, scale=size)
        # In Kane's shape rows that repeat a differentiated one are dropped.
        ours = at(method.system.A, system.values)
        assert (ours.rows == A.rows if system.shape == 'lagrange'
                else rank(ours) == exact.rank)
        lam = at(method.multipliers, system.values)
        assert close(ours.T*lam, exact.forces, RTOL, scale=size)


seeds = st.integers(0, 2**32 - 1)
# A seed does not become simpler by being smaller, so nothing is shrunk.
run = settings(max_examples=EXAMPLES, derandomize=True, deadline=None,
               database=None, phases=[Phase.generate],
               suppress_health_check=list(HealthCheck))


def check(seed, kind, **options):
    system = RandomSystem(seed, kind)
    note(f'{system.args} {system.kwargs}')
    agree(system, system.method(**options))


@run
@given(seeds)
def test_full_rank(seed):
    check(seed, 'full')


@run
@given(seeds)
def test_redundant_rows(seed):
    check(seed, 'redundant')


@run
@given(seeds)
def test_singular_mass_matrix(seed):
    check(seed, 'singular')


@pytest.mark.parametrize('solver, kind', [
    ('schur', 'full'), ('schur', 'redundant'), ('kkt', 'full'),
    ('kkt', 'redundant'), ('kkt', 'singular'), ('pinv', 'full'),
    ('pinv', 'redundant'), ('pinv', 'singular')])
@settings(run, max_examples=4)
@given(seed=seeds)
def test_every_solver(solver, kind, seed):
    check(seed, kind, solver=solver)


@settings(run, max_examples=8)
@given(seeds)
def test_repeated_rows_share_their_multipliers_by_least_norm(seed):
    system = RandomSystem(seed, 'redundant')
    method = system.method(solver='pinv')
    M, F, *_ = system.numbers
    A, b = (at(x, system.values) for x in (method.system.A, method.system.b))
    exact = solve(M, F, A, b)
    assert close(at(method.multipliers, system.values), exact.lam, RTOL,
                 scale=ZERO)


@pytest.mark.parametrize('kind', ['full', 'redundant', 'singular'])
def test_the_numbers_are_those_of_the_model(kind):
    """The coefficients against SymPy's differentiation of the model."""
    shapes = set()
    for seed in range(12):
        system = RandomSystem(seed, kind)
        shapes.add(system.shape)
        if system.shape == 'lagrange':
            reference = Reference.lagrange(
                *system.args, system.kwargs['hol_coneqs'],
                system.kwargs['nonhol_coneqs'])
        else:
            frame, q, u, kd_eqs = system.args
            reference = Reference.bodies(
                frame, system.kwargs['bodies'], system.kwargs['forcelist'],
                q, u, kd_eqs,
                system.kwargs.get('configuration_constraints', ()),
                system.kwargs.get('velocity_constraints', ()))
        for ours, theirs in zip(system.numbers,
                                reference.matrices(system.values)):
            assert close(ours, theirs)
    assert shapes == {'lagrange', 'kane'}
