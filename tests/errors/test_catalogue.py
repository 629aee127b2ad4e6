"""Every kind of bad input is answered: fact, cause, remedy, nothing lost.

The cases are tables, one file for each area (:mod:`errors.catalogue`).
"""
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody)

import sympy_constrained
from errors.catalogue import AREAS
from errors.parts import in_one_line
from sympy_constrained import _compat
from sympy_constrained.errors import ConstrainedDynamicsError
from sympy_constrained.methods.base import ConstrainedMethod
from sympy_constrained.numeric import CompiledEquations

PACKAGE = Path(sympy_constrained.__file__).parent
CASES = [pytest.param(module, case, id=f'{area}: {case.title}')
         for area, (module, cases) in AREAS.items() for case in cases]
# What Python says of objects of the wrong type, from anywhere.
DEEP = ('object has no attribute', 'object is not', 'unsupported operand',
        'not supported between', 'cannot unpack', 'positional argument but',
        'could not convert', 'SympifyError')


def picture(thing):
    """What can be lost of an object, as something that compares."""
    if isinstance(thing, Point):
        return (dict(_compat.positions(thing)), thing.name)
    if isinstance(thing, ReferenceFrame):
        return (dict(_compat.orientations(thing)), thing.name)
    if isinstance(thing, RigidBody):
        return (thing.mass, thing.masscenter, thing.frame,
                thing.central_inertia, thing.potential_energy)
    if isinstance(thing, Particle):
        return (thing.mass, thing.masscenter, thing.potential_energy)
    if isinstance(thing, ConstrainedMethod):
        return thing._call, id(thing.system), dict(thing._options)
    if isinstance(thing, CompiledEquations):
        return (list(thing.p), thing.states, thing.backend)
    if isinstance(thing, (list, dict)):
        return type(thing)(thing)
    return None


def pictures(module):
    """Of everything that the cases of a module share."""
    return {name: picture(thing) for name, thing in vars(module).items()
            if picture(thing) is not None}


@pytest.mark.parametrize('module, case', CASES)
def test_bad_input_is_explained(module, case):
    before = pictures(module)
    with warnings.catch_warnings(), np.errstate(all='ignore'):
        warnings.simplefilter('ignore')
        with pytest.raises(case.error) as caught:
            case.call()
    assert caught.type is case.error
    text = in_one_line(caught.value)
    for part in (case.fact, case.cause, case.remedy):
        assert part in text, text
    assert case.remedy not in case.fact and case.fact not in case.remedy
    assert not any(words in text for words in DEEP), text
    last = traceback.extract_tb(caught.value.__traceback__)[-1].filename
    assert PACKAGE in Path(last).parents, last
    assert pictures(module) == before


def test_titles_are_unique():
    titles = [case.title for _, cases in AREAS.values() for case in cases]
    assert len(titles) == len(set(titles))


def test_a_method_keeps_its_model_when_other_bodies_are_refused(monkeypatch):
    from errors.parts import BOB, WEIGHT, kane
    method = kane()
    before = method.rhs()
    with pytest.raises(ConstrainedDynamicsError):
        method.kanes_equations([BOB, BOB], WEIGHT)
    monkeypatch.setattr(type(method), '_check_choices', lambda self: 1/0)
    with pytest.raises(ZeroDivisionError):
        method.kanes_equations([Particle('heavy', BOB.point, 7)])
    assert method.bodies == [BOB] and method.rhs() == before


def test_compiled_equations_keep_their_constants():
    from errors.computing import COMPILED
    from errors.parts import g
    before = COMPILED.rhs(0, [1., 0., 0., 0.])
    with pytest.raises(ValueError):
        COMPILED.with_values({g: 'ten'})
    with pytest.raises(ValueError):
        COMPILED.rhs(0, [1., 0., 0., 0.], {g: 1, 'k': 2})
    assert list(COMPILED.rhs(0, [1., 0., 0., 0.])) == list(before)


def test_complex_states_are_refused_by_machine_code_too():
    """NumPy would drop the imaginary part with a warning."""
    from errors.computing import COMPILED
    COMPILED.rhs(0, [1., 0., 0., 0.])
    for state in ([1j, 0, 0, 0], np.array([1j, 0, 0, 0])):
        with pytest.raises(TypeError, match='`x`'):
            COMPILED.rhs(0, state)
