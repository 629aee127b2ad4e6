"""Small mechanisms with numbers, for the tests of the numeric layer."""
from types import SimpleNamespace

import numpy as np
from sympy import cos, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations

m, g, l = symbols('m g l', positive=True)
t = dynamicsymbols._t
x, y, z = dynamicsymbols('x y z')


def particle(hol=(), vel=(), acc=(), q=(x, y), **options):
    """A particle under gravity along its last coordinate."""
    L = m*sum(c.diff()**2 for c in q)/2 - m*g*q[-1]
    if acc:
        options['acceleration_constraints'] = list(acc)
    return UdwadiaKalabaMethod(L, list(q), hol_coneqs=list(hol),
                               nonhol_coneqs=list(vel), **options)


def mechanism(method, constants, start):
    return SimpleNamespace(
        method=method, constants=constants, start=np.array(start, float),
        compiled=compile_equations(method, constants))


def pendulum():
    """A pendulum of length 2 in Cartesian coordinates, starting level."""
    return mechanism(particle([x**2 + y**2 - l**2]),
                     {m: 1.5, g: 9.81, l: 2.}, [2, 0, 0, 0])


def doubled_pendulum():
    """The same pendulum with its constraint written twice."""
    row = x**2 + y**2 - l**2
    return mechanism(particle([row, 3*row]), {m: 1.5, g: 9.81, l: 2.},
                     [2, 0, 0, 0])


def parallel_cranks(angle=-0.3, speed=0.):
    """A coupler (X, Y, Phi) on three equal parallel cranks.

    Three independent rows at a generic point, two on the constraint set.
    """
    J, c1, c2 = symbols('J c1 c2')
    X, Y, Phi = dynamicsymbols('X Y Phi')
    rows = [(X + s*cos(Phi) - s)**2 + (Y + s*sin(Phi))**2 - l**2
            for s in (0, c1, c2)]
    L = m*(X.diff()**2 + Y.diff()**2)/2 + J*Phi.diff()**2/2 - m*g*Y
    at, across = np.cos(angle), np.sin(angle)
    return mechanism(
        UdwadiaKalabaMethod(L, [X, Y, Phi], hol_coneqs=rows),
        {m: 2., J: 0.3, g: 9.81, l: 1., c1: 1., c2: 2.5},
        [at, across, 0, -speed*across, speed*at, 0])
