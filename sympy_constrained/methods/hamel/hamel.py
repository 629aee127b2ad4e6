"""Hamel's embedding of constraints."""
from dataclasses import replace
from functools import cached_property
from itertools import combinations

from sympy.physics.mechanics import KanesMethod

from ...analysis.zero_tests import counterexample, vanishing
from ...errors import (
    ConstraintError, MissingIngredientError, RedundantConstraintsError,
    UnsupportedFeatureError)
from ...graph import substitute
from ...graph.linalg import solve
from ..null_space import accelerations, reduced_equations
from ..partition import dependent_positions, named_coordinates, sharing_model
from ..references import flat, frozen
from ..symbols import column
from .embedded_equations import EmbeddedMethod
from .embedding import Embedding, Validity
from .voronets import VoronetsMethod

WRONG = (
    "These are Hamel's equations, and they are wrong for this choice of "
    "dependent coordinates: the discrepancy E does not vanish on the "
    "constraints, so the motion is not that of the model. Simulate "
    "`corrected`, which is a VoronetsMethod, or choose among "
    "`valid_partitions()`.")


@KanesMethod.register
class HamelEmbedding(EmbeddedMethod):
    r"""Constraints embedded in the kinetic energy: Hamel's equations.

    Explanation
    ===========

    The constraints are solved for the velocities of as many coordinates
    :math:`q_1` as there are rows,

    .. math::

       \dot q_1 = g(q, u, t) = -B u + a, \qquad u = \dot q_2, \qquad (4)

    and put into the kinetic energy (or the Lagrangian) before it is varied.
    Hamel's equations are those of Lagrange for the embedded :math:`L^*`, in
    which :math:`q_1` is kept and has no equation of its own [1]_:

    .. math::

       \frac{d}{dt}\frac{\partial L^*}{\partial u}
       - \frac{\partial L^*}{\partial q_2} - Q_2^* = 0
       \quad\Leftrightarrow\quad \Psi\dot u = G. \qquad (7), (9)

    d'Alembert's principle gives :math:`\Psi\dot u = H`, the equations of
    Voronets, which :attr:`corrected` returns as a
    :class:`.VoronetsMethod`. The two differ by

    .. math::

       E = G - H =
       B^T\left(\frac{\partial L^*}{\partial q_1} + Q_1^*\right)
       + \Gamma^T p_1^*, \qquad \text{(E1)}

    two faults of different nature: the row of :math:`q_1` is neglected, and
    :math:`\Gamma`, the curvature of the constraints, is not zero where they
    are not integrable. Hamel's equations are right if and only if
    :math:`E = 0` where the constraints hold. That depends on which
    coordinates are :math:`q_1`, so they must be named. The parts of
    :math:`E` are in :attr:`embedding`, the verdict is :attr:`validity`. The
    condition printed in [1]_ lacks a term. Multipliers and constraint forces
    are those of :attr:`corrected`.

    Constraints nonlinear in the velocities are admitted where they are linear
    in :math:`\dot q_1`. Then :math:`B = -\partial g/\partial u` depends on
    ``u``, the two equations have different mass matrices, and ``E`` is the
    difference of their residuals.

    Examples
    ========

    A particle with ``x' = z*y'``. The reaction is along ``(1, -z, 0)``, so
    that in truth ``z'' = 0``:

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import HamelEmbedding
    >>> m = symbols('m')
    >>> x, y, z = dynamicsymbols('x y z')
    >>> vx, vy, vz = (s.diff() for s in (x, y, z))
    >>> T = m*(vx**2 + vy**2 + vz**2)/2
    >>> particle = HamelEmbedding(
    ...     T, [x, y, z], nonhol_coneqs=[vx - z*vy], q_dependent=[x])
    >>> particle.embedding.velocity_map
    {Derivative(x(t), t): z(t)*Derivative(y(t), t)}
    >>> particle.eom[1]
    -m*z(t)*Derivative(y(t), t)**2 + m*Derivative(z(t), (t, 2))
    >>> print(particle.validity)
    x dependent: wrong, because of curvature of the constraints
    >>> particle.corrected.eom[1]
    m*Derivative(z(t), (t, 2))

    Parameters
    ==========

    *args, **kwargs
        As for :class:`.EmbeddedMethod`.
    q_dependent : iterable
        The coordinates whose velocities are eliminated, one for each
        constraint row (holonomic ones count by their derivatives). In Kane's
        shape coordinates whose velocities are in ``u_dependent`` count, too.
    project_loads : bool
        Embed the loads as ``Q_2 - B^T*Q_1`` instead of ``Q_2`` alone, which
        is Hamel's choice. What comes from a Lagrangian is not projected.

    Raises
    ======

    MissingIngredientError
        If there are constraints and no dependent coordinates.
    ConstraintError
        If the dependent coordinates do not fit the constraints. If the rows do
        not determine their velocities, ``q_dependent`` is a choice that works.
    RedundantConstraintsError
        If rows are redundant; carries ``rows``.
    UnsupportedFeatureError
        For constraints at acceleration level.

    References
    ==========

    .. [1] H. Zhao, X. Zhao and J. Jiang, "Study on Hamel's embedding method
       via the Udwadia-Kalaba theory," Appl. Math. Mech. (Chinese ed.) 38
       (2017) 696-707.
    """

    def __init__(self, *args, project_loads=False, **kwargs):
        self._project_loads = bool(project_loads)
        super().__init__(*args, **kwargs)

    def _check_choices(self):
        self._dependent

    # -- the partition ---------------------------------------------------

    @cached_property
    def _dependent(self):
        self._check_velocity_level('embeds')
        named = named_coordinates(self)
        count = self._system.graph.outputs['velocity'][0]
        if count and not named:
            raise MissingIngredientError(
                f"The constraint rows of the model ({count}) need as many "
                "dependent coordinates, and none were named. Whether Hamel's "
                "equations are right depends on the choice: pass "
                f"`q_dependent=[...]` with {count} of "
                f"{', '.join(map(str, self._system.q))}. "
                "`valid_partitions()` of any choice compares all; "
                "VoronetsMethod needs no choice.")
        return dependent_positions(self, named)

    # -- Hamel's equations -----------------------------------------------

    @cached_property
    def embedding(self):
        """The :class:`.Embedding`: ``B``, ``L*``, ``E`` and its parts."""
        return Embedding(self)

    def _active_forces(self):
        return self._embedding.sympy('Q2')

    def equations(self, system):
        """``Psi*u' = G``, (9), with a warning if they are seen to be wrong."""
        equations = reduced_equations(
            self, self._embedding, 'Psi', 'G', self.corrected,
            self._when_singular)
        return replace(equations, warning=WRONG) if self._is_refuted() else (
            equations)

    def _is_refuted(self):
        """Whether ``E`` is seen to differ from zero, without accelerations."""
        if not self._dependent or self._has_accelerations():
            return False
        return counterexample(self._system, self._embedding, 'E',
                              self._sample, self._report.points) is not None

    def _has_accelerations(self):
        """Whether ``E`` contains ``u'``: rows are nonlinear in velocities."""
        return not {*self._udot}.isdisjoint(self._embedding.inputs)

    def _solve(self):
        g, out = self._embedding.load(None, ('Psi', 'G'))
        u = (accelerations(g, out['Psi'], out['G'])
             if 'paper' in self._embedding.outputs      # never indefinite
             else solve(g, out['Psi'], flat(out['G'])))
        return frozen(g, **({} if u is None else {'acceleration': u}))

    def _without(self, name):
        if name != 'acceleration':
            return UnsupportedFeatureError(
                f"Hamel's equations have no `{name}`: their motion may be "
                "another one than that of the model. Read "
                f"`corrected.{name}` of the equations of Voronets.")
        return MissingIngredientError(
            "The embedded mass matrix Psi is singular: the embedding has "
            "taken the mass out of a direction, so Hamel's equations "
            "determine no motion. Use `corrected`, a VoronetsMethod.")

    @property
    def lam_vec(self):
        """An empty column, because Hamel's equations have no multipliers."""
        return column(())

    # -- validity --------------------------------------------------------

    @cached_property
    def corrected(self):
        """The :class:`.VoronetsMethod` of the same coordinates."""
        return sharing_model(VoronetsMethod, self,
                             _dependent=self._dependent,
                             _embedding=self._embedding)

    @cached_property
    def _on_motion(self):
        """``E`` and its parts with the right accelerations in them."""
        if not self._has_accelerations():
            return self._embedding
        g, out = self._embedding.load(None, ('E', 'bent', 'neglected'))
        _, solved = self.corrected.closed_form.load(g, ('acceleration',))
        known = {g.input(x, dynamic=True): value for x, (value,) in zip(
            self._udot, solved['acceleration'])}
        g.avoid(known)
        return frozen(g, **{name: substitute(g, flat(rows), known)
                            for name, rows in out.items()})

    @cached_property
    def validity(self):
        """The :class:`.Validity` of Hamel's equations for this partition.

        ``E`` is evaluated at random states that satisfy the constraints, and
        if it vanishes there, it is proved to vanish.
        """
        names = tuple(self._qdep)
        if not self._dependent:
            return Validity(names, True)
        whole, bent, neglected = (
            vanishing(self._system, self._on_motion, name, self._sample,
                      self._report.points)
            for name in ('E', 'bent', 'neglected'))
        faults = tuple(fault for fault, part in (
            ('curvature', bent), ('neglected row', neglected))
            if part.holds is False)
        values = whole.values and tuple(map(float, flat(whole.values)))
        return Validity(names, whole.holds, faults, values, whole.state)

    def valid_partitions(self):
        """A tuple with the :class:`.Validity` of every choice of coordinates.

        Examples
        ========

        An upright rolling disc:

        >>> from sympy import cos, sin, symbols
        >>> from sympy.physics.mechanics import dynamicsymbols
        >>> from sympy_constrained import HamelEmbedding
        >>> m, I, J, R = symbols('m I J R')
        >>> x, y, a, b = dynamicsymbols('x y a b')
        >>> vx, vy, va, vb = (s.diff() for s in (x, y, a, b))
        >>> T = (m*(vx**2 + vy**2) + I*va**2 + J*vb**2)/2
        >>> disc = HamelEmbedding(T, [x, y, a, b], nonhol_coneqs=[
        ...     vx - R*cos(b)*va, vy - R*sin(b)*va], q_dependent=[y, a])
        >>> for choice in disc.valid_partitions():
        ...     print(choice)
        x, y dependent: right
        x, a dependent: wrong, because of curvature of the constraints
        x, b dependent: the rows do not determine these velocities
        y, a dependent: wrong, because of curvature of the constraints
        y, b dependent: the rows do not determine these velocities
        a, b dependent: the rows do not determine these velocities

        """
        verdicts = []
        for names in combinations(self._system.q, len(self._dependent)):
            other = sharing_model(HamelEmbedding, self, _named=names)
            try:
                verdicts.append(other.validity)
            except RedundantConstraintsError:
                raise
            except ConstraintError as error:
                reason = getattr(error, 'reason', 'singular')
                verdicts.append(Validity(names, False, (reason,)))
        return tuple(verdicts)
