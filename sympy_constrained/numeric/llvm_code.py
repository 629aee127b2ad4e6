"""Programs in LLVM's language, compiled in the process by llvmlite."""
from __future__ import annotations

import ctypes
import struct
from functools import lru_cache

import llvmlite.binding as llvm

__all__ = ['compiled', 'LANES']

COMPARED = {'lt': 'olt', 'le': 'ole', 'gt': 'ogt', 'ge': 'oge', 'eq': 'oeq',
            'ne': 'une'}
ARITHMETIC = {'add': 'fadd', 'sub': 'fsub', 'mul': 'fmul', 'div': 'fdiv'}
# Functions that GNU's vector library has, with their number of arguments.
VECTOR = {'sin': 1, 'cos': 1, 'exp': 1, 'log': 1, 'pow': 2}
# Above so many operations optimisation costs more than it saves.
LARGE = 20000

SCALAR = """\
define i32 @scalar(double %t, ptr noalias %x, ptr noalias %p, \
ptr noalias %r, ptr noalias %out) #0 {
"""
BATCH = """\
define void @batch(i64 %n, ptr noalias %t, ptr noalias %x, ptr noalias %p, \
ptr noalias %r, ptr noalias %out, ptr noalias %status) #0 {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
"""
ATTRIBUTES = ('attributes #0 = { nounwind "min-legal-vector-width"="512" '
              '"prefer-vector-width"="512" }\n'
              'attributes #1 = { nounwind willreturn memory(none) }\n')


def _features():
    try:
        return llvm.get_host_cpu_features()
    except RuntimeError:                # unknown to LLVM
        return {}


@lru_cache(maxsize=None)
def vector_functions():
    """Name -> symbol of GNU's vector library, for the lanes used here."""
    try:
        library = ctypes.CDLL('libmvec.so.1')
    except OSError:
        return {}
    letter = {8: 'e', 4: 'd', 2: 'b'}[LANES]
    found = {}
    for name, count in VECTOR.items():
        symbol = f'_ZGV{letter}N{LANES}{"v"*count}_{name}'
        try:
            address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p)
        except AttributeError:
            continue
        llvm.add_symbol(symbol, address.value)
        found[name] = symbol
    return found


FEATURES = _features()
LANES = 8 if FEATURES.get('avx512f') else 4 if FEATURES.get('avx2') else 2


class Writer:
    """Text of a program for one state, or for ``lanes`` states at once."""

    def __init__(self, program, lanes):
        self.program = program
        self.lanes = lanes
        self.type = f'<{lanes} x double>' if lanes > 1 else 'double'
        self.truth = f'<{lanes} x i1>' if lanes > 1 else 'i1'
        self.lines = []
        self.values = []                # text of each value
        self.declared = set()
        self.count = 0

    def line(self, text):
        """A new value; returns its name."""
        self.count += 1
        name = f'%v{self.count}'
        self.lines.append(f'  {name} = {text}')
        return name

    def constant(self, value):
        bits = struct.unpack('<Q', struct.pack('<d', value))[0]
        text = f'0x{bits:016X}'
        if self.lanes == 1:
            return text
        return '<' + ', '.join([f'double {text}']*self.lanes) + '>'

    def pointer(self, base, offset):
        return self.line(f'getelementptr double, ptr %{base}, i64 {offset}')

    def load(self, letter, position):
        """An input; of a batch, time and states come as columns."""
        if self.lanes == 1:
            if letter == 't':
                return '%t'
            return self.line(
                f'load double, ptr {self.pointer(letter, position)}')
        if letter == 'p':
            number = self.line(
                f'load double, ptr {self.pointer(letter, position)}')
            return self.splat(number)
        start = self.column(letter, position)
        return self.line(f'load {self.type}, ptr {start}, align 8')

    def column(self, base, position):
        """Where the lanes of column ``position`` begin."""
        first = self.line(f'mul i64 %n, {position}')
        offset = self.line(f'add i64 {first}, %i')
        return self.pointer(base, offset)

    def splat(self, number):
        one = self.line(f'insertelement {self.type} poison, double '
                        f'{number}, i64 0')
        return self.line(
            f'shufflevector {self.type} {one}, {self.type} poison, '
            f'<{self.lanes} x i32> zeroinitializer')

    def write(self):
        """All operations; fills ``values``."""
        for operation in self.program.operations:
            self.values.append(self.value(*operation))

    def value(self, name, *operands):
        kind = self.type
        if name == 'const':
            return self.constant(*operands)
        if name == 'input':
            return self.load(*operands)
        if name in ('true', 'false'):
            if self.lanes == 1:
                return name
            return '<' + ', '.join([f'i1 {name}']*self.lanes) + '>'
        if name == 'call':
            return self.call(operands[0], [
                self.values[k] for k in operands[1:]])
        x = [self.values[k] for k in operands]
        if name in ARITHMETIC:
            return self.line(
                f'{ARITHMETIC[name]} contract {kind} {x[0]}, {x[1]}')
        if name == 'neg':
            return self.line(f'fneg {kind} {x[0]}')
        if name == 'sqrt':
            return self.intrinsic('sqrt', x[0])
        if name in COMPARED:
            return self.line(f'fcmp {COMPARED[name]} {kind} {x[0]}, {x[1]}')
        if name == 'select':
            return self.line(f'select {self.truth} {x[0]}, {kind} {x[1]}, '
                             f'{kind} {x[2]}')
        if name == 'not':
            return self.line(f'xor {self.truth} {x[0]}, '
                             + self.value('true'))
        return self.line(f'{name} {self.truth} {x[0]}, {x[1]}')

    def intrinsic(self, name, x):
        suffix = f'v{self.lanes}f64' if self.lanes > 1 else 'f64'
        symbol = f'llvm.{name}.{suffix}'
        self.declared.add(f'declare {self.type} @{symbol}({self.type})')
        return self.line(f'call {self.type} @{symbol}({self.type} {x})')

    def call(self, name, x):
        """A function of the C library, or of the vector library."""
        if name == 'fabs':
            return self.intrinsic('fabs', x[0])
        if self.lanes == 1:
            return self.called(name, 'double', x)
        symbol = vector_functions().get(name)
        if symbol is not None:
            return self.called(symbol, self.type, x)
        total = 'poison'
        for lane in range(self.lanes):
            one = [self.line(f'extractelement {self.type} {y}, i64 {lane}')
                   for y in x]
            total = self.line(
                f'insertelement {self.type} {total}, double '
                f'{self.called(name, "double", one)}, i64 {lane}')
        return total

    def called(self, symbol, kind, x):
        self.declared.add(
            f'declare {kind} @{symbol}({", ".join([kind]*len(x))}) #1')
        return self.line(f'call {kind} @{symbol}(' + ', '.join(
            f'{kind} {y}' for y in x) + ')')

    def good(self):
        """Truth value: all checks hold and all outputs are finite."""
        good = self.value('true')
        for small, large in self.program.checks:
            size = self.intrinsic('fabs', self.values[small])
            holds = self.line(f'fcmp ole {self.type} {size}, '
                              f'{self.values[large]}')
            good = self.line(f'and {self.truth} {good}, {holds}')
        total = self.constant(0.)
        for k in dict.fromkeys(self.program.outputs):
            total = self.line(
                f'fadd {self.type} {total}, {self.values[k]}')
        zero = self.line(f'fsub {self.type} {total}, {total}')
        finite = self.line(
            f'fcmp oeq {self.type} {zero}, {self.constant(0.)}')
        return self.line(f'and {self.truth} {good}, {finite}')

    def store(self):
        for j, k in enumerate(self.program.outputs):
            where = (self.pointer('out', j) if self.lanes == 1
                     else self.column('out', j))
            self.lines.append(f'  store {self.type} {self.values[k]}, ptr '
                              f'{where}, align 8')


def scalar_text(program):
    """The function of one state."""
    writer = Writer(program, 1)
    writer.write()
    writer.store()
    bad = writer.line(f'xor i1 {writer.good()}, true')
    status = writer.line(f'zext i1 {bad} to i32')
    body = SCALAR + '\n'.join(writer.lines) + f'\n  ret i32 {status}\n}}\n'
    return body, writer.declared


def batch_text(program):
    """The function of many states, ``LANES`` at a time."""
    writer = Writer(program, LANES)
    writer.write()
    writer.store()
    bad = writer.line(f'xor {writer.truth} {writer.good()}, '
                      + writer.value('true'))
    bytes_ = writer.line(f'zext {writer.truth} {bad} to <{LANES} x i8>')
    where = writer.line('getelementptr i8, ptr %status, i64 %i')
    writer.lines += [
        f'  store <{LANES} x i8> {bytes_}, ptr {where}, align 1',
        f'  %next = add i64 %i, {LANES}',
        '  %more = icmp slt i64 %next, %n',
        '  br i1 %more, label %loop, label %exit', 'exit:', '  ret void']
    return BATCH + '\n'.join(writer.lines) + '\n}\n', writer.declared


@lru_cache(maxsize=None)
def initialised():
    """Start LLVM, once."""
    for start in ('initialize_native_target',
                  'initialize_native_asmprinter'):
        getattr(llvm, start)()
    return llvm.Target.from_default_triple()


def compiled(program, which, effort=2):
    """Address of the function ``'scalar'`` or ``'batch'``, and its owner.

    Without ``effort`` it is there sooner and takes twice as long per call.
    """
    text, declared = {'scalar': scalar_text, 'batch': batch_text}[which](
        program)
    return assembled(
        '\n'.join(sorted(declared)) + '\n' + text + ATTRIBUTES, which,
        min(effort, 2 if len(program.operations) < LARGE else 1))


def assembled(text, name, effort=1):
    """Address of a function of a module, and its owner."""
    target = initialised()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=FEATURES.flatten() if FEATURES else '', opt=effort)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    return engine.get_function_address(name), engine
