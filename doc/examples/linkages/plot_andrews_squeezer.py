"""
Andrews' squeezing mechanism
============================

Seven bodies in a plane, on ten pins, have one degree of freedom: three loops
determine six of the seven angles. A motor turns the crank against a stiff
spring; in 30 ms it makes two and a half turns. The mechanism is a standard
benchmark for programs for constrained motion, because its solution is
published to many digits.

==================  ====================================================
constants           lengths, masses and moments of inertia as published,
                    spring ``c0`` = 4530 N/m, motor torque ``mom`` = 0.033
                    N m; no gravity
coordinates         ``beta`` of the crank K1, ``theta`` of the rod K2 to it,
                    ``gamma`` of K3, ``phi`` of K4 to K5, ``delta`` of K5,
                    ``Omega`` of K6 to K7, ``epsilon`` of K7, in rad
speeds              ``u1`` to ``u7``, their derivatives, in rad/s
inputs              none
start               at rest, ``beta`` = -0.0617 rad
==================  ====================================================

The model is ``andrews_squeezer`` of :mod:`sympy_constrained.models`: frames,
points, bodies, two loads, and the loops as positions. The reference values are
those of the *Test Set for Initial Value Problem Solvers* (F. Mazzia and C.
Magherini, University of Bari, problem Andrews' squeezing mechanism; E. Hairer
and G. Wanner, *Solving Ordinary Differential Equations II*, section VII.7):
the crank starts with 14222.44391995411 rad/s² and reaches 15.81077119629904
rad at 0.03 s.

"""

import matplotlib.pyplot as plt
import numpy as np

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.models import model
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# Equations and motion.

squeezer = model('andrews_squeezer')
method = squeezer.form(UdwadiaKalabaMethod)
equations = compile_equations(method, squeezer.parameters)
start = consistent_state(equations, squeezer.start, fixed=squeezer.fixed)
motion = simulate(equations, 0.03, start, rtol=1e-11, atol=1e-13, t_eval=601)

# The picture. The model knows its spring and its rods to the common pin.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 4.3), layout='constrained')
grid = figure.add_gridspec(2, 12, height_ratios=(1.5, 1))
for column, k in enumerate((0, 170, 225)):
    panel = figure.add_subplot(grid[0, 4*column:4*column + 4])
    plot_snapshots(motion, squeezer, times=[motion.t[k]], trails=False,
                   legend=False, ax=panel)
    panel.set(title=f't = {1e3*motion.t[k]:.2f} ms', xticks=(-0.05, 0))

beta, theta, gamma, phi, delta, Omega, epsilon = squeezer.coordinates
reference = (15.81077119629904, -15.75637105984298, 0.04082224013073101,
             -0.5347301163226948, 0.5244099658805304, 0.5347301163226948,
             1.048080741042263)
turning = figure.add_subplot(grid[1, :4])
swinging = figure.add_subplot(grid[1, 4:8])
for k, (angle, digits) in enumerate(zip(squeezer.coordinates, reference)):
    panel = turning if k < 2 else swinging
    panel.plot(1e3*motion.t, motion[angle], color=f'C{k}',
               label='$\\' + f'{angle.func}$')
    panel.plot(30, digits, 'o', color=f'C{k}', markersize=5)
turning.set(xlabel='t in ms', title='angles in rad; published (dots)')
swinging.set(xlabel='t in ms', xlim=(-1, 52), xticks=(0, 10, 20, 30),
             title='the other angles in rad')
for panel in turning, swinging:
    panel.legend(loc='right')

# The motor's work goes into motion and into the spring.

value = {str(name): number for name, number in squeezer.parameters.items()}
anchor, hook = squeezer.visual['springs']['spring']
length = equations.expression(hook.pos_from(anchor).magnitude())
stored = value['c0']*(length(motion.t, motion.x) - value['l0'])**2/2
work = value['mom']*(motion[beta] - motion[beta][0])
energies = figure.add_subplot(grid[1, 8:])
energies.plot(1e3*motion.t, work, color='k', label='motor')
energies.plot(1e3*motion.t, motion.energy, color='C1', label='kinetic')
energies.plot(1e3*motion.t, stored - stored[0], color='0.5', label='spring')
energies.set(xlabel='t in ms', title='energy in J', ylim=(-1.1, 3))
energies.legend(loc='upper left')

plt.show()

# The published angles and first accelerations, the loops, and the energy.

assert np.abs(motion.x[-1, :7] - reference).max() < 1e-8
first = equations.accelerations(0, start)
assert np.abs(first[:2] - (14222.44391995411, -10666.83293996559)).max() < 1e-6
assert np.abs(first[2:]).max() < 1e-6
assert motion.largest_residual < 1e-12
assert np.abs(motion.energy + stored - stored[0] - work).max() < 1e-9

# %%
# The equations run in this page. Move a slider to change the start.

report(method, start, squeezer.parameters, speed=0.01,
       title="Andrews' squeezing mechanism", **squeezer.visual)
