"""
Chaplygin's sleigh
==================

A sleigh slides on ice on a blade and two frictionless posts. Its mass centre
is ahead of the blade. Pushed backwards it could move on a straight line for
ever, but the smallest rotation grows: the sleigh turns round and leaves
forwards, again on a straight line and with the same speed. Nothing damps it.
The energy is constant, and the ice does no work. Still, of two steady motions
one is stable and the other is not. This is impossible for Hamiltonian systems,
which preserve volume in state space. No momentum is conserved either, because
the ice exerts a side force.

==================  ====================================================
constants           mass ``m`` = 1.5 kg, moment of inertia ``I`` = 0.18
                    kg m² about the mass centre, which is ``a`` = 0.2 m
                    ahead of the blade
coordinates         ``x``, ``y`` of the blade, in m; heading ``theta``
speeds              ``v`` of the blade, along it, in m/s; ``omega`` in rad/s.
                    The speed ``s`` across the blade is zero
inputs              none
start               backwards with 1 m/s, ``omega`` = 0.01 rad/s
==================  ====================================================

``v`` and ``omega`` are quasi-velocities: they are not both velocities of
coordinates. :class:`.LinearMappingMethod` uses them directly, and two
equations remain (S. A. Chaplygin, 1911; A. M. Bloch, *Nonholonomic Mechanics
and Control*, 2003, the Chaplygin sleigh):

.. math::

   \\dot v = a\\omega^2, \\qquad
   \\dot\\omega = -\\frac{m a}{I + m a^2}\\,v\\,\\omega .

With the speed :math:`v_\\infty` of the straight motions the solution is

.. math::

   v = v_\\infty\\tanh\\kappa t, \\qquad
   \\omega = \\frac{\\Omega}{\\cosh\\kappa t}, \\qquad
   \\Omega = v_\\infty\\sqrt{\\frac{m}{I + m a^2}}, \\qquad
   \\kappa = \\frac{m a\\,v_\\infty}{I + m a^2},

a half ellipse in the plane of v and :math:`\\omega`. The total turn from one
straight line to the other is the integral

.. math::

   \\Delta\\theta = \\frac{\\pi\\,\\Omega}{\\kappa}
   = \\pi\\sqrt{1 + \\frac{I}{m a^2}} ,

at any speed (C. Carathéodory, *Der Schlitten*, Z. Angew. Math. Mech. 13 (1933)
71-76; Ju. I. Neimark and N. A. Fufaev, *Dynamics of Nonholonomic Systems*,
1972). Here it is exactly one turn.

"""
from math import acosh, atan, pi, sqrt, tanh

import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import LinearMappingMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model, in speeds along, across and about the blade.

m, I, a = symbols('m I a', positive=True)
x, y, theta, v, s, omega = dynamicsymbols('x y theta v s omega')
N, B, O, P = ReferenceFrame('N'), ReferenceFrame('B'), Point('O'), Point('P')
B.orient_axis(N, theta, N.z)
B.set_ang_vel(N, omega*N.z)
O.set_vel(N, 0)
P.set_pos(O, x*N.x + y*N.y)
P.set_vel(N, v*B.x + s*B.y)
G = P.locatenew('G', a*B.x)
G.v2pt_theory(P, N, B)
body = RigidBody('sleigh', G, B, m, (inertia(B, 0, 0, I), G))
sleigh = LinearMappingMethod(
    N, [x, y, theta], [v, omega],
    [x.diff() - P.vel(N).dot(N.x), y.diff() - P.vel(N).dot(N.y),
     theta.diff() - omega],
    u_dependent=[s], velocity_constraints=[s], bodies=[body])
side_force, = sleigh.multipliers

# The motion from one nearly straight line to the other.

equations = compile_equations(sleigh, {m: 1.5, I: 0.18, a: 0.2})
exact = dict(rtol=1e-11, atol=1e-13)


def turn_round(compiled, energy, disturbance):
    """The motion, symmetric in time, and the constants of its solution."""
    mass, inert, arm = (compiled.parameters()[compiled.constants.index(c)]
                        for c in (m, I, a))
    straight = sqrt(2*energy/mass)
    fastest = sqrt(2*energy/(inert + mass*arm**2))
    growth = mass*arm*straight/(inert + mass*arm**2)
    before = acosh(fastest/disturbance)
    motion = simulate(compiled, (-before/growth, before/growth), {
        x: 0, y: 0, theta: 0, omega: disturbance,
        v: -straight*tanh(before)}, t_eval=401, **exact)
    return motion, straight, fastest, growth


motion, straight, fastest, growth = turn_round(equations, 0.75, 0.01)
t = motion.t
momenta = equations.expression(1.5*G.vel(N).subs(s, 0).to_matrix(N))(
    t, motion.x)[:, :2, 0]
push = equations.expression(side_force)(t, motion.x)

# Other sleighs: the turn depends only on I/(m*a**2).

ratios = np.array([0.25, 1, 3, 5.25, 8])
turns = [np.ptp(turn_round(compile_equations(
    sleigh, {m: 1.5, I: 0.06*ratio, a: 0.2}), 0.75, 1e-6)[0][theta])
    for ratio in ratios]

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.1), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(1.5, 1, 1))
above = figure.add_subplot(grid[:, 0])
outline = [x*N.x + y*N.y + i*B.x + j*B.y for i, j in (
    (-0.05, -0.16), (0.3, -0.16), (0.38, 0), (0.3, 0.16), (-0.05, 0.16),
    (-0.05, -0.16))]
plot_snapshots(motion, sleigh, lines=[outline], ax=above, legend=False,
               times=t[[0, 110, 160, 187, 213, 240, 290, 400]])
above.set_title('the sleigh from above')
for name, spot in ('start', (0.1, -0.4)), ('end', (0.1, -2.15)):
    above.text(*spot, name, ha='center')

speeds = figure.add_subplot(grid[0, 1])
speeds.plot(t, motion[v], color='C0')
speeds.set(xlabel='t in s', ylabel='v in m/s', title='it turns round')

kept = figure.add_subplot(grid[1, 1])
kept.plot(t, momenta[:, 0], color='C2', label='$p_x$')
kept.plot(t, momenta[:, 1], '--', color='C2', label='$p_y$')
kept.set(xlabel='t in s', ylabel='momentum in N s', ylim=(-1.9, 2.6),
         title='the energy is kept')
kept.legend(loc='upper left', ncols=2)

phase = figure.add_subplot(grid[0, 2])
angle = np.linspace(0, pi, 100)
for part in 0.4, 0.7, 1:
    for sign in -1, 1:
        phase.plot(-part*np.cos(angle), sign*part*fastest*np.sin(angle),
                   color='C0' if (part, sign) == (1, 1) else '0.7',
                   linewidth=1.5 if (part, sign) == (1, 1) else 1)
        phase.annotate('', (0.08*part, sign*part*fastest),
                       (-0.04*part, sign*part*fastest),
                       arrowprops={'arrowstyle': '-|>', 'color': '0.4'})
phase.plot([-1.1, 0], [0, 0], color='C3', linewidth=2.5)
phase.plot([0, 1.1], [0, 0], color='C2', linewidth=2.5)
for name, place, colour in ('unstable', -0.55, 'C3'), ('stable', 0.55, 'C2'):
    phase.text(place, 0.2, name, color=colour, ha='center',
               backgroundcolor='w')
phase.set(xlabel='v in m/s', ylabel=r'$\omega$ in rad/s',
          title='equal energy')

final = figure.add_subplot(grid[1, 2])
curve = np.linspace(0, 8.5, 100)
final.plot(curve, 180*np.sqrt(1 + curve), color='k',
           label=r'$\pi\sqrt{1 + I/ma^2}$')
final.plot(ratios, np.degrees(turns), 'o', color='C1', label='simulated')
final.set(xlabel='$I/ma^2$', ylim=(150, 820), yticks=(180, 360, 540),
          title='turn in degrees')
final.legend(loc='upper left')

plt.show()

# The two equations, their solution, and the whole turn.

ring = I + m*a**2
assert (sleigh.acceleration[0] - a*omega**2).equals(0)
assert (sleigh.acceleration[1] + m*a*v*omega/ring).equals(0)
assert np.abs(motion[v] - straight*np.tanh(growth*t)).max() < 1e-8
assert np.abs(motion[omega] - fastest/np.cosh(growth*t)).max() < 1e-8
gudermannian = 2*np.arctan(np.tanh(growth*t/2))
turned = fastest/growth*(gudermannian + 2*atan(tanh(-growth*t[0]/2)))
assert np.abs(motion[theta] - turned).max() < 1e-7
assert np.abs(turns - pi*np.sqrt(1 + ratios)).max() < 1e-4

# The energy is conserved. The momenta change by the impulse of the side
# force across the blade, (I/ring)*m*v*omega.

assert np.abs(motion.energy_error).max() < 1e-10
across = np.transpose([-np.sin(motion[theta]), np.cos(motion[theta])])
assert np.abs(push - 0.18/0.24*1.5*motion[v]*motion[omega]).max() < 1e-10
rates = np.gradient(momenta, t, axis=0, edge_order=2)
assert np.abs(rates - push[:, None]*across).max() < 3e-3
assert np.ptp(momenta, axis=0).min() > 1

# %%
# The equations run in this page. Move a slider to change the start.

report(sleigh, motion.x[0], {m: 1.5, I: 0.18, a: 0.2}, lines=[outline],
       title="Chaplygin's sleigh")
