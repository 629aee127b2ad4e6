"""
A bead on a driven hoop
=======================

A bead slides on a hoop that a motor turns about its vertical diameter. The
rotation is a constraint with explicit time, :math:`\\varphi = \\Omega t`, and
its multiplier is the motor torque. At low speed the bead rests at the bottom.
Beyond :math:`\\Omega_c = \\sqrt{g/R}` the bottom is unstable, and the bead
comes to rest at one of two angles with

.. math::

   \\cos\\theta_0 = \\frac{g}{R\\,\\Omega^2},

a pitchfork bifurcation (S. H. Strogatz, *Nonlinear Dynamics and Chaos*,
section 3.5; J. E. Marsden and T. S. Ratiu, *Introduction to Mechanics and
Symmetry*, section 2.8). Dots in the picture are final states of runs with
slight friction.

==================  ====================================================
constants           mass ``m`` = 0.1 kg, radius ``R`` = 0.2 m, ``g`` =
                    9.81 m/s²; ``Omega``, in rad/s; friction ``c`` = 0 or
                    0.2 N s/m
coordinates         ``theta`` from the bottom, ``phi`` of the hoop, in rad
speeds              their derivatives
inputs              none; the drive is a constraint that contains time
start               at rest on the hoop; without friction at 0.4 rad, with
                    :math:`\\Omega = \\frac32\\Omega_c`
==================  ====================================================

Without friction the bead swings between two angles, and its energy varies
because the motor does work. :math:`E - \\Omega L` is conserved, with the
angular momentum :math:`L = m R^2\\Omega\\sin^2\\theta`, so the work of the
motor is :math:`\\Omega\\,\\Delta L`. From this follow the turning points
:math:`\\cos\\theta_1 + \\cos\\theta_2 = 2\\cos\\theta_0` and the period

.. math::

   T = \\frac{4\\,K(k)}{\\Omega\\sqrt{(1 - c_2)(1 + c_1)}}, \\qquad
   k^2 = \\frac{2\\,(c_1 - c_2)}{(1 - c_2)(1 + c_1)}, \\qquad
   c_i = \\cos\\theta_i,

with the complete elliptic integral :math:`K`.

"""
from math import acos, cos, pi, sqrt

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ellipk
from sympy import cos as Cos, sin as Sin, symbols
from sympy.physics.mechanics import (
    Lagrangian, Particle, Point, ReferenceFrame, dynamicsymbols)

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model: a Lagrangian, friction along the hoop, and the drive.

t = dynamicsymbols._t
m, R, g, Omega, c = symbols('m R g Omega c')
theta, phi = dynamicsymbols('theta phi')
swing, turn = theta.diff(), phi.diff()
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)
hoop = N.orientnew('H', 'Axis', (phi, N.z))
P = O.locatenew('P', R*(Sin(theta)*hoop.x - Cos(theta)*hoop.z))
P.set_vel(N, P.pos_from(O).dt(N))
bead = Particle('bead', P, m)
bead.potential_energy = -m*g*R*Cos(theta)
along = Cos(theta)*hoop.x + Sin(theta)*hoop.z
driven = UdwadiaKalabaMethod(
    Lagrangian(N, bead), [theta, phi], hol_coneqs=[phi - Omega*t],
    forcelist=[(P, -c*R*swing*along)], bodies=[bead], frame=N)

# One motion without friction, and final states with friction.

critical = sqrt(9.81/0.2)
fast = 1.5*critical
equations = compile_equations(
    driven, {m: 0.1, R: 0.2, g: 9.81, Omega: fast, c: 0})


def run(speed, friction, angle, end, **options):
    """A motion that starts at rest relative to the hoop."""
    return simulate(
        equations.with_values({Omega: speed, c: friction}), end,
        {theta: angle, phi: 0, swing: 0, turn: speed}, **options)


def resting(t, x):
    return x[2]


motion = run(fast, 0, 0.4, 2.4, rtol=1e-11, atol=1e-13, t_eval=481,
             events=resting)
ratios = np.array([0.5, 0.8, 1.1, 1.3, 1.6, 2, 2.5])
ends = np.array([run(ratio*critical, 0.2, side*0.3, 16, t_eval=2)[theta][-1]
                 for side in (1, -1) for ratio in ratios])
second, period = motion.events[0].x[0], motion.events[1].t
torque = motion.multipliers[:, 0]

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.3), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(0.9, 1.2, 1.2))
wire = [R*(Sin(angle)*hoop.x - Cos(angle)*hoop.z)
        for angle in np.linspace(0, 2*pi, 34)]
plot_snapshots(motion, driven, lines=[wire], times=[0, 0.1, 0.2],
               legend=False, ax=figure.add_subplot(grid[:, 0],
                                                   projection='3d'))
fork = figure.add_subplot(grid[:, 1])
beyond = np.linspace(1, 2.7, 300)
branch = np.degrees(np.arccos(1/beyond**2))
fork.plot([0, 1], [0, 0], 'k', linewidth=1, label='stable')
fork.plot([1, 2.7], [0, 0], 'k:', label='unstable')
fork.plot(beyond, branch, 'k', beyond, -branch, 'k', linewidth=1)
fork.plot(np.tile(ratios, 2), np.degrees(ends), 'o', color='C0',
          label='simulated')
fork.set(xlabel=r'$\Omega\,/\,\Omega_c$', xlim=(0.3, 2.7), ylim=(-95, 95),
         yticks=(-90, -45, 0, 45, 90), title=r'rest angle $\theta_0$ in °')
fork.legend(loc='lower left')
angle = figure.add_subplot(grid[0, 2])
angle.plot(motion.t, np.degrees(motion[theta]), color='C0')
for value in 0.4, second:
    angle.axhline(np.degrees(value), color='0.6', linestyle='--',
                  linewidth=0.8)
angle.axvline(period, color='0.6', linestyle='--', linewidth=0.8)
angle.text(period + 0.03, 102, f'T = {period:.4f} s')
angle.set(title=r'$\theta$ in °, without friction, $\Omega = 1.5\,\Omega_c$',
          xticklabels=(), ylim=(15, 120))
work = figure.add_subplot(grid[1, 2])
work.plot(motion.t, motion.energy - motion.energy[0], color='C1',
          linewidth=3, label='change of energy')
work.plot(motion.t, motion.work, 'k--', linewidth=1,
          label='work of the motor')
work.set(xlabel='t in s', title='energy and work in J', ylim=(-0.03, 0.85))
work.legend(loc='upper right')

plt.show()

# The rest angles: those of the pitchfork, on the side where the bead started.

known = np.arccos(np.minimum(1, 1/ratios**2))
assert np.abs(ends - np.concatenate([known, -known])).max() < 1e-6

# Turning points, period, and the work of the motor.

c1, c0 = cos(0.4), 1/1.5**2
c2 = 2*c0 - c1
k2 = 2*(c1 - c2)/((1 - c2)*(1 + c1))
assert abs(second - acos(c2)) < 1e-8
assert abs(period - 4*ellipk(k2)/fast/sqrt((1 - c2)*(1 + c1))) < 1e-8
spin = 0.1*0.2**2*fast*np.sin(motion[theta])**2
assert np.abs(motion.work - fast*(spin - spin[0])).max() < 1e-8
assert np.abs(motion.energy_error).max() < 1e-8
assert np.abs(torque - 0.1*0.2**2*fast*np.sin(2*motion[theta])
              * motion[swing]).max() < 1e-8
assert motion.largest_residual < 1e-12

# %%
# The equations run in this page. Move a slider to change the start.

report(driven, motion.x[0], {m: 0.1, R: 0.2, g: 9.81, Omega: fast, c: 0},
       lines=[wire], title='A bead on a driven hoop')
