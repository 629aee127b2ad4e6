"""Every numbered equation of Zhao, Zhao and Jiang (2017) on Hamel's embedding.

H. Zhao, X. Zhao and J. Jiang, "Study on Hamel's embedding method via the
Udwadia-Kalaba theory", Applied Mathematics and Mechanics (Chinese edition) 38
(2017) 696-707.  The numbers are the paper's, (1) to (90); ``cites`` notes
them, and the last test finds every one of them noted.

Equations (1) to (48) are general.  They are tried on two random models, one
constraint on three coordinates and two on four.  The letters of the paper are
numbers at a state on the constraints, its formulas are written with them as
printed, and what the package returns is evaluated there too, with 50 digits.
Equations (49) to (90) are the six examples, compared as rational functions.

Where the paper errs, a test shows that the printed formula fails and that the
corrected one holds.
"""
import functools
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace

import pytest
from mpmath import mp
from sympy import (
    Expr, Matrix, Rational, cancel, eye, hessian, sin, symbols, sympify,
    zeros)
from sympy.physics.mechanics import dynamicsymbols

from cited import citing
from kkt import Reference, at, close, norm, pinv, rank, t
from sympy_constrained import HamelEmbedding, UdwadiaKalabaMethod

each_model = pytest.mark.parametrize('r', [
    1, pytest.param(2, marks=pytest.mark.slow)])
cites, CITED = citing()


pytestmark = pytest.mark.usefixtures('digits')


# The general model

def random_function(random, q):
    """A small expression in coordinates and time."""
    def fraction():
        return Rational(random.choice([-7, -5, -3, 2, 4, 9]), 12)
    first, second = random.choices(q, k=2)
    return fraction() + fraction()*random.choice([
        sin(first + fraction()*t), first*second, first*t])


def inverse(matrix):
    """Of a 1 x 1 or 2 x 2 matrix; SymPy's own would simplify."""
    if matrix.rows == 1:
        return Matrix([[1/matrix[0]]])
    a, b, c, d = matrix
    return Matrix([[d, -b], [-c, a]])/(a*d - b*c)


def blocks(matrix, r):
    return matrix[:r, :r], matrix[:r, r:], matrix[r:, :r], matrix[r:, r:]


@functools.cache
def model(r):
    """r constraints on r + 2 coordinates: the data of (1), (3) and (6)."""
    n = r + 2
    random = Random(2017 + r)
    q = dynamicsymbols(f'q1:{n + 1}')

    def matrix(rows, columns):
        return Matrix(rows, columns, lambda *_: random_function(random, q)/4)

    dq = Matrix(q).diff(t)
    half = matrix(n, n)
    M = 4*eye(n) + half + half.T
    N, P = matrix(1, n), matrix(1, 1)
    A, c = matrix(r, n), matrix(r, 1)
    A[:, :r] += 2*eye(r)
    Q = matrix(n, 1)
    Q += Matrix([dq[i - 1]*dq[i]/3 - dq[i]/2 for i in range(n)])
    T = dq.T*M*dq/2 + N*dq + P
    # What is differentiated below: (33)-(35), (12), and (5) by substitution
    I1, u = inverse(A[:, :r]), dq[r:, :]
    B, a = I1*A[:, r:], I1*c
    M11, M12, M21, M22 = blocks(M, r)
    N1, N2 = N[:, :r], N[:, r:]
    Psi = B.T*M11*B - B.T*M12 - M21*B + M22
    Phi = -B.T*M11*a + M21*a - B.T*N1.T + N2.T
    W3 = a.T*M11*a/2 + N1*a + P
    g = a - B*u
    return SimpleNamespace(
        q=list(q), dq=dq, u=u, M=M, N=N, P=P, A=A, c=c, Q=Q, T=T,
        rows=A*dq - c, I1=I1, g=g, Psi=Psi, Phi=Phi, W=(Psi/2, Phi.T, W3),
        T_star=T.xreplace(dict(zip(dq, g))))


@functools.cache
def methods(r, wanted=False):
    """Hamel's embedding and the reference, with the forces of the model or,
    if ``wanted``, with the forces on q1 that (E4) asks for."""
    m = model(r)
    Q = m.Q
    if wanted:
        Q = methods(r)[0].embedding.required_force().col_join(Q[r:, :])
    model_of = {'nonhol_coneqs': list(m.rows), 'generalized_forces': list(Q)}
    return (HamelEmbedding(m.T[0], m.q, q_dependent=m.q[:r], **model_of),
            UdwadiaKalabaMethod(m.T[0], m.q, **model_of))


def H(p, F):
    """(29) with the forces F of (16)."""
    return (-p.B.T*F[:p.r, 0] - p.M21*p.I1*p.b + p.B.T*p.M11*p.I1*p.b
            + F[p.r:, 0])


@functools.cache
def letters(r, seed):
    """The letters of the paper as numbers, on the constraints.

    A leading ``d`` is the derivative by time along the motion.  The second
    derivatives of q are the accelerations of an independent reference.
    """
    m = model(r)
    with mp.workdps(70):
        reference = Reference.lagrange(m.T[0], m.q, vel=m.rows, Q=m.Q)
        values = reference.admissible({}, seed)
        exact = reference.solve(values).acceleration
        values.update(zip(m.dq.diff(t), exact))
        p = SimpleNamespace(m=m, r=r, values=values,
                            at=lambda e: at(e, values))
        p.hamel, p.uk = methods(r)

        def shifted(names):
            return {**values, **{x: values[x] + k
                                 for k, x in enumerate(names, start=1)}}

        p.off = shifted(m.dq)           # velocities that violate (3)
        p.other = shifted(m.u.diff(t))  # accelerations of another motion
        p.du = at(m.u.diff(t), p.other)
        given = m.M, m.N, m.A, m.c, m.I1
        for d, matrices in ('', given), ('d', [e.diff(t) for e in given]):
            M, N, A, c, I1 = map(p.at, matrices)
            named = {'M': M, 'N': N, 'N1': N[:, :r], 'N2': N[:, r:], 'A': A,
                     'A1': A[:, :r], 'A2': A[:, r:], 'c': c, 'I1': I1,
                     **dict(zip(('M11', 'M12', 'M21', 'M22'), blocks(M, r)))}
            vars(p).update({d + name: e for name, e in named.items()})
        p.B, p.a = p.I1*p.A2, p.I1*p.c
        p.dB = p.dI1*p.A2 + p.I1*p.dA2
        p.P, p.Q, p.v, p.w = p.at(m.P), p.at(m.Q), p.at(m.dq), exact
        p.T_q, p.T_star_q = (p.at(e.jacobian(m.q).T)    # at fixed q', u
                             for e in (m.T, m.T_star))
        p.b = -p.dA*p.v + p.dc
        p.F = -p.dN.T - p.dM*p.v + p.T_q + p.Q
        p.AMA = p.A*p.M**-1*p.A.T
        p.lam = pinv(p.AMA)*(p.b - p.A*p.M**-1*p.F)
        p.Fc = p.A.T*p.lam
        for name in ('v', 'w', 'Q', 'F', 'Fc', 'T_q', 'T_star_q'):
            column = getattr(p, name)
            setattr(p, name + '1', column[:r, 0])
            setattr(p, name + '2', column[r:, 0])
        p.u = p.v2
        p.Psi = p.B.T*p.M11*p.B - p.B.T*p.M12 - p.M21*p.B + p.M22
        p.Phi = -p.B.T*p.M11*p.a + p.M21*p.a - p.B.T*p.N1.T + p.N2.T
        p.dPsi, p.dPhi = p.at(m.Psi.diff(t)), p.at(m.Phi.diff(t))
        p.G = -p.dPsi*p.u - p.dPhi + p.T_star_q2 + p.Q2
        p.E = p.G - H(p, p.F)
        p.momenta = p.M11*(-p.B*p.u + p.a) + p.M12*p.u + p.N1.T
        p.E_printed = p.B.T*(p.T_star_q1 + p.Q1) + p.dB.T*p.momenta
        g1, g2 = p.at(m.g.jacobian(m.q[:r])), p.at(m.g.jacobian(m.q[r:]))
        p.Gamma = p.dB + g2 - g1*p.B                    # (E2)
        p.lost = (g2 - g1*p.B).T*p.momenta              # (E3)
    return p


def W(p):
    """W1, W2, W3 of (5) as numbers, from the embedded kinetic energy."""
    def value(*ones):
        u = {v: ones.count(i) for i, v in enumerate(p.m.u)}
        return at(p.hamel.embedding.lagrangian, {**p.values, **u})[0]
    size = range(len(p.m.u))
    zero, one = value(), [value(i) for i in size]
    W1 = mp.matrix([[(value(i, j) - one[i] - one[j] + zero)/2 for j in size]
                    for i in size])
    W2 = mp.matrix([[one[i] - zero - W1[i, i] for i in size]])
    return W1, W2, mp.matrix([zero])


# (1)-(48) as printed.  Each entry: the number, then pairs that are equal, what
# the package returns (or the other side) and what the paper prints.  B stands
# for A1^-1 A2, a for A1^-1 c, I1 for A1^-1; v1 for q1', u for q2'; w1, w2 for
# q1'', q2''.

def embedded_kinetic_energy(p):
    B, a, u = p.B, p.a, p.u
    quadratic = (
        u.T*B.T*p.M11*B*u - u.T*B.T*p.M11*a - a.T*p.M11*B*u + a.T*p.M11*a
        - u.T*B.T*p.M12*u + a.T*p.M12*u - u.T*p.M21*B*u + u.T*p.M21*a
        + u.T*p.M22*u)
    return [(p.hamel.embedding.lagrangian,
             quadratic/2 - p.N1*B*u + p.N1*a + p.N2*u + p.P)]


def linear_part(p):
    T = Matrix([p.hamel.embedding.lagrangian])
    return [(T.jacobian(p.m.u).T - p.hamel.mass_matrix*p.m.u, p.Phi)]


def rate_of_Psi(p):
    one, two = p.dI1*p.A2, p.I1*p.dA2
    return [(p.hamel.mass_matrix.diff(t),
             one.T*p.M11*p.B + two.T*p.M11*p.B + p.B.T*p.dM11*p.B
             + p.B.T*p.M11*one + p.B.T*p.M11*two
             - one.T*p.M12 - two.T*p.M12 - p.B.T*p.dM12
             - p.dM21*p.B - p.M21*one - p.M21*two + p.dM22)]


def gradient_from_W(p):
    T = Matrix([p.hamel.embedding.lagrangian])
    rows = []
    for q in p.m.q[:p.r]:
        W1, W2, W3 = (p.at(w.diff(q)) for w in p.m.W)
        rows.append((p.u.T*W1*p.u + W2*p.u + W3)[0])
    return [(T.jacobian(p.m.q[:p.r]).T, mp.matrix(rows))]


AS_PRINTED = {
    1: lambda p: [(p.uk.system.M, p.M),
                  (p.m.T, p.v.T*p.M*p.v/2 + p.N*p.v + p.P)],
    2: lambda p: [(p.m.T, (p.v1.T*p.M11*p.v1 + p.v1.T*p.M12*p.u
                           + p.u.T*p.M21*p.v1 + p.u.T*p.M22*p.u)/2
                   + p.N1*p.v1 + p.N2*p.u + p.P)],
    3: lambda p: [(at(p.hamel.velocity_constraints, p.off),
                   p.A*at(p.m.dq, p.off) - p.c)],
    4: lambda p: [(Matrix([p.hamel.embedding.velocity_map[v]
                           for v in p.m.dq[:p.r, :]]), -p.B*p.u + p.a),
                  (p.hamel.embedding.matrix, p.B),
                  (p.hamel.embedding.vector, p.a)],
    5: embedded_kinetic_energy,
    6: lambda p: [(p.hamel.embedding.forces, p.Q2),
                  (p.hamel.embedding.dropped_forces, p.Q1)],
    7: lambda p: [(at(p.hamel.eom, p.other),
                   at(p.m.T_star.jacobian(p.m.u).T.diff(t), p.other)
                   - p.T_star_q2 - p.Q2)],
    8: lambda p: [(p.u.T*p.B.T*p.M12*p.u, p.u.T*p.M21*p.B*p.u)],
    9: lambda p: [(at(p.hamel.eom, p.other),
                   p.Psi*p.du - p.G)],
    10: lambda p: [(p.hamel.mass_matrix, p.B.T*p.M11*p.B - p.B.T*p.M12
                    - p.M21*p.B + p.M22)],
    11: lambda p: [(p.hamel.forcing, -p.dPsi*p.u - p.dPhi + p.T_star_q2
                    + p.Q2)],
    12: linear_part,
    13: lambda p: [(p.uk.system.A, p.A),
                   (p.A*p.at(p.uk.acceleration), p.b)],
    14: lambda p: [(p.uk.system.b, -p.dA*p.v + p.dc)],
    15: lambda p: [(p.M*p.at(p.uk.acceleration), p.F + p.A.T*pinv(p.AMA)
                    * (p.b - p.A*p.M**-1*p.F))],
    16: lambda p: [(p.uk.system.Q,
                    -p.dN.T - p.dM*p.v + p.T_q + p.Q)],
    17: lambda p: [(p.uk.constraint_forces, p.A.T*pinv(p.AMA)
                    * (p.b - p.A*p.M**-1*p.F))],
    18: lambda p: [(p.M*p.at(p.uk.acceleration),
                    p.at(p.uk.system.Q)
                    + p.at(p.uk.constraint_forces))],
    19: lambda p: [(p.M11*p.w1 + p.M12*p.w2, p.F1 + p.Fc1)],
    20: lambda p: [(p.M21*p.w1 + p.M22*p.w2, p.F2 + p.Fc2)],
    21: lambda p: [(p.A1*p.w1 + p.A2*p.w2, p.b)],
    22: lambda p: [(p.w1, -p.B*p.w2 + p.I1*p.b)],
    23: lambda p: [(p.M11*(-p.B*p.w2 + p.I1*p.b) + p.M12*p.w2,
                    p.F1 + p.Fc1)],
    24: lambda p: [(p.M21*(-p.B*p.w2 + p.I1*p.b) + p.M22*p.w2,
                    p.F2 + p.Fc2)],
    25: lambda p: [(p.Psi*p.w2, p.B.T*p.M11*p.I1*p.b - p.M21*p.I1*p.b
                    - p.B.T*(p.F1 + p.Fc1) + (p.F2 + p.Fc2))],
    26: lambda p: [(p.uk.constraint_forces[:p.r, :], p.A1.T*p.lam),
                   (p.uk.constraint_forces[p.r:, :], p.A2.T*p.lam)],
    27: lambda p: [(p.Fc2, p.B.T*p.Fc1)],
    28: lambda p: [((p.B.T*p.M11*p.B - p.B.T*p.M12 + p.M21*(-p.B)
                     + p.M22)*p.w2,
                    -p.B.T*p.F1 - p.M21*p.I1*p.b + p.B.T*p.M11*p.I1*p.b
                    + p.F2)],
    29: lambda p: [(p.hamel.corrected.forcing, H(p, p.F))],
    30: lambda p: [(at(p.hamel.corrected.eom, p.other),
                    p.Psi*p.du - H(p, p.F)),
                   (p.Psi*p.at(p.uk.acceleration)[p.r:, 0], H(p, p.F))],
    33: lambda p: [(W(p)[0], p.Psi/2)],
    35: lambda p: [(W(p)[2], p.a.T*p.M11*p.a/2 + p.N1*p.a + p.P)],
    37: lambda p: [(p.hamel.embedding.discrepancy, p.at(p.hamel.forcing)
                    - p.at(p.hamel.corrected.forcing))],
    38: lambda p: [(p.hamel.embedding.discrepancy,
                    -p.dPsi*p.u - p.dPhi + p.T_star_q2 + p.Q2
                    + p.B.T*p.F1 + p.M21*p.I1*p.b
                    - p.B.T*p.M11*p.I1*p.b - p.F2)],
    39: rate_of_Psi,
    41: lambda p: [(p.uk.system.Q[:p.r, :], -p.dN1.T
                    - p.dM11*p.v1 - p.dM12*p.u + p.T_q1 + p.Q1)],
    42: lambda p: [(p.uk.system.Q[p.r:, :], -p.dN2.T
                    - p.dM21*p.v1 - p.dM22*p.u + p.T_q2 + p.Q2)],
    44: gradient_from_W}


@cites(*AS_PRINTED)
@each_model
@pytest.mark.parametrize('number', AS_PRINTED, ids='({})'.format)
def test_holds_as_printed(number, r):
    p = letters(r, 1)
    for ours, printed in AS_PRINTED[number](p):
        if not isinstance(ours, mp.matrix):
            ours = p.at(ours)
        assert close(ours, printed)
        assert norm(printed) > 1e-6         # a statement about something


# (31)-(48): errata

@cites(32, 43)
@each_model
def test_printed_discrepancy_lacks_a_term(r):
    """E = B^T (dT*/dq1 + Q1) + Gamma^T p1, where the paper has the rate of B
    in place of Gamma = B' + dg/dq2 - (dg/dq1) B."""
    p = letters(r, 1)
    E = p.at(p.hamel.embedding.discrepancy)
    assert close(p.at(p.hamel.embedding.paper_discrepancy), p.E_printed)
    assert close(E, p.E) and not close(E, p.E_printed, 1e-3)
    assert close(E, p.E_printed + p.lost)
    assert close(p.at(p.hamel.embedding.neglected_row),
                 p.B.T*(p.T_star_q1 + p.Q1))
    assert close(p.at(p.hamel.embedding.curvature), p.Gamma)
    assert close(p.at(p.hamel.embedding.momenta), p.momenta)
    assert close(p.at(p.hamel.embedding.curvature_force), p.Gamma.T*p.momenta)


@cites(34)
@each_model
def test_linear_coefficient_needs_a_transpose(r):
    p = letters(r, 1)
    corrected = (-p.a.T*p.M11*p.B + p.a.T*p.M12 - p.N1*p.B + p.N2)
    assert close(W(p)[1], corrected)
    if r > 1:                   # as printed the factors have no product
        with pytest.raises(ValueError, match='dimensions'):
            p.a*p.M11*p.B


@cites(40)
@each_model
def test_rate_of_Phi_has_twelve_terms(r):
    """The paper has a fourth term with M21 and a fourth with N1."""
    p = letters(r, 1)
    one, two = p.dI1*p.A2, p.I1*p.dA2
    with_M21 = [p.dM21*p.a, p.M21*p.dI1*p.c, p.M21*p.I1*p.dc]
    with_N1 = [-one.T*p.N1.T, -two.T*p.N1.T, -p.B.T*p.dN1.T]
    rate = (-one.T*p.M11*p.a - two.T*p.M11*p.a - p.B.T*p.dM11*p.a
            - p.B.T*p.M11*p.dI1*p.c - p.B.T*p.M11*p.I1*p.dc
            + sum(with_M21[1:], with_M21[0])
            + sum(with_N1[1:], with_N1[0]) + p.dN2.T)
    assert close(p.dPhi, rate)
    for term in with_M21:
        for repeated in with_N1:
            assert not close(p.dPhi, rate + term + repeated, 1e-6)


@cites(45, 46, 47, 48)
def test_printed_force_repairs_the_printed_discrepancy_only():
    """With two constraints and two independent coordinates B is square, and
    the K of Theorem 2 exists."""
    p = letters(2, 1)
    K = p.B.T**-1*p.dB.T
    g = -p.B*p.u + p.a
    printed = (-p.T_star_q1 - K*p.M12*p.u - K*p.N1.T
               - K*p.M11*g)                                     # (45)
    brace = p.T_star_q1 + K*p.M12*p.u + K*p.N1.T + K*p.M11*g
    in_parts = (p.B.T*p.T_star_q1 + p.B.T*K*p.M12*p.u + p.B.T*K*p.N1.T
                + p.B.T*p.Q1 + p.B.T*K*p.M11*g)                 # (46)
    assert close(p.at(p.hamel.embedding.paper_discrepancy), in_parts)
    assert close(in_parts, p.B.T*(brace + p.Q1))                # (47)
    assert norm(brace + printed) < 1e-50                        # (48)
    # what is left of E, and the force that leaves nothing
    left = p.E + p.B.T*(printed - p.Q1)
    assert close(left, p.lost) and norm(left) > 1e-3
    corrected = -p.T_star_q1 - p.B.T**-1*p.Gamma.T*p.momenta
    assert norm(p.E + p.B.T*(corrected - p.Q1)) < 1e-50
    assert close(p.at(p.hamel.embedding.required_force()), corrected)


@cites(31, 36)
def test_embedding_is_right_where_the_discrepancy_vanishes():
    """Theorem 1 with the corrected E; with the printed one it is not
    necessary."""
    right, reference = methods(2, wanted=True)
    wrong, forces = methods(2)
    values = letters(2, 1).values
    assert norm(at(right.embedding.discrepancy, values)
                ) < 1e-50          # (31)
    assert close(at(right.forcing, values),
                 at(right.corrected.forcing, values))                # (36)
    motion = at(reference.acceleration, values)[2:, 0]
    assert close(at(right.rhs(), values)[4:, 0], motion)
    assert norm(at(right.embedding.paper_discrepancy, values)) > 1e-3
    motion = at(forces.acceleration, values)[2:, 0]
    assert not close(at(wrong.rhs(), values)[4:, 0], motion, 1e-3)
    assert right.validity.holds is True
    assert wrong.validity.holds is False


@cites(45)
def test_theorem_2_asks_for_the_range_of_B():
    """One constraint and two independent coordinates: no force will do."""
    p = letters(1, 1)
    both = mp.matrix(2, 2)
    both[:, 0], both[:, 1] = p.B.T, p.Gamma.T*p.momenta
    assert (rank(p.B.T), rank(both)) == (1, 2)
    assert p.hamel.embedding.required_force() is None


# (49)-(90): the examples

x, y, z = dynamicsymbols('x y z')
dx, dy, dz = (e.diff(t) for e in (x, y, z))
mass = symbols('m', positive=True)
s = dy + dz


@dataclass(frozen=True)
class Example:
    """A particle; ``force`` is Q1 of the paper, ``printed`` its E, and ``E``
    the right one for that force."""

    row: Expr
    A1: Expr
    A2: tuple
    force: Expr
    printed: tuple
    E: tuple
    mass: Expr = sympify(1)

    @property
    def q(self):
        return [x, y, z][:1 + len(self.A2)]

    @property
    def T(self):
        return self.mass*sum(e.diff(t)**2 for e in self.q)/2

    @functools.cache
    def hamel(self, force=None):
        forces = [self.force if force is None else force, 0, 0][:len(self.q)]
        return HamelEmbedding(self.T, self.q, nonhol_coneqs=[self.row],
                              q_dependent=[x], generalized_forces=forces)


RAMP = {'row': dx - z*dy, 'A1': sympify(1), 'A2': (-z, 0)}
EXAMPLES = {
    1: Example(x*dx + dy + dz, x, (1, 1), 2*s**2/x**3, (0, 0),
               (s**2/x**4, s**2/x**4)),
    2: Example(**RAMP, force=-dy*dz, printed=(0, 0), E=(0, z*dy**2)),
    3: Example(x*dx + y*dy, x, (y,), sympify(0),
               (-y**3*dy**2/x**4 - (x*dy - y*dx)*y*dy/x**3,),
               (-y**3*dy**2/x**4,)),
    4: Example(**RAMP, force=-dy*dz, printed=(0, 0), E=(0, z*dy**2)),
    5: Example(**RAMP, force=-dy*dz, printed=((1 - mass)*z*dy*dz, 0),
               E=((1 - mass)*z*dy*dz, mass*z*dy**2), mass=mass),
    6: Example(**RAMP, force=sympify(0), printed=(-z*dy*dz, 0),
               E=(-z*dy*dz, z*dy**2))}


@pytest.fixture
def e(name):
    return EXAMPLES[name]


def numbered(table):
    """Parametrise over examples; the equations stand in the test's name."""
    cites(*(n for numbers in table.values() for n in numbers))
    return pytest.mark.parametrize('name', [
        pytest.param(name, id=f'example{name}-' + ''.join(
            f'({n})' for n in numbers)) for name, numbers in table.items()])


def equal(left, right):
    """Equality of matrices of rational functions."""
    return (Matrix(left) - Matrix(right)).applyfunc(cancel).is_zero_matrix


@numbered({1: (50, 51, 52), 2: (57, 58, 59), 3: (65, 66), 4: (68, 69)})
def test_constraint_of_the_example(e, name):
    h = e.hamel()
    A = Matrix([[e.A1, *e.A2]])
    assert equal(h.constraints_jacobian, A)
    assert equal(h.velocity_constraints, A*Matrix(e.q).diff(t))
    assert equal(h.embedding.matrix, Matrix([e.A2])/e.A1)
    assert equal(h.embedding.vector, [0])
    assert h.embedding.is_holonomic is (name in (1, 3))


@numbered({1: (49,), 3: (64,), 4: (71, 72), 5: (78, 79), 6: (85, 86)})
def test_inertia_of_the_example(e):
    """M = m I, N = 0 and P = 0."""
    system = e.hamel().system
    v = [q.diff(t) for q in e.q]
    assert equal(system.M, e.mass*eye(len(v)))
    T = Matrix([system.lagrangian])
    at_rest = dict.fromkeys(v, 0)
    assert equal(T.jacobian(v).xreplace(at_rest), zeros(1, len(v)))
    assert equal(T.xreplace(at_rest), [0])


@numbered({4: (73, 74, 75), 5: (80, 81, 82), 6: (87, 88, 89)})
def test_W_of_the_example(e):
    T = e.hamel().embedding.lagrangian
    u = Matrix([dy, dz])
    W1 = hessian(T, list(u))/2
    assert equal(W1, e.mass*Matrix([[z**2 + 1, 0], [0, 1]])/2)
    assert equal([T], u.T*W1*u)                 # W2 = 0, W3 = 0


@numbered({1: (53, 54), 2: (60, 61)})
def test_rate_of_B_in_the_example(name):
    h = EXAMPLES[name].hamel()
    B, rate = {1: ([1/x, 1/x], [-dx/x**2, -dx/x**2]),
               2: ([-z, 0], [-dz, 0])}[name]
    assert equal(h.embedding.matrix.T, B)
    assert equal(h.embedding.matrix.diff(t).T, rate)


@numbered({1: (55, 56), 2: (62, 63)})
def test_force_of_theorem_2_in_the_example(e, name):
    """K, and Q1 from (45).  In (55) the sign of K is lost or wrong; with the
    right one (45) is (56).  Neither force makes E vanish."""
    h = e.hamel()
    K = {1: -dx/x, 2: dz/z}[name]
    B = h.embedding.matrix
    assert equal(B.diff(t).T, B.T*K)
    assert not equal(B.diff(t).T, -B.T*K)
    force = (-h.embedding.lagrangian.diff(x)
             - K*h.embedding.momenta[0]).xreplace(h.embedding.velocity_map)
    assert equal([force], [e.force])
    assert equal(h.embedding.paper_discrepancy, [0, 0])
    assert equal(h.embedding.discrepancy, e.E)
    assert h.validity.holds is False


@pytest.mark.parametrize('name', EXAMPLES)
def test_force_that_repairs_the_example(e, name):
    """By (E4): half of (56) in Example 1, and none in 2, 4, 5 and 6.  The
    printed condition (32) rejects the forces that do exist."""
    force = {1: s**2/x**3, 3: y**2*dy**2/x**3}.get(name)
    if force is None:
        assert e.hamel().embedding.required_force() is None
        return
    assert equal(e.hamel().embedding.required_force(), [force])
    right = e.hamel(force)
    assert equal(right.embedding.discrepancy, [0]*len(e.A2))
    assert right.validity.holds is True
    assert not equal(right.embedding.paper_discrepancy, [0]*len(e.A2))


@numbered({4: (70,), 5: (77,), 6: (84,)})
def test_forces_of_the_example(e):
    assert equal(e.hamel().embedding.dropped_forces, [e.force])
    assert equal(e.hamel().embedding.forces, [0, 0])


@numbered({3: (67,), 4: (76,), 5: (83,), 6: (90,)})
def test_discrepancy_of_the_example(e):
    """E as printed, and as it is: checked against multipliers too."""
    h = e.hamel()
    printed = Matrix(e.printed).xreplace(h.embedding.velocity_map)
    assert equal(h.embedding.paper_discrepancy, printed)
    assert equal(h.embedding.discrepancy, e.E)
    assert not equal(e.E, printed)
    assert h.validity.holds is False
    reference = Reference.lagrange(
        e.T, e.q, vel=[e.row], Q=[e.force] + [0]*len(e.A2))
    values = reference.admissible({mass: Rational(7, 5)}, 1)
    values.update(zip((q.diff(t, 2) for q in e.q),
                      reference.solve(values).acceleration))
    assert close(-at(h.eom, values), at(Matrix(e.E), values))


def test_every_equation_is_treated():
    assert CITED == set(range(1, 91))
