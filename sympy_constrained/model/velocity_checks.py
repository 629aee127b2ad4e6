"""Velocities that were set, compared with the derivatives of positions."""
import math
from contextlib import suppress
from random import Random

from mpmath import mp

from .. import _compat
from ..errors import (
    ConstrainedDynamicsError, KinematicsError, MissingIngredientError)
from ..graph import Graph


def prepare_points(kinematics, bodies):
    """Form inertial positions and accelerations of all points."""
    # Rows that close loops, and their rates, equal some of these by value.
    # Points without a position or a velocity are not needed.
    try:
        points = kinematics.positions([x.masscenter for x in bodies])[1]
    except ConstrainedDynamicsError:
        return
    for point in points:
        try:
            kinematics.acceleration(point, kinematics.frame)
        except ConstrainedDynamicsError:
            continue


def check_velocities(kinematics, bodies):
    """Raise if a velocity that was set has speeds of the wrong sign."""
    # A velocity need not be the derivative of the position. If they differ in
    # nothing but signs of speeds, ``kd_eqs`` contradict the velocity.
    for name, what, *vectors in velocities_and_rates(kinematics, bodies):
        speeds = ', '.join(map(str, reversed_speeds(kinematics, *vectors)))
        if speeds:
            raise KinematicsError(
                f"The velocity of {name} and the derivative of its "
                f"{what} by `kd_eqs` have opposite signs of {speeds}. A "
                "velocity that was set and `kd_eqs` contradict each "
                "other; correct the sign in one of them.", name=name)


def velocities_and_rates(kinematics, bodies):
    """Velocities and derivatives of positions of mass centres and frames."""
    points = dict.fromkeys(body.masscenter for body in bodies)
    frames = dict.fromkeys(
        getattr(body, 'frame', kinematics.frame) for body in bodies)
    with suppress(ConstrainedDynamicsError):
        yield from moving_points(kinematics, points)
    for frame in frames:
        with suppress(ConstrainedDynamicsError):
            yield turning_frame(kinematics, frame)


def moving_points(kinematics, points):
    axes = kinematics.frame
    origin, positions = kinematics.positions(list(points))
    if origin and _compat.velocity(origin, axes) == 0:
        for point in points:
            if point in positions and point not in kinematics.anchors:
                yield (f'point {point}', 'position',
                       kinematics.velocity(point, axes),
                       tuple(map(kinematics.bias, positions[point])))


def turning_frame(kinematics, frame):
    g, axes = kinematics.builder, kinematics.frame
    R = kinematics.rotation(axes, frame)
    rate = [tuple(map(kinematics.bias, row)) for row in R]
    return (f'frame {frame}', 'orientation',
            kinematics.angular_velocity(frame, axes),
            tuple(g.dot(rate[i], R[j]) for i, j in ((2, 1), (0, 2), (1, 0))))


def reversed_speeds(kinematics, one, other):
    """Speeds with opposite columns, if all other columns are equal."""
    g, reversed_ones = kinematics.builder, []
    if all(map(g.same_value, one, other)):
        return reversed_ones
    for x, by_speed in zip(kinematics.speeds, kinematics.by_speed):
        a, b = (tuple(map(by_speed, vector)) for vector in (one, other))
        if all(map(g.same_value, a, b)):
            continue
        if not all(g.same_value(v, -w) for v, w in zip(a, b)):
            return []
        reversed_ones.append(x)
    return reversed_ones


def agree(builder, a, b):
    """Whether two references have equal values at random real points."""
    # Where the builder's point is outside the domain of a function, others are
    # tried; True if none is inside.
    if builder.same_value(a, b):
        return True
    if not math.isnan(builder.shadows[abs(a)] + builder.shadows[abs(b)]):
        return False
    random = Random('agree')
    graph = Graph.freeze(builder, {'x': ([[a, b, builder.sub(a, b)]], 3)})
    for attempt in range(40):
        reach = 2**(attempt % 8)
        values = {x: mp.mpf(random.uniform(-reach, reach))
                  for x in graph.inputs}
        try:
            (x, y, gap), = graph.evaluate(values, context=mp)['x']
        except (ArithmeticError, TypeError, ValueError,
                MissingIngredientError):
            continue
        if not isinstance(gap, mp.mpc) and mp.isfinite(gap):
            return abs(gap) <= 1e-9*max(abs(x), abs(y), 1)
    return True
