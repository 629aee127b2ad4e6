"""Inputs that are expressions in states, or functions of named states."""
import numpy as np
import pytest
from mechanisms import m, t, x, y
from sympy import symbols
from sympy.physics.mechanics import (
    KanesMethod, Particle, Point, ReferenceFrame, dynamicsymbols)

from sympy_constrained import UdwadiaKalabaMethod, VaccoMethod
from sympy_constrained.comparison import compare
from sympy_constrained.errors import MissingIngredientError
from sympy_constrained.numeric import (
    Table, compile_equations, dae_form, simulate, sweep)
from sympy_constrained.numeric.codegen.native import has_llvm

F, G, r, q1, u1, q2, u2 = dynamicsymbols('F G r q1 u1 q2 u2')
k, d = symbols('k d')
NUMBERS = {m: 2, k: 3, d: 0.5}
# The motion of m*q1'' = -k*q1 - d*q1' with q1 = 1 at rest at the start.
DECAY = 0.5/4
RATE = np.sqrt(3/2 - DECAY**2)
END = np.exp(-2*DECAY)*(np.cos(2*RATE) + DECAY/RATE*np.sin(2*RATE))


def pushed(method=UdwadiaKalabaMethod):
    """Two masses on lines through one point, the first with a force."""
    N, O = ReferenceFrame('N'), Point('O')
    O.set_vel(N, 0)
    bodies, loads = [], []
    for axis, u in ((N.x, u1), (N.y, u2)):
        point = Point(f'P_{u}')
        point.set_vel(N, u*axis)
        bodies.append(Particle(f'p_{u}', point, m))
        loads.append((point, (F if u == u1 else 0)*axis))
    model = method(N, q_ind=[q1, q2], u_ind=[u1, u2],
                   kd_eqs=[q1.diff() - u1, q2.diff() - u2])
    model.kanes_equations(bodies, loads)
    return model


@pytest.mark.parametrize('backend', ['llvm']*has_llvm() + ['numpy'])
@pytest.mark.parametrize('method', [UdwadiaKalabaMethod, KanesMethod])
@pytest.mark.parametrize('inputs, used', [
    ({F: -k*q1 - d*u1}, NUMBERS),
    ({F: -k*q1 - d*q1.diff()}, NUMBERS),
    ({F: G - d*u1, G: -k*q1 + r, 'r': 0}, NUMBERS),
    ({F: k*(r - q1) - d*u1, r: Table([0, 5], [0, 0])}, NUMBERS),
    ({F: k*(r - q1) + d*(r.diff() - u1), r: lambda t: 0., "r'": 0}, NUMBERS),
    ({F: lambda q1, u1: -3*q1 - u1/2}, {m: 2}),
    ({F: lambda u1, q1, t: -3*q1 - u1/2 + 0*t}, {m: 2}),
    ({F: lambda *, t, q1, u1: -3*q1 - u1/2 + 0*t}, {m: 2}),
    ({F: lambda t, x: -3*x[0] - x[2]/2}, {m: 2})])
def test_a_spring_and_a_damper(backend, method, inputs, used):
    compiled = compile_equations(pushed(method), used, inputs, backend)
    motion = simulate(compiled, 2, {q1: 1, q2: 0, u1: 0, u2: 1},
                      rtol=1e-10, atol=1e-10)
    assert motion['q1'][-1] == pytest.approx(END, abs=1e-8)
    force = compiled.expression(F)(motion.t[-1], motion.x[-1])
    assert force == pytest.approx(-3*motion['q1'][-1] - motion['u1'][-1]/2)


def test_states_that_are_derivatives():
    """And the work of the force is in the balance of energy."""
    method = UdwadiaKalabaMethod(m*(x.diff()**2 + y.diff()**2)/2, [x, y],
                                 nonideal_forces=[F, 0])
    for force in -k*x - d*x.diff(), lambda x, x_dot: -3*x - x_dot/2:
        used = {m: 2} if callable(force) else NUMBERS
        motion = simulate(method, 2, [1, 0, 0, 0.5], constants=used,
                          inputs={F: force}, rtol=1e-10, atol=1e-10)
        assert motion['x'][-1] == pytest.approx(END, abs=1e-8)
        assert np.abs(motion.energy_error).max() < 1e-7


def test_gains_are_constants():
    """They follow those of the model, and change from run to run."""
    compiled = compile_equations(pushed(), {m: 2}, {F: 0})
    closed = compile_equations(compiled, {k: 3, d: 0.5}, {F: -k*q1 - d*u1})
    assert closed.constants[0] == m and {*closed.constants} == {m, k, d}
    assert compile_equations(closed, inputs={F: 0}).constants == (m,)
    states = {q1: 1, q2: 0, u1: 0, u2: 1}
    runs = sweep(closed, {k: [0, 3]}, states, t_span=2)
    assert runs.values(q1) == pytest.approx([1, END], abs=1e-6)
    with pytest.raises(ValueError, match='`constants`: no value for .*, '):
        compile_equations(pushed(), {m: 2}, {F: -k*q1 - d*u1})


def test_derivatives_include_the_feedback():
    compiled = compile_equations(pushed(), NUMBERS, {F: -k*q1 - d*u1})
    form = dae_form(compiled, [1, 0, 0, 1])
    by_y, _ = form.jacobian(0, form.y0, form.yp0)
    assert by_y[2].tolist() == [3, 0, 0.5, 0]


def test_a_prescribed_speed_that_follows_a_coordinate():
    """``y' = F`` has the derivative of the input, which is known."""
    method = UdwadiaKalabaMethod(m*(x.diff()**2 + y.diff()**2)/2, [x, y],
                                 nonhol_coneqs=[y.diff() - F], frame=None)
    motion = simulate(method, 1, [1, 0, 2, 3], constants={m: 2, k: 3},
                      inputs={F: k*x})
    assert motion['y'][-1] == pytest.approx(3*(1 + 1), abs=1e-8)


def test_vakonomic_motion():
    """The force is given, not varied: as of the potential k*x**2/2."""
    motions = []
    for potential in F*x, -k*x**2/2:
        method = VaccoMethod(
            m*(x.diff()**2 + y.diff()**2 + q1.diff()**2)/2 + potential,
            [x, y, q1], nonhol_coneqs=[q1.diff() - y*x.diff()])
        inputs = {F: -k*x} if potential.has(F) else {}
        motions.append(simulate(
            method, 1, [.1, .2, .3, .4, .5, .08, .3], t_eval=3,
            constants={m: 1, k: 3}, inputs=inputs))
    np.testing.assert_allclose(motions[0].x, motions[1].x, atol=1e-12)


def test_comparison():
    found = compare(UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2, [x, y], nonideal_forces=[F, 0],
        hol_coneqs=[x**2 + y**2 - 1]), 0.2, constants={m: 2},
        start={x: 1, y: 0, x.diff(): 0, y.diff(): 1},
        inputs={F: -3*x - x.diff()})
    assert found.agrees, found


@pytest.mark.parametrize('inputs, text', [
    ({F: G, G: 2*r, r: F + 1}, r'depends on itself \(F -> G -> r -> F\)'),
    ({F: -m*q1.diff(t, 2)}, r'F needs .*q1.*, an acceleration'),
    ({F: lambda q1, q9: 0}, r'q9 is no state.*\(q1, q2, u1, u2\)'),
    ({F: lambda q1, q2, q9: 0}, r'too many|missing a required'),
    ({F: 0, F.func(q1): 1}, 'F.* is no specified .*implemented_function')])
def test_what_is_refused(inputs, text):
    with pytest.raises(MissingIngredientError, match=text):
        compile_equations(pushed(), NUMBERS, inputs)
