"""Integrate equations of motion and keep them on their constraints."""
from __future__ import annotations

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, Radau

from ..errors import SimulationError
from .compiled import compile_equations
from .initial import TOLERANCE, check_consistent, consistent_state
from .names import number
from .progress import Progress
from .projection import project
from .run import Run
from .trajectory import Reason, Trajectory

__all__ = ['simulate']

ONE_STEP = {'RK23': RK23, 'RK45': RK45, 'DOP853': DOP853, 'Radau': Radau}
MULTI_STEP = {'BDF': BDF, 'LSODA': LSODA}
METHODS = {**ONE_STEP, **MULTI_STEP}


def simulate(model, t_span, start, *, constants=None, inputs=None,
             rtol=1e-8, atol=1e-10, method='DOP853',
             stabilization='projection', t_eval=None, initial='check',
             tolerance=TOLERANCE, events=(), max_step=np.inf,
             progress=None, throw=True) -> Trajectory:
    r"""Integrate the equations of motion of a model.

    Explanation
    ===========

    SciPy's integrators make the steps. With ``stabilization='projection'``
    each accepted state is returned to the constraints before the next step
    begins, at position and at velocity level. That moves it by no more than
    the error of one step, which the integrator accepts anyway. (Baumgarte's
    stabilization belongs to the equations, not to the integration: form them
    with ``stabilization=(alpha, beta)``.)

    The rank of the equations is decided at the start and watched at every
    step; a change is a warning and an entry of ``Trajectory.rank_changes``, a
    loss of rank ends the run.

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
    <Trajectory of 4 states, 101 times from 0 to 10: The end of the time span
    was reached.>
    >>> motion[x].shape
    (101,)
    >>> bool(motion.largest_residual < 1e-12)
    True

    Parameters
    ==========

    model : a method, EquationsOfMotion or CompiledEquations
    t_span : float or pair of float
        End, or start and end; time may run backwards.
    start : mapping or sequence
        Value of every state, by SymPy object or name, or in order.
    constants, inputs : mapping, optional
        As for :func:`~sympy_constrained.numeric.compile_equations`; for
        ``CompiledEquations`` changes of what they have.
    rtol, atol : float
        Tolerances of the integrator.
    method : {'DOP853', 'RK45', 'RK23', 'Radau', 'BDF', 'LSODA'}
        ``'Radau'`` for stiff models. ``'BDF'`` and ``'LSODA'`` build on many
        past states and cannot be projected.
    stabilization : {'projection', None}
    t_eval : None, int or sequence of float
        Output times: the steps of the integrator, so many equally spaced
        times, or these times. A terminal event adds its own.
    initial : {'check', 'project'}
        A start that violates the constraints is an error, or is moved to the
        nearest consistent state.
    tolerance : float
        Distance from the constraints that ``'check'`` lets pass.
    events : callable or iterable of callables
        Functions of ``(t, x)`` as in SciPy, with optional attributes
        ``terminal`` and ``direction``.
    max_step : float
        Longest step of the integrator.
    progress : bool, optional
        Draw a progress bar once the run lasts a second; by default in a
        terminal.
    throw : bool
        Whether a run that ends early raises. Otherwise, and where the user
        interrupts it, what was computed is returned and ``reason`` tells.

    Returns
    =======

    Trajectory

    Raises
    ======

    SimulationError
        If the run ends early; carries ``trajectory``, ``time``, ``reason``.
    ConstraintError
        If the start is not consistent, or cannot be made so.
    ConstrainedDynamicsError
        If the start is a singular configuration, or the equations do not
        determine the motion.
    ValueError, TypeError
        If an argument is missing, unknown or of no use.

    """
    compiled = compile_equations(model, constants, inputs)
    compiled.parameters()
    span = time_span(t_span)
    times = _output_times(t_eval, span)
    project_steps = _check_stabilization(compiled, stabilization, method)
    x = compiled.names.vector(start, 'start')
    if initial == 'project':
        x = consistent_state(compiled, x, t=span[0])
    elif initial == 'check':
        check_consistent(compiled, span[0], x, tolerance=tolerance)
        if project_steps:
            x = project(compiled, span[0], x).x
    else:
        raise ValueError(
            f"`initial` is {initial!r}; it must be 'check' or 'project'.")
    for name, value in (('rtol', rtol), ('atol', atol)):
        if np.ndim(value) or not number(value) > 0:
            raise ValueError(f"`{name}` is {value!r}; it must be positive.")
    run = Run(compiled, span, x, times, project_steps, events)
    trajectory = run.integrate(
        METHODS[method], Progress(*span, progress),
        rtol=rtol, atol=atol, max_step=max_step)
    if throw and not (trajectory.success
                      or trajectory.reason is Reason.INTERRUPTED):
        raise SimulationError(
            f"{trajectory.message} The trajectory up to this point is in "
            "`error.trajectory`.", trajectory=trajectory,
            time=float(run.t), reason=trajectory.reason)
    return trajectory


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
        raise ValueError(f"`t_span` starts and ends at {start:g}.")
    return start, end


def _output_times(t_eval, span):
    if t_eval is None:
        return None
    if np.ndim(t_eval) == 0:
        if t_eval != int(t_eval) or t_eval < 2:
            raise ValueError(
                f"`t_eval` is {t_eval!r}; a number of output times must be "
                "a whole number from 2.")
        return np.linspace(*span, int(t_eval))
    times = np.array([number(t) for t in t_eval])
    steps = np.diff(times)*(span[1] - span[0])
    low, high = min(span), max(span)
    if not len(times) or (steps <= 0).any() or (
            times.min() < low or times.max() > high):
        raise ValueError(
            f"`t_eval` must be times between {span[0]:g} and {span[1]:g}, "
            "each further on than the one before.")
    return times


def _check_stabilization(compiled, stabilization, method):
    """Whether to project; errors for what cannot be done."""
    if method not in METHODS:
        raise ValueError(
            f"`method` {method!r} is not known; choose one of "
            f"{', '.join(METHODS)}.")
    if stabilization is None:
        return False
    if stabilization != 'projection':
        raise ValueError(
            f"`stabilization` is {stabilization!r}; it must be 'projection' "
            "or None. For Baumgarte's, form the equations with "
            "`stabilization=(alpha, beta)`.")
    if not compiled.residual_names:
        return False
    if method in MULTI_STEP:
        raise ValueError(
            f"`method` {method!r} extrapolates past states, which must not be "
            "moved, so it does not go with projection. Use 'Radau' for stiff "
            "models, or pass `stabilization=None`, with equations that were "
            "formed with `stabilization=(alpha, beta)`.")
    return True
