"""
An acceleration of constant magnitude
=====================================

A particle on a spring is driven so that its acceleration has the constant
magnitude ``a``. The constraint :math:`|\\ddot r| = a` is of order 2 and
nonlinear in the accelerations. Its base vectors contain accelerations, which
become states. Two motions start from every position and velocity.

==================  ====================================================
constants           mass ``m`` = 1 kg, stiffness ``K`` = 1 N/m, size of the
                    acceleration ``a`` = 3 m/s²
coordinates         ``x``, ``y``, from where the spring is fixed, in m
speeds              ``u_x`` = x', ``u_y`` = y', in m/s
multiplier          ``lam1``, in kg; a state, with u_x' and u_y'
inputs              none
start               at (1.2, -0.5) with the velocity (0.4, 1.1)
==================  ====================================================

The reaction :math:`\\lambda\\,\\ddot r`, by Chetaev's rule of order 2, acts
along the acceleration. So the acceleration is parallel to the spring force,

.. math::

   \\ddot r = \\pm\\frac{a\\,F}{|F|} = \\mp\\frac{a\\,r}{|r|} ,

and the motion depends neither on mass nor on stiffness. On the attracted
branch :math:`\\tfrac12 v^2 + a|r|` is constant, on the repelled branch
:math:`\\tfrac12 v^2 - a|r|`. Gauss's constraint :math:`|\\ddot r - F/m|` is
least on the attracted branch and greatest on the repelled branch, where the
reaction holds the particle against the spring.

Of the seven initial values four are free.
:func:`~sympy_constrained.numeric.consistent_state` finds the others; the guess
of the accelerations selects the branch.

"""

import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, dynamicsymbols)

from sympy_constrained import GibbsAppellMethod
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.report import report

# The model. The class determines the order of the constraint.

m, K, a = symbols('m K a')
x, y, ux, uy = dynamicsymbols('x y u_x u_y')
ax, ay = ux.diff(), uy.diff()
N, O, P = ReferenceFrame('N'), Point('O'), Point('P')
O.set_vel(N, 0)
P.set_pos(O, x*N.x + y*N.y)
particle = GibbsAppellMethod(
    N, [x, y], [ux, uy], [x.diff() - ux, y.diff() - uy],
    nonholonomic_constraints=[(ax**2 + ay**2 - a**2)/2],
    bodies=[Particle('particle', P, m)],
    forcelist=[(P, -K*(x*N.x + y*N.y))])
lam, = particle.lam_vec

# Two starts that differ by the guess of the accelerations.

equations = compile_equations(particle, {m: 1, K: 1, a: 3})
place = {x: 1.2, y: -0.5, ux: 0.4, uy: 1.1}


def motion(guess):
    start = consistent_state(equations, {**place, **guess}, fixed=place,
                             fill=0)
    return simulate(equations, 5, start, t_eval=501, rtol=1e-11, atol=1e-12)


attracted, repelled = motion({ax: -3, ay: 1}), motion({ax: 3, ay: -1})

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 2.9), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(1, 1.15, 1))
choice = figure.add_subplot(grid[:, 0])
circle = np.linspace(0, 2*np.pi, 200)
choice.plot(3*np.cos(circle), 3*np.sin(circle), color='0.6')
force = -np.array([1.2, -0.5])
choice.plot(*np.transpose([-3.1*force, 3.1*force]), ':', color='0.6')


def arrow(start, end, name, color, place):
    choice.annotate('', end, start, arrowprops={
        'arrowstyle': '->', 'color': color, 'linewidth': 1.5,
        'shrinkA': 0, 'shrinkB': 0})
    choice.text(*place, name, color=color)


for run, color in (attracted, 'C0'), (repelled, 'C1'):
    end = run.x[0, 4:6]
    choice.plot(*end, 'o', color=color)
    arrow(force, end, '', color, (0, 0))
arrow((0, 0), force, 'F/m', 'k', force + (0.15, 0.3))
choice.text(-2.35, -0.1, 'reaction\nattracted', color='C0', ha='center',
            va='top')
choice.text(0.9, -1.0, 'reaction\nrepelled', color='C1', ha='center',
            va='top')
choice.plot(0, 0, 'k+')
choice.set(xlabel="u_x' in m/s²", ylabel="u_y' in m/s²", ylim=(-3.9, 3.9),
           xlim=(-3.9, 3.9), xticks=(-3, 0, 3), yticks=(-3, 0, 3),
           title='accelerations at the start')
choice.set_aspect('equal')
paths = figure.add_subplot(grid[:, 1])
for run, color, name in ((attracted, 'C0', 'attracted'),
                         (repelled, 'C1', 'repelled')):
    paths.plot(run[x], run[y], color=color, label=name)
paths.plot(*attracted.x[0, :2], 'ko', markersize=5, zorder=3)
paths.plot(0, 0, 'k+')
paths.set(xlabel='x in m', ylabel='y in m', title='paths during 5 s',
          xlim=(-2.4, 4), ylim=(-2.8, 3.6))
paths.set_aspect('equal')
paths.legend(loc='upper right')
kept = figure.add_subplot(grid[0, 2])
forces = figure.add_subplot(grid[1, 2])
for run, color, sign in (attracted, 'C0', 1), (repelled, 'C1', -1):
    square = (run[ux]**2 + run[uy]**2)/2
    distance = np.hypot(run[x], run[y])
    kept.plot(run.t, square + sign*3*distance, color=color)
    forces.plot(run.t, run.constraint_forces @ [1, 0], color=color)
kept.set(title=r'$\frac{1}{2} v^2 \pm a|r|$ in m²/s²', xticklabels=(),
         ylim=(-5, 7))
forces.set(xlabel='t in s', title='reaction along x in N',
           ylim=(-4, 12))

plt.show()

# Both closed forms, the multiplier, and the conserved relations.

assert particle.constraint_orders == (2,)
for run, sign in (attracted, 1), (repelled, -1):
    distance = np.hypot(run[x], run[y])
    speed = np.hypot(run[ux], run[uy])
    for state, acceleration in zip((x, y), run.x[:, 4:6].T):
        assert np.abs(acceleration + sign*3*run[state]/distance).max() < 1e-8
    square = speed**2/2 + sign*3*distance
    assert np.abs(square - square[0]).max() < 1e-8
    assert np.abs(run[lam] - (1 - sign*distance/3)).max() < 1e-8
    assert run.largest_residual < 1e-9

# %%
# The equations run in this page. Move a slider to change the start.

report(particle, attracted.x[0], {m: 1, K: 1, a: 3},
       title='Constant acceleration')
