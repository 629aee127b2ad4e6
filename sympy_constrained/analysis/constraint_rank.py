"""What the constraints of a system are: rank, redundancy, consistency.

Redundant rows of closed loops are often dependent only where the constraints
hold, so a symbolic rank, or one at a generic point, is never asked for. The
rows are examined at states that satisfy the constraints
(:func:`.admissible_values`).
"""
from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from mpmath import mp

from ..errors import (
    ConstraintError, InconsistentConstraintsError, MissingIngredientError,
    UnsupportedFeatureError)
from ..precision import precise
from .consistent_points import (
    DEPENDENT, DEPENDENT_THERE, DIGITS, SETTLED, admissible_values, evaluated,
    has_floats, norm, orthonormal_rows, project_out, sizes_elsewhere)

__all__ = ['ConstraintReport', 'constraint_report']

# The new part of a row where masses of different size are compared.
MASSLESS = mp.mpf('1e-18')
# The new part of a column of A, relative to the largest, that counts.
INDEPENDENT = mp.mpf('1e-8')
# Contradictions below this are rounding.
ROUNDING = mp.mpf('1e-9')
ALONE = (
    "The sample satisfies the constraints, but no state was found beside it "
    "that does, so their rank is that at the sample. If quaternions are among "
    "the coordinates, give the constraint that their norm is one.")
POINTS, MOST_POINTS = 3, 12
# What floats leave of a redundant row, as a part of it.
LEFT = mp.mpf('1e-10')


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
    mass_is_definite : bool
        Whether it is positive definite at all of the points.
    points : tuple of dict
        The values at which the rows were examined.
    unique_multipliers : tuple of int
        Rows whose multiplier is unique: those in no relation. (The unit
        vector of such a row is orthogonal to all that ``A^T`` maps to zero.)
    unique_combinations : dict
        Independent row ``i`` -> ``{row: coefficient}``: the combination of
        multipliers that is unique, of those that are not so alone. It is
        ``lam_i + sum(c_ki*lam_k)`` over the redundant rows ``k`` with their
        relation ``c_ki``, at the first point examined.
    names : tuple of str
        Of the rows.

    The generalized constraint forces ``A^T*lam`` are unique in any case, if
    mass matrix and rows determine the accelerations.

    """

    rank: int
    independent_rows: tuple
    redundant_rows: tuple
    relations: dict
    mass_is_regular: bool
    mass_is_definite: bool
    points: tuple
    unique_multipliers: tuple = ()
    unique_combinations: dict = field(default_factory=dict)
    names: tuple = ()

    def __str__(self):
        names = self.names
        lines = [f'{len(names)} constraint rows of rank {self.rank} where '
                 'they hold']
        for k in self.redundant_rows:
            lines.append(f'  {names[k]} is redundant: '
                         f'{combination(self.relations.get(k, {}), names)}')
        if self.redundant_rows:
            lines.append('  unique multipliers: ' + (', '.join(
                names[k] for k in self.unique_multipliers) or 'none'))
        lines += [f'  unique together: {combination(used, names)}'
                  for used in self.unique_combinations.values()]
        if not self.mass_is_regular:
            lines.append('  the mass matrix is singular; with the constraints '
                         'it determines the accelerations')
        return '\n'.join(lines)


def constraint_report(system, sample=None, inconsistent='error',
                      determined=True):
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
    >>> print(report)
    2 constraint rows of rank 1 where they hold
      holonomic row 1 is redundant: 2*holonomic row 0
      unique multipliers: none
      unique together: holonomic row 0 + 2*holonomic row 1

    Parameters
    ==========

    system : ConstrainedSystem or a method of this package
    sample : dict, optional
        See :func:`admissible_values`.
    inconsistent : 'error' or 'least-squares'
        Whether rows that no acceleration satisfies are an error.
    determined : bool
        Whether mass matrix and rows must determine the accelerations.

    Returns
    =======

    ConstraintReport

    Raises
    ======

    InconsistentConstraintsError
        If the right sides of dependent rows contradict each other.
    MissingIngredientError
        If the model does not determine its accelerations.
    UnsupportedFeatureError
        If it is neither a system nor a method of this package.

    """
    name = f'the class {system.__name__}' if isinstance(system, type) else (
        type(system).__name__)
    system = getattr(system, 'system', system)
    if not hasattr(system, 'counts'):
        raise UnsupportedFeatureError(
            f"The constraint rows of {name} are not known "
            "here. Give a method of this package, such as "
            "`UdwadiaKalabaMethod.from_system(system)` or "
            "`UdwadiaKalabaMethod.from_method(method)`.")
    n, o, m = system.counts
    found = []
    with precise(DIGITS):
        for seed in range(MOST_POINTS):
            try:
                found.append(examine(system, sample, seed))
            except InconsistentConstraintsError:
                if not (sample and found):
                    raise
                if len(found) == 1:
                    warnings.warn(ALONE, stacklevel=2)
                break
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
    near = {k: far for k, far in best.left.items()
            if far > LEFT and k not in best.vanishing}
    if near:
        names = ', '.join(system.constraint_names[k] for k in near)
        warnings.warn(
            f"Taken for redundant, because constants are floats: {names}, "
            "which the other rows give to "
            f"{mp.nstr(max(near.values()), 1)} only. If the difference is "
            "meant, give the constants exactly, as `Rational`.",
            stacklevel=2)
    if determined and not best.determined:
        raise MissingIngredientError(
            "The model does not determine the accelerations: the mass matrix "
            "and the constraints together have lower rank than there are "
            f"speeds ({o}). Some direction has neither mass nor a "
            "constraint; give it one of the two, or remove its coordinate."
            f"{system.without_velocities}")
    relations = {k: {i: float(c) for i, c in used.items()}
                 for k, used in best.relations.items()}
    involved = in_relations(
        point for point in points if len(point.kept) == len(best.kept))
    return ConstraintReport(
        len(best.kept), best.kept,
        tuple(k for k in range(m) if k not in best.kept),
        relations, best.mass_is_regular,
        all(point.mass_is_definite for point in points),
        tuple(point.values for point in points),
        tuple(k for k in range(m) if k not in involved),
        {i: {i: 1.0, **{k: used[i] for k, used in relations.items()
                        if i in used}}
         for i in best.kept if i in involved}, system.constraint_names)


def in_relations(points):
    """Rows that take part in a relation at one of the points."""
    return {row for point in points for k, used in point.relations.items()
            for row in (k, *used)}


def combination(used, names):
    """Text of ``{row: coefficient}``."""
    return ' + '.join(
        (f'{c:.6g}*' if c != 1 else '') + names[k]
        for k, c in used.items()).replace('+ -', '- ') or '0'


@dataclass(frozen=True)
class Examined:
    """What was found at one state."""

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


def rank_at(system, sample):
    """Rank of ``A`` at the state of a sample, moved onto the constraints."""
    with precise(DIGITS):
        return len(examine(system, sample, 0).kept)


def row_relations(system, sample=None):
    """Redundant row -> {independent row: coefficient}, where rows hold.

    Of the rows alone; the kinetics may be missing yet.
    """
    with precise(DIGITS):
        found = [examine(system, sample, seed) for seed in range(POINTS)]
    return max(found, key=lambda point: len(point.kept)).relations


def preferred_columns(system, report):
    """Columns of ``A`` in the order in which to look for pivots.

    Those without anything that moves, then those that are independent where
    all coordinates are zero, the usual start.
    """
    builder, out = system.graph.load(None, ('A',))
    constant = [i for i, column in enumerate(zip(*out['A'])) if not any(
        builder.depends[abs(x)] & builder.dynamic for x in column)]
    zero = {**report.points[0],
            **dict.fromkeys((*system.q, *system.u), mp.mpf(0))}
    try:
        *_, there = columns_at(system, [*report.points, zero],
                               report.independent_rows)
        return independent_columns([there], constant)
    except (ArithmeticError, TypeError):    # the rows have no value there
        return constant


def columns_at(system, points, rows):
    """Columns of independent rows of ``A`` at each of some states."""
    with precise(DIGITS):
        found = [evaluated(system, values, ('A',))['A'] for values in points]
        return orthonormal_columns(
            [[A[k] for k in rows] for A in found], len(system.u))


def orthonormal_columns(matrices, count):
    """Columns of the rows of matrices after these were made orthonormal.

    So it does not matter how large rows are, and how nearly parallel. A row
    that is as good as zero in one of the matrices is left out there.
    """
    sizes = [max(map(norm, rows)) for rows in zip(*matrices)]
    return [list(zip(*orthonormal_rows(rows, sizes=sizes)[0])) or [()]*count
            for rows in matrices]


def independent_columns(columns, preferred=()):
    """Positions of columns of ``A`` that are independent at some points.

    As many as there are independent rows: the preferred ones as far as they
    go, then the first others. At all points at which there are so many, or if
    that cannot be, at the first of these, with a warning.

    Parameters
    ==========

    columns : list of lists of columns
        From :func:`orthonormal_columns`.
    preferred : sequence of int

    """
    with precise(DIGITS):
        own = [independent_at(here, preferred) for here in columns]
        best = max(own, key=len, default=())
        there = [(here, kept) for here, kept in zip(columns, own)
                 if len(kept) == len(best)]
        if all(set(kept) == set(best) for _, kept in there):
            return tuple(sorted(best))
        there = [here for here, _ in there]
        order = in_order(there[0], preferred)
        for k in range(len(order)):
            common = ()
            for i in order[k:] + order[:k]:
                some = (*common, i)
                if all(len(independent_at(here, some, some)) == len(some)
                       for here in there):
                    common = some
            if len(common) == len(best):
                return tuple(sorted(common))
    warn_of_branches()
    return tuple(sorted(best))


def warn_of_branches():
    """Dependent speeds serve at some states, and at others they do not."""
    warnings.warn(
        "The constraints determine other speeds at some states that satisfy "
        "them than at others: the mechanism can be assembled in different "
        "ways. What is solved for dependent speeds holds for one of them, and "
        "elsewhere it may be wrong without an error. Pass `sample={symbol: "
        "number, ...}` with values near the motion that is meant.",
        stacklevel=3)


def independent_at(columns, preferred=(), among=None):
    """Positions of independent columns at one point; all may be taken, or
    those ``among`` some."""
    order = in_order(columns, preferred) if among is None else among
    _, kept = orthonormal_rows([columns[i] for i in order], INDEPENDENT,
                               [max(map(norm, columns))]*len(order))
    return tuple(order[k] for k, _ in kept)


def in_order(columns, preferred):
    """Positions of columns, the preferred ones first."""
    return [*preferred, *(i for i in range(len(columns))
                          if i not in preferred)]


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
    relations, left = dependencies(out['A'], basis, extended)
    scale = [1/mp.sqrt(abs(out['M'][j][j])) if out['M'][j][j] else mp.mpf(1)
             for j in range(o)]
    M = [[x*scale[i]*scale[j] for j, x in enumerate(row)]
         for i, row in enumerate(out['M'])]
    A = [[x*scale[j] for j, x in enumerate(out['A'][k])] for k in kept]
    regular = len(orthonormal_rows(M, MASSLESS)[0]) == o
    return Examined(
        values, [x for x, in out['b']], kept, vanishing, relations, left,
        len(orthonormal_rows(A + M, MASSLESS)[0]) == o,
        regular, regular and is_definite(M), len(kept) < o,
        mp.mpf('1e-18') if exact else mp.mpf('1e-6'))


def is_definite(M):
    """Whether a regular symmetric matrix is positive definite."""
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
    """Independent row -> coefficient, of a row with given components.

    Parameters
    ==========

    parts : list
        Components along the basis of :func:`.orthonormal_rows`.
    extended : list of (row number, components)
    small : mpf
        Smaller coefficients are zero.

    """
    found = {}
    for number, used in reversed(extended):     # back substitution
        c = parts[len(used) - 1]/used[-1]
        parts = [x - c*y for x, y in zip(parts, used)]
        if abs(c) > small:
            found[number] = c
    return dict(sorted(found.items()))


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


def described(system, report):
    """Lines of text on sizes, and what the report says of the rows."""
    n, o, m = system.counts
    freedom = o - report.rank
    first = (f'{n} coordinate{plural(n)}, {o} speed{plural(o)}, '
             f'{m} constraint row{plural(m)} of rank {report.rank}, '
             f'{freedom} degree{plural(freedom)} of freedom')
    return [first, *map(str.strip, str(report).splitlines()[1:])]


def plural(count):
    return 's' if count != 1 else ''
