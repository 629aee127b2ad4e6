"""Discrete equations of motion, one set of residuals for each scheme.

Symbols and formulas are those of :doc:`/theory/fixed_steps`.
"""
from functools import lru_cache

import numpy as np
from numpy.polynomial import Legendre, Polynomial
from numpy.polynomial.legendre import leggauss
from numpy.polynomial.polynomial import polyfromroots
from sympy import Dummy, Rational

from ...errors import MissingIngredientError, UnsupportedFeatureError
from ...graph import Graph, jacobian, stack
from ...graph.matrix import as_column
from ..integrate.power import act_across
from .mechanics import HALF, Mechanics


SCHEMES = ('rattle', 'lagrange-dalembert', 'gni', 'discrete-gradient',
           'vakonomic')
# Unknowns that resemble no state: impulses, the second kind not in the first
# Newton step, and changes.
IMPULSE, LATER, CHANGE = -1, -2, -3
INSTEAD = "Use `method='DOP853'` without `integrator`."


class Scheme:
    """The discrete equations of a model.

    The input ``x`` of all code is the work array: the states at the start of
    the step, then the work done, the energy and the forces that are carried
    from step to step, ``h``, inputs that are tables at all ``nodes``, parts of
    a step, and the unknowns. ``states`` and ``known`` are the numbers of
    entries before ``h`` and before the unknowns.

    ``phases`` are graphs with the outputs ``residual`` and ``slopes``, one
    phase after the other, ``end`` has the states at the end of the step.
    ``guesses`` has for each unknown of a phase the position of the state that
    it resembles, or CHANGE, or IMPULSE or LATER for impulses, which may not be
    unique: the equation with the number of an impulse is a constraint.
    """

    def __init__(self, compiled, name, stages=1):
        equations = compiled.equations
        mu = equations.states[len(equations.q) + len(equations.u):]
        check_equations(compiled, name, mu)
        self.m = m = Mechanics(compiled, mu)
        self.rows = [k for k, row in enumerate(m.found['A'].rows) if any(row)]
        self.hold = [k for k in self.rows if k < m.found['holonomic'].shape[0]]
        check_mechanics(self, compiled, name)
        self.g, self.phases, self.guesses = m.g, [], []
        self.inputs, self.unknowns = [], []
        self.q0, self.u0, self.mu0, self.work, self.energy = map(
            self.new, (m.q, m.u, m.mu, 'W', 'E'))
        self.carried = self.new([k for k in self.rows if k not in self.hold]
                                if name == 'gni' else [])
        self.states = len(self.inputs)
        self.step = self.new('h')
        self.h = self.g.inputs[self.g.nodes[self.step.rows[0][0]][1]]
        count = 1 if name == 'discrete-gradient' else stages
        self.nodes = np.unique([*nodes_of(count)[2], *nodes_of(count)[4]])
        self.called = {node: self.new(m.called) for node in self.nodes}
        self.known = len(self.inputs)
        if name == 'discrete-gradient':
            self.with_energy()
        else:
            self.with_impulses(stages)
        self.inputs = self.inputs[:self.known] + self.unknowns

    # -- the schemes -----------------------------------------------------

    def with_impulses(self, count):
        """Gauss's stages, with impulses at Lobatto's nodes."""
        path, rows = Path(self, count), [] if self.m.mu else self.rows
        known = HALF*self.h*self.carried
        unknown = [self.new(rows[:len(rows) - known.shape[0]])
                   for _ in range(count)]
        impulses = [stack(some, known) for some in unknown]
        p1 = self.add_stages(path, rows, impulses, unknown)
        self.add_end(path, rows, impulses, p1)

    def add_stages(self, path, rows, impulses, unknown):
        """The phase of all stages; the momenta before the last impulse."""
        m, h, (a, b, _, at_ends, _) = self.m, self.h, path.nodes
        middle, others = path.middle, [
            k for k in rows[:unknown[0].shape[0]] if k not in self.hold]
        p0, changes = path.knots[0]('p'), []
        p = [at('p') for at in middle]
        if len(m.q) > len(m.u):
            changes = [self.new(m.q) for _ in middle]
            p = [p0 + some for some in changes]
        force = [h*(at('forces') - at('slopes', some))
                 for at, some in zip(middle, p)]
        jump = [at('rows')[rows].T @ some
                for at, some in zip(path.knots, impulses)]
        weights = 1 - at_ends.T/b[:, None]
        balance = [some - p0 - total(a_i, force) - total(w_i, jump)
                   for some, a_i, w_i in zip(p, a, weights)]
        momenta = [at('G').T @ some - at('momenta')
                   for at, some in zip(middle, p)] if changes else []
        held = [x for at, end in zip(middle, path.knots[1:]) for x in (
            end('holonomic')[self.hold], at('psi')[others])]
        self.add_phase(
            [*balance, *momenta, *(at('psi') for at in middle if m.mu),
             *path.equations, *held], path.unknowns, stack(*unknown),
            changes=stack(*changes) if changes else None)
        return p0 + total(b, force) + total(np.ones(len(jump)), jump)

    def add_end(self, path, rows, impulses, p1):
        """The phase of the speeds at the end, and the states there."""
        m, (start, *inner, _) = self.m, path.knots
        u1, mu1, nu = map(self.new, (m.u, m.mu, rows))
        end = self.at(1, path.q1, u1, mu1)
        self.add_phase(
            [end('momenta') - end('G').T @ p1 - end('A')[rows].T @ nu,
             end('psi') if m.mu else end('psi')[rows]],
            [(u1, m.u), (mu1, m.mu)], nu)
        work = self.h*total(path.nodes[1], [
            at('power') for at in path.middle]) + (
                start('excess') - end('excess'))
        for at, some in zip([start, *inner, end], [*impulses, nu]):
            work -= some.T @ at('drift')[rows]
        force = 2/self.h*nu[slice(len(rows) - self.carried.shape[0], None)]
        self.end = self.states_at(path.q1, u1, mu1, work, self.energy, force)

    def with_energy(self):
        """Impulses at the midpoint, and a discrete gradient."""
        m, h, rows, hold = self.m, self.h, self.rows, self.hold
        u, u1, lam, nu, sigma = map(self.new, (m.u, m.u, rows, hold, 's'))
        q1, q, path = self.coordinates(u, nu)
        start, middle, end = (
            self.at(0, self.q0, self.u0), self.at(0.5, q, u),
            self.at(1, q1, u1))
        p0, p1 = start('p'), end('p')
        p, mean, loads = HALF*(p0 + p1), middle('momenta'), middle('loads')
        work = h*(loads.T @ u)
        self.add_phase(
            [mean - middle('G').T @ p,
             middle('G').T @ (p1 - p0 + h*middle('slopes', p)) - h*loads
             - mean @ sigma - middle('A')[rows].T @ lam, path,
             end('psi')[rows], end('holonomic')[hold],
             end('energy') - self.energy - work],
            [(u, m.u), (u1, m.u), (path and q1, m.q)], stack(lam, nu),
            sigma)
        self.end = self.states_at(
            q1, u1, self.mu0, work, self.energy + work)

    # -- parts -----------------------------------------------------------

    def new(self, items):
        symbols = [Dummy() for _ in items]
        self.inputs += symbols
        return as_column(self.g, [self.g.input(x, dynamic=True)
                                  for x in symbols])

    def at(self, node, q, u=None, mu=None):
        """Functions at a state, by name and perhaps ``p``."""
        m = self.m
        time = as_column(self.g, [m.time]) + Rational(float(node))*self.step
        values = {m.time: time.rows[0][0]}
        for refs, matrix in ((m.q, q), (m.u, u), (m.mu, mu),
                             (m.called, self.called[node])):
            values.update(zip(refs, entries(matrix)))
        return lambda name, p=None: m.moved(m.found[name], {
            **values, **dict(zip(m.p, entries(p)))})

    def coordinates(self, u, nu=None):
        """Coordinates at the end and in the middle; equations, if implicit."""
        m = self.m
        if m.is_plain and not entries(nu):
            q1 = self.q0 + self.h*u
            return q1, HALF*(self.q0 + q1), None
        q1 = self.new(m.q)
        q = HALF*(self.q0 + q1)
        middle = self.at(0.5, q, u)
        path = q1 - self.q0 - self.h*middle('f')
        return q1, q, path - middle('H')[self.hold].T @ nu if nu else path

    def add_phase(self, equations, unknowns, impulses, later=None,
                  changes=None):
        """Add equations, for pairs of unknowns and what they resemble."""
        g, m = self.g, self.m
        states = [*m.q, *m.u, *m.mu]
        guesses = [states.index(x) for some, like in unknowns
                   for x, _ in zip(like, entries(some))]
        kinds = (changes, CHANGE), (impulses, IMPULSE), (later, LATER)
        refs = [x for some, _ in (*unknowns, *kinds) for x in entries(some)]
        equations = [x for some in equations for x in entries(some)]
        self.guesses.append(guesses + [
            kind for some, kind in kinds for _ in entries(some)])
        self.unknowns += [g.inputs[g.nodes[x][1]] for x in refs]
        self.phases.append(Graph.freeze(g, {
            'residual': equations,
            'slopes': (jacobian(g, equations, refs), len(refs))}))

    def states_at(self, q, u, mu, work, *others):
        return Graph.freeze(self.g, {
            'out': stack(q, u, mu, self.work + work, *others)})


class Path:
    """The stages of Gauss's method: functions at these, ``middle``, and at
    Lobatto's nodes, ``knots``, without speeds but for the first.
    """

    def __init__(self, scheme, count):
        m, h, stages = scheme.m, scheme.h, range(count)
        self.nodes = a, b, c, at_ends, ends = nodes_of(count)
        u, mu = ([scheme.new(some) for _ in stages] for some in (m.u, m.mu))
        self.unknowns = [(some, m.u) for some in u] + [
            (some, m.mu) for some in mu]
        self.equations = []
        if m.is_plain:
            q = [scheme.q0 + h*total(a[i], u) for i in stages]
        else:
            q = [scheme.new(m.q) for _ in stages]
            self.unknowns += [(some, m.q) for some in q]
        self.middle = [scheme.at(c[i], q[i], u[i], mu[i]) for i in stages]
        f = u
        if not m.is_plain:
            f = [at('f') for at in self.middle]
            self.equations = [q[i] - scheme.q0 - h*total(a[i], f)
                              for i in stages]
        self.q1 = scheme.q0 + h*total(b, f)
        self.knots = [scheme.at(0, scheme.q0, scheme.u0, scheme.mu0), *(
            scheme.at(ends[k], scheme.q0 + h*total(at_ends[k], f))
            for k in stages[1:]), scheme.at(1, self.q1)]


def entries(matrix):
    return [x for x, in matrix.rows] if matrix else []


def total(weights, matrices):
    first, *others = (Rational(float(w))*matrix
                      for w, matrix in zip(weights, matrices))
    return sum(others, first)


@lru_cache(maxsize=None)
def nodes_of(count):
    """Gauss's ``a``, ``b``, ``c``; integrals to Lobatto's nodes, the nodes."""
    c = (leggauss(count)[0] + 1)/2
    ends = np.concatenate([
        [0], (Legendre.basis(count).deriv().roots().real + 1)/2, [1]])
    integrals = []
    for node in c:
        others = c[c != node]
        integrals.append(Polynomial(polyfromroots(others)/np.prod(
            node - others)).integ())
    a, at_ends = (np.array([[some(x) for some in integrals] for x in nodes])
                  for nodes in (c, ends))
    return a, at_ends[-1], c, at_ends, ends


# -- what has no meaning ---------------------------------------------------

def refuse(name, is_wrong, text, instead=INSTEAD):
    if is_wrong:
        raise UnsupportedFeatureError(
            f"`integrator={name!r}` {text}. {instead}")


def check_equations(compiled, name, mu):
    equations, graph = compiled.equations, compiled.equations.graph
    n, o = len(equations.q), len(equations.u)
    shape = {output: rows for output, (rows, _) in graph.outputs.items()}
    python = set(compiled.inputs.called) - set(compiled.tables)
    refuse(name, python, "cannot evaluate Python functions within a step, and "
           f"`inputs` has one for {', '.join(map(str, python))}",
           "Give an expression or a table.")
    refuse(name, equations.states[:n + o] != (*equations.q, *equations.u)
           or equations.upper or shape.get('mass_rates'),
           "needs the states q, u, and these equations have others, such as "
           "masses or accelerations")
    invariant = [any(row) for row in graph.pattern('velocity_jacobian')[
        :shape['holonomic']]].count(False)
    refuse(name, not 0 <= n - o <= invariant,
           "needs a speed for the rate of each coordinate, and here "
           f"{n} coordinates have {o} speeds", "Use UdwadiaKalabaMethod or "
           "RouthMethod instead of embedded equations, and add coordinates "
           "that drop out of the equations.")
    is_vakonomic = bool(mu) and not equations.multipliers
    refuse(name, is_vakonomic and name != 'vakonomic',
           "is not for VaccoMethod, whose states contain multipliers",
           "Pass `integrator='vakonomic'`.")
    refuse(name, name == 'vakonomic' and not is_vakonomic,
           "is for VaccoMethod with constraints", "Pass another integrator, "
           "or make the model with VaccoMethod.")
    refuse(name, shape['A'] != shape['velocity'],
           "keeps constraints of coordinates and speeds, and the model has "
           "some at acceleration level")
    refuse(name, 'C' in shape and any(map(any, graph.pattern('C')))
           or act_across(equations),
           "assumes ideal constraints, and the model has forces that depend "
           "on the constraint forces, or that are not along the rows")
    if name == 'discrete-gradient' and not (
            compiled.has('energy') and compiled.has('power')):
        raise MissingIngredientError(
            "`integrator='discrete-gradient'` keeps the energy, and that of "
            "these equations is unknown, or parts of the model move by "
            "prescription. Make them from bodies that do not, or from a "
            "Lagrangian, or pass another integrator.")


def check_mechanics(scheme, compiled, name):
    m, labels = scheme.m, compiled.equations.constraint_names
    moving = [m.time], m.called
    others = [labels[k] for k in scheme.rows if k not in scheme.hold]
    refuse(name, m.depends('M', *moving),
           "needs momenta M*u of a mass matrix that is a function of the "
           "coordinates, and here it depends on time: the mass varies, or "
           "parts move by prescription")
    refuse(name, m.depends('M', m.u) or m.depends('G', m.u),
           "needs a kinetic energy that is quadratic in the speeds")
    refuse(name, name != 'vakonomic' and m.depends('A', m.u),
           "has no meaning for rows that are not linear in the speeds: the "
           "direction of their impulse is not determined by the coordinates")
    refuse(name, name == 'rattle' and others,
           f"is for holonomic rows, and the model has {', '.join(others)}",
           "Pass `integrator='lagrange-dalembert'` or 'discrete-gradient'.")
    refuse(name, name == 'vakonomic' and m.found['holonomic'].rows,
           "does not keep holonomic rows", "For these the motion is that of "
           "RouthMethod and `integrator='rattle'`.")
    depends = any(m.depends(part, *moving) for part in (
        'energy', 'f', 'psi', 'holonomic'))
    refuse(name, name == 'discrete-gradient' and (
               depends or not m.vanishes('drift')),
           "keeps an energy that changes by the work of loads only. Here it "
           "depends on time, or constraints move and do work",
           "Pass another integrator.")
