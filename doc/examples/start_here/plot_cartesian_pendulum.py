"""
Period of a pendulum in Cartesian coordinates
=============================================

A bob swings on a rod. Its coordinates are Cartesian, and the rod is a
constraint. Released from the horizontal, the pendulum has large angles and a
period that is known exactly.

==================  ====================================================
constants           mass ``m`` = 1 kg, length ``l`` = 1 m,
                    gravity ``g`` = 9.81 m/s², downwards along -y
coordinates         ``x``, ``y`` of the bob, in m; the pivot is the origin
speeds              their derivatives, in m/s
inputs              none
start               at rest, rod horizontal (amplitude 90°)
==================  ====================================================

With the amplitude :math:`\\theta_0` the period is :math:`T =
4\\sqrt{l/g}\\,K(\\sin^2\\frac{\\theta_0}2)`, where :math:`K` is the complete
elliptic integral of the first kind; its value for 90° is :math:`K(\\frac12) =
1.85407\\,46773` (M. Abramowitz and I. A. Stegun, *Handbook of Mathematical
Functions*, 1964, table 17.1). By energy conservation the largest tension in
the rod is three times the weight, at the lowest point.

"""
from math import sqrt

import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model: a Lagrangian, and the rod as a holonomic constraint.

m, g, l = symbols('m g l')
x, y = dynamicsymbols('x y')
T = m*(x.diff()**2 + y.diff()**2)/2
V = m*g*y
pendulum = UdwadiaKalabaMethod(T - V, [x, y],
                               hol_coneqs=[(x**2 + y**2 - l**2)/2])

# The motion. The bob crosses the vertical twice in a period.


def crossing(t, state):
    return state[0]


motion = simulate(
    pendulum, 6, {x: 1, y: 0, x.diff(): 0, y.diff(): 0},
    constants={m: 1, g: 9.81, l: 1}, rtol=1e-11, atol=1e-12, t_eval=601,
    events=crossing)
period = motion.events[2].t - motion.events[0].t

# The gradient of the constraint has the length of the rod, so the rod force
# is the multiplier times this length, here a pull inwards.

pull = -motion.multipliers[:, 0]*np.hypot(motion[x], motion[y])

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure, (sketch, places, force) = plt.subplots(
    1, 3, figsize=(6.5, 2.5), layout='constrained',
    gridspec_kw={'width_ratios': [1, 1.3, 1.3]})
plot_snapshots(motion, points={'bob': (x, y)}, lines=[((0, 0), (x, y))],
               times=[0, 0.3, 0.5, 0.7], ax=sketch, legend=False)
places.plot(motion.t, motion[x], label='x')
places.plot(motion.t, motion[y], label='y')
places.axvline(period, color='0.5', linestyle='--')
places.text(period, 1.45, f' T = {period:.4f} s', va='top')
places.set(xlabel='t in s', ylim=(-1.1, 2), title='coordinates in m')
places.legend(loc='upper right', ncols=2)
force.plot(motion.t, pull/9.81, color='C2')
force.axhline(3, color='0.5', linestyle='--')
force.set(xlabel='t in s', title='pull of the rod / weight')

plt.show()

# The published values.

K = 1.8540746773        # Abramowitz and Stegun, table 17.1, m = 1/2
assert abs(period - 4*sqrt(1/9.81)*K) < 1e-8
assert abs(pull.max()/9.81 - 3) < 1e-4
assert motion.largest_residual < 1e-12

# %%
# The equations run in this page. Move a slider to change the start.

report(pendulum, {x: 1, y: 0, x.diff(): 0, y.diff(): 0},
       {m: 1, g: 9.81, l: 1}, title='A pendulum in x and y',
       points={'bob': (x, y)}, lines=[((0, 0), (x, y))])
