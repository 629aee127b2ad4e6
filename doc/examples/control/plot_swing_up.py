"""
Swing-up of a pole on a cart
============================

A pole hangs from a cart. A motor drives the cart, and swings the pole up into
its upper position of rest within 2 s, with the least effort
:math:`\\int F^2\\,dt`. This is the example of M. Kelly, *An introduction to
trajectory optimization*, SIAM Review 59 (2017) 849-904.

==================  ====================================================
constants           cart ``m1`` = 1 kg; pole ``m2`` = 0.3 kg, concentrated
                    at its end, ``l`` = 0.5 m; ``g`` = 9.81 m/s²
coordinates         ``x`` of the cart in m; angle ``theta`` of the pole in
                    rad, zero where it hangs
speeds              their derivatives
control             force ``F`` on the cart in N, at most 20 N
start, end          at rest; the cart moves by 1 m and stays within 2 m
==================  ====================================================

:func:`~sympy_constrained.optimal.optimal_motion` finds a force that is linear
in each of 80 intervals. From the initial guess, a straight line without force,
this takes less than a second. The accelerations obey the equations at all
nodes, so a simulation with this force arrives at the same place.

Collocation of first order by Hermite and Simpson, with equations written by
hand, converges to a cost of 58.8077 N² s.

"""

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos, pi, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import simulate
from sympy_constrained.optimal import optimal_motion
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

m1, m2, l, g = symbols('m1 m2 l g')
x, theta, F = dynamicsymbols('x theta F')
v, omega = x.diff(), theta.diff()
cart = UdwadiaKalabaMethod(
    (m1 + m2)*v**2/2 + m2*l*v*omega*cos(theta) + m2*l**2*omega**2/2
    + m2*g*l*cos(theta), [x, theta], generalized_forces=[F, 0])

best = optimal_motion(
    cart, F**2, 2, {x: 0, theta: 0, v: 0, omega: 0},
    {x: 1, theta: pi, v: 0, omega: 0}, [F],
    bounds={F: (-20, 20), x: (-2, 2)}, intervals=80,
    constants={m1: 1, m2: 0.3, l: 0.5, g: 9.81})
motion = simulate(best.equations, 2, best.motion.x[0], rtol=1e-10, atol=1e-12,
                  t_eval=201)

# The picture: the cart and the pole every 0.08 s, force and states.

plt.style.use('sympy_constrained.plotting.paper')
figure, axes = plt.subplot_mosaic(
    [['scene', 'F'], ['scene', 'angle'], ['scene', 'x']], figsize=(6.5, 3.4),
    layout='constrained', width_ratios=[1.25, 1])
scene = axes['scene']
tip = (x + l*sin(theta), -l*cos(theta))
bodies = {'points': {'cart': (x, 0), 'pole': tip}, 'lines': [((x, 0), tip)]}
plot_snapshots(motion, times=26, ax=scene, **bodies)
scene.axhline(0, color='0.6', linewidth=0.8, zorder=0)
scene.set_title('dark is late')
for name, t, values, text in (
        ('F', best.motion.t, best[F], 'force in N'),
        ('angle', motion.t, motion[theta], r'$\theta$ in rad'),
        ('x', motion.t, motion[x], '$x$ in m')):
    axes[name].plot(t, values)
    axes[name].axhline(0, color='0.6', linewidth=0.8, zorder=0)
    axes[name].set_ylabel(text)
axes['x'].set_xlabel('$t$ in s')

plt.show()

assert abs(best.cost - 58.8077) < 1e-3
assert np.abs(motion.x[-1] - [1, np.pi, 0, 0]).max() < 1e-6
assert best.error < 1e-8

print(best)

# %%
# The equations run in this page. Move a slider to change the start.

report(best.equations, best.motion.x[0], title='Swing-up', **bodies)
