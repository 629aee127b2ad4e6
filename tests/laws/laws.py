"""The laws: what must be true of a motion whatever the algebra.

A law is a generator.  It takes a :class:`Case`, which is a way to get the
motion of a mechanism, and yields pairs of what is found and what must be, with
the number of digits if it is not 45, or True for a fact.  A law that has
nothing to say about a mechanism raises :class:`NotConcerned`; a method that
does not take what the law asks for is :class:`~laws.ways.Refused`.  So every
cell of methods by laws by models is a number of checks or a reason.
"""
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from mpmath import mp
from pytest import raises
from sympy import Derivative, Dummy, Matrix, Rational, sympify
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody, dynamicsymbols)

from kkt import at, norm, number, pinv, rank, solve, t
from laws.models import build, made
from laws.ways import BLOCK, VACCO, Block, Formed, Refused, numbers, refusals
from sympy_constrained.errors import ConstrainedDynamicsError
from sympy_constrained.numeric import compile_equations, consistent_state

DIGITS = 45
STEP = mp.mpf(10)**-20          # of differences of states with 70 digits
LAWS = {}
# Their multiplier system in plain SymPy takes minutes.
LARGE = {'closed_chain*', 'closed_chain_3d*', 'andrews_squeezer*',
         'bicycle*', 'bicycle_whole*', 'rolling_disc_contact*',
         'closed_chain_absolute*', 'heavy_top*', 'pinned_top*',
         'coupler_on_cranks*'}


class NotConcerned(Exception):
    """A law has nothing to say about a mechanism."""


def law(function):
    """List a law under its name."""
    LAWS[function.__name__] = function
    return function


def checks(law, case):
    """Number of checks of a law, all of which hold."""
    count = 0
    with mp.workdps(70):
        for entry in law(case):
            count += 1
            assert_entry(law, case, entry)
    assert count, f'{law.__name__} checks nothing of {case}'
    return count


def assert_entry(law, case, entry):
    what = f'{law.__name__}: {case.way.name}, {case.model}'
    if isinstance(entry, bool):
        assert entry, what
        return
    found, wanted, *digits = entry
    found, wanted = (x if isinstance(x, mp.matrix) else mp.matrix(
        x if isinstance(x, list) else [x]) for x in (found, wanted))
    assert (found.rows, found.cols) == (wanted.rows, wanted.cols), what
    size = 1 + norm(wanted)
    gap = norm(found - wanted)/size
    assert gap < mp.mpf(10)**-(digits or [DIGITS])[0], (
        f'{what}: differs by {float(gap):.1e}')


# -- cases ----------------------------------------------------------------

@dataclass(frozen=True)
class Case:
    """A way and the name of a mechanism, at states of some seeds."""

    way: Block
    model: str
    seeds: tuple = (1,)

    @property
    def one(self):
        return made(self.model)

    @property
    def states(self):
        return [state(self.model, seed) for seed in self.seeds]

    @property
    def formed(self):
        return formed(self.way, self.model)

    def motions(self):
        """State and motion, for every seed."""
        return [(state(self.model, seed),
                 motion(self.way, self.model, seed)) for seed in self.seeds]

    def other(self, one, **options):
        """Another mechanism formed in the same way, at the same states."""
        return Formed(self.way, one, self.states[0], **options)

    def other_names(self, one, read):
        """The same where symbols or units have changed, too."""
        return Formed(self.way, one, read(self.states[0]))

    def blocks(self, values):
        """``M, F, A, b`` in numbers, from plain SymPy if that is quick."""
        if self.model not in LARGE:
            return self.one.reference.matrices(values)
        M, Q, C, A, b = formed(BLOCK, self.model).outputs(
            values, 'M', 'Q', 'C', 'A', 'b')
        return M, Q + C, A, b


@cache
def state(model, seed):
    with mp.workdps(70):
        return made(model).point(seed)


@cache
def formed(way, model):
    return Formed(way, made(model), state(model, 1))


@cache
def motion(way, model, seed):
    return formed(way, model).motion(state(model, seed))


def forget():
    """Form everything anew: the package has been changed.

    Models too, for points keep the velocities and accelerations that SymPy
    was asked for, and these are taken for given.
    """
    made.cache_clear()
    formed.cache_clear()
    motion.cache_clear()


def concerned(fact, reason):
    if not fact:
        raise NotConcerned(reason)


def needs_rows(case):
    concerned(case.one.count, 'no constraints')


def kept_by_kinematics(one):
    """The norm of a quaternion is constant by itself."""
    concerned(not any(row.expand() == 0 for row in one.rows.velocity[
        :len(one.hol)]), 'a row that the kinematics keep')


def same(found, wanted):
    yield found.acceleration, wanted.acceleration
    yield found.forces, wanted.forces


# -- one principle --------------------------------------------------------

@law
def agreement(case):
    """The motion is that of the multiplier system ``M u' = Q + A^T lam``,
    ``A u' = b``, written in plain SymPy where that is quick; and what a
    method writes in two ways is the same."""
    for values, found in case.motions():
        exact = solve(*case.blocks(values))
        yield from same(found, exact)
        if exact.rank == case.one.count:
            yield found.lam, exact.lam
        yield from found.pairs


@law
def vakonomic(case):
    """The motion is vakonomic, whatever the multipliers, if all rows are
    holonomic."""
    one = case.one
    concerned(one.hol and not one.vel + one.acc, 'rows of velocities')
    for values, found in case.motions():
        try:
            other = formed(VACCO, case.model).motion(values)
        except Refused as reason:
            raise NotConcerned('redundant, or no velocities') from reason
        yield from same(found, other)


@law
def gauss(case):
    """Gauss's measure is least among the accelerations that the constraints
    admit, and grows from there by ``d^T M d/2``."""
    random = Random(case.model)
    for values, found in case.motions():
        M, F, A, b = case.blocks(values)
        free = mp.eye(M.rows) - pinv(A)*A if A.rows else mp.eye(M.rows)
        concerned(norm(free) > 1e-30, 'nothing is left free')

        def measure(a):             # less a constant, which needs 1/M
            return (a.T*(M*a/2 - F))[0]
        for _ in range(2):
            d = free*mp.matrix([random.randint(1, 9) for _ in range(M.rows)])
            grown = measure(found.acceleration + d) - measure(
                found.acceleration)
            square = (d.T*M*d)[0]/2
            yield bool(square > 0)
            size = 1 + abs(measure(found.acceleration))
            yield grown/size, square/size


@law
def ideal(case):
    """Ideal forces are ``A^T lam``, and do no work on what the constraints
    admit."""
    needs_rows(case)
    for values, found in case.motions():
        A = case.blocks(values)[2]
        size = 1 + norm(found.forces)
        yield A.T*found.lam, found.forces
        for column in (mp.eye(A.cols) - pinv(A)*A).T.tolist():
            yield (mp.matrix(column).T*found.forces)[0]/size, 0


@law
def workless(case):
    """Constraints that are homogeneous in the velocities do no work."""
    needs_rows(case)
    one = case.one
    concerned(not one.acc, 'rows of accelerations')
    still = {**dict.fromkeys(one.u, 0), **{x.diff(t): 0 for x in one.q}}
    for values, found in case.motions():
        rest = at(one.rows.velocity, {**values, **still})
        concerned(norm(rest) < 1e-50, 'rows that drift')
        scale = at(one.rows.velocity, {**values, **{
            x: 2*values[x] for x in still}})
        concerned(norm(scale) < 1e-50, 'rows that are not homogeneous')
        speeds = mp.matrix([values[x] for x in one.u])
        yield (found.forces.T*speeds)[0]/(1 + norm(found.forces)), 0


@law
def power(case):
    """The rate of the energy is the power of loads, drives and reactions."""
    for values, found in case.motions():
        form = case.formed
        applied, = form.outputs(values, 'power')
        concerned(applied.rows, 'the power of its drives is not known')
        after, before = (form.outputs(case.one.moved(
            values, found.acceleration, sign*STEP), 'energy')[0][0]
            for sign in (1, -1))
        size = 1 + abs(applied[0]) + abs(found.work)
        yield ((after - before)/(2*STEP)/size,
               (applied[0] + found.work)/size, 30)


@law
def levels(case):
    """Residuals stay where they are: the second derivative of those of
    position and the first of those of velocity vanish along the motion, and
    those of acceleration are zero."""
    needs_rows(case)
    one = case.one
    du = [u.diff(t) for u in one.u]
    for values, found in case.motions():
        moved = [one.moved(values, found.acceleration, sign*STEP)
                 for sign in (1, -1)]
        if one.hol:
            size = 1 + norm(found.acceleration)
            now, *beside = (at(one.rows.holonomic, x)
                            for x in (values, *moved))
            second = (beside[0] + beside[1] - 2*now)/STEP**2
            yield second/size, 0*second, 18
        if one.hol or one.vel:
            after, before = (at(one.rows.velocity, x) for x in moved)
            yield (after - before)/(2*STEP), 0*after, 28
        if one.acc:
            rows = Matrix(one.acc).xreplace(one.rows.rates)
            rest = at(rows, {**values, **dict(zip(du, found.acceleration))})
            yield rest, 0*rest


# -- rows -----------------------------------------------------------------

@law
def repeated(case):
    """Rows that are given twice change nothing."""
    needs_rows(case)
    one = case.one
    twice = replace(one, hol=one.hol + one.hol[:1],
                    vel=one.vel + tuple(-2*row for row in one.vel),
                    acc=one.acc*2)
    more = case.other(twice)
    for values, found in case.motions():
        yield from same(more.motion(values), found)


@law
def derived(case):
    """A velocity row that follows from a position row adds nothing."""
    one = case.one
    concerned(one.hol, 'no holonomic row')
    kept_by_kinematics(one)
    more = case.other(replace(one, vel=(5*one.rows.velocity[0], *one.vel)))
    for values, found in case.motions():
        yield from same(more.motion(values), found)


@law
def scaled(case):
    """Rows that are multiplied, and in another order, change multipliers
    only, and those as they must."""
    needs_rows(case)
    one, x = case.one, case.one.q[0]
    kept_by_kinematics(one)
    levels = one.hol, one.vel, one.acc

    def factor(i):
        return (-1)**i*(i + 1 + x**2)

    def changed(rows):
        return tuple(factor(i)*row for i, row in enumerate(rows, 1))[::-1]
    factors, order = [], []
    for rows in levels:
        places = list(reversed(range(len(rows))))
        factors += [factor(i + 1) for i in places]
        order += [len(order) + i for i in places]
    more = case.other(replace(one, **dict(zip(
        ('hol', 'vel', 'acc'), map(changed, levels)))))
    for values, found in case.motions():
        other = more.motion(values)
        yield from same(other, found)
        if rank(case.blocks(values)[2]) == one.count:
            yield ([f*lam for f, lam in zip(
                at(Matrix(factors), values), other.lam)],
                [found.lam[i] for i in order])


@law
def free(case):
    """Without constraints the system is free."""
    needs_rows(case)
    alone = replace(case.one, hol=(), vel=(), acc=())
    loose = case.other(alone)
    if not is_regular(case.blocks(case.states[0])[0]):
        with raises(ConstrainedDynamicsError):
            loose.method.acceleration
        raise NotConcerned('not determined without constraints')
    for values, found in case.motions():
        M, F, *_ = case.blocks(values)
        other = loose.motion(values)
        yield other.acceleration, mp.lu_solve(M, F)
        yield other.forces, 0*other.forces
        yield not len(other.lam)


def is_regular(M):
    return min(mp.eigsy(M, eigvals_only=True)) > 1e-12*norm(M)


# -- words ----------------------------------------------------------------

@law
def relabelled(case):
    """Coordinates and speeds in another order, and with other names where
    no frame keeps the old ones, make the same motion."""
    one = case.one
    n, o = len(one.q), len(one.u)
    places = [*range(1, n), 0], [*reversed(range(o))]
    if one.L is not None:
        places = places[0], places[0]
    turned = case.other(one, order=places)
    for values, found in case.motions():
        yield from same(turned.motion(values), found)
    if one.L is None or one.loads:
        return
    # Names that sort the other way round.
    names = {x: dynamicsymbols(f'z{n - k}') for k, x in enumerate(one.q)}

    def named(e):
        return sympify(e).subs(names)

    def renamed(values):
        return {named(x): value for x, value in values.items()}
    other = case.other_names(replace(
        one, q=tuple(names.values()), u=tuple(map(named, one.u)),
        L=named(one.L), given=None, options=with_forces(one, map(
            named, one.options.get('nonideal_forces', ()))),
        **{level: tuple(map(named, getattr(one, level)))
           for level in ('hol', 'vel', 'acc')}), renamed)
    for values, found in case.motions():
        yield from same(other.motion(renamed(values)), found)


@law
def frames(case):
    """A ground that turns by an angle and moves on at constant velocity, or
    a total derivative added to the Lagrangian, changes nothing."""
    one = case.one
    if one.L is None:
        more = case.other(seen_from_a_moving_ground(build(case.model)))
    else:
        F = sum((k + 2)*x**2*t for k, x in enumerate(one.q)) + one.q[0]*t**2
        more = case.other(replace(one, L=one.L + F.diff(t)))
    for values, found in case.motions():
        yield from same(more.motion(values), found)


def seen_from_a_moving_ground(one):
    """A mechanism that was built anew: velocities are told to its points.
    """
    old, ground = one.frame, ReferenceFrame('moving ground')
    ground.orient_axis(old, old.x + 2*old.y - old.z, Rational(3, 5))
    places = [body.masscenter for body in one.bodies]
    places += [where for where, _ in one.loads if isinstance(where, Point)]
    for row in one.vel:
        if isinstance(row, tuple) and isinstance(row[0], Point):
            raise NotConcerned('rows given at points')
    for point in places:
        point.set_vel(ground, point.vel(old) + 2*ground.x - 3*ground.z + old.y)
    return replace(one, frame=ground)


@law
def units(case):
    """Another unit of mass, and of coordinates and of time where those are
    free symbols, changes the numbers as it must."""
    one, k = case.one, Rational(7, 3)
    heavy = case.other(times(build(case.model), k))
    for values, found in case.motions():
        other = heavy.motion(values)
        yield other.acceleration, found.acceleration
        yield other.forces, number(k)*found.forces
        yield other.lam, number(k)*found.lam
    if one.L is None or one.loads or one.inputs:
        return
    tau = Rational(5, 3)
    lengths = [Rational(i + 2, 3) for i in range(len(one.q))]
    new = in_units(one, tau, lengths)
    other = case.other_names(new, lambda values: retimed(
        one, values, tau, lengths))
    for values, found in case.motions():
        moved = other.motion(retimed(one, values, tau, lengths))
        yield ([a*number(c) for a, c in zip(moved.acceleration, lengths)],
               number(tau)**2*found.acceleration)
        yield ([f/number(c) for f, c in zip(moved.forces, lengths)],
               found.forces)


def times(one, k):
    """All inertia and all forces in another unit of mass."""
    def body(old):
        new = (Particle(old.name, old.masscenter, k*old.mass)
               if isinstance(old, Particle) else RigidBody(
                   old.name, old.masscenter, old.frame, k*old.mass,
                   (k*old.central_inertia, old.masscenter)))
        new.potential_energy = k*old.potential_energy
        return new
    return replace(
        one, L=None if one.L is None else k*one.L, options=with_forces(one, (
            k*force for force in one.options.get('nonideal_forces', ()))),
        bodies=tuple(map(body, one.bodies)),
        loads=tuple((where, k*force) for where, force in one.loads))


def with_forces(one, forces):
    """Options with other forces of the constraints, if there are any."""
    forces = list(forces)
    return {**one.options, **({'nonideal_forces': forces} if forces else {})}


def in_units(one, tau, lengths):
    """A Lagrangian model with ``t = tau*s`` and ``q = c*x`` for ``x(s)``."""
    def read(e):
        e, scale = sympify(e), {}
        for x, c in zip(one.q, lengths):
            for order in (2, 1, 0):
                f = x.diff(t, order) if order else x
                scale[f] = Dummy(), c/tau**order*f
        for kind in (Derivative, AppliedUndef):
            e = e.xreplace({f: dummy for f, (dummy, _) in scale.items()
                            if isinstance(f, kind)})
        return e.xreplace({t: tau*t}).xreplace(dict(scale.values()))
    forces = [c*read(force) for c, force in zip(
        lengths, one.options.get('nonideal_forces', ()))]
    return replace(one, L=read(one.L), given=None,
                   options=with_forces(one, forces), **{
        level: tuple(map(read, getattr(one, level)))
        for level in ('hol', 'vel', 'acc')})


def retimed(one, values, tau, lengths):
    """A state in the units of :func:`in_units`."""
    new = {**values, t: values[t]/number(tau)}
    for x, c in zip(one.q, lengths):
        new[x] = values[x]/number(c)
        new[x.diff(t)] = number(tau)*values[x.diff(t)]/number(c)
    return new


@law
def reversal(case):
    """Backwards in time the accelerations and the forces of a conservative
    motion are the same."""
    one = case.one
    concerned(one.reversible, 'not conservative')
    for values, found in case.motions():
        back = one.completed({**values, **{x: -values[x] for x in one.u}})
        yield from same(case.formed.motion(back), found)


# -- numbers --------------------------------------------------------------

@law
def start(case):
    """A state beside the constraints is brought to them at all levels, in
    floating point."""
    needs_rows(case)
    with refusals(case.way):
        equations = case.way.equations(case.formed.method)
    residuals = 'holonomic', 'velocity'
    concerned(any(equations.graph.outputs[name][0] for name in residuals),
              'no residuals are left')
    for values in case.states:
        known = case.way.inputs(case.formed.method, values)
        compiled = compile_equations(equations, {
            x: float(known[x]) for x in equations.constants}, {
            x: sympify(case.one.inputs[x]) for x in case.one.inputs
            if x in equations.specifieds}, backend='numpy')
        guess = [float(known[x]) + 1e-3*(k % 3 - 1)
                 for k, x in enumerate(equations.states)]
        found = consistent_state(compiled, guess, t=float(values[t]))
        known |= dict(zip(equations.states, map(number, found)))
        for rows in numbers(equations.graph, known, *residuals):
            if rows.rows:
                yield rows, 0*rows, 8
