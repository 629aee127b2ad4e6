"""Exact derivatives of accelerations, multipliers and all that follows.

Each is one more solution with the matrix ``W`` (:doc:`/theory/numbers`).
"""
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from sympy import Dummy

from ..errors import ConstrainedDynamicsError, UnsupportedFeatureError
from ..graph import Derivation, Graph, gradient, jacobian, read, substitute
from .codegen.native import with_given
from .codegen.solution import MOST, solved
from .evaluation import times_of
from .names import Names, array, no_text


class Stage(NamedTuple):
    """A system with the matrix ``W``, or its transpose, and several columns.

    ``symbols`` stand for the solution in what follows.
    """

    symbols: list
    right: list
    is_transposed: bool = False


class Plan:
    """What is solved for a derivative, and what follows, on the graph.

    ``extra`` are the inputs for directions and weights.
    """

    def __init__(self, compiled, of, by, kind):
        self.g, out, self.of, self.by = load(
            compiled, of, items_of(compiled, by))
        self.W, self.right = out['W'], out['r']
        g = self.g
        self.z = [g.input(x, dynamic=True) for x in compiled.unknowns]
        self.stages, self.extra = [], []
        lam = self.z[compiled.motion:]
        self.has_unknowns, self.has_multipliers = (
            any(g.depends[abs(x)] & g.mask(some) for x in self.of)
            for some in (self.z, lam))
        self.kind, self.rows = kind, getattr(self, f'_{kind}')()
        self.arguments = of, by, kind
        self.shape = (len(self.rows), )
        if kind == 'jacobian':
            self.shape += len(self.by),

    def symbol(self, ref):
        return self.g.inputs[self.g.nodes[ref][1]]

    def _symbols(self, count, columns=1):
        return [[self.g.input(Dummy(), dynamic=True) for _ in range(columns)]
                for _ in range(count)]

    def _given(self, count):
        column = [row[0] for row in self._symbols(count)]
        self.extra.append(column)
        return column

    def _solved(self, right, is_transposed=False):
        """Symbols of the solution for some columns, zeros if not needed."""
        if not self.has_unknowns:
            return [[0]*len(right[0]) for _ in self.z]
        symbols = self._symbols(len(self.z), len(right[0]))
        self.stages.append(Stage(symbols, right, is_transposed))
        return symbols

    def _solved_column(self, right, is_transposed=False):
        return [x for x, in right and self._solved(
            [[x] for x in right], is_transposed)]

    def _balance(self):
        """``r - W z``."""
        return [self.g.sub(right, self.g.dot(row, self.z))
                for row, [right] in zip(self.W, self.right)]

    def _jacobian(self):
        g = self.g
        dz = self.z and self._solved(jacobian(g, self._balance(), self.by))
        columns = list(zip(*dz)) or [()]*len(self.by)
        return [[g.add(x, g.dot(by_z, column))
                 for x, column in zip(direct, columns)]
                for direct, by_z in zip(jacobian(g, self.of, self.by),
                                        jacobian(g, self.of, self.z))]

    def _values(self):
        return [[x] for x in self.of]

    def _along(self, direction):
        """The derivative along a direction and what follows from it."""
        seeds = dict(zip(self.by, direction))
        along = Derivation(self.g, seeds)
        dz = self._solved_column([along(x) for x in self._balance()])
        return seeds | dict(zip(self.z, dz))

    def _jvp(self):
        along = Derivation(self.g, self._along(self._given(len(self.by))))
        return [[along(x)] for x in self.of]

    def _lagrangian(self):
        """``L``, and the symbols ``y``."""
        g, weights = self.g, self._given(len(self.of))
        value = g.dot(weights, self.of)
        y = self._solved_column(gradient(g, value, self.z), True)
        return g.add(value, g.dot(y, self._balance())), y

    def _vjp(self):
        value, _ = self._lagrangian()
        return [[x] for x in gradient(self.g, value, self.by)]

    def _hessian_vector(self):
        value, y = self._lagrangian()
        seeds = self._along(self._given(len(self.by)))
        along = Derivation(self.g, seeds)
        dy = self._solved_column(
            [along(x) for x in gradient(self.g, value, self.z)], True)
        along = Derivation(self.g, seeds | {k: x for k, x in zip(y, dy) if k})
        return [[along(x)] for x in gradient(self.g, value, self.by)]


class Derivative:
    """A derivative as a function of ``(t, x, p)``.

    Made by :meth:`.CompiledEquations.jacobian`, ``jvp``, ``vjp`` and
    ``hessian_vector``, which say what else it takes. Like all functions of
    compiled equations it takes batches.

    Attributes
    ==========

    shape : tuple of int
        Of the result at one state.

    """

    def __init__(self, compiled, plan):
        self.compiled, self.plan, self.shape = compiled, plan, plan.shape

    def __call__(self, t, x, *values, p=None):
        """The values at a state, or at each of several."""
        compiled, count = self.compiled, len(self.plan.extra)
        if len(values) == count + 1 and p is None:
            *values, p = values
        if len(values) != count:
            raise TypeError(
                f"This function takes (t, x{', values'*count}, p=None), and "
                f"was given {2 + len(values)} arguments.")
        given = [array(v, 'values') for v in values]
        for value, wanted in zip(given, self.plan.extra):
            if value.shape[-1:] != (len(wanted),):
                raise ValueError(
                    f"The direction or weights have shape {value.shape}; "
                    f"give {len(wanted)} numbers.")
        x = array(x, 'x')
        if x.ndim != 2:
            return self._one(t, x, given, compiled.parameters(p))
        times, p = times_of(t, x), compiled.parameters(p, len(x))
        if not self.plan.has_unknowns and not given:
            return self._functions[-1](times, x, p)['out'].reshape(
                len(x), *self.shape)
        if p.ndim == 1 and all(v.ndim == 1 for v in given) and len(x):
            return self._batch(times, x, given, p)
        given = [np.broadcast_to(v, (len(x), v.shape[-1])) for v in given]
        p = np.broadcast_to(p, (len(x), p.shape[-1]))
        found = [self._one(*row[:2], row[3:], row[2])
                 for row in zip(times.tolist(), x, p, *given)]
        return np.reshape(found, (len(x), *self.shape))

    def _one(self, t, x, given, p):
        solver = native = None
        if self.plan.has_unknowns:
            solver = self._solver(t, x, p)
            native = self._native(solver)
        if native is not None:
            found = native.bound(
                (len(self.compiled.states),),
                np.concatenate([p, solver.sizes, *given]), None,
                self.compiled.called)(float(t), x)
            if found is not None:
                return found.reshape(self.shape)
        return self._by_stages(t, x, given, p).reshape(self.shape)

    def _batch(self, times, x, given, p):
        native = None
        if self.plan.has_unknowns and not self.compiled.called:
            solver = self._solver(times[0], x[0], p)
            native = self._native(solver)
        if native is None:
            return np.array([self._one(t, row, given, p)
                             for t, row in zip(times.tolist(), x)])
        found, bad = native.batch(len(x), times, x.T, np.concatenate(
            [p, solver.sizes, *given]))
        found = found.reshape(len(x), *self.shape)
        for i in np.flatnonzero(bad):
            found[i] = self._one(times[i], x[i], given, p)
        return found

    def _solver(self, t, x, p):
        solver = self.compiled.kept_solver(t, x, p)
        if solver.kept is not None and self.plan.has_multipliers and (
                self.plan.kind != 'values'):
            raise UnsupportedFeatureError(
                "Constraint rows are redundant, so multipliers are not "
                "unique and have no derivatives. Ask for those of "
                "'constraint_forces', or leave out redundant rows.")
        return solver

    # -- machine code ------------------------------------------------------

    def native_function(self, t=0., x=None):
        """Return the :class:`.NativeFunction` for loops outside Python.

        Its outputs are the values row by row. Directions and weights follow
        the constants. ``t`` and ``x`` are a state near the motion, needed if
        rows may be redundant.

        Raises
        ======

        UnsupportedFeatureError
            If there is no compiled solution for this model.

        """
        compiled = self.compiled
        solver = None
        if x is not None:
            solver = self._solver(t, compiled.names.vector(x, 'x'),
                                  compiled.parameters())
        native = compiled.backend != 'numpy' and self._code(
            None if solver is None else solver.rows_in_use,
            () if solver is None else solver.sizes.tolist())
        if not native:
            raise UnsupportedFeatureError(
                "There is no compiled solution of these equations, or "
                "backend='numpy' has no machine code. Call the derivative "
                "from Python.")
        return native

    def _native(self, solver):
        """Machine code for this rank, or None; sizes follow the constants."""
        if self.compiled.backend == 'numpy' or not solver.leaves_out_rows_only:
            return None
        rows = solver.rows_in_use
        if rows is not None and self.plan.has_multipliers:
            return None                 # those of least norm are asked for
        return self.compiled.kept((self.plan, rows), lambda: self._code(
            rows, [Dummy() for _ in solver.sizes]))

    def _code(self, rows, numbers):
        # On a builder of its own: what is equal at states in general is no
        # replacement where only other rows are independent.
        plan, half = Plan(self.compiled, *self.plan.arguments), len(numbers)//2
        g = plan.g
        g.avoid([*plan.z, *(    # they may cancel in the rows
            x for stage in plan.stages for row in stage.symbols for x in row)])
        known, checks = {}, []
        if plan.has_unknowns:
            found = solved(
                g, {'W': plan.W, 'r': plan.right}, self.compiled.equations,
                rows, (numbers[:half], numbers[half:]) if numbers else None)
            if found is None:
                return None
            known, checks = dict(zip(plan.z, found.z)), found.checks
        for stage in plan.stages:
            solutions = [
                found.solve(substitute(g, column, known), stage.is_transposed)
                for column in zip(*stage.right)]
            if None in solutions:
                return None
            for symbols, values in zip(zip(*stage.symbols), solutions):
                known |= dict(zip(symbols, values))
        out = substitute(g, [x for row in plan.rows for x in row], known)
        graph = Graph.freeze(
            g, {'out': out, 'checks': (checks, 2)}).compacted()
        if graph.operation_count() > MOST:
            return None
        more = [x for x in numbers if isinstance(x, Dummy)]
        more += [plan.symbol(ref) for part in plan.extra for ref in part]
        with suppress(ConstrainedDynamicsError):
            return self.compiled.native(graph, 'out', 'checks', more)

    # -- without -----------------------------------------------------------

    def _by_stages(self, t, x, given, p):
        """The values, with a numeric solution of every stage."""
        compiled, plan, known = self.compiled, self.plan, []
        if plan.has_unknowns:
            z = np.append(compiled.accelerations(t, x, p),
                          compiled.multipliers(t, x, p))
            solver, (W, _) = self._solver(t, x, p), compiled.matrices(t, x, p)
            known = z.tolist()
        known = np.concatenate([known, *given]).tolist()
        for stage, function in zip(plan.stages, self._functions):
            right = function(t, x, p, known)['out']
            solve = (solver.solve_transposed if stage.is_transposed else
                     solver.solve)
            found = np.transpose([solve(W, column)[0] for column in right.T])
            known.extend(found.ravel().tolist())
        return self._functions[-1](t, x, p, known)['out']

    @property
    def _functions(self):
        """The right side of each stage, then the result."""
        plan = self.plan

        def made():
            names = [plan.symbol(ref) for part in (
                plan.z if plan.has_unknowns else (), *plan.extra)
                for ref in part]
            result = []
            for stage in (*plan.stages, None):
                rows = stage.right if stage else plan.rows
                graph = Graph.freeze(plan.g, {
                    'out': (rows, len(rows[0]) if rows else 0)})
                result.append(self.compiled.group(
                    graph, ('out',), tuple(names)))
                if stage:
                    names += [plan.symbol(ref) for row in stage.symbols
                              for ref in row]
            return result

        return self.compiled.kept((plan, 'stages'), made)


# -- what is differentiated, and by what -----------------------------------

def load(compiled, of, by):
    """A builder, ``W`` and ``r``, what is differentiated, and by what."""
    equations, graph = compiled.equations, compiled.equations.graph
    given = {item: expr for item, expr in compiled.inputs.given.items()
             if item not in by}
    named = {'rates': (), 'accelerations': (), 'multipliers': (),
             'constraint_forces': ('M', 'Q'),
             'residuals': [name for name, _ in compiled.levels]}
    if isinstance(of, str) and of not in named and of not in graph.outputs:
        raise ValueError(
            f"There is no output {of!r} to differentiate. Known: "
            f"{', '.join(map(repr, {**named, **graph.outputs}))}. Give one "
            "of these, or a list of SymPy expressions.")
    more = named.get(of, (of,)) if isinstance(of, str) else ()
    names = tuple(dict.fromkeys(('rates', 'W', 'r', *more)))
    g, out = with_given(graph, names, given).load(None, names)
    z = [g.input(x, dynamic=True) for x in equations.unknowns]
    rates = [x for x, in out['rates']] + z[:compiled.motion]
    if not isinstance(of, str):
        of = expressions(g, compiled, of, rates)
    elif of == 'constraint_forces':
        accelerations = [rates[k] for k in compiled.u_index]
        of = [g.sub(g.dot(row, accelerations), force)
              for row, [force] in zip(out['M'], out['Q'])]
    else:
        solved = {'rates': rates, 'accelerations': z[:compiled.motion],
                  'multipliers': z[compiled.motion:]}
        of = solved[of] if of in solved else [
            x for name in more for row in out[name] for x in row]
    return g, out, of, [g.input(x, dynamic=x not in equations.constants)
                        for x in by]


def expressions(g, compiled, of, rates):
    """References of expressions in what the equations have."""
    bind(g, compiled, rates)
    of = [read(g, no_text(expr)) for expr in of]
    known = {*compiled.unknowns, *compiled.states, *compiled.constants,
             *compiled.specifieds, compiled.equations.t}
    strange = sorted(str(x) for x in g.symbols_of(*of) if x not in known)
    if strange:
        raise ValueError(
            f"`of` contains {', '.join(strange)}. Use states, rates, "
            "multipliers, constants and inputs of the equations.")
    return of


def items_of(compiled, by):
    if by is None:
        return tuple(compiled.states)
    known = (*compiled.states, *compiled.constants, *compiled.specifieds,
             compiled.equations.t)
    names = Names(known, 'state, constant or input')
    return tuple(known[k] for k in names.indices(by, 'by'))


def bind(g, compiled, rates):
    """Let expressions contain rates of coordinates and inputs by feedback."""
    equations = compiled.equations
    for state, rate in zip(equations.states, rates):
        g.bound.setdefault(state.diff(equations.t), rate)
    for item, expr in compiled.inputs.feedback.items():
        g.bound[item] = read(g, expr)
