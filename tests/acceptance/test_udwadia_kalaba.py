"""The cases U-1 to U-9 of the theory page, in closed form and against a
50-digit solve of the multiplier system.

Every case is stated once and tried in both call shapes where both can state
it: Lagrange's (a Lagrangian and coordinates) and Kane's (bodies and loads).
"""
from dataclasses import dataclass
from functools import cache

import pytest
from mpmath import mp
from sympy import Matrix, Rational, diag, simplify, symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, dynamicsymbols)

import ready
from kkt import Reference, at, close, norm, solve, t
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstrainedDynamicsError, InconsistentConstraintsError,
    MissingIngredientError)
from sympy_constrained.models import MODELS

SHAPES = ('lagrange', 'kane')
solvers = pytest.mark.parametrize('solver', ['auto', 'schur', 'kkt', 'pinv'])
g, k, m, alpha, beta = symbols('g k m alpha beta', positive=True)
length = symbols('l', positive=True)
CONSTANTS = {g: Rational(981, 100), m: Rational(7, 5),
             length: Rational(13, 10), k: Rational(3, 5),
             alpha: Rational(5, 4), beta: Rational(9, 4)}


@dataclass
class Model:
    """The arguments of a method class and an independent reference."""

    q: tuple
    v: tuple            # the symbols of the speeds in this call shape
    args: tuple
    kwargs: dict
    reference: Reference

    def method(self, **options):
        return UdwadiaKalabaMethod(*self.args, **self.kwargs, **options)

    def point(self, seed, guess=None, **constants):
        values = {**CONSTANTS, **{symbols(n): v for n, v in constants.items()}}
        return self.reference.admissible(values, seed, guess)


def particle(shape, dimension=2, hol=None, vel=None, acc=None, reference=(),
             **constants):
    """A particle of mass m, gravity along the last axis, with the rows
    ``hol(q)``, ``vel(q, v)``, ``acc(q, v, a)``."""
    q = dynamicsymbols('x y z')[:dimension]
    if shape == 'lagrange':
        v = [x.diff(t) for x in q]
    else:
        v = dynamicsymbols('v_x v_y v_z')[:dimension]
    a = [x.diff(t) for x in v]
    hol = hol(q) if hol else []
    vel = vel(q, v) if vel else []
    acc = acc(q, v, a) if acc else []
    if shape == 'lagrange':
        L = m*sum(x**2 for x in v)/2 - m*g*q[-1]
        args = (L, q)
        kwargs = {'hol_coneqs': hol, 'nonhol_coneqs': vel}
        reference = Reference.lagrange(L, q, hol, vel, acc)
    else:
        N = ReferenceFrame('N')
        axes = (N.x, N.y, N.z)
        O, P = Point('O'), Point('P')
        O.set_vel(N, 0)
        P.set_pos(O, sum((x*e for x, e in zip(q, axes)), start=0*N.x))
        P.set_vel(N, sum((x*e for x, e in zip(v, axes)), start=0*N.x))
        bodies = [Particle('bob', P, m)]
        loads = [(P, -m*g*axes[dimension - 1])]
        kd_eqs = [x.diff(t) - y for x, y in zip(q, v)]
        args = (N, q, v, kd_eqs)
        kwargs = {'configuration_constraints': hol,
                  'velocity_constraints': vel, 'bodies': bodies,
                  'forcelist': loads}
        reference = Reference.bodies(N, bodies, loads, q, v, kd_eqs, hol,
                                     vel, acc)
    if acc:
        kwargs['acceleration_constraints'] = acc
    kwargs = {key: value for key, value in kwargs.items() if value}
    return Model(tuple(q), tuple(v), args, kwargs, reference)


def circle(q):
    return [(q[0]**2 + q[1]**2 - length**2)/2]


def pendulum_multiplier(model):
    (x, y), (vx, vy) = model.q, model.v
    return m*(g*y - vx**2 - vy**2)/(x**2 + y**2)


def pendulum_acceleration(model, lam):
    (x, y) = model.q
    return Matrix([lam*x/m, lam*y/m - g])


def assert_is(method, model, values, acceleration=None, lam=None, C=None):
    """The method against the closed form and the 50-digit solve; ``lam``
    only where it is unique."""
    M, F, A, b = model.reference.matrices(values)
    with mp.workdps(70):
        applied = F + at(C, values) if C is not None else F
        exact = solve(M, applied, A, b)
        forces = M*exact.acceleration - F
    found = at(method.acceleration, values)
    assert close(found, exact.acceleration)
    assert close(at(method.constraint_forces, values), forces, scale=norm(F))
    if acceleration is not None:
        assert close(found, at(acceleration, values))
    if lam is not None:
        assert close(at(method.multipliers, values), at(lam, values))


# U-1 to U-9: the ready models, whose known answers tests/models checks

READY = ('cartesian_pendulum', 'duplicated_rows', 'parallel_cranks',
         'coupler_on_cranks', 'massless_coordinate', 'bead_on_circle',
         'constant_speed_particle', 'appell_hamel', 'acceleration_level',
         'chaplygin_sleigh')


@cache
def solved(name):
    """A ready model, numbers at a state, and what is right there."""
    made = MODELS[name]()
    reference = ready.reference(made)
    values = ready.Admissible(made, reference)(1)
    return made, reference, values, reference.solve(values)


@solvers
@pytest.mark.parametrize('name', READY)
def test_ready_models(name, solver):
    made, reference, values, exact = solved(name)
    method = made.form(UdwadiaKalabaMethod, solver=solver)
    if (name, solver) == ('massless_coordinate', 'schur'):
        with pytest.raises(MissingIngredientError, match='Schur complement'):
            method.acceleration
        return
    order = [list(reference.u).index(u) for u in method.u]
    assert close(at(method.acceleration, values),
                 [exact.acceleration[i] for i in order], scale=1)
    assert len(method.independent_rows) == exact.rank
    if name == 'bead_on_circle':        # its forces are those of U-5
        return
    assert close(at(method.constraint_forces, values),
                 [exact.forces[i] for i in order], scale=1)
    lam = at(method.multipliers, values)
    if len(lam) == len(exact.lam) and (
            solver == 'pinv' or exact.rank == len(lam)):
        assert close(lam, exact.lam, scale=1)       # of least norm


# U-1


@pytest.mark.parametrize('shape', SHAPES)
def test_pendulum_symbolically(shape):
    model = particle(shape, hol=circle)
    method = model.method()
    lam = pendulum_multiplier(model)
    assert simplify(method.multipliers[0] - lam) == 0
    assert simplify(method.acceleration
                    - pendulum_acceleration(model, lam)) == Matrix([0, 0])


# U-2


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['schur', 'kkt'])
def test_multiplier_of_a_dropped_row_is_zero(shape, solver):
    model = particle(shape, hol=lambda q: [*circle(q), 3*circle(q)[0]])
    method = model.method(solver=solver)
    [kept] = method.independent_rows
    lam = [0, 0]
    lam[kept] = pendulum_multiplier(model)/(1, 3)[kept]
    assert method.multipliers[1 - kept] == 0
    values = model.point(1)
    assert close(at(method.multipliers, values), at(Matrix(lam), values))


def contradiction(shape):
    """phi'' = 0 and 3 phi'' = delta: b = (b0, 3 b0 + delta)."""
    delta = symbols('delta')

    def twice(q, v, a):
        return [3*(q[0]*a[0] + q[1]*a[1] + v[0]**2 + v[1]**2) - delta]
    return particle(shape, hol=circle, acc=twice)


@pytest.mark.parametrize('shape', SHAPES)
def test_contradicting_rows_are_an_error(shape):
    model = contradiction(shape)
    with pytest.raises(InconsistentConstraintsError) as error:
        model.method().acceleration
    assert isinstance(error.value, ConstrainedDynamicsError)
    with pytest.raises(InconsistentConstraintsError):
        model.method().rhs()
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('solver', ['auto', 'pinv'])
def test_contradicting_rows_by_least_squares(shape, solver):
    model = contradiction(shape)
    delta = symbols('delta')
    method = model.method(inconsistent='least-squares', solver=solver)
    (x, y), (vx, vy) = model.q, model.v
    b0 = -vx**2 - vy**2
    lam = m*(b0 + 3*delta/10 + g*y)/(x**2 + y**2)
    values = model.point(1, delta=Rational(17, 10))
    exact = model.reference.solve(values)
    found = at(method.acceleration, values)
    assert close(found, at(pendulum_acceleration(model, lam), values))
    assert close(found, exact.acceleration)
    assert exact.inconsistency > 0.1


# U-5


def test_nonideal_forces_given_as_loads():
    kappa = symbols('kappa')
    model = particle('kane', hol=circle)
    N, P = model.args[0], model.kwargs['bodies'][0].point
    drag = [(P, -kappa*(model.v[0]*N.x + model.v[1]*N.y))]
    method = model.method(nonideal_forces=drag)
    values = model.point(1, kappa=Rational(2, 7))
    C = -kappa*Matrix(model.v)
    assert_is(method, model, values, C=C)
    assert close(at(method.nonideal_constraint_forces, values), at(C, values))


# A weight


def test_a_weight_needs_mass_in_all_directions():
    x, y = dynamicsymbols('x y')
    method = UdwadiaKalabaMethod(
        m*x.diff(t)**2/2, [x, y], nonhol_coneqs=[x.diff(t) - y.diff(t)],
        weight=diag(1, 2))
    with pytest.raises(ConstrainedDynamicsError, match=(
            'regular mass matrix and a positive definite weight, and one of '
            'them is not. Give mass to every direction')):
        method.acceleration


@solvers
def test_a_weight_that_is_seen_too_late_not_to_be_definite(solver):
    x, y = dynamicsymbols('x y')
    k = symbols('k')                    # of unknown sign
    method = UdwadiaKalabaMethod(
        m*(x.diff(t)**2 + y.diff(t)**2)/2, [x, y], weight=diag(k, -k),
        nonhol_coneqs=[x.diff(t) - y.diff(t)], solver=solver)
    with pytest.raises(MissingIngredientError, match=(
            'positive definite weight, and one of them is not.*correct `wei')):
        method.acceleration
