"""Constants of the model that drop out of its equations."""
import numpy as np
import pytest
from sympy import symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, RouthMethod,
    UdwadiaKalabaMethod)
from sympy_constrained.numeric import simulate

q, u = dynamicsymbols('q u')
m, g, l, Jx, Jy, Jz = NAMES = symbols('m g l Jx Jy Jz')
METHODS = (UdwadiaKalabaMethod, RouthMethod, HamelEmbedding,
           LinearMappingMethod, GibbsAppellMethod)
VALUES = dict(zip(NAMES, (1, 9.81, 1, 5, 6, .1)))


def pendulum(cls, **options):
    """A pendulum that cannot turn about its x and y."""
    N, O = ReferenceFrame('N'), Point('O')
    A = N.orientnew('A', 'Axis', (q, N.z))
    A.set_ang_vel(N, u*N.z)
    O.set_vel(N, 0)
    G = O.locatenew('G', l*A.x)
    G.v2pt_theory(O, N, A)
    rod = RigidBody('rod', G, A, m, (inertia(A, Jx, Jy, Jz), G))
    return cls(N, [q], [u], [q.diff() - u], bodies=[rod],
               forcelist=[(G, -m*g*N.y)], **options)


@pytest.mark.parametrize('cls', METHODS)
@pytest.mark.parametrize('name', [Jx, 'Jx'])
def test_their_values_are_accepted(cls, name):
    method = pendulum(cls)
    needed = {x: VALUES[x] for x in (m, g, l, Jz)}
    found, wanted = (simulate(method, 1, [0, 0], constants=constants)
                     for constants in ({**needed, name: 5, Jy: 6}, needed))
    np.testing.assert_array_equal(found.x, wanted.x)
    with pytest.raises(ValueError, match="'Jw' is no constant"):
        simulate(method, 1, [0, 0], constants={**needed, 'Jw': 1})


@pytest.mark.parametrize('cls', METHODS)
def test_a_sample_may_have_their_values(cls):
    assert pendulum(cls, sample=VALUES).acceleration == (
        pendulum(cls).acceleration)
    with pytest.raises(ValueError, match='value for Jw'):
        pendulum(cls, sample={symbols('Jw'): 1})
