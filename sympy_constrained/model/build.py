"""From the arguments of the two call shapes to a constrained system.

Input is normalised here; everything behind works on the graph of a
:class:`.ConstrainedSystem`.
"""
from itertools import chain

from sympy import Derivative, Dummy, Matrix, Symbol
from sympy.core.function import AppliedUndef

from .. import _compat
from ..errors import ConstrainedDynamicsError, ConstraintError, located
from ..graph import GraphBuilder, derivative, read
from ..graph.writing import operation_count, used_nodes
from .call_signatures import (
    arguments_of, as_expressions, as_list, bind_arguments, check_bodies,
    check_frame)
from .composite_bodies import moves_far, turns_in_plane
from .constraint_order import replaced_right_sides
from .constraint_rows import (
    need_frame, nested_expression, rows_by_level, rows_by_order)
from .constraints import check_multiples, constraint_blocks, not_implied
from .kinematics import Kinematics
from .kinetics import from_bodies
from .loads import parse_loads
from .potential import potential_of
from .system import ConstrainedSystem, freeze
from .unconstrained import (
    in_kanes_shape, in_lagranges_shape, set_to_zero, speeds_of)
from .velocity_checks import check_velocities, prepare_points

# Kinetics are formed by composite bodies or by single bodies, whichever takes
# fewer operations: a chain of more frames than SHORT by composite bodies.
# Both are formed, and the shorter is kept, where this may be wrong: for at
# most SMALL operations; for short chains with more than LARGE_OF_MANY; for
# chains in space with at most LARGE, or LARGE_OF_MANY beyond FEW bodies.
SHORT, SMALL = 2, 100
LARGE, FEW, LARGE_OF_MANY = 1000, 6, 350
# Compaction of more nodes than this saves 1 % of their operations, in a third
# of the time.
MOST_COMPACTED = 30_000
# The outputs that are evaluated for accelerations and consistent states.
SOLVED = ('rates', 'M', 'Q', 'A', 'b', 'holonomic', 'velocity')


def build_system(shape, arguments, nonideal_forces=None, stabilization=None,
                 potential_energy=None, generalized_forces=None,
                 in_velocities=False, exchange=None):
    """Return the constrained system of a call in one of the two shapes.

    For ``arguments`` see :func:`.bind_arguments`, for ``stabilization``
    :func:`.stabilization_gains`, for ``potential_energy``, which only Kane's
    shape has, :func:`.potential_of`. ``nonideal_forces`` are the generalized
    forces ``C`` (one per speed) or a list of loads; ``generalized_forces``,
    one per speed, are added to loads and Lagrangian.

    With ``in_velocities`` the model is stated in the ``q'``, for methods that
    vary a Lagrangian. The graph has more outputs: ``lagrangian``, the
    generalized forces ``applied`` that are not in it, and the user's
    ``speeds`` in the velocities. With an ``exchange``, a
    :class:`.MassExchange`, kinematics may be nonlinear in the speeds, loads
    linear in ``u'``, and constraints of any order.
    """
    bodies = as_list(arguments['bodies'], 'bodies')
    check_bodies(bodies)
    frame = arguments['frame']
    if shape == 'kane':
        check_frame(frame)
        arguments = {**arguments, 'potential': potential_of(
            bodies, potential_energy,
            as_list(arguments['forcelist'], 'forcelist'), True)}

    def formed(composite):
        builder, blocks, fields = form(
            shape, arguments, composite, nonideal_forces, stabilization,
            generalized_forces, in_velocities, exchange)
        return builder, blocks, fields, used_nodes(builder.nodes, [
            ref for name in SOLVED for row in blocks[name] for ref in row])

    several = shape == 'kane' and len(bodies) >= 3
    composite = several and moves_far(frame, bodies, SHORT)
    best = formed(composite)
    if several and is_doubtful(count(best), composite, frame, len(bodies)):
        both = [best, formed(not composite)]
        best = min(both if composite else both[::-1], key=count)
    builder, blocks, fields, used = best
    return ConstrainedSystem(
        graph=freeze(builder, blocks, fields['q'], fields['u'], *(
            (SOLVED, used) if len(builder.nodes) < MOST_COMPACTED else ())),
        **fields)


def count(formed):
    """Number of operations of what is solved."""
    builder, _, _, (order, _) = formed
    return operation_count(builder.nodes, order)


def is_doubtful(count, composite, frame, size):
    """Whether the other route may well take fewer operations."""
    if not composite:
        return not SMALL < count <= LARGE_OF_MANY
    return count <= (SMALL if turns_in_plane(frame) else
                     LARGE if size <= FEW else LARGE_OF_MANY)


def form(shape, arguments, composite, nonideal_forces, stabilization,
         generalized_forces, in_velocities, exchange):
    """Builder, blocks and other fields of the :class:`.ConstrainedSystem`.

    Kinetics are formed by composite bodies, or by single ones.
    """
    builder = GraphBuilder(_compat.time_symbol())
    model = in_kanes_shape(
        builder, arguments, composite, in_velocities, exchange
    ) if shape == 'kane' else in_lagranges_shape(builder, arguments, exchange)
    kinematics, fields = model.kinematics, model.fields
    # velocities of bodies are not read in Lagrange's shape
    bodies = fields['bodies'] if shape == 'kane' else ()
    C = nonideal(kinematics, nonideal_forces)
    kinetics = with_generalized(model, generalized_forces)
    if exchange:
        if arguments['bodies'] is not None:
            exchange.check_masses(builder, kinetics)
        kinetics = with_separate_accelerations(kinematics, kinetics)
    elif not in_velocities:
        kinetics = with_virtual_masses(kinematics, kinetics)
    given = rows_given(arguments)
    if any(given.values()):
        prepare_points(kinematics, bodies)
    constraints, of_rows = constrained(
        kinematics, rows_by_order(kinematics, given, stabilization)
        if exchange else rows_by_level(kinematics, given, shape),
        stabilization, in_velocities)
    blocks = {
        **kinetics._asdict(), 'mass_rates': model.mass_rates,
        'rates': [[rate] for rate in kinematics.rates], 'C': C, **constraints}
    if in_velocities:
        blocks['speeds'] = [[read(builder, x)] for x in model.speeds]
    else:
        del blocks['lagrangian'], blocks['applied']
    check_accelerations(kinematics, blocks,
                        {*model.speeds}.difference(fields['u']))
    check_names(builder, fields)
    blocks.update(check_velocities(kinematics, bodies))
    blocks['rotation'] = [[x] for x in kinematics.rotation_residuals(
        [body.frame for body in fields['bodies']
         if kinematics.frame and hasattr(body, 'frame')], kinematics.q)]
    if power_is_costly(builder, blocks):
        blocks['power'] = []
    time = {builder.time}               # compared by hash
    symbols = tuple(x for x in builder.inputs
                    if isinstance(x, Symbol) and x not in time)
    return builder, blocks, dict(
        fields, stabilization=stabilization, symbols=symbols,
        masses=tuple(exchange.rates) if exchange else (), **of_rows)


ROWS = {'holonomic': ('configuration_constraints', 'hol_coneqs'),
        'velocity': ('velocity_constraints', 'nonholonomic_constraints',
                     'nonhol_coneqs'),
        'acceleration': ('acceleration_constraints',)}


def rows_given(arguments):
    """The residuals of a call in any shape, by level."""
    given = {level: [name for name in names
                     if arguments.get(name) is not None]
             for level, names in ROWS.items()}
    if len(given['velocity']) > 1:
        raise ConstraintError(
            "Both `velocity_constraints` and `nonholonomic_constraints` were "
            "given. The first contains the second; give one of them.")
    return {level: [row for name in names for row in as_expressions(
        arguments[name], name, True)] for level, names in given.items()}


def constrained(kinematics, rows, stabilization, in_velocities=False):
    """Blocks and fields of the :class:`.ConstrainedSystem` of some rows."""
    levels = rows.holonomic, rows.velocity, rows.acceleration
    blocks = constraint_blocks(kinematics, *(
        [row.ref for row in level] for level in levels), stabilization)
    unstated = rows.unstated and tuple(not_implied(
        kinematics.builder, blocks['velocity_jacobian'], rows.unstated))
    names, others = ([row.label for row in level] for level in levels[:2])
    check_multiples(kinematics, blocks, 'holonomic', names)
    check_multiples(kinematics, blocks, 'velocity', [
        *(f'The rate of {name}' for name in names), *others])
    blocks['higher'] = [[row.ref] for row in rows.higher]
    if rows.instead:
        blocks['b'], blocks['replaced'] = replaced_right_sides(
            kinematics, rows.instead, blocks['b'])
    fields = {f'{level}_rows': tuple(row.expression for row in getattr(
        rows, level)) for level in ('holonomic', 'velocity', 'acceleration',
                                    'higher')}
    if in_velocities:                   # they may be in other speeds
        fields['velocity_rows'] = tuple(nested_expression(
            kinematics.builder, row.ref) for row in rows.velocity)
    return blocks, dict(
        fields, unstated=unstated, places=rows.places,
        loops=rows_of_loops(rows.holonomic),
        geometry=tuple((k, row.location) for k, row in enumerate(
            chain(*levels)) if row.location))


def rows_of_loops(rows):
    """Pairs of a loop and ``{row number: label}``."""
    loops, parts = {}, {}
    for k, row in enumerate(rows):
        if row.loop:
            name = row.loop.label
            if loops.setdefault(name, row.loop) != row.loop:
                raise ConstraintError(
                    f"Two loops have the name `{name}`. Give one of them "
                    "another `name`.")
            parts.setdefault(name, {})[k] = row.label
    return tuple((loops[name], parts[name]) for name in loops)


def with_separate_accelerations(kinematics, kinetics):
    """Kinetics with the terms of ``u'`` of the loads in the mass matrix."""
    M, Q, power = [], [], kinetics.power
    for row, (force,) in zip(kinetics.M, kinetics.Q):
        parts = kinematics.linear_in_accelerations(force)
        if parts is None:
            raise not_linear(kinematics, force)
        slopes, rest = parts
        M.append(list(map(kinematics.builder.sub, row, slopes)))
        Q.append([rest])
    if power and kinematics.accelerations_in(power[0][0]):
        power = []                      # masses that depend on speeds
    return kinetics._replace(M=M, Q=Q, power=power)


def with_virtual_masses(kinematics, kinetics):
    """The same for methods that need a symmetric mass matrix."""
    late = kinematics.accelerations_in(*(x for x, in kinetics.Q))
    if not late or kinematics.accelerations_in(
            *(x for row in kinetics.M for x in row)):
        return kinetics
    kinetics = with_separate_accelerations(kinematics, kinetics)
    if [list(column) for column in zip(*kinetics.M)] != kinetics.M:
        raise ConstrainedDynamicsError(
            f"The loads contain {late[0]}, and with such loads the mass "
            "matrix is not symmetric, because they do not act where the "
            "acceleration is taken. Use GibbsAppellMethod, which needs no "
            "symmetry, or replace the acceleration by an expression in "
            "coordinates, speeds and time.")
    return kinetics


def not_linear(kinematics, force):
    late = kinematics.accelerations_in(
        force, allowed=kinematics.accelerations)
    return ConstrainedDynamicsError(
        "The loads " + (f"contain {late[0]}, which is not the rate of a speed"
                        if late else "are not linear in the accelerations")
        + ". They may depend on coordinates, speeds, time and, linearly, on "
        "the rates of the speeds; write them in these.")


def check_accelerations(kinematics, blocks, replaced):
    """Raise if blocks have accelerations, or rates of replaced speeds."""
    refs = [ref for name, rows in blocks.items() if name != 'higher'
            for row in rows for ref in row]
    moving = kinematics.accelerations_in(*refs)
    moving += [x for x in kinematics.builder.symbols_of(*refs)
               if isinstance(x, Derivative) and x.expr in replaced
               ] if replaced else []
    if moving:
        raise ConstrainedDynamicsError(
            "The loads, velocities, inertias, gains or the Lagrangian "
            f"contain {moving[0]}. They may depend on coordinates, speeds "
            "and time; replace the acceleration by an expression in them, or "
            "model what depends on it as a body with mass. Loads that are "
            "linear in accelerations are for UdwadiaKalabaMethod, "
            "LinearMappingMethod and GibbsAppellMethod.")


def nonideal(kinematics, forces):
    """Rows of the generalized forces ``C`` of non-ideal constraints."""
    forces, size = as_list(forces, 'nonideal_forces'), len(kinematics.u)
    if not forces:
        return [[0] for _ in range(size)]
    if any(isinstance(x, tuple) or hasattr(x, 'to_loads') for x in forces):
        need_frame(kinematics, 'a load of `nonideal_forces`')
        return from_bodies(kinematics, (), parse_loads(forces)).Q
    if len(forces) != size:
        raise ValueError(
            f"`nonideal_forces` has {len(forces)} entries for {size} speeds. "
            "Give one generalized force per speed, or a list of loads.")
    return [[x] for x in read_forces(
        kinematics.builder, forces, 'nonideal_forces')]


def read_forces(builder, forces, name):
    refs = []
    for k, force in enumerate(as_expressions(forces, name)):
        with located(f'Entry {k} of `{name}`'):
            refs.append(read(builder, force))
    return refs


def with_generalized(model, forces):
    """Kinetics with the forces that were given per speed of the user."""
    # Where the system has other speeds ``v``, multiply by ``du/dv``.
    kinematics, kinetics = model.kinematics, model.kinetics
    forces, speeds = as_list(forces, 'generalized_forces'), model.speeds
    if not forces:
        return kinetics
    if len(forces) != len(speeds):
        raise ValueError(
            f"`generalized_forces` has {len(forces)} entries for "
            f"{len(speeds)} speeds. Give one generalized force per speed, or "
            "0.")
    g = kinematics.builder
    refs = read_forces(g, forces, 'generalized_forces')
    speeds = [read(g, x) for x in speeds]
    forces = [g.sum(g.mul(ref, by_speed(speed))
                    for ref, speed in zip(refs, speeds))
              for by_speed in kinematics.by_speed]
    Q, applied = ([[g.add(x, force)] for (x,), force in zip(rows, forces)]
                  for rows in (kinetics.Q, kinetics.applied))
    return kinetics._replace(Q=Q, applied=applied, power=[
        [g.add(x, g.dot(forces, kinematics.u))] for x, in kinetics.power])


def check_names(builder, fields):
    """Raise if the time or a function of time shares its name."""
    # A symbol with a coordinate's name would silently become a constant.
    known = {}

    def kind(x):
        if x == builder.time:
            return 'the time'
        return ('the function of time' if isinstance(x, AppliedUndef)
                else 'the symbol')

    for x in (builder.time, *fields['q'], *fields['u'], *builder.inputs):
        x = x.expr if isinstance(x, Derivative) else x
        name = (x.func.__name__ if isinstance(x, AppliedUndef)
                else x.name if type(x) is Symbol else str(x))
        other = known.setdefault(name, x)
        if other is x or other == x or Dummy in (type(x), type(other)) or (
                kind(other) == kind(x) == 'the symbol'):
            continue
        one, two = (f'{kind(y)} `{y}`' for y in (other, x))
        raise ConstrainedDynamicsError(
            f"Two things in the model have the name `{name}`: {one} and {two}"
            f"{', with other assumptions' if one == two else ''}. SymPy takes "
            "them for different ones. Use one of them everywhere, or give "
            "the other another name.", name=name)


def power_is_costly(builder, blocks):
    """Whether the power alone needs derivatives of inputs."""
    others = builder.symbols_of(*(
        ref for name, rows in blocks.items() if name != 'power'
        for row in rows for ref in row))
    return any(isinstance(x, Derivative) and x not in others
               for x in builder.symbols_of(*(x for x, in blocks['power'])))


def system_of(model):
    """The system of a method, a ready model or an object of SymPy.

    In Kane's shape without the potential energy of bodies.
    """
    for system in model, getattr(model, 'system', None):
        if isinstance(system, ConstrainedSystem):
            return system
    shape, arguments = bind_arguments('system_of', (), {
        **model.arguments, 'acceleration_constraints': model.extra.get(
            'acceleration_constraints')} if hasattr(model, 'arguments')
        else arguments_of(model)[1])
    return build_system(shape, arguments, **(
        {'potential_energy': 'ignore'} if shape == 'kane' else {}))


def kinematics_of(system, anchors=None, bind_masses=True, method=None):
    """The kinematics of a system on a new builder.

    It knows the speeds of the user of a ``method`` that is stated in the
    ``q'``.
    """
    builder = GraphBuilder(system.t)
    for x in (*system.q, *system.u, *system.masses):
        builder.input(x, dynamic=True)
    set_to_zero(builder, system.u_auxiliary)
    names = ('rates', 'mass_rates') if bind_masses and system.masses else (
        'rates',)
    _, outputs = system.graph.load(builder, names)
    for mass, rate in zip(system.masses, outputs.get('mass_rates', ())):
        builder.bound[derivative(mass, system.t)] = rate[0]
    kinematics = Kinematics(builder, system.frame, system.q, system.u,
                            [rate for rate, in outputs['rates']], anchors)
    shape, arguments = getattr(method, '_call', ('', {}))
    if shape == 'kane' and 'speeds' in system.graph.outputs:
        kinematics.given_speeds = speeds = speeds_of(arguments)
        _, rows = system.graph.load(builder, ('speeds',))
        builder.bound.update((x, ref) for x, (ref,) in zip(
            speeds, rows['speeds']) if x not in system.u)
    return kinematics


def applied_forces(system, potential):
    """Generalized applied forces of a system in Kane's shape, (o, 1)."""
    kinematics = kinematics_of(system)
    kinetics = from_bodies(kinematics, (), parse_loads(system.loads),
                           potential)
    return Matrix([nested_expression(kinematics.builder, ref)
                   for ref, in kinetics.Q])


def inertia_forces(system):
    """A builder with the generalized inertia forces of the bodies."""
    kinematics = kinematics_of(system)
    g = kinematics.builder
    kinetics = from_bodies(kinematics, system.bodies, ())
    rates = [g.input(derivative(x, system.t), dynamic=True) for x in system.u]
    for row, (x,) in zip(kinetics.M, kinetics.Q):
        g.sub(x, g.dot(row, rates))
    return g


def symbols_in_use(system):
    used = (*system.graph.inputs, *system.q, *system.u)
    return {x.name if isinstance(x, Symbol)
            else str(getattr(x, 'expr', x).func) for x in used}
