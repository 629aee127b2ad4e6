"""From the arguments of the two call shapes to a constrained system.

Input is normalised here, at the door: everything behind it works on the graph
of a :class:`.ConstrainedSystem`.
"""
from __future__ import annotations

import math
import warnings
from dataclasses import replace
from random import Random

from mpmath import mp
from sympy import Derivative, Dummy, Expr, Matrix, Symbol, sympify
from sympy.core.function import AppliedUndef
from sympy.physics.vector import Point, ReferenceFrame, Vector

from .. import _compat
from ..errors import (
    ConstrainedDynamicsError, ConstraintError, MissingIngredientError,
    UnsupportedFeatureError, located)
from ..graph import Graph, GraphBuilder, gradient, read, substitute
from ..graph.writing import nested
from .call_signatures import (
    as_expression, as_expressions, as_list, as_residuals, check_bodies,
    check_coordinates, check_frame)
from .constraint_order import (
    Residual, bind_derivatives, replace_right_sides, sorted_rows)
from .constraints import constraint_blocks
from .kinematic_equations import solve_kinematics, solve_speeds
from .kinematics import Kinematics
from .kinetics import (
    axes_of_vector, from_bodies, from_lagrangian, motion_of, parse_loads)
from .system import ConstrainedSystem, freeze

__all__ = ['build_system', 'applied_forces', 'kinematics_of',
           'symbols_in_use']

# Above so many operations, of few bodies and of many, only one route of the
# kinetics is taken.
LARGE, FEW, LARGE_OF_MANY = 1000, 6, 350
# The outputs that are evaluated for accelerations and consistent states.
SOLVED = ('rates', 'M', 'Q', 'A', 'b', 'holonomic', 'velocity')


def build_system(shape, arguments, nonideal_forces=None, stabilization=None,
                 potential_energy=None, generalized_forces=None,
                 in_velocities=False, exchange=None):
    """Return the constrained system of a call in one of the two shapes.

    Parameters
    ==========

    shape : 'kane' or 'lagrange'
    arguments : dict
        See :func:`.bind_arguments`.
    nonideal_forces : iterable, optional
        The generalized forces ``C`` (one per speed) or a list of loads.
    stabilization : optional
        See :func:`.stabilization_gains`.
    potential_energy : 'include', 'ignore' or None
        What to do in Kane's shape with the potential energy of bodies; None
        ignores it with a warning, as SymPy does without one.
    generalized_forces : iterable of Expr, optional
        Forces beside those of loads and Lagrangian, one per speed.
    in_velocities : bool
        State the model in the ``q'``, for methods that vary a Lagrangian:
        the speeds of the system are the velocities of its coordinates. Its
        graph has more outputs: ``lagrangian``, the generalized forces
        ``applied`` that are not in it, and the user's ``speeds`` in terms of
        the velocities.
    exchange : MassExchange, optional
        For the method that projects Meshchersky's equation: mass is
        exchanged with the surroundings, kinematics may be nonlinear in the
        speeds, loads linear in ``u'``, constraints of any order, and there
        may be auxiliary speeds.

    """
    check_bodies(as_list(arguments['bodies'], 'bodies'))
    options = {'nonideal_forces': nonideal_forces,
               'stabilization': stabilization,
               'generalized_forces': generalized_forces,
               'in_velocities': in_velocities, 'exchange': exchange}
    routes, most = [False], LARGE
    if shape == 'kane':
        potential = potential_of(as_list(arguments['bodies'], 'bodies'),
                                 potential_energy)
        arguments = {**arguments, 'potential': potential}
        count = len(as_list(arguments['bodies'], 'bodies'))
        if count >= 3:
            routes = [True, False]
        if count > FEW:
            most = LARGE_OF_MANY
    best, least = None, math.inf
    for route in routes:
        system = build_by_route(shape, arguments, route, **options)
        if len(routes) == 1:
            best = system
            break
        operations = system.graph.operation_count(('M', 'Q', 'A', 'b'))
        if operations < least:
            best, least = system, operations
        if least > most:                # both come to about the same
            break
    return replace(best, graph=best.graph.compacted(SOLVED))


def build_by_route(shape, arguments, composite, nonideal_forces,
                   stabilization, generalized_forces, in_velocities,
                   exchange):
    """The constrained system with the kinetics made by one of the routes."""
    builder = GraphBuilder(_compat.time_symbol())
    if shape == 'kane':
        system, kinematics, blocks = build_kane(
            builder, arguments, composite, in_velocities, exchange)
    else:
        system, kinematics, blocks = build_lagrange(
            builder, arguments, exchange)
    blocks['rates'] = [[rate] for rate in kinematics.rates]
    blocks['C'] = nonideal(kinematics, nonideal_forces, system['u'])
    add_generalized(kinematics, blocks, generalized_forces,
                    speeds_of(arguments) if shape == 'kane' else system['u'])
    if exchange:
        if arguments['bodies'] is not None:
            check_masses(builder, exchange, blocks)
        kinematics = separate_accelerations(kinematics, blocks, system)
    if not in_velocities:
        for name in ('lagrangian', 'applied', 'speeds'):
            blocks.pop(name, None)
    refs = [ref for rows in blocks.values() for row in rows for ref in row]
    moving = kinematics.accelerations_in(*refs)
    if in_velocities and shape == 'kane':       # speeds that were replaced
        moving += [x for x in builder.symbols_of(*refs) if isinstance(
            x, Derivative) and x.expr in speeds_of(arguments)]
    if moving:
        raise ConstrainedDynamicsError(
            f"The loads, velocities, inertias or the Lagrangian contain "
            f"{moving[0]}. They may depend on coordinates, speeds and time; "
            "replace the acceleration by an expression in them, or model "
            "what depends on it as a body with mass.")
    if shape == 'kane':
        kinematics.prepare_points(system['bodies'])
    instead = {}                        # rows given for derivatives
    if exchange:
        rows, geometry, instead = rows_of_any_order(kinematics, system)
        blocks['higher'] = [[ref] for ref in rows.pop()[0]]
    else:
        rows, geometry = constraint_rows(kinematics, system, shape)
    blocks.update(constraint_blocks(
        kinematics, *(refs for refs, _ in rows), system['u'], stabilization))
    if instead:
        check_replacements(system, stabilization)
        blocks['replaced'] = replace_right_sides(
            kinematics, instead, blocks['b'])
    check_functions(builder, system)
    check_names(builder, system)
    if shape == 'kane':
        kinematics.check_velocities(system['bodies'])
    drop_costly_power(builder, blocks)
    late = kinematics.accelerations_in(*(ref for ref, in blocks['b']))
    if late:
        raise ConstraintError(
            f"A gain of `stabilization` contains {late[0]}. Gains may depend "
            "on coordinates, speeds and time; write it in these.")
    levels = ('holonomic_rows', 'velocity_rows', 'acceleration_rows')
    system.update((level, tuple(expressions))
                  for level, (_, expressions) in zip(levels, rows))
    if in_velocities:                   # rows may be in other speeds
        system['velocity_rows'] = tuple(
            nested_expression(builder, ref) for ref in rows[1][0])
    return ConstrainedSystem(
        graph=freeze(builder, blocks, system['q'], system['u']),
        geometry=geometry, stabilization=stabilization, **system)


def build_kane(builder, given, composite, in_velocities=False,
               exchange=None):
    """Fields, kinematics and kinetics of a call in Kane's shape."""
    frame = given['frame']
    check_frame(frame)
    lists = {name: as_list(given[name], name) for name in (
        'q_ind', 'q_dependent', 'u_ind', 'u_dependent', 'u_auxiliary',
        'bodies', 'forcelist')}
    auxiliary = lists['u_auxiliary']
    if auxiliary and not exchange:
        raise UnsupportedFeatureError(
            f"Auxiliary speeds {auxiliary} were given. This "
            "method has no auxiliary equations: leave them out, write the "
            "constraint on the motion instead, and read `multipliers`, "
            "`constraint_forces` or `constraint_loads()`.")
    q = lists['q_ind'] + lists['q_dependent']
    u = lists['u_ind'] + lists['u_dependent']
    check_coordinates(q, u + auxiliary, builder.time)
    kd_eqs = as_residuals(given['kd_eqs'], 'kd_eqs')
    rates = solve_kinematics(builder, kd_eqs, q, u + auxiliary,
                             linear=not exchange)
    if in_velocities:
        u, rates = solve_speeds(builder, rates, q, u)
    kinematics = Kinematics(builder, frame, q, [*u, *auxiliary], rates,
                            exchange and exchange.points())
    masses = declare_exchange(kinematics, exchange, given['bodies'] and
                              lists['bodies'], q, u)
    loads = parse_loads(lists['forcelist'])
    blocks = from_bodies(kinematics, lists['bodies'], loads,
                         given['potential'], composite, bool(exchange))
    if exchange and (exchange.anchors   # whose drift does work, too
                     or is_nonlinear(kinematics)):
        blocks['power'] = []
    blocks['mass_rates'] = masses
    if in_velocities:
        blocks['applied'] = from_bodies(kinematics, (), loads)['Q']
        blocks['speeds'] = [[read(builder, x)] for x in (
            *lists['u_ind'], *lists['u_dependent'])]
        check_lagrangian(kinematics, blocks)
    if (given['velocity_constraints'] is not None
            and given['nonholonomic_constraints'] is not None):
        raise ConstraintError(
            "Both `velocity_constraints` and `nonholonomic_constraints` were "
            "given. The first contains the second; give one of them.")
    velocity = as_residuals(given['velocity_constraints'],
                            'velocity_constraints', True)
    velocity += as_residuals(given['nonholonomic_constraints'],
                             'nonholonomic_constraints', True)
    return dict(
        q=tuple(q), u=tuple(u), frame=frame, bodies=tuple(lists['bodies']),
        loads=tuple(lists['forcelist']),
        holonomic_rows=as_residuals(given['configuration_constraints'],
                                    'configuration_constraints'),
        velocity_rows=velocity,
        acceleration_rows=as_residuals(given['acceleration_constraints'],
                                       'acceleration_constraints'),
        q_dependent=tuple(lists['q_dependent']),
        u_dependent=tuple(lists['u_dependent']),
        masses=tuple(exchange.rates) if exchange else (),
        u_auxiliary=tuple(auxiliary)), kinematics, blocks


def build_lagrange(builder, given, exchange=None):
    """Fields, kinematics and kinetics of a call in Lagrange's shape."""
    lagrangian = as_expression(given['Lagrangian'])
    frame = given['frame']
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
    if not isinstance(lagrangian, Expr):
        raise TypeError(
            f"`Lagrangian` is {given['Lagrangian']!r}. Give an expression in "
            "the coordinates and their derivatives.")
    u = [x.diff(builder.time) for x in q]
    rates = [builder.input(x, dynamic=True) for x in q + u][len(q):]
    kinematics = Kinematics(builder, frame, q, u, rates)
    masses = declare_exchange(kinematics, exchange, bodies, q, u)
    blocks = from_lagrangian(kinematics, lagrangian, parse_loads(forcelist))
    blocks['speeds'] = [[rate] for rate in rates]
    blocks['mass_rates'] = masses
    return dict(
        q=tuple(q), u=tuple(u), frame=frame, bodies=tuple(bodies),
        masses=tuple(exchange.rates) if exchange else (),
        loads=tuple(forcelist), lagrangian=lagrangian,
        holonomic_rows=as_residuals(given['hol_coneqs'], 'hol_coneqs'),
        velocity_rows=as_residuals(given['nonhol_coneqs'], 'nonhol_coneqs',
                                   True),
        acceleration_rows=as_residuals(given['acceleration_constraints'],
                                       'acceleration_constraints'),
    ), kinematics, blocks


def declare_exchange(kinematics, exchange, bodies, q, u):
    """Bind the rates of masses that are states; return them as rows."""
    if not exchange:
        return []
    g, time = kinematics.builder, kinematics.builder.time
    exchange.check(bodies, (*q, *u), time)
    kinematics.declare_accelerations(
        [g.inputs[g.nodes[k][1]] for k in kinematics.u])
    for mass in exchange.rates:
        g.input(mass, dynamic=True)
    rows = []
    moving = {mass.diff(time) for mass in exchange.rates}
    for mass, rate in exchange.rates.items():
        with located(f'The rate of {mass}'):
            ref = read(g, rate)
        if kinematics.accelerations_in(ref) or not moving.isdisjoint(
                g.symbols_of(ref)):
            raise ConstrainedDynamicsError(
                f"The rate of {mass} contains an acceleration, or the rate "
                "of a mass that is a state. A mass that is a state has a "
                "rate in coordinates, speeds, masses and time; write such a "
                "mass as an expression.")
        rows.append([ref])
    for mass, (ref,) in zip(exchange.rates, rows):
        g.bound[mass.diff(time)] = ref
    for mass, (ref,) in zip(exchange.rates, rows):
        g.bound[mass.diff(time, 2)] = kinematics.total_derivative(ref)
    return rows


def is_nonlinear(kinematics):
    """Whether the ``q'`` are nonlinear in the speeds.

    Then generalized forces times speeds are no power.
    """
    g = kinematics.builder
    return any(g.depends_on(by_speed(rate), *kinematics.u)
               for by_speed in kinematics.by_speed
               for rate in kinematics.rates)


def check_replacements(system, stabilization):
    """Raise if rows cannot replace the derivatives of others."""
    if stabilization is not None or system['higher_rows']:
        raise UnsupportedFeatureError(
            "A row of `acceleration_constraints` has the coefficients of a "
            "differentiated constraint and replaces it, which has no place "
            + ("beside `stabilization`: put the gains into the row, or leave "
               "it out." if stabilization is not None else
               "beside constraints of a higher order. Leave it out."))


def check_auxiliary(kinematics, system):
    """Raise if a constraint contains an auxiliary speed."""
    g, count = kinematics.builder, len(system['u'])
    rows, _, _ = rows_of_any_order(kinematics, dict(system))
    late = [g.inputs[g.nodes[k][1]] for k in kinematics.u[count:]]
    late = {*late, *(x.diff(g.time) for x in late)}
    found = [x for x in g.symbols_of(*(ref for refs, _ in rows
                                       for ref in refs)) if x in late]
    if found:
        raise UnsupportedFeatureError(
            f"A constraint contains {found[0]}, and auxiliary speeds may be "
            "in velocities and loads only. State the constraint without "
            "them, and read its reaction from `multipliers`.")


def check_masses(builder, exchange, blocks):
    """Raise if a mass that has a rate is in no body and no load."""
    used = builder.symbols_of(*(
        ref for name in ('M', 'Q') for row in blocks[name] for ref in row))
    idle = [str(mass) for mass in exchange.rates if mass not in used]
    if idle:
        raise ConstrainedDynamicsError(
            f"`mass_rates` has {', '.join(idle)}, which is in no body and no "
            "load. Use the function of time that is the mass of the body, "
            "or leave it out.")


def separate_accelerations(kinematics, blocks, system):
    """Move what loads have of ``u'`` into the mass matrix, and drop
    auxiliary speeds.

    Returns
    =======

    Kinematics
        In the speeds without the auxiliary ones, which are zero from here
        on. Their rows are ``auxiliary_M`` and ``auxiliary_Q``.

    """
    g, u = kinematics.builder, system['u']
    time = g.time
    accelerations = [g.input(g.inputs[g.nodes[k][1]].diff(time), dynamic=True)
                     for k in kinematics.u]
    Q = [x for x, in blocks['Q']]
    for j, force in enumerate(Q):
        slopes = gradient(g, force, accelerations)
        late = kinematics.accelerations_in(
            force, *slopes,
            allowed=[g.inputs[g.nodes[k][1]] for k in accelerations])
        if late or any(g.depends_on(x, *accelerations) for x in slopes if x):
            raise ConstrainedDynamicsError(
                "The loads are not linear in the accelerations"
                + (f" and contain {late[0]}" if late else "") + ". They may "
                "depend on coordinates, speeds, time and, linearly, on the "
                "rates of the speeds; write them in these.")
        blocks['M'][j] = [g.sub(x, y) for x, y in zip(blocks['M'][j], slopes)]
    rest = dict.fromkeys(accelerations, 0)
    blocks['Q'] = [[x] for x in substitute(g, Q, rest)]
    if blocks['power'] and kinematics.accelerations_in(blocks['power'][0][0]):
        blocks['power'] = []            # masses that depend on speeds
    count = len(u)
    if len(kinematics.u) == count:
        return kinematics
    check_auxiliary(kinematics, system)
    rest = dict.fromkeys(kinematics.u[count:], 0)
    for name, rows in blocks.items():
        blocks[name] = [substitute(g, row, rest) for row in rows]
    blocks['auxiliary_M'] = [row[:count] for row in blocks['M'][count:]]
    blocks['auxiliary_Q'] = blocks['Q'][count:]
    blocks['M'] = [row[:count] for row in blocks['M'][:count]]
    for name in ('Q', 'C', 'applied'):
        blocks[name] = blocks[name][:count]
    for x in system['u_auxiliary']:
        g.bound[x] = g.bound[x.diff(time)] = 0
    return Kinematics(g, kinematics.frame, system['q'], u,
                      [rate for rate, in blocks['rates']],
                      kinematics.anchors)


def rows_of_any_order(kinematics, system):
    """The same as :func:`constraint_rows` for residuals of any order.

    Returns
    =======

    list
        Of references and expressions, for four levels.
    tuple
        Rows that were given geometrically.
    dict
        See :func:`.sorted_rows`.

    """
    g = kinematics.builder
    names = {'holonomic_rows': 'holonomic constraints',
             'velocity_rows': 'velocity-level constraints',
             'acceleration_rows': 'acceleration constraints'}
    bind_derivatives(kinematics, system['q'], system['u'], [
        row for level in names for row in system[level]
        if not isinstance(row, tuple)])
    residuals = []
    for level, name in names.items():
        for k, row in enumerate(system[level]):
            label, location = f'Row {k} of the {name}', None
            if isinstance(row, tuple):
                ref, location = geometric_row(kinematics, row, k)
                row = nested_expression(g, ref)
            else:
                ref, = read_rows(g, [row], name, k)
            residuals.append(Residual(ref, row, label, location))
    found, instead = sorted_rows(kinematics, residuals)
    first = len(found['holonomic'])
    geometry = tuple((first + k, row.location)
                     for k, row in enumerate(found['velocity'])
                     if row.location)
    system['higher_rows'] = tuple(row.expression for row in found['higher'])
    return [([row.ref for row in rows], [row.expression for row in rows])
            for rows in found.values()], geometry, instead


def speeds_of(arguments):
    """The user's speeds in Kane's shape."""
    return (as_list(arguments['u_ind'], 'u_ind')
            + as_list(arguments['u_dependent'], 'u_dependent'))


def check_lagrangian(kinematics, blocks):
    """Raise unless Lagrange's equations of the energy are the equations.

    They are not where velocities were set that the positions do not have,
    such as those of a body whose rolling was put in by hand.
    """
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
                "hand?), or a mass depends on the motion. State every "
                "velocity in the coordinates and give the constraints as "
                "rows, or use UdwadiaKalabaMethod.")


def agree(builder, a, b):
    """Whether two references have equal values at random real points.

    Where the one real point of the builder is outside the domain of a
    function, others are tried; True if none is inside.
    """
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


def potential_of(bodies, choice):
    """The potential energy of bodies that is to be counted."""
    if choice not in (None, 'include', 'ignore'):
        raise ValueError(
            f"`potential_energy` is {choice!r}. Choose 'include' or "
            "'ignore'.")
    having = [body for body in bodies if body.potential_energy != 0]
    if having and choice is None:
        warnings.warn(
            "The potential energy of "
            f"{', '.join(body.name for body in having)} is not used: in this "
            "call shape forces come from the loads only, as in KanesMethod. "
            "Pass potential_energy='include' to count it, or 'ignore' to "
            "silence this warning.", stacklevel=5)
    if choice != 'include':
        return sympify(0)
    return sum((body.potential_energy for body in having), sympify(0))


def nonideal(kinematics, forces, u):
    """Rows of the generalized forces ``C`` of non-ideal constraints."""
    size = len(u)
    forces = as_list(forces, 'nonideal_forces')
    if not forces:
        return [[0]]*size
    if any(isinstance(x, tuple) or hasattr(x, 'to_loads') for x in forces):
        total = [0]*size
        g = kinematics.builder
        for location, vector in parse_loads(forces):
            need_frame(kinematics, 'a load of `nonideal_forces`')
            axes = axes_of_vector(kinematics, vector)
            motion = motion_of(kinematics, location, axes)
            force = kinematics.measure(vector, axes)
            for j, column in kinematics.columns(motion).items():
                total[j] = g.add(total[j], g.dot(column, force))
        return [[x] for x in total]
    if len(forces) != size:
        raise ValueError(
            f"`nonideal_forces` has {len(forces)} entries for {size} speeds. "
            "Give one generalized force per speed, or a list of loads.")
    return [[ref] for ref in read_forces(
        kinematics.builder, forces, 'nonideal_forces')]


def read_forces(builder, forces, name):
    """References of forces; errors tell the entry."""
    refs = []
    for k, force in enumerate(as_expressions(forces, name)):
        with located(f'Entry {k} of `{name}`'):
            refs.append(read(builder, force))
    return refs


def add_generalized(kinematics, blocks, forces, u):
    """Add the generalized forces that were given per speed ``u``.

    Where the system has other speeds ``v``, they are multiplied by
    ``du/dv``.
    """
    forces = as_list(forces, 'generalized_forces')
    if not forces:
        return
    if len(forces) != len(u):
        raise ValueError(
            f"`generalized_forces` has {len(forces)} entries for {len(u)} "
            "speeds. Give one generalized force per speed, 0 where there is "
            "none.")
    g = kinematics.builder
    refs = read_forces(g, forces, 'generalized_forces')
    speeds = [read(g, x) for x in u]
    for j, by_speed in enumerate(kinematics.by_speed):
        force = g.sum(g.mul(ref, by_speed(speed))
                      for ref, speed in zip(refs, speeds))
        for name in ('Q', 'applied'):
            blocks[name][j][0] = g.add(blocks[name][j][0], force)
        if blocks['power']:
            blocks['power'][0][0] = g.add(
                blocks['power'][0][0], g.mul(force, kinematics.u[j]))


def constraint_rows(kinematics, system, shape):
    """References and expressions of the rows of each level.

    In Kane's shape the velocity constraints contain the differentiated
    holonomic rows, and the acceleration constraints repeat all of them; both
    are recognised by value and dropped.
    """
    g = kinematics.builder
    holonomic = read_rows(g, system['holonomic_rows'],
                          'holonomic constraints')
    velocity, expressions, where = [], [], []
    for k, row in enumerate(system['velocity_rows']):
        if isinstance(row, tuple):
            ref, location = geometric_row(kinematics, row, k)
            velocity.append(ref)
            expressions.append(nested_expression(g, ref))
            where.append(location)
        else:
            velocity += read_rows(g, [row], 'velocity-level constraints', k)
            expressions.append(row)
            where.append(None)
    kept = range(len(velocity))
    if shape == 'kane':
        derived = {abs(kinematics.bias(h)) for h in holonomic}
        kept = [k for k in kept if abs(velocity[k]) not in derived]
    velocity = [velocity[k] for k in kept]
    expressions = [expressions[k] for k in kept]
    geometry = tuple((len(holonomic) + i, where[k])
                     for i, k in enumerate(kept) if where[k])
    chi, chi_rows = [], system['acceleration_rows']
    if chi_rows:
        kinematics.declare_accelerations(system['u'])
        total = kinematics.total_derivative
        phi = [kinematics.bias(h) for h in holonomic] + velocity
        known = {abs(total(p)) for p in phi} if shape == 'kane' else set()
        refs = read_rows(g, chi_rows, 'acceleration constraints')
        fresh = [k for k, ref in enumerate(refs) if abs(ref) not in known]
        chi = [refs[k] for k in fresh]
        chi_rows = [chi_rows[k] for k in fresh]
    return [(holonomic, system['holonomic_rows']), (velocity, expressions),
            (chi, chi_rows)], geometry


def read_rows(builder, rows, name, first=0):
    """References of residuals; errors tell the row."""
    refs = []
    for k, row in enumerate(rows, first):
        with located(f'Row {k} of the {name}'):
            refs.append(read(builder, row))
    return refs


def check_functions(builder, system):
    """Raise if a coordinate is a function of anything but time."""
    states = {x.func for x in (*system['q'], *system['u'])
              if isinstance(x, AppliedUndef)}
    for template in builder.templates:
        for function in template.atoms(AppliedUndef):
            if function.func in states:
                raise ConstrainedDynamicsError(
                    f"The function `{function.func}` is a coordinate or a "
                    "speed, and the model has it at another argument than "
                    f"{builder.time}. This happens if {builder.time} is "
                    "substituted in an expression that contains it; write "
                    "the expression without.")


def check_names(builder, system):
    """Raise if the time or a function of time shares its name.

    What has the name of a coordinate is meant to be the coordinate, and would
    be a constant or an input. (Constants may share a name; they keep their
    identity.)
    """
    known = {}
    for x in (builder.time, *system['q'], *system['u'], *builder.inputs):
        x = x.expr if isinstance(x, Derivative) else x
        name = x.func.__name__ if isinstance(x, AppliedUndef) else str(x)
        other = known.setdefault(name, x)
        if other == x or isinstance(x, Dummy) or isinstance(other, Dummy) or (
                other != builder.time and not isinstance(
                    x, AppliedUndef) and not isinstance(other, AppliedUndef)):
            continue
        one, two = (('the time' if y == builder.time else
                     'the function of time' if isinstance(y, AppliedUndef)
                     else 'the symbol') + f' `{y}`' for y in (other, x))
        raise ConstrainedDynamicsError(
            f"Two things in the model have the name `{name}`: {one} and {two}"
            f"{', with other assumptions' if one == two else ''}. SymPy takes "
            "them for different ones. Use one of them everywhere, or give "
            "the other another name.", name=name)


def drop_costly_power(builder, blocks):
    """Leave out a power that needs derivatives of inputs nothing else needs.
    """
    others = builder.symbols_of(*(
        ref for name, rows in blocks.items() if name != 'power'
        for row in rows for ref in row))
    if any(isinstance(x, Derivative) and x not in others
           for x in builder.symbols_of(*(x for x, in blocks['power']))):
        blocks['power'] = []


def need_frame(kinematics, what):
    """Raise if there is no inertial frame."""
    if kinematics.frame is None:
        raise MissingIngredientError(
            f"The model has {what} and no inertial frame. Velocities are "
            "taken in it; pass `frame=`.")


def nested_expression(builder, ref):
    """SymPy expression of a reference of a builder."""
    return nested(builder, [ref])[0]


def geometric_row(kinematics, row, k):
    """Residual of ``(point or frame, direction[, value])``, and where."""
    g = kinematics.builder
    if (len(row) not in (2, 3) or not isinstance(row[1], Vector) or
            not isinstance(row[0], (Point, ReferenceFrame))):
        raise ConstraintError(
            f"Row {k} of the velocity-level constraints is {row!r}. A row "
            "given geometrically is (point or frame, direction Vector) or "
            "(point or frame, direction Vector, value), which prescribes the "
            "speed in that direction; give one of these, or a residual.",
            rows=(k,))
    need_frame(kinematics, 'a row given geometrically')
    location, direction = row[:2]
    axes = axes_of_vector(kinematics, direction)
    motion = motion_of(kinematics, location, axes)
    ref = g.dot(motion, kinematics.measure(direction, axes))
    if len(row) == 3:
        with located(f'Row {k} of the velocity-level constraints'):
            ref = g.sub(ref, read(g, row[2]))
    return ref, (location, direction)


def kinematics_of(system, anchors=None, bind_masses=True):
    """The kinematics of a system on a new builder.

    Auxiliary speeds are zero there. The rates of masses that are states are
    bound; else they are inputs, as for masses that are functions of time.
    """
    builder = GraphBuilder(system.t)
    for x in (*system.q, *system.u, *system.masses):
        builder.input(x, dynamic=True)
    for x in system.u_auxiliary:
        builder.bound[x] = builder.bound[x.diff(system.t)] = 0
    names = ('rates', 'mass_rates') if bind_masses and system.masses else (
        'rates',)
    _, outputs = system.graph.load(builder, names)
    for mass, rate in zip(system.masses, outputs.get('mass_rates', ())):
        builder.bound[mass.diff(system.t)] = rate[0]
    return Kinematics(builder, system.frame, system.q, system.u,
                      [rate for rate, in outputs['rates']], anchors)


def applied_forces(system, potential):
    """Generalized applied forces of a system in Kane's shape, (o, 1)."""
    kinematics = kinematics_of(system)
    blocks = from_bodies(kinematics, (), parse_loads(system.loads),
                         potential)
    return Matrix([nested_expression(kinematics.builder, ref)
                   for ref, in blocks['Q']])


def symbols_in_use(system):
    """Names of all symbols and functions of a system."""
    used = (*system.graph.inputs, *system.q, *system.u)
    return {x.name if isinstance(x, Symbol)
            else str(getattr(x, 'expr', x).func) for x in used}
