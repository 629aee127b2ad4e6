"""The power that changes the energy of a constrained system."""
from __future__ import annotations

from contextlib import suppress

import numpy as np

from ...errors import ConstrainedDynamicsError
from ...graph import Graph, gradient
from ..codegen.native import with_given
from ..manifold.projection import project, size_of


# Relative power of constraint forces that counts as zero.
POWERLESS = 1e-9
# Relative distance of the coordinates of states that are compared.
APART = 0.1


class Work:
    r"""Power of everything that is not in the energy.

    .. math::

       \dot E = P + Q_c^T u, \qquad Q_c = M\dot u - Q

    with the power :math:`P` of known forces that have no potential. Ideal
    constraints that do not move have :math:`Q_c^T u = 0`; prescribed motion,
    servo constraints, friction in constraints and some constraints that are
    nonlinear in the speeds do work. Both parts are integrated along with the
    motion only where they exist.

    Attributes
    ==========

    outputs : tuple of str
        What :meth:`rate` needs, none if the energy is constant or unknown.

    """

    def __init__(self, compiled, t_span, x):
        self.outputs = compiled.once(
            Work, lambda: work_outputs(compiled, t_span, x))

    def rate(self, outputs, speeds, accelerations):
        """Power at a state, from the ``outputs`` there."""
        power = 0.
        if 'power' in outputs:
            power += outputs['power'][0, 0]
        if 'M' in outputs:
            power += speeds@(outputs['M']@accelerations - outputs['Q'][:, 0])
        return power


def work_outputs(compiled, t_span, x):
    """The outputs of :class:`Work`, decided near a state."""
    if not (compiled.has('energy') and compiled.has('power')):
        return ()
    equations, graph = compiled.equations, compiled.equations.graph
    moving = {equations.t, *equations.specifieds}
    outputs = ('power',) if any(map(any, graph.pattern('power'))) else ()
    if ('C' in graph.outputs and any(map(any, graph.pattern('C')))
            or compiled.has('A') and (
                moving & {*graph.symbols(('holonomic', 'velocity', 'b'))}
                or constraints_work(compiled, t_span, x))):
        outputs += ('M', 'Q')
    return outputs


def constraints_work(compiled, t_span, x):
    """Whether ``A u``, thus ``lam^T A u``, is not zero at admissible states.

    The decision holds for other starts, too, so one of two states has other
    coordinates. It is yes if it can be made nowhere. Constants replace Python
    inputs, which must not be called before the run.
    """
    t0, t1 = t_span
    called = compiled.inputs.called
    if called:
        compiled = compiled.with_values(inputs={
            **compiled.inputs.expressions, **{
                item: lambda t, x, value=1 + 0.5*np.cos(2.4*k): value
                for k, item in enumerate(called)}})
    index, places = compiled.u_index, compiled.q_index
    size, failed = size_of(x[index]), 0
    for i in (1, 2):
        trial, t = x.copy(), t0 + (t1 - t0)*0.618/i
        trial[places] += APART*(i - 1)*size_of(x[places])*np.cos(
            1.3*np.arange(len(places)))
        trial[index] += size*np.cos(2.4*i*(1. + np.arange(len(index))))
        usual = np.abs(trial[index])
        try:
            outputs = compiled.evaluate(('A', 'velocity'), t, trial)
            A, psi = outputs['A'], outputs['velocity'][:, 0]
            if len(A) == len(psi) and is_small(A@trial[index] - psi, A, usual):
                continue                # A u vanishes with psi
            state = project(compiled, t, trial).x
            A, u = compiled.evaluate(('A',), t, state)['A'], state[index]
        except Exception:               # no such state, or outside a domain
            failed += 1
            continue
        if not is_small(A@u, A, np.maximum(np.abs(u), usual)):
            return True
    return failed == 2


def is_small(power, A, usual):
    """Whether powers are rounding errors of those at usual speeds."""
    return (np.abs(power) <= POWERLESS*np.abs(A)@usual).all()


def energy_rates(compiled, t, x, rates, p=None):
    """Rate of the energy at states that change at these rates.

    None if the energy is unknown, calls Python inputs or has no gradient.
    """
    gradient = compiled.kept(
        'energy_gradient', lambda: energy_gradient(compiled))
    if gradient is None:
        return None
    try:
        slopes = gradient(t, x, compiled.parameters(p, len(x)))[
            'gradient'][:, 0]
    except ArithmeticError:             # at the edge of a domain
        return None
    return slopes[:, 0] + (slopes[:, 1:]*rates).sum(axis=1)


def energy_gradient(compiled):
    """Derivatives of the energy by time and states, as a function, or None.
    """
    equations = compiled.equations
    if not compiled.has('energy') or compiled.inputs.called.keys() & {
            *equations.graph.symbols(('energy',))}:
        return None
    g, out = with_given(equations.graph, ('energy',),
                        compiled.inputs.given).load()
    moving = [g.input(x, dynamic=True)
              for x in (equations.t, *equations.states)]
    with suppress(ConstrainedDynamicsError):    # a function of the user
        return compiled.group(Graph.freeze(g, {'gradient': (
            [gradient(g, out['energy'][0][0], moving)], len(moving))}),
            ('gradient',))
