"""Equations of motion as plain functions of ``(t, x, p)``.

All functions share the constants, the inputs and what was compiled, so they
are methods of one class in one long file.
"""
from contextlib import suppress
from functools import partial

import numpy as np
from sympy import Dummy

from ..errors import (
    ConstrainedDynamicsError, InconsistentConstraintsError,
    MissingIngredientError, NotFiniteError, SingularEquationsError,
    UnsupportedFeatureError)
from ..model.equations import EquationsOfMotion
from .codegen.slopes import Slopes
from .codegen.solution import solved_graph
from .derivatives import Derivative, Plan
from .evaluation import (
    Evaluator, check_rounding, finite_time, is_huge, times_of)
from .linear.rank_decision import decide_rank
from .linear.solver import LinearSolver
from .manifold.correction import correction_graph, row_sizes
from .manifold.projection import distances, norms_of
from .names import array, label
from .table import Table
from .tolerances import REDUNDANT, ROUNDINGS, UNDECIDED


KEPT_SOLVERS = 64


def compile_equations(model, constants=None, inputs=None, backend='auto',
                      recursion=False, loops=()):
    r"""Return the equations of a model as functions of ``(t, x, p)``.

    Explanation
    ===========

    The functions are compiled when they are first called.

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
        SymPy's own methods must have formed their equations. For compiled
        equations, omitted arguments keep their values.
    constants : mapping or sequence, optional
        Value of each constant, by symbol or name, or in the order of
        ``model.constants``. These are the default of ``p``; without them
        every call needs ``p``.
    inputs : mapping, optional
        Value of each specified function: an expression in time, states,
        constants and other inputs, where new symbols become constants; a
        number; a Python function of ``(t, x)``, or of states by name such as
        ``lambda q1, u1: -q1 - u1`` (``x_dot`` is the derivative of ``x``, the
        time ``t`` comes last); or a table, as a pair of sequences ``(times,
        values)`` or a :class:`.Table`.
    backend : {'auto', 'numpy', 'llvm'}
        Without machine code, or with that of llvmlite (extra ``fast``, with
        numba). ``'auto'`` is LLVM where it is installed. NumPy evaluates
        functions that cannot be compiled, such as Python functions.
    recursion : bool or 'auto'
        Whether the bodies are taken one by one along the tree of the joints,
        which is the way for many bodies; ``model`` then is a method, a
        ``System`` or a ``KanesMethod`` object. ``'auto'`` takes the recursive
        form where it exists, the model has 28 bodies or more, and all
        constraints are loops; a ``System`` without formed equations has no
        other form.
    loops : iterable of Loop
        Further loops of a ``System`` or a ``KanesMethod`` object, with
        ``recursion``. A method has its own.

    Returns
    =======

    CompiledEquations
        With ``recursion`` a :class:`.RecursiveEquations`, which has fewer
        functions.

    Raises
    ======

    ValueError
        If values are missing, unknown, complex or not finite, or the backend
        is unknown.
    MissingIngredientError
        If a specified function or its derivative has no value, or the
        requirements of the backend are not installed.
    UnsupportedFeatureError
        If ``recursion`` is True and the model has no recursive form.

    """
    if recursion:
        from .recursive import recursive_equations
        found = recursive_equations(model, constants, inputs, backend,
                                    recursion, loops)
        if found is not None:
            return found
    if loops:
        raise ValueError(
            "`loops` are taken by the recursive equations alone. Give them "
            "to the method, such as UdwadiaKalabaMethod.from_method(system, "
            "loops=loops).")
    if hasattr(model, 'with_values'):   # compiled, perhaps recursive
        return model.with_values(constants, inputs, backend)
    return CompiledEquations(equations_of(model), constants, inputs, backend)


def equations_of(model) -> EquationsOfMotion:
    """The equations of a method, or ``model`` itself."""
    return model if isinstance(model, EquationsOfMotion) else (
        EquationsOfMotion.from_method(model))


class CompiledEquations(Evaluator):
    """Plain functions of ``(t, x, p)``, with the names of their arguments.

    Explanation
    ===========

    Made by :func:`compile_equations`. In every function ``t`` is a number,
    ``x`` the states in the order of ``states``, and ``p`` the constants in the
    order of ``constants``, a mapping with new values for some of them, or None
    for the values given at compilation. A batch is ``x`` of shape ``(N, ns)``,
    with ``t`` and ``p`` for all or for each state; results then have a leading
    axis of length N.

    Results are always finite: where the equations have no value, an error is
    raised.

    Accelerations need the rank of the equations, which must be decided on the
    constraint set (:doc:`/theory/numbers` says why).
    It is decided at the consistent state near the first ``x`` for each ``p``,
    and then kept. To decide yourself, pass a :meth:`linear_solver` as
    ``solver``; then :meth:`rhs` and :meth:`accelerations` do not check whether
    redundant rows agree.

    The object can be pickled if the inputs can; its functions are compiled
    again after loading.

    Attributes
    ==========

    equations : EquationsOfMotion
    states, constants, specifieds : tuple of SymPy objects
    unknowns : tuple
        Accelerations, then ``multiplier_names``.
    motion : int
        Number of accelerations.
    names, constant_names : Names
        The states and the constants, searchable by name.
    backend : str
        The backend in use.
    inputs : Inputs
        Expressions and functions of the inputs.
    levels : tuple
        Outputs with residuals, and the positions of the states that they
        determine.

    """

    def __init__(self, equations, constants, inputs, backend):
        super().__init__(equations, constants, inputs, backend)
        self.unknowns = equations.unknowns
        self.multiplier_names = equations.multipliers
        self.motion = len(equations.unknowns) - len(equations.multipliers)
        self.q_index, self.u_index, upper = (
            np.array(list(map(self.names.index, xs)), int)
            for xs in (equations.q, equations.u, equations.upper))
        self.levels = (('holonomic', self.q_index),
                       ('velocity', self.u_index))
        if len(upper):
            self.levels += (('upper', upper),)

    def __repr__(self):
        return (f'<CompiledEquations of {len(self.states)} states, '
                f'{len(self.multiplier_names)} multipliers>')

    # -- names -----------------------------------------------------------

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
        return self.equations.graph.shape(output)[0] > 0

    # -- inputs ----------------------------------------------------------

    @property
    def called(self):
        """Values of the Python inputs at ``(t, x)``, None without any.

        The work may follow the states in ``x``.
        """
        return partial(self.inputs.values, count=len(self.states)) if (
            self.inputs.called) else None

    @property
    def tables(self):
        """SymPy object -> table, for inputs that are tables."""
        return {item: function for item, function in
                self.inputs.called.items() if isinstance(function, Table)}

    # -- functions -------------------------------------------------------

    def inertia(self, t, x, p=None):
        """``M``, and ``G = dq'/du``, shape (n, o), or None if unknown.
        """
        outputs = self.kept('inertia', lambda: self.group(correction_graph(
            self.equations), ('M', 'G')))(t, x, self.parameters(p))
        return outputs['M'], outputs['G'] if outputs['G'].size else None

    def matrices(self, t, x, p=None):
        """``W``, shape (s, s), and ``r``, shape (s,)."""
        outputs = self.evaluate(('W', 'r'), t, x, p)
        return outputs['W'], outputs['r'][..., 0]

    def rounding(self, t, x, p=None):
        """Change of ``r`` of the first block by some roundings of the state.
        """
        signs = np.where(np.arange(len(x)) % 2, 1, -1)
        moved = np.asarray(x)*(1 + ROUNDINGS*signs)
        return np.abs(np.subtract(*(
            self.first_block(('r',), t, state, p)['r'][:, 0]
            for state in (moved, x))))

    def residuals(self, t, x, p=None):
        """Holonomic, velocity-level, then higher residuals, flat."""
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
                f"These equations carry no {name}: it is unknown for models "
                "with parts of prescribed motion, masses that depend on the "
                "motion, or loads that depend on accelerations. Pass a "
                "formula for it to `expression`.")
        return self.evaluate((name,), t, x, p)[name][..., 0, 0]

    # -- rates -----------------------------------------------------------

    def rhs(self, t, x, p=None, solver=None):
        """Rates of all states, shape (ns,)."""
        x = array(x, 'x')
        if not isinstance(t, (int, float)) or t - t:
            t = finite_time(t)
        rates = None
        if x.ndim == 2:
            rates = self._rates_of_batch(t, x, p, solver)
        elif x.shape == (len(self.states),):
            key = solver, None if p is None else self.parameters(p).tobytes()
            quick = self._decided.get(key) or self.once(
                key, lambda: self.quick_rates(
                    solver or self.kept_solver(t, x, p), p,
                    solver is not None))
            rates = quick and quick(t, x)
        if rates is None:
            rates = self._solved_rates(t, x, p, solver)
        return self._free_of_noise(rates, t, x, p, solver)

    def _free_of_noise(self, rates, t, x, p, solver):
        """The rates; an error if they are quotients of rounding errors."""
        if is_huge(rates):
            check_rounding(rates, x, self.names.labels, lambda x: (
                self._solved_rates(t, x, p, solver)),
                self.equations.when_singular)
        return rates

    def _solved_rates(self, t, x, p, solver):
        outputs, z = self._solved(('rates',), t, x, p, solver)
        return np.concatenate(
            [outputs['rates'][..., 0], z[..., :self.motion]], axis=-1)

    def _rates_of_batch(self, t, x, p, solver):
        """Rates of many states; those that fail a check are solved singly."""
        chosen, t = solver, times_of(t, x)
        several = np.ndim(p) > 1        # constants for each state
        if not several:
            p = self.parameters(p)
            if solver is None and len(x):
                chosen = self.kept_solver(t[0], x[0], p)
        native, constants = (None, None) if several or chosen is None else (
            self.native_rates(chosen, (), p, solver is not None))
        if native is None or self.called or x.shape[1] != len(self.states):
            return self._solved_rates(t, x, p, solver)
        out, bad = native.batch(len(x), t, x.T, constants)
        rates = out[:, :len(self.states)].copy()
        try:
            for i in np.flatnonzero(bad):
                rates[i] = self.rhs(t[i], x[i], p, solver)
        except NotFiniteError:          # raise with the number of the state
            self.evaluate(('rates', 'W', 'r'), t, x, p)
            raise
        return rates

    def accelerations(self, t, x, p=None, solver=None):
        """Rates of the states that are solved for."""
        rates = self.rhs(t, x, p, solver)
        return rates[..., rates.shape[-1] - self.motion:]

    def multipliers(self, t, x, p=None, solver=None):
        """Multipliers, of least norm where they are not unique."""
        def multipliers_at(x):
            return self._solved((), t, x, p, solver, is_checked=True)[1][
                ..., self.motion:]

        found = multipliers_at(x)
        if is_huge(found):
            check_rounding(
                found, np.asarray(x, float), list(map(
                    label, self.multiplier_names)), multipliers_at,
                self.equations.when_singular)
        return found

    def are_unique(self, combinations, t, x, p=None):
        """Whether these linear combinations of multipliers are unique."""
        W = self.evaluate(('W',), t, x, p)['W'][:, self.motion:]
        sizes = norms_of(W.T)
        _, sigma, turn = np.linalg.svd(W/sizes)
        rank = np.sum(sigma > REDUNDANT*sigma.max(initial=0))
        scaled = np.array(combinations)/sizes
        return bool(np.all(np.abs(scaled@turn[rank:].T) <= (
            UNDECIDED*norms_of(scaled)[:, None])))

    def constraint_forces(self, t, x, p=None, solver=None):
        """``Q_c = M*u' - Q``, shape (o,).

        One for each speed that is solved for. Zero where the constraints are
        embedded; the forces are ``A^T*lam`` of the :meth:`multipliers` then.
        """
        outputs, z = self._solved(('rates', 'M', 'Q'), t, x, p, solver)
        rates = self._free_of_noise(np.concatenate(
            [outputs['rates'][..., 0], z[..., :self.motion]], axis=-1),
            t, np.asarray(x, float), p, solver)
        return (outputs['M']@rates[..., self.u_index, None]
                - outputs['Q'])[..., 0]

    # -- derivatives -----------------------------------------------------

    def jacobian(self, of='rates', by=None) -> Derivative:
        """Return exact derivatives as a function of ``(t, x, p)``.

        Examples
        ========

        >>> from sympy_constrained import UdwadiaKalabaMethod
        >>> from sympy_constrained.models import model
        >>> from sympy_constrained.numeric import compile_equations
        >>> pendulum = model('cartesian_pendulum')
        >>> equations = compile_equations(
        ...     pendulum.form(UdwadiaKalabaMethod), pendulum.parameters)
        >>> by_gravity = equations.jacobian('accelerations', by=['g'])
        >>> by_gravity(0, [0.6, -0.8, 0, 0]).round(6)
        array([[-0.48],
               [-0.36]])
        >>> equations.jacobian('multipliers', by=['m', 'L']).shape
        (1, 2)

        Parameters
        ==========

        of : str, expression or sequence of expressions
            ``'rates'`` (of all states), ``'accelerations'``,
            ``'multipliers'``, ``'constraint_forces'``, ``'residuals'``, an
            output of ``equations.graph`` such as ``'energy'``, or expressions
            in states, their rates, multipliers, constants, inputs and time.
        by : sequence, optional
            States, constants, inputs or the time, by object or name; by
            default the states. Tables and Python functions count as functions
            of time.

        Returns
        =======

        Derivative
            Of ``(t, x, p=None)``, with values of shape (m, k). Off the
            constraint set they depend on how the constraints are written; see
            :doc:`/theory/numbers`.

        Raises
        ======

        ValueError
            If an output or a name is unknown.
        UnsupportedFeatureError
            When called, if rows are redundant and multipliers are
            differentiated.

        """
        return self._derivative(of, by, 'jacobian')

    def values(self, of='rates') -> Derivative:
        """Outputs or expressions as a function of ``(t, x, p=None)``.

        ``of`` is that of :meth:`jacobian`: it may contain accelerations and
        multipliers. Shape (m,).
        """
        return self._derivative(of, (), 'values')

    def jvp(self, of='rates', by=None) -> Derivative:
        """Derivatives along a direction, of ``(t, x, direction, p=None)``.

        The product of :meth:`jacobian` with the direction, shape (m,), in the
        time of one solution.
        """
        return self._derivative(of, by, 'jvp')

    def vjp(self, of='rates', by=None) -> Derivative:
        """The gradient of a weighted sum, of ``(t, x, weights, p=None)``.

        The product of the weights with :meth:`jacobian`, shape (k,), in the
        time of one solution for any number of variables.
        """
        return self._derivative(of, by, 'vjp')

    def hessian_vector(self, of='rates', by=None) -> Derivative:
        """The derivative of :meth:`vjp` along a direction, shape (k,).

        A function of ``(t, x, weights, direction, p=None)``.
        """
        return self._derivative(of, by, 'hessian_vector')

    def _derivative(self, of, by, kind):
        of, by = (x if x is None or isinstance(x, str) else
                  tuple(x) if np.iterable(x) else (x,) for x in (of, by))
        return Derivative(self, self.kept(
            (kind, of, by), lambda: Plan(self, of, by, kind)))

    def tangent_basis(self, t, x, p=None):
        """Orthonormal changes of the states along the constraint set.

        Shape (ns, n), for one state; ``n`` is the number of states less the
        independent constraints on them.
        """
        K = self.jacobian('residuals')(t, x, p)
        _, sigma, vh = np.linalg.svd(K/row_sizes(K))
        rank = int(np.sum(sigma > REDUNDANT*sigma.max(initial=0.)))
        return vh[rank:].T

    # -- machine code ----------------------------------------------------

    def quick_rates(self, solver, p=None, carried=True, work=()):
        """A quick function of ``(t, x)`` for some constants, or None.

        It returns None where its checks fail. The rank is that of the
        ``solver``, which then takes over. ``carried`` is whether the solver
        may be trusted on redundant rows. With the outputs ``work`` the work is
        another state.
        """
        native, p = self.native_rates(solver, work, p, carried)
        if native is None:
            return None
        count = len(self.states) + bool(work)
        return native.bound((count,), p, count, self.called)

    def native_rates(self, solver, work=(), p=None, carried=True):
        """The machine code of :meth:`quick_rates`, None if there is none, and
        its constants: ``p`` and the sizes of the solver.
        """
        if self.backend == 'numpy' or not solver.leaves_out_rows_only:
            return None, None
        rows = solver.rows_in_use
        agree = rows is not None and not carried

        def made():
            names = [Dummy() for _ in solver.sizes]
            with suppress(ConstrainedDynamicsError):
                return self._solution(rows, names, names, agree, work)

        return self.kept(('rates', rows, agree, work), made), np.concatenate(
            [self.parameters(p), solver.sizes])

    def slopes(self, solver, work=()):
        """Code for the derivatives of :meth:`native_rates`, None without it.
        """
        if self.backend == 'numpy' or self.called or (
                not solver.leaves_out_rows_only):
            return None
        rows = solver.rows_in_use
        return self.kept(('slopes', rows, work),
                         lambda: Slopes.of(self, rows, work))

    def _solution(self, rows, numbers, names=(), agree=False, work=()):
        """The compiled solution, None if there is none.

        ``numbers`` are the sizes of the rows and columns of ``W``; ``names``
        are those whose values follow the constants. ``agree`` is whether
        redundant rows are checked.
        """
        half, stages = len(numbers)//2, []
        graph = solved_graph(self.equations, rows, (
            numbers[:half], numbers[half:]) if numbers else None, agree, work,
            stages)
        return graph and self.native(graph, 'out', 'checks', names, stages)

    def native_output(self, graph, checks=None, more=(), stages=()):
        """The output ``out`` of a graph in machine code, None without it.

        Values of the symbols ``more`` follow those of the constants.
        """
        if self.backend == 'numpy':
            return None
        with suppress(ConstrainedDynamicsError):
            return self.native(graph, 'out', checks, more, stages)

    def native_function(self, name='rhs', t=0., x=None):
        """Return the :class:`.NativeFunction` for integrators outside Python.

        Parameters
        ==========

        name : 'rhs' or an output of ``equations.graph``
            ``'rhs'`` are the rates of all states, then the multipliers.
        t, x : float, sequence, optional
            A state near the motion, where the rank is decided: needed if
            constraint rows may be redundant. It also shows the usual size of
            the entries: without it an almost singular configuration may pass
            as good.

        Raises
        ======

        UnsupportedFeatureError
            If the backend is ``'numpy'``, or if there is no compiled
            solution for this model.

        """
        if self.backend == 'numpy':
            raise UnsupportedFeatureError(
                "backend='numpy' has no machine code. Compile the equations "
                "with backend='llvm' (extra `fast`).")
        if name != 'rhs':
            return self.native(self.equations.graph, name)
        rows, numbers = None, ()
        is_possible = self.equations.inconsistent == 'error'
        if x is not None:
            solver = self.linear_solver(t, self.names.vector(x, 'x'))
            rows, numbers = solver.rows_in_use, solver.sizes.tolist()
            is_possible = solver.leaves_out_rows_only
        native = self._solution(rows, numbers) if is_possible else None
        if native is None:
            raise UnsupportedFeatureError(
                "There is no compiled solution of these equations: the mass "
                "matrix or the constraints are singular, the elimination is "
                "too long, or contradicting rows are met in the sense of "
                "least squares. Pass a state `x` if constraint rows are "
                "redundant, or call `rhs`.")
        return native

    # -- the linear equations --------------------------------------------

    def linear_solver(self, t, x, p=None) -> LinearSolver:
        """Decide the rank at the consistent state near ``x``."""
        return decide_rank(self, t, x, self.parameters(p))

    def _solved(self, names, t, x, p, solver, is_checked=False):
        """Outputs at a state, or at several, and ``z`` there."""
        outputs = self.evaluate((*names, 'W', 'r'), t, x, p)
        W, r = outputs['W'], outputs['r'][..., 0]

        def z(W, r, t, x, p):
            if solver is None:
                return self._least_norm(W, r, t, x, p)
            if is_checked:
                return self._checked(solver, W, r, t, x, p).z
            return solver.solve(W, r)[0]

        if r.ndim == 1:
            return outputs, z(W, r, t, x, p)
        p = np.broadcast_to(self.parameters(p, len(r)),
                            (len(r), len(self.constants)))
        rows = zip(W, r, np.broadcast_to(t, len(r)), np.asarray(x, float), p)
        return outputs, np.array([z(*row) for row in rows]).reshape(r.shape)

    def _checked(self, solver, W, r, t, x, p):
        """The solution with the least multipliers, checked."""
        drift = 0. if solver.kept is None else (
            distances(self, t, x, p).relative)
        return solver.solve_all(W, r, drift, partial(self.rounding, t, x, p))

    def _least_norm(self, W, r, t, x, p):
        """The same by the solver kept for ``p``, chosen again if it fails."""
        with suppress(SingularEquationsError, InconsistentConstraintsError):
            solver = self.kept_solver(t, x, p)
            solution = self._checked(solver, W, r, t, x, p)
            if solution.rank == solver.rank:
                return solution.z
        self._decided.pop(self.parameters(p).tobytes(), None)
        solver = self.kept_solver(t, x, p)
        solution = self._checked(solver, W, r, t, x, p)
        if solution.rank != solver.rank:
            raise SingularEquationsError(
                "The equations have a higher rank here than at the nearest "
                "state on the constraints, which is a singular configuration. "
                "Correct the state, or choose one farther from it.",
                condition=0.)
        return solution.z

    def kept_solver(self, t, x, p) -> LinearSolver:
        """The solver kept for ``p``, decided here at the first call."""
        return self.once(self.parameters(p).tobytes(),
                         lambda: self.linear_solver(t, x, p))

    def once(self, key, make):
        """What is kept for these constants; another thread may clear it."""
        try:
            return self._decided[key]
        except KeyError:
            pass
        if len(self._decided) >= KEPT_SOLVERS:
            self._decided.clear()
        result = self._decided[key] = make()
        return result
