"""Compare the balances of energy and constraints with the tolerances.

Energy changes by the work done, accelerations satisfy ``A u' = b``, and states
the constraints. Each step disturbs states by ``atol + rtol*|x|``, and thus the
energy by ``M u`` and by the forces times the errors of speeds and coordinates.
"""
from __future__ import annotations

import numpy as np

from ..manifold.projection import norms_of


TERMS = 'absolute', 'relative', 'gradients', 'violations', 'distances'
# Multiple of the tolerances that a step may add to an error.
FACTOR = 10
# The same for rounding, relative to the largest energy.
ROUNDING = 1e-12
# Relative residual of a row of A u' = b that rounding explains.
RESIDUAL = 1e-6
# Terms below this part of those of the largest row are rounding errors. A row
# whose gradient is below this part of its largest one in the run does not act
# yet, or no longer.
NOTHING = 1e-5


class Balance:
    """Errors and terms of the balances at outputs of a run."""

    def __init__(self, compiled):
        self.compiled = compiled
        columns = compiled.equations.graph.outputs['A'][1]
        self.has_rows = compiled.has('A') and columns == len(compiled.u_index)
        self.levels = [name for name, _ in compiled.levels
                       if compiled.has(name)]
        self.names = (*(('A', 'b') if self.has_rows else ()), *(
            f'{name}_jacobian' for name in self.levels))

    def terms(self, outputs, x, accelerations, forces, is_exact):
        """Name -> array over outputs, zero for those that are not exact.

        ``outputs`` are values of ``M``, ``Q``, residuals and :attr:`names`.
        """
        compiled, M = self.compiled, outputs['M']
        u = x[:, compiled.u_index]
        momenta = np.abs(product(M, u))
        loads = np.abs(outputs['Q'][..., 0]) + np.abs(forces)
        load = loads.sum(axis=1)
        length = np.abs(x[:, compiled.q_index]).max(axis=1, initial=0.)
        terms = {'absolute': momenta.sum(axis=1) + load,    # energy per atol
                 'relative': np.einsum('ki,ki->k', momenta, np.abs(u))
                 + load*length}
        if self.has_rows:
            A, b = np.abs(outputs['A']), outputs['b'][..., 0]
            products = outputs['A']*accelerations[:, None]
            size = np.abs(products).sum(axis=2) + np.abs(b)
            rest = np.abs(products.sum(axis=2) - b)
            if (rest > RESIDUAL*size).any():        # such as at rest
                masses = np.abs(M.diagonal(axis1=1, axis2=2))
                size += NOTHING*product(A, np.divide(
                    loads, masses, out=np.abs(accelerations),
                    where=masses > 0))
            terms['gradients'] = A.max(axis=2)
            terms['violations'] = rest/(
                size + NOTHING*size.max(axis=1, keepdims=True)
                + np.finfo(float).tiny)
        if not np.all(is_exact):
            terms = {name: np.where(is_exact, value.T, 0.).T
                     for name, value in terms.items()}
        return {**terms, 'distances': self.distances(outputs)}

    def distances(self, outputs):
        """Of states from the constraints, by residuals and gradients."""
        return np.concatenate([outputs['M'][:, 0, :0], *(
            np.abs(outputs[name][..., 0]/norms_of(
                outputs[f'{name}_jacobian'])) for name in self.levels)], 1)

    def fault(self, trajectory, terms, rtol, atol):
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
        distances = terms['distances']
        if distances[0].max(initial=0.) > drift:
            return None
        return (self._row_fault(terms, RESIDUAL + relative)
                or self._residual_fault(distances[-1], drift)
                or self._energy_fault(trajectory, terms, relative, absolute))

    def _energy_fault(self, trajectory, terms, relative, absolute):
        if trajectory.energy_error is None:
            return None
        error = np.abs(trajectory.energy_error).max(initial=0.)
        allowed = (absolute*(1 + terms['absolute'].max()) + relative*(
            terms['relative'].max() + np.abs(trajectory.work).max(initial=0.))
            + ROUNDING*np.abs(trajectory.energy).max(initial=0.))
        if error <= allowed:
            return None
        return (
            f"The energy balance is off: energy less work changes by "
            f"{error:.1e}, and the tolerances explain {allowed:.0e}. "
            "Usually (a) a force or an input jumps, and steps miss it, "
            "(b) the energy of the model does not belong to its forces, or "
            "(c) the equations are wrong. Pass a smaller `max_step` and "
            "smaller tolerances. If the error stays, compare the model with "
            "another method (`compare`), and do not trust the motion.")

    def _row_fault(self, terms, allowed):
        if not self.has_rows:
            return None
        gradients, violations = terms['gradients'], terms['violations']
        largest = np.where(
            gradients > NOTHING*gradients.max(axis=0, initial=0.),
            violations, 0.).max(axis=0, initial=0.)
        if largest.max(initial=0.) <= allowed:
            return None
        k = int(np.argmax(largest))
        name = self.compiled.equations.constraint_names[k]
        return (
            f"The constraint balance is off: the accelerations violate "
            f"{name} by {largest[k]:.1e} of its terms, and the tolerances "
            f"explain {allowed:.0e}. Usually a row was taken for a "
            "combination of others, or the equations are wrong. Compare the "
            "model with another method (`compare`), and do not trust the "
            "motion.")

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


def product(matrices, vectors):
    """Matrices times vectors, state by state."""
    return np.einsum('kij,kj->ki', matrices, vectors)
