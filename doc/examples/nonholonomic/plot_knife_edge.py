"""
A knife edge heading across the slope
=====================================

A skate slides on an inclined plane and turns freely. Its blade does not slip
sideways: ``vx*sin(theta) = vy*cos(theta)``. To embed this constraint you must
choose a dependent velocity, and every choice is singular somewhere. With
``vy`` as the dependent speed, ``cos(theta)`` is a divisor, and ``KanesMethod``
returns ``nan`` where the blade points straight across the slope, ``theta =
pi/2``. The motion is regular there. Udwadia and Kalaba's equations need no
choice: their rows keep their length at all headings. So the skate can start at
this heading.

==================  ====================================================
constants           mass ``m`` = 1.2 kg, moment of inertia ``I`` = 0.05
                    kg m², ``g`` = 9.81 m/s², slope ``alpha`` = 12°
coordinates         ``x`` down the slope, ``y`` across it, in m; heading
                    ``theta`` of the blade, from x to y, in rad
speeds              ``vx``, ``vy`` in m/s, ``omega`` in rad/s
inputs              none
start               heading 90°, ``omega`` = 2 rad/s, and a speed ``v0`` of
                    0, 1 or 2 m/s along the blade
==================  ====================================================

Along the blade :math:`\\dot v = g\\sin\\alpha\\cos\\theta`, and no moment
turns the skate, so with :math:`c = v_0 - g\\sin\\alpha/\\omega`

.. math::

   v = c + \\frac{g\\sin\\alpha}{\\omega}\\sin\\theta, \\qquad
   \\theta = \\frac{\\pi}{2} + \\omega t, \\qquad
   \\lambda = -m(\\omega v + g\\sin\\alpha\\sin\\theta) .

The path combines a circle of radius :math:`c/\\omega` and a cycloid (the
cycloid: Ju. I. Neimark and N. A. Fufaev, *Dynamics of Nonholonomic Systems*,
1972; A. M. Bloch, *Nonholonomic Mechanics and Control*, 2003, the knife edge
on an inclined plane). At any initial speed the skate drifts sideways with the
mean velocity :math:`g\\sin\\alpha/2\\omega`, and never down. The multiplier is
the side force on the blade. Divided by the normal force it is the coefficient
of friction that a wheel instead of the blade would need.

"""
from math import cos, pi, radians, sin

import matplotlib.pyplot as plt
import numpy as np
from sympy import Matrix, Rational, cos as Cos, lambdify, pi as Pi
from sympy import sin as Sin, symbols
from sympy.physics.mechanics import (
    KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model in the form of KanesMethod: vy is the dependent speed.

m, I, g, alpha = symbols('m I g alpha')
x, y, theta, vx, vy, omega = dynamicsymbols('x y theta v_x v_y omega')
N, B, O = ReferenceFrame('N'), ReferenceFrame('B'), Point('O')
B.orient_axis(N, theta, N.z)
B.set_ang_vel(N, omega*N.z)
O.set_vel(N, 0)
C = O.locatenew('C', x*N.x + y*N.y)
C.set_vel(N, vx*N.x + vy*N.y)
skate = RigidBody('skate', C, B, m, (inertia(B, 0, 0, I), C))
arguments = dict(
    q_ind=[x, y, theta], u_ind=[vx, omega], u_dependent=[vy],
    kd_eqs=[x.diff() - vx, y.diff() - vy, theta.diff() - omega],
    velocity_constraints=[vx*Sin(theta) - vy*Cos(theta)],
    bodies=[skate], forcelist=[(C, m*g*Sin(alpha)*N.x)])

kane = KanesMethod(N, **arguments)
kane.kanes_equations()
method = UdwadiaKalabaMethod(N, **arguments)

# The same state for both, in exact numbers: at a right angle.

numbers = {m: 1.2, I: 0.05, g: 9.81, alpha: radians(12)}
there = {theta: Pi/2, vx: 0, vy: Rational(4, 5), omega: 2}
singular = kane.mass_matrix.xreplace(there).doit()
regular = method.acceleration.xreplace(there).doit()

# The motions, and how well conditioned the equations are at all headings.

rate, pull = 2, 9.81*sin(radians(12))
equations = compile_equations(method, numbers)
motions = {v0: simulate(
    equations, 2*pi, {x: 0, y: 0, theta: pi/2, vx: 0, vy: v0, omega: rate},
    rtol=1e-11, atol=1e-13, t_eval=401) for v0 in (0, 1, 2)}

headings = np.linspace(0, pi, 401)
state = (theta, vx, vy, omega)
conditions = []
for matrix in (kane.mass_matrix, method.equations_of_motion.W):
    at = lambdify([theta], Matrix(matrix).xreplace(numbers))
    conditions.append([np.linalg.cond(np.array(at(angle), dtype=float))
                       for angle in headings])

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.2), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(0.8, 1.5, 1))


def arrow(panel, foot, tip, **style):
    """An arrow between points (x, y); x goes down, y to the right."""
    panel.annotate('', tip[::-1], foot[::-1], arrowprops={
        'arrowstyle': '-|>', 'shrinkA': 0, 'shrinkB': 0, **style})


for k in (-0.2, 0.2):       # the blade, as points fixed in the skate
    C.locatenew('end', k*B.x)
sketch = figure.add_subplot(grid[:, 0])
plot_snapshots(motions[1], method, times=[0, 0.4, 0.8], view='yx', ax=sketch,
               trails=False, legend=False)
sketch.invert_yaxis()
sketch.set_title('seen from above')
paths = figure.add_subplot(grid[:, 1], label='thumbnail')
force = figure.add_subplot(grid[0, 2])
for number, (v0, motion) in enumerate(motions.items()):
    paths.plot(motion[y], motion[x], color=f'C{number}',
               label=f'$v_0$ = {v0} m/s')
    force.plot(motion.t, -motion.multipliers[:, 0]/(
        1.2*9.81*cos(radians(12))), color=f'C{number}')
paths.plot(0, 0, 'ko', markersize=5)
paths.annotate('start', (0, 0), (-34, 8), textcoords='offset points')
arrow(paths, np.array([-1.3, 0.25]), np.array([-1.3, 0.25 + pi*pull/rate]),
      color='0.3')
paths.text(0.25 + pi*pull/rate/2, -1.36, 'drift, two turns', ha='center',
           color='0.3')
paths.set(xlabel='y across the slope, in m', ylabel='x down the slope, in m',
          xlim=(-0.6, 3.55), ylim=(2.7, -1.65), title='paths during 6.28 s')
paths.set_aspect('equal')
paths.legend(loc='lower right')
force.axhline(0, color='0.7', linewidth=0.8)
force.set(xlabel='t in s', title='side force / weight')
condition = figure.add_subplot(grid[1, 2])
condition.semilogy(np.degrees(headings), conditions[0], color='C3',
                   label='vy dependent')
condition.semilogy(np.degrees(headings), conditions[1], color='k',
                   label='no choice')
condition.set(xlabel=r'heading $\theta$ in degrees', ylim=(10, 1e9),
              xticks=(0, 45, 90, 135, 180), title='condition number')
condition.legend(loc='upper left')

plt.show()

# At a right angle one matrix has no finite entries, the other equations the
# closed form; the other singular headings are those of the other choice.

assert not all(entry.is_finite for entry in singular)
assert regular == Matrix([-Rational(8, 5), 0, 0])
assert max(conditions[0]) > 1e12 and max(conditions[1]) < 100

# The circle and the cycloid, the side force, and the drift at any speed.

for v0, motion in motions.items():
    t, angle, c = motion.t, pi/2 + rate*motion.t, v0 - pull/rate
    assert np.abs(motion[theta] - angle).max() < 1e-9
    assert np.abs(motion[x] - c/rate*(np.sin(angle) - 1)
                  + pull/(2*rate**2)*np.cos(angle)**2).max() < 1e-9
    assert np.abs(motion[y] + c/rate*np.cos(angle) - pull/(2*rate**2)*(
        rate*t - np.sin(2*angle)/2)).max() < 1e-9
    v = c + pull/rate*np.sin(angle)
    assert np.abs(motion.multipliers[:, 0] + 1.2*(
        rate*v + pull*np.sin(angle))).max() < 1e-8
    assert abs(motion[x][-1]) < 1e-9
    assert abs(motion[y][-1]/t[-1] - pull/(2*rate)) < 1e-9
    assert motion.largest_residual < 1e-12
    assert np.abs(motion.energy_error).max() < 1e-9

# %%
# The equations run in this page. Move a slider to change the start.

report(method, motions[1].x[0], numbers, up='-x',
       title='A knife edge on a slope')
