"""How the motion of a mechanism is taken from each method.

Accelerations and forces are stated in the speeds of the mechanism whatever
speeds a method has, and multipliers in the order of its rows, so that a law is
written once.  Equations ``W z = r`` are solved here, at 70 digits; no law
depends on how a solver writes its answer, but for the ways in closed form,
which are laws about those answers.
"""
from dataclasses import dataclass

from mpmath import mp

from kkt import at, min_norm, norm
from sympy_constrained import (
    GibbsAppellMethod, HamelEmbedding, LinearMappingMethod, RouthMethod,
    UdwadiaKalabaMethod, VaccoMethod)
from sympy_constrained.errors import (
    ConstrainedDynamicsError, ConstraintError, RedundantConstraintsError,
    UnsupportedFeatureError)

EXACT = mp.mpf(10)**-45


class Refused(Exception):
    """A method does not take this model, and says why."""


@dataclass(frozen=True)
class Motion:
    """Of one state: ``u'``, ``A^T*lam``, ``lam``, and the power of both
    reactions and other constraint forces that is not in ``power``."""

    acceleration: object
    forces: object
    lam: object
    work: object = 0


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


def numbers(graph, known, *names):
    """Outputs of a graph at numbers; empty ones have their shape, too."""
    out = graph.evaluate({x: known[x] for x in graph.inputs if x in known},
                         names, context=mp)
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

    def solution(self, formed, values):
        """``u'``, multipliers, ``A``, ``C`` and the speeds, as they are."""
        graph = self.equations(formed).graph
        W, r, A = self.outputs(formed, values, 'W', 'r', 'A')
        z, o = solved(W, r), len(formed.u)
        C = (self.outputs(formed, values, 'C')[0] if 'C' in graph.outputs
             else mp.matrix(o, 1))
        return z[:o, 0], z[o:, 0], A, C

    def motion(self, formed, one, values):
        a, lam, A, C = self.solution(formed, values)
        forces = A.T*lam if A.rows else mp.matrix(len(a), 1)
        speeds = mp.matrix([values[x] for x in formed.u])
        a, f, C, speeds = (ordered(formed.u, one.u, x)
                           for x in (a, forces, C, speeds))
        return Motion(a, f, lam, ((f + C).T*speeds)[0])


class ClosedForm(Block):
    """The solution that the method writes."""

    name = 'Udwadia-Kalaba, closed form'

    def solution(self, formed, values):
        A, C = self.outputs(formed, values, 'A', 'C')
        a, lam, forces = self.closed(formed, values)
        assert norm(A.T*lam - (forces - C)) < EXACT*(1 + norm(forces)) if (
            A.rows) else norm(forces - C) == 0
        return a, lam, A, C

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
        known = self.inputs(formed, values)
        W, r = numbers(formed._projected, known, 'mass', 'forcing')
        a = solved(W, r)
        closed, lam, forces = self.closed(formed, values)
        assert norm(closed - a) < EXACT*(1 + norm(a))
        A, = self.outputs(formed, values, 'A')
        assert norm(A.T*lam - forces) < EXACT*(1 + norm(forces)) if (
            A.rows) else norm(forces) < EXACT
        return a, lam, A, mp.matrix(len(a), 1)


class InVelocities(Block):
    """Speeds are the ``q'`` of the same mechanism."""

    refuses = (ConstrainedDynamicsError, TypeError)

    def motion(self, formed, one, values):
        second, forces, lam, work = self.second(formed, one, values)
        slopes = at(one.kinematics[1], values)
        return Motion(one.in_speeds(values, second), slopes.T*forces, lam,
                      work)

    def second(self, formed, one, values):
        """``q''``, forces on ``q``, multipliers and power."""
        a, lam, A, _ = self.solution(formed, values)
        forces = A.T*lam if A.rows else mp.matrix(len(a), 1)
        rates = mp.matrix([values[x.diff(formed.system.t)]
                           for x in formed.q])
        a, f, rates = (ordered(formed.q, one.q, x)
                       for x in (a, forces, rates))
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
        a, rates, A, C = super().solution(formed, values)
        return a, -rates, A, C


class Voronets(InVelocities):
    """The corrected equations of the embedding; ``values`` choose which
    coordinates are eliminated."""

    name = 'Hamel, Voronets equations'
    method = HamelEmbedding

    def form(self, one, values, **options):
        chosen = pivots(one, values)
        if one.L is not None:
            return one.form(self.method, q_dependent=chosen, **options)
        order = options.pop('order', None)
        whole = one.form(UdwadiaKalabaMethod, order)
        return self.method.from_method(whole, q_dependent=chosen, **options)

    def equations(self, formed):
        return formed.voronets_equations_of_motion

    def inputs(self, formed, values):
        eom = self.equations(formed)
        return {**values, **{u: values[x.diff(eom.t)] for u, x in zip(
            eom.u, formed.q_independent)}}

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
        closed = numbers(
            formed.closed_form, self.inputs(formed, values),
            'true_acceleration', 'multipliers', 'constraint_forces')
        assert norm(closed[0] - z[:p, 0]) < EXACT*(1 + norm(z))
        assert norm(closed[1] - lam) < EXACT*(1 + norm(z))
        return (ordered(formed.q, one.q, second),
                ordered(formed.q, one.q, closed[2]), lam, 0)


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
        known, p = self.inputs(formed, values), len(formed.u)
        W, r = self.outputs(formed, values, 'W', 'r')
        z = mp.lu_solve(W, r)
        N, gamma, A = numbers(formed._mapped, known, 'N', 'gamma', 'A')
        rates = gamma + N*z[:p, 0] if p else gamma
        lam, parent = z[p:, 0], formed.system.u
        forces = A.T*lam if A.rows else mp.matrix(len(rates), 1)
        closed = numbers(formed.closed_form, known, 'constraint_forces')[0]
        assert norm(closed - forces) < EXACT*(1 + norm(forces))
        return Motion(ordered(parent, one.u, rates),
                      ordered(parent, one.u, forces), lam)


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
