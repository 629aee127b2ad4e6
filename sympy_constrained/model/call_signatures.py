"""The two call shapes of SymPy's methods: binding and checking arguments.

An error names all problems of the arguments that are checked together.
"""
import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from itertools import chain

from sympy import (
    Equality, Expr, ImmutableDenseMatrix, Mul, SympifyError, sympify)
from sympy.core.function import AppliedUndef, Derivative
from sympy.matrices import MatrixBase
from sympy.physics.mechanics import (
    KanesMethod, LagrangesMethod, Lagrangian, Particle, RigidBody, System)
from sympy.physics.vector import ReferenceFrame

from .. import _compat
from ..errors import (
    ConstrainedDynamicsError, ConstraintError, KinematicsError,
    UnsupportedFeatureError, check_kind, raise_problems)
from .loads import loads_of


def kane_shape(frame, q_ind, u_ind, kd_eqs=None, q_dependent=None,
               configuration_constraints=None, u_dependent=None,
               velocity_constraints=None, acceleration_constraints=None,
               u_auxiliary=None, bodies=None, forcelist=None,
               explicit_kinematics=True, kd_eqs_solver='LU',
               constraint_solver='LU', nonholonomic_constraints=None):
    """The arguments of ``KanesMethod``, in its order."""
    return locals()


def lagrange_shape(Lagrangian, qs, forcelist=None, bodies=None, frame=None,
                   hol_coneqs=None, nonhol_coneqs=None, *,
                   acceleration_constraints=None):
    """The arguments of ``LagrangesMethod``, in its order, and one of ours."""
    return locals()


SHAPES = {'kane': kane_shape, 'lagrange': lagrange_shape}
# What an argument of one shape is called in the other.
COUNTERPARTS = {
    'configuration_constraints': 'hol_coneqs',
    'velocity_constraints': 'nonhol_coneqs',
    'nonholonomic_constraints': 'nonhol_coneqs', 'q_ind': 'qs',
    'hol_coneqs': 'configuration_constraints',
    'nonhol_coneqs': 'velocity_constraints', 'qs': 'q_ind'}
MODELS = (KanesMethod, LagrangesMethod)


def shape_of(args, kwargs):
    if args:
        return shape_by_first(args[0])
    for shape, names in (('lagrange', {'Lagrangian', 'qs'}),
                         ('kane', {'q_ind', 'u_ind', 'frame'})):
        if not names.isdisjoint(kwargs):
            return shape
    raise TypeError(
        "No model was given. Call with the arguments of KanesMethod (frame, "
        "q_ind, u_ind, ...) or with those of LagrangesMethod (Lagrangian, "
        "qs, ...).")


def shape_by_first(first):
    if isinstance(first, ReferenceFrame):
        return 'kane'
    if isinstance(as_expression(first), Expr):
        return 'lagrange'
    if isinstance(first, MODELS) or hasattr(first, 'form_eoms'):
        raise TypeError(
            f"The first argument is a {type(first).__name__}, which is "
            "a model and not an argument of one. Call "
            "`from_method(model)` of the class.")
    raise TypeError(
        f"The first argument is {first!r}. Give the inertial "
        "ReferenceFrame, as for KanesMethod, or a Lagrangian expression, "
        "as for LagrangesMethod.")


def bind_arguments(name, args, kwargs, options=()):
    """Return the shape of a call and its arguments with defaults."""
    shape = shape_of(args, kwargs)
    try:
        arguments = SHAPES[shape](*args, **kwargs)
    except TypeError as error:
        known = inspect.signature(SHAPES[shape]).parameters
        fact = str(error).removeprefix(f'{shape}_shape() ')
        hints = [hint_for(key, known, options)
                 for key in kwargs if key not in known]
        upstream = 'KanesMethod' if shape == 'kane' else 'LagrangesMethod'
        raise TypeError(
            f"{name}: {fact}. {' '.join([*hints, '']) or 'Correct it. '}"
            f"In {upstream}'s shape the arguments are {', '.join(known)}; "
            f"options are {', '.join(options)}.") from None
    return shape, {key: own(value) for key, value in arguments.items()}


def lagrangian_call(arguments):
    """The same model in Lagrange's shape if it has no speeds, else None."""
    # ``System.form_eoms`` calls in Kane's shape even without speeds.
    def given(*names):
        return [as_list(arguments[name], name) for name in names]

    if any(given('u_ind', 'u_dependent', 'kd_eqs')):
        return None
    bodies, independent, dependent, holonomic, velocity, nonholonomic = given(
        'bodies', 'q_ind', 'q_dependent', 'configuration_constraints',
        'velocity_constraints', 'nonholonomic_constraints')
    if not (bodies and independent):
        return None
    rates = [x.diff(_compat.time_symbol()) for x in holonomic]
    return {
        'Lagrangian': Lagrangian(arguments['frame'], *bodies),
        'qs': independent + dependent, 'hol_coneqs': holonomic,
        'nonhol_coneqs': [x for x in velocity if x not in rates]
        + nonholonomic,
        **{name: arguments[name] for name in (
            'frame', 'bodies', 'forcelist', 'acceleration_constraints')}}


def own(value):
    """A copy of a list, or of an iterator, which can be read only once."""
    return list(value) if isinstance(value, list) or hasattr(
        value, '__next__') else value


def hint_for(key, parameters, options):
    """A sentence about a keyword that a call does not have."""
    if COUNTERPARTS.get(key) in parameters:
        return (f"`{key}` belongs to the other shape; here it is "
                f"`{COUNTERPARTS[key]}`.")
    near = get_close_matches(key, [*parameters, *options], 1)
    return (f"Did you mean `{near[0]}`?" if near else
            f"Leave `{key}` out.")


def arguments_of(model):
    """Shape and arguments of a ``System``, ``KanesMethod``, ... object."""
    if isinstance(model, System):
        loads = [*model.loads, *chain(*map(loads_of, model.actuators))]
        velocity = list(model.velocity_constraints)
        return 'kane', {
            'frame': model.frame, 'q_ind': list(model.q_ind),
            'q_dependent': list(model.q_dep), 'u_ind': list(model.u_ind),
            'u_dependent': list(model.u_dep), 'kd_eqs': list(model.kdes),
            'u_auxiliary': list(model.u_aux),
            'configuration_constraints': list(model.holonomic_constraints),
            'velocity_constraints': velocity,
            'bodies': list(model.bodies), 'forcelist': loads}
    if hasattr(model, '_convert_bodies'):       # a JointsMethod
        return 'kane', {
            'frame': model.frame, 'q_ind': list(model.q),
            'u_ind': list(model.u), 'kd_eqs': list(model.kdes),
            'bodies': model._convert_bodies(), 'forcelist': model.loads}
    mro = type(model).__mro__           # registered classes do not count
    if KanesMethod in mro:
        return 'kane', _compat.kane_parts(model)
    if LagrangesMethod in mro:
        return 'lagrange', _compat.lagrange_parts(model)
    if hasattr(model, '_call'):
        return model._call
    raise UnsupportedFeatureError(
        f"A model cannot be read from {model!r}. Give a System, a "
        "JointsMethod, a KanesMethod or a LagrangesMethod object.")


# -- normalising ---------------------------------------------------------

def as_list(value, name):
    """A list of the entries of a matrix, an iterable or a single one."""
    if value is None:
        return []
    if isinstance(value, MatrixBase):
        return list(value)
    if isinstance(value, (str, dict, set, frozenset)):
        raise TypeError(
            f"`{name}` is a {type(value).__name__}. Give a list, a tuple or "
            "a column matrix, whose order is kept.")
    if hasattr(value, '_fields'):       # a named tuple, such as a Loop
        return [value]
    try:
        return list(value)
    except TypeError:
        return [value]


def as_expressions(value, name, geometric=False):
    """Expressions; of an equation, its residual.

    ``geometric`` rows, which are tuples, are kept.
    """
    given = as_list(value, name)
    entries = [row if geometric and isinstance(row, tuple)
               else as_expression(row) for row in given]
    raise_problems((
        f"{'Row' if geometric else 'Entry'} {k} of `{name}` is {given[k]!r}, "
        "which is not an expression. Give "
        f"{'the residual of a constraint' if geometric else 'one'}."
        for k, entry in enumerate(entries)
        if not isinstance(entry, (Expr, Equality, tuple))), ConstraintError)
    return [row.lhs - row.rhs if isinstance(row, Equality) else row
            for row in entries]


def as_dictionary(value, name):
    value = {} if value is None else value
    check_kind(name, value, Mapping, 'Give a dictionary.')
    return dict(value)


def as_point(value):
    """One dictionary of values from a dictionary, or from several."""
    points = value if isinstance(value, (list, tuple)) else [value or {}]
    if not all(hasattr(point, 'items') for point in points):
        raise TypeError(f"`op_point` is {value!r}. Give a dictionary, or a "
                        "list of dictionaries.")
    return {sympify(x, strict=True): sympify(number, strict=True)
            for point in points for x, number in point.items()}


def as_matrix(value, name):
    """An immutable matrix of expressions; text is not evaluated."""
    if not isinstance(value, MatrixBase):
        value = [as_expressions(row, name) for row in as_list(value, name)]
    return ImmutableDenseMatrix(value)


def as_expression(value):
    """What SymPy makes of a value; None for text and what it refuses."""
    try:
        return sympify(value, strict=True)
    except (TypeError, ValueError, AttributeError, SympifyError):
        return None


def check_coordinates(q, u, time):
    problems = [] if q or u else [
        "The model has no coordinate and no speed, so nothing in it can "
        "move. Name the generalized coordinates."]
    problems += name_problems('coordinate', q, q, time)
    problems += name_problems('speed', u, [
        x.expr if isinstance(x, Derivative) else x for x in u], time)
    both = {*q}.intersection(u)
    problems += (
        f"`{x}` is both a coordinate and a speed. Use another symbol, or "
        "the derivative of the coordinate, as speed." for x in u if x in both)
    raise_problems(problems, KinematicsError)


def name_problems(label, names, functions, time):
    seen = set()
    for x, base in zip(names, functions):
        if not isinstance(base, AppliedUndef) or base.args != (time,):
            yield (f"The generalized {label} `{x}` is not a function of "
                   f"time `{time}`. Create it with `dynamicsymbols`.")
        elif x in seen:
            yield (f"The generalized {label} `{x}` occurs twice. Name it "
                   "once, as independent or as dependent. If two parts of "
                   "the model have one each, give them different names.")
        seen.add(x)


def check_choice(argument, value, choices):
    if value not in choices:
        names = list(map(repr, choices))
        raise ValueError(
            f"`{argument}` is {value!r}. Choose " + (
                ' or '.join(names) if len(names) == 2
                else f"one of {', '.join(names)}") + '.')


def check_known(argument, given, known):
    """Raise if a dictionary has a key that does not occur in the model."""
    unknown = [str(x) for x in given if x not in known]
    if unknown:
        near = get_close_matches(unknown[0], map(str, known), 1)
        hint = f"Did you mean `{near[0]}`? " if near else ''
        raise ValueError(
            f"`{argument}` has a value for {', '.join(unknown)}, which does "
            f"not occur in the model. {hint}Use its symbols, states and "
            "functions themselves, not their names.")


def check_frame(frame, remedy='Give the inertial ReferenceFrame.'):
    check_kind('frame', frame, ReferenceFrame, remedy)


def check_bodies(bodies):
    """Raise for what is not a body, repeated bodies and negative masses."""
    problems = []
    for k, body in enumerate(bodies):
        if not isinstance(body, (RigidBody, Particle)):
            problems.append(
                f"Body {k} is {body!r}. Bodies are RigidBody or Particle "
                "objects; wrap the point or frame in one of them.")
            continue
        if any(body is other for other in bodies[:k]):
            problems.append(
                f"Body {k}, {body.name}, was given before, so its mass would "
                "count twice. Remove the repetition.")
        if is_negative(sympify(body.mass, strict=True)):
            problems.append(
                f"Body {k}, {body.name}, has the negative mass {body.mass}. "
                "Correct the sign.")
    raise_problems(problems, ConstrainedDynamicsError)


def is_negative(x):
    # Without a question about a symbol without assumptions, or a product of a
    # symbol of unknown sign: SymPy takes long to answer.
    return not any(factor.is_Symbol and (
        len(factor.assumptions0) == 1 or factor.is_extended_positive is None)
        for factor in Mul.make_args(x)) and x.is_extended_negative


def frames_of(dyadic):
    """The frames in which a dyadic is written; zero has none."""
    return {frame for _, *units in getattr(dyadic, 'args', ())
            for unit in units for _, frame in unit.args}
