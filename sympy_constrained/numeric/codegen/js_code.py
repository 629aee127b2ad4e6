"""Programs in JavaScript, for browsers.

A function ``(t, x, p, r)`` returns an array of the outputs, or null if a check
fails or an output is not finite. Browsers optimize short functions only, so
the operations are split into parts, which share values in the array ``w``.
"""
from __future__ import annotations

from math import isfinite, isnan

from ...errors import UnsupportedFeatureError
from .c_code import TEXTS as C_TEXTS
from .c_code import value


PART = 300              # operations
TEXTS = {**C_TEXTS, 'sqrt': 'Math.sqrt({})', 'true': 'true',
         'false': 'false'}
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


def scalar_text(program):
    """The function of one state."""
    operations, kept = program.operations, {}

    def text(operation, of):
        return value(operation, of, TEXTS, number, function)

    def reader(part):
        def of(k):
            if operations[k][0] in ATOMS:
                return text(operations[k], None)
            return f'a{k}' if k//PART == part else (
                f'w[{kept.setdefault(k, len(kept))}]')
        return of

    bodies = [[f'const a{k} = {text(operations[k], reader(begin//PART))};'
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
