"""
Drift that no scheme avoids
===========================

A pendulum turns round and sets the ratio of a continuously variable
transmission, which couples two oscillators. The pendulum does not feel them:
its energy and that of the oscillators are two integrals. Every scheme keeps
both for a symmetric pendulum, and none does if its potential is asymmetric.

==================  ====================================================
constants           asymmetry ``k`` = 0 or 1/2 of the potential; masses,
                    stiffness and weight 1
coordinates         ``x``, ``y`` of the oscillators, angle ``z``
speeds              their rates
inputs              none
start               the pendulum turns with 3 rad/s
==================  ====================================================

.. math::

   L = \\tfrac12(\\dot x^2 + \\dot y^2 + \\dot z^2) - \\tfrac12(x^2 + y^2)
   + \\cos z + \\tfrac k2\\sin 2z, \\qquad \\dot y + \\dot x\\sin z = 0

K. Modin and O. Verdier (*What makes nonholonomic integrators work?*, Numer.
Math. 145 (2020) 405-435) found the reason, with perturbed pendulums of this
kind. What keeps the integrals of most test problems is not the discrete
principle, but reversibility: schemes that are symmetric keep what a reversible
motion keeps. A pendulum that turns round comes to the mirrored motion only if
its potential is symmetric. Without that the energy of the oscillators drifts,
in a direction that depends on the scheme. The discrete gradient keeps the sum
of the energies to rounding, and lets energy pass from one part to the other.

The page has no living view, which would integrate by another method. The drift
is an error of second order, so that shorter steps or a scheme of
order 4 or 6 remove most of it. All curves have 100 000 steps of 0.1 s.

"""

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, simulate

# The model.

k = symbols('k')
x, y, z = dynamicsymbols('x y z')
vx, vy, vz = x.diff(), y.diff(), z.diff()
transmission = UdwadiaKalabaMethod(
    (vx**2 + vy**2 + vz**2 - x**2 - y**2)/2 + cos(z) + k*sin(2*z)/2,
    [x, y, z], nonhol_coneqs=[vy + sin(z)*vx])
oscillators = (vx**2 + vy**2 + x**2 + y**2)/2
angle, rate = 0.2, 0.5
start = [1, 0.3, angle, rate, -np.sin(angle)*rate, 3]

# The motions.

motions, energies = {}, {}
for asymmetry in 0, 0.5:
    compiled = compile_equations(transmission, {k: asymmetry})
    for integrator in 'lagrange-dalembert', 'discrete-gradient':
        for order in 2, 4:
            case = asymmetry, integrator, order
            motion = motions[case] = simulate(
                compiled, 10_000, start, integrator=integrator, step=0.1,
                order=order, t_eval=1001)
            energies[case] = compiled.expression(oscillators)(
                motion.t, motion.x)

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure, panels = plt.subplots(1, 2, figsize=(6.5, 2.7), sharex=True,
                              sharey=True, layout='constrained')
colours = {'lagrange-dalembert': 'C0', 'discrete-gradient': 'C2'}
for (asymmetry, integrator, order), energy in energies.items():
    t = motions[asymmetry, integrator, order].t/1000
    panels[int(asymmetry > 0)].semilogy(
        t, energy, '.' if order == 2 else '-', markersize=2, linewidth=1,
        color=colours[integrator] if order == 2 else 'k',
        label=f'{integrator}' if order == 2 else None)
panels[0].set(title='symmetric pendulum, k = 0', xlabel='time in 1000 s',
              ylabel='energy of the oscillators')
panels[1].set(title='asymmetric pendulum, k = 1/2', xlabel='time in 1000 s',
              label='thumbnail')
panels[1].text(5, 0.75, 'order 4', ha='center')
panels[0].legend(markerscale=5, loc='upper left')
for panel in panels:
    panel.grid(alpha=0.3)

plt.show()

# No drift with symmetry, drift without; the row and the total energy are kept.

for (asymmetry, integrator, order), energy in energies.items():
    motion = motions[asymmetry, integrator, order]
    drift = abs(energy[-100:].mean()/energy[:10].mean() - 1)
    if order == 2 and asymmetry:
        assert drift > 0.5
    else:
        assert drift < 0.02
    assert motion.largest_residual < 1e-11      # angles come to 30 000 rad
    if integrator == 'discrete-gradient':
        assert np.abs(motion.energy_error).max() < 1e-10
