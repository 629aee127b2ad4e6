"""
A crane that carries its load along a path
==========================================

The load of an overhead crane shall follow a given path, over a wall, and stop
at the end. The crane has motors at the trolley and at the winch. A constraint
that prescribes the position of the load would apply a force to the load.
Therefore the servo constraints prescribe the motor variables: the position of
the trolley and the length of the rope. The gradients of these rows are the
directions of the motor forces, and their multipliers are the motor forces. The
swing of the load stays free.

==================  ====================================================
constants           trolley ``M`` = 10 kg, load ``m`` = 20 kg, ``g`` =
                    9.81 m/s²
coordinates         ``x`` of the trolley, ``l`` of the rope, in m;
                    ``theta`` of the rope from the vertical, in rad
speeds              their derivatives
inputs              ``x_d``, ``l_d``: what the motors do, in m
start               at rest, the rope vertical
==================  ====================================================

The rope force acts along the rope, so position and acceleration of the load
determine the position of the trolley. With the load at the distance ``X`` and
the depth ``H`` below the rail,

.. math::

   x_d = X + \\frac{H \\ddot X}{g - \\ddot H}, \\qquad
   l_d = \\sqrt{H^2 + (X - x_d)^2}.

No equation has to be solved: the crane is *flat* (M. Fliess, J. Lévine, P.
Martin and P. Rouchon, *Flatness and defect of non-linear systems: introductory
theory and examples*, Int. J. Control 61 (1995) 1327-1361). The force at the
trolley is :math:`M\\ddot x_d + m\\ddot X`, the tension of the rope
:math:`m\\sqrt{\\ddot X^2 + (g - \\ddot H)^2}`. For comparison the picture
shows a crane whose trolley stays above the path and whose winch keeps the
depth of a vertical rope: afterwards, its load swings by 53°.

"""

import matplotlib.pyplot as plt
import numpy as np
from sympy import Piecewise, cos, lambdify, sin, sqrt, symbols
from sympy.physics.mechanics import (
    Lagrangian, Particle, Point, ReferenceFrame, dynamicsymbols)

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations, simulate
from sympy_constrained.plotting import plot_snapshots
from sympy_constrained.report import report

# The model.

t = dynamicsymbols._t
M, m, g = symbols('M m g')
q = x, l, theta = dynamicsymbols('x l theta')
x_d, l_d = dynamicsymbols('x_d l_d')
N, O = ReferenceFrame('N'), Point('O')
O.set_vel(N, 0)
hook = O.locatenew('trolley', x*N.x)
hook.set_vel(N, x.diff()*N.x)
end = hook.locatenew('load', l*(sin(theta)*N.x - cos(theta)*N.y))
end.set_vel(N, end.pos_from(O).dt(N))
load = Particle('load', end, m)
load.potential_energy = -m*g*l*cos(theta)
bodies = [Particle('trolley', hook, M), load]
crane = UdwadiaKalabaMethod(
    Lagrangian(N, *bodies), q, hol_coneqs=[x - x_d, l - l_d], bodies=bodies,
    frame=N)
values = {M: 10, m: 20, g: 9.81}

# The path of the load: 4 m to the right in 3 s, 1.2 m up and down again, with
# four continuous derivatives at both ends.

duration, depth = 3, 3
s = t/duration
way = 4*s**5*(126 - 420*s + 540*s**2 - 315*s**3 + 70*s**4)
low = depth - 1.2*(4*s*(1 - s))**5
trolley = way + low*way.diff(t, 2)/(9.81 - low.diff(t, 2))
rope = sqrt(low**2 + (way - trolley)**2)


def run(trolley, rope):
    """Carry the load, and follow it for another 3 s."""
    compiled = compile_equations(crane, values, {
        x_d: Piecewise((trolley, t < duration), (4, True)),
        l_d: Piecewise((rope, t < duration), (depth, True))})
    start = dict.fromkeys((*q, *(qi.diff() for qi in q)), 0) | {l: depth}
    return simulate(compiled, 6, start, t_eval=601, rtol=1e-10, atol=1e-12)


flat, plain = run(trolley, rope), run(way, low)

# Known positions, accelerations and forces along the path.

known = [np.where(flat.t < duration, f(flat.t), rest) for f, rest in (
    (lambdify(t, expression), rest) for expression, rest in (
        (way, 4), (low, depth), (trolley.diff(t, 2), 0),
        (way.diff(t, 2), 0), (low.diff(t, 2), 0)))]
X, H, trolley_rate, X_rate, H_rate = known
force = 10*trolley_rate + 20*X_rate
pull = 20*np.hypot(X_rate, 9.81 - H_rate)

# The picture.

plt.style.use('sympy_constrained.plotting.paper')
figure, panels = plt.subplots(
    2, 2, figsize=(6.5, 4.3), layout='constrained',
    gridspec_kw={'height_ratios': (1.6, 1)})
for panel, motion, title in (
        (panels[0, 0], flat, 'the load keeps to its path'),
        (panels[0, 1], plain, 'the trolley keeps to the path')):
    panel.fill([1.8, 2.2, 2.2, 1.8], [-2.15, -2.15, -3.6, -3.6],
               color='0.85')
    plot_snapshots(motion, crane, lines=[(hook, end)], ax=panel,
                   times=motion.t[:301:30], legend=False)
    panel.plot(X, -H, ':', color='k', linewidth=1)
    panel.set(title=title, xlim=(-0.8, 7), ylim=(-3.7, 0.3))
angles, forces = panels[1]
for motion, color, name in ((flat, 'C0', 'flat'), (plain, 'C1', 'plain')):
    angles.plot(motion.t, np.degrees(motion[theta]), color=color, label=name)
angles.axvspan(0, duration, color='0.94')
angles.set(xlabel='t in s', title=r'angle $\theta$ of the rope in °')
angles.legend(loc='upper left')
forces.plot(flat.t, flat.multipliers[:, 0], color='C2', label='trolley')
forces.plot(flat.t, -flat.multipliers[:, 1], color='C3', label='rope')
forces.plot(flat.t[::12], force[::12], 'k.', markersize=3,
            label='closed form')
forces.plot(flat.t[::12], pull[::12], 'k.', markersize=3)
forces.axvspan(0, duration, color='0.94')
forces.set(xlabel='t in s', title='forces of the motors in N',
           ylim=(-130, 360))
forces.legend(loc='upper right', ncols=3)

plt.show()

# The load is on its path, also at rest; the forces are the known ones; from
# rest to rest at the same height the total work of the motors is zero.

assert np.abs(flat[x] + flat[l]*np.sin(flat[theta]) - X).max() < 1e-8
assert np.abs(flat[l]*np.cos(flat[theta]) - H).max() < 1e-8
assert np.abs(flat.multipliers[:, 0] - force).max() < 1e-5
assert np.abs(flat.multipliers[:, 1] + pull).max() < 1e-5
assert abs(flat.work[-1]) < 1e-6
assert np.abs(flat.energy_error).max() < 1e-6
assert max(flat.largest_residual, plain.largest_residual) < 1e-10

# The other load swings freely afterwards. Its largest angle gives its energy,
# the work of its motors.

swing = plain[theta][plain.t > duration]
energy = 20*9.81*3*(1 - np.cos(np.abs(swing).max()))
assert abs(energy - plain.work[-1]) < 0.01
assert 53 < np.degrees(np.abs(swing).max()) < 54

# %%
# The equations run in this page. Move a slider to change the start.

report(crane, flat.x[0], values, {
    x_d: Piecewise((trolley, t < duration), (4, True)),
    l_d: Piecewise((rope, t < duration), (depth, True))},
    lines=[(hook, end)], title='A crane')
