"""Every numbered equation of Zhao, Liu and Lu (2016) on point contact.

Z. Zhao, C. Liu and J. Lu, "On nonholonomic constraints about the pure rolling
of point contact", Acta Scientiarum Naturalium Universitatis Pekinensis 52
(2016) 713-716.  The numbers are the paper's, (1) to (26); ``cites`` notes
them, and the last test finds every one of them noted.

Equations (3) to (13) are the ball on a plane, with the z-y-z angles ``q4, q5,
q6`` and the polar angles ``xi`` of the paper.  The others are general and are
tried on an ellipsoid that rolls on an ellipsoid which turns at a given rate.

Where the paper errs, a test shows that the printed formula fails and that the
corrected one holds.
"""
import functools
import itertools
from types import SimpleNamespace

import pytest
from mpmath import mp
from sympy import Matrix, Rational, Symbol, cos, eye, pi, sin, zeros
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from cited import citing
from contacts import number, t
from sympy_constrained import (
    EllipsoidSurface, PlaneSurface, PointContact, SphereSurface,
    UdwadiaKalabaMethod)

cites, CITED = citing()
TINY = mp.mpf(10)**-22


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(30):
        yield


# Sections 1 and 2: the ball on a plane

q = q1, q2, q3, q4, q5, q6 = dynamicsymbols('q1:7')
xi1, xi2, zeta1, zeta2 = xi_zeta = dynamicsymbols('xi1 xi2 zeta1 zeta2')
R = Symbol('R', positive=True)
# Where the ball touches: (11a) with q3 = R.
BALL = {q1: Rational(3, 10), q2: -Rational(1, 5), R: Rational(7, 10),
        q4: Rational(4, 5), q5: Rational(11, 10), q6: -Rational(2, 5)}


def ball(formulation, mode='rolling'):
    """The contact of the paper, in its letters."""
    N, B, O, C = (ReferenceFrame('N'), ReferenceFrame('B'), Point('O'),
                  Point('C'))
    O.set_vel(N, 0)
    C.set_pos(O, q1*N.x + q2*N.y + q3*N.z)
    B.orient_body_fixed(N, (q4, q5, q6), 'zyz')
    body = RigidBody('ball', C, B, 1, (inertia(B, 1, 1, 1), C))
    coordinates = xi_zeta if formulation == 'augmented' else None
    contact = PointContact(
        'c', RigidBody('plane', O, N), body, PlaneSurface(N, O, N.z),
        SphereSurface(B, C, R, pole=B.z), formulation=formulation, mode=mode,
        contact_coordinates=coordinates)
    return SimpleNamespace(N=N, B=B, O=O, C=C, contact=contact)


def matrix_A(middle=1):
    """The matrix of (4); printed with 0 in the middle of ``Ry``."""
    first, last = (Matrix([[cos(a), -sin(a), 0], [sin(a), cos(a), 0],
                           [0, 0, 1]]) for a in (q4, q6))
    return first*Matrix([[cos(q5), 0, sin(q5)], [0, middle, 0],
                         [-sin(q5), 0, cos(q5)]])*last


def on_ball():
    """The place of the parameters on the ball, in its axes."""
    return R*Matrix([sin(xi2)*cos(xi1), sin(xi2)*sin(xi1), cos(xi2)])


def vanish(expressions, values, size=TINY):
    return all(abs(number(x, values)) < size for x in expressions)


def touching(**changes):
    """Values with the contact parameters of (11a) and ``q3 = R``."""
    values = {**BALL, q3: BALL[R]}
    values.update({xi1: -values[q6], xi2: pi - values[q5], zeta1: values[q1],
                   zeta2: values[q2]})
    values.update({symbols_of[name]: x for name, x in changes.items()})
    return values


symbols_of = {str(x.func): x for x in (*q, *xi_zeta)}


@cites(1, 2)
def test_appell_chetaev_condition():
    """The rows ``df/dq'`` of the package are those of (2)."""
    scene = ball('explicit')
    contact, rates = scene.contact, [x.diff(t) for x in q]
    method = UdwadiaKalabaMethod(
        sum(x**2 for x in rates), q,
        nonhol_coneqs=contact.nonholonomic_constraints)
    chetaev = Matrix(contact.nonholonomic_constraints).jacobian(rates)
    A = method.constraints_jacobian
    assert vanish(A - chetaev, {**BALL, q3: 1})


@cites(3)
def test_ball_on_plane():
    contact = ball('explicit').contact
    assert contact.holonomic_constraints == [q3 - R]
    expected = (q1.diff(t) - R*(cos(q4)*q5.diff(t)
                                + sin(q4)*sin(q5)*q6.diff(t)),
                q2.diff(t) - R*(sin(q4)*q5.diff(t)
                                - cos(q4)*sin(q5)*q6.diff(t)))
    values = {**BALL, **{x.diff(t): k + 1 for k, x in enumerate(q)}}
    assert len(contact.nonholonomic_constraints) == 2
    assert vanish(Matrix(contact.nonholonomic_constraints)
                  - Matrix(expected), values)


@cites(4, 9)
def test_position_and_tangents_on_the_ball():
    """(4) is printed with a singular matrix; ``Ry`` needs 1 in the middle."""
    scene = ball('augmented')
    child = scene.contact.child_geometry
    x = (scene.C.pos_from(scene.O) + child.position()).to_matrix(scene.N)
    values = touching(xi1=Rational(1, 3), xi2=Rational(5, 4))
    corrected = Matrix(q[:3]) + matrix_A()*on_ball()
    printed = Matrix(q[:3]) + matrix_A(0)*on_ball()
    assert vanish(x - corrected, values)
    assert not vanish(x - printed, values)
    assert matrix_A(0).det() == 0
    assert abs(number(matrix_A().det(), values) - 1) < TINY
    first, second = (x.to_matrix(scene.N) for x in child.tangent_vectors())
    assert vanish(first - matrix_A()*R*Matrix(
        [-sin(xi2)*sin(xi1), sin(xi2)*cos(xi1), 0]), values)
    assert vanish(second - matrix_A()*R*Matrix(
        [cos(xi2)*cos(xi1), cos(xi2)*sin(xi1), -sin(xi2)]), values)


@cites(5, 6)
def test_same_place():
    scene = ball('augmented')
    contact = scene.contact
    assert contact.parent_geometry.position() == (
        zeta1*scene.N.x + zeta2*scene.N.y)
    x = Matrix(q[:3]) + matrix_A()*on_ball()
    values = touching(xi1=Rational(1, 3), zeta2=2)
    C1 = Matrix(contact.holonomic_constraints[:3])
    assert vanish(C1 - (x - Matrix([zeta1, zeta2, 0])), values)
    assert len(contact.holonomic_constraints) == 5


@cites(7)
def test_components_of_same_place():
    """Rows 1 and 2 are printed as they follow from the singular matrix."""
    C1 = Matrix(ball('augmented').contact.holonomic_constraints[:3])
    along = sin(q5)*cos(xi2) + cos(q5)*sin(xi2)*cos(q6 + xi1)
    printed = Matrix([q1 + R*cos(q4)*along - zeta1,
                      q2 + R*sin(q4)*along - zeta2,
                      q3 + R*(cos(q5)*cos(xi2)
                              - sin(q5)*sin(xi2)*cos(q6 + xi1))])
    across = R*sin(xi2)*sin(q6 + xi1)*Matrix([-sin(q4), cos(q4), 0])
    values = touching(xi1=Rational(1, 3), xi2=Rational(5, 4))
    assert vanish(C1 - printed - across, values)
    assert not vanish((C1 - printed)[:2], values)
    singular = Matrix(q[:3]) + matrix_A(0)*on_ball() - Matrix(
        [zeta1, zeta2, 0])
    assert vanish(printed - singular, values)
    # Harmless: (11) makes the missing terms vanish.
    assert vanish(across, touching())


@cites(8)
def test_tangency_needs_a_side():
    """(8) also holds with the ball below the plane; ``n1.n2`` tells."""
    scene = ball('augmented')
    contact = scene.contact
    C2 = contact.holonomic_constraints[3:]
    cross = (contact.parent_geometry.tangent_vectors()[0]
             ^ contact.parent_geometry.tangent_vectors()[1])
    printed = [x.dot(cross) for x in contact.child_geometry.tangent_vectors()]
    values = touching(xi1=Rational(1, 3))
    assert vanish(Matrix(C2) - Matrix(printed), values)
    below = touching(xi1=pi - BALL[q6], xi2=BALL[q5], q3=-BALL[R])
    side = contact.child_geometry.normal().dot(contact.normal)
    for values, sign in (touching(), -1), (below, 1):
        assert vanish(contact.holonomic_constraints, values)
        assert abs(number(side, values) - sign) < TINY
    # A pole of the chart is a false root, with a false height.
    pole = touching(xi2=0, xi1=pi/2 - BALL[q6], q3=-BALL[R]*cos(BALL[q5]))
    assert vanish(C2, pole) and abs(abs(number(side, pole)) - 1) > 0.1
    # The package takes neither.
    guess = {q3: -1, xi1: pi.n() - BALL[q6], xi2: BALL[q5], zeta1: 0, zeta2: 0}
    for start in BALL[q5], 0:           # near the false root, at the pole
        found = contact.solve_contact(BALL, {**guess, xi2: start})
        assert abs(found[q3] - number(BALL[R], {})) < TINY


@cites(10)
def test_tangency_of_the_ball():
    """Printed without the common factor ``R``."""
    contact = ball('augmented').contact
    C2 = contact.holonomic_constraints[3:]
    printed = Matrix([sin(q5)*sin(xi2)*sin(q6 + xi1),
                      -sin(q5)*cos(xi2)*cos(q6 + xi1) - cos(q5)*sin(xi2)])
    values = touching(xi1=Rational(1, 3), xi2=Rational(5, 4))
    assert vanish(Matrix(C2) - R*printed, values)
    values |= {x: k + 1 for k, x in enumerate(
        (*(x.diff(t) for x in q), *contact.speeds))}
    rates = dict(zip((x.diff(t) for x in xi_zeta), contact.speeds))
    assert vanish(
        Matrix(contact.velocity_constraints[:5]) - Matrix(
            contact.holonomic_constraints).diff(t).subs(rates), values)


@cites(11, 12, 13)
@pytest.mark.parametrize('k, n', [(k, n) for k in range(3) for n in range(3)])
def test_solutions_of_tangency(k, n):
    """``q3 = -(-1)^n R`` with the ``n`` of (12); only odd ``n`` is above."""
    contact = ball('augmented').contact
    v = -BALL[q5] + n*pi if k % 2 == 0 else BALL[q5] - n*pi
    values = touching(xi1=-BALL[q6] + k*pi, xi2=v, q3=-(-1)**n*BALL[R])
    assert vanish([sin(values[q6] + values[xi1])], {})
    assert vanish([cos(values[q6] + values[xi1]) - (-1)**k], {})
    assert vanish([sin(values[q5] + (-1)**k*values[xi2])], {})
    assert vanish(contact.holonomic_constraints, values)
    side = contact.child_geometry.normal().dot(contact.normal)
    assert abs(number(side, values) - (-1 if n % 2 else 1)) < TINY


# Section 3: two bodies of general shape

@functools.cache
def general(mode='rolling'):
    """An ellipsoid on an ellipsoid that turns, and a rolling state."""
    N, B, P = (ReferenceFrame(name) for name in 'NBP')
    O, C = Point('O'), Point('C')
    O.set_vel(N, 0)
    P.orient_axis(N, Rational(3, 5)*t, N.x)
    C.set_pos(O, q1*N.x + q2*N.y + q3*N.z)
    B.orient_body_fixed(N, (q4, q5, q6), 'zyz')
    body = RigidBody('child', C, B, 1, (inertia(B, 1, 1, 1), C))
    contact = PointContact(
        'c', RigidBody('parent', O, P), body,
        EllipsoidSurface(P, O, (3, 2, Rational(5, 2))),
        EllipsoidSurface(B, C, (Rational(1, 2), Rational(2, 5), 1)),
        frame=N, formulation='augmented', mode=mode,
        contact_coordinates=xi_zeta)
    values = {**{x: number(v, {}) for x, v in BALL.items() if x is not R},
              t: mp.mpf('0.4')}
    values.update(contact.solve_contact(values, {
        q3: 3, xi1: 1.5, xi2: 2, zeta1: 1.5, zeta2: 1.5}))
    rates = {x.diff(t): mp.mpf(v)/10 for x, v in zip(q[3:], (7, -4, 9))}
    rows = [*contact.slip_velocity, contact.normal_velocity]
    zero = {**values, **rates, **{x.diff(t): 0 for x in q[:3]}}
    b = mp.matrix([number(x, zero) for x in rows])
    A = mp.matrix(3, 3)
    for i, j in itertools.product(range(3), range(3)):
        A[i, j] = number(rows[i].diff(q[j].diff(t)), zero)
    rates.update(zip((x.diff(t) for x in q[:3]), mp.lu_solve(A, -b)))
    state = {**values, **rates}
    state.update({x: number(v, state)
                  for x, v in contact.contact_kinematics().items()})
    state.update(zip(contact.speeds, (state[x.diff(t)] for x in xi_zeta)))
    x = C.pos_from(O) + contact.child_geometry.position()
    y = contact.parent_geometry.position()
    return SimpleNamespace(N=N, P=P, contact=contact, state=state, apart=(
        x - y).to_matrix(N))


@pytest.fixture
def model():
    return general()


def tangent_matrices(model):
    return [Matrix.hstack(*(v.to_matrix(model.N)
                            for v in side.tangent_vectors()))
            for side in (model.contact.child_geometry,
                         model.contact.parent_geometry)]


def relative(model):
    return model.contact.relative_velocity.to_matrix(model.N)


@cites(14)
def test_contact_closes(model):
    assert vanish(model.apart, model.state)
    C1 = Matrix(model.contact.holonomic_constraints[:3])
    assert vanish(C1 - model.P.dcm(model.N)*model.apart,
                  {**model.state, q1: 1, xi1: 2})


@cites(15, 16)
def test_relative_velocity(model):
    """With frozen parameters; the arguments end in ``zeta2``, not ``xi2``.
    """
    X, Y = tangent_matrices(model)
    moving = {**model.state, q1.diff(t): 1, q5.diff(t): 2, xi1.diff(t): 3,
              zeta2.diff(t): 4}
    rates = [Matrix([x.diff(t) for x in pair])
             for pair in ((xi1, xi2), (zeta1, zeta2))]
    total = model.apart.diff(t)
    assert vanish(total - relative(model) - X*rates[0] + Y*rates[1], moving)
    frozen = dict.fromkeys((x.diff(t) for x in xi_zeta), 0)
    jacobian = model.apart.jacobian(q)
    explicit = total.subs({**frozen, **{x.diff(t): 0 for x in q}})
    v = jacobian*Matrix([x.diff(t) for x in q]) + explicit
    assert vanish(relative(model) - v, moving)


@cites(17, 19)
def test_velocities_vanish_in_rolling(model):
    v, n = relative(model), model.contact.normal.to_matrix(model.N)
    tangential = v - v.dot(n)*n
    moving = {**model.state, q1.diff(t): 1, q3.diff(t): -2}
    spanned = sum((s*e.to_matrix(model.N) for s, e in zip(
        model.contact.slip_velocity, model.contact.tangents)), zeros(3, 1))
    assert vanish(spanned - tangential, moving)
    assert model.contact.nonholonomic_constraints == list(
        model.contact.slip_velocity)
    assert vanish([*tangential, *v], model.state)


@pytest.mark.slow
@cites(18)
def test_normal_velocity_is_the_rate_of_contact():
    """From (15), as the tangents are normal to ``n``; it is no new row."""
    model = general('sliding')
    contact, n = model.contact, model.contact.normal.to_matrix(model.N)
    X, Y = tangent_matrices(model)
    assert vanish([*(n.T*X), *(n.T*Y)], model.state)
    assert vanish([contact.normal_velocity
                   - relative(model).dot(n)], model.state)
    assert contact.nonholonomic_constraints == []
    speeds = [*(x.diff(t) for x in q), *contact.speeds]
    rows = [*contact.velocity_constraints, contact.normal_velocity]
    numbers = Matrix([[number(row.diff(x), model.state) for x in speeds]
                      for row in rows])
    assert rank(numbers[:5, :]) == 5 == rank(numbers)


@cites(20, 21)
def test_traces_match(model):
    """A vector equation; two conditions in the tangent plane."""
    X, Y = tangent_matrices(model)
    child, parent = (Matrix([model.state[x.diff(t)] for x in pair])
                     for pair in ((xi1, xi2), (zeta1, zeta2)))
    assert vanish(X*child - Y*parent, model.state)
    first, second = (v.to_matrix(model.N)
                     for v in model.contact.trace_velocities())
    assert vanish(first - X*child, model.state)
    assert vanish(second - Y*parent, model.state)


@cites(22)
def test_pivoting_draws_no_trace(model):
    """``ds1 = ds2 = 0`` where ``om`` is parallel to ``n``; totals need not
    vanish."""
    n = model.contact.normal.to_matrix(model.N)
    # om = n: the parent turns at 3/5 about x
    turn = Matrix([number(x, model.state) for x in n]) + Matrix(
        [Rational(3, 5), 0, 0])
    omega = model.contact.child.frame.ang_vel_in(model.N).to_matrix(model.N)
    A = Matrix(3, 3, lambda i, j: number(
        omega[i].diff(q[3 + j].diff(t)), model.state))
    rates = mp.lu_solve(mp.matrix(A.tolist()), mp.matrix(list(turn)))
    state = {**model.state, **dict(zip((x.diff(t) for x in q[3:]), rates))}
    found = model.contact.contact_kinematics(slipping=False)
    assert vanish(found.values(), state)
    assert not vanish([model.contact.pivot_speed], state)


@cites(23)
def test_traces_have_equal_lengths_and_tangents(model):
    first, second = model.contact.trace_speeds()
    assert vanish([first - second], model.state)
    assert number(first, model.state) > 0.1
    a, b = (x.to_matrix(model.N) for x in model.contact.trace_tangents())
    assert vanish(a - b, model.state)
    # Speeds by the first fundamental forms, on the bodies.
    for side, pair, speed in (
            (model.contact.child_geometry, (xi1, xi2), first),
            (model.contact.parent_geometry, (zeta1, zeta2), second)):
        form, rate = side.first_fundamental_form(), Matrix(
            [x.diff(t) for x in pair])
        square = (rate.T*form*rate)[0]
        assert vanish([square - speed**2], model.state)


def variations(model):
    """Derivatives of C1 and C2 by ``q`` and by the parameters."""
    rows = Matrix(model.contact.holonomic_constraints)
    return [evaluated(rows.jacobian(x), model.state) for x in (q, xi_zeta)]


def evaluated(matrix, values):
    return matrix.applyfunc(lambda x: number(x, values))


def rank(matrix):
    """Rank of a matrix that is known to 30 digits."""
    sizes = mp.svd_r(mp.matrix(matrix.tolist()), compute_uv=False)
    return sum(1 for x in sizes if x > mp.mpf('1e-15')*max(sizes))


@cites(24)
def test_variation_of_contact(model):
    """An identity: the displacements of the parameters always exist."""
    by_q, by_parameters = variations(model)
    X, Y = tangent_matrices(model)
    turn = model.P.dcm(model.N)
    expected = evaluated(turn*Matrix.hstack(X, -Y), model.state)
    assert vanish(by_parameters[:3, :] - expected, model.state)
    # They are determined, because K1 + K2 is regular.
    assert rank(by_parameters) == 4
    assert rank(by_parameters.row_join(by_q)) == 5
    curvature = evaluated(model.contact.relative_curvature(), model.state)
    assert curvature.det() > 0 and curvature.trace() > 0


@pytest.mark.slow
@cites(25, 26)
def test_virtual_displacements(model):
    """(24), (25) and the variation of (8) leave the ``dq`` of (26)."""
    by_q, by_parameters = variations(model)
    X, Y = tangent_matrices(model)
    rolling = evaluated(Matrix.hstack(X, -Y), model.state)      # (25)
    rows = by_q.row_join(by_parameters).col_join(zeros(3, 6).row_join(rolling))
    A = evaluated(model.contact.virtual_displacement_matrix(q), model.state)
    exact = evaluated(model.apart.jacobian(q), model.state)
    base = evaluated(model.P.dcm(model.N), model.state)
    assert vanish(A - base*exact, model.state)          # (26)
    # 10 unknowns, 7 independent rows: 3 freedoms, whose dq satisfy (26).
    assert rank(rows) == 7 and rank(A) == 3
    assert rank(rows.col_join(A.row_join(zeros(3, 4)))) == 7
    found = model.contact.check_virtual_displacements(q, model.state)
    assert found.agree and found == (3, 3, 3)


@cites(26)
def test_virtual_displacements_are_those_of_appell_and_chetaev(model):
    """``df/dq' = d(x - y)/dq`` identically, as (16) is linear in ``q'``."""
    chetaev = model.P.dcm(model.N)*relative(model).jacobian(
        [x.diff(t) for x in q])
    A = model.contact.virtual_displacement_matrix(q)
    off = {**model.state, q1: 1, q4: 2, xi2: mp.mpf('0.7')}
    assert vanish(evaluated(chetaev - A, off), off)


def test_rolling_restricts_no_configuration():
    """The conclusion calls (22), (23) geometric restrictions; Frobenius'
    test fails, and brackets of rolling motions reach every direction."""
    fields = rolling_fields()
    spanned = Matrix.hstack(*fields, *(
        bracket(f, g) for f, g in itertools.combinations(fields, 2)))
    values = {**BALL, q3: BALL[R]}      # growth (3, 5)
    assert rank(evaluated(spanned[:, :3], values)) == 3
    assert rank(evaluated(spanned, values)) == 5


def rolling_fields():
    """Vector fields of the motions that roll, from the rows of (3)."""
    angles = [x.diff(t) for x in q[3:]]
    rows = ball('explicit').contact.nonholonomic_constraints
    slope = -Matrix(rows).jacobian(angles)      # q1', q2' by the angles
    top = slope.col_join(zeros(1, 3))
    return [top[:, k].col_join(eye(3)[:, k]) for k in range(3)]


def bracket(f, g):
    return g.jacobian(q)*f - f.jacobian(q)*g


def test_every_number_is_cited():
    assert CITED == set(range(1, 27))
