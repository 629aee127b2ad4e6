"""The equations as functions of casadi and of JAX.

The operations of a ``Program`` are done once with the symbols of the
other library, and ``W z = r`` is left to a solver of that library. No tree of
SymPy is made on the way. Neither library is imported before it is asked for.
"""
from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module

import numpy as np
from sympy import Derivative, Symbol

from ..errors import MissingIngredientError, UnsupportedFeatureError
from ..graph.linalg import ldl_factor
from ..model.equations import EquationsOfMotion
from .codegen.instructions import program
from .codegen.native import slots, with_given
from .codegen.solution import blocks
from .compiled import CompiledEquations, compile_equations
from .inputs import Inputs
from .names import Names

__all__ = ['to_casadi', 'to_jax']

# Pivots of the mass matrix, beside its diagonal, for LDL^T.
PIVOT = 1e-10
# What needs the independent rows.
SOLVED = 'rhs', 'multipliers', 'residual'
OPERATORS = {
    'add': operator.add, 'sub': operator.sub, 'mul': operator.mul,
    'div': operator.truediv, 'neg': operator.neg, 'lt': operator.lt,
    'le': operator.le, 'gt': operator.gt, 'ge': operator.ge,
    'eq': operator.eq, 'ne': operator.ne}


def to_casadi(model, name='rhs', t=0., x=None, *, constants=None,
              inputs=None, solver='auto'):
    r"""Return the equations as a ``casadi.Function``.

    Explanation
    ===========

    The function takes column vectors in the order of ``states`` and
    ``constants``, by position or by name:

    ==================  =====================  ==============================
    ``name``            arguments              results
    ==================  =====================  ==============================
    ``'rhs'``           ``t, x, p``            ``rates`` of all states
    ``'multipliers'``   ``t, x, p``            ``multipliers``
    ``'residual'``      ``t, x, z, p``         ``ode, alg, constraints``
    any output          ``t, x, p``            the output of
                                               ``equations.graph``
    ==================  =====================  ==============================

    Specified functions whose expression is not known are values in a last
    argument ``r``, in the order of ``specifieds``: controls of an optimal
    control problem, for instance.

    ``'residual'`` is the semi-explicit form of index one that the integrators
    ``idas`` and ``collocation`` of casadi take: with
    :math:`z = [\dot x_2; \lambda]`

    .. math::

       \dot x = \mathrm{ode} = [f(x, t); \dot x_2], \qquad
       0 = \mathrm{alg} = W z - r

    and ``constraints`` are the residuals at position and velocity level,
    which vanish on an admissible motion.

    A function of casadi makes no checks. At a singular configuration it has
    no finite value, and nobody says why: ask :func:`.compile_equations`
    there. The derivative of a ``Piecewise`` does not exist where the branch
    that is not taken has none.

    Examples
    ========

    ::

        f = to_casadi(method)
        f.name_in()                         # ['t', 'x', 'p']
        slope = f.jacobian()                # by casadi

    Parameters
    ==========

    model : a method, EquationsOfMotion or CompiledEquations
    name : str
    t, x : float, sequence, optional
        A state near the motion, for which the constants need values. The
        independent constraint rows are chosen there, and the scale of the
        rows and columns of ``W``; multipliers of the other rows are zero.
        Without it a method tells its ``independent_rows``; anything else
        that has multipliers needs it.
    constants, inputs : mapping, optional
        As for :func:`.compile_equations`; those of a ``CompiledEquations``
        are known. Constants are always arguments of the function.
    solver : 'auto', 'ldl', 'qr' or the name of a linear solver of casadi
        ``'ldl'``, of the mass matrix and its Schur complement, and ``'qr'``,
        sparse and for any regular ``W``, are written out as operations. A
        name such as ``'lapacklu'`` stays a call, which ``rhs`` pays for with
        an ``MX`` function. ``'auto'`` is ``'ldl'`` where the mass matrix is
        positive definite, else ``'qr'``.

    Returns
    =======

    casadi.Function

    Raises
    ======

    MissingIngredientError
        If casadi is not installed, or if the state or constants are missing
        that tell which rows are independent.
    UnsupportedFeatureError
        If an expression has no counterpart, or no row can be left out.

    """
    return Casadi(Exported.of(model, t, x, constants, inputs, name in SOLVED),
                  solver).function(name)


def to_jax(model, name='rhs', t=0., x=None, *, constants=None, inputs=None):
    """Return the equations as a function of JAX.

    Explanation
    ===========

    ``f(t, x, p=None, r=None)`` for ``'rhs'``, ``'multipliers'`` and every
    output of the graph, ``f(t, x, z, p=None, r=None)`` for ``'residual'``:
    the table is that of :func:`to_casadi`. ``p`` may be left out if the
    constants have been given. The function is for one state and compiled by
    ``jax.jit``; ``jax.vmap`` makes a batch of it, ``jax.jacfwd`` and
    ``jax.grad`` differentiate it, also by ``p``.

    ``W z = r`` is solved by ``jax.numpy.linalg.solve``. As with casadi there
    are no checks.

    JAX must calculate with 64 bits, or six digits are all there is. That is a
    setting of the whole process, and made by the user.

    Examples
    ========

    ::

        jax.config.update('jax_enable_x64', True)
        f = to_jax(compiled)
        slope = jax.jacfwd(f, 1)(0., x)
        many = jax.vmap(f, (None, 0))(0., states)

    Parameters
    ==========

    model, name, t, x, constants, inputs
        As for :func:`to_casadi`. ``constants`` are the default of ``p``.

    Returns
    =======

    function

    Raises
    ======

    MissingIngredientError
        If JAX is not installed, or calculates with 32 bits.
    UnsupportedFeatureError
        See :func:`to_casadi`.

    """
    return Jax(Exported.of(model, t, x, constants, inputs, name in SOLVED)
               ).function(name)


# -- what is exported -----------------------------------------------------

@dataclass(frozen=True)
class Exported:
    """Equations with known inputs and chosen rows.

    Attributes
    ==========

    equations : EquationsOfMotion
    given : dict
        Specified function -> expression.
    free : tuple
        The other ones.
    p : ndarray or None
        Default values of the constants.
    use : list of int
        Independent rows of ``W``, which are also the columns.
    scales : pair of arrays or None
        Factors of these rows and columns, powers of two.
    mass_is_definite : bool or None
        Whether the block ``M`` is positive definite, None if it is not known.

    """

    equations: EquationsOfMotion
    given: dict
    free: tuple
    p: np.ndarray | None
    use: list
    scales: tuple | None = None
    mass_is_definite: bool | None = None

    @classmethod
    def of(cls, model, t, x, constants, inputs, solved=True):
        """What a user gave; ``solved`` is whether rows must be chosen."""
        if isinstance(model, CompiledEquations):
            compiled = model.with_values(constants, inputs)
            equations, given = compiled.equations, compiled.inputs.given
        else:
            compiled = None
            equations = model if isinstance(model, EquationsOfMotion) else (
                EquationsOfMotion.from_method(model))
            given = known_inputs(equations, inputs)
        free = tuple(f for f in equations.specifieds if f not in given)
        if compiled is None and (constants is not None or x is not None):
            compiled = compile_equations(
                equations, constants, {**given, **dict.fromkeys(free, 0)},
                'numpy')
        found = cls(equations, given, free, compiled and compiled.p,
                    list(range(len(equations.unknowns))))
        if x is not None:
            return found.at(compiled, t, x)
        if not equations.multipliers or not solved:
            return found
        rows = getattr(model, 'independent_rows', None)
        if rows is None:
            raise MissingIngredientError(
                "Which constraint rows are independent is judged at a state "
                "near the motion. Pass one as `x`, or pass the method "
                "instead of its equations.")
        return replace(
            found, mass_is_definite=getattr(model, 'mass_is_definite', None),
            use=[*range(found.motion), *(found.motion + k for k in rows)])

    def at(self, compiled, t, x):
        """With what a state tells."""
        x = compiled.names.vector(x, 'x')
        solver, use = compiled.linear_solver(t, x), self.use
        if solver.kept is not None:
            use = [int(i) for i in solver.kept[0]]
            if solver.contradiction != 'error' or (
                    use[:self.motion] != self.use[:self.motion]):
                raise UnsupportedFeatureError(
                    "No row can be left out of these equations, though they "
                    "have not full rank: it is not constraint rows that are "
                    "redundant, or contradicting rows are met in the sense "
                    "of least squares. Leave the redundant rows out of the "
                    "model.")
        mass = compiled.matrices(t, x)[0][:self.motion, :self.motion]
        return replace(
            self, use=use, mass_is_definite=is_positive(mass),
            scales=(solver.row_scale[use], solver.column_scale[use]))

    @property
    def motion(self):
        """Number of accelerations among the unknowns."""
        return len(self.equations.unknowns) - len(self.equations.multipliers)

    @property
    def multipliers(self):
        """Those of the rows in use."""
        return tuple(self.equations.multipliers[i - self.motion]
                     for i in self.use[self.motion:])

    @cached_property
    def arguments(self):
        """SymPy input -> letter and position."""
        arguments = {self.equations.t: Symbol('t')}
        for letter, items in (('x', self.equations.states),
                              ('p', self.equations.constants),
                              ('r', self.free)):
            for i, item in enumerate(items):
                arguments[item] = Symbol(f'{letter}{i}')
        return slots(arguments)

    def program(self, names):
        """The operations of some outputs, and their shapes."""
        graph = with_given(self.equations.graph, names, self.given)
        return (program(graph, names, self.arguments),
                [graph.outputs[name] for name in names])

    def names_of(self, name):
        """The outputs that a function is made of."""
        if name == 'residual':
            return 'rates', 'W', 'r', 'holonomic', 'velocity'
        if name in ('rhs', 'multipliers'):
            return 'rates', 'W', 'r'
        if name not in self.equations.graph.outputs:
            raise ValueError(
                f"`name` is {name!r}. Choose 'rhs', 'multipliers', "
                "'residual', or one of the outputs "
                f"{', '.join(self.equations.graph.outputs)}.")
        return name,

    def ldl_is_possible(self):
        """Whether LDL^T of the mass matrix and Schur's complement is.

        A pivot that is zero for all states is found here.
        """
        if not self.mass_is_definite:
            return False
        g, out = self.equations.graph.load(None, ('W',))
        W = [[out['W'][i][j] for j in self.use] for i in self.use]
        found = blocks(W, self.motion)
        return found is not None and ldl_factor(g, found[0]) is not None


def known_inputs(equations, inputs):
    """Specified function -> expression, for those that are known."""
    if not inputs:
        return {}
    wanted = Names(dict.fromkeys(
        f for item in equations.specifieds
        for f in (item, function_of(item))), 'specified function')
    items = equations.specifieds
    try:
        named = {function_of(wanted.objects[wanted.index(key)])
                 for key in inputs}
    except KeyError:
        pass                            # `match` tells all that is wrong
    else:
        items = [f for f in items if function_of(f) in named]
    return Inputs.match(items, inputs, equations.t, equations.constants).given


def function_of(item):
    return item.expr if isinstance(item, Derivative) else item


def is_positive(matrix):
    """Whether a symmetric matrix is positive definite, by its pivots."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    if not (size > 0).all():
        return not len(size)
    try:
        factor = np.linalg.cholesky(matrix/np.outer(size, size))
    except np.linalg.LinAlgError:
        return False
    return bool((np.diag(factor)**2 > PIVOT).all())


def walk(operations, table, inputs):
    """Values of all operations, with the functions of a library.

    Parameters
    ==========

    operations : list of tuple
        See ``numeric.program``.
    table : dict
        Name of an operation or of a function -> Python function.
    inputs : dict
        Letter -> sequence of values; ``'t'`` has one.

    """
    values = []
    for name, *operands in operations:
        if name == 'const':
            values.append(operands[0])
            continue
        if name == 'input':
            letter, position = operands
            values.append(inputs[letter][position])
            continue
        if name == 'call':
            name, *operands = operands
        function = table.get(name)
        if function is None:
            raise UnsupportedFeatureError(
                f"The operation `{name}` has no counterpart in "
                f"{table['library']}. Write it with elementary functions.",
                functions=(name,))
        values.append(function(*(values[k] for k in operands)))
    return values


def library(name, extra):
    """A module that the user must have installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingIngredientError(
            f"{extra} is not installed. Install it (the extra `interop`), or "
            "use `native_function` of `compile_equations`.") from error


# -- casadi ---------------------------------------------------------------

class Casadi:
    """Functions of casadi for exported equations."""

    def __init__(self, exported, solver):
        self.ca = library('casadi', 'casadi')
        self.exported = exported
        if solver == 'auto':
            solver = 'ldl' if exported.ldl_is_possible() else 'qr'
        elif solver == 'ldl' and not exported.ldl_is_possible():
            raise UnsupportedFeatureError(
                "solver='ldl' needs a symmetric, positive definite mass "
                "matrix and constraint forces along the rows of the "
                "constraints. Use solver='qr'.")
        self.solver = solver

    @cached_property
    def table(self):
        ca = self.ca
        return {
            **OPERATORS, 'library': 'casadi', 'sqrt': ca.sqrt,
            'and': ca.logic_and, 'or': ca.logic_or, 'not': ca.logic_not,
            'true': lambda: ca.SX(1), 'false': lambda: ca.SX(0),
            'select': ca.if_else, 'pow': ca.power, 'fabs': ca.fabs,
            'erfc': lambda x: 1 - ca.erf(x),
            **{name: getattr(ca, name) for name in (
                'sin', 'cos', 'tan', 'exp', 'log', 'asin', 'acos', 'atan',
                'atan2', 'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh',
                'floor', 'ceil', 'erf')}}

    def function(self, name):
        ca, e = self.ca, self.exported
        names = e.names_of(name)
        t, x, p, r = (ca.SX.sym(letter, size) for letter, size in (
            ('t', 1), ('x', len(e.equations.states)),
            ('p', len(e.equations.constants)), ('r', len(e.free))))
        arguments = {'t': t, 'x': x, 'p': p, **({'r': r} if e.free else {})}
        code, shapes = e.program(names)
        values = walk(code.operations, self.table, {
            't': [t], 'x': ca.vertsplit(x), 'p': ca.vertsplit(p),
            'r': ca.vertsplit(r)})
        flat, found = iter(code.outputs), {}
        for key, (rows, columns) in zip(names, shapes):
            found[key] = self.matrix(
                [[values[next(flat)] for _ in range(columns)]
                 for _ in range(rows)], rows, columns)
        if name not in SOLVED:
            return self.made(name, arguments, found)
        if name == 'residual':
            return self.residual(arguments, found)
        return self.solved(name, arguments, found)

    def matrix(self, entries, rows, columns):
        """A matrix that has no entries where there are zeros."""
        result = self.ca.SX(rows, columns)
        for i, row in enumerate(entries):
            for j, value in enumerate(row):
                if not (isinstance(value, float) and value == 0):
                    result[i, j] = value
        return result

    def made(self, name, arguments, results):
        return self.ca.Function(
            name, list(arguments.values()), list(results.values()),
            list(arguments), list(results))

    def chosen(self, found):
        """``W`` and ``r`` with the rows in use."""
        use = self.exported.use
        return found['W'][use, use], found['r'][use]

    def residual(self, arguments, found):
        ca, e = self.ca, self.exported
        z = ca.SX.sym('z', len(e.use))
        W, r = self.chosen(found)
        return self.made(
            'residual', {'t': arguments.pop('t'), 'x': arguments.pop('x'),
                         'z': z, **arguments}, {
                'ode': ca.vertcat(found['rates'], z[:e.motion]),
                'alg': W@z - r, 'constraints': ca.vertcat(
                    found['holonomic'], found['velocity'])})

    def solved(self, name, arguments, found):
        """Rates or multipliers from ``W z = r``."""
        ca, e = self.ca, self.exported
        W, r = self.chosen(found)
        rates = found['rates']
        if self.solver not in ('ldl', 'qr'):    # no operations: MX
            inner = self.made('matrices', arguments, {
                'rates': rates, 'W': W, 'r': r})
            arguments = {key: ca.MX.sym(key, *value.shape)
                         for key, value in arguments.items()}
            rates, W, r = inner(*arguments.values())
        z = self.solution(W, r)
        if name == 'rhs':
            return self.made('rhs', arguments, {
                'rates': ca.vertcat(rates, z[:e.motion])})
        places = [i - e.motion for i in e.use[e.motion:]]
        spread = ca.DM(len(e.equations.multipliers), len(places))
        for j, i in enumerate(places):
            spread[i, j] = 1
        return self.made('multipliers', arguments, {
            'multipliers': spread@z[e.motion:]})

    def solution(self, W, r):
        """``z`` by the solver; rows and columns are scaled."""
        ca, e = self.ca, self.exported
        if self.solver == 'ldl':
            return self.by_ldl(W, r)
        rows, columns = (map(ca.DM, e.scales) if e.scales else
                         [ca.DM.ones(len(e.use))]*2)
        W, r = ca.diag(rows)@W@ca.diag(columns), rows*r
        if self.solver == 'qr':
            return columns*ca.qr_solve(r, *ca.qr_sparse(W))
        return columns*ca.solve(W, r, self.solver)

    def by_ldl(self, W, r):
        """By Schur's complement of the mass matrix."""
        ca, n = self.ca, self.exported.motion
        M, A = W[:n, :n], W[n:, :n]
        mass = ca.ldl(M)
        a = ca.ldl_solve(r[:n], *mass)
        if not A.shape[0]:
            return a
        X = ca.ldl_solve(A.T, *mass)
        lam = ca.ldl_solve(r[n:] - A@a, *ca.ldl(A@X))
        return ca.vertcat(a + X@lam, lam)


# -- JAX ------------------------------------------------------------------

class Jax:
    """Functions of JAX for exported equations."""

    def __init__(self, exported):
        self.jax = library('jax', 'JAX')
        self.np = import_module('jax.numpy')
        self.exported = exported
        if self.np.zeros(1, dtype=float).dtype != np.float64:
            raise MissingIngredientError(
                "JAX calculates with 32 bits, which is too few for equations "
                "of motion. Call `jax.config.update('jax_enable_x64', True)` "
                "before anything else is done with JAX.")

    @cached_property
    def table(self):
        j, special = self.np, import_module('jax.scipy.special')
        return {
            **OPERATORS, 'library': 'JAX', 'sqrt': j.sqrt,
            'and': j.logical_and, 'or': j.logical_or, 'not': j.logical_not,
            'true': lambda: True, 'false': lambda: False, 'select': j.where,
            'pow': j.power, 'fabs': j.abs, 'asin': j.arcsin,
            'acos': j.arccos, 'atan': j.arctan, 'atan2': j.arctan2,
            'asinh': j.arcsinh, 'acosh': j.arccosh, 'atanh': j.arctanh,
            'erf': special.erf, 'erfc': special.erfc,
            **{name: getattr(j, name) for name in (
                'sin', 'cos', 'tan', 'exp', 'log', 'sinh', 'cosh', 'tanh',
                'floor', 'ceil')}}

    def function(self, name):
        outputs = self.outputs(self.exported.names_of(name))
        solved = getattr(self, name, None) if name in (
            'rhs', 'multipliers') else None
        if name == 'residual':
            def function(t, x, z, p=None, r=None):
                return self.residual(outputs(t, x, p, r), z)
        else:
            def function(t, x, p=None, r=None):
                found = outputs(t, x, p, r)
                return found[name] if solved is None else solved(found)
        function.__name__ = name
        return self.jax.jit(function)

    def outputs(self, names):
        """Function of ``(t, x, p, r)`` to name -> array."""
        e, j = self.exported, self.np
        code, shapes = e.program(names)
        table = self.table

        def vector(values, what, items, default=None):
            if values is None:
                values = default
            if values is None and items:
                raise MissingIngredientError(
                    f"No values for `{what}` ({', '.join(map(str, items))})."
                    " Pass them to the function"
                    f"{', or `constants` to `to_jax`' if what == 'p' else ''}"
                    ".")
            values = j.asarray([] if values is None else values, dtype=float)
            if values.shape != (len(items),):
                raise ValueError(
                    f"`{what}` has shape {values.shape}; it must be "
                    f"({len(items)},). Use `jax.vmap` for a batch.")
            return values

        def outputs(t, x, p, r):
            t = j.asarray(t, dtype=float)
            x = vector(x, 'x', e.equations.states)
            values = walk(code.operations, table, {
                't': [t], 'x': x,
                'p': vector(p, 'p', e.equations.constants, e.p),
                'r': vector(r, 'r', e.free)})
            flat, found = iter(code.outputs), {}
            for key, shape in zip(names, shapes):
                entries = [j.asarray(values[next(flat)], dtype=float)
                           for _ in range(shape[0]*shape[1])]
                found[key] = (j.stack(entries) if entries else j.zeros(
                    0)).reshape(shape)
            return found

        return outputs

    def solution(self, found):
        """``z`` of the rows in use."""
        e, j = self.exported, self.np
        use = np.array(e.use, dtype=int)
        rows, columns = e.scales or (np.ones(len(use)),)*2
        W = found['W'][use[:, None], use]*np.outer(rows, columns)
        return columns*j.linalg.solve(W, rows*found['r'][use, 0])

    def rhs(self, found):
        return self.np.concatenate([
            found['rates'][:, 0], self.solution(found)[:self.exported.motion]])

    def multipliers(self, found):
        e = self.exported
        places = np.array(e.use[e.motion:], dtype=int) - e.motion
        return self.np.zeros(len(e.equations.multipliers)).at[places].set(
            self.solution(found)[e.motion:])

    def residual(self, found, z):
        e, j = self.exported, self.np
        z, use = j.asarray(z, dtype=float), np.array(e.use, dtype=int)
        return (j.concatenate([found['rates'][:, 0], z[:e.motion]]),
                found['W'][use[:, None], use]@z - found['r'][use, 0],
                j.concatenate([found[name][:, 0] for name in (
                    'holonomic', 'velocity')]))
