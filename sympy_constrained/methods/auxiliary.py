"""Generalized forces of auxiliary speeds, as KanesMethod has them."""
from __future__ import annotations

from sympy import Matrix, zeros

from ..errors import UnsupportedFeatureError
from ..graph import GraphMatrix, read, substitute
from ..model.build import applied_forces, build_system
from ..model.call_signatures import as_list
from .null_space import null_basis
from .references import written

__all__ = ['auxiliary_forces']


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
    arguments, options = dict(method._arguments), dict(method._options)
    dependent = as_list(arguments['u_dependent'], 'u_dependent')
    arguments.update(u_auxiliary=None, u_dependent=[*dependent, *auxiliary],
                     acceleration_constraints=None)
    if any(arguments[name] is not None for name in (
            'velocity_constraints', 'nonholonomic_constraints')):
        arguments['configuration_constraints'] = None
    more = as_list(options.pop('generalized_forces', None),
                   'generalized_forces')
    for name in ('nonideal_forces', 'stabilization'):
        options.pop(name, None)
    system = build_system(
        'kane', arguments, exchange=getattr(method, '_exchange', None),
        generalized_forces=more and [*more, *[0]*len(auxiliary)], **options)
    count = len(system.u)
    given = [system.u.index(x) for x in dependent]
    g, out = system.graph.load(None, ('M', 'Q', 'A'))
    if len(out['A']) != len(given):
        raise UnsupportedFeatureError(
            f"There are {len(out['A'])} velocity constraints for "
            f"{len(given)} dependent speeds, so the equations of the "
            "auxiliary speeds are not determined. Name one speed in "
            "`u_dependent` for each constraint, and leave redundant "
            "constraints out.")
    Z = null_basis(GraphMatrix(g, out['A'], count), given).T.rows
    applied = [read(g, x) for x in applied_forces(system, method._potential)]
    applied = [g.add(x, read(g, y)) for x, y in zip(
        applied, [*more, *[0]*count] if more else [0]*count)]
    rates = [g.input(x.diff(system.t), dynamic=True) for x in system.u]
    total = [g.sub(x, g.dot(row, rates))
             for row, (x,) in zip(out['M'], out['Q'])]
    inertia = [g.sub(x, y) for x, y in zip(total, applied)]
    still = {g.input(x, dynamic=True): 0 for name in auxiliary
             for x in (name, name.diff(system.t))}
    return tuple(Matrix(written(g, substitute(g, [
        g.dot(column, forces) for column in Z[-len(auxiliary):]], still)))
        for forces in (applied, inertia))
