"""Operations of M, Q, A, b: growth is noticed here, and needs a reason."""
import math

import pytest
from joint_chains import pin_chain

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.model import build
from sympy_constrained.models import model
from sympy_constrained.numeric.codegen.solution import solved_graph

# Ours, and what common-subexpression elimination leaves of the blocks of
# KanesMethod of SymPy 1.14, counted by the same rule.
COUNTS = {
    ('closed_chain', 4): (188, 316),
    ('closed_chain', 8): (476, 1309),
    ('four_bar', None): (143, 247),
    ('bicycle', None): (1073, 2114),
    ('bicycle_whole', None): (1204, 2323),
    ('rolling_disc', None): (79, 92),
    ('rolling_disc_minimal', None): (25, 29),
    ('furuta_pendulum', None): (54, 47),
    ('slider_crank', None): (65, 80),
    ('andrews_squeezer', None): (245, 279),
    ('closed_chain_3d', 6): (1319, 3922),
    ('closed_chain_absolute', 8): (343, 447),
    ('closed_chain_absolute', 16): (899, 1663)}
FEW = [('closed_chain', 4), ('closed_chain', 8), ('closed_chain_3d', 6),
       ('closed_chain_absolute', 16), ('bicycle', None),
       ('bicycle_whole', None)]
# With the solution that is compiled, and its checks.
SOLVED = {
    ('closed_chain', 4): 343,
    ('closed_chain', 8): 1056,
    ('four_bar', None): 246,
    ('bicycle_whole', None): 2005}


@pytest.mark.parametrize('name, size', COUNTS)
def test_operation_count_does_not_grow(name, size):
    found = model(name, n=size) if size else model(name)
    system = UdwadiaKalabaMethod(**found.arguments).system
    count = system.graph.operation_count(('M', 'Q', 'A', 'b'))
    ours, theirs = COUNTS[name, size]
    assert count <= min(ours, 0.6*theirs if (name, size) in FEW else ours)


@pytest.mark.parametrize('name, size', SOLVED)
def test_the_solution_does_not_grow(name, size):
    found = model(name, n=size) if size else model(name)
    graph = solved_graph(
        UdwadiaKalabaMethod(**found.arguments).equations_of_motion)
    assert graph.operation_count() <= SOLVED[name, size]


@pytest.mark.parametrize('name', [
    'andrews_squeezer', 'closed_chain', 'closed_chain_3d',
    'closed_chain_absolute', 'four_bar', 'n_four_bar', 'parallel_cranks'])
def test_the_route_that_is_likely_shorter_is_shorter(name, monkeypatch):
    def count():
        method = UdwadiaKalabaMethod(**model(name).arguments)
        return method.system.graph.operation_count(('M', 'Q', 'A', 'b'))

    likely = count()
    monkeypatch.setattr(build, 'SMALL', math.inf)       # both are formed
    assert likely == count()


def test_counts_of_an_open_chain_in_space():
    """The mass matrix has eleven for an entry; all else is linear."""
    for size in 8, 16, 32:
        graph = UdwadiaKalabaMethod(**pin_chain(size)[0]).system.graph
        assert graph.operation_count(('M', 'Q')) <= (
            11*size*(size + 1)/2 + 250*size)
