"""Programs in LLVM's language, compiled in the process by llvmlite."""
from __future__ import annotations

import ctypes
import struct
from functools import lru_cache

import llvmlite.binding as llvm

from .angles import LIMIT, combined, sine_and_cosine

__all__ = ['compiled', 'engine_of', 'LANES']

COMPARED = {'lt': 'olt', 'le': 'ole', 'gt': 'ogt', 'ge': 'oge', 'eq': 'oeq',
            'ne': 'une'}
ARITHMETIC = {'add': 'fadd', 'sub': 'fsub', 'mul': 'fmul', 'div': 'fdiv'}
# Functions that GNU's vector library has, with their number of arguments.
VECTOR = {'exp': 1, 'log': 1, 'pow': 2}
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
    except RuntimeError:    # pragma: no cover - a processor unknown to LLVM
        return {}


@lru_cache(maxsize=None)
def vector_functions():
    """Name -> symbol of GNU's vector library, for the lanes used here."""
    try:
        library = ctypes.CDLL('libmvec.so.1')
    except OSError:         # pragma: no cover - no GNU library
        return {}
    letter = {8: 'e', 4: 'd', 2: 'b'}[LANES]
    found = {}
    for name, count in VECTOR.items():
        symbol = f'_ZGV{letter}N{LANES}{"v"*count}_{name}'
        try:
            address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p)
        except AttributeError:      # pragma: no cover - an older one
            continue
        llvm.add_symbol(symbol, address.value)
        found[name] = symbol
    return found


FEATURES = _features()
LANES = 8 if FEATURES.get('avx512f') else 4 if FEATURES.get('avx2') else 2
KEPT = []                       # machine code that is never given back


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
        if name in ('sine', 'cosine'):
            return self.part(name, self.values[operands[0]], operands[1])
        x = [self.values[k] for k in operands]
        if name in ARITHMETIC:
            return self.line(
                f'{ARITHMETIC[name]} contract {kind} {x[0]}, {x[1]}')
        if name == 'neg':
            return self.line(f'fneg {kind} {x[0]}')
        if name == 'sqrt':
            return self.intrinsic('sqrt', x[0])
        if name == 'sincos':
            return self.sincos(x)
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

    def sincos(self, angles):
        """Both functions; of one state, of all angles at once."""
        if self.lanes > 1:
            return self.together(angles[0])
        packed, kind = 'poison', f'<{LANES} x double>'
        for lane in range(LANES):       # the last one fills up
            angle = angles[min(lane, len(angles) - 1)]
            packed = self.line(f'insertelement {kind} {packed}, double '
                               f'{angle}, i64 {lane}')
        both = self.together(packed)
        memory = self.line(f'alloca [{2*LANES} x double], align 64')
        for j in range(2):
            half = self.line(f'extractvalue {{{kind}, {kind}}} {both}, {j}')
            where = self.line(
                f'getelementptr double, ptr {memory}, i64 {j*LANES}')
            self.lines.append(f'  store {kind} {half}, ptr {where}')
        return memory

    def together(self, angles):
        """Call of the function of ``LANES`` angles."""
        kind, symbol = f'<{LANES} x double>', function_of_angles()
        self.declared.add(f'declare {{{kind}, {kind}}} @{symbol}({kind}) #1')
        return self.line(
            f'call {{{kind}, {kind}}} @{symbol}({kind} {angles})')

    def part(self, name, both, lane):
        """A sine or cosine from the value of ``sincos``."""
        if self.lanes > 1:
            return self.line(
                f'extractvalue {{{self.type}, {self.type}}} {both}, '
                f'{int(name == "cosine")}')
        where = self.line(f'getelementptr double, ptr {both}, i64 '
                          f'{lane + LANES*(name == "cosine")}')
        return self.line(f'load double, ptr {where}')

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


class Angles(Writer):
    """The function of ``lanes`` angles."""

    def load(self, letter, position):
        return '%x'

    def both(self, sine, cosine):
        """Line that returns them."""
        kind = f'{{{self.type}, {self.type}}}'
        some = self.line(f'insertvalue {kind} poison, {self.type} {sine}, 0')
        both = self.line(f'insertvalue {kind} {some}, {self.type} {cosine}, 1')
        self.lines.append(f'  ret {kind} {both}')

    def function(self, symbol):
        """Text and declarations."""
        size = self.intrinsic('fabs', '%x')
        near = self.line(
            f'fcmp ole {self.type} {size}, {self.constant(LIMIT)}')
        reduced = f'llvm.vector.reduce.and.v{self.lanes}i1'
        self.declared.add(f'declare i1 @{reduced}({self.truth})')
        every = self.line(f'call i1 @{reduced}({self.truth} {near})')
        self.lines += [f'  br i1 {every}, label %near, label %far', 'near:']
        self.write()
        self.both(*(self.values[k] for k in self.program.outputs))
        self.lines.append('far:')
        self.both(self.call('sin', ['%x']), self.call('cos', ['%x']))
        return (f'define {{{self.type}, {self.type}}} @{symbol}({self.type} '
                '%x) #0 {\n' + '\n'.join(self.lines) + '\n}\n', self.declared)


@lru_cache(maxsize=None)
def function_of_angles():
    """Symbol of sine and cosine of ``LANES`` angles, for good."""
    symbol = 'sympy_constrained_sincos'
    engine = engine_of(*Angles(sine_and_cosine(), LANES).function(symbol), 2)
    llvm.add_symbol(symbol, engine.get_function_address(symbol))
    KEPT.append(engine)
    return symbol


def scalar_text(program, effort=2):
    """The function of one state."""
    writer = Writer(combined(program, LANES) if effort else program, 1)
    writer.write()
    writer.store()
    bad = writer.line(f'xor i1 {writer.good()}, true')
    status = writer.line(f'zext i1 {bad} to i32')
    body = SCALAR + '\n'.join(writer.lines) + f'\n  ret i32 {status}\n}}\n'
    return body, writer.declared


def batch_text(program):
    """The function of many states, ``LANES`` at a time."""
    writer = Writer(combined(program, 1), LANES)
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
    text, declared = (scalar_text(program, effort) if which == 'scalar'
                      else batch_text(program))
    engine = engine_of(text, declared, min(
        effort, 2 if len(program.operations) < LARGE else 1))
    return engine.get_function_address(which), engine


def engine_of(text, declared, effort):
    """What holds the machine code of a text."""
    target = initialised()
    module = llvm.parse_assembly(
        '\n'.join(sorted(declared)) + '\n' + text + ATTRIBUTES)
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=FEATURES.flatten() if FEATURES else '', opt=effort)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine
