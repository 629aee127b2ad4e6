"""Motions by the recursive equations, in the compiled loop."""
from __future__ import annotations

import numpy as np
from scipy.integrate import DOP853, RK23, RK45

from ...errors import ConstraintError, InconsistentConstraintsError
from ..integrate.block_run import LONGEST, BlockRun
from ..integrate.ends import COMPILING, SLOW, Pace, cause_of
from ..integrate.rates import TROUBLE
from ..manifold.projection import size_of
from ..outcome import Reason
from ..tolerances import CLOSE
from ..trajectory import Trajectory

__all__ = ['RecursiveRun', 'prepared']

METHODS = {method.__name__: method for method in (DOP853, RK45, RK23)}
# Numbers in the states of a block, and Newton steps of a projection.
MOST_NUMBERS, NEWTON = 2**22, 20


def prepared(equations, span, x, times, method, stabilization, others,
             initial, tolerance, **options):
    """The :class:`RecursiveRun` with the arguments of ``simulate``.

    ``others`` maps names of arguments without a meaning here to whether they
    were given.
    """
    given = [f'`{name}`' for name, is_given in others.items() if is_given]
    if method not in METHODS:
        given.append(f'`method={method!r}`')
    if stabilization not in ('projection', None):
        given.append(f'`stabilization={stabilization!r}`')
    if given:
        raise ValueError(
            f"{', '.join(given)}: motions by the recursive equations have no "
            f"place for this. They take the methods {', '.join(METHODS)} and "
            "the stabilization 'projection' or None. Leave the others out, "
            "or pass the model itself, whose ordinary form takes all.")
    if equations.multiplier_names:
        x = consistent(equations, span[0], x,
                       tolerance if initial == 'check' else None)
    return RecursiveRun(equations, span, x, times, METHODS[method],
                        on_set=stabilization is not None, **options)


def consistent(equations, t, x, tolerance):
    """The state, moved to the constraints; an error if it is too far from
    them. Without a ``tolerance`` it may be anywhere.
    """
    correct = equations.correction(equations.native_function(t=t, x=x))
    p, n, last, x = equations.p, len(x), np.inf, x.copy()
    for k in range(NEWTON):
        fault, out = correct(t, x, p)
        far = out[n:].max(initial=0.)/size_of(x)
        if fault or not np.isfinite(far) or k == 0 and (
                tolerance is not None and far > tolerance):
            break
        if far <= CLOSE or k and far > last/2 and far < np.sqrt(CLOSE):
            return x
        last = far
        x += out[:n]
    found = np.abs(equations.residuals(t, x))
    bad = np.argsort(-found)[:4]
    rows = tuple(equations.residual_names[k] for k in bad if found[k] > CLOSE)
    text = ', '.join(f'{equations.residual_names[k]} by {found[k]:.1e}'
                     for k in bad if found[k] > CLOSE)
    raise ConstraintError(
        f"The initial state violates {text}. "
        + ("Pass `initial='project'` to move to a consistent state near it, "
           "or correct it." if tolerance is not None else
           "No consistent state was found near it: try another one, or "
           "correct the constraints."),
        rows=rows, residuals=found, tolerance=tolerance)


class RecursiveRun(BlockRun):
    """One run; ``x`` are the states at the start."""

    def __init__(self, equations, span, x, times, method, *, on_set, units,
                 max_steps, rtol, atol, max_step):
        super().__init__()
        from ..integrate import loop
        self.loop, self.equations, self.units = loop, equations, units
        self.t, self.end, self.times, self.x = *span, times, x
        self.forward = np.sign(self.end - self.t)
        self.tableau = loop.tableau_of(method)
        self.options = {'rtol': rtol, 'atol': atol, 'max_step': max_step}
        self.pace = Pace(max_steps, *span)
        self.longest = int(np.clip(MOST_NUMBERS//len(x), 1, LONGEST))
        self.on_set = on_set and bool(equations.multiplier_names)
        self.outputs, self.due = [], 0
        self.choose_rows()
        solver = method(self.rates, self.t, x, self.end, **self.options)
        self.h, self.f = solver.h_abs, solver.f

    def rates(self, t, x):
        return self.equations.rhs(t, x)

    def choose_rows(self):
        """Choose independent rows at the present state; whether they are
        others than before.
        """
        before = getattr(self, 'function', None)
        self.function = self.equations.native_function(
            t=self.t, x=self.x)
        if before and before.use == self.function.use:
            return False
        self.correct = self.equations.correction(self.function)
        n, q = len(self.x), len(self.equations.coordinates)
        self.levels = np.array([q, n - q, 0, 0, 0])
        if self.on_set:
            self.levels[2:] = 1, 1, self.correct.size - n - 2
        return True

    # -- steps -----------------------------------------------------------

    def begin(self, progress):
        if not self.loop.make_steps.overloads:
            progress.say(COMPILING)
        self.add([self.t], [self.x])
        self.due = int(self.times is not None and self.times[0] == self.t)

    def block(self, count):
        """Make at most so many steps."""
        n, count = len(self.x), min(count, self.pace.left(self.made))
        T, drift = np.empty(count + 1), np.empty(count)
        Y, F = np.empty((2, count + 1, n))
        T[0], Y[0], F[0] = self.t, self.x, self.f
        times = np.empty(0) if self.times is None else self.times[self.due:]
        states = np.empty((len(times), n))
        p = self.equations.p
        code = self.loop.Code(self.function.function)
        correct = self.loop.Code(self.correct.function)
        end = np.array([self.end])
        reason, steps, due, evaluations, h = self.loop.make_steps(
            code=code, slopes_code=code, correct_code=correct,
            p=np.full(3, p.ctypes.data, np.uintp), count=0,
            tables=self.loop.packed(()), sizes=np.zeros(5, int),
            z=np.empty(0), tableau=self.tableau, levels=self.levels,
            size=max(self.function.size, self.correct.size),
            begins=T[:1].copy(), ends=end, stops=end, h=self.h, T=T, Y=Y,
            F=F, K=np.empty((1, len(self.tableau.c), n)), drift=drift,
            times=times, states=states, **self.options)
        self.evaluations += evaluations
        self.made += steps
        self.t, self.x, self.f = float(T[steps]), Y[steps].copy(), F[steps]
        self.h = h or self.h
        if self.times is None:
            self.add(T[1:steps + 1], Y[1:steps + 1])
        else:
            self.add(times[:due], states[:due])
            self.due += due
        if reason == self.loop.TROUBLE and not self.choose_rows():
            raise self.failure()
        slow = self.t != self.end and self.pace.fault(self.made, self.t)
        if slow:
            raise self.stopped(Reason.STEPS, slow + SLOW)

    def failure(self):
        """The reason of steps that cannot be made."""
        try:
            self.equations.rhs(self.t, self.x)
        except InconsistentConstraintsError as error:
            return self.stopped(Reason.CONTRADICTION, str(error))
        except TROUBLE as error:
            return self.stopped(*cause_of(error, None))
        fault, out = self.correct(self.t, self.x, self.equations.p)
        if self.on_set and (fault or not out[len(self.x):].max() < 1e-6):
            return self.stopped(
                Reason.OFF_CONSTRAINTS, "the next state could not be returned "
                "to the constraints. Probably they lose rank near this state. "
                "Motions by the recursive equations do not pass such states; "
                "pass the model itself, whose ordinary form does")
        return self.stopped(*cause_of(None, None))

    # -- outputs ---------------------------------------------------------

    def add(self, t, x):
        """Add outputs."""
        for t, x in zip(t, x):
            try:
                outputs = self.equations.outputs(t, x)
            except InconsistentConstraintsError as error:
                raise self.stopped(Reason.CONTRADICTION, str(error)) from error
            except TROUBLE as error:
                raise self.stopped(*cause_of(error, None)) from error
            self.outputs.append({'t': t, 'x': x, **outputs})

    def add_last(self):
        if self.outputs and self.outputs[-1]['t'] != self.t:
            self.add([self.t], [self.x])

    def trajectory(self, reason, message, statistics):
        equations = self.equations
        if len(self.outputs) > 1 and self.times is not None and (
                self.times[0] != self.outputs[0]['t']):
            del self.outputs[0]         # the start is no output
        return Trajectory(
            **{name: np.array([part[name] for part in self.outputs])
               for name in self.outputs[0]},
            condition=np.full(len(self.outputs), np.nan),
            work=None, power=None, energy_rate=None,
            states=equations.states, speeds=equations.speeds,
            multiplier_names=equations.multiplier_names,
            residual_names=equations.residual_names,
            constants=dict(zip(equations.constants, equations.p.tolist())),
            reason=reason, message=message, statistics=statistics,
            units=self.units)
