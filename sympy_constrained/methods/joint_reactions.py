r"""Forces and moments in joints, by the balance of the bodies beyond them.

A joint of relative coordinates does no work, so that its reaction is in no
equation of motion. It follows from Newton's and Euler's laws: the force and
the moment on the part of the mechanism beyond joint ``j`` are

.. math::

   F_j = \sum_b m_b a_b - \sum_i F_i, \qquad
   T_j = \sum_b (\dot H_b + r_b\times m_b a_b)
       - \sum_i (T_i + r_i\times F_i),

with the central angular momenta ``H`` of the bodies of that part, the loads
on them, among these the reactions :math:`\lambda n` of constraint rows, and
the positions ``r`` relative to the joint. The sums are formed from the outer
bodies inwards.
"""
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from sympy import ImmutableDenseMatrix
from sympy.physics.vector import Point, ReferenceFrame, Vector

from ..errors import (
    ConstraintError, MissingIngredientError, UnsupportedFeatureError)
from ..graph import Graph, derivative, read, substitute
from ..model.call_signatures import as_dictionary, as_list, check_known
from .body_balance import ZERO, Balance, Tree
from .references import frozen


@dataclass(frozen=True, eq=False, repr=False)
class JointReaction:
    """Force and moment of a joint on its child, of a loop or constraint row.

    The force acts on ``body``, which is named, at ``location``, a Point, to
    which the moment refers; a frame for a row that has a torque only. For a
    loop the body is that of its ``point_a``. ``frame`` are the axes of
    numbers.
    """

    name: str
    location: Point | ReferenceFrame
    body: str
    frame: ReferenceFrame
    graph: Graph

    @cached_property
    def _numbers(self):
        return self.graph.sympy(self.name)

    @property
    def force(self):
        """Vector, in terms of states and the derivatives of the speeds."""
        return Vector([(ImmutableDenseMatrix(self._numbers[:3]), self.frame)])

    @property
    def moment(self):
        """Vector, in terms of states and the derivatives of the speeds."""
        return Vector([(ImmutableDenseMatrix(self._numbers[3:]), self.frame)])

    def __repr__(self):
        return (f'<JointReaction {self.name} on {self.body} at '
                f'{self.location}>')


class JointReactions(dict):
    """Name of a joint, loop or constraint row -> :class:`JointReaction`.

    Vectors are written when they are read. :meth:`function` compiles them
    without that, and ``simulate(..., reactions=...)`` gives their histories.

    Attributes
    ==========

    frame : ReferenceFrame
        The axes of numbers.
    graph : Graph
        For each name the components of force and moment, shape (6, 1).
    accelerations : tuple
        The derivatives of the speeds, inputs of the graph.
    """

    def __init__(self, graph, frame, places, accelerations, constants):
        self.graph, self.frame = with_values(graph, constants), frame
        super().__init__({
            name: JointReaction(name, *place, frame, self.graph)
            for name, place in places.items()})
        self._general, self._constants = graph, constants
        self.accelerations = tuple(accelerations)

    def __repr__(self):
        return f'<JointReactions: {", ".join(self)}>'

    def function(self, compiled):
        """Return a function of ``(t, x, p)`` for a method that was compiled.

        It returns a dictionary of arrays ``(6,)``, or ``(N, 6)`` for a batch.
        """
        eom = compiled.equations
        if tuple(x.diff(eom.t) for x in eom.u) != self.accelerations:
            raise UnsupportedFeatureError(
                "The compiled equations are in other speeds than the "
                "reactions. Compile a method that keeps all speeds, such as "
                "`RouthMethod.from_method(method)`.")
        known = {eom.t, *compiled.states, *compiled.constants,
                 *compiled.specifieds, *compiled.inputs.expressions,
                 *self.accelerations}
        graph = with_values(self._general, {    # those of a run come first
            x: value for x, value in self._constants.items()
            if x not in known})
        lost = [str(x) for x in graph.symbols() if x not in known]
        if lost:
            raise MissingIngredientError(
                f"The reactions depend on {', '.join(lost)}, which the "
                "equations of motion do not contain. Pass the values as "
                "`constants` of `joint_reactions`.", symbols=tuple(lost))
        values = compiled.group(graph, tuple(self), self.accelerations)

        def reactions(t, x, p=None):
            rates = compiled.rhs(t, x, p)[..., compiled.u_index]
            return {name: value[..., 0] for name, value in
                    values(t, x, p, rates.T).items()}

        return reactions


def joint_reactions(method, joints, rows, frame, constants):
    system = method.system
    balance = Balance(method, frame)
    located = balance.located_rows(
        as_list(rows, 'rows') + given_rows(method))
    lam = balance.multipliers(method.independent_rows)
    acting = {k: [(location, balance.scaled(lam[k], direction))
                  for location, direction in loads]
              for k, loads in located.items()}
    tree, g = Tree(balance, joints), balance.g
    names = dict(enumerate(system.constraint_names))
    places = {}
    for loop, rows in system.loops:     # their reactions are those of the pin
        names |= dict.fromkeys(rows, loop.label)
        places[loop.label] = loop.point_a, tree.name_of(loop.point_a)
    wrenches = {}
    for k, ((location, force), *_) in acting.items():
        name, is_force = names[k], isinstance(location, Point)
        places.setdefault(name, (location, tree.name_of(location)))
        wrenches[name] = g.added(wrenches.get(name, (*ZERO, *ZERO)), (
            *force, *ZERO) if is_force else (*ZERO, *force))
    if joints:
        check_located(system, balance, lam, located)
        balance.check_loads()
        wrenches |= tree.reactions(chain(*acting.values()))
        places |= {x.name: (x.child_point, tree.name_of(x.child_point))
                   for x in tree.joints}
    if not places:
        raise MissingIngredientError(
            "The model has no joints, and no row that has a place, so no "
            "reaction is known. Pass `joints=` with a System or with tuples "
            "(name, parent, child, point), or `rows=`.")
    constants = as_dictionary(constants, 'constants')
    check_known('constants', constants, (*g.inputs, *system.symbols))
    return JointReactions(
        frozen(g, **wrenches), balance.axes, places,
        [derivative(x, system.t) for x in system.u], constants)


def with_values(graph, constants):
    if not constants:
        return graph
    g, out = graph.load()
    values = {read(g, x): read(g, value) for x, value in constants.items()}
    return frozen(g, **{name: substitute(g, [x for x, in rows], values)
                        for name, rows in out.items()})


def check_located(system, balance, lam, located):
    """Raise if the balances need forces of rows without a place."""
    # The norm of a quaternion has none, because no velocity depends on it.
    lost = [system.constraint_names[k]
            for k, row in enumerate(balance.out['A'])
            if any(row) and k not in located
            and not balance.agree((lam[k], 0))]
    if lost:
        raise ConstraintError(
            f"It is not known where {', '.join(lost)} acts, because an "
            "expression has no place and no direction. Pass `rows=` with "
            "`(point, direction, other point)` or `(frame, direction, other "
            "frame)` for each, whose relative velocity it restricts.")


def given_rows(method):
    """The tuples among the velocity-level rows of the call."""
    return [row for name in ('velocity_constraints', 'nonhol_coneqs',
                             'nonholonomic_constraints')
            for row in method._call[1].get(name) or ()
            if isinstance(row, tuple)]
