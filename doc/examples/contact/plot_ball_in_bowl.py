"""
A ball rolling in a bowl
========================

A ball rolls without slipping inside a spherical bowl, on an ellipse.
:func:`.plot_snapshots` shows it at four times, the last one darkest, with the
traces of the contact on both bodies. :func:`.animate` makes an animation
(:doc:`/howto/pictures`).

==================  ====================================================
constants           radius of the ball ``r`` = 0.08 m, of the bowl ``R`` =
                    0.4 m; mass ``m`` = 1 kg, homogeneous; ``g`` = 9.81
                    m/s²
coordinates         ``x``, ``y``, ``z`` of the centre, from that of the
                    bowl, in m; angles about z, x and y
speeds              velocity of the centre and angular velocity, in the
                    axes of the bowl
inputs              none
start               0.02 m from the middle, pushed along y, no spin about
                    the vertical
==================  ====================================================

For small excursions the centre moves like a pendulum of length :math:`R - r`
with an inertia increased by 2/5 of the mass through rolling,

.. math::

   \\omega^2 = \\frac{5 g}{7 (R - r)}

a classical result on the motion of a sphere on any surface (E. J. Routh, *The
Advanced Part of a Treatise on the Dynamics of a System of Rigid Bodies*, 6th
ed., Macmillan 1905).

"""
from math import pi, sqrt

import matplotlib.pyplot as plt
import numpy as np
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import PointContact, SphereSurface, UdwadiaKalabaMethod
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model.

m, r, R, g = 1, 0.08, 0.4, 9.81
q = x, y, z, yaw, roll, pitch = dynamicsymbols('x y z yaw roll pitch')
u = dynamicsymbols('v1:4 w1:4')
N, B, O, C = ReferenceFrame('N'), ReferenceFrame('B'), Point('O'), Point('C')
O.set_vel(N, 0)
C.set_pos(O, x*N.x + y*N.y + z*N.z)
C.set_vel(N, u[0]*N.x + u[1]*N.y + u[2]*N.z)
B.orient_body_fixed(N, (yaw, roll, pitch), 'zxy')
turning = B.ang_vel_in(N)
B.set_ang_vel(N, u[3]*N.x + u[4]*N.y + u[5]*N.z)
kdes = [coordinate.diff() - speed for coordinate, speed in zip(q, u[:3])] + [
    (turning - B.ang_vel_in(N)).dot(axis) for axis in N]

ball = RigidBody('ball', C, B, m, (inertia(B, *3*[0.4*m*r**2]), C))
contact = PointContact(
    'contact', RigidBody('bowl', O, N), ball,
    SphereSurface(N, O, R, interior=True, pole=N.z),
    SphereSurface(B, C, r, pole=B.z))
method = UdwadiaKalabaMethod(
    N, q, u, kdes, bodies=[ball], forcelist=[(C, -m*g*N.z)],
    configuration_constraints=contact.holonomic_constraints,
    velocity_constraints=contact.velocity_constraints)

# The motion.

compiled = compile_equations(method)


def rolled(distance, push, t_end):
    """Motion from a distance, pushed along y."""
    start = consistent_state(
        compiled, {x: distance, z: -sqrt((R - r)**2 - distance**2),
                   u[1]: push}, fill=0, fixed=(x, y, *q[3:], u[1], u[5]))
    return simulate(compiled, t_end, start, t_eval=1001,
                    units={'t': 's', 'length': 'm'})


rate = sqrt(5*g/(7*(R - r)))
motion = rolled(0.2, 0.5, 1.6*pi/rate)

# The picture.

figure = plot_snapshots(
    motion, method, contacts=contact, times=4, camera=(38, -65))

plt.show()

# Both small oscillations have the known frequency.

small = rolled(0.002, 0.004, 6*pi/rate)
for place in small[x] - small[x].mean(), small[y]:
    up = np.flatnonzero((place[:-1] < 0) & (place[1:] >= 0))
    zeros = small.t[up] - place[up]*np.diff(small.t)[up]/np.diff(place)[up]
    assert len(zeros) > 1
    assert abs(2*pi/np.diff(zeros).mean()/rate - 1) < 0.001
assert np.abs(motion.energy_error).max() < 1e-8
assert motion.largest_residual < 1e-10

# %%
# The equations run in this page. Move a slider to change the start.

report(method, motion.x[0], contacts=contact, title='A ball in a bowl')
