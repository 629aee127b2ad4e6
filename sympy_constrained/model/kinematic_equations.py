"""Kinematic differential equations, solved for ``q'`` on the graph."""
from __future__ import annotations

from sympy import Derivative

from ..errors import (
    KinematicsError, UnsupportedFeatureError, located, raise_problems)
from ..graph import derivative, gradient, read, substitute
from ..graph.linalg import solve

__all__ = ['solve_kinematics', 'solve_speeds']


def solve_kinematics(builder, equations, q, u, linear=True):
    """Return the references of ``q'`` from kinematic differential equations.

    Explanation
    ===========

    The equations ``K_q*q' + K_u*u + k = 0`` are solved by
    :func:`.graph.linalg.solve`. Unless they must be ``linear`` they may
    contain the speeds in any form, ``K_q(q, u, t)*q' + k(q, u, t) = 0``.

    Raises
    ======

    KinematicsError
        If equations are missing, depend on each other, or are not linear in
        ``q'`` and ``u``. All problems are told at once.

    """
    time = builder.time
    missing = [x for x in q if derivative(x, time) not in u]
    if missing and not equations:
        raise KinematicsError(
            "`kd_eqs` is missing: nothing relates the derivatives of "
            f"{', '.join(map(str, missing))} to the speeds. Pass `kd_eqs` "
            "with one equation for each of these coordinates, such as "
            f"`{derivative(missing[0], time)} - u` for a speed `u`, or use "
            "the derivatives of the coordinates as speeds.")
    speeds = [builder.input(x, dynamic=True) for x in u]
    rates = {}
    for i, x in enumerate(q):
        builder.input(x, dynamic=True)
        rate = derivative(x, time)
        if rate in u:
            rates[i] = builder.bound[rate]
    unknown = [i for i in range(len(q)) if i not in rates]
    symbols = [derivative(q[i], time) for i in unknown]
    slots = [builder.input(x, dynamic=True) for x in symbols]
    residuals = []
    for k, e in enumerate(equations):
        with located(f'Row {k} of `kd_eqs`'):
            residuals.append(read(builder, e))
    higher = [x for x in builder.symbols_of(*residuals)
              if isinstance(x, Derivative) and x not in u and x.expr in
              {getattr(x, 'expr', x) for x in (*q, *u)} and
              x not in symbols]
    if higher:
        raise KinematicsError(
            f"`kd_eqs` contains {higher[0]}. Kinematic differential equations "
            "relate the first derivatives of the coordinates to the speeds; "
            "remove the other derivative, or correct the lists of "
            "coordinates and speeds if they are exchanged.")
    rows = [k for k, residual in enumerate(residuals) if residual]
    problems = []
    slopes = {}
    for k in rows:
        slopes[k] = gradient(builder, residuals[k], slots)
        if not any(slopes[k]):
            problems.append(
                f"Row {k} of `kd_eqs` contains no derivative of a coordinate "
                "that is still to be solved for. Remove the row, or correct "
                "it, or name its coordinate in `q_ind`.")
        moving, names = slots, symbols
        partial = slopes[k]
        if linear:
            moving, names = moving + speeds, names + list(u)
            partial = partial + gradient(builder, residuals[k], speeds)
        bad = [x for x, ref in zip(names, moving)
               if any(builder.depends_on(s, ref) for s in partial if s)]
        if bad:
            problems.append(
                f"Row {k} of `kd_eqs` is not linear in {bad[0]}. Kinematic "
                "differential equations must be linear in the derivatives "
                "of the coordinates" + (
                    " and in the speeds; rewrite the row, or use "
                    "GibbsAppellMethod." if linear
                    else "; rewrite the row."))
    for j, i in enumerate(unknown):
        if not any(slopes[k][j] for k in rows):
            problems.append(
                f"No row of `kd_eqs` contains {symbols[j]} (equations: "
                f"{len(rows)}, coordinates that need one: {len(unknown)}). "
                f"Add the kinematic differential equation of {q[i]}.")
    if not problems and len(rows) != len(unknown):
        problems.append(
            f"`kd_eqs` has {len(rows)} equations for {len(unknown)} "
            "coordinates. Each coordinate needs one; add or remove rows.")
    raise_problems(problems, KinematicsError)
    known = substitute(builder, [residuals[k] for k in rows],
                       dict.fromkeys(slots, 0))
    found = solve(builder, [slopes[k] for k in rows], [-x for x in known])
    if found is None:
        raise KinematicsError(
            "The rows of `kd_eqs` for "
            f"{', '.join(str(q[i]) for i in unknown)} depend on each other, "
            "so the derivatives of these coordinates cannot be obtained from "
            "the speeds. Give independent equations.")
    rates.update(zip(unknown, found))
    return [rates[i] for i in range(len(q))]


def solve_speeds(builder, rates, q, u):
    """Invert the kinematics: state everything in the velocities ``q'``.

    Explanation
    ===========

    A velocity keeps the name of the speed that is equal to it, if there is
    one; the others are the derivatives of their coordinates. Every other
    speed is bound to its expression in the velocities, so that what is read
    from here on is in terms of them.

    Returns
    =======

    tuple
        The velocities as SymPy objects, in the order of ``q``.
    list of references

    Raises
    ======

    UnsupportedFeatureError
        If there are fewer or more speeds than coordinates.
    KinematicsError
        If the velocities do not determine the speeds.

    """
    if len(q) != len(u):
        raise UnsupportedFeatureError(
            f"The model has {len(q)} coordinates and {len(u)} speeds. This "
            "method varies a Lagrangian, which needs as many independent "
            "velocities as coordinates: use coordinates without relations "
            "among them (angles for a quaternion), with one speed each, or "
            "UdwadiaKalabaMethod.")
    speeds = [builder.bound[x] for x in u]
    named = {ref: x for ref, x in zip(speeds, u)}
    names = tuple(named.get(rate, derivative(x, builder.time))
                  for x, rate in zip(q, rates))
    velocities = [builder.input(x, dynamic=True) for x in names]
    known = substitute(builder, rates, dict.fromkeys(speeds, 0))
    solution = solve(
        builder, [gradient(builder, rate, speeds) for rate in rates],
        [builder.sub(v, x) for v, x in zip(velocities, known)])
    if solution is None:
        raise KinematicsError(
            "The kinematic differential equations cannot be solved for the "
            "speeds: some of them depend on each other. Give independent "
            "speeds, e.g. the derivatives of the coordinates.")
    builder.bound.update(
        (x, ref) for x, ref in zip(u, solution) if x not in names)
    return names, velocities
