"""SymPy expressions into the graph.

Every expression object is read once per builder. Arithmetic, powers with
rational exponents and the trigonometric functions become nodes; any other
function becomes a call: a SymPy expression with slots for its operands.
"""
from __future__ import annotations

from fractions import Fraction

from sympy import (
    Add, Derivative, Dummy, E, Expr, Float, Integer, Mul,
    NumberSymbol, Pow, Rational, S, Symbol, cos, cot, csc, exp, sec, sin, tan)
from sympy.core.function import AppliedUndef, Subs
from sympy.functions.special.delta_functions import DiracDelta
from sympy.matrices.expressions.matexpr import MatrixElement
from sympy.tensor.indexed import Indexed

from ..errors import ConstrainedDynamicsError

__all__ = ['read', 'partial', 'SLOTS']

# Numbered by hand, so that a pickled graph means the same in any process.
SLOTS = tuple(Dummy(f'slot{i}', dummy_index=7000000 + i, real=True)
              for i in range(64))


def read(builder, expr):
    """Return the reference of a SymPy expression.

    Raises
    ======

    ConstrainedDynamicsError
        If the expression contains something that is not a real scalar
        (``I``, ``nan``, infinities, matrices, unevaluated logic).

    """
    memo = builder.read
    ref = memo.get(expr)
    if ref is not None:
        return ref
    stack = [expr]
    while stack:
        e = stack[-1]
        if e in memo:
            stack.pop()
            continue
        ref = leaf(builder, e)
        if ref is None:
            template, parts = slots_of(e)
            missing = [p for p in parts if p not in memo]
            if missing:
                stack.extend(reversed(missing))
                continue
            ref = combine(builder, e, template, [memo[p] for p in parts])
        memo[e] = ref
        stack.pop()
    return memo[expr]


def leaf(builder, e):
    """Reference of an expression without operands, else None."""
    ref = builder.bound.get(e)
    if ref is not None:
        return ref
    if isinstance(e, Rational):
        return builder.constant(Fraction(int(e.p), int(e.q)))
    if isinstance(e, Float) and e.is_finite:
        sign, man, exponent, _ = e._mpf_
        value = Fraction(int(man))*Fraction(2)**exponent
        return builder.constant(-value if sign else value, e)
    if isinstance(e, NumberSymbol):
        return builder.call(e, ())
    if isinstance(e, (Symbol, Indexed, MatrixElement)):
        if not e.is_commutative:
            raise unreadable(e)
        return builder.input(e)
    if is_function_of(e, builder.time):
        return builder.input(e, dynamic=True)
    if not isinstance(e, Expr) or not e.args:
        raise unreadable(e)
    return None


def is_function_of(e, time):
    """Whether this is ``f(t)`` or one of its time derivatives."""
    if isinstance(e, Derivative):
        return (is_function_of(e.expr, time) and
                all(v == time for v in e.variables))
    return isinstance(e, AppliedUndef) and e.args == (time,)


def unreadable(e):
    return ConstrainedDynamicsError(
        f"The model contains `{e}`, which is not a real scalar expression. "
        "Coordinates, loads, inertias and constraints must be built from "
        "symbols, functions of time and real functions of them; remove the "
        "term, or replace it by a real expression.", expression=e)


def slots_of(e):
    """Return an expression's template (or None) and its operands."""
    if isinstance(e, (Add, Mul, sin, cos, tan, cot, sec, csc)):
        return None, e.args
    if isinstance(e, exp):
        return exp(SLOTS[0]), (e.exp,)
    if isinstance(e, Pow):
        if isinstance(e.exp, Rational):
            return None, (e.base,)
        if e.base is E:
            return exp(SLOTS[0]), (e.exp,)
        return Pow(SLOTS[0], SLOTS[1], evaluate=False), e.args
    parts = []

    def slotted(x):
        if isinstance(x, Expr):
            if x not in parts:
                parts.append(x)
            return SLOTS[parts.index(x)]
        return x.func(*map(slotted, x.args)) if x.args else x

    if isinstance(e, Derivative) and not isinstance(e.expr, AppliedUndef):
        return SLOTS[0], (e.expr.diff(*e.variables),)
    if isinstance(e, (Derivative, Subs)):
        return of_user_function(e)
    if not e.args:
        raise unreadable(e)
    return e.func(*map(slotted, e.args)), tuple(parts)


def of_user_function(e):
    """Template and operands of a derivative of a user's function.

    ``Derivative(f(x(t)), x(t))`` is read as a partial derivative of ``f``.
    """
    inner = e.expr
    if isinstance(e, Subs):
        point = dict(zip(e.variables, e.point))
        inner = e.expr
        if not (isinstance(inner, Derivative) and
                isinstance(inner.expr, AppliedUndef)):
            raise unreadable(e)
        parts = tuple(a.xreplace(point) for a in inner.expr.args)
        wanted = inner
    else:
        parts, wanted = inner.args, e
    template = inner.func(*SLOTS[:len(parts)])
    if isinstance(inner, Derivative):
        template = inner.expr.func(*SLOTS[:len(parts)])
    arguments = (inner.expr if isinstance(inner, Derivative) else inner).args
    for variable in wanted.variables:
        if variable not in arguments:
            raise unreadable(e)
        template = template.diff(SLOTS[arguments.index(variable)])
    return template, parts


def combine(builder, e, template, refs):
    """Reference of an expression from the references of its operands."""
    if template is not None:
        return called(builder, template, refs)
    if isinstance(e, Add):
        return builder.sum(refs)
    if isinstance(e, Mul):
        product = 1
        for ref in refs:
            product = builder.mul(product, ref)
        return product
    if isinstance(e, Pow):
        base, exponent = refs[0], e.exp
        if not base and exponent < 0:
            raise ConstrainedDynamicsError(
                f"The denominator `{e.base}` vanishes for all values of its "
                "variables. Check the formula, or the zero that was "
                "substituted into it.", expression=e)
        if isinstance(exponent, Integer):
            return builder.power(base, int(exponent))
        return builder.power(builder.root(base, int(exponent.q)),
                             int(exponent.p))
    s, c = builder.sincos(refs[0])
    return {sin: lambda: s, cos: lambda: c,
            tan: lambda: builder.div(s, c), cot: lambda: builder.div(c, s),
            sec: lambda: builder.inv(c),
            csc: lambda: builder.inv(s)}[e.func]()


def called(builder, template, refs):
    """Reference of a template with operands, in the order of its slots."""
    if template in SLOTS:               # what SymPy made of it is an operand
        return refs[SLOTS.index(template)]
    if template.has(DiracDelta):
        # The derivative of a jump: it acts in an instant of measure zero.
        template = template.replace(lambda x: isinstance(x, DiracDelta),
                                    lambda x: S.Zero)
        if template.is_zero:
            return 0
    return builder.call(template, refs)


def partial(builder, k, i):
    """Reference of the partial derivative of a call by its operand ``i``."""
    _, index, refs = builder.nodes[k]
    key = index, i
    derived = builder.partials.get(key)
    if derived is None:
        template = builder.templates[index]
        derived = template.diff(SLOTS[i])
        if derived.has(Derivative) and not template.has(AppliedUndef):
            raise ConstrainedDynamicsError(
                f"The derivative of `{template.func.__name__}` is needed, and "
                "SymPy does not know it. Replace the function by one that "
                "can be differentiated.", function=template.func)
        builder.partials[key] = derived
    return bind(builder, derived, refs)


def bind(builder, template, refs):
    """Reference of an expression in slots whose operands are given."""
    used = {slot: ref for slot, ref in zip(SLOTS, refs)}
    local = {}

    def value(e):
        if e in used:
            return used[e]
        if e in local:
            return local[e]
        ref = None
        if not e.args:
            ref = leaf(builder, e)
        elif not isinstance(e, AppliedUndef) or e.args[0] not in used:
            ref = builder.bound.get(e)
        if ref is None:
            inner, parts = slots_of(e)
            ref = combine(builder, e, inner, [value(p) for p in parts])
        local[e] = ref
        return ref

    return value(template)
