"""A constrained system from a call in the shape of ``KanesMethod``."""
import math
from random import Random

from mpmath import mp

from ..errors import MissingIngredientError, UnsupportedFeatureError
from ..graph import Graph, gradient, read
from .build_exchange import declare_exchange
from .call_signatures import (
    as_expressions, as_list, check_coordinates)
from .kinematic_equations import solve_kinematics, solve_speeds
from .kinematics import Kinematics
from .kinetics import from_bodies
from .loads import parse_loads

__all__ = ['agree', 'build_kane', 'set_to_zero', 'speeds_of']


def build_kane(builder, given, composite, in_velocities=False,
               exchange=None):
    """Fields, kinematics and kinetics of a call in Kane's shape."""
    frame, user_speeds = given['frame'], speeds_of(given)
    dependent, auxiliary, bodies, forces = (
        as_list(given[name], name) for name in (
            'q_dependent', 'u_auxiliary', 'bodies', 'forcelist'))
    q, u = as_list(given['q_ind'], 'q_ind') + dependent, user_speeds
    check_coordinates(q, u + auxiliary, builder.time)
    set_to_zero(builder, auxiliary)
    rates = solve_kinematics(
        builder, as_expressions(given['kd_eqs'], 'kd_eqs'), q, u,
        linear=not exchange)
    if in_velocities:
        u, rates = solve_speeds(builder, rates, q, u)
    kinematics = Kinematics(builder, frame, q, u, rates,
                            exchange and exchange.points())
    masses = declare_exchange(kinematics, exchange,
                              given['bodies'] and bodies, q, u)
    loads = parse_loads(forces)
    blocks = from_bodies(kinematics, bodies, loads, given['potential'],
                         composite, bool(exchange))
    # Drift does work, too, and forces times nonlinear speeds are no power.
    if exchange and (exchange.anchors or is_nonlinear(kinematics)):
        blocks['power'] = []
    blocks['mass_rates'] = masses
    if in_velocities:
        blocks['applied'] = from_bodies(kinematics, (), loads)['Q']
        blocks['speeds'] = [[read(builder, x)] for x in user_speeds]
        check_lagrangian(kinematics, blocks)
    return dict(
        q=tuple(q), u=tuple(u), frame=frame, bodies=tuple(bodies),
        loads=tuple(forces),
        q_dependent=tuple(dependent),
        u_dependent=tuple(as_list(given['u_dependent'], 'u_dependent')),
        u_auxiliary=tuple(auxiliary)), kinematics, blocks


def set_to_zero(builder, auxiliary):
    """Let auxiliary speeds and their rates be zero wherever they are read."""
    for x in auxiliary:
        builder.bound[x] = builder.bound[x.diff(builder.time)] = 0


def speeds_of(arguments):
    return (as_list(arguments['u_ind'], 'u_ind')
            + as_list(arguments['u_dependent'], 'u_dependent'))


def is_nonlinear(kinematics):
    g = kinematics.builder
    return any(g.depends_on(by_speed(rate), *kinematics.u)
               for by_speed in kinematics.by_speed
               for rate in kinematics.rates)


def check_lagrangian(kinematics, blocks):
    """Raise unless Lagrange's equations of the energy are the equations."""
    # They are not where rolling, say, was put into velocities by hand.
    g = kinematics.builder
    slopes = gradient(g, blocks['lagrangian'][0][0],
                      kinematics.u + kinematics.q)
    count = len(kinematics.u)
    for momentum, slope, [applied], [known] in zip(
            slopes[:count], slopes[count:], blocks['applied'], blocks['Q']):
        force = g.add(g.sub(slope, kinematics.bias(momentum)), applied)
        if not agree(g, force, known):
            raise UnsupportedFeatureError(
                "The equations of motion of these bodies are not Lagrange's "
                "equations of their kinetic energy. A velocity was set that "
                "is not the derivative of a position (rolling put in by "
                "hand?), a mass depends on the motion, or the angular "
                "velocity is right for unit quaternions only. State every "
                "velocity in the coordinates and give the constraints as "
                "rows, give the Lagrangian of a quaternion instead of "
                "bodies, or use UdwadiaKalabaMethod.")


def agree(builder, a, b):
    """Whether two references have equal values at random real points."""
    # Where the builder's point is outside the domain of a function, others are
    # tried; True if none is inside.
    if builder.same_value(a, b):
        return True
    if not math.isnan(builder.shadows[abs(a)] + builder.shadows[abs(b)]):
        return False
    random = Random('agree')
    graph = Graph.freeze(builder, {'x': ([[a, b, builder.sub(a, b)]], 3)})
    for attempt in range(40):
        reach = 2**(attempt % 8)
        values = {x: mp.mpf(random.uniform(-reach, reach))
                  for x in graph.inputs}
        try:
            (x, y, gap), = graph.evaluate(values, context=mp)['x']
        except (ArithmeticError, TypeError, ValueError,
                MissingIngredientError):
            continue
        if not isinstance(gap, mp.mpc) and mp.isfinite(gap):
            return abs(gap) <= 1e-9*max(abs(x), abs(y), 1)
    return True
