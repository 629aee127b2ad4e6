r"""Outputs of motions in segments, and their derivatives, for a fit.

A long or unstable record is cut into segments. The state :math:`s_j` at the
beginning of each but the first is unknown, too, and the gaps between the
segments have to vanish (multiple shooting [1]_). Only changes of constants and
of the :math:`s_j` in the null space of the derivatives of the gaps keep the
motion continuous; the covariance is that of these changes.

On constraints a state is that with the components :math:`w = T^T(s -
\bar s)` in the tangent space at a state :math:`\bar s` nearby.

References
==========

.. [1] H. G. Bock, "Recent advances in parameter identification techniques for
   O.D.E.," in P. Deuflhard and E. Hairer (eds.), Numerical Treatment of
   Inverse Problems, Birkhaeuser (1983), 95-121.

"""
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import least_squares

from ...errors import ConstrainedDynamicsError, ConstraintError
from ..integrate.events import event_functions
from ..manifold.consistent_state import consistent_state, violations
from ..manifold.projection import distances, size_of
from ..outcome import Reason
from ..tolerances import TOLERANCE, TYPED
from .sensitivities import Sensitivities, integrated, start_derivatives


# Corrections to a state on the constraints, and when they are rounding.
CORRECTIONS, ROUNDING = 20, 1e-12
# The part of the guess below which a constant is like zero.
SMALL = 0.1


class Record(NamedTuple):
    """A measurement, checked: arrays, and the start as a state."""

    t: np.ndarray
    outputs: tuple
    values: np.ndarray
    weights: np.ndarray
    start: np.ndarray


class Point(NamedTuple):
    """What is known at some values of the unknowns.

    ``slopes`` and ``gap_slopes`` are derivatives by the unknowns, then by the
    changes of the states at the nodes.
    """

    values: np.ndarray
    moves: np.ndarray
    rest: np.ndarray
    slopes: np.ndarray
    gaps: np.ndarray
    gap_slopes: np.ndarray
    pieces: tuple


class Node:
    """The state where a segment begins, in a tangent space at a guess."""

    def __init__(self, compiled, t, x):
        self.t, self.x = t, x
        self.T = compiled.tangent_basis(t, x)

    def state(self, compiled, move, constants):
        """The state on the constraints; derivatives by constants and move."""
        x, slopes = self.x + self.T@move, compiled.jacobian('residuals')
        for _ in range(CORRECTIONS):
            K = np.vstack([slopes(self.t, x), self.T.T])
            step = np.linalg.lstsq(K, np.concatenate([
                compiled.residuals(self.t, x),
                self.T.T@(x - self.x) - move]), rcond=None)[0]
            x = x - step
            if np.abs(step).max() <= ROUNDING*max(1., np.abs(x).max()):
                break
        else:
            raise ConstraintError(
                f"A segment at t = {self.t:g} cannot begin on the "
                "constraints. Give a better guess, or other `segments`.")
        by = compiled.jacobian('residuals', constants)(self.t, x)
        width = len(move)
        return x, np.linalg.lstsq(K, np.block([
            [-by, np.zeros((len(by), width))],
            [np.zeros((width, len(constants))), np.eye(width)]]),
            rcond=None)[0]


class Shooting:
    """Residuals, gaps and their derivatives as functions of the unknowns."""

    def __init__(self, compiled, unknown, records, fixed, options, segments,
                 events):
        self.compiled, self.unknown, self.records = (
            compiled, unknown, records)
        self.fixed, self.options, self.events = tuple(fixed), options, events
        self.places = [compiled.states.index(item) if item in compiled.states
                       else None for item in unknown]
        self.constants = [k for k, place in enumerate(self.places)
                          if place is None]
        self.cuts = [np.array_split(np.arange(len(record.t)), segments)
                     for record in records]
        self.nodes = [[] for _ in records]
        self.count = 0
        self._check_starts()

    def _check_starts(self):
        """Raise if a start that no unknown moves violates constraints."""
        compiled, names = self.compiled, self._names()
        if self.fixed or len(names) < len(self.places) or not (
                compiled.residual_names):
            return
        for record in self.records:
            t, x = record.t[0], record.start
            found = distances(compiled, t, x)
            if not found.is_within(TOLERANCE) and not np.any(
                    compiled.jacobian('residuals', names)(t, x)):
                raise ConstraintError(
                    "The `start` of a measurement violates "
                    f"{violations(compiled, found, TOLERANCE)[1]}. Correct it "
                    "with `consistent_state`, add states to `unknown`, or "
                    "name those that are known in `fixed`.")

    def moved(self, motions):
        """State -> how far constraints moved it from a given start."""
        moved, names = {}, self.compiled.names.labels
        for record, motion in zip(self.records, motions):
            far = np.abs(motion.x[0] - record.start)
            for k in np.flatnonzero(far > TYPED*size_of(record.start)):
                if k not in self.places:
                    moved[names[k]] = max(moved.get(names[k], 0.), far[k])
        return moved

    def guess(self):
        start, compiled = self.records[0].start, self.compiled
        p = dict(zip(compiled.constants, compiled.parameters()))
        return np.array([p[item] if place is None else start[place]
                         for item, place in zip(self.unknown, self.places)])

    def with_values(self, values):
        return self.compiled.with_values(
            {self.unknown[k]: values[k] for k in self.constants})

    def place_nodes(self, values, noise):
        """Put nodes near their measurements, or the segment before."""
        compiled, self.sizes = self.with_values(values), np.zeros(0)
        for record, cuts, nodes in zip(self.records, self.cuts, self.nodes):
            x, dx = self._start(compiled, values, record)
            motion = self._piece(compiled, record, cuts, 0, x, dx)[0]
            for j in range(1, len(cuts)):
                node = Node(compiled, record.t[cuts[j][0]], motion.x[-1])
                nodes.append(node)
                extent = np.abs(motion.x).max(axis=0)
                size = np.linalg.norm(node.T*np.where(
                    extent, extent, 1.)[:, None], axis=0)
                motion, node.x = self._settled(
                    compiled, record, cuts, j, node, size, noise)
                node.T = compiled.tangent_basis(node.t, node.x)
                self.sizes = np.append(self.sizes, size)

    def _settled(self, compiled, record, cuts, j, node, size, noise):
        """The motion from a node that is fitted to its own segment."""
        kept = {}

        def at(a):
            key = a.tobytes()
            if key not in kept:
                x, dx = node.state(compiled, a*size, self._names())
                motion, rest, slopes = self._piece(
                    compiled, record, cuts, j, x, dx)
                kept[key] = x, motion, np.append(rest/noise, a), np.vstack([
                    slopes[:, len(self.constants):]*size/noise,
                    np.eye(len(size))])
            return kept[key]

        count = len(at(np.zeros(len(size)))[2])

        def rows(a):
            try:
                return at(a)[2]
            except ConstrainedDynamicsError as error:   # not that way
                if getattr(error, 'reason', None) is Reason.INTERRUPTED:
                    raise
                return np.full(count, np.inf)

        found = least_squares(rows, np.zeros(len(size)), lambda a: at(a)[3],
                              ftol=1e-2, max_nfev=10)
        x, motion, *_ = at(found.x)
        return motion, x

    def __call__(self, values, moves):
        self.count += 1
        compiled, k, place = self.with_values(values), len(values), 0
        width = k + len(moves)
        rests, slopes, gaps, gap_slopes, pieces = [], [], [], [], []

        def spread(part, columns):
            full = np.zeros((len(part), width))
            full[:, columns] = part
            return full

        for record, cuts, nodes in zip(self.records, self.cuts, self.nodes):
            x, dx = self._start(compiled, values, record)
            columns = np.arange(k)
            for j in range(len(cuts)):
                motion, rest, by = self._piece(compiled, record, cuts, j, x,
                                               dx)
                rests.append(rest)
                slopes.append(spread(by, columns))
                pieces.append((motion, columns, len(cuts[j]), j))
                if j < len(nodes):
                    node = nodes[j]
                    new = np.arange(place, place + node.T.shape[1])
                    place += len(new)
                    gaps.append(node.T.T@(motion.x[-1] - node.x) - moves[new])
                    gap = spread(node.T.T@motion.dx[-1], columns)
                    gap[:, k + new] -= np.eye(len(new))
                    gap_slopes.append(gap)
                    columns = np.append(self.constants, k + new).astype(int)
                    x, dx = node.state(compiled, moves[new], self._names())
        return Point(
            values, moves, np.concatenate(rests), np.concatenate(slopes),
            np.concatenate(gaps or [np.zeros(0)]),
            np.concatenate(gap_slopes or [np.zeros((0, width))]),
            tuple(pieces))

    def _names(self):
        return [self.unknown[k] for k in self.constants]

    def _start(self, compiled, values, record):
        start = record.start.copy()
        for place, value in zip(self.places, values):
            if place is not None:
                start[place] = value
        if compiled.has('holonomic') or compiled.has('velocity'):
            held = {*compiled.names.indices(self.fixed, 'fixed'), *(
                place for place in self.places if place is not None)}
            start = consistent_state(
                compiled, start, [compiled.states[k] for k in held],
                record.t[0])
        return start, start_derivatives(
            compiled, record.t[0], start, self.unknown, self.fixed)

    def _piece(self, compiled, record, cuts, j, x, dx):
        """A segment, its residuals, and their derivatives."""
        places, last = cuts[j], j == len(cuts) - 1
        times = record.t[places[0]:places[-1] + (1 if last else 2)]
        by = self.unknown if j == 0 else (
            *self._names(), *compiled.states[:dx.shape[1] - len(
                self.constants)])
        motion = integrated(compiled, (times[0], times[-1]), x, dx, by,
                            {**self.options, 't_eval': times},
                            event_functions(self.events, compiled))
        if Reason.INTERRUPTED in (part.reason for part in motion.trajectories):
            raise KeyboardInterrupt
        if len(motion.t) < len(times):
            raise ConstrainedDynamicsError(
                f"The motion ends at t = {motion.t[-1]:g}, before its last "
                f"measurement at t = {times[-1]:g}. "
                f"{motion.trajectories[0].message}")
        found, slopes = motion.of(record.outputs)
        wanted, count = record.values[places], len(places)
        there = np.isfinite(wanted)
        return (motion, ((found[:count] - wanted)*record.weights)[there],
                (slopes[:count]*record.weights[:, None])[there])

    def extent(self, point):
        """Least sizes of unknowns: parts of the guess, states in motion."""
        largest = np.max([np.abs(motion.x).max(axis=0)
                          for motion, *_ in point.pieces], axis=0)
        return np.array([
            SMALL*abs(value) if place is None else largest[place]
            for value, place in zip(point.values, self.places)])

    def null_space(self, point, sizes):
        """Orthonormal relative changes that keep the motion continuous."""
        C = point.gap_slopes*np.append(sizes, self.sizes)
        return qr((C/self.sizes[:, None]).T)[0][:, len(C):] if len(C) else (
            np.eye(len(sizes)))

    def motions(self, point):
        """A motion for each record, with derivatives by the unknowns."""
        k, joined = len(point.values), []
        C = point.gap_slopes
        along = np.vstack([np.eye(k), -solve_triangular(
            C[:, k:], C[:, :k], lower=True)])
        for motion, columns, count, j in point.pieces:
            part = (motion.t[:count], motion.x[:count],
                    (motion.dx@along[columns])[:count], motion.trajectories)
            if j == 0:
                joined.append([part])
            else:
                joined[-1].append(part)
        return tuple(Sensitivities(
            motion.equations, self.unknown, *map(np.concatenate, arrays),
            sum(trajectories, ())) for *arrays, trajectories in (
                zip(*parts) for parts in joined))
