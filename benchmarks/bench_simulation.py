"""Long runs and sweeps: what integrators make of the equations.

One chain for a minute with the tolerances below, by SciPy's loop and by a
compiled one (CyRK), on our equations, on those of ``KanesMethod`` and on
Pinocchio's accelerations. A part of the harness:
``python benchmarks/run.py --only simulation``.
"""
import ctypes
import os
import time
from statistics import median

import clock
import numpy as np
import states

SECONDS, OUTPUTS = 60., 601
RTOL, ATOL = 1e-8, 1e-10
ROUNDS = 3
RUNS, LENGTH = 1000, 0.25


class Chain:
    """A ready model with its start and its outputs in our order."""

    def __init__(self, spec):
        from sympy_constrained import UdwadiaKalabaMethod
        from sympy_constrained.numeric import (
            compile_equations, consistent_state)
        self.given = given = states.build(spec)
        self.equations = equations = compile_equations(
            UdwadiaKalabaMethod(**given.arguments, **given.extra),
            given.parameters)
        self.start = consistent_state(equations, given.start,
                                      fixed=given.fixed)
        self.times = np.linspace(0, SECONDS, OUTPUTS)

    def order(self, names):
        """Where the given states are among ours."""
        found = list(self.equations.states)
        return [found.index(name) for name in names]

    def quality(self, x):
        """Largest residual, and the relative drift of the energy."""
        t = self.times
        assert len(t) == len(x), 'the run ended early'
        residual = np.abs(self.equations.residuals(t, x)).max()
        energy, height = self.equations.energy(t, x), self.potential(t, x)
        drift = np.abs(energy + height - energy[0] - height[0]).max()
        return {'residual': float(residual),
                'drift': float(drift/np.abs(energy).max())}

    def potential(self, t, x):
        """Of the weights, which the model has as loads."""
        a = self.given.arguments
        frame = a['frame']
        origin = next(
            point for body in a['bodies']
            for point in body.masscenter._pos_dict if point.name == 'O')
        height = sum(-force.dot(frame.y)*point.pos_from(origin).dot(frame.y)
                     for point, force in a['forcelist'])
        return self.equations.expression(height)(t, x)


def measured(function):
    """Median processor time of runs, and what the last one returned."""
    spent = []
    for _ in range(ROUNDS):
        seconds, found = clock.timed(function)
        spent.append(seconds)
    return median(spent), found


# -- one long run ------------------------------------------------------------

def by_scipy(rates, chain, order, rtol=RTOL, atol=ATOL):
    """States, in our order, by SciPy's DOP853, and the number of calls."""
    from scipy.integrate import solve_ivp
    found = solve_ivp(rates, (0, chain.times[-1]), chain.start[order],
                      'DOP853', chain.times, rtol=rtol, atol=atol)
    return found.y.T[:, np.argsort(order)], found.nfev


def by_cyrk(chain, rates, rtol=RTOL, atol=ATOL):
    """States by CyRK's compiled DOP853 on our machine code."""
    from CyRK import nbsolve2_ivp
    found = nbsolve2_ivp(
        rates.address, (0., chain.times[-1]), chain.start, method='DOP853',
        t_eval=chain.times, args=chain.p, rtol=rtol, atol=atol)
    x = found.y.T.copy()
    found.free()
    return x


def ours(chain):
    """``simulate`` with projection."""
    from sympy_constrained.numeric import simulate

    def run():
        return simulate(chain.equations, SECONDS, chain.start, rtol=RTOL,
                        atol=ATOL, t_eval=chain.times)

    simulate(chain.equations, 0.1, chain.start)         # compiles
    seconds, motion = measured(run)
    return {'seconds': seconds, 'calls': motion.statistics['evaluations'],
            'backend': chain.equations.backend, **chain.quality(motion.x)}


def loop(chain):
    """Our ``rhs`` in SciPy's loop, nothing more."""
    rhs, order = chain.equations.rhs, list(range(len(chain.start)))
    rhs(0., chain.start)
    seconds, (x, calls) = measured(lambda: by_scipy(rhs, chain, order))
    return {'seconds': seconds, 'calls': calls, **chain.quality(x)}


def lambdified(chain):
    """``KanesMethod``, ``lambdify`` and ``numpy.linalg.solve``."""
    import upstream
    rhs, names = upstream.lambdified(chain.given)
    order = chain.order(names)
    seconds, (x, calls) = measured(lambda: by_scipy(rhs, chain, order))
    return {'seconds': seconds, 'calls': calls, **chain.quality(x)}


def machine_rates(chain):
    """Our machine code, by its address, as a function of CyRK. The constants
    are the attribute ``p`` of the chain.
    """
    import numba
    from CyRK import cyjit
    function = chain.equations.native_function('rhs', x=chain.start)
    address = ctypes.c_void_p
    f = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *[address]*4)(
        function.address)
    chain.function, chain.p = function, np.ascontiguousarray(chain.equations.p)
    n, constants, size = len(chain.start), len(chain.p), function.size

    @cyjit
    def rates(dy, t, y, args):
        out = np.empty(size)
        x, p = numba.carray(y, n), numba.carray(args, constants)
        bad = f(t, x.ctypes, p.ctypes, p.ctypes, out.ctypes)
        for i in range(n):
            dy[i] = np.nan if bad else out[i]

    return rates


def pointer(chain):
    """The same in a compiled DOP853."""
    rates = machine_rates(chain)
    by_cyrk(chain, rates)                               # compiles
    seconds, x = measured(lambda: by_cyrk(chain, rates))
    return {'seconds': seconds, **chain.quality(x)}


def pinocchio(chain, compiled=False):
    """Pinocchio's accelerations, in SciPy's loop or in a compiled one."""
    import programs
    given = chain.given
    order = chain.order([*given.coordinates, *given.speeds])
    start = chain.start[order]
    n = len(given.coordinates)
    accelerate = programs.PROGRAMS['pinocchio'](
        programs.Bars.of(given), start[:n], start[n:]).accelerate

    def rates(t, x):
        return np.concatenate([x[n:], accelerate(x[:n], x[n:])])

    if not compiled:
        seconds, (x, calls) = measured(
            lambda: by_scipy(rates, chain, order))
        return {'seconds': seconds, 'calls': calls, **chain.quality(x)}
    from CyRK import pysolve_ivp

    def run():
        found = pysolve_ivp(rates, (0., SECONDS), start, method='DOP853',
                            t_eval=chain.times, rtol=RTOL, atol=ATOL)
        assert found.success
        return np.array(found.y).T[:, np.argsort(order)]

    seconds, x = measured(run)
    return {'seconds': seconds, **chain.quality(x)}


def pinocchio_compiled(chain):
    return pinocchio(chain, True)


LONG = {f.__name__: f for f in (
    ours, loop, lambdified, pointer, pinocchio, pinocchio_compiled)}


def long_run(spec, by):
    """A minute of a chain."""
    return LONG[by](Chain(spec))


# -- simulations of some models ----------------------------------------------

def simulation(spec, by):
    """A run of the model to its ``t_end``, from equations that are ready."""
    import upstream
    from scipy.integrate import solve_ivp
    from sympy_constrained.numeric import simulate
    chain, count = Chain(spec), [0]
    given, equations = chain.given, chain.equations

    def run(rhs, x):
        def counted(t, x):
            count[0] += 1
            return rhs(t, x)
        return solve_ivp(counted, (0, given.t_end), x, 'DOP853', rtol=RTOL,
                         atol=ATOL)

    if by == 'cython':
        rhs, p, method = upstream.cython(given)
        # It gives the same array again and again.
        seconds, _ = clock.timed(
            run, lambda t, x: rhs(x, t, p).copy(),
            chain.start[chain.order([*method.q, *method.u])])
        return {'seconds': seconds, 'calls': count[0]}
    equations.rhs(0., chain.start)
    seconds, _ = clock.timed(run, equations.rhs, chain.start)
    projected, _ = clock.timed(
        lambda: simulate(equations, (0, given.t_end), chain.start))
    return {'seconds': seconds, 'calls': count[0], 'projected': projected,
            'backend': equations.backend}


def gradient(spec):
    """A motion alone, with its gradient by all constants, and with forward
    derivatives by three of them, which are compared.
    """
    from sympy_constrained.numeric import sensitivities, simulate
    chain = Chain(spec)
    given, compiled = chain.given, chain.equations
    arguments, cost = (compiled, 1., chain.start), compiled.states[0]

    def run(**options):
        return simulate(*arguments, rtol=RTOL, atol=ATOL, t_eval=2, **options)

    def both():
        return run(adjoint=True).gradient(
            compiled.constants, final_cost=cost, fixed=given.fixed)

    by = compiled.constants[-3:]

    def forward():
        return sensitivities(*arguments, by, fixed=given.fixed, rtol=RTOL,
                             atol=ATOL, t_eval=2)

    run(), both(), forward()                            # compile
    alone, _ = measured(run)
    seconds, found = measured(both)
    three, motion = measured(forward)
    slopes = motion.dx[-1, 0]
    return {'seconds': seconds, 'alone': alone, 'forward': three,
            'error': float(np.abs([found[item] for item in by] - slopes).max()
                           / np.abs(slopes).max())}


def motion(spec):
    """``simulate`` with projection and outputs, and SciPy's DOP853 on our
    ``rhs``, against the same number of calls of the machine code alone.
    """
    import native
    from scipy.integrate import solve_ivp
    from sympy_constrained.numeric import simulate
    chain = Chain(spec)
    equations, times = chain.equations, np.linspace(0, 10, 501)

    def run():
        return simulate(equations, 10, chain.start, rtol=RTOL, atol=ATOL,
                        t_eval=times)

    run()                                               # compiles
    seconds, found = measured(run)
    calls = found.statistics['evaluations']
    scipy, _ = measured(lambda: solve_ivp(
        equations.rhs, (0, 10), chain.start, 'DOP853', times, rtol=RTOL,
        atol=ATOL))
    function = equations.native_function('rhs', x=chain.start)
    return {'seconds': seconds, 'scipy': scipy, 'calls': calls,
            'native': calls*native.time_plain(
                function.address, found.x, equations.p, function.size),
            'residual': float(found.largest_residual)}


# -- sweeps ------------------------------------------------------------------

def spent(compiled, motion):
    """Of a run: its process, and the time that this has used so far."""
    return os.getpid(), time.process_time(), motion.x[-1, 0]


def sweeps(spec, by):
    """Many runs one after the other, and by two processes.

    The speed-up in processor time compares with the busier of the two, and
    our own process; on the clock other programs count, too. One run must
    fail.
    """
    from sympy_constrained.numeric import sweep
    chain = Chain(spec)
    name, value = next(iter(chain.given.parameters.items()))
    values = value*np.linspace(0.9, 1.1, RUNS)
    values[RUNS//3] = 100*value                 # cannot be assembled
    parameters = {name: values}

    def run(executor=None):
        own, began = time.process_time(), time.perf_counter()
        found = sweep(chain.equations, parameters, chain.start, executor,
                      t_span=LENGTH, t_eval=2, rtol=RTOL,
                      initial='project', quantity=spent)
        wall, own = (time.perf_counter() - began, time.process_time() - own)
        assert [run.index for run in found.failed] == [RUNS//3]
        found = found.values()
        used = {}
        for process, seconds, _ in found[~np.isnan(found[:, 0])]:
            used[process] = max(seconds, used.get(process, 0.))
        used.pop(os.getpid(), None)
        return wall, own, own + max(used.values(), default=0.), found[:, 2]

    alone = [run()]
    if by == 'dask':
        import dask.distributed as dask
        with dask.LocalCluster(n_workers=2, threads_per_worker=1,
                               dashboard_address=':0') as cluster, (
                dask.Client(cluster)) as client:
            run(client)                         # imports
            together = [run(client)]
        together = [(wall, None, None, x) for wall, _, _, x in together]
    else:
        together = [run(2)]
    for *_, found in together:
        np.testing.assert_array_equal(found, alone[0][3])
    result = {'seconds': min(x[1] for x in alone),
              'wall': min(x[0] for x in alone),
              'wall_two': min(x[0] for x in together),
              'load': os.getloadavg()[0], 'failed': 1, 'runs': RUNS}
    if by != 'dask':
        result['two'] = min(x[2] for x in together)
        result['speed_up'] = result['seconds']/result['two']
    result['wall_speed_up'] = result['wall']/result['wall_two']
    return result
