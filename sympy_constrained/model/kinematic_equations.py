"""Kinematic differential equations, solved for ``q'`` on the graph."""
from sympy import Derivative

from ..errors import (
    KinematicsError, UnsupportedFeatureError, located, raise_problems)
from ..graph import derivative, gradient, read, substitute
from ..graph.linalg import solve
from ..graph.nodes import ADD


def solve_kinematics(builder, equations, q, u, linear=True):
    """Return the references of ``q'`` from kinematic differential equations.

    The equations ``K_q*q' + K_u*u + k = 0`` are solved by
    :func:`.graph.linalg.solve`. Unless they must be ``linear`` they may
    contain the speeds in any form, ``K_q(q, u, t)*q' + k(q, u, t) = 0``. A
    :exc:`.KinematicsError` states all problems: equations that are missing,
    dependent, or not linear in ``q'`` and ``u``.
    """
    rates, speeds = {x: derivative(x, builder.time) for x in q}, {*u}
    unknown = {x: rate for x, rate in rates.items() if rate not in speeds}
    for x in (*u, *q, *unknown.values()):
        builder.input(x, dynamic=True)
    solved = {}
    if unknown or equations:
        solved = solve_rates(builder, equations, unknown, {*q, *u}, u,
                             u if linear else ())
    return [solved.get(ref, ref) for ref in map(
        builder.bound.get, rates.values())]


def solve_rates(builder, equations, unknown, states, u, linear):
    """References of unknown rates -> those of their solution.

    ``unknown`` maps coordinates to their rates; ``linear`` are the speeds in
    which the equations must be linear.
    """
    if not equations:
        raise KinematicsError(
            "`kd_eqs` is missing: nothing relates the derivatives of "
            f"{', '.join(map(str, unknown))} to the speeds. Pass `kd_eqs` "
            "with one equation for each of these coordinates, such as "
            f"`{[*unknown.values()][0]} - u` for a speed `u`, or use "
            "the derivatives of the coordinates as speeds.")
    rates = unknown.values()
    rows = read_equations(builder, equations, states, {*u, *rates})
    names = {x: builder.bound[x] for x in (*rates, *linear)}
    slots = [builder.bound[x] for x in rates]
    return plain_rates(builder, rows.values(), slots, names.values()) or (
        eliminated_rates(builder, rows, names, slots, unknown))


def eliminated_rates(builder, rows, names, slots, unknown):
    """The same by elimination, of rows that are linear in all ``names``."""
    slopes = {k: gradient(builder, row, [*names.values()])
              for k, row in rows.items()}
    problems = [text for k, row in slopes.items() for text in row_problems(
        builder, k, row, names, len(slots))]
    slopes = {k: row[:len(slots)] for k, row in slopes.items()}
    problems += missing_equations(unknown, slopes)
    raise_problems(problems, KinematicsError)
    known = substitute(builder, rows.values(), dict.fromkeys(slots, 0))
    solution = solve(builder, [*slopes.values()], [-x for x in known])
    if solution is None:
        raise KinematicsError(
            "The rows of `kd_eqs` for "
            f"{', '.join(map(str, unknown))} depend on each other, "
            "so the derivatives of these coordinates cannot be obtained from "
            "the speeds. Give independent equations.")
    return dict(zip(slots, solution))


def plain_rates(builder, rows, slots, names):
    """The solution of rows that all are ``q' - u`` or ``q' + u``, else {}."""
    solved = {}
    for row in rows:
        kind, x, y = builder.nodes[abs(row)]
        pair = {x, abs(y)} if kind == ADD else set()
        slot = pair.intersection(slots)
        if len(slot) != 1 or not pair.issubset(names):
            return {}
        slot, = slot
        solved[slot] = -y if slot == x else x if y < 0 else -x
    return solved if len(solved) == len(rows) == len(slots) else {}


def missing_equations(unknown, slopes):
    """Sentences about coordinates without an equation, or a wrong number."""
    missing = [(x, rate) for j, (x, rate) in enumerate(unknown.items())
               if not any(slope[j] for slope in slopes.values())]
    for x, rate in missing:
        yield (f"No row of `kd_eqs` contains {rate} (equations: "
               f"{len(slopes)}, coordinates that need one: {len(unknown)}). "
               f"Add the kinematic differential equation of {x}.")
    if not missing and len(slopes) != len(unknown):
        yield (f"`kd_eqs` has {len(slopes)} equations for {len(unknown)} "
               "coordinates. Each coordinate needs one; add or remove rows.")


def read_equations(builder, equations, states, allowed):
    """Row number -> reference, without rows that vanish identically."""
    rows = {}
    for k, e in enumerate(equations):
        with located(f'Row {k} of `kd_eqs`'):
            rows[k] = read(builder, e)
    functions = {getattr(x, 'expr', x) for x in states}
    higher = [x for x in builder.symbols_of(*rows.values())
              if isinstance(x, Derivative) and x.expr in functions
              and x not in allowed]
    if higher:
        raise KinematicsError(
            f"`kd_eqs` contains {higher[0]}. Kinematic differential equations "
            "relate the first derivatives of the coordinates to the speeds; "
            "remove the other derivative, or correct the lists of "
            "coordinates and speeds if they are exchanged.")
    return {k: row for k, row in rows.items() if row}


def row_problems(builder, k, partial, names, rates):
    """Sentences about an equation without a rate, or not linear.

    ``names`` maps symbols, the first of them rates, to references, and
    ``partial`` are the derivatives by them. The equation may be nonlinear in
    other speeds.
    """
    if not any(partial[:rates]):
        yield (f"Row {k} of `kd_eqs` contains no derivative of a coordinate "
               "that is still to be solved for. Remove the row, or correct "
               "it, or name its coordinate in `q_ind`.")
    moving = builder.mask(partial)
    wrong = moving and [x for x, ref in names.items()
                        if builder.mask([ref]) & moving]
    if wrong:
        yield (f"Row {k} of `kd_eqs` is not linear in "
               f"{', '.join(map(str, wrong))}. Kinematic differential "
               "equations must be linear in the derivatives of "
               "the coordinates" + (
                   " and in the speeds; rewrite the row, or use "
                   "GibbsAppellMethod." if len(names) > rates
                   else "; rewrite the row."))


def solve_speeds(builder, rates, q, u):
    """Invert the kinematics: state everything in the velocities ``q'``.

    A velocity keeps the name of the speed that equals it, if any; the others
    are the derivatives of their coordinates. Every other speed is bound to its
    expression in the velocities, also for all that is read later. Returns the
    velocities, as SymPy objects in the order of ``q`` and as references.
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
