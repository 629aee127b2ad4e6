"""The way past ctypes: the same numbers, and no trouble with memory."""
import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sympy import symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric.codegen import builtin as module
from sympy_constrained.numeric import compile_equations

pytest.importorskip('llvmlite')

m, g = symbols('m g')
x, y = dynamicsymbols('x y')
START = np.array([0.6, 0.8, -0.8, 0.6])


@pytest.fixture(autouse=True)
def known():
    if module.definition() is None:
        pytest.skip('no built-in functions with this Python')


def pendulum(backend='llvm'):
    method = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
        hol_coneqs=[x**2 + y**2 - 1])
    return compile_equations(method, {m: 2, g: 9.81}, backend=backend)


def quick():
    compiled = pendulum()
    return compiled.quick_rates(compiled.linear_solver(0., START))


def test_same_numbers_as_by_ctypes(rng, monkeypatch):
    direct = quick()
    assert type(direct) is type(len)
    monkeypatch.setattr(module, 'LARGEST', 0)
    by_ctypes = quick()
    assert type(by_ctypes) is not type(len)
    for _ in range(20):
        state = START + 0.1*np.array([rng.uniform(-1, 1) for _ in range(4)])
        assert np.array_equal(direct(0., state), by_ctypes(0., state))


def test_time_is_any_number():
    f = quick()
    wanted = f(0., START)
    for t in 0, np.float64(0.), np.int64(-1), True, m*0, -1., -1:
        assert np.array_equal(f(t, START), wanted)


class Sub(np.ndarray):
    pass


@pytest.mark.parametrize('arguments', [
    (), (0.,), (0., START, START), (START, START), ('0', START),
    (1j, START), (m, START), (None, START), (0., None), (0., 1.),
    (0., START.tolist()), (0., tuple(START)), (0., START[:3]),
    (0., np.zeros(5)), (0., START[:, None]), (0., START[None]),
    (0., np.zeros(8)[::2]), (0., START[::-1]), (0., START.astype(int)),
    (0., START.astype(np.float32)), (0., START.astype('>f8')),
    (0., START.astype(complex)), (0., START.astype(object)),
    (0., START.view(Sub)), (0., np.ma.array(START)), (0., np.array(1.)),
    (0., np.frombuffer(bytes(33), np.uint8)[1:].view(float)),
    (0., np.array([])), (0., 'abcd')], ids=repr)
def test_other_arguments_go_the_long_way(arguments):
    """None, and no error is left behind."""
    f = quick()
    assert f(*arguments) is None
    assert np.isfinite(f(0., START)).all()


class Interrupting:
    def __float__(self):
        raise KeyboardInterrupt


def test_an_interruption_is_passed_on():
    with pytest.raises(KeyboardInterrupt):
        quick()(Interrupting(), START)


class Shrinking:
    """A time that changes the array while it is made a number."""

    def __init__(self, x):
        self.x = x

    def __float__(self):
        self.x.resize(1, refcheck=False)
        return 0.


def test_an_array_that_changes_meanwhile_is_refused():
    state = START.copy()
    assert quick()(Shrinking(state), state) is None
    assert state.shape == (1,)


def test_state_without_value():
    compiled = pendulum()
    compiled.rhs(0., START)
    assert compiled._default(0., np.array([0., 0., 1., 0.])) is None
    nowhere = np.array([1., 0., 0., np.nan])
    assert compiled._default(0., nowhere) is None
    with pytest.raises(ValueError, match='not finite'):
        compiled.rhs(0., nowhere)


def test_lists_and_integers_take_the_same_way():
    compiled = pendulum()
    wanted = compiled.rhs(0., START)
    assert np.array_equal(compiled.rhs(0, START.tolist()), wanted)
    assert np.array_equal(compiled.rhs(0, [1, 0, 0, 2]),
                          compiled.rhs(0., np.array([1., 0., 0., 2.])))


def test_state_is_not_changed_and_results_are_new():
    f, state = quick(), START.copy()
    state.setflags(write=False)
    one, other = f(0., state), f(0., state)
    assert np.array_equal(state, START)
    assert one.flags.owndata and one.flags.writeable
    one[:] = 0
    assert np.array_equal(other, f(0., state))


def test_references_are_returned():
    """What is taken is given back, also where the call is refused."""
    f, state, wrong, t = quick(), START.copy(), START.tolist(), 0.25
    kept = state, wrong, t, None, f
    f(t, state)
    before = list(map(sys.getrefcount, kept))
    for _ in range(1000):
        f(t, state)
        f(t, wrong)
        f('0', state)
    after = list(map(sys.getrefcount, kept))
    assert max(abs(a - b) for a, b in zip(before, after)) < 100


def test_memory_is_returned():
    f = quick()
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(5000):
        f(0., START)
        f(m, START)
    assert sys.getallocatedblocks() - blocks < 500


def test_function_lives_without_its_equations():
    f = quick()
    wanted = f(0., START)
    gc.collect()
    made = [quick() for _ in range(5)]
    assert all(np.array_equal(one(0., START), wanted) for one in made)
    del made
    gc.collect()
    assert np.array_equal(f(0., START), wanted)


def test_function_lives_without_its_definition():
    """Of two threads that make one, only one's is kept for others."""
    entry = module.definition()
    assert any(kept is entry for kept in quick().__self__)


def test_threads():
    f = quick()
    states = [START + 0.001*k for k in range(200)]
    wanted = [f(0., state) for state in states]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(10):
            found = threads.map(lambda state: f(0., state), states)
            assert all(map(np.array_equal, found, wanted))


@pytest.mark.parametrize('reason', ['HEAD', 'FLAGS', 'DTYPE', 'DATA'])
def test_memory_that_lies_otherwise(reason, monkeypatch):
    """Then there are no built-in functions, and calls give the same."""
    wanted = pendulum().rhs(0., START)
    monkeypatch.setattr(module, reason, getattr(module, reason) + 1)
    module.definition.cache_clear()
    try:
        assert module.definition() is None
        assert np.array_equal(pendulum().rhs(0., START), wanted)
    finally:
        monkeypatch.undo()
        module.definition.cache_clear()


@pytest.mark.parametrize('change', [
    ('platform.python_implementation', lambda: 'PyPy'),
    ('sysconfig.get_config_var', lambda name: 1)])
def test_another_python_has_no_built_in_functions(change, monkeypatch):
    wanted = pendulum().rhs(0., START)
    monkeypatch.setattr(*change)
    module.definition.cache_clear()
    try:
        assert module.definition() is None
        assert np.array_equal(pendulum().rhs(0., START), wanted)
    finally:
        monkeypatch.undo()
        module.definition.cache_clear()


def test_c_code_without_llvm(monkeypatch):
    """Is called by ctypes then."""
    from sympy_constrained.numeric.codegen.native import works
    if not works('c'):
        pytest.skip('no C compiler')
    wanted = pendulum('c').rhs(0., START)
    monkeypatch.setitem(
        sys.modules, 'sympy_constrained.numeric.codegen.llvm_code', None)
    module.definition.cache_clear()
    try:
        compiled = pendulum('c')
        assert np.array_equal(compiled.rhs(0., START), wanted)
        assert compiled._default is not None
        assert type(compiled._default) is not type(len)
        assert compiled._default(0., np.zeros(4)) is None
        np.testing.assert_allclose(     # a row that vanishes: free fall
            compiled.rhs(0., np.zeros(4)), [0, 0, 0, -9.81])
        assert compiled._default('now', START) is None
        with pytest.raises((TypeError, ValueError)):
            compiled.rhs('now', START)
    finally:
        monkeypatch.undo()
        module.definition.cache_clear()


def test_c_code_too():
    from sympy_constrained.numeric.codegen.native import works
    if not works('c'):
        pytest.skip('no C compiler')
    compiled = pendulum('c')
    assert np.allclose(compiled.rhs(0., START), pendulum().rhs(0., START))
    assert type(compiled._default) is type(len)
