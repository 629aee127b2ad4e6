"""
Stiff rod in place of a constraint
==================================

A double pendulum, whose first rod is rigid and a constraint. The second one is
an elastic, damped rod. The stiffer it is, the closer the motion is to that of
two rigid rods, and the shorter are the steps of explicit integrators.
``method='Rodas5P'`` takes steps as long as the visible motion allows.

==================  ====================================================
constants           masses ``m`` = 1 kg, lengths ``l`` = 1 m, ``g`` = 9.81
                    m/s², stiffness ``k`` from 1e3 to 1e7 N/m, damping ``c``
                    = 0.01 s times ``k``
coordinates         ``x1``, ``y1``, ``x2``, ``y2`` of the particles, y
                    upwards, in m
speeds              their rates
inputs              none
start               at rest, both rods horizontal
==================  ====================================================

Rodas5P is a Rosenbrock method of order 5 with exact Jacobians (G. Steinebach,
BIT Numerical Mathematics 63, 27 (2023)).

"""

import matplotlib.pyplot as plt
import numpy as np
from sympy import sqrt, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import simulate
from sympy_constrained.report import report

# The models.

m, g, l, k, c = symbols('m g l k c', positive=True)
q = x1, y1, x2, y2 = dynamicsymbols('x1 y1 x2 y2')
lagrangian = sum(m*s.diff()**2/2 for s in q) - m*g*(y1 + y2)
rod = sqrt((x2 - x1)**2 + (y2 - y1)**2)
first = x1**2 + y1**2 - l**2

rigid = UdwadiaKalabaMethod(
    lagrangian, q, hol_coneqs=[first, rod**2 - l**2])
pull = k*(rod - l) + c*rod.diff()
elastic = UdwadiaKalabaMethod(
    lagrangian, q, hol_coneqs=[first],
    generalized_forces=[-pull*rod.diff(s) for s in q])

constants, start = {m: 1, g: 9.81, l: 1}, [1, 0, 2, 0, 0, 0, 0, 0]
options = dict(rtol=1e-7, atol=1e-7)
stiffnesses = 10.**np.arange(3, 8)


def swing(stiffness, method, **more):
    """The motion with an elastic rod."""
    return simulate(elastic, 2, start, method=method, constants={
        **constants, k: stiffness, c: stiffness/100}, **options, **more)


# The runs.

times = np.linspace(0, 2, 201)
limit = simulate(rigid, 2, start, constants=constants, t_eval=times, **options)
errors, steps = [], {'DOP853': [], 'Rodas5P': []}
for stiffness in stiffnesses:
    motion = swing(stiffness, 'Rodas5P', t_eval=times)
    errors.append(np.abs(motion.x[:, :4] - limit.x[:, :4]).max())
    for method, counts in steps.items():
        counts.append(swing(stiffness, method).statistics['steps'])

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure, axes = plt.subplots(1, 3, figsize=(6.5, 2.3), layout='constrained')
axes[0].plot(limit[x1], limit[y1], label='first particle')
axes[0].plot(limit[x2], limit[y2], label='second particle')
axes[0].plot(0, 0, 'k^')
axes[0].set(xlabel='x in m', ylabel='y in m', aspect='equal', ylim=(-3.6, 0.3),
            title='rigid rods, 2 s')
axes[0].legend(loc='lower center')
axes[1].loglog(stiffnesses, errors, 'o-')
axes[1].set(xlabel='stiffness in N/m', ylabel='largest distance in m',
            title='from that of rigid rods')
for method, counts in steps.items():
    axes[2].loglog(stiffnesses, counts, 'o-', label=method)
axes[2].set(xlabel='stiffness in N/m', ylabel='steps', title='steps for 2 s')
axes[2].legend()

plt.show()

# The elastic rod tends to a constraint, and only one method keeps pace.

assert errors[-1] < 1e-4
assert all(5 < one/two < 20 for one, two in zip(errors[1:], errors[2:]))
assert steps['DOP853'][-1] > 15*steps['Rodas5P'][-1]

# %%
# The equations run in this page. Move a slider to change the start.

report(elastic, start, {**constants, k: 1e3, c: 10},
       points={'first': (x1, y1), 'second': (x2, y2)},
       lines=[((0, 0), (x1, y1))], springs=[((x1, y1), (x2, y2))],
       title='A rigid and an elastic rod')
