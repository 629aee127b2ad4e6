"""Recursive equations of a model, compiled."""
from functools import cached_property, lru_cache, partial

import numpy as np
from scipy.linalg.lapack import dpstrf
from sympy import Derivative, Dummy

from ...errors import (
    InconsistentConstraintsError, MissingIngredientError,
    SingularEquationsError, UnsupportedFeatureError)
from ...graph import Graph
from ..codegen.llvm_code import compiled
from ..codegen.native import SCALAR, SIGNATURE
from ..evaluation import check_rounding, is_huge
from ..names import Names, array, read_only
from . import sweeps
from .reading import tables_of


# Rows are combinations of others if their part across these is smaller than
# the square root of this, relative to the row, in the metric of the masses.
DEPENDENT = 1e-11
# The same at later states, which may be slightly off the constraints.
DEPENDENT_LATER = 1e-6
# Machine codes that are kept, and values of constants whose rows are.
MOST_CODES = 32


class NotRecursive(UnsupportedFeatureError, AttributeError):
    """The ordinary form is needed."""


class RecursiveEquations:
    """Accelerations of a tree of bodies in a time linear in their number.

    Made by :func:`.compile_equations` with ``recursion=True``; see
    :doc:`/theory/recursion`. ``states``, ``constants``, ``unknowns``,
    ``multiplier_names`` and ``residual_names``, and the arguments ``t, x, p``
    of all functions, are those of :class:`.CompiledEquations`, for a number
    ``t``. Where constraint rows are redundant, the independent ones are chosen
    at the first state for each ``p``, which should satisfy the constraints.
    ``kinds`` is the number of compiled kinds of joints.

    Examples
    ========

    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.models import MODELS
    >>> from sympy_constrained.numeric import compile_equations
    >>> chain = MODELS['closed_chain_3d'](6)
    >>> equations = compile_equations(
    ...     chain.form(UdwadiaKalabaMethod), chain.parameters, recursion=True)
    >>> equations
    <RecursiveEquations of 6 bodies, 12 states, 3 multipliers>
    >>> x = equations.names.vector(chain.start, 'start')
    >>> equations.accelerations(0, x).shape, equations.multipliers(0, x).shape
    ((6,), (3,))

    """

    def __init__(self, model, constants=None, inputs=None, loops=()):
        self._tables = tables_of(model, inputs, loops)
        kinematics = self._tables.tree.kinematics
        self.coordinates = kinematics.coordinates
        self.speeds = kinematics.speeds
        self.states = self.coordinates + self.speeds
        self.constants = self._tables.constants
        self.names = Names(self.states, 'state')
        self.constant_names = Names(self.constants, 'constant', unused=[
            x for x in kinematics.builder.inputs])
        self.motion = len(self.speeds)
        self.multiplier_names = tuple(
            Dummy(f'lam{k}') for k in range(len(self._tables.rows)))
        self.unknowns = tuple(
            Derivative(x, kinematics.builder.time) for x in self.speeds
        ) + self.multiplier_names
        self.kinds = len(self._tables.kinds)
        self.rotation = Graph.freeze(kinematics.builder, {'rotation': (
            [[x] for x in kinematics.rotation_residuals(
                [body.frame for body in self._tables.tree.bodies],
                kinematics.q)], 1)})
        # Rows with residuals of places, then those with residuals of speeds.
        levels = np.array([row.levels for row in self._tables.rows], int)
        self._measured = np.flatnonzero(levels > 2), np.flatnonzero(levels > 1)
        labels = [row.label for row in self._tables.rows]
        self.residual_names = (
            *(labels[k] for k in self._measured[0]),
            *(f"{'rate of ' if levels[k] > 2 else ''}{labels[k]}"
              for k in self._measured[1]))
        self._recursion = lru_cache(MOST_CODES)(partial(
            Recursion, self._tables))
        if constants is None and not self.constants:
            constants = {}
        self.p = None if constants is None else read_only(
            self.constant_names.vector(constants, 'constants'))
        self._decided = {}
        self._ranks = set()     # of regular states, with their constants

    @property
    def has_loops_only(self):
        """Whether all constraints are loops, whose rows need no code."""
        return all(row.speeds is None for row in self._tables.rows)

    def __repr__(self):
        return (f'<RecursiveEquations of {len(self._tables.tree.bodies)} '
                f'bodies, {len(self.states)} states, '
                f'{len(self.multiplier_names)} multipliers>')

    def __getattr__(self, name):        # of what is not found
        raise NotRecursive(
            f"Recursive equations have no `{name}`, which this needs. Compile "
            "the model with `recursion=False`.")

    def with_values(self, constants, inputs=None, backend='auto'):
        """The same equations with other values of some constants."""
        if inputs or backend not in ('auto', 'llvm'):
            raise ValueError(
                "`inputs` and `backend` belong to the compilation of "
                "recursive equations. Give them there.")
        return self.at_constants(read_only(self.constant_names.vector(
            constants, 'constants', self.p))) if constants else self

    def at_constants(self, p):
        """The same equations with the array ``p``, which is not checked."""
        result = object.__new__(type(self))
        result.__dict__ = {
            **self.__dict__, 'p': p, '_decided': {}, '_ranks': set()}
        return result

    def __copy__(self, memo=None):
        return self.at_constants(self.p)

    __deepcopy__ = __copy__             # the tables are not changed

    def __reduce__(self):
        raise UnsupportedFeatureError(
            "Recursive equations are machine code of this process and cannot "
            "be sent to another one, or saved. For a sweep pass a "
            "`ThreadPoolExecutor` as `executor`, or compile the model with "
            "`recursion=False`.")

    def parameters(self, p=None):
        """The constants as an array."""
        if p is None and self.p is None:
            raise MissingIngredientError(
                "No values for the constants "
                f"{', '.join(self.constant_names.labels)}. Pass "
                "`constants`, or `p` to a compiled function.")
        return self.p if p is None else self.constant_names.vector(
            p, 'p', self.p)

    # -- functions -------------------------------------------------------

    def rhs(self, t, x, p=None):
        """Rates of all states, shape (ns,), or (N, ns) of a batch."""
        x = array(x, 'x')
        size = len(self.states)
        if x.shape[-1:] != (size,) or x.ndim > 2:
            raise ValueError(
                f"`x` has shape {x.shape}; it must be ({size},) for the "
                f"states, or (N, {size}) for a batch.")
        if x.ndim == 2:
            return np.array([self.rhs(s, y, p) for s, y in zip(
                np.broadcast_to(t, len(x)), x)]).reshape(x.shape)
        rates = self._solved(t, x, p)[0][:size]
        if is_huge(rates):
            check_rounding(rates, x, self.names.labels,
                           lambda x: self._solved(t, x, p)[0][:size])
        return rates

    def accelerations(self, t, x, p=None):
        """Rates of the speeds."""
        return self.rhs(t, x, p)[..., len(self.coordinates):]

    def multipliers(self, t, x, p=None):
        """Multipliers, of least norm where they are not unique, (m,)."""
        found = self._multipliers(t, x, p)
        if is_huge(found):
            check_rounding(
                found, self.names.vector(x, 'x'),
                [lam.name for lam in self.multiplier_names],
                lambda x: self._multipliers(t, x, p))
        return found

    def _multipliers(self, t, x, p):
        out, use = self._solved(t, self.names.vector(x, 'x'), p)
        lam = out[len(self.states):]
        if len(use) == len(lam):
            return lam
        # A = C*F with the independent rows F; C^T*lam = lam_F
        S = self._complement(t, x, self.parameters(p))
        C = np.linalg.solve(S[np.ix_(use, use)], S[use]).T
        return np.linalg.pinv(C.T)@lam[use]

    def _solved(self, t, x, p, is_output=False):
        """Rates and multipliers, and the rows in use, kept while they suffice.

        Outputs are also taken at singular configurations.
        """
        t, x, values = float(t), np.ascontiguousarray(x), self.parameters(p)
        key = None if p is None else values.tobytes()
        function, cut, fault = self._decided.get(key), DEPENDENT, True
        if function is not None:
            fault, out = function(t, x, values)
            cut = DEPENDENT_LATER
        if fault:
            function = self.function(t, x, values, cut)
            fault, out = function(t, x, values)
            if fault:
                raise self._failure(t, x, fault)
            if not is_output:
                self._check_rank(t, x, values, len(function.use), key)
            while len(self._decided) >= MOST_CODES:
                del self._decided[next(iter(self._decided))]
            self._decided[key] = function
        return out, function.use

    def _check_rank(self, t, x, p, rank, key):
        """Raise if more rows are independent beside a state."""
        if rank == len(self.multiplier_names) or (key, rank) in self._ranks:
            return
        from .motion import beside
        near = beside(self.at_constants(p), t, x)
        higher = rank if near is None else len(self.independent(t, near, p)[0])
        if higher > rank:
            raise SingularEquationsError(
                f"The constraint rows have the rank {rank} at this state and "
                f"{higher} beside it: a singular configuration, where the "
                "motion may branch. Start from a nearby state.", condition=0.)
        if len(self._ranks) >= MOST_CODES:
            self._ranks.clear()
        self._ranks.add((key, rank))

    def _failure(self, t, x, fault):
        if not np.isfinite(x).all():
            return ValueError(f"`x` is not finite: it is {x!r}.")
        if fault == sweeps.CONTRADICTION:
            return InconsistentConstraintsError(
                "Redundant constraint rows have different right sides at "
                f"t = {t:g}: no acceleration satisfies them. Correct the "
                "state, or the rows.")
        return SingularEquationsError(
            f"The recursion meets a joint without inertia at t = {t:g}, or "
            "the constraints lose rank there, or a load is not finite. Give "
            "mass to every direction, or start from a state beside it; the "
            "ordinary form (`recursion=False`) also takes singular mass "
            "matrices.",
            condition=0.)

    def energy(self, t, x, p=None):
        """Kinetic energy, and the potential energy of the bodies."""
        work = self._sweep(t, x, self.parameters(p))['work']
        tables, at = self._tables, self._array[sweeps.POTENTIAL]
        return tables.kinetic(work) + (work[at] if at else 0.)

    def residuals(self, t, x, p=None):
        """Residuals of places, then of speeds, by ``residual_names``."""
        return self._reactions(t, x, p, np.zeros(
            len(self.multiplier_names)))[1]

    def constraint_forces(self, t, x, p=None):
        """Generalized constraint forces ``Q_c`` of ``M*u' = Q + Q_c``."""
        self.rhs(t, self.names.vector(x, 'x'), p)       # or its error
        return self._reactions(t, x, p, self.multipliers(t, x, p))[0]

    def outputs(self, t, x, p=None):
        """What a trajectory has at one state, by name."""
        out, use = self._solved(t, x, p, is_output=True)
        multipliers = self._multipliers(t, x, p)
        forces, residuals = self._reactions(t, x, p, multipliers)
        return {'rates': out[:len(x)], 'residuals': residuals,
                'multipliers': multipliers, 'constraint_forces': forces,
                'energy': self.energy(t, x, p),
                'rank': self.motion + len(use)}

    def _reactions(self, t, x, p, lam):
        forces, gaps = np.empty(self.motion), np.empty((2, len(lam)))
        if sweeps.reactions(
                float(t), self.names.vector(x, 'x'), self.parameters(p),
                self._array, self._tables.values, lam, forces, gaps):
            raise self._failure(t, x, sweeps.SINGULAR)
        return forces, np.concatenate(
            [gap[rows] for gap, rows in zip(gaps, self._measured)])

    def native_function(self, name='rhs', t=0., x=None, p=None):
        """The :class:`.Recursion` in machine code, of ``(t, x, p)``: rates of
        all states, then multipliers, zero for rows that are left out at the
        state ``x``. There is no other ``name``.
        """
        if name != 'rhs':
            raise ValueError(
                f"`name` is {name!r}. The recursive equations have 'rhs' "
                "alone; other outputs have the ordinary form.")
        if self.multiplier_names and x is None:
            raise MissingIngredientError(
                "The model has constraints. Pass a state `x` on them, where "
                "the independent rows are chosen.")
        return self.function(t, x, p)

    def function(self, t, x, p=None, cut=DEPENDENT):
        """The :class:`Recursion` with the rows independent at a state: those
        whose squared part across the others is above ``cut``.
        """
        return self.by_rows(self.independent(t, x, p, cut)[0])

    def independent(self, t, x, p=None, cut=DEPENDENT):
        """Numbers of the independent rows, of those among the rows with
        residuals of speeds, and of those among the rows with residuals of
        places.
        """
        every = np.arange(len(self.multiplier_names))
        if not len(every):
            return [], [], []
        S = self._complement(t, x, self.parameters(p))
        size = np.sqrt(S.diagonal())
        scale = np.divide(1, size, out=np.zeros_like(size),
                          where=size > sweeps.VANISHED*size.max())
        S *= np.outer(scale, scale)
        places, speeds = self._measured
        use = chosen(S, every, cut)
        return [use, *(use if len(rows) == len(S) else chosen(S, rows, cut)
                       for rows in (speeds, places))]

    def correction(self, speeds, places):
        """Machine code of the correction of a state by independent rows, of
        speeds and of places. Outputs are changes of the states, distances from
        each row at both levels, then the norms of the gradients of rows.
        """
        return self._recursion(tuple(speeds), tuple(places))

    def by_rows(self, use, checks=True):
        """The :class:`Recursion` with these independent rows; without
        ``checks`` also off the constraints, where others contradict them.
        """
        return self._recursion(tuple(use), checks=checks)

    def has_residuals(self, rows):
        """Whether all of some rows have residuals."""
        return {*rows} <= {*self._measured[1]}

    # -- constraints -----------------------------------------------------

    @cached_property
    def _array(self):
        return self._tables.array()

    def _sweep(self, t, x, p):
        x = self.names.vector(x, 'x')
        m, tables = len(self.multiplier_names), self._array
        work = {'Y': np.empty(tables[sweeps.Y_SIZE]), 'gaps': np.empty((4, m)),
                'work': np.empty(tables[sweeps.SIZE])}
        fault = sweeps.sweep(float(t), x, p, tables, self._tables.values,
                             np.empty(len(x) + m), *work.values())
        if fault == sweeps.SINGULAR:
            raise self._failure(t, x, fault)
        return work

    def _complement(self, t, x, p):
        """``A M^-1 A^T``."""
        work = self._sweep(t, x, p)
        D = sweeps.pivots(self._array, work['work'])
        Y = self._tables.sparse(work['Y'])
        return ((Y/D)@Y.T).toarray()


def chosen(S, rows, cut):
    """The independent ones of some rows, by their scaled complement."""
    if not len(rows):
        return []
    _, pivots, rank, _ = dpstrf(S[np.ix_(rows, rows)], tol=cut)
    return sorted(rows[pivots[:rank] - 1].tolist())


class Recursion:
    """Machine code of recursive equations, as :class:`.NativeFunction`.

    ``address`` is that of ``int f(double t, const double *x, const double *p,
    const double *r, double *out)``, which returns 0 if the outputs are good.
    """

    signature = SIGNATURE

    def __init__(self, tables, use, places=None, checks=True):
        self.tables = tables.array(use, places, checks)
        self.use = list(use)            # rows, in order
        self.owner = tables             # of the kernels and numbers
        rows = int(self.tables[sweeps.ROW_COUNT])
        self.size = int(self.tables[sweeps.STATES]) + (
            rows if places is None else 3*rows)
        code, data, more = (
            sweeps.solver().address, self.tables.ctypes.data,
            tables.values.ctypes.data)
        text = f"""\
define i32 @scalar(double %t, ptr %x, ptr %p, ptr %r, ptr %out) #0 {{
  %bad = call i32 inttoptr (i64 {code} to ptr)(double %t, ptr %x, ptr %p, \
ptr %out, ptr inttoptr (i64 {data} to ptr), ptr inttoptr (i64 {more} to ptr))
  ret i32 %bad
}}
"""
        self.address, self._owner = compiled(text, 'scalar', 0)
        self.function = SCALAR(self.address)
        self.function.owner, self.function.address = self, self.address

    def __call__(self, t, x, p):
        """A fault, zero if there is none, and the outputs."""
        out = np.empty(self.size)
        at = out.ctypes.data
        return self.function(t, x.ctypes.data, p.ctypes.data, at, at), out
