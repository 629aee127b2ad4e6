"""
A rattleback that reverses its spin
===================================

The principal axes of inertia of a half ellipsoid are slightly rotated from the
axes of its surface. Spun one way it continues; spun the other way it begins to
rattle, stops, and turns back. Rolling without slipping explains this: the
constraint is nonholonomic and does not preserve volume in state space, so one
direction of spin can damp what the other excites.

==================  ====================================================
constants           semi-axes 0.2, 0.03, 0.02 m; mass 1 kg, mass centre
                    0.01 m below the centre of the ellipsoid; moments of
                    inertia 2e-4, 1.6e-3, 1.7e-3 kg m² and the product
                    -2e-5 kg m² of the first two axes; ``g`` = 9.81 m/s²
coordinates         ``x``, ``y``, ``z`` of the centre of the ellipsoid,
                    in m; angles about z (yaw), x and y
speeds              velocity of the centre and angular velocity, in the
                    axes of the table
inputs              none
start               spin -5 rad/s, both tilts 0.5°
==================  ====================================================

The contact of the :class:`.EllipsoidSurface` with the plane comes from its
support function. The mechanism, and the growth rates of the two tilting
motions about a steady spin, are those of A. Garcia and M. Hubbard, *Spin
reversal of the rattleback*, Proc. R. Soc. Lond. A 418 (1988) 165-197. For this
body the mean spins in the first, second and fifth second were computed
independently from the Newton-Euler equations: -4.20, -1.92 and +2.82 rad/s.

"""
from math import radians

import matplotlib.pyplot as plt
import numpy as np
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import (
    EllipsoidSurface, PlaneSurface, PointContact, UdwadiaKalabaMethod)
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model.

q = x, y, z, yaw, roll, pitch = dynamicsymbols('x y z yaw roll pitch')
u = dynamicsymbols('v1:4 w1:4')
N, B, O, C = ReferenceFrame('N'), ReferenceFrame('B'), Point('O'), Point('C')
O.set_vel(N, 0)
C.set_pos(O, x*N.x + y*N.y + z*N.z)
C.set_vel(N, u[0]*N.x + u[1]*N.y + u[2]*N.z)
B.orient_body_fixed(N, (yaw, roll, pitch), 'zxy')
turning = B.ang_vel_in(N)
B.set_ang_vel(N, u[3]*N.x + u[4]*N.y + u[5]*N.z)
kdes = [coordinate.diff() - speed for coordinate, speed in zip(q, u[:3])] + [
    (turning - B.ang_vel_in(N)).dot(axis) for axis in N]
G = C.locatenew('G', -0.01*B.z)
G.v2pt_theory(C, N, B)

stone = RigidBody('stone', G, B, 1, (
    inertia(B, 2e-4, 1.6e-3, 1.7e-3, ixy=-2e-5), G))
contact = PointContact(
    'contact', RigidBody('table', O, N), stone, PlaneSurface(N, O, N.z),
    EllipsoidSurface(B, C, (0.2, 0.03, 0.02)))
method = UdwadiaKalabaMethod(
    N, q, u, kdes, bodies=[stone], forcelist=[(G, -9.81*N.z)],
    configuration_constraints=contact.holonomic_constraints,
    velocity_constraints=contact.velocity_constraints)

# The motion.

compiled = compile_equations(method)
tilts = {roll: radians(0.5), pitch: radians(0.5), u[5]: -5}
start = consistent_state(compiled, {z: 0.02, **tilts}, fill=0,
                         fixed=(x, y, *q[3:], *u[3:]))
motion = simulate(compiled, 5, start, t_eval=2501,
                  units={'t': 's', 'length': 'm'})
spin = compiled.expression(B.ang_vel_in(N).dot(B.z))
spins = np.array([spin(0, state) for state in motion.x[::5]])
trace = compiled.expression(contact.child_point.pos_from(
    C).to_matrix(B))
touched = 1e3*np.array([trace(0, state)[:, 0]
                        for state in motion.x[:500]])

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 4.2), layout='constrained')
above, below = figure.subfigures(2, 1)
plot_snapshots(motion, method, contacts=contact, times=[0], camera=(25, -70),
               trails=False, ax=above.add_subplot(projection='3d'),
               legend=False)
left, middle, right = below.subplots(1, 3)
left.plot(motion.t[::5], spins, color='C0', linewidth=1)
left.axhline(0, color='0.6', linewidth=0.8)
for begin, mean in (0, -4.20), (1, -1.92), (4, 2.82):
    left.plot([begin, begin + 1], [mean, mean], 'k--', linewidth=1)
left.set(xlabel='t in s', ylabel='spin in rad/s',
         title='spin, and known means')
middle.plot(motion.t[::5], np.degrees(motion[pitch][::5]), color='C1',
            linewidth=0.5, label='pitch')
middle.plot(motion.t[::5], np.degrees(motion[roll][::5]), color='C2',
            linewidth=0.5, label='roll')
middle.set(xlabel='t in s', ylabel='tilt in degrees', ylim=(-12, 17),
           title='rattling')
middle.legend(loc='upper center', ncols=2)
right.plot(touched[:, 0], touched[:, 1], color='C3', linewidth=0.6)
right.set(xlabel='along the stone, in mm', ylabel='across it, in mm',
          title='trace on the stone, 1 s')

plt.show()

# The mean values, and the energy balance.

for begin, mean in (0, -4.20), (1, -1.92), (4, 2.82):
    assert abs(spins[100*begin:100*begin + 100].mean() - mean) < 0.006
assert np.abs(motion.energy_error).max() < 1e-7

# %%
# The equations run in this page. Move a slider to change the start.

report(method, start, contacts=contact, title='A rattleback')
