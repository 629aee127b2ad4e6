"""
A particle on a turning plane
=============================

A smooth plane turns at 1 rad/s about an axis in the plane; the axis is tilted
from the vertical by 0.4 rad, and a particle slides on the plane. The
constraint contains time, and the plane does work. The quasi-velocities are the
velocities along the plane, :math:`u_1` away from the axis and :math:`u_2`
along it. The projected equations contain no multiplier:

.. math::

   \\dot u_1 = q_1 + s\\cos t, \\qquad \\dot u_2 = -g\\cos\\theta, \\qquad
   s = g\\sin\\theta,

where :math:`q_1` is the distance from the axis. They do not contain
:math:`u_2`, so the picture is a view along the axis.

==================  ====================================================
constants           mass 1 kg; ``g`` = 9.81 m/s²; ``theta`` = 0.4 rad
                    between the axis and the vertical
coordinates         ``x1``, ``x2`` across the axis, ``x3`` along it, in m
speeds              ``u1``, ``u2`` along the plane, in m/s
multiplier          times a length that makes it a power: of the plane, in W
inputs              none
start               at rest in the plane, 4 mm from a circle on which it
                    could stay
==================  ====================================================

This is the first example of Y. Wang, X. Wu and H. Cao, *Linear mapping method
for holonomic rheonomic systems*, J. Dyn. Control (doi
10.6052/1672-6553-2019-056), with the solution

.. math::

   q_1 = c_1 e^{-t} + c_2 e^t - \\tfrac12 s\\cos t, \\qquad
   P = 2 q_1 u_1 + s\\,q_1\\sin t .

For :math:`c_1 = c_2 = 0` the particle runs on a circle of diameter :math:`s/2`
through the axis with constant speed: the plane supplies what gravity takes. A
deviation grows as :math:`e^t`. For the derivation see
:doc:`/theory/linear_mapping`.

"""
from math import cos, pi, sin

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos as Cos, sin as Sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import LinearMappingMethod
from sympy_constrained.numeric import simulate
from sympy_constrained.report import report

# The model. x1*sin(t) - x2*cos(t) = 0 is t = atan(x2/x1) without its jumps.

t = dynamicsymbols._t
g, theta = symbols('g theta')
x1, x2, x3 = x = dynamicsymbols('x1:4')
v1, v2, v3 = (coordinate.diff() for coordinate in x)
T = (v1**2 + v2**2 + v3**2)/2
V = g*(x3*Cos(theta) - x1*Sin(theta))
plane = LinearMappingMethod(
    T - V, x, hol_coneqs=[x1*Sin(t) - x2*Cos(t)],
    us=dynamicsymbols('u1:3'), mapping=[v1*Cos(t) + v2*Sin(t), v3])
u1, u2 = plane.u

# The motion.

constants, t_end = {g: 9.81, theta: 0.4}, 7.5
s = 9.81*sin(0.4)
start = {x1: 0.004 - s/2, x2: 0, x3: 0, u1: 0, u2: 0}
motion = simulate(plane, t_end, start, constants=constants, t_eval=751,
                  rtol=1e-11, atol=1e-13)
time = motion.t
q1 = motion[x1]*np.cos(time) + motion[x2]*np.sin(time)
power = motion.multipliers[:, 0]*-q1        # -lam*A_0
exact = 0.002*(np.exp(time) + np.exp(-time)) - s/2*np.cos(time)
rate = 0.002*(np.exp(time) - np.exp(-time)) + s/2*np.sin(time)

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.4), layout='constrained')
grid = figure.add_gridspec(2, 2, width_ratios=(1.35, 1))
path = figure.add_subplot(grid[:, 0])
turn = np.linspace(0, 2*pi, 200)
path.plot(s/4*(np.cos(turn) - 1), s/4*np.sin(turn), color='0.75',
          linewidth=5, label='$c_1 = c_2 = 0$')
path.plot(motion[x1], motion[x2], color='C0', label='the motion')
for when in range(8):
    end, k = np.array([cos(when), sin(when)]), 100*when
    path.plot(*np.transpose([-0.2*np.sign(q1[k])*end, 1.12*q1[k]*end]),
              color='C1', linewidth=0.9)
    at = np.array([motion[x1][k], motion[x2][k]])
    path.plot(*at, 'o', color='C0', markersize=4)
    out = (-0.5, 0.3) if when == 6 else at + (s/4, 0)
    out = out/np.hypot(*out) if when != 3 else np.array([-0.7, 0.7])
    path.text(*(at + 0.2*out), f'{when} s', ha='center', va='center')
path.plot(0, 0, 'k+', markersize=9)
path.annotate('', (1.7, -1), (0.9, -1), arrowprops={'arrowstyle': '->'})
path.text(1.3, -0.92, 'gravity, $s$', ha='center')
path.set(xlabel='$x_1$ in m', ylabel='$x_2$ in m',
         title='along the axis; the plane is a line',
         xlim=(-2.35, 2.05), ylim=(-1.35, 3))
path.set_aspect('equal')
path.legend(loc='upper left')

work = figure.add_subplot(grid[:, 1])
work.axhline(0, color='0.7', linewidth=0.8)
work.plot(time, 2*q1*rate + s*q1*np.sin(time), color='C1', linewidth=3,
          label='closed form')
work.plot(time, power, 'k--', linewidth=1, label='from the multiplier')
work.set(xlabel='t in s', title='power of the plane, in W')
work.legend(loc='upper left')

plt.show()

# The solution of the paper, and its values at 7 s.

assert np.abs(q1 - exact).max() < 1e-8
assert np.abs(motion[u1] - rate).max() < 1e-8
assert np.abs(motion[x3] + 9.81*cos(0.4)*time**2/2).max() < 1e-8
assert np.abs(power - (2*q1*rate + s*q1*np.sin(time))).max() < 1e-6
assert abs(q1[700] - 0.7532417297) < 1e-8
assert abs(motion[u1][700] - 3.4481726040) < 1e-8
assert abs(power[700] - 7.0851133048) < 1e-7

# No torsion: the rows, with the drift of the turning frame, are closed.

closed = LinearMappingMethod(
    T - V, x, hol_coneqs=[x1*Sin(t) - x2*Cos(t)], us=plane.u,
    mapping=[(x1*Cos(t) + x2*Sin(t)).diff(t), v3])
assert closed.space.is_integrable and not plane.space.is_integrable
assert plane.is_holonomic

# %%
# The equations run in this page. Move a slider to change the start.

report(plane, start, constants, points={'particle': x},
       lines=[((0, 0, x3), x)], title='A turning plane')
