"""How the motion of a mechanism is taken from each method.

Accelerations and forces are stated in the speeds of the mechanism whatever
speeds a method has, and multipliers in the order of its rows, so that a law is
written once.  Equations ``W z = r`` are solved here, at 70 digits; no law
depends on how a solver writes its answer, but for the ways in closed form,
which are laws about those answers.
"""
from dataclasses import dataclass, replace

from mpmath import mp

from kkt import at, min_norm, norm
from sympy_constrained import (
    GibbsAppellMethod, LinearMappingMethod, RouthMethod, UdwadiaKalabaMethod,
    VaccoMethod, VoronetsMethod)
from sympy_constrained.errors import (
    ConstrainedDynamicsError, ConstraintError, UnsupportedFeatureError)

EXACT = mp.mpf(10)**-45
TINY = mp.mpf(10)**-40          # step of differences with 120 digits


class Refused(Exception):
    """A method does not take this model, and says why."""


@dataclass(frozen=True)
class Motion:
    """Of one state: ``u'``, ideal forces, multipliers, and the power of all
    forces of the constraints that is not in ``power``; then pairs of what the
    method writes in more than one way."""

    acceleration: object
    forces: object
    lam: object
    work: object = 0
    pairs: tuple = ()


class Formed:
    """A mechanism formed by a method."""

    def __init__(self, way, one, values, **options):
        self.way, self.one = way, one
        with refusals(way):
            self.method = way.form(one, values, **options)

    def motion(self, values):
        with refusals(self.way):
            return self.way.motion(self.method, self.one, values)

    def outputs(self, values, *names):
        """Outputs of the equations of motion, as matrices."""
        with refusals(self.way):
            equations = self.way.equations(self.method)
            known = self.way.inputs(self.method, values)
            return numbers(equations.graph, known, *names)


class refusals:
    """Refusals that a way may have; an error of another kind goes on."""

    def __init__(self, way):
        self.way = way

    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace):
        if error and isinstance(error, self.way.refuses):
            raise Refused(' '.join(str(error).split())) from error
        if isinstance(error, ConstrainedDynamicsError):
            raise AssertionError(
                f'{self.way.name} must not refuse: {error}') from error


def numbers(graph, known, *names):
    """Outputs of a graph at numbers; empty ones have their shape, too."""
    with mp.workdps(120):
        out = graph.evaluate({x: known[x] for x in graph.inputs
                              if x in known}, names, context=mp)
    return [mp.matrix(out[name]) if out[name] else
            mp.matrix(*graph.outputs[name]) for name in names]


def solved(W, r):
    """The solution of least norm, if there is one."""
    z = min_norm(W, r)
    assert norm(W*z - r) < EXACT*(1 + norm(r)), 'W z = r has no solution'
    return z


def ordered(found, wanted, column):
    """A column in the order of ``found``, in that of ``wanted``."""
    found = list(found)
    return mp.matrix([column[found.index(x)] for x in wanted])


def shifted(values, time, step):
    """A little later, what has a rate; with more digits for differences."""
    with mp.workdps(120):
        return {**values, **{
            x: value + step*values[x.diff(time)]
            for x, value in values.items()
            if not x.is_Derivative and x.diff(time) in values},
            time: values[time] + step}


# -- the ways -------------------------------------------------------------

class Block:
    """``W z = r`` of accelerations and multipliers, in the user's speeds."""

    name = 'Udwadia-Kalaba, block system'
    method = UdwadiaKalabaMethod
    refuses = ()                # every model and every row
    options = {}

    def form(self, one, values, **options):
        return one.form(self.method, **self.options, **options)

    def equations(self, formed):
        return formed.equations_of_motion

    def inputs(self, formed, values):
        """Numbers of the inputs of the equations."""
        eom = self.equations(formed)
        return {**values, **{
            ours: values[theirs] for ours, theirs in zip(eom.u, formed.u)}}

    def outputs(self, formed, values, *names):
        return numbers(self.equations(formed).graph,
                       self.inputs(formed, values), *names)

    def nonideal(self, formed, values):
        """Given forces of the constraints."""
        if 'C' in self.equations(formed).graph.outputs:
            return self.outputs(formed, values, 'C')[0]
        return mp.matrix(len(formed.u), 1)

    def solution(self, formed, values):
        """``u'``, multipliers and ideal forces in the method's order."""
        W, r, M, Q = self.outputs(formed, values, 'W', 'r', 'M', 'Q')
        z, o = solved(W, r), len(formed.u)
        forces = M*z[:o, 0] - Q - self.nonideal(formed, values)
        return z[:o, 0], z[o:, 0], forces

    def motion(self, formed, one, values):
        a, lam, forces = self.solution(formed, values)
        speeds = mp.matrix([values[x] for x in formed.u])
        work = ((forces + self.nonideal(formed, values)).T*speeds)[0]
        a, forces = (ordered(formed.u, one.u, x) for x in (a, forces))
        return Motion(a, forces, lam, work)


class ClosedForm(Block):
    """The solution that the method writes."""

    name = 'Udwadia-Kalaba, closed form'

    def solution(self, formed, values):
        a, lam, forces = self.closed(formed, values)
        return a, lam, forces - self.nonideal(formed, values)

    def closed(self, formed, values):
        return numbers(
            formed.closed_form, self.inputs(formed, values), 'acceleration',
            'multipliers', 'constraint_forces')


class GibbsAppell(ClosedForm):
    """``B^T*M*u' = B^T*Q`` with the rows, and the reactions after that."""

    name = 'Gibbs-Appell'
    method = GibbsAppellMethod
    refuses = ConstraintError, UnsupportedFeatureError, TypeError

    def solution(self, formed, values):
        _, lam, forces = self.closed(formed, values)
        return self.projected(formed, values), lam, forces

    def projected(self, formed, values):
        return solved(*numbers(
            formed._projected, self.inputs(formed, values), 'mass',
            'forcing'))

    def motion(self, formed, one, values):
        closed, *_ = self.closed(formed, values)
        return replace(super().motion(formed, one, values), pairs=(
            (closed, self.projected(formed, values)),))


class InVelocities(Block):
    """Speeds are the ``q'`` of the same mechanism."""

    refuses = (ConstrainedDynamicsError, TypeError)

    def motion(self, formed, one, values):
        second, forces, lam, work = self.second(formed, one, values)
        slopes = at(one.kinematics[1], values)
        return Motion(one.in_speeds(values, second), slopes.T*forces, lam,
                      work, self.pairs(formed, values))

    def pairs(self, formed, values):
        return ()

    def second(self, formed, one, values):
        """``q''``, forces on ``q``, multipliers and power."""
        a, lam, forces = self.solution(formed, values)
        rates = mp.matrix([values[x.diff(formed.system.t)] for x in formed.q])
        a, f, rates = (ordered(formed.q, one.q, x) for x in (a, forces, rates))
        return a, f, lam, (f.T*rates)[0]

    def inputs(self, formed, values):
        eom = self.equations(formed)
        return {**values, **{u: values[x.diff(eom.t)] for u, x in zip(
            eom.u, formed.q)}}


class Routh(InVelocities):

    name = 'Routh'
    method = RouthMethod


class Vacco(InVelocities):
    """Vakonomic motion, with multipliers that are not zero."""

    name = 'Vacco'
    method = VaccoMethod

    def form(self, one, values, **options):
        if one.vel or one.acc:
            raise Refused('Vakonomic motion obeys another principle where '
                          'rows do not integrate.')
        return super().form(one, values, **options)

    def inputs(self, formed, values):
        return {**super().inputs(formed, values), **{
            mu: mp.mpf(2*k + 3)/7 for k, mu in enumerate(formed.mu_vec)}}

    def solution(self, formed, values):
        a, rates, forces = super().solution(formed, values)
        return a, -rates, forces


class Voronets(InVelocities):
    """The corrected equations of the embedding; ``values`` choose which
    coordinates are eliminated."""

    name = 'Hamel, Voronets equations'
    method = VoronetsMethod

    def form(self, one, values, **options):
        chosen = pivots(one, values)
        if one.L is not None:
            return one.form(self.method, q_dependent=chosen, **options)
        order = options.pop('order', None)
        whole = one.form(UdwadiaKalabaMethod, order)
        return self.method.from_method(whole, q_dependent=chosen, **options)

    def equations(self, formed):
        return formed.equations_of_motion

    def inputs(self, formed, values):
        eom = self.equations(formed)
        return {**values, **{u: values[x.diff(eom.t)] for u, x in zip(
            eom.u, (formed.q[i] for i in formed._others))}}

    def second(self, formed, one, values):
        W, r = self.outputs(formed, values, 'W', 'r')
        z, p = mp.lu_solve(W, r), len(formed.u)
        lam = z[p:, 0]
        known = {**values, **{u: values[x.diff(formed.system.t)]
                              for u, x in zip(formed.system.u, formed.q)}}
        A, b = numbers(formed.system.graph, known, 'A', 'b')
        one_, two = formed._dependent, formed._others
        second = mp.matrix(len(formed.q), 1)
        for i, x in zip(two, z[:p]):
            second[i] = x
        if one_:
            rest = b - A*second
            for i, x in zip(one_, mp.lu_solve(mp.matrix(
                    [[A[k, i] for i in one_] for k in range(A.rows)]), rest)):
                second[i] = x
        forces, = numbers(formed.closed_form, self.inputs(formed, values),
                          'constraint_forces')
        return (ordered(formed.q, one.q, second),
                ordered(formed.q, one.q, forces), lam, 0)

    def pairs(self, formed, values):
        z = mp.lu_solve(*self.outputs(formed, values, 'W', 'r'))
        closed = numbers(formed.closed_form, self.inputs(formed, values),
                         'acceleration', 'multipliers')
        return ((mp.matrix([*closed[0], *closed[1]]), z),)


class Mapping(Block):
    """Quasi-velocities; the reactions' power is in ``power``."""

    name = 'Linear mapping'
    method = LinearMappingMethod
    refuses = (ConstrainedDynamicsError, TypeError)

    def inputs(self, formed, values):
        a, drift = numbers(formed._mapped, values, 'a', 'a0')
        speeds = mp.matrix([values[w] for w in formed.system.u])
        inner = a*speeds + drift
        return {**values, **dict(zip(formed.u, inner))}

    def motion(self, formed, one, values):
        p, parent = len(formed.u), formed.system.u
        W, r = self.outputs(formed, values, 'W', 'r')
        z = mp.lu_solve(W, r)
        rates = self.parent_rates(formed, values, z[:p, 0])
        M, Q = numbers(formed.system.graph, values, 'M', 'Q')
        closed, = numbers(formed.closed_form, self.inputs(formed, values),
                          'constraint_forces')
        forces = M*rates - Q
        return Motion(ordered(parent, one.u, rates),
                      ordered(parent, one.u, forces), z[p:, 0],
                      pairs=((closed, forces),))

    def parent_rates(self, formed, values, rates):
        """``w'`` of ``a*w + a_0 = [u; 0]``, differentiated."""
        a, = numbers(formed._mapped, values, 'a')
        speeds = mp.matrix([values[w] for w in formed.system.u])
        after, before = (numbers(formed._mapped, shifted(
            values, formed.system.t, sign*TINY), 'a', 'a0')
            for sign in (1, -1))
        right = mp.matrix(list(rates) + [0]*(a.rows - len(rates)))
        with mp.workdps(120):
            change = ((after[0] - before[0])*speeds
                      + after[1] - before[1])/(2*TINY)
        return mp.lu_solve(a, right - change)


class OrthogonalMapping(Mapping):

    name = 'Linear mapping, orthogonal'
    options = {'completion': 'orthogonal'}


BLOCK, VACCO = Block(), Vacco()
WAYS = {way.name: way for way in (
    BLOCK, ClosedForm(), GibbsAppell(), Routh(), VACCO, Voronets(),
    Mapping(), OrthogonalMapping())}


def pivots(one, values):
    """Coordinates whose columns are independent there, largest first."""
    rows = one.rows.velocity
    if not rows.rows or len(one.q) != len(one.u):
        return []
    A = at(rows.jacobian(one.u), values)
    A *= mp.inverse(at(one.kinematics[1], values))
    chosen, rows = [], [[A[i, j] for j in range(A.cols)]
                        for i in range(A.rows)]
    for k in range(len(rows)):
        size, i, j = max((abs(x), i, j) for i, row in enumerate(rows[k:], k)
                         for j, x in enumerate(row))
        if size < EXACT:
            break
        chosen.append(one.q[j])
        rows[k], rows[i] = rows[i], rows[k]
        for i in range(k + 1, len(rows)):
            c = rows[i][j]/rows[k][j]
            rows[i] = [x - c*y for x, y in zip(rows[i], rows[k])]
    return chosen
