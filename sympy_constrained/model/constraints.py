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
from __future__ import annotations

from sympy import Expr, sympify
from sympy.matrices import MatrixBase

from ..errors import ConstraintError, raise_problems
from ..graph import gradient, read, substitute, without

__all__ = ['constraint_blocks', 'stabilization_gains']


def stabilization_gains(stabilization, count):
    """Return one pair ``(alpha, beta)`` of gains per row.

    ``None`` means no stabilisation. One pair applies to all rows; a list has
    a pair or None per row.
    """
    if stabilization is None:
        return [(0, 0)]*count
    entries = (list(stabilization)
               if isinstance(stabilization, (tuple, list, MatrixBase)) else [])
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


def constraint_blocks(kinematics, holonomic, velocity, acceleration, u,
                      stabilization=None):
    r"""Blocks of the constraint rows, in the order of the levels.

    Explanation
    ===========

    With gains :math:`(\alpha, \beta)` a holonomic row obeys
    :math:`\ddot h + 2\alpha\dot h + \beta^2 h = 0` and a velocity row
    :math:`\dot\psi + \alpha\psi = 0` (Baumgarte); only ``b`` changes.

    Parameters
    ==========

    kinematics : Kinematics
    holonomic, velocity, acceleration : lists of references
        Residuals of each level, all zero along a motion.
    u : sequence of dynamicsymbols
        The speeds.
    stabilization : optional
        See :func:`stabilization_gains`.

    Raises
    ======

    ConstraintError
        If a row contains what its level does not allow, or no unknown.

    """
    g = kinematics.builder
    count = len(holonomic) + len(velocity) + len(acceleration)
    gains = [tuple(read(g, x) for x in pair)
             for pair in stabilization_gains(stabilization, count)]
    holonomic = [without_speeds(kinematics, h) for h in holonomic]
    residuals = [*map(kinematics.bias, holonomic), *velocity]
    problems = level_problems(kinematics, holonomic, velocity)
    A, b = [], []
    for k, phi in enumerate(residuals):
        h = holonomic[k] if k < len(holonomic) else None
        row, right = differentiated(kinematics, phi, h, gains[k])
        A.append(row)
        b.append([right])
        if not any(row) and not is_kept(kinematics, phi, h):
            problems.setdefault(k, vanishing_row(k, len(holonomic)))
    accelerations = kinematics.declare_accelerations(u) if acceleration else ()
    for k, chi in enumerate(acceleration):
        row = gradient(g, chi, accelerations)
        if not is_linear(kinematics, chi, row, accelerations):
            problems[len(A)] = (
                f"Row {k} of `acceleration_constraints` is not linear in "
                f"the rates of the speeds {list(u)}, or contains none of "
                "them. Acceleration constraints have the form A*u' = b; "
                "rewrite the row.")
        A.append(row)
        rest, = substitute(g, [chi], dict.fromkeys(accelerations, 0))
        b.append([-rest])
    raise_problems(problems.values(), ConstraintError, rows=tuple(problems))
    return {
        'holonomic': [[h] for h in holonomic],
        'velocity': [[phi] for phi in residuals],
        'holonomic_jacobian': [gradient(g, h, kinematics.q)
                               for h in holonomic],
        'velocity_jacobian': A[:len(residuals)],
        'A': A, 'b': b,
    }


def differentiated(kinematics, phi, h, gains):
    """A row of ``A`` and ``b`` from a residual at velocity level.

    ``h`` is the position residual of a holonomic row, else None.
    """
    g, (alpha, beta) = kinematics.builder, gains
    row = gradient(g, phi, kinematics.u)
    right = -kinematics.bias(phi)
    if h is None:
        return row, g.sub(right, g.mul(alpha, phi))
    damping = g.mul(g.mul(g.constant(2), alpha), phi)
    spring = g.mul(g.mul(beta, beta), h)
    return row, g.sub(g.sub(right, damping), spring)


def is_kept(kinematics, phi, h):
    """Whether the kinematics alone keep a holonomic row.

    Such a row (the norm of a quaternion) is needed for consistent states.
    """
    return h is not None and not phi and kinematics.builder.depends_on(
        h, *kinematics.q)


def is_linear(kinematics, chi, row, accelerations):
    """Whether ``chi`` is linear in ``u'``, with the coefficients ``row``."""
    g = kinematics.builder
    allowed = [g.inputs[g.nodes[k][1]] for k in accelerations]
    return (any(row) and not kinematics.accelerations_in(chi, allowed=allowed)
            and not g.mask(row) & g.mask(accelerations))


def without_speeds(kinematics, h):
    """A position residual, rebuilt if it is written with speeds that cancel.

    The graph may have merged it with an earlier expression of equal value.
    """
    g = kinematics.builder
    if not g.depends_on(h, *kinematics.u):
        return h
    rebuilt, = without(g, [h], kinematics.u)
    return h if rebuilt is None else rebuilt


def level_problems(kinematics, holonomic, velocity):
    """Row number -> sentence, for rows that do not belong to their level."""
    g = kinematics.builder
    problems = {}
    for k, h in enumerate(holonomic):
        if g.depends_on(h, *kinematics.u) or kinematics.accelerations_in(h):
            problems[k] = (
                f"Row {k} of the holonomic constraints contains a speed or "
                "the derivative of a coordinate. Holonomic constraints are "
                "functions of the coordinates and time; give this row with "
                "the nonholonomic or velocity constraints.")
    for k, phi in enumerate(velocity):
        late = kinematics.accelerations_in(phi)
        if late:
            problems[len(holonomic) + k] = (
                f"Row {k} of the velocity-level constraints contains "
                f"{late[0]}. Constraints are given at velocity level; give "
                "the integral of the row, pass it through "
                "`acceleration_constraints` if it is linear in the rates of "
                "the speeds, or use GibbsAppellMethod, which takes "
                "constraints of any order.")
    return problems


def vanishing_row(k, holonomic):
    """A sentence about a row without unknowns."""
    if k < holonomic:
        return (
            f"Row {k} of the holonomic constraints does not depend on any "
            "coordinate that moves with the speeds. It restricts nothing, "
            "or it cannot hold; remove the row, or correct it.")
    return (
        f"Row {k - holonomic} of the velocity-level constraints does not "
        "depend on any speed. If it is a function of the coordinates, give "
        "it with the holonomic constraints; else remove it.")
