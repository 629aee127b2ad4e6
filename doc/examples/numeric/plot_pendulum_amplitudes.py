"""
Period of a pendulum versus amplitude
=====================================

:func:`.plot_sweep` draws many runs: whole histories coloured by the parameter,
or one number of each run over it. :func:`.plot_phase` draws the phase plane.
The pendulum is a particle in Cartesian coordinates on a rod, so every run is
integrated with a constraint.

==================  ====================================================
constants           length ``l`` = 1 m, mass ``m`` = 1 kg, ``g`` = 9.81
                    m/s²
coordinates         ``x``, ``y`` of the particle, y upwards, in m
speeds              their rates
inputs              none
start               at rest, at amplitudes from 10° to 170°
==================  ====================================================

The period is

.. math::

   T = 4\\sqrt{l/g}\\;K\\!\\left(\\sin^2\\tfrac{\\theta_0}{2}\\right)

with the complete elliptic integral of the first kind of parameter
:math:`\\sin^2(\\theta_0/2)`; at 90° it is 1.18034 times that of small
oscillations (L. D. Landau and E. M. Lifshitz, *Mechanics*, 3rd ed., Pergamon
1976, § 11, problem 1).

"""
from math import cos, pi, radians, sin, sqrt

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ellipk
from sympy import symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_phase, plot_sweep
from sympy_constrained.report import report

# The model and its runs.

m, g, l = symbols('m g l', positive=True)
x, y = dynamicsymbols('x y')
pendulum = compile_equations(UdwadiaKalabaMethod(
    m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
    hol_coneqs=[x**2 + y**2 - l**2]), {m: 1, g: 9.81, l: 1})


def swing(degrees):
    """The motion from rest at an amplitude."""
    at = radians(degrees)
    return simulate(pendulum, 6, [sin(at), -cos(at), 0, 0], t_eval=601)


runs = [({'amplitude in °': degrees}, swing(degrees))
        for degrees in range(10, 171, 20)]


def angle(motion):
    """Angle of the rod in degrees."""
    return np.degrees(np.arctan2(motion[x], -motion[y]))


def period(motion):
    """Period, from the times at which the particle passes the middle."""
    place = motion[x]
    k = np.flatnonzero(place[:-1]*place[1:] < 0)
    times = motion.t[k] - place[k]*np.diff(motion.t)[k]/np.diff(place)[k]
    return 4*times[0] if len(times) == 1 else 2*np.diff(times).mean()


# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure, axes = plt.subplots(1, 3, figsize=(6.5, 2.3), layout='constrained')
figure.get_layout_engine().set(w_pad=0.15)
plot_sweep(runs, angle, 'histories', ax=axes[0])
axes[0].set(xlabel='t in s', ylabel='angle in °', title='histories')
plot_sweep(runs, period, ax=axes[1])
amplitudes, small = np.linspace(1, 172), 2*pi/sqrt(9.81)
known = small*2/pi*ellipk(np.sin(np.radians(amplitudes/2))**2)
axes[1].plot(amplitudes, known, 'k--', linewidth=1,
             label='elliptic integral')
axes[1].set(ylabel='period in s', ylim=(1.8, 6),
            title='one number of each')
axes[1].legend(loc='upper left')
plot_phase(runs[4][1], x, ax=axes[2])
axes[2].set(xlabel='$x$ in m', ylabel=r'$\dot{x}$ in m/s',
            title='amplitude 90°')

plt.show()

# The known periods.

assert abs(period(runs[4][1])/small - 1.18034) < 1e-4
for parameters, motion in runs:
    half = radians(parameters['amplitude in °'])/2
    assert abs(period(motion)/(small*2/pi*ellipk(sin(half)**2)) - 1) < 1e-3
    assert motion.largest_residual < 1e-12

# %%
# The equations run in this page. Move a slider to change the start.

report(pendulum, runs[4][1].x[0], points={'bob': (x, y)},
       lines=[((0, 0), (x, y))], title='A pendulum')
