"""One model, every formulation that applies, side by side."""
from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from sympy.physics.mechanics import KanesMethod, LagrangesMethod

from .builders import mass_centres
from .diagnostics import ConstraintReport, constraint_report
from .equations import EquationsOfMotion
from .errors import ConstrainedDynamicsError, MissingIngredientError
from .methods import UdwadiaKalabaMethod
from .models import Model
from .numeric import (
    CompiledEquations, Trajectory, compile_equations, consistent_state,
    simulate)
from .numeric.names import label

__all__ = ['Comparison', 'Formulation', 'compare']

SAMPLES = 8
AGREE = 1e-8
MOVED = 1e-6                    # of a start, to be told


@dataclass(frozen=True, eq=False)
class Formulation:
    """What one formulation made of the model.

    Attributes
    ==========

    name : str
    seconds : float
        Processor time of the derivation.
    accelerations : ndarray, shape (number of states, o), or None
        At the sampled states; None if there are none.
    verdict : str
        Agreement with the reference, or what went wrong.

    """

    name: str
    seconds: float
    accelerations: np.ndarray | None
    verdict: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of :func:`compare`; ``print`` it for a table.

    Attributes
    ==========

    model : Model
    method : UdwadiaKalabaMethod
    report : ConstraintReport
    compiled : CompiledEquations
    formulations : tuple of Formulation
        The first is the reference.
    trajectory : Trajectory
    moved : dict
        State -> by how much the start was moved onto the constraints.

    """

    model: Model
    method: UdwadiaKalabaMethod
    report: ConstraintReport
    compiled: CompiledEquations
    formulations: tuple
    trajectory: Trajectory
    moved: dict

    @property
    def agrees(self):
        """Whether all formulations of this package agree."""
        return all(f.verdict.startswith(('reference', 'agrees'))
                   for f in self.formulations if f.name.startswith('Udw'))

    def __str__(self):
        n, o, m = self.method.system.counts
        freedom = o - self.report.rank
        names = self.method.system.constraint_names
        lines = [
            f'{self.model.name}: {self.model.title}',
            f'  {n} coordinates, {o} speeds, {m} constraint rows of rank '
            f'{self.report.rank}, {freedom} degree'
            f'{"s" if freedom != 1 else ""} of freedom']
        for k in self.report.redundant_rows:
            used = self.report.relations.get(k, {})
            others = ', '.join(names[i] for i in used) or 'no other row'
            lines.append(f'  redundant: {names[k]} follows from {others}')
        graph = self.method.system.graph
        lines.append('  M, Q, A, b have '
                     f'{graph.operation_count(("M", "Q", "A", "b"))} '
                     'operations')
        width = max(len(f.name) for f in self.formulations)
        lines += [f'  {f.name:{width}}  {f.seconds:8.3f} s  {f.verdict}'
                  for f in self.formulations]
        if self.moved:
            lines.append('  start moved onto the constraints: ' + ', '.join(
                f'{label(x)} by {by:.3g}' for x, by in self.moved.items()))
        found = self.trajectory
        lines.append(f'  simulated to t = {found.t[-1]:g}: '
                     f'{found.reason.value}')
        if found.residuals.size:
            lines.append('  largest constraint residual '
                         f'{found.largest_residual:.1e}')
        error = found.energy_error
        if error is not None and len(error):
            lines.append(
                f'  energy balance holds to {np.abs(error).max():.1e}, the '
                f'energy changes by {np.ptp(found.energy):.3g} and the work '
                f'by {np.ptp(found.work):.3g}')
        forces = np.abs(found.constraint_forces)
        if forces.size:
            lines.append('  largest generalized constraint force '
                         f'{forces.max():.4g}')
        return '\n'.join(lines)

    def mass_centre_paths(self):
        """Name of a body -> its path, array (len(t), 3)."""
        graph = mass_centres(self.method.system)
        paths = {}
        for name in graph.outputs:
            position = self.compiled.output(graph, name)
            paths[name] = np.array([
                np.reshape(position(t, x), 3) for t, x in
                zip(self.trajectory.t, self.trajectory.x)])
        return paths

    def save(self, folder):
        """Write the pictures of the motion; return their paths."""
        from .visual import plot, plot_motion, plot_multipliers
        folder.mkdir(parents=True, exist_ok=True)
        figures = {'overview': plot(self.trajectory)}
        if self.trajectory.multipliers.shape[1]:
            figures['multipliers'] = plot_multipliers(self.trajectory)
        paths = self.mass_centre_paths()
        if paths:
            figures['motion'] = plot_motion(
                {name: path[:, :2].T for name, path in paths.items()})
        written = []
        for name, figure in figures.items():
            written.append(folder/f'{self.model.name}_{name}.png')
            figure.savefig(written[-1], dpi=110)
        return written


def compare(model, t_end=None, upstream_limit=60., progress=None):
    """Derive a model with every formulation, compare and simulate.

    Explanation
    ===========

    The reference is the block system of :class:`.UdwadiaKalabaMethod`,
    solved numerically with a rank-revealing solver. Beside it stand its
    closed form and SymPy's own method. All are evaluated at states along the
    simulated motion, and their accelerations and the generalized constraint
    forces that follow from them are compared.

    Parameters
    ==========

    model : Model
        See :mod:`sympy_constrained.models`.
    t_end : float, optional
        Length of the simulation; that of the model by default.
    upstream_limit : float
        Seconds that SymPy's own methods may take; 0 leaves them out.
    progress : bool, optional
        See :func:`.simulate`.

    Returns
    =======

    Comparison

    """
    began = time.process_time()
    method = UdwadiaKalabaMethod(**model.arguments, **model.extra)
    equations = method.equations_of_motion
    seconds = time.process_time() - began
    missing = [str(x) for x in equations.constants
               if x not in model.parameters]
    missing += [str(x) for x in equations.states if x not in model.start]
    if missing:
        raise MissingIngredientError(
            f"No number is known for {', '.join(missing)}. Give constants "
            "in `parameters` and states in `start`.")
    compiled = compile_equations(method, {
        x: model.parameters[x] for x in equations.constants},
        dict(model.inputs))
    x0 = consistent_state(compiled, dict(model.start), fixed=model.fixed)
    t_end = model.t_end if t_end is None else t_end
    trajectory = simulate(compiled, t_end, x0, t_eval=401,
                          progress=progress, throw=False)
    picks = np.unique(np.linspace(
        0, len(trajectory.t) - 1, SAMPLES).astype(int))
    states = [(trajectory.t[i], trajectory.x[i]) for i in picks]
    reference = np.array([compiled.accelerations(t, x) for t, x in states])
    sample = {**dict(zip(compiled.constants, compiled.p)),
              **dict(zip(compiled.states, x0))}
    report = constraint_report(method, sample)
    found = [Formulation('UdwadiaKalabaMethod', seconds, reference,
                         'reference')]
    found.append(closed_form(model, compiled, sample, states, reference))
    if upstream_limit:
        found += [upstream(model, base, compiled, states, reference,
                           upstream_limit) for base in applicable(model)]
    moved = {x: by for x, by in zip(
        compiled.states, x0 - compiled.names.vector(model.start, 'start'))
        if abs(by) > MOVED}
    return Comparison(model, method, report, compiled, tuple(found),
                      trajectory, moved)


def closed_form(model, compiled, sample, states, reference):
    """The accelerations in closed form."""
    began = time.process_time()
    method = UdwadiaKalabaMethod(**{
        **model.arguments, **model.extra, 'sample': sample})
    graph = method.closed_form
    seconds = time.process_time() - began

    return evaluated('UdwadiaKalabaMethod, closed form', seconds,
                     compiled.output(graph, 'acceleration'), states,
                     reference, compiled)


def applicable(model):
    """SymPy's methods that take a model of this shape."""
    return [{'kane': KanesMethod, 'lagrange': LagrangesMethod}[model.shape]]


def upstream(model, base, compiled, states, reference, limit):
    """What one of SymPy's own methods does with the model."""
    name = f"SymPy's {base.__name__}"
    began = time.process_time()
    own = [option for option in model.extra if option != 'potential_energy'
           or model.extra[option] == 'include']
    if own:
        return Formulation(name, 0., None, 'not tried: it does not take '
                           f'{", ".join(own)}')
    try:
        with time_limit(limit):
            method = model.form(base)
            equations = EquationsOfMotion.from_method(method)
    except TimeoutError:
        return Formulation(name, limit, None,
                           f'stopped after {limit:g} s')
    except Exception as error:          # whatever it is, it is the result
        text = ' '.join(str(error).split())
        return Formulation(name, time.process_time() - began, None,
                           f'raises {type(error).__name__}: {text[:90]}')
    seconds = time.process_time() - began
    rates = {x.diff(equations.t) for x in equations.states}
    left = [str(x) for x in equations.specifieds if x in rates]
    if left:
        return Formulation(name, seconds, None, 'leaves '
                           f'{", ".join(left)} in its equations')
    theirs = compile_equations(equations, {
        x: model.parameters[x] for x in equations.constants},
        dict(model.inputs))
    order = [compiled.states.index(x) for x in equations.states]
    back = [list(equations.u).index(x) for x in compiled.equations.u]
    count = len(equations.u)

    def accelerations(t, x):
        W, r = theirs.matrices(t, x[order])
        return np.linalg.solve(W, r)[:count][back]

    return evaluated(name, seconds, accelerations, states, reference,
                     compiled)


def evaluated(name, seconds, accelerations, states, reference, compiled):
    """A formulation with its verdict."""
    try:
        values = np.array([np.ravel(accelerations(t, x)) for t, x in states])
    except (ArithmeticError, ValueError, np.linalg.LinAlgError,
            ConstrainedDynamicsError) as error:
        return Formulation(name, seconds, None,
                           f'has no value: {error}')
    if not np.isfinite(values).all():
        return Formulation(name, seconds, values, 'returns nan')
    error = np.abs(values - reference).max()/(np.abs(reference).max() or 1.)
    off, size = [], []
    for (t, x), mine, theirs in zip(states, reference, values):
        known = compiled.evaluate(('M', 'Q'), t, x)
        off.append(known['M']@(theirs - mine))
        size.append(known['M']@mine - known['Q'][:, 0])
    force = np.abs(off).max()/(np.abs(size).max() or 1.)
    verdict = 'agrees' if max(error, force) < AGREE else 'DIFFERS'
    return Formulation(
        name, seconds, values, f'{verdict} to {error:.1e}' + (
            f', constraint forces to {force:.1e}' if compiled.has('A')
            else ''))


@contextmanager
def time_limit(seconds):
    """Raise TimeoutError after a time, where the platform can."""
    if (threading.current_thread() is not threading.main_thread()
            or not hasattr(signal, 'setitimer')):
        yield
        return

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
