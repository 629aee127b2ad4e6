"""Functions of the user's in generated code, under names of our own.

A function of SymPy is printed by its name. That of a function of the user's
may be anything, also code; so it is replaced before anything is printed, and
what it does is handed over as a Python function.
"""
from __future__ import annotations

from sympy import Function
from sympy.core.function import AppliedUndef

__all__ = ['own_functions', 'unnamed']


def own_functions(expressions):
    """Rename the user's functions in expressions to ``f0, f1, ...``.

    Returns
    =======

    list of Expr
    dict
        New name -> Python function.
    list of str
        Names of functions that nothing is known of. Expressions that have
        some must not be printed.

    """
    expressions = list(expressions)
    calls = set().union(*(e.atoms(AppliedUndef) for e in expressions))
    missing = unnamed(expressions) + sorted(
        {str(call.func) for call in calls if not hasattr(call.func, '_imp_')})
    if missing or not calls:
        return expressions, {}, missing
    names = {f: f'f{i}' for i, f in enumerate(
        sorted({call.func for call in calls}, key=str))}

    def renamed(expr):
        return expr.replace(
            lambda e: isinstance(e, AppliedUndef) and e.func in names,
            lambda e: Function(names[e.func])(*e.args))

    return (list(map(renamed, expressions)),
            {name: f._imp_ for f, name in names.items()}, [])


def unnamed(expressions):
    """Names of classes of functions that are no names of Python's."""
    found = set().union(*(e.atoms(Function) for e in expressions))
    return sorted({e.func.__name__ for e in found
                   if not isinstance(e, AppliedUndef)
                   and not e.func.__name__.isidentifier()})
