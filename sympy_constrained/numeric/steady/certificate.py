r"""Prove in interval arithmetic that exactly one steady motion is near.

With the conditions :math:`f`, an approximate inverse :math:`C` of their
derivatives at the point :math:`z_0` and a box :math:`Z` around it, Krawczyk's
operator

.. math:: K = z_0 - C f(z_0) + (1 - C f'(Z))(Z - z_0)

lies inside :math:`Z` only if :math:`Z` contains exactly one zero [1]_. All is
evaluated on the graph, in intervals of mpmath that contain every rounding
error.

References
==========

.. [1] R. Krawczyk, "Newton-Algorithmen zur Bestimmung von Nullstellen mit
   Fehlerschranken," Computing 4 (1969) 187-201; A. Neumaier, "Interval Methods
   for Systems of Equations," Cambridge (1990), section 5.1.

"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from mpmath import iv
from scipy.linalg import qr

from ...errors import ConstrainedDynamicsError
from .conditions import NULL

__all__ = ['Certificate', 'certificate']

# Radii of boxes that are tried, relative to the sizes of the unknowns.
RADII = [10.**k for k in range(-13, -3)]
# Distance of a neighbour in the family.
APART = 1e-3

REFUSED = (
    "No proof was found that this steady motion is unique: its conditions are "
    "nearly dependent, as where families cross, or it is none. Move away from "
    "such a point.")


class Certificate(NamedTuple):
    """Proof that a box contains exactly one zero of ``rows``.

    The unknowns ``held`` have exactly the values of the motion, the others
    differ from it by at most ``radius``, relative to their size or to 1.
    """

    radius: float
    rows: tuple
    held: tuple


def certificate(motion) -> Certificate:
    """Return the proof for a steady motion.

    Rows that depend on others, and as many unknowns as the family has
    dimensions, are left out of the proof; the result names them.

    Raises ConstrainedDynamicsError if there is none, as at a branch point.
    """
    conditions, point = motion.conditions, motion.point
    columns = conditions.columns[conditions.columns < conditions.size]
    if _is_exceptional(conditions, point, columns):
        raise ConstrainedDynamicsError(REFUSED)
    norms, sizes = conditions.scales(point, columns)
    slopes = conditions.slopes(point, columns)*sizes/norms[:, None]
    rank = int(np.sum(np.linalg.svd(slopes, compute_uv=False) > NULL))
    chosen = np.sort(qr(slopes, mode='r', pivoting=True)[1][:rank])
    rows = np.sort(qr(slopes[:, chosen].T, mode='r', pivoting=True)[1][:rank])
    places, C = columns[chosen], np.linalg.inv(slopes[np.ix_(rows, chosen)])
    try:
        for radius in RADII:
            if _is_inside(conditions, point, places, rows, C,
                          norms[rows], sizes[chosen], radius):
                names = motion.names
                return Certificate(
                    radius, tuple(conditions.rows[k] for k in rows),
                    tuple(names.labels[k] for k in columns
                          if k not in places))
    except ZeroDivisionError:           # the box leaves a domain
        pass
    raise ConstrainedDynamicsError(REFUSED)


def _is_exceptional(conditions, point, columns):
    """Whether neighbours in the family have fewer of them."""
    found = conditions.directions(point, columns)
    if not len(found):
        return False
    beside = point.copy()
    beside[columns] += APART*conditions.scales(point, columns)[1]*found[0]
    beside = conditions.solved(beside, columns)
    return beside is None or len(
        conditions.directions(beside, columns)) < len(found)


def _is_inside(conditions, point, places, rows, C, norms, sizes, radius):
    """Whether Krawczyk's operator maps a box into its interior."""
    def evaluated(half, name):
        values = dict(zip(conditions.symbols, map(iv.mpf, point.tolist())))
        for k, width in zip(places, half):
            x = float(point[k])
            values[conditions.symbols[k]] = iv.mpf(x) + iv.mpf(
                [-width, width])
        return conditions.graph.evaluate(values, (name,), iv)[name]

    half = radius*sizes
    value = evaluated(0*half, 'value')
    slopes = evaluated(half, 'slopes')
    where = np.searchsorted(conditions.places, places)
    f = [value[i][0]/iv.mpf(float(n)) for i, n in zip(rows, norms)]
    J = [[slopes[i][j]*iv.mpf(float(s))/iv.mpf(float(n))
          for j, s in zip(where, sizes)] for i, n in zip(rows, norms)]
    C = [[iv.mpf(float(x)) for x in row] for row in C]
    for i, row in enumerate(C):         # in units of the sizes
        moved = -sum((c*x for c, x in zip(row, f)), iv.mpf(0))
        for j in range(len(C)):
            entry = int(i == j) - sum(
                (c*J[k][j] for k, c in enumerate(row)), iv.mpf(0))
            moved += entry*iv.mpf([-radius, radius])
        if not (moved.a > -radius and moved.b < radius):
            return False
    return True
