"""
Bearing forces of an engine from joints that are in no equation
===============================================================

How strong must the bearings of an engine be? A slider-crank is built with the
joints of SymPy, whose coordinates are relative: angles of crank and rod, place
of the piston. In these coordinates the bearings do no work, so their forces
are in no equation of motion. ``joint_reactions()`` finds them by the balance
of the bodies beyond each joint.

==================  ====================================================
constants           crank ``r`` = 0.05 m, 0.8 kg; rod ``l`` = 0.15 m,
                    0.6 kg; piston 0.5 kg; no gravity; ``w`` = 300 rad/s
coordinates         ``q1``, ``q2`` of crank and rod, ``q3`` of the piston
speeds              ``u1``, ``u2``, ``u3``, their derivatives
inputs              none
start               crank and rod stretched
==================  ====================================================

Two rows close the loop at the small end of the rod, a third turns the crank.
These are expressions; ``rows`` says where they act. Their names are those of
the constraints; the last is the torque of the drive.

If the rod is long, the piston moves as :math:`r\\cos wt + (r^2/4l)\\cos
2wt`, up to terms of the order :math:`(r/l)^3` (J. P. Den Hartog, *Mechanical
Vibrations*, 4th ed., McGraw-Hill 1956, ch. 5), so the force of its pin is
the inertia

.. math::

   F_x = -m_3 r w^2\\left(\\cos wt + \\tfrac{r}{l}\\cos 2wt\\right).

Without approximation, the forces on the block are the rate of the momentum of
the engine, and the power of the drive is the rate of its energy.

"""
from math import pi

import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import (
    PinJoint, PrismaticJoint, RigidBody, System, dynamicsymbols, inertia)

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.plotting import plot_reactions, plot_snapshots
from sympy_constrained.report import report

# The engine.

t = dynamicsymbols._t
q1, q2, q3, u1, u2, u3 = dynamicsymbols('q1:4 u1:4')
r, l, w, *masses = symbols('r l w m1:4')
block = RigidBody('block')
crank, rod, piston = (RigidBody(name, mass=mass) for name, mass in zip(
    ('crank', 'rod', 'piston'), masses))
for bar, length in (crank, r), (rod, l):
    bar.central_inertia = inertia(bar.frame, 0, 0, bar.mass*length**2/12)
system = System.from_newtonian(block)
system.add_joints(
    PinJoint('main bearing', block, crank, q1, u1, joint_axis=block.z,
             child_point=-r/2*crank.x),
    PinJoint('big end', crank, rod, q2, u2, joint_axis=crank.z,
             parent_point=r/2*crank.x, child_point=-l/2*rod.x),
    PrismaticJoint('guide', block, piston, q3, u3, joint_axis=block.x))
small_end = rod.masscenter.locatenew('small_end', l/2*rod.x)
gap = small_end.pos_from(piston.masscenter)
system.add_holonomic_constraints(
    gap.dot(block.x), gap.dot(block.y), q1 - w*t)
method = UdwadiaKalabaMethod.from_method(system)

# All reactions, and one turn.

places = [(small_end, block.x, piston.masscenter),
          (small_end, block.y, piston.masscenter), (crank.frame, block.z)]
reactions = method.joint_reactions(rows=places)
numbers = {r: 0.05, l: 0.15, w: 300, **dict(zip(masses, (0.8, 0.6, 0.5)))}
equations = compile_equations(method, numbers)
start = consistent_state(equations, {
    q1: 0, q2: 0, q3: 0.2, u1: 300, u2: -400, u3: 0}, fixed=[q1, u1])
motion = simulate(
    equations, 2*pi/300, start, rtol=1e-11, atol=1e-13, t_eval=361,
    reactions=reactions, units={
        't': 's', 'force': 'N', 'moment': 'N m', 'length': 'm'})

# The picture.

force = {name: value[:, :3] for name, value in motion.reactions.items()}
small = force['holonomic row 0'] + force['holonomic row 1']
plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 4.8), layout='constrained')
above, below = figure.subfigures(2, 1, height_ratios=(1, 1.9))
plot_snapshots(
    motion, method, times=[2*pi/300*0.1], ax=above.subplots(), trails=False,
    forces={name: (point, force[name]) for name, point in (
        ('main bearing', reactions['main bearing'].location),
        ('big end', reactions['big end'].location))})
left, right = below.subfigures(1, 2, width_ratios=(1, 1.4))
polar = left.subplots()
for name, style in ('main bearing', '-'), ('big end', '--'):
    polar.plot(*force[name][:, :2].T/1000, style, label=name)
polar.plot(*small[:, :2].T/1000, '-.', label='small end')
polar.plot(0, 0, 'k+')
polar.set(xlabel='force along x in kN', ylabel='along y in kN')
polar.set_aspect('equal', 'datalim')
polar.legend(loc='upper left')
plot_reactions(
    motion, ['main bearing', 'big end', 'guide', 'holonomic row 2'],
    right.subplots(2, 1, sharex=True))

plt.show()

# The published inertia of the piston, within 2 (r/l)^3 of its size.

angle = 300*motion.t
inertial = -0.5*0.05*300**2*(np.cos(angle) + np.cos(2*angle)/3)
assert np.abs(-small[:, 0] - inertial).max() < 2/27*0.5*0.05*300**2

# The forces on the block, and the power of the drive, by geometry alone.


def rate(history):
    """Time derivative of a quantity periodic in a turn of the crank."""
    order = 300j*np.fft.fftfreq(360, 1/360)
    return np.fft.ifft(order*np.fft.fft(history))


angle = angle[:-1]
pin = 0.05*np.exp(1j*angle)
end = pin.real + np.sqrt(0.15**2 - pin.imag**2)
momentum = rate(0.8*pin/2 + 0.6*(pin + end)/2 + 0.5*end)
on_engine = (force['main bearing'] + force['guide'])[:-1] @ [1, 1j, 0]
assert np.abs(on_engine - rate(momentum)).max() < 1e-6
drive = motion.reactions['holonomic row 2'][:-1, 5]
energy = (0.8*0.05**2*300**2/6 + 0.5*abs(rate(end))**2/2
          + 0.6*(abs(rate(pin + end)/2)**2/2
                 + (rate(end - pin)/(end - pin)).imag**2*0.15**2/24))
assert np.abs(drive*300 - rate(energy).real).max() < 1e-5

# %%
# The equations run in this page. Move a slider to change the start.

report(method, start, numbers, rows=places, speed=0.01, title='An engine')
