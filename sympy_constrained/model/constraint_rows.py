"""Constraint rows of a call, read and sorted by level or by order."""
from contextlib import suppress
from dataclasses import replace
from random import Random

from sympy import (
    Derivative, Dummy, Float, Piecewise, S, Symbol, default_sort_key)
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational
from sympy.physics.vector import Point, ReferenceFrame, Vector, cross

from ..errors import (
    ConstraintError, MissingIngredientError, UnsupportedFeatureError,
    located, warn)
from ..graph import read
from ..graph.nodes import CALL
from ..graph.reading import chosen
from ..graph.writing import nested, used_nodes
from .constraint_order import (
    Residual, Rows, bind_derivatives, places_among, sorted_rows,
    unstated_among)
from .loads import axes_of_vector, motion_of
from .loops import Loop, closing_rows

LEVELS = {'holonomic': 'holonomic constraints',
          'velocity': 'velocity-level constraints',
          'acceleration': 'acceleration constraints'}


def residuals_of(kinematics, level, rows):
    """Read the rows of a level as :class:`.Residual`."""
    g, residuals = kinematics.builder, []
    for k, row in enumerate(rows):
        label, location = f'Row {k} of the {LEVELS[level]}', None
        if isinstance(row, Loop):
            need_frame(kinematics, 'a loop')
            residuals += (
                Residual(ref, nested_expression(g, ref), f'{row.label} {part}',
                         location, loop=row)
                for ref, part, location in closing_rows(kinematics, row))
            continue
        if isinstance(row, tuple):
            ref, location = geometric_row(kinematics, row, label, level)
            row = nested_expression(g, ref)
        else:
            with located(label):
                ref = read(g, row)
            if level == 'velocity' and has_pieces(g, ref):
                warn_of_jump(row, label)
        residuals.append(Residual(ref, row, label, location))
    return residuals


def has_pieces(builder, ref):
    """Whether a ``Piecewise`` occurs, on the graph, where parts are shared."""
    nodes, pieces = builder.nodes, {
        k for k, x in enumerate(builder.templates) if chosen(x)}
    return bool(pieces) and any(
        nodes[k][0] == CALL and nodes[k][1] in pieces
        for k in used_nodes(nodes, [ref])[0])


def warn_of_jump(row, label):
    """Warn of a row whose value jumps where its pieces meet."""
    switches = {part.lhs - part.rhs: part for part in sorted(
        row.atoms(Relational), key=default_sort_key)}
    for switch, part in switches.items():
        if jumps_at(row, switch):
            warn(f"{label} jumps where `{part}` changes. Speeds that follow "
                 "it would need an impact, and the equations hold between "
                 "the jumps only. Make the row continuous, or end the run "
                 "there by an event with a jump of the speeds.")
            return


def jumps_at(row, switch):
    """Whether a row jumps at a zero of a switch, sought where it is linear."""
    random = Random(0)
    numbers = {x: Float(random.uniform(0.3, 1)) for x in sorted(
        row.atoms(Symbol, AppliedUndef, Derivative), key=default_sort_key)}
    for x in filter(switch.has, numbers):
        at = Dummy()
        line = switch.xreplace({**numbers, x: at})
        slope = line.diff(at)
        if slope.is_number and slope != 0:
            place = -line.xreplace({at: S.Zero})/slope

            def gap(step, x=x, place=place):
                after, before = (value_at(row, {**numbers, x: place + change})
                                 for change in (step, -step))
                return float(abs(after - before))

            with suppress(TypeError):       # outside the domain
                near = gap(1e-10)
                return near > 1e-8 and near > gap(1e-6)/2
    return False


def value_at(expr, numbers):
    """The value of an expression; of its pieces only those that apply."""
    return expr.xreplace({**numbers, **{
        part: value_at(next((piece for piece, condition in part.args
                             if condition.xreplace(numbers) is S.true), S.NaN),
                       numbers) for part in expr.atoms(Piecewise)}})


def rows_by_level(kinematics, given, shape):
    """The :class:`.Rows` ``given``, each at the level of its argument."""
    # In Kane's shape the velocity constraints contain the differentiated
    # holonomic rows, and the acceleration constraints repeat all of them:
    # these are dropped.
    holonomic, velocity = (residuals_of(kinematics, level, given[level])
                           for level in ('holonomic', 'velocity'))
    rate_of = kinematics.bias.find if velocity else kinematics.bias
    rates = [rate_of(row.ref) for row in holonomic]
    rows = Rows(placed(holonomic, rates, velocity), velocity, [])
    known = []
    if shape == 'kane':
        known = rates + [row.ref for row in velocity]
        places = places_among(velocity, rates)
        others = without_repeated(velocity, rates)
        rows = rows._replace(
            velocity=others,
            unstated=unstated_among(velocity, holonomic, rates),
            places=places + places_among(velocity, [x.ref for x in others]))
    if given['acceleration']:
        kinematics.declare_accelerations()
        rows = rows._replace(acceleration=without_repeated(
            residuals_of(kinematics, 'acceleration', given['acceleration']),
            list(map(kinematics.total_derivative, known)),
            kinematics.builder))
    return rows


def placed(holonomic, rates, velocity):
    """Holonomic rows with the places of velocity rows that repeat them."""
    places = {sign*row.ref: tuple((x, sign*n) for x, n in row.location)
              for row in velocity if row.location for sign in (1, -1)}
    return [replace(row, location=row.location or places.get(rate))
            for row, rate in zip(holonomic, rates)]


def without_repeated(residuals, refs, builder=None):
    """Residuals that are not, up to the sign, one of the references."""
    # With a builder, ratios at its real point decide, too, for users simplify.
    return [row for row in residuals if not any(
        abs(row.ref) == abs(x) or builder and row.ref and x and any(
            builder.same_value(builder.div(row.ref, x), sign)
            for sign in (1, -1)) for x in refs)]


def rows_by_order(kinematics, given, stabilization):
    """The same for residuals of any order; see :func:`.sorted_rows`."""
    bind_derivatives(kinematics, [
        row for level in LEVELS for row in given[level]
        if not isinstance(row, tuple)])
    residuals = {level: residuals_of(kinematics, level, given[level])
                 for level in LEVELS}
    rows = sorted_rows(
        kinematics, sum(residuals.values(), []), residuals['velocity'])
    if rows.instead and (stabilization is not None or rows.higher):
        raise UnsupportedFeatureError(
            "A row of `acceleration_constraints` has the coefficients of a "
            "differentiated constraint and replaces it, which has no place "
            + ("beside `stabilization`: put the gains into the row, or leave "
               "it out." if stabilization is not None else
               "beside constraints of a higher order. Leave it out."))
    return rows


def need_frame(kinematics, what):
    if kinematics.frame is None:
        raise MissingIngredientError(
            f"The model has {what} and no inertial frame. Velocities are "
            "taken in it; pass `frame=`.")


def nested_expression(builder, ref):
    return nested(builder, [ref])[0]


def geometric_row(kinematics, row, label, level='velocity'):
    """Residual of a row given geometrically, and pairs (where, direction)."""
    g = kinematics.builder
    location, direction, other, values = parts_of_row(row, label, level)
    need_frame(kinematics, 'a row given geometrically')
    axes = axes_of_vector(kinematics, direction)
    numbers = kinematics.measure(direction, axes)
    loads = [(location, direction)]
    if other is not None:
        loads.append((other, -direction))
    if level == 'holonomic':
        motion = kinematics.offset(other, location, axes)
        loads += turning_loads(kinematics, direction, location, other, label)
    else:
        motion = moving(kinematics, location, axes, level)
        if other is not None:
            motion = map(g.sub, motion, moving(
                kinematics, other, axes, level))
    ref = g.dot(tuple(motion), numbers)
    with located(label):
        for value in values:
            ref = g.sub(ref, read(g, value))
    return ref, tuple(loads)


def moving(kinematics, location, axes, level):
    """Velocity or acceleration of a point, or the angular one of a frame."""
    motion = motion_of(kinematics, location, axes)
    if level == 'velocity':
        return motion
    g = kinematics.builder
    rates = kinematics.declare_accelerations()
    total = (kinematics.acceleration if isinstance(location, Point)
             else kinematics.angular_acceleration)(location, axes)
    for k, column in kinematics.columns(motion).items():
        total = g.added(total, g.scaled(rates[k], column))
    return total


MOVING = ('(point or frame, direction Vector), with the other point or frame '
          'whose motion is subtracted, and the speed (or acceleration) in '
          'that direction, as further entries')
APART = ('(point, direction Vector, other point), with the distance in that '
         'direction as a further entry')


def parts_of_row(row, label, level):
    """Point or frame, direction, other or None, at most one value."""
    is_place = level == 'holonomic'
    kind = isinstance(row, (tuple, list)) and kind_of(*row[:1])
    count = 3 if kind and kind_of(*row[2:3]) == kind else 2
    if (not kind or len(row) not in (count, count + 1)
            or not isinstance(row[1], Vector)
            or is_place and (kind, count) != (Point, 3)):
        raise ConstraintError(
            f"{label} is {row!r}. A row given geometrically is "
            f"{APART if is_place else MOVING}; give one of these, or a "
            "residual.")
    return row[0], row[1], row[2] if count == 3 else None, row[count:]


def kind_of(location=None):
    return next((kind for kind in (Point, ReferenceFrame)
                 if isinstance(location, kind)), None)


def turning_loads(kinematics, direction, location, other, label):
    """Torques on the frames with which the direction of a distance turns."""
    arm, loads = location.pos_from(other), []
    for (frame, refs), (numbers, _) in zip(
            kinematics.parts(direction), direction.args):
        if any(kinematics.builder.depends_on(x, *kinematics.q)
               for x in refs):
            raise ConstraintError(
                f"{label} has a direction whose components in {frame} depend "
                "on coordinates. Write it in a frame in which it is fixed.")
        if frame != kinematics.frame:
            loads.append((frame, cross(Vector([(numbers, frame)]), arm)))
    return loads
