"""Routh's and the vakonomic equations: sections 2, 4, 5 and 6 of the theory
page; what else they are is in tests/papers.

Compared at random states that satisfy the constraints, at 50 digits, with
what plain SymPy differentiation gives.
"""
from functools import cache, cached_property
from operator import attrgetter
from random import Random

import numpy as np
import pytest
from mpmath import mp
from sympy import (
    Matrix, Rational, cos, exp, hessian, sin, sqrt, symbols, sympify)
from sympy.physics.mechanics import dynamicsymbols

from kkt import WORK, Reference, at, close, norm, number, rank, t
from sympy_constrained import RouthMethod, VaccoMethod
from sympy_constrained.errors import (
    MissingIngredientError, RedundantConstraintsError)
from sympy_constrained.methods import hamiltonian_equations
from sympy_constrained.numeric import compile_equations, simulate

m, g, J, gamma, I, R, c, l, w0, b = symbols('m g J gamma I R c l w0 b')
x, y, z, X, Y, Z, theta, phi = dynamicsymbols('x y z X Y Z theta phi')
vx, vy, vz, vX, vY, vZ, spin, turn = (
    f.diff(t) for f in (x, y, z, X, Y, Z, theta, phi))
SOME = {m: Rational(6, 5), g: Rational(981, 100), J: Rational(7, 10),
        gamma: 2, I: Rational(2, 5), R: Rational(1, 2), c: 3,
        l: Rational(13, 10), w0: Rational(9, 10), b: -Rational(3, 4)}


# Plain SymPy

def euler(expression, q):
    """``d/dt d/dq' - d/dq``, the operator of the theory."""
    return Matrix([expression.diff(f.diff(t)).diff(t) - expression.diff(f)
                   for f in q])


class Case:
    """A model, both methods, and both sets of equations written anew."""

    def __init__(self, L, q, vel=(), hol=(), Q=None, guess=None):
        self.L, self.q = sympify(L), list(q)
        self.hol, self.vel, self.guess = list(hol), list(vel), guess
        self.Q = Matrix(Q if Q is not None else [0]*len(q))
        self.plain = Reference.lagrange(L, q, hol, vel, Q=self.Q)
        self.u = Matrix(self.plain.u)
        self.g = self.plain.velocity
        self.A = self.plain.A
        self.kwargs = {
            key: value for key, value in {
                'hol_coneqs': self.hol, 'nonhol_coneqs': self.vel,
                'generalized_forces': Q and list(Q)}.items() if value}

    @cached_property
    def routh(self):
        return RouthMethod(self.L, self.q, **self.kwargs)

    @cached_property
    def vacco(self):
        return VaccoMethod(self.L, self.q, **self.kwargs)

    @property
    def mu(self):
        return Matrix(self.vacco.mu_vec)

    @cached_property
    def modified(self):
        return self.L + (self.mu.T*self.g)[0]

    @cached_property
    def vakonomic(self):
        """``E(L') - Q`` and the differentiated constraints."""
        return (euler(self.modified, self.q) - self.Q).col_join(self.g.diff(t))

    @cached_property
    def reaction(self):
        """``E(L) - Q - A^T lam`` and the differentiated constraints."""
        lam = Matrix(self.routh.lam_vec)
        return (euler(self.L, self.q) - self.Q - self.A.T*lam).col_join(
            self.g.diff(t))

    @cached_property
    def Gamma(self):
        return Matrix.hstack(*(euler(row, self.q) for row in self.g))

    def state(self, seed):
        """A random state on the constraints, with random multipliers."""
        values = self.plain.admissible(SOME, seed, self.guess)
        random = Random(f'multipliers {seed}')
        for f in self.mu:
            values[f] = number(Rational(random.randint(-1000, 1000), 500))
        return values

    def moving(self, values, rows=None, unknowns=None):
        """``values`` with accelerations and rates of multipliers."""
        if rows is None:
            rows = self.vakonomic
            unknowns = [*self.u.diff(t), *self.mu.diff(t)]
        still = dict.fromkeys(unknowns, sympify(0))
        with mp.workdps(WORK):
            found = mp.lu_solve(at(rows.jacobian(unknowns), values),
                                -at(rows.xreplace(still), values))
        return {**values, **dict(zip(unknowns, found))}

    def moving_as_routh(self, values):
        return self.moving(values, self.reaction, [
            *self.u.diff(t), *self.routh.lam_vec])


def agree(found, wanted, values):
    return close(at(found, values), at(wanted, values), 1e-45, scale=1)


def is_zero(found, scale=1):
    return bool(norm(found) <= mp.mpf(10)**-45*scale)


# The models

@cache
def pendulum():
    return Case(m*(vx**2 + vy**2)/2 - m*g*y, [x, y],
                hol=[x**2 + y**2 - (1 + t/4)**2])


@cache
def rod():
    return Case(m*(vx**2 + vy**2)/2 - m*g*y, [x, y], hol=[x**2 + y**2 - l**2])


@cache
def heisenberg():
    return Case((vx**2 + vy**2)/2, [x, y, z], [vz - (x*vy - y*vx)/2])


def blade(drift=0):
    return (vx - drift)*sin(phi) - vy*cos(phi)


def skating(slope=gamma):
    return m*(vx**2 + vy**2)/2 + J*turn**2/2 + m*slope*x


@cache
def skate():
    return Case(skating(), [x, y, phi], [blade()])


@cache
def level_skate():
    return Case(skating(0), [x, y, phi], [blade()])


@cache
def drifting_ice():
    return Case(skating(), [x, y, phi], [blade(w0*sin(t))])


@cache
def braked_skate():
    return Case(skating(), [x, y, phi], [blade()],
                Q=[-Rational(3, 5)*v for v in (vx, vy, turn)])


@cache
def disc():
    L = m*(vx**2 + vy**2)/2 + I*spin**2/2 + J*turn**2/2
    return Case(L, [x, y, theta, phi], [
        vx - R*spin*cos(phi), vy - R*spin*sin(phi)])


@cache
def constant_speed(gravity=gamma):
    return Case(m*(vx**2 + vz**2)/2 - m*gravity*z, [x, z],
                [vx**2 + vz**2 - c**2])


@cache
def mixed():
    """The skate of case 3 on the plane Z = b X, with X downhill for b < 0.

    The blade is along (cos, sin) of phi in the plane.
    """
    slope = (vX + b*vZ)/sqrt(1 + b**2)
    L = m*(vX**2 + vY**2 + vZ**2)/2 + J*turn**2/2 - m*g*Z
    return Case(L, [X, Y, Z, phi], [slope*sin(phi) - vY*cos(phi)],
                hol=[Z - b*X])


@cache
def moving_mixed():
    """Rheonomic in everything, holonomic and nonlinear nonholonomic."""
    L = (m*(vx**2 + vy**2)/2*(1 + x**2*cos(t)/4) + J*turn**2/2
         + t*x*vy - m*gamma*x*cos(t) + x*turn*sin(phi))
    return Case(L, [x, y, phi], [vx*turn - (2 + sin(t))*vy + x*y],
                hol=[x + y**2 - cos(t)*phi],
                Q=[-vx*t, y*turn, sin(t) - phi])


EVERY = {f.__name__: f for f in (
    pendulum, rod, heisenberg, skate, drifting_ice, braked_skate, disc,
    constant_speed, mixed, moving_mixed)}
SKATE = {m: 1.2, J: 0.7, gamma: 2}
SKATE_START = {x: 0, y: 0, phi: 0.3, vx: 0.8*np.cos(0.3),
               vy: 0.8*np.sin(0.3), turn: 1.1}

every = pytest.mark.parametrize('name', EVERY)


# Sections 1 to 4: the equations, with any accelerations and multipliers

@pytest.mark.parametrize('name', ['braked_skate', 'moving_mixed'])
def test_energy_and_momenta(name):
    """Of the modified Lagrangian for Vacco, their rates, and the quantity of
    any displacement, symmetry or not."""
    case = EVERY[name]()
    values = case.state(1)
    xi = Matrix([sin(t) + case.q[-1], *([1]*(len(case.q) - 2)),
                 case.q[0]*case.q[1]])
    for method, L, moving in (
            (case.vacco, case.modified, case.moving(values)),
            (case.routh, case.L, case.moving_as_routh(values))):
        momenta = Matrix([L.diff(v) for v in case.u])
        energy = (case.u.T*momenta)[0] - L
        for found, wanted in (
                ('momenta', momenta), ('momentum_rates', momenta.diff(t)),
                ('energy', energy), ('energy_rate', energy.diff(t))):
            assert agree(getattr(method.variation, found), wanted,
                         moving), found
        found, value = method.variation.noether_quantity(list(xi)), (
            xi.T*momenta)[0]
        assert agree(found.value, value, moving)
        assert agree(found.rate, value.diff(t), moving)


@every
def test_free_directions(name):
    """Maggi's equations, regularity, and ``S`` of the coincidence."""
    case = EVERY[name]()
    values = case.state(1)
    reacting = case.moving_as_routh(values)
    vacco = case.vacco
    B = vacco.variation.free_directions
    assert is_zero(at(case.A*B, values), 10)
    assert rank(at(B, values)) == B.cols
    assert is_zero(at(case.routh.variation.maggi_equations, reacting), 100)
    assert agree(vacco.variation.regularity_matrix,
                 B.T*hessian(case.modified, list(case.u))*B, values)
    assert agree(vacco.coincidence.sympy('Gamma'), case.Gamma, reacting)
    assert close(at(vacco.coincidence.sympy('S'), values),
                 at(B.T*case.Gamma, reacting), 1e-45, scale=1)
    zero = {**values, **dict.fromkeys(case.mu, 0)}
    assert close(at(vacco.closed_form.sympy('multiplier_rates'), zero),
                 at(-Matrix(case.routh.lam_vec), reacting), 1e-45, scale=1)


# Section 5: conserved quantities

def test_conserved_quantities_are_constant_and_none_is_missed():
    wanted = {
        'pendulum': (set(), set()), 'rod': ({'energy'}, {'energy'}),
        'heisenberg': ({'energy'}, {'energy', z}),
        'skate': ({'energy', phi}, {'energy', y}),
        'drifting_ice': ({phi}, {y}), 'braked_skate': (set(), set()),
        'disc': ({'energy', phi}, {'energy', x, y, theta}),
        'constant_speed': (set(), {'energy', x})}
    for name, (routh, vacco) in wanted.items():
        case = EVERY[name]()
        kept = case.routh.variation.conserved_quantities()
        ours = case.vacco.variation.conserved_quantities()
        assert (name, set(kept), set(ours)) == (name, routh, vacco)
        values = case.state(3)
        moving, reacting = case.moving(values), case.moving_as_routh(values)
        for found, state in ((kept, reacting), (ours, moving)):
            for quantity in found.values():
                assert is_zero(at(quantity.diff(t), state), 100)


def test_for_routh_a_symmetry_must_satisfy_the_constraints():
    """Turning about the contact point does, turning about the origin not.
    """
    case = level_skate()
    along, about = (case.routh.variation.noether_quantity(xi)
                    for xi in ([0, 0, 1], [-y, x, 1]))
    assert along.is_conserved
    lam, = case.routh.lam_vec
    moving = case.moving_as_routh(case.state(1))
    slip = -y*sin(phi) - x*cos(phi)
    assert close(at(about.rate, moving), at(lam*slip, moving))
    assert norm(at(about.rate, moving)) > 1e-3
    # Rolling of the disc along its own plane: only with g = 0.
    case = disc()
    rolling = case.routh.variation.noether_quantity(
        [R*cos(phi), R*sin(phi), 1, 0])
    moving = case.moving_as_routh(case.state(1))
    assert is_zero(at(rolling.rate, moving), 10)
    assert close(at(rolling.value, moving), at((I + m*R**2)*spin, moving))


# Section 6: coincidence

@pytest.mark.parametrize('rows, answer', [
    ([vx - vy*cos(y)], True),               # two coordinates, always exact
    ([exp(x)*(vx + sin(y)*vy)], True),      # with an integrating factor
    ([vz - y*vx], False),
    ([vx - t*vy], False),                   # moving
    ([vx - vy - y], False),                 # affine, with y in the drift
    ([t*vx + x - sin(t)], True),            # d(t x + cos t)/dt
    ([(vz - y*vx - x*vy)*(1 + vx**2)], True),   # nonlinear, yet integrable
    ([vx*vy - y], False),
    ([vx - y*vz, vy - x*vz], True),         # a curve for any data
    ([vy - x*t*vz, vx], False)])
def test_always_coincides_if_and_only_if_integrable(rows, answer):
    L = (vx**2 + 2*vy**2 + vz**2)/2 + vx*vy/3 - x*y + z
    vacco = VaccoMethod(L, [x, y, z], nonhol_coneqs=rows)
    assert vacco.always_coincides is answer
    case = Case(L, [x, y, z], rows)
    values = case.state(1)
    S = at(vacco.coincidence.sympy('S'), values)
    with mp.workdps(WORK):
        gap = at(vacco.acceleration, values) - at(
            RouthMethod.from_method(vacco).acceleration, values)
    assert is_zero(S, 100) == answer
    assert (norm(gap) < 1e-40) == answer


# Hamilton's form

HAMILTONIAN = {
    'braked_skate': (braked_skate, {**SKATE_START, 'mu1': 0.45}, SKATE),
    'heisenberg': (heisenberg, [0.1, 0.2, 0, 1, -0.4, -0.12, 2.1], {}),
    'drifting_ice': (drifting_ice, {**SKATE_START, 'mu1': 0.45},
                     {**SKATE, w0: 0.9})}


@pytest.mark.parametrize('name', HAMILTONIAN)
def test_motion_of_hamiltons_equations(name):
    make, start, constants = HAMILTONIAN[name]
    case = make()
    n = len(case.q)
    options = dict(t_eval=21, rtol=1e-11, atol=1e-12)
    ours = simulate(case.vacco, 2, start, constants=constants, **options)
    compiled = compile_equations(case.vacco, constants)
    momenta, energy = map(compiled.expression, (
        case.vacco.variation.momenta, case.vacco.variation.energy))
    equations = hamiltonian_equations(case.vacco)
    assert equations.unknowns == tuple(p.diff() for p in equations.states[n:])
    other = compile_equations(equations, constants)
    x0 = compiled.names.vector(start, 'start')
    motion = simulate(other, 2, [*x0[:n], *momenta(0, x0)[:, 0]], **options)
    found = np.hstack([motion.x[:, :n], *(
        other.output(equations.graph, name)(motion.t, motion.x)[..., 0]
        for name in ('velocities', 'mu'))])
    np.testing.assert_allclose(found, ours.x, rtol=0, atol=5e-9)
    np.testing.assert_allclose(
        motion.x[:, n:], momenta(ours.t, ours.x)[..., 0], atol=5e-9)
    np.testing.assert_allclose(motion.energy, energy(ours.t, ours.x),
                               atol=5e-9)
    assert np.abs(motion.energy_error).max() < 1e-8


# Call shapes

@pytest.mark.parametrize('ignorable', [False, True])
def test_multipliers_never_take_the_name_of_a_coordinate(ignorable):
    for name in ('mu1', 'lam1', 'p1'):
        one = dynamicsymbols(name)
        L = one.diff(t)**2/2 + vx**2/2 - (0 if ignorable else one**2)
        vacco = VaccoMethod(L, [one, x], nonhol_coneqs=[vx - x*one.diff(t)])
        routh = RouthMethod.from_method(vacco)
        assert len(set(vacco.equations_of_motion.states)) == 5
        assert not set(vacco.equations_of_motion.states) & set(vacco.lam_vec)
        assert not set(routh.equations_of_motion.states) & set(routh.lam_vec)
        assert len(set(hamiltonian_equations(vacco).states)) == 4


# Redundant rows

@pytest.mark.parametrize('what', [
    'equations_of_motion', 'eom', 'rhs', 'variation.momenta', 'coincidence',
    'always_coincides'])
def test_vacco_refuses_redundant_rows(what):
    """Their multipliers have no equations."""
    method = VaccoMethod(skating(), [x, y, phi], hol_coneqs=[x - y],
                         nonhol_coneqs=[x*vx - y*vy])
    with pytest.raises(RedundantConstraintsError, match=(
            'follows from the other rows')) as found:
        value = attrgetter(what)(method)
        value()         # where it is a method
    with pytest.raises(RedundantConstraintsError, match='follows from'):
        hamiltonian_equations(method)
    assert found.value.rows == (1,)


# What the user can do wrong

def test_abnormal_problems():
    """B^T W B vanishes for all states, or nothing moves a direction."""
    method = VaccoMethod(vx*vy, [x, y], nonhol_coneqs=[vy - x])
    assert method.variation.regularity_matrix == Matrix([[0]])
    for function in (VaccoMethod.rhs, hamiltonian_equations):
        with pytest.raises(MissingIngredientError, match='abnormal'):
            function(method)
    for L in (vx**2/2, 0*x):
        method = VaccoMethod(sympify(L), [x, y, z], nonhol_coneqs=[vz - x*vy])
        with pytest.raises(MissingIngredientError):
            method.rhs()
        with pytest.raises(MissingIngredientError, match='abnormal'):
            hamiltonian_equations(method)
