"""
The shortest way into a parking space
=====================================

A car drives forward and backward with a least radius of turn :math:`R`. Which
is the shortest way to a place beside the car? J. A. Reeds and L. A. Shepp
(*Optimal paths for a car that goes both forwards and backwards*, Pacific J.
Math. 145 (1990) 367-393) proved that arcs of radius :math:`R` and straight
lines are enough, and which sequences of them.

==================  ====================================================
constants           mass 1 kg, moment of inertia 1 kg m²; ``R`` = 1 m
coordinates         ``x``, ``y`` in m; heading ``theta`` in rad
speeds              their derivatives; one row, no slip to the side
controls            force ``F`` along the heading in N, torque ``tau`` in
                    N m, without bounds
bounds              speed 1 m/s either way, turning rate 1 rad/s
cost                the time, which is the length in m
==================  ====================================================

For small distances the way consists of four arcs: a short one backward, two
longer ones forward, to the left and to the right, and a short one backward.
With the length :math:`2\\varphi R` it leads aside by

.. math::

   d = 2R\\,\\bigl(\\sqrt{4 - \\sin^2\\varphi} - 1 - \\cos\\varphi\\bigr) .

So :math:`2(\\sqrt3 - 1)\\,R`, about one and a half radii, takes a length of
:math:`\\pi R`.

Bounds of speed and turning rate also allow turns on the spot. They do not
shorten the way (H. J. Sussmann and G. Tang, *Shortest paths for the
Reeds-Shepp car*, Rutgers SYCON report 91-10, 1991).

Controls are polygons, so the turning rate needs an interval to change. The
length is therefore too long by an amount that decreases with the square of the
interval.

"""
from math import pi, sqrt

import matplotlib.pyplot as plt
import numpy as np
from sympy import Matrix, cos, sin
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.optimal import optimal_motion
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

x, y, theta, F, tau = dynamicsymbols('x y theta F tau')
vx, vy, omega = x.diff(), y.diff(), theta.diff()
car = UdwadiaKalabaMethod(
    (vx**2 + vy**2 + omega**2)/2, [x, y, theta],
    nonhol_coneqs=[vx*sin(theta) - vy*cos(theta)],
    generalized_forces=[F*cos(theta), F*sin(theta), tau])
speed = vx*cos(theta) + vy*sin(theta)


def aside(length):
    """How far four arcs of this total length lead."""
    s, c = np.sin(length/2), np.cos(length/2)
    return 2*(np.sqrt(4 - s**2) - 1 - c)


def way(distance, intervals=80):
    """The fastest motion to a place beside the start."""
    return optimal_motion(
        car, 1, (0, (0.5, 10)), {x: 0, y: 0, theta: 0},
        {x: 0, y: distance, theta: 0}, [F, tau],
        bounds={speed: (-1, 1), omega: (-1, 1)},
        guess={theta: [0, 1, 0], F: [1, -1, -1, 1]}, intervals=intervals,
        nodes=4)


lengths = np.array([1.8, 2.4, pi])
ways = [way(d) for d in aside(lengths)]
coarse = way(aside(pi), 40)

# The picture: the last way, with the car every 0.3 s, and all lengths.

plt.style.use('sympy_constrained.plotting.paper')
figure, (plan, graph) = plt.subplots(
    1, 2, figsize=(6.5, 3.4), layout='constrained')
best = ways[-1]
forward = (best[vx]*np.cos(best[theta]) + best[vy]*np.sin(best[theta])) > 0
for sign, colour, name in (
        (forward, 'C0', 'forward'), (~forward, 'C1', 'backward')):
    plan.plot(np.where(sign, best[x], np.nan), np.where(sign, best[y], np.nan),
              color=colour, linewidth=2, label=name)
ahead = Matrix([[cos(theta), -sin(theta)], [sin(theta), cos(theta)]])
outline = [tuple(Matrix([x, y]) + ahead*Matrix(corner)) for corner in (
    (-0.15, -0.1), (0.35, -0.1), (0.35, 0.1), (-0.15, 0.1), (-0.15, -0.1))]
plot_snapshots(best.motion, lines=[outline], times=11, ax=plan)
plan.set(xlabel='x in m', ylabel='y in m',
         title=r'aside by $2(\sqrt{3} - 1)$ m')
plan.legend()
curve = np.linspace(1e-3, pi, 100)
graph.plot(aside(curve), curve, color='0.5', label='four arcs, closed form')
graph.plot(aside(lengths), [best.cost for best in ways], 'o',
           label='least time')
graph.plot(aside(pi), pi, 'k+', markersize=12, label=r'$\pi$')
graph.set(xlabel='distance aside in m', ylabel='length in m')
graph.legend()

plt.show()

assert abs(aside(pi) - 2*(sqrt(3) - 1)) < 1e-12
for length, best in zip(lengths, ways):
    assert 0 < best.cost/length - 1 < 2e-3
assert best.error < 1e-6
assert coarse.cost - pi > 2.5*(best.cost - pi)

# %%
# The equations run in this page. Move a slider to change the start.

report(best.equations, best.motion.x[0], points={'car': (x, y)},
       lines=[outline], title='The shortest way into a parking space')
