"""The peers that start from SymPy: its own methods, PyDy, casadi, lambdify."""
import numpy as np
from sympy import Derivative, Matrix, S, Symbol, cse, lambdify
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import (
    KanesMethod, LagrangesMethod, dynamicsymbols)

import native

t = dynamicsymbols._t


# -- equations ---------------------------------------------------------------

def kane(given, **options):
    """SymPy's equations from the arguments of the model."""
    method = KanesMethod(**{**given.arguments, **options})
    method.kanes_equations()
    return method


def lagrange(given):
    """The same model by ``LagrangesMethod``, its weights as potential."""
    method = LagrangesMethod(**lagrange_arguments(given))
    method.form_lagranges_equations()
    return method


def lagrange_arguments(given):
    """For speeds that are ``q'`` and loads that are weights."""
    a = given.arguments
    frame = a['frame']
    rates = {u: q.diff(t) for q, u in zip(given.coordinates, given.speeds)}
    origin = next(point for point in points(a['bodies'])
                  if point._vel_dict.get(frame) == 0)
    L = sum(body.kinetic_energy(frame) for body in a['bodies'])
    for point, force in a['forcelist']:
        L += force.dot(point.pos_from(origin))
    holonomic = list(a.get('configuration_constraints') or ())
    velocity = [row.xreplace(rates) for row in a['velocity_constraints']]
    return {'Lagrangian': L.xreplace(rates), 'qs': list(given.coordinates),
            'hol_coneqs': holonomic,
            'nonhol_coneqs': velocity[:len(velocity) - len(holonomic)]}


def points(bodies):
    """The points that can be reached from mass centres."""
    waiting, found = [body.masscenter for body in bodies], []
    while waiting:
        point = waiting.pop()
        if point not in found:
            found.append(point)
            waiting.extend(point._pos_dict)
    return found


def blocks(given):
    """``M``, ``Q``, ``A``, ``b``: Kane's equations without constraints, and
    the velocity rows differentiated."""
    a = given.arguments
    q, u = list(given.coordinates), list(given.speeds)
    free = KanesMethod(a['frame'], q_ind=q, u_ind=u, kd_eqs=a['kd_eqs'],
                       bodies=a['bodies'], forcelist=a['forcelist'])
    free.kanes_equations()
    kinematics = free.kindiffdict()
    rows = Matrix(list(a.get('velocity_constraints') or ())).xreplace(
        kinematics)
    still = dict.fromkeys((x.diff(t) for x in u), S.Zero)
    A = rows.jacobian(u) if rows else Matrix(0, len(u), [])
    b = -rows.diff(t).xreplace(kinematics).xreplace(still)
    M, Q = free.mass_matrix, free.forcing
    return [block.xreplace(kinematics) for block in (M, Q, A, b)]


# -- operations --------------------------------------------------------------

def cse_operations(matrices):
    """Operations left by ``cse``, counted as the graph counts its own."""
    shared, reduced = cse(list(matrices))
    expressions = [part for _, part in shared] + [
        entry for matrix in reduced for entry in matrix]
    return sum(map(operations, expressions))


def operations(expr):
    """Additions, multiplications and functions; signs are free."""
    if not expr.args or isinstance(expr, (Derivative, AppliedUndef)):
        return 0
    below = sum(map(operations, expr.args))
    if expr.is_Add:
        return below + len(expr.args) - 1
    if expr.is_Mul:
        return below + sum(x not in (1, -1) for x in expr.args) - 1
    if expr.is_Pow and expr.exp.is_Integer:
        size = abs(int(expr.exp))
        squarings, products = size.bit_length() - 1, size.bit_count() - 1
        return below + squarings + products + int(expr.exp.is_negative)
    return below + 1


def tree_nodes(matrices):
    """Nodes of the expressions as trees, with shared parts counted again."""
    known = {}

    def nodes(expr):
        if expr not in known:
            known[expr] = 1 + sum(map(nodes, expr.args))
        return known[expr]

    return sum(nodes(entry) for matrix in matrices for entry in matrix)


# -- functions ---------------------------------------------------------------

def cython(given):
    """PyDy's right-hand side ``f(x, t, p)`` in Cython, and the values ``p``.
    """
    from pydy.codegen.ode_function_generators import generate_ode_function
    method = kane(given)
    constants = list(given.parameters)
    kinematics = method.kindiffdict()
    rates = Matrix([kinematics[q.diff(t)] for q in method.q])
    function = generate_ode_function(
        method.forcing, list(method.q), list(method.u), constants,
        mass_matrix=method.mass_matrix, coordinate_derivatives=rates,
        generator='cython', constants_arg_type='array')
    p = np.array([given.parameters[c] for c in constants])
    return function, p, method


def flat_function(given, matrices, modules):
    """Entries of matrices as a function of states and constants."""
    names = [*given.coordinates, *given.speeds]
    dummies = [Symbol(f'x{i}') for i in range(len(names))]
    values = dict(zip(names, dummies))
    entries = [entry.xreplace(values) for matrix in matrices
               for entry in matrix]
    return lambdify([*dummies, *given.parameters], entries, modules,
                    cse=True)


def casadi_function(given, form, jacobian=False):
    """Accelerations by casadi from matrices of SymPy: a compiled function.

    ``form`` is ``'result'``, the mass matrix and forcing of ``KanesMethod``,
    solved by casadi, or ``'blocks'``, the un-inverted blocks with ``M`` and
    the Schur complement factored as ``L D L^T``. Returns the function, its
    library, and the values of the constants. With ``jacobian`` it has the
    derivatives by the states, column by column.
    """
    import casadi as ca
    if form == 'result':
        method = kane(given)
        order = [list(method.u).index(u) for u in given.speeds]
        matrices = [method.mass_matrix, method.forcing]
    else:
        matrices = blocks(given)
    entries = flat_function(given, matrices, [{
        'sin': ca.sin, 'cos': ca.cos, 'tan': ca.tan, 'sqrt': ca.sqrt}])
    x = ca.SX.sym('x', len(given.start))
    p = ca.SX.sym('p', len(given.parameters))
    values = iter(entries(*ca.vertsplit(x), *ca.vertsplit(p)))
    M, Q, *rows = [
        ca.vertcat(*(ca.horzcat(*(next(values) for _ in range(columns)))
                     for _ in range(count)))
        for count, columns in (matrix.shape for matrix in matrices)]
    if form == 'result':
        rates = ca.solve(M, Q)[order]
    else:
        D, L, order = ca.ldl(M)
        rates = ca.ldl_solve(Q, D, L, order)
        if rows[0].size1():
            A, b = rows
            Y = ca.ldl_solve(A.T, D, L, order)
            D, L, order = ca.ldl(A@Y)
            rates += Y@ca.ldl_solve(b - A@rates, D, L, order)
    if jacobian:
        rates = ca.vec(ca.densify(ca.jacobian(rates, x)))
    function = ca.Function('f', [x, p], [rates])
    code = ca.CodeGenerator('f.c')
    code.add(function)
    library = native.compiled(code.dump())
    return function, library, np.array(list(given.parameters.values()))


def lambdified(given):
    """Kane's right-hand side ``f(t, x)`` as most people write it, and the
    order of its states."""
    method = kane(given)
    states = [*method.q, *method.u]
    dummies = [Symbol(f'x{i}') for i in range(len(states))]
    values = dict(zip(states, dummies))
    function = lambdify([dummies, list(given.parameters)], [
        matrix.xreplace(values) for matrix in (
            method.mass_matrix_full, method.forcing_full)], cse=True)
    p = list(given.parameters.values())

    def rhs(t, x):
        M, f = function(x, p)
        return np.linalg.solve(M, f)[:, 0]

    return rhs, states


def batch_function(given):
    """Accelerations of many states by ``lambdify`` on arrays and NumPy's
    stacked solver."""
    o = len(given.speeds)
    m = len(given.arguments.get('velocity_constraints') or ())
    entries = flat_function(given, blocks(given), 'numpy')
    p = list(given.parameters.values())

    def accelerations(x):
        count = len(x)
        values = entries(*x.T, *p)
        table = np.empty((len(values), count))
        for row, value in zip(table, values):
            row[:] = value
        M, Q, A, b = np.split(table, np.cumsum([o*o, o, m*o]))
        W = np.zeros((count, o + m, o + m))
        W[:, :o, :o] = M.T.reshape(count, o, o)
        W[:, o:, :o] = A.T.reshape(count, m, o)
        W[:, :o, o:] = -np.swapaxes(W[:, o:, :o], 1, 2)
        r = np.concatenate([Q.T, b.T], axis=1)[..., None]
        return np.linalg.solve(W, r)[:, :o, 0]

    return accelerations
