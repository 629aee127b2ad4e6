"""Derivatives of the discrete problem, assembled from those of an interval.

By itself casadi takes many directional derivatives of all intervals. Here
those of one interval are expressions, which are evaluated for each.
"""
import numpy as np


def derivatives(problem, w, g):
    """Functions for IPOPT, by name: the Jacobian of the residuals ``g``, and
    the Hessian of the Lagrangian, by the variables ``w``.
    """
    ca, count = problem.ca, problem.intervals
    rows, begin, columns = places(problem)
    p, weight, lam = (ca.MX.sym(name, size) for name, size in (
        ('p', 0), ('lam_f', 1), ('lam_g', g.numel())))

    def chosen(vector, index):
        return ca.reshape(vector.nz[index.ravel('F').tolist()], *index.shape)

    inputs, slopes, bends = of_interval(problem)
    known = (ca.DM(range(count)).T, chosen(w, columns), chosen(lam, rows),
             ca.repmat(weight, 1, count))

    def of_all(matrix, some):
        return ca.Function('interval', inputs[:some], [matrix]).map(count)(
            *known[:some])

    i, j = triplet(slopes)
    more = ca.jacobian(problem.begin, w)
    i_more, j_more = triplet(more)
    jacobian = assembled(
        ca, (g.numel(), w.numel()),
        (rows[i], columns[j], of_all(slopes, 2)),
        (begin[i_more], j_more, more))
    i, j = triplet(bends)
    more = ca.triu(ca.hessian(weight*problem.final + ca.dot(
        chosen(lam, begin), problem.begin), w)[0])
    hessian = assembled(
        ca, (w.numel(), w.numel()),
        (*np.sort([columns[i], columns[j]], axis=0), of_all(bends, 4)),
        (*triplet(more), more))
    return {
        'jac_g': ca.Function('nlp_jac_g', [w, p], [g, jacobian],
                             ['x', 'p'], ['g', 'jac_g_x']),
        'hess_lag': ca.Function('nlp_hess_l', [w, p, weight, lam], [hessian], [
            'x', 'p', 'lam_f', 'lam_g'], ['triu_hess_gamma_x_x'])}


def places(problem):
    """Positions of the residuals of each interval, of those at the start,
    and of the variables of each interval; intervals are columns.
    """
    count = len(problem.scheme.c)

    def numbered(parts):
        ends = np.cumsum([0, *(part.numel() for part in parts)])
        return [np.arange(*pair).reshape(part.shape, order='F')
                for part, *pair in zip(parts, ends[:-1], ends[1:])]

    def blocks(part):
        return part.reshape(len(part)*count, problem.intervals, order='F')

    T, x0, X, Z, MU, U = numbered(list(problem.variables.values()))
    polynomials, equations, constraints, paths = numbered(
        list(problem.residuals.values()))
    rows = map(blocks, (polynomials, equations, constraints[:, 1:], paths))
    return np.vstack(list(rows)), constraints[:, :1], np.vstack([
        np.repeat(T, problem.intervals, axis=1),
        np.hstack([x0, X[:, count - 1:-1:count]]), U[:, :-1], U[:, 1:],
        *map(blocks, (X, Z, MU))])


def of_interval(problem):
    """Its number, variables and multipliers, and those of the costs; the
    slopes of its residuals, and the upper half of the Hessian.
    """
    ca, f = problem.ca, problem.interval
    shapes = [f.size_in(i) for i in (0, 1, 3, 4, 5, 6, 7)]
    k, weight = ca.SX.sym('k'), ca.SX.sym('weight')
    parts = [ca.SX.sym('v', *shape) for shape in shapes]
    T, x, *rest = parts
    length = (T - problem.times[0])/problem.intervals
    *residuals, cost, paths = f.call(
        [problem.times[0] + length*k, x, length, *rest], True, False)
    v = ca.vertcat(*map(ca.vec, parts))
    g = ca.vertcat(*map(ca.vec, (*residuals, paths)))
    lam = ca.SX.sym('lam', g.numel())
    return [k, v, lam, weight], ca.jacobian(g, v), ca.triu(
        ca.hessian(weight*cost + ca.dot(lam, g), v)[0])


def triplet(matrix):
    return [np.array(x, int) for x in matrix.sparsity().get_triplet()]


def assembled(ca, shape, *parts):
    """The sum of parts: rows and columns of the entries of matrices."""
    rows, columns = (np.concatenate([part[k].ravel('F') for part in parts])
                     for k in (0, 1))
    found, into = np.unique(columns*shape[0] + rows, return_inverse=True)
    gather = ca.DM(ca.Sparsity.triplet(
        len(found), len(into), into.tolist(), list(range(len(into)))), 1)
    columns, rows = np.divmod(found, shape[0])
    return ca.MX(ca.Sparsity.triplet(*shape, rows.tolist(), columns.tolist()),
                 gather@ca.vertcat(*(ca.vec(part[2].nz[:]) for part in parts)))
