"""
An upright disc: Routh and vakonomic motion
===========================================

A disc rolls upright on a horizontal plane. In Routh's motion the multipliers
of the rolling conditions are reactions: both rates stay constant, and the disc
runs on a circle. In vakonomic motion the multipliers ``mu`` are states with
free initial values. Nearly all of them give motions that no real disc makes,
but one pair gives Routh's circle. For this system every Routh motion is also
vakonomic; for a skate on a slope (:doc:`plot_skate_on_incline`) none is.

==================  ====================================================
constants           mass ``m`` = 1.5 kg, radius ``R`` = 0.5 m, moments of
                    inertia ``I`` = 0.4 kg m² about the axle, ``J`` = 0.3
                    kg m² about the vertical
coordinates         ``x``, ``y`` of the point of contact, in m;
                    ``theta`` rolling angle, ``phi`` heading, in rad
speeds              their derivatives
multipliers         ``lam1``, ``lam2`` in N; ``mu1``, ``mu2``, states, in N s
inputs              none
start               at the origin, heading 0.2 rad, with 3 rad/s about the
                    axle and 0.8 rad/s about the vertical
==================  ====================================================

*Routh.* :math:`\\dot\\theta` and :math:`\\dot\\phi` are constant. The radius
of the circle is :math:`R\\dot\\theta/\\dot\\phi`, and the friction is the
centripetal force :math:`m R\\dot\\theta\\dot\\phi` (A. M. Bloch, *Nonholonomic
Mechanics and Control*, 2003, the vertical rolling disk).

*Vakonomic.* With :math:`L' = L + \\mu\\cdot g` the momenta
:math:`m\\dot x + \\mu_1 = P\\cos\\beta` and
:math:`m\\dot y + \\mu_2 = P\\sin\\beta` are constant, and so is

.. math::

   (I + mR^2)\\,\\dot\\theta - R P\\cos(\\phi - \\beta), \\qquad\\text{while}
   \\qquad J\\ddot\\phi = R P\\,\\dot\\theta\\,\\sin(\\phi - \\beta).

So the heading moves like a pendulum about the direction :math:`\\beta + 180°`
of :math:`-P`, or rotates past it. For :math:`P = 0` it turns at a constant
rate: the pair :math:`\\mu = -m(\\dot x, \\dot y)`, for which the motions
coincide (O. E. Fernandez and A. M. Bloch, J. Phys. A 41 (2008) 344005;
:doc:`/theory/routh_and_vacco`). A bar in the picture is the disc seen from
above at the end of a run.

"""
from math import cos, sin

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos as Cos, sin as Sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import RouthMethod, VaccoMethod
from sympy_constrained.methods import hamiltonian_equations
from sympy_constrained.numeric import (
    compile_equations, matching_multipliers, simulate)
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# One model for both principles.

m, R, I, J = symbols('m R I J', positive=True)
q = x, y, theta, phi = dynamicsymbols('x y theta phi')
vx, vy, roll, turn = (coordinate.diff() for coordinate in q)
L = (m*(vx**2 + vy**2) + I*roll**2 + J*turn**2)/2
vacco = VaccoMethod(L, q, multipliers='mu1 mu2', nonhol_coneqs=[
    vx - R*roll*Cos(phi), vy - R*roll*Sin(phi)])
mu1, mu2 = vacco.mu_vec

# The motions, and the pair of multipliers with which they coincide.

constants = {m: 1.5, R: 0.5, I: 0.4, J: 0.3}
start = {x: 0, y: 0, theta: 0, phi: 0.2, vx: 1.5*cos(0.2), vy: 1.5*sin(0.2),
         roll: 3, turn: 0.8}
exact = dict(t_eval=401, rtol=1e-11, atol=1e-13)
t_end = 8
routh = simulate(RouthMethod.from_method(vacco), t_end,
                 start, constants=constants, **exact)
matching = matching_multipliers(vacco, start, t_end, constants=constants)
equations = compile_equations(vacco, constants)
pairs = [tuple(matching.mu0), (0.3, -0.2), (-2.2, 0.5)]
vakonomic = [simulate(equations, t_end, {**start, mu1: one, mu2: two}, **exact)
             for one, two in pairs]

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.1), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(1, 1.6, 1))
rim = [(x + R*Sin(theta + k)*Cos(phi), y + R*Sin(theta + k)*Sin(phi),
        R + R*Cos(theta + k)) for k in np.linspace(0, 2*np.pi, 25)]
plot_snapshots(routh, lines=[rim, (rim[0], rim[12])], times=6,
               ax=figure.add_subplot(grid[:, 0], projection='3d'))
paths = figure.add_subplot(grid[:, 1])
headings = figure.add_subplot(grid[0, 2])
rolling = figure.add_subplot(grid[1, 2])
styles = [('Routh', routh, dict(color='k', linewidth=3.5))] + [
    (f'{one:.2f}, {two:.2f}', motion, dict(color=colour, linewidth=1.3))
    for (one, two), motion, colour in zip(pairs, vakonomic,
                                          ('C1', 'C0', 'C2'))]
for name, motion, style in styles:
    paths.plot(motion[x], motion[y], label=name, **style)
    headings.plot(motion.t, np.degrees(motion[phi])/360, **style)
    rolling.plot(motion.t, motion[roll], **style)
    end, angle = np.array([motion[x][-1], motion[y][-1]]), motion[phi][-1]
    bar = 0.5*np.array([np.cos(angle), np.sin(angle)])
    paths.plot(*np.transpose([end - bar, end + bar]), alpha=0.4,
               color=style['color'], linewidth=6, solid_capstyle='round')
paths.plot(0, 0, 'ko', markersize=5, zorder=3)
paths.annotate('start', (0, 0), (-44, -14), textcoords='offset points')
paths.set(xlabel='x in m', ylabel='y in m', xlim=(-3.1, 7.5),
          ylim=(-5.5, 4.3), title='paths of the contact during 8 s')
paths.set_aspect('equal')
paths.legend(loc='lower right',
             title='Routh, and vakonomic\nwith $\\mu(0)$ in N s')
headings.set(xlabel='t in s', title=r'turns of the heading $\phi$')
rolling.axhline(0, color='0.7', linewidth=0.8)
rolling.set(xlabel='t in s', title=r"$\dot\theta$ in rad/s")

plt.show()

# Routh's circle, its friction, and the multipliers that give it.

t = routh.t
assert np.abs(np.hypot(routh[x] + 1.875*sin(0.2), routh[y] - 1.875*cos(0.2))
              - 0.5*3/0.8).max() < 1e-8
assert np.abs(np.hypot(*routh.multipliers.T) - 1.5*0.5*3*0.8).max() < 1e-8
assert matching.coincides and matching.free == 0
assert np.abs(matching.mu0 + 1.5*np.array([start[vx], start[vy]])).max() < 1e-8
for coordinate in q:
    assert np.abs(vakonomic[0][coordinate] - routh[coordinate]).max() < 1e-7

# The integrals of vakonomic motion, and the pendulum. Pontryagin's equations,
# derived independently, end at the same state.

pontryagin = hamiltonian_equations(vacco)
for (one, two), motion in zip(pairs, vakonomic):
    px = 1.5*motion[vx] + motion[mu1]
    py = 1.5*motion[vy] + motion[mu2]
    assert max(np.ptp(px), np.ptp(py)) < 1e-8
    assert np.ptp(0.775*motion[roll] - 0.5*(
        px*np.cos(motion[phi]) + py*np.sin(motion[phi]))) < 1e-8
    turning = equations.accelerations(t, motion.x)[:, 3]
    assert np.abs(0.3*turning - 0.5*motion[roll]*(
        px*np.sin(motion[phi]) - py*np.cos(motion[phi]))).max() < 1e-9
    assert motion.largest_residual < 1e-11
    assert np.abs(motion.energy_error).max() < 1e-9
    other = simulate(pontryagin, t_end, dict(zip(pontryagin.states, (
        0, 0, 0, 0.2, px[0], py[0], 0.4*3 - 0.5*(
            one*cos(0.2) + two*sin(0.2)), 0.3*0.8))),
        constants=constants, **exact)
    for coordinate in q:
        assert np.abs(other[coordinate] - motion[coordinate]).max() < 1e-7

# Values at 4 s for the second pair, for other programs to compare.

at_four = np.array([vakonomic[1][coordinate][200] for coordinate in q])
assert np.abs(at_four - (
    2.713544394, 0.368512016, 7.462829544, 12.239837855)).max() < 1e-8

# %%
# The equations run in this page. Move a slider to change the start.

report(vacco, vakonomic[1].x[0], constants, points={'P': (x, y, 0)},
       lines=[rim, (rim[0], rim[12])], title='Vakonomic motion of a disc')
