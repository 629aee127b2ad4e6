"""The directions that forms leave, their brackets and flags."""
from functools import cached_property
from itertools import combinations

from ...graph import Derivation, time_derivative
from ...graph.linalg import solve
from .pfaffian import best_independent

# Nodes of the graph, and brackets at a state, beyond which no more are taken.
MOST_NODES, MOST_FIELDS = 150_000, 400


class Distribution:
    r"""The directions that independent forms leave, and their brackets.

    The forms are solved for some of the ``dq``,

    .. math::

       dq_a = B_{a0}\,dt + B_{ai}\,dq_i , \qquad
       X_i = \partial_i + B_{ai}\,\partial_a ,

    so that brackets of the fields :math:`X_0, X_1, \dots` have components
    by the dependent coordinates only:

    .. math::

       [X_i, X_j]_a = X_i(B_{aj}) - X_j(B_{ai}), \qquad
       [X_i, V]_a = X_i(v_a) - V(B_{ai}) .
    """

    def __init__(self, space, forms):
        self.space, self.forms = space, list(forms)
        g, size = space.builder, len(space.x)
        self.dependent = self._pivots()
        self.free = [i for i in range(size) if i not in self.dependent]
        square = [[form.refs[a] for a in self.dependent] for form in forms]
        self.B = {i: solve(g, square, [-form.refs[i] for form in forms])
                  for i in self.free}
        self.fields = {i: self._field(i) for i in self.free}
        self._along, self._brackets = {}, {}

    def _pivots(self):
        """Columns to solve for: constant ones as far as possible."""
        g = self.space.builder
        columns = list(zip(*(form.refs for form in self.forms)))

        def cost(j):
            return sum(2 if g.depends[abs(x)] & g.dynamic else not x
                       for x in columns[j])

        order = sorted(range(1, len(columns)), key=cost)
        kept = best_independent((
            [[row[j] for row in rows] for j in order]
            for rows in self.space.at_points([f.refs for f in self.forms])),
            self.space.small)
        return sorted(order[k] for k in kept)

    def _field(self, i):
        g, x = self.space.builder, self.space.x
        seeds = {x[a]: b for a, b in zip(self.dependent, self.B[i])}
        if i == 0:
            return time_derivative(g, {**self.space.explicit, **seeds})
        return Derivation(g, {**seeds, x[i]: 1})

    def along(self, vertical):
        """Derivation along a field with dependent components only."""
        if vertical not in self._along:
            x = self.space.x
            self._along[vertical] = Derivation(self.space.builder, {
                x[a]: v for a, v in zip(self.dependent, vertical)})
        return self._along[vertical]

    def bracket(self, i, other):
        """Components of ``[X_i, other]``; see :meth:`bracket_of`."""
        if (i, other) not in self._brackets:
            b = self.B[other] if isinstance(other, int) else other
            along = (self.fields[other] if isinstance(other, int)
                     else self.along(other))
            self._brackets[i, other] = self.bracket_of(
                (self.fields[i], self.B[i]), (along, b))
        return self._brackets[i, other]

    def bracket_of(self, first, second):
        """Components of a bracket of fields ``(derivation, components)``."""
        (along_x, x), (along_y, y) = first, second
        return tuple(self.space.builder.sub(along_x(b), along_y(a))
                     for a, b in zip(x, y))

    @cached_property
    def curvature(self):
        """``(i, j)`` -> components of ``[X_i, X_j]``, those not zero."""
        brackets = {(i, j): self.bracket(i, j)
                    for i, j in combinations(self.free, 2)}
        return {key: v for key, v in brackets.items() if any(v)}

    @property
    def curvatures(self):
        return [x for v in self.curvature.values() for x in v]

    def restricted(self, refs):
        """The values of a form on the fields."""
        g, dependent = self.space.builder, [refs[a] for a in self.dependent]
        return [g.add(refs[i], g.dot(dependent, self.B[i]))
                for i in self.free]

    def is_involutive(self, fixed_time=False):
        """Whether the brackets of the fields vanish, at a fixed time without
        ``X_0``.
        """
        rows = [v for (i, j), v in self.curvature.items()
                if i or not fixed_time]
        return not any(x for values in self.space.at_points(rows)
                       for row in values for x in row)

    # -- flags -----------------------------------------------------------

    def flag(self, derived=False):
        """Ranks of brackets by level, independent ones, completeness."""
        # For the derived flag all fields of a level are bracketed with each
        # other, for the growth vector with the first ones only. Ranks count
        # the added directions, from 0 until they stop growing.
        ranks, chosen = [0], []
        new = list(self.curvature.values())
        while new and ranks[-1] < len(self.forms):
            before = len(chosen)
            chosen = self._independent(chosen + new)
            if len(chosen) == before:
                break
            ranks.append(len(chosen))
            if self._is_too_large():
                return ranks, chosen, False
            new = self._next_brackets(chosen[before:])
            if derived:
                new += [self.bracket_of((self.along(x), x), (self.along(v), v))
                        for n, v in enumerate(chosen[before:], before)
                        for x in chosen[:n]]
            new = [v for v in dict.fromkeys(new) if any(v)]
        return ranks, chosen, True

    def _next_brackets(self, fields):
        return [self.bracket(i, v) for i in self.free for v in fields]

    def _is_too_large(self):
        return len(self.space.builder.nodes) > MOST_NODES

    def _independent(self, fields):
        """The first fields that span the others, at the best point."""
        kept = best_independent(self.space.at_points(fields),
                                self.space.small)
        return [fields[k] for k in kept]

    def growth_at(self, full):
        """Ranks of all brackets of each length at the one point of the space,
        up to the rank ``full``, and whether all levels were reached.

        No bracket is left out: a combination of shorter ones elsewhere need
        not be one here.
        """
        ranks, fields = [0], []
        new = list(self.curvature.values())
        while new and ranks[-1] < full:
            if len(fields) + len(new) > MOST_FIELDS or self._is_too_large():
                return ranks, False
            fields += new
            ranks.append(len(self._independent(fields)))
            new = [v for v in dict.fromkeys(self._next_brackets(new))
                   if any(v)]
        while len(ranks) > 1 and ranks[-1] == ranks[-2]:
            ranks.pop()
        return ranks, True

    # -- the last derived system -----------------------------------------

    def annihilators(self, fields):
        """Forms that vanish on the directions and on independent fields."""
        # They span the last derived system if the fields are all brackets.
        # Each is a pair: its components, and its factors of the given forms.
        g = self.space.builder
        pivots = best_independent(
            (list(zip(*rows)) for rows in self.space.at_points(fields)),
            self.space.small)
        square = [[v[a] for a in pivots] for v in fields]
        transposed = [[form.refs[a] for form in self.forms]
                      for a in self.dependent]
        result = []
        size = len(self.dependent)
        for k in sorted({*range(size)}.difference(pivots)):
            known = dict(zip(pivots, solve(
                g, square, [-v[k] for v in fields])))
            c = [known.get(a, int(a == k)) for a in range(size)]
            parts = dict(zip(self.dependent, c))
            parts |= {i: -g.dot(c, self.B[i]) for i in self.free}
            result.append((tuple(parts[i] for i in range(len(parts))),
                           tuple(solve(g, transposed, c))))
        return result
