"""A, B, C, D as arrays, against differences of fifty digits."""
import numpy as np
import pytest
from exports import kept
from mechanisms import m, t, x, y
from mpmath import matrix, mp
from scipy.signal import StateSpace, lsim
from sympy import Float, cos, sin, symbols
from sympy.physics.mechanics import KanesMethod, dynamicsymbols

from sympy_constrained import (
    GibbsAppellMethod, LinearMappingMethod, RouthMethod, UdwadiaKalabaMethod,
    VoronetsMethod)
from sympy_constrained.errors import ConstraintError, SingularEquationsError
from sympy_constrained.models import model
from sympy_constrained.numeric import (
    compile_equations, consistent_state, linearize, simulate)

k, d, l, g = symbols('k d l g')
F, w = dynamicsymbols('F w')
TIME = 0.3
STEP = mp.mpf(10)**-15


class Reference:
    """Rates of independent states and outputs in 50 digits.

    Dependent states solve the constraints by Newton's method; redundant
    multipliers are left out of ``W z = r``, which is solved by least squares.
    """

    def __init__(self, compiled, at, found):
        self.equations, self.found = compiled.equations, found
        kept = compiled.linear_solver(TIME, at).kept
        self.columns = range(len(compiled.unknowns)) if kept is None else (
            sorted({*range(compiled.motion), *kept[1].tolist()}))
        self.held = [
            (name, [i for i in map(int, index)
                    if compiled.states[i] not in found.states],
             index.tolist()) for name, index in compiled.levels]
        self.values = {
            self.equations.t: mp.mpf(TIME), **{
                x: mp.mpf(float(value)) for items, numbers in (
                    (compiled.constants, compiled.p), (compiled.states, at))
                for x, value in zip(items, numbers)}, **{
                x: mp.mpmathify(value.subs(self.equations.t, Float(
                    TIME, 60)).evalf(50))
                for x, value in compiled.inputs.given.items()}}

    def __call__(self, item=None, change=0):
        values, states = dict(self.values), self.equations.states
        if item is not None:
            values[item] += change

        def block(name):
            return matrix(self.equations.graph.evaluate(
                values, (name,), mp)[name])

        for name, held, index in self.held:
            for _ in range(6 if held else 0):
                J = block(f'{name}_jacobian')
                J = matrix([[J[i, index.index(j)] for j in held]
                            for i in range(J.rows)])
                move = mp.lu_solve(J, block(name))
                for j, step in zip(held, move):
                    values[states[j]] -= step
        W = block('W')
        W = matrix([[W[i, j] for j in self.columns] for i in range(W.rows)])
        z = list(mp.lu_solve(W, block('r')))
        rates = self.equations.graph.evaluate(values, ('rates',), mp)['rates']
        every = [rate for rate, in rates] + z
        values.update(zip((s.diff(self.equations.t) for s in states), every))
        return [every[states.index(s)] for s in self.found.states] + [
            mp.mpmathify(e.xreplace({
                s: Float(v, 50) for s, v in values.items()}).evalf(50))
            for e in self.found.outputs]

    def slopes(self):
        items = self.found.states + self.found.inputs
        return np.array([
            [float((up - down)/(2*STEP)) for up, down in zip(
                self(item, STEP), self(item, -STEP))] for item in items]).T


def check(method, constants, guess, fixed=(), outputs=None, inputs=None):
    compiled = compile_equations(method, constants, inputs)
    at = consistent_state(compiled, guess, fixed=fixed, fill=0, t=TIME)
    found = linearize(compiled, at, outputs, t=TIME)
    with mp.workdps(50):
        wanted = Reference(compiled, at, found).slopes()
    given = np.block([[found.A, found.B], [found.C, found.D]])
    assert given.shape == wanted.shape
    assert np.abs(given - wanted).max() < 1e-9*max(1, np.abs(wanted).max())
    return found


@pytest.mark.parametrize('name, count', [
    ('four_bar', 2), ('rolling_disc', 8), ('closed_chain', 4),
    ('duplicated_rows', 4), ('slider_crank', 2), ('snakeboard', None),
    ('heavy_top_quaternion', None), ('driven_pendulum', None),
    ('damped_double_pendulum', None), ('rolling_disc_lagrange', 8)])
def test_ready_models(name, count):
    ready = model(name)
    found = check(ready.form(UdwadiaKalabaMethod), ready.parameters,
                  ready.start, ready.fixed, inputs=ready.inputs)
    assert count in (None, len(found.states))
    assert found.basis.shape[1] == len(found.states)


@pytest.mark.parametrize('cls', [
    LinearMappingMethod, GibbsAppellMethod, VoronetsMethod, RouthMethod])
def test_formulations_agree(cls):
    ready, _, compiled, at = kept('four_bar')
    wanted = linearize(compiled, at, dependent=['q2', 'q3', 'u2', 'u3'])
    method = ready.form(cls)
    states = method.equations_of_motion.states
    found = linearize(method, {
        x: value for x, value in zip(compiled.states, at) if x in states},
        constants=ready.parameters)
    assert found.states == wanted.states
    np.testing.assert_allclose(found.A, wanted.A, rtol=1e-9)


def test_a_chain_with_redundant_rows():
    ready = model('closed_chain', n=8)
    check(ready.form(UdwadiaKalabaMethod), ready.parameters, ready.start,
          ready.fixed)


@pytest.mark.parametrize('cls', [UdwadiaKalabaMethod, GibbsAppellMethod])
def test_a_cartesian_pendulum_with_rows_given_again(cls):
    pendulum = cls(m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
                   hol_coneqs=[x**2 + y**2 - l**2, (x**2 + y**2)/l - l],
                   nonhol_coneqs=[x*x.diff() + y*y.diff()])
    found = check(pendulum, {m: 2, g: 9.81, l: 1.5},
                  {x: 0.9, y: -1.2, "x'": 0.8, "y'": 0.6},
                  outputs=[x*y.diff(), sin(x) + t, x.diff(t, 2)])
    assert found.A.shape == (2, 2) and found.C.shape == (3, 2)
    np.testing.assert_allclose(found.C[2], found.A[1], rtol=1e-12)


@pytest.mark.parametrize('cls, options', [
    (UdwadiaKalabaMethod, {}), (GibbsAppellMethod, {}),
    (LinearMappingMethod, {'q_dependent': [y]})])
def test_an_equilibrium(cls, options):
    """With other speeds, and without multipliers in the equations."""
    ready = model('cartesian_pendulum')
    compiled = compile_equations(ready.form(cls, **options), ready.parameters)
    at = np.zeros(len(compiled.states))
    at[1] = -1
    found = linearize(compiled, at)
    assert linearize(compiled, at, outputs=x).outputs == (x,)
    assert not found.rates.any()
    values = np.linalg.eigvals(found.A)
    assert values.real == pytest.approx(0, abs=1e-14)
    assert sorted(values.imag) == pytest.approx([-9.81**.5, 9.81**.5])


def test_an_embedding_has_a_pole():
    """Also for a rank that was decided elsewhere, and in SymPy's way."""
    pendulum = 'cartesian_pendulum', {'q_dependent': [y]}
    for cls, name, options in (VoronetsMethod, *pendulum), (
            LinearMappingMethod, 'n_four_bar', {}), (
            LinearMappingMethod, *pendulum):
        method = model(name).form(cls, **options)
        compiled = compile_equations(method, model(name).parameters)
        with pytest.raises(SingularEquationsError, match='divides by zero.*'
                           'in dynamic equation 0.* beside it. .* (give|emb)'):
            compiled.rhs(0, [3, -2, -1, 3, -2, -3] if name[0] == 'n' else [
                1, 6e-17, 1])           # a pole is the nearest state
    compiled.rhs(0, [0, -1, 1])
    with pytest.raises(SingularEquationsError, match='give others by'):
        linearize(compiled, [1, 6e-17, 0])
    u, = method.u
    with pytest.raises(ConstraintError, match='linearize elsewhere'):
        method.linearize(A_and_B=True, q_ind=[y], q_dep=[x], op_point={
            x: 1, y: 6e-17, u: 0, u.diff(t): 0, **model(name).parameters})


def test_a_point_driven_by_functions_of_time():
    """The constraint set moves with the input."""
    method = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - m*g*y - k*x**2*y/2, [x, y],
        hol_coneqs=[y - x*F - cos(F)], nonideal_forces=[w**2*y, 0])
    found = check(method, {m: 2, g: 9.81, k: 3}, {x: 0.5},
                  inputs={F: sin(2*t), w: 3}, outputs=[y, y.diff() + w])
    assert set(found.inputs) == {F, F.diff(), F.diff(t, 2), w}
    assert found.B.all(axis=1).any() and found.D.any()


def oscillator():
    return UdwadiaKalabaMethod(m*x.diff()**2/2, [x], nonideal_forces=[F])


def test_feedback_and_state_space():
    numbers = {m: 2, k: 3, d: 0.5}
    feedback = w - k*x - d*x.diff()
    found = linearize(oscillator(), [0, 0], [x.diff(t, 2), F],
                      constants=numbers, inputs={F: feedback, w: 0})
    A, B, C, D = found
    assert A.tolist() == [[0, 1], [-1.5, -0.25]]
    assert found.inputs == (w,) and B.tolist() == [[0], [0.5]]
    assert C.tolist() == [[-1.5, -0.25], [-3, -0.5]]
    assert D.tolist() == [[0.5], [1]]
    motion = simulate(oscillator(), 2, [0, 0], constants=numbers,
                      inputs={F: feedback, w: 1}, t_eval=21)
    _, y, states = lsim(StateSpace(*found), np.ones(21), motion.t)
    np.testing.assert_allclose(states, motion.x, atol=1e-7)
    np.testing.assert_allclose(y[:, 0]*2, y[:, 1], atol=1e-9)
    plain = linearize(oscillator(), [0, 0], constants={m: 2}, inputs={F: 0})
    assert plain.B.tolist() == [[0], [0.5]]
    assert plain.C.tolist() == np.eye(2).tolist() and not plain.D.any()


@pytest.mark.slow
def test_no_multipliers_and_the_partition_of_the_method():
    """As SymPy's linearization of the same model, which needs ``lam``."""
    ready, method, compiled, at = kept('closed_chain_absolute')
    theirs = ready.form(KanesMethod)
    found = linearize(method, at, constants=ready.parameters)
    assert not {*found.states} & {*method._qdep, *method._udep}
    point = dict(zip(compiled.states, at))
    point.update(zip((s.diff(t) for s in compiled.states),
                     compiled.rhs(0, at)))
    A, _, _ = theirs.linearize(op_point=[point, ready.parameters],
                               A_and_B=True, new_method=True)
    np.testing.assert_allclose(found.A, np.array(A.tolist(), float), atol=1e-9)


# Meijaard, Papadopoulos, Ruina and Schwab (2007), table 2.
EIGENVALUES = {
    0: [-5.53094371765393, -3.13164324790656, 3.13164324790656,
        5.53094371765393],
    1: [-7.11008014637442, -3.13423125066578,
        3.52696170990070 - 0.80774027519930j,
        3.52696170990070 + 0.80774027519930j],
    5: [-14.07838969279822, -0.77534188219585 - 4.46486771378823j,
        -0.77534188219585 + 4.46486771378823j, -0.32286642900409],
    10: [-24.62459635017404, -3.72016840437287 - 10.90681139476287j,
         -3.72016840437287 + 10.90681139476287j, 0.16105338653172]}


@pytest.mark.parametrize('name', [
    'bicycle', pytest.param('bicycle_whole', marks=pytest.mark.slow)])
def test_the_eigenvalues_of_the_benchmark_bicycle(name):
    ready, method, compiled, _ = kept(name)
    for speed, table in EIGENVALUES.items():
        guess = {'u3': speed/0.3, 'u6': speed/0.35}
        if name == 'bicycle_whole':
            guess['u7'] = speed
        at = consistent_state(compiled, guess, fixed=ready.fixed, fill=0)
        found = linearize(compiled, at)
        values = np.linalg.eigvals(found.A)
        wobble = np.sort_complex(values[np.abs(values) > 1e-3])
        assert np.abs(wobble - table).max() < 1e-12*np.abs(table).max()
        speeds = [s in method.u for s in found.states]
        assert np.abs(found.rates[speeds]).max() < 1e-12    # steady motion
