"""``A`` and ``b`` of every level against plain SymPy differentiation."""
from random import Random

import pytest
from mpmath import mp
from sympy import Function, Matrix, cos, exp, sin, sqrt, symbols
from sympy.physics.mechanics import ReferenceFrame, dynamicsymbols

from combinations import rotating
from kkt import Reference, at
from sympy_constrained.model.constraints import (
    constraint_blocks, stabilization_gains)
from sympy_constrained.errors import ConstraintError
from sympy_constrained.graph import Graph, GraphBuilder, read
from sympy_constrained.model.kinematic_equations import solve_kinematics
from sympy_constrained.model.kinematics import Kinematics

t = dynamicsymbols._t
Q = q1, q2, q3 = dynamicsymbols('q1:4')
U = u1, u2, u3 = dynamicsymbols('u1:4')
D = d1, d2, d3 = tuple(q.diff(t) for q in Q)
A = a1, a2, a3 = tuple(u.diff(t) for u in U)
s = dynamicsymbols('s')
a, b, alpha, beta = symbols('a b alpha beta')
PLAIN = [d - u for d, u in zip(D, U)]


def body_rates():
    N = ReferenceFrame('N')
    B = N.orientnew('B', 'Body', Q, 'ZXZ')
    return [B.ang_vel_in(N).dot(e) - u for e, u in zip(B, U)]


KINEMATICS = {
    'rates of coordinates': PLAIN, 'body rates': body_rates(),
    'rheonomic': [d1*a - u1 - t, d2 - u2*cos(q1) - s, d3 - u3 + d1*q2]}
HOLONOMIC = {
    'circle': [q1**2 + q2**2 - a**2],
    'angles': [sin(q1)*cos(q2) - b*q3, cos(q1)*cos(q3)],
    'rheonomic': [q1 - a*sin(b*t)*q2 + s**2, q3*exp(-t) - s*q1],
    'root': [sqrt(q1**2 + q2**2 + 1) - a]}
VELOCITY = {
    'knife edge': [u1*sin(q3) - u2*cos(q3)],
    'with the rates of coordinates': [d1*q2 - d2*q1 - s, d3*u1 - t],
    'constant speed': [u1**2 + u2**2 - a**2],
    'nonlinear': [u1*u2*sin(q1) - exp(u3) + s*t, sqrt(u1**2 + u3**2) - q2],
    'affine in time': [u1 - a*cos(t)*q1, u3 - s.diff(t)]}
ACCELERATION = {
    'in speeds': [a1*q1 + a2 - u1**2 - s*t],
    'in coordinates': [d1.diff(t) + q2*d2.diff(t) - d1**2, d3.diff(t) - a],
    'mixed': [a1 + d2.diff(t)*sin(q3) - t]}


def numbers(seed):
    random = Random(f'constraints {seed}')
    found = [*Q, *U, *A, t, a, b, alpha, beta,
             *(s.diff(t, n) for n in range(3))]
    return {x: mp.mpf(random.randint(200, 1500))/1000 for x in found}


def blocks_of(kd_eqs=PLAIN, hol=(), vel=(), acc=(), stabilization=None):
    builder = GraphBuilder(t)
    motion = Kinematics(builder, None, Q, U,
                        solve_kinematics(builder, kd_eqs, Q, U))
    lower = [[read(builder, e) for e in rows] for rows in (hol, vel)]
    motion.declare_accelerations()
    upper = [read(builder, e) for e in acc]
    out = constraint_blocks(motion, *lower, upper, stabilization)
    return Graph.freeze(builder, {
        name: (rows, 3 if name.endswith('jacobian') or name == 'A' else 1)
        for name, rows in out.items()})


def reference(kd_eqs, hol=(), vel=(), acc=()):
    kd = Matrix(list(kd_eqs))
    J, zero = kd.jacobian(D), dict.fromkeys(D, 0)
    rates = dict(zip(D, J.LUsolve(-kd.xreplace(zero))))
    second = {d.diff(t): rate.diff(t).xreplace(rates)
              for d, rate in rates.items()}
    acc = [e.xreplace(second) for e in acc]
    vel = [e.xreplace(rates) for e in vel]
    return Reference._finish(Q, U, rates, None, None, hol, vel, acc)


def same(graph, wanted, seed):
    values = numbers(seed)
    with mp.workdps(40):
        out = graph.evaluate(values, context=mp)
        for name, e in wanted.items():
            if not e.rows:
                assert out[name] == []
                continue
            gap = mp.matrix(out[name]) - at(e, values)
            assert mp.mnorm(gap, mp.inf) < mp.mpf(10)**-33, name


CASES = [(rows, level, name) for level, rows in (
    ('hol', HOLONOMIC), ('vel', VELOCITY), ('acc', ACCELERATION))
    for name in rows]


@rotating('case, kinematics', CASES, list(KINEMATICS))
def test_rows_are_the_derivatives_of_their_residuals(case, kinematics):
    rows, level, name = case
    kd_eqs, given = KINEMATICS[kinematics], {level: rows[name]}
    x = reference(kd_eqs, **given)
    graph = blocks_of(kd_eqs, **given)
    wanted = {'A': x.A, 'b': x.b, 'holonomic': x.holonomic,
              'velocity': x.velocity,
              'velocity_jacobian': x.velocity.jacobian(U)
              if x.velocity.rows else x.velocity,
              'holonomic_jacobian': x.holonomic.jacobian(Q)
              if x.holonomic.rows else x.holonomic}
    for seed in (1, 2):
        same(graph, wanted, seed)


# Stabilization

@pytest.mark.parametrize('gains', [(alpha, beta), (2, 3), (0.5, 0.25)])
def test_baumgarte_changes_b_alone(gains):
    hol, vel = HOLONOMIC['rheonomic'], VELOCITY['nonlinear']
    x = reference(PLAIN, hol, vel)
    graph = blocks_of(PLAIN, hol, vel, stabilization=gains)
    wanted = x.stabilised(*gains)
    same(graph, {'A': x.A, 'b': wanted.b, 'velocity': x.velocity}, 1)


def test_baumgarte_per_row():
    hol, vel, acc = [q1**2 - a, q2 - q3*q1], [u1*u2 - t], [a3 - s]
    x = reference(PLAIN, hol, vel, acc)
    graph = blocks_of(PLAIN, hol, vel, acc, [
        None, (alpha, beta), (beta, 7), None])
    b = x.b.as_mutable()
    b[1] -= 2*alpha*x.velocity[1] + beta**2*x.holonomic[1]
    b[2] -= beta*x.velocity[2]
    same(graph, {'A': x.A, 'b': b}, 2)


@pytest.mark.parametrize('given, count, gains', [
    (None, 2, [(0, 0)]*2), ((1, 2), 3, [(1, 2)]*3), ([1, 2], 1, [(1, 2)]),
    ([(1, 2), None], 2, [(1, 2), (0, 0)]), ([None, None], 2, [(0, 0)]*2),
    ([(1, 2)], 1, [(1, 2)]), (((1, 2), (3, 4)), 2, [(1, 2), (3, 4)]),
    ([(1, 2), (3, 4), None], 3, [(1, 2), (3, 4), (0, 0)]),
    (Matrix([1, 2]), 3, [(1, 2)]*3)])
def test_gains_are_pairs(given, count, gains):
    assert stabilization_gains(given, count) == gains


@pytest.mark.parametrize('given', [
    [(1, 2)], [(1, 2)]*4, [None]*4, (), [1, 2, 3], 5, (1,), [(1, 2, 3)]*3,
    [(1,)]*3, [(1, 2), 3, None], 'ab'])
def test_bad_gains_are_explained(given):
    with pytest.raises((ConstraintError, TypeError),
                       match='(?s)`stabilization`.*pair'):
        stabilization_gains(given, 3)


# Errors

ERRORS = {
    'identity': ({'hol': [sin(q1)**2 + cos(q1)**2 - 1]}, ['Row 0']),
    'jerk': ({'acc': [a1.diff(t) + a2]}, ['Row 0 of `acceleration']),
    'several vanishing rows': ({'hol': [t, q1, a]}, ['Row 0', 'Row 2'])}


@pytest.mark.parametrize('name', ERRORS)
def test_rows_that_cannot_be_used_are_explained(name):
    rows, problems = ERRORS[name]
    with pytest.raises(ConstraintError) as info:
        blocks_of(**rows)
    for problem in problems:
        assert info.match(f'(?s){problem}')


def test_user_functions_in_constraints():
    f = Function('f')
    graph = blocks_of(hol=[f(q1, t) - q2])
    x = reference(PLAIN, [sin(q1)*t**2 - q2])
    values = numbers(1)
    with mp.workdps(40):
        for name, e in (('A', x.A), ('b', x.b)):
            meant = Matrix(graph.sympy(name)).replace(
                f, lambda x, y: sin(x)*y**2).doit()
            gap = at(meant, values) - at(e, values)
            assert mp.mnorm(gap, mp.inf) < mp.mpf(10)**-33


def test_a_position_row_that_is_written_with_speeds_that_cancel():
    """An earlier expression of the same value may contain the speeds."""
    q, u = dynamicsymbols('q u')
    g = GraphBuilder(dynamicsymbols._t)
    x, v = (g.input(y, dynamic=True) for y in (q, u))
    third, s = g.inv(g.constant(3)), read(g, sin(dynamicsymbols._t))
    g.sub(g.mul(third, g.add(s, v)), g.mul(third, v))       # sin(t)/3
    row = read(g, q - sin(dynamicsymbols._t)/3)
    assert g.depends_on(row, v)
    blocks = constraint_blocks(
        Kinematics(g, None, (q,), (u,), [v]), [row], [], [])
    (h,), = blocks['holonomic']
    assert g.same_value(h, row) and not g.depends_on(h, v)
