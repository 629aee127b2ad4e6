r"""Collocation of second order for constrained motions, in casadi.

In an interval from :math:`t_k` of length :math:`h` the accelerations are a
polynomial through their values :math:`a_j` at the nodes :math:`t_k + c_j h`.
The coordinates are its double integral, the speeds its integral:

.. math::

   q_i = q_k + h c_i \dot q_k + h^2 \sum_j \bar a_{ij} \ddot q_j
         + D_q^T \mu_i, \qquad
   u_i = u_k + h \sum_j a_{ij} \dot u_j + D_u^T \mu_i

so that the motion obeys the equations at every node [1]_, those of Radau,
where :math:`W z = r` and the constraints at position and velocity level hold;
:math:`\mu_i` moves a state along the rows :math:`D` of their Jacobian onto
them [2]_. The order is :math:`2s - 1` for :math:`s` nodes.

References
==========

.. [1] S. Moreno-Martin, L. Ros and E. Celaya, "Collocation methods for second
   and higher order systems," Autonomous Robots 48 (2024) 2, arXiv:2302.09056.
.. [2] R. Bordalba, T. Schoels, L. Ros, J. M. Porta and M. Diehl, "Direct
   collocation methods for trajectory optimization in constrained robotic
   systems," IEEE Transactions on Robotics 39 (2023) 183-202.

"""
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Legendre, Polynomial
from sympy import Matrix

from ..graph import Graph
from ..interop.casadi import functions, matrix
from ..numeric.manifold.correction import independent


class Scheme(NamedTuple):
    """Nodes in (0, 1], integrals and double integrals of the interpolant."""

    c: np.ndarray
    once: np.ndarray
    twice: np.ndarray


def radau(count):
    """The scheme of Radau nodes; the last row of ``once`` are the weights."""
    P = Legendre.basis
    c = (np.sort((P(count) - P(count - 1)).roots().real) + 1)/2
    c[-1] = 1.
    values = [
        Polynomial.fromroots(np.delete(c, j))/np.prod(c[j] - np.delete(c, j))
        for j in range(count)]
    return Scheme(c, *(np.transpose([p.integ(k)(c) for p in values])
                       for k in (1, 2)))


class Node:
    """The equations at a node, as functions of casadi.

    ``equations`` are the residuals of ``W z = r`` with independent rows,
    ``constraints`` those rows at position and velocity level.
    """

    def __init__(self, ca, exported):
        self.ca, self.exported = ca, exported
        e = exported.equations
        self.motion = exported.motion
        self.t, self.x, self.z, self.r, self.dr = (
            ca.SX.sym(name, size) for name, size in (
                ('t', 1), ('x', len(e.states)), ('z', len(exported.use)),
                ('r', len(exported.free)), ('dr', len(exported.free))))
        out = self.outputs(e.graph, (
            'rates', 'W', 'r', 'holonomic', 'velocity'))
        use = exported.use
        self.equations = out['W'][use, use]@self.z - out['r'][use]
        self.constraints = ca.vertcat(out['holonomic'], out['velocity'])
        self.first = out['rates']

    def expressions(self, exprs):
        e = self.exported.equations
        graph = Graph.of({'values': Matrix(len(exprs), 1, exprs)}, e.t)
        known = {e.t, *e.states, *e.unknowns, *e.constants,
                 *self.exported.free, *self.exported.given}
        strange = sorted(str(x) for x in graph.symbols() if x not in known)
        if strange:
            raise ValueError(
                f"The cost or a bound contains {', '.join(strange)}. Use "
                "states, accelerations, multipliers, constants and controls "
                "of the equations.")
        return self.outputs(graph, ('values',))['values']

    def outputs(self, graph, names):
        ca, use = self.ca, self.exported.use
        outputs, shapes = self.exported.computed(graph, names, {
            x: ('z', use.index(i)) if i in use else ('zero', 0)
            for i, x in enumerate(self.exported.equations.unknowns)})
        values = outputs(functions(ca), {
            't': [self.t], 'x': ca.vertsplit(self.x), 'zero': [0.],
            'p': self.exported.p, 'z': ca.vertsplit(self.z),
            'r': ca.vertsplit(self.r)})
        return {name: matrix(ca, values[name], *shape)
                for name, shape in shapes.items()}

    def function(self, output):
        return self.ca.Function(
            'node', [self.t, self.x, self.z, self.r], [output])

    def jacobian(self, t, x):
        """Of the constraints at a state without controls, as an array."""
        return self.function(self.ca.jacobian(self.constraints, self.x))(
            t, x, 0, 0).full()

    def choose(self, t, x):
        """Keep the constraints that are independent at a state."""
        self.constraints = self.constraints[independent(self.jacobian(t, x))]

    def second(self):
        """Second derivatives of the first states along the motion."""
        ca = self.ca
        along = ca.vertcat(self.first, self.z[:self.motion])
        return (ca.jtimes(self.first, self.x, along)
                + ca.jtimes(self.first, self.t, 1)
                + (ca.jtimes(self.first, self.r, self.dr)
                   if self.r.numel() else 0))


def interval(node, scheme, cost, path):
    """A function of casadi for all nodes of an interval.

    ``X``, ``Z`` and the shifts ``MU`` have a column for each node. Results:
    residuals of the collocation, of the equations and of the constraints, the
    cost, and values of ``path``.
    """
    ca, count = node.ca, len(scheme.c)
    begin, length = ca.SX.sym('begin'), ca.SX.sym('h')
    x0, r0, r1 = (ca.SX.sym(name, value.numel()) for name, value in (
        ('x0', node.x), ('r0', node.r), ('r1', node.r)))
    X, Z, MU = (ca.SX.sym(name, value.numel(), count) for name, value in (
        ('X', node.x), ('Z', node.z), ('MU', node.constraints)))
    shift = ca.SX.sym('mu', node.constraints.numel())
    rows = ca.jacobian(node.constraints, node.x)
    at = ca.Function('node', [node.t, node.x, node.z, node.r, node.dr, shift],
                     [node.second(), node.equations, node.constraints,
                      rows.T@shift, cost, path])
    first = ca.Function('first', [node.t, node.x, node.r], [node.first])
    dr = (r1 - r0)/length
    results = zip(*(
        at(begin + c*length, X[:, i], Z[:, i], r0 + c*(r1 - r0), dr, MU[:, i])
        for i, c in enumerate(scheme.c)))
    second, equations, constraints, moves, costs, paths = (
        ca.horzcat(*part) for part in results)
    known = node.first.numel()
    once, twice = ca.DM(scheme.once.T), ca.DM(scheme.twice.T)
    place = (x0[:known] + length*first(begin, x0, r0)@ca.DM(scheme.c).T
             + length**2*second@twice)
    speed = x0[known:] + length*Z[:node.motion, :]@once
    return ca.Function(
        'interval', [begin, x0, length, r0, r1, X, Z, MU],
        [ca.vertcat(place, speed) + moves - X, equations, constraints,
         length*costs@once[:, -1], paths])
