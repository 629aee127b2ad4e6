r"""Gradients of motions, by the adjoint of the steps that were made.

A step of a Runge-Kutta method with the stages :math:`X_k` and their rates
:math:`K_k = f(t_k, X_k)` is

.. math::

   X_k = x + h\sum_{j<k} a_{kj} K_j, \qquad
   x^+ = P\Big(x + h\sum_k b_k K_k\Big)

with the projection :math:`P` to the constraints. The derivatives
:math:`\lambda` of a cost by :math:`x^+` go back over it [1]_: first through
:math:`P`, whose Newton steps are differentiated one by one, then

.. math::

   \kappa_k = h\,b_k\lambda + h\sum_{i>k} a_{ik}\,\xi_i, \qquad
   \xi_k = f_x(X_k)^T\kappa_k, \qquad
   \lambda \leftarrow \lambda + \sum_k \xi_k,

and the derivatives by constants are the sum of all :math:`f_p^T\kappa_k` and
those of :math:`P`. Outputs in a step are those of its interpolant, integrals
have the weights of the step. So the result is the exact derivative of the
numbers that were computed, for steps of constant length. Terms of the order of
the tolerances are left out where a state is moved to the constraints, and
where the time of an event changes
(:mod:`~sympy_constrained.numeric.sensitivity.saltation`).

Memory grows by one number for each step, and a state for each block of steps.

References
==========

.. [1] J. M. Sanz-Serna, "Symplectic Runge-Kutta schemes for adjoint equations,
   automatic differentiation, optimal control, and more," SIAM Review 58 (2016)
   3-33.

"""
from dataclasses import dataclass
from functools import cache

import numpy as np
from sympy import Dummy, sympify

from ...errors import SingularEquationsError, UnsupportedFeatureError, warn
from ...graph import Graph, derivative
from ...graph import gradient as slopes_of
from ..codegen.native import with_given
from ..manifold.correction import newton_code, newton_graph
from ..names import Names, array, label, no_text
from .jumps import kink, warn_of_jumps
from .saltation import saltation
from .sensitivities import chosen, start_derivatives


@dataclass(frozen=True, eq=False)
class Gradient:
    """Derivatives of a cost; made by :meth:`.Trajectory.gradient`.

    ``result[m]`` is the derivative by a constant or an initial value; all are
    ``values``, shape (k,), in the order of ``by``. ``value`` is the cost, and
    ``start``, shape (ns,), its gradient by the initial states, tangent to the
    constraints.
    """

    value: float
    by: tuple
    values: np.ndarray
    start: np.ndarray

    def __getitem__(self, key):
        return float(self.values[
            Names(self.by, 'constant or initial value').index(key)])

    def __repr__(self):
        text = ', '.join(f'{label(item)}: {value:.6g}' for item, value in
                         zip(self.by, self.values))
        return f'<Gradient of {self.value:.6g}; {text}>'


def gradient(motion, by, cost, final_cost, weights, fixed):
    """The :class:`Gradient` of a motion; see :meth:`.Trajectory.gradient`."""
    tape = motion.tape
    if tape is None or not tape.parts:
        raise ValueError("The motion has no steps to go back over. Pass "
                         "`adjoint=True` to `simulate`.")
    if tape.fault:
        raise UnsupportedFeatureError(
            f"The motion has no gradient. {tape.fault}")
    compiled = tape.compiled
    by = chosen(compiled, by)
    constants = tuple(x for x in by if x in compiled.constants)
    seeds = array(np.zeros_like(motion.x) if weights is None else weights,
                  'weights')
    if seeds.shape != motion.x.shape:
        raise ValueError(
            f"`weights` has shape {seeds.shape}; it must be that of `x` of "
            f"the motion, {motion.x.shape}.")
    cost, final_cost = (
        sympify(no_text(x), strict=True) for x in (cost, final_cost))
    back = Backward(tape, constants, cost)
    end = tape.parts[-1]

    def at_end(items):
        return compiled.jacobian([final_cost], items)(end.t, end.x)[0]

    lam, slope = at_end(None), at_end(constants)
    value = compiled.values([final_cost])(end.t, end.x)[0]
    sign = 1 if end.ends[-1] > end.begins[-1] else -1
    owners = np.searchsorted(sign*np.array([part.t for part in tape.parts]),
                             sign*motion.t)
    for k in range(len(tape.parts) - 1, -1, -1):
        part, due = tape.parts[k], np.flatnonzero(owners == k)
        if part.event is not None:
            if part.after is None and motion.t[due[-1]] == part.t:
                lam = lam + seeds[due[-1]]      # the output at the event
                due = due[:-1]
            jump = saltation(compiled, part.event, part.t, part.x, constants,
                             part.after, sign)
            rest = back.integrand(part.t, part.x) + (
                at_end([compiled.equations.t])[0] if part.after is None else
                -back.integrand(part.t, part.after))
            lam, slope = (lam@jump.x_x + rest*jump.t_x,
                          slope + lam@jump.x_p + rest*jump.t_p)
        first = due[sign*(motion.t[due] - part.begins[0]) <= 0]
        due = due[len(first):]
        lam, slope, integral = back.over(
            part, np.append(motion.t[due], part.t),
            np.vstack([seeds[due], lam]), slope)
        lam = lam + seeds[first].sum(axis=0)
        value += integral
    for visited in back.visited:
        warn_of_jumps(compiled, by, *visited, [
            part.t for part in tape.parts if part.event is not None])
    if back.kink is not None:
        warn("Accelerations, or their slopes, have a kink near t = "
             f"{back.kink:.4g}, where a `Piecewise`, `Abs` or `Max` changes, "
             "and a step goes over it. The gradient has an error that is "
             "proportional to this step, or its square, and may exceed the "
             "tolerances by far, also if an event is there. Use "
             "`sensitivities`, or a smooth function.")
    begin = tape.parts[0]
    t, x = begin.begins[0], begin.y
    values = lam@start_derivatives(compiled, t, x, by, fixed)
    values[[by.index(item) for item in constants]] += slope
    T = compiled.tangent_basis(t, x)
    return Gradient(float(value), by, values, T@(T.T@lam))


class Backward:
    """The compiled adjoint of steps, for some constants and an integrand."""

    def __init__(self, tape, constants, cost):
        from ..integrate import loop
        self.loop, self.compiled, self.cost = loop, tape.compiled, cost
        self.constants, self.tableau = constants, loop.tableau_of(tape.method)
        compiled, time = tape.compiled, tape.compiled.equations.t
        self.vjp = compiled.vjp('rates' if cost == 0 else (
            *(derivative(x, time) for x in compiled.states), cost),
            (*compiled.states, *constants))
        self.code = cache(self._code)
        self.visited = []               # times and states of each part
        self.kink = None                # a time where derivatives jump

    def integrand(self, t, x):
        return 0. if self.cost == 0 else self.compiled.values(
            [self.cost])(t, x)[..., 0]

    def over(self, part, times, seeds, slope):
        """Derivatives by the state before steps and by constants, and the
        integral of the cost; ``seeds`` are derivatives at ``times``.
        """
        code, weights, _ = self.code(part.solver, part.rows)
        tableau, h = self.tableau, part.ends - part.begins
        owners = np.maximum(np.searchsorted(np.sign(
            h[0])*part.begins, np.sign(h[0])*times) - 1, 0)
        parts = np.minimum((times - part.begins[owners])/h[owners], 1.)
        row, extension = tableau.a[tableau.stages], tableau.extension
        count, steps, n = len(row), len(h), len(part.y)
        quadrature = np.zeros((steps, count))
        if self.cost != 0:
            quadrature[:] = np.outer(h, row)
            if parts[-1] < 1:           # an event within the last step
                quadrature[-1] = h[-1]*(extension@np.cumprod(
                    np.full(extension.shape[1], parts[-1])))
        lam, slope = np.zeros(n), slope.copy()
        X = np.empty((steps, count, n))
        failed = self.loop.go_back(
            **code, tableau=tableau, begins=part.begins, ends=part.ends,
            y=part.y, owners=owners, parts=parts, seeds=seeds,
            quadrature=quadrature, pull_weights=weights[0],
            turn_weights=weights[1], lam=lam, slope=slope, X=X)
        if failed >= 0:
            raise SingularEquationsError(
                "The gradient cannot go back over the step that begins at t = "
                f"{part.begins[failed]:.6g}: the equations, or the mass "
                "matrix, are almost singular there. Pass a smaller "
                "`max_step`, or use `sensitivities`.")
        self.visited.append((np.append(part.begins, part.t),
                             np.vstack([X[:, 0], part.x])))
        times = part.begins[:, None] + np.outer(h, tableau.c[:count])
        if self.kink is None:
            some = slice(tableau.stages)    # not those for outputs only
            self.kink = kink(self.compiled, self.constants, times[:, some],
                             X[:, some])
        where = np.nonzero(quadrature)
        integral = quadrature[where]@self.integrand(
            times[where], X[where]) if len(where[0]) else 0.
        return lam, slope, integral

    def _code(self, solver, rows):
        """Arguments of the loop for the rank of a part, the places of the
        weights, and the arrays that these use.
        """
        compiled, constants = self.compiled, self.constants
        rates, p = compiled.native_rates(solver)
        natives = rates, self.vjp._native(solver), rates, rates
        levels = [len(compiled.q_index), len(compiled.u_index), 0, 0, 0]
        moving, count = sum(levels), len(self.vjp.plan.of)
        if rows:
            turn = compiled.kept(
                ('turn', rows, constants),
                lambda: turned(compiled, rows, constants))
            natives = *natives[:2], newton_code(compiled, rows), turn
            levels[2:4] = map(len, rows)
        if None in natives[2:] and None not in natives[:2]:
            raise UnsupportedFeatureError(
                "The projection of this motion has no derivatives: its "
                "constraints are embedded, or a coordinate has no mass. "
                "Simulate with `stabilization=None`, or use `sensitivities`.")
        if None in natives:
            raise UnsupportedFeatureError(
                "The equations have no compiled solution, a coordinate has no "
                "mass, or multipliers in `cost` are not unique, because rows "
                "are redundant. Use `sensitivities`, or leave out redundant "
                "rows.")
        if rows:
            levels[4] = natives[2].size - sum(levels)
        values = (p, [*p, *np.zeros(count)], compiled.parameters(),
                  [*compiled.parameters(), *np.zeros(moving)])
        kept = [np.array(part, dtype=float) for part in values]
        names = 'code', 'pull_code', 'correct_code', 'turn_code'
        codes = {name: self.loop.Code(native.function)
                 for name, native in zip(names, natives)}
        return {**codes, 'p': np.array([part.ctypes.data for part in kept],
                                       np.uintp),
                'count': len(compiled.tables),
                'tables': self.loop.packed(compiled.tables.values()),
                'levels': np.array(levels),
                'size': max(native.size for native in natives)}, (
                    kept[1][len(p):], kept[3][len(kept[2]):]), kept


def turned(compiled, rows, constants):
    """Code for weights times the derivatives of a step of projection."""
    names, equations = ('out',), compiled.equations
    step = newton_graph(equations, rows)
    if step is None:
        return None
    g, out = with_given(
        step, names, compiled.inputs.given).load(None, names)
    weights = [Dummy() for _ in (*equations.q, *equations.u)]
    value = g.dot([g.input(x, dynamic=True) for x in weights],
                  [x for x, in out['out'][:len(weights)]])
    by = [g.input(x, dynamic=x in compiled.states)
          for x in (*compiled.states, *constants)]
    graph = Graph.freeze(g, {'out': slopes_of(g, value, by)})
    return compiled.native_output(graph, None, weights)
