"""The frozen expression graph: named outputs of inputs."""
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import compress
from math import inf
from operator import itemgetter

from mpmath import fp
from sympy import ImmutableDenseMatrix, Symbol, lambdify
from sympy.core.function import AppliedUndef
from sympy.matrices import MatrixBase
from sympy.printing.codeprinter import PrintMethodNotImplementedError

from ..errors import MissingIngredientError, check_kind
from .builder import GraphBuilder
from .calculus import rebuilt
from .compaction import compacted
from .functions import own_functions
from .matrix import GraphMatrix
from .nodes import ADD, CALL, CONST, COS, INPUT, INV, MUL, ROOT, SIN
from .reading import SLOTS, read
from .writing import assignments, nested, operation_count, used_nodes


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A frozen expression graph with named matrices as outputs.

    Explanation
    ===========

    :meth:`freeze` makes a graph from a builder, and it never changes. To add
    equations, :meth:`load` it into a new builder and freeze that.

    Examples
    ========

    >>> from sympy import sin
    >>> from sympy.abc import x, y
    >>> from sympy_constrained.graph import Graph, GraphBuilder, read
    >>> g = GraphBuilder()
    >>> f = read(g, y*sin(x) + sin(x))
    >>> graph = Graph.freeze(g, {'f': [f]})
    >>> graph.sympy('f')
    Matrix([[y*sin(x) + sin(x)]])
    >>> graph.evaluate({x: 0, y: 1})['f']
    [[0.0]]
    >>> graph.operation_count()
    3

    Attributes
    ==========

    inputs : tuple
        The SymPy objects that the graph reads, in order of declaration.
    outputs : mapping
        Name -> shape ``(rows, columns)``.
    at_states : callable or None
        See :class:`.GraphBuilder`. Builders that load the graph inherit it.
    lacking : callable or None
        Of the name of an output that there is not: an error with the reason,
        or None.

    """

    time: Symbol
    inputs: tuple
    dynamic: tuple
    nodes: tuple
    templates: tuple
    _refs: dict
    at_states: Callable | None = None
    lacking: Callable | None = None

    def with_states(self, at_states):
        """Return the graph with other states for the choice of pivots."""
        return replace(self, at_states=at_states)

    @classmethod
    def of(cls, matrices, time=Symbol('t')):
        """Read SymPy matrices (name -> Matrix) as the outputs of a graph."""
        for name, matrix in matrices.items():
            if not isinstance(matrix, MatrixBase):
                raise TypeError(
                    f"`matrices` has {matrix!r} for {name!r}, which is not a "
                    "Matrix. Give an expression as a Matrix of one entry.")
        builder = GraphBuilder(time)
        return cls.freeze(builder, {
            name: ([[read(builder, e) for e in matrix[i, :]]
                    for i in range(matrix.rows)], matrix.cols)
            for name, matrix in matrices.items()})

    @classmethod
    def freeze(cls, builder, outputs, compact=(), used=None):
        """Copy what ``outputs`` reach into an immutable graph.

        They map a name to a column, which is a sequence of references, to
        a :class:`.GraphMatrix`, or to ``(rows, columns)``: a list of rows of
        references, and the number of columns. Outputs named in ``compact``
        are written with fewer operations, see :meth:`compacted`; ``used`` is
        what :func:`.used_nodes` returns of them, if it is known.
        """
        outputs = {name: rows_of(x) for name, x in outputs.items()}
        some = {name: outputs[name] for name in compact} or outputs
        order, uses = used or used_nodes(builder.nodes, flat(some))
        if compact:
            nodes, moved = compacted(
                builder.nodes, order, uses, flat(outputs))
            moved = moved.__getitem__
        else:
            nodes, moved = copied(builder.nodes, order)
        kinds = [*map(itemgetter(0), nodes)]
        inputs, templates = (renumbered(nodes, [*compress(
            range(len(nodes)), map(kind.__eq__, kinds))])
            for kind in (INPUT, CALL))
        return cls(
            builder.time, tuple(builder.inputs[p] for p in inputs),
            tuple(bool(builder.dynamic >> p & 1) for p in inputs),
            tuple(nodes), tuple(builder.templates[p] for p in templates),
            mapped(outputs, moved), builder.at_states)

    def compacted(self, names=None):
        """The same graph with fewer operations for some outputs, or all.

        Common factors are taken out of sums, and parts that several sums or
        products share are computed once. Values agree up to rounding.
        """
        nodes, moved = compacted(
            self.nodes, *used_nodes(self.nodes, self._flat(names)),
            self._flat(None))
        return replace(self, nodes=tuple(nodes),
                       _refs=mapped(self._refs, moved.__getitem__))

    def load(self, builder=None, names=None):
        """Rebuild outputs in a builder, a new one by default.

        Returns the builder, and a dictionary: name -> list of rows of
        references.
        """
        if builder is None:
            builder = GraphBuilder(self.time)
        builder.at_states = builder.at_states or self.at_states
        selected = self._selected(names)
        order, _ = used_nodes(self.nodes, flat(selected))
        memo = {0: 0, 1: 1}
        of = signed(memo)
        for k in order:
            kind, x, y = node = self.nodes[k]
            if kind == CONST:
                memo[k] = builder.constant(x, y)
            elif kind == INPUT:
                memo[k] = builder.input(self.inputs[x], self.dynamic[x])
            else:
                memo[k] = rebuilt(builder, node, of, self.templates)
        return builder, {name: [list(map(of, row)) for row in rows]
                         for name, (rows, _) in selected.items()}

    def updated(self, builder, out, **more):
        """Freeze outputs of :meth:`load` with changed rows, and ``more``."""
        return Graph.freeze(builder, {
            **{name: (rows, self.shape(name)[1])
               for name, rows in out.items()}, **more})

    def blocks(self, *names, builder=None):
        """Outputs as a list of :class:`.GraphMatrix` on one builder."""
        builder, out = self.load(builder, names)
        return [GraphMatrix(builder, out[name], self.shape(name)[1])
                for name in names]

    # -- what is in it ---------------------------------------------------

    def __repr__(self):
        sizes = ', '.join(f'{name} {rows}x{columns}' for name, (rows, columns)
                          in self.outputs.items())
        return f'<Graph of {self.operation_count()} operations: {sizes}>'

    @cached_property
    def outputs(self):
        return {name: self.shape(name) for name in self._refs}

    def shape(self, name):
        """Rows and columns of an output."""
        rows, columns = self._selected(name)[name]
        return len(rows), columns

    def _selected(self, names):
        if names is None:
            return self._refs
        names = (names,) if isinstance(names, str) else tuple(names)
        unknown = [name for name in names if name not in self._refs]
        if unknown:
            reason = self.lacking and self.lacking(unknown[0])
            raise reason or KeyError(
                f"The graph has no output {', '.join(map(repr, unknown))}; "
                f"it has {', '.join(self._refs)}. Choose among these.")
        return {name: self._refs[name] for name in names}

    def _flat(self, names):
        return flat(self._selected(names))

    @property
    def has_floats(self):
        """Whether a constant of the model is a float."""
        return any(node[0] == CONST and node[2] is not None
                   for node in self.nodes)

    def pattern(self, name):
        """Rows of booleans: whether an entry is not identically zero."""
        rows, _ = self._selected(name)[name]
        return tuple(tuple(map(bool, row)) for row in rows)

    def operation_count(self, names=None):
        """Number of additions, multiplications and functions; no signs."""
        order, _ = used_nodes(self.nodes, self._flat(names))
        return operation_count(self.nodes, order)

    def symbols(self, names=None):
        """The inputs that occur in these outputs."""
        order, _ = used_nodes(self.nodes, self._flat(names))
        used = sorted(self.nodes[k][1] for k in order
                      if self.nodes[k][0] == INPUT)
        return tuple(self.inputs[p] for p in used)

    # -- SymPy and numbers -----------------------------------------------

    def sympy(self, name):
        """An output as an immutable matrix of ordinary SymPy expressions."""
        rows, columns = self._selected(name)[name]
        return ImmutableDenseMatrix(
            len(rows), columns, nested(self, self._flat(name)))

    def assignments(self, names=None, symbols=None):
        """Outputs (all by default) in terms of assignments of shared parts.

        Returns a list of ``(Symbol, Expr)``, and a dictionary from names to
        matrices. ``symbols`` iterates over the names of the shared parts;
        fresh dummies by default.
        """
        shared, entries = assignments(self, self._flat(names), symbols)
        entries = iter(entries)
        return shared, {
            name: ImmutableDenseMatrix(
                len(rows), columns, [next(entries) for row in rows
                                     for _ in row])
            for name, (rows, columns) in self._selected(names).items()}

    def evaluate(self, values, names=None, context=None, functions=None):
        """Evaluate outputs at numbers: name -> list of rows of numbers.

        ``values`` has a number for every input that occurs; without one a
        :exc:`.MissingIngredientError` is raised. ``names`` are all outputs by
        default. The numbers are floats, or those of an mpmath ``context`` such
        as ``mpmath.mp``. ``functions`` maps undefined functions of SymPy to
        functions that return a SymPy expression, which is used (and
        differentiated) in their place. Outputs without a finite value raise
        ``ZeroDivisionError``.
        """
        of = signed(self._evaluated(values, names, context, functions))
        result = {name: [list(map(of, row)) for row in rows]
                  for name, (rows, _) in self._selected(names).items()}
        for name, rows in result.items():
            if not all(abs(x) < inf for row in rows for x in row):
                raise ZeroDivisionError(
                    f"Output {name!r} has no finite value here: it divides "
                    "by zero, is too large, or is outside of the domain of a "
                    "function. The configuration is singular, or a constant "
                    "is zero that must not be. Give other values.")
        return result

    def largest(self, values, names=None, context=None, functions=None):
        """The largest absolute value of all nodes that outputs use.

        Rounding errors of the outputs are relative to it; see
        :meth:`evaluate`.
        """
        memo = self._evaluated(values, names, context, functions)
        return max(abs(x) for x in memo.values() if x == x)

    def _evaluated(self, values, names, context, functions):
        """Value of every node in use."""
        check_kind('values', values, Mapping,
                   "Give a dictionary: input -> number.")
        order, _ = used_nodes(self.nodes, self._flat(names))
        used = [self.inputs[self.nodes[k][1]] for k in order
                if self.nodes[k][0] == INPUT]
        missing = [str(x) for x in used if x not in values]
        if missing:
            raise MissingIngredientError(
                f"No value was given for {', '.join(missing)}. The "
                "expressions depend on them; add them to the values.",
                symbols=tuple(missing))
        convert = float if context is None else context.convert
        context = context or fp
        memo = {0: convert(0), 1: convert(1)}
        of = signed(memo)

        def input_value(x, _):
            value = values[self.inputs[x]]
            if hasattr(value, '_to_mpmath'):        # a SymPy number
                value = value._to_mpmath(context.prec)
            return convert(value)

        def inverse(x, _):      # a branch not taken may divide by zero
            return 1/of(x) if of(x) else context.nan

        def root(x, degree):
            return context.sqrt(of(x)) if degree == 2 else context.root(
                of(x), degree)

        compute = {
            CONST: lambda x, _: convert(x.numerator)/convert(x.denominator),
            INPUT: input_value, INV: inverse, ROOT: root,
            ADD: lambda x, y: of(x) + of(y), MUL: lambda x, y: of(x)*of(y),
            SIN: lambda x, _: context.sin(of(x)),
            COS: lambda x, _: context.cos(of(x)),
            CALL: lambda x, y: self._call(
                context, x, list(map(of, y)), functions)}
        for k in order:
            kind, x, y = self.nodes[k]
            memo[k] = compute[kind](x, y)
        return memo

    def _call(self, context, index, arguments, functions):
        template = self.templates[index]
        if not template.args:                            # pi, E, ...
            return context.convert(
                template._to_mpmath(context.prec))
        for function in template.atoms(AppliedUndef):
            if functions and function.func in functions:
                template = template.replace(
                    function.func, functions[function.func]).doit()
        try:
            value = numeric(template, len(arguments))(*arguments)
        except (NameError, PrintMethodNotImplementedError) as error:
            names = sorted(f.func.__name__
                           for f in template.atoms(AppliedUndef))
            raise MissingIngredientError(
                f"The function `{', '.join(names) or template.func}` has no "
                "numeric meaning. Replace it by a SymPy function before "
                "evaluation.", functions=tuple(names)) from error
        if value is None:               # no piece applies
            return context.nan
        value = context.convert(value)
        if abs(value.imag) <= 64*context.eps*abs(value):
            return value.real           # rounding of a series
        return value


def signed(memo):
    """The function of a reference that has the values ``memo`` of nodes."""
    return lambda ref: memo[ref] if ref >= 0 else -memo[-ref]


def copied(nodes, order):
    """The nodes of ``order``, 0 and 1, and the map from old references."""
    order = [0, 1] + [k for k in order if k > 1]
    place = positions(order)
    moved = signed(place)
    operands = {
        CONST: lambda x, y: (x, y), INPUT: lambda x, y: (x, y),
        CALL: lambda x, y: (x, tuple(map(moved, y))),
        **dict.fromkeys((INV, ROOT, SIN, COS), lambda x, y: (moved(x), y))}
    return [
        (kind, place[x], place[y] if y > 0 else -place[-y])
        if kind == ADD or kind == MUL           # most nodes, so first
        else (kind, *operands[kind](x, y))
        for kind, x, y in map(nodes.__getitem__, order)], moved


def renumbered(nodes, places):
    """Number what nodes in some places refer to from zero, in its order."""
    new = positions(sorted({nodes[i][1] for i in places}))
    for i in places:
        kind, x, y = nodes[i]
        nodes[i] = kind, new[x], y
    return new


def positions(items):
    return {item: i for i, item in enumerate(items)}


def rows_of(x):
    if isinstance(x, GraphMatrix):
        return x.rows, x.shape[1]
    is_pair = len(x) == 2 and not isinstance(x[0], int)
    return x if is_pair else ([[ref] for ref in x], 1)


def flat(outputs):
    return [r for rows, _ in outputs.values() for row in rows for r in row]


def mapped(outputs, moved):
    return {name: (tuple([tuple(map(moved, row)) for row in rows]), columns)
            for name, (rows, columns) in outputs.items()}


@lru_cache(maxsize=1024)
def numeric(template, count):
    """A template as a function of so many mpmath numbers."""
    (template,), own, missing = own_functions([template])
    if missing:
        raise NameError(*missing)
    return lambdify(SLOTS[:count], template, [own, 'mpmath'])


def output(name, doc):
    """Property that writes an output of ``self.graph`` as a SymPy matrix."""
    def read(self):
        return self.graph.sympy(name)
    read.__doc__ = doc
    return cached_property(read)
