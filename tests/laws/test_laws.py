"""Every law for every method on every model, with nothing left out: a cell of
the table that is not as it was recorded fails, also if it is a refusal.
"""
import pytest
from mpmath import mp

from kkt import at, close
from laws import table
from laws.laws import LAWS, Case, checks, formed, state
from laws.models import NAMES, SMALL, made
from laws.ways import BLOCK, WAYS, numbers
from sympy_constrained.errors import ConstrainedDynamicsError

# Quick for every method, and for the first one.
QUICK = ('pendulum', 'sprung_bob', 'turning_wire', 'sleigh', 'appell_hamel',
         'mixed_rows', 'massless')
FIRST = (*(name for name in SMALL if name != 'gimbals'), 'four_bar*',
         'slider_crank*', 'two_wheeled_cart*', 'knife_edge*')
LONG = ('tied_beads', 'disc', 'two_wheeled_cart*')
SEEDS = (1, 2)
models = pytest.mark.parametrize('model', FIRST)


pytestmark = pytest.mark.usefixtures('digits')


@pytest.fixture(scope='module')
def recorded():
    return table.recorded()


def cells():
    """The slow tests have all of the table. In the quick ones a third of the
    laws is in each cell, out of step between models and methods: together
    every law for every method, and on every model.
    """
    for i, model in enumerate(NAMES):
        for j, way in enumerate(WAYS):
            yield pytest.param(model, way, list(LAWS), marks=pytest.mark.slow,
                               id=f'{model}-{way}')
            if model in QUICK or model in FIRST and (
                    way == BLOCK.name and model not in LONG):
                yield pytest.param(model, way, list(LAWS)[(i + j) % 3::3],
                                   id=f'{model}-{way}, a third')


@pytest.mark.parametrize('model, way, laws', list(cells()))
def test_laws(model, way, laws, recorded):
    found = table.row(model, way, laws)
    assert found == {law: recorded[model, way][law] for law in laws}


def test_the_table_is_complete(recorded):
    """Every law says something of every method, and every method takes
    something."""
    assert set(recorded) == {(model, way) for model in NAMES for way in WAYS}
    for way in WAYS:
        rows = [recorded[model, way] for model in NAMES]
        assert list(rows[0]) == list(LAWS)
        for name in LAWS:
            if name not in ('repeated', 'derived'):
                assert any(row[name].isdigit() for row in rows), (way, name)
    for model in NAMES:
        row = recorded[model, BLOCK.name]
        assert not set(row.values()) & set(table.REASONS)
        assert row['agreement'].isdigit()


@pytest.mark.parametrize('way', [
    'Gibbs-Appell', 'Hamel, Voronets equations', 'Linear mapping'])
def test_what_vanishes_on_the_constraints_is_no_pivot(way):
    """Nor is it close to them, in the digits of a float."""
    case = Case(WAYS[way], 'tied_beads', SEEDS)
    assert checks(LAWS['agreement'], case)
    assert checks(LAWS['levels'], case)
    method = case.formed.method
    for values, found in case.motions():
        near = case.way.inputs(method, {
            x: mp.mpf(float(value)) for x, value in values.items()})
        forces, = numbers(method.closed_form, near, 'constraint_forces')
        assert close(forces, found.forces, rtol=1e-11)


# -- what is there to be compared -----------------------------------------

@models
def test_what_is_called_unconstrained_is_free(model):
    if made(model).singular:
        with pytest.raises(ConstrainedDynamicsError):
            formed(BLOCK, model).method.unconstrained_acceleration
        return
    case = Case(BLOCK, model)
    [(values, found)] = case.motions()
    M, F, *_ = case.blocks(values)
    expected = mp.lu_solve(M, F)
    method = formed(BLOCK, model).method
    assert close(at(method.unconstrained_acceleration, values), expected)
    assert not close(found.acceleration, expected, rtol=1e-3)


@models
def test_jacobians_are_those_of_the_residuals(model):
    values, ours = state(model, 1), made(model).rows
    hol, vel = formed(BLOCK, model).outputs(
        values, 'holonomic_jacobian', 'velocity_jacobian')
    assert hol.rows + vel.rows
    if hol.rows:
        assert close(hol, at(ours.holonomic.jacobian(ours.q), values))
    if vel.rows:
        assert close(vel, at(ours.velocity.jacobian(ours.u), values))
