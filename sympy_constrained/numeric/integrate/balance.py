"""Compare the balances of energy and constraints with the tolerances.

Energy changes by the work done, accelerations satisfy ``A u' = b``, and states
the constraints. Each step disturbs states by ``atol + rtol*|x|``, and thus the
energy by ``M u`` and by the forces times the errors of speeds and coordinates.
"""
import numpy as np

from ..manifold.projection import norms_of


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
TINY = np.finfo(float).tiny
# Largest ratio of the absolute tolerance to the largest state.
COARSE = 0.01
# Smaller states are rounding errors of a model at rest at zero.
REST = 1e-14


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
            terms['gradients'] = A.max(axis=2)
            terms['violations'] = rest/(
                size + NOTHING*size.max(axis=1, keepdims=True) + TINY)
            terms['errors'] = rest/(terms['gradients'] + TINY)
        if not np.all(is_exact):
            terms = {name: np.where(is_exact, value.T, 0.).T
                     for name, value in terms.items()}
        return {**terms, 'distances': self.distances(outputs)}

    def distances(self, outputs):
        return np.concatenate([np.zeros((len(outputs['M']), 0)), *(
            np.abs(outputs[name][..., 0]/norms_of(
                outputs[f'{name}_jacobian'])) for name in self.levels)], 1)

    def fault(self, trajectory, terms, rtol, atol):
        """A warning if a balance fails, else None."""
        if not len(trajectory):
            return None
        return next(filter(None, (
            message(self.compiled, found[0], allowed.item())
            for message, (found, allowed) in zip(MESSAGES, self.compared(
                np.zeros(1, int), vars(trajectory), terms,
                trajectory.statistics['steps'], rtol, atol))
            if not (found[0] <= allowed).all())), None)

    def compared(self, begins, columns, terms, steps, rtol, atol):
        """Errors of each run, with the largest ones that are no warning: the
        tolerance of small states, rows, residuals at the end, and energy.

        Runs begin with the outputs ``begins``. A motion that starts off the
        constraints has no balance, that is nothing is too much; nan is.
        """
        def most(values):
            return np.maximum.reduceat(values, begins)

        t, x, energy, work = (columns[name] for name in (
            't', 'x', 'energy', 'work'))
        ends = np.append(begins[1:], len(t)) - 1
        steps = FACTOR*(1 + np.asarray(steps))
        relative, absolute = steps*rtol, steps*atol
        largest = most(np.abs(x).max(axis=1, initial=0.))
        drift = (absolute + relative*largest)*(
            1 + np.abs(t[ends] - t[begins]))
        distances = terms['distances']
        has_balance = ~(distances[begins].max(axis=1, initial=0.) > drift)
        rows = np.zeros((len(begins), 0))
        allowed = RESIDUAL + relative
        if self.has_rows and not terms['violations'].max() <= allowed.min():
            gradients, lengths = terms['gradients'], ends - begins + 1
            acts = gradients > NOTHING*np.repeat(
                most(gradients), lengths, axis=0)
            # A smaller error changes speeds by less than the tolerance.
            acts &= ~(terms['errors'] <= np.repeat(absolute/np.maximum(
                np.abs(t[ends] - t[begins]), TINY), lengths)[:, None])
            rows = most(np.where(acts, terms['violations'], 0.))
        found = [(np.where(largest > REST, atol, 0.)[:, None], COARSE*largest),
                 (rows, allowed), (distances[ends], drift)]
        if energy is not None and work is not None:
            change = energy - work
            change -= np.repeat(change[begins], ends - begins + 1)
            found.append((most(np.abs(change))[:, None], (
                absolute*(1 + most(terms['absolute']))
                + relative*(most(terms['relative']) + most(np.abs(work)))
                + ROUNDING*most(np.abs(energy)))))
        return [(np.where(has_balance[:, None], errors, 0.), allowed)
                for errors, allowed in found]


def size_message(compiled, errors, allowed):
    return (
        f"No state exceeds {allowed/COARSE:.1e}, and `atol` allows errors of "
        f"{errors[0]:.0e} in each step. Pass a smaller `atol`, and a smaller "
        "`tolerance` for the start, or choose smaller units.")


def row_message(compiled, errors, allowed):
    k = int(np.argmax(errors))
    return (
        f"The constraint balance is off: the accelerations violate "
        f"{compiled.equations.constraint_names[k]} by {errors[k]:.1e} of its "
        f"terms, and the tolerances explain {allowed:.0e}. Usually a row was "
        "taken for a combination of others, or the equations are wrong. "
        "Compare the model with another method (`compare`), and do not trust "
        "the motion.")


def residual_message(compiled, errors, allowed):
    k = int(np.argmax(errors))
    return (
        f"The constraint balance is off: at the end the state is "
        f"{errors[k]:.1e} from {compiled.residual_names[k]}, and the "
        f"tolerances explain {allowed:.0e}. Usually (a) drift is not "
        "corrected: pass `stabilization='projection'`, (b) an input "
        "jumps, and steps miss it: pass a smaller `max_step`, or (c) the "
        "equations are wrong: compare the model with another method "
        "(`compare`).")


def energy_message(compiled, errors, allowed):
    return (
        f"The energy balance is off: energy less work changes by "
        f"{errors[0]:.1e}, and the tolerances explain {allowed:.0e}. "
        "Usually (a) a force or an input jumps, and steps miss it, "
        "(b) the energy of the model does not belong to its forces, or "
        "(c) the equations are wrong. Pass a smaller `max_step` and "
        "smaller tolerances. If the error stays, compare the model with "
        "another method (`compare`), and do not trust the motion.")


MESSAGES = size_message, row_message, residual_message, energy_message


def product(matrices, vectors):
    return np.einsum('kij,kj->ki', matrices, vectors)
