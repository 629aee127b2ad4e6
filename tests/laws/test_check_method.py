"""``check_method``, and methods that a user writes."""
import numpy as np
import pytest
import sympy
from sympy import Matrix, symbols, zeros
from sympy.physics.mechanics import (
    KanesMethod, Particle, Point, ReferenceFrame, dynamicsymbols)

from sympy_constrained import (
    EquationsOfMotion, GibbsAppellMethod, HamelEmbedding, RouthMethod,
    UdwadiaKalabaMethod)
from sympy_constrained.comparison import check_method, compare
from sympy_constrained.errors import ConstraintError, UnsupportedFeatureError
from sympy_constrained.graph import Graph, block_matrix, stack
from sympy_constrained.methods import ConstrainedMethod, null_basis
from sympy_constrained.models import MODELS, model
from sympy_constrained.numeric import compile_equations, consistent_state

FEW = ['four_bar', 'rolling_disc', 'heavy_top_quaternion', 'appell_hamel',
       'acceleration_level', 'duplicated_rows', 'massless_coordinate']


@KanesMethod.register
class MaggiMethod(ConstrainedMethod):
    def equations(self, system):
        M, Q, A, b = system.blocks('M', 'Q', 'A', 'b')
        A, b = A[self.independent_rows], b[self.independent_rows]
        S = null_basis(A)
        return EquationsOfMotion.from_speeds(
            system, stack(S.T @ M, A), stack(S.T @ Q, b))


@KanesMethod.register
class PenaltyMethod(ConstrainedMethod):
    def equations(self, system):
        M, Q, A, b = system.blocks('M', 'Q', 'A', 'b')
        return EquationsOfMotion.from_speeds(
            system, M + 1000*(A.T @ A), Q + 1000*(A.T @ b))


@pytest.mark.parametrize('cls, names', [
    (MaggiMethod, FEW[1:]), (UdwadiaKalabaMethod, FEW[1:3])])
def test_methods_that_obey_the_laws(cls, names):
    found = check_method(cls, names)
    assert found.passed and not found.failures, found


@pytest.mark.slow
@pytest.mark.parametrize('name', MODELS)
@pytest.mark.parametrize('cls', [
    MaggiMethod, UdwadiaKalabaMethod, RouthMethod, GibbsAppellMethod])
def test_every_ready_model(cls, name):
    found, = check_method(cls, [name]).models
    assert found.passed, found


def wrong(change):
    """Maggi's method with a change of its blocks."""
    class WrongMethod(MaggiMethod):
        def equations(self, system):
            blocks = dict(zip('MQAb', system.blocks('M', 'Q', 'A', 'b')))
            rows = self.independent_rows
            blocks.update(A=blocks['A'][rows], b=blocks['b'][rows])
            S = null_basis(blocks['A'])
            blocks |= change(blocks)
            M, Q, A, b = (blocks[name] for name in 'MQAb')
            return EquationsOfMotion.from_speeds(
                system, stack(S.T @ M, A), stack(S.T @ Q, b))
    return KanesMethod.register(WrongMethod)


@pytest.mark.parametrize('law, change', [
    ("d'Alembert", lambda x: {'Q': -x['Q']}),
    ("d'Alembert", lambda x: {'M': x['M'] + x['A'].T @ x['A']
                              + x['M'][:, [0]] @ x['M'][[0]]}),
    ('constraints', lambda x: {'b': 2*x['b']})])
def test_faults_are_found(law, change):
    found, = check_method(wrong(change), ['four_bar']).models
    assert not found.passed and found.errors[law] > 1e-3


def test_a_wrong_closed_form_is_found():
    class WrongForces(MaggiMethod):
        def _solve(self):
            g, out = super()._solve().load()
            return Graph.freeze(g, {name: (
                [[-x for x in row] for row in rows]
                if name == 'constraint_forces' else rows, len(rows[0]))
                for name, rows in out.items()})

    found, = check_method(KanesMethod.register(WrongForces),
                          ['four_bar']).models
    assert not found.passed and found.errors['forces'] > 1e-3


def test_other_principles_and_errors_do_not_pass():
    assert not check_method(PenaltyMethod, ['four_bar']).passed

    class Broken(MaggiMethod):
        def equations(self, system):
            raise AttributeError('no equations')

    found = check_method(KanesMethod.register(Broken), ['four_bar'])
    assert 'AttributeError: no equations' in str(found)
    with pytest.raises(AttributeError, match='no equations'):
        compile_equations(model('four_bar').form(Broken))
    refused = check_method(HamelEmbedding, ['four_bar'])
    assert not refused.passed and not refused.failures


@pytest.mark.parametrize('cls', [MaggiMethod, PenaltyMethod])
def test_form_eoms_and_eom(cls):
    method = model('four_bar').form(cls)
    assert method.eom.shape == method.u.shape
    system = model('four_bar').system
    assert system.form_eoms(eom_method=cls).shape == method.u.shape


@pytest.mark.parametrize('backend', ['numpy', 'llvm'])
def test_pivots_hold_on_the_constraints(backend):
    if backend == 'llvm':
        pytest.importorskip('llvmlite')
    ready = model('four_bar')
    own, reference = (
        compile_equations(ready.form(cls), ready.parameters, backend=backend)
        for cls in (MaggiMethod, UdwadiaKalabaMethod))
    x = consistent_state(reference, ready.start)
    np.testing.assert_allclose(own.accelerations(0, x),
                               reference.accelerations(0, x), rtol=1e-9)


def test_a_comparison_includes_the_method():
    found = compare(model('four_bar').form(MaggiMethod),
                    constants=model('four_bar').parameters, upstream=False)
    assert found.agrees
    assert found['MaggiMethod'].verdict.value == 'agrees'


def test_linearization_needs_multipliers():
    with pytest.raises(UnsupportedFeatureError,
                       match='contain no multipliers.*UdwadiaKalabaMethod'):
        model('slider_crank').form(MaggiMethod).linearize()


def test_what_is_missing_is_named():
    class NotSquare(MaggiMethod):
        def equations(self, system):
            A, b = system.blocks('A', 'b')
            return EquationsOfMotion.from_speeds(system, A, b)

    with pytest.raises(TypeError, match=r'`W` has shape \(2, 3\) for 3'):
        model('four_bar').form(KanesMethod.register(NotSquare)).rhs()
    graph = model('four_bar').form(MaggiMethod).system.graph
    with pytest.raises(TypeError, match='has no W, r'):
        EquationsOfMotion(graph, (), (), (), (), (), ())


def test_options_of_a_class_are_kept_by_from_method():
    @KanesMethod.register
    class Soft(ConstrainedMethod):
        def __init__(self, *args, stiffness=1, **kwargs):
            self.stiffness = stiffness
            super().__init__(*args, **kwargs)

        def equations(self, system):
            M, Q, A, b = system.blocks('M', 'Q', 'A', 'b')
            k = self.stiffness
            return EquationsOfMotion.from_speeds(
                system, M + k*(A.T @ A), Q + k*(A.T @ b))

    soft = model('four_bar').form(Soft, stiffness=7)
    assert Soft.from_method(soft).stiffness == 7
    assert check_method(Soft, 'cartesian_pendulum').failures


def test_mistakes_in_equations_are_explained():
    system = model('four_bar').form(UdwadiaKalabaMethod).system
    M, A = system.blocks('M', 'A')
    assert A[0].shape == (1, 3) and A[0, 0].shape == (1, 1)
    assert block_matrix([[M, A.T], [A, sympy.S(0)]]).shape == (5, 5)
    for wrong in (lambda: A*M, lambda: A @ sympy.eye(3), lambda: M + 1,
                  lambda: block_matrix([[M, 1]]), lambda: block_matrix([[0]]),
                  lambda: block_matrix([[M, A.T], [A]]),
                  lambda: EquationsOfMotion.from_speeds(
                      system, sympy.eye(3), M[:, 0])):
        with pytest.raises(TypeError, match='`@`|GraphMatrix'):
            wrong()


def falling(cls, **options):
    """A held particle, and other loads; its weight before and after."""
    m, g, h = symbols('m g h')
    x, u = dynamicsymbols('x u')
    N, P = ReferenceFrame('N'), Point('P')
    P.set_vel(N, u*N.x)
    body = Particle('B', P, m)
    method = cls(N, [x], [u], [u - x.diff()], velocity_constraints=[u],
                 bodies=[body], forcelist=[(P, m*g*N.x)], **options)
    return method, lambda: method.kanes_equations(
        [body], [(P, m*h*N.x)]), m*g, m*h


def test_options_that_a_class_passes_on():
    """They act as if the user had given them, and ``from_method`` has them."""
    class Damped(UdwadiaKalabaMethod):
        def __init__(self, *args, **kwargs):
            kwargs.setdefault('stabilization', (1, 2))
            super().__init__(*args, **kwargs)

    method, *_ = falling(Damped)
    wanted, *_ = falling(UdwadiaKalabaMethod, stabilization=(1, 2))
    assert method.system.b == wanted.system.b != zeros(1, 1)
    other = UdwadiaKalabaMethod.from_method(method)
    assert other.system.b == wanted.system.b


def test_an_overridden_property_after_other_loads():
    class Twice(UdwadiaKalabaMethod):
        @property
        def constraint_forces(self):
            return 2*super().constraint_forces

    method, change, weight, other = falling(Twice)
    assert method.constraint_forces == Matrix([-2*weight])
    change()
    assert method.constraint_forces == Matrix([-2*other])


def test_a_refusal_stays():
    m, (x, y) = symbols('m'), dynamicsymbols('x y')
    a, b = x.diff().diff(), y.diff().diff()
    method = GibbsAppellMethod(
        m*(x.diff()**2 + y.diff()**2)/2, [x, y],
        acceleration_constraints=[(a**2 + b**2 - 4)**2])
    for _ in range(2):
        with pytest.raises(ConstraintError, match='no gradient'):
            method.equations_of_motion
