"""Velocities that were set, compared with the derivatives of positions."""
import math
from contextlib import suppress
from functools import cache, cached_property, partial
from itertools import chain
from operator import mul

from .. import _compat
from ..errors import ConstrainedDynamicsError, KinematicsError
from ..graph import Derivation
from ..graph.calculus import NumericDerivation
from ..graph.nodes import PRIME, SHADOW_TOLERANCE


# Outputs whose names contain this are differences of velocities.
DIFFERENT = ': '


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
    """Raise if a velocity that was set has speeds of the wrong sign.

    Returns the outputs of other :meth:`Comparison.differences`.
    """
    # A velocity need not be the derivative of the position. If they differ in
    # nothing but signs of speeds, ``kd_eqs`` contradict the velocity.
    of, outputs = cache(partial(Comparison, kinematics)), {}
    for name, what, velocity, rate, axis, is_certain in (
            velocities_and_rates(kinematics, bodies)):
        speeds = ()
        with suppress(ConstrainedDynamicsError):
            if is_rate(kinematics, velocity, rate):
                continue
            for multiple in multiples(kinematics.builder, velocity, axis):
                speeds = of(NumericDerivation).reversed_speeds(multiple, rate)
                if speeds is None:      # of a function without a number
                    speeds = of(Derivation).reversed_speeds(multiple, rate)
                if speeds != [None]:
                    break
            else:
                if is_certain():
                    outputs[f'{name}{DIFFERENT}{what}'] = of(
                        Derivation).differences(velocity, rate)
                continue
        if speeds:
            raise KinematicsError(
                f"The {name} and the derivative of its "
                f"{what} by `kd_eqs` have opposite signs of "
                f"{', '.join(map(str, speeds))}. A velocity that was set and "
                "`kd_eqs` contradict each other; correct the sign in one of "
                "them.", name=name)
    return outputs


def velocities_and_rates(kinematics, bodies):
    """Velocities of mass centres and frames, what gives their placement a
    rate, a function of a derivation and of a dot product, one axis, and
    whether that is the rate of a point of the body.
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
    origin, positions = kinematics.positions(list(points))
    if not origin or _compat.velocity(origin, kinematics.frame) != 0:
        return
    for point in points:
        if point in positions and point not in kinematics.anchors:
            axes = kinematics.axes_of_velocity(point)
            columns = [*zip(*kinematics.rotation(kinematics.frame, axes))]

            def turned(rate, dot, r=positions[point], columns=columns):
                rates = list(map(rate, r))
                return [dot(rates, column) for column in columns]

            yield (f'velocity of point {point}', 'position',
                   kinematics.velocity(point, axes), turned, columns[0],
                   partial(is_translated, kinematics, point))


def is_translated(kinematics, point):
    """Whether coordinates move a point in the axes of its position.

    Otherwise the origin may be a point of contact, which moves along a body.
    """
    parts = kinematics.position_parts(point)[1]
    while point in parts:
        point, steps = parts[point]
        if any(kinematics.builder.depends_on(x, *kinematics.q)
               for _, numbers in steps for x in numbers):
            return True
    return False


def turning_frame(kinematics, frame):
    columns = tuple(zip(*kinematics.rotation(kinematics.frame, frame)))

    def turned(rate, dot):
        return [dot(list(map(rate, columns[i])), columns[j])
                for i, j in ((1, 2), (2, 0), (0, 1))]

    return (f'angular velocity of frame {frame}', 'orientation',
            kinematics.angular_velocity(frame, frame), turned, columns[0],
            lambda: True)


def multiples(g, velocity, axis):
    """A velocity, and what its rate is where the axes have another length.

    Those of a quaternion have the length of its squared norm, one or two
    times in the rate: a formula may hold for the unit norm alone.
    """
    yield velocity
    size = g.dot(axis, axis)
    if not g.same_value(size, 1):
        for factor in g.root(size, 2), size:
            yield g.scaled(factor, velocity)


def is_rate(kinematics, velocity, rate):
    """Whether a velocity is the derivative of the position by value."""
    g = kinematics.builder
    value = g.fingerprint
    rates = rate(kinematics.bias.fingerprint,
                 lambda x, refs: sum(map(mul, x, map(value, refs))))
    return all((x - value(ref)) % PRIME == 0
               for x, ref in zip(rates, velocity))


class Comparison:
    """Compares velocities with rates of positions, as numbers or on nodes.

    Numbers make few nodes, and are nan for some functions.
    """

    def __init__(self, kinematics, derivation):
        g = self.builder = kinematics.builder
        self.is_numeric = derivation is NumericDerivation
        self.value = g.shadow if self.is_numeric else int   # the same
        self.kinematics, self.derivation = kinematics, derivation
        self.along = derivation(g, {
            x: self.value(kinematics.bias(x))
            for x in map(g.bound.get, [*g.inputs])})

    @cached_property
    def columns(self):
        """Every speed, and the derivatives by it of velocities, and of places
        in their rates.
        """
        g, k = self.builder, self.kinematics
        return [(x, self.derivation(g, {u: 1}), self.derivation(g, {
            q: self.value(by_speed(rate)) for q, rate in zip(k.q, k.rates)}))
            for x, u, by_speed in zip(k.speeds, k.u, k.by_speed)]

    def dot(self, x, refs):
        return sum(map(mul, x, map(self.value, refs))) if (
            self.is_numeric) else self.builder.dot(x, refs)

    def equal(self, one, other):
        if not self.is_numeric:
            return all(map(self.builder.same_value, one, other))
        return all(abs(x - y) <= SHADOW_TOLERANCE*max(abs(x), abs(y), 1)
                   for x, y in zip(one, other))

    def reversed_speeds(self, velocity, rate):
        """Speeds with opposite columns, if all other columns are equal; None
        if a number is not known, ``[None]`` if other columns differ.
        """
        def compared(by, along):
            return list(map(by, velocity)), rate(along, self.dot)

        whole = compared(self.value, self.along)
        if self.equal(*whole):
            return []
        found = []
        for x, *by in self.columns:
            one, other = compared(*by)
            if any(map(math.isnan, chain(*whole, one, other))):
                return None
            if self.equal(one, other):
                continue
            if not self.equal(one, [-w for w in other]):
                return [None]
            found.append(x)
        return found

    def differences(self, velocity, rate):
        """Columns of a velocity less those of the rate, by speed, (3, o).

        Further rows mark the speeds that do not change the position. One may
        be the spin of a wheel whose frame does not turn with it: then nothing
        is known of velocities in the direction of its column.
        """
        g, numbers = self.builder, range(len(self.columns))
        columns = [([by(x) for x in velocity], rate(along, self.dot))
                   for _, by, along in self.columns]
        return [*([g.sub(one[i], other[i]) for one, other in columns]
                  for i in range(3)), *(
            [int(j == k) for j in numbers] for k in numbers
            if not any(columns[k][1]))]
