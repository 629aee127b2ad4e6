"""The equations for direct collocation by opty."""
from dataclasses import dataclass

from sympy import ImmutableDenseMatrix

from ..errors import UnsupportedFeatureError
from ..graph import Graph
from ..model.call_signatures import check_choice
from ..numeric.codegen.solution import select
from .exported import Exported, loaded, renamed


LEVELS = ('acceleration', 'velocity', 'position')


@dataclass(frozen=True)
class FirstOrder:
    """Implicit first-order equations whose states are functions of time.

    ``residual``, shape (ns + m, 1), is zero along a motion. ``states`` are in
    the order of ``EquationsOfMotion.states``, ``multipliers`` functions of
    time, one for each row in use. ``names`` maps states of the model to those
    in ``states`` where they differ.
    """

    residual: ImmutableDenseMatrix
    states: tuple
    multipliers: tuple
    names: dict


def to_opty(model, level='acceleration', t=0., x=None, *,
            constants=None) -> FirstOrder:
    r"""Return the equations for direct collocation, as opty takes them.

    opty discretises :math:`0 = f(\dot x, x, \lambda, t)`, where every state is
    a function of time; a rate of ``x`` that is a state is renamed ``x_dot``.
    Redundant rows, which make a collocation singular, are left out.
    Multipliers are trajectories without a derivative.

    Rows at the level at which they were given prevent drift, but make the
    multipliers less smooth: use implicit Euler, opty's default.

    Examples
    ========

    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.interop import to_opty
    >>> from sympy_constrained.models import model
    >>> pendulum = model('cartesian_pendulum').form(UdwadiaKalabaMethod)
    >>> equations = to_opty(pendulum, 'position')
    >>> equations.states
    (x(t), y(t), x_dot(t), y_dot(t))
    >>> equations.residual
    Matrix([
    [               -x_dot(t) + Derivative(x(t), t)],
    [               -y_dot(t) + Derivative(y(t), t)],
    [      m*Derivative(x_dot(t), t) - lam1(t)*x(t)],
    [g*m + m*Derivative(y_dot(t), t) - lam1(t)*y(t)],
    [               -L**2/2 + x(t)**2/2 + y(t)**2/2]])

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
        As for :func:`.to_casadi`.

    """
    check_choice('level', level, LEVELS)
    exported = Exported.of(model, t, x, constants)
    equations, n = exported.equations, exported.motion
    if equations.upper and level != 'acceleration':
        raise UnsupportedFeatureError(
            "Accelerations or multipliers are states of these equations, "
            "which contain rows of several orders. Use "
            "level='acceleration'.")
    new = renamed(equations)
    g, out = loaded(exported, new, (
        'rates', 'W', 'r', 'holonomic', 'velocity'))
    states = tuple(new.get(s, s) for s in equations.states)
    rates = [g.input(s.diff(equations.t), dynamic=True) for s in states]
    lam = exported.multipliers
    z = rates[len(rates) - n:] + [g.input(s, dynamic=True) for s in lam]
    rows = [g.sub(rate, f) for rate, (f,) in zip(rates, out['rates'])]
    rows += [g.sub(g.dot(row, z), right)
             for row, right in zip(*select(out, exported.use))]
    higher = out['holonomic'] if level == 'position' else []
    given = [] if level == 'acceleration' else [
        *higher, *out['velocity'][len(higher):]]
    for k, i in enumerate(exported.rows, len(rows) - len(lam)):
        if i < len(given):
            rows[k], = given[i]
    graph = Graph.freeze(g, {'residual': rows})
    return FirstOrder(graph.sympy('residual'), states, lam, new)
