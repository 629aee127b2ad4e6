"""Units of symbols, from the dimensions of what a model says about them.

A body's mass is a mass, the position of its mass centre a length, a load at a
point a force, the argument of a sine an angle; terms of a sum are alike. These
are linear equations for the exponents of kilogram, metre and second in each
symbol.
"""
from itertools import chain, takewhile

from sympy import (
    Abs, Add, Derivative, Function, Heaviside, MatrixBase, Mul, Piecewise,
    Pow, QQ, Symbol, atan2, sign, sympify)
from sympy.core.function import AppliedUndef
from sympy.functions.elementary.miscellaneous import MinMaxBase
from sympy.functions.elementary.trigonometric import TrigonometricFunction
from sympy.physics.mechanics import Point, RigidBody
from sympy.physics.vector import Dyadic, Vector
from sympy.polys.matrices import DomainMatrix

from .. import _compat
from .geometry import breadth_first
from .loops import Loop

BASES = 'kg', 'm', 's'
NEWTON = {'kg': 1, 'm': 1, 's': -2}
JOULE = {'kg': 1, 'm': 2, 's': -2}
TEXTS = {(1, 1, -2): 'N', (1, 2, -2): 'N m', (1, 0, -2): 'N/m',
         (1, 0, -1): 'N s/m', (1, 2, -1): 'N m s', (1, 2, -3): 'W'}
POWERS = {1: '', 2: '²', 3: '³'}
GENERAL = {'t': 's', 'length': 'm', 'energy': 'J', 'work': 'J', 'power': 'W',
           'force': 'N', 'moment': 'N m'}
# Level of rows -> rates from there to velocities, and arguments.
ROWS = {'holonomic': (1, 'configuration_constraints', 'hol_coneqs'),
        'velocity-level': (0, 'velocity_constraints', 'nonhol_coneqs'),
        'acceleration-level': (-1, 'acceleration_constraints')}
# Components of a loop, with units of the row and of its multiplier.
LOOP = (('x', 'm', 'N'), ('y', 'm', 'N'), ('z', 'm', 'N'),
        ('axis 1', '', 'N m'), ('axis 2', '', 'N m'))
LISTS = ('kd_eqs', *chain(*(names for _, *names in ROWS.values())))


def units_of(arguments, known=None):
    """Symbol, name of a row or general name -> text of its SI unit.

    ``arguments`` are those of ``KanesMethod`` or ``LagrangesMethod``. Symbols
    whose unit does not follow are missing. All are missing where terms
    contradict each other. ``known`` maps symbols to exponents of kilogram,
    metre and second.
    """
    dimensions = Dimensions()
    for x, exponents in (known or {}).items():
        dimensions.given(x, dict(zip(BASES, exponents)))
    dimensions.read(arguments)
    # A number in a sum is a pure one, unless that is a contradiction: then it
    # may be, say, a length.
    exponents = dimensions.solved([*dimensions.rows, *dimensions.pure])
    if exponents is None:
        exponents = dimensions.solved(dimensions.rows)
    if exponents is None:
        return {}
    states = {x for name, items in arguments.items() if name[0] in 'qu'
              and isinstance(items, (list, tuple, MatrixBase)) for x in items}
    result = dict(GENERAL)
    for x, dimension in exponents.items():
        moves = x in states or getattr(x, 'expr', None) in states
        result[x] = text(dimension, x in dimensions.angles, moves)
    for q in [x for x in states if x in exponents]:
        kg, m, s = exponents[q]
        result.setdefault(q.diff(), text((kg, m, s - 1), False, True))
    return {**result, **dict(dimensions.rows_of(arguments, exponents))}


def text(dimension, is_angle=False, moves=False):
    """The unit of exponents; of an inverse time rad/s if it ``moves``."""
    if not any(dimension):
        return 'rad' if is_angle else ''
    if moves and dimension in ((0, 0, -1), (0, 0, -2)):
        return 'rad/s' + POWERS[-dimension[2]]
    if dimension in TEXTS:
        return TEXTS[dimension]
    over, under = (' '.join(
        base + POWERS.get(way*k, f'^{way*k}') for base, k in zip(
            BASES, dimension) if way*k > 0) for way in (1, -1))
    if ' ' in under:
        under = f'({under})'
    return (over or '1') + (under and f'/{under}')


class Dimensions:
    """Forms of expressions, ``{symbol or base unit: exponent}``.

    The form of a number is None, because it may stand for anything.
    """

    def __init__(self):
        self.rows, self.pure, self.angles, self._known = [], [], set(), {}

    # -- what a model says -----------------------------------------------

    def read(self, arguments):
        """Collect the equations of a model."""
        self.given(arguments.get('Lagrangian', 0), JOULE)
        loads, places = arguments.get('forcelist') or (), []
        for body in arguments.get('bodies') or ():
            places.append(body.masscenter)
            is_rigid = isinstance(body, RigidBody)
            if is_rigid:
                places.append(body.frame)
            if is_ground(body, arguments.get('frame')):
                continue
            self.given(body.mass, {'kg': 1})
            self.given(body.potential_energy, JOULE)
            if is_rigid:
                self.given(body.central_inertia, {'kg': 1, 'm': 2})
        for place, load in loads:
            places.append(place)
            self.given(load, NEWTON if isinstance(place, Point) else JOULE)
        self.read_places(dict.fromkeys(places))
        for row in chain(*(arguments.get(name) or () for name in LISTS)):
            for part in entries(row):
                self.of(part)

    def read_places(self, places):
        """Collect those of all points and frames connected with some."""
        frames = {x: None for x in places if not isinstance(x, Point)}
        for point, _ in breadth_first(
                [x for x in places if x not in frames], _compat.positions):
            for vector in _compat.positions(point).values():
                self.given(vector, {'m': 1})
                frames.update((frame, None) for _, frame in vector.args)
        for frame, _ in breadth_first([*frames], _compat.orientations):
            for matrix in _compat.orientations(frame).values():
                self.given(matrix, {})
            for velocity in _compat.angular_velocities(frame).values():
                self.given(velocity, {'s': -1})

    def given(self, item, dimension):
        """Say the dimension of an expression, vector, dyadic or matrix."""
        for e in entries(item):
            self.equate(self.of(e), dimension)

    def equate(self, one, other):
        if one is not None and other is not None:
            row = combined((one, 1), (other, -1))
            if row:
                self.rows.append(row)

    # -- expressions -----------------------------------------------------

    def of(self, e):
        if e not in self._known:
            self._known[e] = self._form(e)
        return self._known[e]

    def _form(self, e):
        if e.is_number:
            return None
        if e == _compat.time_symbol():
            return {'s': 1}
        if isinstance(e, (Symbol, AppliedUndef)):
            return {e: 1}
        if isinstance(e, Derivative):
            return combined((self.of(e.expr), 1), *(
                (self.of(x), -n) for x, n in e.variable_count))
        return self._of_operation(e)

    def _of_operation(self, e):
        if isinstance(e, Mul):
            return combined(*((self.of(x), 1) for x in e.args))
        if isinstance(e, Pow) and e.exp.is_Rational:
            return combined((self.of(e.base), QQ(e.exp.p, e.exp.q)))
        if isinstance(e, Piecewise):
            return self._alike([x for x, _ in e.args])
        if isinstance(e, (Add, MinMaxBase, Abs)):
            return self._alike(e.args)
        if isinstance(e, atan2):
            self._alike(e.args)
        elif not isinstance(e, (sign, Heaviside)):
            for x in e.args:
                self.equate(self.of(x), {})
            if isinstance(e, TrigonometricFunction):
                self.angles |= e.atoms(AppliedUndef, Symbol)
        return {} if isinstance(e, (Function, Pow)) else None

    def _alike(self, terms):
        forms = [form for form in map(self.of, terms) if form is not None]
        for form in forms[1:]:
            self.equate(forms[0], form)
        if 0 < len(forms) < len(terms):
            self.pure.append(forms[0])
        return forms[0] if forms else None

    # -- exponents -------------------------------------------------------

    def solved(self, given):
        rows = list({frozenset(x.items()): x for x in given if x}.values())
        symbols = list(dict.fromkeys(
            x for row in rows for x in row if x not in BASES))
        columns = [*symbols, *BASES]
        place = {x: j for j, x in enumerate(columns)}
        matrix, pivots = DomainMatrix({
            i: {place[x]: QQ.convert(k) for x, k in row.items()}
            for i, row in enumerate(rows)}, (len(rows), len(columns)),
            QQ).rref()
        count = len(symbols)
        if any(j >= count for j in pivots):
            return None
        exponents = {}
        for j, row in zip(pivots, matrix.to_Matrix().tolist()):
            if not any(row[j + 1:count]):
                exponents[symbols[j]] = tuple(-k for k in row[count:])
        return exponents

    def rows_of(self, arguments, exponents):
        """Yield names of rows and of their multipliers with units."""
        for kind, (rates, *names) in ROWS.items():
            rows = next((arguments[x] for x in names if arguments.get(x)), ())
            loops = [row for row in rows if isinstance(row, Loop)]
            for name, unit, force in ((f'{loop.label} {part}', *units)
                                      for loop in loops
                                      for part, *units in LOOP):
                yield name, unit
                yield f'multiplier of {name}', force
            # numbers of rows after a loop depend on its rows
            for k, row in enumerate(takewhile(
                    lambda row: not isinstance(row, Loop), rows)):
                dimension = self.value(row, exponents)
                if dimension:
                    kg, m, s = dimension        # the rest of a watt
                    yield f'{kind} row {k}', text(dimension)
                    yield f'multiplier of {kind} row {k}', text(
                        (1 - kg, 2 - m, rates - 3 - s))

    def value(self, e, exponents):
        form = None if isinstance(e, tuple) else self.of(e)
        if form is None or any(x not in exponents and x not in BASES
                               for x in form):
            return None
        unit = {base: tuple(int(base == other) for other in BASES)
                for base in BASES}
        return tuple(sum(k*{**unit, **exponents}[x][i]
                         for x, k in form.items()) for i in range(3))


def is_ground(body, frame):
    """Whether a body is fixed in a frame: no equation has its mass."""
    return getattr(body, 'frame', None) == frame is not None and (
        _compat.velocity(body.masscenter, frame) == 0)


def combined(*forms):
    result = {}
    for form, factor in forms:
        for x, k in (form or {}).items():
            result[x] = result.get(x, 0) + factor*k
    return {x: k for x, k in result.items() if k}


def entries(item):
    if isinstance(item, Vector):
        return [e for numbers, _ in item.args for e in numbers]
    if isinstance(item, Dyadic):
        return [e for e, *_ in item.args]
    if isinstance(item, tuple):         # a point or frame, and a direction
        return []
    return [sympify(e, strict=True) for e in (
        item if isinstance(item, MatrixBase) else [item])]
