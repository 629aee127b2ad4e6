"""The mechanisms of the laws: small ones for every difficulty, and all ready
models.
"""
from dataclasses import replace
from functools import cache

from sympy import Rational, cos, sin, symbols
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

import ready
from kkt import at, close, t
from laws.mechanism import NUMBERS, Mechanism, g, length, m
from sympy_constrained.models import MODELS as READY


def rates(q):
    return tuple(x.diff(t) for x in q)


def pendulum():
    x, y = q = dynamicsymbols('x y')
    vx, vy = v = rates(q)
    return Mechanism(q, v, L=m*(vx**2 + vy**2)/2 - m*g*y,
                     hol=((x**2 + y**2 - length**2)/2,))


def damped_double_pendulum():
    """Two bobs in Cartesian coordinates, one of them in a viscous fluid."""
    q = dynamicsymbols('x1 y1 x2 y2')
    u = dynamicsymbols('u1:5')
    x1, y1, x2, y2 = q
    N = ReferenceFrame('N')
    O, P, R = (Point(name) for name in 'OPR')
    O.set_vel(N, 0)
    for point, i in ((P, 0), (R, 2)):
        point.set_pos(O, q[i]*N.x + q[i + 1]*N.y)
        point.set_vel(N, u[i]*N.x + u[i + 1]*N.y)
    drag = symbols('c')
    return Mechanism(
        q, u, frame=N, bodies=(Particle('P', P, m), Particle('R', R, 2*m)),
        loads=((P, -m*g*N.y), (R, -2*m*g*N.y - drag*R.vel(N))),
        kd_eqs=tuple(a.diff(t) - b for a, b in zip(q, u)),
        hol=(x1**2 + y1**2 - length**2,
             (x2 - x1)**2 + (y2 - y1)**2 - length**2/4),
        constants={drag: Rational(3, 10)},
        guess={x1: 1, y1: Rational(-1, 2), x2: 2, y2: -2})


def sprung_bob():
    """Kane's shape with potential energy: weight, and a spring whose end is
    moved, in speeds that are not q'."""
    x, y = q = dynamicsymbols('x y')
    u1, u2 = u = dynamicsymbols('u1 u2')
    k = symbols('k', positive=True)
    N = ReferenceFrame('N')
    O, P = Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, x*N.x + y*N.y)
    P.set_vel(N, (u1 + x*u2)*N.x + (u1 - u2)*N.y)
    bob = Particle('bob', P, m)
    bob.potential_energy = k*(x - sin(t))**2/2 + m*g*y
    return Mechanism(
        q, u, frame=N, bodies=(bob,), loads=((P, -P.vel(N)/5),),
        kd_eqs=(x.diff(t) - u1 - x*u2, y.diff(t) - u1 + u2),
        hol=(x**2 + y**2 - length**2,), constants={k: Rational(7, 2)},
        potential=((P, -k*(x - sin(t))*N.x - m*g*N.y),),
        options={'potential_energy': 'include'})


def turning_wire():
    """A bead on a wire that turns at a given rate: the wire does work."""
    x, y, z = q = dynamicsymbols('x y z')
    v = rates(q)
    turn = symbols('Omega')
    return Mechanism(
        q, v, L=m*sum(e**2 for e in v)/2 - m*g*z,
        hol=(x*sin(turn*t) - y*cos(turn*t), z - x**2/2 - y**2/2),
        constants={turn: Rational(3, 2)})


def sleigh():
    x, y, theta = q = dynamicsymbols('x y theta')
    u1, u2, u3 = u = dynamicsymbols('u1:4')
    a, J = symbols('a J', positive=True)
    N = ReferenceFrame('N')
    B = N.orientnew('B', 'Axis', (theta, N.z))
    B.set_ang_vel(N, u3*N.z)
    O, P = Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, x*N.x + y*N.y)
    P.set_vel(N, u1*B.x + u2*B.y)
    G = P.locatenew('G', a*B.x)
    G.v2pt_theory(P, N, B)
    return Mechanism(
        q, u, frame=N, loads=((G, -m*g*N.y),),
        bodies=(RigidBody('sleigh', G, B, m, (inertia(B, 0, 0, J), G)),),
        kd_eqs=(x.diff(t) - u1*cos(theta) + u2*sin(theta),
                y.diff(t) - u1*sin(theta) - u2*cos(theta),
                theta.diff(t) - u3),
        vel=(u2,), constants={a: Rational(2, 5), J: Rational(11, 10)})


def disc():
    """A disc rolls on a rough plane: yaw, lean, spin and its centre."""
    q = dynamicsymbols('q1:7')
    u = dynamicsymbols('u1:7')
    r = symbols('r', positive=True)
    N = ReferenceFrame('N')
    Y = N.orientnew('Y', 'Axis', (q[0], N.z))
    L = Y.orientnew('L', 'Axis', (q[1], Y.x))
    R = L.orientnew('R', 'Axis', (q[2], L.y))
    natural = R.ang_vel_in(N)
    R.set_ang_vel(N, u[0]*L.x + u[1]*L.y + u[2]*L.z)
    O, D = Point('O'), Point('D')
    O.set_vel(N, 0)
    D.set_pos(O, q[3]*N.x + q[4]*N.y + q[5]*N.z)
    D.set_vel(N, u[3]*N.x + u[4]*N.y + u[5]*N.z)
    kd_eqs = [(natural - R.ang_vel_in(N)).dot(e) for e in (L.x, L.y, L.z)]
    kd_eqs += [a.diff(t) - b for a, b in zip(q[3:], u[3:])]
    contact = D.vel(N) + R.ang_vel_in(N).cross(-r*L.z)
    inert = inertia(L, m*r**2/4, m*r**2/2, m*r**2/4)
    return Mechanism(
        q, u, frame=N, bodies=(RigidBody('disc', D, R, m, (inert, D)),),
        loads=((D, -m*g*N.z),), kd_eqs=tuple(kd_eqs),
        hol=(q[5] - r*cos(q[1]),),
        vel=(contact.dot(N.x), contact.dot(N.y)),
        constants={r: Rational(3, 5)},
        guess={q[1]: Rational(1, 3)})


def appell_hamel():
    x, y, z = q = dynamicsymbols('x y z')
    vx, vy, vz = v = rates(q)
    k = symbols('k', positive=True)
    return Mechanism(
        q, v, L=m*(vx**2 + vy**2 + vz**2)/2 - m*g*z,
        vel=(vx**2 + vy**2 - k**2*vz**2,), constants={k: Rational(3, 5)},
        guess={vx: 1, vy: Rational(-1, 2), vz: 2})


def mixed_rows():
    """One row of every level, M full and dependent on q, a load."""
    x, a, c, s = q = dynamicsymbols('x a c s')
    v = rates(q)
    N = ReferenceFrame('N')
    O, P = Point('O'), Point('P')
    O.set_vel(N, 0)
    P.set_pos(O, (x + length*sin(a) + sin(c))*N.x
              - (length*cos(a) + cos(c))*N.y)
    P.set_vel(N, P.pos_from(O).dt(N))
    vel = P.vel(N)
    L = (vel.dot(vel)*m + m*v[0]**2 + m*(v[1]**2 + v[2]**2)/3)/2
    L += m*(v[3] + x*v[0])**2/2 - s**2
    return Mechanism(
        q, v, L=L + m*g*(length*cos(a) + cos(c)), frame=N,
        loads=((P, (1 - v[0])*N.x + x*N.y),),
        hol=(length*cos(a) + cos(c) - length*x/2 - t/3,),
        vel=(v[0]*sin(c) - v[1]*x - 1,),
        acc=(v[2].diff(t)*cos(x) + v[1].diff(t) + s*v[3].diff(t) + x,),
        guess={a: Rational(1, 2), c: Rational(-2, 3), x: 1})


def parallel_cranks():
    """Three rows of rank two."""
    X, Y, Phi = q = dynamicsymbols('X Y Phi')
    v = rates(q)
    places = Rational(1, 5), Rational(9, 10), Rational(8, 5)
    hol = tuple(((X + c*cos(Phi) - c)**2 + (Y + c*sin(Phi))**2
                 - length**2)/2 for c in places)

    def state(seed):
        angle, rate = Rational(7*seed, 10), Rational(3 - 2*seed, 4)
        l = NUMBERS[length]
        return {X: l*cos(angle), Y: l*sin(angle), Phi: 0,
                v[0]: -rate*l*sin(angle), v[1]: rate*l*cos(angle), v[2]: 0}
    return Mechanism(
        q, v, L=m*(v[0]**2 + v[1]**2)/2 + m*v[2]**2/5 - m*g*Y, hol=hol,
        state=state)


def tied_beads():
    """Six beads on parabolas, tied by five rods. The factors of the rows
    leave entries behind that vanish where the rods are as long as they are,
    and only there: an elimination of five rows must not divide by them."""
    q = dynamicsymbols('x1:7')
    v = rates(q)
    rods = (0, 1, 4), (1, 2, 1), (2, 3, 0), (0, 4, 3), (2, 5, 3)
    return Mechanism(
        q, v, L=sum(m*(1 + x**2)*e**2/2 - m*g*x**2/2 for x, e in zip(q, v)),
        hol=tuple((2 + q[k]**2)*(
            (q[j] - q[i])**2 + (q[j]**2 - q[i]**2)**2/4 - length
            - Rational(i + j, 3))
            for i, j, k in rods),
        guess={x: Rational((-1)**k*(k + 2), 5) for k, x in enumerate(q)})


def massless():
    """A massless point between two springs on a circle; M is singular."""
    x, y, z = q = dynamicsymbols('x y z')
    v = rates(q)
    k = symbols('k', positive=True)
    return Mechanism(
        q, v, L=(m*v[0]**2/2 + m*(v[1] + v[2])**2 - k*x**2/2
                 - k*(y - z)**2 - g*y), singular=True,
        hol=(x**2 + (y - 2)**2 - 3 + sin(z)/4,),
        constants={k: Rational(7, 3)})


def gimbals():
    """Three bodies in space whose inertia is in axes of no use, and a load
    at the tip, which glides on a plane."""
    q = dynamicsymbols('q1:4')
    u = dynamicsymbols('u1:4')
    N = ReferenceFrame('N')
    O = Point('O')
    O.set_vel(N, 0)
    bodies, frame, point = [], N, O
    for k, axis in enumerate('zxy'):
        B = frame.orientnew('ABC'[k], 'Axis', (q[k], getattr(frame, axis)))
        B.set_ang_vel(frame, u[k]*getattr(frame, axis))
        G = point.locatenew(f'G{k}', length*(B.x - 2*B.z)/4)
        G.v2pt_theory(point, N, B)
        bodies.append(RigidBody(f'body {k}', G, B, (k + 1)*m, (inertia(
            B, m/3, m/2, 2*m/3, m/9, -m/7, m/8), G)))
        frame, point = B, point.locatenew(f'P{k}', length*B.x + B.y/3)
        point.v2pt_theory(G, N, B)
    height = point.pos_from(O).dot(N.z)
    return Mechanism(
        q, u, frame=N, bodies=tuple(bodies),
        loads=(*((body.masscenter, -body.mass*g*N.z) for body in bodies),
               (point, N.x - 2*N.y), (bodies[1].frame, bodies[2].frame.x)),
        kd_eqs=tuple(a.diff(t) - b for a, b in zip(q, u)),
        hol=(height - Rational(1, 5),), options={})


SMALL = {build.__name__: build for build in (
    pendulum, damped_double_pendulum, sprung_bob, turning_wire, sleigh, disc,
    appell_hamel, mixed_rows, parallel_cranks, tied_beads, massless,
    gimbals)}


def from_catalogue(name):
    """A ready model of the package, in the words of this folder."""
    given = READY[name]()
    a, extra = given.arguments, dict(given.extra)
    acc = tuple(extra.pop('acceleration_constraints', ()))
    common = dict(
        q=given.coordinates, u=given.speeds, frame=a.get('frame'),
        loads=tuple(map(tuple, a.get('forcelist') or ())), acc=acc,
        constants=dict(given.parameters), options=extra, given=given,
        inputs=dict(given.inputs), guess=dict(given.start))
    if given.shape == 'lagrange':
        return Mechanism(
            L=a['Lagrangian'], hol=tuple(a.get('hol_coneqs') or ()),
            vel=tuple(a.get('nonhol_coneqs') or ()), **common)
    return without_derived_rows(Mechanism(
        bodies=tuple(a['bodies']), kd_eqs=tuple(a['kd_eqs']),
        hol=tuple(a.get('configuration_constraints') or ()),
        vel=tuple(a.get('velocity_constraints') or ()), **common))


def without_derived_rows(one):
    """Kane's shape repeats the differentiated position rows: leave out those
    that are equal to one at a random state."""
    if not one.hol:
        return one
    values = {**ready.constants(one.given), **one.clock(ready.TIME), **{
        x: Rational(7 + 3*i, 11 + i) for i, x in enumerate(one.q + one.u)}}
    rows = list(at(one.rows.velocity, values))
    derived, rows = rows[:len(one.hol)], rows[len(one.hol):]
    return replace(one, vel=tuple(
        row for row, x in zip(one.vel, rows) if not any(
            close([x], [y]) or close([x], [-y]) for y in derived)))


NAMES = (*SMALL, *(f'{name}*' for name in READY))


def build(name):
    """A fresh mechanism; the names of ready models end with a star."""
    if name.endswith('*'):
        return from_catalogue(name[:-1])
    return SMALL[name]()


made = cache(build)
