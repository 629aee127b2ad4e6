"""Closest points by Newton's method, and checks for point contact."""
from random import Random
from typing import NamedTuple

from mpmath import mp
from sympy import Symbol, sqrt, zeros
from sympy.physics.mechanics import dynamicsymbols
from sympy.physics.vector import dot

from ..errors import ConstraintError
from ..graph import Graph, GraphBuilder, jacobian, read
from ..model.call_signatures import as_expressions
from ..precision import precise
from .geometry import at_random, numbers


# Residuals that are zero; those at which rounding may stop Newton's method.
SETTLED, ROUGHLY = mp.mpf('1e-24'), mp.mpf('1e-15')
# Relative determinants of K1 + K2 that vanish.
SINGULAR = mp.mpf('1e-9')
OPPOSITE = mp.mpf('1e-6')
STEPS, SHORTER, ATTEMPTS = 60, 12, 40
GAP = Symbol('gap')


class RowSpaces(NamedTuple):
    """Ranks of (26), of the rows of the contact, and of both together."""

    virtual: int
    constraints: int
    together: int

    @property
    def agree(self):
        return self.virtual == self.constraints == self.together


# -- point contact, or a line or face ------------------------------------

def check_regular(parent, child):
    """Raise if the contact is a line or a face everywhere."""
    if child.dimension == 0 or parent.dimension == 1:
        return
    curvatures = [*principal(parent), *(
        principal(child) if child.dimension == 2
        else [curve_curvature(child), 0])]
    sizes = [relative_determinant(*found, child.dimension)
             for found in at_random(curvatures, 4)]
    if sizes and max(sizes) < SINGULAR:
        both = f"{type(child).__name__} and {type(parent).__name__}"
        raise ConstraintError(
            f"{both} do not touch at a point: their relative curvature "
            "K1 + K2 is singular everywhere, as for a cylinder on a plane (a "
            "line), a plane on a plane or a ball in a socket of its radius "
            "(a face). Model a line by two points or by its own constraints, "
            "a socket by a joint.")


def principal(surface):
    normal = surface.normal()
    if all(not abs(x - 1) < SINGULAR
           for x, in at_random([dot(normal, normal)])):
        raise ConstraintError(
            f"The normal of {type(surface).__name__} vanishes: its tangent "
            "vectors are parallel. Give a chart with independent tangent "
            "vectors.")
    mean = surface.shape_operator().trace()/2
    root = sqrt(mean**2 - surface.gaussian_curvature())
    return [mean + root, mean - root]


def curve_curvature(curve):
    (x,), ((y,),) = curve.tangent_vectors(), curve.second_derivatives()
    square = dot(x, x)
    return sqrt(dot(y, y)/square**2 - dot(x, y)**2/square**3)


def relative_determinant(b1, b2, a1, a2, dimension):
    """Relative determinant of ``K1 + K2`` at an angle of 0.7."""
    with precise():
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

class ContactFinder:
    """Newton's method for the contact coordinates of a pair, and the ``free``
    coordinate of the bodies or, without one, the gap.
    """

    def __init__(self, pair, parameters, free):
        self.unknowns = (*parameters, *(free or (GAP,)))
        surfaces = [x for x in (pair.parent, pair.child)
                    if pair.gap is None and x.dimension == 2]
        gap = 0 if free else GAP
        builder = GraphBuilder(dynamicsymbols._t)
        inputs = [builder.input(x) for x in self.unknowns]

        def refs(expressions):
            return [read(builder, x) for x in expressions]

        residuals, side = conditions(pair, gap)
        f = refs(residuals)
        self.graph = Graph.freeze(builder, {
            'f': ([f], len(f)), 'side': ([refs([side])], 1),
            'J': (jacobian(builder, f, inputs), len(inputs)),
            'domain': ([refs(x.domain) for x in surfaces], 1),
            'convexity': ([refs(x) for x in pair.convexity(gap)], 4)})

    def find(self, values, guess):
        """The unknowns, with the gap under its name."""
        with precise():
            known = {x: v for x, v in in_numbers(values).items()
                     if x not in self.unknowns}
            guess = in_numbers(guess)
            guess = [guess.get(x, mp.zero) for x in self.unknowns]
            found = self.near(known, guess)
            return {'gap' if x is GAP else x: v
                    for x, v in zip(self.unknowns, found)}

    def at(self, name, known, x):
        """An output at numbers of the unknowns, or None."""
        try:
            rows = self.graph.evaluate(
                {**known, **dict(zip(self.unknowns, x))}, (name,), mp)[name]
        except ArithmeticError:
            return None
        finite = all(mp.isfinite(v) and not isinstance(v, mp.mpc)
                     for row in rows for v in row)
        return rows if finite else None

    def near(self, known, guess):
        """The first nearest points on the right side, near a guess."""
        random = Random('contact')
        cause = "the equations C1 and C2 have no solution near the guess"
        for attempt in range(ATTEMPTS):
            reach = min(attempt, 10)*0.3        # up to half a turn
            x = self.settled(known, [
                v + random.uniform(-reach, reach) for v in guess])
            if x is None:
                continue
            fault = self.fault(known, x)
            if fault is None:
                return x
            cause = f"where C1 and C2 hold, {fault}"
        raise ConstraintError(
            f"No contact was found: {cause}. Give a guess nearer to the "
            "contact, check the orientations of the surfaces, and keep away "
            "from poles of their parameters.")

    def fault(self, known, x):
        """Why a solution of the equations is not a contact, or None."""
        (side,), = self.at('side', known, x)
        if abs(side + 1) > OPPOSITE:
            return ("the bodies are on the wrong side, n1.n2 = 1, as if one "
                    "were inside out")
        if any(v <= 0 for row in self.at('domain', known, x) for v in row):
            return "the parameters are beyond the apex of a cone"
        forms = self.at('convexity', known, x)
        if forms is None:
            raise ConstraintError(
                "The tangents have no direction at this contact: it is at a "
                "pole of the parameters, or the ball is on the axis of the "
                "parent. Choose another `pole`, or another start.")
        if forms[0]:                    # empty for a vertex
            check_curvature(forms[0])
        if any(x < 0 for form in forms for x in trace_and_determinant(form)):
            return ("the bodies penetrate, for K1 + K2 is not positive, or "
                    "are not nearest there")
        return None

    def settled(self, known, x):
        """Where the residuals vanish, by Newton steps that are shortened a few
        times (``findroot`` of mpmath takes a hundred), or None.
        """
        f = self.at('f', known, x)
        for _ in range(STEPS):
            if f is None or mp.norm(f[0], mp.inf) < SETTLED:
                return f and x
            size = mp.norm(f[0], mp.inf)
            try:
                step = mp.lu_solve(mp.matrix(self.at('J', known, x)),
                                   -mp.matrix(f[0]))
            except (ZeroDivisionError, TypeError):
                return None
            for k in range(SHORTER):
                trial = [v + s/2**k for v, s in zip(x, step)]
                f = self.at('f', known, trial)
                if f and mp.norm(f[0], mp.inf) < size:
                    break
            else:
                return x if size < ROUGHLY else None
            x = trial
        return None


def check_curvature(form):
    _, det = trace_and_determinant(form)
    if abs(det) > SINGULAR*max(map(abs, form))**(2 if len(form) > 1 else 1):
        return
    raise ConstraintError(
        "The relative curvature K1 + K2 is singular at this contact: the "
        "bodies touch along a line or a face, or osculate, and the contact "
        "point is not determined. Choose another start or another shape.")


def in_numbers(values):
    """Numbers by symbol, also where they are given as expressions."""
    return dict(zip(values, numbers(
        as_expressions(values.values(), 'values'), {})))


def trace_and_determinant(form):
    """Of a symmetric matrix of two rows or less, by its entries."""
    if len(form) < 4:
        return sum(form), mp.fprod(form)
    a, b, c, d = form
    return a + d, a*d - b*c


def conditions(pair, gap):
    """Residuals of C1 and C2 at a gap, and ``n1.n2``."""
    if pair.gap is not None:
        return [pair.gap - gap], -1
    residuals = pair.closure()
    normal = pair.normal.to_matrix(pair.parent.frame)
    residuals[:3] = [x - gap*n for x, n in zip(residuals, normal)]
    if pair.child.dimension == 2:
        return residuals, dot(pair.child.normal(), pair.normal)
    return residuals, -1


# -- row spaces ----------------------------------------------------------

def row_spaces(A, rows, parameter_rows, values):
    """Ranks of two sets of rows and of both, at numbers, without those of the
    displacements of the parameters.
    """
    with precise():
        padding = zeros(A.rows, parameter_rows.cols)
        rows = rows.row_join(parameter_rows)
        alone = rank(parameter_rows, values)
        return RowSpaces(
            rank(A, values), rank(rows, values) - alone,
            rank(A.row_join(padding).col_join(rows), values) - alone)


def rank(matrix, values):
    if not matrix:
        return 0
    found = mp.matrix(matrix.rows, matrix.cols)
    for k, x in enumerate(numbers(matrix, values)):
        found[divmod(k, matrix.cols)] = x
    sizes = mp.svd_r(found, compute_uv=False)
    return sum(1 for s in sizes if s > SINGULAR*max(sizes))
