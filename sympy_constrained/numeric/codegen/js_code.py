"""Programs in JavaScript, for browsers.

A function ``(t, x, p, r)`` returns an array of the outputs, or null if a check
fails or an output is not finite. Browsers optimize short functions only, so
the operations are split into parts, which share values in the array ``w``.
"""
from math import isfinite, isnan

from ...errors import UnsupportedFeatureError


SIGNS = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/', 'and': '&&',
         'or': '||', 'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>=', 'eq': '==',
         'ne': '!='}
# Text of an operation with its operands.
TEXTS = {
    **{name: f'{{}} {sign} {{}}' for name, sign in SIGNS.items()},
    'neg': '-{}', 'sqrt': 'Math.sqrt({})', 'not': '!{}', 'true': 'true',
    'false': 'false', 'select': '{} ? {} : {}'}
PART = 300              # operations
NAMES = {'fabs': 'abs'}                 # of the C library -> of Math
MISSING = {'erf', 'erfc'}
ATOMS = {'const', 'input', 'true', 'false'}     # repeated in every part
FUNCTION = """\
(() => {{
const o = new Float64Array({outputs}), w = new Float64Array({kept});
const parts = [
{parts}];
return (t, x, p, r) => {{
let good = true;
for (const part of parts) good = part(t, x, p, r) && good;
return good ? o : null;
}};
}})()"""


def number(value):
    if isnan(value):
        return 'NaN'
    text = repr(value) if isfinite(value) else repr(value).replace(
        'inf', 'Infinity')
    return f'({text})' if text.startswith('-') else text


def function(name):
    if name in MISSING:
        raise UnsupportedFeatureError(
            f"The function `{name}` does not exist in JavaScript. Write it "
            "with elementary functions, or as a table.", functions=(name,))
    return f'Math.{NAMES.get(name, name)}'


def value(operation, of):
    """Text of an operation's value; ``of`` are the texts of operands."""
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
    return TEXTS[name].format(*map(of, operands))


def scalar_text(program):
    operations, kept = program.operations, {}

    def reader(part):
        def of(k):
            if operations[k][0] in ATOMS:
                return value(operations[k], None)
            return f'a{k}' if k//PART == part else (
                f'w[{kept.setdefault(k, len(kept))}]')
        return of

    bodies = [[f'const a{k} = {value(operations[k], reader(begin//PART))};'
               for k in range(begin, min(begin + PART, len(operations)))
               if operations[k][0] not in ATOMS]
              for begin in range(0, len(operations), PART)]
    of = reader(None)
    outputs = [(j, of(k)) for j, k in enumerate(program.outputs)
               if operations[k] != ('const', 0.)]
    tests = [f'Math.abs({of(small)}) <= {of(large)}'
             for small, large in program.checks]
    tests += [f'isFinite(o[{j}])' for j, _ in outputs]
    for k, place in kept.items():
        bodies[k//PART].append(f'w[{place}] = a{k};')
    bodies = [[*body, 'return true;'] for body in bodies] + [[
        *(f'o[{j}] = {entry};' for j, entry in outputs),
        f'return {" && ".join(tests) or "true"};']]
    return FUNCTION.format(
        outputs=len(program.outputs), kept=len(kept), parts=',\n'.join(
            '\n'.join(['(t, x, p, r) => {', *body]) + '}' for body in bodies))
