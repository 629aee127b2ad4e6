"""
A particle with constant speed under gravity
============================================

The speed of a particle is held at ``c``: the constraint :math:`\\frac12(|v|^2
- c^2) = 0` is nonlinear in the velocity. By the rule of Appell and Chetaev the
ideal reaction acts along the gradient with respect to the velocity, here along
the path, like an engine that keeps the speed. The constraint contains no time,
but its reaction does work, as much as gravity takes: for constraints nonlinear
in the velocities, "ideal" means no *virtual* work, and the velocity is not a
virtual displacement.

==================  ====================================================
constants           mass ``m`` = 0.5 kg, gravity ``g`` = 9.81 m/s² along
                    -z, speed ``c`` = 10 m/s
coordinates         ``x``, ``z``, in m
speeds              ``u``, ``w``, their derivatives, in m/s
inputs              none
start               at the origin, with an elevation of 80°, 45°, 0° or
                    -45° above the horizontal
==================  ====================================================

Across the path only gravity acts, so the elevation :math:`\\gamma` obeys
:math:`c\\,\\dot\\gamma = -g\\cos\\gamma`. With the time :math:`t_0` of the
highest point and :math:`\\tau = g(t - t_0)/c` the solution is the gudermannian
(M. Abramowitz and I. A. Stegun, *Handbook of Mathematical Functions*, 1964,
4.3.117),

.. math::

   -\\gamma = \\mathrm{gd}\\,\\tau = 2\\arctan e^{\\tau} - \\tfrac{\\pi}2,
   \\qquad \\tan\\left(\\tfrac{\\pi}4 - \\tfrac{\\gamma}2\\right) = e^{\\tau}.

The thrust is :math:`m g\\sin\\gamma = -m g\\tanh\\tau`, and the path is

.. math::

   z = z_0 + a\\ln\\cos\\frac{x - x_0}a, \\qquad a = \\frac{c^2}g,

the inverted catenary of equal strength. Every start gives another piece of the
same curve; the horizontal distance from the highest point stays below
:math:`\\frac{\\pi}2 a`.

"""
from math import atanh, cos, log, pi, radians, sin

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import CubicSpline
from sympy import symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, dynamicsymbols)

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model: the call of KanesMethod, which refuses the constraint.

m, g, c = symbols('m g c')
x, z, u, w = dynamicsymbols('x z u w')
N, O, P = ReferenceFrame('N'), Point('O'), Point('P')
O.set_vel(N, 0)
P.set_pos(O, x*N.x + z*N.z)
P.set_vel(N, u*N.x + w*N.z)
particle = UdwadiaKalabaMethod(
    N, [x, z], [u, w], [x.diff() - u, z.diff() - w],
    velocity_constraints=[(u**2 + w**2 - c**2)/2],
    bodies=[Particle('particle', P, m)], forcelist=[(P, -m*g*N.z)])
equations = compile_equations(particle, {m: 0.5, g: 9.81, c: 10})

# The motions. The multiplier times the velocity is the reaction.

starts, a = (80, 45, 0, -45), 100/9.81
motions = [simulate(
    equations, 3, {x: 0, z: 0, u: 10*cos(radians(start)),
                   w: 10*sin(radians(start))},
    t_eval=301, rtol=1e-11, atol=1e-12) for start in starts]
thrusts = [10*motion.multipliers[:, 0] for motion in motions]
elevations = [np.arctan2(motion[w], motion[u]) for motion in motions]

# The picture. On the right the starts are shifted in time.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.4), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(0.9, 1.35, 1.1))
sketch = figure.add_subplot(grid[:, 0])
lam, = particle.multipliers
plot_snapshots(motions[1], particle, times=[0, 0.6, 1.5], view='xz', forces={
    'thrust': (P, lam*(u*N.x + w*N.z)), 'weight': (P, -m*g*N.z)}, ax=sketch,
    legend=False)
paths = figure.add_subplot(grid[:, 1])
law = figure.add_subplot(grid[0, 2])
force = figure.add_subplot(grid[1, 2])
span = np.linspace(-0.4999*pi, 0.4999*pi, 800)
for k, (start, motion) in enumerate(zip(starts, motions)):
    when = 10/9.81*atanh(sin(radians(start)))     # at the highest point
    top = a*radians(start), -a*log(cos(radians(start)))
    paths.plot(top[0] + a*span, top[1] + a*np.log(np.cos(span)), ':',
               color='0.6', linewidth=0.8)
    paths.plot(motion[x], motion[z], color=f'C{k}', label=f'{start}°')
    law.plot(motion.t - when, np.degrees(elevations[k]), color=f'C{k}',
             linewidth=6 - 1.5*k)
    force.plot(motion.t - when, thrusts[k]/9.81/0.5, color=f'C{k}',
               linewidth=6 - 1.5*k)
paths.plot(0, 0, 'ko', markersize=4)
paths.set(xlabel='x in m', ylabel='z in m', xlim=(-4, 25), ylim=(-26, 20),
          title='paths during 3 s')
paths.set_aspect('equal')
paths.legend(title='start', loc='lower left')
law.set(title=r'elevation $\gamma$ in °', xticklabels=(),
        yticks=(-90, -45, 0, 45, 90))
force.set(title='thrust / weight', xlabel='t − t₀ in s')
for panel in law, force:
    panel.axhline(0, color='0.8', linewidth=0.8, zorder=0)
    panel.axvline(0, color='0.8', linewidth=0.8, zorder=0)

plt.show()

# The solution, for every start.

for start, motion, gamma, thrust in zip(starts, motions, elevations, thrusts):
    angle = radians(start)
    tau = 0.981*motion.t - atanh(sin(angle))
    assert np.abs(gamma + 2*np.arctan(np.exp(tau)) - pi/2).max() < 1e-9
    assert np.abs(thrust + 0.5*9.81*np.tanh(tau)).max() < 1e-8
    assert np.abs(motion[x] - a*(angle - gamma)).max() < 1e-8
    assert np.abs(motion[z] - a*np.log(np.cos(gamma)/cos(angle))).max() < 1e-8
    assert motion.largest_residual < 1e-10

# The reaction does work against gravity: the kinetic energy is constant.

    work = CubicSpline(motion.t, 10*thrust).antiderivative()(motion.t)
    assert np.abs(work - 0.5*9.81*motion[z]).max() < 1e-6
    assert np.abs(motion.energy - 25).max() < 1e-10

# gd 1 = 0.8657694832, and after c/g the level throw has that elevation.

level = simulate(equations, 10/9.81, {x: 0, z: 0, u: 10, w: 0}, rtol=1e-11,
                 atol=1e-12)
assert abs(np.arctan2(level[w], level[u])[-1] + 0.8657694832) < 1e-9

# %%
# The equations run in this page. Move a slider to change the start.

report(particle, motions[1].x[0], {m: 0.5, g: 9.81, c: 10},
       title='Constant speed')
