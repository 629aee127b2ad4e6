r"""Quantities of the classical forms, and their derivatives on the graph.

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
"""
from functools import cached_property
from types import SimpleNamespace

from ...errors import UnsupportedFeatureError
from ...graph import Derivation, derivative, gradient, read, substitute
from ...graph.linalg import solve
from ...model.build import kinematics_of
from ...model.kinetics import from_bodies, times
from ...model.loads import motion_of, parse_loads
from ...model.variable_mass import BodyMotion
from ..references import flat, units, written
from .velocity_form import check_same_velocities, velocity_form


class FormBuilder:
    """The model on one builder, and derivations along its constraints.

    Lists are indexed by speeds ``r``, independent speeds ``sigma`` and
    coordinates ``s``. ``given`` are forces in addition to those of the loads,
    one per speed, or none.
    """

    def __init__(self, hypersurface, anchors, potential, given):
        self.system = system = hypersurface.system
        self.hypersurface, self.anchors = hypersurface, anchors
        self.potential, self.given = potential, given
        self.kinematics = kinematics_of(system, anchors, False)
        self.kinematics.declare_accelerations()
        self.g = g = self.kinematics.builder
        self.along = self.kinematics.total_derivative
        self.accelerations = list(map(self.along, self.kinematics.u))
        _, out = hypersurface.projection.load(g)
        self.B, self.Z = out['basis'], out['projector']
        self.free = [r for r in range(len(system.u))
                     if r not in hypersurface.dependent]
        self.twice = g.constant(2)
        self.half = g.inv(self.twice)
        self.of_bodies = system.lagrangian is None
        self.check_mass_rates()

    def check_mass_rates(self):
        """Raise if a velocity has the rate of a mass, and this has speeds."""
        # Partial velocities are taken at given rates of masses.
        g, K, system = self.g, self.kinematics, self.system
        _, out = system.graph.load(g, ('mass_rates',))
        rates = {derivative(mass, system.t) for mass, (rate,) in zip(
            system.masses, out['mass_rates']) if g.depends_on(rate, *K.u)}
        places = [place for place, _ in parse_loads(system.loads)]
        places += [place for body in system.bodies for place in (
            body.masscenter, getattr(body, 'frame', None)) if place]
        for place in places if rates else ():
            for rate in rates.intersection(g.symbols_of(
                    *motion_of(K, place, system.frame))):
                raise UnsupportedFeatureError(
                    f"The velocity of {place} contains {rate}, which depends "
                    "on speeds, and the classical forms take it for given. "
                    "Use `eom`, or give the body an anchor.")

    def written(self, refs):
        """A SymPy column, with the rates of masses that are states."""
        g, system = self.g, self.system
        _, out = system.graph.load(g, ('mass_rates',))
        rates, second = {}, {}
        for mass, (rate,) in zip(system.masses, out['mass_rates']):
            rates[g.input(derivative(mass, system.t), dynamic=True)] = rate
            second[g.input(mass.diff(system.t, 2), dynamic=True)] = rate
        again = substitute(g, map(self.along, second.values()), rates)
        refs = substitute(g, refs, {**rates, **dict(zip(second, again))})
        return written(g, refs)

    def projected(self, rows):
        return [self.g.dot(column, rows) for column in zip(*self.Z)]

    # -- ingredients -----------------------------------------------------

    @cached_property
    def motions(self):
        if not self.of_bodies:
            raise UnsupportedFeatureError(
                "This form needs the velocities of bodies, which a Lagrangian "
                "does not contain. Give bodies and loads in the shape of "
                "KanesMethod, or use 'maggi', 'boltzmann-hamel', 'voronets', "
                "'chaplygin' or 'nielsen'.")
        return [BodyMotion(self.kinematics, body)
                for body in self.system.bodies]

    @cached_property
    def inertia(self):
        """Bodies with acceleration and torque of their masses."""
        g = self.g
        return [(motion, tuple(map(g.sub, motion.a, motion.excess)), g.added(
            times(g, motion.inertia, motion.alpha),
            g.cross(motion.w, motion.momentum))) for motion in self.motions]

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
        kinetics = from_bodies(self.kinematics, (), parse_loads(
            self.system.loads), self.potential)
        return [self.g.add(x, y) for (x,), y in zip(
            kinetics.Q, self.given_forces)]

    @cached_property
    def given_forces(self):
        """``generalized_forces``, one per speed."""
        if not self.given:
            return [0]*len(self.system.u)
        return [read(self.g, x) for x in self.given]

    @cached_property
    def gibbs_function(self):
        """``S``, the part of the Gibbs function with accelerations."""
        g, terms = self.g, []
        for motion, a, _ in self.inertia:
            spin = times(g, motion.inertia, motion.alpha)
            terms += [
                g.mul(self.half, g.add(g.mul(motion.mass, g.dot(a, a)),
                                       g.dot(motion.alpha, spin))),
                g.dot(motion.alpha, g.cross(motion.w, motion.momentum))]
        return g.sum(terms)

    @cached_property
    def in_velocities(self):
        """The model in the ``q'``; see :func:`velocity_form`."""
        graph = velocity_form(self.system, self.anchors, self.potential)
        _, out = graph.load(self.g)
        if self.of_bodies:
            check_same_velocities(self.g, self.motions, out['velocities'])
        own = SimpleNamespace(**{
            name: flat(out[name]) for name in (
                'momenta', 'momentum_rates', 'slopes', 'Q', 'P')})
        own.applied = list(map(self.g.add, own.Q, own.P))
        return own

    @cached_property
    def J(self):
        """``dV/du``, rows per coordinate."""
        return [[by_speed(rate) for by_speed in self.kinematics.by_speed]
                for rate in self.kinematics.rates]

    def pulled_back(self, forces):
        return [self.g.dot(column, forces) for column in zip(*self.J)]

    # -- derivations along the constraint surface ------------------------

    @cached_property
    def phi(self):
        """Rows ``phi_d,q``, per dependent speed."""
        g, system = self.g, self.system
        accelerations = system.higher_rows or system.acceleration_rows
        if self.Z != self.B or accelerations:
            reason = 'the model has constraints on accelerations' if (
                self.Z == self.B) else (
                'the reactions act in the directions of `reaction_matrix`')
            raise UnsupportedFeatureError(
                f"This form eliminates dependent speeds, but {reason}. Use "
                "'kane', 'appell', 'maggi', 'boltzmann-hamel' or 'volterra'.")
        _, out = system.graph.load(g, ('velocity', 'velocity_jacobian'))
        rows, dependent = self.hypersurface.rows, self.hypersurface.dependent
        left = [[out['velocity_jacobian'][k][d] for d in dependent]
                for k in rows]
        slopes = [gradient(g, out['velocity'][k][0], self.kinematics.q)
                  for k in rows]
        return [list(row) for row in zip(*(
            solve(g, left, [-x for x in column])
            for column in zip(*slopes)))]

    @cached_property
    def by_speed(self):
        u = self.kinematics.u
        self.phi                        # checks that they exist
        return [Derivation(self.g, dict(zip(u, column)))
                for column in zip(*self.B)]

    def by_direction(self, direction):
        """Derivative along a direction of the coordinates."""
        g = self.g
        seeds = dict(zip(self.kinematics.q, direction))
        seeds.update(
            (self.kinematics.u[d], g.dot(row, direction))
            for d, row in zip(self.hypersurface.dependent, self.phi))
        return Derivation(g, seeds)

    @cached_property
    def by_coordinate(self):
        return list(map(self.by_direction, units(len(self.system.q))))

    @cached_property
    def velocity_columns(self):
        """Columns ``d V_s / d u_sigma`` per independent speed."""
        return [[by_speed(rate) for rate in self.kinematics.rates]
                for by_speed in self.by_speed]

    @cached_property
    def in_accelerations(self):
        """Derivatives by the independent speeds of what contains ``u'``."""
        g, derivations = self.g, []
        for column, along in zip(zip(*self.B), self.velocity_columns):
            seeds = dict(zip(self.kinematics.u, column))
            for d, row in zip(self.hypersurface.dependent, self.phi):
                seeds[self.accelerations[d]] = g.add(
                    self.along(column[d]), g.dot(along, row))
            derivations.append(Derivation(g, seeds))
        return derivations

    @cached_property
    def partners(self):
        """The direction "of ``q_sigma``" per independent speed.

        The coordinate whose rate the speed is; for other quasi-velocities
        the direction in which the coordinates change with it.
        """
        rates, u = self.kinematics.rates, self.kinematics.u
        return [units(len(rates))[rates.index(u[r])] if u[r] in rates
                else column
                for r, column in zip(self.free, self.velocity_columns)]
