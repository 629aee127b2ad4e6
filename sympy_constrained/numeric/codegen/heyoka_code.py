"""Programs as systems of differential equations of heyoka."""
from .walk import OPERATORS, functions_of, walk


def heyoka_system(h, code, names, pars):
    """Pairs of variable and rate; the first ``pars`` parameters are ours."""
    variables = [h.expression(name) for name in names]
    values = walk(code.operations, functions(h), {
        't': [h.time], 'x': variables,
        'p': [h.par[i] for i in range(pars)]})
    return [(variable, h.expression(values[k])) for variable, k in zip(
        variables, code.outputs)]


def functions(h):
    """Operation -> function of heyoka."""
    zero, one = h.expression(0.), h.expression(1.)

    def called(function):               # of numbers, too
        return lambda *args: function(*map(h.expression, args))

    def relation(compare):
        return lambda x, y: compare(h.expression(x), h.expression(y))

    return {
        **{name: called(f) for name, f in functions_of(h).items()},
        **OPERATORS, 'library': 'heyoka', 'select': h.select,
        'lt': relation(h.lt), 'le': relation(h.lte), 'gt': relation(h.gt),
        'ge': relation(h.gte), 'eq': relation(h.eq), 'ne': relation(h.neq),
        'and': lambda *parts: h.logical_and(parts),
        'or': lambda *parts: h.logical_or(parts),
        'not': lambda x: h.eq(x, zero), 'true': lambda: one,
        'false': lambda: zero, 'pow': lambda x, n: h.expression(x)**n,
        'fabs': lambda x: h.select(h.lt(x, zero), -x, x),
        'erfc': lambda x: 1. - h.erf(x)}
