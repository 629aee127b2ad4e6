"""A second reference: Meshchersky's equation from positions and rotations.

Velocities, angular velocities and accelerations are plain SymPy derivatives of
``pos_from`` and ``dcm``; nothing that was set with ``set_vel`` is read. With
``E`` of the theory page and the constraints of every order that come from it

    E + W lam = 0,   A u' = b    (W = A^T unless reactions have directions)

is solved with mpmath at 50 digits, see :mod:`kkt`.
"""
from fractions import Fraction
from functools import cached_property
from math import prod
from random import Random

from mpmath import mp
from sympy import (
    Derivative, Matrix, Rational, Symbol, cos, eye, sin, sympify, tan, zeros)
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import Particle

from kkt import SMALL, WORK, Reference, at, norm, number, singular, t


class Meshchersky:
    """A model with bodies that lose or gain mass, read independently.

    ``rates`` maps ``q'`` to ``V(q, u, t)``, ``masses`` a mass to its rate;
    ``rows`` are residuals of any order, which are sorted by it.
    """

    def __init__(self, frame, origin, q, u, rates, bodies=(), loads=(),
                 rows=(), anchors=None, reaction=None, masses=None):
        self.frame, self.origin = frame, origin
        self.q, self.u = tuple(q), tuple(u)
        self.rates = {x: sympify(v) for x, v in rates.items()}
        self.bodies, self.loads = list(bodies), list(loads)
        self.anchors = dict(anchors or {})
        self.masses = dict(masses or {})
        rows = self.settled(Matrix(len(rows), 1, list(rows)))
        self.rows = Matrix(len(rows), 1, sorted(rows, key=self.order))
        self.reaction = reaction

    # -- along the motion ------------------------------------------------

    @cached_property
    def higher_rates(self):
        """Derivatives of ``q`` of every order that may occur."""
        first = {**self.rates, **{
            x.diff(t): sympify(v) for x, v in self.masses.items()}}
        found, rates = {}, dict(first)
        for order in (1, 2, 3, 4):
            found.update({x.diff(t, order - 1): v for x, v in rates.items()})
            rates = {x: v.diff(t).xreplace(first) for x, v in rates.items()}
        return found

    def settled(self, e):
        """Without derivatives of coordinates."""
        return e.doit().xreplace(self.higher_rates)

    def dot(self, e, order=1):
        for _ in range(order):
            e = self.settled(e.diff(t))
        return e

    def speeds(self, order=0):
        return [x.diff(t, order) if order else x for x in self.u]

    # -- bodies ----------------------------------------------------------

    def position(self, point):
        return point.pos_from(self.origin).to_matrix(self.frame)

    def velocity(self, point):
        return self.dot(self.position(point))

    def rotation(self, frame):
        return self.frame.dcm(frame)

    def turning(self, frame):
        """Angular velocity, from ``R' R^T``."""
        R = self.rotation(frame)
        W = self.dot(R)*R.T
        return Matrix([W[2, 1], W[0, 2], W[1, 0]])

    def vector(self, v):
        return self.settled(v.to_matrix(self.frame))

    def motion(self, body):
        """``m``, ``v``, ``a`` of the body-fixed point at the mass centre."""
        mass = self.settled(sympify(body.mass))
        if isinstance(body, Particle):
            v = self.velocity(body.point)
            return mass, v, self.dot(v)
        anchor = self.anchors.get(body)
        if anchor is None:
            v = self.velocity(body.masscenter)
            return mass, v, self.dot(v)
        w = self.turning(body.frame)
        c = self.vector(body.masscenter.pos_from(anchor))
        v = self.velocity(anchor)
        return mass, v + w.cross(c), (
            self.dot(v) + self.dot(w).cross(c) + w.cross(w.cross(c)))

    def spin(self, body):
        """Central inertia in the inertial frame, ``w`` and ``w'``."""
        R = self.rotation(body.frame)
        inertia = R*self.settled(
            body.central_inertia.to_matrix(body.frame))*R.T
        w = self.turning(body.frame)
        return inertia, w, self.dot(w)

    @cached_property
    def residual(self):
        """``E``, shape (p, 1)."""
        E = zeros(len(self.u), 1)
        for body in self.bodies:
            mass, v, a = self.motion(body)
            E -= mass*v.jacobian(self.u).T*a
            if not isinstance(body, Particle):
                inertia, w, alpha = self.spin(body)
                E -= w.jacobian(self.u).T*(inertia*alpha + w.cross(inertia*w))
        for where, force in self.loads:
            moves = (self.velocity(where) if hasattr(where, 'vel')
                     else self.turning(where))
            E += moves.jacobian(self.u).T*self.vector(force)
        return E

    # -- constraints -----------------------------------------------------

    def order(self, row):
        for order in range(5, -1, -1):
            if row.atoms(Derivative, AppliedUndef) & set(self.speeds(order)):
                return order + 1
        return 0

    @cached_property
    def orders(self):
        return [self.order(row) for row in self.rows]

    @cached_property
    def A(self):
        """Every row by its highest derivative."""
        result = zeros(len(self.rows), len(self.u))
        for i, (row, order) in enumerate(zip(self.rows, self.orders)):
            row = row if order else self.dot(row)
            result[i, :] = Matrix([[row]]).jacobian(
                self.speeds(max(order, 1) - 1))
        return result

    @cached_property
    def W(self):
        return self.A.T if self.reaction is None else self.settled(
            Matrix(self.reaction))

    def raised(self, order):
        """The rows, differentiated until they are of this order."""
        return Matrix(len(self.rows), 1, [
            self.dot(row, order - m) for row, m in zip(
                self.rows, self.orders)])

    @cached_property
    def M(self):
        """``E = -M u' - h``; columns by putting in unit accelerations."""
        columns = [-self.h - self.with_accelerations(unit)
                   for unit in eye(len(self.u)).tolist()]
        return Matrix.hstack(*columns)

    @cached_property
    def h(self):
        return -self.with_accelerations([0]*len(self.u))

    def with_accelerations(self, values):
        return self.residual.xreplace(dict(zip(
            self.speeds(1), map(sympify, values))))

    @cached_property
    def reference(self):
        """For constraints linear in ``u'`` and of order 2 at most."""
        rows, orders = self.rows, self.orders
        assert max(orders, default=0) <= 2
        holonomic = Matrix(orders.count(0), 1, [
            row for row, m in zip(rows, orders) if m == 0])
        velocity = [self.dot(row) if m == 0 else row for row, m in zip(
            rows, orders) if m < 2]
        raised = self.raised(2)
        zero = dict.fromkeys(self.speeds(1), sympify(0))
        A = raised.jacobian(self.speeds(1)) if len(rows) else zeros(
            0, len(self.u))
        assert not A.atoms(Derivative) & set(zero)
        return Reference(
            self.q, self.u, self.rates, self.M, -self.h, A,
            -raised.xreplace(zero), holonomic,
            Matrix(len(velocity), 1, velocity))

    def solve(self, values):
        """``u'``, generalized reactions and multipliers."""
        if self.reaction is None:
            found = self.reference.solve(values)
            return found.acceleration, found.forces, found.lam
        ref = self.reference
        with mp.workdps(WORK):
            M, F, A, b = ref.matrices(values)
            W = at(self.W, values)
            p, c = len(self.u), A.rows
            whole = mp.zeros(p + c)
            whole[:p, :p], whole[:p, p:], whole[p:, :p] = M, -W, A
            right = mp.matrix([*F, *b])
            z = mp.lu_solve(whole, right)
            assert norm(whole*z - right) < SMALL*(1 + norm(right))
            return z[:p, 0], W*z[p:, 0], z[p:, 0]

    def state(self, values, seed, guess=None):
        """A random state on the constraints of order 0 and 1."""
        return self.reference.admissible(values, seed, guess)

    # -- constraints of higher order -------------------------------------

    def higher(self, lam):
        """The equations of the highest derivatives, theory section 5."""
        return Higher(self, lam)


class Higher:
    """``D^(N - k) (E + A^T lam) = 0`` and the rows differentiated.

    ``z = (u^(N), lam^(N - k))`` is what they are solved for; the equations of
    lower order are what initial data satisfy.
    """

    def __init__(self, model, lam):
        self.model, self.lam = model, list(lam)
        top = max(model.orders)
        A = model.A
        bent = any(
            A[i, :].atoms(Derivative, AppliedUndef)
            & set(model.speeds(m - 1))
            for i, m in enumerate(model.orders) if m == top)
        self.N = top - 1 + bool(bent)
        self.reaction = model.residual + model.W*Matrix(self.lam)
        self.k = max(map(model.order, self.reaction)) - 1
        self.depth = self.N - self.k

    @property
    def unknowns(self):
        return self.model.speeds(self.N) + self.multipliers(self.depth)

    def multipliers(self, order):
        return [x.diff(t, order) if order else x for x in self.lam]

    @property
    def states(self):
        model = self.model
        return (list(model.q) + [x for k in range(self.N)
                                 for x in model.speeds(k)]
                + [x for k in range(self.depth)
                   for x in self.multipliers(k)])

    @cached_property
    def conditions(self):
        """What states satisfy."""
        model = self.model
        found = [e for k in range(self.depth)
                 for e in model.dot(self.reaction, k)]
        for row, m in zip(model.rows, model.orders):
            found += [model.dot(row, k) for k in range(self.N + 1 - m)]
        return Matrix(len(found), 1, found)

    @cached_property
    def equations(self):
        model = self.model
        return model.dot(self.reaction, self.depth).col_join(
            model.raised(self.N + 1))

    def matrices(self, values):
        """``W`` and ``r`` at a state."""
        return linear_system(self.equations, self.unknowns, values)

    def solve(self, values):
        """The unknowns at a state."""
        with mp.workdps(WORK):
            return mp.lu_solve(*self.matrices(values))

    def is_regular(self, values, least=0.1):
        """Whether ``W`` is far from singular."""
        W, _ = self.matrices(values)
        return min(mp.svd_r(W, compute_uv=False)) > least

    def explicit_state(self, values):
        """Of one row of the highest order: ``q, u, lam`` are free."""
        model, state = self.model, dict(values)
        with mp.workdps(WORK):
            for k in range(self.depth):
                names = model.speeds(k + 1)
                found = mp.lu_solve(*linear_system(
                    model.dot(self.reaction, k), names, state))
                state.update(zip(names, found))
            left = norm(at(self.conditions, state))
        assert left < mp.mpf(10)**-40*(1 + norm(list(state.values())))
        return state

    def state(self, values, seed, guess=None):
        """The nearest consistent state to a random one."""
        random = Random(f'higher {seed}')
        with mp.workdps(WORK):
            state = {x: number(v) for x, v in dict(values).items()}
            for x in self.states:
                state[x] = number(dict(guess or {}).get(
                    x, Rational(random.randint(-1000, 1000), 700)))
            jacobian = self.conditions.jacobian(self.states)
            for _ in range(100):
                residual = at(self.conditions, state)
                if norm(residual) < mp.mpf(10)**-60:
                    return state
                u, s, v = singular(at(jacobian, state))
                step = v.T*(mp.diag([1/x for x in s])*(u.T*residual))
                for x, d in zip(self.states, step):
                    state[x] -= d
        raise ArithmeticError('no consistent state was found')


def linear_system(equations, unknowns, values):
    """``W`` and ``r`` of equations ``W*z - r = 0`` at numbers."""
    with mp.workdps(WORK):
        values = {**values, **dict.fromkeys(unknowns, 0)}
        rest = at(equations, values)
        W = mp.matrix(rest.rows, len(unknowns))
        for j, x in enumerate(unknowns):
            W[:, j] = at(equations, {**values, x: 1}) - rest
        return W, -rest


# Fractions

class Exact:
    """Values of nested expressions in fractions.

    Sines and cosines are those of angles whose half has a rational tangent,
    which is the value that is given for the angle.
    """

    def __init__(self, values):
        self.values = {sympify(x): Fraction(str(v)) for x, v in values.items()}
        self.known = {}

    def __call__(self, e):
        if hasattr(e, 'shape'):
            return Matrix(*e.shape, [
                Rational(v.numerator, v.denominator)
                for v in map(self.value, e)])
        v = self.value(e)
        return Rational(v.numerator, v.denominator)

    def value(self, e):
        if id(e) not in self.known:
            self.known[id(e)] = e, self.of(e)
        return self.known[id(e)][1]

    def of(self, e):
        if e.is_Rational:
            return Fraction(int(e.p), int(e.q))
        if isinstance(e, (Symbol, Derivative, AppliedUndef)):
            return self.values[e]
        if e.is_Add:
            return sum(map(self.value, e.args), Fraction(0))
        if e.is_Mul:
            return prod(map(self.value, e.args), start=Fraction(1))
        if e.is_Pow and e.exp.is_Integer:
            return self.value(e.base)**int(e.exp)
        if isinstance(e, (sin, cos, tan)):
            half = self.values[e.args[0]]
            s, c = 2*half/(1 + half**2), (1 - half**2)/(1 + half**2)
            return {sin: s, cos: c, tan: s/c if c else None}[e.func]
        raise TypeError(f'{e.func} is not rational')


def particle(frame, origin, name, position, mass):
    """A particle at ``position``, with its velocity set."""
    point = origin.locatenew(name, position)
    point.set_vel(frame, position.dt(frame))
    return Particle(name, point, mass)


def fraction(random, least=None):
    """A rational number, at least ``least`` if that is given."""
    value = Rational(random.randint(-150, 150), random.choice([53, 61, 67]))
    return value if least is None else least + abs(value)
