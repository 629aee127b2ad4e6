"""SymPy expressions into the graph.

Every expression object is read once per builder. Arithmetic, powers with
rational exponents and the trigonometric functions become nodes; any other
function becomes a call: a SymPy expression with slots for its operands.
"""
from collections import ChainMap
from fractions import Fraction

from sympy import (
    Add, Derivative, Dummy, Expr, Float, Heaviside, Integer, Max, Mul,
    NumberSymbol, Piecewise, Pow, Rational, S, Symbol, SympifyError, Tuple,
    UnevaluatedExpr, cos, cot, csc, exp, sec, sin, sympify, tan)
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.core.function import AppliedUndef, Subs
from sympy.functions.combinatorial.factorials import factorial
from sympy.functions.special.delta_functions import DiracDelta
from sympy.functions.special.gamma_functions import gamma
from sympy.functions.special.singularity_functions import SingularityFunction
from sympy.matrices.expressions.matexpr import MatrixElement
from sympy.physics.biomechanics.curve import CharacteristicCurveFunction
from sympy.physics.units import Quantity
from sympy.physics.units.prefixes import Prefix
from sympy.tensor.indexed import Indexed

from ..errors import ConstrainedDynamicsError, warn

MOST_SLOTS = 511
# Numbered by hand, so that a pickled graph means the same in any process.
SLOTS = tuple(Dummy(f'slot{i}', dummy_index=7000000 + i, real=True)
              for i in range(MOST_SLOTS + 1))


def derivative(x, time, count=1):
    """The time derivative of a function of time; SymPy's is slow."""
    if isinstance(x, AppliedUndef):
        return Expr.__new__(Derivative, x, Tuple(time, Integer(count)))
    return Derivative(x, (time, count))


def read(builder, expr):
    """Return the reference of a SymPy expression.

    A :exc:`.ConstrainedDynamicsError` is raised for what is not a real scalar:
    ``I``, ``nan``, infinities, matrices, unevaluated logic.
    """
    if expr is S.Zero:                  # most entries of matrices
        return 0
    if not isinstance(expr, Expr):
        try:
            expr = sympify(expr, strict=True)   # text is never evaluated
        except SympifyError:
            raise unreadable(expr) from None
    ref = builder.read.get(id(expr))
    return reference(builder, expr, builder.read, builder.bound
                     ) if ref is None else ref


def read_template(builder, template, refs):
    """The same of an expression whose slots are these references."""
    return reference(builder, template, {}, ChainMap(
        dict(zip(SLOTS, refs)), builder.bound))


def reference(builder, expr, memo, bound):
    """Reference of an expression in which some symbols are ``bound``.

    ``memo`` maps the ``id`` of an expression to its reference, because
    SymPy's hashes are slow; the builder keeps the expression.
    """
    stack, begun, keep = [expr], {}, builder.kept.append
    while stack:
        e = stack[-1]
        kind, template = type(e), None
        # compared one by one: the hash of an undefined function is slow
        if kind is Mul or kind is Add or kind is sin or kind is cos:
            parts = e.args
        else:
            ref = None if kind is Pow else leaf(builder, e, bound)
            if ref is not None:
                memo[id(e)] = ref
                keep(stack.pop())
                continue
            template, parts = begun.get(id(e)) or slots_of(e)
        refs = [*map(memo.get, map(id, parts))]
        if None in refs:
            begun[id(e)] = template, parts      # slots_of may make new ones
            stack += [part for part, ref in zip(parts[::-1], refs[::-1])
                      if ref is None]
            continue
        memo[id(e)] = (builder.product(refs) if kind is Mul else
                       builder.sum(refs) if kind is Add else
                       combine(builder, e, template, refs))
        keep(stack.pop())
    return memo[id(expr)]


def leaf(builder, e, bound):
    """Reference of an expression without operands, else None."""
    ref = bound.get(e)
    if ref is not None:
        return ref
    if isinstance(e, Prefix):
        e = e.scale_factor
    if isinstance(e, (Rational, Float, NumberSymbol)):
        return number(builder, e)
    if isinstance(e, (Symbol, Indexed, MatrixElement, Quantity)):
        if not e.is_commutative:
            raise unreadable(e)
        return builder.input(e, dynamic=e in {builder.time})    # by hash
    if is_function_of(e, builder.time):
        return builder.input(e, dynamic=True)
    if not isinstance(e, Expr) or e.is_Atom or e.is_Matrix:
        raise unreadable(e)
    return None


def number(builder, e):
    if isinstance(e, NumberSymbol):
        return builder.call(e, ())
    if isinstance(e, Rational):
        return builder.constant(exact(e))
    if not e.is_finite:
        raise unreadable(e)
    sign, man, exponent, _ = e._mpf_
    value = Fraction(int(man))*Fraction(2)**exponent
    return builder.constant(-value if sign else value, e)


def exact(e):
    return int(e.p) if e.q == 1 else Fraction(int(e.p), int(e.q))


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


def not_evaluated(e):
    return ConstrainedDynamicsError(
        f"The model contains `{e}`. Integrals, sums and impulses are not "
        "evaluated here: call `.doit()` on an integral or a sum, model "
        "an impulse by `Heaviside` or by an event of the simulation. "
        "Exponents of a `SingularityFunction` must be known to be zero or "
        "more.",
        expression=e)


def in_pieces(e):
    """A singularity function (Macaulay's bracket) that is no impulse."""
    x, start, exponent = e.args
    if not exponent.is_nonnegative:
        raise not_evaluated(e)
    if exponent == 0:
        return Heaviside(x - start, 1)
    if exponent == 1:                   # whose slope jumps
        return Max(x - start, 0)
    return Piecewise(((x - start)**exponent, x >= start), (0, True))


def slots_of(e):
    """Return an expression's template (or None) and its operands."""
    if isinstance(e, (tan, cot, sec, csc)):
        return None, e.args
    if isinstance(e, exp):
        return exp(SLOTS[0]), (e.exp,)
    if isinstance(e, Pow):
        if rational_exponent(e) is not None:
            return None, (e.base,)
        return Pow(SLOTS[0], SLOTS[1], evaluate=False), e.args
    known = in_known_functions(e)
    if known is not None:
        return SLOTS[0], (known,)
    if isinstance(e, (Derivative, Subs)):
        return of_user_function(e)
    return of_call(e)


def in_known_functions(e):
    """The same expression in functions that have derivatives, or None."""
    if isinstance(e, (ExprWithLimits, DiracDelta)):
        raise not_evaluated(e)
    if isinstance(e, UnevaluatedExpr):  # as in SymPy's muscles
        return e.args[0]
    if isinstance(e, CharacteristicCurveFunction):
        return e.doit(deep=False)   # not of all arguments, as trees
    if isinstance(e, factorial):        # between integers, too
        return gamma(e.args[0] + 1)
    if isinstance(e, SingularityFunction):
        return in_pieces(e)
    if isinstance(e, Derivative) and not isinstance(e.expr, AppliedUndef):
        return real_derivative(e.expr, *e.variables)
    return None


def of_call(e):
    # The pieces of a choice have own slots, so that they have derivatives.
    pieces = [x for x, _ in e.args] if isinstance(e, Piecewise) else []
    parts = {}

    def slot(i):
        return SLOTS[min(i, MOST_SLOTS)]

    def slotted(x):
        if getattr(x, 'is_Matrix', False):
            raise unreadable(e)
        if isinstance(x, Expr):
            return parts.setdefault(x, slot(len(pieces) + len(parts)))
        return x.func(*map(slotted, x.args)) if x.args else x

    template = e.func(*([(slot(i), slotted(c)) for i, (_, c) in enumerate(
        e.args)] if pieces else map(slotted, e.args)))
    if len(pieces) + len(parts) > MOST_SLOTS:
        raise ConstrainedDynamicsError(
            f"A `{e.func.__name__}` has more than {MOST_SLOTS} different "
            "parts. Give it as a specified function of time, or split it.")
    return template, (*pieces, *parts)


def rational_exponent(e):
    """The exact exponent of a power, or None; 0.5 and 0.25 count."""
    if isinstance(e.exp, Rational):
        return exact(e.exp)
    if isinstance(e.exp, Float) and e.exp.is_finite:
        value = Fraction(float(e.exp))
        if value.denominator <= 4 and abs(value) < 100:
            return value
    return None


def real_derivative(expr, *variables):
    """A derivative where symbols and functions of time are real."""
    # For complex symbols SymPy does not finish the derivative of ``Abs``.
    derived = expr
    for x in variables:
        derived = derived.diff(x) if derived.has(Subs) else by_real(derived, x)
    if any(not isinstance(x.expr, AppliedUndef)
           for x in derived.atoms(Derivative)):
        raise without_derivative(expr)
    return without_impulses(derived, expr)


def by_real(expr, x):
    """One derivative with dummies for symbols and functions of time."""
    names = {y: Dummy(real=True) for y in expr.atoms(
        Symbol, AppliedUndef, Derivative) if is_plain(y)}
    plain = expr.xreplace(names)
    derived = Add(*(plain.diff(z)*y.diff(x) for y, z in names.items()
                  if y == x or x in y.free_symbols))
    return derived.xreplace({z: y for y, z in names.items()})


def is_plain(e):
    """Whether this is a symbol, ``f(t)`` or one of its derivatives."""
    if isinstance(e, Derivative):
        return is_plain(e.expr)
    return isinstance(e, Symbol) or isinstance(e, AppliedUndef) and all(
        isinstance(x, Symbol) for x in e.args)


def of_user_function(e):
    """Template and operands of ``Derivative(f(x(t)), x(t))``, a partial
    derivative of ``f``, and of ``Subs(Derivative(f(v), v), v, g)``.
    """
    derivative, point = e, {}
    if isinstance(e, Subs):
        derivative, point = e.expr, dict(zip(e.variables, e.point))
    function = getattr(derivative, 'expr', None)
    if not isinstance(function, AppliedUndef) or any(
            v not in function.args for v in derivative.variables):
        raise unreadable(e)
    arguments = function.args
    template = function.func(*SLOTS[:len(arguments)])
    for variable in derivative.variables:
        template = template.diff(SLOTS[arguments.index(variable)])
    return template, tuple(x.xreplace(point) for x in arguments)


# Of a sine, a cosine and one.
QUOTIENTS = {sin: (0, 2), cos: (1, 2), tan: (0, 1), cot: (1, 0), sec: (2, 1),
             csc: (2, 0)}


def combine(builder, e, template, refs):
    """Reference of an expression from the references of its operands."""
    if template is not None:            # SymPy may reduce it to an operand
        return refs[SLOTS.index(template)] if template in SLOTS else (
            builder.call(template, refs))
    if isinstance(e, Pow):
        return rational_power(builder, e, refs[0])
    parts = *builder.sincos(refs[0]), 1
    numerator, denominator = QUOTIENTS[type(e)]
    return builder.div(parts[numerator], parts[denominator])


def rational_power(builder, e, base):
    exponent = rational_exponent(e)
    if not base and exponent < 0:
        raise ConstrainedDynamicsError(
            f"The denominator `{e.base}` vanishes for all values of its "
            "variables. Check the formula, or the zero that was substituted "
            "into it.", expression=e)
    if exponent.denominator > 1 and exponent > 1:
        # a single function, whose derivative does not divide by a root
        return builder.call(Pow(SLOTS[0], Rational(
            exponent.numerator, exponent.denominator)), (base,))
    if exponent.denominator > 1:
        base = builder.root(base, exponent.denominator)
    return builder.power(base, exponent.numerator)


def chosen(template):
    """Indices of the operands among which a template chooses, else none."""
    if not isinstance(template, Piecewise):
        return ()
    return {SLOTS.index(x) for x, _ in template.args}


def partial(builder, k, i):
    """Reference of the partial derivative of a call by its operand ``i``."""
    _, index, refs = builder.nodes[k]
    key = index, i
    derived = builder.partials.get(key)
    if derived is None:
        template = builder.templates[index]
        derived = template.diff(SLOTS[i])
        if derived.has(Derivative) and not template.has(AppliedUndef):
            raise without_derivative(template.func.__name__, template.func)
        derived = without_impulses(derived, template.func.__name__)
        builder.partials[key] = derived
    return read_template(builder, derived, refs)


def without_derivative(name, function=None):
    return ConstrainedDynamicsError(
        f"The derivative of `{name}` is needed, and SymPy does not know it. "
        "Replace the function by one that can be differentiated.",
        function=function)


def without_impulses(derived, name):
    """A derivative between the jumps of a function; warns if it jumps."""
    if not derived.has(DiracDelta):
        return derived
    warn(f"The derivative of a `{name}` has an impulse where the function "
         "jumps. It is left out: the equations hold between the jumps.")
    return derived.replace(DiracDelta, lambda *_: S.Zero)
