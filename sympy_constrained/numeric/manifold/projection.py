r"""Bring a state back to the constraints, first ``q``, then ``u``.

Gauss-Newton steps of least norm: rows are divided by the norm of their
gradient, and singular values below the remaining distance are ignored, because
off the constraint set redundant rows look independent.
"""
from dataclasses import dataclass

import numpy as np

from ..tolerances import (
    CLOSE, LARGEST_CUT, LEAST_CUT, NEGATIVE, NO_GRADIENT, NO_MASS, ROUNDING)


MAX_STEPS = 50
HALVINGS = 10


@dataclass(frozen=True, eq=False)
class Correction:
    """A state; ``distances`` are residuals over norms of gradients."""

    x: np.ndarray
    residuals: np.ndarray
    distances: np.ndarray

    def is_within(self, tolerance) -> bool:
        """Whether all distances are, relative to states above one."""
        return bool(self.relative <= tolerance)

    @property
    def relative(self) -> float:
        """The largest distance relative to the size of the state."""
        if not len(self.distances):
            return 0.
        return float(self.distances.max()/size_of(self.x))


def size_of(values) -> float:
    """The largest absolute value, at least one."""
    return max(1., np.abs(values).max(initial=0.))


def distances(compiled, t, x, p=None) -> Correction:
    """How far a state is from each constraint, without moving it."""
    return project(compiled, t, x, p, steps=0)


def project(compiled, t, x, p=None, free=None, steps=MAX_STEPS,
            weighted=False, least=0., part=1.) -> Correction:
    """The consistent state near ``x``.

    ``free`` contains, for each of ``compiled.levels``, the positions in ``x``
    of the states that may move; all by default. Speeds move by the least
    kinetic energy ``du^T M du`` where ``M`` is positive; so do coordinates if
    ``weighted`` and free, by ``G*du``, ``G = dq'/du``. At most ``steps`` steps
    are made at each level; 0 only measures. Relative singular values below
    ``least`` are ignored, and below ``part`` of the distance.
    """
    x = np.array(x, dtype=float)
    levels = compiled.levels
    free = free or [index for _, index in levels]
    residuals, far = [np.zeros(0)], [np.zeros(0)]
    for (name, index), movable in zip(levels, free):
        if not compiled.has(name):
            continue
        names = name, f'{name}_jacobian'
        moving = np.arange(len(index)) if movable is index else (
            np.flatnonzero(np.isin(index, movable)))

        def rows(values):
            x[index] = values
            outputs = compiled.evaluate(names, t, x, p)
            return outputs[names[0]][:, 0], outputs[names[1]][:, moving]

        def metric():
            if name == 'velocity':
                mass = compiled.evaluate(('M',), t, x, p)['M']
                return mass_metric(mass, moving)
            if weighted and name == 'holonomic':
                return coordinate_metric(*compiled.inertia(t, x, p))
            return None

        x[index], value, distance = gauss_newton(
            rows, x[index], moving, metric, steps,
            max(least, LEAST_CUT[name]), part)
        residuals.append(value)
        far.append(distance)
    return Correction(x, np.concatenate(residuals), np.concatenate(far))


def gauss_newton(rows, start, moving, metric, steps, least, part):
    """Solve ``rows(v) = 0`` for the entries ``moving`` of ``v``.

    ``rows`` returns residuals and gradients. Steps are ``metric()*d`` with the
    least norm of ``d``. Returns ``v``, residuals and distances.
    """
    v = np.array(start, dtype=float)
    value, gradient = rows(v)
    last = np.inf
    for k in range(steps if len(moving) else 0):
        norms = norms_of(gradient)
        far = np.abs(value/norms).max(initial=0)/size_of(v)
        if far <= CLOSE or (far < ROUNDING and far > last/2):
            break
        last = far
        if k == 0:
            factor = metric()
        step = least_norm_step(value/norms, gradient/norms[:, None],
                               factor, max(least, part*min(far, LARGEST_CUT)))
        better = _shortened(rows, v, value, norms, moving, step)
        if better is None:
            break
        v, value, gradient = better
    return v, value, np.abs(value/norms_of(gradient))


def project_many(compiled, t, x, p):
    """:func:`project` for rows of ``x`` and ``p``, without halved steps.

    Returns states and relative distances, infinite where steps must be halved.
    """
    x, far = x.copy(), np.zeros(len(x))
    for name, index in compiled.levels:
        if compiled.has(name):
            far = np.maximum(far, gauss_newton_many(
                compiled, name, index, t, x, p) if len(index) else np.inf)
    return x, far


def gauss_newton_many(compiled, name, index, t, x, p):
    """One level of :func:`project_many`; moves ``x``."""
    def rows(x):
        names = name, f'{name}_jacobian'
        outputs = compiled.evaluate(names, t, x, p)
        return outputs[names[0]][..., 0], outputs[names[1]]

    metric = mass_metrics(compiled.evaluate(('M',), t, x, p)['M']) if (
        name == 'velocity') else np.eye(len(index))
    (value, gradient), last = rows(x), np.inf
    moves, fails = np.ones(len(x), bool), np.zeros(len(x), bool)
    for _ in range(MAX_STEPS):
        norms = norms_of(gradient)
        far = np.abs(value/norms).max(axis=1, initial=0)/np.maximum(
            1, np.abs(x[:, index]).max(axis=1))
        moves &= (far > CLOSE) & ((far >= ROUNDING) | (far <= last/2))
        if not moves.any():
            break
        last, step = far, metric@pseudo_inverses(
            gradient/norms[..., None]@metric,
            np.maximum(LEAST_CUT[name], far))@(-value/norms)[..., None]
        trial = x.copy()
        trial[:, index] += np.where(moves[:, None], step[..., 0], 0.)
        new_value, new_gradient = rows(trial)
        closer = np.linalg.norm(new_value/norms, axis=1) < np.linalg.norm(
            value/norms, axis=1)
        fails |= moves & ~closer & (far >= ROUNDING)
        moves &= closer
        x[moves], value[moves], gradient[moves] = (
            trial[moves], new_value[moves], new_gradient[moves])
    return np.where(moves | fails, np.inf, far)


def pseudo_inverses(matrices, cuts):
    """Pseudo-inverses that leave out singular values below ``cuts``."""
    norms = norms_of(matrices)
    return np.linalg.pinv(matrices/norms[..., None], np.minimum(
        cuts, LARGEST_CUT))/norms[:, None]


def _shortened(rows, v, value, norms, moving, step):
    """The result of the longest halved step that comes closer, or None."""
    for halving in range(HALVINGS):
        trial = v.copy()
        trial[moving] += step/2**halving
        try:
            trial_value, gradient = rows(trial)
        except ArithmeticError:         # outside the domain of a function
            continue
        if np.linalg.norm(trial_value/norms) < np.linalg.norm(value/norms):
            return trial, trial_value, gradient
    return None


def least_norm_step(value, gradient, metric, cut):
    """The step ``d`` of least norm with ``gradient*d = -value``.

    Steps along the free columns of the ``metric`` cost nothing.
    """
    cut = min(cut, LARGEST_CUT)
    if metric is None:
        return np.linalg.lstsq(gradient, -value, rcond=cut)[0]
    metric, free = metric
    heavy = metric.shape[1]
    weighted, light = gradient@metric, gradient@free
    # units of free columns are arbitrary: they get the usual size, unless
    # they move no row but for rounding
    sizes, lengths = (np.linalg.norm(part, axis=0) for part in (light, free))
    usual = (np.linalg.norm(weighted) or 1.)/np.where(
        sizes > NO_GRADIENT*lengths, sizes, lengths)
    metric = np.hstack([metric, free*usual])
    weighted = np.hstack([weighted, light*usual])
    norms = norms_of(weighted)
    left, sigma, right = np.linalg.svd(weighted/norms[:, None])
    rank = int(np.sum(sigma > cut*sigma.max(initial=0)))
    step = right[:rank].T@(left[:, :rank].T@(-value/norms)/sigma[:rank])
    if rank and heavy < metric.shape[1]:
        left, costs, turn = np.linalg.svd(
            right[rank:, :heavy], full_matrices=False)
        kept = costs > ROUNDING*sigma[0]/sigma[rank - 1]
        step -= right[rank:].T@left[:, kept]@(
            turn[kept]@step[:heavy]/costs[kept])
    return metric@step


def norms_of(gradient):
    """Norms of the rows, 1 for rows without a gradient."""
    norms = np.sqrt(np.einsum('...i,...i', gradient, gradient))
    return np.where(norms > NO_GRADIENT*norms.max(
        axis=-1, keepdims=True, initial=0), norms, 1.)


def mass_metric(mass, free):
    """``T`` with ``T^T M T = 1`` on the free part, and the directions without
    mass; None if a mass is negative, or all vanish.
    """
    mass, unit = mass[np.ix_(free, free)], np.eye(len(free))
    heavy = mass.any(axis=0)
    if not heavy.any():
        return None
    moved, light = unit[:, heavy], unit[:, ~heavy]
    mass = mass[np.ix_(heavy, heavy)]
    try:
        return moved@mass_metrics(mass), light
    except np.linalg.LinAlgError:
        diagonal = np.abs(np.diagonal(mass))
    scale = 1/np.sqrt(np.where(diagonal > 0, diagonal, 1.))
    values, vectors = np.linalg.eigh(mass*scale*scale[:, None])
    if values[0] < NEGATIVE:
        return None
    moved, heavy = moved*scale@vectors, values > NO_MASS
    return (moved[:, heavy]/np.sqrt(values[heavy]),
            np.hstack([light, moved[:, ~heavy]]))


def mass_metrics(masses):
    """The same for all speeds, perhaps at several states, or LinAlgError."""
    factors = np.linalg.cholesky((masses + masses.swapaxes(-1, -2))/2)
    shares = np.diagonal(factors, axis1=-2, axis2=-1)**2/np.diagonal(
        masses, axis1=-2, axis2=-1)
    if shares.min(initial=1.) < NO_MASS:
        raise np.linalg.LinAlgError("A direction has no mass.")
    return np.linalg.inv(factors).swapaxes(-1, -2)


def coordinate_metric(mass, G):
    """The same for coordinates: ``G*T`` and its orthogonal complement, ``G``
    of directions without mass.

    The complement is scaled to the mean length of the columns of ``G*T``.
    """
    metric = None if G is None else mass_metric(mass, range(len(mass)))
    if metric is None:
        return None
    moved, light = G@metric[0], G@metric[1]
    left, sigma, _ = np.linalg.svd(G)
    rank = int(np.sum(sigma > NO_GRADIENT*sigma.max(initial=0)))
    usual = np.sqrt(np.sum(moved**2)/max(rank, 1))
    return np.hstack([moved, usual*left[:, rank:]]), light
