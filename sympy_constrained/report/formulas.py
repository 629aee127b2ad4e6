"""Formulas in MathML, which browsers draw without a library, and tables."""
import re
from html import escape

from sympy import Matrix, Symbol, numbered_symbols
from sympy.core.function import AppliedUndef
from sympy.printing.mathml import MathMLPresentationPrinter

from ..model.kinetics import frames_of
from ..numeric.names import label


# Shared parts get names above this number of operations. Formulas are left
# out above the second, and those without names above the third, of their size
# as a tree, which may be exponential in the number of operations.
SHORT, LONG, TREE = 60, 700, 1500
DOTS = {1: '˙', 2: '¨', 3: '⃛'}
# Products that begin or end with a name of several letters.
WORDS = re.compile(r'(?<=\w\w</mi>)<mo>&InvisibleTimes;</mo>|'
                   r'<mo>&InvisibleTimes;</mo>(?=(?:<m\w+>)*<mi>\w\w)')
# Class of a method -> theory page and number of its equations there.
THEORY = {
    'UdwadiaKalabaMethod': ('udwadia_kalaba', 'U4'),
    'RouthMethod': ('routh_and_vacco', '7'),
    'VaccoMethod': ('routh_and_vacco', 'V'),
    'HamelEmbedding': ('hamel_embedding', 'E1'),
    'VoronetsMethod': ('hamel_embedding', 'E2'),
    'LinearMappingMethod': ('linear_mapping', 'L3'),
    'GibbsAppellMethod': ('gibbs_appell', 'G4')}


class Printer(MathMLPresentationPrinter):
    """Functions of time by their names, derivatives with dots."""

    def _element(self, tag, *children):
        element = self.dom.createElement(tag)
        for child in children:
            element.appendChild(
                self.dom.createTextNode(child) if isinstance(child, str)
                else child)
        return element

    def _print_Derivative(self, e):
        if not isinstance(e.expr, AppliedUndef) or e.derivative_count > 3:
            return super()._print_Derivative(e)
        name = self._print(e.expr)
        dots = self._element('mo', DOTS[e.derivative_count])
        base = name.childNodes[0] if name.tagName == 'msub' else name
        over = self._element('mover', base.cloneNode(True), dots)
        over.setAttribute('accent', 'false')
        if base is name:
            return over
        name.replaceChild(over, base)
        return name

    def _print_AppliedUndef(self, e):
        return self._print(Symbol(e.func.__name__))

    def _print_Symbol(self, sym, style='plain'):
        name = re.sub(r'^lam(?=\d|_|$)', 'lambda', sym.name)
        return super()._print_Symbol(Symbol(name), style)

    _print_Dummy = _print_Symbol

    def _print_MatrixBase(self, m):
        table = self._element('mtable', *(
            self._element('mtr', *(self._element('mtd', self._print(e))
                                   for e in row)) for row in m.tolist()))
        table.setAttribute('class', 'matrix')
        return table

    def _print_Float(self, e):
        return self._element('mn', f'{float(e):.6g}')


def markup(expression):
    text = Printer().doprint(expression)
    # SymPy 1.13 writes parentheses as an element that browsers have dropped
    text = text.replace('<mfenced>', '<mrow><mo>(</mo>').replace(
        '</mfenced>', '<mo>)</mo></mrow>')
    return WORDS.sub(r'\g<0><mspace width="0.17em"/>', text)


def math(*parts, block=False):
    """A formula of expressions and of text, which is an operator."""
    inside = ''.join(f'<mo>{escape(part)}</mo>' if isinstance(part, str)
                     else markup(part) for part in parts)
    kind = ' display="block"' if block else ''
    return f'<math{kind}><mrow>{inside}</mrow></math>'


def table(head, rows):
    def line(tag, cells):
        return '<tr>' + ''.join(
            f'<{tag}>{cell}</{tag}>' for cell in cells) + '</tr>'

    return ('<div class="scroll"><table><thead>' + line('th', head)
            + '</thead><tbody>' + ''.join(line('td', row) for row in rows)
            + '</tbody></table></div>')


# -- sections --------------------------------------------------------------

def tree_size(expressions):
    """Number of nodes, of which shared ones count each time."""
    sizes = {}

    def size(e):
        if e not in sizes:
            sizes[e] = 1 + sum(map(size, e.args))
        return sizes[e]

    return sum(map(size, expressions))


def inertia_of(body):
    dyadic = getattr(body, 'central_inertia', 0)
    frames = frames_of(dyadic) if dyadic else ()
    return math(dyadic.to_matrix(*frames)) if len(frames) == 1 else ''


def model_tables(compiled, system, x, units):
    """States, constants and bodies; ``units`` maps names to texts."""
    def value(item, x):
        return f'{x:.6g} {units.get(label(item), "")}'

    equations = compiled.equations
    kinds = {**dict.fromkeys(equations.q, 'coordinate'),
             **dict.fromkeys(equations.u, 'speed')}
    parts = [table(('state', '', 'start'), [
        (math(state), kinds.get(state, 'further state'), value(state, start))
        for state, start in zip(compiled.states, x)])]
    if compiled.constants:
        parts.append(table(('constant', 'value'), [
            (math(symbol), value(symbol, p))
            for symbol, p in zip(compiled.constants, compiled.p)]))
    if system is not None and system.bodies:
        parts.append(table(('body', 'mass', 'central inertia'), [
            (escape(body.name), math(body.mass), inertia_of(body))
            for body in system.bodies]))
    return '<div class="columns">' + ''.join(
        f'<div>{part}</div>' for part in parts) + '</div>'


def constraint_table(equations, classes, redundant):
    """Rows with their class; formulas where they are short."""
    graph = equations.graph
    holonomic, velocity = (graph.outputs[name][0]
                           for name in ('holonomic', 'velocity'))
    formulas = [None]*max(velocity, len(equations.constraint_names))
    rows = [*graph.sympy('holonomic'), *graph.sympy('velocity')[holonomic:]]
    if tree_size(rows) <= TREE:
        formulas[:len(rows)] = rows
    cells = []
    for k, (name, formula) in enumerate(zip(
            equations.constraint_names, formulas)):
        kind = classes[k].kind if classes else (
            'holonomic' if k < holonomic else '')
        cells.append((
            escape(name), escape(kind) + (
                ', redundant' if k in redundant else ''),
            '' if formula is None else math(formula, '= 0'),
            escape(classes[k].remark or '') if classes else ''))
    columns = 4 if any(row[-1] for row in cells) else 3
    return table(('row', 'class', 'equation', '')[:columns], [
        row[:columns] for row in cells])


def equation_rows(equations, method):
    """The equations as blocks with their number on the theory page."""
    graph, names = equations.graph, ('rates', 'W', 'r')
    page, tag = next((THEORY[cls.__name__] for cls in type(method).__mro__
                      if cls.__name__ in THEORY), ('', ''))
    count = graph.operation_count(names)
    if count > LONG:
        return (f'<p>The equations have {count} operations and '
                f'{len(equations.unknowns)} unknowns, too many to read. '
                '<code>to_latex(method)</code> writes them.</p>')
    shared, out = graph.assignments(names, numbered_symbols(
        'a_', start=1)) if count > SHORT or tree_size(
            x for name in names for x in graph.sympy(name)) > TREE else (
            [], {name: graph.sympy(name) for name in names})
    lines = [((state.diff(equations.t), '=', rate), '')
             for state, rate in zip(equations.states, out['rates'])
             if state.diff(equations.t) != rate]
    lines.append(((out['W'], Matrix(equations.unknowns), '=', out['r']),
                  f'({tag})' if tag else ''))
    html = ''.join(
        equation(*parts, more=f'<span class="tag">{tag}</span>')
        for parts, tag in lines)
    if shared:
        html += '<details><summary>with {} shared parts</summary>{}' \
            '</details>'.format(len(shared), ''.join(
                equation(name, '=', e) for name, e in shared))
    where = (f' Equation ({tag}) is derived in the documentation of '
             f'sympy_constrained, page <code>theory/{page}</code>.'
             if tag else '')
    return (f'<p>States: {len(equations.states)}; unknowns: '
            f'{len(equations.unknowns)}; operations: {count}.{where}</p>'
            f'{html}')


def equation(*parts, more=''):
    return f'<div class="equation">{math(*parts, block=True)}{more}</div>'


def comparison_table(found):
    if not hasattr(found, 'formulations'):
        raise TypeError(
            f"`comparison` is {found!r}. Give the result of `compare`.")

    def shown(value, form):
        return '' if value is None else format(value, form)

    return table(('formulation', 'derivation, s', 'operations', 'states',
                  'call, µs', 'verdict'), [
        (escape(f.name), shown(f.seconds, '.3f'), shown(f.operations, 'd'),
         shown(f.states, 'd'), shown(f.microseconds, '.1f'),
         escape(f.verdict.value) + (
             f'<br><small>{escape(f.reason)}</small>' if f.reason else ''))
        for f in found.formulations])
