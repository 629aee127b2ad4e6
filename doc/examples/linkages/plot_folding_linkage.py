"""
Two four-bar linkages that fold flat
====================================

Three cranks and two couplers of equal length turn through the horizontal,
where all bars are in one line. At that instant the linkage has three degrees
of freedom instead of one: each window could fold independently, and the
constraint rows lose two of their rank. The motion continues smoothly on the
branch that its velocity selects, and so does the simulation. The integrator
stops shortly before the singular configuration, follows a polynomial through
its last states, and restarts behind it. ``motion.passages`` lists the times.

==================  ====================================================
constants           bars of length ``l`` = 1 m and mass ``m`` = 1 kg,
                    gravity ``g`` = 9.81 m/s²
coordinates         angles to the horizontal, ``q1`` to ``q3`` of the
                    cranks, ``q4`` and ``q5`` of the couplers
speeds              ``u1`` to ``u5``, their derivatives, in rad/s
inputs              none
start               upright, 1 m/s at the first knee
==================  ====================================================

This is problem A02 of the IFToMM library of multibody benchmarks (M. González,
D. Dopico, U. Lugrís and J. Cuadrado, *A benchmarking system for MBS simulation
software*, Multibody Syst. Dyn. 16 (2006) 179-190). The documentation of J.
Gerstmayr's Exudyn, test model *fourBarMechanismIftomm*, gives the position of
the first knee at 10 s: (0.3284573768, 0.9445187937) m.

"""

import matplotlib.pyplot as plt
import numpy as np

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.models import model
from sympy_constrained.numeric import compile_equations, simulate

linkage = model('n_four_bar', n=2)
equations = compile_equations(linkage.form(UdwadiaKalabaMethod),
                              linkage.parameters)
motion = simulate(equations, 10, linkage.start, rtol=1e-9, atol=1e-9,
                  t_eval=1001)
first, second = motion.passages[:2]
close = simulate(equations, first + 0.02, linkage.start, rtol=1e-9, atol=1e-9,
                 t_eval=first + np.linspace(-0.02, 0.02, 401))

# The picture: poses around the first passage, the turns, and how the reaction
# of the first pin grows towards it. Where it is not unique, it has least norm.

figure, (sketch, angles, forces) = plt.subplots(
    1, 3, figsize=(10, 3.4), layout='constrained')
for time, colour in ((first - 0.12, '0.8'), (first - 0.06, '0.6'),
                     (first, 'k'), (first + 0.06, 'C0')):
    q = np.array([np.interp(time, motion.t, motion[f'q{k}'])
                  for k in range(1, 6)])
    cranks = np.arange(3) + np.exp(1j*q[:3])
    for k, tip in enumerate(cranks):
        sketch.plot([k, tip.real], [0, tip.imag], color=colour)
    sketch.plot(cranks.real, cranks.imag, color=colour, linewidth=4,
                alpha=0.5)
sketch.plot([0, 1, 2], [0, 0, 0], 'k^', markersize=7)
sketch.set(aspect='equal', title='poses', xlabel='x in m', ylabel='y in m')
angles.plot(motion.t, motion['q1']/np.pi)
for passage in motion.passages:
    angles.axvline(passage, color='0.8', linewidth=1)
angles.set(title='crank angle, and passages', xlabel='time in s',
           ylabel='q1 in half turns')
angles.grid(alpha=0.3)
milliseconds = 1e3*(close.t - first)
for k, label in enumerate(('x', 'y')):
    forces.plot(milliseconds, close.multipliers[:, k], label=label)
forces.set(title='multipliers of the first loop', ylim=(-150, 150),
           xlabel='time from the first passage in ms', ylabel='force in N')
forces.grid(alpha=0.3)
forces.legend(frameon=False)

plt.show()

# The published values.

knee = np.cos(motion['q1'][-1]), np.sin(motion['q1'][-1])
np.testing.assert_allclose(knee, (0.3284573768, 0.9445187937), atol=2e-6)
assert len(motion.passages) == 10
assert np.abs(motion.energy_error).max() < 1e-6
