"""The only file that knows SymPy versions and SymPy's private attributes.

The attributes read here are the same in SymPy 1.13, 1.14 and the development
version. The public ``Point.vel`` writes to the user's objects, and
``ang_vel_in`` and ``dcm`` enumerate paths, which is slow on large models.
"""
import copyreg
from functools import cache

from sympy import ImmutableDenseMatrix
from sympy.core.function import UndefinedFunction
from sympy.physics.mechanics import (
    Point, ReferenceFrame, WrappingPathway, WrappingSphere, dynamicsymbols,
    method as _method)

try:                                    # the development version
    MethodBase = _method.MethodBase
except AttributeError:                  # 1.13, 1.14
    MethodBase = _method._Methods


def time_symbol():
    return dynamicsymbols._t


def orientations(frame):
    """Adjacent frame -> ``C`` with ``v_frame = C*v_adjacent``."""
    return frame._dcm_dict


def angular_velocities(frame):
    """Adjacent frame -> angular velocity of ``frame`` in it."""
    return frame._ang_vel_dict


def angular_acceleration(frame, inertial):
    """The angular acceleration that the user has set, or None."""
    return frame._ang_acc_dict.get(inertial)


def entries(matrix):
    """The entries of a matrix; ``flat`` copies and converts all of them."""
    rep = matrix._rep
    return rep.to_list_flat() if rep.domain.is_EXRAW else matrix.flat()


def positions(point):
    """Adjacent point -> position of ``point`` relative to it."""
    return point._pos_dict


def velocity(point, inertial):
    """The velocity that was set or found before, or None."""
    return point._vel_dict.get(inertial)


def acceleration(point, inertial):
    """The acceleration that the user has set, or None."""
    return point._acc_dict.get(inertial)


@cache
def wrapping_pulls():
    """Whether a positive force on a ``WrappingPathway`` pulls, against its
    documentation and the signs of springs, dampers and muscles.
    """
    N, center = ReferenceFrame('N'), Point('center')
    path = WrappingPathway(
        center.locatenew('A', N.x), center.locatenew('B', N.y),
        WrappingSphere(1, center))
    return path.to_loads(1)[0].vector.dot(N.y) > 0


def kane_parts(method):
    """Arguments that describe an existing ``KanesMethod`` object."""
    k, f = method._k_nh, method._f_nh
    k_dot, f_dot = method._k_dnh, method._f_dnh
    velocity_rows = list(k*method.u + f) if k else []
    acceleration_rows = list(k_dot*method._udot + f_dot) if k_dot else []
    return {
        'frame': method._inertial,
        'q_ind': method.q[:len(method.q) - len(method._qdep)],
        'q_dependent': list(method._qdep),
        'u_ind': method.u[:len(method.u) - len(method._udep)],
        'u_dependent': list(method._udep),
        'kd_eqs': [qd - rate for qd, rate in
                   (method._qdot_u_map or {}).items()],
        'configuration_constraints': list(method._f_h),
        'velocity_constraints': velocity_rows,
        'acceleration_constraints': acceleration_rows,
        'u_auxiliary': list(method._uaux),
        'bodies': method._bodylist,
        'forcelist': method._forcelist,
        'explicit_kinematics': method.explicit_kinematics,
    }


def lagrange_parts(method):
    """Arguments that describe an existing ``LagrangesMethod`` object."""
    holonomic = list(method._hol_coneqs)
    return {
        'Lagrangian': method._L[0],
        'qs': list(method.q),
        'forcelist': list(method._forcelist or []),
        'bodies': method._bodies,
        'frame': method.inertial,
        'hol_coneqs': holonomic,
        'nonhol_coneqs': list(method.coneqs)[len(holonomic):],
    }


class MatrixToForm(ImmutableDenseMatrix):
    """A matrix that is formed, by a function, when it is first used."""

    def __new__(cls, form):
        self = object.__new__(cls)
        self._form = form
        return self

    def __getattr__(self, name):        # of what is not set yet
        if '_form' not in self.__dict__:
            raise AttributeError(name)
        matrix = self._form()
        self.__class__, self.__dict__ = type(matrix), matrix.__dict__
        for slot in ('_args', '_mhash', '_assumptions'):
            setattr(self, slot, getattr(matrix, slot))
        return getattr(self, name)


def undefined_function(     # pragma: no cover - for SymPy 1.13
        name, assumptions):
    """The class of functions of this name, as ``Function`` returns it."""
    return UndefinedFunction(name, **assumptions)


def _reduce(function):      # pragma: no cover - for SymPy 1.13
    return undefined_function, (function.__name__, function._kwargs)


# Objects with states, which are functions of time, must pickle. SymPy 1.14
# registers undefined functions for that; 1.13 does not.
if UndefinedFunction not in (       # pragma: no cover - for SymPy 1.13
        copyreg.dispatch_table):
    copyreg.pickle(UndefinedFunction, _reduce)
