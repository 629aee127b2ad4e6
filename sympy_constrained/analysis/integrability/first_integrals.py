r"""Functions whose differential is a given form, with or without a factor.

They are looked for by integration along the coordinates, one after the other,
from a point where all are zero or one, and accepted only if their derivatives
are the components of the form at random points.
"""
from fractions import Fraction
from random import Random

from mpmath import mp
from sympy import (
    Dummy, Integer, Integral, Piecewise, PolynomialError, cancel, count_ops,
    exp, log, nan, oo, preorder_traversal, zoo)
from sympy.core.function import AppliedUndef
from sympy.polys.polyerrors import CoercionFailed

from ...errors import ConstrainedDynamicsError
from ...graph import Graph, read, substitute
from .antiderivatives import antiderivative
from .pfaffian import Form

# Forms with more operations are not integrated.
SIMPLE = 80
POINTS = 3


def exact_integral(space, refs):
    """Function whose differential has the components ``refs``, or None."""
    slopes = written(space, refs)
    if slopes is None:
        return None
    for start in 0, 1:
        function = along_coordinates(
            slopes, names_of(space), space.system.t, start)
        if function is not None and has_slopes(space, function, refs):
            return function
    return None


def integral_with_factor(space, refs, curl):
    r"""``(factor, function)`` with ``d function = factor*form``, or None.

    If :math:`\theta\wedge d\theta = 0`, then :math:`d\theta =
    \beta\wedge\theta` with

    .. math::

       \beta_i = (\partial_i\theta_j - \partial_j\theta_i)/\theta_j

    for any :math:`j`, and if :math:`\beta` is closed, :math:`e^{-\int\beta}`
    is a factor. It depends on :math:`j`, and on what the form was multiplied
    by: the form itself and the one with :math:`\theta_j = 1` are tried.
    """
    g, best = space.builder, None
    for j, pivot in reversed(list(enumerate(refs))):
        if not pivot:
            continue
        raw = [g.div(row[j], pivot) for row in curl]
        solved = [g.div(x, pivot) for x in refs]
        again = [-space.partial[j](x) for x in solved]
        for over, beta in ((1, raw), (pivot, again)):
            pair = try_factor(space, refs, over, [-x for x in beta])
            if pair is None:
                continue
            if not narrowness(pair)[0]:
                return pair
            best = min(best or pair, pair, key=narrowness)
    return best


def narrowness(pair):
    """How many logarithms and divisors a factor and its integral have."""
    return sum(x.is_Pow and x.exp.could_extract_minus_sign()
               or isinstance(x, log)
               for f in pair for x in preorder_traversal(f)
               if x.atoms(AppliedUndef)), sum(map(count_ops, pair))


def try_factor(space, refs, over, slopes):
    """The factor with the slopes ``slopes`` of its logarithm, if any."""
    g = space.builder
    if not is_closed(space, slopes):
        return None
    logarithm = exact_integral(space, slopes)
    if logarithm is None:
        return None
    try:
        factor = exp(logarithm)
        ref = g.div(read(g, factor), over)
        if over != 1:
            factor = factor/written(space, [over])[0]
        function = exact_integral(space, [g.mul(ref, x) for x in refs])
    except (ConstrainedDynamicsError, TypeError):
        return None
    return None if function is None else (factor, function)


def is_closed(space, refs):
    rows = space.curl(Form('', None, tuple(refs)))
    return vanishes(space, [x for row in rows for x in row])


def vanishes(space, refs):
    """Whether references vanish at random points beside the constraints."""
    refs, (first, *others) = {abs(x) for x in refs if x}, anywhere(space)
    # One by one: most forms fail in the first of many entries.
    stages = [*(([x], [first]) for x in sorted(refs)), (sorted(refs), others)]
    try:
        return not any(x for some, points in stages if some
                       for rows in space.at_points([some], points)
                       for x in rows[0])
    except (ArithmeticError, TypeError, ValueError):
        return False


def anywhere(space):
    """Random states that satisfy no constraint, with the usual constants."""
    # Integrals are found where all coordinates are positive, and may be wrong
    # elsewhere: the second point is the first one mirrored, so that they are
    # on both sides of conditions such as ``x > 0`` and ``x > y``.
    states = []
    for seed in range(POINTS):
        random = Random(f'anywhere {seed//2}')
        usual = space.points[seed % len(space.points)]
        kept = {x: usual[x] for x in space.system.constants if x in usual}
        values = {x: mp.mpf(random.randint(10**8, 10**9))/10**9
                  for x in (*space.builder.inputs, space.system.t)} | kept
        for x in space.system.q:
            sign = random.choice((1, -1)) if seed > 1 else 1
            values[x] *= -sign if seed % 2 else sign
        states.append(values)
    return states


# -- SymPy ---------------------------------------------------------------

def names_of(space):
    """Coordinates -> dummies; positive ones make roots and powers simple."""
    return {x: Dummy(str(getattr(x, 'func', x)), positive=True)
            for x in space.system.q}


def written(space, refs):
    """Expressions of references, None if they are too large."""
    refs = [essential(space, ref) for ref in refs]
    graph = Graph.freeze(space.builder, {'x': ([refs], len(refs))})
    if graph.operation_count() > SIMPLE:
        return None
    expressions = list(graph.sympy('x'))
    if sum(map(count_ops, expressions)) > 2*SIMPLE:
        return None
    return [cancel(x) if x.is_rational_function() else x for x in expressions]


def essential(space, ref):
    """A reference of the same value without coordinates that cancel."""
    # Rational numbers, or rational points of the circle, take their place.
    g = space.builder
    for k, x in enumerate(space.x):
        if not g.depends_on(ref, x):
            continue
        sine, cosine = g.sincos(x)
        a, b = k + 2, k + 3
        values = {x: g.constant(Fraction(2*k + 5, 2*k + 3)),
                  sine: g.constant(Fraction(2*a*b, a*a + b*b)),
                  cosine: g.constant(Fraction(b*b - a*a, a*a + b*b))}
        try:
            new, = substitute(g, [ref], values)
        except ConstrainedDynamicsError:        # divided by zero
            continue
        if g.fingerprint(new) == g.fingerprint(ref) and (
                not g.depends_on(new, x)):
            ref = new
    return ref


def along_coordinates(slopes, names, t, start):
    """Integral of slopes along time and then the coordinates, or None."""
    drift, *slopes = [x.xreplace(names) for x in slopes]
    at_start = {y: Integer(start) for y in names.values()}
    try:
        total = antiderivative(drift.xreplace(at_start), t)
        if total is None:
            return None
        for slope, y in zip(slopes, names.values()):
            at_start.pop(y)
            part = antiderivative(slope.xreplace(at_start), y)
            if part is None:
                return None
            total += part - part.xreplace({y: Integer(start)})
    except (TypeError, ValueError, PolynomialError, CoercionFailed):
        return None                     # not finite on the way
    if total.has(Piecewise, nan, zoo, oo) or any(
            x.atoms(*names.values()) for x in total.atoms(Integral)):
        return None
    total = min(total, total.expand(), key=count_ops)
    total = total.as_independent(*names.values(), t, as_Add=True)[1]
    return total.xreplace({y: x for x, y in names.items()})


def has_slopes(space, function, refs):
    """Whether a function has given derivatives, at random points."""
    g, names = space.builder, names_of(space)
    plain = function.xreplace(names)
    back = {y: x for x, y in names.items()}
    try:
        slopes = [plain.diff(y).doit().xreplace(back) for y in
                  (space.system.t, *names.values())]
        gaps = [g.sub(read(g, x), ref) for x, ref in zip(slopes, refs)]
    except (ConstrainedDynamicsError, TypeError):
        return False
    return vanishes(space, gaps)
