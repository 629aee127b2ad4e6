"""Programs in LLVM's language, compiled in the process by llvmlite."""
import struct
from collections import defaultdict, deque
from functools import lru_cache

import llvmlite.binding as llvm

from .profile import kernel
from .sincos import LIMIT, combined, sine_and_cosine


# Text of an operation with its operands.
INSTRUCTIONS = {
    **{name: f'f{name} contract {{kind}} {{0}}, {{1}}'
       for name in ('add', 'sub', 'mul', 'div')},
    **{name: f'fcmp {test} {{kind}} {{0}}, {{1}}' for name, test in (
        ('lt', 'olt'), ('le', 'ole'), ('gt', 'ogt'), ('ge', 'oge'),
        ('eq', 'oeq'), ('ne', 'une'))},
    'neg': 'fneg {kind} {0}', 'and': 'and {truth} {0}, {1}',
    'or': 'or {truth} {0}, {1}', 'not': 'xor {truth} {0}, {true}',
    'select': 'select {truth} {0}, {kind} {1}, {kind} {2}',
    'sine': 'extractvalue {{{kind}, {kind}}} {0}, 0',
    'cosine': 'extractvalue {{{kind}, {kind}}} {0}, 1'}
SCALAR = """\
define i32 @scalar(double %t, ptr noalias %x, ptr noalias %p, \
ptr noalias %r, ptr noalias %out) #0 {
  %always = icmp ne ptr %out, null"""
BATCH = """\
define void @batch(i64 %n, ptr noalias %t, ptr noalias %x, ptr noalias %p, \
ptr noalias %r, ptr noalias %out, ptr noalias %status) #0 {
entry:
  %always = icmp ne ptr %out, null
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, """
ATTRIBUTES = """\
attributes #0 = { nounwind "min-legal-vector-width"="512" \
"prefer-vector-width"="512" }
attributes #1 = { nounwind willreturn memory(none) }
"""


def _features():
    try:
        return llvm.get_host_cpu_features()
    except RuntimeError:    # pragma: no cover - a processor unknown to LLVM
        return {}


FEATURES = _features()
LANES = 8 if FEATURES.get('avx512f') else 4 if FEATURES.get('avx2') else 2
KEPT = []                       # machine code that is never released
# Sums of outputs that are made at the same time.
SUMS = 8
# Operations of a block: LLVM's time for one block grows with their square.
BLOCK = 500


class Writer:
    """Text of a program for one state, or for ``lanes`` states at once."""

    def __init__(self, program, lanes):
        self.program, self.lanes = program, lanes
        self.kind, self.truth = (
            (f'<{lanes} x double>', f'<{lanes} x i1>') if lanes > 1 else
            ('double', 'i1'))
        self.lines, self.values, self.declared = [], [], set()
        self.arrays = []
        self.count, self.block = 0, '%loop'
        self.sums = deque([self.constant(0.)]*SUMS)

    def line(self, text):
        """A new value; returns its name."""
        self.count += 1
        name = f'%v{self.count}'
        self.lines.append(f'  {name} = {text}')
        return name

    def every(self, kind, text):
        return text if self.lanes == 1 else (
            '<' + ', '.join([f'{kind} {text}']*self.lanes) + '>')

    def constant(self, value):
        bits = struct.unpack('<Q', struct.pack('<d', value))[0]
        return self.every('double', f'0x{bits:016X}')

    def load(self, letter, position):
        """An input; time and states of a batch are columns."""
        if letter == 't' and self.lanes == 1:
            return '%t'
        if self.lanes == 1 or letter != 'p':
            return self.line(f'load {self.kind}, ptr '
                             f'{self.place(letter, position)}, align 8')
        place = self.line(f'getelementptr double, ptr %p, i64 {position}')
        number = self.line(f'load double, ptr {place}')
        one = self.line(f'insertelement {self.kind} poison, double {number}, '
                        'i64 0')
        return self.line(f'shufflevector {self.kind} {one}, {self.kind} '
                         f'poison, <{self.lanes} x i32> zeroinitializer')

    def place(self, base, position):
        """Address of an entry, or of the lanes of a column of a batch."""
        if self.lanes > 1:
            first = self.line(f'mul i64 %n, {position}')
            position = self.line(f'add i64 {first}, %i')
        return self.line(f'getelementptr double, ptr %{base}, i64 {position}')

    def write(self):
        """Write all operations, and the outputs at their end."""
        places, added = defaultdict(list), set(self.program.outputs)
        for j, k in enumerate(self.program.outputs):
            places[k].append(('out', j))
        for name, *operands in self.program.operations:
            if name == 'solve':
                array = self.array(operands[0].size)
                for j, k in enumerate(operands[1:]):
                    places[k].append((array, j))
        arrays = iter(self.arrays)
        for k, operation in enumerate(self.program.operations):
            if k and k % BLOCK == 0:
                self.begin_block()
            self.values.append(
                self.solve(next(arrays), operation[1])
                if operation[0] == 'solve' else self.value(*operation))
            for base, j in places[k]:
                self.store(self.values[k], base, j)
            if k in added:
                total = self.sums.popleft()
                self.sums.append(self.line(
                    f'fadd {self.kind} {total}, {self.values[k]}'))

    def begin_block(self):
        """Begin a block. LLVM cannot join blocks, as it cannot know that the
        condition of the branch is always true.
        """
        self.block = f'%b{len(self.lines)}'
        self.lines += [f'  br i1 %always, label {self.block}, label %exit',
                       f'{self.block[1:]}:']

    def value(self, name, *operands):
        if name == 'const':
            return self.constant(*operands)
        if name in ('true', 'false'):
            return self.every('i1', name)
        if name == 'input':
            return self.load(*operands)
        if name == 'entry':
            solved, k = operands
            return self.line(
                f'load double, ptr {self.place(self.values[solved], k)}')
        if name == 'call':
            name, *operands = operands
            return self.call(name, [self.values[k] for k in operands])
        x = [self.values[k] for k in operands]
        if name == 'sqrt':
            return self.intrinsic('sqrt', x[0])
        if name == 'sincos':
            return self.called(function_of_angles(self.lanes),
                               f'{{{self.kind}, {self.kind}}}', self.kind, x)
        return self.operation(name, *x)

    def operation(self, name, *x):
        return self.line(INSTRUCTIONS[name].format(
            *x, kind=self.kind, truth=self.truth,
            true=self.every('i1', 'true')))

    def intrinsic(self, name, x):
        suffix = f'v{self.lanes}f64' if self.lanes > 1 else 'f64'
        return self.called(f'llvm.{name}.{suffix}', self.kind, self.kind, [x])

    def call(self, name, x):
        """A function of the C library, lane by lane."""
        if name == 'fabs':
            return self.intrinsic('fabs', x[0])
        if self.lanes == 1:
            return self.called(name, 'double', 'double', x)
        total = 'poison'
        for lane in range(self.lanes):
            one = [self.line(f'extractelement {self.kind} {y}, i64 {lane}')
                   for y in x]
            value = self.called(name, 'double', 'double', one)
            total = self.line(f'insertelement {self.kind} {total}, double '
                              f'{value}, i64 {lane}')
        return total

    def array(self, size):
        """The name of new memory for so many numbers."""
        self.declared |= {'declare ptr @malloc(i64)',
                          'declare void @free(ptr)'}
        self.arrays.append(self.line(f'call ptr @malloc(i64 {8*size})')[1:])
        return self.arrays[-1]

    def solve(self, array, profile):
        """The array of a system, in which numba's code leaves its solution."""
        code, tables = kernel().address, profile.tables.ctypes.data
        self.lines.append(
            f'  call void inttoptr (i64 {code} to ptr)(ptr %{array}, ptr '
            f'inttoptr (i64 {tables} to ptr))')
        return array

    def called(self, symbol, result, kind, x):
        """A declared function, which has no attributes if it is LLVM's."""
        self.declared.add(
            f'declare {result} @{symbol}({", ".join([kind]*len(x))})'
            + ('' if symbol.startswith('llvm.') else ' #1'))
        return self.line(f'call {result} @{symbol}(' + ', '.join(
            f'{kind} {y}' for y in x) + ')')

    def store(self, value, base, j):
        self.lines.append(f'  store {self.kind} {value}, ptr '
                          f'{self.place(base, j)}, align 8')

    def body(self):
        """Write everything. Returns whether a value or a check is bad."""
        self.write()
        good, total = self.every('i1', 'true'), self.constant(0.)
        for small, large in self.program.checks:
            size = self.intrinsic('fabs', self.values[small])
            good = self.operation('and', good, self.operation(
                'le', size, self.values[large]))
        for part in self.sums:
            total = self.line(f'fadd {self.kind} {total}, {part}')
        for array in self.arrays:
            self.lines.append(f'  call void @free(ptr %{array})')
        rest = self.line(f'fsub {self.kind} {total}, {total}')
        finite = self.operation('eq', rest, self.constant(0.))
        return self.operation('not', self.operation('and', good, finite))

    def text(self, head, *end):
        """The function, after what it calls."""
        return '\n'.join([
            *sorted(self.declared), head, *self.lines, *end, '}', ''])


class Angles(Writer):
    """The function of ``lanes`` angles that returns both functions."""

    def load(self, letter, position):
        return '%x'

    def store(self, value, base, j):
        pass

    def result(self, sine, cosine):
        pair = f'{{{self.kind}, {self.kind}}}'
        one = self.line(f'insertvalue {pair} poison, {self.kind} {sine}, 0')
        both = self.line(f'insertvalue {pair} {one}, {self.kind} {cosine}, 1')
        self.lines.append(f'  ret {pair} {both}')

    def function(self, symbol):
        near = self.operation('le', self.intrinsic('fabs', '%x'),
                              self.constant(LIMIT))
        if self.lanes > 1:
            near = self.called(f'llvm.vector.reduce.and.v{self.lanes}i1',
                               'i1', self.truth, [near])
        self.lines += [f'  br i1 {near}, label %near, label %far', 'near:']
        self.write()
        self.result(*(self.values[k] for k in self.program.outputs))
        self.lines.append('far:')
        self.result(*(self.call(name, ['%x']) for name in ('sin', 'cos')))
        return self.text(f'define {{{self.kind}, {self.kind}}} @{symbol}('
                         f'{self.kind} %x) #0 {{')


@lru_cache(maxsize=None)
def function_of_angles(lanes):
    """Symbol of sine and cosine of so many angles."""
    symbol = f'sympy_constrained_sincos_{lanes}'
    engine = engine_of(Angles(sine_and_cosine(), lanes).function(symbol), 2)
    llvm.add_symbol(symbol, engine.get_function_address(symbol))
    KEPT.append(engine)
    return symbol


def scalar_text(program):
    writer = Writer(combined(program), 1)
    status = writer.line(f'zext i1 {writer.body()} to i32')
    return writer.text(SCALAR, f'  ret i32 {status}', 'exit:', '  ret i32 1')


def batch_text(program):
    """The function of many states, ``LANES`` at a time."""
    writer = Writer(combined(program), LANES)
    status = writer.line(
        f'zext {writer.truth} {writer.body()} to <{LANES} x i8>')
    where = writer.line('getelementptr i8, ptr %status, i64 %i')
    return writer.text(
        f'{BATCH}{writer.block} ]',
        f'  store <{LANES} x i8> {status}, ptr {where}, align 1',
        f'  %next = add i64 %i, {LANES}', '  %more = icmp slt i64 %next, %n',
        '  br i1 %more, label %loop, label %exit', 'exit:', '  ret void')


@lru_cache(maxsize=None)
def initialised():
    """Start LLVM, once."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


def compiled(text, which, effort):
    """Address of the function ``'scalar'`` or ``'batch'``, and its owner."""
    engine = engine_of(text, effort)
    return engine.get_function_address(which), engine


def engine_of(text, effort):
    """The owner of the machine code of a text.

    Levels above 1 take longer for long texts, and the code is no quicker.
    """
    target = initialised()
    module = llvm.parse_assembly(text + ATTRIBUTES)
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=FEATURES.flatten() if FEATURES else '', opt=min(effort, 1))
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine
