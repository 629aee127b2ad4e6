"""Masses, inertias, forces and energies that are no numbers."""
from sympy import Integral, Symbol
from sympy.physics.mechanics import Particle, RigidBody, inertia
from sympy.physics.vector import outer

from errors.parts import (
    A, G, L, P, ROD, Case, flat, g, k, kane, m, t, u, x, y, z)
from sympy_constrained import UdwadiaKalabaMethod, VaccoMethod
from sympy_constrained.errors import (
    ConstrainedDynamicsError, MissingIngredientError)

a = Symbol('a', commutative=False)


def with_mass(mass, cls=UdwadiaKalabaMethod):
    return kane(cls, bodies=[Particle('a', P, mass)])


def with_potential(energy):
    body = Particle('a', P, m)
    body.potential_energy = energy
    return kane(bodies=[body], potential_energy='include')


CASES = (
    Case('a negative mass', lambda: with_mass(-Symbol('m', positive=True)),
         ConstrainedDynamicsError,
         'Body 0, a, has the negative', 'mass -m', 'Correct the sign'),
    Case('a product of inertia that stands there once',
         lambda: kane(bodies=[RigidBody('a', G, A, m, (
             inertia(A, 1, 1, 1) + k*outer(A.x, A.y), G))]),
         ConstrainedDynamicsError,
         'Body a: The inertia `(A.x|A.x) + (A.y|A.y)', 'is not symmetric',
         'give both, or make it by `inertia(frame, ixx,'),
    Case('a potential energy with a speed', lambda: with_potential(k*u),
         ConstrainedDynamicsError, 'The potential energy `k*u(t)` contains a',
         'Potential energy is a function of the',
         'give what depends on speeds as a load'),
    Case('a Lagrangian with an integral that is not evaluated',
         lambda: flat(Lagrangian=L + Integral(x, (t, 0, 1))),
         ConstrainedDynamicsError, '`Lagrangian`: The model contains',
         '`Integral(x(t), (t, 0, 1))`. Integrals,',
         'call `.doit()` on an integral or a sum, model an'),
    Case('a Lagrangian without velocities',
         lambda: flat(Lagrangian=-m*g*y).acceleration,
         MissingIngredientError, 'The mass matrix is singular, so some',
         'accelerations are not determined',
         'Give every direction a mass or a constraint'),
    Case('vakonomic equations of a coordinate without mass',
         lambda: flat(VaccoMethod, qs=[x, y, z], hol_coneqs=[ROD]).rhs(),
         MissingIngredientError, '(V) is singular for all states',
         'the Lagrangian and the constraints',
         'Read `variation.regularity_matrix`, and use'),
    Case('the acceleration without constraints of a coordinate without mass',
         lambda: flat(qs=[x, y, z], hol_coneqs=[z - x]
                      ).unconstrained_acceleration,
         MissingIngredientError, 'The mass matrix is singular',
         'without its constraints the model has no',
         'Read `acceleration`, or give mass to every'),)
