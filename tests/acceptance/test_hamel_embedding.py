"""Hamel's embedding: what it gives, where it is wrong, and by how much.

The examples of section 5 and the cases of section 6 of the theory page in
closed form, and every formula of its sections 2 to 4 on systems that use all
of it.  The truth is a 50-digit solve of the multiplier system (see ``kkt``),
which knows nothing of partitions; the embedding is written down once more
here, with plain SymPy differentiation.
"""
from dataclasses import dataclass, field, replace
from functools import cached_property

import pytest
from mpmath import mp
from sympy import (
    Derivative, Function, Matrix, Max, Rational, Symbol, asinh, cos, diag, exp,
    eye, sin, sinh, sqrt, symbols, tan, zeros)
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

from kkt import Reference, at, close, norm, number, t
from sympy_constrained import HamelEmbedding, UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstraintError, MissingIngredientError, RedundantConstraintsError)

x, y, z, w = dynamicsymbols('x y z w')
theta, phi = dynamicsymbols('theta phi')
vx, vy, vz, vw = (e.diff(t) for e in (x, y, z, w))
omega, spin = theta.diff(t), phi.diff(t)
m, R, I, J, a, k, g, f, C = symbols('m R I J a k g f C', positive=True)
CONSTANTS = {m: Rational(7, 5), R: Rational(4, 5), I: Rational(3, 10),
             J: Rational(11, 10), a: Rational(3, 7), k: Rational(3, 5),
             g: Rational(981, 100), f: Rational(-5, 7), C: 3}


pytestmark = pytest.mark.usefixtures('digits')


# A model, and the embedding in plain SymPy

@dataclass(frozen=True, eq=False)
class Case:
    """A Lagrangian, its constraints, and the dependent coordinates."""

    L: object
    q: tuple
    q1: tuple
    hol: tuple = ()
    vel: tuple = ()
    Q: tuple = None
    guess: dict = field(default_factory=dict)

    @property
    def arguments(self):
        given = {'hol_coneqs': list(self.hol), 'nonhol_coneqs': list(
            self.vel), 'generalized_forces': self.Q and list(self.Q)}
        return {name: value for name, value in given.items() if value}

    @property
    def model(self):
        """The arguments without the partition."""
        return {'Lagrangian': self.L, 'qs': list(self.q), **self.arguments}

    def method(self, **options):
        return HamelEmbedding(**{**self.model, 'q_dependent': list(self.q1),
                                 **options})

    @cached_property
    def hamel(self):
        return self.method()

    @cached_property
    def reference(self):
        return Reference.lagrange(self.L, self.q, self.hol, self.vel, Q=self.Q)

    @cached_property
    def theory(self):
        return Theory(self)

    @property
    def q2(self):
        return [e for e in self.q if e not in self.q1]

    def point(self, seed):
        return self.reference.admissible(CONSTANTS, seed, self.guess)

    def motion(self, values):
        """True accelerations of all, and of the independent coordinates."""
        acceleration = self.reference.solve(values).acceleration
        return acceleration, mp.matrix([
            acceleration[self.q.index(e)] for e in self.q2])


class Theory:
    """The blocks of sections 2 to 4, for ``q1' = g(q, u, t)``.

    ``B = -dg/du`` where the rows are nonlinear in ``u``; the terms with
    ``u'`` are then in ``Gamma``.
    """

    def __init__(self, case):
        q1, q2 = Matrix(case.q1), Matrix(case.q2)
        d1, u = q1.diff(t), q2.diff(t)
        self.u, self.du = u, u.diff(t)
        rows = case.reference.velocity
        rest = rows.xreplace(dict.fromkeys(d1, 0))
        A1 = rows.jacobian(d1)
        self.g = -A1.adjugate()*rest/A1.det()
        self.map = dict(zip(d1, self.g))
        B = self.B = -self.g.jacobian(u)
        self.a = self.g + B*u
        Q = Matrix(case.Q or [0]*len(case.q))
        Q1, Q2 = (self.star(Matrix([Q[case.q.index(e)] for e in part]))
                  for part in (q1, q2))
        L = self.L = self.star(case.L)
        self.Q1, self.Q2 = Q1, Q2
        self.p1 = self.star(gradient(case.L, d1))
        residual = (self.along(gradient(L, u)) - gradient(L, q2) - Q2)
        self.Psi = residual.jacobian(self.du)
        self.G = -residual.xreplace(dict.fromkeys(self.du, 0))
        self.Bdot = self.along(B)
        bracket = self.g.jacobian(q2) - self.g.jacobian(q1)*B
        self.Gamma = self.Bdot + bracket
        self.row = B.T*(gradient(L, q1) + Q1)
        self.curvature = self.Gamma.T*self.p1
        self.E = self.row + self.curvature
        self.printed = self.row + self.Bdot.T*self.p1
        self.E3 = bracket.T*self.p1

    def star(self, expression):
        return expression.xreplace(self.map)

    def along(self, expression):
        """The total derivative along the motion."""
        return expression.diff(t).xreplace(self.map)


def gradient(expression, variables):
    return Matrix([expression.diff(v) for v in variables])


def same(found, expected, values):
    """Agreement to 50 digits; a scale of one, so that zeros may be found."""
    if not isinstance(expected, mp.matrix):
        expected = at(expected, values)
    return close(at(found, values), expected, scale=1)


def column(*entries):
    return Matrix(len(entries), 1, entries)


def assert_is(case, method=None):
    """The blocks of the theory for linear rows, and the motion."""
    method, theory = method or case.hamel, case.theory
    embedding, u = method.embedding, theory.u
    assert Matrix(embedding.q_dependent) == Matrix(case.q1)
    assert Matrix(embedding.q_independent) == Matrix(case.q2)
    assert Matrix(method.u) == u
    assert Matrix(method.equations_of_motion.states) == Matrix([*case.q, *u])
    map_ = Matrix([embedding.velocity_map[e.diff(t)] for e in case.q1])
    velocity = Matrix([theory.map.get(e.diff(t), e.diff(t)) for e in case.q])
    slopes, eta = embedding.curvature_tensor
    slopes = Matrix(len(eta), len(u), list(slopes.reshape(len(slopes))))
    blocks = [
        (embedding.matrix, theory.B), (embedding.vector, theory.a),
        (map_, theory.g), (embedding.lagrangian, theory.L),
        (embedding.forces, theory.Q2),
        (embedding.dropped_forces, theory.Q1),
        (method.mass_matrix, theory.Psi),
        (method.corrected.mass_matrix, theory.Psi),
        (method.forcing, theory.G),
        (method.corrected.forcing, theory.G - theory.E),
        (embedding.discrepancy, theory.E),
        (embedding.neglected_row, theory.row),
        (embedding.curvature_force, theory.curvature),
        (embedding.paper_discrepancy, theory.printed),
        (embedding.curvature, theory.Gamma), (embedding.momenta, theory.p1),
        (slopes, theory.Gamma.reshape(len(eta), 1).jacobian(u)),
        (eta, theory.Gamma.xreplace(dict.fromkeys(u, 0))),
        (method.forcing_full, velocity.col_join(theory.G)),
        (method.mass_matrix_full, diag(eye(len(case.q)), theory.Psi))]
    eliminated = {e.diff(t) for e in case.q1}
    values = case.point(1)
    for found, expected in blocks:
        assert not found.atoms(Derivative) & eliminated
        assert same(found, expected, values)
    assert_moves(case, method)
    _, motion = case.motion(values)
    moving = {**values, **dict(zip(theory.du, motion))}
    assert close(at(method.eom, moving),
                 -at(embedding.discrepancy, values), scale=1)
    rhs = at(method.rhs(), values)
    assert close(rhs[:len(case.q), 0], at(velocity, values), scale=1)


def assert_moves(case, method):
    """The corrected equations have the motion of the multiplier system, and
    the reactions; both sets of equations are those of their matrices."""
    values, corrected = case.point(1), method.corrected
    exact = case.reference.solve(values)
    _, motion = case.motion(values)
    moving = {**values, **dict(zip(case.theory.du, motion))}
    assert norm(at(corrected.eom, moving)) < 1e-45
    assert close(at(corrected.multipliers, values), exact.lam, scale=1)
    assert close(at(corrected.constraint_forces, values), exact.forces,
                 scale=1)
    for one in (corrected, method):
        M, F, W, r = (at(e, values) for e in (
            one.mass_matrix, one.forcing, one.equations_of_motion.W,
            one.equations_of_motion.r))
        if norm(M) > 1e-50:             # an embedding may lose all its mass
            rates = mp.lu_solve(W, r)[:len(motion), 0]
            assert close(M*rates, F, scale=1)
    assert close(at(corrected.mass_matrix, values)*motion,
                 at(corrected.forcing, values), scale=1)


def assert_verdict(method, holds, faults=(), holonomic=None):
    validity = method.validity
    assert validity.holds is holds
    assert tuple(validity.q_dependent) == tuple(method.embedding.q_dependent)
    assert set(validity.faults) == set(faults)
    assert method.embedding.is_holonomic is holonomic
    for e in method.embedding.q_dependent:
        assert str(e.func) in str(validity)


def assert_witness(case, method=None):
    """A state where the equations are wrong is told, with what E is there.
    """
    validity = (method or case.hamel).validity
    assert validity.holds is False
    state = {e: number(v) for e, v in validity.state.items()}
    state = {**{e.diff(t): 0 for e in case.q1}, **state}
    E = at(case.theory.E, state)
    assert norm(E) > 1e-6
    assert norm(at(case.reference.holonomic, state)) < 1e-12
    assert close(E, [number(e) for e in validity.discrepancy], rtol=1e-9)


# H1 to H9; the examples of the paper are in tests/papers

def particle(row=None, hol=None, Q=None, q=(x, y, z), q1=(x,)):
    L = sum(e.diff(t)**2 for e in q)/2
    return Case(L, q, q1, (hol,) if hol else (), (row,) if row else (), Q)


coin = Case(m*(vx**2 + vy**2)/2 + I*omega**2/2 + J*spin**2/2,
            (x, y, theta, phi), (x, y),
            vel=(vx - R*cos(phi)*omega, vy - R*sin(phi)*omega))
tilted = replace(coin, q1=(y, theta))
sleigh = Case(
    m*((vx - a*omega*sin(theta))**2 + (vy + a*omega*cos(theta))**2)/2
    + I*omega**2/2, (x, y, theta), (y,),
    vel=(vy*cos(theta) - vx*sin(theta),))
repaired = Case((vx**2 + vy**2 + vz**2 + vw**2)/2, (x, y, z, w), (x, w),
                vel=(vx - z*vy, vw - vz), Q=(-vy*vz, 0, 0, z*vy**2))
CASES = {
    'H1': coin, 'H2': tilted, 'H3': sleigh, 'H4': repaired,
    'H5': Case((m*(vx - z*vy)**2 + vy**2 + vz**2)/2, (x, y, z), (x,),
               vel=(vx - z*vy,)),
    'H6': particle(vx + 2*vy + 3*vz),
    'H7': particle(vx + vy, q=(x, y), Q=(f, 0)),
    'H8': particle(hol=(x**2 + y**2 - C)/2, q=(x, y)),
    # dT*/dq1 = (dg/dq1)^T p1* and B is constant: E cancels
    'turntable': Case(
        (vx**2 + vy**2)/2 + (omega**2 + spin**2)/5,
        (x, y, theta, phi), (x, y),
        vel=(vx - R*omega + k*y, vy + R*spin - k*x)),
    'everything': Case(
        (1 + x**2 + z**2)*vx**2/2 + x*y*vx*vy + (1 + y**2*x**2)*vy**2
        + (2 + x**2)*vz**2 - x**4 - g*y + cos(t)*vz + y*vx, (x, y, z), (x,),
        vel=((2 + z**2 + sin(t))*vx - y*vy - x*vz - t*y,),
        Q=(vy, -vx, x*vz))}
VERDICTS = {
    'turntable': (True, ['curvature', 'neglected row'], False),
    'everything': (False, ['curvature', 'neglected row'], False),
    'H1': (True, (), False), 'H2': (False, ['curvature'], False),
    'H3': (False, ['curvature'], False),
    'H4': (True, ['curvature', 'neglected row'], False),
    'H5': (True, (), False), 'H6': (True, (), True),
    'H7': (False, ['neglected row'], True),
    'H8': (False, ['neglected row'], True)}
each_case = pytest.mark.parametrize('name', sorted(CASES))


@each_case
def test_cases(name):
    """By the formulas, and what the class says of them."""
    case = CASES[name]
    assert_is(case)
    holds, faults, holonomic = VERDICTS[name]
    assert_verdict(case.hamel, holds, faults, holonomic)
    if not holds:
        assert_witness(case)


@pytest.mark.parametrize('name', sorted(
    name for name, case in CASES.items() if case.Q))
def test_projected_loads_are_not_lost(name):
    """Forces on dependent coordinates are applied, not dropped."""
    case = CASES[name]
    theory, method = case.theory, case.method(project_loads=True)
    values = case.point(1)
    _, motion = case.motion(values)
    Psi = at(method.mass_matrix, values)
    assert close(Psi, at(theory.Psi, values), scale=1)
    assert close(at(method.corrected.forcing, values), Psi*motion, scale=1)
    assert close(at(method.forcing, values) - Psi*motion,
                 at(method.embedding.discrepancy, values), scale=1)
    assert same(method.embedding.discrepancy,
                theory.E - theory.B.T*theory.Q1, values)
    assert same(method.embedding.forces,
                theory.Q2 - theory.B.T*theory.Q1, values)
    assert norm(at(method.embedding.dropped_forces, values)) == 0


# The partition matters

def test_redundant_rows_have_no_partitions():
    method = HamelEmbedding(m*(vx**2 + vy**2 + vz**2)/2, [x, y, z],
                            nonhol_coneqs=[vx - vy, 2*vx - 2*vy],
                            q_dependent=[x, y])
    with pytest.raises(RedundantConstraintsError, match='row 1 follows from '
                       'the other.*Leave the redundant rows out'):
        method.valid_partitions()


@pytest.mark.parametrize('rest, verdict', [
    (y, 'right'), (sum(symbols('a:25')), 'not decided'),
    (sum(sin(n*x)*cos(n*y) for n in range(1, 150)), 'not decided')])
def test_what_vanishes_may_be_too_long_for_a_proof(rest, verdict):
    method = HamelEmbedding(m*(vx**2 + vy**2)/2, [x, y], hol_coneqs=[x - y],
                            q_dependent=[x],
                            generalized_forces=[(x - y)*rest, 0])
    assert str(method.validity) == f'x dependent: {verdict}'
    assert method.validity.holds is (True if verdict == 'right' else None)


def names(partitions):
    return {tuple(v.q_dependent): v for v in partitions}


def test_the_same_coin_is_right_or_wrong():
    found = coin.hamel.valid_partitions()
    assert isinstance(found, tuple) and len(found) == 6
    by_name = names(found)
    assert {key: v.holds for key, v in by_name.items() if key in (
        (x, y), (x, theta), (y, theta))} == {
            (x, y): True, (x, theta): False, (y, theta): False}
    for key in ((x, phi), (y, phi), (theta, phi)):
        assert by_name[key].faults == ('singular',)
        assert by_name[key].holds is not True
    for key in ((x, theta), (y, theta)):
        assert by_name[key].faults == ('curvature',)
    for key, validity in by_name.items():
        if 'singular' not in validity.faults:
            other = HamelEmbedding.from_method(
                coin.hamel, q_dependent=list(key))
            assert other.validity.holds is validity.holds
            assert_is(replace(coin, q1=key), other)


def test_a_partition_keeps_the_options():
    case = CASES['H7']
    method = HamelEmbedding.from_method(
        case.method(project_loads=True), q_dependent=[y])
    assert method.validity.holds is True
    values = case.point(1)
    assert same(HamelEmbedding.from_method(method).forcing, Matrix([f]),
                values)
    plain = HamelEmbedding.from_method(case.hamel, q_dependent=[y])
    assert plain.validity.holds is True         # nothing pushes on y
    assert same(plain.forcing, Matrix([f]), values)


def test_a_partition_in_whose_velocities_the_rows_are_not_linear():
    method = HamelEmbedding((vx**2 + vy**2 + vz**2)/2, [x, y, z],
                            nonhol_coneqs=[vz - vx**2], q_dependent=[z])
    by_name = names(method.valid_partitions())
    assert by_name[x,].faults == ('nonlinear',)
    assert by_name[y,].faults == ('singular',)
    # x'' = 0 in truth, and by Hamel's (1 + 6*x'**2)*x'' = 0
    assert by_name[z,].holds is True


# Theorem 2

def with_force(case, force):
    """The case with ``force`` instead of its own on the dependent ones."""
    Q = list(case.Q or [0]*len(case.q))
    for e, value in zip(case.q1, force):
        Q[case.q.index(e)] = value
    return replace(case, Q=tuple(Q))


two_rows = {
    # B has two rows and one column: many forces, the smallest is given.
    'tall': Case((vx**2 + vy**2 + vz**2)/2 - x*z, (x, y, z), (x, y),
                 vel=(vx - cos(z)*vz, vy - (1 + x)*vz)),
    # Affine and with time.
    'affine': Case((vx**2 + vy**2 + vz**2 + vw**2)/2 + x*vy,
                   (x, y, z, w), (x, y),
                   vel=(vx - z*vw - 2*vz - sin(t),
                        vy + x*vz - w*vw - t))}


@pytest.mark.parametrize('name', sorted(two_rows))
def test_required_force_with_two_rows(name):
    """(E4) makes E vanish, and it is the smallest force beyond the gradient
    that does."""
    case = two_rows[name]
    needed = case.hamel.embedding.required_force()
    assert needed.shape == (2, 1)
    theory = case.theory
    gradient_part = -gradient(theory.L, case.q1)
    values = case.point(1)
    B = at(theory.B, values)
    rest = at(needed, values) - at(gradient_part, values)
    assert close(B.T*rest, -at(theory.curvature, values), scale=1)
    u, sizes, v = mp.svd_r(B.T)
    kept = [i for i, size in enumerate(sizes) if size > 1e-30]
    inside = sum((v[i, :].T*(v[i, :]*rest)[0] for i in kept), mp.zeros(2, 1))
    assert close(inside, rest, scale=1)
    repaired = with_force(case, needed)
    assert repaired.hamel.validity.holds is not False
    values = case.point(1)
    assert norm(at(repaired.hamel.embedding.discrepancy, values)) < 1e-45
    assert same(repaired.hamel.forcing, repaired.hamel.corrected.forcing,
                values)


def test_projected_loads_need_nothing_or_cannot_be_repaired():
    method = CASES['H7'].method(project_loads=True)
    assert_verdict(method, True, (), True)
    needed = method.embedding.required_force()
    assert needed == zeros(1, 1)         # none is needed
    loaded = particle(x*vx + vy + vz, Q=(f, 0, 0))
    assert loaded.method(project_loads=True).embedding.required_force() is None


# What is decided about E = 0, and what is not

spring = Case((vx**2 + vy**2)/2 - k*(x - y)**2/2, (x, y), (x,), (x - y,))
modulo = {
    'spring': spring,
    'circle': replace(CASES['H8'], Q=((C - x**2)*vy**2/x**3, 0)),
    'moving': Case((vx**2 + vy**2)/2 + k*(x + y*t - t**2)**2*vy,
                   (x, y), (x,), (x + y*t - t**2,))}


@pytest.mark.parametrize('name', sorted(modulo))
def test_a_discrepancy_that_vanishes_where_the_constraint_holds(name):
    case = modulo[name]
    method = case.hamel
    assert method.validity.holds is not False
    assert name != 'spring' or method.validity.holds is True
    assert 'curvature' not in method.validity.faults
    assert method.embedding.is_holonomic is True
    values = case.point(1)
    assert norm(at(method.embedding.discrepancy, values)) < 1e-50
    aside = {**values, x: values[x] + mp.mpf('0.1')}
    if name != 'moving':        # that one has a zero of second order
        assert norm(at(method.embedding.discrepancy, aside)) > 1e-6
    assert_is(case)


def opaque(E, L=(vx**2 + vy**2)/2, row=vx - vy, q=(x, y)):
    """A case whose discrepancy is ``-E``."""
    return HamelEmbedding(L, list(q), nonhol_coneqs=[row], q_dependent=[x],
                          generalized_forces=[E, *[0]*(len(q) - 1)])


def test_a_zero_that_needs_an_inverse_function_is_not_called_wrong():
    h = sinh(x) - y
    slope = 1/cosh_of(x)
    method = HamelEmbedding(
        (vx**2 + vy**2)/2, [x, y], hol_coneqs=[h], q_dependent=[x],
        generalized_forces=[slope**3*sinh(x)*vy**2 + x - asinh(y), 0])
    assert method.validity.holds is not False


def cosh_of(e):
    return (exp(e) + exp(-e))/2


@pytest.mark.parametrize('E', [
    Rational(1, 10**60), Rational(1, 10**60)*vy, Rational(1, 10**200)*x,
    Max(0, y - 10)**2, Max(0, vy - 100), Function('F')(y),
    Function('F')(x, vy), 10**-40*sin(y)], ids=str)
def test_a_small_or_distant_discrepancy_is_never_called_zero(E):
    assert opaque(E).validity.holds is not True


@pytest.mark.parametrize('E', [
    sin(y)**2 + cos(y)**2 - 1, (x + y)**3 - x**3 - 3*x*y*(x + y) - y**3,
    exp(2*y) - exp(y)**2, sqrt(2 + sqrt(3)) - sqrt(6)/2 - sqrt(2)/2,
    tan(y)*cos(y) - sin(y)], ids=str)
def test_a_zero_in_disguise_is_never_called_wrong(E):
    assert opaque(E).validity.holds is not False


@pytest.mark.parametrize('power, valid', [(3, True), (16, None)])
def test_a_proof_that_would_be_endless_is_not_tried(power, valid):
    """The potential has thousands of terms when it is expanded."""
    V = (x - y)**2*(x + 2*y + a*z + k + g + C)**power
    method = HamelEmbedding(
        (vx**2 + vy**2 + vz**2)/2 - V, [x, y, z], hol_coneqs=[x - y],
        q_dependent=[x])
    assert method.validity.holds is valid


def test_an_unknown_function_may_cancel():
    F = Function('F')
    method = opaque(Derivative(F(x), x), (vx**2 + vy**2)/2 - F(x))
    assert method.validity.holds is not False
    assert opaque(2*Derivative(F(x), x),
                  (vx**2 + vy**2)/2 - F(x)).validity.holds is not True


def test_bent_far_away_is_not_called_holonomic():
    method = HamelEmbedding(
        (vx**2 + vy**2 + vz**2)/2, [x, y, z], q_dependent=[x],
        nonhol_coneqs=[vx - Max(0, z - 20)**2*vy])
    assert method.embedding.is_holonomic is not True
    assert method.validity.holds is not True


# Velocities that cancel, in a Lagrangian that is not expanded

def hidden(coefficient, v):
    """``coefficient*z``, written with a velocity."""
    return (v + coefficient)*z - v*z


@pytest.mark.parametrize('v, row, holonomic', [
    (vx, vx - y*z*vy, False), (vy, y*z*vx + y*vz - vy, False),
    (vz, vx - 2*y*z*vy - y**2*vz, True), (vx, (2 + y*z)*vx - vz, False)])
def test_linear_rows_are_linear_whatever_the_lagrangian(v, row, holonomic):
    plain = (vx**2 + 2*vy**2 + vz**2)/2
    case = Case(plain + x*hidden(y, v) + hidden(2*y, v)**2, (x, y, z),
                (x,), vel=(row,))
    assert_is(case)
    assert case.hamel.embedding.is_holonomic is holonomic


# Constraints that are nonlinear in the velocities

SPEED = Symbol('c', positive=True)
NONLINEAR = {
    'Appell-Hamel': Case(
        m*(vx**2 + vy**2 + vz**2)/2 - m*g*z, (x, y, z), (z,),
        vel=(vz - k*sqrt(vx**2 + vy**2),), guess={vz: Rational(1, 2)}),
    'constant speed': Case(
        m*(vx**2 + vy**2 + vz**2)/2 - m*g*z + x*vy, (x, y, z), (x,),
        vel=(vx - sqrt(9 - vy**2 - vz**2),), Q=(y, 0, -k*vz),
        guess={vx: 2}),
    'unsolved': Case(
        (vx**2 + vy**2 + vz**2)/2 + vx*vy/4, (x, y, z), (y,),
        vel=((2 + vz**2)*vy - vx**2*z + t,)),
    'two rows': Case(
        (vx**2 + vy**2 + vz**2 + vw**2)/2 - x**2*z, (x, y, z, w), (w, x),
        vel=(vx - vy*vz, vw - x*vy**2 - vx))}


@pytest.mark.parametrize('name', sorted(NONLINEAR))
def test_nonlinear_rows(name):
    """By the formulas; the motion is that of the multipliers, and not that
    of Hamel's equations."""
    case = NONLINEAR[name]
    method, theory = case.hamel, case.theory
    embedding, values = method.embedding, case.point(1)
    map_ = Matrix([embedding.velocity_map[e.diff(t)] for e in case.q1])
    for i, e in enumerate(theory.du):       # those of no motion
        values[e] = number(Rational((7 + 5*i) % 11 - 5, 4))
    dependent = at(theory.along(theory.g), values)
    values.update(zip((e.diff(t, 2) for e in case.q1), dependent))
    for found, expected in (
            (map_, theory.g), (embedding.lagrangian, theory.L),
            (embedding.momenta, theory.p1), (method.mass_matrix, theory.Psi),
            (method.forcing, theory.G),
            (method.eom, theory.Psi*theory.du - theory.G),
            (embedding.discrepancy, theory.E),
            (embedding.neglected_row, theory.row),
            (embedding.curvature_force, theory.curvature)):
        assert same(found, expected, values)
    assert method.validity.holds is False
    assert embedding.is_holonomic is not True
    assert_moves(case, method)
    values = case.point(1)
    if name == 'constant speed':            # T* is a constant
        assert norm(at(method.mass_matrix, values)) < 1e-50
        with pytest.raises(MissingIngredientError, match='mass'):
            method.rhs()
        return
    rhs = at(method.rhs(), values)[len(case.q):, 0]
    assert norm(rhs - case.motion(values)[1]) > 1e-6


def test_nonlinear_rows_in_a_sample():
    """Where a square root has a value is told by the sample."""
    row = vx - sqrt(SPEED**2 - vy**2)
    method = HamelEmbedding(
        (vx**2 + vy**2)/2 - y, [x, y], nonhol_coneqs=[row], q_dependent=[x],
        sample={SPEED: 10})
    assert method.validity.holds is False
    assert method.validity.state[SPEED] == 10


def test_from_a_lagrangian_method():
    for cls in (UdwadiaKalabaMethod, LagrangesMethod):
        given = cls(tilted.L, list(tilted.q), nonhol_coneqs=list(tilted.vel))
        if cls is LagrangesMethod:
            given.form_lagranges_equations()
        method = HamelEmbedding.from_method(given, q_dependent=[y, theta])
        values = tilted.point(2)
        assert same(method.embedding.discrepancy, tilted.theory.E, values)
        assert same(method.forcing, tilted.hamel.forcing, values)
    with pytest.raises(MissingIngredientError, match='q_dependent'):
        HamelEmbedding.from_method(given).forcing


# Errors

plane = {'Lagrangian': (vx**2 + vy**2 + vz**2)/2, 'qs': [x, y, z]}


SINGULAR = {
    'identically': (
        {'nonhol_coneqs': [vx + vy - vz, vx + vy + 2*z*vz]}, [x, y]),
    'in one of two': (
        {'nonhol_coneqs': [vx*cos(x) + vy*sin(x), vz - t]}, [x, y]),
    'where the constraints hold': (
        {'hol_coneqs': [x - y], 'nonhol_coneqs': [
            (x - y)*vz + vx + 2*vy + vy*t]}, [x, z])}


@pytest.mark.parametrize('name', sorted(SINGULAR))
def test_a_partition_that_does_not_work_and_one_that_does(name):
    rows, dependent = SINGULAR[name]
    with pytest.raises(ConstraintError) as caught:
        HamelEmbedding(**plane, **rows, q_dependent=dependent).forcing
    remedy = list(caught.value.q_dependent)
    assert len(remedy) == 2 and set(remedy) <= {x, y, z}
    for e in remedy:
        assert str(e.func) in str(caught.value)
    method = HamelEmbedding(**plane, **rows, q_dependent=remedy)
    assert method.validity.holds in (True, False)
    case = Case(plane['Lagrangian'], (x, y, z), tuple(remedy),
                tuple(rows.get('hol_coneqs', ())),
                tuple(rows['nonhol_coneqs']))
    assert_is(case, method)


# Manners

def test_as_many_rows_as_coordinates():
    """Nothing is left to move, and the reaction is known."""
    method = HamelEmbedding(m*vx**2/2, [x], nonhol_coneqs=[vx - sin(t)],
                            q_dependent=[x])
    assert method.mass_matrix.shape == (0, 0)
    assert method.forcing.shape == method.embedding.discrepancy.shape == (0, 1)
    assert method.u.shape == (0, 1)
    assert method.embedding.velocity_map == {vx: sin(t)}
    assert method.validity.holds is True
    assert same(method.corrected.multipliers, Matrix([m*cos(t)]),
                {m: 2, t: Rational(1, 3)})


def test_a_function_of_time_in_the_rows():
    """x' = F y' with a given F(t): E = -F F' y' - F k."""
    F = dynamicsymbols('F')
    method = HamelEmbedding((vx**2 + vy**2)/2 - k*x, [x, y],
                            nonhol_coneqs=[vx - F*vy], q_dependent=[x])
    values = {k: 3, F: Rational(2, 7), F.diff(t): -2, vy: Rational(5, 3),
              x: 1, y: 2, t: 0}
    assert same(method.embedding.curvature, Matrix([-F.diff(t)]), values)
    assert same(method.embedding.discrepancy,
                Matrix([F*k - F*F.diff(t)*vy]), values)
    assert same(method.corrected.forcing, Matrix([-F*F.diff(t)*vy - F*k]),
                values)
    assert method.embedding.is_holonomic is False
    assert method.validity.holds is False
    assert set(method.equations_of_motion.specifieds) <= {F, F.diff(t)}


def test_a_sample_does_not_prove_anything_for_other_values():
    """E = 0 if k = 1, which is said of the sample only."""
    arguments = {'Lagrangian': (vx**2 + vy**2 + vz**2)/2, 'qs': [x, y, z],
                 'nonhol_coneqs': [vx - (k - 1)*z*vy], 'q_dependent': [x]}
    method = HamelEmbedding(**arguments, sample={k: 1})
    assert method.validity.holds is not True
    assert method.embedding.is_holonomic is not True
    assert HamelEmbedding(**arguments).validity.holds is False
