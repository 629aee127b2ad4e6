"""
A rocket sled that burns fuel
=============================

A sled on one blade runs ahead and turns, but does not slip sideways. Its
rocket burns fuel at the mass centre and expels it backwards; a motor turns the
sled with a constant torque. Mass and moment of inertia decrease in the same
proportion.

==================  ====================================================
constants           initial mass ``m0`` = 80 kg and moment of inertia
                    ``I0`` = 20 kg m², rate of burning ``beta`` = 0.25 1/s,
                    speed of the exhaust ``c`` = 12 m/s, torque ``tau`` =
                    6 N m
coordinates         ``x``, ``y`` of the blade, which is below the mass
                    centre, in m; ``phi`` heading, from x to y, in rad
speeds              ``v`` along the blade and ``s`` across it, in m/s;
                    ``w`` = phi', in rad/s
inputs              :math:`m = m_0 e^{-\\beta t}`,
                    :math:`I = I_0 e^{-\\beta t}`
start               at the origin with ``v`` = 1, ``phi`` = 0, ``w`` = -0.3
==================  ====================================================

Leaving mass carries away its velocity and rotation. Meshchersky's equations,
:math:`m\\dot v = -\\dot m c` and :math:`I\\dot\\omega = \\tau`, contain no
rate of momentum. So

.. math::

   v = v_0 + c\\ln\\frac{m_0}{m}, \\qquad
   \\omega = \\omega_0
   + \\frac{\\tau}{I_0\\beta}\\left(e^{\\beta t} - 1\\right)

(K. E. Tsiolkovsky's formula), and the snow acts on the blade with the side
force :math:`\\lambda = m v\\omega`. ``KanesMethod`` uses the rates of momentum
:math:`(m v)^\\cdot` and of :math:`I\\omega`, as if the lost mass were at rest
and not rotating: the sled keeps all its momentum and becomes much too fast.
:func:`.momentum_loads` corrects this.

"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import CubicSpline
from sympy import cos, exp, sin, symbols
from sympy.physics.mechanics import (
    KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import GibbsAppellMethod, momentum_loads, thrust
from sympy_constrained.numeric import simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model, in the shape of KanesMethod.

m0, I0, beta, c, tau = symbols('m0 I0 beta c tau')
t = dynamicsymbols._t
x, y, phi, v, s, w = dynamicsymbols('x y phi v s w')
m, I = m0*exp(-beta*t), I0*exp(-beta*t)
N, O, G = ReferenceFrame('N'), Point('O'), Point('G')
O.set_vel(N, 0)
blade = N.orientnew('blade', 'axis', [phi, N.z])
blade.set_ang_vel(N, w*N.z)
G.set_pos(O, x*N.x + y*N.y)
G.set_vel(N, v*blade.x + s*blade.y)
sled = RigidBody('sled', G, blade, m, (inertia(blade, 0, 0, I), G))
loads = [thrust(G, m.diff(t), -c*blade.x), (blade, tau*N.z)]
model = dict(frame=N, q_ind=[x, y, phi], u_ind=[v, w], u_dependent=[s],
             kd_eqs=[x.diff() - v*cos(phi) + s*sin(phi),
                     y.diff() - v*sin(phi) - s*cos(phi), phi.diff() - w],
             velocity_constraints=[s])

# The changed name, and SymPy's class without and with the loads.

method = GibbsAppellMethod(**model, bodies=[sled], forcelist=loads)
plain, corrected = KanesMethod(**model), KanesMethod(**model)
plain.kanes_equations([sled], loads)
corrected.kanes_equations([sled], loads + momentum_loads([sled], N))

start = {x: 0, y: 0, phi: 0, v: 1, s: 0, w: -0.3}
numbers = {m0: 80, I0: 20, beta: 0.25, c: 12, tau: 6}


def run(model):
    return simulate(model, 4, start, constants=numbers, t_eval=401,
                    rtol=1e-11, atol=1e-12)


motion, at_rest, agreed = map(run, (method, plain, corrected))

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(1, 1.15, 1))
sketch = figure.add_subplot(grid[0, 0])
hull = [x*N.x + y*N.y + i*blade.x + j*blade.y for i, j in (
    (-1.1, -0.32), (0.7, -0.32), (1.25, 0), (0.7, 0.32), (-1.1, 0.32),
    (-1.1, -0.32))]
plot_snapshots(motion, method, times=[0, 1.5, 2.4], lines=[hull], ax=sketch,
               trails=False, legend=False)
sides = figure.add_subplot(grid[1, 0])
sides.plot(motion.t, motion.multipliers[:, 0], color='C0')
sides.plot(motion.t[::40], (
    80*np.exp(-motion.t/4)*motion[v]*motion[w])[::40], 'o', mfc='none',
    color='k', markersize=4, label=r'$m v \omega$')
sides.set(xlabel='t in s', title='side force of the snow in N')
sides.legend()
paths = figure.add_subplot(grid[:, 1])
for name, run, style in (
        ('GibbsAppellMethod', motion, dict(color='C0', linewidth=3)),
        ('KanesMethod', at_rest, dict(color='C1', linewidth=1.5)),
        ('the same with\nmomentum_loads', agreed,
         dict(color='k', linestyle='--', linewidth=1))):
    paths.plot(run[x], run[y], label=name, **style)
paths.plot(0, 0, 'ko', markersize=5, zorder=3)
paths.annotate('start', (0, 0), (6, 6), textcoords='offset points')
paths.set(xlabel='x in m', ylabel='y in m', xlim=(-2, 27), ylim=(-4, 34),
          title='paths during 4 s')
paths.set_aspect('equal')
paths.legend(loc='upper left')
speeds = figure.add_subplot(grid[0, 2])
turning = figure.add_subplot(grid[1, 2])
exact = {v: 1 + 3*motion.t, w: -0.3 + 1.2*(np.exp(motion.t/4) - 1)}
for panel, state, title in ((speeds, v, 'speed v in m/s'),
                            (turning, w, r'turning $\omega$ in rad/s')):
    panel.plot(motion.t, motion[state], color='C0', linewidth=2)
    panel.plot(motion.t, at_rest[state], color='C1')
    panel.plot(motion.t[::40], exact[state][::40], 'o', mfc='none',
               color='k', markersize=4, label='closed form')
    panel.set(title=title)
speeds.legend()
turning.set(xlabel='t in s')

plt.show()

# The closed form: speeds, heading, the path by quadrature and the side force,
# by both classes. Mass at rest would leave (v0 + c) e^(beta t) - c.

heading = -1.5*motion.t + 4.8*(np.exp(motion.t/4) - 1)
for run in motion, agreed:
    for state, expected in exact.items():
        assert np.abs(run[state] - expected).max() < 1e-8
    assert np.abs(run[phi] - heading).max() < 1e-8
    for state, component in ((x, np.cos), (y, np.sin)):
        expected = CubicSpline(motion.t, exact[v]*component(
            heading)).antiderivative()(motion.t)
        assert np.abs(run[state] - expected).max() < 1e-6
assert np.abs(motion.multipliers[:, 0] - 80*np.exp(-motion.t/4)
              * exact[v]*exact[w]).max() < 1e-6
assert np.abs(at_rest[v] - 13*np.exp(motion.t/4) + 12).max() < 1e-8

# %%
# The equations run in this page. Move a slider to change the start.

report(method, start, numbers, lines=[hull], title='A rocket sled')
