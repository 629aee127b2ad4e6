r"""What the velocity constraints are: integrable, only together, or not.

The rows that are linear in the velocities are a Pfaffian system on the space
of :math:`(t, q)`. Its derived flag and the brackets of the directions that it
leaves decide how many combinations of rows can be integrated (Frobenius,
Cartan); the integrals are looked for.
"""
from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from mpmath import mp
from sympy import Float, Rational, sympify

from ...graph import Graph, gradient, without
from ...graph.linalg import solve
from ...model.build import build_system
from ...model.call_signatures import arguments_of, bind_arguments
from ...model.system import ConstrainedSystem
from ...precision import precise
from ..consistent_points import norm, orthonormal_rows, project_out
from ..zero_tests import proved
from .first_integrals import (
    exact_integral, integral_with_factor, vanishes, written)
from .pfaffian import (
    DIGITS, INEXACT, Distribution, Form, VelocityForms, generic_points,
    independent)

__all__ = ['RowClass', 'ConstraintClassification', 'classify_constraints']

POINTS = 3
# Alternative columns that are tried for integrals of several rows.
MOST_CHOICES = 12
# Number of rows up to which the smallest set of companions is looked for.
MOST_COMPANIONS = 8

SHOWN = 'shown at a random point'
# Kind -> text, and what stands before the names of the other rows.
KINDS = {
    'holonomic': ('holonomic, as given', ''),
    'follows': ('follows from', ''),
    'exact': ('integrable, the rate of a function', ', with '),
    'integrable': ('integrable with a factor', ', together with '),
    'integrable together': ('integrable together with', ''),
    'nonholonomic': ('nonholonomic', ', with '),
    'undecided': ('undecided', ''),
    'defines a speed': ('defines a speed that is no rate of a coordinate',
                        ''),
    'nonlinear': ('not linear in the velocities', ''),
    'acceleration level': ('at acceleration level', ''),
    'higher order': ('of a higher order', '')}


@dataclass(frozen=True)
class RowClass:
    """What one constraint row is.

    Attributes
    ==========

    name : str
        As in ``constraint_names`` of the system.
    row : int
    kind : str
        ``'holonomic'`` (given as such), ``'follows'`` (from holonomic rows),
        ``'exact'`` (the rate of a function), ``'integrable'`` (if multiplied
        by a factor), ``'integrable together'`` (with the rows ``others``),
        ``'nonholonomic'``, ``'undecided'``, ``'defines a speed'``,
        ``'nonlinear'``, ``'acceleration level'`` or ``'higher order'``.
    evidence : str
        What the kind rests on.
    integral : Expr or None
        Function of coordinates and time that the row keeps constant.
    factor : Expr or None
        The row times the factor is the rate of the integral.
    others : tuple of int
        Rows without which the kind would be another one.
    remark : str

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
        if self.kind in ('holonomic', 'follows', 'exact', 'integrable',
                         'integrable together'):
            return True
        return False if self.kind == 'nonholonomic' else None


@dataclass(frozen=True)
class Combination:
    """A combination of velocity rows that can be integrated.

    Attributes
    ==========

    factors : dict
        Row -> what it is multiplied by, None if that is long.
    integral : Expr or None
    factor : Expr or None
        The combination times the factor is the rate of the integral.

    """

    factors: dict
    integral: Any = None
    factor: Any = None


@dataclass(frozen=True)
class ConstraintClassification:
    """What the constraints are; ``print`` it for a text.

    Attributes
    ==========

    rows : tuple of RowClass
        All rows in the order of ``constraint_names``.
    is_integrable : bool or None
        Whether all velocity rows together can be integrated: on the
        configurations that the holonomic rows leave, in the space of
        coordinates and time. Of the rows that are linear in the velocities;
        None if these are integrable and there are others.
    at_fixed_time : bool or None
        The same question for virtual displacements, time held fixed.
    derived_flag : tuple of int
        Numbers of independent forms of the derived systems, all rows first,
        until they stay the same.
    growth_vector : tuple of int
        Dimensions spanned by the admissible directions, by them and their
        brackets, and so on. Time counts as one if ``with_time``.
    with_time : bool
        Whether time takes part: in a row, or by a row that is not
        homogeneous in the velocities.
    integrals_given, integrals_hidden : int
        Numbers of independent functions that are constant: those that the
        holonomic rows and the kinematic equations tell, and those that the
        velocity rows hide; None if there were too many brackets to tell.
    combinations : tuple of Combination
        As many integrable combinations of velocity rows as there are hidden
        integrals.
    evidence : str
        What ``is_integrable`` rests on.
    growth_there : tuple of int or None
        The growth vector at the state ``at``.
    state : dict or None
        That state, moved onto the constraints.
    complete : bool
        Whether all brackets that count were taken, and the rows do not lose
        rank at the state.
    advice : tuple of str
        What the user may want to do about it.
    points : tuple of dict
        The values at which ranks were decided.
    dimension : int
        Of the space of configurations, before constraints.

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
    def degree_of_nonholonomy(self):
        """Length of the growth vector; 1 if all can be integrated."""
        return len(self.growth_vector)

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
            "for velocities. The equations of motion are right; the value of "
            "the integral however is set by the start, and a simulation "
            f"corrects velocities only, so that it drifts. Give {integral} "
            "with the holonomic constraints, or leave it if that is meant.")

    def __str__(self):
        return '\n'.join(text_of(self))


def classify_constraints(model, sample=None, at=None, integrals=True):
    """Classify the constraint rows of a model.

    Explanation
    ===========

    The question is answered for all velocity rows together, on the
    configurations that the holonomic rows leave, with time as one more
    coordinate: is there a function of coordinates and time that every
    admissible motion keeps constant? Ranks are decided at random points that
    satisfy the constraints, at 60 digits; ``evidence`` says so, and says
    where there is a proof.

    Examples
    ========

    A knife edge can be anywhere, a wheel on a straight line cannot:

    >>> from sympy import cos, sin, symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import (
    ...     UdwadiaKalabaMethod, classify_constraints)
    >>> x, y, q, s, w = dynamicsymbols('x y theta s phi')
    >>> R = symbols('R')
    >>> edge = classify_constraints(UdwadiaKalabaMethod(
    ...     x.diff()**2 + y.diff()**2 + q.diff()**2, [x, y, q],
    ...     nonhol_coneqs=[x.diff()*sin(q) - y.diff()*cos(q)]))
    >>> edge.is_integrable, edge.growth_vector, edge.derived_flag
    (False, (2, 3), (1, 0))

    Parameters
    ==========

    model : Model, method, ConstrainedSystem, or a model of SymPy
    sample : dict, optional
        Values of symbols; see :func:`.admissible_values`. Needed if the
        constraints hold, or can be integrated, for special dimensions only;
        the answer is then about these. Of a ready model its parameters.
    at : dict, optional
        A state, complete or not, where the growth vector is looked at too:
        at singular points it is another one than at random points.
    integrals : bool
        Whether integrals are looked for.

    Returns
    =======

    ConstraintClassification

    Warns
    =====

    UserWarning
        If a velocity row can be integrated by itself, so that it could be
        given as a holonomic constraint.

    """
    system, sample = system_of(model, sample)
    found = Classifier(system, sample, integrals).classification(at)
    if found.wrong_slot:
        warnings.warn(found.wrong_slot, stacklevel=2)
    return found


def system_of(model, sample):
    """The system of anything that is a model, and the sample."""
    if isinstance(model, ConstrainedSystem):
        return model, sample
    if isinstance(getattr(model, 'system', None), ConstrainedSystem):
        return model.system, sample
    ready = hasattr(model, 'parameters')
    arguments = {**model.arguments, 'acceleration_constraints': (
        model.extra.get('acceleration_constraints'))} if ready else (
            arguments_of(model)[1])
    shape, arguments = bind_arguments('classify_constraints', (), arguments)
    options = {'potential_energy': 'ignore'} if shape == 'kane' else {}
    system = build_system(shape, arguments, **options)
    if ready and sample is None:
        known = {*system.graph.inputs, *system.q, *system.u, system.t}
        sample = {x: Rational(str(value))
                  for x, value in model.parameters.items() if x in known}
    return system, sample


class Classifier:
    """Works out one classification."""

    def __init__(self, system, sample, integrals=True):
        self.system, self.sample = system, sample
        self.integrals = integrals
        self.points, self.small = generic_points(system, sample, POINTS)
        self.space = VelocityForms(system, self.points, self.small)
        space = self.space
        base = [*space.holonomic, *space.kinematic]
        self.base = [base[k] for k in space.independent(base)]
        rows = self.base + space.velocity
        self.forms = [rows[k] for k in space.independent(rows)]
        self.at_points = (f'at {POINTS} random points, to '
                          f'{mp.nstr(self.small, 1)}')

    def classification(self, at):
        """Everything, as a value."""
        space, count = self.space, len(self.forms)
        self._find_flags()
        rows = self._rows()
        hidden = self._rank([Form('', None, refs) for refs, _ in self.last])
        self.hidden = hidden - len(self.base)
        given = len(self.last) - self.hidden
        if not self.complete:
            self.hidden = 0
        pairs = self._combinations(rows)
        there, state, complete = self._growth_at(at)
        first = len(space.x) - count - (not space.has_time)
        if self.whole and (space.nonlinear or system_has_more(self.system)):
            self.whole = self.frozen = None
        return ConstraintClassification(
            rows, self.whole, self.frozen,
            tuple(count - r for r in self.derived),
            tuple(first + r for r in self.growth), space.has_time,
            given, self.hidden if self.complete else None, pairs,
            self.evidence, there, state, self.complete and complete,
            tuple(self._advice(rows, pairs)), tuple(self.points),
            len(space.x) - 1)

    def _rank(self, forms):
        """Rank of forms together with those given."""
        return len(self.space.independent(self.base + list(forms)))

    # -- all rows together -----------------------------------------------

    def _find_flags(self):
        space = self.space
        self.complete, self.added = True, []
        self.growth = self.derived = [0]
        self.whole = self.frozen = True
        self.evidence = 'proved'
        if all(form in space.holonomic for form in self.forms):
            self.distribution = None    # gradients are closed
            self.last = [(f.refs, tuple(int(f is other)
                                        for other in self.forms))
                         for f in self.forms]
            return
        self.distribution = d = Distribution(space, self.forms)
        self.growth, self.added, complete = d.flag()
        self.derived, _, also = d.flag(derived=True)
        self.complete = complete and also
        self.whole = not self.added
        self.frozen = d.is_involutive(fixed_time=True)
        if self.whole:
            self.evidence = self._proof(
                [x for v in d.curvature.values() for x in v])
        else:
            self.evidence = SHOWN
        self.last = d.annihilators(self.added)

    def _proof(self, refs):
        """What it rests on that references vanish at the points."""
        refs = [x for x in refs if x]
        if not refs:
            return 'proved'
        graph = Graph.freeze(self.space.builder, {'x': ([refs], len(refs))})
        levels = ('holonomic',)
        if any(proved(self.system, graph, 'x', levels[:k])
               for k in range(2)):
            return 'proved'
        return self.at_points

    # -- row by row ------------------------------------------------------

    def _rows(self):
        """A :class:`RowClass` for each row."""
        system, space = self.system, self.space
        found = {}
        for form in space.holonomic:
            found[form.row] = RowClass(
                form.name, form.row, 'holonomic', 'given',
                system.holonomic_rows[form.row])
        for form in space.velocity:
            found[form.row] = self._row(form)
        names = system.constraint_names
        for k in space.speeds_only:
            found[k] = RowClass(
                names[k], k, 'defines a speed', self.at_points,
                remark='says nothing about the coordinates')
        for k, ref in space.nonlinear.items():
            found[k] = RowClass(
                names[k], k, 'nonlinear', 'proved',
                remark=nonlinear_remark(space, ref))
        for k in range(len(found), len(names)):
            found[k] = RowClass(names[k], k, 'acceleration level', 'given')
        for k, _ in enumerate(system.higher_rows):
            number = len(names) + k
            found[number] = RowClass(
                f'higher row {k}', number, 'higher order', 'given')
        return tuple(found[k] for k in sorted(found))

    def _row(self, form):
        """What a velocity row is."""
        space = self.space
        if self._rank([form]) == len(self.base):
            return RowClass(form.name, form.row, 'follows', self.at_points,
                            others=self._followed(form))
        curl = space.curl(form)
        entries = [x for row in curl for x in row]
        if not any(entries) or vanishes(space, entries):
            integral = exact_integral(
                space, form.refs) if self.integrals else None
            return RowClass(
                form.name, form.row, 'exact',
                'proved' if not any(entries) else self._proof(entries),
                integral, others=form.used)
        if self._is_integrable(form):
            return self._with_factor(form, curl)
        if self.distribution is None or self._annihilates(form):
            if not self.complete:
                return RowClass(form.name, form.row, 'undecided',
                                'too many brackets')
            return RowClass(
                form.name, form.row, 'integrable together', self.at_points,
                others=self._companions(form))
        return RowClass(form.name, form.row, 'nonholonomic', SHOWN,
                        others=form.used)

    def _is_integrable(self, form):
        """Whether it is, by itself or with what is given.

        Gradients are closed, but relations of the kinematic equations may
        themselves not be integrable.
        """
        space = self.space
        return space.is_involutive([*space.holonomic, form], [form]) or (
            space.is_involutive([*self.base, form]))

    @precise(DIGITS)
    def _followed(self, form):
        """Holonomic rows from which a row follows."""
        bases = self.space.at_points([f.refs for f in self.base])
        here = self.space.at_points([form.refs])
        rows = set()
        for matrix, (row,) in zip(bases, here):
            basis, extended = orthonormal_rows(matrix, mp.sqrt(self.small))
            _, left = project_out(row, basis)
            for i in reversed(range(len(extended))):
                number, used = extended[i]
                c = left[i]/used[-1]
                left = [x - c*y for x, y in zip(left, used)]
                if abs(c) > mp.sqrt(self.small):
                    rows.add(self.base[number].row)
        return tuple(sorted(k for k in rows if k is not None))

    def _with_factor(self, form, curl):
        space, g = self.space, self.space.builder
        refs, size = form.refs, len(space.x)
        wedge = [g.sum((g.mul(refs[i], curl[j][k]), g.mul(
            refs[j], curl[k][i]), g.mul(refs[k], curl[i][j])))
            for i, j, k in combinations(range(size), 3)]
        found, by_itself = None, vanishes(space, wedge)
        if by_itself and self.integrals:
            found = integral_with_factor(space, refs, curl)
        elif self.integrals:
            found = None, self._integral_there(form)
        factor, integral = found or (None, None)
        base = tuple(f.row for f in self.base if f.row is not None)
        return RowClass(
            form.name, form.row, 'integrable',
            self._proof(wedge) if by_itself else self.at_points, integral,
            factor, form.used + (() if by_itself else base))

    def _integral_there(self, form):
        """Integral of a row with the help of the holonomic rows, or None."""
        forms = [*self.base, form]
        d = Distribution(self.space, forms)
        for refs, factors in d.annihilators([]):
            if factors[-1]:
                _, found = self._combination(refs, factors, forms)
                if found.integral is not None:
                    return found.integral
        return None

    def _annihilates(self, form):
        """Whether a form is in the last derived system."""
        last = [Form('', None, refs) for refs, _ in self.last]
        return len(self.space.independent([*last, form])) == len(last)

    def _companions(self, form):
        """The smallest set of rows with which a row can be integrated."""
        rest = [f for f in self.forms if f not in self.base and f != form]
        if len(rest) <= MOST_COMPANIONS:
            for count in range(1, len(rest) + 1):
                for some in combinations(rest, count):
                    if self.space.is_involutive([*self.base, form, *some]):
                        return tuple(f.row for f in some)
        return tuple(f.row for f in rest)

    # -- integrals -------------------------------------------------------

    def _combinations(self, rows):
        """As many integrable combinations as there are hidden integrals."""
        found, forms = [], []
        for form, combination in self._candidates(rows):
            if self._rank([*forms, form]) > len(self.base) + len(forms):
                forms.append(form)
                found.append(combination)
            if len(found) == self.hidden:
                break
        return tuple(found)

    def _candidates(self, rows):
        """Integrable forms and their combinations, the best ones first."""
        if not self.hidden:
            return
        by_row = {form.row: form for form in self.space.velocity}
        alone = [(by_row[row.row], Combination(
            {row.row: sympify(1)}, row.integral, row.factor))
            for row in rows if row.kind in ('exact', 'integrable')]
        yield from (x for x in alone if x[1].integral is not None)
        several = [self._combination(refs, factors)
                   for refs, factors in self.last]
        yield from (x for x in several if x[1].integral is not None)
        if self.integrals and len(self.last) <= MOST_COMPANIONS:
            yield from (x for x in map(lambda x: self._combination(*x),
                                       self._other_choices())
                        if x[1].integral is not None)
        yield from alone
        yield from several

    def _combination(self, refs, factors, forms=None):
        """A form of the last derived system, and its integral if found."""
        space = self.space
        form = Form('', None, refs)
        integral = factor = None
        if self.integrals:
            curl = space.curl(form)
            if vanishes(space, [x for row in curl for x in row]):
                integral = exact_integral(space, refs)
            elif space.is_involutive([form]):
                factor, integral = integral_with_factor(
                    space, refs, curl) or (None, None)
        return form, Combination({
            other.row: short(space, c) for other, c in zip(
                forms or self.forms, factors) if c and other.row is not None
            and other not in self.base}, integral, factor)

    def _other_choices(self):
        """The last derived system solved for other coordinates."""
        g, size = self.space.builder, len(self.last)
        values = self.space.at_points([refs for refs, _ in self.last])[0]
        tried = 0
        for columns in combinations(range(1, len(self.space.x)), size):
            block = [[row[j] for j in columns] for row in values]
            if len(independent(block, self.small)) < size:
                continue
            tried += 1
            if tried > MOST_CHOICES:
                return
            transposed = [[refs[j] for refs, _ in self.last]
                          for j in columns]
            for k in range(size):
                c = solve(g, transposed, [int(i == k) for i in range(size)])
                yield tuple(
                    tuple(g.dot(c, column) for column in zip(*part))
                    for part in zip(*self.last))

    # -- a state ---------------------------------------------------------

    def _growth_at(self, at):
        """The growth vector at a state, which, and whether to the end."""
        if at is None:
            return None, None, True
        space = self.space
        (values,), small = generic_points(
            self.system, {**(self.sample or {}), **at}, 1)
        exact = not any(sympify(x, strict=True).has(Float)
                        for x in at.values())
        small = small if exact else INEXACT
        here = VelocityForms(self.system, [values], small)
        rows = [*here.holonomic, *here.kinematic, *here.velocity]
        kept = [rows[k] for k in here.independent(rows)]
        first = len(here.x) - len(kept) - (not space.has_time)
        if len(kept) < len(self.forms):
            return (first,), values, False      # the rows lose rank
        ranks, complete = Distribution(here, kept).growth_at(
            self.growth[-1])
        return tuple(first + r for r in ranks), values, complete

    # -- advice ----------------------------------------------------------

    def _advice(self, rows, pairs):
        """Sentences."""
        names = {row.row: row.name for row in rows}
        for row in rows:
            if row.kind == 'follows':
                others = ', '.join(names[k] for k in row.others)
                yield (f"{row.name} follows from "
                       f"{others or 'the kinematic equations'} and may be "
                       "left out.")
        several = [c for c in pairs if len(c.factors) > 1]
        if several:
            count = len(several)
            used = sorted(set().union(*(c.factors for c in several)))
            yield (
                f"{count} combination{'s' if count > 1 else ''} of "
                f"{', '.join(names[k] for k in used)} can be "
                f"integrated: the motion keeps {count} "
                f"function{'s' if count > 1 else ''} of the coordinates at "
                "the value that the start has.")


def system_has_more(system):
    """Whether there are rows that are at a level above velocities."""
    return bool(system.acceleration_rows or system.higher_rows)


def short(space, ref):
    """Expression of a reference, None if it is long."""
    found = written(space, [ref])
    return found and found[0]


def nonlinear_remark(space, ref):
    """What can be said cheaply of a row that is not linear in the speeds."""
    g, u = space.builder, space.u
    slopes = gradient(g, ref, u)
    euler = g.dot(u, slopes)
    degree = next((d for d in (1, 2, 3, 4) if vanishes(
        space, [g.sub(euler, g.mul(g.constant(d), ref))])), None)
    if degree is None:
        return 'not homogeneous in the speeds'
    text = f'homogeneous of degree {degree} in the speeds'
    if degree != 2:
        return text
    hessian = [without(g, gradient(g, x, u), u) for x in slopes]
    if any(None in row for row in hessian):
        return text
    values = space.at_points(hessian)[0]
    with precise():
        signs = [x for x in mp.eigsy(mp.matrix(values), eigvals_only=True)
                 if abs(x) > mp.mpf('1e-15')*max(map(norm, values))]
    if len(signs) == 1:
        return text + ': the square of a linear row, give that'
    if len(signs) == 2 and signs[0]*signs[1] < 0:
        return text + ': the product of two linear rows, give the one meant'
    if all(x > 0 for x in signs) or all(x < 0 for x in signs):
        return text + (f': definite, it holds only if {len(signs)} linear '
                       'rows do')
    return text


# -- text ----------------------------------------------------------------

def text_of(found):
    """Lines of a readable text."""
    where = 'coordinates and time' if found.with_time else 'coordinates'
    lines = [f'{len(found.rows)} constraint rows on {found.dimension} '
             'coordinates']
    width = max((len(row.name) for row in found.rows), default=0)
    for row in found.rows:
        what, before = KINDS[row.kind]
        names = ', '.join(other.name for other in found.rows
                          if other.row in row.others)
        if row.kind == 'follows':
            names = names or 'the kinematic equations'
        if names:
            what += (before or ' ') + names
        if row.kind != 'holonomic' and row.integral is not None:
            what += f': {row.integral} = const'
        if row.factor is not None:
            what += f', factor {row.factor}'
        rests = f' [{row.evidence}]' if row.evidence not in (
            '', 'given') else ''
        remark = f', {row.remark}' if row.remark else ''
        lines.append(f'  {row.name:{width}}  {what}{remark}{rests}')
    if found.is_integrable is not None:
        lines.append(
            f'all rows together: {"" if found.is_integrable else "not "}'
            f'integrable in {where} [{found.evidence}]')
        if found.with_time and found.at_fixed_time != found.is_integrable:
            lines.append('  with time held fixed they are '
                         f'{"" if found.at_fixed_time else "not "}integrable')
    lines.append(
        f'integrals: {found.integrals_given} given, '
        f'{"?" if found.integrals_hidden is None else found.integrals_hidden}'
        ' hidden in velocity rows')
    for c in found.combinations:
        if len(c.factors) > 1 and c.integral is not None:
            lines.append(f'  {c.integral} = const')
    lines.append(f'derived flag {found.derived_flag}, growth vector '
                 f'{found.growth_vector} in the space of {where}'
                 + ('' if found.complete else ', not followed to the end'))
    if found.growth_there is not None:
        there, usual = found.growth_there, found.growth_vector
        remark = '' if there == usual else ': a singular point'
        if there[0] > usual[0]:
            remark = ': the rows lose rank there'
        lines.append(f'growth vector at the state {there}{remark}')
    texts = [found.wrong_slot] if found.wrong_slot else []
    return lines + [f'* {text}' for text in (*texts, *found.advice)]
