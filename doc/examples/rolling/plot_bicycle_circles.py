"""
Hands-free circles of a bicycle
===============================

A riderless bicycle can roll in a circle for ever: leaning and steering at
constant angles, without a hand on the bars. In the benchmark bicycle such
motions form three families, and every one is a curve. The first begins at the
capsize speed, where straight motion loses its stability. It leads to a bicycle
at rest, upright, with the front wheel across, and backwards to the other side:
a closed loop. In the third the handlebar is turned around.

==================  ====================================================
constants           the 25 of the benchmark: 94 kg in all, wheel base 1.02 m,
                    trail 0.08 m, steer axis tilted by 18°, ...
unknowns            roll ``q2``, pitch ``q4``, steer ``q5`` in rad, and six
                    speeds
cyclic              yaw ``q1``: nothing depends on it
inputs              none
==================  ====================================================

The source is P. Basu-Mandal, A. Chatterjee and J. M. Papadopoulos, *Hands-free
circular motions of a benchmark bicycle*, Proc. R. Soc. A 463 (2007) 1983-2003.
Its table 1 gives a general state and the accelerations there with 13 digits,
which these equations reproduce to the rounding of the state. It reports three
families, and that small sections of two of them are stable. Here these are
turns with a roll of 26.8° to 27.5°, and, with the handlebar turned around, of
35.9° to 46.4°.

:meth:`~sympy_constrained.numeric.SteadyMotion.follow` continues a family by
pseudo-arclength and locates where its stability changes. The page has no
living view; that of :doc:`plot_bicycle` has the same equations.
"""
from math import degrees, pi

import matplotlib.pyplot as plt
import numpy as np

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.models import model
from sympy_constrained.numeric import (
    compile_equations, consistent_state, steady_motions)

bicycle = model('bicycle')
equations = compile_equations(
    bicycle.form(UdwadiaKalabaMethod), bicycle.parameters)
rear = 0.3                                       # radius of the rear wheel

# The state of table 1, and the accelerations there.

table = equations.rhs(0, equations.names.vector({
    'q1': 0, 'q2': pi/2 - 0.9501292851472, 'q4': 3.1257073014894 - pi,
    'q5': -0.2311385135743, 'u1': 0.7830033527065, 'u2': -0.6068425835418,
    'u3': 8.9129896614890, 'u4': -0.0119185528069, 'u5': -0.4859824687093,
    'u6': 8.0133620584155}, 'table 1'))

# Straight motion, and the circles that leave it at the capsize speed.

start = consistent_state(
    equations, {'u3': 3/rear, 'u6': 3/0.35}, fill=0,
    fixed=('q1', 'q2', 'q5', 'u2', 'u3', 'u5'))
upright, = steady_motions(equations, start, fixed=['u3'])
straight = upright.follow(along='u3', until={'u3': (0, 30)}, step=0.5)
weave, capsize = straight.critical
families = [[capsize.motion.follow(direction={'q2': 1}, step=0.6, count=300)]]

# The other families, from rough guesses; each in both directions.

for guess in ({'q2': 0.47, 'q5': 0.6, 'u1': 2.1, 'u3': -11, 'u6': -11},
              {'q2': 0.70, 'q5': 3.09, 'u1': -1.8, 'u3': 17, 'u6': 15}):
    turn, = steady_motions(equations, guess, fill=0, fixed=['q2'])
    families.append([
        turn.follow(direction={'q2': sign}, step=0.8, count=150,
                    until={'q2': (-1.4, 1.4), 'u1': (-6, 6)})
        for sign in (1, -1)])

# The picture: steer and speed over roll. Mirror images are left out.

plt.style.use('sympy_constrained.plotting.paper')
figure, axes = plt.subplots(1, 2, figsize=(6.5, 3.2), layout='constrained')
for i, parts in enumerate(families):
    for k, family in enumerate(parts):
        roll, steer = np.degrees(family['q2']), np.degrees(family['q5'])
        stable = np.array([m.stability == 'stable' for m in family])
        for axis, y in zip(axes, (steer, rear*family['u3'])):
            axis.plot(roll, y, color=f'C{i}', linewidth=1.2,
                      label=None if k else f'family {i + 1}')
            axis.plot(roll, np.where(stable, y, np.nan), color='k',
                      linewidth=4, label='stable' if i == 2 and k else None)
axes[1].plot(0*straight['u3'], rear*straight['u3'], color='0.6',
             linewidth=1)
axes[1].plot(0, rear*capsize.motion['u3'], 'ks', markersize=5)
axes[1].annotate('capsize speed', (0, rear*capsize.motion['u3']), (12, 9.3),
                 arrowprops={'arrowstyle': '-', 'color': '0.6'})
axes[0].set(xlabel='roll in °', ylabel='steer in °', xlim=(-82, 82),
            title='where the front wheel points')
axes[1].set(xlabel='roll in °', ylabel='speed in m/s', xlim=(-82, 82),
            ylim=(-12, 12), title='how fast the rear wheel rolls')
axes[0].legend(loc='center left')

plt.show()

# Published numbers.

rates = dict(zip(equations.names.labels, table))
for name, value in (('u1', 0.8353281706379), ('u2', 7.8555281128244),
                    ('u3', 1.8472554144217), ('u4', 0.1205543897884),
                    ('u5', 4.6198904039403), ('u6', 2.4548072904550)):
    assert abs(rates[name] - value) < 2e-12
assert abs(rear*weave.motion['u3'] - 4.292382536) < 1e-9
assert abs(rear*capsize.motion['u3'] - 6.024262015) < 1e-9

print('accelerations of table 1 agree to',
      f"{max(abs(rates['u1'] - 0.8353281706379), 1e-16):.0e}")
for i, parts in enumerate(families, 1):
    for family in parts:
        print(f'family {i}: {family}')
        for low, high in family.intervals('q2'):
            print(f'  stable from {degrees(low):.3f} to '
                  f'{degrees(high):.3f} degrees of roll')
