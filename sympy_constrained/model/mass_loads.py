r"""Loads of bodies that lose or gain mass.

Meshchersky's model is the default of :class:`.GibbsAppellMethod`: mass leaves
or joins at points fixed in the body with a given relative velocity, and the
equations contain only the instantaneous :math:`m` and :math:`I`.
:func:`thrust` is its load. :func:`momentum_loads` brings ``KanesMethod`` and
``LagrangesMethod``, which take the rate of momentum, to the same equations;
:func:`internal_flow_loads` adds the flow inside the body.
"""
from sympy import Derivative, sympify
from sympy.physics.mechanics import Force, RigidBody, Torque
from sympy.physics.vector import Vector, cross

from .. import _compat
from ..errors import ConstrainedDynamicsError
from ..graph import GraphBuilder, read
from .call_signatures import (
    as_dictionary, as_list, check_bodies, check_frame)
from .variable_mass import MassExchange


def thrust(point, mass_rate, relative_velocity) -> Force:
    """Return the force of mass that leaves or joins a body.

    Explanation
    ===========

    ``R = m'*u_rel``: mass that leaves (``m' < 0``) backwards pushes forwards.
    At ``point``, fixed in the body, the mass crosses its boundary with the
    velocity ``relative_velocity``, and ``mass_rate`` is the rate of the mass
    of the body by this stream. Each stream has a thrust.

    Examples
    ========

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import (
    ...     Point, ReferenceFrame, dynamicsymbols)
    >>> from sympy_constrained import thrust
    >>> c = symbols('c')
    >>> m = dynamicsymbols('m')
    >>> N, P = ReferenceFrame('N'), Point('P')
    >>> thrust(P, m.diff(), -c*N.x).force
    - c*Derivative(m(t), t)*N.x

    """
    return Force(point, sympify(mass_rate, strict=True)*relative_velocity)


def momentum_loads(bodies, frame, anchors=None) -> list:
    r"""Return loads that turn a momentum balance into Meshchersky's.

    Explanation
    ===========

    ``KanesMethod``, and ``LagrangesMethod`` with a mass ``m(t)``, take the
    rate of momentum :math:`(m v)'`: mass that leaves does so at rest. With
    the forces :math:`\dot m v_G` and the torques
    :math:`\overset{B}{\dot I}\cdot\omega` the equations are those of mass
    that leaves with the velocity of the body, to which a :func:`thrust` adds
    what it has relative to it. A mass centre at :math:`c(t)` in the body adds
    :math:`m(2\omega\times c' + c'')`.

    The other methods of this package take the rate of momentum, too;
    :class:`.GibbsAppellMethod` must not be given these loads. The mass may
    depend on time. ``KanesMethod`` drops a part of the rate of a
    mass that depends on speeds; use :class:`.GibbsAppellMethod` there.
    ``frame`` is the inertial one; ``anchors`` maps a RigidBody to a Point
    fixed in it, where the mass centre moves.

    Examples
    ========

    >>> from sympy.physics.mechanics import (
    ...     Particle, Point, ReferenceFrame, dynamicsymbols)
    >>> from sympy_constrained import momentum_loads
    >>> m, u = dynamicsymbols('m u')
    >>> N, P = ReferenceFrame('N'), Point('P')
    >>> P.set_vel(N, u*N.x)
    >>> momentum_loads([Particle('rocket', P, m)], N)[0].force
    u(t)*Derivative(m(t), t)*N.x

    """
    bodies = as_list(bodies, 'bodies')
    check_bodies(bodies)
    check_frame(frame)
    time = _compat.time_symbol()
    exchange = MassExchange(as_dictionary(anchors, 'anchors'))
    exchange.check(bodies, (), time)
    return [load for body in bodies for load in momentum_loads_of(
        body, frame, exchange.anchors, time)]


def momentum_loads_of(body, frame, anchors, time):
    loads, point = [], body.masscenter
    force = sympify(body.mass, strict=True).diff(time)*point.vel(frame)
    if body in anchors:
        drift = point.pos_from(anchors[body]).dt(body.frame)
        force += body.mass*(2*cross(body.frame.ang_vel_in(frame), drift)
                            + drift.dt(body.frame))
    if force != 0:
        loads.append(Force(point, force))
    if isinstance(body, RigidBody):
        torque = body.central_inertia.dt(body.frame).dot(
            body.frame.ang_vel_in(frame))
        if torque != 0:
            loads.append(Torque(body.frame, torque))
    return loads


def internal_flow_loads(body, frame, exits, anchor=None, angular_flow=None):
    r"""Return force and torque of the flow inside a body.

    Explanation
    ===========

    To be added to Meshchersky's model with the thrust at the exits. With the
    momentum of the flow relative to the body
    :math:`\mu = m\,c' + \sum\dot m_e(c - r_e)`, where ``'`` is the
    derivative in the body and :math:`c` the mass centre,

    .. math::

       \Delta F = -2\omega\times\mu - \mu', \qquad
       \Delta M_G = -\overset{B}{\dot I}\cdot\omega
       + \sum\dot m_e (r_e - c)\times(\omega\times(r_e - c))
       - \omega\times h - h'

    What is linear in :math:`\omega` of the second is the jet damping.

    Examples
    ========

    The jet damping of a rocket with its nozzle at a distance ``b``:

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import (
    ...     Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)
    >>> from sympy_constrained import internal_flow_loads
    >>> b = symbols('b')
    >>> m, I, w = dynamicsymbols('m I w')
    >>> N, B = ReferenceFrame('N'), ReferenceFrame('B')
    >>> B.set_ang_vel(N, w*B.z)
    >>> G = Point('G')
    >>> E = G.locatenew('E', -b*B.x)
    >>> rocket = RigidBody('rocket', G, B, m, (inertia(B, 0, I, I), G))
    >>> force, torque = internal_flow_loads(rocket, N, [(E, m.diff())])
    >>> torque.torque
    (b**2*w(t)*Derivative(m(t), t) - w(t)*Derivative(I(t), t))*B.z

    Parameters
    ==========

    body : RigidBody
    frame : ReferenceFrame
        The inertial frame.
    exits : iterable of (Point, Expr)
        Points fixed in the body and the rates of mass there, negative for a
        loss.
    anchor : Point, optional
        A point fixed in the body, if its mass centre moves in it.
    angular_flow : Vector, optional
        :math:`h`, the angular momentum of the flow relative to the body
        about the mass centre; zero for flow without swirl.

    Returns
    =======

    list
        A ``Force`` at the mass centre and a ``Torque`` on the frame.

    """
    B, G = body.frame, body.masscenter
    w = B.ang_vel_in(frame)
    c = G.pos_from(anchor) if anchor is not None else Vector(0)
    h = Vector(0) if angular_flow is None else angular_flow
    flow = body.mass*c.dt(B)
    moment = -body.central_inertia.dt(B).dot(w)
    total = sympify(0)
    for point, rate in exits:
        rate, arm = sympify(rate, strict=True), point.pos_from(G)
        flow -= rate*arm
        moment += rate*cross(arm, cross(w, arm))
        total += rate
    check_balance(body, total, _compat.time_symbol())
    return [Force(G, -2*cross(w, flow) - flow.dt(B)),
            Torque(B, moment - cross(w, h) - h.dt(B))]


def check_balance(body, total, time):
    """Raise if the mass of a body changes at another rate than ``total``."""
    # That of a mass which is an unknown function of time is not known here.
    rate = sympify(body.mass, strict=True).diff(time)
    if rate != total and rate.atoms(Derivative) <= total.atoms(Derivative):
        builder = GraphBuilder(time)
        refs = read(builder, rate), read(builder, total)
        # Where the random point is outside a domain, SymPy decides.
        if not builder.same_value(*refs) and not rate.equals(total):
            raise ConstrainedDynamicsError(
                f"The rates of mass at the exits sum up to {total}, and the "
                f"mass of {body.name} changes at the rate {rate}. Give all "
                "exits, with negative rates for a loss.")
