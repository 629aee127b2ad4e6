"""The equations of motion as a value: ``W z = r``."""
from dataclasses import dataclass
from functools import cached_property

from sympy import Dummy, ImmutableDenseMatrix

from ..errors import UnsupportedFeatureError
from ..graph import Graph, GraphMatrix, derivative, is_function_of, read
from ..graph.graph import output
from .build import kinematics_of, system_of
from .constraints import not_implied

OUTPUTS = ('rates', 'W', 'r', 'holonomic', 'velocity', 'holonomic_jacobian',
           'velocity_jacobian', 'M', 'Q', 'A', 'b', 'energy', 'power')

UNSTATED = (
    "The equations of KanesMethod do not contain {}, whose rate does not "
    "follow everywhere from the velocity constraints. The motion may leave "
    "this constraint. Add the rate to `velocity_constraints`, or use "
    "`UdwadiaKalabaMethod.from_method(method)`.")


@dataclass(frozen=True, eq=False, repr=False)
class EquationsOfMotion:
    r"""Equations of motion, from a method to the numeric layer.

    Explanation
    ===========

    The states ``x`` are two groups: the rates of the first are explicit, the
    rates ``x2'`` of the others are solved for, together with multipliers:

    .. math::

       \dot x_1 = f(x, t), \qquad
       W(x, t, p)\begin{bmatrix}\dot x_2\\ \lambda\end{bmatrix} = r(x, t, p)

    ``W`` is never inverted symbolically. Where constraint rows are redundant
    ``W`` is singular, ``x2'`` is unique all the same, and of the multipliers
    the numeric layer takes those of least norm.

    ======================  ================  ============================
    output of ``graph``     shape             meaning
    ======================  ================  ============================
    ``rates``               (k, 1)            rates of ``states[:k]``
    ``W``, ``r``            (s, s), (s, 1)    ``s = len(unknowns)``
    ``energy``, ``power``   (1, 1)            ``E``, rate by known forces
    ``upper``               (mu, 1)           residuals of ``upper`` states
    ``upper_jacobian``      (mu, nu)          derivative by them
    ======================  ================  ============================

    ``holonomic``, ``velocity``, their Jacobians, ``M``, ``Q``, ``A`` and ``b``
    are those of :class:`.ConstrainedSystem`. Methods may add outputs, such as
    ``C``, the non-ideal part of ``r``.
    ``power`` has no row if parts of the system move by prescription, because
    the power of their drives is not known. The last two exist if
    accelerations or multipliers are states that obey relations.

    Attributes
    ==========

    graph : Graph
    q, u : tuple
        Coordinates (n) and speeds (o).
    states : tuple
    unknowns : tuple
        ``Derivative`` of the states of the second group, then multipliers.
    multipliers : tuple
        Symbols at the tail of ``unknowns``.
    constraint_names : tuple of str
        A label for each constraint row, holonomic ones first.
    upper : tuple
        States that the residuals ``upper`` determine, beyond ``q`` and ``u``.
    upper_names : tuple of str
        A label for each of these residuals.
    inconsistent : 'error' or 'least-squares'
        How contradicting redundant rows are treated.
    when_singular, when_incomplete : str
        Added to the message if ``W`` is singular at a state, or if initial
        values are missing.
    is_stabilized : bool
        Whether ``b`` has terms that pull states back to the constraints.
    symbols : tuple
        Constants of the model; values of those that dropped out of the
        equations are accepted and not used.
    warning : str
        Shown to the user before numbers are computed from these equations.
    copies : int
        Number of equal diagonal blocks of a lower block triangular ``W``: 1,
        but more in variational equations.

    """

    graph: Graph
    q: tuple
    u: tuple
    states: tuple
    unknowns: tuple
    multipliers: tuple
    constraint_names: tuple
    inconsistent: str = 'error'
    when_singular: str = ''
    when_incomplete: str = ''
    upper: tuple = ()
    upper_names: tuple = ()
    is_stabilized: bool = False
    warning: str = ''
    symbols: tuple = ()
    copies: int = 1

    def __post_init__(self):
        missing = [name for name in OUTPUTS if name not in self.graph.outputs]
        if missing:
            raise TypeError(
                f"The graph of the equations has no {', '.join(missing)}. "
                "EquationsOfMotion needs these outputs; make them with "
                "`from_speeds`, or add them to the graph.")
        size = len(self.unknowns)
        for name, shape in ('W', (size, size)), ('r', (size, 1)):
            if self.graph.outputs[name] != shape:
                raise TypeError(
                    f"`{name}` has shape {self.graph.outputs[name]} for "
                    f"{size} unknowns, and needs {shape}. Give one equation "
                    "for each rate and multiplier; rows that may be "
                    "redundant need a multiplier each, or leave them out by "
                    "`independent_rows`. Pass symbols of multipliers, as "
                    "`self.lam_vec`, as `multipliers`.")
        # Pivots of the numeric layer are chosen and checked at each state.
        object.__setattr__(self, 'graph', self.graph.with_states(None))

    @classmethod
    def from_speeds(cls, system, W, r, multipliers=(), **fields):
        """Return ``W*[u'; multipliers] = r`` for the speeds of a system.

        ``W``, of shape (s, s), and ``r`` are GraphMatrix objects.
        ``multipliers`` are the ``s - o`` symbols of the unknowns beyond
        ``u'``, ``fields`` other attributes of the class. The outputs of the
        system become outputs here.
        """
        for name, matrix in ('W', W), ('r', r):
            if not isinstance(matrix, GraphMatrix):
                raise TypeError(
                    f"`{name}` is of the type {type(matrix).__name__}. Make "
                    "it of the GraphMatrix objects of `system.blocks(...)`.")
        builder, lam = W.builder, tuple(multipliers)
        _, out = system.graph.load(builder)
        out['rates'] = out['rates'] + out['mass_rates']
        graph = system.graph.updated(builder, out, W=W, r=r)
        return cls(
            graph, system.q, system.u, system.q + system.masses + system.u,
            tuple(derivative(x, system.t) for x in system.u) + lam, lam,
            system.constraint_names,
            is_stabilized=system.stabilization is not None, **fields)

    @property
    def t(self):
        """The symbol of time."""
        return self.graph.time

    @cached_property
    def _inputs(self):
        known = {*self.states, self.t}
        return [x for x in self.graph.inputs if x not in known]

    @property
    def constants(self):
        """Symbols, units, ``m[1]``: one value for a whole motion each."""
        return tuple(x for x in self._inputs if not is_function_of(x, self.t))

    @property
    def specifieds(self):
        """Functions of time, and derivatives of them, to be supplied."""
        return tuple(x for x in self._inputs if is_function_of(x, self.t))

    def copy_of(self, row):
        """The number of the diagonal block of a row of ``W``, and its place
        in it: a number for accelerations, a tuple for constraints.
        """
        constraints = len(self.multipliers)//self.copies
        motion = len(self.unknowns)//self.copies - constraints
        if row < motion*self.copies:
            return divmod(row, motion)
        copy, place = divmod(row - motion*self.copies, constraints)
        return copy, (place,)

    @cached_property
    def blocks(self):
        """Positions of the rows of each of the equal diagonal blocks."""
        found = tuple([] for _ in range(self.copies))
        for i in range(len(self.unknowns)):
            found[self.copy_of(i)[0]].append(i)
        return found

    @cached_property
    def first_block(self):
        """The graph whose ``W`` is the first of the equal diagonal blocks, and
        ``r`` its right side.
        """
        if self.copies == 1:
            return self.graph
        g, out = self.graph.load(None, ('W', 'r'))
        W, r = ([out[name][i] for i in self.blocks[0]] for name in 'Wr')
        return Graph.freeze(g, {
            'W': ([[row[j] for j in self.blocks[0]] for row in W], len(W)),
            'r': (r, 1)})

    @cached_property
    def constraint_rows(self):
        """Number of a row of ``A*u' = b`` -> number of this row in ``W``, if
        any.
        """
        unknowns = {x: j for j, x in enumerate(self.unknowns)}
        columns = [unknowns.get(derivative(x, self.t)) for x in self.u]
        if None in columns:
            return {}
        _, out = self.graph.load(None, ('W', 'r', 'A', 'b'))
        where = {}
        for i, (row, [right]) in enumerate(zip(out['W'], out['r'])):
            where.setdefault((tuple(row), right), []).append(i)
        numbers = {}
        for k, (row, [right]) in enumerate(zip(out['A'], out['b'])):
            full = dict(zip(columns, row))
            key = tuple(full.get(j, 0) for j in range(len(unknowns))), right
            if key in where:            # equal rows one after the other
                same = where[key]
                numbers[k] = same.pop(0) if len(same) > 1 else same[0]
        return numbers

    @cached_property
    def labels(self):
        """Names of the rows of ``W`` and of its unknowns."""
        rows = len(self.unknowns) - len(self.u)
        return ([f'dynamic equation {i}' for i in range(len(self.u))]
                + [*self.constraint_names[:rows]],
                [str(x) for x in self.unknowns])

    W = output('W', "Coefficient matrix of the unknowns, shape (s, s).")
    r = output('r', "Right side, shape (s, 1).")

    @cached_property
    def residual(self):
        """``[x1' - f; W*z - r]``, zero along a motion, (k + s, 1).

        The implicit form for collocation and index-1 solvers, in the states,
        their derivatives and the multipliers.
        """
        g, out = self.graph.load(None, ('rates', 'W', 'r'))
        z = [g.input(x, dynamic=True) for x in self.unknowns]
        rows = [g.sub(g.input(derivative(x, self.t), dynamic=True), rate)
                for x, (rate,) in zip(self.states, out['rates'])]
        rows += [g.sub(g.dot(row, z), right)
                 for row, (right,) in zip(out['W'], out['r'])]
        return Graph.freeze(g, {'x': rows}).sympy('x')

    @property
    def z(self):
        """Column of the unknowns, shape (s, 1)."""
        return ImmutableDenseMatrix(self.unknowns)

    def __repr__(self):
        return (f'<EquationsOfMotion: {len(self.states)} states, '
                f'{len(self.multipliers)} multipliers, '
                f'{self.graph.operation_count(("rates", "W", "r"))} '
                'operations>')

    @classmethod
    def from_method(cls, method):
        """Equations of a ``KanesMethod`` or ``LagrangesMethod`` object.

        SymPy's own equations in our form, to be integrated and compared
        with the same tools. ``W`` and ``r`` are those that the method has
        formed; the other outputs are those of a ConstrainedSystem of the
        same model.

        Examples
        ========

        >>> from sympy import symbols
        >>> from sympy.physics.mechanics import (
        ...     LagrangesMethod, dynamicsymbols)
        >>> from sympy_constrained import EquationsOfMotion
        >>> m, k = symbols('m k')
        >>> q = dynamicsymbols('q')
        >>> method = LagrangesMethod(
        ...     m*q.diff()**2/2 - k*q**2/2, [q])
        >>> _ = method.form_lagranges_equations()
        >>> EquationsOfMotion.from_method(method).r
        Matrix([[-k*q(t)]])

        """
        own = 'equations_of_motion' in dir(method) and (
            method.equations_of_motion)     # not by `getattr`: errors pass
        if isinstance(own, cls):
            return own
        full, right = parts_of(method)
        system = system_of(method)
        n, o, _ = system.counts
        builder = kinematics_of(system).builder

        def references(matrix):
            return GraphMatrix(builder, [
                [read(builder, e) for e in row] for row in matrix.tolist()],
                matrix.shape[1])

        W, r = references(full[n:, n:]), references(right[n:, :])
        lam = tuple(Dummy(f'lam{i + 1}') for i in range(W.shape[0] - o))
        missing = [] if lam else unstated_rows(builder, system)
        names = ', '.join(system.constraint_names[k] for k in missing)
        return cls.from_speeds(
            system.without_rows(missing) if missing else system, W, r, lam,
            symbols=system.symbols,
            warning=UNSTATED.format(names) if missing else '')


def unstated_rows(builder, system):
    """Numbers of holonomic rows whose rates KanesMethod does not contain."""
    _, out = system.graph.load(builder, ('velocity_jacobian',))
    added = [k for k, place in enumerate(system.places)
             if place < 0 and k < len(system.holonomic_rows)]
    return [*not_implied(builder, out['velocity_jacobian'], added)]


def parts_of(method):
    """The full mass matrix and forcing of a method."""
    try:
        return method.mass_matrix_full, method.forcing_full
    except AttributeError as error:
        raise UnsupportedFeatureError(
            f"{method!r} has no `mass_matrix_full` and `forcing_full`. "
            "Equations are read from KanesMethod, LagrangesMethod, or a "
            "method of this package; give an object of one of these, for a "
            "System `UdwadiaKalabaMethod.from_method(system)`, for a ready "
            "model `model.form(UdwadiaKalabaMethod)`.") from error
