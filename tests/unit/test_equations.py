"""The equations of SymPy's own methods in the form ``W*z = r``."""
import warnings
from dataclasses import FrozenInstanceError
from random import Random

import pytest
from mpmath import mp
from sympy import IndexedBase, Matrix, MatrixSymbol, cos, sin, symbols
from sympy.physics.mechanics import (
    KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame, RigidBody,
    dynamicsymbols, inertia)

from kkt import at
from sympy_constrained import EquationsOfMotion, UdwadiaKalabaMethod
from sympy_constrained.errors import UnsupportedFeatureError

t = dynamicsymbols._t
q1, q2, q3, u1, u2, u3 = dynamicsymbols('q1:4 u1:4')
s = dynamicsymbols('s')
m, g, a, b, J = symbols('m g a b J')


def pendulum(**options):
    """A rod on a cart, with a specified force."""
    N = ReferenceFrame('N')
    B = N.orientnew('B', 'Axis', (q2, N.z))
    O = Point('O')                                          # noqa: E741
    O.set_vel(N, 0)
    cart = O.locatenew('cart', q1*N.x)
    bob = cart.locatenew('bob', a*B.x)
    bodies = [Particle('cart', cart, m), RigidBody(
        'bob', bob, B, m, (inertia(B, 0, 0, J), bob))]
    return N, bodies, [(bob, m*g*N.x), (cart, s*N.x)]


def kane_free(explicit=True):
    N, bodies, loads = pendulum()
    method = KanesMethod(
        N, [q1, q2], [u1, u2], [q1.diff(t)*a - u1*cos(q2), q2.diff(t) - u2],
        explicit_kinematics=explicit)
    return quiet(method, bodies, loads)


def kane_knife():
    N = ReferenceFrame('N')
    O, P = Point('O'), Point('P')                           # noqa: E741
    O.set_vel(N, 0)
    P.set_pos(O, q1*N.x + q2*N.y)
    B = N.orientnew('B', 'Axis', (q3, N.z))
    body = RigidBody('B', P, B, m, (inertia(B, 0, 0, J), P))
    method = KanesMethod(
        N, [q1, q2, q3], [u1, u3],
        [q1.diff(t) - u1, q2.diff(t) - u2, q3.diff(t) - u3],
        u_dependent=[u2],
        velocity_constraints=[u1*sin(q3) - u2*cos(q3)])
    return quiet(method, [body], [(P, -b*u1*N.x), (B, s*N.z)])


def quiet(method, bodies, loads):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        method.kanes_equations(bodies, loads)
    return method


def lagrange(constrained=True):
    L = m*(q1.diff(t)**2 + q2.diff(t)**2)/2 - m*g*q2 + s*q1*t
    method = LagrangesMethod(
        L, [q1, q2], hol_coneqs=[q1**2 + q2**2 - a**2] if constrained
        else None)
    method.form_lagranges_equations()
    return method


METHODS = {'kane': kane_free, 'kane implicit': lambda: kane_free(False),
           'kane with a dependent speed': kane_knife,
           'lagrange': lambda: lagrange(False),
           'lagrange with a multiplier': lagrange}


def numbers(method, seed):
    random = Random(f'equations {seed}')
    found = [*method.q, *method.u, s, s.diff(t), t, m, g, a, b, J]
    return {x: mp.mpf(random.randint(300, 1500))/1000 for x in found}


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.parametrize('seed', [1, 2])
def test_the_solution_is_that_of_the_full_system(name, seed):
    method = METHODS[name]()
    eom = EquationsOfMotion.from_method(method)
    values = numbers(method, seed)
    with mp.workdps(40):
        wanted = mp.lu_solve(at(method.mass_matrix_full, values),
                             at(method.forcing_full, values))
        out = eom.graph.evaluate(values, context=mp)
        z = mp.lu_solve(mp.matrix(out['W']), mp.matrix(out['r']))
        found = mp.matrix([x for x, in out['rates']] + list(z))
        assert mp.norm(found - wanted, mp.inf) < mp.mpf(10)**-35


@pytest.mark.parametrize('name', METHODS)
def test_states_and_unknowns(name):
    method = METHODS[name]()
    eom = EquationsOfMotion.from_method(method)
    o, extra = len(method.u), 'multiplier' in name
    assert eom.q == tuple(method.q) and eom.u == tuple(method.u)
    assert eom.states == eom.q + eom.u and eom.t == t
    assert eom.unknowns[:o] == tuple(u.diff(t) for u in eom.u)
    assert eom.multipliers == eom.unknowns[o:]
    assert len(eom.multipliers) == extra
    assert eom.W.shape == (o + extra, o + extra)
    assert eom.r.shape == eom.z.shape == (o + extra, 1)
    ours = UdwadiaKalabaMethod.from_method(method).equations_of_motion
    assert eom.constraint_names == ours.constraint_names and not eom.warning
    assert {**eom.graph.outputs, 'W': 0, 'r': 0} == {
        **ours.graph.outputs, 'W': 0, 'r': 0}


def test_constants_and_specifieds_are_told_apart():
    eom = EquationsOfMotion.from_method(kane_free())
    assert set(eom.constants) == {m, g, a, J}
    assert eom.specifieds == (s,)
    eom = EquationsOfMotion.from_method(lagrange())
    assert set(eom.constants) == {m, g, a}  # a is only in the position
    assert set(eom.specifieds) == {s}


@pytest.mark.parametrize('stiffness', [
    IndexedBase('k')[1], MatrixSymbol('K', 2, 2)[0, 1]])
def test_elements_of_arrays_are_constants(stiffness):
    """They were inputs, for they are no symbols."""
    method = UdwadiaKalabaMethod(
        (q1.diff(t)**2 - stiffness*q1**2)/2 + s*q1, [q1])
    for value in (method.equations_of_motion, method.system):
        assert value.constants == (stiffness,)
        assert value.specifieds == (s,)
    A, B, inputs = method.linearize(A_and_B=True, op_point={q1: 0})
    assert A == Matrix([[0, 1], [-stiffness, 0]]) and B == Matrix([0, 1])
    assert inputs == Matrix([s])


def test_our_multipliers_have_the_sign_of_upstream():
    """``Q_c = A^T*lam`` in both; our own method is not read again."""
    upstream = lagrange()
    ours = UdwadiaKalabaMethod.from_method(upstream)
    upstream.__class__ = type('Own', (LagrangesMethod,), {
        'equations_of_motion': 'of another kind'})
    one, two = map(EquationsOfMotion.from_method, (upstream, ours))
    assert two is ours.equations_of_motion
    values = numbers(upstream, 3)
    with mp.workdps(40):
        z = []
        for eom in (one, two):
            out = eom.graph.evaluate(values, ('W', 'r'), mp)
            z.append(mp.lu_solve(mp.matrix(out['W']), mp.matrix(out['r'])))
        assert mp.norm(z[0] - z[1], mp.inf) < mp.mpf(10)**-35


def test_the_matrices_are_those_of_the_graph():
    eom = UdwadiaKalabaMethod.from_method(lagrange()).equations_of_motion
    A = Matrix([[2*q1, 2*q2]])
    assert eom.W == Matrix([[m, 0, -2*q1], [0, m, -2*q2], [2*q1, 2*q2, 0]])
    assert eom.r == Matrix([s*t, -m*g, -2*q1.diff(t)**2 - 2*q2.diff(t)**2])
    assert eom.graph.sympy('A') == A
    assert eom.graph.sympy('holonomic') == Matrix([q1**2 + q2**2 - a**2])


@pytest.mark.parametrize('method', [
    LagrangesMethod(m*q1.diff(t)**2/2, [q1]),
    KanesMethod(ReferenceFrame('N'), [q1], [u1], [q1.diff(t) - u1])])
def test_equations_that_were_not_formed_are_an_error(method):
    with pytest.raises((ValueError, UnsupportedFeatureError),
                       match='Fr|[Ee]quations'):
        EquationsOfMotion.from_method(method)


def test_equations_tell_sizes_and_never_change():
    eom = EquationsOfMotion.from_method(lagrange())
    with pytest.raises(FrozenInstanceError):
        eom.states = ()
    assert repr(eom).startswith('<EquationsOfMotion: 4 states, 1 multipliers,')
    own = UdwadiaKalabaMethod.from_method(lagrange()).system
    assert repr(own).startswith('<ConstrainedSystem: 2 coordinates, 2 speeds,'
                                ' 1 constraint rows, ')
