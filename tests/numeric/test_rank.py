"""Constraint rows that begin to act, vanish, or act from the start.

Two particles of mass 1 with equal velocities from the time at which the row
acts. The force on the first one moves both; the second moves alike.
"""
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from sympy import Matrix, Piecewise, diag, pi, sin
from sympy.physics.mechanics import (
    Dyadic, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from combinations import rotating
from sympy_constrained import (
    LinearMappingMethod, RouthMethod, UdwadiaKalabaMethod, VoronetsMethod)
from sympy_constrained.errors import (
    ConstraintError, SimulationError, SingularEquationsError)
from sympy_constrained.graph import Graph, GraphBuilder, read
from sympy_constrained.numeric import compile_equations, simulate, sweep
from sympy_constrained.numeric.integrate.passage import PassageFinder
from sympy_constrained.numeric.linear.rank_changes import CarriedRank
from sympy_constrained.numeric.manifold.consistent_state import no_rotation
from sympy_constrained.timing import time_limit

T = dynamicsymbols._t
X, Y, Z = dynamicsymbols('x y z')
LATE = Piecewise((0, T < 1), (T - 1, True))
BACKENDS = ['numpy', 'llvm']
FACTORS = [
    ([T], 0), ([T, 2*T], 0), ([LATE], 1), ([T**2], 0), ([sin(T)], 0),
    ([T - 1], 1), ([T, 1], 0), ([1], 0), ([T], -1), ([T - 1], 0)]


def model(factors, force=1, method=UdwadiaKalabaMethod):
    """Rows ``factor*(x' - y')`` and a row ``x' - z'`` that always acts."""
    energy = sum(q.diff()**2 for q in (X, Y, Z))/2
    return method(energy + force*X + force*Z, [X, Y, Z], nonhol_coneqs=[
        *(factor*(X.diff() - Y.diff()) for factor in factors),
        X.diff() - Z.diff()])


@pytest.mark.filterwarnings('ignore:The rank of the equations changed')
@rotating('case, backend', FACTORS, BACKENDS)
def test_a_row_that_vanishes_at_one_time(case, backend):
    factors, start = case
    compiled = compile_equations(model(factors), backend=backend)
    with patch.object(PassageFinder, 'approach', autospec=True,
                      side_effect=PassageFinder.approach) as search:
        motion = simulate(compiled, (start, start + 2), [0]*3 + [1]*3)
    # x'' = 2/3 from the start
    np.testing.assert_allclose(motion.x[-1, :3], 2 + 2/3*2**2/2, rtol=1e-7)
    assert search.call_count < 40


@pytest.mark.filterwarnings('ignore:The rank of the equations changed')
@pytest.mark.parametrize('method, options', [
    (RouthMethod, {'method': 'RK45'}),
    *((UdwadiaKalabaMethod, x) for x in (
        {'method': 'RK45'}, {'method': 'Radau'}, {'t_eval': 21},
        {'dense': True})),
    *(pytest.param(UdwadiaKalabaMethod, {'stabilization': x},
                   marks=pytest.mark.slow) for x in (None, 'braun-goldfarb'))],
    ids=str)
def test_a_rise_with_every_way_to_integrate(method, options):
    motion = simulate(model([T], method=method), 2, [0]*3 + [1]*3, **options)
    np.testing.assert_allclose(motion.x[-1, :3], 10/3, rtol=1e-6)


@rotating('factors, backend', [[LATE], [LATE, 2*LATE], [LATE**2]], BACKENDS)
def test_a_row_that_begins_to_act_later(factors, backend):
    compiled = compile_equations(model(factors, LATE), backend=backend)
    with pytest.warns(UserWarning, match='rank of the equations changed'):
        motion = simulate(compiled, 3, [0]*3 + [1]*3)
    # x'' = 2/3*(t - 1) from t = 1
    np.testing.assert_allclose(motion.x[-1, :3], 3 + 2/3*2**3/6, rtol=1e-7)
    change, = motion.rank_changes
    assert change.after == change.before + 1
    assert change.t == pytest.approx(1, abs=1e-2)
    np.testing.assert_allclose(motion[Y.diff()][-1], motion[X.diff()][-1])


@pytest.mark.filterwarnings('ignore:The rank of the equations changed')
def test_a_row_that_begins_to_act_on_another_velocity():
    """The first particle has another velocity by then: an impact."""
    with pytest.raises(SimulationError, match='Impacts are not computed'):
        simulate(model([LATE]), 3, [0]*3 + [1]*3)


@pytest.mark.parametrize('backend', BACKENDS)
def test_a_row_that_stops_to_act_ends_the_run(backend):
    compiled = compile_equations(
        model([Piecewise((1 - T, T < 1), (0, True))]), backend=backend)
    with pytest.raises(SimulationError, match='lose rank') as error:
        simulate(compiled, 2, [0]*3 + [1]*3)
    motion = error.value.trajectory
    assert motion.t[-1] <= 1 + 1e-6
    np.testing.assert_allclose(
        motion[X], motion.t + motion.t**2/3, rtol=1e-6, atol=1e-9)


def test_a_batch_and_single_states_see_the_row():
    compiled = compile_equations(model([T]))
    times = np.array([0., 1e-6, 0.1, 3])
    states = np.tile([0., 0, 0, 1, 1, 1], (4, 1))
    for rates in (compiled.rhs(times, states), np.array([
            compiled.rhs(t, x) for t, x in zip(times, states)])):
        np.testing.assert_allclose(rates[1:, 3:], 2/3, rtol=1e-9)


def test_drift_is_the_largest_distance_from_the_rows_in_use():
    compiled = compile_equations(UdwadiaKalabaMethod(
        sum(q.diff()**2 for q in (X, Y, Z)), [X, Y, Z], hol_coneqs=[X - Y],
        nonhol_coneqs=[X.diff() - Y.diff(), X.diff() - Z.diff()]))
    rank = CarriedRank(compiled, 0., np.zeros(6))
    for x in np.eye(6)[[1, 4, 5]]/100:
        assert rank._drift(0., x) == pytest.approx(.01/2**.5)


@pytest.mark.parametrize('backend', BACKENDS)
def test_outputs_of_one_speed_behind_a_passage(backend):
    motion = simulate(compile_equations(UdwadiaKalabaMethod(
        X.diff()**2/2 + X, [X], nonhol_coneqs=[T*(X.diff() - 1)]),
        backend=backend), (-1, 1), [-1, 1], t_eval=5)
    np.testing.assert_allclose(motion[X], motion.t, atol=1e-9)
    assert motion.passages == pytest.approx([0], abs=1e-6)


def turning_body(*moments):
    q = dynamicsymbols('e:4')
    N, B, O = ReferenceFrame('N'), ReferenceFrame('B'), Point('O')
    B.orient_quaternion(N, q)
    O.set_vel(N, 0)
    return N, B, RigidBody('body', O, B, 1, (inertia(B, *moments), O)), q


def test_what_only_the_kinematics_conserve():
    N, B, body, q = turning_body(1, 2, 3)
    (e0, e1, e2, e3), (w1, w2, w3) = q, w = q, dynamicsymbols('w1:4')
    B.set_ang_vel(N, sum(x*axis for x, axis in zip(w, B)))
    rates = [2*e0.diff() + e1*w1 + e2*w2 + e3*w3,
             2*e1.diff() - e0*w1 + e3*w2 - e2*w3,
             2*e2.diff() - e3*w1 - e0*w2 + e1*w3,
             2*e3.diff() + e2*w1 - e1*w2 - e0*w3]
    rows = [w1, w1 + w2*(sum(x**2 for x in q) - 1)]
    method = UdwadiaKalabaMethod(
        N, q, w, rates, velocity_constraints=rows, bodies=[body],
        forcelist=[(B, B.x + B.y)])
    motion = simulate(method, 1, [.6, .8, 0, 0, 0, .3, -.2])
    found = *motion.rates[0, 4:], motion[w2][-1]
    assert found == pytest.approx((0, .5, 0, .8))
    with pytest.warns(UserWarning, match='e0, e1, e2, e3 give no rotation'):
        sweep(method, t_span=.1, states=[[.6, .7, 0, 0, 0, 0, .3]]*2)
    g = GraphBuilder(T)
    norms = Graph.freeze(g, {'rotation': ([[read(g, s - 1)] for s in q], 1)})
    assert 'values of e3 give' in no_rotation(norms, q, [1, 1, 1, 2])


def test_a_quaternion_behind_a_turn_in_time():
    N, A, K, B = map(ReferenceFrame, 'NAKB')
    O, q, w = Point('O'), dynamicsymbols('e:4'), dynamicsymbols('w:4')
    O.set_vel(N, 0)
    A.orient_axis(N, N.z, T)
    K.orient_explicit(A, Matrix([[1, 8, 4], [8, 1, -4], [-4, 4, -7]])/9)
    B.orient_quaternion(K, q)
    R = N.dcm(B)
    body = RigidBody('body', O, B, 1, (sum((
        x*e.outer(f) for x, (e, f) in zip(R*diag(1, 2, 3)*R.T, product(N, N))
    ), Dyadic(0)), O))
    method = UdwadiaKalabaMethod(
        N, q, w, [x.diff() - v for x, v in zip(q, w)], bodies=[body],
        configuration_constraints=[sum(x**2 for x in q) - 1])
    with pytest.warns(UserWarning, match='e0, e1, e2, e3 give no rotation'):
        simulate(method, .1, [1, 0, 0, .1, 0, 0, 0, 0], stabilization=None,
                 tolerance=.1)


def test_the_rank_is_found_near_singular_coordinates():
    (N, _, body, q), w = turning_body(3, 4, 5), dynamicsymbols('w:4')
    model = dict(
        frame=N, q_ind=q, u_ind=w, bodies=[body],
        kd_eqs=[x.diff() - v for x, v in zip(q, w)],
        configuration_constraints=[sum(x**2 for x in q) - 1])
    place, rates = np.array([[.045, .6, .3, -.74], [0, .5, -.7, .1]])
    place /= np.linalg.norm(place)
    rates[0] = -place[1:]@rates[1:]/place[0]
    with time_limit(5):     # virtual displacements have rates without bound
        mapped = compile_equations(LinearMappingMethod(**model))
    mapped = mapped.rhs(0, [*place, *rates[1:]])
    wanted = compile_equations(UdwadiaKalabaMethod(**model)).rhs(
        0, [*place, *rates])
    np.testing.assert_allclose(mapped, np.delete(wanted, 4), rtol=1e-9)


@pytest.mark.parametrize('first, w', [(0, 1), (1, 1), (0, 100*pi)])
def test_a_redundant_row_may_have_no_gradient_at_a_time(first, w):
    """Unless no other row leads on: the square alone has two branches."""
    rows = [X - sin(w*T), X**2 - sin(w*T)**2]
    energy = (X.diff()**2 + Y.diff()**2)/2 - X*Y
    start, end, w = [0, 1, float(w), 0], float(4/w), float(w)
    motion = simulate(UdwadiaKalabaMethod(
        energy, [X, Y], hol_coneqs=[rows[first], rows[1 - first]]), end, start)
    # y'' = -sin(w*t)
    assert motion[Y][-1] == pytest.approx(1 - (4 - np.sin(4))/w**2, rel=1e-7)
    assert motion[X][-1] == pytest.approx(np.sin(4))
    with pytest.raises(ConstraintError, match='no gradient'):
        simulate(UdwadiaKalabaMethod(energy, [X, Y], hol_coneqs=rows[1:]),
                 end, start)


@pytest.mark.parametrize('row, start', [
    ((X - sin(T))*(X - 2*sin(T)), [0, 1, 1.5, 0]),      # on no branch
    ((X - sin(T))**2, [0, 1000, 1, 0])])
def test_a_row_of_its_own_without_a_gradient_is_refused(row, start):
    energy = (X.diff()**2 + Y.diff()**2)/2
    for rows in [row], [Y - start[1], row]:
        with pytest.raises(ConstraintError, match='no gradient'):
            simulate(UdwadiaKalabaMethod(energy, [X, Y], hol_coneqs=rows),
                     1, start)


@pytest.mark.parametrize('method', [LinearMappingMethod, VoronetsMethod])
@pytest.mark.parametrize('first', [0, 1])
def test_pivots_hold_at_symmetric_states(method, first):
    """With all angles zero, up to rounding; elsewhere a zero is seen."""
    *q, turn = dynamicsymbols('q:6')
    rows = [turn.diff() + sum((int(j == (i + 1) % 5) + sin(
        (i + j + 1)*(turn - first)))*x.diff() for j, x in enumerate(q))
        for i in range(5)]
    L = sum(x.diff()**2 for x in (*q, 3*turn))/2 - turn**2
    mapped = compile_equations(method(
        L, [*q, turn], nonhol_coneqs=rows, q_dependent=q))
    x = [0]*5 + [first + np.pi]
    if first:
        with pytest.raises(SingularEquationsError, match='sample='):
            mapped.rhs(0, [*x, 1])
        return
    free = UdwadiaKalabaMethod(L, [*q, turn], nonhol_coneqs=rows)
    assert mapped.rhs(0, [*x, 1])[-1] == pytest.approx(
        compile_equations(free).rhs(0, [*x, *[-1]*5, 1])[-1])
