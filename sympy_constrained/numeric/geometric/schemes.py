r"""Discrete equations of motion, one set of residuals for each scheme.

Explanation
===========

All schemes are of one form. A step of length :math:`h` goes from :math:`q_0,
u_0` to :math:`q_1, u_1`. With the midpoint :math:`\bar q = (q_0 + q_1)/2`, a
mean speed :math:`\bar u`, its momentum :math:`\bar p` and the functions of
:mod:`.mechanics` at :math:`\bar q, \bar u, \bar p`,

.. math::

   q_1 - q_0 = h \bar f, \qquad
   p_{0,1} \pm J_{0,1} = \bar p \pm \tfrac h2 (\bar S_q - \bar\Phi),

where :math:`J_0`, :math:`J_1` are the impulses of constraints in the first
and in the second half of the step.

``'rattle'`` and ``'lagrange-dalembert'``
    The impulses are along the rows at the ends, :math:`G^T J_i = A_i^T
    \lambda_i`. The first makes :math:`h(q_1) = 0` for holonomic rows and
    :math:`\psi(\bar q, \bar u) = 0` for others, the second
    :math:`\psi(q_1, u_1) = 0`. Without nonholonomic rows these are the
    equations of a discrete Lagrangian, and symplectic [1]_; with them the
    discrete principle of Lagrange and d'Alembert [2]_, which is reversible
    [3]_.
``'vakonomic'``
    No impulses; :math:`\mu` is found with :math:`\bar u` from
    :math:`\psi(\bar q, \bar u) = 0`. This is the midpoint rule, Gauss's
    method of one stage, for Hamilton's equations, which are of index 1 [4]_.
``'discrete-gradient'``
    :math:`\bar p` is the mean of both momenta, and one impulse along the rows
    at the midpoint makes :math:`\psi(q_1, u_1) = 0`. :math:`\bar S_q` is
    changed along :math:`\bar p`, as in Gonzalez's discrete gradient [5]_, so
    that the energy changes by the work of the loads, and :math:`q_1` along the
    gradients of holonomic rows so that :math:`h(q_1) = 0`. The idea for
    nonholonomic rows is that of [6]_.

All are symmetric and of order 2. A symmetric composition of steps has order 4
(Suzuki) or 6 (Kahan and Li), see [1]_, section V.3.

References
==========

.. [1] E. Hairer, C. Lubich and G. Wanner, "Geometric Numerical Integration,"
   Springer (2006), sections V.3, VI.6 and VII.1.
.. [2] J. Cortes and S. Martinez, "Non-holonomic integrators," Nonlinearity 14
   (2001) 1365-1392.
.. [3] R. McLachlan and M. Perlmutter, "Integrators for nonholonomic mechanical
   systems," J. Nonlinear Sci. 16 (2006) 283-328.
.. [4] R. McLachlan, K. Modin, O. Verdier and M. Wilkins, "Symplectic
   integrators for index 1 constraints," SIAM J. Sci. Comput. 35 (2013)
   A2150-A2162.
.. [5] O. Gonzalez, "Time integration and discrete Hamiltonian systems," J.
   Nonlinear Sci. 6 (1996) 449-467.
.. [6] E. Celledoni, M. Farre Puiggali, E. H. Hoiseth and D. Martin de Diego,
   "Energy-preserving integrators applied to nonholonomic systems," J.
   Nonlinear Sci. 29 (2019) 1523-1562.

"""
from __future__ import annotations

from sympy import Dummy

from ...errors import MissingIngredientError, UnsupportedFeatureError
from ...graph import Graph, jacobian, stack
from .mechanics import HALF, Mechanics, column

__all__ = ['SCHEMES', 'IMPULSE', 'LATER', 'Scheme']

SCHEMES = 'rattle', 'lagrange-dalembert', 'discrete-gradient', 'vakonomic'
# Where functions of time are evaluated.
START, MIDDLE, END = range(3)
# Unknowns that resemble no state, the second one not in the first Newton step.
IMPULSE, LATER = -1, -2
INSTEAD = "Use `method='DOP853'` without `integrator`."


class Scheme:
    """The discrete equations of a model.

    The input ``x`` of all code is the work array: the states at the start of
    the step, among them the work done and the energy, then ``h``, inputs that
    are tables at the start, middle and end of the step, and the unknowns.

    Attributes
    ==========

    phases : list of Graph
        With the outputs ``residual`` and ``slopes`` of equations, one phase
        after the other.
    guesses : list of lists
        For each unknown of a phase the position of the state that it
        resembles. IMPULSE or LATER for impulses, which may not be unique: the
        equation with the number of an impulse is a constraint.
    end : Graph
        With the output ``out``, the states at the end of the step.
    states, known : int
        Number of the states, and of all entries before the unknowns.
    inputs : list
        Symbols of the entries.

    """

    def __init__(self, compiled, name):
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
        self.states = len(self.inputs)
        h = self.new('h').rows[0][0]
        self.h = self.g.inputs[self.g.nodes[h][1]]
        self.times = [m.time, self.g.add(m.time, self.g.div(
            h, self.g.constant(2))), self.g.add(m.time, h)]
        self.called = [self.new(m.called) for _ in range(3)]
        self.known = len(self.inputs)
        if name == 'discrete-gradient':
            self.with_energy()
        else:
            self.with_impulses()
        self.inputs = self.inputs[:self.known] + self.unknowns

    # -- the schemes -----------------------------------------------------

    def with_impulses(self):
        """Impulses along the rows at both ends, none in vakonomic motion."""
        m, half = self.m, HALF*self.h
        rows = [] if m.mu else self.rows
        others = [k for k in rows if k not in self.hold]
        u, mu, lam = map(self.new, (m.u, m.mu, rows))
        q1, q, path = self.coordinates(u)
        start = self.at(START, self.q0, self.u0, self.mu0)
        middle = self.at(MIDDLE, q, u, mu)
        p = middle('p')
        change = half*(middle('slopes', p) - middle('forces'))
        before = start('G').T @ (p + change)
        after = self.at(END, q1, u)('G').T @ (p - change)
        psi = middle('psi')
        self.add_phase(
            [before - start('momenta') - start('A')[rows].T @ lam,
             psi if m.mu else None, path,
             self.at(END, q1, u)('holonomic')[self.hold], psi[others]],
            [(u, m.u), (mu, m.mu), (path and q1, m.q)], lam)
        u1, mu1, nu = map(self.new, (m.u, m.mu, rows))
        end = self.at(END, q1, u1, mu1)
        self.add_phase(
            [end('momenta') - after - end('A')[rows].T @ nu,
             end('psi') if m.mu else end('psi')[rows]],
            [(u1, m.u), (mu1, m.mu)], nu)
        work = (self.h*middle('power') + start('excess') - end('excess')
                - lam.T @ start('drift')[rows] - nu.T @ end('drift')[rows])
        self.end = self.states_at(q1, u1, mu1, work, self.energy)

    def with_energy(self):
        """Impulses at the midpoint, and a discrete gradient."""
        m, h, rows, hold = self.m, self.h, self.rows, self.hold
        u, u1, lam, nu, sigma = map(self.new, (m.u, m.u, rows, hold, 's'))
        q1, q, path = self.coordinates(u, nu)
        start, middle, end = (
            self.at(START, self.q0, self.u0), self.at(MIDDLE, q, u),
            self.at(END, q1, u1))
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
        """New inputs, as many as there are items."""
        symbols = [Dummy() for _ in items]
        self.inputs += symbols
        return column(self.g, [self.g.input(x, dynamic=True)
                               for x in symbols])

    def at(self, part, q, u, mu=None):
        """Functions at a state, by name and perhaps ``p``."""
        m = self.m
        values = {m.time: self.times[part]}
        for refs, matrix in ((m.q, q), (m.u, u), (m.mu, mu),
                             (m.called, self.called[part])):
            values.update(zip(refs, entries(matrix)))
        return lambda name, p=None: m.moved(m.found[name], {
            **values, **dict(zip(m.p, entries(p)))})

    def coordinates(self, u, nu=None):
        """Coordinates at the end and in the middle, and their equations;
        none where they are explicit.
        """
        m = self.m
        if m.is_plain and not entries(nu):
            q1 = self.q0 + self.h*u
            return q1, HALF*(self.q0 + q1), None
        q1 = self.new(m.q)
        q = HALF*(self.q0 + q1)
        middle = self.at(MIDDLE, q, u)
        path = q1 - self.q0 - self.h*middle('f')
        return q1, q, path - middle('H')[self.hold].T @ nu if nu else path

    def add_phase(self, equations, unknowns, impulses, later=None):
        """Add equations for pairs of unknowns and the like among the states.
        """
        g, m = self.g, self.m
        states = [*m.q, *m.u, *m.mu]
        refs = [x for some, _ in unknowns for x in entries(some)]
        guesses = [states.index(x) for some, like in unknowns
                   for x, _ in zip(like, entries(some))]
        refs += entries(impulses) + entries(later)
        equations = [x for some in equations for x in entries(some)]
        self.guesses.append(guesses + [IMPULSE]*len(entries(impulses))
                            + [LATER]*len(entries(later)))
        self.unknowns += [g.inputs[g.nodes[x][1]] for x in refs]
        self.phases.append(Graph.freeze(g, {
            'residual': ([[x] for x in equations], 1),
            'slopes': (jacobian(g, equations, refs), len(refs))}))

    def states_at(self, q, u, mu, work, energy):
        """The graph of the states at the end."""
        out = stack(q, u, mu, self.work + work, energy)
        return Graph.freeze(self.g, {'out': (out.rows, 1)})


def entries(matrix):
    """Entries of a vector, none of None."""
    return [x for x, in matrix.rows] if matrix else []


# -- what has no meaning ---------------------------------------------------

def refuse(name, is_wrong, text, instead=INSTEAD):
    if is_wrong:
        raise UnsupportedFeatureError(
            f"`integrator={name!r}` {text}. {instead}")


def check_equations(compiled, name, mu):
    """Raise if the equations are not of the form that schemes need."""
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
    refuse(name, 'C' in shape and any(map(any, graph.pattern('C'))),
           "assumes ideal constraints, and the model has forces that depend "
           "on the constraint forces")
    if name == 'discrete-gradient' and not (
            compiled.has('energy') and compiled.has('power')):
        raise MissingIngredientError(
            "`integrator='discrete-gradient'` keeps the energy, and that of "
            "these equations is unknown, or parts of the model move by "
            "prescription. Make them from bodies that do not, or from a "
            "Lagrangian, or pass another integrator.")


def check_mechanics(scheme, compiled, name):
    """Raise if a scheme has no meaning for a model."""
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
