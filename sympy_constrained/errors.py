"""Every exception that the package raises on purpose.

Messages state the fact, its cause and the remedy. Row numbers, times and the
partial trajectory are attributes of the exception.
"""
import sys
import warnings
from contextlib import contextmanager

# The package, and those between it and a line of the user.
WITHIN = __package__, 'sympy', 'scipy', 'functools', 'contextlib'


class ConstrainedDynamicsError(Exception):
    """Base of all errors; keyword arguments become attributes.

    Examples
    ========

    >>> from sympy_constrained.errors import ConstraintError
    >>> ConstraintError('Row 2 vanishes.', rows=(2,)).rows
    (2,)

    """

    def __init__(self, message='', **data):
        super().__init__(message)
        for name, value in data.items():
            setattr(self, name, value)


class ConstraintError(ConstrainedDynamicsError, ValueError):
    """The constraint as written cannot be used."""


class InconsistentConstraintsError(ConstraintError):
    """No motion satisfies all the constraints."""


class RedundantConstraintsError(ConstraintError):
    """The rank of the constraints is too low for the method asked for."""


class KinematicsError(ConstrainedDynamicsError, ValueError):
    """The kinematics of the model cannot be read or solved."""


class MissingIngredientError(ConstrainedDynamicsError, ValueError):
    """A required input is missing, e.g. the bodies."""


class UnsupportedFeatureError(ConstrainedDynamicsError, NotImplementedError):
    """The model has a feature that this method does not support."""


class SimulationError(ConstrainedDynamicsError, RuntimeError):
    """A simulation ended early; carries ``trajectory``, ``time``, ``reason``.
    """


class SingularEquationsError(ConstrainedDynamicsError, ArithmeticError):
    """The equations lose rank at this state; carries ``condition``."""


class NotFiniteError(ConstrainedDynamicsError, ArithmeticError):
    """The equations returned a value that is not a finite real number."""


@contextmanager
def located(place):
    """Put a place in the model before the message; keep the innermost."""
    try:
        yield
    except ConstrainedDynamicsError as error:
        if hasattr(error, 'place'):
            raise
        raise type(error)(f'{place}: {error}', place=place,
                          **vars(error)) from error


def warn(text):
    """Warn at the line of the user that led here, if there is a text."""
    if not text:
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back and (
            frame.f_globals.get('__name__', '').split('.')[0] in WITHIN):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


def check_kind(name, value, kind, remedy):
    """Raise TypeError if an argument is not of a class."""
    if not isinstance(value, kind):
        raise TypeError(f"`{name}` is {value!r}. {remedy}")


def raise_problems(problems, error=ConstrainedDynamicsError, **data):
    """Raise ``error`` once with all the problems found, or return."""
    problems = list(problems)
    if problems:
        raise error('\n'.join(problems), **data)
