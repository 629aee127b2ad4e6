"""Decide the rank of the equations at a state and beside it.

One state is not enough: rows may vanish there by accident (a coordinate that
starts at zero), or the state may be a singular one. So ``W`` is also looked
at beside it, off the constraint set for the size of its entries and on the
set for its rank.
"""
from __future__ import annotations

from contextlib import suppress

import numpy as np

from ...errors import ConstraintError, SingularEquationsError
from ..manifold.projection import project
from .solver import LinearSolver, balance

__all__ = ['decide_rank', 'equation_labels']

# How far the other states are, relative to the size of each state.
NEARBY, NEARER = 1e-2, 1e-4
# Steps of Runge and Kutta's method to a state that is carried there.
CARRIES = 4
# An entry that changes by more than NOISE when the states change by a few
# rounding errors is a rounding error itself. States come from a projection;
# constants and time have only the error of the last digit, and what is left
# of an entry is real as long as it has one digit.
FEW_ROUNDINGS, NOISE = 1e-13, 1e-3
LAST_DIGITS, NO_DIGIT = 4*np.finfo(float).eps, 0.1
# An entry so much smaller than the largest may be left by exact numbers that
# cancel; evaluation with more digits decides.
DOUBTFUL = 1e-12
# Relative to the others, a state below this is as good as zero.
SMALL = 1e-3
# The size of a zero state changes the scaled W by one, within this factor.
ABOUT = 1e3
# A row that is so much smaller on the constraint set than beside it is zero.
VANISHING = 1e-6
# A state counts as on the constraint set within this relative distance.
ON_SET = 1e-10


def decide_rank(compiled, t, x, p=None) -> LinearSolver:
    """The solver of ``W z = r`` with the rank on the constraint set near x.

    If the set cannot be reached from ``x``, the rank at ``x`` itself.

    Raises
    ======

    SingularEquationsError
        If a state on the set has no other beside it that can be reached: by
        itself it cannot be told from a singular one.

    """
    start = project(compiled, t, x, p)
    base = start.x if start.is_within(ON_SET) else np.array(x, dtype=float)
    states = [base]

    steps = step_sizes(compiled, t, base, p)
    magnitudes = _magnitude(compiled, t, base, p, steps)
    is_conserving = compiled.equations.graph.outputs['rates'][0] > len(
        compiled.equations.u)
    for i, near in ((1, NEARBY), (2, NEARBY), (1, NEARER)):
        if near == NEARER and len(states) > 1:
            break
        try:
            if is_conserving:
                beside = _carried(compiled, t, base, p, near, steps, i)
            else:
                beside = _beside(base, near*steps, i)
            magnitudes = np.maximum(
                magnitudes, _magnitude(compiled, t, beside, p, steps))
            correction = project(compiled, t, beside, p)
        except ArithmeticError:         # outside the domain of a function
            continue
        if start.is_within(ON_SET) and correction.is_within(ON_SET):
            states.append(correction.x)
    if start.is_within(ON_SET) and len(states) == 1 and compiled.has(
            'holonomic'):
        raise SingularEquationsError(
            "The rank of the equations cannot be decided here: the "
            "constraints hold at this state, and none beside it could be "
            "reached on them. It is singular or very close to a singular "
            "configuration: start from a state beside it. Or the velocity "
            "rows together restrict the configuration: give that "
            "restriction as a configuration constraint.", condition=0.)
    matrices = [compiled.evaluate(('W',), t, state, p)['W']
                for state in states]
    rows, columns = equation_labels(compiled.equations)
    if start.is_within(ON_SET):
        check_gradients(matrices, magnitudes, compiled.motion, rows)
    try:
        return LinearSolver.decide(
            matrices, magnitudes, compiled.motion, rows, columns,
            compiled.equations.inconsistent)
    except SingularEquationsError as error:
        reason = compiled.equations.when_singular
        if not reason:
            raise
        raise SingularEquationsError(
            f'{error} {reason}', **vars(error)) from error


def check_gradients(matrices, magnitudes, motion, names):
    """Raise if a row vanishes where the constraints hold, and not beside.
    """
    here = np.max([np.abs(W).max(axis=1, initial=0) for W in matrices],
                  axis=0)
    lost = [names[i] for i in range(motion, len(here))
            if here[i] < VANISHING*magnitudes[i].max()]
    if lost:
        raise ConstraintError(
            f"There is no gradient, where the constraints hold, of "
            f"{', '.join(lost)}, so it does not act on the accelerations. It "
            "may be a square, or a product with another constraint: give "
            "the factor that has to vanish.", rows=tuple(lost))


def _magnitude(compiled, t, x, p, steps):
    """Absolute values of ``W`` without the entries that are noise."""
    def W(t=t, x=x, p=p):
        return compiled.evaluate(('W',), t, x, p)['W']

    here = W()
    size = np.abs(here)
    moved = _beside(x, FEW_ROUNDINGS*steps, 3)
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


def step_sizes(compiled, t, x, p):
    """The size of each state; of zeros, what changes ``W`` by one.

    Lengths and angles of a model have different sizes, and a zero does not
    show its own.
    """
    size = min(np.abs(x).max(initial=0), 1.) or 1.
    steps = np.where(np.abs(x) > SMALL*size, np.abs(x), size)
    used = set(compiled.equations.graph.symbols(('W',)))
    W = compiled.evaluate(('W',), t, x, p)['W']
    scale = np.outer(*balance(np.abs(W), compiled.motion))

    def change(i, step):
        moved = x.copy()
        moved[i] += step
        other = compiled.evaluate(('W',), t, moved, p)['W']
        return np.abs((other - W)*scale).max(initial=0)

    for i, state in enumerate(compiled.states):
        if abs(x[i]) <= SMALL*size and state in used:
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
    """Where other admissible speeds carry ``x`` within a short time.

    This keeps the constraints, and what the kinematic equations conserve
    although no row demands it, such as the norm of a quaternion.
    """
    state = _beside(x, steps, i)
    n = compiled.equations.graph.outputs['rates'][0]
    free = [[] if name == 'holonomic' else index
            for name, index in compiled.levels]
    step = near/CARRIES

    def rates(q):
        state[:n] = q
        admissible = project(compiled, t, state, p, free).x
        return compiled.evaluate(('rates',), t, admissible, p)['rates'][:, 0]

    q = x[:n]
    for _ in range(CARRIES):
        k1 = rates(q)
        k2 = rates(q + step/2*k1)
        k3 = rates(q + step/2*k2)
        k4 = rates(q + step*k3)
        q = q + step/6*(k1 + 2*k2 + 2*k3 + k4)
    state[:n] = q
    return state


def equation_labels(equations):
    """Names of the rows of ``W`` and of its unknowns."""
    rows = len(equations.unknowns) - len(equations.u)
    names = [f'dynamic equation {i}' for i in range(len(equations.u))]
    names += equations.constraint_names[:rows]
    return names, list(map(str, equations.unknowns))
