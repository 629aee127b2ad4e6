"""Position rows that are not the integrals of velocity rows."""
import warnings
from contextlib import suppress

from ..errors import ConstrainedDynamicsError
from ..precision import precise
from .consistent_points import (
    DEPENDENT_THERE, DIGITS, admissible_values, check_sample, evaluated,
    orthonormal_rows)
from .constraint_rank import POINTS


def warn_of_added_rows(system, sample=None):
    """Warn if the velocity constraints do not imply the holonomic ones."""
    # ``KanesMethod`` takes its motion from the velocity constraints alone.
    # Without a state at which to decide there is no warning.
    rows = system.unstated
    if not rows:
        return
    check_sample(system, sample)
    with suppress(ConstrainedDynamicsError), precise(DIGITS):
        for seed in range(POINTS):
            rows = independent(system, rows, admissible_values(
                system, sample, seed), DEPENDENT_THERE)
            if not rows:
                return
        warnings.warn(
            f"Row {', '.join(map(str, rows))} of "
            "`configuration_constraints` is kept in addition to "
            "`velocity_constraints`, from which its rate does not follow. "
            "KanesMethod uses such a row in `linearize` only, and has "
            "another motion. For that motion leave the row out; else "
            "give its rate with the velocity constraints, or those "
            "without such rates as `nonholonomic_constraints`.",
            stacklevel=2)


def independent(system, rows, values, tolerance):
    """Those of the rows that do not follow from all others at a state."""
    others = [k for k in range(len(system.holonomic_rows) + len(
        system.velocity_rows)) if k not in system.unstated]
    A = evaluated(system, values, ('A',))['A']
    order = (*others, *rows)
    _, kept = orthonormal_rows([A[k] for k in order], tolerance)
    return [order[k] for k, _ in kept if k >= len(others)]
