"""Contact in numbers: where bodies touch, and whether it is at a point."""
from __future__ import annotations

from random import Random
from typing import NamedTuple

from mpmath import mp
from sympy import Symbol, sqrt, sympify
from sympy.physics.mechanics import dynamicsymbols
from sympy.physics.vector import dot

from ..errors import ConstraintError, MissingIngredientError
from ..graph import Graph, GraphBuilder, jacobian, read
from .geometry import numbers, random_numbers, samples

__all__ = ['check_regular', 'find_contact', 'row_spaces', 'RowSpaces']

DIGITS = 30
SETTLED = mp.mpf(10)**(6 - DIGITS)
SINGULAR = mp.mpf('1e-9')
STEPS, SHORTER, ATTEMPTS = 60, 12, 40
GAP = Symbol('gap')


class RowSpaces(NamedTuple):
    """Ranks of (26), of the rows of the contact, and of both together."""

    virtual: int
    constraints: int
    together: int

    @property
    def agree(self):
        """Whether both span the same space."""
        return self.virtual == self.constraints == self.together


# -- whether there is a point contact at all -----------------------------

def check_regular(parent, child):
    """Raise if the contact is a line or a face wherever it is.

    The relative curvature is tried at random places of both geometries, with
    random dimensions and a random angle between them.
    """
    if child.dimension == 0 or parent.dimension == 1:
        return
    shapes = [principal(parent)]
    shapes.append(principal(child) if child.dimension == 2 else [
        curve_curvature(child), 0])
    sizes = []
    for seed in range(4):
        try:
            found = numbers([*shapes[0], *shapes[1]], random_numbers(
                [*shapes[0], *shapes[1]], seed))
        except (ArithmeticError, TypeError, ValueError):
            continue
        sizes.append(relative_determinant(*found, child.dimension))
    if sizes and max(sizes) < SINGULAR:
        both = f"{type(child).__name__} and {type(parent).__name__}"
        raise ConstraintError(
            f"{both} do not touch at a point: their relative curvature "
            "K1 + K2 is singular everywhere, as for a cylinder on a plane (a "
            "line), a plane on a plane or a ball in a socket of its radius "
            "(a face). Model a line by two points or by its own constraints, "
            "a socket by a joint.")


def principal(surface):
    """Principal curvatures of a surface."""
    normal = surface.normal()
    if all(not abs(x - 1) < SINGULAR for x in samples(dot(normal, normal))):
        raise ConstraintError(
            f"The normal of {type(surface).__name__} vanishes: its tangent "
            "vectors are parallel. Give a chart with independent tangent "
            "vectors.")
    shape = surface.shape_operator()
    mean = shape.trace()/2
    root = sqrt(mean**2 - shape.det())
    return [mean + root, mean - root]


def curve_curvature(curve):
    """Curvature of an edge."""
    (x,), ((y,),) = curve.tangent_vectors(), curve.second_derivatives()
    square = dot(x, x)
    return sqrt(dot(y, y)/square**2 - dot(x, y)**2/square**3)


def relative_determinant(b1, b2, a1, a2, dimension):
    """Determinant of ``K1 + K2`` at an angle of 0.7, relative to its size.
    """
    with mp.workdps(DIGITS):
        c, s = mp.cos(0.7), mp.sin(0.7)
        straight, across = b1*c**2 + b2*s**2, b1*s**2 + b2*c**2
        scale = max(map(abs, (a1, a2, b1, b2)))
        if scale == 0:
            return mp.zero
        if dimension == 1:
            return abs(0.3*a1 + straight)/scale
        return abs((a1 + straight)*(a2 + across)
                   - ((b1 - b2)*c*s)**2)/scale**2


# -- where the bodies touch ----------------------------------------------

def find_contact(pair, parameters, values, guess):
    """See :meth:`.PointContact.solve_contact`."""
    known = {sympify(x): mp.mpf(sympify(v)) if not isinstance(v, mp.mpf)
             else v for x, v in values.items()}
    start = {sympify(x): v for x, v in guess.items()}
    missing = [str(x) for x in parameters if x not in start]
    if missing:
        raise MissingIngredientError(
            f"`guess` has no number for {', '.join(missing)}. The contact "
            "coordinates are found from a place near the contact.")
    others = [x for x in start if x not in parameters]
    if len(others) > 1:
        raise ValueError(
            f"`guess` has {len(others)} coordinates beside those of the "
            f"contact: {', '.join(map(str, others))}. One closes the "
            "contact; put the others into `values`.")
    unknowns = [*parameters, *(others or [GAP])]
    start.setdefault(GAP, 0)
    residuals, side = conditions(pair, () if others else GAP)
    solve = Newton(residuals, side, unknowns)
    with mp.workdps(DIGITS):
        known = {x: v for x, v in known.items() if x not in unknowns}
        check_normals(pair, {**known, **start})
        found = solve.from_guess(known, [mp.mpf(start[x]) for x in unknowns])
        check_curvature(pair, {**known, **found})
        if GAP in found:
            found['gap'] = found.pop(GAP)
        return found


def conditions(pair, gap):
    """Residuals of C1 and C2 at a gap, and ``n1.n2`` where there are two."""
    if pair.gap is not None:
        return [pair.gap - (gap or 0)], None
    residuals = pair.closure()
    if gap:
        normal = pair.normal.to_matrix(pair.parent.frame)
        residuals[:3] = [x - gap*n for x, n in zip(residuals, normal)]
    side = None
    if pair.child.dimension == 2:
        side = dot(pair.child.normal(), pair.normal)
    return residuals, side


class Newton:
    """Damped Newton steps from a guess, and from places around it."""

    def __init__(self, residuals, side, unknowns):
        builder = GraphBuilder(dynamicsymbols._t)
        inputs = [builder.input(x) for x in unknowns]
        refs = [read(builder, x) for x in residuals]
        side = read(builder, -1 if side is None else side)
        self.unknowns = unknowns
        self.graph = Graph.freeze(builder, {
            'f': ([refs], len(refs)), 'side': ([[side]], 1),
            'J': (jacobian(builder, refs, inputs), len(inputs))})

    def at(self, known, x, *names):
        """Outputs at numbers of the unknowns; None where there are none."""
        try:
            found = self.graph.evaluate(
                {**known, **dict(zip(self.unknowns, x))}, names, mp)
        except ArithmeticError:
            return None
        values = [found[name] for name in names]
        finite = all(mp.isfinite(v) and not isinstance(v, mp.mpc)
                     for rows in values for row in rows for v in row)
        return values if finite else None

    def from_guess(self, known, guess):
        """The first solution on the right side."""
        other_side, random = False, Random('contact')
        for attempt in range(ATTEMPTS):
            reach = min(attempt, 10)*0.3        # up to half a turn
            x = self.settled(known, [
                v + random.uniform(-reach, reach) for v in guess])
            if x is None:
                continue
            (side,), = self.at(known, x, 'side')[0]
            if abs(side + 1) < mp.mpf('1e-6'):
                return dict(zip(self.unknowns, x))
            other_side = True
        cause = ("the ones that were found lie on the wrong side, "
                 "n1.n2 = 1, as if a body were inside out"
                 if other_side else "the equations C1 and C2 have no "
                 "solution near the guess")
        raise ConstraintError(
            f"No contact was found: {cause}. Give a guess nearer to the "
            "contact, check the orientations of the surfaces, and keep away "
            "from poles of their parameters.")

    def settled(self, known, x):
        """Newton steps that reduce the residual, until it is zero."""
        found = self.at(known, x, 'f')
        for _ in range(STEPS):
            if found is None:
                return None
            f, = found[0]
            size = mp.norm(f, mp.inf)
            if size < SETTLED:
                return x
            both = self.at(known, x, 'J')
            try:
                step = mp.lu_solve(mp.matrix(both[0]), -mp.matrix(f))
            except (ZeroDivisionError, TypeError):
                return None
            for k in range(SHORTER):
                trial = [v + s/2**k for v, s in zip(x, step)]
                new = self.at(known, trial, 'f')
                if new and mp.norm(new[0][0], mp.inf) < size:
                    break
            else:
                return x if size < mp.sqrt(SETTLED)*mp.mpf('1e-3') else None
            x, found = trial, new
        return None


def check_normals(pair, values):
    """Raise if a surface has no normal at the start."""
    if pair.gap is not None:
        return
    for geometry in pair.parent, pair.child:
        if geometry.dimension != 2:
            continue
        first = geometry.first_fundamental_form()
        det, scale = at(values, first.det(), first[0, 0]*first[1, 1]
                        + (first[0, 0] + first[1, 1])**2)
        if det is None or abs(det) <= mp.mpf('1e-20')*abs(scale):
            raise ConstraintError(
                f"The normal of {type(geometry).__name__} vanishes at the "
                f"start, {start_text(geometry, values)}: its tangent vectors "
                "are parallel there, as at the pole of polar angles. Choose "
                "another chart (`pole`), or the explicit formulation.")


def start_text(geometry, values):
    return ', '.join(f'{x} = {mp.nstr(mp.mpf(values[x]), 6)}'
                     for x in geometry.parameters)


def check_curvature(pair, values):
    """Raise if the bodies touch along a line or a face."""
    curvature = pair.relative_curvature()
    if not curvature:
        return
    flat = at(values, *curvature)
    size = 1/abs(at(values, dot(pair.tangents[0], pair.tangents[0]))[0])
    if None not in flat:
        matrix = mp.matrix(curvature.rows, curvature.cols)
        for k, x in enumerate(flat):
            matrix[divmod(k, curvature.cols)] = x
        size = max(map(abs, flat))
        if size and abs(mp.det(matrix)) > SINGULAR*size**curvature.rows:
            return
    raise ConstraintError(
        "The relative curvature K1 + K2 is singular at this contact: the "
        "bodies touch along a line or a face, or osculate, and the contact "
        "point is not determined. Choose another start or another shape.")


def at(values, *expressions):
    """Values of expressions, None where there are none."""
    try:
        return numbers(expressions, values)
    except ArithmeticError:
        return [None]*len(expressions)


# -- row spaces ----------------------------------------------------------

def row_spaces(A, rows, parameter_rows, values):
    """Ranks of two sets of rows and of both, at numbers.

    Combinations of ``rows`` are taken in which ``parameter_rows`` cancel.
    """
    with mp.workdps(DIGITS):
        A, rows, eliminated = (filled(x, values) for x in (
            A, rows, parameter_rows))
        if eliminated.cols:
            rows = left_null_space(eliminated)*rows
        both = mp.matrix(A.rows + rows.rows, A.cols)
        for i in range(A.rows):
            both[i, :] = A[i, :]
        for i in range(rows.rows):
            both[A.rows + i, :] = rows[i, :]
        return RowSpaces(*map(rank, (A, rows, both)))


def filled(matrix, values):
    found = mp.matrix(matrix.rows, matrix.cols)
    if matrix:
        for k, x in enumerate(numbers(matrix, values)):
            found[divmod(k, matrix.cols)] = x
    return found


def left_null_space(matrix):
    """Rows ``Z`` with ``Z matrix = 0``."""
    U, S, _ = mp.svd_r(matrix, full_matrices=True)
    count = sum(1 for s in S if s > SINGULAR*max(S))
    return U[:, count:].T


def rank(matrix):
    sizes = mp.svd_r(matrix, compute_uv=False)
    return sum(1 for s in sizes if s > SINGULAR*max(sizes))
