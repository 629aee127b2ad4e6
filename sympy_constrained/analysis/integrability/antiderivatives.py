"""Antiderivatives of what rows of constraints are made of, at a bounded cost.

SymPy's ``integrate`` may think for minutes about a quotient with parameters.
Here a few forms are known; of all others there is None.
"""
from sympy import (
    Derivative, Integer, Integral, Poly, atan, cancel, cos, exp, fraction,
    integrate, log, sin, sqrt)
from sympy.core.function import AppliedUndef

# Powers of sines and cosines, and such factors of a term.
MOST_POWER, MOST_FACTORS = 4, 3


def antiderivative(expression, y):
    """Antiderivative by a symbol, or None.

    Of sums of products of powers of ``y``, sines, cosines and exponentials of
    linear arguments; quotients whose denominator is linear, a sum of two
    squares, or an inner function whose derivative is the rest; functions of
    time that are not known and their derivatives.
    """
    if not expression.has(y):
        return expression*y
    if expression.is_rational_function():
        expression = cancel(expression)
    terms = []
    for term in expression.expand(trig=False).as_ordered_terms():
        part = of_term(term, y)
        if part is None:
            return of_quotient(expression, y) if (
                expression.is_rational_function()) else None
        terms.append(part)
    return sum(terms, Integer(0))


def of_term(term, y):
    rest, part = term.as_independent(y, as_Add=False)
    if part == 1:
        return term*y
    if part.atoms(AppliedUndef):        # functions of time
        if isinstance(part, Derivative):
            inner = part.expr if part.derivative_count == 1 else (
                part.expr.diff((y, part.derivative_count - 1)))
            return rest*inner
        return rest*Integral(part, y)
    if is_elementary(part, y):
        return rest*integrate(part, y, manual=True)
    integral = of_inner(part, y)
    if integral is None and part.is_rational_function(y):
        integral = of_quotient(part, y)
    return None if integral is None else rest*integral


def is_elementary(part, y):
    """Whether a product is one that the textbook integrates."""
    factors = part.as_ordered_factors()
    return len(factors) <= MOST_FACTORS and all(
        is_elementary_factor(factor, y, len(factors) == 1)
        for factor in factors)


def is_elementary_factor(factor, y, alone):
    """A power of ``y``, or of a function of a linear argument."""
    base, power = factor.as_base_exp()
    if isinstance(factor, exp):
        base, power = factor, Integer(1)
    if base == y:
        return power.is_Rational and (
            alone or power.is_Integer and power > 0)
    return (power.is_Integer and 0 < power <= MOST_POWER
            and isinstance(base, (sin, cos, exp))
            and not base.args[0].diff(y).has(y))


def of_inner(part, y):
    """Antiderivative of ``c*D'*D**p`` by ``y``, or None."""
    for factor in part.as_ordered_factors():
        inner, power = factor.as_base_exp()
        slope = inner.diff(y)
        if power.has(y) or slope == 0 or inner == y:
            continue
        ratio = part/factor/slope
        if ratio.is_rational_function():
            ratio = cancel(ratio)
        if ratio.has(y):
            continue
        if power == -1:
            return ratio*log(inner)
        return ratio*inner**(power + 1)/(power + 1)
    return None


def of_quotient(part, y):
    """Antiderivative of a quotient of polynomials in ``y``, or None."""
    above, below = (Poly(x, y) for x in fraction(cancel(part)))
    lead, factors = below.factor_list()
    whole, above = above.div(below)
    integral = whole.integrate(y).as_expr()
    if above.is_zero:
        return integral
    if len(factors) != 1:
        return None
    (base, power), = factors
    rest = None
    if base.degree() == 1:
        rest = over_linear(above, base, power, y)
    elif base.degree() == 2 and power == 1:
        rest = over_quadratic(above, base, y)
    return rest and integral + rest/lead


def over_linear(above, base, power, y):
    """Antiderivative of a polynomial over a power of a linear one."""
    a, b = base.all_coeffs()
    s, total = base.as_expr(), Integer(0)
    for (k,), c in above.compose(Poly((y - b)/a, y)).terms():
        k = k - power
        total += c/a*(log(s) if k == -1 else s**(k + 1)/(k + 1))
    return total


def over_quadratic(above, base, y):
    """Antiderivative over two squares or with the slope above, or None."""
    a, b, c = base.all_coeffs()
    if above.degree() == 0 and b == 0:
        root = sqrt(a*c)
        return above.as_expr()/root*atan(y*a/root)
    ratio = cancel(above.as_expr()/base.diff(y).as_expr())
    return None if ratio.has(y) else ratio*log(base.as_expr())
