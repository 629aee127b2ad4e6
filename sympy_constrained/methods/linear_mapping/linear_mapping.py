"""Motion in quasi-velocities, as a Riemann-Cartan space-time."""
from functools import cached_property

from sympy import Equality
from sympy.physics.mechanics import KanesMethod

from ...analysis.consistent_points import norm, orthonormal_rows
from ...analysis.constraint_rank import INDEPENDENT
from ...analysis.zero_tests import values_at, vanishing
from ...errors import ConstraintError
from ...model.call_signatures import (
    as_expressions, as_list, as_matrix, check_choice)
from ...precision import precise
from ..base import ConstrainedMethod
from ..null_space import accelerations, reduced_equations
from ..partition import dependent_positions
from ..references import columns, frozen
from ..symbols import column, fresh_symbols, named_symbols
from .mapping import FreeRows, Mapping, map_velocities
from .space import MappedSpace

# Keyword arguments of which only one may define the quasi-velocities.
DEFINITIONS = frozenset({'mapping', 'inverse_mapping', 'q_dependent'})


@KanesMethod.register
class LinearMappingMethod(ConstrainedMethod):
    r"""Equations without multipliers in quasi-velocities.

    Explanation
    ===========

    Free quasi-velocities :math:`u` are chosen beside the constraints
    :math:`A w + A_0 = 0` of the parent speeds :math:`w` (the
    :math:`\dot q` in Lagrange's shape), such that together they determine
    them:

    .. math::

       w = N u + \nu, \qquad A N = 0, \qquad A\nu = -A_0. \qquad (4), (7)

    Projected on the columns of :math:`N` the equations of motion are free of
    multipliers, for every choice of the free rows [1]_:

    .. math::

       N^T M N\,\dot u = N^T(Q - M\gamma), \qquad
       \gamma = \dot w|_{\dot u = 0}. \qquad (13)

    The condition (17) of the paper, a block diagonal metric, is needed only
    for its form with raised indices. Holonomic and nonholonomic constraints
    may depend on time. The mapping makes a Riemann-Cartan space-time of the
    model, :attr:`space`, whose torsion measures what is not integrable; the
    equations do not need it.

    Examples
    ========

    A sleigh whose blade is at its mass centre, in velocities along and about
    the blade:

    >>> from sympy import cos, sin, symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import LinearMappingMethod
    >>> m, J = symbols('m J')
    >>> x, y, phi = dynamicsymbols('x y phi')
    >>> u, w = dynamicsymbols('u w')
    >>> vx, vy, vphi = x.diff(), y.diff(), phi.diff()
    >>> sleigh = LinearMappingMethod(
    ...     m*(vx**2 + vy**2)/2 + J*vphi**2/2, [x, y, phi],
    ...     nonhol_coneqs=[vy*cos(phi) - vx*sin(phi)], us=[u, w],
    ...     mapping=[vx*cos(phi) + vy*sin(phi), vphi])
    >>> sleigh.kindiffdict()[x.diff()]
    u(t)*cos(phi(t))
    >>> sleigh.mass_matrix
    Matrix([
    [m, 0],
    [0, J]])
    >>> sleigh.forcing.T
    Matrix([[0, 0]])
    >>> sleigh.multipliers
    Matrix([[m*u(t)*w(t)]])
    >>> sleigh.space.is_integrable, sleigh.is_holonomic
    (False, False)
    >>> print(sleigh.space.table('torsion'))
    T^1_23 = 1
    T^1_32 = -1
    T^3_12 = 1
    T^3_21 = -1

    Parameters
    ==========

    *args, **kwargs
        As for :class:`.ConstrainedMethod`, without stabilization. In Kane's
        shape the kinematic differential equations are the mapping: the free
        quasi-velocities are the independent speeds. Velocity constraints that
        repeat holonomic ones are dropped.
    us : iterable, optional
        The free quasi-velocities, functions of time; ``u1, u2, ...`` by
        default.
    mapping : iterable of Expr, optional
        What the free quasi-velocities are, expressions linear in the parent
        speeds; or one for every speed, those of the constraints last.
    inverse_mapping : Matrix, optional
        ``N``, shape (o, p), or ``(N | b_A)``, shape (o, o), instead.
    q_dependent : iterable, optional
        In Lagrange's shape without mapping, the coordinates whose velocities
        are eliminated; the other velocities are the quasi-velocities. By
        default they are chosen where the constraints hold.
    completion : 'given' or 'orthogonal'
        ``'orthogonal'`` replaces the free rows by others that make the
        metric block diagonal. Equations and ``u`` stay the same, the
        geometry changes.

    Raises
    ======

    ConstraintError
        If a row is not linear in the velocities, or the mapping is singular or
        violates the constraints.
    RedundantConstraintsError
        If constraint rows are redundant.

    References
    ==========

    .. [1] Y. Wang, X. Wu and H. Cao, "Linear mapping method for holonomic
       rheonomic systems," Journal of Dynamics and Control,
       doi 10.6052/1672-6553-2019-056.
    """

    _accepts = ('potential_energy', 'generalized_forces')
    _drops_repetitions = True
    _takes_partition = True

    def __init__(self, *args, us=None, mapping=None, inverse_mapping=None,
                 completion='given', **kwargs):
        check_choice('completion', completion, ('given', 'orthogonal'))
        self._us, self._mapping = us, mapping
        self._inverse_mapping = inverse_mapping
        self._completion = completion
        super().__init__(*args, **kwargs)

    def _check_choices(self):
        given = [name for name, x in (
            ('mapping', self._mapping),
            ('inverse_mapping', self._inverse_mapping),
            ('q_dependent', self._named)) if x is not None]
        if len(given) > 1:
            raise ConstraintError(
                f"Both `{given[0]}` and `{given[1]}` were given. Each "
                "defines the quasi-velocities; give one of them.")
        self._check_velocity_level('maps')
        self._speeds
        if given:
            self._free

    @classmethod
    def from_method(cls, method, **options):
        if not DEFINITIONS.isdisjoint(options) and isinstance(method, cls):
            kept = DEFINITIONS.intersection(method._own)
            options = {**dict.fromkeys(kept), **options}
        return super().from_method(method, **options)

    @property
    def _own(self):
        return super()._own | (
            {'q_dependent': self._named} if self._shape == 'lagrange' else {})

    # -- the mapping -----------------------------------------------------

    @property
    def _count(self):
        system = self._system
        free = len(system.u) - system.counts[2]
        if free < 0:
            raise ConstraintError(
                f"There are {system.counts[2]} constraint rows for "
                f"{len(system.u)} speeds. Leave redundant rows out.")
        return free

    @cached_property
    def _free(self):
        p, o = self._count, len(self._system.u)
        orthogonal = self._completion == 'orthogonal'
        if self._mapping is not None:
            rows = self._mapping_rows()
            if len(rows) not in (p, o):
                raise ConstraintError(
                    f"`mapping` has {len(rows)} rows. Give {p} for the free "
                    f"quasi-velocities, or {o} with those of the "
                    f"{o - p} constraints last.")
            return FreeRows('rows', rows, orthogonal)
        if self._inverse_mapping is not None:
            matrix = as_matrix(self._inverse_mapping, 'inverse_mapping')
            if matrix.shape not in ((o, p), (o, o)):
                raise ConstraintError(
                    f"`inverse_mapping` has shape {matrix.shape}. Give "
                    f"{(o, p)}, or {(o, o)} with the columns of the "
                    "constraints last.")
            return FreeRows('inverse', tuple(
                tuple(matrix[i, :]) for i in range(o)), orthogonal)
        return FreeRows('partition', self._dependent, orthogonal)

    def _mapping_rows(self):
        """The expressions of ``mapping``; ``Eq(u, ...)`` is accepted."""
        rows, us = [], list(self._speeds)
        for k, row in enumerate(as_list(self._mapping, 'mapping')):
            if isinstance(row, Equality) and us[k:k + 1] in (
                    [row.lhs], [row.rhs]):
                row = row.rhs if row.lhs == us[k] else row.lhs
            rows.append(row)
        return tuple(as_expressions(rows, 'mapping'))

    @property
    def _dependent(self):
        """Positions of the speeds that a partition eliminates."""
        system, count = self._system, self._system.counts[2]
        if self._named is not None:
            return dependent_positions(
                self, as_list(self._named, 'q_dependent'))
        if len(system.u_dependent) == count:
            return tuple(map(system.u.index, system.u_dependent))
        return self._pivots

    @cached_property
    def _speeds(self):
        """The free quasi-velocities, shape (p, 1)."""
        system, p = self._system, self._count
        if self._us is None:
            if (self._shape == 'kane' and self._mapping is None
                    and self._inverse_mapping is None
                    and (not system.counts[2] or system.u_dependent)):
                return column(x for i, x in enumerate(system.u)
                              if i not in self._dependent)
            return fresh_symbols(system, 'u', p)
        return named_symbols(system, self._us, 'us', 'quasi-velocity',
                             'free quasi-velocities', p)

    @cached_property
    def _mapped(self):
        system = self.system
        if system.counts[2]:
            self._check_independent(
                'a mapping has one row for each constraint',
                report=self._ranks)
        graph = map_velocities(system, self._free, tuple(self._speeds))
        self._check_regular(graph)
        return graph

    def _check_regular(self, graph):
        """Raise unless rows are independent where the constraints hold."""
        system = self._system
        with precise():
            for values in self._ranks.points:
                constants = {x: value for x, value in values.items()
                             if x not in (*system.q, *system.u)}
                rows, beside = (values_at(system, graph, start, ('a',))['a']
                                for start in (values, constants))
                basis, _ = orthonormal_rows(rows, INDEPENDENT, [
                    max(abs(norm(x)), abs(norm(y)))
                    for x, y in zip(rows, beside)])
                if len(basis) == len(rows):
                    return
        raise ConstraintError(
            "Where the constraints hold, the rows of the mapping depend on "
            "each other, so the quasi-velocities do not determine the "
            "velocities. Choose other free quasi-velocities, or leave the "
            "choice out.", reason='singular')

    @property
    def u(self):
        """The free quasi-velocities, shape (p, 1)."""
        return self._speeds

    @cached_property
    def mapping(self):
        """The :class:`.Mapping`: ``a``, ``b``, ``N`` and their drifts."""
        return Mapping(self._mapped)

    # -- equations -------------------------------------------------------

    @property
    def _rates(self):
        """``q'`` in terms of the states, shape (n, 1)."""
        return self._mapped.sympy('rates')

    @property
    def _qdep(self):
        return super()._qdep if self._named is None else column(self._named)

    @property
    def _udep(self):
        return column(())

    def equations(self, system):
        """``N^T*M*N*u' = forcing`` and ``lam = b_A^T*(M*w' - Q)``."""
        if system.counts[2]:
            self._report                # checks the rows
        return reduced_equations(
            self, self._mapped, 'mass', 'forcing', when_singular=(
                "Usually the quasi-velocities do not determine the "
                "velocities there: give others by `mapping`, or eliminate "
                "other velocities with `q_dependent`."))

    @cached_property
    def _projected(self):
        return self._mapped.with_states(self._at_states)

    def _solve(self):
        g, out = self._mapped.load(None, ('mass', 'forcing', 'X', 'y', 'A'))
        solution = accelerations(g, out['mass'], out['forcing'])
        if solution is None:
            raise self._without('acceleration')
        lam = [g.add(g.dot(row, solution), y)
               for row, (y,) in zip(out['X'], out['y'])]
        forces = [g.dot(lam, c)
                  for c in columns(out['A'], len(self._system.u))]
        return frozen(g, acceleration=solution, multipliers=lam,
                      constraint_forces=forces)

    @cached_property
    def constraint_power(self):
        """Power ``-lam^T*A_0`` of the constraint forces, for parent speeds."""
        if not self._system.counts[2]:
            return 0
        return -(self.multipliers.T*self.mapping.constraints_drift)[0]

    def _active_forces(self):
        N, nu = self.mapping.N, self.mapping.nu
        speeds = dict(zip(self._system.u, N*self.u + nu))
        return N.T*self._applied().xreplace(speeds)

    # -- geometry --------------------------------------------------------

    @cached_property
    def space(self):
        """The :class:`.MappedSpace`: metric, connection, torsion, ..."""
        return MappedSpace(self._new_system(in_velocities=True),
                           self._mapped, self._count)

    @cached_property
    def is_holonomic(self):
        """Whether the constraints are integrable; None if undecided.

        The theorem of Frobenius: the torsion of the constraint rows vanishes
        in the free directions and time, where the constraints hold.
        """
        if not self._system.counts[2]:
            return True
        return vanishing(
            self._system, self.space.questions, 'constraints',
            sample=self._sample, states=self._report.points).holds
