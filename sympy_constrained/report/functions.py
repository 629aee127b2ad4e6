"""The equations of a model as functions in JavaScript, and their numbers."""
import numpy as np
from scipy.integrate import DOP853
from sympy import Dummy, Symbol

from ..errors import UnsupportedFeatureError
from ..graph import Graph
from ..model.call_signatures import as_dictionary
from ..numeric.codegen.native import with_given
from ..numeric.codegen.solution import power, solved_graph
from ..numeric.compiled import (
    CompiledEquations, compile_equations, equations_of)
from ..numeric.integrate.power import work_outputs
from ..numeric.names import label
from ..numeric.table import Table


TABLEAU = {'A': [row[:i] for i, row in enumerate(DOP853.A)],
           **{name: getattr(DOP853, name) for name in ('B', 'C', 'E3', 'E5')}}


def compiled_for_page(model, constants, inputs):
    """The equations, where inputs without a value are constants of zero."""
    inputs, values = (as_dictionary(inputs, 'inputs'),
                      as_dictionary(constants, 'constants'))
    known = {getattr(x, 'expr', x) for x in inputs}
    for item in () if isinstance(model, CompiledEquations) else (
            equations_of(model).specifieds):
        function = getattr(item, 'expr', item)
        if function not in known and label(function) not in known:
            known.add(function)
            inputs[function] = Symbol(label(function), real=True)
            values[inputs[function]] = 0.
    compiled = compile_equations(model, values or None, inputs or None)
    called = [label(x) for x, function in compiled.inputs.called.items()
              if not isinstance(function, Table)]
    if called:
        raise UnsupportedFeatureError(
            f"The input {', '.join(called)} is a Python function, which a "
            "browser cannot call. Give it as an expression, a number or a "
            "table, or leave it out: the page then has a slider for it.",
            functions=tuple(called))
    return compiled


class Functions:
    """Name -> text in JavaScript, and what the engine has to know."""

    def __init__(self, compiled, t, x):
        self.compiled, self.t, self.x = compiled, t, x
        self.texts = {}
        equations = compiled.equations
        self.solver = solver = compiled.linear_solver(t, x)
        sizes = solver.sizes.tolist()
        half = len(sizes)//2
        quick = solver.leaves_out_rows_only and solved_graph(
            equations, solver.rows_in_use, (sizes[:half], sizes[half:]))
        if quick:
            self.write('rates', quick, 'checks')
        self.write_outputs('system', ('rates', 'W', 'r'))
        self.levels = [{'name': name, 'index': index.tolist()}
                       for name, index in compiled.levels
                       if compiled.has(name)]
        for level in self.levels:
            name = level['name']
            self.write_outputs(name, (name, f'{name}_jacobian'))
        for name, output in (('mass', 'M'), ('loads', 'Q'),
                             ('energy', 'energy')):
            self.write_outputs(name, (output,))

    def write_outputs(self, name, outputs):
        g, out = self.compiled.equations.graph.load(None, outputs)
        self.write_refs(name, g, [
            ref for output in outputs for row in out[output] for ref in row])

    def write_refs(self, name, builder, refs, more=(), numbers=()):
        """Write references; ``more`` symbols, ``numbers`` of other symbols."""
        graph = Graph.freeze(builder, {'out': refs})
        given = {**self.compiled.inputs.feedback, **dict(numbers)}
        self.write(name, with_given(graph, ('out',), given), None, more)

    def write(self, name, graph, checks=None, more=()):
        try:
            self.texts[name] = self.compiled.native(
                graph, 'out', checks, more).text('js')
        except UnsupportedFeatureError as error:
            functions = getattr(error, 'functions', ())
            if not functions:
                raise
            raise UnsupportedFeatureError(
                f"A browser has no counterpart of {', '.join(functions)} in "
                "the equations. Write the model with elementary functions.",
                functions=functions) from error

    def write_extra(self, builder, refs):
        """Write the rate of the work, if any, and ``refs``; their number."""
        equations = self.compiled.equations
        outputs = work_outputs(self.compiled)
        g, out = equations.graph.load(builder, outputs)
        rates = [Dummy() for _ in equations.states]
        self.has_work = bool(outputs)
        if outputs:
            refs = [power(g, out, equations, [
                [g.input(x, dynamic=True)] for x in rates]), *refs]
        if refs:
            self.write_refs('extra', g, refs, rates)
        return len(refs)

    def data(self, extra):
        compiled = self.compiled
        return {
            't': self.t, 'x': self.x.tolist(), 'p': compiled.p.tolist(),
            'size': len(compiled.unknowns), 'rank': int(self.solver.rank),
            'known': len(compiled.states) - compiled.motion,
            'scaled': compiled.equations.inconsistent == 'error',
            'extra': extra, 'levels': self.levels,
            'uindex': compiled.u_index.tolist(), 'work': self.has_work,
            'tables': [{'breaks': table.path.x.tolist(),
                        'rows': table.path.c.T.tolist()}
                       for table in compiled.inputs.called.values()],
            'tableau': {name: [np.array(x).tolist() for x in values]
                        for name, values in TABLEAU.items()}}

    def text(self):
        return '{' + ',\n'.join(
            f'{name}: {text}' for name, text in self.texts.items()) + '}'
