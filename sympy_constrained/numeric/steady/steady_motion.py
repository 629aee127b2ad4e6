"""Steady motions near a guess, their families and their stability."""
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eig
from scipy.linalg.lapack import dgebal

from ...errors import ConstrainedDynamicsError, ConstraintError, warn
from ..compiled import compile_equations
from ..linearization import linearize
from ..names import Names, number
from ..sensitivity.jumps import switches
from ..tolerances import LAST_DIGITS
from .conditions import NULL, Conditions, cyclic_coordinates
from .search import search


# Relative difference of states below which steady motions are the same.
SAME = 1e-6
# Further starts of a search.
STARTS = 16
# A real part below this part of the norm of the matrix is zero, or below NOISE
# for an eigenvalue that rounding does not amplify.
ZERO, NOISE = 1e-7, 1e-10


@dataclass(frozen=True, eq=False)
class SteadyMotion:
    """A steady motion; made by :func:`steady_motions` or :func:`equilibria`.

    ``motion[q]`` is the value of a state, a multiplier or a constant, by
    SymPy object or name; ``point`` has all of them. ``zeros`` eigenvalues
    belong to the family; by default all that are zero.
    """

    conditions: Conditions
    point: np.ndarray
    zeros: int | None = None

    def __getitem__(self, key):
        return float(self.point[self.names.index(key)])

    def __iter__(self):
        """The states in order, so that a motion can start from it."""
        return iter(self.x)

    @property
    def names(self):
        """Names of the entries of ``point``."""
        return Names(self.conditions.symbols, 'state, multiplier or constant')

    def __repr__(self):
        try:
            stability = self.stability
        except ConstrainedDynamicsError:
            stability = 'in singular coordinates'
        return (f'<SteadyMotion of a family of dimension {self.dimension}: '
                f'{self.equations} equations, {self.unknowns} unknowns, '
                f'{stability}>')

    @property
    def compiled(self):
        """The equations, with the constants of this motion."""
        p = self.conditions.parts(self.point)[2]
        return self.conditions.compiled.with_values(p)

    @property
    def x(self) -> np.ndarray:
        """The states; cyclic coordinates are those of the guess."""
        return self.conditions.parts(self.point)[0]

    @property
    def multipliers(self) -> np.ndarray:
        """Of least norm where they are not unique."""
        return self.compiled.multipliers(0., self.x)

    @property
    def cyclic(self) -> dict:
        """Cyclic coordinate -> its rate, constant or at least unaffected."""
        rates = self.compiled.rhs(0., self.x)
        return {self.compiled.states[k]: float(rates[k])
                for k in self.conditions.cyclic}

    # -- the family ------------------------------------------------------

    @property
    def columns(self):
        """Positions of unknown states and multipliers in ``point``."""
        columns = self.conditions.columns
        return columns[columns < self.conditions.size]

    @property
    def unknowns(self) -> int:
        """Number of unknown states and multipliers."""
        return len(self.columns)

    @property
    def equations(self) -> int:
        """Number of equations, redundant ones included."""
        return len(self.conditions.rows)

    @cached_property
    def dimension(self) -> int:
        """Dimension of the family to which it belongs."""
        return len(self.directions)

    @cached_property
    def directions(self) -> np.ndarray:
        """Changes of the states to its neighbours, shape (dimension, ns)."""
        found = self.conditions.directions(self.point, self.columns)
        moves = np.zeros((len(found), len(self.point)))
        moves[:, self.columns] = found
        return moves[:, :self.conditions.count]

    # -- stability -------------------------------------------------------

    @cached_property
    def _neighbours(self):
        """The balanced matrix of the linear motion without cyclic coordinates,
        the number of its zero singular values, its right singular vectors, and
        the size of rounding errors, which balance does not reduce.

        Without balance, singular values of a stiff spring hide slow motions.
        """
        compiled = self.compiled
        linear = linearize(compiled, self.x)
        cyclic = {compiled.states[k] for k in self.conditions.cyclic}
        rest = [i for i, x in enumerate(linear.states) if x not in cyclic]
        A = linear.A[np.ix_(rest, rest)]
        rounding = LAST_DIGITS*np.abs(A).max(initial=0.)
        A = dgebal(A, scale=1)[0] if rest else A
        _, sigma, vh = np.linalg.svd(A)
        zeros = int(np.sum(sigma <= NULL*sigma.max(initial=0.)))
        return A, zeros, vh, rounding

    @property
    def nullity(self) -> int:
        """Number of zero eigenvalues, cyclic coordinates not counted."""
        return self._neighbours[1]

    @cached_property
    def matrix(self) -> np.ndarray:
        """The linear motion of neighbours, without cyclic coordinates and
        without motion along the family.
        """
        A, zeros, vh, _ = self._neighbours
        zeros = zeros if self.zeros is None else self.zeros
        across = vh[:len(A) - zeros]
        return across@A@across.T

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Those of :attr:`matrix`, in ascending order of real parts."""
        return self._spectrum[0]

    @cached_property
    def _spectrum(self):
        """The eigenvalues and the real parts that count as zero."""
        values, left, right = eig(self.matrix, left=True)
        order = np.lexsort([values.imag, values.real])
        cosines = np.abs(np.sum(left.conj()*right, axis=0))
        doubt = ZERO*self.size*np.ones(len(values))
        np.divide(NOISE*self.size, cosines, out=doubt,
                  where=cosines*ZERO > NOISE)
        return values[order], np.maximum(doubt, self._neighbours[3])[order]

    @property
    def growing(self) -> np.ndarray:
        """The eigenvalues whose real parts are positive beyond rounding."""
        values, doubt = self._spectrum
        return values[values.real > doubt]

    @cached_property
    def size(self) -> float:
        """A spectral norm, to which rounding is relative. It is that of the
        linear motion, because :attr:`matrix` may contain rounding alone.
        """
        A = self._neighbours[0]
        return np.linalg.norm(A, 2) if len(A) else 0.

    @property
    def growth(self) -> float:
        """The largest real part of the eigenvalues, zero up to rounding."""
        values, doubt = self._spectrum
        real = np.where(np.abs(values.real) <= doubt, 0., values.real)
        return float(real.max(initial=-np.inf))

    @property
    def stability(self) -> str:
        """``'stable'``, ``'unstable'`` or ``'marginal'``.

        Stable: neighbours approach a member of the family (Lyapunov;
        Lyapunov and Malkin for families, see Zenkov, Bloch and Marsden 1998).
        Marginal: the linear motion decides nothing about the nonlinear one,
        also where a zero eigenvalue belongs to no family.
        """
        growth = self.growth
        if growth < 0 and self.zeros is None and (
                self.conditions.is_exceptional(self.point, self.columns)):
            growth = 0.                 # a zero eigenvalue of no family
        return ('unstable' if growth > 0 else 'stable' if growth < 0
                else 'marginal')

    # -- neighbours ------------------------------------------------------

    def follow(self, along=None, direction=None, **options):
        """See :func:`~sympy_constrained.numeric.steady.family.follow`."""
        from .family import follow
        return follow(self, along, direction, **options)

    def certificate(self):
        """The :class:`.Certificate` that no other steady motion is near."""
        from .certificate import certificate
        return certificate(self)


def steady_motions(model, near, *, fixed=(), cyclic=None, fill=None,
                   constants=None, inputs=None) -> tuple[SteadyMotion, ...]:
    r"""Return steady motions near guesses.

    In a steady motion all states are constant but cyclic coordinates, on which
    nothing depends: a top that precesses, a bicycle in a turn. Such motions
    come in families. The one nearest to the guess is returned; hold some
    states to select another (:doc:`/theory/numbers`).

    Examples
    ========

    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.models import model
    >>> from sympy_constrained.numeric import steady_motions
    >>> bicycle = model('bicycle')
    >>> turn, = steady_motions(
    ...     bicycle.form(UdwadiaKalabaMethod), {
    ...         'q2': 0.1, 'q5': 0.03, 'u1': -0.16, 'u3': -20, 'u6': -17},
    ...     fill=0, fixed=['q2'], constants=bicycle.parameters)
    >>> turn.dimension, turn.stability
    (1, 'unstable')

    Parameters
    ==========

    model : CompiledEquations
        Or what :func:`~sympy_constrained.numeric.compile_equations` takes,
        with its ``constants`` and ``inputs``.
    near : mapping, sequence, or a list of them
        Guesses of the states, by SymPy object or name. A single guess that
        leads to nothing is searched around.
    fixed : iterable of states or names
        States that keep the value of the guess.
    cyclic : iterable of coordinates or names, optional
        By default those that occur in no equation.
    fill : float, optional
        Value of states that a mapping leaves out.
    constants, inputs : mapping, optional
        As for :func:`~sympy_constrained.numeric.compile_equations`.

    Returns
    =======

    tuple of SteadyMotion
        Without repetitions. Guesses that lead to none are left out.

    Raises
    ======

    ConstraintError
        If no guess leads to a steady motion; carries ``rows``, the unmet
        conditions, and ``state``.
    ConstrainedDynamicsError
        If the equations depend on time, or on a given cyclic coordinate.

    """
    compiled = compile_equations(model, constants, inputs)
    if cyclic is None:
        cyclic = cyclic_coordinates(compiled.equations)
    else:
        cyclic = sorted(compiled.names.indices(cyclic, 'cyclic'))
    return _found(Conditions(compiled, cyclic), near, fixed, fill)


def equilibria(model, near, *, fixed=(), fill=None, constants=None,
               inputs=None) -> tuple[SteadyMotion, ...]:
    r"""Return states of rest near guesses.

    Examples
    ========

    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.models import model
    >>> from sympy_constrained.numeric import equilibria
    >>> pendulum = model('cartesian_pendulum')
    >>> found = equilibria(
    ...     pendulum.form(UdwadiaKalabaMethod),
    ...     [{'x': 1, 'y': -1}, {'x': 1, 'y': 2}],
    ...     constants=pendulum.parameters)
    >>> [(round(rest['y'], 9), rest.stability) for rest in found]
    [(-1.0, 'marginal'), (1.0, 'unstable')]

    Parameters
    ==========

    model, near, fixed, fill, constants, inputs
        As for :func:`steady_motions`, which also has the errors. Speeds are
        zero; a sequence may have the coordinates only.

    """
    compiled = compile_equations(model, constants, inputs)
    return _found(Conditions(compiled, [], at_rest=True), near, fixed, fill)


def _found(conditions, near, fixed, fill):
    compiled, names = conditions.compiled, conditions.compiled.names
    warn(compiled.equations.warning)
    fixed = tuple(names.indices(fixed, 'fixed'))
    default = [None if fill is None else number(fill)]*len(names)
    resting = np.setdiff1d(range(len(names)), compiled.q_index) if (
        conditions.at_rest) else ()
    for k in resting:
        default[k] = 0.
    if isinstance(near, Mapping) or np.ndim(near) < 2 and not any(
            isinstance(guess, Mapping) for guess in np.atleast_1d(near)):
        near = [near]                   # one guess
    p, found, failed = compiled.parameters(), [], None
    for guess in near:
        if conditions.at_rest and np.ndim(guess) == 1 and (
                len(guess) == len(compiled.q_index)):
            guess = dict(zip(compiled.equations.q, guess))
        x = names.vector(guess, 'near', default)
        x[list(resting)] = 0.
        try:
            motion = SteadyMotion(*search(
                conditions, x, p, fixed, STARTS*(len(near) == 1)))
        except ConstraintError as error:
            failed = error
            continue
        if not any(np.abs(motion.x - other.x).max() <= SAME*max(
                1., np.abs(motion.x).max()) for other in found):
            found.append(motion)
    _warn_of_jumps(conditions, found)
    if not found and failed is not None:
        raise failed
    return tuple(found)


def _warn_of_jumps(conditions, found):
    """Warn of dry friction, which holds a range of states."""
    if switches(conditions.compiled, ()) is None:       # then it is rounding
        return
    jumping = sorted({name for motion in found
                      for name in conditions.jumps(motion.point)})
    if jumping:
        warn("Forces jump where the speeds change their signs "
             f"({', '.join(jumping)}). Dry friction allows a range of "
             "equilibria. The state returned uses the force at zero speed. "
             "For the ends of the range, replace it by a constant force, of "
             "either sign.")
