"""What vanishes in a steady motion (:doc:`/theory/numbers`)."""
from contextlib import suppress

import numpy as np
from scipy.optimize import least_squares

from ...errors import (
    ConstrainedDynamicsError, NotFiniteError, UnsupportedFeatureError)
from ...graph import Graph, jacobian
from ..codegen.native import with_given
from ..names import label
from ..tolerances import ROUNDING


# Newton steps, and evaluations of a search by least squares.
STEPS, TRIES = 30, 300
# Singular values below this part of the largest one are zero.
NULL = 1e-9
# Distance of the point beside, and of further starts of a search, in sizes of
# the unknowns.
BESIDE, ASIDE = 0.1, 0.3
# Parts of the sizes of the unknowns by which the speeds move to find jumps of
# forces: a jump keeps more than half its size, and is larger than ``NULL``.
NEAR = 1e-6, 1e-10
# Relative distance at which a neighbour in the family is sought, and the share
# of it below which the solution found there is the same motion.
APART, SAME = 1e-3, 1e-6


def cyclic_coordinates(equations):
    """Positions of states that enter only rates of other such states."""
    graph = equations.graph
    used = set(graph.symbols(
        [name for name in ('W', 'r', 'holonomic', 'velocity', 'upper')
         if name in graph.outputs]))
    g, out = graph.load(None, ('rates',))
    masks = [g.mask([g.input(x, dynamic=True)]) for x in equations.states]
    needs = [g.depends[abs(rate)] for rate, in out['rates']]
    found = {k for k in range(len(needs)) if equations.states[k] not in used}
    while True:
        needed = {k for k in found if any(
            need & masks[k] for i, need in enumerate(needs) if i not in found)}
        if not needed:
            return sorted(found)
        found -= needed


class Conditions:
    """The conditions as a function of states, multipliers and constants.

    A point is one array of the states, the multipliers and all constants.
    ``columns`` are the positions in it that are unknown. ``free`` are
    positions of constants that may become unknowns. ``sizes`` are
    those of the states, by which their changes are scaled.
    """

    def __init__(self, compiled, cyclic, at_rest=False, free=(), sizes=1.):
        self.compiled, self.cyclic, self.at_rest = compiled, cyclic, at_rest
        self.free, self.sizes = free, sizes
        self.count = len(compiled.states)
        self.size = self.count + len(compiled.multiplier_names)
        self.places = np.append(np.arange(self.size), [
            self.size + k for k in free]).astype(int)
        held = {*cyclic, *(range(self.count) if at_rest else ())}
        held -= {*compiled.q_index.tolist()} if at_rest else set()
        self.columns = np.array(
            [k for k in self.places if k not in held], dtype=int)
        key = 'steady', tuple(cyclic), tuple(free)
        graph, self.rows = compiled.kept(
            (*key, 'graph'), lambda: conditions_graph(compiled, cyclic, free))
        self._function = compiled.kept(key, lambda: compiled.group(
            graph, ('value', 'slopes'), compiled.multiplier_names))
        self.graph = graph

    def __reduce__(self):
        return Conditions, (self.compiled, self.cyclic, self.at_rest,
                            self.free, self.sizes)

    @property
    def symbols(self):
        compiled = self.compiled
        return (*compiled.states, *compiled.multiplier_names,
                *compiled.constants)

    def parts(self, point):
        """States, multipliers and constants."""
        return np.split(point, [self.count, self.size])

    def __call__(self, point):
        """Values, shape (m,), and derivatives by ``places``."""
        x, multipliers, p = self.parts(point)
        out = self._function(0., x, p, multipliers.tolist())
        return out['value'][:, 0], out['slopes']

    def trial(self, point):
        """The values, infinite where the equations have none."""
        try:
            return self(point)[0]
        except NotFiniteError:
            return np.full(len(self.rows), np.inf)

    def scales(self, point, columns):
        """Norms of the derivatives here or beside, and sizes of the unknowns.
        """
        sizes = np.ones(len(point))
        sizes[:self.count] = self.sizes
        lam = slice(self.count, self.size)
        sizes[lam] = np.maximum(
            np.abs(point[lam]).max(initial=0.), self.effects(point))
        constants = np.abs(self.compiled.parameters())  # also beside zero
        sizes[self.size:] = np.where(constants, constants, 1.)
        beside = point.copy()
        beside[columns] += BESIDE*(sizes*np.cos(
            2.4*np.arange(1, len(point) + 1)))[columns]

        def norms_at(at):
            return np.linalg.norm(
                self.slopes(at, columns)*sizes[columns], axis=1)

        norms = norms_at(point)
        with suppress(NotFiniteError):      # outside the domain
            norms = np.maximum(norms, norms_at(beside))
        return np.where(norms > 0, norms, 1.), sizes[columns]

    def effects(self, point):
        """Multipliers that act like changes of the states by their sizes."""
        slopes = np.abs(self.slopes(point, np.arange(self.size)))
        norms = np.linalg.norm(
            slopes[:, :self.count]*self.sizes, axis=1, keepdims=True)
        with np.errstate(all='ignore'):
            sizes = norms/slopes[:, self.count:]
        sizes = np.where((sizes > 0) & np.isfinite(sizes), sizes, np.inf).min(
            axis=0, initial=np.inf)
        return np.where(np.isfinite(sizes), sizes, 1.)

    def slopes(self, point, columns):
        return self(point)[1][:, np.searchsorted(self.places, columns)]

    def jumps(self, point):
        """Names of the conditions that jump where speeds pass this point."""
        norms, _ = self.scales(point, self.places)
        speeds = np.cos(2.4*np.arange(1, self.count + 1))*np.maximum(
            self.sizes, np.abs(point[:self.count]))
        speeds[self.compiled.q_index] = 0.
        speeds = np.append(speeds, np.zeros(len(point) - self.count))
        with np.errstate(invalid='ignore'):     # outside the domain
            far, near = (np.abs(self.trial(point + step*speeds)
                                - self.trial(point - step*speeds))/norms
                         for step in NEAR)
        return [self.rows[k] for k in np.flatnonzero(
            (near > NULL) & (near > far/2) & np.isfinite(near))]

    def solved(self, point, columns, row=None, right=0.):
        """The nearest zero by Newton steps of least norm, or None.

        ``row @ (relative change of the unknowns)`` shall be ``right``.
        """
        norms, sizes = self.scales(point, columns)
        start, last = point, np.inf
        for _ in range(STEPS):
            value = self.trial(point)/norms
            if not np.isfinite(value).all():
                return None
            slopes = self.slopes(point, columns)*sizes/norms[:, None]
            if row is not None:
                moved = (point - start)[columns]/sizes
                value = np.append(value, row@moved - right)
                slopes = np.vstack([slopes, row])
            far = np.abs(value).max(initial=0.)
            if far <= ROUNDING and far > last/4:
                return point
            last = far
            point = point.copy()
            point[columns] -= sizes*np.linalg.lstsq(
                slopes, value, rcond=NULL)[0]
        return point if far <= ROUNDING else None

    def nearest(self, point, columns):
        """The point of least squares."""
        norms = self.scales(point, columns)[0]

        def at(values):
            moved = point.copy()
            moved[columns] = values
            return moved

        found = least_squares(
            lambda values: self.trial(at(values))/norms, point[columns],
            lambda values: self.slopes(at(values), columns)/norms[:, None],
            x_scale='jac', xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=TRIES)
        return at(found.x)

    def starts(self, point, columns, count):
        """The guess, then points of least squares, from it and beside it."""
        yield point
        if not len(columns):
            return
        yield self.nearest(point, columns)
        random, (_, sizes) = np.random.default_rng(0), self.scales(
            point, columns)
        for _ in range(count):
            beside = point.copy()
            beside[columns] += ASIDE*sizes*random.uniform(-1, 1, len(columns))
            with suppress(NotFiniteError):
                yield self.nearest(beside, columns)

    def directions(self, point, columns):
        """Directions of the family in ``columns``, orthonormal in states and
        constants, shape (d, k).
        """
        norms, sizes = self.scales(point, columns)
        _, sigma, vh = np.linalg.svd(
            self.slopes(point, columns)*sizes/norms[:, None])
        rank = int(np.sum(sigma > NULL))
        null = vh[rank:]
        seen = (columns < self.count) | (columns >= self.size)
        left, sizes, _ = np.linalg.svd(null[:, seen], full_matrices=False)
        left, sizes = left[:, sizes > NULL**0.5], sizes[sizes > NULL**0.5]
        return (left/sizes).T@null

    def is_exceptional(self, point, columns):
        """Whether neighbours in the family have fewer directions, or there
        are none.
        """
        found = self.directions(point, columns)
        if not len(found):
            return False
        beside, sizes = point.copy(), self.scales(point, columns)[1]
        beside[columns] += APART*sizes*found.sum(axis=0)
        beside = self.solved(beside, columns)
        return (beside is None
                or np.abs((beside - point)[columns]/sizes).max() < SAME*APART
                or len(self.directions(beside, columns)) < len(found))


def conditions_graph(compiled, cyclic, free):
    """A graph and names of its rows; ``inertia`` is W by accelerations."""
    equations = compiled.equations
    if compiled.called:
        raise UnsupportedFeatureError(
            "Tables and Python functions have no derivatives on the graph, "
            "which steady motions need. Give these inputs as expressions or "
            "numbers: " + ', '.join(map(label, compiled.inputs.called)) + '.')
    levels = [name for name, _ in compiled.levels]
    names = ('rates', 'W', 'r', *levels)
    g, out = with_given(equations.graph, names, compiled.inputs.given).load(
        None, names)
    lam = [g.input(x, dynamic=True) for x in equations.multipliers]
    explicit = [k for k in range(len(out['rates'])) if k not in cyclic]
    rows = [x for name in levels for x, in out[name]]
    rows += [out['rates'][k][0] for k in explicit]
    rows += [g.sub(g.dot(row[compiled.motion:], lam), right)
             for row, (right,) in zip(out['W'], out['r'])]
    labels = [*compiled.residual_names, *(
        f"rate of {compiled.names.labels[k]}" for k in explicit),
        *equations.labels[0]]
    time = g.mask([g.input(equations.t, dynamic=True)])
    changing = ', '.join(name for name, row in zip(labels, rows)
                         if g.depends[abs(row)] & time)
    if changing:
        raise ConstrainedDynamicsError(
            f"The equations depend on time ({changing}), so no motion of this "
            "model is steady. Replace masses, forces and rows that are given "
            "in time by constants, or choose coordinates that move with them.")
    by = [*(g.input(x, dynamic=True) for x in equations.states), *lam,
          *(g.input(compiled.constants[k]) for k in free)]
    return Graph.freeze(g, {
        'value': rows,
        'slopes': (jacobian(g, rows, by), len(by)),
        'inertia': ([row[:compiled.motion] for row in out['W']],
                    compiled.motion)}), labels
