"""Taylor's method by the package heyoka.

The rates are written out for heyoka, which compiles recursions for their
Taylor coefficients. Constants are its parameters, so the code is made once for
compiled equations and a tolerance. Blocks of steps are checked and projected
as those of Runge-Kutta methods are.
"""
from copy import copy
from math import ceil, log
from threading import local

import numpy as np
from scipy.integrate import DOP853, OdeSolver

from ...errors import UnsupportedFeatureError
from ..codegen.heyoka_code import heyoka_system
from ..codegen.instructions import program
from ..codegen.native import arguments_of, slots, with_given
from ..codegen.solution import solved_graph
from ..codegen.walk import library
from ..linear.rank_changes import leading
from ..manifold.projection import size_of
from .blocks import Block, Blocks
from .dense_output import Interpolant


# Operations without a Taylor series where they jump or have a kink.
ROUGH = {'select', 'fabs', 'floor', 'ceil'}
# Above this number of operations times the squared order heyoka's code is
# compact: three times as slow, and made in seconds instead of minutes.
LARGE = 100_000
# Relative difference of rates that rounding explains.
DIFFERENT = 1e-6
# A block ends when projection moves states by more than this multiple of the
# tolerance, and of this part of the largest state.
FAR, LEAST = 10, 1e-12

ADVICE = "Use method='DOP853'."


class Taylor(OdeSolver):
    """Taylor's method with SciPy's interface; ``fun`` is a :class:`.Rates`."""

    def __init__(self, fun, t0, y0, t_bound, rtol, atol, max_step):
        super().__init__(fun, t0, y0, t_bound, False)
        self.rates, self.f = fun, self.fun(self.t, self.y)
        self.tolerance, self.max_step = min(rtol, atol), max_step
        self.h_abs = self.path = None
        self.integrator()               # or an error

    def integrator(self):
        """heyoka's integrator at the state, one for each thread."""
        rates, work = self.rates, self.rates.work
        compiled, solver = rates.compiled, rates.rank.solver
        taylor = compiled.kept(
            ('taylor', solver.leaves_out_rows_only, solver.rows_in_use, work,
             self.tolerance), lambda: PerThread(integrator_of(
                compiled, solver, work, self.tolerance))).taylor
        taylor.time, taylor.state[:] = self.t, self.y
        taylor.pars[:] = compiled.parameters()[:len(taylor.pars)]
        return taylor

    def _step_impl(self):
        taylor, left = self.integrator(), self.t_bound - self.t
        _, h = taylor.step(max_delta_t=self.direction*min(
            abs(left), self.max_step), write_tc=True)
        if h == 0 or not np.isfinite(taylor.state).all() or (
                h != left and abs(h) < least_step(self.t)):
            return False, self.TOO_SMALL_STEP
        tc = taylor.tc
        if np.abs(tc[:, 1] - self.f).max() > DIFFERENT*size_of(self.f):
            raise UnsupportedFeatureError(
                f"At t = {self.t:g} the accelerations that are written out "
                "for method='taylor' differ from those of the equations, "
                f"because a pivot almost vanishes. {ADVICE}")
        self.path = interpolant(self.t, h, tc)
        self.t = self.t_bound if h == left else taylor.time
        self.y = taylor.state.copy()
        self.f = self.fun(self.t, self.y)
        return True, None

    def _dense_output_impl(self):
        return self.path


class TaylorBlocks(Blocks):
    """Blocks of steps by heyoka."""

    methods = Taylor,
    function = 'project_all'

    def __init__(self, run, method, **options):
        super().__init__(run, DOP853, **options)    # whose tableau is not used

    def block(self, solver, times, most):
        run, n = self.run, len(solver.y)
        code = self.code(solver.t, solver.y[:run.size])
        if code is None:
            return None
        taylor, most = solver.integrator(), int(min(self.length, most))
        T, tc = [solver.t], taylor.tc   # of the last step
        coefficients = np.empty((most, *tc.shape))

        def keep(taylor):
            coefficients[len(T) - 1] = tc
            T.append(taylor.time)
            return True

        taylor.propagate_until(         # its output would be compiled
            solver.t_bound, max_steps=most, max_delta_t=solver.max_step,
            write_tc=True, callback=keep)
        T, count = np.array(T), len(T) - 1
        if not count:
            return None
        coefficients = coefficients[:count]
        Y = np.vstack([coefficients[..., 0], taylor.state])
        raw, drift = Y.copy(), np.empty(count)
        made = self.projected(code, T[1:], Y[1:], drift)
        native, constants = run.compiled.native_rates(
            run.rank.solver, run.rates.work)
        rates, bad = native.batch(len(T), T, Y.T, constants)
        near = leading(np.abs(Y - raw)[1:].max(axis=1) <= max(
            FAR*solver.tolerance, LEAST)*size_of(Y))
        steps = min(made, near, leading(
            ~bad[1:] & (np.abs(np.diff(T)) >= least_step(T[1:]))))
        if steps == near < count:
            self.longest = steps
        due = np.count_nonzero(solver.direction*(times - T[steps]) <= 0)
        step = np.searchsorted(solver.direction*T[1:steps],
                               solver.direction*times[:due])
        outputs = np.einsum('kij,kj->ki', coefficients[step], np.vander(
            times[:due] - T[step], coefficients.shape[2], increasing=True))
        if self.projected(code, times[:due], outputs, np.empty(due)) < due:
            return None
        rows = slice(steps + 1)
        return Block(
            T[rows], Y[rows], np.ascontiguousarray(rates[rows, :n]),
            drift[:steps], outputs,
            float(abs(T[-1] - T[-2])), count, lambda k: interpolant(
                T[k], T[k + 1] - T[k], coefficients[k]), steps == near)

    def projected(self, code, t, y, drift):
        """Project states in place; returns how many were."""
        return self.loop.project_all(
            code['correct_code'], *(code[name] for name in (
                'p', 'count', 'tables', 'levels')), t, y, drift)


class PerThread(local):
    """A copy of heyoka's integrator for each thread."""

    def __init__(self, taylor):
        self.taylor = copy(taylor)


def integrator_of(compiled, solver, work, tolerance):
    """heyoka's integrator for the rows in use by a solver."""
    h, equations = library('heyoka', 'heyoka'), compiled.equations
    if compiled.called:
        raise UnsupportedFeatureError(
            "method='taylor' needs inputs that are expressions, not tables "
            f"or Python functions. {ADVICE}")
    graph = solver.leaves_out_rows_only and solved_graph(
        equations, solver.rows_in_use, work=work)
    if not graph:
        raise UnsupportedFeatureError(
            "The accelerations cannot be written out for method='taylor': "
            "the mass matrix or the constraints are singular, or there are "
            f"too many operations. {ADVICE}")
    code = program(
        with_given(graph, ('out',), compiled.inputs.given), ('out',), slots(
            arguments_of(equations.t, equations.states, equations.constants,
                         ())))
    rough = ROUGH.intersection(     # names, or of functions that are called
        operation[operation[0] == 'call'] for operation in code.operations)
    if rough:
        raise UnsupportedFeatureError(
            "method='taylor' needs rates with a Taylor series, and these "
            f"contain {', '.join(sorted(rough))}, which have none where they "
            f"jump or have a kink. {ADVICE}")
    n = len(equations.states) + bool(work)
    order = ceil(1 - log(tolerance)/2)
    return h.taylor_adaptive(
        heyoka_system(h, code, [f'x{i}' for i in range(n)],
                      len(equations.constants)), np.zeros(n), tol=tolerance,
        compact_mode=len(code.operations)*order**2 > LARGE)


def least_step(t):
    return 10*np.spacing(np.abs(t))


def interpolant(t, h, coefficients):
    """The Taylor polynomial of a step."""
    powers = h**np.arange(1, coefficients.shape[1])
    return Interpolant(t, h, coefficients[:, 0], (
        coefficients[:, 1:]*powers).T)
