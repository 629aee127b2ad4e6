"""Integrals that velocity rows have together."""
from itertools import chain, combinations, islice

from sympy import sympify

from ...graph.linalg import solve
from .distribution import Distribution
from .first_integrals import (
    exact_integral, integral_with_factor, vanishes, written)
from .pfaffian import Form, independent
from .verdicts import Combination

# Alternative columns that are tried for integrals of several rows.
MOST_CHOICES = 12
# Number of forms up to which other columns are tried.
MOST_FORMS = 8


class IntegralSearch:
    """Search for integrals of forms and of their combinations.

    ``forms`` are independent; they begin with the ``base`` that is given.
    Unless ``is_wanted``, integrals are not looked for.
    """

    def __init__(self, space, base, forms, is_wanted):
        self.space, self.base, self.forms = space, base, forms
        self.is_wanted = is_wanted

    def exact(self, form):
        """The integral of a closed form, or None."""
        return exact_integral(self.space, form.refs) if (
            self.is_wanted) else None

    def with_factor(self, form, curl):
        """Factor and integral of a form that is integrable by itself."""
        pair = self.is_wanted and integral_with_factor(
            self.space, form.refs, curl)
        return pair or (None, None)

    def on_base(self, form):
        """Integral of a form with the help of the base, or None."""
        if not self.is_wanted:
            return None
        forms = [*self.base, form]
        for refs, factors in Distribution(self.space, forms).annihilators([]):
            if factors[-1]:
                _, combination = self.combination(refs, factors, forms)
                if combination.integral is not None:
                    return combination.integral
        return None

    def combination(self, refs, factors, forms=None):
        """A combination of forms as a form, and its integral if found."""
        space, form = self.space, Form('', None, refs)
        integral = factor = None
        if self.is_wanted:
            curl = space.curl(form)
            if vanishes(space, [x for row in curl for x in row]):
                integral = self.exact(form)
            elif space.is_involutive([form]):
                factor, integral = self.with_factor(form, curl)
        return form, Combination({
            other.row: short(space, c)
            for other, c in zip(forms or self.forms, factors)
            if c and other.row is not None and other not in self.base},
            integral, factor)

    def combinations(self, rows, last, count):
        """A number of independent integrable combinations."""
        chosen, forms = [], list(self.base)
        if count:
            for form, combination in self._candidates(rows, last):
                if len(self.space.independent([*forms, form])) > len(forms):
                    forms.append(form)
                    chosen.append(combination)
                if len(chosen) == count:
                    break
        return tuple(chosen)

    def _candidates(self, rows, last):
        """Integrable forms and combinations, those with integrals first."""
        by_row = {form.row: form for form in self.space.velocity}
        alone = [(by_row[row.row], Combination(
            {row.row: sympify(1)}, row.integral, row.factor))
            for row in rows if row.kind in ('exact', 'integrable')]
        yield from with_integral(alone)
        several = [self.combination(*x) for x in last]
        others = self._other_choices(last) if (
            self.is_wanted and len(last) <= MOST_FORMS) else ()
        yield from with_integral(chain(
            several, (self.combination(*x) for x in others)))
        yield from chain(alone, several)

    def _other_choices(self, last):
        """The last derived system solved for other coordinates."""
        g, size = self.space.builder, len(last)
        for columns in islice(self._regular_columns(last), MOST_CHOICES):
            transposed = [[refs[j] for refs, _ in last] for j in columns]
            for k in range(size):
                c = solve(g, transposed, [int(i == k) for i in range(size)])
                yield tuple(tuple(g.dot(c, column) for column in zip(*part))
                            for part in zip(*last))

    def _regular_columns(self, last):
        """Sets of coordinates for which forms can be solved."""
        values = self.space.at_points([refs for refs, _ in last])[0]
        for columns in combinations(range(1, len(self.space.x)), len(last)):
            block = [[row[j] for j in columns] for row in values]
            if len(independent(block, self.space.small)) == len(last):
                yield columns


def with_integral(pairs):
    return (x for x in pairs if x[1].integral is not None)


def short(space, ref):
    """Expression of a reference, None if it is long."""
    expressions = written(space, [ref])
    return expressions and expressions[0]
