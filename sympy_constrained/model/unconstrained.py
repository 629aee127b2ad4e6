"""A model without its constraints, from a call in one of the two shapes."""
from typing import NamedTuple

from ..errors import MissingIngredientError
from ..graph import derivative
from .call_signatures import (
    as_expression, as_expressions, as_list, check_coordinates, check_frame)
from .kinematic_equations import solve_kinematics, solve_speeds
from .kinematics import Kinematics
from .kinetics import Kinetics, from_bodies, from_lagrangian
from .loads import parse_loads


class Unconstrained(NamedTuple):
    """Kinematics and kinetics of a model.

    ``speeds`` are the user's, also where others take their place;
    ``mass_rates`` are rows. ``fields`` are those of the
    :class:`.ConstrainedSystem` that are known.
    """

    kinematics: Kinematics
    kinetics: Kinetics
    speeds: list
    mass_rates: list
    fields: dict


def in_kanes_shape(builder, given, composite, in_velocities=False,
                   exchange=None):
    """The :class:`Unconstrained` model of a call in Kane's shape."""
    frame, speeds = given['frame'], speeds_of(given)
    dependent, auxiliary, bodies, forces = (
        as_list(given[name], name) for name in (
            'q_dependent', 'u_auxiliary', 'bodies', 'forcelist'))
    q, u = as_list(given['q_ind'], 'q_ind') + dependent, speeds
    check_coordinates(q, u + auxiliary, builder.time)
    set_to_zero(builder, auxiliary)
    rates = solve_kinematics(
        builder, as_expressions(given['kd_eqs'], 'kd_eqs'), q, u,
        linear=not exchange)
    if in_velocities:
        u, rates = solve_speeds(builder, rates, q, u)
    kinematics = Kinematics(builder, frame, q, u, rates,
                            exchange and exchange.points())
    kinematics.given_speeds = speeds
    mass_rates = exchange.declare(
        kinematics, given['bodies'] and bodies, q, u) if exchange else []
    loads = parse_loads(forces)
    kinetics = from_bodies(kinematics, bodies, loads, given['potential'],
                           composite, bool(exchange))
    # Drift does work, too, and forces times nonlinear speeds are no power.
    if exchange and (exchange.anchors or is_nonlinear(kinematics)):
        kinetics = kinetics._replace(power=[])
    if in_velocities:
        kinetics = kinetics._replace(
            applied=from_bodies(kinematics, (), loads).Q)
    return Unconstrained(kinematics, kinetics, speeds, mass_rates, dict(
        q=tuple(q), u=tuple(u), frame=frame, bodies=tuple(bodies),
        loads=tuple(forces), q_dependent=tuple(dependent),
        u_dependent=tuple(as_list(given['u_dependent'], 'u_dependent')),
        u_auxiliary=tuple(auxiliary)))


def set_to_zero(builder, auxiliary):
    """Let auxiliary speeds and their rates be zero wherever they are read."""
    for x in auxiliary:
        builder.bound[x] = builder.bound[derivative(x, builder.time)] = 0


def speeds_of(arguments):
    return (as_list(arguments['u_ind'], 'u_ind')
            + as_list(arguments['u_dependent'], 'u_dependent'))


def is_nonlinear(kinematics):
    g = kinematics.builder
    return any(g.depends_on(by_speed(rate), *kinematics.u)
               for by_speed in kinematics.by_speed
               for rate in kinematics.rates)


def in_lagranges_shape(builder, given, exchange=None):
    """The :class:`Unconstrained` model of a call in Lagrange's shape."""
    frame, lagrangian = given['frame'], as_expression(given['Lagrangian'])
    q = as_list(given['qs'], 'qs')
    bodies = as_list(given['bodies'], 'bodies')
    forces = as_list(given['forcelist'], 'forcelist')
    check_coordinates(q, [], builder.time)
    if frame is not None:
        check_frame(frame)
    if forces and frame is None:
        raise MissingIngredientError(
            "`forcelist` was given without `frame`. Generalized forces need "
            "the velocities in an inertial frame; pass `frame=`.")
    u = [derivative(x, builder.time) for x in q]
    kinematics = Kinematics(builder, frame, q, u)
    mass_rates = exchange.declare(
        kinematics, bodies, q, u) if exchange else []
    kinetics = from_lagrangian(kinematics, lagrangian, parse_loads(forces))
    return Unconstrained(kinematics, kinetics, u, mass_rates, dict(
        q=tuple(q), u=tuple(u), frame=frame, bodies=tuple(bodies),
        loads=tuple(forces), lagrangian=lagrangian))
