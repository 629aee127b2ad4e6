"""What the physics is, as a value: coordinates, kinetics, constraints."""
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sympy import Expr

from ..graph import Graph, derivative, is_function_of
from ..graph.graph import output


@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedSystem:
    r"""A constrained mechanical system on a shared graph.

    Explanation
    ===========

    .. math::

       \dot q = f(q, u, t), \qquad M\dot u = Q + A^T\lambda, \qquad
       A\dot u = b

    with ``n`` coordinates, ``o`` speeds and ``m`` constraint rows, holonomic
    rows first, then velocity level, then acceleration level.

    ======================  ==============  ================================
    output of ``graph``     shape           meaning
    ======================  ==============  ================================
    ``rates``               (n, 1)          ``q'``
    ``M``, ``Q``            (o, o), (o, 1)  mass matrix, generalized forces
    ``C``                   (o, 1)          non-ideal constraint forces
    ``holonomic``           (mh, 1)         residuals ``h(q, t) = 0``
    ``velocity``            (mv, 1)         ``h'`` and ``psi(q, u, t) = 0``
    ``holonomic_jacobian``  (mh, n)         ``dh/dq``
    ``velocity_jacobian``   (mv, o)         ``d(velocity)/du``
    ``A``, ``b``            (m, o), (m, 1)  acceleration level, all rows
    ``energy``, ``power``   (1, 1)          see :class:`.EquationsOfMotion`
    ``rotation``            (k, 1)          zero for unit quaternions
    ``mass_rates``          (k, 1)          rates of ``masses``
    ``higher``              (mk, 1)         residuals ``higher_rows``
    ======================  ==============  ================================

    Only :class:`.GibbsAppellMethod` makes systems with the last two: masses
    that are states, and constraints that have no ``A`` and ``b`` because they
    are not linear in ``u'`` or of a higher order.

    Attributes
    ==========

    q, u : tuple
        Coordinates and speeds; given partitions are concatenated.
    graph : Graph
    frame : ReferenceFrame or None
    bodies, loads : tuple
        As the user gave them.
    lagrangian : Expr or None
    holonomic_rows, velocity_rows, acceleration_rows : tuple
        The constraints as SymPy expressions, without repetitions.
    higher_rows : tuple
        Those that are not linear in ``u'`` or of a higher order.
    masses, u_auxiliary : tuple
        Masses that are states; speeds that are zero.
    loops : tuple
        Pairs of a Loop and ``{row number: name}``.
    geometry : tuple
        Pairs of a row number and the ``(point or frame, Vector)`` on which
        the row acts, for rows that were given geometrically.
    symbols : tuple
        Constants of the model, also those that drop out of the equations.
    unstated : tuple
        Numbers of the holonomic rows whose rates do not follow everywhere
        from the velocity constraints that were given in Kane's shape.
    places : tuple
        Places of the rows, or their rates, among these constraints, -1 of
        others; without those at acceleration level.
    q_dependent, u_dependent : tuple
        The user's choice, used for linearization and embeddings only.
    stabilization
        As given to :func:`.stabilization_gains`.

    """

    q: tuple
    u: tuple
    graph: Graph
    frame: Any = None
    bodies: tuple = ()
    loads: tuple = ()
    lagrangian: Expr | None = None
    holonomic_rows: tuple = ()
    velocity_rows: tuple = ()
    acceleration_rows: tuple = ()
    loops: tuple = ()
    geometry: tuple = ()
    q_dependent: tuple = ()
    u_dependent: tuple = ()
    stabilization: Any = None
    higher_rows: tuple = ()
    masses: tuple = ()
    u_auxiliary: tuple = ()
    symbols: tuple = ()
    unstated: tuple = ()
    places: tuple = ()

    @property
    def t(self):
        """The symbol of time."""
        return self.graph.time

    @property
    def counts(self):
        """``(n, o, m)``."""
        return len(self.q), len(self.u), self.graph.outputs['A'][0]

    @cached_property
    def constraint_names(self):
        """A label for every row of ``A``."""
        return names_of_rows(vars(self))

    @cached_property
    def constants(self):
        """Symbols and units, also those that are only in a constraint."""
        return tuple(x for x in self.graph.inputs
                     if not is_function_of(x, self.t) and x != self.t)

    @cached_property
    def specifieds(self):
        """Functions of time, and their derivatives, that are inputs."""
        known = {*self.q, *self.u, *self.masses}
        return tuple(x for x in self.graph.inputs
                     if is_function_of(x, self.t) and x not in known)

    M = output('M', "Mass matrix, shape (o, o).")
    Q = output('Q', "Generalized forces, applied and inertial, shape (o, 1).")
    A = output('A', "Constraint matrix, shape (m, o).")
    b = output('b', "Right side of ``A*u' = b``, shape (m, 1).")
    rates = output(
        'rates', "``q'`` in coordinates, speeds and time, shape (n, 1).")

    @property
    def without_velocities(self):
        """A sentence about a Lagrangian that has no velocities, or none."""
        velocities = [derivative(x, self.t) for x in self.q]
        if self.lagrangian is None or self.lagrangian.has(*velocities):
            return ''
        return (" The Lagrangian has no velocity: write it in derivatives of "
                f"the coordinates, such as {velocities[0]}.")

    def blocks(self, *names):
        """Outputs as a list of :class:`.GraphMatrix` on one new builder."""
        return self.graph.blocks(*names)

    def __repr__(self):
        n, o, m = self.counts
        return (f'<ConstrainedSystem: {n} coordinates, {o} speeds, '
                f'{m} constraint rows, {self.graph.operation_count()} '
                'operations>')

    def without_rows(self, rows):
        """Return a system without some rows, but not of loops.

        ``rows`` are their numbers, as in ``constraint_names``.
        """
        dropped = set(rows)
        first = len(self.holonomic_rows)
        kept = [k for k in range(self.counts[2]) if k not in dropped]
        builder, outputs = self.graph.load()
        for name in ('holonomic', 'holonomic_jacobian', 'velocity',
                     'velocity_jacobian', 'A', 'b'):
            outputs[name] = [row for k, row in enumerate(outputs[name])
                             if k not in dropped]
        return replace(
            self, graph=self.graph.updated(builder, outputs),
            holonomic_rows=tuple(
                row for k, row in enumerate(self.holonomic_rows)
                if k not in dropped),
            velocity_rows=tuple(
                row for k, row in enumerate(self.velocity_rows, first)
                if k not in dropped),
            places=tuple(x for k, x in enumerate(self.places)
                         if k not in dropped),
            unstated=tuple(
                kept.index(k) for k in self.unstated if k in kept),
            geometry=tuple((kept.index(k), where)
                           for k, where in self.geometry if k in kept))


def freeze(builder, outputs, q, u, compact=(), used=None):
    """Freeze the blocks of a system, some of them compacted."""
    columns = {'M': len(u), 'A': len(u), 'velocity_jacobian': len(u),
               'holonomic_jacobian': len(q)}
    return Graph.freeze(builder, {
        name: (rows, columns.get(name, 1)) for name, rows in outputs.items()
    }, compact, used)


def names_of_rows(fields):
    names = [f'{text} row {k}' for text, level in (
        ('holonomic', 'holonomic'), ('velocity-level', 'velocity'),
        ('acceleration-level', 'acceleration'))
        for k in range(len(fields[f'{level}_rows']))]
    for _, rows in fields['loops']:
        for k, name in rows.items():
            names[k] = name
    return tuple(names)
