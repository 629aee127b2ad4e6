"""Names, units and colours of a picture."""
import re
from dataclasses import replace
from itertools import permutations

from sympy import Symbol, latex

from .._compat import positions
from ..errors import check_kind
from ..model.call_signatures import arguments_of
from ..model.geometry import breadth_first
from ..model.units import units_of
from ..numeric.names import label
from ..numeric.trajectory import Trajectory


# Okabe and Ito's colours, which colour-blind readers can tell apart; black is
# for the ground, and yellow is too light for lines.
COLORS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9')
ACCENTS = ('', r'\dot', r'\ddot', r'\dddot')


def checked_view(view):
    if view not in (None, '3d', *map(''.join, permutations('xyz', 2))):
        raise ValueError(
            f"`view` is {view!r}. Pass '3d', or the axes to the right and "
            "upwards, such as 'xz'.")
    return view


def tex(item):
    """A symbol, its derivative or the name of one in mathematical type."""
    name = label(item)
    base = name.rstrip("'")
    count = len(name) - len(base)
    if not base.isidentifier() or count >= len(ACCENTS):
        return name
    if re.fullmatch(r'lam\d*', base):
        base = base.replace('lam', 'lambda')
    head, under, sub = latex(Symbol(base)).partition('_')
    if len(head) > 2 and '\\' not in head:          # a word
        head = rf'\mathrm{{{head}}}'
    if count:
        head = f'{ACCENTS[count]}{{{head}}}'
    return f'${head}{under}{sub}$'


def visible(text):
    """The number of letters that a text in mathematical type shows."""
    return len(re.sub(r'\\(mathrm|d*dot)|[{}$_^]', '', re.sub(
        r'\\[A-Za-z]{3,}(?=[}_$ ])', 'x', text)))


def unit_of(trajectory, key):
    """Text of the unit of a quantity, or an empty one.

    ``trajectory.units`` maps states, constants, ``'t'``, ``'energy'``,
    ``'power'``, ``'force'``, ``'moment'`` and ``'length'`` to texts.
    """
    units = getattr(trajectory, 'units', None) or {}
    return {label(name): text for name, text in units.items()}.get(
        label(key), '')


def in_unit(name, unit):
    return f'{name} in {unit}' if unit else name


def check_trajectory(trajectory):
    check_kind(
        'trajectory', trajectory, Trajectory, "Pass the result of `simulate`, "
        "or the attribute `motion` or `trajectory` of other results.")


def with_units(trajectory, model):
    """The trajectory with the units of a model, unless it has some."""
    check_trajectory(trajectory)
    if trajectory.units or model is None:
        return trajectory
    units = getattr(model, 'units', None)
    if units is None:
        units = units_of(arguments_of(model)[1])
    return replace(trajectory, units=units)


def rows_of(trajectory):
    """The names of the constraints, one for each multiplier, or none."""
    names = [name for name in trajectory.residual_names
             if not name.startswith('rate of ')]
    count = trajectory.multipliers.shape[1]
    return names if len(names) == count else [''] * count


def paths_of(system):
    """Pairs of coordinates that locate a point in a plane."""
    found, centres = {}, [body.masscenter for body in system.bodies]
    for point, _ in breadth_first(centres, positions):
        for vector in positions(point).values():
            for numbers, _ in vector.args:
                bare = [x for x in numbers if x in system.q]
                if len(bare) == 2:
                    found[tuple(bare)] = None
    return list(found)
