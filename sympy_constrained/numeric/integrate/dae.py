"""Equations and constraints together, for solvers of ``F(t, y, y') = 0``.

The form of Gear, Gupta and Leimkuhler, of index one (:doc:`/theory/numbers`).
"""
from dataclasses import dataclass

import numpy as np
from sympy import Dummy

from ...errors import MissingIngredientError, NotFiniteError
from ...graph import Graph, jacobian
from ..codegen.solution import power
from ..compiled import CompiledEquations, compile_equations
from ..manifold.correction import independent
from ..names import label
from .passage import Polynomial


# The tolerance of multipliers in multiples of that of states.
LOOSE = 1e4


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

    def _split(self, y, yp):
        x = np.asarray(y, dtype=float)[:len(self.compiled.states)]
        # The functions are kept also for other constants.
        return x, self.compiled.parameters(), np.asarray(
            yp, dtype=float).tolist()


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
    return form_at(compiled, t, compiled.names.vector(start, 'start'))


def form_at(compiled, t, x, work=()):
    """The :class:`DAEForm` at a state; with ``work`` it is the last ``y``."""
    solver = compiled.linear_solver(t, x)
    size = len(compiled.unknowns)
    rows, columns = map(tuple, solver.kept or (range(size),)*2)
    outputs = [f'{name}_jacobian' for name, _ in compiled.levels]
    gradients = compiled.evaluate(outputs, t, x)
    kept = tuple(tuple(independent(gradients[name])) for name in outputs)

    def made():
        graph, symbols, *found = dae_graph(
            compiled, rows, columns, kept, work)
        return *found, tuple(
            compiled.group(graph, group, symbols)
            for group in (('residual',), ('by_y', 'by_yp')))

    names, algebraic, functions = compiled.kept(
        (DAEForm, rows, columns, kept, work), made)
    z, _ = solver.solve(*compiled.matrices(t, x))
    multipliers = z[[j for j in columns if j >= compiled.motion]]
    rates = compiled.rhs(t, x, solver=solver)
    y, yp = np.zeros((2, len(names)))
    y[:len(x)] = x
    yp[:len(x) + len(multipliers)] = *rates, *multipliers
    multiplier = np.arange(len(names)) >= len(x)
    if work:
        multiplier[-1] = False
    return DAEForm(compiled, names, float(t), y, yp, algebraic, multiplier,
                   functions)


def dae_graph(compiled, rows, columns, kept, work):
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
    algebraic = [False]*count + is_constraint + [True]*len(corrections)
    if work:
        names, algebraic = [*names, 'work'], [*algebraic, False]
        symbols.append(Dummy('power'))
        derivatives.append(g.input(symbols[-1], dynamic=True))
        residual.append(g.sub(derivatives[-1], power(
            g, {name: out[name] for name in work}, equations,
            [[x] for x in rates])))
    x = [g.input(item, dynamic=True) for item in equations.states]
    graph = Graph.freeze(g, {
        'residual': residual,
        'by_y': (jacobian(g, residual, x), ns),
        'by_yp': (jacobian(g, residual, derivatives), len(names))})
    return graph, symbols, tuple(names), np.array(algebraic)


def corrected_rows(compiled, out, kept):
    """States, gradient, residual, name of each row that is corrected only."""
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
    """Rows of ``W z = r`` or velocity residuals, and which are the latter."""
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

    It also integrates the work, if ``y`` and ``rates`` contain it.
    """

    def __init__(self, rates, t, y, t_bound, *, rtol, atol, max_step):
        try:
            from sksundae.ida import IDA as Solver
        except ImportError as error:
            raise MissingIngredientError(
                "method='IDA' needs the package scikit-sundae, which is not "
                "installed. Install it (pip install scikit-sundae), or use "
                "'Radau' of SciPy.") from error
        count = len(rates.compiled.states)
        self.form = form = form_at(
            rates.compiled, t, y[:count], rates.work)
        # Positions of the states and the work among the unknowns.
        self.places = [*range(count), *[-1]*(len(y) - count)]
        form.y0[self.places], form.yp0[self.places] = y, rates(t, y)
        self.t, self.y, self.t_bound = form.t, y, t_bound
        self.status, self.nfev = 'running', 0

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
        t = float(np.ravel(step.t)[-1])
        if not step.success or len({*nodes(self.t, t)}) < 6:
            self.status = 'failed'
            return
        self.t_old, self.t = self.t, t
        self.y = np.atleast_2d(step.y)[-1][self.places]
        if self.t == self.t_bound:
            self.status = 'finished'

    def dense_output(self):
        """A polynomial of degree five, the largest of IDA, through its values.

        The last node brings IDA back to its state.
        """
        times = nodes(self.t_old, self.t)
        return Polynomial(times, [
            np.atleast_2d(self.solver.step(s).y)[-1][self.places]
            for s in times])

    def residual(self, t, y, yp):
        """The residual; nan, where it has no value, shortens the step."""
        self.nfev += 1
        try:
            return self.form.residual(t, y, yp)
        except NotFiniteError:
            return np.full(len(y), np.nan)


def nodes(start, end):
    """Times that determine a polynomial of degree five, the end as last."""
    places = np.cos(np.pi*np.arange(5, 0, -1)/5)
    return [*(start + end + (end - start)*places)/2, end]
