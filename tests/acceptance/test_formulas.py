"""The identities of section 7 of the theory page, each as a number.

The left side is what the class returns, the right side is computed here with
mpmath at 50 digits from M, F, A, b of :mod:`kkt`.
"""
from dataclasses import dataclass
from random import Random

import pytest
from mpmath import mp
from sympy import Matrix, Rational, cos, sin, symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from kkt import Reference, at, close, norm, pinv, solve, t
from laws.mechanism import NUMBERS
from laws.models import SMALL
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import ConstrainedDynamicsError

g = symbols('g', positive=True)


@dataclass
class Case:
    args: tuple
    kwargs: dict
    reference: Reference
    constants: dict
    guess: dict

    def method(self, **options):
        return UdwadiaKalabaMethod(*self.args, **{**self.kwargs, **options})

    def point(self, seed, **more):
        more = {symbols(name): value for name, value in more.items()}
        return self.reference.admissible({**self.constants, **more}, seed,
                                         self.guess)


def arm(redundant=False):
    """A cart with a double pendulum: the tip on a moving line, and a linear
    velocity row that cannot be integrated; M is full."""
    x, a, c = q = dynamicsymbols('x a c')
    v = [e.diff(t) for e in q]
    m0, m1, m2, l1, l2, speed = symbols('m0 m1 m2 l1 l2 w', positive=True)
    first = Matrix([x + l1*sin(a), -l1*cos(a)])
    second = first + Matrix([l2*sin(c), -l2*cos(c)])
    L = m0*v[0]**2/2 - g*(m1*first[1] + m2*second[1])
    L += m1*first.diff(t).dot(first.diff(t))/2
    L += m2*second.diff(t).dot(second.diff(t))/2
    L = L.expand()
    tip = second[1] - second[0]/3 + l1 - speed*t/5
    row = v[0]*cos(c) + v[1]*l1*sin(x) - v[2]*l2/2 - speed
    hol, vel = [tip], [row]
    if redundant:
        hol, vel = [tip, -2*tip], [row, row/3 + tip.diff(t)]
    constants = dict(zip((m0, m1, m2, l1, l2, speed, g), map(Rational, (
        '2', '3/2', '4/5', '1', '6/5', '1/3', '981/100'))))
    return Case((L, list(q)), {'hol_coneqs': hol, 'nonhol_coneqs': vel},
                Reference.lagrange(L, q, hol, vel), constants, {})


def massless():
    """A massless point between springs, of the laws; M is singular."""
    one = SMALL['massless']()
    return Case((one.L, list(one.q)), {'hol_coneqs': list(one.hol)},
                one.reference, {**NUMBERS, **one.constants}, {})


CASES = {'full': arm, 'redundant': lambda: arm(True), 'singular': massless}
regular = pytest.mark.parametrize('name', ['full', 'redundant'])
every = pytest.mark.parametrize('name', sorted(CASES))


def random_null_vector(A, seed):
    """v with A v = 0."""
    random = Random(seed)
    v = mp.matrix([mp.mpf(random.randint(-999, 999))/250
                   for _ in range(A.cols)])
    return v - pinv(A)*(A*v)


pytestmark = pytest.mark.usefixtures('digits')


# (U4)

@every
def test_multiplier_system(name):
    case = CASES[name]()
    method = case.method()
    values = case.point(1)
    M, F, A, b = case.reference.matrices(values)
    o, m = M.rows, A.rows
    K = at(method.equations_of_motion.W, values)
    right = at(method.equations_of_motion.r, values)
    assert (K.rows, K.cols, right.rows) == (o + m, o + m, o + m)
    assert close(K[:o, :o], M)
    assert close(K[:o, o:], -A.T)
    assert close(K[o:, :o], A)
    assert norm(K[o:, o:]) == 0
    assert close(right[:o, 0], F)
    assert close(right[o:, 0], b)
    z = mp.matrix([*at(method.acceleration, values),
                   *at(method.multipliers, values)])
    assert close(K*z, right)


@pytest.mark.parametrize('level', ['hol_coneqs', 'nonhol_coneqs'])
@pytest.mark.parametrize('angle', [Rational(1, 20), Rational(1, 10**6)])
def test_nearly_parallel_rows_are_two_rows(level, angle):
    x, y = q = dynamicsymbols('x y')
    vx, vy = (e.diff(t) for e in q)
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
    case = CASES[name]()
    x, a, c = case.reference.q
    vx, va, vc = case.reference.u
    mu = symbols('mu')
    C = Matrix([-mu*vx + sin(a), x*va, mu**2*vc**2 - 3])
    method = case.method(nonideal_forces=C)
    ideal = case.method()
    values = case.point(1, mu=Rational(3, 7))
    M, F, A, b = case.reference.matrices(values)
    c = at(C, values)
    S = pinv(A*mp.inverse(M)*A.T)
    lam = S*(b - A*mp.lu_solve(M, F))
    Qi = A.T*lam
    Qni = c - A.T*(S*(A*mp.lu_solve(M, c)))
    assert close(at(method.ideal_constraint_forces, values), Qi)
    assert close(at(method.nonideal_constraint_forces, values), Qni)
    assert close(at(method.constraint_forces, values), Qi + Qni)
    acceleration = at(method.acceleration, values)
    assert close(acceleration, solve(M, F + c, A, b).acceleration)
    assert close(M*acceleration - F, Qi + Qni)
    assert close(at(ideal.constraint_forces, values), Qi)
    assert norm(at(ideal.nonideal_constraint_forces, values)) == 0
    v = random_null_vector(A, 1)
    work = (v.T*at(method.constraint_forces, values))[0]
    assert close([work], [(v.T*c)[0]])
    assert abs((v.T*at(method.ideal_constraint_forces, values))[0]) < (1e-50)


@regular
def test_multipliers_of_a_nonideal_system_are_those_of_its_motion(name):
    """M u' = F + C + A^T lam, so that Q_c = C + A^T lam."""
    case = CASES[name]()
    C = Matrix([1, -2, 3])
    method = case.method(nonideal_forces=C)
    values = case.point(1)
    M, F, A, b = case.reference.matrices(values)
    c = at(C, values)
    exact = solve(M, F + c, A, b)
    lam = at(method.multipliers, values)
    assert close(A.T*lam, exact.forces)
    assert close(lam, exact.lam)
    assert close(at(method.constraint_forces, values), c + A.T*lam)
    z = mp.matrix([*at(method.acceleration, values), *lam])
    assert close(at(method.equations_of_motion.W, values)*z,
                 at(method.equations_of_motion.r, values))


# (U8)

@regular
def test_weight_of_a_servo_constraint(name):
    """The control of least f^T W f, and nothing smaller does the job."""
    case = CASES[name]()
    x = case.reference.q[0]
    W = Matrix([[2, x, 0], [x, x**2 + 1, Rational(-1, 3)],
                [0, Rational(-1, 3), Rational(1, 2)]])
    method = case.method(weight=W)
    values = case.point(1)
    M, F, A, b = case.reference.matrices(values)
    w = at(W, values)
    a = mp.lu_solve(M, F)
    D = A*mp.inverse(M)
    inverse = mp.inverse(w)
    f = inverse*D.T*(pinv(D*inverse*D.T)*(b - A*a))
    found = at(method.constraint_forces, values)
    assert close(found, f)
    acceleration = at(method.acceleration, values)
    assert close(acceleration, a + mp.lu_solve(M, f))
    assert close(A*acceleration, b)
    ideal = case.reference.solve(values)
    assert not close(f, ideal.forces, rtol=1e-3)

    def cost(force):
        return (force.T*w*force)[0]
    other = found + M*random_null_vector(A, 1)
    assert cost(found) < cost(other)
    assert cost(found) < cost(ideal.forces)


# Gauss

@every
def test_gauss_function_is_least_at_the_motion(name):
    case = CASES[name]()
    method = case.method()
    du = [u.diff(t) for u in method.u]
    if name == 'singular':
        # a = M^-1 F does not exist, so neither does Gauss' function
        with pytest.raises(ConstrainedDynamicsError):
            method.gauss_function
        return
    values = case.point(1)
    M, F, A, b = case.reference.matrices(values)

    def gauss(w):
        return at(method.gauss_function, {**values, **dict(zip(du, w))})[0]
    motion = at(method.acceleration, values)
    least = gauss(motion)
    free = motion - mp.lu_solve(M, F)
    assert close([least], [(free.T*M*free)[0]/2])
    for i in range(10):
        v = random_null_vector(A, 100*1 + i)
        assert norm(A*(motion + v) - b) < 1e-50
        assert gauss(motion + v) > least
        assert close([gauss(motion + v) - least], [(v.T*M*v)[0]/2])


# 7.8

def plate():
    """A plate on a plane with a knife edge at P and its spin prescribed."""
    x, y, theta = q = dynamicsymbols('x y theta')
    u1, u2, u3 = u = dynamicsymbols('u1:4')
    a, J, m, spin = symbols('a J m spin', positive=True)
    N = ReferenceFrame('N')
    B = N.orientnew('B', 'Axis', (theta, N.z))
    B.set_ang_vel(N, u3*N.z)
    O, P = Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, x*N.x + y*N.y)
    P.set_vel(N, u1*N.x + u2*N.y)
    G = P.locatenew('G', a*B.x)
    G.v2pt_theory(P, N, B)
    bodies = [RigidBody('plate', G, B, m, (inertia(B, 0, 0, J), G))]
    loads = [(G, -m*g*N.y)]
    kd_eqs = [e.diff(t) - f for e, f in zip(q, u)]
    constants = dict(zip((a, J, m, spin, g), map(Rational, (
        '2/5', '11/10', '7/5', '3/2', '981/100'))))
    edge = P.vel(N).dot(B.y)
    drive = u3 - spin*sin(t)
    reference = Reference.bodies(N, bodies, loads, q, u, kd_eqs,
                                 vel=[edge, drive])
    geometric = [(P, B.y), (B, N.z, spin*sin(t))]
    kane = Case((N, q, u, kd_eqs), {'bodies': bodies, 'forcelist': loads},
                reference, constants, {})
    return kane, (N, B, P, G), geometric, [edge, drive]


def test_constraint_loads():
    case, (N, B, P, G), geometric, _ = plate()
    method = case.method(velocity_constraints=geometric)
    (where, force), (frame, torque) = method.constraint_loads()
    assert where is P and frame is B
    values = case.point(1)
    side, spin = case.reference.solve(values).lam
    along = [force.dot(e) for e in (B.x, B.y, B.z)]
    assert close(at(Matrix(along), values), [0, side, 0])
    about = [torque.dot(e) for e in (B.x, B.y, B.z)]
    assert close(at(Matrix(about), values), [0, 0, spin])
    # their generalized force is the constraint force
    u = method.u
    partial = Matrix([P.vel(N).diff(e, N).dot(force)
                      + B.ang_vel_in(N).diff(e, N).dot(torque)
                      for e in u])
    assert close(at(partial, values), at(method.constraint_forces, values))
