"""The equations of motion as a function for integrators."""
from functools import partial

import numpy as np
from scipy.optimize import approx_fprime

from ..manifold.projection import size_of
from .ends import TROUBLE
from .power import rate_of_work, work_outputs


# The least size of a state, relative to the largest, in differences.
SMALL = 1e-3


class Rates:
    """Rates of ``y``: the states, and the work where it is integrated.

    ``trouble`` is the last exception of the equations in a step, ``met`` in
    the run; ``raised`` is an exception of a function of the user.
    """

    def __init__(self, compiled, x, rank, feedback=None):
        self.compiled, self.rank, self.feedback = compiled, rank, feedback
        self.size = len(x)
        self.work = compiled.kept(
            work_outputs, lambda: work_outputs(compiled))
        self.names = ('rates', 'W', 'r', *self.work)
        self.begin = np.append(x, 0.) if self.work else x
        self.trouble = self.met = self.raised = None
        self._quick = None, None        # a solver, and its compiled rates

    def __call__(self, t, y):
        """Rates, nan where there are none, which makes the step shorter."""
        try:
            rates = self._rates(t, y)
            if self.feedback is not None:
                self.feedback.correct(t, y[:self.size], rates)
            return rates
        except TROUBLE as trouble:
            self.trouble = self.met = trouble
            return np.full_like(y, np.nan)
        except Exception as error:
            self.raised = error
            raise

    def _rates(self, t, y):
        x = y[:self.size]
        if not np.isfinite(x).all():            # after an earlier stage
            return np.full_like(y, np.nan)
        solver = self.rank.solver
        if self._quick[0] is not solver:
            self._quick = solver, self.compiled.quick_rates(
                solver, work=self.work)
        quick = self._quick[1]
        rates = None if quick is None else quick(t, y)
        if rates is not None:
            return rates
        outputs = self.compiled.evaluate(self.names, t, x)
        z, _ = solver.solve(outputs['W'], outputs['r'][:, 0])
        parts = [outputs['rates'][:, 0], z[:self.compiled.motion]]
        if not self.work:
            return np.concatenate(parts)
        rates = np.concatenate([*parts, [0.]])
        index = self.compiled.u_index
        rates[-1] = rate_of_work(outputs, x[index], rates[index])
        return rates

    def jacobian(self, t, y):
        slopes = self.feedback is None and self.compiled.slopes(
            self.rank.solver, self.work)
        if slopes:
            x = y[:self.size]
            try:
                z, _ = self.rank.solver.solve(*self.compiled.matrices(t, x))
                found = slopes(t, x, self.compiled.parameters(), z)
            except TROUBLE:
                found = None
            if found is not None:
                return np.pad(found[:, 1:], ((0, 0), (0, len(y) - self.size)))
        return self.differences(t, y)

    def differences(self, t, y):
        """The same from differences; SciPy's are poor at states of zero."""
        size = np.maximum(np.abs(y), SMALL*size_of(y))
        return approx_fprime(
            y, partial(self, t), np.sqrt(np.finfo(float).eps)*size)
