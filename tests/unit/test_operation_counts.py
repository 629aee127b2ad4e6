"""Operations of M, Q, A, b: growth is noticed here, and needs a reason."""
import pytest

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.models import model
from sympy_constrained.numeric.solved import solved_graph

# As of the first version. Common-subexpression elimination of the blocks of
# SymPy's KanesMethod leaves 545, 2800, 258, 3241 operations for the first
# four (closed chain 4 and 8, four-bar, bicycle with eight coordinates).
COUNTS = {
    ('closed_chain', 4): 277,
    ('closed_chain', 8): 675,
    ('four_bar', None): 291,
    ('bicycle_whole', None): 1639,
    ('rolling_disc', None): 136,
    ('furuta_pendulum', None): 67,
    ('slider_crank', None): 116,
    ('andrews_squeezer', None): 528,
    ('closed_chain_3d', 6): 1809,
    ('closed_chain_absolute', 8): 534,
    ('closed_chain_absolute', 16): 1566,
}
# With the solution that is compiled, and its checks.
SOLVED = {
    ('closed_chain', 4): 437,
    ('closed_chain', 8): 1263,
    ('four_bar', None): 394,
    ('bicycle_whole', None): 2383,
}


@pytest.mark.parametrize('name, size', COUNTS)
def test_operation_count_does_not_grow(name, size):
    found = model(name, n=size) if size else model(name)
    system = UdwadiaKalabaMethod(**found.arguments).system
    count = system.graph.operation_count(('M', 'Q', 'A', 'b'))
    assert count <= COUNTS[name, size]


@pytest.mark.parametrize('name, size', SOLVED)
def test_the_solution_does_not_grow(name, size):
    found = model(name, n=size) if size else model(name)
    graph = solved_graph(
        UdwadiaKalabaMethod(**found.arguments).equations_of_motion)
    assert graph.operation_count() <= SOLVED[name, size]


def test_counts_grow_with_a_low_power_of_the_links():
    def count(n):
        system = UdwadiaKalabaMethod(
            **model('closed_chain', n=n).arguments).system
        return system.graph.operation_count(('M', 'Q', 'A', 'b'))

    assert count(16)/count(8) < 2**1.9
