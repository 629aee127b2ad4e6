"""What the constraints of a system are: rank, redundancy, consistency.

Redundant rows of closed loops are often dependent only where the constraints
hold, so a symbolic rank, or one at a generic point, is never asked for. The
rows are examined at states that satisfy the constraints, found by
Levenberg-Marquardt steps at 30 digits.
"""
from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from mpmath import mp
from sympy import sin, sympify
from sympy.core.function import AppliedUndef

from .errors import (
    ConstraintError, InconsistentConstraintsError, MissingIngredientError)

__all__ = ['ConstraintReport', 'constraint_report', 'admissible_values']

DIGITS = 30
SETTLED = mp.mpf(10)**(5 - DIGITS)
# The new part of a row, relative to its size, that makes it independent. A
# double root is met to the square root of SETTLED only, and must count as 0.
DEPENDENT = mp.mpf('1e-11')
# Both, where constants of the sample are floats and the residual shows it.
INEXACT, DEPENDENT_THERE = mp.mpf('1e-12'), mp.mpf('1e-6')
# The same where masses of different size are compared.
MASSLESS = mp.mpf('1e-18')
# Contradictions below this are rounding.
ROUNDING = mp.mpf('1e-9')
ATTEMPTS, FEW, STEPS = 40, 4, 60
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
    mass_is_regular : bool
        Whether the mass matrix has full rank there. If not, it and ``A``
        together determine the accelerations all the same.
    points : tuple of dict
        The values at which the rows were examined.

    """

    rank: int
    independent_rows: tuple
    redundant_rows: tuple
    relations: dict
    mass_is_regular: bool
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
    ValueError
        If the sample has a symbol that is not in the model.

    """
    random = Random(f'admissible {seed}')
    check_sample(system, sample)
    exact = not has_floats(system, sample)
    with mp.workdps(DIGITS):
        least, worst, candidates = mp.inf, {}, []
        for attempt in range(ATTEMPTS):
            values = random_values(system, sample, random, attempt + seed)
            careful = attempt % 2 == 0
            rows = settle(system, values, 'holonomic', 'holonomic_jacobian',
                          system.q, careful)
            names = system.constraint_names[:len(rows)]
            if max(rows, default=0) < (SETTLED if exact else INEXACT):
                rows = settle(system, values, 'velocity',
                              'velocity_jacobian', system.u, careful)
                names = system.constraint_names[:len(rows)]
            residual = max(rows, default=mp.mpf(0))
            if exact and residual < SETTLED:
                return values
            if not exact and residual < INEXACT:
                candidates.append(values)
            if candidates and attempt >= FEW:
                return most_regular(system, candidates)
            if residual < least:
                least = residual
                worst = {k: names[k] for k, x in enumerate(rows)
                         if x > residual/10}
    raise InconsistentConstraintsError(
        "No state was found that satisfies the constraints: the best of "
        f"{ATTEMPTS} attempts leaves a residual of {mp.nstr(least, 3)} in "
        f"{', '.join(worst.values()) or 'all rows'}. The "
        "constraints may contradict each other, or need special dimensions; "
        "correct them, or pass `sample={symbol: number, ...}` with values "
        "near a state that satisfies them.", rows=tuple(worst))


def most_regular(system, candidates):
    """The first of the states at which most rows are independent.

    Dimensions that are known to the digits of a float may be met better at a
    singular state than at any other.
    """
    def rank(values):
        rows = evaluated(system, values, ('A',))['A']
        sizes = sizes_elsewhere(system, values, list(map(norm, rows)))
        return len(orthonormal_rows(rows, DEPENDENT_THERE, sizes)[0])

    return max(candidates, key=rank)


def has_floats(system, sample):
    """Whether a constant is known to the digits of a float only.

    Special dimensions then satisfy the constraints to those digits only.
    """
    states = {*system.q, *system.u}
    return system.graph.has_floats or any(
        x not in states and not sympify(value).is_Rational
        for x, value in (sample or {}).items())


def check_sample(system, sample):
    """Raise if a sample is no dictionary of the model's symbols."""
    if sample is None:
        return
    if not isinstance(sample, Mapping):
        raise TypeError(
            f"`sample` is {sample!r}. Give a dictionary of symbols and "
            "numbers.")
    known = {*system.graph.inputs, *system.q, *system.u, system.t}
    unknown = [str(x) for x in sample if x not in known]
    if unknown:
        raise ValueError(
            f"`sample` has a value for {', '.join(unknown)}, which does not "
            "occur in the model. Use its symbols, states and functions "
            "themselves, not their names.")


def random_values(system, sample, random, attempt):
    """Random numbers for all inputs, near the sample where it has one.

    The first attempt takes the sample as it is.
    """
    states = {*system.q, *system.u}
    reach = (1 + mp.mpf(attempt)/10)*10**(attempt//8)
    values = {}
    for x in (*system.graph.inputs, *system.q, *system.u, system.t):
        number = mp.mpf(random.randint(1, 10**9))/10**9
        if x in states:
            values[x] = reach*(2*number - 1)
        else:
            values[x] = mp.mpf('0.5') + number
    for x, value in (sample or {}).items():
        near = values[x]*attempt/100 if x in states else 0
        values[x] = sympify(value)._to_mpmath(mp.prec) + near
    return values


def stand_ins(system):
    """Smooth functions in the place of undefined ones, by their class."""
    found = {f.func for template in system.graph.templates
             for f in template.atoms(AppliedUndef)}
    result = {}
    for k, function in enumerate(sorted(found, key=str)):
        def smooth(*x, k=k):
            return sin(sum((i + 2 + k)*y for i, y in enumerate(x))/3 + k)/4
        result[function] = smooth
    return result


def evaluated(system, values, names):
    """Outputs of a system's graph at the working precision."""
    return system.graph.evaluate(values, names, mp, stand_ins(system))


def settle(system, values, residual, jacobian, unknowns, careful=True):
    """Move the unknowns onto the residuals, in place; return what is left.

    What is left is a distance: residuals over the norm of their gradient,
    relative to unknowns above one.

    Levenberg-Marquardt steps ``-J^T*(J*J^T + mu)^-1*h``, ``mu`` as ``|h|^2``.
    They converge quadratically to a nearby solution also where the solutions
    are not isolated and rows are redundant on them; steps of full rank would
    be drawn to the singular points [1]_. Rows that are nearly parallel for
    good need those: if not ``careful``, ``mu`` vanishes faster.

    .. [1] N. Yamashita and M. Fukushima, "On the rate of convergence of the
       Levenberg-Marquardt method," Computing Suppl. 15 (2001) 239-249.

    """
    count = system.graph.outputs[residual][0]
    if not count:
        return []
    h, J = residuals_at(system, values, residual, jacobian)
    weights = [1/(norm(row) or mp.mpf(1)) for row in J]
    size = max([mp.mpf(1), *(abs(values[x]) for x in unknowns)])
    h, J = weighted(weights, h, J)
    damping = mp.mpf(1)
    least = mp.mpf('0.01') if careful else mp.mpf(10)**-DIGITS
    for _ in range(STEPS):
        square = sum(x*x for x in h)
        if not mp.isfinite(square) or max(map(abs, h)) < SETTLED*size/100:
            break
        gram = mp.matrix([[sum(x*y for x, y in zip(a, b)) for b in J]
                          for a in J])
        scale = max(gram[i, i] for i in range(count))
        mu = scale*(damping*square/(square + size**2) +
                    mp.mpf(10)**(6 - DIGITS))
        for i in range(count):
            gram[i, i] += mu
        y = mp.cholesky_solve(gram, mp.matrix(h))
        trial = dict(values)
        for j, x in enumerate(unknowns):
            trial[x] -= sum(y[i]*J[i][j] for i in range(count))
        found = weighted(weights, *residuals_at(
            system, trial, residual, jacobian))
        if sum(x*x for x in found[0]) < square:
            values.update(trial)
            h, J = found
            size = max([mp.mpf(1), *(abs(values[x]) for x in unknowns)])
            damping = max(damping/(4 if careful else 100), least)
        else:
            damping *= 16
    return [abs(x)/size for x in h]


def weighted(weights, h, J):
    """Residuals and rows times weights."""
    return ([weight*x for weight, x in zip(weights, h)],
            [[weight*x for x in row] for weight, row in zip(weights, J)])


def residuals_at(system, values, residual, jacobian):
    """Residuals and rows of their Jacobian; infinite where undefined."""
    count, columns = system.graph.outputs[jacobian]
    nowhere = [mp.inf]*count, [[mp.mpf(0)]*columns]*count
    try:
        out = evaluated(system, values, (residual, jacobian))
    except (ArithmeticError, TypeError):        # beyond a function's domain
        return nowhere
    h = [row[0] for row in out[residual]]
    if any(isinstance(x, mp.mpc) or not mp.isfinite(x) for x in h):
        return nowhere
    return h, out[jacobian]


def orthonormal_rows(rows, tolerance=DEPENDENT, sizes=None):
    """Orthonormal basis of the rows in order, by Gram-Schmidt twice.

    A row extends the basis if more than ``tolerance`` of it is new. With
    ``sizes``, what the rows are like elsewhere, a row that is as good as
    zero does not.

    Returns
    =======

    list of rows
        The basis.
    list of (row number, coefficients)
        The rows that extended the basis, in terms of it.

    """
    basis, extended = [], []
    for k, row in enumerate(rows):
        size = norm(row)
        if not size or sizes and size < tolerance*sizes[k]:
            continue
        rest, used = project_out(row, basis)
        length = norm(rest)
        if length > tolerance*size:
            basis.append([x/length for x in rest])
            extended.append((k, used + [length]))
    return basis, extended


def norm(row):
    """Euclidean norm."""
    return mp.sqrt(sum(x*x for x in row))


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
            found.append(examine(system, sample, seed))
            mobile = [point for point in found if point.mobile]
            if len(mobile) == POINTS:
                break
        # Assemblies that cannot move say nothing about motions.
        points = mobile or found[:POINTS]
        best = max(points, key=lambda point: len(point.kept))
        if inconsistent == 'error':
            check_gradients(system, points)
            for point in points:
                if len(point.kept) == len(best.kept):
                    check_consistency(system, point)
    ranks = sorted(len(point.kept) for point in points)
    if len(ranks) > 1 and ranks[-2] < ranks[-1]:
        warnings.warn(
            f"The constraints have rank {ranks[0]} at some states that "
            f"satisfy them and rank {ranks[-1]} at others: a state is "
            "singular, or the mechanism can be assembled in different ways. "
            "The largest rank is taken; pass `sample={symbol: number, ...}` "
            "with values near the motion that is meant.", stacklevel=2)
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
        best.mass_is_regular, tuple(point.values for point in points))


@dataclass(frozen=True)
class Examined:
    """What was found at one state."""

    values: dict
    b: list
    kept: tuple
    vanishing: tuple
    relations: dict
    determined: bool
    mass_is_regular: bool
    mobile: bool
    rounding: mp.mpf


def rank_at(system, sample):
    """Rank of ``A`` at the state of a sample, moved onto the constraints."""
    with mp.workdps(DIGITS):
        return len(examine(system, sample, 0).kept)


def examine(system, sample, seed):
    """Independent rows and relations at one admissible state."""
    o = len(system.u)
    values = admissible_values(system, sample, seed)
    out = evaluated(system, values, ('A', 'b', 'M', 'holonomic', 'velocity'))
    largest = max([mp.mpf(1), *(abs(values[x]) for x in system.q)])
    met = all(abs(x) < SETTLED*largest**2
              for name in ('holonomic', 'velocity') for x, in out[name])
    exact = met and not has_floats(system, sample)
    tolerance = DEPENDENT if exact else DEPENDENT_THERE
    sizes = list(map(norm, out['A']))
    elsewhere = sizes_elsewhere(system, values, sizes)
    basis, extended = orthonormal_rows(out['A'], tolerance, elsewhere)
    kept = tuple(k for k, _ in extended)
    vanishing = tuple(k for k, (x, y) in enumerate(zip(sizes, elsewhere))
                      if x < tolerance*y)
    relations = dependencies(out['A'], basis, extended)
    scale = [1/mp.sqrt(abs(out['M'][j][j])) if out['M'][j][j] else mp.mpf(1)
             for j in range(o)]
    M = [[x*scale[i]*scale[j] for j, x in enumerate(row)]
         for i, row in enumerate(out['M'])]
    A = [[x*scale[j] for j, x in enumerate(out['A'][k])] for k in kept]
    return Examined(
        values, [x for x, in out['b']], kept, vanishing, relations,
        len(orthonormal_rows(A + M, MASSLESS)[0]) == o,
        len(orthonormal_rows(M, MASSLESS)[0]) == o, len(kept) < o,
        mp.mpf('1e-18') if exact else mp.mpf('1e-6'))


def sizes_elsewhere(system, values, sizes):
    """Sizes of the rows of ``A`` beside the constraints, at least as here."""
    random = Random('elsewhere')
    moved = dict(values)
    for x in (*system.q, *system.u):
        moved[x] = values[x] + mp.mpf(random.randint(1, 10**9))/10**9/3
    try:
        rows = evaluated(system, moved, ('A',))['A']
    except (ArithmeticError, TypeError):
        return sizes
    return [max(x, abs(norm(row))) for x, row in zip(sizes, rows)]


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


def check_gradients(system, points):
    """Raise if a row vanishes at all states that satisfy the constraints."""
    rows = sorted(set.intersection(*(set(p.vanishing) for p in points)))
    if rows:
        raise ConstraintError(
            "There is no gradient, where the constraints hold, of "
            f"{', '.join(system.constraint_names[k] for k in rows)}, so it "
            "does not act on the accelerations. It may be a square, or a "
            "product with another constraint: give the factor that has to "
            "vanish. Or the mechanism moves with special dimensions only: "
            "pass them as `sample={symbol: number, ...}`.",
            rows=tuple(rows))


def check_consistency(system, point):
    """Raise if a redundant row breaks its relation."""
    names, b = system.constraint_names, point.b
    bad = {}
    for k, used in point.relations.items():
        gap = b[k] - sum(c*b[i] for i, c in used.items())
        scale = abs(b[k]) + sum(abs(c*b[i]) for i, c in used.items())
        if abs(gap) > ROUNDING*scale + point.rounding:
            others = ', '.join(names[i] for i in used)
            bad[k] = (
                f"{names[k]} contradicts {others or '0'}: its acceleration "
                f"is off by {mp.nstr(abs(gap), 3)} at a state that satisfies "
                "the constraints.")
    if bad:
        raise InconsistentConstraintsError(
            '\n'.join(bad.values()) +
            "\nNo motion satisfies these rows together. Correct or drop one "
            "of them, or pass inconsistent='least-squares' to satisfy them "
            "as nearly as possible.", rows=tuple(bad))
