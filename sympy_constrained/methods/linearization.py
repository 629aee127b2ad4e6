"""SymPy's ``Linearizer`` for the equations of a method."""
from __future__ import annotations

from warnings import warn

from sympy import Matrix, eye, nan, oo, zeros, zoo
from sympy.matrices.exceptions import NonInvertibleMatrixError
from sympy.physics.mechanics import msubs

from .. import _compat
from ..errors import ConstraintError, UnsupportedFeatureError
from ..model.call_signatures import as_list, as_point, with_known_keywords

__all__ = ['linearizer', 'embedded_linearizer', 'Linearizer']

OFF = 1e-6      # beyond the rounding of a state that someone has typed


class Linearizer(_compat.Linearizer):
    """SymPy's ``Linearizer``, which tells where it is singular."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._solve, self.linear_solver = self.linear_solver, self._solved

    def _solved(self, matrix, right):
        """The rows of constraints come last.

        An elimination then begins with the mass matrix. A constraint row may
        begin with what vanishes where the constraints hold.
        """
        q, rows = len(self.q), len(self.f_a)
        order = [*range(q), *range(q + rows, matrix.rows),
                 *range(q, q + rows)]
        if matrix.rows != q + rows + len(self.u):
            return self._solve(matrix, right)
        return self._solve(matrix.extract(order, list(range(matrix.cols))),
                           right.extract(order, list(range(right.cols))))

    @with_known_keywords
    def linearize(self, op_point=None, A_and_B=False, simplify=False):
        """As in SymPy; see ``sympy.physics.mechanics.Linearizer``.

        Raises
        ======

        ConstraintError
            If the linearized equations are singular at the operating point.

        """
        op_point = as_point(op_point, 'op_point')
        self._warn_off_the_constraints(op_point)
        try:
            found = super().linearize(op_point, A_and_B, simplify)
        except NonInvertibleMatrixError as error:
            raise self._singular() from error
        if any(matrix.has(nan, oo, -oo, zoo) for matrix in found):
            raise self._singular()
        return found

    def _warn_off_the_constraints(self, op_point):
        """Warn of rows that certainly do not hold at the point."""
        for rows, level in ((self.f_c, 'position'), (self.f_v, 'velocity')):
            for row in rows:
                value = msubs(row, op_point)
                if value.is_zero is not False or is_rounded(value):
                    continue
                warn(f"A constraint of {level} level is {value} and not zero "
                     "at the operating point, so no motion is near it, and "
                     "the matrices describe none. Correct `op_point`; "
                     "`numeric.consistent_state` finds a state that satisfies "
                     "the constraints.", stacklevel=5)
                return

    def _singular(self):
        names = [*self.q_d, *self.u_d]
        if not names:
            return ConstraintError(
                "The linearized equations are singular at the operating "
                "point: the mass matrix is, or the kinematic equations are. "
                "Choose another operating point.")
        return ConstraintError(
            "The linearized equations are singular. Usually the constraints "
            f"do not determine {', '.join(map(str, names))} at the operating "
            "point: name others in `q_dep` and `qd_dep`, or linearize "
            "elsewhere. If they do, LU has met a pivot that is zero there: "
            "name them in another order, or pass `linear_solver='ADJ'`, which "
            "divides by determinants only.")


def check_solver(linear_solver):
    """Raise unless SymPy knows a solver of this name."""
    if callable(linear_solver):
        return
    try:
        eye(1).solve(eye(1), method=linear_solver)
    except (AttributeError, TypeError, ValueError):
        raise ValueError(
            f"`linear_solver` is {linear_solver!r}, by which SymPy solves "
            "nothing. Choose one of `Matrix.solve`, such as 'LU', 'GJ' or "
            "'ADJ', or give a function of the matrix and the right side."
        ) from None


def is_rounded(value):
    """Whether a number is zero but for the digits that were typed."""
    return value.is_number and value.is_finite and bool(
        abs(value.evalf()) < OFF)


def check_partition(known, independent, dependent, names):
    """Raise unless all variables are in one of two groups, once."""
    given = [*independent, *dependent]
    if len(given) != len(known) or set(given) != set(known):
        raise ConstraintError(
            f"`{names[0]}` and `{names[1]}` have {', '.join(map(str, given))}"
            f", and together they must have {', '.join(map(str, known))}, "
            "each once.")


def linearizer(method, q_ind, qd_ind, q_dep, qd_dep, linear_solver):
    """Return the ``Linearizer``; None means the partition of the method."""
    system = method.system
    if tuple(method.u) != system.u:     # all speeds are independent
        return embedded_linearizer(method, q_ind, q_dep, linear_solver)
    if system.acceleration_rows:
        raise UnsupportedFeatureError(
            "The system has constraints at acceleration level, which SymPy's "
            "Linearizer does not take. Give their integrals, if they have "
            "any, or linearize `rhs()`.")
    check_solver(linear_solver)
    rows = list(method.independent_rows)
    given = {
        'q_dep': system.q_dependent if q_dep is None else (
            as_list(q_dep, 'q_dep')),
        'qd_dep': system.u_dependent if qd_dep is None else (
            as_list(qd_dep, 'qd_dep'))}
    given['q_ind'] = as_list(q_ind, 'q_ind') if q_ind is not None else [
        x for x in system.q if x not in list(given['q_dep'])]
    given['qd_ind'] = as_list(qd_ind, 'qd_ind') if qd_ind is not None else [
        x for x in system.u if x not in list(given['qd_dep'])]
    strange = [str(x) for x in given['qd_dep'] if x not in system.u]
    if strange:
        raise ConstraintError(
            f"{', '.join(strange)} is no speed of these equations, which "
            f"have {', '.join(map(str, system.u))}. Pass `qd_ind` and "
            "`qd_dep` with a partition of them.")
    mh = len(system.holonomic_rows)
    holonomic = [k for k in rows if k < mh]
    needed = len(holonomic), len(rows)
    found = len(given['q_dep']), len(given['qd_dep'])
    if found != needed:
        raise ConstraintError(
            f"The constraints have {needed[0]} independent holonomic "
            f"rows and {needed[1]} independent rows in all, but "
            f"{found[0]} dependent coordinates and {found[1]} dependent "
            "speeds were named. Pass q_ind, qd_ind, q_dep and qd_dep.")
    for known, kind in ((system.q, 'q'), (system.u, 'qd')):
        names = f'{kind}_ind', f'{kind}_dep'
        check_partition(known, *(given[name] for name in names), names)
    pick = [method.velocity_constraints[k] for k in rows
            if k < len(method.velocity_constraints)]
    lam = Matrix([method.lam_vec[k] for k in rows])
    o, m = len(system.u), system.counts[2]
    if method.equations_of_motion.W.cols < o + m:
        raise UnsupportedFeatureError(
            f"The equations of {type(method).__name__} contain no "
            "multipliers, which SymPy's Linearizer needs. Linearize "
            "`UdwadiaKalabaMethod.from_method(method)`, or differentiate "
            "`rhs()`.")
    # Minus the forces of all multipliers: -A^T*lam, unless they are weighted.
    # Those of redundant rows are numbers of the operating point.
    action = method.equations_of_motion.W.extract(
        list(range(o)), list(range(o, o + m)))
    empty = Matrix()
    f_4 = action*method.lam_vec if rows else zeros(o, 1)
    r = inputs_of(system)
    return Linearizer(
        method._qdot, -system.rates, system.M*method._udot,
        -(system.Q + system.graph.sympy('C')), f_4,
        Matrix([method.holonomic_constraints[k] for k in holonomic])
        if holonomic else empty,
        Matrix(pick) if pick else empty,
        Matrix([method.acceleration_constraints[k] for k in rows])
        if rows else empty,
        method.q, method.u, given['q_ind'], given['q_dep'],
        given['qd_ind'], given['qd_dep'], r, lam if rows else None,
        linear_solver=linear_solver)


def embedded_linearizer(method, q_ind, q_dep, linear_solver):
    """The ``Linearizer`` of equations whose speeds are all independent."""
    check_solver(linear_solver)
    system = method.system
    if q_dep is None:
        q_dep = method._qdep if system.holonomic_rows else ()
    q_dep = as_list(q_dep, 'q_dep')
    q_ind = as_list(q_ind, 'q_ind') if q_ind is not None else [
        x for x in system.q if x not in q_dep]
    if len(q_dep) != len(system.holonomic_rows):
        raise ConstraintError(
            f"There are {len(system.holonomic_rows)} holonomic rows and "
            f"{len(q_dep)} dependent coordinates. Pass `q_ind` and `q_dep` "
            "with one dependent coordinate for each holonomic row.")
    check_partition(system.q, q_ind, q_dep, ('q_ind', 'q_dep'))
    empty = Matrix()
    return Linearizer(
        method._qdot, -method.forcing_kin, method.mass_matrix*method._udot,
        -method.forcing, zeros(len(method.u), 1),
        method.holonomic_constraints if q_dep else empty, empty, empty,
        method.q, method.u, q_ind, q_dep, method.u, [], inputs_of(system),
        None, linear_solver=linear_solver)


def inputs_of(system):
    """The specified inputs, which must not be differentiated."""
    known = {*system.specifieds}
    rates = sorted(str(x) for x in known if x.is_Derivative)
    if rates:
        raise UnsupportedFeatureError(
            f"The equations contain {', '.join(rates)}, the derivative of a "
            "specified input. SymPy's Linearizer does not treat them; "
            "declare the derivative as an input of its own.")
    return sorted(known, key=str)
