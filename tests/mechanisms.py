"""Small mechanisms with numbers, for the tests of the numeric layer."""
from types import SimpleNamespace

import numpy as np
from scipy.special import ellipj, ellipk
from sympy import cos, sin, symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import Loop, UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, consistent_state

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


def coupler_on_cranks(**options):
    """A coupler (X, Y, Phi) on three equal parallel cranks, and constants.

    Three independent rows at a generic point, two on the constraint set.
    """
    J, c1, c2 = symbols('J c1 c2')
    X, Y, Phi = dynamicsymbols('X Y Phi')
    rows = [(X + s*cos(Phi) - s)**2 + (Y + s*sin(Phi))**2 - l**2
            for s in (0, c1, c2)]
    L = m*(X.diff()**2 + Y.diff()**2)/2 + J*Phi.diff()**2/2 - m*g*Y
    method = UdwadiaKalabaMethod(L, [X, Y, Phi], hol_coneqs=rows, **options)
    return method, {m: 2., J: 0.3, g: 9.81, l: 1., c1: 1., c2: 2.5}


def parallel_cranks(angle=-0.3, speed=0.):
    """The coupler on cranks, which start at an angle to the horizontal."""
    at, across = np.cos(angle), np.sin(angle)
    return mechanism(*coupler_on_cranks(),
                     [at, across, 0, -speed*across, speed*at, 0])


def bennett(a=1., alpha=0.9, ratio=0.8, as_loop=False):
    """Bennett's loop: four pins in space, five closure rows of rank two.

    It moves only because the lengths are as the sines of the twists.
    """
    q = dynamicsymbols('q1:4')
    u = dynamicsymbols('u1:4')
    lengths, twists = symbols('a b', positive=True), symbols('alpha beta')
    inertias = symbols('I', positive=True)
    N, O = ReferenceFrame('N'), Point('O')
    O.set_vel(N, 0)
    axes, tip, bodies = N, O, []
    for k in range(3):
        length, twist = lengths[k % 2], twists[k % 2]
        link, end = ReferenceFrame(f'L{k}'), ReferenceFrame(f'E{k}')
        link.orient_axis(axes, axes.z, q[k])
        end.orient_axis(link, link.x, twist)
        centre = tip.locatenew(f'C{k}', length/2*link.x)
        bodies.append(RigidBody(f'link{k}', centre, link, m, (
            inertia(link, inertias/10, inertias, inertias), centre)))
        tip, axes = tip.locatenew(f'P{k}', length*link.x), end
    ground = ReferenceFrame('G')
    ground.orient_axis(N, N.x, -twists[1])
    gap = tip.pos_from(O) + lengths[1]*N.x
    rows = [gap.dot(e) for e in N] + [axes.z.dot(ground.x),
                                      axes.z.dot(ground.y)]
    if as_loop:
        rows = [Loop(tip, O.locatenew('pin', -lengths[1]*N.x),
                     (axes.z, ground.z))]
    method = UdwadiaKalabaMethod(
        N, q, u, [c.diff() - s for c, s in zip(q, u)], bodies=bodies,
        configuration_constraints=rows,
        forcelist=[(b.masscenter, -m*g*N.y) for b in bodies])
    constants = {lengths[0]: a, lengths[1]: ratio*a, twists[0]: alpha,
                 twists[1]: float(np.arcsin(ratio*np.sin(alpha))), m: 1.,
                 g: 9.81, inertias: 0.1}
    found = mechanism(method, constants, np.zeros(6))
    found.start = consistent_state(
        found.compiled, [.5, 2.5, -.5, 1, 0, 0], fixed=[q[0], u[0]])
    return found


def exact_knee(n, t, g=9.81, speed=1.):
    """Place and velocity of the end of a crank of the model ``n_four_bar``.

    All cranks turn alike, as an inverted pendulum: ``a'' = k*sin(a)`` for
    the angle from upright, solved by Jacobi's functions.
    """
    k = 3*(3*n + 1)*g/(2*(4*n + 1))
    m = 4*k/(speed**2 + 4*k)
    rate = np.sqrt(speed**2 + 4*k)/2
    sn, cn, dn, _ = ellipj(rate*t - ellipk(m), m)
    x, y = -2*sn*cn, 2*sn**2 - 1
    return np.array([x, y, y*2*rate*dn, -x*2*rate*dn])
