"""Decide the rank of the equations at a state and near it.

One state may be singular, or rows may vanish there by accident. So ``W`` is
also evaluated nearby: off the constraint set for the size of its entries, on
the set for its rank.
"""
from contextlib import suppress
from math import sqrt

import numpy as np

from ...errors import (
    ConstraintError, NotFiniteError, SingularEquationsError)
from ..manifold.projection import project, size_of
from ..tolerances import (
    ABOUT, CARRIED_CUT, CLEAR, DOUBTFUL, FAR, JUMPS, LAST_DIGITS, NEARBY,
    NEARER, NO_DIGIT, NOISE, ON_SET, ROUNDINGS, SMALL, VANISHING)
from .scaling import balance
from .solver import LinearSolver


# Number of steps to a neighbouring state, along admissible speeds.
CARRIES = 4


def decide_rank(compiled, t, x, p=None) -> LinearSolver:
    """The solver of ``W z = r`` with the rank on the constraint set near x.

    If the set cannot be reached from ``x``, the rank is that at ``x`` itself.
    """
    start = project(compiled, t, x, p)
    is_on_set = start.is_within(ON_SET)
    base = start.x if is_on_set else np.array(x, dtype=float)
    last = compiled.kept('regular', list)   # the last solver of full rank
    if is_on_set and last and is_regular(compiled, last[0], t, base, p):
        return last[0]
    states, magnitudes = _neighbours(compiled, t, base, p, is_on_set)
    if is_on_set and not states and compiled.has('holonomic'):
        raise SingularEquationsError(
            "The rank of the equations cannot be decided here: the "
            "constraints hold at this state, but at no other state nearby. "
            "Start farther from a singular configuration. If velocity rows "
            "together restrict the configuration, give that restriction as a "
            "configuration constraint.", condition=0.)
    matrices = [compiled.first_block(('W',), t, state, p)['W']
                for state in (base, *states)]
    blocks = compiled.equations.blocks
    motion = compiled.motion//len(blocks)
    rows, columns = ([names[i] for i in blocks[0]]
                     for names in compiled.equations.labels)
    if is_on_set:
        check_gradients(compiled, t, base, p, matrices, magnitudes)
    try:
        solver = LinearSolver.decide(
            matrices, magnitudes, motion, rows, columns,
            compiled.equations.inconsistent)
        if len(blocks) > 1:
            solver = solver.repeated(blocks)
    except SingularEquationsError as error:
        reason = compiled.equations.when_singular
        if not reason:
            raise
        raise SingularEquationsError(
            f'{error} {reason}', **vars(error)) from error
    if solver.kept is None:
        last[:] = [solver]
    return solver


def is_regular(compiled, solver, t, x, p, W=None):
    """Whether ``W``, scaled as by a solver, is far from singular here.

    Then it has full rank nearby, too. Rounding errors of the state, of
    constants and time must be small relative to the least singular value.
    For several states, rows of ``x`` and ``p``, it is an array. ``W`` may be
    known.
    """
    n, scale = x.shape[-1], solver.first.scale
    signs = np.where(np.arange(n + p.shape[-1]) % 2, 1, -1)
    with suppress(ArithmeticError, ValueError):     # a table may end here
        here = scale*(compiled.first_block(('W',), t, x, p)['W']
                      if W is None else W)
        moved = compiled.first_block(
            ('W',), t + LAST_DIGITS*abs(t),
            x + ROUNDINGS*signs[:n]*np.maximum(np.abs(x), np.minimum(
                np.abs(x).max(axis=-1, initial=0, keepdims=True), 1)),
            p*(1 + LAST_DIGITS*signs[n:]))['W']*scale
        if here.size:
            sigma = np.linalg.svd(here, compute_uv=False)
            return (sigma[..., 0] < here.shape[-1]*FAR) & (
                sigma[..., -1] > np.maximum(CLEAR*sigma[..., 0], FAR*np.abs(
                    here - moved).max(axis=(-2, -1))))
    return np.zeros(x.shape[:-1], bool)


def _neighbours(compiled, t, base, p, is_on_set):
    """Two states near ``base`` on the constraints, and the size of ``W``."""
    steps = step_sizes(compiled, t, base, p)
    if is_on_set:
        with suppress(NotFiniteError):          # outside a domain
            _check_pole(compiled, t, base, p, np.maximum(steps, sizes(base)))
    magnitudes = _magnitude(compiled, t, base, p, steps)
    is_conserving = compiled.equations.graph.outputs['rates'][0] > len(
        compiled.equations.u)
    states = []
    for i, near in ((1, NEARBY), (2, NEARBY), (1, NEARER)):
        if near == NEARER and states:
            break
        with suppress(ArithmeticError):         # outside a domain
            moved = _carried(compiled, t, base, p, near, steps, i) if (
                is_conserving) else _beside(base, near*steps, i)
            magnitudes = np.maximum(
                magnitudes, _magnitude(compiled, t, moved, p, steps))
            correction = project(compiled, t, moved, p)
            if is_on_set and correction.is_within(ON_SET):
                states.append(correction.x)
    return states, magnitudes


def _check_pole(compiled, t, x, p, steps):
    """Raise if entries of ``W`` at ``x`` are quotients of rounding errors."""
    here, *close, away = (
        np.abs(compiled.first_block(('W',), t, state, p)['W']) for state in (
            x, *(_beside(x, ROUNDINGS*steps, i) for i in range(3, 8)),
            _beside(x, NEARBY*steps, 1)))
    poles = (np.abs(here - close[0]) > NOISE*here) & (
        here > FAR*away.max(initial=0))
    scale = np.outer(*balance(
        away, compiled.motion//compiled.equations.copies))
    least = NOISE*np.maximum(np.max([here, *close], axis=0), 1/scale)
    gaps = np.diff(np.sort([here, *close], axis=0), axis=0) > least
    poles |= gaps.sum(axis=0) >= JUMPS
    if gaps.any():
        exact = np.abs(compiled.precisely('W', t, x, p))
        poles |= np.abs(here - exact) > least
    if poles.any():
        names, blocks = compiled.equations.labels[0], compiled.equations.blocks
        rows = [names[blocks[0][i]] for i in np.flatnonzero(poles.any(axis=1))]
        raise SingularEquationsError(
            "The rank of the equations cannot be decided: at the nearest "
            "state on the constraints something divides by zero, up to "
            f"rounding, in {', '.join(rows)}. Start from a state beside it, "
            "or pass this state to the method as `sample={symbol: number, "
            "...}`, with inputs and constants, so that it divides otherwise. "
            f"{compiled.equations.when_singular}".rstrip(), condition=0.)


def check_gradients(compiled, t, base, p, matrices, magnitudes):
    """Raise if a row vanishes on the constraint set only."""
    motion = compiled.motion//len(compiled.equations.blocks)

    def vanishing(matrices):
        here = np.max([np.abs(W).max(axis=1, initial=0) for W in matrices],
                      axis=0)
        return np.flatnonzero((here < VANISHING*magnitudes.max(
            axis=1, initial=0))[motion:]) + motion

    lost = vanishing(matrices)
    if len(lost):                       # redundant rows, at this time only?
        with suppress(ArithmeticError, ValueError):     # a table may end
            soon = t + NEARBY*sqrt(0.5)     # no part of a usual period
            later = project(compiled, soon, base, p)
            W = compiled.first_block(('W',), soon, later.x, p)['W']
            others = np.delete(W, [*range(motion), *lost], axis=0)
            apart = np.linalg.norm(W - W@np.linalg.pinv(others)@others, axis=1)
            if later.is_within(ON_SET):
                lost = lost[np.isin(lost, vanishing([W])) | (
                    apart > VANISHING*np.linalg.norm(W, axis=1))[lost]]
    names, blocks = compiled.equations.labels[0], compiled.equations.blocks
    lost = [names[blocks[0][i]] for i in lost]
    if lost:
        raise ConstraintError(
            f"{', '.join(lost)} ha{'s' if len(lost) == 1 else 've'} no "
            "gradient where the constraints hold, and no effect on the "
            "accelerations. It may be a square, or a product with another "
            "constraint: give the factor that has to vanish.",
            rows=tuple(lost))


def _magnitude(compiled, t, x, p, steps):
    """Absolute values of ``W`` without the entries that are noise."""
    def W(t=t, x=x, p=p):
        return compiled.first_block(('W',), t, x, p)['W']

    here = W()
    size = np.abs(here)
    moved = _beside(x, ROUNDINGS*steps, 3)
    noise = np.abs(here - W(x=moved)) > NOISE*size
    for i in (1, 2):
        signs = np.sign(np.cos(2.4*i*(1 + np.arange(len(p) + 1))))
        with suppress(ArithmeticError, ValueError):     # a table may end here
            other = W(t + LAST_DIGITS*abs(t), p=p*(1 + LAST_DIGITS*signs[1:]))
            noise |= np.abs(here - other) > NO_DIGIT*size
    doubtful = size < DOUBTFUL*size.max(initial=0)
    if (doubtful & (size > 0) & ~noise).any():
        exact = compiled.precisely('W', t, x, p)
        noise |= np.abs(here - exact) > NO_DIGIT*size
    return np.where(noise, 0, size)


def sizes(x):
    """The size of each state, for zeros that of the largest, at most one."""
    size = min(np.abs(x).max(initial=0), 1.) or 1.
    return np.where(np.abs(x) > SMALL*size, np.abs(x), size)


def step_sizes(compiled, t, x, p):
    """Sizes of states; of zeros, the step that changes ``W`` by one."""
    steps = sizes(x)
    is_zero = steps > np.abs(x)
    equations = compiled.equations
    used = set(equations.first_block.symbols(('W',)))
    W = compiled.first_block(('W',), t, x, p)['W']
    scale = np.outer(*balance(
        np.abs(W), compiled.motion//equations.copies))

    def change(i, step):
        moved = x.copy()
        moved[i] += step
        other = compiled.first_block(('W',), t, moved, p)['W']
        return np.abs((other - W)*scale).max(initial=0)

    for i, state in enumerate(compiled.states):
        if is_zero[i] and state in used:
            with suppress(ArithmeticError):     # outside a domain
                factor = change(i, steps[i])
                if factor and not 1/ABOUT < factor < ABOUT and (
                        change(i, steps[i]/factor) > 1/ABOUT):
                    steps[i] /= factor
    return steps


def _beside(x, steps, i):
    """A state near ``x``, the same for the same ``i``."""
    return x + steps*np.cos(2.4*i*(1 + np.arange(len(x))))


def _carried(compiled, t, x, p, near, steps, i):
    """``x`` with other speeds, after a short virtual displacement with them.

    The displacement has the difference of two admissible speeds, for time is
    held. It keeps invariants that have no row, such as the norm of a
    quaternion.
    """
    speeds = x.copy(), _beside(x, steps, i)
    n = compiled.equations.graph.outputs['rates'][0]
    free = [[] if name == 'holonomic' else index
            for name, index in compiled.levels]

    def rates(q):
        first, second = (project(
            compiled, t, np.append(q, state[n:]), p, free,
            least=CARRIED_CUT).x for state in speeds)
        found = np.diff([compiled.evaluate(('rates',), t, state, p)['rates'][
            :, 0] for state in (first, second)], axis=0)[0]
        # Where the coordinates are nearly singular, rates have no bound.
        return found/max(1, np.abs(found).max(initial=0)/size_of(q))

    q, h = x[:n], near/CARRIES
    for _ in range(CARRIES):            # classical Runge-Kutta
        a = rates(q)
        b = rates(q + h/2*a)
        c = rates(q + h/2*b)
        q = q + h/6*(a + 2*b + 2*c + rates(q + h*c))
    return np.append(q, speeds[1][n:])
