"""
A chain of 200 links swings
===========================

A chain of 200 bars hangs from one end. It is pulled aside as a straight line
and released; waves run along it and crack its free end like a whip. With
``recursion=True`` no mass matrix is formed: the accelerations are computed
from bar to bar, in a time proportional to the number of bars. The relative
change of the energy in 10 s is about 1e-7.

==================  ====================================================
constants           n = 200 bars of total length 2 m and mass 1 kg;
                    ``g`` = 9.81 m/s² along -y
coordinates         ``q1`` to ``q200``, angles to the horizontal in rad
speeds              ``u1`` to ``u200``, their derivatives
inputs              none
start               at rest, 0.6 rad from the vertical
==================  ====================================================

A heavy uniform chain of length L has small oscillations of the frequencies

.. math::

   \\omega_k = \\frac{j_{0,k}}{2}\\sqrt{\\frac{g}{L}}, \\qquad
   J_0(j_{0,k}) = 0

(D. Bernoulli 1733; H. Lamb, *Higher Mechanics*, 2nd ed., Cambridge 1929,
section on the oscillations of a hanging chain). The derivatives of the
accelerations at rest give the same.

The page has no living view, which would need the ordinary equations.

"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import jn_zeros
from sympy import symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, System, dynamicsymbols, inertia)

from sympy_constrained.numeric import compile_equations, simulate

# The model: one frame and two points for each bar.

n, length = 200, 2.0
l, m, g = symbols('l m g')
q, u = dynamicsymbols(f'q1:{n + 1}'), dynamicsymbols(f'u1:{n + 1}')
N, pin = ReferenceFrame('N'), Point('O')
pin.set_vel(N, 0)
system = System(N)
for k in range(n):
    bar = ReferenceFrame(f'B{k}')
    bar.orient_axis(N, q[k], N.z)
    bar.set_ang_vel(N, u[k]*N.z)
    centre = pin.locatenew(f'C{k}', l/2*bar.x)
    pin = pin.locatenew(f'P{k}', l*bar.x)
    system.add_bodies(RigidBody(f'bar{k}', centre, bar, m, (
        inertia(bar, 0, 0, m*l**2/12), centre)))
    system.add_loads((centre, -m*g*N.y))
system.add_coordinates(*q)
system.add_speeds(*u)
system.add_kdes(*(x.diff() - v for x, v in zip(q, u)))

equations = compile_equations(
    system, {l: length/n, m: 1/n, g: 9.81}, recursion=True)
print(f'{equations.kinds} kernels for {n} bars')

# Frequencies of small oscillations.

rest = np.concatenate([np.full(n, -np.pi/2), np.zeros(n)])
step = 1e-5
slopes = np.array([
    equations.accelerations(0, rest + step*e)
    - equations.accelerations(0, rest - step*e)
    for e in np.eye(2*n)[:n]]).T/(2*step)
found = np.sqrt(np.sort(-np.linalg.eigvals(slopes).real)[:4])
known = jn_zeros(0, 4)/2*np.sqrt(9.81/length)
print('frequencies', found.round(4), 'of the continuum', known.round(4))
assert np.allclose(found, known, rtol=5e-3)

# The motion, and the energy less that of the start, relative to the energy
# that is exchanged.

start = np.concatenate([np.full(n, -np.pi/2 + 0.6), np.zeros(n)])
run = simulate(equations, 10, start, rtol=1e-6, t_eval=501)
angles = run.x[:, :n].T
bars = np.stack([np.cos(angles), np.sin(angles)])*length/n
ends = np.concatenate([np.zeros((2, 1, 501)), np.cumsum(bars, axis=1)], 1)
heights = (ends[1, :-1] + ends[1, 1:]).mean(axis=0)/2
kinetic = run.energy                    # gravity is given as loads
energy = kinetic + 9.81*heights
drift = np.abs(energy - energy[0]).max()/kinetic.max()
print(f"{run.statistics['evaluations']} calls, largest change of the energy "
      f'{drift:.1e}')
assert run.success and drift < 1e-5

# The chain in the first second and a half, and the energies.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2))
for k in range(0, 76, 5):
    left.plot(*ends[:, :, k], color=plt.cm.viridis(k/75))
left.set(xlabel='x in m', ylabel='y in m', aspect='equal',
         title='every 0.1 s from 0 to 1.5 s')
right.plot(run.t, kinetic, label='kinetic')
right.plot(run.t, 9.81*(heights - heights.min()), label='potential')
right.plot(run.t, energy - 9.81*heights.min(), label='sum')
right.set(xlabel='t in s', ylabel='energy in J')
right.legend(loc='lower center', bbox_to_anchor=(0.5, 1), ncol=3,
             frameon=False)
fig.tight_layout()
plt.show()
