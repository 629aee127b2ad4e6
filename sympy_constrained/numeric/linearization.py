r"""Matrices of the linearized motion on the constraints, at one state.

Explanation
===========

With the multipliers :math:`\lambda` among :math:`z` the equations and their
derivative are

.. math::

   \dot x_1 = f, \quad W z = r, \qquad
   W\,\delta z = \delta r - (\delta W) z, \quad
   z = \begin{bmatrix}\dot x_2\\ \lambda\end{bmatrix}

where :math:`\delta` differentiates by the states and the inputs :math:`w`.
These derivatives are computed on the graph, so they are exact. States move on
the constraints: with the derivatives :math:`K` of all residuals,

.. math::

   K_x\,\delta x + K_w\,\delta w = 0 \quad\Rightarrow\quad
   \delta x = T\,\delta x_i + T_w\,\delta w,

for the independent states :math:`x_i`, as many as there are degrees of
freedom at the level of the coordinates and of the speeds. On the constraints
redundant rows agree, and :math:`\delta\dot x_2` is unique. The derivatives of
:math:`\dot x_i` are :math:`A` and :math:`B`; neither multipliers nor
dependent states remain, and no rate of :math:`T` is needed.

Along a motion :math:`x(t)` the neighbouring motions obey
:math:`\delta\dot x_i = A\,\delta x_i + B\,\delta w` with matrices that depend
on time. At an equilibrium and in steady motion (coordinates that do change do
not occur in them) they are constant, and the eigenvalues of :math:`A` decide
the stability.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from ..errors import ConstraintError
from ..graph import Graph, jacobian, read
from .compiled import compile_equations
from .manifold.consistent_state import violations
from .manifold.correction import independent
from .manifold.projection import distances
from .tolerances import REST, TYPED

__all__ = ['Linearization', 'linearize']


@dataclass(frozen=True, eq=False)
class Linearization:
    """A linear state-space model; made by :func:`linearize`.

    It unpacks as ``A, B, C, D``.

    Attributes
    ==========

    A, B, C, D : ndarray
        Shapes (n, n), (n, k), (l, n), (l, k).
    states : tuple
        The n independent states.
    inputs : tuple
        The k specified functions, and derivatives of them.
    outputs : tuple
        The l expressions.
    rates : ndarray, shape (n,)
        Rates of the independent states at the point; all are zero at an
        equilibrium, those of the speeds in steady motion.
    basis : ndarray, shape (ns, n)
        Change of all states of the equations with the independent ones.

    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple
    inputs: tuple
    outputs: tuple
    rates: np.ndarray
    basis: np.ndarray

    def __iter__(self):
        return iter((self.A, self.B, self.C, self.D))


def linearize(model, at, outputs=None, *, t=0., p=None, dependent=None,
              constants=None, inputs=None) -> Linearization:
    """Linearize the motion on the constraints at a state, as arrays.

    Explanation
    ===========

    Derivatives are exact: no differences are taken. The matrices describe
    neighbouring motions, see the module for their meaning about a point that
    moves. ``control.ss(*result)`` and ``scipy.signal.StateSpace(*result)``
    take them.

    Examples
    ========

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.numeric import linearize
    >>> m, g, l = symbols('m g l')
    >>> x, y = dynamicsymbols('x y')
    >>> pendulum = UdwadiaKalabaMethod(
    ...     m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
    ...     hol_coneqs=[x**2 + y**2 - l**2])
    >>> A, B, C, D = linearize(pendulum, {x: 0, y: -2, "x'": 0, "y'": 0},
    ...                        constants={m: 1, g: 9.81, l: 2})
    >>> A
    array([[ 0.   ,  1.   ],
           [-4.905,  0.   ]])

    Parameters
    ==========

    model : CompiledEquations
        Or what :func:`~sympy_constrained.numeric.compile_equations` takes,
        with its ``constants`` and ``inputs``. Compiled equations keep the
        derivatives, so further calls take milliseconds. Constraints of
        SymPy's own methods are not known here, so all their states count as
        independent.
    at : mapping or sequence
        A state on the constraints.
    outputs : sequence of expressions, optional
        In states, their rates, inputs, constants and time; the independent
        states by default.
    t : float
    p : mapping or sequence, optional
        As for the functions of the compiled equations.
    dependent : sequence, optional
        States to be dependent as far as the constraints determine them; by
        default those of a method. Others follow by the size of pivots.

    Returns
    =======

    Linearization
        Columns of ``B`` are the specified functions that remain in the
        equations, about their values in ``inputs``. Feedback by expressions
        is part of ``A``; Python functions count as functions of time.

    Raises
    ======

    ConstraintError
        If the state is not on the constraints.
    SingularEquationsError
        If it is a singular configuration.

    """
    compiled = compile_equations(model, constants, inputs)
    x, p = compiled.names.vector(at, 'at'), compiled.parameters(p)
    check_point(compiled, t, x, p)
    if dependent is None:
        dependent = {*getattr(model, '_qdep', ()), *getattr(
            model, '_udep', ())} & {*compiled.states}
    solver = compiled.linear_solver(t, x, p)
    here = compiled.evaluate(('rates', 'W', 'r'), t, x, p)
    z = solver.solve_all(here['W'], here['r'][:, 0]).z
    chosen = compiled.states if outputs is None else tuple(outputs)
    found = compiled.kept(('linear', chosen), lambda: derivatives(
        compiled, chosen))(t, x, p, z.tolist())
    free, moves = tangent(
        compiled, found, compiled.names.indices(dependent, 'dependent'))
    explicit, n = len(here['rates']), len(free)
    by_all = found['motion']@moves
    dz = np.transpose([solver.solve(here['W'], -column)[0][:compiled.motion]
                       for column in by_all[explicit:].T])
    rates = np.concatenate([by_all[:explicit], dz])
    y = found['outputs']@np.concatenate([moves, dz])
    if outputs is None:
        chosen, y = tuple(compiled.states[i] for i in free), y[free]
    return Linearization(
        *np.hsplit(rates[free], [n]), *np.hsplit(y, [n]),
        tuple(compiled.states[i] for i in free), compiled.specifieds, chosen,
        np.append(here['rates'], z)[free], moves[:len(x), :n])


def check_point(compiled, t, x, p):
    """Raise unless the constraints hold."""
    found = distances(compiled, t, x, p)
    if not found.is_within(TYPED):
        rows, text = violations(compiled, found, TYPED)
        raise ConstraintError(
            f"The state `at` violates {text}, so no motion is near it. "
            "`consistent_state` finds one that satisfies the constraints.",
            rows=rows, residuals=found.residuals)


def derivatives(compiled, outputs):
    """Derivatives by states and inputs, as a function of ``(t, x, p, z)``.

    Of the rates and of ``W z - r`` (``motion``), of each level's residuals,
    and of the ``outputs``, these also by the accelerations.
    """
    equations = compiled.equations
    levels = [name for name, _ in compiled.levels]
    g, out = equations.graph.load(None, ('rates', 'W', 'r', *levels))
    W = out.pop('W')

    def slopes(rows, inputs):
        return jacobian(g, rows, inputs), len(inputs)

    by = [g.input(item, dynamic=True)
          for item in (*equations.states, *compiled.specifieds)]
    z = [g.input(item, dynamic=True) for item in equations.unknowns]
    flat = {name: [row[0] for row in rows] for name, rows in out.items()}
    bind(g, compiled, flat['rates'])
    balance = [g.sub(g.dot(row, z), right)
               for row, right in zip(W, flat['r'])]
    graph = Graph.freeze(g, {
        'motion': slopes(flat['rates'] + balance, by),
        'outputs': slopes([read(g, e) for e in outputs],
                          by + z[:compiled.motion]),
        **{name: slopes(flat[name], by) for name in levels}})
    return compiled.group(graph, tuple(graph.outputs), equations.unknowns)


def bind(g, compiled, rates):
    """Let expressions contain rates of coordinates and inputs by feedback."""
    equations = compiled.equations
    for state, rate in zip(equations.states, rates):
        g.bound.setdefault(state.diff(equations.t), rate)
    for item, expr in compiled.inputs.feedback.items():
        g.bound[item] = read(g, expr)


def tangent(compiled, found, preferred):
    """Independent states, and the changes of states and inputs with them.

    The columns are the independent states, then the inputs.
    """
    count = len(compiled.states)
    moves = np.eye(count + len(compiled.specifieds))
    free = set(range(count))
    for name, index in compiled.levels:
        rows = independent(found[name][:, index])
        K = found[name][rows]@moves
        weights = np.where(np.isin(index, preferred), 1., REST)
        order = qr(K[:, index]*weights, mode='r', pivoting=True)[1]
        held = index[order[:len(rows)]]
        moves -= moves[:, held]@np.linalg.solve(K[:, held], K)
        free -= set(held.tolist())
    free = sorted(free)
    return free, moves[:, free + list(range(count, len(moves)))]
