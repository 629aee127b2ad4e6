"""The linear mapping method: cases of the theory page, its sections 2, 5, 6
and 7, and what the class refuses.

Compared at random states that satisfy the constraints, at 50 digits, with
what plain SymPy differentiation gives; the geometry of random mappings is in
tests/property, the paper's in tests/papers.
"""
from functools import cache, cached_property
from operator import attrgetter

import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import solve_ivp
from sympy import (
    Eq, Integral, Matrix, Rational, atan, cos, exp, eye, lambdify, sin, sqrt,
    symbols, sympify)
from sympy.physics.mechanics import dynamicsymbols

import ready
from kkt import Reference, at, close, norm, t
from sympy_constrained import LinearMappingMethod
from sympy_constrained.errors import (
    ConstraintError, MissingIngredientError, UnsupportedFeatureError)
from sympy_constrained.models import model

m, g, al, R, w, l, a, I, J = symbols('m g alpha R w l a I J', positive=True)
x, y, z, X, Y, theta, phi = dynamicsymbols('x y z X Y theta phi')
x1, x2, x3 = dynamicsymbols('x1:4')
u, u1, u2 = dynamicsymbols('u u1:3')
# prescribed functions of time
Om, psi, s = dynamicsymbols('Omega psi s')


def dot(e, order=1):
    return e.diff(t, order)


r = sqrt(x1**2 + x2**2)
SOME = {m: Rational(6, 5), g: Rational(981, 100), al: Rational(2, 5),
        R: Rational(9, 10), w: Rational(7, 5), l: Rational(13, 10),
        a: Rational(9, 20), I: Rational(7, 10), J: Rational(8, 5)}
for k, f in enumerate((Om, psi, s)):
    SOME.update({f: Rational(3 + k, 4), dot(f): Rational(2*k - 5, 7),
                 dot(f, 2): Rational(4 - k, 9)})


# Cases

class Case:
    """A model, the class, and everything it needs to be checked."""

    def __init__(self, L, q, us, mapping, hol=(), vel=(), Q=None,
                 guess=None, **options):
        self.L, self.q, self.us = sympify(L), list(q), list(us)
        self.v = Matrix([dot(f) for f in q])
        self.hol, self.vel = list(hol), list(vel)
        self.Q = list(Q) if Q is not None else [0]*len(self.q)
        self.guess = guess
        self.mapping = Matrix(len(mapping), 1, list(mapping))
        self.model = {'Lagrangian': self.L, 'qs': self.q}
        self.model.update({key: value for key, value in {
            'hol_coneqs': self.hol, 'nonhol_coneqs': self.vel,
            'generalized_forces': Q and self.Q}.items() if value})
        self.options = {'us': self.us, 'mapping': list(mapping), **options}
        self.plain = Reference.lagrange(
            self.L, self.q, self.hol, self.vel, Q=self.Q)
        self.integrable = self.holonomic = self.block_diagonal = None

    def make(self, **options):
        kept = {**self.options, **options}
        if {'mapping', 'inverse_mapping', 'q_dependent'} & set(options):
            kept = {key: value for key, value in kept.items()
                    if key == 'us' or key in options}
        return LinearMappingMethod(**self.model, **kept)

    @cached_property
    def method(self):
        return self.make()

    @cached_property
    def rows(self):
        """Free rows and constraint rows, as they were given, in q'."""
        return self.mapping[:self.p, :].col_join(self.plain.velocity)

    @property
    def p(self):
        return len(self.us)

    @cached_property
    def a(self):
        return self.rows.jacobian(self.v)

    @cached_property
    def a0(self):
        return self.rows.xreplace(dict.fromkeys(self.v, sympify(0)))

    @cached_property
    def M(self):
        return self.plain.M

    def state(self, seed):
        """A random state on the constraints, with its quasi-velocities."""
        now = {t: Rational(3, 10) + Rational(seed, 4)}
        values = self.plain.admissible({**SOME, **now}, seed, self.guess)
        free = at(self.rows[:self.p, :], values)
        return {**values, **dict(zip(self.us, free))}


CASES = {}


def case(integrable, holonomic, block_diagonal):
    """Register a case, with the verdicts that section 7 asks for."""
    def decorate(function):
        @cache
        def made():
            found = function()
            found.integrable, found.holonomic = integrable, holonomic
            found.block_diagonal = block_diagonal
            return found
        CASES[function.__name__] = made
        return made
    return decorate


# Comparison

def same(found, wanted, values):
    """Two matrices or scalars at a state."""
    found, wanted = at(found, values), at(wanted, values)
    if not found.rows*found.cols:
        return (found.rows, found.cols) == (wanted.rows, wanted.cols)
    return close(found, wanted, scale=1)


pytestmark = pytest.mark.usefixtures('digits')


def free_particle(names):
    return sum(dot(f)**2 for f in names)/2


# Case 5: two constraints that move, and a curved parent

@case(True, True, True)
def hoop_on_a_sphere():
    """The curved parent with metric m R^2 diag(1, sin^2 theta)."""
    return Case(
        m*R**2*(dot(theta)**2 + sin(theta)**2*dot(phi)**2)/2
        - m*g*R*cos(theta), (theta, phi), (u,), [dot(theta)], hol=[phi - w*t])


# Case 6: the Chaplygin sleigh

BLADE = [-sin(phi)*dot(X) + cos(phi)*dot(Y)]
ALONG = cos(phi)*dot(X) + sin(phi)*dot(Y)


def sleigh_energy():
    G = Matrix([X + a*cos(phi), Y + a*sin(phi)])
    return m*dot(G).dot(dot(G))/2 + I*dot(phi)**2/2


@case(False, False, False)
def sleigh():
    return Case(
        sleigh_energy(), (X, Y, phi), (u1, u2), [ALONG, dot(phi)], vel=BLADE)


# Case 7: a vertical disc that rolls on an incline

DISC_ROWS = [dot(X) - R*cos(phi)*dot(theta), dot(Y) - R*sin(phi)*dot(theta)]


@case(False, False, False)
def disc():
    return Case(
        (m*(dot(X)**2 + dot(Y)**2) + I*dot(theta)**2 + J*dot(phi)**2)/2
        + m*g*sin(al)*X, (X, Y, theta, phi), (u1, u2),
        [dot(theta), dot(phi)], vel=DISC_ROWS)


# Case 8: time in nonholonomic rows

KNIFE = cos(psi)*dot(X) + sin(psi)*dot(Y)


@case(False, False, True)
def knife_edge():
    return Case(
        m*free_particle((X, Y)), (X, Y), (u,), [KNIFE],
        vel=[-sin(psi)*dot(X) + cos(psi)*dot(Y)], Q=[m*g*sin(al), 0])


# Case 9: a pendulum with moving support

FROM_SUPPORT = (X - s)**2 + Y**2
SUPPORT_ROW = (-Y*dot(X) + (X - s)*dot(Y))/FROM_SUPPORT


def support(row):
    return Case(m*free_particle((X, Y)) - m*g*Y, (X, Y), (u,), [row],
                hol=[(FROM_SUPPORT - l**2)/2],
                guess={X: Rational(6, 5), Y: -1})


@case(True, True, True)
def moving_support():
    return support(SUPPORT_ROW + Y*dot(s)/FROM_SUPPORT)


@case(False, True, True)
def moving_support_without_drift():
    return support(SUPPORT_ROW)


# Case 12: autoparallels and geodesics

@case(False, True, True)
def polar():
    r = sqrt(x**2 + y**2)
    return Case(
        free_particle((x, y)), (x, y), (u1, u2),
        [(x*dot(x) + y*dot(y))/r, (x*dot(y) - y*dot(x))/r])


@pytest.mark.parametrize('curve, end', [
    ('autoparallel', (1, 1)), ('geodesic', (np.cos(1), np.sin(1)))])
def test_12_polar_frame(curve, end):
    method = polar().method
    names = [x, y, u1, u2]
    rates = Matrix(list(method.forcing_kin)).col_join(
        getattr(method.space, curve)([u1, u2]))
    plain = symbols('p:4')
    function = lambdify([plain], list(rates.xreplace(dict(zip(names, plain)))))
    found = solve_ivp(lambda _, state: function(state), (0, 1), [1, 0, 0, 1],
                      rtol=1e-11, atol=1e-12)
    assert found.y[:2, -1] == pytest.approx(end, rel=1e-9, abs=1e-9)


# Case 14: not closed, and holonomic all the same

@case(False, True, False)
def not_closed():
    return Case(free_particle((x, y, z)), (x, y, z), (u1, u2),
                [dot(x), dot(z)], vel=[exp(z)*(dot(y) - x*dot(x))])


# Case 17: as many constraints as coordinates

@case(True, True, True)
def prescribed():
    return Case(
        m*free_particle((x, y)) - m*g*y, (x, y), (), [],
        hol=[x - cos(t), y - sin(t)])


def test_17_no_freedom():
    found = prescribed()
    values, method = found.state(1), found.method
    assert method.mass_matrix.shape == (0, 0)
    assert method.forcing.shape == method.eom.shape == (0, 1)
    assert method.u.shape == (0, 1) and method.mapping.N.shape == (2, 0)
    assert method.mass_matrix_full == eye(2)
    assert same(method.rhs(), Matrix([-sin(t), cos(t)]), values)
    assert same(method.space.metric, m*eye(2), values)
    assert method.space.restricted_connection.shape == (0, 1, 1)


# Sections 4 and 6, for every case

every = pytest.mark.parametrize('name', CASES)


@every
def test_constraint_rows_of_a_mapping_may_be_combined(name):
    """Also given without their drift."""
    found = CASES[name]()
    p, values = found.p, found.state(1)
    bare = found.a[p:, :]*found.v
    if bare.rows > 1:
        bare[0, :] += 2*bare[1, :]
    method = found.make(mapping=[*found.rows[:p, :], *bare])
    for member in ('mass_matrix', 'forcing', 'multipliers',
                   'constraint_forces', 'acceleration'):
        one, other = (at(getattr(e, member), values)
                      for e in (method, found.method))
        assert close(one, other, scale=1), member


# Section 7: verdicts, and what they mean

def plain_rows(found, method):
    """The 1-forms, as functions of plain coordinates and time: (n, n+1)."""
    names = {f: symbols(f'c_{i}') for i, f in enumerate(found.q)}
    forms = Matrix(method.mapping.a0).row_join(
        Matrix(method.mapping.a)).xreplace(names)
    return forms, [t, *names.values()], {c: f for f, c in names.items()}


def curls(found, method, values):
    """``d theta^s`` in the coordinates ``(t, q)``, from scratch."""
    forms, xs, back = plain_rows(found, method)
    for k in range(forms.rows):
        yield at(Matrix(len(xs), len(xs), lambda i, j: (
            forms[k, j].diff(xs[i]) - forms[k, i].diff(xs[j])).xreplace(
                back)), values)


def small(matrix):
    return not matrix.rows*matrix.cols or norm(matrix) < 1e-45


@every
def test_verdicts(name):
    """Closed rows in space-time, which are rates; Frobenius with vectors
    that annihilate the rows, from an SVD; and (18), a_free M^-1 A^T."""
    found = CASES[name]()
    method, p, values = found.method, found.p, found.state(1)
    curled = list(curls(found, method, values))
    closed = list(map(small, curled))
    assert all(closed) is found.integrable is method.space.is_integrable
    rows = at(found.a0.row_join(found.a)[p:, :], values)
    holonomic = True
    if rows.rows:
        _, _, v = mp.svd_r(rows, full_matrices=True)
        free = v[rows.rows:, :].T
        holonomic = all(small(free.T*curl*free) for curl in curled[p:])
    assert holonomic is found.holonomic is method.is_holonomic
    rows, M = at(found.a, values), at(found.M, values)
    diagonal = small((rows*M**-1*rows.T)[:p, p:])
    assert diagonal is found.block_diagonal is method.space.is_block_diagonal
    potentials = method.space.quasi_coordinates
    assert [f is not None for f in potentials] == closed
    forms = method.mapping.a*found.v + Matrix(method.mapping.a0)
    for potential, row in zip(potentials, forms):
        if potential is not None:
            rate = by_quadrature(dot(potential), found.q, values)
            assert close(rate, at(row, values), 1e-25, scale=1)


@pytest.mark.parametrize('level, holonomic', [(0, True), (1, False)])
def test_holonomic_where_the_constraints_hold(level, holonomic):
    """x' + z*s*y' = 0 is x' = 0 on z = 0, and no such thing on z = 1."""
    names = dynamicsymbols('x y v z')
    X, Y, V, Z = names
    method = LinearMappingMethod(
        free_particle(names), names, hol_coneqs=[Z - level],
        nonhol_coneqs=[dot(X) + Z*V*dot(Y)], us=(u1, u2),
        mapping=[dot(Y), dot(V)])
    assert method.is_holonomic is holonomic
    assert method.space.is_integrable is False
    place = dict(zip(names, (1, 2, 3, level)))
    T = at(Matrix([method.space.torsion[3, 0, 1]]), {**place, t: 0})
    assert T[0] == -level


def by_quadrature(expression, q, values):
    """With integrals over a dummy, from a point not far away."""
    near = {symbols(f'{f.func}_0'): values[f]*mp.mpf('0.9') for f in q}
    values = {**values, **near}
    for integral in expression.atoms(Integral):
        inside, (name, low, high) = integral.args
        with mp.workdps(30):
            values[integral] = mp.quad(lambda s: at(
                inside, {**values, name: s})[0], [low, high])
    return at(expression, values)


def test_quasi_coordinates():
    assert not_closed().method.space.quasi_coordinates == [x, z, None]
    assert sleigh().method.space.quasi_coordinates == [None, phi, None]
    with pytest.raises(ValueError, match='3 quasi-velocities'):
        sleigh().method.space.geodesic([u1, u2])


def test_small_is_not_nothing():
    """A disc whose radius is a very small number."""
    tiny = Rational(1, 10**18)
    rows = [row.subs(R, tiny) for row in DISC_ROWS]
    method = LinearMappingMethod(
        disc().L.subs(R, tiny), disc().q, nonhol_coneqs=rows,
        us=(u1, u2), mapping=[dot(theta), dot(phi)])
    values = disc().state(1)
    found = at(Matrix([method.space.torsion[2, 0, 1]])/tiny, values)
    assert close(found, at(Matrix([-sin(phi)]), values))
    assert method.space.quasi_coordinates[2:] == [None, None]
    assert method.space.is_integrable is not True
    assert method.is_holonomic is not True


def test_potential_of_an_integral_that_sympy_does_not_find():
    """The row is closed; whatever is returned has it as its rate."""
    row = dot(x)*exp(-x**2*y**2)*y + dot(y)*exp(-x**2*y**2)*x
    method = LinearMappingMethod(
        free_particle((x, y)), (x, y), us=(u1, u2), mapping=[row, dot(x)])
    assert method.space.is_integrable
    potential = method.space.quasi_coordinates[0]
    values = {x: mp.mpf('0.5'), y: mp.mpf('0.7'), dot(x): 2, dot(y): -3}
    rate = by_quadrature(dot(potential), (x, y), values)
    assert close(rate, at(row, values), 1e-25)


# Case 15: quasi-velocities of the user

OWN = [{'us': [u2], 'mapping': [3*dot(x) + x]},
       {'inverse_mapping': Matrix([[2], [2*x]])}, {'q_dependent': [x]},
       {'mapping': [dot(x) + x*dot(y)], 'completion': 'orthogonal'}]


@pytest.mark.parametrize('others', OWN)
@pytest.mark.parametrize('options', OWN)
def test_another_mapping_goes_with_the_object_or_replaces_its_own(
        options, others):
    row = dot(y) - x*dot(x)
    method = LinearMappingMethod(PLAIN, [x, y], nonhol_coneqs=[row], **options)
    again = LinearMappingMethod.from_method(method)
    assert list(again.u) == list(method.u)
    assert again.mapping.a == method.mapping.a
    assert again.mapping.a0 == method.mapping.a0
    other = LinearMappingMethod.from_method(method, **others)
    plain = LinearMappingMethod(PLAIN, [x, y], nonhol_coneqs=[row], **{
        **{key: options[key] for key in ('us', 'completion')
           if key in options}, **others})
    assert other.mapping.a == plain.mapping.a
    assert other.mapping.a0 == plain.mapping.a0


def test_15_through_system():
    given = model('rolling_disc')
    plain = LinearMappingMethod.from_method(given.system)
    one, two, three = plain.u
    us = dynamicsymbols('v1:4')
    again = LinearMappingMethod.from_method(
        given.system, us=us, mapping=[one + two, two, three])
    assert list(again.u) == us
    values = ready.admissible(given, 1)
    values |= zip(us, (values[one] + values[two], values[two], values[three]))
    first, second, third = at(plain.acceleration, values)
    assert close(at(again.acceleration, values),
                 [first + second, second, third])


# Case 16: linearization

@pytest.mark.parametrize('name', ['mapping', 'partition'])
def test_16_linearized_hoop(name):
    found = hoop_on_a_sphere()
    method = found.method if name == 'mapping' else found.make(
        q_dependent=[phi])
    speed, = method.u
    A, B, _ = method.linearize(q_ind=[theta], q_dep=[phi], A_and_B=True)
    assert A.shape == (2, 2) and not B
    assert same(A, Matrix([[0, 1], [
        w**2*cos(2*theta) + g/R*cos(theta), 0]]), {
            **found.state(1), speed: Rational(1, 3)})


# Default names, and what the parts are called

@pytest.mark.parametrize('names, L', [
    ((x, y), free_particle((x, y)) + symbols('u1')*x),
    ((x, y), free_particle((x, y)) + symbols('u2')*sin(t)*x),
    ((u1, u2), free_particle((u1, u2)) - u1*u2),
    ((u1, u2), free_particle((u1, u2)))])       # cyclic coordinates
def test_default_names_are_new(names, L):
    method = LinearMappingMethod(L, names)
    used = {'u1', 'u2'} & {str(e) for e in L.free_symbols} | {
        str(f.func) for f in names}
    made = [str(f.func) for f in method.u]
    assert len({*made}) == 2 and not used & {*made}


def test_table():
    space = LinearMappingMethod(
        free_particle((x1, x2, x3)), (x1, x2, x3), us=(u1, u2),
        hol_coneqs=[r - 1 - t], mapping=[dot(atan(x2/x1)), dot(x3)]).space
    assert space.table('torsion') == 'all components of T vanish'
    lines = space.table('connection').split('\n')
    assert [line.split(' = ')[0] for line in lines] == [
        'Gamma^1_13', 'Gamma^1_31', 'Gamma^3_11']
    assert space.table('metric', tex=True).startswith('g_{11} = ')
    assert space.table('connection_ext', tex=True).split('\n')[0].startswith(
        r'\Gamma^1_{01} = ')


# What is refused

PLAIN = free_particle((x, y))


def refused(error, match, *args, **kwargs):
    with pytest.raises(error, match=match) as caught:
        method = LinearMappingMethod(*args, **kwargs)
        method.mass_matrix
    return caught.value


@pytest.mark.parametrize('rows, options, match', [
    ([dot(y) - x*dot(x)], {'mapping': [dot(y)*x - x**2*dot(x)]}, 'singular'),
    ([dot(y)], {'inverse_mapping': Matrix([[1, 0], [0, 0]])}, 'singular'),
    ([dot(y)], {'mapping': [dot(x)]*3}, '3 rows'),
    ([dot(y)], {'q_dependent': [x, y]}, 'q_dependent'),
    ([dot(y)], {'q_dependent': [x]}, 'singular'),
    ([dot(y), dot(x)], {'q_dependent': [x, x]}, 'q_dependent'),
    ([dot(y)], {'mapping': [dot(x) + dot(dot(y))]},
     r'Row 0 of `mapping` contains Derivative\(y\(t\), \(t, 2\)\)'),])
def test_errors_of_constraints_and_mappings(rows, options, match):
    refused(ConstraintError, match, PLAIN, [x, y], nonhol_coneqs=rows,
            **options)


def test_accepted_next_to_what_is_refused():
    """The same calls without the fault."""
    for options in ({'us': [u1], 'mapping': [Eq(u1, dot(x))]},
                    {'us': [u1], 'mapping': [Eq(dot(x), u1)]},
                    {'mapping': [dot(x)]}, {'mapping': [dot(x), 3*dot(y)]},
                    {'inverse_mapping': Matrix([[1], [0]])},
                    {'inverse_mapping': Matrix([[1, 5], [0, 2]])},
                    {'inverse_mapping': [[1], [0]]}, {'q_dependent': [y]},
                    {'us': [u1]}, {'us': u1}, {}):
        method = LinearMappingMethod(PLAIN, [x, y], nonhol_coneqs=[dot(y)],
                                     **options)
        assert method.mass_matrix == Matrix([[1]])


CIRCLE = x**2 + y**2 - 1


@pytest.mark.parametrize('row', [
    CIRCLE*(x*dot(y) - y*dot(x)), x*dot(x) + y*dot(y) + CIRCLE*dot(x)])
def test_singular_on_the_constraints_only(row):
    """A row that vanishes there, and one that is the constraint's."""
    error = refused(ConstraintError, 'Where the constraints hold', PLAIN,
                    [x, y], hol_coneqs=[CIRCLE], mapping=[row])
    assert error.reason == 'singular'
    method = LinearMappingMethod(
        PLAIN, [x, y], hol_coneqs=[CIRCLE - 1], mapping=[row])
    assert method.mass_matrix.shape == (1, 1)


def test_direction_without_mass():
    """The metric and the projected mass need one, in their own way."""
    method = LinearMappingMethod(dot(x)**2/2, [x, y])
    with pytest.raises(MissingIngredientError, match='mass'):
        method.acceleration
    rescued = LinearMappingMethod(
        (1 + x**2)*dot(x)**2/2, [x, y], hol_coneqs=[y - x], q_dependent=[y])
    values = {x: 2, y: 2, rescued.u[0]: 3, t: 0}
    assert same(rescued.mass_matrix, Matrix([[5]]), values)
    assert same(rescued.acceleration, Matrix([Rational(-18, 5)]), values)
    for name in ('space.metric_inv', 'space.connection'):
        with pytest.raises(UnsupportedFeatureError, match='singular'):
            attrgetter(name)(rescued)


FAST = sqrt(1 + dot(x)**2 + dot(y)**2)


def test_an_energy_that_is_not_quadratic():
    """It has no geometry, and the equations need none."""
    method = LinearMappingMethod(FAST, [x, y], us=[u1], mapping=[dot(x)],
                                 nonhol_coneqs=[dot(y) - x*dot(x)])
    for name in ('space', 'is_holonomic'):
        with pytest.raises(UnsupportedFeatureError, match='quadratic'):
            attrgetter(name)(method)
    plain = Reference.lagrange(FAST, [x, y], vel=[dot(y) - x*dot(x)])
    values = {t: 0, x: Rational(2, 3), y: 1, u1: Rational(3, 4),
              dot(x): Rational(3, 4), dot(y): Rational(1, 2)}
    exact = plain.solve(values)
    assert close(at(method.acceleration, values), exact.acceleration[:1, 0])
    assert close(at(method.multipliers, values), exact.lam)
