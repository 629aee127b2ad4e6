"""Search for a point at which the conditions of steady motion hold."""
from contextlib import suppress

import numpy as np

from ...errors import ConstrainedDynamicsError, ConstraintError
from ..manifold.projection import distances, project
from ..tolerances import ROUNDINGS, TYPED
from .conditions import NULL, Conditions


# The distance of what further starts may find, absolute or relative to the
# guess.
FAR = 2.
# Coordinates and speeds are measured in units of one; if those of the guess
# are above rounding and of unusual size, a first search measures in these.
ROUNDED, USUAL = 1e-12, (1e-3, 1e3)
# Distances from a singular state, at which accelerations are compared.
TOWARDS = 1e-2, 1e-3


def search(conditions, guess, p, fixed, beside):
    """The conditions and the point of a steady motion near a guess.

    ``fixed`` states are held. ``beside`` is the number of further starts.
    """
    compiled = conditions.compiled
    free = [np.array([k for k in index if k in conditions.columns
                      and k not in fixed], dtype=int)
            for _, index in compiled.levels]
    x = project(compiled, 0., guess, p, free).x
    sizes, given = np.ones(len(x)), (guess, x, p, fixed, beside)
    for index in compiled.q_index, np.setdiff1d(
            range(len(x)), compiled.q_index):
        sizes[index] = _unusual(np.abs(x[index]))
    if np.any(sizes != 1):
        with suppress(ConstrainedDynamicsError):
            return _search_by_size(Conditions(
                compiled, conditions.cyclic, conditions.at_rest, sizes=sizes
            ), *given)
    return _search_by_size(conditions, *given)


def _unusual(values):
    """Sizes to measure in: 1, the large values, or the largest if small."""
    size = values.max(initial=0.)
    if not size > ROUNDED or USUAL[0] <= size <= USUAL[1]:
        return 1.
    return np.maximum(values, 1.) if size > 1 else size


def _search_by_size(conditions, guess, x, p, fixed, beside):
    compiled = conditions.compiled
    point = np.concatenate([x, np.zeros(len(compiled.multiplier_names)), p])
    value, slopes = conditions(point)
    lam = slice(conditions.count, conditions.size)
    point[lam] = np.linalg.lstsq(slopes[:, lam], -value, rcond=None)[0]
    columns = conditions.columns[~np.isin(conditions.columns, fixed)]
    states = columns[columns < conditions.count]
    sizes, fault = conditions.scales(point, states)[1], None
    reach = FAR*np.maximum(sizes, np.abs(guess[states]))
    for k, start in enumerate(conditions.starts(point, columns, beside)):
        if k == 1:
            point = start               # the solution of least squares
        solved = conditions.solved(start, columns)
        if solved is None or k > 1 and np.any(np.abs(
                solved[states] - guess[states]) > reach):
            continue
        try:
            for check in _check_cyclic, _check_units, _check_balance:
                check(conditions, solved)
        except ConstrainedDynamicsError as error:
            fault = fault or error
        else:
            return conditions, solved
    raise fault or _not_found(conditions, point, columns)


def _check_cyclic(conditions, point):
    norms, _ = conditions.scales(point, conditions.places)
    slopes = conditions(point)[1]/norms[:, None]
    bad = [conditions.compiled.names.labels[k] for k in conditions.cyclic
           if np.abs(slopes[:, k]).max(initial=0.) > NULL]
    if bad:
        raise ConstrainedDynamicsError(
            f"The equations depend on {', '.join(bad)}, so no motion in which "
            "it advances is steady. Leave it out of `cyclic`, or choose other "
            "coordinates.")


def _check_units(conditions, point):
    """Raise if constraints hold only because the coordinates are small."""
    x, _, p = conditions.parts(point)
    compiled = conditions.compiled
    size = np.abs(x[compiled.q_index]).max(initial=0.)
    if distances(compiled, 0., x, p).distances.max(initial=0.) > max(
            TYPED*size, ROUNDINGS):
        raise ConstrainedDynamicsError(
            f"All coordinates are below {size:.0e} here, and the constraints "
            "cannot be resolved so finely. Use smaller units of length.")


def _check_balance(conditions, point):
    """Raise if an equation drops out here, and accelerations do not vanish
    towards this state.
    """
    x, _, p = conditions.parts(point)
    compiled, sizes = conditions.compiled, []
    with suppress(ConstrainedDynamicsError, ArithmeticError):
        try:
            compiled.linear_solver(0., x, p)
        except ConstrainedDynamicsError:
            sizes = [_acceleration_beside(compiled, x, p, step)
                     for step in TOWARDS]
    if sizes and sizes[1] > max(sizes[0]/2, ROUNDINGS):
        raise ConstraintError(
            "No steady motion was found near the guess. Its conditions hold "
            "only where the coordinates are singular, such as Euler angles "
            "in gimbal lock, and beside that state the accelerations "
            f"u' have the size sqrt(u'^T*M*u') = {sizes[1]:.1e}. Either none "
            "exists there, or other coordinates are needed.", rows=(),
            state=x)


def _acceleration_beside(compiled, x, p, step):
    """Size of ``u'`` near a state, by ``M`` as coordinates are singular."""
    near = x.copy()
    near[compiled.q_index] += step*np.cos(
        2.4*np.arange(1, len(compiled.q_index) + 1))
    near = project(compiled, 0., near, p).x
    rates = compiled.rhs(0., near, p)[compiled.u_index]
    return np.sqrt(abs(
        rates@compiled.evaluate(('M',), 0., near, p)['M']@rates))


def _not_found(conditions, point, columns):
    value = np.abs(conditions(point)[0]/conditions.scales(point, columns)[0])
    worst = np.flatnonzero(value > max(0.3*value.max(), 1e-300))
    rows = tuple(conditions.rows[k] for k in worst)
    text = ', '.join(f'{conditions.rows[k]} by {value[k]:.1e}' for k in worst)
    held = ', with the held states' if len(columns) < len(
        conditions.columns) else ''
    return ConstraintError(
        f"No steady motion was found near the guess: closest to one, {text} "
        "remain (relative to their derivatives). " + (
            "They vanish only where the equations have no value, such as "
            "those of Euler angles in gimbal lock. Use other coordinates, "
            "such as a quaternion." if value.max() < NULL else
            f"Either none exists there{held}, such as with friction "
            "and no drive, or the guess is far from it. Try other guesses, or "
            "hold other states; name in `cyclic` coordinates that may advance "
            "although the equations contain them."), rows=rows,
        state=conditions.parts(point)[0])
