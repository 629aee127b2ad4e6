"""Motions by the recursive equations, in the compiled loop."""
from contextlib import suppress

import numpy as np
from scipy.integrate import DOP853, RK23, RK45

from ...errors import ConstrainedDynamicsError, ConstraintError, warn
from ..integrate.runs import LONGEST, BlockRun
from ..integrate.blocks import is_compiled
from ..integrate.ends import COMPILING, SLOW, Pace, cause_of
from ..manifold.consistent_state import no_rotation
from ..manifold.projection import ROUNDING, size_of
from ..outcome import Reason
from ..tolerances import CLOSE, NEARBY, OFFSETS
from ..trajectory import Trajectory
from .equations import DEPENDENT


METHODS = {method.__name__: method for method in (DOP853, RK45, RK23)}
# Numbers in the states of a block.
MOST_NUMBERS = 2**22
# Newton steps of a projection, how often each is halved, and rows that are
# named if it fails.
NEWTON, HALVINGS, MOST_NAMED = 50, 10, 4
# A change of coordinates, a relative one of speeds, and the relative change of
# rates that is noise.
SHIFT, NUDGE, NOISY = 1e-10, 1e-9, 1e-5
# The largest part of a row across others that is ignored far from the
# constraints, squared.
MOST = 0.01
# A step that cannot be made, because it begins or ends beside a singular
# configuration, is made from one of the last KEPT states, whose step was LONG,
# relative to the longest of these. The new step is tried with these parts of
# that one, the first with projection, the others without.
KEPT, LONG = 32, 0.3
ATTEMPTS = (0.6, True), (0.45, False), (0.35, False)

ACTS = ("a constraint row that was redundant begins to act at t = {:.6g}, or "
        "contradicts the others. Correct it, or pass the model itself, whose "
        "ordinary form follows a change of the rank")


def prepared(equations, span, x, times, method, stabilization, others,
             initial, tolerance, **options):
    """The run. ``others``: arguments without meaning -> whether given."""
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
    warn(no_rotation(equations.rotation, equations.states, x))
    return RecursiveRun(equations, span, x, times, METHODS[method],
                        on_set=stabilization is not None, **options)


def consistent(equations, t, x, tolerance):
    """The state, moved to the constraints; an error if it is too far from
    them. Without a ``tolerance`` it may be anywhere.
    """
    q, m = len(equations.coordinates), len(equations.multiplier_names)
    far = farthest(equations, t, x)
    if far == np.inf:
        equations.rhs(t, x)             # raises the reason
    offsets = [0.] if tolerance is not None and far <= tolerance else []
    if tolerance is None:               # gradients may vanish at the guess
        offsets = 0., *OFFSETS
    for offset in offsets:
        y = x.copy()
        y[:q] += offset*np.cos(2.4*np.arange(1, q + 1))
        for moving, rows in (slice(q), slice(m)), (
                slice(q, None), slice(m, None)):
            y = moved(equations, t, y, moving, rows)
        if farthest(equations, t, y) <= ROUNDING:
            return y
    found = np.abs(equations.residuals(t, x))
    bad = [k for k in np.argsort(-found)[:MOST_NAMED]
           if found[k] > CLOSE*found.max()]
    names = [equations.residual_names[k] for k in bad]
    text = ', '.join(f'{name} by {found[k]:.1e}'
                     for name, k in zip(names, bad))
    raise ConstraintError(
        f"The initial state violates {text}. "
        + ("Pass `initial='project'` to move to a consistent state near it, "
           "or correct it." if tolerance is not None else
           "No consistent state was found near it: try another one, or "
           "correct the constraints."),
        rows=tuple(names), residuals=found, tolerance=tolerance)


def farthest(equations, t, x):
    """The largest relative distance of a state from its constraints."""
    return gaps(equations, t, x)[0].max(initial=0.)/size_of(x)


def gaps(equations, t, x):
    """Distances of a state from the rows at both levels, infinite where the
    model has no motion, and the norms of the gradients.
    """
    fault, out = equations.correction([], [])(t, x, equations.p)
    if fault:
        out[len(x):] = np.inf
    far, norms = np.split(out[len(x):], [2*len(equations.multiplier_names)])
    return far, np.tile(norms, 2)


def moved(equations, t, x, moving, rows):
    """The state at which rows hold, as far as Newton steps lead to it."""
    last = np.inf
    for _ in range(NEWTON):
        distances, norms = gaps(equations, t, x)
        far = distances[rows].max(initial=0.)/size_of(x)
        if far <= CLOSE or far < ROUNDING and far > last/2:
            break
        # Off the constraints redundant rows look independent.
        _, *measured = equations.independent(t, x, cut=np.clip(
            far**2, DEPENDENT, MOST))
        _, out = equations.correction(*measured)(t, x, equations.p)
        for k in range(HALVINGS):
            new = x.copy()
            new[moving] += out[:len(x)][moving]/2**k
            others, sizes = gaps(equations, t, new)
            if np.linalg.norm((others*sizes/norms)[rows]) < np.linalg.norm(
                    distances[rows]):
                break
        else:
            break
        last, x = far, new
    return x


def beside(equations, t, x):
    """A state near ``x`` whose positions hold, or None."""
    q, m, y = len(equations.coordinates), len(equations.multiplier_names), (
        x.copy())
    y[:q] += NEARBY*np.cos(2.4*np.arange(1, q + 1))
    with suppress(ConstrainedDynamicsError):
        y = moved(equations, t, y, slice(q), slice(m))
        if gaps(equations, t, y)[0][:m].max() <= ROUNDING*size_of(y):
            return y


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
        self.outputs, self.due, self.rows = [], 0, None
        self.noisy = []                 # times of outputs, see `is_noise`
        self.choose_rows()
        self.f = equations.rhs(self.t, x)       # or the error of the start
        self.h = 0.                     # the loop chooses the first one
        self.last_states = [(self.t, x, self.f)]
        self.unprojected, self.projects = 0, True       # the next step
        # of the last step that could not be made, to reach this time
        self.attempts, self.reached = iter(ATTEMPTS), self.t

    def choose_rows(self):
        """Choose independent rows here; whether they have changed."""
        rows, self.chosen_at = self.equations.independent(
            self.t, self.x), self.t
        if self.rows == rows:
            return False
        self.rows = rows
        self.function = self.equations.by_rows(rows[0], checks=False)
        self.checked = self.equations.by_rows(rows[0])
        self.left_out = set(range(len(
            self.equations.multiplier_names))).difference(rows[0])
        self.correct = self.equations.correction(*rows[1:])
        n, q = len(self.x), len(self.equations.coordinates)
        self.levels = np.array([q, n - q, 0, 0, 0])
        if self.on_set:
            self.levels[2:4] = len(self.equations.multiplier_names)
        return True

    # -- steps -----------------------------------------------------------

    def begin(self, progress):
        if not is_compiled(self.loop.make_steps):
            progress.say(COMPILING)
        self.add([self.t], [self.x])
        self.due = int(self.times is not None and self.times[0] == self.t)

    def block(self, count):
        levels, count = (
            self.levels, min(count, self.pace.left(self.made))
        ) if self.projects else (self.without_projection, 1)
        self.projects = True
        reason, T, Y, F, states, h = self.made_steps(count, levels)
        end = self.acting(T, Y)
        fault = end is not None and ACTS.format(T[end])
        T, Y, F = T[:end], Y[:end], F[:end]
        steps = len(T) - 1
        self.made += steps
        self.unprojected += steps*(levels is not self.levels)
        self.t, self.x, self.f = float(T[-1]), Y[-1].copy(), F[-1]
        self.h = h or self.h
        first = max(1, steps - KEPT)
        self.last_states = [*self.last_states, *zip(
            T[first:].tolist(), Y[first:], F[first:])][-KEPT:]
        if self.times is None:
            self.add(T[1:], Y[1:])
        else:
            due = self.times[self.due:self.due + len(states)]
            due = due[self.forward*(due - self.t) <= 0]
            self.add(due, states)
            self.due += len(due)
        if fault:
            raise self.stopped(Reason.CONTRADICTION, fault)
        if reason == self.loop.TROUBLE and not (
                self.t != self.chosen_at and self.choose_rows()
                or self.go_back()):
            raise self.failure()
        slow = self.t != self.end and self.pace.fault(self.made, self.t)
        if slow:
            raise self.stopped(Reason.STEPS, slow + SLOW)

    @property
    def without_projection(self):
        return np.where([1, 1, 0, 0, 0], self.levels, 0)

    def made_steps(self, count, levels):
        """Steps from the present state: the reason of their end; times, states
        and rates from the present ones on; states at output times; and the
        size of the next step.
        """
        n = len(self.x)
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
            z=np.empty(0), tableau=self.tableau, levels=levels,
            size=max(self.function.size, self.correct.size),
            begins=T[:1].copy(), ends=end, stops=end, h=self.h, T=T, Y=Y,
            F=F, K=np.empty((1, len(self.tableau.c), n)), drift=drift,
            times=times, states=states, **self.options)
        self.evaluations += evaluations
        return (reason, T[:steps + 1], Y[:steps + 1], F[:steps + 1],
                states[:due], h)

    def acting(self, T, Y):
        """The first state that violates a row that was left out, or None;
        rows with residuals are left to the projection.
        """
        if not self.left_out or self.on_set and self.equations.has_residuals(
                self.left_out):
            return None
        return next((k for k, (t, x) in enumerate(zip(T[1:], Y[1:]), 1)
                     if self.checked(t, x, self.equations.p)[0]), None)

    def go_back(self):
        """Go back to a state that allows another step, if there is one."""
        t = np.array([t for t, _, _ in self.last_states])
        steps = np.abs(np.diff(t))
        if not len(steps):
            return False
        k = np.flatnonzero(steps >= LONG*steps.max())[-1]
        if self.forward*(self.t - self.reached) > 0:
            self.attempts = iter(ATTEMPTS)
        part, self.projects = next(self.attempts, (0., True))
        if not part:
            return False
        self.h, self.reached = part*steps[k], self.t + self.forward*steps[k]
        del self.last_states[k + 1:]
        self.t, self.x, self.f = self.last_states[-1]
        if self.times is None:
            self.outputs = [part for part in self.outputs if self.forward*(
                self.t - part['t']) >= 0]
        return True

    def stopped_by(self, trouble):
        return self.stopped(*cause_of(trouble, None))

    def failure(self):
        with self.stopping():
            self.equations.rhs(self.t, self.x)
        if self.on_set and self.made_steps(1, self.without_projection)[
                0] != self.loop.TROUBLE:
            return self.stopped(
                Reason.OFF_CONSTRAINTS, "the next state could not be returned "
                "to the constraints. Probably they lose rank near this state, "
                "or contradict each other. Motions by the recursive equations "
                "do not pass such states; pass the model itself, whose "
                "ordinary form does")
        return self.stopped_by(None)

    # -- outputs ---------------------------------------------------------

    def add(self, t, x):
        for t, x in zip(t, x):
            with self.stopping():
                outputs = self.equations.outputs(t, x)
            self.outputs.append({'t': t, 'x': x, **outputs})
            if self.is_noise(t, x):
                self.noisy.append(t)

    def is_noise(self, t, x):
        """Whether tiny changes of speeds change rates, or those of coordinates
        do so not in proportion: a near singularity.
        """
        q, n = len(self.equations.coordinates), len(x)
        wave = np.cos(2.4*np.arange(n))
        shift = SHIFT*wave[:q]*np.maximum(1., abs(x[:q]))

        def rates(step, nudge=0.):
            y = np.append(x[:q] + step*shift, x[q:]*(1 + nudge*wave[:n - q]))
            return self.function(t, y, self.equations.p)[1]

        here = rates(0)
        far = np.maximum(abs(rates(0, NUDGE) - here),
                         abs(rates(1) - 2*here + rates(-1)))
        return (far[n:].max(initial=0.) > NOISY*abs(here[n:]).max(initial=0.)
                and far[:n].max() > NOISY*size_of(here[:n]))

    def add_last(self):
        if self.outputs and self.outputs[-1]['t'] != self.t:
            self.add([self.t], [self.x])

    def trajectory(self, reason, message, statistics):
        equations = self.equations
        if self.noisy:
            warn("Speeds, rates, multipliers and constraint forces are "
                 "inaccurate near a singular configuration; coordinates and "
                 "other outputs are not. Outputs: "
                 f"{len(self.noisy)}, first at t = {self.noisy[0]:.6g}. "
                 "Choose other output times, or pass the model itself.")
        if len(self.outputs) > 1 and self.times is not None and (
                self.times[0] != self.outputs[0]['t']):
            del self.outputs[0]         # the start is not an output
        return Trajectory(
            **{name: np.array([part[name] for part in self.outputs])
               for name in self.outputs[0]},
            condition=np.full(len(self.outputs), np.nan),
            work=None, power=None, energy_rate=None,
            states=equations.states, speeds=equations.speeds,
            multiplier_names=equations.multiplier_names,
            residual_names=equations.residual_names,
            constants=dict(zip(equations.constants, equations.p.tolist())),
            reason=reason, message=message, statistics={
                **statistics, 'unprojected': self.unprojected},
            units=self.units)
