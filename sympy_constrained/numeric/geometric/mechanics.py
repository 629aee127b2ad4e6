"""Canonical mechanics of a model on the graph (:doc:`/theory/fixed_steps`)."""
from sympy import Dummy, Rational

from ...graph import (
    Derivation, GraphMatrix, gradient, jacobian, substitute)
from ...graph.linalg import solve
from ...graph.matrix import as_column
from ..codegen.native import with_given


HALF = Rational(1, 2)
OUTPUTS = ('rates', 'M', 'Q', 'holonomic', 'holonomic_jacobian', 'velocity',
           'velocity_jacobian', 'energy')


class Mechanics:
    """Functions of the states, as matrices on one builder.

    ==============  =======  ==============================================
    name            shape    meaning
    ==============  =======  ==============================================
    ``f``, ``G``    (n, 1)   ``q'``, and ``(n, o)`` its derivative by ``u``
    ``M``           (o, o)   mass matrix
    ``momenta``     (o, 1)   ``G^T p``
    ``p``           (n, 1)   momenta, the least where ``n > o``
    ``slopes``      (n, 1)   ``S_q``, a function of ``p``, too
    ``loads``       (o, 1)   ``Q_n``, without a potential
    ``forces``      (n, 1)   the least ``Phi`` with ``G^T Phi = Q_n``
    ``power``       (1, 1)   rate of the Hamiltonian
    ``holonomic``   (mh, 1)  ``h``, and ``H`` its derivative by ``q``
    ``psi``         (mv, 1)  rows at velocity level, ``A`` by ``u``
    ``rows``        (mv, n)  the least ``R`` with ``R G = A``
    ``drift``       (mv, 1)  ``psi`` at rest
    ``energy``      (1, 1)   zero if unknown
    ``excess``      (1, 1)   Hamiltonian less energy, in vakonomic motion
    ==============  =======  ==============================================

    ``is_plain`` is whether the speeds are the rates of the coordinates.
    """

    def __init__(self, compiled, mu=()):
        equations = compiled.equations
        g, out = with_given(
            equations.graph, OUTPUTS, compiled.inputs.expressions).load()
        self.g, self.time = g, g.input(equations.t, dynamic=True)
        self.q, self.u, self.mu, self.called, self.p = (
            [g.input(x, dynamic=True) for x in items]
            for items in (equations.q, equations.u, mu,
                          compiled.inputs.called,
                          [Dummy() for _ in equations.q]))
        shapes = equations.graph.outputs
        f, M, Q, h, H, psi, A, energy = (
            GraphMatrix(g, out[name], shapes[name][1]) for name in OUTPUTS)
        rates = [x for x, in f.rows]
        self.is_plain = rates == self.u
        self.G = G = GraphMatrix(g, jacobian(g, rates, self.u), len(self.u))
        u, p = as_column(g, self.u), as_column(g, self.p)
        if not energy.rows:
            energy = GraphMatrix(g, [[0]])
        potential, momenta = self.at_rest(energy), M @ u
        S = p.T @ f - HALF*(u.T @ momenta) + potential
        loads = self._loads(Q, f, momenta, S)
        power = loads.T @ u + self.by(potential, [self.time])
        multipliers = as_column(g, self.mu if mu else [0]*len(A.rows))
        momenta += A.T @ multipliers
        S -= multipliers.T @ psi
        power -= multipliers.T @ as_column(g, [
            gradient(g, x, [self.time])[0] for x, in psi.rows])
        self.found = {
            'f': f, 'G': G, 'M': M, 'momenta': momenta,
            'p': self.canonical(momenta), 'slopes': self.by(S, self.q).T,
            'loads': loads, 'forces': self.canonical(loads), 'power': power,
            'holonomic': h, 'H': H, 'psi': psi, 'A': A,
            'rows': self.canonical(A.T).T,
            'drift': self.at_rest(psi), 'energy': energy,
            'excess': multipliers.T @ A @ u}

    def by(self, scalar, inputs):
        """The gradient of a matrix of one entry, as a row."""
        (ref,), = scalar.rows
        return GraphMatrix(self.g, [gradient(self.g, ref, inputs)])

    def at_rest(self, matrix):
        return self.moved(matrix, dict.fromkeys(self.u, 0))

    def moved(self, matrix, values):
        return GraphMatrix(self.g, [substitute(self.g, row, values)
                                    for row in matrix.rows], matrix.shape[1])

    def canonical(self, momenta):
        """The least ``p`` with ``G^T p = momenta``, for each column."""
        if self.is_plain:
            return momenta
        n, o = self.G.shape
        matrix = self.G.T if n == o else self.G.T @ self.G
        p = GraphMatrix(self.g, [solve(self.g, matrix.rows, column)
                                 for column in momenta.T.rows], o).T
        return p if n == o else self.G @ p

    def _loads(self, Q, f, momenta, S):
        g, p = self.g, as_column(self.g, self.p)
        rate = Derivation(g, {self.time: 1, **dict(zip(
            self.q, (x for x, in f.rows)))})
        rates = [as_column(g, [rate(x) for x, in matrix.rows])
                 for matrix in (momenta, self.G.T @ p)]
        loads = Q + rates[0] - rates[1] + self.G.T @ self.by(S, self.q).T
        return self.moved(loads, dict(zip(
            self.p, (x for x, in self.canonical(momenta).rows))))

    def depends(self, name, *groups):
        mask = self.g.mask([x for group in groups for x in group])
        return any(self.g.depends[abs(x)] & mask
                   for row in self.found[name].rows for x in row)

    def vanishes(self, name):
        return not any(map(any, self.found[name].rows))
