"""The equations as functions of casadi."""
from ..errors import UnsupportedFeatureError
from ..model.call_signatures import check_choice
from ..numeric.codegen.walk import functions_of, library
from .exported import SOLVED, Exported


def to_casadi(model, name='rhs', t=0., x=None, *, constants=None,
              inputs=None, solver='auto'):
    r"""Return the equations as a ``casadi.Function``.

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
    :math:`z = [\dot x_2; \lambda]`, ``ode`` is :math:`[f(x, t); \dot x_2]`
    and ``alg`` :math:`W z - r = 0`. ``constraints`` are the residuals at
    position and velocity level.

    The functions make no checks: at a singular configuration their values
    are not finite. The derivative of a ``Piecewise`` does not exist where the
    branch not taken has none.

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
        A state near the motion, where the independent constraint rows and
        the scale of ``W`` are determined; the constants then need values.
        Multipliers of other rows are zero. Needed for models with multipliers
        that are no methods.
    constants, inputs : mapping, optional
        As for :func:`.compile_equations`. Constants remain arguments.
    solver : {'auto', 'ldl', 'qr'}
        By the Schur complement of a positive definite mass matrix, or sparse,
        for any regular ``W``. ``'auto'`` is ``'ldl'`` where possible.

    Raises
    ======

    MissingIngredientError
        If casadi is not installed, or the state or constants for choosing
        independent rows are missing.
    UnsupportedFeatureError
        If an expression has no counterpart, or no row can be left out.

    """
    e = Exported.of(model, t, x, constants, inputs, name in SOLVED)
    ca = library('casadi', 'casadi')
    sizes = {'t': 1, 'x': len(e.equations.states),
             'p': len(e.equations.constants),
             **({'r': len(e.free)} if e.free else {})}
    arguments = {key: ca.SX.sym(key, n) for key, n in sizes.items()}
    outputs, shapes = e.outputs(name)
    values = outputs(functions(ca), {
        key: ca.vertsplit(symbol) for key, symbol in arguments.items()})
    results = {key: matrix(ca, values[key], *shapes[key]) for key in values}
    if name not in SOLVED:
        return made(ca, name, arguments, results)
    solver = chosen(e, solver)
    results.update(W=results['W'][e.use, e.use], r=results['r'][e.use])
    if name == 'residual':
        return residual(ca, e, arguments, **results)
    z = solution(ca, e, solver, results['W'], results['r'])
    if name == 'rhs':
        return made(ca, name, arguments, {
            'rates': ca.vertcat(results['rates'], z[:e.motion, 0])})
    spread = ca.DM.eye(len(e.equations.multipliers))[:, e.rows]
    return made(ca, name, arguments, {'multipliers': spread@z[e.motion:, 0]})


def functions(ca):
    return {
        **functions_of(ca), 'library': 'casadi', 'select': ca.if_else,
        'and': ca.logic_and, 'or': ca.logic_or, 'not': ca.logic_not,
        'true': lambda: ca.SX(1), 'false': lambda: ca.SX(0),
        'pow': ca.power, 'erfc': lambda x: 1 - ca.erf(x)}


def chosen(exported, solver):
    """The solver for a request, checked."""
    check_choice('solver', solver, ('auto', 'ldl', 'qr'))
    is_possible = solver != 'qr' and exported.ldl_is_possible()
    if solver == 'ldl' and not is_possible:
        raise UnsupportedFeatureError(
            "solver='ldl' needs a symmetric, positive definite mass matrix "
            "and constraint forces along the rows of the constraints. Use "
            "solver='qr'.")
    return 'ldl' if is_possible else 'qr'


def matrix(ca, values, rows, columns):
    """A sparse matrix of values row by row, without the zeros."""
    result = ca.SX(rows, columns)
    for k, value in enumerate(values):
        if not (isinstance(value, float) and value == 0):
            result[divmod(k, columns)] = value
    return result


def made(ca, name, arguments, results):
    return ca.Function(name, list(arguments.values()), list(results.values()),
                       list(arguments), list(results))


def residual(ca, e, arguments, W, r, rates, holonomic, velocity):
    z = ca.SX.sym('z', len(e.use))
    return made(ca, 'residual', {
        't': arguments.pop('t'), 'x': arguments.pop('x'), 'z': z, **arguments
    }, {'ode': ca.vertcat(rates, z[:e.motion, 0]), 'alg': W@z - r,
        'constraints': ca.vertcat(holonomic, velocity)})


def solution(ca, e, solver, W, r):
    """``z`` by the solver; rows and columns are scaled."""
    if solver == 'ldl':
        return by_ldl(ca, e.motion, W, r)
    rows, columns = map(ca.DM, e.scales or [[1.]*len(e.use)]*2)
    W, r = ca.diag(rows)@W@ca.diag(columns), rows*r
    return columns*ca.qr_solve(r, *ca.qr_sparse(W))


def by_ldl(ca, n, W, r):
    """By the Schur complement of the mass matrix."""
    M, A = W[:n, :n], W[n:, :n]
    mass = ca.ldl(M)
    a = ca.ldl_solve(r[:n], *mass)
    if not A.shape[0]:
        return a
    X = ca.ldl_solve(A.T, *mass)
    lam = ca.ldl_solve(r[n:] - A@a, *ca.ldl(A@X))
    return ca.vertcat(a + X@lam, lam)
