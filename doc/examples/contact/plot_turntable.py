"""
A ball on a turntable
=====================

A ball rolls on a table that turns at a constant rate. It does not fly off: its
centre moves on a circle about *some* point, more slowly than the table. On a
tilted table it does not roll down but drifts sideways, across the slope.

==================  ====================================================
constants           mass 0.2 kg, radius ``r`` = 0.05 m, homogeneous
                    (``k`` = 2/5); the table turns at ``Omega`` = 3 rad/s;
                    the slope, if any, is 1° along x; ``g`` = 9.81 m/s²
coordinates         ``x``, ``y``, ``z`` of the centre, in m; z-y-z angles
speeds              velocity of the centre and angular velocity, in the
                    axes of the ground
inputs              none
start               at x = 0.3 m with 0.2 m/s along y, rolling; on the
                    tilted table at rest there
==================  ====================================================

The parent of the contact is the table, whose frame turns; velocities refer to
the inertial frame, ``frame=N``. With the upward unit vector :math:`z`

.. math::

   \\dot v = \\frac{k}{1 + k}\\,\\Omega\\, z \\times v

a circle with the rate :math:`2\\Omega/7`: one circle of the ball takes 7/2
turns of the table. With the in-plane gravity :math:`g_t` the mean velocity is
:math:`z \\times g_t/(k\\Omega)`, of magnitude :math:`5 g
\\sin\\alpha/(2\\Omega)`, across the slope (Ju. I. Neimark and N. A. Fufaev,
*Dynamics of Nonholonomic Systems*, AMS 1972).

"""
from math import pi, radians, sin

import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import (
    PlaneSurface, PointContact, SphereSurface, UdwadiaKalabaMethod)
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.report import report

# The model.

m, r, rate, pull = symbols('m r Omega g_t')
t = dynamicsymbols._t
q = x, y, z, *angles = dynamicsymbols('x y z q1:4')
u = dynamicsymbols('v1:4 w1:4')
N, T, B, O, C = (ReferenceFrame('N'), ReferenceFrame('T'),
                 ReferenceFrame('B'), Point('O'), Point('C'))
O.set_vel(N, 0)
T.orient_axis(N, rate*t, N.z)
C.set_pos(O, x*N.x + y*N.y + z*N.z)
C.set_vel(N, u[0]*N.x + u[1]*N.y + u[2]*N.z)
B.orient_body_fixed(N, angles, 'zyz')
turning = B.ang_vel_in(N)
B.set_ang_vel(N, u[3]*N.x + u[4]*N.y + u[5]*N.z)
kdes = [coordinate.diff() - speed for coordinate, speed in zip(q, u[:3])] + [
    (turning - B.ang_vel_in(N)).dot(axis) for axis in N]

ball = RigidBody('ball', C, B, m, (inertia(B, *3*[2*m*r**2/5]), C))
contact = PointContact(
    'contact', RigidBody('table', O, T), ball, PlaneSurface(T, O, N.z),
    SphereSurface(B, C, r), frame=N)
method = UdwadiaKalabaMethod(
    N, q, u, kdes, bodies=[ball],
    forcelist=[(C, m*pull*N.x - m*9.81*N.z)],
    configuration_constraints=contact.holonomic_constraints,
    velocity_constraints=contact.velocity_constraints)

# The motions: of the level table one circle, of the tilted one two.

slope = radians(1)
period = 2*pi/(2/7*3)
numbers = {m: 0.2, r: 0.05, rate: 3, pull: 0}


def run(constants, speed, t_end):
    compiled = compile_equations(method, constants)
    start = consistent_state(
        compiled, {x: 0.3, z: 0.05, angles[1]: 1, u[1]: speed}, fill=0,
        fixed=(*q, *u[:2], u[5]))
    return compiled, simulate(compiled, t_end, start, rtol=1e-10, atol=1e-12,
                              t_eval=201)


equations, level = run(numbers, 0.2, period)
_, tilted = run({**numbers, pull: 9.81*sin(slope)}, 0, 2*period)
on_table = np.array([
    [np.cos(3*level.t), np.sin(3*level.t)],
    [-np.sin(3*level.t), np.cos(3*level.t)]])
seen = np.einsum('ijk,jk->ik', on_table, [level[x], level[y]])

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(6.5, 2.6), layout='constrained')
centre = 0.3 - 0.2/(6/7), 0
left.plot(level[x], level[y], color='C0')
left.plot(*centre, '+', color='C0')
left.plot(0, 0, 'k+', label='axis of the table')
left.legend(loc='lower left')
left.set_title('seen from the ground')
middle.plot(*seen, color='C3')
middle.plot(0, 0, 'k+')
middle.set_title('trace on the table')
right.plot(tilted[x], tilted[y], color='C2')
right.annotate('', (0.1, 1.2), (-0.35, 1.2), arrowprops={'arrowstyle': '->'})
right.text(-0.35, 1.25, 'down')
right.set_title('on a tilted table')
for panel in left, middle, right:
    panel.set(xlabel='x in m', ylabel='y in m')
    panel.set_aspect('equal', 'datalim')

plt.show()

# A circle after 7/2 turns of the table; the drift; traces of equal length.

distance = np.hypot(level[x] - centre[0], level[y] - centre[1])
assert np.abs(distance - 0.2/(6/7)).max() < 1e-8
assert np.hypot(level[x][-1] - 0.3, level[y][-1]) < 1e-8
drift = 5*9.81*sin(slope)/(2*3)
assert abs(tilted[y][-1]/(2*period) - drift) < 1e-8
assert abs(tilted[x][-1] - 0.3) < 1e-8
lengths = [equations.expression(s) for s in contact.trace_speeds()]
for moment, state in zip(level.t, level.x):
    assert abs(lengths[0](moment, state) - lengths[1](moment, state)) < 1e-12
assert np.allclose(level.multipliers[:, 0], 0.2*9.81)

# %%
# The equations run in this page. Move a slider to change the start.

report(method, level.x[0], numbers, contacts=contact,
       title='A ball on a turntable')
