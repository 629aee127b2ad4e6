"""The laws notice deliberate faults of the package."""
import pytest

from laws.laws import LAWS, Case, checks, forget
from laws.mutants import MUTANTS
from laws.ways import WAYS

# Whose models take some seconds
LONG = ('disc', 'gimbals', 'bicycle*', 'four_bar*')


def kills():
    for mutant in MUTANTS:
        for law, way, model in mutant.killed:
            yield pytest.param(
                mutant, law, way, model, id=f'{law}: {mutant.what}',
                marks=[pytest.mark.slow] if model in LONG else [])


@pytest.fixture
def fresh():
    forget()
    yield
    forget()


@pytest.mark.parametrize('mutant, law, way, model', list(kills()))
def test_mutant_is_killed(mutant, law, way, model, fresh, monkeypatch):
    assert checks(LAWS[law], Case(WAYS[way], model))
    forget()
    mutant.apply(monkeypatch)
    with pytest.raises(AssertionError, match=f'{law}: |must not refuse'):
        checks(LAWS[law], Case(WAYS[way], model))


def test_every_law_kills():
    assert {law for mutant in MUTANTS for law, _, _ in mutant.killed
            } == set(LAWS)
    assert len({mutant.what for mutant in MUTANTS}) == len(MUTANTS) >= 12
