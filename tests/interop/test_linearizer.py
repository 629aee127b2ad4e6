"""SymPy's ``Linearizer`` and ``SymbolicSystem`` on the methods."""
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from mpmath import mp
from sympy import (
    Function, Matrix, Rational, cos, lambdify, pi, simplify, sin, symbols)
from sympy.physics.mechanics import (
    LagrangesMethod, Particle, Point, ReferenceFrame, dynamicsymbols, msubs)

from combinations import rotating
from sympy_constrained import (
    ConstraintError, GibbsAppellMethod, HamelEmbedding, LinearMappingMethod,
    RouthMethod, UdwadiaKalabaMethod)
from sympy_constrained.methods import symbolic_system
from sympy_constrained.models import model
from sympy_constrained.numeric import compile_equations, linearize
from sympy_constrained.timing import time_limit

m, g, k, l = symbols('m g k l', positive=True)
Q = dynamicsymbols('x y z')
V = [q.diff() for q in Q]
x, y, z = Q
ROW = x**2 + 2*y**2 + z**2 - l**2
L = (m*V[0]**2 + 2*m*V[1]**2 + 3*m*V[2]**2)/2 - m*g*y - k*x**2/2 - k*z*x
VALUES = {m: 1.3, g: 9.81, k: 2.7, l: 2.}
POSITION = [.8, -1.1, (4 - .64 - 2.42)**.5]


def with_multipliers(cls):
    return cls(L, list(Q), hol_coneqs=[ROW])


def point(method):
    """A state on the constraint, its accelerations and multiplier."""
    compiled = compile_equations(method, VALUES)
    speed = [.3, -.2, None]
    speed[2] = -(2*.8*.3 - 4*1.1*-.2)/2/POSITION[2]
    state = [*POSITION, *speed]
    rates = compiled.rhs(0, state)
    lam, = compiled.multipliers(0, state)
    return {**VALUES, **dict(zip(Q, POSITION)), **dict(zip(V, speed)),
            **dict(zip([v.diff() for v in V], rates[3:])),
            method.lam_vec[0]: -lam}


@cache
def slopes(dependent_q, dependent_v):
    """The same from central differences along the constraint, 40 digits."""
    method = with_multipliers(UdwadiaKalabaMethod)
    values, solved = point(method), method.rhs().subs(VALUES)
    names = [*Q, *V]
    flat = symbols('s:6')
    row = ROW.subs(VALUES)
    rate = sum(row.diff(q)*v for q, v in zip(Q, V))
    f, h, v = (lambdify([flat], Matrix([e]).xreplace(
        dict(zip(V, flat[3:]))).xreplace(dict(zip(Q, flat))), 'mpmath')
        for e in (solved, row, rate))
    dependent = [names.index(dependent_q), names.index(dependent_v)]
    free = [i for i in range(6) if i not in dependent]

    def rates(shift):
        state = [mp.mpf(values[s]) for s in names]
        for i, d in zip(free, shift):
            state[i] += d
        for i, residual in zip(dependent, (h, v)):
            def along(a, i=i, residual=residual):
                return residual([*state[:i], a, *state[i + 1:]])[0]
            state[i] = mp.findroot(along, state[i])
        found = f(state)
        return [found[i] for i in free]

    with mp.workdps(40):
        d = mp.mpf(10)**-12
        columns = []
        for j in range(4):
            up, down = (rates([s*(i == j) for i in range(4)]) for s in (d, -d))
            columns.append([float((a - b)/(2*d)) for a, b in zip(up, down)])
    return np.array(columns).T


@rotating('partition, cls', list(product(range(3), range(3))), [
    UdwadiaKalabaMethod, RouthMethod, GibbsAppellMethod])
def test_every_partition_is_the_slope_of_the_equations(partition, cls):
    """Also where the order is a cycle, as with the first one dependent."""
    dependent, velocity = partition
    method = with_multipliers(cls)
    values = point(method)
    A, B, _ = method.linearize(
        q_ind=[q for q in Q if q is not Q[dependent]],
        q_dep=[Q[dependent]], qd_ind=[v for v in V if v is not V[velocity]],
        qd_dep=[V[velocity]], A_and_B=True, op_point=values)
    wanted = slopes(Q[dependent], V[velocity])
    np.testing.assert_allclose(
        np.array(A, dtype=float), wanted, rtol=1e-9, atol=1e-9)
    assert not B


@pytest.mark.parametrize('cls', [UdwadiaKalabaMethod, RouthMethod])
def test_multipliers_are_solved_for_at_the_point(cls):
    method = with_multipliers(cls)
    values = point(method)
    parts = {'q_ind': [x, z], 'q_dep': [y], 'qd_ind': [V[0], V[2]],
             'qd_dep': [V[1]], 'A_and_B': True}
    given, solved = (
        np.array(method.linearize(op_point=values, **parts)[0], dtype=float)
        for values in (values, {s: value for s, value in values.items()
                                if s not in [*method.lam_vec]}))
    np.testing.assert_allclose(given, solved, rtol=1e-12, atol=1e-12)
    assert method.linearize(**parts)[0].has(method.lam_vec[0])


def test_upstream_linearizes_another_partition():
    """Where it is fixed, the class in ``_compat`` is not needed any more."""
    theirs = LagrangesMethod(L, list(Q), hol_coneqs=[ROW])
    theirs.form_lagranges_equations()
    method = with_multipliers(UdwadiaKalabaMethod)
    values = point(method)
    values[theirs.lam_vec[0]] = values[method.lam_vec[0]]
    A, _, _ = theirs.linearize(
        q_ind=[y, z], q_dep=[x], qd_ind=V[1:], qd_dep=V[:1], A_and_B=True,
        op_point=values)
    gap = np.array(A, dtype=float) - slopes(x, V[0])
    assert np.abs(gap).max() > .1


def test_implicit_form_has_the_columns_of_upstream():
    """``M*[q', u', lam'] = A*[q_ind, u_ind]`` in the order of ``q``."""
    parts = {'q_ind': [x, z], 'q_dep': [y], 'qd_ind': [V[0], V[2]],
             'qd_dep': [V[1]]}
    method = with_multipliers(UdwadiaKalabaMethod)
    values = point(method)
    made = method.to_linearizer(**parts)
    M, A, _ = made.linearize(op_point=values)
    slope = np.linalg.solve(*(np.array(a, dtype=float) for a in (M, A)))
    picked = np.array(made.perm_mat.T, dtype=float)@slope
    np.testing.assert_allclose(picked, slopes(y, V[1]), rtol=1e-9, atol=1e-9)


def test_a_singular_partition_is_named():
    """At the lowest point the vertical coordinate follows from no other."""
    method = with_multipliers(UdwadiaKalabaMethod)
    low = dict(zip([*Q, *V, *(v.diff() for v in V)], [
        0, -2**.5, 0, *[0]*6])) | {method.lam_vec[0]: 0} | VALUES
    with pytest.raises(ConstraintError, match=r'do not determine x\(t\)'):
        method.linearize(
            q_ind=[y, z], q_dep=[x], qd_ind=[V[0], V[2]], qd_dep=[V[1]],
            A_and_B=True, op_point=low)


@pytest.mark.parametrize('solver', ['LU', 'GJ'])
def test_a_mass_that_vanishes_at_the_operating_point_is_named(solver):
    """``r*r'' + r'**2 = -k`` has no acceleration at ``r = 0``."""
    r, k = dynamicsymbols('r'), symbols('k')
    method = UdwadiaKalabaMethod(r**2*r.diff()**2/2 - k*r**2/2, [r])
    t = dynamicsymbols._t
    here = {r.diff(t, 2): -k, r.diff(t): 0}
    with pytest.raises(ConstraintError, match='singular at the operating '
                       'point: the mass matrix is.*Choose another'):
        method.linearize(A_and_B=True, op_point=here | {r: 0},
                         linear_solver=solver)
    A, _, _ = method.linearize(A_and_B=True, op_point=here | {r: 1},
                               linear_solver=solver)
    assert A == Matrix([[0, 1], [(-k/r).diff(r).xreplace({r: 1}), 0]])


def test_a_pivot_that_vanishes_at_the_operating_point():
    """Rows that determine ``x', y'`` at ``z = 0``, by other pivots."""
    method = UdwadiaKalabaMethod(
        (V[0]**2 + V[1]**2 + V[2]**2)/2 - z**2/2, Q,
        nonhol_coneqs=[cos(z)*V[1] - sin(z)*V[0],
                       cos(z)*V[0] + sin(z)*V[1] - V[2]])
    at_rest = dict.fromkeys([*Q, *V, *(v.diff() for v in V),
                             *method.lam_vec], 0)
    parts = {'q_ind': Q, 'q_dep': [], 'qd_ind': [V[2]], 'A_and_B': True,
             'op_point': at_rest}
    # x' = z', so that the inertia is 2.
    right = Matrix([[0, 0, 0, 1], [0]*4, [0, 0, 0, 1],
                    [0, 0, -Rational(1, 2), 0]])
    for dependent in V[:2], V[1::-1]:
        assert method.linearize(qd_dep=dependent, **parts)[0] == right


def test_a_pivot_of_rounding_size_at_the_operating_point():
    """``cos(pi/2)`` is ``6e-17`` in floats, and no pivot."""
    inertia = 2*V[0]*V[1] + cos(z)*V[0]**2 + V[1]**2 + V[2]**2
    method = UdwadiaKalabaMethod(
        inertia/2 - x**2 - 2*y**2 - 3*x*z, Q, hol_coneqs=[x + y**2 - z])
    here = {x: pi/2 - Rational(1, 4), y: Rational(1, 2), z: pi/2,
            V[0]: Rational(1, 5), V[1]: Rational(1, 10),
            V[2]: Rational(3, 10), **{v.diff(): 1 for v in V}}
    parts = dict(q_ind=[x, y], q_dep=[z], qd_ind=V[:2], qd_dep=V[2:],
                 A_and_B=True)
    exact, floats = (
        np.array(method.linearize(op_point=point, **parts)[0], dtype=float)
        for point in (here, {s: float(value) for s, value in here.items()}))
    np.testing.assert_allclose(floats, exact, rtol=1e-12, atol=1e-12)


def test_expressions_at_a_point_are_numbers():
    """Sines of ``0.5`` in hundreds of shared operations."""
    velocities = [(Q[i] + sin(Q[j])*Q[k] + k*cos(Q[i] + Q[j])).diff()
                  for i, j, k in permutations(range(3))]
    method = UdwadiaKalabaMethod(
        sum(v**2 for v in velocities)/2 - sin(x*y), Q, hol_coneqs=[
            sin(x)*y - z])
    compiled = compile_equations(method)
    state = [0.5, 0.25, 0.25*float(sin(0.5)), 0, 0, 0]
    at_rest = dict(zip([*Q, *V, *(v.diff() for v in V)], [
        *state, *compiled.rhs(0, state)[3:]]))
    with time_limit(5):
        lam, = method.solve_multipliers(at_rest).values()
        parts = dict(q_ind=[x, y], q_dep=[z], qd_ind=V[:2], qd_dep=V[2:])
        A, _, _ = method.linearize(op_point=at_rest, A_and_B=True, **parts)
    np.testing.assert_allclose(
        float(-lam), compiled.multipliers(0, state)[0], rtol=1e-12)
    np.testing.assert_allclose(
        np.array(A, dtype=float), linearize(
            compiled, state, dependent=[z, V[2]]).A, rtol=1e-9, atol=1e-9)


def on_a_circle(potential):
    return UdwadiaKalabaMethod((V[0]**2 + V[1]**2)/2 - potential, [x, y],
                               hol_coneqs=[x**2 + y**2 - 1])


AT_REST = dict.fromkeys([*V[:2], *(v.diff() for v in V[:2])], 0)


def test_a_function_without_numbers_remains():
    """Of an unknown potential slopes are left, also in floats."""
    f, here = Function('f'), {**AT_REST, x: 0.6, y: -0.8}
    parts = dict(q_ind=[x], q_dep=[y], qd_ind=V[:1], qd_dep=V[1:2],
                 A_and_B=True)
    found = [(*method.linearize(op_point=here, **parts)[0],
              *method.solve_multipliers(here).values())
             for method in map(on_a_circle, (f(x) + y, x**3 + y))]
    cubic = [e.replace(f, lambda x: x**3).doit() for e in found[0]]
    np.testing.assert_allclose(np.array(cubic, dtype=float),
                               np.array(found[1], dtype=float), rtol=1e-12)


def test_dependent_states_that_only_rounding_determines():
    """At the bottom ``x`` does not depend on ``y``."""
    lowest = {**AT_REST, x: float(cos(pi/2)), y: -1.}
    with pytest.raises(ConstraintError, match='name others in `q_dep`'):
        on_a_circle(y).linearize(op_point=lowest, A_and_B=True, q_ind=[y],
                                 q_dep=[x], qd_ind=V[1:2], qd_dep=V[:1])


def test_floats_without_a_degree_of_freedom():
    method = UdwadiaKalabaMethod((V[0]**2 + V[1]**2)/2, [x, y],
                                 hol_coneqs=[x**2 + y**2 - 1, x - y])
    A, _, _ = method.linearize([], [], [x, y], V[:2], A_and_B=True, op_point={
        **AT_REST, x: 0.5**0.5, y: 0.5**0.5})
    assert A.shape == (0, 0)


@pytest.mark.parametrize('shape', ['lagrange', 'kane'])
def test_only_the_dependent_speeds_are_divided_by(shape):
    """At the bottom of a circle a basis that solves for ``x'`` has no value.
    """
    row, (u, v) = x**2 + y**2 - l**2, dynamicsymbols('u v')
    if shape == 'kane':
        N, O = ReferenceFrame('N'), Point('O')
        O.set_vel(N, 0)
        P = O.locatenew('P', x*N.x + y*N.y)
        P.set_vel(N, u*N.x + v*N.y)
        method = UdwadiaKalabaMethod(
            N, [x, y], [u, v], [x.diff() - u, y.diff() - v],
            configuration_constraints=[row], bodies=[Particle('P', P, m)],
            forcelist=[(P, -m*g*N.y)])
    else:
        u, v = V[:2]
        method = GibbsAppellMethod(
            m*(u**2 + v**2)/2 - m*g*y, [x, y], hol_coneqs=[row])
    names = dict(q_ind=[x], q_dep=[y], qd_ind=[u], qd_dep=[v], A_and_B=True)
    rest = {u.diff(): 0, v.diff(): 0, u: 0, v: 0, x: 0, y: -l}
    expected = Matrix([[0, 1], [-g/l, 0]])
    anywhere = method.linearize(**names)[0]
    assert simplify(msubs(anywhere, rest)) == expected
    there = method.linearize(**names, op_point=rest)[0]
    assert simplify(there) == expected


@pytest.mark.parametrize('changes, level, size', [
    ({y: -2, l: 1}, 'position', '3'), ({y: -2*l}, 'position', r'3\*l\*\*2'),
    ({V[1]: 1}, 'velocity', '-2')])
@pytest.mark.filterwarnings('error')
def test_a_point_off_the_constraints_is_told(changes, level, size):
    method = UdwadiaKalabaMethod((V[0]**2 + V[1]**2)/2 - y, [x, y],
                                 hol_coneqs=[x**2 + y**2 - l**2])
    parts = {'q_ind': [x], 'q_dep': [y], 'qd_ind': [V[0]], 'qd_dep': [V[1]],
             'A_and_B': True}
    low = {x: 0, y: -l, V[0]: 0, V[1]: 0, method.lam_vec[0]: -1/l}
    method.linearize(op_point=low, **parts)
    method.linearize(op_point={**low, x: 0.6, y: -0.8000001, l: 1}, **parts)
    with pytest.warns(UserWarning, match=f'{level} level is {size}'):
        method.linearize(op_point={**low, **changes}, **parts)


@pytest.mark.parametrize('parts, names', [
    ({'q_ind': [x], 'q_dep': [y]}, '`q_ind` and `q_dep`'),
    ({'q_ind': [x, y], 'q_dep': [y]}, '`q_ind` and `q_dep`'),
    ({'q_ind': [x, z], 'q_dep': [y], 'qd_ind': V, 'qd_dep': V[:1]},
     '`qd_ind` and `qd_dep`')])
def test_a_partition_must_be_complete(parts, names):
    method = with_multipliers(UdwadiaKalabaMethod)
    with pytest.raises(ConstraintError, match=names):
        method.linearize(**{'qd_ind': V[1:], 'qd_dep': V[:1], **parts})


# -- SymbolicSystem -------------------------------------------------------

@pytest.mark.parametrize('cls', [
    UdwadiaKalabaMethod, GibbsAppellMethod, RouthMethod, LinearMappingMethod,
    HamelEmbedding])
def test_symbolic_system_has_our_rates(cls):
    ready = model('knife_edge')
    method = ready.form(cls)
    system = symbolic_system(method)
    compiled = compile_equations(method, ready.parameters)
    names = [*system.states, *compiled.constants]
    flat = symbols(f's:{len(names)}')
    right = Matrix(system.comb_explicit_rhs)
    function = lambdify([flat], right.xreplace(dict(zip(names, flat))))
    state = np.linspace(.3, .9, len(compiled.states))
    assert list(system.states) == list(compiled.states)
    assert list(system.coordinates) == list(method.q)
    assert {*system.constant_symbols()} <= {
        *method.equations_of_motion.constants}
    np.testing.assert_allclose(
        function([*state, *compiled.p]).ravel(), compiled.rhs(0, state),
        rtol=1e-12)
