"""Programs in LLVM's language, compiled in the process by llvmlite."""
from __future__ import annotations

import ctypes
import struct
from collections import defaultdict
from functools import lru_cache
from itertools import chain

import llvmlite.binding as llvm

from .sincos import LIMIT, combined, operands, sine_and_cosine

__all__ = ['compiled', 'engine_of', 'LANES']

COMPARED = {'lt': 'olt', 'le': 'ole', 'gt': 'ogt', 'ge': 'oge', 'eq': 'oeq',
            'ne': 'une'}
ARITHMETIC = {'add': 'fadd', 'sub': 'fsub', 'mul': 'fmul', 'div': 'fdiv'}
# Functions of GNU's vector library, with their number of arguments.
VECTOR = {'exp': 1, 'log': 1, 'pow': 2}
# Operations whose values are in memory; those that need no register for
# numbers
LOADED = {'input', 'sine', 'cosine'}
FREE = {'const', 'sincos', 'true', 'false', 'and', 'or', 'not', *COMPARED}
NEVER = 1 << 60
# Above so many operations optimisation costs more than it saves.
LARGE = 20000

SCALAR = """\
define i32 @scalar(double %t, ptr noalias %x, ptr noalias %p, \
ptr noalias %r, ptr noalias %out) #0 {
"""
BATCH = """\
define void @batch(i64 %n, ptr noalias %t, ptr noalias %x, ptr noalias %p, \
ptr noalias %r, ptr noalias %out, ptr noalias %status) #0 {
"""
LOOP = """\
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]"""
ATTRIBUTES = ('attributes #0 = { nounwind "min-legal-vector-width"="512" '
              '"prefer-vector-width"="512" }\n'
              'attributes #1 = { nounwind willreturn memory(none) }\n'
              'attributes #2 = { nounwind willreturn memory(argmem: write) '
              '}\n')


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
ROOM = 28 if FEATURES.get('avx512f') or not FEATURES.get('sse2') else 14
KEPT = []                       # machine code that is never released


class Writer:
    """Text of a program for one state, or for ``lanes`` states at once.

    With ``room`` registers, the value needed last goes to memory.
    """

    def __init__(self, program, lanes, room=None):
        self.program = program
        self.lanes = lanes
        self.room = room
        self.type = f'<{lanes} x double>' if lanes > 1 else 'double'
        self.truth = f'<{lanes} x i1>' if lanes > 1 else 'i1'
        # Without effort each operation is rounded separately, as in Python.
        self.contract = 'contract ' if room or lanes > 1 else ''
        # Otherwise LLVM merges loads of the same place.
        self.volatile = 'volatile ' if room else ''
        self.lines = []
        self.values = {}                # text of each value in a register
        self.kept = {}                  # values that count against `room`
        self.next = [0]*len(program.operations)     # their next use
        self.slots = {}                 # places of values in memory
        self.angles = 0                 # vectors of sines and cosines
        self.places = {}
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
        place = self.places.get((base, offset))
        if place is None:
            place = self.places[base, offset] = self.line(
                f'getelementptr double, ptr %{base}, i64 {offset}')
        return place

    def load(self, letter, position):
        """An input; time and states of a batch are columns."""
        if self.lanes == 1:
            if letter == 't':
                return '%t'
            return self.at(self.pointer(letter, position))
        if letter == 'p':
            number = self.line(
                f'load double, ptr {self.pointer(letter, position)}')
            one = self.line(f'insertelement {self.type} poison, double '
                            f'{number}, i64 0')
            return self.line(
                f'shufflevector {self.type} {one}, {self.type} poison, '
                f'<{self.lanes} x i32> zeroinitializer')
        return self.at(self.column(letter, position))

    def at(self, place):
        """The value at a place."""
        return self.line(
            f'load {self.volatile}{self.type}, ptr {place}, align 8')

    def column(self, base, position):
        """Where the lanes of column ``position`` begin."""
        first = self.line(f'mul i64 %n, {position}')
        offset = self.line(f'add i64 {first}, %i')
        return self.line(f'getelementptr double, ptr %{base}, i64 {offset}')

    def write(self):
        """All operations, each followed by the checks and stores it allows."""
        self.good, self.total = self.value('true'), self.constant(0.)
        tests, places = defaultdict(list), defaultdict(list)
        for pair in self.program.checks:
            tests[max(pair)].append(pair)
        for j, k in enumerate(self.program.outputs):
            places[k].append(j)
        involved = [(*operands(operation), *chain(*tests.get(k, ())), k)
                    for k, operation in enumerate(self.program.operations)]
        uses = self.next_uses(involved) if self.room else []
        for k, operation in enumerate(self.program.operations):
            if operation[0] not in LOADED:
                self.take(k, self.value(*operation))
            for pair in tests.get(k, ()):
                self.test(*pair)
            if k in places:
                self.store(self.at_hand(k), places[k])
            if self.room:
                self.release(involved[k], uses)

    def next_uses(self, involved):
        """Next use of each value involved in each operation, last first."""
        uses, soon = [], [NEVER]*len(involved)
        for k in reversed(range(len(soon))):
            uses += [soon[j] for j in reversed(involved[k])]
            for j in involved[k]:
                soon[j] = k
        return uses

    def release(self, involved, uses):
        """Note the next uses, and give up values without one."""
        for j in involved:
            self.next[j] = uses.pop()
            if self.next[j] == NEVER:
                self.kept.pop(j, None)

    def at_hand(self, k):
        """Text of a value, loaded from memory if necessary."""
        text = self.values.get(k)
        if text is None:
            name, *where = self.program.operations[k]
            if k in self.slots:
                text = self.at(self.pointer('m', self.slots[k]))
            elif name == 'input':
                text = self.load(*where)
            else:
                text = self.part(name, *where)
            self.take(k, text)
        return text

    def take(self, k, text):
        """Keep a value; without room another one goes to memory."""
        self.values[k] = text
        if self.room is None or self.program.operations[k][0] in FREE:
            return
        if len(self.kept) == self.room:
            self.put_away(max(self.kept, key=self.next.__getitem__))
        self.kept[k] = None

    def put_away(self, k):
        text = self.values.pop(k)
        del self.kept[k]
        if self.program.operations[k][0] in LOADED or k in self.slots:
            return
        slot = self.slots[k] = len(self.slots)
        self.lines.append(f'  store volatile {self.type} {text}, ptr '
                          f'{self.pointer("m", slot)}, align 8')

    def value(self, name, *operands):
        """Text of an operation's value."""
        if name == 'const':
            return self.constant(*operands)
        if name in ('true', 'false'):
            return name if self.lanes == 1 else (
                '<' + ', '.join([f'i1 {name}']*self.lanes) + '>')
        if name == 'call':
            name, *operands = operands
            return self.call(name, list(map(self.at_hand, operands)))
        x = list(map(self.at_hand, operands))
        if name == 'sqrt':
            return self.intrinsic('sqrt', x[0])
        if name == 'sincos':
            return self.sincos(x)
        return self.line(self.instruction(name, x))

    def instruction(self, name, x):
        kind, truth = self.type, self.truth
        if name in ARITHMETIC:
            return f'{ARITHMETIC[name]} {self.contract}{kind} {x[0]}, {x[1]}'
        if name in COMPARED:
            return f'fcmp {COMPARED[name]} {kind} {x[0]}, {x[1]}'
        if name == 'neg':
            return f'fneg {kind} {x[0]}'
        if name == 'select':
            return f'select {truth} {x[0]}, {kind} {x[1]}, {kind} {x[2]}'
        if name == 'not':
            return f'xor {truth} {x[0]}, ' + self.value('true')
        return f'{name} {truth} {x[0]}, {x[1]}'         # and, or

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
        kind, symbol = f'<{LANES} x double>', function_of_angles()
        packed = angles[0]
        if self.lanes == 1:
            packed = 'poison'
            for lane in range(LANES):   # filled up by the last angle
                angle = angles[min(lane, len(angles) - 1)]
                packed = self.line(f'insertelement {kind} {packed}, double '
                                   f'{angle}, i64 {lane}')
        first = LANES*self.angles
        self.angles += 2
        self.declared.add(f'declare void @{symbol}({kind}, ptr) #2')
        self.lines.append(f'  call void @{symbol}({kind} {packed}, ptr '
                          f'{self.pointer("a", first)})')
        return first

    def part(self, name, both, lane):
        """A sine or cosine from the value of ``sincos``."""
        lane = 0 if self.lanes > 1 else lane
        return self.at(self.pointer(
            'a', self.values[both] + lane + LANES*(name == 'cosine')))

    def called(self, symbol, kind, x):
        self.declared.add(
            f'declare {kind} @{symbol}({", ".join([kind]*len(x))}) #1')
        return self.line(f'call {kind} @{symbol}(' + ', '.join(
            f'{kind} {y}' for y in x) + ')')

    def test(self, small, large):
        """One of the checks."""
        size = self.intrinsic('fabs', self.at_hand(small))
        holds = self.line(
            f'fcmp ole {self.type} {size}, {self.at_hand(large)}')
        self.good = self.line(f'and {self.truth} {self.good}, {holds}')

    def store(self, value, places):
        """Store an output, and add it to the sum that shows infinities."""
        self.total = self.line(f'fadd {self.type} {self.total}, {value}')
        for j in places:
            where = (self.pointer('out', j) if self.lanes == 1
                     else self.column('out', j))
            self.lines.append(
                f'  store {self.type} {value}, ptr {where}, align 8')

    def bad(self):
        """Truth value: a check failed, or an output is not finite."""
        zero = self.line(f'fsub {self.type} {self.total}, {self.total}')
        finite = self.line(
            f'fcmp oeq {self.type} {zero}, {self.constant(0.)}')
        good = self.line(f'and {self.truth} {self.good}, {finite}')
        return self.line(f'xor {self.truth} {good}, ' + self.value('true'))

    def memory(self):
        """Lines that reserve memory."""
        return [f'  %{name} = alloca [{count} x double], align 64'
                for name, count in (('a', LANES*self.angles),
                                    ('m', self.lanes*len(self.slots)))
                if count]


class Angles(Writer):
    """The function of ``lanes`` angles."""

    def load(self, letter, position):
        return '%x'

    def store(self, value, places):
        for j in places:
            place = self.line(f'getelementptr double, ptr %out, i64 {j*LANES}')
            self.lines.append(f'  store {self.type} {value}, ptr {place}')

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
        self.lines += ['  ret void', 'far:']
        for j, name in enumerate(('sin', 'cos')):
            self.store(self.call(name, ['%x']), [j])
        return (f'define void @{symbol}({self.type} %x, ptr noalias %out) #0 '
                '{\n' + '\n'.join(self.lines) + '\n  ret void\n}\n',
                self.declared)


@lru_cache(maxsize=None)
def function_of_angles():
    """Symbol of sine and cosine of ``LANES`` angles."""
    symbol = 'sympy_constrained_sincos'
    engine = engine_of(*Angles(sine_and_cosine(), LANES).function(symbol), 2)
    llvm.add_symbol(symbol, engine.get_function_address(symbol))
    KEPT.append(engine)
    return symbol


def scalar_text(program, effort=2):
    """The function of one state."""
    writer = Writer(combined(program, LANES), 1, ROOM) if effort else (
        Writer(program, 1))
    writer.write()
    status = writer.line(f'zext i1 {writer.bad()} to i32')
    lines = [*writer.memory(), *writer.lines, f'  ret i32 {status}']
    return SCALAR + '\n'.join(lines) + '\n}\n', writer.declared


def batch_text(program):
    """The function of many states, ``LANES`` at a time."""
    writer = Writer(combined(program, 1), LANES)
    writer.write()
    bytes_ = writer.line(
        f'zext {writer.truth} {writer.bad()} to <{LANES} x i8>')
    where = writer.line('getelementptr i8, ptr %status, i64 %i')
    lines = ['entry:', *writer.memory(), LOOP, *writer.lines,
             f'  store <{LANES} x i8> {bytes_}, ptr {where}, align 1',
             f'  %next = add i64 %i, {LANES}',
             '  %more = icmp slt i64 %next, %n',
             '  br i1 %more, label %loop, label %exit', 'exit:', '  ret void']
    return BATCH + '\n'.join(lines) + '\n}\n', writer.declared


@lru_cache(maxsize=None)
def initialised():
    """Start LLVM, once."""
    for start in ('initialize_native_target',
                  'initialize_native_asmprinter'):
        getattr(llvm, start)()
    return llvm.Target.from_default_triple()


def compiled(program, which, effort=2):
    """Address of the function ``'scalar'`` or ``'batch'``, and its owner.

    Without ``effort`` it is compiled sooner and half as fast.
    """
    text, declared = (scalar_text(program, effort) if which == 'scalar'
                      else batch_text(program))
    engine = engine_of(text, declared, min(
        effort, 2 if len(program.operations) < LARGE else 1))
    return engine.get_function_address(which), engine


def engine_of(text, declared, effort):
    """The owner of the machine code of a text."""
    target = initialised()
    module = llvm.parse_assembly(
        '\n'.join(sorted(declared)) + '\n' + text + ATTRIBUTES)
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=FEATURES.flatten() if FEATURES else '', opt=effort)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine
