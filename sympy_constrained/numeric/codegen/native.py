"""Compiled functions with the interface of :class:`.Generated`.

Machine code is made by :mod:`.llvm_code`, which needs llvmlite.
"""
import ctypes
from contextlib import suppress
from functools import cached_property, partial
from importlib import import_module
from importlib.util import find_spec
from threading import RLock

import numpy as np
from sympy import Symbol

from ...errors import ConstrainedDynamicsError, MissingIngredientError
from ...graph import GraphBuilder, read
from ...model.call_signatures import check_choice
from .instructions import program
from .python_code import Generated


POINTER = ctypes.c_void_p
# States of a batch that are worked on together, and most of their outputs,
# which then fit in the cache.
BLOCK, CACHED = 1024, 2**16
SCALAR = ctypes.PYFUNCTYPE(          # short, so Python's lock is kept
    ctypes.c_int, ctypes.c_double, POINTER, POINTER, POINTER, POINTER)
BATCH = ctypes.CFUNCTYPE(
    None, ctypes.c_longlong, POINTER, POINTER, POINTER, POINTER, POINTER,
    POINTER)
# One thread at a time compiles, or imports a backend.
WRITING = RLock()
OLDEST_LLVM = 20,               # of llvmlite 0.45
SIGNATURE = ('int (double t, const double *x, const double *p, '
             'const double *r, double *out)')


def has_llvm():
    """Whether numba is installed, and llvmlite loads and is new enough."""
    try:
        with WRITING:
            version = import_module('llvmlite.binding').llvm_version_info
    except (ImportError, OSError):
        return False
    return version >= OLDEST_LLVM and find_spec('numba') is not None


def chosen(backend):
    """The name of the backend for a request, checked."""
    if backend == 'auto':
        return 'llvm' if has_llvm() else 'numpy'
    if backend not in ('numpy', 'llvm'):
        raise ValueError(
            f"`backend` {backend!r} is not known; choose one of 'auto', "
            "'numpy', 'llvm'.")
    if backend == 'llvm' and not has_llvm():
        raise MissingIngredientError(
            "backend='llvm' needs numba with llvmlite 0.45 or newer (the "
            "extra `fast`), which was not found. Install it, or use "
            "backend='auto' for the best that is installed.")
    return backend


def with_given(graph, names, given):
    """A graph whose ``given`` inputs are replaced by expressions."""
    if not given:
        return graph
    builder = GraphBuilder(graph.time)
    for item, is_dynamic in zip(graph.inputs, graph.dynamic):
        if item not in given:           # before those of the expressions
            builder.input(item, is_dynamic)
    for item, expr in given.items():
        builder.bound[item] = read(builder, expr)
    return graph.updated(*graph.load(builder, names))


def machine_code(made, which, kind, effort=2):
    """A ctypes function that owns its machine code, and its number of lanes.

    ``which`` is ``'scalar'`` or ``'batch'``. Without ``effort`` it is compiled
    sooner and half as fast.
    """
    chosen('llvm')
    with WRITING:
        code = import_module('.llvm_code', __package__)
        text = getattr(code, f'{which}_text')(made)
        address, owner = code.compiled(text, which, effort)
    function = kind(address)
    function.owner, function.address = (owner, made), address
    return function, code.LANES


def address(array):
    """Where the entries of a writeable array begin, quicker than by NumPy."""
    return ctypes.addressof(ctypes.c_char.from_buffer(array))


class Native(Generated):
    """Some outputs as compiled functions; see :class:`.Generated`."""

    def __init__(self, graph, names, arguments, given):
        super().__init__(graph, names, arguments, given)
        # Evaluated a few times, as a rule, so compiled without effort.
        self._compiled = partial(NativeFunction, graph, self.names,
                                 given=given, effort=0)
        self._code = self._compiled(arguments)
        letters = [symbol.name[0] for symbol in arguments.values()]
        # Positions of the first constant, of the first input and of the end.
        self._p = 1 + letters.count('x')
        self._r = self._p + letters.count('p')
        self._end = len(letters)

    @cached_property
    def _varied(self):
        """The code with the constants as further states."""
        return self._compiled({item: (
            Symbol(f'x{self._p - 1 + int(x.name[1:])}')
            if x.name[0] == 'p' else x) for item, x in self.arguments.items()})

    def scalar(self, *values):
        """The outputs at numbers: name -> array ``(rows, columns)``."""
        work = np.empty(self._end + self.size)
        work[:self._end] = values
        start = address(work)
        buffer = work[self._end:]
        if self._code.function(
                values[0], start + 8, start + 8*self._p, start + 8*self._r,
                start + 8*self._end):
            self._check(buffer)
        return self._named(buffer)

    def batch(self, size, *values):
        t, x = values[0], values[1:self._p]
        p, r, code = values[self._p:self._r], values[self._r:], self._code
        if any(map(np.ndim, p)):        # others for every state
            x, p, code = (*x, *p), (), self._varied
        buffer, _ = code.batch(size, t, x, p, r)
        self._check(buffer)
        return self._named(buffer)


def arguments_of(time, states, constants, inputs):
    """SymPy input -> its symbol in generated code, in order."""
    arguments = {time: Symbol('t')}
    for letter, items in (('x', states), ('p', constants), ('r', inputs)):
        for i, item in enumerate(items):
            arguments[item] = Symbol(f'{letter}{i}')
    return arguments


def slots(arguments):
    """SymPy input -> letter and position, from generated names."""
    return {item: (symbol.name[0], int(symbol.name[1:] or 0))
            for item, symbol in arguments.items()}


def run_batch(entry, size, t, x, p, r, count):
    """Call a batch function; returns outputs ``(size, count)`` and bad states.

    Blocks of states fit in the cache and are filled up by their last state.
    """
    function, lanes = entry
    most = min(BLOCK, max(CACHED//max(count, 1), lanes)//lanes*lanes)
    padded = min(most, -(-size//lanes)*lanes)
    p = np.array(p, dtype=float)
    inputs = [np.empty((max(len(values), 1), padded))
              for values in ([t], x, r)]
    out, status = np.empty((count, padded)), np.zeros(padded, dtype=np.int8)
    result = np.empty((count, size)).T if size > most else out.T[:size]
    bad = np.zeros(size, dtype=bool)    # reductions of outputs are quicker
    addresses = [array.ctypes.data for array in (*inputs, out, status)]
    for start in range(0, size, most):
        here = slice(start, min(start + most, size))
        n = here.stop - start
        for block, rows in zip(inputs, ([t], x, r)):
            for row, values in zip(block, rows):
                row[:n] = values[here] if np.ndim(values) else values
            block[:, n:] = block[:, n - 1:n]
        function(padded, *addresses[:2], p.ctypes.data, *addresses[2:])
        if size > most:
            result[here] = out[:, :n].T
        bad[here] = status[:n]
    return result, bad


class NativeFunction:
    """A compiled function of ``(t, x, p, r)`` with an address.

    Explanation
    ===========

    For integrators outside Python. The C signature is ::

        int f(double t, const double *x, const double *p, const double *r,
              double *out)

    with the states, the constants and the values of Python inputs. It returns
    0 if the outputs are good; otherwise do not use them.

    Attributes
    ==========

    address : int
    signature : str
    function : ctypes function
    size : int
        Number of outputs.

    """

    def __init__(self, graph, names, arguments, given, checks=None, effort=2,
                 stages=()):
        every = (*names, *([checks] if checks else ()),
                 *map(str, range(len(stages))))
        self._program = program(with_given(graph, every, given), names,
                                slots(arguments), checks, stages)
        self.has_loops = bool(stages)
        self._effort = effort
        self.signature = SIGNATURE
        self.size = len(self._program.outputs)

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k not in (
            'function', '_batch')}

    @cached_property
    def function(self):
        """The function for ctypes; pointers are addresses."""
        return machine_code(self._program, 'scalar', SCALAR, self._effort)[0]

    @cached_property
    def _batch(self):
        return machine_code(self._program, 'batch', BATCH, self._effort)

    @property
    def address(self):
        """Address of the machine code, valid as long as ``function`` lives.
        """
        return self.function.address

    def text(self, language='llvm'):
        """The generated text in a ``language``, ``'llvm'`` or ``'js'``."""
        check_choice('language', language, ('llvm', 'js'))
        code = import_module(f'.{language}_code', __package__)
        return code.scalar_text(self._program)

    def low_level_callable(self):
        """SciPy's ``LowLevelCallable``."""
        from scipy import LowLevelCallable
        return LowLevelCallable(self.function, signature=SIGNATURE)

    def bound(self, shape, p, count=None, called=None):
        """A quick function of ``(t, x)`` for the first ``count`` outputs; None
        if they are not good or ``x`` has another shape. ``called(t, x)``
        returns the values of Python inputs.
        """
        function, p = self.function, np.array(p, dtype=float)
        n, p_at = shape[0], p.ctypes.data
        end = n + (self.size if count is None else count)
        size = n + self.size

        def call(t, x, _keep=p):
            if x.shape != shape:
                return None
            work = np.empty(size)
            work[:n] = x
            start = r_at = address(work)
            if called is not None:
                r = np.array(called(t, x), dtype=float)
                r_at = address(r)
            try:
                is_bad = function(t, start, p_at, r_at, start + 8*n)
            except ctypes.ArgumentError:        # `t` is no number
                return None
            return None if is_bad else work[n:end]

        return call

    def batch(self, size, t, x, p, r=()):
        """Outputs, shape (size, count), and the bad ones of so many states.

        Each row of ``x`` is a state variable.
        """
        if self.has_loops:
            return self._one_by_one(size, t, x, np.array(p, dtype=float), r)
        return run_batch(self._batch, size, t, x, p, r, self.size)

    def _one_by_one(self, size, t, x, p, r):
        """A batch without code for several states."""
        inputs = np.array([np.broadcast_to(values, size) for values in (
            *x, *r)], dtype=float).T.copy()
        times, out = np.broadcast_to(t, size), np.empty((size, self.size))
        bad = [bool(self.function(
            time, row.ctypes.data, p.ctypes.data, row[len(x):].ctypes.data,
            result.ctypes.data))
            for time, row, result in zip(times.tolist(), inputs, out)]
        return out, np.array(bad, dtype=bool)


def compiled_outputs(backend, graph, names, arguments, given):
    """Functions of a backend, or of NumPy for what it cannot compile."""
    if backend != 'numpy':
        with suppress(ConstrainedDynamicsError):
            return Native(graph, names, arguments, given)
    return Generated(graph, names, arguments, given)
