"""Random trees of bodies and joints of SymPy, against other derivations."""
from random import Random

import pytest
from numpy.testing import assert_allclose
from sympy import lambdify, symbols
from sympy.physics.mechanics import (
    CylindricalJoint, KanesMethod, Lagrangian, PinJoint, PlanarJoint,
    PrismaticJoint, RigidBody, SphericalJoint, System, WeldJoint, inertia)

from sympy_constrained import UdwadiaKalabaMethod

m, g, l, *moments = symbols('m g l Ix Iy Iz', positive=True)
ONE = PinJoint, PrismaticJoint
ANY = (*ONE, WeldJoint, CylindricalJoint, SphericalJoint, PlanarJoint)


def tree(random, size, kinds=ANY, branches=True):
    """A System of bodies."""
    system = System.from_newtonian(RigidBody('ground'))
    bodies = [*system.bodies]
    for i in range(size):
        parent = random.choice(bodies) if branches else bodies[-1]
        body = RigidBody(f'b{i}', mass=(i + 1)*m)
        body.central_inertia = inertia(body.frame, *moments, random.choice(
            [0, m*l**2/9]))
        points = {
            name: random.choice([-1, 1, 2])*l/3*x.x + random.choice([0, l])*x.y
            for name, x in (('parent_point', parent), ('child_point', body))}
        kind = random.choice(kinds)
        if kind in (*ONE, CylindricalJoint):
            points['joint_axis'] = random.choice(
                [parent.x, parent.y, parent.z, parent.x + parent.z])
        system.add_joints(kind(f'j{i}', parent, body, **points))
        bodies.append(body)
    return system


def numbers(random, system):
    """Constants, coordinates and speeds, also by the names of rates."""
    values = {x: random.uniform(.5, 2) for x in (m, g, l, *moments)}
    for q, u in zip(system.q, system.u):
        values[q] = random.uniform(-1, 1)
        values[u] = values[q.diff()] = random.uniform(-1, 1)
    return values


def blocks(method, values):
    return method.system.graph.evaluate(values, ('M', 'Q')).values()


def close(one, other):
    for a, b in zip(one, other):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('seed', range(12))
def test_trees_are_lagranges_equations_of_their_energy(seed):
    random = Random(seed)
    system = tree(random, random.choice([3, 4]))
    for body in system.bodies:
        body.potential_energy = body.mass*g*body.masscenter.pos_from(
            system.fixed_point).dot(system.y)
    system.form_eoms(
        eom_method=UdwadiaKalabaMethod, potential_energy='include')
    energy = Lagrangian(system.frame, *system.bodies)
    other = UdwadiaKalabaMethod(energy.xreplace(dict(zip(
        system.u, system.q.diff()))), system.q[:], frame=system.frame)
    values = numbers(random, system)
    close(blocks(system.eom_method, values), blocks(other, values))


def chain(size):
    """A chain in space on pins, under gravity."""
    system = tree(Random(size), size, ONE[:1], branches=False)
    system.apply_uniform_gravity(-g*system.y)
    system.form_eoms(eom_method=UdwadiaKalabaMethod)
    return system


@pytest.mark.parametrize('size', [3, 4])
def test_chains_in_space_are_those_of_kane(size):
    system = chain(size)
    ours = system.eom_method
    system.form_eoms(eom_method=KanesMethod)
    values = numbers(Random(size), system)
    theirs = lambdify([*values], [
        system.eom_method.mass_matrix, system.eom_method.forcing], cse=True)
    close(blocks(ours, values), theirs(*values.values()))


def test_operations_of_a_long_chain():
    """The mass matrix has eleven for an entry; all else is linear."""
    for size in 8, 16, 32:
        graph = chain(size).eom_method.system.graph
        assert graph.operation_count(('M', 'Q')) <= (
            11*size*(size + 1)/2 + 250*size)
