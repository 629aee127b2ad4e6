"""Blocks of ordinary steps, made in a compiled loop and checked at once.

A block ends before a step that is not ordinary: the integrator makes that step
in Python, and the next block follows.
"""
from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from scipy.integrate import DOP853, RK23, RK45

from ...errors import ConstrainedDynamicsError
from ..manifold.correction import newton_graph

__all__ = ['Blocks', 'Block']

# Largest number of steps in a block.
SIZE = 256
# Steps in Python after a block without steps; twice as many after each more.
PAUSE = 4


class Block(NamedTuple):
    """Steps, from the state 0, and the outputs between them."""

    t: np.ndarray               # (steps + 1,)
    y: np.ndarray               # (steps + 1, n)
    rates: np.ndarray
    drift: np.ndarray           # relative distances from the constraints
    outputs: np.ndarray         # (outputs, n)
    following: float            # size of the next step
    evaluations: int
    path: object                # number of a step -> its interpolant
    is_full: bool               # whether the next step may be ordinary


class Path(NamedTuple):
    """The interpolant of a step, as a function of time."""

    t: float
    h: float
    y: np.ndarray
    powers: np.ndarray

    def __call__(self, t):
        part = (np.asarray(t) - self.t)/self.h
        change = 0.
        for row in self.powers[::-1]:
            change = np.multiply.outer(part, np.ones(len(row)))*(change + row)
        return (self.y + change).T


class Blocks:
    """The compiled loop for one integration by an explicit method."""

    def __init__(self, compiled, rank, names, projector, method, **options):
        from . import loop
        self.loop = loop
        self.compiled, self.rank = compiled, rank
        self.names, self.projector = names, projector
        self.tableau = loop.tableau_of(method)
        self.options = options
        self.pause, self.waiting = PAUSE, 0
        self._code = None, None         # a solver, and its machine code

    @staticmethod
    def apply_to(compiled, method, projector, feedback):
        """Whether no step has to enter Python."""
        return (method in (DOP853, RK45, RK23) and find_spec('numba')
                and compiled.backend != 'numpy' and not compiled.called
                and feedback is None
                and (projector is None or projector.is_simple))

    def code(self, t, x):
        """Rates, projection and their constants, or None."""
        solver = self.rank.solver
        if self._code[0] is not solver:
            self._code = solver, self._made(solver, t, x)
        return self._code[1]

    def _made(self, solver, t, x):
        compiled, Code = self.compiled, self.loop.Code
        rates, constants = compiled.native_rates(solver, self.names)
        if rates is None:
            return None
        levels = [len(compiled.q_index), len(compiled.u_index), 0, 0, 0]
        correct, p = rates, constants
        if self.projector is not None:
            rows = self.projector.rows(solver, t, x)
            if rows is None:
                return None
            rows, p = numbers(rows, compiled), compiled.parameters()
            correct = compiled.kept(
                ('projection', rows), lambda: newton_code(compiled, rows))
            if correct is None:
                return None
            count = sum(compiled.equations.graph.outputs[name][0]
                        for name in LEVELS)
            levels[2:] = *map(len, rows), count - sum(map(len, rows))
        return {'rates': Code(rates.function), 'p_rates': constants,
                'correct': Code(correct.function),
                'p_correct': np.array(p, dtype=float),
                'levels': np.array(levels), 'size': rates.size}

    def is_due(self):
        """Whether to try a block instead of a step."""
        self.waiting -= 1
        return self.waiting < 0

    def steps(self, solver, times, most) -> Block | None:
        """At most so many steps that follow, up to one that is not ordinary.
        """
        n, most = len(solver.y), int(min(SIZE, most))
        code = self.code(solver.t, solver.y[:len(self.compiled.states)])
        if code is None:
            return None
        T, drift = np.empty(most + 1), np.empty(most)
        Y, F = np.empty((2, most + 1, n))
        K = np.empty((most, len(self.tableau.c), n))
        T[0], Y[0], F[0] = solver.t, solver.y, solver.f
        states = np.empty((len(times), n))
        reason, steps, due, evaluations, h = self.loop.make_steps(
            **code, tableau=self.tableau, end=solver.t_bound, h=solver.h_abs,
            T=T, Y=Y, F=F, K=K, drift=drift, times=times, states=states,
            **self.options)

        def path(k):
            return self.path(solver.fun, T[k], T[k + 1] - T[k], Y[k], K[k])

        rows = slice(steps + 1)
        return Block(T[rows], Y[rows], F[rows], drift[:steps], states[:due], h,
                     evaluations, path, reason == self.loop.FULL)

    def path(self, rates, t, h, y, K):
        """The interpolant of a step with the stages ``K``."""
        tableau = self.tableau
        for k in range(tableau.stages + 1, len(tableau.c)):
            K[k] = rates(t + tableau.c[k]*h, y + h*(tableau.a[k, :k]@K[:k]))
        return Path(t, h, y, h*(tableau.extension.T@K))

    def made(self, block, steps):
        """Take note of the number of steps that were accepted."""
        if not steps:
            self.pause, self.waiting = 2*self.pause, self.pause
        else:
            is_next = block.is_full and steps == len(block.drift)
            self.pause, self.waiting = PAUSE, int(not is_next)


LEVELS = 'holonomic', 'velocity'


def newton_code(compiled, rows):
    """The machine code of a step of the projection, None without it."""
    with suppress(ConstrainedDynamicsError):        # a row has no gradient
        graph = newton_graph(compiled.equations, dict(zip(LEVELS, rows)))
        return graph and compiled.native_output(graph, 'checks')


def numbers(rows, compiled):
    """Numbers of the rows of each level, where a slice means all."""
    return tuple(tuple(np.arange(compiled.equations.graph.outputs[name][0])[
        rows[name]].tolist()) for name in LEVELS)
