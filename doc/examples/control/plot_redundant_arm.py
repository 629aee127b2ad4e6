"""
Torque distribution in a redundant arm
======================================

The tip of a planar arm with three links draws a circle. The tip needs two of
the three joints, so many torques have the same effect, and a controller must
choose. Udwadia uses a weight: among all torques :math:`f` that satisfy the
servo constraint :math:`A\\ddot q = b`, take the one with the least :math:`f^T
W f`,

.. math::

   f = W^{-1}M^{-1}A^T\\,(A M^{-1} W^{-1} M^{-1} A^T)^{-1}\\,
   (b - A M^{-1} Q) .

Without a weight, equivalent to :math:`W = M^{-1}`, the torques are those of an
ideal constraint by Gauss's principle; in robotics this is Khatib's operational
space control. The unit matrix gives the least torques at every instant.

==================  ====================================================
constants           links 0.4, 0.35, 0.3 m long, uniform, of 3, 2, 1 kg, in
                    a horizontal plane
coordinates         ``q1``, ``q2``, ``q3`` of the joints, in rad
speeds              their derivatives
inputs              none; the circle, of radius 0.1 m, is in the
                    constraint
start               at rest
==================  ====================================================

The tip turns by :math:`\\omega t - \\sin\\omega t`, so it pauses after each
turn of 2 s. During the pauses the joints may still move with the tip at rest.
J. M. Hollerbach and K. C. Suh, *Redundancy resolution of manipulators through
torque optimization*, IEEE J. Robotics Autom. 3 (1987) 308-316, showed that the
least torque is short-sighted. The family of controllers is that of J. Peters,
M. Mistry, F. Udwadia, J. Nakanishi and S. Schaal, *A unifying framework for
robot control with redundant DOFs*, Auton. Robots 24 (2008) 1-12.

"""
from math import pi

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos, eye, sin
from sympy.physics.mechanics import (
    Lagrangian, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model: three links, and the tip on its circle.

t = dynamicsymbols._t
q = dynamicsymbols('q1:4')
lengths, masses = (0.4, 0.35, 0.3), (3, 2, 1)
N, joint = ReferenceFrame('N'), Point('base')
joint.set_vel(N, 0)
base, frame, links = joint, N, []
for k, (angle, length, mass) in enumerate(zip(q, lengths, masses)):
    frame = frame.orientnew(f'B{k}', 'Axis', (angle, frame.z))
    centre = joint.locatenew(f'C{k}', length/2*frame.x)
    centre.v2pt_theory(joint, N, frame)
    links.append(RigidBody(f'link{k}', centre, frame, mass, (
        inertia(frame, 0, 0, mass*length**2/12), centre)))
    end = joint.locatenew(f'P{k}', length*frame.x)
    end.v2pt_theory(joint, N, frame)
    joint = end
tip = joint.pos_from(base)
turn = pi*t - sin(pi*t)
circle = ((0.6 - 0.1*cos(turn))*N.x + (0.3 + 0.1*sin(turn))*N.y)
row = [(tip - circle).dot(N.x), (tip - circle).dot(N.y)]


def arm(**options):
    return UdwadiaKalabaMethod(Lagrangian(N, *links), q, hol_coneqs=row,
                               bodies=links, frame=N, **options)


arms = [arm(), arm(weight=eye(3))]
equations = [compile_equations(method) for method in arms]

# Two turns from the same posture.

start = consistent_state(equations[0], dict(zip(q, (1.2, -0.8, -0.8))), fill=0)
motions = [simulate(compiled, 4, start, rtol=1e-9, t_eval=401)
           for compiled in equations]
gauss, least = (motion.constraint_forces for motion in motions)

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.9), layout='constrained')
grid = figure.add_gridspec(2, 4, height_ratios=(1.3, 1))
names = 'no weight (Gauss)', 'least torque'
for k, motion in enumerate(motions):
    panel = figure.add_subplot(grid[0, 2*k:2*k + 2])
    plot_snapshots(motion, arms[k], points={'tip': tip}, ax=panel,
                   times=motion.t[:201:33], trails=False, legend=False)
    panel.set(title=f'{names[k]}: the first turn', xlim=(-0.35, 0.95),
              ylim=(-0.32, 0.64))
torques = figure.add_subplot(grid[1, :2])
energies = figure.add_subplot(grid[1, 2:])
for k, motion in enumerate(motions):
    torques.semilogy(motion.t, np.linalg.norm(motion.constraint_forces,
                                              axis=1), color=f'C{k}',
                     label=names[k])
    energies.plot(motion.t, motion.energy, color=f'C{k}', label=names[k])
    energies.plot(motion.t[[200, 400]], motion.energy[[200, 400]], 'o',
                  color=f'C{k}')
torques.set(xlabel='t in s', title='size of the torques in N m',
            ylim=(1e-2, 1e5))
torques.legend(ncols=2, loc='upper center')
energies.set(xlabel='t in s',
             title='kinetic energy in J; at dots the tip rests')

plt.show()

# The torques are those of the formula. At each state the least ones are less
# than those without a weight; along the motion they are not.

method, compiled = arms[0], equations[0]
pieces = [compiled.expression(piece) for piece in (
    method.system.M, method.system.Q,
    method.system.A, method.system.b)]
for k, motion in enumerate(motions):
    for i in range(0, 401, 10):
        M, Q, A, b = (piece(motion.t[i], motion.x[i]) for piece in pieces)
        action = A @ np.linalg.inv(M)
        right = (b - action @ Q)[:, 0]
        short = np.linalg.pinv(action) @ right
        ideal = A.T @ np.linalg.solve(action @ A.T, right)
        found = motion.constraint_forces[i]
        size = 1 + np.linalg.norm(found)
        assert np.abs(found - (ideal, short)[k]).max() < 1e-8*size
        assert np.linalg.norm(short) <= np.linalg.norm(ideal) + 1e-12
    assert motion.largest_residual < 1e-10
    assert np.abs(motion.energy_error).max() < 1e-5
sizes = [np.linalg.norm(force, axis=1) for force in (gauss, least)]
pauses = [motion.energy[[200, 400]] for motion in motions]
assert sizes[1][:30].max() < sizes[0][:30].max()
assert sizes[0].max() < 6 and sizes[1].max() > 100
assert pauses[0].max() < 0.05 and pauses[1].min() > 4

# %%
# The equations run in this page. Move a slider to change the start.

report(arms[1], start, points={'tip': tip}, title='A redundant arm')
