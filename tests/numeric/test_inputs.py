"""Functions of the user's: what they are given."""
from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
from sympy.physics.mechanics import dynamicsymbols

from mechanisms import m, x, y
from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import Table, compile_equations, simulate
from sympy_constrained.numeric.codegen.native import has_llvm

f = dynamicsymbols('f')
BACKENDS = ['numpy'] + ['llvm']*has_llvm()


def pushed(backend, force):
    """Two masses, the first with a force, which does work."""
    method = UdwadiaKalabaMethod(m*(x.diff()**2 + y.diff()**2)/2, [x, y],
                                 nonideal_forces=[f, 0])
    return compile_equations(method, {m: 1}, {f: force}, backend)


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('method', ['DOP853', 'Radau', 'LSODA'])
def test_functions_see_the_states_alone(backend, method):
    """Not the work, which is integrated along with them."""
    sizes = set()

    def feedback(t, X):
        sizes.add(len(X))
        return -3*X[-2]

    def watched(t, X):
        sizes.add(len(X))
        return 1.

    motion = simulate(pushed(backend, feedback), 1, [0, 0, 1, 0.5],
                      method=method, events=watched, stabilization=None)
    assert sizes == {4}
    assert motion.x[-1, 2] == pytest.approx(np.exp(-3), abs=1e-6)
    assert motion.work[-1] == pytest.approx((np.exp(-6) - 1)/2, abs=1e-6)
    assert np.abs(motion.energy_error).max() < 1e-6


@pytest.mark.parametrize('backend', BACKENDS)
def test_functions_do_not_change_the_states(backend):
    def force(t, X):
        with pytest.raises(ValueError, match='read-only'):
            X[0] = 5
        return 1.

    def event(t, X):
        with pytest.raises(ValueError, match='read-only'):
            X[:] = 7
        return X[0] - 0.125

    compiled = pushed(backend, force)
    state = np.array([0., 0, 0, 0.5])
    motion = simulate(compiled, 1, state, events=event, t_eval=3)
    np.testing.assert_allclose(motion.x[-1], [0.5, 0.5, 1, 0.5], atol=1e-9)
    assert motion.events[0].t == pytest.approx(0.5)
    compiled.rhs(0, state)
    compiled.rhs(0, state[None])
    compiled.power(0, state)
    state[0] = 1                        # one's own array stays one's own


@pytest.mark.parametrize('function', [
    lambda *both: 1., lambda t, x, scale=1.: scale, lambda t: 1., partial(
        lambda c, t, x: c, 1.), Mock(return_value=1.),
    Table([0, 1], [1, 1])])
def test_functions_that_can_be_called_are_accepted(function):
    assert pushed('numpy', function).rhs(0.5, [0, 0, 0, 0])[2] == 1
