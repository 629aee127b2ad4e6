"""Random real expressions, and their values without the graph."""
from random import Random

from mpmath import mp
from sympy import (
    Abs, Float, Heaviside, Max, Min, Piecewise, Rational, S, acos, asin, asinh,
    atan, atan2, cbrt, cos, cosh, cot, exp, expand, expand_trig, factor, log,
    sec, sign, sin, sinh, sqrt, symbols, tan, tanh, together)

from kkt import at

x, y, z = NAMES = symbols('x y z', real=True)
DIGITS = 50


def branches(a, b):
    """SymPy takes its time for branches in conditions: there are none."""
    first, second = (e if not e.has(Piecewise) else name
                     for e, name in ((a, x), (b, z)))
    return Piecewise((sin(a), first > 1), (b, second > first), (a*b, True))


UNARY = [
    sin, cos, tan, tanh, atan, asinh, Abs, sinh, cosh, sign,
    lambda e: cot(e + 7), lambda e: sec(e/5), lambda e: exp(e/3),
    lambda e: exp(-e**2), lambda e: sqrt(e**2 + 1), lambda e: sqrt(e**2),
    lambda e: 1/(e**2 + 2), lambda e: 1/(e - Rational(137, 11)),
    lambda e: log(e**2 + 1), lambda e: cbrt(e**2 + 3),
    lambda e: (e**2 + 1)**Rational(-3, 2), lambda e: (e**2)**Rational(3, 4),
    lambda e: e**3, lambda e: (e**2 + y**2 + 9)**-2, lambda e: -e,
    lambda e: sin(e)**2,
    lambda e: Float('0.75', 80)*e,
    lambda e: Float('0.1', 80)*e + Rational(1, 3),
    lambda e: acos(e/(e**2 + 3)), lambda e: asin(e/(e**2 + 3)),
    lambda e: Max(e, Rational(1, 5), y), lambda e: Heaviside(e - 1)*e]
BINARY = [
    lambda a, b: a + b, lambda a, b: a + b, lambda a, b: a - b,
    lambda a, b: a*b, lambda a, b: a*b, lambda a, b: a/(b**2 + 2),
    lambda a, b: (a + b)*(a - b), lambda a, b: (a - b)**2,
    lambda a, b: sin(a + b), lambda a, b: atan2(a, b**2 + 1),
    lambda a, b: (a**2 + 1)**(b/5), Min, Max, branches,
    lambda a, b: Piecewise((a, x*z < y), (b**2, True))]
# An expression with the same value in another form, or nearly so.
REWRITTEN = [
    expand, expand_trig, lambda e: -(-e/3)*3, lambda e: (e + x) - x,
    lambda e: sin(y)**2*e + cos(y)**2*e,
    lambda e: e if e.has(Piecewise) else together(e + 1/(z + 9)),
    lambda e: e + Rational(1, 10**9), lambda e: e*(1 + Float('1e-12', 80)),
    lambda e: sqrt(e**2 + 4)**2, lambda e: (e*y + e*z)/(y + z),
    lambda e: factor(e) if e.is_polynomial(*NAMES) else e]


def expression(random, known, depth):
    """A random real function that uses parts of the ``known`` ones."""
    if depth == 0 or random.random() < 0.1:
        return random.choice([*NAMES, S(random.randint(-3, 3))/2])
    if known and random.random() < 0.15:
        return random.choice(known)
    if random.random() < 0.45:
        return random.choice(UNARY)(expression(random, known, depth - 1))
    return random.choice(BINARY)(expression(random, known, depth - 1),
                                 expression(random, known, depth - 1))


def expressions(seed, count=20):
    """A batch of random expressions."""
    random = Random(f'graph {seed}')
    found = []
    while len(found) < count:
        if found and random.random() < 0.2:
            e = random.choice(REWRITTEN)(random.choice(found))
        else:
            e = expression(random, found, 4)
        if e.is_finite is not False and e.free_symbols and (
                e.count_ops() < 120):
            found.append(e)
    return found


def point(seed):
    random = Random(f'point {seed}')
    return {name: Rational(random.randint(-2000, 2000), 997) for name in NAMES}


def value(e, values):
    """The value of an expression without the graph, good to 60 digits."""
    return at(e, values)[0]


def same(found, wanted, digits=DIGITS - 10):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert abs(a - b) <= mp.mpf(10)**-digits*(1 + abs(b)), (a, b)
