"""The power that changes the energy of a constrained system."""
from __future__ import annotations

from contextlib import suppress

from ...errors import ConstrainedDynamicsError
from ...graph import Graph, gradient
from ..codegen.native import with_given


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

    def __init__(self, compiled):
        self.outputs = compiled.kept(Work, lambda: work_outputs(compiled))

    def rate(self, outputs, speeds, accelerations):
        """Power at a state, from the ``outputs`` there."""
        power = 0.
        if 'power' in outputs:
            power += outputs['power'][0, 0]
        if 'M' in outputs:
            power += speeds@(outputs['M']@accelerations - outputs['Q'][:, 0])
        return power


def work_outputs(compiled):
    """The outputs of :class:`Work`."""
    if not (compiled.has('energy') and compiled.has('power')):
        return ()
    graph = compiled.equations.graph
    outputs = ('power',) if any(map(any, graph.pattern('power'))) else ()
    if ('C' in graph.outputs and any(map(any, graph.pattern('C')))
            or compiled.equations.upper
            or compiled.has('A') and constraints_work(compiled.equations)):
        outputs += ('M', 'Q')
    return outputs


def constraints_work(equations):
    """Whether rows move, reactions are no ``A^T lam``, or ``A u``, and so the
    power ``lam^T A u``, may differ from zero where the velocity rows hold.

    It does not if it equals them, or twice them if they are quadratic.
    """
    if {equations.t, *equations.specifieds} & {
            *equations.graph.symbols(('holonomic', 'velocity', 'b'))}:
        return True
    g, out = equations.graph.load(None, ('A', 'velocity'))
    rows = out['velocity']
    u = [g.input(x, dynamic=True) for x in equations.u]
    return len(out['A']) != len(rows) or act_across(equations) or not all(
        any(g.same_value(g.dot(row, u), multiple)
            for multiple in (psi, g.add(psi, psi)))
        for row, [psi] in zip(out['A'], rows))


def act_across(equations):
    """Whether reactions are no ``A^T lam``."""
    _, out = equations.graph.load(None, ('A', 'W'))
    motion = len(equations.unknowns) - len(equations.multipliers)
    forces = [*zip(*out['W'][:len(equations.u)])][motion:]
    return any(x != -y for force, row in zip(forces, out['A'])
               for x, y in zip(force, row))


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
