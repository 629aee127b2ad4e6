"""From the arguments of a model to the tables of its recursive equations."""
from types import SimpleNamespace

from sympy import Function, Tuple

from ... import _compat
from ...errors import MissingIngredientError, raise_problems
from ...graph import (
    GraphBuilder, derivative, gradient, is_function_of, read, substitute)
from ...model.build import rows_given
from ...model.call_signatures import (
    arguments_of, as_list, check_bodies, check_coordinates)
from ...model.constraint_rows import residuals_of
from ...model.kinematic_equations import solve_kinematics
from ...model.potential import potential_of
from ...model.unconstrained import set_to_zero, speeds_of
from ..inputs import Inputs, Resolution, function_of
from .local_kinematics import LocalKinematics, refused
from .rows import forces_of, loads_of, rows_of
from .tables import Tables
from .tree import Tree


# Options of a method that are taken.
ALLOWED = 'stabilization', 'potential_energy', 'generalized_forces'


def tables_of(model, inputs, loops):
    """The :class:`.Tables` of a System, a KanesMethod or a method class."""
    options = getattr(model, '_options', {})
    if hasattr(model, '_special') and not hasattr(model, '_is_explicit'):
        raise refused(f"{type(model).__name__} has other equations than "
                      "those of Newton and Euler with ideal constraints; "
                      "give its System, or make a UdwadiaKalabaMethod.")
    special = [name for name, found in getattr(
        model, '_special', {}).items() if found]
    special += [name for name in options
                if name in model._accepts and name not in ALLOWED]
    if special:
        raise refused(f"It has {', '.join(special)}.")
    shape, arguments = arguments_of(model)
    if shape != 'kane':
        raise refused("It was made from a Lagrangian.")
    name = 'configuration_constraints'
    arguments = {**arguments, name: as_list(
        arguments.get(name), name) + as_list(loops, 'loops')}
    bodies, loads, auxiliary, dependent = (as_list(
        arguments.get(name), name) for name in (
            'bodies', 'forcelist', 'u_auxiliary', 'q_dependent'))
    check_bodies(bodies)
    builder = GraphBuilder(_compat.time_symbol())
    q, u = as_list(arguments['q_ind'], 'q_ind') + dependent, speeds_of(
        {'u_dependent': None, **arguments})
    check_coordinates(q, u + auxiliary, builder.time)
    set_to_zero(builder, auxiliary)
    values, inputs = inputs or {}, inputs_of(inputs or {}, q, u, builder.time)
    rates = rates_of(builder, as_list(arguments['kd_eqs'], 'kd_eqs'), q, u,
                     inputs)
    kinematics = LocalKinematics(builder, arguments['frame'], q, u, rates)
    bind(builder, inputs)               # again, as q' has its rate now
    for item in inputs:
        rate = builder.bound[item]
        for order in 1, 2:
            if builder.depends_on(rate, *kinematics.u):
                break                   # then it has an acceleration
            rate = kinematics.bias(rate)
            builder.bound[derivative(item, builder.time, order)] = rate
    states = *kinematics.q, *kinematics.u
    tree = without_feedback(
        kinematics, inputs, states, Tree, kinematics, bodies)
    others, forces = loads_of(tree, loads)
    potential = without_feedback(
        kinematics, inputs, states, read, builder, potential_of(
            bodies, options.get('potential_energy'), loads))
    forces_of(kinematics, potential, as_list(
        options.get('generalized_forces'), 'generalized_forces'), forces)
    if any(builder.depends_on(builder.bound[x], *states) for x in inputs):
        given = rows_given(arguments)
        for level, some in ('holonomic', states), ('velocity', kinematics.u):
            without_feedback(kinematics, inputs, some, residuals_of,
                             kinematics, level, given[level])
    rows = rows_of(tree, arguments, options.get('stabilization'))
    check_names(kinematics, values, inputs)
    return Tables(tree, others, forces, rows, potential)


def without_feedback(kinematics, inputs, states, make, *arguments):
    """What is made; raise if it reads an input that depends on states."""
    builder = kinematics.builder
    builder.read.clear()                # so that inputs are read again
    start = len(builder.kept)
    made = make(*arguments)
    for item in builder.kept[start:]:
        if not inputs.keys().isdisjoint((item, function_of(item))) and (
                item not in builder.bound       # it has an acceleration
                or builder.depends_on(builder.bound[item], *states)):
            raise refused(
                f"The input {item} moves bodies, changes a potential or "
                "is in a constraint on places or speeds, and depends on "
                "states; write its expression in the model.")
    return made


def check_names(kinematics, values, inputs):
    """Raise if ``inputs`` have a name that the model does not contain."""
    for item in inputs:
        if item != function_of(item) and function_of(item) in inputs:
            raise refused(
                f"`inputs` have values for {function_of(item)} and for {item}"
                ", which follows from the first. Leave it out.")
    time = kinematics.builder.time
    states = SimpleNamespace(
        states=kinematics.coordinates + kinematics.speeds)
    raise_problems(Resolution(time, states).read(values, [
        x for x in kinematics.builder.kept if is_function_of(x, time)
        and function_of(x) not in kinematics.functions
    ]), MissingIngredientError)


def rates_of(builder, equations, q, u, inputs):
    """References of ``q'``, row by row where each row has one of them."""
    names = [derivative(x, builder.time) for x in q]
    for x in (*u, *q, *names):
        builder.input(x, dynamic=True)
    bind(builder, inputs)
    moving = [builder.bound[x] for x in (*u, *names)]
    for item in inputs:
        if builder.depends_on(builder.bound[item], *moving) and (
                Tuple(*equations).has(item)):
            raise refused(f"`kd_eqs` contain the input {item}, which depends "
                          "on a speed, so its rate is an acceleration.")
    slots, found = {builder.bound[x]: x for x in names if x not in u}, {}
    position = {builder.mask([slot]).bit_length(): slot for slot in slots}
    every = builder.mask(slots)
    for row in equations:
        ref = read(builder, row)
        bits = builder.mask([ref]) & every
        slot = position.get(bits.bit_length())
        if slot is None or bits & (bits - 1) or slot in found:
            return solve_kinematics(builder, equations, q, u)
        slope, = gradient(builder, ref, [slot])
        rest, = substitute(builder, [ref], {slot: 0})
        if builder.mask([slope]) & bits:
            return solve_kinematics(builder, equations, q, u)
        found[slot] = builder.div(-rest, slope)
    if len(found) < len(slots):
        return solve_kinematics(builder, equations, q, u)
    return [found.get(builder.bound[x], builder.bound[x]) for x in names]


def inputs_of(values, q, u, time):
    """Expressions of the inputs, after the inputs that they contain."""
    states = *q, *u, *(derivative(x, time) for x in q)
    functions = {
        x: x if is_function_of(x, time) else Function(str(x))(time)
        for x in values}
    functions = {x: f for x, f in functions.items() if f not in states}
    found = Inputs.match(
        list(dict.fromkeys(functions.values())),
        {x: values[x] for x in functions}, time,
        SimpleNamespace(states=states, graph=None), False)
    for item in found.called:
        raise refused(f"The input {item} is a Python function or a table.")
    return found.given


def bind(builder, inputs):
    """Let expressions stand for the specified functions of time."""
    for item, expr in inputs.items():
        builder.bound[item] = read(builder, expr)
