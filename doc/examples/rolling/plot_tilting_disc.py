"""
A rolling disc, upright and running down
========================================

A thin disc rolls on a table. A fast disc goes straight. A slow one tips into a
curve, comes up again, and tips once more; the critical speed is known exactly.
At the end the disc is almost flat and precesses faster and faster as it loses
energy, until it stops suddenly. With any loss that grows with the rate of
precession this happens in finite time: Euler's disc. One set of equations in
three quasi-velocities describes both phases.

==================  ====================================================
constants           mass ``m`` = 0.4 kg, radius ``r`` = 37.5 mm (the toy),
                    ``g`` = 9.81 m/s², loss ``k`` in N m s
coordinates         ``x``, ``y`` of the centre, in m; ``phi`` heading,
                    ``beta`` tilt from the upright, ``psi`` rolling angle
speeds              ``w1``, ``w2``, ``w3``: angular velocity along the
                    heading, the axle, and the diameter through the
                    contact, in rad/s; ``vx``, ``vy`` follow from rolling
inputs              none
start               rolling ahead with ``w2`` = n, tilted by 0.1°; and
                    spinning with its centre at rest, 8° above the table
==================  ====================================================

*Straight rolling.* The tilt obeys :math:`\\dot\\beta = w_1`, :math:`\\dot w_1
= \\frac{4g}{5r}\\beta + \\frac65 n w_3`, :math:`\\dot w_3 = -2 n w_1`, which
grow as :math:`e^{\\sigma t}` with

.. math::

   \\sigma^2 = \\frac{4g}{5r} - \\frac{12}{5}n^2, \\qquad
   \\text{so straight rolling is stable for}\\quad n^2 > \\frac{g}{3r}

(E. J. Routh, *Advanced Dynamics of a System of Rigid Bodies*, 1905; Ju. I.
Neimark and N. A. Fufaev, *Dynamics of Nonholonomic Systems*, 1972).

*Running down.* A disc at the angle a to the table, with its centre at rest,
precesses with :math:`\\Omega`; its energy above that of the flat disc is E (H.
K. Moffatt, *Euler's disk and its finite-time singularity*, Nature 404 (2000)
833-834):

.. math::

   \\Omega^2\\sin a = \\frac{4g}{r}, \\qquad E = \\frac32\\,m g r\\sin a .

The cause of the energy loss is debated. Experiments suggest a power
:math:`k\\Omega^2` (A. J. and K. T. McDonald, *The rolling motion of a disk on
a horizontal plane*, arXiv physics/0008227). Then

.. math::

   \\sin^2 a = \\sin^2 a_0\\left(1 - \\frac{t}{t_0}\\right), \\qquad
   t_0 = \\frac{3 m r^2}{16 k}\\sin^2 a_0, \\qquad
   \\Omega \\propto (t_0 - t)^{-1/4} .

"""
from math import asin, cos, pi, radians, sin, sqrt

import matplotlib.pyplot as plt
import numpy as np
from sympy import Symbol, cos as Cos, sin as Sin, symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import CircularRim, LinearMappingMethod
from sympy_constrained.numeric import (
    compile_equations, consistent_state, simulate)
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model. The torque takes the power k*Omega**2, as Omega = w3/cos(beta).

m, r, g, k = symbols('m r g k')
q = phi, beta, psi, x, y = dynamicsymbols('phi beta psi x y')
w1, w2, w3, vx, vy = dynamicsymbols('w1:4 v_x v_y')
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)
yaw = N.orientnew('yaw', 'axis', [phi, N.z])
tilt = yaw.orientnew('tilt', 'axis', [beta, yaw.x])
disc = tilt.orientnew('disc', 'axis', [psi, tilt.y])
disc.set_ang_vel(N, w1*tilt.x + w2*tilt.y + w3*tilt.z)
C = O.locatenew('C', x*N.x + y*N.y + r*Cos(beta)*N.z)
C.set_vel(N, vx*N.x + vy*N.y - r*Sin(beta)*w1*N.z)
P = C.locatenew('P', -r*tilt.z)
P.set_vel(N, C.vel(N) + disc.ang_vel_in(N).cross(-r*tilt.z))
body = RigidBody('disc', C, disc, m, (
    m*r**2/4*inertia(tilt, 1, 2, 1), C))
method = LinearMappingMethod(
    N, q, [w1, w2, w3],
    [beta.diff() - w1, phi.diff()*Sin(beta) + psi.diff() - w2,
     phi.diff()*Cos(beta) - w3, x.diff() - vx, y.diff() - vy],
    u_dependent=[vx, vy], velocity_constraints=[(P, N.x), (P, N.y)],
    bodies=[body], forcelist=[
        (C, -m*g*N.z), (disc, -k*w3/Cos(beta)**2*tilt.z)])

# Straight rolling: the matrix of small deviations, motions at three speeds.

n = Symbol('n')
A = method.linearize(A_and_B=True, op_point={
    **dict.fromkeys([phi, beta, psi, w1, w3, k], 0), w2: n})[0]
kept = [list(method.equations_of_motion.states).index(state)
        for state in (beta, w1, w3)]
growth = A.extract(kept, kept)

toy = {m: 0.4, r: 0.0375, g: 9.81, k: 0}
critical = sqrt(9.81/(3*0.0375))
equations = compile_equations(method, toy)
accurate = dict(rtol=1e-10, atol=1e-12)


def run(compiled, start, t_end, **options):
    state = consistent_state(compiled, start, fixed=[*q, w1, w2, w3], fill=0)
    return simulate(compiled, t_end, state, **accurate, **options)


rates = {'C3': 0.8*critical, 'C0': 1.5*critical}
rolling = {colour: run(equations, {beta: radians(0.1), w2: rate}, 2.2,
                       t_eval=441) for colour, rate in rates.items()}

# Running down to 2 degrees. The loss is such that it would take 4 s to 0.

a0, t0 = radians(8), 4
loss = 3*0.4*0.0375**2*sin(a0)**2/(16*t0)
lossy = compile_equations(method, {**toy, k: loss})


def nearly_flat(t, state):
    return cos(state[1]) - sin(radians(2))


nearly_flat.terminal = True
spinning = run(lossy, {
    beta: pi/2 - a0, w3: sqrt(4*9.81/0.0375*sin(a0))}, t0,
    t_eval=1001, events=nearly_flat)
sine = np.cos(spinning[beta])
precession = spinning[w3]/sine

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3.5), layout='constrained')
grid = figure.add_gridspec(2, 3)
sketch = figure.add_subplot(grid[0, 0], projection='3d')
plot_snapshots(spinning, method, times=[0, 2], trails=False, ax=sketch,
               surfaces=[CircularRim(disc, C, r, tilt.y)], legend=False)
tilts = figure.add_subplot(grid[0, 1])
paths = figure.add_subplot(grid[0, 2])
for colour, motion in rolling.items():
    name = f'{rates[colour]/critical:.1f} $n_c$'
    tilts.plot(motion.t, np.degrees(motion[beta]), color=colour, label=name)
    paths.plot(motion[x], motion[y], color=colour, label=name)
tilts.set(xlabel='t in s', ylim=(-2, 55), title=r'tilt $\beta$ in degrees')
tilts.legend(loc='upper center', ncols=2)
paths.plot(0, 0, 'ko', markersize=4)
paths.set(xlabel='x in m', ylabel='y in m', title='path of the centre')
paths.set_aspect('equal')

speeds = figure.add_subplot(grid[1, 0])
for low, high, colour, name in (
        (0, critical, 'C3', 'growth'), (critical, 20, 'C0', 'frequency')):
    curve = np.linspace(low, high, 200)
    speeds.plot(curve, np.sqrt(np.abs(
        4*9.81/(5*0.0375) - 2.4*curve**2)), color=colour, label=name)
speeds.axvline(critical, color='0.5', linestyle='--')
speeds.text(critical, 24, '$n_c$ ', ha='right')
speeds.set(xlabel='n in rad/s', ylim=(-1, 42), title=r'$|\sigma|$ in rad/s')
speeds.legend(loc='upper left')

decline = figure.add_subplot(grid[1, 1])
quick = figure.add_subplot(grid[1, 2])
law = t0*(1 - np.linspace(1, 0.02, 200)**4)
fall = sin(a0)*np.sqrt(1 - law/t0)
for panel, values, expected in (
        (decline, np.degrees(np.arcsin(sine)), np.degrees(np.arcsin(fall))),
        (quick, precession/(2*pi), np.sqrt(4*9.81/0.0375/fall)/(2*pi))):
    panel.plot(spinning.t, values, color='C1', linewidth=2, label='simulated')
    panel.plot(law, expected, 'k--', linewidth=1, label='law')
    panel.set(xlabel='t in s')
decline.set_title('angle a in degrees')
decline.legend(loc='lower left')
quick.set(ylim=(10, 45), title=r'$\Omega/2\pi$ in Hz')

plt.show()

# Routh's critical speed, and the first part of the motion on either side.

squared = -growth.charpoly().all_coeffs()[2]
assert (squared - 4*g/(5*r) + 12*n**2/5).expand() == 0
assert abs(squared.subs({g: 9.81, r: 0.0375, n: critical})) < 1e-10
for colour, rate in rates.items():
    little = run(equations, {beta: 1e-6, w2: rate}, 0.5, t_eval=51)
    sigma = np.sqrt(4*9.81/(5*0.0375) - 2.4*rate**2 + 0j)
    part = 2.4*rate**2/sigma**2
    known = ((1 + part)*np.cosh(sigma*little.t) - part).real*1e-6
    assert np.abs(little[beta] - known).max() < 1e-5*np.abs(known).max()
assert np.degrees(rolling['C3'][beta]).max() > 30
assert np.degrees(rolling['C0'][beta]).max() < 1

# Moffatt's relation, the energy, and the finite time, all in the limit of a
# slow decline and small angles.

assert np.abs(precession**2*sine*0.0375/(4*9.81) - 1).max() < 0.04
weight = 0.4*9.81*0.0375
assert np.abs((spinning.energy + weight*sine)/(1.5*weight*sine)
              - 1).max() < 0.02
assert np.abs(sine**2/sin(a0)**2 - 1 + spinning.t/t0).max() < 0.02
assert abs(asin(sine[-1]) - radians(2)) < 1e-9
assert np.abs(spinning.energy_error).max() < 1e-8

# %%
# The equations run in this page. Move a slider to change the start.

report(method, spinning.x[0], {**toy, k: loss}, title='A disc runs down')
