"""Chains of many bars in space: the recursive equations and other programs.

Bars on pins whose axes are ``z`` and ``y`` by turns, open, or with the end on
a ball joint. One run times all; a table of microseconds per call, of ratios,
and of seconds and megabytes from the model to the compiled function. Our calls
are made in a compiled loop, those of other programs from Python, of ``aba``
with the time of a model of one body as that of the call itself. What the
programs do for a closed chain says :mod:`programs`; Drake and Exudyn solve
nothing::

    python benchmarks/many_bodies.py
    python benchmarks/many_bodies.py 16 64
"""
import resource
import sys
import time

import numpy as np
from native import time_plain
from programs import PROGRAMS, Bars, pinocchio_model
from sympy import ImmutableDenseMatrix, cos, sin, symbols
from sympy.physics.mechanics import (
    Force, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import Loop, UdwadiaKalabaMethod
from sympy_constrained.numeric import compile_equations
from sympy_constrained.timing import per_call

SIZES = 8, 16, 64, 256, 512, 1000
# The ordinary form up to this number of bodies; the other programs, since
# MuJoCo's text may not be nested deeper; and Pinocchio, whose data contain
# arrays of n**3 numbers.
ORDINARY, OTHERS, PINOCCHIO = 32, 256, 512
PLACE, ANCHOR = symbols('d1:4'), (0.7, 0.1, 0.2)


def turn(parent, child, axis, angle, rate):
    """Orient a frame; SymPy's methods take a time that grows with the chain.
    """
    c, s = cos(angle), sin(angle)
    R = ImmutableDenseMatrix(
        [[c, 0, -s], [0, 1, 0], [s, 0, c]] if axis == 'y' else
        [[c, s, 0], [-s, c, 0], [0, 0, 1]])
    child._dcm_dict[parent], parent._dcm_dict[child] = R, R.T
    w = rate*getattr(parent, axis)
    child._ang_vel_dict[parent], parent._ang_vel_dict[child] = w, -w


def chain(n):
    """Arguments of the open chain, its constants, and a loop for the end."""
    q, u = dynamicsymbols(f'q1:{n + 1}'), dynamicsymbols(f'u1:{n + 1}')
    length, m, g, along, across = symbols('l m g I1 I2')
    N, origin = ReferenceFrame('N'), Point('O')
    origin.set_vel(N, 0)
    frame, pin, bodies, loads = N, origin, [], []
    for i in range(n):
        link = ReferenceFrame(f'A{i + 1}')
        turn(frame, link, 'y' if i % 2 else 'z', q[i], u[i])
        center, end = Point(f'C{i + 1}'), Point(f'P{i + 1}')
        center.set_pos(pin, length/2*link.x)
        end.set_pos(pin, length*link.x)
        bodies.append(RigidBody(
            f'b{i + 1}', center, link, m,
            (inertia(link, along, across, across), center)))
        loads.append(Force(center, -m*g*N.y))
        frame, pin = link, end
    arguments = {
        'frame': N, 'q_ind': q, 'u_ind': u, 'bodies': bodies,
        'kd_eqs': [x.diff() - v for x, v in zip(q, u)], 'forcelist': loads}
    held = Point('held')
    held.set_pos(origin, sum((d*x for d, x in zip(PLACE, N)), 0*N.x))
    values = {length: 1/n, m: 1/n, g: 9.81, along: 1e-3/n**3,
              across: 1/12/n**3}
    return arguments, values, Loop(pin, held)


class Given:
    """A model that consists of its arguments; a System of 1000 bodies takes
    SymPy minutes.
    """

    def __init__(self, arguments, **more):
        self._call = 'kane', {**arguments, **more}


def bars_of(n):
    """The same chain for other programs."""
    return Bars.equal(('zy'*n)[:n], 1/n, 1/n, 1e-3/n**3, 1/12/n**3, ANCHOR,
                      9.81)


def pinocchio_open(n, x):
    import pinocchio as pin
    model, _, _ = pinocchio_model(bars_of(n))
    data, tau = model.createData(), np.zeros(n)
    q, u = x[:n].copy(), x[n:].copy()
    return per_call(lambda: pin.aba(model, data, q, u, tau)), pin.aba(
        model, data, q, u, tau).copy()


def others_closed(n, x, names):
    """Times of other programs for the closed chain, by name."""
    return {name: 1e6*per_call(PROGRAMS[name](
        bars_of(n), x[:n].copy(), x[n:].copy()).evaluate) for name in names}


def of_native(equations, x):
    native = equations.native_function('rhs', 0., x)
    return time_plain(native.address, x[None], equations.p, native.size)


def measured(n):
    x = np.random.default_rng(0).uniform(-0.5, 0.5, 2*n)
    arguments, values, loop = chain(n)
    began = time.process_time()
    equations = compile_equations(Given(arguments), values, recursion=True)
    rates = equations.rhs(0., x)
    seconds = time.process_time() - began
    ends = {**values, **dict(zip(PLACE, ANCHOR))}
    closed = compile_equations(Given(
        arguments, configuration_constraints=[loop]), ends, recursion=True)
    line = {'n': n, 'seconds': seconds, 'MB': resource.getrusage(
        resource.RUSAGE_SELF).ru_maxrss/1024,
        'open': 1e6*of_native(equations, x),
        'closed': 1e6*of_native(closed, x)}
    if n <= ORDINARY:
        line['ordinary'] = 1e6*of_native(compile_equations(
            UdwadiaKalabaMethod(**arguments), values), x)
    if n <= OTHERS:
        line |= others_closed(n, x, ('drake', 'exudyn', 'mujoco'))
    if n > PINOCCHIO:
        return line
    own = pinocchio_open(1, np.zeros(2))[0]
    peer, known = pinocchio_open(n, x)
    line |= {'aba': 1e6*peer, 'aba alone': 1e6*(peer - own),
             'difference': abs(rates[n:] - known).max()/abs(known).max(),
             'closed aba': others_closed(n, x, ['pinocchio'])['pinocchio']}
    line['open/aba'] = line['open']/line['aba alone']
    line['closed/aba'] = line['closed']/line['closed aba']
    return line


def main(sizes):
    arguments, values, _ = chain(4)     # compiles the loops
    compile_equations(Given(arguments), values, recursion=True).rhs(
        0., np.zeros(8))
    lines = []
    for n in sizes:
        lines.append(measured(n))
        print(', '.join(f'{name} {value:.3g}'
                        for name, value in lines[-1].items()), flush=True)
    for one, two in zip(lines, lines[1:]):
        exponents = [np.log(two[name]/one[name])/np.log(two['n']/one['n'])
                     for name in ('seconds', 'open', 'closed')]
        print(f"exponents {one['n']} to {two['n']}:",
              *(f'{x:.2f}' for x in exponents))


if __name__ == '__main__':
    main(tuple(map(int, sys.argv[1:])) or SIZES)
