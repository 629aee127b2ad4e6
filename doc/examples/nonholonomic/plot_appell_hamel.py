"""
The particle of Appell and Hamel
================================

The constraint is nonlinear in the velocities: the horizontal speed of a heavy
particle is always ``k`` times its vertical speed. Appell proposed a mechanism
of a wheel and pulleys that approaches this in the limit of a vanishing
distance; Hamel used the idealized particle as an example.

==================  ====================================================
constants           mass ``m`` = 1 kg, ratio ``k`` = 0.75,
                    gravity ``g`` = 9.81 m/s², along -z
coordinates         ``x``, ``y``, ``z``, in m
speeds              their derivatives, in m/s
inputs              none
start               x' = 0.45, y' = 0.6, z' = -1
==================  ====================================================

The constraint is :math:`\\dot x^2 + \\dot y^2 = k^2\\dot z^2`. With the ideal
force of Appell and Chetaev, along the gradient :math:`(\\dot x, \\dot y,
-k^2\\dot z)`, the particle falls with :math:`\\ddot z = -g/(1 + k^2)` on a
straight line, like on a smooth inclined plane (P. Appell, Rend. Circ. Mat.
Palermo 32 (1911) 48-50; G. Hamel, *Theoretische Mechanik*, Springer 1949).

"""

import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import simulate
from sympy_constrained.report import report

# The model. The row is halved, so that its gradient has no factors of two.

m, g, k = symbols('m g k')
x, y, z = dynamicsymbols('x y z')
vx, vy, vz = (q.diff() for q in (x, y, z))
L = m*(vx**2 + vy**2 + vz**2)/2 - m*g*z
particle = UdwadiaKalabaMethod(
    L, [x, y, z], nonhol_coneqs=[(vx**2 + vy**2 - k**2*vz**2)/2])

# The motion.

motion = simulate(
    particle, 1, {x: 0, y: 0, z: 0, vx: 0.45, vy: 0.6, vz: -1},
    constants={m: 1, g: 9.81, k: 0.75}, rtol=1e-10, atol=1e-12, t_eval=101)

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 2.6), layout='constrained')
cone = figure.add_subplot(1, 3, 1, projection='3d')
r, phi = np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 2*np.pi, 25))
cone.plot_wireframe(0.75*r*np.cos(phi), 0.75*r*np.sin(phi), -r,
                    color='0.75', linewidth=0.6)
cone.quiver(0, 0, 0, 0.45, 0.6, -1, color='C0', arrow_length_ratio=0.12)
cone.text(0.5, 0.7, -1.05, 'v', color='C0')
cone.set(xticks=[], yticks=[], zticks=[], xlabel="x'", ylabel="y'",
         zlabel="z'", title='velocities that are allowed')
cone.view_init(elev=18, azim=-35)
fall = figure.add_subplot(1, 3, 2)
t = motion.t
fall.plot(t, motion[z], label='computed')
fall.plot(t[::10], (-t - 9.81*t**2/(2*(1 + 0.75**2)))[::10], 'o',
          mfc='none', color='k', label='exact')
fall.plot(t, -t - 9.81*t**2/2, ':', color='0.6', label='free fall')
fall.set(xlabel='t in s', title='height z in m')
fall.legend()
force = figure.add_subplot(1, 3, 3)
for axis, name in enumerate('xyz'):
    force.plot(t, motion.constraint_forces[:, axis], label=name)
force.set(xlabel='t in s', title='constraint force in N', ylim=(0, 5))
force.legend(ncols=3)

plt.show()

# The published motion: uniformly accelerated on a straight line.

expected = -9.81/(1 + 0.75**2)
assert np.abs(motion[z] - (-t + expected*t**2/2)).max() < 1e-8
assert np.abs(motion[x]/0.45 - motion[y]/0.6).max() < 1e-8
assert np.abs(motion.constraint_forces[:, 2] - (expected + 9.81)).max() < 1e-8

# %%
# The equations run in this page. Move a slider to change the start.

report(particle, motion.x[0], {m: 1, g: 9.81, k: 0.75},
       points={'particle': (x, y, z)}, title="Appell and Hamel's particle")
