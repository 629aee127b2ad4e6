"""Consistent initial states, and what is wrong with inconsistent ones."""
from contextlib import suppress
from itertools import chain

import numpy as np

from ...errors import ConstraintError, InconsistentConstraintsError
from ...graph import Graph
from ...model.constraints import multiples
from ..compiled import compile_equations
from ..names import label, number
from ..tolerances import (
    NEGATIVE, OFFSETS, PART, PARTS, TOLERANCE, TYPED)
from .projection import distances, project, project_many, size_of


# Errors where there is no consistent state.
NO_STATE = ConstraintError, ArithmeticError, np.linalg.LinAlgError
# Offsets of the guess, and parts of :func:`.project`, if it fails.
ATTEMPTS = *((x, 1.) for x in OFFSETS), *((0., x) for x in PARTS)
# The largest number of states that are proposed for a correction.
PROPOSALS = 4


def consistent_state(compiled, guess, fixed=(), t=0., p=None, fill=None,
                     constants=None, inputs=None):
    r"""Return the state nearest to a guess that satisfies the constraints.

    Explanation
    ===========

    Coordinates are moved by Gauss-Newton steps of least norm until the
    holonomic constraints hold. Then speeds are changed by the least kinetic
    energy, :math:`\Delta u^T M \Delta u`, until the velocity-level constraints
    hold; speeds without mass follow the others. Accelerations and multipliers
    that are states come last. The guess selects one of several
    solutions, such as the branches of a linkage. Redundant constraints are
    allowed.

    Examples
    ========

    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.models import model
    >>> from sympy_constrained.numeric import consistent_state
    >>> pendulum = model('cartesian_pendulum')
    >>> state = consistent_state(
    ...     pendulum.form(UdwadiaKalabaMethod),
    ...     {'x': 0.6, 'y': -0.2, "x'": 8}, fixed=['x', "x'"], fill=0,
    ...     constants=pendulum.parameters)
    >>> state.round(12)
    array([ 0.6, -0.8,  8. ,  6. ])

    Parameters
    ==========

    compiled : CompiledEquations
        Or what :func:`~sympy_constrained.numeric.compile_equations` takes,
        with its ``constants`` and ``inputs``.
    guess : mapping or sequence
        Values of the states by SymPy object or name, or all in order.
    fixed : iterable of states or names
        Coordinates and speeds that keep the value of the guess.
    t : float
    p : mapping or sequence, optional
        Constants other than those given at compilation.
    fill : float, optional
        Value of states that a mapping leaves out, usually 0. By default all
        states must be given.
    constants, inputs : mapping, optional
        As for :func:`~sympy_constrained.numeric.compile_equations`.

    Returns
    =======

    ndarray, shape (ns,)

    Raises
    ======

    ConstraintError
        If constraints cannot be satisfied; carries ``rows``, ``residuals``
        and the nearest ``state``.
    ValueError
        If the guess has missing, unknown or unusable entries.

    """
    compiled = compile_equations(compiled, constants, inputs)
    names = compiled.names
    try:
        default = None if fill is None else [number(fill)]*len(names)
    except ValueError as error:
        raise ValueError(f"`fill`: {error}.") from None
    start = names.vector(guess, 'guess', default)
    held = set(names.indices(fixed, 'fixed'))
    free = [index[~np.isin(index, [*held])] if held else index
            for _, index in compiled.levels]
    result = _from_guess(compiled, t, start, p, free)
    if result.is_within(TOLERANCE):
        return result.x
    check_contradictions(compiled, t, result.x, p)
    rows, text = violations(compiled, result, TOLERANCE)
    held = ', '.join(names.labels[i] for i in sorted(held))
    cause = f" while {held} keep their values" if held else ""
    remedy = ("Release some of them, or try another guess" if held else
              "Try another guess; if none helps, the constraints contradict "
              "each other")
    raise ConstraintError(
        f"No consistent state was found{cause}: the nearest one violates "
        f"{text}. {remedy}.", rows=rows, residuals=result.residuals,
        state=result.x)


def consistent_states(compiled, guesses, t, p):
    """:func:`consistent_state` near rows of ``guesses``, nan without one."""
    x, far = guesses, np.full(len(guesses), np.inf)
    with suppress(*NO_STATE):
        x, far = project_many(compiled, t, guesses, p)
    x = x.copy()
    for k in np.flatnonzero(far > TOLERANCE):
        x[k] = np.nan
        with suppress(*NO_STATE):       # `simulate` will raise it
            x[k] = consistent_state(compiled, guesses[k], t=t, p=p[k])
    return x


def _from_guess(compiled, t, start, p, free):
    """Project the guess, or states near it if that fails."""
    outputs = compiled.equations.graph.outputs
    owners = np.repeat(range(len(free)), [
        outputs[name][0] for name, _ in compiled.levels])
    best = project(compiled, t, start, p, free)
    for offset, part in ATTEMPTS:
        if best.is_within(TOLERANCE):
            break
        unmet = best.distances > TOLERANCE*size_of(best.x)
        moving = free[owners[unmet].min()]
        trial = start.copy()
        trial[moving] += offset*np.cos(2.4*(1. + moving))
        result = project(compiled, t, trial, p, free, part=part)
        best = min(best, result, key=lambda found: found.relative)
    return best


def check_contradictions(compiled, t, x, p=None):
    """Raise if, with these constants, rows differ by a number only."""
    levels = 'holonomic', 'velocity'
    g, out = compiled.equations.graph.load(None, [
        *levels, *(f'{level}_jacobian' for level in levels)])
    states = [g.input(y) for y in compiled.states]
    names = list(compiled.residual_names)
    for level in levels:
        for j, i, rest in multiples(
                g, out[level], out[f'{level}_jacobian'], states):
            size = compiled.output(
                Graph.freeze(g, {'x': [rest]}), 'x')(t, x, p).item()
            if abs(size) > TOLERANCE:
                raise InconsistentConstraintsError(
                    f"{names[j]} is a multiple of {names[i]} plus {size:g}, "
                    "with these constants, so no state satisfies both. "
                    "Correct the constants, or drop one of the rows.",
                    rows=(names[i], names[j]))
        del names[:len(out[level])]


def check_consistent(compiled, t, x, tolerance=TOLERANCE):
    """The :class:`.Correction` of a state that satisfies the constraints.

    Raises if it violates them by more than ``tolerance``.

    Violations are distances: residuals divided by the norm of their gradient,
    and by the largest state if that exceeds one.
    """
    correction = distances(compiled, t, x)
    if correction.is_within(tolerance):
        return correction
    check_contradictions(compiled, t, x)
    rows, text = violations(compiled, correction, tolerance)
    raise ConstraintError(
        f"The initial state violates {len(rows)} constraint"
        f"{'s' if len(rows) > 1 else ''}: {text} (tolerance "
        f"{tolerance:.0e}). Pass `initial='project'` to move to the nearest "
        f"consistent state, or correct {_movable(compiled, t, x, rows)}.",
        rows=rows, residuals=correction.residuals, tolerance=tolerance)


def negative_mass(compiled, t, x):
    """A warning if a motion has negative kinetic energy, else None."""
    values, vectors = mass_spectrum(
        compiled, compiled.evaluate(('M',), t, x)['M'])
    if values.min(initial=0.) > NEGATIVE or not is_symmetric(
            compiled.equations.graph, 'M'):
        return None
    part = np.abs(vectors[:, 0])
    names = [compiled.names.labels[i] for i in compiled.u_index[
        part > PART*part.max()]]
    return (
        "The mass matrix is not positive: a motion with the speeds "
        f"{', '.join(names)} has negative kinetic energy at the start. "
        "Usually a mass or a moment of inertia has the wrong sign. Correct "
        "the constants, or the kinetic energy.")


def no_rotation(graph, states, x):
    """A warning if coordinates are no unit quaternion, else None."""
    if not graph.outputs.get('rotation', (0,))[0]:
        return None
    far = np.abs(graph.evaluate(
        dict(zip(states, x)), ['rotation'])['rotation'])
    if far.max() <= TYPED:
        return None
    g, out = graph.load(None, ('rotation',))
    used = g.symbols_of(*out['rotation'][far.argmax()])
    names = ', '.join(label(state) for state in states if state in used)
    return (
        f"The start values of {names} give no rotation: a product of two axes "
        f"of a frame differs by {far.max():.1e} from that of a rotation. "
        "Usually they are a quaternion whose norm is not one. Divide them by "
        "the norm.")


def is_symmetric(graph, name):
    """Whether an output is symmetric; SymPy's mass matrix may not be."""
    g, out = graph.load(None, (name,))
    return all(map(g.same_value, sum(out[name], []), chain(*zip(*out[name]))))


def mass_spectrum(compiled, M):
    """Eigenvalues and vectors of scaled mass matrices, if of all speeds."""
    if M.shape[-2:] != (len(compiled.u_index),)*2:
        M = M[..., :0, :0]
    return spectrum(M)


def spectrum(M):
    diagonal = np.abs(np.diagonal(M, axis1=-2, axis2=-1))
    largest = diagonal.max(axis=-1, initial=0., keepdims=True)
    scale = 1/np.sqrt(np.where(diagonal > 0, diagonal, np.where(
        largest > 0, largest, 1.)))
    return np.linalg.eigh((M + np.swapaxes(M, -1, -2))/2
                          * scale[..., None]*scale[..., None, :])


def violations(compiled, correction, tolerance):
    bad = np.flatnonzero(
        correction.distances > tolerance*size_of(correction.x))
    names = compiled.residual_names
    rows = tuple(names[i] for i in bad)
    return rows, ', '.join(
        f"{names[i]} by {abs(correction.residuals[i]):.1e}" for i in bad)


def _movable(compiled, t, x, rows):
    """The states that change the violated rows most, as text."""
    names = compiled.residual_names
    outputs = compiled.evaluate(
        [f'{name}_jacobian' for name, _ in compiled.levels], t, x)
    gradients = [(index, row) for name, index in compiled.levels
                 for row in outputs[f'{name}_jacobian']]
    strength = np.zeros(len(compiled.states))
    for row in rows:
        index, gradient = gradients[names.index(row)]
        strength[index] += np.abs(gradient)
    order = [i for i in np.argsort(-strength, kind='stable')
             if strength[i] > 0][:PROPOSALS]
    return ', '.join(f'`{compiled.names.labels[i]}`' for i in sorted(order)
                     ) or 'the constants'
