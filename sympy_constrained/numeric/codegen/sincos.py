r"""Sine and cosine of an angle at once, for compiled programs.

The nearest multiple :math:`n\pi/2` is subtracted in three parts; polynomials
of the rest give both functions to about one unit in the last place. The C
library computes angles above ``LIMIT`` and those that are not finite.
"""
from functools import lru_cache

from .instructions import Lowering, Program


LIMIT = 500000.
# 33 bits, 33 bits, and the rest: the first two times n are exact.
HALF_PI = (float.fromhex('0x1.921fb544p+0'),
           float.fromhex('0x1.0b4611a6p-34'),
           float.fromhex('0x1.3198a2e037073p-69'))
# (sin(r) - r)/r**3 and (cos(r) - 1 + r**2/2)/r**4 in powers of r**2, with the
# least relative error, 2e-18, for |r| < pi/4
SINE = (-0.1666666666666663, 0.008333333333322118, -0.00019841269829589612,
        2.755731362139578e-06, -2.5050747762754187e-08,
        1.5896230077313475e-10)
COSINE = (0.0416666666666666, -0.0013888888888874138, 2.480158728949181e-05,
          -2.7557314355235266e-07, 2.087572368331348e-09,
          -1.1359669795786521e-11)
# Adding and subtracting it rounds to an integer.
ROUND = 1.5*2**52
PARTS = {'sin': 'sine', 'cos': 'cosine'}
# Operands that are no positions, at the begin and at the end.
FIXED = {'const': 1, 'input': 2, 'call': 1, 'solve': 1}
LAST = {'entry': 1}


@lru_cache(maxsize=None)
def sine_and_cosine():
    """The program of both functions of ``x[0]``, good up to ``LIMIT``."""
    made = Lowering(None, {})
    op, constant = made.op, made.constant

    def rounded(x, factor):
        shift = constant(ROUND)
        return op('sub', op('add', op('mul', x, constant(factor)), shift),
                  shift)

    def polynomial(coefficients, z):
        total = constant(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = op('add', op('mul', total, z), constant(c))
        return total

    x = op('input', 'x', 0)
    n = rounded(x, 0.6366197723675814)
    first, second, third = (op('mul', n, constant(part)) for part in HALF_PI)
    near = op('sub', x, first)
    high = op('sub', near, second)
    low = op('sub', op('sub', op('sub', near, high), second), third)
    z = op('mul', high, high)
    half = op('mul', constant(0.5), z)
    one = constant(1)
    level = op('sub', one, half)
    sine = op('add', high, op('add', op('mul', op('mul', high, z), polynomial(
        SINE, z)), op('mul', low, level)))
    cosine = op('add', level, op('add', op('sub', op('sub', one, level), half),
                op('sub', op('mul', op('mul', z, z), polynomial(COSINE, z)),
                   op('mul', high, low))))
    quadrant = op('sub', n, op('mul', constant(4), rounded(n, 0.25)))
    turned = op('mul', quadrant, quadrant)          # 0, 1 or 4
    odd, back = op('eq', turned, one), op('gt', turned, one)
    s = op('select', odd, cosine, sine)
    c = op('select', odd, sine, cosine)
    zero = constant(0)
    below = op('or', back, op('and', odd, op('lt', quadrant, zero)))
    left = op('or', back, op('and', odd, op('gt', quadrant, zero)))
    outputs = [op('select', below, op('neg', s), s),
               op('select', left, op('neg', c), c)]
    return Program(made.operations, outputs, [])


def combined(program):
    """The program with both functions of an angle computed at once.

    It has operations ``('sincos', angle)``, and ``('sine', both)`` or
    ``('cosine', both)``.
    """
    new, place, both = [], [], {}
    for name, *operands in program.operations:
        if name == 'call' and operands[0] in PARTS:
            function, k = operands
            if k not in both:
                both[k] = len(new)
                new.append(('sincos', place[k]))
            new.append((PARTS[function], both[k]))
        else:
            begin, end = FIXED.get(name, 0), len(operands) - LAST.get(name, 0)
            new.append((name, *operands[:begin],
                        *(place[k] for k in operands[begin:end]),
                        *operands[end:]))
        place.append(len(new) - 1)
    return Program(new, [place[k] for k in program.outputs],
                   [(place[a], place[b]) for a, b in program.checks])
