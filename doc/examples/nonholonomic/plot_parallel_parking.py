"""
Parking a car sideways
======================

Two rows, one for each axle, prevent a car from moving sideways. Manoeuvres
still bring it into a gap. These manoeuvres realise Lie brackets of the
admissible directions *steer* and *drive*,

.. math::

   S = \\partial_\\varphi, \\qquad
   D = \\cos\\theta\\,\\partial_x + \\sin\\theta\\,\\partial_y
   + \\frac{\\tan\\varphi}{b}\\,\\partial_\\theta .

E. Nelson (*Tensor Analysis*, Princeton 1967) calls :math:`W = [S, D]`
*wriggle* and :math:`[W, D]` *slide*. With :math:`\\varphi = 0`

.. math::

   [S, D] = \\frac1b\\,\\partial_\\theta, \\qquad
   [W, D] = \\frac1b\\,(-\\sin\\theta\\,\\partial_x
   + \\cos\\theta\\,\\partial_y) .

Steer by :math:`\\varepsilon`, drive by :math:`\\varepsilon`, undo the first,
undo the second: the car has turned by
:math:`\\varepsilon\\tan\\varepsilon/b\\approx\\varepsilon^2/b`. Use this
wriggle instead of *steer*: the car has moved sideways by about
:math:`\\varepsilon^3/b`.

==================  ====================================================
constants           wheelbase ``b`` = 2.5 m
coordinates         ``x``, ``y`` of the rear axle in m; heading ``theta``,
                    steering angle ``phi`` in rad
rows                no slip across the rear wheels and the front wheels
inputs              none; the manoeuvre is made of turns at a fixed angle
start               at the origin, wheels straight
==================  ====================================================

The growth vector is (2, 3, 4): one bracket for the heading, one of length
three for the position (R. M. Murray, Z. Li and S. S. Sastry, *A Mathematical
Introduction to Robotic Manipulation*, 1994).

For comparison, a pair of wheels on an axle (dotted) makes the loop of *its*
two wheel angles: turn one by :math:`\\varepsilon`, then the other, then turn
both back. The rows imply that the heading is a function of these angles, so it
returns.

The motions are known in closed form, so the page has no living view. For the
derivation see :doc:`/theory/classification`.

"""
from math import cos, sin, tan

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter
from sympy import cos as Cos, sin as Sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod, classify_constraints

# Classification of the rows.

x, y, theta, phi, psi = dynamicsymbols('x y theta phi psi')
vx, vy, turn, wheel, other = (q.diff() for q in (x, y, theta, phi, psi))
B, R = symbols('b R')


def rows_are(q, rows):
    """The classification of rows; masses do not matter."""
    energy = sum(v.diff()**2 for v in q)/2
    return classify_constraints(
        UdwadiaKalabaMethod(energy, q, nonhol_coneqs=rows))


car = rows_are([x, y, theta, phi], [
    vx*Sin(theta) - vy*Cos(theta),
    vx*Sin(theta + phi) - vy*Cos(theta + phi) - B*turn*Cos(phi)])
along = vx*Cos(theta) + vy*Sin(theta)
axle = rows_are([x, y, theta, phi, psi], [
    vx*Sin(theta) - vy*Cos(theta), along + B*turn - R*wheel,
    along - B*turn - R*other])

# The motions are exact: turns and arcs of circles.

b = 2.5


def steer(state, by):
    """Turn the front wheels."""
    x, y, theta, phi = state
    return x, y, theta, phi + by


def drive(state, by):
    """Drive on a circle, or straight on."""
    x, y, theta, phi = state
    rate = tan(phi)/b
    if abs(rate*by) < 1e-14:
        return x + by*cos(theta), y + by*sin(theta), theta, phi
    new = theta + rate*by
    return (x + (sin(new) - sin(theta))/rate,
            y - (cos(new) - cos(theta))/rate, new, phi)


def wriggle(e):
    """Steer, drive, and undo both."""
    return [(steer, e), (drive, e), (steer, -e), (drive, -e)]


def slide(e):
    """Wriggle, drive, and undo both."""
    undone = [(move, -by) for move, by in reversed(wriggle(e))]
    return [*wriggle(e), (drive, e), *undone, (drive, -e)]


def after(moves, state=(0., 0., 0., 0.)):
    """The state after some moves."""
    for move, by in moves:
        state = move(state, by)
    return state


def loop_of_wheels(e, b=0.5, R=0.3):
    """Heading after a loop of the two wheel angles of an axle."""
    heading = 0.
    for first, second in ((e, 0), (0, e), (-e, 0), (0, -e)):
        heading += R*(first - second)/(2*b)
    return abs(heading)


sizes = np.geomspace(0.03, 0.6, 12)
turned = np.array([after(wriggle(e))[2] for e in sizes])
aside = np.array([after(slide(e))[1] for e in sizes])
back = np.array([loop_of_wheels(e) for e in sizes])

# The picture: repeated slides, and the displacement by a small one.

plt.style.use('sympy_constrained.plotting.paper')
figure, (path, orders) = plt.subplots(
    1, 2, figsize=(6.5, 3.5), layout='constrained')
state, e = (0., 0., 0., 0.), 0.6
points, cars = [state], [state]
for _ in range(12):
    for move, by in slide(e):
        for _ in range(8):
            state = move(state, by/8)
            points.append(state)
    cars.append(state)
points = np.array(points)
path.plot(points[:, 0], points[:, 1], color='C0', linewidth=0.8,
          label='rear axle')
for k in (0, 4, 8, 12):
    x0, y0, angle, _ = cars[k]
    path.plot([x0, x0 + b*cos(angle)], [y0, y0 + b*sin(angle)], color='C1',
              linewidth=2.5, label=None if k else 'car after 0, 4, 8, 12')
path.set(title='slides of 0.6 m and 0.6 rad', xlabel='x in m',
         ylabel='y in m')
path.set_aspect('equal', adjustable='datalim')
path.legend()

orders.loglog(sizes, turned, 'o-', color='C0', markersize=4,
              label='heading after a wriggle')
orders.loglog(sizes, aside, 's-', color='C1', markersize=4,
              label='sideways after a slide')
orders.loglog(sizes, sizes**2/b, 'k--', linewidth=0.8,
              label=r'$\varepsilon^2/b$, $\varepsilon^3/b$')
orders.loglog(sizes, sizes**3/b, 'k--', linewidth=0.8)
orders.loglog(sizes, np.maximum(back, 1e-7), 'C2:', linewidth=2,
              label='heading of an axle: 0')
orders.set(title='one bracket and two', xlabel=r'$\varepsilon$',
           ylabel='rad, m')
orders.xaxis.set_minor_formatter(NullFormatter())
orders.set_xticks([0.03, 0.1, 0.3, 0.6], ['0.03', '0.1', '0.3', '0.6'])
orders.legend(loc=(0.3, 0.12))

plt.show()

# The growth vector of the literature, and the orders of the brackets.

assert car.growth_vector == (2, 3, 4) and car.integrals_hidden == 0
assert axle.integrals_hidden == 1
heading, = axle.integrals
assert np.abs(turned - sizes*np.tan(sizes)/b).max() < 1e-12
assert abs(turned[0]*b/sizes[0]**2 - 1) < 1e-3
assert abs(aside[0]*b/sizes[0]**3 - 1) < 0.02
slope = np.diff(np.log(aside[:2]))/np.diff(np.log(sizes[:2]))
assert abs(slope[0] - 3) < 0.03
assert back.max() < 1e-15
