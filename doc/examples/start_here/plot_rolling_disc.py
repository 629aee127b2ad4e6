"""
A disc rolling in a circle
==========================

A thin disc rolls without slipping on a horizontal plane. If lean, radius and
speed match, it runs on a circle for ever, leaning inwards at a constant angle.
The rolling conditions are two velocity components of the point of the disc
that touches the ground, so their multipliers are the friction force.

==================  ====================================================
constants           radius ``r`` = 0.3 m, mass ``m`` = 2 kg,
                    gravity ``g`` = 9.81 m/s², along -z
coordinates         ``q1`` yaw, ``q2`` lean from the upright, ``q3`` spin, in
                    rad; ``x``, ``y`` of the centre, in m
speeds              ``u1``, ``u2``, ``u3``: angular velocity in the leaning
                    axes, in rad/s; ``u4``, ``u5``: x', y', in m/s
inputs              none
start               lean 20°, centre on a circle of radius ``b`` = 0.5 m
==================  ====================================================

The disc turns about the vertical at the rate :math:`\\Omega` with

.. math::

   \\Omega^2 = \\frac{4 g\\tan\\theta}{6 b + r\\sin\\theta}

where :math:`\\theta` is the lean (E. J. Routh, *Advanced Dynamics of a System
of Rigid Bodies*, 1905, art. 244; K. T. McDonald, *The rolling motion of a disk
on a horizontal plane*, arXiv physics/0008227, with
:math:`\\theta = 90° - \\alpha`). The friction is centripetal,
:math:`m b\\,\\Omega^2`. Started with another lean, the disc nods.

"""
from math import cos, pi, sin, sqrt, tan

import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy import cos as Cos, sin as Sin
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import (
    CircularRim, PlaneSurface, UdwadiaKalabaMethod)
from sympy_constrained.models import Model
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# Frames: yaw, lean, spin. The speeds are not derivatives of coordinates.

r, m, g = symbols('r m g')
q1, q2, q3, x, y = q = dynamicsymbols('q1:4 x y')
u1, u2, u3, u4, u5 = u = dynamicsymbols('u1:6')
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)
yaw = N.orientnew('yaw', 'axis', [q1, N.z])
lean = yaw.orientnew('lean', 'axis', [q2, yaw.x])
disc = lean.orientnew('disc', 'axis', [q3, lean.y])
disc.set_ang_vel(N, u1*lean.x + u2*lean.y + u3*lean.z)
kinematics = [q2.diff() - u1,
              q1.diff()*Sin(q2) + q3.diff() - u2,
              q1.diff()*Cos(q2) - u3,
              x.diff() - u4, y.diff() - u5]

# Body and load. The centre is r*cos(q2) above the ground.

centre = O.locatenew('C', x*N.x + y*N.y + r*Cos(q2)*N.z)
centre.set_vel(N, u4*N.x + u5*N.y - r*Sin(q2)*u1*N.z)
touch = centre.locatenew('P', -r*lean.z)
touch.set_vel(N, centre.vel(N) + disc.ang_vel_in(N).cross(-r*lean.z))
body = RigidBody('disc', centre, disc, m,
                 (m*r**2/4*inertia(lean, 1, 2, 1), centre))

# Rolling: a point and the directions in which it has no velocity.

method = UdwadiaKalabaMethod(
    N, q, u, kinematics, velocity_constraints=[(touch, N.x), (touch, N.y)],
    bodies=[body], forcelist=[(centre, -m*g*N.z)])

# Steady motion; the spin follows from the circle of the touching point.

theta, b = pi/9, 0.5
Omega = sqrt(4*9.81*tan(theta)/(6*b + 0.3*sin(theta)))
spin = -Omega*(b + 0.3*sin(theta))/0.3
steady = {q1: 0, q2: theta, q3: 0, x: 0, y: b, u1: 0,
          u2: Omega*sin(theta) + spin, u3: Omega*cos(theta), u4: 0, u5: 0}
equations = compile_equations(method, {r: 0.3, m: 2, g: 9.81})
free = [u4, u5]
fixed = [state for state in equations.states if state not in free]


def roll(guess, turns=1):
    start = consistent_state(equations, guess, fixed=fixed)
    return simulate(equations, turns*2*pi/Omega, start, rtol=1e-10,
                    atol=1e-12, t_eval=401, units=Model.of(method).units)


circle = roll(steady)
nodding = roll({**steady, q2: theta + 0.1}, turns=3)

# The picture. The multipliers are the friction along x and y.

lam1, lam2 = circle.multiplier_names
friction = lam1*N.x + lam2*N.y

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 4.4), layout='constrained')
grid = figure.add_gridspec(2, 2, height_ratios=(1.3, 1))
plot_snapshots(
    circle, method, times=3, ax=figure.add_subplot(grid[0, :],
                                                   projection='3d'),
    surfaces=[CircularRim(disc, centre, r, lean.y), PlaneSurface(N, O, N.z)],
    forces={'friction': (touch, friction)}, legend=False)
above = figure.add_subplot(grid[1, 0])
above.plot(nodding[x], nodding[y], '--', color='C1', linewidth=1,
           label='lean increased')
above.plot(circle[x], circle[y], color='C0', linewidth=2, label='steady')
above.set(xlabel='$x$ of the centre in m', ylabel='$y$ in m')
above.set_aspect('equal', adjustable='datalim')
above.legend(loc='lower left', bbox_to_anchor=(0, 1), ncols=2)
leaning = figure.add_subplot(grid[1, 1])
leaning.plot(nodding.t, np.degrees(nodding[q2]), '--', color='C1')
leaning.plot(circle.t, np.degrees(circle[q2]), color='C0', linewidth=2)
leaning.set(xlabel='$t$ in s', ylabel='lean $q_2$ in degrees')

plt.show()

# Routh's relation: the lean stays, the centre runs on its circle, and the
# friction is centripetal. The two loads are those of the two rows.

where = [load.location for load in method.constraint_loads()]
size = np.hypot(*circle.multipliers.T)
assert where == [touch, touch]
assert np.abs(circle[q2] - theta).max() < 1e-8
assert np.abs(np.hypot(circle[u4], circle[u5]) - b*Omega).max() < 1e-8
assert np.abs(circle.x[-1, 3:5] - circle.x[0, 3:5]).max() < 1e-7
assert np.abs(size - 2*b*Omega**2).max() < 1e-7
assert np.abs(nodding.energy_error).max() < 1e-7

# %%
# The equations run in this page. Move a slider to change the start.

report(method, {**steady, q2: theta + 0.1}, {r: 0.3, m: 2, g: 9.81},
       fixed=fixed, title='A disc rolling in a circle')
