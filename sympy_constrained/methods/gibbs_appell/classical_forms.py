r"""The classical forms of the equations of motion, each from its definition.

All of them equal :math:`-B^T E`, with the residual :math:`E` of d'Alembert's
principle and the base vectors :math:`B` of the constraint hypersurface, for
every acceleration and also off the constraints.

=====================  ==============================================
form                   made from
=====================  ==============================================
``'kane'``             partial velocities, (E)
``'appell'``           the Gibbs function :math:`S`, (14)
``'maggi'``            Lagrange's expressions of all coordinates
``'boltzmann-hamel'``  :math:`T^*(q, u, t)` and :math:`D_tJ - V_qJ`
``'voronets'``         :math:`T` with dependent speeds eliminated
``'chaplygin'``        the same without dependent coordinates
``'volterra'``         :math:`T^*` and sums over the bodies
``'macmillan'``        (8)
``'nielsen'``          :math:`\dot T` and momenta, (13)
``'nielsen-10'``       :math:`\dot T` and sums over the bodies, (10)
=====================  ==============================================

Equation numbers are those of R. Qiu, "The equation of motion for the system
of the variable mass in the non-linear non-holonomic space" (received 1995).
"""
from ...errors import UnsupportedFeatureError
from ...graph import gradient
from ...model.kinetics import times
from .form_builder import FormBuilder


class ClassicalForms(FormBuilder):
    """One method per form."""

    def form(self, name):
        """The rows of a form as a SymPy column."""
        return self.written(getattr(self, name.replace('-', '_'))())

    # -- forms by projection ---------------------------------------------

    def kane(self):
        """``-B^T (F_r + F_r*)``."""
        g = self.g
        return self.projected([
            g.sum((-force, *(g.add(
                g.mul(motion.mass, g.dot(map(by_speed, motion.v), a)),
                g.dot(map(by_speed, motion.w), torque))
                for motion, a, torque in self.inertia)))
            for by_speed, force in zip(self.kinematics.by_speed, self.forces)])

    def appell(self):
        """``dS/du' - Q``, (14), with the dependent ``u'`` eliminated."""
        slopes = gradient(self.g, self.gibbs_function, self.accelerations)
        return self.projected(list(map(self.g.sub, slopes, self.forces)))

    def maggi(self):
        """``B^T J^T (d/dt dT/dq' - dT/dq - Q - P)``."""
        g, own = self.g, self.in_velocities
        lagrange = [g.sub(g.sub(x, y), z) for x, y, z in zip(
            own.momentum_rates, own.slopes, own.applied)]
        rows = self.pulled_back(lagrange)
        return self.projected(list(map(g.sub, rows, self.given_forces)))

    def boltzmann_hamel(self):
        """With the transpositional matrix ``D_t J - V_q J``."""
        g, own, T, K = (self.g, self.in_velocities, self.kinetic_energy,
                        self.kinematics)
        by_q = gradient(g, T, K.q)
        slopes = [gradient(g, rate, K.q) for rate in K.rates]
        rows = []
        for by_speed, column, applied, force in zip(
                K.by_speed, zip(*self.J), self.pulled_back(own.applied),
                self.given_forces):
            change = [g.sub(self.along(x), g.dot(slope, column))
                      for x, slope in zip(column, slopes)]
            rows.append(g.sum((
                self.along(by_speed(T)), -g.dot(column, by_q),
                -g.dot(own.momenta, change), -applied, -force)))
        return self.projected(rows)

    def volterra(self):
        """``D_t dT/du - sum(m v.D_t v_r + H.D_t w_r) - P = Q``."""
        g, T = self.g, self.kinetic_energy
        return self.projected([g.sum((
            self.along(by_speed(T)), -force, *(
                -self.volterra_terms(motion, by_speed)
                for motion in self.motions)))
            for by_speed, force in zip(self.kinematics.by_speed, self.forces)])

    def volterra_terms(self, motion, by_speed):
        """Terms of one body on the right of Volterra's form."""
        g, along = self.g, self.along
        v, w = (tuple(map(by_speed, x)) for x in (motion.v, motion.w))
        turning = g.added(map(along, w), g.cross(motion.w, w))
        return g.sum((
            g.mul(motion.mass, g.dot(motion.v, map(along, v))),
            g.dot(motion.momentum, turning),
            motion.momentum_gain(g, along, v, w),
            g.mul(self.half, along(motion.quadratic(g, by_speed)))))

    # -- forms with the dependent speeds eliminated ----------------------

    def macmillan(self):
        """(8): Volterra's form with ``dT/dq`` on both sides."""
        g, T, rows = self.g, self.kinetic_energy, []
        for by_speed, partner, force in zip(
                self.by_speed, self.partners, self.projected(self.forces)):
            by_q = self.by_direction(partner)
            rows.append(g.sum((
                self.along(by_speed(T)), -by_q(T), -force, *(
                    -g.sum((
                        self.volterra_terms(motion, by_speed),
                        -g.mul(motion.mass, g.dot(motion.v,
                                                  map(by_q, motion.v))),
                        -g.dot(motion.momentum, map(by_q, motion.w)),
                        -g.mul(self.half, motion.quadratic(g, by_q))))
                    for motion in self.motions))))
        return rows

    def nielsen_10(self):
        """(10): ``dT'/du - 2 dT/dq`` with sums over the bodies."""
        g, T, rows = self.g, self.kinetic_energy, []
        for by_speed, of_rate, partner, force in zip(
                self.by_speed, self.in_accelerations, self.partners,
                self.projected(self.forces)):
            by_q = self.by_direction(partner)
            rows.append(g.sum((
                of_rate(self.along(T)), -g.mul(self.twice, by_q(T)), -force,
                *(-self.nielsen_terms(motion, by_speed, of_rate, by_q)
                  for motion in self.motions))))
        return rows

    def nielsen_terms(self, motion, by_speed, of_rate, by_q):
        """Terms of one body on the right of (10)."""
        g, along = self.g, self.along
        v, w = (tuple(map(by_speed, x)) for x in (motion.v, motion.w))

        def bracket(rates, values):
            return [g.sub(of_rate(x), g.mul(self.twice, by_q(y)))
                    for x, y in zip(rates, values)]

        inertia = [tuple(map(by_speed, row)) for row in motion.inertia]
        change = [bracket(map(along, row), row) for row in motion.inertia]
        mass, = bracket([along(motion.mass)], [motion.mass])
        return g.sum((
            g.mul(motion.mass, g.dot(motion.v, bracket(motion.a, motion.v))),
            g.dot(motion.momentum, g.added(
                bracket(motion.alpha, motion.w), g.cross(motion.w, w))),
            motion.momentum_gain(g, along, v, w),
            g.mul(by_speed(motion.mass), g.dot(motion.v, motion.a)),
            g.dot(motion.w, times(g, inertia, motion.alpha)),
            g.mul(self.half, g.add(
                g.mul(mass, g.dot(motion.v, motion.v)),
                g.dot(motion.w, times(g, change, motion.w))))))

    def nielsen(self):
        """(13): Nielsen's form with momenta of the ``q'``."""
        g, own, T, rows = self.g, self.in_velocities, self.kinetic_energy, []
        for of_rate, partner, column, force in zip(
                self.in_accelerations, self.partners, self.velocity_columns,
                self.projected(self.given_forces)):
            by_q = self.by_direction(partner)
            change = [g.sub(of_rate(self.along(rate)),
                            g.mul(self.twice, by_q(rate)))
                      for rate in self.kinematics.rates]
            others = list(map(g.sub, column, partner))
            rows.append(g.sum((
                of_rate(self.along(T)), -g.mul(self.twice, by_q(T)),
                -g.dot(own.momenta, change),
                -g.mul(self.twice, g.dot(others, own.slopes)),
                -g.dot(column, own.applied), -force)))
        return rows

    def voronets(self, coordinates=None):
        """Boltzmann and Hamel's form of the eliminated quantities.

        With derivatives by some ``coordinates`` only; by default by all.
        """
        g, own, T, rows = self.g, self.in_velocities, self.kinetic_energy, []
        if coordinates is None:
            coordinates = range(len(self.system.q))
        for by_speed, column, force in zip(
                self.by_speed, self.velocity_columns,
                self.projected(self.given_forces)):
            total = self.along(by_speed(T))
            change = list(map(self.along, column))
            for s in coordinates:
                by_q = self.by_coordinate[s]
                total = g.sub(total, g.mul(column[s], by_q(T)))
                change = [g.sub(x, g.mul(column[s], by_q(rate)))
                          for x, rate in zip(change, self.kinematics.rates)]
            rows.append(g.sum((
                total, -g.dot(own.momenta, change),
                -g.dot(column, own.applied), -force)))
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
                    "not an independent speed. Use 'voronets', the same form "
                    "with the terms of such coordinates.")
        return self.voronets([
            s for s in range(len(K.rates)) if s not in lean])


FORMS = ('kane', 'appell', 'maggi', 'boltzmann-hamel', 'voronets',
         'chaplygin', 'volterra', 'macmillan', 'nielsen', 'nielsen-10')
