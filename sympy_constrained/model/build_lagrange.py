"""A constrained system from a call in the shape of ``LagrangesMethod``."""
from ..errors import MissingIngredientError
from .build_exchange import declare_exchange
from .call_signatures import (
    as_expression, as_list, check_coordinates, check_frame)
from .kinematics import Kinematics
from .kinetics import from_lagrangian
from .loads import parse_loads

__all__ = ['build_lagrange']


def build_lagrange(builder, given, exchange=None):
    """Fields, kinematics and kinetics of a call in Lagrange's shape."""
    frame, lagrangian = given['frame'], as_expression(given['Lagrangian'])
    q = as_list(given['qs'], 'qs')
    bodies = as_list(given['bodies'], 'bodies')
    forcelist = as_list(given['forcelist'], 'forcelist')
    check_coordinates(q, [], builder.time)
    if frame is not None:
        check_frame(frame)
    if forcelist and frame is None:
        raise MissingIngredientError(
            "`forcelist` was given without `frame`. Generalized forces need "
            "the velocities in an inertial frame; pass `frame=`.")
    u = [x.diff(builder.time) for x in q]
    rates = [builder.input(x, dynamic=True) for x in q + u][len(q):]
    kinematics = Kinematics(builder, frame, q, u, rates)
    masses = declare_exchange(kinematics, exchange, bodies, q, u)
    blocks = from_lagrangian(kinematics, lagrangian, parse_loads(forcelist))
    blocks['speeds'] = [[rate] for rate in rates]
    blocks['mass_rates'] = masses
    return dict(
        q=tuple(q), u=tuple(u), frame=frame, bodies=tuple(bodies),
        loads=tuple(forcelist), lagrangian=lagrangian), kinematics, blocks
