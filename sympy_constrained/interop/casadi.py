"""The equations as functions of casadi."""
from __future__ import annotations

from ..errors import UnsupportedFeatureError
from .exported import OPERATORS, SOLVED, Exported, library

__all__ = ['to_casadi']

# Functions of the same name in casadi.
SAME_NAME = (
    'sin', 'cos', 'tan', 'exp', 'log', 'asin', 'acos', 'atan', 'atan2',
    'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh', 'floor', 'ceil',
    'sqrt', 'fabs', 'erf')


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

    Specified functions without an expression, such as controls, are the last
    argument ``r``, in the order of ``specifieds``.

    ``'residual'`` is the semi-explicit form of index one for casadi's
    integrators ``idas`` and ``collocation``: with
    :math:`z = [\dot x_2; \lambda]`

    .. math::

       \dot x = \mathrm{ode} = [f(x, t); \dot x_2], \qquad
       0 = \mathrm{alg} = W z - r

    and ``constraints`` are the residuals at position and velocity level,
    which vanish on an admissible motion.

    The functions make no checks. At a singular configuration their values
    are not finite; :func:`.compile_equations` explains why. The derivative of
    a ``Piecewise`` does not exist where the branch not taken has none.

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
        A state near the motion; the constants then need values. The
        independent constraint rows and the scale of ``W`` are determined
        there; multipliers of the other rows are zero. A method reports its
        ``independent_rows``, so it can do without; other models with
        multipliers need the state.
    constants, inputs : mapping, optional
        As for :func:`.compile_equations`; ``CompiledEquations`` bring their
        own. Constants are always arguments of the function.
    solver : 'auto', 'ldl', 'qr' or the name of a linear solver of casadi
        ``'ldl'`` (mass matrix and Schur complement) and ``'qr'`` (sparse, any
        regular ``W``) become operations. Another name, such as
        ``'lapacklu'``, remains a call and makes ``rhs`` an ``MX`` function.
        ``'auto'`` is ``'ldl'`` for a positive definite mass matrix, else
        ``'qr'``.

    Returns
    =======

    casadi.Function

    Raises
    ======

    MissingIngredientError
        If casadi is not installed, or the state or constants for choosing
        independent rows are missing.
    UnsupportedFeatureError
        If an expression has no counterpart, or no row can be left out.

    """
    exported = Exported.of(model, t, x, constants, inputs, name in SOLVED)
    return Casadi(exported, solver).function(name)


def functions(ca):
    """Operation -> function of casadi."""
    return {
        **OPERATORS, 'library': 'casadi', 'select': ca.if_else,
        'and': ca.logic_and, 'or': ca.logic_or, 'not': ca.logic_not,
        'true': lambda: ca.SX(1), 'false': lambda: ca.SX(0),
        'pow': ca.power, 'erfc': lambda x: 1 - ca.erf(x),
        **{name: getattr(ca, name) for name in SAME_NAME}}


class Casadi:
    """Functions of casadi for exported equations."""

    def __init__(self, exported, solver):
        self.ca = library('casadi', 'casadi')
        self.exported = exported
        if solver in ('auto', 'ldl'):
            is_possible = exported.ldl_is_possible()
            if solver == 'ldl' and not is_possible:
                raise UnsupportedFeatureError(
                    "solver='ldl' needs a symmetric, positive definite mass "
                    "matrix and constraint forces along the rows of the "
                    "constraints. Use solver='qr'.")
            solver = 'ldl' if is_possible else 'qr'
        self.solver = solver

    def function(self, name):
        ca, e = self.ca, self.exported
        sizes = {'t': 1, 'x': len(e.equations.states),
                 'p': len(e.equations.constants),
                 **({'r': len(e.free)} if e.free else {})}
        arguments = {key: ca.SX.sym(key, n) for key, n in sizes.items()}
        outputs, shapes = e.outputs(name)
        values = outputs(functions(ca), {
            key: ca.vertsplit(symbol) for key, symbol in arguments.items()})
        matrices = {key: self.matrix(values[key], *shapes[key])
                    for key in values}
        if name not in SOLVED:
            return self.made(name, arguments, matrices)
        use = e.use
        W, r = matrices.pop('W')[use, use], matrices.pop('r')[use]
        if name == 'residual':
            return self.residual(arguments, W, r, **matrices)
        return self.solved(name, arguments, W, r, matrices['rates'])

    def matrix(self, values, rows, columns):
        """A sparse matrix of values row by row, without the zeros."""
        result = self.ca.SX(rows, columns)
        for k, value in enumerate(values):
            if not (isinstance(value, float) and value == 0):
                result[divmod(k, columns)] = value
        return result

    def made(self, name, arguments, results):
        return self.ca.Function(
            name, list(arguments.values()), list(results.values()),
            list(arguments), list(results))

    def residual(self, arguments, W, r, rates, holonomic, velocity):
        ca, e = self.ca, self.exported
        z = ca.SX.sym('z', len(e.use))
        return self.made(
            'residual', {'t': arguments.pop('t'), 'x': arguments.pop('x'),
                         'z': z, **arguments}, {
                'ode': ca.vertcat(rates, z[:e.motion]), 'alg': W@z - r,
                'constraints': ca.vertcat(holonomic, velocity)})

    def solved(self, name, arguments, W, r, rates):
        """Rates or multipliers from ``W z = r``."""
        ca, e = self.ca, self.exported
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
        spread = ca.DM(len(e.equations.multipliers), len(e.rows))
        for j, i in enumerate(e.rows):
            spread[i, j] = 1
        return self.made('multipliers', arguments, {
            'multipliers': spread@z[e.motion:]})

    def solution(self, W, r):
        """``z`` by the solver; rows and columns are scaled."""
        ca, e = self.ca, self.exported
        if self.solver == 'ldl':
            return self.by_ldl(W, r)
        rows, columns = map(ca.DM, e.scales or [[1.]*len(e.use)]*2)
        W, r = ca.diag(rows)@W@ca.diag(columns), rows*r
        if self.solver == 'qr':
            return columns*ca.qr_solve(r, *ca.qr_sparse(W))
        return columns*ca.solve(W, r, self.solver)

    def by_ldl(self, W, r):
        """By the Schur complement of the mass matrix."""
        ca, n = self.ca, self.exported.motion
        M, A = W[:n, :n], W[n:, :n]
        mass = ca.ldl(M)
        a = ca.ldl_solve(r[:n], *mass)
        if not A.shape[0]:
            return a
        X = ca.ldl_solve(A.T, *mass)
        lam = ca.ldl_solve(r[n:] - A@a, *ca.ldl(A@X))
        return ca.vertcat(a + X@lam, lam)
