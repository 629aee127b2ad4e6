"""Equations and rates that pull states back to the constraints.

The terms of Baumgarte, and of Braun and Goldfarb (:doc:`/theory/numbers`).
"""
from contextlib import suppress
from dataclasses import replace

import numpy as np
from sympy import Dummy

from ...errors import UnsupportedFeatureError
from ..names import number
from ..tolerances import LEAST_CUT
from .correction import LEVELS, Projector, newton_code
from .projection import (
    coordinate_metric, least_norm_step, mass_metric, norms_of)


# Residuals decay within so many steps, of the length of a trial's last one.
STEPS_OF_DECAY = TRIAL_STEPS = 10
STEP = Dummy('h')
GAINS = Dummy('alpha', nonnegative=True), Dummy('beta', nonnegative=True)


def is_gains(stabilization):
    try:
        return len(stabilization) == 2 and min(
            map(number, stabilization)) >= 0
    except (TypeError, ValueError):
        return False


def check_rows(equations):
    """Raise unless Baumgarte's terms can correct all constraints."""
    where = equations.constraint_rows
    velocity = equations.graph.load(None, ('velocity',))[1]['velocity']
    if not velocity or not all(k in where for k in range(len(velocity))):
        raise UnsupportedFeatureError(
            "Baumgarte's stabilization changes the constraint rows "
            "`A*u' = b` of the equations, and these equations have none: "
            "their constraints are built in. Use "
            "`stabilization='projection'`, or UdwadiaKalabaMethod.")
    if equations.is_stabilized:
        raise UnsupportedFeatureError(
            "The equations were formed with `stabilization=`, so their "
            "constraint rows have gains already. Pass `stabilization=None` "
            "to `simulate`, or form the equations without.")
    kept = [equations.constraint_names[k]
            for k, [phi] in enumerate(velocity) if not phi]
    if kept:
        raise UnsupportedFeatureError(
            f"The kinematic equations keep {', '.join(kept)} whatever the "
            "accelerations are (as they do the norm of a quaternion), so "
            "Baumgarte's terms cannot correct it. Use "
            "`stabilization='projection'`, or leave the row out.")


def stabilized(equations):
    """The equations with the gains :data:`GAINS` as constants."""
    check_rows(equations)
    where = equations.constraint_rows
    g, out = equations.graph.load()
    alpha, beta = (g.input(gain) for gain in GAINS)
    holonomic = len(out['holonomic'])
    for k, [phi] in enumerate(out['velocity']):
        change = g.mul(alpha, phi)
        if k < holonomic:
            change = g.add(g.mul(g.constant(2), change), g.mul(
                g.mul(beta, beta), out['holonomic'][k][0]))
        out['b'][k] = out['r'][where[k]] = [g.sub(out['b'][k][0], change)]
    return replace(equations, graph=equations.graph.updated(g, out),
                   is_stabilized=True)


def trial_gain(run, method, **options):
    """A gain that fits the steps of an integrator at the start."""
    step = abs(run.span[1] - run.span[0])/1000
    with suppress(Exception):           # the run will raise it again
        solver = method(run.rates, run.t, run.rates.begin, run.span[1],
                        **options)
        for _ in range(TRIAL_STEPS):
            solver.step()
            if solver.status == 'failed':
                break
            step = abs(solver.step_size) or step
            if solver.status == 'finished':
                break
    return float(1/(STEPS_OF_DECAY*step))


class Feedback:
    """The terms of Braun and Goldfarb, for the step that begins."""

    def __init__(self, compiled):
        outputs = compiled.equations.graph.outputs
        if outputs['velocity'][0] < outputs['holonomic'][0]:
            raise UnsupportedFeatureError(
                "Braun's and Goldfarb's terms correct the velocities, too, "
                "and these equations have no rows for them: their constraints "
                "are built in. Use `stabilization='projection'`, or "
                "UdwadiaKalabaMethod.")
        self.compiled = compiled
        self.projector = Projector(compiled)
        self.step = self.quick = None
        self._code = None, None         # a solver, and machine code for it

    def begin(self, solver, chosen):
        """Take the length of the next step, and the solver of the motion."""
        x = solver.y[:len(self.compiled.states)]
        if self._code[0] is not chosen:
            rows = self.projector.rows(chosen, solver.t, x)
            self._code = chosen, rows and newton_code(
                self.compiled, rows, STEP)
        left = abs(solver.t_bound - solver.t)
        self.step = solver.direction*min(solver.h_abs, solver.max_step, left)
        native = self._code[1]
        self.quick = native and native.bound(
            x.shape, [*self.compiled.p, self.step], None, self.compiled.called)
        solver.f = solver.fun(solver.t, solver.y)

    def correct(self, t, x, rates):
        if self.step is None or not np.isfinite(rates).all():
            return
        q, u = self.compiled.q_index, self.compiled.u_index
        values = self.quick and self.quick(t, x)
        if values is not None:
            rates[q] += values[:len(q)]
            rates[u] += values[len(q):len(q) + len(u)]
            return
        blocks = self.compiled.evaluate(
            (*LEVELS, *(f'{name}_jacobian' for name in LEVELS)), t, x)
        M, G = self.compiled.inertia(t, x)
        position, velocity = (blocks[name][:, 0] for name in LEVELS)
        if len(position):
            rates[q] += change(
                blocks, 'holonomic',
                velocity[:len(position)] + position/self.step,
                coordinate_metric(M, G))
        if len(velocity):
            rates[u] += change(blocks, 'velocity', velocity/self.step,
                               mass_metric(M, range(len(M))))


def change(blocks, name, values, metric):
    """The change of least kinetic energy that removes ``values``."""
    gradient = blocks[f'{name}_jacobian']
    norms = norms_of(gradient)
    cut = max(LEAST_CUT[name], np.abs(blocks[name][:, 0]/norms).max())
    return least_norm_step(values/norms, gradient/norms[:, None], metric, cut)
