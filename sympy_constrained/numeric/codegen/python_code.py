"""Outputs of an expression graph as one Python function.

SymPy's ``lambdify`` prints it without the user's names. Single states use
Python's :mod:`math` where this has every function. If that raises, the array
function decides, which continues with ``nan`` and ignores unused branches.
"""
import dis
from functools import cached_property
from itertools import chain
from math import isfinite, prod

import numpy as np
from sympy import Derivative, Float, Symbol, lambdify
from sympy.core.function import AppliedUndef
from sympy.printing.codeprinter import PrintMethodNotImplementedError
from sympy.printing.numpy import SciPyPrinter
from sympy.printing.pycode import PythonCodePrinter

from ...errors import NotFiniteError, UnsupportedFeatureError
from ...graph.functions import own_functions


# Errors of a scalar evaluation whose value is nan, inf or complex
# (TypeError: a complex number or None does not fit in an array of floats).
ARITHMETIC = (ArithmeticError, ValueError, TypeError)
# Built-in functions that SymPy's printers write.
BUILTINS = {'abs', 'bool', 'float', 'int', 'max', 'min', 'range', 'round',
            'sum'}


class _ScalarPrinter(PythonCodePrinter):
    """Prints all digits of floats; lambdify prints 15."""

    def _print_Float(self, expr):
        return repr(float(expr))

    def _print_Mod(self, expr):         # SymPy writes k*Mod(x, 2) as k*x % 2
        return f'({super()._print_Mod(expr)})'


class _ArrayPrinter(SciPyPrinter):
    """Also prints functions of numbers mixed with arrays."""

    _print_Float = _ScalarPrinter._print_Float

    def _print_Max(self, expr):
        return self._extremum('numpy.maximum', expr)

    def _print_Min(self, expr):
        return self._extremum('numpy.minimum', expr)

    def _print_Heaviside(self, expr):           # nan of nan
        step = self._module_format('numpy.heaviside')
        return f'{step}({", ".join(map(self._print, expr.args))})'

    def _print_KroneckerDelta(self, expr):
        where, equal = map(self._module_format, ('numpy.where', 'numpy.equal'))
        pair = ', '.join(map(self._print, expr.args[:2]))
        return f'{where}({equal}({pair}), 1, 0)'

    def _extremum(self, function, expr):
        function = self._module_format(function)
        first, *others = map(self._print, expr.args)
        for other in others:
            first = f'{function}({first}, {other})'
        return first


def real(value):
    """Real parts; nan where the imaginary part is not zero."""
    if not np.iscomplexobj(value):
        return value
    return np.where(np.imag(value) == 0, np.real(value), np.nan)


class Generated:
    """Some outputs of a graph as functions of positional arguments.

    ``arguments`` maps SymPy inputs to symbols of the generated code in the
    order of the arguments, ``given`` others to expressions that replace them.
    """

    def __init__(self, graph, names, arguments, given):
        self.graph, self.names = graph, tuple(names)
        graph.symbols(self.names)       # raises for unknown outputs
        self.arguments, self.given = dict(arguments), dict(given)
        self._layout, self.size = {}, 0
        for name in self.names:
            shape = graph.outputs[name]
            end = self.size + prod(shape)
            self._layout[name] = slice(self.size, end), shape
            self.size = end

    def scalar(self, *values) -> dict:
        """The outputs at numbers: name -> array ``(rows, columns)``."""
        try:
            buffer = np.array(self._scalar_function(*values), dtype=float)
        except ARITHMETIC:
            buffer = self._array_buffer(values, ())
        # Adding is quicker than the exact test, which decides if the sum
        # overflows.
        if not isfinite(np.add.reduce(buffer)):
            self._check(buffer)
        return self._named(buffer)

    def batch(self, size, *values) -> dict:
        """The same for ``size`` states; values are numbers or arrays."""
        buffer = self._array_buffer(values, (size,))
        self._check(buffer)
        return self._named(buffer)

    def _named(self, buffer):
        """Views of the outputs in a buffer, or in a batch of buffers."""
        lead = buffer.shape[:-1]
        return {name: buffer[..., part].reshape(lead + shape)
                for name, (part, shape) in self._layout.items()}

    def _array_buffer(self, values, shape):
        buffer = np.empty((*shape, self.size))
        with np.errstate(all='ignore'):
            try:
                values = self._array_function(*map(np.asarray, values))
            except (ZeroDivisionError, OverflowError):
                if self._printed[2]:    # raised by a function of the user
                    raise
                values = [np.nan]*self.size
            for i, value in enumerate(values):
                buffer[..., i] = real(value)
        return buffer

    def _check(self, buffer, state=None):
        """Raise if an entry is not finite."""
        bad = ~np.isfinite(buffer)
        if not bad.any():
            return
        if bad.ndim == 2:
            state = int(np.argmax(bad.any(axis=1)))
            bad = bad[state]
        names = [name for name, (part, _) in self._layout.items()
                 if bad[part].any()]
        where = '' if state is None else f" of state {state}"
        raise NotFiniteError(
            f"The outputs {', '.join(names)}{where} are not finite real "
            "numbers. Something divides by zero, leaves the domain of a "
            "function (a root, a logarithm) or overflows there. Correct the "
            "state or the constants, or keep away from there.",
            outputs=tuple(names), state=state)

    # -- writing the code ------------------------------------------------

    @cached_property
    def _written(self):
        """Shared assignments, and the entries."""
        shared, outputs = self.graph.assignments(self.names)
        names = dict(self.arguments)
        code = []
        for i, (item, expr) in enumerate(self.given.items()):
            names[item] = Symbol(f'e{i}')
            code.append((names[item], expr.xreplace(self.arguments)))
        for i, (symbol, _) in enumerate(shared):
            names[symbol] = Symbol(f'a{i}')
        code += [(names[symbol], expr.xreplace(names))
                 for symbol, expr in shared]
        flat = list(chain(*(outputs[name].flat() for name in self.names)))
        return code, [Float(entry, 17) if entry.is_Number else
                      entry.xreplace(names) for entry in flat]

    @cached_property
    def _printed(self):
        """The code with the user's functions as ``f0, f1, ...``, and these."""
        code, entries = self._written
        expressions, own, missing = own_functions(
            [expr for _, expr in code] + entries)
        if missing:
            raise _no_meaning(missing)
        code = [(symbol, expr)
                for (symbol, _), expr in zip(code, expressions)]
        return code, expressions[len(code):], own

    @cached_property
    def _scalar_function(self):
        function = self._lambdified('math')
        if function is not None:
            return function
        function = self._array_function

        def quiet(*values):
            with np.errstate(all='ignore'):
                return [real(value) for value in function(*values)]

        return quiet

    @cached_property
    def _array_function(self):
        return self._lambdified('scipy')

    def _lambdified(self, library):
        """The function; None where :mod:`math` is not enough for it."""
        code, entries, own = self._printed
        is_scalar = library == 'math'
        if not is_scalar:               # the user's may accept numbers only
            own = {name: np.vectorize(python, otypes=[float])
                   for name, python in own.items()}
        printer = (_ScalarPrinter if is_scalar else _ArrayPrinter)({
            'fully_qualified_modules': False, 'inline': True,
            'allow_unknown_functions': True,
            'user_functions': {name: name for name in own}})
        try:
            function = lambdify(
                list(self.arguments.values()), [],
                [own, 'math'] if is_scalar else [own, 'numpy', 'scipy'],
                printer, cse=lambda _: (code, entries), docstring_limit=0)
        except PrintMethodNotImplementedError as error:
            if is_scalar:
                return None
            raise UnsupportedFeatureError(
                f"The equations contain {_partials(*self._written)}, "
                "which have no numeric meaning. Write the function as a SymPy "
                "expression, or give it an `fdiff` that returns functions "
                "with one.") from error
        used = {step.argval for step in dis.get_instructions(function)
                if step.opname == 'LOAD_GLOBAL'}
        unknown = sorted(used - BUILTINS - {*function.__globals__})
        if unknown and not is_scalar:
            raise _no_meaning(unknown)
        return None if unknown else function


def _no_meaning(functions):
    return UnsupportedFeatureError(
        f"No numeric meaning is known for {', '.join(functions)}. Replace it "
        "by a SymPy expression, or attach a Python function to it with "
        "`sympy.utilities.lambdify.implemented_function`.",
        functions=tuple(functions))


def _partials(code, entries):
    """The functions with derivatives that cannot be printed, as text."""
    parts = set().union(*(expr.atoms(Derivative) for expr in
                          [expr for _, expr in code] + entries))
    names = {x.func.__name__ for part in parts
             for x in part.atoms(AppliedUndef)}
    return f"derivatives of {', '.join(sorted(names))}" if names else "parts"
