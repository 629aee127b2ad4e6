"""States that satisfy the constraints, found in high precision.

They are looked for by Levenberg-Marquardt steps at 30 digits or more, from
random values or from a sample of the user's. Whether rows are independent
there is decided by Gram-Schmidt, in the user's order of the rows.
"""
from collections.abc import Mapping
from dataclasses import replace
from random import Random

from mpmath import fp, mp
from sympy import Derivative, sin, sympify
from sympy.core.function import AppliedUndef

from ..errors import (
    InconsistentConstraintsError, MissingIngredientError, check_kind,
    raise_problems)
from ..graph.calculus import gradient
from ..model.build import kinematics_of
from ..model.call_signatures import as_expression, check_known
from ..precision import DIGITS, precise

# The new part of a row, relative to its size, that makes it independent. A
# double root is met to the square root of the residual, and must count as 0.
DEPENDENT = mp.mpf('1e-11')
# Both, where constants are floats, which meet special dimensions to their
# own digits only.
INEXACT, DEPENDENT_THERE = mp.mpf('1e-12'), mp.mpf('1e-6')
ATTEMPTS, FEW = 40, 4
NEAR = 1e-6             # what floats may leave of a state worth more digits
PATIENCE = 20           # steps that at least halve the distance


def admissible_values(system, sample=None, seed=0, digits=DIGITS,
                      first=False):
    """Return values of all inputs that satisfy the constraints.

    The dictionary ``sample`` has values to start from, of constants,
    coordinates, speeds, time or specified functions; the others are random,
    constants positive. Given constants are kept, states are moved onto the
    constraints. Where constants are floats, the most regular of several states
    is taken, or the ``first``. A :exc:`.ConstraintError` is raised if no state
    is found, ValueError if a symbol of the sample is not in the model, or its
    value no number.
    """
    random = Random(f'admissible {seed}')
    check_sample(system, sample)
    exact = not has_floats(system, sample)
    posed = with_rotations(system)
    least, nearest, candidates = mp.inf, (), []
    with precise(digits):
        small = settled() if exact else INEXACT
        for attempt in range(ATTEMPTS):
            values = random_values(system, sample, random, attempt + seed)
            level, left = move_onto(posed, values, small, attempt % 2 == 0)
            if not is_real(system, values):
                continue                # outside the domain of a function
            if left < small:
                if exact or first:
                    return values
                candidates.append(values)
            if candidates and attempt >= FEW:
                return most_regular(system, candidates)
            residuals, _ = residuals_at(
                posed, values, level, f'{level}_jacobian', mp)
            if norm(residuals) < least:
                least = norm(residuals)
                nearest = level, list(map(abs, residuals))
    raise no_state(system, *nearest)


def nearest_to_zero(system, values):
    """Values as given, with the coordinates near zero; a list of one or none.

    What is zero by symmetry stays zero.
    """
    values = {**values, **dict.fromkeys(system.q, mp.mpf(0)), **dict.fromkeys(
        (x for x in system.graph.inputs if isinstance(
            x, (AppliedUndef, Derivative)) and x not in system.u), mp.mpf(0))}
    with precise():
        _, left = move_onto(system, values, settled(), True)
        return [values] if left < settled() else []


def settled(context=mp):
    """The largest residual of a state on the constraints."""
    return context.mpf(10)**(5 - context.dps)


def move_onto(system, values, small, careful):
    """Move a state onto the constraints, in place."""
    for level, unknowns in ('holonomic', system.q), ('velocity', system.u):
        rows = settle(system, values, level, f'{level}_jacobian', unknowns,
                      careful)
        left = max(rows, default=mp.mpf(0))
        if not left < small:
            break
    return level, left


def no_state(system, level='', remaining=()):
    if not level:
        return InconsistentConstraintsError(
            f"None of {ATTEMPTS} states that were tried has finite real "
            "values of the constraints and of the equations of motion: a "
            "function is outside of its domain, or something is divided by "
            "zero where the constraints hold. Correct the model, or pass "
            "`sample={symbol: number, ...}` with values near a state that "
            "has them.")
    count = system.graph.outputs[level][0]
    worst = {k: x for k, x in enumerate(remaining) if x > max(remaining)/10}
    text = ', '.join(
        f'{mp.nstr(x, 3)} in ' + (
            system.constraint_names[k] if k < count
            else 'the norm of Euler parameters') for k, x in worst.items())
    return InconsistentConstraintsError(
        "No state was found that satisfies the constraints: the best of "
        f"{ATTEMPTS} attempts leaves a residual of {text}. The constraints "
        "may contradict each other, or need special dimensions; "
        "correct them, or pass `sample={symbol: number, ...}` with values "
        "near a state that satisfies them.",
        rows=tuple(k for k in worst if k < count))


def with_rotations(system):
    """The constraints of a system, and the norms of its Euler parameters."""
    # The kinematics preserve these norms, so a model need not state them.
    if not system.graph.shape('rotation')[0]:
        return system
    kinematics = kinematics_of(system)
    g = kinematics.builder
    _, out = system.graph.load(g, (
        'holonomic', 'holonomic_jacobian', 'velocity', 'velocity_jacobian',
        'rotation'))
    residuals = [x for x, in out['rotation']]
    for level, rows, x in (
            ('holonomic', residuals, kinematics.q),
            ('velocity', map(kinematics.bias, residuals), kinematics.u)):
        rows = [row for row in rows if row]
        out[level] += [[row] for row in rows]
        out[f'{level}_jacobian'] += [gradient(g, row, x) for row in rows]
    return replace(system, graph=system.graph.updated(g, out))


def is_real(system, values):
    try:
        out = evaluated(system, values, ('M', 'Q', 'A', 'b'))
    except ArithmeticError:
        return False
    return all(mp.isfinite(x)
               for rows in out.values() for row in rows for x in row)


def most_regular(system, candidates):
    """The first of the states at which most rows are independent."""
    # Dimensions that are floats may be met best at a singular state.
    def rank(values):
        rows = evaluated(system, values, ('A',))['A']
        sizes = sizes_elsewhere(system, values, list(map(norm, rows)))
        return len(orthonormal_rows(rows, DEPENDENT_THERE, sizes)[0])

    return max(candidates, key=rank)


def has_floats(system, sample):
    """Whether a constant is known to the digits of a float only."""
    states = {*system.q, *system.u}
    return system.graph.has_floats or any(
        x not in states and not sympify(value, strict=True).is_Rational
        for x, value in (sample or {}).items())


def check_sample(system, sample, name='sample'):
    if sample is None:
        return
    check_kind(name, sample, Mapping,
               "Give a dictionary of symbols and numbers.")
    check_known(name, sample, (
        *system.graph.inputs, *system.q, *system.u, system.t,
        *system.symbols))
    raise_problems((
        f"`{name}` has {value!r} for {x}. Give one finite real number."
        for x, value in sample.items() if not is_real_number(value)),
        ValueError)


def is_real_number(value):
    number = as_expression(value)
    return bool(getattr(number, 'is_comparable', False)) and (
        number.is_finite is not False)


def random_values(system, sample, random, attempt):
    """Random numbers for all inputs, near the sample where it has one."""
    # The first attempt takes the sample as it is; the sizes of constants
    # differ more in later ones.
    states = {*system.q, *system.u}
    reach = (1 + mp.mpf(attempt)/10)*10**(attempt//8)
    values = {}
    for x in (*system.graph.inputs, *system.q, *system.u, system.t):
        number = mp.mpf(random.randint(1, 10**9))/10**9
        values[x] = (reach*(2*number - 1) if x in states
                     else (mp.mpf('0.5') + number)**(1 + attempt//8))
    for x, value in (sample or {}).items():
        near = values[x]*attempt/100 if x in states else 0
        values[x] = sympify(value, strict=True)._to_mpmath(mp.prec) + near
    return values


def stand_ins(system):
    """Smooth functions in the place of undefined ones, by their class."""
    functions = {f.func for template in system.graph.templates
                 for f in template.atoms(AppliedUndef)}
    result = {}
    for k, function in enumerate(sorted(functions, key=str)):
        def smooth(*x, k=k):
            return sin(sum((i + 2 + k)*y for i, y in enumerate(x))/3 + k)/4
        result[function] = smooth
    return result


def evaluated(system, values, names, context=mp):
    """Outputs at the precision of mpmath; ArithmeticError if not real."""
    try:
        out = system.graph.evaluate(values, names, context, stand_ins(system))
    except MissingIngredientError:
        raise
    except (AttributeError, TypeError, ValueError):
        # complex: no order, no `atan2`; an infinite angle
        out = None
    if out is None or any(isinstance(x, context.mpc) for rows in out.values()
                          for row in rows for x in row):
        raise ArithmeticError("The equations are not real at this state.")
    return out


def settle(system, values, residual, jacobian, unknowns, careful=True):
    """Move the unknowns onto the residuals, in place; return what is left.

    What is left is a distance: residuals over the norm of their gradient,
    relative to unknowns above one.

    Levenberg-Marquardt steps ``-J^T*(J*J^T + mu)^-1*h``, ``mu`` as ``|h|^2``.
    They converge quadratically to a nearby solution also where the solutions
    are not isolated and rows are redundant on them; steps of full rank would
    be drawn to the singular points [1]_. Rows that are nearly parallel for
    good need those: if not ``careful``, ``mu`` vanishes faster.

    The steps are made in floats first, which are many times faster, and in
    all digits from where these end.

    .. [1] N. Yamashita and M. Fukushima, "On the rate of convergence of the
       Levenberg-Marquardt method," Computing Suppl. 15 (2001) 239-249.

    """
    if not system.graph.outputs[residual][0]:
        return []
    problem = system, residual, jacobian, unknowns, careful
    near = {x: float(value) for x, value in values.items()}
    left = descended(fp, near, *problem)
    values.update({x: mp.mpf(near[x]) for x in unknowns
                   if near[x] != float(values[x])})     # a sample is exact
    return descended(mp, values, *problem) if max(left) < NEAR else left


def descended(context, values, system, residual, jacobian, unknowns, careful):
    """What steps in one context leave of the residuals."""
    h, J = residuals_at(system, values, residual, jacobian, context)
    weights = [1/(norm(row, context) or 1) for row in J]
    h, J = weighted(weights, h, J)
    damping = context.one
    least = context.mpf('0.01') if careful else context.eps
    size, squares = largest(values, unknowns), []
    for k in range(2*mp.dps):
        square = context.fdot(h, h)
        if not mp.isfinite(square) or max(
                map(abs, h)) < settled(context)*size/100 or (
                k >= PATIENCE and square > squares[k - PATIENCE]/4):
            break
        squares.append(square)
        step = damped_step(h, J, damping*square/(square + size**2), context)
        if step is None:
            break
        trial = {**values, **{x: values[x] - dx
                              for x, dx in zip(unknowns, step)}}
        moved = weighted(weights, *residuals_at(
            system, trial, residual, jacobian, context))
        if context.fdot(moved[0], moved[0]) < square:
            values.update(trial)
            h, J = moved
            size = largest(values, unknowns)
            damping = max(damping/(4 if careful else 100), least)
        else:
            damping *= 16
    return [abs(x)/size for x in h]


def largest(values, unknowns):
    return max([1, *(abs(values[x]) for x in unknowns)])


def damped_step(h, J, mu, context):
    """``J^T*(J*J^T + mu)^-1*h``, None if there is nowhere to go."""
    gram = [[context.fdot(a, b) for b in J] for a in J]
    scale = max(row[i] for i, row in enumerate(gram))
    if not scale:
        return None
    # Relative to the largest, for pivots are compared with one.
    gram = context.matrix([[x/scale for x in row] for row in gram])
    mu += 10_000*context.eps
    for i in range(len(h)):
        gram[i, i] += mu
    y = context.cholesky_solve(gram, context.matrix(h))/scale
    return [context.fdot(y, column) for column in zip(*J)]


def weighted(weights, h, J):
    return ([weight*x for weight, x in zip(weights, h)],
            [[weight*x for x in row] for weight, row in zip(weights, J)])


def residuals_at(system, values, residual, jacobian, context):
    """Residuals and rows of their Jacobian; infinite where undefined."""
    count, columns = system.graph.outputs[jacobian]
    nowhere = [context.inf]*count, [[context.zero]*columns]*count
    try:
        out = evaluated(system, values, (residual, jacobian), context)
    except ArithmeticError:
        return nowhere
    h = [row[0] for row in out[residual]]
    if not all(map(mp.isfinite, h)):
        return nowhere
    return h, out[jacobian]


def sizes_elsewhere(system, values, sizes):
    """Sizes of the rows of ``A`` beside the constraints, at least as here."""
    random = Random('elsewhere')
    moved = dict(values)
    for x in (*system.q, *system.u):
        moved[x] = values[x] + mp.mpf(random.randint(1, 10**9))/10**9/3
    try:
        rows = evaluated(system, moved, ('A',))['A']
    except ArithmeticError:
        return sizes
    return [max(x, norm(row)) for x, row in zip(sizes, rows)]


def orthonormal_rows(rows, tolerance=DEPENDENT, sizes=None):
    """Orthonormal basis of the rows in order, by Gram-Schmidt twice.

    A row extends the basis if more than ``tolerance`` of it is new. With
    ``sizes``, those of the rows elsewhere, a row that is as good as zero does
    not. Returns the basis, and pairs of a row number and coefficients: the
    rows that extended the basis, in terms of it.
    """
    basis, extended = [], []
    for k, row in enumerate(rows):
        size = norm(row)
        if not size or sizes and size < tolerance*sizes[k]:
            continue
        rest, used = project_out(row, basis)
        length = norm(rest)
        if length > tolerance*size:
            basis.append([x/length for x in rest])
            extended.append((k, used + [length]))
    return basis, extended


def norm(row, context=mp):
    return context.sqrt(context.fdot(row, row))


def project_out(row, basis):
    """What is left of a row, and its components along the basis."""
    rest, total = list(row), [mp.mpf(0)]*len(basis)
    for _ in range(2):
        for i, e in enumerate(basis):
            component = mp.fdot(rest, e)
            total[i] += component
            rest = [x - component*y for x, y in zip(rest, e)]
    return rest, total
