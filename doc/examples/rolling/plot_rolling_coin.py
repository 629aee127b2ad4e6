"""
A coin on a slope, upright or free to tilt
==========================================

A spinning coin that rolls on a slope does not run down. It drifts sideways,
like the skate of :doc:`../nonholonomic/plot_knife_edge`: half of the time its
heading points uphill, and it loses on the way up what it gains on the way
down. Textbooks keep the coin perpendicular to the slope. A real coin tilts. A
fast coin stays upright within ten degrees, but drifts eight times as fast,
because small tilts in phase with the heading add up.

==================  ====================================================
constants           mass ``m`` = 7.5 g, radius ``r`` = 11.6 mm, ``g`` =
                    9.81 m/s², slope ``alpha`` = 2°
coordinates         ``x`` down the slope and ``y`` across it, in m: contact
                    of the upright coin, centre of the other; ``phi``
                    heading, ``beta`` tilt, ``psi`` rolling angle, in rad
speeds              of the upright coin the derivatives; of the other
                    ``w1``, ``w2``, ``w3``: angular velocity in the axes of
                    heading, axle and normal, in rad/s; ``vx``, ``vy``
inputs              none
start               at rest but for ``w`` = 35 rad/s about the normal
==================  ====================================================

*Upright*, the coin runs on a cycloid (N. A. Lemos, *Complete inequivalence of
nonholonomic and vakonomic mechanics: rolling coin on an inclined plane*,
arXiv:2105.02113):

.. math::

   x = \\frac{g\\sin\\alpha}{3 w^2}\\sin^2 wt, \\qquad
   y = \\frac{g\\sin\\alpha}{3 w^2}\\left(wt - \\tfrac12\\sin 2wt\\right).

*Free to tilt*, for a small slope and small tilt, its equations are

.. math::

   \\ddot\\beta = \\frac{4g}{5r}(\\beta + \\alpha\\sin wt)
   - \\frac{w^2}{5}\\beta + \\frac65\\,w\\,w_2, \\qquad
   \\dot w_2 = \\frac{2g}{3r}\\,\\alpha\\cos wt - \\frac23\\,w\\dot\\beta .

Together they form an oscillator of the frequency :math:`\\sqrt{w^2 - w_c^2}`,
so the coin spins upright only above :math:`w_c^2 = 4g/5r` (A. J. and K. T.
McDonald, *The rolling motion of a disk on a horizontal plane*, arXiv
physics/0008227). The slope excites it with the frequency w; its response
:math:`\\beta = -2\\alpha\\sin wt` gives the drift

.. math::

   \\frac{g\\,\\alpha}{3 w} + \\frac53\\,r w\\,\\alpha =
   \\frac{g\\,\\alpha}{3 w}\\left(1 + \\frac{4 w^2}{w_c^2}\\right),

with the first part as before, and the second independent of g.

"""
from math import pi, radians, sin, sqrt

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos as Cos, sin as Sin, symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import CircularRim, RouthMethod, UdwadiaKalabaMethod
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The upright coin: a Lagrangian and two rolling conditions.

m, r, g, alpha = symbols('m r g alpha')
x, y, phi, beta, psi = dynamicsymbols('x y phi beta psi')
L = (m*(x.diff()**2 + y.diff()**2) + m*r**2/2*psi.diff()**2
     + m*r**2/4*phi.diff()**2)/2 + m*g*Sin(alpha)*x
upright = RouthMethod(L, [x, y, phi, psi], nonhol_coneqs=[
    x.diff() - r*psi.diff()*Cos(phi), y.diff() - r*psi.diff()*Sin(phi)])

# The free coin: three turns, and a contact point without velocity.

q = [x, y, phi, beta, psi]
u = w1, w2, w3, vx, vy = dynamicsymbols('w1:4 v_x v_y')
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)
yaw = N.orientnew('yaw', 'axis', [phi, N.z])
tilt = yaw.orientnew('tilt', 'axis', [beta, yaw.x])
coin = tilt.orientnew('coin', 'axis', [psi, tilt.y])
coin.set_ang_vel(N, w1*tilt.x + w2*tilt.y + w3*tilt.z)
C = O.locatenew('C', x*N.x + y*N.y + r*Cos(beta)*N.z)
C.set_vel(N, vx*N.x + vy*N.y - r*Sin(beta)*w1*N.z)
P = C.locatenew('P', -r*tilt.z)
P.set_vel(N, C.vel(N) + coin.ang_vel_in(N).cross(-r*tilt.z))
body = RigidBody('coin', C, coin, m, (
    m*r**2/4*inertia(tilt, 1, 2, 1), C))
weight = m*g*(Sin(alpha)*N.x - Cos(alpha)*N.z)
tilting = UdwadiaKalabaMethod(
    N, q, u, [x.diff() - vx, y.diff() - vy, beta.diff() - w1,
              phi.diff()*Sin(beta) + psi.diff() - w2,
              phi.diff()*Cos(beta) - w3],
    velocity_constraints=[(P, N.x), (P, N.y)], bodies=[body],
    forcelist=[(C, weight)])

# The motions. In `forced` the coin starts with the forced tilting alone,
# without a free oscillation.

radius, slope, rate = 0.0116, radians(2), 35
numbers = {m: 0.0075, r: radius, g: 9.81, alpha: slope}
t_end = 8*2*pi/rate
exact = dict(rtol=1e-11, atol=1e-13)
held = simulate(upright, t_end, {
    **dict.fromkeys(upright.equations_of_motion.states, 0), phi.diff(): rate},
    constants=numbers, t_eval=801, **exact)
equations = compile_equations(tilting, numbers)


def spin(start, t_end, compiled=equations):
    state = consistent_state(compiled, start, fixed=[*q, w1, w2, w3], fill=0)
    return simulate(compiled, t_end, state, t_eval=801, **exact)


free = spin({w3: rate}, t_end)
rates = np.array([29, 35, 45, 60])
small = radians(0.3)
gentle = compile_equations(tilting, {**numbers, alpha: small})
drifts = []
for w in rates:
    forced = spin({w1: -2*small*w, w3: w}, 8*2*pi/w, gentle)
    drifts.append(forced[y][-1]/forced.t[-1])

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.2), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(1.2, 1, 1),
                           height_ratios=(1.3, 1))
sketch = figure.add_subplot(grid[0, 0], projection='3d')
plot_snapshots(free, tilting, times=[0.05], trails=False, ax=sketch,
               surfaces=[CircularRim(coin, C, r, tilt.y)], legend=False)
paths = figure.add_subplot(grid[1, :2])
paths.plot(1e3*free[y], 1e3*free[x], color='C1', linewidth=1.2,
           label='free to tilt')
paths.plot(1e3*held[y], 1e3*held[x], color='k', linewidth=2, label='upright')
paths.set(xlabel='y across the slope, in mm', ylabel='x, in mm',
          xlim=(-2, 44), ylim=(7.5, -1.5),
          title='paths during eight turns')
paths.set_aspect('equal')
paths.legend(loc='lower right')

near = figure.add_subplot(grid[0, 1])
near.plot(1e3*held[y], 1e3*held[x], color='k')
near.set(xlabel='y, in mm', ylabel='x, in mm', ylim=(0.2, -0.05),
         title='upright: not to scale')

angles = figure.add_subplot(grid[0, 2])
angles.plot(free.t, np.degrees(free[beta]), color='C1')
angles.plot(held.t, 0*held.t, color='k')
angles.set(xlabel='t in s', title=r'tilt $\beta$ in degrees')

ratio = figure.add_subplot(grid[1, 2])
critical = sqrt(4*9.81/(5*radius))
curve = np.linspace(critical, 65, 60)
ratio.plot(curve, 1 + 4*(curve/critical)**2, color='C1')
ratio.plot(rates, np.array(drifts)/(9.81*small/(3*rates)), 'o', color='C1')
ratio.plot([critical, 65], [1, 1], color='k')
ratio.axvline(critical, color='0.5', linestyle='--')
ratio.text(critical + 1, 17, '$w_c$')
ratio.set(xlabel='w in rad/s', ylim=(0, 24), yticks=(1, 5, 10, 20),
          title='drift / drift upright')

plt.show()

# The cycloid, and the friction that holds the coin back by a third.

t, size = held.t, 9.81*sin(slope)/(3*rate**2)
assert np.abs(held[x] - size*np.sin(rate*t)**2).max() < 1e-10
assert np.abs(held[y] - size*(rate*t - np.sin(2*rate*t)/2)).max() < 1e-10
along = (held.multipliers[:, 0]*np.cos(held[phi])
         + held.multipliers[:, 1]*np.sin(held[phi]))
assert np.abs(along + 0.0075*9.81*sin(slope)*np.cos(rate*t)/3).max() < 1e-9

# The free coin: its drift in the limit of small slopes, the critical rate in
# its linear equations, and the energy.

known = 9.81*small/(3*rates) + 5/3*radius*rates*small
assert np.abs(np.array(drifts)/known - 1).max() < 2e-3
A = tilting.acceleration.jacobian([beta, w2, w1]).subs(
    {vx: 0, vy: 0, w1: 0, w2: 0, alpha: 0, beta: 0, phi: 0}).doit()
squared = -(A[0, 0] + A[0, 1]*A[1, 2]).subs({
    w3: rate, g: 9.81, r: radius})
assert abs(squared - rate**2 + critical**2) < 1e-9
assert free.largest_residual < 1e-12
assert np.abs(free.energy_error).max() < 1e-12

# %%
# The equations run in this page. Move a slider to change the start.

report(tilting, free.x[0], numbers, title='A coin on a slope')
