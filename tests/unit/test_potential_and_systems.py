"""Potential energies in Kane's shape, systems without speeds, joints."""
import pytest
from sympy import Matrix, cos, sin, symbols
from sympy.physics.mechanics import (
    JointsMethod, LagrangesMethod, Particle, PinJoint, RigidBody, System,
    dynamicsymbols)

from sympy_constrained import (
    HamelEmbedding, LinearMappingMethod, RouthMethod, UdwadiaKalabaMethod)

m, g, l, k, c = symbols('m g l k c', positive=True)
q, u = dynamicsymbols('q u')


def pendulum(speed, kind=System):
    """A pendulum with gravity as potential energy, and its bob."""
    wall, bob = RigidBody('wall'), RigidBody('bob', mass=m)
    bob.central_inertia = bob.central_inertia*0
    joint = PinJoint('pin', wall, bob, q, speed, child_point=-l*bob.x,
                     joint_axis=wall.z)
    bob.potential_energy = -m*g*l*cos(q)
    if kind is JointsMethod:
        return JointsMethod(wall, joint), bob
    system = System.from_newtonian(wall)
    system.add_joints(joint)
    return system, bob


def falls(method):
    """Whether it is the equation of the pendulum."""
    return (method.acceleration[0] + g/l*sin(q)).simplify() == 0


@pytest.mark.parametrize('cls', [
    UdwadiaKalabaMethod, RouthMethod, LinearMappingMethod])
def test_gravity_as_potential_energy_counts(cls):
    system, _ = pendulum(u)
    with pytest.warns(UserWarning, match='bob is counted') as found:
        system.form_eoms(eom_method=cls)
    assert found[0].filename == __file__
    assert falls(system.eom_method)
    joints, _ = pendulum(u, JointsMethod)
    with pytest.warns(UserWarning, match='bob is counted'):
        joints.form_eoms(cls)
        assert falls(joints.method)
        assert falls(cls.from_method(joints))


@pytest.mark.parametrize('force, energy, counts', [
    (-m*g, m*g*l*sin(q), False), (-k*q - c*u, k*q**2/2, False),
    (-c*u, k*q**2/2, True), (-c*l*u, m*g*l*sin(q), True),
    (-9.81*m, 9.81*m*l*sin(q), False)])
@pytest.mark.filterwarnings('error')
def test_forces_are_not_counted_twice(force, energy, counts):
    """Unless the loads contain a constant of the potential energy."""
    system, bob = pendulum(u)
    bob.potential_energy = energy
    system.add_loads((bob.masscenter, force*system.x))
    with pytest.warns(UserWarning, match=(
            'is counted' if counts else 'is not counted')):
        found = UdwadiaKalabaMethod.from_method(system)
    known = UdwadiaKalabaMethod.from_method(
        system, potential_energy='include' if counts else 'ignore')
    assert found.system.Q == known.system.Q
    assert sum(found.kanes_equations()[0] - known.kanes_equations()[0]) == 0


@pytest.mark.parametrize('cls', [
    UdwadiaKalabaMethod, RouthMethod, HamelEmbedding])
def test_a_system_without_speeds_has_lagranges_shape(cls):
    system, _ = pendulum(q.diff())
    system.u_ind, system.kdes = [], []
    equations = system.form_eoms(eom_method=cls)
    system.form_eoms(eom_method=LagrangesMethod)
    assert (equations - system.eom_method.eom).expand() == Matrix([0])
    assert falls(cls.from_method(system))


def test_rows_of_a_system_without_speeds():
    """Its velocity constraints repeat those of the positions."""
    x, y = dynamicsymbols('x y')
    ground = RigidBody('ground')
    system = System.from_newtonian(ground)
    bob = Particle('bob', mass=m)
    bob.masscenter.set_pos(system.fixed_point, x*system.x + y*system.y)
    bob.potential_energy = m*g*y
    system.add_coordinates(x, y)
    system.add_bodies(bob)
    system.add_holonomic_constraints(x**2 + y**2 - l**2)
    system.form_eoms(eom_method=UdwadiaKalabaMethod)
    assert system.eom_method.system.counts == (2, 2, 1)
    assert system.mass_matrix.shape == (2, 3)
    system.q_ind, system.q_dep = [x], [y]
    assert list(HamelEmbedding.from_method(
        system).embedding.q_dependent) == [y]
