"""Programs in C, compiled by the system's compiler."""
from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import tempfile
from math import isfinite, isnan
from pathlib import Path

from ...errors import UnsupportedFeatureError

__all__ = ['compiled', 'compiler', 'LANES']

LANES = 1
# The first overrides the variable CC: values that are not finite must show.
FLAGS = ('-fno-fast-math', '-march=native', '-fno-math-errno',
         '-fno-trapping-math', '-shared', '-fPIC', '-w')
PORTABLE = tuple(flag for flag in FLAGS if flag != '-march=native')
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
BATCH = """\
void batch(long long n, const double *restrict t, {parameters},
           char *restrict status)
{{
for (long long i = 0; i < n; i++) {{
    double one[{x}], input[{r}], result[{out}];
    for (int j = 0; j < {x}; j++) one[j] = x[j*n + i];
    for (int j = 0; j < {r}; j++) input[j] = r[j*n + i];
    status[i] = scalar(t[i], one, p, input, result);
    for (int j = 0; j < {out}; j++) out[j*n + i] = result[j];
}}
}}
"""


def compiler():
    """The command of the C compiler, or None."""
    try:
        command = shlex.split(os.environ.get('CC', 'cc'))
    except ValueError:                  # a quotation without end
        return None
    return command if command and shutil.which(command[0]) else None


def value(name, *operands):
    """Text of an operation's value."""
    if name == 'const':
        number, = operands
        return number.hex() if isfinite(number) else (
            'NAN' if isnan(number) else 'INFINITY' if number > 0 else
            '-INFINITY')
    if name == 'input':
        letter, k = operands
        return 't' if letter == 't' else f'{letter}[{k}]'
    if name == 'solve':
        raise UnsupportedFeatureError(
            "The system is so large that loops in this process solve it; "
            "there is no C text. Use the address of the function.")
    if name == 'call':
        name, *operands = operands
        return f'{name}({", ".join(f"a{k}" for k in operands)})'
    return TEXTS[name].format(*(f'a{k}' for k in operands))


def scalar_text(program):
    """The function of one state."""
    total = ' + '.join(f'a{k}' for k in dict.fromkeys(program.outputs))
    body = [
        *(f'const double a{k} = {value(*operation)};'
          for k, operation in enumerate(program.operations)),
        'int good = 1;',
        *(f'good = good && fabs(a{small}) <= a{large};'
          for small, large in program.checks),
        f'const double total = {total or 0};',
        'good = good && total - total == 0;',
        *(f'out[{j}] = a{k};' for j, k in enumerate(program.outputs))]
    return (f'#include <math.h>\nint scalar(double t, {PARAMETERS})\n{{\n'
            + '\n'.join(body) + '\nreturn !good;\n}\n')


def batch_text(program):
    """The function of many states, which are rows of columns."""
    inputs = [operation[1:] for operation in program.operations
              if operation[0] == 'input']
    counts = {letter: max((k + 1 for name, k in inputs if name == letter),
                          default=1) for letter in 'xr'}
    return scalar_text(program) + BATCH.format(
        parameters=PARAMETERS, out=max(len(program.outputs), 1), **counts)


def compiled(text, which, effort):
    """Address of the function ``'scalar'`` or ``'batch'``, and its owner."""
    command = compiler()
    try:
        with tempfile.TemporaryDirectory(
                ignore_cleanup_errors=True) as folder:
            source, library = Path(folder)/'code.c', Path(folder)/'code.so'
            source.write_text(text)
            for flags in (FLAGS, PORTABLE):
                made = subprocess.run(
                    [*command, f'-O{effort}', *flags, '-o', str(library),
                     str(source), '-lm'], capture_output=True, text=True,
                    errors='replace', env={**os.environ, 'TMPDIR': folder})
                if not made.returncode:
                    owner = ctypes.CDLL(str(library))
                    return ctypes.cast(
                        getattr(owner, which), ctypes.c_void_p).value, owner
        complaint = made.stderr.strip() or f'exit status {made.returncode}'
    except OSError as error:            # no program, no folder, a full disk
        complaint = str(error)
    raise UnsupportedFeatureError(
        f"The C compiler `{' '.join(command)}` failed:\n{complaint[:500]}\n"
        "Set CC to another one, or TMPDIR to a folder with room, or use "
        "backend='llvm' or 'numpy'.")
