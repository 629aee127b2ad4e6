"""Functions of time that a method adds to a model: speeds, multipliers."""
from sympy import Derivative, Function, ImmutableDenseMatrix
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import dynamicsymbols

from ..errors import ConstraintError, raise_problems
from ..model.build import symbols_in_use
from ..model.call_signatures import as_list


def column(entries):
    """An immutable column matrix, shape (0, 1) if there are no entries."""
    entries = list(entries)
    return ImmutableDenseMatrix(len(entries), 1, entries)


def fresh_symbols(system, name, count):
    """A column of functions of time whose names are not in use."""
    taken = symbols_in_use(system)
    while any(f'{name}{k}' in taken for k in range(1, count + 1)):
        name += '_'
    return column(dynamicsymbols(f'{name}1:{count + 1}') if count else ())


def check_contents(system, g, rows, name, remedy, others=()):
    """Raise if rows contain ``others``, or derivatives of states."""
    states = {*system.q, *system.u, *system.masses}
    functions = {getattr(x, 'expr', x) for x in (*states, *others)}
    for k, row in enumerate(rows):
        for x in g.symbols_of(*row):
            if x not in states and (x in others or isinstance(
                    x, Derivative) and x.expr in functions):
                raise ConstraintError(
                    f"Row {k} of `{name}` contains {x}. {remedy}")


def named_symbols(system, given, argument, label, counted, count):
    """A column of functions of time that the user gave, checked.

    ``given`` is a string of names, or names and functions. ``argument``,
    ``label`` and ``counted`` are for messages: ``'us'``, ``'quasi-velocity'``,
    and what needs one each.
    """
    if isinstance(given, str):
        given = given.replace(',', ' ').split()
    time = system.t
    functions = [Function(x)(time) if isinstance(x, str) else x
                 for x in as_list(given, argument)]
    problems, taken = [], symbols_in_use(system)
    if len(functions) != count:
        problems.append(
            f"`{argument}` has {len(functions)} names for {count} {counted}. "
            "Give one for each.")
    for k, x in enumerate(functions):
        if not isinstance(x, AppliedUndef) or x.args != (time,):
            problems.append(
                f"The {label} `{x}` is not a function of time. Give a "
                f"name, or `dynamicsymbols('{x}')`.")
        elif str(x.func) in taken or x in functions[:k]:
            problems.append(
                f"The {label} `{x}` has the name of something else in "
                "the model. Choose another name.")
    raise_problems(problems, ConstraintError)
    return column(functions)
