"""A free body over ground or a turning parent, to be put into contact."""
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from mpmath import mp
from scipy.optimize import fsolve
from sympy import cos, lambdify, sin
from sympy.physics.mechanics import (
    Lagrangian, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import (
    CircularRim, EllipsoidSurface, PlaneSurface, PointContact, SphereSurface,
    TorusSurface, UdwadiaKalabaMethod)
from sympy_constrained.contact.geometry import numbers
from sympy_constrained.numeric import compile_equations

t = dynamicsymbols._t
ANGLES = (0.3, 0.7, 0.5)
OMEGA = (0.8, -0.5, 1.2)
GRAVITY = 9.81
FORMULATIONS = ('explicit', 'augmented', 'kinematic')


@dataclass(eq=False)
class Scene:
    """A body at ``x, y, z`` with three angles, above a parent at ``O``.

    Speeds are the velocity of the centre and the inertial angular velocity;
    with ``lagrange`` they are the ``q'``. ``force`` acts at the mass centre.
    The parent is the free body of the scene ``below``, if there is one; then
    the names of the symbols end in ``mark``.
    """

    moments: tuple = (1, 1, 1)      # about the axes of the body
    mass: float = 1
    turning: object = 0             # angle of the parent about the vertical
    lagrange: bool = False
    force: tuple = (0, 0, 0)
    masscenter: tuple = (0, 0, 0)   # in body axes, from the centre
    contacts: list = field(default_factory=list)
    below: object = None
    mark: str = ''

    def __post_init__(self):
        mark, below = self.mark, self.below
        self.q = [dynamicsymbols(x + mark) for x in 'x y z q4 q5 q6'.split()]
        self.N = N = below.N if below else ReferenceFrame('N')
        self.B, self.P = ReferenceFrame('B' + mark), ReferenceFrame('P')
        self.O, self.C = below.O if below else Point('O'), Point('C' + mark)
        self.O.set_vel(N, 0)
        if below:
            self.P = below.B
        elif self.turning == 0:
            self.P = N
        else:
            self.P.orient_axis(N, self.turning, N.z)
        x, y, z = self.q[:3]
        self.C.set_pos(self.O, x*N.x + y*N.y + z*N.z)
        self.B.orient_body_fixed(N, self.q[3:], 'zyz')
        if self.lagrange:
            self.u = [x.diff(t) for x in self.q]
            self.kdes = []
            self.C.set_vel(N, self.C.pos_from(self.O).dt(N))
        else:
            self.u = u = [dynamicsymbols(f'{x}{k}{mark}') for x in 'vw'
                          for k in (1, 2, 3)]
            self.C.set_vel(N, sum((u[k]*e for k, e in enumerate(N)), 0*N.x))
            spin = sum((u[k + 3]*e for k, e in enumerate(N)), 0*N.x)
            self.B.set_ang_vel(N, spin)
            self.kdes = [q.diff(t) - v for q, v in zip(
                self.q, u[:3])] + angle_rates(self.q[3:], u[3:])
        self.G = self.C
        if any(self.masscenter):
            self.G = self.C.locatenew('G', sum(
                (s*e for s, e in zip(self.masscenter, self.B)), 0*self.B.x))
            self.G.v2pt_theory(self.C, N, self.B)
        self.body = RigidBody(
            'body' + mark, self.G, self.B, self.mass, (inertia(
                self.B, *self.moments), self.G))
        self.parent = below.body if below else RigidBody(
            'parent', self.O, self.P)
        self.loads = [(self.G, sum((f*e for f, e in zip(
            self.force, N)), -self.mass*GRAVITY*N.z))]

    def plane(self):
        return PlaneSurface(self.P, self.O, self.N.z)

    def touch(self, parent_geometry, child_geometry, **options):
        contact = PointContact('c', self.parent, self.body, parent_geometry,
                               child_geometry, frame=self.N, **options)
        self.contacts.append(contact)
        return contact

    def method(self, cls=UdwadiaKalabaMethod, **options):
        """The equations with all contacts that were made."""
        return (self.formed(cls, **options) if options
                else self.formed_once(cls, len(self.contacts)))

    @cache
    def formed_once(self, cls, contacts):
        return self.formed(cls)

    def formed(self, cls, **options):
        own, both = self.contacts, [x for x in (self, self.below) if x]
        q = [*self.q, *(x for c in own for x in c.coordinates)]
        hol = [x for c in own for x in c.holonomic_constraints]
        non = [x for c in own for x in (
            c.velocity_constraints if c.formulation == 'kinematic'
            else c.nonholonomic_constraints)]
        if self.lagrange:
            self.body.potential_energy = -self.loads[0][1].dot(
                self.G.pos_from(self.O))
            return cls(Lagrangian(self.N, self.body), q, hol_coneqs=hol,
                       nonhol_coneqs=non, frame=self.N, bodies=[self.body],
                       forcelist=[], **options)
        if self.below:
            q += self.below.q
        return cls(
            self.N, q, [x for s in both for x in s.u] + [
                x for c in own for x in c.speeds],
            [x for s in (*both, *own) for x in s.kdes],
            configuration_constraints=hol, velocity_constraints=non,
            bodies=[s.body for s in both],
            forcelist=[x for s in both for x in s.loads], **options)

    def start(self, angles=ANGLES, omega=OMEGA, place=(0, 0, 0), guess=None,
              free='z', more=()):
        """All states of a rolling start of the first contact, by symbol."""
        contact = self.contacts[0]
        values = {**dict(zip(self.q, (*place, *angles))), t: 0, **dict(more)}
        held = {x: values.pop(x) for x in self.q if str(x.func) == free}
        found = contact.solve_contact(values, {
            **held, **dict(zip(contact.coordinates, guess or [
                0.1*k for k in range(9)]))})
        values.update(found)
        values.update(zip(self.u[3:], omega))
        if self.lagrange:
            a, b, _ = angles
            roll = (mp.cos(a)*omega[0] + mp.sin(a)*omega[1])/mp.sin(b)
            values.update(zip(self.u[3:], (
                omega[2] - mp.cos(b)*roll,
                mp.cos(a)*omega[1] - mp.sin(a)*omega[0], roll)))
        numbers = self.rolling(contact, values)
        return {k: float(v) for k, v in {**values, **numbers}.items()
                if k is not t}

    def rolling(self, contact, values):
        """Velocities that the angular velocity and rolling give."""
        rows = [*contact.slip_velocity, contact.normal_velocity]
        with mp.workdps(30):
            zero = {**values, **dict.fromkeys(self.u[:3], 0)}
            b = mp.matrix(numbers(rows, zero))
            A = mp.matrix(3, 3)
            for j in range(3):
                A[:, j] = mp.matrix(numbers(rows, {**zero, self.u[j]: 1})) - b
            v = mp.lu_solve(A, -b)
        found = dict(zip(self.u[:3], v))
        rates = contact.contact_kinematics()
        rates = dict(zip(rates, numbers(rates.values(), {**values, **found})))
        if self.lagrange:
            return {**found, **rates}
        return {**found, **{u: rates[x.diff(t)] for x, u in zip(
            contact.coordinates, contact.speeds)}}


def angle_rates(angles, omega):
    """Kinematic differential equations of the z-y-z angles."""
    a, b, c = angles
    x, y, z = omega
    spin = (cos(a)*x + sin(a)*y)/sin(b)
    return [a.diff(t) - z + cos(b)*spin, b.diff(t) + sin(a)*x - cos(a)*y,
            c.diff(t) - spin]


def number(expr, values):
    """Value of an expression at 30 digits."""
    return numbers([expr], values)[0]


def ellipsoid(axes=(0.5, 0.4, 0.3), mass=1.7, **options):
    a, b, c = axes
    scene = Scene(moments=(mass*(b**2 + c**2)/5, mass*(a**2 + c**2)/5,
                           mass*(a**2 + b**2)/5), mass=mass, **options)
    scene.surface = EllipsoidSurface(scene.B, scene.C, axes)
    return scene


def torus(R=0.3, r=0.05, mass=2, **options):
    C, A = mass*(R**2 + 3*r**2/4), mass*(R**2/2 + 5*r**2/8)
    scene = Scene(moments=(A, C, A), mass=mass, **options)
    scene.surface = TorusSurface(scene.B, scene.C, R, r, scene.B.y)
    return scene


def disc(R=0.26, mass=3.43, **options):
    A = mass*R**2/4
    scene = Scene(moments=(A, 2*A, A), mass=mass, **options)
    scene.surface = CircularRim(scene.B, scene.C, R, scene.B.y)
    return scene


def ball(r=0.3, mass=1.5, k=0.4, **options):
    scene = Scene(moments=(k*mass*r**2,)*3, mass=mass, **options)
    scene.surface = SphereSurface(scene.B, scene.C, r)
    return scene


GUESS = {ball: (1.5, 2.5, 0, 0), ellipsoid: (1.5, 2, 0, 0),
         torus: (1.5, 0.3, 0, 0), disc: (1.5, 0, 0)}


def on_plane(make, formulation='explicit', mode='rolling', **options):
    """A body on the plane, made once, and a rolling start."""
    scene, contact, values = scene_on_plane(make, formulation, mode, **options)
    return scene, contact, dict(values)


@cache
def scene_on_plane(make, formulation, mode, **options):
    scene = make(**options)
    contact = scene.touch(scene.plane(), scene.surface, mode=mode,
                          formulation=formulation)
    return scene, contact, scene.start(guess=GUESS[make], place=(0, 0, 0.4))


def vector(values, frame, v):
    """Measure numbers of a vector."""
    return np.array(numbers(v.to_matrix(frame), values), float)


compiled_once = cache(compile_equations)


def solved(method, values):
    """Compiled equations, the state, and its accelerations by symbol."""
    compiled = compiled_once(method)
    x = np.array([values[y] for y in compiled.states])
    rates = dict(zip(compiled.states, compiled.rhs(0, x)))
    return compiled, x, rates


def accelerations(scene, values, **options):
    _, _, rates = solved(scene.method(**options), values)
    return np.array([rates[u] for u in scene.u])


STATES = {
    ellipsoid: {
        'height': [0.384470329522],
        'place': [0.367618880425, -0.128531910201, -0.179040595776],
        'velocity': [-0.056182983369, -0.489754646157, -0.166609113653],
        'trace': [-0.181355670541, -0.386906473976],
        'acceleration': [-2.244489997979, -1.557757255057, -1.530567827512],
        'turning': [4.784546980250, -6.378927566412, 0.011431102542],
        'force': [-3.815632996564, -2.648187333596, 14.075034693229]},
    torus: {
        'height': [0.335332798175],
        'place': [0.206592386305, -0.015442720584, -0.279489513433],
        'velocity': [-0.082324378777, -0.196996193359, -0.027198828048],
        'trace': [-0.242060021667, -0.221269174259],
        'acceleration': [1.141784641712, -1.284665638905, -0.423411581929],
        'turning': [4.482729738345, 3.433029019562, 0.085850942805],
        'force': [2.283569283423, -2.569331277811, 18.773176836142]},
    disc: {
        'height': [0.247288425085],
        'place': [0.154548052435, 0, -0.209081083527],
        'velocity': [-0.049681128273, -0.136063367577, -0.023572317642],
        'trace': [-0.188118685445, -0.157099951024],
        'acceleration': [1.470030873664, -1.703993043538, -0.693560092951],
        'turning': [7.648930480641, 5.986838379691, 0.048880289747],
        'force': [5.042205896667, -5.844696139337, 31.269388881179]}}


def angle_values(scene, values):
    """Rates of the coordinates of the body."""
    result = {}
    for row, q in zip(scene.kdes, scene.q):
        rate = q.diff(t)
        result[rate] = number(rate - row, {**values, rate: 0})
    return result


def polar_guess(scene, values, normal):
    """Parameters of a ball's polar chart about ``B.x``, opposite a normal.
    """
    x, y, z = vector(values, scene.B, sum(
        (-c*e for c, e in zip(normal, scene.N)), 0*scene.N.x))
    return np.arctan2(z, y), np.arccos(x)


# -- two free bodies, by Newton and Euler --------------------------------

def moving_pair(child, parent, child_surface, parent_surface, guess,
                place=(0.2, 0.1, 3), **options):
    """Two free bodies in contact, and a start with random speeds.

    ``child`` and ``parent`` are options of :class:`Scene`, the surfaces
    functions of a frame and a point.
    """
    below = Scene(mark='p', **parent)
    scene = Scene(below=below, **child)
    contact = scene.touch(parent_surface(below.B, below.C),
                          child_surface(scene.B, scene.C), **options)
    more = dict(zip(below.q, (0.1, -0.2, 0.3, 0.2, 0.5, -0.4)))
    more.update(zip(below.u, (0.3, -0.6, 0.2, 0.4, 0.7, -0.5)))
    values = scene.start(place=place, guess=guess, more=more)
    if contact.mode == 'no_pivoting':   # one component of the spin follows
        w = scene.u[5]
        base = number(contact.pivot_speed, {**values, w: 0})
        slope = number(contact.pivot_speed, {**values, w: 1}) - base
        values[w] = float(-base/slope)
        values.update((k, float(v)) for k, v in scene.rolling(
            contact, values).items())
    return scene, contact, values


def newton_euler(scene, contact, values):
    """Accelerations of child and parent, and the normal force.

    The rates of ``v_r`` and ``n`` are differences of the nearest points a
    little before and after. Of the surfaces only positions are used, and
    that the parent's normal points to the child.
    """
    bodies = scene, scene.below
    shapes = [chart(x) for x in (contact.child_geometry,
                                 contact.parent_geometry)]
    count = len(contact.child_geometry.parameters)
    places, speeds = ([np.array([values[x] for x in s]) for s in (
        b.q[:3] if k == 0 else b.u for b in bodies)] for k in (0, 1))
    turns = [vector_axes(values, b) for b in bodies]
    toward = vector(values, scene.N, contact.normal)

    def nearest(h):
        at = [x + h*u[:3] for x, u in zip(places, speeds)]
        turned = [rotation(h*u[3:]) @ A for u, A in zip(speeds, turns)]

        def geometry(y):
            parts = y[:count], y[count:-1]
            p = [A @ f(*v)[:, 0] for A, (f, _), v in zip(
                turned, shapes, parts)]
            X, Y = (A @ d(*v) for A, (_, d), v in zip(turned, shapes, parts))
            n = np.cross(*Y.T)
            return p, X, n*np.sign(n @ toward)/np.linalg.norm(n)

        def residuals(y):
            (p1, p2), X, n = geometry(y)
            return np.concatenate([at[0] + p1 - at[1] - p2 - y[-1]*n, X.T @ n])

        y = fsolve(residuals, [*(float(values[x]) for x in
                               contact.coordinates), 0], xtol=1e-12)
        assert abs(residuals(y)).max() < 1e-11
        (p1, p2), _, n = geometry(y)
        u1, u2 = speeds
        slip = u1[:3] + np.cross(u1[3:], p1) - u2[:3] - np.cross(u2[3:], p2)
        return slip, n, p1, p2

    slip, n, *arms = nearest(0)
    assert abs(slip).max() < 1e-10
    h = 2e-3
    near = [nearest(k*h) for k in (-2, -1, 1, 2)]
    slip_rate, n_rate = ((8*(near[2][i] - near[1][i]) - near[3][i]
                          + near[0][i])/(12*h) for i in (0, 1))
    pivots = contact.mode == 'no_pivoting'
    A, b = np.zeros((15 + pivots,)*2), np.zeros(15 + pivots)
    for k, (body, u, turn, arm) in enumerate(zip(bodies, speeds, turns, arms)):
        sign, linear, angular = 1 - 2*k, slice(6*k, 6*k + 3), slice(
            6*k + 3, 6*k + 6)
        c, w, m = turn @ np.array(body.masscenter, float), u[3:], body.mass
        inertia_ = turn @ np.diag(np.array(body.moments, float)) @ turn.T
        A[linear, linear] = m*np.eye(3)
        A[linear, angular] = -m*skew(c)
        b[linear] = -m*(np.cross(w, np.cross(w, c)) + [0, 0, GRAVITY])
        A[angular, angular] = inertia_
        b[angular] = -np.cross(w, inertia_ @ w)
        A[linear, 12:15] = -sign*np.eye(3)
        A[angular, 12:15] = -sign*skew(arm - c)
        A[12:15, linear] = sign*np.eye(3)
        A[12:15, angular] = -sign*skew(arm)
        if pivots:
            A[angular, 15] = -sign*n
            A[15, angular] = sign*n
    b[12:15] = -slip_rate
    if pivots:
        b[15] = -(speeds[0] - speeds[1])[3:] @ n_rate
    solution = np.linalg.solve(A, b)
    return solution[:12], solution[12:15] @ n


def chart(surface):
    """Position and tangent vectors as functions of the parameters."""
    p = surface.position().to_matrix(surface.frame)
    return [lambdify(surface.parameters, x) for x in (
        p, p.jacobian(surface.parameters))]


def vector_axes(values, scene):
    """The rotation matrix from body axes to inertial axes."""
    return np.array(scene.N.dcm(scene.B).subs(values), float)


def skew(v):
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def rotation(v):
    """The rotation matrix of a rotation vector."""
    size, cross = np.linalg.norm(v), skew(v)
    if not size:
        return np.eye(3)
    return (np.eye(3) + np.sin(size)/size*cross
            + (1 - np.cos(size))/size**2*cross @ cross)
