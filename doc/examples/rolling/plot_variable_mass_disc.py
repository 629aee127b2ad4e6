"""
A rolling disc that loses mass
==============================

A thin disc rolls without slipping on a horizontal plane and loses a fifth of
its mass, uniformly over its body. Mass that drops off keeps its velocity; the
motion is then that of a disc with constant mass, because all equations are
proportional to the mass. The motion changes only if an engine, horizontal and
along the heading, expels the mass.

==================  ====================================================
constants           radius ``r`` = 0.5 m, initial mass ``m0`` = 2 kg,
                    of which ``beta`` = 0.1 1/s is lost, speed of the exhaust
                    ``c`` = 3 m/s, gravity ``g`` = 9.81 m/s², along -z
coordinates         ``psi`` yaw, ``theta`` lean, ``phi`` spin, in rad; ``x``,
                    ``y`` of the point of contact, in m
speeds              ``w1``, ``w2``, ``w3``, their derivatives, in rad/s;
                    ``vx``, ``vy``: x', y', in m/s
inputs              mass :math:`m = m_0(1 - \\beta t)`, moments of inertia
                    :math:`m r^2/4\\,(1, 2, 1)`
start               yaw 0.2, lean 0.25, at the origin, with the rates 0.4,
                    -0.3 and 5
==================  ====================================================

The equations are Meshchersky's: they contain the present mass and inertia, but
not their rates. ``KanesMethod`` uses the rates of momentum. Its disc
accelerates as if the lost mass came to rest in space; with
:func:`.momentum_loads` both classes agree. The reference numbers come from an
independent integration of the Newton-Euler equations with the contact reaction
among the unknowns.

"""

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos, sin, symbols
from sympy.physics.mechanics import (
    KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import (
    CircularRim, GibbsAppellMethod, momentum_loads, thrust)
from sympy_constrained.numeric import simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# Frames: yaw, lean, spin. The point of contact is the foot of the disc.

r, m0, beta, c, g = symbols('r m0 beta c g')
t = dynamicsymbols._t
psi, theta, phi, x, y = q = dynamicsymbols('psi theta phi x y')
w1, w2, w3, vx, vy = u = dynamicsymbols('w1:4 vx vy')
m = m0*(1 - beta*t)
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)
yaw = N.orientnew('yaw', 'axis', [psi, N.z])
lean = yaw.orientnew('lean', 'axis', [theta, yaw.x])
disc = lean.orientnew('disc', 'axis', [phi, lean.y])
yaw.set_ang_vel(N, w1*N.z)
lean.set_ang_vel(yaw, w2*yaw.x)
disc.set_ang_vel(lean, w3*lean.y)
contact = O.locatenew('contact', x*N.x + y*N.y)
centre = contact.locatenew('centre', r*lean.z)
centre.set_vel(N, disc.ang_vel_in(N).cross(r*lean.z))
body = RigidBody('disc', centre, disc, m, (
    m*r**2/4*inertia(lean, 1, 2, 1), centre))
weight = centre, -m*g*N.z
engine = thrust(centre, m.diff(t), -c*yaw.x)
model = dict(frame=N, q_ind=q, u_ind=[w1, w2, w3], u_dependent=[vx, vy],
             kd_eqs=[a.diff() - b for a, b in zip(q, u)],
             velocity_constraints=[vx - r*w3*cos(psi), vy - r*w3*sin(psi)])

# Meshchersky's disc with and without the engine, and SymPy's.


def kane(*loads):
    method = KanesMethod(**model)
    method.kanes_equations([body], [weight, *loads])
    return method


def run(method, lost=0.1, exhaust=3):
    numbers = {r: 0.5, m0: 2, beta: lost, c: exhaust, g: 9.81}
    return simulate(method, 2, start, constants=numbers, t_eval=201,
                    rtol=1e-11, atol=1e-12)


start = {psi: 0.2, theta: 0.25, phi: 0, x: 0, y: 0, w1: 0.4, w2: -0.3, w3: 5,
         vx: 2.5*np.cos(0.2), vy: 2.5*np.sin(0.2)}
method = GibbsAppellMethod(**model, bodies=[body],
                           forcelist=[weight, engine])
whole, without, pushed = run(method, 0), run(method, exhaust=0), run(method)
at_rest = run(kane(engine))
agreed = run(kane(engine, *momentum_loads([body], N)))

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 2.9), layout='constrained')
grid = figure.add_gridspec(2, 3, width_ratios=(1.1, 1.25, 1))
sketch = figure.add_subplot(grid[:, 0], projection='3d')
plot_snapshots(pushed, method, times=[0, 0.6, 1.2], ax=sketch, legend=False,
               surfaces=[CircularRim(disc, centre, r, lean.y)], trails=False)
runs = (('mass is constant', whole, dict(color='0.75', linewidth=4)),
        ('mass drops off', without, dict(color='C0', linewidth=1.5)),
        ('engine', pushed, dict(color='C1', linewidth=2.5)),
        ('KanesMethod,\nengine', at_rest, dict(color='C3', linewidth=1.5)),
        ('the same with\nmomentum_loads', agreed,
         dict(color='k', linestyle='--', linewidth=1)))
paths = figure.add_subplot(grid[:, 1])
leaning = figure.add_subplot(grid[0, 2])
spinning = figure.add_subplot(grid[1, 2])
for name, motion, style in runs:
    paths.plot(motion[x], motion[y], label=name, **style)
    if motion in (without, pushed, at_rest):
        leaning.plot(motion.t, motion[theta], **style)
        spinning.plot(motion.t, motion[w3], **style)
paths.set(xlabel='x in m', ylabel='y in m', title='paths of the contact')
paths.set_aspect('equal', adjustable='datalim')
paths.legend(loc='lower left')
leaning.set(title=r'lean $\theta$ in rad', xticklabels=())
spinning.set(xlabel='t in s', title='spin in rad/s')

plt.show()

# The values of the Newton-Euler equations after 2 s.

expected = {
    without: (-1.496076780, .398530204, 11.057599338, 3.518047932,
              -2.978777441),
    pushed: (-1.529235794, .466754749, 11.917072713, 4.048758635,
             -3.179394613)}
for motion, digits in expected.items():
    assert np.abs(motion.x[-1, :5] - digits).max() < 2e-9
assert np.abs(whole.x - without.x).max() < 1e-8
assert np.abs(agreed.x[:, :5] - pushed.x[:, :5]).max() < 1e-8
assert np.abs(at_rest.x[-1, :5] - pushed.x[-1, :5]).max() > 0.1

# %%
# The equations run in this page. Move a slider to change the start.

report(method, start, {r: 0.5, m0: 2, beta: 0.1, c: 3, g: 9.81},
       title='A disc that loses mass')
