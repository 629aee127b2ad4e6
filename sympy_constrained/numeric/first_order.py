"""The equations for programs that read SymPy: PyDy and opty.

Both want first-order equations in their own layout. What is different from
the layout of a method is made on the graph; the result is ordinary SymPy.
"""
from __future__ import annotations

from dataclasses import dataclass

from sympy import Derivative, ImmutableDenseMatrix, Matrix, diag, eye
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import dynamicsymbols

from ..errors import UnsupportedFeatureError
from ..graph import Graph, GraphBuilder
from ..graph.linalg import ldl_factor, ldl_solve
from .codegen.solution import blocks
from .export import Exported, library
from .names import label

__all__ = ['FirstOrder', 'to_opty', 'to_pydy']

LEVELS = ('acceleration', 'velocity', 'position')


# -- PyDy -----------------------------------------------------------------

def to_pydy(model, t=0., x=None, *, multipliers='impulses', constants=None,
            **kwargs):
    r"""Return a ``pydy.system.System`` for any equations of motion.

    Explanation
    ===========

    ``System(method)`` itself runs on every class whose ``mass_matrix`` is
    that of the speeds, and then this function is not needed. It is

    * for :class:`.RouthMethod` and :class:`.VaccoMethod`, whose matrices have
      the layout of ``LagrangesMethod``, with multipliers, and for
      :class:`.EquationsOfMotion` such as ``voronets_equations_of_motion``;
    * for larger models: PyDy walks the solved equations as trees, which have
      a thousand million nodes for a bicycle. Here the equations stay
      un-inverted, and the impulses of the reactions, the integrals of the
      multipliers over time, are the last states;
    * for velocities :math:`\dot q` that are states, which code generators
      confuse with derivatives. They are named as by :func:`to_opty`;
    * for time in the equations, which PyDy does not know. It becomes a
      specified function ``clock``; keep it when you replace
      ``system.specifieds``.

    Multipliers and accelerations that are states stand behind the speeds.

    Examples
    ========

    ::

        system = to_pydy(method, constants={m: 1.0, g: 9.81},
                         initial_conditions={x: 1.0}, times=times)
        states = system.integrate()

    Parameters
    ==========

    model : a method, EquationsOfMotion or CompiledEquations
    t, x : float, sequence, optional
        A state where independent constraint rows are chosen; see
        :func:`.to_casadi`.
    multipliers : {'impulses', 'eliminate'}
        Whether unknown multipliers are integrated, or eliminated from the
        equations, which is for small models.
    constants : mapping, optional
        Values by symbol. PyDy takes 1 for a constant that has none.
    **kwargs
        Further arguments of ``System``: ``specifieds``,
        ``initial_conditions``, ``times``, ``ode_solver``.

    Returns
    =======

    pydy.system.System

    Raises
    ======

    MissingIngredientError
        If PyDy is not installed, or if the state is missing that tells which
        rows are independent.
    UnsupportedFeatureError
        If the multipliers cannot be eliminated.

    """
    if multipliers not in ('impulses', 'eliminate'):
        raise ValueError(
            f"`multipliers` is {multipliers!r}. Choose 'impulses' or "
            "'eliminate'.")
    system = library('pydy.system', 'PyDy').System
    exported = Exported.of(model, t, x, None if x is None else constants,
                           None)
    found = OrdinaryEquations(exported, multipliers == 'impulses')
    used = found.graph.symbols()
    if found.clock in used:
        kwargs['specifieds'] = {found.clock: lambda x, t: t,
                                **(kwargs.get('specifieds') or {})}
    if 'initial_conditions' in kwargs:
        kwargs['initial_conditions'] = {
            found.names.get(state, state): value
            for state, value in kwargs['initial_conditions'].items()}
    return system(found, constants={
        symbol: value for symbol, value in (constants or {}).items()
        if symbol in used}, **kwargs)


class OrdinaryEquations:
    """``q' = f``, ``M*u' = F``, with the names that PyDy's ``System`` reads.

    ``q`` are the states whose rates are explicit, ``u`` the others.

    Parameters
    ==========

    exported : Exported
    impulses : bool
        Whether the impulses of multipliers are states.

    """

    def __init__(self, exported, impulses):
        equations = exported.equations
        count = len(equations.states) - exported.motion
        q, u = equations.states[:count], equations.states[count:]
        self.clock = fresh('clock', names_in(equations))
        self.names = new = {**renamed(equations), equations.t: self.clock}
        graph = (with_impulses if impulses else without_multipliers)(
            exported, new)
        if impulses:
            u += tuple(fresh(f'{label(lam)}_impulse', names_in(equations))
                       for lam in exported.multipliers)
        self.q = Matrix([new.get(x, x) for x in q])
        self.u = Matrix([new.get(x, x) for x in u])
        self._qdot, self._udot = (column.diff(equations.t)
                                  for column in (self.q, self.u))
        self._uaux = Matrix()
        self.graph = graph
        self.mass_matrix, self.forcing, self._rates = map(
            graph.sympy, ('M', 'F', 'rates'))
        self.mass_matrix_full = diag(eye(count), self.mass_matrix)
        self.forcing_full = self._rates.col_join(self.forcing)

    def kindiffdict(self):
        """Dictionary of the ``q'`` in terms of the states."""
        return dict(zip(self._qdot, self._rates))


def loaded(equations, new, names):
    """Outputs in a builder where states, or time, have other names."""
    builder = GraphBuilder(equations.t)
    for state, name in new.items():
        builder.bound[state] = builder.input(name, dynamic=True)
    g, out = equations.graph.load(builder, names)
    for state in new:           # from here on a derivative, or time
        del g.bound[state]
    return g, out


def with_impulses(exported, new):
    """The graph of ``W*[u'; Lam'] = r`` and ``rates``."""
    use = exported.use
    g, out = loaded(exported.equations, new, ('rates', 'W', 'r'))
    return Graph.freeze(g, {
        'M': ([[out['W'][i][j] for j in use] for i in use], len(use)),
        'F': ([out['r'][i] for i in use], 1), 'rates': (out['rates'], 1)})


def without_multipliers(exported, new):
    """The graph of ``M*u' = F`` and ``rates``."""
    n, use = exported.motion, exported.use
    g, out = loaded(exported.equations, new, ('rates', 'W', 'r'))
    W = [[out['W'][i][j] for j in use] for i in use]
    r = [out['r'][i][0] for i in use]
    M, F = [row[:n] for row in W[:n]], r[:n]
    if any(any(row[n:]) for row in W[:n]):
        found = constraint_forces(
            g, W, r, n) if exported.ldl_is_possible() else None
        if found is None:
            raise UnsupportedFeatureError(
                "The multipliers cannot be eliminated: the mass matrix is not "
                "positive definite, or it is not known to be. Use "
                "multipliers='impulses', or pass a state `x`.")
        F = [g.add(x, y) for x, y in zip(F, found)]
    return Graph.freeze(g, {
        'M': (M, n), 'F': ([[x] for x in F], 1), 'rates': (out['rates'], 1)})


def constraint_forces(g, W, r, n):
    """``A^T*lam`` by Schur's complement; None if a pivot vanishes."""
    M, A = blocks(W, n)
    mass = ldl_factor(g, M)
    a = ldl_solve(g, mass, r[:n])
    X = [ldl_solve(g, mass, row) for row in A]
    schur = ldl_factor(g, [[g.dot(row, x) for x in X] for row in A])
    if schur is None:
        return None
    lam = ldl_solve(g, schur, [
        g.sub(right, g.dot(row, a)) for row, right in zip(A, r[n:])])
    return [g.dot(lam, column) for column in zip(*A)]


# -- opty -----------------------------------------------------------------

@dataclass(frozen=True)
class FirstOrder:
    """Implicit first-order equations whose states are functions of time.

    Attributes
    ==========

    residual : ImmutableMatrix, shape (ns + m, 1)
        Zero along a motion. It contains the states, their derivatives, the
        multipliers and specified functions.
    states : tuple
        In the order of ``EquationsOfMotion.states``.
    multipliers : tuple
        Functions of time without a derivative, one for each row in use.
    names : dict
        State of the model -> the function in ``states``, where they differ.

    """

    residual: ImmutableDenseMatrix
    states: tuple
    multipliers: tuple
    names: dict


def to_opty(model, level='acceleration', t=0., x=None, *, constants=None):
    r"""Return the equations for direct collocation, as opty takes them.

    Explanation
    ===========

    opty and other collocation programs discretise
    :math:`0 = f(\dot x, x, \lambda, t)`, where every state is a function of
    time. Velocities :math:`\dot q` that are states, in Lagrange's shape, get
    a name of their own, ``x`` becomes ``x_dot``; otherwise this is
    ``method.residual()`` with the independent rows only, for a collocation
    cannot do with others.

    Multipliers are trajectories without a derivative: opty makes them free
    variables by itself. Rows may be taken at the level at which they were
    given. Then the motion does not drift off them, and the multipliers are
    less smooth: use implicit Euler, opty's default.

    Examples
    ========

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.numeric import to_opty
    >>> m, g, l = symbols('m g l')
    >>> x, y = dynamicsymbols('x y')
    >>> pendulum = UdwadiaKalabaMethod(
    ...     m*(x.diff()**2 + y.diff()**2)/2 - m*g*y, [x, y],
    ...     hol_coneqs=[x**2 + y**2 - l**2])
    >>> equations = to_opty(pendulum, 'position')
    >>> equations.states
    (x(t), y(t), x_dot(t), y_dot(t))
    >>> equations.residual
    Matrix([
    [                           -x_dot(t) + Derivative(x(t), t)],
    [                           -y_dot(t) + Derivative(y(t), t)],
    [      m*Derivative(x_dot(t), t) - 2*lam1(t)*x(t)],
    [g*m + m*Derivative(y_dot(t), t) - 2*lam1(t)*y(t)],
    [                              -l**2 + x(t)**2 + y(t)**2]])

    ::

        Problem(objective, gradient, equations.residual, equations.states,
                nodes, step, known_parameter_map=...)

    Parameters
    ==========

    model : a method, EquationsOfMotion or CompiledEquations
    level : {'acceleration', 'velocity', 'position'}
        Of the constraint rows: differentiated to accelerations; to
        velocities; or holonomic rows as given and others on velocities.
    t, x, constants
        A state where independent constraint rows are chosen; see
        :func:`.to_casadi`.

    Returns
    =======

    FirstOrder

    """
    if level not in LEVELS:
        raise ValueError(
            f"`level` is {level!r}. Choose one of {', '.join(LEVELS)}.")
    exported = Exported.of(model, t, x, constants, None)
    equations, n = exported.equations, exported.motion
    if equations.upper and level != 'acceleration':
        raise UnsupportedFeatureError(
            "Accelerations or multipliers are states of these equations, and "
            "rows of several orders stand in them. Use "
            "level='acceleration'.")
    new = renamed(equations)
    g, out = loaded(equations, new, (
        'rates', 'W', 'r', 'holonomic', 'velocity'))
    states = tuple(new.get(s, s) for s in equations.states)
    rates = [g.input(s.diff(equations.t), dynamic=True) for s in states]
    use = exported.use
    lam = exported.multipliers
    z = rates[len(rates) - n:] + [g.input(s, dynamic=True) for s in lam]
    rows = [g.sub(rate, f) for rate, (f,) in zip(rates, out['rates'])]
    rows += [g.sub(g.dot([out['W'][i][j] for j in use], z), out['r'][i][0])
             for i in use]
    for k, i in enumerate(use[n:], len(rows) - len(lam)):
        row = i - n
        if level != 'acceleration' and row < len(out['velocity']):
            higher = level == 'position' and row < len(out['holonomic'])
            rows[k] = out['holonomic' if higher else 'velocity'][row][0]
    graph = Graph.freeze(g, {'residual': ([[row] for row in rows], 1)})
    return FirstOrder(graph.sympy('residual'), states, lam, new)


def renamed(equations):
    """Derivatives that are states -> functions of time."""
    taken = names_in(equations)
    new = {}
    for state in equations.states:
        if isinstance(state, Derivative):
            dots = 'd'*(state.derivative_count - 1) + 'dot'
            new[state] = fresh(f'{state.expr.func}_{dots}', taken)
            taken.add(str(new[state].func))
    return new


def names_in(equations):
    """Names of the functions of time."""
    return {str(f.func) for x in (*equations.states, *equations.multipliers,
                                  *equations.specifieds)
            for f in x.atoms(AppliedUndef)}


def fresh(name, taken):
    """A function of time whose name is not in use."""
    while name in taken:
        name += '_'
    return dynamicsymbols(name)
