"""Programs in JavaScript, for browsers.

A function ``(t, x, p, r)`` returns an array of the outputs, or null if a check
fails or an output is not finite. Browsers optimize short functions only, so
the operations are split into parts, which share values in the array ``w``.
"""
from __future__ import annotations

from collections import Counter
from math import isfinite, isnan

from ...errors import UnsupportedFeatureError
from .c_code import TEXTS as C_TEXTS

__all__ = ['scalar_text']

PART = 300              # variables
LONGEST = 100           # text of a value that is used once
TEXTS = {**C_TEXTS, 'sqrt': 'Math.sqrt({})', 'true': 'true',
         'false': 'false'}
NAMES = {'fabs': 'abs'}                 # of the C library -> of Math
MISSING = {'erf', 'erfc'}
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


def scalar_text(program):
    """The function of one state."""
    parts = Parts(program)
    text = ',\n'.join(parts.texts())
    return FUNCTION.format(outputs=len(program.outputs), kept=parts.kept,
                           parts=text)


def number(value):
    return repr(value) if isfinite(value) else (
        'NaN' if isnan(value) else 'Infinity' if value > 0 else '-Infinity')


class Parts:
    """The operations in short functions."""

    def __init__(self, program):
        self.program, self.kept = program, 0
        uses = [*program.outputs, *(k for pair in program.checks
                                    for k in pair)]
        for operation in program.operations:
            uses += operands(operation)
        self.count = Counter(uses)
        self.values, self.part_of = [], []      # text and part of each value
        self.bodies = [[]]

    def texts(self):
        """The text of each function."""
        for k, operation in enumerate(self.program.operations):
            if len(self.bodies[-1]) >= PART:
                self.bodies.append([])
            self.add(k, *operation)
        self.bodies.append([])
        tests = [f'Math.abs({self.of(small)}) <= {self.of(large)}'
                 for small, large in self.program.checks]
        for j, k in enumerate(self.program.outputs):
            if self.program.operations[k] != ('const', 0.):
                part = self.part_of[k]
                self.bodies[-1 if part is None else part].append(
                    f'o[{j}] = {self.values[k]};')
                tests.append(f'isFinite(o[{j}])')
        self.bodies[-1] += ['let good = true;', *(
            f'good = good && {test};' for test in tests)]
        for i, body in enumerate(self.bodies):
            end = 'good' if i == len(self.bodies) - 1 else 'true'
            yield '\n'.join(['(t, x, p, r) => {', *body, f'return {end};}}'])

    def add(self, k, name, *rest):
        """The value of an operation, in a variable if it is used again."""
        text = self.text(name, *rest)
        if name in ('const', 'input', 'true', 'false') and len(text) < 12:
            self.values.append(text)
            self.part_of.append(None)           # valid in every part
            return
        if self.count[k] == 1 and len(text) < LONGEST:
            self.values.append(f'({text})')
            self.part_of.append(len(self.bodies) - 1)
            return
        self.bodies[-1].append(f'const a{k} = {text};')
        self.values.append(f'a{k}')
        self.part_of.append(len(self.bodies) - 1)

    def of(self, k):
        """The text of an earlier value, kept if it is of another part."""
        part = self.part_of[k]
        if part not in (None, len(self.bodies) - 1):
            self.bodies[part].append(f'w[{self.kept}] = {self.values[k]};')
            self.values[k] = f'w[{self.kept}]'
            self.part_of[k] = None
            self.kept += 1
        return self.values[k]

    def text(self, name, *rest):
        if name == 'const':
            return number(*rest)
        if name == 'input':
            letter, position = rest
            return 't' if letter == 't' else f'{letter}[{position}]'
        if name == 'call':
            name, *rest = rest
            if name in MISSING:
                raise UnsupportedFeatureError(
                    f"The function `{name}` does not exist in JavaScript. "
                    "Write it with elementary functions, or as a table.",
                    functions=(name,))
            return f'Math.{NAMES.get(name, name)}({self.list(rest)})'
        if name == 'solve':
            raise UnsupportedFeatureError(
                "The system is so large that loops solve it; there is no "
                "text in JavaScript.")
        text = TEXTS[name].format(*map(self.of, rest))
        return text.replace('--', '- -')

    def list(self, operands):
        return ', '.join(map(self.of, operands))


def operands(operation):
    """Positions of the operands of an operation."""
    name, *rest = operation
    if name in ('const', 'input'):
        return []
    return rest[1:] if name in ('call', 'solve', 'entry') else rest
