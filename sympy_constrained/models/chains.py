"""Closed chains of any number of bars."""
from mpmath import cos, findroot
from sympy import Integer, symbols
from sympy.physics.mechanics import (
    Force, ReferenceFrame, cross, dynamicsymbols)

from ._model import (
    Model, check_count, inertial, kane_model, kdes, ready, rigid_body)


def _arc(n, span):
    """Half the angle of an arc of ``n`` bars of length ``1/n`` over ``span``.
    """
    return float(findroot(lambda angle: sum(
        cos(angle*(1 - 2*i/(n - 1))) for i in range(n))/n - span, (0, 3),
        solver='anderson'))


@ready
def closed_chain(n: int = 4) -> Model:
    """A closed planar chain of ``n`` pinned bars in relative angles.

    Equal bars of length ``l`` and mass ``m``, the ends a distance ``d``
    apart, gravity ``g``; ``n`` is at least 3.

    Source: The growth benchmark of multibody formalisms; the links are those
    of SymPy's four-bar tutorial.
    """
    return _planar_chain(n, relative=True)


@ready
def closed_chain_absolute(n: int = 4) -> Model:
    """A closed planar chain of ``n`` pinned bars in absolute angles.

    As :func:`closed_chain`. Every bar depends on its own angle and on those
    before it only through the pin, so that the equations grow less with
    ``n``.

    Source: The growth benchmark of multibody formalisms; the links are those
    of SymPy's four-bar tutorial.
    """
    return _planar_chain(n, relative=False)


def _planar_chain(n: int, relative: bool) -> Model:
    check_count(n, 3, '2 loop rows leave a shorter chain no motion')
    q = dynamicsymbols(f'q1:{n + 1}')
    u = dynamicsymbols(f'u1:{n + 1}')
    length, m, g, d = symbols('l m g d')
    N, origin = inertial()
    frame, pin = N, origin
    bodies, loads = [], []
    turning, rates = Integer(0), [Integer(0), Integer(0)]
    for i, angle in enumerate(q, 1):
        link = ReferenceFrame(f'A{i}')
        link.orient_axis(frame, angle, frame.z)
        # Differentiating the loop would walk a tree of size 2**n.
        turning = u[i - 1] + (turning if relative else 0)
        rates = [rate + turning*length*link.y.dot(axis)
                 for rate, axis in zip(rates, (N.x, N.y))]
        center = pin.locatenew(f'C{i}', length/2*link.x)
        pin = pin.locatenew(f'P{i}', length*link.x)
        bodies.append(rigid_body(
            f'link{i}', center, link, m, 0, 0, m*length**2/12))
        loads.append(Force(center, -m*g*N.y))
        frame = link if relative else N
    end = pin.pos_from(origin)
    loop = [end.dot(N.x) - d, end.dot(N.y)]
    span = 0.7
    bend = _arc(n, span)
    angles = [-bend, *[2*bend/(n - 1)]*(n - 1)] if relative else [
        bend*(2*i/(n - 1) - 1) for i in range(n)]
    start = {**dict(zip(q, angles)), u[0]: 0.5, **dict.fromkeys(u[1:], 0.0)}
    return kane_model(
        N, q[:-2], u[:-2], kdes(q, u), q_dependent=q[-2:],
        u_dependent=u[-2:], configuration_constraints=loop,
        velocity_constraints=rates, bodies=bodies, forcelist=loads,
        parameters={length: 1.0/n, m: 1.0/n, g: 9.81, d: span},
        start=start, t_end=2.0)


@ready
def closed_chain_3d(n: int = 4) -> Model:
    """A closed chain of ``n`` bars in space, on pins and a ball joint.

    Equal bars of length ``l``, mass ``m`` and moments of inertia ``I1`` along
    and ``I2`` across the bar. Pin axes are across the bars, by turns ``z``
    and ``y`` of the bar before; the ball joint is at ``(d1, d2, d3)``. The
    start is a helix; ``n`` is at least 4.

    Source: A growth benchmark in space, after that of the planar chain.
    """
    check_count(n, 4, '3 loop rows leave a shorter chain no motion')
    q = dynamicsymbols(f'q1:{n + 1}')
    u = dynamicsymbols(f'u1:{n + 1}')
    length, m, g, along, across = symbols('l m g I1 I2')
    place = symbols('d1:4')

    N, origin = inertial()
    frame, pin, turning, velocity = N, origin, 0*N.x, 0*N.x
    bodies, loads = [], []
    for i, angle in enumerate(q):
        link = ReferenceFrame(f'A{i + 1}')
        axis = frame.y if i % 2 else frame.z
        link.orient_axis(frame, angle, axis)
        # Carried from bar to bar, as products of few terms.
        turning = (turning + u[i]*axis).express(link)
        velocity += cross(turning, length*link.x)
        center = pin.locatenew(f'C{i + 1}', length/2*link.x)
        pin = pin.locatenew(f'P{i + 1}', length*link.x)
        bodies.append(rigid_body(
            f'link{i + 1}', center, link, m, along, across, across))
        loads.append(Force(center, -m*g*N.y))
        frame = link
    end = pin.pos_from(origin)
    loop = [end.dot(axis) - x for axis, x in zip(N, place)]
    angles = dict.fromkeys(q, 0.5) | {q[0]: -0.5}
    size = 1.0/n
    where = [float((row + x).xreplace({**angles, length: size}))
             for row, x in zip(loop, place)]
    return kane_model(
        N, q[:-3], u[:-3], kdes(q, u), q_dependent=q[-3:],
        u_dependent=u[-3:], configuration_constraints=loop,
        velocity_constraints=[velocity.dot(axis) for axis in N], bodies=bodies,
        forcelist=loads,
        parameters={length: size, m: size, g: 9.81, along: 1e-3*size**3,
                    across: size**3/12, **dict(zip(place, where))},
        start={**angles, u[0]: 0.5, **dict.fromkeys(u[1:], 0.0)}, t_end=2.0)
