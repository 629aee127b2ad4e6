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
from .sincos import LIMIT, combined, sine_and_cosine

__all__ = ['compiled', 'compiler', 'LANES']

LANES = 8
# The first overrides the variable CC: values that are not finite must show.
FLAGS = ('-fno-fast-math', '-march=native', '-fno-math-errno',
         '-fno-trapping-math', '-shared', '-fPIC', '-w')
PORTABLE = tuple(flag for flag in FLAGS if flag != '-march=native')
SIGNS = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/', 'lt': '<',
         'le': '<=', 'gt': '>', 'ge': '>=', 'eq': '==', 'ne': '!='}
TRUTHS = {'lt', 'le', 'gt', 'ge', 'eq', 'ne', 'and', 'or', 'not', 'true',
          'false'}
PARAMETERS = 'const double *restrict x, const double *restrict p, ' \
    'const double *restrict r, double *restrict out'

# Vectors are GNU C's; the compiler splits them if the registers are smaller.
# Functions other than sines are called lane by lane.
HEADER = """\
#include <math.h>
typedef double number;
"""
PACK = """\
typedef double pack __attribute__((vector_size(64)));
typedef long long truth __attribute__((vector_size(64)));
"""
VECTOR_HEADER = f"""\
#include <math.h>
{PACK}typedef pack number;
""" + """\
#define LANE_BY_LANE(name, function) static number name(number a) { \\
    number c; for (int i = 0; i < 8; i++) c[i] = function(a[i]); return c; }
#define LANES_OF_TWO(name, function) static number name(number a, number b) \\
    { number c; for (int i = 0; i < 8; i++) c[i] = function(a[i], b[i]); \\
    return c; }
LANE_BY_LANE(v_sqrt, sqrt)
LANE_BY_LANE(v_fabs, fabs)
"""
ANGLES = """\
static void angles(pack x, pack *sine, pack *cosine)
{{
int near = 1;
for (int i = 0; i < 8; i++)
    near &= fabs(x[i]) <= {limit};
if (!near) {{
    for (int i = 0; i < 8; i++) {{
        (*sine)[i] = sin(x[i]);
        (*cosine)[i] = cos(x[i]);
    }}
    return;
}}
{body}
}}
"""
OWN_VECTOR = {'sqrt', 'fabs'}


def compiler():
    """The command of the C compiler, or None."""
    try:
        command = shlex.split(os.environ.get('CC', 'cc'))
    except ValueError:                  # a quotation without end
        return None
    return command if command and shutil.which(command[0]) else None


# Text of an operation with its operands.
SCALAR = {
    'neg': '-{0}', 'sqrt': 'sqrt({0})', 'not': '!{0}', 'and': '{0} & {1}',
    'or': '{0} | {1}', 'true': '1', 'false': '0',
    'select': '{0} ? {1} : {2}',
    **{name: f'{{0}} {sign} {{1}}' for name, sign in SIGNS.items()}}
VECTOR = {
    **SCALAR, 'sqrt': 'v_sqrt({0})', 'not': '~{0}',
    'true': '(truth){{0}} + -1', 'false': '(truth){{0}} + 0',
    'select': '({number})(({0} & (truth){1}) | (~{0} & (truth){2}))'}


class Writer:
    """Text of a program for one state, or for ``LANES`` states at once."""

    def __init__(self, program, vector, number='number'):
        self.program = program
        self.vector = vector
        self.number = number            # its type
        self.truth = 'truth' if vector else 'int'
        self.lines = []
        self.others = {}                # functions called lane by lane

    def write(self):
        for k, (name, *operands) in enumerate(self.program.operations):
            if name == 'sincos':
                self.sincos(k, operands)
                continue
            kind = self.truth if name in TRUTHS else self.number
            self.lines.append(
                f'const {kind} a{k} = {self.value(name, operands)};')

    def sincos(self, k, angles):
        """Lines for both functions; of one state, of all angles at once."""
        given = f'a{angles[0]}' if self.vector else '(pack){' + ', '.join(
            f'a{x}' for x in angles) + '}'
        self.lines += [f'pack s{k}, c{k};',
                       f'angles({given}, &s{k}, &c{k});']

    def value(self, name, operands):
        if name == 'const':
            return self.constant(*operands)
        if name == 'input':
            return self.input(*operands)
        if name == 'call':
            name, *operands = operands
            return self.call(name, [f'a{k}' for k in operands])
        if name in ('sine', 'cosine'):
            both, lane = operands
            return f'{name[0]}{both}' + ('' if self.vector else f'[{lane}]')
        template = (VECTOR if self.vector else SCALAR)[name]
        return template.format(*(f'a{k}' for k in operands),
                               number=self.number)

    def constant(self, value):
        text = value.hex() if isfinite(value) else (
            'NAN' if isnan(value) else 'INFINITY' if value > 0
            else '-INFINITY')
        return f'({self.number}){{0}} + ({text})' if self.vector else text

    def input(self, letter, position):
        if not self.vector:
            return 't' if letter == 't' else f'{letter}[{position}]'
        if letter == 'p':
            return f'({self.number}){{0}} + p[{position}]'
        return f'AT({letter}, {position})'

    def call(self, name, x):
        if self.vector:
            if name not in OWN_VECTOR:
                self.others[name] = len(x)
            name = f'v_{name}'
        return f'{name}({", ".join(x)})'

    def good(self):
        """Lines that clear ``good`` if a check fails or an output is nan."""
        absolute = 'v_fabs' if self.vector else 'fabs'
        lines = [f'good = good & ({absolute}(a{small}) <= a{large});'
                 for small, large in self.program.checks]
        total = ' + '.join(f'a{k}' for k in dict.fromkeys(
            self.program.outputs)) or '0'
        start = '(number){0} + ' if self.vector else ''
        return lines + [f'const number total = {start}{total};',
                        'good = good & ((total - total) == 0);']


class Angles(Writer):
    """Both functions of eight angles."""

    def __init__(self):
        super().__init__(sine_and_cosine(), True, 'pack')

    def input(self, letter, position):
        return letter

    def function(self):
        self.write()
        body = self.lines + [f'*{name} = a{k};' for name, k in zip(
            ('sine', 'cosine'), self.program.outputs)]
        return ANGLES.format(limit=LIMIT, body='\n'.join(body))


def angles(program):
    """The function that a program may call."""
    called = any(operation[0] == 'sincos' for operation in program.operations)
    return Angles().function() if called else ''


def scalar_text(program, effort=2):
    """The function of one state."""
    if effort:
        program = combined(program, LANES)
    own = angles(program)
    writer = Writer(program, False)
    writer.write()
    body = writer.lines + ['int good = 1;'] + writer.good() + [
        f'out[{j}] = a{k};' for j, k in enumerate(program.outputs)]
    return (HEADER + (own and PACK + own)
            + f'int scalar(double t, {PARAMETERS})\n{{\n'
            + '\n'.join(body) + '\nreturn !good;\n}\n')


def batch_text(program):
    """The function of many states."""
    program = combined(program, 1)
    writer = Writer(program, True)
    writer.write()
    lanes = {1: 'LANE_BY_LANE', 2: 'LANES_OF_TWO'}
    others = [f'{lanes[count]}(v_{name}, {name})'
              for name, count in writer.others.items()]
    body = writer.lines + ['truth good = (truth){0} - 1;'] + writer.good() + [
        f'STORE({j}, a{k})' for j, k in enumerate(program.outputs)] + [
        f'for (int k = 0; k < {LANES}; k++) status[i + k] = !good[k];']
    return (VECTOR_HEADER + angles(program) + '\n'.join(others) + """
#define AT(base, j) (*(const packed *)&base[(j)*n + i])
#define STORE(j, value) *(packed *)&out[(j)*n + i] = value;
typedef number packed __attribute__((aligned(8), may_alias));
"""
            f'void batch(long long n, const double *restrict t, {PARAMETERS},'
            ' char *restrict status)\n{\n'
            f'for (long long i = 0; i < n; i += {LANES}) {{\n'
            + '\n'.join(body) + '\n}\n}\n')


def compiled(program, which, effort=2):
    """Address of the function ``'scalar'`` or ``'batch'``, and its owner.

    Without ``effort`` it is compiled sooner and half as fast.
    """
    command = compiler()
    if command is None:
        raise UnsupportedFeatureError(
            "backend='c' needs a C compiler, but none was found. Install "
            "one, set the environment variable CC, or use backend='llvm'.")
    text = (scalar_text(program, effort) if which == 'scalar'
            else batch_text(program))
    with temporary_folder() as folder:
        source, library = Path(folder)/'code.c', Path(folder)/'code.so'
        try:
            source.write_text(text)
        except OSError as error:        # a full disk
            raise no_folder(error) from error
        for flags in (FLAGS, PORTABLE):
            if not effort:      # each operation is rounded, as in Python
                flags = (*flags, '-ffp-contract=off')
            complaint = run([*command, f'-O{effort}', *flags, '-o',
                             str(library), str(source), '-lm'], folder)
            if complaint is None:
                break
        else:
            raise failed(command, complaint)
        try:
            owner = ctypes.CDLL(str(library))
        except OSError as error:
            raise failed(command, str(error)) from error
    return ctypes.cast(getattr(owner, which), ctypes.c_void_p).value, owner


def temporary_folder():
    """A folder that is deleted after use."""
    try:
        return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    except OSError as error:
        raise no_folder(error) from error


def no_folder(error):
    return UnsupportedFeatureError(
        f"backend='c' cannot write its temporary files ({error}). Make room, "
        "set the environment variable TMPDIR to another folder, or use "
        "backend='llvm' or 'numpy'.")


def run(command, folder):
    """Messages of a failing compiler, None after success.

    The compiler's own temporary files are in the folder, too.
    """
    try:
        result = subprocess.run(command, capture_output=True, text=True,
                                errors='replace',
                                env={**os.environ, 'TMPDIR': folder})
    except OSError as error:
        return str(error)
    return (result.stderr.strip() or f'exit status {result.returncode}'
            if result.returncode else None)


def failed(command, complaint):
    return UnsupportedFeatureError(
        f"The C compiler `{' '.join(command)}` failed:\n"
        f"{complaint[:500]}\nSet CC to another one, or use backend='llvm' "
        "or 'numpy'.")
