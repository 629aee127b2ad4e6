"""The recursive equations of trees agree with the ordinary form."""
import warnings

import numpy as np
import pytest
import ready
from combinations import every_third
from joint_chains import as_system, pin_chain
from sympy import symbols
from sympy.physics.mechanics import (
    Force, LagrangesMethod, Particle, Point, ReferenceFrame, Torque,
    dynamicsymbols)

from sympy_constrained import HamelEmbedding, UdwadiaKalabaMethod
from sympy_constrained.errors import (
    MissingIngredientError, SingularEquationsError, UnsupportedFeatureError)
from sympy_constrained.models import MODELS
from sympy_constrained.numeric import compile_equations, consistent_state

pytest.importorskip('numba')
pytest.importorskip('llvmlite')

# Relative to the largest acceleration.
EQUAL = 1e-11
# Wheels without an orientation; speeds that move no body.
REFUSED = {'bicycle', 'bicycle_whole', 'rolling_disc_contact'}


def difference(ordinary, recursive, t, x):
    """Relative difference of the rates of two compilations."""
    assert ordinary.states == recursive.states
    rates = ordinary.rhs(t, x)
    return abs(rates - recursive.rhs(t, x)).max()/abs(rates).max()


def both(model, values, inputs=None):
    return (compile_equations(model, values, inputs=inputs),
            compile_equations(model, values, inputs=inputs, recursion=True))


@pytest.mark.parametrize('name', every_third([
    name for name in MODELS if name not in REFUSED | ready.LAGRANGE]))
def test_ready_models_move_alike(name):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model = MODELS[name]()
        method = model.form(UdwadiaKalabaMethod)
        ordinary, recursive = both(method, model.parameters, model.inputs)
    x = consistent_state(ordinary, ordinary.names.vector(model.start, 'x'))
    rng = np.random.default_rng(5)
    for size in 0, 0.02, 0.05:
        y = consistent_state(ordinary, x + size*rng.normal(size=len(x)))
        assert difference(ordinary, recursive, 0.3, y) < EQUAL
        if ordinary.multiplier_names:
            known = ordinary.multipliers(0.3, y)
            assert recursive.multipliers(0.3, y) == pytest.approx(
                known, abs=1e-9*abs(known).max())
    if ordinary.has('energy'):
        assert recursive.energy(0.3, y) == pytest.approx(
            ordinary.energy(0.3, y))


@pytest.mark.parametrize('name', sorted(REFUSED))
def test_models_without_a_recursive_form_are_refused(name):
    model = MODELS[name]()
    method = model.form(UdwadiaKalabaMethod)
    with pytest.raises(UnsupportedFeatureError, match='recursion=False'):
        compile_equations(method, model.parameters, recursion=True)
    ordinary = compile_equations(method, model.parameters, recursion='auto')
    assert ordinary.unknowns


@pytest.mark.parametrize('absolute', [False, True])
def test_chains_of_frames_and_points(absolute):
    arguments, values = pin_chain(7, absolute=absolute)
    ordinary, recursive = both(UdwadiaKalabaMethod(**arguments), values)
    x = np.random.default_rng(2).uniform(-1, 1, 14)
    assert difference(ordinary, recursive, 0., x) < EQUAL
    batch = np.array([x, 2*x, -x])
    assert recursive.rhs(0., batch) == pytest.approx(ordinary.rhs(0., batch))


def test_loads_in_axes_of_other_bodies():
    """A follower force of one body on another one, and springs."""
    arguments, values = pin_chain(4)
    q = arguments['q_ind']
    k, f = symbols('k f')
    bodies = arguments['bodies']
    one, three = bodies[0], bodies[3]
    arguments['forcelist'] += [
        Force(three.masscenter, f*q[1]*one.x),
        Torque(one.frame, k*q[0]*three.z), Torque(three.frame, -k*three.y),
        Torque(bodies[1].frame, k*q[2]*bodies[2].x)]
    for body in bodies:
        body.potential_energy = k*q[1]**2/2*body.mass
    ordinary, recursive = both(
        UdwadiaKalabaMethod(**arguments, potential_energy='include'),
        {**values, k: 0.3, f: 2.})
    x = np.random.default_rng(3).uniform(-1, 1, 8)
    assert difference(ordinary, recursive, 0., x) < EQUAL
    assert recursive.energy(0., x) == pytest.approx(ordinary.energy(0., x))


def test_inputs_are_expressions():
    arguments, values = pin_chain(3)
    drive, factor = dynamicsymbols('drive factor')
    t, q1 = dynamicsymbols._t, arguments['q_ind'][0]
    frame = arguments['bodies'][1].frame
    arguments['forcelist'].append(Torque(frame, drive*frame.y))
    method = UdwadiaKalabaMethod(**arguments)
    ordinary, recursive = both(method, values, {
        'drive': 3*t*factor, factor: q1 + q1.diff()})
    x = np.random.default_rng(3).uniform(-1, 1, 6)
    assert difference(ordinary, recursive, 0.7, x) < EQUAL
    for inputs, error, text in (
            (None, MissingIngredientError, 'was given for drive'),
            ({'driv': 1}, MissingIngredientError, 'did you mean drive'),
            ({q1: 1}, MissingIngredientError, 'specified function; known: d'),
            ({'ask': q1}, MissingIngredientError, r'known: drive\.'),
            ({drive.diff(t): 1}, MissingIngredientError, 'is no specified'),
            ({drive: t, drive.diff(t): 1}, UnsupportedFeatureError,
             'which follows from the first'),
            ({drive: pow}, UnsupportedFeatureError, 'Python function')):
        with pytest.raises(error, match=text):
            compile_equations(method, values, inputs, recursion=True)
    for name, x in (('configuration_constraints', q1),
                    ('velocity_constraints', arguments['u_ind'][0])):
        method = UdwadiaKalabaMethod(**arguments, **{name: [drive - x**2]})
        with pytest.raises(UnsupportedFeatureError, match='a constraint on'):
            compile_equations(method, values, {drive: x}, recursion=True)


def test_velocities_that_are_no_derivatives_are_refused():
    arguments, values = pin_chain(3)
    last = arguments['bodies'][-1].masscenter
    N = arguments['frame']
    last.set_vel(N, arguments['u_ind'][0]*N.x)
    with pytest.raises(UnsupportedFeatureError, match='derivative'):
        compile_equations(UdwadiaKalabaMethod(**arguments), values,
                          recursion=True)


def test_set_velocities_that_are_derivatives():
    arguments, values = pin_chain(4, velocities=True)
    ordinary, recursive = both(UdwadiaKalabaMethod(**arguments), values)
    x = np.random.default_rng(3).uniform(-1, 1, 8)
    assert difference(ordinary, recursive, 0., x) < EQUAL


def test_a_joint_without_inertia_has_no_acceleration():
    x, v, m = *dynamicsymbols('x v'), symbols('m')
    N, O, P = ReferenceFrame('N'), Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, x*N.x)
    equations = compile_equations(UdwadiaKalabaMethod(
        N, [x], [v], [x.diff() - v], bodies=[Particle('p', P, m)]), {m: 0.},
        recursion=True)
    with pytest.raises(SingularEquationsError, match='without inertia'):
        equations.rhs(0., [0., 1.])
    assert equations.rhs(0., [0., 1.], {m: 1.}) == pytest.approx([1., 0.])


def test_a_lagrangian_is_refused():
    x = dynamicsymbols('x')
    method = LagrangesMethod(x.diff()**2/2, [x])
    with pytest.raises(UnsupportedFeatureError, match='Lagrangian'):
        compile_equations(method, recursion=True)
    with pytest.raises(ValueError, match='`recursion`'):
        compile_equations(method, recursion='yes')


def test_other_methods_are_refused():
    method = HamelEmbedding(**pin_chain(2)[0])
    with pytest.raises(UnsupportedFeatureError, match='HamelEmbedding'):
        compile_equations(method, recursion=True)


def test_states_of_another_length_are_refused():
    arguments, values = pin_chain(2)
    equations = compile_equations(as_system(arguments), values,
                                  recursion=True)
    for x in np.zeros(3), np.zeros((2, 5)), 1.:
        with pytest.raises(ValueError, match='shape'):
            equations.rhs(0., x)
    with pytest.raises(ValueError):
        equations.energy(0., np.zeros(3))


def test_the_number_of_kernels_does_not_grow():
    kinds = {compile_equations(
        as_system(pin_chain(n)[0]), recursion=True).kinds for n in (8, 40)}
    assert len(kinds) == 1


def test_auto_takes_the_recursion_for_many_bodies():
    chains = pin_chain(4), pin_chain(30)
    models = [UdwadiaKalabaMethod(**arguments) for arguments, _ in chains]
    models.append(as_system(chains[0][0]))      # without another form
    assert ['Recursive' in type(compile_equations(
        model, chains[model is models[1]][1], recursion='auto')).__name__
        for model in models] == [False, True, True]
