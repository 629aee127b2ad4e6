"""What every export needs: chosen rows, known inputs, operations, names."""
from dataclasses import dataclass, replace

import numpy as np
from sympy import Derivative
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import dynamicsymbols

from ..errors import MissingIngredientError, UnsupportedFeatureError
from ..graph import GraphBuilder
from ..graph.linalg import ldl_factor
from ..model.equations import EquationsOfMotion
from ..numeric.codegen.instructions import program
from ..numeric.codegen.native import arguments_of, slots, with_given
from ..numeric.codegen.solution import blocks, select
from ..numeric.codegen.walk import walk
from ..numeric.compiled import (
    CompiledEquations, compile_equations, equations_of)
from ..numeric.inputs import closed, parameter_name
from ..numeric.manifold.consistent_state import spectrum


# Least eigenvalue of the mass matrix for LDL^T, with a diagonal of ones.
DEFINITE = 1e-10
# Results that depend on which rows are independent.
SOLVED = 'rhs', 'multipliers', 'residual'


@dataclass(frozen=True)
class Exported:
    """Equations with known inputs and chosen rows."""

    equations: EquationsOfMotion
    given: dict                     # specified function -> expression
    free: tuple                     # the other specified functions
    p: np.ndarray | None            # default values of the constants
    use: list                       # independent rows of W, and its columns
    scales: tuple | None = None     # of these rows and columns, powers of 2
    mass_is_definite: bool | None = None        # None if unknown

    @classmethod
    def of(cls, model, t=0., x=None, constants=None, inputs=None,
           solved=True):
        """From the user's arguments; ``solved``: rows must be chosen."""
        compiled = None
        if isinstance(model, CompiledEquations):
            model = compiled = model.with_values(constants, inputs)
        equations, given = with_inputs(model, inputs)
        free = tuple(f for f in equations.specifieds if f not in given)
        if compiled is None and (constants is not None or x is not None):
            compiled = compile_equations(
                equations, constants, {**given, **dict.fromkeys(free, 0)},
                'numpy')
        result = cls(equations, given, free, compiled and compiled.p,
                     list(range(len(equations.unknowns))))
        if x is not None:
            return result.at(compiled, t, x)
        return result.with_rows_of(model) if solved else result

    def with_rows_of(self, model):
        """Use the rows that a method reports as independent."""
        if not self.equations.multipliers:
            return self
        rows = getattr(model, 'independent_rows', None)
        if rows is None:
            raise MissingIngredientError(
                "The independent constraint rows are determined at a state "
                "near the motion. Pass one as `x`, or pass the method "
                "instead of its equations.")
        return replace(
            self, mass_is_definite=model._report.mass_is_definite,
            use=[*range(self.motion), *(self.motion + k for k in rows)])

    def at(self, compiled, t, x):
        """Use the rows that are independent at a state, and their scale."""
        x = compiled.names.vector(x, 'x')
        solver, use = compiled.linear_solver(t, x), self.use
        if solver.kept is not None:
            use = [int(i) for i in solver.kept[0]]
            if solver.contradiction != 'error' or (
                    use[:self.motion] != self.use[:self.motion]):
                raise UnsupportedFeatureError(
                    "The equations are rank-deficient and no row can be left "
                    "out: dynamic equations are redundant, or contradicting "
                    "rows are solved by least squares. Remove the "
                    "redundant rows from the model.")
        mass = compiled.matrices(t, x)[0][:self.motion, :self.motion]
        return replace(
            self, use=use,
            mass_is_definite=(spectrum(mass)[0] > DEFINITE).all(),
            scales=(solver.row_scale[use], solver.column_scale[use]))

    @property
    def motion(self):
        return len(self.equations.unknowns) - len(self.equations.multipliers)

    @property
    def rows(self):
        return [i - self.motion for i in self.use[self.motion:]]

    @property
    def multipliers(self):
        return tuple(self.equations.multipliers[k] for k in self.rows)

    def outputs(self, name):
        """A function of arguments of :func:`walk` to values, and shapes."""
        names = ('rates', 'W', 'r') if name in SOLVED else (name,)
        if name == 'residual':
            names += 'holonomic', 'velocity'
        if not {*names} <= {*self.equations.graph.outputs}:
            raise ValueError(
                f"`name` is {name!r}. Choose 'rhs', 'multipliers', "
                "'residual', or one of the outputs "
                f"{', '.join(self.equations.graph.outputs)}.")
        return self.computed(self.equations.graph, names)

    def computed(self, graph, names, more=()):
        """The same for a graph, with the slots of ``more`` symbols."""
        e, graph = self.equations, with_given(graph, names, self.given)
        code = program(graph, names, {**slots(arguments_of(
            e.t, e.states, e.constants, self.free)), **dict(more)})
        shapes = {key: graph.outputs[key] for key in names}

        def outputs(table, inputs):
            values = walk(code.operations, table, inputs)
            flat = iter(code.outputs)
            return {key: [values[next(flat)] for _ in range(rows*columns)]
                    for key, (rows, columns) in shapes.items()}

        return outputs, shapes

    def ldl_is_possible(self):
        """Whether no pivot of LDL^T of the mass matrix is always zero."""
        if not self.mass_is_definite:
            return False
        g, out = self.equations.graph.load(None, ('W', 'r'))
        parts = blocks(select(out, self.use)[0], self.motion)
        return parts is not None and ldl_factor(g, parts[0]) is not None


def with_inputs(model, inputs):
    """Equations, and specified function -> expression where it is known."""
    if isinstance(model, CompiledEquations):
        return model.equations, model.inputs.given
    equations, known = closed(equations_of(model), inputs, complete=False)
    return equations, known.given


# -- states that other programs take for functions of time ----------------

def renamed(equations):
    """Derivatives that are states -> functions of time."""
    taken = names_in(equations)
    return {x: free_name(parameter_name(x), taken)
            for x in equations.states if isinstance(x, Derivative)}


def loaded(exported, new, names):
    """Outputs in a builder where states, or time, have other names."""
    graph = with_given(exported.equations.graph, names, exported.given)
    builder = GraphBuilder(graph.time)
    for state, name in new.items():
        builder.bound[state] = builder.input(name, dynamic=True)
    g, out = graph.load(builder, names)
    for state in new:           # from here on a derivative, or time
        del g.bound[state]
    return g, out


def names_in(equations):
    return {str(f.func) for x in (*equations.states, *equations.multipliers,
                                  *equations.specifieds)
            for f in x.atoms(AppliedUndef)}


def free_name(name, taken):
    """A function of time whose name is not ``taken``; now it is."""
    while name in taken:
        name += '_'
    taken.add(name)
    return dynamicsymbols(name)
