"""What must be true of ``GibbsAppellMethod`` whatever the algebra.

The models have masses that depend on time and on the state, kinematics that
are not linear in the speeds, rolling and a moving mass centre, redundant and
implicit rows, and rows of all orders. What is compared with is
:mod:`meshchersky`, which reads positions and rotations alone, and SymPy's own
classes. The forms are compared in fractions, motions to 50 digits.
"""
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from random import Random

import numpy as np
import pytest
from mpmath import mp
from sympy import (
    Derivative, Matrix, Rational, cos, exp, sin, sqrt, symbols, sympify, zeros)
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from combinations import every_third
from kkt import at, close, norm, number, rank, t
from meshchersky import Exact, Meshchersky, fraction, particle
from sympy_constrained import (
    GibbsAppellMethod, UdwadiaKalabaMethod, internal_flow_loads,
    momentum_loads, thrust)
from sympy_constrained.errors import (
    ConstrainedDynamicsError, UnsupportedFeatureError)
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)

FORMS = ('kane', 'appell', 'maggi', 'boltzmann-hamel', 'voronets',
         'chaplygin', 'volterra', 'macmillan', 'nielsen', 'nielsen-10')
# Forms that eliminate speeds, or are made from T(q, q', t)
ELIMINATED = ('voronets', 'chaplygin', 'macmillan', 'nielsen', 'nielsen-10')
IN_VELOCITIES = ('maggi', 'boltzmann-hamel', 'voronets', 'nielsen')
m, s, m_A = dynamicsymbols('m s m_A')           # prescribed
x, y, z, psi, theta, phi = Q = dynamicsymbols('x y z psi theta phi')
x2, y2 = dynamicsymbols('x2 y2')
U = dynamicsymbols('u1:7')
u1, u2, u3, u4, u5, u6 = U
m0, g, k, r, I = symbols('m0 g k r I', positive=True)
KINDS = AppliedUndef, Derivative


pytestmark = pytest.mark.usefixtures('digits')


def dot(e, order=1):
    return sympify(e).diff(t, order)


# Models

@dataclass
class Model:
    """The arguments of Kane's shape, and what is to be expected."""

    q: list
    u: list
    V: list
    bodies: list
    frame: ReferenceFrame
    origin: Point
    loads: list = field(default_factory=list)
    hol: list = field(default_factory=list)
    vel: list = field(default_factory=list)
    acc: list = field(default_factory=list)
    guess: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    without: dict = field(default_factory=dict)     # form -> reason

    def arguments(self, **changed):
        rows = {'configuration_constraints': self.hol,
                'velocity_constraints': self.vel,
                'acceleration_constraints': self.acc}
        return {
            'frame': self.frame, 'q_ind': self.q, 'u_ind': self.u,
            'kd_eqs': [dot(e) - v for e, v in zip(self.q, self.V)],
            'bodies': self.bodies, 'forcelist': self.loads,
            **{key: value for key, value in rows.items() if value},
            **changed}

    def form(self, method=GibbsAppellMethod, **changed):
        options = self.options if method is GibbsAppellMethod else {}
        return method(**self.arguments(**changed), **options)

    @cached_property
    def method(self):
        return self.form()

    @cached_property
    def plain(self):
        return self.reread(self.bodies)

    def reread(self, bodies):
        return Meshchersky(
            self.frame, self.origin, self.q, self.u,
            dict(zip(map(dot, self.q), self.V)), bodies, self.loads,
            [*self.hol, *self.vel, *self.acc],
            anchors=self.options.get('anchors'),
            reaction=self.options.get('reaction_matrix'),
            masses=self.options.get('mass_rates'))

    def numbers(self, seed):
        """Positive numbers for everything but coordinates and speeds."""
        random = Random(f'numbers {seed}')
        known = {t: Rational(seed, 3)}
        names = set()
        for e in (*self.plain.residual, *self.plain.rows):
            names |= e.free_symbols | e.atoms(*KINDS)
        for f in (m, s, m_A):
            names |= {f, dot(f), dot(f, 2), dot(f, 3)}
        moving = {e for f in (*self.q, *self.u) for e in (
            f, *(dot(f, order) for order in (1, 2, 3, 4)))}
        for e in sorted(names - moving - {t}, key=str):
            known[e] = fraction(random, Rational(1, 2))
        return known

    def anywhere(self, seed):
        """Rational numbers for all, on no constraint."""
        random = Random(f'anywhere {seed}')
        values = self.numbers(seed)
        values.update({e: fraction(random) for e in self.q})
        for order in range(3):
            values.update({e: fraction(random) for e in
                           self.plain.speeds(order)})
        return values

    @cache
    def state(self, seed):
        """On the constraints of order 0 and 1."""
        return self.plain.state(self.numbers(seed), seed, self.guess)

    __hash__ = object.__hash__


MODELS = {}


def listed(build):
    MODELS[build.__name__] = cache(build)
    return MODELS[build.__name__]


def place():
    N, O = ReferenceFrame('N'), Point('O')
    O.set_vel(N, 0)
    return N, O


@listed
def cubic():
    """Theory 9.12: cubic kinematics with p < n, m(q, u, t)."""
    N, O = place()
    mass = m0 + x**2 + u1*y + u1**2*t
    P = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, mass)
    return Model(
        [x, y, z], [u1, u2], [u1, u2, u1**2*u2 + x*u2 + t*u1], [P], N, O,
        [(P.point, -mass*g*N.z + x*y*N.x),
         thrust(P.point, dot(mass), (1 + y)*N.x - 2*N.z + x*N.y)])


@listed
def cubic_with_row():
    """Kinematics and rows that are not linear, mass of the state."""
    N, O = place()
    mass = m0 + y**2 + dot(x2)*x + dot(z)*t
    P = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, mass)
    B = particle(N, O, 'B', x2*N.x + z*x2*N.y, m)
    return Model(
        [x, y, z, x2], [u1, u2, u3],
        [u1 + y*u2, u2 - x*u3, u3 + u1*u2 + t, u1**2 + u3*x2], [P, B], N, O,
        [(P.point, -mass*g*N.z), (B.point, k*x*N.y - x2*N.x),
         thrust(P.point, dot(mass), k*N.x + y*N.z),
         thrust(B.point, dot(m), z*N.y - N.x)],
        vel=[u1*u3 - u2**2*k + x*u1 - t],
        guess={u1: 1, u2: Rational(1, 2), u3: Rational(3, 2)},
        without={'chaplygin': 'without'})


@listed
def cone():
    """Appell and Hamel's row, implicit, with m(t)."""
    N, O = place()
    P = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, m)
    return Model(
        [x, y, z], [u1, u2, u3], [u1, u2, u3], [P], N, O,
        [(P.point, -m*g*N.z), thrust(P.point, dot(m), u1*N.x - y*N.z)],
        vel=[u3**2 - k**2*(u1**2 + u2**2)],
        guess={u1: 1, u2: Rational(-1, 2), u3: 1})


@listed
def disc():
    """A rolling disc with thrust; its inertia follows its mass."""
    N, O = place()
    Y, L, B = (ReferenceFrame(name) for name in 'YLB')
    Y.orient_axis(N, psi, N.z)
    L.orient_axis(Y, theta, Y.x)
    B.orient_axis(L, phi, L.y)
    G = O.locatenew('G', x*N.x + y*N.y + r*L.z)
    G.set_vel(N, G.pos_from(O).dt(N))
    body = RigidBody('disc', G, B, m, (inertia(
        B, m*r**2/4, m*r**2/2, m*r**2/4), G))
    return Model(
        [psi, theta, phi, x, y], [u1, u2, u3, u4, u5],
        [u1, u2, u3, u4, u5], [body], N, O,
        [(G, -m*g*N.z), thrust(G, dot(m), -k*Y.x + u3*L.y),
         (B, I*N.z - u2*N.x)],
        vel=[u4 - r*u3*cos(psi), u5 - r*u3*sin(psi)])


@listed
def redundant():
    """Rows times functions of the state, and derivatives of others."""
    N, O = place()
    P = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, m0)
    row = u3*u1 - k*u2**2
    return Model(
        [x, y, z], [u1, u2, u3], [u1, u2, u3], [P], N, O,
        [(P.point, -m0*g*N.z + (1 - x)*N.x)],
        hol=[z - x*y - t],
        vel=[row, (2 + x**2 + t**2)*row, u3 - u1*y - x*u2 - 1],
        guess={u1: 1, u2: 1, u3: 1, x: 1, y: 1},
        without={'chaplygin': 'without'})


@listed
def mixed():
    """Orders 0, 1 and 2; one mass of time and one of the state."""
    N, O = place()
    A = particle(N, O, 'A', x*N.x + y*N.y, m_A)
    mass = m0 + x2**2 + k*u4
    B = particle(N, O, 'B', x2*N.x + y2*N.y, mass)
    return Model(
        [x, y, x2, y2], [u1, u2, u3, u4],
        [u1 + y*u2, u2 - t*u1, u3, u4 + x*u3], [A, B], N, O,
        [(A.point, -g*m_A*N.y), (B.point, x*N.x - g*mass*N.y),
         thrust(A.point, dot(m_A), k*N.x),
         thrust(B.point, dot(mass), (u3 - 1)*N.y)],
        hol=[(x - x2)**2 + (y - y2)**2 - 4 - t], vel=[u1*u3 - k*u2 - 1],
        acc=[dot(u1)*u4 + dot(u3)*y - u2*u3],
        guess={x: 1, x2: -1, y: 1, y2: 0, u1: 1, u3: 1},
        without=dict.fromkeys(ELIMINATED, 'constraints on accelerations'))


@listed
def spinner():
    """A blade on a body whose mass centre moves in it."""
    N, O = place()
    A, B = ReferenceFrame('A'), ReferenceFrame('B')
    A.orient_axis(N, psi, N.z)
    B.orient_body_fixed(A, (0, theta, phi), 'ZXY')
    C = O.locatenew('C', x*N.x + y*N.y + z*N.z)
    C.set_vel(N, C.pos_from(O).dt(N))
    G = C.locatenew('G', s*B.x + (k - s)*B.z)
    body = RigidBody('body', G, B, m, (inertia(
        B, I*m, 2*I*m + s**2, I*m + 3*s, s, 0, 1), G))
    E = C.locatenew('E', -B.x + k*B.y)
    E.v2pt_theory(C, N, B)
    return Model(
        [x, y, z, psi, theta, phi], list(U), list(U), [body], N, O,
        [(C, -g*N.z), thrust(E, dot(m), k*B.y - B.z),
         (B, k*N.z + u5*B.x)],
        vel=[Matrix([u1, u2, u3]).dot(N.dcm(B)[:, 1])],
        options={'anchors': {body: C}})


@listed
def servo():
    """Reactions in given directions, which depend on the state."""
    N, O = place()
    P = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, m)
    return Model(
        [x, y, z], [u1, u2, u3], [u1, u2 + x*u3, u3], [P], N, O,
        [(P.point, -m*g*N.z + y*N.x), thrust(P.point, dot(m), k*N.y)],
        vel=[u1**2 + u2**2 + u3**2 - 4, u1 - u3*x - 1],
        guess={u1: 1, u2: 1, u3: 1},
        options={'reaction_matrix': Matrix([[1, 0], [x, 1], [0, 1 + y]])},
        without=dict.fromkeys(ELIMINATED, 'reaction_matrix'))


@listed
def burning():
    """A mass that is a state, and burns with the speed."""
    N, O = place()
    P = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, m)
    rate = -m*u1*k + x
    return Model(
        [x, y, z], [u1, u2, u3], [u1, u2 - x*u3, u3 + u1**2], [P], N, O,
        [(P.point, -m*g*N.z), thrust(P.point, dot(m), u2*N.x - N.y)],
        vel=[u1*u2 - u3*k - 1], guess={u1: 1, u2: 2, u3: 1},
        options={'mass_rates': {m: rate}})


models = pytest.mark.parametrize('name', MODELS)


def accelerations(method, values):
    """``u'``, the last of the rates."""
    rates = at(method.rhs(), values)
    return rates[rates.rows - len(method.u):, 0]


# The equations

@models
def test_equations_off_the_constraints(name):
    """``B^T A^T = 0``, or ``B^T W = 0``; ``E`` of positions and rotations,
    ``eom = -B^T E``, and both blocks."""
    model = MODELS[name]()
    method, plain, p = model.method, model.plain, len(model.u)
    orders = list(method.constraint_orders)
    assert orders == sorted(plain.orders)[:len(orders)]
    assert len(orders) == len(plain.orders) - (name == 'redundant')
    eps = p - len(method.independent_rows)
    values = model.anywhere(1)
    B, A, E, W, r = (at(e, values) for e in (
        method.hypersurface_basis, method.constraints_jacobian,
        plain.residual, method.mass_matrix, method.forcing))
    assert (B.rows, B.cols) == (p, eps) and rank(B) == eps
    if orders:
        across = at(model.options.get(
            'reaction_matrix', Matrix(method.constraints_jacobian).T), values)
        assert norm(B.T*across) < 1e-50
    assert close(at(method.ingredients.unrestricted_residual, values), E)
    assert close(at(method.eom, values), -B.T*E, scale=1)
    assert close(W[:eps, :], B.T*at(plain.M, values), scale=1)
    assert close(r[:eps, 0], -B.T*at(plain.h, values), scale=1)
    for i, row in enumerate(method._ordered_rows):
        assert close(W[eps + i, :].T, A[row, :].T, scale=1)


@pytest.mark.parametrize('name, form', every_third(
    list(product(MODELS, FORMS))))
def test_forms(name, form):
    """Equal to ``eom`` identically, or the reason why there is none."""
    model = MODELS[name]()
    method = model.method
    if form in model.without:
        with pytest.raises(UnsupportedFeatureError, match=model.without[form]):
            method.classical_equations(form)
        return
    found = method.classical_equations(form)
    assert found.shape == method.eom.shape
    exact = Exact(model.anywhere(1))
    wanted = exact(method.eom)
    assert any(wanted)
    assert exact(found) == wanted


@models
def test_motion_and_reactions(name):
    """``E + W lam = 0`` with the rows, solved as one system; Kane's
    equations are ``B^T Q`` of the loads alone, and what is left of
    ``B^T E``."""
    model = MODELS[name]()
    method = model.method
    values = model.state(1)
    du, forces, lam = model.plain.solve(values)
    rates = at(method.rhs(), values)
    assert close(rates[:len(model.q), 0], at(Matrix(model.V), values), scale=1)
    assert close(accelerations(method, values), du, scale=1)
    assert close(at(method.constraint_forces, values), forces, scale=1)
    assert method.multipliers.rows == len(method.constraint_orders)
    if name != 'redundant' and len(lam):
        assert close(at(method.multipliers, values), lam, scale=1)
    full = mp.lu_solve(at(method.mass_matrix_full, values),
                       at(method.forcing_full, values))
    assert close(full, rates, scale=1)
    values = {**values, **dict(zip(
        model.plain.speeds(1), map(Rational, range(1, 9)))),
        **dict(zip(map(dot, model.q), rates))}
    active, inertial = method.kanes_equations()
    loads = model.reread(()).residual
    Z = at(method.hypersurface_basis, values)
    assert close(at(active, values), Z.T*at(loads, values), scale=1)
    assert close(at(active + inertial, values),
                 Z.T*at(model.plain.residual, values), scale=1)


@pytest.mark.parametrize('name', ['servo', 'burning', 'spinner'])
def test_a_method_of_a_method_keeps_what_only_it_takes(name):
    """Directions of reactions, masses that are states, and anchors."""
    model = MODELS[name]()
    again = GibbsAppellMethod.from_method(model.method)
    assert (again.equations_of_motion.states
            == model.method.equations_of_motion.states)
    values = model.state(1)
    assert close(accelerations(again, values), model.plain.solve(values)[0],
                 scale=1)
    assert close(at(again.lam_coeffs, values), -at(
        model.plain.reference.A, values))


def test_without_its_anchor_the_drift_of_a_mass_centre_counts_as_motion():
    model = MODELS['spinner']()
    other = GibbsAppellMethod(**model.arguments())
    values = model.anywhere(1)
    one, two = (at(method.ingredients.unrestricted_residual, values)
                for method in (model.method, other))
    assert norm(one - two) > 1e-3


def test_a_system_of_speeds_alone():
    """No coordinate: the full matrices are those of the speeds."""
    N, O = place()
    B, G = ReferenceFrame('B'), Point('G')
    B.set_ang_vel(N, u1*B.x + u2*B.y)
    G.set_vel(N, u3*N.x + u1*N.z)
    body = RigidBody('body', G, B, m0, (inertia(B, 1, 2, 3), G))
    method = GibbsAppellMethod(
        N, [], [u1, u2, u3], [], bodies=[body], forcelist=[
            (G, k*N.x), (B, g*B.y)], nonholonomic_constraints=[u1 - 2*u3])
    values = {m0: 3, k: 5, g: 7, u1: 4, u2: Rational(1, 3), u3: 2}
    # (I_x + m) u1' = lam + m, 2 u2' = g, m u3' = k - 2 lam, u1' = 2 u3'
    exact = Exact({**values, t: 0})
    found = exact(method.rhs())
    assert found == Matrix([Rational(10, 19), Rational(7, 2), Rational(5, 19)])
    assert exact(method.mass_matrix_full)*found == exact(method.forcing_full)
    states = method.equations_of_motion.states
    assert len(states) == method.mass_matrix_full.rows == 3
    assert '0 coordinates, 3 speeds, 1 constraint' in repr(method)
    partial, = method.ingredients.partial_velocities.values()
    assert [v.to_matrix(N) for v, _ in partial] == [
        Matrix([0, 0, 1]), zeros(3, 1), Matrix([1, 0, 0])]
    assert [w.to_matrix(B) for _, w in partial] == [
        Matrix([1, 0, 0]), Matrix([0, 1, 0]), zeros(3, 1)]


# Udwadia and Kalaba

@pytest.mark.parametrize('name', ['disc', 'spinner'])
def test_momentum_loads(name):
    """With them other methods take bodies that lose mass."""
    model = MODELS[name]()
    loads = momentum_loads(model.bodies, model.frame,
                           model.options.get('anchors'))
    assert not any(load[1].to_matrix(model.frame).has(x.diff(t, 2))
                   for load in loads for x in model.q)
    other = model.form(UdwadiaKalabaMethod, forcelist=[*model.loads, *loads])
    values = model.state(1)
    values |= zip(map(dot, model.q), at(Matrix(model.V), values))
    for member in ('acceleration', 'constraint_forces'):
        assert close(at(getattr(model.method, member), values),
                     at(getattr(other, member), values), scale=1)


# The rows

def test_an_acceleration_row_replaces_the_differentiated_one():
    """With the coefficients of the differentiated lower row."""
    model = MODELS['cone']()
    row, = model.vel
    once = model.plain.dot(row) + 3*row            # decays
    more = model.form(acceleration_constraints=[once])
    assert len(more.constraint_orders) == 1
    values = dict(model.state(1))
    for e in (u1, u2, u3):
        values[e] = values[e] + number(Rational(1, 7))
    rates = accelerations(more, values)
    residual = {**values, **dict(zip(model.plain.speeds(1), rates))}
    assert norm(at(once, residual)) < mp.mpf(10)**-45


# Forms

def test_mass_of_speeds_that_the_velocities_do_not_determine():
    """Then there is no T(q, q', t), which is told."""
    N, O = place()
    mass = m0 + u1**2
    P = particle(N, O, 'P', x*N.x + y*N.y, mass)
    model = Model([x, y], [u1, u2], [u1**3 + u2, u2 - u1*x], [P], N, O,
                  [thrust(P.point, dot(mass), N.x)])
    exact = Exact(model.anywhere(1))
    for form in set(FORMS) - {'chaplygin'}:
        if form in IN_VELOCITIES:
            with pytest.raises(UnsupportedFeatureError, match="q' do not de"):
                model.method.classical_equations(form)
        else:
            assert exact(model.method.classical_equations(form)) == -exact(
                model.plain.residual)
    P = particle(N, O, 'P', (x + m)*N.x, m)
    model = Model([x], [u1], [u1], [P], N, O, [],
                  options={'mass_rates': {m: -u1**2}})
    with pytest.raises(UnsupportedFeatureError, match='depends on speeds'):
        model.method.classical_equations('kane')


def test_potential_and_generalized_forces():
    """They are in all forms."""
    N, O = place()
    P = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, m)
    P.potential_energy = m*g*z + x**2*y
    model = Model([x, y, z], [u1, u2, u3], [u1 + u2**2, u2, u3], [P], N, O,
                  [thrust(P.point, dot(m), N.x)], vel=[u1*u2 - u3])
    method = model.form(potential_energy='include',
                        generalized_forces=[x, u1*y, 1])
    exact = Exact(model.anywhere(1) | {g: 2})
    V = Matrix(model.V)
    force = Matrix([x, u1*y, 1]) - V.jacobian(model.u).T*Matrix(
        [P.potential_energy.diff(e) for e in model.q])
    B = exact(method.hypersurface_basis)
    wanted = -B.T*exact(model.plain.residual + force)
    assert exact(method.eom) == wanted
    for form in FORMS:
        assert exact(method.classical_equations(form)) == wanted


def turning(rate, velocity):
    """A body whose velocities were set in a speed that x' does not tell."""
    N, O = place()
    B = ReferenceFrame('B')
    B.orient_axis(N, x, N.z)
    B.set_ang_vel(N, rate*N.z)
    G = O.locatenew('G', k*y*B.x + x*N.z)
    G.set_vel(N, velocity(N, B))
    body = RigidBody('plate', G, B, m, (inertia(B, 1, 2, 3 + m), G))
    return Model([x, y], [u1, u2], [u1 + u1**3, u2], [body], N, O, [
        (G, -m*g*N.z + u1*B.y), (B, k*y*B.z), thrust(
            G, dot(m), B.x - u2*N.z)])


@pytest.mark.parametrize('form', every_third(FORMS))
def test_velocities_in_speeds_that_are_no_rates(form):
    """They are those of position and orientation, which the forms take."""
    own = u1 + u1**3
    model = turning(own, lambda N, B: k*u2*B.x + k*y*own*B.y + own*N.z)
    exact = Exact(model.anywhere(1) | {m: 3, g: 10, k: 2})
    wanted = -exact(model.plain.residual)
    assert exact(model.method.eom) == wanted
    assert exact(model.method.classical_equations(form)) == wanted


@pytest.mark.parametrize('form', IN_VELOCITIES)
@pytest.mark.parametrize('rate, factor', [(u1, 1), (u1 + u1**3, 2)])
def test_velocities_of_no_position_are_told(form, rate, factor):
    model = turning(rate, lambda N, B: k*u2*B.x*factor + (u1 + u1**3)*(
        k*y*B.y + N.z))
    with pytest.raises(UnsupportedFeatureError, match=(
            'velocity of plate was set, and is not the derivative')):
        model.method.classical_equations(form)


# Rigid bodies with flow

def spinning(dyadic, mass=1):
    """A wheel in a fork, and the fork."""
    N, O = place()
    fork, wheel = ReferenceFrame('F'), ReferenceFrame('W')
    fork.orient_axis(N, psi, N.x)
    wheel.orient_axis(fork, theta, fork.y)
    G = O.locatenew('G', 0)
    G.set_vel(N, 0)
    body = RigidBody('wheel', G, wheel, mass, (dyadic(fork, wheel), G))
    return Model([psi, theta], [u1, u2], [u1, u2], [body], N, O,
                 [(fork, psi*N.x)])


@pytest.mark.parametrize('dyadic', [
    lambda F, W: inertia(W, 1, 2, 3, k, 0, k),
    lambda F, W: inertia(F, 1, 2, 1),
    lambda F, W: inertia(F, 1, 2, 1) + inertia(W, 1, 1, 3)])
@pytest.mark.filterwarnings('error')
def test_inertia_of_a_rigid_body_is_that_of_the_other_methods(dyadic):
    model = spinning(dyadic)
    methods = model.method, model.form(UdwadiaKalabaMethod)
    values = {e: Rational(i, 7) for i, e in enumerate((k, psi, theta, u1, u2))}
    ours, other = (at(method.acceleration, values) for method in methods)
    assert close(ours, other)


@pytest.mark.parametrize('dyadic', [
    lambda F, W: inertia(F, 1, 2, 3), lambda F, W: inertia(W, 1, 2, 3 + t)])
@pytest.mark.filterwarnings('error')
def test_inertia_that_changes_at_constant_mass_is_told(dyadic):
    """It may be meant; in Kane's sense it is another model."""
    with pytest.warns(UserWarning, match='wheel changes in the body'):
        spinning(dyadic).method
    spinning(dyadic, mass=2 + t).method


def test_internal_flow():
    """Model 3 of theory section 6, with the moment of the jet."""
    N, O = place()
    B = ReferenceFrame('B')
    B.orient_body_fixed(N, (psi, theta, phi), 'ZXY')
    C = O.locatenew('C', x*N.x + y*N.y + z*N.z)
    C.set_vel(N, C.pos_from(O).dt(N))
    G = C.locatenew('G', s*B.x)
    G.set_vel(N, G.pos_from(O).dt(N))
    body = RigidBody('rocket', G, B, m, (inertia(B, I*m, I*m**2, I*m**2), G))
    exit = C.locatenew('E', -k*B.x + r*B.y)
    exit.v2pt_theory(C, N, B)
    h = dot(s)*B.x + s*B.z
    loads = internal_flow_loads(body, N, [(exit, dot(m))], anchor=C,
                                angular_flow=h)
    w = B.ang_vel_in(N)
    c, r_e = s*B.x, -k*B.x + r*B.y
    mu = m*c.dt(B) + dot(m)*(c - r_e)
    force = -2*w.cross(mu) - mu.dt(B)
    inertia_rate = body.central_inertia.dt(B)
    arm = r_e - c
    moment = (-inertia_rate.dot(w) + dot(m)*arm.cross(w.cross(arm))
              - w.cross(h) - h.dt(B))
    names = (t, m, s, I, k, r, *(dot(e, i) if i else e for e in Q
                                 for i in range(2)),
             *(dot(e, i) for e in (m, s) for i in (1, 2, 3)))
    exact = Exact({e: fraction(Random(i), 1) for i, e in enumerate(names)})
    total, about = sum_of(loads, G, N)
    assert exact(total.to_matrix(B)) == exact(force.to_matrix(B))
    assert exact(about.to_matrix(B)) == exact(moment.to_matrix(B))


def test_rates_at_exits_may_be_written_in_another_way():
    """The balance is one of values; else it is refused."""
    N, O = place()
    B = N.orientnew('B', 'Axis', (psi, N.z))
    G = O.locatenew('G', x*N.x)
    E = G.locatenew('E', -k*B.x)
    body = RigidBody('body', G, B, (m0 + m)**2, (inertia(B, 1, 1, 1), G))
    rates = 2*(m0 + m)*dot(m), 2*m0*dot(m) + 2*m*dot(m)
    exact = Exact({m: 2, m0: 3, k: 5, dot(m): 7, dot(m, 2): 11, psi: 0,
                   dot(psi): 13})
    first, second = ([exact(vector.to_matrix(B)) for _, vector in
                      internal_flow_loads(body, N, [(E, rate)])]
                     for rate in rates)
    assert first == second
    burning = RigidBody('burning', G, B, sqrt(1 - t), (inertia(B, 1, 1, 1), G))
    assert internal_flow_loads(burning, N, [(E, -sqrt(1 - t)/(2 - 2*t))])
    for one, rate in (body, 2*m0*dot(m) + m*dot(m)), (burning, 1/sqrt(1 - t)):
        with pytest.raises(ConstrainedDynamicsError, match='sum up to'):
            internal_flow_loads(one, N, [(E, rate)])


def sum_of(loads, G, N):
    """Resultant and moment about a point."""
    force, moment = 0*N.x, 0*N.x
    for where, vector in loads:
        if hasattr(where, 'vel'):
            force += vector
            moment += where.pos_from(G).cross(vector)
        else:
            moment += vector
    return force, moment


# Along a motion

def moved_by(case):
    """Models with an energy, and a start."""
    N, O = place()
    mass = {'m(t)': m0*exp(-t/3), 'm(q)': m0 + x**2, 'm': m0,
            'm\'(u)': m}[case.split(', ')[0]]
    P = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, mass)
    model = Model(
        [x, y, z], [u1, u2, u3], [u1, u2, u3], [P], N, O,
        [(P.point, -9*mass*N.z - x*N.y),
         thrust(P.point, dot(mass), N.x - u1*N.y)],
        vel=[u1*u2 - u3])
    state = {x: .3, y: 0, z: 0, u1: 1, u2: 2, u3: 2}
    if case.startswith("m'"):
        model.options = {'mass_rates': {m: -m*u1/5}}
        state[m] = 1
    if case.endswith('body'):
        B = ReferenceFrame('B')
        B.orient_axis(N, z, N.x)
        B.set_ang_vel(N, u3*N.x)
        central = inertia(B, mass, mass*(1 + x**2), 2*mass*(3 - t))
        model.bodies = [RigidBody('B', P.point, B, mass, (central, P.point))]
        model.loads.append((B, y*N.x))
    if case.endswith('order 2'):
        model.vel = [dot(u1)**2 + dot(u2)**2 + dot(u3)**2 - 100]
        state.update({dot(u3): -10})
    if case.endswith('order 3'):
        model.vel = [dot(u1, 2) - x*dot(u2, 2)]
    return model.method, state


@pytest.mark.parametrize('case', [
    'm(t)', 'm(q)', "m'(u)", 'm(t), body', 'm(q), body', 'm, order 2',
    'm, order 3', 'm(t), order 3'])
def test_energy_is_what_was_put_in(case):
    """Thrust, mass exchange, and reactions that do work."""
    method, state = moved_by(case)
    constants = {m0: 1.5} if m0 in method.equations_of_motion.constants else {}
    compiled = compile_equations(method, constants)
    start = consistent_state(compiled, state, fixed=[x, y, z], fill=0)
    motion = simulate(compiled, .4, start, t_eval=9, rtol=1e-11, atol=1e-12)
    assert motion.energy.max() - motion.energy.min() > 1e-2
    assert np.abs(motion.energy_error).max() < 1e-8


# Constraints of higher order

def particle_with(row, force=None, others=(), mass=m0):
    N, O = place()
    P = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, mass)
    force = force or (-g*N.z - x*N.x + y*N.z)
    return Model([x, y, z], [u1, u2, u3], [u1, u2, u3], [P], N, O,
                 [(P.point, force)], vel=[*others, row])


def higher_models():
    d1, d2, d3 = (dot(e) for e in (u1, u2, u3))
    return {
        'order 2, nonlinear': particle_with(d1**2 + d2**2 + d3**2 - k),
        'order 2, nonlinear, m(t)': particle_with(
            d1*d2 - u3*d3**2 - x, mass=m),
        'order 3, linear': particle_with(
            dot(u2, 2) - x*dot(u1, 2) - u2*d1),
        'order 3, nonlinear': particle_with(
            dot(u1, 2)*dot(u2, 2) + dot(u3, 2)**2 - k),
        'order 4, linear': particle_with(
            dot(u3, 3) - x*dot(u1, 3) + d2*u1),
        'orders 0, 2, 3': Model(**{
            **vars(particle_with(dot(u2, 2) - y*dot(u1, 2) - u3)),
            'hol': [z - x*y], 'acc': [d1*u2 - d3*x - k]}),
        'orders 1, 2 nonlinear': particle_with(
            d1**2 + d3**2 - k*d2, others=[u1*u3 - u2])}


HIGHER = pytest.mark.parametrize('case', higher_models())


@cache
def of_higher_order(case):
    model = higher_models()[case]
    method = model.method
    return model, method, model.plain.higher(list(method.lam_vec))


def given_mass(order=0):
    """``m(t)`` of the simulations, and its derivatives."""
    return (1 + t/8 + t**2/50).diff(t, order)


def of_time(numbers, time):
    """Numbers with those of the mass at a time."""
    return {**numbers, t: time, **{
        dot(m, k) if k else m: float(given_mass(k).subs(t, time))
        for k in range(5)}}


# Seeds of states that are far from singular ones.
REGULAR = {
    'order 2, nonlinear': 2, 'order 2, nonlinear, m(t)': 2,
    'order 3, linear': 1, 'order 3, nonlinear': 6, 'order 4, linear': 1,
    'orders 0, 2, 3': 11, 'orders 1, 2 nonlinear': 4}


@cache
def regular_start(case):
    """Numbers, a consistent state far from singular ones, and the compiled
    equations."""
    model, method, wanted = of_higher_order(case)
    numbers = of_time({e: float(v) for e, v in model.numbers(1).items()}, 0)
    uses = {getattr(e, 'expr', e)
            for e in method.equations_of_motion.specifieds}
    compiled = compile_equations(
        method, {e: numbers[e] for e in method.equations_of_motion.constants},
        {m: given_mass()} if m in uses else None)
    seed = REGULAR[case]
    random = Random(seed)
    values = wanted.state(numbers, seed, {
        e: Rational(random.randint(-200, 200), 100) for e in wanted.states})
    assert max(abs(values[e]) for e in wanted.states) < 5
    assert wanted.is_regular(values, 0.4)
    return numbers, values, compiled


@HIGHER
def test_higher_order_at_a_state(case):
    """States, rates, residuals and multipliers are those of the reference.

    Residuals vanish with its rates, and only with them. The multipliers,
    which are states, follow from the accelerations.
    """
    model, method, wanted = of_higher_order(case)
    equations = method.equations_of_motion
    assert set(equations.states) == set(wanted.states)
    assert len(equations.states) == len(wanted.states)
    if wanted.depth == 1:       # else what is solved for comes last
        assert list(equations.states) == wanted.states
    values = wanted.state(model.numbers(1), 1, {
        e: -1 for e in wanted.lam} if 'nonlinear' in case else None)
    values.update(zip(wanted.unknowns, wanted.solve(values)))
    values.update(zip(map(dot, model.q), at(Matrix(model.V), values)))
    assert close(at(method.rhs(), values),
                 [values[dot(e)] for e in equations.states],
                 mp.mpf(10)**-45, scale=1)
    found = mp.lu_solve(*(at(e, values) for e in (
        method.mass_matrix, method.forcing)))
    assert close(sorted(found), sorted(
        values[e] for e in wanted.unknowns), mp.mpf(10)**-40, scale=1)
    column = method.solve_multipliers(sol_type='Matrix')
    assert not column.has(*method.lam_vec)
    assert close(at(column, values), [-values[e] for e in method.lam_vec],
                 mp.mpf(10)**-45, scale=1)
    residual = at(equations.residual, values)
    assert len(residual) == len(equations.states)
    assert norm(residual) < mp.mpf(10)**-40
    for e in wanted.unknowns:
        other = at(equations.residual, {**values, e: values[e] + 1})
        assert norm(other) > 1e-3


@pytest.mark.parametrize('mass, options', [
    (m, {}), (m0 + x**2 + u1**2/4 + t, {}),
    (m, {'mass_rates': {m: -m*u1*k}}),
    (m, {'reaction_matrix': Matrix([x, 1, u1])})],
    ids=['m(t)', 'm(q, u, t)', 'a state', 'directions'])
@pytest.mark.parametrize('order', [
    3, pytest.param(4, marks=pytest.mark.slow)])
def test_rates_of_higher_order_with_variable_mass(mass, options, order):
    """Thrust, kinematics that are not linear, and all of these."""
    N, O = place()
    P = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, mass)
    row = dot(u2, order - 1) - x*dot(u1, order - 1) - u2*dot(u1)
    model = Model(
        [x, y, z], [u1, u2, u3], [u1, u2 + x*u3, u3 + u1**2], [P], N, O,
        [(P.point, -g*N.z - x*N.x + y*z*N.y),
         thrust(P.point, dot(mass), u2*N.x - N.y)], vel=[row],
        options=options)
    method = model.method
    wanted = model.plain.higher(list(method.lam_vec))
    random = Random(order)
    values = {**model.numbers(1), **{e: fraction(random) for e in (
        *model.q, *model.u, *wanted.multipliers(0),
        *wanted.multipliers(1))}}
    values = wanted.explicit_state(values)
    values.update(zip(wanted.unknowns, wanted.solve(values)))
    values.update(zip(map(dot, model.q), at(Matrix(model.V), values)))
    values.update({dot(e): at(rate, values)[0]
                   for e, rate in model.plain.masses.items()})
    rates = at(method.rhs(), values)
    assert close(
        rates, [values[dot(e)] for e in method.equations_of_motion.states],
        mp.mpf(10)**-45, scale=1)


@pytest.mark.parametrize('case', every_third(higher_models()))
def test_motion_of_higher_order(case):
    """From a rough guess to what all equations of lower order allow; rows
    and ``E + A^T lam`` stay zero along a simulation."""
    _, method, wanted = of_higher_order(case)
    numbers, start, compiled = regular_start(case)
    random = Random(case)
    found = consistent_state(compiled, {
        e: float(start[e]) + random.uniform(-.02, .02)
        for e in method.equations_of_motion.states})
    motion = simulate(compiled, 0.1, found, t_eval=4, rtol=1e-10, atol=1e-11)
    assert motion.residuals.shape[1] >= len(method.constraint_orders)
    assert motion.largest_residual < 1e-7
    if motion.work is not None:
        assert np.abs([motion.power_error, motion.energy_error]).max() < 1e-7
    for time, state in zip([0, *motion.t], [found, *motion.x]):
        values = {**of_time(numbers, time), **dict(zip(
            method.equations_of_motion.states, state))}
        assert norm(at(wanted.conditions, values)) < 1e-7


def test_rows_given_geometrically_beside_one_of_higher_order():
    """Their reaction is a force at the point, as if given as a residual."""
    N, O = place()
    P = particle(N, O, 'P', x*N.x + y*N.y + z*N.z, m0)
    direction = y*N.x - N.y
    plain, geometric = (GibbsAppellMethod(
        N, [x, y, z], [u1, u2, u3], [
            dot(e) - v for e, v in zip((x, y, z), (u1, u2, u3))],
        bodies=[P], forcelist=[(P.point, -m0*g*N.z + x*N.y)],
        nonholonomic_constraints=[dot(u3, 2) - k*dot(u1), row])
        for row in (y*u1 - u2 - 3, (P.point, direction, 3)))
    assert geometric.constraint_orders == (1, 3)
    random = Random(1)
    values = {e: fraction(random, 1) for e in (
        *plain.equations_of_motion.states,
        *(dot(e, 2) for e in (u1, u2, u3)), m0, g, k)} | {t: 0}
    exact = Exact(values)
    assert exact(geometric.mass_matrix) == exact(plain.mass_matrix)
    assert exact(geometric.forcing) == exact(plain.forcing)
    (point, force), = geometric.constraint_loads()
    assert point == P.point
    assert exact(force.to_matrix(N)) == values[plain.lam_vec[0]]*exact(
        direction.to_matrix(N))
