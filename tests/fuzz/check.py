"""What every method makes of a random mechanism, against ``newton``."""
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import numpy as np
from mpmath import mp, mpf

from fuzz.mechanism import mechanism, without_void_rows
from fuzz.model import SympyModel
from fuzz.newton import (
    DIGITS, Inconsistent, NoState, Undetermined, admissible, dot, solution,
    underdetermined, vanishing)
from fuzz.writing import PLAIN, Writing, counts, writing
from sympy.physics.mechanics import dynamicsymbols

from sympy_constrained import (
    ConstrainedDynamicsError, ConstraintError, GibbsAppellMethod,
    HamelEmbedding, InconsistentConstraintsError, LinearMappingMethod,
    MissingIngredientError, RouthMethod, SingularEquationsError,
    UdwadiaKalabaMethod, UnsupportedFeatureError, VaccoMethod,
    constraint_report)
from sympy_constrained.graph import Graph, gradient
from sympy_constrained.numeric import compile_equations
from sympy_constrained.timing import time_limit

BLOCKS = 'M', 'Q', 'A', 'b'
t = dynamicsymbols._t
EXACT = mpf(10)**-35            # relative difference of blocks
# Constants in floats: some hundred operations with rounding errors of 1e-16.
ROUNDED = mpf(10)**-12
CLOSE = 1e-7                    # of accelerations in floating point
NEARLY_SINGULAR = 1e-5          # a rank that floating point may not tell
FLOATS = 4                      # of so many exact models, one in floats too
OTHERS = 3                      # of so many mechanisms, one by a second method
RECURSED = 3                    # of so many mechanisms, one recursively
BOUND = 120                     # seconds that a case may take


@dataclass
class Finding:
    """What came of one mechanism in one writing.

    ``kind`` is 'motion', 'inconsistent', 'undetermined' or 'vacuous', or why
    there was no state; ``verdicts`` are method -> 'agrees', 'refuses ...',
    or what is wrong; ``failures`` those that are wrong.
    """

    kind: str
    verdicts: dict = field(default_factory=dict)
    failures: list = field(default_factory=list)
    seconds: float = 0.
    writing: dict = field(default_factory=dict)

    def fail(self, method, text):
        self.verdicts[method] = 'WRONG'
        self.failures.append(f'{method}: {text}')


def drawn(seed, keep_void=0.03):
    """Mechanism and writing of a seed; most have no rows without effect."""
    random = Random(seed)
    found = mechanism(random)
    if random.random() >= keep_void:
        try:
            with mp.workdps(DIGITS):
                found = without_void_rows(found, vanishing(found))
        except NoState:
            pass
    return found, writing(random, found)


def examine(found, how=PLAIN, every=True):
    """Methods on one mechanism in one writing.

    All, or with ``every=False`` UdwadiaKalabaMethod and, for one of
    ``OTHERS`` mechanisms, another one.
    """
    began = time.perf_counter()
    with mp.workdps(DIGITS), warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            with time_limit(BOUND):
                result = examined(found, how, every)
        except Exception as error:
            result = Finding('trouble')
            result.fail('all', f'{type(error).__name__}: {error}\n'
                        + traceback.format_exc(limit=-6))
    result.seconds = time.perf_counter() - began
    result.writing = vars(how)
    return result


def examined(found, how, every):
    try:
        state = admissible(found)
        kind, void = 'motion', vanishing(found)
        try:
            wanted, _ = solution(state)
            if how.rough and not any(abs(a) > EXACT for a in wanted):
                return Finding('no state: residues are all there is')
        except Inconsistent:
            kind = 'inconsistent'
        except Undetermined:
            kind = 'undetermined'
    except NoState as reason:
        return Finding(f'no state: {reason}')
    if how.factors == 'time' and not state.t:
        return Finding('no state: factors of rows vanish')
    model = SympyModel(found, how)
    if how.rough and (void or kind != 'motion'):
        return Finding('no state: residues change what is not determined')
    result = Finding('vacuous' if void else kind)
    if result.kind != 'motion':
        refusal(result, model, state)
        return result
    values = every_value(model, state)
    answers = rates(model, state, wanted[:state.o])
    sample = blocks(result, model, state, values, answers)
    if sample is None:
        return result
    for method in methods(found, every):
        floats = how.rough or (
            method is UdwadiaKalabaMethod and not found.state % FLOATS)
        compare(result, method, model, values, answers, sample,
                state if floats else None)
    reactions(result, model, state, values, answers, wanted)
    if (how.shape, how.factors) == ('kane', 'none') and (
            every or not found.state % RECURSED):
        recursive(result, model, values, answers)
    return result


def every_value(model, state):
    """Numbers of all symbols, of rates of coordinates too."""
    values = model.values(state)
    for rate, value in zip(model.rates, state.rates):
        values.setdefault(rate, value)
    return values


def rates(model, state, accelerations):
    """Derivative -> number for coordinates, their rates and speeds."""
    second = [dot(row, accelerations) + bias
              for row, bias in zip(state.partial, state.bias)]
    found = dict(zip(model.rates, state.rates))
    found |= {x.diff(): a for x, a in zip(model.rates, second)}
    found |= {x.diff(): a for x, a in zip(model.u, accelerations)}
    return found


# -- methods --------------------------------------------------------------

EXPECTED = {'inconsistent': InconsistentConstraintsError,
            'undetermined': MissingIngredientError,
            'vacuous': ConstraintError}


def refusal(result, model, state):
    """A model without a motion is refused, with the right error."""
    name = UdwadiaKalabaMethod.__name__
    try:
        method = model.form(UdwadiaKalabaMethod)
        used = {*method.system.graph.inputs, *model.q, *model.u}
        constraint_report(method, {
            x: v for x, v in every_value(model, state).items() if x in used})
    except EXPECTED[result.kind]:
        result.verdicts[name] = 'refuses'
    except ConstrainedDynamicsError as error:
        # another error may come first: rows may contradict and lack mass
        result.verdicts[name] = f'refuses as {type(error).__name__}'
    else:
        result.fail(name, f'{result.kind}, but not refused')


def blocks(result, model, state, values, answers):
    """M, Q, A, b, and the power; the sample for methods, None if refused."""
    name = UdwadiaKalabaMethod.__name__
    try:
        method = model.form(UdwadiaKalabaMethod)
    except ConstrainedDynamicsError as error:
        result.fail(name, f'refuses: {error}')
        return None
    graph = method.system.graph
    found = graph.evaluate(values, BLOCKS, context=mp)
    M, Q = state.equations()
    _, speeds, places = model.order
    rows = state.rows()
    factors = [model.factor(k, state.t, mp.sin) for k in places]
    wanted = ([[M[i][j] for j in speeds] for i in speeds],
              [Q[i] for i in speeds],
              [[c*rows[k][2][j] for j in speeds]
               for k, c in zip(places, factors)],
              [c*rows[k][3] for k, c in zip(places, factors)])
    free = any(body.joint == 'quaternion rates'
               for body in model.mechanism.bodies)
    for block, numbers in zip(BLOCKS, wanted):
        if free and (block in 'Ab' or model.writing.shape == 'lagrange' or
                     block == 'Q' and model.writing.weights == 'other'):
            continue        # they depend on how rotations are continued
        if block in 'Ab' and len(found[block]) != len(numbers):
            continue        # a System adds rates of holonomic rows; those
            # that are recognized are left out
        if difference(found[block], numbers) > (
                ROUNDED if model.writing.rough else EXACT):
            result.fail(name, f'{block} differs')
    if not model.writing.rough and power_error(
            method.system, values, answers) > EXACT:
        result.fail(name, 'the power differs from the rate of the energy')
    used = {*graph.inputs, *model.q, *model.u}
    return {x: value for x, value in values.items() if x in used}


def power_error(system, values, answers):
    """Rate of the energy less the power of loads and constraint forces."""
    if not system.graph.shape('power')[0]:
        return 0
    g, out = system.graph.load(None, ('energy', 'power', 'M', 'Q'))
    moving = [x for x in (*system.q, *system.u, t) if x in g.bound]
    out['slopes'] = [gradient(g, out['energy'][0][0], [
        g.bound[x] for x in moving])]
    found = Graph.freeze(g, {
        name: (rows, len(rows[0]) if rows else 1)
        for name, rows in out.items()}).evaluate(values, context=mp)
    u, rates = ([of[x] for x in names] for of, names in (
        (values, system.u), (answers, [x.diff() for x in system.u])))
    parts = [slope*answers.get(x.diff(t), 1)
             for slope, x in zip(found['slopes'][0], moving)]
    parts += [-x*(dot(row, rates) - force) for x, row, (force,) in zip(
        u, found['M'], found['Q'])]
    parts.append(-found['power'][0][0])
    return abs(sum(parts))/max(mpf(1), *map(abs, parts))


def flat(numbers):
    return [x for row in numbers for x in (
        row if isinstance(row, (list, tuple)) else [row])]


def difference(one, other):
    one, other = flat(one), flat(other)
    assert len(one) == len(other)
    size = max(mpf(1), *map(abs, other)) if other else mpf(1)
    return max((abs(x - y) for x, y in zip(one, other)), default=0)/size


def methods(found, every):
    """The classes to try."""
    others = [RouthMethod, HamelEmbedding, LinearMappingMethod,
              GibbsAppellMethod]
    if all(row.kind in ('coincide', 'distance', 'gear', 'drive')
           for row in found.rows):
        others.append(VaccoMethod)  # the same motion if rows integrate
    if not every:
        number, skipped = divmod(found.state//FLOATS, OTHERS)
        others = [] if skipped else [others[number % len(others)]]
    return [UdwadiaKalabaMethod, *others]


def compare(result, method, model, values, answers, sample, state=None):
    """Accelerations of a method, in floating point too at a ``state``."""
    name = method.__name__
    try:
        options = {'sample': sample}
        if method is HamelEmbedding:
            options |= partition(model, values)
        formed = model.form(method, **options)
        equations = (formed.corrected.equations_of_motion
                     if method is HamelEmbedding
                     else formed.equations_of_motion)
        limit, error = EXACT, mpf(0)
        if not model.writing.rough:
            error = deviation(equations, formed, values, answers)
        if state and error < limit:
            error = in_floats(equations, formed, values, answers, state)
            limit = CLOSE
    except ConstrainedDynamicsError as error:
        # The velocities of all writings are those of the coordinates.
        if method is UdwadiaKalabaMethod or "Lagrange's" in str(error):
            result.fail(name, f'refuses: {type(error).__name__}: {error}')
        else:
            result.verdicts[name] = 'refuses: ' + ' '.join(
                str(error).split()[:6])
        return
    if error is None:
        result.verdicts[name] = 'agrees, and is refused in floats'
    elif error < limit:
        result.verdicts[name] = 'agrees'
    else:
        result.fail(name, f'accelerations differ by {float(error):.1e}')


def in_floats(equations, formed, values, answers, state):
    """Largest error of the compiled equations, None if they refuse rightly.
    """
    try:
        return deviation(equations, formed, values, answers, True)
    except ConstraintError:
        if condition(state) < NEARLY_SINGULAR:
            return None
        raise


def condition(state):
    """Smallest over largest singular value of the multiplier system.

    Of the rows that are independent.
    """
    M, _ = state.equations()
    rows = state.rows()
    A = np.array([rows[k][2] for k in solution(state)[1]], float).reshape(
        -1, len(M))
    W = np.block([[np.array(M, float), -A.T], [A, np.zeros((len(A), len(A)))]])
    for axis in (1, 0, 1, 0):
        W /= np.maximum(np.sqrt(np.abs(W).max(axis, keepdims=True)), 1e-150)
    sizes = np.linalg.svd(W)[1]
    return sizes[-1]/sizes[0]


def partition(model, values):
    """Arguments that name coordinates whose columns are independent."""
    method = model.form(UdwadiaKalabaMethod)
    order, speeds, _ = model.order
    rows = method.system.graph.evaluate(values, ('A',), context=mp)['A']
    chosen = []
    rows = [list(row) for row in rows]
    for k in range(len(rows)):
        size, i, j = max(((abs(x), i, j) for i, row in enumerate(rows[k:], k)
                          for j, x in enumerate(row)), default=(0, 0, 0))
        if size < (CLOSE if model.writing.rough else EXACT) or (
                speeds[j] >= len(model.q)):
            break
        chosen.append(model.q[speeds[j]])
        rows[k], rows[i] = rows[i], rows[k]
        for i in range(k + 1, len(rows)):
            c = rows[i][j]/rows[k][j]
            rows[i] = [x - c*y for x, y in zip(rows[i], rows[k])]
    if model.writing.shape == 'lagrange':
        return {'q_dependent': chosen}
    return {'q_ind': [model.q[i] for i in order
                      if model.q[i] not in chosen],
            'q_dependent': chosen}


def deviation(equations, formed, values, answers, floats=False):
    """Largest relative error of the rates of the states."""
    found, outer = evaluated(equations, formed, values, floats)
    error = largest_error(equations, found, outer, answers)
    if isinstance(formed, LinearMappingMethod):
        return max(error, force_error(
            formed, found[len(equations.states):], values, answers))
    return error


def evaluated(equations, formed, values, floats):
    """Rates of states and multipliers; the speeds that inner ones are."""
    known, outer = dict(values), {}
    if isinstance(formed, LinearMappingMethod):
        known |= quasi_velocities(formed, values)
    else:
        outer = dict(zip(equations.u, formed.u))
        for inner, x in outer.items():
            known.setdefault(inner, values[x])
    numbers = {x: known.get(x, mpf(0)) for x in (
        *equations.constants, *equations.states, equations.t)}
    if floats:
        return floating(equations, numbers, isinstance(
            formed, LinearMappingMethod)), outer
    return exact(equations, numbers), outer


def floating(equations, numbers, multipliers):
    """Rates, and multipliers if asked for, by the compiled equations."""
    compiled = compile_equations(equations, {
        x: float(numbers[x]) for x in equations.constants}, backend='numpy')
    t = float(numbers[equations.t])
    x = [float(numbers[state]) for state in equations.states]
    return [*compiled.rhs(t, x),
            *(compiled.multipliers(t, x) if multipliers else ())]


def exact(equations, numbers):
    """Rates and multipliers by a solution at 60 digits."""
    found = equations.graph.evaluate(numbers, ('rates', 'W', 'r'), context=mp)
    rates = [rate for rate, in found['rates']]
    return rates + underdetermined(
        found['W'], [x for x, in found['r']], len(equations.states)
        - len(rates))


def largest_error(equations, found, outer, answers):
    """Of the rates of the states, relative to the largest."""
    size = max(map(abs, answers.values()), default=0)
    size, worst, compared = max(size, mpf(1)), mpf(0), 0
    for state, rate in zip(equations.states, found):
        derivative = outer.get(state, state).diff(equations.t)
        if derivative in answers:
            compared += 1
            error = abs(answers[derivative] - mpf(rate))/size
            worst = error if mp.isnan(error) else max(worst, error)
    assert compared >= len(outer), 'nothing to compare accelerations to'
    return worst


def quasi_velocities(formed, values):
    """Numbers of the free quasi-velocities, ``u = a w + a_0``."""
    numbers = formed._mapped.evaluate(values, ('a', 'a0'), context=mp)
    speeds = [values[w] for w in formed.system.u]
    return {u: dot(row, speeds) + drift for u, row, (drift,) in zip(
        formed.u, numbers['a'], numbers['a0'])}


def force_error(formed, multipliers, values, answers):
    """Constraint forces of the mapping against ``M w' - Q``."""
    numbers = formed.system.graph.evaluate(values, BLOCKS, context=mp)
    rates = [answers[w.diff()] for w in formed.system.u]
    products = [dot(row, rates) for row in numbers['M']]
    rows = [numbers['A'][k] for k in formed.independent_rows]
    assert len(rows) == len(multipliers)
    size = max(mpf(1), *map(abs, products), *(abs(q) for q, in numbers['Q']))
    return max((abs(x - q - sum(
        row[i]*mpf(lam) for row, lam in zip(rows, multipliers)))
        for i, (x, (q,)) in enumerate(zip(products, numbers['Q']))),
        default=mpf(0))/size


def recursive(result, model, values, answers):
    """Accelerations by the recursive form, which not all models have."""
    method = model.form(UdwadiaKalabaMethod)
    equations = method.equations_of_motion
    try:
        compiled = compile_equations(method, recursion=True)
        assert compiled.states == equations.states
        found = compiled.rhs(values[equations.t], [
            float(mp.chop(values[x])) for x in equations.states], {
            x: float(values[x]) for x in compiled.constants})
    except (UnsupportedFeatureError, SingularEquationsError) as error:
        result.verdicts['recursion'] = f'refuses: {type(error).__name__}'
        return
    error = largest_error(equations, found, {}, answers)
    result.verdicts['recursion'] = 'agrees'
    if not error < CLOSE:
        result.fail('recursion', f'accelerations differ by {float(error):.1e}')


def reactions(result, model, state, values, answers, accelerations):
    """Forces and moments in the joints of a tree without rows."""
    found, how = model.mechanism, model.writing
    frames = [model.frame, *model.frames]
    if found.rows or found.shaking or how.rough or (
            (how.shape == 'lagrange') == (how.weights == 'usual')):
        return                          # or weights are no loads
    if len({*frames}) < len(frames) or not all(
            load.torque <= bool(found.bodies[load.body].inertia)
            and any(load.place[:2]) for load in found.loads) or any(
                body.joint == 'weld' for body in found.bodies):
        return              # it is not clear on what loads act, as on an axle
    try:
        known = model.form(UdwadiaKalabaMethod).joint_reactions([
            (f'joint{k}', None if body.parent < 0 else
             model.bodies[body.parent], model.bodies[k], model.joints[k])
            for k, body in enumerate(found.bodies)])
    except ConstrainedDynamicsError as error:
        result.verdicts['reactions'] = f'refuses: {type(error).__name__}'
        return
    numbers = known.graph.evaluate({**answers, **values}, context=mp)
    result.verdicts['reactions'] = 'agrees'
    if any(difference(numbers[f'joint{k}'], wanted) > EXACT
           for k, wanted in enumerate(state.reactions(accelerations))):
        result.fail('reactions', 'differ')


# -- one mechanism in several writings -------------------------------------

def rewriting(found, writings):
    """Texts on writings whose result differs from that of the first one.

    Results are accelerations or refusals; mechanisms that have no motion are
    left out. No result needs to be known.
    """
    with mp.workdps(DIGITS), warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            state = admissible(found)
            solution(state)
        except (NoState, Undetermined, Inconsistent):
            return []
        if vanishing(found):
            return []
        results = [(how, motion(SympyModel(found, how), state))
                   for how in writings]
    texts, first = [], results[0][1]
    for how, result in results[1:]:
        if isinstance(first, str) or isinstance(result, str):
            if type(first) is not type(result):
                texts.append(f'{how}: {result}, not {first}')
            continue
        error = difference(result, first)
        if not error < (CLOSE if how.rough else EXACT):
            texts.append(f'{how}: differs by {float(error):.1e}')
    return texts


def motion(model, state):
    """Rates of the speeds by UdwadiaKalabaMethod, or the name of an error.
    """
    try:
        method = model.form(UdwadiaKalabaMethod)
        equations = method.equations_of_motion
        found, outer = evaluated(equations, method, every_value(
            model, state), model.writing.rough)
    except ConstrainedDynamicsError as error:
        return type(error).__name__
    rates = {outer.get(x, x): rate for x, rate in zip(equations.states, found)}
    return [mpf(rates[u]) for u in model.u]


def summary(findings):
    """Counts of choices, kinds and verdicts as text."""
    findings = list(findings)
    kinds = Counter(finding.kind for finding in findings)
    verdicts = Counter(
        (method, text) for finding in findings
        for method, text in finding.verdicts.items())
    lines = [f'{name:>14}  ' + ', '.join(
        f'{value} {count}' for value, count in sorted(
            counter.items(), key=lambda item: (-item[1], str(item[0]))))
        for name, counter in counts(
            Writing(**finding.writing) for finding in findings
            if finding.verdicts).items()]
    lines += [f'{count:7d}  {kind}' for kind, count in kinds.most_common()]
    lines += [f'{count:7d}  {method}: {text}' for (method, text), count in
              sorted(verdicts.items(), key=lambda item: (
                  item[0][0], -item[1]))]
    return '\n'.join(lines)
