"""
Bricard's overconstrained linkage
=================================

By the formula of Grübler and Kutzbach, six links in a loop with six hinges
have :math:`6\\cdot5 - 6\\cdot5 = 0` degrees of freedom. Bricard found loops
that still move. In this one all links have the same length, and the axes at
the ends of each link are at right angles; at the start the loop follows the
edges of a cube. Opened at a hinge it is a chain of five links with five
closing rows. The rows have rank four on the closed loop and rank five
elsewhere, and their relation changes during the motion.

==================  ====================================================
constants           five uniform thin rods of 1 kg, length 1 m; ``g`` =
                    9.81 m/s²; the sixth link is the ground
coordinates         ``q1`` to ``q5`` of the hinges, in rad
speeds              ``u1`` to ``u5``, their derivatives
inputs              none
start               at rest on a cube, all angles 90°
==================  ====================================================

In the motion with three-fold symmetry the angles alternate between
:math:`\\theta` and :math:`\\varphi`, with

.. math::

   \\cos\\theta + \\cos\\varphi + \\cos\\theta\\cos\\varphi = 0

(Y. Chen, Z. You and T. Tarnai, *Threefold-symmetric Bricard linkages for
deployable structures*, Int. J. Solids Struct. 42 (2005) 2287-2301, for twists
of 90°). The linkage falls out of the cube, passes :math:`\\theta = 0`, where
its even hinges are at 120°, and comes to rest on another cube at
:math:`\\theta = -90°`. The period is

.. math::

   T = 2\\int_{-\\pi/2}^{\\pi/2}
   \\sqrt{\\frac{J(\\theta)}{2(V_0 - V(\\theta))}}\\,d\\theta

with the inertia and the potential energy of the five rods.

"""
from math import pi

import matplotlib.pyplot as plt
import numpy as np
from sympy import pi as Pi
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model: a chain and its last hinge. The ground is the link between the
# last and the first hinge.

q, u = dynamicsymbols('q1:6'), dynamicsymbols('u1:6')
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)
hinge, frame, rods, hinges = O, N, [], []
for k in range(5):
    rod = frame.orientnew(f'A{k}', 'Axis', (q[k], frame.z))
    rod.set_ang_vel(frame, u[k]*frame.z)
    middle = hinge.locatenew(f'C{k}', rod.x/2)
    middle.v2pt_theory(hinge, N, rod)
    rods.append(RigidBody(f'rod{k}', middle, rod, 1, (
        inertia(rod, 0, 1, 1)/12, middle)))
    following = hinge.locatenew(f'P{k}', rod.x)
    following.v2pt_theory(hinge, N, rod)
    frame = rod.orientnew(f'B{k}', 'Axis', ((-1)**(k + 1)*Pi/2, rod.x))
    hinge = following
    hinges.append(hinge)
gap = hinge.pos_from(O) + N.x
closed = [gap.dot(axis) for axis in N]
closed += [frame.z.dot(N.x), frame.z.dot(N.z)]
linkage = UdwadiaKalabaMethod(
    N, q, u, [qk.diff() - uk for qk, uk in zip(q, u)], bodies=rods,
    forcelist=[(rod.masscenter, -9.81*N.z) for rod in rods],
    configuration_constraints=closed)

# The motion: to the other cube and back.


def level(t, x):
    return x[5]


equations = compile_equations(linkage)
start = dict.fromkeys(q, pi/2) | dict.fromkeys(u, 0)
motion = simulate(equations, 8, start, t_eval=401, rtol=1e-10, atol=1e-12,
                  events=level)
half = motion.events[0].t
theta, phi = motion[q[0]], motion[q[1]]

# The period, computed independently: positions of the hinges and their
# derivatives with respect to the angle (complex steps).


def partner(theta):
    return np.arccos(-np.cos(theta)/(1 + np.cos(theta)))


def loop(theta, phi):
    """Positions of the hinges, first hinge first."""
    places, axes = [np.zeros(3)], np.eye(3)
    for k in range(5):
        angle = (theta, phi)[k % 2]
        c, s = np.cos(angle), np.sin(angle)
        axes = axes @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        places.append(places[-1] + axes[:, 0])
        s = -(-1)**k
        axes = axes @ np.array([[1, 0, 0], [0, 0, -s], [0, s, 0]])
    return np.array(places)


def slowness(theta):
    """Time per angle in a fall from rest at 90 degrees."""
    places = loop(theta + 1e-30j, partner(theta + 1e-30j))
    a, b = places[:-1].imag/1e-30, places[1:].imag/1e-30
    inertia = (a**2 + a*b + b**2).sum()/3
    height = (places.real[:-1, 2] + places.real[1:, 2]).sum()/2
    first = loop(pi/2, pi/2)
    fall = (first[:-1, 2] + first[1:, 2]).sum()/2 - height
    return np.sqrt(inertia/(2*9.81*fall))


angles, weights = np.polynomial.legendre.leggauss(60)
angles, weights = angles*pi/2, weights*pi/2      # theta = pi/2*sin(angle)
known = sum(w*pi/2*np.cos(s)*slowness(pi/2*np.sin(s))
            for s, w in zip(angles, weights))

# The picture: the loop every 90 degrees.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 4.2), layout='constrained')
grid = figure.add_gridspec(2, 6, height_ratios=(1.4, 1))
for place, degrees in enumerate((90, 0, -90)):
    film = figure.add_subplot(grid[0, 2*place:2*place + 2], projection='3d')
    when = np.argmin(np.abs(np.degrees(theta[motion.t <= half]) - degrees))
    plot_snapshots(motion, linkage, times=[motion.t[when]], ax=film,
                   trails=False, legend=False)
    film.set_title(f'$\\theta$ = {degrees}°')
    film.axis('off')
curve = figure.add_subplot(grid[1, :3])
span = np.linspace(-120, 120, 400)[1:-1]
curve.plot(span, np.degrees(partner(np.radians(span))), color='0.7',
           linewidth=4, label='closed form')
curve.plot(np.degrees(theta), np.degrees(phi), color='C0', label='the motion')
curve.set(xlabel=r'$\theta = q_1 = q_3 = q_5$ in °',
          xticks=range(-90, 91, 45),
          title=r'$\varphi = q_2 = q_4$ in °')
curve.legend(loc='lower center')
angle = figure.add_subplot(grid[1, 3:])
angle.plot(motion.t, np.degrees(theta), label=r'$\theta$')
angle.plot(motion.t, np.degrees(phi), label=r'$\varphi$')
angle.axvline(2*known, color='0.5', linestyle='--', linewidth=0.8)
angle.text(2*known, -80, f' T = {2*known:.4f} s')
angle.set(xlabel='t in s', title='angles in °', yticks=(-90, 0, 90))
angle.legend(loc='lower left')

plt.show()

# One redundant row, the published relation of the angles, and the period.

assert len(linkage.independent_rows) == 4
assert set(motion.rank) == {5 + 4}
assert np.abs(np.cos(theta) + np.cos(phi) + np.cos(theta)*np.cos(phi)
              ).max() < 1e-9
for k in range(2, 5):
    assert np.abs(motion[q[k]] - motion[q[k % 2]]).max() < 1e-9
assert abs(half - known) < 1e-8
assert abs(motion.events[1].t - 2*known) < 1e-8
assert abs(motion.events[0].x[0] + pi/2) < 1e-8
assert motion.largest_residual < 1e-10
assert np.abs(motion.energy_error).max() < 1e-6

# %%
# The equations run in this page. Move a slider to change the start.

report(linkage, start, title="Bricard's linkage")
