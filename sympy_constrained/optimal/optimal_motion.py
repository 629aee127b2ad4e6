"""Motions between given states with the least cost."""
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sympy import Derivative, sympify

from ..errors import UnsupportedFeatureError, warn
from ..interop.exported import Exported
from ..numeric.codegen.walk import library
from ..numeric.compiled import (
    CompiledEquations, compile_equations, equations_of)
from ..numeric.integrate.records import Records
from ..numeric.integrate.arguments import time_span
from ..numeric.integrate.simulate import simulate
from ..numeric.linear.rank_changes import CarriedRank
from ..numeric.names import Names, label, number
from ..numeric.outcome import Reason
from ..numeric.progress import Progress
from ..numeric.table import Table
from ..numeric.trajectory import Trajectory
from .collocation import radau
from .problem import INTERRUPTED, Problem


@dataclass(frozen=True, eq=False)
class OptimalMotion:
    """The result of :func:`optimal_motion`; ``result[q]`` is a history.

    ``motion`` is that at the start and at all nodes, without its work;
    ``controls`` maps controls to a :class:`.Table`, a polygon over the
    intervals. ``equations`` have them as inputs. ``violation`` is the largest
    residual of the discrete problem.
    """

    motion: Trajectory
    controls: dict
    cost: float
    equations: CompiledEquations
    violation: float

    @property
    def success(self) -> bool:
        """Whether the motion obeys all conditions at the least cost nearby."""
        return self.motion.success

    @property
    def message(self) -> str:
        """How the search ended."""
        return self.motion.message

    def __getitem__(self, key) -> np.ndarray:
        """History of a state, multiplier or control at ``motion.t``."""
        for control, table in self.controls.items():
            if key in (control, label(control)):
                return np.array([table(t) for t in self.motion.t])
        return self.motion[key]

    def __repr__(self):
        t = self.motion.t
        return (f'<OptimalMotion from {t[0]:g} to {t[-1]:g}, cost '
                f'{self.cost:.6g}: {self.message}>')

    @cached_property
    def error(self) -> float:
        """Largest difference of a state from a simulation of its interval.

        It is nan unless ``success``.
        """
        if not self.success:
            return np.nan
        breaks = next(iter(self.controls.values())).times
        where = np.searchsorted(self.motion.t, breaks)
        worst = 0.
        for i, j in zip(where, where[1:]):
            run = simulate(
                self.equations, self.motion.t[[i, j]], self.motion.x[i],
                rtol=1e-10, atol=1e-12)
            worst = max(worst, np.abs(run.x[-1] - self.motion.x[j]).max())
        return float(worst)


def optimal_motion(model, cost, t_span, start, end, controls, *, bounds=None,
                   final_cost=0, constants=None, inputs=None, guess=None,
                   intervals=40, nodes=5, tolerance=1e-8,
                   max_iterations=1000, progress=None) -> OptimalMotion:
    r"""Find the controls of least cost between two states.

    Minimizes :math:`\int_{t_0}^{t_1} L\, dt + K(t_1)` by direct collocation
    (:mod:`.collocation`) and IPOPT, which comes with casadi. Controls are
    polygons, so bounds on them hold at all times; other bounds hold at the
    nodes. The result is least among its neighbours; which one is found depends
    on the ``guess``.

    Examples
    ========

    ::

        best = optimal_motion(
            method, force**2, 2, {x: 0, theta: 0, v: 0, omega: 0},
            {x: 1, theta: pi, v: 0, omega: 0}, [force],
            bounds={force: (-20, 20), x: (-2, 2)}, constants=values)
        best.cost, best['theta'], best.controls[force]

    Parameters
    ==========

    model : a method or EquationsOfMotion
    cost : expression
        Integrand :math:`L` of states, accelerations, multipliers, controls,
        constants and time.
    t_span : float or pair
        The end time, or start and end time. A pair in place of the end time
        bounds it: ``(0, (1, 10))``, with the ``cost`` 1 for the shortest time.
    start, end : mapping or sequence
        State -> value, for those that are given, or all values in order. The
        constraints have to allow them.
    controls : sequence
        Specified functions of the equations, by object or name.
    bounds : mapping, optional
        State, control or expression as for ``cost`` -> pair of bounds.
    final_cost : expression, optional
        :math:`K`, of states and time at the end.
    constants, inputs : mapping
        As for :func:`.compile_equations`; inputs are expressions.
    guess : mapping, optional
        State or control -> values at equal distances in time. Without it a
        state goes straight from start to end, and controls are zero.
    intervals : int
    nodes : int
        In each interval; the error is of order ``2*nodes - 1`` in its length.
    tolerance : float
        Of the solver.
    max_iterations : int
    progress : bool, optional

    Returns
    =======

    OptimalMotion
        After Ctrl-C or a failure the best motion so far, with
        ``success=False`` and a warning.

    Raises
    ======

    ConstraintError
        If start or end contradict the constraints.
    ValueError, KeyError
        If names are unknown, or bounds exclude the start or the end.
    UnsupportedFeatureError
        If rates of controls are in the equations.
    MissingIngredientError
        If casadi is not installed, or inputs have no values.

    """
    ca = library('casadi', 'casadi')
    inputs = dict(inputs or {})
    known = Names(equations_of(model).specifieds,
                  'specified function of the equations')
    controls = tuple(known.objects[k] for k in known.indices(
        controls, 'controls'))
    if intervals < 1 or nodes < 2:
        raise ValueError(
            f"`intervals` is {intervals} and `nodes` is {nodes}; give whole "
            "numbers from 1 and 2.")
    problem = Problem(
        ca, model, end_times(t_span), (start, end), {
            'constants': constants,
            'inputs': {**inputs, **dict.fromkeys(controls, 0)}}, guess or {})
    exported = Exported.of(
        model, problem.times[0], problem.ends[0], constants, inputs)
    problem.controls = Names(exported.free, 'control')
    for f in exported.free:
        if getattr(f, 'expr', f) not in controls:
            raise UnsupportedFeatureError(
                f"The input {label(f)} is a table or a Python function, which "
                "optimal motions do not support. Give an expression.")
        if isinstance(f, Derivative):
            raise UnsupportedFeatureError(
                f"The equations contain the rate {label(f)} of a control. "
                "Make the function a coordinate, and the force that moves it "
                "the control.")
    problem.transcribe(
        exported, (sympify(cost, strict=True), sympify(
            final_cost, strict=True)), bounds or {},
        intervals, radau(nodes))
    bar = Progress(0, None, progress, 'iteration')
    try:
        found = problem.solve(tolerance, max_iterations, bar)
    finally:
        bar.close()
    result = optimum(problem, found, inputs, bar.seconds)
    if not result.success:
        warn(result.message)
    return result


def optimum(problem, found, inputs, seconds):
    begin, values = problem.times[0], found.values
    t = problem.places(begin, values['T'][0, 0])
    x = np.vstack([values['x0'].T, values['X'].T])
    breaks = t[::len(problem.scheme.c)]
    controls = {f: Table(breaks, row, 'linear')
                for f, row in zip(problem.controls, values['U'])}
    equations = compile_equations(
        problem.model, problem.options['constants'], {**inputs, **controls})
    records = Records(equations, CarriedRank(equations, begin, x[0]), False)
    records.add(t, x, is_exact=False)
    reason = (Reason.END if found.success else Reason.INTERRUPTED
              if found.status in INTERRUPTED else Reason.NOT_OPTIMAL)
    message = problem.message(found)
    motion = replace(records.trajectory(
        reason=reason, message=message,
        statistics={'seconds': seconds, 'iterations': found.iterations}),
        work=None)                      # it is not known
    return OptimalMotion(motion, controls, found.cost, equations,
                         float(found.excess.max(initial=0.)))


def end_times(t_span):
    if not np.iterable(t_span) or not any(map(np.iterable, t_span)):
        begin, end = time_span(t_span)
        if not begin < end:
            raise ValueError(
                f"`t_span` ends at {end:g}, which does not follow the start "
                f"{begin:g}. Give a later time.")
        return begin, end, end
    begin, (low, high) = number(t_span[0]), map(number, t_span[1])
    if not begin < low <= high:
        raise ValueError(
            f"`t_span` bounds the end time by {low:g} and {high:g}, which do "
            f"not follow the start {begin:g}. Give increasing times.")
    return begin, low, high
