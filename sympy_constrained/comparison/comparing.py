"""Derive, evaluate and judge every formulation of a model."""
from __future__ import annotations

import time
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from ..analysis.constraint_rank import (
    ConstraintReport, constraint_report, described)
from ..errors import (
    ConstrainedDynamicsError, ConstraintError, MissingIngredientError,
    SimulationError)
from ..methods import UdwadiaKalabaMethod
from ..methods.base import ConstrainedMethod
from ..models import Model, model as ready_model
from ..numeric import (
    CompiledEquations, Reason, Trajectory, compile_equations, consistent_state,
    simulate)
from ..numeric.names import Names, label, sentence
from .candidates import (
    Case, NotTried, function_of, operations_of, recipes, remade, sizes_of)
from .formulation import Formulation, Verdict
from .ground import Ground
from .limits import time_limit
from .table import as_table, wrapped

__all__ = ['Comparison', 'compare']

SAMPLES = 8
AGREE = 1e-8
MOVED = 1e-6                    # of a start, to be told
ATTEMPTS = 10                   # at random states, for each that is wanted
REPEATS, LONG = 7, 0.5          # of a measurement of time, its seconds


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of :func:`compare`; ``print`` it for a table.

    Attributes
    ==========

    model : Model
    method : ConstrainedMethod
        The reference.
    report : ConstraintReport
    compiled : CompiledEquations
        Of the reference.
    formulations : tuple of Formulation
        The first is the reference.
    states : list of (t, x)
        Where they were compared.
    trajectory : Trajectory or None
        None if nothing was simulated.
    moved : dict
        State -> by how much the start was moved onto the constraints.

    """

    model: Model
    method: ConstrainedMethod
    report: ConstraintReport
    compiled: CompiledEquations
    formulations: tuple
    states: list
    trajectory: Trajectory | None
    moved: dict

    @property
    def agrees(self):
        """Whether nothing is wrong, so that all agree that have to.

        Formulations that refuse the model, or were stopped at the limit, do
        not count, nor do errors of SymPy's methods.
        """
        return not any(f.is_trouble for f in self.formulations)

    @property
    def interrupted(self):
        """Whether the keyboard ended it before all was tried."""
        return any(f.verdict is Verdict.INTERRUPTED
                   for f in self.formulations)

    def __getitem__(self, name):
        """The formulation of a name."""
        for formulation in self.formulations:
            if formulation.name == name:
                return formulation
        raise KeyError(
            f"{name!r} was not compared. There are "
            f"{', '.join(repr(f.name) for f in self.formulations)}.")

    # -- in words --------------------------------------------------------

    def __str__(self):
        return '\n'.join([
            *wrapped(self.headline()), '', as_table(self.formulations), '',
            *wrapped(self.motion())])

    def table(self, format='text'):
        """The table alone, as ``'text'`` or ``'markdown'``."""
        return as_table(self.formulations, format)

    def to_markdown(self):
        """All that ``print`` shows, in Markdown."""
        title, *lines = self.headline()
        return '\n\n'.join([
            f'## {title}', '\n'.join(f'- {x.strip()}' for x in lines),
            self.table('markdown'),
            '\n'.join(f'- {x.strip()}' for x in self.motion())])

    def as_rows(self):
        """A dictionary for each formulation, for a table of your own."""
        return [f.as_row() for f in self.formulations]

    def headline(self):
        """Lines on what the model is."""
        graph = self.method.system.graph
        return [
            f'{self.model.name}: {self.model.title}',
            *(f'  {line}' for line in described(
                self.method.system, self.report)),
            '  M, Q, A, b have '
            f'{graph.operation_count(("M", "Q", "A", "b"))} operations']

    def motion(self):
        """Lines on the simulation, or on where it was compared instead."""
        lines = []
        if self.moved:
            lines.append('  start moved onto the constraints: ' + ', '.join(
                f'{label(x)} by {by:.3g}' for x, by in self.moved.items()))
        found = self.trajectory
        if found is None:
            lines.append(f'  compared at {len(self.states)} random states '
                         'on the constraints')
            return lines
        lines.append(f'  simulated to t = {found.t[-1]:g}: '
                     f'{found.reason.value}')
        if found.residuals.size:
            lines.append('  largest constraint residual '
                         f'{found.largest_residual:.1e}')
        error = found.energy_error
        if error is not None:
            lines.append(
                f'  energy balance holds to {np.abs(error).max():.1e}, the '
                f'energy changes by {np.ptp(found.energy):.3g} and the work '
                f'by {np.ptp(found.work):.3g}')
        forces = np.abs(found.constraint_forces)
        return [*lines, '  largest generalized constraint force '
                f'{forces.max():.4g}']

    # -- in pictures -----------------------------------------------------

    def figure(self):
        """One picture of the table; see :func:`.plot_comparison`."""
        from .figure import plot_comparison
        return plot_comparison(self)

    def save(self, folder):
        """Write all pictures; return their paths.

        Of the comparison, and of the motion if one was simulated.
        """
        import matplotlib.pyplot as plt
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name, figure in self._figures().items():
            written.append(folder/f'{self.model.name}_{name}.png')
            figure.savefig(written[-1], dpi=110)
            plt.close(figure)
        return written

    def _figures(self):
        """Name -> figure."""
        from ..plotting import plot, plot_multipliers, plot_snapshots
        figures = {'comparison': self.figure()}
        if self.trajectory is None:
            return figures
        figures['overview'] = plot(self.trajectory)
        if self.trajectory.multipliers.shape[1]:
            figures['multipliers'] = plot_multipliers(self.trajectory)
        with suppress(ValueError, ConstrainedDynamicsError):
            # where the bodies are may not be known
            figures['motion'] = plot_snapshots(self.trajectory, self.model)
        return figures


def compare(model, t_end=None, *, constants=None, start=None, inputs=None,
            fixed=None, limit=60., forms=False, upstream=True, seed=0,
            progress=None):
    """Derive a model with every formulation, compare and simulate.

    Explanation
    ===========

    The reference is the block system of :class:`.UdwadiaKalabaMethod`,
    solved numerically with a rank-revealing solver. Beside it stand a
    solution of the same blocks at 50 digits, the other methods of this
    package, and SymPy's own. All are evaluated at states along the simulated
    motion, or at random states that satisfy the constraints if nothing is
    simulated, and their accelerations and generalized constraint forces are
    compared as rates of, and forces on, the speeds of the reference.

    A formulation that does not take the model says so, and nothing that goes
    wrong with one keeps the others from being compared. Two formulations are
    of other principles, and what they give is judged by their own tests:
    Hamel's equations are right for some partitions only
    (:attr:`.HamelEmbedding.validity`), and vakonomic motion is another one
    unless the constraints are integrable
    (:attr:`.VaccoMethod.always_coincides`). Multipliers of vakonomic motion
    are states; they are given the size of the reactions, so that the
    difference shows.

    An interrupt from the keyboard ends the formulation that is worked on, and
    the comparison with it; what was done is returned.

    Examples
    ========

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols
    >>> from sympy_constrained.comparison import compare
    >>> m, g, l = symbols('m g l')
    >>> x, y = dynamicsymbols('x y')
    >>> pendulum = LagrangesMethod(
    ...     m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
    ...     hol_coneqs=[x**2 + y**2 - l**2])
    >>> found = compare(pendulum, constants={m: 1, g: 9.81, l: 2})
    >>> found.agrees
    True
    >>> print(found['RouthMethod'].verdict.value)
    agrees

    Parameters
    ==========

    model : Model, str, System or a method object
        A ready model or its name, or what has the equations of one: SymPy's
        ``System``, ``KanesMethod`` or ``LagrangesMethod``, or a method of
        this package.
    t_end : float, optional
        Length of the simulation; that of a ready model by default. If it is
        0, or not known, nothing is simulated.
    constants, start, inputs : mapping, optional
        Numbers, beside or instead of those of a ready model: of the
        constants, of the states at the start, and expressions in time of
        specified functions.
    fixed : iterable of states, optional
        Those that keep their value when the start is moved onto the
        constraints.
    limit : float
        Seconds that each formulation may take.
    forms : bool
        Whether to add the classical forms of :class:`.GibbsAppellMethod`.
    upstream : bool
        Whether to try SymPy's own methods.
    seed : int
        Of random states.
    progress : bool, optional
        See :func:`.simulate`.

    Returns
    =======

    Comparison

    Raises
    ======

    MissingIngredientError
        If a constant has no number, or a simulation no start.
    ConstraintError
        If no state was found that satisfies the constraints.
    SimulationError
        If there is no motion from the start.

    """
    model = numbered(model, t_end, constants, start, inputs, fixed)
    if not limit > 0:
        raise ValueError(f"`limit` is {limit!r}; it must be positive.")
    method, seconds = reference(model)
    equations = method.equations_of_motion
    model = replace(
        model, parameters=by_symbol(
            model.parameters, equations.constants, 'constant'),
        start=by_symbol(model.start, equations.states, 'state'),
        inputs=by_symbol(model.inputs, dict.fromkeys(
            y for x in equations.specifieds for y in (function_of(x), x)),
            'specified function'))
    check_numbers(model, equations)
    compiled = compile_equations(
        equations, {x: model.parameters[x] for x in equations.constants},
        dict(model.inputs))
    trajectory, moved, states = states_of(model, compiled, seed, progress)
    sample = {**dict(zip(compiled.constants, compiled.p)),
              **dict(zip(compiled.states, states[0][1]))}
    report = constraint_report(
        method, sample, getattr(method, '_inconsistent', 'error')) if (
            isinstance(method, UdwadiaKalabaMethod)) else method._report
    ground = Ground(compiled, dict(model.inputs), states)
    # other methods may have other speeds
    case = Case(model, method, report, ground, {
        x: value for x, value in sample.items()
        if x in equations.constants or x in equations.q})
    first = Formulation(
        type(method).__name__, Verdict.REFERENCE, seconds=seconds,
        operations=operations_of(equations), **counted(sizes_of(equations)),
        microseconds=per_call(compiled.rhs, states),
        accelerations=ground.reference)
    found = attempts(case, recipes(case, forms, upstream), limit)
    return Comparison(model, method, report, compiled, (first, *found),
                      states, trajectory, moved)


# -- what is compared ----------------------------------------------------

def numbered(model, t_end=None, constants=None, start=None, inputs=None,
             fixed=None):
    """A :class:`.Model` of whatever was given."""
    if isinstance(model, PathLike) or (
            isinstance(model, str) and model.endswith('.py')):
        raise ValueError(
            f"`model` is {str(model)!r}, the name of a file. Files are not "
            "run here: import the model from it and pass the object, or "
            f"call `python -m sympy_constrained compare {model}`.")
    if isinstance(model, str):
        model = ready_model(model)
    elif not isinstance(model, Model):
        model = Model.of(model)
    changes = {}
    for name, value in (('parameters', constants), ('start', start),
                        ('inputs', inputs)):
        if value is not None:
            changes[name] = {**getattr(model, name), **dict(value)}
    if fixed is not None:
        changes['fixed'] = tuple(fixed)
    if t_end is not None:
        changes['t_end'] = t_end
    return replace(model, **changes)


def reference(model):
    """The method that the others are compared with, and its time."""
    began = time.process_time()
    given = model.method
    try:
        if isinstance(given, UdwadiaKalabaMethod):
            method = remade(given)
        elif given is not None:
            method = UdwadiaKalabaMethod.from_method(given)
        else:
            method = model.form(UdwadiaKalabaMethod)
    except ConstrainedDynamicsError:
        if given is None:
            raise
        method = remade(given)          # of what only its class takes
    method.equations_of_motion
    return method, time.process_time() - began


def by_symbol(numbers, symbols, kind):
    """Numbers by symbol where they were given by name; the last one counts.

    Constants may drop out of the equations, so other symbols are kept.
    """
    names, found, problems = Names(symbols, kind), {}, []
    for key, value in numbers.items():
        try:
            found[names.objects[names.index(key)]] = value
        except KeyError as error:
            if isinstance(key, str) or kind != 'constant':
                problems.append(error.args[0])
            found[key] = value
    if problems:
        raise ValueError(sentence(problems))
    return found


def check_numbers(model, equations):
    """Raise unless there is a number for every constant."""
    missing = [str(x) for x in equations.constants
               if x not in model.parameters]
    if model.t_end:
        missing += [label(x) for x in equations.states
                    if x not in model.start]
    if missing:
        raise MissingIngredientError(
            f"No number is known for {', '.join(missing)}. Pass "
            "`constants={symbol: number, ...}` with every constant, and for "
            "a simulation `start={state: number, ...}` with every coordinate "
            "and speed.")


def states_of(model, compiled, seed, progress):
    """The simulation, how far its start was moved, and states to compare.
    """
    if not model.t_end:
        return None, {}, random_states(model, compiled, seed)
    x0 = consistent_state(compiled, dict(model.start), fixed=model.fixed)
    trajectory = simulate(compiled, model.t_end, x0, t_eval=401,
                          progress=progress, throw=False)
    if trajectory.reason is Reason.INTERRUPTED and not len(trajectory):
        raise KeyboardInterrupt
    if not len(trajectory):
        raise SimulationError(
            "There is no motion from the start, and so no state to compare "
            f"at: {trajectory.message} Pass another `start`, or `t_end=0` to "
            "compare at random states.", trajectory=trajectory,
            time=0., reason=trajectory.reason)
    picks = np.unique(np.linspace(
        0, len(trajectory.t) - 1, SAMPLES).astype(int))
    moved = {x: by for x, by in zip(
        compiled.states, x0 - compiled.names.vector(model.start, 'start'))
        if abs(by) > MOVED}
    return trajectory, moved, [
        (float(trajectory.t[i]), trajectory.x[i]) for i in picks]


def random_states(model, compiled, seed):
    """States that satisfy the constraints, near the start if there is one.
    """
    rng = np.random.default_rng(seed)
    size = len(compiled.states)
    centre = compiled.names.vector(model.start, 'start', np.zeros(size))
    reach = 0.2*(1. + np.abs(centre)) if model.start else np.ones(size)
    found, trouble = [], None
    for attempt in range(ATTEMPTS*SAMPLES):
        t = float(rng.uniform(0., 1.))
        guess = centre + reach*rng.uniform(-1., 1., size)/(1 + attempt//8)
        try:
            x = consistent_state(compiled, guess, t=t)
            compiled.rhs(t, x)
        except (ConstrainedDynamicsError, ArithmeticError) as error:
            trouble = error
            continue
        found.append((t, x))
        if len(found) == SAMPLES:
            break
    if not found:
        raise ConstraintError(
            "No random state was found that satisfies the constraints. Pass "
            "`start={state: number, ...}` near one that does. The last "
            f"attempt says: {trouble}") from trouble
    return found


# -- each formulation ----------------------------------------------------

def attempts(case, found, limit):
    """A :class:`Formulation` for each recipe; an interrupt ends it."""
    done = []
    for recipe in found:
        try:
            done.append(attempt(case, recipe, limit))
        except KeyboardInterrupt:
            done.append(Formulation(recipe.name, Verdict.INTERRUPTED,
                                    is_ours=recipe.is_ours))
            done += [Formulation(other.name, Verdict.NOT_TRIED,
                                 'the comparison was interrupted',
                                 other.is_ours)
                     for other in found[len(done):]]
            break
    return done


def attempt(case, recipe, limit):
    """What becomes of one recipe."""
    began = time.process_time()
    result = Formulation(recipe.name, Verdict.REFUSES,
                         is_ours=recipe.is_ours)

    def ended(verdict, reason, **more):
        return replace(result, verdict=verdict, reason=reason, **more)

    try:
        with time_limit(limit), warnings.catch_warnings():
            warnings.simplefilter('ignore')     # the reference has warned
            made = recipe.derive(case)
            if made is not None:
                result = replace(result,
                                 seconds=time.process_time() - began)
            return judged(case, recipe.finish(case, made), result)
    except NotTried as reason:
        return ended(Verdict.NOT_TRIED, str(reason), seconds=None)
    except TimeoutError:
        return ended(Verdict.STOPPED, f'after {limit:g} s')
    except Exception as error:          # whatever it is, it is the result
        if recipe.is_ours and isinstance(error, MissingIngredientError) or (
                result.seconds is None and recipe.is_ours and isinstance(
                    error, ConstrainedDynamicsError)):
            return ended(Verdict.REFUSES, first_sentence(error))
        if result.seconds is not None and isinstance(error, (
                ArithmeticError, np.linalg.LinAlgError,
                ConstrainedDynamicsError)):
            return ended(Verdict.NO_VALUE, first_sentence(error))
        return ended(Verdict.RAISES, f'{type(error).__name__}: '
                     f'{first_sentence(error)}')


def judged(case, derived, result):
    """A formulation with its values and its verdict."""
    ground = case.ground
    count = range(len(ground.states))
    result = replace(result, operations=derived.operations,
                     **counted(derived.sizes))
    values = np.array([derived.values(k) for k in count])
    error = gap(values, ground.reference, ground.acceleration_size)
    force = None if derived.forces is None else gap(
        np.array([derived.forces(k) for k in count]), ground.forces,
        ground.force_size)
    agrees = max(error, force or 0.) < AGREE
    reason, must = derived.explain(agrees) if derived.explain else ('', False)
    verdict = Verdict.AGREES if agrees else (
        Verdict.MUST_DIFFER if must else Verdict.DIFFERS)
    return replace(
        result, verdict=verdict, reason=reason, accelerations=values,
        error=error, force_error=force, microseconds=None if (
            derived.call is None) else per_call(derived.call, derived.states))


def gap(values, expected, size):
    """Largest relative difference; an error if there is no number."""
    if not np.isfinite(values).all():
        raise ArithmeticError('It returns nan.')
    return float(np.abs(values - expected).max(initial=0)/size)


def counted(sizes):
    """The sizes of a formulation by name."""
    return dict(zip(('states', 'accelerations_count', 'multipliers'), sizes))


def per_call(function, states):
    """Microseconds of one call, the median of some repetitions."""
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        for t, x in states:
            function(t, x)
        seconds.append((time.perf_counter() - began)/len(states))
        if sum(seconds)*len(states) > LONG:
            break
    return 1e6*float(np.median(seconds))


def first_sentence(error):
    """The first sentence of a message, in one line."""
    text = ' '.join(str(error).split())
    end = text.find('. ')
    return (text if end < 0 else text[:end]).rstrip('.')[:200]
