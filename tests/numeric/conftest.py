"""Small mechanisms for the tests of the numeric layer."""
from types import SimpleNamespace

import numpy as np
import pytest
from sympy import cos, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations

m, g, l = symbols('m g l', positive=True)
x, y, z = dynamicsymbols('x y z')


def particle(hol=(), vel=(), acc=(), q=(x, y), **options):
    """A particle under gravity along the last coordinate."""
    L = m*sum(c.diff()**2 for c in q)/2 - m*g*q[-1]
    return UdwadiaKalabaMethod(
        L, list(q), hol_coneqs=list(hol), nonhol_coneqs=list(vel),
        acceleration_constraints=list(acc), **options)


def model(method, constants, start):
    return SimpleNamespace(method=method, constants=constants, start=start,
                           compiled=compile_equations(method, constants))


@pytest.fixture(scope='session')
def pendulum():
    """A pendulum of length 2 in Cartesian coordinates, starting level."""
    return model(particle([x**2 + y**2 - l**2]), {m: 1.5, g: 9.81, l: 2.},
                 np.array([2., 0, 0, 0]))


@pytest.fixture(scope='session')
def doubled():
    """The same pendulum with its constraint written twice."""
    row = x**2 + y**2 - l**2
    return model(particle([row, 3*row]), {m: 1.5, g: 9.81, l: 2.},
                 np.array([2., 0, 0, 0]))


@pytest.fixture(scope='session')
def cranks():
    """A coupler (X, Y, Phi) on three equal parallel cranks.

    The three rows are independent at a generic point and dependent on the
    constraint set.
    """
    J, c1, c2 = symbols('J c1 c2')
    X, Y, Phi = dynamicsymbols('X Y Phi')
    rows = [(X + s*cos(Phi) - s)**2 + (Y + s*sin(Phi))**2 - l**2
            for s in (0, c1, c2)]
    L = m*(X.diff()**2 + Y.diff()**2)/2 + J*Phi.diff()**2/2 - m*g*Y
    angle = -0.3
    return model(
        UdwadiaKalabaMethod(L, [X, Y, Phi], hol_coneqs=rows),
        {m: 2., J: 0.3, g: 9.81, l: 1., c1: 1., c2: 2.5},
        np.array([np.cos(angle), np.sin(angle), 0, 0, 0, 0]))
