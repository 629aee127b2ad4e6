"""
A wheel with a round tyre and its traces
========================================

A torus rolls on a plane, fast enough to stay upright; a small disturbance
makes it weave. The contact point moves around the tyre and over the plane.
Both traces have the same length and are always tangent to each other, which is
the geometric meaning of rolling (Z. Zhao, C. Liu and J. Lu, Acta Sci. Nat.
Univ. Pekin. 52 (2016) 713-716).

==================  ====================================================
constants           radius of the ring ``R`` = 0.3 m, of the tube ``r`` =
                    0.05 m; mass ``m`` = 2 kg, homogeneous; ``g`` = 9.81
                    m/s²
coordinates         ``x``, ``y``, ``z`` of the centre, in m; angles about
                    z (yaw), x (lean) and y (roll); parameters of the
                    contact on tyre and plane
speeds              velocity of the centre and angular velocity, in the
                    axes of the plane
inputs              none
start               upright, leaning over with 0.02 rad/s, rolling at 1.3
                    times the square of the critical rate
==================  ====================================================

With :math:`H = R + r`, the axial and diametral moments of inertia ``C`` and
``A`` and the rate :math:`\\Omega`, small leans obey

.. math::

   (A + m H^2)\\,\\ddot\\theta + \\left[\\frac{(C + m H^2)\\,C\\,\\Omega^2}{A}
   - m g R\\right]\\theta = 0

so :math:`\\Omega^2 > A m g R/(C(C + mH^2))` is stable; a thin disc, :math:`r =
0`, needs :math:`g/(3R)` (Ju. I. Neimark and N. A. Fufaev, *Dynamics of
Nonholonomic Systems*, AMS 1972). The formulation is ``'kinematic'``: the
parameters follow the contact equations.

"""
from math import pi, sqrt

import matplotlib.pyplot as plt
import numpy as np
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import (
    PlaneSurface, PointContact, TorusSurface, UdwadiaKalabaMethod)
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model.

m, R, r, g = 2, 0.3, 0.05, 9.81
axial, diametral = m*(R**2 + 3*r**2/4), m*(R**2/2 + 5*r**2/8)
H = R + r
q = x, y, z, yaw, lean, roll = dynamicsymbols('x y z yaw lean roll')
u = dynamicsymbols('v1:4 w1:4')
N, B, O, C = ReferenceFrame('N'), ReferenceFrame('B'), Point('O'), Point('C')
O.set_vel(N, 0)
C.set_pos(O, x*N.x + y*N.y + z*N.z)
C.set_vel(N, u[0]*N.x + u[1]*N.y + u[2]*N.z)
B.orient_body_fixed(N, (yaw, lean, roll), 'zxy')
turning = B.ang_vel_in(N)
B.set_ang_vel(N, u[3]*N.x + u[4]*N.y + u[5]*N.z)
kdes = [coordinate.diff() - speed for coordinate, speed in zip(q, u[:3])] + [
    (turning - B.ang_vel_in(N)).dot(axis) for axis in N]

wheel = RigidBody('wheel', C, B, m, (
    inertia(B, diametral, axial, diametral), C))
contact = PointContact(
    'c', RigidBody('road', O, N), wheel, PlaneSurface(N, O, N.z),
    TorusSurface(B, C, R, r, B.y), formulation='kinematic')
method = UdwadiaKalabaMethod(
    N, [*q, *contact.coordinates], u, kdes + contact.kdes, bodies=[wheel],
    forcelist=[(C, -m*g*N.z)],
    velocity_constraints=contact.velocity_constraints)

# The start: the contact, and the speeds that roll.

around, across, first, second = contact.coordinates
critical = diametral*m*g*R/(axial*(axial + m*H**2))
rate = sqrt(1.3*critical)
pose = {x: 0, y: 0, yaw: 0, lean: 0, roll: 0}
touch = contact.solve_contact(pose, {
    z: H, around: pi/2, across: 0, first: 0, second: 0})
compiled = compile_equations(method)
start = consistent_state(
    compiled, {**pose, **{s: float(v) for s, v in touch.items()},
               u[3]: 0.02, u[4]: rate}, fill=0,
    fixed=(*q, *contact.coordinates, *u[3:]))
motion = simulate(compiled, 6, start, rtol=1e-10, atol=1e-12, t_eval=1201,
                  units={'t': 's', 'length': 'm'})


def values(expressions):
    """Values over time."""
    made = [compiled.expression(e) for e in expressions]
    return np.array([[f(0, state) for f in made] for state in motion.x]).T


speeds = values(contact.trace_speeds())
step = motion.t[1]
lengths = np.cumsum((speeds[:, 1:] + speeds[:, :-1])/2*step, axis=1)

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 4.4), layout='constrained')
above, below = figure.subfigures(2, 1, height_ratios=(1.1, 1))
plot_snapshots(motion, method, contacts=contact, times=4, camera=(20, -75),
               ax=above.add_subplot(projection='3d'), legend=False)
road, tyre, weave = below.subplots(1, 3)
road.plot(motion[first], motion[second], color='C0', label='trace')
road.plot(motion[x], motion[y], '--', color='0.5', linewidth=1,
          label='centre')
road.set(xlabel='$x$ in m', ylabel='$y$ in m', title='on the plane')
road.legend()
tyre.plot(motion[around], np.degrees(motion[across]), color='C3')
tyre.set(xlabel='angle about the axle in rad',
         ylabel='around the tube in degrees', title='on the tyre')
weave.plot(motion.t, np.degrees(motion[lean]), color='C2')
weave.axhline(0, color='0.7', linewidth=0.8)
weave.set(xlabel='$t$ in s', ylabel='lean in degrees', title='weaving')

plt.show()

# The frequency of the weave, and equal traces.

assert np.abs(lengths[0] - lengths[1]).max() < 1e-9
frequency = sqrt(((axial + m*H**2)*axial*rate**2/diametral - m*g*R)
                 / (diametral + m*H**2))
angle = motion[lean]
falls = np.flatnonzero((angle[:-1] > 0) & (angle[1:] <= 0))
crossings = motion.t[falls] + step*angle[falls]/(
    angle[falls] - angle[falls + 1])
assert len(crossings) > 1
assert abs(2*pi/np.diff(crossings).mean()/frequency - 1) < 0.001
assert np.abs(motion.energy_error).max() < 1e-8

# %%
# The equations run in this page. Move a slider to change the start.

report(method, start, title='A rolling torus', contacts=[contact])
