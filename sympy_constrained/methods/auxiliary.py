"""Generalized forces of auxiliary speeds, as KanesMethod has them."""
from sympy import Matrix, zeros

from ..errors import UnsupportedFeatureError
from ..graph import derivative, read, substitute
from ..graph.matrix import as_column
from ..model.build import applied_forces, build_system
from ..model.call_signatures import as_list
from ..model.unconstrained import speeds_of
from .null_space import null_basis
from .references import flat, inputs, written
from .symbols import column


def auxiliary_forces(method):
    """Active and inertia forces of the auxiliary speeds, each (a, 1).

    The model is formed with the auxiliary speeds as dependent ones, and
    projected on the motions that its velocity constraints permit; auxiliary
    speeds and their rates are then zero. See Kane and Levinson, "Dynamics:
    Theory and Applications" (1985), section 4.9.
    """
    auxiliary = list(method._uaux)
    if not auxiliary:
        return zeros(0, 1), zeros(0, 1)
    arguments, options = dict(method._arguments), method._options
    dependent = as_list(arguments['u_dependent'], 'u_dependent')
    arguments.update(u_auxiliary=None, u_dependent=[*dependent, *auxiliary],
                     acceleration_constraints=None)
    if any(arguments[name] is not None for name in (
            'velocity_constraints', 'nonholonomic_constraints')):
        arguments['configuration_constraints'] = None
    more = as_list(options.get('generalized_forces'), 'generalized_forces')
    more = [*(more or [0]*len(speeds_of(method._arguments))),
            *[0]*len(auxiliary)]
    system = build_system(
        'kane', arguments, exchange=method._exchange,
        potential_energy=options.get('potential_energy'),
        generalized_forces=more)
    given = [system.u.index(x) for x in dependent]
    M, Q, A = system.blocks('M', 'Q', 'A')
    if A.shape[0] != len(given):
        raise UnsupportedFeatureError(
            f"There are {A.shape[0]} velocity constraints for "
            f"{len(given)} dependent speeds, so the equations of the "
            "auxiliary speeds are not determined. Name one speed in "
            "`u_dependent` for each constraint, and leave redundant "
            "constraints out.")
    g = M.builder
    columns = null_basis(A, given).T[-len(auxiliary):]
    applied = as_column(g, [read(g, x) for x in applied_forces(
        system, method._potential) + column(more)])
    rates = as_column(g, inputs(
        g, [derivative(x, system.t) for x in system.u]))
    inertia = Q - M @ rates - applied
    still = {g.input(x, dynamic=True): 0 for name in auxiliary
             for x in (name, derivative(name, system.t))}
    return tuple(Matrix(written(g, substitute(
        g, flat((columns @ forces).rows), still)))
        for forces in (applied, inertia))
