"""
The heavy top in quasi-velocities
=================================

Lagrange's top is a symmetric body with its tip at rest. Euler's angles
:math:`\\varphi, \\theta, \\psi` are good coordinates, but their rates are poor
velocities. The components of the angular velocity in axes that follow the axle
without spinning are better; they are not derivatives of coordinates. The
linear mapping uses them with the Lagrangian, and the equations are as short as
Euler's:

.. math::

   A\\,\\dot u_1 &= A u_2^2\\cot\\theta - J u_3 u_2 + m g l\\sin\\theta \\\\
   A\\,\\dot u_2 &= J u_3 u_1 - A u_1 u_2\\cot\\theta \\\\
   J\\,\\dot u_3 &= 0 .

==================  ====================================================
constants           mass ``m`` = 0.5 kg, mass centre ``l`` = 0.06 m above
                    the tip; moments of inertia about the tip ``A`` =
                    0.0024, axial ``J`` = 0.0004 kg m²; ``g`` = 9.81 m/s²
coordinates         ``phi`` (precession), ``theta`` (tilt), ``psi`` (spin),
                    in rad
speeds              ``u1`` = θ', ``u2`` = φ' sin θ, ``u3`` = ψ' + φ' cos θ,
                    in rad/s
inputs              none
start               tilt 0.5 rad, :math:`u_3` = 150 rad/s, no nutation; a
                    precession of 0, 4, -6 rad/s, or a steady one
==================  ====================================================

For the theory see H. Goldstein, *Classical Mechanics*, section 5.7. The tilt
swings between two angles, where :math:`z = \\cos\\theta` is a root of

.. math::

   f(z) = (1 - z^2)(\\alpha - \\beta z) - (b - a z)^2, \\qquad
   \\dot z^2 = f(z), \\qquad \\beta = \\frac{2 m g l}A,

with :math:`a = J u_3/A`, the angular momentum :math:`b A` about the vertical,
and :math:`A\\alpha` twice the energy without the spin energy. With the roots
:math:`z_1 < z_2 < 1 < z_3` the period of the nutation is

.. math::

   T = \\frac{4 K(k)}{\\sqrt{\\beta(z_3 - z_1)}}, \\qquad
   k^2 = \\frac{z_2 - z_1}{z_3 - z_1} .

The path of the axle has cusps, waves or loops. Two precessions are steady, a
slow and a fast one: the roots of :math:`A\\Omega^2\\cos\\theta - J u_3\\Omega
+ m g l = 0`.

"""
from math import cos, pi, sin, sqrt

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ellipk
from sympy import cos as Cos, symbols
from sympy.physics.mechanics import (
    Lagrangian, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import LinearMappingMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model. The frame D follows the axle, the body B spins in it.

m, g, l, A, J = symbols('m g l A J')
phi, theta, psi = q = dynamicsymbols('phi theta psi')
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)
C = N.orientnew('C', 'Axis', (phi, N.z))
D = C.orientnew('D', 'Axis', (theta, C.x))
B = D.orientnew('B', 'Axis', (psi, D.z))
G = O.locatenew('G', l*D.z)
G.v2pt_theory(O, N, D)
central = A - m*l**2
body = RigidBody('top', G, B, m, (inertia(D, central, central, J), G))
body.potential_energy = m*g*l*Cos(theta)
spin = B.ang_vel_in(N)
top = LinearMappingMethod(
    Lagrangian(N, body), q, us=dynamicsymbols('u1:4'),
    mapping=[spin.dot(axis) for axis in D])
u1, u2, u3 = top.u

# The motions, from one tilt with different precessions.

values = {m: 0.5, g: 9.81, l: 0.06, A: 0.0024, J: 0.0004}
equations = compile_equations(top, values)
weight, tilt = 0.5*9.81*0.06, 0.5


def level(t, x):
    return x[3]


def run(precession, t_end=1.05):
    return simulate(
        equations, t_end, {phi: 0, theta: tilt, psi: 0, u1: 0,
                           u2: precession*sin(tilt), u3: 150},
        rtol=1e-11, atol=1e-13, t_eval=601, events=level)


starts = {'cusps': 0, 'waves': 4, 'loops': -6}
motions = {name: run(start) for name, start in starts.items()}
rates = np.roots([0.0024*cos(tilt), -0.0004*150, weight])
fast, slow = (run(rate, 0.8) for rate in rates)

# The picture: the top, the path of its axle seen from above on the unit
# sphere, and the tilt.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.8), layout='constrained')
grid = figure.add_gridspec(2, 6, height_ratios=(1.25, 1))
ring = np.linspace(0, 2*pi, 60)[:, None]
plot_snapshots(motions['waves'], top, times=[0, 0.2, 0.4], frame=N, origin=O,
               lines=[(O, G)], legend=False, ax=figure.add_subplot(
                   grid[1, :2], projection='3d'))
tilts = figure.add_subplot(grid[1, 2:])
for k, (name, motion) in enumerate(motions.items()):
    view = figure.add_subplot(grid[0, 2*k:2*k + 2])
    out = np.sin(motion[theta])
    for limit in motion[theta].min(), motion[theta].max():
        view.plot(sin(limit)*np.cos(ring), sin(limit)*np.sin(ring),
                  color='0.8', linewidth=1)
    view.plot(out*np.sin(motion[phi]), -out*np.cos(motion[phi]),
              color=f'C{k + 1}', linewidth=1.2)
    view.plot(0, 0, 'k+')
    view.set(title=f"{name}, $\\varphi'_0$ = {starts[name]} rad/s",
             xlim=(-1, 1), ylim=(-1, 1), xticks=(), yticks=())
    view.set_aspect('equal')
    tilts.plot(motion.t, np.degrees(motion[theta]), color=f'C{k + 1}',
               label=name)
tilts.plot(slow.t, np.degrees(slow[theta]), 'k', linewidth=1, label='steady')
tilts.set(xlabel='t in s', title=r'tilt $\theta$ in °', xlim=(0, 0.8),
          ylim=(27, 78))
tilts.legend(loc='upper center', ncols=4)

plt.show()

# Turning points: the roots of f. Period: the elliptic integral.

a, beta = 0.0004*150/0.0024, 2*weight/0.0024
for name, motion in motions.items():
    start, z = starts[name], cos(tilt)
    b = start*sin(tilt)**2 + a*z
    alpha = (start*sin(tilt))**2 + beta*z
    z1, z2, z3 = np.sort(np.roots(
        [beta, -alpha - a**2, 2*a*b - beta, alpha - b**2]))
    turning = [event.x[1] for event in motion.events[:2]]
    assert np.abs(np.sort(np.cos(turning)) - [z1, z2]).max() < 1e-9
    period = 4*ellipk((z2 - z1)/(z3 - z1))/sqrt(beta*(z3 - z1))
    assert abs(motion.events[1].t - period) < 1e-8
    assert np.abs(motion[u3] - 150).max() == 0
    assert np.abs(motion.energy_error).max() < 1e-9

# Euler's equations in the axes that do not spin; steady precessions.

    sine, cot = np.sin(motion[theta]), 1/np.tan(motion[theta])
    one = motion[u2]**2*cot - a*motion[u2] + beta/2*sine
    two = a*motion[u1] - motion[u1]*motion[u2]*cot
    found = equations.accelerations(motion.t, motion.x)
    assert np.abs(found - np.transpose([one, two, 0*one])).max() < 1e-8
for rate, motion in zip(rates, (fast, slow)):
    assert np.ptp(motion[theta]) < 1e-10
    assert np.abs(motion[phi] - rate*motion.t).max() < 1e-8
assert np.abs(rates - [22.19048533, 6.29686286]).max() < 1e-8
assert not top.space.is_integrable and top.is_holonomic

# %%
# The equations run in this page. Move a slider to change the start.

report(top, {phi: 0, theta: tilt, psi: 0, u1: 0, u2: 0, u3: 150}, values,
       speed=0.5, title='A heavy top', frame=N, origin=O, lines=[(O, G)])
