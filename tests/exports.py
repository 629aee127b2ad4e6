"""Functions and models that the tests of backends and exports share."""
from functools import cache

import mpmath
import numpy as np
from sympy import (
    Abs, And, Eq, Float, Heaviside, Max, Min, Ne, Not, Or, Piecewise, Pow,
    Rational, Symbol, acos, acosh, asin, asinh, atan, atan2, atanh, cbrt,
    ceiling, cos, cosh, cot, csc, erf, erfc, exp, floor, log, pi, sec, sign,
    sin, sinh, sqrt, tan, tanh)
from sympy.abc import x, y

from sympy_constrained import UdwadiaKalabaMethod
from sympy_constrained.models import MODELS, model
from sympy_constrained.numeric import compile_equations, consistent_state

# Models that XLA compiles slowly.
LARGE = {'closed_chain', 'closed_chain_absolute', 'closed_chain_3d',
         'andrews_squeezer', 'bicycle', 'bicycle_whole'}
SMALL = [name for name in MODELS if name not in LARGE]
QUICK = ['four_bar', 'rolling_disc', 'parallel_cranks', 'knife_edge',
         'driven_pendulum', 'heavy_top_quaternion', 'duplicated_rows']

# Every operation and every function of a program.
FUNCTIONS = [
    sin(x), cos(x), tan(x), cot(x), sec(x), csc(x), exp(-x), log(x), pi*x,
    asin(x/4), acos(x/4), atan(x), atan2(y, x), atan2(-y, -x), sinh(x),
    cosh(x), tanh(x), asinh(x), acosh(x + 1), atanh(x/4), erf(x), erfc(x),
    floor(5*x), ceiling(-5*x), Abs(x - y), sign(x - y), sign(-y),
    Max(x, y), Max(x, y, 1, x*y), Min(x, y), Min(x, y, 1, x*y), Max(x, 0),
    Heaviside(x - y), Heaviside(x - y, 1), Heaviside(-x, 0),
    sqrt(x), cbrt(x), x**Rational(5, 3), x**Rational(-3, 2), x**y, 2**x,
    x**-3, x**5, Pow(x, Float('0.3')), sqrt(x)**3, x*y - y/x,
    Piecewise((x, x < y), (y**2, x < 2*y), (0, True)),
    Piecewise((x, And(x > y, y > .5)), (y, Or(x <= .5, y >= 1)), (-1, True)),
    Piecewise((1/(x - y), Ne(x, y)), (5, True)),
    Piecewise((log(x - y), x > y), (sqrt(y - x), True)),
    Piecewise((1, Not(And(x > 1, y > 1))), (x, x <= 1), (2, True)),
    Piecewise((1, Eq(x, y)), (x, x > 1e9), (2, x >= y), (3, True)),
    Piecewise((1, sqrt(x) > x**2), (2, True)),
    Piecewise((Max(x, y), x*y > 1), (Piecewise((x, y > 1), (2, True)), True)),
    Float('0.1')*x + Rational(1, 3), 0, 3, Rational(-1, 7), sqrt(2)*x,
    log(3)*x, sin(1)*x]
POINTS = np.array([(.3, .7), (1.7, .4), (.9, .9), (2.5, 1.5), (.1, 3.),
                   (1., 1.), (3., 3.), (.5, .25), (2., 1.)])


def ready(name, cls=UdwadiaKalabaMethod, **options):
    """Compiled equations of a ready model, made once, and an admissible
    state."""
    _, method, compiled, start = kept(name, cls, **options)
    return method, compiled, start.copy()


@cache
def kept(name, cls=UdwadiaKalabaMethod, backend='auto', **size):
    """The model, too."""
    made = model(name, **size)
    method = made.form(cls)
    compiled = compile_equations(
        method, made.parameters, made.inputs, backend=backend)
    start = consistent_state(compiled, made.start, made.fixed)
    return made, method, compiled, start


def close(found, wanted, tolerance=1e-12):
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(
        np.array(found).reshape(wanted.shape), wanted, rtol=0,
        atol=tolerance*max(1., np.abs(wanted).max(initial=0.)))


def jacobian(compiled, t, state, rows):
    """Slope of the rates by the states, from differences with 50 digits.

    ``rows`` are the independent rows of ``W``.
    """
    graph = compiled.equations.graph
    known = dict(zip(compiled.constants, map(mpmath.mpf, compiled.p)))
    time = compiled.equations.t
    inputs = compiled.inputs.given

    def rates(values):
        at = {**known, time: mpmath.mpf(t),
              **dict(zip(compiled.states, values))}
        for item, expression in inputs.items():
            at[item] = mpmath.mpf(expression.subs(
                {s: v for s, v in at.items() if isinstance(s, Symbol)}
            ).evalf(50))
        out = graph.evaluate(at, ['rates', 'W', 'r'], context=mpmath.mp)
        W = mpmath.matrix([[out['W'][i][j] for j in rows] for i in rows])
        r = mpmath.matrix([out['r'][i][0] for i in rows])
        return [f for f, in out['rates']] + list(
            mpmath.lu_solve(W, r))[:compiled.motion]

    with mpmath.workdps(50):
        start, d = list(map(mpmath.mpf, state)), mpmath.mpf(10)**-15
        columns = []
        for j in range(len(start)):
            up, down = (rates([s + sign_*d*(i == j)
                               for i, s in enumerate(start)])
                        for sign_ in (1, -1))
            columns.append([float((a - b)/(2*d)) for a, b in zip(up, down)])
    return np.array(columns).T


def independent(compiled, t, state):
    """Independent rows of ``W``."""
    kept = compiled.linear_solver(t, state).kept
    return list(range(len(compiled.unknowns))) if kept is None else [
        int(i) for i in kept[0]]
