"""What velocity rows are, each verdict shown a second way.

An integral is differentiated, a bracket is taken by hand: ``bracket`` here
knows nothing of the package.
"""
import warnings
from unittest.mock import Mock

import numpy as np
import pytest
from sympy import (
    Derivative, Function, Matrix, Max, Piecewise, Rational, cos,
    diff, exp, log, sign, sin, sqrt, symbols, tan)
from sympy.physics.mechanics import (
    LagrangesMethod, Particle, Point, ReferenceFrame, RigidBody,
    dynamicsymbols, inertia)

from combinations import every_third
from sympy_constrained import (
    ConstrainedSystem, GibbsAppellMethod, HamelEmbedding, LinearMappingMethod,
    RouthMethod, UdwadiaKalabaMethod, VaccoMethod, classify_constraints,
    constraint_report)
from sympy_constrained.analysis.integrability import first_integrals
from sympy_constrained.analysis.integrability.antiderivatives import (
    antiderivative)
from sympy_constrained.models import MODELS, model
from sympy_constrained.numeric import Trajectory, singular_configurations

t = dynamicsymbols._t
x, y, z, w, s, p = ALL = dynamicsymbols('x y z w s p')
X, Y, Z, W, S, P = (q.diff(t) for q in ALL)
R, b, Om = symbols('R b Omega')


def system(q, vel=(), hol=(), **options):
    return UdwadiaKalabaMethod(
        sum(v.diff(t)**2 for v in q)/2, list(q), hol_coneqs=list(hol),
        nonhol_coneqs=list(vel), **options).system


def classified(q, vel=(), hol=(), **options):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return classify_constraints(system(q, vel, hol), **options)


def kinds(found):
    return [row.kind for row in found.rows]


# -- second ways ---------------------------------------------------------

def bracket(a, c, q):
    """``[a, c]`` of two vector fields, columns of components."""
    return c.jacobian(q)*a - a.jacobian(q)*c


def values_of(q, rng, **more):
    names = [*q, R, b, Om, t]
    return {v: Rational(rng.randint(1, 900), 1000) for v in names} | more


def plain(expressions, q, rng):
    """Numbers of expressions at a random point."""
    found = values_of(q, rng)
    return Matrix([e.subs(found).evalf(40) for e in expressions])


def rank(columns, q, rng):
    numbers = values_of(q, rng)
    return Matrix.hstack(*columns).subs(numbers).evalf(40).rank(
        iszerofunc=lambda e: abs(e) < 1e-25)


def growth(fields, q, rng):
    """Growth vector with all brackets, by SymPy's own derivatives."""
    q, fields = Matrix(q), [Matrix(f) for f in fields]
    known, new, ranks = list(fields), list(fields), []
    while True:
        ranks.append(rank(known, q, rng))
        if ranks[-1] == len(q) or len(ranks) > 1 and ranks[-1] == ranks[-2]:
            return tuple(dict.fromkeys(ranks))
        new = [bracket(f, v, q) for f in fields for v in new]
        known += new


def is_rate_of(row, factor, function, q, rng):
    """Whether ``factor*row`` is the time derivative of a function."""
    gap = factor*row - function.diff(t)
    rates = {v.diff(t): Rational(rng.randint(1, 900), 1000) for v in q}
    return abs(gap.doit().subs(rates).subs(values_of(q, rng)).evalf(
        40)) < 1e-25


def is_kept(row_list, function, q, rng):
    """Whether a function is constant for all velocities that rows allow."""
    u = [v.diff(t) for v in q]
    A = Matrix(row_list).jacobian(u)
    drift = Matrix(row_list).subs(dict.fromkeys(u, 0))
    names = values_of(q, rng)
    gradient = Matrix([[diff(function, v) for v in q]])
    steady = function.xreplace({v: symbols(f'q_{k}') for k, v in
                                enumerate(q)}).diff(t)
    steady = steady.xreplace({symbols(f'q_{k}'): v for k, v in enumerate(q)})
    rows = A.row_join(drift).subs(names).evalf(40)
    extra = Matrix([[*gradient, steady]]).subs(names).evalf(40)

    def small(e):
        return abs(e) < 1e-25

    return rows.rank(iszerofunc=small) == rows.col_join(extra).rank(
        iszerofunc=small)


# -- from the literature -------------------------------------------------

edge = [X*sin(s) - Y*cos(s)]
disc = [X - R*P*cos(s), Y - R*P*sin(s)]
NONHOLONOMIC = {
    'knife edge': (
        [x, y, s], edge, [[cos(s), sin(s), 0], [0, 0, 1]], (2, 3), (1, 0)),
    'upright rolling disc': (
        [x, y, s, p], disc,
        [[R*cos(s), R*sin(s), 0, 1], [0, 0, 1, 0]], (2, 3, 4), (2, 1, 0)),
    'Engel': (
        [x, y, z, w], [Z - w*X, Y - z*X],
        [[1, z, w, 0], [0, 0, 0, 1]], (2, 3, 4), (2, 1, 0)),
    # y' = f', z' = f with second derivatives free: Hilbert and Cartan
    'Hilbert-Cartan': (
        [x, y, z, w, s], [Y - z*X, Z - w*X, S - w**2*X],
        [[1, z, w, 0, w**2], [0, 0, 0, 1, 0]], (2, 3, 5), (3, 2, 0)),
    'car': (
        [x, y, s, p], [X*sin(s) - Y*cos(s),
                       X*sin(s + p) - Y*cos(s + p) - b*S*cos(p)],
        [[cos(s), sin(s), tan(p)/b, 0], [0, 0, 0, 1]], (2, 3, 4),
        (2, 1, 0))}


@pytest.mark.parametrize('name', NONHOLONOMIC)
def test_growth_and_derived_flag_of_the_literature(name, rng):
    q, rows, fields, numbers, flag = NONHOLONOMIC[name]
    for field in fields:                # they are those that rows allow
        allowed = [row.subs(dict(zip((v.diff(t) for v in q), field)))
                   for row in rows]
        assert plain(allowed, q, rng).norm() < 1e-30
    assert growth(fields, q, rng) == numbers
    found = classified(q, rows)
    assert found.growth_vector == numbers
    assert found.derived_flag == flag
    assert found.is_integrable is False and found.complete
    assert set(kinds(found)) == {'nonholonomic'}
    assert found.integrals_hidden == 0 and found.advice == ()
    assert not found.with_time


def ball(pivoting):
    """A ball on a plane; speeds are those of its centre and its spin."""
    angles, (u1, u2, u3, u4, u5) = (
        dynamicsymbols('a1:4'), dynamicsymbols('u1:6'))
    N = ReferenceFrame('N')
    B = N.orientnew('B', 'Body', angles, 'ZXZ')
    spin = B.ang_vel_in(N)
    kd = [spin.dot(axis) - u for axis, u in zip(N, (u1, u2, u3))]
    center = Point('C')
    center.set_vel(N, u4*N.x + u5*N.y)
    body = RigidBody('ball', center, B, 1, (inertia(N, 1, 1, 1), center))
    return UdwadiaKalabaMethod(
        N, [*angles, x, y], [u1, u2, u3, u4, u5],
        kd_eqs=[*kd, X - u4, Y - u5], bodies=[body],
        velocity_constraints=[u4 - R*u2, u5 + R*u1] + [u3]*(not pivoting))


@pytest.mark.parametrize('pivoting, numbers, flag', [
    (True, (3, 5), (2, 0)), (False, (2, 3, 5), (3, 2, 0))])
def test_the_rolling_ball_in_angular_velocities(pivoting, numbers, flag):
    """Rows in speeds are translated into those of the coordinates."""
    found = classify_constraints(ball(pivoting))
    assert (found.growth_vector, found.derived_flag) == (numbers, flag)


def test_kinematic_relations_may_not_be_integrable():
    """theta = dw + z*dx + x^2/2*dy and d theta = (dz - x*dy)^dx.

    So d theta vanishes with z' = x*y' and theta, but that is no integral: the
    directions they leave generate all.
    """
    N, u1, u2, u3 = ReferenceFrame('N'), *dynamicsymbols('u1:4')
    center = Point('C')
    center.set_vel(N, u1*N.x + u2*N.y + u3*N.z)
    body = RigidBody('body', center, N, 1, (inertia(N, 1, 1, 1), center))
    method = UdwadiaKalabaMethod(
        N, [x, y, z, w], [u1, u2, u3], bodies=[body],
        kd_eqs=[X - u1, Y - u2, Z - x*u2, W - u3],
        velocity_constraints=[u3 + z*u1 + x**2/2*u2])
    found = classify_constraints(method)
    assert (found.growth_vector, found.derived_flag) == ((2, 3, 4), (2, 1, 0))
    assert kinds(found) == ['nonholonomic'] and not found.wrong_slot


ROLLING = {'rolling_disc': (3, 4, 5), 'rolling_disc_lagrange': (3, 4, 5),
           'rolling_disc_contact': (3, 4, 5), 'knife_edge': (2, 3),
           'upright_disc': (2, 3, 4)}


@pytest.mark.parametrize('name', every_third(MODELS, 2))
@pytest.mark.filterwarnings('ignore')
def test_every_ready_model_is_classified(name):
    ready = model(name)
    found = classify_constraints(ready)
    given = ready.arguments
    count = len(given.get('hol_coneqs') or given.get(
        'configuration_constraints') or ())
    assert [row.row for row in found.rows] == list(range(len(found.rows)))
    assert kinds(found).count('holonomic') == count
    assert len(found.growth_vector) == 1 + len(found.derived_flag[1:]) or (
        not found.is_integrable)
    assert found.complete and 'undecided' not in kinds(found)
    assert len(str(found).splitlines()) >= 3 + len(found.rows)
    if name in ROLLING:
        assert found.growth_vector == ROLLING[name]
        assert found.is_integrable is False


def test_speeds_that_are_no_rates_of_coordinates():
    """Wheels of a cart without a place: their difference turns the cart."""
    with pytest.warns(UserWarning, match='velocity-level row 1: holonomic'):
        found = classify_constraints(model('two_wheeled_cart'))
    assert kinds(found) == ['defines a speed', 'exact']
    assert found.rows[1].others == (0,)
    q1, q2, q3 = dynamicsymbols('q1:4')
    ratio, = {found.integrals[0].diff(a)/c for a, c in (
        (q1, 2*symbols('b')), (q2, symbols('R')), (q3, -symbols('R')))}
    assert ratio.is_number


# -- integrable rows -----------------------------------------------------

f, c = dynamicsymbols('f'), Function('c')
EXACT = {
    'a product': ([x, y, z], x*y*z),
    'with a sine': ([x, y, z], x*cos(y) + z**3*sin(z) - 2*z),
    'planar rolling': ([x, p], x - R*p),
    'with time': ([x, y], t*x - y*sin(t)),
    'with an input': ([x, y], f*x - y),
    'exponentials': ([x, y], y*exp(2*x) + exp(-y)*x**2),
    'logarithms': ([x, y], y - log(x)*log(y)),
    # essential() tries x = 7/5
    'nothing at the first try': ([x, y], y + log(5*x - 7))}


@pytest.mark.parametrize('name', EXACT)
def test_rates_of_functions_are_integrated(name, rng):
    q, function = EXACT[name]
    row = function.diff(t)
    found = classified(q, [row])
    assert kinds(found) == ['exact']
    assert found.rows[0].evidence == 'proved'
    gap = (found.rows[0].integral - function).diff(t).doit()
    rates = {v.diff(t): Rational(rng.randint(1, 900), 1000) for v in (*q, f)}
    assert abs(gap.subs(rates).subs(values_of(q, rng) | {f: 2}).evalf(
        30)) < 1e-20
    assert found.is_integrable and found.integrals_hidden == 1
    assert found.growth_vector == (len(q) - 1 + found.with_time,)


@pytest.mark.parametrize('slope', [
    abs(x), sign(x), Piecewise((x, x > 0), (2*x, True)), sqrt(x**2)])
def test_integrals_are_right_for_negative_coordinates_too(slope, rng):
    """They are looked for at positive ones; x**2/2 has not the rate |x|*x'
    where x < 0."""
    row = Z - slope*X
    found = classified([x, y, z], [row])
    assert kinds(found) == ['exact'] and found.is_integrable
    integral = found.rows[0].integral
    for size in (1, -1):
        near = values_of([x, y, z], rng) | {x: Rational(size, 3), X: 5, Z: 7}
        assert integral is None or (row - integral.diff(t)).doit().subs(
            near) == 0


def test_both_sides_of_a_condition_are_looked_at():
    """The row is the rate of z - x**2/2 where x > y, and no rate of
    anything where y > x."""
    row, = classified(
        [x, y, z], [Z - X*Piecewise((x, x > y), (y, True))]).rows
    assert row.integral is None and row.kind != 'exact'


@pytest.mark.parametrize('row', [
    X - exp(t**2), X*exp(x**2) + Y, X - c(x)*Y, Z - Max(x, 0)*X,
    Z - Max(x, 1/(1 - x))*X, Z - sin(x/y).diff(t)])
def test_what_is_integrable_without_an_integral_in_closed_form(row):
    """The verdict does not need one. The rows restrict two coordinates at
    most, or are a rate as they stand."""
    found = classified([x, y, z], [row], sample={x: 1.5})
    assert found.rows[0].is_integrable and found.is_integrable
    assert found.rows[0].integral is None and found.integrals_hidden == 1


FACTORS = {
    'a quotient': ([x, y, z], y*X - x*Y),
    'an exponential': ([x, y], y*X + x*(1 + y)*Y),
    'three coordinates': ([x, y, z], y*z*X + 2*x*z*Y + 3*x*y*Z),
    'time': ([x, y], (1 + t)*X + x), 'growth': ([x, y], X - Om*x),
    'a parameter': ([x, y], X - b*x*Y)}


@pytest.mark.parametrize('name', FACTORS)
def test_rows_with_a_factor(name, rng):
    q, row = FACTORS[name]
    found = classified(q, [row])
    only, = found.rows
    assert only.kind in ('integrable', 'exact') and found.is_integrable
    assert is_rate_of(row, only.factor or 1, only.integral, q, rng)
    assert (only.kind == 'exact') == (name == 'time')
    assert found.derived_flag == (1,)


def test_entries_are_examined_up_to_one_that_does_not_vanish(monkeypatch):
    monkeypatch.setattr(first_integrals, 'anywhere', lambda _: [{}, {}, {}])
    space = Mock(at_points=Mock(return_value=[[[1]]]))
    assert not first_integrals.vanishes(space, [0, 2, -2, 3])
    space.at_points.assert_called_once_with([[2]], [{}])


# -- several rows --------------------------------------------------------

def test_three_rows_that_only_together_are_integrable(rng):
    q = [x, y, z, w, s]
    functions = [x + y*z, y*w + s, z - x*w]
    mixing = Matrix([[1, x, y], [0, 1, s], [w, 0, 2]])
    rows = list(mixing*Matrix([h.diff(t) for h in functions]))
    found = classified(q, rows)
    assert kinds(found) == ['integrable together']*3
    assert [row.others for row in found.rows] == [(1, 2), (0, 2), (0, 1)]
    assert found.is_integrable and found.evidence == 'proved'
    assert found.derived_flag == (3,) and found.growth_vector == (2,)
    assert found.integrals_hidden == len(found.integrals) == 3
    for integral in found.integrals:
        assert is_kept(rows, integral, q, rng)
    gradients = Matrix(found.integrals).jacobian(q).subs(values_of(q, rng))
    assert gradients.rank() == 3
    for k, j in ((0, 1), (0, 2), (1, 2)):       # no two of them are
        assert not classified(q, [rows[k], rows[j]]).is_integrable


def test_one_direction_is_always_integrable(monkeypatch):
    """Seven rows in eight coordinates are solved with pivots that move."""
    from sympy_constrained.analysis.integrability import classification
    monkeypatch.setattr(classification, 'MOST_COMPANIONS', 3)
    q = dynamicsymbols('q1:8')
    rows = [v.diff(t)*v*x + after.diff(t)*after*(x + v) - X
            for v, after in zip(q, [*q[1:], q[0]])]
    found = classified([x, *q], rows, integrals=False)
    assert kinds(found) == ['integrable together']*7
    assert found.growth_vector == (1,) and found.integrals_hidden == 7


def test_bounds_of_the_search_are_not_verdicts(monkeypatch):
    """Of companions all are named, of integrals some may be missing."""
    from sympy_constrained.analysis.integrability import (
        classification, hidden_integrals)
    functions = [x + y*z, y*w + s]
    mixing = Matrix([[1, x + s], [w, 2]])
    rows = list(mixing*Matrix([h.diff(t) for h in functions]))
    monkeypatch.setattr(classification, 'MOST_COMPANIONS', 0)
    found = classified([x, y, z, w, s], rows)
    assert [row.others for row in found.rows] == [(1,), (0,)]
    monkeypatch.undo()
    # Riccati's equations, which are not integrated
    rows = [X - (x**2 + y)*Y, Z - (z**2 + w)*W]
    for most in 12, 1:
        monkeypatch.setattr(hidden_integrals, 'MOST_CHOICES', most)
        found = classified([x, y, z, w], [
            rows[0] + z*rows[1], rows[1] + x*rows[0]])
        assert kinds(found) == ['integrable together']*2
        assert found.integrals_hidden == len(found.combinations) == 2
        assert found.integrals == ()


def test_combinations_of_nonholonomic_rows(rng):
    """Two wheels on an axle: their angles tell the heading."""
    q = [x, y, s, p, w]
    along = X*cos(s) + Y*sin(s)
    rows = [X*sin(s) - Y*cos(s), along + b*S - R*P, along - b*S - R*W]
    found = classified(q, rows)
    assert kinds(found) == ['nonholonomic']*3
    assert found.is_integrable is False
    assert (found.integrals_hidden, found.derived_flag) == (1, (3, 2, 1))
    only, = found.combinations
    assert set(only.factors) == {1, 2}
    assert is_kept(rows, only.integral, q, rng)
    row = sum(f*rows[k] for k, f in only.factors.items())
    assert is_rate_of(row, only.factor or 1, only.integral, q, rng)
    assert found.growth_vector == (2, 3, 4)
    assert 'can be integrated' in found.advice[0]


# -- time, holonomic and other rows --------------------------------------

circle, plane = x**2 + y**2 - 1, z - R*x*y
VERDICTS = {
    'no rows': ([x, y], (), (), dict(
        rows=(), is_integrable=True, derived_flag=(0,), growth_vector=(2,))),
    'repeated rows': (
        [x, y, z], [x*Y + y*X, 2*x*Y + 2*y*X, Z - y*X, Z + 3*x*Y + 2*y*X], (),
        dict(kinds=['exact', 'exact', 'integrable together',
                    'integrable together'],
             derived_flag=(2,), integrals_hidden=2)),
    'an input': ([x, y], [X - f], (), dict(kinds=['exact'], with_time=True)),
    'a factor that is an input': (
        [x, y], [X - f*Y], (), dict(is_integrable=False)),
    'an input and its rate': (
        [x, y], [f*X + f.diff(t)*x - Y], (), dict(is_integrable=True)),
    # [d/dt, [d/dt, X]] has the second rate of the input
    'second rates of an input': (
        [x, z, w], [Z - f*X, W - z*X], (), dict(
            growth_vector=(2, 3, 4), derived_flag=(2, 1, 0),
            at_fixed_time=True, is_integrable=False)),
    'a holonomic row with time': (
        [x, y, z], [X - Y], [z - sin(t)], dict(
            with_time=True, is_integrable=True, growth_vector=(2,),
            integrals_given=1, integrals_hidden=1)),
    # no motion at all if time stood still
    'not homogeneous': ([x, y], [X - y], (), dict(
        is_integrable=False, growth_vector=(2, 3), at_fixed_time=True)),
    # contact in space, not on the surface
    'contact': ([x, y, z], [Z - y*X], (), dict(is_integrable=False)),
    'contact on a surface': ([x, y, z], [Z - y*X], [y - x**2], dict(
        kinds=['holonomic', 'integrable'], others=[(), (0,)],
        is_integrable=True, growth_vector=(1,), integrals_given=1,
        integrals_hidden=1, proofs=['given', 'proved'])),
    'a coefficient that a holonomic row makes zero': (
        [x, y, z], [Z + y*X], [y], dict(
            is_integrable=True, growth_vector=(1,))),
    'a coefficient that stays': ([x, y, z, w], [Z + w*X], [y], dict(
        is_integrable=False, growth_vector=(2, 3))),
    # the first row is made of the rates of w and s; the others, of which
    # one is needed for s', are of none
    'companions that are not integrable': (
        [x, y, z, w, s], [W + x*S, S + Z - y*X, S - Z + y*X], (), dict(
            kinds=['integrable together', 'nonholonomic', 'nonholonomic'],
            others=[(1, 2), (), ()], is_integrable=False, kept={w, s})),
    'nonlinear': ([x, y, z], [X**2 + Y**2 - Z**2], (), dict(
        kinds=['nonlinear'], is_integrable=None)),
    'nonlinear and nonholonomic': (
        [x, y, z], [X**2 + Y**2 - Z**2, Z - y*X], (), dict(
            kinds=['nonlinear', 'nonholonomic'], is_integrable=False,
            growth_vector=(2, 3), restricting=[None, False])),
    # the other holonomic rows are not named
    'rows that follow': (
        [x, y, z, w], [circle.diff(t), plane.diff(t)*y,
                       circle.diff(t) - plane.diff(t)],
        [w - x, circle, plane], dict(
            kinds=['holonomic']*3 + ['follows']*3, derived_flag=(3,),
            others=[()]*3 + [(1,), (2,), (1, 2)], integrals_hidden=0,
            advised='velocity-level row 0 follows from holonomic row 1 and '
                    'may be left out.')),
    'a row that follows with a factor': (
        [x, y, z, p], [z*(x*Y - y*X - R**2*p.diff(t))*cos(x)],
        [x - R*cos(p), y - R*sin(p)], dict(
            kinds=['holonomic']*2 + ['follows'], wrong_slot='',
            proofs=['given']*2 + ['proved']))}


@pytest.mark.parametrize('name', VERDICTS)
def test_verdicts(name):
    q, vel, hol, wanted = VERDICTS[name]
    found = classified(q, vel, hol)
    derived = {
        'kinds': kinds(found), 'kept': set(found.integrals),
        'others': [row.others for row in found.rows],
        'proofs': [row.evidence for row in found.rows],
        'restricting': [row.is_integrable for row in found.rows],
        'advised': found.advice[0] if found.advice else None}
    for key, value in wanted.items():
        assert derived.get(key, getattr(found, key, None)) == value, key


def test_a_row_with_time_that_is_holonomic_at_every_instant():
    """A blade of given heading: [d/dt + ..., along the blade] points aside."""
    psi = Om*t
    found = classified([x, y], [Y*cos(psi) - X*sin(psi)])
    assert found.with_time and found.at_fixed_time
    assert found.is_integrable is False
    assert found.growth_vector == (2, 3)        # with time
    assert 'with time held fixed they are integrable' in str(found)


def test_an_integral_with_the_help_of_a_holonomic_row(rng):
    """On y = x**2 the row is z' = 0."""
    row, surface = Z + x*(Y - 2*x*X), y - x**2
    found = classified([x, y, z], [row], [surface])
    assert kinds(found) == ['holonomic', 'integrable']
    assert found.rows[1].integral == z and found.rows[1].factor is None
    assert found.rows[1].others == (0,)
    plain = classified([x, y, z], [row], [surface], integrals=False)
    assert kinds(plain) == kinds(found) and plain.rows[1].integral is None
    assert is_kept([surface.diff(t), row], z, [x, y, z], rng)
    assert not is_kept([row], z, [x, y, z], rng)


def test_a_quaternion_is_a_relation_of_the_kinematics():
    found = classify_constraints(model('heavy_top_quaternion'))
    assert found.integrals_given == 1 and found.growth_vector == (3,)


def test_too_many_brackets_leave_it_undecided(monkeypatch):
    from sympy_constrained.analysis.integrability import distribution
    monkeypatch.setattr(distribution, 'MOST_NODES', 10)
    found = classified([x, y, z, w], NONHOLONOMIC['Engel'][1])
    assert not found.complete and found.integrals_hidden is None
    assert found.is_integrable is False         # one bracket is enough
    assert kinds(found) == ['nonholonomic', 'undecided']
    assert found.combinations == ()
    assert '? hidden' in str(found) and 'not followed to the end' in str(found)


@pytest.mark.parametrize('row, remark', [
    (X**2 + Y**2 - 1, 'not homogeneous'),
    (X**2 + 2*Y**2 + 3*Z**2, 'definite, it holds only if 3 linear'),
    (X**2 - Y**2, 'product of two linear rows'),
    ((X - x*Y)**2, 'square of a linear row'),
    (X*Y + Y*Z + Z*X, 'degree 2'),
    (X**3/Y - Z*X, 'degree 2'), (X**3 - Y**3, 'degree 3'),
    (sqrt(X**2 + Y**2) - Z, 'degree 1')])
def test_rows_that_are_not_linear(row, remark):
    from sympy_constrained.analysis.integrability.classification import (
        nonlinear_remark)
    from sympy_constrained.analysis.integrability.pfaffian import (
        VelocityForms, generic_points)
    space = VelocityForms(system([x, y, z], [row]), generic_points(
        system([x, y, z]), count=1)[0])
    assert remark in nonlinear_remark(space, space.nonlinear[0])


@pytest.mark.filterwarnings('ignore')
def test_kinematics_that_are_not_linear_leave_no_form():
    """With x' = u + u**2 the row u = v is none in x', y'."""
    u, v = dynamicsymbols('u v')
    N, O = ReferenceFrame('N'), Point('O')                  # noqa: E741
    O.set_vel(N, 0)
    P = Particle('P', O.locatenew('P', x*N.x + y*N.y), 1)
    for more, kind in ((u**2, 'nonlinear'), (0*u, 'exact')):
        found = classify_constraints(GibbsAppellMethod(
            N, [x, y], [u, v], [X - u - more, Y - v], bodies=[P],
            nonholonomic_constraints=[u - v]))
        assert kinds(found) == [kind]
    assert (found.rows[0].integral - x + y).is_zero


def test_rows_of_higher_levels():
    with pytest.warns(UserWarning, match='holonomic, but given'):
        found = classify_constraints(GibbsAppellMethod(
            (X**2 + Y**2)/2, [x, y], nonhol_coneqs=[X - Y],
            acceleration_constraints=[X.diff(t)**2 - 1]))
    assert kinds(found) == ['exact', 'higher order']
    assert found.is_integrable is None
    assert kinds(classify_constraints(model('acceleration_level'))) == [
        'acceleration level']


# -- points --------------------------------------------------------------

def test_singular_points_of_martinet(rng):
    """[X, Y] = 2*x*d/dz vanishes at x = 0, [X, [X, Y]] does not."""
    q, row = [x, y, z], Z - x**2*Y
    first, second = Matrix([1, 0, 0]), Matrix([0, 1, x**2])
    assert bracket(first, second, Matrix(q)) == Matrix([0, 0, 2*x])
    there = classified(q, [row], at={x: 0, y: 1})
    assert there.growth_vector == (2, 3)
    assert there.growth_there == (2, 2, 3) and there.complete
    assert there.state[x] == 0 and 'a singular point' in str(there)
    assert classified(q, [row], at={x: 2}).growth_there == (2, 3)


def test_too_many_brackets_at_a_state_are_told(monkeypatch):
    from sympy_constrained.analysis.integrability import distribution
    assert classified([x, y, z], [Z - x**2*Y], at={x: 0}).complete
    monkeypatch.setattr(distribution, 'MOST_FIELDS', 1)
    found = classified([x, y, z], [Z - x**2*Y], at={x: 0})
    assert found.growth_there == (2, 2) and not found.complete
    assert 'not followed to the end' in str(found)


def test_a_state_where_the_rows_lose_rank():
    found = classified([x, y, z], [R*x*X], at={x: 0, R: 0.5})
    assert found.growth_vector == (2,) and found.growth_there == (3,)
    assert 'lose rank there' in str(found) and not found.complete


def test_special_dimensions_are_a_sample():
    assert not classified([x, y, z], [Z - R*y*X]).is_integrable
    special = classified([x, y, z], [Z - (R - b)*y*X], sample={R: 2, b: 2})
    assert special.is_integrable and kinds(special) == ['exact']
    assert special.rows[0].evidence == 'at 3 random points, to 1.0e-40'
    assert special.rows[0].integral.subs({R: 2, b: 2}) == z
    assert classified([x, y, z], [Z - (R - 0.1)*y*X],
                      sample={R: 0.1}).is_integrable


# -- what is classified --------------------------------------------------

def test_methods_systems_and_upstream_give_the_same():
    energy, q = (X**2 + Y**2 + S**2)/2, [x, y, s]
    for cls in (UdwadiaKalabaMethod, RouthMethod, VaccoMethod,
                LinearMappingMethod, GibbsAppellMethod, LagrangesMethod):
        found = classify_constraints(cls(energy, q, nonhol_coneqs=edge))
        assert found.growth_vector == (2, 3)
    hamel = HamelEmbedding(energy, q, nonhol_coneqs=edge, q_dependent=[y])
    assert isinstance(hamel.system, ConstrainedSystem)
    assert classify_constraints(hamel).derived_flag == (1, 0)
    disc = model('rolling_disc').system
    assert classify_constraints(disc).growth_vector == (3, 4, 5)


# -- the wrong slot ------------------------------------------------------

def test_an_integrable_row_is_told_once():
    with pytest.warns(UserWarning) as caught:
        found = classify_constraints(system([x, y, z], [X - R*Z, y*X - x*Y]))
    assert len(caught) == 1
    text = str(caught[0].message)
    assert text == found.wrong_slot
    assert 'velocity-level row 0, velocity-level row 1: holonomic' in text
    assert 'drifts. Give -R*z(t) + x(t) - c' in text


@pytest.mark.filterwarnings('error')
def test_constructing_a_method_gives_no_warning():
    """Rolling on a line is integrable and harmless."""
    system([x, y, z], [X - R*Z])


# -- texts ---------------------------------------------------------------

def test_the_text_of_integrals():
    """With their factor, and those of combinations of rows."""
    found = classified([x, y], [y*X - x*Y])
    row, = found.rows
    assert (row.integral*y/x).is_number and row.is_integrable is True
    assert f': {row.integral} = const, factor {row.factor} [' in str(found)
    functions = [x + y*z, y*w + s]
    rows = Matrix([[1, x], [w, s]])*Matrix([h.diff(t) for h in functions])
    found = classified([x, y, z, w, s], list(rows))
    lines = str(found).splitlines()
    assert set(found.integrals) == set(functions)
    assert [f'  {h} = const' in lines for h in functions] == [True, True]
    assert [row.is_integrable for row in found.rows] == [True, True]


def test_the_text():
    found = classified([x, y, s, p], disc)
    assert str(found).splitlines() == [
        '2 constraint rows on 4 coordinates',
        '  velocity-level row 0  nonholonomic [shown at a random point]',
        '  velocity-level row 1  nonholonomic [shown at a random point]',
        'all rows together: not integrable in coordinates '
        '[shown at a random point]',
        'integrals: 0 given, 0 hidden in velocity rows',
        'derived flag (2, 1, 0), growth vector (2, 3, 4) in the space of '
        'coordinates']


# -- antiderivatives -----------------------------------------------------

@pytest.mark.parametrize('function', [
    x**3*b + x*y, sin(2*x)*x, cos(x)**3*sin(y), exp(b*x)*x**2, 1/(x + y),
    x/(x + y)**2, y/(x**2 + y**2), x/sqrt(x**2 + y**2), (x**2 + 1)/(x + 2),
    sin(x)/cos(x), f, f.diff(t), 3, cos(x) + x/(b*x + R*x),
    cos(x) + 1/(1 + 1/x), x**3/(x**2 + y**2), (x + 1)/(x**2 + 1)])
def test_antiderivatives(function, rng):
    a, plain = symbols('a s', positive=True)
    given = (function + 0*x).subs({x: a, y: plain})
    variable = t if f in getattr(function, 'args', ()) or function == f else a
    found = antiderivative(given, variable)
    gap = found.diff(variable).doit() - given
    numbers = {a: Rational(1, 3), plain: Rational(2, 7), b: 3, R: 2}
    assert gap == 0 or abs(gap.subs(numbers).evalf(30)) < 1e-25
    assert not isinstance(found, Derivative)


@pytest.mark.parametrize('function', [
    exp(x**2), sin(x)/x, 1/(x**3 + x + 1), sqrt(1 + x**3),
    1/((x + 1)*(x + 2)), 1/(x**2 + x + 5), 1/(x**2 + 1)**2,
    x*sin(x)*cos(x)*exp(x)])
def test_what_is_not_integrated_is_none_at_once(function):
    a = symbols('a', positive=True)
    assert antiderivative(function.subs(x, a), a) is None


# -- reports -------------------------------------------------------------

def test_multipliers_that_are_unique(rng):
    """Those orthogonal to all that A^T maps to zero."""
    report = constraint_report(system([x, y, z], [X - Y, Z, 3*X - 3*Y, X + Y]))
    assert report.unique_multipliers == (1, 3)
    assert report.unique_combinations == {0: {0: 1, 2: pytest.approx(3)}}
    null, = Matrix([[1, 0, 3, 1], [-1, 0, -3, 1], [0, 1, 0, 0]]).nullspace()
    assert [k for k in range(4) if not null[k]] == [1, 3]
    assert Matrix([[1, 0, 3, 0]])*null == Matrix([[0]])
    text = str(report)
    assert 'rank 3 where they hold' in text
    assert 'velocity-level row 2 is redundant: 3*velocity-level row 0' in text
    assert 'unique multipliers: velocity-level row 1, velocity' in text


def test_without_redundancy_all_multipliers_are_unique():
    report = constraint_report(system([x, y, z], [X - Y], [z]))
    assert report.unique_multipliers == (0, 1)
    assert report.unique_combinations == {}
    assert str(report) == '2 constraint rows of rank 2 where they hold'


def test_singular_configurations_of_a_trajectory():
    condition = np.array([.5, 1e-7, 1e-9, 1e-8, .4, .3, .2])
    run = Mock(Trajectory, t=np.arange(7.), condition=condition,
               rank=np.array([4, 4, 4, 4, 4, 3, 4]))
    first, second = singular_configurations(run)
    assert (first.t, first.condition, first.rank) == (2, 1e-9, 4)
    assert (second.t, second.rank, second.index) == (5, 3, 5)
    assert str(first) == 't = 2: reciprocal condition 1.0e-09, rank 4'
    assert singular_configurations(run, below=1e-10)[0].t == 5
    empty = Mock(Trajectory, t=[], condition=[], rank=[])
    assert singular_configurations(empty) == ()
