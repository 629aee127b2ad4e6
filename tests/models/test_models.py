"""Every ready model builds, is complete, starts where its constraints hold,
and knows the right answers.
"""
import math
from dataclasses import FrozenInstanceError
from functools import cache

import numpy as np
import pytest
import ready
from combinations import every_third
from kkt import at, close, number, t
from mpmath import mp
from sympy import Matrix, Piecewise, atan2, sqrt
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import KanesMethod, LagrangesMethod

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.model.units import units_of
from sympy_constrained.models import MODELS, Model, model

UPSTREAM = {'kane': KanesMethod, 'lagrange': LagrangesMethod}


@cache
def built(name):
    """A ready model, built once."""
    return MODELS[name]()


@cache
def formed(name):
    return built(name).form(UdwadiaKalabaMethod)


each_model = pytest.mark.parametrize('name', MODELS)


@each_model
def test_a_model_is_complete(name):
    m = built(name)
    assert isinstance(m, Model) and m.name == name
    assert m.title and not m.title.endswith('.')
    assert m.reference and MODELS[name].__doc__
    assert m.shape in UPSTREAM
    assert (m.shape == 'lagrange') is (name in ready.LAGRANGE)
    assert (m.system is not None) is (name in ready.SYSTEMS)
    assert bool(m.accelerations) is (name not in ready.WITHOUT_ANSWERS)
    assert m.t_end > 0
    states = m.coordinates + m.speeds
    assert len(set(states)) == len(states) and set(m.start) == set(states)
    assert set(m.fixed) <= set(states)
    assert set(m.accelerations) <= {u.diff(t) for u in m.speeds}
    for value in (*m.parameters.values(), *m.start.values()):
        assert isinstance(value, float) and math.isfinite(value)


@pytest.mark.parametrize('name', every_third(MODELS))
def test_parameters_and_inputs_cover_the_equations(name):
    m = built(name)
    written = ready.rows(m)
    expressions = [written.holonomic, written.velocity]
    for body in m.arguments.get('bodies') or ():
        if m.coordinates and not body.name.startswith(
                ('ground', 'wall', 'rail', 'W', 'N')):
            expressions.append(Matrix([body.mass]))
    if m.shape == 'lagrange':
        expressions.append(Matrix([m.arguments['Lagrangian']]))
    free = set().union(*(x.free_symbols for x in expressions if x)) - {t}
    assert free <= set(m.parameters)
    functions = set().union(*(x.atoms(AppliedUndef) for x in expressions if x))
    assert functions <= {*m.coordinates, *m.speeds, *m.inputs}
    method = formed(name)
    assert set(method.equations_of_motion.constants) <= set(m.parameters)
    # Nothing is given in vain, but for constants that drop out.
    assert set(m.inputs) == set(method.equations_of_motion.specifieds)


@each_model
def test_everything_has_a_unit(name):
    m = built(name)
    names = {*m.coordinates, *m.speeds, *m.parameters, *m.inputs}
    assert names <= set(m.units)
    rows = formed(name).system.constraint_names
    assert {*rows, *(f'multiplier of {row}' for row in rows)} <= set(m.units)
    # Rates of coordinates and the answers agree with the units of symbols.
    for q in m.coordinates:
        rate = m.units[q.diff()]
        assert rate == {'m': 'm/s'}.get(m.units[q], 'rad/s')
    for key, answer in m.accelerations.items():
        assert units_of({**m.arguments, **m.extra, 'kd_eqs': [
            *m.arguments.get('kd_eqs', ()), key - answer]}, m.dimensions)


def test_units_follow_from_what_a_model_says():
    pendulum, disc = built('cartesian_pendulum'), built('rolling_disc')
    assert [pendulum.units[x] for x in pendulum.parameters] == [
        'kg', 'm', 'm/s²']
    assert pendulum.units['multiplier of holonomic row 0'] == 'N/m'
    assert [disc.units[x] for x in disc.speeds] == 3*['rad/s'] + 2*['m/s']
    # A number that stands for a length leaves the rest as it is, and terms
    # that contradict each other leave nothing.
    x, y = pendulum.coordinates
    L, *_ = [c for c in pendulum.parameters if c.name == 'L']
    plain = {**pendulum.arguments, 'hol_coneqs': [(x**2 + y**2 - 1)/2]}
    assert units_of(plain)[x] == 'm'
    assert units_of({**plain, 'hol_coneqs': [x - y**2]}) == {}
    rows = units_of({**pendulum.arguments, 'hol_coneqs': [
        Piecewise((x, x > 0), (L, True)) - sqrt(atan2(y, x))*abs(y)]})
    assert rows['holonomic row 0'] == 'm'
    # The ground has a mass and an inertia, which are in no equation.
    assert not any('ground' in str(x) for x in built('four_bar').units)


@each_model
def test_masses_and_moments_of_inertia_are_positive(name):
    m = built(name)
    for body in m.arguments.get('bodies') or ():
        mass = body.mass.subs(m.parameters)
        if mass.is_number:
            assert mass > 0
        if not hasattr(body, 'central_inertia'):
            continue
        dyadic = body.central_inertia
        # Wheels of a bicycle have their inertia in a frame of another body.
        frame = dyadic.args[0][1].args[0][1]
        moments = dyadic.to_matrix(frame).subs(m.parameters)
        if not moments.free_symbols:
            moments = np.array(moments, dtype=float)
            assert np.linalg.eigvalsh(moments).min() >= -1e-12, body


@pytest.mark.parametrize('name', every_third(MODELS, 2))
def test_a_start_is_where_the_constraints_hold(name):
    m = built(name)
    state = ready.Admissible(m).near({**m.start, t: 0.0})
    assert state, 'the fixed states leave no solution'
    for q in m.coordinates:
        assert float(state[q]) == pytest.approx(m.start[q], abs=5e-3), q


@pytest.mark.parametrize('name', every_third(
    [name for name in MODELS if name not in ready.WITHOUT_ANSWERS], 1))
def test_known_answers_are_right(name):
    m = built(name)
    reference = ready.reference(m)
    admissible = ready.Admissible(m, reference)
    values = admissible(1)
    solution = reference.solve(values)
    found = {u.diff(t): a for u, a in zip(reference.u, solution.acceleration)}
    size = max(abs(a) for a in found.values()) + 1
    for x, expression in m.accelerations.items():
        answer = at(expression, values)[0]
        assert abs(answer - found[x]) < number(1e-45)*size, x
    if m.multipliers:
        # Rows may be given twice; their joint force is unique.
        A = at(reference.A, values)[:len(m.multipliers), :]
        lam = at(Matrix(m.multipliers), values)
        with mp.workdps(60):
            assert close(A.T*lam, solution.forces, 1e-45, scale=1)


@pytest.mark.parametrize('name', sorted(ready.SYSTEMS))
def test_a_system_is_valid(name):
    m = MODELS[name]()
    if name in ready.UPSTREAM_REFUSES:
        with pytest.raises(ValueError):
            m.system.validate_system(UPSTREAM[m.shape])
    else:
        m.system.validate_system(UPSTREAM[m.shape], check_duplicates=True)


def test_every_call_builds_a_fresh_frozen_model():
    one, other = model('four_bar'), built('four_bar')
    assert one.arguments['frame'] is not other.arguments['frame']
    assert one.parameters == other.parameters
    with pytest.raises(FrozenInstanceError):
        one.t_end = 1.0


@pytest.mark.parametrize('name', ['for_bar', 'nonsense', 3, None, []])
def test_an_unknown_name_lists_the_models(name):
    with pytest.raises(ValueError) as caught:
        model(name)
    message = str(caught.value)
    assert message.startswith('`name` is')
    assert all(known in message for known in MODELS)
    assert ("Did you mean 'four_bar'?" in message) == (name == 'for_bar')


def test_titles_and_sizes_follow_the_options():
    five = model('closed_chain', n=5)
    assert five.coordinates[-1].func.__name__ == 'q5'
    assert five.title == ('A closed planar chain of 5 pinned bars in relative '
                          'angles')
    assert len(model('n_link_pendulum_on_cart', n=2).speeds) == 3
    for name, n in (('closed_chain', 2), ('closed_chain_absolute', 2),
                    ('closed_chain_3d', 3), ('n_four_bar', 0),
                    ('n_link_pendulum_on_cart', 0)):
        with pytest.raises(ValueError, match='`n` is'):
            model(name, n=n)
    for name, cls in (('cartesian_pendulum', KanesMethod),
                      ('bicycle', LagrangesMethod)):
        with pytest.raises(ValueError, match='Pass that class'):
            built(name).form(cls)


@pytest.mark.parametrize('name, n', every_third([
    *(('closed_chain', n) for n in (3, 5, 8, 12)),
    ('closed_chain_absolute', 3), ('closed_chain_absolute', 16),
    ('closed_chain_3d', 4), ('closed_chain_3d', 7)]))
def test_a_closed_chain_starts_closed(name, n):
    chain = model(name, n=n)
    loop = Matrix(chain.arguments['configuration_constraints'])
    residual, = ready.evaluate(
        [loop], {**ready.constants(chain), **chain.start})
    assert abs(residual).max() < 1e-10


@pytest.mark.slow
def test_the_angles_of_a_chain_do_not_change_its_motion():
    relative, absolute = built('closed_chain'), built('closed_chain_absolute')
    values = ready.admissible(relative, 1)
    turned = dict(values)
    for names in (relative.coordinates, relative.speeds):
        total = 0
        for name in names:              # both models use the same names
            total += values[name]
            turned[name] = total
    rates = ready.ours(relative.form(UdwadiaKalabaMethod), values)
    expected = ready.ours(absolute.form(UdwadiaKalabaMethod), turned)
    summed = dict(zip(rates, np.cumsum(list(rates.values()))))
    assert ready.disagreement(summed, expected) < 1e-11
