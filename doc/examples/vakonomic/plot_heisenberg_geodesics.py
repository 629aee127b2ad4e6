"""
Geodesics of Heisenberg's geometry
==================================

A particle moves in the plane, and a third coordinate counts the area swept by
its radius. Which path from one point to another sweeps a given area with the
least action? This is Dido's problem, and a vakonomic one: the constraint
restricts the curves among which the action is stationary. Start and end are
given; shooting finds the initial multiplier.

==================  ====================================================
constants           none; the mass is 1 kg, a motion takes 1 s
coordinates         ``x``, ``y`` in m; ``z`` area swept, in m²
speeds              x', y', z'
multiplier          ``mu``, a state, in kg/s; it is constant here
inputs              none
==================  ====================================================

With :math:`L = \\tfrac12(\\dot x^2 + \\dot y^2)` and :math:`g = \\dot z -
\\tfrac12(x\\dot y - y\\dot x)` the multiplier acts like a magnetic field on a
charge. The particle moves on a circle with constant speed v (R. Montgomery, *A
Tour of Subriemannian Geometries, Their Geodesics and Applications*, 2002,
chapter 1). From the origin, at the angle a,

.. math::

   x = \\frac v\\mu\\bigl(\\sin(\\mu t + a) - \\sin a\\bigr), \\quad
   y = -\\frac v\\mu\\bigl(\\cos(\\mu t + a) - \\cos a\\bigr), \\quad
   z = \\frac{v^2}{2\\mu^2}(\\mu t - \\sin\\mu t) .

To :math:`(0, 0, Z)` the least action is :math:`2\\pi Z`, that of a full
circle. A regular polygon of N sides and the same area costs more,
:math:`2N\\tan(\\pi/N)\\,Z`. Two turns on a smaller circle are also stationary,
with :math:`4\\pi Z`: vakonomic motion is not always minimal.

In Routh's equations for the same model the reaction vanishes, and the particle
moves straight.

In the picture Z is 0.5 m². On the right, circular arcs lead to :math:`(1, 0)`
with a given area between arc and chord.

"""
from math import pi, sqrt, tan

import matplotlib.pyplot as plt
import numpy as np
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import RouthMethod, VaccoMethod
from sympy_constrained.numeric import boundary_value, simulate
from sympy_constrained.report import report

# The model. The mass matrix of L is singular; B^T W B is not.

x, y, z = dynamicsymbols('x y z')
vx, vy, vz = x.diff(), y.diff(), z.diff()
problem = VaccoMethod((vx**2 + vy**2)/2, [x, y, z],
                      nonhol_coneqs=[vz - (x*vy - y*vx)/2], multipliers='mu')
mu, = problem.mu_vec

# Back to the origin with area Z in one turn and in two, and to (1, 0) with
# several areas. The guess selects one of the stationary motions.

Z, origin = 0.5, [0, 0, 0]
turns = [boundary_value(problem, origin, [0, 0, Z], 1,
                        {vx: v, vy: 0, vz: 0, mu: guess}, t_eval=121)
         for v, guess in ((2.5, 6.2), (3.5, 12.5))]
areas = 0, 0.1, 0.3, 0.6
arcs = [boundary_value(problem, origin, [1, 0, area], 1,
                       {vx: 1, vy: -1, vz: 0, mu: 4}, t_eval=121)
        for area in areas]
routh = simulate(RouthMethod.from_method(problem), 0.25, {
    **dict.fromkeys((x, y, z, vz), 0), vx: turns[0][vx][0],
    vy: turns[0][vy][0]}, t_eval=121)

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 2.8), layout='constrained')
grid = figure.add_gridspec(1, 3, width_ratios=(1.05, 1, 1))
space = figure.add_subplot(grid[0], projection='3d')
for motion, colour in zip(turns, ('C0', 'C1')):
    space.plot(motion[x], motion[y], motion[z], color=colour)
space.plot(turns[0][x], turns[0][y], 0*turns[0].t, ':', color='0.6')
space.plot(routh[x], routh[y], routh[z], color='k')
space.plot([0, 0], [0, 0], [0, Z], color='0.7', linewidth=1)
space.plot([0, 0], [0, 0], [0, Z], 'k.')
space.text(0, 0.1, Z, 'end')
space.text(-0.25, -0.1, -0.08, 'start')
space.text(0.3, -0.34, 0, 'Routh')
space.set(title='x, y and z', xticks=(), yticks=(), zticks=())
space.set_box_aspect((1, 1, 0.85), zoom=1.1)

plan = figure.add_subplot(grid[1])
for motion, colour in zip(turns, ('C0', 'C1')):
    plan.plot(motion[x], motion[y], color=colour)
corners = np.pi*(np.arange(7)/3 - 1/2)
size = sqrt(Z/(6*tan(pi/6)))/np.cos(pi/6)
plan.plot(size*np.cos(corners), size*(np.sin(corners) + 1), '--', color='0.5')
plan.plot(routh[x], routh[y], color='k')
plan.plot(0, 0, 'ko', markersize=4)
for place, text, colour in (
        ((0, 0.22), 'two turns\n$4\\pi Z$', 'C1'),
        ((0, 0.65), r'one turn, $2\pi Z$', 'C0'),
        ((0, 0.92), r'hexagon, $6.93\,Z$', '0.4'),
        ((0.55, 0.05), 'Routh', 'k')):
    plan.text(*place, text, color=colour, ha='center')
plan.set(title='the same from above, in m', xlim=(-0.6, 0.75),
         ylim=(-0.1, 1.05), xticks=(-0.5, 0, 0.5))

dido = figure.add_subplot(grid[2])
for area, motion, colour in reversed(list(zip(
        areas, arcs, ('k', 'C4', 'C3', 'C2')))):
    dido.fill(motion[x], motion[y], color=colour, alpha=0.08)
    dido.plot(motion[x], motion[y], color=colour)
    dido.text(0.5, motion[y][60] + 0.02, f'{area} m²', color=colour,
              ha='center', va='bottom')
dido.plot([0, 1], [0, 0], 'ko', markersize=4)
dido.set(title='least ways to (1, 0) by area', xlim=(-0.1, 1.1),
         ylim=(-0.78, 0.22))
for panel in plan, dido:
    panel.set_aspect('equal')

plt.show()

# The closed form, and the actions 2 pi Z and 4 pi Z: the circle is better than
# polygons of 6, 60 and 600 sides, which approach it.

for motion in (*turns, *arcs):
    t, v = motion.t, np.hypot(motion[vx][0], motion[vy][0])
    a, k = np.arctan2(motion[vy][0], motion[vx][0]), motion[mu][0]
    assert np.abs(motion[mu] - k).max() < 1e-7
    if abs(k) < 1e-6:
        continue
    assert np.abs(motion[x] - v/k*(np.sin(k*t + a) - np.sin(a))).max() < 1e-7
    assert np.abs(motion[y] + v/k*(np.cos(k*t + a) - np.cos(a))).max() < 1e-7
    assert np.abs(motion[z] - (v/k)**2/2*(k*t - np.sin(k*t))).max() < 1e-7
for count, motion in enumerate(turns, start=1):
    action = (motion[vx]**2 + motion[vy]**2)/2      # constant, during 1 s
    assert np.abs(action - 2*pi*count*Z).max() < 1e-6
    assert abs(motion[mu][0] - 2*pi*count) < 1e-6
least = 2*pi*Z
excess = [2*N*tan(pi/N)*Z/least - 1 for N in (6, 60, 600)]
assert excess == sorted(excess, reverse=True) and 0 < excess[-1] < 1e-5
assert np.abs(routh[z]).max() < 1e-9
assert np.abs(routh[x]*turns[0][vy][0]
              - routh[y]*turns[0][vx][0]).max() < 1e-9

# %%
# The equations run in this page. Move a slider to change the start.

report(problem, turns[0].x[0], points={'particle': (x, y, z)},
       title="A geodesic of Heisenberg's geometry")
