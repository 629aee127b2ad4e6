"""Prove that exactly one steady motion is near, and the signs of eigenvalues.

By Krawczyk's operator in intervals of mpmath (:doc:`/theory/numbers`).
"""
from itertools import combinations
from typing import NamedTuple

import numpy as np
from mpmath import iv
from scipy.linalg import qr

from ...errors import ConstrainedDynamicsError
from ..linear.scaling import power_of_two
from .conditions import NULL


# Radii of boxes that are tried, relative to the sizes of the unknowns.
RADII = [10.**k for k in range(-13, -3)]
EPS, TINY = np.finfo(float).eps, np.finfo(float).tiny
# More than the rounding errors of a sum of positive numbers.
MARGIN = 1 - 1e-6

REFUSED = (
    "No proof was found that this steady motion is unique: its conditions are "
    "nearly dependent, as where families cross, or this is not a steady "
    "motion. Move away from such a point.")


class Certificate(NamedTuple):
    """Proof that a box contains exactly one zero of ``rows``.

    The unknowns ``held`` have exactly the values of the motion, the others
    differ from it by at most ``radius``, relative to their size or to 1.
    ``stability`` is None without a proof, as for imaginary or multiple
    eigenvalues. ``eigenvalues`` are the proven ones, as pairs of a centre and
    a radius; their number is taken from numeric ranks.
    """

    radius: float
    rows: tuple
    held: tuple
    stability: str | None
    eigenvalues: tuple


def certificate(motion) -> Certificate:
    """Return the proof for a steady motion, without dependent rows and with
    as many unknowns held as the family has dimensions.

    Raises ConstrainedDynamicsError if there is none, as at a branch point.
    """
    conditions, point = motion.conditions, motion.point
    columns = motion.columns
    if conditions.is_exceptional(point, columns):
        raise ConstrainedDynamicsError(REFUSED)
    norms, sizes = (
        power_of_two(np.log2(x)) for x in conditions.scales(point, columns))
    slopes = conditions.slopes(point, columns)*sizes/norms[:, None]
    chosen = spanning_columns(slopes, columns >= conditions.count)
    rows = spanning_columns(slopes[:, chosen].T)
    places, norms, sizes = columns[chosen], norms[rows], sizes[chosen]
    C = np.linalg.inv(slopes[np.ix_(rows, chosen)])
    where = np.ix_((0, 1), rows, np.searchsorted(conditions.places, places))
    try:
        f, = intervals(conditions, point, places, 0*sizes, ('value',))
        f = f[:, rows, 0]/norms
        for radius in RADII:
            slopes, inertia = intervals(
                conditions, point, places, radius*sizes,
                ('slopes', 'inertia'))
            J = slopes[where]*sizes/norms[:, None]
            if contracts(C, f, J, 0., radius):
                break
        else:
            raise ConstrainedDynamicsError(REFUSED)
    except ZeroDivisionError:           # the box leaves a domain
        raise ConstrainedDynamicsError(REFUSED) from None
    discs = proven_eigenvalues(motion, slopes, inertia)
    return Certificate(
        radius, tuple(conditions.rows[k] for k in rows),
        tuple(motion.names.labels[k] for k in columns if k not in places),
        proven_stability(discs, len(motion.eigenvalues)), tuple(discs))


# -- matrices with bounds of their errors ----------------------------------
#
# A pair of matrices, stacked, is a matrix and the radii of its entries.

def spanning_columns(matrix, preferred=None):
    """Positions of independent columns in order; a mask of preferred ones."""
    if preferred is None:
        preferred = np.full(matrix.shape[1], True)
    chosen = np.zeros(0, dtype=int)
    for group in filter(len, map(np.flatnonzero, (preferred, ~preferred))):
        Q, R, order = qr(matrix[:, group], mode='economic', pivoting=True)
        rank = int(np.sum(np.abs(np.diag(R)) > NULL))
        chosen = np.append(chosen, group[order[:rank]])
        Q = Q[:, :rank]
        matrix = matrix - Q@(Q.T@matrix)
    return np.sort(chosen)


def intervals(conditions, point, places, half, names):
    values = dict(zip(conditions.symbols, map(iv.mpf, point.tolist())))
    for k, width in zip(places, half.tolist()):
        values[conditions.symbols[k]] += iv.mpf([-width, width])
    found = conditions.graph.evaluate(values, names, iv)
    for name in names:
        low, high = (np.array([[float(getattr(x, end)) for x in row]
                               for row in found[name]]) for end in 'ab')
        middle = (low + high)/2
        yield np.array([middle, (high - low)*(0.5 + EPS) + EPS*abs(middle)])


def product(A, B):
    """A product with a pair; complex numbers are allowed."""
    middle, radii = B
    rounding = 4*(A.shape[1] + 4)*EPS*(np.abs(A)@np.abs(middle)) + TINY
    return np.array([A@middle, np.abs(A)@radii + rounding])


def contracts(C, f, J, spread, radius):
    """Whether a step of Newton's method contracts the ball into itself, in
    which derivatives differ from ``J`` by up to ``spread*radius``.
    """
    moved = np.abs(product(C, f)).sum(0)
    CJ = product(C, J)
    CJ[0] -= np.eye(len(C))
    apart = np.abs(CJ).sum(0) + radius*np.abs(C)@(spread + 0*J[1].real)
    return np.all(moved + apart.sum(axis=1)*radius < MARGIN*radius)


# -- eigenvalues -----------------------------------------------------------

def proven_eigenvalues(motion, slopes, inertia):
    """Discs that contain an eigenvalue of every motion in the box."""
    S, B = pencil(motion.conditions, motion.point, slopes, inertia)
    discs = []
    for value in motion.eigenvalues[motion.eigenvalues.imag >= 0]:
        radius = radius_of_eigenvalue(S, B, value) if value else None
        if radius is not None:
            value = complex(value)
            discs.append((value, radius))
            if value.imag:
                discs.append((value.conjugate(), radius))
    return discs


def pencil(conditions, point, slopes, inertia):
    """The pairs S and B of ``(S + mu B) v = 0``, without dependent rows."""
    first = conditions.count - inertia.shape[2]         # solved for
    columns = np.setdiff1d(np.arange(conditions.size), conditions.cyclic)
    norms, sizes = (
        power_of_two(np.log2(x)) for x in conditions.scales(point, columns))
    explicit, lam = columns < first, columns >= conditions.count
    count = int(explicit.sum())
    start = len(norms) - inertia.shape[1] - count
    S = slopes[:, start:, np.searchsorted(conditions.places, columns)]
    B = np.zeros_like(S)
    B[0, :count][:, explicit] = -np.eye(count)
    B[:, count:, ~explicit & ~lam] = inertia
    S, B = (M*sizes/norms[start:, None] for M in (S, B))
    W = np.where(~lam, B[0, count:], S[0, count:])[:, count:]
    kept = spanning_columns(W, ~lam[count:])
    rows = spanning_columns(W[:, kept].T)
    kept, rows = (np.append(np.arange(count), count + k) for k in (kept, rows))
    where = np.ix_((0, 1), rows, kept)
    return S[where], B[where]


def radius_of_eigenvalue(S, B, value):
    """The radius of a disc around it that contains exactly one, or None."""
    scale = power_of_two(np.log2(abs(value)))
    R = np.array([S[0] + value*B[0], S[1] + abs(value)*B[1] + 4*EPS*(
        np.abs(S[0]) + abs(value)*np.abs(B[0]))])
    vector = np.linalg.svd(R[0])[2][-1].conj()
    held = np.argmax(np.abs(vector))
    vector = vector/vector[held]

    def applied(M):
        return product(vector[None], M.swapaxes(1, 2))[:, 0]

    n = len(vector)
    J = np.zeros((2, n + 1, n + 1), R.dtype)
    J[:, :n, :n], J[:, :n, n], J[0, n, held] = R, scale*applied(B), 1.
    f = np.zeros((2, n + 1), R.dtype)
    f[:, :n] = applied(R)
    largest = np.abs(B).sum(0)
    spread = np.zeros((n + 1, n + 1))
    spread[:n, :n], spread[:n, n] = scale*largest, scale*largest.sum(axis=1)
    try:
        C = np.linalg.inv(J[0])
    except np.linalg.LinAlgError:       # a multiple eigenvalue
        return None
    for radius in RADII:
        if contracts(C, f, J, spread, radius):
            return float(radius*scale)
    return None


def proven_stability(discs, count):
    if any(value.real > radius for value, radius in discs):
        return 'unstable'
    if len(discs) == count and all(
            value.real < -radius for value, radius in discs) and all(
            abs(a - b) > r + s for (a, r), (b, s) in combinations(discs, 2)):
        return 'stable'
    return None
