"""Forces of a contact from multipliers, and events that depend on them."""
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from sympy import Expr, sympify
from sympy.physics.mechanics import (
    Force, LagrangesMethod, Vector, dynamicsymbols)

from .. import _compat
from ..errors import ConstraintError, UnsupportedFeatureError, warn
from ..graph import GraphBuilder, read
from .geometry import scalar


@dataclass(frozen=True, eq=False)
class ContactEvent:
    """A function of ``(t, x)`` with the attributes of an event.

    ``make`` makes the function of the equations ``compiled``. Each run has
    one of its own, with its constants and inputs, by :meth:`with_equations`.
    """

    make: Callable
    compiled: object
    direction: int
    terminal: bool | int
    passed: str                 # the error if the event lies in the past

    @cached_property
    def function(self):
        """The function, which remembers what it found last."""
        return self.make(self.compiled)

    def __call__(self, t, x):
        return float(self.function(t, x))

    def with_equations(self, compiled):
        """The event of a run."""
        return replace(self, compiled=compiled)


class ContactReactions:
    """Reactions and events, for a class with the rows of a contact."""

    def reaction_loads(self, normal, first=0, second=0) -> list[Force]:
        """Forces on child and parent.

        The arguments are the components of the force on the child, along
        the contact's ``normal`` and its two ``tangents``.
        """
        parts = zip((normal, first, second), ('normal', 'first', 'second'),
                    (self.normal, *self.tangents))
        force = sum((scalar(part, name, 'component')*axis
                     for part, name, axis in parts), Vector(0))
        return [Force(self.child_point, force),
                Force(self.parent_point, -force)]

    def normal_reaction(self, method) -> Expr:
        """Normal force on the child, positive while the bodies press.

        ``method`` is one of this package or LagrangesMethod, with the rows of
        this contact, else a :exc:`.ConstraintError` is raised. For
        ``LagrangesMethod`` the result is in its ``lam_vec`` with the sign of
        ``rhs()``, which is opposite in its ``eom`` and
        ``solve_multipliers()``. Multipliers that are not reactions raise
        :exc:`.UnsupportedFeatureError`: ``KanesMethod`` has none, those of
        ``VaccoMethod`` are impulses.
        """
        multipliers = multipliers_of(method)
        return sum(weight*multipliers[k]
                   for k, weight in self._normal_weights(method))

    def _normal_weights(self, method):
        """Positions of multipliers in the normal force, with weights."""
        own, weights = self.holonomic_constraints, [1]
        if self.formulation == 'augmented':
            own = own[:3]
            weights = self.normal.to_matrix(self.parent_geometry.frame)
        elif self.formulation == 'kinematic':
            own = [self.normal_velocity]
        if not own:
            raise ConstraintError(
                f"{self.child.name} is located from its contact, so no row "
                f"of {self.name} holds it there and none has the normal "
                "force. Give its mass centre a coordinate along the normal.")
        found, rates = find_rows(method, own, self.name), []
        if self.formulation == 'explicit':
            rates = [self.normal_velocity]
        elif self.formulation == 'augmented':
            rates = self._closure_rates(self.speeds)[:3]
        # If a row and its rate agree only for unit quaternions or up to
        # rounding, a method keeps both. The force has both multipliers.
        return [(k, weight) for k, weight in zip(
            [*found, *positions(method, rates)], [*weights, *weights])
            if k is not None]

    def _forces(self, method, compiled, *forces):
        """Sums of weighted multipliers as a function of ``(t, x)``."""
        forces = [[(k, weight != 1 and expression(compiled, weight))
                   for k, weight in force] for force in forces]
        count, is_checked = len(rows_of(method)), False

        def values(t, x):
            nonlocal is_checked
            weights = [[0.]*count for _ in forces]
            for row, force in zip(weights, forces):
                for k, weight in force:
                    row[k] += weight(t, x) if weight else 1.
            if not is_checked and not compiled.are_unique(weights, t, x):
                warn(f"The forces of {self.name} are not unique: its rows "
                     "depend on others, such as those of another contact of "
                     "the body. Its events use those of least norm, which "
                     "depend on the units of the rows. Leave redundant rows "
                     "of `nonholonomic_constraints` that carry no force out "
                     "of the method.")
            is_checked = True
            return weights @ compiled.multipliers(t, x)

        return values

    def lift_off_event(self, method, compiled, terminal=True):
        """Event for ``simulate``: the normal force vanishes; ``compiled`` is
        the ``method``, compiled.
        """
        weights = self._normal_weights(method)

        def make(compiled):
            force = self._forces(method, compiled, weights)
            return lambda t, x: force(t, x)[0]

        return ContactEvent(
            make, compiled, -1, terminal,
            f"The normal force of {self.name} pulls, so the bodies separate "
            "at once: simulate without the contact")

    def slip_event(self, method, compiled, friction, terminal=True):
        """Event for ``simulate``: friction exceeds ``friction*N``.

        ``friction`` is a number or an expression of constants, inputs, states
        and time of ``compiled``. A row of rolling that the method does not
        have carries no force.
        """
        rows = find_rows(method, [
            row for row in self.nonholonomic_constraints
            if row in self.slip_velocity], self.name, any)
        if not rows:
            raise ConstraintError(
                f"{self.name} slides, so it cannot begin to slip. Choose the "
                "mode 'rolling'.")
        weights = self._normal_weights(method)
        friction = scalar(friction, 'friction', 'coefficient of friction')
        expression(compiled, friction)      # raise before the run

        def make(compiled):
            limit = expression(compiled, friction)
            forces = self._forces(method, compiled, weights, *(
                [(k, 1)] for k in rows if k is not None))

            def excess(t, x):
                normal, *others = forces(t, x)
                return math.hypot(*others) - limit(t, x)*normal

            return excess

        return ContactEvent(
            make, compiled, 1, terminal,
            f"Rolling of {self.name} needs more friction than available. "
            "Start with sliding. If a warning says that the forces are not "
            "unique, remove the redundant rows first")

    def touch_down_event(self, compiled, guess=None, terminal=True,
                         constants=None):
        """Event for ``simulate``: the gap of separated bodies closes.

        ``compiled`` has the motion without the contact. If the contact is not
        eliminated, ``guess`` has the contact coordinates of the nearest points
        at the start. ``constants`` are numbers for further constants of the
        surfaces.
        """
        passed = f"The bodies of {self.name} penetrate, so the gap is negative"
        own = {x: sympify(v, strict=True) for x, v in (constants or {}).items()
               if x not in compiled.constants}
        gap = self.gap and self.gap.xreplace(own)
        lacking = gap and gap.free_symbols.difference(
            compiled.constants, {dynamicsymbols._t})
        if lacking:
            raise ValueError(
                f"The gap of {self.name} contains "
                f"{', '.join(sorted(map(str, lacking)))}, unknown to the "
                "equations. Pass their numbers in `constants`.")

        def make(compiled):
            if gap is not None:
                return expression(compiled, gap)
            near = dict(guess or {})

            def distance(t, x):
                values = {**own, dynamicsymbols._t: t,
                          **dict(zip(compiled.constants, map(
                              float, compiled.parameters()))),
                          **dict(zip(compiled.states, map(float, x)))}
                for known in near:
                    values.pop(known, None)
                found = self.solve_contact(values, near)
                gap = found.pop('gap')
                near.update(found)
                return float(gap)

            return distance

        return ContactEvent(make, compiled, -1, terminal, passed)


def expression(compiled, expr):
    """A function of ``(t, x)``, whose code is kept for other constants."""
    value = compiled.kept(('contact', expr),
                          lambda: compiled.expression(expr))
    return lambda t, x: value(t, x, compiled.parameters())


def rows_of(method):
    """Constraint rows in the order of the multipliers."""
    if LagrangesMethod in type(method).__mro__:
        parts = _compat.lagrange_parts(method)
        return parts['hol_coneqs'] + parts['nonhol_coneqs']
    return [*method.holonomic_constraints, *method.nonholonomic_constraints]


def multipliers_of(method):
    """The multipliers with the sign of reactions."""
    if LagrangesMethod in type(method).__mro__:
        return method.lam_vec
    if not hasattr(type(method), 'multipliers') or len(
            getattr(method, 'mu_vec', ())):     # none, or impulses
        raise UnsupportedFeatureError(
            f"{type(method).__name__} has no multipliers that are reactions. "
            "Take UdwadiaKalabaMethod, which accepts the same arguments.")
    return method.multipliers


def find_rows(method, own, name, require=all):
    """Positions of the rows of a contact among those of a method."""
    found = positions(method, own)
    if found and not require(k is not None for k in found):
        raise ConstraintError(
            f"The rows of {name} are not among those of the method, so its "
            "reaction is not known. Pass `holonomic_constraints` and "
            "`nonholonomic_constraints` of the contact as they are.")
    return found


def positions(method, own):
    """Position of each row in a method, None for a row that it lacks."""
    rows = rows_of(method)
    g = GraphBuilder(_compat.time_symbol())

    def position(row):
        wanted = read(g, row)
        return next((k for k, other in enumerate(rows)
                     if g.same_value(read(g, other), wanted)), None)

    return [position(row) for row in own]
