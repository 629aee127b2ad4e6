"""What constraints are does not depend on how they are written."""
import warnings

import pytest
from mpmath import mp
from sympy import Matrix, cos, exp, sin, symbols
from sympy.physics.mechanics import ReferenceFrame, dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod, classify_constraints
from sympy_constrained.analysis.consistent_points import (
    admissible_values, evaluated)

t = dynamicsymbols._t
x, y, z, w, s = ALL = dynamicsymbols('x y z w s')
X, Y, Z, W, S = (q.diff(t) for q in ALL)
U = dynamicsymbols('u1:6')
a = symbols('a')

SYSTEMS = {
    'disc': ([X - a*W*cos(s), Y - a*W*sin(s)], ()),
    'axle': ([X*sin(s) - Y*cos(s), X*cos(s) + Y*sin(s) + a*S - W,
              X*cos(s) + Y*sin(s) - a*S - Z], ()),
    'integrable': ([x*Y + y*X, Z - w*W], ()),
    'flag': ([Y - z*X, Z - w*X, W - s*X], ()),
    'with time': ([X - t*Y, Z - a], ()),
    'on a surface': ([Z - y*X, S - z*W], (y - x**2,))}


def invariants(found):
    return (found.is_integrable, found.at_fixed_time, found.derived_flag,
            found.growth_vector, found.integrals_given,
            found.integrals_hidden)


def classified(rows, hol=(), rates=None, **options):
    """With the speeds ``q' = rates(q, u)``, the velocities by default."""
    rates = rates or list(U)
    N = ReferenceFrame('N')
    method = UdwadiaKalabaMethod(
        N, list(ALL), list(U),
        kd_eqs=[q.diff(t) - rate for q, rate in zip(ALL, rates)],
        velocity_constraints=rows, configuration_constraints=list(hol),
        bodies=[], forcelist=[])
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return classify_constraints(method, integrals=False, **options)


def regular(rng, size, q):
    """A matrix with determinant one whose entries are coordinates."""
    M = Matrix(size, size, lambda i, j: int(i == j))
    for _ in range(3):
        i, j = rng.sample(range(size), 2)
        M[i, :] += rng.choice([1, -2, *q[:2]])*M[j, :]
    return M


@pytest.mark.parametrize('name', SYSTEMS)
def test_rows_speeds_and_coordinates_change_nothing(name, rng):
    rows, hol = SYSTEMS[name]
    wanted = invariants(classified(rows, hol))
    mixed = list(regular(rng, len(rows), ALL)*Matrix(rows))
    assert invariants(classified(mixed, hol)) == wanted
    repeated = [*rows, rows[0], sum(rows)]
    assert invariants(classified(repeated, hol)) == wanted
    # quasi-velocities
    rates = list(regular(rng, 5, ALL)*Matrix(U) + Matrix([0, 1, 0, 0, 0]))
    inserted = [row.subs(dict(zip((X, Y, Z, W, S), rates))) for row in rows]
    assert invariants(classified(inserted, hol, rates)) == wanted
    # x -> x + y*w, y -> y + s**2: a map that can be inverted
    new = {x: x + y*w, y: y + s**2}
    surface = [h.subs(new, simultaneous=True) for h in hol]
    assert invariants(classified(moved_in_order(rows, new), surface)) == (
        wanted)


def moved_in_order(rows, new):
    """Rows in new coordinates, the velocities first."""
    names = {q.diff(t): symbols(f'v_{q.func}') for q in ALL}
    named = [row.xreplace(names) for row in rows]
    back = {v: new.get(q.expr, q.expr).diff(t) for q, v in names.items()}
    return [row.xreplace(new).xreplace(back) for row in named]


@pytest.mark.parametrize('row, integral', [
    (x*Y + y*X, x*y), (X - x*Y, x*exp(-y)), (X*t + x - a*Y, t*x - a*y),
    (X*cos(y) - x*sin(y)*Y + Z, x*cos(y) + z)])
def test_the_wrong_slot_makes_no_wrong_equation(row, integral):
    """The integral as a holonomic row gives the same accelerations."""
    L = (X**2 + 2*Y**2 + 3*Z**2 + W**2 + S**2)/2 - x*y - z**2
    c = symbols('c')
    slow = UdwadiaKalabaMethod(L, list(ALL), nonhol_coneqs=[row])
    fast = UdwadiaKalabaMethod(L, list(ALL), hol_coneqs=[integral - c])
    with pytest.warns(UserWarning, match='holonomic, but given'):
        found, = classify_constraints(slow).rows
    assert found.integral is not None
    values = admissible_values(fast.system)
    with mp.workdps(30):
        accelerations = []
        for method in (slow, fast):
            out = evaluated(method.system, values, ('velocity', 'A', 'b'))
            assert abs(out['velocity'][0][0]) < mp.mpf(10)**-20
            graph = method.closed_form
            accelerations.append([value for value, in graph.evaluate(
                values, ('acceleration',), mp)['acceleration']])
        assert all(abs(p - q) < mp.mpf(10)**-18
                   for p, q in zip(*accelerations))
        assert max(map(abs, accelerations[0])) > 0.01
