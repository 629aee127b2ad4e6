"""Which coordinates lose their velocities to the constraints."""
from functools import cache, cached_property

from ..analysis.constraint_rank import (
    independent_at, independent_columns, warn_of_branches)
from ..errors import ConstraintError
from ..model.call_signatures import arguments_of, as_list
from ..precision import precise

ONE_EACH = 'an embedding eliminates one velocity for each row'


def named_coordinates(method):
    """The dependent coordinates that were given, in one way or another."""
    system = method._system
    if method._named is not None:
        return as_list(method._named, 'q_dependent')
    count = system.graph.outputs['velocity'][0]
    named = list(system.q_dependent)
    if len(named) < count:
        named += [x for x, v in zip(system.q, system.u)
                  if v in system.u_dependent and x not in named]
    return named


def dependent_positions(method, named):
    """Positions of named coordinates in ``q``, one for each row."""
    system = method._system
    count = system.graph.outputs['velocity'][0]
    known = ', '.join(map(str, system.q))
    for k, x in enumerate(named):
        if x not in system.q or x in named[:k]:
            raise ConstraintError(
                f"`q_dependent` contains {x}, which is "
                f"{'there twice' if x in system.q else 'not a coordinate'}. "
                f"Name {count} different ones of {known}.")
    if len(named) != count:
        method._check_independent(ONE_EACH)
        raise ConstraintError(
            f"`q_dependent` has {len(named)} coordinates for {count} "
            "constraint rows. Each row eliminates one velocity: name "
            f"{count} of {known}.")
    return tuple(map(system.q.index, named))


def check_regular(method, dependent):
    """Raise unless the rows determine the dependent velocities."""
    method._check_independent(ONE_EACH)
    columns, system = method._point_columns, method._system
    with precise():
        serves = [{*independent_at(here, dependent)} == {*dependent}
                  for here in columns]
        if all(serves):
            return
        if any(serves):
            warn_of_branches()
            return
        works = [system.q[i] for i in independent_columns(
            columns, dependent)]
    names = ', '.join(str(system.q[i]) for i in dependent)
    raise ConstraintError(
        "Where the constraints hold they do not determine the velocities "
        f"of {names}: that part of the constraint matrix is singular. Choose "
        "others, for example "
        f"q_dependent=[{', '.join(map(str, works))}].",
        q_dependent=tuple(works), reason='singular')


def partitioned(method, q_dependent):
    """Arguments of a model with other dependent coordinates.

    By default those of the method. In Kane's shape they end up last in ``q``.
    """
    shape, arguments = arguments_of(method)
    if q_dependent is None:
        q_dependent = getattr(method, '_named', None)
    if q_dependent is None:
        return arguments
    named = as_list(q_dependent, 'q_dependent')
    if shape == 'kane':
        q, u = ([x for name in names
                 for x in as_list(arguments.get(name), name)]
                for names in (('q_ind', 'q_dependent'),
                              ('u_ind', 'u_dependent')))
        arguments = {**arguments, 'q_ind': [x for x in q if x not in named],
                     'u_ind': u, 'u_dependent': []}
    return {**arguments, 'q_dependent': named}


def sharing_model(cls, method, **attributes):
    """``cls`` for the system of a method, which is not made anew."""
    other = object.__new__(cls)
    shared = {name: getattr(method, name)
              for name in ('_report', '_point_columns')}
    other.__dict__ = {name: value for name, value in vars(method).items()
                      if name not in computed(method)} | shared | attributes
    return other


def computed(method):
    """Names of the cached properties that were read."""
    return cached_names(type(method)).intersection(vars(method))


@cache
def cached_names(cls):
    # One that a class overrides by a property keeps its value, too.
    return {name for base in cls.__mro__
            for name, member in vars(base).items()
            if isinstance(member, cached_property)}
