"""Integrate equations of motion and keep them on their constraints."""
from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from warnings import warn

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, Radau

from ...errors import ConstrainedDynamicsError, SimulationError
from ..geometric.run import FixedRun, check_arguments
from ..manifold.consistent_state import (
    TOLERANCE, check_consistent, consistent_state, negative_mass)
from ..manifold.projection import project
from ..manifold.stabilization import (
    GAINS, Feedback, is_gains, stabilized, trial_gain)
from ..names import Names, array, label, number, sentence
from ..progress import Progress
from ..tolerances import CLOSE
from ..outcome import Reason
from ..trajectory import Trajectory
from .crossing import compiled_with
from .dae import IDA
from .events import event_functions
from .records import assembled
from .rodas import Rodas5P
from .stepper import Run
from .tape import Tape
from .taylor import Taylor

__all__ = ['simulate', 'output_times', 'time_span', 'check_sizes']

ONE_STEP = {method.__name__: method for method in (
    RK23, RK45, DOP853, Radau, Rodas5P)}
MULTI_STEP = {'BDF': BDF, 'LSODA': LSODA}
METHODS = {**ONE_STEP, **MULTI_STEP, 'IDA': IDA, 'taylor': Taylor}
STABILIZATIONS = {'projection': 'projection', 'baumgarte': 'baumgarte',
                  'braun-goldfarb': 'feedback'}
OTHER_UNITS = {'t', 'energy', 'work', 'power', 'length', 'force', 'moment'}
MAX_STEPS = MAX_OUTPUTS = 10_000_000
# Arguments that may be infinite, which means no limit.
LIMITS = ('max_step', 'max_steps')


def simulate(model, t_span, start, *, constants=None, inputs=None,
             rtol=1e-8, atol=1e-10, method='DOP853',
             stabilization='projection', t_eval=None, initial='check',
             tolerance=TOLERANCE, events=(), max_step=np.inf,
             max_steps=MAX_STEPS, progress=None, throw=True, dense=False,
             adjoint=False, units=None, reactions=None, integrator=None,
             step=None, order=2) -> Trajectory:
    r"""Integrate the equations of motion of a model.

    Explanation
    ===========

    SciPy's integrators make the steps. ``stabilization='projection'`` returns
    each accepted state to the constraints before the next step, first the
    coordinates, then the speeds, by the changes of least kinetic energy. That
    moves a state by no more than the error of one step.

    The other ways change the equations, not the states, so that residuals
    become small, not zero. Baumgarte's terms in the constraint rows let
    residuals decay like an oscillator with the damping ``alpha`` and the
    frequency ``beta``; the terms of Braun and Goldfarb in the rates remove
    residuals within a step
    (:mod:`~sympy_constrained.numeric.manifold.stabilization`).

    The method ``'IDA'`` solves the equations together with the constraints
    (:func:`.dae_form`); with ``'projection'`` outputs are projected.

    The rank of the equations is decided at the start and watched at every
    step; a change gives a warning and an entry of
    ``Trajectory.rank_changes``. Where constraints lose rank for an instant,
    the motion continues on the branch that its velocity selects
    (:mod:`~sympy_constrained.numeric.integrate.passage`), and the time is an
    entry of ``Trajectory.passages``. A lasting loss of rank, or a velocity
    that selects no branch, ends the run.

    Examples
    ========

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.numeric import simulate
    >>> m, g, l = symbols('m g l')
    >>> x, y = dynamicsymbols('x y')
    >>> pendulum = UdwadiaKalabaMethod(
    ...     m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
    ...     hol_coneqs=[x**2 + y**2 - l**2])
    >>> motion = simulate(pendulum, 10, {x: 2, y: 0, "x'": 0, "y'": 0},
    ...                   constants={m: 1, g: 9.81, l: 2}, t_eval=101)
    >>> motion
    <Trajectory of 4 states, 101 times from 0 to 10: Completed.>
    >>> motion[x].shape
    (101,)
    >>> bool(motion.largest_residual < 1e-12)
    True

    Parameters
    ==========

    model : a method, EquationsOfMotion or CompiledEquations
        Or recursive equations, for which there are explicit methods and the
        projection, and no events (:doc:`/howto/large`).
    t_span : float or pair of float
        End, or start and end; time may run backwards.
    start : mapping or sequence
        Value of every state, by SymPy object or name, or in order.
    constants, inputs : mapping, optional
        As for :func:`~sympy_constrained.numeric.compile_equations`; for
        ``CompiledEquations`` changes of what they have.
    rtol, atol : float
        Tolerances of the integrator.
    method : str
        ``'DOP853'``, ``'RK45'``, ``'RK23'``, or for stiff models
        ``'Rodas5P'``, ``'Radau'``, ``'BDF'``, ``'LSODA'``, ``'IDA'``, or
        ``'taylor'`` for small tolerances.
        ``'Rodas5P'`` makes the steps of ``'Radau'`` where the equations have
        no machine code. ``'taylor'`` needs the package heyoka and rates
        without jumps and kinks; its order depends on the smaller tolerance.
        ``'BDF'`` and ``'LSODA'`` extrapolate past states and cannot be
        projected. ``'IDA'`` needs the package scikit-sundae.
    stabilization : {'projection', 'baumgarte', 'braun-goldfarb', None} or pair
        A pair contains Baumgarte's gains ``(alpha, beta)``. ``'baumgarte'``
        uses ``alpha = beta = 1/(10*h)``, with the length ``h`` of the tenth
        step of a trial; they are ``statistics['gains']``.
    t_eval : None, int or sequence of float
        Output times: the steps of the integrator, a number of equally spaced
        times, or these times. A terminal event adds its time.
    initial : {'check', 'project'}
        Whether a start that violates the constraints is an error or is moved
        to the nearest consistent state.
    tolerance : float
        Distance from the constraints that ``'check'`` accepts, relative to
        the largest state if that exceeds one. Pass a smaller one for models
        whose lengths are almost as small.
    events : callable, Crossing or iterable of these
        Functions of ``(t, x)`` as in SciPy, with optional attributes
        ``terminal`` and ``direction``, and ``jump``, a function of ``(t, x)``
        that returns the states after the event. :class:`.Crossing` makes
        them of expressions. The recorded work includes the change of energy
        in a jump. A zero at the start is no event,
        unlike in SciPy, so that a ball can be thrown from the ground. Signs
        that last for less than an eighth of a step can be missed; reduce
        ``max_step``.
    max_step : float
        Longest step of the integrator. Needed where an input that is no table
        has pulses shorter than the steps.
    max_steps : float
        Largest number of steps. Every 10 000 steps the remaining steps are
        estimated from the pace of the last ones, and the run ends if they
        exceed ``max_steps``; ``np.inf`` disables both.
    progress : bool, optional
        Draw a progress bar once the run lasts a second; by default in a
        terminal.
    throw : bool
        Whether a run that ends early raises. Otherwise, and after a keyboard
        interrupt, the trajectory up to that time is returned. An interrupt
        raises only where warnings are errors.
    dense : bool
        Keep the interpolants of the integrator for ``Trajectory.at``, about
        ten times the memory of the steps. Otherwise it uses cubics.
    adjoint : bool
        Keep the times of all steps for :meth:`.Trajectory.gradient`. Needs
        numba, machine code, and an explicit ``method``.
    units : mapping, optional
        Text for the axes of pictures, by SymPy object or name of states and
        multipliers, ``'t'``, ``'energy'``, ``'work'``, ``'power'``,
        ``'force'``, ``'moment'``, or ``'length'`` for positions of bodies.
        :attr:`.Model.units` of a ready model fits every method; objects that
        are no states of it do not matter.
    reactions : JointReactions, optional
        Of ``joint_reactions()`` of the method, for
        ``Trajectory.reactions``.
    integrator : str, optional
        Make steps of a fixed length that keep the constraints, and energy or
        the symplectic form, without projection: ``'rattle'``,
        ``'lagrange-dalembert'``, ``'gni'``, ``'discrete-gradient'`` or
        ``'vakonomic'``, see
        :mod:`~sympy_constrained.numeric.geometric.schemes`. ``method``,
        tolerances and events have no meaning then.
    step : float, optional
        Its length, shortened so that the time is a whole number of steps.
        Outputs between steps are ends of shorter steps.
    order : {2, 4, 6}
        Of the ``integrator``.

    Returns
    =======

    Trajectory

    Raises
    ======

    SimulationError
        If the run ends early, also by an error of an input or event
        function; carries ``trajectory``, ``time``, ``reason``.
    ConstraintError
        If the start is not consistent, or cannot be made so.
    ConstrainedDynamicsError
        If the start is a singular configuration, or the equations do not
        determine the motion.
    ValueError, TypeError
        If an argument is missing, unknown or unusable.

    """
    check_arguments(integrator, step, order, {
        'method': method != 'DOP853', 'stabilization': (
            stabilization != 'projection'), 'events': events != (),
        'max_step': max_step != np.inf, 'dense': dense, 'adjoint': adjoint})
    is_recursive = hasattr(model, 'correction')
    compiled = compiled_with(() if is_recursive else events, model, constants,
                             inputs)
    compiled.parameters()
    span = time_span(t_span)
    times = output_times(t_eval, span)
    kind = _stabilization_kind(compiled, stabilization, method)
    check_sizes(rtol=rtol, atol=atol, tolerance=tolerance,
                max_step=max_step, max_steps=max_steps,
                step=1. if step is None else step)
    units = _checked_units(units, compiled)
    x = compiled.names.vector(start, 'start')
    if initial not in ('check', 'project'):
        raise ValueError(
            f"`initial` is {initial!r}; it must be 'check' or 'project'.")
    options = {'rtol': rtol, 'atol': atol, 'max_step': max_step}
    if is_recursive:
        from ..recursive.motion import prepared
        run = prepared(compiled, span, x, times, method, stabilization, {
            'events': events != (), 'dense': dense, 'adjoint': adjoint,
            'reactions': reactions, 'integrator': integrator},
            initial, tolerance, units=units, max_steps=max_steps, **options)
        return _checked_end(run.integrate(Progress(*span, progress)),
                            run.t, run.raised, throw)
    compiled.check_times(*span)
    events = event_functions(events, compiled)
    for text in (compiled.equations.warning,
                 negative_mass(compiled, span[0], x)):
        if text:
            warn(text, stacklevel=2)
    solver = METHODS[method]
    gains = None
    try:
        if initial == 'project':
            x = consistent_state(compiled, x, t=span[0])
        else:
            found = check_consistent(compiled, span[0], x, tolerance=tolerance)
            if kind == 'projection' and not (found.distances <= CLOSE).all():
                x = project(compiled, span[0], x).x
        if kind == 'baumgarte':
            compiled, gains = _with_gains(
                compiled, span, x, stabilization, solver, options)
        run = FixedRun(
            compiled, span, x, times, integrator, step, order, units=units,
            max_steps=max_steps) if integrator else Run(
            compiled, span, x, times, events, on_set=kind == 'projection',
            moves=solver is not IDA, dense=dense, units=units,
            max_steps=max_steps,
            feedback=Feedback(compiled) if kind == 'feedback' else None)
        if adjoint:
            run.tape = Tape.of(run, solver)
    except ConstrainedDynamicsError:    # of the start, or the equations
        raise
    except Exception as error:          # of an input or event function
        message = (f"Integration stopped at t = {span[0]:.6g}: "
                   f"{type(error).__name__}: {str(error).rstrip('.')}.")
        return _checked_end(
            assembled(compiled, reason=Reason.ERROR, message=message,
                      units=units), span[0], error, throw)
    progress = Progress(*span, progress)
    trajectory = run.integrate(progress) if integrator else run.integrate(
        solver, progress, **options)
    fault = trajectory.success and not integrator and (
        run.records.fault(trajectory, rtol, atol))
    if fault:
        warn(fault, stacklevel=2)
    if adjoint:
        trajectory = replace(trajectory, tape=run.tape)
    if reactions:
        trajectory = replace(trajectory, reactions=reactions.function(
            compiled)(trajectory.t, trajectory.x))
    if gains:
        trajectory = replace(
            trajectory, statistics={**trajectory.statistics, 'gains': gains},
            constants={name: value for name, value in
                       trajectory.constants.items() if name not in GAINS})
    return _checked_end(trajectory, run.t, run.raised, throw)


def _checked_end(trajectory, t, raised, throw):
    """Return the trajectory, or raise an error that carries it."""
    reason = trajectory.reason
    cause = raised if reason in (Reason.ERROR, Reason.INTERRUPTED) else None
    if throw and not trajectory.success and (
            cause or reason is not Reason.INTERRUPTED):
        raise SimulationError(
            f"{trajectory.message} The trajectory up to this point is in "
            "`error.trajectory`.", trajectory=trajectory, time=float(t),
            reason=reason) from cause
    return trajectory


def _with_gains(compiled, span, x, stabilization, solver, options):
    """The equations with Baumgarte's terms, and the gains."""
    variant = compiled.variant(stabilized)
    values = dict(zip(compiled.constants, compiled.parameters()))

    def with_gains(gains):              # beta only with holonomic rows
        return variant.with_values({**values, **{
            name: gain for name, gain in zip(GAINS, gains)
            if name in variant.constants}})

    if stabilization == 'baumgarte':
        trial = Run(with_gains((0., 0.)), span, x)
        gains = (trial_gain(trial, solver, **options),)*2
    else:
        gains = tuple(map(float, stabilization))
    return with_gains(gains), gains


# -- arguments -------------------------------------------------------------

def _checked_units(units, compiled):
    """Name -> text."""
    if units is None:
        return {}
    if not isinstance(units, Mapping):
        raise TypeError("`units` must be a mapping from names to text, not "
                        f"{type(units).__name__}.")
    names = Names((*compiled.states, *compiled.multiplier_names),
                  'state or multiplier')
    result, problems = {}, []
    for key, text in units.items():
        try:
            is_other = (' row ' in key or key in OTHER_UNITS
                        if isinstance(key, str) else key not in names)
            name = label(key) if is_other else names.labels[names.index(key)]
        except KeyError as error:
            problems.append(f'{error.args[0]}')
            continue
        if not isinstance(text, str):
            problems.append(f"{name}: {text!r} is no text")
        result[name] = text
    if problems:
        raise ValueError(
            f"`units`: {sentence(problems)} Give each as text, such as 'm'.")
    return result


def time_span(t_span):
    """Start and end of an interval, checked."""
    try:
        ends = [0., t_span] if np.ndim(t_span) == 0 else list(t_span)
        start, end = map(number, ends)
    except (TypeError, ValueError):
        raise ValueError(
            "`t_span` must be the end time or a pair of two finite times, "
            f"not {t_span!r}.") from None
    if start == end:
        raise ValueError(
            f"`t_span` starts and ends at {start:g}, which leaves no time for "
            "a motion. Give an end time other than 0, or a pair of two "
            "different times.")
    return start, end


def check_sizes(**values):
    """Raise unless these are positive numbers, limits perhaps infinite."""
    for name, value in values.items():
        is_limit = name in LIMITS
        with suppress(TypeError, ValueError):
            if np.ndim(value) == 0 and (
                    number(value) if value != np.inf else is_limit) > 0:
                continue
        raise ValueError(
            f"`{name}` is {value!r}, which is no positive number. Give one"
            + (', or leave it out for no limit.' if name == 'max_step' else
               ', or `inf` for no limit.' if is_limit else
               ', or leave it out.'))


def output_times(t_eval, span):
    """All output times; None for the steps of the integrator."""
    if t_eval is None:
        return None
    low, high = min(span), max(span)
    try:
        if isinstance(t_eval, (str, Mapping)):
            raise TypeError
        times = number(t_eval) if np.ndim(t_eval) == 0 else array(
            t_eval, 't_eval')
        if not np.isfinite(times).all():
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"`t_eval` is {t_eval!r}, which is neither a number of output "
            "times nor a sequence of finite times. Give a whole number from "
            f"2, or times between {low:g} and {high:g}.") from None
    if np.ndim(times) == 0:
        times = _equally_spaced(times, span)
    steps = np.diff(times)*(span[1] - span[0])
    if not len(times) or (steps <= 0).any() or (
            times.min() < low or times.max() > high):
        raise ValueError(
            f"`t_eval` must be times between {low:g} and {high:g}, each "
            "further on than the one before.")
    return times


def _equally_spaced(count, span):
    if count != int(count) or count < 2:
        raise ValueError(
            f"`t_eval` is {count:g}; a number of output times must be a "
            "whole number from 2.")
    if count > MAX_OUTPUTS:
        raise ValueError(
            f"`t_eval` asks for {count:g} output times, more than a "
            f"trajectory can hold ({MAX_OUTPUTS:g}). Ask for fewer; "
            "`Trajectory.at` returns states between them.")
    return np.linspace(*span, int(count))


def _stabilization_kind(compiled, stabilization, method):
    """'projection', 'baumgarte', 'feedback' or None, if they go together."""
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(
            f"`method` {method!r} is not known; choose one of "
            f"{', '.join(METHODS)}.")
    if stabilization is None:
        return None
    kind = STABILIZATIONS.get(stabilization) if isinstance(
        stabilization, str) else is_gains(stabilization) and 'baumgarte'
    if not kind:
        raise ValueError(
            f"`stabilization` is {stabilization!r}; it must be 'projection', "
            "'baumgarte', a pair (alpha, beta) of gains, none negative, "
            "'braun-goldfarb' or None.")
    if not compiled.residual_names:
        return None
    if method == 'taylor' and kind == 'feedback':
        raise ValueError(
            "`method` 'taylor' needs rates as expressions, and "
            f"{stabilization!r} adds numbers to them. Use 'DOP853', or leave "
            "`stabilization` out.")
    if method == 'IDA' and kind != 'projection':
        raise ValueError(
            f"`method` {method!r} solves the equations together with the "
            f"constraints, and {stabilization!r} changes equations that do "
            "not contain them. Leave `stabilization` out.")
    if method in MULTI_STEP and kind != 'baumgarte':
        raise ValueError(
            f"`method` {method!r} extrapolates past states, so they cannot be "
            "projected, and the equations cannot change from step to step as "
            f"with {stabilization!r}. Use 'Rodas5P' for stiff models, or pass "
            "`stabilization='baumgarte'` or a pair of gains (alpha, beta).")
    return kind
