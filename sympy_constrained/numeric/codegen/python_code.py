"""Outputs of an expression graph as one Python function.

SymPy's ``lambdify`` prints the assignments of the graph, so that what is
shared is computed once. The generated code contains no name of the user's:
states, constants, inputs and shared parts are called ``x0``, ``p0``, ``r0``
and ``a0``, and the user's own numeric functions ``f0``.

The same outputs come as two functions. The scalar one calls Python's
:mod:`math` where that knows every function, which is several times quicker
than NumPy on single numbers; the other one works on arrays of states. Where a
scalar call fails (a root of a negative number in the unused branch of a
``Piecewise``, a division by zero) the array function decides, because it goes
on with ``nan`` and leaves unused branches alone.
"""
from __future__ import annotations

import dis
from functools import cached_property
from math import isfinite

import numpy as np
from sympy import Derivative, Symbol, lambdify
from sympy.core.function import AppliedUndef
from sympy.printing.codeprinter import PrintMethodNotImplementedError
from sympy.printing.numpy import SciPyPrinter
from sympy.printing.pycode import PythonCodePrinter

from ...errors import NotFiniteError, UnsupportedFeatureError
from ...graph.functions import own_functions

__all__ = ['Generated']

# What a scalar evaluation may raise where the value is nan, inf or complex
# (TypeError: a complex number or None does not go into an array of floats).
ARITHMETIC = (ArithmeticError, ValueError, TypeError)
# Of Python's own functions, those that SymPy's printers write.
BUILTINS = {'abs', 'bool', 'float', 'int', 'max', 'min', 'range', 'round',
            'sum'}


class _ScalarPrinter(PythonCodePrinter):
    """Floats keep all their digits; by default lambdify prints 15."""

    def _print_Float(self, expr):
        return repr(float(expr))


class _ArrayPrinter(SciPyPrinter):
    """The same, and extrema that mix numbers and arrays."""

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
    """Numbers without their imaginary parts; nan where there are any."""
    if not np.iscomplexobj(value):
        return value
    return np.where(np.imag(value) == 0, np.real(value), np.nan)


class Generated:
    """Some outputs of a graph as functions of positional arguments.

    Explanation
    ===========

    Everything is computed into one flat buffer per state, whose constant
    entries are filled beforehand; the outputs are views of it. Printing and
    compiling happen at the first call.

    Parameters
    ==========

    graph : Graph
    names : iterable of str
        The outputs to compute.
    arguments : dict
        SymPy input -> Symbol of the generated code, in the order of the
        arguments.
    given : dict
        SymPy input -> Expr in the arguments that is computed in its place.

    """

    def __init__(self, graph, names, arguments, given):
        self.graph = graph
        self.names = tuple(names)
        graph.symbols(self.names)       # complains of unknown outputs
        self.arguments = dict(arguments)
        self.given = dict(given)
        self._layout = {}
        start = 0
        for name in self.names:
            rows, columns = graph.outputs[name]
            self._layout[name] = start, (rows, columns)
            start += rows*columns
        self.size = start

    def scalar(self, *values) -> dict:
        """The outputs at numbers: name -> array ``(rows, columns)``."""
        template, index, _ = self._written
        buffer = template.copy()
        try:
            buffer[index] = self._scalar_function(*values)
        except ARITHMETIC:
            buffer = self._array_buffer(values, ())
        # Adding up is quicker, and finite if all entries are (or nearly all
        # numbers overflow, which the exact test then tells).
        if not isfinite(np.add.reduce(buffer)) and (
                not np.isfinite(buffer).all()):
            self._not_finite(buffer)
        return {name: buffer[start:start + shape[0]*shape[1]].reshape(shape)
                for name, (start, shape) in self._layout.items()}

    def batch(self, size, *values) -> dict:
        """The outputs for ``size`` states: name -> ``(size, rows, columns)``.

        Each value is a number or an array of shape ``(size,)``.
        """
        buffer = self._array_buffer(values, (size,))
        bad = ~np.isfinite(buffer).all(axis=1)
        if bad.any():
            first = int(np.argmax(bad))
            self._not_finite(buffer[first], first)
        return {name: buffer[:, start:start + shape[0]*shape[1]].reshape(
            (size, *shape)) for name, (start, shape) in self._layout.items()}

    def _array_buffer(self, values, shape):
        template, index, _ = self._written
        buffer = np.empty((*shape, self.size))
        buffer[...] = template
        with np.errstate(all='ignore'):
            try:
                values = self._array_function(*map(np.asarray, values))
            except (ZeroDivisionError, OverflowError):
                if self._own:           # told by a function of the user's
                    raise
                values = np.full(len(index), np.nan)
            for i, value in zip(index, values):
                buffer[..., i] = real(value)
        return buffer

    def _not_finite(self, buffer, state=None):
        bad = [name for name, (start, shape) in self._layout.items()
               if not np.isfinite(
                   buffer[start:start + shape[0]*shape[1]]).all()]
        where = '' if state is None else f" of state {state}"
        raise NotFiniteError(
            f"The outputs {', '.join(bad)}{where} are not finite real "
            "numbers. Something divides by zero, leaves the domain of a "
            "function (a root, a logarithm) or overflows there. Correct the "
            "state or the constants, or keep away from there.",
            outputs=tuple(bad), state=state)

    # -- writing the code ------------------------------------------------

    @cached_property
    def _written(self):
        """Constant entries, positions of the others, and their code."""
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
        flat = [entry for name in self.names for entry in outputs[name].flat()]
        template = np.zeros(self.size)
        index, entries = [], []
        for i, entry in enumerate(flat):
            if entry.is_Number:
                template[i] = float(entry)
            else:
                index.append(i)
                entries.append(entry.xreplace(names))
        return template, np.array(index, dtype=int), (code, entries)

    @cached_property
    def _own(self):
        """The user's functions."""
        return _own_functions(*self._written[2])[2]

    @cached_property
    def _scalar_function(self):
        function = self._lambdified('math')
        if function is not None:
            return function
        function = self._lambdified('scipy')

        def quiet(*values):
            with np.errstate(all='ignore'):
                return [real(value) for value in function(*values)]

        return quiet

    @cached_property
    def _array_function(self):
        return self._lambdified('scipy')

    def _lambdified(self, library):
        """The function; None where :mod:`math` is not enough for it."""
        code, entries, own = _own_functions(*self._written[2])
        if library == 'math':
            modules, printer = [own, 'math'], _ScalarPrinter
        else:
            # A function of the user's may know numbers only.
            own = {name: np.vectorize(python, otypes=[float])
                   for name, python in own.items()}
            modules, printer = [own, 'numpy', 'scipy'], _ArrayPrinter
        printer = printer({
            'fully_qualified_modules': False, 'inline': True,
            'allow_unknown_functions': True,
            'user_functions': {name: name for name in own}})
        try:
            function = lambdify(
                list(self.arguments.values()), [], modules, printer,
                cse=lambda _: (code, entries), docstring_limit=0)
        except PrintMethodNotImplementedError as error:
            if library == 'math':
                return None
            raise UnsupportedFeatureError(
                f"The equations contain {_partials(*self._written[2])}, which "
                "have no numeric meaning. Write the function as a SymPy "
                "expression, or give it an `fdiff` that returns functions "
                "with one.") from error
        unknown = _unknown_globals(function)
        if not unknown:
            return function
        if library == 'math':
            return None
        raise _no_meaning(unknown)


def _own_functions(code, entries):
    """Rename the user's functions to ``f0, f1, ...``.

    Returns the changed code and entries, and name -> Python function.
    """
    expressions, own, missing = own_functions(
        [expr for _, expr in code] + entries)
    if missing:
        raise _no_meaning(missing)
    return ([(symbol, expr) for (symbol, _), expr in zip(code, expressions)],
            expressions[len(code):], own)


def _no_meaning(functions):
    return UnsupportedFeatureError(
        f"No numeric meaning is known for {', '.join(functions)}. Replace it "
        "by a SymPy expression, or attach a Python function to it with "
        "`sympy.utilities.lambdify.implemented_function`.",
        functions=tuple(functions))


def _unknown_globals(function):
    """Names that the generated code reads and nobody defined."""
    known = set(function.__globals__) | BUILTINS
    used = {step.argval for step in dis.get_instructions(function)
            if step.opname in ('LOAD_GLOBAL', 'LOAD_NAME')}
    return sorted(used - known)


def _partials(code, entries):
    """Which functions have derivatives without a name, as text."""
    parts = set().union(*(expr.atoms(Derivative) for expr in
                          [expr for _, expr in code] + entries))
    found = {x.func.__name__ for part in parts
             for x in part.atoms(AppliedUndef)}
    return f"derivatives of {', '.join(sorted(found))}" if found else "parts"
