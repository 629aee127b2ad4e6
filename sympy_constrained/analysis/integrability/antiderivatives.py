"""Antiderivatives of what rows of constraints are made of, at a bounded cost.

SymPy's ``integrate`` may think for minutes about a quotient with parameters.
Here a few forms are known; of all others there is None.
"""
from __future__ import annotations

from sympy import (
    Derivative, Integer, Integral, Poly, atan, cancel, cos, exp, fraction,
    integrate, log, sin, sqrt)
from sympy.core.function import AppliedUndef

__all__ = ['antiderivative']

# Powers of sines and cosines, and such factors of a term.
MOST_POWER, MOST_FACTORS = 4, 3


def antiderivative(expression, y):
    """Antiderivative by a symbol, or None.

    Sums of products of powers of ``y``, sines, cosines and exponentials of
    linear arguments; quotients whose denominator is linear, a sum of two
    squares, or an inner function whose derivative is the rest; functions of
    time that are not known and their derivatives.

    Examples
    ========

    >>> from sympy import cos
    >>> from sympy.abc import x, y
    >>> from sympy_constrained.analysis.integrability.antiderivatives import (
    ...     antiderivative)
    >>> antiderivative(y*cos(x) + 3*x**2, x)
    x**3 + y*sin(x)

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
    """Antiderivative of one term, or None."""
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
    found = of_inner(part, y)
    if found is None and part.is_rational_function(y):
        found = of_quotient(part, y)
    return None if found is None else rest*found


def is_elementary(part, y):
    """Whether a product is one that the textbook integrates."""
    factors = part.as_ordered_factors()
    if len(factors) > MOST_FACTORS:
        return False
    for factor in factors:
        base, power = factor.as_base_exp()
        if isinstance(factor, exp):
            base, power = factor, Integer(1)
        if base == y and power.is_Rational and (
                len(factors) == 1 or power.is_Integer and power > 0):
            continue
        if not (power.is_Integer and 0 < power <= MOST_POWER and isinstance(
                base, (sin, cos, exp)) and is_linear(base.args[0], y)):
            return False
    return True


def is_linear(x, y):
    """Whether an expression is a polynomial of first degree."""
    slope = x.diff(y)
    return slope != 0 and not slope.has(y)


def of_inner(part, y):
    """Antiderivative of ``c*D'*D**p`` by ``y``, or None."""
    for factor in part.as_ordered_factors():
        inner, power = factor.as_base_exp()
        slope = inner.diff(y)
        if power.has(y) or slope == 0 or inner == y:
            continue
        ratio = cancel(part/factor/slope) if (
            (part/factor/slope).is_rational_function()) else (
                part/factor/slope)
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
    found = whole.integrate(y).as_expr()
    if above.is_zero:
        return found
    if len(factors) != 1:
        return None
    (base, power), = factors
    if base.degree() == 1:
        a, b = base.all_coeffs()
        shifted = above.compose(Poly((y - b)/a, y))
        s = base.as_expr()
        for (k,), c in shifted.terms():
            k = k - power
            found += c/lead/a*(log(s) if k == -1 else s**(k + 1)/(k + 1))
        return found
    if base.degree() == 2 and power == 1:
        a, b, c = base.all_coeffs()
        if above.degree() == 0 and b == 0:
            root = sqrt(a*c)
            return found + above.as_expr()/lead/root*atan(y*a/root)
        ratio = cancel(above.as_expr()/base.diff(y).as_expr())
        if not ratio.has(y):
            return found + ratio/lead*log(base.as_expr())
    return None
