r"""Compare the balances of energy and constraints with the tolerances.

A solution of the equations of motion keeps three balances: energy changes by
the work done, the accelerations satisfy :math:`A\dot u = b` row by row, and
positions and velocities satisfy the constraints. An integrator disturbs the
first and the last by its tolerances in every step. A larger error means that
the equations do not belong to the energy and the constraints of the model, or
that the integrator has missed something.

A step may change a state by ``atol + rtol*|x|`` (in the root mean square of
all states, by an estimate), and projection moves it by as much. The energy
changes by :math:`M u` times the error of the speeds, and by the forces times
the error of the coordinates. These errors add up; the energy does not amplify
them. :data:`FACTOR` allows for estimates that are too small and for
interpolation between steps.

Of moving constraints the work is computed from the forces that the equations
give, so that an error of these forces is found only if it violates a row.
"""
from __future__ import annotations

import numpy as np

from ..manifold.projection import distances

__all__ = ['Balance']

# Multiple of the tolerances that a step may add to an error.
FACTOR = 10
# The same for rounding, relative to the largest energy.
ROUNDING = 1e-12
# Relative residual of a row of A u' = b that rounding explains, and the part
# of the largest row below which terms of a row are rounding errors.
RESIDUAL, NOTHING = 1e-6, 1e-5


class Balance:
    """The largest errors and terms of the balances at the outputs of a run.

    Parameters
    ==========

    compiled : CompiledEquations

    """

    def __init__(self, compiled):
        self.compiled = compiled
        columns = compiled.equations.graph.outputs['A'][1]
        self.names = ('A', 'b') if compiled.has('A') and (
            columns == len(compiled.u_index)) else ()
        self.absolute = self.relative = 0.      # energy per tolerance
        self.row, self.contradiction = '', 0.

    def add(self, outputs, x, accelerations, forces):
        """Take note of an output.

        Parameters
        ==========

        outputs : dict
            Values of ``M``, ``Q`` and of :attr:`names`.
        x, accelerations, forces : ndarray
            State, ``u'``, generalized constraint forces.

        """
        compiled = self.compiled
        u = x[compiled.u_index]
        momenta = np.abs(outputs['M']@u)
        acting = np.sum(np.abs(outputs['Q'][:, 0]) + np.abs(forces))
        length = np.abs(x[compiled.q_index]).max(initial=0.)
        self.absolute = max(self.absolute, momenta.sum() + acting)
        self.relative = max(
            self.relative, momenta@np.abs(u) + acting*length)
        if not self.names:
            return
        terms, right = outputs['A']*accelerations, outputs['b'][:, 0]
        masses = np.abs(outputs['M'].diagonal())
        free = np.divide(np.abs(outputs['Q'][:, 0]) + np.abs(forces), masses,
                         out=np.abs(accelerations), where=masses > 0)
        usual = np.abs(outputs['A'])@free       # where accelerations vanish
        own = np.abs(terms).sum(axis=1) + np.abs(right) + NOTHING*usual
        rest = np.abs(terms.sum(axis=1) - right)
        part = rest/(own + NOTHING*own.max() + np.finfo(float).tiny)
        k = int(np.argmax(part))
        if part[k] > self.contradiction:
            self.contradiction = part[k]
            self.row = compiled.equations.constraint_names[k]

    def fault(self, trajectory, rtol, atol):
        """A warning if a balance fails, else None.

        A motion that starts off the constraints has no balance.
        """
        if not len(trajectory):
            return None
        steps = FACTOR*(1 + trajectory.statistics['steps'])
        relative, absolute = steps*rtol, steps*atol
        t, x = trajectory.t, trajectory.x
        drift = (absolute + relative*np.abs(x).max(initial=0.))*(
            1 + abs(t[-1] - t[0]))
        start, end = (distances(self.compiled, t[k], x[k]).distances
                      for k in (0, -1))
        if start.max(initial=0.) > drift:
            return None
        return (self._row_fault(relative)
                or self._residual_fault(end, drift)
                or self._energy_fault(trajectory, relative, absolute))

    def _energy_fault(self, trajectory, relative, absolute):
        if trajectory.energy_error is None:
            return None
        error = np.abs(trajectory.energy_error).max(initial=0.)
        allowed = (absolute*(1 + self.absolute) + relative*(
            self.relative + np.abs(trajectory.work).max(initial=0.))
            + ROUNDING*np.abs(trajectory.energy).max(initial=0.))
        if error <= allowed:
            return None
        return (
            f"The energy balance is off: energy less work changes by "
            f"{error:.1e}, and the tolerances explain {allowed:.0e}. "
            "Usually (a) a force or an input jumps, and steps miss it, "
            "(b) the energy of the model is not that of its forces, or (c) "
            "the equations are wrong. Pass a smaller `max_step` and smaller "
            "tolerances. If the error stays, compare the model with another "
            "method (`compare`), and do not trust the motion.")

    def _row_fault(self, relative):
        if self.contradiction <= RESIDUAL + relative:
            return None
        return (
            f"The constraint balance is off: the accelerations violate "
            f"{self.row} by {self.contradiction:.1e} of its terms, and "
            f"the tolerances explain {RESIDUAL + relative:.0e}. Usually a "
            "row was taken for a combination of others, or the equations "
            "are wrong. Compare the model with another method (`compare`), "
            "and do not trust the motion.")

    def _residual_fault(self, far, allowed):
        if far.max(initial=0.) <= allowed:
            return None
        k = int(np.argmax(far))
        return (
            f"The constraint balance is off: at the end the state is "
            f"{far[k]:.1e} from {self.compiled.residual_names[k]}, and the "
            f"tolerances explain {allowed:.0e}. Usually (a) drift is not "
            "corrected: pass `stabilization='projection'`, (b) an input "
            "jumps, and steps miss it: pass a smaller `max_step`, or (c) the "
            "equations are wrong: compare the model with another method "
            "(`compare`).")
