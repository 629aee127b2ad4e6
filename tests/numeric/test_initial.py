"""Consistent states: what moves, how far, and what cannot be met."""
import numpy as np
import pytest
from sympy import cos, sin, symbols
from sympy.physics.mechanics import (
    KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame,
    dynamicsymbols)

from exports import kept
from mechanisms import g, l, m, particle, t, x, y, z
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.errors import ConstraintError
from sympy_constrained.models import MODELS
from sympy_constrained.numeric import (
    compile_equations, consistent_state, equilibria, linearize, simulate)
from sympy_constrained.numeric.manifold.projection import distances, project

u, v = dynamicsymbols('u v')


def four_bar():
    """Angles of a four-bar linkage: crank 1, coupler 4, rocker 3, base 4."""
    q = dynamicsymbols('q1:4')
    a, b, c, d = symbols('a b c d')
    rows = [a*cos(q[0]) + b*cos(q[1]) - c*cos(q[2]) - d,
            a*sin(q[0]) + b*sin(q[1]) - c*sin(q[2])]
    L = m*sum(x.diff()**2 for x in q)/2 - m*g*sin(q[0])
    return q, compile_equations(UdwadiaKalabaMethod(L, q, hol_coneqs=rows), {
        m: 1, g: 9.81, a: 1, b: 4, c: 3, d: 4})


def test_fixed_states_stay_and_the_guess_chooses_the_branch():
    q, compiled = four_bar()
    for elbow in (0.8, -0.8):
        state = consistent_state(
            compiled, {q[0]: 1., q[1]: elbow, q[2]: 2*elbow, 'q1\'': 2.},
            fixed=[q[0], "q1'"], fill=0)
        assert state[0] == 1 and state[3] == 2
        assert np.abs(compiled.residuals(0, state)).max() < 1e-13
        assert state[1]*elbow > 0


def test_speeds_move_by_the_least_kinetic_energy():
    """Unequal masses on a rod: the light one changes its speed more."""
    M = symbols('M')
    method = UdwadiaKalabaMethod(
        m*x.diff()**2/2 + M*y.diff()**2/2, [x, y], hol_coneqs=[x - y - l])
    state = consistent_state(method, [1, 0, 10, 0], p={m: 1, M: 9, l: 1})
    np.testing.assert_allclose(state, [1, 0, 1, 1])     # momentum is kept


def test_speeds_without_mass_follow_the_others():
    speed = x.diff() + y.diff()         # of the only body
    method = UdwadiaKalabaMethod(m*speed**2/2, [x, y, z], nonhol_coneqs=[
        y.diff() - 1, z.diff() - 1e6*speed])
    np.testing.assert_allclose(consistent_state(
        method, [0, 0, 0, 4, 0, 0], constants={m: 2}), [0, 0, 0, 3, 1, 4e6])


def test_masses_and_units_may_differ_by_orders():
    T = (x.diff()**2 + 1e-12*y.diff()**2 + 1e9*z.diff()**2)/2
    state = consistent_state(UdwadiaKalabaMethod(T, [x, y, z], hol_coneqs=[
        x - y/10**6, x + y/10**6 - 1], nonhol_coneqs=[
            z.diff() + x.diff() - 2]), [4, 1, 0, 4, 1, 0])
    np.testing.assert_allclose(state, [.5, 5e5, 0, 0, 0, 2], atol=1e-9)


def test_redundant_rows_do_no_harm(cranks):
    guess = cranks.start + [0.1, -0.2, 0.05, 1., 2, 3]
    state = consistent_state(cranks.compiled, guess)
    assert np.abs(cranks.compiled.residuals(0, state)).max() < 1e-12
    assert abs(state[2]) < 1e-12 and abs(state[5]) < 1e-12


def test_constraints_nonlinear_in_the_speeds_and_in_time():
    compiled = compile_equations(particle(
        [x - t**2], vel=[x.diff()**2 + y.diff()**2 - 100]), {m: 1, g: 1})
    np.testing.assert_allclose(
        consistent_state(compiled, [0, 1, 0, 1], t=3.), [9, 1, 6, 8])


def test_other_constants(pendulum):
    for model, p in (pendulum.compiled, {l: 5}), (pendulum.method, [1, 1, 5]):
        state = consistent_state(model, [0, -1, 0, 0], p=p)
        np.testing.assert_allclose(state, [0, -5, 0, 0])
    # A guess where the gradient vanishes
    state = consistent_state(pendulum.compiled, {}, fill=0)
    assert np.hypot(*state[:2]) == pytest.approx(2, rel=1e-12)
    np.testing.assert_array_equal(state[2:], 0)
    # and with it that of a rate which is not zero
    grows = compile_equations(particle([x**2 + y**2 - (1 + t)**2]), {
        m: 1, g: 1})
    assert grows.residuals(0, consistent_state(grows, {}, fill=0)) == (
        pytest.approx(0, abs=1e-12))


@pytest.mark.parametrize('name', MODELS)
def test_every_ready_model_has_a_consistent_start(name):
    ready, _, compiled, state = kept(name)
    assert distances(compiled, 0, state).relative < 1e-12
    for fixed in ready.fixed:
        assert state[compiled.names.index(fixed)] == float(ready.start[fixed])


def test_distances_do_not_depend_on_how_a_row_is_written():
    far = [distances(compile_equations(particle([k*(x**2 + y**2 - 4)]), {
        m: 1, g: 1}), 0, [2.1, 0, 0, 0]) for k in (1, 1000)]
    np.testing.assert_allclose(far[0].distances, far[1].distances)
    assert far[0].distances[0] == pytest.approx(0.1, rel=0.05)


def test_projection_is_idempotent(cranks):
    first = project(cranks.compiled, 0, cranks.start + 1e-4)
    again = project(cranks.compiled, 0, first.x)
    assert np.abs(first.x - again.x).max() + again.relative < 1e-15


# -- messages -------------------------------------------------------------

def test_what_cannot_be_met_is_named(pendulum):
    with pytest.raises(ConstraintError, match=(
            'No consistent state was found while x keep.*violates holonomic '
            'row 0 by 5.0e[+]00. Release some')) as error:
        consistent_state(pendulum.compiled, [3, 0, 0, 0], fixed='x')
    assert error.value.rows == ('holonomic row 0',)
    assert error.value.residuals[0] == pytest.approx(5, rel=1e-4)
    assert error.value.state.shape == (4,)


def test_constraints_that_exclude_each_other():
    compiled = compile_equations(
        particle([x**2 + y**2 - 1, x - 2, y], q=(x, y, z)), {m: 1, g: 1})
    with pytest.raises(ConstraintError, match='contradict each other'):
        consistent_state(compiled, [0] * 6)
    compiled = compile_equations(
        particle(vel=[x.diff() - m, x.diff() - 2]), {m: 1, g: 1})
    with pytest.raises(ConstraintError, match=(
            'velocity-level row 1 is a multiple of velocity-level row 0')):
        consistent_state(compiled, [0]*4)


@pytest.mark.parametrize('mass', [-1, 1, 0.1])
def test_a_negative_mass_is_reported(mass, recwarn):
    method = UdwadiaKalabaMethod(
        m*x.diff()**2/2 + (x.diff() + y.diff())**2/2 - x, [x, y])
    simulate(method, 0.1, [0]*4, constants={m: mass})
    texts = [str(warning.message) for warning in recwarn]
    assert [('negative kinetic energy' in text and "x', y'" in text)
            for text in texts] == [True]*(mass < 0)


@pytest.mark.parametrize('name, cls', [
    ('cartesian_pendulum', LagrangesMethod), ('four_bar', KanesMethod)])
def test_the_constraints_of_methods_of_sympy_are_known(name, cls, recwarn):
    """They were not: starts were not checked, and searches ignored them."""
    ready, _, ours, state = kept(name)
    theirs = compile_equations(ready.form(cls), ready.parameters)
    with pytest.raises(ConstraintError, match='holonomic row 0 by'):
        simulate(theirs, 0.1, state + 0.1)
    for one, two in zip(*((
            consistent_state(equations, state + 0.01),
            simulate(equations, 0.1, state).x[-1],
            linearize(equations, state, dependent=()).A,
            equilibria(equations, state)[0].x[:len(state)//2])
            for equations in (theirs, ours))):
        np.testing.assert_allclose(one, two, atol=1e-8)
    assert not recwarn.list


@pytest.mark.parametrize('u_ind, others', [
    ([u, v], {}),
    ([u], {'u_dependent': [v], 'velocity_constraints': [u + v]})])
def test_a_rate_that_kane_was_not_given_is_a_warning(u_ind, others):
    N, P = ReferenceFrame('N'), Point('P')
    P.set_vel(N, u*N.x + v*N.y)
    method = KanesMethod(
        N, [x], u_ind, [x.diff() - u, y.diff() - v], [y],
        [x**2 + y**2 - 1], **others)
    method.kanes_equations([Particle('P', P, 1)], [])
    with pytest.warns(UserWarning, match='do not contain holonomic row 0'):
        assert linearize(method, [0, -1, 0, 0]).A.shape[0] > 2
