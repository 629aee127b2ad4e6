"""Specified functions of time: expressions, numbers or Python functions."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Derivative, Expr, Float
from sympy.core.function import AppliedUndef

from ..errors import MissingIngredientError, raise_problems
from ..graph import real_derivative
from .names import Names, call_fault, label, number, read_only, sentence
from .table import Table

__all__ = ['Inputs']

# The value of an input that has been reported as a problem.
UNUSABLE = object()


@dataclass(frozen=True)
class Inputs:
    """What the specified functions of the equations are.

    Attributes
    ==========

    given : dict
        SymPy object -> expression in time and constants, computed inside the
        generated code.
    called : dict
        SymPy object -> Python function of ``(t, x)``, which may be a table.

    """

    given: dict
    called: dict

    @classmethod
    def match(cls, specifieds, values, time, constants,
              complete=True) -> Inputs:
        """Find each of the ``specifieds`` in the user's ``inputs``.

        Parameters
        ==========

        specifieds : iterable
            Functions of time and derivatives of them.
        values : mapping or None
            From these, or their names, to an expression in time and the
            constants, a number, a Python function of ``(t, x)``, or a table.
            Derivatives of expressions, numbers and tables are computed; those
            of a Python function need their own key.
        time : Symbol
        constants : iterable of Symbol
        complete : bool
            Whether every function must have a value.

        Raises
        ======

        MissingIngredientError
            With all problems of ``values``.

        """
        if values is not None and not isinstance(values, Mapping):
            raise TypeError(
                "`inputs` must be a mapping from specified functions to "
                "expressions, numbers, Python functions or tables, not "
                f"{type(values).__name__}.")
        names = Names(dict.fromkeys((
            *specifieds, *map(_function, specifieds))), 'specified function')
        known, problems = {}, []
        for key, value in (values or {}).items():
            item = None
            try:
                item = names.objects[names.index(key)]
                known[item] = _checked(value, {time, *constants}, item)
            except (KeyError, TypeError, ValueError) as error:
                problems.append(f"`inputs`: {sentence(error.args[:1])}")
                known[item] = UNUSABLE
        if not complete:
            some = set(map(_function, known))
            specifieds = [f for f in specifieds if _function(f) in some]
        every = {}
        for item in specifieds:
            try:
                every[item] = (known[item] if item in known else
                               _derivative(item, known))
            except ValueError as error:
                problems.append(f"`inputs`: {error}")
                every[item] = UNUSABLE
        problems += _lacking(
            [item for item in specifieds if every[item] is None], known, time)
        raise_problems(problems, MissingIngredientError)
        given = {item: value for item, value in every.items()
                 if isinstance(value, Expr)}
        return cls(given, {item: value for item, value in every.items()
                           if item not in given})

    def same_code(self, other) -> bool:
        """Whether generated code is the same; values of calls are arguments.
        """
        return self.given == other.given and list(self.called) == list(
            other.called)

    def values(self, t, x, count=None) -> list:
        """Numbers of the Python functions at the first ``count`` states."""
        result, x = [], read_only(x, count)
        for item, function in self.called.items():
            value = function(t, x)
            try:
                result.append(number(value))
            except ValueError as error:
                raise ValueError(
                    f"The input {label(item)} at t = {t:g}: {error}."
                ) from None
        return result


def _function(item):
    return item.expr if isinstance(item, Derivative) else item


def _checked(value, allowed, item):
    if isinstance(value, Expr):
        strange = value.free_symbols - allowed
        if strange:
            raise ValueError(
                f"{value} contains {', '.join(sorted(map(str, strange)))}, "
                "which is neither time nor a constant of the equations; "
                "write a number in its place")
        moving = sorted(str(f) for f in value.atoms(AppliedUndef)
                        if not hasattr(f, '_imp_'))
        if moving:
            raise ValueError(
                f"{value} contains {', '.join(moving)}, and an input is an "
                "expression in time and constants alone; add an expression "
                "that depends on the motion to the model, or give a function "
                "of (t, x)")
        return value
    if callable(value):
        fault = call_fault(value)
        if fault:
            raise ValueError(
                f"the function for {label(item)} cannot be called with "
                f"(t, x) ({fault}); give one that takes the time and the "
                "states")
        return value
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ValueError(
                f"a table is a pair (times, values), not {len(value)} items")
        return Table(*value)
    return Float(number(value), 17)


def _lacking(items, found, time):
    """One sentence for each function with missing values."""
    by_function = {}
    for item in items:
        by_function.setdefault(_function(item), []).append(item)
    for function, missing in by_function.items():
        missing.sort(key=lambda item: getattr(item, 'derivative_count', 0))
        names, text = label(function), ', '.join(map(str, missing))
        if function in found:
            yield (f"`inputs` gives {names} as a Python function, but the "
                   f"equations also need {text}. Add what is missing under "
                   f"its own key, or give {names} as a SymPy expression in "
                   f"{time}.")
        else:
            verb = 'has' if len(missing) == 1 else 'have'
            yield (f"The specified {text} {verb} no value. Pass "
                   f"`inputs={{{names}: ...}}`, with an expression in "
                   f"{time}, a number, a function of (t, x) or a table. If "
                   f"{names} is a coordinate or a speed, add it to the "
                   "model.")


def _derivative(item, found):
    """The derivative of an input given as expression, number or table."""
    if not isinstance(item, Derivative):
        return None
    (variable, count), = item.variable_count
    for lower in range(count - 1, -1, -1):
        base = Derivative(item.expr, (variable, lower)) if lower else item.expr
        value = found.get(base)
        if isinstance(value, Expr):
            return real_derivative(value, *[variable]*(count - lower))
        if isinstance(value, Table):
            return value.derivative(count - lower)
        if value is UNUSABLE:
            return value
    return None
