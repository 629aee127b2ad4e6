r"""The classical forms of the equations of motion, each from its definition.

All of them are equal to :math:`-B^T E`, with the residual :math:`E` of
d'Alembert's principle and the base vectors :math:`B` of the constraint
hypersurface, for every acceleration and also beside the constraints.

A tilde means that the dependent speeds :math:`u_d = \varphi(q, u_\sigma, t)`
are eliminated. :math:`\varphi` need not be known: derivatives of a function
of :math:`(q, u_\sigma, t)` are derivations along the constraint surface,

.. math::

   \tilde\partial_\sigma = \frac{\partial}{\partial u_\sigma}
   + B_{d\sigma}\frac{\partial}{\partial u_d}, \qquad
   \tilde\partial_{q} = \frac{\partial}{\partial q}
   + \varphi_{d,q}\frac{\partial}{\partial u_d}, \qquad
   \varphi_{d,q} = -A_d^{-1}\frac{\partial f}{\partial q}

and the derivative by :math:`u_\sigma` of what contains accelerations follows
from :math:`[\hat\partial_\sigma, D_t] = \sum_s \tilde\partial_\sigma
V_s\,\tilde\partial_{q_s}`, where :math:`\dot q = V(q, u, t)`.

Equation numbers are those of R. Qiu, "The equation of motion for the system
of the variable mass in the non-linear non-holonomic space" (received 1995).
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from ... import _compat
from ...errors import UnsupportedFeatureError
from ...graph import Derivation, Graph, gradient, jacobian, read, substitute
from ...graph.linalg import solve
from ...model.build import kinematics_of
from ...model.kinematics import Kinematics
from ...model.kinetics import from_bodies, parse_loads, times
from ...model.variable_mass import BodyMotion, reactive_forces

__all__ = ['ClassicalForms', 'FORMS']


@dataclass(frozen=True)
class Model:
    """What the forms are made from.

    Attributes
    ==========

    system : ConstrainedSystem
    anchors : dict
        Mass centre -> point and frame, see :class:`.Kinematics`.
    potential : Expr
        Of the bodies.
    forces : list
        Generalized forces beside those of the loads, one per speed, or none.
    rows : tuple of int
        Numbers of the independent constraint rows.
    dependent : tuple of int
        Positions of the dependent speeds, one for each of these rows.
    projection : Graph
        ``A`` (independent rows), ``basis`` ``B`` and ``projector`` ``Z``.

    """

    system: Any
    anchors: dict
    potential: Any
    forces: list
    rows: tuple
    dependent: tuple
    projection: Graph


class ClassicalForms:
    """One builder with the model, and one method per form.

    Lists are indexed by speeds ``r``, independent speeds ``sigma`` and
    coordinates ``s``.
    """

    def __init__(self, model):
        self.model, system = model, model.system
        self.system = system
        self.kinematics = kinematics_of(system, model.anchors, False)
        self.kinematics.declare_accelerations(system.u)
        self.g = g = self.kinematics.builder
        self.along = self.kinematics.total_derivative
        self.accelerations = list(map(self.along, self.kinematics.u))
        _, out = model.projection.load(g)
        self.B, self.Z = out['basis'], out['projector']
        self.free = [r for r in range(len(system.u))
                     if r not in model.dependent]
        self.half = g.inv(g.constant(2))
        self.of_bodies = system.lagrangian is None

    def form(self, name):
        """The rows of a form as a SymPy column."""
        return self.written(getattr(self, FORMS[name])())

    def written(self, refs):
        """A SymPy column, with the rates of masses that are states."""
        g, system = self.g, self.system
        _, out = system.graph.load(g, ('mass_rates',))
        rates, second = {}, {}
        for mass, (rate,) in zip(system.masses, out['mass_rates']):
            rates[g.input(mass.diff(system.t), dynamic=True)] = rate
            second[g.input(mass.diff(system.t, 2), dynamic=True)] = rate
        again = substitute(g, map(self.along, second.values()), rates)
        refs = substitute(g, refs, {**rates, **dict(zip(second, again))})
        return Graph.freeze(g, {'column': ([[x] for x in refs], 1)}).sympy(
            'column')

    def projected(self, rows):
        """``Z^T`` times rows per speed."""
        return [self.g.dot(column, rows) for column in zip(*self.Z)]

    # -- ingredients -----------------------------------------------------

    @cached_property
    def motions(self):
        """Mass and motion of every body."""
        if not self.of_bodies:
            raise UnsupportedFeatureError(
                "This form is made from the velocities of bodies, and a "
                "Lagrangian does not tell them. Give bodies and loads in "
                "the shape of KanesMethod, or use 'maggi', "
                "'boltzmann-hamel', 'voronets', 'chaplygin' or 'nielsen'.")
        return [BodyMotion(self.kinematics, body)
                for body in self.system.bodies]

    @cached_property
    def kinetic_energy(self):
        """``T*(q, u, t)``, or the Lagrangian in its place."""
        if not self.of_bodies:
            return read(self.g, self.system.lagrangian)
        return self.g.sum(motion.kinetic_energy(self.g)
                          for motion in self.motions)

    @cached_property
    def forces(self):
        """Generalized applied forces ``Q_r``, one per speed."""
        blocks = from_bodies(self.kinematics, (), parse_loads(
            self.system.loads), self.model.potential)
        return [self.g.add(x, y) for (x,), y in zip(
            blocks['Q'], self.given_forces)]

    @cached_property
    def given_forces(self):
        """``generalized_forces``, one per speed."""
        if not self.model.forces:
            return [0]*len(self.system.u)
        return [read(self.g, x) for x in self.model.forces]

    @cached_property
    def gibbs_function(self):
        """``S``, what depends on accelerations of the Gibbs function."""
        g, terms = self.g, []
        for motion in self.motions:
            a = tuple(map(g.sub, motion.a, motion.excess))
            spin = times(g, motion.inertia, motion.alpha)
            terms += [
                g.mul(self.half, g.add(g.mul(motion.mass, g.dot(a, a)),
                                       g.dot(motion.alpha, spin))),
                g.dot(motion.alpha, g.cross(motion.w, motion.momentum))]
        return g.sum(terms)

    @cached_property
    def in_velocities(self):
        """The model in the ``q'``; see :func:`velocity_form`."""
        graph, names = velocity_form(self.model)
        _, out = graph.load(self.g)
        self.check_velocities(out, names)
        return SimpleNamespace(
            T=out['T'][0][0], **{name: [x for x, in out[name]] for name in (
                'momenta', 'momentum_rates', 'slopes', 'Q', 'P')})

    def check_velocities(self, out, names):
        """Raise if velocities were set that are not those of positions."""
        if not self.of_bodies:
            return
        known = [x for motion in self.motions for x in (*motion.v, *motion.w)]
        for k, ((x,), y) in enumerate(zip(out['velocities'], known)):
            if not self.g.same_value(x, y):
                raise set_by_hand(names[k//6])

    @cached_property
    def J(self):
        """``dV/du``, rows per coordinate."""
        return [[by_speed(rate) for by_speed in self.kinematics.by_speed]
                for rate in self.kinematics.rates]

    def pulled_back(self, forces):
        """``J^T`` times rows per coordinate."""
        return [self.g.dot(column, forces) for column in zip(*self.J)]

    # -- derivations along the constraint surface ------------------------

    @cached_property
    def phi(self):
        """Rows ``phi_d,q``, per dependent speed."""
        g, system = self.g, self.system
        if self.Z != self.B:
            raise self.no_elimination(
                "the reactions act in the directions of `reaction_matrix`")
        if system.higher_rows or system.acceleration_rows:
            raise self.no_elimination(
                "there are constraints on accelerations")
        _, out = system.graph.load(g, ('velocity', 'velocity_jacobian'))
        left = [[out['velocity_jacobian'][k][d] for d in self.model.dependent]
                for k in self.model.rows]
        slopes = [gradient(g, out['velocity'][k][0], self.kinematics.q)
                  for k in self.model.rows]
        columns = [solve(g, left, [-row[s] for row in slopes])
                   for s in range(len(system.q))]
        return [list(row) for row in zip(*columns)]

    @staticmethod
    def no_elimination(reason):
        return UnsupportedFeatureError(
            f"This form eliminates dependent speeds, and {reason}. Use "
            "'kane', 'appell', 'maggi', 'boltzmann-hamel' or 'volterra'.")

    @cached_property
    def by_speed(self):
        """Derivatives by the independent speeds."""
        u = self.kinematics.u
        self.phi                        # complains if there are none
        return [Derivation(self.g, dict(zip(u, column)))
                for column in zip(*self.B)]

    def by_direction(self, direction):
        """Derivative along a direction of the coordinates."""
        g = self.g
        seeds = dict(zip(self.kinematics.q, direction))
        seeds.update(
            (self.kinematics.u[d], g.dot(row, direction))
            for d, row in zip(self.model.dependent, self.phi))
        return Derivation(g, seeds)

    @cached_property
    def by_coordinate(self):
        """Derivatives by the coordinates."""
        n = len(self.system.q)
        return [self.by_direction([int(s == k) for s in range(n)])
                for k in range(n)]

    @cached_property
    def velocity_columns(self):
        """Columns ``d V_s / d u_sigma`` per independent speed."""
        return [[by_speed(rate) for rate in self.kinematics.rates]
                for by_speed in self.by_speed]

    @cached_property
    def in_accelerations(self):
        """Derivatives by the independent speeds of what contains ``u'``."""
        g, found = self.g, []
        for column, along in zip(zip(*self.B), self.velocity_columns):
            seeds = dict(zip(self.kinematics.u, column))
            for d, row in zip(self.model.dependent, self.phi):
                seeds[self.accelerations[d]] = g.add(
                    self.along(column[d]), g.dot(along, row))
            found.append(Derivation(g, seeds))
        return found

    @cached_property
    def partners(self):
        """The direction "of ``q_sigma``" per independent speed.

        The coordinate whose rate the speed is; for other quasi-velocities
        the direction in which the coordinates change with it.
        """
        rates = self.kinematics.rates
        n = len(rates)
        found = []
        for sigma, r in enumerate(self.free):
            own = [s for s in range(n) if rates[s] == self.kinematics.u[r]]
            found.append([int(s == own[0]) for s in range(n)] if own
                         else self.velocity_columns[sigma])
        return found

    # -- forms by projection ---------------------------------------------

    def kane(self):
        """``-B^T (F_r + F_r*)``."""
        g = self.g
        rows = []
        for by_speed, force in zip(self.kinematics.by_speed, self.forces):
            total = -force
            for motion in self.motions:
                a = tuple(map(g.sub, motion.a, motion.excess))
                torque = g.added(
                    times(g, motion.inertia, motion.alpha),
                    g.cross(motion.w, motion.momentum))
                total = g.sum((
                    total, g.mul(motion.mass, g.dot(map(by_speed, motion.v),
                                                    a)),
                    g.dot(map(by_speed, motion.w), torque)))
            rows.append(total)
        return self.projected(rows)

    def appell(self):
        """``dS/du' - Q``, (14), with the dependent ``u'`` eliminated."""
        slopes = gradient(self.g, self.gibbs_function, self.accelerations)
        return self.projected(list(map(self.g.sub, slopes, self.forces)))

    def maggi(self):
        """``B^T J^T (d/dt dT/dq' - dT/dq - Q - P)``."""
        g, own = self.g, self.in_velocities
        lagrange = [g.sub(g.sub(x, y), g.add(z, w)) for x, y, z, w in zip(
            own.momentum_rates, own.slopes, own.Q, own.P)]
        rows = self.pulled_back(lagrange)
        return self.projected(list(map(g.sub, rows, self.given_forces)))

    def boltzmann_hamel(self):
        """With the transpositional matrix ``D_t J - V_q J``."""
        g, own, T = self.g, self.in_velocities, self.kinetic_energy
        K = self.kinematics
        by_q = gradient(g, T, K.q)
        slopes = [gradient(g, rate, K.q) for rate in K.rates]
        applied = self.pulled_back(list(map(g.add, own.Q, own.P)))
        rows = []
        for r, by_speed in enumerate(K.by_speed):
            column = [row[r] for row in self.J]
            change = [g.sub(self.along(x), g.dot(slope, column))
                      for x, slope in zip(column, slopes)]
            rows.append(g.sum((
                self.along(by_speed(T)), -g.dot(column, by_q),
                -g.dot(own.momenta, change), -applied[r],
                -self.given_forces[r])))
        return self.projected(rows)

    def volterra(self):
        """``D_t dT/du - sum(m v.D_t v_r + H.D_t w_r) - P = Q``."""
        g, rows = self.g, []
        for by_speed, force in zip(self.kinematics.by_speed, self.forces):
            total = g.sub(self.along(by_speed(self.kinetic_energy)), force)
            for motion in self.motions:
                total = g.sub(total, self.volterra_terms(motion, by_speed))
            rows.append(total)
        return self.projected(rows)

    def volterra_terms(self, motion, by_speed):
        """What a body adds on the right of Volterra's form."""
        g, along = self.g, self.along
        v, w = (tuple(map(by_speed, x)) for x in (motion.v, motion.w))
        turning = g.added(map(along, w), g.cross(motion.w, w))
        return g.sum((
            g.mul(motion.mass, g.dot(motion.v, map(along, v))),
            g.dot(motion.momentum, turning),
            motion.momentum_gain(g, along, v, w),
            g.mul(self.half, along(motion.quadratic(g, by_speed)))))

    # -- forms with the dependent speeds eliminated ----------------------

    def eliminated_forces(self, forces):
        """``B^T`` times rows per speed."""
        return [self.g.dot(column, forces) for column in zip(*self.B)]

    def macmillan(self):
        """(8): Volterra's form with ``dT/dq`` on both sides."""
        g, along, T = self.g, self.along, self.kinetic_energy
        rows = []
        for by_speed, partner, force in zip(
                self.by_speed, self.partners,
                self.eliminated_forces(self.forces)):
            by_q = self.by_direction(partner)
            total = g.sum((along(by_speed(T)), -by_q(T), -force))
            for motion in self.motions:
                right = g.sum((
                    self.volterra_terms(motion, by_speed),
                    -g.mul(motion.mass, g.dot(motion.v,
                                              map(by_q, motion.v))),
                    -g.dot(motion.momentum, map(by_q, motion.w)),
                    -g.mul(self.half, motion.quadratic(g, by_q))))
                total = g.sub(total, right)
            rows.append(total)
        return rows

    def nielsen_10(self):
        """(10): ``dT'/du - 2 dT/dq`` with sums over the bodies."""
        g, T = self.g, self.kinetic_energy
        rate = self.along(T)
        rows = []
        for by_speed, of_rate, partner, force in zip(
                self.by_speed, self.in_accelerations, self.partners,
                self.eliminated_forces(self.forces)):
            by_q = self.by_direction(partner)
            twice = g.constant(2)
            total = g.sum((of_rate(rate), -g.mul(twice, by_q(T)), -force))
            for motion in self.motions:
                total = g.sub(total, self.nielsen_terms(
                    motion, by_speed, of_rate, by_q))
            rows.append(total)
        return rows

    def nielsen_terms(self, motion, by_speed, of_rate, by_q):
        """What a body adds on the right of (10)."""
        g, along, twice = self.g, self.along, self.g.constant(2)
        v, w = (tuple(map(by_speed, x)) for x in (motion.v, motion.w))

        def bracket(of_rate, rates, values):
            return [g.sub(of_rate(x), g.mul(twice, by_q(y)))
                    for x, y in zip(rates, values)]

        inertia = [tuple(map(by_speed, row)) for row in motion.inertia]
        change = [bracket(of_rate, map(along, row), row)
                  for row in motion.inertia]
        square = g.dot(motion.v, motion.v)
        mass, = bracket(of_rate, [along(motion.mass)], [motion.mass])
        return g.sum((
            g.mul(motion.mass, g.dot(
                motion.v, bracket(of_rate, motion.a, motion.v))),
            g.dot(motion.momentum, g.added(
                bracket(of_rate, motion.alpha, motion.w),
                g.cross(motion.w, w))),
            motion.momentum_gain(g, along, v, w),
            g.mul(by_speed(motion.mass), g.dot(motion.v, motion.a)),
            g.dot(motion.w, times(g, inertia, motion.alpha)),
            g.mul(self.half, g.add(g.mul(mass, square), g.dot(
                motion.w, times(g, change, motion.w))))))

    def nielsen_13(self):
        """(13): Nielsen's form with momenta of the ``q'``."""
        g, own, T = self.g, self.in_velocities, self.kinetic_energy
        rates, twice = self.kinematics.rates, self.g.constant(2)
        applied = list(map(g.add, own.Q, own.P))
        rows = []
        for of_rate, partner, column, force in zip(
                self.in_accelerations, self.partners, self.velocity_columns,
                self.eliminated_forces(self.given_forces)):
            by_q = self.by_direction(partner)
            change = [g.sub(of_rate(self.along(rate)),
                            g.mul(twice, by_q(rate))) for rate in rates]
            others = list(map(g.sub, column, partner))
            rows.append(g.sum((
                of_rate(self.along(T)), -g.mul(twice, by_q(T)),
                -g.dot(own.momenta, change),
                -g.mul(twice, g.dot(others, own.slopes)),
                -g.dot(column, applied), -force)))
        return rows

    def voronets(self):
        """Boltzmann and Hamel's form of the eliminated quantities."""
        return self.voronets_over(range(len(self.system.q)))

    def voronets_over(self, coordinates):
        """Voronets' form with derivatives by some coordinates only."""
        g, own, T = self.g, self.in_velocities, self.kinetic_energy
        rates = self.kinematics.rates
        applied = list(map(g.add, own.Q, own.P))
        rows = []
        for by_speed, column, force in zip(
                self.by_speed, self.velocity_columns,
                self.eliminated_forces(self.given_forces)):
            total = self.along(by_speed(T))
            change = list(map(self.along, column))
            for s in coordinates:
                by_q = self.by_coordinate[s]
                total = g.sub(total, g.mul(column[s], by_q(T)))
                change = [g.sub(x, g.mul(column[s], by_q(rate)))
                          for x, rate in zip(change, rates)]
            rows.append(g.sum((
                total, -g.dot(own.momenta, change),
                -g.dot(column, applied), -force)))
        return rows

    def chaplygin(self):
        """Voronets' form where the dependent coordinates do not occur."""
        g, K = self.g, self.kinematics
        own = [K.u[r] for r in self.free]
        lean = [s for s, rate in enumerate(K.rates) if rate not in own]
        known = [self.kinetic_energy, *K.rates]
        for s in lean:
            if not all(g.same_value(self.by_coordinate[s](x), 0)
                       for x in known):
                raise UnsupportedFeatureError(
                    f"Chaplygin's form needs a kinetic energy and "
                    f"constraints without {self.system.q[s]}, whose rate is "
                    "no independent speed. Use 'voronets', which is the "
                    "same form with the terms of such coordinates.")
        return self.voronets_over(
            [s for s in range(len(K.rates)) if s not in lean])


FORMS = {
    'kane': 'kane', 'appell': 'appell', 'maggi': 'maggi',
    'boltzmann-hamel': 'boltzmann_hamel', 'voronets': 'voronets',
    'chaplygin': 'chaplygin', 'volterra': 'volterra',
    'macmillan': 'macmillan', 'nielsen': 'nielsen_13',
    'nielsen-10': 'nielsen_10'}


# -- the model in the velocities of its coordinates -----------------------

class VelocityKinematics(Kinematics):
    """Kinematics whose speeds are the ``q'``.

    A velocity that was set in speeds which the ``q'`` do not determine is
    taken from the positions instead, an angular velocity from the
    orientation.
    """

    strange = ()                        # references of such speeds

    @classmethod
    def of(cls, system, anchors):
        """Those of a system, on a builder of their own."""
        own = kinematics_of(system, None, False)
        g, time = own.builder, system.t
        velocities = [x.diff(time) for x in system.q]
        for x in velocities:
            g.bound.pop(x, None)
        refs = [g.input(x, dynamic=True) for x in velocities]
        strange = bind_speeds(g, own, system.u, refs)
        kinematics = cls(g, system.frame, system.q, velocities, refs, anchors)
        kinematics.strange = strange
        kinematics.declare_accelerations(velocities)
        return kinematics

    def _is_own(self, vector):
        return not any(self.builder.depends_on(x, *self.strange)
                       for x in vector)

    def _velocity(self, point, axes):
        found = super()._velocity(point, axes)
        if self._is_own(found):
            return found
        origin, positions = self.positions([point])
        if point not in positions or _compat.velocity(
                origin, self.frame) != 0:
            raise UnsupportedFeatureError(
                f"Point {point} has no position relative to a point at rest, "
                "and its velocity was set in speeds that the q' do not "
                "determine. This form needs velocities in the q'; give the "
                "position with `set_pos`.", point=point)
        return self.rotated(axes, self.frame,
                            tuple(map(self.bias, positions[point])))

    def _angular_velocity(self, frame, axes):
        found = super()._angular_velocity(frame, axes)
        if self._is_own(found):
            return found
        g, R = self.builder, self.rotation(self.frame, frame)
        columns = list(zip(*R))
        change = list(zip(*(map(self.bias, row) for row in R)))
        own = tuple(g.dot(columns[i], change[j])
                    for i, j in ((2, 1), (0, 2), (1, 0)))
        return self.rotated(axes, frame, own)


def bind_speeds(g, kinematics, u, velocities):
    """Bind speeds to what they are in the ``q'``; return those left over.
    """
    rates, speeds = kinematics.rates, kinematics.u
    slopes = jacobian(g, rates, speeds)
    linear = not any(g.depends_on(x, *speeds) for row in slopes for x in row)
    if linear and len(rates) == len(speeds):
        known = substitute(g, rates, dict.fromkeys(speeds, 0))
        found = solve(g, slopes, list(map(g.sub, velocities, known)))
        if found is not None:
            g.bound.update(zip(u, found))
            return []
    equal = dict(zip(rates, velocities))
    g.bound.update((x, equal[ref]) for x, ref in zip(u, speeds)
                   if ref in equal)
    return [ref for ref in speeds if ref not in equal]


def set_by_hand(name):
    return UnsupportedFeatureError(
        f"The velocity of {name} was set, and is not the derivative of its "
        "position or orientation (rolling put in by hand?). This form needs "
        "momenta of the q'. State the velocity in the coordinates and give "
        "the constraint as a row, or use 'kane', 'appell' or 'volterra'.")


def check_integrable(kinematics, motion):
    """Raise unless a velocity is the derivative of some position.

    Then ``D_t dv/dq' = dv/dq``, and ``D_t dw/dq' + w x dw/dq' = dw/dq`` in
    the axes of the body.
    """
    g, along = kinematics.builder, kinematics.total_derivative
    for position, by_speed in zip(kinematics.q, kinematics.by_speed):
        by_position = Derivation(g, {position: 1})
        turn = tuple(map(by_speed, motion.w))
        pairs = list(zip(
            g.added(map(along, turn), g.cross(motion.w, turn)),
            map(by_position, motion.w)))
        if not motion.drifts:           # else v is not of one point
            pairs += [(along(by_speed(x)), by_position(x))
                      for x in motion.v]
        if not all(g.same_value(x, y) for x, y in pairs):
            raise set_by_hand(motion.body.name)


def velocity_form(model):
    """The model as functions of ``q``, ``q'`` and ``q''``.

    Returns
    =======

    Graph
        ``T`` (or the Lagrangian), ``momenta`` ``dT/dq'``, their rates,
        ``slopes`` ``dT/dq``, forces ``Q``, reactive terms ``P``, and the
        ``velocities`` of the bodies, six rows each.
    list of str
        Names of the bodies.

    """
    system = model.system
    kinematics = VelocityKinematics.of(system, model.anchors)
    g, along = kinematics.builder, kinematics.total_derivative
    strange, q = kinematics.strange, system.q
    if system.lagrangian is not None:
        T, motions, P = read(g, system.lagrangian), [], [0]*len(q)
    else:
        motions = [BodyMotion(kinematics, body) for body in system.bodies]
        for motion in motions:
            check_integrable(kinematics, motion)
        T = g.sum(motion.kinetic_energy(g) for motion in motions)
        P = reactive_forces(kinematics, motions)
    if strange and g.depends_on(T, *strange):
        raise UnsupportedFeatureError(
            "A mass or an inertia depends on speeds that the q' do not "
            "determine. Write it in the derivatives of the coordinates, or "
            "use 'kane', 'appell' or 'volterra'.")
    blocks = from_bodies(kinematics, (), parse_loads(system.loads),
                         model.potential)
    momenta = gradient(g, T, kinematics.u)
    columns = {
        'T': [T], 'momenta': momenta, 'P': P,
        'momentum_rates': list(map(along, momenta)),
        'slopes': gradient(g, T, kinematics.q),
        'Q': [x for x, in blocks['Q']],
        'velocities': [x for motion in motions
                       for x in (*motion.v, *motion.w)]}
    return Graph.freeze(g, {
        name: ([[x] for x in refs], 1) for name, refs in columns.items()
    }), [body.name for body in system.bodies]
