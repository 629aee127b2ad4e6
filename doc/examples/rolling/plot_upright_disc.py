"""
A rolling disc with two embeddings
==================================

A disc in a frame that keeps it upright rolls without slipping on a horizontal
plane. The two rolling conditions are nonholonomic. Hamel's embedding solves
them for two velocities :math:`\\dot q_1`, substitutes these into the kinetic
energy, and writes Lagrange's equations for the other coordinates. With
:math:`q_1 = (x, y)` this is right, with :math:`q_1 = (y, \\theta)` it is
wrong. Voronets' equations contain the missing terms and are right for both.

==================  ====================================================
constants           radius ``R`` = 0.1 m, mass ``m`` = 2 kg, moments of
                    inertia ``I`` = 0.01 kg m² about the axle and, with
                    the frame, ``J`` = 0.15 kg m² about the vertical
coordinates         ``x``, ``y`` of the point of contact, in m;
                    ``theta`` rolling angle, ``phi`` heading, in rad
speeds              the derivatives of the coordinates that are not in
                    :math:`q_1`
inputs              none
start               at the origin, heading -45°, with 4 rad/s about the
                    axle and 2 rad/s about the vertical
==================  ====================================================

Both rates are constant, so the disc runs on a circle of radius
:math:`R\\,\\dot\\theta/\\dot\\phi` (A. M. Bloch, *Nonholonomic Mechanics and
Control*, Springer 2003, the vertical rolling disk). With :math:`q_1 = (y,
\\theta)` Hamel's equations differ from the right ones by

.. math::

   E = \\left(m + \\frac{I}{R^2}\\right)
       \\frac{\\sin\\phi}{\\cos^3\\phi}\\,\\dot x
       \\begin{bmatrix} -\\dot\\phi \\\\ \\dot x \\end{bmatrix}

in the equations of x and :math:`\\phi`. This false force does no work, since
:math:`[\\dot x\\ \\ \\dot\\phi]\\,E = 0`: the wrong motion conserves its
energy, and an energy check does not detect it.
:doc:`/theory/hamel_embedding` derives E. A bar in the picture is the disc
seen from above, at the end of a run.

"""
import warnings
from math import cos, pi, sin

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos as Cos, sin as Sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import HamelEmbedding
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model, and two partitions of its coordinates.

m, R, I, J = symbols('m R I J', positive=True)
x, y, theta, phi = q = dynamicsymbols('x y theta phi')
vx, vy, roll, turn = (coordinate.diff() for coordinate in q)
T = (m*(vx**2 + vy**2) + I*roll**2 + J*turn**2)/2
rolling = [vx - R*roll*Cos(phi), vy - R*roll*Sin(phi)]

good = HamelEmbedding(T, q, nonhol_coneqs=rolling, q_dependent=[x, y])
bad = HamelEmbedding.from_method(good, q_dependent=[y, theta])

# The motions. The second partition is valid up to phi = 90 degrees, where the
# conditions cannot be solved for y' and theta'.

start = {x: 0, y: 0, theta: 0, phi: -pi/4,
         vx: 0.4*cos(pi/4), vy: -0.4*sin(pi/4), roll: 4, turn: 2}


def run(equations, t_end):
    compiled = compile_equations(equations, {m: 2, R: 0.1, I: 0.01, J: 0.15})
    states = {state: start[state] for state in compiled.states}
    return compiled, simulate(compiled, t_end, states, rtol=1e-11,
                              atol=1e-13, t_eval=201)


circle = run(good.equations_of_motion, pi)[1]
voronets = run(good.corrected.equations_of_motion, pi)[1]
with warnings.catch_warnings(record=True) as caught:    # wrong equations
    warnings.simplefilter('always')
    equations, wrong = run(bad.equations_of_motion, 1.1)
assert 'wrong for this choice' in str(caught[0].message)
corrected = run(bad.corrected.equations_of_motion, 1.1)[1]
E = np.transpose([equations.expression(row)(wrong.t, wrong.x)
                  for row in bad.embedding.discrepancy])

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 4.2), layout='constrained')
grid = figure.add_gridspec(2, 2, height_ratios=(1.4, 1))
left = figure.add_subplot(grid[0, 0])
right = figure.add_subplot(grid[0, 1])


def draw(panel, motion, name, **style):
    """A path, and the disc at its end in its true length."""
    panel.plot(motion[x], motion[y], label=name, **style)
    ahead = 0.1*np.array([np.cos(motion[phi][-1]), np.sin(motion[phi][-1])])
    end = np.array([motion[x][-1], motion[y][-1]])
    panel.plot(*np.transpose([end - ahead, end + ahead]), alpha=0.35,
               color=style['color'], linewidth=6, solid_capstyle='round')


draw(left, circle, 'Hamel', color='C0', linewidth=3)
draw(left, voronets, 'Voronets', color='k', linestyle='--', linewidth=1)
left.set_title('$q_1 = (x, y)$: Hamel is right')
right.plot(circle[x], circle[y], ':', color='0.6', linewidth=1)
draw(right, wrong, 'Hamel', color='C1', linewidth=3)
draw(right, corrected, 'Voronets', color='k', linestyle='--', linewidth=1)
right.set_title(r'$q_1 = (y, \theta)$: Hamel is wrong')
right.text(0.375, 0.16, 'after 1.1 s')
for panel in left, right:
    panel.plot(0, 0, 'ko', markersize=5, zorder=3)
    panel.annotate('start', (0, 0), (8, 4), textcoords='offset points')
    panel.set(xlim=(-0.12, 0.68), ylim=(-0.14, 0.4), xlabel='x in m',
              ylabel='y in m', xticks=(0, 0.2, 0.4, 0.6),
              yticks=(0, 0.2, 0.4))
    panel.set_aspect('equal')
    panel.legend(loc='upper right')

rim = [(x + R*Sin(theta + k)*Cos(phi), y + R*Sin(theta + k)*Sin(phi),
        R + R*Cos(theta + k)) for k in np.linspace(0, 2*pi, 25)]
plot_snapshots(circle, lines=[rim, (rim[0], rim[12])], times=5,
               ax=figure.add_subplot(grid[1, 0], projection='3d'))
error = figure.add_subplot(grid[1, 1])
error.plot(wrong.t, E[:, 0], color='C1')
error.set(xlabel='t in s', ylabel='E for x in N', ylim=(-4, 4),
          title=r'discrepancy with $q_1 = (y, \theta)$')
error.axhline(0, color='0.7', linewidth=0.8)
error.yaxis.label.set_color('C1')
moment = error.twinx()
moment.plot(wrong.t, E[:, 1], '--', color='C2')
moment.set_ylabel(r'E for $\phi$ in N m', color='C2')
moment.set_ylim(-1, 1)

plt.show()

# All equations except the wrong ones give the circle of radius 0.2 m about a
# centre on the left of the start; E as above; all energies are conserved.

centre = 0.2*sin(pi/4), 0.2*cos(pi/4)
for motion in circle, voronets, corrected:
    radius = np.hypot(motion[x] - centre[0], motion[y] - centre[1])
    assert np.abs(radius - 0.2).max() < 1e-8
    assert np.abs(motion[phi] + pi/4 - 2*motion.t).max() < 1e-8
    assert np.abs(motion[theta] - 4*motion.t).max() < 1e-8
assert np.hypot(wrong[x] - centre[0], wrong[y] - centre[1])[-1] > 0.4
false = 3*np.sin(wrong[phi])/np.cos(wrong[phi])**3*wrong[vx]
assert np.abs(E[:, 0] + false*wrong[turn]).max() < 1e-8
assert np.abs(E[:, 1] - false*wrong[vx]).max() < 1e-8
for motion in circle, voronets, corrected, wrong:
    assert np.abs(motion.energy_error).max() < 1e-9
assert good.validity.holds and bad.validity.holds is False

# %%
# The equations run in this page. Move a slider to change the start.

report(good, circle.x[0], {m: 2, R: 0.1, I: 0.01, J: 0.15},
       points={'P': (x, y, 0)}, lines=[rim, (rim[0], rim[12])],
       title='A disc that stays upright')
