r"""Fit constants and initial values of a model to measurements.

With the outputs :math:`y_j(t_i; \theta)` and measured values of standard
deviation :math:`\sigma_j` the sum of :math:`(y_{ij} - \hat y_{ij})^2/
\sigma_j^2` is minimized by a trust-region method with exact derivatives. The
singular values :math:`s_k` of the derivatives by relative changes of the
unknowns say which combinations the measurements determine: the standard
deviation of a combination is :math:`1/s_k` [1]_. Those that are not determined
to a factor of two keep the values of the guess, so that no search goes astray
along them.

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
from scipy.optimize import least_squares

from ...errors import ConstrainedDynamicsError
from ..compiled import CompiledEquations, compile_equations
from ..manifold.consistent_state import consistent_state
from ..names import Names, array, label, number
from .sensitivities import sensitivities

__all__ = ['Identification', 'Measurement', 'identify']

# A combination of relative changes is determined if its standard deviation is
# below the first, and its effect above the second part of the largest one.
UNCERTAIN, NO_EFFECT = 1., 1e-7
# Searches among the combinations that are determined where they begin.
# They end when the sum of squares, in variances, falls by less than this.
SEARCHES, NOISE = 20, 0.1
# Parts of a direction that are named.
NAMED = 0.1


class Measurement(NamedTuple):
    """Values of outputs at some times of one motion.

    ``values`` maps expressions (states, accelerations, multipliers, ...) to
    arrays of shape (N,); ``nan`` where a value is missing. ``start`` are the
    initial values, those that are unknown as guesses, at ``t[0]``.
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
    residuals : ndarray
        Model less measurement, in standard deviations, of all values that are
        not missing.
    motions : tuple of Sensitivities
        One for each measurement, at its times.
    equations : CompiledEquations
        With the estimates.
    evaluations : int
        Number of integrations of each motion.

    """

    unknown: tuple
    values: np.ndarray
    covariance: np.ndarray
    undetermined: tuple
    residuals: np.ndarray
    motions: tuple
    equations: CompiledEquations
    evaluations: int

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
        return f'<Identification: {text}{rest}>'


def identify(model, measured, unknown, *, bounds=None, deviations=None,
             fixed=(), constants=None, inputs=None, rtol=1e-8, atol=1e-10,
             **options) -> Identification:
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
        constraints at the guess.

    """
    compiled = compile_equations(model, constants, inputs)
    known = Names((*compiled.states, *compiled.constants),
                  'state or constant')
    unknown = tuple(known.objects[k] for k in known.indices(
        unknown, 'unknown'))
    several = [measured] if isinstance(measured, Measurement) else measured
    fit = Fit(compiled, unknown, [
        checked(compiled, data, deviations) for data in several],
        fixed, {'rtol': rtol, 'atol': atol, **options}, deviations is None)
    low, high = fit.bounds(bounds or {})
    values = fit.search(np.clip(fit.guess(), low, high), low, high)
    return fit.result(values)


def checked(compiled, data, deviations):
    """A measurement with arrays: times, outputs, values, weights, start."""
    t = array(data.t, 't')
    outputs = tuple(data.values)
    values = np.transpose([array(v, label(key))
                           for key, v in data.values.items()])
    if t.ndim != 1 or values.shape != (len(t), len(outputs)):
        raise ValueError(
            f"The measured values have shape {values.shape[:1]} for {t.size} "
            "times. Give one value for each time, nan where it is missing.")
    if not np.isfinite(values).any():
        raise ValueError("All measured values are missing (nan). Give some.")
    weights = np.array([1/number((deviations or {}).get(key, 1.))
                        for key in outputs])
    return t, outputs, values, weights, compiled.names.vector(
        data.start, 'start')


class Fit:
    """Residuals and their derivatives as functions of the unknowns."""

    def __init__(self, compiled, unknown, measured, fixed, options,
                 is_scaled):
        self.compiled, self.unknown, self.measured = (
            compiled, unknown, measured)
        self.fixed, self.options = tuple(fixed), options
        self.places = [compiled.states.index(item) if item in compiled.states
                       else None for item in unknown]
        self.last, self.count = (None, None), 0
        self.is_scaled = is_scaled      # the deviation is estimated

    def guess(self):
        """Values at the beginning."""
        start, compiled = self.measured[0][4], self.compiled
        p = dict(zip(compiled.constants, compiled.parameters()))
        return np.array([p[item] if place is None else start[place]
                         for item, place in zip(self.unknown, self.places)])

    def sizes(self, values):
        return np.where(values, np.abs(values), 1.)

    def bounds(self, given):
        names = Names(self.unknown, 'unknown')
        ends = np.array([[-np.inf, np.inf]]*len(names)).T
        for key, pair in given.items():
            ends[:, names.index(key)] = pair
        return ends

    def __call__(self, values):
        """Weighted residuals and derivatives; the last ones are kept."""
        key = values.tobytes()
        if self.last[0] != key:
            self.last = key, self._evaluated(values)
        return self.last[1]

    def _evaluated(self, values):
        self.count += 1
        rests, slopes, self.motions = [], [], []
        for data in self.measured:
            motion = self._motion(values, data)
            t, outputs, wanted, weights, _ = data
            found, by = motion.of(outputs)
            there = np.isfinite(wanted)
            rests.append(((found - wanted)*weights)[there])
            slopes.append((by*weights[:, None])[there])
            self.motions.append(motion)
        return np.concatenate(rests), np.concatenate(slopes)

    def _motion(self, values, data):
        """A motion with its derivatives at the measured times."""
        t, _, _, _, start = data
        constants = {item: value for item, place, value in zip(
            self.unknown, self.places, values) if place is None}
        compiled = self.compiled.with_values(constants)
        start = start.copy()
        for place, value in zip(self.places, values):
            if place is not None:
                start[place] = value
        if compiled.has('holonomic') or compiled.has('velocity'):
            held = {*compiled.names.indices(self.fixed, 'fixed'), *(
                place for place in self.places if place is not None)}
            start = consistent_state(
                compiled, start, [compiled.states[k] for k in held], t[0])
        motion = sensitivities(
            compiled, (t[0], t[-1]), start, self.unknown, fixed=self.fixed,
            t_eval=t, **self.options)
        if len(motion.t) < len(t):
            raise ConstrainedDynamicsError(
                f"The motion ends at t = {motion.t[-1]:g}, before its last "
                f"measurement at t = {t[-1]:g}. "
                f"{motion.trajectories[0].message}")
        return motion

    def combinations(self, values):
        """Determined and other combinations of relative changes, as rows, and
        the standard deviations of the first.
        """
        rest, slopes = self(values)
        _, sigma, vh = np.linalg.svd(np.linalg.qr(
            slopes*self.sizes(values), mode='r'))
        sigma = np.append(sigma, np.zeros(len(vh) - len(sigma)))
        spread = np.sqrt(rest@rest/max(
            len(rest) - len(values), 1)) if self.is_scaled else 1.
        count = int(np.sum((sigma > NO_EFFECT*sigma.max(initial=0.)) & (
            sigma*UNCERTAIN > spread)))
        return vh[:count], vh[count:], spread/sigma[:count]

    def search(self, values, low, high):
        """The best values, near those given where nothing is determined."""
        cost, last = np.inf, None
        for _ in range(SEARCHES):
            sizes, (basis, _, _) = self.sizes(values), self.combinations(
                values)

            def moved(a, start=values, steps=basis.T*sizes[:, None]):
                return np.clip(start + steps@a, low, high)

            def slopes(a, steps=basis.T*sizes[:, None]):
                at = moved(a)
                inside = (low < at) & (at < high)
                return self(at)[1]@(steps*inside[:, None])

            if not len(basis):
                break
            little = NOISE/len(self(values)[0])
            found = least_squares(lambda a: self(moved(a))[0],
                                  np.zeros(len(basis)), slopes, ftol=little)
            values = moved(found.x)
            if len(basis) == len(values) or len(basis) == last and (
                    found.cost >= (1 - little)*cost):
                break
            cost, last = found.cost, len(basis)
        return values

    def result(self, values):
        """Estimates, and what is not determined."""
        rest, _ = self(values)
        sizes = self.sizes(values)
        basis, lost, deviations = self.combinations(values)
        parts = basis.T*deviations
        covariance = (parts@parts.T)*np.outer(sizes, sizes)
        unknown = np.abs(lost).max(axis=0, initial=0.) > NAMED
        covariance[unknown, unknown] = np.inf
        return Identification(
            self.unknown, values, covariance,
            tuple(combination(self.unknown, row) for row in lost),
            rest, tuple(self.motions), self.motions[0].equations, self.count)


def combination(unknown, row):
    """The large parts of a direction, the largest one positive."""
    row = row*np.sign(row[np.argmax(np.abs(row))])
    return {item: float(part) for item, part in zip(unknown, row)
            if abs(part) > NAMED}
