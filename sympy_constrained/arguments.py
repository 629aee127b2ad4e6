"""The two call shapes of SymPy's methods: binding and checking arguments.

What goes wrong with one argument is told with all that goes wrong with the
others.
"""
from __future__ import annotations

import inspect
from itertools import chain

from sympy import Equality, Expr, sympify
from sympy.core.function import AppliedUndef, Derivative
from sympy.matrices import MatrixBase
from sympy.physics.mechanics import (
    KanesMethod, LagrangesMethod, Particle, RigidBody)
from sympy.physics.vector import ReferenceFrame

from . import _compat
from .errors import (
    ConstrainedDynamicsError, ConstraintError, KinematicsError,
    UnsupportedFeatureError, raise_problems)

__all__ = ['arguments_of', 'bind_arguments', 'as_list', 'as_residuals',
           'check_bodies', 'check_coordinates']


def kane_shape(frame, q_ind, u_ind, kd_eqs=None, q_dependent=None,
               configuration_constraints=None, u_dependent=None,
               velocity_constraints=None, acceleration_constraints=None,
               u_auxiliary=None, bodies=None, forcelist=None,
               explicit_kinematics=True, kd_eqs_solver='LU',
               constraint_solver='LU', nonholonomic_constraints=None):
    """The arguments of ``KanesMethod``, in its order."""


def lagrange_shape(Lagrangian, qs, forcelist=None, bodies=None, frame=None,
                   hol_coneqs=None, nonhol_coneqs=None, *,
                   acceleration_constraints=None):
    """The arguments of ``LagrangesMethod``, in its order, and one of ours."""


SHAPES = {'kane': inspect.signature(kane_shape),
          'lagrange': inspect.signature(lagrange_shape)}


def shape_of(args, kwargs):
    """Which of the two calls this is."""
    if args:
        if isinstance(args[0], ReferenceFrame):
            return 'kane'
        if isinstance(as_expression(args[0]), Expr):
            return 'lagrange'
        raise TypeError(
            f"The first argument is {args[0]!r}. Give the inertial "
            "ReferenceFrame, as for KanesMethod, or a Lagrangian expression, "
            "as for LagrangesMethod.")
    if 'Lagrangian' in kwargs or 'qs' in kwargs:
        return 'lagrange'
    if 'q_ind' in kwargs or 'u_ind' in kwargs or 'frame' in kwargs:
        return 'kane'
    raise TypeError(
        "No model was given. Call with the arguments of KanesMethod (frame, "
        "q_ind, u_ind, ...) or with those of LagrangesMethod (Lagrangian, "
        "qs, ...).")


def bind_arguments(name, args, kwargs, options=()):
    """Return the shape of a call and its arguments with defaults.

    ``options`` are further keywords of the class, for the message.
    """
    shape = shape_of(args, kwargs)
    signature = SHAPES[shape]
    upstream = 'KanesMethod' if shape == 'kane' else 'LagrangesMethod'
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(
            f"{name}: {error}. In {upstream}'s shape the arguments are "
            f"{', '.join(signature.parameters)}; options are "
            f"{', '.join(options)}.") from None
    bound.apply_defaults()
    return shape, dict(bound.arguments)


def arguments_of(model):
    """Shape and arguments of a ``System``, ``KanesMethod``, ... object.

    Raises
    ======

    UnsupportedFeatureError
        If the object is none of the three.

    """
    if hasattr(model, 'form_eoms') and hasattr(model, 'kdes'):
        loads = list(chain(model.loads, *(
            actuator.to_loads() for actuator in model.actuators)))
        velocity = list(model.velocity_constraints)
        return 'kane', {
            'frame': model.frame, 'q_ind': list(model.q_ind),
            'q_dependent': list(model.q_dep), 'u_ind': list(model.u_ind),
            'u_dependent': list(model.u_dep), 'kd_eqs': list(model.kdes),
            'u_auxiliary': list(model.u_aux),
            'configuration_constraints': list(model.holonomic_constraints),
            'velocity_constraints': velocity,
            'bodies': list(model.bodies), 'forcelist': loads}
    mro = type(model).__mro__           # registered classes do not count
    if KanesMethod in mro:
        return 'kane', _compat.kane_parts(model)
    if LagrangesMethod in mro:
        return 'lagrange', _compat.lagrange_parts(model)
    if hasattr(model, 'call'):
        return model.call
    raise UnsupportedFeatureError(
        f"A model cannot be read from {type(model).__name__}. Give a System, "
        "a KanesMethod or a LagrangesMethod object.")


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
    try:
        return list(value)
    except TypeError:
        return [value]


def as_residuals(value, name, geometric=False):
    """Expressions that are meant to vanish; equations are accepted.

    With ``geometric`` rows may also be tuples, which are let through.
    """
    residuals, problems = [], []
    for k, row in enumerate(as_list(value, name)):
        if geometric and isinstance(row, tuple):
            residuals.append(row)
            continue
        found = as_expression(row)
        if isinstance(found, Equality):
            found = found.lhs - found.rhs
        if not isinstance(found, Expr):
            problems.append(
                f"Row {k} of `{name}` is {row!r}, which is not an "
                "expression. Give the residual, an expression that is zero "
                "when the constraint holds. Only velocity-level rows may be "
                "tuples of a point or frame and a direction.")
        residuals.append(found)
    raise_problems(problems, ConstraintError)
    return residuals


def as_expression(value):
    """What SymPy makes of a value; None for strings and what it refuses."""
    if isinstance(value, str):
        return None
    try:
        return sympify(value)
    except (TypeError, ValueError, AttributeError, SyntaxError):
        return None


def check_coordinates(q, u, time):
    """Raise one error with all that is wrong with coordinates and speeds."""
    problems = []
    for label, xs in (('coordinate', q), ('speed', u)):
        seen = set()
        for x in xs:
            is_function = (isinstance(x, (AppliedUndef, Derivative)) and
                           x.free_symbols == {time})
            if not is_function:
                problems.append(
                    f"The generalized {label} `{x}` is not a function of "
                    f"time. Create it with `dynamicsymbols('{x}')`.")
            elif x in seen:
                problems.append(
                    f"The generalized {label} `{x}` occurs twice. Name it "
                    "once, as independent or as dependent.")
            seen.add(x)
    for x in u:
        if x in q:
            problems.append(
                f"`{x}` is both a coordinate and a speed. Use another "
                "symbol, or the derivative of the coordinate, as speed.")
    raise_problems(problems, KinematicsError)


def check_bodies(bodies):
    """Raise if something is not a body, or is there twice."""
    problems = []
    for k, body in enumerate(bodies):
        if not isinstance(body, (RigidBody, Particle)):
            problems.append(
                f"Body {k} is {body!r}. Bodies are RigidBody or Particle "
                "objects; wrap the point or frame in one of them.")
        elif any(body is other for other in bodies[:k]):
            problems.append(
                f"Body {k}, {body.name}, was given before, so its mass would "
                "count twice. Remove the repetition.")
    raise_problems(problems, ConstrainedDynamicsError)
