"""Singular configurations on or near a trajectory."""
from dataclasses import dataclass

import numpy as np

from ...errors import check_kind
from ..trajectory import Trajectory


@dataclass(frozen=True)
class SingularConfiguration:
    """A time at which the equations of motion are nearly singular.

    Attributes
    ==========

    t : float
    condition : float
        Reciprocal condition number there.
    rank : int
    index : int
        Position among the times of the trajectory.

    """

    t: float
    condition: float
    rank: int
    index: int

    def __str__(self):
        return (f't = {self.t:.6g}: reciprocal condition '
                f'{self.condition:.1e}, rank {self.rank}')


def singular_configurations(trajectory, below=1e-6):
    """Where the equations are nearly singular along a trajectory.

    Parameters
    ==========

    trajectory : Trajectory
        Only the output times are examined.
    below : float
        Reciprocal condition number that counts as singular.

    Returns
    =======

    tuple of SingularConfiguration
        In the order of time: the worst of each interval in which the
        condition is below the bound, or the rank is not the usual one.

    """
    check_kind('trajectory', trajectory, Trajectory,
               "Pass the result of `simulate`.")
    condition = np.asarray(trajectory.condition, dtype=float)
    rank = np.asarray(trajectory.rank, dtype=int)
    if not len(condition):
        return ()
    usual = np.bincount(rank).argmax()
    bad = (condition < below) | (rank != usual)
    edges = np.flatnonzero(np.diff(np.r_[0, bad.astype(int), 0]))
    found = []
    for start, stop in zip(edges[::2], edges[1::2]):
        k = start + int(np.argmin(condition[start:stop]))
        found.append(SingularConfiguration(
            float(trajectory.t[k]), float(condition[k]), int(rank[k]), int(k)))
    return tuple(found)
