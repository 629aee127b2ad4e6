"""
The machine of Appell and Hamel as a rocket
===========================================

A heavy particle climbs at ``k`` times its horizontal speed, and burns fuel.
The constraint is nonlinear in the velocities, and the mass changes. In the
horizontal speed and its heading no constraint equation remains: the
kinematics, nonlinear in the heading, satisfy it.

==================  ====================================================
constants           ratio ``k`` = 0.7, gravity ``g`` = 9.81 m/s², along -z,
                    rate of burning ``beta`` = 0.3 1/s, speed of the exhaust
                    ``c`` = 5 m/s, its angle ``delta``; the initial mass
                    ``m0`` = 1 kg does not affect the motion
coordinates         ``x``, ``y``, ``z``, in m
speeds              ``v`` horizontal, in m/s, ``theta`` its heading, from x
                    to y, in rad; also x', y', z'
inputs              mass :math:`m = m_0 e^{-\\beta t}`
start               at the origin, ``v`` = 6 m/s, ``theta`` = 0.3
==================  ====================================================

The constraint is :math:`\\dot z = k\\sqrt{\\dot x^2 + \\dot y^2}`. The engine
has the thrust :math:`-\\dot m c` in a direction rotated by :math:`\\delta`
from the velocity to its horizontal left. With Chetaev's ideal reaction the
equations are

.. math::

   (1 + k^2)\\,m\\dot v = -kmg - \\dot m c\\cos\\delta\\sqrt{1 + k^2}, \\qquad
   m v^2\\dot\\theta = -\\dot m c v\\sin\\delta ,

so the speed changes at a constant rate :math:`a`, and

.. math::

   v = v_0 + at, \\qquad
   \\theta = \\theta_0 + \\frac{\\beta c\\sin\\delta}{a}\\ln\\frac{v}{v_0},
   \\qquad a = \\frac{\\beta c\\cos\\delta}{\\sqrt{1 + k^2}}
   - \\frac{kg}{1 + k^2} .

:doc:`/theory/gibbs_appell` derives the equations in every classical form (P.
Appell, Rend. Circ. Mat. Palermo 32 (1911) 48-50; R. Qiu, 1995). Points in the
picture are the closed form.

"""

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos, exp, sin, sqrt, symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, dynamicsymbols)

from sympy_constrained import GibbsAppellMethod, thrust
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.report import report

# The particle and its engine. The exhaust is against the unit vectors e along
# the path and n to the left.

m0, k, g, beta, c, delta = symbols('m0 k g beta c delta')
t = dynamicsymbols._t
x, y, z, v, theta = dynamicsymbols('x y z v theta')
m = m0*exp(-beta*t)
N, O, P = ReferenceFrame('N'), Point('O'), Point('P')
O.set_vel(N, 0)
P.set_pos(O, x*N.x + y*N.y + z*N.z)
body = Particle('body', P, m)
weight = P, -m*g*N.z


def engine(e, n):
    return thrust(P, m.diff(t), -c*(cos(delta)*e + sin(delta)*n))


# Speed and heading as speeds.

e = (cos(theta)*N.x + sin(theta)*N.y + k*N.z)/sqrt(1 + k**2)
n = -sin(theta)*N.x + cos(theta)*N.y
machine = GibbsAppellMethod(
    N, [x, y, z], [v, theta],
    [x.diff() - v*cos(theta), y.diff() - v*sin(theta), z.diff() - k*v],
    bodies=[body], forcelist=[weight, engine(e, n)])

# The same model with the constraint in implicit form.

ux, uy, uz = dynamicsymbols('u_x u_y u_z')
e = (ux*N.x + uy*N.y + uz*N.z)/sqrt(ux**2 + uy**2 + uz**2)
n = (-uy*N.x + ux*N.y)/sqrt(ux**2 + uy**2)
implicit = GibbsAppellMethod(
    N, [x, y, z], [ux, uy, uz],
    [x.diff() - ux, y.diff() - uy, z.diff() - uz],
    nonholonomic_constraints=[uz**2 - k**2*(ux**2 + uy**2)],
    bodies=[body], forcelist=[weight, engine(e, n)])

# The motions, for several angles of the engine.

numbers = {m0: 1, k: 0.7, g: 9.81, beta: 0.3, c: 5, delta: 0.4}
start = {x: 0, y: 0, z: 0, v: 6, theta: 0.3}
accurate = dict(t_eval=141, rtol=1e-11, atol=1e-12)
equations = compile_equations(machine, numbers)
angles = 0.4, 0, -0.4, -1.2
motions = [simulate(equations.with_values({delta: angle}), 1.4, start,
                    **accurate) for angle in angles]
other = simulate(implicit, 1.4, {
    x: 0, y: 0, z: 0, ux: 6*np.cos(0.3), uy: 6*np.sin(0.3), uz: 4.2},
    constants=numbers, **accurate)


def closed_form(angle, times):
    """Speed and heading."""
    rate = (1.5*np.cos(angle)/np.sqrt(1.49) - 0.7*9.81/1.49)
    speed = 6 + rate*times
    return speed, 0.3 + 1.5*np.sin(angle)/rate*np.log(speed/6)


# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(1.05, 1.4, 1))
cone = figure.add_subplot(grid[:, 0], projection='3d')
r, turn = np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 2*np.pi, 17))
cone.plot_wireframe(r*np.cos(turn), r*np.sin(turn), 0.7*r, color='0.8',
                    linewidth=0.6)
ahead, left = np.array([1, 0, 0.7])/np.sqrt(1.49), np.array([0, 1, 0])
pushed = 0.8*(np.cos(0.8)*ahead + np.sin(0.8)*left)
tip = np.array([1, 0, 0.7])
for arrow, end, name, color in (
        (0*tip, tip, 'v', 'k'), (tip, 0.8*ahead, 'e', '0.5'),
        (tip, 0.8*left, 'n', '0.5'), (tip, pushed, 'thrust', 'C1')):
    cone.quiver(*arrow, *end, color=color, arrow_length_ratio=0.15)
    cone.text(*arrow + (0.55*end if name == 'v' else 1.22*end), name,
              color=color, ha='center')
arc = np.linspace(0, 0.8, 20)[:, None]
middle = tip + 0.45*(np.cos(arc)*ahead + np.sin(arc)*left)
cone.plot(*middle.T, color='C1', linewidth=1)
cone.text(*middle[10] + 0.12*pushed, r'$\delta$', color='C1')
cone.set(xlim=(-0.9, 1.9), ylim=(-1, 1.2), zlim=(0, 1.3),
         title='velocities that are allowed')
cone.set_box_aspect((2.8, 2.2, 1.3), zoom=1.2)
cone.view_init(elev=42, azim=-110)
cone.axis('off')
paths = figure.add_subplot(grid[:, 1])
speeds, headings = (figure.add_subplot(grid[i, 2]) for i in (0, 1))
for i, (angle, motion) in enumerate(zip(angles, motions)):
    exact = closed_form(angle, motion.t[::14])
    paths.plot(motion[x], motion[y], color=f'C{i}', linewidth=2, label=angle)
    paths.plot(motion[x][-1], motion[y][-1], 'o', color=f'C{i}', markersize=4)
    for panel, state, points in zip(
            (speeds, headings), (v, theta), exact):
        panel.plot(motion.t, motion[state], color=f'C{i}')
        panel.plot(motion.t[::14], points, 'o', mfc='none', color=f'C{i}',
                   markersize=4)
paths.plot(0, 0, 'ko', markersize=5, zorder=3)
paths.annotate('start', (0, 0), (6, -12), textcoords='offset points')
paths.set(xlabel='x in m', ylabel='y in m',
          title='paths from above, during 1.4 s')
paths.legend(title=r'engine at $\delta$ =', ncols=2, loc='lower right',
             fontsize='small')
paths.set_aspect('equal', adjustable='datalim')
speeds.set(title='speed v in m/s', xticklabels=())
headings.set(xlabel='t in s', title=r'heading $\theta$ in rad')

plt.show()

# The closed form, its values after 1 s, and the same motion with the
# constraint as a row, which is satisfied.

for angle, motion in zip(angles, motions):
    for state, expected in zip((v, theta), closed_form(angle, motion.t)):
        assert np.abs(motion[state] - expected).max() < 1e-9
first = motions[0]
assert np.isclose(first.t[100], 1)
assert np.abs(first.x[100, :3] - (
    3.996131204, 1.471081746, 2.983091656)).max() < 1e-9
assert np.abs(first.x[:, :3] - other.x[:, :3]).max() < 1e-8
assert other.largest_residual < 1e-9

# %%
# The equations run in this page. Move a slider to change the start.

report(machine, start, numbers, title='A rocket with a nonlinear constraint')
