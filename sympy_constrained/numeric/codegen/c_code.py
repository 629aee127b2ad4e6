"""Programs as C text, for other programs."""
from __future__ import annotations

from math import isfinite, isnan

from ...errors import UnsupportedFeatureError

__all__ = ['scalar_text']

SIGNS = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/', 'and': '&&',
         'or': '||', 'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>=', 'eq': '==',
         'ne': '!='}
# Text of an operation with its operands.
TEXTS = {
    **{name: f'{{}} {sign} {{}}' for name, sign in SIGNS.items()},
    'neg': '-{}', 'sqrt': 'sqrt({})', 'not': '!{}', 'true': '1',
    'false': '0', 'select': '{} ? {} : {}'}
PARAMETERS = ('const double *restrict x, const double *restrict p, '
              'const double *restrict r, double *restrict out')


def number(value):
    return value.hex() if isfinite(value) else (
        'NAN' if isnan(value) else 'INFINITY' if value > 0 else '-INFINITY')


def value(operation, of, texts, number, function):
    """Text of an operation's value.

    ``of`` are the texts of operands, ``function`` those of functions of the C
    library.
    """
    name, *operands = operation
    if name == 'const':
        return number(*operands)
    if name == 'input':
        letter, k = operands
        return 't' if letter == 't' else f'{letter}[{k}]'
    if name == 'solve':
        raise UnsupportedFeatureError(
            "The system is so large that loops in this process solve it; it "
            "has no text. Use the address of the function.")
    if name == 'call':
        name, *operands = operands
        return f'{function(name)}({", ".join(map(of, operands))})'
    return texts[name].format(*map(of, operands))


def scalar_text(program):
    """The function of one state."""
    total = ' + '.join(f'a{k}' for k in dict.fromkeys(program.outputs))
    body = [
        *(f'const double a{k} = {text};' for k, text in enumerate(
            value(operation, 'a{}'.format, TEXTS, number, str)
            for operation in program.operations)),
        'int good = 1;',
        *(f'good = good && fabs(a{small}) <= a{large};'
          for small, large in program.checks),
        f'const double total = {total or 0};',
        'good = good && total - total == 0;',
        *(f'out[{j}] = a{k};' for j, k in enumerate(program.outputs))]
    return (f'#include <math.h>\nint scalar(double t, {PARAMETERS})\n{{\n'
            + '\n'.join(body) + '\nreturn !good;\n}\n')
