"""Rank, redundancy and consistency of the constraints of a system.

Redundant rows of closed loops are often dependent only where the constraints
hold. Therefore rows are examined at states that satisfy the constraints
(:func:`.admissible_values`), never symbolically or at a generic point.
"""
from contextlib import suppress
from dataclasses import dataclass, field

from mpmath import mp

from ..errors import (
    ConstrainedDynamicsError, ConstraintError,
    InconsistentConstraintsError, MissingIngredientError,
    UnsupportedFeatureError, warn)
from ..precision import precise
from .consistent_points import (
    DEPENDENT_THERE, admissible_values, evaluated, norm, orthonormal_rows)
from .examined_states import examine

# The new part of a row or a column, relative to the largest, that counts.
INDEPENDENT = mp.mpf('1e-8')
# Relative contradictions below this are rounding, also of constants.
ROUNDING = mp.mpf('1e-9')
ALONE = (
    "The sample satisfies the constraints, but no other state near it was "
    "found, so their rank is that at the sample. If quaternions are among the "
    "coordinates, give the constraint that their norm is one.")
POINTS, MOST_POINTS = 3, 12
# Relative rounding residual of a redundant row.
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
        Whether the mass matrix has full rank there. Otherwise it determines
        the accelerations together with ``A``.
    mass_is_definite : bool
        Whether it is positive definite at all of the points.
    points : tuple of dict
        The values at which the rows were examined.
    unique_multipliers : tuple of int
        Rows whose multiplier is unique: those in no relation.
    unique_combinations : dict
        Independent row ``i`` -> ``{row: coefficient}``: the unique
        combinations ``lam_i + sum(c_ki*lam_k)`` of multipliers, over the
        redundant rows ``k`` with relation ``c_ki``, at the first point.
    names : tuple of str
        Names of the rows.

    The generalized constraint forces ``A^T*lam`` are unique whenever mass
    matrix and rows determine the accelerations.

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
                      determined=True) -> ConstraintReport:
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

    Raises
    ======

    InconsistentConstraintsError
        If the right sides of dependent rows contradict each other.
    MissingIngredientError
        If the model does not determine its accelerations.
    UnsupportedFeatureError
        If it is neither a system nor a method of this package.

    """
    given, system = system, getattr(system, 'system', system)
    if not hasattr(system, 'counts'):
        raise UnsupportedFeatureError(
            f"`system` is {given!r}. Give a method of this package, such as "
            "`UdwadiaKalabaMethod.from_method(method)`.")
    points, is_alone = examined_points(system, sample)
    if is_alone:
        warn(ALONE)
    best = max(points, key=lambda point: len(point.kept))
    usual = [point for point in points if len(point.kept) == len(best.kept)]
    if inconsistent == 'error':
        with precise():
            check_gradients(system, points)
            for point in usual:
                check_consistency(system, point)
    for text in doubts(system, points, best):
        warn(text)
    if determined and not best.determined:
        raise MissingIngredientError(
            "The model does not determine the accelerations: the mass matrix "
            "and the constraints together have lower rank than there are "
            f"speeds ({len(system.u)}). Some direction has neither mass nor a "
            "constraint; give it one of the two, or remove its coordinate."
            f"{system.without_velocities}")
    return report_of(system, points, usual, best)


def examined_points(system, sample):
    """The states to judge by, and whether there is only the sample."""
    # States that can move are preferred: the others say nothing about motions.
    points, mobile = [], []
    with precise():
        for seed in range(MOST_POINTS):
            try:
                points.append(examine(system, sample, seed))
            except InconsistentConstraintsError:
                if not (sample and points):
                    raise
                break
            mobile = [point for point in points if point.mobile]
            if len(mobile) == POINTS:
                break
    return mobile or points[:POINTS], len(points) == 1


def doubts(system, points, best):
    """Warnings about ranks that differ, and about nearly redundant rows."""
    ranks = sorted(len(point.kept) for point in points)
    if len(ranks) > 1 and ranks[-2] < ranks[-1]:
        yield (
            f"The constraints have rank {ranks[0]} at some states that "
            f"satisfy them and rank {ranks[-1]} at others: a state is "
            "singular, or the mechanism can be assembled in different ways. "
            "The largest rank is taken; pass `sample={symbol: number, ...}` "
            "with values near the motion that is meant.")
    near = {k: far for k, far in best.left.items()
            if far > LEFT and k not in best.vanishing}
    if near:
        names = ', '.join(system.constraint_names[k] for k in near)
        yield (
            f"Taken for redundant, because constants are floats: {names}, "
            "which the other rows give to "
            f"{mp.nstr(max(near.values()), 1)} only. If the difference is "
            "meant, give the constants exactly, as `Rational`.")


def report_of(system, points, usual, best):
    """The report from examined points, of which ``usual`` have full rank."""
    rows = range(system.counts[2])
    relations = {k: {i: float(c) for i, c in used.items()}
                 for k, used in best.relations.items()}
    involved = set().union(*({k, *used} for point in usual
                             for k, used in point.relations.items()))
    return ConstraintReport(
        len(best.kept), best.kept,
        tuple(k for k in rows if k not in best.kept), relations,
        best.mass_is_regular, all(point.mass_is_definite for point in points),
        tuple(point.values for point in points),
        tuple(k for k in rows if k not in involved),
        {i: together(i, relations) for i in best.kept if i in involved},
        system.constraint_names)


def together(row, relations):
    """Coefficients of the unique combination of multipliers with a row."""
    return {row: 1.0, **{k: used[row] for k, used in relations.items()
                         if row in used}}


def combination(used, names):
    return ' + '.join(
        (f'{c:.6g}*' if c != 1 else '') + names[k]
        for k, c in used.items()).replace('+ -', '- ') or '0'


def rank_at(system, sample):
    """Rank of ``A`` at the state of a sample, moved onto the constraints."""
    with precise():
        return len(examine(system, sample, 0, first=True).kept)


def preferred_columns(system, report):
    """Columns of ``A`` that are preferred as pivots.

    Those with constant entries, then those that are independent where all
    coordinates are zero, the usual start.
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
    except ArithmeticError:     # the rows have no value there
        return constant


def columns_at(system, points, rows):
    """Columns of independent rows of ``A`` at each of some states."""
    with precise():
        matrices = [evaluated(system, values, ('A',))['A']
                    for values in points]
        return orthonormal_columns(
            [[A[k] for k in rows] for A in matrices], len(system.u))


def orthonormal_columns(matrices, count):
    """Columns of matrices whose rows were made orthonormal."""
    # Then sizes of rows do not matter, nor whether they are nearly parallel. A
    # row that nearly vanishes in one of the matrices is left out there.
    sizes = [max(map(norm, rows)) for rows in zip(*matrices)]
    return [list(zip(*orthonormal_rows(rows, sizes=sizes)[0])) or [()]*count
            for rows in matrices]


def independent_columns(columns, preferred=()):
    """Positions of columns of ``A`` that are independent at some points.

    As many as independent rows: first the preferred ones, then the first
    others. They are independent at all points with so many independent
    columns, or else, with a warning, at the first of these. ``columns`` are
    those of :func:`orthonormal_columns`.
    """
    with precise():
        kept = [independent_at(here, preferred) for here in columns]
        best = max(kept, key=len, default=())
        usual = [(here, chosen) for here, chosen in zip(columns, kept)
                 if len(chosen) == len(best)]
        if any(set(chosen) != set(best) for _, chosen in usual):
            best = common_columns([here for here, _ in usual], preferred,
                                  len(best))
    if best is None:
        warn_of_branches()
        best = max(kept, key=len)
    return tuple(sorted(best))


def common_columns(matrices, preferred, count):
    """Columns that are independent in all matrices, or None."""
    order = in_order(matrices[0], preferred)
    for k in range(len(order)):
        common = ()
        for i in order[k:] + order[:k]:
            some = (*common, i)
            if all(len(independent_among(here, some)) == len(some)
                   for here in matrices):
                common = some
        if len(common) == count:
            return common
    return None


def warn_of_branches():
    warn(
        "The constraints determine other speeds at some states that satisfy "
        "them than at others: the mechanism can be assembled in different "
        "ways. The choice of dependent speeds suits one of them; elsewhere "
        "results may be wrong without an error. Pass `sample={symbol: "
        "number, ...}` with values near the intended motion.")


def independent_at(columns, preferred=()):
    return independent_among(columns, in_order(columns, preferred))


def independent_among(columns, order):
    """Positions of independent columns, tried in an order."""
    _, kept = orthonormal_rows([columns[i] for i in order], INDEPENDENT,
                               [max(map(norm, columns))]*len(order))
    return tuple(order[k] for k, _ in kept)


def in_order(columns, preferred):
    """Positions of columns, the preferred ones first."""
    return [*preferred, *(i for i in range(len(columns))
                          if i not in preferred)]


def check_gradients(system, points):
    """Raise if a row vanishes at all states that satisfy the constraints."""
    rows = sorted(set.intersection(*(set(p.vanishing) for p in points)))
    if rows:
        raise ConstraintError(
            f"{', '.join(system.constraint_names[k] for k in rows)} "
            f"ha{'s' if len(rows) == 1 else 've'} no gradient where the "
            "constraints hold, and no effect on the "
            "accelerations. It may be a square, or a product with another "
            "constraint: give the factor that has to vanish. Or the "
            "mechanism moves with special dimensions only: pass them as "
            "`sample={symbol: number, ...}`.",
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
    coordinates, speeds, rows, freedom = (
        f"{count} {name}{'s' if count != 1 else ''}" for count, name in (
            (n, 'coordinate'), (o, 'speed'), (m, 'constraint row'),
            (o - report.rank, 'degree')))
    first = (f'{coordinates}, {speeds}, {rows} of rank {report.rank}, '
             f'{freedom} of freedom')
    return [first, *map(str.strip, str(report).splitlines()[1:])]


def without_repetitions(system, sample):
    """A system without velocity rows that repeat holonomic ones."""
    count = len(system.holonomic_rows)
    if not count or not system.velocity_rows:
        return system
    with precise():
        points = [examine(system, sample, seed) for seed in range(POINTS)]
    relations = max(points, key=lambda point: len(point.kept)).relations
    return system.without_rows(
        k for k, used in relations.items()
        if k >= count and max(used, default=count) < count)


def warn_of_added_rows(system, sample=None):
    """Warn if the velocity constraints do not imply the holonomic ones."""
    # ``KanesMethod`` takes its motion from the velocity constraints alone.
    # Without a state at which to decide there is no warning.
    rows = system.unstated
    if not rows:
        return
    with suppress(ConstrainedDynamicsError), precise():
        for seed in range(POINTS):
            rows = independent_rows(system, rows, admissible_values(
                system, sample, seed), DEPENDENT_THERE)
            if not rows:
                return
        warn(
            f"Row {', '.join(map(str, rows))} of "
            "`configuration_constraints` is kept in addition to "
            "`velocity_constraints`, from which its rate does not follow. "
            "KanesMethod uses such a row in `linearize` only, and has "
            "another motion. For that motion leave the row out; else "
            "give its rate with the velocity constraints, or those "
            "without such rates as `nonholonomic_constraints`.")


def independent_rows(system, rows, values, tolerance):
    """Those of the rows that do not follow from all others at a state."""
    others = [k for k in range(len(system.holonomic_rows) + len(
        system.velocity_rows)) if k not in system.unstated]
    A = evaluated(system, values, ('A',))['A']
    order = (*others, *rows)
    _, kept = orthonormal_rows([A[k] for k in order], tolerance)
    return [order[k] for k, _ in kept if k >= len(others)]
