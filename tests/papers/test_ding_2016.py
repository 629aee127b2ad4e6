"""Every numbered equation of Ding (2016) on two kinds of multipliers.

G. T. Ding, "Two ways to introduce undetermined multipliers to constrained
mechanical systems", Mechanics in Engineering 38 (2016) 83-86.  The numbers
are the paper's, (1) to (27); ``cites`` notes them, and the last test finds
every one of them noted.

The models are random polynomials: one and two constraints, holonomic, linear
and nonlinear in the velocities.  Each has a curve on its constraints, and
forces that depend on time alone are added to the Lagrangian so that this curve
is a motion whose multipliers are known.  Actions, their derivatives by a
parameter and integrals over test variations are then exact rational numbers.
What the classes return is compared along such curves, or at random points
with the printed formula, with 50 digits.
"""
import functools
from random import Random
from types import SimpleNamespace

import pytest
from mpmath import mp
from sympy import (
    QQ, Derivative, Matrix, Rational, Symbol, cos, eye, ring, sin, sqrt,
    symbols, sympify, tanh)
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import dynamicsymbols

from cited import citing
from kkt import at, close, min_norm, norm, number, rank, t
from sympy_constrained import RouthMethod, VaccoMethod
from sympy_constrained.errors import ConstrainedDynamicsError

MODELS = [(kind, r) for kind in ('holonomic', 'linear', 'nonlinear')
          for r in (1, 2)]
cites, CITED = citing()


def each(*kinds):
    return pytest.mark.parametrize('kind, r', [
        pytest.param(kind, r, marks=[pytest.mark.slow]*(r > 1))
        for kind, r in MODELS if kind in kinds])


each_model = each('holonomic', 'linear', 'nonlinear')
each_holonomic = each('holonomic')
each_nonholonomic = each('linear', 'nonlinear')


pytestmark = pytest.mark.usefixtures('digits')


# Polynomials in time and a parameter eps.  A curve is a dict from coordinates
# to polynomials; t1 and t2 of the paper are ``start`` and ``end``.

RING, TIME, EPS = ring((t, Symbol('eps')), QQ)
start, end = QQ(-1, 2), QQ(1)


def jets(curve, order=2):
    """Coordinates and their derivatives on a curve."""
    found = {}
    for x, e in curve.items():
        for k in range(order + 1):
            found[x.diff(t, k)] = RING(e)
            e = RING(e).diff(TIME)
    return found


def along(e, curve):
    """A polynomial expression on a curve, or a list of those of a column."""
    memo = {t: TIME, **jets(curve)}

    def value(e):
        if e not in memo:
            if e.is_Rational:
                memo[e] = RING(QQ(e.p, e.q))
            elif e.is_Pow:
                memo[e] = value(e.base)**int(e.exp)
            elif e.is_Add:
                memo[e] = sum(map(value, e.args), RING(0))
            elif e.is_Mul:
                memo[e] = RING(1)
                for x in e.args:
                    memo[e] *= value(x)
            else:
                raise ValueError(f'no value for {e}')
        return memo[e]
    if hasattr(e, 'shape'):
        return [value(x) for x in e]
    return value(sympify(e))


def antiderivative(e):
    return RING.from_dict({(k + 1, i): c/(k + 1)
                           for (k, i), c in RING(e).items()})


def value_at(e, time):
    return RING(e).compose(TIME, RING(time))


def integral(e):
    e = antiderivative(e)
    return value_at(e, end) - value_at(e, start)


def action(L, curve):
    """The integral of L along a curve, a polynomial in eps."""
    return integral(along(L, curve))


def derivative(e):
    """By eps, at eps = 0."""
    return RING.from_dict({(k, 0): c for (k, i), c in e.items() if i == 1})


def dot(left, right):
    return sum((x*y for x, y in zip(left, right, strict=True)), 0)


def changed(curve, change):
    return {x: e + EPS*change.get(x, 0) for x, e in curve.items()}


def variation(L, curve, change):
    """What an action does in first order in a change of the curve."""
    return derivative(action(L, changed(curve, change)))


def polynomial(random, degree):
    return sum(fraction(random)*TIME**k for k in range(degree + 1))


def fraction(random):
    return QQ(random.choice([-7, -5, -3, 2, 4, 9]), 6)


def bump(random):
    """A test variation, zero at both ends."""
    return (TIME - start)*(end - TIME)*polynomial(random, 1)


def bumps(functions, seed):
    random = Random(seed)
    return {x: bump(random) for x in functions}


# The models

@functools.cache
def euler(L, q):
    """d/dt dL/dq' - dL/dq, a column, by plain differentiation."""
    return Matrix([L.diff(x.diff(t)).diff(t) - L.diff(x) for x in q])


def number_in(random):
    value = fraction(random)
    return Rational(value.numerator, value.denominator)


def in_coordinates(random, q):
    """A small polynomial in coordinates and time."""
    first, second = random.choices(q, k=2)
    return number_in(random) + number_in(random)*first*random.choice(
        [second, t]) + number_in(random)*second


@functools.cache
def model(kind, r):
    """r constraints and two free coordinates, one for two holonomic rows.

    ``solved`` has the dependent coordinates, or their velocities, in terms of
    what comes before them in q.  The rows are combinations of these.
    """
    random = Random(f'{kind} {r}')
    holonomic = kind == 'holonomic'
    n = 3 if holonomic else r + 2
    q = tuple(dynamicsymbols(f'x1:{n + 1}'))
    dq = Matrix(q).diff(t)
    half = Matrix(n, n, lambda *_: (
        number_in(random) + number_in(random)*random.choice([*q, t]))/9)
    M = 4*eye(n) + half + half.T
    T = (dq.T*M*dq)[0]/2 + sum(in_coordinates(random, q)*v for v in dq)
    V = sum(in_coordinates(random, q) for _ in q)
    solved = []
    for i in range(n - r, n):
        e = in_coordinates(random, q[:2 if n > 3 else i])   # low degrees
        e += number_in(random)*q[0]**2 + number_in(random)*q[i - 1]
        if not holonomic:
            e += number_in(random)*q[0]*dq[1] + number_in(random)*dq[i - 1]
            e += number_in(random)*t*dq[0] + number_in(random)*q[1]*dq[0]
        if kind == 'nonlinear':
            e += number_in(random)*dq[0]**2
            e += number_in(random)*dq[0]*dq[1]
        solved.append(e)
    left = q if holonomic else dq
    mixed = Matrix(r, r, lambda i, j: (
        2 + q[0]**2/4 if i == j else q[-1]/3 if i > j else 0))
    rows = mixed*Matrix([x - e for x, e in zip(left[n - r:], solved)])
    return SimpleNamespace(
        holonomic=holonomic, r=r, n=n, q=q, dq=dq, free=q[:n - r],
        dependent=q[n - r:], T=T, V=V, L=T - V, rows=rows, solved=solved,
        jacobian=rows.jacobian(q if holonomic else dq),
        velocity=rows.diff(t) if holonomic else rows)


def lifted(m, free, first):
    """The curve on the constraints, exactly and for every eps, above curves
    of the free coordinates; nonholonomic ones need values at the start."""
    curve = dict(zip(m.free, free, strict=True))
    for x, e, value in zip(m.dependent, m.solved, first, strict=True):
        e = along(e, curve)
        if not m.holonomic:
            e = antiderivative(e)
            e += value - value_at(e, start)
        curve[x] = e
    return curve


@functools.cache
def motion(kind, r):
    """The model with a motion ``X``, exact polynomials.

    For the Lagrangian ``L_routh`` it is Routh's motion with reactions
    ``lam``; for ``L_vacco`` it is the vakonomic motion with multipliers
    ``mu``.  For holonomic constraints mu is that of (11), L + mu f, and both
    Lagrangians are one.  ``nu`` are the multipliers of the class: mu, or
    those of the rows at velocity level, nu' = -mu.  For the Lagrangian of
    ``pushed_otherwise`` X is no motion.
    """
    m = model(kind, r)
    random = Random(f'motion {kind} {r}')
    first = [fraction(random) for _ in m.dependent]
    X = lifted(m, [polynomial(random, 2) for _ in m.free], first)
    lam = [polynomial(random, 1) for _ in range(r)]
    mu = [polynomial(random, 2) for _ in range(r)]
    free = euler(m.L, m.q)
    symbolic_lam = Matrix([e.as_expr() for e in lam])
    symbolic_mu = Matrix([e.as_expr() for e in mu])

    def pushed(force):
        """L with forces, functions of time, under which X is a motion."""
        return m.L + dot([e.as_expr() for e in along(force, X)], m.q)

    L_routh = L_vacco = pushed(free - m.jacobian.T*symbolic_lam)
    nu = mu
    if m.holonomic:
        mu = lam
        nu = [fraction(random) - antiderivative(e) for e in mu]
    else:
        L_vacco = pushed(free + euler(dot(symbolic_mu, m.rows), m.q))
    rows = {'hol_coneqs' if m.holonomic else 'nonhol_coneqs': list(m.rows)}
    routh = RouthMethod(L_routh, m.q, **rows)
    vacco = VaccoMethod(L_vacco, m.q, **rows)
    return SimpleNamespace(
        **vars(m), X=X, first=first, lam=lam, mu=mu, nu=nu, L_routh=L_routh,
        L_vacco=L_vacco, routh=routh, vacco=vacco,
        pushed_otherwise=RouthMethod(m.L + number_in(random)*m.q[0], m.q,
                                     **rows),
        on_routh={**X, **dict(zip(routh.lam_vec, lam))},
        on_vacco={**X, **dict(zip(vacco.mu_vec, nu))})


def admissible_family(c, seed):
    """Curves through X at eps = 0 that satisfy the constraints, with the same
    ends: for holonomic constraints exactly, for others in first order, for
    which r + 1 changes of the free coordinates are combined."""
    random = Random(seed)
    count = 1 if c.holonomic else c.r + 1
    changes = [[bump(random) for _ in c.free] for _ in range(count)]

    def family(change):
        return lifted(c, [c.X[x] + EPS*e
                          for x, e in zip(c.free, change)], c.first)
    if c.holonomic:
        return family(changes[0])
    shifts = Matrix([
        [value_at(derivative(curve[x]), end).as_expr() for x in c.dependent]
        for curve in map(family, changes)])
    weights, = shifts.T.nullspace()
    weights = [QQ(x.p, x.q) for x in weights]
    return family([dot(weights, e) for e in zip(*changes)])


def virtual_change(c, seed):
    """A change of X with (5) or (19), A dx = 0, zero at the ends; other
    coordinates than those given by ``solved`` are arbitrary."""
    change = bumps(c.free, seed)
    for x, e in zip(c.dependent, c.solved):
        slopes = Matrix([e.diff(y if c.holonomic else y.diff(t))
                         for y in change])
        change[x] = dot(along(slopes, c.X), change.values())
    return change


def instant(curve, seed):
    """A time, and what it makes of a curve: exact numbers."""
    time = QQ(Random(seed).randint(-40, 90), 100)
    return {x: value_at(e, time).as_expr()
            for x, e in {t: TIME, **jets(curve)}.items()}


def anywhere(expressions, seed):
    """Random numbers for all that occurs; no constraint holds."""
    random = Random(seed)
    found = set().union(*(e.atoms(Symbol, AppliedUndef, Derivative)
                          for e in expressions))
    return {x: Rational(random.randint(-999, 999), 500)
            for x in sorted(found, key=str)}


def same(left, right):
    """Whether matrices agree, and are not zero, at random points."""
    left, right = Matrix(left), Matrix(right)
    values = anywhere([*left, *right], 1)
    return close(at(left, values), at(right, values)) and (
        norm(at(right, values)) > 1e-6)


def column(values):
    return mp.matrix([number(x) for x in values])


def accelerations(c, values):
    return column(values[x.diff(t, 2)] for x in c.q)


def free_part(method):
    """d/dt dL/dq' - dL/dq of the class: ``eom`` without multipliers."""
    return method.eom.xreplace(dict.fromkeys(method.lam_vec, sympify(0)))


def with_reactions(method):
    """``eom`` with the sign of ``multipliers``, as in the paper."""
    return method.eom.xreplace({x: -x for x in method.lam_vec})


# 1.1: holonomic constraints and variations that are not independent

@pytest.fixture
def c(kind, r):
    return motion(kind, r)


@cites(1, 18)
@each_model
def test_constraints(c):
    assert c.r < c.n
    assert not any(along(c.rows, c.X))
    for method in c.routh, c.vacco:
        assert same(method.holonomic_constraints if c.holonomic
                    else method.nonholonomic_constraints, c.rows)
        assert same(method.velocity_constraints, c.velocity)
        assert same(method.acceleration_constraints, c.velocity.diff(t))


@cites(2)
@each_model
def test_lagrangian_of_coordinates_velocities_and_time(c):
    assert same([c.routh.system.lagrangian], [c.L_routh])
    assert same(c.routh.variation.momenta, [c.L_routh.diff(v) for v in c.dq])
    for method in RouthMethod, VaccoMethod:
        with pytest.raises(ConstrainedDynamicsError, match='acceleration'):
            method(c.L + c.dq[0].diff(t)**2, c.q)


@cites(3)
@each_holonomic
def test_hamiltons_principle(c):
    """The action among curves on the constraints with the same ends."""
    family = admissible_family(c, 1)
    assert not any(along(c.rows, family))
    for e, before in zip(family.values(), c.X.values()):
        assert e != before
        for time in start, end:
            assert value_at(e, time) == value_at(before, time)
    S = action(c.routh.system.lagrangian, family)
    assert derivative(S) == 0 and S.diff(EPS) != 0
    assert derivative(action(c.L, family)) != 0     # X is no motion of L


@cites(4)
@each_model
def test_variation_of_the_action(c):
    """For any curve, with or without constraints."""
    random = Random(1)
    curve = {x: polynomial(random, 2) for x in c.q}
    E = along(free_part(c.routh), curve)
    change = bumps(c.q, 1)
    found = variation(c.L_routh, curve, change)
    assert found != 0
    assert found == integral(-dot(E, change.values()))
    # with ends that move
    change = {x: polynomial(random, 2) for x in c.q}
    p = dot(along(c.routh.variation.momenta, curve), change.values())
    assert variation(c.L_routh, curve, change) == integral(
        -dot(E, change.values())) + value_at(p, end) - value_at(p, start)


@cites(5)
@each_holonomic
def test_variations_of_positions(c):
    """Of curves on the constraints; the jacobian of the class is that of the
    differentiated rows by velocities."""
    J = c.routh.constraints_jacobian
    assert same(J, c.rows.jacobian(c.q))
    family = admissible_family(c, 1)
    change = Matrix([derivative(e).as_expr() for e in family.values()])
    assert not any(along(J*change, c.X))
    for e in along(J*Matrix([
            x.as_expr() for x in bumps(c.q, 1).values()]), c.X):
        assert e != 0
    B = at(c.routh.variation.free_directions, instant(c.X, 1))
    assert norm(at(J, instant(c.X, 1))*B) < 1e-50
    assert rank(B) == c.n - c.r


@cites(6, 20)
@each_model
def test_multipliers_for_dependent_variations(c):
    """For changes with (5) or (19) multipliers add nothing to (4).  With
    those of the motion the integral is zero for any change."""
    random = Random(1)
    free, virtual = bumps(c.q, 1), virtual_change(c, 1)
    some = {**c.X, **{e: polynomial(random, 2) for e in c.routh.lam_vec}}

    def weighted(residual, curve, change):
        return integral(-dot(along(residual, curve), change.values()))

    for method in c.routh, c.pushed_otherwise:
        left = weighted(free_part(method), c.X, virtual)
        assert left == weighted(with_reactions(method), some, virtual)
        assert (left == 0) is (method is c.routh)
        assert weighted(free_part(method), c.X, free) != (
            weighted(with_reactions(method), some, free))
    assert weighted(with_reactions(c.routh), c.on_routh, free) == 0
    assert weighted(with_reactions(c.routh), some, free) != 0


@cites(7, 21)
@each_model
def test_rouths_equations(c):
    q, lam = c.q, c.routh.lam_vec
    A = (c.rows.jacobian(q) if c.holonomic
         else c.rows.jacobian(Matrix(q).diff(t)))
    printed = euler(c.L_routh, q) - A.T*lam
    assert same(with_reactions(c.routh), printed)
    assert not any(along(with_reactions(c.routh), c.on_routh))
    assert len(lam) == c.r
    values = instant(c.on_routh, 1)
    assert close(at(c.routh.acceleration, values), accelerations(c, values))
    assert close(at(c.routh.multipliers, values),
                 column(values[x] for x in lam))
    assert norm(at(c.routh.variation.maggi_equations, values)) < 1e-50
    otherwise = c.pushed_otherwise.variation.maggi_equations
    assert norm(at(otherwise, values)) > 1e-3


# 1.2: multipliers and reactions

@cites(8, 9, 10, 19)
@each_model
def test_ideal_reactions(c):
    """R = A^T lam; for nonholonomic constraints by (19)."""
    assert same(c.routh.constraints_jacobian, c.jacobian)
    assert same(c.routh.variation.constraint_term,
                -c.jacobian.T*c.routh.lam_vec)
    reaction = along(free_part(c.routh), c.X)   # what the motion needs
    needed = dict(zip(dynamicsymbols(f'R1:{c.n + 1}'), reaction))
    values = instant({**c.on_routh, **needed}, 1)
    R = at(c.routh.constraint_forces, values)
    assert close(R, column(values[e] for e in needed))
    J, B = (at(e, values) for e in (c.jacobian,
                                    c.routh.variation.free_directions))
    lam = at(c.routh.multipliers, values)
    assert norm(R.T*B) < 1e-50                              # (8)
    assert norm((J.T*lam).T*B) < 1e-50                      # (9)
    assert close(R, J.T*lam) and norm(R) > 1e-3             # (10)
    # what does no work in the directions B is of that form
    assert close(min_norm(J.T, R), lam)
    assert rank(B) + rank(J) == c.n
    change = virtual_change(c, 1)
    assert dot(reaction, change.values()) == 0


# 1.3: multipliers in the Lagrangian

@cites(11, 23)
@each_model
def test_modified_lagrangian(c):
    """For holonomic constraints the class has L + nu f', which is L + mu f
    for mu = -nu' but for the derivative of nu f."""
    mu = c.vacco.mu_vec
    printed = c.L_vacco + dot(mu, c.rows)
    if c.holonomic:
        printed = (c.L_vacco + dot(-mu.diff(t), c.rows)
                   + dot(mu, c.rows).diff(t))
    assert same([c.vacco.variation.lagrangian], [printed])


@cites(12)
@each_holonomic
def test_stationary_in_coordinates_and_multipliers(c, r):
    mu = dynamicsymbols(f'm1:{r + 1}')
    nu = list(c.vacco.mu_vec)
    motions = {
        c.L_vacco + dot(mu, c.rows): ({**c.X, **dict(zip(mu, c.mu))}, mu),
        c.vacco.variation.lagrangian: (c.on_vacco, nu)}
    random = Random(1)
    for L, (curve, multipliers) in motions.items():
        change = bumps([*c.q, *multipliers], 1)
        for x in mu:        # the ends of mu are free
            change[x] = polynomial(random, 2)
        S = action(L, changed(curve, change))
        assert derivative(S) == 0 and S.diff(EPS) != 0
        # neither with other multipliers nor on a curve off the rows
        wrong = {**curve, multipliers[0]: curve[multipliers[0]] + TIME**2}
        assert variation(L, wrong, change) != 0
        off = {**curve, c.q[-1]: curve[c.q[-1]] + TIME}
        only = {x: change[x] for x in multipliers}
        assert variation(L, curve, only) == 0
        assert variation(L, off, only) != 0


@cites(13)
@each_holonomic
def test_variation_of_the_modified_action(c, r):
    """For any curve and any mu; ``eom`` of the class has -nu' for mu."""
    mu, nu = dynamicsymbols(f'm1:{r + 1}'), c.vacco.mu_vec
    L = c.L_vacco + dot(mu, c.rows)
    random = Random(1)
    curve = {x: polynomial(random, 2) for x in [*c.q, *mu]}
    change = bumps(c.q, 1)
    slack = [polynomial(random, 2) for _ in mu]
    printed = -euler(c.L_vacco, c.q) + (c.rows.jacobian(c.q).T*Matrix(mu))
    ours = {**curve, **{x: -antiderivative(curve[y]) for x, y in zip(nu, mu)}}
    found = variation(L, curve, {**change, **dict(zip(mu, slack))})
    assert found != 0
    rest = dot(along(c.vacco.holonomic_constraints, curve), slack)
    for bracket in along(printed, curve), along(-c.vacco.eom, ours):
        assert found == integral(dot(bracket, change.values()) + rest)


@cites(14)
@each_holonomic
def test_both_ways_agree_for_holonomic_constraints(c):
    """(14) is (7) with mu for lam, and the start of nu has no effect."""
    nu = c.vacco.mu_vec
    mu = dict(zip(nu.diff(t), -c.routh.lam_vec))
    printed = euler(c.L_vacco, c.q) - c.rows.jacobian(c.q).T*c.routh.lam_vec
    assert same(c.vacco.eom.xreplace(mu), printed)
    assert same(with_reactions(c.routh), printed)
    assert not any(along(c.vacco.eom, c.on_vacco))
    values = instant(c.on_vacco, 1)
    for shift in 0, 7:
        values.update({x: values[x] + shift for x in nu})
        assert close(at(c.vacco.acceleration, values),
                     accelerations(c, values))
        assert close(at(c.vacco.closed_form.sympy(
            'multiplier_rates'), values), -at(c.routh.multipliers, values))
        assert close(at(c.vacco.constraint_forces, values),
                     at(c.routh.constraint_forces, values))
    assert c.vacco.always_coincides is True


# 1.4: multipliers and energy

@cites(15, 17)
@each_holonomic
def test_reactions_have_a_potential(c, r):
    """With mu a function of time R = d(mu f)/dq = -d(V' - V)/dq."""
    mu = dynamicsymbols(f'm1:{r + 1}')
    gradient = Matrix([dot(mu, c.rows)]).jacobian(c.q).T
    assert same(c.rows.jacobian(c.q).T*Matrix(mu), gradient)
    curve = {**c.X, **dict(zip(mu, c.mu))}
    values = instant(curve, 1)
    assert close(at(c.routh.constraint_forces, values), at(gradient, values))


@cites(16, 17)
@each_holonomic
def test_free_motion_in_the_modified_potential(c):
    """Without constraints, in V' = V - mu f with the mu of the motion."""
    V = c.T - c.L_routh
    modified = V - dot([e.as_expr() for e in c.mu], c.rows)
    free = VaccoMethod(c.T - modified, c.q)
    assert same([free.variation.lagrangian], [c.T - modified])
    assert not any(along(free.eom, c.X))
    quadratic = dot(c.dq, [c.T.diff(v) for v in c.dq]) - c.T
    assert same([free.variation.energy], [quadratic + modified])
    values = instant(c.on_routh, 1)
    assert close(at(free.acceleration, values), accelerations(c, values))
    assert close(at(free.variation.energy, values), at(
        c.routh.variation.energy, values))


# 2.1: nonholonomic constraints, reactions: constant speed

mass, gravity, speed = symbols('m gamma c', positive=True)
x, y, z = dynamicsymbols('x y z')
v = Matrix([x, y, z]).diff(t)
CONSTANTS = {mass: Rational(13, 10), gravity: Rational(981, 100),
             speed: Rational(3)}


@functools.cache
def constant_speed(method):
    return method(mass*v.dot(v)/2 - mass*gravity*z, [x, y, z],
                  nonhol_coneqs=[v.dot(v) - speed**2])


def on_velocities(velocity, time):
    """Velocities and accelerations at a time; any position will do."""
    found = {**CONSTANTS, t: time, x: 0, y: 0, z: 0}
    for k in range(2):
        found.update(zip(v.diff(t, k), at(velocity.diff(t, k),
                                          {**CONSTANTS, t: time})))
    return found


@cites(22)
def test_reaction_that_keeps_the_speed():
    """It is along the velocity and does work, as no force of contact."""
    routh = constant_speed(RouthMethod)
    assert same(routh.constraints_jacobian, 2*v.T)
    lam, = routh.lam_vec
    assert same(with_reactions(routh), mass*v.diff(t)
                + Matrix([0, 0, mass*gravity]) - 2*lam*v)
    # z' = -c tanh(gamma t/c), at an angle of 1 to the plane of x and z
    s = gravity*t/speed
    down = tanh(s)
    along_ground = speed*sqrt(1 - down**2)
    velocity = Matrix([along_ground*cos(1), along_ground*sin(1), -speed*down])
    for time in Rational(-1, 5), Rational(2, 5):
        values = on_velocities(velocity, time)
        assert norm(at(routh.velocity_constraints, values)) < 1e-50
        assert close(at(routh.acceleration, values), at(v.diff(t), values))
        R = at(routh.constraint_forces, values)
        assert close(R, at(mass*gravity*v[2]/speed**2*v, values))
        assert close(at(routh.multipliers, values),
                     at(mass*gravity*v[2]/(2*speed**2), values))
        power = at(routh.constraint_forces.dot(v), values)
        assert close(power, at(mass*gravity*v[2], values))
        assert abs(power[0]) > 1
        values[lam] = at(routh.multipliers, values)[0]
        assert close(at(routh.variation.energy_rate, values), power)


@cites(22, 26, 27)
def test_multiplier_that_keeps_the_speed():
    """The text after (26), exactly: the inertia is m + 2 mu, and there is a
    potential mu c^2.  Vakonomic motion is another one than Routh's."""
    vacco = constant_speed(VaccoMethod)
    mu, = vacco.mu_vec
    heavier = mass + 2*mu
    assert same([vacco.variation.lagrangian],
                [heavier*v.dot(v)/2 - mass*gravity*z - mu*speed**2])
    assert same(vacco.variation.modified_mass_matrix, heavier*eye(3))
    assert same(vacco.eom, (heavier*v).diff(t) + Matrix([0, 0, mass*gravity]))
    # (m + 2 mu) r' = P for a P that gravity turns
    P = Matrix([2, -1, 3 - mass*gravity*t])
    size = sqrt(P.dot(P))
    for sign in 1, -1:
        multiplier = (sign*size/speed - mass)/2
        for time in Rational(-1, 5), Rational(2, 5):
            values = on_velocities(sign*speed*P/size, time)
            values[mu] = at(multiplier, values)[0]
            assert close(at(vacco.acceleration, values), at(v.diff(t), values))
            assert close(
                at(vacco.closed_form.sympy('multiplier_rates'), values),
                at(multiplier.diff(t), values))
            assert close(at(vacco.variation.momenta, values), at(P, values))
            routh = constant_speed(RouthMethod).acceleration
            assert not close(at(routh, values), at(v.diff(t), values), 1e-3)


# 2.2: multipliers in the Lagrangian

@cites(24)
@each_nonholonomic
def test_conditional_extremum(c):
    """Stationary in coordinates and multipliers together, and so among curves
    on the constraints, where the multipliers have no part.  The motion of
    Routh is not."""
    L, mu = c.vacco.variation.lagrangian, c.vacco.mu_vec
    random = Random(1)
    change = bumps(c.q, 1)
    for x in mu:
        change[x] = polynomial(random, 2)
    assert variation(L, c.on_vacco, change) == 0
    wrong = {**c.on_vacco, mu[0]: c.on_vacco[mu[0]] + TIME}
    assert variation(L, wrong, change) != 0
    off = {**c.on_vacco, c.q[-1]: c.X[c.q[-1]] + TIME}
    only = {x: change[x] for x in mu}
    assert variation(L, c.on_vacco, only) == 0
    assert variation(L, off, only) != 0
    family = admissible_family(c, 1)
    assert not any(along(c.rows, family))
    for e, before in zip(family.values(), c.X.values()):
        shift = derivative(e)
        assert shift != 0
        assert value_at(shift, start) == value_at(shift, end) == 0
    assert derivative(action(c.L_vacco, family)) == 0
    assert derivative(action(c.L_routh, family)) != 0


@cites(25)
@each_nonholonomic
def test_variation_with_velocity_constraints(c):
    """For any curve and any mu: as printed, and with ``eom``."""
    mu = c.vacco.mu_vec
    A = c.rows.jacobian(c.dq)
    bracket = (-euler(c.L_vacco, c.q) - A.T*mu.diff(t) - A.T.diff(t)*mu
               + c.rows.jacobian(c.q).T*mu)
    random = Random(1)
    curve = {e: polynomial(random, 2) for e in [*c.q, *mu]}
    change = bumps(c.q, 1)
    slack = [polynomial(random, 2) for _ in mu]
    found = variation(c.L_vacco + dot(mu, c.rows), curve,
                      {**change, **dict(zip(mu, slack))})
    assert found != 0
    rest = dot(slack, along(c.vacco.velocity_constraints, curve))
    for residual in bracket, -c.vacco.eom:
        assert found == integral(dot(
            along(residual, curve), change.values()) + rest)


@cites(26)
@each_nonholonomic
def test_vacco_equations(c):
    mu = c.vacco.mu_vec
    A = c.rows.jacobian(c.dq)
    printed = (euler(c.L_vacco, c.q) + A.T*mu.diff(t)
               + (A.T.diff(t) - c.rows.jacobian(c.q).T)*mu)
    assert same(c.vacco.eom, printed)
    assert not any(along(c.vacco.eom, c.on_vacco))
    values = instant(c.on_vacco, 1)
    assert close(at(c.vacco.acceleration, values), accelerations(c, values))
    assert close(at(c.vacco.closed_form.sympy('multiplier_rates'), values),
                 column(values[e] for e in mu.diff(t)))


@cites(26)
@each_nonholonomic
def test_multipliers_are_states(c):
    """What the paper does not tell: r initial values more, each with another
    motion.  In general none is Routh's."""
    mu = c.vacco.mu_vec
    assert list(c.vacco.equations_of_motion.states) == [*c.q, *c.dq, *mu]
    assert list(c.routh.equations_of_motion.states) == [*c.q, *c.dq]
    values = instant(c.on_vacco, 1)
    for e in mu:
        other = {**values, e: values[e] + Rational(1, 10)}
        assert not close(at(c.vacco.acceleration, other),
                         accelerations(c, values), 1e-4)
    assert c.vacco.always_coincides is False


@cites(27)
@each_nonholonomic
def test_constraint_term(kind, c):
    """As printed; with accelerations if and only if the constraint is
    nonlinear; minus the reactions."""
    mu, dv = c.vacco.mu_vec, c.dq.diff(t)
    A = c.rows.jacobian(c.dq)
    printed = A.T*mu.diff(t) + (A.T.diff(t) - c.rows.jacobian(c.q).T)*mu
    term = c.vacco.variation.constraint_term
    assert same(term, printed)
    if kind == 'linear':
        assert not term.has(*dv)
    else:
        bend = Matrix([dot(mu, c.rows)]).jacobian(c.dq).jacobian(c.dq)
        assert same(term.jacobian(dv), bend)
        assert same(c.vacco.variation.modified_mass_matrix - Matrix(
            [c.L.diff(e) for e in c.dq]).jacobian(c.dq), bend)
    values = instant(c.on_vacco, 1)
    assert close(at(c.vacco.constraint_forces, values), -at(term, values))


def test_every_equation_is_treated():
    assert CITED == set(range(1, 28))
