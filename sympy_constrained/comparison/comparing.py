"""Derive, evaluate and judge every formulation of a model."""
import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real

import numpy as np

from ..analysis.constraint_rank import constraint_report
from ..errors import (
    ConstrainedDynamicsError, ConstraintError, MissingIngredientError,
    SimulationError, check_kind)
from ..methods import UdwadiaKalabaMethod
from ..models import Model, model as ready_model
from ..numeric import compile_equations, consistent_state, simulate
from ..numeric.inputs import function_of
from ..numeric.names import Names
from ..timing import per_call, processor_time, time_limit
from .recipes import NotTried, recipes
from .reference import Reference, sample_of, used
from .result import AGREE, Comparison, Formulation, Verdict
from .sympy_methods import sympy_recipes


SAMPLES = 8                     # states to compare at
MOVED = 1e-6                    # least reported displacement of a start
ATTEMPTS = 10                   # for each random state
REPEATS, LONG = 7, 0.5          # rounds of a time measurement, its seconds


def compare(model, t_end=None, *, constants=None, start=None, inputs=None,
            fixed=None, limit=60., forms=False, upstream=True, seed=0,
            progress=None) -> Comparison:
    """Derive a model with every formulation, compare and simulate.

    The reference is the block system of :class:`.UdwadiaKalabaMethod`, solved
    by a rank-revealing solver. A solution of it at 50 digits, the other
    methods of this package and SymPy's own are compared with it, at states
    along the simulated motion or at random admissible states: accelerations
    as rates of, and generalized constraint forces as forces on, the speeds of
    the reference.

    Two formulations follow other principles and are judged by their own
    tests: Hamel's equations (:attr:`.HamelEmbedding.validity`) and vakonomic
    motion (:attr:`.VaccoMethod.always_coincides`), whose multipliers are
    states and get the size of the reactions.

    After a keyboard interrupt the finished part is returned.

    Examples
    ========

    >>> from sympy_constrained.comparison import compare
    >>> compare('cartesian_pendulum', t_end=1).agrees
    True

    Parameters
    ==========

    model : Model, str, System or a method object
        A ready model or its name, a SymPy object, or a method of this package.
    t_end : float, optional
        Length of the simulation; that of a ready model by default. If it is
        0 or unknown, nothing is simulated.
    constants, start, inputs : mapping, optional
        Values of constants, of states at the start, and expressions in time
        for specified functions; they override those of a ready model.
    fixed : iterable of states, optional
        States that keep their value when the start is made consistent.
    limit : float
        Seconds of processor time that each formulation may take.
    forms : bool
        Whether to add the classical forms of :class:`.GibbsAppellMethod`.
    upstream : bool
        Whether to try SymPy's own methods.
    seed : int
        Of random states.
    progress : bool, optional
        See :func:`.simulate`.

    Raises
    ======

    ValueError
        If a constant has no number, or a simulation no start.
    ConstraintError
        If no admissible state was found.
    SimulationError
        If no motion exists from the start.

    """
    for name, value in (
            ('constants', constants), ('start', start), ('inputs', inputs)):
        check_kind(name, {} if value is None else value, Mapping,
                   "Give a dictionary of its symbols and their values.")
    check_kind('limit', limit, Real, "Give a number of seconds.")
    if isinstance(model, str):
        model = ready_model(model)
    elif not isinstance(model, Model):
        model = Model.of(model)
    model = replace(
        model, fixed=model.fixed if fixed is None else fixed,
        t_end=model.t_end if t_end is None else t_end,
        parameters={**model.parameters, **dict(constants or ())},
        start={**model.start, **dict(start or ())},
        inputs={**model.inputs, **dict(inputs or ())})
    method, seconds = reference_method(model)
    equations = method.equations_of_motion
    model = replace(
        model, parameters=by_symbol(model.parameters, 'constant', (
            *equations.constants, *equations.symbols)),
        start=by_symbol(model.start, 'state', equations.states),
        inputs=by_symbol(model.inputs, 'specified function', (
            y for x in equations.specifieds for y in (function_of(x), x))))
    compiled = compile_equations(equations, used(
        model.parameters, equations, model.inputs), model.inputs)
    trajectory, moved, states = states_of(
        model, compiled, quaternions(method.system), seed, progress)
    report = constraint_report(
        method, sample_of(equations, compiled, states),
        getattr(method, '_inconsistent', 'error')) if isinstance(
            method, UdwadiaKalabaMethod) else method._report
    reference = Reference(model, method, report, compiled, states)
    first = Formulation(
        type(method).__name__, Verdict.REFERENCE, seconds=seconds,
        accelerations=reference.accelerations, **measured(compiled, states))
    others = recipes(reference, forms) + (sympy_recipes() if upstream else [])
    return Comparison(
        model, method, report, compiled,
        (first, *attempts(reference, others, limit)), states, trajectory,
        moved)


# -- what is compared ----------------------------------------------------

def reference_method(model):
    """The reference, and the time of its derivation."""
    began = processor_time()
    given = model.method
    if given is None:
        method = model.form(UdwadiaKalabaMethod)
    else:
        try:
            method = UdwadiaKalabaMethod.from_method(given)
        except ConstrainedDynamicsError:    # an option of its class only
            method = type(given).from_method(given)
    method.equations_of_motion
    return method, processor_time() - began


def by_symbol(values, kind, symbols):
    names = Names(dict.fromkeys(symbols), kind)
    return {names.objects[names.indices(key, f'{kind}s')[0]]
            if isinstance(key, str) else key: value
            for key, value in values.items()}


def states_of(model, compiled, units, seed, progress):
    """The simulation, the displacement of its start, states to compare."""
    if not model.t_end:
        return None, {}, random_states(model, compiled, seed, units)
    given = compiled.names.vector(model.start, 'start')
    x0 = consistent_state(compiled, given, fixed=model.fixed)
    trajectory = simulate(compiled, model.t_end, x0, t_eval=401,
                          progress=progress, throw=False)
    if not len(trajectory):
        raise SimulationError(
            "There is no motion from the start, and so no state to compare "
            f"at: {trajectory.message} Pass another `start`, or `t_end=0` to "
            "compare at random states.", trajectory=trajectory,
            time=0., reason=trajectory.reason)
    picks = np.unique(np.linspace(
        0, len(trajectory.t) - 1, SAMPLES).astype(int))
    moved = {x: by for x, by in zip(compiled.states, x0 - given)
             if abs(by) > MOVED}
    return trajectory, moved, [
        (float(trajectory.t[i]), trajectory.x[i]) for i in picks]


def quaternions(system):
    """Positions of coordinates that make a rotation only at the norm one."""
    g, out = system.graph.load(None, ('rotation',))
    for residual, in out['rotation']:
        yield [system.q.index(x) for x in g.symbols_of(residual)
               if x in system.q]


def random_states(model, compiled, seed, units=()):
    """Admissible states, near the start if given; ``units`` have norm 1."""
    units = list(units)
    rng = np.random.default_rng(seed)
    size = len(compiled.states)
    centre = compiled.names.vector(model.start, 'start', np.zeros(size))
    reach = 0.2*(1. + np.abs(centre)) if model.start else np.ones(size)
    found, trouble = [], None
    for attempt in range(ATTEMPTS*SAMPLES):
        t = float(rng.uniform(0., 1.))
        guess = centre + reach*rng.uniform(-1., 1., size)/(1 + attempt//8)
        for k in units:
            guess[k] /= np.linalg.norm(guess[k])
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

def attempts(reference, found, limit):
    """A :class:`Formulation` for each recipe; an interrupt ends it."""
    done = []
    for k, recipe in enumerate(found):
        try:
            done.append(attempt(reference, recipe, limit))
        except KeyboardInterrupt:
            return [*done, Formulation(recipe.name, Verdict.INTERRUPTED,
                                       is_ours=recipe.is_ours),
                    *(Formulation(other.name, Verdict.NOT_TRIED,
                                  'the comparison was interrupted',
                                  other.is_ours) for other in found[k + 1:])]
    return done


def attempt(reference, recipe, limit):
    began = processor_time()
    result = Formulation(recipe.name, Verdict.REFUSES,
                         is_ours=recipe.is_ours)
    try:
        with time_limit(limit), warnings.catch_warnings():
            warnings.simplefilter('ignore')     # the reference has warned
            made = recipe.derive(reference)
            if made is not None:
                result = replace(result, seconds=processor_time() - began)
            return judged(reference, recipe.finish(reference, made), result)
    except NotTried as reason:
        return replace(result, verdict=Verdict.NOT_TRIED, reason=str(reason))
    except TimeoutError:
        return replace(result, verdict=Verdict.STOPPED,
                       reason=f'after {limit:g} s')
    except Exception as error:          # any error is a result
        return failed(error, result)


def failed(error, result):
    text = ' '.join(str(error).split())
    text = text.partition('. ')[0].rstrip('.')[:200]
    is_derived = result.seconds is not None
    if result.is_ours and (
            isinstance(error, MissingIngredientError) or not is_derived
            and isinstance(error, ConstrainedDynamicsError)):
        return replace(result, reason=text)
    if is_derived and isinstance(error, (
            ArithmeticError, np.linalg.LinAlgError,
            ConstrainedDynamicsError)):
        return replace(result, verdict=Verdict.NO_VALUE, reason=text)
    return replace(result, verdict=Verdict.RAISES,
                   reason=f'{type(error).__name__}: {text}')


def judged(reference, derived, result):
    values = np.array(derived.accelerations)
    error = gap(values, reference.accelerations, reference.acceleration_size)
    force = None if derived.forces is None else gap(
        np.array(derived.forces), reference.forces, reference.force_size)
    agrees = max(error, force or 0.) < AGREE
    reason, must = derived.explain(agrees)
    verdict = Verdict.AGREES if agrees else (
        Verdict.MUST_DIFFER if must else Verdict.DIFFERS)
    sizes = {} if derived.compiled is None else measured(
        derived.compiled, [(state.t, state.x) for state in derived.states])
    if derived.operations is not None:
        sizes['operations'] = derived.operations
    return replace(
        result, verdict=verdict, reason=reason, accelerations=values,
        error=error, force_error=force, **sizes)


def measured(compiled, states):
    equations = compiled.model
    m = len(equations.multipliers)
    return {'operations': equations.graph.operation_count(
                ('rates', 'W', 'r')),
            'states': len(equations.states), 'multipliers': m,
            'accelerations_count': len(equations.unknowns) - m,
            'microseconds': microseconds(compiled.rhs, states)}


def gap(values, expected, size):
    """Largest relative difference; an error for nan."""
    if not np.isfinite(values).all():
        raise ArithmeticError('It returns nan.')
    return float(np.abs(values - expected).max(initial=0)/size)


def microseconds(function, states):
    """Median processor time of one call at the states."""
    def calls():
        for t, x in states:
            function(t, x)

    return 1e6*per_call(calls, 0, REPEATS, LONG)/len(states)
