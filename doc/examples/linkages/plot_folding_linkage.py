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
The page has no living view, because its integrator stops there.

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
from sympy_constrained.plotting import plot_snapshots

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

plt.style.use('sympy_constrained.plotting.paper')
figure, axes = plt.subplot_mosaic([['poses', 'poses'], ['angles', 'forces']],
                                  figsize=(6.5, 4), layout='constrained')
plot_snapshots(motion, linkage, ax=axes['poses'], trails=False, legend=False,
               times=first + np.array([-0.12, -0.06, 0, 0.06]))
axes['angles'].plot(motion.t, motion['q1']/np.pi)
for passage in motion.passages:
    axes['angles'].axvline(passage, color='0.8', linewidth=1)
axes['angles'].set(xlabel='$t$ in s', ylabel='$q_1$ in half turns')
for k, style in enumerate(('-', '--')):
    axes['forces'].plot(1e3*(close.t - first), close.multipliers[:, k], style,
                        label=f'along {"xy"[k]}')
axes['forces'].set(ylim=(-150, 150), ylabel='force of the first loop in N',
                   xlabel='time from the first passage in ms')
axes['forces'].legend()

plt.show()

# The published values.

knee = np.cos(motion['q1'][-1]), np.sin(motion['q1'][-1])
np.testing.assert_allclose(knee, (0.3284573768, 0.9445187937), atol=2e-6)
assert len(motion.passages) == 10
assert np.abs(motion.energy_error).max() < 1e-6
