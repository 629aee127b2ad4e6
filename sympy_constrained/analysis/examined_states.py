"""Constraint rows and mass matrix at one state on the constraints."""
from dataclasses import dataclass

from mpmath import mp

from .consistent_points import (
    DEPENDENT, DEPENDENT_THERE, admissible_values, evaluated, has_floats,
    largest, norm, orthonormal_rows, project_out, settled, sizes_elsewhere)

# The new part of a row where masses of different size are compared.
MASSLESS = mp.mpf('1e-18')


@dataclass(frozen=True)
class Examined:
    """Rank, relations and mass matrix at one state."""

    values: dict
    b: list
    kept: tuple
    vanishing: tuple
    relations: dict
    left: dict
    determined: bool
    mass_is_regular: bool
    mass_is_definite: bool
    mobile: bool
    rounding: mp.mpf


def examine(system, sample, seed, first=False):
    """Independent rows and relations at one admissible state."""
    values = admissible_values(system, sample, seed, first=first)
    out = evaluated(system, values, ('A', 'b', 'M', 'holonomic', 'velocity'))
    exact = is_settled(system, values, out) and not has_floats(system, sample)
    tolerance = DEPENDENT if exact else DEPENDENT_THERE
    sizes = list(map(norm, out['A']))
    elsewhere = sizes_elsewhere(system, values, sizes)
    basis, extended = orthonormal_rows(out['A'], tolerance, elsewhere)
    kept = tuple(k for k, _ in extended)
    vanishing = tuple(k for k, (x, y) in enumerate(zip(sizes, elsewhere))
                      if x < tolerance*y)
    o = len(system.u)
    A, M = scaled_by_masses([out['A'][k] for k in kept], out['M'])
    regular = has_rank(M, o)
    return Examined(
        values, [x for x, in out['b']], kept, vanishing,
        *dependencies(out['A'], basis, extended), has_rank(A + M, o),
        regular, regular and is_definite(M), len(kept) < o,
        mp.mpf('1e-18') if exact else mp.mpf('1e-6'))


def is_settled(system, values, out):
    """Whether the constraints hold to the digits of a simple root."""
    size = largest(values, system.q)
    return all(abs(x) < settled()*size**2
               for name in ('holonomic', 'velocity') for x, in out[name])


def scaled_by_masses(A, M):
    """``A`` and ``M`` for speeds in which masses are one."""
    scale = [1/mp.sqrt(abs(row[j])) if row[j] else mp.mpf(1)
             for j, row in enumerate(M)]
    A = [[x*y for x, y in zip(row, scale)] for row in A]
    return A, [[x*factor*y for x, y in zip(row, scale)]
               for factor, row in zip(scale, M)]


def has_rank(rows, rank):
    return len(orthonormal_rows(rows, MASSLESS)[0]) == rank


def is_definite(M):
    try:
        mp.cholesky(mp.matrix(M))
    except ValueError:
        return False
    return True


def dependencies(rows, basis, extended):
    """Redundant row -> ``{independent row: coefficient}``, and redundant row
    -> relative size of its independent part."""
    relations, left = {}, {}
    kept = {k for k, _ in extended}
    for k, row in enumerate(rows):
        if k not in kept:
            rest, parts = project_out(row, basis)
            left[k] = norm(rest)/(norm(row) or 1)
            relations[k] = relation(parts, extended, DEPENDENT)
    return relations, left


def relation(parts, extended, small):
    """Independent row -> coefficient, of a row with components ``parts``."""
    coefficients = {}
    for number, used in reversed(extended):
        c = parts[len(used) - 1]/used[-1]
        parts = [x - c*y for x, y in zip(parts, used)]
        if abs(c) > small:
            coefficients[number] = c
    return dict(sorted(coefficients.items()))
