"""Constraint rows of a call, read and sorted by level or by order."""
from __future__ import annotations

from sympy.physics.vector import Point, ReferenceFrame, Vector

from ..errors import (
    ConstraintError, MissingIngredientError, UnsupportedFeatureError, located)
from ..graph import read
from ..graph.writing import nested
from .constraint_order import Residual, bind_derivatives, sorted_rows
from .loads import axes_of_vector, motion_of

__all__ = ['check_replacements', 'need_frame', 'nested_expression',
           'rows_by_level', 'rows_by_order']

LEVELS = {'holonomic': 'holonomic constraints',
          'velocity': 'velocity-level constraints',
          'acceleration': 'acceleration constraints'}


def residuals_of(kinematics, level, fields):
    """Read the rows of a level as :class:`.Residual`."""
    g, residuals = kinematics.builder, []
    for k, row in enumerate(fields[f'{level}_rows']):
        label, location = f'Row {k} of the {LEVELS[level]}', None
        if isinstance(row, tuple):
            ref, location = geometric_row(kinematics, row, k)
            row = nested_expression(g, ref)
        else:
            with located(label):
                ref = read(g, row)
        residuals.append(Residual(ref, row, label, location))
    return residuals


def rows_by_level(kinematics, fields, shape):
    """Level -> residuals, each at the level at which it was given.

    In Kane's shape the velocity constraints contain the differentiated
    holonomic rows, and the acceleration constraints repeat all of them; both
    are recognised by value and dropped.
    """
    holonomic = residuals_of(kinematics, 'holonomic', fields)
    velocity = residuals_of(kinematics, 'velocity', fields)
    rates = [kinematics.bias(row.ref) for row in holonomic]
    given = rates + [row.ref for row in velocity]
    if shape == 'kane':
        velocity = without_repeated(velocity, rates)
    acceleration = []
    if fields['acceleration_rows']:
        kinematics.declare_accelerations(fields['u'])
        known = [kinematics.total_derivative(ref) for ref in given
                 if shape == 'kane']
        acceleration = without_repeated(
            residuals_of(kinematics, 'acceleration', fields), known,
            kinematics.builder)
    return {'holonomic': holonomic, 'velocity': velocity,
            'acceleration': acceleration}


def without_repeated(residuals, refs, builder=None):
    """Residuals that are not, up to the sign, one of the references.

    With a builder ratios at its real point decide, too: users simplify the
    roots of a derivative.
    """
    return [row for row in residuals if not any(
        abs(row.ref) == abs(x) or builder and row.ref and x and any(
            builder.same_value(builder.div(row.ref, x), sign)
            for sign in (1, -1)) for x in refs)]


def rows_by_order(kinematics, fields):
    """The same for residuals of any order; see :func:`.sorted_rows`."""
    bind_derivatives(kinematics, fields['q'], fields['u'], [
        row for level in LEVELS for row in fields[f'{level}_rows']
        if not isinstance(row, tuple)])
    return sorted_rows(kinematics, [
        row for level in LEVELS
        for row in residuals_of(kinematics, level, fields)])


def check_replacements(fields, stabilization):
    """Raise if rows cannot replace the derivatives of others."""
    if stabilization is not None or fields['higher_rows']:
        raise UnsupportedFeatureError(
            "A row of `acceleration_constraints` has the coefficients of a "
            "differentiated constraint and replaces it, which has no place "
            + ("beside `stabilization`: put the gains into the row, or leave "
               "it out." if stabilization is not None else
               "beside constraints of a higher order. Leave it out."))


def need_frame(kinematics, what):
    """Raise if there is no inertial frame."""
    if kinematics.frame is None:
        raise MissingIngredientError(
            f"The model has {what} and no inertial frame. Velocities are "
            "taken in it; pass `frame=`.")


def nested_expression(builder, ref):
    """SymPy expression of a reference of a builder."""
    return nested(builder, [ref])[0]


def geometric_row(kinematics, row, k):
    """Residual of ``(point or frame, direction[, value])``, and where."""
    g = kinematics.builder
    if (len(row) not in (2, 3) or not isinstance(row[1], Vector) or
            not isinstance(row[0], (Point, ReferenceFrame))):
        raise ConstraintError(
            f"Row {k} of the velocity-level constraints is {row!r}. A row "
            "given geometrically is (point or frame, direction Vector) or "
            "(point or frame, direction Vector, value), which prescribes the "
            "speed in that direction; give one of these, or a residual.",
            rows=(k,))
    need_frame(kinematics, 'a row given geometrically')
    location, direction = row[:2]
    axes = axes_of_vector(kinematics, direction)
    motion = motion_of(kinematics, location, axes)
    ref = g.dot(motion, kinematics.measure(direction, axes))
    if len(row) == 3:
        with located(f'Row {k} of the velocity-level constraints'):
            ref = g.sub(ref, read(g, row[2]))
    return ref, (location, direction)
