"""Loops and other constraints in the recursive form."""
import numpy as np
import pytest
from joint_chains import pin_chain
from sympy import symbols
from sympy.physics.mechanics import Point

from sympy_constrained import Loop, UdwadiaKalabaMethod
from sympy_constrained.errors import MissingIngredientError
from sympy_constrained.numeric import compile_equations, consistent_state

pytest.importorskip('numba')
pytest.importorskip('llvmlite')
EQUAL = 1e-11
PLACE, LENGTH = symbols('d1:4'), symbols('l')


def closed(n, axis=False, times=1, absolute=False):
    """A chain whose end is held by a ball joint, or by a pin."""
    arguments, values = pin_chain(n, absolute)
    N, last = arguments['frame'], arguments['bodies'][-1]
    first = arguments['bodies'][0]
    origin = first.masscenter.locatenew('S', -LENGTH/2*first.frame.x)
    end = last.masscenter.locatenew('end', LENGTH/2*last.frame.x)
    held = Point('held')
    places = PLACE[:2] if absolute else PLACE
    held.set_pos(origin, sum((d*x for d, x in zip(places, N)), 0*N.x))
    held.set_vel(N, 0)
    pair = (last.frame.z, N.z + N.x/5) if axis else None
    values |= dict(zip(places, (0.7, 0.1, 0.2)))
    return arguments, [Loop(end, held, pair)]*times, values


@pytest.mark.parametrize('axis, times, absolute', [
    (False, 1, False), (True, 1, False), (False, 1, True), (False, 2, False)])
def test_a_loop_is_closed_as_in_the_ordinary_form(axis, times, absolute):
    """Redundant loops share the force."""
    arguments, loops, values = closed(7, axis, times, absolute)
    method = UdwadiaKalabaMethod(**arguments, loops=loops)
    ordinary = compile_equations(method, values)
    recursive = compile_equations(method, values, recursion=True)
    assert len(recursive.multiplier_names) == len(ordinary.multiplier_names)
    off = np.random.default_rng(1).uniform(-0.5, 0.5, 14)
    for x in off, consistent_state(ordinary, off):
        known = ordinary.rhs(0., x)
        assert abs(recursive.rhs(0., x) - known).max() < EQUAL*abs(
            known).max()
        lam = ordinary.multipliers(0., x)
        assert recursive.multipliers(0., x) == pytest.approx(
            lam, abs=1e-9*abs(lam).max())
        assert times == 1 or lam[:3] == pytest.approx(lam[3:])


def test_a_native_function_needs_a_state_with_constraints():
    arguments, loops, values = closed(5)
    recursive = compile_equations(UdwadiaKalabaMethod(
        **arguments, loops=loops), values, recursion=True)
    with pytest.raises(MissingIngredientError, match='state'):
        recursive.native_function()
    native = recursive.native_function('rhs', 0., np.full(10, 0.3))
    assert native.address and native.size == 13
