"""The equations as source code of another language.

The text around them is in the files ``model.*``.
"""
import re
from importlib.resources import files
from string import Template

from sympy import (
    Function, Heaviside, Mod, NumberSymbol, Piecewise, Pow, Symbol, floor,
    numbered_symbols)
from sympy.codegen.ast import float32, real
from sympy.printing.c import C99CodePrinter
from sympy.printing.codeprinter import (
    CodePrinter, PrintMethodNotImplementedError)
from sympy.printing.julia import JuliaCodePrinter
from sympy.printing.octave import OctaveCodePrinter
from sympy.printing.rust import RustCodePrinter

from ..errors import UnsupportedFeatureError
from ..numeric.codegen.native import with_given
from ..numeric.inputs import parameter_name
from ..numeric.names import Names
from .exported import with_inputs


OUTPUTS = 'rates', 'W', 'r'
# What is written in other functions: libraries disagree, or lack it.
REWRITTEN = {Heaviside: Piecewise, Mod: floor}
# Type in Rust, suffix of functions in C, relative size of a zero pivot.
PRECISIONS = {'double': ('f64', '', '1e-11'), 'float': ('f32', 'f', '1e-5')}
# Words of Octave, of Julia, of a header of C, and of the prelude of Rust.
KEYWORDS = {'begin', 'bool', 'catch', 'elseif', 'end', 'function', 'global',
            'let', 'local', 'otherwise', 'until', 'while', 'for', 'if', 'else',
            'do', 'return', 'break', 'continue', 'case', 'switch', 'try',
            'const', 'true', 'false', 'struct', 'using', 'module', 'export',
            'import', 'Ok', 'Err'}


def to_source(model, language='c', name='model', *, precision='double',
              constants=None, inputs=None):
    r"""Return the equations of motion as source code.

    The code computes the rates of the states and the multipliers. It uses
    nothing of this package.

    ============  ==========================================================
    language      files
    ============  ==========================================================
    ``'c'``       ``name.c`` and ``name.h``, C99; ``-DNAME_EXAMPLE``: a main
    ``'octave'``  ``name.m``, for MATLAB too: ``[rates, lam] = name(t, x, p,
                  w)``
    ``'julia'``   ``name.jl``: ``rates, lam = name(t, x, p, w)``
    ``'rust'``    ``name.rs``: ``pub fn name(t, x, p, w, rates, lam) -> bool``
    ============  ==========================================================

    States ``x``, constants ``p`` and inputs ``w`` are named in a comment or a
    ``struct``. Multipliers of redundant rows are not unique. At a singular
    configuration the function fails (C and Rust return false) or gives values
    that are not finite.

    Examples
    ========

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.interop import to_source
    >>> m, k = symbols('m k')
    >>> q = dynamicsymbols('q')
    >>> spring = UdwadiaKalabaMethod(m*q.diff()**2/2 - k*q**2/2, [q])
    >>> text = to_source(spring, 'julia', 'spring')['spring.jl']
    >>> print(text.partition('    scale')[0])
    # States x: q, q_dot. Constants p: m, k. Inputs w: none.
    using LinearAlgebra
    function spring(t, x, p, w=())
        q, q_dot = x
        m, k = p
        W, r = zeros(1, 1), zeros(1)
        W[1, 1] = m
        r[1] = -k .* q
        rates = [q_dot]
    <BLANKLINE>

    Parameters
    ==========

    model : a method, EquationsOfMotion or CompiledEquations
    language : 'c', 'octave', 'julia' or 'rust'
    name : str
        Of the function and of the files.
    precision : 'double' or 'float'
        Of the numbers in C and Rust.
    constants, inputs : mapping, optional
        Values of constants for the example in C, and what the inputs are, as
        for :func:`.compile_equations`. Other inputs are arguments.

    Returns
    =======

    dict
        File name -> text.

    Raises
    ======

    UnsupportedFeatureError
        If an expression has no counterpart in the language.

    """
    if (language not in [*LANGUAGES] or precision not in [*PRECISIONS]
            or not isinstance(name, str) or not name.isidentifier()):
        raise ValueError(
            f"`language` is one of {', '.join(map(repr, LANGUAGES))}, "
            "`precision` 'double' or 'float', and `name` that of a function; "
            f"they are {language!r}, {precision!r} and {name!r}.")
    return LANGUAGES[language](model, name, precision, constants,
                               inputs).files()


def called(text):
    return {*re.findall(r'(\w+)\(', text)}


class Source:
    """Names, assignments and the text of the files; C by default."""

    base = 0                            # first index
    end = ';'
    element, entry = '{0}[{1}]', '{0}[{1}][{2}]'
    shared_as = 'const real {0}'
    # A name for an entry of an argument: name, argument, index.
    declared_as = {'x': 'const real {0} = {1}[{2}];',
                   'p': 'const real {0} = {1}->{0};',
                   'w': 'const real {0} = {1}->{0};'}
    printer_class, suffixes = C99CodePrinter, ('h', 'c')

    def __init__(self, model, name, precision, constants, inputs):
        self.name, self.precision = name, precision
        equations, given = with_inputs(model, inputs)
        names = Names(equations.constants, 'constant',
                      unused=equations.symbols)
        known = getattr(model, 'p', None)
        self.values = names.vector(
            constants or {}, 'constants', [1.]*len(names) if known is None
            else known)
        self.printer = self.printer_class(
            {'human': False, **self.settings(precision)})
        self.size = len(equations.unknowns)
        self.motion = self.size - len(equations.multipliers)
        graph = with_given(equations.graph, OUTPUTS, given)
        items = {'x': equations.states, 'p': equations.constants, 'w': [
            x for x in equations.specifieds if x not in given]}
        self.templates = {suffix: files(__package__).joinpath(
            f'model.{suffix}').read_text('utf-8') for suffix in self.suffixes}
        text = ' '.join(self.templates.values())
        reserved = {*KEYWORDS, *self.printer.reserved_words, *called(text),
                    *re.findall(r'\b[A-Z]\w*', text)}      # such as macros
        if name in reserved:
            raise ValueError(
                f"`name` is {name!r}, which has another meaning in the code. "
                "Choose another name.")
        clashes = reserved | {
            'W', 'r', 'z', 'f', 'i', 'real', 'zeros', name, *'txpw', 'rates',
            'lam'}
        while clashes:                  # with functions that the model needs
            reserved |= clashes
            self.taken = {*reserved}
            self.symbols = {equations.t: Symbol('t', real=True)}
            self.arguments = {letter: [self.named(x) for x in some]
                              for letter, some in items.items()}
            clashes = self.taken - reserved
            self.read(graph)
            clashes &= called(' '.join(self.lines + self.rates))
        self.lines = [*self.declarations(), *self.lines]

    def settings(self, precision):
        """What the printer needs to know of a precision."""
        return {'type_aliases': {real: float32}} if precision == 'float' and (
            self.printer_class is C99CodePrinter) else {}

    def named(self, item):
        text = re.sub('[^A-Za-z0-9_]', '_', parameter_name(item))
        text = text if text[0].isalpha() else f'v{text}'
        while text in self.taken:
            text += '_'
        self.taken.add(text)
        self.symbols[item] = Symbol(text, real=True)
        return text

    def read(self, graph):
        """Write the assignments of shared parts, ``W`` and ``r``."""
        shared, outputs = graph.assignments(OUTPUTS, numbered_symbols(
            'a', exclude=map(Symbol, self.taken)))
        self.rates = [self.written(e) for e in outputs['rates']]
        b, W, r = self.base, outputs['W'], outputs['r']
        used = set().union(*(e.free_symbols for e in (
            *outputs['rates'], *W, *r)))
        for x, e in reversed(shared):   # terms that cancel leave some unused
            if x in used:
                used |= e.free_symbols
        self.lines = [(self.shared_as.format(x), e)
                      for x, e in shared if x in used]
        self.lines += [(self.entry.format('W', i + b, j + b), W[i, j])
                       for i in range(W.rows) for j in range(W.cols)
                       if W[i, j] != 0]
        self.lines += [(self.element.format('r', i + b), e)
                       for i, e in enumerate(r) if e != 0]
        self.lines = [f'{name} = {self.written(e)}{self.end}'
                      for name, e in self.lines]

    def written(self, expression):
        """An expression in the language, on one line."""
        expression = expression.replace(
            lambda e: e.func in REWRITTEN,
            lambda e: e.rewrite(REWRITTEN[e.func], deep=False))
        numbers = {x: x.evalf(17) for x in expression.atoms(
            NumberSymbol, Function, Pow) if x.is_number and x.is_comparable}
        try:
            _, strange, text = self.printer.doprint(
                expression.xreplace({**self.symbols, **numbers}))
        except PrintMethodNotImplementedError as error:
            strange = {str(error).rpartition(' ')[2]}
        if strange:
            raise UnsupportedFeatureError(
                f"{', '.join(sorted(map(str, strange)))} cannot be written "
                "in this language. Use elementary functions.")
        # a line may be long
        return ' '.join(text.replace('...\n', ' ').split())

    def declarations(self):
        """Lines that give the entries of the arguments their names."""
        return [self.declared_as[letter].format(name, letter, i)
                for letter, names in self.arguments.items()
                for i, name in enumerate(names, self.base)]

    def filled(self, template):
        def block(lines):
            return '\n'.join(f'    {line}' for line in lines)

        upper, m = self.name.upper(), self.size - self.motion
        states, constants, inputs = self.arguments.values()
        comment = '. '.join(
            f"{title}: {', '.join(names) or 'none'}" for title, names in (
                ('States x', states), ('Constants p', constants),
                ('Inputs w', inputs)))
        rust, suffix, tiny = PRECISIONS[self.precision]
        return Template(template).substitute(
            name=self.name, upper=upper, comment=f'{comment}.',
            precision=self.precision, rust=rust, suffix=suffix, tiny=tiny,
            size=self.size, motion=self.motion, after=self.motion + 1, m=m,
            multipliers=max(m, 1), known=len(self.rates),
            lines=block(self.lines), rates=', '.join(self.rates),
            rate_lines=block(f'rates[{i}] = {e};'
                             for i, e in enumerate(self.rates)),
            enum=', '.join(f'{upper}_{x}' for x in states),
            p_fields=block(f'real {x};' for x in constants or ['_']),
            w_fields=block(f'real {x};' for x in inputs or ['_']),
            unused=block(f'(void){x};' for x in (
                *'txpw', *states, *constants, *inputs)),
            values=', '.join(map(repr, self.values.tolist() or [0.])))

    def files(self):
        return {f'{self.name}.{suffix}': self.filled(text)
                for suffix, text in self.templates.items()}


class OctavePrinter(OctaveCodePrinter):
    def _print_Float(self, expr):           # all digits
        return repr(float(expr))


class JuliaPrinter(JuliaCodePrinter):
    _print_Float = OctavePrinter._print_Float


class RustPrinter(RustCodePrinter):
    """Writes numbers as floats, and conditions in parentheses."""

    _print_Float = OctavePrinter._print_Float
    # SymPy's casts to floats take the parentheses from sums in products
    _print_Add, _print_Mul = CodePrinter._print_Add, CodePrinter._print_Mul

    def _cast_to_float(self, expr):
        return expr

    def _print_Integer(self, expr):
        return f'{int(expr)}.0'

    def _print_Rational(self, expr):
        return f'({expr.p}.0/{expr.q}.0)'

    def _print_caller_var(self, expr):      # a number has no type of its own
        return f'({self._print(expr)} as Real)' if (
            expr.is_number) else super()._print_caller_var(expr)

    def _print_floor(self, expr, name='floor'):
        return f'{self._print_caller_var(expr.args[0])}.{name}()'

    def _print_ceiling(self, expr):
        return self._print_floor(expr, 'ceil')

    def _print_Pow(self, expr):
        base = self._print_caller_var(expr.base)
        if expr.exp == -1:
            return f'(1.0/{base})'
        if expr.exp.is_Integer:
            return f'{base}.powi({int(expr.exp)})'
        if expr.exp.is_Rational and expr.exp.q == 2 and expr.exp.p == 1:
            return f'{base}.sqrt()'
        return f'{base}.powf({self._print(expr.exp)})'

    def _print_Max(self, expr, name='max'):
        first, *others = expr.args
        return self._print_caller_var(first) + ''.join(
            f'.{name}({self._print(x)})' for x in others)

    def _print_Min(self, expr):
        return self._print_Max(expr, 'min')

    def _print_Piecewise(self, expr):
        return f'({super()._print_Piecewise(expr)})'


class Octave(Source):
    base, entry, element, shared_as = 1, '{0}({1}, {2})', '{0}({1})', '{0}'
    declared_as = dict.fromkeys('xpw', '{0} = {1}({2});')
    printer_class, suffixes = OctavePrinter, ('m',)


class Julia(Source):
    base, end, entry, shared_as = 1, '', '{0}[{1}, {2}]', '{0}'
    printer_class, suffixes = JuliaPrinter, ('jl',)

    def declarations(self):
        names = [f"{', '.join(names)}{',' if len(names) == 1 else ''} "
                 f'= {letter}' for letter, names in self.arguments.items()
                 if names]
        n = self.size
        return [*names, f'W, r = zeros({n}, {n}), zeros({n})']


class Rust(Source):
    shared_as = 'let {0}: Real'
    declared_as = dict.fromkeys('xpw', 'let {0}: Real = {1}[{2}];')
    printer_class, suffixes = RustPrinter, ('rs',)


LANGUAGES = {'c': Source, 'octave': Octave, 'julia': Julia, 'rust': Rust}
