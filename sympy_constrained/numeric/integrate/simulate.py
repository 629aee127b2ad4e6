"""Integrate equations of motion and keep them on their constraints."""
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ...errors import ConstrainedDynamicsError, SimulationError, warn
from ...model.call_signatures import own
from ..geometric.run import FixedRun, check_arguments
from ..linear.rank_decision import is_regular
from ..manifold.consistent_state import (
    TOLERANCE, check_consistent, consistent_state, mass_spectrum,
    negative_mass, no_rotation)
from ..manifold.projection import project
from ..manifold.stabilization import (
    GAINS, Feedback, stabilized, trial_gain)
from ..progress import Progress
from ..tolerances import CLOSE, GOOD, NEGATIVE
from ..outcome import Reason
from ..trajectory import Trajectory
from .arguments import (
    METHODS, check_sizes, checked_units, output_times, stabilization_kind,
    time_span)
from .crossing import compiled_with
from .dae import IDA
from .events import event_functions
from .records import assembled, check_reactions, recorded
from .stepper import Run
from .tape import Tape


MAX_STEPS = 10_000_000


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
    residuals within a step (:doc:`/theory/numbers`).

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
        Tolerances of the integrator. A warning is given if no state exceeds
        ``100*atol``.
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
        times, or these times. A run that ends early adds the time of its
        last state.
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
        Largest number of steps. Every 2000 steps the remaining steps are
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
        Of ``method.joint_reactions()``, for ``Trajectory.reactions``.
    integrator : str, optional
        Make steps of a fixed length that keep the constraints, and energy or
        the symplectic form, without projection: ``'rattle'``,
        ``'lagrange-dalembert'``, ``'gni'``, ``'discrete-gradient'`` or
        ``'vakonomic'``, see :doc:`/theory/fixed_steps`. ``method``, tolerances
        and events have no meaning then.
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
    check_reactions(reactions)
    is_recursive, events = hasattr(model, 'correction'), own(events)
    compiled = compiled_with(() if is_recursive else events, model, constants,
                             inputs)
    compiled.parameters()
    span = time_span(t_span)
    times = output_times(t_eval, span)
    kind = stabilization_kind(compiled, stabilization, method)
    check_sizes(rtol=rtol, atol=atol, tolerance=tolerance,
                max_step=max_step, max_steps=max_steps,
                step=1. if step is None else step)
    units = checked_units(units, compiled)
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
    for item, table in compiled.tables.items():
        table.check(span, item)
    events = event_functions(events, compiled)
    known = _known_solver(compiled, span[0], x, initial)
    warn(compiled.equations.warning)
    warn(not known and negative_mass(compiled, span[0], x))
    solver = METHODS[method]
    gains = None
    try:
        if not known:
            x = _start(compiled, span[0], x, initial, tolerance,
                       kind == 'projection')
        warn(no_rotation(compiled.equations.graph, compiled.states, x))
        if kind == 'baumgarte':
            compiled, gains = _with_gains(
                compiled, span, x, stabilization, solver, options)
        run = FixedRun(
            compiled, span, x, times, integrator, step, order, units=units,
            max_steps=max_steps) if integrator else Run(
            compiled, span, x, times, events, on_set=kind == 'projection',
            moves=solver is not IDA, dense=dense, units=units,
            max_steps=max_steps, solver=None if gains else known,
            feedback=(
                Feedback(compiled) if kind == 'braun-goldfarb' else None))
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
    trajectory = run.integrate(Progress(*span, progress), **(
        {} if integrator else {'method': solver, **options}))
    warn(trajectory.success and not integrator and (
        run.records.fault(trajectory, rtol, atol)))
    more = {'tape': run.tape} if adjoint else {}
    if reactions:
        more['reactions'] = reactions.function(compiled)(
            trajectory.t, trajectory.x)
    if gains:
        more['statistics'] = {**trajectory.statistics, 'gains': gains}
        more['constants'] = {
            name: value for name, value in trajectory.constants.items()
            if name not in GAINS}
    return _checked_end(replace(trajectory, **more) if more else trajectory,
                        run.t, run.raised, throw)


def _known_solver(compiled, t, x, initial):
    """The solver of an earlier run if it passes all checks of the start at
    once, with positive masses and exact constraints; else None.
    """
    if initial != 'check' or not compiled.kept('regular', list):
        return None
    return compiled.once((t, x.tobytes()),
                         lambda: _checked_solver(compiled, t, x))


def _checked_solver(compiled, t, x):
    if compiled.inputs.called or compiled.equations.copies > 1:
        return None
    solver, = compiled.kept('regular', list)
    balance, names = recorded(compiled)
    with suppress(ArithmeticError):
        outputs = compiled.evaluate(names, np.array([t]), x[None])
        masses, _ = mass_spectrum(compiled, outputs['M'])
        if (balance.distances(outputs) <= GOOD).all() and (
                masses.min(initial=0.) > NEGATIVE) and is_regular(
                    compiled, solver, t, x, compiled.p, outputs['W'][0]):
            return solver
    return None


def _start(compiled, t, x, initial, tolerance, is_projected):
    """The start as it is used, which is on the constraints if projected."""
    if initial == 'project':
        return consistent_state(compiled, x, t=t)
    distances = check_consistent(compiled, t, x, tolerance).distances
    if is_projected and not (distances <= CLOSE).all():
        return project(compiled, t, x).x
    return x


def _checked_end(trajectory, t, raised, throw):
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
    variant = compiled.variant(stabilized)
    values = dict(zip(compiled.constants, compiled.parameters()))

    forward = np.sign(span[1] - span[0])    # residuals decay along the run

    def with_gains(gains):              # beta only with holonomic rows
        alpha, beta = gains
        return variant.with_values({**values, **{
            name: gain for name, gain in zip(GAINS, (forward*alpha, beta))
            if name in variant.constants}})

    if stabilization == 'baumgarte':
        trial = Run(with_gains((0., 0.)), span, x)
        gains = (trial_gain(trial, solver, **options),)*2
    else:
        gains = tuple(map(float, stabilization))
    return with_gains(gains), gains
