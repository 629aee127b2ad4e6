"""The rank of ``W`` from singular values, pivots and gradients of the rows."""
import numpy as np
from scipy.linalg import solve_triangular

from ...errors import ConstraintError
from ..tolerances import GAP, LEFT, SINGULAR, UNDECIDED


def numerical_rank(sigma):
    """Rank by the gap in descending singular values."""
    if not len(sigma) or not sigma[0]:
        return 0
    ratio = np.maximum(sigma/sigma[0], len(sigma)*np.finfo(float).eps)
    rank = int(np.sum(ratio > SINGULAR))
    if ratio[rank - 1] < UNDECIDED or (
            rank < len(sigma) and ratio[rank - 1] < GAP*ratio[rank]):
        raise ConstraintError(
            "The rank of the equations cannot be told: the smallest scaled "
            f"singular values are {', '.join(f'{x:.0e}' for x in ratio[-3:])}"
            ", without a clear gap to zero. Usually masses or lengths "
            "differ by many powers of ten, or the state is close to "
            "a singular one. Choose other units or another state. Chains of "
            "some hundred bodies need `recursion=True`.",
            singular_values=tuple(sigma))
    return rank


def rank_by_pivots(W, motion):
    """Rank of ``[[M, -A^T], [A, 0]]`` if no pivot of ``M`` is small, or None.

    The pivots of a long chain are far from zero although its smallest
    singular values are not. The rank of the rows is that of ``A*M^-1*A^T``.
    """
    M, A = W[:motion, :motion], W[motion:, :motion]
    if W[motion:, motion:].any() or not (
            (M == M.T).all() and (W[:motion, motion:] == -A.T).all()
            and (M.diagonal() > 0).all()):
        return None
    size = np.sqrt(M.diagonal())
    try:
        L = np.linalg.cholesky(M/np.outer(size, size))
    except np.linalg.LinAlgError:
        return None
    if L.diagonal().min()**2 < UNDECIDED:
        return None
    rows = solve_triangular(L, (A/size).T, lower=True)
    norms = np.linalg.norm(rows, axis=0)
    return motion + numerical_rank(np.linalg.svd(
        rows/np.where(norms, norms, 1), compute_uv=False)**2)


def check_rows(matrix, motion, missing, names):
    """Raise if constraint rows are neither redundant nor clearly independent.

    Returns the ``missing`` rank of ``W`` that redundant rows do not explain.
    """
    rows = matrix[motion:, :motion]
    if not rows.size or matrix[motion:, motion:].any():
        return 0
    left, sigma, _ = np.linalg.svd(rows)
    ratio = sigma/sigma[0] if sigma[0] else sigma
    rank = int(np.sum(ratio > UNDECIDED))
    if ((ratio > LEFT) & (ratio < UNDECIDED)).any():
        worst = int(np.sum(ratio > LEFT)) - 1
    elif missing > len(rows) - rank and ratio[rank - 1]**2 < UNDECIDED:
        worst = rank - 1
    else:
        return missing - (len(rows) - rank)
    share = np.abs(left[:, worst])
    which = ', '.join(names[motion + i] for i in np.flatnonzero(
        share > 0.1*share.max()))
    raise ConstraintError(
        "The rank of the equations cannot be told: the gradients of "
        f"{which} have a combination that nearly vanishes (scaled singular "
        f"value {ratio[worst]:.0e}). Usually a row is meant to follow from "
        "others and a constant is a little off: correct it, or leave the row "
        "out. Else choose other constants or another state.",
        singular_values=tuple(sigma))
