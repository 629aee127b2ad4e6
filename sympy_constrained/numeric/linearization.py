"""Matrices of the linearized motion on the constraints, at one state.

Multipliers and dependent states are eliminated (:doc:`/theory/numbers`).
"""
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from ..errors import ConstraintError, warn
from .compiled import compile_equations
from .manifold.consistent_state import violations
from .manifold.correction import independent
from .manifold.projection import distances
from .tolerances import REST, TYPED


@dataclass(frozen=True, eq=False)
class Linearization:
    """A linear state-space model; made by :func:`linearize`.

    It unpacks as ``A, B, C, D``.

    Attributes
    ==========

    A, B, C, D : ndarray
        Shapes (n, n), (n, k), (l, n), (l, k).
    states : tuple
        The n independent states.
    inputs : tuple
        The k specified functions, and derivatives of them.
    outputs : tuple
        The l expressions.
    rates : ndarray, shape (n,)
        Rates of the independent states at the point; all are zero at an
        equilibrium, those of the speeds in steady motion.
    basis : ndarray, shape (ns, n)
        Change of all states of the equations with the independent ones.

    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple
    inputs: tuple
    outputs: tuple
    rates: np.ndarray
    basis: np.ndarray

    def __iter__(self):
        return iter((self.A, self.B, self.C, self.D))


def linearize(model, at, outputs=None, *, t=0., p=None, dependent=None,
              constants=None, inputs=None) -> Linearization:
    """Linearize the motion on the constraints at a state, as arrays.

    Explanation
    ===========

    Derivatives are exact: no differences are taken. The matrices describe
    neighbouring motions. See :doc:`/theory/numbers` for their meaning about a
    point that moves. ``control.ss(*result)`` and
    ``scipy.signal.StateSpace(*result)`` take them.

    Examples
    ========

    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.models import model
    >>> from sympy_constrained.numeric import linearize
    >>> pendulum = model('cartesian_pendulum')
    >>> A, B, C, D = linearize(
    ...     pendulum.form(UdwadiaKalabaMethod),
    ...     {'x': 0, 'y': -1, "x'": 0, "y'": 0},
    ...     constants=pendulum.parameters)
    >>> A
    array([[ 0.  ,  1.  ],
           [-9.81,  0.  ]])

    Parameters
    ==========

    model : CompiledEquations
        Or what :func:`~sympy_constrained.numeric.compile_equations` takes,
        with its ``constants`` and ``inputs``. Compiled equations keep the
        derivatives, so further calls take milliseconds.
    at : mapping or sequence
        A state on the constraints.
    outputs : expression or sequence of these, optional
        In states, their rates, inputs, constants and time; the independent
        states by default.
    t : float
    p : mapping or sequence, optional
        As for the functions of the compiled equations.
    dependent : sequence, optional
        States to be dependent as far as the constraints determine them; by
        default those of a method. Others follow by the size of pivots.

    Returns
    =======

    Linearization
        Columns of ``B`` are the specified functions that remain in the
        equations, about their values in ``inputs``. Feedback by expressions
        is part of ``A``; Python functions count as functions of time.

    Raises
    ======

    ConstraintError
        If the state is not on the constraints.
    SingularEquationsError
        If it is a singular configuration.

    """
    compiled = compile_equations(model, constants, inputs)
    warn(compiled.equations.warning)
    x, p = compiled.names.vector(at, 'at'), compiled.parameters(p)
    correction = distances(compiled, t, x, p)
    if not correction.is_within(TYPED):
        rows, text = violations(compiled, correction, TYPED)
        raise ConstraintError(
            f"The state `at` violates {text}, so no motion is near it. "
            "`consistent_state` finds one that satisfies the constraints.",
            rows=rows, residuals=correction.residuals)
    solver = compiled.linear_solver(t, x, p)    # raises if singular here
    compiled.once(p.tobytes(), lambda: solver)
    if dependent is None:
        dependent = {*getattr(model, '_qdep', ()), *getattr(
            model, '_udep', ())} & {*compiled.states}
    by = compiled.states + compiled.specifieds
    free, moves = tangent(
        compiled, lambda name: compiled.jacobian(name, by)(t, x, p),
        compiled.names.indices(dependent, 'dependent'))
    rates = compiled.jacobian('rates', by)(t, x, p)@moves
    if outputs is None:
        outputs, y = tuple(compiled.states[i] for i in free), moves[free]
    else:
        outputs = tuple(outputs) if np.iterable(outputs) else (outputs,)
        y = compiled.jacobian(outputs, by)(t, x, p)@moves
    n = len(free)
    return Linearization(
        *np.hsplit(rates[free], [n]), *np.hsplit(y, [n]),
        tuple(compiled.states[i] for i in free), compiled.specifieds, outputs,
        compiled.rhs(t, x, p)[free], moves[:len(x), :n])


def tangent(compiled, gradient, preferred):
    """Independent states, and the changes of states and inputs with them.

    The columns are the independent states, then the inputs. ``gradient(name)``
    are the derivatives of the residuals of a level by both.
    """
    count = len(compiled.states)
    moves = np.eye(count + len(compiled.specifieds))
    free = set(range(count))
    for name, index in compiled.levels:
        K = gradient(name)
        K = K[independent(K, index)]@moves
        weights = np.where(np.isin(index, preferred), 1., REST)
        order = qr(K[:, index]*weights, mode='r', pivoting=True)[1]
        held = index[order[:len(K)]]
        moves -= moves[:, held]@np.linalg.solve(K[:, held], K)
        free -= set(held.tolist())
    free = sorted(free)
    return free, moves[:, free + list(range(count, len(moves)))]
