"""Every public name of SymPy's methods is there, readable in any order."""
import inspect
import warnings
from itertools import product

import pytest
from sympy import Expr, Matrix, MatrixBase, simplify, symbols
from sympy.physics.mechanics import (
    KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame,
    dynamicsymbols)
from sympy.physics.mechanics import method as upstream_method

from combinations import every_third
from kkt import at, close, norm, number
from sympy_constrained import (
    ConstrainedDynamicsError, GibbsAppellMethod, HamelEmbedding,
    LinearMappingMethod, RouthMethod, UdwadiaKalabaMethod, VaccoMethod,
    VoronetsMethod)
from sympy_constrained.errors import (
    ConstraintError, MissingIngredientError, UnsupportedFeatureError)
from sympy_constrained.models import model

t = dynamicsymbols._t
x, y, u, v = dynamicsymbols('x y u v')
m, g, l = symbols('m g l')                                  # noqa: E741
ROD = x**2 + y**2 - l**2

METHOD_BASE = getattr(upstream_method, 'MethodBase',
                      getattr(upstream_method, '_Methods', None))
# What the development version asks of a method, on every version.
NEWEST = {
    'q', 'u', 'bodies', 'loads', 'mass_matrix', 'forcing',
    'mass_matrix_full', 'forcing_full', 'rhs', 'frame',
    'holonomic_constraints', 'nonholonomic_constraints',
    'velocity_constraints', 'acceleration_constraints',
    'constraints_jacobian'}
# Upstream's names that are not provided, each with the reason.
LEFT_OUT = {}
METHODS = (UdwadiaKalabaMethod, HamelEmbedding, VoronetsMethod, RouthMethod,
           VaccoMethod, LinearMappingMethod, GibbsAppellMethod)
each = pytest.mark.parametrize('cls', METHODS)


def parts():
    N, O = ReferenceFrame('N'), Point('O')                  # noqa: E741
    O.set_vel(N, 0)
    P = O.locatenew('P', x*N.x + y*N.y)
    P.set_vel(N, u*N.x + v*N.y)
    return N, [Particle('bob', P, m)], [(P, -m*g*N.y)]


def kane(method):
    N, bodies, loads = parts()
    return method(
        N, [x], [u], [x.diff(t) - u, y.diff(t) - v], [y], [ROD], [v],
        [ROD.diff(t)], bodies=bodies, forcelist=loads)


def lagrange(method):
    L = m*(x.diff(t)**2 + y.diff(t)**2)/2 - m*g*y
    options = {'q_dependent': [y]} if method in (
        HamelEmbedding, VoronetsMethod) else {}
    return method(L, [x, y], hol_coneqs=[ROD], **options)


SHAPES = {'kane': kane, 'lagrange': lagrange}


def formed(name):
    """Upstream's object after its equations were formed."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        if name == 'kane':
            method = kane(KanesMethod)
            method.kanes_equations(method.bodies, method.loads)
        else:
            method = lagrange(LagrangesMethod)
            method.form_lagranges_equations()
    return method


def public(thing):
    return {name for name in dir(thing) if not name.startswith('_')}


@each
@pytest.mark.parametrize('shape', SHAPES)
def test_every_public_name_of_upstream_is_there(shape, cls):
    ours, theirs = SHAPES[shape](cls), formed(shape)
    missing = public(theirs) - public(ours)
    assert missing == {name for name in LEFT_OUT if name in public(theirs)}
    assert all(LEFT_OUT.values())


@each
def test_the_base_of_every_version_is_complete(cls):
    assert issubclass(cls, METHOD_BASE) and issubclass(cls, KanesMethod)
    assert isinstance(lagrange(cls), (KanesMethod, METHOD_BASE))
    assert public(METHOD_BASE) | NEWEST <= public(cls)
    assert not cls.__abstractmethods__


CALLED = ['rhs', 'kindiffdict', 'solve_multipliers']


def members(cls):
    """Properties, and methods that need no argument."""
    return sorted(
        name for name in public(cls) - {'auxiliary_eqs'}
        if name in CALLED or not inspect.isroutine(
            inspect.getattr_static(cls, name)))


def read(method, name):
    """A member, or the kind of error that it raises."""
    try:
        value = getattr(method, name)
        return value() if name in CALLED else value
    except ConstrainedDynamicsError as error:
        return type(error)


@pytest.mark.parametrize('shape, cls', every_third(
    list(product(SHAPES, METHODS))))
def test_each_member_may_be_the_first_one_read(shape, cls):
    method = SHAPES[shape](cls)
    for name in reversed(members(cls)):
        later, fresh = read(method, name), read(SHAPES[shape](cls), name)
        assert type(fresh) is type(later), name
        if isinstance(fresh, (MatrixBase, Expr, type)):
            assert fresh == later, name


def moving(method):
    """Numbers at a state on the rod, with the rates of ``rhs()``."""
    values = {m: 2, g: 9, l: 5, x: 3, y: 4, u: -4, v: 3,
              x.diff(t): -4, y.diff(t): 3}
    values |= dict.fromkeys(getattr(method, 'mu_vec', ()), 7)
    values |= {w: values[x.diff(t)] for w in method.u if w not in values}
    values = {name: number(value) for name, value in values.items()}
    rates = at(method.rhs(), values)
    values |= dict(zip(Matrix(method.u).diff(t), rates[2:, 0]))
    values |= dict(zip(getattr(method, 'lam_vec', ()),
                       rates[2 + len(method.u):, 0]))
    return values


@each
def test_kanes_equations_sum_to_zero_along_the_motion(cls):
    """Also if bodies and loads are given with the call."""
    N, bodies, loads = parts()
    whole = kane(cls)
    late = cls(N, [x], [u], [x.diff(t) - u, y.diff(t) - v], [y], [ROD], [v],
               [(2 + x)*ROD.diff(t)])
    assert late.kindiffdict()[x.diff(t)] in (u, x.diff(t)) and repr(late)
    values = moving(whole)
    for method, given in ((whole, ()), (late, (bodies, loads))):
        active, inertial = method.kanes_equations(*given)
        assert norm(at(active + inertial, values)) < 1e-45
        other = {**values, method._udot[0]: values[method._udot[0]] + 1}
        assert norm(at(active + inertial, other)) > 0.1
    assert late.bodies == bodies and late.loads == loads
    assert close(at(late.rhs(), values), at(whole.rhs(), values))
    late.kanes_equations(loads=[])      # replace the first
    assert not late.forcing.has(g)
    with pytest.raises(UnsupportedFeatureError):
        lagrange(cls).kanes_equations()


def test_matrices_of_a_system_without_constraints():
    N, bodies, loads = parts()
    method = UdwadiaKalabaMethod(
        N, [x, y], [u, v], [x.diff(t) - u, y.diff(t) - v], bodies=bodies,
        forcelist=loads)
    for name in ('holonomic_constraints', 'velocity_constraints',
                 'acceleration_constraints', 'multipliers', 'lam_vec'):
        assert getattr(method, name).shape == (0, 1)
    assert method.constraints_jacobian.shape == (0, 2)
    assert method.independent_rows == []
    assert method.constraint_forces == Matrix([0, 0])
    assert method.forcing == Matrix([0, -m*g])
    with pytest.raises(ConstraintError, match='no constraints'):
        method.solve_multipliers()


@each
@pytest.mark.parametrize('name', [
    'rhs', 'kindiffdict', 'linearize', 'to_linearizer', 'kanes_equations',
    'form_lagranges_equations', 'solve_multipliers'])
def test_methods_take_the_arguments_of_upstream(name, cls):
    ours = inspect.signature(getattr(cls, name)).parameters
    anything = any(p.kind is p.VAR_KEYWORD for p in ours.values())
    for upstream in (KanesMethod, LagrangesMethod):
        theirs = getattr(upstream, name, None)
        if theirs is None:
            continue
        for argument in inspect.signature(theirs).parameters.values():
            if argument.kind is argument.VAR_KEYWORD:
                continue
            assert argument.name in ours or anything, (
                upstream.__name__, argument.name)


# Hanging at rest; only ours asks for the multiplier there.
REST = {x: 0, y: -l, u: 0, v: 0, u.diff(t): 0, v.diff(t): 0}
CALLS = {
    'linearize': lambda method, rest: method.linearize(
        A_and_B=True, op_point=rest, simplify=True),
    'old scripts': lambda method, rest: method.linearize(
        new_method=True, A_and_B=True, op_point=[rest]),
    'linear solver': lambda method, rest: method.linearize(
        linear_solver='LU', A_and_B=True, op_point=rest),
    'linearizer': lambda method, rest: method.to_linearizer().linearize(
        A_and_B=True, op_point=rest),
    'solver by position': lambda method, rest: method.to_linearizer(
        'GJ').linearize(A_and_B=True, op_point=rest)}


@pytest.mark.parametrize('name', CALLS)
def test_linearization_calls_of_upstream_run(name):
    ours = kane(UdwadiaKalabaMethod)
    wanted = CALLS[name](formed('kane'), REST)
    found = CALLS[name](ours, REST)
    for one, other in zip(wanted[:2], found[:2]):
        assert one.shape == other.shape
        gap = Matrix(one - other)
        assert gap.applyfunc(lambda e: e.cancel()).is_zero_matrix is not False
    assert found[0] == Matrix([[0, 1], [-g/l, 0]])


@pytest.mark.parametrize('name', SHAPES)
def test_equations_have_the_rows_and_signs_of_upstream(name):
    ours, theirs = SHAPES[name](UdwadiaKalabaMethod), formed(name)
    found, wanted = ours._form_eoms(), theirs._form_eoms()
    if name == 'kane':                  # `Fr`, `Fr*`
        mapped = kane(LinearMappingMethod).kanes_equations()[0]
        found = Matrix([*ours.kanes_equations(), found, mapped])
        active, inertial = theirs.kanes_equations()
        wanted = Matrix([active, inertial, wanted, active])
        for cls in LinearMappingMethod, GibbsAppellMethod, UdwadiaKalabaMethod:
            light = kane(cls)           # without mass
            found = found.col_join(light.kanes_equations([], light.loads)[0])
            wanted = wanted.col_join(active)
            with pytest.raises(MissingIngredientError, match='mass'):
                light.acceleration
    assert found.shape == wanted.shape
    assert (found - wanted).applyfunc(simplify).is_zero_matrix


@each
def test_inertia_forces_contain_no_loads(cls):
    method = model('furuta_pendulum').form(cls)
    active, inertial = method.kanes_equations()
    assert active.has(g) and not inertial.has(g)
    total = active + inertial + method.eom
    names = [*total.free_symbols, *method.q, *method.u, *method._udot]
    assert norm(at(total, {
        x: number(k + 1) for k, x in enumerate(names)})) < 1e-40


@pytest.mark.parametrize('explicit', [True, False])
def test_kinematic_equations_are_those_of_upstream(explicit):
    ours, theirs = kane(UdwadiaKalabaMethod), formed('kane')
    ours.explicit_kinematics = theirs.explicit_kinematics = explicit
    for name in ('mass_matrix_kin', 'forcing_kin'):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.kindiffdict() == theirs.kindiffdict()


def test_what_a_linearizer_and_pydy_read():
    """The partitions, also those that are not named."""
    ours, theirs = kane(UdwadiaKalabaMethod), kane(KanesMethod)
    for name in '_qdep', '_udep', '_uaux':
        assert list(getattr(ours, name)) == list(getattr(theirs, name))
    again = kane(GibbsAppellMethod)
    assert list(again._udep) == [v] and not list(again._uaux)
    assert again._Ars == ours._Ars == theirs._Ars
    hamel = lagrange(HamelEmbedding)
    assert [*hamel._qdep] == [y] and not [*hamel._udep, *hamel._uaux]
    assert list(hamel._udot) == [x.diff(t, 2)]
    mapped = kane(LinearMappingMethod)
    assert not [*mapped._udep, *mapped._Ars]


@each
def test_auxiliary_equations_are_those_of_kanes_method(cls):
    """A force along a direction of a speed that is zero."""
    assert kane(cls).auxiliary_eqs.shape == (0, 1)
    N, O, z = ReferenceFrame('N'), Point('O'), dynamicsymbols('z')
    O.set_vel(N, 0)
    P = O.locatenew('P', x*N.x + x**2/2*N.y)
    P.set_vel(N, u*N.x + (z + x*u)*N.y)
    given = dict(frame=N, q_ind=[x], u_ind=[u], kd_eqs=[x.diff() - u],
                 u_auxiliary=[z], bodies=[Particle('P', P, 2)],
                 forcelist=[(P, symbols('F')*N.y)])
    ours, theirs = cls(**given), KanesMethod(**given)
    theirs.kanes_equations(given['bodies'], given['forcelist'])
    assert (ours.auxiliary_eqs - theirs.auxiliary_eqs.subs(
        z, 0)).expand() == Matrix([0])
    assert ours.mass_matrix == theirs.mass_matrix.expand()
