"""Entries that rounding leaves of a zero, and real ones that are tiny.

Reference: the multiplier system at 50 digits.
"""
from itertools import product

import numpy as np
import pytest
from mpmath import mp
from sympy import Float, Matrix, Rational, cos, sqrt, symbols
from sympy.physics.mechanics import dynamicsymbols

from combinations import rotating
from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, RouthMethod,
    UdwadiaKalabaMethod, VaccoMethod)
from sympy_constrained.errors import ConstrainedDynamicsError
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.numeric.linear.rank_decision import decide_rank

X = Matrix(dynamicsymbols('x y z'))
ANGLES = symbols('al be')
FORCES = Matrix([Rational(1, 5), -1, Rational(3, 10)])
# Exactly zero, 2e-16 in floats.
CANCELLING = sqrt(2 + sqrt(3)) - (sqrt(6) + sqrt(2))/2
RESIDUES = {
    'float': [cos(al) for al in ANGLES],
    'exact': [CANCELLING, 3*CANCELLING],
    'literal': [Float(np.cos(np.pi/2)), -Float(np.cos(np.pi/2))/3]}
METHODS = {
    UdwadiaKalabaMethod: {}, RouthMethod: {}, GibbsAppellMethod: {},
    VaccoMethod: {}, HamelEmbedding: {'q_dependent': X[1:]},
    LinearMappingMethod: {}}


BACKENDS = ['numpy', 'llvm']
PLACES = [(1, 0), (0, 1), (1, 1)]


def matrices(in_mass, in_rows, residues):
    """Mass matrix and gradients with residues in the places asked for."""
    first, second = (x if used else 0 for x, used in zip(
        residues, (in_mass, in_rows)))
    M = Matrix([[2, first, 0], [first, 1, Rational(1, 2)],
                [0, Rational(1, 2), 1]])
    A = Matrix([[Rational(7, 10), Rational(1, 10), second],
                [second, 1, Rational(3, 10)]])
    return M, A


def made(method, M, A):
    """A model that moves with constant accelerations."""
    velocity = X.diff(dynamicsymbols._t)
    T = (velocity.T*M*velocity)[0]/2
    return method((T + (FORCES.T*X)[0]).expand(), list(X),
                  hol_coneqs=list(A*X), **METHODS[method])


def reference(M, A, values=()):
    """Accelerations and multipliers at 50 digits."""
    m, o = A.shape
    W = Matrix([[M, -A.T], [A, Matrix.zeros(m, m)]]).subs({
        al: Rational(value) for al, value in dict(values).items()})
    right = Matrix([*FORCES, *[0]*m])
    with mp.workdps(60):
        z = mp.lu_solve(*(mp.matrix([[mp.mpf(str(x.evalf(60)))
                                      for x in matrix.row(i)]
                                     for i in range(o + m)])
                          for matrix in (W, right)))
        return np.array([float(x) for x in z])


def checked(method, M, A, constants, backend, rtol=1e-9):
    """Whether one second of motion is that of the reference."""
    model = made(method, M, A)
    if method is HamelEmbedding:        # Hamel's are not right for all choices
        model = model.corrected.equations_of_motion
    compiled = compile_equations(model, constants, backend=backend)
    start = consistent_state(compiled, {}, fill=0)
    motion = simulate(compiled, 1, start)
    z = reference(M, A, constants)
    np.testing.assert_allclose([motion[x][-1] for x in X], z[:3]/2,
                               rtol=rtol, atol=1e-12)
    if method in (UdwadiaKalabaMethod, RouthMethod, GibbsAppellMethod):
        np.testing.assert_allclose(motion.multipliers[-1], z[3:], rtol=rtol)
        assert (motion.rank == len(z)).all()


@rotating('case, places, backend', list(product(RESIDUES, METHODS)), PLACES,
          BACKENDS)
def test_residues_change_nothing(case, places, backend):
    kind, method = case
    M, A = matrices(*places, RESIDUES[kind])
    names = (M.free_symbols | A.free_symbols) & set(ANGLES)
    checked(method, M, A, dict.fromkeys(names, np.pi/2), backend)


@rotating('value, places, backend', [
    1.57, 1.5707963, 1.57079632, 1.5707963267, 1.570796326794, np.pi/2],
    PLACES, BACKENDS)
def test_tiny_entries_are_no_obstacle(places, value, backend):
    M, A = matrices(*places, RESIDUES['float'])
    names = (M.free_symbols | A.free_symbols) & set(ANGLES)
    checked(UdwadiaKalabaMethod, M, A, dict.fromkeys(names, value), backend)


@pytest.mark.parametrize('backend', BACKENDS)
def test_one_residue_hides_no_row(backend):
    """The example of two masses on a slope with an angle of pi/2."""
    method, usual, angle = slopes()
    motion = simulate(compile_equations(
        method, {**usual, **angle}, backend=backend), 1, [0]*4)
    # m1 + m2 = 2: lam = b/(a**2/2 + b**2)
    lam = 0.1/(0.49/2 + 0.01)
    np.testing.assert_allclose(motion.multipliers, lam, rtol=1e-9)
    np.testing.assert_allclose(
        motion.x[-1, :2], [0.7*lam/4, (0.1*lam - 1)/2], rtol=1e-9)


@pytest.mark.parametrize('kind', ['exact', 'float'])
def test_a_residue_is_no_mass(kind):
    x, y = X[:2]
    mass = RESIDUES[kind][0]
    method = UdwadiaKalabaMethod(
        x.diff()**2/2 + mass*y.diff()**2/2 - y, [x, y])
    constants = {} if kind == 'exact' else {ANGLES[0]: np.pi/2}
    with pytest.raises(ConstrainedDynamicsError, match='do not determine.*y'):
        simulate(method, 1, [0]*4, constants=constants)


def test_a_relation_of_constants_is_no_noise():
    """Rows that follow from each other for equal constants only."""
    method, _, constants = related()
    compiled = compile_equations(method, constants)
    assert decide_rank(compiled, 0, np.zeros(4), compiled.p).rank == 3


@pytest.mark.parametrize('mass', [5e-324, 1e-310, 1e-200, 1e200])
def test_any_mass_is_as_good_as_another(mass):
    m, (x, y) = symbols('m'), X[:2]
    method = UdwadiaKalabaMethod(m*(x.diff()**2 + y.diff()**2)/2 - m*x, [x, y])
    motion = simulate(method, 1, [0]*4, constants={m: mass})
    np.testing.assert_allclose(motion.x[-1], [-0.5, 0, -1, 0], rtol=1e-9)


@pytest.mark.parametrize('length', [2e-10, 2, 2e5, 2e10])
def test_a_pendulum_of_any_length(length):
    """A state that starts at 0 has the size of the model."""
    (m, g, l), (x, y) = symbols('m g l'), X[:2]
    method = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
        hol_coneqs=[x**2 + y**2 - l**2])
    g_value = 9.81*length               # so that the period is the same
    motion = simulate(method, 3, [length, 0, 0, 0], atol=1e-10*length,
                      constants={m: 1, g: g_value, l: length})
    same = simulate(method, 3, [1, 0, 0, 0], constants={m: 1, g: 9.81, l: 1})
    np.testing.assert_allclose(motion.x[-1]/length, same.x[-1], atol=1e-6)


# -- after a decision for other constants, at another state -------------------

def slopes():
    (x, y), (m1, m2, al) = X[:2], symbols('m1 m2 al')
    T = m1*x.diff()**2/2 + m2*(x.diff()**2 + y.diff()**2 +
                               2*x.diff()*y.diff()*cos(al))/2
    return UdwadiaKalabaMethod(T - y, [x, y], hol_coneqs=[
        7*x/10 + y/10]), {m1: 1, m2: 1, al: 1}, {al: np.pi/2}


def massless():
    x, y = X[:2]
    m, = ANGLES[:1]
    return UdwadiaKalabaMethod(x.diff()**2/2 + cos(m)*y.diff()**2/2 - y,
                               [x, y]), {m: 0}, {m: np.pi/2}


def related():
    (x, y), (a, b, c) = X[:2], symbols('a b c')
    return UdwadiaKalabaMethod(
        (x.diff()**2 + y.diff()**2)/2 - y, [x, y],
        hol_coneqs=[a*x + b*y, b*x + c*y]), {a: 1, b: 2, c: -1}, {
            a: 1/3, b: 0.1/3, c: 0.01/3}


def spread():
    (x, y), (m, n) = X[:2], symbols('m n')
    return UdwadiaKalabaMethod(
        m*x.diff()**2/2 + n*y.diff()**2/2 - x - y, [x, y]), {
            m: 1e-17, n: 1}, {m: 0}


@rotating('case, backend', [slopes, massless, related, spread],
          ['numpy', 'llvm'])
def test_an_earlier_decision_hides_nothing(case, backend):
    method, usual, hard = case()

    def outcome(compiled):
        try:
            motion = simulate(compiled, 1, [0]*4)
        except ConstrainedDynamicsError as error:
            return str(error)
        return motion.x[-1], motion.multipliers[-1], motion.rank[-1]

    compiled = compile_equations(method, usual, backend=backend)
    assert outcome(compiled)
    found = outcome(compiled.with_values(hard))
    wanted = outcome(compile_equations(
        method, {**usual, **hard}, backend=backend))
    if isinstance(wanted, str):
        assert found == wanted
    else:
        for one, other in zip(found, wanted):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
