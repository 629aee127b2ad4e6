r"""Fit constants and initial values of a model to measurements.

With the outputs :math:`y_j(t_i; \theta)` and measured values of standard
deviation :math:`\sigma_j` the sum of :math:`(y_{ij} - \hat y_{ij})^2/
\sigma_j^2` is minimized by a trust-region method with exact derivatives. The
singular values :math:`s_k` of the derivatives by relative changes of the
unknowns say which combinations the measurements determine: the standard
deviation of a combination is :math:`1/s_k` [1]_. Those that are not determined
to a factor of two keep the values of the guess, so that no search goes astray
along them. Changes of constants are relative to their values, at least a tenth
of the guess; changes of initial values to the size of the state in the motion.

Gaps between segments are closed by an augmented Lagrangian: their multipliers
and weights grow from search to search.

References
==========

.. [1] K. Schittkowski, "Numerical Data Fitting in Dynamical Systems," Kluwer
   (2002), sections 2.3 and 3.1; L. Ljung, "System Identification," 2nd
   edition, Prentice Hall (1999), section 9.4.

"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import least_squares

from ...errors import ConstrainedDynamicsError
from ..compiled import CompiledEquations, compile_equations
from ..names import Names, array, label
from ..trajectory import Reason
from .shooting import Record, Shooting

__all__ = ['Identification', 'Measurement', 'identify']

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


class Measurement(NamedTuple):
    """Values of outputs at some times of one motion.

    ``values`` maps outputs to arrays of shape (N,), as a dictionary or a data
    frame: expressions in states, accelerations, multipliers, ..., or names of
    states and accelerations; ``nan`` where a value is missing. ``start`` are
    the initial values, those that are unknown as guesses, at ``t[0]``.
    """

    t: Sequence
    values: Mapping
    start: Mapping | Sequence


@dataclass(frozen=True, eq=False)
class Identification:
    """The result of :func:`identify`; ``result[m]`` is an estimate.

    Attributes
    ==========

    unknown : tuple of SymPy objects
    values : ndarray, shape (k,)
    covariance : ndarray, shape (k, k)
        Of the estimates: infinite for those that are not determined to a
        factor of two.
    deviation : ndarray, shape (k,)
        Standard deviations of the estimates.
    undetermined : tuple of dict
        Combinations of the unknowns that the measurements do not determine:
        unknown -> relative change.
    noise : float
        Estimated standard deviation of the measured values; relative to
        ``deviations`` where these are given, and then near 1 if the model
        fits.
    residuals : ndarray
        Model less measurement, in standard deviations, of all values that are
        not missing.
    measured : tuple of Record
        The measurements as arrays ``t``, ``outputs``, ``values``, ...
    motions : tuple of Sensitivities
        One for each measurement, at its times.
    gap : float
        Largest gap between segments, relative to the states.
    equations : CompiledEquations
        With the estimates.
    evaluations : int
        Number of integrations of each motion.
    success : bool
        Whether the search has converged.
    message : str
        Why the search ended, and doubts about the result. Without
        convergence the estimates are the best ones so far, and the covariance
        is that of the equations linearized there.

    """

    unknown: tuple
    values: np.ndarray
    covariance: np.ndarray
    undetermined: tuple
    noise: float
    residuals: np.ndarray
    measured: tuple
    motions: tuple
    gap: float
    equations: CompiledEquations
    evaluations: int
    success: bool
    message: str

    def __getitem__(self, key):
        return float(self.values[Names(self.unknown, 'unknown').index(key)])

    @property
    def deviation(self):
        return np.sqrt(np.diag(self.covariance))

    def __repr__(self):
        text = ', '.join(
            f'{label(item)} = {value:.6g} ± {error:.2g}' for item, value, error
            in zip(self.unknown, self.values, self.deviation))
        count = len(self.undetermined)
        rest = f'; {count} combinations not determined' if count else ''
        rest += '' if self.success else f'. {self.message}'
        return f'<Identification: {text}{rest}>'


def identify(model, measured, unknown, *, bounds=None, deviations=None,
             fixed=(), segments=1, constants=None, inputs=None, rtol=1e-8,
             atol=1e-10, **options) -> Identification:
    """Fit constants and initial values to measured motions.

    Examples
    ========

    The gravity and the friction of a pendulum from its position:

    >>> import numpy as np
    >>> from sympy import cos, sin, symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.numeric import Measurement, identify, simulate
    >>> m, g, l, c = symbols('m g l c')
    >>> q = dynamicsymbols('q')
    >>> pendulum = UdwadiaKalabaMethod(
    ...     m*l**2*q.diff()**2/2 + m*g*l*cos(q), [q],
    ...     nonideal_forces=[-c*q.diff()])
    >>> motion = simulate(pendulum, 4, [0.6, 0], t_eval=101, constants={
    ...     m: 1, g: 9.81, l: 1, c: 0.1})
    >>> data = Measurement(motion.t, {sin(q): np.sin(motion[q])}, [0.6, 0])
    >>> found = identify(pendulum, data, [g, c],
    ...                  constants={m: 1, g: 9, l: 1, c: 0.3})
    >>> round(found[g], 6), round(found[c], 6)
    (9.81, 0.1)

    Only the ratio of friction and mass is determined:

    >>> found = identify(pendulum, data, [m, c],
    ...                  constants={m: 2, g: 9.81, l: 1, c: 0.3})
    >>> combination, = found.undetermined
    >>> {str(item): round(part, 3) for item, part in combination.items()}
    {'m': 0.707, 'c': 0.707}

    Parameters
    ==========

    model : CompiledEquations
        Or what :func:`~sympy_constrained.numeric.compile_equations` takes,
        with its ``constants`` (those that are unknown as guesses) and
        ``inputs``.
    measured : Measurement or sequence of them
        Several motions share the constants; unknown initial values are those
        of every motion.
    unknown : sequence
        Constants, and states for their initial values, by object or name.
    bounds : mapping, optional
        Unknown -> pair of bounds.
    deviations : mapping, optional
        Measured expression -> standard deviation. Without it that of all
        values is equal, and estimated.
    fixed : iterable of states, optional
        States whose initial values do not change with the unknowns; the
        constraints have to determine the others.
    segments : int, optional
        Number of segments of each motion, for long, unstable or chaotic
        records and poor guesses: the states between them are found, too, and
        the gaps closed. A segment should have more values than unknown
        states, and last no longer than the motion can be predicted.
    rtol, atol, options
        As for :func:`~sympy_constrained.numeric.simulate`.

    Returns
    =======

    Identification

    Raises
    ======

    ValueError
        If measurements have wrong shapes or no values, or names are unknown.
    ConstrainedDynamicsError
        If a motion ends before its measurements, or contradicts the
        constraints, at the guess. Values where that happens later are
        avoided.

    """
    compiled = compile_equations(model, constants, inputs)
    known = Names((*compiled.states, *compiled.constants),
                  'state or constant')
    places = known.indices(unknown, 'unknown')
    unknown = tuple(known.objects[k] for k in dict.fromkeys(places))
    several = [measured] if isinstance(measured, Measurement) else measured
    records = [checked(compiled, data) for data in several]
    outputs = Names(dict.fromkeys(
        item for record in records for item in record.outputs),
        'measured output')
    sizes = outputs.vector(deviations or {}, 'deviations', [1.]*len(outputs))
    if (sizes <= 0).any():
        raise ValueError("`deviations` must be positive.")
    records = [record._replace(weights=1/sizes[outputs.indices(
        record.outputs, 'values')]) for record in records]
    if not 1 <= segments <= min(len(record.t) for record in records)/2:
        raise ValueError(
            f"`segments` is {segments}; each needs two times at least. Give "
            "fewer segments.")
    low, high = limits(unknown, bounds or {})
    fit = Fit(Shooting(compiled, unknown, records, fixed, {
        'rtol': rtol, 'atol': atol, **options}, segments),
        low, high, deviations is None)
    return fit.result(*fit.search())


def checked(compiled, data):
    """A measurement as a :class:`Record`."""
    t, named = array(data.t, 't'), Names(
        (*compiled.states, *compiled.unknowns), 'state or acceleration')
    outputs = tuple(
        named.objects[named.indices([key], 'values')[0]]
        if isinstance(key, str) else key for key in data.values)
    values = np.transpose([array(v, label(key))
                           for key, v in data.values.items()])
    if t.ndim != 1 or values.shape != (len(t), len(outputs)):
        raise ValueError(
            f"The measured values have shape {values.shape[:1]} for {t.size} "
            "times. Give one value for each time, nan where it is missing.")
    if not np.isfinite(values).any():
        raise ValueError("All measured values are missing (nan). Give some.")
    return Record(t, outputs, values, None, compiled.names.vector(
        data.start, 'start'))


def limits(unknown, bounds):
    """Lower and upper bounds of all unknowns."""
    low, high = np.full((2, len(unknown)), [[-np.inf], [np.inf]])
    for place, pair in zip(Names(unknown, 'unknown').indices(
            bounds, 'bounds'), bounds.values()):
        low[place], high[place] = pair
    if not (low < high).all():
        raise ValueError(
            "`bounds`: give pairs, the lower bound first and below the upper "
            "one.")
    return low, high


class Fit:
    """The search for the least sum of squares, and what is known there."""

    def __init__(self, shooting, low, high, is_scaled):
        self.shooting, self.low, self.high = shooting, low, high
        self.is_scaled = is_scaled      # the deviation is estimated
        self.last = self.best = self.failure = None

    def point(self, values, moves):
        """The point of the shooting; the last one is kept."""
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
        """Estimated standard deviation of the residuals."""
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
        """Move to the least sum of squares; whether it converged, and why
        not.
        """
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
        """Least squares of residuals and gaps along a basis, by an augmented
        Lagrangian; keeps the best point. Whether it is the least one.
        """
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
                             + multipliers/weight)

        def slopes(a):
            self.best = point = moved(a)
            by = np.vstack([point.slopes, weight*point.gap_slopes
                            / scale[:, None]])
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
        """Estimates, and what is not determined."""
        point, shooting = self.best, self.shooting
        _, lost, parts = self.combinations(point)
        size = self.sizes(point)
        covariance = (parts@parts.T)*np.outer(size, size)
        unknown = np.abs(lost).max(axis=0, initial=0.) > NAMED
        covariance[unknown, unknown] = np.inf
        noise, motions = self.noise(point), shooting.motions(point)
        gap = np.abs(point.gaps/shooting.sizes).max(initial=0.)
        undetermined = combinations(shooting.unknown, lost)
        if undetermined:
            names = [label(item) for k, item in enumerate(shooting.unknown)
                     if unknown[k]]
            message += (" The measurements do not determine "
                        f"{', '.join(names)}; see `undetermined`.")
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
    """Directions as dictionaries of their large parts.

    Each but one of the unknowns that occur in a direction is in no other one
    where that is possible: the directions are in echelon form.
    """
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
