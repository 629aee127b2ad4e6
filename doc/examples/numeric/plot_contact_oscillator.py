"""
Energy of a contact oscillator over many steps
==============================================

A particle in a spring potential obeys one row that is not integrable. The
motion has two integrals, the energy and that of the oscillator ``y``, and is
the standard test of nonholonomic integrators (R. McLachlan and M. Perlmutter,
*Integrators for Nonholonomic Mechanical Systems*, J. Nonlinear Sci. 16 (2006)
283-328, section 5.2). Fifteen steps make a turn of ``y``, which is far too
coarse for an explicit Runge-Kutta method.

==================  ====================================================
constants           ``eps`` = 0.3, mass and stiffness 1
coordinates         ``x``, ``y``, ``z``
speeds              their rates
inputs              none
start               energy 1.5, that of ``y`` 0.5
==================  ====================================================

.. math::

   L = \\tfrac12(\\dot x^2 + \\dot y^2 + \\dot z^2) - \\tfrac12(x^2 + y^2
   + z^2 + \\varepsilon x^2z^2), \\qquad \\dot x + y\\dot z = 0

The discrete gradient keeps the energy to rounding, the discrete principle of
Lagrange and d'Alembert keeps it within bounds. Both keep the row. The
classical Runge-Kutta method with steps of the same length gains energy until
it overflows after some 6000 steps, and leaves the row from the start. The page
has no living view, which would integrate by another method.

In the picture an error below :math:`10^{-16}` is drawn there.

"""

import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, simulate

# The model.

eps = symbols('epsilon')
x, y, z = dynamicsymbols('x y z')
vx, vy, vz = x.diff(), y.diff(), z.diff()
oscillator = compile_equations(UdwadiaKalabaMethod(
    (vx**2 + vy**2 + vz**2 - x**2 - y**2 - z**2 - eps*x**2*z**2)/2,
    [x, y, z], nonhol_coneqs=[vx + y*vz]), {eps: 0.3})

# Energy 1.5, of which y has 0.5; y begins at its largest value.

z0 = -0.55
start = [np.sqrt((2 - z0**2)/(1 + 0.3*z0**2)), 1, z0, 0, 0, 0]
step, steps = 2*np.sin(np.pi/15), 100_000

# Two schemes with fixed steps.

motions = {integrator: simulate(
    oscillator, steps*step, start, integrator=integrator, step=step,
    t_eval=2001) for integrator in ('lagrange-dalembert',
                                    'discrete-gradient')}

# The classical Runge-Kutta method.

rates, state, explicit = oscillator.rhs, np.array(start), []
while len(explicit) < 5500:
    k1 = rates(0, state)
    k2 = rates(0, state + step/2*k1)
    k3 = rates(0, state + step/2*k2)
    k4 = rates(0, state + step*k3)
    state = state + step/6*(k1 + 2*k2 + 2*k3 + k4)
    explicit.append(state)
explicit = np.array(explicit)

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure, (energy, row) = plt.subplots(1, 2, figsize=(6.5, 2.7), sharex=True,
                                     sharey=True, layout='constrained')
numbers = 1 + np.arange(len(explicit))
curves = [(numbers, oscillator.energy(0, explicit) - 1.5,
           oscillator.residuals(0, explicit)[:, 0], 'Runge-Kutta', 'C3')]
curves += [(motion.t[1:]/step, motion.energy_error[1:],
            motion.residuals[1:, 0], integrator, colour)
           for (integrator, motion), colour in zip(motions.items(),
                                                   ('C0', 'C2'))]
for number, error, residual, name, colour in curves:
    for panel, values in (energy, error), (row, residual):
        panel.loglog(number, np.maximum(np.abs(values), 1e-16), '.',
                     color=colour, markersize=2, label=name)
energy.set(title='error of the energy', xlabel='number of the step',
           ylim=(4e-17, 10))
row.set(title='residual of the row', xlabel='number of the step')
energy.legend(markerscale=5, loc='center left')
for panel in energy, row:
    panel.grid(alpha=0.3)

plt.show()

# Energy to rounding, bounded, and lost.

exact, bounded = motions['discrete-gradient'], motions['lagrange-dalembert']
assert np.abs(exact.energy_error).max() < 1e-14
first, last = (np.abs(part).max()
               for part in np.array_split(bounded.energy_error, 2))
assert last < 1.1*first < 0.06
for motion in motions.values():
    assert motion.largest_residual < 1e-14
    assert np.abs(motion.energy[0] - 1.5) < 1e-14
assert np.abs(curves[0][1][-1]) > 0.1
