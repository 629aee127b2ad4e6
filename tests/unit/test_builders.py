"""Two call shapes, ``System`` and existing methods into one system."""
from random import Random

import pytest
from mpmath import mp
from sympy import Eq, Matrix, Rational, S, Symbol, cos, sin, symbols
from sympy.physics.mechanics import (
    Force, ForceActuator, KanesMethod, LagrangesMethod,
    LinearPathway, Particle, Point, ReferenceFrame, RigidBody, System,
    WrappingPathway, WrappingSphere, dynamicsymbols, inertia)
from sympy.physics.units import centimeter, kilogram, meter, newton

from kkt import at, close
from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, RouthMethod, UdwadiaKalabaMethod,
    VaccoMethod, VoronetsMethod)
from sympy_constrained.errors import (
    ConstraintError, MissingIngredientError, UnsupportedFeatureError)

t = dynamicsymbols._t
x, y, u, v = dynamicsymbols('x y u v')
s = dynamicsymbols('s')
m, g, k, l = symbols('m g k l')                             # noqa: E741
N = ReferenceFrame('N')
O = Point('O')                                              # noqa: E741
O.set_vel(N, 0)
P = O.locatenew('P', x*N.x + y*N.y)
P.set_vel(N, u*N.x + v*N.y)
R = O.locatenew('R', x*N.x + y*N.y)      # its velocity follows
BOB = Particle('bob', P, m)
LOADS = [(P, -m*g*N.y)]
KD = [x.diff(t) - u, y.diff(t) - v]
L = m*(x.diff(t)**2 + y.diff(t)**2)/2 - m*g*y
ROD = x**2 + y**2 - l**2
ROD_RATE = ROD.diff(t)
SHAPE = {'frame': N, 'q_ind': [x], 'q_dependent': [y], 'u_ind': [u],
         'u_dependent': [v], 'kd_eqs': KD, 'bodies': [BOB],
         'forcelist': LOADS, 'configuration_constraints': [ROD],
         'velocity_constraints': [ROD_RATE]}
PLAIN = {'frame': N, 'q_ind': [x, y], 'u_ind': [u, v], 'kd_eqs': KD,
         'bodies': [BOB], 'forcelist': LOADS}


def kane(**changes):
    return UdwadiaKalabaMethod(**{**SHAPE, **changes})


def plain(**changes):
    return UdwadiaKalabaMethod(**{**PLAIN, **changes})


def lagrange(*args, **changes):
    args = args or (L, [x, y])
    return UdwadiaKalabaMethod(*args, **changes)


def numbers(seed=1):
    random = Random(f'builders {seed}')
    found = [x, y, u, v, x.diff(t), y.diff(t), s, s.diff(t), m, g, k, l, t]
    values = {e: mp.mpf(random.randint(300, 1500)) for e in found}
    with mp.workdps(30):
        values = {e: value/1000 for e, value in values.items()}
    return values | {x.diff(t): values[u], y.diff(t): values[v]}


def acceleration(method, seed=1):
    """The solution of ``W*z = r``, accelerations only."""
    with mp.workdps(30):
        out = method.equations_of_motion.graph.evaluate(
            numbers(seed), ('W', 'r'), mp)
        z = mp.lu_solve(mp.matrix(out['W']), mp.matrix(out['r']))
        return list(z[:len(method.u)])


def same(one, other):
    assert len(one) == len(other)
    assert all(abs(a - b) < 1e-20 for a, b in zip(one, other))


PENDULUM = acceleration(kane())


# Shapes

SHAPES = {
    'kane by keyword': lambda: kane(),
    'kane by position': lambda: UdwadiaKalabaMethod(
        N, [x], [u], KD, [y], [ROD], [v], [ROD_RATE], None, None, [BOB],
        LOADS),
    'kane by position and keyword': lambda: UdwadiaKalabaMethod(
        N, (x,), (u,), kd_eqs=tuple(KD), q_dependent=(y,), bodies=(BOB,),
        u_dependent=(v,), configuration_constraints=(ROD,),
        velocity_constraints=(ROD_RATE,), forcelist=tuple(LOADS)),
    'matrices': lambda: kane(
        q_ind=Matrix([x]), u_ind=Matrix([u]), kd_eqs=Matrix(KD),
        configuration_constraints=Matrix([ROD]),
        velocity_constraints=Matrix([ROD_RATE]).as_immutable()),
    'single entries': lambda: kane(
        q_ind=x, q_dependent=y, u_ind=u, u_dependent=v, bodies=BOB,
        configuration_constraints=ROD, velocity_constraints=ROD_RATE),
    'equations': lambda: kane(
        kd_eqs=[Eq(x.diff(t), u), Eq(v, y.diff(t))],
        configuration_constraints=[Eq(x**2 + y**2, l**2)],
        velocity_constraints=Eq(2*x*u, -2*y*v)),
    'no dependent ones': lambda: plain(configuration_constraints=[ROD]),
    'velocity level alone': lambda: plain(velocity_constraints=[ROD_RATE]),
    'nonholonomic': lambda: plain(nonholonomic_constraints=[x*u + y*v]),
    'accelerations too': lambda: kane(
        acceleration_constraints=[ROD_RATE.diff(t)]),
    'acceleration level alone': lambda: plain(
        acceleration_constraints=[x*u.diff(t) + y*v.diff(t) + u**2 + v**2]),
    'repeated rows': lambda: plain(
        configuration_constraints=[ROD], velocity_constraints=[-ROD_RATE]),
    'geometric row': lambda: plain(
        velocity_constraints=[(P, x*N.x + y*N.y)]),
    'geometric row with a value': lambda: plain(
        velocity_constraints=[(P, x*N.x + 2*y*N.y, y*v)]),
    'Force': lambda: kane(forcelist=[Force(P, -m*g*N.y)]),
    'bodies stand for their centres': lambda: kane(
        forcelist=[Force(BOB, -m*g*N.y)]),
    'solver arguments of upstream': lambda: kane(
        kd_eqs_solver='LU', constraint_solver='CRAMER',
        explicit_kinematics=False),
    'lagrange by position': lambda: lagrange(
        L, [x, y], None, [BOB], N, [ROD], None),
    'lagrange by keyword': lambda: UdwadiaKalabaMethod(
        Lagrangian=L, qs=Matrix([x, y]), hol_coneqs=ROD),
    'lagrange velocity': lambda: lagrange(
        nonhol_coneqs=(Eq(x*x.diff(t), -y*y.diff(t)),)),
    'lagrange geometric row': lambda: lagrange(
        L, [x, y], None, [BOB], N, nonhol_coneqs=[(R, x*N.x + y*N.y)]),
    'lagrange acceleration': lambda: lagrange(
        acceleration_constraints=[ROD_RATE.diff(t)]),
    'lagrange with loads': lambda: lagrange(
        L + m*g*y, [x, y], [(R, -m*g*N.y)], frame=N, hol_coneqs=[ROD])}


@pytest.mark.parametrize('name', SHAPES)
def test_every_way_to_write_the_pendulum(name):
    method = SHAPES[name]()
    same(acceleration(method), PENDULUM)
    assert len(method.q) == len(method.u) == 2
    assert method.system.A.shape == (1, 2)


def test_every_form_of_row_is_a_column_of_residuals():
    method = SHAPES['equations']()
    assert method.holonomic_constraints == Matrix([ROD])
    assert method.nonholonomic_constraints.shape == (0, 1)
    assert method.q == Matrix([x, y]) and method.u == Matrix([u, v])


def test_differentiated_rows_are_split_from_the_velocity_constraints():
    method = plain(configuration_constraints=[ROD],
                   velocity_constraints=[u - s, ROD_RATE, 2*ROD_RATE])
    assert method.holonomic_constraints == Matrix([ROD])
    assert list(method.nonholonomic_constraints) == [u - s, 2*ROD_RATE]
    assert method.system.constraint_names == (
        'holonomic row 0', 'velocity-level row 0', 'velocity-level row 1')


def test_accelerations_that_repeat_are_dropped():
    rows = [ROD_RATE.diff(t), u.diff(t) - s.diff(t), v.diff(t) - 3]
    method = plain(configuration_constraints=[ROD],
                   velocity_constraints=[ROD_RATE, u - s],
                   acceleration_constraints=rows)
    assert method.system.acceleration_rows == (rows[2],)
    assert method.system.A.shape == (3, 2)


# From objects of SymPy

def upstream_kane():
    method = KanesMethod(N, [x], [u], KD, [y], [ROD], [v], [ROD_RATE])
    method.kanes_equations([BOB], LOADS)
    return method


def upstream_lagrange(formed=True):
    method = LagrangesMethod(L, [x, y], hol_coneqs=[ROD])
    if formed:
        method.form_lagranges_equations()
    return method


def pendulum_system():
    system = System(frame=N, fixed_point=O)
    system.add_coordinates(x, y, independent=[True, False])
    system.add_speeds(u, v, independent=[True, False])
    system.add_kdes(*KD)
    system.add_bodies(BOB)
    system.add_loads(Force(P, -m*g*N.y))
    system.add_holonomic_constraints(ROD)
    return system


class Swapped(KanesMethod):
    """A user's own subclass."""


OBJECTS = {
    'kane': upstream_kane,
    'kane without equations': lambda: KanesMethod(
        N, [x], [u], KD, [y], [ROD], [v], [ROD_RATE], bodies=[BOB],
        forcelist=LOADS),
    'subclass of kane': lambda: Swapped(
        N, [x], [u], KD, [y], [ROD], [v], [ROD_RATE], bodies=[BOB],
        forcelist=LOADS),
    'lagrange': upstream_lagrange,
    'lagrange without equations': lambda: upstream_lagrange(False),
    'system': pendulum_system}


@pytest.mark.parametrize('name', OBJECTS)
def test_models_are_read_from_objects_of_sympy(name):
    method = UdwadiaKalabaMethod.from_method(OBJECTS[name]())
    same(acceleration(method), PENDULUM)
    assert method.holonomic_constraints == Matrix([ROD])
    assert method.system.A.shape == (1, 2)


def test_options_go_with_the_object():
    method = UdwadiaKalabaMethod.from_method(
        upstream_kane(), stabilization=(1, 2))
    same(acceleration(method), acceleration(kane(stabilization=(1, 2))))
    assert any(abs(p - q) > 1e-3 for p, q in zip(
        acceleration(method), PENDULUM))
    gain = symbols('gain')
    method = kane(stabilization=[(gain, gain)], sample={gain: 1})
    same(acceleration(RouthMethod.from_method(method)), PENDULUM)


def test_a_system_forms_our_equations():
    system = pendulum_system()
    system.validate_system(eom_method=UdwadiaKalabaMethod)
    eom = system.form_eoms(eom_method=UdwadiaKalabaMethod)
    method = system.eom_method
    assert isinstance(method, UdwadiaKalabaMethod)
    assert isinstance(method, KanesMethod)
    assert not issubclass(UdwadiaKalabaMethod, LagrangesMethod)
    assert eom == -method.eom and eom.shape == (1, 1)
    same(acceleration(method), PENDULUM)
    assert system.mass_matrix == method.mass_matrix
    assert system.forcing == method.forcing
    assert UdwadiaKalabaMethod.from_method(
        pendulum_system()).mass_matrix == method.mass_matrix
    system.form_eoms(eom_method=UdwadiaKalabaMethod, stabilization=(1, 2))
    same(acceleration(system.eom_method),
         acceleration(kane(stabilization=(1, 2))))


def test_a_system_with_an_actuator_and_a_redundant_constraint():
    system = pendulum_system()
    system.add_actuators(ForceActuator(k*x, LinearPathway(O, P)))
    system.add_nonholonomic_constraints(2*x*u + 2*y*v)
    method = UdwadiaKalabaMethod.from_method(system)
    assert len(method.independent_rows) == 1
    # an ideal rod bears what acts along it
    with mp.workdps(30):
        same(at(method.acceleration, numbers()), PENDULUM)


def test_forces_on_wrapping_pathways_are_told():
    """SymPy has the other sign for them: springs push when stretched."""
    rope = ForceActuator(k, WrappingPathway(O.locatenew('A', N.x), O.locatenew(
        'B', N.y), WrappingSphere(1, O)))
    model = pendulum_system()
    model.add_actuators(rope)
    for form in (lambda: UdwadiaKalabaMethod.from_method(model),
                 lambda: kane(forcelist=[*LOADS, rope])):
        with pytest.warns(UserWarning, match='a damper feeds energy'):
            same(acceleration(form()), PENDULUM)


# Bodies later

def test_bodies_may_be_given_to_kanes_equations():
    method = kane(bodies=None, forcelist=None)
    assert method.q == Matrix([x, y])
    assert method.holonomic_constraints == Matrix([ROD])
    for name in ('mass_matrix', 'forcing', 'acceleration', 'system',
                 'equations_of_motion'):
        with pytest.raises(
                MissingIngredientError,
                match='(?s)no bodies yet.*`bodies=`.*kanes_equations'):
            getattr(method, name)
    active, inertial = method.kanes_equations([BOB], LOADS)
    assert active.shape == inertial.shape == (1, 1)
    same(acceleration(method), PENDULUM)


def test_a_sample_may_have_constants_of_later_bodies():
    method = RouthMethod(**{
        **SHAPE, 'bodies': None, 'forcelist': None, 'sample': {m: 2},
        'velocity_constraints': [(2 + x)*ROD_RATE]})
    method.kanes_equations([BOB], LOADS)
    same(acceleration(method), PENDULUM)


def test_new_bodies_replace_the_old_answers():
    method = kane()
    before, heavy = method.mass_matrix, Particle('heavy', P, 3*m)
    method.kanes_equations([heavy])
    assert method.mass_matrix[0, :] == 3*before[0, :]
    assert method.bodies == [heavy] and method.loads == LOADS
    same(acceleration(method), acceleration(kane(bodies=[heavy])))


def test_lists_of_the_user_are_copied():
    """A list that grows later does not change what a method was given."""
    bodies, loads = [BOB], [*LOADS]
    given = kane(bodies=bodies, forcelist=loads)
    later = kane()
    later.kanes_equations(bodies, loads)
    bodies.append(Particle('heavy', P, 3*m))
    loads.clear()
    for method in given, later:
        assert method.bodies == [BOB] and method.loads == LOADS
        again = UdwadiaKalabaMethod.from_method(method)
        assert again.mass_matrix == kane().mass_matrix


def test_iterators_of_the_user_are_read_once():
    given = {name: iter(value) for name, value in SHAPE.items()
             if name != 'frame'}
    method = UdwadiaKalabaMethod(N, **given)
    for again in method, UdwadiaKalabaMethod.from_method(method):
        same(acceleration(again), acceleration(kane()))
    forced = lagrange(generalized_forces=iter([g, k]))
    assert UdwadiaKalabaMethod.from_method(
        forced).forcing == forced.forcing == Matrix([g, k - g*m])


# Potential energy

def heavy_bob():
    body = Particle('heavy', P, m)
    body.potential_energy = m*g*y
    return body


@pytest.mark.filterwarnings('error')
def test_potential_energy_is_announced_included_or_ignored():
    with pytest.warns(UserWarning, match='heavy is counted.*'
                      "potential_energy='include'.*'ignore'"):
        warned = plain(bodies=[heavy_bob()], forcelist=[])
    with pytest.warns(UserWarning, match='heavy is not counted'):
        given = plain(bodies=[heavy_bob()], forcelist=[(P, -m*g*N.y)])
    assert given.system.Q == Matrix([0, -m*g])
    ignored = plain(bodies=[heavy_bob()], forcelist=[],
                    potential_energy='ignore')
    included = plain(bodies=[heavy_bob()], forcelist=[],
                     potential_energy='include')
    plain(potential_energy='include')
    plain()
    assert warned.system.Q == Matrix([0, -m*g])
    assert ignored.system.Q == Matrix([0, 0])
    assert included.system.Q == Matrix([0, -m*g])
    assert included.system.graph.sympy('energy') == Matrix(
        [m*(u**2 + v**2)/2 + m*g*y])


# Non-ideal forces

@pytest.mark.parametrize('given', [
    [-k*u, -k*v], Matrix([-k*u, -k*v]), [(P, -k*u*N.x - k*v*N.y)],
    [Force(P, -k*u*N.x), (P, -k*v*N.y)]])
def test_nonideal_forces_are_per_speed_or_loads(given):
    method = kane(nonideal_forces=given)
    assert method.system.graph.sympy('C') == Matrix([-k*u, -k*v])


@pytest.mark.parametrize('cls', [
    UdwadiaKalabaMethod, RouthMethod, VaccoMethod, GibbsAppellMethod])
def test_units_are_constants(cls):
    """They stay in the equations and want a number as every constant."""
    L = 5*kilogram*(x.diff(t)**2 + y.diff(t)**2)/2 - 3*newton*x
    method = cls(L, [x, y], hol_coneqs=[y - x*centimeter/meter])
    assert set(method.equations_of_motion.constants) == {
               kilogram, newton, centimeter, meter}
    assert not method.equations_of_motion.specifieds
    found = at(method.acceleration[0], {
        **dict.fromkeys((x, y, *method.u), Rational(2, 7)),
        kilogram: 1, newton: 1, meter: 1, centimeter: Rational(1, 100)})
    assert close(found, [Rational(-3, 5)/(1 + Rational(1, 10**4))])


@pytest.mark.parametrize('count, routes', [(1, 1), (3, 2), (8, 1)])
def test_a_system_of_many_bodies(count, routes):
    """Local, both, or composite bodies: always a regular pendulum."""
    bodies = [Particle(f'p{i}', P, m/count) for i in range(count)]
    same(acceleration(kane(bodies=bodies)), PENDULUM)


# Wrong input

# Most of it is in the catalogue of tests/errors.
def test_a_holonomic_row_along_a_direction_needs_another_point():
    with pytest.raises(ConstraintError, match=(
            'Row 0 .*direction Vector, other point')):
        plain(configuration_constraints=[(P, N.x)])


def test_nothing_is_formed_before_it_is_read():
    method = kane()
    for name in ('mass_matrix', 'system', 'forcing', 'eom', 'acceleration'):
        assert 'closed_form' not in vars(method)
        getattr(method, name)
    assert 'closed_form' in vars(method)


def test_arguments_are_not_changed():
    given, kept = ({name: list(value) for name, value in SHAPE.items()
                    if name != 'frame'} for _ in range(2))
    method = UdwadiaKalabaMethod(frame=N, **given)
    method.acceleration, method.eom, method.kanes_equations()
    assert given == kept


def test_symbols_keep_their_identity():
    """Two constants of one name and different assumptions."""
    one, two = Symbol('c'), Symbol('c', positive=True)
    method = lagrange(one*x.diff(t)**2/2 - two*x, [x])
    assert method.mass_matrix == Matrix([one])
    assert method.system.Q == Matrix([-two])
    assert len(method.equations_of_motion.constants) == 2


def test_equations_read_as_by_hand():
    q = dynamicsymbols('q')
    method = lagrange(m*l**2*q.diff(t)**2/2 + m*g*l*cos(q), [q])
    assert (method.mass_matrix, method.forcing) == (
        Matrix([l**2*m]), Matrix([-g*l*m*sin(q)]))
    assert method.acceleration in (
        Matrix([-g*sin(q)/l]), Matrix([-g*l*sin(q)/l**2]))


def quaternion_body():
    """Arguments of a body in a quaternion and a coordinate, its norm, and a
    state with a unit quaternion.
    """
    q, w = [*dynamicsymbols('e:4'), x], [*dynamicsymbols('w:4'), u]
    A, B = Point('A'), ReferenceFrame('B')
    B.orient_quaternion(N, q[:4])
    A.set_pos(O, x*N.x)
    A.set_vel(N, u*N.x)
    C = A.locatenew('C', B.x + 2*B.y)
    C.v2pt_theory(A, N, B)
    top = RigidBody('top', C, B, 3, (inertia(B, 2, 3, 4, S(1)/3), C))
    state = dict(zip(q, (S(1)/5, S(2)/5, S(2)/5, S(4)/5, S(1)/3)))
    rates = 2, -1, 0, 0, S(7)/3
    state.update([*zip(w, rates), *zip((e.diff(t) for e in q), rates)])
    return dict(
        frame=N, q_ind=q, u_ind=w, bodies=[top],
        kd_eqs=[e.diff(t) - s for e, s in zip(q, w)],
        forcelist=[(C, -9*N.z - x*N.x), (B, 2*B.x - w[1]*N.y)]
    ), [sum(e**2 for e in q[:4]) - 1], state


@pytest.mark.parametrize('method', [
    RouthMethod, VoronetsMethod, VaccoMethod, HamelEmbedding])
def test_a_quaternion_needs_its_norm_only(method):
    """Its angular velocity is that of the frame where the norm is one."""
    kane, norm, state = quaternion_body()
    rate = [sum(e*s for e, s in zip(kane['q_ind'][:4], kane['u_ind']))]
    if method is HamelEmbedding:
        kane |= dict(q_dependent=kane['q_ind'][:1], q_ind=kane['q_ind'][1:])
    with pytest.raises(UnsupportedFeatureError, match='norm is not among'):
        method(**kane)
    with pytest.raises(UnsupportedFeatureError, match='put in by hand'):
        method(**kane, velocity_constraints=[kane['u_ind'][0]])
    for rows in ({'configuration_constraints': norm},
                 {'velocity_constraints': rate}):
        wanted = UdwadiaKalabaMethod(**kane, **rows).closed_form.evaluate(
            state, 'acceleration', context=mp)['acceleration']
        wanted = mp.matrix(wanted)
        taken = method(**kane, **rows)
        if method is HamelEmbedding:    # its equations, and what they lack
            graph = taken.embedding.graph
            found = graph.evaluate(state, ('Psi', 'G', 'E'), context=mp)
            Psi, G, E = (mp.matrix(found[name]) for name in ('Psi', 'G', 'E'))
            found = mp.lu_solve(Psi, G - E)
        else:
            multipliers = dict.fromkeys(getattr(taken, 'mu_vec', ()), 2)
            found = mp.matrix(taken.closed_form.evaluate(
                {**state, **multipliers}, 'acceleration',
                context=mp)['acceleration'])
        if len(found) < 5:
            order = list(UdwadiaKalabaMethod(**kane, **rows).u)
            wanted = mp.matrix([wanted[order.index(x)] for x in taken.u])
        assert mp.mnorm(found - wanted, mp.inf) < 1e-12
