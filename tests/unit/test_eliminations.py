"""Eliminations on the graph: where they divide, and by what."""
import math
from random import Random

import pytest
from mpmath import mp
from sympy import Matrix, exp, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.graph import Graph, GraphBuilder, read
from sympy_constrained.graph.linalg import lu_solve, solve
from sympy_constrained.analysis.zero_tests import floats_at

x, y, z = symbols('x y z')
ROUND = {x: mp.mpf(3)/5, y: mp.mpf(4)/5, z: mp.mpf(2)/7}
CIRCLE = x**2 + y**2 - 1
SIZE = 6


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(40):
        yield


class System:
    """A matrix and a right side on a builder that knows some states."""

    def __init__(self, matrix, states=()):
        self.matrix, self.states, self.calls = Matrix(matrix), states, 0
        self.size = self.matrix.rows
        self.g = GraphBuilder()
        self.g.at_states = self.at_states
        self.rows = [[read(self.g, e) for e in self.matrix[i, :]]
                     for i in range(self.size)]
        self.right = [self.g.constant(k + 2) for k in range(self.size)]

    def at_states(self, graph, name, at_rest=False):
        self.calls += not at_rest
        return [graph.evaluate(values, (name,))[name]
                for values in self.states]

    def error(self, found, values):
        """How far the solution is from that of the numbers."""
        graph = Graph.freeze(self.g, {'x': ([[ref] for ref in found], 1)})
        values = {x: 1, y: 1, z: 1, **values}
        numbers = mp.matrix(self.matrix.subs(values).evalf(40).tolist())
        wanted = mp.lu_solve(numbers, mp.matrix(
            [k + 2 for k in range(self.size)]))
        found = mp.matrix(graph.evaluate(values, context=mp)['x'])
        return mp.norm(found - wanted)/mp.norm(wanted)


def vanishing_on_the_circle():
    """The entry with the fewest others beside it vanishes on the circle,
    where the matrix is regular."""
    random = Random('circle')
    return Matrix(SIZE, SIZE, lambda i, j: (
        CIRCLE if i == j == 0 else 0 if min(i, j) == 0 and max(i, j) > 1 else
        random.randint(1, 9)*x + random.randint(1, 9)*y*z + int(i == j)*z))


def circulant(size):
    """Where one of x and y vanishes the matrix is regular, and half of the
    entries are zero."""
    return Matrix(size, size, lambda i, j: (
        x if i == j else y if j == (i + 1) % size else 0))


def test_what_vanishes_at_a_state_is_no_pivot():
    blind = System(vanishing_on_the_circle())
    found = solve(blind.g, blind.rows, blind.right)
    with pytest.raises(ZeroDivisionError):
        blind.error(found, {x: 1, y: 0})
    seeing = System(vanishing_on_the_circle(), (ROUND,))
    found = solve(seeing.g, seeing.rows, seeing.right)
    assert seeing.calls == 1
    for values in (ROUND, {x: 1, y: 0}, {x: 2, y: 3, z: 5}):
        assert seeing.error(found, values) < 1e-35


@pytest.mark.parametrize('solver', [solve, lu_solve])
@pytest.mark.parametrize('size', [5, 6])
def test_where_no_pivot_is_good_at_all_states(solver, size):
    """Cofactors, whose only divisor is the determinant."""
    states = {x: 1, y: 0}, {x: 0, y: 1}
    system = System(circulant(size), states)
    found = solver(system.g, system.rows, system.right)
    for values in (*states, {x: 3, y: 2}):
        assert system.error(found, values) < 1e-35


def test_large_systems_without_good_pivots():
    """Some pivot is taken, and the rest is right elsewhere."""
    system = System(circulant(9), ({x: 1, y: 0}, {x: 0, y: 1}))
    found = lu_solve(system.g, system.rows, system.right)
    assert system.error(found, {x: 3, y: 2}) < 1e-35


def test_a_definite_matrix_has_its_pivots_on_the_diagonal():
    """They are positive wherever it is definite."""
    random = Random('definite')
    rows = Matrix(SIZE + 2, SIZE, lambda i, j: random.randint(-3, 3) + int(
        i == j)*(x + 4) + int(i == j + 1)*y)
    matrix = (rows.T*rows).expand()
    chosen = []
    system = System(matrix, (ROUND, {x: 1, y: 2}))
    found = lu_solve(system.g, system.rows, system.right, chosen)
    assert all(i == j for i, j, _ in chosen) and len(chosen) == SIZE
    assert system.error(found, {x: 0, y: 3}) < 1e-35
    other = System(matrix - 900*Matrix.eye(SIZE), (ROUND,))
    found = lu_solve(other.g, other.rows, other.right)
    assert other.error(found, ROUND) < 1e-33


def test_singular_states_have_no_say():
    singular = {x: 1, y: -1}                    # 1 - (-y)^5 = 0
    good = {x: 0, y: 1}
    system = System(circulant(5), (singular, good))
    chosen = []
    found = lu_solve(system.g, system.rows, system.right, chosen)
    assert system.error(found, good) < 1e-35


def test_singular_matrices_have_no_solution():
    matrix = vanishing_on_the_circle()
    matrix[3, :] = matrix[1, :]*y + matrix[2, :]*z
    for states in ((), (ROUND,)):
        system = System(matrix, states)
        assert lu_solve(system.g, system.rows, system.right) is None
        assert lu_solve(system.g, system.rows, system.right) is None


def test_the_order_is_kept_for_other_right_sides():
    system = System(vanishing_on_the_circle(), (ROUND,))
    first = lu_solve(system.g, system.rows, system.right)
    twice = lu_solve(system.g, system.rows, [
        system.g.mul(system.g.constant(2), ref) for ref in system.right])
    assert system.calls == 1
    assert all(system.g.mul(system.g.constant(2), a) == b
               for a, b in zip(first, twice))


def test_cofactors_are_those_of_the_numbers():
    for size in range(1, 5):
        system = System(vanishing_on_the_circle()[:size, :size])
        found = solve(system.g, system.rows, system.right)
        assert system.calls == 0
        assert system.error(found, {x: 2, y: 3, z: 5}) < 1e-35


def test_states_at_which_floats_have_no_value_are_left_out():
    a, b = dynamicsymbols('a b')
    system = UdwadiaKalabaMethod(a.diff()**2 + b.diff()**2, [a, b]).system
    graph = Graph.of({'f': Matrix([[sin(exp(a)), 1/b]])})
    states = [{a: 1000, b: 1}, {a: 0, b: 2}, {a: 0, b: 0}]
    (row,), = floats_at(system, graph, 'f', states)
    assert row == pytest.approx([math.sin(1), 0.5])
