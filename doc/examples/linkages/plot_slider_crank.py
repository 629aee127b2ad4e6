"""
Forces in a slider-crank at constant speed
==========================================

A crank turns at 3000 revolutions per minute and drives a piston through a
connecting rod. Textbooks keep two harmonics of the piston acceleration,
:math:`-r\\omega^2(\\cos\\theta + \\kappa\\cos2\\theta)` with :math:`\\kappa =
r/l`, which is exact only at the dead centres. Here the mechanism is built from
joints, two constraints close the loop, and a third one, :math:`q_1 = \\omega
t`, turns the crank. No freedom is left. The unknowns are the forces: the
multipliers of the loop are the forces in the gudgeon pin, and the multiplier
of the drive is its torque.

==================  ====================================================
constants           crank radius ``r`` = 0.05 m, rod ``l`` = 0.15 m; masses
                    of crank, rod (both uniform) and piston ``m1`` = 0.8,
                    ``m2`` = 0.6, ``m3`` = 0.5 kg; ``omega`` = 314.2 rad/s
coordinates         ``q1`` of the crank, ``q2`` of the rod against the
                    crank, in rad; ``q3`` of the piston, in m
speeds              ``u1``, ``u2``, ``u3``, their derivatives
inputs              none; the drive is a constraint that contains time
start               outer dead centre
==================  ====================================================

With :math:`\\sin\\beta = \\kappa\\sin\\theta` the exact acceleration is

.. math::

   \\ddot x = -r\\omega^2\\left(\\cos\\theta + \\frac{\\kappa\\cos2\\theta
   + \\kappa^3\\sin^4\\theta}{\\cos^3\\beta}\\right).

It vanishes, and the piston is fastest, where :math:`\\sigma = \\sin^2\\theta`
is a root of :math:`\\kappa^4\\sigma^3 - \\kappa^2\\sigma^2 - \\sigma + 1 = 0`;
for :math:`\\kappa = \\frac13` this is at 73.1753°, where crank and rod are not
at right angles. The power of the drive is the rate of the kinetic energy, and
the force across the cylinder follows from the moments on the rod. For the two
harmonics see J. P. Den Hartog, *Mechanical Vibrations*, chapter 5.

"""
from math import asin, degrees, pi, radians

import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import (
    PinJoint, PrismaticJoint, RigidBody, System, dynamicsymbols, inertia)

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model: three joints, the loop at the gudgeon pin, and the drive.

t = dynamicsymbols._t
r, l, m1, m2, m3, omega = symbols('r l m1 m2 m3 omega')
q1, q2, q3, u1, u2, u3 = dynamicsymbols('q1:4 u1:4')


def bar(name, mass, length):
    body = RigidBody(name, mass=mass)
    body.central_inertia = inertia(body.frame, 0, 0, mass*length**2/12)
    return body


ground = RigidBody('ground')
crank, rod = bar('crank', m1, r), bar('rod', m2, l)
piston = RigidBody('piston', mass=m3)
system = System.from_newtonian(ground)
system.add_joints(
    PinJoint('main', ground, crank, q1, u1, joint_axis=ground.z,
             child_point=-r/2*crank.x),
    PinJoint('big_end', crank, rod, q2, u2, joint_axis=crank.z,
             parent_point=r/2*crank.x, child_point=-l/2*rod.x),
    PrismaticJoint('guide', ground, piston, q3, u3, joint_axis=ground.x))
small_end = rod.masscenter.locatenew('small_end', l/2*rod.x)
gap = small_end.pos_from(ground.masscenter) - q3*ground.x
system.add_holonomic_constraints(
    gap.dot(ground.x), gap.dot(ground.y), q1 - omega*t)
system.q_ind, system.q_dep = [], [q1, q2, q3]
system.u_ind, system.u_dep = [], [u1, u2, u3]
system.form_eoms(eom_method=UdwadiaKalabaMethod)
engine = system.eom_method

# One turn. The gap is the end of the rod minus the pin, so that its
# multipliers are the force of the piston on the rod.

speed = 100*pi
values = {r: 0.05, l: 0.15, m1: 0.8, m2: 0.6, m3: 0.5, omega: speed}
equations = compile_equations(engine, values)
state = consistent_state(
    equations, {q1: 0, q2: 0, q3: 0.2, u1: speed, u2: -speed, u3: 0})


def fastest(t, x):
    """The acceleration of the piston, zero where it is fastest."""
    return equations.accelerations(t, x)[2]


motion = simulate(equations, 2*pi/speed, state, t_eval=721, rtol=1e-11,
                  atol=1e-13, events=fastest)
theta = speed*motion.t
acceleration = equations.accelerations(motion.t, motion.x)[:, 2]
axial, side, torque = motion.multipliers.T

# Known functions of the angle: the acceleration, the moments on the rod about
# the big end, and the rate of the kinetic energy.

k, unit = 1/3, 0.05*speed**2
sine, cosine = np.sin(theta), np.cos(theta)
beta = np.arcsin(k*sine)
harmonics = -unit*(cosine + k*np.cos(2*theta))
exact = -unit*(cosine + (k*np.cos(2*theta) + k**3*sine**4)/np.cos(beta)**3)
rate = k*speed*cosine/np.cos(beta)
bend = (rate**2*np.sin(beta) - k*speed**2*sine)/np.cos(beta)
middle = np.array([exact - unit*cosine, -unit*sine])/2
known_side = (0.5*exact*np.sin(beta) - 0.6*0.15*bend/12 + 0.3*(
    np.cos(beta)*middle[1] + np.sin(beta)*middle[0]))/np.cos(beta)
velocity = -0.05*speed*(sine + cosine*np.tan(beta))
power = (0.5*exact*velocity + 0.6*0.15**2/12*rate*bend + 0.3*(
    middle[0]*(velocity - 0.05*speed*sine) + middle[1]*0.05*speed*cosine))

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.8), layout='constrained')
grid = figure.add_gridspec(2, 3, height_ratios=(1, 1.5))
sketch = figure.add_subplot(grid[0, :])
plot_snapshots(motion, engine, times=[0.6/speed, radians(73.1753)/speed],
               trails=False, ax=sketch, legend=False)
sketch.set_title('dark: the piston is fastest, crank and rod at 88.2°')
turn = np.degrees(theta)
panels = [figure.add_subplot(grid[1, i]) for i in range(3)]
rates, forces, drive = panels
rates.plot(turn, acceleration/unit, color='C0', label='exact')
rates.plot(turn, 10*(exact - harmonics)/unit, '--', color='0.4', linewidth=1,
           label='10 × what the two\nharmonics miss')
rates.plot([73.1753], [0], 'ko', markersize=4)
rates.annotate('73.2°', (73.2, 0), (-38, 5), textcoords='offset points')
rates.set_title(r"acceleration of the piston / $r\omega^2$")
rates.set_ylim(-2.7, 1)
rates.legend(loc='lower center')
forces.plot(turn, axial/1e3, color='C1', label='along the cylinder')
forces.plot(turn, side/1e3, color='C2', label='across it')
forces.set(title='force at the pin in kN', ylim=(-3, 5.2))
forces.legend(loc='upper right')
drive.plot(turn, torque, color='C3')
drive.axhline(0, color='0.7', linewidth=0.8)
drive.set_title('torque of the drive in N m')
for panel in panels:
    panel.set(xlabel=r'$\theta$ in degrees', xticks=(0, 90, 180, 270, 360))

plt.show()

# The acceleration and all forces, at every angle.

assert np.abs(acceleration - exact).max() < 1e-9*unit
assert np.abs(axial + 0.5*exact).max() < 1e-5
assert np.abs(side - known_side).max() < 1e-5
assert np.abs(torque*speed - power).max() < 1e-5*speed
assert motion.largest_residual < 1e-10

# The root of the cubic, and the angle there.

zero = degrees(speed*motion.events[0].t)
root, = (z for z in np.roots([k**4, -k**2, -1, 1]) if 0 < z < 1)
assert abs(zero - degrees(asin(root**0.5))) < 1e-8
assert abs(zero - 73.1753) < 1e-4
assert abs(180 - zero - degrees(asin(k*root**0.5)) - 88.2183) < 1e-4

# At the dead centres the two harmonics are exact.

ends = acceleration[[0, 360]]/unit
assert np.abs(ends - [-4/3, 2/3]).max() < 1e-9
assert 0.02 < np.abs(exact - harmonics).max()/unit < 0.03

# %%
# The equations run in this page. Move a slider to change the start.

report(engine, state, values, speed=0.01, title='A slider-crank')
