"""
A skate with prescribed heading
===============================

A motor turns a skate on a slope at a constant rate, so its heading
:math:`\\psi = \\Omega t` is a function of time and not a coordinate. One row
remains. It contains time and is homogeneous in the velocities:

.. math::

   -\\dot x\\sin\\psi + \\dot y\\cos\\psi = 0, \\qquad
   u = \\dot x\\cos\\psi + \\dot y\\sin\\psi .

At every instant both fields are constant in the plane. So all torsion with
space indices is zero, and the row may look holonomic. It is not. With time as
index 0

.. math::

   T^2{}_{10} = \\dot\\psi, \\qquad T^1{}_{20} = -\\dot\\psi .

==================  ====================================================
constants           mass 1 kg; rate of turning ``Omega`` = 2 rad/s;
                    acceleration down the slope ``s`` = 2 m/s² (a slope of
                    12°)
coordinates         ``x`` down the slope, ``y`` across it, in m
speeds              ``u`` along the blade, in m/s
multiplier          reaction of the ice across the blade, in N
inputs              none
start               at the origin, blade down the slope, with 0.4 m/s
==================  ====================================================

The path drifts across the slope,

.. math::

   x = \\frac{u_0}{\\Omega}\\sin\\psi
   + \\frac{s}{2\\Omega^2}\\sin^2\\psi, \\qquad
   y = \\frac{u_0}{\\Omega}(1 - \\cos\\psi)
   + \\frac{s}{2\\Omega^2}\\left(\\psi - \\tfrac12\\sin 2\\psi\\right),

with the reaction :math:`\\lambda = m(\\dot\\psi u + s\\sin\\psi)`, whose first
term comes from the torsion. (If the skate turns freely and :math:`u_0 = 0`,
this is the skate of Ju. I. Neimark and N. A. Fufaev, *Dynamics of Nonholonomic
Systems*, 1972, shown in :doc:`../vakonomic/plot_skate_on_incline`.)

*Why the row is not holonomic.* A constraint :math:`f(x, y, t) = 0` would leave
a curve of positions at every time. Here the ends of motions with different
:math:`u_0` and :math:`s`, all from one position with one heading, fill an
area. For the derivation see :doc:`/theory/linear_mapping`.

"""
from math import pi

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import LinearMappingMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model.

t = dynamicsymbols._t
Omega, s = symbols('Omega s')
x, y = dynamicsymbols('x y')
u, = us = dynamicsymbols('u1:2')
vx, vy = x.diff(), y.diff()
psi = Omega*t
skate = LinearMappingMethod(
    (vx**2 + vy**2)/2 + s*x, [x, y],
    nonhol_coneqs=[vy*cos(psi) - vx*sin(psi)], us=us,
    mapping=[vx*cos(psi) + vy*sin(psi)])

# The motion, and others with four speeds on three slopes.

motion = simulate(skate, 2*pi, {x: 0, y: 0, u: 0.4},
                  constants={Omega: 2, s: 2}, t_eval=401, rtol=1e-11,
                  atol=1e-13)


def place(u0, s, time):
    """The closed form."""
    angle = 2*time
    return (u0/2*np.sin(angle) + s/8*np.sin(angle)**2,
            u0/2*(1 - np.cos(angle)) + s/8*(angle - np.sin(2*angle)/2))


many = {}
for slope in 0, 2, 4:
    equations = compile_equations(skate, {Omega: 2, s: slope})
    for speed in -0.4, 0, 0.4, 0.8:
        many[speed, slope] = simulate(
            equations, 1, {x: 0, y: 0, u: speed}, rtol=1e-11, atol=1e-13,
            t_eval=51)

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 4.1), layout='constrained')
grid = figure.add_gridspec(2, 2, height_ratios=(1, 1.25))
path = figure.add_subplot(grid[0, :])
blade = [(x + k*cos(psi), y + k*sin(psi)) for k in (-0.1, 0.1)]
plot_snapshots(motion, points={'skate': (x, y)}, lines=[blade], view='yx',
               times=motion.t[::25], ax=path, legend=False)
path.set(title='the path during two turns; bars are the blade',
         xlabel='y across the slope, in m', ylabel='x down, in m')
path.invert_yaxis()

ends = figure.add_subplot(grid[1, 0])
for (speed, slope), other in many.items():
    ends.plot(other[y], other[x], color='0.75', linewidth=0.8)
for slope in 0, 2, 4:
    points = [place(speed, slope, 1) for speed in (-0.4, 0.8)]
    ends.plot(*np.transpose(points)[::-1], color='C1', linewidth=1.2,
              label=None if slope else 'by $u_0$')
for speed in -0.4, 0, 0.4, 0.8:
    points = [place(speed, slope, 1) for slope in (0, 4)]
    ends.plot(*np.transpose(points)[::-1], color='C2', linewidth=1.2,
              label=None if speed else 'by $s$')
for other in many.values():
    ends.plot(other[y][-1], other[x][-1], 'ko', markersize=4)
ends.plot(0, 0, 'ko', markersize=5)
ends.set(title='places reached after 1 s', xlabel='y in m',
         ylabel='x in m')
ends.set(xlim=(-0.4, 2), ylim=(0.95, -0.35))
ends.set_aspect('equal')
ends.legend(loc='upper right')

force = figure.add_subplot(grid[1, 1])
force.axhline(0, color='0.7', linewidth=0.8)
force.plot(motion.t, motion.multipliers[:, 0], color='C0',
           label=r'$\lambda$ in N')
force.plot(motion.t, 2*np.sin(2*motion.t), 'C3--', linewidth=1,
           label='without the torsion')
force.set(title='reaction across the blade', xlabel='t in s')
force.set_ylim(-4, 11)
force.legend(loc='upper right')

plt.show()

# The closed forms, a value at 1.25 turns, and the kind of the constraint.

angle = 2*motion.t
assert np.abs(np.subtract([motion[x], motion[y]],
                          place(0.4, 2, motion.t))).max() < 1e-8
assert np.abs(motion[u] - 0.4 - np.sin(angle)).max() < 1e-8
assert np.abs(motion.multipliers[:, 0]
              - 2*(0.4 + 2*np.sin(angle))).max() < 1e-7
for (speed, slope), other in many.items():
    assert np.abs(np.subtract([other[x][-1], other[y][-1]],
                              place(speed, slope, 1))).max() < 1e-8
quarter = 250                           # psi = 5*pi/2
assert abs(motion[x][quarter] - 0.45) < 1e-8
assert abs(motion[y][quarter] - (0.2 + 5*pi/8)) < 1e-8
assert skate.is_holonomic is False
assert skate.space.table('torsion') == 'all components of T vanish'
assert skate.space.table('torsion_ext').splitlines() == [
    'T^1_02 = Omega', 'T^1_20 = -Omega', 'T^2_01 = -Omega', 'T^2_10 = Omega']

# %%
# The equations run in this page. Move a slider to change the start.

report(skate, motion.x[0], {Omega: 2, s: 2}, points={'skate': (x, y)},
       lines=[blade], up='-x', title='A skate that turns at a constant rate')
