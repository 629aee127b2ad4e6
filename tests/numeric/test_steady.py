"""Steady motions: published ones, and their stability in closed form."""
import pickle
from dataclasses import replace
from math import acos, cos, pi, sqrt

import numpy as np
import pytest
from mechanisms import g, l, m, x, y
from sympy import (
    Piecewise, Rational, cos as cosine, sign, sin as sine, symbols)
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import RouthMethod, UdwadiaKalabaMethod, VoronetsMethod
from sympy_constrained.errors import (
    ConstrainedDynamicsError, ConstraintError, UnsupportedFeatureError)
from sympy_constrained.models import model
from sympy_constrained.numeric import (
    compile_equations, consistent_state, equilibria, steady_motions)
from sympy_constrained.numeric.steady import search

# -- the bicycle -----------------------------------------------------------


@pytest.fixture(scope='module')
def bicycle():
    ready = model('bicycle')
    return compile_equations(ready.form(UdwadiaKalabaMethod), ready.parameters)


@pytest.fixture(scope='module')
def straight(bicycle):
    """The family of straight motions, by the speed."""
    start = consistent_state(
        bicycle, {'u3': 3/0.3, 'u6': 3/0.35}, fill=0,
        fixed=('q1', 'q2', 'q5', 'u2', 'u3', 'u5'))
    motion, = steady_motions(bicycle, start, fixed=['u3'])
    return motion.follow(along='u3', until={'u3': (0, 30)}, step=0.5)


@pytest.fixture(scope='module')
def turns(straight):
    """The family of circles that begins at the capsize speed."""
    return straight.critical[-1].motion.follow(
        direction={'q2': 1}, step=0.5, count=400)


def test_accelerations_of_basu_mandal_chatterjee_and_papadopoulos(bicycle):
    """Table 1 of Proc. R. Soc. A 463 (2007) 1983-2003 has 13 digits."""
    # Their angles are theta = yaw, psi = 90 deg - lean, phi = 180 deg + pitch,
    # psi_f = -steer.
    state = {'q1': 0, 'q2': pi/2 - 0.9501292851472,
             'q4': 3.1257073014894 - pi, 'q5': -0.2311385135743,
             'u1': 0.7830033527065, 'u2': -0.6068425835418,
             'u3': 8.9129896614890, 'u4': -0.0119185528069,
             'u5': -0.4859824687093, 'u6': 8.0133620584155}
    at = bicycle.names.vector(state, 'state')
    assert np.abs(bicycle.residuals(0, at)).max() < 1e-12
    rates = dict(zip(bicycle.names.labels, bicycle.rhs(0, at)))
    expected = {'u1': 0.8353281706379, 'u2': 7.8555281128244,
                'u3': 1.8472554144217, 'u4': 0.1205543897884,
                'u5': 4.6198904039403, 'u6': 2.4548072904550}
    assert {x: rates[x] for x in expected} == pytest.approx(expected, 0, 2e-12)
    arguments = model('bicycle').arguments
    N, hub = arguments['frame'], next(
        body.masscenter for body in arguments['bodies']
        if body.name == 'rear_wheel')
    np.testing.assert_allclose(     # their x and y point the other way
        bicycle.values(hub.vel(N).dt(N).to_matrix(N))(0, at), [
            0.5041626315047, 0.3449706619454, -1.4604528332980],
        atol=2e-12)


def test_weave_and_capsize_speeds(straight):
    """Meijaard, Papadopoulos, Ruina and Schwab (2007), full equations."""
    weave, capsize = straight.critical
    assert (weave.kind, capsize.kind) == ('hopf', 'branch')
    assert 0.3*np.array([*straight.intervals('u3'), [
        weave.motion['u3'], capsize.motion['u3']]]) == pytest.approx(
            np.array(2*[[4.292382536, 6.024262015]]), abs=1e-9)


@pytest.mark.parametrize('lean, steer, speed, radius', [
    (0.1, 0.02910842, 5.99780561, 36.6503),
    (0.3, 0.09723392, 5.71075473, 10.5049)])
def test_circles_of_the_bicycle(bicycle, turns, lean, steer, speed, radius):
    turn, = steady_motions(
        bicycle, {'q2': lean, 'q5': 0.3*lean, 'u1': -lean, 'u3': 20, 'u6': 17},
        fill=0, fixed=['q2'])
    assert (turn['q5'], 0.3*turn['u3'], turn.dimension) == pytest.approx(
        (steer, speed, 1), 0, 1e-8)
    yaw, = turn.cyclic.values()
    assert abs(0.3*turn['u3']/yaw) == pytest.approx(radius, abs=1e-3)
    # The family from the straight motion at the capsize speed contains it.
    out = slice(turns['q2'].argmax())
    assert np.interp(lean, turns['q2'][out], turns['q5'][out]) == (
        pytest.approx(steer, abs=1e-3))


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('time', [3600, 1e-6])
def test_a_circle_of_the_bicycle_in_any_unit_of_time(bicycle, time):
    guess = {'q2': 0.1, 'q5': 0.03, 'u1': -0.16, 'u3': -20, 'u6': -17}
    there, here = (steady_motions(bicycle.with_values({'g': 9.81*unit**2}), {
        key: value*unit if key[0] == 'u' else value
        for key, value in guess.items()}, fill=0, fixed=['q2'])[0]
        for unit in (time, 1))
    np.testing.assert_allclose(
        there.eigenvalues/time, here.eigenvalues, rtol=1e-8)


@pytest.mark.parametrize('rounding', [0, 1e-15, -1e-15, 1e-13, -1e-13, 1e-11])
def test_rounding_does_not_decide_whether_a_circle_is_found(bicycle, rounding):
    guess = {'q2': 0.47, 'q5': -0.9, 'u1': 3 + rounding, 'u3': -11, 'u6': -12}
    turn, = steady_motions(bicycle, guess, fill=0, fixed=['q2'])
    assert np.abs(bicycle.rhs(0, turn.x)[1:]).max() < 1e-8


def test_the_family_of_circles_is_a_loop(bicycle, turns):
    """Basu-Mandal et al.: from the capsize speed to rest, upright, the wheel
    across. It goes on backwards, and returns on the other side.
    """
    assert turns.message == 'It is closed.'
    assert max(turns['q2']) == pytest.approx(-min(turns['q2']), abs=1e-3)
    assert turns['q2'].max() == pytest.approx(0.4201, abs=1e-3)
    slow = np.abs(turns['u3']).argmin()
    assert abs(turns['q2'][slow]) < 0.02 and 1.2 < abs(turns['q5'][slow]) < 1.5
    assert turns.intervals('q2') == []
    for motion in turns.motions[::25]:
        assert np.abs(bicycle.residuals(0, motion.x)).max() < 1e-11
        rates = bicycle.rhs(0, motion.x)
        assert np.abs(rates[1:]).max() < 1e-9*np.abs(motion.x).max()


def test_the_number_of_steady_motions_is_proven(turns):
    """In intervals; not at the branch point or at a point that is no zero."""
    motion = turns.motions[20]
    proof = motion.certificate()
    assert proof.radius < 1e-8 and len(proof.held) == 2
    assert proof.held[0] in ('q2', 'q5', 'u1', 'u3', 'u6')
    assert proof.stability == 'unstable'
    for other, reason in ((turns.motions[0], 'families cross'), (replace(
            motion, point=motion.point + 1e-2), 'proof')):
        with pytest.raises(ConstrainedDynamicsError, match=reason):
            other.certificate()


@pytest.mark.parametrize('place, proven', [(-1, 'stable'), (1, 'unstable')])
@pytest.mark.parametrize('rows', [1, 2])
def test_signs_of_eigenvalues_are_proven(place, proven, rows):
    """Of a damped pendulum, also with a redundant row; multipliers too."""
    c = symbols('c')
    pendulum = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
        hol_coneqs=[x**2 + y**2 - l**2,
                    (3 + y)*(x**2 + y**2) - 3*l**2 - l**2*y][:rows],
        nonideal_forces=[-c*x.diff(), -c*y.diff()])
    rest, = equilibria(pendulum, {x: 0.1, y: place}, constants={
        m: 2, g: 9.81, l: 0.7, c: 3})
    proof = rest.certificate()
    assert proof.stability == rest.stability == proven
    roots = np.roots([2, 3, -place*2*9.81/0.7])
    for exact in roots:
        assert any(abs(exact - value) <= radius + 1e-14
                   for value, radius in proof.eigenvalues)
    assert all(radius < 1e-6 for _, radius in proof.eigenvalues)


# -- wheels ----------------------------------------------------------------

def rolling(A, C, with_path=False):
    """A wheel of moments of inertia ``A``, and ``C`` about its axle.

    The path of the contact point has coordinates without inertia, and each of
    its constraints is given twice.
    """
    q1, q2, q3, q4, q5, u1, u2, u3, u4, u5 = dynamicsymbols('q1:6 u1:6')
    N = ReferenceFrame('N')
    yaw = N.orientnew('Y', 'Axis', [q1, N.z])
    lean = yaw.orientnew('L', 'Axis', [q2, yaw.x])
    wheel = lean.orientnew('R', 'Axis', [q3, lean.y])
    turning = wheel.ang_vel_in(N)
    wheel.set_ang_vel(N, u1*lean.x + u2*lean.y + u3*lean.z)
    contact = Point('P')
    contact.set_vel(N, 0)
    center = contact.locatenew('C', l*lean.z)
    center.v2pt_theory(contact, N, wheel)
    body = RigidBody('wheel', center, wheel, m,
                     (m*l**2*inertia(lean, A, C, A), center))
    q, u, rows = [q1, q2, q3], [u1, u2, u3], []
    kdes = [(wheel.ang_vel_in(N) - turning).dot(axis) for axis in lean]
    if with_path:
        path = u4*yaw.x + u5*yaw.y
        arm = lean.ang_vel_in(N).cross(l*lean.z)
        rows = 2*[(center.vel(N) - path - arm).dot(axis)
                  for axis in (yaw.x, yaw.y)]
        q, u = [*q, q4, q5], [*u, u4, u5]
        kdes += [(q4.diff()*N.x + q5.diff()*N.y - path).dot(axis)
                 for axis in (N.x, N.y)]
    method = UdwadiaKalabaMethod(
        N, q, u, kdes, velocity_constraints=rows, bodies=[body],
        forcelist=[(center, -m*g*N.z)])
    return compile_equations(method, {m: 2, g: 9.81, l: 0.3})


@pytest.mark.parametrize('A, C, part, with_path', [
    (Rational(1, 4), Rational(1, 2), 1/3, False),
    (Rational(1, 2), 1, 1/4, False),
    (Rational(1, 4), Rational(1, 2), 1/3, True)])
def test_a_wheel_rolls_stably_above_a_speed(A, C, part, with_path):
    """A disc where v**2 > g r/3, a hoop where v**2 > g r/4."""
    wheel = rolling(A, C, with_path)
    motion, = steady_motions(wheel, {'u2': 1}, fill=0, fixed=['q2', 'u2'])
    assert len(motion.cyclic) == (4 if with_path else 2)
    assert motion.dimension == 2        # speeds and leans of circles
    assert motion.stability == 'unstable'
    family = motion.follow(along='u2', fixed=['q2', 'u3'], step=0.5,
                           until={'u2': (0, 12)})
    critical, = family.critical
    assert (0.3*critical.motion['u2'])**2 == pytest.approx(
        part*9.81*0.3, rel=1e-9)
    assert family.motions[-1].stability == 'marginal'


# -- tops ------------------------------------------------------------------

A, C, mgl = symbols('A C mgl')
TOP = {A: 0.002, C: 0.001, mgl: 0.3}


def tilted_top():
    """A symmetric top by two tilts, so that it may stand upright."""
    a, b, c = dynamicsymbols('a b c')
    p = a.diff()*cosine(b), b.diff(), a.diff()*sine(b) + c.diff()
    energy = (A*(p[0]**2 + p[1]**2) + C*p[2]**2)/2
    return UdwadiaKalabaMethod(energy - mgl*cosine(a)*cosine(b), [a, b, c])


def euler_top():
    phi, theta, psi = dynamicsymbols('phi theta psi')
    spin = psi.diff() + phi.diff()*cosine(theta)
    return UdwadiaKalabaMethod(
        A*(theta.diff()**2 + phi.diff()**2*sine(theta)**2)/2 + C*spin**2/2
        - mgl*cosine(theta), [phi, theta, psi])


def test_a_top_sleeps_above_a_spin():
    """Where C**2 w**2 > 4 A m g l."""
    motion, = steady_motions(tilted_top(), {"c'": 10}, fill=0, constants=TOP,
                             fixed=["c'"])
    family = motion.follow(along="c'", step=5, until={"c'": (0, 100)})
    critical, = family.critical
    assert critical.kind == 'hopf'
    assert (1e-3*critical.motion["c'"])**2 == pytest.approx(
        4*0.002*0.3, rel=1e-9)


@pytest.mark.parametrize('faster', [False, True])
def test_a_top_precesses_at_two_rates(faster):
    """(A - C) cos(theta) W**2 - C s W + m g l = 0."""
    theta, spin = 0.7, 60.
    half, rest = 1e-3*spin, (TOP[A] - TOP[C])*cos(theta)
    root = sqrt(half**2 - 4*rest*TOP[mgl])
    expected = (half + root if faster else half - root)/(2*rest)
    motion, = steady_motions(
        euler_top(), {'theta': theta, "psi'": spin, "phi'": 1.2*expected},
        fill=0, fixed=['theta', "psi'"], constants=TOP)
    assert motion["phi'"] == pytest.approx(expected, rel=1e-12)
    assert motion.dimension == 2 and motion.stability == 'marginal'


# -- other systems ---------------------------------------------------------

def test_a_sleigh_is_stable_in_one_direction_only():
    """Its eigenvalue changes the sign with the speed."""
    sleigh = model('chaplygin_sleigh')
    found = steady_motions(
        sleigh.form(UdwadiaKalabaMethod), [{'u1': 2}, {'u1': -2}], fill=0,
        fixed=['u1'], constants=sleigh.parameters)
    forth, back = (pickle.loads(pickle.dumps(motion)).eigenvalues
                   for motion in found)
    rate = 1.5*0.2*2/(0.1 + 1.5*0.2**2)         # mass, arm, moment
    assert len(forth) == 1 and {motion.dimension for motion in found} == {1}
    assert sorted([forth[0].real, back[0].real]) == pytest.approx(
        [-rate, rate])
    assert {motion.stability for motion in found} == {'stable', 'unstable'}
    rounded = replace(found[0])
    rounded.__dict__['matrix'] = np.array([[1e-19]])    # of a scooter
    assert rounded.stability == 'marginal'


def test_redundant_rows_and_massless_coordinates():
    """Multipliers that are not unique count in no family."""
    cranks = model('parallel_cranks')
    for rest in equilibria(cranks.form(UdwadiaKalabaMethod), cranks.start,
                           fill=0, constants=cranks.parameters):
        rates = rest.compiled.rhs(0, rest.x)
        assert np.abs(rates).max() < 1e-10 and rest.dimension == 0


def test_equilibria_of_a_furuta_pendulum():
    """Hanging and upright; the arm may have any angle."""
    furuta = model('furuta_pendulum')
    method = furuta.form(UdwadiaKalabaMethod)
    angle = method.q[1]
    found = equilibria(method, [{angle: 0.2}, {angle: 3}], fill=0,
                       constants=furuta.parameters, inputs=dict.fromkeys(
                           method.equations_of_motion.specifieds, 0))
    assert sorted(abs(round(rest[angle], 9)) for rest in found) == [
        0, round(pi, 9)]
    assert {rest.dimension for rest in found} == {1}
    assert 'unstable' in {rest.stability for rest in found}


@pytest.mark.parametrize('cls, options', [
    (RouthMethod, {}), (VoronetsMethod, {"q_dependent": [y]})])
def test_every_method_finds_the_same(cls, options):
    method = cls(m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
                 hol_coneqs=[x**2 + y**2 - l**2], **options)
    rest, = equilibria(method, {x: 1, y: -1.5},
                       constants={m: 1, g: 9.81, l: 2})
    assert [rest[x], rest[y]] == pytest.approx([0, -2], abs=1e-12)
    assert np.sort(rest.eigenvalues.imag) == pytest.approx(
        np.array([-1, 1])*sqrt(9.81/2))


# -- what is refused -------------------------------------------------------

def test_time_and_tables_are_refused():
    f = dynamicsymbols('f')
    driven = UdwadiaKalabaMethod(m*x.diff()**2/2, [x], nonideal_forces=[f])
    for error, text, near, force in (
            (ConstrainedDynamicsError, r'on time \(dyn', {x: 0},
             sine(dynamicsymbols._t)),
            (UnsupportedFeatureError, 'expressions', {x: 0}, ([0, 1], [0, 1])),
            (TypeError, '`near` must be .* not NoneType', None, 0)):
        with pytest.raises(error, match=text):
            equilibria(driven, near, constants={m: 1}, inputs={f: force})


def test_a_motion_that_is_not_steady(bicycle):
    """Friction and no drive; a coordinate that is not cyclic."""
    k = symbols('k')
    sledge = UdwadiaKalabaMethod(
        m*x.diff()**2/2, [x], nonideal_forces=[-k*x.diff()])
    with pytest.raises(ConstraintError, match='No steady motion') as error:
        steady_motions(sledge, {x: 0, x.diff(): 2}, fixed=[x.diff()],
                       constants={m: 1, k: 3})
    assert error.value.rows == ('dynamic equation 0',)
    with pytest.raises(ConstrainedDynamicsError, match='depend on q2'):
        steady_motions(bicycle, {'u3': 10, 'u6': 8.57}, fill=0,
                       cyclic=['q1', 'q2'], fixed=['u3'])
    top = model('heavy_top')            # upright, where its angles lock
    with pytest.raises(ConstraintError, match='have no value.*a quaternion'):
        equilibria(top.form(UdwadiaKalabaMethod), top.start,
                   constants=top.parameters)


@pytest.mark.parametrize('place', [1, 1e-3])
def test_steps_out_of_the_domain_are_shortened(place):
    root = UdwadiaKalabaMethod(
        m*x.diff()**2/2 - m*x*place**0.5 + 2*m*x**1.5/3, [x])
    rest, = equilibria(root, [60*place], constants={m: 1})
    assert list(rest) == pytest.approx([place, 0])


def test_isolated_motions_and_larger_families():
    W = symbols('W')
    q = dynamicsymbols('q')
    carried = UdwadiaKalabaMethod(
        m*l**2*(q.diff()**2 + W**2*sine(q)**2)/2 + m*g*l*cosine(q), [q])
    values = {m: 1, g: 9.81, l: 1, W: 5}
    rest, = equilibria(carried, {q: 1}, constants=values)
    assert rest[q] == pytest.approx(acos(9.81/25), rel=1e-12)
    assert rest.certificate().stability is None     # imaginary eigenvalues
    with pytest.raises(ConstrainedDynamicsError, match='isolated'):
        rest.follow()
    with pytest.raises(ValueError, match='does not change'):
        rest.follow(along=W, until={l: (0, 1)})
    top, = steady_motions(euler_top(), {'theta': 0.7, "psi'": 60, "phi'": 5},
                          fill=0, fixed=['theta', "psi'"], constants=TOP)
    with pytest.raises(ConstrainedDynamicsError, match='2 dimensions'):
        top.follow()


def test_a_damper_across_a_guide_does_not_damp():
    gap = cosine(2.2)*x + sine(2.2)*y
    rest, = equilibria(UdwadiaKalabaMethod(
        x.diff()**2 + y.diff()**2, [x, y], hol_coneqs=[gap + sine(gap)],
        generalized_forces=[-gap.diff(z)*gap.diff() for z in (x, y)]), [1, 0])
    assert rest.stability == 'marginal'


@pytest.mark.parametrize('force, stability', [
    (x**3, 'marginal'), (x**2, 'marginal'), (0, 'stable'),
    (x.diff() + (.1 + .2 - .3)*x, 'marginal')])     # undamped, and rounding
@pytest.mark.parametrize('q', [[x], [x, y]])
def test_an_isolated_motion_with_a_zero_eigenvalue(force, stability, q):
    """The damped particle leaves zero where the force is x^3 or x^2."""
    forces = force - x.diff(), -y - y.diff()
    particle = UdwadiaKalabaMethod(m*sum(v.diff()**2 for v in q)/2, q,
                                   generalized_forces=forces[:len(q)])
    rest, = equilibria(particle, [0.]*len(q), constants={m: 1})
    assert rest.nullity == 1 and rest.stability == stability


def test_singular_coordinates_hide_a_force():
    """A top that hangs between springs, pushed or not."""
    z = dynamicsymbols('z')
    method = UdwadiaKalabaMethod(
        (x.diff()**2 + sine(x)**2*y.diff()**2)/2 + cosine(x)
        + (z.diff() + y.diff()*cosine(x))**2/2 - sine(x)**2*sine(2*y)
        + m*sine(x)*cosine(y), [x, y, z])
    assert 'singular' in repr(equilibria(method, [0]*3, constants={m: 0}))
    with pytest.raises(ConstraintError, match='coordinates are singular'):
        equilibria(method, [0, pi/2, 0], constants={m: 1})
    sphere = UdwadiaKalabaMethod(
        (x.diff()**2 + sine(x)**2*y.diff()**2)/2 - sine(x)*cosine(y), [x, y])
    rest, = equilibria(sphere, [0.25, 2.15])    # from a start beside it
    np.testing.assert_allclose(rest.x[:2], [-pi/2, 0], atol=1e-9)


@pytest.mark.parametrize('direction', [sign, lambda u: Piecewise(
    (1, u > 0), (-1, True))])
def test_a_warning_of_dry_friction(direction):
    block = UdwadiaKalabaMethod(m*x.diff()**2/2 - x**2/2, [x],
                                nonideal_forces=[-direction(x.diff())])
    with pytest.warns(UserWarning, match='range of equil'):
        equilibria(block, [0.5], constants={m: 1})


def test_a_constant_crosses_zero_where_motions_become_periodic():
    """Van der Pol's oscillator, also if zero is one of the points."""
    c, k = symbols('c k')
    oscillator = UdwadiaKalabaMethod(
        m*x.diff()**2/2 - k*x**2/2, [x],
        nonideal_forces=[c*x.diff() - x**2*x.diff()])
    for start in -0.5, -0.37:
        rest, = equilibria(oscillator, [0.], constants={m: 1, k: 1, c: start})
        family = rest.follow(along=c, until={c: (-1, 1)})
        critical, = family.critical
        assert critical.kind == 'hopf' and abs(critical.motion[c]) < 1e-13
        assert family[c][-1] == 1


def test_folds_of_a_bistable_spring():
    """f = k (x^3 - x) turns back at 2/(3 sqrt 3)."""
    c, k, f = symbols('c k f')
    F = dynamicsymbols('F')
    spring = UdwadiaKalabaMethod(
        m*x.diff()**2/2 - k*(x**4/4 - x**2/2), [x],
        nonideal_forces=[F - c*x.diff()])
    rest, = equilibria(spring, [-1.2], inputs={F: f}, constants={
        m: 1, k: 1, c: 0.5, f: -0.1})
    family = rest.follow(along=f, until={f: (-1, 1)})
    assert [item.kind for item in family.critical] == ['fold', 'fold']
    found = [(item.motion[f], item.motion[x]) for item in family.critical]
    edge = 2/3/np.sqrt(3)
    np.testing.assert_allclose(found, [
        (edge, -1/np.sqrt(3)), (-edge, 1/np.sqrt(3))], rtol=1e-12)
    first, second = family.intervals(x)
    np.testing.assert_allclose([first[1], second[0]], [
        -1/np.sqrt(3), 1/np.sqrt(3)], rtol=1e-12)


def test_a_column_buckles_where_families_cross():
    load = symbols('F')
    column = UdwadiaKalabaMethod(
        (x.diff()**2 + y.diff()**2 - x**2 - (y - x)**2)/2
        - load*(cosine(x) + cosine(y)), [x, y])
    rest, = equilibria(column, [0, 0], constants={load: 0.1})
    crossing, = rest.follow(along=load, until={load: (0, 1)}).critical
    assert crossing.kind == 'branch'
    assert crossing.motion[load] == pytest.approx((3 - sqrt(5))/2)


@pytest.mark.parametrize('size', [1e-9, 1e-6, 1e-3, 1e3, 1e5, 1e8])
def test_units_of_length_do_not_matter(size, monkeypatch):
    pendulum = UdwadiaKalabaMethod(
        m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
        hol_coneqs=[x**2 + y**2 - l**2])
    rest, = equilibria(pendulum, [.6*size, -.7*size], constants={
        m: 1, g: 9.81, l: size})
    np.testing.assert_allclose(rest.x[:2]/size, [0, -1], atol=1e-12)
    spring = UdwadiaKalabaMethod(m*x.diff()**2/2 + m*x - g*x**4/4, [x])
    rest, = equilibria(spring, [2*size], constants={m: 1, g: size**-3})
    assert rest[x] == pytest.approx(size)
    if size == 1e-6:                    # were it not for the size of the guess
        monkeypatch.setattr(search, 'USUAL', (0, 1))
        with pytest.raises(ConstrainedDynamicsError, match='smaller units'):
            equilibria(UdwadiaKalabaMethod(
                m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
                hol_coneqs=[x**4 + y**4 - l**4]), [3e-8, 4e-9], constants={
                m: 1, g: 1e-3, l: 1e-8})


@pytest.mark.parametrize('length, mass, time', [
    (1, 1, 1), (1e3, 1e-3, 1e3), (1e-3, 1e3, 1/3600), (1e6, 1e-9, 1e6)])
def test_a_conical_pendulum_in_any_units(length, mass, time):
    r, phi, z = dynamicsymbols('r phi z')
    rod = UdwadiaKalabaMethod(
        m*(r.diff()**2 + r**2*phi.diff()**2 + z.diff()**2)/2 - m*g*z,
        [r, phi, z], hol_coneqs=[r**2 + z**2 - l**2])
    circle, = steady_motions(
        rod, {r: .4*length, z: -.5*length, phi.diff(): 4/time}, fill=0,
        fixed=[phi.diff()], constants={
            m: .3*mass, g: 9.81*length/time**2, l: .7*length})
    height = 9.81/.7/16
    assert circle[z]/length == pytest.approx(-.7*height)
    assert circle.dimension == 1
    np.testing.assert_allclose(
        np.abs(circle.eigenvalues)*time, 4*np.sqrt(1 + 3*height**2))


def test_a_stiff_spring_does_not_hide_a_slow_motion():
    """A pendulum on a spring that its weight stretches by 1e-9 of it."""
    r, angle = dynamicsymbols('r angle')
    spring = UdwadiaKalabaMethod(
        (r.diff()**2 + r**2*angle.diff()**2)/2 + cosine(angle)*r
        - 1e9*(r - 1)**2/2, [r, angle],
        nonideal_forces=[-r.diff(), -1e-3*angle.diff()])
    for guess, stability in (0., 'stable'), (3., 'unstable'):
        rest, = equilibria(spring, [1, guess])
        assert rest.stability == stability
        assert abs(rest.eigenvalues[-1]) == pytest.approx(1, abs=1e-3)
