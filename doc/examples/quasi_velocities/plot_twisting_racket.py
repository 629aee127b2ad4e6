"""
A racket that twists: quaternions and a singular mass matrix
============================================================

Toss a tennis racket so that it turns about its middle principal axis: it comes
back with its faces exchanged. A unit quaternion describes the free body, and
the Lagrangian uses Euler's angular velocity,

.. math::

   L = \\tfrac12\\,\\omega^T I\\,\\omega, \\qquad
   \\omega = 2\\,E(e)\\,\\dot e,

where :math:`E` has three rows for four rates: a change of the norm has no
inertia, and the :math:`4\\times4` mass matrix has rank three. It cannot be
inverted. The row :math:`|e|^2 = 1` determines the remaining direction. Udwadia
and Kalaba's equations only need mass matrix and rows together to be regular
(F. E. Udwadia and A. D. Schutte, J. Appl. Mech. 77 (2010) 044505).

==================  ====================================================
constants           principal moments of inertia ``I1`` = 0.0012, ``I2`` =
                    0.0164, ``I3`` = 0.0175 kg m², a tennis racket
coordinates         ``e0`` to ``e3``, a unit quaternion
speeds              their derivatives
inputs              none
start               10 rad/s about the second axis, 0.1 rad/s about the
                    first one
==================  ====================================================

Jacobi's elliptic functions describe the angular velocity (L. D. Landau and E.
M. Lifshitz, *Mechanics*, section 37). With twice the energy :math:`2T` and the
angular momentum :math:`M`, if :math:`M^2 < 2T I_2`,

.. math::

   \\omega_1 = \\sqrt{\\tfrac{2T I_3 - M^2}{I_1(I_3 - I_1)}}\\,
   \\mathrm{dn}\\,\\tau, \\quad
   \\omega_2 = \\sqrt{\\tfrac{M^2 - 2T I_1}{I_2(I_2 - I_1)}}\\,
   \\mathrm{sn}\\,\\tau, \\quad
   \\omega_3 = \\sqrt{\\tfrac{M^2 - 2T I_1}{I_3(I_3 - I_1)}}\\,
   \\mathrm{cn}\\,\\tau,

where :math:`\\tau` grows at the rate
:math:`\\sqrt{(I_2 - I_1)(2T I_3 - M^2)/(I_1 I_2 I_3)}`, and
:math:`k^2 = \\frac{(I_3 - I_2)(M^2 - 2T I_1)}{(I_2 - I_1)(2T I_3 - M^2)}`.
After half a period, :math:`2K(k)`, the second axis has turned over: the racket
has twisted by half a turn about its handle (M. S. Ashbaugh, C. C. Chicone and
R. H. Cushman, *The twisting tennis racket*, J. Dyn. Diff. Eq. 3 (1991) 67-85).
In the picture a camera turns with the handle about the angular momentum.

"""
from math import sqrt

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ellipj, ellipk
from sympy import Matrix, symbols
from sympy.physics.mechanics import ReferenceFrame, dynamicsymbols

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.report import report

# The model.

moments = I1, I2, I3 = symbols('I1:4')
e = e0, e1, e2, e3 = dynamicsymbols('e0:4')
rates = [x.diff() for x in e]
E = Matrix([[-e1, e0, e3, -e2], [-e2, -e3, e0, e1], [-e3, e2, -e1, e0]])
omega = 2*E*Matrix(rates)
L = sum(moment*w**2 for moment, w in zip(moments, omega))/2
racket = UdwadiaKalabaMethod(
    L, e, hol_coneqs=[(e0**2 + e1**2 + e2**2 + e3**2 - 1)/2])

# The motion. The body axes start along those of space.

I = 0.0012, 0.0164, 0.0175
equations = compile_equations(racket, dict(zip(moments, I)))
spin = 0.1, 10, 0
start = dict(zip((*e, *rates), (1, 0, 0, 0, 0, *np.divide(spin, 2))))
motion = simulate(equations, 4, start, t_eval=801, rtol=1e-11, atol=1e-13)
w = equations.expression(omega)(motion.t, motion.x)[:, :, 0]

# The known solution.

twice = sum(inertia*rate**2 for inertia, rate in zip(I, spin))
square = sum((inertia*rate)**2 for inertia, rate in zip(I, spin))
above, below = twice*I[2] - square, square - twice*I[0]
pace = sqrt((I[1] - I[0])*above/(I[0]*I[1]*I[2]))
k2 = (I[2] - I[1])*below/((I[1] - I[0])*above)
sn, cn, dn, _ = ellipj(pace*motion.t + ellipk(k2), k2)
known = np.transpose([
    sqrt(above/(I[0]*(I[2] - I[0])))*dn, sqrt(below/(I[1]*(I[1] - I[0])))*sn,
    sqrt(below/(I[2]*(I[2] - I[0])))*cn])
half = 2*ellipk(k2)/pace

# The picture: a racket with a blue and an orange side.

r0, r1, r2, r3 = motion.x[:, :4].T
B = np.array([
    [r0**2 + r1**2 - r2**2 - r3**2, 2*(r1*r2 - r0*r3), 2*(r1*r3 + r0*r2)],
    [2*(r1*r2 + r0*r3), r0**2 - r1**2 + r2**2 - r3**2, 2*(r2*r3 - r0*r1)],
    [2*(r1*r3 - r0*r2), 2*(r2*r3 + r0*r1), r0**2 - r1**2 - r2**2 + r3**2]])
B = np.moveaxis(B, 2, 0)
momentum = (B @ (I*w)[:, :, None])[:, :, 0]
plt.style.use('sympy_constrained.plotting.paper')
figure = plt.figure(figsize=(6.5, 3), layout='constrained')
film, rates = figure.subplots(2, height_ratios=(1, 2))
turn = np.linspace(0, 2*np.pi, 60)
face = np.array([0.35 + 0.3*np.cos(turn), 0.24*np.sin(turn), 0*turn])
handle = np.array([[-0.55, 0.05], [0, 0], [0, 0]])


def draw(panel, right, up, towards, place):
    """Draw the racket with the rows as its axes, seen by a camera."""
    color = 'C0' if towards[2] > 0 else 'C1'
    sight = np.array([right, up])
    panel.fill(*((sight @ face).T + place).T, color=color, alpha=0.35)
    panel.plot(*((sight @ face).T + place).T, color='k', linewidth=1)
    panel.plot(*((sight @ handle).T + place).T, color='k', linewidth=3)


up = momentum[0]/np.linalg.norm(momentum[0])
for k in range(0, 501, 50):
    right = B[k, :, 0] - up*(up @ B[k, :, 0])
    right /= np.linalg.norm(right)
    draw(film, right @ B[k], up @ B[k], np.cross(right, up) @ B[k],
         (5.2*motion.t[k], 0))
film.set(title='the racket every 0.25 s, with its angular momentum upright',
         xlim=(-0.7, 13.8), ylim=(-0.4, 0.4))
film.set_aspect('equal')
film.axis('off')
for k in range(3):
    rates.plot(motion.t, w[:, k], color=f'C{k + 2}',
               label=f'$\\omega_{k + 1}$')
    rates.plot(motion.t[::20], known[::20, k], 'k.', markersize=4,
               label=None if k else 'closed form')
rates.set(xlabel='t in s', title='angular velocity in rad/s', xlim=(-0.1, 5.3))
rates.legend(loc='center right')

plt.show()

# The mass matrix is singular, and the elliptic functions describe the motion;
# the angular momentum is constant in space.

M = equations.expression(racket.system.M)(0, motion.x[100])
assert M.shape == (4, 4) and np.linalg.matrix_rank(M) == 3
assert np.abs(w - known).max() < 1e-5
assert np.abs(momentum - momentum[0]).max() < 1e-9
assert np.abs(motion.energy_error).max() < 1e-9
assert motion.largest_residual < 1e-10

# Half a period turns the second axis over.

end = simulate(equations, half, start, rtol=1e-11, atol=1e-13, t_eval=2).x[-1]
assert np.abs(equations.expression(omega)(half, end).ravel()
              - (0.1, -10, 0)).max() < 1e-5
assert abs(half - 1.33383743) < 1e-8

# %%
# The equations run in this page. Move a slider to change the start.

N = ReferenceFrame('N')
A = N.orientnew('A', 'Quaternion', e)
rim = [a*A.x + b*A.y for a, b in face[:2, ::4].T]
report(racket, start, dict(zip(moments, I)), title='A racket that twists',
       lines=[[*rim, rim[0]], (-0.55*A.x, 0.05*A.x), (
           0.35*A.x, 0.35*A.x + 0.2*A.z)], frame=N, up='y', speed=0.5)
