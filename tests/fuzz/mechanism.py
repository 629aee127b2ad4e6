"""Random mechanisms as plain data.

A :class:`Mechanism` says nothing of SymPy or of equations: it is a tree of
bodies on joints, loads and constraint rows, with rational numbers. ``model``
makes a SymPy model of it, ``newton`` its equations in numbers, and neither
knows of the other.
"""
from dataclasses import dataclass, replace
from fractions import Fraction as F

# Kind of joint -> numbers of its coordinates and speeds. Axes are those of
# the joint's frame: a pin turns about z, a slider moves along x, a universal
# joint turns about x, then y, a ball about x, y, z. The speeds of 'ball body'
# and 'quaternion' are angular velocities in the body, those of 'quaternion
# rates' the rates of four numbers that a row keeps at norm one.
JOINTS = {
    'pin': (1, 1), 'slider': (1, 1), 'cylinder': (2, 2),
    'universal': (2, 2), 'planar': (3, 3), 'ball': (3, 3),
    'ball body': (3, 3), 'quaternion': (4, 3), 'quaternion rates': (4, 4),
    'free': (3, 3), 'weld': (0, 0), 'driven': (0, 0)}
LIKELY = ['pin']*6 + ['slider']*3 + ['universal', 'weld', *JOINTS]
SPEEDS_OF_THEIR_OWN = {'ball body', 'quaternion'}
MOST = 6                        # speeds of a tree


@dataclass(frozen=True)
class Body:
    """A body on a joint with the body ``parent``, -1 for the ground.

    The joint's frame is turned against the parent by the quaternion ``turn``
    and stands at ``place`` in it; the mass centre is at ``centre`` in the
    body. ``inertia`` are the central moments and products xx, yy, zz, xy, yz,
    zx; None makes a particle.
    """

    parent: int
    joint: str
    place: tuple = (0, 0, 0)
    turn: tuple = (1, 0, 0, 0)
    centre: tuple = (0, 0, 0)
    mass: F = F(1)
    inertia: tuple | None = None


@dataclass(frozen=True)
class Load:
    """``size`` times a vector, a force at a place of a body, or a torque.

    ``kind`` 'constant'; 'spring', 'damper': times minus a coordinate or its
    rate, that of number ``index``; 'time': times the sine of time. The
    vector is fixed in the body if ``follows``, else in the ground.
    """

    body: int
    kind: str
    vector: tuple
    size: F = F(1)
    torque: bool = False
    place: tuple = (0, 0, 0)
    follows: bool = False
    index: int = 0


@dataclass(frozen=True)
class Row:
    """A constraint row; what its fields mean depends on its ``kind``.

    ``d`` is a number chosen such that a state satisfies the row.

    ==============  =====================================================
    'coincide'      vector . (place of body - place of other) = d
    'distance'      |place of body - place of other|^2/2 = d
    'gear'          q_i + ratio q_j = d
    'drive'         q_i = ratio sin t + d
    'knife'         e . v(place) = 0 with e fixed in the body
    'slide'         e . v(place) = ratio sin t
    'speed'         |v(place)|^2 = d
    'roll'          v + w x (-r n) = 0 along vector: a sphere on a plane
    'disc'          the same for a disc with the axis z of the body
    'rate'          q_i' + ratio q_j' = d q_i
    'norm'          of the quaternion of a body
    'copy'          a combination of the rows ``of``
    'contradiction' the same, and time
    ==============  =====================================================
    """

    kind: str
    body: int = -1
    other: int = -1
    place: tuple = (0, 0, 0)
    other_place: tuple = (0, 0, 0)
    vector: tuple = (1, 0, 0)
    ratio: F = F(1)
    i: int = 0
    j: int = 0
    of: tuple = ()


HOLONOMIC = {'coincide', 'distance', 'gear', 'drive', 'norm'}


@dataclass(frozen=True)
class Mechanism:
    """Bodies, loads and rows, holonomic ones first.

    ``gravity`` is an acceleration; the ground is shaken along y by
    ``shaking`` times the cosine of time; ``mixing`` is a list of ``(i, j,
    sign)``: starting from ``q' = u``, line i of the kinematics takes up line
    j.
    """

    bodies: tuple
    loads: tuple = ()
    rows: tuple = ()
    gravity: F = F(981, 100)
    shaking: F = F(0)
    mixing: tuple = ()
    state: int = 0

    @property
    def counts(self):
        """Numbers of coordinates and of speeds."""
        return tuple(sum(JOINTS[body.joint][k] for body in self.bodies)
                     for k in (0, 1))

    def first(self, index):
        """Numbers of the first coordinate and speed of a body."""
        return tuple(sum(JOINTS[body.joint][k]
                         for body in self.bodies[:index]) for k in (0, 1))


# -- drawing --------------------------------------------------------------

class Draw:
    """Random choices from anything like ``random.Random``."""

    def __init__(self, random):
        self.random = random

    def chance(self, part):
        return self.random.random() < part

    def choice(self, values):
        return values[self.random.randrange(len(values))]

    def fraction(self, low=-6, high=6):
        number = self.random.randint(low, high)
        return F(number or 1, self.choice([1, 2, 3, 5]))

    def vector(self, zeros=0.3):
        return tuple(F(0) if self.chance(zeros) else self.fraction(-4, 4)/2
                     for _ in range(3))

    def direction(self):
        return self.choice([(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, -2)])


def mechanism(random):
    """A random mechanism."""
    draw = Draw(random)
    bodies, pivoted = [], draw.chance(0.3)
    while len(bodies) < draw.choice([1, 2, 2, 3, 3, 4]):
        body = draw_body(draw, len(bodies))
        if pivoted:                     # gimbals: all centres may coincide
            body = replace(body, place=(F(0),)*3, centre=draw.choice(
                [(F(0),)*3, (F(0),)*3, body.centre]))
        used = sum(JOINTS[b.joint][1] for b in (*bodies, body))
        if used > MOST:
            break
        bodies.append(body)
    found = Mechanism(
        tuple(bodies), gravity=draw.choice([F(981, 100), F(0)]),
        shaking=F(1, 3) if draw.chance(0.15) else F(0),
        state=random.randrange(2**32))
    n, o = found.counts
    if not o:
        return replace(found, bodies=(replace(bodies[0], joint='pin'),))
    own = any(b.joint in SPEEDS_OF_THEIR_OWN for b in bodies)
    if not own and o > 1 and draw.chance(0.2):
        pairs = [draw.choice([(i, j) for i in range(o) for j in range(o)
                              if i != j]) for _ in range(2)]
        found = replace(found, mixing=tuple(
            (i, j, draw.choice([-1, 1])) for i, j in pairs))
    return replace(found, loads=tuple(
        draw_load(draw, found) for _ in range(draw.choice([0, 1, 1, 2]))),
        rows=draw_rows(draw, found))


def draw_body(draw, count):
    """A body of a tree that has ``count`` bodies."""
    joint = draw.choice(LIKELY)
    mass, inertia = abs(draw.fraction()), None
    if not draw.chance(0.3):
        a, b, c = (abs(draw.fraction()) + 1 for _ in range(3))
        products = (F(0),)*3 if draw.chance(0.6) else tuple(
            draw.fraction(-1, 1)/4 for _ in range(3))
        # moments that a body can have, also a thin one's
        inertia = (b + c, c + a, a + b, *products)
    if draw.chance(0.04):
        mass, inertia = F(0), inertia if draw.chance(0.5) else None
    return Body(
        draw.random.randrange(-1, count), joint, draw.vector(),
        draw.choice([(1, 0, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0), (1, 0, 1, 0),
                     (2, 1, 0, 1), (1, 2, 2, 0)]),
        draw.vector(), mass, inertia)


def draw_load(draw, found):
    n, _ = found.counts
    return Load(
        draw.random.randrange(len(found.bodies)),
        draw.choice(['constant', 'spring', 'damper', 'time']),
        draw.direction(), draw.fraction(), draw.chance(0.4), draw.vector(),
        draw.chance(0.4), draw.random.randrange(n))


def draw_rows(draw, found):
    n, o = found.counts
    norms = [Row('norm', k) for k, body in enumerate(found.bodies)
             if body.joint == 'quaternion rates']
    rows = [*norms, *(draw_row(draw, found)
                      for _ in range(draw.choice([0, 1, 1, 2, 2, 3])))]
    rows = [row for part in rows for row in (
        part if isinstance(part, list) else [part])]
    rows.sort(key=lambda row: row.kind not in HOLONOMIC)
    held = sum(row.kind in HOLONOMIC for row in rows)
    first, second = rows[:held], rows[held:]
    if draw.chance(0.2) and rows:
        group = first if first and draw.chance(0.6) else second or first
        of = tuple((k + (held if group is second else 0),
                    draw.choice([-2, -1, 1, 3])) for k in range(len(group))
                   if draw.chance(0.7)) or (
                       (held if group is second else 0, 2),)
        kind = 'contradiction' if draw.chance(0.1) else 'copy'
        group.append(Row(kind, of=of))
        if group is first:          # later rows are one further on
            second = [replace(row, of=tuple((k + 1, c) for k, c in row.of))
                      for row in second]
    return (*first, *second)


def draw_row(draw, found):
    n, o = found.counts
    count = len(found.bodies)
    kind = draw.choice(['coincide']*3 + ['loop', 'distance', 'gear', 'drive',
                                         'knife', 'knife', 'slide', 'speed',
                                         'roll', 'disc', 'rate'])
    row = Row(kind, draw.random.randrange(count),
              draw.random.randrange(-1, count), draw.vector(), draw.vector(),
              draw.direction(), abs(draw.fraction()),
              draw.random.randrange(n), draw.random.randrange(n))
    if kind in ('gear', 'rate') and row.i == row.j:
        row = replace(row, kind='drive' if kind == 'gear' else 'knife')
    if kind in ('coincide', 'loop', 'distance') and row.body == row.other:
        row = replace(row, other=-1)
    if kind in ('loop', 'roll', 'disc'):
        kind = 'coincide' if kind == 'loop' else kind
        return [replace(row, kind=kind, vector=axis)
                for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    return row


def without_void_rows(found, void):
    """Without the rows that restrict nothing, as far as others allow."""
    rows = found.rows
    for k in sorted(void, reverse=True):
        rest = without(rows, k)
        rows = rows if rest is None else rest
    return replace(found, rows=rows)


def without(parts, k):
    """The parts without number k; None if others refer to it."""
    rest = []
    for i, part in enumerate(parts):
        of = getattr(part, 'of', ())
        if i == k:
            continue
        if any(number == k for number, _ in of):
            return None
        rest.append(replace(part, of=tuple(
            (number - (number > k), c) for number, c in of)) if of else part)
    return tuple(rest)
