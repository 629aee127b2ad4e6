r"""The ground on which formulations meet: the speeds of the reference.

Formulations have unknowns of their own: rates of the given speeds, of the
velocities of some or all coordinates, of quasi-velocities. With

.. math::

   \dot q = f(q, w, t), \qquad \ddot q = J\dot w + \beta

for the speeds ``w`` of a formulation, its state follows from that of the
reference, and the rates of the reference's speeds from its accelerations.
What is needed for that is evaluated at 50 digits.
"""
from __future__ import annotations

import numpy as np
from mpmath import mp
from sympy import Derivative, Float

from ..errors import UnsupportedFeatureError
from ..graph import Graph, jacobian, time_derivative
from ..numeric.inputs import Inputs
from ..numeric.names import label
from ..precision import precise

__all__ = ['Ground', 'DIGITS']

DIGITS = 50
# Relative gap of velocities, or singular value, that rounding explains.
ROUNDING = 1e-9


class Ground:
    """States of the reference, and what is known there.

    Attributes
    ==========

    compiled : CompiledEquations
        Of the reference.
    inputs : dict
        Specified function -> what it is, by SymPy object.
    states : list of (t, x)
    reference : ndarray, shape (number of states, o)
        Rates of its speeds.
    forces : ndarray, shape (number of states, o)
        Generalized constraint forces.
    multipliers : ndarray, shape (number of states, m)

    """

    def __init__(self, compiled, inputs, states):
        self.compiled, self.inputs, self.states = compiled, inputs, states
        self.equations = equations = compiled.equations
        self.constants = dict(zip(compiled.constants, compiled.p))
        self.reference = np.array([
            compiled.rhs(t, x)[compiled.u_index] for t, x in states])
        self.forces, sizes = [], [0.]
        for (t, x), rates in zip(states, self.reference):
            known = compiled.evaluate(('M', 'Q'), t, x)
            inertia, load = known['M']@rates, known['Q'][:, 0]
            self.forces.append(inertia - load)
            sizes += [np.abs(part).max(initial=0)
                      for part in (inertia, load, self.forces[-1])]
        self.forces = np.array(self.forces)
        self.acceleration_size = np.abs(self.reference).max(initial=0) or 1.
        self.force_size = max(sizes) or 1.
        self.multipliers = np.array([
            compiled.multipliers(t, x) for t, x in states])
        graph = second_rates(equations)
        self.points = []
        for t, x in states:
            values = {**dict(zip(equations.states, x)), equations.t: t}
            found = self.numbers(graph, ('rates', 'J', 'bias'), values)
            values.update(zip((Derivative(q, equations.t)
                               for q in equations.q), found['rates'][:, 0]))
            self.points.append((values, found))

    def numbers(self, graph, names, values, at=float):
        """Outputs of a graph at a state: name -> array of floats.

        With ``at=None`` lists of rows of numbers of mpmath.
        """
        known = {**self.constants, **values}
        needed = [x for x in graph.symbols(names) if x not in known]
        with precise(DIGITS):
            if needed:
                known.update(self.specified(needed, known))
            out = graph.evaluate({x: mp.mpf(y) for x, y in known.items()},
                                 names, mp)
            if at is None:
                return out
            return {name: np.array(
                [[float(x) for x in row] for row in rows]).reshape(
                    graph.outputs[name]) for name, rows in out.items()}

    def specified(self, needed, values):
        """Values of specified functions and their derivatives."""
        time = self.equations.t
        every = dict.fromkeys([*self.compiled.specifieds, *needed])
        inputs = Inputs.match(every, self.inputs, time, self.constants)
        exact = {x: Float(values[x], DIGITS) for x in (
            time, *self.constants)}
        found = {x: mp.mpmathify(given.subs(exact).evalf(DIGITS))
                 for x, given in inputs.given.items() if x in needed}
        if inputs.called:
            state = np.array([values[x] for x in self.equations.states],
                             dtype=float)
            found.update(zip(inputs.called,
                             inputs.values(values[time], state)))
        return found

    # -- from the reference to a formulation -----------------------------

    def states_of(self, equations, more):
        """The states of a formulation that are those of the reference.

        Parameters
        ==========

        equations : EquationsOfMotion
        more : dict
            Values of states that the reference does not have.

        """
        self_made = [x for x in equations.u if x not in self.points[0][0]]
        graph = second_rates(equations)
        found = []
        for (t, _), (values, mine) in zip(self.states, self.points):
            values = {**values, **more}
            rates = [values[Derivative(q, self.equations.t)]
                     if Derivative(q, self.equations.t) in values else None
                     for q in equations.q]
            if None in rates or set(equations.q) != set(self.equations.q):
                raise UnsupportedFeatureError(
                    "Its coordinates are not those of the reference.")
            if self_made:
                at_rest = {**values, **dict.fromkeys(self_made, 0.)}
                theirs = self.numbers(graph, ('rates', 'J'), at_rest)
                columns = [list(equations.u).index(x) for x in self_made]
                values.update(zip(self_made, np.linalg.lstsq(
                    theirs['J'][:, columns],
                    np.array(rates) - theirs['rates'][:, 0],
                    rcond=None)[0]))
            missing = [x for x in equations.states if x not in values]
            if missing:
                raise UnsupportedFeatureError(
                    f"Its state {label(missing[0])} has no value in the "
                    "reference.")
            theirs = self.numbers(graph, ('rates', 'J', 'bias'), values)
            gap = np.abs(theirs['rates'][:, 0] - rates).max(initial=0)
            if gap > ROUNDING*(1 + np.abs(rates).max(initial=0)):
                raise UnsupportedFeatureError(
                    "Its speeds cannot have the velocities of the "
                    "reference.")
            found.append((t, np.array([values[x] for x in equations.states],
                                      dtype=float), theirs))
        return found

    # -- and back --------------------------------------------------------

    def lifted(self, equations, k, theirs, rates):
        """Rates of the reference's speeds from those of a formulation.

        Parameters
        ==========

        k : int
            Number of the state.
        theirs : dict
            What :meth:`states_of` found there.
        rates : ndarray
            Of the formulation's speeds.

        """
        values, mine = self.points[k]
        speeds = list(self.equations.u)
        shared = [x for x in equations.u if x in speeds]
        o = len(speeds)
        picks = np.zeros((len(shared), o))
        for i, x in enumerate(shared):
            picks[i, speeds.index(x)] = 1.
        given = dict(zip(equations.u, rates))
        if len(shared) == o:
            return np.array([given[x] for x in speeds])
        order = [equations.q.index(q) for q in self.equations.q]
        second = (theirs['J']@rates + theirs['bias'][:, 0])[order]
        left = np.concatenate([picks, mine['J']])
        right = np.concatenate([[given[x] for x in shared],
                                second - mine['bias'][:, 0]])
        if np.linalg.matrix_rank(left) < o:
            t, x = self.states[k]
            rows = self.compiled.evaluate(('A', 'b'), t, x)
            left = np.concatenate([left, rows['A']])
            right = np.concatenate([right, rows['b'][:, 0]])
        found, _, rank, _ = np.linalg.lstsq(left, right, rcond=None)
        if rank < o:
            raise UnsupportedFeatureError(
                "Its accelerations do not determine those of the reference.")
        return found

    def pulled_back(self, k, system, forces):
        """Forces on the reference's speeds from those on other speeds.

        Parameters
        ==========

        k : int
            Number of the state.
        system : ConstrainedSystem or EquationsOfMotion
            With the same speeds, or the velocities of its coordinates.
        forces : ndarray
            On its speeds.

        """
        if tuple(system.u) == tuple(self.equations.u):
            return forces
        if len(system.u) != len(system.q):
            raise UnsupportedFeatureError(
                "Its forces act on speeds that are not those of the "
                "reference.")
        order = [self.equations.q.index(q) for q in system.q]
        return self.points[k][1]['J'][order].T@forces

    def rows(self, system):
        """The velocity Jacobian of a system at every state."""
        return [self.numbers(system.graph, ('velocity_jacobian',), values)[
            'velocity_jacobian'] for values, _ in self.points]

    # -- an independent solution -----------------------------------------

    def at_50_digits(self, k, kept):
        """Rates of the speeds and forces, from ``M, Q, A, b`` at 50 digits.

        The multiplier system of the rows that are ``kept``, by mpmath.
        """
        values, _ = self.points[k]
        names = [name for name in ('M', 'Q', 'C', 'A', 'b')
                 if name in self.equations.graph.outputs]
        found = self.numbers(self.equations.graph, names, values, at=None)
        with precise(DIGITS):
            M, A, o = found['M'], found['A'], len(found['M'])
            Q = [x for x, in found['Q']]
            acting = [x + c for x, (c,) in zip(
                Q, found.get('C', [[0]]*o))]
            m = len(kept)
            W, r = mp.matrix(o + m, o + m), mp.matrix(o + m, 1)
            for i in range(o):
                r[i] = acting[i]
                for j in range(o):
                    W[i, j] = M[i][j]
                for j, row in enumerate(kept):
                    W[i, o + j] = -A[row][i]
                    W[o + j, i] = A[row][i]
            for j, row in enumerate(kept):
                r[o + j] = found['b'][row][0]
            z = mp.lu_solve(W, r) if o else []
            rates = [z[i] for i in range(o)]
            forces = [sum(M[i][j]*rates[j] for j in range(o)) - Q[i]
                      for i in range(o)]
            return (np.array(list(map(float, rates))),
                    np.array(list(map(float, forces))))


def second_rates(equations):
    """Graph of ``rates``, ``J`` and ``bias`` of ``q'' = J*u' + bias``."""
    g, out = equations.graph.load(None, ('rates',))
    index = equations.states.index
    speeds = [g.input(x, dynamic=True) for x in equations.u]
    explicit = dict(zip(equations.states, (x for x, in out['rates'])))
    along = time_derivative(g, {
        **{g.input(x, dynamic=True): rate for x, rate in explicit.items()},
        **dict.fromkeys(speeds, 0)})
    rates = [out['rates'][index(q)][0] for q in equations.q]
    return Graph.freeze(g, {
        'rates': ([[x] for x in rates], 1),
        'J': (jacobian(g, rates, speeds), len(speeds)),
        'bias': ([[along(x)] for x in rates], 1)})
