"""Programs in the functions of another library."""
import operator
from importlib import import_module

from ...errors import MissingIngredientError, UnsupportedFeatureError
from .instructions import FUNCTIONS


OPERATORS = {
    'add': operator.add, 'sub': operator.sub, 'mul': operator.mul,
    'div': operator.truediv, 'neg': operator.neg, 'lt': operator.lt,
    'le': operator.le, 'gt': operator.gt, 'ge': operator.ge,
    'eq': operator.eq, 'ne': operator.ne}


def functions_of(module):
    """Operators, and the functions that a module has under their names."""
    return {**OPERATORS, **{
        name: getattr(module, name) for name in (*FUNCTIONS.values(), 'sqrt')
        if hasattr(module, name)}}


def walk(operations, table, inputs):
    """Values of all operations of a program, with the functions of a library.

    ``table`` maps operations and functions to Python functions, ``inputs``
    letters to sequences of values; ``'t'`` has one.
    """
    values = []
    for name, *operands in operations:
        if name == 'const':
            values.append(operands[0])
            continue
        if name == 'input':
            letter, position = operands
            values.append(inputs[letter][position])
            continue
        if name == 'call':
            name, *operands = operands
        function = table.get(name)
        if function is None:
            raise UnsupportedFeatureError(
                f"The operation `{name}` has no counterpart in "
                f"{table['library']}. Write it with elementary functions.",
                functions=(name,))
        values.append(function(*(values[k] for k in operands)))
    return values


def library(module, title):
    """An optional library, or an error with its title."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingIngredientError(
            f"{title} is not installed. Install it: "
            f"`python -m pip install {module.partition('.')[0]}`."
        ) from error
