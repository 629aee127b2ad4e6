"""Work and precision: processor time of a motion over its error.

Every integrator runs with several tolerances, programs with fixed steps with
several numbers of steps. Errors are the largest of the
states at the outputs, relative to the largest state. The exact motion is by
heyoka's series at full precision, or without it by our DOP853 at 1e-13. A part
of the harness: ``python benchmarks/run.py --only precision``.
"""
from importlib import import_module

import numpy as np
from bench_simulation import (
    Chain, by_cyrk, by_scipy, machine_rates, measured)

# As long as small errors do not grow beyond 1e-10 at the smallest tolerance.
SPANS = {'cartesian_pendulum': 100., 'rolling_disc': 60., 'four_bar': 20.,
         'closed_chain:4': 30., 'closed_chain:8': 5.}
OUTPUTS = 101
# Seconds of a run after which no smaller tolerance is tried.
SLOW = 3.
TOLERANCES = [10.**-k for k in range(4, 14)]


class Problem(Chain):
    """A model with its output times."""

    def __init__(self, spec):
        super().__init__(spec)
        self.end = SPANS[spec]
        self.times = np.linspace(0, self.end, OUTPUTS)

    def exact(self):
        try:
            return heyoka(self, 2e-16)()
        except ImportError:
            return ours(self, 1e-13)()


def ours(problem, tolerance, method='DOP853'):
    """``simulate`` with projection."""
    from sympy_constrained.numeric import simulate
    return lambda: simulate(
        problem.equations, problem.end, problem.start, rtol=tolerance,
        atol=tolerance, method=method, t_eval=problem.times).x


def ours_rk45(problem, tolerance):
    return ours(problem, tolerance, 'RK45')


def ours_taylor(problem, tolerance):
    """``simulate`` with heyoka's steps."""
    import_module('heyoka')
    return ours(problem, tolerance, 'taylor')


def scipy(problem, tolerance):
    """SciPy's DOP853 on our ``rhs``."""
    order = list(range(len(problem.start)))
    return lambda: by_scipy(problem.equations.rhs, problem, order, tolerance,
                            tolerance)[0]


def lambdified(problem, tolerance):
    """SciPy's DOP853 on ``KanesMethod``, ``lambdify`` and NumPy."""
    import upstream
    if not hasattr(problem, 'kane'):
        problem.kane = upstream.lambdified(problem.given)
    rhs, names = problem.kane
    order = problem.order(names)
    return lambda: by_scipy(rhs, problem, order, tolerance, tolerance)[0]


def cyrk(problem, tolerance):
    """CyRK's compiled DOP853 on our machine code."""
    if not hasattr(problem, 'rates'):
        problem.rates = machine_rates(problem)
    return lambda: by_cyrk(problem, problem.rates, tolerance, tolerance)


def heyoka(problem, tolerance):
    """heyoka's Taylor series on the equations exported to it."""
    from heyoka import taylor_adaptive

    from sympy_constrained.interop import to_heyoka
    system, pars = to_heyoka(problem.equations, x=problem.start)
    taylor = taylor_adaptive(system, problem.start, pars=pars, tol=tolerance,
                             compact_mode=True)

    def run():
        taylor.time, taylor.state[:] = 0., problem.start
        return taylor.propagate_grid(problem.times)[-1]

    return run


def diffrax(problem, tolerance):
    """diffrax's method of order 8, compiled by JAX, on our equations."""
    import diffrax as dfx
    import jax

    from sympy_constrained.interop import to_jax
    jax.config.update('jax_enable_x64', True)
    if not hasattr(problem, 'motion'):
        rates = to_jax(problem.equations, x=problem.start)
        term = dfx.ODETerm(lambda t, y, _: rates(t, y))
        problem.motion = jax.jit(lambda start, tolerance: dfx.diffeqsolve(
            term, dfx.Dopri8(), 0., problem.end, None, start,
            saveat=dfx.SaveAt(ts=problem.times), max_steps=100_000,
            stepsize_controller=dfx.PIDController(
                rtol=tolerance, atol=tolerance)).ys)
    return lambda: np.asarray(problem.motion(problem.start, tolerance))


def fixed_steps(problem, tolerance, program):
    """Twice as many steps for every smaller tolerance."""
    from motions import MOTIONS
    if not hasattr(problem, 'prepared'):
        problem.prepared = MOTIONS[program](problem, problem.times)
    return problem.prepared(2**TOLERANCES.index(tolerance))


def mujoco(problem, tolerance):
    """MuJoCo's method of order 4; loops are soft."""
    return fixed_steps(problem, tolerance, 'mujoco')


def exudyn(problem, tolerance):
    """Exudyn's trapezoidal rule, without a loop its method of order 6."""
    return fixed_steps(problem, tolerance, 'exudyn')


BY = {f.__name__: f for f in (
    ours, ours_rk45, ours_taylor, scipy, lambdified, cyrk, heyoka, diffrax,
    mujoco, exudyn)}


def precision(spec, by):
    """Errors and times for all tolerances at which the run succeeds."""
    problem = Problem(spec)
    exact = problem.exact()
    size = np.abs(exact).max()
    errors, seconds = [], []
    for tolerance in TOLERANCES:
        run = BY[by](problem, tolerance)
        run()                                           # compiles
        spent, x = measured(run)
        if x.shape == exact.shape:
            errors.append(float(np.abs(x - exact).max()/size))
            seconds.append(spent)
        if spent > SLOW:
            break
    return {'errors': errors, 'times': seconds}
