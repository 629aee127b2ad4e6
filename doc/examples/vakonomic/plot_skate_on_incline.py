"""
A skate on an inclined plane: two principles
============================================

A skate slides on a slope. It turns freely about the normal of the slope and
moves only along its blade. Two principles give different motions. In Routh's
motion the ice acts on the blade sideways, as real ice does. Vakonomic motion
makes the action stationary among all motions along the blade, with one motion
for every initial value of the multiplier. None of them is Routh's.

==================  ====================================================
constants           mass ``m`` = 1 kg, moment of inertia ``J`` = 0.1 kg m²,
                    acceleration down the slope ``a`` = 2 m/s² (a slope of
                    12°)
coordinates         ``x`` down the slope, ``y`` across it, in m; ``phi``
                    heading of the blade, from x to y, in rad
speeds              x', y', phi'
multipliers         ``lam1`` reaction of the ice, in N; ``mu1``, a state, in
                    N s
inputs              none
start               at rest, heading down the slope, turning with
                    ``w`` = 2 rad/s
==================  ====================================================

*Routh.* The rate of turning is constant, and the skate runs on a cycloid
across the slope (Ju. I. Neimark and N. A. Fufaev, *Dynamics of Nonholonomic
Systems*, 1972; V. I. Arnold, V. V. Kozlov and A. I. Neishtadt, *Mathematical
Aspects of Classical and Celestial Mechanics*, 2006, chapter 1):

.. math::

   x = \\frac{a}{2w^2}\\sin^2 wt, \\qquad
   y = \\frac{a}{2w^2}\\left(wt - \\tfrac12\\sin 2wt\\right), \\qquad
   \\lambda = -2ma\\sin wt .

It never gets lower than :math:`a/2w^2`.

*Vakonomic.* The momenta of :math:`L' = L + \\mu g` are
:math:`p_x = m\\dot x + \\mu\\sin\\phi = mat` and
:math:`p_y = m\\dot y - \\mu\\cos\\phi = -\\mu(0)`. If
:math:`(p_x, p_y) = P\\,(\\cos\\beta, \\sin\\beta)`, then

.. math::

   m v = P\\cos(\\phi - \\beta), \\qquad \\mu = P\\sin(\\phi - \\beta), \\qquad
   J\\ddot\\phi = \\frac{P^2}{2m}\\sin 2(\\phi - \\beta) .

So the blade swings about the directions across :math:`P`, faster and faster as
:math:`P` grows, and the skate zigzags down the slope. A bar in the picture is
the blade at the end of a run.

"""
from math import pi

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import RouthMethod, VaccoMethod
from sympy_constrained.methods import hamiltonian_equations
from sympy_constrained.numeric import (
    compile_equations, matching_multipliers, simulate)
from sympy_constrained.report import report

# One model; `routh()` returns the same model with the other principle.

m, J, a = symbols('m J a')
x, y, phi = dynamicsymbols('x y phi')
vx, vy, turn = x.diff(), y.diff(), phi.diff()
L = m*(vx**2 + vy**2)/2 + J*turn**2/2 + m*a*x
skate = VaccoMethod(L, [x, y, phi],
                    nonhol_coneqs=[vx*sin(phi) - vy*cos(phi)])
mu, = skate.mu_vec

# The motions.

constants, w, t_end = {m: 1, J: 0.1, a: 2}, 2, pi
start = {x: 0, y: 0, phi: 0, vx: 0, vy: 0, turn: w}
accurate = dict(t_eval=629, rtol=1e-11, atol=1e-13)
routh = simulate(RouthMethod.from_method(skate), t_end,
                 start, constants=constants, **accurate)
equations = compile_equations(skate, constants)
first = -1.2, -0.5, 0.2
vakonomic = [simulate(equations, t_end, {**start, mu: value}, **accurate)
             for value in first]
matching = matching_multipliers(skate, start, t_end, constants=constants)

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 4.2), layout='constrained')
grid = figure.add_gridspec(2, 2, width_ratios=(1.1, 1))
paths = figure.add_subplot(grid[:, 0])
styles = [('Routh', routh, 'k')] + [
    (value, motion, f'C{i}') for i, (value, motion) in enumerate(zip(
        first, vakonomic))]
for name, motion, colour in styles:
    paths.plot(motion[y], motion[x], color=colour,
               label=None if colour == 'k' else name,
               linewidth=2 if colour == 'k' else 1.2)
    middle = np.array([motion[y][-1], motion[x][-1]])
    ahead = 0.08*np.array([np.sin(motion[phi][-1]), np.cos(motion[phi][-1])])
    paths.plot(*np.transpose([middle - ahead, middle + ahead]),
               color=colour, alpha=0.4, linewidth=6, solid_capstyle='round')
paths.plot(0, 0, 'ko', markersize=5, zorder=3)
paths.annotate('start', (0, 0), (-30, 6), textcoords='offset points')
paths.set(xlabel='y across the slope, in m', ylabel='x down the slope, in m',
          title='paths during 3.14 s', xlim=(-0.45, 1.85), ylim=(2.2, -0.2))
paths.set_aspect('equal')
paths.text(0.8, 0.32, 'Routh', ha='center')
paths.legend(loc='lower right', title='vakonomic,\n$\\mu(0)$ in N s')

headings = figure.add_subplot(grid[:, 1])
for name, motion, colour in styles:
    headings.plot(motion.t, np.degrees(motion[phi]), color=colour,
                  linewidth=2 if colour == 'k' else 1.2)
for across in -90, 90:
    headings.axhline(across, color='0.7', linewidth=0.8)
headings.text(3.2, 90, ' across', va='center')
headings.text(3.2, -90, ' across', va='center')
headings.set(xlabel='t in s', title='heading in degrees', xlim=(0, 3.2),
             yticks=(-90, 0, 90, 180, 360))

plt.show()

# Routh's cycloid and its reaction. No initial multiplier gives it.

t, depth = routh.t, 2/(2*w**2)
assert np.abs(routh[x] - depth*np.sin(w*t)**2).max() < 1e-9
assert np.abs(routh[y] - depth*(w*t - np.sin(2*w*t)/2)).max() < 1e-9
assert np.abs(routh[phi] - w*t).max() < 1e-9
assert np.abs(routh.multipliers[:, 0] + 4*np.sin(w*t)).max() < 1e-8
assert not matching.coincides and matching.residual > 0.1

# The vakonomic motions conserve momenta and energy, and Pontryagin's
# equations, derived independently, end at the same state.

pontryagin = hamiltonian_equations(skate)
names = dict(zip(pontryagin.u, ('p1', 'p2', 'p3')))
for value, motion in zip(first, vakonomic):
    along, across, spin = (equations.expression(p)(motion.t, motion.x)
                           for p in skate.variation.momenta)
    assert np.abs(along - 2*t).max() < 1e-8
    assert np.abs(across + value).max() < 1e-8
    v = motion[vx]*np.cos(motion[phi]) + motion[vy]*np.sin(motion[phi])
    assert np.abs(v**2 + motion[mu]**2 - along**2 - across**2).max() < 1e-8
    assert np.abs(motion.energy_error).max() < 1e-9
    other = simulate(pontryagin, t_end, dict(zip(
        pontryagin.states, (0, 0, 0, 0, -value, 0.1*w))),
        constants=constants, **accurate)
    assert np.abs(other[x] - motion[x]).max() < 1e-7
    assert np.abs(other[phi] - motion[phi]).max() < 1e-7

# %%
# The equations run in this page. Move a slider to change the start.

blade = [(x + k*cos(phi), y + k*sin(phi)) for k in (-0.1, 0.1)]
report(skate, vakonomic[1].x[0], constants, points={'skate': (x, y)},
       lines=[blade], up='-x', title='Vakonomic motion of a skate')
