"""Closed chains of any number of bars."""
from mpmath import cos, findroot
from sympy import symbols
from sympy.physics.mechanics import ReferenceFrame, cross, dynamicsymbols

from ._model import (
    Model, check_count, inertial, kane_model, kdes, ready, rigid_body, weights)


def _arc(n, span):
    """Half the angle of an arc of ``n`` bars ``1/n`` over ``span``."""
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
    length, m, d = symbols('l m d')
    span = 0.7
    bend = _arc(n, span)
    angles = [-bend, *[2*bend/(n - 1)]*(n - 1)] if relative else [
        bend*(2*i/(n - 1) - 1) for i in range(n)]
    return _closed(n, 'z', (d, 0), (0, 0, m*length**2/12), angles,
                   {d: span}, relative)


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
    along, across = symbols('I1 I2')
    size = 1.0/n
    return _closed(
        n, 'zy', symbols('d1:4'), (along, across, across),
        [-0.5, *[0.5]*(n - 1)], {along: 1e-3*size**3, across: size**3/12})


def _closed(n, axes, place, moments, angles, numbers, relative=True) -> Model:
    """A chain of bars from the origin to ``place``.

    By turns the pins have the ``axes`` of the bar before. At the start the
    bars have the ``angles``, which determine constants in ``place`` without a
    number.
    """
    q, u = dynamicsymbols(f'q1:{n + 1}'), dynamicsymbols(f'u1:{n + 1}')
    length, m, g = symbols('l m g')
    N, origin = inertial()
    frame, pin, turning, velocity = N, origin, 0*N.x, 0*N.x
    bodies = []
    for i, angle in enumerate(q, 1):
        link = ReferenceFrame(f'A{i}')
        axis = getattr(frame, axes[(i - 1) % len(axes)])
        link.orient_axis(frame, angle, axis)
        # From bar to bar; differentiating the loop would walk 2**n terms.
        turning = ((turning if relative else 0) + u[i - 1]*axis).express(link)
        velocity += cross(turning, length*link.x)
        center = pin.locatenew(f'C{i}', length/2*link.x)
        pin = pin.locatenew(f'P{i}', length*link.x)
        bodies.append(rigid_body(f'link{i}', center, link, m, *moments))
        frame = link if relative else N
    end, rows = pin.pos_from(origin), len(place)
    start = {**dict(zip(q, angles)), u[0]: 0.5, **dict.fromkeys(u[1:], 0.0)}
    loop = [end.dot(axis) - x for axis, x in zip(N, place)]
    size = 1.0/n
    where = {x: float((row + x).xreplace({**start, length: size}))
             for row, x in zip(loop, place) if x != 0}
    return kane_model(
        N, q[:-rows], u[:-rows], kdes(q, u), q_dependent=q[-rows:],
        u_dependent=u[-rows:], configuration_constraints=loop,
        velocity_constraints=[velocity.dot(axis) for axis, _ in zip(N, place)],
        bodies=bodies, forcelist=weights(bodies, -g*N.y),
        parameters={length: size, m: size, g: 9.81, **where, **numbers},
        start=start, t_end=2.0)
