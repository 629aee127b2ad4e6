"""Safe names for the user's functions in generated code.

The name of a user's function may be any text, also code, so it is replaced
before printing; the function itself is passed as a Python object.
"""
from sympy import Function
from sympy.core.function import AppliedUndef


def own_functions(expressions):
    """Rename the user's functions in expressions to ``f0, f1, ...``.

    Returns the expressions, a map from new names to Python functions, and the
    names of functions without a definition: do not print if there are any.
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
    """Names of function classes that are not valid Python identifiers."""
    functions = set().union(*(e.atoms(Function) for e in expressions))
    return sorted({e.func.__name__ for e in functions
                   if not isinstance(e, AppliedUndef)
                   and not e.func.__name__.isidentifier()})
