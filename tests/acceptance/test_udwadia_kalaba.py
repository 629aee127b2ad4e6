"""The cases U-1 to U-9 of the theory page, in closed form and against a
50-digit solve of the multiplier system.

Most of them are ready models, whose closed forms tests/models checks.
"""
from functools import cache

import pytest
from sympy import Matrix, Rational, diag, symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, dynamicsymbols)

import ready
from kkt import at, close, t
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstrainedDynamicsError, InconsistentConstraintsError,
    MissingIngredientError)
from sympy_constrained.models import MODELS

g, k, m, alpha, beta = symbols('g k m alpha beta', positive=True)
length = symbols('l', positive=True)


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


@pytest.mark.parametrize('name', READY)
def test_ready_models(name):
    made, reference, values, exact = solved(name)
    method = made.form(UdwadiaKalabaMethod)
    order = [list(reference.u).index(u) for u in method.u]
    assert close(at(method.acceleration, values),
                 [exact.acceleration[i] for i in order], scale=1)
    assert len(method.independent_rows) == exact.rank
    if name == 'bead_on_circle':        # its forces are those of U-5
        return
    assert close(at(method.constraint_forces, values),
                 [exact.forces[i] for i in order], scale=1)
    lam = at(method.multipliers, values)
    if len(lam) == len(exact.lam):
        assert close(lam, exact.lam, scale=1)       # of least norm


# U-2

X, Y = dynamicsymbols('x y')
VX, VY = X.diff(t), Y.diff(t)
CIRCLE = (X**2 + Y**2 - length**2)/2
POINT = {m: Rational(7, 5), g: Rational(981, 100), X: Rational(3, 5),
         Y: Rational(-4, 5), VX: 4, VY: 3}


def pendulum(rows=(CIRCLE,), **options):
    return UdwadiaKalabaMethod(m*(VX**2 + VY**2)/2 - m*g*Y, [X, Y],
                               hol_coneqs=list(rows), **options)


def pendulum_acceleration(lam):
    return Matrix([lam*X/m, lam*Y/m - g])


def contradiction(**options):
    """phi'' = 0 and 3 phi'' = delta: b = (b0, 3 b0 + delta)."""
    twice = 3*CIRCLE.diff(t, 2) - symbols('delta')
    return pendulum(acceleration_constraints=[twice], **options)


def test_contradicting_rows_are_an_error():
    for read in (lambda method: method.acceleration,
                 lambda method: method.rhs()):
        with pytest.raises(InconsistentConstraintsError) as error:
            read(contradiction())
    assert isinstance(error.value, ConstrainedDynamicsError)
    assert isinstance(error.value, ValueError)


def test_contradicting_rows_by_least_squares():
    delta = symbols('delta')
    method = contradiction(inconsistent='least-squares')
    lam = m*(3*delta/10 + g*Y - VX**2 - VY**2)/(X**2 + Y**2)
    values = {**POINT, delta: Rational(17, 10)}
    assert close(at(method.acceleration, values),
                 at(pendulum_acceleration(lam), values))


# U-5

def test_nonideal_forces_given_as_loads():
    kappa, (vx, vy) = symbols('kappa'), dynamicsymbols('v_x v_y')
    N, O, P = ReferenceFrame('N'), Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, X*N.x + Y*N.y)
    P.set_vel(N, vx*N.x + vy*N.y)
    method = UdwadiaKalabaMethod(
        N, [X, Y], [vx, vy], [VX - vx, VY - vy],
        bodies=[Particle('bob', P, m)], forcelist=[(P, -m*g*N.y)],
        configuration_constraints=[CIRCLE],
        nonideal_forces=[(P, -kappa*P.vel(N))])
    values = {**POINT, kappa: Rational(2, 7), vx: 4, vy: 3}
    # C is along the circle here, so none of it is a reaction
    lam = m*(g*Y - vx**2 - vy**2)/(X**2 + Y**2)
    C = -kappa*Matrix([vx, vy])
    assert close(at(method.acceleration, values),
                 at(pendulum_acceleration(lam) + C/m, values))
    assert close(at(method.nonideal_constraint_forces, values), at(C, values))
    assert close(at(method.constraint_forces, values),
                 at(lam*Matrix([X, Y]) + C, values))


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


def test_a_weight_that_is_seen_too_late_not_to_be_definite():
    x, y = dynamicsymbols('x y')
    k = symbols('k')                    # of unknown sign
    method = UdwadiaKalabaMethod(
        m*(x.diff(t)**2 + y.diff(t)**2)/2, [x, y], weight=diag(k, -k),
        nonhol_coneqs=[x.diff(t) - y.diff(t)])
    with pytest.raises(MissingIngredientError, match=(
            'positive definite weight, and one of them is not.*correct `wei')):
        method.acceleration
