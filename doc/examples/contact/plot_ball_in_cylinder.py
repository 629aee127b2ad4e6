"""
A ball in a vertical tube
=========================

A ball rolls without slipping inside a fixed vertical cylinder. Gravity pulls
it down, but it comes up again: while it runs around the tube, its angular
velocity turns relative to the wall. The energy gained by falling becomes spin
about the radius, which drives the ball up. Golfers know the effect.

==================  ====================================================
constants           mass 0.05 kg, radius ``r`` = 0.1 m, moment of inertia
                    :math:`k m r^2` with ``k`` = 2/5; the tube has the
                    radius ``a`` = 1 m; ``g`` = 9.81 m/s²
coordinates         ``x``, ``y``, ``z`` of the centre, in m; z-y-z angles
speeds              velocity of the centre, angular velocity, in the axes
                    of the tube
inputs              none
start               at the height 0 without vertical velocity and without
                    spin about the radius, running around with
                    :math:`\\Omega` = 3 rad/s
==================  ====================================================

The contact is a :class:`.PointContact` of a :class:`.SphereSurface` with a
:class:`.CylinderSurface` from inside: one holonomic and two nonholonomic rows
from the signed distance of the centre. The height is known in closed form (J.
I. Neimark and N. A. Fufaev, *Dynamics of Nonholonomic Systems*, AMS 1972):

.. math::

   z = -\\frac{g}{k\\Omega^2}\\left(1 - \\cos\\omega t\\right), \\qquad
   \\omega = \\Omega\\sqrt{\\frac{k}{1 + k}} = \\sqrt{\\tfrac27}\\,\\Omega

The ball never gets lower than :math:`-5g/\\Omega^2` = -5.45 m, and the wall
always acts with :math:`m(a - r)\\Omega^2`.

"""

import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import (
    CylinderSurface, PointContact, SphereSurface, UdwadiaKalabaMethod)
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model.

m, r, k, a, g = symbols('m r k a g')
x, y, z, *angles = q = dynamicsymbols('x y z q1:4')
u = dynamicsymbols('v1:4 w1:4')
N, B, O, C = ReferenceFrame('N'), ReferenceFrame('B'), Point('O'), Point('C')
O.set_vel(N, 0)
C.set_pos(O, x*N.x + y*N.y + z*N.z)
C.set_vel(N, u[0]*N.x + u[1]*N.y + u[2]*N.z)
B.orient_body_fixed(N, angles, 'zyz')
turning = B.ang_vel_in(N)
B.set_ang_vel(N, u[3]*N.x + u[4]*N.y + u[5]*N.z)
kdes = [coordinate.diff() - speed for coordinate, speed in zip(q, u[:3])] + [
    (turning - B.ang_vel_in(N)).dot(axis) for axis in N]

ball = RigidBody('ball', C, B, m, (inertia(B, *3*[k*m*r**2]), C))
tube = RigidBody('tube', O, N)
contact = PointContact(
    'contact', tube, ball, CylinderSurface(N, O, a, N.z, interior=True),
    SphereSurface(B, C, r))
method = UdwadiaKalabaMethod(
    N, q, u, kdes, bodies=[ball], forcelist=[(C, -m*g*N.z)],
    configuration_constraints=contact.holonomic_constraints,
    velocity_constraints=contact.velocity_constraints)

# The motion.

rate, depth = 3., 9.81/(0.4*3**2)
compiled = compile_equations(method, {m: 0.05, r: 0.1, k: 0.4, a: 1, g: 9.81})
start = {**dict.fromkeys((*q, *u), 0), x: 0.9, angles[1]: 1,
         u[1]: 0.9*rate, u[5]: -0.9*rate/0.1}
motion = simulate(compiled, 12, start, rtol=1e-11, atol=1e-12, t_eval=601)
omega = rate*np.sqrt(2/7)
known = -depth*(1 - np.cos(omega*motion.t))

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.4), layout='constrained')
left = figure.add_subplot(1, 2, 1, projection='3d')
plot_snapshots(motion, method, contacts=contact, times=[0, 1, 2], ax=left,
               legend=False)
right = figure.add_subplot(1, 2, 2)
right.plot(motion.t, motion[z], color='C0', linewidth=3, label='simulated')
right.plot(motion.t, known, 'k--', linewidth=1, label='closed form')
right.axhline(-2*depth, color='0.6', linewidth=0.8)
right.annotate(r'$-5g/\Omega^2$', (4, -2*depth), (-4, 4), ha='center',
               textcoords='offset points')
right.set(xlabel='t in s', ylabel='z in m', ylim=(None, 1.2),
          title='height')
right.legend(loc='upper right', ncols=2)

plt.show()

# The height, its lowest value, and the force of the wall.

assert np.abs(motion[z] - known).max() < 1e-7
assert abs(motion[z].min() + 5.45) < 1e-3
assert np.allclose(motion.multipliers[:, 0], 0.05*0.9*rate**2, rtol=1e-8)

# %%
# The equations run in this page. Move a slider to change the start.

report(method, start, {m: 0.05, r: 0.1, k: 0.4, a: 1, g: 9.81},
       contacts=contact, title='A ball in a tube')
