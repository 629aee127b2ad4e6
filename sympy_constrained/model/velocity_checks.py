"""Velocities that were set, compared with the derivatives of positions."""
import math
from contextlib import suppress
from functools import cache, partial
from operator import mul
from random import Random

from mpmath import mp

from .. import _compat
from ..errors import (
    ConstrainedDynamicsError, KinematicsError, MissingIngredientError)
from ..graph import Graph
from ..graph.calculus import NumericDerivation
from ..graph.nodes import SHADOW_TOLERANCE


def prepare_points(kinematics, bodies):
    """Form inertial positions and accelerations of all points."""
    # Rows that close loops, and their rates, equal some of these by value.
    # Points without a position or a velocity are not needed, nor are mass
    # centres from which no other point is located.
    centers = [x.masscenter for x in bodies]
    try:
        points = kinematics.positions(centers)[1]
    except ConstrainedDynamicsError:
        return
    for point in points:
        if point in centers and len(_compat.positions(point)) < 2:
            continue
        try:
            kinematics.acceleration(point, kinematics.frame)
        except ConstrainedDynamicsError:
            continue


def check_velocities(kinematics, bodies):
    """Raise if a velocity that was set has speeds of the wrong sign."""
    # A velocity need not be the derivative of the position. If they differ in
    # nothing but signs of speeds, ``kd_eqs`` contradict the velocity.
    g, speeds = kinematics.builder, ()
    columns = cache(partial(by_speeds, kinematics))
    along = NumericDerivation(g, {
        x: g.shadow(kinematics.bias(x))
        for x in map(g.bound.get, [*g.inputs])})
    for name, what, velocity, rate in velocities_and_rates(kinematics, bodies):
        with suppress(ConstrainedDynamicsError):
            if not equal(map(g.shadow, velocity), rate(along)):
                speeds = reversed_speeds(columns(), velocity, rate)
        if speeds:
            raise KinematicsError(
                f"The velocity of {name} and the derivative of its "
                f"{what} by `kd_eqs` have opposite signs of "
                f"{', '.join(map(str, speeds))}. A velocity that was set and "
                "`kd_eqs` contradict each other; correct the sign in one of "
                "them.", name=name)


def velocities_and_rates(kinematics, bodies):
    """Velocities of mass centres and frames, and what gives their placement a
    rate: a function of a :class:`.NumericDerivation`.
    """
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
                       lambda rate, r=positions[point]: list(map(rate, r)))


def turning_frame(kinematics, frame):
    axes, shadow = kinematics.frame, kinematics.builder.shadow
    R = kinematics.rotation(axes, frame)

    def turned(rate):
        return [sum(map(mul, map(rate, R[i]), map(shadow, R[j])))
                for i, j in ((2, 1), (0, 2), (1, 0))]

    return (f'frame {frame}', 'orientation',
            kinematics.angular_velocity(frame, axes), turned)


def by_speeds(kinematics):
    """Every speed, and the derivatives by it of velocities, and of places in
    their rates.
    """
    g = kinematics.builder
    return [(x, NumericDerivation(g, {u: 1}), NumericDerivation(g, {
        q: g.shadow(by_speed(rate))
        for q, rate in zip(kinematics.q, kinematics.rates)}))
        for x, u, by_speed in zip(
            kinematics.speeds, kinematics.u, kinematics.by_speed)]


def reversed_speeds(columns, velocity, rate):
    """Speeds with opposite columns, if all other columns are equal."""
    reversed_ones = []
    for x, by_speed, along in columns:
        one, other = list(map(by_speed, velocity)), rate(along)
        if equal(one, other):
            continue
        if not equal(one, [-w for w in other]):
            return []
        reversed_ones.append(x)
    return reversed_ones


def equal(one, other):
    """Whether numbers agree, as far as they are known."""
    return not any(abs(x - y) > SHADOW_TOLERANCE*max(abs(x), abs(y), 1)
                   for x, y in zip(one, other))


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
