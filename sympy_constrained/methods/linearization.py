"""SymPy's ``Linearizer`` for the equations of a method."""
from contextlib import suppress
from dataclasses import replace
from functools import partial

from mpmath import mp
from mpmath.libmp import prec_to_dps
from sympy import (
    Float, Matrix, S, diag, eye, nan, oo, simplify as simplified, zeros, zoo)
from sympy.matrices.exceptions import NonInvertibleMatrixError
from sympy.physics import mechanics

from .. import _compat
from ..errors import (
    ConstrainedDynamicsError, ConstraintError, MissingIngredientError,
    UnsupportedFeatureError, warn)
from ..graph import GraphBuilder, GraphMatrix, jacobian, read, substitute
from ..model.call_signatures import as_list, as_point
from ..precision import precise
from .partition import sharing_model
from .references import frozen
from .solution import has_multipliers

OFF = 1e-6      # larger than the rounding error of a typed state
STEEP = 1e13    # larger than slopes of dependent states that are not singular
GUARD = 15      # digits more than those of the numbers of a point


class Linearizer(mechanics.Linearizer):
    """SymPy's ``Linearizer``, evaluated at the point before it is solved.

    The arguments are those of SymPy, with ``q' = -f_1``, ``f_3 = f_4 = 0``,
    and the dependent variables in any order. ``multipliers`` are the names of
    all, and a function that returns their values at a point.
    """

    def __init__(self, *args, multipliers=None, **kwargs):
        super().__init__(*args, **kwargs)
        self._multipliers = multipliers
        # Upstream's inverse permutation is right only for exchanged pairs.
        self._of_q = [selection(self.q, x) for x in (self.q_i, self.q_d)]
        self._of_u = [selection(self.u, x) for x in (self.u_i, self.u_d)]
        moving = diag(self._of_q[0], self._of_u[0])
        self.perm_mat = moving.col_join(zeros(len(self.lams), moving.cols))
        if isinstance(kwargs.get('linear_solver', 'LU'), str):
            self.linear_solver = partial(pivoted, self.linear_solver)

    def linearize(self, op_point=None, A_and_B=False, simplify=False):
        """As in SymPy; see ``sympy.physics.mechanics.Linearizer``.

        Multipliers that ``op_point`` does not contain are solved for there.

        Raises
        ======

        ConstraintError
            If the linearized equations are singular at the operating point.

        """
        op_point = as_point(op_point)
        self._warn_off_the_constraints(op_point)
        try:
            if self._multipliers and op_point:
                op_point = {**self._multipliers_at(op_point), **op_point}
            matrices = self._linearized(op_point, A_and_B)
        except (NonInvertibleMatrixError, ConstrainedDynamicsError,
                ZeroDivisionError) as error:
            raise self._singular() from error
        if any(matrix.has(nan, oo, -oo, zoo) for matrix in matrices):
            raise self._singular()
        return tuple(matrix.applyfunc(simplified) if simplify else matrix
                     for matrix in matrices)

    def _multipliers_at(self, op_point):
        """Multipliers by name, of closed forms where symbols remain."""
        names, closed_form = self._multipliers
        zero = {**op_point, **dict.fromkeys([*self._ud, *names], S.Zero)}
        right = at_point(self._dynamic, zero)
        matrix = self._derivatives(zero, 'rate')['rate']
        if not are_floats([*matrix, *right]):
            with suppress(ConstraintError):     # a pivot may vanish here
                return closed_form(op_point)
        solved = self.linear_solver(matrix, -right)
        return {**dict.fromkeys(names, S.Zero),
                **dict(zip(self.lams, solved[len(self._ud):]))}

    @property
    def _dynamic(self):
        """Residuals of the constraints and of the dynamic equations."""
        return [*self.f_a, *self.f_2]

    def _linearized(self, op_point, A_and_B):
        n, l, m = len(self.q), len(self.f_c), len(self.f_v)
        parts = self._derivatives(op_point)
        by_state, by_rate = parts['state'], parts['rate']
        not_steep(by_state[:n, n:])
        (C_0, Pqd), (C_2, Pud) = self._of_q, self._of_u
        C_1 = zeros(len(self.u), n)
        if l:
            slope = parts['holonomic']
            C_0 = C_0 - Pqd*self._dependent(slope*Pqd, slope*C_0)
        if m:
            slope = parts['velocity'][:, n:]
            dependent, rest = slope*Pud, Matrix.hstack(
                parts['velocity'][:, :n], slope*C_2)
            rest = Pud*self._dependent(dependent, rest)
            C_1, C_2 = -rest[:, :n], C_2 - rest[:, n:]
        A = Matrix.hstack((by_state[:, :n] + by_state[:, n:]*C_1)*C_0,
                          by_state[:, n:]*C_2)
        M, B = diag(eye(n), by_rate), parts['input']
        if not A_and_B:
            return M, A, B or Matrix()
        # An elimination begins with the mass matrix: a constraint row may
        # begin with what vanishes where the constraints hold.
        order = [*range(n), *range(n + m, M.rows), *range(n, n + m)]
        solved = self.perm_mat.T*self.linear_solver(
            M[order, :], Matrix.hstack(A, B)[order, :])
        return solved[:, :A.cols], solved[:, A.cols:] or Matrix()

    def _dependent(self, matrix, right):
        return not_steep(self.linear_solver(matrix, right))

    def _derivatives(self, op_point, *names):
        """Derivatives of residuals at the operating point, by name."""
        g = GraphBuilder(_compat.time_symbol())
        q, u, rates, lam, r = (
            [g.input(x, dynamic=True) for x in names] for names in (
                self.q, self.u, self._ud, self.lams, self.r))
        values = values_at(g, op_point)
        rows = [-e for e in (*self.f_1, *self._dynamic)]
        blocks = {'holonomic': (self.f_c, q), 'velocity': (self.f_v, q + u),
                  'state': (rows, q + u), 'input': (rows, r),
                  'rate': (self._dynamic, rates + lam)}

        def slopes_at(residuals, inputs):
            slopes = jacobian(g, [read(g, e) for e in residuals], inputs)
            return Matrix(written_at(op_point, g, GraphMatrix(g, [
                substitute(g, row, values) for row in slopes], len(inputs))))

        return {name: slopes_at(*blocks[name]) for name in names or blocks}

    def _warn_off_the_constraints(self, op_point):
        """Warn of rows that certainly do not hold at the point."""
        for rows, level in ((self.f_c, 'position'), (self.f_v, 'velocity')):
            for row in rows:
                value = mechanics.msubs(row, op_point)
                if value.is_zero is not False or (
                        value.is_number and value.is_finite
                        and abs(value.evalf()) < OFF):
                    continue
                warn(f"A constraint of {level} level is {value} and not zero "
                     "at the operating point, so no motion is near it, and "
                     "the matrices describe none. Correct `op_point`; "
                     "`numeric.consistent_state` finds a state that satisfies "
                     "the constraints.")
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
            "elsewhere.")


def not_steep(slopes):
    """The slopes of states; raises if rounding determines them."""
    if any(x.is_Float and abs(x) > STEEP for x in slopes):
        raise NonInvertibleMatrixError
    return slopes


def selection(names, chosen):
    """Columns of the identity, those of some of the names."""
    return Matrix(len(names), len(chosen),
                  lambda i, j: int(names[i] == chosen[j]))


def values_at(g, point):
    """References of the symbols of a point -> those of their values."""
    values = {g.input(x, dynamic=True): read(g, value)
              for x, value in point.items()}
    used = g.mask(values.values())
    g.avoid([x for x in values if not g.depends[x] & used])
    return values


def written_at(point, g, refs):
    """References that have the values of a point, in SymPy.

    Numbers are floats if the point has any: SymPy would not evaluate
    ``sin(1/2)``, and a sum of shared parts of such numbers is a tree.
    """
    graph = frozen(g, x=refs)
    digits = [x._prec for value in point.values() for x in value.atoms(Float)]
    # Symbols and functions may be left that have no number, or a complex one.
    with suppress(MissingIngredientError, TypeError):
        if digits:
            with precise(prec_to_dps(max(digits)) + GUARD):
                rows = graph.evaluate({}, context=mp)['x']
            return Matrix(*graph.shape('x'), [
                Float(x, precision=max(digits)) if x else 0 for row in rows
                for x in row])
    return graph.sympy('x')


def at_point(expressions, point):
    g = GraphBuilder(_compat.time_symbol())
    values = values_at(g, point)
    refs = [read(g, e) for e in expressions]
    return written_at(point, g, substitute(g, refs, values))


def are_floats(entries):
    return all(x.is_Number for x in entries) and any(
        x.is_Float for x in entries)


def pivoted(solver, matrix, right):
    """The solution; that of floats with the largest pivots.

    SymPy takes the first pivot that is not zero, also one of rounding size.
    """
    entries = [*matrix, *right]
    if not right or not are_floats(entries):
        return solver(matrix, right)
    digits = max(x._prec for x in entries if x.is_Float)
    with precise(prec_to_dps(digits) + GUARD):
        solved = mp.inverse(mp.matrix(matrix.tolist()))*mp.matrix(
            right.tolist())
    return Matrix(*right.shape, [Float(x, precision=digits) for x in solved])


def partition(method, q_ind, qd_ind, q_dep, qd_dep):
    """Independent and dependent coordinates and speeds, four lists.

    None means the partition of the method, or what the others leave.
    """
    system, rows = method.system, method.independent_rows
    holonomic = sum(k < len(system.holonomic_rows) for k in rows)
    moving = len(rows) if tuple(method.u) == system.u else 0
    if qd_dep and not moving:
        raise ConstraintError(
            f"The speeds of {type(method).__name__} are "
            f"{', '.join(map(str, method.u))}, none of which depends on "
            "others. Leave `qd_ind` and `qd_dep` out.")
    return [*split(system.q, q_ind, q_dep, method._qdep if holonomic else (),
                   holonomic, ('q_ind', 'q_dep'), ' of position level'),
            *split(method.u, qd_ind, qd_dep, method._udep, moving,
                   ('qd_ind', 'qd_dep'))]


def split(states, ind, dep, default, count, names, level=''):
    """Independent and dependent states, each once."""
    dep = list(default) if dep is None else as_list(dep, names[1])
    ind = [x for x in states if x not in dep] if ind is None else (
        as_list(ind, names[0]))
    if len(dep) != count:
        raise ConstraintError(
            f"`{names[1]}` has {len(dep)} names and needs {count}, one for "
            f"each independent constraint{level}. Pass q_ind, qd_ind, q_dep "
            "and qd_dep.")
    if len(ind) + count != len(states) or {*ind, *dep} != {*states}:
        raise ConstraintError(
            f"`{names[0]}` and `{names[1]}` have "
            f"{', '.join(map(str, ind + dep))}, and together they must have "
            f"{', '.join(map(str, states))}, each once.")
    return ind, dep


def linearizer(method, q_ind, qd_ind, q_dep, qd_dep, linear_solver):
    """Return the ``Linearizer``; None means the partition of the method."""
    system = method.system
    if system.acceleration_rows:
        raise UnsupportedFeatureError(
            "The system has constraints at acceleration level, which SymPy's "
            "Linearizer does not take. Give their integrals, if they have "
            "any, or linearize `rhs()`.")
    warn(method.equations_of_motion.warning)
    parts = partition(method, q_ind, qd_ind, q_dep, qd_dep)
    if {*parts[3]} != {*method._udep} and not method._keeps_multipliers:
        # Another basis divides by what may vanish at the operating point.
        method = sharing_model(type(method), method, _system=replace(
            method._system, u_dependent=tuple(parts[3])))
    rows = method.independent_rows
    moving = list(rows) if parts[3] else []

    def picked(column, rows):
        return Matrix([column[k] for k in rows])

    lam = picked(method.lam_vec, rows) if (
        method._keeps_multipliers) else Matrix()
    if moving and not has_multipliers(method.equations_of_motion):
        raise UnsupportedFeatureError(
            f"The equations of {type(method).__name__} contain no "
            "multipliers, so their dynamic rows are not known. Linearize "
            "`UdwadiaKalabaMethod.from_method(method)`, or differentiate "
            "`rhs()`.")
    residual = method._form_eoms()      # Fr + Fr*, or `eom`
    none = zeros(*residual.shape)
    return Linearizer(
        method._qdot, -method._rates, residual, none, none,
        picked(method.holonomic_constraints,
               [k for k in rows if k < len(system.holonomic_rows)]),
        picked(method.velocity_constraints, moving),
        picked(method.acceleration_constraints, moving),
        method.q, method.u, *parts, inputs_of(system), lam,
        linear_solver=linear_solver,
        multipliers=(tuple(method.lam_vec), method.solve_multipliers)
        if lam else None)


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
