"""Loops as objects against rows that are written by hand."""
from random import Random

import numpy as np
import pytest
from sympy import Matrix, cos, pi, sin, symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, SphericalJoint, System, Vector,
    dynamicsymbols)

from joint_chains import pin_chain
from mechanisms import bennett
from sympy_constrained import (
    GibbsAppellMethod, LinearMappingMethod, Loop, RouthMethod,
    UdwadiaKalabaMethod, VaccoMethod, VoronetsMethod)
from sympy_constrained.errors import ConstraintError
from sympy_constrained.model.loops import perpendicular
from sympy_constrained.timing import time_limit

m, l, d = symbols('m l d')


def chain(size, in_space=False):
    """Arguments of a chain of bars, and its two ends."""
    N, origin = ReferenceFrame('N'), Point('O')
    given, _ = pin_chain(size, absolute=not in_space, ground=(N, origin))
    last = given['bodies'][-1]
    end = last.masscenter.locatenew('end', l/2*last.frame.x)
    return given, end, origin.locatenew('pin', d*N.x + d*N.y)


def at_random(system, *names):
    random = Random(3)
    values = {x: random.uniform(.5, 1.5) for x in sorted(
        system.graph.inputs, key=str)}
    return [np.array(x) for x in system.graph.evaluate(values, names).values()]


@pytest.mark.parametrize('in_space', [False, True])
def test_a_loop_is_the_rows_of_its_gap(in_space):
    given, end, pin = chain(5, in_space)
    N, gap = given['frame'], end.pos_from(pin)
    rows = [gap.dot(axis) for axis in N]
    ours = UdwadiaKalabaMethod(
        **given, configuration_constraints=[Loop(end, pin)]).system
    theirs = UdwadiaKalabaMethod(**given, configuration_constraints=[
        row for row in rows if row != 0]).system
    names = 'holonomic', 'A', 'b', 'M', 'Q'
    for one, other in zip(at_random(ours, *names), at_random(theirs, *names)):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize('cls', [
    UdwadiaKalabaMethod, VoronetsMethod, RouthMethod, VaccoMethod,
    LinearMappingMethod, GibbsAppellMethod])
def test_every_method_takes_loops(cls):
    given, end, pin = chain(4)
    method = cls(**given, loops=[Loop(end, pin)])
    assert len(method.holonomic_constraints) == 2


def test_the_axis_of_a_pin():
    """Bennett's linkage, which moves with five rows of rank two."""
    hand, ours = bennett(), bennett(as_loop=True)
    assert ours.method.system.counts == (3, 3, 5)
    for state in hand.start, ours.start:
        np.testing.assert_allclose(
            ours.compiled.rhs(0., state), hand.compiled.rhs(0., state),
            rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('tilt', [
    lambda x: (sin(x), 0, cos(x)), lambda x: (cos(x), sin(x), 0),
    lambda x: (x, x, 1), lambda x: (0, x, 1 - x)])
def test_a_pin_has_two_rows_where_components_of_its_axis_vanish(tilt):
    N, B, x = ReferenceFrame('N'), ReferenceFrame('B'), symbols('x')
    one, other = (sum((k*e for k, e in zip(tilt(x), F)), Vector(0))
                  for F in (B, N))
    B.orient_body_fixed(N, dynamicsymbols('q:3'), 'ZXY')
    rows = Matrix([n.dot(other) for n in perpendicular(one, B)])
    slopes = rows.jacobian(dynamicsymbols('q:3')).subs(dict.fromkeys(
        dynamicsymbols('q:3'), 0))
    for angle in 0, pi/2, pi, 1:
        assert slopes.subs(x, angle).rank() == 2


def test_reactions_of_a_loop_act_along_its_rows():
    """Unit loads of a row have the generalized forces of the row."""
    method = bennett(as_loop=True).method
    system = method.system
    A, free = at_random(system, 'A', 'Q')
    for k, loads in system.geometry:
        arguments = {**method._arguments, 'configuration_constraints': [],
                     'forcelist': [*system.loads, *loads]}
        (Q,) = at_random(UdwadiaKalabaMethod(**arguments).system, 'Q')
        np.testing.assert_allclose((Q - free)[:, 0], A[k], atol=1e-12)
    assert len(system.geometry) == 5


def test_loops_of_a_system():
    """A chain of ball joints of SymPy is closed by a pin, in seconds."""
    ground, *balls = bodies = [RigidBody(f'b{k}') for k in range(9)]
    system = System.from_newtonian(ground)
    system.add_joints(*(SphericalJoint(
        f'j{ball}', parent, ball, parent_interframe=parent.x + parent.y)
        for parent, ball in zip(bodies, balls)))
    end = balls[-1]
    loop = Loop(end.masscenter, ground.masscenter, (
        end.x + 2*end.y, ground.x + 3*ground.z))
    for _ in range(2):              # SymPy knows the terms of the first one
        with time_limit(10):
            ours = UdwadiaKalabaMethod.from_method(system, loops=[loop])
    loads = len(ours.constraint_loads())    # pytest would print the list
    system.form_eoms(eom_method=UdwadiaKalabaMethod, loops=[loop])
    copy = UdwadiaKalabaMethod.from_method(system.eom_method)
    assert (*ours.system.counts, loads) == (24, 24, 2, 4)
    for one, other in zip(at_random(ours.system, 'A', 'b'),
                          at_random(copy.system, 'A', 'b')):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_a_long_loop_is_not_multiplied_out():
    given, end, pin = chain(64)
    system = UdwadiaKalabaMethod(**given, loops=[Loop(end, pin)]).system
    assert system.graph.operation_count(('M', 'Q', 'A', 'b')) < 12_000


def test_an_axis_is_a_pair_of_vectors_in_their_frames():
    given, end, pin = chain(4)
    N, link = given['frame'], given['bodies'][-1].frame
    with pytest.raises(ConstraintError, match='Give a pair of vectors'):
        UdwadiaKalabaMethod(**given, loops=[
            Loop(end, pin, (N.z + link.z, N.z))])
