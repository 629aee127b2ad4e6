"""The public face of ``RouthMethod`` and ``VaccoMethod``.

Every public name of SymPy's classes, the members that are their own with
their shapes, the ways to make a method, and the calls of scripts that were
written for SymPy's classes, tried on a skate in a bowl: a holonomic row and
another one, in both call shapes.
"""
import functools
from operator import attrgetter

import pytest
from mpmath import mp
from sympy import Matrix, Rational, cos, sin, symbols
from sympy.physics.mechanics import (
    KanesMethod, Lagrangian, LagrangesMethod, Point, ReferenceFrame,
    RigidBody, dynamicsymbols, inertia)

from kkt import Reference, at, close, equal, number, t
from sympy_constrained import RouthMethod, VaccoMethod
from sympy_constrained.methods import hamiltonian_equations

METHODS = {'routh': RouthMethod, 'vacco': VaccoMethod}
EXACT = mp.mpf(10)**-45


# A skate in a bowl

x, y, phi, z = Q = dynamicsymbols('x y phi z')
V = [q.diff(t) for q in Q]
U = dynamicsymbols('u1:5')
m, J, g, l, c = symbols('m J g l c', positive=True)         # noqa: E741
PUSH = dynamicsymbols('F')
BOWL = z - (x**2 + y**2)/(2*l)


def blade(v):
    return v[0]*sin(phi) - v[1]*cos(phi)


def parts(v):
    """Frame, body and loads, moving with ``v``."""
    N, B = ReferenceFrame('N'), ReferenceFrame('B')
    B.orient_axis(N, phi, N.z)
    B.set_ang_vel(N, v[2]*N.z)
    O, P = Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, x*N.x + y*N.y + z*N.z)
    P.set_vel(N, v[0]*N.x + v[1]*N.y + v[3]*N.z)
    skate = RigidBody('skate', P, B, m, (inertia(B, 0, 0, J), P))
    loads = [(P, -m*g*N.z - c*P.vel(N)), (B, -c*v[2]*N.z), (P, PUSH*B.x)]
    return N, [skate], loads


def kane(method, constrained=True, **options):
    N, bodies, loads = parts(U)
    kd = [a - b for a, b in zip(V, U)]
    if not constrained:
        return method(N, Q, U, kd, bodies=bodies, forcelist=loads, **options)
    speeds = dict(zip(V, U))
    rows = [BOWL.diff(t).xreplace(speeds), blade(U)]
    return method(
        N, [x, y, phi], [U[0], U[2]], kd, [z], [BOWL], [U[1], U[3]], rows,
        bodies=bodies, forcelist=loads, **options)


def lagrange(method, constrained=True, **options):
    N, bodies, loads = parts(V)
    rows = dict(hol_coneqs=[BOWL], nonhol_coneqs=[blade(V)]) if (
        constrained) else {}
    return method(Lagrangian(N, *bodies), Q, loads, bodies, N, **rows,
                  **options)


SHAPES = {'kane': kane, 'lagrange': lagrange}
REFERENCE = Reference.lagrange(
    m*(V[0]**2 + V[1]**2 + V[3]**2)/2 + J*V[2]**2/2, Q, [BOWL], [blade(V)],
    (), [PUSH*cos(phi) - c*V[0], PUSH*sin(phi) - c*V[1], -c*V[2],
         -m*g - c*V[3]])
NUMBERS = {m: Rational(7, 5), J: Rational(3, 10), g: Rational(981, 100),
           l: Rational(13, 10), c: Rational(2, 5), PUSH: Rational(6, 7)}


def state(seed, method=None):
    """Numbers on the constraints, under the names of both shapes, and for
    the multipliers that are states."""
    values = REFERENCE.admissible(NUMBERS, seed)
    values |= {u: values[v] for u, v in zip(U, V)}
    for k, mu in enumerate(getattr(method, 'mu_vec', ())):
        values[mu] = number(Rational(3*k + seed, 7))
    return values


def formed(name):
    """Upstream's object after its equations were formed."""
    method = SHAPES[name](UPSTREAM[name])
    method._form_eoms()
    return method


UPSTREAM = {'kane': KanesMethod, 'lagrange': LagrangesMethod}


@functools.cache
def once(key, shape):
    return SHAPES[shape](METHODS[key])


pytestmark = pytest.mark.usefixtures('digits')


both = pytest.mark.parametrize('key', METHODS)
shapes = pytest.mark.parametrize('shape', SHAPES)


# Order of reading, shapes

@both
@shapes
def test_rows_and_names_in_order(key, shape):
    """Holonomic rows come first, also where upstream repeats them."""
    method = once(key, shape)
    rates = dict(zip(U, V))
    first, second = (r.xreplace(rates) for r in method.velocity_constraints)
    assert (first - BOWL.diff(t)).expand() == 0
    assert (second - blade(V)).expand() == 0
    assert method.form_lagranges_equations() == method.eom
    if key == 'routh':
        assert list(method.lam_vec) == dynamicsymbols('lam1 lam2')
        return
    assert list(method.mu_vec) == dynamicsymbols('mu1 mu2')
    assert list(method.lam_vec) == [mu.diff(t) for mu in method.mu_vec]
    assert method.always_coincides is False
    assert len(hamiltonian_equations(method).states) == 8


# Names of multipliers

GIVEN = {'text': 'nu kappa', 'text with commas': 'nu, kappa',
         'mixed': ['nu', dynamicsymbols('kappa')]}


@both
@pytest.mark.parametrize('form', GIVEN)
def test_names_of_multipliers(key, form):
    shape = 'kane'
    method = SHAPES[shape](METHODS[key], multipliers=GIVEN[form])
    names = dynamicsymbols('nu kappa')
    found = method.lam_vec if key == 'routh' else method.mu_vec
    assert list(found) == names and found.shape == (2, 1)
    usual = once(key, shape)
    swap = dict(zip(usual.lam_vec, method.lam_vec))
    swap |= dict(zip(usual.mu_vec, method.mu_vec))
    for name in ('eom', 'equations_of_motion.residual', 'rhs'):
        one, other = (attrgetter(name)(e) for e in (usual, method))
        if callable(one):
            one, other = one(), other()
        assert Matrix(one).xreplace(swap) == Matrix(other)
    assert set(method.solve_multipliers()) == set(method.lam_vec)


# Ways to make a method

@both
@pytest.mark.parametrize('shape, source', [
    ('kane', KanesMethod), ('lagrange', LagrangesMethod),
    ('lagrange', RouthMethod), ('kane', VaccoMethod)])
def test_from_method(key, shape, source):
    given = SHAPES[shape](source)
    method = METHODS[key].from_method(given)
    direct = once(key, shape)
    assert type(method) is METHODS[key]
    assert list(method.q) == list(direct.q)
    assert list(method.u) == list(direct.u)
    assert method.bodies == list(given.bodies)
    values = state(1, method)
    assert close(at(method.rhs(), values), at(direct.rhs(), values), EXACT)


@both
def test_from_method_with_our_own_arguments(key):
    method = METHODS[key].from_method(
        formed('kane'), multipliers='nu kappa',
        generalized_forces=[c*x, 0, 0, m])
    names = method.lam_vec if key == 'routh' else method.mu_vec
    assert list(names) == dynamicsymbols('nu kappa')
    # One force per speed of the call: x', phi', y', z'.
    order = [list(Q).index(q) for q in method.q]
    assert order == [0, 1, 2, 3]
    change = method.system.graph.sympy(
        'applied') - once(key, 'kane').system.graph.sympy('applied')
    assert change.expand() == Matrix([c*x, 0, 0, m])


# Multipliers at a point

@shapes
def test_solve_multipliers(shape):
    """As a dictionary and as a matrix, with exact and nested points."""
    for key in METHODS:
        method = once(key, shape)
        values = state(2, method)
        states = {s: Rational(k + 3, 7)
                  for k, s in enumerate(method.equations_of_motion.states)}
        found = method.solve_multipliers(states, sol_type='Matrix')
        assert not found.has(*method.equations_of_motion.states)
        split = list(states.items())
        parted = [dict(split[:3]), dict(split[3:])]
        assert method.solve_multipliers(parted) == dict(
            zip(method.lam_vec, found))
        other = {**values, **states}
        wanted = at(method.rhs()[-2:, :] if key == 'vacco'
                    else -method.multipliers, other)
        assert close(at(found, other), wanted, EXACT)


# Redundant rows

@both
def test_rows_that_kanes_method_repeats_are_no_redundant_rows(key):
    """``velocity_constraints`` holds the differentiated holonomic rows: as
    they are, negative, or multiplied by a function."""
    speeds = dict(zip(V, U))
    wanted = once(key, 'kane')
    first = BOWL.diff(t).xreplace(speeds)
    for row in (first, -first, (2 + cos(x))*first, first*l + blade(U)*0):
        arguments = wanted._call[1]
        arguments['velocity_constraints'] = [row, blade(U)]
        method = METHODS[key](**arguments)
        assert len(method.lam_vec) == 2
        assert method.rhs() == wanted.rhs()


# Lagrangians that are not a quadratic form

def test_rays_of_light_are_vakonomic():
    """Fermat's principle, ``L = n`` at constant speed: there is no mass
    but that of the multiplier, and Snell's law is a conserved momentum."""
    ray = VaccoMethod(1 + y**2, [x, y],
                      nonhol_coneqs=[(V[0]**2 + V[1]**2 - c**2)/2])
    mu, = ray.mu_vec
    assert ray.variation.modified_mass_matrix == mu*Matrix.eye(2)
    assert set(ray.variation.conserved_quantities()) == {'energy', x}
    assert equal(ray.variation.momenta, mu*Matrix(V[:2]))
    values = {x: number(2), y: number(Rational(1, 3)), c: number(5),
              V[0]: number(3), V[1]: number(4), mu: number(Rational(7, 4))}
    # (mu*v)' = grad n, and c^2*mu' = n'
    rate = at(2*y*V[1]/c**2, values)[0]
    wanted = at(Matrix([-rate*V[0]/mu, (2*y - rate*V[1])/mu]), values)
    found = at(ray.rhs(), values)
    assert close(found[2:4, 0], wanted, EXACT)
    assert close(found[4:, 0], [rate], EXACT)
