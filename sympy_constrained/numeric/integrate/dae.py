"""Equations and constraints together, for solvers of ``F(t, y, y') = 0``.

The form of Gear, Gupta and Leimkuhler, of index one (:doc:`/theory/numbers`).
"""
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import BarycentricInterpolator
from sympy import Dummy

from ...errors import MissingIngredientError, NotFiniteError
from ...graph import Graph, jacobian
from ..compiled import CompiledEquations, compile_equations
from ..linear.solver import LinearSolver
from ..manifold.correction import independent
from ..names import label


# The tolerance of multipliers in multiples of that of states.
LOOSE = 1e4
# Nodes and weights of the integral of the power over a step.
PLACES, WEIGHTS = np.polynomial.legendre.leggauss(4)


@dataclass(frozen=True, eq=False, repr=False)
class DAEForm:
    """``F(t, y, y') = 0`` of index one; made by :func:`dae_form`.

    Attributes
    ==========

    compiled : CompiledEquations
    names : tuple of str
        Of the entries of ``y``: the states, then integrals of multipliers
        and corrections.
    t : float
    y0, yp0 : ndarray, shape (N,)
        Consistent with each other at ``t``.
    algebraic : ndarray of bool, shape (N,)
        Equations without a derivative. All entries of ``y`` are differential
        variables.
    multiplier : ndarray of bool, shape (N,)
        Entries of ``y`` of which only the derivative occurs.

    """

    compiled: CompiledEquations
    names: tuple
    t: float
    y0: np.ndarray
    yp0: np.ndarray
    algebraic: np.ndarray
    multiplier: np.ndarray
    _functions: tuple
    _solver: LinearSolver

    def __repr__(self):
        return (f'<DAEForm: {len(self.names)} equations, '
                f'{int(self.algebraic.sum())} of them constraints>')

    def residual(self, t, y, yp):
        """``F(t, y, y')``, shape (N,)."""
        return self._functions[0](t, *self._split(y, yp))['residual'][:, 0]

    def jacobian(self, t, y, yp):
        """Derivatives of the residual by ``y`` and by ``y'``, (N, N) each.
        """
        blocks = self._functions[1](t, *self._split(y, yp))
        by_y = np.zeros((len(self.names),)*2)
        by_y[:, :len(self.compiled.states)] = blocks['by_y']
        return by_y, blocks['by_yp']

    def _at(self, t, x):
        """The same form for a start at another state."""
        t, y0, yp0 = beginning(self.compiled, self._solver, t, x,
                               len(self.names))
        return replace(self, t=t, y0=y0, yp0=yp0)

    def _split(self, y, yp):
        x = np.asarray(y, dtype=float)[:len(self.compiled.states)]
        return x, None, np.asarray(yp, dtype=float).tolist()


def dae_form(model, start, t=0., constants=None, inputs=None) -> DAEForm:
    """Return the equations and constraints of a model as one residual.

    Examples
    ========

    >>> from numpy import abs
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.models import model
    >>> from sympy_constrained.numeric import dae_form
    >>> pendulum = model('cartesian_pendulum')
    >>> form = dae_form(pendulum.form(UdwadiaKalabaMethod), [1, 0, 0, 3],
    ...                 constants=pendulum.parameters)
    >>> form
    <DAEForm: 6 equations, 2 of them constraints>
    >>> print(*form.names)
    x y x' y' integral of lam1 correction of holonomic row 0
    >>> float(abs(form.residual(0, form.y0, form.yp0)).max())
    0.0

    Parameters
    ==========

    model : CompiledEquations
        Or what :func:`~sympy_constrained.numeric.compile_equations` takes,
        with its ``constants`` and ``inputs``.
    start : mapping or sequence
        A consistent state, at which redundant rows are detected.
    t : float

    Returns
    =======

    DAEForm

    """
    compiled = compile_equations(model, constants, inputs)
    x = compiled.names.vector(start, 'start')
    solver = compiled.linear_solver(t, x)
    size = len(compiled.unknowns)
    rows, columns = solver.kept or (np.arange(size),)*2
    outputs = [f'{name}_jacobian' for name, _ in compiled.levels]
    gradients = compiled.evaluate(outputs, t, x)
    kept = [independent(gradients[name]) for name in outputs]
    graph, symbols, names, algebraic = dae_graph(
        compiled, rows.tolist(), columns.tolist(), kept)
    return DAEForm(
        compiled, names, *beginning(compiled, solver, t, x, len(names)),
        algebraic, np.arange(len(names)) >= len(x), tuple(
            compiled.group(graph, group, symbols)
            for group in (('residual',), ('by_y', 'by_yp'))), solver)


def beginning(compiled, solver, t, x, size):
    """``t``, ``y`` and ``y'`` at a state."""
    W, r = compiled.matrices(t, x)
    z, _ = solver.solve(W, r)
    columns = np.arange(len(z)) if solver.kept is None else solver.kept[1]
    multipliers = z[columns[columns >= compiled.motion]]
    rates = compiled.rhs(t, x, solver=solver)
    extra = size - len(x)
    return (float(t), np.concatenate([x, np.zeros(extra)]), np.concatenate([
        rates, multipliers, np.zeros(extra - len(multipliers))]))


def dae_graph(compiled, rows, columns, kept):
    """The graph of the residual, the symbols of ``y'``, names, ``algebraic``,
    from independent ``rows`` and ``columns`` of ``W`` and residuals ``kept``.
    """
    equations, motion = compiled.equations, compiled.motion
    g, out = equations.graph.load()
    multipliers = [j for j in columns if j >= motion]
    corrections = corrected_rows(compiled, out, kept)
    names = [*map(label, equations.states),
             *(f'integral of {label(compiled.unknowns[j])}'
               for j in multipliers),
             *(f'correction of {name}' for *_, name in corrections)]
    symbols = [Dummy(f'yp{i}') for i in range(len(names))]
    derivatives = [g.input(x, dynamic=True) for x in symbols]
    ns, count = len(equations.states), len(out['rates'])
    rates = derivatives[:ns]
    for (index, gradient, _, _), change in zip(
            corrections, derivatives[len(names) - len(corrections):]):
        for i, slope in zip(index, gradient):
            rates[i] = g.sub(rates[i], g.mul(slope, change))
    z = dict(zip(range(motion), rates[count:]))
    z.update(zip(multipliers, derivatives[ns:]))
    dynamics, is_constraint = dynamic_rows(equations, g, out, rows, z)
    residual = [g.sub(x, f) for x, [f] in zip(rates, out['rates'])]
    residual += dynamics + [row for _, _, row, _ in corrections]
    x = [g.input(item, dynamic=True) for item in equations.states]
    graph = Graph.freeze(g, {
        'residual': ([[e] for e in residual], 1),
        'by_y': (jacobian(g, residual, x), ns),
        'by_yp': (jacobian(g, residual, derivatives), len(names))})
    return graph, symbols, tuple(names), np.array(
        [False]*count + is_constraint + [True]*len(corrections))


def corrected_rows(compiled, out, kept):
    """Constraints imposed by corrections, which replace no row of ``W``.

    Positions of states, gradient, residual and name of each.
    """
    replaced = {'velocity': set(compiled.equations.constraint_rows)}
    names = iter(compiled.residual_names)
    rows = []
    for (level, index), independent_ones in zip(compiled.levels, kept):
        labels = [next(names) for _ in out[level]]
        rows += [(index, out[f'{level}_jacobian'][k], out[level][k][0],
                  labels[k]) for k in independent_ones
                 if k not in replaced.get(level, ())]
    return rows


def dynamic_rows(equations, g, out, rows, z):
    """The rows of ``W z = r``, constraint rows replaced by velocity residuals.

    Also which rows were replaced.
    """
    velocity = {i: k for k, i in equations.constraint_rows.items()
                if k < len(out['velocity'])}
    residual = [
        out['velocity'][velocity[i]][0] if i in velocity else g.sub(
            g.sum(g.mul(out['W'][i][j], value) for j, value in z.items()),
            out['r'][i][0]) for i in rows]
    return residual, [i in velocity for i in rows]


# -- the solver -------------------------------------------------------------

class IDA:
    """IDA of SUNDIALS, by scikit-sundae, with SciPy's interface.

    It also integrates the work, if ``y`` and ``rates`` contain it. The rates
    keep the form for the next start.
    """

    def __init__(self, rates, t, y, t_bound, *, rtol, atol, max_step):
        try:
            from sksundae.ida import IDA as Solver
        except ImportError as error:
            raise MissingIngredientError(
                "method='IDA' needs the package scikit-sundae, which is not "
                "installed. Install it (pip install scikit-sundae), or use "
                "'Radau' of SciPy.") from error
        x = y[:len(rates.compiled.states)]
        rates.form = self.form = form = rates.form._at(t, x) if (
            rates.form) else dae_form(rates.compiled, x, t)
        self.rates, self.t_bound = rates, t_bound
        self.t, self.y, self.status = form.t, y, 'running'
        self.step_size = None
        self.nfev = 0
        self.count = len(form.compiled.states)

        def residual(t, y, yp, out):
            out[:] = self.residual(t, y, yp)

        def jacobian(t, y, yp, out, factor, matrix):
            by_y, by_yp = form.jacobian(t, y, yp)
            matrix[:] = by_y + factor*by_yp

        self.solver = Solver(
            residual, jacfn=jacobian, rtol=rtol,
            atol=atol*np.where(form.multiplier, LOOSE, 1.),
            max_step=0. if np.isinf(max_step) else float(max_step))
        self.solver.init_step(form.t, form.y0, form.yp0)

    def step(self):
        step = self.solver.step(self.t_bound, method='onestep',
                                tstop=self.t_bound)
        t, y = float(np.ravel(step.t)[-1]), np.atleast_2d(step.y)[-1]
        if not step.success or len({*nodes(self.t, t)}) < 6:
            self.status = 'failed'
            return
        self.accept(t, y.copy())
        if t == self.t_bound:
            self.status = 'finished'

    def states(self, start, end):
        """A polynomial of degree five, the largest of IDA, through its values.

        The last node brings IDA back to its state.
        """
        times = nodes(start, end)
        values = [np.atleast_2d(self.solver.step(s).y)[-1][:self.count]
                  for s in times]
        return BarycentricInterpolator(times, values)

    def residual(self, t, y, yp):
        """The residual; nan, where it has no value, shortens the step."""
        self.nfev += 1
        try:
            return self.form.residual(t, y, yp)
        except NotFiniteError:
            return np.full(len(y), np.nan)

    def accept(self, t, y):
        """Move to a new state, and add the work of the step."""
        t_old, work = self.t, self.y[self.count:]
        if len(work):
            work = work + self.work(t_old, t, self.states(t_old, t))
        self.step_size = abs(t - t_old)
        self.t_old, self.t = t_old, t
        self.y = np.append(y[:self.count], work)

    def work(self, start, end, states):
        """Integral of the power in a part of the step."""
        power = [self.rates(t, np.append(states(t), 0.))[-1]
                 for t in (start + end + (end - start)*PLACES)/2]
        return (end - start)/2*WEIGHTS@power

    def dense_output(self):
        """``t -> states and work`` in the last step."""
        start, end, work = self.t_old, self.t, self.y[self.count:]
        states = self.states(start, end)
        if not len(work):
            return Path(states)
        times = nodes(start, end)
        return Path(states, BarycentricInterpolator(times, [
            work - self.work(t, end, states) for t in times]))


class Path:
    """Interpolants of a step, columns for several times as in SciPy."""

    def __init__(self, *parts):
        self.parts = parts

    def __call__(self, t):
        if np.ndim(t):
            return np.array([self(s) for s in t]).T
        return np.concatenate([part(t) for part in self.parts])


def nodes(start, end):
    """Times that determine a polynomial of degree five, the end as last."""
    places = np.cos(np.pi*np.arange(5, 0, -1)/5)
    return [*(start + end + (end - start)*places)/2, end]
