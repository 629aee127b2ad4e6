"""
A hanging chain of bars
=======================

Pinned bars hang between two fixed points. Pulled aside and released, the chain
swings until friction in its pins brings it to rest in a known shape: the
tangents of the slopes of its bars increase by equal steps. With more bars it
approaches the catenary. The two multipliers of the loop are the force of the
right support and determine the tension everywhere.

As expanded expressions, the equations of a chain in relative angles grow
exponentially, because every bar depends on all angles before it. As a graph
that computes each part once, their operations grow with the square of the
number of bars.

==================  ====================================================
constants           n = 8 bars of total length ``L`` = 1 m and mass
                    1 kg, so ``l`` = 1/8 m and ``m`` = 1/8 kg; span
                    ``d`` = 0.7 m; friction ``c`` = 0.02 N m s in the pins;
                    ``g`` = 9.81 m/s² along -y
coordinates         ``q1`` of the first bar to the horizontal; ``q2`` to
                    ``q8``, each bar to the one before, in rad
speeds              ``u1`` to ``u8``, their derivatives
inputs              none
start               at rest, pulled aside into a triangle
==================  ====================================================

At rest the horizontal tension H is the same in all pins, and the vertical
force decreases by the weight of a bar, W/n, from each pin to the next. By the
moments about its middle, each bar is parallel to the mean of the forces at its
ends:

.. math::

   \\tan\\theta_i = \\frac{W}{H}\\,\\frac{2i - n - 1}{2n}, \\qquad
   \\frac{L}{n}\\sum_i\\cos\\theta_i = d .

For :math:`n \\to \\infty` this is the catenary of parameter
:math:`a = H L/W`, where :math:`2a\\sinh(d/2a) = L` (E. J. Routh, *A Treatise
on Analytical Statics*, vol. 1, 1891, on strings).

"""
from math import acos, sinh

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq
from sympy import count_ops, symbols
from sympy.physics.mechanics import (
    KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model, for any number of bars.

l, m, d, c, g = symbols('l m d c g')
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)


def chain(n):
    """Arguments for a method."""
    q, u = dynamicsymbols(f'q1:{n + 1}'), dynamicsymbols(f'u1:{n + 1}')
    frame, pins, bodies, loads = N, [O], [], []
    for k in range(n):
        bar = frame.orientnew(f'B{k}', 'axis', [q[k], N.z])
        bar.set_ang_vel(frame, u[k]*N.z)
        centre = pins[-1].locatenew(f'C{k}', l/2*bar.x)
        centre.v2pt_theory(pins[-1], N, bar)
        pins.append(pins[-1].locatenew(f'P{k}', l*bar.x))
        pins[-1].v2pt_theory(pins[-2], N, bar)
        bodies.append(RigidBody(f'bar{k}', centre, bar, m, (
            inertia(bar, 0, 0, m*l**2/12), centre)))
        loads += [(centre, -m*g*N.y), (bar, -c*u[k]*N.z)]
        if k:
            loads.append((frame, c*u[k]*N.z))
        frame = bar
    end = pins[-1].pos_from(O)
    arguments = dict(
        q_ind=q[:-2], q_dependent=q[-2:], u_ind=u[:-2], u_dependent=u[-2:],
        kd_eqs=[a.diff() - b for a, b in zip(q, u)], bodies=bodies,
        configuration_constraints=[end.dot(N.x) - d, end.dot(N.y)],
        velocity_constraints=[pins[-1].vel(N).dot(N.x),
                              pins[-1].vel(N).dot(N.y)],
        forcelist=loads)
    return arguments


def rest(n):
    """Slopes of the bars and horizontal tension, by the formula."""
    steps = 9.81*(np.arange(n) - (n - 1)/2)/n

    def slack(H):
        return np.cos(np.arctan(steps/H)).mean() - 0.7

    H = brentq(slack, 0.1, 100, xtol=1e-14)
    return np.arctan(steps/H), H


def numbers(n):
    return {l: 1/n, m: 1/n, d: 0.7, c: 0.02, g: 9.81}


# The motion: the third pin of eight bars is pulled aside.

n = 8
arguments = chain(n)
method = UdwadiaKalabaMethod(N, **arguments)
equations = compile_equations(method, numbers(n))
left, right = 3/8, 5/8
down = acos((0.7**2 + left**2 - right**2)/(2*0.7*left))
up = acos((0.7**2 + right**2 - left**2)/(2*0.7*right))
start = [-down, 0, 0, down + up, 0, 0, 0, 0]
motion = simulate(equations, 8, dict(zip(equations.states, start + n*[0])),
                  rtol=1e-7, atol=1e-9, t_eval=801)

# Other chains: at rest in the known shape, and the sizes of the equations.

sizes, tensions, still, forces = {}, {}, {}, {}
for count in (3, 4, 5, n):
    made = method if count == n else UdwadiaKalabaMethod(N, **chain(count))
    sizes[count] = made.equations_of_motion.graph.operation_count(('W', 'r'))
    ready = compile_equations(made, numbers(count))
    slopes, tensions[count] = rest(count)
    state = np.concatenate([np.diff(slopes, prepend=0), np.zeros(count)])
    still[count] = ready.accelerations(0, state)
    forces[count] = ready.multipliers(0, state)
written = {}
for count in (3, 4, 5):
    kane = KanesMethod(N, **chain(count))
    kane.kanes_equations()
    written[count] = int(count_ops(kane.mass_matrix_full)
                         + count_ops(kane.forcing_full))

# The catenary.

a = brentq(lambda a: 2*a*sinh(0.35/a) - 1, 0.05, 10, xtol=1e-15)
along = np.linspace(-0.35, 0.35, 200)
catenary = a*(np.cosh(along/a) - np.cosh(0.35/a))

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.4), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(1.6, 1, 1))
sketch = figure.add_subplot(grid[:, 0])
plot_snapshots(motion, method, times=motion.t[[0, 10, 20, 32, 800]], ax=sketch,
               trails=False, legend=False)
sketch.plot(along + 0.35, catenary, 'k--', linewidth=1, label='catenary')
sketch.set_title('eight bars')
sketch.legend(loc='upper center', bbox_to_anchor=(0.5, -0.16))

support = figure.add_subplot(grid[0, 1])
for k, known, name in (0, tensions[n], 'x'), (1, 9.81/2, 'y'):
    support.plot(motion.t, motion.multipliers[:, k],
                 color=f'C{2*k}', linewidth=1, label=name)
    support.axhline(known, color='k', linestyle='--', linewidth=0.8)
support.set(xlabel='t in s', title='right support in N')
support.legend(ncols=2)

lines = figure.add_subplot(grid[1, 1])
final = np.cumsum(motion.x[-1, :n])
lines.plot(np.arange(1, n + 1), np.tan(final), 'o', color='C0')
lines.plot([1, n], np.tan(rest(n)[0][[0, -1]]), 'k--', linewidth=1)
lines.set(xlabel='bar', title='slopes at rest', xticks=range(1, n + 1))

limit = figure.add_subplot(grid[0, 2])
counts = np.arange(3, 33)
limit.plot(counts, [rest(count)[1] for count in counts], '.', color='0.5',
           label='formula')
limit.plot(list(forces), [force[0] for force in forces.values()], 'o',
           color='C0', markerfacecolor='none', label='multiplier')
limit.axhline(9.81*a, color='k', linestyle='--', linewidth=1)
limit.set(xlabel='number of bars', title='tension in N')
limit.legend(loc='lower right')

growth = figure.add_subplot(grid[1, 2])
growth.loglog(list(written), list(written.values()), 's-', color='C3',
              label='written out')
growth.loglog(list(sizes), list(sizes.values()), 'o-', color='C0',
              label='as a graph')
growth.set(xlabel='number of bars', ylim=(50, 4e7), xlim=(2.7, 9),
           title='operations')
growth.set_xticks([3, 4, 5, 8], ['3', '4', '5', '8'], minor=False)
growth.set_xticks([], minor=True)
growth.legend(loc='upper left')

plt.show()

# The chain has come to rest in the known shape, and all chains stay in it. The
# error of a chain of n bars against the catenary falls with 1/n**2.

assert np.abs(final - rest(n)[0]).max() < 1e-5
assert np.abs(motion.multipliers[-1] - (tensions[n], 9.81/2)).max() < 1e-4
for count, force in forces.items():
    assert np.abs(still[count]).max() < 1e-9
    assert np.abs(force - (tensions[count], 9.81/2)).max() < 1e-10
errors = [count**2*(9.81*a - rest(count)[1]) for count in (64, 128, 256)]
assert np.ptp(errors) < 1e-2*abs(errors[-1])
assert motion.largest_residual < 1e-11
assert np.abs(motion.energy_error).max() < 1e-6

# Each bar multiplies the expressions by four or five. The graph grows with the
# square of the number of bars.

assert min(written[4]/written[3], written[5]/written[4]) > 3.5
assert max(size/count**2 for count, size in sizes.items()) < 25
assert sizes[8]/sizes[4] < 3

# %%
# The equations run in this page. Move a slider to change the start.

report(method, motion.x[0], numbers(n), title='A hanging chain')
