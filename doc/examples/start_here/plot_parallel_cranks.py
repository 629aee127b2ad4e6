"""
A coupler on three parallel cranks
==================================

Three equal cranks swing about fixed pivots and carry one rigid coupler. Two
cranks would suffice: the third repeats their constraints. One of the four loop
equations is redundant, but only where the loops are closed, so algebra alone
does not find it. ``KanesMethod`` refuses the model; ``UdwadiaKalabaMethod``
accepts it unchanged.

==================  ====================================================
constants           crank length ``l`` = 0.5 m, distance of the pivots
                    ``c`` = 0.6 m, mass of a crank ``m`` = 1 kg, of the
                    coupler ``mc`` = 2 kg, gravity ``g`` = 9.81 m/s²
coordinates         ``q1``, ``q2``, ``q3`` of the cranks from the
                    horizontal, ``q4`` of the coupler from the first crank
speeds              ``u1`` to ``u4``, their derivatives, in rad/s
inputs              none
start               at rest, cranks 60° from the hanging position
==================  ====================================================

The mechanism is the *N-four-bar* benchmark with N = 2 (M. González, D. Dopico,
U. Lugrís and J. Cuadrado, *A benchmarking system for MBS simulation software*,
Multibody Syst. Dyn. 16 (2006) 179-190). All cranks turn equally and the
coupler translates, so the exact motion is that of a simple pendulum of length
:math:`\\ell' = l\\,(m + m_c)/(\\frac32 m + m_c)`. Its period with an amplitude
of 60° is :math:`4\\sqrt{\\ell'/g}\\,K(\\frac14)`, where :math:`K(\\frac14) =
1.68575\\,03548` (Abramowitz and Stegun, table 17.1).

"""
from math import pi, sqrt

import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import (
    KanesMethod, PinJoint, RigidBody, System, dynamicsymbols, inertia)

from sympy_constrained import UdwadiaKalabaMethod, constraint_report
from sympy_constrained.models import Model
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.plotting import plot_multipliers, plot_snapshots
from sympy_constrained.report import report

# The model: a SymPy System of pin joints, and two loops to close.

q = q1, q2, q3, q4 = dynamicsymbols('q1:5')
u = u1, u2, u3, u4 = dynamicsymbols('u1:5')
l, c, m, mc, g = symbols('l c m m_c g')


def bar(name, mass, length):
    body = RigidBody(name, mass=mass)
    body.central_inertia = inertia(body.frame, 0, 0, mass*length**2/12)
    return body


ground = RigidBody('ground')
cranks = [bar(f'crank{k}', m, l) for k in range(3)]
coupler = bar('coupler', mc, 2*c)
system = System.from_newtonian(ground)
tips = []
for k, crank in enumerate(cranks):
    system.add_joints(PinJoint(
        f'pivot{k}', ground, crank, q[k], u[k], joint_axis=ground.z,
        parent_point=k*c*ground.x, child_point=-l/2*crank.x))
    tips.append(crank.masscenter.locatenew(f'tip{k}', l/2*crank.x))
system.add_joints(PinJoint(
    'eye0', cranks[0], coupler, q4, u4, joint_axis=ground.z,
    parent_point=l/2*cranks[0].x, child_point=-c*coupler.x))
for k in (1, 2):
    eye = coupler.masscenter.locatenew(f'eye{k}', (k - 1)*c*coupler.x)
    gap = eye.pos_from(tips[k])
    system.add_holonomic_constraints(gap.dot(ground.x), gap.dot(ground.y))
system.apply_uniform_gravity(-g*ground.y)
system.q_ind, system.q_dep = [q1], [q2, q3, q4]
system.u_ind, system.u_dep = [u1], [u2, u3, u4]

# SymPy's method needs as many dependent speeds as constraints.

try:
    system.form_eoms(eom_method=KanesMethod)
    refused = False
except ValueError:
    refused = True

# Change the name.

system.form_eoms(eom_method=UdwadiaKalabaMethod)
method = system.eom_method
found = constraint_report(method, sample={l: 0.5, c: 0.6})

# The motion.

equations = compile_equations(
    method, {l: 0.5, c: 0.6, m: 1, mc: 2, g: 9.81})
start = -pi/2 + pi/3
state = consistent_state(
    equations, {q1: start, q2: start, q3: start, q4: -start,
                u1: 0, u2: 0, u3: 0, u4: 0}, fixed=[q1, u1])


def lowest(t, x):
    return x[0] + pi/2


motion = simulate(equations, 2, state, rtol=1e-10, atol=1e-12, t_eval=201,
                  events=lowest, units=Model.of(method).units)
period = motion.events[2].t - motion.events[0].t

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure, axes = plt.subplot_mosaic([['poses', 'poses'], ['angles', 'forces']],
                                  figsize=(6.5, 3.9), layout='constrained')
plot_snapshots(motion, method, times=[0, 0.3, 0.5], ax=axes['poses'],
               trails=False, legend=False)
axes['angles'].plot(motion.t, np.degrees(motion[q1]), label='$q_1$')
axes['angles'].plot(motion.t, np.degrees(motion[q1] + motion[q4]), '--',
                    label='coupler')
axes['angles'].axvline(period, color='0.5', linestyle=':')
axes['angles'].text(period, 25, f'T = {period:.4f} s ', ha='right')
axes['angles'].set(xlabel='$t$ in s', ylim=(-170, 50),
                   ylabel='angle in degrees')
axes['angles'].legend(loc='upper left')
plot_multipliers(motion, ax=axes['forces'])

plt.show()

# The exact motion.

assert refused
assert (found.rank, len(found.redundant_rows)) == (3, 1)
K = 1.6857503548        # Abramowitz and Stegun, table 17.1, m = 1/4
length = 0.5*(1 + 2)/(1.5*1 + 2)
assert abs(period - 4*sqrt(length/9.81)*K) < 1e-8
assert np.abs(motion[q1] + motion[q4]).max() < 1e-9
assert motion.largest_residual < 1e-10

# %%
# The equations run in this page. Move a slider to change the start.

report(method, dict(zip(equations.states, state)),
       {l: 0.5, c: 0.6, m: 1, mc: 2, g: 9.81},
       title='A coupler on three parallel cranks')
