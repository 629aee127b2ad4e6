"""The answer of :func:`.classify_constraints` as values, and as a text."""
from dataclasses import dataclass
from typing import Any

# Kind -> text, and the separator before the names of other rows.
KINDS = {
    'holonomic': ('holonomic, as given', ''),
    'follows': ('follows from', ' '),
    'exact': ('integrable, the rate of a function', ', with '),
    'integrable': ('integrable with a factor', ', together with '),
    'integrable together': ('integrable together with', ' '),
    'nonholonomic': ('nonholonomic', ', with '),
    'undecided': ('undecided', ''),
    'defines a speed': ('defines a speed that is no rate of a coordinate',
                        ''),
    'nonlinear': ('not linear in the velocities', ''),
    'acceleration level': ('at acceleration level', ''),
    'higher order': ('of a higher order', '')}
INTEGRABLE = {'holonomic', 'follows', 'exact', 'integrable',
              'integrable together'}


@dataclass(frozen=True)
class RowClass:
    """The class of one constraint row.

    ``name`` and the number ``row`` are those in ``constraint_names`` of the
    system. ``kind`` is ``'holonomic'`` (given as such), ``'follows'`` (from
    holonomic rows), ``'exact'`` (the rate of a function), ``'integrable'`` (if
    multiplied by a factor), ``'integrable together'`` (with the rows
    ``others``), ``'nonholonomic'``, ``'undecided'``, ``'defines a speed'``,
    ``'nonlinear'``, ``'acceleration level'`` or ``'higher order'``.
    ``evidence`` is the basis of the verdict: a proof or random points.

    ``integral`` is the function of coordinates and time that the row keeps
    constant, and its rate is the row times the ``factor``; None if unknown.
    ``others`` are the rows on which the kind depends.
    """

    name: str
    row: int
    kind: str
    evidence: str = ''
    integral: Any = None
    factor: Any = None
    others: tuple = ()
    remark: str = ''

    @property
    def is_integrable(self):
        """Whether the row restricts configurations; None if undecided."""
        if self.kind in INTEGRABLE:
            return True
        return False if self.kind == 'nonholonomic' else None


@dataclass(frozen=True)
class Combination:
    """A combination of velocity rows that can be integrated.

    ``factors`` maps a row to its factor, None if that is long. The combination
    times ``factor`` is the rate of ``integral``, if these were found.
    """

    factors: dict
    integral: Any = None
    factor: Any = None


@dataclass(frozen=True)
class ConstraintClassification:
    """The classes of all constraint rows; ``print`` it for a text.

    Attributes
    ==========

    rows : tuple of RowClass
        All rows in the order of ``constraint_names``.
    is_integrable : bool or None
        Whether all velocity rows together can be integrated, on the
        configurations that satisfy the holonomic rows, in the space of
        coordinates and time. Only rows that are linear in the velocities
        count; None if these are integrable and other rows exist.
    at_fixed_time : bool or None
        The same for virtual displacements, at fixed time.
    derived_flag : tuple of int
        Numbers of independent forms of the derived systems, all rows first,
        until they stay the same.
    growth_vector : tuple of int
        Dimensions spanned by the admissible directions, by them and their
        brackets, and so on. Time counts as one if ``with_time``.
    with_time : bool
        Whether a row depends on time or is not homogeneous in the velocities.
    integrals_given, integrals_hidden : int
        Numbers of independent functions that are constant: those given by
        the holonomic rows and the kinematic equations, and those hidden in
        the velocity rows; None if the brackets were too many.
    combinations : tuple of Combination
        As many integrable combinations of velocity rows as hidden integrals.
    evidence : str
        The basis of ``is_integrable``.
    growth_there : tuple of int or None
        The growth vector at the state ``at``.
    state : dict or None
        That state, moved onto the constraints.
    complete : bool
        Whether all necessary brackets were taken, and the rows keep their
        rank at the state.
    advice : tuple of str
    points : tuple of dict
        The values at which ranks were decided.
    dimension : int
        Number of coordinates.

    """

    rows: tuple
    is_integrable: bool | None
    at_fixed_time: bool | None
    derived_flag: tuple
    growth_vector: tuple
    with_time: bool
    integrals_given: int
    integrals_hidden: int | None
    combinations: tuple
    evidence: str
    growth_there: tuple | None
    state: dict | None
    complete: bool
    advice: tuple
    points: tuple
    dimension: int

    @property
    def integrals(self):
        """The hidden integrals that were found."""
        return tuple(c.integral for c in self.combinations
                     if c.integral is not None)

    @property
    def wrong_slot(self):
        """Sentences about rows that could be given as holonomic ones."""
        rows = [row for row in self.rows
                if row.kind in ('exact', 'integrable')]
        if not rows:
            return ''
        known = all(row.integral is not None for row in rows)
        integral = ', '.join(
            f'{row.integral} - c' for row in rows) if known else 'the integral'
        return (
            f"{', '.join(row.name for row in rows)}: holonomic, but given "
            "for velocities. The equations of motion are right, but the "
            "start sets the value of the integral, and a simulation "
            f"corrects velocities only, so that it drifts. Give {integral} "
            "with the holonomic constraints, or leave it if that is meant.")

    def __str__(self):
        width = max((len(row.name) for row in self.rows), default=0)
        texts = (self.wrong_slot, *self.advice)
        return '\n'.join((
            f'{len(self.rows)} constraint rows on {self.dimension} '
            'coordinates',
            *(f'  {row.name:{width}}  {text_of_row(self, row)}'
              for row in self.rows),
            *lines_on_all_rows(self), *lines_on_integrals(self),
            *lines_on_growth(self), *(f'* {text}' for text in texts if text)))


def text_of_row(result, row):
    text, before = KINDS[row.kind]
    names = ', '.join(other.name for other in result.rows
                      if other.row in row.others)
    if row.kind == 'follows':
        names = names or 'the kinematic equations'
    integral = None if row.kind == 'holonomic' else row.integral
    evidence = '' if row.evidence == 'given' else row.evidence
    return text + ''.join(form.format(x) for form, x in (
        (before + '{}', names), (': {} = const', integral),
        (', factor {}', row.factor), (', {}', row.remark),
        (' [{}]', evidence)) if x not in (None, ''))


def space_of(result):
    return 'coordinates and time' if result.with_time else 'coordinates'


def lines_on_all_rows(result):
    if result.is_integrable is None:
        return
    yield (f'all rows together: {"" if result.is_integrable else "not "}'
           f'integrable in {space_of(result)} [{result.evidence}]')
    if result.with_time and result.at_fixed_time != result.is_integrable:
        yield ('  with time held fixed they are '
               f'{"" if result.at_fixed_time else "not "}integrable')


def lines_on_integrals(result):
    hidden = result.integrals_hidden
    yield (f'integrals: {result.integrals_given} given, '
           f'{"?" if hidden is None else hidden} hidden in velocity rows')
    for c in result.combinations:
        if len(c.factors) > 1 and c.integral is not None:
            yield f'  {c.integral} = const'


def lines_on_growth(result):
    there, usual = result.growth_there, result.growth_vector
    yield (f'derived flag {result.derived_flag}, growth vector {usual} in '
           f'the space of {space_of(result)}'
           + ('' if result.complete else ', not followed to the end'))
    if there is not None:
        remark = '' if there == usual else ': a singular point'
        if there[0] > usual[0]:
            remark = ': the rows lose rank there'
        yield f'growth vector at the state {there}{remark}'
