"""The jobs. Each runs in a separate process (``clock.isolated``) and returns a
dictionary of numbers; all times are processor time in seconds.
"""
import importlib.metadata
import json
import os
import sys
from functools import partial
from pathlib import Path
from statistics import median

import clock

from sympy_constrained.timing import per_call

PATIENCE = float(os.environ.get('BENCH_PATIENCE', 60))
BLOCKS = ('M', 'Q', 'A', 'b')
COUNT = 10_000


def fresh(spec):
    """A newly built model, with SymPy's cache emptied."""
    import sympy
    from states import build
    given = build(spec)
    sympy.core.cache.clear_cache()
    return given


def ours(given):
    """The blocks on the graph."""
    from sympy_constrained import UdwadiaKalabaMethod
    return UdwadiaKalabaMethod(**given.arguments, **given.extra).system


# -- derivation --------------------------------------------------------------

def derive(spec, runs=clock.RUNS):
    """Our blocks: on the graph, as SymPy matrices, as assignments."""
    def matrices(given):
        system = ours(given)
        return [system.graph.sympy(name) for name in BLOCKS]

    def assignments(given):
        return ours(given).graph.assignments(BLOCKS)

    return {**grow(spec, runs), **{
        form.__name__: clock.repeated(
            partial(fresh, spec), form, PATIENCE, runs)
        for form in (matrices, assignments)}}


def grow(spec, runs=3):
    """Our blocks on the graph and their operations, alone."""
    ours(fresh('four_bar'))
    prepare = partial(fresh, spec)
    return {'graph': clock.repeated(prepare, ours, PATIENCE, runs),
            'operations': ours(prepare()).graph.operation_count(BLOCKS)}


def upstream_derive(spec, method, runs=3):
    """SymPy's own method."""
    import upstream
    form = getattr(upstream, method)
    form(fresh('four_bar' if method == 'kane' else 'closed_chain_absolute:3'))
    return {'seconds': clock.repeated(partial(fresh, spec), form, PATIENCE,
                                      runs)}


def methods(spec, runs=3):
    """Every formulation of the package, as ``compare`` derives it."""
    from sympy_constrained.comparison import compare
    compare(fresh('four_bar'), 0, upstream=False)
    found = [compare(fresh(spec), 0, upstream=False) for _ in range(runs)]
    return {f.name: {
        'seconds': median(run[f.name].seconds for run in found),
        'operations': f.operations}
        for f in found[0].formulations if f.seconds and f.operations}


def memory(spec):
    """Peak of a process that derives and nothing else."""
    from sympy_constrained import UdwadiaKalabaMethod
    from sympy_constrained.models import model
    before = clock.peak_memory()
    name, _, size = spec.partition(':')
    given = model(name, n=int(size))
    built = clock.peak_memory()
    system = UdwadiaKalabaMethod(**given.arguments).system
    assert system.graph.operation_count(BLOCKS)
    return {'imports': before, 'model': built, 'peak': clock.peak_memory()}


def size(spec):
    """Operations that ``cse`` leaves of the blocks of Kane's equations."""
    import upstream
    return {'operations': upstream.cse_operations(
        upstream.blocks(fresh(spec)))}


def written(spec, form, runs=3):
    """``mass_matrix`` and ``forcing``: nodes of the trees, ``lambdify``."""
    import upstream
    from sympy import lambdify
    from sympy_constrained import UdwadiaKalabaMethod
    given = fresh(spec)
    method = upstream.kane(given) if form == 'kane' else UdwadiaKalabaMethod(
        **given.arguments, **given.extra)
    matrices = method.mass_matrix, method.forcing
    names = [*method.q, *method.u], [*given.parameters]
    return {'nodes': upstream.tree_nodes(matrices),
            'lambdify': clock.repeated(
                lambda: matrices, lambda found: lambdify(
                    names, found, cse=True), PATIENCE, runs)}


# -- functions of the state --------------------------------------------------

def vectors(spec):
    """The known states of a model and one array of ``(q, u)`` for each."""
    import numpy as np
    import states
    known = states.found(spec)
    return known, np.array([s['q'] + s['u'] for s in known])


def numbers(spec):
    """Prepares the known states of a model for the other jobs."""
    import states
    return {'states': len(states.found(spec))}


class Compiled:
    """Our right-hand side, with states in the order of the model."""

    def __init__(self, given, backend):
        import numpy as np
        from sympy_constrained import UdwadiaKalabaMethod
        from sympy_constrained.numeric import compile_equations
        self.method = UdwadiaKalabaMethod(**given.arguments, **given.extra)
        self.equations = compile_equations(
            self.method, given.parameters, backend=backend)
        names = [*given.coordinates, *given.speeds]
        self.order = np.array([names.index(x)
                               for x in self.equations.states])
        where = list(self.equations.states)
        self.speeds = [where.index(u) for u in given.speeds]

    def states(self, x):
        """States in our order from ``(q, u)`` of the model."""
        import numpy as np
        return np.ascontiguousarray(np.asarray(x, float)[..., self.order])

    def accelerate(self, rates, q, u):
        return rates(0., self.states([*q, *u]))[self.speeds]


def function(spec, backend):
    """From a model to a right-hand side, and its calls."""
    import ctypes

    import native
    import numpy as np
    import states
    from sympy_constrained.errors import ConstrainedDynamicsError
    if backend == 'llvm':
        importlib.import_module('llvmlite')
    known, x = vectors(spec)

    def make(given, x=x[0]):
        compiled = Compiled(given, backend)
        compiled.equations.rhs(0., compiled.states(x))
        return compiled

    small = fresh('four_bar')           # imports and caches of the process
    make(small, list(small.start.values()))
    result = {'make': clock.repeated(partial(fresh, spec), make, PATIENCE, 3)}
    compiled = make(fresh(spec))
    equations, state = compiled.equations, compiled.states(x[0])
    result |= {
        'backend': equations.backend,
        'call': per_call(lambda: equations.rhs(0., state)),
        'error': states.error(partial(compiled.accelerate, equations.rhs),
                              known)}
    solver = equations.linear_solver(0., state)
    quick = getattr(equations, 'quick_rates', lambda solver: None)(solver)
    if quick is not None:
        result['bound'] = per_call(lambda: quick(0., state))
        result['bound_error'] = states.error(
            partial(compiled.accelerate, quick), known)
    if backend == 'numpy':
        return result
    try:
        found = equations.native_function('rhs', 0., state)
    except ConstrainedDynamicsError as error:
        return result | {'native_failed': str(error)}
    p, count = np.asarray(equations.p, float), len(equations.states)
    out = np.zeros(count + len(equations.multiplier_names))
    pointer = ctypes.POINTER(ctypes.c_double)
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *[pointer]*4)(
        found.address)

    def rates(t, x):
        status = call(t, *(a.ctypes.data_as(pointer)
                           for a in (x, p, np.zeros(1), out)))
        assert status == 0
        return out

    return result | {
        'native': native.time_plain(found.address, compiled.states(x), p,
                                    len(out)),
        'native_error': states.error(
            partial(compiled.accelerate, rates), known)}


def cython(spec):
    """The same by Kane's method and PyDy's Cython generator."""
    import numpy as np
    import states
    import upstream
    known, x = vectors(spec)
    importlib.import_module('pydy.codegen.ode_function_generators')
    given = fresh(spec)
    seconds, (rhs, p, method) = clock.timed(upstream.cython, given)
    names = [*given.coordinates, *given.speeds]
    order = [names.index(s) for s in (*method.q, *method.u)]
    back = [list((*method.q, *method.u)).index(s) for s in given.speeds]
    state = np.ascontiguousarray(x[0][order])
    return {'make': seconds, 'call': per_call(
                lambda: rhs(state, 0., p)),
            'error': states.error(lambda q, u: rhs(
                np.array([*q, *u])[order], 0., p)[back], known)}


def casadi(spec, form):
    """Kane's equations in casadi, generated as C: a call from C."""
    import ctypes

    import native
    import numpy as np
    import states
    import upstream
    importlib.import_module('casadi')
    known, x = vectors(spec)
    seconds, (function, library, p) = clock.timed(
        upstream.casadi_function, fresh(spec), form)
    pointer = ctypes.cast(library.f, ctypes.c_void_p).value
    return {'make': seconds, 'operations': function.n_instructions(),
            'native': native.time_casadi(
                pointer, x, p, function.size1_out(0), function.sz_iw(),
                function.sz_w()),
            'error': states.error(lambda q, u: np.array(
                function([*q, *u], p)).ravel(), known)}


def jacobian(spec, by):
    """Derivatives of the accelerations by all states; a call from C, or from
    Python for Pinocchio and JAX, less an idle call."""
    import numpy as np
    known, x = vectors(spec)
    given = fresh(spec)
    compiled = Compiled(given, 'llvm')
    state, back = compiled.states(x[0]), np.argsort(compiled.order)
    solver = compiled.equations.linear_solver(0., state)
    place = partial(compiled.accelerate, partial(
        compiled.equations.rhs, solver=solver))
    half, step = len(given.coordinates), 1e-3
    q, u = (np.array(known[0][name]) for name in 'qu')

    def slope(h, e):
        ends = [place(q + s*h*e[:half], u + s*h*e[half:]) for s in (1, -1)]
        return (ends[0] - ends[1])/(2*h)

    along = compiled.equations.tangent_basis(0., state)[back]
    wanted = np.transpose([
        (64*slope(step/4, e) - 20*slope(step/2, e) + slope(step, e))/45
        for e in along.T])

    def error(found):
        """Along the constraints, where it is unique."""
        return float(np.abs(found@along - wanted).max()/np.abs(wanted).max())

    if by == 'ours':
        import native
        seconds, (derivative, function) = clock.timed(made_jacobian, compiled)
        p = np.asarray(compiled.equations.p, float)
        found = derivative(0., state)[:, back]
        speeds = [k - len(state) for k in compiled.speeds]
        return {'make': seconds, 'error': error(found[speeds]),
                'native': native.time_plain(
                    function.address, compiled.states(x), p, function.size)}
    if by == 'jax':
        seconds, (call, idle) = clock.timed(jax_jacobian, compiled, state)
        return {'make': seconds, 'error': error(
                    np.asarray(call(state))[:, back]),
                'native': per_call(lambda: call(state).block_until_ready())
                - per_call(lambda: idle(state).block_until_ready())}
    if by == 'pinocchio':
        import programs
        made = programs.pinocchio(
            programs.Bars.of(given), q, u, derivatives=True)
        return {'native': per_call(made.evaluate) - per_call(made.idle),
                'error': error(made.accelerate(q, u))}
    import ctypes

    import native
    import upstream
    importlib.import_module('casadi')
    seconds, (function, library, p) = clock.timed(
        upstream.casadi_function, given, 'blocks', True)
    pointer = ctypes.cast(library.f, ctypes.c_void_p).value
    found = np.array(function([*q, *u], p)).reshape(len(x[0]), -1).T
    return {'make': seconds, 'error': error(found),
            'native': native.time_casadi(
                pointer, x, p, function.size1_out(0), function.sz_iw(),
                function.sz_w())}


def jax_jacobian(compiled, state):
    """JAX's derivative of our equations and an idle call, both compiled."""
    jax = importlib.import_module('jax')
    jax.config.update('jax_enable_x64', True)
    from sympy_constrained.interop import to_jax
    rates = to_jax(compiled.equations, x=state)
    speeds = jax.numpy.array(compiled.speeds)
    call = jax.jit(jax.jacfwd(lambda x: rates(0., x)[speeds]))
    idle = jax.jit(lambda x: jax.numpy.outer(x[speeds], x))
    for function in (call, idle):
        function(state).block_until_ready()
    return call, idle


def made_jacobian(compiled):
    """Our derivative, and its machine code without a known state."""
    derivative = compiled.equations.jacobian('accelerations')
    function = derivative.native_function()
    assert function.address
    return derivative, function


def program(spec, name):
    """A program for mechanisms on the same chain."""
    import programs
    import states
    known, x = vectors(spec)
    given = fresh(spec)
    made = programs.PROGRAMS[name](
        programs.Bars.of(given), known[0]['q'], known[0]['u'])
    call = per_call(made.evaluate)
    idle = per_call(made.idle) if made.idle else 0.
    return {'call': call, 'idle': idle, 'does': made.does,
            'version': made.version,
            'error': states.error(made.accelerate, known)}


def batch(spec, by):
    """Accelerations of many states, for each of them."""
    import numpy as np
    import states
    import upstream
    known, x = vectors(spec)
    near = np.random.default_rng(1)
    many = x[0] + 1e-3*near.standard_normal((COUNT, x.shape[1]))
    if by == 'lambdify':
        accelerate = upstream.batch_function(fresh(spec))
        best = min(per_call(partial(chunked, accelerate, many, size))
                   for size in (512, COUNT))
        return {'state': best/COUNT, 'error': states.error(
            lambda q, u: accelerate(np.array([[*q, *u]]))[0], known)}
    compiled = Compiled(fresh(spec), by)
    rhs, own = compiled.equations.rhs, compiled.states(many)
    rhs(0., compiled.states(x[0]))
    rhs(0., own[:2])
    return {'state': per_call(lambda: rhs(0., own))/COUNT,
            'backend': compiled.equations.backend, 'error': states.error(
                lambda q, u: rhs(0., compiled.states([[*q, *u]]*2))[
                    0, compiled.speeds], known)}


def chunked(function, x, size):
    for start in range(0, len(x), size):
        function(x[start:start + size])


# -- Kane's solvers ----------------------------------------------------------

def solvers(spec, solver):
    """Accelerations of ``KanesMethod`` with a solver for its dependent
    speeds."""
    import ready
    import states
    import upstream
    known, _ = vectors(spec)
    given = fresh(spec)
    method = upstream.kane(given, constraint_solver=solver)
    names = [*given.coordinates, *given.speeds]
    accelerations = ready.Upstream(
        method, [*names, *given.parameters])

    def accelerate(q, u):
        values = dict(zip(names, [*q, *u])) | dict(given.parameters)
        found = accelerations(values)
        return [found[speed.diff()] for speed in given.speeds]

    return {'error': states.error(accelerate, known)}


JOBS = {job.__name__: job for job in (
    derive, grow, upstream_derive, methods, memory, size, written, numbers,
    function, cython, casadi, jacobian, program, batch, solvers)}
#: Jobs of other modules, which are imported when they are needed.
ELSEWHERE = {'precision': 'bench_precision', **dict.fromkeys(
    ('simulation', 'long_run', 'motion', 'gradient', 'sweeps'),
    'bench_simulation')}


def job_of(name):
    return JOBS.get(name) or getattr(
        importlib.import_module(ELSEWHERE[name]), name)


def main(file, job, arguments):
    clock.watch(PATIENCE)
    try:
        result = job_of(job)(*json.loads(arguments))
    except ImportError as error:
        result = {'missing': error.name or str(error)}
    Path(file).write_text(json.dumps(result))


if __name__ == '__main__':
    main(*sys.argv[1:])
