"""Numbers for constants, states and inputs; what is computed from them."""
import numpy as np
from errors.parts import (
    VALUES, Case, L, M, driven, flat, g, l, m, rod, t, x, y, z)
from sympy import Function, Symbol, oo, sin, sqrt

from sympy_constrained import GibbsAppellMethod, HamelEmbedding, VaccoMethod
from sympy_constrained.errors import (
    ConstraintError, MissingIngredientError, NotFiniteError, SimulationError,
    SingularEquationsError, UnsupportedFeatureError)
from sympy_constrained.graph import Graph
from sympy_constrained.numeric import (
    compile_equations, consistent_state, identify, linearize,
    matching_multipliers, simulate, sweep)
from sympy_constrained.report import report

f = Function('f')
START = {x: 1, y: 0, x.diff(): 0, y.diff(): 0}
PENDULUM = rod()
COMPILED = compile_equations(PENDULUM, VALUES)
PUSHED = flat(Lagrangian=L + z*x)
HIDDEN = flat(Lagrangian=L + f(x))
EDGE = flat(Lagrangian=L + m*sqrt(y - 1))


def compiled(constants=VALUES, model=PENDULUM, **options):
    return compile_equations(model, constants, **options)


def run(model=COMPILED, end=0.1, start=START, **options):
    return simulate(model, end, start, **options)


CONSTANTS = (
    Case('a misspelt constant', lambda: compiled({
        'm': 1, 'g': 9.81, 'll': 1}),
         ValueError, "`constants`: 'll' is no constant; did you",
         'mean l?; no value for l',
         'Each constant takes one finite real number'),
    Case('a constant with other assumptions', lambda: compiled({
        Symbol('m', positive=True): 1, g: 9.81, l: 1}),
         ValueError, "`constants`: 'm' has the name of a constant",
         'and is another symbol (perhaps with other',
         'Each constant takes one finite real number'),
    Case('a constant given by symbol and by name',
         lambda: compiled({**VALUES, 'm': 2}), ValueError, '`constants`: m',
         'is given twice', 'Each constant takes one finite real number'),
    Case('several wrong constants', lambda: compiled({
        m: 'one', g: oo, 'length': 1}),
         ValueError, "`constants`: m: 'one' is not a real number;",
         'give a finite one; g: inf is not finite;',
         'Each constant takes one finite real number'),
    Case('constants in a list that is too short', lambda: compiled([1, 2]),
         ValueError, '`constants` has 2 values for 3 constants', '(m, g, l)',
         'Give one for each'),
    Case('no constants at all', lambda: compiled(None).rhs(0, [1, 0, 0, 0]),
         MissingIngredientError, 'No values', 'constants m, g, l', 'Pass `co'),
    Case('constants of a call in a list that is too short',
         lambda: COMPILED.rhs(0, [1, 0, 0, 0], [1, 2]), ValueError,
         '`p` has shape (2,) for', '3 constants (m, g, l)',
         'Give one number for each'),
    Case('constants of a call that are not finite',
         lambda: COMPILED.rhs(0, [1, 0, 0, 0], [1, np.nan, 1]), ValueError,
         '`p` is not finite', 'it is array([ 1., nan, 1.])',
         'Give finite numbers'),
    Case('constants of a call that are text',
         lambda: COMPILED.rhs(0, [1, 0, 0, 0], ['1', 'g', '1']), TypeError,
         "`p` is ['1', 'g', '1'], which is no array", 'of real numbers',
         'Give the numbers in order'),)

MODELS = (
    Case('a model that is a number', lambda: compile_equations(3),
         UnsupportedFeatureError, '3 has no `mass_matrix_full`',
         'and `forcing_full`', 'Equations are read from KanesMethod,'),
    Case('machine code of the backend of NumPy',
         lambda: compiled(backend='numpy').native_function(),
         UnsupportedFeatureError, "backend='numpy' has", 'no machine code',
         "Compile the equations with backend='llvm' (extra"),
    Case('machine code of an output that is not there',
         lambda: compiled().native_function('forces'), KeyError,
         "The graph has no output 'forces'",
         'it has M, Q, energy, power, mass_rates,', 'Choose among these'),
    Case('a function without a numeric meaning',
         lambda: compiled({m: 1, g: 1}, HIDDEN).rhs(0, [1, 0, 0, 0]),
         UnsupportedFeatureError, 'No numeric meaning', 'is known for f',
         'Replace it by a SymPy expression, or attach a'),
    *(Case(f'text {k}', f, TypeError, 'is the text', 'not evaluated', 'Give')
      for k, f in enumerate((
          lambda: COMPILED.expression('x'), lambda: COMPILED.jacobian(['x']),
          lambda: run(adjoint=True).gradient([g], cost='x')))),
    Case('an expression without value at a state',
         lambda: COMPILED.expression(1/y)(0, [1, 0, 0, 0]),
         NotFiniteError, 'The outputs expr are not finite real numbers',
         'Something divides by zero, leaves the',
         'Correct the state or the constants, or keep away'),
    Case('states in an array that is too short',
         lambda: COMPILED.rhs(0, [1, 0, 0]), ValueError, '`x` has',
         'shape (3,)', "it must be (4,) for the states x, y, x', y', or"),
    Case('states before the time, as in `odeint`',
         lambda: COMPILED.rhs([1, 0, 0, 0], 0), ValueError, '`x` has shape ()',
         'If you exchanged time and states', 'the order is (t, x, p)'),
    Case('several times for one state',
         lambda: COMPILED.multipliers([0, 1], [1, 0, 0, 0]), ValueError,
         '`t` has shape (2,)', 'for one state',
         'Give one time, or a batch of states'),
    Case('a time that is not finite',
         lambda: compiled(None, flat(Lagrangian=L + x*t**2)).rhs(
             np.inf, [1, 0, 0, 0], [1, 1]), ValueError, '`t` is not finite',
         'it is inf', 'Give finite numbers'),
    Case('the power of a model that has none',
         lambda: compiled({}, driven(), inputs={M: 1}).power(0, [0]*4),
         MissingIngredientError, 'These equations carry no power',
         'it is unknown for models with parts of prescribed motion',
         'Pass a formula for it to `expression`'),
    Case('values of a graph at a singular configuration',
         lambda: flat(hol_coneqs=[sqrt(x**2 + y**2) - l]
                      ).system.graph.evaluate({x: 0, y: 0}, ['A']),
         ZeroDivisionError, "Output 'A' has no finite value here",
         'it divides by zero, is too large, or is outside of the domain',
         'Give other values'),
    Case('a graph of what is no matrix', lambda: Graph.of({'a': x}, t),
         TypeError, "`matrices` has x(t) for 'a', which is no", 'Matrix',
         'Give an expression as a Matrix of one entry'),)


INPUTS = (
    Case('a function of time that is not given',
         lambda: compiled({m: 1, g: 1}, PUSHED), MissingIngredientError,
         'The specified z(t)', 'has no value',
         'Pass `inputs={z: ...}`, with an expression in t,'),
    Case('inputs in a list',
         lambda: compiled({m: 1, g: 1}, PUSHED, inputs=[sin(t)]), TypeError,
         'not list', 'mapping from specified functions', 'must be a mapping'),
    Case('an input that the model does not have',
         lambda: compiled(VALUES, inputs={z: 1}), MissingIngredientError,
         "'z(t)' is no", 'specified function', 'leave it out'),
    Case('a misspelt input', lambda: compiled(
        {m: 1, g: 1}, PUSHED, inputs={'zz': 1}),
         MissingIngredientError, "`inputs`: 'zz' is no specified function;",
         'did you mean z? The specified z(t) has no',
         'Pass `inputs={z: ...}`, with an expression in t,'),
    Case('an input that is a text', lambda: compiled(
        {m: 1, g: 1}, PUSHED, inputs={z: 'sin(t)'}), MissingIngredientError,
         "`inputs`: 'sin(t)' is", 'not a real number', 'give a finite one'),
    Case('an input whose derivative is needed and not known', lambda: compiled(
        {m: 1, g: 1}, flat(Lagrangian=L + z.diff()*x),
        inputs={z: lambda t, x: t}),
         MissingIngredientError, '`inputs` gives z as a Python function, but',
         'the equations also need Derivative(z(t), t)',
         'Add what is missing under its own key, or give z'),
    Case('an input that gives nan', lambda: compiled(
        {m: 1, g: 1}, PUSHED, inputs={z: lambda t, x: np.nan}
        ).rhs(0, [1, 0, 0, 0]), ValueError, 'The input z at t = 0',
         'nan is not finite', 'give a finite number'),)

STARTS = (
    Case('a linearization off the constraints',
         lambda: linearize(COMPILED, {**START, x: 1.2}),
         ConstraintError, 'The state `at` violates holonomic row 0 by 4.4e-01',
         'so no motion is near it',
         '`consistent_state` finds one that satisfies the constraints'),
    Case('a misspelt fixed state',
         lambda: consistent_state(COMPILED, START, fixed='x_dot'), ValueError,
         "`fixed`: 'x_dot'", 'is no state', "did you mean x'?"),
    Case('a fill that is a text',
         lambda: consistent_state(COMPILED, {x: 1}, fill='zero'), ValueError,
         "`fill`: 'zero' is", 'not a real number', 'give a finite one'),
    Case('a simulation from a singular configuration', lambda: run(
        compiled({m: 1, g: 1}, flat(hol_coneqs=[x**2 - y**2])),
        start={x: 0, y: 0, x.diff(): 0, y.diff(): 0}),
         SingularEquationsError, 'The rank of the equations is 2 at this',
         'a singular configuration, where the motion',
         'Start from a state beside it'),
    Case('a simulation to a time that is not finite', lambda: run(end=np.inf),
         ValueError, 'not inf', 'two finite times', '`t_span` must be'),
    Case('a simulation that ends when it starts', lambda: run(end=0),
         ValueError, '`t_span` starts and ends at 0',
         'which leaves no time for a motion',
         'Give an end time other than 0, or a pair of two'),
    Case('a page of no speed',
         lambda: report(PENDULUM, START, VALUES, speed=0), ValueError,
         '`speed` is 0', 'which is no positive number', 'Give one'),
    Case('output times that are a text', lambda: run(t_eval='abc'),
         ValueError, "`t_eval` is 'abc', which is neither",
         'a number of output times nor a sequence of finite times',
         'Give a whole number from 2, or times between 0 and 0.1'),
    Case('an event that is a function of the time alone', lambda: run(
        events=lambda t: t),
         TypeError, '`events[0]` cannot be called with (t, x)',
         'too many positional arguments',
         'Give a function of the time and the states'),
    Case('an event that is a number', lambda: run(events=3), TypeError,
         '`events` is 3', 'which is no function',
         'Give a function of (t, x), or a list of functions'),
    Case('a number among the events', lambda: run(events=[3]), TypeError,
         '`events[0]` is of type int', 'not a function of (t, x)',
         'Give a function that vanishes at the event'),
    Case('a jump that is no function', lambda: run(events=type('E', (), {
        '__call__': lambda self, t, x: 1., 'jump': 'a'})()), TypeError,
         '`events[0].jump` is of type str', 'not a function of (t, x)',
         'Give a function that returns the states after'),
    Case('a truth value as reactions', lambda: run(reactions=True), TypeError,
         '`reactions` is True', 'Pass the result of',
         '`method.joint_reactions()`'),
    Case('a page with a direction for upwards that is no axis',
         lambda: report(PENDULUM, START, VALUES, up='w'), ValueError,
         "`up` is 'w'", 'Pass an axis', "such as 'z' or '-z'"),
    Case('a page with a view along no axis',
         lambda: report(PENDULUM, START, VALUES, view='xx'), ValueError,
         "`view` is 'xx'", "Pass '3d'", 'the axes to the right and upwards'),
    Case('a number as arrows of a page',
         lambda: report(PENDULUM, START, VALUES, forces=0), TypeError,
         '`forces`', 'is 0', 'Give a dictionary'),
    Case('a number among the points of a page',
         lambda: report(PENDULUM, START, VALUES, points=[3]), TypeError,
         '`points` is [3]', 'Pass Points', 'a mapping from names to places'),
    Case('values without times to identify from',
         lambda: identify(COMPILED, {x: [1, 2]}, [m]), TypeError,
         '`measured` is no `Measurement`', 'nor a list of them',
         'Pass `Measurement(times, {output: values}, start)`'),
    Case('an input that fails at the start', lambda: simulate(
        PUSHED, 1, START, constants={m: 1, g: 1},
        inputs={z: lambda t, x: [][0]}),
         SimulationError, 'Integration stopped at t = 0:',
         'IndexError: list index out of range',
         'The trajectory up to this point is in `error.trajectory`'),
    Case('an event that gives nan', lambda: run(events=lambda t, x: np.nan),
         SimulationError, '`events[0]` returned nan at t = 0',
         'which has no sign that could change',
         'Let it return a number at every state'),
    Case('a motion that leaves the domain of a function', lambda: run(
        compiled({m: 1, g: 9.81}, EDGE), 9, {**START, y: 9}),
         SimulationError, 'Integration stopped at t = 1.29045',
         'The outputs r are not finite real numbers.',
         'Correct the state or the constants, or keep away'),
    Case('accelerations of a constraint of order three left out',
         lambda: simulate(flat(GibbsAppellMethod, nonhol_coneqs=[
             x.diff(t, 3) - y.diff(t, 3)]), 0.1, START,
             constants={m: 1, g: 9.81}),
         ValueError, "`start`: no value for x'', y'', lam1",
         'Constraints of order 3 make accelerations and multipliers states',
         '`consistent_state'),
    Case('multipliers matched for a method without them',
         lambda: matching_multipliers(PENDULUM, START, 1, constants=VALUES),
         TypeError, '`method`', 'is UdwadiaKalabaMethod',
         'Give a VaccoMethod, whose multipliers are states'),
    Case('multipliers matched for a model without constraints',
         lambda: matching_multipliers(flat(VaccoMethod), START, 1,
                                      constants=VALUES), ConstraintError,
         'The model has no constraints', 'and so no multipliers',
         'vakonomic motion is that of Lagrange'),
    Case('multipliers matched at one time', lambda: matching_multipliers(
             rod(VaccoMethod), START, 1, constants=VALUES, samples=1),
         ValueError, '`samples`', 'is 1', 'it must be a whole number from 2'),
    Case('a history of what follows from the states',
         lambda: run()[x.diff(t, 2)], KeyError, "is no state or multiplier",
         'Rates of states are in `rates`',
         'by `compile_equations(model, ...).expression(expr)`'),
    Case('a start with velocities that follow from others',
         lambda: simulate(HamelEmbedding(
             L, [x, y], hol_coneqs=[x - y], q_dependent=[y]), 1, {
                 x: 1, y: 1, x.diff(t): 0, y.diff(t): 0},
                          constants={m: 1, g: 9.81}),
         ValueError, "`start`: 'Derivative(y(t), t)' is no state here",
         "it follows from x, y, x'", 'leave it out'),
    Case('constants of each run of a sweep',
         lambda: sweep(PENDULUM, 1, [1, 0, 0, 0], constants=[VALUES, VALUES]),
         TypeError, '`constants` is a list of mappings',
         'it must be one mapping for all runs',
         'Pass the constants of each run as `parameters`'),
    Case('runs of a sweep sent in chunks of a half', lambda: sweep(
        COMPILED, states=START, t_span=1, executor=2, chunk=2.5), ValueError,
         '`chunk` is 2.5', 'it is the number of runs that are sent at once',
         'Pass a whole number, 1 or more, or leave it out'),
    Case('values of a sweep that are of several shapes', lambda: sweep(
        COMPILED, {l: [1, 2]},
        run=lambda compiled: np.zeros(int(compiled.p[2]))).values(),
         ValueError, 'The values of the runs, such as array([0., 0.]),',
         'do not form one array of numbers',
         'Read `value` of each run, or pass a `quantity`'),
    Case('two times for three states',
         lambda: COMPILED.rhs([0, 1], np.ones((3, 4))),
         ValueError, '`t` has shape (2,)', 'for 3 states',
         'Give one time for all, or one for each'),
    Case('a history by a misspelt name', lambda: run()['lamm1'], KeyError,
         "'lamm1' is no", 'state or multiplier', 'did you mean lam1?'),)

CASES = CONSTANTS + MODELS + INPUTS + STARTS
