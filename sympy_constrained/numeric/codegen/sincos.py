r"""Sine and cosine of several angles at once, for compiled programs.

The nearest multiple :math:`n\pi/2` is subtracted in three parts; polynomials
of the rest give both functions to about one unit in the last place. The C
library computes angles above ``LIMIT`` and those that are not finite.
"""
from __future__ import annotations

from functools import lru_cache

from .instructions import Lowering, Program

__all__ = ['LIMIT', 'combined', 'sine_and_cosine']

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


def combined(program, lanes):
    """The program with sines and cosines together, up to ``lanes`` angles.

    It has operations ``('sincos', angle, ...)``, whose values are both
    functions, and ``('sine', value, lane)`` or ``('cosine', value, lane)``.
    """
    old = program.operations
    used = list(map(operands, old))
    stages, stage = stages_of(old, used)
    new, place, parts = [], {}, {}
    for d, angles in enumerate([*map(list, stages), []]):
        for k, operation in enumerate(old):
            if stage[k] == d:
                place[k] = len(new)
                new.append(moved(operation, used[k], place, parts))
        for start in range(0, len(angles), lanes):
            some = angles[start:start + lanes]
            parts |= {k: (len(new), lane) for lane, k in enumerate(some)}
            new.append(('sincos', *(place[k] for k in some)))
    return Program(new, [place[k] for k in program.outputs],
                   [(place[a], place[b]) for a, b in program.checks])


def operands(operation):
    """Positions that an operation uses."""
    if operation[0] in ('const', 'input'):
        return ()
    if operation[0] in ('sine', 'cosine'):
        return operation[1:2]
    return operation[2 if operation[0] == 'call' else 1:]


def is_sine(operation):
    return operation[0] == 'call' and operation[1] in ('sin', 'cos')


def stages_of(operations, used):
    """The angles of each stage, and the first stage that needs an operation.
    """
    stages, depth = [], []
    for operation, before in zip(operations, used):
        d = max(map(depth.__getitem__, before), default=0)
        if is_sine(operation):
            if d == len(stages):
                stages.append({})
            stages[d][operation[2]] = None
            d += 1
        depth.append(d)
    stage = [len(stages)]*len(operations)
    for k in reversed(range(len(operations))):
        need = depth[k] - 1 if is_sine(operations[k]) else stage[k]
        for j in used[k]:
            stage[j] = min(need, stage[j])
    return stages, stage


def moved(operation, used, place, parts):
    """The operation with operands at their new places."""
    if is_sine(operation):
        return ('sine' if operation[1] == 'sin' else 'cosine',
                *parts[operation[2]])
    head = operation[:len(operation) - len(used)]
    return (*head, *[place[k] for k in used])
