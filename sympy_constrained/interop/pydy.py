"""The equations as a ``System`` of PyDy."""
from sympy import Matrix, diag, eye, flatten

from ..graph import Graph, derivative
from ..model.call_signatures import as_dictionary, check_known
from ..numeric.codegen.solution import select
from ..numeric.codegen.walk import library
from ..numeric.compiled import CompiledEquations
from ..numeric.names import Names, label
from .exported import Exported, free_name, loaded, names_in, renamed


def to_pydy(model, t=0., x=None, *, constants=None, **kwargs):
    r"""Return a ``pydy.system.System`` for any equations of motion.

    ``System(method)`` itself accepts every class whose ``mass_matrix`` is
    that of the speeds. Use this function for other matrices, larger models,
    velocities :math:`\dot q` that are states, and time in the equations.

    The last states are the impulses of the reactions, the integrals of the
    multipliers over time. Velocities are named as by :func:`to_opty`. Time is
    a specified function ``clock``; keep it when you replace
    ``system.specifieds``. Inputs of compiled equations are passed on; others
    are zero in PyDy until ``specifieds`` has them.

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
        As for :func:`.to_casadi`; ``x`` is also the initial state, unless
        ``initial_conditions`` are given.
    constants : mapping, optional
        Values by symbol; compiled equations have them. PyDy takes 1 for a
        constant without one.
    **kwargs
        Further arguments of ``System``: ``specifieds``,
        ``initial_conditions``, ``times``, ``ode_solver``.

    Raises
    ======

    MissingIngredientError
        If PyDy is not installed, or the state ``x`` is missing.

    """
    system = library('pydy.system', 'PyDy').System
    exported = Exported.of(model, t, x, None if x is None else constants)
    equations = OrdinaryEquations(exported)
    start, states = kwargs.get('initial_conditions'), exported.equations.states
    if start is None and x is not None:
        start = dict(zip(states, Names(states, 'state').vector(x, 'x')))
    kwargs['initial_conditions'] = {
        equations.names.get(state, state): value
        for state, value in as_dictionary(
            start, 'initial_conditions').items()}
    kwargs['specifieds'] = as_dictionary(
        kwargs.get('specifieds'), 'specifieds')
    constants = as_dictionary(constants, 'constants')
    check_known('constants', constants, (
        *exported.equations.constants, *exported.equations.symbols))
    known, inputs = known_of(model)
    inputs[equations.clock] = lambda x, t: t
    result = system(equations, **kwargs)
    result.constants = {x: value for x, value in (known | constants).items()
                        if x in result.constants_symbols}
    free = {*result.specifieds_symbols} - {
        *flatten([*result.specifieds])}     # keys may be tuples
    result.specifieds = {x: value for x, value in inputs.items()
                         if x in free} | result.specifieds
    return result


def known_of(model):
    """Constants of compiled equations, and inputs that are functions."""
    if not isinstance(model, CompiledEquations):
        return {}, {}
    count = len(model.states)           # impulses follow
    return {} if model.p is None else dict(zip(model.constants, model.p)), {
        item: lambda x, t, f=function: f(t, x[:count])
        for item, function in model.inputs.called.items()}


class OrdinaryEquations:
    """``q' = f``, ``M*u' = F``, by the names that PyDy's ``System`` reads."""

    def __init__(self, exported):
        equations = exported.equations
        count = len(equations.states) - exported.motion
        q, u = equations.states[:count], equations.states[count:]
        taken = names_in(equations)
        self.clock = free_name('clock', taken)
        self.names = new = {**renamed(equations), equations.t: self.clock}
        g, out = loaded(exported, new, ('rates', 'W', 'r'))
        M, F = select(out, exported.use)
        u += tuple(free_name(f'{label(lam)}_impulse', taken)
                   for lam in exported.multipliers)
        self.q = Matrix([new.get(x, x) for x in q])
        self.u = Matrix([new.get(x, x) for x in u])
        self._qdot, self._udot = (
            Matrix([derivative(x, equations.t) for x in column])
            for column in (self.q, self.u))
        self._uaux = Matrix()
        self.graph = Graph.freeze(g, {
            'M': (M, len(M)), 'F': F, 'rates': (out['rates'], 1)})
        self.mass_matrix, self.forcing, self._rates = map(
            self.graph.sympy, ('M', 'F', 'rates'))
        self.mass_matrix_full = diag(eye(count), self.mass_matrix)
        self.forcing_full = self._rates.col_join(self.forcing)

    def kindiffdict(self):
        """Dictionary of the ``q'`` in terms of the states."""
        return dict(zip(self._qdot, self._rates))
