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
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from sympy import ImmutableDenseMatrix
from sympy.physics.mechanics import RigidBody
from sympy.physics.vector import Point, ReferenceFrame, Vector

from .. import _compat
from ..errors import ConstraintError, KinematicsError, UnsupportedFeatureError
from ..graph import Graph, gradient, read
from ..graph.linalg import FullRankFactorization, ldl_factor, ldl_solve
from ..model.build import kinematics_of
from ..model.build_kane import agree
from ..model.constraint_rows import geometric_row
from ..model.kinetics import (
    Applied, Assembly, axes_of_body, measure_dyadic, rotation, times,
    translation)
from ..model.loads import motion_of, parse_loads

__all__ = ['Connection', 'JointReaction', 'JointReactions']

ZERO = 0, 0, 0


class Connection(NamedTuple):
    """A joint that is in the kinematics without an object of SymPy.

    Attributes
    ==========

    name : str
    parent, child : RigidBody, Particle or None
        None is the ground.
    child_point : Point
        The point at which the reaction is reduced.

    """

    name: str
    parent: Any
    child: Any
    child_point: Point


@dataclass(frozen=True, eq=False, repr=False)
class JointReaction:
    """Force and moment of a joint on its child, or of a constraint row.

    Attributes
    ==========

    name : str
    location : Point or ReferenceFrame
        The point where the force acts and to which the moment refers; a frame
        for a row that has a torque only.
    frame : ReferenceFrame
        The axes of the numbers.

    """

    name: str
    location: Point | ReferenceFrame
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
        return f'<JointReaction {self.name} at {self.location}>'


class JointReactions(Mapping):
    """Name of a joint or constraint row -> :class:`JointReaction`.

    Explanation
    ===========

    Vectors are written when they are read. :meth:`function` compiles them
    without that, and ``simulate(..., reactions=...)`` gives their histories.

    Attributes
    ==========

    frame : ReferenceFrame
        The axes of numbers.
    graph : Graph
        One output of shape (6, 1) for each name, three components of the
        force and three of the moment.
    accelerations : tuple
        The derivatives of the speeds, inputs of the graph.

    """

    def __init__(self, graph, frame, locations, accelerations):
        self.graph, self.frame = graph, frame
        self.accelerations = tuple(accelerations)
        self._items = {name: JointReaction(name, location, frame, graph)
                       for name, location in locations.items()}

    def __getitem__(self, name):
        return self._items[name]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __repr__(self):
        return f'<JointReactions: {", ".join(self)}>'

    def function(self, compiled):
        """Return a function of ``(t, x, p)`` with all numbers.

        Parameters
        ==========

        compiled : CompiledEquations
            Made from the method.

        Returns
        =======

        function
            Gives a dictionary of arrays ``(6,)``, or ``(N, 6)`` for a batch.

        """
        values = compiled.group(self.graph, tuple(self), self.accelerations)

        def reactions(t, x, p=None):
            rates = compiled.rhs(t, x, p)[..., compiled.u_index]
            return {name: value[..., 0] for name, value in
                    values(t, x, p, rates.T).items()}

        return reactions


def joint_reactions(method, joints, rows, frame):
    """The :class:`JointReactions` of a method."""
    system = method.system
    balance = Balance(system, frame or system.frame)
    located = balance.located_rows([*rows, *given_rows(method)])
    check_located(system, balance.out['A'], located, joints)
    lam = balance.multipliers(method.independent_rows)
    acting = {k: [(location, balance.scaled(lam[k], direction))
                  for location, direction in loads]
              for k, loads in located.items()}
    names = system.constraint_names
    locations = {names[k]: loads[0][0] for k, loads in acting.items()}
    found = {names[k]: (*force, *ZERO) if isinstance(location, Point)
             else (*ZERO, *force)
             for k, ((location, force), *_) in acting.items()}
    if joints:
        tree = Tree(balance, joints)
        balance.check_loads()
        found |= tree.reactions([*chain(*acting.values()), *(
            (location, balance.scaled(1, vector))
            for location, vector in balance.loads)])
        locations |= {x.name: x.child_point for x in tree.joints}
    graph = Graph.freeze(balance.g, {
        name: ([[x] for x in numbers], 1) for name, numbers in found.items()})
    return JointReactions(graph, balance.axes, locations,
                          [x.diff(system.t) for x in system.u])


def check_located(system, A, located, joints):
    """Raise if the balances need forces of rows without a place."""
    lost = [system.constraint_names[k] for k, row in enumerate(A)
            if any(row) and k not in located]
    if joints and lost:
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


class Balance:
    """Newton's and Euler's laws of the bodies of a system, on one graph.

    Vectors are measured in the frame ``axes``.
    """

    def __init__(self, system, axes):
        self.system, self.axes = system, axes
        self.kinematics = kinematics_of(system)
        self.g = self.kinematics.builder
        _, self.out = system.graph.load(self.g, ('M', 'Q', 'C', 'A'))
        self.rates = self.kinematics.declare_accelerations(system.u)
        self.loads = parse_loads(system.loads)
        self.inertia = {body: self._inertia(body) for body in system.bodies}

    def scaled(self, factor, vector):
        """A reference times a SymPy vector, measured."""
        return self.g.scaled(factor, self.kinematics.measure(
            vector, self.axes))

    def _inertia(self, body):
        """``m*a`` and the rate of the central angular momentum."""
        g, kinematics = self.g, self.kinematics
        assembly, none = Assembly(kinematics), Applied(kinematics)
        axes = replace(axes_of_body(kinematics, body), linear=self.axes,
                       angular=self.axes)
        mass, rate, momentum = read(g, body.mass), ZERO, ZERO
        v, bias = translation(assembly, body, mass, axes, none, False)
        rate = self._with_rates(bias, v, lambda x: g.scaled(mass, x))
        if isinstance(body, RigidBody) and body.central_inertia != 0:
            inertia = measure_dyadic(
                kinematics, body.central_inertia, axes.inertia)
            w, bias = rotation(assembly, body, inertia, axes, none, False)
            inertia = kinematics.rotated_matrix(
                self.axes, axes.inertia, inertia)
            momentum = self._with_rates(
                bias, w, lambda x: times(g, inertia, x))
        return rate, momentum

    def _with_rates(self, bias, motion, momentum):
        """``-bias``, and ``u'`` times the momenta of partial velocities."""
        g, total = self.g, self.g.scaled(-1, bias)
        for k, column in self.kinematics.columns(motion).items():
            total = g.added(total, g.scaled(self.rates[k], momentum(column)))
        return total

    def forces(self):
        """``M*u' - Q``, one for each speed."""
        return [self.g.sub(self.g.dot(row, self.rates), x)
                for row, (x,) in zip(self.out['M'], self.out['Q'])]

    def multipliers(self, rows):
        """``lam`` of ``A^T*lam = M*u' - Q``, of least norm."""
        g, A = self.g, self.out['A']
        if not rows:
            return [0]*len(A)
        F, forces = [A[k] for k in rows], self.forces()
        gram = [[g.dot(x, y) for y in F] for x in F]
        return FullRankFactorization(g, A, F).spread(ldl_solve(
            g, ldl_factor(g, gram), [g.dot(x, forces) for x in F]))

    def located_rows(self, candidates):
        """Row number -> pairs (where, direction)."""
        found = dict(self.system.geometry)
        for i, row in enumerate(candidates):
            label = f'Entry {i} of `rows`'
            ref, loads = geometric_row(self.kinematics, row, label)
            slopes = gradient(self.g, ref, self.kinematics.u)
            k, sign = next(((k, sign) for k, other in enumerate(
                self.out['A']) for sign in (1, -1) if all(
                    agree(self.g, x, sign*y)
                    for x, y in zip(slopes, other))), (None, 0))
            if not sign:
                raise ConstraintError(
                    f"{label} is {row!r}, and no constraint row restricts "
                    "this velocity or its opposite. Write it as the row is "
                    "written.")
            found.setdefault(k, tuple((where, sign*n) for where, n in loads))
        return found

    def check_loads(self):
        """Raise if forces are in the equations that are no loads."""
        g, kinematics = self.g, self.kinematics
        work = [0]*len(self.system.u)

        def add(sign, location, force):
            motion = motion_of(kinematics, location, self.axes)
            for k, column in kinematics.columns(motion).items():
                work[k] = g.add(work[k], sign*g.dot(column, force))

        for body, (rate, momentum) in self.inertia.items():
            add(1, body.masscenter, rate)
            if any(momentum):
                add(1, body.frame, momentum)
        for location, vector in self.loads:
            add(-1, location, self.scaled(1, vector))
        for x, force, (other,) in zip(work, self.forces(), self.out['C']):
            if not agree(g, x, g.sub(force, other)):
                raise UnsupportedFeatureError(
                    "The equations contain forces that are no loads at "
                    "points or frames, such as a potential energy or "
                    "generalized forces, and on which body they act is not "
                    "known. Give them as loads for joint reactions.")


class Tree:
    """Bodies and the joints between them, from the ground outwards.

    The ground is None, and so is every body with the inertial frame or
    without equations.
    """

    def __init__(self, balance, joints):
        self.balance, self.kinematics = balance, balance.kinematics
        self.joints = [joint if hasattr(joint, 'child_point')
                       else Connection(*joint) for joint in joints]
        bodies = balance.system.bodies
        self.bodies = {body: None if getattr(
            body, 'frame', None) == self.kinematics.frame else body
            for body in bodies}
        self.home = {}
        for joint in self.joints:
            self.home[joint.child_point] = self.node(joint.child)
            if hasattr(joint, 'parent_point'):
                self.home[joint.parent_point] = self.node(joint.parent)
        for body, node in self.bodies.items():
            self.home[body.masscenter] = node
            self.home[getattr(body, 'frame', body)] = node
        self.home[self.kinematics.frame] = None
        self.outer, self.beyond = {}, {}    # joint -> body, its joints
        self._grow()

    def node(self, body):
        return self.bodies.get(body)

    def _grow(self):
        """Find the bodies beyond each joint, from the ground outwards."""
        children = [self.node(joint.child) for joint in self.joints]
        roots = [body for body in self.bodies.values()
                 if body and body not in children]
        for root in (None, *roots, *children):
            queue = [] if root in self.beyond else [root]
            for body in queue:
                self.beyond[body] = []
                for joint in self.joints:
                    ends = self.node(joint.parent), self.node(joint.child)
                    if body in ends and joint not in self.outer:
                        self._add(joint, body, ends[ends[0] is body], queue)

    def _add(self, joint, body, other, queue):
        if other in queue:
            raise KinematicsError(
                f"The joint {joint.name} closes a loop of joints, or "
                "connects bodies at rest, so that its reaction is not "
                "determined. Leave the joint out, and give rows for it.")
        self.outer[joint] = other
        self.beyond[body].append(joint)
        queue.append(other)

    def carrier(self, location):
        """The body on which a load acts; None for the ground.

        The one that is nearest along the positions (or orientations) of
        SymPy among those that move with it.
        """
        kinematics, home = self.kinematics, self.home
        if location in home:
            return home[location]
        given = isinstance(location, Point) and _compat.velocity(
            location, kinematics.frame)
        if given == 0:
            return None
        edges = _compat.positions if isinstance(location, Point) else (
            _compat.orientations)
        for near in kinematics._tree(location, edges):
            for body, node in self.bodies.items():
                if near in (body.masscenter, getattr(
                        body, 'frame', None)) and self._moves_with(
                            body, location):
                    return node
        raise KinematicsError(
            f"No body moves with {location}, so it is not known on which "
            "body the load there acts. Let it act at a point or frame that "
            "is fixed in a body.")

    def _moves_with(self, body, location):
        g, kinematics, axes = self.balance.g, self.kinematics, (
            self.balance.axes)
        motion = motion_of(kinematics, location, axes)
        w = kinematics.angular_velocity(body.frame, axes) if isinstance(
            body, RigidBody) else ZERO
        if isinstance(location, Point):
            w = g.added(
                kinematics.velocity(body.masscenter, axes),
                g.cross(w, kinematics.offset(body.masscenter, location, axes)))
        return all(agree(g, x, y) for x, y in zip(motion, w))

    def reactions(self, loads):
        """Name -> force and moment on the child, with loads (where, vector).
        """
        g, wrenches = self.balance.g, {}
        for body, (rate, momentum) in self.balance.inertia.items():
            wrenches.setdefault(self.node(body), []).append(
                (body.masscenter, rate, momentum))
        for location, vector in loads:
            vector = g.scaled(-1, vector)
            wrenches.setdefault(self.carrier(location), []).append(
                (location, vector, ZERO) if isinstance(location, Point)
                else (None, ZERO, vector))
        found = {}
        for joint in reversed(self.outer):      # the outer ones first
            body = self.outer[joint]
            found[joint] = self._reduced(joint.child_point, [
                *wrenches.get(body, ()), *(
                    (other.child_point, *found[other])
                    for other in self.beyond[body])])
        return {joint.name: g.scaled(
            1 if self.outer[joint] is self.node(joint.child) else -1,
            sum(found[joint], ())) for joint in self.joints}

    def _reduced(self, point, wrenches):
        """Resultant force and moment at a point."""
        g, force, moment = self.balance.g, ZERO, ZERO
        for where, f, m in wrenches:
            force, moment = g.added(force, f), g.added(moment, m)
            if any(f):
                arm = self.kinematics.offset(point, where, self.balance.axes)
                moment = g.added(moment, g.cross(arm, f))
        return force, moment
