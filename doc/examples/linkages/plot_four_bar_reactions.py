"""
All reactions of a four-bar linkage
===================================

A motor turns a linkage at a constant rate. Which forces act in its joints?
Take the linkage apart: three free bars have nine coordinates, four pins are
eight rows, and the motor is a ninth row with explicit time. No freedom is
left. The motion is known in advance, and the unknowns are the nine
multipliers. Those of a pin are the two components of its force, that of the
motor is its torque. In other coordinates, pins built into the coordinates have
no multipliers.

==================  ====================================================
constants           bars of 1.2 kg/m: crank 0.12 m, coupler 0.28 m, rocker
                    0.24 m; the fixed pins are 0.30 m apart; ``g`` = 9.81
                    m/s² along -y; the motor turns at ``w`` = 20 rad/s
coordinates         ``x1`` to ``y3`` of the mass centres, in m; ``p1``,
                    ``p2``, ``p3``, the angles of the bars to the horizontal
speeds              their derivatives
inputs              none
start               crank at 60°
==================  ====================================================

The linkage is a crank-rocker by Grashof's rule, as 0.30 + 0.12 < 0.28 + 0.24;
its angles obey Freudenstein's equation (F. Freudenstein, *Approximate
synthesis of four-bar linkages*, Trans. ASME 77 (1955) 853-861). Two balances
hold independently of the joints: the motor power is the rate of the energy,
and the fixed pins carry the weight and the rate of the momentum, which shakes
the foundation.

If crank and rocker are equal and parallel, the reactions have a closed form.
The coupler, of mass :math:`m_c`, moves on a circle of radius l without
turning, so both its pins carry the same vertical force. For a rocker of mass m
at a constant rate the moments about its pivot vanish:

.. math::

   F_y = \\tfrac12 m_c\\,(g - l w^2\\sin\\phi), \\qquad
   F_x = \\left(F_y + \\tfrac12 m g\\right)\\cot\\phi ,

are the components of the force of the rocker on the coupler, and :math:`(m +
m_c)\\,g\\,l\\cos\\phi` is the torque of the motor.

"""
from math import pi

import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import (
    Lagrangian, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# Three bars in the plane. Each has the pins `near` and `far` at its ends.

t = dynamicsymbols._t
lengths = symbols('l1:4')
base, rho, g, w, first = symbols('d rho g w first')
angles = dynamicsymbols('p1:4')
centres = [dynamicsymbols(f'x{k} y{k}') for k in (1, 2, 3)]
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)
bars, near, far = [], [], []
for k, (length, angle, (x, y)) in enumerate(zip(lengths, angles, centres)):
    B = N.orientnew(f'B{k}', 'axis', [angle, N.z])
    G = O.locatenew(f'G{k}', x*N.x + y*N.y)
    G.set_vel(N, x.diff()*N.x + y.diff()*N.y)
    bar = RigidBody(f'bar{k}', G, B, rho*length, (
        inertia(B, 0, 0, rho*length**3/12), G))
    bar.potential_energy = rho*length*g*y
    bars.append(bar)
    near.append(G.locatenew(f'near{k}', -length/2*B.x))
    far.append(G.locatenew(f'far{k}', length/2*B.x))

# Pins A and D on the ground, B and C between bars, then the motor. A
# multiplier acts on the first point of its pair, in the direction of its row.

D = O.locatenew('D', base*N.x)
pins = {'A': (near[0], O), 'B': (near[1], far[0]), 'C': (far[1], far[2]),
        'D': (near[2], D)}
rows = [point.pos_from(other).dot(axis)
        for point, other in pins.values() for axis in (N.x, N.y)]
q = [*angles, *(c for pair in centres for c in pair)]
linkage = UdwadiaKalabaMethod(
    Lagrangian(N, *bars), q, hol_coneqs=[*rows, angles[0] - first - w*t],
    bodies=bars, frame=N)

# One turn of the crank.

numbers = {base: 0.30, rho: 1.2, g: 9.81, w: 20, first: pi/3,
           **dict(zip(lengths, (0.12, 0.28, 0.24)))}


def run(constants, guess, t_end):
    """The motion from a guess of the three angles."""
    equations = compile_equations(linkage, constants)
    p1, p2, p3 = guess
    tip = constants[lengths[0]]*np.array([np.cos(p1), np.sin(p1)])
    half = [constants[c]/2*np.array([np.cos(p), np.sin(p)])
            for c, p in zip(lengths, guess)]
    places = [half[0], tip + half[1], half[2] + [constants[base], 0]]
    start = consistent_state(equations, {
        **dict(zip(q, [*guess, *np.concatenate(places)])),
        angles[0].diff(): constants[w]}, fixed=[angles[0]], fill=0)
    return equations, simulate(equations, t_end, start, rtol=1e-10,
                               atol=1e-12, t_eval=361)


equations, motion = run(numbers, (pi/3, 0.5, 1.8), 2*pi/20)
lam = motion.multipliers
forces = {name: lam[:, 2*k:2*k + 2] for k, name in enumerate(pins)}
torque = lam[:, 8]
places = {name: equations.expression(point.pos_from(O).to_matrix(N))(
    motion.t, motion.x)[:, :2, 0] for name, (_, point) in pins.items()}

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.5), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(1.5, 1, 1))
sketch = figure.add_subplot(grid[:, 0])
plot_snapshots(
    motion, linkage, times=motion.t[[180, 90, 0]], ax=sketch, legend=False,
    forces={f'on {name}': (point, np.pad(forces[name], ((0, 0), (0, 1))))
            for name, point in (('A', O), ('D', D))})
sketch.set_title('at 60°, 150°, 240°')

turn = 60 + np.degrees(20*motion.t)
polar = figure.add_subplot(grid[0, 1])
for name, colour in ('A', 'C0'), ('D', 'C1'):
    polar.plot(*forces[name].T, color=colour, label=f'on {name}')
    polar.plot(*forces[name][0], 'o', color=colour, markersize=4)
polar.axhline(0, color='0.8', linewidth=0.8, zorder=0)
polar.axvline(0, color='0.8', linewidth=0.8, zorder=0)
polar.set(xlabel='x, in N', ylabel='y, in N',
          title='forces of the ground')
polar.set_aspect('equal', 'datalim')
polar.legend()

sizes = figure.add_subplot(grid[1, 1])
for name, force in forces.items():
    sizes.plot(turn, np.hypot(*force.T), label=name)
sizes.set(xlabel='crank angle in degrees', ylim=(0, None),
          title='force of each pin in N', xticks=(60, 180, 300, 420))
sizes.legend(ncols=2)

# The linkage as geometry: its angles by the law of cosines, and the forces of
# its periodic motion by Fourier series.

tip = 0.12*np.exp(1j*(pi/3 + 20*motion.t[:-1]))
reach = np.abs(tip - 0.30)
rocker = np.angle(tip - 0.30) - np.arccos(
    (reach**2 + 0.24**2 - 0.28**2)/(2*0.24*reach))
end = 0.30 + 0.24*np.exp(1j*rocker)
masses = 1.2*np.array([0.12, 0.28, 0.24])
middles = np.array([tip/2, (tip + end)/2, (0.30 + end)/2])
order = 20j*np.fft.fftfreq(360, 1/360)


def rate(history):
    """Time derivative of a quantity periodic in a turn of the crank."""
    return np.fft.ifft(order*np.fft.fft(history))


balance = rate(rate(masses @ middles)) + 9.81j*masses.sum()
spins = [20 + 0*reach, rate(end - tip)/(1j*(end - tip)),
         rate(end)/(1j*(end - 0.30))]
energy = sum(mass*(np.abs(rate(G))**2/2 + (length*np.abs(spin))**2/24
                   + 9.81*G.imag)
             for mass, length, G, spin in zip(
                 masses, (0.12, 0.28, 0.24), middles, spins))
power = rate(energy).real

motor = figure.add_subplot(grid[0, 2])
motor.plot(turn, torque, color='k', label='multiplier')
motor.plot(turn[:-1:24], power[::24]/20, '.', color='C3',
           label='power / w')
motor.set(xlabel='crank angle in degrees', title='motor torque in N m',
          xticks=(60, 180, 300, 420))
motor.legend()
shaking = figure.add_subplot(grid[1, 2])
for k, colour in enumerate(('C0', 'k')):
    shaking.plot(turn, (forces['A'] + forces['D'])[:, k], color=colour,
                 label='xy'[k])
    shaking.plot(turn[:-1:24], (balance.real, balance.imag)[k][::24], '.',
                 color='C3')
shaking.set(xlabel='crank angle in degrees', xticks=(60, 180, 300, 420),
            title='A and D together, N')
shaking.legend(loc='lower left', ncols=2)

plt.show()

# The angles, and both balances.

assert np.abs(np.exp(1j*motion[angles[2]][:-1])
              - (end - 0.30)/0.24).max() < 1e-9
ground = forces['A'] + forces['D']
assert np.abs(ground[:-1] @ [1, 1j] - balance).max() < 1e-6
assert np.abs(torque[:-1] - power/20).max() < 1e-7
assert motion.largest_residual < 1e-11
assert np.abs(motion.energy_error).max() < 1e-8

# The closed form, with equal and parallel cranks.

_, parallel = run({**numbers, lengths[0]: 0.2, lengths[1]: 0.3,
                   lengths[2]: 0.2, first: pi/4}, (pi/4, 0, pi/4), pi/2/20)
phi = pi/4 + 20*parallel.t
m, mc = 1.2*0.2, 1.2*0.3
Fy = mc/2*(9.81 - 0.2*20**2*np.sin(phi))
Fx = (Fy + m*9.81/2)/np.tan(phi)
assert np.abs(parallel.multipliers[:, 4] - Fx).max() < 1e-8
assert np.abs(parallel.multipliers[:, 5] - Fy).max() < 1e-8
assert np.abs(parallel.multipliers[:, 8]
              - (m + mc)*9.81*0.2*np.cos(phi)).max() < 1e-8

# %%
# The equations run in this page. Move a slider to change the start.

multipliers = linkage.multipliers
report(linkage, motion.x[0], numbers, title='A four-bar linkage', forces={
    f'on {name}': (point, multipliers[2*k]*N.x + multipliers[2*k + 1]*N.y)
    for k, (name, (_, point)) in enumerate(pins.items())})
