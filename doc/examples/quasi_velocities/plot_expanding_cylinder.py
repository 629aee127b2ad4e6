"""
A particle on an expanding cylinder, in two mappings
====================================================

A particle slides on a cylinder of radius :math:`t + 1`. Forces pull it round
and down. Two mappings complete the constraint. The first quasi-velocity is the
rate of the polar angle in one, and the velocity along the circle in the other:

.. math::

   \\text{(a)}\\quad u_1 = \\frac{d}{dt}\\arctan\\frac{x_2}{x_1}, \\qquad
   \\text{(b)}\\quad u_1 = \\frac{x_1\\dot x_2 - x_2\\dot x_1}{r}, \\qquad
   r = \\sqrt{x_1^2 + x_2^2} .

The first is the velocity of a coordinate, the second is not. So (a) gives a
Riemannian space and (b) a space with torsion, :math:`T^1{}_{31} = 1/r`. Motion
and reaction are the same.

==================  ====================================================
constants           mass 1 kg; ``g`` = 9.81 m/s²; radius (t + 1) m
coordinates         ``x1``, ``x2`` across the axis, ``x3`` along it, in m
speeds              ``u1`` in rad/s or m/s; ``u2``, the rate of x3, in m/s
inputs              forces :math:`-x_2/(t+1)`, :math:`x_1/(t+1)` and
                    :math:`-g`, in N
start               at the angle 0.2 - arcsin(0.6), with 0.3 m/s round the
                    axis
==================  ====================================================

*The meaning of torsion.* From one point, follow one field and then the other,
each for a given time, and repeat in the other order. The fields :math:`b_1,
b_3` of (a) belong to coordinates, and both paths end at one point. The fields
of (b) have unit length. At a larger radius the same arc is a smaller angle, so
the paths end at two points; for short paths the gap is the torsion times their
lengths.

This is the second example of Y. Wang, X. Wu and H. Cao, *Linear mapping method
for holonomic rheonomic systems*, J. Dyn. Control (doi
10.6052/1672-6553-2019-056), with the solution (one sign corrected)

.. math::

   x_1 = (t+1)(c_1\\sin\\psi + c_2\\cos\\psi), \\qquad
   x_2 = (t+1)(-c_1\\cos\\psi + c_2\\sin\\psi), \\qquad
   \\psi = \\frac12 + \\frac{t^2 - 2c_4}{2(t+1)} .

For the derivation see :doc:`/theory/linear_mapping`.

"""

import matplotlib.pyplot as plt
import numpy as np
from sympy import Matrix, atan, sqrt, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import LinearMappingMethod
from sympy_constrained.numeric import simulate
from sympy_constrained.report import report

# The model: (a) by its rows, (b) by the columns of the inverse.

t = dynamicsymbols._t
g = symbols('g')
x1, x2, x3 = x = dynamicsymbols('x1:4')
u1, u2 = us = dynamicsymbols('u1:3')
r = sqrt(x1**2 + x2**2)
T = sum(coordinate.diff()**2 for coordinate in x)/2
model = dict(hol_coneqs=[r - t - 1], us=us,
             generalized_forces=[-x2/(t + 1), x1/(t + 1), -g])
angle = LinearMappingMethod(
    T, x, mapping=[atan(x2/x1).diff(t), x3.diff()], **model)
arc = LinearMappingMethod(
    T, x, inverse_mapping=Matrix([[-x2/r, 0, x1/r],
                                  [x1/r, 0, x2/r],
                                  [0, 1, 0]]), **model)

# The motions.

c1, c2, c4 = 0.6, 0.8, 0.3
psi0 = 0.5 - c4
start = {x1: c1*np.sin(psi0) + c2*np.cos(psi0),
         x2: -c1*np.cos(psi0) + c2*np.sin(psi0), x3: 0, u1: 0.3, u2: 0}
a, b = (simulate(method, 5, start, constants={g: 9.81}, t_eval=501,
                 rtol=1e-11, atol=1e-13) for method in (angle, arc))
time = a.t
psi = 0.5 + (time**2 - 2*c4)/(2*(time + 1))
exact = (time + 1)*np.array([c1*np.sin(psi) + c2*np.cos(psi),
                             c2*np.sin(psi) - c1*np.cos(psi)])
speed = (time + 1)/2 + (2*c4 - 1)/(2*(time + 1))

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 4.2), layout='constrained')
grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.25))
path = figure.add_subplot(grid[:, 0])
turn = np.linspace(-0.6, 2.1, 50)
for radius in range(1, 7):
    path.plot(radius*np.cos(turn), radius*np.sin(turn), color='0.85',
              linewidth=1)
path.plot(a[x1], a[x2], color='C0', linewidth=4, label='(a) angle')
path.plot(b[x1], b[x2], color='C1', linewidth=1.2, label='(b) arc')
for when in range(6):
    spot = np.array([a[x1][100*when], a[x2][100*when]])
    path.plot(*spot, 'ko', markersize=4, zorder=3)
    path.text(*(spot + (0.3, -0.35) if when < 4 else spot + (0.2, 0.15)),
              f'{when} s')
path.plot(0, 0, 'k+')
path.set(xlim=(-2.7, 4.1), ylim=(-1.6, 6.6), xlabel='$x_1$ in m',
         ylabel='$x_2$ in m', title='one path, along the axis')
path.set_aspect('equal')
path.legend(loc='lower left')

# From (1, 0), one unit along b_1 and one along b_3.

loops = figure.add_subplot(grid[0, 1])
steps = np.linspace(0, 1, 40)
for name, place in ('a', 0), ('b', 2.9):
    for colour, order in ('C2', '31'), ('C4', '13'):
        radius, phi = 1 + 0*steps, 0*steps
        for field in order:
            if field == '3':
                radius, phi = radius[-1] + steps, phi[-1] + 0*steps
            else:
                radius, phi = radius[-1] + 0*steps, phi[-1] + (
                    steps if name == 'a' else steps/radius[-1])
            loops.plot(place + radius*np.cos(phi), radius*np.sin(phi),
                       color=colour, linewidth=2)
        loops.plot(place + radius[-1]*np.cos(phi[-1]),
                   radius[-1]*np.sin(phi[-1]), 'o', color=colour)
    loops.plot(place + 1, 0, 'ko')
    for text, where, colour in (
            ('$b_3$', (1.5, -0.27), 'C2'), ('$b_1$', (0.72, 0.42), 'C4'),
            ('$b_3$', (0.62, 1.32), 'C4')):
        loops.text(place + where[0], where[1], text, color=colour,
                   ha='center')
loops.text(1.95, 1, '$b_1$', color='C2')
loops.text(4.95, 0.5, '$b_1$', color='C2')
loops.text(0.5, -0.3, '(a)', ha='right')
loops.text(3.4, -0.3, '(b)', ha='right')
loops.plot([3.99, 4.66], [1.68, 0.96], 'k:', linewidth=1)
loops.text(4.45, 1.4, 'gap')
loops.set(title='first along one field, then along the other',
          xlim=(-0.2, 5.4), ylim=(-0.4, 1.9))
loops.set_aspect('equal')
loops.axis('off')

rates = figure.add_subplot(grid[1, 1])
rates.plot(time, a[u1], color='C0', label='$u_1$ of (a), rad/s')
rates.plot(time, b[u1], color='C1', label='$u_1$ of (b), m/s')
for motion, style in ((a, {'color': 'C0', 'linewidth': 4}),
                      (b, {'color': 'C1', 'linewidth': 1.2})):
    rates.plot(time, motion.multipliers[:, 0], linestyle='--', **style)
rates.text(0.2, -1.4, r'$\lambda$ of both, N')
rates.set(xlabel='t in s', title='two velocities, one reaction')
rates.legend(loc='upper left')

plt.show()

# The solution of the paper, its values at 5 s, and the kinds of space.

for motion in a, b:
    assert np.abs([motion[x1], motion[x2]] - exact).max() < 1e-8
    assert np.abs(motion[x3] + 9.81*time**2/2).max() < 1e-8
    assert np.abs(motion.multipliers[:, 0]
                  + speed**2/(time + 1)).max() < 1e-7
    assert abs(motion[x1][-1] + 1.8819075273) < 1e-8
    assert abs(motion[x2][-1] - 5.6972295073) < 1e-8
    assert abs(motion.multipliers[-1, 0] + 1.4668518519) < 1e-8
assert np.abs(b[u1] - speed).max() < 1e-8
assert np.abs(a[u1]*(time + 1) - b[u1]).max() < 1e-8
assert (angle.space.is_integrable, arc.space.is_integrable) == (True, False)
assert (angle.is_holonomic, arc.is_holonomic) == (True, True)
place = {x1: 3, x2: 4}
assert abs(arc.space.torsion.subs(place)[0, 2, 0] - 0.2) < 1e-12

# %%
# The equations run in this page. Move a slider to change the start.

circle = [((t + 1)*np.cos(k), (t + 1)*np.sin(k), 0)
          for k in np.linspace(0, 2*np.pi, 37)]
report(angle, start, {g: 9.81}, points={'particle': x}, lines=[circle],
       title='An expanding cylinder')
