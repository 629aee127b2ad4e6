"""Runs of a model with many constants and starts, made and checked together.

Their steps are made in one compiled loop, and their checks and outputs are
those of :func:`.simulate` for all states at once. A run in which anything is
out of the ordinary is left to :func:`.simulate`.
"""
from contextlib import suppress
from time import perf_counter

import numpy as np
from sympy.core.function import AppliedUndef

from ...errors import ConstrainedDynamicsError
from ..linear.rank_decision import is_regular
from ..manifold.consistent_state import (
    TOLERANCE, check_consistent, consistent_states, mass_spectrum)
from ..outcome import Reason
from ..tolerances import NEGATIVE, OUTGROWN, TYPED
from .blocks import Blocks
from .records import assembled
from .passage import EDGE
from .rodas import Rodas5P
from .arguments import METHODS, check_sizes, output_times, time_span
from .simulate import MAX_STEPS
from .stepper import Run


# Arguments of `simulate` that runs of a batch may have.
OPTIONS = {'rtol', 'atol', 'method', 'stabilization', 't_eval', 'initial',
           'tolerance', 'max_step', 'max_steps', 'progress', 'throw'}
# States of all runs of a call of the loop, and entries of their matrices.
STATES, ENTRIES = 8192, 2**21


class Batch:
    """Runs from states ``x`` with constants ``p``, a row for each.

    ``trajectories`` contains None for runs that are left to
    :func:`.simulate`.
    """

    def __init__(self, compiled, t_span, x, p, *, rtol=1e-8, atol=1e-10,
                 method='DOP853', stabilization='projection', t_eval=None,
                 initial='check', tolerance=TOLERANCE, max_step=np.inf,
                 max_steps=MAX_STEPS, **_):
        self.compiled, self.p, self.trajectories = compiled, p, [None]*len(x)
        self.options = {'rtol': rtol, 'atol': atol, 'max_step': max_step}
        try:
            check_sizes(tolerance=tolerance, max_steps=max_steps,
                        **self.options)
            self.span = time_span(t_span)
            self.times = output_times(t_eval, self.span)
            method = METHODS.get(method)
        except (TypeError, ValueError):         # `simulate` will raise it
            return
        if stabilization != 'projection' or method is Rodas5P or (
                initial not in ('check', 'project')
                or calls_python(compiled) or compiled.equations.warning):
            return
        if initial == 'project':
            x = consistent_states(compiled, x, self.span[0], p)
        self.run = run = self.usual_run(x)
        if run is None or not Blocks.apply_to(run, method) or (
                run.rank.solver.kept is not None):
            return
        self.blocks = Blocks(run, method, **self.options)
        self.code = self.blocks.code(run.t, run.rates.begin[:run.size])
        if self.code is None:
            return
        self.begun = perf_counter()
        room = min(STATES, max(256, ENTRIES//run.rank.solver.scale.size))
        first = last = 0
        while first < len(x):           # until a run has too many steps
            last += self.made(x, slice(first, first + max(
                1, room//(1 if self.times is None else len(self.times)))),
                int(min(room, max_steps)))
            if last == first:
                break
            first = last

    def usual_run(self, x):
        """A :class:`.Run` like the others, None if there is none."""
        good = np.flatnonzero(np.isfinite(x).all(axis=1)).tolist()
        for k in {*good[:1], *good[len(good)//2:][:1], *good[-1:]}:
            with suppress(ConstrainedDynamicsError, ArithmeticError,
                          np.linalg.LinAlgError):
                compiled = self.compiled.with_values(self.p[k])
                check_consistent(compiled, self.span[0], x[k])
                return Run(compiled, self.span, x[k],
                           on_set=bool(compiled.residual_names))
        return None

    def made(self, x, some, room):
        """Make some runs; returns how many there was room for."""
        run, loop, size = self.run, self.blocks.loop, self.run.size
        X, p, n = x[some], self.p[some], len(run.rates.begin)
        T, drift = np.empty(room + 1), np.empty(room)
        Y, F = np.empty((2, room + 1, n))
        T[0] = self.span[0]
        times = np.zeros(0) if self.times is None else self.times[
            int(self.times[0] == self.span[0]):]
        states = np.empty((len(X), len(times), n))
        counts = np.zeros((len(X), 3), int)
        done = loop.make_runs(
            **self.code, tableau=self.blocks.tableau, end=self.span[1],
            X=np.pad(X, ((0, 0), (0, n - size))),
            constants=np.hstack([p, np.tile(
                run.rank.solver.sizes, (len(p), 1))]),
            parameters=np.ascontiguousarray(p), T=T, Y=Y, F=F, drift=drift,
            times=times, states=states, made=counts, **self.options)
        made = np.flatnonzero(counts[:done, 1])
        if not len(made):
            return done
        begins, steps, evaluations = counts[made].T
        rows = slice(begins[-1] + steps[-1] + 1)
        T, Y, F = T[rows], Y[rows], F[rows]
        with suppress(ConstrainedDynamicsError, ArithmeticError):
            good = self.checked(begins, steps, T, Y, F, p[made])
            if self.times is None:
                kept = np.repeat(good, steps + 1)
                T, Y, lengths = T[kept], Y[kept], steps[good] + 1
            else:
                Y = [states[k] for k in made[good]] if (
                    len(times) == len(self.times)) else [
                    np.vstack([Y[begin], states[k]]) for begin, k in zip(
                        begins[good], made[good])]
                Y = np.reshape(Y, (-1, n))
                lengths = np.full(good.sum(), len(self.times))
                T = np.tile(self.times, len(lengths))
            if len(lengths):
                self.assemble(some.start + made[good], lengths, T, Y,
                              steps[good], evaluations[good])
        return done

    def checked(self, begins, steps, t, y, rates, p):
        """Which runs need no review; those of ``begins`` and ``steps``."""
        compiled, solver, passages = (
            self.compiled, self.run.rank.solver, self.run.passages)
        x = y[:, :self.run.size]
        signs, sizes, least, largest, is_open, _ = self.blocks.watch(
            t, y, rates, begins, steps, np.ascontiguousarray(p))
        is_good = (signs*np.repeat(signs[begins], steps + 1) > 0) & (
            sizes <= OUTGROWN)
        start = self.span[0], x[begins], p
        good = np.logical_and.reduceat(is_good, begins) & is_regular(
            compiled, solver, *start) & (mass_spectrum(
                compiled, compiled.evaluate(('M',), *start)['M'])[0].min(
                    axis=-1, initial=0.) > NEGATIVE)
        if compiled.equations.graph.outputs.get('rotation', (0,))[0]:
            good &= abs(compiled.evaluate(('rotation',), *start)[
                'rotation']).max(axis=(-2, -1)) <= TYPED
        if passages is not None:
            good &= ~np.logical_or.reduceat(is_open, begins) & (
                np.minimum.reduceat(least, begins)
                >= EDGE*np.maximum.reduceat(largest, begins))
        return good

    def assemble(self, runs, lengths, t, y, steps, evaluations):
        """The trajectories of good runs from all their outputs."""
        records, p = self.run.records, np.repeat(self.p[runs], lengths, axis=0)
        columns = records.columns(t, y, p=p)
        every = assembled(records.compiled, columns, p, reason=Reason.END,
                          message=Reason.END.value)
        ends = np.cumsum(lengths)
        good = np.all([(errors <= allowed[:, None]).all(axis=1)
                       for errors, allowed in records.balance.compared(
                           ends - lengths, vars(every), columns, steps,
                           self.options['rtol'], self.options['atol'])],
                      axis=0)
        seconds = (perf_counter() - self.begun)/len(ends)
        runs, lengths, ends = runs[good], lengths[good], ends[good]
        fields = [{'constants': dict(zip(every.constants, p)), 'statistics': {
            'steps': made, 'evaluations': calls, 'unprojected': 0,
            'seconds': seconds}} for p, made, calls in zip(
                self.p[runs].tolist(), steps[good].tolist(),
                evaluations[good].tolist())]
        for i, trajectory in zip(runs, every.parts(
                ends - lengths, ends, fields)):
            self.trajectories[i] = trajectory
        self.begun = perf_counter()


def calls_python(compiled):
    expressions = [*compiled.equations.graph.templates,
                   *compiled.inputs.expressions.values()]
    return bool(compiled.inputs.called) or any(
        hasattr(f, '_imp_') for e in expressions for f in e.atoms(
            AppliedUndef))
