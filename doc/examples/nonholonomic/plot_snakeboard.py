"""
Gaits of the snakeboard
=======================

A board has two pairs of wheels that steer in opposite directions. Without
touching the ground, the rider swings his body (the rotor) and steers, both
periodically, and the board moves. Two nonholonomic rows prevent sideways slip
of the wheels. Two rows with explicit time prescribe the rider's motion; their
multipliers are the torques he needs. One degree of freedom remains, a drift
with a speed ``s``: the board moves along its heading with
:math:`l\\,s\\cos\\phi` and turns with :math:`s\\sin\\phi`.

==================  ====================================================
constants           board 3 kg, 0.05 kg m²; rotor 2 kg, ``J0`` = 0.147
                    kg m²; wheel pairs 0.5 kg, 0.0015 kg m² each, at
                    ``l`` = 0.2 m before and behind the centre
coordinates         ``x``, ``y`` of the centre, in m; heading ``theta``,
                    rotor ``psi`` against the board, steering angle ``phi``
                    of the front wheels, in rad
speeds              their derivatives
inputs              ``psi_d``, ``phi_d``: what the rider does, in rad
start               straight ahead; the board does not drift
==================  ====================================================

If the total moment of inertia is :math:`m l^2` (as here, with :math:`m` = 6
kg), the momentum along the drift, :math:`p = m l^2 s +
J_0\\dot\\psi\\sin\\phi`, obeys the momentum equation

.. math::

   \\dot p = J_0\\,\\dot\\psi\\,\\dot\\phi\\cos\\phi ,

for any motion of the rider (A. M. Bloch, P. S. Krishnaprasad, J. E. Marsden
and R. M. Murray, Arch. Rational Mech. Anal. 136 (1996) 21-99). The gaits are
those of J. Ostrowski, A. Lewis, R. Murray and J. Burdick, *Nonholonomic
mechanics and locomotion: the snakeboard example*, IEEE ICRA (1994) 2391-2397:
rotor and wheels swing as :math:`a\\sin it` and :math:`b\\sin jt` with
:math:`i:j` = 1:1 (drive), 2:1 (rotate) or 3:2 (park sideways). By the equation
only odd :math:`i/j` can keep gaining speed, and 1:1 gains in every period

.. math::

   \\Delta s = \\frac{2\\pi\\,a\\,J_0}{m l^2}\\,J_1(b)

with the Bessel function :math:`J_1`.

"""
from math import pi

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import jv
from sympy import sin as Sin, symbols
from sympy.physics.mechanics import (
    Lagrangian, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model: four bodies, their wheels, and the rider's motion.

t = dynamicsymbols._t
l, J0 = symbols('l J0')
q = x, y, theta, psi, phi = dynamicsymbols('x y theta psi phi')
psi_d, phi_d = dynamicsymbols('psi_d phi_d')
N, O, C = ReferenceFrame('N'), Point('O'), Point('C')
O.set_vel(N, 0)
C.set_pos(O, x*N.x + y*N.y)
C.set_vel(N, x.diff()*N.x + y.diff()*N.y)
board = N.orientnew('board', 'Axis', (theta, N.z))
rotor = board.orientnew('rotor', 'Axis', (psi, N.z))


def body(name, point, frame, mass, moment):
    return RigidBody(name, point, frame, mass,
                     (inertia(frame, 0, 0, moment), point))


bodies = [body('board', C, board, 3, 0.05), body('rotor', C, rotor, 2, J0)]
no_slip = []
for name, place, angle in ('front', l, phi), ('rear', -l, -phi):
    wheels = board.orientnew(name, 'Axis', (angle, N.z))
    hub = C.locatenew(name, place*board.x)
    hub.v2pt_theory(C, N, board)
    bodies.append(body(name, hub, wheels, 0.5, 0.0015))
    no_slip.append(hub.vel(N).dot(wheels.y))
snakeboard = UdwadiaKalabaMethod(
    Lagrangian(N, *bodies), q, nonhol_coneqs=no_slip,
    hol_coneqs=[psi - psi_d, phi - phi_d], frame=N)

# Three gaits, from the same equations.

a, b = 0.7, 0.4


def gait(i, j):
    """Six periods of 2 pi, from rest but for the rider's own swing."""
    equations = compile_equations(
        snakeboard, {l: 0.2, J0: 0.147},
        {psi_d: a*Sin(i*t), phi_d: b*Sin(j*t)})
    start = dict.fromkeys((*q, *(qi.diff() for qi in q)), 0)
    start |= {psi.diff(): i*a, phi.diff(): j*b}
    return simulate(equations, 12*pi, start, rtol=1e-10, atol=1e-12,
                    t_eval=601)


gaits = {(i, j): gait(i, j) for i, j in ((1, 1), (2, 1), (3, 2))}


def drift(motion):
    """The speed s, from the velocity along the heading and the turning."""
    along = (motion[x.diff()]*np.cos(motion[theta])
             + motion[y.diff()]*np.sin(motion[theta]))
    return (along*np.cos(motion[phi])/0.2
            + motion[theta.diff()]*np.sin(motion[phi]))


# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 4.1), layout='constrained')
grid = figure.add_gridspec(2, 4, height_ratios=(1.25, 1))
bars = [[part.masscenter.pos_from(O) + k*part.frame.y for k in (-0.1, 0.1)]
        for part in bodies[1:]]
bars.append([part.masscenter for part in bodies[2:]])
sketch = figure.add_subplot(grid[0, :2])
plot_snapshots(gaits[1, 1], snakeboard, times=np.linspace(0, 2*pi, 4),
               lines=bars, trails=False, ax=sketch, legend=False)
names = {(1, 1): 'drive, 1:1', (2, 1): 'rotate, 2:1', (3, 2): 'park, 3:2'}
places = {(1, 1): grid[1, :2], (2, 1): grid[0, 2], (3, 2): grid[0, 3]}
for color, (key, motion) in zip(('C0', 'C2', 'C3'), gaits.items()):
    panel = figure.add_subplot(places[key])
    panel.plot(motion[x], motion[y], color=color, linewidth=1)
    for k in range(0, 601, 100):
        centre = np.array([motion[x][k], motion[y][k]])
        half = 0.2*np.array([np.cos(motion[theta][k]),
                             np.sin(motion[theta][k])])
        panel.plot(*np.transpose([centre - half, centre + half]), 'k',
                   linewidth=1)
        panel.plot(*(centre + half), 'ko', markersize=3)
    panel.set(xlabel='x in m', title=names[key])
    panel.set_aspect('equal', adjustable='datalim')
    panel.margins(0.08, 0.12)
    if key == (1, 1):
        panel.set(ylabel='y in m')
speeds = figure.add_subplot(grid[1, 2:])
for color, (key, motion) in zip(('C0', 'C2', 'C3'), gaits.items()):
    speeds.plot(motion.t/2/pi, drift(motion), color=color, linewidth=1,
                label=names[key])
gain = 2*pi*a*0.147/0.24*jv(1, b)
speeds.plot(range(7), gain*np.arange(7), 'ko', markersize=4,
            label=r'$n\,\Delta s$')
speeds.set(xlabel='time in periods of 2π s', title='drift s in 1/s',
           ylim=(-1, 5))
speeds.legend(loc='upper left', ncols=2)

plt.show()

# The drift by the momentum equation, for every gait: sin(b sin jt) is the sum
# of 2 J_n(b) sin njt over all odd n.


def known(i, j, time):
    total = 0*time
    for n in 1, 3, 5, 7, 9:
        less, more = n*j - i, n*j + i
        slow = np.sin(less*time)/less if less else time
        total += jv(n, b)*(slow - np.sin(more*time)/more)
    return 0.147/0.24*a*i**2*total


for (i, j), motion in gaits.items():
    assert np.abs(drift(motion) - known(i, j, motion.t)).max() < 1e-7
    assert np.abs(motion[psi] - a*np.sin(i*motion.t)).max() < 1e-10
    assert np.abs(motion.energy_error).max() < 1e-7
    assert motion.largest_residual < 1e-10

# Six periods: a gain each for the drive, a turn on the spot, a parked board.

ends = {key: motion.x[-1] for key, motion in gaits.items()}
assert abs(drift(gaits[1, 1])[-1] - 6*gain) < 1e-7
assert abs(gain - 0.52807907) < 1e-8
assert np.hypot(*ends[2, 1][:2]) < 0.11 and ends[2, 1][2] > 2.4
assert np.abs(ends[3, 2][[0, 2]]).max() < 1e-6 and ends[3, 2][1] > 0.4

# %%
# The equations run in this page. Move a slider to change the start.

report(snakeboard, gaits[1, 1].x[0], {l: 0.2, J0: 0.147},
       {psi_d: a*Sin(t), phi_d: b*Sin(t)}, points={'centre': C}, lines=bars,
       title='A snakeboard')
