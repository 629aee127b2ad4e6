"""The equations for the integrators of heyoka, which use Taylor series."""
import numpy as np

from ..errors import MissingIngredientError, UnsupportedFeatureError
from ..numeric.codegen.heyoka_code import heyoka_system
from ..numeric.codegen.instructions import program
from ..numeric.codegen.native import arguments_of, slots, with_given
from ..numeric.codegen.solution import solved_graph
from ..numeric.codegen.walk import library
from ..numeric.names import label
from .exported import Exported


def to_heyoka(model, t=0., x=None, *, constants=None, inputs=None):
    """Return the equations as the system of ``heyoka.taylor_adaptive``.

    The accelerations are written out by an elimination on the graph, without
    the checks of :func:`.compile_equations`. The steps of heyoka keep the
    energy and the constraints to rounding errors; in long runs pass its states
    to :func:`~sympy_constrained.numeric.consistent_state`.

    Examples
    ========

    ::

        system, pars = to_heyoka(compiled, x=start)
        run = heyoka.taylor_adaptive(system, start, pars=pars)
        states = run.propagate_grid(times)[-1]

    Parameters
    ==========

    model, t, x, constants, inputs
        As for :func:`to_casadi`; the constants must be known.

    Returns
    =======

    system : list of tuple
        Pairs of a variable, with the name in ``names.labels``, and the
        expression of its rate. Constants are ``heyoka.par[i]``.
    pars : ndarray
        Values of the constants, up to the last one that occurs.

    Raises
    ======

    MissingIngredientError
        If heyoka is not installed, or the constants have no values.
    UnsupportedFeatureError
        If the accelerations cannot be written out for heyoka.

    """
    h = library('heyoka', 'heyoka')
    exported = Exported.of(model, t, x, constants, inputs)
    equations = exported.equations
    if exported.free:
        raise UnsupportedFeatureError(
            f"heyoka integrates without inputs, and {exported.free[0]} has no "
            "expression. Pass one in `inputs`.")
    solved = solved_graph(equations, exported.rows)
    if solved is None:
        raise UnsupportedFeatureError(
            "The accelerations cannot be written out: the mass matrix or the "
            "constraints are singular, or there are too many operations.")
    if exported.p is None and equations.constants:
        raise MissingIngredientError(
            "No values for the constants. Pass `constants`.")
    graph = with_given(solved, ('out',), exported.given)
    used = graph.symbols(('out',))
    pars = {c: value for c, value in zip(
        equations.constants, exported.p if equations.constants else ())
        if c in used}
    code = program(graph, ('out',), slots(arguments_of(
        equations.t, equations.states, tuple(pars), ())))
    system = heyoka_system(h, code, map(label, equations.states), len(pars))
    left = h.get_params([rate for _, rate in system])   # others cancelled
    count = max((k + 1 for k in range(len(pars)) if h.par[k] in left),
                default=0)
    return system, np.array(list(pars.values())[:count])
