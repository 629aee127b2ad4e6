"""What the classical forms are made from, as SymPy expressions."""
from functools import cached_property

from sympy.physics.mechanics import RigidBody
from sympy.physics.vector import Vector

from ...errors import UnsupportedFeatureError
from ...graph.writing import nested


class Ingredients:
    """Energies, momenta, partial velocities and the residual ``E``.

    Read it as :attr:`.GibbsAppellMethod.ingredients`; each attribute is
    computed when it is read.
    """

    def __init__(self, forms, projected):
        self._forms, self._projected = forms, projected

    @cached_property
    def unrestricted_residual(self):
        """``E`` without reactions, in ``q``, ``u`` and ``u'``, (p, 1)."""
        return self._projected.sympy('residual')

    @cached_property
    def gibbs_function(self):
        r"""``S``: :math:`\frac12 m a^2 + \frac12\alpha\cdot I\cdot\alpha
        + \alpha\cdot(\omega\times I\omega)`."""
        return self._forms.written([self._forms.gibbs_function])[0]

    @cached_property
    def kinetic_energy(self):
        """``T*(q, u, t)`` of the bodies."""
        if not self._forms.of_bodies:
            raise UnsupportedFeatureError(
                "The model was given by a Lagrangian, from which kinetic and "
                "potential energy cannot be separated. Give bodies.")
        return self._forms.written([self._forms.kinetic_energy])[0]

    @cached_property
    def momenta(self):
        """``p_s = dT/dq_s'`` in terms of the speeds, shape (n, 1)."""
        return self._forms.written(self._forms.in_velocities.momenta)

    @cached_property
    def partial_velocities(self):
        """Body -> list of its partial velocities, one per speed.

        Vectors of the mass centre for a ``Particle``, pairs with the partial
        angular velocity for a ``RigidBody``.
        """
        velocities = {}
        for motion in self._forms.motions:
            velocities[motion.body] = rows = []
            for by_speed in self._forms.kinematics.by_speed:
                v = self._vector(map(by_speed, motion.v),
                                 self._forms.system.frame)
                rows.append((v, self._vector(
                    map(by_speed, motion.w), motion.body.frame))
                    if isinstance(motion.body, RigidBody) else v)
        return velocities

    def _vector(self, numbers, frame):
        return sum((x*axis for x, axis in zip(
            nested(self._forms.g, list(numbers)), frame)), Vector(0))
