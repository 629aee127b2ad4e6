"""
A self-stable bicycle
=====================

A riderless bicycle that is pushed fast enough does not fall over. Whipple's
model explains this with four rigid bodies and knife-edge wheels that roll
without slipping, without tyres, friction and control. Energy is conserved, but
the wobble decays, because nonholonomic constraints need not preserve volume in
state space. The energy of the wobble becomes forward motion.

==================  ====================================================
constants           the 25 of the benchmark: 94 kg in all, wheel base 1.02 m,
                    trail 0.08 m, steer axis tilted by 18°, ...
coordinates         contact point of the rear wheel in m; yaw ``q1``, roll
                    ``q2``, pitch ``q4`` of the rear frame, steer ``q5``, and
                    both wheel angles, in rad
speeds              their derivatives
inputs              none
start               upright, at 4.6 m/s, with a roll rate of 0.5 rad/s
==================  ====================================================

The benchmark is J. P. Meijaard, J. M. Papadopoulos, A. Ruina and A. L. Schwab,
*Linearized dynamics equations for the balance and steer of a bicycle*, Proc.
R. Soc. A 463 (2007) 1955-1982, with its eigenvalues of 14 digits in table 2.
Upright motion at the speed :math:`v` is disturbed by

.. math::

   M\\ddot q + v C_1\\dot q + (g K_0 + v^2 K_2) q = 0 ,

in roll and steer. :func:`~sympy_constrained.numeric.linearize` computes the
matrix of the linearized equations at each speed from the full ones, in
milliseconds. The bicycle is stable between the weave speed 4.292382536 and the
capsize speed 6.024262015 m/s.

"""
from math import sqrt

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.models import model
from sympy_constrained.numeric import (
    compile_equations, consistent_state, linearize, simulate)
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model: the front wheel touches the ground, and both wheels roll.

bicycle = model('bicycle_whole')
equations = compile_equations(
    bicycle.form(UdwadiaKalabaMethod), bicycle.parameters)
rear = 0.3                                       # radius of the rear wheel


def state(speed, **lean):
    """A state near the upright one, on the constraints."""
    guess = {'u3': speed/rear, 'u6': speed/0.35, 'u7': speed, **lean}
    fixed = ('q1', 'q2', 'q3', 'q5', 'q6', 'q7', 'q8', 'u2', 'u3', 'u5')
    return consistent_state(equations, guess, fixed=fixed, fill=0)


# Linearized equations of roll and steer.


def linearized(speed):
    found = linearize(equations, state(speed), dependent=(
        'q4', 'u1', 'u4', 'u6', 'u7', 'u8'))
    names = [x.name for x in found.states]
    wobble = [names.index(name) for name in ('q2', 'q5', 'u2', 'u5')]
    return found.A[np.ix_(wobble, wobble)]


def eigenvalues(speed):
    """Castering, then capsize and weave, as real parts grow."""
    return np.sort_complex(np.linalg.eigvals(linearized(speed)))


def weave(speed):
    return max(z.real for z in eigenvalues(speed) if z.imag > 0)


def capsize(speed):
    return max(z.real for z in eigenvalues(speed) if z.imag == 0)


limits = brentq(weave, 3, 5, xtol=1e-13), brentq(capsize, 5, 8, xtol=1e-13)

# The motion.

motion = simulate(equations, 8, state(4.6, u2=0.5), t_eval=401)

# The picture: the bicycle from its side, eigenvalues, and the motion.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.9), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(1, 1.25, 1.25))
sketch = figure.add_subplot(grid[0, 0])
plot_snapshots(motion, bicycle, times=[0], view='xz', ax=sketch, trails=False,
               legend=False)
spectrum = figure.add_subplot(grid[0, 1:])
speeds = np.linspace(0, 10, 201)
values = np.array([eigenvalues(speed) for speed in speeds])
spectrum.axvspan(*limits, color='C2', alpha=0.2)
spectrum.axhline(0, color='0.6', linewidth=0.8)
spectrum.plot(speeds, np.where(values.imag == 0, values.real, np.nan), '.',
              color='C0', markersize=1.5)
spectrum.plot(speeds, np.where(values.imag > 0, values.real, np.nan), '.',
              color='C1', markersize=1.5)
spectrum.plot(speeds, np.where(values.imag > 0, values.imag, np.nan), '.',
              color='0.6', markersize=1.5)
for text, place, color in (
        ('self-stable', (4.35, 7.6), 'C2'), ('weave', (2, 3.8), 'C1'),
        ('its frequency', (7.4, 6.3), '0.5'), ('capsize', (7.5, 0.5), 'C0'),
        ('castering', (2.6, -7.8), 'C0')):
    spectrum.text(*place, text, color=color)
spectrum.set(xlabel='v in m/s', title='eigenvalues of roll and steer in 1/s',
             xlim=(0, 10), ylim=(-10, 10))
angles = figure.add_subplot(grid[1, 0])
angles.plot(motion.t, np.degrees(motion['q2']), label='roll')
angles.plot(motion.t, np.degrees(motion['q5']), label='steer')
angles.set(xlabel='t in s', title='angles in °', ylim=(-6.5, 9))
angles.legend(ncols=2, loc='upper right')
path = figure.add_subplot(grid[1, 1])
path.plot(motion['q7'], motion['q8'], color='C0')
path.set(xlabel='x in m', ylabel='y in m', title='path of the rear wheel')
path.set_aspect('equal', adjustable='datalim')
forward = figure.add_subplot(grid[1, 2])
final = sqrt(4.6**2 + 80.81722*0.5**2/(94 + 0.12/0.3**2 + 0.28/0.35**2))
forward.plot(motion.t, rear*motion['u3'], color='C3')
forward.axhline(final, color='0.5', linestyle='--', linewidth=0.8)
forward.set(xlabel='t in s', title='speed of rolling in m/s')

plt.show()

# Table 2 of the paper, and the limits of the stable speeds.

for speed, table in (
        (0, [-5.53094371765393, -3.13164324790656, 3.13164324790656,
             5.53094371765393]),
        (5, [-14.07838969279822, -0.77534188219585 - 4.46486771378823j,
             -0.77534188219585 + 4.46486771378823j, -0.32286642900409]),
        (10, [-24.62459635017404, -3.72016840437287 - 10.90681139476287j,
              -3.72016840437287 + 10.90681139476287j, 0.16105338653172])):
    assert np.abs(eigenvalues(speed) - table).max() < 1e-11
assert np.abs(np.subtract(limits, (4.292382536341, 6.024262015388))
              ).max() < 1e-11

# The roll has decayed, and its energy is in the speed: 80.81722 kg m² is the
# moment of inertia in roll, M_11 of the paper.

assert abs(rear*motion['u3'][-1] - final) < 1e-4
assert np.abs(motion.energy_error).max() < 1e-5
assert motion.largest_residual < 1e-10

# %%
# The equations run in this page. Move a slider to change the start.

report(bicycle.form(UdwadiaKalabaMethod), state(4.6, u2=0.5),
       bicycle.parameters, title='A self-stable bicycle', **bicycle.visual)
