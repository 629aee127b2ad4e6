"""Factors of rows and columns of ``W`` that bring its entries close to 1.

By least squares of the logarithms of all entries (Curtis and Reid 1972), or to
largest entries of 1 (Ruiz 2001), which ignores tiny entries.
"""
import numpy as np

from ..tolerances import PIVOT, RESIDUE, SINGULAR


# Exponents of scale factors; the product of two must not overflow.
EXPONENTS = -500, 500
# Passes of equilibration; each halves the logarithms of the largest entries.
PASSES = 12


def best_scaling(matrices, scalings, enough=1.):
    """The scaling that shows the highest rank, then the best condition.

    Of those with the highest rank, the first one with a reciprocal condition
    of ``enough`` is taken. Returns factors of rows and columns, scaled
    matrices, and their decompositions.
    """
    def scaled(rows, columns):
        changed = [matrix*np.outer(rows, columns) for matrix in matrices]
        return rows, columns, changed, list(map(np.linalg.svd, changed))

    def quality(scaling):
        ratios = [sigma/sigma[0] if len(sigma) and sigma[0] else sigma[:0]
                  for _, sigma, _ in scaling[3]]
        ranks = [np.count_nonzero(ratio > SINGULAR) for ratio in ratios]
        return max(ranks), min(enough, *(
            ratio[rank - 1] if rank else 0.
            for ratio, rank in zip(ratios, ranks)))

    return max((scaled(*factors) for factors in scalings), key=quality)


def has_tiny_masses(magnitudes, factors, motion):
    """Whether a diagonal entry of the mass matrix is below ``PIVOT`` in a row
    that is not zero, with ``factors`` that bring the largest entries to 1.

    Such a mass may be the rounding error of a massless direction.
    """
    masses = (magnitudes*np.outer(*factors))[:motion, :motion]
    return bool((masses.any(axis=1) & (masses.diagonal() < PIVOT)).any())


def scales(magnitudes, balanced):
    """Factors of rows and columns that bring all entries close to 1.

    Least squares of ``log2|a_ij| + row_i + column_j`` over the entries
    that are no residues of others in their row and column, with the factors
    ``balanced`` of :func:`balance`.
    """
    scaled = magnitudes*np.outer(*balanced)
    mask = scaled > RESIDUE*np.minimum.outer(
        scaled.max(axis=1, initial=0), scaled.max(axis=0, initial=0))
    logarithms = np.zeros(mask.shape)
    logarithms[mask] = np.log2(magnitudes[mask])
    normal = np.block([[np.diag(mask.sum(axis=1)), mask],
                       [mask.T, np.diag(mask.sum(axis=0))]])
    right = -np.concatenate([logarithms.sum(axis=1), logarithms.sum(axis=0)])
    exponents = np.linalg.lstsq(normal, right, rcond=None)[0]
    return tuple(np.split(power_of_two(exponents), 2))


def balance(magnitudes, motion):
    """Factors by which the largest entries of rows and columns are about 1.

    The mass matrix comes first, so that a small mass counts.
    """
    rows, columns = np.ones((2, len(magnitudes)))
    lead = slice(motion)
    rows[lead], columns[lead] = equilibrium(magnitudes[lead, lead])
    scaled = magnitudes*rows[:, None]*columns
    rows[motion:] /= largest(scaled[motion:, lead], axis=1)
    columns[motion:] /= largest(scaled[lead, motion:], axis=0)
    more = equilibrium(magnitudes*rows[:, None]*columns)
    return tuple(power_of_two(np.log2(x) + np.log2(y))
                 for x, y in zip((rows, columns), more))


def equilibrate(magnitudes):
    """The same for all at once, where ``M`` may contain rounding residues."""
    return tuple(power_of_two(np.log2(x)) for x in equilibrium(magnitudes))


def power_of_two(exponents):
    """Factors that add no rounding error and do not overflow."""
    return np.exp2(np.clip(np.rint(exponents), *EXPONENTS))


def equilibrium(magnitudes):
    """Factors by which all largest entries are 1, by Ruiz's iteration."""
    rows, columns = np.ones((2, len(magnitudes)))
    for _ in range(PASSES):
        scaled = magnitudes*rows[:, None]*columns
        rows /= np.sqrt(largest(scaled, axis=1))
        columns /= np.sqrt(largest(scaled, axis=0))
    return rows, columns


def largest(magnitudes, axis):
    """Largest entries, 1 where all are zero."""
    size = magnitudes.max(axis=axis, initial=0)
    return np.where(size > 0, size, 1.)
