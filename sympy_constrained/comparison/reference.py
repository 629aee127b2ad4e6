r"""The reference of a comparison, in the variables of every formulation.

For the speeds :math:`w` of a formulation, its state and the rates of the
reference's speeds follow from :math:`\dot q = f(q, w, t)` and :math:`\ddot q
= J\dot w + \beta`, at 50 digits.
"""
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from mpmath import mp
from sympy import Expr

from ..errors import UnsupportedFeatureError
from ..graph import GraphMatrix, jacobian, substitute, time_derivative
from ..graph.linalg import solve
from ..methods.references import flat, frozen, written
from ..numeric import compile_equations
from ..numeric.codegen.native import with_given
from ..numeric.inputs import Inputs, function_of
from ..numeric.names import label
from ..precision import precise


DIGITS = 50
# Relative gap of velocities that rounding explains.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class MappedState:
    """A state of a formulation, with ``J`` and ``bias`` of ``q''``."""

    t: float
    x: np.ndarray
    J: np.ndarray
    bias: np.ndarray


class Reference:
    """A model with numbers, and its reference method at states ``(t, x)``.

    ``accelerations`` and ``forces`` have shape (number of states, o),
    ``multipliers`` (number of states, m); ``sample`` has numbers near which
    ranks are evaluated.
    """

    def __init__(self, model, method, report, compiled, states):
        self.model, self.method, self.report = model, method, report
        self.compiled, self.states = compiled, states
        self.equations = equations = compiled.equations
        self.constants = dict(zip(compiled.constants, compiled.p))
        self.sample = {         # other methods may have other speeds
            x: value for x, value in sample_of(
                method.equations_of_motion, compiled, states).items()
            if x not in compiled.states or x in equations.q}
        self.accelerations = np.array([
            compiled.rhs(t, x)[compiled.u_index] for t, x in states])
        self.multipliers = np.array([
            compiled.multipliers(t, x) for t, x in states])
        known = [compiled.evaluate(('M', 'Q'), t, x) for t, x in states]
        inertia = np.array([blocks['M']@rates for blocks, rates in zip(
            known, self.accelerations)])
        loads = np.array([blocks['Q'][:, 0] for blocks in known])
        self.forces = inertia - loads
        self.acceleration_size = np.abs(
            self.accelerations).max(initial=0) or 1.
        self.force_size = max(np.abs(part).max(initial=0) for part in (
            inertia, loads, self.forces)) or 1.
        self.values = []
        for t, x in states:
            values = {**dict(zip(equations.states, x)), equations.t: t}
            rates = self.numbers(equations.graph, ('rates',), values)['rates']
            self.values.append({**values, **{
                q.diff(equations.t): rates[equations.states.index(q), 0]
                for q in equations.q}})
        self.mapped_own = self.mapped(equations, {})

    def numbers(self, graph, names, values):
        return {name: np.array(rows, float).reshape(graph.outputs[name])
                for name, rows in self.exact(graph, names, values).items()}

    def exact(self, graph, names, values):
        """Outputs of a graph as rows of mpmath's numbers."""
        known, e = {**self.constants, **values}, self.equations
        needed = [x for x in graph.symbols(names) if x not in known]
        if needed:                      # specified functions, and their rates
            inputs = Inputs.match(dict.fromkeys([
                *self.compiled.specifieds, *self.compiled.inputs.feedback,
                *needed]), self.model.inputs, e.t, e)
            x = np.array([known[state] for state in e.states], float)
            if inputs.called:
                known.update(zip(inputs.called, inputs.values(known[e.t], x)))
            graph = with_given(graph, names, inputs.given)
        with precise(DIGITS):
            return graph.evaluate({x: mp.mpf(y) for x, y in known.items()},
                                  names, mp)

    def with_numbers(self, equations):
        """Another formulation with the same numbers, perhaps fewer inputs."""
        functions = set(map(function_of, equations.specifieds))
        foreign = {*self.equations.u}.difference(equations.states)
        inputs = {
            x: value.xreplace({u: self.velocities.get(u, u) for u in foreign})
            if isinstance(value, Expr) and value.has(*foreign) else value
            for x, value in self.model.inputs.items()
            if function_of(x) in functions}
        return compile_equations(equations, used(
            {**self.model.parameters, **self.constants}, equations, inputs),
            inputs)

    @cached_property
    def velocities(self):
        """Speeds as functions of ``q'``, where these determine them."""
        equations = self.equations
        g, out = second_rates(equations).load(None, ('rates', 'J'))
        u = [g.input(x, dynamic=True) for x in equations.u]
        drift = substitute(g, flat(out['rates']), dict.fromkeys(u, 0))
        gaps = GraphMatrix(g, [
            [g.sub(g.input(q.diff(equations.t), dynamic=True), x)]
            for q, x in zip(equations.q, drift)], 1)
        some = [j for j, column in enumerate(zip(*out['J'])) if any(column)]
        J = GraphMatrix(g, out['J'], len(u))[:, some]
        if len(some) != len(gaps.rows):
            J, gaps = J.T @ J, J.T @ gaps
        solved = solve(g, J.rows, flat(gaps.rows))
        return {} if solved is None else dict(zip(
            (equations.u[j] for j in some), written(g, solved)))

    def rows(self, system):
        """The velocity Jacobian of a system at every state."""
        return [self.numbers(system.graph, ('velocity_jacobian',), values)[
            'velocity_jacobian'] for values in self.values]

    # -- from the reference to a formulation -----------------------------

    def mapped(self, equations, more):
        """A :class:`MappedState` of a formulation for every state.

        ``more`` has values of states that the reference does not have.
        """
        if set(equations.q) != set(self.equations.q):
            raise UnsupportedFeatureError(
                "Its coordinates are not those of the reference.")
        graph = second_rates(equations)
        return [self._mapped(equations, graph, t, {**values, **more})
                for (t, _), values in zip(self.states, self.values)]

    def _mapped(self, equations, graph, t, values):
        rates = np.array([values[q.diff(equations.t)] for q in equations.q])
        new = [x for x in equations.u if x not in values]
        if new:                 # speeds that only the formulation has
            at_rest = {**values, **dict.fromkeys(new, 0.)}
            found = self.numbers(graph, ('rates', 'J'), at_rest)
            columns = [list(equations.u).index(x) for x in new]
            values.update(zip(new, np.linalg.lstsq(
                found['J'][:, columns], rates - found['rates'][:, 0],
                rcond=None)[0]))
        missing = [x for x in equations.states if x not in values]
        if missing:
            raise UnsupportedFeatureError(
                f"Its state {label(missing[0])} has no value in the "
                "reference.")
        found = self.numbers(graph, ('rates', 'J', 'bias'), values)
        gap = np.abs(found['rates'][:, 0] - rates).max(initial=0)
        if gap > ROUNDING*(1 + np.abs(rates).max(initial=0)):
            raise UnsupportedFeatureError(
                "Its speeds cannot have the velocities of the reference.")
        x = np.array([values[x] for x in equations.states], dtype=float)
        return MappedState(t, x, found['J'], found['bias'][:, 0])

    # -- and back --------------------------------------------------------

    def lifted(self, equations, k, state, rates):
        """Rates of the reference's speeds from those at mapped state ``k``."""
        speeds, given = list(self.equations.u), dict(zip(equations.u, rates))
        shared = [x for x in equations.u if x in speeds]
        o = len(speeds)
        if len(shared) == o:
            return np.array([given[x] for x in speeds])
        order = [equations.q.index(q) for q in self.equations.q]
        second, own = (state.J@rates + state.bias)[order], self.mapped_own[k]
        left = np.concatenate([
            np.eye(o)[[speeds.index(x) for x in shared]], own.J])
        right = np.concatenate([[given[x] for x in shared],
                                second - own.bias])
        if np.linalg.matrix_rank(left) < o:
            rows = self.compiled.evaluate(('A', 'b'), *self.states[k])
            left = np.concatenate([left, rows['A']])
            right = np.concatenate([right, rows['b'][:, 0]])
        found, _, rank, _ = np.linalg.lstsq(left, right, rcond=None)
        if rank < o:
            raise UnsupportedFeatureError(
                "Its accelerations do not determine those of the reference.")
        return found

    def pulled_back(self, k, system, forces):
        """Forces on the reference's speeds from those on other speeds."""
        if tuple(system.u) == tuple(self.equations.u):
            return forces
        if len(system.u) != len(system.q):
            raise UnsupportedFeatureError(
                "Its forces act on speeds that are not those of the "
                "reference.")
        order = [self.equations.q.index(q) for q in system.q]
        return self.mapped_own[k].J[order].T@forces

    # -- an independent solution -----------------------------------------

    def at_50_digits(self, k):
        """Rates of the speeds and forces, from the independent rows."""
        graph, kept = self.equations.graph, self.report.independent_rows
        names = [name for name in ('M', 'Q', 'C', 'A', 'b')
                 if name in graph.outputs]
        found = self.exact(graph, names, self.values[k])
        M, A, o, m = found['M'], found['A'], len(found['M']), len(kept)
        if not o:
            return np.zeros(0), np.zeros(0)
        with precise(DIGITS):
            M, Q = mp.matrix(M), mp.matrix(found['Q'])
            W, r = mp.matrix(o + m), mp.matrix(o + m, 1)
            W[:o, :o] = M
            r[:o, 0] = Q + mp.matrix(found['C']) if 'C' in found else Q
            for j, row in enumerate(kept, o):
                r[j] = found['b'][row][0]
                for i, x in enumerate(A[row]):
                    W[i, j], W[j, i] = -x, x
            rates = mp.lu_solve(W, r)[:o, 0]
            return np.array(rates, float), np.array(M*rates - Q, float)


def sample_of(equations, compiled, states):
    """Numbers at the first state, without constants of inputs alone."""
    known = {*equations.constants, *equations.symbols, *compiled.states}
    return {x: value for x, value in (
        *zip(compiled.constants, compiled.p),
        *zip(compiled.states, states[0][1])) if x in known}


def used(values, equations, inputs):
    """Those of the values that equations with these inputs contain."""
    symbols = {*equations.constants}.union(*(
        x.free_symbols for x in inputs.values() if isinstance(x, Expr)))
    return {x: value for x, value in values.items() if x in symbols}


def second_rates(equations):
    """Graph of ``rates``, ``J`` and ``bias`` of ``q'' = J*u' + bias``."""
    g, out = equations.graph.load(None, ('rates',))
    index = equations.states.index
    speeds = [g.input(x, dynamic=True) for x in equations.u]
    explicit = dict(zip(equations.states, flat(out['rates'])))
    along = time_derivative(g, {
        **{g.input(x, dynamic=True): rate for x, rate in explicit.items()},
        **dict.fromkeys(speeds, 0)})
    rates = [out['rates'][index(q)][0] for q in equations.q]
    return frozen(
        g, rates=rates, bias=[along(x) for x in rates],
        J=GraphMatrix(g, jacobian(g, rates, speeds), len(speeds)))
