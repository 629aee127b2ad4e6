"""The power that changes the energy of a constrained system."""
from __future__ import annotations

import numpy as np

from .projection import project

__all__ = ['Work']

# Relative power of constraint forces that counts as none.
POWERLESS = 1e-9


class Work:
    r"""Power of everything that is not in the energy.

    Explanation
    ===========

    .. math::

       \dot E = P + Q_c^T u, \qquad Q_c = M\dot u - Q

    with the power :math:`P` of known forces that have no potential. Ideal
    constraints that do not move have :math:`Q_c^T u = 0`; prescribed motion,
    servo constraints and other rows at acceleration level do work. Both
    parts are integrated along with the motion only where they exist.

    Parameters
    ==========

    compiled : CompiledEquations
    t_span : tuple of float
    x : ndarray
        A consistent state at the start.

    Attributes
    ==========

    known : bool
        Whether the equations carry energy and power.
    outputs : tuple of str
        What :meth:`rate` needs, none if the energy is constant.

    """

    def __init__(self, compiled, t_span, x):
        self.compiled = compiled
        self.known = compiled.has('energy') and compiled.has('power')
        self.outputs = ()
        if not self.known:
            return
        graph = compiled.equations.graph
        if any(map(any, graph.pattern('power'))):
            self.outputs += ('power',)
        if compiled.has('A') and self._constraints_move(t_span, x):
            self.outputs += ('M', 'Q')

    def rate(self, outputs, speeds, accelerations):
        """Power at a state, from the ``outputs`` there."""
        power = 0.
        if 'power' in outputs:
            power += outputs['power'][0, 0]
        if 'M' in outputs:
            power += speeds@(outputs['M']@accelerations - outputs['Q'][:, 0])
        return power

    def _constraints_move(self, t_span, x):
        """Whether admissible motions at some states meet ``A u != 0``."""
        compiled = self.compiled
        outputs = compiled.equations.graph.outputs
        if outputs['A'][0] > outputs['velocity'][0]:
            return True
        t0, t1 = t_span
        size = max(1., np.abs(x[compiled.u_index]).max(initial=0.))
        for i in (1, 2):
            trial = x.copy()
            trial[compiled.u_index] += size*np.cos(
                2.4*i*(1 + np.arange(len(compiled.u_index))))
            t = t0 + (t1 - t0)*0.618/i
            try:
                state = project(compiled, t, trial).x
                A = compiled.evaluate(('A',), t, state)['A']
            except ArithmeticError:
                continue
            u = state[compiled.u_index]
            scale = np.abs(A)@np.abs(u)
            if (np.abs(A@u) > POWERLESS*scale).any():
                return True
        return False
