"""More digits for a while, in one thread at a time.

All threads share the precision of mpmath, so they wait here for each other.
"""
from contextlib import contextmanager
from threading import RLock

from mpmath import mp


DIGITS = 30
_LOCK = RLock()


@contextmanager
def precise(digits=DIGITS):
    """Work with so many digits; the same thread may nest it.

    Examples
    ========

    >>> from mpmath import mp
    >>> from sympy_constrained.precision import precise
    >>> with precise():
    ...     print(mp.dps)
    30

    """
    with _LOCK, mp.workdps(digits):
        yield
