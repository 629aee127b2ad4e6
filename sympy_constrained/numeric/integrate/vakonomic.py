"""Vakonomic motion: coincidence with Routh's motion, boundary values."""
from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

from ...errors import (
    ConstrainedDynamicsError, ConstraintError, SimulationError)
from ..compiled import compile_equations
from ..manifold.consistent_state import TOLERANCE, violations
from ..manifold.projection import distances, size_of
from ..names import Names
from ..outcome import Reason
from .ends import Pace
from .arguments import check_sizes, time_span
from .simulate import simulate


# A motion with a smaller relative residual is vakonomic.
COINCIDES = 1e-6
# Smaller singular values of the conditions on mu0 are zero.
FREE = 1e-7
# A smaller distance from the end point, relative to its size, is zero.
ARRIVED = 1e-6
# Steps of a motion; they take longer than those of `simulate`.
MAX_STEPS = 1_000_000

SLOW = (
    "This usually means a motion that becomes ever faster, a constant that is "
    "zero or very small, or small tolerances. Correct these, shorten "
    "`t_span`, or pass a larger `max_steps`.")


@dataclass(frozen=True, eq=False)
class Matching:
    """Whether a motion of Routh is vakonomic; ``print`` it for a sentence.

    Attributes
    ==========

    residual : float
        Relative residual of ``S*mu = 0`` along the motion with the best
        ``mu0``: 0 if the motions coincide, else of order one.
    mu0 : ndarray, shape (m,)
        The multipliers at the start, of least norm if not unique.
    free : int
        Number of free parameters of these multipliers.

    """

    residual: float
    mu0: np.ndarray
    free: int

    @property
    def coincides(self) -> bool:
        """Whether some initial multipliers give the same motion."""
        return self.residual < COINCIDES

    def __str__(self) -> str:
        if not self.coincides:
            return ('this motion of Routh is not vakonomic for any initial '
                    f'multipliers (relative residual {self.residual:.1e})')
        values = ', '.join(f'{x:.6g}' for x in self.mu0)
        if self.free == len(self.mu0):
            return ('this motion of Routh is vakonomic for all initial '
                    'multipliers')
        more = (f', one of a family with {self.free} free parameter'
                f'{"s" if self.free > 1 else ""}' if self.free else '')
        return (f'this motion of Routh is vakonomic for the initial '
                f'multipliers ({values}){more}')


def matching_multipliers(method, start, t_span, *, constants=None,
                         inputs=None, rtol=1e-10, samples=101,
                         max_steps=MAX_STEPS) -> Matching:
    r"""Look for multipliers with which a motion of Routh is vakonomic.

    Explanation
    ===========

    Along a motion of Routh with reactions :math:`\lambda` they satisfy

    .. math::

       \dot\mu = -\lambda - (AA^T)^{-1}A\Gamma\mu, \qquad S\mu = 0.

    The first is solved for all initial values at once, :math:`\mu = \Psi\mu_0
    + \eta`; the second, at many times, is a linear least-squares problem for
    :math:`\mu_0`.

    Examples
    ========

    A skate that glides straight ahead:

    >>> from sympy import cos, sin
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import VaccoMethod
    >>> from sympy_constrained.numeric import matching_multipliers
    >>> x, y, phi = dynamicsymbols('x y phi')
    >>> vx, vy, w = x.diff(), y.diff(), phi.diff()
    >>> skate = VaccoMethod((vx**2 + vy**2 + w**2)/2, [x, y, phi],
    ...                     nonhol_coneqs=[vx*sin(phi) - vy*cos(phi)])
    >>> start = {x: 0, y: 0, phi: 0, vx: 1, vy: 0, w: 0}
    >>> print(matching_multipliers(skate, start, 2))
    this motion of Routh is vakonomic for the initial multipliers (0)

    Parameters
    ==========

    method : VaccoMethod
    start : mapping or sequence
        Coordinates and velocities at the start, no multipliers.
    t_span : float or pair of float
        The interval in which the motions are compared.
    constants, inputs : mapping, optional
        As for :func:`.compile_equations`.
    rtol : float
        Tolerance of the integrator.
    samples : int
        Number of times at which the conditions are imposed.
    max_steps : float
        As for :func:`.simulate`.

    Returns
    =======

    Matching

    Raises
    ======

    SimulationError
        If Routh's motion ends early; carries ``reason``.
    ConstraintError
        If the start violates constraints.

    """
    if not hasattr(method, 'coincidence'):
        raise TypeError(
            f"`method` is {type(method).__name__}. Give a VaccoMethod, whose "
            "multipliers are states.")
    if not method.system.counts[2]:
        raise ConstraintError(
            "The model has no constraints and so no multipliers; its "
            "vakonomic motion is that of Lagrange.")
    if samples < 2 or samples != int(samples):
        raise ValueError(
            f"`samples` is {samples!r}; it must be a whole number from 2.")
    check_sizes(rtol=rtol, max_steps=max_steps)
    compiled = compile_equations(method._routh, constants, inputs)
    x0 = compiled.names.vector(start, 'start')
    span = time_span(t_span)
    far = distances(compiled, span[0], x0)
    if not far.is_within(TOLERANCE):
        raise ConstraintError(
            f"The start violates {violations(compiled, far, TOLERANCE)[1]}. "
            "Correct it, for example with "
            "`consistent_state(RouthMethod.from_method(method), start)`.",
            residuals=far.residuals)
    rates = Rates(compiled, method.coincidence, span[0], x0)
    size, m = len(x0), rates.count
    found = integrated(
        rates, span, np.concatenate([x0, np.eye(m, m + 1).ravel()]),
        max_steps, "Routh's motion", rtol=rtol, atol=rtol/100,
        t_eval=np.linspace(*span, int(samples)))
    conditions, fastest = [], 0.
    for t, y in zip(found.t, found.y.T):
        A, gamma = rates.rows(t, y[:size])
        free = np.linalg.svd(A)[2][np.linalg.matrix_rank(A):]
        fastest = max(fastest, np.abs(gamma).max(initial=0))
        conditions.append(free@gamma@y[size:].reshape(m, m + 1))
    conditions = np.concatenate(conditions)/(fastest or 1.)
    flows = np.abs(found.y[size:].reshape(m, m + 1, -1))
    small = FREE*np.sqrt(max(len(conditions), 1))*flows[:, :m].max(initial=1)
    left, right = conditions[:, :m], -conditions[:, m]
    u, sigma, vh = np.linalg.svd(left, full_matrices=False)
    rank = int(np.sum(sigma > small))
    mu0 = vh[:rank].T@((u[:, :rank].T@right)/sigma[:rank])
    rest, total = np.linalg.norm(left@mu0 - right), np.linalg.norm(right)
    floor = max(total, small*flows[:, m].max(initial=0))
    return Matching(float(rest/floor) if floor else 0., mu0/rates.sizes,
                    m - rank)


class Rates:
    """Rates of Routh's motion and of the multipliers along it.

    The multipliers are multiplied, and :meth:`rows` divided, by the norms
    ``sizes`` of the rows, so that multipliers are momenta.
    """

    def __init__(self, compiled, graph, t, x):
        self.compiled = compiled
        self.A, self.gamma, self.reaction = (
            compiled.output(graph, name)
            for name in ('A', 'Gamma', 'multipliers'))
        self.count = graph.outputs['A'][0]
        norms = np.linalg.norm(self.A(t, x), axis=1)
        self.sizes = np.where(norms > 0, norms, 1.)

    def rows(self, t, x):
        """``A`` and ``Gamma`` for multipliers that are momenta."""
        return self.A(t, x)/self.sizes[:, None], self.gamma(t, x)/self.sizes

    def __call__(self, t, y):
        m, size = self.count, len(y) - self.count*(self.count + 1)
        x, flow = y[:size], y[size:].reshape(m, m + 1)
        A, gamma = self.rows(t, x)
        change = -np.linalg.lstsq(A.T, gamma@flow, rcond=None)[0]
        change[:, m] -= self.sizes*np.ravel(self.reaction(t, x))
        return np.concatenate([self.compiled.rhs(t, x), change.ravel()])


def integrated(rates, span, y, max_steps, what, **options):
    """The solution by ``solve_ivp``, within a number of steps."""
    pace, steps = Pace(max_steps, *span), count(-1)

    def check_pace(t, y):               # called at the start and at each step
        step = next(steps)
        slow = step > 0 and t != span[1] and pace.fault(step, t)
        if slow:
            raise SimulationError(
                f"{what} was given up at t = {t:.6g}: {slow}. {SLOW}",
                time=float(t), reason=Reason.STEPS)
        return 1.

    solution = solve_ivp(
        rates, span, y, 'DOP853', events=check_pace, **options)
    if not solution.success:
        raise SimulationError(
            f"{what} could not be integrated: {solution.message} Choose a "
            "shorter interval or another start, or use `simulate` to see "
            "where it ends.", reason=Reason.STEP_SIZE)
    return solution


def boundary_value(method, q_start, q_end, t_span, guess, *, constants=None,
                   inputs=None, rtol=1e-9, atol=1e-11, t_eval=None,
                   max_steps=MAX_STEPS):
    """Find the vakonomic motion between two positions, by shooting.

    Explanation
    ===========

    The unknowns are velocities and multipliers at the start; the conditions,
    solved by SciPy's ``least_squares``, are the constraints at the start and
    the position at the end. Several motions may exist; the guess selects one.
    It makes the action stationary, not always least.

    Examples
    ========

    The shortest curve in the plane that encloses the area 1 from the origin
    to itself (Heisenberg's geometry) is a circle, its action ``2*pi``:

    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import VaccoMethod
    >>> from sympy_constrained.numeric import boundary_value
    >>> x, y, z = dynamicsymbols('x y z')
    >>> vx, vy, vz = x.diff(), y.diff(), z.diff()
    >>> area = vz - (x*vy - y*vx)/2
    >>> problem = VaccoMethod((vx**2 + vy**2)/2, [x, y, z],
    ...                       nonhol_coneqs=[area])
    >>> mu, = problem.mu_vec
    >>> motion = boundary_value(
    ...     problem, [0, 0, 0], [0, 0, 1], 1,
    ...     {vx: 3, vy: 1, vz: 0, mu: 5})
    >>> bool(abs(motion.energy[0] - 6.283185307) < 1e-6)
    True

    Parameters
    ==========

    method : VaccoMethod
    q_start, q_end : mapping or sequence
        Coordinates at the start and at the end.
    t_span : float or pair of float
    guess : mapping or sequence
        Velocities and multipliers at the start; all of them.
    constants, inputs : mapping, optional
        As for :func:`.compile_equations`.
    rtol, atol : float
        Tolerances of the integrator.
    t_eval : optional
        As for :func:`.simulate`.
    max_steps : float
        Of one motion, as for :func:`.simulate`.

    Returns
    =======

    Trajectory

    Raises
    ======

    SimulationError
        If no motion was found that arrives; carries the best start,
        ``state``, and its ``distance`` from the end. If the motion from the
        guess ends early; carries ``reason``.

    """
    check_sizes(rtol=rtol, atol=atol, max_steps=max_steps)
    compiled = compile_equations(method, constants, inputs)
    n = len(compiled.equations.q)
    q_names = Names(compiled.equations.q, 'coordinate')
    first = q_names.vector(q_start, 'q_start')
    last = q_names.vector(q_end, 'q_end')
    unknown = Names(compiled.states[n:], 'unknown',
                    compiled.equations.when_incomplete).vector(guess, 'guess')
    span = time_span(t_span)
    mh = compiled.equations.graph.outputs['holonomic'][0]
    solver = compiled.linear_solver(
        span[0], np.concatenate([first, unknown]))

    def end_of(x):
        return integrated(
            lambda t, y: compiled.rhs(t, y, solver=solver), span, x,
            max_steps, "The motion from this guess", rtol=rtol,
            atol=atol).y[:n, -1]

    def conditions(values):
        x = np.concatenate([first, values])
        held = compiled.residuals(span[0], x)[mh:]
        try:
            return np.concatenate([held, end_of(x) - last])
        except (ArithmeticError, ConstrainedDynamicsError):
            return np.full(len(held) + n, 1e3*size_of(last))

    end_of(np.concatenate([first, unknown]))    # or the error of the guess
    best = least_squares(conditions, unknown, method='trf', x_scale='jac',
                         xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=500)
    x = np.concatenate([first, best.x])
    distance = float(np.abs(best.fun).max(initial=0))
    if distance > ARRIVED*size_of(last):
        raise SimulationError(
            "No motion was found that arrives: the best one misses the end "
            f"or the constraints at the start by {distance:.1e}. Try another "
            "guess, a nearer end, or a longer time.", state=x,
            distance=distance)
    return simulate(compiled, span, x, rtol=rtol, atol=atol, t_eval=t_eval,
                    tolerance=ARRIVED, max_steps=max_steps)
