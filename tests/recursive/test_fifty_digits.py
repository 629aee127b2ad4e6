"""A chain of 100 bars in space against a solution with 50 digits."""
import numpy as np
import pytest
from joint_chains import pin_chain
from mpmath import mp
from sympy import symbols
from sympy.physics.mechanics import Point, ReferenceFrame

from sympy_constrained import Loop, UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations

pytest.importorskip('numba')
pytest.importorskip('llvmlite')

COUNT = 100


def cross(a, b):
    return mp.matrix([a[i]*b[j] - a[j]*b[i]
                      for i, j in ((1, 2), (2, 0), (0, 1))])


def dot(a, b):
    return mp.fsum(x*y for x, y in zip(a, b))


def bars(q, u, length):
    """Of every bar its axes, turning, place of the centre, and the bias of
    its acceleration and angular acceleration; the pins, their axes, the tip.
    """
    R, pin, zero = mp.eye(3), mp.matrix(3, 1), mp.matrix(3, 1)
    w, alpha, a, found, axes, pins = zero, zero, zero, [], [], []
    for i, (angle, rate) in enumerate(zip(q, u)):
        axis, c, s = R[:, 1 if i % 2 else 2], mp.cos(angle), mp.sin(angle)
        alpha = alpha + cross(w, axis*rate)
        w = w + axis*rate
        R = R*(mp.matrix([[c, 0, s], [0, 1, 0], [-s, 0, c]]) if i % 2 else
               mp.matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]]))
        arm = R[:, 0]*length
        turned = cross(alpha, arm) + cross(w, cross(w, arm))
        axes.append(axis)
        pins.append(pin)
        found.append((R, w, alpha, pin + arm/2, a + turned/2))
        pin, a = pin + arm, a + turned
    return found, pins, axes, pin, a


def known(x, values, closed):
    """Accelerations by partial velocities and the multiplier system."""
    length, m, g, along, across = (
        mp.mpf(values[c]) for c in symbols('l m g I1 I2'))
    found, pins, axes, tip, drift = bars(
        map(mp.mpf, x[:COUNT]), map(mp.mpf, x[COUNT:]), length)
    rows = 3 if closed else 0
    W, r = mp.matrix(COUNT + rows), mp.matrix(COUNT + rows, 1)
    for i, (R, w, alpha, center, a) in enumerate(found):
        inertia = R*mp.diag([along, across, across])*R.T
        force = mp.matrix([0, -m*g, 0]) - m*a
        torque = -(inertia*alpha) - cross(w, inertia*w)
        partial = [cross(axes[j], center - pins[j]) for j in range(i + 1)]
        for j in range(i + 1):
            r[j] += dot(partial[j], force) + dot(axes[j], torque)
            momentum = inertia*axes[j]
            for k in range(j + 1):
                W[j, k] += m*dot(partial[j], partial[k]) + dot(
                    momentum, axes[k])
                W[k, j] = W[j, k]
    for j in range(COUNT if closed else 0):
        column = cross(axes[j], tip - pins[j])
        for k in range(3):
            W[j, COUNT + k] = W[COUNT + k, j] = column[k]
    for k in range(rows):
        r[COUNT + k] = -drift[k]
    return np.array(mp.lu_solve(W, r)[:COUNT], float)


@pytest.mark.slow
@pytest.mark.parametrize('closed', [False, True])
def test_a_chain_of_hundred_bars(closed):
    ground = ReferenceFrame('N'), Point('O')
    arguments, values = pin_chain(COUNT, ground=ground)
    if closed:
        (N, origin), last = ground, arguments['bodies'][-1]
        tip = last.masscenter.locatenew('tip', symbols('l')/2*last.frame.x)
        held = origin.locatenew('held', 0.7*N.x + 0.1*N.y + 0.2*N.z)
        arguments['configuration_constraints'] = [Loop(tip, held)]
    equations = compile_equations(
        UdwadiaKalabaMethod(**arguments), values, recursion=True)
    x = np.random.default_rng(3).uniform(-0.5, 0.5, 2*COUNT)
    with mp.workdps(50):
        wanted = known(x, values, closed)
    error = abs(equations.accelerations(0., x) - wanted).max()
    assert error < 1e-10*abs(wanted).max()
