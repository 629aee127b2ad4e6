r"""Constraints of every level on the graph: residuals to ``A`` and ``b``.

=============  ======================================  ====================
level          ``A``                                   ``b``
=============  ======================================  ====================
holonomic      gradient of ``h'`` in ``u``             ``-h''`` at ``u'=0``
velocity       gradient of ``psi`` in ``u``            ``-psi'`` at ``u'=0``
acceleration   gradient of ``chi`` in ``u'``           ``-chi`` at ``u'=0``
=============  ======================================  ====================

Linear or not in the speeds makes no difference: the ideal force of a
velocity-level row is ``A^T*lam`` with ``A = dphi/du`` (Appell and Chetaev).
"""
from itertools import zip_longest
from math import hypot
from operator import mul

from sympy import Expr, sympify
from sympy.matrices import MatrixBase

from ..errors import (
    ConstraintError, InconsistentConstraintsError, raise_problems)
from ..graph import gradient, jacobian, read, without
from ..graph.nodes import PRIME

# Relative difference of constants, or of rows, that are floats.
ROUNDING = 1e-9


def stabilization_gains(stabilization, count):
    """One pair ``(alpha, beta)`` of gains, or None, for each row."""
    if stabilization is None:
        return [(0, 0)]*count
    entries = (list(stabilization) if isinstance(
        stabilization, (tuple, list, MatrixBase)) else [stabilization])
    if is_pair(entries):
        return [tuple(entries)]*count
    if len(entries) != count or not all(
            x is None or is_pair(x) for x in entries):
        raise ConstraintError(
            f"`stabilization` is {stabilization!r} for {count} constraint "
            "rows. Give one pair (alpha, beta) of gains, none negative, for "
            "all rows, or a list with a pair or None for every row.")
    return [(0, 0) if x is None else tuple(x) for x in entries]


def is_pair(x):
    """Whether this is a pair of expressions or numbers, none negative."""
    return (isinstance(x, (tuple, list)) and len(x) == 2 and all(
        isinstance(gain, (int, float, Expr)) and
        not sympify(gain, strict=True).is_negative for gain in x))


def constraint_blocks(kinematics, holonomic, velocity, acceleration,
                      stabilization=None):
    r"""Blocks of the constraint rows, in the order of the levels.

    The residuals of each level are references, all zero along a motion. With
    gains :math:`(\alpha, \beta)` a holonomic row obeys :math:`\ddot h +
    2\alpha\dot h + \beta^2 h = 0` and a velocity row :math:`\dot\psi +
    \alpha\psi = 0` (Baumgarte); only ``b`` changes.
    """
    g = kinematics.builder
    holonomic = [without_speeds(kinematics, h) for h in holonomic]
    residuals = [*map(kinematics.bias, holonomic), *velocity]
    gains = stabilization_gains(
        stabilization, len(residuals) + len(acceleration))
    rows = [differentiated(kinematics, phi, h, (read(g, x) for x in pair))
            for phi, h, pair in zip_longest(residuals, holonomic, gains[
                :len(residuals)])]
    for chi in acceleration:
        row, rest = kinematics.linear_in_accelerations(chi) or ((), 0)
        rows.append((row, -rest))
    check_rows(kinematics, holonomic, velocity, residuals, rows)
    return {
        'holonomic': [[h] for h in holonomic],
        'velocity': [[phi] for phi in residuals],
        'holonomic_jacobian': position_jacobian(kinematics, holonomic, rows),
        'velocity_jacobian': [row for row, _ in rows[:len(residuals)]],
        'A': [row for row, _ in rows], 'b': [[b] for _, b in rows]}


def position_jacobian(kinematics, holonomic, rows):
    # Where the ``q'`` are different speeds, these are those of ``dh'/du``.
    places = {u: k for k, u in enumerate(kinematics.u)}
    columns = [places.get(rate) for rate in kinematics.rates]
    if None in columns or len({*columns}) < len(columns):
        return jacobian(kinematics.builder, holonomic, kinematics.q)
    return [[row[k] for k in columns] for row, _ in rows[:len(holonomic)]]


def check_rows(kinematics, holonomic, velocity, residuals, rows):
    """Raise if rows do not belong to their level, or restrict nothing."""
    problems, first = {}, len(holonomic)
    for k, (row, _) in enumerate(rows):
        text = None
        if k < first:
            text = holonomic_problem(kinematics, k, row, residuals[k],
                                     holonomic[k])
        elif k < len(residuals):
            text = velocity_problem(kinematics, k - first, row,
                                    velocity[k - first])
        elif not any(row):
            text = (
                f"Row {k - len(residuals)} of `acceleration_constraints` is "
                "not linear in the rates of the speeds "
                f"{list(kinematics.speeds)}, or contains none of them. "
                "Acceleration constraints have the form A*u' = b; rewrite "
                "the row.")
        if text:
            problems[k] = text
    raise_problems(problems.values(), ConstraintError, rows=tuple(problems))


def holonomic_problem(kinematics, k, row, phi, h):
    """A sentence about a row that is not holonomic, or None."""
    g = kinematics.builder
    if g.depends_on(h, *kinematics.u) or kinematics.accelerations_in(h):
        return (f"Row {k} of the holonomic constraints contains a speed or "
                "the derivative of a coordinate. Holonomic constraints are "
                "functions of the coordinates and time; give this row with "
                "the nonholonomic or velocity constraints.")
    # A row that the kinematics alone keep (the norm of a quaternion) is
    # needed for consistent states.
    if any(row) or not phi and any(gradient(g, h, kinematics.q)):
        return None
    return (f"Row {k} of the holonomic constraints does not depend on any "
            "coordinate that moves with the speeds. It restricts nothing, "
            "or it cannot hold; remove the row, or correct it.")


def velocity_problem(kinematics, k, row, phi):
    """A sentence about a row that is not of velocity level, or None."""
    late = kinematics.accelerations_in(phi)
    if late:
        return (f"Row {k} of the velocity-level constraints contains "
                f"{late[0]}. Constraints are given at velocity level; give "
                "the integral of the row, pass it through "
                "`acceleration_constraints` if it is linear in the rates of "
                "the speeds, or use GibbsAppellMethod, which takes "
                "constraints of any order.")
    if any(row):
        return None
    return (f"Row {k} of the velocity-level constraints does not depend on "
            "any speed. If it is a function of the coordinates, give it with "
            "the holonomic constraints; else remove it.")


def multiples(g, residuals, slopes, states):
    """Yield ``j, i, rest`` for rows ``h_j = c*h_i + rest``.

    ``slopes`` are the derivatives of the rows by some of the ``states``, on
    which neither ``c`` nor ``rest`` depends.
    """
    first = {}                      # by zeros: rows that are no multiples
    for j, row in enumerate(slopes):
        others = first.setdefault(tuple(map(bool, row)), [])
        i = next((i for i in others if proportional(g, row, slopes[i])), None)
        if i is None:
            others.append(j)
        elif any(row):
            column = next(k for k, x in enumerate(row) if x)
            c = g.div(row[column], slopes[i][column])
            rest = g.sub(residuals[j][0], g.mul(c, residuals[i][0]))
            if rest and not any(gradient(g, c, states)
                                + gradient(g, rest, states)):
                yield j, i, rest


def proportional(g, row, other):
    """Whether rows with the same zeros are multiples of each other."""
    pairs = [(g.fingerprint(x), g.fingerprint(y))
             for x, y in zip(row, other) if x]
    return all((x*pairs[0][1] - y*pairs[0][0]) % PRIME == 0
               for x, y in pairs[1:])


def not_implied(g, rows, numbers):
    """Yield those of the numbered rows that do not follow from the others."""
    # At the builder's real point; a row without a value there does not follow.
    units = []
    for k in sorted(range(len(rows)), key=numbers.__contains__):
        values = list(map(g.shadow, rows[k]))
        least = ROUNDING*hypot(*values)
        for unit in units:
            part = sum(map(mul, values, unit))
            values = [x - part*y for x, y in zip(values, unit)]
        size = hypot(*values)
        if not size <= least:           # nor is it nan
            if k in numbers:
                yield k
            else:
                units.append([x/size for x in values])


def check_multiples(kinematics, blocks, level, names):
    """Raise if a row is a multiple of another one plus a number."""
    g, residuals = kinematics.builder, blocks[level]
    for j, i, rest in multiples(g, residuals, blocks[f'{level}_jacobian'],
                                kinematics.q + kinematics.u):
        others = [g.bound[x] for x in g.symbols_of(rest)
                  if x not in kinematics.states]
        if not any(gradient(g, rest, others)) and abs(g.shadow(rest)) > (
                ROUNDING*abs(g.shadow(residuals[j][0]))):
            raise InconsistentConstraintsError(
                f"{names[j]} is a multiple of {names[i]} plus a number that "
                "is not zero, so no state satisfies both. Correct or drop "
                "one of them.", rows=(i, j))


def differentiated(kinematics, phi, h, gains):
    """A row of ``A`` and ``b``; ``h`` is None unless the row is holonomic."""
    g, (alpha, beta) = kinematics.builder, gains
    row = gradient(g, phi, kinematics.u)
    rate_of = kinematics.bias if h is None else kinematics.bias.find
    right = -rate_of(phi)
    if h is None:
        return row, g.sub(right, g.mul(alpha, phi))
    damping = g.mul(g.mul(g.constant(2), alpha), phi)
    spring = g.mul(g.mul(beta, beta), h)
    return row, g.sub(g.sub(right, damping), spring)


def without_speeds(kinematics, h):
    """A position residual, rebuilt if it has speeds that cancel."""
    g = kinematics.builder
    if not g.depends_on(h, *kinematics.u):
        return h
    rebuilt, = without(g, [h], kinematics.u)
    return h if rebuilt is None else rebuilt
