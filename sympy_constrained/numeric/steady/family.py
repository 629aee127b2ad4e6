"""Follow a family of steady motions (:doc:`/theory/numbers`)."""
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from ...errors import ConstrainedDynamicsError
from ..names import Names, label, number
from .conditions import Conditions
from .steady_motion import ZERO, SteadyMotion


# Least cosine between neighbouring tangents, and that for longer steps.
BEND, STRAIGHT = 0.95, 0.995
LONGER, SHORTER, SHORTEST = 1.5, 0.5, 1e-6
# Largest distance from the prediction, relative to the step.
ASIDE = 0.3
# A direction that is shorter on the family does not belong to it.
NOWHERE = 1e-6
# Halvings that separate a critical motion from others, or locate it.
SEPARATE, LOCATE = 6, 40
# An imaginary part above this part of the norm is none of rounding.
NO_ZERO = 1e-4


class Critical(NamedTuple):
    """A motion where a family changes, and its position there.

    ``kind`` is ``'branch'``, where families cross, ``'fold'``, where what the
    family is followed along turns back, ``'hopf'``, where periodic motions
    begin, or ``'zero'`` for another zero eigenvalue.
    """

    kind: str
    index: int
    motion: SteadyMotion


@dataclass(frozen=True, eq=False)
class Family:
    """Steady motions along a curve; made by :meth:`.SteadyMotion.follow`.

    ``family[q]`` are the values of a state, multiplier or constant along it,
    ``critical`` those of the ``motions`` that are :class:`Critical`;
    ``message`` is why it ends.
    """

    motions: tuple
    critical: tuple
    message: str

    def __len__(self):
        return len(self.motions)

    def __iter__(self):
        return iter(self.motions)

    def __getitem__(self, key):
        place = self.motions[0].names.index(key)
        return np.array([motion.point[place] for motion in self.motions])

    def __repr__(self):
        kinds = ', '.join(item.kind for item in self.critical) or 'none'
        return (f'<Family of {len(self)} steady motions; critical: {kinds}. '
                f'{self.message}>')

    @property
    def growth(self) -> np.ndarray:
        """The largest real part of the eigenvalues of each motion."""
        return np.array([motion.growth for motion in self.motions])

    def intervals(self, key, stability='stable') -> list:
        """Pairs of values, in order, between which all motions are stable."""
        values, result, i = self[key], [], 0
        edges = {item.index for item in self.critical}
        for kind, group in groupby(m.stability for m in self.motions):
            end = i + len(list(group))
            if kind == stability:
                result.append((float(values[i - (i - 1 in edges)]),
                               float(values[end - (end not in edges)])))
            i = end
        return result


def follow(motion, along=None, direction=None, *, step=0.1, count=200,
           until=None, fixed=()) -> Family:
    r"""Return the family of steady motions through one of them.

    Examples
    ========

    A pendulum carried around a vertical axis tilts beyond the rate
    :math:`\sqrt{g/l}`:

    >>> from sympy import cos, sin, symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.numeric import equilibria
    >>> m, g, l, W = symbols('m g l W')
    >>> q = dynamicsymbols('q')
    >>> carried = UdwadiaKalabaMethod(
    ...     m*l**2*(q.diff()**2 + W**2*sin(q)**2)/2 + m*g*l*cos(q), [q])
    >>> rest, = equilibria(carried, {q: 0}, constants={
    ...     m: 1, g: 9.81, l: 1, W: 1})
    >>> hanging = rest.follow(along=W, until={W: (0, 5)})
    >>> [(item.kind, round(item.motion[W]**2, 6))
    ...  for item in hanging.critical]
    [('branch', 9.81)]
    >>> tilted = hanging.critical[0].motion.follow(
    ...     along=W, direction={q: 1}, until={W: (0, 5)})
    >>> float(round(tilted[q][-1], 6)), float(round(tilted[W][-1], 6))
    (1.167557, 5.0)

    Parameters
    ==========

    motion : SteadyMotion
    along : constant, state or name, optional
        A constant that changes along the family, or a state that grows first.
        Without it the motions must be a family at the same constants.
    direction : mapping, optional
        Changes of states or constants by which to start, such as ``{q: 1}``;
        needed where families cross.
    step : float
        The longest step in the space of the states and the relative constant.
    count : int
        Largest number of motions without critical ones.
    until : mapping, optional
        State or constant -> pair of bounds where the family ends.
    fixed : iterable of states, optional
        States to hold, where steady motions have more dimensions.

    Raises
    ======

    ConstrainedDynamicsError
        If the motion is isolated, or belongs to a family of more dimensions.
    ValueError
        If a name is unknown.

    """
    return _Curve(motion, along, direction, step, until, fixed).family(count)


class _Curve:
    def __init__(self, motion, along, direction, step, until, fixed):
        old = motion.conditions
        names = Names((*old.compiled.states, *old.compiled.constants),
                      'state or constant')
        count = old.count
        wanted = [] if along is None else names.indices([along], 'along')
        free = tuple(k - count for k in wanted if k >= count)
        self.conditions = Conditions(
            old.compiled, old.cyclic, old.at_rest, free, old.sizes)
        held = old.compiled.names.indices(fixed, 'fixed')
        self.columns = np.array([
            k for k in self.conditions.columns if k not in held])
        self.seen = (self.columns < count) | (self.columns >= old.size)

        def column(key, argument):
            k, = names.indices([key], argument)
            k += (k >= count)*(old.size - count)
            place = np.flatnonzero(self.columns == k)
            if not len(place):
                raise ValueError(
                    f"`{argument}`: {names.labels[k]} does not change along "
                    "this family. Give states that are not held, or the "
                    "constant `along` which it is followed.")
            return int(place[0])

        self.along = None if along is None else column(along, 'along')
        self.bounds = [(column(key, 'until'), *map(number, pair))
                       for key, pair in (until or {}).items()]
        self.start, self.step = motion.point, number(step)
        self.zeros = None               # counted beside the start
        self.tangent = self._first(direction, column)

    def _first(self, direction, column):
        found = self.conditions.directions(self.start, self.columns)
        wanted = np.zeros(len(self.columns))
        for key, value in (direction or {}).items():
            wanted[column(key, 'direction')] = number(value)
        if direction is None and len(found) != 1:
            raise ConstrainedDynamicsError(
                "This steady motion is isolated: no neighbour is steady with "
                "the same constants. Follow it `along` a constant."
                if not len(found) else
                f"The steady motions here have {len(found)} dimensions, or "
                "families cross. Choose one by `direction`, or hold states "
                "by `fixed`.")
        if direction is None:
            wanted = found[0].copy()
            if self.along is not None and wanted[self.along] < 0:
                wanted = -wanted
        return self._on(found, wanted)

    def _on(self, directions, wanted):
        """The unit tangent nearest to a direction, or None."""
        seen = self.seen
        tangent = (directions[:, seen]@wanted[seen])@directions
        length = np.linalg.norm(tangent[seen])
        return tangent/length if length > NOWHERE else None

    def tangent_at(self, point, before):
        return self._on(self.conditions.directions(
            point, self.columns), before)

    def ahead(self, point, tangent, length):
        """The point of the family after a step, or None."""
        _, sizes = self.conditions.scales(point, self.columns)
        trial = point.copy()
        trial[self.columns] += length*sizes*tangent
        new = self.conditions.solved(trial, self.columns, tangent)
        if new is not None:
            aside = ((new - trial)[self.columns]/sizes)[self.seen]
            if np.linalg.norm(aside) <= ASIDE*length:
                return new
        return None                     # no solution, or another family

    def between(self, ends, tangent, s):
        """The point of the family at a part ``s`` between two motions."""
        first, last = (motion.point for motion in ends)
        return self.conditions.solved(
            first + s*(last - first), self.columns, tangent)

    def motion(self, point):
        return SteadyMotion(self.conditions, point, self.zeros)

    # -- the curve -------------------------------------------------------

    def family(self, count):
        point, tangent, step = self.start, self.tangent, self.step
        motions, critical = [self.motion(point)], []
        message = f"It has {count} motions."
        while len(motions) - len(critical) < count:
            found = self._next(point, tangent, step)
            if found is None:
                message = ("The next motion was not found; the family may "
                           "end, or a smaller `step` helps.")
                break
            new, turned, step = found
            new, bound = self._bounded(point, new)
            if self.zeros is None:
                self.zeros = self.motion(new).nullity
                motions[0] = self.motion(point)
            is_closed = len(motions) > 1 and self._is_passed(
                point, new, tangent)
            here = motions[0] if is_closed else self.motion(new)
            is_branch = motions[-1].nullity > self.zeros
            for kind, motion in () if is_branch else self._critical(
                    (motions[-1], here), tangent, turned):
                critical.append(Critical(kind, len(motions), motion))
                motions.append(motion)
            motions.append(here)
            point, tangent = new, turned
            if bound is not None:
                message = f"{bound} reached its bound."
                break
            if is_closed:
                message = "It is closed."
                break
        return Family(tuple(motions), tuple(critical), message)

    def _next(self, point, tangent, step):
        while step > SHORTEST*self.step:
            new = self.ahead(point, tangent, step)
            turned = None if new is None else self.tangent_at(new, tangent)
            if turned is not None:
                cosine = turned@tangent/np.linalg.norm(turned)/np.linalg.norm(
                    tangent)
                if cosine > BEND:
                    longer = LONGER if cosine > STRAIGHT else 1.
                    return new, turned, min(self.step, longer*step)
            step *= SHORTER
        return None

    def _bounded(self, point, new):
        """The point at a bound that was passed, and its name."""
        for place, low, high in self.bounds:
            k = self.columns[place]
            if not low < new[k] < high:
                value = min(max(new[k], low), high)
                _, sizes = self.conditions.scales(new, self.columns)
                row = np.zeros(len(self.columns))
                row[place] = 1.
                end = self.conditions.solved(
                    new, self.columns, row, (value - new[k])/sizes[place])
                return (new if end is None else end), (
                    f'`{label(self.conditions.symbols[k])}`')
        return new, None

    def _is_passed(self, point, new, tangent):
        """Whether the start lies between two neighbours, in its direction."""
        seen, (_, sizes) = self.seen, self.conditions.scales(
            self.start, self.columns)
        chord, way = (((z - point)[self.columns]/sizes)[seen]
                      for z in (new, self.start))
        length, along = np.linalg.norm(chord), way@chord
        return (0 < along <= length**2
                and tangent[seen]@self.tangent[seen] > BEND
                and np.linalg.norm(
                    length**2*way - along*chord) <= ASIDE*length**3)

    # -- critical motions ------------------------------------------------

    def _critical(self, ends, tangent, turned):
        """Kinds and motions between two motions, in order."""
        found = []
        if self.along is not None and (
                tangent[self.along]*turned[self.along] < 0):
            s = brentq(lambda s: self.tangent_at(self.between(
                ends, tangent, s), tangent)[self.along], 0, 1)
            found.append((s, 'fold'))
        folds, low = len(found), 0.
        while (crossing := self._crossing(ends, tangent, low)) is not None:
            s, low, kind = crossing
            found.append((s, kind))
        for s, kind in sorted(found):
            motion = self.motion(self.between(ends, tangent, s))
            if kind == 'zero' and len(self.conditions.directions(
                    motion.point, self.columns)) > 1:
                kind = 'branch'
            if kind != 'zero' or not folds:     # a fold has one, too
                yield kind, motion

    def _crossing(self, motions, tangent, low):
        """First crossing of the imaginary axis, its end and kind, or None."""
        def at(s):
            return motions[int(s)] if s in (0, 1) else self.motion(
                self.between(motions, tangent, s))

        before, first, high = growing(at(low)), low, 1.
        if before == growing(motions[1]):
            return None
        for k in range(LOCATE):
            middle = (low + high)/2
            if growing(at(middle)) == before:
                low = middle
            else:
                high = middle
            if k < SEPARATE:
                continue
            # wider, for growth begins a little beyond zero, and the zero may
            # be at the first motion, but not the zero that was found before
            ends = max(first or -1., 2*low - high), min(1., 2*high - low)
            values = [nearest_axis(at(s)) for s in ends]
            if values[0].real*values[1].real < 0 and all(
                    abs(value.real) > ZERO*abs(value)       # not imaginary
                    for value in values):
                s = brentq(lambda s: nearest_axis(at(s)).real, *ends,
                           xtol=1e-15, rtol=1e-14)
                return s, max(s, high), kind_of(at(low), at(high))
        return high, high, kind_of(at(low), at(high))


def growing(motion):
    return len(motion.growing)


def kind_of(*motions):
    """Kind of a crossing between two motions, by the eigenvalue that grows
    least: others may be imaginary.
    """
    motion = max(motions, key=growing)
    crossing = min(motion.growing, key=lambda value: value.real)
    return 'hopf' if abs(crossing.imag) > NO_ZERO*motion.size else 'zero'


def nearest_axis(motion):
    return min(motion.eigenvalues, key=lambda value: abs(value.real))
