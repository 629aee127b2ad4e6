"""The identities of section 7 of the theory page, each as a number.

The left side is what the class returns, the right side is computed here with
mpmath at 50 digits from M, F, A, b of :mod:`kkt`.
"""
from dataclasses import replace
from random import Random

import pytest
from mpmath import mp
from sympy import Matrix, Rational, diag, eye, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from kkt import at, close, norm, pinv, solve, t
from laws.models import made
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstrainedDynamicsError, MissingIngredientError)

regular = pytest.mark.parametrize('name', ['mixed_rows', 'parallel_cranks'])
every = pytest.mark.parametrize('name', [
    'mixed_rows', 'parallel_cranks', 'massless'])


def formed(name, **options):
    return made(name).form(UdwadiaKalabaMethod, **options)


def random_null_vector(A, seed):
    """v with A v = 0."""
    random = Random(seed)
    v = mp.matrix([mp.mpf(random.randint(-999, 999))/250
                   for _ in range(A.cols)])
    return v - pinv(A)*(A*v)


pytestmark = pytest.mark.usefixtures('digits')


# Rows

@pytest.mark.parametrize('level', ['hol_coneqs', 'nonhol_coneqs'])
@pytest.mark.parametrize('angle', [Rational(1, 20), Rational(1, 10**6)])
def test_nearly_parallel_rows_are_two_rows(level, angle):
    x, y = q = dynamicsymbols('x y')
    vx, vy = (e.diff(t) for e in q)
    g = symbols('g')
    a, b = (x, y) if level == 'hol_coneqs' else (vx, vy)
    rows = [a - 1, a + angle*b - 2]
    method = UdwadiaKalabaMethod((vx**2 + vy**2)/2 - g*x - y, q,
                                 **{level: rows})
    assert len(method.independent_rows) == 2
    assert method.acceleration == Matrix([0, 0])
    assert method.multipliers.expand() == Matrix([g - 1/angle, 1/angle])


# (U5)

@regular
def test_nonideal_split_and_power(name):
    """``M u' = F + C + A^T lam``, so that ``Q_c = C + A^T lam``."""
    one = made(name)
    x, y, *_ = one.q
    vx, vy, *others = one.u
    C = Matrix([-vx*3/7 + sin(y), x*vy, *(v**2 - 3 for v in others)])
    method, ideal = formed(name, nonideal_forces=C), formed(name)
    values = one.point(1)
    M, F, A, b = one.reference.matrices(values)
    c = at(C, values)
    S = pinv(A*mp.inverse(M)*A.T)
    Qi = A.T*(S*(b - A*mp.lu_solve(M, F)))
    Qni = c - A.T*(S*(A*mp.lu_solve(M, c)))
    assert close(at(method.ideal_constraint_forces, values), Qi)
    assert close(at(method.nonideal_constraint_forces, values), Qni)
    assert close(at(method.constraint_forces, values), Qi + Qni)
    exact = solve(M, F + c, A, b)
    assert close(at(method.acceleration, values), exact.acceleration)
    assert close(at(method.multipliers, values), exact.lam)
    assert close(at(ideal.constraint_forces, values), Qi)
    assert norm(at(ideal.nonideal_constraint_forces, values)) == 0


# (U8)

@regular
def test_weight_of_a_servo_constraint(name):
    """The control of least f^T W f, and nothing smaller does the job."""
    one = made(name)
    x = one.q[0]
    W = 2*eye(len(one.q))
    W[0, 0] += x**2
    W[0, 1] = W[1, 0] = x/2
    method, values = formed(name, weight=W), one.point(1)
    M, F, A, b = one.reference.matrices(values)
    w = at(W, values)
    a = mp.lu_solve(M, F)
    D = A*mp.inverse(M)
    inverse = mp.inverse(w)
    f = inverse*D.T*(pinv(D*inverse*D.T)*(b - A*a))
    found = at(method.constraint_forces, values)
    assert close(found, f)
    assert close(at(method.acceleration, values), a + mp.lu_solve(M, f))

    def cost(force):
        return (force.T*w*force)[0]
    assert cost(found) < cost(found + M*random_null_vector(A, 1))


def test_a_weight_needs_mass_in_all_directions():
    x, y = dynamicsymbols('x y')
    method = UdwadiaKalabaMethod(
        x.diff(t)**2/2, [x, y], nonhol_coneqs=[x.diff(t) - y.diff(t)],
        weight=diag(1, 2))
    with pytest.raises(ConstrainedDynamicsError, match=(
            'regular mass matrix and a positive definite weight, and one of '
            'them is not. Give mass to every direction')):
        method.acceleration


def test_a_weight_that_is_seen_too_late_not_to_be_definite():
    x, y = dynamicsymbols('x y')
    k = symbols('k')                    # of unknown sign
    method = UdwadiaKalabaMethod(
        (x.diff(t)**2 + y.diff(t)**2)/2, [x, y], weight=diag(k, -k),
        nonhol_coneqs=[x.diff(t) - y.diff(t)])
    with pytest.raises(MissingIngredientError, match=(
            'positive definite weight, and one of them is not.*correct `wei')):
        method.acceleration


# Rows that contradict each other

def test_contradicting_rows_by_least_squares():
    """``phi'' = 0`` and ``3 phi'' = delta`` are ``phi'' = 3 delta/10``."""
    one, delta = made('pendulum'), symbols('delta')
    row, = one.hol
    acc = 3*row.diff(t, 2) - delta
    method = replace(one, acc=(acc,)).form(
        UdwadiaKalabaMethod, inconsistent='least-squares')
    values = {**one.point(1), delta: mp.mpf(17)/10}
    M, F, A, b = one.reference.matrices(values)
    assert close(at(method.acceleration, values),
                 solve(M, F, A, b + values[delta]*3/10).acceleration)


# Gauss

@every
def test_gauss_function_is_least_at_the_motion(name):
    one, method = made(name), formed(name)
    du = [u.diff(t) for u in method.u]
    if name == 'massless':
        # a = M^-1 F does not exist, so neither does Gauss' function
        with pytest.raises(ConstrainedDynamicsError):
            method.gauss_function
        return
    values = one.point(1)
    M, F, A, b = one.reference.matrices(values)

    def gauss(w):
        return at(method.gauss_function, {**values, **dict(zip(du, w))})[0]
    motion = at(method.acceleration, values)
    least = gauss(motion)
    free = motion - mp.lu_solve(M, F)
    assert close([least], [(free.T*M*free)[0]/2])
    v = random_null_vector(A, 100)
    assert close([gauss(motion + v) - least], [(v.T*M*v)[0]/2])
