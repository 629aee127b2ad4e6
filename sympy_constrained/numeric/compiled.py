"""Equations of motion as plain functions of ``(t, x, p)``."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..equations import EquationsOfMotion
from ..errors import MissingIngredientError, SingularEquationsError
from .evaluation import Evaluator
from .linear import LinearSolver
from .projection import distances
from .sampling import decide_rank

__all__ = ['CompiledEquations', 'compile_equations']

KEPT_SOLVERS = 64


def compile_equations(model, constants=None, inputs=None, backend='numpy'):
    r"""Return the equations of a model as functions of ``(t, x, p)``.

    Explanation
    ===========

    The functions are written and compiled when they are first called.

    Examples
    ========

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.numeric import compile_equations
    >>> m, g, l = symbols('m g l')
    >>> x, y = dynamicsymbols('x y')
    >>> pendulum = UdwadiaKalabaMethod(
    ...     m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
    ...     hol_coneqs=[x**2 + y**2 - l**2])
    >>> equations = compile_equations(pendulum, {m: 1, g: 9.81, l: 2})
    >>> equations.rhs(0, [2, 0, 0, 0])
    array([ 0.  ,  0.  ,  0.  , -9.81])
    >>> equations.residuals(0, [2, 0.1, 0, 0])
    array([0.01, 0.  ])

    Parameters
    ==========

    model : a method, EquationsOfMotion, KanesMethod or LagrangesMethod
        SymPy's own methods must have formed their equations.
    constants : mapping or sequence, optional
        Value of each constant, by symbol or name, or in the order of
        ``model.constants``. These are the default of ``p``; without them
        every call must bring ``p``.
    inputs : mapping, optional
        What each specified function is: an expression in time and the
        constants, a number, or a Python function of ``(t, x)``.
    backend : {'numpy'}

    Returns
    =======

    CompiledEquations

    Raises
    ======

    ValueError
        If values are missing, unknown, complex or not finite, or for an
        unknown backend.
    MissingIngredientError
        If a specified function, or a derivative of one, is not given.

    """
    if isinstance(model, CompiledEquations):
        return model.with_values(constants, inputs)
    equations = model if isinstance(model, EquationsOfMotion) else (
        EquationsOfMotion.from_method(model))
    return CompiledEquations(Evaluator(equations, constants, inputs, backend))


class CompiledEquations:
    """Plain functions of ``(t, x, p)``, with the names of their arguments.

    Explanation
    ===========

    Made by :func:`compile_equations`. In every function ``t`` is a number,
    ``x`` the states in the order of ``states``, and ``p`` the constants in the
    order of ``constants``, a mapping with new values for some of them, or None
    for the values given at compilation. A batch is ``x`` of shape ``(N, ns)``,
    with ``t`` and ``p`` for all or for each state; results then have a leading
    axis of length N.

    Results are always finite: where the equations have no value there is an
    error, never ``nan``.

    What solves for accelerations needs the rank of the equations, which must
    be decided on the constraint set (:mod:`~sympy_constrained.numeric.linear`
    says why). It is decided at the consistent state near the first ``x`` that
    is met with a ``p``, and then kept. To decide yourself, make a
    :meth:`linear_solver` and pass it on as ``solver``; with redundant rows
    this is also much quicker, because then :meth:`rhs` and
    :meth:`accelerations` do not check that they agree.

    The object can be pickled if the inputs can; its functions are written
    again on the other side.

    Attributes
    ==========

    equations : EquationsOfMotion
    states, constants, specifieds : tuple of SymPy objects
    unknowns : tuple
        Accelerations, then ``multiplier_names``.
    residual_names : tuple of str
    p : ndarray or None
        Values of the constants given at compilation.
    levels : tuple
        Outputs with residuals, and the positions of the states that they
        determine.

    """

    def __init__(self, evaluator: Evaluator):
        equations = evaluator.equations
        self._evaluator = evaluator
        self._solvers: dict = {}
        self.equations = equations
        self.state_index = evaluator.states.index
        self.q_index = np.array(list(map(self.state_index, equations.q)), int)
        self.u_index = np.array(list(map(self.state_index, equations.u)), int)
        upper = np.array(list(map(self.state_index, equations.upper)), int)
        self.levels = (('holonomic', self.q_index),
                       ('velocity', self.u_index))
        if len(upper):
            self.levels += (('upper', upper),)
        self.motion = len(equations.unknowns) - len(equations.multipliers)

    def __repr__(self):
        return (f'<CompiledEquations of {len(self.states)} states, '
                f'{len(self.multiplier_names)} multipliers>')

    def __getstate__(self):
        return {**self.__dict__, '_solvers': {}}

    def with_values(self, constants=None, inputs=None) -> CompiledEquations:
        """The same equations with other constants or inputs.

        Constants that are not mentioned keep their values; inputs are
        replaced as a whole.
        """
        if constants is None and inputs is None:
            return self
        return CompiledEquations(
            self._evaluator.with_values(constants, inputs))

    # -- what there is ---------------------------------------------------

    @property
    def states(self):
        return self.equations.states

    @property
    def constants(self):
        return self.equations.constants

    @property
    def specifieds(self):
        return self.equations.specifieds

    @property
    def unknowns(self):
        return self.equations.unknowns

    @property
    def multiplier_names(self):
        return self.equations.multipliers

    @property
    def names(self):
        """The states with search by name."""
        return self._evaluator.states

    @property
    def p(self):
        return self._evaluator.p

    @property
    def residual_names(self):
        """Labels of the entries of :meth:`residuals`."""
        outputs = self.equations.graph.outputs
        holonomic, velocity = outputs['holonomic'][0], outputs['velocity'][0]
        names = self.equations.constraint_names
        if len(names) < velocity:
            names = [f'row {i}' for i in range(velocity)]
        return (*names[:holonomic],
                *(f'rate of {name}'
                  for name in names[:min(holonomic, velocity)]),
                *names[holonomic:velocity], *self.equations.upper_names)

    def has(self, output) -> bool:
        """Whether an output of the graph has any rows."""
        return self.equations.graph.outputs[output][0] > 0

    # -- functions -------------------------------------------------------

    def evaluate(self, names, t, x, p=None) -> dict:
        """Outputs of ``equations.graph``: name -> array ``(rows, columns)``.
        """
        return self._evaluator.outputs(names, t, x, p)

    def expression(self, expr) -> Callable:
        """A SymPy expression or matrix as a function of ``(t, x, p)``.

        It may contain states, constants, specified functions and time.
        """
        return self._evaluator.expression(expr)

    def output(self, graph, name) -> Callable:
        """An output of a graph of the same model, such as
        ``method.closed_form``, as a function of ``(t, x, p)``.
        """
        return self._evaluator.output(graph, name)

    def parameters(self, p=None):
        """``p`` in any allowed form as an array, shape (np,)."""
        return self._evaluator.parameters(p)

    def matrices(self, t, x, p=None):
        """``W``, shape (s, s), and ``r``, shape (s,)."""
        outputs = self.evaluate(('W', 'r'), t, x, p)
        return outputs['W'], outputs['r'][..., 0]

    def residuals(self, t, x, p=None):
        """Holonomic, then velocity-level residuals, shape (mh + mv,).

        Those of higher levels follow, if there are any.
        """
        names = [name for name, _ in self.levels]
        outputs = self.evaluate(names, t, x, p)
        return np.concatenate([outputs[name] for name in names],
                              axis=-2)[..., 0]

    def energy(self, t, x, p=None):
        """Kinetic plus potential energy."""
        return self._scalar('energy', t, x, p)

    def power(self, t, x, p=None):
        """Rate of the energy due to known forces without a potential."""
        return self._scalar('power', t, x, p)

    def _scalar(self, name, t, x, p):
        if not self.has(name):
            raise MissingIngredientError(
                f"These equations carry no {name}: it is not known for the "
                "model they were made from.")
        return self.evaluate((name,), t, x, p)[name][..., 0, 0]

    def rhs(self, t, x, p=None, solver=None):
        """Rates of all states, shape (ns,)."""
        outputs = self.evaluate(('rates', 'W', 'r'), t, x, p)
        z = self._each(self._motion, outputs, t, x, p, solver)
        return np.concatenate(
            [outputs['rates'][..., 0], z[..., :self.motion]], axis=-1)

    def accelerations(self, t, x, p=None, solver=None):
        """Rates of the states that are solved for."""
        outputs = self.evaluate(('W', 'r'), t, x, p)
        return self._each(self._motion, outputs, t, x, p, solver)[
            ..., :self.motion]

    def multipliers(self, t, x, p=None, solver=None):
        """Multipliers, of least norm where they are not unique."""
        outputs = self.evaluate(('W', 'r'), t, x, p)
        return self._each(self._least_norm, outputs, t, x, p, solver)[
            ..., self.motion:]

    def constraint_forces(self, t, x, p=None, solver=None):
        """``Q_c = M*u' - Q``, shape (o,)."""
        outputs = self.evaluate(('rates', 'W', 'r', 'M', 'Q'), t, x, p)
        z = self._each(self._motion, outputs, t, x, p, solver)
        rates = np.concatenate(
            [outputs['rates'][..., 0], z[..., :self.motion]], axis=-1)
        return (outputs['M']@rates[..., self.u_index, None]
                - outputs['Q'])[..., 0]

    # -- the linear equations --------------------------------------------

    def linear_solver(self, t, x, p=None) -> LinearSolver:
        """Decide the rank at the consistent state near ``x``."""
        return decide_rank(self, t, x, self.parameters(p))

    def _each(self, solve, outputs, t, x, p, solver):
        """Apply ``solve`` to the state or to each state of a batch."""
        W, r = outputs['W'], outputs['r'][..., 0]
        if r.ndim == 1:
            return solve(W, r, t, x, p, solver)
        p = self._evaluator.parameters(p, len(r))
        rows = zip(W, r, np.broadcast_to(t, len(r)), np.asarray(x, float),
                   np.broadcast_to(p, (len(r), len(self.constants))))
        z = [solve(*row, solver) for row in rows]
        return np.array(z).reshape(r.shape)

    def _motion(self, W, r, t, x, p, solver):
        """A solution that is right for the accelerations."""
        if solver is not None:
            return solver.solve(W, r)[0]
        return self._least_norm(W, r, t, x, p, None)

    def _least_norm(self, W, r, t, x, p, solver):
        """The solution with the least multipliers, checked."""
        def solve(chosen):
            drift = 0. if chosen.kept is None else (
                distances(self, t, x, p).relative)
            found = chosen.solve_all(W, r, drift)
            if found.rank != chosen.rank and solver is None:
                raise SingularEquationsError("The rank is higher here.")
            return found.z

        if solver is not None:
            return solve(solver)
        return self._with_kept_solver(solve, t, x, p)

    def _with_kept_solver(self, solve, t, x, p):
        """Use the solver kept for ``p``, and decide again if it fails."""
        key = self.parameters(p).tobytes()
        kept = self._solvers.get(key)
        if kept is not None:
            try:
                return solve(kept)
            except SingularEquationsError:
                pass
        if len(self._solvers) >= KEPT_SOLVERS:
            self._solvers.clear()
        kept = self._solvers[key] = self.linear_solver(t, x, p)
        return solve(kept)
