r"""Fit constants and initial values of a model to measurements.

With the outputs :math:`y_j(t_i; \theta)` and measured values of standard
deviation :math:`\sigma_j` the sum of :math:`(y_{ij} - \hat y_{ij})^2/
\sigma_j^2` is minimized by a trust-region method with exact derivatives. The
singular values :math:`s_k` of the derivatives by relative changes of the
unknowns say which combinations the measurements determine: the standard
deviation of a combination is :math:`1/s_k` [1]_. Those that are not determined
to a factor of two keep the values of the guess.

Gaps between segments are closed by an augmented Lagrangian: their multipliers
and weights grow from search to search.

References
==========

.. [1] K. Schittkowski, "Numerical Data Fitting in Dynamical Systems," Kluwer
   (2002), sections 2.3 and 3.1; L. Ljung, "System Identification," 2nd
   edition, Prentice Hall (1999), section 9.4.

"""
import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import least_squares

from ...errors import ConstrainedDynamicsError
from ..names import label
from ..outcome import Reason
from .identification import Identification
from .jumps import warn_of_jumps


# A combination of relative changes is determined if its standard deviation is
# below the first, and its effect above the second part of the largest one.
UNCERTAIN, NO_EFFECT = 1., 1e-7
# Searches among the combinations that are determined where they begin.
# Each ends when the sum of squares, in variances, falls by less than this, or
# after some evaluations.
SEARCHES, NOISE, EVALUATIONS = 20, 0.1, 30
# Parts of a direction that are named.
NAMED = 0.1
# Residuals, in standard deviations, that are no noise.
MISFIT = 3.
# Standard deviation of values that is assumed to begin with, as a part of
# their size, if none is given.
GUESSED = 0.01
# Weights of gaps relative to the states: the first, the factor from search to
# search, and the largest one. Relative gaps that are rounding.
FIRST, FACTOR, LAST = 10., 10., 1e7
CLOSED = 1e-9


class Fit:
    """The search for the least sum of squares, and what is known there."""

    def __init__(self, shooting, low, high, is_scaled):
        self.shooting, self.low, self.high = shooting, low, high
        self.is_scaled = is_scaled      # the deviation is estimated
        self.last = self.best = self.failure = None

    def point(self, values, moves):
        if self.last is None or not (
                np.array_equal(values, self.last.values)
                and np.array_equal(moves, self.last.moves)):
            self.last = self.shooting(values, moves)
        return self.last

    def sizes(self, point):
        """What changes of the unknowns are relative to."""
        size = np.maximum(np.abs(point.values), self.usual)
        return np.where(size, size, 1.)

    def noise(self, point):
        return np.sqrt(point.rest@point.rest/max(
            len(point.rest) - len(point.values), 1))

    def combinations(self, point):
        """Combinations of relative changes: a basis of the determined and
        others, as rows, and the spread of the first, as columns.
        """
        size, k = self.sizes(point), len(point.values)
        Z = self.shooting.null_space(point, size)
        full = np.append(size, self.shooting.sizes)
        _, sigma, vh = np.linalg.svd(np.linalg.qr(
            point.slopes*full@Z, mode='r'))
        sigma = np.append(sigma, np.zeros(len(vh) - len(sigma)))
        spread = self.noise(point) if self.is_scaled else 1.
        count = int(np.sum((sigma > NO_EFFECT*sigma.max(initial=0.)) & (
            sigma*UNCERTAIN > spread)))
        parts = Z[:k]@vh.T              # of the unknowns, as columns
        every, strength, _ = np.linalg.svd(parts[:, count:])
        lost = int(np.sum(strength > NAMED))
        return (every[:, lost:].T, every[:, :lost].T,
                parts[:, :count]*(spread/sigma[:count]))

    def search(self):
        """Find the least sum of squares; success, and why not."""
        try:
            if self.improve():
                return True, "Converged."
            reason = f"Not converged in {SEARCHES} searches"
            if self.failure:
                reason += f" (at other values: {self.failure})"
        except KeyboardInterrupt:
            if self.best is None:
                raise
            reason = "Interrupted"
        return False, (f"{reason}, after {self.shooting.count} integrations: "
                       "these are the best estimates so far.")

    def improve(self):
        """Search, near the guess where nothing is determined."""
        shooting, cost, last = self.shooting, np.inf, None
        values = np.clip(shooting.guess(), self.low, self.high)
        noise = GUESSED*np.sqrt(np.mean(np.concatenate([
            record.values[np.isfinite(record.values)]**2
            for record in shooting.records]))) if self.is_scaled else 1.
        shooting.place_nodes(values, noise)
        self.unit = noise or 1.
        count = len(shooting.sizes)
        self.best = self.point(values, np.zeros(count))
        self.usual = shooting.extent(self.best)
        multipliers, weight = np.zeros(count), FIRST*noise
        for _ in range(SEARCHES):
            basis = self.combinations(self.best)[0]
            if not len(basis) and not count:
                return True
            is_least = self.advance(basis, weight, multipliers)
            gaps = self.best.gaps/shooting.sizes
            multipliers = multipliers + weight**2*gaps
            weight = min(weight*FACTOR, LAST*noise)
            found, values = self.best.rest@self.best.rest, self.best.values
            is_free = len(basis) == len(values) and np.all(
                (self.low < values) & (values < self.high))
            if is_least and np.abs(gaps).max(initial=0.) < CLOSED and (
                    is_free or len(basis) == last and
                    found >= (1 - NOISE/len(self.best.rest))*cost):
                return True
            cost, last = found, len(basis)
        return False

    def advance(self, basis, weight, multipliers):
        """Search along a basis, keeping the best; whether it is least."""
        begin, scale, k = self.best, self.shooting.sizes, len(basis)
        self.failure = None
        steps = basis.T*self.sizes(begin)[:, None]

        def moved(a):
            return self.point(
                np.clip(begin.values + steps@a[:k], self.low, self.high),
                begin.moves + a[k:]*scale)

        def rows(a):
            try:
                return objective(moved(a))
            except ConstrainedDynamicsError as error:   # not that way
                if getattr(error, 'reason', None) is Reason.INTERRUPTED:
                    raise
                self.failure = error
                return np.full(len(begin.rest) + len(scale), np.inf)

        def objective(point):
            return np.append(point.rest, weight*point.gaps/scale
                             + multipliers/weight)/self.unit

        def slopes(a):
            self.best = point = moved(a)
            by = np.vstack([point.slopes, weight*point.gap_slopes
                            / scale[:, None]])/self.unit
            uphill, n = by.T@objective(point), len(point.values)
            held = (point.values <= self.low) & (uphill[:n] > 0) | (
                point.values >= self.high) & (uphill[:n] < 0)
            return np.hstack([by[:, :n]@(steps*~held[:, None]),
                              by[:, n:]*scale])

        found = least_squares(
            rows, np.zeros(k + len(scale)), slopes,
            ftol=NOISE/len(begin.rest), max_nfev=EVALUATIONS)
        return found.success and not self.failure

    def result(self, success, message):
        point, shooting = self.best, self.shooting
        _, lost, parts = self.combinations(point)
        size = self.sizes(point)
        covariance = (parts@parts.T)*np.outer(size, size)
        unknown = np.abs(lost).max(axis=0, initial=0.) > NAMED
        covariance[unknown, unknown] = np.inf
        noise, motions = self.noise(point), shooting.motions(point)
        for motion in motions:
            warn_of_jumps(motion.equations, shooting.unknown, motion.t,
                          motion.x, ())
        gap = np.abs(point.gaps/shooting.sizes).max(initial=0.)
        undetermined = combinations(shooting.unknown, lost)
        if undetermined:
            names = [label(item) for k, item in enumerate(shooting.unknown)
                     if unknown[k]]
            message += (" The measurements do not determine "
                        f"{', '.join(names)}; see `undetermined`.")
        moved = shooting.moved(motions)
        if moved:
            message += (" The `start` of a measurement does not satisfy the "
                        "constraints and was moved: " + ', '.join(
                            f"{name} by {far:.1g}"
                            for name, far in moved.items()) + '.')
        if gap > CLOSED:
            message += (f" The segments have gaps of {gap:.1g} of the states."
                        " Give more segments, or a better guess.")
        elif noise > MISFIT and not self.is_scaled:
            message += (f" The residuals are {noise:.2g} times the "
                        "`deviations`: the model is not that of the data, or "
                        "this is a local minimum. Give a better guess, or "
                        "`segments`.")
        return Identification(
            shooting.unknown, point.values, covariance, undetermined, noise,
            point.rest/(noise or 1.) if self.is_scaled else point.rest,
            tuple(shooting.records), motions, gap, motions[0].equations,
            shooting.count, success, message)


def combinations(unknown, rows):
    """Directions in echelon form, as dictionaries of their large parts."""
    if not len(rows):
        return ()
    _, R, order = qr(rows, pivoting=True)
    count, found = len(rows), []
    for row in np.hstack([np.eye(count), solve_triangular(
            R[:, :count], R[:, count:])]):
        row = row/np.linalg.norm(row)
        row = row*np.sign(row[np.argmax(np.abs(row))])
        found.append({unknown[k]: float(part) for k, part in sorted(
            zip(order, row)) if abs(part) > NAMED})
    return tuple(found)
