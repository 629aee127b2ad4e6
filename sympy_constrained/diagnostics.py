"""What the constraints of a system are: rank, redundancy, consistency.

Redundant rows of closed loops are often dependent only where the constraints
hold, so a symbolic rank, or one at a generic point, is never asked for. The
rows are examined at states that satisfy the constraints, found by
Gauss-Newton steps at 30 digits.
"""
from __future__ import annotations

import warnings
from dataclasses import dataclass
from random import Random

from mpmath import mp
from sympy import Symbol

from .errors import (
    ConstraintError, InconsistentConstraintsError, MissingIngredientError)

__all__ = ['ConstraintReport', 'constraint_report', 'admissible_values']

DIGITS = 30
DEPENDENT = mp.mpf('1e-9')      # of a normalised row, to count as zero
SETTLED = mp.mpf(10)**(5 - DIGITS)
ATTEMPTS, STEPS = 40, 60
POINTS, MOST_POINTS = 3, 12


@dataclass(frozen=True)
class ConstraintReport:
    """Rank and redundancy of the constraint rows where they hold.

    Attributes
    ==========

    rank : int
        Of ``A`` on the constraint set: the largest of the points examined.
    independent_rows : tuple of int
        The first rows, in the user's order, that span all the others.
    redundant_rows : tuple of int
    relations : dict
        Redundant row -> ``{independent row: coefficient}`` at the first
        point examined.
    determined : bool
        Whether ``[M; A]`` has full column rank, so that the accelerations
        are unique.
    points : tuple of dict
        The values at which the rows were examined.

    """

    rank: int
    independent_rows: tuple
    redundant_rows: tuple
    relations: dict
    determined: bool
    points: tuple


def admissible_values(system, sample=None, seed=0):
    """Return values of all inputs that satisfy the constraints.

    Parameters
    ==========

    system : ConstrainedSystem
    sample : dict, optional
        Values to start from, of constants, coordinates, speeds, time or
        specified functions; the others are random, constants positive.
        Given constants are kept, states are moved onto the constraints.
    seed : int

    Raises
    ======

    ConstraintError
        If no state was found that satisfies the constraints.

    """
    random = Random(f'admissible {seed}')
    with mp.workdps(DIGITS):
        left = mp.inf
        for attempt in range(ATTEMPTS):
            values = random_values(system, sample, random, attempt)
            residual = settle(system, values, 'holonomic',
                              'holonomic_jacobian', system.q)
            if residual < SETTLED:
                residual = settle(system, values, 'velocity',
                                  'velocity_jacobian', system.u)
            if residual < SETTLED:
                return values
            left = min(left, residual)
    raise ConstraintError(
        "No state was found that satisfies the constraints: the best of "
        f"{ATTEMPTS} attempts from random constants and coordinates leaves "
        f"a residual of {mp.nstr(left, 3)}. The constraints may contradict "
        "each other, or need special dimensions; pass `sample={symbol: "
        "number, ...}` with values near a state that satisfies them.")


def random_values(system, sample, random, attempt):
    """Random numbers for all inputs, the sample first."""
    states = {*system.q, *system.u}
    reach = mp.mpf(1) + attempt/mp.mpf(10)
    values = {}
    for x in (*system.graph.inputs, *system.q, *system.u, system.t):
        number = mp.mpf(random.randint(1, 10**9))/10**9
        if x in states:
            values[x] = reach*(2*number - 1)
        else:
            values[x] = mp.mpf('0.5') + number
    for x, value in (sample or {}).items():
        if x not in values and isinstance(x, Symbol):
            continue
        if x in values:
            value = mp.mpf(str(value)) if not hasattr(
                value, '_to_mpmath') else value._to_mpmath(mp.prec)
            spread = (2*values[x] - 1)/100*attempt if x in states else 0
            values[x] = value + spread
    return values


def settle(system, values, residual, jacobian, unknowns):
    """Gauss-Newton steps of least norm, in place; return the residual."""
    count = system.graph.outputs[residual][0]
    if not count:
        return mp.mpf(0)
    size, tolerance = mp.inf, mp.mpf('0.1')
    for _ in range(STEPS):
        before = size
        try:
            out = system.graph.evaluate(values, (residual, jacobian), mp)
        except (ZeroDivisionError, ValueError, TypeError):
            return mp.inf
        h = [row[0] for row in out[residual]]
        if any(isinstance(x, mp.mpc) or not mp.isfinite(x) for x in h):
            return mp.inf
        size = max(map(abs, h))
        if size < mp.mpf(10)**(3 - DIGITS):
            break
        # Rows that are redundant on the constraints are independent near
        # them, by as much as the residual: leave those to the others, as
        # long as that makes progress.
        tolerance = min(tolerance, mp.sqrt(size))
        if size > before/2:
            tolerance /= 10
        basis, coefficients = orthonormal_rows(
            out[jacobian], max(DEPENDENT, tolerance))
        # lower-triangular solve of J d = -h on the independent rows
        components = []
        for k, used in coefficients:
            known = sum(c*y for c, y in zip(used[:-1], components))
            components.append((-h[k] - known)/used[-1])
        for j, x in enumerate(unknowns):
            values[x] += sum(y*e[j] for y, e in zip(components, basis))
    return size


def orthonormal_rows(rows, tolerance=DEPENDENT):
    """Orthonormal basis of the rows in order, by Gram-Schmidt twice.

    A row extends the basis if more than ``tolerance`` of it is new.

    Returns
    =======

    list of rows
        The basis.
    list of (row number, coefficients)
        The rows that extended the basis, in terms of it.

    """
    basis, extended = [], []
    for k, row in enumerate(rows):
        size = mp.sqrt(sum(x*x for x in row))
        if not size:
            continue
        rest, used = project_out(row, basis)
        length = mp.sqrt(sum(x*x for x in rest))
        if length > tolerance*size:
            basis.append([x/length for x in rest])
            extended.append((k, used + [length]))
    return basis, extended


def project_out(row, basis):
    """What is left of a row, and its components along the basis."""
    rest, total = list(row), [mp.mpf(0)]*len(basis)
    for _ in range(2):
        for i, e in enumerate(basis):
            component = sum(x*y for x, y in zip(rest, e))
            total[i] += component
            rest = [x - component*y for x, y in zip(rest, e)]
    return rest, total


def constraint_report(system, sample=None, inconsistent='error'):
    """Examine the constraint rows of a system where they hold.

    Examples
    ========

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import (
    ...     UdwadiaKalabaMethod, constraint_report)
    >>> m, l = symbols('m l')
    >>> x, y = dynamicsymbols('x y')
    >>> rod = x**2 + y**2 - l**2
    >>> method = UdwadiaKalabaMethod(
    ...     m*(x.diff()**2 + y.diff()**2)/2, [x, y],
    ...     hol_coneqs=[rod, 2*rod])
    >>> report = constraint_report(method.system)
    >>> report.rank, report.redundant_rows
    (1, (1,))

    Parameters
    ==========

    system : ConstrainedSystem or a method of this package
    sample : dict, optional
        See :func:`admissible_values`.
    inconsistent : 'error' or 'least-squares'
        Whether rows that no acceleration satisfies are an error.

    Returns
    =======

    ConstraintReport

    Raises
    ======

    InconsistentConstraintsError
        If the right sides of dependent rows contradict each other.
    MissingIngredientError
        If the model does not determine its accelerations.

    """
    system = getattr(system, 'system', system)
    n, o, m = system.counts
    found = []
    with mp.workdps(DIGITS):
        for seed in range(MOST_POINTS):
            found.append(examine(system, sample, seed, inconsistent))
            mobile = [point for point in found if point.mobile]
            if len(mobile) == POINTS:
                break
        # Assemblies that cannot move say nothing about motions.
        points = mobile or found[:POINTS]
        best = max(points, key=lambda point: len(point.kept))
    ranks = sorted({len(point.kept) for point in points})
    if len(ranks) > 1:
        warnings.warn(
            f"The constraints have rank {ranks[0]} at some states that "
            f"satisfy them and rank {ranks[-1]} at others, so the mechanism "
            "can be assembled in different ways. The largest is taken; pass "
            "`sample={symbol: number, ...}` with values near the motion "
            "that is meant.", stacklevel=2)
    if not best.determined:
        raise MissingIngredientError(
            "The model does not determine the accelerations: the mass matrix "
            "and the constraints together have lower rank than there are "
            f"speeds ({o}). Some direction has neither mass nor a "
            "constraint; give it one of the two, or remove its coordinate.")
    return ConstraintReport(
        len(best.kept), best.kept,
        tuple(k for k in range(m) if k not in best.kept),
        {k: {i: float(c) for i, c in used.items()}
         for k, used in best.relations.items()},
        best.determined, tuple(point.values for point in points))


@dataclass(frozen=True)
class Examined:
    """What was found at one state."""

    values: dict
    kept: tuple
    relations: dict
    determined: bool
    mobile: bool


def examine(system, sample, seed, inconsistent):
    """Independent rows and relations at one admissible state."""
    o = len(system.u)
    values = admissible_values(system, sample, seed)
    out = system.graph.evaluate(values, ('A', 'b', 'M'), mp)
    basis, extended = orthonormal_rows(out['A'])
    kept = tuple(k for k, _ in extended)
    relations = dependencies(out['A'], basis, extended)
    if inconsistent == 'error':
        check_consistency(system, out, relations)
    whole, _ = orthonormal_rows([*out['A'], *out['M']])
    return Examined(values, kept, relations, len(whole) == o, len(kept) < o)


def dependencies(rows, basis, extended):
    """Redundant row -> {independent row: coefficient}."""
    relations = {}
    kept = [k for k, _ in extended]
    for k, row in enumerate(rows):
        if k in kept:
            continue
        _, left = project_out(row, basis)
        coefficients = {}
        for i in reversed(range(len(extended))):        # back substitution
            number, used = extended[i]
            c = left[i]/used[-1]
            left = [x - c*y for x, y in zip(left, used)]
            if abs(c) > DEPENDENT:
                coefficients[number] = c
        relations[k] = dict(sorted(coefficients.items()))
    return relations


def check_consistency(system, out, relations):
    """Raise if a redundant row's right side breaks its relation."""
    b = [row[0] for row in out['b']]
    bad = {}
    for k, used in relations.items():
        gap = b[k] - sum(c*b[i] for i, c in used.items())
        scale = abs(b[k]) + sum(abs(c*b[i]) for i, c in used.items())
        if abs(gap) > DEPENDENT*max(scale, 1):
            others = ', '.join(system.constraint_names[i] for i in used)
            bad[k] = (
                f"{system.constraint_names[k]} contradicts {others or '0'}: "
                "its acceleration is off by "
                f"{mp.nstr(abs(gap), 3)} at a state that satisfies the "
                "constraints.")
    if bad:
        raise InconsistentConstraintsError(
            '\n'.join(bad.values()) +
            "\nNo motion satisfies these rows together. Correct or drop one "
            "of them, or pass inconsistent='least-squares' to satisfy them "
            "as nearly as possible.", rows=tuple(bad))
