"""Change one name: the models of SymPy's documentation and test suite keep
their accelerations when ``KanesMethod`` or ``LagrangesMethod`` is replaced by
``UdwadiaKalabaMethod``.

Compared at random states on the constraint set, to 1e-10.
"""
import warnings

import numpy as np
import pytest
from sympy import Matrix, Max, atan2, sqrt, symbols
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import (
    Force, KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame,
    dynamicsymbols)
from sympy.physics.mechanics.models import (
    multi_mass_spring_damper, n_link_pendulum_on_cart)

import ready
from sympy_constrained import (
    GibbsAppellMethod, LinearMappingMethod, UdwadiaKalabaMethod)
from sympy_constrained.models import MODELS, model

UPSTREAM = {'kane': KanesMethod, 'lagrange': LagrangesMethod}
t = dynamicsymbols._t
# Explicit solutions are trees that lambdify walks: only where they are small.
SMALL = (
    'rolling_disc_minimal', 'chaplygin_sleigh', 'cartesian_pendulum',
    'driven_pendulum', 'cart_pendulum', 'cart_bead', 'spring_mass_damper',
    'double_pendulum_lagrange', 'damped_double_pendulum', 'furuta_pendulum',
    'heavy_top', 'heavy_top_quaternion', 'massless_coordinate')


def agree(method, upstream, states, ours=ready.ours):
    theirs = ready.Upstream(upstream, states[0])
    for values in states:
        assert ready.disagreement(ours(method, values), theirs(values)) < 1e-10


@pytest.mark.parametrize('name', [
    name if name in SMALL else pytest.param(name, marks=pytest.mark.slow)
    for name in MODELS if name not in ready.UPSTREAM_REFUSES])
def test_accelerations_stay_when_the_name_changes(name):
    """Also from the object of SymPy, and from the matrices."""
    m = MODELS[name]()
    method, upstream = m.form(UdwadiaKalabaMethod), m.form(UPSTREAM[m.shape])
    admissible = ready.Admissible(m)
    states = [admissible(seed) for seed in (1, 2)]
    agree(method, upstream, states)
    agree(UdwadiaKalabaMethod.from_method(upstream), upstream, states[:1])
    if name in SMALL:
        agree(method, upstream, states, ready.ours_from_matrices)
    eom, values = method.equations_of_motion, ready.floats(states[1])
    rates = eom.graph.evaluate(ready.named(eom, method, values), ['rates'])
    wanted = ready.rows(m).rates
    for q, rate in zip(method.q, np.ravel(rates['rates'])):
        answer = values[q.diff(t)] if m.shape == 'lagrange' else float(
            ready.at(wanted[q.diff(t)], values)[0])
        assert rate == pytest.approx(answer, rel=1e-11, abs=1e-11)
    assert Matrix(method.q) == Matrix(upstream.q)
    assert Matrix(method.u) == Matrix(upstream.u)
    assert method.frame == m.arguments.get('frame')
    assert list(method.bodies or ()) == list(upstream.bodies or ())
    assert list(method.loads or ()) == list(upstream.loads or ())
    assert isinstance(method, KanesMethod)
    for name in ('mass_matrix', 'forcing', 'mass_matrix_full', 'forcing_full'):
        assert getattr(method, name).shape == getattr(upstream, name).shape


# Models that are tried as SymPy ships them

def numbers(method, seed):
    """Random values for everything in a method without constraints."""
    rng = np.random.default_rng(seed)
    matrices = (method.mass_matrix_full, method.forcing_full)
    names = set().union(*(x.free_symbols for x in matrices)) - {t}
    dynamic = set().union(*(x.atoms(AppliedUndef) for x in matrices))
    dynamic |= set(method.q) | set(method.u)
    ordered = sorted(names | dynamic, key=str)
    return {t: 0.7, **{x: rng.uniform(0.5, 1.5) for x in ordered}}


@pytest.mark.parametrize('build', [
    lambda: n_link_pendulum_on_cart(3),
    lambda: n_link_pendulum_on_cart(2, cart_force=False, joint_torques=True),
    lambda: multi_mass_spring_damper(3, True, True)])
def test_the_models_that_sympy_ships(build):
    upstream = build()
    method = UdwadiaKalabaMethod.from_method(upstream)
    agree(method, upstream, [numbers(upstream, seed) for seed in (1, 2)])


def test_loads_as_objects_and_as_tuples_are_one():
    m = model('rolling_disc_minimal')
    as_objects = dict(m.arguments)
    as_objects['forcelist'] = [Force(*load) for load in
                               m.arguments['forcelist']]
    assert (UdwadiaKalabaMethod(**as_objects).forcing
            == UdwadiaKalabaMethod(**m.arguments).forcing)


X, Y, Z, U, V, W = dynamicsymbols('x y z u v w')


def falling(cls, configuration, **rows):
    """A particle in space whose dependent coordinate is ``z``."""
    m, g = symbols('m g')
    N, O, P = ReferenceFrame('N'), Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, X*N.x + Y*N.y + Z*N.z)
    P.set_vel(N, U*N.x + V*N.y + W*N.z)
    method = cls(
        N, [X, Y], [x for x in (U, V, W) if x not in rows.get(
            'u_dependent', ())], [X.diff() - U, Y.diff() - V, Z.diff() - W],
        q_dependent=[Z], configuration_constraints=configuration, **rows,
        bodies=[Particle('P', P, m)], forcelist=[(P, -m*g*(N.y + N.z))])
    method.kanes_equations()
    return method


@pytest.mark.parametrize('rows', [
    {}, {'velocity_constraints': []}, {'nonholonomic_constraints': [V]},
    *({'velocity_constraints': rows} for rows in (
        [W - U, V], [2*U - 2*W, V], [W - U + t*V, W - U - V]))])
@pytest.mark.filterwarnings('error')
def test_nothing_is_said_of_rows_whose_rates_follow(rows):
    for cls in (UdwadiaKalabaMethod, GibbsAppellMethod):
        falling(cls, [Z - X], **rows)
    falling(GibbsAppellMethod, [], velocity_constraints=[Z - X])


@pytest.mark.parametrize('factor', [
    sqrt(Z - 10), 9 + atan2(X, sqrt(Z - 10)), Max(1, sqrt(Z - 10))])
@pytest.mark.filterwarnings('error')
def test_rows_may_be_real_only_where_the_others_hold(factor):
    """Such as those of a disc with a quaternion that is not of unit norm."""
    falling(UdwadiaKalabaMethod, [Z - X**2 - 20],
            velocity_constraints=[W - 2*X*U + t*V, factor*V])


@pytest.mark.parametrize('rows', [[V, W - U], [W - U, V]])
@pytest.mark.parametrize('cls', [UdwadiaKalabaMethod, GibbsAppellMethod])
def test_rows_have_the_order_of_the_velocity_constraints(cls, rows):
    ours, theirs = (falling(
        method, [Z - X], velocity_constraints=rows,
        u_dependent=[V, W]).mass_matrix_full for method in (cls, KanesMethod))
    assert ours == theirs


@pytest.mark.filterwarnings('ignore:Row 0')
@pytest.mark.parametrize('cls', [
    UdwadiaKalabaMethod, LinearMappingMethod, GibbsAppellMethod])
def test_a_row_that_kanes_method_does_not_keep_is_reported(cls):
    """Without it the motion is that of ``KanesMethod``."""
    g = symbols('g')
    rows = {'u_dependent': [V], 'velocity_constraints': [V]}
    with pytest.warns(UserWarning, match='Row 0 of `configuration_') as found:
        kept = falling(cls, [Z - X], **rows)
    assert [warning.filename for warning in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        left_out = falling(cls, [], **rows)
    upstream = falling(KanesMethod, [Z - X], **rows)
    theirs = dict(zip(upstream.u, upstream.rhs()[3:, 0]))
    assert theirs == {U: 0, V: 0, W: -g}
    for method, wanted in ((left_out, theirs),
                           (kept, {U: -g/2, V: 0, W: -g/2})):
        udwadia = UdwadiaKalabaMethod.from_method(method)
        assert dict(zip(udwadia.u, udwadia.acceleration)) == wanted
