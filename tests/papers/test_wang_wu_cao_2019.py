"""Every numbered equation of Wang, Wu and Cao (2019) on linear mappings.

Y. Wang, X. Wu and H. Cao, "Linear mapping method for holonomic rheonomic
systems", Journal of Dynamics and Control, doi 10.6052/1672-6553-2019-056.
The numbers are the paper's, (1) to (57); ``cites`` notes them, and the last
test finds every one of them noted.

Equations (1) to (20) are general.  They are tried on one and on two particles
with a constraint ``t = f(x)`` and three random mappings: one that is not
integrable, one that is, and one with a block diagonal metric.  The letters of
the paper are numbers at a state on the constraint, made by plain
differentiation of x, f and the mapping; what the class returns is evaluated
there too, with 50 digits.  Equations (21) to (57) are the two examples.

In the paper the last quasi-velocity is 1 and its row has no drift; in the
class it is 0 and its drift is -1.  ``p.u`` is the paper's.  Where the paper
errs, a test shows that the printed formula fails and the corrected one holds.
"""
import functools
from random import Random
from types import SimpleNamespace

import pytest
from mpmath import mp
from sympy import (
    Matrix, Rational, atan, cos, diag, exp, eye, sin, sqrt, symbols, tan,
    zeros)
from sympy.physics.mechanics import dynamicsymbols

from cited import citing
from kkt import Reference, at, close, norm, t
from sympy_constrained import LinearMappingMethod

KINDS = ('nonintegrable', 'integrable', 'block')
cites, CITED = citing()


def each(*kinds):
    return pytest.mark.parametrize('kind, particles', [
        pytest.param(kind, count, marks=[pytest.mark.slow]*(count > 1))
        for kind in kinds for count in (1, 2)])


each_model = each(*KINDS)


pytestmark = pytest.mark.usefixtures('digits')


def flat(array):
    """The entries of a SymPy array as one column."""
    return Matrix(len(array), 1, list(array.reshape(len(array))))


def nested(array, values):
    """The numbers of a cubic SymPy array, as lists."""
    entries, size = iter(at(flat(array), values)), array.shape[0]
    return [[[next(entries) for _ in range(size)] for _ in range(size)]
            for _ in range(size)]


def spread(lists):
    return mp.matrix([e for rows in lists for row in rows for e in row])


def contract(Gamma, u, v):
    """``Gamma[s][m][n]*u[m]*v[n]``."""
    size = range(len(u))
    return mp.matrix([mp.fsum(rows[m][n]*u[m]*v[n] for m in size
                              for n in size) for rows in Gamma])


def small(x):
    return norm(x) < mp.mpf(10)**-50


# The general model

@functools.cache
def model(kind, particles):
    """Particles in space, a constraint t = f(x), and a mapping."""
    n = 3*particles
    random = Random(2019 + particles)
    x = dynamicsymbols(f'x1:{n + 1}')
    v = Matrix(x).diff(t)

    def little():
        first, second = random.sample(x, 2)
        return Rational(random.choice([-5, -3, -2, 2, 3, 4]), 11)*(
            random.choice([sin(first), first*second, first*cos(second)]))

    f = x[-1] + x[0]*x[1]/3 + sin(x[1])/4
    slope = Matrix([f]).jacobian(x)
    masses = [Rational(7, 4), Rational(3, 5)]
    M = diag(*(masses[(i - 1)//3] for i in range(1, n + 1)))        # (1)
    F = Matrix([little() + little()*v[i - 1]/2 + t*v[i]/3 for i in range(n)])
    phi = Matrix([x[i] + x[i]*x[i - 1]/5 + sin(x[i + 1])/4
                  for i in range(n - 1)] + [f])
    a = b = None
    if kind == 'block':
        free = eye(n)[:, :-1]
        free[-1, :] = -slope[:, :-1]/slope[-1]
        free *= diag(*(1 + little()/3 for _ in range(n - 1)))
        last = M.inv()*slope.T
        b = free.row_join(last/(slope*last)[0])
    elif kind == 'integrable':
        a = phi.jacobian(x)
    else:
        a = (eye(n)[:-1, :] + Matrix(n - 1, n, lambda i, j: (
            little() if random.random() < 2/n else 0))).col_join(slope)
    return SimpleNamespace(
        n=n, x=list(x), v=v, f=f, slope=slope, M=M, F=F, a=a, b=b, phi=phi,
        T=(v.T*M*v)[0]/2, us=list(dynamicsymbols(f'u1:{n}')))


@functools.cache
def method(kind, particles, scale=1, **options):
    """The class, for the constraint ``scale*(f - t) = 0``."""
    m = model(kind, particles)
    if m.b is not None:
        options['inverse_mapping'] = m.b
    else:
        options['mapping'] = list((m.a*m.v)[:-1, :])
    return LinearMappingMethod(
        m.T, m.x, hol_coneqs=[scale*(m.f - t)], us=m.us,
        generalized_forces=list(m.F), **options)


@functools.cache
def letters(kind, particles, seed):
    """The letters of the paper as numbers, at a state on the constraint.

    ``db[m][n]`` is the derivative of the column b_m along b_n.  The
    accelerations are those of an independent reference.
    """
    m, c = model(kind, particles), method(kind, particles)
    n, size = m.n, range(m.n)
    with mp.workdps(70):
        reference = Reference.lagrange(m.T, m.x, hol=[m.f - t], Q=m.F)
        values = reference.admissible({}, seed)
        exact = reference.solve(values)
        p = SimpleNamespace(m=m, n=n, c=c, size=size, t=values[t])
        p.v, p.M, p.F, p.slope = (
            at(e, values) for e in (m.v, m.M, m.F, m.slope))
        p.w, p.lam = exact.acceleration, exact.lam[0]
        given = m.a if m.b is None else m.b
        number, slopes = at(given, values), [
            at(given.diff(x), values) for x in m.x]
        inverse = number**-1
        others = [-inverse*d*inverse for d in slopes]
        (p.a, da), (p.b, db) = (
            ((number, slopes), (inverse, others))[::1 if m.b is None else -1])
        p.db = [[sum((db[k][:, i]*p.b[k, j] for k in size), mp.matrix(n, 1))
                 for j in size] for i in size]
        p.rate = sum((da[k]*p.v[k] for k in size), mp.matrix(n, n))
        p.u = p.a*p.v
        p.du = p.a*p.w + p.rate*p.v
        p.g = p.b.T*p.M*p.b
        p.lift = p.g**-1*p.b.T*p.M
        p.pi = at(m.phi, values)
        p.values = {**values, **dict(zip(m.us, p.u))}
        p.at = lambda e: at(e, p.values)
        # the same from the class
        p.A, p.B, p.G_inv, p.N = (p.at(e) for e in (
            c.mapping.a, c.mapping.b, c.space.metric_inv, c.mapping.N))
        p.Gamma = nested(c.space.connection, p.values)
        p.U = mp.matrix([*p.u[:-1, 0], 1])
        p.dU = mp.matrix([*p.at(c.rhs())[n:, 0], 0])
        p.Lam = p.at(c.multipliers)[0]
    return p


def bent(p, u=None):
    """``b_m,n`` times two velocities, as in (11)."""
    u = p.U if u is None else u
    return sum((p.db[i][j]*u[i]*p.U[j] for i in p.size for j in p.size),
               mp.matrix(p.n, 1))


def covariant(p):
    """(14), corrected."""
    return p.dU + contract(p.Gamma, p.U, p.U)


def undotted(p):
    """(14) as printed: D(pi)/dt = pi' + Gamma pi pi'."""
    return p.U + contract(p.Gamma, p.pi, p.U)


def applied(p):
    return p.G_inv*p.B.T*p.F


def reactive(p):
    return p.G_inv*p.B.T*p.slope.T*p.Lam


def newton(p):
    return p.M**-1*(p.F + p.slope.T*p.Lam)


# What holds as printed.  Each entry: the number, then pairs that are equal,
# what the class returns and what the paper prints.

AS_PRINTED = {
    5: lambda p: [(p.at(Matrix([p.m.f])), mp.matrix([p.t])),
                  (p.A[p.n - 1:, :]*p.v, mp.matrix([1]))],
    6: lambda p: [(p.A[p.n - 1:, :], p.slope),
                  (p.at(p.c.constraints_jacobian), p.slope),
                  (p.at(p.c.mapping.constraints_drift), mp.matrix([-1]))],
    8: lambda p: [(p.at(p.c.space.metric), p.g)],
    9: lambda p: [(spread(p.Gamma), spread(
        [[[(p.lift[s, :]*p.db[i][j])[0] for j in p.size] for i in p.size]
         for s in p.size]))],
    10: lambda p: [(newton(p), p.w),
                   (p.at(p.c.constraint_forces), p.slope.T*p.lam)]}


@cites(*AS_PRINTED)
@each_model
@pytest.mark.parametrize('number', AS_PRINTED, ids='({})'.format)
def test_holds_as_printed(number, kind, particles):
    for ours, printed in AS_PRINTED[number](letters(kind, particles, 1)):
        assert close(ours, printed)
        assert norm(printed) > 1e-6         # a statement about something


# Lost dots.  Each entry: the number, what it is about, what is printed and
# what is right.  Undotted pi has values where the mapping is integrable.

LOST_DOTS = {
    4: lambda p: (p.A*p.v, p.pi, p.U),
    7: lambda p: (p.at(Matrix([p.c.kindiffdict()[v] for v in p.m.v])),
                  p.B*p.pi, p.B*p.U),
    11: lambda p: (p.w, p.B*p.U + bent(p, p.pi), p.B*p.dU + bent(p)),
    12: lambda p: (newton(p), p.B*p.U + bent(p, p.pi), p.B*p.dU + bent(p)),
    13: lambda p: (applied(p) + reactive(p), undotted(p), covariant(p)),
    14: lambda p: (p.a*p.w, undotted(p), covariant(p)),
    15: lambda p: ((applied(p) + reactive(p))[:-1, 0], undotted(p)[:-1, 0],
                   covariant(p)[:-1, 0]),
    16: lambda p: ((applied(p) + reactive(p))[p.n - 1:, 0],
                   undotted(p)[p.n - 1:, 0], covariant(p)[p.n - 1:, 0]),
    20: lambda p: ((applied(p) + reactive(p))[p.n - 1:, 0],
                   contract(p.Gamma, p.pi, p.U)[p.n - 1:, 0],
                   contract(p.Gamma, p.U, p.U)[p.n - 1:, 0])}


@cites(*LOST_DOTS)
@each_model
@pytest.mark.parametrize('number', LOST_DOTS, ids='({})'.format)
def test_holds_with_the_dots(number, kind, particles):
    exact, printed, correct = LOST_DOTS[number](letters(kind, particles, 1))
    assert close(correct, exact)
    if kind == 'integrable':
        assert not close(printed, exact, 1e-3)


@cites(1)
def test_parent_is_flat():
    """The masses by threes, and no connection.  The garbled index of the mass
    is [(i - 1)/3] + 1."""
    m = model('block', 2)
    w = dynamicsymbols('w1:7')
    free = LinearMappingMethod(m.T, m.x, us=w, mapping=list(m.v))
    masses = [Rational(7, 4)]*3 + [Rational(3, 5)]*3
    assert free.space.metric == free.mass_matrix == diag(*masses)
    assert flat(free.space.connection_ext).is_zero_matrix
    assert free.space.is_integrable is True


@cites(2, 3)
@each('nonintegrable', 'integrable')
def test_form_of_the_constraint_does_not_matter(kind, particles):
    """A multiple of f - t has another multiplier and the same reaction."""
    scale = 2 + model(kind, particles).x[0]**2
    other = method(kind, particles, scale)
    p = letters(kind, particles, 1)
    factor = p.at(Matrix([scale]))[0]
    assert small(p.at(other.holonomic_constraints))
    assert close(p.at(other.constraints_jacobian), factor*p.slope)
    assert close(p.at(other.rhs()), p.at(p.c.rhs()))
    assert close(p.at(other.constraint_forces), p.slope.T*p.lam)
    assert close(p.at(other.multipliers)*factor, mp.matrix([p.lam]))
    assert not close(p.at(other.multipliers), mp.matrix([p.lam]), 1e-3)


@cites(9)
@each_model
def test_partial_derivatives_in_the_connection_are_derivations(
        kind, particles):
    """With coordinates q, b_m,n would be symmetric.  It is so where the
    mapping is integrable, and otherwise the torsion is the difference."""
    p = letters(kind, particles, 1)
    swapped = spread([[[p.Gamma[s][j][i] for j in p.size]
                       for i in p.size] for s in p.size])
    gaps = spread([[list(p.a*(p.db[i][j] - p.db[j][i])) for j in p.size]
                   for i in p.size])
    torsion = nested(p.c.space.torsion, p.values)
    torsion = spread([[[torsion[s][i][j] for s in p.size]
                       for j in p.size] for i in p.size])
    assert norm(torsion - gaps) < 1e-50
    assert small(gaps) is (kind == 'integrable')
    assert close(spread(p.Gamma), swapped, 1e-6) is (kind == 'integrable')
    assert p.c.space.is_integrable is (kind == 'integrable')
    assert p.c.is_holonomic is True


@each_model
def test_time_as_last_and_as_additional_index(kind, particles):
    """Gamma u u with u^n = 1, the paper's, and with u^0 = 1, u^n = 0."""
    p = letters(kind, particles, 1)
    extended = nested(p.c.space.connection_ext, p.values)
    u = mp.matrix([1, *p.U[:-1, 0], 0])
    assert close(contract(extended, u, u)[1:, 0], contract(p.Gamma, p.U, p.U))


@cites(17)
@each_model
def test_block_diagonal_metric(kind, particles):
    """A choice; completion='orthogonal' makes it without another motion."""
    p = letters(kind, particles, 1)
    completed = method(kind, particles, completion='orthogonal')
    mixed = p.at(p.c.space.metric)[:-1, p.n - 1]
    assert small(mixed) is (kind == 'block')
    assert norm(mixed) > 1e-3 or kind == 'block'
    assert p.c.space.is_block_diagonal is (kind == 'block')
    assert small(p.at(completed.space.metric)[:-1, p.n - 1])
    assert completed.space.is_block_diagonal is True
    for name in 'mass_matrix', 'forcing', 'multipliers':
        assert close(p.at(getattr(completed, name)), p.at(getattr(p.c, name)))


@cites(15, 18, 19)
@each_model
def test_reaction_leaves_the_raised_rows_if_block_diagonal(kind, particles):
    """(18) and (19) need (17); without it (19) is off by g^an lam."""
    p = letters(kind, particles, 1)
    projected = p.G_inv*p.B.T*p.slope.T
    assert close(projected, p.G_inv[:, p.n - 1])
    assert small(projected[:-1, 0]) is (kind == 'block')
    left, right = covariant(p)[:-1, 0], applied(p)[:-1, 0]
    assert close(left, right, 1e-6) is (kind == 'block')
    assert close(left - p.G_inv[:-1, p.n - 1]*p.lam, right)


@cites(13, 19)
@each_model
def test_lowered_rows_have_no_reaction_in_any_case(kind, particles):
    """g_rs D(pi'^s)/dt = F_r for the free rows; these are the equations of
    the class."""
    p = letters(kind, particles, 1)
    g = p.at(p.c.space.metric)
    assert close((g*covariant(p))[:-1, 0], (p.B.T*p.F)[:-1, 0])
    free = p.du[:-1, 0]
    assert close(p.at(p.c.mass_matrix), g[:-1, :-1])
    assert close(p.at(p.c.mass_matrix)*free, p.at(p.c.forcing))


@cites(20)
@each_model
def test_multiplier_from_the_last_row(kind, particles):
    p = letters(kind, particles, 1)
    left = contract(p.Gamma, p.U, p.U)[p.n - 1]
    found = (left - applied(p)[p.n - 1])/p.G_inv[p.n - 1, p.n - 1]
    assert close([found], [p.lam])
    assert close([p.Lam], [p.lam])
    assert close(p.at(Matrix([p.c.constraint_power])), [p.lam])


@each('integrable')
def test_quasi_coordinates_of_an_integrable_mapping(kind, particles):
    """Remark 4: they are coordinates, here phi up to constants."""
    c, m = method(kind, particles), model(kind, particles)
    one, two = (at(Matrix(c.space.quasi_coordinates) - m.phi,
                   letters(kind, particles, seed).values) for seed in (1, 2))
    assert norm((one - two)[:-1, 0]) < 1e-50
    values = letters(kind, particles, 1).values
    assert small(at(c.space.quasi_coordinates[-1], values))       # f - t


# The examples

x1, x2, x3 = x = dynamicsymbols('x1:4')
v1, v2, v3 = v = [e.diff(t) for e in x]
u1, u2 = us = dynamicsymbols('u1:3')
g, theta, c1, c2, c3, c4, c5 = symbols('g theta c1:6')
q1, q2, w1, w2 = symbols('q1 q2 w1 w2')         # and their derivatives
r = sqrt(x1**2 + x2**2)
T = sum(e**2 for e in v)/2
PRINTED_50 = Matrix([[-x2/r, 0, x1/r], [x1/r, 0, x2/r], [0, 1, 0]])
FORCES = {1: (g*sin(theta), 0, -g*cos(theta)),
          2: (-x2/(t + 1), x1/(t + 1), -g)}
CONSTANTS = {g: Rational('9.81'), theta: Rational(2, 5), c1: Rational(7, 10),
             c2: Rational(9, 10), c3: Rational(-1, 3), c4: Rational(3, 10),
             c5: Rational(5, 4)}


@functools.cache
def example(name):
    """The class for a solution: the second of example 1 ('one'), the second
    and third of example 2.  'turning' is the first example with a constraint
    and a row that have no singular points."""
    number, constraint, mapping = {
        'one': (1, atan(x2/x1) - t, {'mapping': [r.diff(t), v3]}),
        'turning': (1, x1*sin(t) - x2*cos(t), {
            'mapping': [v1*cos(t) + v2*sin(t), v3]}),
        'two': (2, r - 1 - t, {'mapping': [atan(x2/x1).diff(t), v3]}),
        'three': (2, r - 1 - t, {'inverse_mapping': PRINTED_50})}[name]
    return LinearMappingMethod(
        T, x, hol_coneqs=[constraint], us=us,
        generalized_forces=list(FORCES[number]), **mapping)


# (25) and (40)
SURFACE = {1: (q1*cos(t), q1*sin(t), q2),
           2: ((t + 1)*cos(q1), (t + 1)*sin(q1), q2)}
psi = Rational(1, 2) + (t**2 - 2*c4)/(2*(t + 1))


def rate(e):
    """Along q1' = w1 and q2' = w2."""
    return e.diff(t) + e.diff(q1)*w1 + e.diff(q2)*w2


def on_surface(name, seed, sign=1):
    """A random state with accelerations of no particular motion."""
    random, number = Random(seed), 1 if name == 'one' else 2

    def draw(low, high):
        return Rational(random.randint(1000*low, 1000*high), 1000)

    values = {**CONSTANTS, t: draw(0, 1), q1: sign*draw(1, 2),
              q2: draw(-2, 2), w1: draw(-2, 2), w2: draw(-2, 2),
              u1.diff(t): draw(-2, 2), u2.diff(t): draw(-2, 2)}
    for names, formulas in ((x, SURFACE[number]),
                            (v, map(rate, SURFACE[number])),
                            (us, ((t + 1)*w1 if name == 'three' else w1, w2))):
        values.update((name, at(e, values)[0])
                      for name, e in zip(names, formulas))
    return values


def agree(ours, printed, values, rtol=1e-50):
    return close(at(Matrix(ours), values), at(Matrix(printed), values), rtol)


def array(components, size=3):
    """A column like ``flat``, of components ``{(s, m, n): value}``."""
    entries = zeros(size**3, 1)
    for (s, m, n), value in components.items():
        entries[((s - 1)*size + m - 1)*size + n - 1] = value
    return entries


def along(path, speeds, time):
    """Values on a solution: x, x', x'', u, u' at a time."""
    values = {**CONSTANTS, t: time}
    found = dict(values)
    for names, formulas in (x, path), (us, speeds):
        for name, e in zip(names, formulas):
            for k in range(3):
                found[name.diff(t, k)] = at(e.diff(t, k), values)[0]
    return found


def obeys(c, values):
    """Whether a method of the class has this motion."""
    rates = Matrix([c.kindiffdict()[e] for e in v])
    return (small(at(c.eom, values)) and small(at(c.holonomic_constraints,
                                                  values))
            and agree(rates, v, values))


# What holds as printed at any state on the surface: which method, what it
# returns, what the paper prints.

def rates(c):
    return {e: c.kindiffdict()[e] for e in v}


def kinetic(c):
    return [T.xreplace(rates(c))]


def mapped_forces(number, c):
    return c.mapping.N.T*Matrix(FORCES[number])


def coordinate(c, row):
    """The last one is t in the paper, zero in the class."""
    return c.space.potential(row) + (t if row == 3 else 0)


sine, cosine = g*sin(theta), g*cos(theta)
a1, a2 = (u.diff(t) for u in us)
STATEMENTS = {
    22: ('one', lambda c: (
        c.constraints_jacobian, Matrix([[-x2, x1, 0]])/r**2)),
    23: ('one', lambda c: (c.system.Q, FORCES[1])),
    24: ('one', lambda c: ([coordinate(c, 1), coordinate(c, 2)], (q1, q2))),
    26: ('one', lambda c: (kinetic(c), [(w1**2 + q1**2 + w2**2)/2])),
    27: ('one', lambda c: (mapped_forces(1, c), (sine*cos(t), -cosine))),
    28: ('one', lambda c: (c.eom, (a1 - q1 - sine*cos(t), a2 + cosine))),
    30: ('one', lambda c: (Matrix(FORCES[1]) + c.constraint_forces, (
        sine - c.multipliers[0]*x2/(x1**2 + x2**2),
        c.multipliers[0]*x1/(x1**2 + x2**2), -cosine))),
    31: ('one', lambda c: (c.multipliers, [(
        2*v1*v2*(x1**2 - x2**2) - 2*x1*x2*(v1**2 - v2**2))/(x1**2 + x2**2)
        + sine*x2])),
    33: ('one', lambda c: (
        [coordinate(c, k) for k in (1, 2, 3)], (r, x3, atan(x2/x1)))),
    35: ('one', lambda c: (c.space.metric, diag(1, 1, x1**2 + x2**2))),
    39: ('two', lambda c: ([coordinate(c, 2)], [q2])),
    41: ('two', lambda c: (
        kinetic(c), [((t + 1)**2*w1**2 + w2**2 + 1)/2])),
    42: ('two', lambda c: (mapped_forces(2, c), (t + 1, -g))),
    43: ('two', lambda c: (
        diag(1/(t + 1), 1)*c.eom, ((t + 1)*a1 + 2*w1 - 1, a2 + g))),
    46: ('two', lambda c: (
        c.mapping.b, [[-x2, 0, x1/r], [x1, 0, x2/r], [0, 1, 0]])),
    47: ('two', lambda c: (c.space.metric, diag(x1**2 + x2**2, 1, 1))),
    48: ('two', lambda c: (flat(c.space.connection), array({
        (1, 1, 3): 1/r, (1, 3, 1): 1/r, (3, 1, 1): -r}))),
    49: ('two', lambda c: (
        diag(1/(t + 1), 1)*c.eom, ((t + 1)*a1 + 2*u1 - 1, a2 + g))),
    50: ('three', lambda c: (c.mapping.b, PRINTED_50)),
    51: ('three', lambda c: (c.space.metric, eye(3))),
    52: ('three', lambda c: (flat(c.space.connection), array({
        (1, 3, 1): 1/r, (3, 1, 1): -1/r})))}


@cites(*STATEMENTS)
@pytest.mark.parametrize('name', STATEMENTS, ids='({})'.format)
def test_example_as_printed(name):
    which, sides = STATEMENTS[name]
    ours, printed = sides(example(which))
    assert agree(ours, printed, on_surface(which, 1))


@cites(21, 22, 25)
@pytest.mark.parametrize('sign', [1, -1])
def test_plane_of_the_first_example(sign):
    """It has turned by t, not by theta, (21).  (22) is right as long as
    atan does not jump; the regular constraint is so always."""
    one, turning = example('one'), example('turning')
    values = on_surface('one', 1, sign)
    assert agree([x2/x1], [tan(t)], values)
    assert not agree([x2/x1], [tan(theta)], values, 1e-3)
    for c in one, turning:
        assert small(at(c.holonomic_constraints, values))
    beyond = {**values, t: values[t] + 2}
    beyond.update((e, at(s, beyond)[0]) for e, s in zip(x, SURFACE[1]))
    assert agree(one.holonomic_constraints, [-mp.pi], beyond)
    assert small(at(turning.holonomic_constraints, beyond))


# Solutions

PLANE = (c1*exp(-t) + c2*exp(t) - sine*cos(t)/2,                # (29)
         -cosine*t**2/2 + c3*t + c4)
ANGLE = ((1 + (t**2 - 2*c1)/(t + 1))/2 + c2,                    # (44)
         -g*t**2/2 + c3*t + c4)
SPEED = ((t + 1)/2 + (2*c4 - 1)/(2*(t + 1)), -g*t + c5)         # (54)


def turned(sign):
    """(56): printed with 1, correct with -1."""
    return ((t + 1)*(c1*sin(psi) + c2*cos(psi)),
            (t + 1)*(sign*c1*cos(psi) + c2*sin(psi)),
            -g*t**2/2 + c5*t + c3)


def placed(surface, q):
    return [e.xreplace({q1: q[0], q2: q[1]}) for e in SURFACE[surface]]


TIMES = [Rational(1, 2), 1, 3, 5]


@cites(25, 29, 32)
def test_motion_of_the_first_example():
    """At all times with the regular constraint, and until atan jumps with
    (22).  (32), its multiplier, holds at all times."""
    one, turning = example('one'), example('turning')
    lam = (2*c2**2*exp(2*t) - c2*sine*(cos(t) - 2*sin(t))*exp(t)
           - sine**2*cos(t)*sin(t) + c1*sine*(cos(t) + 2*sin(t))*exp(-t)
           - 2*c1**2*exp(-2*t))
    speeds = [e.diff(t) for e in PLANE]
    for time in TIMES:
        values = along(placed(1, PLANE), speeds, time)
        assert obeys(turning, values)
        if time < 1.5:
            assert obeys(one, values)
        assert agree(one.multipliers, [lam], values)
        reaction = lam*Matrix([-x2, x1, 0])/r**2
        assert agree(turning.constraint_forces, reaction, values)
        assert agree([e.diff(t, 2) for e in x],
                     Matrix(FORCES[1]) + reaction, values)
        assert agree([one.constraint_power], [lam], values)
    values = along(placed(1, PLANE), speeds, 3)
    assert close(at(Matrix([r, u1, lam]), values), [
        mp.mpf(e) for e in ('20.0028158458', '18.3116851827',
                            '743.3541670974')], 1e-11)


@cites(39, 40, 44)
def test_motion_of_the_second_example():
    two = example('two')
    speeds = [e.diff(t) for e in ANGLE]
    for time in TIMES[:2]:
        values = along(placed(2, ANGLE), speeds, time)
        assert obeys(two, values)
        assert agree([atan(x2/x1)], ANGLE[:1], values)
        assert agree(two.multipliers, [-(t + 1)*u1**2], values)


@cites(44, 45)
def test_mapping_of_the_second_solution():
    """The rows of (45) have the potentials of (45)."""
    two = example('two')
    expected = Matrix([atan(x2/x1), x3, r - 1])
    assert two.space.is_integrable is two.space.is_block_diagonal is True
    values = on_surface('two', 1)
    assert agree(two.mapping.a, expected.jacobian(x), values)
    assert agree([coordinate(two, 2), coordinate(two, 3)],
                 expected[1:, :], values)
    assert agree(expected[2:, :], [t], values)


# Errata of the first example

PRINTED_34 = Matrix([[x1/r, 0, x2], [x2/r, 0, -x1], [0, 1, 0]])
CORRECT_34 = Matrix([[x1/r, 0, -x2], [x2/r, 0, x1], [0, 1, 0]])


def connection_of(b, values):
    """(9) for the columns of b, with plain derivatives."""
    B, slopes = at(b, values), [at(b.diff(e), values) for e in x]
    bent = [[sum((slopes[k][:, m]*B[k, n] for k in range(3)),
                 mp.matrix(3, 1)) for n in range(3)] for m in range(3)]
    return mp.matrix([(B**-1*bent[m][n])[s] for s in range(3)
                      for m in range(3) for n in range(3)])


@cites(34)
def test_printed_inverse_of_the_first_mapping():
    one = example('one')
    values = on_surface('one', 1)
    assert agree(one.mapping.b, CORRECT_34, values)
    assert not agree(one.mapping.b, PRINTED_34, values, 1e-3)
    a = at(Matrix([r, x3, atan(x2/x1)]).jacobian(x), values)
    assert close(a*at(CORRECT_34, values), mp.eye(3))
    assert close(a*at(PRINTED_34, values), mp.diag([1, 1, -1]))


@cites(36)
def test_printed_connection_of_the_first_mapping():
    """Gamma^3_13 = 1/r, for the printed (34) as well."""
    one = example('one')
    components = {(1, 3, 3): -r, (3, 1, 3): 1/r, (3, 3, 1): 1/r}
    values = on_surface('one', 1)
    correct = at(array(components), values)
    assert close(at(flat(one.space.connection), values), correct)
    for b in CORRECT_34, PRINTED_34:
        assert close(connection_of(b, values), correct)
    printed = {**components, (3, 1, 3): -1/r, (3, 3, 1): -1/r}
    assert not close(at(array(printed), values), correct, 1e-3)
    assert one.space.is_integrable is one.space.is_block_diagonal is True
    assert one.space.table('torsion_ext').endswith('vanish')


@cites(37)
def test_printed_equations_of_the_first_example():
    """They must be (28), which has other letters in three places."""
    one = example('one')
    speeds = [e.diff(t) for e in PLANE]
    for time in TIMES:
        values = along(placed(1, PLANE), speeds, time)
        q1 = x1*cos(t) + x2*sin(t)
        assert small(at(a1 - q1 - sine*cos(t), values))
        assert not small(at(a1 - u1 - sine*cos(theta), values))
    values = on_surface('one', 1)
    assert agree(one.eom, (a1 - r - sine*cos(t), a2 + cosine), values)


@cites(38)
def test_printed_multiplier_of_the_first_example():
    one = example('one')
    values = on_surface('one', 1)
    assert agree(one.multipliers, [2*q1*w1 + sine*sin(t)*q1], values)
    assert not agree(one.multipliers, [
        2*w1*w1 + sine*sin(theta)*w1], values, 1e-3)


# Errata of the second example

@cites(52)
def test_third_solution_has_torsion():
    """The order of the lower indices matters in (52): T^1_31 = 1/r."""
    three = example('three')
    components = {(1, 3, 1): 1/r, (1, 1, 3): -1/r}
    values = on_surface('three', 1)
    assert close(connection_of(PRINTED_50, values),
                 at(flat(three.space.connection), values))
    assert agree(flat(three.space.torsion), array(components), values)
    assert three.space.is_integrable is False
    assert three.is_holonomic is three.space.is_block_diagonal is True
    found = three.space.quasi_coordinates
    assert found[0] is None and None not in found[1:]


@cites(53, 54)
def test_printed_equations_of_the_third_solution():
    """The second derivative has lost its dots; (54) solves the corrected
    equation."""
    three = example('three')
    values = on_surface('three', 1)
    assert agree(diag(t + 1, 1)*three.eom,
                 ((t + 1)*a1 + u1 - (t + 1), a2 + g), values)
    pi, fall = SPEED
    assert small(at((t + 1)*pi.diff(t) + pi - (t + 1), values))
    assert not small(at((t + 1)*pi + pi - (t + 1), values))
    assert small(at(fall.diff(t) + g, values))


@cites(54, 55)
def test_rates_of_the_third_solution():
    """(54) in (50) with r = t + 1, for any x on the cylinder."""
    three = example('three')
    pi, fall = SPEED
    printed = (-x2/(t + 1)*pi + x1/(t + 1), x1/(t + 1)*pi + x2/(t + 1), fall)
    values = on_surface('three', 1)
    values.update({u: at(e, values)[0] for u, e in zip(us, SPEED)})
    assert agree(list(rates(three).values()), printed, values)


@cites(56, 57)
def test_motion_of_the_third_solution():
    """The sign of c1 in x2 is wrong; with the right one (57) follows."""
    three = example('three')
    circle = {c1: Rational(3, 5), c2: Rational(4, 5)}       # (57)
    wider = {c1: Rational(3, 5), c2: Rational(6, 5)}
    for constants in circle, wider:
        for time in TIMES:
            printed, correct = (along(
                [e.subs(constants) for e in turned(sign)], SPEED, time)
                for sign in (1, -1))
            assert obeys(three, correct) is (constants is circle)
            assert not obeys(three, printed)
            assert not small(at(three.holonomic_constraints, printed))
            pi, fall = SPEED
            right = Matrix([-x2*pi + x1, x1*pi + x2, (t + 1)*fall])/(t + 1)
            assert agree(v, right, correct)                 # (55)
            assert not agree(v, right, printed, 1e-3)
            total = constants[c1]**2 + constants[c2]**2
            assert agree([(x1**2 + x2**2)/(t + 1)**2], [total], correct)
    values = along([e.subs(circle) for e in turned(-1)], SPEED, 5)
    assert close(at(Matrix([x1, x2, u1, three.multipliers[0]]), values), [
        mp.mpf(e) for e in ('-1.8819075273', '5.6972295073',
                            '2.9666666667', '-1.4668518519')], 1e-9)


def test_every_equation_is_treated():
    assert CITED == set(range(1, 58))
