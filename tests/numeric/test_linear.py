"""The solver of W z = r: rank, scaling, least norm, and what it reports."""
import numpy as np
import pytest

from sympy_constrained.errors import (
    ConstrainedDynamicsError, ConstraintError, InconsistentConstraintsError)
from sympy_constrained.numeric.linear.rank import numerical_rank
from sympy_constrained.numeric.linear.scaling import balance, scales
from sympy_constrained.numeric.linear.solver import (
    LinearSolver, SingularEquationsError, lu_solve, solve_each)
from sympy_constrained.numeric.tolerances import PIVOT


def system(rng, o, m, redundant=0, massless=0, mass=1., row=1.):
    """A random multiplier system ``W, r`` and its least-norm solution."""
    root = rng.normal(size=(o, o - massless))
    M = mass*(root@root.T + 0.1*np.diag(np.arange(o) >= massless))
    if massless:
        M[:massless] = M[:, :massless] = 0
    A = row*rng.normal(size=(m, o))
    if redundant:
        A = np.vstack([A, rng.normal(size=(redundant, m))@A])
    W = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    accelerations = rng.normal(size=o)
    multipliers = A@np.linalg.lstsq(A.T@A, A.T@rng.normal(size=len(A)),
                                    rcond=1e-12)[0]     # in range(A)
    z = np.concatenate([accelerations, mass/row*multipliers])
    return W, W@z, z


def decide(W, o, *others, **options):
    size = len(W)
    return LinearSolver.decide(
        [W, *others], np.abs(W), o, [f'row {i}' for i in range(size)],
        [f'z{i}' for i in range(size)], **options)


@pytest.fixture
def random():
    return np.random.default_rng(20161)


@pytest.mark.parametrize('o, m, redundant, massless', [
    (3, 0, 0, 0), (5, 2, 0, 0), (5, 2, 1, 0), (6, 3, 4, 0), (5, 2, 0, 1),
    (6, 3, 2, 2)])
def test_solutions_of_random_systems(random, o, m, redundant, massless):
    for _ in range(20):
        W, r, z = system(random, o, m, redundant, massless)
        solver = decide(W, o)
        assert solver.rank == o + m
        quick, _ = solver.solve(W, r)
        np.testing.assert_allclose(quick[:o], z[:o], rtol=1e-7, atol=1e-8)
        full = solver.solve_all(W, r)
        np.testing.assert_allclose(full.z, z, rtol=1e-7, atol=1e-8)
        assert full.rank == o + m


@pytest.mark.parametrize('mass, row', [
    (1e-26, 1.), (1e20, 1.), (1., 1e-12), (1e-15, 1e9)])
def test_units_do_not_change_the_rank(random, mass, row):
    W, r, z = system(random, 5, 2, redundant=2, mass=mass, row=row)
    solver = decide(W, 5)
    assert solver.rank == 7
    np.testing.assert_allclose(solver.solve(W, r)[0][:5], z[:5], rtol=1e-8)
    found = solver.solve_all(W, r).z
    np.testing.assert_allclose(found[5:], z[5:], rtol=1e-7)


def test_rounding_errors_of_a_massless_direction_are_no_mass(random):
    """An arm of ``cos(pi/2)`` has no inertia that can be divided by."""
    for arm in 20*[6e-17, 3e-9]:
        root = random.normal(size=(4, 6))*[[arm], [1], [1], [1]]
        A, z = random.normal(size=(2, 4)), root[1]
        W = np.block([[root@root.T, -A.T], [A, np.zeros((2, 2))]])
        solver = decide(W, 4)
        for found in solver.solve(W, W@z)[0], solver.solve_many(
                W[None], (W@z)[None], solve_each)[0][0]:
            np.testing.assert_allclose(found, z, rtol=1e-8)
        assert W[0, 0] < PIVOT*solver.sizes[0]*solver.sizes[6]


def test_a_small_mass_counts(random):
    W, r, z = system(random, 5, 2)
    factors = np.array([1, 1e-9, 1e-9, 1, 1, 1, 1])
    W = W*np.outer(factors, factors)
    np.testing.assert_allclose(
        decide(W, 5).solve(W, r*factors)[0]*factors, z, rtol=1e-7)


def test_scales_ignore_zeros_and_are_powers_of_two():
    W = np.array([[4., -2e6, 0], [2e6, 0, 0], [0, 0, 0]])
    rows, columns = scales(np.abs(W), balance(np.abs(W), 1))
    np.testing.assert_array_equal(np.log2(rows) % 1, 0)
    np.testing.assert_array_equal(rows[2], 1)
    scaled = np.abs(W*np.outer(rows, columns))
    assert scaled[scaled > 0].min() > 0.3 and scaled.max() < 3


def test_a_carried_rank_survives_drift(random):
    """Else a redundant row that drifts is an equation of order one."""
    W, r, z = system(random, 5, 2, redundant=1)
    solver = decide(W, 5)
    drift, off = 1e-9, np.zeros_like(W)
    off[7, :5] = drift*random.normal(size=5)
    off[:5, 7] = -off[7, :5]
    r_off = r + drift*np.eye(8)[7]
    fresh = np.linalg.solve(W + off, r_off)[:5]
    assert np.abs(fresh - z[:5]).max() > 1e-2       # garbage
    kept, _ = solver.solve(W + off, r_off)
    np.testing.assert_allclose(kept[:5], z[:5], atol=1e-7)
    full = solver.solve_all(W + off, r_off, drift)
    np.testing.assert_allclose(full.z, z, atol=1e-7)
    assert full.rank == 7


def test_a_rise_of_the_rank_is_seen(random):
    W, _, z = system(random, 5, 2, redundant=1)
    solver = decide(W, 5)
    W[7, :5] += 1e-2*random.normal(size=5)
    W[:5, 7] = -W[7, :5]
    assert solver.solve_all(W, W@z, drift=1e-10).rank == 8
    assert solver.solve_all(W, W@z, drift=1e-2).rank == 7   # may be drift


@pytest.mark.parametrize('redundant', [0, 1])
def test_a_loss_of_rank_is_an_error(random, redundant):
    W, r, _ = system(random, 5, 2, redundant)
    solver = decide(W, 5)
    W[5:, :5] = np.outer(np.ones(2 + redundant), W[5, :5])
    W[:5, 5:] = -W[5:, :5].T
    for solve in (solver.solve, solver.solve_all):
        with pytest.raises(SingularEquationsError,
                           match='singular.*nominal rank 7') as error:
            solve(W, r)
        assert error.value.condition < 1e-10


def test_a_worn_choice_of_rows_does_no_harm(random):
    """The independent rows chosen at first may become dependent later."""
    W, r, _ = system(random, 3, 1, redundant=1)
    solver = decide(W, 3)
    chosen = [row for row in solver.kept[0] if row >= 3]
    assert len(chosen) == 1
    A, other = W[3:, :3].copy(), 4 - (chosen[0] - 3)
    A[chosen[0] - 3] = 1e-9*A[other - 3]
    W[3:, :3], W[:3, 3:] = A, -A.T
    z = np.array([1., 2, 3, 0, 0])
    z[other] = 4
    found, _ = solver.solve(W, W@z)
    np.testing.assert_allclose(found[:3], z[:3], rtol=1e-9)


def test_a_lower_rank_than_beside_is_a_singular_start(random):
    W, _, _ = system(random, 4, 2)
    other = W.copy()
    other[5, :4], other[:4, 5] = other[4, :4], other[:4, 4]
    with pytest.raises(SingularEquationsError,
                       match='rank of the equations is 5 at this state and 6'):
        LinearSolver.decide([other, W], np.abs(W), 4, [''], [''])


def test_undetermined_accelerations_are_named(random):
    W, _, _ = system(random, 4, 1)
    W[2], W[:, 2] = 0, 0
    with pytest.raises(ConstrainedDynamicsError,
                       match='do not determine z2: W has rank 4 of 5'):
        decide(W, 4)


def test_contradicting_rows_are_named(random):
    W, r, _ = system(random, 5, 2, redundant=1)
    W[7], W[:, 7] = 2*W[5], 2*W[:, 5]
    r[7] = 2*r[5] + 1
    with pytest.raises(InconsistentConstraintsError,
                       match='contradict each other: row 5, row 7') as error:
        decide(W, 5).solve_all(W, r)
    assert error.value.rows == ('row 5', 'row 7')


def test_contradictions_in_the_least_squares_sense(random):
    """``(1, 3)`` times a row with right sides ``b, 3 b + d`` acts as
    ``b + 3 d/10`` whatever the scaling."""
    M, a = np.diag([1e-4, 3., 50]), np.array([[1., 2, -1]])
    A = np.vstack([a, 3*a])
    W = np.block([[M, -A.T], [A, np.zeros((2, 2))]])
    r = np.array([1., 2, 3, 5, 15 + 2])
    solver = decide(W, 3, contradiction='least-squares')
    one = np.block([[M, -a.T], [a, np.zeros((1, 1))]])
    expected = np.linalg.solve(one, [1, 2, 3, 5 + 0.6])
    np.testing.assert_allclose(solver.solve(W, r)[0][:3], expected[:3])
    z = solver.solve_all(W, r).z
    np.testing.assert_allclose(z[3:], expected[3]*np.array([1, 3])/10)


def test_no_gap_no_rank():
    assert numerical_rank(np.array([1., 1e-3, 1e-15])) == 2
    assert numerical_rank(np.array([])) == numerical_rank(np.zeros(2)) == 0
    with pytest.raises(ConstraintError, match='without a clear gap'):
        numerical_rank(np.array([1., 3e-10, 5e-11]))


@pytest.mark.parametrize('n', [60, 100])
def test_long_chains_are_regular(n):
    """Bars in a line, by relative angles: only singular values are small."""
    k = n - np.arange(n)                        # bars from here to the end
    turn = np.tril(np.ones((n, n)))
    M = turn.T@(np.minimum.outer(k, k) - 0.5 - np.eye(n)/6)@turn
    M = (M + M.T)/2
    end = np.array([k, k**2, k + 2*k**2], dtype=float)
    for A, rank in (end[:0], n), (end[:2], n + 2), (end, n + 2):
        W = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
        solver = decide(W, n)
        assert solver.rank == rank
        z = np.r_[np.cos(k), np.zeros(len(A))]
        np.testing.assert_allclose(solver.solve(W, W@z)[0], z, atol=1e-6)


def test_rows_hold_a_small_mass():
    """Beside it, in the metric of the masses, clear rows are near."""
    M = np.array([[1, 5e-5], [5e-5, 1e-8]])
    A = np.array([[1, 1], [0.5, 1]])
    assert decide(np.block([[M, -A.T], [A, np.zeros((2, 2))]]), 2).rank == 4


def test_nothing_to_solve():
    solver = LinearSolver.decide(
        [np.zeros((0, 0))], np.zeros((0, 0)), 0, [], [])
    assert solver.solve(np.zeros((0, 0)), np.zeros(0))[0].shape == (0,)


def test_a_tiny_entry_hides_no_rank():
    """Scaling of logarithms gives it the weight of the others."""
    for tiny in (1e-7, 1e-12, 1e-17):
        W = np.array([[2, tiny, -.7], [tiny, 1, -.1], [.7, .1, 0]])
        solver = decide(W, 2)
        assert solver.rank == 3 and solver.kept is None
        z = np.array([1., -2, 3])
        np.testing.assert_allclose(solver.solve_all(W, W@z).z, z, rtol=1e-12)


def test_a_rank_that_is_too_low_is_no_solution():
    """Every row is compared with its own terms, also the dynamic ones."""
    W = np.array([[1, 0, -1], [0, 1e-9, 0], [1, 0, 0]])
    keep = np.array([0, 2])
    low = LinearSolver(2, 2, np.ones(3), np.ones(3), (keep, keep), np.ones(3),
                       ('first', 'second', 'row'), ('x', 'y', 'lam'))
    with pytest.raises(SingularEquationsError, match='satisfies first, second'
                       ':.*higher than where it was decided'):
        low.solve_all(W, np.array([1., 5e-9, 2]))


def test_entries_that_outgrow_their_scaling(random):
    """A row that was small where it was scaled is no worse for that."""
    W, _, z = system(random, 4, 2)
    small = W.copy()
    small[5, :4] *= 1e-9
    small[:4, 5] *= 1e-9
    solver = decide(small, 4)
    np.testing.assert_allclose(solver.solve(W, W@z)[0], z, rtol=1e-9)


def test_small_unknowns_beside_large_ones():
    """Kahan's example, in which LU alone loses half of the digits."""
    e = 1e-8
    z, _ = lu_solve(np.array([[3, 2, 1], [2, 2*e, 2*e], [1, 2*e, -e]]),
                    np.array([3 + 3*e, 6*e, 2*e]))
    np.testing.assert_allclose(z, [e, 1, 1], rtol=1e-14)


def test_blocks_and_outgrown_scales_keep_the_least_norm(random):
    """Redundant rows, in a block above another, and with larger masses."""
    W, r, z = system(random, 5, 2, 1)
    solver, size, none = decide(W, 5), len(W), np.zeros_like(W)
    below = none.copy()
    below[:, :5] = random.normal(size=(size, 5))
    both = np.block([[W, none], [below, W]])
    found = solver.repeated([range(size), range(size, 2*size)]).solve_all(
        both, both@np.tile(z, 2)).z
    np.testing.assert_allclose(found[:size], z, rtol=1e-7)
    np.testing.assert_allclose(found[size:][:5], z[:5], rtol=1e-7)
    W[:5, :5] *= 1e14
    z[5:] *= 1e14
    np.testing.assert_allclose(solver.solve_all(W, W@z).z, z, rtol=1e-7)
