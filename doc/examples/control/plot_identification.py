"""
Fit a damped double pendulum to noisy measurements
==================================================

Two rods hang from each other, with friction in both joints. Only the angle of
the lower one is measured, with an error of 3 degrees, and a quarter of the
values is lost. Gravity, both coefficients of friction and the unknown initial
speed of the upper rod are wanted.

==================  ====================================================
constants           rods of 1 kg and 0.5 m; gravity ``g``, friction
                    ``c1``, ``c2``
measured            angle ``q2`` of the lower rod at 201 times in 5 s
unknown             ``g``, ``c1``, ``c2``, initial rate of ``q1``
==================  ====================================================

:func:`~sympy_constrained.numeric.identify` uses the exact derivatives of the
motion, so a few integrations are enough. The band is that of two standard
deviations of the predicted, not measured, angle of the upper rod.

The true values lie within three standard deviations of the estimates.
"""

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import (
    Measurement, compile_equations, identify, simulate)
from sympy_constrained.plotting import plot_fit
from sympy_constrained.report import report

m, l, g, c1, c2 = symbols('m l g c1 c2')
q1, q2 = dynamicsymbols('q1 q2')
w1, w2 = q1.diff(), q2.diff()
lagrangian = m*l**2*(4*w1**2 + w2**2 + 3*w1*w2*cos(q1 - q2))/6 + (
    m*g*l*(3*cos(q1) + cos(q2))/2)
rods = UdwadiaKalabaMethod(
    lagrangian, [q1, q2],
    nonideal_forces=[-c1*w1 - c2*(w1 - w2), -c2*(w2 - w1)])

true = {m: 1, l: 0.5, g: 9.81, c1: 0.05, c2: 0.02}
equations = compile_equations(rods, true)
motion = simulate(equations, 5, [0.4, 0.9, 1.5, 0], t_eval=201)

rng = np.random.default_rng(2)
angle = motion[q2] + 0.05*rng.normal(size=201)
angle[rng.random(201) < 0.25] = np.nan

fit = identify(
    equations.with_values({g: 9, c1: 0.1, c2: 0.1}),
    Measurement(motion.t, {q2: angle}, [0.4, 0.9, 1, 0]),
    [g, c1, c2, w1], deviations={q2: 0.05})

found = fit.motions[0]
slopes = found.dx[:, 0]                          # of q1 by the unknowns
band = 2*np.sqrt(np.einsum('ti,ij,tj->t', slopes, fit.covariance, slopes))

figure = plot_fit(fit, {'t': 's'})
upper, lower = figure.axes
upper.plot(found.t, found.x[:, 0], '--', color='#D55E00',
           label='predicted $q_1$')
upper.fill_between(found.t, found.x[:, 0] - band, found.x[:, 0] + band,
                   color='#D55E00', alpha=0.3)
upper.plot(motion.t, motion[q1], 'k:', linewidth=1, label='true $q_1$')
upper.set(ylabel='angles $q_1$, $q_2$ in rad', ylim=(-1.3, 1.1))
upper.legend(ncols=4, loc='lower right')

plt.show()

wanted = [9.81, 0.05, 0.02, 1.5]
assert np.all(np.abs(fit.values - wanted) < 3*fit.deviation)
assert 0.8 < np.std(fit.residuals) < 1.2

print(fit)
print(fit.evaluations, 'integrations')

# %%
# The equations run in this page. Move a slider to change the start.

knee = (l*sin(q1), -l*cos(q1))
tip = (knee[0] + l*sin(q2), knee[1] - l*cos(q2))
report(rods, motion.x[0], true, lines=[((0, 0), knee), (knee, tip)],
       points={'tip': tip}, title='A damped double pendulum')
