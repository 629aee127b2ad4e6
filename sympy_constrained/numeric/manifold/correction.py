r"""Return the states of one motion to the constraints, quickly.

:math:`\Delta u = -M^{-1}A^T(A M^{-1}A^T)^{-1}\,\psi` is the change of least
kinetic energy that removes the residuals :math:`\psi`; :math:`\Delta q` is
:math:`\partial\dot q/\partial u` times the same with the residuals :math:`h`.
Only the independent rows of the motion are used.
"""
from __future__ import annotations

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dpotrf, dpotrs

from ...graph import Graph, gradient
from ...graph.linalg import ldl_order
from ..codegen.solution import schur_solution, size
from .projection import (
    CLOSE, LEAST_CUT, NO_MASS, ROUNDING, Correction, coordinate_metric,
    distances, least_norm_step, mass_metric, norms_of, project, size_of)

__all__ = ['Projector', 'correction_graph', 'independent', 'mass_factor',
           'newton_graph']

# A distance that further steps hardly improve, and steps at each level.
GOOD, STEPS = 4*CLOSE, 4
# With a smaller pivot, relative to its diagonal entry, rows are nearly
# dependent.
PIVOT = 1e-6
# Rows with a smaller pivot, of gradients of length one, are redundant.
REDUNDANT = 1e-7
BLOCKS = ('holonomic', 'holonomic_jacobian', 'velocity', 'velocity_jacobian',
          'M', 'G')


def correction_graph(equations):
    """The outputs :data:`BLOCKS`, and all of them in one column ``out``.

    ``G`` has no row where the rates of the coordinates are solved for.
    """
    g, out = equations.graph.load(None, ('rates', *BLOCKS[:-1]))
    u = [g.input(x, dynamic=True) for x in equations.u]
    where = [equations.states.index(x) for x in equations.q]
    known = len(out['rates'])
    out['G'] = [gradient(g, out['rates'][i][0], u) for i in where
                ] if max(where, default=0) < known else []
    flat = [[x] for name in BLOCKS for row in out[name] for x in row]
    columns = dict(zip(BLOCKS, (1, len(where), 1, len(u), len(u), len(u))))
    return Graph.freeze(g, {
        **{name: (out[name], columns[name]) for name in BLOCKS},
        'out': (flat, 1)})


def newton_graph(equations, rows):
    """One step of :class:`Projector` as straight-line code, or None.

    ``rows`` are positions of independent rows, by level. The outputs are
    ``out``, changes of coordinates and speeds, then the relative residuals of
    the independent rows of both levels and of the others, and ``checks`` of
    the pivots.
    """
    g, out = correction_graph(equations).load(None, BLOCKS)
    changes, used, others, checks = [], [], [], []
    for name in ('holonomic', 'velocity'):
        A, values = out[f'{name}_jacobian'], [x for x, in out[name]]
        squares = [g.dot(row, row) for row in A]
        usual = g.sum(squares[k] for k in rows[name])
        for k, (x, square) in enumerate(zip(values, squares)):
            if k in rows[name]:
                used.append(g.div(size(g, x), g.root(square, 2)))
            elif square:
                others.append(g.div(size(g, x), g.root(usual, 2)))
        A, M, G = [A[k] for k in rows[name]], out['M'], None
        if name == 'holonomic':
            rates = out['velocity_jacobian']    # perhaps of fewer rows
            M, G = with_invariants(M, out['G'], [
                row for k, row in zip(rows[name], A)
                if k < len(rates) and not any(rates[k])])
            A = [[g.dot(row, column) for column in zip(*G)] for row in A]
        change = least_change(g, M, A, [
            -values[k] for k in rows[name]], checks)
        if change is None:
            return None
        changes += [g.dot(row, change) for row in G] if G else change
    return Graph.freeze(g, {'out': ([[x] for x in (
        *changes, *used, *others)], 1), 'checks': (checks, 2)})


def with_invariants(M, G, gradients):
    """``M`` and ``G`` of speeds that also move along these gradients.

    They are those of rows that hold for all speeds, as the norm of a
    quaternion does.
    """
    count = len(gradients)
    M = [[*row, *[0]*count] for row in M] + [
        [int(j == len(M) + i) for j in range(len(M) + count)]
        for i in range(count)]
    return M, [[*row, *(gradient[i] for gradient in gradients)]
               for i, row in enumerate(G)]


def least_change(g, M, A, values, checks):
    """The change ``u`` with ``A u = values`` and the least ``u^T M u``."""
    order = ldl_order(M, A)
    mass, rows = ([[row[j] for j in order] for row in part]
                  for part in (M, A))
    solution = schur_solution(g, [mass[i] for i in order], rows,
                              [0]*len(M), values)
    if solution is None:
        return None
    change, _, diagonal, pivots = solution
    shares = [NO_MASS]*len(M) + [PIVOT]*len(A)
    checks += [[g.mul(g.constant(share), entry), pivot] for share, entry, pivot
               in zip(shares, diagonal, pivots) if entry != pivot]
    return [x for _, x in sorted(zip(order, change))]


class Projector:
    """Projection of states near the constraint set."""

    def __init__(self, compiled):
        self.compiled = compiled
        graph, native, self.evaluate = compiled.kept('projection', lambda: (
            graph := correction_graph(compiled.equations),
            compiled.native_output(graph), compiled.group(graph, BLOCKS)))
        self.function = native and compiled.bound(native)
        self.p = compiled.parameters()
        self.parts, start = {}, 0
        for name in BLOCKS:
            rows, columns = graph.outputs[name]
            self.parts[name] = slice(start, start + rows*columns), (
                rows, columns)
            start += rows*columns
        rows, columns = graph.outputs['G']
        G = graph.load(None, ('G',))[1]['G']
        self.is_same = rows == columns and all(
            entry == (i == j) for i, row in enumerate(G)
            for j, entry in enumerate(row))
        self.is_simple = len(compiled.levels) == 2 and bool(columns) and (
            rows or not graph.outputs['holonomic'][0])
        self._known = None, None        # a solver and its rows

    def __call__(self, t, x, solver):
        """A :class:`.Correction` of ``x``, and its relative distance before.

        ``solver`` is the :class:`.LinearSolver` of the motion.
        """
        quick = None
        if self.is_simple:
            quick = self.quick(t, x, self.rows(solver, t, x))
            if quick and quick[0].is_within(ROUNDING):
                return quick
        before = distances(self.compiled, t, x).relative
        corrections = [project(self.compiled, t, x, weighted=True)]
        if quick:
            corrections.append(quick[0])
        return min(corrections, key=lambda item: item.relative), before

    def rows(self, solver, t, x):
        """Name of a level -> positions of independent rows, or None."""
        if self._known[0] is not solver:
            self._known = solver, self._rows(solver, t, x)
        return self._known[1]

    def _rows(self, solver, t, x):
        """The same, decided at a state."""
        if solver.kept is None:
            return dict.fromkeys(('holonomic', 'velocity'), slice(None))
        where = self.compiled.equations.constraint_rows
        outputs = self.compiled.equations.graph.outputs
        holonomic, velocity = (outputs[name][0]
                               for name in ('holonomic', 'velocity'))
        if not where.keys() >= set(range(velocity)):
            return None
        kept = set(solver.kept[0].tolist())
        rows = [k for k in range(velocity) if where[k] in kept]
        pattern = self.compiled.equations.graph.pattern('velocity_jacobian')
        invariants = [k for k, row in enumerate(pattern[:holonomic])
                      if not any(row)]
        chosen = {'holonomic': sorted({
            *(k for k in rows if k < holonomic), *invariants}),
            'velocity': [k for k in rows if k not in invariants]}
        blocks = self.blocks(t, x)
        is_enough = all(
            len(independent(blocks[f'{name}_jacobian'])) <= len(rows)
            for name, rows in chosen.items())
        return chosen if is_enough else None

    def blocks(self, t, x):
        """The values of :data:`BLOCKS`; raises if one is not finite."""
        values = None if self.function is None else self.function(t, x)
        if values is None:
            return self.evaluate(t, x, self.p)
        return {name: values[part].reshape(shape)
                for name, (part, shape) in self.parts.items()}

    def quick(self, t, x, rows):
        """The result of a call, or None if the case is not simple."""
        try:
            return None if rows is None else self._steps(t, x.copy(), rows)
        except ArithmeticError:         # outside the domain of a function
            return None

    def _steps(self, t, x, rows):
        """Gauss-Newton steps at both levels, None where they fail."""
        blocks = self.blocks(t, x)
        factor = mass_factor(blocks['M'])
        if factor is None:
            return None
        before = max(lengths(blocks, 'holonomic').max(initial=0),
                     lengths(blocks, 'velocity').max(initial=0))/size_of(x)
        for name, index in self.compiled.levels:
            last = np.inf
            for k in range(STEPS + 1):
                far = lengths(blocks, name)[rows[name]].max(
                    initial=0)/size_of(x[index])
                if far <= GOOD or (far < ROUNDING and far > last/2):
                    break
                step = None if k == STEPS else self.least(
                    blocks, name, blocks[name][:, 0], factor, rows[name])
                if step is None:
                    return None
                last = far
                x[index] += step
                blocks = self.blocks(t, x)
        residuals = np.concatenate([blocks['holonomic'], blocks['velocity']])
        far = np.concatenate([lengths(blocks, name, rows[name])
                              for name in ('holonomic', 'velocity')])
        return Correction(x, residuals[:, 0], far), before

    def least(self, blocks, name, values, factor, rows=slice(None)):
        """The change of least kinetic energy that removes ``values``.

        None where rows are nearly dependent.
        """
        gradient, values = blocks[f'{name}_jacobian'][rows], values[rows]
        moved = name == 'holonomic' and not self.is_same
        if moved:
            gradient = gradient@blocks['G']
        X, _ = dpotrs(factor, gradient.T, lower=1)
        schur = gradient@X
        root, info = dpotrf(schur, lower=1)
        if info or (root.diagonal()**2 < PIVOT*schur.diagonal()).any():
            return None
        forces, _ = dpotrs(root, values, lower=1)
        step = X@forces
        return -(blocks['G']@step if moved else step)

    def change(self, blocks, name, values, factor, rows=None):
        """The same for all rows, by pseudo-inverse where necessary."""
        if factor is not None and self.is_simple and rows is not None:
            change = self.least(blocks, name, values, factor, rows[name])
            if change is not None:
                return change
        gradient = blocks[f'{name}_jacobian']
        G = blocks['G'] if blocks['G'].size else None
        metric = (coordinate_metric(blocks['M'], G) if name == 'holonomic'
                  else mass_metric(blocks['M'], range(len(blocks['M']))))
        norms = norms_of(gradient)
        cut = max(LEAST_CUT[name], lengths(blocks, name).max())
        return least_norm_step(values/norms, gradient/norms[:, None],
                               metric, cut)


def mass_factor(mass):
    """Cholesky's factor of ``M``, None where ``M`` is not positive."""
    factor, info = dpotrf(mass, lower=1)
    if info or (factor.diagonal()**2 < NO_MASS*mass.diagonal()).any():
        return None
    return factor


def independent(gradient):
    """Positions of rows of a gradient that span all."""
    norms = np.linalg.norm(gradient, axis=1)
    rows = np.flatnonzero(norms > REDUNDANT*norms.max(initial=0))
    if not len(rows):
        return []
    R, order = qr((gradient[rows]/norms[rows, None]).T, mode='r',
                  pivoting=True)
    rank = int(np.sum(np.abs(np.diag(R)) > REDUNDANT))
    return sorted(rows[order[:rank]].tolist())


def lengths(blocks, name, rows=slice(None)):
    """Residuals divided by the norm of their gradient; by the largest norm
    outside the independent ``rows``, where gradients may nearly vanish.
    """
    gradient = blocks[f'{name}_jacobian']
    norms = np.sqrt(np.einsum('ij,ij->i', gradient, gradient))
    if rows != slice(None):
        norms, exact = np.full(len(norms), norms.max(initial=0)), norms
        norms[rows] = exact[rows]
    return np.abs(blocks[name][:, 0])/np.where(norms > 0, norms, 1.)
