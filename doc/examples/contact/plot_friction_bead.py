"""
A bead on a rough ring
======================

A bead slides on a horizontal ring with dry friction. The friction is a working
constraint force: the ring is not ideal. It is proportional to the normal
force, which is a multiplier of the constraint. The friction is tangential and
the mass is equal in all directions, so friction does not change the normal
force, and the equation stays explicit.

==================  ====================================================
constants           mass ``m`` = 0.1 kg, radius ``r`` = 0.25 m,
                    coefficient of friction ``mu`` = 0.1
coordinates         ``x``, ``y`` in the plane of the ring, in m
speeds              their derivatives, in m/s
inputs              none
start               at (r, 0) with the speed v0 = 3 m/s
==================  ====================================================

The normal force is :math:`m v^2/r`, so the speed obeys :math:`dv/d\\varphi =
-\\mu v`: after the angle :math:`\\varphi` it is :math:`v_0 e^{-\\mu\\varphi}`,
as in Euler's law for a rope around a bollard. In time, :math:`v = v_0/(1 +
\\mu v_0 t/r)`. For the formulation see F. E. Udwadia and R. E. Kalaba, J.
Appl. Mech. 68 (2001) 462-467.

"""
from math import exp, pi

import matplotlib.pyplot as plt
import numpy as np
from sympy import sqrt, symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The smooth ring gives the normal force: the row has a gradient of length r,
# and the ring pushes inwards.

m, r, mu = symbols('m r mu', positive=True)
x, y = dynamicsymbols('x y')
v = sqrt(x.diff()**2 + y.diff()**2)
ring = (x**2 + y**2 - r**2)/2
smooth = UdwadiaKalabaMethod(m*v**2/2, [x, y], hol_coneqs=[ring])
normal = -smooth.multipliers[0]*r

# The rough ring: C is the friction, against the velocity.

friction = [-mu*normal*x.diff()/v, -mu*normal*y.diff()/v]
rough = UdwadiaKalabaMethod(m*v**2/2, [x, y], hol_coneqs=[ring],
                            nonideal_forces=friction)

# The motion, until the bead has gone around once.


def once_around(t, state):
    return state[1] if state[0] > 0 else -1.


once_around.direction = 1
once_around.terminal = True

motion = simulate(
    rough, 5, {x: 0.25, y: 0, x.diff(): 0, y.diff(): 3},
    constants={m: 0.1, r: 0.25, mu: 0.1}, rtol=1e-11, atol=1e-12,
    t_eval=np.linspace(0, 0.8, 401), events=once_around)
speed = np.hypot(motion['x\''], motion['y\''])

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure, (sketch, decay, power) = plt.subplots(
    1, 3, figsize=(6.5, 2.5), layout='constrained',
    gridspec_kw={'width_ratios': [1, 1.3, 1.3]})
phi = np.linspace(0, 2*pi, 200)
circle = [(r*np.cos(angle), r*np.sin(angle))
          for angle in np.linspace(0, 2*pi, 41)]
plot_snapshots(motion, points={'bead': (x, y)}, lines=[circle], ax=sketch,
               times=[0, 0.1, 0.3], trails=False, legend=False,
               forces={'of the ring': ((x, y), np.pad(
                   motion.constraint_forces, ((0, 0), (0, 1))))})
turned = np.unwrap(np.arctan2(motion[y], motion[x]))
decay.plot(np.degrees(turned), speed, label='computed')
decay.plot(np.degrees(phi[::12]), 3*np.exp(-0.1*phi[::12]), 'o', mfc='none',
           color='k', label=r'$v_0\,e^{-\mu\varphi}$')
decay.set(xlabel='angle in degrees', title='speed in m/s')
decay.legend()
power.plot(motion.t, motion.energy, label='kinetic energy')
power.plot(motion.t, -motion.work, label='work of friction, negative')
power.plot(motion.t, motion.energy - motion.work, ':', color='k',
           label='sum')
power.set(xlabel='t in s', title='energy in J', ylim=(0, 0.75))
power.legend(loc='upper left')

plt.show()

# The exponential law, after one turn and on the way; the law in time.

end = motion.events[0].x
assert abs(np.hypot(end[2], end[3]) - 3*exp(-2*pi*0.1)) < 1e-8
assert np.abs(speed - 3*np.exp(-0.1*turned)).max() < 1e-8
assert np.abs(speed - 3/(1 + 0.1*3*motion.t/0.25)).max() < 1e-8

# %%
# The equations run in this page. Move a slider to change the start.

report(rough, motion.x[0], {m: 0.1, r: 0.25, mu: 0.1},
       points={'bead': (x, y)}, lines=[circle], title='A bead with friction')
