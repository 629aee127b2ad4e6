"""Names of loops in rows and reactions, and rows that contradict."""
from inspect import signature

import pytest
from sympy import Symbol, symbols
from sympy.physics.mechanics import (
    PinJoint, RigidBody, System, dynamicsymbols, inertia)

from sympy_constrained import Loop, RouthMethod, UdwadiaKalabaMethod
from sympy_constrained.errors import (
    ConstraintError, InconsistentConstraintsError)
from sympy_constrained.interop import to_source
from sympy_constrained.model.call_signatures import arguments_of
from sympy_constrained.model.units import units_of
from sympy_constrained.numeric import compile_equations, simulate

m, g, l, d, c = symbols('m g l d c')
x, y = dynamicsymbols('x y')
LAGRANGIAN = m*(x.diff()**2 + y.diff()**2)/2 - m*g*y
ROD = (x**2 + y**2 - l**2)/2
START = {x: 1, y: 0, x.diff(): 0, y.diff(): 0}


def two_bars():
    """A system of two bars, the end of the second, and a pin of the ground."""
    ground, one, two = (RigidBody(name, mass=m) for name in 'abc')
    for body in one, two:
        body.central_inertia = inertia(body.frame, 0, 0, m*l**2/3)
    system = System.from_newtonian(ground)
    system.add_joints(
        PinJoint('p', ground, one, child_point=-l*one.x,
                 joint_axis=ground.z),
        PinJoint('q', one, two, parent_point=l*one.x, child_point=-l*two.x,
                 joint_axis=one.z))
    system.apply_uniform_gravity(-g*ground.y)
    return (system, two.masscenter.locatenew('end', l*two.x),
            ground.masscenter.locatenew('pin', d*ground.x))


def test_a_loop_names_its_rows():
    system, end, pin = two_bars()
    method = UdwadiaKalabaMethod.from_method(system, loops=[
        Loop(end, pin), Loop(end, pin, name='again')])
    names = ('end-pin x', 'end-pin y', 'again x', 'again y')
    assert method.system.constraint_names == names
    assert method.equations_of_motion.constraint_names == names
    with pytest.raises(ConstraintError, match='again x'):
        RouthMethod.from_method(method)._check_independent('so')
    with pytest.raises(ConstraintError, match='Two loops have the name'):
        UdwadiaKalabaMethod.from_method(system, loops=[
            Loop(end, pin, name='a'), Loop(pin, end, name='a')])


def test_a_single_loop_needs_no_list():
    system, end, pin = two_bars()
    method = UdwadiaKalabaMethod.from_method(system, loops=Loop(end, pin))
    assert method.system.constraint_names == ('end-pin x', 'end-pin y')


@pytest.mark.parametrize('wrong, message', [
    (lambda system, end, pin: Loop(end, system.bodies[0]),
     'RigidBody in place of a Point.*`masscenter`'),
    (lambda system, end, pin: Loop(end, pin, axis=system.z),
     'end-pin is one Vector. Pass two')])
def test_what_is_no_loop(wrong, message):
    system, *points = two_bars()
    with pytest.raises(TypeError, match=message):
        UdwadiaKalabaMethod.from_method(system, loops=[wrong(system, *points)])


def test_units_of_the_rows_of_a_loop():
    system, end, pin = two_bars()
    units = units_of({**arguments_of(system)[1], 'configuration_constraints': [
        end.pos_from(pin).dot(system.x), Loop(end, pin, name='pin'),
        system.q[0]]})
    assert units['multiplier of pin x'] == 'N' == units[
        'multiplier of holonomic row 0']
    assert 'holonomic row 2' not in units       # it is row 3 or 4


def test_the_reaction_of_a_loop_is_one_force():
    system, end, pin = two_bars()
    method = UdwadiaKalabaMethod.from_method(system, loops=[Loop(end, pin)])
    found = method.joint_reactions()
    assert list(found) == ['end-pin', 'p', 'q']
    assert [x.body for x in found.values()] == ['c', 'b', 'c']
    compiled = compile_equations(method, {m: 1, g: 9.8, l: 1, d: 1.5})
    start = [0.7, -1.3, 0.4, -0.2]
    numbers = found.function(compiled)(0, start)['end-pin']
    assert numbers[:2] == pytest.approx(compiled.multipliers(0, start))
    assert abs(numbers[2:]).max() == 0
    assert Loop(pin, end).label == 'pin-end'
    opposite = UdwadiaKalabaMethod.from_method(
        system, loops=[Loop(pin, end)]).joint_reactions()['pin-end']
    assert opposite.body == 'the ground'
    with pytest.raises(ValueError, match='Did you mean `g`'):
        method.joint_reactions(constants={Symbol('gg'): 9.8})


@pytest.mark.parametrize('rows', [
    {'hol_coneqs': [ROD, 2*ROD + 1]},
    {'hol_coneqs': [x - 1, 2*x - 17]},
    {'nonhol_coneqs': [x.diff() - 1, 2*x.diff() - 3]}])
def test_rows_that_contradict_each_other_at_the_door(rows):
    with pytest.raises(InconsistentConstraintsError,
                       match='Row 1 .* is a multiple of Row 0 .* no state'):
        UdwadiaKalabaMethod(LAGRANGIAN, [x, y], **rows)


def test_rows_that_contradict_each_other_for_some_constants():
    method = UdwadiaKalabaMethod(LAGRANGIAN, [x, y],
                                 hol_coneqs=[ROD, 2*ROD + c])
    known = {m: 1, g: 9.8, l: 1}
    for initial in 'check', 'project':
        with pytest.raises(InconsistentConstraintsError,
                           match='holonomic row 1 is a multiple .* 0.5'):
            simulate(method, 0.1, START, constants={**known, c: 0.5},
                     initial=initial)
    assert simulate(method, 0.1, START, constants={**known, c: 0}).t[-1] == 0.1
    # rounding of floats is no contradiction
    UdwadiaKalabaMethod(LAGRANGIAN, [x, y],
                        hol_coneqs=[0.1*x - 0.03, 0.3*x - 0.09])


def test_misspelt_constants():
    method = UdwadiaKalabaMethod(
        LAGRANGIAN, [x, y], hol_coneqs=[ROD],
        generalized_forces=[-Symbol('damping')*x.diff(), 0])
    with pytest.raises(ValueError, match='did you mean damping'):
        to_source(method, constants={'dampin': 1})
    with pytest.raises(ValueError, match='Did you mean `damping`'):
        UdwadiaKalabaMethod.from_method(method, sample={Symbol('dampng'): 1})


def test_the_signature_names_arguments_and_options():
    found = signature(UdwadiaKalabaMethod).parameters
    assert {'q_ind', 'kd_eqs', 'Lagrangian', 'hol_coneqs', 'stabilization',
            'loops', 'weight', 'nonideal_forces'} <= {*found}
    assert found['explicit_kinematics'].default is True
    assert 'stabilization' not in signature(RouthMethod).parameters
