r"""Power of everything that is not in the energy of a constrained system.

.. math::

   \dot E = P + Q_c^T u, \qquad Q_c = M\dot u - Q

with the power :math:`P` of known forces that have no potential. Ideal
constraints that do not move have :math:`Q_c^T u = 0`; prescribed motion, servo
constraints, friction in constraints and some constraints that are nonlinear in
the speeds do work. Both parts are integrated along with the motion only where
they exist.
"""
from contextlib import suppress

from ...errors import ConstrainedDynamicsError


def rate_of_work(outputs, speeds, accelerations):
    """Power at a state, from the outputs of :func:`work_outputs` there."""
    power = 0.
    if 'power' in outputs:
        power += outputs['power'][0, 0]
    if 'M' in outputs:
        power += speeds@(outputs['M']@accelerations - outputs['Q'][:, 0])
    return power


def work_outputs(compiled):
    """Outputs that the power needs; none if it is zero or unknown."""
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
    _, out = equations.graph.load(None, ('A', 'W'))
    motion = len(equations.unknowns) - len(equations.multipliers)
    forces = [*zip(*out['W'][:len(equations.u)])][motion:]
    return any(x != -y for force, row in zip(forces, out['A'])
               for x, y in zip(force, row))


def energy_rates(compiled, t, x, rates, p=None):
    """Rate of the energy at states that change at these rates.

    None if the energy is unknown, calls Python inputs or has no gradient, as
    at the edge of a domain.
    """
    equations = compiled.equations
    if not compiled.has('energy') or not compiled.inputs.called.keys(
            ).isdisjoint(equations.graph.symbols(('energy',))):
        return None
    with suppress(ArithmeticError, ConstrainedDynamicsError):
        slopes = compiled.jacobian('energy', (
            equations.t, *equations.states))(t, x, p=p)[:, 0]
        return slopes[:, 0] + (slopes[:, 1:]*rates).sum(axis=1)
    return None
