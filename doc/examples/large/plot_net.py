"""
A net of many loops
===================

Crosses of two bars are joined by ball joints at their ends and form a net. It
hangs from one corner, starts nearly flat, and falls. A tree of joints reaches
every cross, and each of the 25 meshes closes one
:class:`~sympy_constrained.Loop`. With ``recursion=True`` the accelerations
follow from body to body; the rows of the loops meet in a small matrix.

==================  ====================================================
constants           36 crosses of mass 0.1 kg with bars of 0.2 m;
                    ``g`` = 9.81 m/s² along -z
coordinates         ``q1`` to ``q108``, three angles in rad at each ball
speeds              ``u1`` to ``u108``, their derivatives
inputs              none
start               at rest, a little out of the plane
==================  ====================================================

The page has no living view, which would need the ordinary equations.

"""
import matplotlib.pyplot as plt
import numpy as np
from sympy import symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, System, dynamicsymbols, inertia)

from sympy_constrained import Loop
from sympy_constrained.numeric import compile_equations, simulate

# The model: each cross hangs on the one to its left, or the one above.

size, half = 6, 0.1
m, g = symbols('m g')
q, u = (list(dynamicsymbols(f'{x}1:{3*size**2 + 1}')) for x in 'qu')
N, corner = ReferenceFrame('N'), Point('O')
corner.set_vel(N, 0)
system, loops, crosses, free = System(N), [], {}, zip(q, u)


def end_of(cross, along):
    """A new point at an end of a cross."""
    frame, centre = crosses[cross]
    return centre.locatenew(f'E{cross}{along}', half*along[0]*frame.x
                            + half*along[1]*frame.y)


for i in range(size):
    for j in range(size):
        pin, parent = corner, N
        if j:
            pin, parent = end_of((i, j - 1), (1, 0)), crosses[i, j - 1][0]
        elif i:
            pin, parent = end_of((i - 1, j), (0, -1)), crosses[i - 1, j][0]
        for axis in 'zyx':
            frame = ReferenceFrame(f'A{i}{j}{axis}')
            angle, rate = next(free)
            frame.orient_axis(parent, getattr(parent, axis), angle)
            frame.set_ang_vel(parent, rate*getattr(parent, axis))
            parent = frame
        centre = pin.locatenew(
            f'C{i}{j}', half*frame.x if j else -half*frame.y)
        crosses[i, j] = frame, centre
        system.add_bodies(RigidBody(f'cross{i}{j}', centre, frame, m, (
            inertia(frame, *(m*half**2*k/3 for k in (1, 1, 2))), centre)))
        system.add_loads((centre, -m*g*N.z))
        if i and j:
            loops.append(Loop(end_of((i, j), (0, 1)),
                              end_of((i - 1, j), (0, -1))))
system.add_coordinates(*q)
system.add_speeds(*u)
system.add_kdes(*(x.diff() - v for x, v in zip(q, u)))

values = {m: 0.1, g: 9.81}
equations = compile_equations(system, values, recursion=True, loops=loops)
print(equations)
start = np.append(np.random.default_rng(3).uniform(-0.05, 0.05, len(q)),
                  np.zeros(len(u)))
run = simulate(equations, 0.6, start, initial='project', t_eval=25)
print(f"{run.statistics['steps']} steps, largest residual "
      f'{run.largest_residual:.0e}')
assert run.success and run.largest_residual < 1e-12

# The bars of the crosses at four instants.


def rotation(angles):
    """Axes of a cross in those of the one it hangs on."""
    c, s = np.cos(angles), np.sin(angles)
    return (np.array([[c[0], -s[0], 0], [s[0], c[0], 0], [0, 0, 1]])
            @ np.array([[c[1], 0, s[1]], [0, 1, 0], [-s[1], 0, c[1]]])
            @ np.array([[1, 0, 0], [0, c[2], -s[2]], [0, s[2], c[2]]]))


def bars(x):
    """Ends of all bars, shape (72, 2, 3)."""
    axes, centres, found = {}, {}, []
    for k, (i, j) in enumerate(crosses):
        before = (i, j - 1) if j else (i - 1, j)
        parent, way = axes.get(before, np.eye(3)), (half, 0) if j else (
            0, -half)
        R = axes[i, j] = parent @ rotation(x[3*k:3*k + 3])
        pin = centres[before] + parent[:, :2] @ way if k else np.zeros(3)
        centre = centres[i, j] = pin + R[:, :2] @ way
        found += [[centre - half*R[:, e], centre + half*R[:, e]]
                  for e in (0, 1)]
    return np.array(found)


fig = plt.figure(figsize=(9, 7))
for place, k in enumerate((0, 8, 16, 24), 1):
    ax = fig.add_subplot(2, 2, place, projection='3d')
    for one, two in bars(run.x[k]):
        ax.plot(*np.transpose([one, two]), color='tab:blue', lw=1.5)
    ax.plot(0, 0, 0, 'k^')
    ax.set(xlim=(0, 1.2), ylim=(-1.2, 0), zlim=(-1.2, 0), xlabel='x in m',
           ylabel='y in m', zlabel='z in m', title=f't = {run.t[k]:.1f} s')
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_major_locator(plt.MultipleLocator(0.4))
    ax.set_box_aspect((1, 1, 1))
fig.tight_layout()
plt.show()
