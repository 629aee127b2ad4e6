"""Motions of least cost: closed forms, second ways, constraints, errors."""
import re
import signal
from math import asin, isnan, pi, sin, sqrt

import numpy as np
import pytest
from mechanisms import g, l, m, x, y
from sympy import Matrix, cos as Cos, sin as Sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod, VaccoMethod
from sympy_constrained.errors import ConstraintError, UnsupportedFeatureError
from sympy_constrained.models import model
from sympy_constrained.numeric import (
    boundary_value, compile_equations, consistent_state, simulate)
from sympy_constrained.numeric.outcome import Reason
from sympy_constrained.optimal import optimal_motion, problem

pytest.importorskip('casadi')

theta, F, G, tau = dynamicsymbols('theta F G tau')
vx, vy, turn = x.diff(), y.diff(), theta.diff()
SLED = UdwadiaKalabaMethod(m*vx**2/2, [x], generalized_forces=[F])
REST, THERE = {x: 0, vx: 0}, {x: 3, vx: 0}


def sled(cost=F**2, t_span=2, start=REST, end=THERE, controls=(F,), **options):
    return optimal_motion(SLED, cost, t_span, start, end, controls, **{
        'constants': {m: 1.5}, 'intervals': 8, 'nodes': 3, **options})


def pendulum(rows, intervals):
    """Swung up in the plane by a force along x."""
    method = UdwadiaKalabaMethod(
        m*(vx**2 + vy**2)/2 - m*g*y, [x, y], hol_coneqs=rows,
        generalized_forces=[F, 0])
    return method, optimal_motion(
        method, F**2, 2, {x: 0, y: -0.7, vx: 0, vy: 0},
        {x: 0, y: 0.7, vx: 0, vy: 0}, [F], bounds={F: (-20, 20)},
        constants={m: 1, l: 0.7, g: 9.81}, intervals=intervals, nodes=3,
        guess={x: [0, 0.5, -0.7, 0.7, 0], y: [-0.7, -0.5, -0.2, 0.1, 0.7]})


def test_iterations_are_shown_where_wanted(capsys, monkeypatch):
    """With the infeasibility: large at the first, small at the last."""
    monkeypatch.setattr('sympy_constrained.numeric.progress.PATIENCE', 0)
    monkeypatch.setattr('sympy_constrained.numeric.progress.INTERVAL', 0)
    best = sled(1, (0, (0.1, 20)), bounds={F: (-4, 4)}, progress=True)
    drawn = capsys.readouterr().err
    found = re.findall(
        r'\riteration = (\d+)  infeasibility (\S+)  \d+ s', drawn)
    count = best.motion.statistics['iterations']
    assert [int(k) for k, _ in found] == list(range(1, count + 1))
    assert float(found[0][1]) > 0.1 and float(found[-1][1]) < 1e-6
    assert drawn.endswith('\n')
    sled()                                              # no terminal
    assert capsys.readouterr().err == ''


# -- closed forms -------------------------------------------------------------

def test_least_effort_from_rest_to_rest():
    """The force is linear in time, the cost 12 (m d)^2/T^3."""
    best = sled()
    np.testing.assert_allclose(best.cost, 12*(1.5*3)**2/2**3, rtol=1e-9)
    t = best.motion.t
    np.testing.assert_allclose(best[F], 1.5*6*3/2**2*(1 - 2*t/2), atol=1e-6)
    np.testing.assert_allclose(best[x], 3*(3*(t/2)**2 - 2*(t/2)**3), atol=1e-7)
    assert best.success and best.motion.reason is Reason.END
    assert best.error < 1e-8 and best.violation < 1e-8
    for controls in F, 'F', Matrix([F]):
        found = sled(start=[0, 0], end=[3, 0], controls=controls)
        assert found.cost == pytest.approx(best.cost)


def test_least_time_and_final_cost():
    """Full force and full brake; and the furthest way for an effort."""
    best = sled(1, (0, (0.1, 20)), bounds={F: (-4, 4)}, intervals=80)
    np.testing.assert_allclose(best.cost, 2*sqrt(1.5*3/4), rtol=2e-4)
    assert best.motion.t[-1] == pytest.approx(best.cost)
    assert np.abs(best[F]).max() < 4 + 1e-6
    far = sled(F**2/2, end={}, final_cost=-x)           # F = (T - t)/m
    np.testing.assert_allclose(far.cost, -2**3/6/1.5**2, rtol=1e-9)


def swing_up(intervals, nodes):
    """Problem and numbers of M. Kelly, SIAM Review 59 (2017) 849-904."""
    m1, m2 = symbols('m1 m2')
    cart = UdwadiaKalabaMethod(
        (m1 + m2)*vx**2/2 + m2*l*vx*turn*Cos(theta) + m2*l**2*turn**2/2
        + m2*g*l*Cos(theta), [x, theta], generalized_forces=[F, 0])
    return optimal_motion(
        cart, F**2, 2, {x: 0, theta: 0, vx: 0, turn: 0},
        {x: 1, theta: pi, vx: 0, turn: 0}, [F],
        bounds={F: (-20, 20), x: (-2, 2)}, intervals=intervals, nodes=nodes,
        constants={m1: 1, m2: 0.3, l: 0.5, g: 9.81})


def test_swing_up_of_a_cart_and_pole():
    """58.80767 by Hermite-Simpson collocation of first order, 200 intervals.

    The cost of polygons converges with the square of their intervals.
    """
    coarse, fine = swing_up(40, 4), swing_up(80, 4)
    excess = [best.cost - 58.807667 for best in (coarse, fine)]
    assert 0 < excess[1] < 2e-4 and 3 < excess[0]/excess[1] < 20
    assert fine.error < 1e-6
    run = simulate(fine.equations, 2, fine.motion.x[0], rtol=1e-10, atol=1e-12)
    assert np.abs(run.x[-1] - fine.motion.x[-1]).max() < 1e-6
    assert np.abs(fine.motion.at([0, 2]) - [[0]*4, [1, pi, 0, 0]]).max() < 1e-9


# -- nonholonomic -------------------------------------------------------------

BLADE = {'nonhol_coneqs': [vx*Sin(theta) - vy*Cos(theta)]}
ENERGY = (vx**2 + vy**2 + turn**2)/2
KNIFE_EDGE = UdwadiaKalabaMethod(
    ENERGY, [x, y, theta],
    generalized_forces=[F*Cos(theta), F*Sin(theta), tau], **BLADE)


def places(*values):
    return dict(zip((x, y, theta), values))


def test_shortest_motions_of_a_knife_edge_are_vakonomic():
    """Of least action, between places and headings; two ways to find them."""
    end = 0.6, 0.8, 0.5
    best = optimal_motion(
        KNIFE_EDGE, ENERGY, 1, places(0, 0, 0), places(*end), [F, tau],
        intervals=20, nodes=4, guess={theta: [0, 1, 0.5]})
    vacco = VaccoMethod(ENERGY, [x, y, theta], multipliers='mu', **BLADE)
    speeds = dict(zip((vx, vy, turn), best.motion.x[0][3:]))
    geodesic = boundary_value(vacco, [0, 0, 0], end, 1, {
        **speeds, vacco.mu_vec[0]: 0}, t_eval=best.motion.t)
    action = np.sum(geodesic.x[0][3:6]**2)/2        # constant, during 1 s
    assert abs(best.cost/action - 1) < 1e-7
    assert np.abs(geodesic.x[:, :3] - best.motion.x[:, :3]).max() < 1e-5


def test_length_of_reeds_and_shepp():
    """Parked sideways on four arcs, which an independent formula measures."""
    half = 1.2                      # of the length, at a least radius of 1
    aside = 2*(sqrt(4 - sin(half)**2) - 1 - np.cos(half))
    excess = []
    for intervals in 40, 80:
        best = optimal_motion(
            KNIFE_EDGE, 1, (0, (1, 10)), places(0, 0, 0), places(0, aside, 0),
            [F, tau], intervals=intervals, nodes=4, bounds={
                turn: (-1, 1), vx*Cos(theta) + vy*Sin(theta): (-1, 1)},
            guess={theta: [0, 1, 0], F: [1, -1, -1, 1]})
        excess.append(best.cost/(2*half) - 1)
        assert best.error < 1e-6
    assert 0 < excess[1] < 2e-3 and excess[0]/excess[1] > 2.5
    assert half > asin(sin(half)/2)     # the first arc


# -- constraints and the order of the scheme ----------------------------------

def test_constraints_hold_at_all_nodes():
    """At all levels, with rows of which one is redundant."""
    row = x**2 + y**2 - l**2
    errors = []
    for intervals in 20, 40:
        method, best = pendulum([row, (3 + y)*row], intervals)
        errors.append(best.error)
        X, Y, U, V = best.motion.x.T
        a, b = (best.motion.rates[:, i] for i in (2, 3))
        for residual in (X**2 + Y**2 - 0.49, X*U + Y*V,
                         X*a + Y*b + U**2 + V**2):
            assert np.abs(residual).max() < 1e-9
        # The accelerations at the nodes make the speeds, by Radau's weights.
        steps = np.diff(best.motion.t[::3])
        weights = np.array([(16 - sqrt(6))/36, (16 + sqrt(6))/36, 1/9])
        gain = steps*(a[1:].reshape(-1, 3)@weights)
        assert np.abs(np.diff(U[::3]) - gain).max() < 20*errors[-1]
        assert np.abs(best[F]).max() <= 20 + 1e-6
    # No jump to the opposite point of the circle, which would cost nothing.
    assert errors[0] < 2e-3
    # The error of one interval is of order 2*3, that of a motion 2*3 - 1.
    assert 2**5.5 < errors[0]/errors[1] < 2**6.5
    assert best.cost == pytest.approx(pendulum([row], 40)[1].cost, rel=1e-7)


# -- errors -------------------------------------------------------------------

@pytest.mark.parametrize('error, text, options', [
    (ValueError, 'G.t.. is no specified function', {'controls': [F, G]}),
    (ValueError, 'The cost or a bound contains G', {'cost': G}),
    (ValueError, 'F are 2 and 1, which nothing', {'bounds': {F: (2, 1)}}),
    (ValueError, 'F are .None, 1., which is no', {'bounds': {F: (None, 1)}}),
    (TypeError, '`end` must be .* not NoneType', {'end': None}),
    (ValueError, 'end of x is 3, beyond its bound 1', {'bounds': {x: (0, 1)}}),
    (ValueError, 'bounds the end time by 2 and 1', {'t_span': (0, (2, 1))}),
    (ValueError, 'ends at -1, which does not follow', {'t_span': -1}),
    (ValueError, '`intervals` is 0', {'intervals': 0})])
def test_what_is_refused(error, text, options):
    with pytest.raises(error, match=text):
        sled(**options)


@pytest.mark.parametrize('drag', [([0, 9], [1, 1]), lambda t, x: 1.])
def test_inputs_without_expressions_are_no_controls(drag):
    pushed = UdwadiaKalabaMethod(m*vx**2/2, [x], generalized_forces=[F - G])
    with pytest.raises(UnsupportedFeatureError, match='input G is a table'):
        optimal_motion(pushed, F**2, 1, {x: 0}, {x: 1}, [F],
                       constants={m: 1}, inputs={G: drag})


def test_ends_off_the_constraints_and_rates_of_controls():
    ring = UdwadiaKalabaMethod(
        m*(vx**2 + vy**2)/2, [x, y], hol_coneqs=[x**2 + y**2 - 1],
        generalized_forces=[F, 0])
    with pytest.raises(ConstraintError, match='`end`: No consistent state'):
        optimal_motion(ring, F**2, 1, {x: 0, y: 1}, {x: 1, y: 1}, [F],
                       constants={m: 1})
    driven = UdwadiaKalabaMethod(
        m*(vx**2 + vy**2)/2, [x, y], nonhol_coneqs=[vx - F])
    with pytest.raises(UnsupportedFeatureError, match="rate F'"):
        optimal_motion(driven, F**2, 1, {x: 0}, {x: 1}, [F], constants={m: 1})


def test_too_little_force_is_reported_with_the_place():
    with pytest.warns(UserWarning, match='obeys all conditions.* near t = '):
        found = sled(bounds={F: (-1, 1)})
    assert not found.success and found.violation > 0.01
    assert found.motion.reason is Reason.NOT_OPTIMAL and isnan(found.error)


def test_an_interruption_returns_what_there_is(monkeypatch):
    def interrupting(*sizes):
        last = last_iterate(*sizes)
        keep = type(last).eval

        def evaluate(self, values):
            result = keep(self, values)
            if self.count == 4:
                signal.raise_signal(signal.SIGINT)
            return result

        type(last).eval = evaluate
        return last

    last_iterate = problem.last_iterate
    monkeypatch.setattr(problem, 'last_iterate', interrupting)
    with pytest.warns(UserWarning, match='The search was interrupted'):
        found = sled(1, (0, (0.1, 20)), bounds={F: (-4, 4)})
    assert found.motion.reason is Reason.INTERRUPTED and not found.success
    assert found.motion.statistics['iterations'] == 4
    assert len(found.motion) == 25 and np.isfinite(found.cost)


def test_derivatives_are_those_of_casadi(monkeypatch):
    """Jacobian and Hessian, with a free end time, final cost and bounds."""
    import casadi as ca

    def compared(problem, w, g):
        found, lam = derivatives(problem, w, g), ca.MX.sym('lam', g.numel())
        a, b = (np.sin(np.arange(1, 1 + z.numel())) for z in (w, lam))
        J, H = ca.Function('own', [w, lam], [ca.jacobian(g, w), ca.triu(
            ca.hessian(3*problem.objective + ca.dot(lam, g), w)[0])])(a, b)
        gaps = (J - found['jac_g'](a, [])[1],
                H - found['hess_lag'](a, [], 3, b))
        assert max(abs(gap).full().max() for gap in gaps) < 1e-12
        return found

    derivatives = problem.derivatives
    monkeypatch.setattr(problem, 'derivatives', compared)
    optimal_motion(KNIFE_EDGE, F**2 + tau**2, (0, (1, 3)), places(0, 0, 0),
                   places(1, 1, 1), [F, tau], bounds={vx*vy: (-1, 1)},
                   final_cost=x*turn, intervals=4)


# -- larger models ------------------------------------------------------------

def named(ready, *names):
    """States of a ready model by name."""
    by_name = {str(q.func): q for q in (*ready.coordinates, *ready.speeds)
               if not q.is_Derivative}
    return [by_name[name] for name in names]


@pytest.mark.slow
def test_a_gait_of_the_snakeboard():
    """From rest to rest, half a metre ahead, by rotor and wheels alone."""
    board = model('snakeboard')
    rest = dict.fromkeys((*board.coordinates, *board.speeds), 0)
    ahead, psi, phi = named(board, 'x', 'psi', 'phi')
    spin, steer = board.inputs
    swing = np.sin(2*pi*np.linspace(0, 1, 41))
    best = optimal_motion(
        board.form(UdwadiaKalabaMethod), spin**2 + 100*steer**2, 3, rest,
        {**rest, ahead: 0.5}, [spin, steer], bounds={phi: (-1, 1)},
        constants=board.parameters, guess={phi: 0.3*swing, psi: 0.5*swing},
        nodes=4)
    assert best.success and best.error < 1e-6
    run = simulate(best.equations, 3, best.motion.x[0], rtol=1e-10, atol=1e-12)
    assert np.abs(run.x[-1] - best.motion.x[-1]).max() < 1e-6
    assert best.motion.largest_residual < 1e-9


@pytest.mark.slow
def test_a_four_bar_linkage_turns_once_with_little_torque():
    linkage = model('four_bar')
    arguments = dict(linkage.arguments)
    crank = next(b for b in arguments['bodies'] if b.name == 'link2')
    arguments['forcelist'] = [*arguments['forcelist'], (
        crank.frame, tau*arguments['frame'].z)]
    method = UdwadiaKalabaMethod(**arguments)
    q1, u1 = named(linkage, 'q1', 'u1')
    equations = compile_equations(method, linkage.parameters, {tau: 0})
    line, rate = [linkage.start], 2*pi/0.6
    for angle in 1 + np.linspace(0, 2*pi, 41):
        line.append(dict(zip(equations.states, consistent_state(
            equations, {**line[-1], q1: angle, u1: rate}, [q1, u1]))))
    best = optimal_motion(
        method, tau**2, 0.6, {q1: 1, u1: 0}, {q1: 1 + 2*pi, u1: 0}, [tau],
        bounds={tau: (-0.6, 0.6)}, constants=linkage.parameters,
        intervals=50, nodes=6, guess={
            q: [point[q] for point in line[1:]] for q in equations.states})
    assert best.success and best.error < 1e-6
    np.testing.assert_allclose(np.abs(best[tau]).max(), 0.6, rtol=1e-5)
    assert best.motion.largest_residual < 1e-9


@pytest.mark.slow
def test_a_bicycle_steers_away_before_it_changes_the_lane():
    bicycle = model('bicycle_whole')
    arguments = dict(bicycle.arguments)
    frames = {body.name: body.frame for body in arguments['bodies']}
    arguments['forcelist'] = [
        *arguments['forcelist'], (frames['fork'], tau*frames['frame'].x),
        (frames['frame'], -tau*frames['frame'].x)]
    aside, ahead, rear, front = named(bicycle, 'q8', 'q7', 'q3', 'q6')
    moving = {q: x for q, x in bicycle.start.items()
              if q in named(bicycle, 'u3', 'u6', 'u7')}
    still = dict.fromkeys((*bicycle.coordinates, *bicycle.speeds), 0.)
    end = {q: x for q, x in still.items()
           if q not in (*moving, ahead, rear, front)}
    best = optimal_motion(
        UdwadiaKalabaMethod(**arguments), tau**2, 3, still | moving,
        {**end, aside: 1.}, [tau], constants=bicycle.parameters,
        intervals=20, guess={
            q: [0, 3*v] for q, v in zip((rear, front, ahead), (
                moving[u] for u in named(bicycle, 'u3', 'u6', 'u7')))})
    assert best.success and best.error < 1e-6
    assert best.motion.largest_residual < 1e-9
    assert best[aside].min() < -0.05 and best[aside][-1] > 1 - 1e-9
