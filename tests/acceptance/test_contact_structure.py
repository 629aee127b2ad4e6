"""Rolling point contact: what holds for any pair, every method, edges and
vertices, unilateral contact, and what is refused.
"""
import math

import numpy as np
import pytest
from sympy import Rational, Symbol, cos, pi, sin, sqrt, symbols
from sympy.physics.mechanics import (
    Force, KanesMethod, LagrangesMethod, Point, ReferenceFrame, RigidBody,
    System, dynamicsymbols)

from contacts import (
    ANGLES, FORMULATIONS, GRAVITY, GUESS, STATES, Scene, accelerations,
    angle_values, ball, disc, ellipsoid, number, on_plane,
    polar_guess, solved, t, torus, vector)
from sympy_constrained import (
    CircularRim, ConeSurface, ConstraintError, CylinderSurface,
    EllipsoidSurface, GibbsAppellMethod, KinematicsError, ParametricCurve,
    ParametricSurface, PlaneSurface, PointContact, RouthMethod,
    SphereSurface, SurfaceOfRevolution, TorusSurface, UdwadiaKalabaMethod,
    UnsupportedFeatureError, VaccoMethod, VertexPoint)
from sympy_constrained.contact.geometry import numbers
from sympy_constrained.numeric import compile_equations, simulate

each_formulation = pytest.mark.parametrize('formulation', FORMULATIONS)
# The augmented rows take much longer than the others.
AUGMENTED = pytest.param('augmented', marks=pytest.mark.slow)
two_formulations = pytest.mark.parametrize(
    'formulation', ['explicit', AUGMENTED])
three_formulations = pytest.mark.parametrize(
    'formulation', ['explicit', 'kinematic', AUGMENTED])


def closed(contact, scene, place, height, *guess):
    """Height of the body and contact coordinates that close a contact."""
    values = {**dict(zip(scene.q, place)), t: 0}
    del values[scene.q[2]]
    return contact.solve_contact(values, {
        scene.q[2]: height, **dict(zip(contact.coordinates, guess))})


def rolling_rates(values, *contacts):
    """Set the speeds of the contact coordinates, where there are any."""
    for contact in contacts:
        rates = contact.contact_kinematics()
        values.update((u, number(rates[x.diff(t)], values)) for x, u in zip(
            contact.coordinates, contact.speeds))


# -- structure -----------------------------------------------------------


@pytest.mark.parametrize('make', [
    *(pytest.param(make, marks=pytest.mark.slow)
      for make in (ellipsoid, torus)), disc, ball])
def test_explicit_and_augmented_quantities_agree(make, rng):
    values, found = {}, []
    for formulation in ('explicit', 'augmented'):
        scene, contact, start = on_plane(make, formulation, mode='sliding')
        values = {**start, **values}
        if formulation == 'explicit':
            values.update((u, rng.uniform(-1, 1)) for u in scene.u)
        values[scene.u[2]] = 0.
        lift = number(contact.normal_velocity, values)
        values[scene.u[2]] = -lift
        rolling_rates(values, contact)
        numbers = [number(x, values) for x in (
            *contact.slip_velocity, contact.pivot_speed,
            *contact.trace_speeds(), *contact.relative_curvature())]
        numbers += [*vector(values, scene.N, contact.normal), *vector(
            values, scene.N, contact.trace_velocities()[0])]
        found.append(np.array(numbers, float))
    assert np.allclose(*found, rtol=0, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize('make', [
    torus, pytest.param(ellipsoid, marks=pytest.mark.slow)])
def test_traces_of_rolling(make):
    """(23), and the difference of the geodesic curvatures."""
    scene, contact, values = on_plane(make, 'augmented')
    compiled, x, rates = solved(scene.method(), values)
    moving = {**values, **{y.diff(t): rates[y] for y in compiled.states}}
    first, second = (number(s, values) for s in contact.trace_speeds())
    assert math.isclose(first, second)
    a, b = (vector(values, scene.N, e) for e in contact.trace_tangents())
    assert np.allclose(a, b, rtol=0, atol=1e-14)
    bend1, bend2 = (number(k, moving) for k in contact.geodesic_curvatures())
    pivot = number(contact.pivot_speed, values)
    assert math.isclose(bend2 - bend1, pivot/first, rel_tol=1e-12)
    # Without the parameters the same.
    scene, contact, values = on_plane(make, 'explicit')
    compiled, x, rates = solved(scene.method(), values)
    moving = {**values, **{y.diff(t): rates[y] for y in compiled.states}}
    assert np.allclose([float(number(k, moving)) for k in
                        contact.geodesic_curvatures()],
                       [float(bend1), float(bend2)])


def test_contact_angle_turns_as_told():
    scene, contact, values = on_plane(ellipsoid, 'kinematic')
    tangents = (contact.parent_geometry.tangent_vectors()[0],
                contact.child_geometry.tangent_vectors()[0])
    base, turned = (x.normalize() for x in tangents)
    cosine, sine = base.dot(turned), contact.normal.dot(base ^ turned)
    compiled, x, rates = solved(scene.method(), values)
    moving = {**values, **{y.diff(t): rates[y] for y in compiled.states}}
    found = number(cosine*sine.diff(t) - sine*cosine.diff(t), moving)
    assert math.isclose(found, number(contact.contact_angle_rate(), values),
                        rel_tol=1e-12)


def test_turning_parent_leaves_no_trace_in_virtual_displacements():
    """The prescribed speed is in the rows but not in their matrix."""
    rate = Symbol('Omega')
    scene = ball(turning=rate*t, lagrange=True)
    contact = scene.touch(scene.plane(), scene.surface)
    A = contact.virtual_displacement_matrix(scene.q).subs(t, 0)
    assert not A.has(rate)
    assert all(row.subs(t, 0).diff(rate) != 0
               for row in contact.nonholonomic_constraints)


# -- methods -------------------------------------------------------------

def kane_arguments(scene, contact):
    z = scene.q[2]
    return dict(
        frame=scene.N, q_ind=[x for x in scene.q if x is not z],
        q_dependent=[z, *contact.coordinates], u_ind=scene.u[3:],
        u_dependent=[*scene.u[:3], *contact.speeds],
        kd_eqs=scene.kdes + contact.kdes,
        configuration_constraints=contact.holonomic_constraints,
        velocity_constraints=contact.velocity_constraints,
        bodies=[scene.body], forcelist=scene.loads)


@pytest.mark.parametrize('formulation', [
    'explicit', pytest.param('augmented', marks=pytest.mark.slow)])
def test_kanes_method(formulation):
    scene, contact, values = on_plane(ellipsoid, formulation)
    known = STATES[ellipsoid]
    arguments = kane_arguments(scene, contact)
    upstream = KanesMethod(**arguments)
    upstream.kanes_equations([scene.body], scene.loads)
    compiled = compile_equations(upstream)
    x = [values[y] for y in compiled.states]
    assert np.allclose(compiled.accelerations(0, x)[:6], known[
        'turning'] + known['acceleration'], rtol=0, atol=1e-10)
    for cls in UdwadiaKalabaMethod, GibbsAppellMethod:
        ours = cls(**arguments)         # the rates of contact are no new rows
        assert len(ours.multipliers) == 3 + len(contact.coordinates)
        assert math.isclose(number(contact.normal_reaction(ours), values),
                            known['force'][2], rel_tol=1e-10)


@two_formulations
def test_lagranges_methods(formulation):
    scene, contact, values = on_plane(ball, formulation, lagrange=True,
                                      force=(2, 0, 0))
    upstream = scene.method(LagrangesMethod)
    upstream.form_lagranges_equations()
    count = len(upstream.q)
    full, right = (np.array(numbers(x, values), float) for x in (
        upstream.mass_matrix_full, upstream.forcing_full))
    solution = np.linalg.solve(full.reshape(len(right), -1), right)
    assert math.isclose(solution[count], 2*5/(7*1.5))
    reaction = contact.normal_reaction(upstream).subs(
        dict(zip(upstream.lam_vec, solution[2*count:])))
    assert math.isclose(number(reaction, values), 1.5*GRAVITY)
    routh = scene.method(RouthMethod)
    assert math.isclose(number(contact.normal_reaction(routh), values),
                        1.5*GRAVITY)
    assert np.allclose(accelerations(scene, values), solution[count:count + 6])


def test_rows_of_a_contact_may_be_written_differently():
    """Expanded, or as the gap and its rate that agree but for rounding."""
    scene, contact, values = on_plane(ball, 'explicit')
    rows, found = contact.holonomic_constraints, []
    # cos^2 + sin^2 = 1 is known to nobody but the numbers
    apart = [row*sin(scene.q[0])**2 + row*cos(scene.q[0])**2 for row in rows]
    slip = contact.nonholonomic_constraints
    for holonomic, velocity in (
            (rows, slip), (apart, slip),
            ([x*(0.3/0.1/3) for x in rows], contact.velocity_constraints)):
        method = UdwadiaKalabaMethod(
            scene.N, scene.q, scene.u, scene.kdes, bodies=[scene.body],
            configuration_constraints=holonomic,
            velocity_constraints=velocity, forcelist=scene.loads)
        compiled, x, _ = solved(method, values)
        lam = dict(zip(method.multipliers, compiled.multipliers(0, x)))
        found.append(float(number(contact.normal_reaction(method),
                                  {**values, **lam})))
    assert rows != apart and found == pytest.approx([found[0]]*3, rel=1e-12)


def test_reactions_of_methods_without_them_are_refused():
    scene, contact, _ = on_plane(ball)
    upstream = KanesMethod(**kane_arguments(scene, contact))
    for method in upstream, scene.method(VaccoMethod):
        with pytest.raises(UnsupportedFeatureError, match='no multipliers'):
            contact.normal_reaction(method)
    other = ball()
    other.touch(other.plane(), other.surface, mode='sliding')
    with pytest.raises(ConstraintError, match='cannot begin to slip'):
        other.contacts[0].slip_event(other.method(), None, 0.5)
    with pytest.raises(TypeError, match="'high'.* a coefficient of friction"):
        contact.slip_event(scene.method(), None, 'high')
    other.touch(other.plane(), other.surface, mode='sliding')
    compiled = compile_equations(other.method())
    event = other.contacts[0].lift_off_event(other.method(), compiled)
    with pytest.warns(UserWarning, match='The forces of c are not unique'):
        event(0, [1]*12)


@three_formulations
def test_system(formulation):
    scene, contact, values = on_plane(ellipsoid, formulation)
    system = System(scene.N, scene.O)
    system.add_bodies(scene.body)
    free, z = formulation == 'kinematic', scene.q[2]
    system.q_ind = [x for x in scene.q if free or x is not z]
    system.q_dep = [] if free else [z]
    system.u_ind, system.u_dep = scene.u[3:], scene.u[:3]
    system.add_kdes(*scene.kdes)
    system.add_loads(*(Force(p, f) for p, f in scene.loads))
    contact.add_to_system(system)
    if not free:
        system.validate_system()
    system.form_eoms(eom_method=UdwadiaKalabaMethod)
    _, _, rates = solved(system.eom_method, values)
    assert np.allclose([rates[u] for u in scene.u[:3]],
                       STATES[ellipsoid]['acceleration'], rtol=0, atol=1e-10)


# -- several contacts, edges, vertices -----------------------------------


def test_vertex_that_does_not_slip_is_a_ball_joint(rng):
    """A pendulum on a needle: no-slip is integrable, ``zeta' = 0``."""
    for formulation in FORMULATIONS:
        scene = Scene(moments=(0.1, 0.2, 0.25), mass=2)
        tip = scene.C.locatenew('T', -0.5*scene.B.z)
        contact = scene.touch(scene.plane(), VertexPoint(scene.B, tip),
                              formulation=formulation)
        values = scene.start(place=(0, 0, 0.5), guess=(0, 0))
        found = accelerations(scene, values)
        rates = [number(x, values)
                 for x in contact.contact_kinematics().values()]
        assert np.allclose([float(x) for x in rates], 0)
        assert contact.relative_curvature().shape == (0, 0)
        if formulation == 'explicit':
            expected = found
        assert np.allclose(found, expected, rtol=0, atol=1e-10)
    # Moments about the tip: I w' + w x I w = r x m g
    r = 0.5*axis(values, scene)
    A = np.array(scene.B.dcm(scene.N).subs(values), float)
    w = A @ [values[u] for u in scene.u[3:]]
    inertia_ = np.diag([0.1, 0.2, 0.25]) + 2*0.25*np.diag([1, 1, 0])
    load = A @ np.cross(r, [0, 0, -2*GRAVITY])
    assert np.allclose(inertia_ @ (A @ found[3:]) + np.cross(
        w, inertia_ @ w), load, atol=1e-9)


def axis(values, scene):
    return np.array(scene.N.dcm(scene.B).subs(values), float)[:, 2]


def test_disc_counts_one_tangency_condition():
    scene, contact, values = on_plane(disc, 'augmented')
    assert len(contact.coordinates) == 3
    assert len(contact.holonomic_constraints) == 4
    # The trace is tangent to the rim.
    rim = contact.child_geometry.tangent_vectors()[0]
    trace = contact.trace_velocities()[0]
    assert np.allclose(vector(values, scene.N, rim ^ trace), 0, atol=1e-15)


def test_crossing_edges():
    """Two rods that cross: C1 only, and rolling keeps the parameters."""
    s = Symbol('s')
    found = []
    for formulation in ('augmented', 'kinematic'):
        scene = Scene(moments=(0.1, 0.2, 0.25), mass=2)
        rail = ParametricCurve(scene.P, scene.O, s*scene.P.y, s)
        rod = ParametricCurve(scene.B, scene.C, s*scene.B.x, s)
        contact = scene.touch(rail, rod, formulation=formulation)
        assert len(contact.coordinates) == 2
        values = scene.start(angles=(0.3, 0.4, 0.2), guess=(0, 0.1),
                             place=(0.2, 0.1, 0.1))
        rates = [float(number(x, values))
                 for x in contact.contact_kinematics().values()]
        assert np.allclose(rates, 0)
        found.append(accelerations(scene, values))
    assert np.allclose(*found, rtol=0, atol=1e-10)


@pytest.mark.parametrize('surface, height, parameters, normal', [
    (lambda s: ConeSurface(s.P, s.O, 0.6, -s.N.z), -2.3,
     (-0.37, 2.9), (0.77, 0.3, 0.56)),
    pytest.param(lambda s: TorusSurface(s.P, s.O, 2, 0.5, s.N.z), 0.8,
                 (0.37, 1.66), (-0.08, -0.03, 1), marks=pytest.mark.slow)],
    ids=['cone', 'torus'])
def test_ball_on_cone_and_torus(surface, height, parameters, normal):
    """Signed distances against charts, at closed contacts."""
    found = []
    for formulation in ('explicit', 'augmented'):
        scene = ball()
        contact = scene.touch(surface(scene), scene.surface,
                              formulation=formulation)
        angles = dict(zip(scene.q[3:], ANGLES))
        values = scene.start(place=(1.8, 0.7, height), guess=(
            *polar_guess(scene, angles, normal), *parameters))
        found.append(np.array([
            *accelerations(scene, values), *vector(
                values, scene.N, contact.tangents[0]),
            *(number(x, values) for x in contact.trace_speeds()),
            *(number(x, values) for x in contact.relative_curvature())],
            float))
    assert np.allclose(*found, rtol=0, atol=1e-9)


# -- unilateral contact --------------------------------------------------

@pytest.mark.parametrize('formulation', ['explicit', 'augmented'])
def test_touch_down(formulation, monkeypatch):
    """An ellipsoid that falls without turning."""
    scene = ellipsoid()
    free = Scene.method(scene)
    contact = scene.touch(scene.plane(), scene.surface,
                          formulation=formulation)
    scene.contacts.clear()
    values = dict(zip((*scene.q, *scene.u), (0, 0, 1, .3, .7, .5, *[0.]*6)))
    height = STATES[ellipsoid]['height'][0]
    guess = dict(zip(contact.coordinates, GUESS[ellipsoid]))
    event = contact.touch_down_event(compile_equations(free), guess)
    solve, guesses = contact.solve_contact, []
    monkeypatch.setattr(contact, 'solve_contact', lambda values, near: (
        guesses.append(dict(near)), solve(values, near))[1])
    for _ in range(2):
        run = simulate(free, 2, values, events=event)
        assert math.isclose(run.t[-1], math.sqrt(2*(1 - height)/GRAVITY),
                            rel_tol=1e-9)
    assert guesses[:1] == guesses[len(guesses)//2:][:1]     # each begins anew


def test_nearest_points_of_separated_bodies():
    """From the far sides, whose distance is negative, they are found, too."""
    scene = ball()
    contact = scene.touch(SphereSurface(scene.P, scene.O, 2), scene.surface,
                          formulation='augmented')
    values = dict(zip(scene.q, (3, 4, 0, 0.3, 0.7, 0.5)))
    near = contact.solve_contact(values, dict.fromkeys(contact.coordinates, 1))
    assert math.isclose(near.pop('gap'), 5 - 2.3)
    u1, v1, u2, v2 = map(float, near.values())
    far = contact.solve_contact(values, dict(zip(contact.coordinates, (
        u1 + math.pi, math.pi - v1, u2 + math.pi, math.pi - v2))))
    assert math.isclose(far['gap'], 2.7)


def test_the_right_side_is_found_from_the_wrong_one():
    """(8) also holds at the opposite pole of the ball, and at the top of a
    rim, which must bend away from the parent."""
    scene = ball()
    contact = scene.touch(scene.plane(), scene.surface,
                          formulation='augmented')
    right = (-1.9545867865, 0.9699337139)
    found = closed(contact, scene, (0, 0, 0, 0.3, 0.7, 0.5), -0.3,
                   right[0] + math.pi, math.pi - right[1], 0, 0)
    assert math.isclose(found[scene.q[2]], 0.3)
    scene = disc()
    contact = scene.touch(scene.plane(), scene.surface,
                          formulation='augmented')
    for angle in 0, math.pi:
        found = closed(contact, scene, (0, 0, 0, *ANGLES), -0.3, angle, 0, 0)
        assert math.isclose(found[scene.q[2]], STATES[disc]['height'][0])


@pytest.mark.parametrize('formulation', ['explicit', 'augmented'])
def test_beyond_the_apex_there_is_no_cone(formulation):
    scene = ball()
    contact = scene.touch(ConeSurface(scene.P, scene.O, 0.6, -scene.N.z),
                          scene.surface, formulation=formulation)
    with pytest.raises(ConstraintError, match='beyond|penetrate|wrong side'):
        closed(contact, scene, (0.1, 0.1, 0, *ANGLES), 0.3, 3, 0.1, 2.4, -0.7)


@pytest.mark.parametrize('start', [0.1, -1])
def test_beyond_its_edge_a_chart_has_no_place(start):
    """Newton's steps that lead there are left; the other guesses are not."""
    scene = ball()
    p, q = symbols('p q')
    roof = ParametricSurface(
        scene.N, scene.O, p*scene.N.x + q*scene.N.y
        + (sqrt(p) + q**2)*scene.N.z, (p, q))
    contact = PointContact(
        'c', RigidBody('roof', scene.O, scene.N), scene.body, roof,
        SphereSurface(scene.B, scene.C, Rational(1, 10), pole=scene.B.x),
        formulation='augmented')
    found = closed(contact, scene, (1, 0, 0, 0, 0, 0), 1.2, 0, pi/2, start, 0)
    place = found[contact.coordinates[2]]
    across, above = 1 - place, found[scene.q[2]] - place**0.5
    assert abs(across**2 + above**2 - 0.01) < 1e-15 and above > 0
    assert abs(across + above/(2*place**0.5)) < 1e-15       # the normal


# -- what is refused -----------------------------------------------------

def refused(parent, child, error=ConstraintError, **options):
    scene = ball()
    with pytest.raises(error) as caught:
        scene.touch(parent(scene), child(scene), **options)
    return str(caught.value)


CURVE = (lambda s: ParametricCurve(s.P, s.O, Symbol('s')*s.P.x, Symbol('s')))
VERTEX = (lambda s: VertexPoint(s.B, s.C))


def skew_chart(scene):
    s, u = symbols('s u')
    return ParametricSurface(scene.B, scene.C, (s + u)*scene.B.x + (
        s + u)**2*scene.B.y, (s, u))


@pytest.mark.parametrize('parent, child', [
    (Scene.plane, lambda s: CylinderSurface(s.B, s.C, Symbol('a'), s.B.y)),
    (Scene.plane, lambda s: ConeSurface(s.B, s.C, 0.3, s.B.y)),
    (Scene.plane, lambda s: PlaneSurface(s.B, s.C, s.B.y)),
    (lambda s: SphereSurface(s.P, s.O, Symbol('R'), True),
     lambda s: SphereSurface(s.B, s.C, Symbol('R'))),
    (Scene.plane, lambda s: ParametricCurve(
        s.B, s.C, Symbol('s')*s.B.x, Symbol('s')))])
@each_formulation
def test_lines_and_faces_are_refused(parent, child, formulation):
    assert 'singular everywhere' in refused(parent, child,
                                            formulation=formulation)


@pytest.mark.parametrize('text, parent, child, error, options', [
    ('bead on a wire', CURVE, VERTEX, ConstraintError, {}),
    ('`mode`', Scene.plane, lambda s: s.surface, ValueError,
     {'mode': 'skating'}),
    ('this contact needs 0', Scene.plane, lambda s: s.surface, ValueError,
     {'contact_coordinates': [dynamicsymbols('s')]}),
    ('normal of ParametricSurface vanishes', Scene.plane, skew_chart,
     ConstraintError, {})])
def test_pairs_that_are_refused(text, parent, child, error, options):
    assert text in refused(parent, child, error, **options)


@pytest.mark.parametrize('parent, child, place, height, guess, text', [
    (lambda s: CylinderSurface(s.P, s.O, 2, s.N.y),
     lambda s: CylinderSurface(s.B, s.C, 0.3, s.B.y), (0,)*6, None,
     (math.pi, 0, 0, 0), 'K1 . K2 is singular|No cont'),
    (Scene.plane, lambda s: SphereSurface(s.B, s.C, 0.3, pole=s.B.z), (0,)*6,
     None, (0, math.pi, 0, 0), 'keep away from poles'),
    (lambda s: SphereSurface(s.P, s.O, 2, pole=s.N.z), lambda s: s.surface,
     (0, 0, 0, *ANGLES), 2, (), 'at a pole'),
    # an ellipsoid that is flatter than the bowl below it
    (lambda s: SphereSurface(s.P, s.O.locatenew('S', 0.3*s.P.x), 2,
                             interior=True, pole=s.P.y),
     lambda s: EllipsoidSurface(s.B, s.C, (3, 2.9, 0.5)),
     (0.3, 0, 0, 0.1, 0.05, 0.2), -1.5, (1.5, 3, 1.5, 1.5),
     'penetrate|wrong side')])
def test_starts_that_are_refused(parent, child, place, height, guess, text):
    scene = ball()
    contact = scene.touch(
        parent(scene), child(scene),
        formulation='augmented' if guess else 'explicit')
    with pytest.raises(ConstraintError, match=text):
        if height is None:
            values = dict(zip(scene.q, place))
            values[scene.q[2]] = 2.3 if 'K1' in text else 0.3
            contact.solve_contact(values, dict(zip(
                contact.coordinates, guess)))
        else:
            closed(contact, scene, place, height, *guess)


def test_numbers_and_guesses_of_a_contact():
    scene = ball()
    explicit = scene.touch(scene.plane(), scene.surface)
    z = scene.q[2]
    found = explicit.solve_contact({scene.q[3]: pi/3}, {z: pi})
    assert math.isclose(found[z], 0.3)
    contact = scene.touch(scene.plane(), scene.surface,
                          formulation='augmented')
    guess = dict.fromkeys(contact.coordinates, 0)
    for values, start, error, text in (
            ({}, {**guess, Symbol('a'): 1, Symbol('b'): 2}, ValueError,
             'has 2 coordinates in addition to .* contact: .*One closes'),
            ({Symbol('r'): True}, guess, ConstraintError,
             'Entry 0 of `values` is True')):
        with pytest.raises(error, match=text):
            contact.solve_contact(values, start)
    with pytest.raises(ValueError, match='3 values were given for the 2 par'):
        scene.surface.with_parameters(1, 2, 3)


def test_a_ball_that_osculates_its_bowl_is_refused():
    """Of radius 1 in a paraboloid that is curved as much, or by half."""
    scene = ball()
    p, q = symbols('p q')
    for bend in 1, Rational(1, 2):
        bowl = ParametricSurface(
            scene.N, scene.O, p*scene.N.x + q*scene.N.y + (
                bend*p**2/2 + q**2/4)*scene.N.z, (p, q))
        contact = PointContact(
            'c', RigidBody('bowl', scene.O, scene.N), scene.body, bowl,
            SphereSurface(scene.B, scene.C, 1, pole=scene.B.x),
            formulation='augmented')
        start = contact, scene, (0,)*6, 1, 0, pi/2, 0, 0
        if bend == 1:
            with pytest.raises(ConstraintError, match='singular .*osculate'):
                closed(*start)
        else:
            found = closed(*start)
            assert abs(found[scene.q[2]] - 1) < 1e-20
            assert abs(found[contact.coordinates[2]]) < 1e-20


def test_a_cart_is_not_taken_for_the_ground():
    """Its frame is the inertial one, but it moves."""
    x, y, z, v = dynamicsymbols('x y z v')
    N, B, O = ReferenceFrame('N'), ReferenceFrame('B'), Point('O')
    B.orient_body_fixed(N, dynamicsymbols('a1:4'), 'zyz')
    G, C = O.locatenew('G', x*N.x), O.locatenew('C', y*N.x + z*N.z)
    C.set_vel(N, v*N.x)
    contact = PointContact(
        'c', RigidBody('cart', G, N), RigidBody('ball', C, B),
        PlaneSurface(N, G, N.z), SphereSurface(B, C, 1))
    with pytest.raises(KinematicsError, match='velocity of cart'):
        contact.slip_velocity
    O.set_vel(N, 0)
    rates = contact.slip_velocity[0]
    assert rates.diff(v) == 1 and rates.diff(x.diff(t)) == -1


def test_unknown_motion_is_told():
    N, B, O, C = (*map(ReferenceFrame, 'NB'), *map(Point, 'OC'))
    table, body = RigidBody('table', O, N), RigidBody('body', C, B)
    pair = PlaneSurface(N, O, N.z), SphereSurface(B, C, 1)
    C.set_pos(O, dynamicsymbols('z')*N.z)
    with pytest.raises(ConstraintError, match='not oriented|not connected'):
        PointContact('c', table, body, pair[0], SphereSurface(
            ReferenceFrame('X'), C, 1))
    contact = PointContact('c', table, body, *pair)
    assert contact.gap == dynamicsymbols('z') - 1
    with pytest.raises(KinematicsError):
        contact.slip_velocity


def test_a_frame_that_is_not_turned_from_the_inertial_one_is_told():
    """The bodies know each other, and neither knows where it is."""
    N, A, B, O = (*map(ReferenceFrame, 'NAB'), Point('O'))
    B.orient_axis(A, dynamicsymbols('a'), A.z)
    O.set_vel(N, 0)
    C = O.locatenew('C', dynamicsymbols('z')*A.z)
    contact = PointContact(
        'c', RigidBody('table', O, A), RigidBody('ball', C, B),
        PlaneSurface(A, O, A.z), SphereSurface(B, C, 1), frame=N)
    with pytest.raises(KinematicsError, match='B of ball has no .* in N. Or'):
        contact.relative_angular_velocity


def test_wheel_located_from_its_contact(rng):
    """Its gap vanishes as well, though not as it is written."""
    N, L, B = (ReferenceFrame(name) for name in 'NLB')
    q1, q2, q3, x, y = q = dynamicsymbols('q1:4 x y')
    R, O = Symbol('R'), Point('O')
    O.set_vel(N, 0)
    L.orient_body_fixed(N, (q1, q2, 0), 'zxy')
    B.orient_axis(L, q3, L.y)
    C = O.locatenew('C', x*N.x + y*N.y + R*L.z)
    contact = PointContact(
        'c', RigidBody('table', O, N), RigidBody('wheel', C, B),
        PlaneSurface(N, O, N.z), CircularRim(B, C, R, B.y))
    assert contact.gap != 0 and contact.holonomic_constraints == []
    values = {s: rng.uniform(0.1, 1) for s in (*q, *(s.diff(t) for s in q), R)}
    for row, known in zip(contact.velocity_constraints, (
            x.diff(t) - R*cos(q1)*q3.diff(t),
            y.diff(t) - R*sin(q1)*q3.diff(t)), strict=True):
        assert abs(number(row - known, values)) < 1e-25
    method = UdwadiaKalabaMethod(
        sum(s.diff(t)**2 for s in q), q,
        nonhol_coneqs=contact.nonholonomic_constraints)
    with pytest.raises(ConstraintError, match='located from its contact'):
        contact.normal_reaction(method)


@pytest.mark.parametrize('names', ['R r', 'r R'])
def test_ball_located_in_its_tube(names):
    """Its gap vanishes where it fits, and not at one height of many."""
    (R, r), angle = symbols(names, positive=True), dynamicsymbols('q')
    N, B, O = ReferenceFrame('N'), ReferenceFrame('B'), Point('O')
    O.set_vel(N, 0)
    B.orient_axis(N, dynamicsymbols('spin'), N.z)
    for place, surface, radius, rows in (
            ((R - r)*(sin(angle)*N.x - cos(angle)*N.y),
             CylinderSurface(N, O, R, N.z, interior=True), r, 0),
            (angle*N.y, PlaneSurface(N, O, N.y), 1, 1)):
        C = O.locatenew('C', place)
        contact = PointContact(
            'c', RigidBody('ground', O, N), RigidBody('ball', C, B),
            surface, SphereSurface(B, C, radius, pole=B.z))
        assert contact.gap != 0
        assert (len(contact.holonomic_constraints), len(    # in a plane
            contact.nonholonomic_constraints)) == (rows, 1)


def test_contact_points_have_the_velocity_of_the_material():
    """Trap 6: the derivative of their position is another velocity."""
    scene, contact, values = on_plane(ellipsoid)
    geometric = contact.child_point.pos_from(scene.O).dt(scene.N)
    assert np.linalg.norm(vector(values, scene.N, contact.child_point.vel(
        scene.N))) < 1e-14
    moving = {**values, **angle_values(scene, values)}
    assert np.allclose(vector(moving, scene.N, geometric), vector(
        values, scene.N, contact.trace_velocities()[1]), atol=1e-14)


def test_standard_geometry():
    scene = ellipsoid()
    for shape, K in (
            (SphereSurface(scene.B, scene.C, 2), Rational(1, 4)),
            (CylinderSurface(scene.B, scene.C, 2, scene.B.y), 0),
            (ConeSurface(scene.B, scene.C, 1, scene.B.y), 0)):
        assert abs(number(shape.gaussian_curvature(), dict(zip(
            shape.parameters, (0.4, 0.7)))) - K) < 1e-15
        assert abs(number(shape.first_fundamental_form()[0, 1], dict(zip(
            shape.parameters, (0.4, 0.7))))) < 1e-15
    place = shape.locate('Q', 0.4, 0.7).pos_from(scene.C)
    assert abs(number(place.dot(place), {}) - 0.49) < 1e-15
    a, b = symbols('a b')
    named = ConeSurface(scene.B, scene.C, 1, scene.B.y, parameters=(a, b))
    assert named.parameters == (a, b)
    place = named.position()
    assert place.free_symbols(scene.B) == {a, b}
    assert abs(number(place.dot(place), {a: 0.4, b: 0.7}) - 0.49) < 1e-15


def surfaces(frame, point):
    """One of each kind; for some with the material around them."""
    x, y, z = frame
    return {
        'plane': PlaneSurface(frame, point, x + 2*z),
        'ball': SphereSurface(frame, point, 2, pole=z),
        'bowl': SphereSurface(frame, point, 2, interior=True),
        'rod': CylinderSurface(frame, point, 2, y + z),
        'tube': CylinderSurface(frame, point, 2, x, interior=True),
        'cone': ConeSurface(frame, point, Rational(3, 5), x + y + z),
        'funnel': ConeSurface(frame, point, Rational(5, 2), z),
        'torus': TorusSurface(frame, point, 2, Rational(1, 2), -z),
        'ellipsoid': EllipsoidSurface(frame, point, (1, 2, 3), pole=y + z),
        'vase': SurfaceOfRevolution(frame, point, z, lambda s: (
            2 + sin(s), s)),
        'saddle': ParametricSurface(
            frame, point, *saddle(x, y, z), orientation=-1)}


@pytest.mark.parametrize('kind', ['ellipsoid', 'vase', 'saddle'])
def test_a_surface_without_axis_tells_so(kind):
    surface = surfaces(ReferenceFrame('F'), Point('O'))[kind]
    with pytest.raises(UnsupportedFeatureError, match='was .* without an'):
        surface.axis


def test_orientation_may_be_any_number_that_is_one():
    F, O, (s, u) = ReferenceFrame('F'), Point('O'), symbols('s u')
    for given in (True, 1.0):
        plain = ParametricSurface(F, O, s*F.x + u*F.y, (s, u), given)
        assert plain.normal() == F.z
        rod = SurfaceOfRevolution(F, O, F.z, lambda s: (2, s), given)
        assert rod.normal().dot(F.z) == 0 and rod.orientation == 1


def saddle(x, y, z):
    u, v = symbols('u v')
    return u*x + v*y + (u**2 - v**2)*z/2, (u, v)


@pytest.mark.parametrize('kind', surfaces(ReferenceFrame('A'), Point('A')))
def test_normal_and_curvature(kind):
    """``n`` is a unit normal out of the material, and ``dn = K dx``."""
    frame, O = ReferenceFrame('F'), Point('O')
    surface = surfaces(frame, O)[kind]
    values = dict(zip(surface.parameters, (0.4, 0.7)))
    n, K = surface.normal(), surface.curvature_operator()
    assert abs(number(n.dot(n), values) - 1) < 1e-25
    for p, tangent in zip(surface.parameters, surface.tangent_vectors()):
        change = n.diff(p, frame, False) - K.dot(tangent)
        assert np.allclose(vector(values, frame, change), 0, atol=1e-14)
        assert abs(number(n.dot(tangent), values)) < 1e-14
    first = surface.tangent_vectors()[0]
    e = surface.first_tangent()
    assert np.allclose(vector(values, frame, first ^ e), 0, atol=1e-14)
    assert number(first.dot(e), values) > 0
    if surface.has_signed_distance:
        height = 0.125
        above = surface.position() + height*n
        P = O.locatenew('P', sum((number(c, values)*e for c, e in zip(
            above.to_matrix(frame), frame)), 0*frame.x))
        assert abs(number(surface.signed_distance(P), {}) - height) < 1e-14
        assert np.allclose(vector({}, frame, surface.distance_gradient(P)),
                           vector(values, frame, n))
        # K moves with the distance: K (1 + h K)^-1
        hessian = surface.distance_hessian(P).dot(first) + height*(
            surface.distance_hessian(P).dot(K.dot(first)))
        assert np.allclose(vector(values, frame, hessian - K.dot(first)), 0,
                           atol=1e-13)


@pytest.mark.parametrize('kind', ['ball', 'torus', 'ellipsoid'])
def test_support_function(kind):
    """``p`` is on the surface with the normal ``u``, and ``H K = 1``."""
    frame, O = ReferenceFrame('F'), Point('O')
    surface = surfaces(frame, O)[kind]
    values = dict(zip(surface.parameters, (0.4, 0.7)))
    n = surface.normal()
    gap = surface.support_point(n) - surface.position()
    assert np.allclose(vector(values, frame, gap), 0, atol=1e-14)
    assert abs(number(surface.support_function(n) - n.dot(
        surface.position()), values)) < 1e-14
    H, K = surface.curvature_radii(n), surface.curvature_operator()
    for tangent in surface.tangent_vectors():
        assert np.allclose(vector(values, frame, H.dot(K.dot(
            tangent)) - tangent), 0, atol=1e-13)
    assert np.allclose(vector(values, frame, H.dot(n)), 0, atol=1e-14)


def test_support_function_of_a_rim():
    frame, O = ReferenceFrame('F'), Point('O')
    rim = CircularRim(frame, O, 2, frame.y)
    u = (frame.x + 2*frame.y + 3*frame.z).normalize()
    p = rim.support_point(u)
    assert abs(number(p.dot(p) - 4, {})) < 1e-14
    assert p.dot(frame.y) == 0 and number(p.dot(u), {}) > 0
    H = rim.curvature_radii(u)          # R/s along the rim, 0 across
    along = (frame.y ^ u).normalize()
    s = math.sqrt(1 - 4/14)
    assert np.allclose(vector({}, frame, H.dot(along) - 2/s*along), 0)
    assert np.allclose(vector({}, frame, H.dot(along ^ u)), 0, atol=1e-14)
