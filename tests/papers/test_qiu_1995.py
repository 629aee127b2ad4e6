"""Every numbered equation of Qiu (1995) on variable mass and constraints.

Qiu Rong, "The equation of motion for the system of the variable mass in the
non-linear non-holonomic space", received and revised in 1995.  The numbers are
the paper's, (1) to (25); ``cites`` notes them, and the last test finds every
one of them noted.

The models are two particles in space with random polynomials for positions,
masses, forces, exhaust velocities and constraints.  A constraint is made from
its solved form (2) or (16), so there are exact rational states on it; the
class gets an implicit one, which is not linear in what it was solved for.  The
equations are written with plain SymPy differentiation, ``tilde`` puts in what
a constraint was solved for, and what the class returns is compared with them
at states on the constraint, with 50 digits.  Accelerations are arbitrary: the
two sides of an equation of motion differ by what the class has as ``eom``.

Where the paper errs, the corrected formula is tested; of an erratum that
changes the equations a test shows that the printed one fails.
"""
import functools
from random import Random
from types import SimpleNamespace

import pytest
from mpmath import mp
from sympy import Matrix, Rational, Symbol, eye, symbols, zeros
from sympy.physics.mechanics import (
    Force, Particle, Point, ReferenceFrame, dynamicsymbols)

from cited import citing
from kkt import at, close, norm, rank, t
from sympy_constrained import GibbsAppellMethod, reactive_terms, thrust

cites, CITED = citing()
N = ReferenceFrame('N')


# One constraint on three coordinates, two on four; m(t) and m(q, q', t)

each_size = pytest.mark.parametrize('c', [
    1, pytest.param(2, marks=pytest.mark.slow)])
each_case = pytest.mark.parametrize(
    'c, mass', [(2, 'time'), (1, 'state')])
each_order = pytest.mark.parametrize('order', [0, 1, 2, 3])


pytestmark = pytest.mark.usefixtures('digits')


# The models.  Coordinates and their derivatives are plain symbols; the class
# has functions and speeds in their places.

q, v, a, *higher = X = [
    Matrix(symbols(f'{name}1:5')) for name in ('q', 'v', 'a', 'b', 'c', 'd')]
pi, dpi = (Matrix(symbols(f'{name}1:3')) for name in ('pi', 'dpi'))
NEXT = {x: y for low, high in [*zip(X, X[1:]), (pi, dpi)]
        for x, y in zip(low, high)}
q_class = Matrix(dynamicsymbols('q1:5'))
u_class = Matrix(dynamicsymbols('u1:5'))
pi_class = Matrix(dynamicsymbols('pi1:3'))


def names():
    """Pairs of a symbol and what the class has for it, the first of several
    being the one for speeds."""
    for i in range(4):
        yield q[i], q_class[i]
        for k in range(1, 5):
            yield X[k][i], u_class[i].diff(t, k - 1)
            yield X[k][i], q_class[i].diff(t, k)
    for i in range(2):
        yield pi[i], pi_class[i]
        yield dpi[i], pi_class[i].diff(t)


IN_SPEEDS = dict(reversed([*names()]))
IN_VELOCITIES = dict(names())


def D(e, times=1):
    """The derivative by time."""
    if not times:
        return e
    if hasattr(e, 'shape'):
        return e.applyfunc(lambda x: D(x, times))
    letters = sorted(e.free_symbols.intersection(NEXT), key=str)
    return D(e.diff(t) + sum(e.diff(x)*NEXT[x] for x in letters), times - 1)


def fraction(random):
    return Rational(random.choice([-7, -5, -3, 2, 4, 9]), 12)


def polynomial(random, letters):
    first, second, third = random.choices(letters, k=3)
    return (fraction(random) + fraction(random)*first*second
            + fraction(random)*third)


def vector(random, letters):
    return Matrix([polynomial(random, letters) for _ in range(3)])


@functools.cache
def model(c=1, mass='time', order=1, kind=''):
    """Two particles with c constraints of an order, two free coordinates.

    ``phi`` is what (2) and (16) solve the constraints for.  In a linear model
    the constraints are linear in their highest derivatives.
    """
    linear = kind == 'linear'
    random = Random(f'{c} {order}')
    n = c + 2
    x = [e[:n, :] for e in X]
    shape = [*x[0], t]
    r = [Matrix([q[(3*i + k) % n] + polynomial(random, shape)/3
                 for k in range(3)]) for i in range(2)]
    m = [2 + fraction(random)*t + t**2/5, 3 + fraction(random)*t**2]
    anything = [*x[0], *x[1], t]
    if mass == 'state':
        m = [e + polynomial(random, anything)/4
             + fraction(random)*v[0]*v[n - 1] for e in m]
    lower = [e for level in x[:order] for e in level]
    top = x[order]
    shape = [*lower, t] if linear else [*top[:2], *lower, t]
    phi = Matrix([
        polynomial(random, shape) + fraction(random)*top[0]
        + fraction(random)*top[1]*(q[0] if linear else top[0])
        + polynomial(random, [*lower, t])
        for _ in range(c)])
    w = top[2:, :] - phi
    rows = Matrix([(1 + q[0]**2/4)*e + w[0]/5 for e in w])
    if not linear:
        rows += w.multiply_elementwise(w)/3
    solved = {}
    e = phi
    for level in x[order:5]:        # (2) or (16), and what follows from it
        solved.update(zip(level[2:], e))
        e = D(e).xreplace(solved)
    dr, ddr, dm = ([D(e, k) for e in parts]
                   for parts, k in ((r, 1), (r, 2), (m, 1)))
    F, exhaust = ([vector(random, anything) for _ in r] for _ in range(2))
    R = [e*w for e, w in zip(dm, exhaust)]
    return SimpleNamespace(
        n=n, c=c, order=order, x=x, q=x[0], v=x[1], a=x[2], top=top,
        free=[e[:2, :] for e in x], bound=[e[2:, :] for e in x],
        r=r, dr=dr, ddr=ddr, m=m, dm=dm, F=F, R=R, exhaust=exhaust,
        force=[f + w - e*y for f, w, e, y in zip(F, R, m, ddr)],
        phi=phi, rows=rows, solved=solved)


def tilde(p, e):
    """The expression with what the constraints are solved for."""
    return e.xreplace(p.solved)


def rate(p, e):
    return tilde(p, D(e))


@functools.cache
def state(c=1, mass='time', order=1, kind='', seed=1):
    """An exact state on the constraints, and derivatives of any values.

    Coordinates and derivatives that the constraints determine follow from
    them.
    """
    p = model(c, mass, order, kind)
    random = Random(seed)
    found = {t: fraction(random)}
    for level in p.x[:5]:
        for x in level:
            if x not in p.solved:
                found[x] = Rational(random.randint(-99, 99), 60)
    found.update({x: e.xreplace(found) for x, e in p.solved.items()})
    return named(found)


def named(values):
    """With the names of the class."""
    return {**values, **{y: values[x] for x, y in names() if x in values}}


def moved(p, values, **levels):
    """A state with other values of v or a."""
    changed = {x: e for name, numbers in levels.items()
               for x, e in zip(getattr(p, name), numbers)}
    return named({**values, **changed})


def arrow(e, to=IN_SPEEDS):
    e = e.xreplace(to)
    return e[0]*N.x + e[1]*N.y + e[2]*N.z


LISTS = ['configuration_constraints', 'velocity_constraints',
         'acceleration_constraints', 'nonholonomic_constraints']


def particles(r, dr, m, F, exhaust, to=IN_SPEEDS, mass_to=IN_SPEEDS):
    """Bodies and loads, with the names of the class."""
    origin = Point('O')
    origin.set_vel(N, 0)
    bodies, loads = [], []
    for i, (r, dr, m, F, e) in enumerate(zip(r, dr, m, F, exhaust)):
        point = origin.locatenew(f'P{i}', arrow(r, to))
        point.set_vel(N, arrow(dr, to))
        bodies.append(Particle(f'B{i}', point, m.xreplace(mass_to)))
        loads += [Force(point, arrow(F, to)), thrust(
            point, bodies[-1].mass.diff(t), arrow(e, to))]
    return bodies, loads


def formed(*key, rows=None, where=None, **options):
    """The class, with its rows in the list for their order."""
    p = model(*key)
    u = u_class[:p.n]
    coordinates = q_class[:p.n]
    bodies, loads = particles(p.r, p.dr, p.m, p.F, p.exhaust)
    kd_eqs = [x.diff(t) - y for x, y in zip(coordinates, u)]
    if not p.order:
        coordinates, options['q_dependent'] = coordinates[:2], coordinates[2:]
    rows = p.rows if rows is None else rows
    options[where or LISTS[p.order]] = list(rows.xreplace(IN_SPEEDS))
    return GibbsAppellMethod(
        N, coordinates, u[:2], kd_eqs, u_dependent=u[2:], bodies=bodies,
        forcelist=loads, **options)


@functools.cache
def method(c=1, mass='time', order=1, kind=''):
    return formed(c, mass, order, kind)


def everywhere(*key):
    """States of a model."""
    return [state(*key)]


def same(left, right, states):
    """Whether columns agree, and are not zero, at the states."""
    left, right = Matrix(left), Matrix(right)
    return all(close(at(left, x), at(right, x)) and norm(at(right, x)) > 1e-6
               for x in states)


def differ(left, right, states):
    """Whether columns are different at every state."""
    left, right = Matrix(left), Matrix(right)
    return not any(close(at(left, x), at(right, x), 1e-9) for x in states)


def vanishes(e, states):
    return all(norm(at(e, x)) < 1e-50 for x in states)


# What the paper is written with

def gradient(e, letters):
    return Matrix([e]).jacobian(letters).T


def dotted(weights, left, right):
    """The sum over the particles of weight*left . right, a column; right has
    a column of its own for each free coordinate."""
    return sum((w*y.T*x for w, x, y in zip(weights, left, right,
                                           strict=True)),
               zeros(right[0].cols, 1))


def jacobians(vectors, letters):
    return [e.jacobian(letters) for e in vectors]


@functools.cache
def letters(*key):
    """Base vectors, energies and forces of a model of first order."""
    p = model(*key)
    free_q, free_v = p.free[:2]
    d = SimpleNamespace(**vars(p))
    d.tm = [tilde(p, e) for e in p.m]
    d.tdm = [tilde(p, e) for e in p.dm]
    d.tv = [tilde(p, e) for e in p.dr]                              # (3)
    d.ta = [tilde(p, e) for e in p.ddr]
    d.base = jacobians(d.tv, free_v)
    d.T = sum(m*e.dot(e) for m, e in zip(p.m, p.dr))/2              # (5)
    d.dT = D(d.T)
    d.tT, d.tdT = tilde(p, d.T), tilde(p, d.dT)                     # (6), (7)
    d.T_q = gradient(d.tT, free_q)
    d.slope = p.phi.jacobian(free_v)
    d.bend = rate(p, p.phi).jacobian(free_v)
    d.p_bound = tilde(p, gradient(d.T, p.bound[1]))
    one = [1, 1]
    d.QF = dotted(one, [tilde(p, e) for e in p.F], d.base)          # (9)
    d.QR = dotted(one, [tilde(p, e) for e in p.R], d.base)
    d.P = dotted(d.tdm, d.tv, d.base)
    d.basic = dotted(one, [tilde(p, e) for e in p.force], d.base)   # (4)
    return d


def terms_of_mass(p):
    """The P_s of Lagrange's equations for any mass, all coordinates."""
    found = zeros(p.n, 1)
    for m, dm, v in zip(p.m, p.dm, p.dr):
        square = v.dot(v)
        found += dm*v.jacobian(p.v).T*v - gradient(m, p.q)*square/2
        found += D(gradient(m, p.v)*square)/2
    return found


def projected(d, column):
    """Rows of free coordinates, and slopes times those of the others."""
    column = tilde(d, column)
    return column[:2, :] + d.slope.T*column[2:, :]


# First order: (4)

@cites(4)
@each_case
def test_motion(c, mass):
    """(4) and the rates of (1) hold for what the class solves.  Erratum A2:
    the base vectors are variations of Appell's and Chetaev's definition."""
    d, found = letters(c, mass), method(c, mass)
    virtual = eye(2).col_join(d.slope)
    for r, base in zip(d.r, d.base):
        assert same(base, r.jacobian(d.q)*virtual, everywhere(c, mass))
    for x in everywhere(c, mass):
        x = moving(d, found, x)
        assert norm(at(d.basic, x)) < 1e-50
        assert norm(at(D(d.rows), x)) < 1e-50
        reaction = at(found.constraint_forces, x)
        E = at(found.ingredients.unrestricted_residual, x)
        assert norm(E + reaction) < 1e-50
        assert norm(reaction) > 1e-3
        A = at(d.rows.jacobian(d.v), x)
        assert close(reaction, A.T*at(found.multipliers, x))


def moving(p, found, values):
    """A state with the accelerations of the class."""
    du = mp.lu_solve(at(found.mass_matrix, values), at(found.forcing, values))
    return moved(p, values, a=du)


# Energies: (5) to (7)

@cites(5)
@each_case
def test_kinetic_energy(c, mass):
    """(5): the second sum has rates of masses, printed as masses."""
    d, found, states = letters(c, mass), method(c, mass), everywhere(c, mass)
    assert same([found.ingredients.kinetic_energy], [d.T], states)
    assert same([found.ingredients.kinetic_energy.diff(t)], [d.dT], states)
    work = sum(m*v.dot(a) for m, v, a in zip(d.m, d.dr, d.ddr))
    assert same([d.dT], [work + sum(
        dm*v.dot(v) for dm, v in zip(d.dm, d.dr))/2], states)


@cites(6, 7, 11)
@each_case
def test_energy_on_the_constraints(c, mass):
    """(6): it has all coordinates, also those of eliminated velocities.
    (7): elimination and rate can be exchanged.  (11): its gradient."""
    d, found, states = letters(c, mass), method(c, mass), everywhere(c, mass)
    assert not d.tT.has(*d.bound[1])
    assert same([found.ingredients.kinetic_energy], [d.tT], states)
    assert same(gradient(d.tT, d.bound[0]), tilde(
        d, gradient(d.T, d.bound[0]) + d.phi.jacobian(d.bound[0]).T*gradient(
            d.T, d.bound[1])), states)
    T_u = gradient(found.ingredients.kinetic_energy, u_class[:d.n])
    assert same(found.hypersurface_basis.T*T_u, gradient(d.tT, d.free[1]),
                states)
    assert same(found.ingredients.momenta, gradient(d.T, d.v), states)
    assert same([d.tdT], [rate(d, d.tT)], states)
    assert same(d.T_q, tilde(d, gradient(d.T, d.free[0]))
                + d.phi.jacobian(d.free[0]).T*d.p_bound, states)


# MacMillan and Nielsen: (8) to (13)

def macmillan(d):
    """Left side of (8), and its right side without the P of (9)."""
    free_q, free_v = d.free[:2]
    left = rate(d, gradient(d.tT, free_v)) - d.T_q
    turning = [rate(d, b) - v.jacobian(free_q) for b, v in zip(d.base, d.tv)]
    return left, dotted(d.tm, d.tv, turning)


def extra_of_macmillan(d):
    """What (9) lacks in (8) for masses that depend on the state."""
    found = zeros(2, 1)
    for m, v in zip(d.tm, d.tv):
        found += rate(d, gradient(m, d.free[1])*v.dot(v))/2
        found -= gradient(m, d.free[0])*v.dot(v)/2
    return found


@cites(8)
@each_size
def test_masses_that_depend_on_time_alone(c):
    """Erratum A6: two terms of (8) are one; the equation is Volterra's."""
    d, found, states = letters(c), method(c), everywhere(c)
    left = rate(d, gradient(d.tT, d.free[1])) - dotted(
        d.tm, d.tv, [rate(d, b) for b in d.base]) - d.P
    for form in 'volterra', 'macmillan':
        assert same(found.classical_equations(form), left - d.QF - d.QR,
                    states)


@cites(9)
@pytest.mark.parametrize('mass', ['time', 'state'])
def test_reactive_terms(mass):
    """The P_s of all coordinates; the P of (9) is made of them for m(t)
    only.  With them the Lagrangian gives the same motion."""
    d, states = letters(1, mass), everywhere(1, mass)
    P = terms_of_mass(d)
    bodies, _ = particles(d.r, d.dr, d.m, d.F, d.exhaust,
                          to=IN_VELOCITIES, mass_to=IN_VELOCITIES)
    assert same(reactive_terms(bodies, q_class[:3], N), P, states)
    agree = same if mass == 'time' else differ
    assert agree(projected(d, P), d.P, states)
    Q = sum((r.jacobian(d.q).T*(F + R) for r, F, R in zip(d.r, d.F, d.R)), P)
    found = GibbsAppellMethod(
        d.T.xreplace(IN_VELOCITIES), q_class[:d.n],
        nonhol_coneqs=list(d.rows.xreplace(IN_VELOCITIES)),
        generalized_forces=Q.xreplace(IN_VELOCITIES))
    for x in states:
        x = moving(d, method(1, mass), x)
        assert norm(at(found.eom, x)) < 1e-50
        assert close(at(found.constraint_forces, x),
                     at(method(1, mass).constraint_forces, x))


def nielsen(d):
    """Left side of (10), and its right side without the P of (9)."""
    left = gradient(d.tdT, d.free[1]) - 2*d.T_q
    turning = [a.jacobian(d.free[1]) - 2*v.jacobian(d.free[0])
               for a, v in zip(d.ta, d.tv)]
    return left, dotted(d.tm, d.tv, turning)


def extra_of_nielsen(d):
    """What (9) lacks in (10) for masses that depend on the state."""
    free_q, free_v = d.free[:2]
    found = zeros(2, 1)
    for m, dm, v, a in zip(d.tm, d.tdm, d.tv, d.ta):
        found += gradient(m, free_v)*v.dot(a)
        found += (gradient(dm, free_v) - 2*gradient(m, free_q))*v.dot(v)/2
    return found


@cites(8, 10, 13)
def test_masses_that_depend_on_the_state():
    """Erratum A1: the P of (9) is not enough in (8), (10) and (13)."""
    d, found = letters(1, 'state'), method(1, 'state')
    states = everywhere(1, 'state')
    P = projected(d, terms_of_mass(d))
    for form, (left, right), extra in (
            ('macmillan', macmillan(d), extra_of_macmillan(d)),
            ('nielsen-10', nielsen(d), extra_of_nielsen(d)),
            ('nielsen', other_nielsen(d), P - d.P)):
        printed = left - right - d.QF - d.QR - d.P
        assert differ(printed, -d.basic, states)
        assert same(printed - extra, -d.basic, states)
        assert same(found.classical_equations(form), -d.basic, states)


@cites(12)
@each_case
def test_derivative_of_the_rate_of_energy(c, mass):
    """(12), with (4); erratum A1, for m(q, q', t) with other terms P."""
    d, found, states = letters(c, mass), method(c, mass), everywhere(c, mass)
    left = gradient(d.tdT, d.free[1])
    chain = projected(d, gradient(d.dT, d.v)) + d.bend.T*tilde(
        d, gradient(d.dT, d.bound[2]))
    assert same(left, chain, states)
    P = projected(d, terms_of_mass(d))
    right = (d.QF + d.QR + 2*projected(d, gradient(d.T, d.q))
             + d.bend.T*d.p_bound)
    assert same(left - right - P, found.eom, states)
    agree = same if mass == 'time' else differ
    assert agree(left - right - d.P, found.eom, states)


def other_nielsen(d):
    """Left side of (13), and its right side without the P of (9)."""
    left = gradient(d.tdT, d.free[1]) - 2*d.T_q
    bracket = d.bend - 2*d.phi.jacobian(d.free[0])
    return left, bracket.T*d.p_bound + 2*d.slope.T*tilde(
        d, gradient(d.T, d.bound[0]))


@cites(8, 9, 10, 13)
@each_size
@pytest.mark.parametrize('form, sides', [
    ('macmillan', macmillan), ('nielsen-10', nielsen),
    ('nielsen', other_nielsen)])
def test_equations_with_the_reactive_terms(c, form, sides):
    """(8), with rates of masses in the P of (9), printed as masses; (10):
    accelerations are in the bracket, a dot is lost in our copy; (13), printed
    with dT/dq' on the left and velocities in the bracket."""
    d, found, states = letters(c), method(c), everywhere(c)
    left, right = sides(d)
    right += d.QF + d.QR + d.P
    assert same(left - right, -d.basic, states)
    assert same(found.classical_equations(form), left - right, states)


# Appell, and the equations of the text after (14)

@cites(14)
@each_case
def test_appell(c, mass):
    """(14) for any mass, with accelerations, velocities in our copy."""
    d, found, states = letters(c, mass), method(c, mass), everywhere(c, mass)
    S = sum(m*a.dot(a) for m, a in zip(d.m, d.ddr))/2
    assert same([found.ingredients.gibbs_function], [S], states)
    left = sum((m*a.jacobian(d.free[2]).T*a
                for m, a in zip(d.tm, d.ta)), zeros(2, 1))
    assert same(gradient(tilde(d, S), d.free[2]), left, states)
    assert same(left - d.QF - d.QR, -d.basic, states)
    assert same(found.classical_equations('appell'), left - d.QF - d.QR,
                states)
    assert same(left, dotted(d.tm, d.ta, d.base), states)
    assert same(found.hypersurface_basis.T*gradient(
        found.ingredients.gibbs_function,
        [x.diff(t) for x in u_class[:d.n]]), left,
        states)


# Any order: (15) to (21)

@functools.cache
def base_vectors(*key):
    """Of the derivatives in (17), for a model of any order."""
    p = model(*key)
    level = [tilde(p, D(e, p.order)) for e in p.r]
    return jacobians(level, p.top[:2])


@cites(1, 15)
@each_order
@each_size
def test_constraints_of_any_order(c, order):
    """(1), (15): fewer than coordinates, not linear in the highest
    derivatives; a derivative of the rows has the same coefficients."""
    p, found = model(c, 'time', order), method(c, 'time', order)
    states = everywhere(c, 'time', order)
    assert vanishes(p.rows, states)
    assert found.constraint_orders == (order,)*c
    assert same(found.constraints_jacobian, p.rows.jacobian(p.top), states)
    raised = D(p.rows).jacobian(p.x[order + 1])
    assert same(raised, p.rows.jacobian(p.top), states)
    if order == 1:
        away = [moved(p, x, v=[1, 2, 3, 4], a=[2, 3, 1, 4]) for x in states]
        assert same(found.velocity_constraints, p.rows, away)
        assert same(found.acceleration_constraints, D(p.rows), away)


@cites(2, 16)
@each_order
@each_size
def test_dependent_derivatives(c, order):
    """(2), (16): of the last coordinates, not of those printed, s + beta with
    s up to n; on the right only free derivatives of the order.  The class does
    not solve; its basis has the derivatives."""
    p, found = model(c, 'time', order), method(c, 'time', order)
    assert tilde(p, p.rows).expand().is_zero_matrix
    assert not p.phi.has(*p.top[2:])
    assert same(found.hypersurface_basis,
                eye(2).col_join(p.phi.jacobian(p.top[:2])),
                everywhere(c, 'time', order))


@cites(3, 17)
@each_order
@each_size
def test_base_vectors_of_any_order(c, order):
    """(3), (17): they are made of the same partial velocities.  Without the
    dot in (3), as printed, they are zero."""
    p, found = model(c, 'time', order), method(c, 'time', order)
    states = everywhere(c, 'time', order)
    for r, body, base in zip(p.r, found.bodies,
                             base_vectors(c, 'time', order)):
        assert (D(r, order).jacobian(p.top)
                - r.jacobian(p.q)).expand().is_zero_matrix
        partial = Matrix.hstack(*(
            e.to_matrix(N)
            for e in found.ingredients.partial_velocities[body]))
        assert same(partial*found.hypersurface_basis, base, states)
        if order == 1:
            assert tilde(p, r).jacobian(p.top[:2]).is_zero_matrix


@cites(4, 18, 19)
@each_case
@each_order
def test_basic_equations_of_any_order(c, order, mass):
    """(4), (18), (19), with accelerations.  The reactive force is m'u."""
    key = c, mass, order
    p, found, states = model(*key), method(*key), everywhere(*key)
    base, one = base_vectors(*key), [1, 1]
    QF, QR = (dotted(one, [tilde(p, e) for e in forces], base)
              for forces in (p.F, p.R))
    inertia = dotted(p.m, p.ddr, base)
    assert same(-found.eom, QF + QR - inertia, states)


@cites(18)
@each_case
@pytest.mark.parametrize('order', [0, 1, 2])
def test_raised_order(c, order, mass):
    """(18) is the same for a differentiated constraint."""
    key = c, mass, order
    p, states = model(*key), everywhere(*key)
    raised = formed(*key, rows=D(p.rows), where=LISTS[min(order + 1, 2)])
    assert raised.constraint_orders == (order + 1,)*c
    assert same(raised.eom, method(*key).eom, states)


@cites(18)
@each_size
def test_third_order_leaves_equations_of_second_order(c):
    """(18), erratum A4: initial accelerations are not free, and each
    constraint brings a number of its own."""
    found = method(c, 'time', 3, 'linear')
    p = model(c, 'time', 3, 'linear')
    u = u_class[:p.n, :]
    assert not found.eom.has(*u.diff(t, 2))
    assert same(-found.eom, dotted(
        [1, 1], p.force, base_vectors(c, 'time', 3, 'linear')),
        everywhere(c, 'time', 3, 'linear'))
    states = found.equations_of_motion.states
    assert list(states)[:3*p.n] == [*q_class[:p.n], *u, *u.diff(t)]
    assert len(states) - p.n == 2*p.n + c       # p.n equations E + A^T lam


@cites(20)
@each_case
def test_holonomic_constraints(c, mass):
    """(20), m = 0: they are the equations of the free coordinates alone."""
    key = c, mass, 0
    p, found, states = model(*key), method(*key), everywhere(*key)
    r = [tilde(p, e) for e in p.r]
    force = [tilde(p, F + R) - tilde(p, m)*D(e, 2)
             for e, m, F, R in zip(r, p.m, p.F, p.R)]
    free = dotted([1, 1], force, jacobians(r, p.q[:2]))
    assert not free.has(*p.q[2:], *p.v[2:], *p.a[2:])
    assert same(-found.eom, free, states)
    assert same(found.holonomic_constraints, p.rows,
                [moved(p, x, q=[1, 2, 3, 4]) for x in states])
    for x in states:
        x = moving(p, found, x)
        assert norm(at(free, x)) < 1e-50
        assert norm(at(D(p.rows, 2), x)) < 1e-50


# Quasi-velocities

def quasi():
    """Free derivatives, not linear in the quasi-velocities."""
    return Matrix([pi[0] + pi[1]**2/5 + q[1]*pi[1]/3, pi[1] + q[0]*t/4])


@cites(21)
@each_case
def test_quasi_velocities(c, mass):
    """(21): fewer speeds than coordinates, no constraints any more."""
    d, chi = letters(c, mass), quasi()
    velocity = chi.col_join(d.phi.xreplace(dict(zip(d.free[1], chi))))

    def put_in(e):
        return e.xreplace(dict(zip(d.v, velocity)))

    dr, F, exhaust = ([put_in(e) for e in parts]
                      for parts in (d.dr, d.F, d.exhaust))
    bodies, loads = particles(d.r, dr, d.m, F, exhaust, mass_to=IN_VELOCITIES)
    coordinates = q_class[:d.n]
    found = GibbsAppellMethod(
        N, coordinates, pi_class[:], [x.diff(t) - y for x, y in zip(
            coordinates, velocity.xreplace(IN_SPEEDS))],
        bodies=bodies, forcelist=loads)
    states = []
    random = Random(1)
    x = {e: fraction(random) for e in [t, *d.q, *pi, *dpi]}
    x.update({y: e.xreplace(x) for y, e in zip(d.v, velocity)})
    x.update({y: e.xreplace(x) for y, e in zip(d.a, D(velocity))})
    states.append(named(x))
    base = jacobians(dr, pi)
    printed = dotted([1, 1], d.force, base)
    assert same(-found.eom, printed, states)
    assert same(-found.eom, chi.jacobian(pi).T*d.basic, states)
    assert differ(-found.eom, d.basic, states)
    for form in ('kane', 'appell', 'maggi', 'boltzmann-hamel', 'volterra'):
        assert same(found.classical_equations(form), -printed, states)


# The variational principle: (22) to (25)

EPS = Symbol('eps')


def varied(p, e, change):
    """First order in a change of coordinates and derivatives."""
    e = e.xreplace({x: x + EPS*dx for x, dx in change.items()})
    return e.diff(EPS).xreplace({EPS: Rational(0)})


def change_of(letters, seed=1):
    random = Random(seed)
    return {x: fraction(random) for x in letters}


@cites(22, 23, 24)
@each_size
def test_variations_of_velocities(c):
    """(22): all coordinates are fixed, the free velocities are not; of all
    velocities A du = 0.  (23), (24): those of the particles are along the
    base vectors."""
    d, found, states = letters(c), method(c), everywhere(c)
    change = change_of(d.free[1])
    dv = tilde(d, d.v)
    dv = varied(d, dv, change)
    assert list(dv[:2]) == list(change.values())
    w = Matrix([*change.values()])
    assert same(dv, found.hypersurface_basis*w, states)
    for r, v, base in zip(d.r, d.tv, d.base):
        assert varied(d, r, change).is_zero_matrix
        assert same(varied(d, v, change), base*w, states)
    for x in states:
        assert norm(at(found.constraints_jacobian*dv, x)) < 1e-50
        assert norm(at(varied(d, d.rows, dict(zip(d.v, dv))), x)) < 1e-50
        change = dict(zip(d.q, dv))     # for coordinates it is no variation
        assert norm(at(varied(d, d.rows, change), x)) > 1e-3


@cites(25)
@each_order
@each_size
def test_names_of_the_principle(c, order):
    """(25), erratum A5: with velocities it is Jourdain's, with accelerations
    Gauss's; the sum is the same.  D'Alembert's and Lagrange's has positions,
    whose variations the constraints do not give for m > 0."""
    key = c, 'time', order
    p, found, states = model(*key), method(*key), everywhere(*key)
    change = change_of(p.top[:2])
    w = Matrix([*change.values()])
    level = [tilde(p, D(e, order)) for e in p.r]
    printed = sum(varied(p, e, change).dot(f) for e, f in zip(level, p.force))
    assert same([printed], [-found.eom.dot(w)], states)
    anything = change_of(p.q)
    work = sum(varied(p, r, anything).dot(f) for r, f in zip(p.r, p.force))
    assert same([work], [found.ingredients.unrestricted_residual.dot(
        [*anything.values()])], states)
    if order < 2:
        for x in states:
            x = moving(p, found, x)
            assert norm(at(printed, x)) < 1e-50
            assert norm(at(work, x)) > 1e-3
            assert close(at(work, x), -at(found.constraint_forces.dot(
                [*anything.values()]), x))


# What the text says of the reactions

def another(d):
    """Directions of reactions, which are not orthogonal."""
    return zeros(2, d.c).col_join(eye(d.c)) + Matrix(
        d.n, d.c, lambda i, j: Rational(i - j, 5))


@cites(4)
@each_case
def test_servo_reactions(c, mass):
    """(4), erratum A3: with their directions W, E + W lam = 0.  The part along
    the hypersurface is proportional to lam, so it cannot be given before;
    once lam is known (4) holds with it."""
    d, states = letters(c, mass), everywhere(c, mass)
    W = another(d)
    found = formed(c, mass, reaction_matrix=W)
    Z = found.hypersurface_basis
    basis = method(c, mass).hypersurface_basis
    E = sum((r.jacobian(d.q).T*f for r, f in zip(d.r, d.force)), zeros(d.n, 1))
    for x in states:
        assert norm(at(W.T*Z, x)) < 1e-50 and rank(at(Z, x)) == d.n - c
        assert close(at(-found.eom, x), at(Z.T*E, x))
        x = moving(d, found, x)
        lam = at(found.multipliers, x)
        reaction = at(W, x)*lam
        assert norm(at(E, x) + reaction) < 1e-50
        assert close(at(found.constraint_forces, x), reaction)
        along = at(basis, x).T*reaction
        assert norm(along) > 1e-3
        assert norm(at(d.basic, x) + along) < 1e-50


def test_every_equation_is_treated():
    assert CITED == set(range(1, 26))
