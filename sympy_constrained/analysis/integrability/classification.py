r"""Which velocity constraints are integrable: each, only together, or not.

The rows that are linear in the velocities are a Pfaffian system on the space
of :math:`(t, q)`. Its derived flag and the brackets of the directions that it
leaves decide how many combinations of rows can be integrated (Frobenius,
Cartan); then integrals are looked for.
"""
from dataclasses import dataclass
from itertools import combinations

from mpmath import mp
from sympy import Float, Rational, sympify

from ...errors import warn
from ...graph import Graph, gradient, without
from ...model.build import system_of
from ...precision import precise
from ..consistent_points import (
    check_sample, norm, orthonormal_rows, project_out)
from ..examined_states import relation
from ..zero_tests import proved
from .distribution import Distribution
from .first_integrals import vanishes
from .hidden_integrals import IntegralSearch
from .pfaffian import DIGITS, INEXACT, Form, VelocityForms, generic_points
from .verdicts import ConstraintClassification, RowClass

POINTS = 3
# Number of rows up to which the smallest set of companions is looked for.
MOST_COMPANIONS = 8
SHOWN = 'shown at a random point'


def classify_constraints(model, sample=None, at=None,
                         integrals=True) -> ConstraintClassification:
    """Classify the constraint rows of a model.

    Explanation
    ===========

    The question is answered for all velocity rows together, on the
    configurations that the holonomic rows leave, with time as one more
    coordinate: is there a function of coordinates and time that every
    admissible motion keeps constant? Ranks are decided at random points that
    satisfy the constraints, at 60 digits; ``evidence`` says where this is
    proved as well.

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
        the answer is then about these. By default the parameters of a ready
        model.
    at : dict, optional
        A state, complete or not, at which the growth vector is computed, too:
        at singular points it differs.
    integrals : bool
        Whether integrals are looked for.

    Warns
    =====

    UserWarning
        If a velocity row can be integrated by itself, so that it could be
        given as a holonomic constraint.

    """
    system = system_of(model)
    if sample is None and hasattr(model, 'parameters'):     # a ready model
        known = {*system.graph.inputs, *system.q, *system.u, system.t}
        sample = {x: Rational(str(value))
                  for x, value in model.parameters.items() if x in known}
    check_sample(system, sample)
    check_sample(system, at, 'at')
    result = Classifier(system, sample, integrals).classification(at)
    warn(result.wrong_slot)
    return result


@dataclass(frozen=True)
class Flags:
    """The derived flag and the growth vector of all forms together.

    ``growth`` and ``derived`` count the directions that brackets add.
    """

    last: list              # components and factors of forms
    evidence: str = 'proved'
    growth: tuple = (0,)
    derived: tuple = (0,)
    is_complete: bool = True
    is_integrable: bool = True
    at_fixed_time: bool = True


class Classifier:
    def __init__(self, system, sample, integrals=True):
        self.system, self.sample = system, sample
        self.points, self.small = generic_points(system, sample, POINTS)
        self.space = space = VelocityForms(system, self.points, self.small)
        self.base = self._first_independent(
            [*space.holonomic, *space.kinematic])
        self.forms = self._first_independent([*self.base, *space.velocity])
        self.search = IntegralSearch(space, self.base, self.forms, integrals)
        self.at_points = (f'at {POINTS} random points, to '
                          f'{mp.nstr(self.small, 1)}')
        self.flags = self._flags()

    def _first_independent(self, forms):
        return [forms[k] for k in self.space.independent(forms)]

    def classification(self, at):
        space, flags, count = self.space, self.flags, len(self.forms)
        rows = self._rows()
        hidden = self._rank([
            Form('', None, refs) for refs, _ in flags.last]) - len(self.base)
        pairs = self.search.combinations(
            rows, flags.last, hidden if flags.is_complete else 0)
        there, state, complete = self._growth_at(at)
        first = len(space.x) - count - (not space.has_time)
        whole, frozen = flags.is_integrable, flags.at_fixed_time
        if whole and (space.nonlinear or self.system.acceleration_rows
                      or self.system.higher_rows):
            whole = frozen = None       # the other rows may not be
        return ConstraintClassification(
            rows, whole, frozen, tuple(count - r for r in flags.derived),
            tuple(first + r for r in flags.growth), space.has_time,
            len(flags.last) - hidden, hidden if flags.is_complete else None,
            pairs, flags.evidence, there, state,
            flags.is_complete and complete,
            (*redundancy_advice(rows), *combination_advice(rows, pairs)),
            tuple(self.points), len(space.x) - 1)

    def _rank(self, forms):
        return len(self.space.independent(self.base + list(forms)))

    def _flags(self):
        space = self.space
        if all(form in space.holonomic for form in self.forms):
            # gradients are closed
            return Flags([(f.refs, tuple(int(f is other)
                                         for other in self.forms))
                          for f in self.forms])
        d = Distribution(space, self.forms)
        growth, added, complete = d.flag()
        derived, _, also = d.flag(derived=True)
        evidence = SHOWN if added else self._proof(d.curvatures)
        return Flags(d.annihilators(added), evidence, growth, derived,
                     complete and also, not added,
                     d.is_involutive(fixed_time=True))

    def _proof(self, refs):
        """Evidence that references vanish, given that they do at points."""
        refs = [x for x in refs if x]
        if not refs:
            return 'proved'
        graph = Graph.freeze(self.space.builder, {'x': ([refs], len(refs))})
        if any(proved(self.system, graph, 'x', levels)
               for levels in ((), ('holonomic',))):
            return 'proved'
        return self.at_points

    # -- row by row ------------------------------------------------------

    def _rows(self):
        system, space = self.system, self.space
        names = system.constraint_names + tuple(
            f'higher row {k}' for k in range(len(system.higher_rows)))
        linear = len(system.constraint_names)
        classes = {form.row: self._row(form) for form in space.velocity}
        for form in space.holonomic:
            classes[form.row] = RowClass(form.name, form.row, 'holonomic',
                                         'given',
                                         system.holonomic_rows[form.row])
        for k in space.speeds_only:
            classes[k] = RowClass(names[k], k, 'defines a speed',
                                  self.at_points,
                                  remark='says nothing about the coordinates')
        for k, ref in space.nonlinear.items():
            classes[k] = RowClass(names[k], k, 'nonlinear', 'proved',
                                  remark=nonlinear_remark(space, ref))
        return tuple(classes.get(k) or RowClass(
            name, k, 'acceleration level' if k < linear else 'higher order',
            'given') for k, name in enumerate(names))

    def _row(self, form):
        def row(kind, *facts, others=()):
            return RowClass(form.name, form.row, kind, *facts, others=others)

        if self._rank([form]) == len(self.base):
            evidence = self._proof(Distribution(
                self.space, self.base).restricted(form.refs))
            return row('follows', evidence, others=self._followed(form))
        curl = self.space.curl(form)
        entries = [x for line in curl for x in line]
        if vanishes(self.space, entries):
            return row('exact', self._proof(entries),
                       self.search.exact(form), others=form.used)
        if self._is_integrable(form):
            return self._with_factor(form, curl)
        last = [Form('', None, refs) for refs, _ in self.flags.last]
        if len(self.space.independent([*last, form])) > len(last):
            return row('nonholonomic', SHOWN, others=form.used)
        if not self.flags.is_complete:
            return row('undecided', 'too many brackets')
        return row('integrable together', self.at_points,
                   others=self._companions(form))

    def _is_integrable(self, form):
        """Whether it is, by itself or with the base."""
        # Relations of the kinematic equations alone need not be integrable.
        space = self.space
        return space.is_involutive([*space.holonomic, form], [form]) or (
            space.is_involutive([*self.base, form]))

    @precise(DIGITS)
    def _followed(self, form):
        """Holonomic rows from which a row follows."""
        bases = self.space.at_points([f.refs for f in self.base])
        here = self.space.at_points([form.refs])
        small, rows = mp.sqrt(self.small), set()
        for matrix, (row,) in zip(bases, here):
            basis, extended = orthonormal_rows(matrix, small)
            _, parts = project_out(row, basis)
            rows |= {self.base[k].row for k in relation(
                parts, extended, small)}
        return tuple(sorted(k for k in rows if k is not None))

    def _with_factor(self, form, curl):
        """The class of a row that is integrable, but not exact."""
        g, refs = self.space.builder, form.refs
        wedge = [g.sum((g.mul(refs[i], curl[j][k]), g.mul(
            refs[j], curl[k][i]), g.mul(refs[k], curl[i][j])))
            for i, j, k in combinations(range(len(refs)), 3)]
        if vanishes(self.space, wedge):
            factor, integral = self.search.with_factor(form, curl)
            return RowClass(
                form.name, form.row, 'integrable', self._proof(wedge),
                integral, factor, form.used)
        base = tuple(f.row for f in self.base if f.row is not None)
        return RowClass(
            form.name, form.row, 'integrable', self._proof(Distribution(
                self.space, [*self.base, form]).curvatures),
            self.search.on_base(form), others=form.used + base)

    def _companions(self, form):
        """The smallest set of rows with which a row can be integrated."""
        rest = [f for f in self.forms if f not in self.base and f != form]
        if len(rest) <= MOST_COMPANIONS:
            for count in range(1, len(rest) + 1):
                for some in combinations(rest, count):
                    if self.space.is_involutive([*self.base, form, *some]):
                        return tuple(f.row for f in some)
        return tuple(f.row for f in rest)

    # -- a state ---------------------------------------------------------

    def _growth_at(self, at):
        """The growth vector at a state, the state, and its completeness."""
        if at is None:
            return None, None, True
        space = self.space
        (values,), small = generic_points(
            self.system, {**(self.sample or {}), **at}, 1, first=True)
        if any(sympify(x, strict=True).has(Float) for x in at.values()):
            small = INEXACT
        here = VelocityForms(self.system, [values], small)
        rows = [*here.holonomic, *here.kinematic, *here.velocity]
        kept = [rows[k] for k in here.independent(rows)]
        first = len(here.x) - len(kept) - (not space.has_time)
        if len(kept) < len(self.forms):
            return (first,), values, False      # the rows lose rank
        ranks, complete = Distribution(here, kept).growth_at(
            self.flags.growth[-1])
        return tuple(first + r for r in ranks), values, complete


def redundancy_advice(rows):
    """A sentence for each row that follows from others."""
    names = {row.row: row.name for row in rows}
    for row in rows:
        if row.kind == 'follows':
            others = ', '.join(names[k] for k in row.others)
            yield (f"{row.name} follows from "
                   f"{others or 'the kinematic equations'} and may be left "
                   "out.")


def combination_advice(rows, pairs):
    """A sentence on combinations of rows that can be integrated."""
    several = [c for c in pairs if len(c.factors) > 1]
    if several:
        names = {row.row: row.name for row in rows}
        used = sorted(set().union(*(c.factors for c in several)))
        count, s = len(several), 's' if len(several) > 1 else ''
        yield (f"{count} combination{s} of "
               f"{', '.join(names[k] for k in used)} can be integrated: the "
               f"motion keeps {count} function{s} of the coordinates at the "
               "initial value.")


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
    hessian = [without(g, gradient(g, x, u), u) for x in slopes]
    if degree != 2 or any(None in row for row in hessian):
        return text
    return text + quadratic_remark(space.at_points(hessian)[0])


def quadratic_remark(hessian):
    """Whether a quadratic form stands for linear rows."""
    with precise():
        signs = [x for x in mp.eigsy(mp.matrix(hessian), eigvals_only=True)
                 if abs(x) > mp.mpf('1e-15')*max(map(norm, hessian))]
    if len(signs) == 1:
        return ': the square of a linear row, give that'
    if len(signs) == 2 and signs[0]*signs[1] < 0:
        return ': the product of two linear rows, give the one meant'
    if all(x > 0 for x in signs) or all(x < 0 for x in signs):
        return f': definite, it holds only if {len(signs)} linear rows do'
    return ''
