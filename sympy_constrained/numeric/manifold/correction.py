r"""Return the states of one motion to the constraints, quickly.

:math:`\Delta u = -M^{-1}A^T(A M^{-1}A^T)^{-1}\,\psi` is the change of least
kinetic energy that removes the residuals :math:`\psi`; :math:`\Delta q` is
:math:`\partial\dot q/\partial u` times the same with the residuals :math:`h`.
Only the independent rows of the motion are used.
"""
from contextlib import suppress

import numpy as np
from scipy.linalg import qr

from ...errors import ConstrainedDynamicsError
from ...graph import Graph, gradient
from ..codegen.solution import mass_factors, size, staged
from ..tolerances import (
    GOOD, LEFT_OUT, LIGHT, NO_MASS, POOR_CHOICE, REDUNDANT, ROUNDING, VANISHED)
from .projection import Correction, distances, project, size_of


STEPS = 4                       # at each level
LEVELS = 'holonomic', 'velocity'
BLOCKS = ('holonomic', 'holonomic_jacobian', 'velocity', 'velocity_jacobian',
          'M', 'G')


def correction_graph(equations):
    """The outputs :data:`BLOCKS`; ``G`` are the derivatives of the rates of
    the coordinates by the speeds, without rows where they are solved for.
    """
    g, out = equations.graph.load(None, ('rates', *BLOCKS[:-1]))
    u = [g.input(x, dynamic=True) for x in equations.u]
    where = [equations.states.index(x) for x in equations.q]
    known = len(out['rates'])
    out['G'] = [gradient(g, out['rates'][i][0], u) for i in where
                ] if max(where, default=0) < known else []
    columns = (1, len(where), 1, len(u), len(u), len(u))
    return Graph.freeze(g, {name: (out[name], count)
                            for name, count in zip(BLOCKS, columns)})


def newton_graph(equations, rows, stages=None, step=None):
    """One step of :class:`Projector` as straight-line code, or None.

    ``rows`` are positions of independent rows at both levels. The outputs are
    ``out``, changes of coordinates and speeds, then the relative residuals of
    the independent rows of both levels and of the others, and ``checks`` of
    the pivots. With the symbol ``step`` the changes are rates that remove the
    residuals, and the rates of the coordinates', within a time step.
    ``stages`` are those of :func:`.solved_graph`.
    """
    g, out = correction_graph(equations).load(None, BLOCKS)
    removed = residuals(g, out, step)
    usual = g.sum(row[i] for i, row in enumerate(out['M'])) or 1
    out['M'] = [[g.mul(g.constant(LIGHT), usual) if i == j and not x else x
                 for j, x in enumerate(row)] for i, row in enumerate(out['M'])]
    changes, used, others, checks = [], [], [], []
    for name, places in zip(LEVELS, rows):
        A = out[f'{name}_jacobian']
        for some, more in zip((used, others), distances_of(
                g, A, [x for x, in out[name]], places)):
            some += more
        A, M, G = [A[k] for k in places], out['M'], None
        if name == 'holonomic':
            rates = out['velocity_jacobian']    # perhaps of fewer rows
            M, G = with_invariants(M, out['G'], [
                row for k, row in zip(places, A)
                if k < len(rates) and not any(rates[k])])
            A = [[g.dot(row, column) for column in zip(*G)] for row in A]
        change = least_change(g, M, A, [
            -removed[name][k] for k in places], checks, stages)
        if change is None:
            return None
        changes += [g.dot(row, change) for row in G] if G else change
    return staged(g, {'out': [*changes, *used, *others],
                      'checks': (checks, 2)}, stages or ())


def residuals(g, out, step):
    """What is removed at each level, per time within a ``step``."""
    removed = {name: [x for x, in out[name]] for name in LEVELS}
    if step is None:
        return removed
    within = g.inv(g.input(step))
    rates = {name: [g.mul(within, x) for x in values]
             for name, values in removed.items()}
    return {**rates, 'holonomic': list(map(
        g.add, rates['holonomic'], removed['velocity']))}


def distances_of(g, A, values, rows):
    """Residuals over gradients; over the usual one if not in ``rows``."""
    squares = [g.dot(row, row) for row in A]
    usual = g.sum(squares[k] for k in rows)
    sizes = [size(g, x) for x in values]
    return [g.div(sizes[k], g.root(squares[k], 2)) for k in rows], [
        g.div(x, g.root(usual, 2))
        for k, (x, square) in enumerate(zip(sizes, squares))
        if square and k not in rows]


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


def least_change(g, M, A, values, checks, stages):
    """The change ``u`` with ``A u = values`` and the least ``u^T M u``."""
    factors = mass_factors(g, M, A, stages)
    if factors is None:
        return None
    change = factors.solve([0]*len(M) + values)[:len(M)]
    shares = [NO_MASS]*len(M) + [POOR_CHOICE]*len(A)
    checks += [[g.mul(g.constant(share), entry), pivot]
               for share, entry, (_, _, pivot) in zip(
                   shares, factors.diagonal, factors.pivots)
               if entry != pivot]
    return change


class Projector:
    """Projection of states near the constraint set."""

    def __init__(self, compiled):
        self.compiled = compiled
        explicit = compiled.equations.graph.outputs['rates'][0]
        self.is_simple = len(compiled.levels) == 2 and (
            len(compiled.u_index) > 0) and (
                not compiled.has('holonomic')
                or bool((compiled.q_index < explicit).all()))
        self._known = None, None        # a solver and its rows
        self._code = None, None         # rows and the machine code for them

    def __call__(self, t, x, solver):
        """The :class:`.Correction` of ``x``, and its distance before."""
        quick = None
        if self.is_simple:
            rows = self.rows(solver, t, x)
            quick = self.quick(t, x, rows)
            if quick and quick[0].is_within(ROUNDING) and (
                    quick[0].distances[sum(map(len, rows)):].max(
                        initial=0.) <= LEFT_OUT*size_of(quick[0].x)):
                return quick
        before = distances(self.compiled, t, x).relative
        corrections = [project(self.compiled, t, x, weighted=True)]
        if quick:
            corrections.append(quick[0])
        return min(corrections, key=lambda item: item.relative), before

    def rows(self, solver, t, x):
        """Positions of independent rows at both levels, or None."""
        if self._known[0] is not solver:
            self._known = solver, self._rows(solver, t, x)
        return self._known[1]

    def _rows(self, solver, t, x):
        equations = self.compiled.equations
        outputs, where = equations.graph.outputs, equations.constraint_rows
        holonomic, velocity = (outputs[name][0] for name in LEVELS)
        if solver.kept is None:
            return tuple(range(holonomic)), tuple(range(velocity))
        if not where.keys() >= set(range(velocity)):
            return None
        kept = set(solver.kept[0].tolist())
        rows = [k for k in range(velocity) if where[k] in kept]
        pattern = equations.graph.pattern('velocity_jacobian')
        invariants = [k for k, row in enumerate(pattern[:holonomic])
                      if not any(row)]
        chosen = tuple(sorted({
            *(k for k in rows if k < holonomic), *invariants})), tuple(
                k for k in rows if k not in invariants)
        gradients = self.compiled.evaluate(
            [f'{name}_jacobian' for name in LEVELS], t, x)
        is_enough = all(
            len(independent(gradients[f'{name}_jacobian'])) <= len(some)
            for name, some in zip(LEVELS, chosen))
        return chosen if is_enough else None

    def quick(self, t, x, rows):
        """Gauss-Newton steps in machine code, without residuals, or None."""
        if rows is None:
            return None
        if self._code[0] is not rows:
            native = newton_code(self.compiled, rows)
            self._code = rows, native and native.bound(
                x.shape, self.compiled.p, None, self.compiled.called)
        function, x = self._code[1], x.copy()
        values = function and function(t, x)
        if values is None:
            return None
        ends = np.cumsum([0, *(len(index) for _, index in (
            self.compiled.levels)), *map(len, rows)])
        before = values[ends[2]:].max(initial=0.)/size_of(x)
        for k, (_, index) in enumerate(self.compiled.levels):
            last = np.inf
            for step in range(STEPS + 1):
                far = values[ends[k + 2]:ends[k + 3]].max(
                    initial=0.)/size_of(x[index])
                if far <= GOOD or (far < ROUNDING and far > last/2):
                    break
                if step == STEPS:
                    return None
                last = far
                x[index] += values[ends[k]:ends[k + 1]]
                values = function(t, x)
                if values is None:
                    return None
        return Correction(x, None, values[ends[2]:]), before


def newton_code(compiled, rows, *step):
    def made():
        with suppress(ConstrainedDynamicsError):    # a row has no gradient
            stages = []
            graph = newton_graph(compiled.equations, rows, stages, *step)
            return graph and compiled.native_output(
                graph, 'checks', step, stages)

    return compiled.kept((newton_code, rows, step), made)


def row_sizes(gradient):
    """Norms of rows, shape (m, 1); for a row that vanishes the largest one."""
    norms = np.linalg.norm(gradient, axis=1)[:, None]
    largest = norms.max(initial=0.)
    return np.where(norms > VANISHED*largest, norms, largest or 1.)


def independent(gradient, columns=slice(None)):
    """Positions of rows of a gradient whose parts in ``columns`` span all."""
    gradient = (gradient/row_sizes(gradient))[:, columns]
    norms = np.linalg.norm(gradient, axis=1)
    rows = np.flatnonzero(norms > REDUNDANT)
    if not len(rows):
        return []
    R, order = qr((gradient[rows]/norms[rows, None]).T, mode='r',
                  pivoting=True)
    rank = int(np.sum(np.abs(np.diag(R)) > REDUNDANT))
    return sorted(rows[order[:rank]].tolist())
