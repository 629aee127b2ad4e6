"""``RouthMethod`` and ``VaccoMethod`` beside SymPy's classes.

Routh's equations are those of ``LagrangesMethod``, block by block and to 45
digits; without constraints vakonomic equations are Lagrange's, too.
"""
import functools
from random import Random

import pytest
from mpmath import mp
from sympy import Matrix, Rational, cos, exp, sin, symbols
from sympy.physics.mechanics import (
    KanesMethod, LagrangesMethod, Point, ReferenceFrame, dynamicsymbols)
from sympy.solvers.solveset import NonlinearError

import ready
from combinations import every_third
from kkt import anywhere, at, close, equal, number, t
from sympy_constrained import RouthMethod, VaccoMethod
from sympy_constrained.models import MODELS

UPSTREAM = {'kane': KanesMethod, 'lagrange': LagrangesMethod}
METHODS = {'routh': RouthMethod, 'vacco': VaccoMethod}
EXACT = mp.mpf(10)**-45
# Models that neither class takes -> error and a part of its text.
REFUSED = ready.NOT_IN_VELOCITIES
NONLINEAR = {'constant_speed_particle', 'appell_hamel'}
TAKEN = [name for name in MODELS if name not in REFUSED]
LAGRANGE = [name for name in TAKEN if name in ready.LAGRANGE]


# Calls of ``LagrangesMethod`` that the ready models do not have

def moving_ice():
    """A skate with friction on ice that turns and moves to and fro."""
    x, y, theta = q = dynamicsymbols('x y theta')
    vx, vy, w = (s.diff(t) for s in q)
    m, J, c, b = symbols('m J c b')
    N, B = ReferenceFrame('N'), ReferenceFrame('B')
    B.orient_axis(N, theta, N.z)
    O, C = Point('O'), Point('C')
    O.set_vel(N, 0)
    C.set_pos(O, x*N.x + y*N.y)
    C.set_vel(N, vx*N.x + vy*N.y)
    along = (vx - b*cos(t) + c*y)*sin(theta) - (vy - c*x)*cos(theta)
    return dict(
        Lagrangian=m*(vx**2 + vy**2)/2 + J*w**2/2 - m*exp(-t)*x*y, qs=q,
        forcelist=[(C, -c*C.vel(N).dot(B.x)*B.x), (B, -c*w*t*N.z)],
        frame=N, nonhol_coneqs=[along])


def everything():
    """Rows of both kinds and explicit time; ``L`` has a full matrix and
    terms linear in the velocities."""
    x, y, z = q = dynamicsymbols('x y z')
    vx, vy, vz = (s.diff(t) for s in q)
    m, k = symbols('m k')
    T = m*((2 + sin(x))*vx**2 + (1 + x**2)*vy**2 + vz**2 + vx*vz
           + t*x*vx*vy/3 + 2*y*x*vx + z*vy)/2
    return dict(
        Lagrangian=T - k*x**2*z, qs=q, hol_coneqs=[x*y + z**2 - 2 - t*k],
        nonhol_coneqs=[(1 + x**2)*vx - (z + t*x)*vy + y*vz - x*cos(t)])


def charge():
    """A relativistic charge in a magnetic field, held on a cone."""
    x, y, z = q = dynamicsymbols('x y z')
    vx, vy, vz = (s.diff(t) for s in q)
    m, c, b = symbols('m c b')
    v2 = vx**2 + vy**2 + vz**2
    L = -m*c**2*(1 - v2/c**2)**Rational(1, 2) + b*(x*vy - y*vx)/2
    return dict(Lagrangian=L.subs(c, 5*c), qs=q,
                hol_coneqs=[x**2 + y**2 - z**2])


CALLS = {f.__name__: f for f in (moving_ice, everything, charge)}


# Numbers

@functools.cache
def given(name):
    return ready.InVelocities(MODELS[name]())


@functools.cache
def formed(name, key):
    return given(name).model.form(METHODS[key])


@functools.cache
def upstream(name):
    m = given(name).model
    return m.form(UPSTREAM[m.shape])


pytestmark = pytest.mark.usefixtures('digits')


both = pytest.mark.parametrize('key', METHODS)


# Which models

@both
@pytest.mark.parametrize('name', REFUSED)
def test_what_is_not_taken_is_told(name, key):
    error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        MODELS[name]().form(METHODS[key])


# Lagrange's shape: the blocks of LagrangesMethod

BLOCKS = ('mass_matrix', 'forcing', 'mass_matrix_full', 'forcing_full')


@functools.cache
def called(name):
    arguments = CALLS[name]()
    theirs = LagrangesMethod(**arguments)
    theirs.form_lagranges_equations()
    return RouthMethod(**arguments), theirs


def beside(name):
    """A ready model or a call, by us and by upstream."""
    if name in CALLS:
        return called(name)
    try:
        theirs = upstream(name)
    except NonlinearError:
        assert name in NONLINEAR
        pytest.skip('this release refuses constraints that are not linear')
    return formed(name, 'routh'), theirs


@pytest.mark.parametrize('name', [*every_third(LAGRANGE), *CALLS])
def test_equations_are_those_of_lagranges_method(name):
    """Block by block, under the same names."""
    ours, theirs = beside(name)
    for block in BLOCKS:
        assert equal(getattr(ours, block), getattr(theirs, block))
    assert list(ours.q) == list(theirs.q)
    assert list(ours.u) == list(theirs.u)
    assert ours.inertial == ours.frame == theirs.inertial
    assert list(ours.loads or ()) == list(theirs.loads or ())
    names, lam = list(ours.lam_vec), []
    if theirs.coneqs:
        assert equal(ours.coneqs, theirs.coneqs)
        assert equal(ours.lam_coeffs, theirs.lam_coeffs)
        lam = list(theirs.lam_vec)
    assert len(lam) == len(names)
    random = Random(name)
    known = {x: Rational(random.randint(1, 99), 70) for x in names}
    one = Matrix(ours.eom).xreplace(known)
    other = Matrix(theirs.eom).xreplace({
        x: known[y] for x, y in zip(lam, names)})
    assert equal(one, other)
    free = Matrix(ours.eom).xreplace(dict.fromkeys(names, 0))
    assert equal(
        free - one, Matrix(ours.variation.constraint_term).xreplace(known))


# Vakonomic equations

def test_appell_and_hamel_meet_although_not_holonomic():
    """A row of degree two: with ``(m + mu)*x'' + x'*mu' = 0`` and so on it
    yields ``z'' = -g/(1 + k^2)`` for every ``mu``."""
    case, method = given('appell_hamel'), formed('appell_hamel', 'vacco')
    values = case.state(1)
    second, _, _ = case.solution(values)
    values[method.mu_vec[0]] = number(Rational(2, 7))
    assert close(at(method.acceleration, values), second, EXACT)
    assert abs(at(method.closed_form.sympy(
        'multiplier_rates'), values)[0]) > 1e-3
    assert method.always_coincides is not False      # it may be undecided


def test_holonomic_rows_beside_others():
    """Their multipliers do not matter, those of the others do."""
    method = VaccoMethod(**CALLS['everything']())
    first, second = method.mu_vec
    assert not method.rhs().has(first)
    values = anywhere([method.acceleration], 5)
    wanted = at(method.acceleration, values)
    other = at(method.acceleration, {**values, second: values[second] + 1})
    assert not close(other, wanted, mp.mpf('1e-3'))


# No constraints

@pytest.mark.parametrize('name', ['spring_mass_damper',
                                  'double_pendulum_lagrange'])
def test_without_constraints_vakonomic_equations_are_lagranges(name):
    ours, theirs = formed(name, 'vacco'), upstream(name)
    for block in (*BLOCKS, 'eom'):
        assert equal(getattr(ours, block), getattr(theirs, block))
    assert equal(ours.rhs(), theirs.rhs())
    assert list(ours.equations_of_motion.states) == [*ours.q, *ours.u]
