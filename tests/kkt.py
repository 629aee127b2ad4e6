"""A reference that shares nothing with the package.

The multiplier system ``M u' - A^T lam = F``, ``A u' = b`` is written with
plain SymPy differentiation and solved with mpmath at 50 digits.  A singular
``M`` and repeated rows are allowed: the solve is a minimum-norm one through a
singular value decomposition, and its rank decision must be clear or it
raises.  Rows are stacked as everywhere: holonomic, velocity level,
acceleration level.
"""
from dataclasses import dataclass, replace
from random import Random

import mpmath
from mpmath import mp
from sympy import (
    Abs, Derivative, DiracDelta, Float, Heaviside, Matrix, Max, Min, Piecewise,
    Rational, Symbol, sign, sympify, zeros)
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import Particle, dynamicsymbols

t = dynamicsymbols._t
DIGITS = 50
WORK = 70               # digits carried, so that 50 are left
SMALL = mpmath.mpf(10)**-40
LARGE = mpmath.mpf(10)**-15


# Numbers

FUNCTIONS = {Abs: abs, Max: max, Min: min, DiracDelta: lambda *_: mp.mpf(0),
             Heaviside: lambda a, middle: mp.mpf(a > 0) if a else middle}


def at(expression, values):
    """``expression`` (a scalar or a matrix) at ``values``, an mpmath matrix.

    Every symbol, function and derivative that occurs must have a value; a
    derivative is a variable of its own.  Shared parts are evaluated once, so
    that large nested expressions are no harm.
    """
    matrix = expression if hasattr(expression, 'shape') else (
        Matrix([[expression]]))
    with mp.workdps(WORK):
        memo = {sympify(x): number(v) for x, v in dict(values).items()}
        result = mp.matrix(*matrix.shape)
        for i in range(matrix.rows):
            for j in range(matrix.cols):
                result[i, j] = evaluate(matrix[i, j], memo)
        return result


def evaluate(expression, memo):
    if expression in memo:
        return memo[expression]
    if expression.is_Number or expression.is_NumberSymbol:
        result = number(expression)
    elif isinstance(expression, Derivative) and expression.expr.func == sign:
        result = mp.mpf(0)              # an impulse is left out
    elif isinstance(expression, Piecewise):
        result = next(
            evaluate(branch, memo) for branch, condition in expression.args
            if condition == True                                # noqa: E712
            or condition.func(*(Float(evaluate(x, memo), WORK)
                                for x in condition.args)))
    elif isinstance(expression, (Symbol, Derivative, AppliedUndef)):
        raise ValueError(f"no value for {expression}")
    else:
        args = [evaluate(x, memo) for x in expression.args]
        if expression.is_Add:
            result = mp.fsum(args)
        elif expression.is_Mul:
            result = mp.fprod(args)
        elif expression.is_Pow:
            base, exponent = args
            result = (mp.sqrt(base) if exponent == 0.5 else base**exponent)
        else:
            function = expression.func
            result = (FUNCTIONS.get(function) or getattr(
                mp, function.__name__))(*args)
    memo[expression] = result
    return result


def number(value):
    """An exact SymPy number, an mpf or a Python number as an mpf."""
    if isinstance(value, mpmath.mpf):
        return value
    with mp.workdps(WORK):
        return mp.mpmathify(sympify(value).evalf(WORK))


def norm(x):
    return mp.norm(x, mp.inf) if len(x) else mp.mpf(0)


def close(x, y, rtol=mpmath.mpf(10)**-DIGITS, scale=0):
    """Whether two mpmath (or nested) columns agree relative to their size."""
    with mp.workdps(WORK):
        x, y = mp.matrix(x), mp.matrix(y)
        if (x.rows, x.cols) != (y.rows, y.cols):
            raise ValueError(f"shapes {x.rows, x.cols} and {y.rows, y.cols}")
        size = max(norm(x), norm(y), mp.mpf(scale))
        return bool(norm(x - y) <= number(rtol)*size)


def anywhere(expressions, seed, known=None):
    """Random exact numbers for all that occurs and is not known."""
    random = Random(seed)
    names = set()
    for expression in expressions:
        names |= Matrix(expression).atoms(Symbol, AppliedUndef, Derivative)
    values = {x: Rational(random.randint(-900, 900), 701)
              if isinstance(x, (AppliedUndef, Derivative)) else
              Rational(random.randint(500, 1500), 997)
              for x in sorted(names, key=str)}
    return {**values, **(known or {})}


def equal(one, other, seeds=(1, 2), rtol=mpmath.mpf(10)**-45):
    """Whether two matrices are the same functions of their symbols."""
    assert one.shape == other.shape
    points = [anywhere([one, other], seed) for seed in seeds]
    return all(close(at(one, x), at(other, x), rtol) for x in points)


def singular(matrix):
    """The compact singular value decomposition with a clear rank."""
    with mp.workdps(WORK):
        matrix = mp.matrix(matrix)
        if not matrix.rows or not matrix.cols:
            return mp.matrix(matrix.rows, 0), [], mp.matrix(0, matrix.cols)
        u, s, v = mp.svd_r(matrix)
        s = list(s)
        top = max(s)
        if top == 0:
            return mp.matrix(matrix.rows, 0), [], mp.matrix(0, matrix.cols)
        kept = [x for x in s if x > LARGE*top]
        unclear = [x for x in s if SMALL*top < x <= LARGE*top]
        if unclear:
            raise ArithmeticError(f"no clear rank, singular values {s}")
        k = len(kept)
        return u[:, :k], kept, v[:k, :]


def rank(matrix):
    return len(singular(matrix)[1])


def pinv(matrix):
    with mp.workdps(WORK):
        matrix = mp.matrix(matrix)
        u, s, v = singular(matrix)
        if not s:
            return mp.matrix(matrix.cols, matrix.rows)
        return v.T*mp.diag([1/x for x in s])*u.T


def min_norm(matrix, right):
    """The least-squares solution of least norm."""
    with mp.workdps(WORK):
        return pinv(matrix)*mp.matrix(right)


@dataclass(frozen=True)
class Solution:
    acceleration: object
    forces: object          # Q_c = A^T lam
    lam: object             # of minimum norm
    rank: int               # of A
    inconsistency: object   # |b - A A^+ b|


def solve(M, F, A, b):
    """The multiplier system at numbers.

    An inconsistent ``b`` is first replaced by its projection on range(A),
    which is what theory (U2) does for a positive definite ``M``.
    """
    with mp.workdps(WORK):
        M, F, A, b = (mp.matrix(x) for x in (M, F, A, b))
        o, m = M.rows, A.rows
        if not m:
            if rank(M) < o:
                raise ArithmeticError("the motion is not determined")
            return Solution(mp.lu_solve(M, F), mp.matrix(o, 1),
                            mp.matrix(0, 1), 0, mp.mpf(0))
        u, s, _ = singular(A)
        reached = u*(u.T*b) if s else mp.matrix(m, 1)
        W = mp.matrix(o + m, o + m)
        W[:o, :o] = M
        W[:o, o:] = -A.T
        W[o:, :o] = A
        right = mp.matrix(o + m, 1)
        right[:o, 0] = F
        right[o:, 0] = reached
        left, values, v = singular(W)
        if len(values) < o + len(s):
            raise ArithmeticError("the motion is not determined")
        z = v.T*(mp.diag([1/x for x in values])*(left.T*right))
        if norm(W*z - right) > SMALL*(1 + norm(right)):
            raise ArithmeticError("the multiplier system has no solution")
        lam = z[o:, 0]
        return Solution(z[:o, 0], A.T*lam, lam, len(s), norm(b - reached))


# Matrices from expressions

@dataclass(frozen=True)
class Reference:
    """M, F, A, b with the symbols they are written in."""

    q: tuple
    u: tuple
    rates: dict          # q' -> expression in q, u, t
    M: object
    F: object
    A: object
    b: object
    holonomic: object
    velocity: object     # differentiated holonomic rows, then velocity rows

    @classmethod
    def lagrange(cls, L, q, hol=(), vel=(), acc=(), Q=None):
        q = tuple(q)
        u = tuple(x.diff(t) for x in q)
        du = [x.diff(t, 2) for x in q]
        zero = {x: sympify(0) for x in du}
        L = sympify(L)
        momenta = Matrix([L.diff(v) for v in u])
        M = momenta.jacobian(u)
        F = (Matrix([L.diff(x) for x in q]) - momenta.diff(t).xreplace(zero))
        if Q is not None:
            F += Matrix(Q)
        return cls._finish(q, u, {}, M, F, hol, vel, acc)

    @classmethod
    def bodies(cls, frame, bodies, loads, q, u, kd_eqs, hol=(), vel=(),
               acc=(), Q=None):
        """Newton and Euler, projected on partial velocities."""
        q, u = tuple(q), tuple(u)
        dq = Matrix([x.diff(t) for x in q])
        kd = Matrix(list(kd_eqs))
        J = kd.jacobian(dq)
        rest = kd.xreplace({x: sympify(0) for x in dq})
        rates = dict(zip(dq, J.LUsolve(-rest)))
        du = [x.diff(t) for x in u]
        residual = zeros(len(u), 1)

        def settled(vector):
            return sum((c.doit().xreplace(rates)*e for c, e in
                        zip(vector.to_matrix(frame), frame)),
                       start=0*frame.x)

        def project(force, velocity):
            columns = velocity.to_matrix(frame).jacobian(u)
            return columns.T*force.to_matrix(frame).xreplace(rates)

        for body in bodies:
            point = body.point if isinstance(body, Particle) else (
                body.masscenter)
            v = settled(point.vel(frame))
            residual += project(-body.mass*v.dt(frame), v)
            if not isinstance(body, Particle):
                w = settled(body.frame.ang_vel_in(frame))
                h = settled(body.central_inertia.dot(w))
                residual += project(-h.dt(frame), w)
        for where, vector in loads:
            if hasattr(where, 'vel'):
                motion = settled(where.vel(frame))
            else:
                motion = settled(where.ang_vel_in(frame))
            residual += project(vector, motion)
        M = -residual.jacobian(du)
        F = residual.xreplace({x: sympify(0) for x in du})
        if Q is not None:
            F += Matrix(Q)
        return cls._finish(q, u, rates, M, F, hol, vel, acc)

    @classmethod
    def _finish(cls, q, u, rates, M, F, hol, vel, acc):
        du = [x.diff(t) for x in u]
        zero = {x: sympify(0) for x in du}

        def dot(rows):
            return rows.diff(t).xreplace(rates)

        hol, vel, acc = (Matrix(len(rows), 1, rows)
                         for rows in map(list, (hol, vel, acc)))
        velocity = dot(hol).col_join(vel.xreplace(rates))
        rows = dot(velocity).col_join(acc.xreplace(rates))
        A = rows.jacobian(du) if rows.rows else zeros(0, len(u))
        b = -rows.xreplace(zero)
        return cls(q, u, rates, M, F, A, b, hol, velocity)

    def stabilised(self, alpha, beta):
        """With theory 7.6 in b; no acceleration-level rows."""
        h = self.holonomic.rows
        b = self.b.as_mutable()
        for i in range(h):
            b[i] -= 2*alpha*self.velocity[i] + beta**2*self.holonomic[i]
        for i in range(h, self.velocity.rows):
            b[i] -= alpha*self.velocity[i]
        return replace(self, b=b)

    def matrices(self, values):
        return tuple(at(x, values) for x in (self.M, self.F, self.A, self.b))

    def solve(self, values):
        return solve(*self.matrices(values))

    def admissible(self, values, seed, guess=None, scale=1):
        """``values`` and a random state on the constraint set.

        Gauss-Newton steps of least norm, first for q, then for u.
        """
        random = Random(seed)
        with mp.workdps(WORK):
            state = {x: number(v) for x, v in dict(values).items()}
            state.setdefault(t, number(Rational(7, 10)))
            for x in self.q + self.u:
                start = dict(guess or {}).get(x)
                state[x] = number(scale*Rational(
                    random.randint(-1000, 1000), 1000)
                    if start is None else start)
            state = self._newton(self.holonomic, self.q, state)
            return self._newton(self.velocity, self.u, state)

    def _newton(self, rows, unknowns, state):
        if not rows.rows:
            return state
        jacobian = rows.jacobian(unknowns)
        for _ in range(100):
            residual = at(rows, state)
            if norm(residual) < mp.mpf(10)**-62:
                return state
            # While far away a slack rank decision is good enough.
            u, s, v = mp.svd_r(at(jacobian, state))
            top = max(s)
            inverse = [1/x if x > mp.mpf(10)**-12*top else mp.mpf(0)
                       for x in s]
            step = v.T*(mp.diag(inverse)*(u.T*residual))
            state = dict(state)
            for x, d in zip(unknowns, step):
                state[x] -= d
        raise ArithmeticError("no admissible point was found")
